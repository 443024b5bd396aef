//! The reasons why a task waits.
//!
//! Task files store them as texts, and replay compares them. So the texts here are frozen, and no other module parses them.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use super::words::words;
use super::{GateId, RoleId, Status, TaskId};

/// The start of the text about a role without agents, as in spec 1, 9.7.
const NOBODY: &str = "No agents available for role: ";

/// The start of the text about a rejection loop.
const CIRCLE: &str = "Circular rejection loop: ";

/// The start of the text about a task that cannot begin its loop.
const NO_LIST: &str = "No list to go through: ";

/// The start of the text about a task that cannot begin another round.
const NO_ROUND: &str = "No further round: ";

/// A reason why a task waits. It displays as its text, byte for byte, which also tells its kind.
///
/// ```
/// use aof_domain::Blocker;
///
/// let blocker = Blocker::from("No agents available for role: security");
/// assert_eq!(blocker, Blocker::nobody(&"security".parse().unwrap()));
/// assert_eq!(blocker.to_string(), "No agents available for role: security");
/// ```
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum Blocker {
    /// The role of this name has no agents.
    Nobody(String),
    /// The task was sent back too often.
    Circle(String),
    /// There is no list for the loop, for this reason.
    NoList(String),
    /// No further round begins, for this reason.
    NoRound(String),
    /// A task that this one depends on has ended without being complete.
    Lost(LostDependency),
    /// The words of a person or an agent.
    Text(String),
}

impl Blocker {
    /// Returns the blocker of a task whose role has no agents.
    pub fn nobody(role: &RoleId) -> Self {
        Self::Nobody(role.to_string())
    }

    /// Returns the blocker of a task that was sent back to `gate` too often.
    pub fn circle(gate: &GateId, count: u32, from: &GateId) -> Self {
        Self::Circle(format!("sent back to gate '{gate}' {count} times, last by '{from}'"))
    }

    /// Returns the blocker of a task that has no list to go through.
    pub fn no_list(why: &str) -> Self {
        Self::NoList(format!("{why}; `aof override` sends it back for another list"))
    }

    /// Returns whether it is about a role without agents.
    pub const fn is_nobody(&self) -> bool {
        matches!(self, Self::Nobody(_))
    }

    /// Returns whether the engine sets it at a gate, and would set it again if it still holds.
    pub const fn is_of_gate(&self) -> bool {
        matches!(self, Self::Nobody(_) | Self::Circle(_) | Self::NoList(_) | Self::NoRound(_))
    }

    /// Returns the lost dependency.
    pub const fn lost(&self) -> Option<&LostDependency> {
        match self {
            Self::Lost(lost) => Some(lost),
            _ => None,
        }
    }

    /// Returns the role without agents that the task, or a branch of it, waits for.
    pub fn empty_role(&self) -> Option<RoleId> {
        let text = match self {
            Self::Nobody(role) => role,
            // A branch's blocker begins with the branch.
            Self::Text(text) => {
                text.split_once(NOBODY).filter(|(branch, _)| branch.ends_with(": "))?.1
            }
            _ => return None,
        };
        text.parse().ok()
    }

    /// Returns it as a blocker of the whole task, which names the branch.
    #[must_use]
    pub fn of_branch(&self, branch: &GateId) -> Self {
        format!("{branch}: {self}").into()
    }

    /// Returns blockers as one line.
    pub fn joined(blockers: &[Self]) -> String {
        blockers.iter().map(Self::to_string).collect::<Vec<_>>().join("; ")
    }
}

impl From<String> for Blocker {
    fn from(text: String) -> Self {
        type Kind = fn(String) -> Blocker;
        let kinds: [(&str, Kind); 4] = [
            (NOBODY, Self::Nobody),
            (CIRCLE, Self::Circle),
            (NO_LIST, Self::NoList),
            (NO_ROUND, Self::NoRound),
        ];
        for (start, kind) in kinds {
            if let Some(rest) = text.strip_prefix(start) {
                return kind(rest.to_owned());
            }
        }
        LostDependency::read(&text).map_or(Self::Text(text), Self::Lost)
    }
}

impl From<&str> for Blocker {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl FromStr for Blocker {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.into())
    }
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody(role) => write!(f, "{NOBODY}{role}"),
            Self::Circle(how) => write!(f, "{CIRCLE}{how}"),
            Self::NoList(why) => write!(f, "{NO_LIST}{why}"),
            Self::NoRound(why) => write!(f, "{NO_ROUND}{why}"),
            Self::Lost(lost) => lost.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl PartialEq<&str> for Blocker {
    fn eq(&self, text: &&str) -> bool {
        let other = Self::from(*text);
        *self == other
    }
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
    /// The way a task ended without being complete.
    Loss, "a loss", {
        /// It has failed.
        Failed = "has failed",
        /// It was cancelled.
        Cancelled = "was cancelled",
    }
);

impl LostDependency {
    /// Returns the loss of a task in that state; `None` if the state is not a loss. The first line of `why` is its reason.
    pub fn new(task: TaskId, status: Status, why: &str) -> Option<Self> {
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

    /// Parses the text of a loss; `None` for other texts.
    fn read(blocker: &str) -> Option<Self> {
        let (task, rest) = blocker.strip_prefix("Depends on ")?.split_once(", which ")?;
        let (how, why) = rest.split_once(": ").unwrap_or((rest, ""));
        let lost = Self { task: task.parse().ok()?, how: how.parse().ok()?, why: why.to_owned() };
        (lost.to_string() == blocker).then_some(lost)
    }

    /// Returns the task that was lost.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_byte_for_byte() {
        let (gate, from) = ("code".parse().unwrap(), "review".parse().unwrap());
        for (blocker, text) in [
            (Blocker::nobody(&"qa".parse().unwrap()), "No agents available for role: qa"),
            (
                Blocker::circle(&gate, 4, &from),
                "Circular rejection loop: sent back to gate 'code' 4 times, last by 'review'",
            ),
            (
                Blocker::no_list("`a` is empty"),
                "No list to go through: `a` is empty; `aof override` sends it back for another list",
            ),
            (Blocker::NoRound("max".to_owned()), "No further round: max"),
            (Blocker::Text("no agents".to_owned()), "no agents"),
        ] {
            assert_eq!(blocker.to_string(), text);
            assert_eq!(Blocker::from(text), blocker);
        }
        let branch = Blocker::nobody(&"qa".parse().unwrap()).of_branch(&"docs".parse().unwrap());
        assert_eq!(branch.empty_role(), "qa".parse().ok());
        assert_eq!(Blocker::from("there are No agents available for role: qa").empty_role(), None);
    }

    #[test]
    fn texts_of_losses_are_parsed_back_and_no_others() {
        let lost = |status, why: &str| LostDependency::new("AOF-abc".parse().unwrap(), status, why);
        for (status, why, text) in [
            (Status::Failed, "No: way \n more", "Depends on AOF-abc, which has failed: No: way"),
            (Status::Cancelled, " ", "Depends on AOF-abc, which was cancelled"),
            (Status::Failed, "a\tb", "Depends on AOF-abc, which has failed: ab"),
        ] {
            let dependency = lost(status, why).unwrap();
            assert_eq!(dependency.to_string(), text);
            assert_eq!(LostDependency::read(text), Some(dependency));
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
