//! Something that a person should see to, as `aof status` and `aof doctor` show it; for one, task files that git leaves out of this
//! checkout.

use std::collections::HashSet;

use super::error::ProjectError;
use super::workspace::Workspace;
use crate::domain::TaskId;
use crate::domain::project::some;
use crate::domain::words::words;
use crate::storage::ProjectPath;
use crate::storage::layout::TASKS;
use crate::system::terminal::all_quoted;

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

/// Returns how the file comes into this checkout, if git leaves it out.
pub(crate) fn left_out(workspace: &Workspace, path: &ProjectPath) -> Option<String> {
    let out = workspace.repository.skipped_below(path.as_str()).unwrap_or_default();
    (!out.is_empty()).then(|| include(workspace, &[path]))
}

fn include(workspace: &Workspace, paths: &[&ProjectPath]) -> String {
    if workspace.repository.is_sparse_checkout() {
        return format!("`git sparse-checkout add {TASKS}`");
    }
    let names = all_quoted(paths.iter().map(|path| path.as_str()));
    format!("`git update-index --no-skip-worktree {names}`, then `git restore {names}`")
}

/// Takes the tasks that git leaves out of those whose files are gone, and returns how all of them come here.
pub(crate) fn of_left_out(
    workspace: &Workspace,
    gone: &mut Vec<(TaskId, ProjectPath)>,
) -> Option<Issue> {
    if gone.is_empty() {
        return None;
    }
    // Where git cannot be asked, whatever cannot do without it says so.
    let left_out: HashSet<String> =
        workspace.repository.skipped_below(TASKS).unwrap_or_default().into_iter().collect();
    let (out, others): (Vec<_>, Vec<_>) =
        std::mem::take(gone).into_iter().partition(|(_, path)| left_out.contains(path.as_str()));
    *gone = others;
    let paths: Vec<&ProjectPath> = out.iter().map(|(_, path)| path).collect();
    let names: Vec<&str> = paths.iter().map(|path| path.as_str()).collect();
    (!out.is_empty()).then(|| {
        let problem = format!(
            "git leaves the files of {} tasks out of this checkout: {}",
            names.len(),
            some(&names)
        );
        let include = include(workspace, &paths);
        Issue::new(
            "tasks_left_out",
            problem,
            format!("{include}; what is dropped for them waits until then"),
        )
    })
}
