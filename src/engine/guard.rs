//! Who may end a visit, and with what.

use super::refusal::Refusal;
use super::rules::Rules;
use crate::model::{AgentId, Completion, Destination, Gate, Outcome, Status, Task};

/// How often a gate may be entered by a rejection; the next time blocks the task (spec 1, 9.9).
pub const LOOP_LIMIT: u32 = 5;

/// The longest summary, note or blocker that the history takes, in bytes.
pub(super) const TEXT_LIMIT: usize = 16 * 1024;

/// The most that outputs, metadata or all blockers together may have, in bytes: an entry stays for ever, and a frontmatter ends.
pub(super) const OBJECT_LIMIT: usize = 32 * 1024;

/// Returns the outcomes that a completion may have at the gate.
pub fn outcomes_at(rules: &Rules, gate: &Gate) -> Vec<Outcome> {
    let mut outcomes = vec![Outcome::Complete];
    if gate.can_reject {
        outcomes.push(Outcome::NeedsReview);
    }
    outcomes.push(Outcome::Blocked);
    if gate.can_skip && !rules.requires_human(gate) {
        outcomes.push(Outcome::Skip);
    }
    outcomes
}

/// Returns whether the agent may complete the open visit, or why not.
pub fn may_complete(rules: &Rules, task: &Task, gate: &Gate, agent: &AgentId) -> Result<(), Refusal> {
    let members = || rules.org.role(&gate.role).map(|role| role.agents.clone()).unwrap_or_default();
    if let Some(holder) = task.routing.agent.as_ref().filter(|holder| *holder != agent) {
        return Err(Refusal::AssignedToAnother { task: task.id.clone(), holder: holder.clone(), agent: agent.clone() });
    }
    if rules.requires_human(gate) && !agent.is_human() {
        return Err(Refusal::HumanRequired {
            gate: gate.id.clone(),
            role: gate.role.clone(),
            agent: agent.clone(),
            people: members().into_iter().filter(AgentId::is_human).collect(),
        });
    }
    let holds_it = task.routing.agent.as_ref() == Some(agent);
    if holds_it || rules.is_open(&gate.role) || members().contains(agent) {
        return Ok(());
    }
    Err(Refusal::WrongRole {
        task: task.id.clone(),
        gate: gate.id.clone(),
        role: gate.role.clone(),
        agent: agent.clone(),
        roles: rules.org.roles_of(agent).cloned().collect(),
        members: members(),
    })
}

/// Returns the outcome that the completion means at the gate, or why it means none.
pub(super) fn outcome(
    rules: &Rules,
    gate: &Gate,
    default: Outcome,
    completion: &Completion,
) -> Result<Outcome, Refusal> {
    let valid = outcomes_at(rules, gate);
    let Some(word) = completion.outcome.as_deref() else {
        if gate.can_reject {
            return Err(Refusal::MissingOutcome { gate: gate.id.clone(), valid });
        }
        return check_valid(default, rules, gate, valid);
    };
    match word.parse::<Outcome>() {
        Ok(outcome) => check_valid(outcome, rules, gate, valid),
        Err(_) => Err(Refusal::InvalidOutcome { given: word.to_owned(), gate: gate.id.clone(), valid }),
    }
}

fn check_valid(outcome: Outcome, rules: &Rules, gate: &Gate, valid: Vec<Outcome>) -> Result<Outcome, Refusal> {
    if valid.contains(&outcome) {
        return Ok(outcome);
    }
    let gate_id = gate.id.clone();
    Err(match outcome {
        Outcome::Skip => Refusal::SkipNotAllowed { gate: gate_id, human: rules.requires_human(gate), valid },
        _ => Refusal::RejectNotAllowed { gate: gate_id, valid },
    })
}

/// Returns whether what the completion says is enough for its outcome.
pub(super) fn content(outcome: Outcome, completion: &Completion) -> Result<(), Refusal> {
    if completion.summary.as_deref().is_none_or(|summary| summary.trim().is_empty()) {
        return Err(Refusal::MissingSummary { outcome });
    }
    if matches!(outcome, Outcome::NeedsReview | Outcome::Blocked) {
        let Some(blockers) = &completion.blockers else {
            return Err(Refusal::MissingBlockers { outcome });
        };
        if blockers.iter().all(|blocker| blocker.trim().is_empty()) {
            return Err(Refusal::EmptyBlockers { outcome });
        }
    }
    let texts = [("summary", &completion.summary), ("rejectionNotes", &completion.rejection_notes)];
    let long = texts.iter().filter_map(|(field, text)| text.as_ref().map(|text| (*field, text.len())));
    let blockers = completion.blockers.iter().flatten().map(|blocker| ("blockers", blocker.len()));
    if let Some((field, bytes)) = long.chain(blockers).find(|(_, bytes)| *bytes > TEXT_LIMIT) {
        return Err(Refusal::TooLong { field, bytes, limit: TEXT_LIMIT });
    }
    let objects = [("outputs", &completion.outputs), ("metadata", &completion.metadata)];
    for (field, object) in objects {
        let bytes = serde_json::to_string(object).map_or(0, |text| text.len());
        if bytes > OBJECT_LIMIT {
            return Err(Refusal::TooLong { field, bytes, limit: OBJECT_LIMIT });
        }
    }
    let bytes = completion.blockers.iter().flatten().map(String::len).sum();
    if bytes > OBJECT_LIMIT {
        return Err(Refusal::TooLong { field: "blockers", bytes, limit: OBJECT_LIMIT });
    }
    let body = completion.body.as_ref().map_or(0, String::len);
    if body > crate::model::BODY_LIMIT {
        return Err(Refusal::TooLong { field: "body", bytes: body, limit: crate::model::BODY_LIMIT });
    }
    Ok(())
}

/// Returns how often the task was sent back to where it stands, when that was once too often and nobody has answered yet.
pub(super) fn looping(task: &Task) -> Option<Refusal> {
    let last = task.history.last()?;
    let count = last.retry.filter(|count| *count > LOOP_LIMIT)?;
    match (&last.to, task.status) {
        (Some(Destination::Gate(gate)), Status::Blocked) => {
            Some(Refusal::CircularLoop { task: task.id.clone(), gate: gate.clone(), count })
        }
        _ => None,
    }
}
