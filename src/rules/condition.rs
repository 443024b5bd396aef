//! `when` expressions: a small part of JavaScript's expression language.
//!
//! A JavaScript parser reads the source, an allow-list admits it when the workflow is loaded, and our own evaluator walks the
//! parsed expression. What is allowed means what it means in JavaScript. A budget of steps, not a timer, bounds an evaluation,
//! so the same condition over the same values gives the same answer on every machine, years later.
//!
//! Only this module uses the parser's crates.

pub(crate) mod check;
#[cfg(test)]
mod differential;
pub(crate) mod evaluate;
#[cfg(test)]
mod tests;
pub(crate) mod value;

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value as Json;

pub use check::{ConditionFault, FaultKind};

/// A checked `when` expression; cheap to clone.
#[derive(Clone, Debug)]
pub struct Condition {
    source: Arc<str>,
}

/// Why the evaluation of a condition failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConditionError {
    /// For example `Cannot read property 'bar' of undefined`.
    pub message: String,
    /// The bytes of the source that failed.
    pub range: Range<usize>,
}

impl Condition {
    /// Checks `source`, which may read `names`, or returns every fault in it, in the order of the text.
    pub fn compile(source: &str, names: &[&str]) -> Result<Self, Vec<ConditionFault>> {
        check::check(source, names)?;
        Ok(Self { source: source.into() })
    }

    /// Returns the text that was compiled.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns whether the expression's value is truthy over the values in `scope`.
    pub fn evaluate(&self, scope: &[(&str, &Json)]) -> Result<bool, ConditionError> {
        let is_truthy = |value: &value::Value<'_>| value.is_truthy();
        evaluate::evaluate(&self.source, scope, is_truthy)
    }
}
