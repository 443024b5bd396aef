//! The summary of a task: the part of its file that lists, sweeps, hand-outs and counts need.

use std::fmt;
use std::ops::Deref;

use jiff::fmt::serde::timestamp::nanosecond;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::domain::{
    AgentId, Blocker, BranchStatus, ChecklistCount, Due, Ending, Gate, GateId, Join, Map,
    OpenBranch, OpenVisit, Outcome, Priority, RoleId, Status, Task, TaskId, TaskPlan, Timestamp,
    Urgency, Verdict, Visit, WorkflowName, distinct,
};
use crate::files::acceptance;
use crate::files::acceptance::{TESTS, TESTS_FILE};
use crate::files::task_file::misread::misread;
use crate::files::task_file::{Origin, TaskFile, link_value};
use crate::git::ObjectId;
use crate::rules::{Rules, Stay, due_act, is_over, lost_dependencies, stay};
use crate::storage::{CacheFile, Deferred, FileStat, ProjectPath};
use crate::tasks::headers::entry_run::EntryRun;
use crate::tasks::state::acceptance::count_boxes;
use crate::tasks::state::comment_heads::{CommentHead, comment_heads};

/// The version of a summary's shape and meaning: older caches are rebuilt.
const SCHEMA: &str = "26";

/// The cache of summaries.
pub(crate) const HEADERS: CacheFile = CacheFile { name: "cache", schema: SCHEMA };

/// The status of a hand-made file that is not adopted yet.
pub(crate) const NEW: &str = "new";

/// The word that people see for a ready task that waits for others.
pub(crate) const WAITING: &str = "waiting";

/// One task as lists show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of one file")]
pub(crate) struct TaskSummary {
    /// The task as its file has it, without its history, its context, its metadata and its description.
    pub task: Box<Task>,
    priority: Priority,
    /// True if it is a hand-made file that is not adopted yet.
    pub is_new: bool,
    /// The lost dependencies that block it, as its blockers name them.
    pub lost_dependencies: Vec<Blocker>,
    /// The clocks of its time limits.
    pub clocks: Vec<VisitClock>,
    /// Its ended visits: most of a project's data, so they are stored compactly.
    pub visits: Deferred<Box<[EndedVisit]>>,
    /// The comments in its body, if one of them mentions somebody.
    pub comments: Box<[CommentHead]>,
    /// The boxes in its body.
    pub checklist: ChecklistCount,
    /// True if the acceptance tests in its frontmatter are invalid.
    pub has_bad_tests: bool,
    /// True if a form in it is not read as it looks.
    pub is_misread: bool,
    /// True if it names a file of tests.
    pub has_tests_file: bool,
    /// The name of the file's bytes as a blob of git.
    pub blob: [u8; 20],
    /// The state of the file that it was read from.
    #[serde(skip)]
    pub file: FileStat,
    /// The time from which it is late.
    #[serde(skip)]
    pub due_at: Option<Timestamp>,
    /// The things that it waits for, if a list looked them up.
    #[serde(skip)]
    pub awaited: Awaited,
    /// The role of the open visit under the rules in force, which may have changed since the task reached its gate.
    #[serde(skip)]
    pub role: Option<RoleId>,
    /// The branches that are open under the rules in force, each with its role.
    #[serde(skip)]
    pub open_branches: Vec<OpenBranch>,
}

/// The things that a ready task waits for before it is handed out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Awaited {
    /// Tasks that it depends on, and its children at a gate that waits for them.
    pub tasks: Vec<TaskId>,
    /// The day, or the time, before which it is not handed out.
    pub day: Option<Due>,
    /// The time from which a program looks again whether its gate may be passed.
    pub look: Option<Timestamp>,
}

impl Awaited {
    pub(crate) fn is_nothing(&self) -> bool {
        self.tasks.is_empty() && self.day.is_none() && self.look.is_none()
    }

    /// Returns the rest of a sentence: `for AOF-7qk, AOF-9xw`, `until Mon, 2026-11-30`, or `and looks again at 14:32`; `None` if it waits
    /// for nothing.
    pub(crate) fn words(&self) -> Option<String> {
        let tasks: Vec<&str> = self.tasks.iter().map(TaskId::as_str).collect();
        let others = (!tasks.is_empty()).then(|| format!("for {}", tasks.join(", ")));
        let until = || Some(format!("until {}", self.day?.in_words()));
        let look = || Some(format!("and looks again at {}", clock(self.look?)));
        others.or_else(until).or_else(look)
    }
}

