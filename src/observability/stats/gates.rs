//! The time that tasks stay at each gate, the number of rejections and loops, and the tasks that wait there now.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::numbers::{Share, Span, Spread, gate_of, rounded, took_time, verdicts};
use crate::domain::{Ending, GateId, OpenVisit, Status, Workflow};
use crate::project::active_rules::InForce;
use crate::project::rule_lookup::gates_with_branches;
use crate::project::workspace::Workspace;
use crate::tasks::headers::dependencies::Dependencies;
use crate::tasks::headers::listing::{ListScope, Unreadable, read_all, unreadable_value};
use crate::tasks::headers::summary::{EndedVisit, TaskSummary};

/// The statistics of a gate or a branch.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateStats {
    pub workflow: String,
    /// The gate or branch.
    pub gate: String,
    /// The role; `None` for a fork, a condition and a gate that no longer exists.
    pub role: Option<String>,
    /// True if the rules in force have the gate.
    pub in_force: bool,
    /// The durations of the visits that ended in this time; `None` if none did.
    #[serde(rename = "duration")]
    pub spread: Option<Spread>,
    /// The share of this gate in the time of all gates, including open visits; the time of branches is that of their fork.
    #[serde(rename = "timeShare", serialize_with = "rate")]
    pub time: Share,
    /// True if the gate can send tasks back, or once did.
    pub can_reject: bool,
    /// The share of rejections among the completions that settled a visit.
    pub rejections: Share,
    /// The share of the tasks with a verdict here that were not sent back the first time.
    pub first_pass: Share,
    /// The number of times that a task passed the gate over.
    pub skipped: u64,
    /// The number of tasks that are here now.
    pub standing: u64,
    /// The time that the oldest of them has been here, in seconds.
    pub oldest: Option<u64>,
    /// The values of the spread.
    #[serde(skip)]
    lengths: Vec<u64>,
}

fn rate<S: Serializer>(share: &Share, serializer: S) -> Result<S::Ok, S::Error> {
    share.rate().map(rounded).serialize(serializer)
}

impl GateStats {
    /// Returns true if no task was here in this time, though one could have been.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_force && self.spread.is_none() && self.standing == 0
    }

    fn add_task(&mut self, age: u64) {
        self.standing += 1;
        self.oldest = self.oldest.max(Some(age));
    }
}

/// The workflow, and the gate or branch.
type Key<'a> = (&'a str, Cow<'a, str>);

/// Counts gates.
#[derive(Debug, Default)]
pub(crate) struct Gates<'a> {
    counts: HashMap<Key<'a>, GateStats>,
}

impl<'a> Gates<'a> {
    /// Counts a task.
    pub(crate) fn see(&mut self, task: &'a TaskSummary, span: &Span) {
        let mut judged = HashSet::new();
        for stay in task.visits.iter() {
            let counts = span.has(stay);
            if took_time(stay) {
                self.count_time(task, stay, span, counts);
            }
            for gate in stay.skipped.iter().filter(|_| counts) {
                self.at(task, gate.as_str()).skipped += 1;
            }
            for verdict in verdicts(stay) {
                let is_first = judged.insert(verdict.station);
                if counts {
                    let count = self.at(task, verdict.station);
                    count.rejections.count(verdict.rejects);
                    if is_first {
                        count.first_pass.count(!verdict.rejects);
                    }
                }
            }
        }
        let (Some(gate), Some(entered)) = (task.current_gate(), task.entered()) else { return };
        let age = u64::try_from(span.until.saturating_sub(entered)).unwrap_or(0);
        let branches = task.open_branches.iter().map(|branch| format!("{gate}/{}", branch.id));
        for station in branches {
            self.at(task, station).add_task(age);
        }
        let count = self.at(task, gate.as_str());
        count.add_task(age);
        count.time.part += span.within(entered, span.until);
    }

    /// Counts the time of a visit: the part in this time for the share of the gate, its whole length for the spread.
    fn count_time(
        &mut self,
        task: &'a TaskSummary,
        stay: &'a EndedVisit,
        span: &Span,
        counts: bool,
    ) {
        if counts {
            self.at(task, stay.gate.as_str()).lengths.push(stay.seconds);
        }
        let whole = match &stay.join {
            // All branches of a fork begin together, so the visit that closes the fork took as long as the fork.
            Some(join) => Some(join.fork.as_str()),
            None if stay.gate == gate_of(stay) => Some(stay.gate.as_str()),
            None => None,
        };
        let Some(gate) = whole else { return };
        let count = self.at(task, gate);
        count.time.part +=
            span.within(stay.entered, stay.entered.saturating_add_unsigned(stay.seconds));
        if counts && stay.join.is_some() {
            count.lengths.push(stay.seconds);
        }
    }

