//! The statistics of a project as charts, each with its numbers as a table.

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use maud::{Markup, html};

use super::plot::{
    BOTTOM, LEFT, RIGHT, ROOM, SIZE, Scale, TOP, clipped, day_name, days_axis, figure, label,
    legend, no_figure, numbers, x_of,
};
use crate::board::model::columns::Place;
use crate::board::model::figures::{CycleTime, ProjectFigures, WorkflowFlow};
use crate::domain::{TaskId, WorkflowName, length};
use crate::observability::stats::breakdowns::Week;
use crate::observability::stats::gates::GateStats;
use crate::observability::stats::numbers::Spread;
use crate::tasks::headers::summary::time;
use crate::tasks::view::phrases::lasting;

/// The number of tasks up to which each has a mark; more share the marks of a grid with cells of size `CELL`.
const MOST_MARKS: usize = 250;
const CELL: (u64, u64) = (50, 24);
/// The number of characters that a chart shows of a title, and of a gate's name.
const TITLE_ROOM: usize = 60;
const NAME_ROOM: usize = 20;
/// Below these, charts would show chance.
const FEWEST_DAYS: usize = 14;
const FEWEST_TASKS: usize = 10;
/// The greatest width of a bar.
const BAR: u64 = 84;
/// The left end of the scale of a chart of gates, and the height of a row.
const GATES_LEFT: u64 = 330;
const GATE_HEIGHT: u64 = 44;

/// Returns the statistics of a project as a part of a page; `link` returns the link to a task's page.
pub(crate) fn figures_page(figures: &ProjectFigures, link: &dyn Fn(&TaskId) -> String) -> Markup {
    let days = &figures.days;
    html! {
        section class="figures" aria-label="Statistics" {
            p.hint { (day_name(days[0])) " to " (day_name(days[days.len() - 1])) }
            @if figures.unreadable > 0 {
                p.facts { "Files that cannot be read, and do not count: " (figures.unreadable) }
            }
            (four_numbers(figures))
            @if days.len() < FEWEST_DAYS || figures.cycle_times.len() < FEWEST_TASKS {
                p.note { "Charts begin with two weeks of work and ten finished tasks." }
            } @else { (charts(figures, link)) }
        }
    }
}

fn charts(figures: &ProjectFigures, link: &dyn Fn(&TaskId) -> String) -> Markup {
    let (days, weeks) = (&figures.days, &figures.weeks);
    let completed =
        |week: &Week| (week.completed > 0).then(|| (week.completed, week.completed.to_string()));
    let sent_back = |week: &Week| {
        let share = week.rejections;
        let percent = (share.part * 100).checked_div(share.whole)?;
        Some((percent, format!("{} of {}", share.part, share.whole)))
    };
    html! {
        div class="charts" {
            @if figures.flows.is_empty() { (no_figure("Flow", "There was no task in this time.")) }
            @for flow in &figures.flows { (flow_chart(flow, days)) }
            (cycle_chart(figures, link))
            (weeks_chart("Finished per week", weeks, &figures.zone, "", &completed))
            (weeks_chart("Sent back per week", weeks, &figures.zone, "%", &sent_back))
            @for flow in &figures.flows { (gates_chart(&flow.workflow, &figures.gates)) }
        }
    }
}

/// Returns the four numbers that tell most.
fn four_numbers(figures: &ProjectFigures) -> Markup {
    let last = figures.weeks.last().map_or(0, |week| week.completed);
    let half = figures.cycle_spread.map_or("none yet".to_owned(), |spread| lasting(spread.p50));
    let sum = |of: &dyn Fn(&Week) -> u64| figures.weeks.iter().map(of).sum::<u64>();
    let (back, judged) = (sum(&|week| week.rejections.part), sum(&|week| week.rejections.whole));
    let share =
        (back * 100).checked_div(judged).map_or("none yet".to_owned(), |part| format!("{part} %"));
    let numbers = [
        ("Finished", figures.cycle_times.len().to_string()),
        ("Finished in the last week", last.to_string()),
        ("Median from first gate to done", half),
        ("Sent back, of all decisions", share),
    ];
    html! { dl.numbers { @for (name, value) in numbers { div { dt { (name) } dd { (value) } } } } }
}