/// Returns the reader's clock time.
pub(crate) fn clock(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%H:%M").to_string()
}

/// The clock of the time limits of a visit, or of a branch. It does not exist while the visit is blocked or held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VisitClock {
    pub branch: Option<GateId>,
    #[serde(with = "nanosecond::required")]
    since: Timestamp,
    agent: Option<AgentId>,
    #[serde(with = "nanosecond::optional")]
    claimed: Option<Timestamp>,
    timer_spent: bool,
}

impl VisitClock {
    fn of(task: &Task, branch: Option<&GateId>) -> Option<Self> {
        let Stay { since, agent, claimed, timer_spent } = stay(task, branch)?;
        Some(Self { branch: branch.cloned(), since, agent: agent.cloned(), claimed, timer_spent })
    }

    /// Returns the stay as the engine sees it.
    pub(crate) fn stay(&self) -> Stay<'_> {
        let Self { since, agent, claimed, timer_spent, .. } = self;
        Stay { since: *since, agent: agent.as_ref(), claimed: *claimed, timer_spent: *timer_spent }
    }
}

impl Deref for TaskSummary {
    type Target = Task;

    fn deref(&self) -> &Task {
        &self.task
    }
}

impl TaskSummary {
    /// Returns the summary of the task in a file.
    pub(crate) fn of(file: &TaskFile) -> Self {
        let whole = &file.task;
        let branches: Vec<&OpenBranch> =
            whole.branches().filter(|branch| branch.status.is_open()).collect();
        let clocks = if branches.is_empty() {
            VisitClock::of(whole, None).into_iter().collect()
        } else {
            branches.iter().filter_map(|branch| VisitClock::of(whole, Some(&branch.id))).collect()
        };
        let field = |key| file.field(key).filter(|node| !node.is_null());
        let mut task = Box::new(whole.clone());
        (task.description, task.review) = (None, None);
        (task.history, task.context, task.metadata) = (Vec::new(), Map::new(), Map::new());
        Self {
            task,
            priority: whole.priority(),
            is_new: file.origin == Origin::HandMade,
            lost_dependencies: lost_dependencies(whole).into_iter().map(Blocker::Lost).collect(),
            clocks,
            visits: whole.history.iter().map(EndedVisit::of).collect::<Box<[_]>>().into(),
            has_bad_tests: field(TESTS).is_some_and(|node| acceptance::read(node).is_err()),
            is_misread: !misread(file).is_empty(),
            has_tests_file: field(TESTS_FILE).is_some(),
            blob: *ObjectId::of_blob(file.bytes()).as_bytes(),
            file: FileStat::default(),
            checklist: count_boxes(file.body()),
            comments: comment_heads(file.body()),
            due_at: None,
            awaited: Awaited::default(),
            role: None,
            open_branches: Vec::new(),
        }
    }

    /// Sets its due time, and the roles of the open visit and its branches: a task follows the rules in force, not those of the
    /// time when it reached its gate.
    pub(crate) fn follow(&mut self, rules: &Rules) {
        self.due_at = self.plan.due.map(|due| due.ends(&rules.project.timezone));
        self.open_branches =
            self.task.branches().filter(|branch| branch.status.is_open()).cloned().collect();
        let Some(gate) = gate_of(rules, &self.task) else {
            return self.role.clone_from(&self.task.routing.role);
        };
        let known = |id: &GateId| gate.fork()?.branches.iter().find(|branch| branch.id() == id);
        if gate.fork().is_some() {
            // A branch that is no longer in the rules is not waited for, and is not anyone's work.
            self.open_branches.retain(|branch| known(&branch.id).is_some());
        }
        let is_escalated = self.task.gate.as_ref().is_some_and(|open| open.escalated.is_some());
        if is_escalated || rules.project.implicit_workflow {
            return self.role.clone_from(&self.task.routing.role);
        }
        self.role = gate.role().cloned();
        for branch in self.open_branches.iter_mut().filter(|branch| branch.escalated.is_none()) {
            if let Some(found) = known(&branch.id) {
                branch.role.clone_from(&found.duty().role);
            }
        }
    }

    /// Returns its priority.
    pub(crate) fn priority(&self) -> Priority {
        self.priority
    }

    /// Returns the time from which it is late; the maximum if it is never due.
    pub(crate) fn due_or_never(&self) -> Timestamp {
        self.due_at.unwrap_or(Timestamp::MAX)
    }

