//! A completion: judged, and turned into the entry that ends the visit.

use super::content::vague;
use super::fold::{self, arrive, not_looping};
use super::read_outcome::{Said, contradiction, said};
use super::timeouts;
use super::visit::{Transition, blank, may_mean};
use crate::domain::{
    Completion, Ending, Event, Fork, GateId, GateKind, OpenVisit, Outcome, Stamp, Status, Task,
    Visit, Work, Workflow,
};
use crate::rules::act::{Decision, Warning, WorkflowStep};
use crate::rules::refusal::Refusal;
use crate::rules::routing::branch;
use crate::rules::routing::eligibility::{may_complete, separate_session};
use crate::rules::routing::fork;
use crate::rules::routing::route;
use crate::rules::routing::workplace::Workplace;
use crate::rules::workflow::rules::Rules;

/// Decides a completion. `stamp` is its mark in the history; the time is never taken to be earlier than the visit's beginning.
pub(crate) fn complete(
    transition: &Transition<'_>,
    completion: &Completion,
    stamp: Stamp,
) -> Result<Decision, Refusal> {
    let Transition { rules, task, .. } = *transition;
    if let Some(settled) = redelivered(task, &stamp)? {
        return Ok(Decision::Settled { visit: settled });
    }
    let meant = may_mean(task, &completion.ticket, Some(&completion.agent));
    if let Err(ended @ Refusal::VisitEnded { .. }) = meant {
        return Err(ended);
    }
    let open = transition.open()?;
    meant?;
    let (workflow, index) = transition.gate(open)?;
    let branch = branch::meant(rules, task, &completion.ticket, &completion.agent)?;
    let post = transition.workplace(open, branch.as_ref())?;
    not_looping(rules, task)?;
    if open.held.is_some() {
        return Err(transition.held());
    }
    may_complete(rules, task, &post, &completion.agent)
        .map_err(|refusal| timeouts::too_late(task, &post, &completion.agent).unwrap_or(refusal))?;
    separate_session(task, &post, completion)?;
    let Said { outcome, completion, warnings } = said(rules, workflow, task, &post, completion)?;
    let mut visit = entry(&post, open, &completion, stamp, outcome.clone());
    let said = match workflow.gates[index].fork().zip(branch) {
        Some((fork, id)) => speak(rules, task, fork, &id, &outcome, &mut visit),
        None => Some(outcome),
    };
    let mut step =
        end(transition, workflow, index, said.as_ref(), visit, completion.body.as_deref());
    step.warnings.splice(0..0, warnings);
    Ok(step.into())
}

/// Returns whether the completion says one thing only. What the history keeps of a completion has no text any more, so this is
/// asked of those that come, and never of those that are decided anew.
pub(crate) fn agrees(rules: &Rules, task: &Task, completion: &Completion) -> Result<(), Refusal> {
    let branch = branch::meant(rules, task, &completion.ticket, &completion.agent)?;
    match Workplace::meant(rules, task, branch.as_ref()) {
        Some(post) => contradiction(&post, completion),
        None => Ok(()),
    }
}

/// Lets a gate that decides by itself decide.
pub(crate) fn pass(transition: &Transition<'_>) -> Result<WorkflowStep, Refusal> {
    let Transition { rules, task, .. } = *transition;
    let open = transition.open()?;
    let (workflow, index) = transition.gate(open)?;
    let gate = &workflow.gates[index];
    let void = fork::is_void(gate, open);
    let joined = fork::come_to(rules, task, gate);
    if gate.kind != GateKind::Condition && !void && joined.is_none() {
        return Err(Refusal::NotAutomatic { task: task.id.clone(), gate: gate.id.clone() });
    }
    not_looping(rules, task)?;
    let mut trouble = Vec::new();
    let (outcome, summary) = if void {
        (Outcome::Complete, "No branch applies".to_owned())
    } else if let Some((join, _)) = &joined {
        (fork::says(*join), "Nobody is left who could say more".to_owned())
    } else {
        let (holds, met) = route::judgement(rules, workflow, gate, task);
        trouble = met;
        let outcome = route::decision(holds);
        let when = gate.when.as_deref().unwrap_or_default();
        let summary = format!("The condition is {outcome}: {when}");
        (outcome, summary)
    };
    let (join, unfinished) = joined.unzip();
    let unfinished = unfinished.unwrap_or_default();
    let visit = Visit { join, unfinished, summary, ..blank(open, Ending::Said(outcome.clone())) };
    let mut step = end(transition, workflow, index, Some(&outcome), visit, None);
    step.met(trouble);
    Ok(step)
}

