//! `aof stats`: one screen with a line for each question, and the tables of gates, agents, tags and weeks.

use jiff::tz::TimeZone;

use crate::cli::render::changes;
use crate::cli::render::table::{Cell, Table};
use crate::cli::{
    CYAN, CliResult, DIM, PastTime, RED, Session, Words, YELLOW, bold, counted, cyan, dim,
    first_of, green, length, red, width, words, yellow,
};
use crate::domain::{WorkflowName, listed};
use crate::files::printable::{inert, one_line};
use crate::observability::stats::breakdowns::{AgentStats, Direction, Week};
use crate::observability::stats::gates::{GateStats, MANY as MANY_PASSES};
use crate::observability::stats::numbers::{Share, Spread};
use crate::observability::stats::report::{Stats, StatsQuery, stats};
use crate::project::issue::left_out_warning;
use crate::tasks::headers::summary::time;

/// The number of tasks with wrong clocks that are named.
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

/// The subject of a table.
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

pub(crate) fn run_stats(session: &Session, args: &StatsArgs) -> CliResult {
    let (workspace, in_force) = session.open("stats")?;
    let since = args.since.map(|since| since.from(workspace.now()));
    let question = StatsQuery { since, workflow: args.workflow.clone() };
    let stats = stats(&workspace, &in_force, &question)?;
    let output = session.output;
    let has_no_visits = stats.tally.visits == 0;
    match args.by {
        _ if output.is_json() => output.data(stats.value()),
        _ if stats.tally.all == 0 => {
            let workflow = stats.workflow.as_ref().map(|name| format!(" of workflow `{name}`"));
            let of = inert(&workflow.unwrap_or_default());
            output.line(format!("there are no tasks{of} yet: create one with `aof new \"...\"`"));
        }
        Some(StatsTable::Agent | StatsTable::Tag) if has_no_visits => {
            output.line(NO_VISITS);
        }
        by => {
            output.print(&match by {
                None => page(&stats),
                Some(StatsTable::Agent) => agents(&stats, usize::MAX),
                Some(StatsTable::Gate) => gates(&stats, None),
                Some(StatsTable::Tag) => tags(&stats),
                Some(StatsTable::Week) => weeks(&stats),
            });
            warn_of_clocks(session, &stats);
        }
    }
    session.warn_all(left_out_warning(&workspace).as_slice());
    Ok(changes::tell_unreadable(session, &stats.unreadable))
}

/// Warns of visits with wrong clocks, whose durations count as zero.
fn warn_of_clocks(session: &Session, stats: &Stats) {
    let names = match stats.skewed.as_slice() {
        [] => return,
        few if few.len() <= FEW => listed(few),
        many => first_of(many, FEW),
    };
    let what = "visits that ended before they began, by the clocks of two machines, count as 0s";
    session.warn(&inert(&format!("{what}: see `aof history` of {names}")));
}

/// The sentence if tasks have only waited.
const NO_VISITS: &str = "no visit of a gate has ended in this time, so there is little to count";
/// The number of weeks that are drawn.
const WEEKS: usize = 20;
/// The number of gates that are shown.
const GATES: usize = 8;
/// The number of idle gates that are named.
const IDLE: usize = 4;
/// The number of lines of a screen without the prompt, and the least number of agents.
const LINES: usize = 23;
const AGENTS: usize = 3;
/// The number of completed visits below which an agent is not compared with others.
const LEAST_VISITS: u64 = 5;
/// The number of tasks with the most passes that are named.
const WORST: usize = 3;
/// The column in which answers begin.
const MARGIN: usize = 12;

