//! A task: what people wrote of it, its open visit, and its history of ended visits.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::fmt::serde::timestamp::nanosecond;
use serde::{Deserialize, Serialize};

use super::words::words;
use super::{
    AgentId, CheckResults, Ending, GateId, IdFault, LoopItem, Map, Outcome, Priority, RoleId,
    SshSignature, Stamp, Station, Status, TaskId, TaskPlan, Ticket, Verdict, WorkflowName,
};

/// A task as its file says it. Serialized, it has neither its history, nor what a review wants, nor free JSON: the cache's
/// format has no place for that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its id; the file is named after it.
    pub id: TaskId,
    pub title: String,
    /// What is to be done, in short; the body says it at length.
    pub description: Option<String>,
    pub status: Status,
    #[serde(with = "nanosecond::required")]
    pub created: Timestamp,
    /// The agent that created it; absent where a person did.
    pub created_by: Option<AgentId>,
    /// When the engine last changed it.
    #[serde(with = "nanosecond::required")]
    pub updated: Timestamp,
    /// Which workflow it follows, and whose it is.
    pub routing: Routing,
    /// The open visit; absent in a task that has ended, and in one that has not been adopted yet.
    pub gate: Option<OpenVisit>,
    /// The visits that have ended, oldest first.
    #[serde(skip)]
    pub history: Vec<Visit>,
    /// The requests of the last rejection, until the gate that sent the task back passes it.
    #[serde(skip)]
    pub review: Option<ReviewContext>,
    pub blockers: Vec<String>,
    /// What the task started with, and each gate's latest outputs under the gate's name.
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

    /// Returns the branches of the open visit; none but at a fork.
    pub fn branches(&self) -> impl Iterator<Item = &OpenBranch> {
        self.gate.iter().flat_map(|open| &open.branches)
    }

    pub fn branches_mut(&mut self) -> impl Iterator<Item = &mut OpenBranch> {
        self.gate.iter_mut().flat_map(|open| &mut open.branches)
    }

    pub fn branch_mut(&mut self, id: Option<&GateId>) -> Option<&mut OpenBranch> {
        self.gate.as_mut()?.branches.iter_mut().find(|own| id == Some(&own.id))
    }

    /// Returns whether the agent has claimed the task, or a branch of it.
    pub fn is_held_by(&self, agent: &AgentId) -> bool {
        let mut holders = self.branches().map(|branch| &branch.agent).chain([&self.routing.agent]);
        holders.any(|holder| holder.as_ref() == Some(agent))
    }

    /// Returns whether somebody said how urgent it is.
    pub fn states_priority(&self) -> bool {
        self.plan.priority.is_some() || self.metadata.contains_key("priority")
    }

    /// Returns `priority`, or `metadata.priority` where that is absent; absent or foreign words count as medium.
    pub fn priority(&self) -> Priority {
        let of_metadata = || self.metadata.get("priority")?.as_str();
        self.plan
            .priority
            .as_deref()
            .or_else(of_metadata)
            .and_then(|word| word.parse().ok())
            .unwrap_or(Priority::Medium)
    }

    /// Returns the earliest possible time of the task's next change: its history only moves forward.
    pub fn latest(&self) -> Timestamp {
        let entered = self.gate.as_ref().map(|gate| gate.entered);
        let exited = self.history.last().map(|visit| visit.exited);
        entered.max(exited).unwrap_or(self.created)
    }
}

/// Which workflow a task follows, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routing {
    pub workflow: WorkflowName,
    /// The role of the open visit's gate; absent when no visit is open, and at a fork, where it is the branches'.
    pub role: Option<RoleId>,
    /// Who has claimed the task.
    pub agent: Option<AgentId>,
    /// When it was claimed, or the claim last renewed.
    #[serde(with = "nanosecond::optional")]
    pub claimed: Option<Timestamp>,
    /// The agent whose claim expired in this visit.
    pub lost: Option<AgentId>,
}

impl Routing {
    /// Returns the routing of a task of that workflow that stands nowhere.
    pub fn of(workflow: WorkflowName) -> Self {
        Self { workflow, role: None, agent: None, claimed: None, lost: None }
    }
}