    /// Returns its place in the order of lists, columns and work to hand out: late first, then by priority, due date, the longest at its
    /// gate, and the oldest.
    pub(crate) fn urgency(&self, now: Timestamp) -> Urgency {
        Urgency {
            is_in_time: !self.is_overdue(now),
            priority: self.priority,
            due: self.due_or_never(),
            entered: self.gate.as_ref().map_or(Timestamp::MAX, |open| open.entered),
            created: self.created,
        }
    }

    /// Returns the word for its state: its status, or `new`.
    pub(crate) fn state(&self) -> &'static str {
        if self.is_new { NEW } else { self.status.as_str() }
    }

    /// Returns the word that people see: `waiting` for a ready task that waits for others, or for a day.
    pub(crate) fn shown_state(&self) -> &'static str {
        if self.awaited.is_nothing() { self.state() } else { WAITING }
    }

    pub(crate) fn is_finished(&self) -> bool {
        !self.is_new && self.status.is_finished()
    }

    /// Returns the gate of the open visit.
    pub(crate) fn current_gate(&self) -> Option<&GateId> {
        self.task.gate.as_ref().map(|open| &open.current)
    }

    /// Returns the time when it reached its gate.
    pub(crate) fn entered(&self) -> Option<i64> {
        self.task.gate.as_ref().map(|open| open.entered.as_second())
    }

    /// Returns the number of the open visit.
    pub(crate) fn visit(&self) -> usize {
        self.task.gate.as_ref().map_or(self.visits.len(), |open| open.visit)
    }

    /// Returns whether a person holds it.
    pub(crate) fn is_held(&self) -> bool {
        self.task.gate.as_ref().is_some_and(|open| open.held.is_some())
    }

    /// Returns whether it, or a branch of it, exceeds a time limit for which no escalation is set.
    pub(crate) fn exceeds_time_limit(&self) -> bool {
        self.time_limit_passed().is_some()
    }

    /// Returns the time when it, or a branch of it, exceeded its time limit.
    pub(crate) fn time_limit_passed(&self) -> Option<Timestamp> {
        let whole = self.task.gate.as_ref().and_then(OpenVisit::overdue_since);
        whole.or_else(|| self.open_branches.iter().filter_map(OpenBranch::overdue_since).min())
    }

    /// Returns whether it is late: its due date has passed, or it exceeds its time limit.
    pub(crate) fn is_overdue(&self, now: Timestamp) -> bool {
        let is_due = self.due_at.is_some_and(|due| due <= now);
        !self.is_finished() && (is_due || self.exceeds_time_limit())
    }

    /// Returns whether the rules require a change of it.
    pub(crate) fn has_due_act(&self, rules: &Rules) -> bool {
        !self.is_new && self.task.gate.is_some() && due_act(rules, &self.task).is_some()
    }

    /// Returns the roles that it waits for: the gate's, or those of branches that are open.
    pub(crate) fn roles(&self) -> impl Iterator<Item = &RoleId> {
        distinct(self.role.iter().chain(self.open_branches.iter().map(|branch| &branch.role)))
    }

    /// Returns the agents that have claimed it, or a branch of it.
    pub(crate) fn agents(&self) -> impl Iterator<Item = &AgentId> {
        let branches = self.open_branches.iter().filter_map(|branch| branch.agent.as_ref());
        distinct(self.routing.agent.iter().chain(branches))
    }

    /// Returns the agents that it is planned for, as far as org.yaml has them.
    pub(crate) fn planned_for<'r>(&self, rules: &'r Rules) -> impl Iterator<Item = &'r AgentId> {
        self.plan.assignee.iter().filter_map(|name| rules.org.agent_named(name))
    }

    /// Returns the names by which filters find it: those of the agents that have it.
    pub(crate) fn agent_names<'t>(&'t self, rules: &Rules) -> impl Iterator<Item = &'t str> {
        self.agents().flat_map(|id| names(rules, id))
    }

    /// Returns the names by which filters find it: those of the agents that it is planned for.
    pub(crate) fn assignee_names<'t>(&'t self, rules: &'t Rules) -> impl Iterator<Item = &'t str> {
        let typed = self.plan.assignee.iter().map(String::as_str);
        typed.chain(self.planned_for(rules).flat_map(|id| names(rules, id)))
    }

    /// Returns the roles of the parts that can be claimed: the whole task, or branches.
    pub(crate) fn free_roles(&self) -> impl Iterator<Item = &RoleId> {
        let role = self.role.iter().filter(|_| self.routing.agent.is_none());
        role.chain(self.ready_branches().map(|branch| &branch.role))
    }

    /// Returns whether the reader holds it, it is planned for them, or they may take it.
    pub(crate) fn is_mine(&self, rules: &Rules, you: &AgentId) -> bool {
        let is_theirs =
            |role: &RoleId| rules.org.roles_of(you).any(|one| one == role) || rules.is_open(role);
        !self.is_finished()
            && (self.agents().any(|holder| holder == you)
                || self.planned_for(rules).any(|planned| planned == you)
                || self.is_waiting_for_an_agent() && self.free_roles().any(is_theirs))
    }

    /// Returns whether nothing but an agent is missing: it is not blocked, held or waiting.
    fn is_waiting_for_an_agent(&self) -> bool {
        let is_stopped = self.status == Status::Blocked || self.is_held();
        !is_stopped && self.awaited.is_nothing()
    }

    /// Returns the role that it, or a branch of it, was escalated to.
    pub(crate) fn escalated(&self) -> Option<&RoleId> {
        let whole = self.task.gate.as_ref().and_then(|open| open.escalated.as_ref());
        whole.or_else(|| self.open_branches.iter().find_map(|branch| branch.escalated.as_ref()))
    }

    /// Returns the open branches that wait for an agent.
    pub(crate) fn ready_branches(&self) -> impl Iterator<Item = &OpenBranch> {
        self.open_branches.iter().filter(|branch| branch.status == BranchStatus::Ready)
    }

    /// Returns the branches, as the file has them, that no agent can take.
    pub(crate) fn branches_without_agents(&self) -> impl Iterator<Item = &OpenBranch> {
        self.task.branches().filter(|branch| branch.blockers.iter().any(Blocker::is_nobody))
    }
}

