//! Changed rules: their effect on a task at a gate that has changed.
//!
//! If the gate is gone or of another kind, the visit ends with its own entry, and the task returns to the nearest gate on the way
//! by which it came. A change of role, or of its members, adds no entry. A holder keeps the task while the rules allow it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::completion::passes_by_itself;
use super::fold::{self, arrive, hold_if_stuck, restart, resume};
use super::visit::Transition;
use crate::act::{Act, Decision, WorkflowStep};
use crate::refusal::Refusal;
use crate::routing::reviews::lost_dependencies;
use crate::routing::workplace::Workplace;
use crate::routing::{fork, route};
use crate::workflow::graph;
use crate::workflow::rules::Rules;
use aof_domain::{
    AgentId, Blocker, BranchStatus, ConditionTrouble, Destination, Ending, Event, GateId, GateKind,
    LostDependency, OpenBranch, OpenVisit, RoleId, Status, Task, Timestamp, Visit, Workflow,
};

/// Returns the act that the rules in force require before anything else; `None` if the task conforms, or its workflow is gone.
pub fn due_act(rules: &Rules, task: &Task) -> Option<Act> {
    if passes_by_itself(rules, task) {
        return Some(Act::Pass);
    }
    let open = task.gate.as_ref().filter(|_| !task.status.is_finished())?;
    let workflow = rules.workflow_of(task)?;
    if find_lost_place(rules, task, workflow, open).is_some() {
        return Some(Act::Move);
    }
    with_current_roles(rules, task).is_some().then_some(Act::Reroute)
}

impl Transition<'_> {
    /// Ends a visit whose gate the rules no longer have.
    pub(crate) fn move_on(&self) -> Result<Decision, Refusal> {
        let Self { rules, task, .. } = *self;
        let open = self.open()?;
        let workflow = self.workflow()?;
        let Some(lost) = find_lost_place(rules, task, workflow, open) else {
            return Ok(Decision::Settled { visit: open.visit });
        };
        let mut trouble = Vec::new();
        let here = &open.current;
        let (to, why) = match lost {
            LostPlace::Gate => (
                nearest_gate(rules, workflow, task, here, &mut trouble),
                format!("Gate `{here}` is not in workflow `{}` any more", workflow.name),
            ),
            LostPlace::Kind(now) => {
                (here.clone(), format!("The rules changed, and gate `{here}` {now}"))
            }
        };
        let visit = self.ended(open, Ending::Moved, Some(&to), &why);
        let mut after = task.clone();
        fold::apply(rules, &mut after, visit);
        let events = trouble.into_iter().map(Event::ConditionError).collect();
        let mut step = arrive(rules, WorkflowStep { events, ..WorkflowStep::silent(after) });
        carry_over(task, &mut step.task);
        Ok(step.into())
    }

    /// Updates the role of the work, and blocks or unblocks the task by the role's members.
    pub(crate) fn reroute(&self) -> Result<Decision, Refusal> {
        let open = self.open()?;
        let Some(mut after) = with_current_roles(self.rules, self.task) else {
            return Ok(Decision::Settled { visit: open.visit });
        };
        let was_blocked = self.task.status == Status::Blocked;
        let now = self.now.max(self.task.updated);
        after.updated = now;
        // Time limits are suspended while a task is blocked.
        if was_blocked && after.status != Status::Blocked {
            after.gate.as_mut().into_iter().for_each(|open| open.resumed = Some(now));
        }
        for (part, before) in after.branches_mut().zip(&open.branches) {
            if before.status == BranchStatus::Blocked && part.status != BranchStatus::Blocked {
                part.resumed = Some(now);
            }
        }
        let before = blocked_for(self.task);
        let new = blocked_for(&after).into_iter().filter(|role| !before.contains(role)).cloned();
        let event = |role| Event::BlockedNoAgents { gate: open.current.clone(), role };
        let events = new.map(event).collect();
        Ok(WorkflowStep { events, ..WorkflowStep::silent(after) }.into())
    }
}

