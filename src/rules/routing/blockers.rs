//! What stands in a task's way, recognised by its text.

use crate::domain::{LostDependency, RoleId, Task};

/// How a task begins to say that nobody is in its role: the text is spec 1, 9.7's own.
const NOBODY: &str = "No agents available for role: ";

/// How it begins to say that it was sent back too often.
pub(crate) const CIRCLE: &str = "Circular rejection loop: ";

/// Returns what stands in the way of a task whose role has nobody.
pub(crate) fn nobody(role: &RoleId) -> String {
    format!("{NOBODY}{role}")
}

/// Returns whether the text says that nobody is in a role.
pub fn is_nobody(text: &str) -> bool {
    text.starts_with(NOBODY)
}

/// Returns whether the text says that the task was sent back too often.
pub fn is_circle(text: &str) -> bool {
    text.starts_with(CIRCLE)
}

/// Returns whether the rules themselves put the text in a task's way, and would do so again where it still holds.
pub(crate) fn is_own(text: &str) -> bool {
    is_nobody(text) || is_circle(text)
}

/// Returns the dependencies on whose loss the task waits. What a completion said of them is its own affair.
pub fn lost_dependencies(task: &Task) -> Vec<LostDependency> {
    // Once it was set going again, what was said is over.
    let waits = task.gate.as_ref().is_some_and(|open| open.resumed.is_none());
    let said = task
        .history
        .last()
        .filter(|_| waits)
        .map(|visit| visit.blockers.as_slice())
        .unwrap_or_default();
    let own = task.blockers.iter().filter(|blocker| !said.contains(blocker));
    own.filter_map(|blocker| LostDependency::read(blocker)).collect()
}
