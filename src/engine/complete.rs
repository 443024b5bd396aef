//! A completion: judged, and turned into the entry that ends the visit.

use super::decide::{Decision, Step};
use super::fold;
use super::guard;
use super::refusal::Refusal;
use super::route;
use super::rules::Rules;
use super::vague::is_vague;
use super::warning::Warning;
use crate::model::{
    AgentId, Completion, Destination, Ending, Event, Gate, OpenVisit, Outcome, Stamp, Task, Timestamp, Visit, Work,
    Workflow,
};

/// Decides a completion. `stamp` is its mark in the history; `now` is never taken to be earlier than the visit's beginning.
pub(super) fn complete(
    rules: &Rules,
    task: &Task,
    completion: &Completion,
    stamp: Stamp,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    if let Some(settled) = redelivered(task, &stamp)? {
        return Ok(Decision::Settled { visit: settled });
    }
    let open = open_visit(task, completion)?;
    let (workflow, index) = standing(rules, task, open)?;
    let gate = &workflow.gates[index];
    if let Some(refusal) = guard::looping(task) {
        return Err(refusal);
    }
    guard::may_complete(rules, task, gate, &completion.agent)?;
    let outcome = guard::outcome(rules, gate, workflow.default_outcome, completion)?;
    guard::content(outcome, completion)?;
    Ok(Decision::Step(Box::new(carry_out(
        rules,
        task,
        &Ended { completion, stamp, open, workflow, index, outcome },
        now,
    ))))
}

/// Returns the visit that the completion ended before, if it was delivered before.
fn redelivered(task: &Task, stamp: &Stamp) -> Result<Option<usize>, Refusal> {
    let found = task.history.iter().enumerate().find_map(|(visit, entry)| {
        entry.completion.as_ref().filter(|known| known.id == stamp.id).map(|known| (visit, known))
    });
    match found {
        None => Ok(None),
        Some((visit, known)) if known.sha256 == stamp.sha256 => Ok(Some(visit)),
        Some((visit, _)) => Err(Refusal::CompletionReused { id: stamp.id.clone(), task: task.id.clone(), visit }),
    }
}

/// Returns the open visit, if it is the one that the completion means.
fn open_visit<'a>(task: &'a Task, completion: &Completion) -> Result<&'a OpenVisit, Refusal> {
    if let Some(visit) = completion.ticket.visit.filter(|visit| *visit < task.history.len()) {
        may_mean(task, visit, Some(&completion.agent))?;
    }
    if task.status.is_finished() {
        return Err(Refusal::Finished { task: task.id.clone(), status: task.status, at: task.latest() });
    }
    let open = task.gate.as_ref().ok_or_else(|| Refusal::NotAdopted { task: task.id.clone() })?;
    if let Some(visit) = completion.ticket.visit {
        may_mean(task, visit, Some(&completion.agent))?;
    }
    Ok(open)
}

/// Returns whether a ticket's visit is the one to come or the open one: what is meant for a visit that has ended is a conflict.
pub fn may_mean(task: &Task, visit: usize, agent: Option<&AgentId>) -> Result<(), Refusal> {
    match task.history.get(visit) {
        Some(entry) => Err(visit_ended(task, (visit, entry), agent)),
        None if visit > task.history.len() => {
            Err(Refusal::VisitAhead { task: task.id.clone(), visit, current: task.history.len() })
        }
        None => Ok(()),
    }
}

fn visit_ended(task: &Task, (visit, entry): (usize, &Visit), agent: Option<&AgentId>) -> Refusal {
    Refusal::VisitEnded {
        task: task.id.clone(),
        visit,
        gate: entry.gate.clone(),
        agent: agent.cloned(),
        winner: entry.agent.clone(),
        outcome: entry.outcome.to_string(),
        at: entry.exited,
    }
}

