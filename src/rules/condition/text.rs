//! JavaScript's strings over Rust's: borrowed where possible, indexed in UTF-16 units.
//!
//! A text is kept as UTF-8 unless it holds half a surrogate pair (`'😀'[0]`), the one thing UTF-8 cannot say; only then
//! is it kept in units. Because that choice is forced, texts in different forms are never equal.

use std::{cmp::Ordering, rc::Rc};

use super::budget::{Budget, Outcome};

#[derive(Clone, Debug)]
pub(crate) enum Text<'a> {
    Borrowed(&'a str),
    Shared(Rc<str>),
    /// Holds at least one unpaired surrogate.
    Units(Rc<[u16]>),
}

impl Text<'_> {
    pub(crate) fn from_units(units: &[u16]) -> Self {
        match String::from_utf16(units) {
            Ok(text) => text.into(),
            Err(_) => Self::Units(units.into()),
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Borrowed(text) => Some(text),
            Self::Shared(text) => Some(text),
            Self::Units(_) => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.size() == 0
    }

    /// Returns the bytes it takes, which is what a budget is charged for.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Borrowed(text) => text.len(),
            Self::Shared(text) => text.len(),
            Self::Units(units) => units.len() * 2,
        }
    }

    /// Returns JavaScript's `length`.
    pub(crate) fn length(&self, budget: &mut Budget) -> Outcome<usize> {
        budget.scan(self.size())?;
        Ok(match self.as_str() {
            Some(text) if text.is_ascii() => text.len(),
            Some(text) => {
                budget.walk(text.len())?;
                text.encode_utf16().count()
            }
            None => self.size() / 2,
        })
    }

    pub(crate) fn to_units(&self, budget: &mut Budget) -> Outcome<Vec<u16>> {
        budget.walk(self.size())?;
        Ok(match self {
            Self::Borrowed(text) => text.encode_utf16().collect(),
            Self::Shared(text) => text.encode_utf16().collect(),
            Self::Units(units) => units.to_vec(),
        })
    }

    /// Returns the units `start..end`, both within the length.
    pub(crate) fn slice(&self, start: usize, end: usize, budget: &mut Budget) -> Outcome<Self> {
        if start >= end {
            return Ok(Self::Borrowed(""));
        }
        budget.scan(self.size())?;
        if let Some(text) = self.as_str() {
            let (first, last) = if text.is_ascii() {
                (Some(start), Some(end))
            } else {
                budget.walk(text.len())?;
                (byte_of_unit(text, start), byte_of_unit(text, end))
            };
            if let (Some(first), Some(last)) = (first, last) {
                return self.bytes(first, last, budget);
            }
        }
        budget.build((end - start) * 2)?;
        Ok(Self::from_units(&self.to_units(budget)?[start..end]))
    }

    /// Returns the bytes `start..end` of a text that is kept as UTF-8; both lie between characters.
    pub(crate) fn bytes(&self, start: usize, end: usize, budget: &mut Budget) -> Outcome<Self> {
        match self {
            Self::Borrowed(text) => Ok(Self::Borrowed(&text[start..end])),
            Self::Shared(text) => {
                budget.build(end - start)?;
                Ok(Self::Shared(text[start..end].into()))
            }
            Self::Units(_) => Ok(self.clone()),
        }
    }

    pub(crate) fn concat(&self, other: &Self, budget: &mut Budget) -> Outcome<Self> {
        if other.is_empty() {
            return Ok(self.clone());
        }
        if self.is_empty() {
            return Ok(other.clone());
        }
        budget.build(self.size() + other.size())?;
        if let (Some(left), Some(right)) = (self.as_str(), other.as_str()) {
            return Ok([left, right].concat().into());
        }
        let mut units = self.to_units(budget)?;
        units.extend(other.to_units(budget)?);
        Ok(Self::from_units(&units))
    }

    pub(crate) fn equals(&self, other: &Self, budget: &mut Budget) -> Outcome<bool> {
        if self.size() != other.size() {
            return Ok(false);
        }
        budget.scan(self.size())?;
        Ok(match (self, other) {
            (Self::Units(left), Self::Units(right)) => left == right,
            _ => {
                matches!((self.as_str(), other.as_str()), (Some(left), Some(right)) if left == right)
            }
        })
    }

    /// Orders by UTF-16 units, as JavaScript's `<` does; UTF-8 orders astral characters differently.
    pub(crate) fn compare(&self, other: &Self, budget: &mut Budget) -> Outcome<Ordering> {
        budget.walk(self.size().min(other.size()))?;
        if let (Some(left), Some(right)) = (self.as_str(), other.as_str()) {
            return Ok(left.encode_utf16().cmp(right.encode_utf16()));
        }
        Ok(self.to_units(budget)?.cmp(&other.to_units(budget)?))
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self::Shared(text.into())
    }
}

/// Returns where unit `unit` of `text` begins, or `None` if that is in the middle of a pair.
fn byte_of_unit(text: &str, unit: usize) -> Option<usize> {
    let mut seen = 0;
    for (byte, character) in text.char_indices() {
        if seen >= unit {
            return (seen == unit).then_some(byte);
        }
        seen += character.len_utf16();
    }
    (seen == unit).then_some(text.len())
}

/// Returns whether JavaScript's `trim` removes `character`.
pub(crate) fn is_space(character: char) -> bool {
    character == '\u{feff}' || (character.is_whitespace() && character != '\u{85}')
}