    fn at(&mut self, task: &'a TaskSummary, station: impl Into<Cow<'a, str>>) -> &mut GateStats {
        self.counts.entry((task.routing.workflow.as_str(), station.into())).or_default()
    }

    /// Returns the gates in the order of the workflows, then those that the rules no longer have.
    pub(crate) fn close<'w: 'a>(
        mut self,
        workflows: impl Iterator<Item = &'w Workflow>,
    ) -> Vec<GateStats> {
        let whole = self.counts.values().map(|count| count.time.part).sum();
        let finished = |(workflow, gate): Key<'a>, mut row: GateStats| {
            (row.workflow, row.gate) = (workflow.to_owned(), gate.into_owned());
            row.spread = Spread::of(std::mem::take(&mut row.lengths));
            row.time.whole = whole;
            row.can_reject |= row.rejections.part > 0;
            row
        };
        let mut rows = Vec::new();
        for workflow in workflows {
            for (station, gate) in gates_with_branches(workflow) {
                let key = (workflow.name.as_str(), station.into());
                let mut row = self.counts.remove(&key).unwrap_or_default();
                row.role = gate.role().map(ToString::to_string);
                (row.in_force, row.can_reject) = (true, gate.can_reject());
                rows.push(finished(key, row));
            }
        }
        let mut gone: Vec<(Key<'_>, GateStats)> = self.counts.into_iter().collect();
        gone.sort_by(|a, b| a.0.cmp(&b.0));
        rows.extend(gone.into_iter().map(|(key, row)| finished(key, row)));
        rows
    }
}

/// The numbers of a gate.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateRow {
    /// The workflow.
    pub workflow: String,
    /// The gate or branch.
    pub gate: String,
    /// The role; `None` for a fork and a condition.
    pub role: Option<String>,
    /// Tasks that an agent may take.
    pub ready: usize,
    /// Tasks that wait for others.
    pub waiting: usize,
    /// Tasks that an agent works on.
    pub in_progress: usize,
    /// Tasks that are blocked.
    pub blocked: usize,
    /// Tasks whose time limit ran out, at gates without an escalation for that.
    pub overdue: usize,
    /// Tasks that belong to a role other than the gate's.
    pub escalated: usize,
    /// The longest duration of an open visit, in seconds.
    pub oldest: Option<u64>,
    /// The median duration of the completed visits, in seconds.
    pub median: Option<u64>,
    /// The share of rejections among the completions that settled a visit; `None` if the gate never rejects.
    pub rejection_rate: Option<f64>,
    #[serde(skip)]
    lengths: Vec<u64>,
    #[serde(skip)]
    rejections: Share,
}

impl GateRow {
    fn add_task(&mut self, status: &str, header: &TaskSummary, now: i64) {
        match status.parse() {
            Ok(Status::InProgress) => self.in_progress += 1,
            Ok(Status::Blocked) => self.blocked += 1,
            _ if header.awaited.is_nothing() => self.ready += 1,
            _ => self.waiting += 1,
        }
        let age = header.entered().map(|since| u64::try_from(now - since).unwrap_or(0));
        self.oldest = self.oldest.max(age);
    }
}

/// The numbers of all gates.
#[derive(Debug, Default)]
pub(crate) struct GateReport {
    /// The gates in force, in the order of the workflows.
    pub rows: Vec<GateRow>,
    /// Unfinished tasks at none of these gates: hand-made ones, and those whose gate no longer exists.
    pub elsewhere: Vec<String>,
    /// Files that could not be counted.
    pub unreadable: Vec<Unreadable>,
}

