//! One task, whole: as it stands, and what can be done with it.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::error::{OpsError, thaw};
use super::in_force::{InForce, in_force};
use super::standing::{Pending, Standing, find, parse};
use super::way_back::with_way_back;
use super::workspace::Workspace;
use crate::engine::brief::{Body, Form, GateContext, brief, brief_at};
use crate::engine::outputs::Field;
use crate::engine::{
    Act, Deadline, Decision, Limit, Post, Refusal, Rules, deadlines, decide, is_looping, may_complete,
};
use crate::format::task_file::{Origin, TaskFile, review_value, works};
use crate::model::{AgentId, GateId, Outcome, Task, TaskId, Ticket};
use crate::store::ProjectPath;

/// A task as it is shown.
pub struct View {
    /// Its file.
    pub file: TaskFile,
    /// Where that is.
    pub path: ProjectPath,
    /// What an agent is told at its gate; of a hand-made file, at the gate where it would begin.
    pub context: Option<GateContext>,
}

/// Returns the task. Reads only; a task that is frozen is shown as it stands.
pub fn show(workspace: &Workspace, id: &TaskId) -> Result<(View, InForce), OpsError> {
    let in_force = workspace.rules()?;
    let (snapshot, _) = find(workspace, id)?;
    let file = parse(&in_force, id, &snapshot.path, &snapshot.bytes, workspace.now())
        .map_err(|error| with_way_back(workspace, &in_force, error))?;
    let context = match file.origin {
        Origin::Adopted => brief(&in_force.rules, &file.task, &body_of(&file)),
        Origin::HandMade => taken_up(workspace, &in_force, &file.task)
            .ok()
            .and_then(|task| brief(&in_force.rules, &task, &body_of(&file))),
    };
    Ok((View { file, path: snapshot.path, context }, in_force))
}

/// Returns what an agent is told at a post of the task of a file.
pub fn brief_of(rules: &Rules, file: &TaskFile, post: &Post<'_>) -> Option<GateContext> {
    brief_at(rules, &file.task, post, &body_of(file))
}

fn body_of(file: &TaskFile) -> Body<'_> {
    Body { text: file.body(), works: works(&file.task.id, file.body()) }
}

/// Returns what of a task's file was changed by hand where it is the engine's, and how to take it back, as far as that can be
/// told: what git has brought in, in the middle of a merge, nobody did by hand.
pub fn frozen(workspace: &Workspace, id: &TaskId) -> Option<(Vec<String>, String)> {
    if workspace.underway().is_some() {
        return None;
    }
    let head = workspace.repository.look().ok()?;
    let in_force = Rc::new(in_force(workspace, &head).ok()?);
    let standing = Standing::read_under(workspace, id, head, in_force).ok()?;
    match standing.pending {
        Pending::Foreign(fields) => {
            let fix = thaw(&fields, &standing.snapshot.path, standing.head_path.as_ref());
            Some((fields, workspace.git_words.said(fix)))
        }
        Pending::Nothing | Pending::Versions(_) => None,
    }
}

/// Returns a hand-made task as it will be when it is taken up.
pub(super) fn taken_up(workspace: &Workspace, in_force: &InForce, task: &Task) -> Result<Task, Refusal> {
    match decide(&in_force.rules, task, &Act::Open, workspace.now())? {
        Decision::Step(step) => Ok(step.task),
        Decision::Settled { .. } => Ok(task.clone()),
    }
}

