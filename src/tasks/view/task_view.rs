//! Views of one task, of its history and of a change of it, also for `--json`.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::domain::{AgentId, GateId, Outcome, Task, TaskId, Ticket, Timestamp, Visit, WaitFor};
use crate::files::event::render::{place_words, step_words};
use crate::files::task_file::visits::branch_value;
use crate::files::task_file::{
    BodyComment, Origin, TaskFile, body_parts, review_value, visits, works,
};
use crate::git::LogEntry;
use crate::git::log::trailers::{self, Trailer};
use crate::project::active_rules::{InForce, in_force};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::brief::{GateContext, brief, brief_at};
use crate::rules::routing::statements::Statement;
use crate::rules::template::Body;
use crate::rules::{
    Deadline, Escalation, Limit, Rules, Warning, Workplace, deadlines, entry_ticket, escalation,
    is_looping, may_complete,
};
use crate::storage::ProjectPath;
use crate::storage::layout::task_path;
use crate::tasks::headers::children::children;
use crate::tasks::headers::dependencies::awaited_by_one;
use crate::tasks::headers::summary::{Awaited, NEW, TaskSummary, WAITING};
use crate::tasks::plan::{Changed, DryRun, adoption_step};
use crate::tasks::state::commit_message;
use crate::tasks::state::task_state::{TaskState, find, noting_head, parse};
use crate::tasks::view::code_commits::code_commits;

/// A task to be shown.
pub(crate) struct TaskView {
    pub file: TaskFile,
    pub path: ProjectPath,
    /// The brief of its gate; for a hand-made file, of its first gate.
    pub context: Option<GateContext>,
    /// Its children, if its workflow has a gate that waits for them.
    pub children: Vec<TaskSummary>,
    /// The tasks that it waits for.
    pub awaited: Awaited,
    /// The reason why the file in the worktree is frozen; then `file` is HEAD's version.
    pub frozen: Option<FrozenFile>,
}

/// Returns the task as its file in the worktree has it; for a frozen task, HEAD's version.
pub(crate) fn show(
    workspace: &Workspace,
    id: &TaskId,
) -> Result<(TaskView, InForce), ProjectError> {
    let in_force = workspace.rules()?;
    let (snapshot, _) = find(workspace, id)?;
    let path = &snapshot.path;
    let mut file =
        parse(&in_force, id, path, &snapshot.bytes, workspace.now()).map_err(|error| {
            let repository = &workspace.repository;
            let head = repository.head_for_reading().ok().and_then(|head| head.commit);
            let blob = head.and_then(|head| repository.blob_id(head, path.as_str()).ok().flatten());
            noting_head(error, blob.is_some())
        })?;
    let frozen = frozen(workspace, id).map(|(frozen, committed)| {
        if let Some(committed) = committed {
            file = committed;
        }
        frozen
    });
    let context = match file.origin {
        Origin::Adopted => brief(&in_force.rules, &file.task, &body_of(&file)),
        Origin::HandMade => adoption_step(&in_force.rules, &file, workspace.now())
            .ok()
            .and_then(|step| brief(&in_force.rules, &step.task, &body_of(&file))),
    };
    let context = context.map(|context| with_people(workspace, context));
    // Most tasks have none, and are shown without reading any other task.
    let may_wait = in_force.rules.workflow_of(&file.task).is_some_and(|workflow| {
        workflow.gates.iter().any(|gate| gate.wait_for == Some(WaitFor::Children))
    });
    let children = if may_wait { children(workspace, &in_force, id) } else { Vec::new() };
    let awaited = awaited_by_one(workspace, &in_force, &file.task, &children);
    let path = snapshot.path;
    Ok((TaskView { file, path, context, children, awaited, frozen }, in_force))
}

/// Returns the summary of another task, from its file; `None` if there is none that can be read.
pub(crate) fn summary_of(
    workspace: &Workspace,
    in_force: &InForce,
    id: &TaskId,
) -> Option<TaskSummary> {
    let (snapshot, _) = find(workspace, id).ok()?;
    let file = parse(in_force, id, &snapshot.path, &snapshot.bytes, workspace.now()).ok()?;
    let mut summary = TaskSummary::of(&file);
    summary.follow(&in_force.rules);
    Some(summary)
}

