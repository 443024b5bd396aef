//! Replay: finds the act that led from one state of a task to the next, and checks that the rules allow it.

pub mod merge;
pub mod squash;

use jiff::SignedDuration;

use crate::act::{Act, Actor, Decision, WorkflowStep};
use crate::routing::reviews::lost_dependencies;
use crate::transition::completion::complete;
use crate::transition::decide::decide;
use crate::transition::visit::Transition;
use crate::workflow::rules::Rules;
use aof_domain::{
    AgentId, BranchStatus, Completion, Destination, Ending, Event, Facts, GateId, Stamp, Status,
    Task, Ticket, Timestamp, Visit,
};

/// The change from an earlier state of a task to a later one.
#[derive(Debug, Clone, PartialEq)]
pub enum StateChange {
    /// No change.
    Same,
    /// People changed only their own fields.
    Edit,
    /// This act of the engine led to it.
    Act(Box<ReplayedAct>),
    /// Fields of the engine were changed by hand: these.
    Foreign(Vec<&'static str>),
}

/// An act that replay found.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayedAct {
    pub act: Act,
    /// The task after the act, and after each automatic gate that followed it. The last one equals the later state.
    pub states: Vec<Task>,
    /// Other events on the way.
    pub events: Vec<Event>,
}

/// Returns the change from `before` (`None` for a new task) to `after`.
pub fn explain(rules: &Rules, before: Option<&Task>, after: &Task) -> StateChange {
    let (start, ours) = match before {
        None if after.is_new() => return StateChange::Edit,
        None if after.history.is_empty() => (before_first_gate(rules, after), vec!["gate"]),
        None => (before_first_gate(rules, after), vec!["gateHistory"]),
        Some(before) if before == after => return StateChange::Same,
        Some(before) => {
            let ours = differing_fields(before, after);
            if ours.is_empty() || (before.is_new() && after.is_new()) {
                return StateChange::Edit;
            }
            // People may have edited the task too: search for the act on top of their edit.
            let mut edited = with_people_of(before, after);
            if before.is_new() {
                // Until a task is at a gate, people decide its workflow.
                edited.routing.workflow.clone_from(&after.routing.workflow);
                // Until then, a time without a zone is read as its day.
                if edited.created.duration_until(after.created).abs() < TWO_DAYS {
                    edited.created = after.created;
                }
            }
            (edited, ours)
        }
    };
    // A completion's text is not in its entry, so its digest cannot be recomputed: take the recorded one.
    let stamp = after.history.get(start.history.len()).and_then(|visit| visit.completion.as_ref());
    let found = candidates(&start, after).into_iter().find_map(|(act, now)| {
        let steps = states(rules, &start, &act, now, after, stamp)?;
        Some(ReplayedAct::new(act, steps))
    });
    found.map_or(StateChange::Foreign(ours), |found| StateChange::Act(Box::new(found)))
}

/// The longest time between the first second of a day in UTC and a time of that day anywhere, with room to spare.
const TWO_DAYS: SignedDuration = SignedDuration::from_hours(48);

/// Returns the acts by which a task may have begun.
fn beginnings(after: &Task) -> Vec<(Act, Timestamp)> {
    let branches = after.gate.iter().flat_map(|open| &open.branches);
    let agents = after.routing.agent.iter().chain(branches.filter_map(|part| part.agent.as_ref()));
    let given = agents.map(|agent| Act::OpenFor { agent: agent.clone() });
    std::iter::once(Act::Open).chain(given).map(|act| (act, opened_at(after))).collect()
}