/// Returns the task with the brief of its gate, or of the branch that the ticket names; a task without one has ended, or its
/// gate is gone.
pub fn briefed(workspace: &Workspace, ticket: &Ticket) -> Result<(TaskFile, GateContext, InForce), OpsError> {
    let id = &ticket.task;
    let (view, in_force) = show(workspace, id)?;
    let task = &view.file.task;
    if let Some(context) = brief_of_branch(&in_force.rules, &view.file, ticket.branch.as_ref())? {
        return Ok((view.file, context, in_force));
    }
    if let Some(context) = view.context {
        return Ok((view.file, context, in_force));
    }
    let refusal = match (&task.gate, in_force.rules.workflow_of(task)) {
        (_, None) => Refusal::UnknownWorkflow {
            task: id.clone(),
            workflow: task.routing.workflow.to_string(),
            known: in_force.rules.project.workflows.iter().map(|workflow| workflow.name.to_string()).collect(),
        },
        (Some(open), Some(workflow)) => match workflow.gate(&open.current) {
            Some((_, gate)) if gate.fork().is_some() => {
                Refusal::BranchesNotOpen { task: id.clone(), gate: gate.id.clone() }
            }
            Some((_, gate)) => Refusal::NobodyWorksHere { task: id.clone(), gate: gate.id.clone() },
            None => Refusal::GateGone {
                task: id.clone(),
                gate: open.current.clone(),
                known: workflow.gates.iter().map(|gate| gate.id.clone()).collect(),
            },
        },
        (None, Some(workflow)) if view.file.origin == Origin::HandMade => {
            Refusal::NoGateApplies { workflow: workflow.name.to_string() }
        }
        (None, Some(_)) => Refusal::Finished { task: id.clone(), status: task.status, at: task.latest() },
    };
    Err(refusal.into())
}

/// Returns the brief of a branch of an open fork: the one that is named, else the only one that is open.
fn brief_of_branch(rules: &Rules, file: &TaskFile, branch: Option<&GateId>) -> Result<Option<GateContext>, Refusal> {
    let task = &file.task;
    let Some(open) = &task.gate else { return Ok(None) };
    if open.branches.is_empty() && branch.is_none() {
        return Ok(None);
    }
    let posts = Post::open(rules, task);
    let tickets = || {
        let own = posts.iter().filter(|post| post.branch().is_some());
        own.map(|post| (task.ticket_of(post.branch()), post.role.clone())).collect()
    };
    let gate = open.current.clone();
    let post = match (branch, &posts[..]) {
        (Some(_), _) => Post::meant(rules, task, branch).ok_or_else(|| Refusal::NoSuchBranch {
            ticket: task.ticket_of(branch),
            gate,
            open: tickets(),
        })?,
        (None, [only]) => *only,
        (None, _) => {
            return Err(Refusal::BranchNeeded { task: task.id.clone(), gate, open: tickets() });
        }
    };
    Ok(brief_of(rules, file, &post))
}

/// Returns the task as `--json` shows it: its frontmatter as it stands, and `body`, `path`, `version`, `ticket`, `available`.
pub fn task_value(rules: &Rules, file: &TaskFile, path: &ProjectPath) -> Value {
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
pub fn is_drifted(rules: &Rules, task: &Task) -> bool {
    let hash = rules.hash(&task.routing.workflow);
    !task.status.is_finished() && task.workflow_hash.as_deref().zip(hash).is_some_and(|(own, now)| own != now)
}

/// Returns the outcomes that are possible now, and for whom.
fn available(rules: &Rules, file: &TaskFile) -> Value {
    let task = &file.task;
    if let Some(post) = Post::of(rules, task) {
        return at_post(rules, task, &post);
    }
    let agents: Vec<String> = who(rules, file).iter().map(ToString::to_string).collect();
    let mut value = json!({"outcomes": [], "agents": agents});
    let posts = Post::open(rules, task);
    if !posts.is_empty() {
        let branch = |post: &Post<'_>| {
            let mut value = at_post(rules, task, post);
            value["branch"] = json!(post.gate.id.as_str());
            value["ticket"] = json!(task.ticket_of(post.branch()).to_string());
            value
        };
        value["branches"] = posts.iter().map(branch).collect();
    }
    value
}

