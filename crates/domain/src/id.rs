//! Identifiers: parsed once at the edge; safe from then on in a path, a trailer, a URL and a log line.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

/// The reason why a text is not an identifier of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is not {kind}: {rule}{}", shown(.text), suggestion(.text, .rule))]
pub struct IdFault {
    /// The kind that was expected, with its article: `a task id`.
    pub kind: &'static str,
    pub text: String,
    /// The form of such an identifier.
    pub rule: &'static str,
}

/// Returns the text between backticks, control characters escaped and cut at a length that a terminal can take.
fn shown(text: &str) -> String {
    let escaped: String = text.chars().flat_map(char::escape_debug).take(80).collect();
    format!("`{escaped}`")
}

/// Returns a hint if the text differs from a task id only in case or lacks a prefix.
fn suggestion(text: &str, rule: &str) -> String {
    let (task, visit) = text.find('@').map_or((text, ""), |at| text.split_at(at));
    let written = match task.split_once('-') {
        Some((prefix, local)) if rule == TASK_RULE || rule == TICKET_RULE => {
            format!("{}-{}{visit}", prefix.to_ascii_uppercase(), local.to_ascii_lowercase())
        }
        None if rule == TICKET_RULE => format!("AOF-{}{visit}", task.to_ascii_lowercase()),
        _ => return String::new(),
    };
    if written.parse::<Ticket>().is_ok() {
        format!("; did you mean `{written}`?")
    } else {
        String::new()
    }
}

const NAME_RULE: &str = "use a letter or digit, then letters, digits, `-` or `_`, at most 64 in all (as in `code-review`)";
const AGENT_RULE: &str = "use a letter or digit, then letters, digits, `-`, `_` or `.`, at most 64 in all (as in `agent-7` or `human-ada`)";
const DECISION_RULE: &str = "use a letter or digit, then letters, digits, `-`, `_` or `.`, at most 64 in all, and no word that has a meaning already";
const COMPLETION_RULE: &str = "use letters, digits, `-`, `_`, `.` or `:`, at most 128 in all";
const PREFIX_RULE: &str =
    "use a capital letter, then capitals or digits, at most 16 in all (as in `AOF`)";
const TASK_RULE: &str = "it is a prefix, `-`, and 3 to 32 of `a-z0-9`, as in `AOF-7qk`";
const TICKET_RULE: &str = "it is a prefix, `-`, and 3 to 32 of `a-z0-9`, as in `AOF-7qk`; or such an id and the number of a visit, as in `AOF-7qk@3`, and of a branch, as in `AOF-7qk@3/security`";
const TYPED_RULE: &str = "give an id such as `AOF-7qk` or its beginning, and for one visit or branch `@3` or `@3/security` after it";

