//! What one evaluation may spend, and how it fails.

use std::cell::Cell;

use oxc_span::Span;

/// An error on its way out; the innermost expression that it passes gives it its place.
#[derive(Debug)]
pub(crate) struct Raised {
    pub(crate) message: String,
    pub(crate) span: Option<Span>,
}

pub(crate) type Evaluated<T> = Result<T, Raised>;

impl Raised {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), span: None }
    }

    pub(crate) fn at(mut self, span: Span) -> Self {
        self.span.get_or_insert(span);
        self
    }
}

const MAX_STEPS: u64 = 500_000;

/// The steps that are left of an evaluation. Counted, not timed, so that a replay on a slower machine decides the same. Their
/// number keeps the worst expression far under 100 ms in a release build, and what it builds under 1 MiB.
#[derive(Debug)]
pub(crate) struct Budget(Cell<u64>);

impl Budget {
    pub(crate) fn new() -> Self {
        Self(Cell::new(MAX_STEPS))
    }

    /// Pays for so many expressions, or visits of an element.
    pub(crate) fn spend(&self, steps: usize) -> Evaluated<()> {
        let Some(left) = self.0.get().checked_sub(steps as u64) else {
            return Err(Raised::new(format!("the condition takes more than {MAX_STEPS} steps")));
        };
        self.0.set(left);
        Ok(())
    }

    /// Pays for one fast pass over `bytes`, such as a comparison.
    pub(crate) fn scan(&self, bytes: usize) -> Evaluated<()> {
        self.spend(bytes / 32)
    }

    /// Pays for work that looks at each of `items` on its own.
    pub(crate) fn walk(&self, items: usize) -> Evaluated<()> {
        self.spend(items / 4)
    }

    /// Pays for a new value of `bytes`, before it is built.
    pub(crate) fn build(&self, bytes: usize) -> Evaluated<()> {
        self.spend(bytes / 2)
    }
}
