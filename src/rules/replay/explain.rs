//! What happened between two states of a task: the act that leads from one to the other, found again from the states alone.
//!
//! Used to heal what a crash left (only what the engine itself would have done is completed), to tell a person's edit from a
//! hand-made move, and to verify a history.

use crate::domain::{
    AgentId, Completion, Destination, Ending, Event, GateId, Stamp, Task, Ticket, Timestamp, Visit,
};
use crate::rules::act::{Act, Actor, Decision, WorkflowStep};
use crate::rules::decide::decide;
use crate::rules::routing::blockers::lost_dependencies;
use crate::rules::transition::completion::complete;
use crate::rules::transition::visit::Transition;
use crate::rules::workflow::rules::Rules;

/// What lies between two states of a task.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Nothing.
    Same,
    /// People changed what is theirs.
    Edit,
    /// The engine did it.
    Act(Box<Found>),
    /// Neither: what is the engine's was changed by hand.
    Foreign(Vec<&'static str>),
}

/// An act that was found again.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub act: Act,
    /// The task after it, and after each decision that a gate made by itself right behind it; the last says what the later state
    /// does.
    pub states: Vec<Task>,
    /// What happened besides, on the way.
    pub events: Vec<Event>,
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
    if is_nowhere(before) && is_nowhere(after) {
        return Change::Edit;
    }
    // People may have edited beside what the engine did; the act is looked for on what they left.
    let mut edited = with_people_of(before, after);
    if is_nowhere(before) {
        // Until it stands somewhere, which workflow a task follows is people's to say.
        edited.routing.workflow.clone_from(&after.routing.workflow);
    }
    // A completion's text is not in its entry, so its digest cannot be made again: the recorded one stands.
    let stamp = after.history.get(before.history.len()).and_then(|visit| visit.completion.clone());
    let found = candidates(before, after).into_iter().find_map(|(act, now)| {
        states(rules, &edited, &act, now, after, stamp.as_ref()).map(|steps| Found::of(act, steps))
    });
    match found {
        Some(found) => Change::Act(Box::new(found)),
        None => Change::Foreign(ours),
    }
}

fn explain_new(rules: &Rules, after: &Task) -> Change {
    if is_nowhere(after) {
        return Change::Edit;
    }
    let bare = bare(rules, after);
    let found = beginnings(after).into_iter().find_map(|(act, now)| {
        let steps = states(rules, &bare, &act, now, after, None)?;
        Some(Found::of(act, steps))
    });
    match found {
        Some(found) => Change::Act(Box::new(found)),
        None if after.history.is_empty() => Change::Foreign(vec!["gate"]),
        None => Change::Foreign(vec!["gateHistory"]),
    }
}

/// Returns whether nobody has taken the task up: all that is said of it is people's.
fn is_nowhere(task: &Task) -> bool {
    task.gate.is_none() && task.history.is_empty()
}

/// Returns the acts that a task may have begun with.
fn beginnings(after: &Task) -> Vec<(Act, Timestamp)> {
    let branches = after.gate.iter().flat_map(|open| &open.branches);
    let agents = after.routing.agent.iter().chain(branches.filter_map(|own| own.agent.as_ref()));
    let given = agents.map(|agent| Act::OpenFor { agent: agent.clone() });
    std::iter::once(Act::Open).chain(given).map(|act| (act, opened_at(after))).collect()
}

/// Returns what the task was before it stood anywhere. Nothing that people or agents did since can be known of a file that was not
/// there before; what gates decided by themselves can.
pub(crate) fn bare(rules: &Rules, after: &Task) -> Task {
    let mut bare = after.clone();
    bare.gate = None;
    bare.routing.role = rules.own_role(after).cloned();
    bare.workflow_hash = None;
    bare.blockers = Vec::new();
    bare.review = None;
    bare.history = Vec::new();
    bare.context.retain(|name, _| after.history.iter().all(|visit| visit.gate.as_str() != name));
    bare
}

/// Returns when a task came to its first gate.
pub(crate) fn opened_at(task: &Task) -> Timestamp {
    let first = task.history.first().map(|visit| visit.entered);
    first.or(task.gate.as_ref().map(|open| open.entered)).unwrap_or(task.updated)
}

impl Found {
    fn of(act: Act, steps: Vec<WorkflowStep>) -> Self {
        let (states, events): (Vec<Task>, Vec<Vec<Event>>) =
            steps.into_iter().map(|step| (step.task, step.events)).unzip();
        Self { act, states, events: events.concat() }
    }
}