/// Returns the name of a place for people.
fn place_name(place: &Place) -> &str {
    match place {
        Place::New => "new",
        Place::Gate(gate) => gate.as_str(),
        Place::Stranded => "gates that are gone",
        Place::Finished => "finished",
    }
}

/// Returns stacked areas: the finished tasks at the bottom, the new ones on top.
fn flow_chart(flow: &WorkflowFlow, days: &[Date]) -> Markup {
    let every = 0..days.len();
    let total = |day: usize| flow.bands.iter().map(|band| band.counts[day]).sum();
    let scale = Scale::of_counts(every.clone().map(total));
    let names = flow.bands.iter().zip(0..).map(|(band, at)| match band.place {
        Place::Finished => ("c7".to_owned(), place_name(&band.place)),
        _ => (format!("c{}", at % 7), place_name(&band.place)),
    });
    let names: Vec<(String, &str)> = names.collect();
    let mut below = vec![0; days.len()];
    let areas = flow.bands.iter().zip(&names).rev().map(|(band, name)| {
        let above: Vec<u64> = below.iter().zip(&band.counts).map(|(a, b)| a + b).collect();
        let point = |day: usize, counts: &[u64]| {
            format!("{} {}", x_of(day, days.len()), scale.height(counts[day]))
        };
        let up = every.clone().map(|day| point(day, &above));
        let down = every.clone().rev().map(|day| point(day, &below));
        let path = up.chain(down).collect::<Vec<_>>().join("L");
        below = above;
        (name, path)
    });
    let drawing = html! {
        (scale.axis(|count| count.to_string()))
        @for ((class, name), path) in areas {
            path class={ "area " (class) } d={ "M" (path) "Z" } { title { (name) } }
        }
        (days_axis(days))
    };
    let head: Vec<&str> = ["Day"].into_iter().chain(names.iter().map(|(_, name)| *name)).collect();
    let rows = html! {
        @for day in every.rev().step_by(7) {
            tr { th scope="row" { (day_name(days[day])) } @for band in &flow.bands { td { (band.counts[day]) } } }
        }
    };
    let about = "How many tasks were at each place at the end of a day. Finished ones count from the first of these days.";
    let rest = html! { (legend(names.iter().cloned())) (numbers(&head, &rows)) };
    figure((&format!("Flow of {}", flow.workflow), about), SIZE, &drawing, &rest)
}

fn cycle_chart(figures: &ProjectFigures, link: &dyn Fn(&TaskId) -> String) -> Markup {
    let (heading, tasks) = ("Time to done", &figures.cycle_times);
    let Some(spread) = figures.cycle_spread else {
        return no_figure(heading, "No task was completed in this time.");
    };
    let scale = Scale::of_durations(tasks.iter().map(|task| task.seconds), ROOM);
    let marks = cycle_marks(figures, &scale);
    let (median, most) = (length(spread.p50), length(spread.p85));
    let [halves, slow] = [spread.p50, spread.p85].map(|seconds| scale.height(seconds));
    let drawing = html! {
        (scale.axis(length))
        (days_axis(&figures.days))
        @for mark in &marks { (cycle_mark(mark, &figures.zone, link)) }
        path class="line" d={ "M" (LEFT) " " (halves) "H" (RIGHT) "M" (LEFT) " " (slow) "H" (RIGHT) } {}
        text class="value end" x=(RIGHT) y=(halves + 24) { "50 %: " (median) }
        text class="value end" x=(RIGHT) y=(slow - 8) { "85 %: " (most) }
    };
    let row = |of: &[&CycleTime]| {
        let [name, days, lengths] = summary(of, &figures.zone);
        html! {
            tr {
                th scope="row" {
                    @if let [task] = of { a href=(link(&task.id)) { (task.id) } " " }
                    (name)
                }
                td { (days) } td { (lengths) }
            }
        }
    };
    let rows = html! {
        @if tasks.len() > MOST_MARKS { @for (_, tasks) in &marks { (row(tasks)) } }
        @else { @for task in tasks { (row(&[task])) } }
    };
    let about = format!(
        "Half of the tasks took at most {median}, 85 % at most {most}, from their first gate to their end. Each line across is several times the one below it."
    );
    let rest = numbers(&["Task", "Finished", "Took"], &rows);
    figure((heading, &about), SIZE, &drawing, &rest)
}

