//! A completion: judged, and turned into the entry that ends the visit.

use super::fold;
use super::guard;
use super::read_outcome::{Said, contradiction, said};
use super::timeouts;
use super::vague_blockers::is_vague;
use super::warning::Warning;
use crate::domain::{
    AgentId, Completion, Ending, Event, Fork, GateId, GateKind, Map, OpenVisit, Outcome, Stamp,
    Status, Task, Ticket, Timestamp, Visit, Work, Workflow,
};
use crate::rules::decide::{Decision, Step};
use crate::rules::refusal::Refusal;
use crate::rules::routing::branch;
use crate::rules::routing::fork;
use crate::rules::routing::route;
use crate::rules::routing::workplace::Post;
use crate::rules::workflow::rules::Rules;

/// Decides a completion. `stamp` is its mark in the history; `now` is never taken to be earlier than the visit's beginning.
pub(crate) fn complete(
    rules: &Rules,
    task: &Task,
    completion: &Completion,
    stamp: Stamp,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    if let Some(settled) = redelivered(task, completion, &stamp)? {
        return Ok(Decision::Settled { visit: settled });
    }
    let open = open_visit(task, completion)?;
    let (workflow, index) = standing(rules, task, open)?;
    let branch = branch::meant(rules, task, &completion.ticket, &completion.agent)?;
    let post = post(rules, task, open, branch.as_ref())?;
    if let Some(refusal) = looping(rules, task) {
        return Err(refusal);
    }
    if open.held.is_some() {
        return Err(Refusal::Held { task: task.id.clone(), reasons: task.blockers.clone() });
    }
    guard::may_complete(rules, task, &post, &completion.agent)
        .map_err(|refusal| timeouts::too_late(task, &post, &completion.agent).unwrap_or(refusal))?;
    guard::separate_session(task, &post, completion)?;
    let Said { outcome, completion, warnings } = said(rules, workflow, task, &post, completion)?;
    let mut visit = entry(&post, open, &completion, stamp, outcome.clone());
    let gate = &workflow.gates[index];
    let said = match gate.fork().zip(branch) {
        Some((fork, id)) => speak(rules, task, fork, &id, &outcome, &mut visit),
        None => Some(outcome),
    };
    let mut step = end(
        rules,
        task,
        &Ended { workflow, index, said, text: completion.body.as_ref() },
        visit,
        now,
    );
    step.warnings.splice(0..0, warnings);
    Ok(Decision::Step(Box::new(step)))
}

/// Returns whether the completion says one thing only. What the history keeps of a completion has no text any more, so this is
/// asked of those that come, and never of those that are decided anew.
pub(crate) fn agrees(rules: &Rules, task: &Task, completion: &Completion) -> Result<(), Refusal> {
    let branch = branch::meant(rules, task, &completion.ticket, &completion.agent)?;
    match Post::meant(rules, task, branch.as_ref()) {
        Some(post) => contradiction(&post, completion),
        None => Ok(()),
    }
}

