//! A number and how it is written. Where a text is wanted, that is the text: `1.10` may be a version, and nobody gets its last digit
//! back from the number that it is.

use std::borrow::Cow;

use serde_json::Number;

/// A decimal number and its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Decimal<'s> {
    number: Number,
    source: Cow<'s, str>,
}

impl<'s> Decimal<'s> {
    pub(crate) fn new(number: Number, source: Cow<'s, str>) -> Self {
        Self { number, source }
    }

    /// Returns the number.
    pub fn number(&self) -> &Number {
        &self.number
    }

    /// Returns what is written.
    pub fn source(&self) -> &str {
        &self.source
    }

    pub(crate) fn into_owned(self) -> Decimal<'static> {
        Decimal { number: self.number, source: self.source.into_owned().into() }
    }
}

/// A number that was never written is written as programs write it.
impl From<Number> for Decimal<'_> {
    fn from(number: Number) -> Self {
        let source = number.to_string().into();
        Self { number, source }
    }
}