const REMOTE_RULE: &str = "use a letter or digit, then letters, digits, `-`, `_` or `.`, at most 64 in all (as in `origin`)";
const BRANCH_RULE: &str = "use letters, digits, `-`, `_`, `.` and, between names, `/`, at most 128 in all (as in `aof` or `team/tasks`)";

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $rule:expr, $valid:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String")]
        // Tasks are cloned at each step, with all the ids of their histories.
        pub struct $name(Arc<str>);

        impl $name {
            /// Returns the identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdFault;

            fn try_from(text: String) -> Result<Self, IdFault> {
                let valid: fn(&str) -> bool = $valid;
                if valid(&text) { Ok(Self(text.into())) } else { Err(IdFault { kind: $kind, text, rule: $rule }) }
            }
        }

        impl FromStr for $name {
            type Err = IdFault;

            fn from_str(text: &str) -> Result<Self, IdFault> {
                text.to_owned().try_into()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

identifier!(
    /// The name of a gate, unique within its workflow.
    GateId, "a gate id", NAME_RULE, is_name
);
identifier!(
    /// The name of a remote of the repository.
    RemoteName, "the name of a remote", REMOTE_RULE, is_remote
);
identifier!(
    /// The name of a branch of the repository.
    BranchName, "the name of a branch", BRANCH_RULE, is_branch
);
identifier!(
    /// The name of a role in org.yaml.
    RoleId, "a role name", NAME_RULE, is_name
);
identifier!(
    /// The name of a workflow.
    WorkflowName, "a workflow name", NAME_RULE, is_name
);
identifier!(
    /// A decision of a gate, in a word of its own. Two that differ only in case are the same decision.
    Decision, "a decision", DECISION_RULE, is_decision
);
identifier!(
    /// An agent: a program, a model, or (with the prefix `human-`) a person.
    AgentId, "an agent id", AGENT_RULE, |text| is_word(text, 64, "-_.")
);
identifier!(
    /// The id by which a completion counts once however often it is delivered.
    CompletionId, "a completion id", COMPLETION_RULE, |text| is_word(text, 128, "-_.:")
);
identifier!(
    /// The part that every task id of a project begins with.
    IdPrefix, "an id prefix", PREFIX_RULE, is_prefix
);
identifier!(
    /// A task: `PREFIX-xxx`. Its text is safe as a file name on every file system, whatever the case rules.
    TaskId, "a task id", TASK_RULE, is_task_id
);

identifier!(
    /// A SHA-256 in lower-case hexadecimal.
    Digest, "a SHA-256", "it is 64 of `0-9a-f`", |text| is_hex(text, 64)
);
identifier!(
    /// The name of a commit or a tree: 40 lower-case hex digits.
    CommitName, "a commit", "it is 40 of `0-9a-f`", |text| is_hex(text, 40)
);
identifier!(
    /// The id of an event that comes from no commit: `aof_` and 32 lower-case hex digits.
    EventId, "an event id", "it is `aof_` and 32 of `0-9a-f`",
    |text| text.strip_prefix("aof_").is_some_and(|digits| is_hex(digits, 32))
);
identifier!(
    /// The key of a channel in the outbox: one channel has one key, in any `notify` that names it.
    ChannelKey, "a channel", "it is 16 of `0-9a-f`", |text| is_hex(text, 16)
);

impl Digest {
    /// Returns the digest of the bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("{:x}", Sha256::digest(bytes)).into())
    }
}

impl EventId {
    /// Returns the id for the mark: equal marks have equal ids.
    pub fn new(mark: &str) -> Self {
        Self(format!("aof_{}", &Digest::of(mark.as_bytes()).as_str()[..32]).into())
    }
}

impl ChannelKey {
    /// Returns the key of a channel by its description.
    pub(crate) fn of(description: &str) -> Self {
        Self(Digest::of(description.as_bytes()).as_str()[..16].into())
    }
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

fn is_word(text: &str, longest: usize, extra: &str) -> bool {
    text.len() <= longest
        && text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || extra.contains(c))
}

fn is_remote(text: &str) -> bool {
    is_part_of_reference(text) && !text.contains('/') && text.len() <= 64
}

fn is_branch(text: &str) -> bool {
    text.split('/').all(is_part_of_reference) && text.len() <= 128 && text != "HEAD"
}

/// Returns whether the text is a name that git allows; git allows more.
fn is_part_of_reference(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && !text.contains("..")
        && !text.ends_with('.')
        && !text.to_ascii_lowercase().ends_with(".lock")
}

fn is_name(text: &str) -> bool {
    is_word(text, 64, "-_")
}

/// Returns whether the text can be a decision. The words of the history's `outcome` are reserved, in any case.
fn is_decision(text: &str) -> bool {
    const TAKEN: [&str; 10] = [
        "complete",
        "needs_review",
        "blocked",
        "skip",
        "failed",
        "cancelled",
        "moved",
        "override",
        "reopened",
        "timeout",
    ];
    is_word(text, 64, "-_.") && !TAKEN.iter().any(|word| word.eq_ignore_ascii_case(text))
}

fn is_prefix(text: &str) -> bool {
    text.len() <= 16
        && text.bytes().next().is_some_and(|b| b.is_ascii_uppercase())
        && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
}

fn is_local(text: &str) -> bool {
    (3..=32).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

fn is_task_id(text: &str) -> bool {
    text.split_once('-').is_some_and(|(prefix, local)| is_prefix(prefix) && is_local(local))
}

impl AgentId {
    /// Returns whether the id claims to be a person's: it has the prefix `human-` (spec 1, 11.6).
    pub fn is_human(&self) -> bool {
        self.0.starts_with("human-")
    }
}

impl TaskId {
    /// Returns the part before the dash.
    pub fn prefix(&self) -> &str {
        self.0.split_once('-').map_or("", |(prefix, _)| prefix)
    }

    /// Returns the part after the dash.
    pub fn local(&self) -> &str {
        self.0.split_once('-').map_or("", |(_, local)| local)
    }

    /// Returns whether the id begins with the text, with or without its prefix, in any case.
    pub fn begins_with(&self, text: &str) -> bool {
        let is_start = |whole: &str| {
            whole.get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text))
        };
        is_start(self.as_str()) || is_start(self.local())
    }

    /// Returns the id with that prefix and local part.
    pub fn compose(prefix: &IdPrefix, local: &str) -> Result<Self, IdFault> {
        format!("{prefix}-{local}").parse()
    }
}

