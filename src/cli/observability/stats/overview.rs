//! The one screen: a line for each question, then the gates and the agents.

use jiff::tz::TimeZone;

use super::bars::spark;
use super::command::{FEW, counted, percent};
use super::tables;
use crate::cli::input::length::length;
use crate::cli::render::output::{BOLD, CYAN};
use crate::cli::render::output::{DIM, GREEN, RED, YELLOW, styled};
use crate::files::printable::one_line;
use crate::observability::stats::breakdowns::AgentStats;
use crate::observability::stats::gates::GateStats;
use crate::observability::stats::loops::MANY as MANY_PASSES;
use crate::observability::stats::report::Stats;
use crate::observability::stats::weeks::{Direction, Week};
use crate::tasks::headers::header::time;

/// So many weeks are drawn; more would not be told apart.
const WEEKS: usize = 20;
/// So many gates are shown: the screen is one.
const GATES: usize = 8;
/// The lines of a screen, less the one that is for the prompt, and at least so many agents.
const LINES: usize = 23;
const AGENTS: usize = 3;
/// Who completed fewer visits is no example of anything.
const SOME: u64 = 5;
/// The columns of a line, where the width is not known.
const COLUMNS: usize = 80;
/// Where what is said of a question begins.
const MARGIN: usize = 12;

/// Returns the screen.
pub(crate) fn page(stats: &Stats, width: usize) -> String {
    let mut text = title(stats);
    if stats.tally.visits == 0 {
        text.push_str(&format!("{}\n", crate::cli::observability::stats::command::NO_VISITS));
    } else {
        for (label, said) in facts(stats, width) {
            text.push_str(&format!("{}{said}\n", styled(BOLD, format!("{label:<MARGIN$}"))));
        }
    }
    text.push_str(&format!("\n{}", tables::gates(stats, GATES).render(width)));
    more(&mut text, stats.gates.len(), GATES, "gate");
    if !stats.agents.is_empty() {
        // Around the agents stand a blank line, their titles, and what says that there are more.
        let room = LINES.saturating_sub(text.lines().count() + 3).max(AGENTS);
        text.push_str(&format!("\n{}", tables::agents(stats, room).render(width)));
        more(&mut text, stats.agents.len(), room, "agent");
    }
    text
}

fn more(text: &mut String, all: usize, shown: usize, what: &str) {
    if all > shown {
        let rest = format!("... and {} more: `aof stats --by {what}`", all - shown);
        text.push_str(&format!("{}\n", styled(DIM, rest)));
    }
}

fn title(stats: &Stats) -> String {
    let day = |seconds| time(seconds).to_zoned(TimeZone::system()).date();
    let workflow =
        stats.workflow.as_ref().map(|name| format!(", workflow {}", styled(CYAN, one_line(name))));
    let tally = &stats.tally;
    let mut fates = format!("{} completed", tally.completed);
    for (count, word) in [(tally.failed, "failed"), (tally.cancelled, "cancelled")] {
        if count > 0 {
            fates.push_str(&format!(", {count} {word}"));
        }
    }
    format!(
        "{}{}, {} to {}: {} active, {} created, {fates}\n",
        styled(BOLD, one_line(&stats.project)),
        workflow.unwrap_or_default(),
        day(stats.span.from),
        day(stats.span.until),
        tally.active,
        tally.created,
    )
}

/// Returns what is said of each question that there is something to say of.
fn facts(stats: &Stats, width: usize) -> Vec<(&'static str, String)> {
    let said = [
        ("Throughput", throughput(stats)),
        ("Lead time", lead(stats)),
        ("First pass", first_pass(stats)),
        ("Rejections", rejections(stats)),
        ("Loops", loops(stats, width)),
        ("Bottleneck", bottleneck(stats)),
        ("Idle", idle(stats)),
        ("Agents", agents(stats)),
    ];
    said.into_iter().filter_map(|(label, said)| Some((label, said?))).collect()
}

fn throughput(stats: &Stats) -> Option<String> {
    let rate = stats.throughput()?;
    let drawn =
        drawn(stats, |week| Some(u32::try_from(week.completed).map_or(f64::MAX, f64::from)));
    Some(format!("{rate:.1} tasks completed a week{drawn}"))
}

fn lead(stats: &Stats) -> Option<String> {
    let lead = stats.lead?;
    let (half, most, nearly) = (length(lead.p50), length(lead.p85), length(lead.p95));
    Some(format!("from created to completed: 50% within {half}, 85% {most}, 95% {nearly}"))
}

