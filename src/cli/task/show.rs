//! `aof task show`

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::error::CliError;
use crate::cli::render::page::{Page, branches, not_taken_up, place, status, turn, warn_of_visit};
use crate::cli::session::Session;
use crate::domain::{Priority, TaskId, Ticket, Timestamp};
use crate::files::printable::{inert, one_line};
use crate::files::task_file::Origin;
use crate::rules::Rules;
use crate::tasks::view::task_view::{View, frozen, is_drifted, show, task_value};

/// Show a task
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    ticket: Ticket,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("task show")?;
    let (view, in_force) = show(&workspace, &args.ticket.task)?;
    session.warn_of_rules(&in_force);
    warn_of_visit(session, &args.ticket, &view.file.task);
    let frozen = frozen(&workspace, &args.ticket.task);
    if let Some(frozen) = &frozen {
        session.warn(&inert(&format!("nothing moves it: {}", frozen.problem)));
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

fn page(rules: &Rules, view: &View, now: Timestamp) -> String {
    let task = &view.file.task;
    let mut page = Page::of(task);
    page.facts(&facts(rules, view, now));
    let open = branches(rules, task);
    if !open.is_empty() {
        page.head("Branches");
        page.facts(&open.iter().map(|(id, turn)| (id.as_str(), turn.clone())).collect::<Vec<_>>());
    }
    if let Some(description) = &task.description {
        page.text(description);
    }
    if !task.blockers.is_empty() {
        page.head("Blocked by");
        page.list(&task.blockers);
    }
    if let Some(review) = &task.review {
        page.review(review, now);
    }
    page.text(view.file.body());
    page.into_text()
}

fn facts(rules: &Rules, view: &View, now: Timestamp) -> Vec<(&'static str, String)> {
    let task = &view.file.task;
    let mut facts = Vec::new();
    match view.file.origin {
        Origin::HandMade => {
            facts
                .push(("status", not_taken_up(view.context.as_ref().map(|context| &context.gate))));
        }
        Origin::Adopted => {
            facts.push(("status", status(task)));
            facts.extend(place(task, now).map(|place| ("gate", place)));
            let whole = task.gate.as_ref().filter(|open| open.branches.is_empty());
            facts.extend(whole.map(|_| ("who", turn(rules, &view.file))));
        }
    }
    if is_drifted(rules, task) {
        facts.push((
            "rules",
            "it came here under earlier ones; `aof why` says what that means".to_owned(),
        ));
    }
    if rules.project.workflows.len() > 1 {
        facts.push(("workflow", task.routing.workflow.to_string()));
    }
    if task.priority() != Priority::Medium {
        facts.push(("priority", task.priority().to_string()));
    }
    if !task.tags.is_empty() {
        facts.push(("tags", one_line(&task.tags.join(", "))));
    }
    let others = task
        .metadata
        .iter()
        .filter(|(key, _)| *key != "priority" || task.priority() == Priority::Medium);
    let metadata: Vec<String> =
        others.map(|(key, value)| format!("{key}={}", plain(value))).collect();
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

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), one_line)
}
