//! The tables of gates, agents, tags and weeks, and bars.

use jiff::tz::TimeZone;

use crate::cli::output::{CYAN, DIM, RED, YELLOW};
use crate::cli::render::table::{Cell, Column, Table};
use crate::cli::time::length;
use crate::observability::stats::gates::GateStats;
use crate::observability::stats::loops::MANY as MANY_PASSES;
use crate::observability::stats::numbers::{Share, Spread};
use crate::observability::stats::report::Stats;
use crate::tasks::headers::summary::time;

/// No row is left out.
pub(crate) const ALL: usize = usize::MAX;
/// The longest bar, in letters.
const LETTERS: u32 = 12;
/// More than this part of the work sent back is too much.
const MUCH: f64 = 0.5;

/// Returns the gates as the screen shows them; of too many, those where most of the time is spent.
pub(crate) fn gates(stats: &Stats, most: usize) -> Table {
    let mut table = Table::new(&[
        Column::left("WORKFLOW"),
        Column::left("GATE"),
        Column::right("P50"),
        Column::right("P85"),
        Column::right("P95").extra(2),
        Column::right("TIME"),
        Column::left("").extra(1),
        Column::right("REJECTED"),
        Column::right("NOW"),
        Column::right("OLDEST").extra(0),
    ]);
    let mut shown: Vec<(usize, &GateStats)> = stats.gates.iter().enumerate().collect();
    shown.sort_by(|a, b| b.1.time.part.cmp(&a.1.time.part).then(a.0.cmp(&b.0)));
    shown.truncate(most);
    shown.sort_by_key(|(place, _)| *place);
    for (_, gate) in shown {
        let [p50, p85, p95] = points(gate.spread.as_ref());
        let style = if stats.bottleneck() == Some(gate) { YELLOW } else { CYAN };
        let share = match gate.time.rate().unwrap_or(0.0) {
            _ if gate.is_idle() => Cell::styled(DIM, "idle"),
            rate => Cell::styled(style, bar(rate, LETTERS)),
        };
        table.row([
            workflow(stats, gate),
            name(gate),
            p50,
            p85,
            p95,
            time_share(gate),
            share,
            rejections(gate),
            Cell::from(gate.standing),
            age(gate.oldest),
        ]);
    }
    table
}

/// Returns all that is known of each gate.
pub(crate) fn gates_in_full(stats: &Stats) -> Table {
    let mut table = Table::new(&[
        Column::left("WORKFLOW"),
        Column::left("GATE"),
        Column::left("ROLE").extra(0),
        Column::right("VISITS"),
        Column::right("P50"),
        Column::right("P85"),
        Column::right("P95").extra(3),
        Column::right("TIME"),
        Column::right("REJECTED"),
        Column::right("FIRST PASS").extra(4),
        Column::right("SKIPPED").extra(2),
        Column::right("NOW"),
        Column::right("OLDEST").extra(1),
    ]);
    for gate in &stats.gates {
        let [p50, p85, p95] = points(gate.spread.as_ref());
        table.row([
            workflow(stats, gate),
            name(gate),
            Cell::styled(DIM, gate.role.as_deref().unwrap_or_default()),
            Cell::from(gate.spread.map_or(0, |spread| spread.count)),
            p50,
            p85,
            p95,
            time_share(gate),
            rejections(gate),
            or_dash(gate.can_reject.then(|| percent(gate.first_pass))),
            Cell::from(gate.skipped),
            Cell::from(gate.standing),
            age(gate.oldest),
        ]);
    }
    table
}

/// Returns the agents, those who did most first.
pub(crate) fn agents(stats: &Stats, most: usize) -> Table {
    let mut table = Table::new(&[
        Column::left("AGENT"),
        Column::right("VISITS"),
        Column::right("P50"),
        Column::right("P85"),
        Column::right("P95").extra(1),
        Column::right("PACE"),
        Column::left("").extra(0),
        Column::right("SENT BACK"),
        Column::right("REJECTS"),
    ]);
    let slowest = stats.agents.iter().filter_map(|agent| agent.pace).fold(0.0, f64::max);
    for agent in stats.agents.iter().take(most) {
        let [p50, p85, p95] = points(agent.spread.as_ref());
        let pace = agent.pace.map(|pace| bar(pace / slowest, LETTERS));
        table.row([
            Cell::styled(CYAN, &agent.agent),
            Cell::from(agent.rejects.whole),
            p50,
            p85,
            p95,
            or_dash(agent.pace.map(|pace| format!("{pace:.1}x"))),
            Cell::styled(CYAN, pace.unwrap_or_default()),
            rejected(agent.sent_back),
            rejected(agent.rejects),
        ]);
    }
    table
}

