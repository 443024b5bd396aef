//! The brief of a gate or of a branch: for JSON, and as Markdown for prompts.

use serde_json::{Value, json};

use crate::domain::{GateId, Map, Priority, TaskPlan, Ticket};
use crate::files::acceptance::{TESTS, TESTS_FILE};
use crate::files::printable::{inert, one_line};
use crate::files::task_file::{Origin, TaskFile, link_value, review_value};
use crate::files::yaml::Node;
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::brief::{GateContext, OutputForm};
use crate::rules::outputs::Field;
use crate::rules::routing::statements::Statement;
use crate::rules::template::as_text;
use crate::rules::{Refusal, Rules, Workplace};
use crate::tasks::state::acceptance::test_lines;
use crate::tasks::view::task_view::{brief_of, escalation_value, show, without_nulls};

/// Returns the task with the brief of its gate, or of the branch that the ticket names. Fails if the task has ended or its gate is not in
/// the rules.
pub(crate) fn task_brief(
    workspace: &Workspace,
    ticket: &Ticket,
) -> Result<(TaskFile, GateContext, InForce), ProjectError> {
    let (view, in_force) = show(workspace, &ticket.task)?;
    let of_branch =
        brief_of_branch(workspace, &in_force.rules, &view.file, ticket.branch.as_ref())?;
    match of_branch.or(view.context) {
        Some(context) => Ok((view.file, context, in_force)),
        None => Err(no_brief(&in_force.rules, &view.file).into()),
    }
}

/// Returns the refusal of a task that has no brief.
fn no_brief(rules: &Rules, file: &TaskFile) -> Refusal {
    let task = file.task.id.clone();
    let Some(workflow) = rules.workflow_of(&file.task) else {
        let known = rules.project.workflows.iter().map(|workflow| workflow.name.to_string());
        let workflow = file.task.routing.workflow.to_string();
        return Refusal::UnknownWorkflow { task, workflow, known: known.collect() };
    };
    let Some(open) = &file.task.gate else {
        return match file.origin {
            Origin::HandMade => Refusal::NoGateApplies { workflow: workflow.name.to_string() },
            Origin::Adopted => {
                Refusal::Finished { task, status: file.task.status, at: file.task.latest() }
            }
        };
    };
    let gate = open.current.clone();
    match workflow.gate(&gate) {
        Some((_, open)) if open.fork().is_some() => Refusal::BranchesNotOpen { task, gate },
        Some(_) => Refusal::NobodyWorksHere { task, gate },
        None => {
            let known = workflow.gates.iter().map(|gate| gate.id.clone()).collect();
            Refusal::GateGone { task, gate, known }
        }
    }
}

/// Returns the brief of the named branch of a fork, or of the only open branch. Fails if the branch is not open, or the ticket must name
/// one. `None` if the task is at no fork.
fn brief_of_branch(
    workspace: &Workspace,
    rules: &Rules,
    file: &TaskFile,
    branch: Option<&GateId>,
) -> Result<Option<GateContext>, Refusal> {
    let task = &file.task;
    let Some(open) = &task.gate else { return Ok(None) };
    if open.branches.is_empty() && branch.is_none() {
        return Ok(None);
    }
    let places = Workplace::open(rules, task);
    let tickets = || {
        let branches = places.iter().filter(|place| place.branch().is_some());
        branches.map(|place| (task.ticket_of(place.branch()), place.role.clone())).collect()
    };
    let gate = open.current.clone();
    let place = match (branch, &places[..]) {
        (Some(_), _) => Workplace::find(rules, task, branch).ok_or_else(|| {
            Refusal::NoSuchBranch { ticket: task.ticket_of(branch), gate, open: tickets() }
        })?,
        (None, [only]) => *only,
        (None, _) => {
            return Err(Refusal::BranchNeeded { task: task.id.clone(), gate, open: tickets() });
        }
    };
    Ok(brief_of(workspace, rules, file, &place))
}

