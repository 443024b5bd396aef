//! The figures of a project: how work flows, how long it takes, how much gets done, and where it waits.

use std::collections::BTreeMap;

use jiff::ToSpan;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::columns::{Place, place_of};
use crate::domain::{Gate, Status, TaskId, Timestamp, WorkflowName};
use crate::observability::stats::breakdowns::Week;
use crate::observability::stats::gates::GateStats;
use crate::observability::stats::numbers::{
    Spread, end, gate_of, last_end, start, time_text, took_time,
};
use crate::observability::stats::report::{StatsQuery, beginning, count};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::tasks::headers::listing::{ListScope, read_all};
use crate::tasks::headers::summary::{TaskSummary, time};

/// The largest number of days counted, including today.
const MOST_DAYS: i32 = 90;
/// The smallest number of days counted: a young project has a chart, too.
const FEWEST_DAYS: i32 = 7;

/// The figures of a project for its last days.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProjectFigures {
    /// The project's name.
    pub project: String,
    /// The counted days, the last of which is today, in the project's time zone.
    pub days: Vec<Date>,
    pub from: Timestamp,
    pub until: Timestamp,
    /// The workflows that had tasks in this time, in the order of the rules; those that the rules no longer have are last.
    pub flows: Vec<WorkflowFlow>,
    /// The tasks that were completed in this time, in this order, with their durations.
    pub cycle_times: Vec<CycleTime>,
    pub cycle_spread: Option<Spread>,
    /// Periods of seven days, the last of which ends now.
    pub weeks: Vec<Week>,
    /// The time that tasks stay at the gates, counted as in `aof stats`.
    pub gates: Vec<GateStats>,
    /// The number of files that could not be counted.
    pub unreadable: usize,
    /// The time zone of the days.
    #[serde(skip)]
    pub zone: TimeZone,
}

/// The number of tasks at each place, day by day.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct WorkflowFlow {
    pub workflow: WorkflowName,
    /// The places: new tasks, then the gates in order, then the tasks that were finished in this time.
    pub bands: Vec<FlowBand>,
}

/// The number of tasks at one place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct FlowBand {
    pub place: Place,
    /// The number at the end of each day; for today, now.
    pub counts: Vec<u64>,
}

/// The time that one task took, from its arrival at the first gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CycleTime {
    pub id: TaskId,
    pub title: String,
    /// The time of completion, in seconds since 1970.
    #[serde(serialize_with = "time_text")]
    pub completed: i64,
    pub seconds: u64,
}

/// Reads all tasks of a project, including the archive, and returns its figures until now.
pub(crate) fn project_figures(workspace: &Workspace) -> Result<ProjectFigures, ProjectError> {
    let in_force = workspace.rules()?;
    let listing = read_all(workspace, &in_force, ListScope::All);
    let tasks: Vec<&TaskSummary> = listing.tasks.iter().map(|(task, _)| &**task).collect();
    let figures = figures_of(&tasks, &in_force.rules, workspace.now());
    let project = in_force.project_name(workspace);
    Ok(ProjectFigures { project, unreadable: listing.unreadable.len(), ..figures })
}

/// Returns the figures of these tasks, without the project's name.
pub(crate) fn figures_of(tasks: &[&TaskSummary], rules: &Rules, now: Timestamp) -> ProjectFigures {
    let zone = rules.project.timezone.clone();
    let days = Days::of(beginning(tasks, now.as_second()), now, &zone);
    let query = StatsQuery { since: Some(days.from), workflow: None };
    let stats = count(tasks, rules, &query, now);
    let cycle_times = cycle_times(tasks, days.from.as_second());
    ProjectFigures {
        project: String::new(),
        from: days.from,
        until: now,
        flows: flows(tasks, rules, &days),
        cycle_spread: Spread::of(cycle_times.iter().map(|task| task.seconds).collect()),
        cycle_times,
        weeks: stats.weeks,
        gates: stats.gates,
        unreadable: 0,
        days: days.dates,
        zone,
    }
}

/// The days that are counted.
struct Days {
    from: Timestamp,
    dates: Vec<Date>,
    /// The end of each day. Today never ends: by another machine's clock, some of it may be in the future.
    ends: Vec<i64>,
}

impl Days {
    /// Returns the last days, none of them long before the first task.
    fn of(first: i64, now: Timestamp, zone: &TimeZone) -> Self {
        let day = |at: Timestamp| at.to_zoned(zone.clone()).date();
        let midnight = |date: Date| date.to_zoned(zone.clone()).map_or(now, |at| at.timestamp());
        let today = day(now);
        let since_first = today.since(day(time(first))).map_or(0, |span| span.get_days());
        let ago = since_first.saturating_add(1).clamp(FEWEST_DAYS, MOST_DAYS) - 1;
        let dates: Vec<Date> =
            (0..=ago).rev().map(|ago| today.saturating_sub(ago.days())).collect();
        let ends = dates.iter().skip(1).map(|date| midnight(*date).as_second());
        let ends = ends.chain([i64::MAX]).collect();
        Self { from: midnight(dates[0]), dates, ends }
    }

