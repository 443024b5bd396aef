//! `aof status`

use std::process::ExitCode;

use crate::cli::error::CliError;
use crate::cli::render::output::{BOLD, CYAN, GREEN, YELLOW, styled};
use crate::cli::session::Session;
use crate::domain::Status;
use crate::files::printable::inert;
use crate::health::status::{Overview, overview, overview_value};
use crate::storage::watcher_presence::is_watched;
use crate::tasks::headers::header::NEW;

/// So many points of one kind are shown before it is enough.
const FEW: usize = 5;

pub(crate) fn run(session: &Session) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("status")?;
    let overview = overview(&workspace, is_watched(&workspace.paths))?;
    if session.output.is_json() {
        session.output.data(overview_value(&overview));
    } else {
        session.output.print(&page(&overview));
    }
    Ok(ExitCode::SUCCESS)
}

fn page(overview: &Overview) -> String {
    let name = overview
        .name
        .as_ref()
        .map(|name| format!("{}, ", styled(BOLD, inert(name))))
        .unwrap_or_default();
    let mut text = match &overview.branch {
        Some(branch) => format!("{name}on branch {}\n", styled(CYAN, inert(branch))),
        None => format!("{name}on no branch\n"),
    };
    if let Some(remote) = &overview.remote {
        text.push_str(&format!("{}\n", inert(&remote.line())));
    }
    text.push_str(&format!("{}\n", counts(overview)));
    if overview.drifted > 0 {
        let count = overview.drifted;
        let they = if count == 1 { "it goes" } else { "they go" };
        text.push_str(&format!(
            "{count} came to a gate under earlier rules, and {they} on under those in force\n"
        ));
    }
    text.push('\n');
    if overview.attention.is_empty() {
        text.push_str(&format!("{}\n", styled(GREEN, "nothing needs attention")));
        return text;
    }
    text.push_str(&format!("{}\n", styled(BOLD, "Needs attention")));
    for alike in overview.attention.chunk_by(|a, b| a.code == b.code) {
        for point in &alike[..alike.len().min(FEW)] {
            text.push_str(&format!("  {} {}\n", styled(YELLOW, "!"), indented(&point.problem)));
            text.push_str(&format!("    {}\n", indented(&point.fix)));
        }
        if alike.len() > FEW {
            text.push_str(&format!("    ... and {} more of the kind\n", alike.len() - FEW));
        }
    }
    text
}

/// Returns how many tasks there are, in the order in which work flows.
fn counts(overview: &Overview) -> String {
    let all: usize = overview.counts.values().sum();
    let order = [NEW].into_iter().chain(Status::ALL.iter().map(|status| status.as_str()));
    let parts: Vec<String> = order
        .filter_map(|word| {
            overview.counts.get(word).map(|count| format!("{count} {}", word.replace('_', " ")))
        })
        .collect();
    match all {
        0 => "no active tasks".to_owned(),
        1 => format!("1 active task: {}", parts.join(", ")),
        _ => format!("{all} active tasks: {}", parts.join(", ")),
    }
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(inert).collect();
    lines.join("\n    ")
}
