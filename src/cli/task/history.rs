//! `aof task history`

use std::process::ExitCode;

use crate::cli::length::length;
use crate::cli::output::{BOLD, CYAN, GREEN, RED, YELLOW, styled};
use crate::cli::page::warn_of_visit;
use crate::cli::session::Session;
use crate::cli::trouble::Trouble;
use crate::format::plain::{inert, one_line};
use crate::model::{Destination, Ending, GateId, Outcome, Status, Ticket, Visit};
use crate::ops::{HistoryView, history, history_value};

/// Show a task's way through its gates
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    ticket: Ticket,
}

pub(super) fn run(session: &Session, args: &Args) -> Result<ExitCode, Trouble> {
    let workspace = session.workspace("task history")?;
    let (view, in_force) = history(&workspace, &args.ticket.task)?;
    session.warn_of_rules(&in_force);
    warn_of_visit(session, &args.ticket, &view.task);
    if session.output.is_json() {
        session.output.data(history_value(&view));
        return Ok(ExitCode::SUCCESS);
    }
    let mut parts: Vec<String> = view.task.history.iter().map(ended).collect();
    parts.extend(open(&view));
    if parts.is_empty() {
        session.output.say(format!("{} has no history: it stands at no gate yet", view.task.id));
    } else {
        session.output.print(&parts.join("\n"));
    }
    Ok(ExitCode::SUCCESS)
}

fn ended(visit: &Visit) -> String {
    let mut text = format!("Gate: {}{}\n", styled(CYAN, visit.station()), of_role(visit));
    if let Some(agent) = &visit.agent {
        text.push_str(&format!("  Agent: {agent}\n"));
    }
    text.push_str(&format!("  Duration: {}\n", length(visit.duration())));
    text.push_str(&format!("  Outcome: {}{}\n", outcome(&visit.outcome), way(visit)));
    if !visit.skipped.is_empty() {
        let names: Vec<&str> = visit.skipped.iter().map(GateId::as_str).collect();
        text.push_str(&format!("  Skipped: {}\n", names.join(", ")));
    }
    if let Some(join) = visit.join {
        let left: Vec<&str> = visit.unfinished.iter().map(GateId::as_str).collect();
        let left = if left.is_empty() { String::new() } else { format!(" (not finished: {})", left.join(", ")) };
        text.push_str(&format!("  Join: {join}{left}\n"));
    }
    if !visit.summary.is_empty() {
        text.push_str(&format!("  Summary: {}\n", indented(&visit.summary, "    ")));
    }
    text.push_str(&blockers(&visit.blockers));
    if let Some(notes) = &visit.rejection_notes {
        text.push_str(&format!("  Notes: {}\n", indented(notes, "    ")));
    }
    text
}

fn of_role(visit: &Visit) -> String {
    visit.role.as_ref().map(|role| format!(" ({role})")).unwrap_or_default()
}

fn open(view: &HistoryView) -> Option<String> {
    let task = &view.task;
    let (open, lasting) = (task.gate.as_ref()?, view.lasting?);
    let role = task.routing.role.as_ref().map(|role| format!(" ({role})")).unwrap_or_default();
    let mut text = format!("Gate: {}{role} {}\n", styled(CYAN, &open.current), styled(BOLD, "[CURRENT]"));
    if let Some(agent) = &task.routing.agent {
        text.push_str(&format!("  Agent: {agent}\n"));
    }
    let state = match task.status {
        Status::InProgress => "in progress".to_owned(),
        Status::Blocked => styled(YELLOW, "blocked"),
        _ => "waiting".to_owned(),
    };
    text.push_str(&format!("  Duration: {} ({state})\n", length(lasting)));
    for branch in &open.branches {
        let agent = branch.agent.as_ref().map(|agent| format!(", {agent}")).unwrap_or_default();
        text.push_str(&format!("  Branch: {} ({}): {}{agent}\n", branch.id, branch.role, branch.status));
    }
    text.push_str(&blockers(&task.blockers));
    if let Some(review) = &task.review {
        let count = review.blockers.len();
        let things = if count == 1 { "1 blocker".to_owned() } else { format!("{count} blockers") };
        text.push_str(&format!("  Review context: {things} from {}\n", review.from_gate));
    }
    Some(text)
}

fn outcome(ending: &Ending) -> String {
    match ending {
        Ending::Said(Outcome::Complete) => styled(GREEN, ending),
        Ending::Said(Outcome::NeedsReview) => styled(RED, ending),
        Ending::Said(Outcome::Blocked) => styled(YELLOW, ending),
        _ => ending.to_string(),
    }
}

/// Where the visit led, unless the task stayed.
fn way(visit: &Visit) -> String {
    match &visit.to {
        Some(Destination::Gate(gate)) if *gate == visit.gate => String::new(),
        Some(to) => format!(" -> {}", to.noun()),
        None => String::new(),
    }
}

fn blockers(list: &[String]) -> String {
    if list.is_empty() {
        return String::new();
    }
    let mut text = "  Blockers:\n".to_owned();
    for blocker in list {
        text.push_str(&format!("    - {}\n", one_line(blocker)));
    }
    text
}

/// Further lines of a text stand below its first.
fn indented(text: &str, indent: &str) -> String {
    let lines: Vec<String> = text.trim().lines().map(inert).collect();
    lines.join(&format!("\n{indent}"))
}
