//! `aof status`

use std::process::ExitCode;

use crate::cli::{CliResult, Session, bold, cyan, green, indented, yellow};
use crate::domain::Status;
use crate::files::printable::inert;
use crate::health::status::{Overview, overview, overview_value};
use crate::storage::lock::is_watched;
use crate::tasks::headers::summary::NEW;

/// How many points of one kind are shown.
const FEW: usize = 5;

pub(crate) fn run(session: &Session) -> CliResult {
    let workspace = session.workspace("status")?;
    let overview = overview(&workspace, is_watched(&workspace.paths))?;
    session.output.show(|| overview_value(&overview), || page(&overview));
    Ok(ExitCode::SUCCESS)
}

fn page(overview: &Overview) -> String {
    let name = overview.name.as_ref().map(|name| format!("{}, ", bold(inert(name))));
    let branch = overview.branch.as_ref().map(|branch| format!("branch {}", cyan(inert(branch))));
    let branch = branch.unwrap_or_else(|| "no branch".to_owned());
    let mut lines = vec![format!("{}on {branch}", name.unwrap_or_default())];
    lines.extend(overview.remote.as_ref().map(|remote| inert(&remote.line())));
    lines.push(counts(overview));
    if overview.drifted > 0 {
        let count = overview.drifted;
        let they = if count == 1 { "it goes" } else { "they go" };
        lines.push(format!(
            "{count} came to a gate under earlier rules, and {they} on under those in force"
        ));
    }
    lines.push(String::new());
    if overview.attention.is_empty() {
        lines.push(green("nothing needs attention"));
    } else {
        lines.push(bold("Needs attention"));
    }
    for alike in overview.attention.chunk_by(|a, b| a.code == b.code) {
        for point in alike.iter().take(FEW) {
            lines.push(format!("  {} {}", yellow("!"), indented(&point.problem, "    ")));
            lines.push(format!("    {}", indented(&point.fix, "    ")));
        }
        if alike.len() > FEW {
            lines.push(format!("    ... and {} more of the kind", alike.len() - FEW));
        }
    }
    lines.join("\n") + "\n"
}

/// Returns how many tasks there are, in the order in which work flows.
fn counts(overview: &Overview) -> String {
    let order = [NEW].into_iter().chain(Status::ALL.iter().map(|status| status.as_str()));
    let count =
        |word: &str| Some(format!("{} {}", overview.counts.get(word)?, word.replace('_', " ")));
    let parts: Vec<String> = order.filter_map(count).collect();
    match overview.counts.values().sum::<usize>() {
        0 => "no active tasks".to_owned(),
        1 => format!("1 active task: {}", parts.join(", ")),
        all => format!("{all} active tasks: {}", parts.join(", ")),
    }
}