impl TaskView {
    /// Returns the word that people see for its state.
    pub(crate) fn shown_state(&self) -> &'static str {
        match self.file.origin {
            Origin::HandMade => NEW,
            Origin::Adopted if !self.awaited.is_nothing() => WAITING,
            Origin::Adopted => self.file.task.status.as_str(),
        }
    }

    /// Returns the task for `--json`, with the word that people see: `status` is the file's. It lacks the commits of code if git's branches
    /// cannot be read.
    pub(crate) fn value(&self, workspace: &Workspace, rules: &Rules) -> Value {
        let mut value = task_value(rules, &self.file, &self.path);
        value["state"] = json!(self.shown_state());
        value["waitingFor"] = json!(self.awaited.tasks);
        if let Ok(commits) = code_commits(workspace, rules, &self.file.task.id) {
            value["commits"] = json!(commits);
        }
        value
    }
}

/// Returns the brief of a workplace of the task.
pub(crate) fn brief_of(
    workspace: &Workspace,
    rules: &Rules,
    file: &TaskFile,
    place: &Workplace<'_>,
) -> Option<GateContext> {
    let context = brief_at(rules, &file.task, place, &body_of(file))?;
    Some(with_people(workspace, context))
}

/// Adds the people who unblocked or moved the task if its file does not name them: the authors of those commits. They stay unnamed if
/// git cannot be read.
fn with_people(workspace: &Workspace, mut context: GateContext) -> GateContext {
    let unnamed = context.statements.iter().filter(|one| one.word_of_unnamed().is_some());
    let Some(oldest) = unnamed.filter_map(|statement| statement.at).min() else { return context };
    let head = workspace.repository.head_for_reading().ok().and_then(|head| head.commit);
    let log = head.and_then(|head| workspace.repository.log(head).ok());
    let since = |entry: &LogEntry| entry.committed.as_second() >= oldest.as_second();
    for entry in log.into_iter().flatten().map_while(Result::ok).take_while(since) {
        let trailers = trailers::parse(&entry.message);
        let value = |key| trailers.iter().find(|trailer| trailer.key() == key).map(Trailer::value);
        if value("Aof-Task") != Some(context.ticket.task.as_str()) {
            continue;
        }
        let word = value("Aof-Event").or(value("Aof-Outcome"));
        let is_recorded = |statement: &&mut Statement| {
            let second = statement.at.map(Timestamp::as_second);
            second == Some(entry.authored.as_second())
                && statement.word_of_unnamed().is_some_and(|unnamed| Some(unnamed) == word)
        };
        for statement in context.statements.iter_mut().filter(is_recorded) {
            statement.agent = value("Aof-Agent").and_then(|agent| agent.parse().ok());
            statement.person = statement.agent.is_none().then(|| entry.author.name().to_owned());
        }
    }
    context
}

/// Returns the body of a task file, with the work sections in it.
pub(crate) fn body_of(file: &TaskFile) -> Body<'_> {
    Body { text: file.body(), works: works(&file.task.id, file.body()) }
}

/// The reason why a task file is frozen, and the fix.
pub(crate) struct FrozenFile {
    pub problem: String,
    pub fields: Vec<String>,
    pub fix: String,
}

/// Returns the reason why the task is frozen, if it is, and HEAD's version. `None` during a git operation: the change may be git's.
fn frozen(workspace: &Workspace, id: &TaskId) -> Option<(FrozenFile, Option<TaskFile>)> {
    if workspace.underway().is_some() {
        return None;
    }
    let head = workspace.repository.head_for_reading().ok()?;
    let in_force = Rc::new(in_force(workspace, &head).ok()?);
    let state = TaskState::read_under(workspace, id, head, in_force).ok()?;
    let frozen = state.frozen()?;
    let (problem, fields) = (frozen.of("it"), frozen.fields.to_vec());
    let fix = workspace.git_commands.with_folder(frozen.fix);
    Some((FrozenFile { problem, fields, fix }, state.committed_file(workspace)))
}

/// Returns the task for `--json`: its frontmatter unchanged, and `body`, `path`, `version`, `ticket`, `available`.
pub(crate) fn task_value(rules: &Rules, file: &TaskFile, path: &ProjectPath) -> Value {
    let mut value = Value::Object(file.raw());
    value["id"] = json!(file.task.id.as_str());
    value["body"] = json!(file.body());
    value["path"] = json!(path.as_str());
    value["version"] = json!(file.task.history.len());
    value["ticket"] = json!(file.task.ticket().to_string());
    value["available"] = available(rules, file);
    let ends = deadlines(rules, &file.task);
    if !ends.is_empty() {
        value["deadlines"] = ends.iter().map(deadline_value).collect();
    }
    if let Some(reason) = escalation(&file.task, None) {
        value["escalated"] = escalation_value(&reason);
    }
    if rules.is_drifted(&file.task) {
        value["drifted"] = json!(true);
    }
    value
}