/// Returns the brief for `--json`: spec 1's `gate_context`, and the review that the work must answer.
pub(crate) fn brief_value(file: &TaskFile, context: &GateContext) -> Value {
    let some = |list: &[Value]| (!list.is_empty()).then(|| json!(list));
    let outcomes: Map =
        context.outcomes.iter().map(|(outcome, text)| (outcome.to_string(), json!(text))).collect();
    let outputs: Vec<Value> = context.outputs.iter().map(output_value).collect();
    let value = |statement: &Statement| {
        let Statement { kind, agent, person, at, text, points } = statement;
        let at = at.map(|at| at.to_string());
        without_nulls(json!({
            "with": kind,
            "agent": agent,
            "person": person,
            "at": at,
            "text": text,
            "points": (!points.is_empty()).then_some(points),
        }))
    };
    let statements: Vec<Value> = context.statements.iter().map(value).collect();
    let field = |key| file.field(key).filter(|node| !node.is_null()).map(Node::to_value);
    let TaskPlan { priority: _, due, not_before, milestone, assignee, links } = &file.task.plan;
    let links: Vec<Value> = links.iter().map(link_value).collect();
    let earlier: Vec<Value> = context.earlier.iter().map(review_value).collect();
    without_nulls(json!({
        "id": file.task.id.as_str(),
        "ticket": context.ticket.to_string(),
        "title": file.task.title,
        "createdBy": file.task.created_by,
        "parent": file.task.parent,
        "priority": file.task.states_priority().then(|| file.task.priority()),
        "due": due,
        "notBefore": not_before,
        "milestone": milestone,
        "assignee": (!assignee.is_empty()).then_some(assignee),
        "links": some(&links),
        "description": file.task.description,
        "body": file.body(),
        "tests": field(TESTS),
        "testsFile": field(TESTS_FILE),
        "gate_context": without_nulls(json!({
            "prompt": context.prompt,
            "item": context.item.as_ref().map(|(item, value)| {
                json!({"index": item.index, "of": item.of, "value": value})
            }),
            "round": context.round.map(|(round, max)| json!({"number": round, "max": max})),
            "role": context.role,
            "gate": context.gate.to_string(),
            "expectations": context.expectations,
            "outcomes": outcomes,
            "tips": context.tips,
            "instructions": context.instructions,
            "verdict": context.verdict,
            "outputs": some(&outputs),
            "checks": (!context.checks.is_empty()).then_some(&context.checks),
            "files": (!context.files.is_empty()).then_some(&context.files),
        })),
        "work": file.task.work(),
        "reviewContext": context.review.as_ref().map(review_value),
        "earlierReviews": some(&earlier),
        "statements": some(&statements),
        "escalated": context.escalation.as_ref().map(escalation_value),
        "claimedUntil": context.claimed_until.map(|end| end.to_string()),
        "routing": field("routing"),
    }))
}

fn output_value(form: &OutputForm) -> Value {
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

/// Returns the item and the round of a visit.
pub(crate) fn place_in_loops(context: &GateContext) -> Option<String> {
    let item = context.item.as_ref().map(|(item, _)| item.to_string());
    let round = context.round.map(|(round, max)| format!("round {round} of at most {max}"));
    let parts: Vec<String> = item.into_iter().chain(round).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Explains how an agent's text can state the outcome.
pub(crate) fn verdict_in_words(verdict: &str) -> String {
    let verdict = one_line(verdict);
    format!(
        "A text can say it, too: {verdict}. The last one counts; what is quoted or code does not."
    )
}

/// Returns a line for each output field of an outcome.
pub(crate) fn output_lines(form: &OutputForm) -> Vec<String> {
    let line = |field: &Field| {
        let need = if field.required { "" } else { " (optional)" };
        let about = field.description.as_ref().map(|text| format!(" - {text}")).unwrap_or_default();
        let default = field.default.as_ref().map(|value| format!("; {value} unless you say"));
        format!("{}{need}: {}{}{about}", field.name, field.form, default.unwrap_or_default())
    };
    form.fields.iter().map(line).collect()
}

/// Returns a text with the agent that created the task; `None` for a person's task.
pub(crate) fn created_by(file: &TaskFile) -> Option<String> {
    let agent = file.task.created_by.as_ref()?;
    let of = file.task.parent.as_ref().map(|parent| format!(", as a part of `{parent}`"));
    Some(format!("Created by agent `{agent}`{}", of.unwrap_or_default()))
}

/// Returns the task's due date, milestone, assignees and links, by name.
pub(crate) fn plan_lines(plan: &TaskPlan) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let TaskPlan { priority: _, due, not_before, milestone, assignee, links } = plan;
    lines.extend(due.map(|due| ("due", due.to_string())));
    lines.extend(not_before.map(|day| ("not before", day.to_string())));
    lines.extend(milestone.as_ref().map(|name| ("milestone", one_line(name))));
    lines.extend((!assignee.is_empty()).then(|| ("planned for", one_line(&assignee.join(", ")))));
    lines.extend(links.iter().map(|link| ("link", one_line(&link.to_string()))));
    lines
}

/// Returns the lines of [`plan_lines`] as texts for a brief, with the priority unless it is the usual one.
pub(crate) fn plan_texts(file: &TaskFile) -> Vec<String> {
    let priority = Some(file.task.priority()).filter(|known| *known != Priority::Medium);
    let priority = priority.map(|known| ("priority", known.to_string()));
    let lines = priority.into_iter().chain(plan_lines(&file.task.plan));
    lines.map(|(name, text)| format!("{name}: {text}")).collect()
}

/// Returns a statement's event with its text, then each point. `when` follows the name of the author.
pub(crate) fn statement_lines(statement: &Statement, when: &str) -> Vec<String> {
    let text = one_line(&statement.text);
    let text = if text.is_empty() { text } else { format!(": {text}") };
    let first = format!("{}{when}{text}", one_line(&statement.heading()));
    std::iter::once(first).chain(statement.points.iter().map(|point| one_line(point))).collect()
}

/// The parts of a brief that a prompt has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BriefExtent {
    Whole,
    /// The news, for an agent whose session has the rest: what the visit is about, and what was said since the last one.
    News,
}