fn at_post(rules: &Rules, task: &Task, post: &Post<'_>) -> Value {
    let outcomes = if is_on_hold(task) { Vec::new() } else { post.outcomes(rules) };
    let outcomes: Vec<&str> = outcomes.iter().map(Outcome::as_str).collect();
    let agents: Vec<String> = who_at(rules, task, post).iter().map(ToString::to_string).collect();
    json!({"outcomes": outcomes, "role": post.role.as_str(), "agents": agents})
}

/// Returns who can complete the open visit now, or a branch of it.
pub fn who(rules: &Rules, file: &TaskFile) -> Vec<AgentId> {
    let mut all = Vec::new();
    for agent in Post::open(rules, &file.task).iter().flat_map(|post| who_at(rules, &file.task, post)) {
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
pub fn who_at(rules: &Rules, task: &Task, post: &Post<'_>) -> Vec<AgentId> {
    if is_looping(rules, task) || is_on_hold(task) {
        return Vec::new();
    }
    if let Some(holder) = post.holder {
        return vec![holder.clone()];
    }
    let members = rules.org.role(post.role).map(|role| role.agents.clone()).unwrap_or_default();
    members.into_iter().filter(|agent| may_complete(rules, task, post, agent).is_ok()).collect()
}

/// Returns the brief as `--json` shows it: spec 1's `gate_context`, and the review that it answers.
pub fn brief_value(file: &TaskFile, context: &GateContext) -> Value {
    let mut told = Map::new();
    if let Some(prompt) = &context.prompt {
        told.insert("prompt".to_owned(), json!(prompt));
    }
    told.insert("role".to_owned(), json!(context.role));
    told.insert("gate".to_owned(), json!(context.gate.to_string()));
    told.insert("expectations".to_owned(), json!(context.expectations));
    let outcomes: Map<String, Value> =
        context.outcomes.iter().map(|(outcome, text)| (outcome.to_string(), json!(text))).collect();
    told.insert("outcomes".to_owned(), Value::Object(outcomes));
    told.insert("tips".to_owned(), json!(context.tips));
    if let Some(instructions) = &context.instructions {
        told.insert("instructions".to_owned(), json!(instructions));
    }
    if let Some(verdict) = &context.verdict {
        told.insert("verdict".to_owned(), json!(verdict));
    }
    if !context.outputs.is_empty() {
        told.insert("outputs".to_owned(), context.outputs.iter().map(form_value).collect());
    }
    if !context.files.is_empty() {
        told.insert("files".to_owned(), json!(context.files));
    }
    let mut map = Map::new();
    map.insert("id".to_owned(), json!(file.task.id.as_str()));
    map.insert("ticket".to_owned(), json!(context.ticket.to_string()));
    map.insert("title".to_owned(), json!(file.task.title));
    if let Some(description) = &file.task.description {
        map.insert("description".to_owned(), json!(description));
    }
    map.insert("body".to_owned(), json!(file.body()));
    map.insert("gate_context".to_owned(), Value::Object(told));
    if let Some(review) = &context.review {
        map.insert("reviewContext".to_owned(), review_value(review));
    }
    if !context.earlier.is_empty() {
        map.insert("earlierReviews".to_owned(), context.earlier.iter().map(review_value).collect());
    }
    if let Some(end) = context.claimed_until {
        map.insert("claimedUntil".to_owned(), json!(end.to_string()));
    }
    if let Some(routing) = file.field("routing").filter(|node| !node.is_null()) {
        map.insert("routing".to_owned(), routing.to_value());
    }
    Value::Object(map)
}

/// Returns what is to be handed on with an outcome.
fn form_value(form: &Form) -> Value {
    let field = |field: &Field| {
        json!({
            "name": field.name,
            "required": field.required,
            "form": field.form,
            "description": field.description,
            "default": field.default,
        })
    };
    json!({
        "outcome": form.outcome.as_str(),
        "fields": form.fields.iter().map(field).collect::<Vec<_>>(),
        "example": form.example,
    })
}