/// Lets a gate that decides by itself decide.
pub(crate) fn pass(rules: &Rules, task: &Task, now: Timestamp) -> Result<Step, Refusal> {
    let open = open_now(task)?;
    let (workflow, index) = standing(rules, task, open)?;
    let gate = &workflow.gates[index];
    let void = fork::is_void(gate, open);
    let joined = fork::come_to(rules, task, gate);
    if gate.kind != GateKind::Condition && !void && joined.is_none() {
        return Err(Refusal::NotAutomatic { task: task.id.clone(), gate: gate.id.clone() });
    }
    if let Some(refusal) = looping(rules, task) {
        return Err(refusal);
    }
    let (outcome, summary, trouble) = if void {
        (Outcome::Complete, "No branch applies".to_owned(), Vec::new())
    } else if let Some((join, _)) = &joined {
        (fork::says(*join), "Nobody is left who could say more".to_owned(), Vec::new())
    } else {
        let (holds, trouble) = route::judgement(rules, workflow, gate, task);
        let outcome = route::decision(holds);
        let summary =
            format!("The condition is {outcome}: {}", gate.when.as_deref().unwrap_or_default());
        (outcome, summary, trouble)
    };
    let (join, unfinished) =
        joined.map_or((None, Vec::new()), |(join, unfinished)| (Some(join), unfinished));
    let visit =
        Visit { join, unfinished, summary, ..blank(&gate.id, open, Ending::Said(outcome.clone())) };
    let mut step =
        end(rules, task, &Ended { workflow, index, said: Some(outcome), text: None }, visit, now);
    step.events.extend(trouble.iter().cloned().map(Event::ConditionError));
    step.warnings.extend(trouble.into_iter().map(Warning::ConditionError));
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

/// Returns whether the task was sent back too often, and waits for a person to look at it: no completion is taken.
pub fn is_looping(rules: &Rules, task: &Task) -> bool {
    looping(rules, task).is_some()
}

/// Returns why a task that was sent back too often does not go on.
pub(crate) fn looping(rules: &Rules, task: &Task) -> Option<Refusal> {
    let (_, count) = fold::exhausted(rules, task).filter(|_| task.status == Status::Blocked)?;
    let gate = task.gate.as_ref()?.current.clone();
    Some(Refusal::CircularLoop { task: task.id.clone(), gate, count })
}

/// Returns the visit that the completion ended before, if it was delivered before.
fn redelivered(
    task: &Task,
    completion: &Completion,
    stamp: &Stamp,
) -> Result<Option<usize>, Refusal> {
    let found = task.history.iter().enumerate().find_map(|(visit, entry)| {
        entry.completion.as_ref().filter(|known| known.id == stamp.id).map(|known| (visit, known))
    });
    match found {
        None => Ok(None),
        Some((visit, known)) if [stamp, &completion.earlier_stamp()].contains(&known) => {
            Ok(Some(visit))
        }
        Some((visit, _)) => {
            Err(Refusal::CompletionReused { id: stamp.id.clone(), task: task.id.clone(), visit })
        }
    }
}

/// Returns the open visit, if it is the one that the completion means.
fn open_visit<'a>(task: &'a Task, completion: &Completion) -> Result<&'a OpenVisit, Refusal> {
    let meant = may_mean(task, &completion.ticket, Some(&completion.agent));
    if let Err(ended @ Refusal::VisitEnded { .. }) = meant {
        return Err(ended);
    }
    let open = open_now(task)?;
    meant.map(|()| open)
}

/// Returns the open visit.
pub(crate) fn open_now(task: &Task) -> Result<&OpenVisit, Refusal> {
    if task.status.is_finished() {
        return Err(Refusal::Finished {
            task: task.id.clone(),
            status: task.status,
            at: task.latest(),
        });
    }
    task.gate.as_ref().ok_or_else(|| Refusal::NotAdopted { task: task.id.clone() })
}

/// Returns the post of the open visit, or of a branch of it.
pub(crate) fn post<'a>(
    rules: &'a Rules,
    task: &'a Task,
    open: &OpenVisit,
    branch: Option<&GateId>,
) -> Result<Post<'a>, Refusal> {
    let (_, index) = standing(rules, task, open)?;
    match (Post::meant(rules, task, branch), branch) {
        (Some(post), _) => Ok(post),
        (None, None) => {
            Err(Refusal::NobodyWorksHere { task: task.id.clone(), gate: open.current.clone() })
        }
        // The branch is open, and the rules do not have it any more.
        (None, Some(_)) => Err(Refusal::NoSuchBranch {
            ticket: task.ticket_of(branch),
            gate: rules
                .workflow_of(task)
                .map_or_else(|| open.current.clone(), |own| own.gates[index].id.clone()),
            open: branch::open_tickets(rules, task),
        }),
    }
}

/// Returns whether a ticket's visit is the one to come or the open one: what is meant for a visit that has ended is a conflict.
pub fn may_mean(task: &Task, ticket: &Ticket, agent: Option<&AgentId>) -> Result<(), Refusal> {
    let Some(visit) = ticket.visit else { return Ok(()) };
    let current = task.gate.as_ref().map_or(task.history.len(), |open| open.visit);
    if visit > current {
        return Err(Refusal::VisitAhead { task: task.id.clone(), visit, current });
    }
    match branch::ending(&task.history, ticket).filter(|_| visit < current) {
        Some(entry) => Err(Refusal::visit_ended(ticket, entry, agent)),
        None => Ok(()),
    }
}

