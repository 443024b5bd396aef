//! The words in which people and agents are told of an event (spec 1, section 9).
//!
//! What somebody else wrote is one line in them, cut where it is long, with nothing in it that a terminal obeys.

use crate::domain::{AgentId, Cause, Destination, Event, Occurrence, Reader, Visit};
use crate::files::diagnostic::excerpt::inert;

/// The longest piece of somebody else's text that is quoted.
const LONGEST: usize = 500;

/// Returns what whoever stands to the event like that is told.
#[expect(clippy::too_many_lines, reason = "one arm for each case")]
pub(crate) fn text_of(occurrence: &Occurrence, reader: Reader) -> String {
    let subject = occurrence.subject.as_ref();
    let task = subject.map(|subject| format!("task {}", subject.task)).unwrap_or_default();
    let titled =
        subject.map(|subject| format!("{task} (\"{}\")", line(&subject.title))).unwrap_or_default();
    let text = match &occurrence.event {
        Event::TimedOut { .. } | Event::Escalated { .. } => {
            of_time(&occurrence.event, &task, &titled, reader)
        }
        Event::CircularLoop { gate, from_gate: from, loop_count: count } => format!(
            "{titled} was sent back to gate '{gate}' {count} times, last by gate '{from}', and is blocked.\n\
             That often means that the blockers cannot be met or are not clear, that whoever does the work and whoever \
             reviews it expect different things, or that something is set up wrongly.\n\
             The project's owner has to look at it: `aof why`, then `aof task unblock` with a reason."
        ),
        Event::Exhausted { gate, from_gate: from, loop_count: count } => format!(
            "{titled} was sent back to gate '{gate}' {count} times, which is more than gate '{from}' allows, and is blocked.\n\
             The project's owner has to look at it: `aof why`, then `aof task unblock` with a reason."
        ),
        Event::BlockedNoAgents { gate, role } => format!(
            "{titled} is blocked: nobody is in role '{role}', which gate '{gate}' needs.\n\
             The project's owner has to put an agent into that role in org.yaml."
        ),
        Event::ConditionError(trouble) => format!(
            "the condition of gate '{}' failed for {titled}: {} in `{}`. {}",
            trouble.gate,
            line(&trouble.error),
            line(&trouble.expression),
            if trouble.entered {
                "The gate is entered all the same."
            } else {
                "It counts as false: the gate is passed over."
            }
        ),
        Event::AssignmentError {
            gate: at,
            agent,
            expected_role: expected,
            actual_role: actual,
        } => {
            let expected = expected
                .as_ref()
                .map_or_else(|| "another role".to_owned(), |role| format!("role '{role}'"));
            let actual = match &actual[..] {
                [] => "in no role".to_owned(),
                roles => {
                    format!(
                        "in {}",
                        roles
                            .iter()
                            .map(|role| format!("'{role}'"))
                            .collect::<Vec<_>>()
                            .join(" and ")
                    )
                }
            };
            match reader {
                Reader::Affected => format!(
                    "{titled} was taken from you, because your role does not fit: gate '{at}' needs {expected}, and you are \
                     {actual}.\nThat is probably a mistake in the configuration. The task goes to that role; there is \
                     nothing for you to do."
                ),
                _ => format!(
                    "{titled} was with agent '{agent}', who is {actual}, and gate '{at}' needs {expected}. It goes to that role."
                ),
            }
        }
        Event::Conflict { gate, winning_agent: winner, losing_agent: loser } => {
            let winner = winner
                .as_ref()
                .map_or_else(|| "somebody else".to_owned(), |agent| format!("agent '{agent}'"));
            match reader {
                Reader::Affected => format!(
                    "your completion of {task} was not recorded: {winner} completed the same gate before you.\n\
                     The task has gone on already; there is nothing for you to do."
                ),
                _ => format!(
                    "two completions came for {task} at gate '{gate}': {winner} was first, and that of agent '{loser}' does \
                     not count."
                ),
            }
        }
        Event::Superseded { ticket, visit, by } => {
            let winner = by
                .as_ref()
                .map_or_else(|| "somebody else".to_owned(), |agent| format!("agent '{agent}'"));
            let at = visit.station();
            match reader {
                Reader::Affected => format!(
                    "your `{}` for {ticket} at gate '{at}' counts no more: two branches were merged, and on the one that \
                     stands {winner} had ended that visit.\nWhat you said is kept in git's history, and a text that came \
                     with it in the body of the task; see where it stands with `aof why {}`.",
                    visit.outcome, ticket.task
                ),
                _ => format!(
                    "`{}`{} for {ticket} at gate '{at}' counts no more: two branches were merged, and on the one that stands \
                     {winner} had ended that visit.",
                    visit.outcome,
                    had(visit.agent.as_ref())
                ),
            }
        }
        Event::RulesInvalid { commit, error: problem, count } => format!(
            "the rules of commit {commit} are invalid, so earlier ones stay in force: {} ({count} in all). See `aof workflow \
             validate`.",
            line(problem)
        ),
        Event::NoticesDropped { channel, count, reason } => {
            let messages = if *count == 1 { "message" } else { "messages" };
            let were = if *count == 1 { "was" } else { "were" };
            format!("{count} {messages} to `{}` {were} given up: {}", line(channel), line(reason))
        }
        event => of_life(event, &titled, reader),
    };
    sentence(&text)
}

