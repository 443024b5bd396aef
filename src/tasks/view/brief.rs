//! What an agent is told at a gate, or at a branch of it; and why there is nothing to tell.

use serde_json::{Map, Value, json};

use crate::domain::{GateId, Ticket};
use crate::files::task_file::{Origin, TaskFile, review_value};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::brief::{GateContext, OutputForm};
use crate::rules::outputs::Field;
use crate::rules::{Refusal, Rules, Workplace};
use crate::tasks::view::task_view::{brief_of, show};

/// Returns the task with the brief of its gate, or of the branch that the ticket names; a task without one has ended, or its
/// gate is gone.
pub(crate) fn briefed(
    workspace: &Workspace,
    ticket: &Ticket,
) -> Result<(TaskFile, GateContext, InForce), ProjectError> {
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
            known: in_force
                .rules
                .project
                .workflows
                .iter()
                .map(|workflow| workflow.name.to_string())
                .collect(),
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
        (None, Some(_)) => {
            Refusal::Finished { task: id.clone(), status: task.status, at: task.latest() }
        }
    };
    Err(refusal.into())
}

/// Returns the brief of a branch of an open fork: the one that is named, else the only one that is open.
fn brief_of_branch(
    rules: &Rules,
    file: &TaskFile,
    branch: Option<&GateId>,
) -> Result<Option<GateContext>, Refusal> {
    let task = &file.task;
    let Some(open) = &task.gate else { return Ok(None) };
    if open.branches.is_empty() && branch.is_none() {
        return Ok(None);
    }
    let posts = Workplace::open(rules, task);
    let tickets = || {
        let own = posts.iter().filter(|post| post.branch().is_some());
        own.map(|post| (task.ticket_of(post.branch()), post.role.clone())).collect()
    };
    let gate = open.current.clone();
    let post = match (branch, &posts[..]) {
        (Some(_), _) => Workplace::meant(rules, task, branch).ok_or_else(|| {
            Refusal::NoSuchBranch { ticket: task.ticket_of(branch), gate, open: tickets() }
        })?,
        (None, [only]) => *only,
        (None, _) => {
            return Err(Refusal::BranchNeeded { task: task.id.clone(), gate, open: tickets() });
        }
    };
    Ok(brief_of(rules, file, &post))
}

/// Returns the brief as `--json` shows it: spec 1's `gate_context`, and the review that it answers.
pub(crate) fn brief_value(file: &TaskFile, context: &GateContext) -> Value {
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
fn form_value(form: &OutputForm) -> Value {
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