/// Returns the task before its first gate. For a new file, only decisions of automatic gates can be known.
pub(crate) fn before_first_gate(rules: &Rules, after: &Task) -> Task {
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

/// Returns the time when a task entered its first gate.
pub(crate) fn opened_at(task: &Task) -> Timestamp {
    let first = task.history.first().map(|visit| visit.entered);
    first.or(task.gate.as_ref().map(|open| open.entered)).unwrap_or(task.updated)
}

impl ReplayedAct {
    fn new(act: Act, steps: Vec<WorkflowStep>) -> Self {
        let (states, events): (Vec<Task>, Vec<Vec<Event>>) =
            steps.into_iter().map(|step| (step.task, step.events)).unzip();
        Self { act, states, events: events.concat() }
    }
}

/// Returns the states that the act leads through, if the last one equals `after`.
fn states(
    rules: &Rules,
    before: &Task,
    act: &Act,
    now: Timestamp,
    after: &Task,
    stamp: Option<&Stamp>,
) -> Option<Vec<WorkflowStep>> {
    let steps = with_automatic_passes(rules, reapply(rules, before, act, now, stamp).ok()?, after);
    steps.last().is_some_and(|last| same_engine_fields(&last.task, after)).then_some(steps)
}

/// Applies the automatic gates after the act, as far as `after` has gone.
fn with_automatic_passes(rules: &Rules, first: WorkflowStep, after: &Task) -> Vec<WorkflowStep> {
    let pass = |step: &WorkflowStep| {
        let entry = after.history.get(step.task.history.len())?;
        reapply(rules, &step.task, &Act::Pass, entry.exited, None).ok()
    };
    std::iter::successors(Some(first), pass).collect()
}

/// Returns the names of the engine's fields in which the two differ.
pub(crate) fn differing_fields(before: &Task, after: &Task) -> Vec<&'static str> {
    let Task {
        id: _,
        title: _,
        description: _,
        status,
        created,
        created_by,
        updated,
        routing,
        gate,
        history,
        review,
        blockers,
        context,
        workflow_hash,
        plan: _,
        tags: _,
        metadata: _,
        depends_on: _,
        parent: _,
    } = before;
    let pairs = [
        ("status", *status == after.status),
        ("created", *created == after.created),
        ("createdBy", *created_by == after.created_by),
        ("updated", *updated == after.updated),
        ("routing", *routing == after.routing),
        ("gate", *gate == after.gate),
        ("gateHistory", *history == after.history),
        ("reviewContext", *review == after.review),
        ("blockers", *blockers == after.blockers),
        ("context", *context == after.context),
        ("workflowHash", *workflow_hash == after.workflow_hash),
    ];
    pairs.into_iter().filter(|(_, equal)| !equal).map(|(name, _)| name).collect()
}

/// Returns whether the engine's fields are the same in both.
pub fn same_engine_fields(one: &Task, two: &Task) -> bool {
    differing_fields(one, two).is_empty()
}

/// Returns the first task with the people's fields of the second.
pub fn with_people_of(engine: &Task, people: &Task) -> Task {
    Task {
        id: engine.id.clone(),
        title: people.title.clone(),
        description: people.description.clone(),
        status: engine.status,
        created: engine.created,
        created_by: engine.created_by.clone(),
        updated: engine.updated,
        routing: engine.routing.clone(),
        gate: engine.gate.clone(),
        history: engine.history.clone(),
        review: engine.review.clone(),
        blockers: engine.blockers.clone(),
        context: engine.context.clone(),
        workflow_hash: engine.workflow_hash.clone(),
        plan: people.plan.clone(),
        tags: people.tags.clone(),
        metadata: people.metadata.clone(),
        depends_on: people.depends_on.clone(),
        parent: people.parent.clone(),
    }
}

fn candidates(before: &Task, after: &Task) -> Vec<(Act, Timestamp)> {
    if before.is_new() {
        return beginnings(after);
    }
    if after.history.len() > before.history.len() && after.history.starts_with(&before.history) {
        let first = after.history.get(before.history.len());
        return first.and_then(|entry| act_of_entry(before, entry)).into_iter().collect();
    }
    let person = Actor::Person(None);
    let mut acts = vec![
        Act::Reroute,
        Act::Release { by: person.clone(), branch: None },
        Act::Lapse { branch: None },
        Act::Timeout { branch: None },
    ];
    let answer = after.gate.as_ref().and_then(|open| open.answer.clone());
    acts.push(Act::Unblock { by: person.clone(), branch: None, reason: answer });
    // All blocked branches that were unblocked together have the same answer.
    let answered = after.branches().max_by_key(|branch| branch.resumed);
    if let Some(reason) = answered.map(|branch| branch.answer.clone()) {
        acts.push(Act::Unblock { by: person.clone(), branch: None, reason });
    }
    acts.push(Act::Depend { lost: lost_dependencies(after) });
    // A hold adds its reason to the blockers.
    let reason = after.blockers.last().map(ToString::to_string).unwrap_or_default();
    acts.push(Act::Hold { by: person.clone(), reason });
    for part in after.gate.iter().flat_map(|open| &open.branches) {
        let branch = Some(part.id.clone());
        acts.extend(part.agent.iter().flat_map(|agent| acts_giving_to(agent, branch.as_ref())));
        acts.push(Act::Lapse { branch: branch.clone() });
        acts.push(Act::Timeout { branch: branch.clone() });
        acts.push(Act::Release { by: person.clone(), branch: branch.clone() });
        let reason = part.answer.clone();
        acts.push(Act::Unblock { by: person.clone(), branch, reason });
    }
    acts.extend(after.routing.agent.iter().flat_map(|agent| acts_giving_to(agent, None)));
    acts.into_iter().map(|act| (act, after.updated)).collect()
}

