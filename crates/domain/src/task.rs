//! A task: the fields that people write, its open visit, and its history of ended visits.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::fmt::serde::timestamp::nanosecond;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::plan::add_missing;
use super::words::{composed, words};
use super::{
    AgentId, Blocker, CheckResults, CompletionContent, Ending, GateId, IdFault, Landing, LoopItem,
    Map, Outcome, PlanChange, PlanRemoval, Priority, RoleId, SshSignature, Stamp, Station, Status,
    TaskId, TaskPlan, Ticket, Verdict, WorkBranch, WorkflowName,
};

/// A task as its file records it. When serialized, it has no history, no review context and no free JSON: the cache's format has no
/// place for them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The id; the file is named after it.
    pub id: TaskId,
    pub title: String,
    /// The work to do, in short; the body describes it at length.
    pub description: Option<String>,
    pub status: Status,
    #[serde(with = "nanosecond::required")]
    pub created: Timestamp,
    /// The agent that created it; absent if a person did.
    pub created_by: Option<AgentId>,
    /// The time of the engine's last change.
    #[serde(with = "nanosecond::required")]
    pub updated: Timestamp,
    /// The workflow that the task follows, and its role and agent.
    pub routing: Routing,
    /// The open visit; absent in a task that has ended, and in one that has not been adopted yet.
    pub gate: Option<OpenVisit>,
    /// The visits that have ended, oldest first.
    #[serde(skip)]
    pub history: Vec<Visit>,
    /// The requests of the last rejection. They stay until the gate that sent the task back passes it.
    #[serde(skip)]
    pub review: Option<ReviewContext>,
    pub blockers: Vec<Blocker>,
    /// The values that the task started with, and each gate's latest outputs under the gate's name.
    #[serde(skip)]
    pub context: Map,
    /// The hash of the workflow that last moved it.
    pub workflow_hash: Option<String>,
    /// A person's plan; conditions see it.
    pub plan: TaskPlan,
    /// A person's labels; conditions see them.
    pub tags: Vec<String>,
    /// A person's facts; conditions see them.
    #[serde(skip)]
    pub metadata: Map,
    /// Tasks that must be complete before this one is handed out.
    pub depends_on: Vec<TaskId>,
    /// The task that this one is a part of.
    pub parent: Option<TaskId>,
}

impl Task {
    /// Returns whether the task was never at a gate: then all its fields are people's.
    pub fn is_new(&self) -> bool {
        self.gate.is_none() && self.history.is_empty()
    }

    /// Returns the number of the open visit as a ticket, or the bare id when none is open.
    pub fn ticket(&self) -> Ticket {
        Ticket {
            task: self.id.clone(),
            visit: self.gate.as_ref().map(|gate| gate.visit),
            branch: None,
        }
    }

    /// Returns the ticket of a branch of the open visit.
    pub fn ticket_of(&self, branch: Option<&GateId>) -> Ticket {
        Ticket { branch: branch.cloned(), ..self.ticket() }
    }

    /// Returns the branches of the open visit; empty except at a fork.
    pub fn branches(&self) -> impl Iterator<Item = &OpenBranch> {
        self.gate.iter().flat_map(|open| &open.branches)
    }

    pub fn branches_mut(&mut self) -> impl Iterator<Item = &mut OpenBranch> {
        self.gate.iter_mut().flat_map(|open| &mut open.branches)
    }

    pub fn branch_mut(&mut self, id: Option<&GateId>) -> Option<&mut OpenBranch> {
        self.gate.as_mut()?.branches.iter_mut().find(|branch| id == Some(&branch.id))
    }

    /// Returns whether the agent has claimed the task, or a branch of it.
    pub fn is_held_by(&self, agent: &AgentId) -> bool {
        let mut holders = self.branches().map(|branch| &branch.agent).chain([&self.routing.agent]);
        holders.any(|holder| holder.as_ref() == Some(agent))
    }

    /// Returns whether the file states a priority.
    pub fn states_priority(&self) -> bool {
        self.plan.priority.is_some() || self.metadata.contains_key("priority")
    }