    /// Returns the index of the first day whose end is after a time.
    fn index(&self, time: i64) -> usize {
        self.ends.partition_point(|end| *end <= time)
    }
}

fn flows(tasks: &[&TaskSummary], rules: &Rules, days: &Days) -> Vec<WorkflowFlow> {
    let mut flows: BTreeMap<(usize, &WorkflowName), WorkflowFlow> = BTreeMap::new();
    for task in tasks {
        let (name, known) = (&task.routing.workflow, &rules.project.workflows);
        let place = known.iter().position(|flow| flow.name == *name).unwrap_or(known.len());
        let gates = known.get(place).map_or(&[][..], |flow| &flow.gates);
        let flow =
            flows.entry((place, name)).or_insert_with(|| WorkflowFlow::new(name, gates, days));
        flow.add(&moves(task, rules), days);
    }
    let is_used = |band: &FlowBand| band.counts.iter().any(|count| *count > 0);
    let mut flows: Vec<WorkflowFlow> = flows.into_values().collect();
    flows.retain(|flow| flow.bands.iter().any(is_used));
    for flow in &mut flows {
        flow.bands.retain(|band| band.place == Place::Finished || is_used(band));
    }
    flows
}

impl WorkflowFlow {
    /// Returns the places of a workflow with these gates, without tasks.
    fn new(workflow: &WorkflowName, gates: &[Gate], days: &Days) -> Self {
        let gates = gates.iter().map(|gate| Place::Gate(gate.id.clone()));
        let places =
            [Place::New].into_iter().chain(gates).chain([Place::Stranded, Place::Finished]);
        let band = |place| FlowBand { place, counts: vec![0; days.dates.len()] };
        Self { workflow: workflow.clone(), bands: places.map(band).collect() }
    }

    /// Counts a task at its place at the end of each day. A task that was finished before these days is not counted.
    fn add(&mut self, moves: &[(i64, Place)], days: &Days) {
        let begin = days.from.as_second();
        for (at, (time, place)) in moves.iter().enumerate() {
            let until = moves.get(at + 1).map_or(days.dates.len(), |(next, _)| days.index(*next));
            let is_old = *place == Place::Finished && *time < begin;
            let band = self.bands.iter_mut().find(|band| band.place == *place && !is_old);
            let counts = band.and_then(|band| band.counts.get_mut(days.index(*time)..until));
            counts.into_iter().flatten().for_each(|count| *count += 1);
        }
    }
}

/// Returns the places and times of a task's moves, in order. All gates that the rules no longer have are one place.
fn moves(task: &TaskSummary, rules: &Rules) -> Vec<(i64, Place)> {
    let workflow = rules.workflow_of(task);
    let at_gate = |name: &str| {
        let mut gates = workflow.iter().flat_map(|workflow| &workflow.gates);
        let gate = gates.find(|gate| gate.id.as_str() == name);
        gate.map_or(Place::Stranded, |gate| Place::Gate(gate.id.clone()))
    };
    let mut ended = start(task);
    let mut moves = vec![(ended, Place::New)];
    for visit in task.visits.iter() {
        // The entry of a reopening is not a visit: the task has been finished since the entry before.
        moves.push(if took_time(visit) {
            (visit.entered, at_gate(gate_of(visit)))
        } else {
            (ended, Place::Finished)
        });
        ended = end(visit);
    }
    let since = if task.is_finished() { last_end(task) } else { task.entered().unwrap_or(ended) };
    moves.push((since, place_of(rules, task)));
    // The clocks of different machines differ: no move may be earlier than the one before it.
    let mut latest = i64::MIN;
    for (time, _) in &mut moves {
        latest = latest.max(*time);
        *time = latest;
    }
    moves
}

fn cycle_times(tasks: &[&TaskSummary], from: i64) -> Vec<CycleTime> {
    let is_complete = |task: &&&TaskSummary| !task.is_new && task.status == Status::Complete;
    let timed = tasks.iter().filter(is_complete).map(|task| {
        let (completed, first) = (last_end(task), task.visits.first());
        let begin = first.map_or_else(|| start(task), |visit| visit.entered);
        let seconds = u64::try_from(completed.saturating_sub(begin)).unwrap_or(0);
        CycleTime { id: task.id.clone(), title: task.title.clone(), completed, seconds }
    });
    let mut timed: Vec<CycleTime> = timed.filter(|task| task.completed >= from).collect();
    timed.sort_by(|a, b| a.completed.cmp(&b.completed).then_with(|| a.id.cmp(&b.id)));
    timed
}

#[cfg(test)]
mod tests;
