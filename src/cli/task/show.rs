//! `aof task show`

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::error::CliError;
use crate::cli::render::page::{
    TaskPage, branches, not_adopted, place, status, turn, warn_of_visit,
};
use crate::cli::session::Session;
use crate::domain::{Priority, TaskId, Ticket, Timestamp};
use crate::files::printable::{inert, one_line};
use crate::files::task_file::Origin;
use crate::rules::Rules;
use crate::tasks::view::task_view::{TaskView, frozen, is_drifted, show, task_value};

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    ticket: Ticket,
}

pub(crate) fn run(session: &Session, args: &ShowArgs) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("task show")?;
    let (view, in_force) = show(&workspace, &args.ticket.task)?;
    session.warn_of_rules(&in_force);
    warn_of_visit(session, &args.ticket, &view.file.task);
    let frozen = frozen(&workspace, &args.ticket.task);
    if let Some(frozen) = &frozen {
        session.warn(&inert(&format!("it is frozen: {}", frozen.problem)));
        session.output.say(format!("  {}", inert(&frozen.fix)));
    }
    if session.output.is_json() {
        let mut value = task_value(&in_force.rules, &view.file, &view.path);
        if let Some(frozen) = frozen {
            value["frozen"] = json!(frozen.fields);
        }
        session.output.data(value);
    } else {
        session.output.print(&page(&in_force.rules, &view, workspace.now()));
    }
    Ok(ExitCode::SUCCESS)
}

fn page(rules: &Rules, view: &TaskView, now: Timestamp) -> String {
    let task = &view.file.task;
    let mut page = TaskPage::of(task);
    page.facts(&facts(rules, view, now));
    let branches = branches(rules, task);
    if !branches.is_empty() {
        page.head("Branches");
        page.facts(&branches);
    }
    page.text(task.description.as_deref().unwrap_or_default());
    page.section("Blocked by", &task.blockers);
    if let Some(review) = &task.review {
        page.review(review, Some(&review.from_gate), now);
    }
    page.text(view.file.body());
    page.into_text()
}

fn facts(rules: &Rules, view: &TaskView, now: Timestamp) -> Vec<(&'static str, String)> {
    let task = &view.file.task;
    let mut facts = Vec::new();
    match view.file.origin {
        Origin::HandMade => {
            let gate = view.context.as_ref().map(|context| &context.gate);
            facts.push(("status", not_adopted(gate)));
        }
        Origin::Adopted => {
            facts.push(("status", status(task)));
            facts.extend(place(task, now).map(|place| ("gate", place)));
            if task.gate.as_ref().is_some_and(|open| open.branches.is_empty()) {
                facts.push(("who", turn(rules, &view.file)));
            }
        }
    }
    if is_drifted(rules, task) {
        let drifted = "it came here under earlier ones; `aof why` says what that means";
        facts.push(("rules", drifted.to_owned()));
    }
    if rules.project.workflows.len() > 1 {
        facts.push(("workflow", task.routing.workflow.to_string()));
    }
    let has_priority = task.priority() != Priority::Medium;
    if has_priority {
        facts.push(("priority", task.priority().to_string()));
    }
    if !task.tags.is_empty() {
        facts.push(("tags", one_line(&task.tags.join(", "))));
    }
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), one_line);
    let metadata: Vec<String> = task
        .metadata
        .iter()
        .filter(|(key, _)| !(has_priority && *key == "priority"))
        .map(|(key, value)| format!("{key}={}", plain(value)))
        .collect();
    if !metadata.is_empty() {
        facts.push(("metadata", inert(&metadata.join(", "))));
    }
    if !task.depends_on.is_empty() {
        let ids: Vec<&str> = task.depends_on.iter().map(TaskId::as_str).collect();
        facts.push(("depends on", ids.join(", ")));
    }
    facts.push(("file", inert(view.path.as_str())));
    facts
}
