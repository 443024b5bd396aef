//! What happens while agents work, as lines and as JSON.

use std::time::Duration;

use serde_json::{Value, json};

use crate::agents::runner::{News, Started, Waits, Why};
use crate::cli::output::{CYAN, DIM, GREEN, YELLOW, styled};
use crate::cli::time::length;
use crate::domain::{AgentId, Status, listed};
use crate::files::printable::one_line;

/// Returns the line that tells of it; nothing for what is only of interest while one looks on.
pub(crate) fn line(news: &News) -> Option<String> {
    Some(match news {
        News::Printed { .. } => return None,
        News::Started(started) => {
            format!(
                "{}: {} at {}{}",
                step(started),
                started.agent,
                styled(CYAN, &started.ticket),
                attempt(started)
            )
        }
        News::AttemptFailed { ticket, attempt, why, again_in } => {
            let then = again_in.map_or_else(
                || "there is no other".to_owned(),
                |time| format!("again in {}", about(time)),
            );
            format!(
                "{} {ticket}: attempt {attempt} came to nothing: {}; {then}",
                styled(YELLOW, "warning:"),
                one_line(why)
            )
        }
        News::Moved { ticket, from, outcome, summary, to, status, took } => {
            let to = match (to, status) {
                (_, Status::Blocked) => styled(YELLOW, "blocked"),
                (Some(to), _) => to.to_string(),
                (None, Status::Complete) => styled(GREEN, "complete"),
                (None, status) => status.to_string(),
            };
            let took =
                if took.is_zero() { String::new() } else { format!(" after {}", about(*took)) };
            let said =
                summary.as_ref().map(|text| format!(": {}", one_line(text))).unwrap_or_default();
            format!(
                "{}: {from} -> {to} ({}){took}{said}",
                styled(CYAN, &ticket.task),
                one_line(outcome)
            )
        }
        News::Waits(waits) => {
            format!("{} {}: {}", styled(CYAN, &waits.ticket), waits.station, why(waits))
        }
        News::Unavailable { agent, why } => {
            format!("{} {agent} cannot work: {}", styled(YELLOW, "warning:"), one_line(why))
        }
        News::Obstacle(text) => format!("{} {}; waiting", styled(YELLOW, "note:"), one_line(text)),
        News::Remark { ticket, text } => {
            format!("{} {ticket}: {}", styled(YELLOW, "note:"), one_line(text))
        }
    })
}

/// Returns where in its workflow the work is: `Step 2/6: review`.
pub(crate) fn step(started: &Started) -> String {
    format!("Step {}/{}: {}", started.step, started.steps, started.station)
}

pub(crate) fn attempt(started: &Started) -> String {
    match started.attempt {
        1 => String::new(),
        number => styled(DIM, format!(", attempt {number} of {}", started.attempts)),
    }
}

/// Returns why nothing is done there, and who could do something.
pub(crate) fn why(waits: &Waits) -> String {
    let whom = |agents: &[AgentId]| match agents {
        [] => format!("somebody in role `{}`", waits.role),
        agents => listed(agents),
    };
    match &waits.why {
        Why::People => format!(
            "waits for {}; `aof task complete {} --outcome ...`",
            whom(&waits.agents),
            waits.ticket
        ),
        Why::Blocked(blockers) => {
            format!(
                "is blocked: {}; `aof task unblock {} --reason ...` sets it going",
                one_line(&blockers.join("; ")),
                waits.ticket.task
            )
        }
        Why::NotStartable if waits.agents.is_empty() => {
            format!(
                "waits: nobody in role `{}` may work there now; see `aof why {}`",
                waits.role, waits.ticket.task
            )
        }
        Why::NotStartable => {
            format!(
                "waits for {}: org.yaml does not say how to start any of them (`run`)",
                whom(&waits.agents)
            )
        }
        Why::Held(agent) => {
            format!(
                "is {agent}'s; `aof task release {}` takes it back",
                waits.ticket.clone().without_visit()
            )
        }
        Why::Tried(why) => one_line(why),
    }
}

fn about(time: Duration) -> String {
    length((time + Duration::from_millis(500)).as_secs())
}

/// Returns the news for programs.
pub(crate) fn value(news: &News) -> Value {
    match news {
        News::Started(started) => json!({
            "event": "started",
            "task": started.ticket.task.as_str(),
            "ticket": started.ticket.to_string(),
            "gate": started.station.to_string(),
            "agent": started.agent.as_str(),
            "attempt": started.attempt,
            "attempts": started.attempts,
            "step": started.step,
            "steps": started.steps,
        }),
        News::Printed { ticket, line } => {
            json!({"event": "printed", "task": ticket.task.as_str(), "ticket": ticket.to_string(), "line": one_line(line)})
        }
        News::AttemptFailed { ticket, attempt, why, again_in } => json!({
            "event": "attempt_failed",
            "task": ticket.task.as_str(),
            "ticket": ticket.to_string(),
            "attempt": attempt,
            "why": why,
            "againIn": again_in.map(|time| time.as_secs()),
        }),
        News::Moved { ticket, from, outcome, summary, to, status, took } => json!({
            "event": "moved",
            "task": ticket.task.as_str(),
            "ticket": ticket.to_string(),
            "from": from.to_string(),
            "to": to.as_ref().map(ToString::to_string),
            "outcome": outcome,
            "summary": summary,
            "status": status.as_str(),
            "seconds": took.as_secs(),
        }),
        News::Waits(waits) => waits_value(waits),
        News::Unavailable { agent, why } => {
            json!({"event": "unavailable", "agent": agent.as_str(), "why": why})
        }
        News::Obstacle(text) => json!({"event": "obstacle", "text": text}),
        News::Remark { ticket, text } => {
            json!({"event": "remark", "task": ticket.task.as_str(), "ticket": ticket.to_string(), "text": text})
        }
    }
}

pub(crate) fn waits_value(waits: &Waits) -> Value {
    let word = match &waits.why {
        Why::People => "people",
        Why::Blocked(_) => "blocked",
        Why::NotStartable => "not_startable",
        Why::Held(_) => "held",
        Why::Tried(_) => "tried",
    };
    json!({
        "event": "waits",
        "task": waits.ticket.task.as_str(),
        "ticket": waits.ticket.to_string(),
        "gate": waits.station.to_string(),
        "role": waits.role.as_str(),
        "agents": waits.agents.iter().map(AgentId::as_str).collect::<Vec<_>>(),
        "for": word,
        "why": why(waits),
    })
}