/// Returns the acts after which the agent holds the task or branch.
fn acts_giving_to(agent: &AgentId, branch: Option<&GateId>) -> [Act; 3] {
    let (agent, branch) = (agent.clone(), branch.cloned());
    [
        Act::Claim { agent: agent.clone(), branch: branch.clone() },
        Act::Renew { agent: agent.clone(), branch: branch.clone(), note: None },
        Act::Assign { by: Actor::Person(None), agent, branch },
    ]
}

pub(crate) fn act_of_entry(before: &Task, entry: &Visit) -> Option<(Act, Timestamp)> {
    let by = Actor::Person(entry.agent.clone());
    let reason = entry.summary.clone();
    let to = match &entry.to {
        Some(Destination::Gate(gate)) => Some(gate.clone()),
        _ => None,
    };
    let act = match &entry.outcome {
        Ending::Completed(_) if entry.agent.is_none() => Act::Pass,
        Ending::Completed(_) => Act::Complete(Completion {
            ticket: Ticket { branch: entry.branch.clone(), ..before.ticket() },
            gate: None,
            agent: entry.agent.clone()?,
            content: entry.content(),
            id: entry.completion.as_ref()?.id.clone(),
            signature: entry.signature.clone(),
            facts: Box::new(Facts {
                children: entry.children.clone(),
                checks: entry.checks.clone(),
                work: entry.work.clone(),
                landed: entry.landed.clone(),
                failures: Vec::new(),
                is_bound: false,
            }),
        }),
        Ending::Cancelled => Act::Cancel { by, reason },
        Ending::Override => Act::Override { by, to: to?, reason },
        Ending::Reopened => Act::Reopen { by, to: to?, reason },
        Ending::Timeout => Act::Timeout { branch: entry.branch.clone() },
        Ending::Moved => Act::Move,
    };
    Some((act, entry.exited))
}

