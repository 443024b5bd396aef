//! Who may end a visit, and with what.

use crate::domain::{AgentId, Completion, Ending, GateId, Identity, Outcome, Task, Visit};
use crate::rules::decide::Act;
use crate::rules::refusal::Refusal;
use crate::rules::routing::workplace::Post;
use crate::rules::workflow::rules::Rules;

/// How often a gate may be entered by a rejection; the next time blocks the task (spec 1, 9.9).
pub const LOOP_LIMIT: u32 = 5;

/// The longest summary, note or blocker that the history takes, in bytes.
pub(crate) const TEXT_LIMIT: usize = 16 * 1024;

/// The most that outputs, metadata or all blockers together may have, in bytes: an entry stays for ever, and a frontmatter ends.
pub(crate) const OBJECT_LIMIT: usize = 32 * 1024;

/// Returns whether the agent may complete the open visit, or why not.
pub fn may_complete(
    rules: &Rules,
    task: &Task,
    post: &Post<'_>,
    agent: &AgentId,
) -> Result<(), Refusal> {
    let members = || rules.org.role(post.role).map(|role| role.agents.clone()).unwrap_or_default();
    let gate = &post.station();
    if post.holder.is_some_and(|holder| holder != agent) {
        return Err(held_by_another(task, post, agent));
    }
    if post.requires_human(rules) && !agent.is_human() {
        return Err(Refusal::HumanRequired {
            gate: gate.clone(),
            role: post.role.clone(),
            agent: agent.clone(),
            people: members().into_iter().filter(AgentId::is_human).collect(),
        });
    }
    let holds_it = post.holder == Some(agent);
    if !holds_it && !rules.is_open(post.role) && !members().contains(agent) {
        return Err(Refusal::WrongRole {
            task: task.id.clone(),
            gate: gate.clone(),
            role: post.role.clone(),
            agent: agent.clone(),
            roles: rules.org.roles_of(agent).cloned().collect(),
            members: members(),
        });
    }
    separate(task, post, Identity::Agent, |visit| visit.agent.as_ref() == Some(agent))
        .map_or(Ok(()), |done| Err(not_separate(task, post, agent, done)))
}

/// Returns the refusal for an agent that does not have what another has: a conflict if it had it before and let its claim end.
pub(crate) fn held_by_another(task: &Task, post: &Post<'_>, agent: &AgentId) -> Refusal {
    match post.holder.cloned() {
        Some(holder) => another_has(task, post.branch(), holder, agent),
        None => Refusal::NotClaimed { task: task.id.clone() },
    }
}

/// Returns the same, where it is known who has it.
pub(crate) fn another_has(
    task: &Task,
    branch: Option<&GateId>,
    holder: AgentId,
    agent: &AgentId,
) -> Refusal {
    let ticket = task.ticket_of(branch).without_visit();
    let own = branch.and_then(|id| task.gate.as_ref()?.branch(id));
    let lost = own.map_or(task.routing.lost.as_ref(), |own| own.lost.as_ref());
    if lost == Some(agent) {
        Refusal::ClaimLost { ticket, holder, agent: agent.clone() }
    } else {
        Refusal::AssignedToAnother { ticket, holder, agent: agent.clone() }
    }
}

/// Returns whether the completion is somebody else's than the work that this gate keeps apart from, as far as its session tells.
pub(crate) fn separate_session(
    task: &Task,
    post: &Post<'_>,
    completion: &Completion,
) -> Result<(), Refusal> {
    let session = completion.metadata.get("session");
    let same = |visit: &Visit| {
        session.is_none() || visit.metadata.get("session").is_none_or(|own| Some(own) == session)
    };
    separate(task, post, Identity::Session, same)
        .map_or(Ok(()), |done| Err(not_separate(task, post, &completion.agent, done)))
}

/// Returns the last work at a gate that this one keeps apart from, if it was the same worker's.
fn separate<'a>(
    task: &'a Task,
    post: &Post<'_>,
    by: Identity,
    same: impl Fn(&Visit) -> bool,
) -> Option<&'a Visit> {
    let duty = post.duty;
    let worked = |visit: &&Visit| {
        let somebody = visit.agent.is_some() && matches!(visit.outcome, Ending::Said(_));
        somebody && duty.separate_from.contains(&visit.gate) && same(visit)
    };
    task.history.iter().rev().filter(|_| duty.separate_by == by).find(worked)
}

fn not_separate(task: &Task, post: &Post<'_>, agent: &AgentId, done: &Visit) -> Refusal {
    Refusal::NotSeparate {
        task: task.id.clone(),
        gate: post.station(),
        agent: agent.clone(),
        by: post.duty.separate_by,
        worked_at: done.gate.clone(),
    }
}

/// Returns the outcome that the completion means at the gate, or why it means none.
pub(crate) fn outcome(
    rules: &Rules,
    post: &Post<'_>,
    default: &Outcome,
    completion: &Completion,
) -> Result<Outcome, Refusal> {
    let valid = post.outcomes(rules);
    let gate = post.station();
    let word = match completion.outcome.as_deref() {
        Some(word) => word,
        None if post.judges() => return Err(Refusal::MissingOutcome { gate, valid }),
        None => default.as_str(),
    };
    if let Some(outcome) = valid.iter().find(|outcome| outcome.is_meant_by(word)) {
        return Ok(outcome.clone());
    }
    Err(match word.parse() {
        Ok(Outcome::Skip) => {
            Refusal::SkipNotAllowed { gate, human: post.requires_human(rules), valid }
        }
        Ok(Outcome::NeedsReview) => Refusal::RejectNotAllowed { gate, valid },
        _ => Refusal::InvalidOutcome { given: word.to_owned(), gate, valid },
    })
}

/// Returns whether what is said of an act is short enough to be kept.
pub(crate) fn reason(act: &Act) -> Result<(), Refusal> {
    let (field, text) = match act {
        Act::Hold { reason, .. }
        | Act::Cancel { reason, .. }
        | Act::Reopen { reason, .. }
        | Act::Override { reason, .. } => ("reason", Some(reason)),
        Act::Unblock { reason, .. } => ("reason", reason.as_ref()),
        Act::Renew { note, .. } => ("note", note.as_ref()),
        _ => return Ok(()),
    };
    match text.map(String::len) {
        Some(bytes) if bytes > TEXT_LIMIT => {
            Err(Refusal::TooLong { field, bytes, limit: TEXT_LIMIT })
        }
        _ => Ok(()),
    }
}

/// Returns whether what the completion says is enough for its outcome.
pub(crate) fn content(outcome: &Outcome, completion: &Completion) -> Result<(), Refusal> {
    if completion.summary.as_deref().is_none_or(|summary| summary.trim().is_empty()) {
        return Err(Refusal::MissingSummary { outcome: outcome.clone() });
    }
    if matches!(outcome, Outcome::NeedsReview | Outcome::Blocked) {
        let Some(blockers) = &completion.blockers else {
            return Err(Refusal::MissingBlockers { outcome: outcome.clone() });
        };
        if blockers.iter().all(|blocker| blocker.trim().is_empty()) {
            return Err(Refusal::EmptyBlockers { outcome: outcome.clone() });
        }
    }
    let texts = [("summary", &completion.summary), ("rejectionNotes", &completion.rejection_notes)];
    let long =
        texts.iter().filter_map(|(field, text)| text.as_ref().map(|text| (*field, text.len())));
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
    if body > crate::domain::BODY_LIMIT {
        return Err(Refusal::TooLong {
            field: "body",
            bytes: body,
            limit: crate::domain::BODY_LIMIT,
        });
    }
    Ok(())
}