    /// Returns `priority`, or `metadata.priority` if that is absent; absent or foreign words count as medium.
    pub fn priority(&self) -> Priority {
        let of_metadata = || self.metadata.get("priority")?.as_str();
        self.plan
            .priority
            .as_deref()
            .or_else(of_metadata)
            .and_then(|word| word.parse().ok())
            .unwrap_or(Priority::Medium)
    }

    /// Changes the fields that people own. No other field changes.
    pub fn change(&mut self, change: &PlanChange) {
        let PlanChange { title, description, plan, tags, metadata, depends_on, parent, removal } =
            change;
        self.remove(removal);
        if let Some(title) = title {
            title.trim().clone_into(&mut self.title);
        }
        if let Some(description) = description {
            self.description = Some(description.trim().to_owned()).filter(|text| !text.is_empty());
        }
        self.plan.update(plan);
        add_missing(&mut self.tags, tags);
        self.metadata.extend(metadata.clone());
        add_missing(&mut self.depends_on, depends_on);
        if parent.is_some() {
            self.parent.clone_from(parent);
        }
    }

    fn remove(&mut self, removal: &PlanRemoval) {
        let PlanRemoval { keys, links, tags, metadata, depends_on, parent } = removal;
        for key in keys {
            self.plan.remove(*key);
        }
        self.plan.links.retain(|link| !links.contains(&link.url));
        self.tags.retain(|tag| !tags.iter().any(|removed| composed(removed) == composed(tag)));
        self.metadata.retain(|key, _| !metadata.contains(key));
        self.depends_on.retain(|id| !depends_on.contains(id));
        if *parent {
            self.parent = None;
        }
    }

    /// Returns the plan's keys with their values as conditions read them: with the priority that counts, and a list of assignees.
    pub fn plan_values(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let values = self.plan.values();
        values.map(|(key, value)| match key {
            "priority" => (key, json!(self.priority())),
            "assignee" => (key, json!(self.plan.assignee)),
            _ => (key, value),
        })
    }

    /// Returns the latest work on a branch of the task's own.
    pub fn work(&self) -> Option<&WorkBranch> {
        self.history.iter().rev().find_map(|visit| visit.work.as_deref())
    }

    /// Returns the earliest possible time of the task's next change: its history only moves forward.
    pub fn latest(&self) -> Timestamp {
        let entered = self.gate.as_ref().map(|gate| gate.entered);
        let exited = self.history.last().map(|visit| visit.exited);
        entered.max(exited).unwrap_or(self.created)
    }
}

/// The workflow that a task follows, and its role and agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routing {
    pub workflow: WorkflowName,
    /// The role of the open visit's gate; absent if no visit is open, and at a fork, where each branch has a role.
    pub role: Option<RoleId>,
    /// The agent that has claimed the task.
    pub agent: Option<AgentId>,
    /// The time of the claim, or of its last renewal.
    #[serde(with = "nanosecond::optional")]
    pub claimed: Option<Timestamp>,
    /// The agent whose claim expired in this visit.
    pub lost: Option<AgentId>,
}

impl Routing {
    /// Returns the routing of a task in that workflow that is at no gate.
    pub fn of(workflow: WorkflowName) -> Self {
        Self { workflow, role: None, agent: None, claimed: None, lost: None }
    }
}

/// An open visit of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenVisit {
    pub current: GateId,
    /// The time when the task entered the gate.
    #[serde(with = "nanosecond::required")]
    pub entered: Timestamp,
    /// The length of the history when the visit opened: a visit's number. It stays while branches of a fork are open.
    pub visit: usize,
    /// The item of a loop that this visit is about.
    pub item: Option<LoopItem>,
    /// The role that this visit belongs to in place of the gate's.
    pub escalated: Option<RoleId>,
    /// The time when the visit was last unblocked: time limits count from then on.
    pub resumed: Option<Timestamp>,
    /// The answer of the person who unblocked it.
    pub answer: Option<String>,
    /// The time when its time limit last ran out, if no role steps in for that.
    pub overdue: Option<Timestamp>,
    /// The time when a person put it on hold; nothing can be completed meanwhile.
    pub held: Option<Timestamp>,
    /// The branches, if the gate is a fork, in the order of the workflow when it opened.
    pub branches: Vec<OpenBranch>,
}

