//! `aof why`: explains the state of a task, who can move it, and what each outcome would do.

use std::rc::Rc;

use serde_json::{Value, json};

use crate::domain::{
    AgentId, BranchStatus, Destination, Ending, Fix, GateId, Join, OpenBranch, Outcome, Remedy,
    RoleId, Status, Task, TaskId, Timestamp, Verdict, listed,
};
use crate::files::printable::one_line;
use crate::files::task_file::{Origin, TaskFile};
use crate::project::active_rules::{InForce, rules_with_remarks};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::routing::reviews::standing_reviews;
use crate::rules::{
    Act, Deadline, Decision, LOOP_LIMIT, Limit, Passage, Rules, Warning, Workplace, deadlines,
    decide, due_act, explained, is_over, preview, preview_branch, unanswered, waits_for_children,
};
use crate::storage::header_cache::{Hint, NextLooks};
use crate::tasks::headers::children::children;
use crate::tasks::headers::dependencies::{awaited_now, circle_around, circle_text};
use crate::tasks::headers::spending::TaskBudget;
use crate::tasks::headers::summary::{Awaited, NEW, TaskSummary, WAITING, clock, gate_of};
use crate::tasks::plan::adoption_step;
use crate::tasks::state::commit_message::rule_effect;
use crate::tasks::state::task_state::{TaskState, find, parse};
use crate::tasks::view::task_view::eligible_agents;

/// The explanation of a task's state.
pub(crate) struct TaskExplanation {
    pub file: TaskFile,
    /// Sentences about the events that led to the task's state, and about the tasks that it waits for.
    pub reasons: Vec<String>,
    /// The agents that can complete the open visit.
    pub agents: Vec<AgentId>,
    pub outcomes: Vec<OutcomePreview>,
    pub awaited: Awaited,
    /// The task's budget, if it has one.
    pub budget: Option<TaskBudget>,
}

/// The beginning of the reason that names the git operation in progress, during which no task moves.
pub(crate) const NOT_NOW: &str = "nothing moves it now: ";

/// An outcome, and what it would do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OutcomePreview {
    pub branch: Option<GateId>,
    pub outcome: Outcome,
    pub effect: OutcomeEffect,
}

/// The effect of an outcome on a task.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OutcomeEffect {
    /// The task moves. `limit` is the number of times that the gate may send back; `answers`: the next gate has an unanswered
    /// review.
    Moves { passage: Passage, limit: u32, answers: bool },
    /// The task stays at its gate until a person decides.
    Stays,
    /// The branch gets its verdict, or waits; other branches are still open.
    Votes(Verdict),
}

/// Explains the state of a task.
pub(crate) fn why(
    workspace: &Workspace,
    id: &TaskId,
) -> Result<(TaskExplanation, Rc<InForce>), ProjectError> {
    let head = workspace.repository.head_for_reading()?;
    let in_force = Rc::new(rules_with_remarks(workspace, &head)?);
    let mut state = TaskState::read_under(workspace, id, head, in_force)?;
    // For a frozen task, HEAD's version counts.
    if state.frozen().is_some()
        && let Some(committed) = state.committed_file(workspace)
    {
        state.file = committed;
    }
    let (rules, task) = (&state.in_force.rules, &state.file.task);
    let mut outcomes = Vec::new();
    for place in Workplace::open(rules, task) {
        for outcome in place.outcomes(rules) {
            if let Some(effect) = effect(rules, task, &place, &outcome) {
                outcomes.push(OutcomePreview { branch: place.branch().cloned(), outcome, effect });
            }
        }
    }
    let budget = TaskBudget::read(workspace, rules, &state.file);
    let mut reasons = reasons(workspace, &state);
    reasons.extend(budget.map(|budget| format!("of its budget are spent {}", budget.words())));
    let agents = eligible_agents(rules, &state.file);
    let awaited = awaited_now(workspace, &state.in_force, task);
    let explanation =
        TaskExplanation { reasons, agents, outcomes, awaited, budget, file: state.file };
    Ok((explanation, state.in_force))
}

