//! What the watcher reports, and what it has reported already.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::dispatch::hand_out::{Dependent, Given};
use crate::domain::TaskId;
use crate::files::diagnostic::Diagnostic;
use crate::git::CommitId;
use crate::history::lost_steps::RestoredSteps;
use crate::history::sync::outcome::Synced;
use crate::project::error::ProjectError;
use crate::tasks::inbox::deliver::Delivered;
use crate::tasks::plan::choice::Changed;

/// Something that the watcher did, or met.
pub(crate) enum WatchReport {
    /// It begins. There is no branch while there is none to commit to.
    Watching { project: PathBuf, branch: Option<String>, sight: EventSource },
    /// It serves metrics; `exposed` says whether other machines may reach them.
    Serving { address: SocketAddr, exposed: bool },
    /// Metrics could not be counted: scrapes get what was counted last.
    Uncounted { problem: String },
    /// It notices changes in another way from here on.
    EventSource(EventSource),
    /// A completion file was accepted, refused, or waits.
    Delivered(Delivered),
    /// A hand-made task is at its first gate.
    Adopted(Box<Changed>),
    /// A task went on from a gate that decides by itself.
    Passed(Box<Changed>),
    /// A visit took too long.
    TimedOut(Box<Changed>),
    /// A claim that nobody renewed ended.
    Lapsed(Box<Changed>),
    /// A task follows rules that have changed.
    Followed(Box<Changed>),
    /// A task file that a merge left in the wrong folder was moved.
    Moved(Box<Changed>),
    /// A person's edit was committed.
    Committed(Box<Changed>),
    /// Git's index has HEAD's version of these files again, after a git command had put earlier ones there.
    CaughtUp { files: Vec<String> },
    /// Steps are on the branch again, after a git command had dropped them.
    RestoredSteps(RestoredSteps),
    /// Dropped steps are not on the branch, and a person has to see to it.
    TakenBack { problem: String, fix: String },
    /// Work was given to an agent.
    Given(Given),
    /// A task was blocked, or goes on, because of its dependencies.
    Dependent(Dependent),
    /// A task needs a look.
    Troubled { task: TaskId, error: ProjectError },
    /// A file among the tasks looks like one and is none.
    Stray { path: String, reason: String },
    /// New rules are in force.
    RulesInForce { commit: CommitId },
    /// The committed rules are invalid; those of an older commit stay in force.
    RulesInvalid { in_force: CommitId, diagnostics: Vec<Diagnostic> },
    /// The worktree's rules differ from the committed ones, in these files.
    RulesUncommitted { files: Vec<String> },
    /// A notice could not be delivered.
    Undelivered { problem: String },
    /// The event stream could not be brought up to date.
    Unrecorded { problem: String },
    /// The project was synced with its remote.
    Synced(Box<Synced>),
    /// It could not be synced.
    Unsynced { problem: String, fix: Option<String> },
    /// Git is in the middle of something, or has no branch checked out: nothing is committed until that ends.
    Paused { reason: String },
    /// Nothing can be done at the moment; it is tried again.
    Trouble(ProjectError),
    /// A pause, or trouble, has ended.
    Resumed,
    /// It ends.
    Stopped,
}

/// How the watcher notices changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EventSource {
    /// File events of the system.
    Events,
    /// A look every second, as the system gives no events.
    Polling { reason: String },
}

/// Errors that were reported, so that each is reported once while it lasts.
#[derive(Default)]
pub(crate) struct ReportedErrors {
    met: HashSet<String>,
    before: HashSet<String>,
}

impl ReportedErrors {
    /// Returns whether the error is new.
    pub(crate) fn is_news(&mut self, text: String) -> bool {
        let known = self.before.contains(&text);
        self.met.insert(text) && !known
    }

    /// Ends a look at everything: errors that were not met again are over.
    pub(crate) fn forget_the_rest(&mut self) {
        self.before = std::mem::take(&mut self.met);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_told_once_while_it_lasts() {
        let mut told = ReportedErrors::default();
        assert!(told.is_news("full".to_owned()) && !told.is_news("full".to_owned()));
        told.forget_the_rest();
        assert!(!told.is_news("full".to_owned()) && told.is_news("locked".to_owned()));
        told.forget_the_rest();
        told.forget_the_rest();
        assert!(told.is_news("full".to_owned()));
    }
}