impl OpenVisit {
    /// Returns the visit of a gate that begins then, with that number.
    pub fn at(current: GateId, entered: Timestamp, visit: usize) -> Self {
        Self {
            current,
            entered,
            visit,
            item: None,
            escalated: None,
            resumed: None,
            answer: None,
            overdue: None,
            held: None,
            branches: Vec::new(),
        }
    }

    /// Returns the time since which the visit is overdue. Unblocking restarts its time limit.
    pub fn overdue_since(&self) -> Option<Timestamp> {
        unless_resumed(self.overdue, self.resumed)
    }

    /// Returns the branch of that name.
    pub fn branch(&self, id: &GateId) -> Option<&OpenBranch> {
        self.branches.iter().find(|branch| branch.id == *id)
    }
}

/// One branch of an open fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenBranch {
    pub id: GateId,
    pub role: RoleId,
    /// The role that the branch belongs to in place of its own; `role` is then this one.
    pub escalated: Option<RoleId>,
    pub agent: Option<AgentId>,
    /// The time of the claim, or of its last renewal.
    pub claimed: Option<Timestamp>,
    /// The agent whose claim expired.
    pub lost: Option<AgentId>,
    /// The time when the branch was last unblocked: time limits count from then on.
    pub resumed: Option<Timestamp>,
    /// The answer of the person who unblocked it.
    pub answer: Option<String>,
    /// The time when its time limit last ran out, if no role steps in for that.
    pub overdue: Option<Timestamp>,
    pub status: BranchStatus,
    pub blockers: Vec<Blocker>,
}

impl OpenBranch {
    /// Returns the branch as it opens.
    pub fn new(id: GateId, role: RoleId) -> Self {
        Self {
            id,
            role,
            escalated: None,
            agent: None,
            claimed: None,
            lost: None,
            resumed: None,
            answer: None,
            overdue: None,
            status: BranchStatus::Ready,
            blockers: Vec::new(),
        }
    }

    /// Returns the time since which the branch is overdue.
    pub fn overdue_since(&self) -> Option<Timestamp> {
        unless_resumed(self.overdue, self.resumed)
    }
}

fn unless_resumed(overdue: Option<Timestamp>, resumed: Option<Timestamp>) -> Option<Timestamp> {
    overdue.filter(|at| resumed.is_none_or(|resumed| *at > resumed))
}

words!(
    /// The state of a branch of an open fork.
    BranchStatus, "a branch's status", {
        /// It waits for an agent.
        Ready = "ready",
        /// An agent has it.
        InProgress = "in_progress",
        /// It waits for something external.
        Blocked = "blocked",
        /// It has passed the task.
        Complete = "complete",
        /// It wants something fixed.
        Rejected = "rejected",
        /// It does not apply.
        Skipped = "skipped",
    }
);

impl BranchStatus {
    /// Returns whether the branch still accepts a completion.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Ready | Self::InProgress | Self::Blocked)
    }
}

/// The requests of the last rejection (spec 1, appendix B).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewContext {
    /// The gate that sent the task back.
    pub from_gate: GateId,
    pub from_agent: Option<AgentId>,
    /// The role of the rejecting agent; `None` if no agent decided.
    pub from_role: Option<RoleId>,
    pub timestamp: Timestamp,
    pub blockers: Vec<String>,
    pub notes: Option<String>,
}

/// A text that a completion brings; it is appended to the body of the task file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The visit it belongs to.
    pub ticket: Ticket,
    /// The gate of that visit, or the branch.
    pub gate: Station,
    pub agent: Option<AgentId>,
    /// The time when it was handed in.
    pub at: Timestamp,
    /// The text, as it came.
    pub text: String,
}

