//! The amounts that the programs of agents spent, by the entries of tasks and the attempts that this clone keeps. An agent that completes
//! its task itself does so before its program reports its cost, so only the clone that started it knows that.

use std::collections::HashSet;

use serde_json::Value;

use super::entry_run::{STOPPED, reported};
use super::listing::{ListScope, read_all};
use super::summary::{EndedVisit, TaskSummary};
use crate::domain::{
    BranchStatus, Due, Ending, Outcome, RunBudget, Spending, Status, TaskId, Timestamp,
};
use crate::files::task_file::TaskFile;
use crate::project::active_rules::InForce;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::storage::runs::{RunEnding, RunRecord, Runs};

/// Returns what an attempt spent. One at work spends time; nobody saw how long a lost one lasted.
fn spent_by(record: &RunRecord, now: Timestamp) -> Spending {
    let until = |end: Timestamp| end.as_second().saturating_sub(record.started.as_second());
    match &record.end {
        Some(end) if end.how == RunEnding::Lost => reported(&end.agent_report, 0),
        Some(end) => reported(&end.agent_report, u64::try_from(until(end.at)).unwrap_or_default()),
        None if record.is_alive() => {
            let seconds = u64::try_from(until(now)).unwrap_or_default();
            Spending { seconds, ..Spending::default() }
        }
        None => Spending::default(),
    }
}

/// Returns what was spent on the task since its budget began to count: from its creation, or since a person let it go on.
fn task_spending(workspace: &Workspace, task: &TaskSummary) -> Spending {
    let records = Runs::at(&workspace.paths).records(Some(&task.id));
    let (place, begin) = budget_begin(task);
    let visits = task.visits.iter().skip(place).map(|visit| (&task.id, visit));
    sum(visits, &records, begin, workspace.now())
}

/// Returns the place in the history, and the time, from which the task's budget counts.
fn budget_begin(task: &TaskSummary) -> (usize, i64) {
    let lasts = |place: usize, visit: &EndedVisit| match visit.gate.split_once('/') {
        None => task.status == Status::Blocked && place + 1 == task.visits.len(),
        Some((_, branch)) => task
            .branches()
            .any(|open| open.status == BranchStatus::Blocked && open.id.as_str() == branch),
    };
    let blocked = Ending::Completed(Outcome::Blocked);
    let is_end = |(place, visit): &(usize, &EndedVisit)| {
        let is_stop = visit.run.as_ref().is_some_and(|run| run.source == STOPPED);
        is_stop && visit.ended == blocked.as_str() && !lasts(*place, visit)
    };
    let end = task.visits.iter().enumerate().rev().find(is_end);
    end.map_or((0, i64::MIN), |(place, visit)| (place + 1, ended_at(visit)))
}

fn ended_at(visit: &EndedVisit) -> i64 {
    visit.entered.saturating_add_unsigned(visit.seconds)
}

/// Returns what was spent on the tasks after that second.
pub(crate) fn spending_after(
    tasks: &[&TaskSummary],
    records: &[RunRecord],
    begin: i64,
    now: Timestamp,
) -> Spending {
    let visits = tasks.iter().flat_map(|task| task.visits.iter().map(|visit| (&task.id, visit)));
    let visits = visits.filter(|(_, visit)| ended_at(visit) > begin);
    sum(visits, records, begin, now)
}

/// Adds up the attempts of this clone that ended after a second, and the entries of attempts that it does not keep.
fn sum<'t>(
    visits: impl Iterator<Item = (&'t TaskId, &'t EndedVisit)>,
    records: &[RunRecord],
    begin: i64,
    now: Timestamp,
) -> Spending {
    let mut sum = Spending::default();
    for record in records {
        let end = record.end.as_ref().map_or(now, |end| end.at);
        if end.as_second() > begin {
            sum.add(&spent_by(record, now));
        }
    }
    let known: HashSet<&str> = records.iter().map(|record| record.run.as_str()).collect();
    let given_up: HashSet<&TaskId> = records.iter().map(|record| &record.ticket.task).collect();
    for (task, visit) in visits {
        let Some(run) = &visit.run else { continue };
        // The entry of failed attempts repeats the last one's facts, with an id of its own.
        let is_repeated = run.source == "attempts" && given_up.contains(task);
        if !known.contains(run.id.as_str()) && !is_repeated {
            sum.add(&run.spending);
        }
    }
    sum
}

/// The budget of a task, with what is spent of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TaskBudget {
    pub budget: RunBudget,
    pub spent: Spending,
}

impl TaskBudget {
    /// Returns the budget of an unfinished task; `None` if it has none.
    pub(crate) fn read(workspace: &Workspace, rules: &Rules, file: &TaskFile) -> Option<Self> {
        let budget = rules.budget_of(&file.task);
        let is_limited = !budget.is_empty() && !file.task.status.is_finished();
        let spent = || task_spending(workspace, &TaskSummary::of(file));
        is_limited.then(|| Self { budget, spent: spent() })
    }

    /// Returns the sums for people: what is spent of each amount, and what is left.
    pub(crate) fn words(&self) -> String {
        self.budget.words(&self.spent)
    }
}

/// The budget of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DayBudget {
    pub budget: RunBudget,
    pub spent: Spending,
    /// The midnight of the project's time zone at which it ends.
    pub ends: Timestamp,
}

impl DayBudget {
    /// Returns the budget of the day with what is spent; `None` if the project has none.
    pub(crate) fn read(workspace: &Workspace, in_force: &InForce) -> Option<Self> {
        let (project, now) = (&in_force.rules.project, workspace.now());
        let budget = project.budgets.day;
        if budget.is_empty() {
            return None;
        }
        let (day, zone) = (Due::Day(project.day(now)), &project.timezone);
        let listing = read_all(workspace, in_force, ListScope::Days);
        let tasks: Vec<&TaskSummary> = listing.tasks.iter().map(|(task, _)| &**task).collect();
        let records = Runs::at(&workspace.paths).records(None);
        let begin = day.begins(zone).as_second().saturating_sub(1);
        let spent = spending_after(&tasks, &records, begin, now);
        Some(Self { budget, spent, ends: day.ends(zone) })
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.budget.is_spent(&self.spent)
    }

    /// Returns the sums as a sentence.
    pub(crate) fn sentence(&self) -> String {
        let end = if self.is_spent() { "; `aof run` waits until midnight" } else { "" };
        format!("today's budget: spent {}{end}", self.budget.words(&self.spent))
    }

    /// Returns the sums for `--json`.
    pub(crate) fn value(&self) -> Value {
        let mut value = self.budget.value(&self.spent);
        value["until"] = self.ends.to_string().into();
        value
    }
}
