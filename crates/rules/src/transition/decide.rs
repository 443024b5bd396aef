//! The only way to change a task: (rules, task, act, now) -> decision or refusal.
//!
//! This module also has the acts besides completions and claims: open, hold, unblock, cancel, reopen, override.

use super::completion::{check_reason, check_text_agrees, complete, pass, passes_by_itself};
use super::fold::{self, arrive, not_looping, resume};
use super::rule_changes::depend;
use super::visit::Transition;
use crate::act::{Act, Actor, Decision, WorkflowStep};
use crate::refusal::Refusal;
use crate::routing::{fork, route};
use crate::signing;
use crate::workflow::rules::Rules;
use aof_domain::{
    AgentId, Blocker, BranchStatus, Completion, Destination, Ending, Event, GateId, Map,
    OpenBranch, OpenVisit, Permission, Routing, Station, Status, Task, Timestamp, Visit, Workflow,
};

/// Decides an act.
pub fn decide(rules: &Rules, task: &Task, act: &Act, now: Timestamp) -> Result<Decision, Refusal> {
    check_reason(act)?;
    let transition = Transition { rules, task, now };
    let step = match act {
        Act::Complete(completion) => return completed(transition, completion, true),
        Act::Move => return transition.move_on(),
        Act::Reroute => return transition.reroute(),
        Act::Claim { agent, branch } => return transition.claim(agent, branch.as_ref()),
        Act::Assign { by, agent, branch } => {
            return transition.assign(by, agent, branch.as_ref());
        }
        Act::Depend { lost } => return depend(&transition, lost),
        Act::Pass => pass(&transition),
        Act::Open => transition.enter(),
        Act::OpenFor { agent } => transition.enter_for(agent),
        Act::Renew { agent, branch, .. } => transition.renew(agent, branch.as_ref()),
        Act::Lapse { branch } => transition.lapse(branch.as_ref()),
        Act::Timeout { branch } => transition.time_out(branch.as_ref()),
        Act::Hold { by, reason } => transition.hold(by, reason),
        Act::Release { by, branch } => transition.release(by, branch.as_ref()),
        Act::Unblock { by, branch, reason } => {
            transition.unblock(by, branch.as_ref(), reason.as_deref())
        }
        Act::Cancel { by, reason } => transition.cancel(by, reason),
        Act::Reopen { by, to, reason } => transition.reopen(by, to, reason),
        Act::Override { by, to, reason } => transition.override_to(by, to, reason),
    };
    step.map(Decision::from)
}

/// Decides an unsigned completion as if it were signed. An existing signature is checked.
pub fn rehearse(
    rules: &Rules,
    task: &Task,
    completion: &Completion,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    completed(Transition { rules, task, now }, completion, completion.signature.is_some())
}

fn completed(
    transition: Transition<'_>,
    completion: &Completion,
    check_signature: bool,
) -> Result<Decision, Refusal> {
    let Transition { rules, task, .. } = transition;
    let decision = complete(&transition, completion, completion.stamp())?;
    if let Decision::Step(step) = &decision {
        check_text_agrees(rules, task, completion)?;
        if check_signature {
            signing::check_signature(rules, &step.task, task.history.len())?;
        }
    }
    Ok(decision)
}

/// Returns the input of a new task: the given values, with the workflow's defaults.
pub fn begin(workflow: &Workflow, given: &Map) -> Result<Map, Refusal> {
    let Some(declared) = &workflow.context.input else { return Ok(given.clone()) };
    let workflow = workflow.name.clone();
    let unknown: Vec<String> =
        given.keys().filter(|name| !declared.contains_key(*name)).cloned().collect();
    if !unknown.is_empty() {
        let known = declared.keys().cloned().collect();
        return Err(Refusal::UnknownInput { workflow, given: unknown, known });
    }
    let value = |name: &str, default| given.get(name).unwrap_or(default).clone();
    let input: Map =
        declared.iter().map(|(name, default)| (name.clone(), value(name, default))).collect();
    let missing: Vec<String> =
        input.iter().filter(|(_, value)| value.is_null()).map(|(name, _)| name.clone()).collect();
    if missing.is_empty() { Ok(input) } else { Err(Refusal::MissingInput { workflow, missing }) }
}

