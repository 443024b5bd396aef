//! Task files that no command may change: somebody edited by hand what only the engine writes.

use std::fmt::Display;

use crate::domain::TaskId;
use crate::storage::ProjectPath;
use crate::system::shell::quoted;

/// The field that is named where HEAD's version cannot be read, so nobody can tell which fields changed.
pub(crate) const UNREADABLE_BEFORE: &str = "frontmatter";

pub(crate) fn is_unreadable_before(fields: &[String]) -> bool {
    matches!(fields, [only] if only == UNREADABLE_BEFORE)
}

/// Why a task file is frozen.
pub(crate) struct Frozen<'f> {
    /// The fields that only the engine writes.
    pub fields: &'f [String],
    pub problem: &'static str,
    /// How to undo the edit.
    pub fix: String,
}

impl<'f> Frozen<'f> {
    /// Returns what freezes a hand-made file that has fields which only the engine writes.
    pub(crate) fn unearned(id: &TaskId, fields: &'f [String]) -> Self {
        let fix = format!(
            "take it out of the file: the task stands at no gate yet, and begins once that is gone; then `aof task hold {id} --reason \
             \"...\"` blocks it. What a task begins with stands below `context.input`"
        );
        Self { fields, problem: "says what only the engine says", fix }
    }

    /// Returns what a stale file waits for.
    pub(crate) fn stale(id: &TaskId) -> Self {
        let fix = format!(
            "`aof watch --once`, or the next command that changes {id}, puts your edits into HEAD's version and keeps the old file"
        );
        Self { fields: &[], problem: "is an earlier version of the task", fix }
    }

    /// Returns the problem as a sentence about `subject`.
    pub(crate) fn of(&self, subject: impl Display) -> String {
        match self.fields {
            [] => format!("{subject} {}", self.problem),
            fields => format!("{subject} {}: {}", self.problem, fields.join(", ")),
        }
    }
}

/// What git has of a task whose file was edited by hand.
#[derive(Clone, Copy)]
pub(crate) enum Committed<'p> {
    /// HEAD has it at that path.
    At(&'p ProjectPath),
    /// HEAD has it at that path, and cannot be read there.
    Unreadable(&'p ProjectPath),
    /// HEAD does not have it; an earlier commit has this very file.
    Earlier,
    /// No commit has it.
    Never,
}

/// Returns how to undo a hand edit of what only the engine writes.
pub(crate) fn thaw(path: &ProjectPath, committed: Committed<'_>) -> String {
    let named = quoted(path.as_str());
    match committed {
        Committed::Unreadable(before) => format!(
            "what HEAD has cannot be read, so a person decides: if it is another task's file, renamed, rename it back; if this \
             counts (`git diff HEAD -- {}`), commit it yourself: `git add {named} && git commit`",
            quoted(before.as_str())
        ),
        Committed::At(before) if before == path => format!(
            "see the change with `git diff HEAD -- {named}` and take it back with `git restore --source=HEAD \
             --staged --worktree {named}`"
        ),
        Committed::At(before) => format!(
            "it was `{before}`: see the change with `git diff HEAD -- {0} {named}`, take it back with `git restore \
             --source=HEAD --staged --worktree {0}`, and remove `{path}`",
            quoted(before.as_str())
        ),
        Committed::Earlier => format!(
            "a commit took it away, and it says what was committed there before: commit that it is back with \
             `git add {named} && git commit`"
        ),
        Committed::Never => format!(
            "`{path}` was never committed, so nobody can say how it came to stand there; take out what the engine keeps (`gate`, \
             `gateHistory`, `status`, `blockers`, `reviewContext`, `workflowHash`, `routing` but for `workflow`, and `context` \
             but for `input`) to have it begin anew"
        ),
    }
}