fn first_pass(stats: &Stats) -> Option<String> {
    stats.first_pass.rate()?;
    Some(format!("{} of the completed tasks were never sent back", percent(stats.first_pass)))
}

fn rejections(stats: &Stats) -> Option<String> {
    stats.rejections.rate()?;
    let drawn = drawn(stats, |week| week.rejections.rate());
    let halves = format!("{}, then {}", percent(stats.trend.earlier), percent(stats.trend.later));
    let trend = stats.trend.direction().map(|direction| match direction {
        Direction::Rising => format!("  {}: {halves}", styled(RED, "rising")),
        Direction::Falling => format!("  {}: {halves}", styled(GREEN, "falling")),
        Direction::Steady => "  steady".to_owned(),
    });
    Some(format!("{} of verdicts{drawn}{}", percent(stats.rejections), trend.unwrap_or_default()))
}

fn loops(stats: &Stats, width: usize) -> Option<String> {
    let average = stats.loops.average()?;
    let mut text = format!("{average:.1} passes a task");
    let many = &stats.loops.many;
    if many.is_empty() {
        text.push_str(&format!(", none over {MANY_PASSES}"));
        return Some(text);
    }
    let over = format!("{} over {MANY_PASSES}", counted(many.len() as u64, "task"));
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
    text.push_str(&format!("; {}: {}", styled(YELLOW, over), worst.join(", ")));
    Some(text)
}

fn bottleneck(stats: &Stats) -> Option<String> {
    let gate = stats.bottleneck()?;
    let name = styled(YELLOW, one_line(&gate.gate));
    let visits = gate.spread.map(|spread| format!(", 85% of visits within {}", length(spread.p85)));
    Some(format!("{name}: {} of all time{}", percent(gate.time), visits.unwrap_or_default()))
}

fn idle(stats: &Stats) -> Option<String> {
    let idle: Vec<&GateStats> = stats.gates.iter().filter(|gate| gate.is_idle()).collect();
    let (shown, more) = if idle.len() > FEW { (FEW, ", ...") } else { (idle.len(), "") };
    let name = |gate: &&GateStats| match gate.skipped {
        0 => one_line(&gate.gate),
        times => format!("{} (passed over {})", one_line(&gate.gate), counted(times, "time")),
    };
    let names: Vec<String> = idle[..shown].iter().map(name).collect();
    (!idle.is_empty()).then(|| format!("{}{more}: no task was there", names.join(", ")))
}

/// Returns who is fastest and slowest, measured by the gates they work at, and whose work comes back most.
fn agents(stats: &Stats) -> Option<String> {
    let known = || stats.agents.iter().filter(|agent| agent.rejects.whole >= SOME);
    let pace = |agent: &&AgentStats| agent.pace.unwrap_or(1.0);
    let fastest = known().min_by(|a, b| pace(a).total_cmp(&pace(b)))?;
    let slowest = known().max_by(|a, b| pace(a).total_cmp(&pace(b)))?;
    let back = |agent: &&AgentStats| agent.sent_back.rate().unwrap_or(0.0);
    let worst =
        known().max_by(|a, b| back(a).total_cmp(&back(b))).filter(|worst| worst.sent_back.part > 0);
    let mut said = Vec::new();
    if pace(&slowest) > pace(&fastest) {
        said.push(format!("{} fastest ({:.1}x)", one_line(&fastest.agent), pace(&fastest)));
        said.push(format!("{} slowest ({:.1}x)", one_line(&slowest.agent), pace(&slowest)));
    }
    said.extend(
        worst.map(|worst| {
            format!("{} sent back {}", one_line(&worst.agent), percent(worst.sent_back))
        }),
    );
    (!said.is_empty()).then(|| said.join(", "))
}

/// Returns the weeks as a line of bars. One that the beginning cuts would look like a bad one.
fn drawn(stats: &Stats, value: impl Fn(&Week) -> Option<f64>) -> String {
    let weeks = &stats.weeks[usize::from(stats.weeks.len() > 1 && is_cut(stats))..];
    let weeks = &weeks[weeks.len().saturating_sub(WEEKS)..];
    if weeks.len() < 2 {
        return String::new();
    }
    format!("  {}", styled(CYAN, spark(&weeks.iter().map(value).collect::<Vec<_>>())))
}

fn is_cut(stats: &Stats) -> bool {
    stats.weeks.first().zip(stats.weeks.last()).is_some_and(|(first, last)| {
        first.until.saturating_sub(first.from) < last.until.saturating_sub(last.from)
    })
}