/// Applies the act to the task again. Fails if the rules refuse it.
fn reapply(
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

/// The result of a proof.
#[derive(Debug, Clone, PartialEq)]
pub enum Proof {
    /// The engine's fields are unchanged.
    Kept,
    /// The engine made this act.
    Done(Box<ReplayedAct>),
    /// The engine could have made all these entries, one after the other; the number of entries.
    Several(usize),
    /// The engine cannot have made the change.
    Breach(Breach),
}

/// A change that the engine cannot have made.
#[derive(Debug, Clone, PartialEq)]
pub enum Breach {
    /// Entries are missing: their number before and after.
    Removed { before: usize, after: usize },
    /// An entry was changed: the index of the first changed one.
    Rewritten { entry: usize },
    /// The rules refuse the entry.
    Refused { entry: usize, why: String },
    /// By the rules, the entry leads to another state.
    Otherwise {
        entry: usize,
        /// The fields that differ from the engine's result.
        fields: Vec<&'static str>,
        /// The engine's result.
        expected: Box<Task>,
    },
    /// Engine fields were changed without an entry.
    Moved {
        /// The fields that differ from before.
        fields: Vec<&'static str>,
    },
    /// A new task already has this many entries.
    Begun { entries: usize },
}

/// Judges by these rules how `before` (`None` for a new task) became `after`.
pub fn prove(rules: &Rules, before: Option<&Task>, after: &Task) -> Proof {
    if let Some(breach) = before.and_then(|before| find_rewrite(before, after)) {
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
    let Some(before) = before else { return Proof::Breach(judge_new_task(rules, after)) };
    match &after.history[before.history.len()..] {
        [] => Proof::Breach(Breach::Moved { fields }),
        ended => {
            // People's simultaneous changes are allowed, and conditions read them.
            let edited = with_people_of(before, after);
            check_entries(rules, edited, ended, after)
                .map_or(Proof::Several(ended.len()), Proof::Breach)
        }
    }
}

/// Returns the breach of a new task.
fn judge_new_task(rules: &Rules, after: &Task) -> Breach {
    if !after.history.is_empty() {
        return Breach::Begun { entries: after.history.len() };
    }
    match reapply(rules, &before_first_gate(rules, after), &Act::Open, opened_at(after), None) {
        Ok(WorkflowStep { task, .. }) => Breach::Otherwise {
            entry: 0,
            fields: differing_fields(&task, after),
            expected: Box::new(task),
        },
        Err(why) => Breach::Refused { entry: 0, why },
    }
}

/// Returns the states with the current hash of the rules; `None` if the later one has it already. Another version of the engine may
/// hash the same rules differently.
pub fn rehashed(
    rules: &Rules,
    before: Option<&Task>,
    after: &Task,
) -> Option<(Option<Task>, Task)> {
    let hash = rules.hash(&after.routing.workflow)?;
    let known = before.map_or(0, |task| task.history.len());
    let entries = after.history.get(known..).unwrap_or_default();
    let begun = after.workflow_hash.as_deref().or_else(|| entries.last()?.workflow.as_deref())?;
    if begun == hash {
        return None;
    }
    let renamed = |task: &Task, from: usize| {
        let mut task = task.clone();
        let named = task.history.iter_mut().skip(from).map(|visit| &mut visit.workflow);
        for name in named.chain([&mut task.workflow_hash]).flatten().filter(|name| *name == begun) {
            hash.clone_into(name);
        }
        task
    };
    // Earlier entries keep their hashes.
    Some((before.map(|before| renamed(before, before.history.len())), renamed(after, known)))
}

fn find_rewrite(before: &Task, after: &Task) -> Option<Breach> {
    let differs = before.history.iter().zip(&after.history).position(|(old, new)| old != new);
    let (was, is) = (before.history.len(), after.history.len());
    match differs {
        Some(entry) => Some(Breach::Rewritten { entry }),
        None => (is < was).then_some(Breach::Removed { before: was, after: is }),
    }
}

/// Returns the breach in several entries at once; `None` if the engine could have made them one after the other, with claims and
/// similar acts in between.
fn check_entries(rules: &Rules, mut task: Task, ended: &[Visit], after: &Task) -> Option<Breach> {
    for entry in ended {
        let number = task.history.len();
        task = match apply_entry(rules, &task, entry) {
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
    let fields = differing_fields(&without_claims(&task), &without_claims(after));
    let entry = after.history.len() - 1;
    (!fields.is_empty()).then(|| Breach::Otherwise { entry, fields, expected: Box::new(task) })
}

/// Applies the entry as the engine would. Fails if the rules refuse it.
pub(crate) fn apply_entry(rules: &Rules, before: &Task, entry: &Visit) -> Result<Task, String> {
    let Some((act, now)) = act_of_entry(before, entry) else {
        return Err("it does not say who ended the visit, or by which completion".to_owned());
    };
    reapply(rules, before, &act, now, entry.completion.as_ref()).map(|step| step.task)
}

/// Returns the task without claims: they leave no entry, so they are lost when commits are squashed.
fn without_claims(task: &Task) -> Task {
    let mut task = task.clone();
    (task.routing.agent, task.routing.claimed, task.routing.lost) = (None, None, None);
    for branch in task.gate.iter_mut().flat_map(|open| &mut open.branches) {
        (branch.agent, branch.claimed, branch.lost) = (None, None, None);
        if branch.status == BranchStatus::InProgress {
            branch.status = BranchStatus::Ready;
        }
    }
    task.updated = task.created;
    if task.status == Status::InProgress {
        task.status = Status::Ready;
    }
    task
}