pub(crate) fn escalation_value(reason: &Escalation) -> Value {
    without_nulls(json!({
        "role": reason.role,
        "from": reason.from,
        "fromRole": reason.from_role,
        "since": reason.since.to_string(),
        "why": reason.why,
    }))
}

fn deadline_value(deadline: &Deadline) -> Value {
    let limit = match deadline.limit {
        Limit::Timeout => "timeout",
        Limit::Lease => "lease",
    };
    let branch = deadline.branch.as_ref().map(GateId::as_str);
    json!({"at": deadline.at.to_string(), "limit": limit, "branch": branch})
}

/// Returns the possible outcomes, and the agents that can complete the work.
fn available(rules: &Rules, file: &TaskFile) -> Value {
    let task = &file.task;
    let at_place = |place: &Workplace<'_>| {
        let outcomes = if is_on_hold(task) { Vec::new() } else { place.outcomes(rules) };
        let outcomes: Vec<&str> = outcomes.iter().map(Outcome::as_str).collect();
        json!({"outcomes": outcomes, "role": place.role.as_str(), "agents": eligible_agents_at(rules, task, place)})
    };
    if let Some(place) = Workplace::of(rules, task) {
        return at_place(&place);
    }
    let mut value = json!({"outcomes": [], "agents": eligible_agents(rules, file)});
    let places = Workplace::open(rules, task);
    if !places.is_empty() {
        let branch = |place: &Workplace<'_>| {
            let mut value = at_place(place);
            value["branch"] = json!(place.gate.id.as_str());
            value["ticket"] = json!(task.ticket_of(place.branch()).to_string());
            value
        };
        value["branches"] = places.iter().map(branch).collect();
    }
    value
}

/// Returns the agents that can complete the open visit now, or a branch of it.
pub(crate) fn eligible_agents(rules: &Rules, file: &TaskFile) -> Vec<AgentId> {
    let mut all = Vec::new();
    for place in Workplace::open(rules, &file.task) {
        for agent in eligible_agents_at(rules, &file.task, &place) {
            if !all.contains(&agent) {
                all.push(agent);
            }
        }
    }
    all
}

fn is_on_hold(task: &Task) -> bool {
    task.gate.as_ref().is_some_and(|open| open.held.is_some())
}

/// Returns the agents that can complete the work of a workplace now.
pub(crate) fn eligible_agents_at(
    rules: &Rules,
    task: &Task,
    place: &Workplace<'_>,
) -> Vec<AgentId> {
    if is_looping(rules, task) || is_on_hold(task) {
        return Vec::new();
    }
    if let Some(holder) = place.holder {
        return vec![holder.clone()];
    }
    let members = rules.org.role(place.role).map(|role| role.agents.clone()).unwrap_or_default();
    members.into_iter().filter(|agent| may_complete(rules, task, place, agent).is_ok()).collect()
}

/// Returns the changed task for `--json`.
pub(crate) fn changed_value(rules: &Rules, changed: &Changed, dry_run: DryRun) -> Value {
    let mut value = task_value(rules, &changed.after, &changed.path);
    value["warnings"] = warnings_value(&changed.warnings);
    value["commit"] = json!(changed.commit.map(|commit| commit.to_string()));
    if let Some(ticket) = ended_ticket(changed) {
        value["ended"] = json!(ticket);
    }
    if changed.settled {
        value["settled"] = json!(true);
    }
    if dry_run == DryRun::Yes {
        value["dryRun"] = json!(true);
    }
    value
}

/// Returns warnings in the shape of spec 1, 9.5.
pub(crate) fn warnings_value(warnings: &[Warning]) -> Value {
    let value = |warning: &Warning| {
        let mut value = json!({"warning": warning.code(), "message": warning.message()});
        for (key, field) in warning.fields() {
            value[&key] = field;
        }
        value
    };
    warnings.iter().map(value).collect()
}

/// Returns the step of a task in a change, as in `implement → review`. Automatic gates on the way are left out.
pub(crate) fn step_of(changed: &Changed) -> String {
    let visits = ended_visits(changed);
    let Some(first) = visits.first() else { return String::new() };
    let last = visits.iter().rev().find(|visit| !visit.stays());
    let to = last.and_then(|visit| visit.to.as_ref()).map(place_words);
    step_words(&first.station().to_string(), first.outcome.as_str(), to)
}

