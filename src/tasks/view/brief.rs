//! The brief of a gate or of a branch: for JSON, and as Markdown for prompts.

use serde_json::{Map, Value, json};

use crate::domain::{GateId, Ticket};
use crate::files::printable::{inert, one_line};
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

/// Returns how a text says the outcome.
pub(crate) fn verdict_in_words(verdict: &str) -> String {
    format!(
        "A text can say it, too: {}. The last one counts; what is quoted or code does not.",
        one_line(verdict)
    )
}

/// Returns the fields that are handed on with an outcome, a line each.
pub(crate) fn output_lines(form: &OutputForm) -> Vec<String> {
    let line = |field: &Field| {
        let need = if field.required { "" } else { " (optional)" };
        let about = field.description.as_ref().map(|text| format!(" - {text}")).unwrap_or_default();
        let default = field
            .default
            .as_ref()
            .map(|value| format!("; {value} unless you say"))
            .unwrap_or_default();
        format!("{}{need}: {}{default}{about}", field.name, field.form)
    };
    form.fields.iter().map(line).collect()
}

/// Returns the brief for a prompt. `renewal` is how this door says that the work goes on.
pub(crate) fn brief_markdown(file: &TaskFile, context: &GateContext, renewal: &str) -> String {
    let mut text = format!("# {}: {}\n\n", file.task.id, one_line(&file.task.title));
    text.push_str(&format!(
        "Gate `{}`, ticket `{}`.\n\n{}\n",
        context.gate,
        context.ticket,
        inert(&context.role)
    ));
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text.push_str(&format!("\n## {title}\n\n{}\n", lines.join("\n")));
        }
    };
    let items = |list: &[String]| {
        list.iter().map(|item| format!("- {}", one_line(item))).collect::<Vec<_>>()
    };
    section("Asked", context.prompt.iter().map(|text| inert(text.trim_end())).collect());
    section(
        "Instructions",
        context.instructions.iter().map(|text| inert(text.trim_end())).collect(),
    );
    section("Expected", items(&context.expectations));
    let outcomes = context
        .outcomes
        .iter()
        .map(|(outcome, meaning)| format!("- `{outcome}`: {}", one_line(meaning)));
    let verdict = context.verdict.iter().map(|verdict| format!("\n{}", verdict_in_words(verdict)));
    section("Outcomes", outcomes.chain(verdict).collect());
    for form in &context.outputs {
        let mut own = items(&output_lines(form));
        let example = serde_json::to_string_pretty(&form.example).unwrap_or_default();
        own.push(format!("\n```json\n{}\n```", inert(&example)));
        section(&format!("Outputs with `{}`", form.outcome), own);
    }
    section(
        "Files",
        context.files.iter().map(|pattern| format!("- `{}`", one_line(pattern))).collect(),
    );
    section("Tips", items(&context.tips));
    let kept = |end| format!("Work that goes on beyond {end} is kept by {renewal}.");
    section("Time", context.claimed_until.map(kept).into_iter().collect());
    for review in context.review.iter().chain(&context.earlier) {
        let mut lines = items(&review.blockers);
        lines.extend(review.notes.iter().map(|notes| format!("\n{}", inert(notes.trim_end()))));
        section("Sent back", lines);
    }
    let task =
        [file.task.description.as_deref().unwrap_or_default(), file.body().trim_matches('\n')];
    let parts: Vec<String> =
        task.iter().filter(|part| !part.trim().is_empty()).map(|part| inert(part)).collect();
    section("Task", parts.join("\n\n").lines().map(str::to_owned).collect());
    text
}
