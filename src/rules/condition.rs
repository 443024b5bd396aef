//! `when` expressions: JavaScript's expression language without its ways to do harm.
//!
//! A source is parsed by a real JavaScript parser, checked against an allow-list, turned into a small tree of our own
//! and evaluated by our own evaluator. What is allowed means exactly what it means in JavaScript; what is not allowed
//! is a fault when the workflow is loaded. There are no statements, assignments, clocks, random numbers or locales, and
//! a budget of steps and bytes, not a timer, bounds every evaluation: the same condition over the same values
//! answers the same on every machine, years later.
//!
//! The parser's crates are used in this module only.

pub(crate) mod ast;
pub(crate) mod bind;
pub(crate) mod budget;
pub(crate) mod builtins;
pub(crate) mod coerce;
pub(crate) mod compile;
#[cfg(test)]
mod differential;
pub(crate) mod error;
pub(crate) mod evaluate;
pub(crate) mod iterate;
pub(crate) mod lists;
pub(crate) mod methods;
pub(crate) mod number;
pub(crate) mod property;
pub(crate) mod prototype_names;
pub(crate) mod search;
pub(crate) mod strings;
#[cfg(test)]
mod tests;
pub(crate) mod text;
pub(crate) mod value;

use std::{ops::Range, sync::Arc};

use serde_json::Value as Json;

pub use error::{ConditionFault, FaultKind};

/// A compiled `when` expression; cheap to clone, evaluated as often as wanted.
#[derive(Clone, Debug)]
pub struct Condition {
    source: Arc<str>,
    root: Arc<ast::Node>,
}

/// What went wrong while a condition was evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConditionError {
    /// Says what JavaScript would say, for example `Cannot read property 'bar' of undefined`.
    pub message: String,
    /// The bytes of the source that failed.
    pub range: Range<usize>,
}

impl Condition {
    /// Compiles `source`, which may read `names` and nothing else, or returns what is wrong with it, in the order of the text.
    pub fn compile(source: &str, names: &[&str]) -> Result<Self, Vec<ConditionFault>> {
        let root = compile::compile(source, names)?;
        Ok(Self { source: source.into(), root: Arc::new(root) })
    }

    /// Returns the text that was compiled.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns whether the expression's value is truthy over the values in `scope`.
    pub fn evaluate(&self, scope: &[(&str, &Json)]) -> Result<bool, ConditionError> {
        evaluate::evaluate(&self.root, scope).map(|value| coerce::is_truthy(&value))
    }
}
