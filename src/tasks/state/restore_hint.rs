//! What to do about a task file that cannot be read: bring back the newest version that can be, from HEAD or, where that has the same,
//! from a commit before it; or, where a merge left its markers, solve those, since any one version lacks what the other side has.
//! Only reads.

use super::renamed_files::renamed;
use super::repair_hints::WayBack;
use crate::domain::TaskId;
use crate::files::frontmatter::has_conflict;
use crate::files::task_file;
use crate::project::active_rules::InForce;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::ProjectPath;
use crate::storage::tasks::task_files;

/// So many changes of a file are looked at.
const LOOK_BACK: usize = 50;

/// For so many files it is looked as far back as for each of them alone.
const MANY: usize = 10;

/// Puts to the error what to do about it.
pub(crate) fn with_way_back(
    workspace: &Workspace,
    in_force: &InForce,
    error: OpsError,
) -> OpsError {
    match error {
        OpsError::UnreadableTask { id, path, mut diagnostics, .. } => {
            let way_back = way_back(workspace, in_force, &id, &path);
            if way_back.is_whole() {
                for found in &mut diagnostics {
                    found.help = None;
                }
            }
            OpsError::UnreadableTask { id, path, diagnostics, way_back }
        }
        other => other,
    }
}

/// Returns what to do about it.
fn way_back(workspace: &Workspace, in_force: &InForce, id: &TaskId, path: &ProjectPath) -> WayBack {
    ways_back(workspace, in_force, &[(id.clone(), path.clone())]).pop().unwrap_or(WayBack::Unknown)
}

/// Returns what to do about each of these files, in their order. History is walked once for all of them, and once more for each that says
/// it is another task's.
pub(crate) fn ways_back(
    workspace: &Workspace,
    in_force: &InForce,
    files: &[(TaskId, ProjectPath)],
) -> Vec<WayBack> {
    let mut ways = versions_before(workspace, in_force, files);
    if workspace.head_now().is_ok() {
        for (way, (id, path)) in
            ways.iter_mut().zip(files).filter(|(way, _)| **way == WayBack::Unknown).take(MANY)
        {
            let standing =
                task_files::read(&workspace.paths, path).map(|file| file.bytes).unwrap_or_default();
            *way = renamed(workspace, in_force, (id, path), &standing).unwrap_or(WayBack::Unknown);
        }
    }
    ways
}

/// Returns what is told by the newest version of each that can be read, or by what a merge left.
fn versions_before(
    workspace: &Workspace,
    in_force: &InForce,
    files: &[(TaskId, ProjectPath)],
) -> Vec<WayBack> {
    let repository = &workspace.repository;
    let mut ways = vec![WayBack::Unknown; files.len()];
    let Ok(Some(head)) = repository.look().map(|head| head.commit) else { return ways };
    let unmerged =
        if files.is_empty() { Vec::new() } else { repository.unmerged().unwrap_or_default() };
    let abort = (!repository.merge_heads().is_empty()).then_some("git merge --abort");
    let is_busy = workspace.head_now().is_err();
    let defaults = in_force.defaults(workspace.now());
    let is_readable = |bytes: &[u8], id: &TaskId| task_file::parse(bytes, id, &defaults).is_ok();
    let mut wanted = Vec::new();
    for (place, (id, path)) in files.iter().enumerate() {
        let standing =
            task_files::read(&workspace.paths, path).map(|file| file.bytes).unwrap_or_default();
        let committed = repository.read(head, path.as_str()).ok().flatten().unwrap_or_default();
        if unmerged.iter().any(|own| own.path == path.as_str())
            || has_conflict(&standing)
            || has_conflict(&committed)
        {
            ways[place] = WayBack::Solve { abort };
        } else if is_busy {
            // What git is in the middle of is in no commit yet.
        } else if is_readable(&committed, id) {
            ways[place] = WayBack::Readable("HEAD".to_owned());
        } else {
            wanted.push(place);
        }
    }
    let paths: Vec<&str> = wanted.iter().map(|place| files[*place].1.as_str()).collect();
    let Some(changes) = (!paths.is_empty()).then(|| repository.log_of(head, &paths).ok()).flatten()
    else {
        return ways;
    };
    for before in changes
        .take(LOOK_BACK * paths.len().min(MANY))
        .filter_map(|entry| entry.ok()?.parents.first().copied())
    {
        if wanted.is_empty() || !repository.has_commit(before) {
            break;
        }
        wanted.retain(|place| {
            let (id, path) = &files[*place];
            let bytes = repository.read(before, path.as_str()).ok().flatten();
            let found = bytes.is_some_and(|bytes| is_readable(&bytes, id));
            if found {
                ways[*place] = WayBack::Readable(before.to_string()[..10].to_owned());
            }
            !found
        });
    }
    ways
}
