//! What a person does to bring a task file right, in words: one that cannot be read, is gone, or was changed in what the
//! engine keeps.

use crate::format::shell::quoted;
use crate::model::TaskId;
use crate::store::ProjectPath;
use crate::store::layout::is_archived;

/// How a file that cannot be read comes to be readable again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WayBack {
    /// Nothing is known.
    Unknown,
    /// The newest version that can be read is in that commit, as git names it.
    Readable(String),
    /// Git merged two files into it that it took for one, renamed, and that can be settled.
    Settle,
    /// What a merge left in it is solved by hand; the merge may be under way still.
    Solve {
        /// How the merge is taken back, while it is.
        abort: Option<&'static str>,
    },
}

impl WayBack {
    /// Returns what to do about the file at that path, if that is known; `mend` says how to mend it.
    pub(super) fn fix(&self, mend: &str, path: &str) -> Option<String> {
        let path = quoted(path);
        Some(match self {
            Self::Unknown => return None,
            Self::Readable(commit) => {
                format!("{mend}, or bring back what can be read: `git restore --source={commit} {path}`")
            }
            Self::Settle => {
                "git took another file for it, renamed: `aof merge-driver --settle` brings both right".to_owned()
            }
            Self::Solve { abort } => {
                let abort = abort.map(|abort| format!("; or take the whole merge back with `{abort}`"));
                format!(
                    "keep what counts of both sides, take the markers out, then `git add {path}` and commit{}",
                    abort.unwrap_or_default()
                )
            }
        })
    }
}

/// Returns what to do about a file that HEAD has and the worktree lacks.
pub(super) fn missing(id: &TaskId, path: &ProjectPath) -> String {
    let back = bring_back(path.as_str());
    if is_archived(path) {
        return back;
    }
    // A commit without the file would take its history away, and `aof verify` says so for good.
    format!("{back}; if it is not to be done, call it off then: `aof task cancel {id} --reason \"...\"`")
}

/// Says how a file comes back that HEAD has.
pub(super) fn bring_back(path: &str) -> String {
    format!("bring it back with `git restore --source=HEAD --staged --worktree {}`", quoted(path))
}

/// What is said to be changed where nobody can tell, since what HEAD has cannot be read.
pub(super) const UNREADABLE_BEFORE: &str = "frontmatter";

pub(super) fn is_unreadable_before(fields: &[String]) -> bool {
    matches!(fields, [only] if only == UNREADABLE_BEFORE)
}

/// Returns how to take back what was changed by hand in these fields of a task file; what HEAD has is no way back if it cannot be read.
pub(super) fn thaw(fields: &[String], path: &ProjectPath, head_path: Option<&ProjectPath>) -> String {
    let named = quoted(path.as_str());
    match head_path {
        Some(before) if is_unreadable_before(fields) => format!(
            "what HEAD has cannot be read, so a person has to say that this counts: see it with `git diff HEAD -- {}`, then \
             commit it yourself: `git add {named} && git commit`",
            quoted(before.as_str())
        ),
        Some(before) if before == path => {
            format!(
                "see the change with `git diff HEAD -- {named}` and take it back with `git restore --source=HEAD \
                 --staged --worktree {named}`"
            )
        }
        Some(before) => format!(
            "it was `{before}`: see the change with `git diff HEAD -- {0} {named}`, take it back with `git restore \
             --source=HEAD --staged --worktree {0}`, and remove `{path}`",
            quoted(before.as_str())
        ),
        None => format!(
            "`{path}` was never committed, so nobody can say how it came to stand there; take out what the engine keeps (`gate`, \
             `gateHistory`, `status`, `blockers`, `reviewContext`, `workflowHash`, `routing` but for `workflow`, and `context` but for \
             `input`) to have it begin anew, or commit it yourself if you trust it: `git add {named} && git commit`"
        ),
    }
}

/// Returns what to do about what a task at no gate yet cannot say by itself.
pub(super) fn begin_plainly(id: &TaskId) -> String {
    format!(
        "take it out of the file: the task stands at no gate yet, and begins once that is gone; then `aof task hold {id} --reason \
         \"...\"` blocks it. What a task begins with stands below `context.input`"
    )
}
