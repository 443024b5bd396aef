//! History judged and replayed: which act led from one state of a task to the next.

use crate::domain::{
    AgentId, BranchStatus, Completion, Destination, Ending, Event, GateId, Stamp, Status, Task,
    Ticket, Timestamp, Visit,
};
use crate::rules::act::{Act, Actor, Decision, WorkflowStep};
use crate::rules::routing::reviews::lost_dependencies;
use crate::rules::transition::completion::complete;
use crate::rules::transition::decide::decide;
use crate::rules::transition::visit::Transition;
use crate::rules::workflow::rules::Rules;

/// What lies between two states of a task.
#[derive(Debug, Clone, PartialEq)]
pub enum StateChange {
    /// Nothing.
    Same,
    /// People changed what is theirs.
    Edit,
    /// The engine did it.
    Act(Box<ReplayedAct>),
    /// Neither: what is the engine's was changed by hand.
    Foreign(Vec<&'static str>),
}

/// An act that was found again.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayedAct {
    pub act: Act,
    /// The task after it, and after each decision that a gate made by itself right behind it; the last says what the later state
    /// does.
    pub states: Vec<Task>,
    /// What happened besides, on the way.
    pub events: Vec<Event>,
}

/// Returns what leads from `before` (nothing for a new task) to `after`.
pub fn explain(rules: &Rules, before: Option<&Task>, after: &Task) -> StateChange {
    let (start, ours) = match before {
        None if after.is_new() => return StateChange::Edit,
        None if after.history.is_empty() => (bare(rules, after), vec!["gate"]),
        None => (bare(rules, after), vec!["gateHistory"]),
        Some(before) if before == after => return StateChange::Same,
        Some(before) => {
            let ours = differing(before, after);
            if ours.is_empty() || (before.is_new() && after.is_new()) {
                return StateChange::Edit;
            }
            // People may have edited beside what the engine did; the act is looked for on what they left.
            let mut edited = with_people_of(before, after);
            if before.is_new() {
                // Until it stands somewhere, people decide which workflow a task follows.
                edited.routing.workflow.clone_from(&after.routing.workflow);
            }
            (edited, ours)
        }
    };
    // A completion's text is not in its entry, so its digest cannot be made again: the recorded one stands.
    let stamp = after.history.get(start.history.len()).and_then(|visit| visit.completion.as_ref());
    let found = candidates(&start, after).into_iter().find_map(|(act, now)| {
        let steps = states(rules, &start, &act, now, after, stamp)?;
        Some(ReplayedAct::of(act, steps))
    });
    found.map_or(StateChange::Foreign(ours), |found| StateChange::Act(Box::new(found)))
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

impl ReplayedAct {
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
    let steps = passed_on(rules, redo(rules, before, act, now, stamp).ok()?, after);
    steps.last().is_some_and(|last| same(&last.task, after)).then_some(steps)
}

/// Lets gates that decide by themselves decide, as far as `after` has gone: they do so right behind the act.
fn passed_on(rules: &Rules, first: WorkflowStep, after: &Task) -> Vec<WorkflowStep> {
    let pass = |step: &WorkflowStep| {
        let entry = after.history.get(step.task.history.len())?;
        redo(rules, &step.task, &Act::Pass, entry.exited, None).ok()
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
    if before.is_new() {
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

/// Returns what the act makes of the task, or why the rules refuse it.
fn redo(
    rules: &Rules,
    task: &Task,
    act: &Act,
    now: Timestamp,
    stamp: Option<&Stamp>,
) -> Result<WorkflowStep, String> {
    let decision = match (act, stamp) {
        (Act::Complete(completion), Some(stamp)) => {
            complete(&Transition { rules, task, now }, completion, stamp.clone())
        }
        _ => decide(rules, task, act, now),
    };
    match decision {
        Ok(Decision::Step(step)) => Ok(*step),
        Ok(Decision::Settled { .. }) => Err("its completion had counted before".to_owned()),
        Err(refusal) => Err(refusal.problem()),
    }
}

/// What the states say.
#[derive(Debug, Clone, PartialEq)]
pub enum Proof {
    /// The engine's part is as it was.
    Kept,
    /// The engine did this.
    Done(Box<ReplayedAct>),
    /// The engine could have done all this, one step after the other: so many entries came at once.
    Several(usize),
    /// It cannot have been the engine.
    Breach(Breach),
}

/// What cannot have been the engine.
#[derive(Debug, Clone, PartialEq)]
pub enum Breach {
    /// Entries are gone: how many there were, and are.
    Removed { before: usize, after: usize },
    /// An entry says something else than it did: the first such one, counted from 0.
    Rewritten { entry: usize },
    /// The rules refuse what the entry says.
    Refused { entry: usize, why: String },
    /// By the rules, something else comes of what the entry says.
    Otherwise {
        entry: usize,
        /// The fields that differ from what the engine makes of it.
        fields: Vec<&'static str>,
        /// What the engine makes of it.
        expected: Box<Task>,
    },
    /// What is the engine's was moved, and no entry says so.
    Moved {
        /// The fields that differ from before.
        fields: Vec<&'static str>,
    },
    /// A task that is new has been somewhere already: so many entries.
    Begun { entries: usize },
}

/// Returns what becomes of `before` (nothing for a new task) in `after`, by these rules.
pub fn prove(rules: &Rules, before: Option<&Task>, after: &Task) -> Proof {
    if let Some(breach) = before.and_then(|before| rewritten(before, after)) {
        return Proof::Breach(breach);
    }
    let fields = match explain(rules, before, after) {
        StateChange::Same | StateChange::Edit => return Proof::Kept,
        StateChange::Act(found) if found.states.len() > 1 && before.is_some() => {
            return Proof::Several(found.states.len());
        }
        StateChange::Act(found) => return Proof::Done(found),
        StateChange::Foreign(fields) => fields,
    };
    let Some(before) = before else { return Proof::Breach(begun(rules, after)) };
    match &after.history[before.history.len()..] {
        [] => Proof::Breach(Breach::Moved { fields }),
        ended => {
            // What people changed at the same time counts for the rules, and is theirs.
            let edited = with_people_of(before, after);
            several(rules, edited, ended, after).map_or(Proof::Several(ended.len()), Proof::Breach)
        }
    }
}

/// Returns what is wrong with a task that is new.
fn begun(rules: &Rules, after: &Task) -> Breach {
    if !after.history.is_empty() {
        return Breach::Begun { entries: after.history.len() };
    }
    match redo(rules, &bare(rules, after), &Act::Open, opened_at(after), None) {
        Ok(WorkflowStep { task, .. }) => Breach::Otherwise {
            entry: 0,
            fields: differing(&task, after),
            expected: Box::new(task),
        },
        Err(why) => Breach::Refused { entry: 0, why },
    }
}

/// Returns the states with the hash of the rules in place of what the later one names them by, and nothing where that is the same.
/// Another version of the engine may have called the same rules something else.
pub fn rehashed(
    rules: &Rules,
    before: Option<&Task>,
    after: &Task,
) -> Option<(Option<Task>, Task)> {
    let hash = rules.hash(&after.routing.workflow)?;
    let known = before.map_or(0, |task| task.history.len());
    let entries = after.history.get(known..).unwrap_or_default();
    let own = after.workflow_hash.as_deref().or_else(|| entries.last()?.workflow.as_deref())?;
    if own == hash {
        return None;
    }
    let renamed = |task: &Task, from: usize| {
        let mut task = task.clone();
        let named = task.history.iter_mut().skip(from).map(|visit| &mut visit.workflow);
        for name in named.chain([&mut task.workflow_hash]).flatten().filter(|name| *name == own) {
            hash.clone_into(name);
        }
        task
    };
    // What was written before stays what it was.
    Some((before.map(|before| renamed(before, before.history.len())), renamed(after, known)))
}

fn rewritten(before: &Task, after: &Task) -> Option<Breach> {
    let differs = before.history.iter().zip(&after.history).position(|(old, new)| old != new);
    let (was, is) = (before.history.len(), after.history.len());
    match differs {
        Some(entry) => Some(Breach::Rewritten { entry }),
        None => (is < was).then_some(Breach::Removed { before: was, after: is }),
    }
}

/// Returns what is wrong with entries that came at once; nothing where the engine could have made them one after the other, with
/// claims and the like between them.
fn several(rules: &Rules, mut task: Task, ended: &[Visit], after: &Task) -> Option<Breach> {
    for entry in ended {
        let number = task.history.len();
        task = match follow(rules, &task, entry) {
            Ok(next) => next,
            Err(why) => return Some(Breach::Refused { entry: number, why }),
        };
        if task.history.last() != Some(entry) {
            return Some(Breach::Otherwise {
                entry: number,
                fields: vec!["gateHistory"],
                expected: Box::new(task),
            });
        }
    }
    let fields = differing(&unclaimed(&task), &unclaimed(after));
    let entry = after.history.len() - 1;
    (!fields.is_empty()).then(|| Breach::Otherwise { entry, fields, expected: Box::new(task) })
}

/// Returns what the engine makes of the entry, or why it refuses it.
pub(crate) fn follow(rules: &Rules, before: &Task, entry: &Visit) -> Result<Task, String> {
    let Some((act, now)) = from_entry(before, entry) else {
        return Err("it does not say who ended the visit, or by which completion".to_owned());
    };
    redo(rules, before, &act, now, entry.completion.as_ref()).map(|step| step.task)
}

/// Returns the task as if nobody had taken it: claims leave no entry, so they are lost where commits are put together.
fn unclaimed(task: &Task) -> Task {
    let mut task = task.clone();
    (task.routing.agent, task.routing.claimed, task.routing.lost) = (None, None, None);
    for own in task.gate.iter_mut().flat_map(|open| &mut open.branches) {
        (own.agent, own.claimed, own.lost) = (None, None, None);
        if own.status == BranchStatus::InProgress {
            own.status = BranchStatus::Ready;
        }
    }
    task.updated = task.created;
    if task.status == Status::InProgress {
        task.status = Status::Ready;
    }
    task
}