/// The part that the rules removed.
enum LostPlace {
    /// The gate.
    Gate,
    /// The kind that the gate had; the text describes its present effect.
    Kind(&'static str),
}

fn find_lost_place(
    rules: &Rules,
    task: &Task,
    workflow: &Workflow,
    open: &OpenVisit,
) -> Option<LostPlace> {
    let Some((_, gate)) = workflow.gate(&open.current) else { return Some(LostPlace::Gate) };
    match &gate.kind {
        GateKind::Work(_) if !open.branches.is_empty() => {
            Some(LostPlace::Kind("is no fork any more"))
        }
        GateKind::Condition if !open.branches.is_empty() => {
            Some(LostPlace::Kind("decides by itself now"))
        }
        GateKind::Fork(_) if open.branches.is_empty() => Some(LostPlace::Kind("is a fork now")),
        GateKind::Fork(_) => {
            let nobody_speaks = Workplace::open(rules, task).is_empty();
            let judged =
                fork::is_void(gate, open) || fork::join_unprompted(rules, task, gate).is_some();
            (nobody_speaks && !judged).then_some(LostPlace::Kind("has other branches now"))
        }
        GateKind::Work(_) | GateKind::Condition => None,
    }
}

/// Returns the gate to return to: the nearest one on the forward way by which the task first reached the removed gate, otherwise
/// the first gate.
fn nearest_gate(
    rules: &Rules,
    workflow: &Workflow,
    task: &Task,
    gone: &GateId,
    trouble: &mut Vec<ConditionTrouble>,
) -> GateId {
    let mut here = gone;
    while let Some(from) = came_from(&task.history, here) {
        if let Some((_, gate)) = workflow.gate(from).filter(|(_, gate)| !gate.detour) {
            let (holds, met) = route::judgement(rules, workflow, gate, task);
            if gate.kind == GateKind::Condition || holds {
                return from.clone();
            }
            trouble.extend(met);
        }
        here = from;
    }
    let passage = route::entry(rules, workflow, task);
    trouble.extend(passage.trouble);
    match passage.to {
        Destination::Gate(gate) => gate,
        // If no gate applies any longer, a person must decide at the first one.
        Destination::End | Destination::Cancelled | Destination::Fail => {
            graph::first(workflow).id.clone()
        }
    }
}

/// Returns the gate from which the task first came to this one by a forward route. Overrides and backward routes do not show the
/// order of gates.
fn came_from<'h>(history: &'h [Visit], gate: &GateId) -> Option<&'h GateId> {
    let first = history.iter().position(|visit| visit.gate == *gate).unwrap_or(history.len());
    let to = Some(Destination::Gate(gate.clone()));
    let arrival = history[..first].iter().rfind(|visit| visit.to == to)?;
    let forward = arrival.retry.is_none() && matches!(arrival.outcome, Ending::Completed(_));
    forward.then_some(&arrival.gate)
}

/// Keeps the task's blockers across the move, except those of the gate itself.
fn carry_over(before: &Task, after: &mut Task) {
    let Some(open) = before.gate.as_ref().filter(|_| before.status == Status::Blocked) else {
        return;
    };
    let parts: Vec<Blocker> = open.branches.iter().flat_map(|part| part.blockers.clone()).collect();
    let mut reasons = if open.branches.is_empty() || open.held.is_some() {
        before.blockers.clone()
    } else {
        parts
    };
    reasons.retain(|blocker| !blocker.is_of_gate());
    if open.held.is_none() && reasons.is_empty() {
        return;
    }
    let Some(now) = &mut after.gate else { return };
    now.held = open.held;
    let waits = |part: &&mut OpenBranch| now.held.is_none() && part.status.is_open();
    for part in now.branches.iter_mut().filter(waits) {
        part.status = BranchStatus::Blocked;
        part.blockers.splice(0..0, reasons.iter().cloned());
    }
    if now.branches.is_empty() || now.held.is_some() {
        after.status = Status::Blocked;
        after.blockers.splice(0..0, reasons);
    } else {
        fork::update_status(after);
    }
}

/// Returns the task with the roles and members of the rules in force; `None` if nothing changes.
fn with_current_roles(rules: &Rules, task: &Task) -> Option<Task> {
    let open = task.gate.as_ref()?;
    let mut after = task.clone();
    if fork::active_branches(rules, task, open).is_empty() {
        reroute_task(rules, task, &mut after);
    } else {
        for part in after.branches_mut() {
            if let Some(workplace) =
                Workplace::of_branch(rules, task, &part.id).filter(|_| part.status.is_open())
            {
                reroute_branch(rules, &workplace, part);
            }
        }
        fork::hold_unstaffed(rules, &mut after);
    }
    if after == *task {
        return None;
    }
    fork::update_status(&mut after);
    Some(after)
}

fn reroute_task(rules: &Rules, task: &Task, after: &mut Task) {
    let workplace = Workplace::of(rules, task);
    if let Some(workplace) = &workplace {
        after.routing.role = Some(workplace.role.clone());
        if task.routing.agent.as_ref().is_some_and(|agent| {
            is_misplaced(rules, workplace, task.routing.role.as_ref(), agent, task.routing.claimed)
        }) {
            (after.routing.agent, after.routing.claimed, after.routing.lost) = (None, None, None);
            if after.status == Status::InProgress {
                after.status = Status::Ready;
            }
        }
    }
    let held = task.gate.as_ref().is_some_and(|open| open.held.is_some());
    if after.status == Status::Blocked && !held && waits_for_people(&after.blockers) {
        after.blockers = Vec::new();
        after.status =
            if after.routing.agent.is_some() { Status::InProgress } else { Status::Ready };
    }
    if let Some(workplace) =
        workplace.filter(|workplace| after.status == Status::Ready && !workplace.is_staffed(rules))
    {
        after.status = Status::Blocked;
        after.blockers = vec![Blocker::nobody(workplace.role)];
    }
}

