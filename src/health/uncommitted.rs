//! Checks of task files that differ from HEAD or cannot be read.

use std::collections::HashMap;

use super::subject::{CheckContext, CheckResult, CheckedProject};
use crate::domain::TaskId;
use crate::domain::project::{FEW, some};
use crate::git::ObjectId;
use crate::health::task_files::doubled_among;
use crate::history::unmerged::{UnmergedState, unmerged_tasks};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::git_hints::mend_unreadable;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::storage::layout::{ARCHIVE, is_archived};
use crate::storage::{ProjectPath, journal, layout, task_files};
use crate::system::terminal::{all_quoted, quoted};
use crate::tasks::headers::listing::{Listing, Unreadable};
use crate::tasks::state::frozen::Frozen;
use crate::tasks::state::task_state;
use crate::tasks::state::task_state::{Pending, TaskState};

/// Hand-made tasks, edits, and what nobody may have done. In the middle of a merge that is git's to tell.
pub(crate) fn check_uncommitted(subject: &CheckContext<'_>) -> CheckResult {
    let workspace = subject.workspace;
    let Some(CheckedProject { in_force, committed, listing, .. }) =
        subject.project().filter(|_| subject.busy.is_none())
    else {
        return Ok(Vec::new());
    };
    let mut issues = Vec::new();
    let (mut new, mut edited) = (Vec::new(), Vec::new());
    let staged: Vec<_> = hand_made(listing).map(|(_, path)| path).collect();
    let staged = staged_otherwise(workspace, &staged);
    issues.extend(staged.iter().map(|path| Issue::new("task_staged", format!("`{path}` is staged otherwise than it stands, and in no commit yet, so nobody takes it up"), format!(
            "stage it as it stands (`git add {0}`), or not at all (`git restore --staged {0}`)",
            quoted(path.as_str())
        ))));
    let mut freeze = |id: &TaskId, frozen: Frozen<'_>| {
        issues.push(Issue::new("task_frozen", frozen.of(id), frozen.fix));
    };
    for (id, path) in hand_made(listing) {
        match unearned(workspace, in_force, &id, path) {
            fields if fields.is_empty() && staged.contains(path) => {}
            fields if fields.is_empty() => new.push(id),
            fields => freeze(&id, Frozen::unearned(&id, &fields)),
        }
    }
    for id in changed_files(workspace, committed, listing) {
        // Files that cannot be read are told of already.
        let Ok(standing) = TaskState::read(workspace, &id) else { continue };
        match (standing.frozen(), &standing.pending) {
            (Some(frozen), _) => freeze(&id, frozen),
            (None, Pending::Versions(_)) => edited.push(id),
            (None, _) => {}
        }
    }
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