impl Default for IdPrefix {
    fn default() -> Self {
        Self("AOF".into())
    }
}

/// A task, one visit of it, or one branch of a visit: `AOF-7qk`, `AOF-7qk@3`, `AOF-7qk@3/security`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct Ticket {
    pub task: TaskId,
    /// The number of the visit; absent means the open visit.
    pub visit: Option<usize>,
    /// The branch; absent outside forks, and if any branch will do.
    pub branch: Option<GateId>,
}

impl Ticket {
    /// Returns the ticket for any open visit; one that names a branch stays as it is.
    #[must_use]
    pub fn without_visit(self) -> Self {
        let visit = self.visit.filter(|_| self.branch.is_some());
        Self { visit, ..self }
    }
}

impl FromStr for Ticket {
    type Err = IdFault;

    fn from_str(text: &str) -> Result<Self, IdFault> {
        let fault =
            || IdFault { kind: "a task or a ticket", text: text.to_owned(), rule: TICKET_RULE };
        let (task, visit, branch) = ticket_parts(text).ok_or_else(fault)?;
        Ok(Self { task: task.parse().map_err(|_| fault())?, visit, branch })
    }
}

/// Splits a ticket into its task, which is not checked, its visit and its branch.
fn ticket_parts(text: &str) -> Option<(&str, Option<usize>, Option<GateId>)> {
    let Some((task, visit)) = text.split_once('@') else { return Some((text, None, None)) };
    let (visit, branch) = match visit.split_once('/') {
        Some((visit, branch)) => (visit, Some(branch.parse().ok()?)),
        None => (visit, None),
    };
    let is_number = visit.bytes().all(|b| b.is_ascii_digit());
    Some((task, Some(visit.parse().ok().filter(|_| is_number)?), branch))
}

/// A task, or a ticket, as a person types it: the beginning of an id is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedTask {
    text: String,
    /// The part before `@`.
    pub task: String,
    pub visit: Option<usize>,
    pub branch: Option<GateId>,
}

impl FromStr for TypedTask {
    type Err = IdFault;

    fn from_str(text: &str) -> Result<Self, IdFault> {
        let is_part = |task: &str| {
            is_word(task, 16 + 1 + 32, "-") && task.bytes().filter(|b| *b == b'-').count() < 2
        };
        let parts = ticket_parts(text).filter(|(task, ..)| is_part(task));
        let text = text.to_owned();
        let Some((task, visit, branch)) = parts else {
            return Err(IdFault { kind: "a task or a ticket", text, rule: TYPED_RULE });
        };
        Ok(Self { task: task.to_owned(), visit, branch, text })
    }
}

impl fmt::Display for TypedTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl TryFrom<String> for Ticket {
    type Error = IdFault;