/// Returns the visits that the change ended: the completed one, and those of automatic gates.
pub(crate) fn ended_visits(changed: &Changed) -> &[Visit] {
    let history = &changed.after.task.history;
    let before = changed.before.as_ref().map_or(0, |file| file.task.history.len());
    // For a repeated completion, that is the last visit.
    let from = if changed.settled { history.len().saturating_sub(1) } else { before };
    history.get(from..).unwrap_or_default()
}

/// Returns the ticket of the visit that a completion ended.
pub(crate) fn ended_ticket(changed: &Changed) -> Option<Ticket> {
    let task = &changed.after.task;
    entry_ticket(task, task.history.len().checked_sub(ended_visits(changed).len())?)
}

/// Returns the indexes of the entries whose person was only named: the person was at no terminal, and gave no signature.
pub(crate) fn named_entries(
    workspace: &Workspace,
    in_force: &InForce,
    path: &ProjectPath,
    task: &Task,
) -> Result<BTreeSet<usize>, ProjectError> {
    let is_persons = |visit: &Visit| visit.agent.as_ref().is_some_and(AgentId::is_human);
    let mut left: Vec<(usize, &Visit)> = task.history.iter().enumerate().collect();
    left.retain(|(_, visit)| is_persons(visit) && visit.signature.is_none());
    let mut named = BTreeSet::new();
    let head = workspace.repository.head_for_reading()?.commit;
    let (Some(head), false) = (head, left.is_empty()) else { return Ok(named) };
    let usual = task_path(&task.id, in_force.rules.project.layout);
    for entry in workspace.repository.log_of(head, &[path.as_str(), usual.as_str()])? {
        let entry = entry?;
        let second = entry.authored.as_second();
        let is_of = |(_, visit): &(usize, &Visit)| visit.exited.as_second() == second;
        if let Some(person) = commit_message::named_in(&entry.message) {
            let all = left.iter().filter(|one| is_of(one) && one.1.agent.as_ref() == Some(&person));
            named.extend(all.map(|(place, _)| *place));
        }
        left.retain(|(_, visit)| visit.exited.as_second() < second);
        if left.is_empty() {
            break;
        }
    }
    Ok(named)
}

/// A task's ended visits, oldest first, and the open one.
pub(crate) struct HistoryView {
    pub task: Task,
    /// The indexes of entries whose person was only named.
    pub named: BTreeSet<usize>,
    pub comments: Vec<BodyComment>,
    /// The seconds since the open visit began.
    pub open_seconds: Option<u64>,
}

/// Returns the history of a task.
pub(crate) fn history(
    workspace: &Workspace,
    id: &TaskId,
) -> Result<(HistoryView, InForce), ProjectError> {
    let (view, in_force) = show(workspace, id)?;
    let comments = body_parts(view.file.body()).comments;
    let task = view.file.task;
    let named = named_entries(workspace, &in_force, &view.path, &task)?;
    let now = workspace.now().as_second();
    let seconds = |since: i64| u64::try_from(now - since).unwrap_or(0);
    let open_seconds = task.gate.as_ref().map(|open| seconds(open.entered.as_second()));
    Ok((HistoryView { task, named, comments, open_seconds }, in_force))
}

/// Returns the history for `--json`: the entries as in the file, and the open visit.
pub(crate) fn history_value(view: &HistoryView) -> Value {
    let task = &view.task;
    let open = task.gate.as_ref().map(|open| {
        let branches: Vec<Value> = open.branches.iter().map(branch_value).collect();
        without_nulls(json!({
            "gate": open.current.as_str(),
            "branches": (!branches.is_empty()).then_some(branches),
            "role": task.routing.role,
            "agent": task.routing.agent,
            "entered": open.entered.to_string(),
            "visit": open.visit,
            "duration": view.open_seconds,
            "blockers": (!task.blockers.is_empty()).then_some(&task.blockers),
            "reviewContext": task.review.as_ref().map(review_value),
        }))
    });
    let mut ended: Vec<Value> = task.history.iter().map(visits::visit_value).collect();
    view.named.iter().for_each(|place| ended[*place]["namedNotSeen"] = json!(true));
    json!({"task": task.id.as_str(), "status": task.status.as_str(), "history": ended, "open": open})
}

/// Returns an object without the keys whose values are null.
pub(crate) fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(map) = &mut value {
        map.retain(|_, value| !value.is_null());
    }
    value
}