/// Returns the tags, those of most tasks first.
pub(crate) fn tags(stats: &Stats) -> Table {
    let mut table = Table::new(&[
        Column::long("TAG"),
        Column::right("TASKS"),
        Column::right("COMPLETED"),
        Column::right("LEAD P50"),
        Column::right("P85"),
        Column::right("P95").extra(0),
        Column::right("PASSES"),
        Column::right("OVER 3"),
        Column::right("REJECTED"),
    ]);
    const { assert!(MANY_PASSES == 3, "the title of a column says so") };
    for tag in &stats.tags {
        let [p50, p85, p95] = points(tag.lead.as_ref());
        let name = tag.tag.as_ref();
        table.row([
            name.map_or_else(|| Cell::styled(DIM, "(no tag)"), |name| Cell::styled(CYAN, name)),
            Cell::from(tag.loops.tasks),
            Cell::from(tag.lead.map_or(0, |lead| lead.count)),
            p50,
            p85,
            p95,
            or_dash(tag.loops.average().map(|passes| format!("{passes:.1}"))),
            Cell::from(tag.loops.many.len()),
            rejected(tag.rejections),
        ]);
    }
    table
}

/// Returns the weeks, the last one last.
pub(crate) fn weeks(stats: &Stats) -> Table {
    let mut table = Table::new(&[
        Column::left("FROM"),
        Column::left("TO"),
        Column::right("CREATED"),
        Column::right("COMPLETED"),
        Column::left("").extra(0),
        Column::right("LEAD P50"),
        Column::right("P85"),
        Column::right("REJECTED"),
    ]);
    let most = stats.weeks.iter().map(|week| week.completed).max().unwrap_or(0);
    let day = |seconds| time(seconds).to_zoned(TimeZone::system()).date();
    for week in &stats.weeks {
        let [p50, p85, _] = points(week.lead.as_ref());
        let part = Share { part: week.completed, whole: most };
        table.row([
            Cell::from(day(week.from)),
            Cell::from(day(week.until)),
            Cell::from(week.created),
            Cell::from(week.completed),
            Cell::styled(CYAN, bar(part.rate().unwrap_or(0.0), LETTERS)),
            p50,
            p85,
            rejected(week.rejections),
        ]);
    }
    table
}

/// Returns the name of the workflow, where there are several.
fn workflow(stats: &Stats, gate: &GateStats) -> Cell {
    let several = stats.gates.iter().any(|other| other.workflow != gate.workflow);
    Cell::from(if several { gate.workflow.as_str() } else { "" })
}

fn name(gate: &GateStats) -> Cell {
    if gate.in_force {
        Cell::styled(CYAN, &gate.gate)
    } else {
        Cell::styled(DIM, format!("{} (gone)", gate.gate))
    }
}

fn points(spread: Option<&Spread>) -> [Cell; 3] {
    let points = spread.map(|spread| [spread.p50, spread.p85, spread.p95]);
    [0, 1, 2].map(|at| or_dash(points.map(|points| rough(points[at]))))
}

/// Returns the gate's share of all time. A branch has none: its time is that of the fork above it.
fn time_share(gate: &GateStats) -> Cell {
    Cell::from(if gate.gate.contains('/') { String::new() } else { percent(gate.time) })
}

fn rejections(gate: &GateStats) -> Cell {
    if gate.can_reject { rejected(gate.rejections) } else { or_dash(None) }
}

fn rejected(share: Share) -> Cell {
    let is_much = share.part > 0 && share.rate().is_some_and(|rate| rate > MUCH);
    if is_much { Cell::styled(RED, percent(share)) } else { Cell::from(percent(share)) }
}

fn age(oldest: Option<u64>) -> Cell {
    or_dash(oldest.map(rough))
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