fn of_time(event: &Event, task: &str, titled: &str, reader: Reader) -> String {
    match event {
        Event::TimedOut { gate: at, agent, timeout: limit, escalate_to, .. } => {
            let limit = limit.map(|limit| format!(" within {limit}")).unwrap_or_default();
            match (reader, escalate_to) {
                (Reader::Affected, Some(role)) => format!(
                    "{titled} was taken from you: it was not done at gate '{at}'{limit}, and role '{role}' steps in.\n\
                     There is nothing for you to do. If that is a mistake, tell the project's owner."
                ),
                (Reader::Affected, None) => format!(
                    "{titled} was not done at gate '{at}'{limit}. It is still yours; say how far you are with `aof task \
                     renew`, or give it back with `aof task release`."
                ),
                (_, Some(role)) => {
                    format!(
                        "{task} was not done at gate '{at}'{limit}{}. Role '{role}' steps in.",
                        had(agent.as_ref())
                    )
                }
                (_, None) => format!(
                    "{titled} was not done at gate '{at}'{limit}{}, and nobody steps in: the gate has no `escalateTo`.",
                    had(agent.as_ref())
                ),
            }
        }
        Event::Escalated { gate: at, escalate_to: role, agent, reason: cause } => {
            let why = match cause {
                Cause::Timeout => match agent {
                    Some(agent) => {
                        format!("agent '{agent}' had it and did not complete it in time")
                    }
                    None => "nobody completed it in time".to_owned(),
                },
                Cause::Exhausted => "it was sent back too often".to_owned(),
            };
            match reader {
                Reader::Successor => {
                    format!(
                        "{titled} was escalated to you at gate '{at}': {why}.\nPlease look at it and complete it."
                    )
                }
                _ => format!("{titled} was escalated to role '{role}' at gate '{at}': {why}."),
            }
        }
        _ => String::new(),
    }
}

fn had(agent: Option<&AgentId>) -> String {
    agent.map(|agent| format!(" by agent '{agent}'")).unwrap_or_default()
}

