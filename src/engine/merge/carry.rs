//! What was said at a branch of a fork while others spoke elsewhere: it counts as long as nobody has spoken there.

use super::Apart;
use crate::engine::proof::follow;
use crate::engine::rules::Rules;
use crate::model::{Ending, Task, Ticket, Visit};

/// Returns the task with the entry decided again on top of it; nothing where its visit has ended, or the rules refuse it.
pub(super) fn again(rules: &Rules, apart: &Apart<'_>, task: &Task, ticket: &Ticket, entry: &Visit) -> Option<Task> {
    let open = task.gate.as_ref()?;
    let is_open = ticket.visit == Some(open.visit) && apart.shares(open.visit) && open.current == entry.gate;
    let is_said = matches!(entry.outcome, Ending::Said(_)) && entry.branch.is_some();
    if !is_open || !is_said {
        return None;
    }
    follow(rules, task, entry).ok()
}
