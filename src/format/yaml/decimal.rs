//! A number as it is written: what it counts for, and whether that says all that stands there. `1.10` may be a version, and nobody
//! gets its last digit back from the number that it is.

use std::borrow::Cow;

use serde_json::{Number, Value};

use crate::model::shape::significant_digits;

/// A decimal number and its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Decimal<'s> {
    number: Number,
    source: Cow<'s, str>,
}

impl<'s> Decimal<'s> {
    pub(in crate::format) fn new(number: Number, source: Cow<'s, str>) -> Self {
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

    /// Returns the number as a value; where it would say less than what is written, that as a text.
    pub fn kept(&self) -> Value {
        if self.is_exact() {
            Value::Number(self.number.clone())
        } else {
            Value::String(self.source.clone().into_owned())
        }
    }

    /// Tells whether the number gives back all that is written: no digit too many, no zero at its end, and none of the forms that
    /// people write and programs do not (`+5`, `.5`, `1e3`, which may be the beginning of a commit's id).
    pub fn is_exact(&self) -> bool {
        let written = self.source.as_ref();
        let canonical = self.number.to_string();
        if written == canonical {
            return true;
        }
        // A program may write an exponent where another writes zeros, but then with a sign, as this one does in YAML.
        let (mantissa, exponent) = written.split_once(['e', 'E']).map_or((written, None), |(m, e)| (m, Some(e)));
        let (whole, fraction) = mantissa.split_once('.').map_or((mantissa, None), |(w, f)| (w, Some(f)));
        let is_float = fraction.is_some() || exponent.is_some();
        let whole = whole.strip_prefix('-').unwrap_or(whole);
        let is_plain = !whole.is_empty() && whole.bytes().all(|byte| byte.is_ascii_digit());
        let is_short = fraction.is_none_or(|digits| digits == "0" || !(digits.is_empty() || digits.ends_with('0')));
        let is_signed = exponent.is_none_or(|exponent| exponent.starts_with(['+', '-']));
        is_float && is_plain && is_short && is_signed && significant_digits(written) == significant_digits(&canonical)
    }

    pub(super) fn into_owned(self) -> Decimal<'static> {
        Decimal { number: self.number, source: self.source.into_owned().into() }
    }
}

/// A number that was never written says all that there is.
impl From<Number> for Decimal<'_> {
    fn from(number: Number) -> Self {
        let source = number.to_string().into();
        Self { number, source }
    }
}
