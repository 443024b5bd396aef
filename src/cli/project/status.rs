//! `aof status`.

use std::process::ExitCode;

use serde_json::json;

use super::doctor::FEW;
use crate::cli::{
    ActingAgent, CliResult, DryRunOption, Session, between, bold, counted, cyan, dim, green,
    merged, now, width, wrapped, yellow,
};
use crate::domain::Status;
use crate::files::printable::{inert, one_line};
use crate::health::context::{CheckContext, View};
use crate::health::overview::{
    Overview, StatusEntry, StatusLists, overview, overview_value, status_lists,
};
use crate::project::issue::Issue;
use crate::storage::Inbox;
use crate::storage::lock::is_watched;
use crate::tasks::headers::summary::{NEW, WAITING};
use crate::tasks::plan::DryRun;

/// The number of tasks that a section shows.
const SECTION: usize = 10;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    who: ActingAgent,
    /// Remove all refused completions
    #[arg(long)]
    clear: bool,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

pub(crate) fn run(session: &Session, args: &StatusArgs) -> CliResult {
    let workspace = session.workspace("status")?;
    if args.clear {
        let inbox = Inbox::at(&workspace.paths);
        let names = inbox.refused()?;
        if args.dry_run_option.mode() == DryRun::No {
            inbox.remove_refused(&names)?;
        }
        let count = counted(names.len(), "refused completion");
        session.output.show(|| json!({"cleared": names}), || format!("{count} removed\n"));
        return Ok(ExitCode::SUCCESS);
    }
    let context = CheckContext::read(&workspace, View::Status, is_watched(&workspace.paths))?;
    let overview = overview(&context)?;
    let lists = status_lists(&context, args.who.agent.as_ref());
    let value = || merged(overview_value(&overview), json!(lists));
    let has_people =
        context.project().is_some_and(|project| !project.in_force.rules.project.implicit_workflow);
    let is_unknown = has_people && lists.you.is_none();
    session.output.show(value, || page(&overview, &lists, is_unknown));
    Ok(ExitCode::SUCCESS)
}

fn page(overview: &Overview<'_>, lists: &StatusLists, is_unknown: bool) -> String {
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
    for pause in &overview.paused {
        lines.push(yellow(format!("{}: `aof run --now` does not wait", pause.sentence(now()))));
    }
    lines.push(String::new());
    if is_unknown {
        lines.push(dim(
            "what waits for you is unknown: no agent of org.yaml has git's `user.email`",
        ));
        lines.push(String::new());
    }
    let at = |entry: &StatusEntry| {
        let gate = entry.gate.as_ref().map(|gate| format!("at {gate} ")).unwrap_or_default();
        format!("{gate}for {}", between(entry.since, now()))
    };
    let late = |entry: &StatusEntry| format!("late for {}", between(entry.since, now()));
    section(&mut lines, "Waiting for you", &lists.waiting_for_you, &at, "aof decide");
    section(&mut lines, "Overdue", &lists.overdue, &late, "aof list --overdue");
    section(&mut lines, "Escalated", &lists.escalated, &at, "aof status --json");
    // Overdue tasks have a section of their own.
    let mut attention: Vec<&Issue> =
        overview.attention.iter().filter(|issue| issue.code != "task_overdue").collect();
    attention.sort_by_key(|issue| match issue.code {
        "task_blocked" => 0,
        "task_frozen" => 1,
        _ => 2,
    });
    if attention.is_empty() {
        lines.push(green("nothing needs attention"));
    } else {
        lines.push(bold("Needs attention"));
    }
    for alike in attention.chunk_by(|a, b| a.code == b.code) {
        for issue in alike.iter().take(FEW) {
            lines.push(format!("  {} {}", yellow("!"), paragraph(&issue.problem)));
            lines.push(format!("    {}", paragraph(&issue.fix.to_string())));
        }
        if alike.len() > FEW {
            let rest = match alike[0].code {
                "task_blocked" => ": aof list --status blocked",
                _ => "",
            };
            lines.push(format!("    ... and {} more of the kind{rest}", alike.len() - FEW));
        }
    }
    lines.join("\n") + "\n"
}

/// Returns a text whose lines fit the terminal after an indent of four.
fn paragraph(text: &str) -> String {
    let room = width().saturating_sub(4);
    let lines = text.lines().flat_map(|line| wrapped(&inert(line), room));
    lines.collect::<Vec<_>>().join("\n    ")
}

/// Adds a section of tasks, each with its state and the command to use.
fn section(
    lines: &mut Vec<String>,
    title: &str,
    entries: &[StatusEntry],
    how: &dyn Fn(&StatusEntry) -> String,
    all: &str,
) {
    if entries.is_empty() {
        return;
    }
    lines.push(bold(title));
    for entry in entries.iter().take(SECTION) {
        let reason = entry.reason.as_ref().map(|reason| format!(", {reason}")).unwrap_or_default();
        lines.push(format!("  {}  {}", cyan(&entry.ticket.task), one_line(&entry.title)));
        lines.push(format!("    {}{reason}: {}", how(entry), entry.command));
    }
    if entries.len() > SECTION {
        lines.push(format!("  ... and {} more: {all}", entries.len() - SECTION));
    }
    lines.push(String::new());
}

/// Returns the numbers of tasks, in the order in which work flows.
fn counts(overview: &Overview<'_>) -> String {
    let states = Status::ALL.iter().map(|status| status.as_str());
    let order = [NEW, WAITING].into_iter().chain(states);
    let count =
        |word: &str| Some(format!("{} {}", overview.counts.get(word)?, word.replace('_', " ")));
    let parts: Vec<String> = order.filter_map(count).collect();
    match overview.counts.values().sum::<usize>() {
        0 => "no active tasks".to_owned(),
        1 => format!("1 active task: {}", parts.join(", ")),
        all => format!("{all} active tasks: {}", parts.join(", ")),
    }
}
