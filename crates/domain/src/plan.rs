//! A person's plan of a task (assignee, priority, due date, milestone, links), and a change of the fields that people own.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::words::words;
use super::{Due, Map, TaskId, Timestamp};

/// A person's plan of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskPlan {
    /// The word in the file, which may not be a known priority.
    pub priority: Option<String>,
    pub due: Option<Due>,
    /// The day, or the time, before which it is not handed out.
    #[serde(default)]
    pub not_before: Option<Due>,
    pub milestone: Option<String>,
    /// The people and agents who are to do it, as the file names them. A claim is independent of it.
    #[serde(default)]
    pub assignee: Vec<String>,
    pub links: Vec<Link>,
}

words!(
    /// A key of a plan, besides its links.
    PlanKey, "a field of the plan", {
        Priority = "priority",
        Due = "due",
        NotBefore = "notBefore",
        Milestone = "milestone",
        Assignee = "assignee",
    }
);

impl PlanKey {
    /// Returns the names of all keys.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().map(|key| key.as_str())
    }
}

impl TaskPlan {
    /// Returns the value of each key as files and JSON show it; `null` if it is absent.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let Self { priority, due, not_before, milestone, assignee, links: _ } = self;
        [
            (PlanKey::Priority, json!(priority)),
            (PlanKey::Due, json!(due)),
            (PlanKey::NotBefore, json!(not_before)),
            (PlanKey::Milestone, json!(milestone)),
            (PlanKey::Assignee, if assignee.is_empty() { Value::Null } else { json!(assignee) }),
        ]
        .into_iter()
        .map(|(key, value)| (key.as_str(), value))
    }

    pub(super) fn update(&mut self, new: &Self) {
        let Self { priority, due, not_before, milestone, assignee, links } = new.clone();
        self.priority = priority.or(self.priority.take());
        self.due = due.or(self.due);
        self.not_before = not_before.or(self.not_before);
        self.milestone = milestone.or(self.milestone.take());
        if !assignee.is_empty() {
            self.assignee = assignee;
        }
        add_missing(&mut self.links, &links);
    }

    pub(super) fn remove(&mut self, key: PlanKey) {
        match key {
            PlanKey::Priority => self.priority = None,
            PlanKey::Due => self.due = None,
            PlanKey::NotBefore => self.not_before = None,
            PlanKey::Milestone => self.milestone = None,
            PlanKey::Assignee => self.assignee.clear(),
        }
    }
}

/// A change of the fields that people own, of a new task or of an existing one. What is absent or empty stays.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlanChange {
    pub title: Option<String>,
    /// The work to do, in short; a blank text removes it.
    pub description: Option<String>,
    /// The keys to set, and the links to add.
    pub plan: TaskPlan,
    /// Labels to add.
    pub tags: Vec<String>,
    /// Facts to set.
    pub metadata: Map,
    /// Tasks that must be complete before this one is handed out.
    pub depends_on: Vec<TaskId>,
    /// The task that it becomes a part of.
    pub parent: Option<TaskId>,
    pub removal: PlanRemoval,
}

/// The parts that a [`PlanChange`] removes, before it adds its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanRemoval {
    pub keys: Vec<PlanKey>,
    /// The URLs of links.
    pub links: Vec<String>,
    pub tags: Vec<String>,
    /// The keys of facts.
    pub metadata: Vec<String>,
    pub depends_on: Vec<TaskId>,
    /// True if the task is no longer a part of another one.
    pub parent: bool,
}

pub(super) fn add_missing<T: Clone + PartialEq>(list: &mut Vec<T>, more: &[T]) {
    for item in more {
        if !list.contains(item) {
            list.push(item.clone());
        }
    }
}

words!(
    /// The priority of a task, the most urgent first.
    Priority, "a priority", {
        /// Before everything else.
        Critical = "critical",
        /// Before the usual.
        High = "high",
        /// The usual.
        Medium = "medium",
        /// After everything else.
        Low = "low",
    }
);

/// The place of a task in the order of lists, boards and work to hand out: the smallest is the most urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Urgency {
    /// False if the task is late.
    pub is_in_time: bool,
    pub priority: Priority,
    /// The time from which it is late; the end of time if it is never due.
    pub due: Timestamp,
    /// The time when it reached its gate.
    pub entered: Timestamp,
    pub created: Timestamp,
}

/// A link to a pull request, a document or the like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub title: Option<String>,
    /// A URL, or a path.
    pub url: String,
}

impl Link {
    /// Returns the name of the pull request, merge request or issue that its URL leads to.
    ///
    /// `https://github.com/acme/shop/pull/12/files` is `PR acme/shop#12`, `https://gitlab.com/acme/web/shop/-/merge_requests/3` is
    /// `MR acme/web/shop!3`, and `https://codeberg.org/acme/shop/issues/7` is `acme/shop#7`.
    pub fn request(&self) -> Option<String> {
        let rest =
            self.url.strip_prefix("https://").or_else(|| self.url.strip_prefix("http://"))?;
        let path = rest.split(['?', '#']).next()?.split_once('/')?.1;
        let parts: Vec<&str> = path.split('/').collect();
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let named = |place: usize| {
            let (kind, sign) = match parts[place] {
                "pull" | "pulls" | "pull-requests" => ("PR ", '#'),
                "merge_requests" => ("MR ", '!'),
                "issues" => ("", '#'),
                _ => return None,
            };
            let number = parts.get(place + 1).filter(|number| is_number(number))?;
            let project = &parts[..place];
            let project = project.strip_suffix(&["-"]).unwrap_or(project).join("/");
            Some(format!("{kind}{project}{sign}{number}"))
        };
        (2..parts.len()).find_map(named)
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.title {
            Some(title) => write!(f, "{title}: {}", self.url),
            None => f.write_str(&self.url),
        }
    }
}