/// The sections that are news at a visit that returns to its agent.
const NEWS: [&str; 6] = ["Escalated", "Asked", "Expected", "Time", "Sent back", "Said"];

/// Returns the brief as Markdown for a prompt. `renewal` names the way to renew the claim; it may be empty.
pub(crate) fn brief_markdown(
    file: &TaskFile,
    context: &GateContext,
    renewal: &str,
    extent: BriefExtent,
) -> String {
    let author = created_by(file).map(|author| format!(" {author}.")).unwrap_or_default();
    let mut text = format!(
        "# {}: {}\n\nGate `{}`, ticket `{}`.{author}\n\n{}\n",
        file.task.id,
        one_line(&file.task.title),
        context.gate,
        context.ticket,
        inert(&context.role)
    );
    if extent == BriefExtent::News {
        text.push_str(&format!(
            "\nThe task is back with you, and this session goes on. Below is what is new; `aof brief {}` shows the rest.\n",
            context.ticket
        ));
    }
    let is_told = |title: &str| {
        extent == BriefExtent::Whole || NEWS.iter().any(|known| title.starts_with(known))
    };
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() && is_told(title) {
            text.push_str(&format!("\n## {title}\n\n{}\n", lines.join("\n")));
        }
    };
    let items = |list: &[String]| -> Vec<String> {
        list.iter().map(|item| format!("- {}", one_line(item))).collect()
    };
    let place = place_in_loops(context);
    section("Item", context.item.iter().map(|(_, value)| inert(&as_text(value))).collect());
    section("Loop", place.map(|place| format!("This is {place}.")).into_iter().collect());
    let block = |text: &Option<String>| text.iter().map(|text| inert(text.trim_end())).collect();
    section("Escalated", context.escalation.iter().map(|why| one_line(&why.to_string())).collect());
    section("Asked", block(&context.prompt));
    section("Instructions", block(&context.instructions));
    section("Expected", items(&context.expectations));
    let outcomes = context.outcomes.iter();
    let outcomes = outcomes.map(|(outcome, text)| format!("- `{outcome}`: {}", one_line(text)));
    let verdict = context.verdict.iter().map(|verdict| format!("\n{}", verdict_in_words(verdict)));
    section("Outcomes", outcomes.chain(verdict).collect());
    for form in &context.outputs {
        let mut lines = items(&output_lines(form));
        let example = serde_json::to_string_pretty(&form.example).unwrap_or_default();
        lines.push(format!("\n```json\n{}\n```", inert(&example)));
        section(&format!("Outputs with `{}`", form.outcome), lines);
    }
    section("Files", context.files.iter().map(|path| format!("- `{}`", one_line(path))).collect());
    section("Checks", items(&context.check_lines()));
    section("Tests", items(&test_lines(file)));
    section("Tips", items(&context.tips));
    let kept = |end| match renewal {
        "" => format!("The claim ends at {end}, unless it is renewed."),
        way => format!("Work that goes on beyond {end} is kept by {way}."),
    };
    section("Work", file.task.work().iter().map(|work| format!("- {work}")).collect());
    section("Plan", items(&plan_texts(file)));
    section("Time", context.claimed_until.map(kept).into_iter().collect());
    for review in context.review.iter().chain(&context.earlier) {
        let mut lines = items(&review.blockers);
        lines.extend(review.notes.iter().map(|notes| format!("\n{}", inert(notes.trim_end()))));
        let by = review.from_agent.as_ref().map(|agent| format!(" by {agent}"));
        section(&format!("Sent back{}", by.unwrap_or_default()), lines);
    }
    let line = |one: &Statement| format!("- {}", statement_lines(one, "").join("\n  - "));
    section("Said", context.statements.iter().map(line).collect());
    let task =
        [file.task.description.as_deref().unwrap_or_default(), file.body().trim_matches('\n')];
    let parts: Vec<String> =
        task.iter().filter(|part| !part.trim().is_empty()).map(|part| inert(part)).collect();
    section("Task", parts.join("\n\n").lines().map(str::to_owned).collect());
    text
}
