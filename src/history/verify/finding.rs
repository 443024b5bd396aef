//! The findings of `aof verify`: the place, the broken rule, the expected and the found value.

use serde::Serialize;
use serde_json::Value;

use crate::domain::words::words;
use crate::domain::{
    Blocker, BranchName, CommitName, GateId, RoleId, Task, TaskId, Timestamp, Visit, listed,
};
use crate::files::printable::one_line;
use crate::files::task_file::visits;
use crate::git::{CommitId, LogEntry};
use crate::rules::{Breach, Rules};

/// The trailers of the engine's own commits.
pub(crate) const OWN_TRAILERS: [&str; 7] = [
    "Aof-Task",
    "Aof-Gate",
    "Aof-Outcome",
    "Aof-Agent",
    "Aof-Completion",
    "Aof-Event",
    "Aof-Named",
];

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
        RulesInSquash = "rules_in_squash",
        WrongTrailer = "wrong_trailer",
        WrongMessage = "wrong_message",
        WrongAuthor = "wrong_author",
        WrongDate = "wrong_date",
        OtherFiles = "other_files",
        LostInMerge = "lost_in_merge",
        RulesInMerge = "rules_in_merge",
        Forced = "forced",
        SupersededShared = "superseded_shared",
        Unlisted = "superseded",
        Doubled = "doubled",
        Unreadable = "unreadable",
        Unsigned = "unsigned",
        BadSignature = "bad_signature",
        UntrustedKey = "untrusted_key",
        ChildrenDiffer = "children_differ",
        ChildrenMerged = "children_merged",
        NamedUnseen = "named_unseen",
        LandedOtherwise = "landed_otherwise",
        BrokenPromise = "broken_promise",
    }
);

impl BrokenRule {
    /// Returns whether it is a fault. A person's merge need not list the entries that it superseded, and may combine open
    /// children; a person may be named without a terminal, and may squash steps unless the project refuses that.
    const fn is_fault(self) -> bool {
        !matches!(self, Self::Unlisted | Self::ChildrenMerged | Self::NamedUnseen | Self::Squashed)
    }

    /// Returns its meaning in words.
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
            Self::RulesInSquash => "only rules that came with the steps allow them",
            Self::WrongTrailer => "the commit says something else than the task",
            Self::WrongMessage => "the message of the commit tells it otherwise",
            Self::WrongAuthor => "the commit is by somebody else than the entry",
            Self::WrongDate => "the commit has another date than the entry",
            Self::OtherFiles => "a commit of the engine changed more than its task",
            Self::LostInMerge => "a merge left out what one side had",
            Self::RulesInMerge => "a merge changed the rules otherwise than its sides did",
            Self::Forced => "the branch loses commits that it had",
            Self::SupersededShared => "what was shared first counts no more",
            Self::Unlisted => "a merge superseded an entry",
            Self::Doubled => "it has two files",
            Self::Unreadable => "its file cannot be read",
            Self::Unsigned => "an entry is not signed",
            Self::BadSignature => "a signature is of something else",
            Self::UntrustedKey => "a signature is by a key that does not count",
            Self::ChildrenDiffer => "an entry counts other children than there were",
            Self::ChildrenMerged => {
                "a merge brought open children of a task that did not wait for them"
            }
            Self::NamedUnseen => "a person is named, not seen",
            Self::BrokenPromise => "the rules break what the project promises",
            Self::LandedOtherwise => "another tree landed than the one that was checked",
        }
    }
}

/// The numbers of the entries of a task that one commit brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SquashCounts {
    pub entries: usize,
    /// Those that only rules before the squash's parent allow.
    pub older_rules: usize,
    /// Those that a value of a condition led on which the entries do not hold.
    pub unknown_ways: usize,
}

/// A broken rule in a commit.
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
    /// The later commit in which an authorized person corrected it.
    pub covered: Option<CommitId>,
    /// The entries of a squash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub squash: Option<SquashCounts>,
    /// True if it is a squash, and these are refused.
    #[serde(skip)]
    pub is_refused: bool,
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
            squash: None,
            is_refused: false,
        }
    }

    /// Returns whether it is a fault, or otherwise a note.
    pub(crate) const fn is_fault(&self) -> bool {
        self.is_refused || self.rule.is_fault()
    }
}

/// A landing that an entry records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LandedEntry {
    pub task: TaskId,
    pub gate: GateId,
    pub onto: BranchName,
    pub commit: CommitName,
    /// The number of checks that passed before.
    pub checks: usize,
    /// False if the commit is not here, so that nothing can be compared.
    pub is_here: bool,
}

/// The judgement of one commit.
#[derive(Debug, Default)]
pub(crate) struct CommitJudgement {
    pub findings: Vec<HistoryFinding>,
    /// The number of judged changes of tasks.
    pub changes: usize,
    /// The number of changes that name the rules by the hash of an earlier version.
    pub renamed: usize,
    /// The tasks that an authorized person moved against the workflow.
    pub overridden: Vec<TaskId>,
    /// The landings that new entries record.
    pub landed: Vec<LandedEntry>,
    /// The tasks that are readable again, and continue from their state before.
    pub mended: Vec<TaskId>,
}

/// The longest value that is shown, in characters.
const LONGEST: usize = 120;

/// A broken rule, the expected value, and the found one.
pub(crate) type RuleBreach = (BrokenRule, String, String);

