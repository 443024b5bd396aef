//! With which of its files a task belongs: with the finished ones, in the archive, or with the others.

use crate::domain::{TaskId, Timestamp};
use crate::files::task_file;
use crate::files::task_file::Defaults;
use crate::rules::Rules;
use crate::storage::layout;

/// Returns which of the versions says whether the task is finished. Markers may keep what was merged from saying so; then it is as far as one
/// of the sides is.
pub(crate) fn speaking<'v>(
    rules: &Rules,
    id: &TaskId,
    [merged, ours, theirs]: [&'v [u8]; 3],
) -> &'v [u8] {
    if is_finished(rules, id, merged).is_some() {
        return merged;
    }
    [ours, theirs]
        .into_iter()
        .find(|side| is_finished(rules, id, side) == Some(true))
        .unwrap_or(ours)
}

/// Returns which of the paths is where the task belongs by what it says of itself; the first one where none is.
pub(crate) fn place_among(rules: &Rules, id: &TaskId, paths: &[String], speaks: &[u8]) -> usize {
    let belongs_there = is_finished(rules, id, speaks) == Some(true);
    paths.iter().position(|path| is_archived(path) == belongs_there).unwrap_or_default()
}

/// Returns whether these bytes say that the task is finished, if they can be read.
fn is_finished(rules: &Rules, id: &TaskId, bytes: &[u8]) -> Option<bool> {
    let defaults = Defaults {
        workflow: rules.project.default_workflow.clone(),
        created: Timestamp::UNIX_EPOCH,
    };
    task_file::parse(bytes, id, &defaults).ok().map(|file| file.task.status.is_finished())
}

fn is_archived(path: &str) -> bool {
    path.strip_prefix(layout::ARCHIVE).is_some_and(|rest| rest.starts_with('/'))
}
