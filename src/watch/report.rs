//! What the watcher tells, and what it has told already.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::dispatch::hand_out::{Dependent, Given};
use crate::domain::TaskId;
use crate::files::diagnostic::diagnostic::Diagnostic;
use crate::git::CommitId;
use crate::history::lost_steps::PutBack;
use crate::history::sync::outcome::Synced;
use crate::project::error::error::OpsError;
use crate::tasks::apply::change::Changed;
use crate::tasks::inbox::recipient::Delivered;

/// Something that the watcher did, or met.
pub(crate) enum Report {
    /// It begins.
    Watching {
        /// The project's folder.
        project: PathBuf,
        /// The branch; nothing while there is none to commit to.
        branch: Option<String>,
        /// How it notices what happens.
        sight: EventSource,
    },
    /// It shows the project in numbers to whoever asks.
    Serving {
        /// Where.
        address: SocketAddr,
        /// Whether other machines may reach it.
        exposed: bool,
    },
    /// The project could not be counted; those who ask see what was counted last.
    Uncounted {
        /// Why.
        problem: String,
    },
    /// From here on it notices differently.
    EventSource(EventSource),
    /// A completion file went its way.
    Delivered(Delivered),
    /// A hand-made task is at its first gate.
    Adopted(Box<Changed>),
    /// A task that rested at a gate which decides by itself has gone on.
    Passed(Box<Changed>),
    /// A visit took too long.
    TimedOut(Box<Changed>),
    /// A claim that nobody renewed ended.
    Lapsed(Box<Changed>),
    /// A task that stood where the rules have changed follows them now.
    Followed(Box<Changed>),
    /// A task whose file stood where it does not belong, as a merge left it, is at home now.
    Moved(Box<Changed>),
    /// A person's edit was committed.
    Committed(Box<Changed>),
    /// Git's index has these files again as HEAD has them: a command of git's that was overtaken had put earlier versions there.
    CaughtUp {
        /// The files.
        files: Vec<String>,
    },
    /// Steps are on the branch again: a command of git's that was overtaken had taken them off it.
    PutBack(PutBack),
    /// They are not, and somebody has to see to it.
    TakenBack {
        /// What the matter is.
        problem: String,
        /// What to do.
        fix: String,
    },
    /// Work was given to an agent.
    Given(Given),
    /// A task was stopped, or set going, by what became of those that it depends on.
    Dependent(Dependent),
    /// A task that somebody has to look at.
    Troubled {
        /// The task.
        task: TaskId,
        /// What is the matter.
        error: OpsError,
    },
    /// Something among the tasks that looks like one and is none.
    Stray {
        /// Where.
        path: String,
        /// Why it is none.
        reason: String,
    },
    /// Other rules are in force than before.
    RulesInForce {
        /// The commit that has them.
        commit: CommitId,
    },
    /// The committed rules are invalid; older ones stay in force.
    RulesInvalid {
        /// The commit of those in force.
        in_force: CommitId,
        /// What is wrong with HEAD's.
        diagnostics: Vec<Diagnostic>,
    },
    /// The worktree's rules differ from the committed ones.
    RulesUncommitted {
        /// In these files.
        files: Vec<String>,
    },
    /// Somebody who is to be told of something could not be.
    Undelivered {
        /// Why.
        problem: String,
    },
    /// The event stream could not be brought up to date.
    Unrecorded {
        /// Why.
        problem: String,
    },
    /// The project was synced with its remote.
    Synced(Box<Synced>),
    /// It could not be.
    Unsynced {
        /// Why.
        problem: String,
        /// What to do.
        fix: Option<String>,
    },
    /// Git is in the middle of something, or has no branch checked out: nothing is committed until that ends.
    Paused {
        /// What it is, and how to end it.
        reason: String,
    },
    /// Nothing can be done at the moment; it is tried again.
    Trouble(OpsError),
    /// What was paused, or in trouble, goes on.
    Resumed,
    /// It ends.
    Stopped,
}

/// How the watcher notices what happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EventSource {
    /// The system tells it at once.
    Events,
    /// It looks every second.
    Polling {
        /// Why there are no events.
        reason: String,
    },
}

/// Remembers trouble that was told, so that it is told once while it lasts.
#[derive(Default)]
pub(crate) struct Told {
    met: HashSet<String>,
    before: HashSet<String>,
}

impl Told {
    /// Returns whether that is news.
    pub(crate) fn is_news(&mut self, text: String) -> bool {
        let known = self.before.contains(&text);
        self.met.insert(text) && !known
    }

    /// Ends a look at everything there is: what was not met again is over.
    pub(crate) fn forget_the_rest(&mut self) {
        self.before = std::mem::take(&mut self.met);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_told_once_while_it_lasts() {
        let mut told = Told::default();
        assert!(told.is_news("full".to_owned()) && !told.is_news("full".to_owned()));
        told.forget_the_rest();
        assert!(!told.is_news("full".to_owned()) && told.is_news("locked".to_owned()));
        told.forget_the_rest();
        told.forget_the_rest();
        assert!(told.is_news("full".to_owned()));
    }
}
