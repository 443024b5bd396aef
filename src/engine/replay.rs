//! What happened between two states of a task: the act that leads from one to the other, found again from the states alone.
//!
//! Used to heal what a crash left (only what the engine itself would have done is completed), to tell a person's edit from a
//! hand-made move, and to verify a history.

use super::complete::complete;
use super::decide::{Act, Actor, Decision, decide};
use super::rules::Rules;
use crate::model::{Completion, Destination, Ending, Stamp, Task, Ticket, Timestamp, Visit};

/// What lies between two states of a task.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Nothing.
    Same,
    /// People changed what is theirs.
    Edit,
    /// The engine did it.
    Act(Box<Act>),
    /// Neither: what is the engine's was changed by hand.
    Foreign(Vec<&'static str>),
}

/// Returns what leads from `before` (nothing for a new task) to `after`.
pub fn explain(rules: &Rules, before: Option<&Task>, after: &Task) -> Change {
    let Some(before) = before else {
        return explain_new(rules, after);
    };
    let ours = differing(before, after);
    if ours.is_empty() {
        return if before == after { Change::Same } else { Change::Edit };
    }
    // People may have edited beside what the engine did; the act is looked for on what they left.
    let edited = with_people_of(before, after);
    // A completion's text is not in its entry, so its digest cannot be made again: the recorded one stands.
    let stamp = after.history.get(before.history.len()).and_then(|visit| visit.completion.clone());
    let found = candidates(before, after).into_iter().find(|(act, now)| {
        outcome_of(rules, &edited, act, *now, stamp.as_ref())
            .is_some_and(|task| same(&passed_on(rules, task, after), after))
    });
    match found {
        Some((act, _)) => Change::Act(Box::new(act)),
        None => Change::Foreign(ours),
    }
}

fn explain_new(rules: &Rules, after: &Task) -> Change {
    // Nothing that happened can be known of a file that was not there before.
    if !after.history.is_empty() {
        return Change::Foreign(vec!["gateHistory"]);
    }
    let Some(open) = &after.gate else { return Change::Edit };
    let mut bare = after.clone();
    bare.gate = None;
    bare.routing.role = None;
    bare.workflow_hash = None;
    bare.blockers = Vec::new();
    match outcome_of(rules, &bare, &Act::Open, open.entered, None) {
        Some(task) if same(&task, after) => Change::Act(Box::new(Act::Open)),
        _ => Change::Foreign(vec!["gate"]),
    }
}

/// Lets gates that decide by themselves decide, as far as `after` has gone: they do so right behind the act.
fn passed_on(rules: &Rules, mut task: Task, after: &Task) -> Task {
    while let Some(entry) = after.history.get(task.history.len()) {
        match outcome_of(rules, &task, &Act::Pass, entry.exited, None) {
            Some(next) => task = next,
            None => break,
        }
    }
    task
}

/// Returns the names of the engine's fields in which the two differ.
fn differing(before: &Task, after: &Task) -> Vec<&'static str> {
    let pairs = [
        ("status", before.status == after.status),
        ("created", before.created == after.created),
        ("updated", before.updated == after.updated),
        ("routing", before.routing == after.routing),
        ("gate", before.gate == after.gate),
        ("gateHistory", before.history == after.history),
        ("reviewContext", before.review == after.review),
        ("blockers", before.blockers == after.blockers),
        ("context", before.context == after.context),
        ("workflowHash", before.workflow_hash == after.workflow_hash),
    ];
    pairs.into_iter().filter(|(_, equal)| !equal).map(|(name, _)| name).collect()
}

fn same(one: &Task, two: &Task) -> bool {
    differing(one, two).is_empty()
}

fn with_people_of(engine: &Task, people: &Task) -> Task {
    Task {
        title: people.title.clone(),
        description: people.description.clone(),
        tags: people.tags.clone(),
        metadata: people.metadata.clone(),
        depends_on: people.depends_on.clone(),
        ..engine.clone()
    }
}

fn candidates(before: &Task, after: &Task) -> Vec<(Act, Timestamp)> {
    if after.history.len() > before.history.len() && after.history.starts_with(&before.history) {
        let first = after.history.get(before.history.len());
        return first.and_then(|entry| from_entry(before, entry)).into_iter().collect();
    }
    let person = Actor::Person(None);
    let mut acts = vec![
        Act::Release { by: person.clone(), branch: None },
        Act::Unblock { by: person.clone(), branch: None, reason: None },
    ];
    for own in after.gate.iter().flat_map(|open| &open.branches) {
        let branch = Some(own.id.clone());
        acts.extend(own.agent.clone().map(|agent| Act::Claim { agent, branch: branch.clone() }));
        acts.push(Act::Release { by: person.clone(), branch: branch.clone() });
        acts.push(Act::Unblock { by: person.clone(), branch, reason: None });
    }
    if before.gate.is_none() && before.history.is_empty() {
        acts.push(Act::Open);
    }
    acts.extend(after.routing.agent.clone().map(|agent| Act::Claim { agent, branch: None }));
    acts.into_iter().map(|act| (act, after.updated)).collect()
}

fn from_entry(before: &Task, entry: &Visit) -> Option<(Act, Timestamp)> {
    let by = Actor::Person(entry.agent.clone());
    let reason = entry.summary.clone();
    let to = match &entry.to {
        Some(Destination::Gate(gate)) => Some(gate.clone()),
        _ => None,
    };
    let act = match &entry.outcome {
        Ending::Said(_) if entry.agent.is_none() => Act::Pass,
        Ending::Said(outcome) => Act::Complete(Completion {
            ticket: Ticket { branch: entry.branch.clone(), ..before.ticket() },
            agent: entry.agent.clone()?,
            outcome: Some(outcome.to_string()),
            summary: Some(reason),
            blockers: Some(entry.blockers.clone()),
            rejection_notes: entry.rejection_notes.clone(),
            outputs: entry.outputs.clone(),
            metadata: entry.metadata.clone(),
            body: None,
            id: entry.completion.as_ref()?.id.clone(),
        }),
        Ending::Cancelled => Act::Cancel { by, reason },
        Ending::Override => Act::Override { by, to: to?, reason },
        Ending::Reopened => Act::Reopen { by, to: to?, reason },
        Ending::Moved => return None,
    };
    Some((act, entry.exited))
}

/// Returns the task after the act.
fn outcome_of(rules: &Rules, task: &Task, act: &Act, now: Timestamp, stamp: Option<&Stamp>) -> Option<Task> {
    let decision = match (act, stamp) {
        (Act::Complete(completion), Some(stamp)) => complete(rules, task, completion, stamp.clone(), now),
        _ => decide(rules, task, act, now),
    };
    match decision.ok()? {
        Decision::Step(step) => Some(step.task),
        Decision::Settled { .. } => None,
    }
}