/// Returns whether the task stands at a gate that decides by itself, and can go on: then `Act::Pass` is the next thing to do.
pub fn passes_by_itself(rules: &Rules, task: &Task) -> bool {
    let goes = matches!(task.status, Status::Ready | Status::InProgress);
    let Some(open) = task.gate.as_ref().filter(|_| goes) else { return false };
    let gate = rules.workflow_of(task).and_then(|workflow| workflow.gate(&open.current));
    gate.is_some_and(|(_, gate)| {
        gate.kind == GateKind::Condition
            || fork::is_void(gate, open)
            || fork::come_to(rules, task, gate).is_some()
    })
}

/// Notes on the entry what was said at the branch, and what the branches have come to by it. Returns what the fork says then;
/// nothing while other branches are open.
fn speak(
    rules: &Rules,
    task: &Task,
    fork: &Fork,
    id: &GateId,
    outcome: &Outcome,
    visit: &mut Visit,
) -> Option<Outcome> {
    let verdict = fork.branch(id).map(|(_, branch)| branch.verdict(outcome))?;
    visit.entered =
        task.gate.as_ref().map_or(visit.entered, |open| branch::entered(task, open, id));
    visit.branch = Some(id.clone());
    visit.verdict = Some(verdict);
    let (join, unfinished) = fork::after(rules, task, fork, id, verdict)?;
    visit.join = Some(join);
    visit.unfinished = unfinished;
    visit.said().cloned()
}

/// Returns the visit that the completion ended before, if it was delivered before.
fn redelivered(task: &Task, stamp: &Stamp) -> Result<Option<usize>, Refusal> {
    let known = |entry: &Visit| entry.completion.as_ref().is_some_and(|own| own.id == stamp.id);
    let Some(visit) = task.history.iter().position(known) else { return Ok(None) };
    if task.history[visit].completion.as_ref() == Some(stamp) {
        return Ok(Some(visit));
    }
    Err(Refusal::CompletionReused { id: stamp.id.clone(), task: task.id.clone(), visit })
}

/// Ends the visit with what the gate says, which is nothing while other branches of it are open: finds where it leads, and moves
/// the task by its entry.
fn end(
    transition: &Transition<'_>,
    workflow: &Workflow,
    index: usize,
    said: Option<&Outcome>,
    mut visit: Visit,
    text: Option<&str>,
) -> WorkflowStep {
    let Transition { rules, task, now } = *transition;
    visit.exited = now.max(task.latest());
    visit.workflow = rules.hash(&workflow.name).map(str::to_owned);
    let mut trouble = Vec::new();
    if let Some(outcome) = said {
        let mut history = task.history.clone();
        history.push(visit.clone());
        let passage = route::route(rules, workflow, task, &history, index, outcome);
        visit.to = Some(passage.to);
        visit.skipped = passage.skipped;
        visit.cleared = passage.cleared;
        visit.retry = passage.retry;
        visit.escalated_to = passage.escalated_to;
        trouble = passage.trouble;
    }
    let mut step = WorkflowStep::silent(task.clone());
    step.events.extend(visit.skipped.iter().map(|gate| Event::Skipped { gate: gate.clone() }));
    let vague_blockers = vague(&visit.blockers);
    if !vague_blockers.is_empty() {
        step.warnings.push(Warning::VagueBlockers { vague_blockers });
    }
    step.met(trouble);
    step.work = text.filter(|text| !text.trim().is_empty()).map(|text| Work {
        ticket: task.ticket_of(visit.branch.as_ref()),
        gate: visit.station(),
        agent: visit.agent.clone(),
        at: visit.exited,
        text: text.to_owned(),
    });
    fold::apply(rules, &mut step.task, visit);
    arrive(rules, step)
}

fn entry(
    post: &Workplace<'_>,
    open: &OpenVisit,
    completion: &Completion,
    stamp: Stamp,
    outcome: Outcome,
) -> Visit {
    let blockers =
        completion.blockers.iter().flatten().filter(|blocker| !blocker.trim().is_empty());
    Visit {
        role: Some(post.role.clone()),
        agent: Some(completion.agent.clone()),
        summary: completion.summary.clone().unwrap_or_default(),
        blockers: blockers.cloned().collect(),
        rejection_notes: completion
            .rejection_notes
            .clone()
            .filter(|notes| !notes.trim().is_empty()),
        outputs: completion.outputs.clone(),
        metadata: completion.metadata.clone(),
        completion: Some(stamp),
        signature: completion.signature.clone(),
        ..blank(open, Ending::Said(outcome))
    }
}