/// An open visit of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenVisit {
    pub current: GateId,
    /// When the task came to it.
    #[serde(with = "nanosecond::required")]
    pub entered: Timestamp,
    /// The length of the history when the visit opened: a visit's number. It stays while branches of a fork are open.
    pub visit: usize,
    /// The item of a loop that this visit is about.
    pub item: Option<LoopItem>,
    /// The role that this visit belongs to in place of the gate's.
    pub escalated: Option<RoleId>,
    /// When it was last set going again: time limits count from then on.
    pub resumed: Option<Timestamp>,
    /// What the person said who set it going again.
    pub answer: Option<String>,
    /// When its time limit last ran out, where nobody steps in for that.
    pub overdue: Option<Timestamp>,
    /// When a person put it on hold; nothing can be completed meanwhile.
    pub held: Option<Timestamp>,
    /// The branches, where the gate is a fork; in the order of the workflow when it opened.
    pub branches: Vec<OpenBranch>,
}

impl OpenVisit {
    /// Returns the visit of a gate that begins then, as the history's entry of that number.
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

    /// Returns since when it is overdue; setting it going again starts its time anew.
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
    /// The role that it belongs to in place of its own: `role` is this one then.
    pub escalated: Option<RoleId>,
    pub agent: Option<AgentId>,
    /// When it was claimed, or the claim last renewed.
    pub claimed: Option<Timestamp>,
    /// The agent whose claim expired.
    pub lost: Option<AgentId>,
    /// When it was last set going again: time limits count from then on.
    pub resumed: Option<Timestamp>,
    /// What the person said who set it going again.
    pub answer: Option<String>,
    /// When its time limit last ran out, where nobody steps in for that.
    pub overdue: Option<Timestamp>,
    pub status: BranchStatus,
    pub blockers: Vec<String>,
}

impl OpenBranch {
    /// Returns the branch as it opens.
    pub fn of(id: GateId, role: RoleId) -> Self {
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

    /// Returns since when it is overdue.
    pub fn overdue_since(&self) -> Option<Timestamp> {
        unless_resumed(self.overdue, self.resumed)
    }
}

fn unless_resumed(overdue: Option<Timestamp>, resumed: Option<Timestamp>) -> Option<Timestamp> {
    overdue.filter(|at| resumed.is_none_or(|resumed| *at > resumed))
}

words!(
    /// How far a branch of an open fork is.
    BranchStatus, "a branch's status", {
        /// It waits for an agent.
        Ready = "ready",
        /// An agent has it.
        InProgress = "in_progress",
        /// It waits for something outside.
        Blocked = "blocked",
        /// It has passed the task.
        Complete = "complete",
        /// It wants something mended.
        Rejected = "rejected",
        /// It does not apply.
        Skipped = "skipped",
    }
);

impl BranchStatus {
    /// Returns whether somebody may still say something there.
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
    /// The role of the rejecting agent; `None` if nobody decided.
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
    /// When it was handed in.
    pub at: Timestamp,
    /// The text, as it came.
    pub text: String,
}

/// The longest reason that is repeated, in characters.
const LONGEST: usize = 200;

/// A dependency that has ended without being complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostDependency {
    task: TaskId,
    how: Loss,
    why: String,
}

words!(
    /// How a task ended that is not complete.
    Loss, "a loss", {
        /// It has failed.
        Failed = "has failed",
        /// It was called off.
        Cancelled = "was cancelled",
    }
);

impl LostDependency {
    /// Returns the loss of a task in that state, if it is one. The first line of `why` is its reason.
    pub fn of(task: TaskId, status: Status, why: &str) -> Option<Self> {
        let how = match status {
            Status::Failed => Loss::Failed,
            Status::Cancelled => Loss::Cancelled,
            Status::Ready | Status::InProgress | Status::Blocked | Status::Complete => return None,
        };
        let line = why.trim().lines().next().unwrap_or_default().trim();
        let mut why: String = line.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
        if why.len() < line.len() && line.chars().count() > LONGEST {
            why.push_str("...");
        }
        Some(Self { task, how, why })
    }

    /// Parses a blocker that reports a loss; `None` for other blockers.
    pub fn read(blocker: &str) -> Option<Self> {
        let (task, rest) = blocker.strip_prefix("Depends on ")?.split_once(", which ")?;
        let (how, why) = rest.split_once(": ").unwrap_or((rest, ""));
        let lost = Self { task: task.parse().ok()?, how: how.parse().ok()?, why: why.to_owned() };
        (lost.to_string() == blocker).then_some(lost)
    }

    /// Returns the task that is lost.
    pub fn task(&self) -> &TaskId {
        &self.task
    }
}