/// Returns the text of the screen.
fn page(stats: &Stats) -> String {
    let mut text = title(stats);
    if stats.tally.visits == 0 {
        text.push_str(&format!("{NO_VISITS}\n"));
    } else {
        let facts = [
            ("Throughput", throughput(stats)),
            ("Lead time", lead(stats)),
            ("First pass", first_pass(stats)),
            ("Rejections", rejections(stats)),
            ("Loops", loops(stats)),
            ("Delivery", delivery(stats)),
            ("Bottleneck", bottleneck(stats)),
            ("Idle", idle(stats)),
            ("Agents", agent_lines(stats)),
            ("Spent", spent(stats)),
        ];
        for (label, fact) in facts.into_iter().filter_map(|(label, fact)| Some((label, fact?))) {
            text.push_str(&format!("{}{fact}\n", bold(format!("{label:<MARGIN$}"))));
        }
    }
    text.push_str(&format!("\n{}", gates(stats, Some(GATES))));
    add_rest(&mut text, stats.gates.len(), GATES, "gate");
    if !stats.agents.is_empty() {
        // Three lines around the agents: a blank one, the titles, and "... and more".
        let room = LINES.saturating_sub(text.lines().count() + 3).max(AGENTS);
        text.push_str(&format!("\n{}", agents(stats, room)));
        add_rest(&mut text, stats.agents.len(), room, "agent");
    }
    text
}

fn add_rest(text: &mut String, all: usize, shown: usize, what: &str) {
    if all > shown {
        let rest = format!("... and {} more: `aof stats --by {what}`", all - shown);
        text.push_str(&format!("{}\n", dim(rest)));
    }
}

fn title(stats: &Stats) -> String {
    let day = |seconds| time(seconds).to_zoned(TimeZone::system()).date();
    let workflow = stats.workflow.as_ref();
    let workflow = workflow.map(|name| format!(", workflow {}", cyan(one_line(name))));
    let tally = &stats.tally;
    let mut ended = format!("{} completed", tally.completed);
    for (count, word) in [(tally.failed, "failed"), (tally.cancelled, "cancelled")] {
        if count > 0 {
            ended.push_str(&format!(", {count} {word}"));
        }
    }
    format!(
        "{}{}, {} to {}: {} active, {} created, {ended}\n",
        bold(one_line(&stats.project)),
        workflow.unwrap_or_default(),
        day(stats.span.from),
        day(stats.span.until),
        tally.active,
        tally.created,
    )
}