/// Returns the words for what is in the normal course of things.
#[expect(clippy::too_many_lines, reason = "one arm for each case")]
fn of_life(event: &Event, titled: &str, reader: Reader) -> String {
    match event {
        Event::Created { to_gate: gate } => format!("{titled} is at gate '{gate}', its first."),
        Event::Adopted { to_gate: gate } => {
            format!("{titled} was written by hand, and is at gate '{gate}', its first.")
        }
        Event::Claimed { gate: at, agent } => {
            format!("{titled} was taken by agent '{agent}' at gate '{at}'.")
        }
        Event::Assigned { gate: at, agent } => match reader {
            Reader::Affected => {
                format!(
                    "{titled} was given to you at gate '{at}'. `aof task brief` says what is wanted."
                )
            }
            _ => format!("{titled} was given to agent '{agent}' at gate '{at}'."),
        },
        Event::Renewed { gate: at, agent, note } => {
            let note = if note.is_empty() { String::new() } else { format!(": {}", line(note)) };
            format!("agent '{agent}' goes on with {titled} at gate '{at}'{note}")
        }
        Event::Released { gate: at, agent } => {
            format!("{titled} was given back by agent '{agent}' at gate '{at}'.")
        }
        Event::Lapsed { gate: at, agent } => match reader {
            Reader::Affected => format!(
                "your claim of {titled} at gate '{at}' ran out, because you did not renew it. Others may take the task now."
            ),
            _ => format!(
                "the claim of agent '{agent}' on {titled} at gate '{at}' ran out. The task is free again."
            ),
        },
        Event::Held { gate, blockers: reasons, .. } => {
            format!(
                "{titled} is held at gate '{gate}', and nothing is completed meanwhile: {}",
                list(reasons)
            )
        }
        Event::Unblocked { gate } => format!("{titled} goes on at gate '{gate}'."),
        Event::Rerouted { gate, role } => match role {
            Some(role) => format!(
                "{titled} at gate '{gate}' is the work of role '{role}', since the rules changed."
            ),
            None => {
                format!("{titled} at gate '{gate}' is the work of others, since the rules changed.")
            }
        },
        Event::Edited => format!("{titled} was edited by hand."),
        Event::Restored => format!("{titled} was brought back to where it was."),
        Event::Commented { agent, comment: text } => {
            let who = agent
                .as_ref()
                .map_or_else(|| "somebody".to_owned(), |agent| format!("agent '{agent}'"));
            format!("{who} wrote of {titled}: {}", line(text))
        }
        Event::Transition(visit) => of_transition(visit, titled, reader),
        Event::Rejected { visit, blockers, .. } => {
            let who = visit
                .agent
                .as_ref()
                .map(|agent| format!(" by agent '{agent}'"))
                .unwrap_or_default();
            let way = match &visit.to {
                Some(Destination::Gate(gate)) => format!(" to gate '{gate}'"),
                _ => String::new(),
            };
            let what =
                if blockers.is_empty() { String::new() } else { format!(": {}", list(blockers)) };
            let notes = visit
                .rejection_notes
                .as_ref()
                .map(|notes| format!("\n{}", line(notes)))
                .unwrap_or_default();
            format!("{titled} was sent back from gate '{}'{way}{who}{what}{notes}", visit.station())
        }
        Event::Skipped { gate } => format!("gate '{gate}' was passed over for {titled}."),
        Event::Blocked { gate: at, blockers, .. } => match &blockers[..] {
            [] => format!("{titled} is blocked at gate '{at}', and nobody said why."),
            blockers => format!("{titled} is blocked at gate '{at}': {}", list(blockers)),
        },
        Event::Reopened(visit) => {
            format!("{titled} was taken up again{}: {}", place(visit), line(&visit.summary))
        }
        Event::Overridden { visit, .. } => {
            format!(
                "{titled} was moved by a person from gate '{}'{}: {}",
                visit.gate,
                place(visit),
                line(&visit.summary)
            )
        }
        Event::Moved { visit, .. } => {
            format!(
                "{titled} was moved{}, because gate '{}' left its workflow.",
                place(visit),
                visit.gate
            )
        }
        Event::Complete => format!("{titled} is complete."),
        Event::Failed => format!("{titled} has failed."),
        Event::Cancelled { reason, .. } => format!("{titled} was called off: {}", line(reason)),
        _ => String::new(),
    }
}

fn of_transition(visit: &Visit, titled: &str, reader: Reader) -> String {
    let who = had(visit.agent.as_ref());
    let said = if visit.summary.trim().is_empty() {
        String::new()
    } else {
        format!(": {}", line(&visit.summary))
    };
    match (&visit.to, reader) {
        (Some(Destination::Gate(gate)), Reader::Successor) => {
            format!(
                "{titled} has come to gate '{gate}' and waits for you; from gate '{}'{who}{said}",
                visit.station()
            )
        }
        (Some(Destination::Gate(gate)), _) if *gate == visit.gate => {
            format!("{titled} stays at gate '{gate}' ({}){who}{said}", visit.outcome)
        }
        (Some(Destination::Gate(gate)), _) => {
            format!(
                "{titled} went from gate '{}' to gate '{gate}' ({}){who}{said}",
                visit.station(),
                visit.outcome
            )
        }
        (Some(_), _) => {
            format!("{titled} ended at gate '{}' ({}){who}{said}", visit.station(), visit.outcome)
        }
        (None, _) => format!(
            "a part of {titled} ended at gate '{}' ({}){who}{said}",
            visit.station(),
            visit.outcome
        ),
    }
}

fn place(visit: &Visit) -> String {
    match &visit.to {
        Some(Destination::Gate(gate)) => format!(" to gate '{gate}'"),
        _ => String::new(),
    }
}

fn list(texts: &[String]) -> String {
    texts.iter().map(|text| line(text)).collect::<Vec<_>>().join("; ")
}

/// Returns somebody else's text as a part of a line.
fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = inert(&words.join(" "));
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

/// Returns the text with a capital at its beginning, for it is read by itself.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map(|first| first.to_uppercase().chain(characters).collect())
        .unwrap_or_default()
}
