//! What one evaluation may spend, and how it fails.
//!
//! Counted, not timed, so that a replay on a slower machine decides the same. The sizes keep the worst expression
//! far under 100 ms in a release build.

use oxc_span::Span;

use super::ConditionError;

const MAX_STEPS: u64 = 500_000;
const MAX_BUILT: u64 = 1024 * 1024;

/// An error on its way out; the innermost expression that it passes gives it its place.
#[derive(Debug)]
pub(crate) struct Raised {
    message: String,
    span: Option<Span>,
}

pub(crate) type Outcome<T> = Result<T, Raised>;

impl Raised {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), span: None }
    }

    pub(crate) fn at(mut self, span: Span) -> Self {
        self.span.get_or_insert(span);
        self
    }

    pub(crate) fn into_error(self, whole: Span) -> ConditionError {
        let span = self.span.unwrap_or(whole);
        ConditionError { message: self.message, range: span.start as usize..span.end as usize }
    }
}

/// What is left of an evaluation's means.
#[derive(Debug)]
pub(crate) struct Budget {
    steps: u64,
    built: u64,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Self { steps: MAX_STEPS, built: MAX_BUILT }
    }

    /// Pays for the evaluation of one expression or the visit of one element.
    pub(crate) fn step(&mut self) -> Outcome<()> {
        self.spend(1)
    }

    /// Pays for one fast pass over `bytes`, such as a comparison.
    pub(crate) fn scan(&mut self, bytes: usize) -> Outcome<()> {
        self.spend(bytes as u64 / 32)
    }

    /// Pays for work that looks at each of `items` on its own.
    pub(crate) fn walk(&mut self, items: usize) -> Outcome<()> {
        self.spend(items as u64 / 4)
    }

    /// Pays for a new value of `bytes`, before it is built.
    pub(crate) fn build(&mut self, bytes: usize) -> Outcome<()> {
        self.walk(bytes / 8)?;
        match self.built.checked_sub(bytes as u64) {
            Some(left) => self.built = left,
            None => {
                return Err(Raised::new("the condition builds more than 1 MiB of text and lists"));
            }
        }
        Ok(())
    }

    fn spend(&mut self, steps: u64) -> Outcome<()> {
        match self.steps.checked_sub(steps) {
            Some(left) => self.steps = left,
            None => {
                return Err(Raised::new(format!(
                    "the condition takes more than {MAX_STEPS} steps"
                )));
            }
        }
        Ok(())
    }
}
