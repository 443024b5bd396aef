//! Issues that `aof status` and `aof doctor` report; among them, here, one about task files that git leaves out of this
//! checkout.

use std::collections::HashSet;

use super::error::ProjectError;
use super::workspace::Workspace;
use crate::domain::project::some;
use crate::domain::words::words;
use crate::domain::{Advice, TaskId};
use crate::rules::Warning;
use crate::storage::ProjectPath;
use crate::storage::layout::TASKS;
use crate::system::terminal::all_quoted;

words!(
    /// The severity of an issue.
    Weight, "a weight", {
        /// A part does not work, or soon will not.
        Wrong = "wrong",
        /// Everything works, but could be better.
        Advice = "advice",
    }
);

/// A function that repairs an issue safely.
pub(crate) type Repair = Box<dyn Fn(&mut Workspace) -> Result<(), ProjectError>>;

/// A problem of a project, with its fix.
pub(crate) struct Issue {
    /// Its kind, stable for JSON.
    pub code: &'static str,
    pub weight: Weight,
    pub problem: String,
    /// The reason why it matters; empty if that follows from the code.
    pub why: String,
    pub fix: Advice,
    pub repair: Option<Repair>,
}

impl Issue {
    pub(crate) fn new(
        code: &'static str,
        problem: impl Into<String>,
        fix: impl Into<Advice>,
    ) -> Self {
        let (problem, fix) = (problem.into(), fix.into());
        Self { code, weight: Weight::Wrong, problem, why: String::new(), fix, repair: None }
    }

    pub(crate) fn because(self, why: impl Into<String>) -> Self {
        Self { why: why.into(), ..self }
    }

    pub(crate) fn advice(self) -> Self {
        Self { weight: Weight::Advice, ..self }
    }

    pub(crate) fn repaired_by(
        self,
        repair: impl Fn(&mut Workspace) -> Result<(), ProjectError> + 'static,
    ) -> Self {
        Self { repair: Some(Box::new(repair)), ..self }
    }
}

/// Returns the command that adds the file to this checkout, if git leaves it out.
pub(crate) fn left_out(workspace: &Workspace, path: &ProjectPath) -> Option<String> {
    let out = workspace.repository.skipped_below(path.as_str()).unwrap_or_default();
    (!out.is_empty()).then(|| include_command(workspace, &[path]))
}

fn include_command(workspace: &Workspace, paths: &[&ProjectPath]) -> String {
    if workspace.repository.is_sparse_checkout() {
        return format!("`git sparse-checkout add {TASKS}`");
    }
    let names = all_quoted(paths.iter().map(|path| path.as_str()));
    format!("`git update-index --no-skip-worktree {names}`, then `git restore {names}`")
}

/// Returns a warning if a sparse checkout leaves task files out.
pub(crate) fn left_out_warning(workspace: &Workspace) -> Option<Warning> {
    let repository = &workspace.repository;
    let out = repository.is_sparse_checkout().then(|| repository.skipped_below(TASKS).ok())??;
    let is_task = |path: &&String| {
        let name = path.strip_suffix(".md").and_then(|path| path.rsplit('/').next());
        name.is_some_and(|name| name.parse::<TaskId>().is_ok())
    };
    let count = out.iter().filter(is_task).count();
    (count > 0).then(|| Warning::TasksLeftOut { count, command: include_command(workspace, &[]) })
}

/// Removes the tasks that git leaves out of this checkout from those whose files are gone, and returns an issue about them.
pub(crate) fn take_left_out(
    workspace: &Workspace,
    gone: &mut Vec<(TaskId, ProjectPath)>,
) -> Option<Issue> {
    if gone.is_empty() {
        return None;
    }
    // Another check reports failures of git.
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
        let command = include_command(workspace, &paths);
        Issue::new(
            "tasks_left_out",
            problem,
            format!("{command}; what is dropped for them waits until then"),
        )
    })
}
