//! Checks of task files: duplicate, misplaced and missing ones, orphaned companions, and line endings.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use super::context::{CheckContext, CheckResult, CheckedProject, count};
use crate::domain::project::some;
use crate::domain::{TaskId, listed};
use crate::git::{CommitId, ObjectId};
use crate::history::merge_driver::commit_attributes;
use crate::project::error::ProjectError;
use crate::project::git_hints::missing;
use crate::project::issue::{Issue, take_left_out};
use crate::project::workspace::Workspace;
use crate::storage::layout::is_archived;
use crate::storage::task_files::OrphanedCompanion;
use crate::storage::task_files::{WalkEntry, walk_active, walk_archived};
use crate::storage::{ProjectPath, atomic_write, journal, layout, task_files};
use crate::system::terminal::{all_quoted, quoted};
use crate::tasks::apply::change_all;
use crate::tasks::headers::listing::{ListScope, Listing, Unreadable, is_misplaced, read_all};
use crate::tasks::plan::{Choice, relocation};

/// The time that each batch waits for the lock.
const WAIT: Duration = Duration::from_secs(10);

/// Reports tasks with several files, in the archive too. A person decides which one counts, unless one is an uncommitted copy or was
/// left behind by a move.
pub(crate) fn check_duplicates(context: &CheckContext<'_>) -> CheckResult {
    if !context.is_doctor() {
        return Ok(Vec::new());
    }
    let tasks = doubled_files(context.workspace).into_iter();
    Ok(tasks.map(|(id, files)| doubled_task(context, &id, files)).collect())
}

/// Returns the issues of tasks with several files, and removes these files from the unreadable ones: each file can be read, but not
/// the task.
pub(crate) fn doubled_among(
    context: &CheckContext<'_>,
    unreadable: &mut Vec<Unreadable>,
) -> Vec<Issue> {
    let is_one_of = |file: &Unreadable, files: &[ProjectPath]| {
        file.diagnostics.is_empty() && files.iter().any(|path| path.as_str() == file.path)
    };
    let mut issues = Vec::new();
    if unreadable.iter().all(|file| !file.diagnostics.is_empty()) {
        return issues;
    }
    for (id, files) in doubled_files(context.workspace) {
        if unreadable.iter().any(|file| is_one_of(file, &files)) {
            unreadable.retain(|file| !is_one_of(file, &files));
            if !context.is_doctor() {
                issues.push(doubled_task(context, &id, files));
            }
        }
    }
    issues
}

fn doubled_task(context: &CheckContext<'_>, id: &TaskId, files: Vec<ProjectPath>) -> Issue {
    let (workspace, head) = (context.workspace, context.head.commit);
    let why = match task_files::counting(id, &files) {
        Some(path) => {
            let active = files.iter().filter(|path| !is_archived(path)).count();
            let lists = if active > 1 { ", and lists leave the task out" } else { "" };
            format!(
                "`{path}` counts where the task is named, since it stands where it is looked for first; what the others \
                 say is lost on everybody{lists}"
            )
        }
        None => "it is unclear which of them counts, so no command touches the task".to_owned(),
    };
    let problem = format!("{id} has {} files: {}", files.len(), listed(&files));
    if let Some(spare) = spare(workspace, head, &files) {
        let fix = format!(
            "`{spare}` is a copy that nobody committed, or was left behind: `aof doctor --fix` removes it"
        );
        return Issue::new("task_doubled", problem, fix)
            .because(why)
            .repaired_by(move |workspace| remove_spare(workspace, &files));
    }
    let removal = removal(workspace, head, &files);
    let fix = format!("see what differs, keep one, and remove the others{removal}");
    Issue::new("task_doubled", problem, fix).because(why)
}

/// Returns another file of the task, in the archive, if there is one.
pub(crate) fn archived_beside(
    workspace: &Workspace,
    id: &TaskId,
    path: &ProjectPath,
) -> Result<Option<ProjectPath>, ProjectError> {
    Ok(task_files::find_archived(&workspace.paths, id)?.filter(|archived| archived != path))
}