fn spent(stats: &Stats) -> Option<String> {
    let all = (!stats.spent.is_nothing()).then(|| stats.spent.words());
    let parts: Vec<String> = all.into_iter().chain(stats.day.map(|day| day.sentence())).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn throughput(stats: &Stats) -> Option<String> {
    let rate = stats.throughput()?;
    let completed = |week: &Week| Some(u32::try_from(week.completed).map_or(f64::MAX, f64::from));
    Some(format!("{rate:.1} tasks completed a week{}", sparkline(stats, completed)))
}

fn lead(stats: &Stats) -> Option<String> {
    let lead = stats.lead?;
    let [p50, p85, p95] = [lead.p50, lead.p85, lead.p95].map(length);
    Some(format!("from created to completed: 50% within {p50}, 85% {p85}, 95% {p95}"))
}

fn delivery(stats: &Stats) -> Option<String> {
    let all = stats.deliveries.as_ref()?;
    let often = all.per_week.map(|rate| format!(", {rate:.1} a week")).unwrap_or_default();
    let lead = all.lead_time.map(|lead| format!(", 50% within {}", length(lead.p50)));
    let failed = format!("; {} of them failed", all.failures.part);
    let restored = all.time_to_restore.map(|time| format!(", 50% fixed in {}", length(time.p50)));
    let [lead, restored] = [lead, restored].map(Option::unwrap_or_default);
    Some(format!("{}{often}{lead}{failed}{restored}", all.count))
}

fn first_pass(stats: &Stats) -> Option<String> {
    stats.first_pass.rate()?;
    Some(format!("{} of the completed tasks were never sent back", percent(stats.first_pass)))
}

fn rejections(stats: &Stats) -> Option<String> {
    stats.rejections.rate()?;
    let sparkline = sparkline(stats, |week| week.rejections.rate());
    let halves = format!("{}, then {}", percent(stats.trend.earlier), percent(stats.trend.later));
    let trend = match stats.trend.direction() {
        Some(Direction::Rising) => format!("  {}: {halves}", red("rising")),
        Some(Direction::Falling) => format!("  {}: {halves}", green("falling")),
        Some(Direction::Steady) => "  steady".to_owned(),
        None => String::new(),
    };
    Some(format!("{} of verdicts{sparkline}{trend}", percent(stats.rejections)))
}

fn loops(stats: &Stats) -> Option<String> {
    let average = stats.loops.average()?;
    let text = format!("{average:.1} passes a task");
    let many = &stats.loops.many;
    if many.is_empty() {
        return Some(format!("{text}, none over {MANY_PASSES}"));
    }
    let over = format!("{} over {MANY_PASSES}", counted(many.len(), "task"));
    let worst: Vec<String> =
        many.iter().map(|(task, passes)| format!("{task} ({passes})")).collect();
    Some(format!("{text}; {}: {}", yellow(over), first_of(&worst, WORST)))
}

fn bottleneck(stats: &Stats) -> Option<String> {
    let gate = stats.bottleneck()?;
    let visits = gate.spread.map(|spread| format!(", 85% of visits within {}", length(spread.p85)));
    let (name, visits) = (yellow(one_line(&gate.gate)), visits.unwrap_or_default());
    Some(format!("{name}: {} of all time{visits}", percent(gate.time)))
}

fn idle(stats: &Stats) -> Option<String> {
    let name = |gate: &GateStats| match gate.skipped {
        0 => one_line(&gate.gate),
        times => format!("{} (passed over {})", one_line(&gate.gate), counted(times, "time")),
    };
    let names: Vec<String> = stats.gates.iter().filter(|gate| gate.is_idle()).map(name).collect();
    let add_rest = if names.len() > IDLE { ", ..." } else { "" };
    let shown = names[..names.len().min(IDLE)].join(", ");
    (!names.is_empty()).then(|| format!("{shown}{add_rest}: no task was there"))
}

/// Returns the fastest and the slowest agent relative to others at their gates, and the agent whose work is sent back most.
fn agent_lines(stats: &Stats) -> Option<String> {
    let known = || stats.agents.iter().filter(|agent| agent.rejects.whole >= LEAST_VISITS);
    let pace = |agent: &AgentStats| agent.pace.unwrap_or(1.0);
    let fastest = known().min_by(|a, b| pace(a).total_cmp(&pace(b)))?;
    let slowest = known().max_by(|a, b| pace(a).total_cmp(&pace(b)))?;
    let back = |agent: &AgentStats| agent.sent_back.rate().unwrap_or(0.0);
    let worst = known().max_by(|a, b| back(a).total_cmp(&back(b)));
    let mut facts = Vec::new();
    if pace(slowest) > pace(fastest) {
        facts.push(format!("{} fastest ({:.1}x)", one_line(&fastest.agent), pace(fastest)));
        facts.push(format!("{} slowest ({:.1}x)", one_line(&slowest.agent), pace(slowest)));
    }
    if let Some(worst) = worst.filter(|worst| worst.sent_back.part > 0) {
        facts.push(format!("{} sent back {}", one_line(&worst.agent), percent(worst.sent_back)));
    }
    (!facts.is_empty()).then(|| facts.join(", "))
}

/// Returns the weeks as a line of bars. A shorter first week is left out: it would look like a bad one.
fn sparkline(stats: &Stats, value: impl Fn(&Week) -> Option<f64>) -> String {
    let length = |week: &Week| week.until.saturating_sub(week.from);
    let weeks = match &stats.weeks[..] {
        [first, .., last] if length(first) < length(last) => &stats.weeks[1..],
        weeks => weeks,
    };
    let weeks = &weeks[weeks.len().saturating_sub(WEEKS)..];
    if weeks.len() < 2 {
        return String::new();
    }
    format!("  {}", cyan(bars(&weeks.iter().map(value).collect::<Vec<_>>())))
}

/// The longest bar, in characters.
const BAR_WIDTH: u32 = 12;
/// The rejection rate above which it is shown as a problem.
const HIGH_RATE: f64 = 0.5;

/// Returns the table of gates: in full, or with fewer columns and at most `most` gates, those where most of the time is spent.
fn gates(stats: &Stats, most: Option<usize>) -> String {
    let mut shown: Vec<(usize, &GateStats)> = stats.gates.iter().enumerate().collect();
    shown.sort_by(|a, b| b.1.time.part.cmp(&a.1.time.part).then(a.0.cmp(&b.0)));
    shown.truncate(most.unwrap_or(usize::MAX));
    shown.sort_by_key(|(place, _)| *place);
    let rows: Vec<&GateStats> = shown.into_iter().map(|(_, gate)| gate).collect();
    let several = stats.gates.iter().any(|gate| gate.workflow != stats.gates[0].workflow);
    let is_full = most.is_none();
    let in_full = |cell: Cell| if is_full { cell } else { Cell::from("") };
    let bottleneck = stats.bottleneck();
    let share = |gate: &GateStats| {
        let style = if bottleneck == Some(gate) { YELLOW } else { CYAN };
        match gate.time.rate().unwrap_or(0.0) {
            _ if is_full => Cell::from(""),
            _ if gate.is_idle() => Cell::styled(DIM, "idle"),
            rate => Cell::styled(style, bar(rate, BAR_WIDTH)),
        }
    };
    let table = Table::new(&rows)
        .left("WORKFLOW", |gate| Cell::from(if several { gate.workflow.as_str() } else { "" }))
        .left("GATE", |gate| {
            if gate.in_force {
                Cell::styled(CYAN, &gate.gate)
            } else {
                Cell::styled(DIM, format!("{} (gone)", gate.gate))
            }
        })
        .left("ROLE", |gate| in_full(Cell::styled(DIM, gate.role.as_deref().unwrap_or_default())))
        .extra(0)
        .right("VISITS", |gate| in_full(gate.spread.map_or(0, |spread| spread.count).into()))
        .right("P50", |gate| percentile_cell(gate.spread, |spread| spread.p50))
        .right("P85", |gate| percentile_cell(gate.spread, |spread| spread.p85))
        .right("P95", |gate| percentile_cell(gate.spread, |spread| spread.p95))
        .extra(3)
        // A branch has no share of all time: its time is that of the fork above it.
        .right("TIME", |gate| {
            if gate.gate.contains('/') { Cell::from("") } else { percent(gate.time).into() }
        })
        .left("", |gate| share(gate))
        .extra(2)
        .right("REJECTED", |gate| {
            if gate.can_reject { rejection_cell(gate.rejections) } else { or_dash(None) }
        })
        .right("FIRST PASS", |gate| {
            in_full(or_dash(gate.can_reject.then(|| percent(gate.first_pass))))
        })
        .extra(4)
        .right("SKIPPED", |gate| in_full(gate.skipped.into()))
        .extra(2)
        .right("NOW", |gate| gate.standing.into())
        .right("OLDEST", |gate| or_dash(gate.oldest.map(length)))
        .extra(1);
    table.render(width())
}

/// Returns the agents, those with the most visits first.
fn agents(stats: &Stats, most: usize) -> String {
    let slowest = stats.agents.iter().filter_map(|agent| agent.pace).fold(0.0, f64::max);
    let table = Table::new(&stats.agents[..most.min(stats.agents.len())])
        .left("AGENT", |agent| Cell::styled(CYAN, &agent.agent))
        .right("VISITS", |agent| agent.rejects.whole.into())
        .right("P50", |agent| percentile_cell(agent.spread, |spread| spread.p50))
        .right("P85", |agent| percentile_cell(agent.spread, |spread| spread.p85))
        .right("P95", |agent| percentile_cell(agent.spread, |spread| spread.p95))
        .extra(1)
        .right("PACE", |agent| or_dash(agent.pace.map(|pace| format!("{pace:.1}x"))))
        .left("", |agent| {
            let pace = agent.pace.map(|pace| bar(pace / slowest, BAR_WIDTH));
            Cell::styled(CYAN, pace.unwrap_or_default())
        })
        .extra(0)
        .right("SENT BACK", |agent| rejection_cell(agent.sent_back))
        .right("REJECTS", |agent| rejection_cell(agent.rejects));
    table.render(width())
}

/// Returns the tags, those of most tasks first.
fn tags(stats: &Stats) -> String {
    const { assert!(MANY_PASSES == 3, "the title of a column says so") };
    let table = Table::new(&stats.tags)
        .long("TAG", |tag| match &tag.tag {
            None => Cell::styled(DIM, "(no tag)"),
            Some(name) => Cell::styled(CYAN, name),
        })
        .right("TASKS", |tag| tag.loops.tasks.into())
        .right("COMPLETED", |tag| tag.lead.map_or(0, |lead| lead.count).into())
        .right("LEAD P50", |tag| percentile_cell(tag.lead, |lead| lead.p50))
        .right("P85", |tag| percentile_cell(tag.lead, |lead| lead.p85))
        .right("P95", |tag| percentile_cell(tag.lead, |lead| lead.p95))
        .extra(0)
        .right("PASSES", |tag| or_dash(tag.loops.average().map(|passes| format!("{passes:.1}"))))
        .right("OVER 3", |tag| tag.loops.many.len().into())
        .right("REJECTED", |tag| rejection_cell(tag.rejections));
    table.render(width())
}

/// Returns the weeks, the last one last.
fn weeks(stats: &Stats) -> String {
    let most = stats.weeks.iter().map(|week| week.completed).max().unwrap_or(0);
    let day = |seconds| Cell::from(time(seconds).to_zoned(TimeZone::system()).date());
    let table = Table::new(&stats.weeks)
        .left("FROM", |week| day(week.from))
        .left("TO", |week| day(week.until))
        .right("CREATED", |week| week.created.into())
        .right("COMPLETED", |week| week.completed.into())
        .left("", |week| {
            let part = Share { part: week.completed, whole: most };
            Cell::styled(CYAN, bar(part.rate().unwrap_or(0.0), BAR_WIDTH))
        })
        .extra(0)
        .right("LEAD P50", |week| percentile_cell(week.lead, |lead| lead.p50))
        .right("P85", |week| percentile_cell(week.lead, |lead| lead.p85))
        .right("REJECTED", |week| rejection_cell(week.rejections));
    table.render(width())
}

fn percentile_cell(spread: Option<Spread>, of: fn(&Spread) -> u64) -> Cell {
    or_dash(spread.as_ref().map(of).map(length))
}

fn rejection_cell(share: Share) -> Cell {
    let is_much = share.part > 0 && share.rate().is_some_and(|rate| rate > HIGH_RATE);
    if is_much { Cell::styled(RED, percent(share)) } else { Cell::from(percent(share)) }
}

fn or_dash(text: Option<String>) -> Cell {
    Cell::from(text.unwrap_or_else(|| "-".to_owned()))
}

/// Returns a share in percent.
fn percent(share: Share) -> String {
    share.rate().map_or_else(|| "-".to_owned(), |rate| format!("{:.0}%", rate * 100.0))
}

/// Returns a bar that fills a part of `letters` characters; a part above zero is always visible.
fn bar(part: f64, letters: u32) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let part = part.clamp(0.0, 1.0);
    let eighths = steps(part, f64::from(letters) * 8.0).max(usize::from(part > 0.0));
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Returns a bar of one character for each value, relative to the highest; a blank for no value.
fn bars(values: &[Option<f64>]) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let highest = values.iter().flatten().fold(0.0_f64, |highest, value| highest.max(*value));
    let letter = |value: &Option<f64>| match value {
        None => ' ',
        Some(_) if highest <= 0.0 => HEIGHTS[0],
        Some(value) => HEIGHTS[steps(value / highest, 7.0).min(7)],
    };
    values.iter().map(letter).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a part of a few hundred steps"
)]
fn steps(part: f64, all: f64) -> usize {
    (part.clamp(0.0, 1.0) * all).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_part() {
        for (part, text) in [
            (0.0, ""),
            (0.001, "▏"),
            (0.25, "█"),
            (0.5, "██"),
            (0.53, "██▏"),
            (1.0, "████"),
            (7.0, "████"),
        ] {
            assert_eq!(bar(part, 4), text, "{part}");
        }
        assert_eq!(bar(f64::NAN, 4), "");
    }

    #[test]
    fn a_line_of_bars_stands_for_its_highest() {
        assert_eq!(bars(&[]), "");
        assert_eq!(bars(&[Some(0.0), Some(0.0)]), "▁▁");
        assert_eq!(bars(&[Some(0.0), None, Some(1.0), Some(2.0)]), "▁ ▅█");
    }
}
