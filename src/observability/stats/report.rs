//! Statistics of the process: times at gates, rejections, the pace of agents, and the trend. Computed from task files alone.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::breakdowns::{
    AgentStats, Agents, DeliveryCounts, DeliveryStats, TagStats, Tags, Trend, Week, Weeks, per_week,
};
use super::gates::{GateStats, Gates, Loops};
use super::numbers::{
    RejectingGates, Share, Span, Spread, end, gate_verdict, last_end, rounded, start,
};
use crate::domain::{Spending, Status, TaskId, Timestamp, Workflow, WorkflowName};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::storage::runs::Runs;
use crate::tasks::headers::filter::{FilterKey, TaskFilter};
use crate::tasks::headers::list::check_filter_names;
use crate::tasks::headers::listing::{ListScope, Unreadable, read_all, unreadable_value};
use crate::tasks::headers::spending::{DayBudget, spending_after};
use crate::tasks::headers::summary::{TaskSummary, time};

/// A query for statistics.
#[derive(Debug, Clone, Default)]
pub(crate) struct StatsQuery {
    /// The start of the period; `None` means the first task.
    pub since: Option<Timestamp>,
    /// The workflow; `None` means all.
    pub workflow: Option<WorkflowName>,
}

/// Statistics of the process.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stats {
    /// The project's name.
    pub project: String,
    /// The workflow of the query.
    pub workflow: Option<String>,
    /// The counted time.
    pub span: Span,
    /// The numbers of tasks by their fate.
    pub tally: Tally,
    /// The time from the creation to the completion of tasks.
    pub lead: Option<Spread>,
    /// The share of these tasks that were never sent back.
    pub first_pass: Share,
    /// The share of rejections among the completions at gates that can send tasks back.
    pub rejections: Share,
    /// The repeated passes of tasks through the same gates.
    pub loops: Loops,
    /// The deliveries; `None` if no gate is marked as one.
    pub deliveries: Option<DeliveryStats>,
    /// The gates in force, in the order of the workflows, and those that no longer exist.
    pub gates: Vec<GateStats>,
    /// The agents that completed visits.
    pub agents: Vec<AgentStats>,
    /// The tags of tasks that moved.
    pub tags: Vec<TagStats>,
    /// The numbers week by week.
    pub weeks: Vec<Week>,
    /// The trend of rejections.
    pub trend: Trend,
    /// The amounts that the programs of agents spent.
    pub spent: Spending,
    /// The budget of the day, if there is one.
    pub day: Option<DayBudget>,
    /// Tasks with visits that ended before they began, by the clocks of different machines; these count as 0 seconds.
    pub skewed: Vec<String>,
    /// Files that could not be counted.
    pub unreadable: Vec<Unreadable>,
}

/// The numbers of tasks by their fate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// All tasks.
    pub all: u64,
    /// Unfinished tasks.
    pub active: u64,
    /// Created in this time.
    pub created: u64,
    /// Completed in this time.
    pub completed: u64,
    /// Failed in this time.
    pub failed: u64,
    /// Cancelled in this time.
    pub cancelled: u64,
    /// Visits that ended in this time.
    pub visits: u64,
}

impl Stats {
    /// Returns the average number of tasks completed in seven days; `None` if the period is shorter.
    pub(crate) fn throughput(&self) -> Option<f64> {
        self.span.weeks().map(|weeks| per_week(self.tally.completed, weeks))
    }

    /// Returns the gate where most of the time is spent, if any is.
    pub(crate) fn bottleneck(&self) -> Option<&GateStats> {
        self.gates.iter().filter(|gate| gate.time.part > 0).max_by_key(|gate| gate.time.part)
    }
}

impl Stats {
    /// Returns the statistics as `--json` shows them: times are in seconds, rates from 0 to 1.
    pub(crate) fn value(&self) -> Value {
        let tally = &self.tally;
        let place = |gate: &GateStats| json!({"workflow": gate.workflow, "gate": gate.gate});
        let idle = self.gates.iter().filter(|gate| gate.is_idle());
        json!({
            "project": self.project,
            "workflow": self.workflow,
            "from": time(self.span.from).to_string(),
            "until": time(self.span.until).to_string(),
            "tasks": {
                "all": tally.all,
                "active": tally.active,
                "created": tally.created,
                "completed": tally.completed,
                "failed": tally.failed,
                "cancelled": tally.cancelled,
            },
            "visits": tally.visits,
            "leadTime": self.lead,
            "completedPerWeek": self.throughput().map(rounded),
            "firstPass": self.first_pass,
            "rejections": self.rejections,
            "trend": self.trend,
            "passes": self.loops,
            "deliveries": self.deliveries,
            "bottleneck": self.bottleneck().map(place),
            "idle": idle.map(place).collect::<Vec<_>>(),
            "gates": self.gates,
            "agents": self.agents,
            "tags": self.tags,
            "weeks": self.weeks,
            "spent": self.spent.value(),
            "budget": self.day.map(|day| day.value()),
            "skewed": self.skewed,
            "unreadable": self.unreadable.iter().map(unreadable_value).collect::<Vec<_>>(),
        })
    }
}

