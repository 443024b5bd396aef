//! The filter language of lists, searches, boards, MCP and the API: words, `KEY:VALUE` and `is:STATE`.

use std::fmt;
use std::str::FromStr;

use crate::domain::{Priority, Status, composed, nearest};
use crate::tasks::headers::summary::{NEW, WAITING};

/// A condition on tasks. All texts and states must hold; one of the values of a key must, but all of its tags.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TaskFilter {
    /// Parts of the id, the title or a tag, in lower case.
    texts: Vec<String>,
    values: Vec<(FilterKey, String)>,
    states: Vec<FilterState>,
}

/// A field that a filter compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilterKey {
    Role,
    Agent,
    Assignee,
    Tag,
    Workflow,
    Milestone,
    Gate,
    Status,
    Priority,
}

/// A state that a filter asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilterState {
    /// Tasks that the reader holds, that are planned for them, or that they may take.
    Mine,
    Overdue,
    Ready,
    Blocked,
    /// The reader may decide about it now.
    Waiting,
    Escalated,
    Held,
}

const KEYS: [(&str, FilterKey); 9] = [
    ("role", FilterKey::Role),
    ("agent", FilterKey::Agent),
    ("assignee", FilterKey::Assignee),
    ("tag", FilterKey::Tag),
    ("workflow", FilterKey::Workflow),
    ("milestone", FilterKey::Milestone),
    ("gate", FilterKey::Gate),
    ("status", FilterKey::Status),
    ("priority", FilterKey::Priority),
];

const STATES: [(&str, FilterState); 7] = [
    ("mine", FilterState::Mine),
    ("overdue", FilterState::Overdue),
    ("ready", FilterState::Ready),
    ("blocked", FilterState::Blocked),
    ("waiting", FilterState::Waiting),
    ("escalated", FilterState::Escalated),
    ("held", FilterState::Held),
];

/// A task, as far as filters see it.
pub(crate) trait Filterable {
    /// Returns the id, the title and the tags.
    fn texts(&self) -> Vec<&str>;
    fn values(&self, key: FilterKey) -> Vec<&str>;
    fn is(&self, state: FilterState) -> bool;
}

/// A word of a filter that has no meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilterFault {
    word: String,
    known: Vec<&'static str>,
}

impl fmt::Display for FilterFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` filters nothing; ", self.word.escape_debug())?;
        if let Some(near) = nearest(&self.word, self.known.iter().copied()) {
            write!(f, "did you mean `{near}`? ")?;
        }
        write!(f, "Known: {}", self.known.join(", "))
    }
}

impl std::error::Error for FilterFault {}

impl FromStr for TaskFilter {
    type Err = FilterFault;

    /// Parses a filter, as in `login role:backend is:overdue`. A part in double quotes keeps its blanks.
    fn from_str(text: &str) -> Result<Self, FilterFault> {
        Self::of_words(words(text))
    }
}

/// Returns the words of a line; a part in double quotes keeps its blanks.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    for letter in text.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            blank if blank.is_whitespace() && !is_quoted => words.push(std::mem::take(&mut word)),
            other => word.push(other),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// Returns whether a word is a condition, and not text.
pub(crate) fn is_condition(word: &str) -> bool {
    word.split_once(':').is_some_and(|(key, _)| {
        key.eq_ignore_ascii_case("is")
            || KEYS.iter().any(|(name, _)| key.eq_ignore_ascii_case(name))
    })
}

impl TaskFilter {
    /// Parses words that a shell, or [`words`], has split. A colon after anything but a key is text.
    pub(crate) fn of_words(
        words: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, FilterFault> {
        let mut filter = Self::default();
        for word in words {
            let word = word.as_ref();
            match word.split_once(':') {
                Some((key, value)) if is_condition(word) => filter.add(key, value)?,
                _ => filter.texts.push(composed(word).to_lowercase()),
            }
        }
        Ok(filter)
    }

    fn add(&mut self, key: &str, value: &str) -> Result<(), FilterFault> {
        let Some((_, key)) = KEYS.iter().find(|(name, _)| key.eq_ignore_ascii_case(name)) else {
            let state = find(&STATES.map(|(name, _)| name), value)?;
            self.states.push(STATES[state].1);
            return Ok(());
        };
        let value = match key {
            FilterKey::Status => {
                let known: Vec<&str> = Status::ALL
                    .iter()
                    .map(|status| status.as_str())
                    .chain([WAITING, NEW])
                    .collect();
                known[find(&known, &value.replace('-', "_"))?].to_owned()
            }
            FilterKey::Priority => {
                let known: Vec<&str> =
                    Priority::ALL.iter().map(|priority| priority.as_str()).collect();
                known[find(&known, value)?].to_owned()
            }
            _ => value.to_owned(),
        };
        self.values.push((*key, value));
        Ok(())
    }

    /// Adds values of a key.
    pub(crate) fn with(
        mut self,
        key: FilterKey,
        values: impl IntoIterator<Item = impl ToString>,
    ) -> Self {
        self.values.extend(values.into_iter().map(|value| (key, value.to_string())));
        self
    }

    /// Adds a state, if it is wanted.
    pub(crate) fn with_state(mut self, state: FilterState, is_wanted: bool) -> Self {
        self.states.extend(is_wanted.then_some(state));
        self
    }

    /// Returns the wanted values of a key.
    pub(crate) fn of_key(&self, key: FilterKey) -> impl Iterator<Item = &str> {
        self.values.iter().filter(move |(known, _)| *known == key).map(|(_, value)| value.as_str())
    }

    /// Returns whether it asks for a state.
    pub(crate) fn asks_for(&self, state: FilterState) -> bool {
        self.states.contains(&state)
    }

    /// Returns whether it admits every task.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether it admits a task.
    pub(crate) fn admits(&self, task: &impl Filterable) -> bool {
        let holds = |(key, _): &(FilterKey, String)| {
            let values = task.values(*key);
            let mut wanted = self.of_key(*key);
            let has = |value: &str| values.iter().any(|known| same(known, value));
            if *key == FilterKey::Tag { wanted.all(has) } else { wanted.any(has) }
        };
        let contains = |part: &String| {
            task.texts().iter().any(|text| composed(text).to_lowercase().contains(part))
        };
        self.states.iter().all(|state| task.is(*state))
            && self.values.iter().all(holds)
            && self.texts.iter().all(contains)
    }
}

/// Returns whether two texts are equal, regardless of their case and of how their accents are encoded.
pub(crate) fn same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || composed(a).eq_ignore_ascii_case(&composed(b))
}

fn find(known: &[&'static str], word: &str) -> Result<usize, FilterFault> {
    let place = known.iter().position(|name| name.eq_ignore_ascii_case(word));
    place.ok_or_else(|| FilterFault { word: word.to_owned(), known: known.to_vec() })
}
