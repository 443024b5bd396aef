//! What is wrong in a history: where, which rule is broken, what was expected and what was found.

use serde_json::{Value, json};

use crate::domain::words::words;
use crate::domain::{TaskId, Timestamp};
use crate::git::{CommitId, LogEntry};

words!(
    /// The rule that a history breaks.
    BrokenRule, "a rule of histories", {
        /// An entry of a history is gone, or a whole task is.
        Removed = "removed",
        /// An entry says something else than it did.
        Rewritten = "rewritten",
        /// The rules in force refuse what an entry says.
        NotAllowed = "not_allowed",
        /// By the rules in force, something else comes of what an entry says.
        WrongResult = "wrong_result",
        /// What is the engine's was moved without an entry.
        MovedByHand = "moved_by_hand",
        /// A file that nobody has taken up says that its task is finished.
        SaidByHand = "said_by_hand",
        /// The rules allow it, and nothing says that the engine did it.
        Unattested = "unattested",
        /// Several steps are in one commit, as squashing leaves them.
        Squashed = "squashed",
        /// A trailer of the commit says something else than the entry.
        WrongTrailer = "wrong_trailer",
        /// The message of the commit tells the entry otherwise.
        WrongMessage = "wrong_message",
        /// The author of the commit is not who ended the visit.
        WrongAuthor = "wrong_author",
        /// The date of the commit is not when the visit ended.
        WrongDate = "wrong_date",
        /// A commit of the engine changed more than its task.
        OtherFiles = "other_files",
        /// A merge left out what one side had.
        LostInMerge = "lost_in_merge",
        /// A merge changed the rules otherwise than its sides did.
        RulesInMerge = "rules_in_merge",
        /// A branch is to be moved to where its commits are not.
        Forced = "forced",
        /// An entry that a branch had counts no more: a merge took it for what comes in, and what came later for what stands.
        SupersededShared = "superseded_shared",
        /// A merge superseded an entry, and its message does not list it. This is no fault: a merge of a person lists none.
        Untold = "superseded",
        /// A task has two files.
        Doubled = "doubled",
        /// The file cannot be read.
        Unreadable = "unreadable",
        /// An entry has no signature, and its agent signs.
        Unsigned = "unsigned",
        /// A signature is of something else.
        BadSignature = "bad_signature",
        /// A signature is by a key that is not its agent's, or that is not trusted.
        UntrustedKey = "untrusted_key",
    }
);

impl BrokenRule {
    /// Returns whether the history is worth less for it.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
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

impl Finding {
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

    /// Returns it as `--json` shows it.
    pub(crate) fn value(&self) -> Value {
        json!({
            "commit": self.commit.to_string(),
            "subject": self.subject,
            "author": self.author,
            "authored": self.authored.to_string(),
            "task": self.task.as_ref().map(TaskId::as_str),
            "rule": self.rule.as_str(),
            "expected": self.expected,
            "found": self.found,
            "covered": self.covered.map(|commit| commit.to_string()),
        })
    }
}

/// What was judged of a commit.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub findings: Vec<Finding>,
    /// How many changes of tasks were judged.
    pub changes: usize,
    /// How many of them name the rules by the hash of an earlier version.
    pub renamed: usize,
    /// The tasks that somebody with the right moved against the workflow.
    pub overridden: Vec<TaskId>,
    /// The tasks that can be read again, and continue from where they stood.
    pub mended: Vec<TaskId>,
}
