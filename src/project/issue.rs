//! Something that somebody should see to, as `aof status` and `aof doctor` show it.

use super::error::ProjectError;
use super::workspace::Workspace;
use crate::domain::words::words;

words!(
    /// How much something matters.
    Weight, "a weight", {
        /// Something does not work, or will not.
        Wrong = "wrong",
        /// Everything works, and could be better.
        Advice = "advice",
    }
);

/// What repairs something, where that is certain.
pub(crate) type Cure = Box<dyn Fn(&mut Workspace) -> Result<(), ProjectError>>;

/// Something that is not as it should be.
pub(crate) struct Issue {
    /// What kind it is: stable, for JSON.
    pub code: &'static str,
    pub weight: Weight,
    pub problem: String,
    /// Why it matters; nothing where the code says it.
    pub why: String,
    /// What to do.
    pub fix: String,
    pub cure: Option<Cure>,
}

impl Issue {
    pub(crate) fn new(
        code: &'static str,
        problem: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        let (problem, fix) = (problem.into(), fix.into());
        Self { code, weight: Weight::Wrong, problem, why: String::new(), fix, cure: None }
    }

    pub(crate) fn because(self, why: impl Into<String>) -> Self {
        Self { why: why.into(), ..self }
    }

    pub(crate) fn advice(self) -> Self {
        Self { weight: Weight::Advice, ..self }
    }

    pub(crate) fn cured_by(
        self,
        cure: impl Fn(&mut Workspace) -> Result<(), ProjectError> + 'static,
    ) -> Self {
        Self { cure: Some(Box::new(cure)), ..self }
    }
}