/// The position of a mark, and the tasks that share it.
type CycleMark<'a> = ((u64, u64), Vec<&'a CycleTime>);

/// Returns a mark for each task, or, if there are many, one for each cell of a grid that has tasks.
fn cycle_marks<'a>(figures: &'a ProjectFigures, scale: &Scale) -> Vec<CycleMark<'a>> {
    let (from, until) = (figures.from.as_second(), figures.until.as_second());
    let (wide, high) = if figures.cycle_times.len() > MOST_MARKS { CELL } else { (1, 1) };
    let mut marks: BTreeMap<(u64, u64), Vec<&CycleTime>> = BTreeMap::new();
    for task in &figures.cycle_times {
        let after = task.completed.clamp(from, until).abs_diff(from);
        let x = after * (RIGHT - LEFT) / (until.abs_diff(from) + 1);
        let (column, row) = (x / wide, scale.place(task.seconds) / high);
        let middle = (LEFT + column * wide + wide / 2, BOTTOM - row * high - high / 2);
        marks.entry(middle).or_default().push(task);
    }
    marks.into_iter().collect()
}

fn cycle_mark(
    ((x, y), tasks): &CycleMark<'_>,
    zone: &TimeZone,
    link: &dyn Fn(&TaskId) -> String,
) -> Markup {
    let radius = (6 + (tasks.len() as u64 - 1).isqrt()).min(14);
    let about = summary(tasks, zone).join(", ");
    let circle = html! { circle class="mark c0" cx=(x) cy=(y) r=(radius) {} };
    html! {
        @if let [task] = tasks[..] {
            a href=(link(&task.id)) tabindex="-1" { title { (task.id) " " (about) } (circle) }
        } @else {
            g { title { (about) } (circle) }
        }
    }
}

/// Returns the title of a task, or the number of tasks; the time of completion; and the duration.
fn summary(tasks: &[&CycleTime], zone: &TimeZone) -> [String; 3] {
    let range = |first: String, last: String| {
        if first == last { first } else { format!("{first} to {last}") }
    };
    let mut lengths: Vec<u64> = tasks.iter().map(|task| task.seconds).collect();
    lengths.sort_unstable();
    let last = tasks.len() - 1;
    let day = |at: usize| date(tasks[at].completed, zone);
    let lengths = range(length(lengths[0]), length(lengths[last]));
    let name = match tasks {
        [task] => clipped(&task.title, TITLE_ROOM),
        _ => format!("{} tasks", tasks.len()),
    };
    [name, range(day(0), day(last)), lengths]
}

fn date(seconds: i64, zone: &TimeZone) -> String {
    day_name(time(seconds).to_zoned(zone.clone()).date())
}

