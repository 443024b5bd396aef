//! Checks of task files that differ from HEAD or cannot be read.

use std::collections::HashMap;

use super::context::{CheckContext, CheckResult, CheckedProject};
use crate::domain::TaskId;
use crate::domain::project::{FEW, some};
use crate::files::diagnostic::Diagnostic;
use crate::files::task_file::TaskFile;
use crate::files::task_file::misread::misread;
use crate::git::ObjectId;
use crate::health::task_files::{
    archived_beside, doubled_among, doubled_in_archive, moved_and_gone,
};
use crate::history::unmerged::{UnmergedState, unmerged_tasks};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::git_hints::unreadable_hint;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::storage::layout::{ARCHIVE, is_archived};
use crate::storage::{ProjectPath, journal, layout, task_files};
use crate::system::terminal::{all_quoted, quoted};
use crate::tasks::headers::listing::{Listing, Unreadable};
use crate::tasks::state::frozen::{Committed, Frozen, thaw_hint};
use crate::tasks::state::misread::{fixes, new_misread};
use crate::tasks::state::task_state;
use crate::tasks::state::task_state::{Pending, TaskState};

/// Reports hand-made tasks, edits, and forbidden changes that are not committed, unless a merge is in progress.
pub(crate) fn check_uncommitted(context: &CheckContext<'_>) -> CheckResult {
    let workspace = context.workspace;
    let Some(CheckedProject { in_force, committed, listing, .. }) =
        context.project().filter(|_| context.busy.is_none())
    else {
        return Ok(Vec::new());
    };
    let mut issues = Vec::new();
    let (mut new, mut edited) = (Vec::new(), Vec::new());
    let staged: Vec<_> = hand_made(listing).map(|(_, path)| path).collect();
    let staged = staged_otherwise(workspace, &staged);
    issues.extend(staged.iter().map(|path| {
        Issue::new(
            "task_staged",
            format!(
                "`{path}` is staged with other contents and not committed yet, so it is not adopted"
            ),
            format!(
                "stage it as it is (`git add {0}`), or not at all (`git restore --staged {0}`)",
                quoted(path.as_str())
            ),
        )
    }));
    let mut doubled = Vec::new();
    let mut freeze = |id: &TaskId, frozen: Frozen<'_>| {
        issues.push(Issue::new("task_frozen", frozen.of(id), frozen.fix));
    };
    let mut is_doubled = |id: &TaskId, path: &ProjectPath| -> Result<bool, ProjectError> {
        let archived = archived_beside(workspace, id, path)?;
        let issue =
            archived.as_ref().map(|archived| doubled_in_archive(context, id, path, archived));
        // `aof doctor` reports all tasks with several files.
        doubled.extend(issue.filter(|_| !context.is_doctor()));
        Ok(archived.is_some())
    };
    for (id, path) in hand_made(listing) {
        if is_doubled(&id, path)? {
            continue;
        }
        let Ok(file) = read_task(workspace, in_force, &id, path) else { continue };
        let (fields, found) = (file.dropped_fields(), new_misread(path, None, &file));
        let places: Vec<String> = found.iter().map(Diagnostic::placed).collect();
        if !fields.is_empty() {
            freeze(&id, Frozen::unearned(&id, &fields));
        } else if !found.is_empty() {
            freeze(&id, Frozen::misread(&places, fixes(&found)));
        } else if !staged.contains(path) {
            new.push(id);
        }
    }
    let mut changed = Vec::new();
    for (id, path) in changed_files(workspace, committed, listing) {
        if !is_doubled(id, path)? {
            changed.push(id);
        }
    }
    // The list of active tasks lacks a task that was archived in the worktree, although HEAD has it as active.
    let (moved, _) = moved_and_gone(workspace, committed, listing);
    let is_writing = journal::is_pending(&workspace.paths);
    changed.extend(moved.iter().filter(|_| !is_writing).map(|(id, _)| id));
    let mut moved_edits = Vec::new();
    for id in changed {
        // Another check reports files that cannot be read.
        let Ok(state) = TaskState::read(workspace, id) else { continue };
        match (state.frozen(), &state.pending, &state.head_path) {
            (Some(frozen), ..) => freeze(id, frozen),
            (None, Pending::Versions(_), Some(before)) if is_archived(&state.snapshot.path) => {
                let path = &state.snapshot.path;
                let problem = format!("{id} was moved to `{path}`, and that is not committed");
                let fix = thaw_hint(path, Committed::At(before));
                moved_edits.push(Issue::new("not_committed", problem, fix));
            }
            (None, Pending::Versions(_), _) => edited.push(id.clone()),
            (None, ..) => {}
        }
    }
    issues.extend(moved_edits);
    issues.extend(doubled);
    let new = (new, "hand-made task stands at no gate yet", "hand-made tasks stand at no gate yet");
    let edited = (edited, "edit of a task is not committed", "edits of tasks are not committed");
    for (code, (mut ids, one, many)) in [("not_adopted", new), ("not_committed", edited)] {
        if ids.is_empty() {
            continue;
        }
        ids.sort();
        let names: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
        let what = if ids.len() == 1 { one } else { many };
        issues.push(Issue::new(
            code,
            format!("{} {what}: {}", ids.len(), some(&names)),
            "`aof watch` takes them up after a moment; `aof watch --once` does it now",
        ));
    }
    Ok(issues)
}

