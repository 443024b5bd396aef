//! Edits of keys that the rules read, and the agents that hold a task meanwhile.

use crate::files::acceptance::{TESTS, TESTS_FILE};
use crate::files::task_file::TaskFile;
use crate::files::yaml::Node;
use crate::rules::{ReadKeys, Rules};

/// Returns the keys that differ between two versions of a task, and that its rules read.
pub(crate) fn read_keys_changed(rules: &Rules, before: &TaskFile, after: &TaskFile) -> Vec<String> {
    let read = ReadKeys::of(rules, &before.task);
    let mut keys = read.changed(&before.task, &after.task);
    let value = |file: &TaskFile, key: &str| file.field(key).map(Node::to_value);
    let tests = [TESTS, TESTS_FILE].into_iter().filter(|_| read.tests);
    keys.extend(tests.filter(|key| value(before, key) != value(after, key)).map(str::to_owned));
    keys
}

/// Returns whether an agent had claimed the task, or a branch of it.
pub(crate) fn is_claimed(file: &TaskFile) -> bool {
    let task = &file.task;
    let mut holders = task.branches().map(|branch| &branch.agent).chain([&task.routing.agent]);
    holders.any(|holder| holder.as_ref().is_some_and(|agent| !agent.is_human()))
}