fn effect(
    rules: &Rules,
    task: &Task,
    place: &Workplace<'_>,
    outcome: &Outcome,
) -> Option<OutcomeEffect> {
    let joined_outcome = match place.branch() {
        None => outcome.clone(),
        Some(branch) => match preview_branch(rules, task, branch, outcome)? {
            (_, Some(outcome)) => outcome,
            (verdict, None) => return Some(OutcomeEffect::Votes(verdict)),
        },
    };
    let passage = preview(rules, task, &joined_outcome)?;
    let here = place.station().gate;
    let item = task.gate.as_ref().and_then(|open| open.item);
    let stays = passage.to == Destination::Gate(here.clone()) && passage.item == item;
    if stays && passage.retry.is_none() && passage.round.is_none() {
        return Some(OutcomeEffect::Stays);
    }
    let limit = place.fork.unwrap_or(place.gate).exits.retries().unwrap_or(LOOP_LIMIT);
    let waits = |gate: &GateId| *gate != here && passage.to == Destination::Gate(gate.clone());
    let answers = unanswered(&task.history).iter().any(|visit| waits(&visit.gate));
    Some(OutcomeEffect::Moves { passage, limit, answers })
}

/// Returns the explanation for `--json`.
pub(crate) fn explanation_value(explanation: &TaskExplanation) -> Value {
    let task = &explanation.file.task;
    let gate = task.gate.as_ref().map(|open| open.current.as_str());
    let outcome = |preview: &OutcomePreview| {
        let mut value = match &preview.effect {
            OutcomeEffect::Moves { passage, limit, .. } => passage_value(passage, *limit),
            _ => json!({"to": gate, "stays": true, "skipped": []}),
        };
        value["outcome"] = json!(preview.outcome.as_str());
        if let Some(branch) = &preview.branch {
            value["branch"] = json!(branch.as_str());
        }
        value
    };
    let status = match explanation.file.origin {
        Origin::HandMade => NEW,
        Origin::Adopted => task.status.as_str(),
    };
    let mut value = json!({
        "task": task.id.as_str(),
        "ticket": task.ticket().to_string(),
        "status": status,
        "state": if explanation.awaited.is_nothing() { status } else { WAITING },
        "waitingFor": explanation.awaited.tasks,
        "gate": gate,
        "because": explanation.reasons,
        "who": explanation.agents,
        "outcomes": explanation.outcomes.iter().map(outcome).collect::<Vec<_>>(),
    });
    if let Some(TaskBudget { budget, spent }) = &explanation.budget {
        value["budget"] = budget.value(spent);
    }
    value
}

fn passage_value(passage: &Passage, limit: u32) -> Value {
    json!({
        "to": passage.to.to_string(),
        "item": passage.item,
        "round": passage.round,
        "stays": false,
        "skipped": passage.skipped,
        "cleared": passage.cleared,
        "retry": passage.retry,
        "maxRetries": limit,
        "exhausted": passage.exhausted.as_ref().map(|way| json!({"to": way.to.as_str(), "retry": way.count})),
        "escalatedTo": passage.escalated_to.as_ref().map(RoleId::as_str),
    })
}

const UNCLAIMED: &str = "nobody has claimed it";

/// Returns sentences about the events that led to the task's state, and about the tasks that it waits for.
fn reasons(workspace: &Workspace, state: &TaskState) -> Vec<String> {
    let (rules, task, id) = (&state.in_force.rules, &state.file.task, &state.id);
    let mut list = state_reasons(rules, task);
    list.extend(time_limits(rules, task, workspace.now()));
    if let Some(gate) = gate_of(rules, task).filter(|gate| !gate.check.is_empty()) {
        let checks = listed(&gate.check);
        list.push(format!("gate `{}` checks the {checks} before it is passed", gate.id));
    }
    if state.file.origin == Origin::HandMade {
        list.push(adoption_reason(workspace, state));
    } else if let Some(act) = due_act(rules, task) {
        if act == Act::Pass {
            list.retain(|sentence| sentence != UNCLAIMED);
        }
        list.extend(due_reason(rules, task, &act, workspace.now()));
    } else if task.gate.is_some() && rules.workflow_of(task).is_none() {
        list.push(format!(
            "workflow `{}` is no longer in the rules: nobody can move it before a commit brings that back; `aof cancel {id} \
             --reason \"...\"` calls it off",
            task.routing.workflow
        ));
    }
    if rules.is_drifted(task)
        && let (Some(old), Some(now)) = (&task.workflow_hash, rules.hash(&task.routing.workflow))
    {
        list.push(format!(
            "it came there under earlier rules ({old}); it goes on under those in force ({now})"
        ));
    }
    if let Some(reason) = workspace.underway() {
        list.push(format!("{NOT_NOW}{}", workspace.git_commands.with_folder(reason)));
    } else if let Some(frozen) = state.frozen() {
        let (problem, fix) =
            (frozen.of("its file"), workspace.git_commands.with_folder(frozen.fix));
        list.push(format!("nothing moves it: {problem}; {fix}"));
    }
    let looks = NextLooks::load(&workspace.paths).unwrap_or_default();
    list.extend(looks.after(&task.ticket(), workspace.now()).map(|at| {
        format!(
            "its program looked, and looks again at {}, while `{}` is at work",
            clock(at),
            Fix::from(Remedy::Run)
        )
    }));
    list.extend(looks.reason(&task.ticket()).map(|why| format!("its program said: {why}")));
    let zone = &rules.project.timezone;
    let later = task.plan.not_before.filter(|day| day.begins(zone) > workspace.now());
    list.extend(later.map(|day| format!("it is not handed out before {}", day.in_words())));
    let waits = waits_for_children(rules, task);
    if !task.status.is_finished() && (!task.depends_on.is_empty() || task.parent.is_some() || waits)
    {
        list.extend(circle_around(workspace, &state.in_force, id).map(|circle| {
            let circle = circle_text(&circle);
            format!(
                "these wait for each other, so none of them is handed out: {circle}; edit `dependsOn` or `parent` of one"
            )
        }));
        let dependencies = task.depends_on.iter();
        list.extend(
            dependencies.filter_map(|other| dependency_reason(workspace, &state.in_force, other)),
        );
        let children = if waits { children(workspace, &state.in_force, id) } else { Vec::new() };
        list.extend(children.iter().filter_map(child_reason));
    }
    list
}