/// Reports archived files with uncommitted edits or deletions: no command notices these, and `git commit -a` would commit them.
/// Files that only an outdated index lacks are left out.
pub(crate) fn check_archive(context: &CheckContext<'_>) -> CheckResult {
    let is_asked = context.busy.is_none() && context.index_fault.is_none();
    let Some(CheckedProject { committed, index, .. }) = context.project().filter(|_| is_asked)
    else {
        return Ok(Vec::new());
    };
    let is_known = |path: &str| path.parse::<ProjectPath>().is_ok_and(|path| is_archived(&path));
    if !committed.keys().any(|path| is_known(path)) {
        return Ok(Vec::new());
    }
    let mut files = context.workspace.repository.uncommitted_below(ARCHIVE)?;
    // The check of the index reports these.
    let is_reported =
        |path: &str| index.behind.iter().chain(&index.taken_out).any(|file| file.path == path);
    files.retain(|path| committed.contains_key(path) && !is_reported(path));
    // Another check reports the remains of a killed command.
    if files.is_empty() || journal::is_pending(&context.workspace.paths) {
        return Ok(Vec::new());
    }
    files.sort();
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    let what = if names.len() == 1 { "archived file is" } else { "archived files are" };
    let named =
        if names.len() <= FEW { all_quoted(names.iter().copied()) } else { ARCHIVE.to_owned() };
    Ok(vec![Issue::new(
        "archive_changed",
        format!("{} {what} edited or deleted, and not committed: {}", names.len(), some(&names)),
        format!(
            "see it with `git diff HEAD -- {named}`, and take it back with `git restore --source=HEAD --staged --worktree {named}`; \
             nothing commits it by itself, and once it is committed `aof verify` tells what was changed of the history"
        ),
    )])
}

/// Returns the tasks that are not adopted yet.
fn hand_made(listing: &Listing) -> impl Iterator<Item = (TaskId, &ProjectPath)> {
    let new = listing.tasks.iter().filter(|(task, _)| task.is_new);
    new.map(|(task, path)| (task.id.clone(), path))
}

/// Returns the hand-made files whose staged version differs from the file.
fn staged_otherwise(workspace: &Workspace, files: &[&ProjectPath]) -> Vec<ProjectPath> {
    if files.is_empty()
        || workspace.repository.head_for_reading().is_ok_and(|head| head.commit.is_none())
    {
        return Vec::new();
    }
    // Another check reports an unreadable index.
    let staged = workspace.repository.staged_below(layout::TASKS).unwrap_or_default();
    let staged: HashMap<String, ObjectId> = staged
        .into_iter()
        .filter_map(|file| Some((file.path, file.staged.filter(|_| file.head.is_none())?)))
        .collect();
    let is_staged_as_is = |path: &ProjectPath, blob: &ObjectId| {
        let here = task_files::read(&workspace.paths, path);
        here.is_ok_and(|here| workspace.repository.is_same_text(&here.bytes, *blob))
    };
    let differs = |path: &ProjectPath| {
        staged.get(path.as_str()).is_some_and(|blob| !is_staged_as_is(path, blob))
    };
    files.iter().copied().filter(|path| differs(path)).cloned().collect()
}

/// Reads a task file. HEAD is not searched for other files of the task.
fn read_task(
    workspace: &Workspace,
    in_force: &InForce,
    id: &TaskId,
    path: &ProjectPath,
) -> Result<TaskFile, ProjectError> {
    let snapshot = task_files::read(&workspace.paths, path)?;
    task_state::parse(in_force, id, path, &snapshot.bytes, workspace.now())
}