/// Returns the issue of a file under the id of a finished task, which no command adopts.
pub(crate) fn doubled_in_archive(
    context: &CheckContext<'_>,
    id: &TaskId,
    path: &ProjectPath,
    archived: &ProjectPath,
) -> Issue {
    let files = vec![path.clone(), archived.clone()];
    if spare(context.workspace, context.head.commit, &files) == Some(path) {
        return doubled_task(context, id, files);
    }
    let problem =
        format!("{id} has 2 files: `{path}`, and that of the finished task, `{archived}`");
    let named = quoted(path.as_str());
    let fix = format!(
        "if `{path}` is another task, give it an id of its own (`mv {named} tasks/NEW-ID.md`); otherwise remove it (`rm {named}`), \
         and `aof reopen {id} --to GATE -m WHY` begins the finished one again"
    );
    Issue::new("task_doubled", problem, fix)
}

/// Returns the tasks that have several files, with these files.
fn doubled_files(workspace: &Workspace) -> BTreeMap<TaskId, Vec<ProjectPath>> {
    let mut files: BTreeMap<TaskId, Vec<ProjectPath>> = BTreeMap::new();
    for entry in walk_active(&workspace.paths).chain(walk_archived(&workspace.paths)) {
        if let WalkEntry::Task(entry) = entry {
            files.entry(entry.id).or_default().push(entry.path);
        }
    }
    files.retain(|_, files| files.len() > 1);
    for files in files.values_mut() {
        files.sort();
    }
    files
}

/// Returns the commands that remove the files: `git rm` refuses one that git does not track.
fn removal(workspace: &Workspace, head: Option<CommitId>, files: &[ProjectPath]) -> String {
    let is_known = |path: &&ProjectPath| is_committed(workspace, head, path).unwrap_or(true);
    let (known, unknown): (Vec<_>, Vec<_>) = files.iter().partition(is_known);
    match (known.is_empty(), unknown.is_empty()) {
        (_, true) => " with `git rm`".to_owned(),
        (true, _) => " with `rm`".to_owned(),
        _ => format!(
            ", with `git rm`, or, where git does not know it, with `rm`: {}",
            listed(unknown.into_iter().map(ProjectPath::to_string))
        ),
    }
}

fn is_committed(workspace: &Workspace, head: Option<CommitId>, path: &ProjectPath) -> Option<bool> {
    workspace.repository.blob_id(head?, path.as_str()).ok().map(|found| found.is_some())
}

/// Returns the one of two files that can be removed: HEAD does not have it, and its text is that of the other file, or an earlier
/// committed one of its own path, left behind when the task moved.
fn spare<'f>(
    workspace: &Workspace,
    head: Option<CommitId>,
    files: &'f [ProjectPath],
) -> Option<&'f ProjectPath> {
    let [one, other] = files else { return None };
    let bytes = |path| task_files::read(&workspace.paths, path).ok().map(|file| file.bytes);
    let is_committed = |path: &ProjectPath| is_committed(workspace, head, path);
    let (committed, spare) = match (is_committed(one)?, is_committed(other)?) {
        (true, false) => (one, other),
        (false, true) => (other, one),
        _ => return None,
    };
    let content = bytes(spare)?;
    let was_there = || workspace.repository.has_had_text(head?, spare.as_str(), &content).ok();
    (bytes(committed)? == content || was_there()?).then_some(spare)
}

fn remove_spare(workspace: &Workspace, files: &[ProjectPath]) -> Result<(), ProjectError> {
    let lock = workspace.lock()?;
    let head = workspace.head()?.commit;
    let Some(spare) = spare(workspace, head, files) else { return Ok(()) };
    let bytes = task_files::read(&workspace.paths, spare)?.bytes;
    Ok(atomic_write::remove_if(&lock, spare, &bytes)?)
}