impl Transition<'_> {
    /// Puts a task without a gate at the first gate that applies to it.
    pub(crate) fn enter(&self) -> Result<WorkflowStep, Refusal> {
        let Self { rules, task, now } = *self;
        if let Some(open) = &task.gate {
            return Err(self.not_finished(open));
        }
        if !task.history.is_empty() {
            return Err(self.finished());
        }
        let workflow = self.workflow()?;
        let passage = route::entry(rules, workflow, task);
        let Destination::Gate(gate) = passage.to else {
            return Err(Refusal::NoGateApplies { workflow: workflow.name.to_string() });
        };
        let mut after = task.clone();
        // A hand-made file may have a creation time in the future. Fractions of a second keep new tasks in order.
        if task.created.as_second() > now.as_second() {
            after.created = now;
        }
        after.status = Status::Ready;
        after.updated = now;
        after.workflow_hash = rules.hash(&workflow.name).map(str::to_owned);
        fold::open(rules, &mut after, gate, (None, passage.item), now);
        let mut step = WorkflowStep::silent(after);
        step.events.extend(passage.skipped.into_iter().map(|gate| Event::Skipped { gate }));
        step.met(passage.trouble);
        Ok(arrive(rules, step))
    }

    /// Puts a task without a gate at its first gate, assigned to the agent, if that is possible.
    pub(crate) fn enter_for(&self, agent: &AgentId) -> Result<WorkflowStep, Refusal> {
        let begun = &self.task.routing;
        let routing = Routing { role: begun.role.clone(), ..Routing::of(begun.workflow.clone()) };
        let free = Task { routing, ..self.task.clone() };
        let mut step = Transition { task: &free, ..*self }.enter()?;
        let opened = Transition { task: &step.task, ..*self };
        if let Decision::Step(given) = opened.assign(&Actor::Person(None), agent, None)? {
            step.task = given.task;
            if let Some(open) = &step.task.gate {
                let held = open.branches.iter().find(|held| held.agent.as_ref() == Some(agent));
                let branch = held.map(|held| held.id.clone());
                let at = Station { gate: open.current.clone(), branch };
                step.events.push(Event::Assigned { gate: at, agent: agent.clone() });
            }
        }
        Ok(step)
    }

    fn not_finished(&self, open: &OpenVisit) -> Refusal {
        Refusal::NotFinished { task: self.task.id.clone(), gate: open.current.clone() }
    }

    /// Unblocks a blocked or held task, or a branch of it.
    pub(crate) fn unblock(
        &self,
        by: &Actor,
        branch: Option<&GateId>,
        reason: Option<&str>,
    ) -> Result<WorkflowStep, Refusal> {
        let Self { rules, task, now } = *self;
        let open = self.open()?;
        self.permit(by, Permission::Unblock, branch)?;
        let is_blocked = |part: &OpenBranch| {
            part.status == BranchStatus::Blocked && branch.is_none_or(|id| part.id == *id)
        };
        let counting = fork::active_branches(rules, task, open);
        let on_hold = open.held.is_some();
        if on_hold && branch.is_some() {
            return Err(self.held());
        }
        self.known_branch(open, branch)?;
        let waits = on_hold || counting.iter().any(is_blocked);
        if !waits && passes_by_itself(rules, task) {
            // The rules removed the branches that the fork waited for: join the existing verdicts.
            return pass(self);
        }
        if !waits && (task.status != Status::Blocked || branch.is_some()) {
            return Err(Refusal::NotBlocked { task: task.id.clone(), status: task.status });
        }
        if not_looping(rules, task).is_err() {
            // The loop count restarts, which the history must record: as an override to the same gate.
            let reason = reason.ok_or(Refusal::MissingReason { act: "unblock" })?;
            return self.moved(Ending::Override, by, &open.current, reason);
        }
        let answer = reason.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        let mut after = task.clone();
        resume(&mut after, now.max(task.updated));
        if !counting.is_empty() {
            let resumed = after.updated;
            // Lifting a hold does not unblock branches that are blocked themselves.
            for part in after.branches_mut().filter(|part| !on_hold && is_blocked(part)) {
                part.status = BranchStatus::Ready;
                part.resumed = Some(resumed);
                part.blockers = Vec::new();
                part.answer = answer.clone().or(part.answer.take());
            }
            fork::update_status(&mut after);
        }
        if (counting.is_empty() || on_hold)
            && let Some(open) = &mut after.gate
        {
            open.answer = answer.or(open.answer.take());
        }
        let events = fold::hold_if_stuck(rules, &mut after);
        if !on_hold && obstacles(&after) == obstacles(task) {
            let left = after.branches().filter(|part| is_blocked(part));
            let left = left.flat_map(|part| part.blockers.clone()).collect();
            let blockers = if waits { left } else { task.blockers.clone() };
            let ticket = task.ticket_of(branch).without_visit();
            return Err(Refusal::Blocked { ticket, blockers });
        }
        Ok(WorkflowStep { events, ..WorkflowStep::silent(after) })
    }

    /// Holds the task, even if an agent works on it: nothing can be completed until a person unblocks it.
    pub(crate) fn hold(&self, by: &Actor, reason: &str) -> Result<WorkflowStep, Refusal> {
        let open = self.open()?;
        self.permit(by, Permission::Hold, None)?;
        if reason.trim().is_empty() {
            return Err(Refusal::MissingReason { act: "hold" });
        }
        if open.held.is_some() {
            return Err(self.held());
        }
        let mut after = self.changed();
        after.status = Status::Blocked;
        after.blockers.push(reason.trim().into());
        after.gate = Some(OpenVisit { held: Some(after.updated), ..open.clone() });
        Ok(WorkflowStep::silent(after))
    }

    pub(crate) fn cancel(&self, by: &Actor, reason: &str) -> Result<WorkflowStep, Refusal> {
        let open = self.open()?;
        self.permit(by, Permission::Cancel, None)?;
        let entry = self.entry(open, Ending::Cancelled, by, None, reason)?;
        let mut after = self.task.clone();
        fold::apply(self.rules, &mut after, entry);
        Ok(WorkflowStep::silent(after))
    }

    pub(crate) fn reopen(
        &self,
        by: &Actor,
        to: &GateId,
        reason: &str,
    ) -> Result<WorkflowStep, Refusal> {
        self.permit(by, Permission::Reopen, None)?;
        match &self.task.gate {
            Some(open) => Err(self.not_finished(open)),
            None => self.moved(Ending::Reopened, by, to, reason),
        }
    }

    pub(crate) fn override_to(
        &self,
        by: &Actor,
        to: &GateId,
        reason: &str,
    ) -> Result<WorkflowStep, Refusal> {
        self.open()?;
        self.permit(by, Permission::Override, None)?;
        self.moved(Ending::Override, by, to, reason)
    }

    fn moved(
        &self,
        ending: Ending,
        by: &Actor,
        to: &GateId,
        reason: &str,
    ) -> Result<WorkflowStep, Refusal> {
        let task = self.task;
        let workflow = self.workflow()?;
        if workflow.gate(to).is_none() {
            let known = workflow.gates.iter().map(|gate| gate.id.clone()).collect();
            return Err(Refusal::UnknownGate { given: to.clone(), known });
        }
        // A finished task has no open visit: a reopened one begins at the gate and the time of the reopening.
        let from = task.gate.clone().unwrap_or_else(|| {
            let last = task.history.last().map_or(to, |visit| &visit.gate);
            OpenVisit::at(last.clone(), self.now.max(task.latest()), task.history.len())
        });
        let visit = self.entry(&from, ending, by, Some(to), reason)?;
        let mut after = task.clone();
        fold::apply(self.rules, &mut after, visit);
        Ok(arrive(self.rules, WorkflowStep::silent(after)))
    }

    fn entry(
        &self,
        open: &OpenVisit,
        ending: Ending,
        by: &Actor,
        to: Option<&GateId>,
        reason: &str,
    ) -> Result<Visit, Refusal> {
        if reason.trim().is_empty() {
            let act = match ending {
                Ending::Cancelled => "cancel",
                Ending::Reopened => "reopen",
                _ => "override",
            };
            return Err(Refusal::MissingReason { act });
        }
        Ok(Visit { agent: by.agent().cloned(), ..self.ended(open, ending, to, reason) })
    }
}

/// Returns the blockers of a task and of its branches.
fn obstacles(task: &Task) -> Vec<(Option<&GateId>, &[Blocker])> {
    let blocked = task.branches().filter(|part| part.status == BranchStatus::Blocked);
    let parts = blocked.map(|part| (Some(&part.id), part.blockers.as_slice()));
    let whole = (task.status == Status::Blocked).then_some((None, task.blockers.as_slice()));
    whole.into_iter().chain(parts).collect()
}