fn reroute_branch(rules: &Rules, workplace: &Workplace<'_>, part: &mut OpenBranch) {
    let misplaced = part
        .agent
        .as_ref()
        .is_some_and(|agent| is_misplaced(rules, workplace, Some(&part.role), agent, part.claimed));
    part.role = workplace.role.clone();
    if misplaced {
        (part.agent, part.claimed, part.lost) = (None, None, None);
    }
    let free = match part.status {
        BranchStatus::InProgress => misplaced,
        BranchStatus::Blocked => waits_for_people(&part.blockers),
        _ => false,
    };
    if free {
        part.status = BranchStatus::Ready;
        part.blockers = Vec::new();
    }
}

/// Returns whether the agent may not complete the work that it holds. An agent that was only removed from the role may; one
/// without a claim was written into the file by hand, and may never have had the role.
fn is_misplaced(
    rules: &Rules,
    workplace: &Workplace<'_>,
    before: Option<&RoleId>,
    agent: &AgentId,
    claimed: Option<Timestamp>,
) -> bool {
    let member = || rules.org.role(workplace.role).is_some_and(|role| role.agents.contains(agent));
    let elsewhere = before != Some(workplace.role) || claimed.is_none();
    let moved = elsewhere && !rules.is_open(workplace.role) && !member();
    moved || (workplace.requires_human(rules) && !agent.is_human())
}

/// Returns whether all blockers are about roles without agents.
fn waits_for_people(blockers: &[Blocker]) -> bool {
    !blockers.is_empty() && blockers.iter().all(Blocker::is_nobody)
}

/// Returns the roles without agents that block the task, or branches of it.
fn blocked_for(task: &Task) -> Vec<&RoleId> {
    let whole = task.routing.role.as_ref().filter(|_| waits_for_people(&task.blockers));
    let branches = task.branches().filter(|part| waits_for_people(&part.blockers));
    whole.into_iter().chain(branches.map(|part| &part.role)).collect()
}

/// Blocks the task on exactly its lost dependencies; without any, unblocks it.
pub(crate) fn depend(
    transition: &Transition<'_>,
    lost: &[LostDependency],
) -> Result<Decision, Refusal> {
    let task = transition.task;
    let open = transition.open()?;
    let known = lost_dependencies(task);
    // A completion's blocker with the same text already blocks the task.
    let is_known = |blocker: &Blocker| blocker.lost().is_some_and(|lost| known.contains(lost));
    let blocks = |lost: &LostDependency| task.blockers.iter().any(|text| text.lost() == Some(lost));
    let is_given = |lost: &&LostDependency| !known.contains(lost) && blocks(lost);
    let depends = |lost: &&LostDependency| task.depends_on.contains(lost.task());
    let wanted: Vec<&LostDependency> =
        lost.iter().filter(depends).filter(|lost| !is_given(lost)).collect();
    if known.iter().eq(wanted.iter().copied()) {
        return Ok(Decision::Settled { visit: open.visit });
    }
    let mut after = transition.changed();
    after.blockers.retain(|blocker| !is_known(blocker));
    after.blockers.extend(wanted.into_iter().cloned().map(Blocker::Lost));
    let mut events = Vec::new();
    if !after.blockers.is_empty() {
        after.status = Status::Blocked;
    } else if open.held.is_none() {
        let at = after.updated;
        resume(&mut after, at);
        restart(&mut after);
        events = hold_if_stuck(transition.rules, &mut after);
    }
    if !open.branches.is_empty() {
        fork::update_status(&mut after);
    }
    Ok(WorkflowStep { events, ..WorkflowStep::silent(after) }.into())
}

/// The dependency graph: tasks, each with its dependencies.
pub type Waits<'t> = BTreeMap<&'t str, Vec<&'t str>>;

/// Returns circles of tasks that wait for each other, each starting with the first by name; of circles that share tasks, at least one.
pub fn circles<'t>(waits: &Waits<'t>) -> Vec<Vec<&'t str>> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for task in waits.keys() {
        if !seen.contains(task)
            && let Some(circle) = circle_of(waits, task)
        {
            seen.extend(circle.iter().copied());
            found.push(circle);
        }
    }
    found
}

/// Returns the shortest circle that contains the task, starting with it.
pub fn circle_of<'t>(waits: &Waits<'t>, task: &'t str) -> Option<Vec<&'t str>> {
    let mut from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut next = VecDeque::from([task]);
    while let Some(at) = next.pop_front() {
        for other in waits.get(at).into_iter().flatten() {
            if *other == task {
                let mut way: Vec<&str> =
                    std::iter::successors(Some(at), |at| from.get(at).copied()).collect();
                way.reverse();
                return Some(way);
            }
            if !from.contains_key(other) {
                from.insert(*other, at);
                next.push_back(*other);
            }
        }
    }
    None
}