/// Computes the statistics. Reads only files that changed since they were last read.
pub(crate) fn stats(
    workspace: &Workspace,
    in_force: &InForce,
    query: &StatsQuery,
) -> Result<Stats, ProjectError> {
    let mut listing = read_all(workspace, in_force, ListScope::All);
    if let Some(workflow) = &query.workflow {
        let filter = TaskFilter::default().with(FilterKey::Workflow, [workflow]);
        check_filter_names(&filter, &in_force.rules, &listing)?;
        listing.tasks.retain(|(task, _)| task.routing.workflow == *workflow);
    }
    let tasks: Vec<&TaskSummary> = listing.tasks.iter().map(|(header, _)| &**header).collect();
    let stats = count(&tasks, &in_force.rules, query, workspace.now());
    let mut records = Runs::at(&workspace.paths).records(None);
    let ids: HashSet<&TaskId> = tasks.iter().map(|task| &task.id).collect();
    records.retain(|record| ids.contains(&record.ticket.task));
    let begin = stats.span.from.saturating_sub(1);
    let spent = spending_after(&tasks, &records, begin, workspace.now());
    let (project, day) = (in_force.project_name(workspace), DayBudget::read(workspace, in_force));
    Ok(Stats { project, spent, day, unreadable: listing.unreadable, ..stats })
}

/// Counts tasks of the workflow of the query, for statistics without the project's name.
pub(crate) fn count(
    tasks: &[&TaskSummary],
    rules: &Rules,
    query: &StatsQuery,
    now: Timestamp,
) -> Stats {
    let until = now.as_second();
    let from = query.since.map_or_else(|| beginning(tasks, until), Timestamp::as_second);
    let span = Span { from: from.min(until), until };
    let (mut tally, mut leads, mut first_pass) = (Tally::default(), Vec::new(), Share::default());
    let mut rejections = Share::default();
    let (mut loops, mut gates, mut agents) =
        (Loops::default(), Gates::default(), Agents::default());
    let (mut tags, mut weeks) = (Tags::default(), Weeks::of(span));
    let rejecting_gates = RejectingGates::of(rules, tasks);
    let mut deliveries = DeliveryCounts::default();
    let mut skewed = Vec::new();
    for &task in tasks {
        tally.all += 1;
        let created = task.created.as_second();
        if span.holds(created) {
            tally.created += 1;
            weeks.created(created);
        }
        let lead = tally.end(task, &span);
        if let Some((time, lead)) = lead {
            leads.push(lead);
            weeks.completed(time, lead);
            let mut verdicts = task.visits.iter().filter_map(gate_verdict);
            first_pass.count(!verdicts.any(|verdict| verdict.rejects));
        }
        for stay in task.visits.iter().filter(|stay| span.has(stay)) {
            tally.visits += 1;
            if let Some(verdict) = rejecting_gates.verdict(task, stay) {
                rejections.count(verdict.rejects);
                weeks.judged(end(stay), verdict.rejects);
            }
        }
        if task.visits.iter().any(|stay| stay.skewed && span.has(stay)) {
            skewed.push(task.id.to_string());
        }
        loops.see(task, &span);
        deliveries.see(rules, task, &span);
        gates.see(task, &span);
        agents.see(task, &span);
        tags.see(task, &span, &rejecting_gates, lead.map(|(_, lead)| lead));
    }
    loops.close();
    skewed.sort();
    let (weeks, trend) = weeks.close();
    let gates = gates.close(queried_workflows(rules, query));
    Stats {
        project: String::new(),
        workflow: query.workflow.as_ref().map(ToString::to_string),
        span,
        tally,
        lead: Spread::of(leads),
        first_pass,
        rejections,
        loops,
        deliveries: deliveries.close(rules, span.weeks()),
        agents: agents.close(&gates),
        gates,
        tags: tags.close(),
        weeks,
        trend,
        spent: Spending::default(),
        day: None,
        skewed,
        unreadable: Vec::new(),
    }
}

impl Tally {
    /// Counts a task. Returns the time of its completion and its duration, if the completion is in this period.
    fn end(&mut self, task: &TaskSummary, span: &Span) -> Option<(i64, u64)> {
        if !task.is_finished() {
            self.active += 1;
            return None;
        }
        let ended = last_end(task);
        if !span.holds(ended) {
            return None;
        }
        match task.status {
            Status::Complete => {
                self.completed += 1;
                Some((
                    ended,
                    u64::try_from(ended.saturating_sub(task.created.as_second())).unwrap_or(0),
                ))
            }
            Status::Failed => {
                self.failed += 1;
                None
            }
            _ => {
                self.cancelled += 1;
                None
            }
        }
    }
}

/// Returns the workflows of the query.
fn queried_workflows<'r>(
    rules: &'r Rules,
    query: &StatsQuery,
) -> impl Iterator<Item = &'r Workflow> {
    let wanted = query.workflow.clone();
    rules
        .project
        .workflows
        .iter()
        .filter(move |workflow| wanted.as_ref().is_none_or(|name| workflow.name == *name))
}

/// Returns the earliest time when one of the tasks was created, or arrived at its first gate.
pub(crate) fn beginning(tasks: &[&TaskSummary], until: i64) -> i64 {
    tasks.iter().map(|task| start(task)).min().unwrap_or(until)
}

#[cfg(test)]
pub(crate) mod tests;