/// Archived files that somebody edited or removed without committing that: no command comes across them, and `git commit -a` takes the
/// change along. What git's index lacks because it was left behind is nobody's edit.
pub(crate) fn archive(subject: &CheckContext<'_>) -> CheckResult {
    let is_asked = subject.busy.is_none() && subject.index_fault.is_none();
    let Some(CheckedProject { committed, index, .. }) = subject.project().filter(|_| is_asked)
    else {
        return Ok(Vec::new());
    };
    let is_known = |path: &str| path.parse::<ProjectPath>().is_ok_and(|path| is_archived(&path));
    if !committed.keys().any(|path| is_known(path)) {
        return Ok(Vec::new());
    }
    let mut files = subject.workspace.repository.uncommitted_below(ARCHIVE)?;
    // Those are told of as what they are.
    let is_told =
        |path: &str| index.behind.iter().chain(&index.taken_out).any(|file| file.path == path);
    files.retain(|path| committed.contains_key(path) && !is_told(path));
    // What a killed command left is told as that.
    if files.is_empty() || journal::is_pending(&subject.workspace.paths) {
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

/// Returns the tasks that nobody has taken up.
fn hand_made(listing: &Listing) -> impl Iterator<Item = (TaskId, &ProjectPath)> {
    let new = listing.tasks.iter().filter(|(task, _)| task.is_new);
    new.map(|(task, path)| (task.id.clone(), path))
}

/// Returns those of hand-made files that git's index has, and otherwise than they stand.
fn staged_otherwise(workspace: &Workspace, files: &[&ProjectPath]) -> Vec<ProjectPath> {
    if files.is_empty()
        || workspace.repository.head_for_reading().is_ok_and(|head| head.commit.is_none())
    {
        return Vec::new();
    }
    // Whatever is the matter with the index is told by who looks at it.
    let staged = workspace.repository.staged_below(layout::TASKS).unwrap_or_default();
    let staged: HashMap<String, ObjectId> = staged
        .into_iter()
        .filter_map(|file| Some((file.path, file.staged.filter(|_| file.head.is_none())?)))
        .collect();
    let stands_so = |path: &ProjectPath, blob: &ObjectId| {
        let here = task_files::read(&workspace.paths, path);
        here.is_ok_and(|here| workspace.repository.is_same_text(&here.bytes, *blob))
    };
    let differs =
        |path: &ProjectPath| staged.get(path.as_str()).is_some_and(|blob| !stands_so(path, blob));
    files.iter().copied().filter(|path| differs(path)).cloned().collect()
}

/// Returns what keeps a hand-made file from being taken up. Where HEAD has such files does not matter, and would have to be looked for.
fn unearned(
    workspace: &Workspace,
    in_force: &InForce,
    id: &TaskId,
    path: &ProjectPath,
) -> Vec<String> {
    let Ok(snapshot) = task_files::read(&workspace.paths, path) else { return Vec::new() };
    task_state::parse(in_force, id, path, &snapshot.bytes, workspace.now())
        .map_or(Vec::new(), |file| file.dropped_fields())
}

/// Returns the tasks that were taken up and whose files differ from HEAD's, by content; line ends that git may have written are none.
fn changed_files(
    workspace: &Workspace,
    committed: &HashMap<String, ObjectId>,
    listing: &Listing,
) -> Vec<TaskId> {
    let mut changed = Vec::new();
    for (task, path) in listing.tasks.iter().filter(|(task, _)| !task.is_new) {
        let Ok(snapshot) = task_files::read(&workspace.paths, path) else { continue };
        let is_committed =
            |blob: &ObjectId| workspace.repository.is_same_text(&snapshot.bytes, *blob);
        if !committed.get(path.as_str()).is_some_and(is_committed) {
            changed.push(task.id.clone());
        }
    }
    changed
}

/// No file is named twice.
pub(crate) fn check_unreadable(subject: &CheckContext<'_>) -> CheckResult {
    let Some(project) = subject.project() else { return Ok(Vec::new()) };
    let mut unreadable = project.listing.unreadable.clone();
    let mut issues = Vec::new();
    if subject.index_fault.is_none() {
        issues.extend(unmerged(subject.workspace, &mut unreadable)?);
    }
    issues.extend(doubled_among(subject, &mut unreadable));
    issues.extend(of_unreadable(&unreadable));
    Ok(issues)
}

fn of_unreadable(files: &[Unreadable]) -> Vec<Issue> {
    let point = |file: &Unreadable| {
        let first = file.diagnostics.first();
        let fix = match first {
            None if file.path == layout::TASKS => {
                "make it a folder that you may read and search (`ls -ld tasks` shows it): no task is seen until then"
                    .to_owned()
            }
            None => "mend that, or move it out of `tasks/`".to_owned(),
            Some(first) if first.code == "conflict_markers" => {
                first.help.clone().unwrap_or_default()
            }
            Some(first) => {
                let help = first.help.as_ref().map(|help| format!("{help}; ")).unwrap_or_default();
                format!("{help}{}", mend_unreadable(&file.path))
            }
        };
        let problem = format!("`{}` cannot be read: {}", file.place(), file.reason);
        Issue::new("unreadable_task", problem, fix)
    };
    files.iter().map(point).collect()
}

/// Returns what git left unmerged. Markers that `--settle` resolves are no reason why a file cannot be read, and all others are reason enough.
fn unmerged(
    workspace: &Workspace,
    unreadable: &mut Vec<Unreadable>,
) -> Result<Vec<Issue>, ProjectError> {
    let mut issues = Vec::new();
    let mut tasks = unmerged_tasks(workspace)?;
    // What somebody may lose comes first.
    tasks.sort_by_key(|task| !matches!(task.state, UnmergedState::OneSided(_)));
    for task in tasks {
        let is_settled = match &task.state {
            UnmergedState::Mergeable(merge) => merge.conflicts.is_empty(),
            state => matches!(state, UnmergedState::Confused(_)),
        };
        if is_settled {
            unreadable.retain(|own| own.path != task.path && !task.others.contains(&own.path));
        }
        if unreadable.iter().all(|own| own.path != task.path) {
            let (problem, fix) = task.problem_and_fix();
            issues.push(Issue::new("task_unmerged", format!("`{}`: {problem}", task.path), fix));
        }
    }
    Ok(issues)
}
