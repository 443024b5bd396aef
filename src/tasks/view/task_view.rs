//! One task, its history, or a change of it, as people and programs see it.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::domain::{AgentId, Destination, GateId, Outcome, Task, TaskId, Visit};
use crate::files::task_file::open_visit::branch_value;
use crate::files::task_file::{Origin, TaskFile, review_value, visit_entry, works};
use crate::project::active_rules::{InForce, in_force};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::brief::{GateContext, brief, brief_at};
use crate::rules::template::Body;
use crate::rules::{
    Deadline, Limit, Rules, Warning, Workplace, deadlines, is_looping, may_complete,
};
use crate::storage::ProjectPath;
use crate::tasks::plan::{Changed, DryRun, begun};
use crate::tasks::state::task_state::{TaskState, find, parse};

/// A task as it is shown.
pub(crate) struct TaskView {
    /// Its file.
    pub file: TaskFile,
    /// Where that is.
    pub path: ProjectPath,
    /// What an agent is told at its gate; of a hand-made file, at the gate where it would begin.
    pub context: Option<GateContext>,
}

/// What of a task's file keeps everybody from touching it.
pub(crate) struct FrozenFile {
    /// What is wrong with it.
    pub problem: String,
    /// The fields.
    pub fields: Vec<String>,
    /// How that is taken back.
    pub fix: String,
}

/// Returns the task. Reads only; a task that is frozen is shown as it stands.
pub(crate) fn show(
    workspace: &Workspace,
    id: &TaskId,
) -> Result<(TaskView, InForce), ProjectError> {
    let in_force = workspace.rules()?;
    let (snapshot, _) = find(workspace, id)?;
    let file = parse(&in_force, id, &snapshot.path, &snapshot.bytes, workspace.now())?;
    let context = match file.origin {
        Origin::Adopted => brief(&in_force.rules, &file.task, &body_of(&file)),
        Origin::HandMade => begun(&in_force.rules, &file, workspace.now())
            .ok()
            .and_then(|step| brief(&in_force.rules, &step.task, &body_of(&file))),
    };
    Ok((TaskView { file, path: snapshot.path, context }, in_force))
}

/// Returns what an agent is told at a post of the task of a file.
pub(crate) fn brief_of(
    rules: &Rules,
    file: &TaskFile,
    post: &Workplace<'_>,
) -> Option<GateContext> {
    brief_at(rules, &file.task, post, &body_of(file))
}

/// Returns the body of a task's file, with the works in it.
pub(crate) fn body_of(file: &TaskFile) -> Body<'_> {
    Body { text: file.body(), works: works(&file.task.id, file.body()) }
}

/// Returns what of a task's file is the engine's and was changed or made by hand, and how to take it back, as far as that can be
/// told: what git has brought in, in the middle of a merge, nobody did by hand.
pub(crate) fn frozen(workspace: &Workspace, id: &TaskId) -> Option<FrozenFile> {
    if workspace.underway().is_some() {
        return None;
    }
    let head = workspace.repository.look().ok()?;
    let in_force = Rc::new(in_force(workspace, &head).ok()?);
    let state = TaskState::read_under(workspace, id, head, in_force).ok()?;
    let frozen = state.frozen()?;
    let (problem, fields) = (frozen.of("it"), frozen.fields.to_vec());
    Some(FrozenFile { problem, fields, fix: workspace.git_words.said(frozen.fix) })
}

/// Returns the task as `--json` shows it: its frontmatter as it stands, and `body`, `path`, `version`, `ticket`, `available`.
pub(crate) fn task_value(rules: &Rules, file: &TaskFile, path: &ProjectPath) -> Value {
    let mut map = file.raw();
    map.insert("id".to_owned(), json!(file.task.id.as_str()));
    map.insert("body".to_owned(), json!(file.body()));
    map.insert("path".to_owned(), json!(path.as_str()));
    map.insert("version".to_owned(), json!(file.task.history.len()));
    map.insert("ticket".to_owned(), json!(file.task.ticket().to_string()));
    map.insert("available".to_owned(), available(rules, file));
    let ends = deadlines(rules, &file.task);
    if !ends.is_empty() {
        map.insert("deadlines".to_owned(), ends.iter().map(deadline_value).collect());
    }
    if is_drifted(rules, &file.task) {
        map.insert("drifted".to_owned(), json!(true));
    }
    Value::Object(map)
}

fn deadline_value(deadline: &Deadline) -> Value {
    let limit = match deadline.limit {
        Limit::Timeout => "timeout",
        Limit::Lease => "lease",
    };
    let branch = deadline.branch.as_ref().map(GateId::as_str);
    json!({"at": deadline.at.to_string(), "limit": limit, "branch": branch})
}

/// Returns whether other rules moved the task last than are in force.
pub(crate) fn is_drifted(rules: &Rules, task: &Task) -> bool {
    let hash = rules.hash(&task.routing.workflow);
    !task.status.is_finished()
        && task.workflow_hash.as_deref().zip(hash).is_some_and(|(own, now)| own != now)
}

/// Returns the outcomes that are possible now, and for whom.
fn available(rules: &Rules, file: &TaskFile) -> Value {
    let task = &file.task;
    if let Some(post) = Workplace::of(rules, task) {
        return at_post(rules, task, &post);
    }
    let agents: Vec<String> = who(rules, file).iter().map(ToString::to_string).collect();
    let mut value = json!({"outcomes": [], "agents": agents});
    let posts = Workplace::open(rules, task);
    if !posts.is_empty() {
        let branch = |post: &Workplace<'_>| {
            let mut value = at_post(rules, task, post);
            value["branch"] = json!(post.gate.id.as_str());
            value["ticket"] = json!(task.ticket_of(post.branch()).to_string());
            value
        };
        value["branches"] = posts.iter().map(branch).collect();
    }
    value
}

