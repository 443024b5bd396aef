//! What is told of a run: what begins, where a task went, why an attempt came to nothing. Makes news, and decides nothing.

use std::time::Duration;

use super::attempt::answer::Before;
use super::attempt::attempt::Came;
use super::attempt::prompt::Count;
use super::news::{News, Started};
use super::visit::Run;
use super::visit_state::Open;
use crate::domain::{Station, Task, Ticket, Visit};
use crate::rules::Rules;

impl Run<'_> {
    /// Returns what is told of an attempt that begins.
    pub(crate) fn started(&self, open: &Open, count: Count) -> Started {
        let task = &open.file.task;
        let station = open.opening.station.clone();
        let gates = open
            .in_force
            .rules
            .workflow_of(task)
            .map(|workflow| workflow.gates.as_slice())
            .unwrap_or_default();
        let step =
            gates.iter().position(|gate| gate.id == station.gate).map_or(0, |index| index + 1);
        Started {
            ticket: self.assignment.ticket.clone(),
            station,
            title: task.title.clone(),
            agent: self.assignment.agent.clone(),
            attempt: count.attempt,
            attempts: count.attempts,
            step,
            steps: gates.len(),
        }
    }

    /// Tells of a visit that has ended.
    pub(crate) fn tell_moved(&self, rules: &Rules, visit: &Visit, task: &Task, took: Duration) {
        let news = moved(rules, &self.assignment.ticket, &visit.station(), Some(visit), task, took);
        (self.news)(news);
    }
}

/// Returns what is told of a visit that has ended.
pub(crate) fn moved(
    rules: &Rules,
    ticket: &Ticket,
    from: &Station,
    visit: Option<&Visit>,
    task: &Task,
    took: Duration,
) -> News {
    let stands = rules.workflow_of(task).and(task.gate.as_ref());
    News::Moved {
        ticket: ticket.clone(),
        from: from.clone(),
        outcome: visit.map(|visit| visit.outcome.to_string()).unwrap_or_default(),
        summary: visit.map(|visit| visit.summary.clone()).filter(|text| !text.is_empty()),
        to: stands.map(|open| Station::from(&open.current)),
        status: task.status,
        took,
    }
}

/// Returns what speaks against the completion that the agent made itself: it counts, and whoever looks on should know.
pub(crate) fn against_own(came: &Came, visit: &Visit) -> Option<String> {
    let outcome = &visit.outcome;
    match came {
        Came::Said(said)
            if said.outcome.as_ref().is_none_or(|said| said.to_string() == outcome.to_string()) =>
        {
            None
        }
        Came::Said(said) => {
            let other = said.outcome.as_ref().map(ToString::to_string).unwrap_or_default();
            Some(format!(
                "the agent completed with `{outcome}`, which counts, and then said `{other}`"
            ))
        }
        // Who has completed its task need not say anything else.
        Came::Nothing(Before::Bad(_)) | Came::Stopped | Came::Overtaken(_) => None,
        Came::Nothing(before) => Some(format!(
            "the agent completed with `{outcome}`, which counts, and then: {}",
            sentence(before)
        )),
        Came::Unavailable(why) => {
            Some(format!("the agent completed with `{outcome}`, which counts, and then: {why}"))
        }
    }
}

/// Returns why an attempt came to nothing.
pub(crate) fn sentence(before: &Before) -> String {
    match before {
        Before::TimedOut(time) => {
            format!("it was not done after {} s, and was stopped", time.as_secs())
        }
        Before::Idle(time) => {
            format!("it printed nothing for {} s, and was stopped", time.as_secs())
        }
        Before::Interrupted(why) | Before::Crashed(why) | Before::Bad(why) => why.clone(),
        Before::Refused(why) => format!("what it said was refused: {why}"),
    }
}
