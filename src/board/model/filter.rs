//! The filter line of a board: words, and `KEY:VALUE`.

use std::fmt;
use std::str::FromStr;

use super::columns::Card;
use crate::domain::{composed, nearest};

/// The condition on the cards that a board shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CardFilter {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Term {
    /// A part of the id, the title or a tag, in any case.
    Text(String),
    Field(FilterField, String),
    Is(Trait),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilterField {
    Role,
    Agent,
    Tag,
    Workflow,
    Milestone,
    Gate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trait {
    Mine,
    Overdue,
    Blocked,
    Waiting,
    Escalated,
    Held,
}

const FIELDS: [(&str, FilterField); 6] = [
    ("role", FilterField::Role),
    ("agent", FilterField::Agent),
    ("tag", FilterField::Tag),
    ("workflow", FilterField::Workflow),
    ("milestone", FilterField::Milestone),
    ("gate", FilterField::Gate),
];

const TRAITS: [(&str, Trait); 6] = [
    ("mine", Trait::Mine),
    ("overdue", Trait::Overdue),
    ("blocked", Trait::Blocked),
    ("waiting", Trait::Waiting),
    ("escalated", Trait::Escalated),
    ("held", Trait::Held),
];

/// A word of a filter that has no meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilterFault {
    word: String,
    known: Vec<&'static str>,
}

impl fmt::Display for FilterFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` filters nothing", self.word.escape_debug())?;
        if let Some(near) = nearest(&self.word, self.known.iter().copied()) {
            write!(f, "; did you mean `{near}`?")?;
        }
        write!(f, ". Known: {}", self.known.join(", "))
    }
}

impl FromStr for CardFilter {
    type Err = FilterFault;

    /// Parses a filter, as in `login role:backend is:overdue`. A colon within quotes, or after anything but a key, is text.
    fn from_str(text: &str) -> Result<Self, FilterFault> {
        let terms = words(text).into_iter().map(|word| word.parse()).collect::<Result<_, _>>()?;
        Ok(Self { terms })
    }
}

impl FromStr for Term {
    type Err = FilterFault;

    fn from_str(word: &str) -> Result<Self, FilterFault> {
        let Some((key, value)) = word.split_once(':') else {
            return Ok(Self::Text(word.to_lowercase()));
        };
        let key = key.to_lowercase();
        if key == "is" {
            let known = TRAITS.iter().find(|(name, _)| value.eq_ignore_ascii_case(name));
            let fault = || FilterFault {
                word: value.to_owned(),
                known: TRAITS.map(|(name, _)| name).to_vec(),
            };
            return known.map(|(_, own)| Self::Is(*own)).ok_or_else(fault);
        }
        Ok(match FIELDS.iter().find(|(name, _)| *name == key) {
            Some((_, field)) => Self::Field(*field, value.to_owned()),
            None => Self::Text(word.to_lowercase()),
        })
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

impl CardFilter {
    /// Returns true if the filter shows all cards.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns true if the filter shows a card.
    pub(crate) fn wants(&self, card: &Card) -> bool {
        self.terms.iter().all(|term| term.fits(card))
    }
}

impl Term {
    fn fits(&self, card: &Card) -> bool {
        let has = |text: &str, part: &str| composed(text).to_lowercase().contains(&*composed(part));
        match self {
            Self::Text(part) => {
                has(card.id.as_str(), part)
                    || has(&card.title, part)
                    || card.tags.iter().any(|tag| has(tag, part))
            }
            Self::Field(field, value) => field.is(card, value),
            Self::Is(own) => match own {
                Trait::Mine => card.mine,
                Trait::Overdue => card.overdue,
                Trait::Blocked => card.state == "blocked",
                Trait::Waiting => card.waits_for_you,
                Trait::Escalated => card.escalated.is_some(),
                Trait::Held => card.held,
            },
        }
    }
}

impl FilterField {
    fn is(self, card: &Card, value: &str) -> bool {
        let is = |text: &str| composed(text).eq_ignore_ascii_case(&composed(value));
        match self {
            Self::Role => card.roles.iter().any(|role| is(role.as_str())),
            Self::Agent => card.agents.iter().any(|agent| is(agent.as_str())),
            Self::Tag => card.tags.iter().any(|tag| is(tag)),
            Self::Workflow => is(card.workflow.as_str()),
            Self::Milestone => card.milestone.as_deref().is_some_and(is),
            Self::Gate => {
                card.gate.as_ref().is_some_and(|gate| is(gate.as_str()))
                    || card.branches.iter().any(|branch| is(branch.id.as_str()))
            }
        }
    }
}