/// Returns the numbers of every gate in force; finished tasks count for durations and rejections.
pub(crate) fn gate_status(workspace: &Workspace, in_force: &InForce) -> GateReport {
    let mut listing = read_all(workspace, in_force, ListScope::All);
    Dependencies::note(workspace, in_force, &mut listing);
    let now = workspace.now().as_second();
    let mut rows: Vec<GateRow> = Vec::new();
    let mut places: HashMap<(&str, String), usize> = HashMap::new();
    let mut can_reject = Vec::new();
    for workflow in &in_force.rules.project.workflows {
        for (station, gate) in gates_with_branches(workflow) {
            places.insert((workflow.name.as_str(), station.clone()), rows.len());
            can_reject.push(gate.can_reject());
            let (workflow, role) =
                (workflow.name.to_string(), gate.role().map(ToString::to_string));
            rows.push(GateRow { workflow, gate: station, role, ..GateRow::default() });
        }
    }
    let mut elsewhere = Vec::new();
    for (header, _) in &listing.tasks {
        let workflow = header.routing.workflow.as_str();
        let place = |station: &str| places.get(&(workflow, station.to_owned())).copied();
        for stay in header.visits.iter() {
            let fork = stay.join.as_ref().map(|join| join.fork.as_str());
            let stations = [stay.gate.as_str()].into_iter().chain(fork);
            for at in stations.filter(|_| stay.completed).filter_map(place) {
                rows[at].lengths.push(stay.seconds);
            }
            for verdict in verdicts(stay) {
                if let Some(at) = place(verdict.station) {
                    rows[at].rejections.count(verdict.rejects);
                }
            }
        }
        let gate = header.current_gate().map(GateId::as_str).unwrap_or_default();
        for branch in &header.open_branches {
            if let Some(at) = place(&format!("{gate}/{}", branch.id)) {
                rows[at].add_task(branch.status.as_str(), header, now);
                rows[at].overdue += usize::from(branch.overdue_since().is_some());
                rows[at].escalated += usize::from(branch.escalated.is_some());
            }
        }
        match place(gate) {
            Some(at) => {
                rows[at].add_task(header.status.as_str(), header, now);
                let open = header.gate.as_ref();
                let overdue = open.and_then(OpenVisit::overdue_since).is_some();
                let escalated = open.is_some_and(|open| open.escalated.is_some());
                rows[at].overdue += usize::from(overdue);
                rows[at].escalated += usize::from(escalated);
            }
            None if header.is_finished() => {}
            None => elsewhere.push(header.id.to_string()),
        }
    }
    for (row, can_reject) in rows.iter_mut().zip(can_reject) {
        row.median = Spread::of(std::mem::take(&mut row.lengths)).map(|spread| spread.p50);
        let rejects = can_reject || row.rejections.part > 0;
        row.rejection_rate = row.rejections.rate().filter(|_| rejects);
    }
    elsewhere.sort();
    GateReport { rows, elsewhere, unreadable: listing.unreadable }
}

/// Returns the numbers as `--json` shows them; times are in seconds.
pub(crate) fn gate_report_value(report: &GateReport) -> Value {
    let unreadable: Vec<Value> = report.unreadable.iter().map(unreadable_value).collect();
    json!({"gates": report.rows, "elsewhere": report.elsewhere, "unreadable": unreadable})
}

/// The number of passes up to which they are normal.
pub(crate) const MANY: u32 = 3;

/// The repeated passes of tasks through the same gates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Loops {
    /// The number of tasks that moved in this time.
    pub tasks: u64,
    /// The sum of their passes.
    pub passes: u64,
    /// The numbers of tasks with one pass, two, three.
    pub few: [u64; MANY as usize],
    /// The tasks with more passes, with their passes, the most first.
    pub many: Vec<(String, u32)>,
}

impl Loops {
    /// Counts a task with its whole history, if one of its visits ended in this time.
    pub(crate) fn see(&mut self, task: &TaskSummary, span: &Span) {
        if !task.visits.iter().any(|stay| span.has(stay)) {
            return;
        }
        let passes = passes(task);
        self.tasks += 1;
        self.passes += u64::from(passes);
        match self.few.get_mut(passes as usize - 1) {
            Some(count) => *count += 1,
            None => self.many.push((task.id.to_string(), passes)),
        }
    }

    /// Sorts the tasks by their passes, the most first.
    pub(crate) fn close(&mut self) {
        self.many.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    }

    /// Returns the average number of passes of a task.
    #[expect(clippy::cast_precision_loss, reason = "counts of visits are far below 2^52")]
    pub(crate) fn average(&self) -> Option<f64> {
        (self.tasks > 0).then(|| self.passes as f64 / self.tasks as f64)
    }
}

impl Serialize for Loops {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let few = self.few.iter().zip(1_u32..);
        let mut counts: Vec<Value> =
            few.map(|(tasks, passes)| json!({"passes": passes, "tasks": tasks})).collect();
        counts.push(json!({"passes": format!("over {MANY}"), "tasks": self.many.len()}));
        let worst = self.many.iter().map(|(task, passes)| json!({"task": task, "passes": passes}));
        json!({
            "tasks": self.tasks,
            "average": self.average().map(rounded),
            "counts": counts,
            "worst": worst.collect::<Vec<_>>(),
        })
        .serialize(serializer)
    }
}

/// A gate, with the place of the item in its loop.
type Entered<'t> = (&'t str, Option<usize>);