/// Returns the steps that the act leads through, if the last of them is what `after` says.
fn states(
    rules: &Rules,
    before: &Task,
    act: &Act,
    now: Timestamp,
    after: &Task,
    stamp: Option<&Stamp>,
) -> Option<Vec<WorkflowStep>> {
    let steps = passed_on(rules, outcome_of(rules, before, act, now, stamp)?, after);
    steps.last().is_some_and(|last| same(&last.task, after)).then_some(steps)
}

/// Lets gates that decide by themselves decide, as far as `after` has gone: they do so right behind the act.
fn passed_on(rules: &Rules, first: WorkflowStep, after: &Task) -> Vec<WorkflowStep> {
    let pass = |step: &WorkflowStep| {
        let entry = after.history.get(step.task.history.len())?;
        outcome_of(rules, &step.task, &Act::Pass, entry.exited, None)
    };
    std::iter::successors(Some(first), pass).collect()
}

/// Returns the names of the engine's fields in which the two differ.
pub(crate) fn differing(before: &Task, after: &Task) -> Vec<&'static str> {
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

/// Returns whether what is the engine's is the same in both.
pub fn same(one: &Task, two: &Task) -> bool {
    differing(one, two).is_empty()
}

/// Returns the first with what people say of the second.
pub(crate) fn with_people_of(engine: &Task, people: &Task) -> Task {
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
    if is_nowhere(before) {
        return beginnings(after);
    }
    if after.history.len() > before.history.len() && after.history.starts_with(&before.history) {
        let first = after.history.get(before.history.len());
        return first.and_then(|entry| from_entry(before, entry)).into_iter().collect();
    }
    let person = Actor::Person(None);
    let mut acts = vec![
        Act::Reroute,
        Act::Release { by: person.clone(), branch: None },
        Act::Unblock { by: person.clone(), branch: None, reason: None },
        Act::Lapse { branch: None },
        Act::Timeout { branch: None },
    ];
    acts.push(Act::Depend { lost: lost_dependencies(after) });
    // Whoever holds a task adds the reason to what stands in its way.
    let reason = after.blockers.last().cloned().unwrap_or_default();
    acts.push(Act::Hold { by: person.clone(), reason });
    for own in after.gate.iter().flat_map(|open| &open.branches) {
        let branch = Some(own.id.clone());
        acts.extend(own.agent.iter().flat_map(|agent| given_to(agent, branch.as_ref())));
        acts.push(Act::Lapse { branch: branch.clone() });
        acts.push(Act::Timeout { branch: branch.clone() });
        acts.push(Act::Release { by: person.clone(), branch: branch.clone() });
        acts.push(Act::Unblock { by: person.clone(), branch, reason: None });
    }
    acts.extend(after.routing.agent.iter().flat_map(|agent| given_to(agent, None)));
    acts.into_iter().map(|act| (act, after.updated)).collect()
}

/// Returns the acts after which the agent has it.
fn given_to(agent: &AgentId, branch: Option<&GateId>) -> [Act; 3] {
    let (agent, branch) = (agent.clone(), branch.cloned());
    [
        Act::Claim { agent: agent.clone(), branch: branch.clone() },
        Act::Renew { agent: agent.clone(), branch: branch.clone(), note: None },
        Act::Assign { by: Actor::Person(None), agent, branch },
    ]
}

pub(crate) fn from_entry(before: &Task, entry: &Visit) -> Option<(Act, Timestamp)> {
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
            signature: entry.signature.clone(),
        }),
        Ending::Cancelled => Act::Cancel { by, reason },
        Ending::Override => Act::Override { by, to: to?, reason },
        Ending::Reopened => Act::Reopen { by, to: to?, reason },
        Ending::Timeout => Act::Timeout { branch: entry.branch.clone() },
        Ending::Moved => Act::Move,
    };
    Some((act, entry.exited))
}

/// Returns what the act makes of the task.
fn outcome_of(
    rules: &Rules,
    task: &Task,
    act: &Act,
    now: Timestamp,
    stamp: Option<&Stamp>,
) -> Option<WorkflowStep> {
    let decision = match (act, stamp) {
        (Act::Complete(completion), Some(stamp)) => {
            complete(&Transition { rules, task, now }, completion, stamp.clone())
        }
        _ => decide(rules, task, act, now),
    };
    match decision.ok()? {
        Decision::Step(step) => Some(*step),
        Decision::Settled { .. } => None,
    }
}