/// Returns sentences about the event that led to the task's state, its claim, and its blockers.
fn state_reasons(rules: &Rules, task: &Task) -> Vec<String> {
    let mut list = vec![arrival_reason(task)];
    let open = task.gate.as_ref();
    match task.status {
        Status::Blocked => {
            let blockers = task.blockers.iter().map(|blocker| explained(rules, blocker));
            list.extend(blockers.map(|blocker| format!("it is blocked: {blocker}")));
        }
        Status::Ready | Status::InProgress
            if open.is_some_and(|open| !open.branches.is_empty()) =>
        {
            list.extend(task.branches().map(|branch| branch_state(rules, task, branch)));
        }
        Status::InProgress => {
            let agent = task.routing.agent.as_ref();
            list.extend(agent.map(|agent| format!("`{agent}` has claimed it")));
        }
        Status::Ready if open.is_some() => list.push(UNCLAIMED.to_owned()),
        Status::Ready | Status::Complete | Status::Failed | Status::Cancelled => {}
    }
    for (review, _) in standing_reviews(task) {
        let who = named(review.from_agent.as_ref(), "a reviewer");
        let points = review.blockers.iter().chain(&review.notes).map(|point| one_line(point));
        let points = points.collect::<Vec<_>>().join("; ");
        list.push(format!("{who} at gate `{}` wants this settled: {points}", review.from_gate));
    }
    list
}

fn named(agent: Option<&AgentId>, unnamed: &str) -> String {
    agent.map_or_else(|| unnamed.to_owned(), |agent| format!("`{agent}`"))
}

fn branch_state(rules: &Rules, task: &Task, branch: &OpenBranch) -> String {
    let id = &branch.id;
    if branch.status.is_open() && Workplace::of_branch(rules, task, id).is_none() {
        return format!("branch `{id}` is no longer in the rules, and nothing waits for it");
    }
    match (branch.status, &branch.agent) {
        (BranchStatus::Ready, _) => format!("branch `{id}` waits for role {}", branch.role),
        (BranchStatus::InProgress, Some(agent)) => format!("`{agent}` has claimed branch `{id}`"),
        (BranchStatus::InProgress, None) => format!("somebody works at branch `{id}`"),
        (BranchStatus::Blocked, _) => {
            let blockers = branch.blockers.iter().map(|blocker| explained(rules, blocker));
            format!("branch `{id}` is blocked: {}", blockers.collect::<Vec<_>>().join("; "))
        }
        (BranchStatus::Complete, _) => format!("branch `{id}` has passed it"),
        (BranchStatus::Rejected, _) => format!("branch `{id}` has rejected it"),
        (BranchStatus::Skipped, _) => format!("branch `{id}` does not apply"),
    }
}