fn at_post(rules: &Rules, task: &Task, post: &Workplace<'_>) -> Value {
    let outcomes = if is_on_hold(task) { Vec::new() } else { post.outcomes(rules) };
    let outcomes: Vec<&str> = outcomes.iter().map(Outcome::as_str).collect();
    let agents: Vec<String> = who_at(rules, task, post).iter().map(ToString::to_string).collect();
    json!({"outcomes": outcomes, "role": post.role.as_str(), "agents": agents})
}

/// Returns who can complete the open visit now, or a branch of it.
pub(crate) fn who(rules: &Rules, file: &TaskFile) -> Vec<AgentId> {
    let mut all = Vec::new();
    for agent in
        Workplace::open(rules, &file.task).iter().flat_map(|post| who_at(rules, &file.task, post))
    {
        if !all.contains(&agent) {
            all.push(agent);
        }
    }
    all
}

fn is_on_hold(task: &Task) -> bool {
    task.gate.as_ref().is_some_and(|open| open.held.is_some())
}

/// Returns who can complete the work of a post now.
pub(crate) fn who_at(rules: &Rules, task: &Task, post: &Workplace<'_>) -> Vec<AgentId> {
    if is_looping(rules, task) || is_on_hold(task) {
        return Vec::new();
    }
    if let Some(holder) = post.holder {
        return vec![holder.clone()];
    }
    let members = rules.org.role(post.role).map(|role| role.agents.clone()).unwrap_or_default();
    members.into_iter().filter(|agent| may_complete(rules, task, post, agent).is_ok()).collect()
}

/// Returns the changed task as `--json` shows it.
pub(crate) fn changed_value(rules: &Rules, changed: &Changed, dry_run: DryRun) -> Value {
    let mut value = task_value(rules, &changed.after, &changed.path);
    value["warnings"] = warnings_value(&changed.warnings);
    value["commit"] = json!(changed.commit.map(|commit| commit.to_string()));
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
    warnings
        .iter()
        .map(|warning| {
            let mut value = json!({"warning": warning.code(), "message": warning.message()});
            for (key, field) in warning.fields() {
                value[&key] = field;
            }
            value
        })
        .collect()
}

/// Returns the way that the task went: `implement -> review`.
pub(crate) fn way(changed: &Changed) -> String {
    let Some(first) = ended(changed).first() else { return String::new() };
    let mut way = first.station().to_string();
    for visit in ended(changed) {
        match &visit.to {
            Some(to) if *to != Destination::Gate(visit.gate.clone()) => {
                way.push_str(&format!(" -> {}", to.noun()));
            }
            _ => {}
        }
    }
    way
}

/// Returns the visits that the change ended: the one that somebody spoke of, and those of gates that decided by themselves.
pub(crate) fn ended(changed: &Changed) -> &[Visit] {
    let history = &changed.after.task.history;
    let before = changed.before.as_ref().map_or(0, |file| file.task.history.len());
    // What was done before is shown as it was.
    let from = if changed.settled { history.len().saturating_sub(1) } else { before };
    history.get(from..).unwrap_or_default()
}

/// A task's way so far: its ended visits, oldest first, and the open one.
pub(crate) struct HistoryView {
    /// The task.
    pub task: Task,
    /// For how many seconds the open visit has lasted.
    pub lasting: Option<u64>,
}

/// Returns the way of a task through its gates.
pub(crate) fn history(
    workspace: &Workspace,
    id: &TaskId,
) -> Result<(HistoryView, InForce), ProjectError> {
    let (view, in_force) = show(workspace, id)?;
    let task = view.file.task;
    let now = workspace.now().as_second();
    let lasting =
        task.gate.as_ref().map(|open| u64::try_from(now - open.entered.as_second()).unwrap_or(0));
    Ok((HistoryView { task, lasting }, in_force))
}

/// Returns the way as `--json` shows it: entries as they stand in the file, and the open visit.
pub(crate) fn history_value(view: &HistoryView) -> Value {
    let task = &view.task;
    let ended: Vec<Value> = task.history.iter().map(visit_entry::write).collect();
    json!({"task": task.id.as_str(), "status": task.status.as_str(), "history": ended, "open": open(view)})
}

fn open(view: &HistoryView) -> Value {
    let (task, Some(open)) = (&view.task, &view.task.gate) else { return Value::Null };
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| {
        map.insert(key.to_owned(), value);
    };
    put("gate", json!(open.current.as_str()));
    if !open.branches.is_empty() {
        put("branches", open.branches.iter().map(branch_value).collect());
    }
    if let Some(role) = &task.routing.role {
        put("role", json!(role.as_str()));
    }
    if let Some(agent) = &task.routing.agent {
        put("agent", json!(agent.as_str()));
    }
    put("entered", json!(open.entered.to_string()));
    put("visit", json!(open.visit));
    put("duration", json!(view.lasting));
    if !task.blockers.is_empty() {
        put("blockers", json!(task.blockers));
    }
    if let Some(review) = &task.review {
        put("reviewContext", review_value(review));
    }
    Value::Object(map)
}
