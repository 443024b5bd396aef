//! `aof stats`

use std::process::ExitCode;

use clap::ValueEnum;

use super::{overview, tables};
use crate::cli::error::CliError;
use crate::cli::output::{first_of, width};
use crate::cli::render::findings;
use crate::cli::session::Session;
use crate::cli::time::PastTime;
use crate::domain::{WorkflowName, listed};
use crate::files::printable::inert;
use crate::observability::stats::report::{Question, Stats, stats};

/// How many tasks with wrong clocks are named.
const FEW: usize = 4;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof stats                          one screen, since the first task
  aof stats --since 30d              of the last 30 days
  aof stats --since 2026-11-01 --workflow default
  aof stats --by agent               a table: `agent`, `gate`, `tag` or `week`
  aof stats --json                   everything, for programs")]
pub(crate) struct StatsArgs {
    /// Count only what ended in this time: `30d`, `12h`, or since a day, as in `2026-11-01`
    #[arg(long, value_name = "TIME")]
    since: Option<PastTime>,
    /// Count only tasks of this workflow
    #[arg(long, value_name = "NAME")]
    workflow: Option<WorkflowName>,
    /// Show one table in place of the screen; `--json` has all of them
    #[arg(long, value_name = "WHAT", conflicts_with = "json")]
    by: Option<StatsTable>,
}

/// What a table is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StatsTable {
    /// How much each agent did, how fast, and what was sent back
    Agent,
    /// How long tasks stay at each gate, and what it sends back
    Gate,
    /// How long tasks of each tag take, and how often they go round
    Tag,
    /// What was created, completed and sent back in each week
    Week,
}

pub(crate) fn run(session: &Session, args: &StatsArgs) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("stats")?;
    let in_force = session.rules(&workspace)?;
    let since = args.since.map(|since| since.from(workspace.now()));
    let question = Question { since, workflow: args.workflow.clone() };
    let stats = stats(&workspace, &in_force, &question)?;
    if session.output.is_json() {
        session.output.data(stats.value());
    } else if stats.tally.all == 0 {
        let workflow = stats.workflow.as_ref();
        let of = workflow.map(|name| format!(" of workflow `{}`", inert(name))).unwrap_or_default();
        session
            .output
            .line(format!("there are no tasks{of} yet: create one with `aof task new \"...\"`"));
    } else if stats.tally.visits == 0
        && matches!(args.by, Some(StatsTable::Agent | StatsTable::Tag))
    {
        session.output.line(overview::NO_VISITS);
    } else {
        session.output.print(&match args.by {
            None => overview::page(&stats, width()),
            Some(StatsTable::Agent) => tables::agents(&stats, tables::ALL).render(width()),
            Some(StatsTable::Gate) => tables::gates_in_full(&stats).render(width()),
            Some(StatsTable::Tag) => tables::tags(&stats).render(width()),
            Some(StatsTable::Week) => tables::weeks(&stats).render(width()),
        });
        warn_of_clocks(session, &stats);
    }
    Ok(findings::tell_unreadable(session, &stats.unreadable))
}

/// Warns of numbers that wrong clocks spoilt.
fn warn_of_clocks(session: &Session, stats: &Stats) {
    let names = match stats.skewed.as_slice() {
        [] => return,
        few if few.len() <= FEW => listed(few),
        many => first_of(many, FEW),
    };
    let what = "visits that ended before they began, by the clocks of two machines, count as 0s";
    session.warn(&inert(&format!("{what}: see `aof task history` of {names}")));
}
