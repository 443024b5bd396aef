//! Stale task files: one that is an earlier committed version of itself, with or without edits of a person. A checkout that races with a
//! command leaves such a file, and so does an editor that saves late. The edits are merged into HEAD's version.

use std::collections::HashMap;

use crate::files::task_file;
use crate::files::task_file::TaskFile;
use crate::git::{CommitId, Marks};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{Change, explain};
use crate::storage::ProjectPath;
use crate::tasks::merge::file_merge::merge_files;
use crate::tasks::merge::outcome::Versions;

/// How many changes of a file are searched for the version that it began from.
const MOST_VERSIONS: usize = 100;

/// Returns HEAD's version of a stale file with the edits of a person in it; nothing if the file is not stale, or the edits overlap with what
/// was committed since. `committed` is HEAD's version.
pub(crate) fn refreshed(
    workspace: &Workspace,
    in_force: &InForce,
    path: &ProjectPath,
    head: CommitId,
    [committed, file]: [&TaskFile; 2],
) -> Result<Option<Vec<u8>>, ProjectError> {
    let Some(base) = base_of(workspace, in_force, path, head, file)? else { return Ok(None) };
    let versions = Versions { base: Some(&base), ours: committed.bytes(), theirs: file.bytes() };
    let merged = merge_files(&in_force.rules, &file.task.id, versions, &Marks::default())?;
    Ok(merged.conflicts.is_empty().then_some(merged.bytes))
}

/// Returns the committed version that the file began from: an identical one, else the nearest in text of those with the same engine keys.
fn base_of(
    workspace: &Workspace,
    in_force: &InForce,
    path: &ProjectPath,
    head: CommitId,
    file: &TaskFile,
) -> Result<Option<Vec<u8>>, ProjectError> {
    let (repository, path) = (&workspace.repository, path.as_str());
    let defaults = in_force.defaults(file.task.created);
    let text = String::from_utf8_lossy(file.bytes());
    let mut nearest = None;
    for entry in repository.log_of(head, &[path])?.take(MOST_VERSIONS) {
        let Some(blob) = repository.blob_id(entry?.id, path)? else { continue };
        let bytes = repository.read_blob(blob)?;
        let Ok(version) = task_file::parse(&bytes, &file.task.id, &defaults) else { continue };
        let change = explain(&in_force.rules, Some(&version.task), &file.task);
        if matches!(change, Change::Same | Change::Edit) && file.continues(&version) {
            let distance = distance(&String::from_utf8_lossy(&bytes), &text);
            if nearest.as_ref().is_none_or(|(least, _)| distance < *least) {
                nearest = Some((distance, bytes));
            }
            if distance == 0 {
                break;
            }
        }
    }
    Ok(nearest.map(|(_, bytes)| bytes))
}

/// Returns how many lines only one of two texts has.
fn distance(one: &str, other: &str) -> usize {
    let mut lines: HashMap<&str, isize> = HashMap::new();
    for line in one.lines() {
        *lines.entry(line).or_default() += 1;
    }
    for line in other.lines() {
        *lines.entry(line).or_default() -= 1;
    }
    lines.values().map(|count| count.unsigned_abs()).sum()
}