/// Returns the names by which people call an agent: its id, and a person's also without `human-`.
fn names<'a>(rules: &Rules, id: &'a AgentId) -> impl Iterator<Item = &'a str> + use<'a> {
    let short = id.as_str().strip_prefix("human-");
    let short = short.filter(|short| rules.org.agent_named(short) == Some(id));
    [id.as_str()].into_iter().chain(short)
}

/// Returns the task's gate, as the rules in force have it.
pub(crate) fn gate_of<'r>(rules: &'r Rules, task: &Task) -> Option<&'r Gate> {
    let (_, gate) = rules.workflow_of(task)?.gate(&task.gate.as_ref()?.current)?;
    Some(gate)
}

/// Returns seconds since 1970 as a time.
pub(crate) fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// A summary as `--json` shows it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SummaryDocument<'t> {
    id: &'t TaskId,
    title: &'t str,
    status: &'static str,
    /// The word that people see.
    state: &'static str,
    waiting_for: &'t [TaskId],
    workflow: &'t WorkflowName,
    gate: Option<&'t GateId>,
    visit: usize,
    role: Option<&'t RoleId>,
    agent: Option<&'t AgentId>,
    branches: Vec<Value>,
    priority: Priority,
    due: Option<Due>,
    not_before: Option<Due>,
    overdue: bool,
    milestone: Option<&'t str>,
    assignee: &'t [String],
    links: Vec<Value>,
    checklist: Option<Value>,
    entered: Option<Timestamp>,
    created: Timestamp,
    updated: Timestamp,
    tags: &'t [String],
    blockers: &'t [Blocker],
    depends_on: &'t [TaskId],
    parent: Option<&'t TaskId>,
    path: &'t str,
}

impl<'t> SummaryDocument<'t> {
    pub(crate) fn of(summary: &'t TaskSummary, path: &'t ProjectPath, now: Timestamp) -> Self {
        let whole = |at: Timestamp| time(at.as_second());
        let boxes = summary.checklist;
        let TaskPlan { priority: _, due, not_before, milestone, assignee, links } = &summary.plan;
        let branch = |branch: &OpenBranch| json!({"id": branch.id, "role": branch.role, "agent": branch.agent, "status": branch.status});
        Self {
            id: &summary.id,
            title: &summary.title,
            status: summary.state(),
            state: summary.shown_state(),
            waiting_for: &summary.awaited.tasks,
            workflow: &summary.routing.workflow,
            gate: summary.current_gate(),
            visit: summary.visit(),
            role: summary.role.as_ref(),
            agent: summary.routing.agent.as_ref(),
            branches: summary.open_branches.iter().map(branch).collect(),
            priority: summary.priority(),
            due: *due,
            not_before: *not_before,
            overdue: summary.is_overdue(now),
            milestone: milestone.as_deref(),
            assignee,
            links: links.iter().map(link_value).collect(),
            checklist: (boxes.total() > 0)
                .then(|| json!({"done": boxes.done, "total": boxes.total()})),
            entered: summary.gate.as_ref().map(|open| whole(open.entered)),
            created: whole(summary.created),
            updated: whole(summary.updated),
            tags: &summary.tags,
            blockers: &summary.blockers,
            depends_on: &summary.depends_on,
            parent: summary.parent.as_ref(),
            path: path.as_str(),
        }
    }
}

