//! Task files that say they are another task's: renamed, or copied. What is told of one is how it goes back, since whatever else is done
//! with it takes a history away, or brings one along that is none. Only reads.

use super::repair_hints::WayBack;
use super::task_state::{parse, path_in};
use crate::domain::{Layout, TaskId};
use crate::git::CommitId;
use crate::project::active_rules::InForce;
use crate::project::workspace::Workspace;
use crate::storage::ProjectPath;
use crate::storage::layout::{TASKS, task_path};
use crate::storage::tasks::task_files;
use crate::system::shell::all_quoted;

/// So many changes of the places where it may have stood are looked at.
const LOOK_BACK: usize = 50;

/// Returns how the file of that name goes back to the task that `bytes`, what it says, say it is of; nothing if it is of its own, or
/// nobody knows that task.
pub(crate) fn renamed(
    workspace: &Workspace,
    in_force: &InForce,
    (id, path): (&TaskId, &ProjectPath),
    bytes: &[u8],
) -> Option<WayBack> {
    let stated = stated_id(bytes).filter(|stated| stated != id)?;
    let repository = &workspace.repository;
    let head = repository.look().ok()?.commit?;
    let is_its = |path: &ProjectPath, bytes: &[u8]| {
        parse(in_force, &stated, path, bytes, workspace.now()).is_ok()
    };
    let is_committed = repository.blob_id(head, path.as_str()).ok()?.is_some();
    if let Ok(found) = task_files::find(&workspace.paths, &stated) {
        let there = task_files::read(&workspace.paths, &found.path).ok()?;
        let command = format!(
            "{} {}",
            if is_committed { "git rm" } else { "rm" },
            all_quoted([path.as_str()])
        );
        let copied = WayBack::Copied { id: id.clone(), of: found.path.to_string(), command };
        return is_its(&found.path, &there.bytes).then_some(copied);
    }
    let back = before(workspace, head, &stated, path, &is_its)?;
    let staged = || repository.staged_below(TASKS).unwrap_or_default();
    let is_known = is_committed
        || staged().iter().any(|file| file.path == path.as_str() && file.staged.is_some());
    let names = all_quoted([path.as_str(), back.as_str()]);
    Some(WayBack::Renamed {
        command: format!("{} {names}", if is_known { "git mv" } else { "mv" }),
    })
}

/// Returns where HEAD has the task, or a commit before it had it where it may have been renamed from.
fn before(
    workspace: &Workspace,
    head: CommitId,
    stated: &TaskId,
    path: &ProjectPath,
    is_its: &dyn Fn(&ProjectPath, &[u8]) -> bool,
) -> Option<ProjectPath> {
    let repository = &workspace.repository;
    let has = |commit: CommitId, path: &ProjectPath| {
        repository
            .read(commit, path.as_str())
            .ok()
            .flatten()
            .is_some_and(|bytes| is_its(path, &bytes))
    };
    if let Some(there) = path_in(workspace, head, stated).ok()? {
        return has(head, &there).then_some(there);
    }
    let usual = [Layout::Flat, Layout::Sharded].map(|layout| task_path(stated, layout));
    let places: Vec<ProjectPath> =
        path.sibling(&format!("{stated}.md")).into_iter().chain(usual).collect();
    let names: Vec<&str> = places.iter().map(ProjectPath::as_str).collect();
    let changes = repository.log_of(head, &names).ok()?.take(LOOK_BACK);
    changes
        .filter_map(|change| change.ok()?.parents.first().copied())
        .take_while(|commit| repository.has_commit(*commit))
        .find_map(|commit| places.iter().find(|place| has(commit, place)).cloned())
}

/// Returns the id that a file says it has: the key stands at the beginning of a line, above the body.
fn stated_id(bytes: &[u8]) -> Option<TaskId> {
    let lines = bytes.split(|byte| *byte == b'\n').skip(1).map(<[u8]>::trim_ascii_end);
    let value =
        lines.take_while(|line| *line != b"---").find_map(|line| line.strip_prefix(b"id:"))?;
    let value = std::str::from_utf8(value).ok()?;
    value
        .split_once(" #")
        .map_or(value, |(value, _)| value)
        .trim()
        .trim_matches(['"', '\''])
        .parse()
        .ok()
}