/// Returns the workflow in force and the place of the open gate in it.
pub(super) fn standing<'a>(rules: &'a Rules, task: &Task, open: &OpenVisit) -> Result<(&'a Workflow, usize), Refusal> {
    let workflow = rules.workflow_of(task).ok_or_else(|| unknown_workflow(rules, task))?;
    let index = workflow.gate(&open.current).map(|(index, _)| index);
    let index = index.ok_or_else(|| Refusal::GateGone {
        task: task.id.clone(),
        gate: open.current.clone(),
        known: workflow.gates.iter().map(|gate| gate.id.clone()).collect(),
    })?;
    Ok((workflow, index))
}

pub(super) fn unknown_workflow(rules: &Rules, task: &Task) -> Refusal {
    Refusal::UnknownWorkflow {
        task: task.id.clone(),
        workflow: task.routing.workflow.to_string(),
        known: rules.project.workflows.iter().map(|workflow| workflow.name.to_string()).collect(),
    }
}

/// A completion that the guards let pass, and the visit that it ends.
struct Ended<'a> {
    completion: &'a Completion,
    stamp: Stamp,
    open: &'a OpenVisit,
    workflow: &'a Workflow,
    index: usize,
    outcome: Outcome,
}

fn carry_out(rules: &Rules, task: &Task, ended: &Ended<'_>, now: Timestamp) -> Step {
    let gate = &ended.workflow.gates[ended.index];
    let exited = now.max(task.latest());
    let mut visit = entry(ended, gate, exited, rules.hash(&ended.workflow.name));
    let mut history = task.history.clone();
    history.push(visit.clone());
    let passage = route::route(rules, ended.workflow, task, &history, ended.index, ended.outcome);
    visit.retry = backward(ended, &passage.to).map(|gate| fold::returns_to(&task.history, gate) + 1);
    visit.to = Some(passage.to);
    visit.skipped = passage.skipped;

    let mut events: Vec<Event> = visit.skipped.iter().map(|gate| Event::Skipped { gate: gate.clone() }).collect();
    events.extend(passage.trouble.iter().cloned().map(Event::ConditionError));
    let mut warnings = vague_blockers(&visit);
    warnings.extend(passage.trouble.into_iter().map(Warning::ConditionError));

    let work = ended.completion.body.as_ref().filter(|text| !text.trim().is_empty()).map(|text| Work {
        ticket: task.ticket(),
        gate: gate.id.clone(),
        agent: visit.agent.clone(),
        at: exited,
        text: text.clone(),
    });
    let mut after = task.clone();
    fold::apply(rules, &mut after, visit);
    events.extend(fold::hold_if_stuck(rules, &mut after));
    Step { task: after, work, events, warnings }
}

fn entry(ended: &Ended<'_>, gate: &Gate, exited: Timestamp, hash: Option<&str>) -> Visit {
    let completion = ended.completion;
    let blockers = completion.blockers.iter().flatten().filter(|blocker| !blocker.trim().is_empty());
    Visit {
        gate: gate.id.clone(),
        role: gate.role.clone(),
        agent: Some(completion.agent.clone()),
        entered: ended.open.entered,
        exited,
        outcome: Ending::Said(ended.outcome),
        summary: completion.summary.clone().unwrap_or_default(),
        blockers: blockers.cloned().collect(),
        rejection_notes: completion.rejection_notes.clone().filter(|notes| !notes.trim().is_empty()),
        to: None,
        skipped: Vec::new(),
        retry: None,
        outputs: completion.outputs.clone(),
        metadata: completion.metadata.clone(),
        workflow: hash.map(str::to_owned),
        completion: Some(ended.stamp.clone()),
    }
}

/// Returns the gate that the route goes back to, if it does.
fn backward<'a>(ended: &Ended<'_>, to: &'a Destination) -> Option<&'a crate::model::GateId> {
    match to {
        Destination::Gate(gate) => ended.workflow.gate(gate).filter(|(place, _)| *place < ended.index).map(|_| gate),
        Destination::End => None,
    }
}

fn vague_blockers(visit: &Visit) -> Vec<Warning> {
    let vague: Vec<String> = visit.blockers.iter().filter(|blocker| is_vague(blocker)).cloned().collect();
    if vague.is_empty() { Vec::new() } else { vec![Warning::VagueBlockers(vague)] }
}
