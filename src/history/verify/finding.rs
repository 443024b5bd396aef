//! What is wrong in a history: where, which rule is broken, what was expected and what was found.

use serde::Serialize;

use crate::domain::words::words;
use crate::domain::{TaskId, Timestamp};
use crate::git::{CommitId, LogEntry};

words!(
    /// The rule that a history breaks; [`BrokenRule::sentence`] explains each.
    BrokenRule, "a rule of histories", {
        Removed = "removed",
        Rewritten = "rewritten",
        NotAllowed = "not_allowed",
        WrongResult = "wrong_result",
        MovedByHand = "moved_by_hand",
        SaidByHand = "said_by_hand",
        Unattested = "unattested",
        Squashed = "squashed",
        WrongTrailer = "wrong_trailer",
        WrongMessage = "wrong_message",
        WrongAuthor = "wrong_author",
        WrongDate = "wrong_date",
        OtherFiles = "other_files",
        LostInMerge = "lost_in_merge",
        RulesInMerge = "rules_in_merge",
        Forced = "forced",
        SupersededShared = "superseded_shared",
        Untold = "superseded",
        Doubled = "doubled",
        Unreadable = "unreadable",
        Unsigned = "unsigned",
        BadSignature = "bad_signature",
        UntrustedKey = "untrusted_key",
    }
);

impl BrokenRule {
    /// Returns whether the history is worth less for it. A merge that a person made need not list what it superseded.
    pub(crate) const fn is_fault(self) -> bool {
        !matches!(self, Self::Untold)
    }

    /// Returns what it means, in words.
    pub(crate) const fn sentence(self) -> &'static str {
        match self {
            Self::Removed => "what was there is gone",
            Self::Rewritten => "an entry says something else than it did",
            Self::NotAllowed => "the rules refuse it",
            Self::WrongResult => "by the rules, something else comes of it",
            Self::MovedByHand => "it was moved by hand",
            Self::SaidByHand => "it says that it is finished, and never stood at a gate",
            Self::Unattested => "the rules allow it, and nothing says that the engine did it",
            Self::Squashed => "several steps are in one commit",
            Self::WrongTrailer => "the commit says something else than the task",
            Self::WrongMessage => "the message of the commit tells it otherwise",
            Self::WrongAuthor => "the commit is by somebody else than the entry",
            Self::WrongDate => "the commit has another date than the entry",
            Self::OtherFiles => "a commit of the engine changed more than its task",
            Self::LostInMerge => "a merge left out what one side had",
            Self::RulesInMerge => "a merge changed the rules otherwise than its sides did",
            Self::Forced => "the branch loses commits that it had",
            Self::SupersededShared => "what was shared first counts no more",
            Self::Untold => "a merge superseded an entry",
            Self::Doubled => "it has two files",
            Self::Unreadable => "its file cannot be read",
            Self::Unsigned => "an entry is not signed",
            Self::BadSignature => "a signature is of something else",
            Self::UntrustedKey => "a signature is by a key that does not count",
        }
    }
}

/// Something that is wrong in a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct HistoryFinding {
    pub commit: CommitId,
    /// The first line of the commit's message.
    pub subject: String,
    pub author: String,
    pub authored: Timestamp,
    pub task: Option<TaskId>,
    pub rule: BrokenRule,
    pub expected: String,
    pub found: String,
    /// The later commit in which somebody with the right put it right.
    pub covered: Option<CommitId>,
}

impl HistoryFinding {
    pub(crate) fn new(
        entry: &LogEntry,
        task: Option<&TaskId>,
        rule: BrokenRule,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self {
            commit: entry.id,
            subject: entry.message.lines().next().unwrap_or_default().to_owned(),
            author: format!("{} <{}>", entry.author.name(), entry.author.email()),
            authored: entry.authored,
            task: task.cloned(),
            rule,
            expected: expected.into(),
            found: found.into(),
            covered: None,
        }
    }
}

/// What was judged of a commit.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub findings: Vec<HistoryFinding>,
    /// How many changes of tasks were judged.
    pub changes: usize,
    /// How many of them name the rules by the hash of an earlier version.
    pub renamed: usize,
    /// The tasks that somebody with the right moved against the workflow.
    pub overridden: Vec<TaskId>,
    /// The tasks that can be read again, and continue from where they stood.
    pub mended: Vec<TaskId>,
}
