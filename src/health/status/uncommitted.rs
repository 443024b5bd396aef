//! Tasks whose file is not what HEAD has.

use std::collections::HashMap;

use crate::domain::TaskId;
use crate::domain::issue::{Attention, some};
use crate::git::ObjectId;
use crate::project::active_rules::InForce;
use crate::project::workspace::Workspace;
use crate::storage::tasks::task_files;
use crate::storage::{ProjectPath, layout};
use crate::system::shell::quoted;
use crate::tasks::headers::header::NEW;
use crate::tasks::headers::listing::Listing;
use crate::tasks::state::frozen::Frozen;
use crate::tasks::state::task_state;
use crate::tasks::state::task_state::{Pending, Standing};

/// Says which there are: hand-made ones, edits, and what nobody may have done.
pub(crate) fn uncommitted_tasks(
    workspace: &Workspace,
    in_force: &InForce,
    committed: &HashMap<String, ObjectId>,
    listing: &Listing,
    attention: &mut Vec<Attention>,
) {
    let (mut new, mut edited) = (Vec::new(), Vec::new());
    let staged: Vec<_> = hand_made(listing).map(|(_, path)| path).collect();
    let staged = staged_otherwise(workspace, &staged);
    attention.extend(staged.iter().map(|path| Attention {
        code: "task_staged",
        problem: format!("`{path}` is staged otherwise than it stands, and in no commit yet, so nobody takes it up"),
        fix: format!(
            "stage it as it stands (`git add {0}`), or not at all (`git restore --staged {0}`)",
            quoted(path.as_str())
        ),
    }));
    let mut freeze = |id: &TaskId, frozen: Frozen<'_>| {
        attention.push(Attention { code: "task_frozen", problem: frozen.of(id), fix: frozen.fix });
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
        let Ok(standing) = Standing::read(workspace, &id) else { continue };
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
        attention.push(Attention {
            code,
            problem: format!("{} {what}: {}", ids.len(), some(&names)),
            fix: "`aof watch` takes them up after a moment; `aof watch --once` does it now"
                .to_owned(),
        });
    }
}

/// Returns the tasks that nobody has taken up.
fn hand_made(listing: &Listing) -> impl Iterator<Item = (TaskId, &ProjectPath)> {
    let new = listing.tasks.iter().filter(|(header, _)| header.status == NEW);
    new.filter_map(|(header, path)| Some((header.id.parse().ok()?, path)))
}

/// Returns those of hand-made files that git's index has, and otherwise than they stand.
fn staged_otherwise(workspace: &Workspace, files: &[&ProjectPath]) -> Vec<ProjectPath> {
    if files.is_empty() || workspace.repository.look().is_ok_and(|head| head.commit.is_none()) {
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
        .map_or(Vec::new(), |file| file.unearned())
}

/// Returns the tasks that were taken up and whose files differ from HEAD's, by content; line ends that git may have written are none.
fn changed_files(
    workspace: &Workspace,
    committed: &HashMap<String, ObjectId>,
    listing: &Listing,
) -> Vec<TaskId> {
    let mut changed = Vec::new();
    for (header, path) in listing.tasks.iter().filter(|(header, _)| header.status != NEW) {
        let Ok(snapshot) = task_files::read(&workspace.paths, path) else { continue };
        let is_committed =
            |blob: &ObjectId| workspace.repository.is_same_text(&snapshot.bytes, *blob);
        if !committed.get(path.as_str()).is_some_and(is_committed) {
            changed.extend(header.id.parse::<TaskId>());
        }
    }
    changed
}
