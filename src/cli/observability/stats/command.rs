//! `aof stats`

use super::overview;
use super::tables;
use std::process::ExitCode;

use clap::ValueEnum;

use crate::cli::error::CliError;
use crate::cli::input::since::Since;
use crate::cli::render::table::width;
use crate::cli::render::unreadable_files;
use crate::cli::session::Session;
use crate::domain::{WorkflowName, listed};
use crate::files::printable::inert;
use crate::observability::stats::numbers::Share;
use crate::observability::stats::report::{Question, Stats, stats};

/// So many tasks are named before it is enough.
pub(crate) const FEW: usize = 4;
/// What is said where tasks have only waited.
pub(crate) const NO_VISITS: &str =
    "no visit of a gate has ended in this time, so there is little to count";

/// Show how the process does: bottlenecks, rejections, loops, idle gates, agents, trends
///
/// All is counted from the histories of the tasks. How it is counted is told in docs/reference/statistics.md.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof stats                          one screen, since the first task
  aof stats --since 30d              of the last 30 days
  aof stats --since 2026-11-01 --workflow default
  aof stats --by agent               a table: `agent`, `gate`, `tag` or `week`
  aof stats --json                   everything, for programs")]
pub(crate) struct Args {
    /// Count only what ended in this time: `30d`, `12h`, or since a day, as in `2026-11-01`
    #[arg(long, value_name = "TIME")]
    since: Option<Since>,
    /// Count only tasks of this workflow
    #[arg(long, value_name = "NAME")]
    workflow: Option<WorkflowName>,
    /// Show one table in place of the screen; with `--json` all is there anyway
    #[arg(long, value_name = "WHAT", conflicts_with = "json")]
    by: Option<By>,
}

/// What a table is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// How much each agent did, how fast, and what was sent back
    Agent,
    /// How long tasks stay at each gate, and what it sends back
    Gate,
    /// How long tasks of each tag take, and how often they go round
    Tag,
    /// What was created, completed and sent back in each week
    Week,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("stats")?;
    let in_force = session.rules(&workspace)?;
    let since = args.since.map(|since| since.from(workspace.now()));
    let question = Question { since, workflow: args.workflow.clone() };
    let stats = stats(&workspace, &in_force, &question)?;
    if session.output.is_json() {
        session.output.data(stats.value());
    } else if stats.tally.all == 0 {
        session.output.line(nothing(&stats));
    } else if stats.tally.visits == 0 && matches!(args.by, Some(By::Agent | By::Tag)) {
        session.output.line(NO_VISITS);
    } else {
        session.output.print(&match args.by {
            None => overview::page(&stats, width()),
            Some(By::Agent) => tables::agents(&stats, tables::ALL).render(width()),
            Some(By::Gate) => tables::gates_in_full(&stats).render(width()),
            Some(By::Tag) => tables::tags(&stats).render(width()),
            Some(By::Week) => tables::weeks(&stats).render(width()),
        });
        tell_of_clocks(session, &stats);
    }
    Ok(unreadable_files::tell(session, &stats.unreadable))
}

fn nothing(stats: &Stats) -> String {
    let of = stats
        .workflow
        .as_ref()
        .map(|name| format!(" of workflow `{}`", inert(name)))
        .unwrap_or_default();
    format!("there are no tasks{of} yet: create one with `aof task new \"...\"`")
}

/// Numbers that a wrong clock spoilt are not shown as if they were whole.
fn tell_of_clocks(session: &Session, stats: &Stats) {
    let names = match stats.skewed.as_slice() {
        [] => return,
        few if few.len() <= FEW => listed(few),
        many => format!("{} and {} more", many[..FEW].join(", "), many.len() - FEW),
    };
    let what = "visits that ended before they began, by the clocks of two machines, count as 0s";
    session.warn(&inert(&format!("{what}: see `aof task history` of {names}")));
}

/// Returns a share in percent.
pub(crate) fn percent(share: Share) -> String {
    share.rate().map_or_else(|| "-".to_owned(), |rate| format!("{:.0}%", rate * 100.0))
}

/// Returns the number with its noun.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