/// Returns the broken rule, with the expected and the found value.
pub(crate) fn describe_breach(
    rules: &Rules,
    before: Option<&Task>,
    after: &Task,
    breach: &Breach,
) -> RuleBreach {
    match breach {
        Breach::Removed { before, after } => {
            (BrokenRule::Removed, format!("{} at least", entry_count(*before)), entry_count(*after))
        }
        Breach::Rewritten { entry } => {
            let at = |task: Option<&Task>| {
                task.and_then(|task| task.history.get(*entry)).map(visits::visit_value)
            };
            let (expected, found) = differing_fields(at(before), at(Some(after)));
            (BrokenRule::Rewritten, format!("entry {} as it was: {expected}", entry + 1), found)
        }
        Breach::Refused { entry, why } => {
            let ended = after.history.get(*entry);
            let mut found = format!(
                "entry {}, {}: {why}",
                entry + 1,
                ended.map(visit_summary).unwrap_or_default()
            );
            let of_entry = ended.and_then(|visit| visit.workflow.as_deref());
            let hash = rules.hash(&after.routing.workflow);
            if of_entry.zip(hash).is_some_and(|(of_entry, hash)| of_entry != hash) {
                found.push_str("; it was decided by other rules than those of the commit before");
            }
            (BrokenRule::NotAllowed, "what the rules allow".to_owned(), short(&found))
        }
        Breach::Otherwise { fields, expected, .. } => {
            (BrokenRule::WrongResult, show_fields(expected, fields), show_fields(after, fields))
        }
        Breach::Moved { fields } => {
            let expected = before.map(|before| show_fields(before, fields)).unwrap_or_default();
            (BrokenRule::MovedByHand, expected, show_fields(after, fields))
        }
        Breach::Begun { entries: count } => {
            let at = after
                .gate
                .as_ref()
                .map_or_else(|| "at its end".to_owned(), |open| format!("at {}", open.current));
            let found = format!("a task {at}, with {}", entry_count(*count));
            (
                BrokenRule::NotAllowed,
                "a new task at its first gate, with no entries".to_owned(),
                found,
            )
        }
    }
}

/// Describes a visit in a few words.
pub(crate) fn visit_summary(visit: &Visit) -> String {
    let by = visit.agent.as_ref().map(|agent| format!(" by {agent}")).unwrap_or_default();
    format!("{} at {}{by}", visit.outcome, visit.station())
}

pub(crate) fn entry_count(count: usize) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}

/// Returns the fields of two entries that differ.
fn differing_fields(one: Option<Value>, two: Option<Value>) -> (String, String) {
    let fields = |value: Option<Value>| match value {
        Some(Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (one, two) = (fields(one), fields(two));
    let names: Vec<&String> = one
        .keys()
        .chain(two.keys().filter(|key| !one.contains_key(*key)))
        .filter(|key| one.get(*key) != two.get(*key))
        .collect();
    let shown = |fields: &serde_json::Map<String, Value>| {
        let value = |key| fields.get(key).map_or_else(|| "nothing".to_owned(), Value::to_string);
        let all: Vec<String> =
            names.iter().map(|key| format!("{key}: {}", value(key.as_str()))).collect();
        short(&all.join(", "))
    };
    (shown(&one), shown(&two))
}

fn show_fields(task: &Task, fields: &[&'static str]) -> String {
    // The update time matters only if nothing else differs.
    let relevant = fields.iter().filter(|field| fields.len() == 1 || **field != "updated");
    let all: Vec<String> =
        relevant.map(|field| format!("{field}: {}", show_field(task, field))).collect();
    short(&all.join(", "))
}

fn show_field(task: &Task, field: &str) -> String {
    let or_nothing = |text: String| if text.is_empty() { "nothing".to_owned() } else { text };
    match field {
        "status" => task.status.to_string(),
        "created" => task.created.to_string(),
        "createdBy" => {
            task.created_by.as_ref().map_or_else(|| "nothing".to_owned(), ToString::to_string)
        }
        "updated" => task.updated.to_string(),
        "gate" => match &task.gate {
            None => "nothing".to_owned(),
            Some(open) => format!("{}, visit {}, since {}", open.current, open.visit, open.entered),
        },
        "routing" => {
            let role = task.routing.role.as_ref().map(RoleId::to_string);
            let agent = task.routing.agent.as_ref().map(ToString::to_string);
            or_nothing(listed(
                [Some(task.routing.workflow.to_string()), role, agent].into_iter().flatten(),
            ))
        }
        "gateHistory" => task.history.last().map_or_else(
            || "nothing".to_owned(),
            |visit| {
                let to =
                    visit.to.as_ref().map(|to| format!(" to {}", to.noun())).unwrap_or_default();
                format!("{} entries, the last one {}{to}", task.history.len(), visit_summary(visit))
            },
        ),
        "reviewContext" => if task.review.is_some() { "there" } else { "nothing" }.to_owned(),
        "blockers" => or_nothing(Blocker::joined(&task.blockers)),
        "context" => or_nothing(listed(task.context.keys())),
        "workflowHash" => or_nothing(task.workflow_hash.clone().unwrap_or_default()),
        _ => String::new(),
    }
}

/// Returns a value on one line, shortened for a message.
pub(crate) fn short(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}..", &line[..end]),
        None => line,
    }
}