/// One ended visit, an entry of `gateHistory`.
#[derive(Debug, Clone, PartialEq)]
pub struct Visit {
    /// The gate that was visited.
    pub gate: GateId,
    /// The branch of the fork whose completion this is, if it is one branch's.
    pub branch: Option<GateId>,
    /// The branch's verdict; set if `branch` is.
    pub verdict: Option<Verdict>,
    /// The result of the join, on the entry that closes the fork.
    pub join: Option<Join>,
    /// Branches that were unfinished when the task left their fork.
    pub unfinished: Vec<GateId>,
    /// The item of a loop that the visit was about.
    pub item: Option<LoopItem>,
    /// The role of the visit; absent at a gate that decides by itself.
    pub role: Option<RoleId>,
    /// The agent that ended the visit; absent if none in org.yaml did.
    pub agent: Option<AgentId>,
    pub entered: Timestamp,
    /// The end of the visit; never before `entered`.
    pub exited: Timestamp,
    /// The time when its time limit ran out, if no role stepped in for that.
    pub overdue: Option<Timestamp>,
    pub outcome: Ending,
    /// The agent's summary of its work.
    pub summary: String,
    /// The things that block the work or must be fixed.
    pub blockers: Vec<String>,
    /// A reviewer's notes for the agent that fixes the work.
    pub rejection_notes: Option<String>,
    /// The destination of the task; absent if the task was cancelled, or other branches of the fork are still open.
    pub to: Option<Destination>,
    /// The item of a loop that the next visit is about.
    pub to_item: Option<LoopItem>,
    /// The number of the round that begins there, from 2.
    pub round: Option<u32>,
    /// Gates that were skipped on the way: their condition did not hold, or the route led past them.
    pub skipped: Vec<GateId>,
    /// Gates whose outputs were removed from the context on the way.
    pub cleared: Vec<GateId>,
    /// The role of the next visit in place of its gate's, since the task was sent back too often.
    pub escalated_to: Option<RoleId>,
    /// The number of times that a backward route has entered `to` since a person last reset the count.
    pub retry: Option<u32>,
    /// The values that the gate hands on.
    pub outputs: Map,
    /// The agent's additions to the record.
    pub metadata: Map,
    /// The states of the children when the task passed a gate that waits for them.
    pub children: BTreeMap<TaskId, Status>,
    /// The results of the checks of the gate that the task passed.
    pub checks: CheckResults,
    /// The branch of the task's work, if it has one.
    pub work: Option<Box<WorkBranch>>,
    /// The landing of the work, if the visit was one.
    pub landed: Option<Box<Landing>>,
    /// The hash of the rules that decided.
    pub workflow: Option<String>,
    /// The completion that ended the visit.
    pub completion: Option<Stamp>,
    /// The agent's signature, if it signed.
    pub signature: Option<SshSignature>,
}

impl Visit {
    /// Returns an entry with only the visit and its ending.
    pub fn ended(open: &OpenVisit, outcome: Ending) -> Self {
        Self {
            gate: open.current.clone(),
            branch: None,
            verdict: None,
            join: None,
            unfinished: Vec::new(),
            item: open.item,
            role: None,
            agent: None,
            entered: open.entered,
            exited: open.entered,
            overdue: open.overdue,
            outcome,
            summary: String::new(),
            blockers: Vec::new(),
            rejection_notes: None,
            to: None,
            to_item: None,
            round: None,
            skipped: Vec::new(),
            cleared: Vec::new(),
            escalated_to: None,
            retry: None,
            outputs: Map::new(),
            metadata: Map::new(),
            children: BTreeMap::new(),
            checks: CheckResults::default(),
            work: None,
            landed: None,
            workflow: None,
            completion: None,
            signature: None,
        }
    }