/// Reports tasks in which a form is read differently than it looks. Committed forms are read as before.
pub(crate) fn check_misread(context: &CheckContext<'_>) -> CheckResult {
    let workspace = context.workspace;
    let Some(CheckedProject { in_force, committed, listing, .. }) = context.project() else {
        return Ok(Vec::new());
    };
    let mut issues = Vec::new();
    for (task, path) in &listing.tasks {
        if !task.is_misread {
            continue;
        }
        let Ok(file) = read_task(workspace, in_force, &task.id, path) else { continue };
        let text = String::from_utf8_lossy(file.bytes());
        let mut found = Diagnostic::from_faults(path.as_str(), &text, &misread(&file));
        // A new or edited file with other forms waits, and is reported as waiting.
        let waits = task.is_new || !is_as_committed(workspace, committed, path, file.bytes());
        found.retain(|one| !waits || one.code == "nul_byte");
        if found.is_empty() {
            continue;
        }
        let places: Vec<String> = found.iter().map(Diagnostic::placed).collect();
        let (problem, fix) =
            (places.join("; "), format!("{}: `aof edit {}`", fixes(&found), task.id));
        issues.push(Issue::new("misread_form", problem, fix).advice());
    }
    Ok(issues)
}

/// Returns the adopted tasks whose files differ from HEAD's in more than line endings.
fn changed_files<'l>(
    workspace: &Workspace,
    committed: &HashMap<String, ObjectId>,
    listing: &'l Listing,
) -> Vec<(&'l TaskId, &'l ProjectPath)> {
    let mut changed = Vec::new();
    for (task, path) in listing.tasks.iter().filter(|(task, _)| !task.is_new) {
        if committed.get(path.as_str()).is_some_and(|blob| *blob.as_bytes() == task.blob) {
            continue;
        }
        let Ok(snapshot) = task_files::read(&workspace.paths, path) else { continue };
        if !is_as_committed(workspace, committed, path, &snapshot.bytes) {
            changed.push((&task.id, path));
        }
    }
    changed
}

fn is_as_committed(
    workspace: &Workspace,
    committed: &HashMap<String, ObjectId>,
    path: &ProjectPath,
    bytes: &[u8],
) -> bool {
    let blob = committed.get(path.as_str());
    blob.is_some_and(|blob| workspace.repository.is_same_text(bytes, *blob))
}

/// Reports unmerged, duplicate and unreadable task files, each file once.
pub(crate) fn check_unreadable(context: &CheckContext<'_>) -> CheckResult {
    let Some(project) = context.project() else { return Ok(Vec::new()) };
    let mut unreadable = project.listing.unreadable.clone();
    let mut issues = Vec::new();
    if context.index_fault.is_none() {
        issues.extend(unmerged_issues(context.workspace, &mut unreadable)?);
    }
    issues.extend(doubled_among(context, &mut unreadable));
    issues.extend(unreadable_issues(&unreadable, &project.committed));
    Ok(issues)
}

fn unreadable_issues(files: &[Unreadable], committed: &HashMap<String, ObjectId>) -> Vec<Issue> {
    let issue = |file: &Unreadable| {
        let first = file.diagnostics.first();
        let fix = match first {
            None if file.path == layout::TASKS => {
                "make it a folder that you may read and search (`ls -ld tasks` shows it): no task is seen until then"
                    .to_owned()
            }
            None if file.path.rsplit('/').next().and_then(layout::copy_of).is_some() => {
                "take over what only it says, and remove it".to_owned()
            }
            None => "fix that, or move it out of `tasks/`".to_owned(),
            Some(first) if first.code == "conflict_markers" => {
                first.help.clone().unwrap_or_default()
            }
            Some(first) => {
                let help = first.help.as_ref().map(|help| format!("{help}; ")).unwrap_or_default();
                format!("{help}{}", unreadable_hint(&file.path, committed.contains_key(&file.path)))
            }
        };
        let problem = format!("`{}` cannot be read: {}", file.place(), file.reason);
        Issue::new("unreadable_task", problem, fix)
    };
    files.iter().map(issue).collect()
}

/// Returns the issues of task files that git left unmerged. A file is reported here or as unreadable: here if `--settle` can merge it.
fn unmerged_issues(
    workspace: &Workspace,
    unreadable: &mut Vec<Unreadable>,
) -> Result<Vec<Issue>, ProjectError> {
    let mut issues = Vec::new();
    let mut tasks = unmerged_tasks(workspace)?;
    // Changes that may get lost are first.
    tasks.sort_by_key(|task| !matches!(task.state, UnmergedState::OneSided(_)));
    for task in tasks {
        let is_settled = match &task.state {
            UnmergedState::Mergeable(merge) => merge.conflicts.is_empty(),
            state => matches!(state, UnmergedState::Confused(_)),
        };
        if is_settled {
            unreadable.retain(|file| file.path != task.path && !task.others.contains(&file.path));
        }
        if unreadable.iter().all(|file| file.path != task.path) {
            let (problem, fix) = task.problem_and_fix();
            issues.push(Issue::new("task_unmerged", format!("`{}`: {problem}", task.path), fix));
        }
    }
    Ok(issues)
}