/// Reports finished tasks outside the archive and active ones in it, which git leaves there when it follows renames. `aof doctor`
/// checks the archive too.
pub(crate) fn check_misplaced(context: &CheckContext<'_>) -> CheckResult {
    let Some(CheckedProject { in_force, listing, .. }) = context.project() else {
        return Ok(Vec::new());
    };
    let workspace = context.workspace;
    let mut ids: Vec<TaskId> = Vec::new();
    if context.is_doctor() {
        // Another check reports these.
        let doubled = doubled_files(workspace);
        for (header, path) in read_all(workspace, in_force, ListScope::All).tasks {
            if is_misplaced(&header, &path) {
                ids.extend(Some(header.id.clone()).filter(|id| !doubled.contains_key(id)));
            }
        }
        ids.sort();
    } else if context.busy.is_none() {
        for (header, path) in &listing.tasks {
            // Another check reports a copy of an archived file.
            let other = || archived_beside(workspace, &header.id, path);
            if is_misplaced(header, path) && other()?.is_none() {
                ids.push(header.id.clone());
            }
        }
    }
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
    let tasks = count(names.len(), "task has its file", "tasks have their files");
    let issue = Issue::new(
        "task_misplaced",
        format!("{tasks} where its status does not belong: {}", some(&names)),
        "`aof watch` moves it to where it belongs; `aof doctor --fix` does it now",
    );
    Ok(vec![issue.repaired_by(move |workspace| put_in_place(workspace, &ids))])
}

fn put_in_place(workspace: &mut Workspace, misplaced: &[TaskId]) -> Result<(), ProjectError> {
    change_all(workspace, WAIT, misplaced, &|task| Ok(relocation(task).unwrap_or(Choice::Settled)))
}