/// Returns how often the task has arrived at its most visited gate, in one round and with one item of a loop. Staying at a gate,
/// blocked or with another agent, does not count again; the branches of a fork are one gate.
fn passes(task: &TaskSummary) -> u32 {
    let item = task.gate.as_ref().and_then(|open| open.item).map(|item| item.index);
    most_passes(&task.visits, task.current_gate().map(|gate| (gate.as_str(), item)))
}

/// Returns the passes, as [`passes`] counts them, of a task with these ended visits, and perhaps an open one.
pub(crate) fn most_passes(stays: &[EndedVisit], open: Option<Entered<'_>>) -> u32 {
    let mut entries: Vec<(Entered<'_>, u32)> = Vec::new();
    let mut most = 1;
    let mut enter = |at, is_first: bool| {
        if is_first {
            entries.clear();
        }
        match entries.iter_mut().find(|(known, _)| *known == at) {
            Some((_, count)) => {
                *count += 1;
                most = most.max(*count);
            }
            None => entries.push((at, 1)),
        }
    };
    let mut last: Option<&EndedVisit> = None;
    let begins = |last: Option<&EndedVisit>| last.is_some_and(|last| last.round.is_some());
    for stay in stays {
        if stay.ended == Ending::Reopened.as_str() {
            last = None;
            continue;
        }
        let at = (gate_of(stay), stay.item);
        if is_new(last, at) {
            enter(at, begins(last));
        }
        last = Some(stay);
    }
    if let Some(at) = open.filter(|at| is_new(last, *at)) {
        enter(at, begins(last));
    }
    most
}

/// Returns true if the task arrived at the gate after that visit, and did not just stay there.
fn is_new(last: Option<&EndedVisit>, at: Entered<'_>) -> bool {
    last.is_none_or(|last| {
        (gate_of(last), last.item) != at || last.retry.is_some() || last.round.is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observability::stats::report::tests::{Story, passed, sent_back};

    #[test]
    fn the_next_item_and_the_next_round_are_no_other_pass() {
        let item = |gate, to, item| EndedVisit { item: Some(item), ..passed(gate, to) };
        let of_item = |story: Story, item_number| {
            story.then(item("work", "check", item_number)).then(item("check", "work", item_number))
        };
        let story = of_item(of_item(Story::new("a"), 0), 1);
        assert_eq!(passes(&story.task()), 1);
        let back = EndedVisit { item: Some(2), ..sent_back("check", "work") };
        let story = story.then(item("work", "check", 2)).then(back).then(item("work", "check", 2));
        assert_eq!(passes(&story.task()), 2);
        let round = EndedVisit { round: Some(2), ..passed("work", "work") };
        let story = Story::new("a").then(round.clone()).then(round).then(passed("work", ""));
        assert_eq!(passes(&story.task()), 1);
    }

    #[test]
    fn a_pass_is_another_coming_to_a_gate() {
        let at = |story: Story| passes(&story.task());
        assert_eq!(at(Story::new("a")), 1);
        assert_eq!(at(Story::new("a").then(passed("work", "review"))), 1);
        let once = Story::new("a").then(passed("work", "review")).then(sent_back("review", "work"));
        assert_eq!(at(once.clone()), 2, "it stands at the first gate again");
        let twice = once.then(passed("work", "review")).then(sent_back("review", "work"));
        assert_eq!(at(twice.clone()), 3);
        assert_eq!(at(twice.then(passed("work", "review")).then(passed("review", "$end"))), 3);
    }

    #[test]
    fn a_task_that_stays_does_not_enter_again() {
        let mut blocked = passed("work", "work");
        blocked.ended = "blocked".into();
        let mut timeout = passed("work", "work");
        timeout.ended = "timeout".into();
        let story = Story::new("a").then(blocked).then(timeout).then(passed("work", "review"));
        assert_eq!(passes(&story.task()), 1);
        let again = Story::new("a").then(sent_back("work", "work")).then(passed("work", "review"));
        assert_eq!(passes(&again.task()), 2, "a gate may send a task back to itself");
    }

    #[test]
    fn branches_of_one_fork_are_one_coming() {
        let story = Story::new("a")
            .then(passed("work", "checks"))
            .then(passed("checks/a", ""))
            .then(passed("checks/b", "ship"))
            .then(passed("ship", "$end"));
        assert_eq!(passes(&story.task()), 1);
    }

    #[test]
    fn a_resumed_visit_is_another_pass() {
        let mut reopened = passed("work", "work");
        reopened.ended = "reopened".into();
        let story = Story::new("a")
            .then(passed("work", "$end"))
            .then(reopened)
            .then(passed("work", "$end"));
        assert_eq!(passes(&story.task()), 2);
    }
}
