//! Events of a run: as lines for people, as JSON for programs

use std::time::Duration;

use serde_json::{Value, json};

use crate::agents::runner::{RunEvent, StartedAttempt, WaitReason, WaitingWork};
use crate::cli::output::{cyan, dim, green, yellow};
use crate::cli::time::length;
use crate::domain::{Status, listed};
use crate::files::printable::one_line;

/// Returns the line for a piece of news; none for what only a live view shows.
pub(crate) fn line(news: &RunEvent) -> Option<String> {
    Some(match news {
        RunEvent::Printed { .. } => return None,
        RunEvent::StartedAttempt(started) => {
            let (step, attempt) = (step(started), attempt(started));
            format!("{step}: {} at {}{attempt}", started.agent, cyan(&started.ticket))
        }
        RunEvent::AttemptFailed { ticket, attempt, why, again_in } => {
            let then = again_in.map(|time| format!("again in {}", rounded(time)));
            let then = then.unwrap_or_else(|| "there is no other".to_owned());
            let (warning, why) = (yellow("warning:"), one_line(why));
            format!("{warning} {ticket}: attempt {attempt} came to nothing: {why}; {then}")
        }
        RunEvent::Moved { ticket, from, outcome, summary, to, status, took } => {
            let to = match (to, status) {
                (_, Status::Blocked) => yellow("blocked"),
                (Some(to), _) => to.to_string(),
                (None, Status::Complete) => green("complete"),
                (None, status) => status.to_string(),
            };
            let took =
                if took.is_zero() { String::new() } else { format!(" after {}", rounded(*took)) };
            let summary = summary.as_ref().map(|text| format!(": {}", one_line(text)));
            let (task, outcome) = (cyan(&ticket.task), one_line(outcome));
            format!("{task}: {from} -> {to} ({outcome}){took}{}", summary.unwrap_or_default())
        }
        RunEvent::WaitingWork(waits) => waits_line(waits),
        RunEvent::Unavailable { agent, why } => {
            format!("{} {agent} cannot work: {}", yellow("warning:"), one_line(why))
        }
        RunEvent::Obstacle(text) => format!("{} {}; waiting", yellow("note:"), one_line(text)),
        RunEvent::Remark { ticket, text } => {
            format!("{} {ticket}: {}", yellow("note:"), one_line(text))
        }
    })
}

/// Returns the step of the workflow: `Step 2/6: review`.
pub(crate) fn step(started: &StartedAttempt) -> String {
    format!("Step {}/{}: {}", started.step, started.steps, started.station)
}

/// Returns which attempt it is, from the second one on.
pub(crate) fn attempt(started: &StartedAttempt) -> String {
    match started.attempt {
        1 => String::new(),
        number => dim(format!(", attempt {number} of {}", started.attempts)),
    }
}

/// Returns the line for work that waits.
pub(crate) fn waits_line(waits: &WaitingWork) -> String {
    format!("{} {}: {}", cyan(&waits.ticket), waits.station, why(waits))
}

/// Returns why work waits, and who could do something.
pub(crate) fn why(waits: &WaitingWork) -> String {
    let WaitingWork { ticket, role, agents, .. } = waits;
    let agents = match &agents[..] {
        [] => format!("somebody in role `{role}`"),
        agents => listed(agents),
    };
    let task = &ticket.task;
    match &waits.why {
        WaitReason::People => {
            format!("waits for {agents}; `aof task complete {ticket} --outcome ...`")
        }
        WaitReason::Blocked(blockers) => {
            let blockers = one_line(&blockers.join("; "));
            format!("is blocked: {blockers}; `aof task unblock {task} --reason ...` lets it go on")
        }
        WaitReason::NotStartable if waits.agents.is_empty() => {
            format!("waits: nobody in role `{role}` may work there now; see `aof why {task}`")
        }
        WaitReason::NotStartable => {
            format!("waits for {agents}: org.yaml does not say how to start any of them (`run`)")
        }
        WaitReason::Held(agent) => {
            let ticket = ticket.clone().without_visit();
            format!("is {agent}'s; `aof task release {ticket}` takes it back")
        }
        WaitReason::Tried(why) => one_line(why),
    }
}

fn rounded(time: Duration) -> String {
    length((time + Duration::from_millis(500)).as_secs())
}

/// Returns a piece of news as JSON.
pub(crate) fn value(news: &RunEvent) -> Value {
    match news {
        RunEvent::StartedAttempt(started) => json!({
            "event": "started",
            "task": started.ticket.task,
            "ticket": started.ticket,
            "gate": started.station,
            "agent": started.agent,
            "attempt": started.attempt,
            "attempts": started.attempts,
            "step": started.step,
            "steps": started.steps,
        }),
        RunEvent::Printed { ticket, line } => {
            let line = one_line(line);
            json!({"event": "printed", "task": ticket.task, "ticket": ticket, "line": line})
        }
        RunEvent::AttemptFailed { ticket, attempt, why, again_in } => json!({
            "event": "attempt_failed",
            "task": ticket.task,
            "ticket": ticket,
            "attempt": attempt,
            "why": why,
            "againIn": again_in.map(|time| time.as_secs()),
        }),
        RunEvent::Moved { ticket, from, outcome, summary, to, status, took } => json!({
            "event": "moved",
            "task": ticket.task,
            "ticket": ticket,
            "from": from,
            "to": to,
            "outcome": outcome,
            "summary": summary,
            "status": status,
            "seconds": took.as_secs(),
        }),
        RunEvent::WaitingWork(waits) => waits_value(waits),
        RunEvent::Unavailable { agent, why } => {
            json!({"event": "unavailable", "agent": agent, "why": why})
        }
        RunEvent::Obstacle(text) => json!({"event": "obstacle", "text": text}),
        RunEvent::Remark { ticket, text } => {
            json!({"event": "remark", "task": ticket.task, "ticket": ticket, "text": text})
        }
    }
}

/// Returns work that waits as JSON.
pub(crate) fn waits_value(waits: &WaitingWork) -> Value {
    let what = match &waits.why {
        WaitReason::People => "people",
        WaitReason::Blocked(_) => "blocked",
        WaitReason::NotStartable => "not_startable",
        WaitReason::Held(_) => "held",
        WaitReason::Tried(_) => "tried",
    };
    json!({
        "event": "waits",
        "task": waits.ticket.task,
        "ticket": waits.ticket,
        "gate": waits.station,
        "role": waits.role,
        "agents": waits.agents,
        "for": what,
        "why": why(waits),
    })
}
