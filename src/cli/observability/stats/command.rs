//! `aof stats`

use super::{overview, tables};
use crate::cli::render::findings;
use crate::cli::{CliResult, PastTime, Session, Words, first_of, width, words};
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
    #[arg(long, value_name = "WHAT", value_parser = words(TABLES), conflicts_with = "json")]
    by: Option<StatsTable>,
}

/// What a table is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatsTable {
    Agent,
    Gate,
    Tag,
    Week,
}

const TABLES: Words<StatsTable> = &[
    ("agent", StatsTable::Agent, "How much each agent did, how fast, and what was sent back"),
    ("gate", StatsTable::Gate, "How long tasks stay at each gate, and what it sends back"),
    ("tag", StatsTable::Tag, "How long tasks of each tag take, and how often they go round"),
    ("week", StatsTable::Week, "What was created, completed and sent back in each week"),
];

pub(crate) fn run(session: &Session, args: &StatsArgs) -> CliResult {
    let (workspace, in_force) = session.open("stats")?;
    let since = args.since.map(|since| since.from(workspace.now()));
    let question = Question { since, workflow: args.workflow.clone() };
    let stats = stats(&workspace, &in_force, &question)?;
    let output = session.output;
    let has_no_visits = stats.tally.visits == 0;
    match args.by {
        _ if output.is_json() => output.data(stats.value()),
        _ if stats.tally.all == 0 => {
            let workflow = stats.workflow.as_ref().map(|name| format!(" of workflow `{name}`"));
            let of = inert(&workflow.unwrap_or_default());
            output.line(format!(
                "there are no tasks{of} yet: create one with `aof task new \"...\"`"
            ));
        }
        Some(StatsTable::Agent | StatsTable::Tag) if has_no_visits => {
            output.line(overview::NO_VISITS);
        }
        by => {
            output.print(&match by {
                None => overview::page(&stats, width()),
                Some(StatsTable::Agent) => tables::agents(&stats, usize::MAX),
                Some(StatsTable::Gate) => tables::gates(&stats, None),
                Some(StatsTable::Tag) => tables::tags(&stats),
                Some(StatsTable::Week) => tables::weeks(&stats),
            });
            warn_of_clocks(session, &stats);
        }
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