    fn try_from(text: String) -> Result<Self, IdFault> {
        text.parse()
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.visit, &self.branch) {
            (Some(visit), Some(branch)) => write!(f, "{}@{visit}/{branch}", self.task),
            (Some(visit), None) => write!(f, "{}@{visit}", self.task),
            (None, _) => write!(f, "{}", self.task),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_types_the_beginning_of_an_id_and_maybe_a_visit() {
        let id: TaskId = "AOF-7qk".parse().unwrap();
        for (text, fits) in [
            ("AOF-7qk", true),
            ("aof-7QK", true),
            ("7q", true),
            ("aof", true),
            ("aof-", true),
            ("qk", false),
            ("AOF-7qkx", false),
            ("web-7qk", false),
        ] {
            let typed: TypedTask = format!("{text}@3/security").parse().unwrap();
            assert_eq!((typed.visit, id.begins_with(&typed.task)), (Some(3), fits), "{text}");
        }
        for nonsense in [
            "", "@3", "a b", "a_b", "../a", "é", "a--b", "a-b-c", "7qk@", "7qk@x", "7qk@3/", "-7qk",
        ] {
            assert!(nonsense.parse::<TypedTask>().is_err(), "{nonsense}");
        }
    }

    #[test]
    fn an_id_that_differs_in_case_or_lacks_its_prefix_is_asked_after() {
        let suggestion_for = |text: &str| {
            let message = text.parse::<Ticket>().unwrap_err().to_string();
            message
                .split_once("did you mean `")
                .map(|(_, rest)| rest.trim_end_matches("`?").to_owned())
        };
        assert_eq!(suggestion_for("7qk").as_deref(), Some("AOF-7qk"));
        assert_eq!(suggestion_for("aof-7QK").as_deref(), Some("AOF-7qk"));
        assert_eq!(suggestion_for("Web-7qk@3/security").as_deref(), Some("WEB-7qk@3/security"));
        for text in ["../7qk", "7q", "AOF-7qk@x", "7qk@\u{1b}[31m", ""] {
            assert_eq!(suggestion_for(text), None, "{text:?}");
        }
        // Notes of people lie among the tasks.
        let of_file = |text: &str| text.parse::<TaskId>().unwrap_err().to_string();
        assert!(
            of_file("aof-7qk").ends_with("did you mean `AOF-7qk`?")
                && !of_file("notes").contains("did you")
        );
    }

    #[test]
    fn task_ids_never_reach_outside_a_folder() {
        for text in [
            "",
            "AOF",
            "AOF-",
            "AOF-ab",
            "aof-abc",
            "AOF-ABC",
            "AOF-../x",
            "../AOF-abc",
            "AOF-abc/",
            "AOF-abc.md",
            "AOF_abc",
            "AOF-abc\n",
            "AOF-abc\0",
            "A-Bcd",
            "AOF-äbc",
            "AOF-a-b-c",
        ] {
            assert!(text.parse::<TaskId>().is_err(), "{text:?} must not be an id");
        }
        let id: TaskId = "AOF-7qk".parse().unwrap();
        assert_eq!((id.prefix(), id.local()), ("AOF", "7qk"));
    }

    #[test]
    fn a_ticket_names_a_visit() {
        let ticket: Ticket = "AOF-abc@3".parse().unwrap();
        assert_eq!(ticket.visit, Some(3));
        assert_eq!(ticket.to_string(), "AOF-abc@3");
        let branch: Ticket = "AOF-abc@3/security".parse().unwrap();
        assert_eq!(
            (branch.visit, branch.branch.as_ref().map(GateId::as_str)),
            (Some(3), Some("security"))
        );
        assert_eq!(branch.to_string(), "AOF-abc@3/security");
        for text in [
            "AOF-abc@3/",
            "AOF-abc@/security",
            "AOF-abc/security",
            "AOF-abc@3/a/b",
            "AOF-abc@3/../x",
        ] {
            assert!(text.parse::<Ticket>().is_err(), "{text}");
        }
        for text in ["AOF-abc@", "AOF-abc@x", "AOF-abc@-1", "AOF-abc@99999999999999999999999"] {
            let parsed = text.parse::<Ticket>();
            assert!(parsed.is_err() || text == "AOF-abc@", "{text}: {parsed:?}");
        }
        assert!("AOF-abc@".parse::<Ticket>().is_err());
    }

    #[test]
    fn a_fault_shows_hostile_text_inert() {
        let fault = "agent\n\u{1b}[31m7".parse::<AgentId>().unwrap_err();
        let text = fault.to_string();
        assert!(text.starts_with("`agent\\n\\u{1b}[31m7` is not an agent id"), "{text}");
    }

    #[test]
    fn people_are_known_by_their_prefix() {
        assert!("human-ada".parse::<AgentId>().unwrap().is_human());
        assert!(!"agent-human-ada".parse::<AgentId>().unwrap().is_human());
    }
}