/// Returns the workflow in force and the place of the open gate in it.
pub(crate) fn standing<'a>(
    rules: &'a Rules,
    task: &Task,
    open: &OpenVisit,
) -> Result<(&'a Workflow, usize), Refusal> {
    let workflow = rules.workflow_of(task).ok_or_else(|| unknown_workflow(rules, task))?;
    let index = workflow.gate(&open.current).map(|(index, _)| index);
    let index = index.ok_or_else(|| Refusal::GateGone {
        task: task.id.clone(),
        gate: open.current.clone(),
        known: workflow.gates.iter().map(|gate| gate.id.clone()).collect(),
    })?;
    Ok((workflow, index))
}

pub(crate) fn unknown_workflow(rules: &Rules, task: &Task) -> Refusal {
    Refusal::UnknownWorkflow {
        task: task.id.clone(),
        workflow: task.routing.workflow.to_string(),
        known: rules.project.workflows.iter().map(|workflow| workflow.name.to_string()).collect(),
    }
}

/// A visit that ends, and how.
struct Ended<'a> {
    workflow: &'a Workflow,
    index: usize,
    /// What the gate says; nothing while other branches of it are open.
    said: Option<Outcome>,
    text: Option<&'a String>,
}

/// Ends the visit: finds where it leads, and moves the task by its entry.
fn end(rules: &Rules, task: &Task, ended: &Ended<'_>, mut visit: Visit, now: Timestamp) -> Step {
    let workflow = ended.workflow;
    visit.exited = now.max(task.latest());
    visit.workflow = rules.hash(&workflow.name).map(str::to_owned);
    let mut trouble = Vec::new();
    if let Some(outcome) = &ended.said {
        let mut history = task.history.clone();
        history.push(visit.clone());
        let passage = route::route(rules, workflow, task, &history, ended.index, outcome);
        visit.to = Some(passage.to);
        visit.skipped = passage.skipped;
        visit.cleared = passage.cleared;
        visit.retry = passage.retry;
        visit.escalated_to = passage.escalated_to;
        trouble = passage.trouble;
    }
    let mut events: Vec<Event> =
        visit.skipped.iter().map(|gate| Event::Skipped { gate: gate.clone() }).collect();
    events.extend(trouble.iter().cloned().map(Event::ConditionError));
    let mut warnings = vague_blockers(&visit);
    warnings.extend(trouble.into_iter().map(Warning::ConditionError));

    let work = ended.text.filter(|text| !text.trim().is_empty()).map(|text| Work {
        ticket: task.ticket_of(visit.branch.as_ref()),
        gate: visit.station(),
        agent: visit.agent.clone(),
        at: visit.exited,
        text: text.clone(),
    });
    let mut after = task.clone();
    fold::apply(rules, &mut after, visit);
    arrive(rules, Step { task: after, work, events, warnings })
}

/// Adds what is to be told of where the task has come to, and blocks it if it cannot go on there.
pub(crate) fn arrive(rules: &Rules, mut step: Step) -> Step {
    let (events, trouble) = fork::opening(rules, &step.task);
    step.events.extend(events);
    step.events.extend(trouble.iter().cloned().map(Event::ConditionError));
    step.warnings.extend(trouble.into_iter().map(Warning::ConditionError));
    step.events.extend(fold::hold_if_stuck(rules, &mut step.task));
    step
}

fn entry(
    post: &Post<'_>,
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
        ..blank(&open.current, open, Ending::Said(outcome))
    }
}

/// Returns an entry of which nothing is known but what ended and how.
pub(crate) fn blank(gate: &GateId, open: &OpenVisit, outcome: Ending) -> Visit {
    Visit {
        gate: gate.clone(),
        branch: None,
        verdict: None,
        join: None,
        unfinished: Vec::new(),
        role: None,
        agent: None,
        entered: open.entered,
        exited: open.entered,
        outcome,
        summary: String::new(),
        blockers: Vec::new(),
        rejection_notes: None,
        to: None,
        skipped: Vec::new(),
        cleared: Vec::new(),
        escalated_to: None,
        retry: None,
        outputs: Map::new(),
        metadata: Map::new(),
        workflow: None,
        completion: None,
        signature: None,
    }
}

fn vague_blockers(visit: &Visit) -> Vec<Warning> {
    let vague: Vec<String> =
        visit.blockers.iter().filter(|blocker| is_vague(blocker)).cloned().collect();
    if vague.is_empty() { Vec::new() } else { vec![Warning::VagueBlockers(vague)] }
}
