//! A visit that has ended: one entry of a task's history, written once and never touched again.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

use super::words::words;
use super::{
    AgentId, Ending, GateId, IdFault, Map, Outcome, RoleId, SshSignature, Stamp, Station, Verdict,
};

/// One ended visit (DESIGN section 4, `gateHistory`).
#[derive(Debug, Clone, PartialEq)]
pub struct Visit {
    /// The gate that was visited.
    pub gate: GateId,
    /// The branch of it, where it is a fork and a completion was one branch's.
    pub branch: Option<GateId>,
    /// What the outcome means there; there where `branch` is.
    pub verdict: Option<Verdict>,
    /// What the branches came to, on the entry that closes their fork.
    pub join: Option<Join>,
    /// Branches that nobody had finished when their fork was left.
    pub unfinished: Vec<GateId>,
    /// The role that the visit belonged to; absent at a gate that decides by itself.
    pub role: Option<RoleId>,
    /// Who ended the visit; absent when nobody in org.yaml did.
    pub agent: Option<AgentId>,
    pub entered: Timestamp,
    /// When it ended; never before `entered`.
    pub exited: Timestamp,
    pub outcome: Ending,
    /// What the agent says it did.
    pub summary: String,
    /// What stands in the way, or must be mended.
    pub blockers: Vec<String>,
    /// What a reviewer adds for whoever mends it.
    pub rejection_notes: Option<String>,
    /// Where the task went; absent when it was called off, and when other branches of the fork are still open.
    pub to: Option<Destination>,
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
    /// The hash of the rules that decided.
    pub workflow: Option<String>,
    /// The completion that ended the visit.
    pub completion: Option<Stamp>,
    /// What its agent signed of it, where it did.
    pub signature: Option<SshSignature>,
}

impl Visit {
    /// Returns where it was: the gate, or the branch of it.
    pub fn station(&self) -> Station {
        Station { gate: self.gate.clone(), branch: self.branch.clone() }
    }

    /// Returns whether the task is still at the gate in the same visit: a branch has spoken, and others are open.
    pub fn leaves_open(&self) -> bool {
        self.branch.is_some() && self.to.is_none()
    }

    /// Returns what the gate as a whole said by this entry: what the completion said, or what the branches came to. Nothing
    /// where no completion ended it, or where others are still open.
    pub fn said(&self) -> Option<&Outcome> {
        match (&self.outcome, self.join) {
            (Ending::Said(_), Some(Join::Passed)) => Some(&Outcome::Complete),
            (Ending::Said(_), Some(Join::Failed)) => Some(&Outcome::NeedsReview),
            (Ending::Said(_), None) if self.leaves_open() => None,
            (Ending::Said(outcome), None) => Some(outcome),
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
    /// What the branches of a fork came to.
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