/// Reports companions that were left behind when their task was finished, or when a person moved it.
pub(crate) fn check_companions(context: &CheckContext<'_>) -> CheckResult {
    let workspace = context.workspace;
    let Some(CheckedProject { orphaned_companions, .. }) =
        context.project().filter(|_| context.is_doctor() || context.busy.is_none())
    else {
        return Ok(Vec::new());
    };
    // The files may just be moving into the archive.
    if journal::is_pending(&workspace.paths) {
        return Ok(Vec::new());
    }
    let (finished, moved): (Vec<_>, Vec<_>) =
        orphaned_companions.iter().partition(|orphan| is_archived(&orphan.task));
    let mut issues = Vec::new();
    for (list, one, many) in
        [(finished, "was finished", "were finished"), (moved, "was moved", "were moved")]
    {
        let Some(first) = list.first() else { continue };
        let names: Vec<String> =
            list.iter().map(|orphan| orphan.path.as_str().escape_debug().to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let what = match &names[..] {
            [_] => format!("file stayed behind when its task {one}"),
            _ => format!("files stayed behind when their tasks {many}"),
        };
        let named = if context.is_doctor() { names.join(", ") } else { some(&names) };
        let problem = format!("{} {what}: {named}", names.len());
        issues.push(
            Issue::new("companions_stayed", problem, companion_fix(workspace, first)?).advice(),
        );
    }
    Ok(issues)
}

fn companion_fix(
    workspace: &Workspace,
    OrphanedCompanion { path, task }: &OrphanedCompanion,
) -> Result<String, ProjectError> {
    let to = task.sibling(path.name())?;
    let head = workspace.repository.head_for_reading()?.commit;
    let blob = head.map(|head| workspace.repository.blob_id(head, path.as_str())).transpose()?;
    let named = all_quoted([path.as_str(), to.as_str()]);
    Ok(match blob.flatten() {
        Some(_) => {
            format!("move it beside its task (`git mv {named}`) or remove it, and commit that")
        }
        None => format!("move it beside its task (`mv {named}`), or remove it"),
    })
}

/// An example path, to read the attributes that git gives to task files.
const TASK: &str = "tasks/AOF-abc.md";

/// Reports that git may convert the line endings of task files.
pub(crate) fn check_line_endings(context: &CheckContext<'_>) -> CheckResult {
    let repository = &context.workspace.repository;
    // If the merge driver is missing too, its check reports the line that sets both.
    if repository.keeps_line_endings(TASK)?
        || repository.merge_attribute(TASK)?.as_deref() != Some("aof")
    {
        return Ok(Vec::new());
    }
    let problem = "nothing says that git is to keep the line ends of task files";
    let fix = "`aof doctor --fix` adds `-text` to the line in `.gitattributes`, in a commit of its own; in clones that had converted \
               their files, `git rm -r --cached tasks`, then `git reset --hard`, writes them as committed";
    let issue = Issue::new("line_endings", problem, fix).advice();
    Ok(vec![issue.repaired_by(keep_line_endings)])
}

fn keep_line_endings(workspace: &mut Workspace) -> Result<(), ProjectError> {
    let unfit = |problem: &str, fix: &str| ProjectError::Unfit {
        code: "line_endings",
        problem: problem.to_owned(),
        fix: fix.into(),
    };
    if !commit_attributes(workspace)? {
        return Err(unfit(
            "`.gitattributes` has changes that are not committed",
            "commit them, then run `aof doctor --fix` again",
        ));
    }
    if !workspace.repository.keeps_line_endings(TASK)? {
        return Err(unfit(
            "another line of git's attributes has the last word on `text` for task files",
            "put `tasks/**/*.md -text` behind it, and commit that",
        ));
    }
    Ok(())
}

/// Reports active tasks of HEAD that have no file in the worktree, unless a merge is in progress.
pub(crate) fn check_missing_files(context: &CheckContext<'_>) -> CheckResult {
    let workspace = context.workspace;
    let Some(CheckedProject { committed, listing, .. }) =
        context.project().filter(|_| context.busy.is_none())
    else {
        return Ok(Vec::new());
    };
    let (moved, mut gone) = moved_and_gone(workspace, committed, listing);
    let mut issues = half_moved(workspace, committed, &moved);
    issues.extend(take_left_out(workspace, &mut gone));
    gone.sort();
    issues.extend(gone.iter().map(|(id, path)| {
        Issue::new("task_missing", format!("the file of {id} is gone: `{path}`"), missing(id, path))
    }));
    Ok(issues)
}

/// A task, and its path in HEAD.
type CommittedTask = (TaskId, ProjectPath);

/// Returns the active tasks of HEAD whose files are gone from their paths: those with a file at another path, and those without.
pub(crate) fn moved_and_gone(
    workspace: &Workspace,
    committed: &HashMap<String, ObjectId>,
    listing: &Listing,
) -> (Vec<CommittedTask>, Vec<CommittedTask>) {
    let listed: HashSet<&str> = listing.tasks.iter().map(|(_, path)| path.as_str()).collect();
    let gone: Vec<CommittedTask> = committed
        .keys()
        .filter(|path| !listed.contains(path.as_str()))
        .filter_map(|path| path.parse::<ProjectPath>().ok())
        .filter(|path| !layout::is_archived(path) && is_gone(&path.below(workspace.paths.root())))
        .filter_map(|path| Some((layout::task_id(path.name())?.ok()?, path)))
        .collect();
    if gone.is_empty() {
        return Default::default();
    }
    let known = task_files::known_ids(&workspace.paths);
    gone.into_iter().partition(|(id, _)| known.binary_search(id).is_ok())
}

/// Returns the issues of moved tasks that HEAD has at both the new and the old path.
fn half_moved(
    workspace: &Workspace,
    committed: &HashMap<String, ObjectId>,
    moved: &[CommittedTask],
) -> Vec<Issue> {
    let names: HashSet<&str> = moved.iter().map(|(_, path)| path.name()).collect();
    let elsewhere = committed.keys().filter_map(|path| path.parse::<ProjectPath>().ok());
    let elsewhere = elsewhere.filter(|path| {
        names.contains(path.name()) && !is_gone(&path.below(workspace.paths.root()))
    });
    let arrived: HashSet<String> = elsewhere.map(|path| path.name().to_owned()).collect();
    let mut left: Vec<_> = moved.iter().filter(|(_, path)| arrived.contains(path.name())).collect();
    left.sort();
    let issue = |(id, path): &CommittedTask| {
        Issue::new(
            "task_left_behind",
            format!("HEAD has {id} twice: `{path}`, which is gone here, as well"),
            format!(
                "commit that it is gone: `git rm {0}`, then `git commit`",
                quoted(path.as_str())
            ),
        )
    };
    left.into_iter().map(issue).collect()
}

/// Returns whether no file is at the path. A path that cannot be looked up is not gone.
pub(crate) fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}