impl fmt::Display for LostDependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Depends on {}, which {}", self.task, self.how)?;
        if self.why.is_empty() { Ok(()) } else { write!(f, ": {}", self.why) }
    }
}

/// One ended visit (DESIGN section 4, `gateHistory`).
#[derive(Debug, Clone, PartialEq)]
pub struct Visit {
    /// The gate that was visited.
    pub gate: GateId,
    /// The branch of it, where it is a fork and a completion was one branch's.
    pub branch: Option<GateId>,
    /// The branch's verdict; set if `branch` is.
    pub verdict: Option<Verdict>,
    /// How the branches joined, on the entry that closes their fork.
    pub join: Option<Join>,
    /// Branches that nobody had finished when their fork was left.
    pub unfinished: Vec<GateId>,
    /// The item of a loop that the visit was about.
    pub item: Option<LoopItem>,
    /// The role that the visit belonged to; absent at a gate that decides by itself.
    pub role: Option<RoleId>,
    /// Who ended the visit; absent when nobody in org.yaml did.
    pub agent: Option<AgentId>,
    pub entered: Timestamp,
    /// When it ended; never before `entered`.
    pub exited: Timestamp,
    /// When its time limit ran out, where nobody stepped in for that.
    pub overdue: Option<Timestamp>,
    pub outcome: Ending,
    /// What the agent says it did.
    pub summary: String,
    /// What blocks the work, or has to be fixed.
    pub blockers: Vec<String>,
    /// What a reviewer adds for whoever mends it.
    pub rejection_notes: Option<String>,
    /// Where the task went; absent when it was called off, and when other branches of the fork are still open.
    pub to: Option<Destination>,
    /// The item of a loop that the next visit is about.
    pub to_item: Option<LoopItem>,
    /// The number of the round that begins there, from 2.
    pub round: Option<u32>,
    /// Gates that were passed over on the way: their condition did not hold, or the route led past them.
    pub skipped: Vec<GateId>,
    /// Gates whose outputs the context forgot on the way.
    pub cleared: Vec<GateId>,
    /// The role that the next visit belongs to in place of its gate's: the task was sent back too often.
    pub escalated_to: Option<RoleId>,
    /// How often a backward route has now entered `to` since a person last reset the count.
    pub retry: Option<u32>,
    /// What the gate hands on.
    pub outputs: Map,
    /// What the agent adds for the record.
    pub metadata: Map,
    /// The states of the children when the task passed a gate that waits for them.
    pub children: BTreeMap<TaskId, Status>,
    /// The results of the checks of the gate that the task passed.
    pub checks: CheckResults,
    /// The hash of the rules that decided.
    pub workflow: Option<String>,
    /// The completion that ended the visit.
    pub completion: Option<Stamp>,
    /// The agent's signature, if it signed.
    pub signature: Option<SshSignature>,
}

impl Visit {
    /// Returns where it was: the gate, or the branch of it.
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
    /// How the branches of a fork joined.
    Join, "a join", {
        /// Enough of them passed the task.
        Passed = "passed",
        /// Too many of them rejected it.
        Failed = "failed",
    }
);

/// Where an ended visit led.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// To that gate, which may be the same one.
    Gate(GateId),
    /// To the end: the task is complete.
    End,
    /// To the end: the task is called off.
    Cancelled,
    /// To the end: the task has failed.
    Fail,
}

impl Destination {
    /// Returns how people call it: a gate by its name, an end by what it makes of the task.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_known_again_and_nothing_else() {
        let lost = |status, why: &str| LostDependency::of("AOF-abc".parse().unwrap(), status, why);
        for (status, why, text) in [
            (Status::Failed, "No: way \n more", "Depends on AOF-abc, which has failed: No: way"),
            (Status::Cancelled, " ", "Depends on AOF-abc, which was cancelled"),
            (Status::Failed, "a\tb", "Depends on AOF-abc, which has failed: ab"),
        ] {
            let own = lost(status, why).unwrap();
            assert_eq!(own.to_string(), text);
            assert_eq!(LostDependency::read(text), Some(own));
        }
        assert!(lost(Status::Failed, &"x".repeat(300)).unwrap().to_string().ends_with("xxx..."));
        assert_eq!(lost(Status::Complete, "done"), None);
        for text in [
            "Depends on me",
            "Depends on AOF-abc, which sleeps",
            "depends on AOF-abc, which has failed",
            "Depends on AOF-abc, which has failed: ",
        ] {
            assert_eq!(LostDependency::read(text), None, "{text}");
        }
    }
}
