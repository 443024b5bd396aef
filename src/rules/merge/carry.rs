//! What was said at a branch of a fork while others spoke elsewhere: it counts as long as nobody has spoken there.

use super::Apart;
use crate::domain::{Ending, Task, Ticket, Visit};
use crate::rules::replay::proof::follow;
use crate::rules::signing::verify::flaw;
use crate::rules::workflow::rules::Rules;

/// Returns the task with the entry decided again on top of it; nothing where its visit has ended, or the rules refuse it, or it is
/// not signed as they want it.
pub(crate) fn again(
    rules: &Rules,
    apart: &Apart<'_>,
    task: &Task,
    ticket: &Ticket,
    entry: &Visit,
) -> Option<Task> {
    let open = task.gate.as_ref()?;
    let is_open =
        ticket.visit == Some(open.visit) && apart.shares(open.visit) && open.current == entry.gate;
    let is_said = matches!(entry.outcome, Ending::Said(_)) && entry.branch.is_some();
    if !is_open || !is_said {
        return None;
    }
    let carried = follow(rules, task, entry).ok()?;
    // What its agent signed under other rules is not what it says under these.
    flaw(rules, &carried, task.history.len()).is_none().then_some(carried)
}