/// Returns a sentence about the event that led to the task's state.
fn arrival_reason(task: &Task) -> String {
    if let Some(last) = task.history.last().filter(|visit| visit.outcome == Ending::Timeout) {
        let had = last.agent.as_ref().map(|agent| format!(", which `{agent}` had,"));
        let role = last.escalated_to.as_ref().map(|role| format!("; role `{role}` stepped in"));
        let (had, role) = (had.unwrap_or_default(), role.unwrap_or_default());
        let (gate, at) = (last.station(), last.exited);
        return format!("its visit of gate `{gate}`{had} took too long at {at}{role}");
    }
    // The verdict of one branch does not move the task.
    let Some(last) = task.history.iter().rev().find(|visit| !visit.leaves_open()) else {
        return match &task.gate {
            Some(open) => {
                format!("it was created at {} and began at gate `{}`", task.created, open.current)
            }
            None => "nobody has taken it up yet: it has no gate".to_owned(),
        };
    };
    let (gate, at, why) = (&last.gate, last.exited, &last.summary);
    let who = named(last.agent.as_ref(), "somebody");
    let Some(to) = &last.to else {
        return match &last.outcome {
            Ending::Completed(Outcome::Blocked) => {
                format!("{who} said at {at} that it cannot go on at gate `{gate}`")
            }
            Ending::Cancelled => format!("{who} called it off at {at}: {why}"),
            outcome => format!("{who} ended gate `{gate}` with `{outcome}` at {at}"),
        };
    };
    let is_same_gate = *to == Destination::Gate(gate.clone());
    match &last.outcome {
        Ending::Completed(outcome) if last.agent.is_none() => {
            format!("gate `{gate}` came to `{outcome}` by itself at {at}, which led to `{to}`")
        }
        Ending::Completed(_) if last.join.is_some() => {
            let join = if last.join == Some(Join::Passed) { "passed" } else { "rejected" };
            format!(
                "the branches of gate `{gate}` {join} it at {at}, the last was `{}`, which led to `{to}`",
                last.station()
            )
        }
        Ending::Completed(Outcome::NeedsReview) if is_same_gate => {
            format!("{who} said at {at} that it needs fixes, at gate `{to}`")
        }
        Ending::Completed(Outcome::NeedsReview) => {
            format!("{who} sent it back from gate `{gate}` to `{to}` at {at}")
        }
        Ending::Completed(Outcome::Blocked) => {
            format!("{who} said at {at} that it cannot go on at gate `{gate}`")
        }
        Ending::Completed(outcome) if *to == Destination::End => {
            format!("{who} ended its last gate `{gate}` with `{outcome}` at {at}")
        }
        Ending::Completed(outcome) => {
            format!("{who} ended gate `{gate}` with `{outcome}` at {at}, which led to `{to}`")
        }
        Ending::Override => format!("{who} moved it to `{to}` at {at}: {why}"),
        Ending::Reopened => format!("{who} took it up again at `{to}` at {at}: {why}"),
        Ending::Moved if is_same_gate => {
            format!("the rules changed, and it began again at `{to}` at {at}: {why}")
        }
        Ending::Moved => {
            format!("the rules changed, and it was moved from `{gate}` to `{to}` at {at}: {why}")
        }
        Ending::Cancelled => format!("{who} called it off at {at}: {why}"),
        outcome @ Ending::Timeout => format!("{who} ended gate `{gate}` with `{outcome}` at {at}"),
    }
}

/// Returns sentences about a hold, exceeded time limits and deadlines.
pub(crate) fn time_limits(rules: &Rules, task: &Task, now: Timestamp) -> Vec<String> {
    let mut list = Vec::new();
    if let Some(open) = &task.gate {
        list.extend(open.held.map(|since| {
            format!(
                "a person holds it since {since}: nothing is completed until it is set going again"
            )
        }));
        let overdue = |what: String, since: Option<Timestamp>| {
            Some(format!("{what} took too long at {}, and nobody steps in for that", since?))
        };
        list.extend(overdue("it".to_owned(), open.overdue_since()));
        let branches = open.branches.iter();
        list.extend(branches.filter_map(|branch| {
            overdue(format!("branch `{}`", branch.id), branch.overdue_since())
        }));
    }
    let texts = deadlines(rules, task);
    list.extend(texts.iter().map(|deadline| deadline_text(rules, task, deadline, now)));
    list
}

