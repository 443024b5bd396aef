//! `aof task history`

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;

use crate::cli::error::CliError;
use crate::cli::output::{bold, counted, cyan, green, indented, red, yellow};
use crate::cli::render::page::warn_of_visit;
use crate::cli::session::Session;
use crate::cli::time::length;
use crate::domain::{Destination, Ending, GateId, Outcome, Status, Ticket, Visit};
use crate::files::printable::one_line;
use crate::history::evidence::evidence;
use crate::project::workspace::Workspace;
use crate::rules::NAMESPACE;
use crate::tasks::view::history::{HistoryView, history, history_value};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof task history AOF-7qk
  aof task history AOF-7qk@3 --export DIR      what was signed at that visit, for `ssh-keygen -Y verify`")]
pub(crate) struct HistoryArgs {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    /// Write what was signed at that visit, the signature and the keys into this folder, for `ssh-keygen -Y verify`
    #[arg(long, value_name = "DIR")]
    export: Option<PathBuf>,
}

pub(crate) fn run(session: &Session, args: &HistoryArgs) -> Result<ExitCode, CliError> {
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
    let mut visits: Vec<String> = view.task.history.iter().map(ended_visit).collect();
    visits.extend(open_visit(&view));
    if visits.is_empty() {
        session.output.say(format!("{} has no history: it is at no gate yet", view.task.id));
    } else {
        session.output.print(&visits.join("\n"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes what `ssh-keygen` needs to check a signature.
fn export(
    session: &Session,
    workspace: &Workspace,
    ticket: &Ticket,
    folder: &Path,
) -> Result<ExitCode, CliError> {
    let found = evidence(workspace, ticket)?;
    std::fs::create_dir_all(folder).map_err(|cause| CliError::output(folder, &cause))?;
    let files = [
        ("completion", found.text),
        ("completion.sig", format!("{}\n", found.signature)),
        ("allowed_signers", found.allowed_signers),
    ];
    // An existing file may be anything, even the list that ssh itself uses.
    for path in files.iter().map(|(name, _)| folder.join(name)) {
        if path.symlink_metadata().is_ok() {
            return Err(CliError::refused(
                "file_exists",
                format!("`{}` exists already, and is not overwritten", path.display()),
                "name another folder, or one that does not exist yet",
            ));
        }
    }
    for (name, text) in &files {
        let path = folder.join(name);
        let file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|cause| CliError::output(&path, &cause))?;
    }
    let agent = &found.agent;
    let check = format!(
        "ssh-keygen -Y verify -f allowed_signers -I {agent} -n {NAMESPACE} -s completion.sig < completion"
    );
    let output = session.output;
    if output.is_json() {
        output.data(json!({
            "task": found.ticket,
            "agent": agent,
            "commit": found.commit,
            "folder": folder.display().to_string(),
            "files": files.each_ref().map(|(name, _)| *name),
            "check": check,
        }));
    } else {
        let ticket = found.ticket;
        output.line(format!("{ticket}: what `{agent}` signed, and the keys that counted then"));
        output.line(format!("check it in `{}`:\n  {check}", folder.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn ended_visit(visit: &Visit) -> String {
    let role = visit.role.as_ref().map(|role| format!(" ({role})")).unwrap_or_default();
    let mut lines = vec![format!("Gate: {}{role}", cyan(visit.station()))];
    lines.extend(visit.agent.as_ref().map(|agent| format!("  Agent: {agent}")));
    lines.extend(
        visit.signature.as_ref().map(|own| format!("  Signed: with {}", own.key().fingerprint())),
    );
    lines.push(format!("  Duration: {}", length(visit.duration())));
    lines.push(format!("  Outcome: {}{}", outcome(&visit.outcome), destination(visit)));
    let names = |gates: &[GateId]| gates.iter().map(GateId::as_str).collect::<Vec<_>>().join(", ");
    if !visit.skipped.is_empty() {
        lines.push(format!("  Skipped: {}", names(&visit.skipped)));
    }
    if let Some(join) = visit.join {
        let left = match &visit.unfinished[..] {
            [] => String::new(),
            left => format!(" (not finished: {})", names(left)),
        };
        lines.push(format!("  Join: {join}{left}"));
    }
    if !visit.summary.is_empty() {
        lines.push(format!("  Summary: {}", indented(visit.summary.trim(), "    ")));
    }
    lines.extend(blockers(&visit.blockers));
    let notes = visit.rejection_notes.as_ref();
    lines.extend(notes.map(|notes| format!("  Notes: {}", indented(notes.trim(), "    "))));
    lines.join("\n") + "\n"
}

fn open_visit(view: &HistoryView) -> Option<String> {
    let task = &view.task;
    let (open, lasting) = (task.gate.as_ref()?, view.lasting?);
    let role = task.routing.role.as_ref().map(|role| format!(" ({role})")).unwrap_or_default();
    let mut lines = vec![format!("Gate: {}{role} {}", cyan(&open.current), bold("[CURRENT]"))];
    lines.extend(task.routing.agent.as_ref().map(|agent| format!("  Agent: {agent}")));
    let state = match task.status {
        Status::InProgress => "in progress".to_owned(),
        Status::Blocked => yellow("blocked"),
        _ => "waiting".to_owned(),
    };
    lines.push(format!("  Duration: {} ({state})", length(lasting)));
    for branch in &open.branches {
        let agent = branch.agent.as_ref().map(|agent| format!(", {agent}")).unwrap_or_default();
        let (id, role, status) = (&branch.id, &branch.role, branch.status);
        lines.push(format!("  Branch: {id} ({role}): {status}{agent}"));
    }
    lines.extend(blockers(&task.blockers));
    if let Some(review) = &task.review {
        let blockers = counted(review.blockers.len(), "blocker");
        lines.push(format!("  Review context: {blockers} from {}", review.from_gate));
    }
    Some(lines.join("\n") + "\n")
}

fn outcome(ending: &Ending) -> String {
    match ending {
        Ending::Said(Outcome::Complete) => green(ending),
        Ending::Said(Outcome::NeedsReview) => red(ending),
        Ending::Said(Outcome::Blocked) => yellow(ending),
        _ => ending.to_string(),
    }
}

/// Returns where the visit led, unless the task stayed.
fn destination(visit: &Visit) -> String {
    match &visit.to {
        Some(Destination::Gate(gate)) if *gate == visit.gate => String::new(),
        Some(to) => format!(" -> {}", to.noun()),
        None => String::new(),
    }
}

fn blockers(list: &[String]) -> Option<String> {
    let items = list.iter().map(|blocker| format!("\n    - {}", one_line(blocker)));
    (!list.is_empty()).then(|| format!("  Blockers:{}", items.collect::<String>()))
}
