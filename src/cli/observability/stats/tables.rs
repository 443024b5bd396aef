//! The tables: of gates, agents, tags and weeks.

use jiff::tz::TimeZone;

use super::bars::bar;
use super::command::percent;
use crate::cli::input::length::length;
use crate::cli::render::output::CYAN;
use crate::cli::render::output::{DIM, RED, YELLOW};
use crate::cli::render::table::{Cell, Column, Table};
use crate::observability::stats::gates::GateStats;
use crate::observability::stats::loops::MANY as MANY_PASSES;
use crate::observability::stats::numbers::{Share, Spread};
use crate::observability::stats::report::Stats;
use crate::tasks::headers::header::time;

/// No row is left out.
pub(crate) const ALL: usize = usize::MAX;
/// A bar is at most so many letters long.
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
        let standing = Cell::from(gate.standing);
        table.row([
            workflow(stats, gate),
            name(gate),
            p50,
            p85,
            p95,
            time_share(gate),
            time_bar(stats, gate),
            rejections(gate),
            standing,
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
            if gate.can_reject { Cell::from(percent(gate.first_pass)) } else { Cell::from("-") },
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
        table.row([
            Cell::styled(CYAN, &agent.agent),
            Cell::from(agent.rejects.whole),
            p50,
            p85,
            p95,
            Cell::from(agent.pace.map_or_else(|| "-".to_owned(), |pace| format!("{pace:.1}x"))),
            Cell::styled(
                CYAN,
                agent.pace.map(|pace| bar(pace / slowest, LETTERS)).unwrap_or_default(),
            ),
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
        table.row([
            tag.tag
                .as_ref()
                .map_or_else(|| Cell::styled(DIM, "(no tag)"), |tag| Cell::styled(CYAN, tag)),
            Cell::from(tag.loops.tasks),
            Cell::from(tag.lead.map_or(0, |lead| lead.count)),
            p50,
            p85,
            p95,
            Cell::from(
                tag.loops.average().map_or_else(|| "-".to_owned(), |passes| format!("{passes:.1}")),
            ),
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

/// One workflow needs no name.
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
    let cell = |seconds| Cell::from(rough(seconds));
    spread.map_or_else(
        || std::array::from_fn(|_| Cell::from("-")),
        |spread| [cell(spread.p50), cell(spread.p85), cell(spread.p95)],
    )
}

/// Branches spend the time of their fork, which stands above them.
fn time_share(gate: &GateStats) -> Cell {
    Cell::from(if gate.gate.contains('/') { String::new() } else { percent(gate.time) })
}

fn time_bar(stats: &Stats, gate: &GateStats) -> Cell {
    if gate.is_idle() {
        return Cell::styled(DIM, "idle");
    }
    let style = if stats.bottleneck() == Some(gate) { YELLOW } else { CYAN };
    Cell::styled(style, bar(gate.time.rate().unwrap_or(0.0), LETTERS))
}

fn rejections(gate: &GateStats) -> Cell {
    if gate.can_reject { rejected(gate.rejections) } else { Cell::from("-") }
}

fn rejected(share: Share) -> Cell {
    if share.part > 0 && share.rate().is_some_and(|rate| rate > MUCH) {
        return Cell::styled(RED, percent(share));
    }
    Cell::from(percent(share))
}

fn age(oldest: Option<u64>) -> Cell {
    Cell::from(oldest.map_or_else(|| "-".to_owned(), rough))
}

/// Returns a length of time in few letters: of ten hours the minutes do not matter, nor of ten days the hours.
fn rough(seconds: u64) -> String {
    const HOUR: u64 = 3_600;
    const DAY: u64 = 24 * HOUR;
    match seconds {
        0..36_000 => length(seconds),
        36_000..DAY => length(seconds / HOUR * HOUR),
        _ if seconds < 10 * DAY => length(seconds),
        _ => length(seconds / DAY * DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
