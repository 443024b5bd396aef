//! A person's plan of a task (priority, due date, milestone, links), and a change of the fields that people own.

use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::words::words;
use super::{Map, TaskId, Timestamp};

/// A person's plan of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskPlan {
    /// The word in the file, which may not be a known priority.
    pub priority: Option<String>,
    pub due: Option<Due>,
    pub milestone: Option<String>,
    pub links: Vec<Link>,
}

words!(
    /// A key of a plan that has one value.
    PlanKey, "a field of the plan", {
        Priority = "priority",
        Due = "due",
        Milestone = "milestone",
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
        let Self { priority, due, milestone, links: _ } = self;
        [
            (PlanKey::Priority, json!(priority)),
            (PlanKey::Due, json!(due)),
            (PlanKey::Milestone, json!(milestone)),
        ]
        .into_iter()
        .map(|(key, value)| (key.as_str(), value))
    }

    pub(super) fn update(&mut self, new: &Self) {
        let Self { priority, due, milestone, links } = new.clone();
        self.priority = priority.or(self.priority.take());
        self.due = due.or(self.due);
        self.milestone = milestone.or(self.milestone.take());
        add_missing(&mut self.links, &links);
    }

    pub(super) fn remove(&mut self, key: PlanKey) {
        match key {
            PlanKey::Priority => self.priority = None,
            PlanKey::Due => self.due = None,
            PlanKey::Milestone => self.milestone = None,
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

/// The time a task is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// At the end of that day, in the project's time zone.
    Day(Date),
    At(Timestamp),
}

/// A text that is not a due date.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a due date; write a day, as in `2026-12-01`, or a time with its zone, as in `2026-12-01T10:00:00Z`", .0.escape_debug())]
pub struct DueFault(String);

impl Due {
    /// Returns the time from which on the task is late.
    pub fn ends(self, zone: &TimeZone) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Day(day) => day.tomorrow().map_or(Timestamp::MAX, |next| first_of(next, zone)),
        }
    }

    /// Returns whether the due time ends before that time, or before that day begins.
    pub fn is_before(self, limit: Self, zone: &TimeZone) -> bool {
        let begins = match limit {
            Self::At(at) => at,
            Self::Day(day) => first_of(day, zone),
        };
        match self {
            Self::At(at) => at < begins,
            Self::Day(_) => self.ends(zone) <= begins,
        }
    }
}

/// Returns the first moment of the day. A time zone may skip midnight: the day then begins later.
fn first_of(day: Date, zone: &TimeZone) -> Timestamp {
    day.to_zoned(zone.clone()).map_or(Timestamp::MAX, |first| first.timestamp())
}

impl FromStr for Due {
    type Err = DueFault;

    fn from_str(text: &str) -> Result<Self, DueFault> {
        // Other forms of dates, as in `20261201`, look like numbers.
        let is_day = text.len() == 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-';
        let due = if is_day { text.parse().map(Self::Day) } else { text.parse().map(Self::At) };
        due.map_err(|_| DueFault(text.to_owned()))
    }
}

impl fmt::Display for Due {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Day(day) => write!(f, "{day}"),
            Self::At(at) => write!(f, "{at}"),
        }
    }
}

impl<'de> Deserialize<'de> for Due {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'_, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A link to a pull request, a document or the like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub title: Option<String>,
    /// A URL, or a path.
    pub url: String,
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.title {
            Some(title) => write!(f, "{title}: {}", self.url),
            None => f.write_str(&self.url),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_lasts_until_its_end_in_the_zone() {
        let zone = |name: &str| jiff::tz::TimeZoneDatabase::bundled().get(name).unwrap();
        for (due, name, end) in [
            ("2026-12-01", "UTC", "2026-12-02T00:00:00Z"),
            ("2026-12-01", "Europe/Berlin", "2026-12-01T23:00:00Z"),
            ("2026-12-01", "Pacific/Kiritimati", "2026-12-01T10:00:00Z"),
            // Clocks go back, and the day has 25 hours; clocks go forward, and it has 23.
            ("2026-10-25", "Europe/Berlin", "2026-10-25T23:00:00Z"),
            ("2026-03-29", "Europe/Berlin", "2026-03-29T22:00:00Z"),
            // The next day begins at one o'clock.
            ("2018-11-03", "America/Sao_Paulo", "2018-11-04T03:00:00Z"),
            ("2026-12-01T10:00:00+02:00", "Europe/Berlin", "2026-12-01T08:00:00Z"),
            ("9999-12-31", "UTC", "9999-12-30T22:00:00.999999999Z"),
        ] {
            let ends = due.parse::<Due>().unwrap().ends(&zone(name));
            assert_eq!(ends.to_string(), end, "{due} {name}");
        }
    }

    #[test]
    fn a_day_is_before_the_next_one_and_not_before_itself() {
        let zone = TimeZone::UTC;
        for (due, limit, is_before) in [
            ("2026-11-30", "2026-12-01", true),
            ("2026-12-01", "2026-12-01", false),
            ("2026-11-30T23:59:59Z", "2026-12-01", true),
            ("2026-12-01T00:00:00Z", "2026-12-01", false),
            ("2026-12-01", "2026-12-02T00:00:00Z", true),
            ("2026-12-01", "2026-12-01T23:00:00Z", false),
        ] {
            let (due, limit): (Due, Due) = (due.parse().unwrap(), limit.parse().unwrap());
            assert_eq!(due.is_before(limit, &zone), is_before, "{due} {limit}");
        }
    }

    #[test]
    fn a_value_that_is_neither_day_nor_time_is_refused() {
        for text in [
            "",
            "tomorrow",
            "2026-02-30",
            "2026-13-01",
            "2026-12-1",
            "20261201",
            "2026-12-01T10:00",
            "2026-12-01 10:00:00",
            "01.12.2026",
            "٢٠٢٦-12",
        ] {
            assert!(text.parse::<Due>().is_err(), "{text}");
        }
        assert_eq!(
            "2026-12-01T10:00+01:00".parse::<Due>().unwrap().to_string(),
            "2026-12-01T09:00:00Z"
        );
    }
}