    /// Returns the entry with what a completion says. The outcome was resolved, the text goes into the task's body, and the fields
    /// became outputs.
    #[must_use]
    pub fn saying(self, content: &CompletionContent) -> Self {
        let CompletionContent {
            outcome: _,
            summary,
            blockers,
            rejection_notes,
            outputs,
            metadata,
            body: _,
            fields: _,
        } = content;
        let is_empty = |text: &str| text.trim().is_empty();
        let blockers = blockers.iter().flatten().filter(|blocker| !is_empty(blocker));
        Self {
            summary: summary.clone().unwrap_or_default(),
            blockers: blockers.cloned().collect(),
            rejection_notes: rejection_notes.clone().filter(|notes| !is_empty(notes)),
            outputs: outputs.clone(),
            metadata: metadata.clone(),
            ..self
        }
    }

    /// Returns the content of a completion that would make the entry.
    pub fn content(&self) -> CompletionContent {
        CompletionContent {
            outcome: Some(self.outcome.to_string()),
            summary: Some(self.summary.clone()),
            blockers: Some(self.blockers.clone()),
            rejection_notes: self.rejection_notes.clone(),
            outputs: self.outputs.clone(),
            metadata: self.metadata.clone(),
            body: None,
            fields: None,
        }
    }

    /// Returns the place of the visit: the gate, or the branch of it.
    pub fn station(&self) -> Station {
        Station { gate: self.gate.clone(), branch: self.branch.clone() }
    }

    /// Returns whether the task stays: at the same gate, with the same item of a loop.
    pub fn stays(&self) -> bool {
        self.to == Some(Destination::Gate(self.gate.clone()))
            && self.to_item == self.item
            && self.round.is_none()
    }

    /// Returns the session that ended the visit, if it is known.
    pub fn session(&self) -> Option<&serde_json::Value> {
        self.metadata.get("session")
    }

    /// Returns whether the visit stays open: this is one branch's entry, and others are open.
    pub fn leaves_open(&self) -> bool {
        self.branch.is_some() && self.to.is_none()
    }

    /// Returns the outcome of the gate as a whole: the completion's, or that of the joined branches. `None` if no completion
    /// ended the visit, or branches are still open.
    pub fn gate_outcome(&self) -> Option<&Outcome> {
        match (&self.outcome, self.join) {
            (Ending::Completed(_), Some(Join::Passed)) => Some(&Outcome::Complete),
            (Ending::Completed(_), Some(Join::Failed)) => Some(&Outcome::NeedsReview),
            (Ending::Completed(_), None) if self.leaves_open() => None,
            (Ending::Completed(outcome), None) => Some(outcome),
            _ => None,
        }
    }

    /// Returns the seconds between `entered` and `exited`.
    pub fn duration(&self) -> u64 {
        let seconds = self.exited.as_second() - self.entered.as_second();
        u64::try_from(seconds).unwrap_or(0)
    }
}

words!(
    /// The result of a fork's branches.
    Join, "a join", {
        /// Enough of them passed the task.
        Passed = "passed",
        /// Too many of them rejected it.
        Failed = "failed",
    }
);

/// The destination of a task after a visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A gate, which may be the same one.
    Gate(GateId),
    /// The end: the task is complete.
    End,
    /// The end: the task is cancelled.
    Cancelled,
    /// The end: the task has failed.
    Fail,
}

impl Destination {
    /// Returns the name for people: the gate's, or the state of the task at an end.
    pub fn noun(&self) -> &str {
        match self {
            Self::Gate(gate) => gate.as_str(),
            Self::End => "end",
            Self::Cancelled => "cancelled",
            Self::Fail => "failed",
        }
    }
}

impl FromStr for Destination {
    type Err = IdFault;

    fn from_str(text: &str) -> Result<Self, IdFault> {
        match text {
            "$end" => Ok(Self::End),
            "$cancelled" => Ok(Self::Cancelled),
            "$fail" => Ok(Self::Fail),
            _ => text.parse().map(Self::Gate),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gate(gate) => f.pad(gate.as_str()),
            Self::End => f.pad("$end"),
            Self::Cancelled => f.pad("$cancelled"),
            Self::Fail => f.pad("$fail"),
        }
    }
}
