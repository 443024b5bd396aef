//! The tables of gates, agents, tags and weeks, and bars.

use jiff::tz::TimeZone;

use crate::cli::render::table::{Cell, Table};
use crate::cli::{CYAN, DIM, RED, YELLOW, length, width};
use crate::observability::stats::gates::GateStats;
use crate::observability::stats::loops::MANY as MANY_PASSES;
use crate::observability::stats::numbers::{Share, Spread};
use crate::observability::stats::report::Stats;
use crate::tasks::headers::summary::time;

/// The longest bar, in letters.
const LETTERS: u32 = 12;
/// More than this part of the work sent back is too much.
const MUCH: f64 = 0.5;

/// Returns the gates: all that is known of each, or what the screen shows of those where most of the time is spent.
pub(crate) fn gates(stats: &Stats, most: Option<usize>) -> String {
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
            rate => Cell::styled(style, bar(rate, LETTERS)),
        }
    };
    let table = Table::of(&rows)
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
        .right("VISITS", |gate| in_full(gate.spread.map_or(0, |own| own.count).into()))
        .right("P50", |gate| point(gate.spread, |own| own.p50))
        .right("P85", |gate| point(gate.spread, |own| own.p85))
        .right("P95", |gate| point(gate.spread, |own| own.p95))
        .extra(3)
        // A branch has no share of all time: its time is that of the fork above it.
        .right("TIME", |gate| {
            if gate.gate.contains('/') { Cell::from("") } else { percent(gate.time).into() }
        })
        .left("", |gate| share(gate))
        .extra(2)
        .right(
            "REJECTED",
            |gate| if gate.can_reject { rejected(gate.rejections) } else { or_dash(None) },
        )
        .right("FIRST PASS", |gate| {
            in_full(or_dash(gate.can_reject.then(|| percent(gate.first_pass))))
        })
        .extra(4)
        .right("SKIPPED", |gate| in_full(gate.skipped.into()))
        .extra(2)
        .right("NOW", |gate| gate.standing.into())
        .right("OLDEST", |gate| or_dash(gate.oldest.map(rough)))
        .extra(1);
    table.render(width())
}

/// Returns the agents, those who did most first.
pub(crate) fn agents(stats: &Stats, most: usize) -> String {
    let slowest = stats.agents.iter().filter_map(|agent| agent.pace).fold(0.0, f64::max);
    let table = Table::of(&stats.agents[..most.min(stats.agents.len())])
        .left("AGENT", |agent| Cell::styled(CYAN, &agent.agent))
        .right("VISITS", |agent| agent.rejects.whole.into())
        .right("P50", |agent| point(agent.spread, |own| own.p50))
        .right("P85", |agent| point(agent.spread, |own| own.p85))
        .right("P95", |agent| point(agent.spread, |own| own.p95))
        .extra(1)
        .right("PACE", |agent| or_dash(agent.pace.map(|pace| format!("{pace:.1}x"))))
        .left("", |agent| {
            let pace = agent.pace.map(|pace| bar(pace / slowest, LETTERS));
            Cell::styled(CYAN, pace.unwrap_or_default())
        })
        .extra(0)
        .right("SENT BACK", |agent| rejected(agent.sent_back))
        .right("REJECTS", |agent| rejected(agent.rejects));
    table.render(width())
}

/// Returns the tags, those of most tasks first.
pub(crate) fn tags(stats: &Stats) -> String {
    const { assert!(MANY_PASSES == 3, "the title of a column says so") };
    let table = Table::of(&stats.tags)
        .long("TAG", |tag| match &tag.tag {
            None => Cell::styled(DIM, "(no tag)"),
            Some(name) => Cell::styled(CYAN, name),
        })
        .right("TASKS", |tag| tag.loops.tasks.into())
        .right("COMPLETED", |tag| tag.lead.map_or(0, |lead| lead.count).into())
        .right("LEAD P50", |tag| point(tag.lead, |own| own.p50))
        .right("P85", |tag| point(tag.lead, |own| own.p85))
        .right("P95", |tag| point(tag.lead, |own| own.p95))
        .extra(0)
        .right("PASSES", |tag| or_dash(tag.loops.average().map(|passes| format!("{passes:.1}"))))
        .right("OVER 3", |tag| tag.loops.many.len().into())
        .right("REJECTED", |tag| rejected(tag.rejections));
    table.render(width())
}

/// Returns the weeks, the last one last.
pub(crate) fn weeks(stats: &Stats) -> String {
    let most = stats.weeks.iter().map(|week| week.completed).max().unwrap_or(0);
    let day = |seconds| Cell::from(time(seconds).to_zoned(TimeZone::system()).date());
    let table = Table::of(&stats.weeks)
        .left("FROM", |week| day(week.from))
        .left("TO", |week| day(week.until))
        .right("CREATED", |week| week.created.into())
        .right("COMPLETED", |week| week.completed.into())
        .left("", |week| {
            let part = Share { part: week.completed, whole: most };
            Cell::styled(CYAN, bar(part.rate().unwrap_or(0.0), LETTERS))
        })
        .extra(0)
        .right("LEAD P50", |week| point(week.lead, |own| own.p50))
        .right("P85", |week| point(week.lead, |own| own.p85))
        .right("REJECTED", |week| rejected(week.rejections));
    table.render(width())
}

fn point(spread: Option<Spread>, of: fn(&Spread) -> u64) -> Cell {
    or_dash(spread.as_ref().map(of).map(rough))
}

fn rejected(share: Share) -> Cell {
    let is_much = share.part > 0 && share.rate().is_some_and(|rate| rate > MUCH);
    if is_much { Cell::styled(RED, percent(share)) } else { Cell::from(percent(share)) }
}

fn or_dash(text: Option<String>) -> Cell {
    Cell::from(text.unwrap_or_else(|| "-".to_owned()))
}

/// Returns a share in percent.
pub(crate) fn percent(share: Share) -> String {
    share.rate().map_or_else(|| "-".to_owned(), |rate| format!("{:.0}%", rate * 100.0))
}

/// Returns a length of time in few letters: no minutes from ten hours on, no hours from ten days on.
fn rough(seconds: u64) -> String {
    const HOUR: u64 = 3_600;
    const DAY: u64 = 24 * HOUR;
    match seconds {
        36_000..DAY => length(seconds / HOUR * HOUR),
        864_000.. => length(seconds / DAY * DAY),
        _ => length(seconds),
    }
}

/// Returns a bar of that part of so many letters; a part above zero is always visible.
fn bar(part: f64, letters: u32) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let part = part.clamp(0.0, 1.0);
    let eighths = steps(part, f64::from(letters) * 8.0).max(usize::from(part > 0.0));
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Returns a small bar for each value, relative to the highest; a gap where there is no value.
pub(crate) fn spark(values: &[Option<f64>]) -> String {
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
        assert_eq!(spark(&[]), "");
        assert_eq!(spark(&[Some(0.0), Some(0.0)]), "▁▁");
        assert_eq!(spark(&[Some(0.0), None, Some(1.0), Some(2.0)]), "▁ ▅█");
    }

    #[test]
    fn a_length_is_as_exact_as_it_needs_to_be() {
        for (seconds, text) in [
            (0, "0s"),
            (35_999, "9h 59m"),
            (36_060, "10h"),
            (86_399, "23h"),
            (90_000, "1d 1h"),
            (863_999, "9d 23h"),
            (900_000, "10d"),
        ] {
            assert_eq!(rough(seconds), text, "{seconds}");
        }
    }
}
