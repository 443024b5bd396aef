//! Decisions that wait for a person or an agent: at gates that judge the work, and at gates for people only.

use crate::domain::{
    AgentId, BranchStatus, Destination, Outcome, Outputs, RoleId, Station, Status, Ticket,
    Timestamp,
};
use crate::project::active_rules::InForce;
use crate::project::workspace::Workspace;
use crate::rules::{Rules, Workplace, is_looping, may_complete, open_points, preview};
use crate::storage::{ProjectPath, task_files};
use crate::tasks::headers::dependencies::Dependencies;
use crate::tasks::headers::listing::Listing;
use crate::tasks::headers::summary::TaskSummary;
use crate::tasks::state::task_state::parse;

/// A gate, or a branch of a fork, at which an agent or a person may decide now.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WaitingDecision {
    pub ticket: Ticket,
    pub title: String,
    pub gate: Station,
    pub role: RoleId,
    /// The time when the task reached the gate.
    pub since: Timestamp,
    pub outcomes: Vec<Outcome>,
    /// The place that each outcome leads to; `None` if the task stays, or if other branches decide, too.
    pub leads: Vec<Option<Destination>>,
    /// True if the gate asks for values with an outcome.
    pub asks: bool,
    /// The open points of reviews.
    pub points: Vec<String>,
}

/// Returns the decisions that the person, or the agent, may make now, among the active tasks; the most urgent first. Work without a judgement is
/// left out.
pub(crate) fn waiting_for(
    workspace: &Workspace,
    in_force: &InForce,
    listing: &Listing,
    person: &AgentId,
) -> Vec<WaitingDecision> {
    let dependencies = Dependencies::read(workspace, in_force, listing);
    let candidates = listing.by_urgency(workspace.now()).into_iter();
    candidates
        .filter(|(task, _)| may_wait(&in_force.rules, &dependencies, task, person))
        .flat_map(|(task, path)| decisions_at(workspace, in_force, task, path, person))
        .collect()
}

/// Returns whether the person may have a decision to make about a task, as far as its summary shows.
pub(crate) fn may_wait(
    rules: &Rules,
    dependencies: &Dependencies,
    task: &TaskSummary,
    person: &AgentId,
) -> bool {
    let is_theirs =
        |role: &RoleId| rules.org.roles_of(person).any(|one| one == role) || rules.is_open(role);
    let is_open = !task.is_new && !task.is_finished() && task.status != Status::Blocked;
    is_open
        && task.roles().any(is_theirs)
        && Workplace::open(rules, task).iter().any(|place| is_decision(rules, place))
        && dependencies.are_met(task)
}

/// Returns the decisions that the person may make about a task. Reads its file: they depend on the whole history, which a summary lacks.
pub(crate) fn decisions_at(
    workspace: &Workspace,
    in_force: &InForce,
    summary: &TaskSummary,
    path: &ProjectPath,
    person: &AgentId,
) -> Vec<WaitingDecision> {
    let rules = &in_force.rules;
    let Ok(snapshot) = task_files::read(&workspace.paths, path) else { return Vec::new() };
    let parsed = parse(in_force, &summary.id, path, &snapshot.bytes, workspace.now());
    let Some(task) = parsed.ok().map(|file| file.task) else { return Vec::new() };
    let Some(open) = task.gate.as_ref().filter(|open| open.held.is_none()) else {
        return Vec::new();
    };
    if is_looping(rules, &task) {
        return Vec::new();
    }
    let is_blocked = |place: &Workplace<'_>| {
        let part = place.branch().and_then(|branch| open.branch(branch));
        part.is_some_and(|part| part.status == BranchStatus::Blocked)
    };
    let decides = |place: &Workplace<'_>| {
        is_decision(rules, place)
            && !is_blocked(place)
            && may_complete(rules, &task, place, person).is_ok()
    };
    let places = Workplace::open(rules, &task).into_iter().filter(decides);
    let decision = |place: Workplace<'_>| {
        let outcomes = place.outcomes(rules);
        let is_whole = place.branch().is_none();
        let passage = |outcome| preview(rules, &task, outcome).filter(|_| is_whole);
        let moves = |to: &Destination| *to != Destination::Gate(open.current.clone());
        let leads = outcomes.iter().map(|outcome| passage(outcome).map(|one| one.to).filter(moves));
        WaitingDecision {
            ticket: task.ticket_of(place.branch()),
            title: task.title.clone(),
            gate: place.station(),
            role: place.role.clone(),
            since: open.entered,
            leads: leads.collect(),
            outcomes,
            asks: place.duty.outputs != Outputs::Open,
            points: open_points(&task),
        }
    };
    places.map(decision).collect()
}

fn is_decision(rules: &Rules, place: &Workplace<'_>) -> bool {
    place.judges() || place.requires_human(rules)
}