fn deadline_text(
    rules: &Rules,
    task: &Task,
    Deadline { at, limit, branch }: &Deadline,
    now: Timestamp,
) -> String {
    let is_past = *at <= now;
    let next = "the next `aof watch` or `aof sweep`";
    let place = Workplace::find(rules, task, branch.as_ref());
    if *limit == Limit::Lease {
        let agent = place.and_then(|place| place.holder).map(ToString::to_string);
        let agent = agent.unwrap_or_default();
        if is_past {
            return format!("the claim of `{agent}` ended at {at}; {next} releases it");
        }
        return format!(
            "the claim of `{agent}` ends at {at} unless it is renewed: `aof renew {}`",
            task.id
        );
    }
    let what =
        branch.as_ref().map_or_else(|| "it".to_owned(), |branch| format!("branch `{branch}`"));
    match place.and_then(|place| place.duty.escalate_to.as_ref()) {
        Some(role) if is_past => {
            format!("the time of {what} ended at {at}; with {next}, role `{role}` steps in")
        }
        None if is_past => format!("the time of {what} ended at {at}; {next} marks it overdue"),
        Some(role) => format!("{what} has time until {at}; then role `{role}` steps in"),
        None => format!("{what} has time until {at}; then it is marked overdue"),
    }
}

/// Returns a sentence about the change that the rules in force require, and about the program that makes it.
fn due_reason(rules: &Rules, task: &Task, act: &Act, now: Timestamp) -> Option<String> {
    let doer = "`aof watch`, `aof org reload`, or the next command that changes the task,";
    let gate = &task.gate.as_ref()?.current;
    let Ok(Decision::Step(step)) = decide(rules, task, act, now) else { return None };
    Some(match (act, step.task.history.last(), &step.task.gate) {
        (Act::Pass, ..) => format!("gate `{gate}` decides by itself: {doer} moves it on"),
        (Act::Move, Some(visit), Some(next)) if next.current == *gate => {
            format!("{}: {doer} has it begin there again", visit.summary)
        }
        (Act::Move, Some(visit), Some(next)) => {
            format!("{}: {doer} moves it to gate `{}`", visit.summary, next.current)
        }
        _ => {
            let what = rule_effect(task, &step.task).what;
            format!("the rules have changed: {doer} follows them ({what})")
        }
    })
}

/// Returns the gate where a hand-made task would begin, or the reason why it cannot.
fn adoption_reason(workspace: &Workspace, state: &TaskState) -> String {
    let step = match adoption_step(&state.in_force.rules, &state.file, workspace.now()) {
        Ok(step) => step,
        Err(refusal) => return format!("it cannot be taken up: {}", refusal.problem()),
    };
    let at = step.task.gate.as_ref().map(|open| format!(", at gate `{}`", open.current));
    let given = step.task.routing.agent.map(|agent| format!(", and gives it to `{agent}`"));
    let text = ["`aof watch` takes it up".to_owned()].into_iter().chain(at).chain(given);
    let not_given = step.warnings.iter().filter(|one| matches!(one, Warning::NotGiven { .. }));
    text.chain(not_given.map(|warning| format!("; {}", warning.message()))).collect()
}

/// Returns the reason why the gate waits for a child; `None` if the child is complete or cancelled.
fn child_reason(child: &TaskSummary) -> Option<String> {
    if !child.is_new && is_over(child.status) {
        return None;
    }
    let (id, state) = (&child.id, child.state());
    let what = match child.current_gate() {
        _ if child.status == Status::Failed => format!(
            "has failed: take it up again with `aof reopen {id} --to GATE --reason \"...\"`, and complete or cancel it"
        ),
        Some(gate) => format!("is {state} at gate `{gate}`"),
        None => format!("is {state}"),
    };
    Some(format!(
        "it is not handed out, and does not pass the gate, before its child `{id}` is complete or cancelled, which {what}"
    ))
}

/// Returns the reason why the task waits for a dependency; `None` if the dependency is complete.
fn dependency_reason(workspace: &Workspace, in_force: &InForce, other: &TaskId) -> Option<String> {
    let file = find(workspace, other).and_then(|(snapshot, _)| {
        parse(in_force, other, &snapshot.path, &snapshot.bytes, workspace.now())
    });
    let task = match file {
        Ok(file) => file.task,
        Err(error) => {
            return Some(format!("it is not handed out before `{other}` is complete, and {error}"));
        }
    };
    let what = match (task.status, &task.gate) {
        (Status::Complete, _) => return None,
        (Status::Failed | Status::Cancelled, _) => {
            format!("was {}: take it up again, or edit `dependsOn`", task.status)
        }
        (status, Some(open)) => format!("is {status} at gate `{}`", open.current),
        (_, None) => "stands at no gate yet".to_owned(),
    };
    Some(format!("it is not handed out before `{other}` is complete, which {what}"))
}
