//! `aof task history`

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;

use crate::cli::error::CliError;
use crate::cli::input::length::length;
use crate::cli::render::output::{BOLD, CYAN, GREEN, RED, YELLOW, styled};
use crate::cli::render::page::warn_of_visit;
use crate::cli::session::Session;
use crate::domain::{Destination, Ending, GateId, Outcome, Status, Ticket, Visit};
use crate::files::printable::{inert, one_line};
use crate::history::evidence::evidence;
use crate::project::workspace::Workspace;
use crate::rules::NAMESPACE;
use crate::tasks::view::history::{HistoryView, history, history_value};

/// Show a task's way through its gates
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof task history AOF-7qk
  aof task history AOF-7qk@3 --export DIR      what was signed at that visit, for `ssh-keygen -Y verify`")]
pub(crate) struct Args {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    /// Write what was signed at that visit, the signature and the keys into this folder, for `ssh-keygen -Y verify`
    #[arg(long, value_name = "DIR")]
    export: Option<PathBuf>,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("task history")?;
    if let Some(folder) = &args.export {
        return export(session, &workspace, &args.ticket, folder);
    }
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

/// Writes what it takes to check a signature without aof.
fn export(
    session: &Session,
    workspace: &Workspace,
    ticket: &Ticket,
    folder: &Path,
) -> Result<ExitCode, CliError> {
    let found = evidence(workspace, ticket)?;
    let fault = |path: &Path| {
        let path = path.to_owned();
        move |cause| CliError::Output { path, cause }
    };
    std::fs::create_dir_all(folder).map_err(fault(folder))?;
    let files = [
        ("completion", found.text),
        ("completion.sig", format!("{}\n", found.signature)),
        ("allowed_signers", found.allowed_signers),
    ];
    // What stands there may be anything, even the list that ssh itself goes by.
    if let Some((name, _)) =
        files.iter().find(|(name, _)| folder.join(name).symlink_metadata().is_ok())
    {
        return Err(CliError::Unfit {
            code: "file_exists",
            problem: format!(
                "`{}` is there already, and is not written over",
                folder.join(name).display()
            ),
            fix: "name another folder, or one that is not there yet".to_owned(),
        });
    }
    for (name, text) in &files {
        let path = folder.join(name);
        let file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(fault(&path))?;
    }
    let check = format!(
        "ssh-keygen -Y verify -f allowed_signers -I {} -n {NAMESPACE} -s completion.sig < completion",
        found.agent
    );
    if session.output.is_json() {
        session.output.data(json!({
            "task": found.ticket.to_string(),
            "agent": found.agent.as_str(),
            "commit": found.commit.map(|commit| commit.to_string()),
            "folder": folder.display().to_string(),
            "files": files.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            "check": check,
        }));
    } else {
        session.output.line(format!(
            "{}: what `{}` signed, and the keys that counted then",
            found.ticket, found.agent
        ));
        session.output.line(format!("check it in `{}`:\n  {check}", folder.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn ended(visit: &Visit) -> String {
    let mut text = format!("Gate: {}{}\n", styled(CYAN, visit.station()), of_role(visit));
    if let Some(agent) = &visit.agent {
        text.push_str(&format!("  Agent: {agent}\n"));
    }
    if let Some(signature) = &visit.signature {
        text.push_str(&format!("  Signed: with {}\n", signature.key().fingerprint()));
    }
    text.push_str(&format!("  Duration: {}\n", length(visit.duration())));
    text.push_str(&format!("  Outcome: {}{}\n", outcome(&visit.outcome), way(visit)));
    if !visit.skipped.is_empty() {
        let names: Vec<&str> = visit.skipped.iter().map(GateId::as_str).collect();
        text.push_str(&format!("  Skipped: {}\n", names.join(", ")));
    }
    if let Some(join) = visit.join {
        let left: Vec<&str> = visit.unfinished.iter().map(GateId::as_str).collect();
        let left = if left.is_empty() {
            String::new()
        } else {
            format!(" (not finished: {})", left.join(", "))
        };
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
    let mut text =
        format!("Gate: {}{role} {}\n", styled(CYAN, &open.current), styled(BOLD, "[CURRENT]"));
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
        text.push_str(&format!(
            "  Branch: {} ({}): {}{agent}\n",
            branch.id, branch.role, branch.status
        ));
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