/// The number of complete children of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub(crate) struct ChildProgress {
    pub complete: usize,
    /// All children except the cancelled ones.
    pub total: usize,
}

impl fmt::Display for ChildProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.complete, self.total)
    }
}

impl ChildProgress {
    pub(crate) fn of(children: &[TaskSummary]) -> Self {
        let mut progress = Self::default();
        for child in children {
            progress.count(child);
        }
        progress
    }

    pub(crate) fn count(&mut self, child: &TaskSummary) {
        let is_over = !child.is_new && is_over(child.status);
        self.complete += usize::from(is_over && child.status == Status::Complete);
        self.total += usize::from(!is_over || child.status == Status::Complete);
    }
}

/// An ended visit, with the values that are counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EndedVisit {
    /// The gate, or the branch of one.
    pub gate: String,
    /// The role whose work it was.
    pub role: Option<String>,
    /// The agent that ended it.
    pub agent: Option<String>,
    /// The session in which it ended, if known.
    pub session: Option<String>,
    /// The run of the program that ended it.
    pub run: Option<Box<EntryRun>>,
    /// The time when it began, in seconds since 1970.
    pub entered: i64,
    /// Its duration in seconds; 0 if the clock ran backwards.
    pub seconds: u64,
    /// True if the file has an end before the beginning: the clocks of two machines differ.
    pub skewed: bool,
    /// The number of times that its time limit ran out.
    pub timeouts: u32,
    /// Its ending: a word of `Ending`.
    pub ended: String,
    /// True if a completion ended it.
    pub completed: bool,
    /// True if it ended in a rejection.
    pub rejected: bool,
    /// The next place of the task, as files name it; `None` while other branches of the fork are open.
    pub to: Option<String>,
    /// Gates that were skipped on the way.
    pub skipped: Box<[String]>,
    /// The index in its loop of the item that it was about.
    pub item: Option<usize>,
    /// The number of the round that the next visit begins.
    pub round: Option<u32>,
    /// The number of times that the task has been sent back there, with this one.
    pub retry: Option<u32>,
    /// The result of the fork, if this visit closed it.
    pub join: Option<Box<JoinedFork>>,
}

/// A closed fork, with the values that are counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JoinedFork {
    pub fork: String,
    /// True if it rejected.
    pub failed: bool,
}

impl EndedVisit {
    /// Returns the counted values of an entry.
    pub(crate) fn of(visit: &Visit) -> Self {
        Self {
            gate: visit.station().to_string(),
            role: visit.role.as_ref().map(|role| role.as_str().into()),
            agent: visit.agent.as_ref().map(|agent| agent.as_str().into()),
            session: visit.session().map(ToString::to_string),
            run: EntryRun::of(visit).map(Box::new),
            entered: visit.entered.as_second(),
            seconds: visit.duration(),
            skewed: visit.exited < visit.entered,
            timeouts: u32::from(visit.outcome == Ending::Timeout)
                + u32::from(visit.overdue.is_some()),
            ended: visit.outcome.as_str().into(),
            completed: matches!(visit.outcome, Ending::Completed(_)),
            rejected: is_rejection(visit),
            to: visit.to.as_ref().map(ToString::to_string),
            skipped: visit.skipped.iter().map(|gate| gate.as_str().into()).collect(),
            item: visit.item.map(|item| item.index),
            round: visit.round,
            retry: visit.retry,
            join: visit.join.map(|join| {
                let (fork, failed) = (visit.gate.to_string(), join == Join::Failed);
                Box::new(JoinedFork { fork, failed })
            }),
        }
    }
}

/// Returns whether the entry sends the task back: by `needs_review`, by a decision that leads back, or as one branch of a fork.
fn is_rejection(visit: &Visit) -> bool {
    let sends_back = visit.retry.is_some() && visit.to.is_some();
    match (&visit.outcome, visit.verdict) {
        (_, Some(verdict)) => verdict == Verdict::Reject,
        (Ending::Completed(outcome), None) => *outcome == Outcome::NeedsReview || sends_back,
        _ => false,
    }
}
