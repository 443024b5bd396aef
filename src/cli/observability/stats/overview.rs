//! The one screen: a line for each question, then the gates and the agents.

use jiff::tz::TimeZone;

use super::tables::{self, percent, spark};
use crate::cli::output::{bold, counted, cyan, dim, green, red, yellow};
use crate::cli::time::length;
use crate::files::printable::one_line;
use crate::observability::stats::breakdowns::AgentStats;
use crate::observability::stats::gates::GateStats;
use crate::observability::stats::loops::MANY as MANY_PASSES;
use crate::observability::stats::report::Stats;
use crate::observability::stats::weeks::{Direction, Week};
use crate::tasks::headers::summary::time;

/// The sentence where tasks have only waited.
pub(crate) const NO_VISITS: &str =
    "no visit of a gate has ended in this time, so there is little to count";
/// How many weeks are drawn.
const WEEKS: usize = 20;
/// How many gates are shown.
const GATES: usize = 8;
/// How many idle gates are named.
const IDLE: usize = 4;
/// The lines of a screen without the prompt, and at least so many agents.
const LINES: usize = 23;
const AGENTS: usize = 3;
/// An agent with fewer completed visits is no example of anything.
const SOME: u64 = 5;
/// The columns of a line, where the width is not known.
const COLUMNS: usize = 80;
/// The column in which answers begin.
const MARGIN: usize = 12;

/// Returns the screen.
pub(crate) fn page(stats: &Stats, width: usize) -> String {
    let mut text = title(stats);
    if stats.tally.visits == 0 {
        text.push_str(&format!("{NO_VISITS}\n"));
    } else {
        let facts = [
            ("Throughput", throughput(stats)),
            ("Lead time", lead(stats)),
            ("First pass", first_pass(stats)),
            ("Rejections", rejections(stats)),
            ("Loops", loops(stats, width)),
            ("Bottleneck", bottleneck(stats)),
            ("Idle", idle(stats)),
            ("Agents", agents(stats)),
        ];
        for (label, fact) in facts.into_iter().filter_map(|(label, fact)| Some((label, fact?))) {
            text.push_str(&format!("{}{fact}\n", bold(format!("{label:<MARGIN$}"))));
        }
    }
    text.push_str(&format!("\n{}", tables::gates(stats, GATES).render(width)));
    more(&mut text, stats.gates.len(), GATES, "gate");
    if !stats.agents.is_empty() {
        // Three lines around the agents: a blank one, the titles, and "... and more".
        let room = LINES.saturating_sub(text.lines().count() + 3).max(AGENTS);
        text.push_str(&format!("\n{}", tables::agents(stats, room).render(width)));
        more(&mut text, stats.agents.len(), room, "agent");
    }
    text
}

fn more(text: &mut String, all: usize, shown: usize, what: &str) {
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

fn throughput(stats: &Stats) -> Option<String> {
    let rate = stats.throughput()?;
    let completed = |week: &Week| Some(u32::try_from(week.completed).map_or(f64::MAX, f64::from));
    Some(format!("{rate:.1} tasks completed a week{}", drawn(stats, completed)))
}

fn lead(stats: &Stats) -> Option<String> {
    let lead = stats.lead?;
    let [p50, p85, p95] = [lead.p50, lead.p85, lead.p95].map(length);
    Some(format!("from created to completed: 50% within {p50}, 85% {p85}, 95% {p95}"))
}

fn first_pass(stats: &Stats) -> Option<String> {
    stats.first_pass.rate()?;
    Some(format!("{} of the completed tasks were never sent back", percent(stats.first_pass)))
}

fn rejections(stats: &Stats) -> Option<String> {
    stats.rejections.rate()?;
    let drawn = drawn(stats, |week| week.rejections.rate());
    let halves = format!("{}, then {}", percent(stats.trend.earlier), percent(stats.trend.later));
    let trend = match stats.trend.direction() {
        Some(Direction::Rising) => format!("  {}: {halves}", red("rising")),
        Some(Direction::Falling) => format!("  {}: {halves}", green("falling")),
        Some(Direction::Steady) => "  steady".to_owned(),
        None => String::new(),
    };
    Some(format!("{} of verdicts{drawn}{trend}", percent(stats.rejections)))
}

fn loops(stats: &Stats, width: usize) -> Option<String> {
    let average = stats.loops.average()?;
    let text = format!("{average:.1} passes a task");
    let many = &stats.loops.many;
    if many.is_empty() {
        return Some(format!("{text}, none over {MANY_PASSES}"));
    }
    let over = format!("{} over {MANY_PASSES}", counted(many.len(), "task"));
    let mut room =
        width.min(COLUMNS).saturating_sub(MARGIN + text.len() + over.len() + "; : , ...".len());
    let mut worst = Vec::new();
    for (task, passes) in many {
        let name = format!("{task} ({passes})");
        if !worst.is_empty() && name.len() + 2 > room {
            break;
        }
        room = room.saturating_sub(name.len() + 2);
        worst.push(name);
    }
    if worst.len() < many.len() {
        worst.push("...".to_owned());
    }
    Some(format!("{text}; {}: {}", yellow(over), worst.join(", ")))
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
    let more = if names.len() > IDLE { ", ..." } else { "" };
    let shown = names[..names.len().min(IDLE)].join(", ");
    (!names.is_empty()).then(|| format!("{shown}{more}: no task was there"))
}

/// Returns the fastest and the slowest agent, measured by their gates, and whose work comes back most.
fn agents(stats: &Stats) -> Option<String> {
    let known = || stats.agents.iter().filter(|agent| agent.rejects.whole >= SOME);
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

/// Returns the weeks as a line of bars. A first week that is cut off is left out: it would look like a bad one.
fn drawn(stats: &Stats, value: impl Fn(&Week) -> Option<f64>) -> String {
    let length = |week: &Week| week.until.saturating_sub(week.from);
    let weeks = match &stats.weeks[..] {
        [first, .., last] if length(first) < length(last) => &stats.weeks[1..],
        weeks => weeks,
    };
    let weeks = &weeks[weeks.len().saturating_sub(WEEKS)..];
    if weeks.len() < 2 {
        return String::new();
    }
    format!("  {}", cyan(spark(&weeks.iter().map(value).collect::<Vec<_>>())))
}