/// Returns a column for each week. `bar` returns its height, and the height in words.
fn weeks_chart(
    heading: &str,
    weeks: &[Week],
    zone: &TimeZone,
    unit: &str,
    bar: &dyn Fn(&Week) -> Option<(u64, String)>,
) -> Markup {
    let bars = weeks.iter().map(|week| (date(week.from, zone), bar(week)));
    let bars: Vec<(String, Option<(u64, String)>)> = bars.collect();
    if bars.iter().all(|(_, bar)| bar.is_none()) {
        return no_figure(heading, "There was nothing to count in this time.");
    }
    let scale = Scale::of_counts(bars.iter().filter_map(|(_, bar)| Some(bar.as_ref()?.0)));
    let (wide, every) = ((RIGHT - LEFT) / bars.len() as u64, bars.len().div_ceil(4));
    let places = (LEFT..).step_by(usize::try_from(wide).unwrap_or(1));
    let drawing = html! {
        (scale.axis(|count| format!("{count}{unit}")))
        @for ((day, bar), x) in bars.iter().zip(places.clone()) {
            @if let Some((value, words)) = bar {
                @let top = scale.height(*value);
                @let bar = (wide - wide / 4).min(BAR);
                rect class="mark c0" x=(x + (wide - bar) / 2) y=(top) width=(bar) height=(BOTTOM - top) {
                    title { (day) ": " (words) }
                }
            }
        }
        path class="axis-line" d={ "M" (LEFT) " " (BOTTOM) "H" (RIGHT) } {}
        @for ((day, _), x) in bars.iter().zip(places.take_while(|x| *x < RIGHT - 150)).step_by(every) {
            text class="axis middle" x=(x + wide / 2) y=(BOTTOM + 34) { (day) }
        }
    };
    let rows = html! {
        @for (day, bar) in &bars {
            tr { th scope="row" { (day) } td { (bar.as_ref().map_or("-", |(_, words)| words)) } }
        }
    };
    let about =
        "Each week begins on the named day. The first may be shorter; the last one ends now.";
    figure((heading, about), SIZE, &drawing, &numbers(&["Week from", heading], &rows))
}

/// Returns a row for each gate of a workflow at which visits ended: their median and their 85th percentile.
fn gates_chart(workflow: &WorkflowName, gates: &[GateStats]) -> Markup {
    let heading = format!("Time at gates of {workflow}");
    let rows = gates.iter().filter(|gate| gate.workflow == workflow.as_str());
    let timed: Vec<(&GateStats, Spread)> =
        rows.filter_map(|gate| Some((gate, gate.spread?))).collect();
    if timed.is_empty() {
        return no_figure(&heading, "No visit of a gate ended in this time.");
    }
    let lengths = timed.iter().flat_map(|(_, spread)| [spread.p50, spread.p85]);
    let scale = Scale::of_durations(lengths, RIGHT - 30 - GATES_LEFT);
    let bottom = TOP + GATE_HEIGHT * timed.len() as u64;
    let drawing = html! {
        (scale.axis_below(GATES_LEFT, bottom, length))
        @for ((gate, spread), row) in timed.iter().zip(0..) {
            @let y = TOP + row * GATE_HEIGHT + GATE_HEIGHT / 2;
            @let [median, most] = [spread.p50, spread.p85].map(|time| GATES_LEFT + scale.place(time));
            (label("axis end", (GATES_LEFT - 20, y + 8), &gate.gate, NAME_ROOM))
            path class="span" d={ "M" (median) " " (y) "H" (most) } {}
            circle class="mark c1" cx=(most) cy=(y) r="9" { title { (length(spread.p85)) } }
            circle class="mark c0" cx=(median) cy=(y) r="9" { title { (length(spread.p50)) } }
        }
    };
    let rows = html! {
        @for (gate, spread) in &timed {
            tr {
                th scope="row" { (gate.gate) }
                td { (spread.count) } td { (length(spread.p50)) } td { (length(spread.p85)) } td { (gate.standing) }
            }
        }
    };
    let about = "Half of the visits took at most as long as the first mark, 85 % at most as long as the second. Each line up is several times the one before it.";
    let colours = [("c0".to_owned(), "50 %"), ("c1".to_owned(), "85 %")].into_iter();
    let head = ["Gate", "Visits", "50 %", "85 %", "There now"];
    let rest = html! { (legend(colours)) (numbers(&head, &rows)) };
    figure((&heading, about), (SIZE.0, bottom + 50), &drawing, &rest)
}

#[cfg(test)]
mod tests;
