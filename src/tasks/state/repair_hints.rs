//! What a person does to bring a task file right, in words: one that cannot be read, is gone, or was changed in what the
//! engine keeps.

use crate::domain::TaskId;
use crate::storage::ProjectPath;
use crate::storage::layout::is_archived;
use crate::system::shell::quoted;

/// How a file that cannot be read comes to be readable again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WayBack {
    /// Nothing is known.
    Unknown,
    /// The newest version that can be read is in that commit, as git names it.
    Readable(String),
    /// It is another task's, and was renamed: it goes back to where that one stood.
    Renamed {
        /// The command that moves it.
        command: String,
    },
    /// It is a copy of another task's file, which stands there.
    Copied {
        /// The id that its name gives it.
        id: TaskId,
        /// The other file.
        of: String,
        /// The command that removes it.
        command: String,
    },
    /// What a merge left in it is solved by hand; the merge may be under way still.
    Solve {
        /// How the merge is taken back, while it is.
        abort: Option<&'static str>,
    },
}

impl WayBack {
    /// Returns whether it says by itself all that is to be done: nothing of the text is to be mended.
    pub(crate) const fn is_whole(&self) -> bool {
        matches!(self, Self::Renamed { .. } | Self::Copied { .. })
    }

    /// Returns what to do about the file at that path, if that is known; `mend` says how to mend it.
    pub(crate) fn fix(&self, mend: &str, path: &str) -> Option<String> {
        let path = quoted(path);
        Some(match self {
            Self::Unknown => return None,
            Self::Readable(commit) => {
                format!(
                    "{mend}, or bring back what can be read: `git restore --source={commit} {path}`"
                )
            }
            Self::Renamed { command } => format!("rename it back: `{command}`"),
            Self::Copied { id, of, command } => format!(
                "it is a copy of `{of}`: remove it with `{command}`; or, if it is to be a task of its own, write `id: {id}`, and take out \
                 what the engine keeps, `gateHistory` and `gate` among it"
            ),
            Self::Solve { abort } => {
                let solve = format!(
                    "keep what counts of both sides, take the markers out, then `git add {path}` and commit"
                );
                match abort {
                    Some(abort) => format!(
                        "merge it by meaning with `aof merge-driver --settle`; or {solve}; or take the whole merge back with `{abort}`"
                    ),
                    None => solve,
                }
            }
        })
    }
}

/// Returns what to do about a file that HEAD has and the worktree lacks.
pub(crate) fn missing(id: &TaskId, path: &ProjectPath) -> String {
    let back = bring_back(path.as_str());
    if is_archived(path) {
        return back;
    }
    // A commit without the file would take its history away, and `aof verify` says so for good.
    format!(
        "{back}; if it is not to be done, call it off then: `aof task cancel {id} --reason \"...\"`"
    )
}

/// Says how a file comes back that HEAD has.
pub(crate) fn bring_back(path: &str) -> String {
    format!("bring it back with `git restore --source=HEAD --staged --worktree {}`", quoted(path))
}

/// What is said to be changed where nobody can tell, since what HEAD has cannot be read.
pub(crate) const UNREADABLE_BEFORE: &str = "frontmatter";

pub(crate) fn is_unreadable_before(fields: &[String]) -> bool {
    matches!(fields, [only] if only == UNREADABLE_BEFORE)
}

/// What is done about what only the engine may have written.
const BEGIN_ANEW: &str = "how it came to stand there; take out what the engine keeps (`gate`, `gateHistory`, `status`, `blockers`, \
     `reviewContext`, `workflowHash`, `routing` but for `workflow`, and `context` but for `input`) to have it begin anew";

/// What there was of a task before its file came to say what nobody may have made it say.
pub(crate) enum Past<'p> {
    /// HEAD has its file there, and that can be read.
    Head(&'p ProjectPath),
    /// HEAD has its file there, which cannot be read; a commit before it can.
    Broken(&'p ProjectPath),
    /// A commit before HEAD has this very file; HEAD has none.
    Gone,
    /// No commit has ever had the task.
    New,
    /// HEAD has its file, and no commit has it so that it can be read.
    Nothing {
        /// How the file goes back to where it was renamed from, if it was.
        rename: Option<String>,
    },
}

/// Returns how to take back what was changed by hand in a task file. What no commit ever had is not to be committed: it brings along
/// what the engine keeps, and `aof verify` would say so for good.
pub(crate) fn thaw(path: &ProjectPath, past: Past<'_>) -> String {
    let named = quoted(path.as_str());
    match past {
        Past::Broken(before) => format!(
            "what HEAD has cannot be read, so a person has to say that this counts: see it with `git diff HEAD -- {}`, then \
             commit it yourself: `git add {named} && git commit`",
            quoted(before.as_str())
        ),
        Past::Head(before) if before == path => {
            format!(
                "see the change with `git diff HEAD -- {named}` and take it back with `git restore --source=HEAD \
                 --staged --worktree {named}`"
            )
        }
        Past::Head(before) => format!(
            "it was `{before}`: see the change with `git diff HEAD -- {0} {named}`, take it back with `git restore \
             --source=HEAD --staged --worktree {0}`, and remove `{path}`",
            quoted(before.as_str())
        ),
        Past::Gone => format!(
            "a commit took it away, and it says what was committed there before: commit that it is back with \
             `git add {named} && git commit`"
        ),
        Past::Nothing { rename: Some(command) } => {
            format!(
                "it is another task's file, renamed: write that task's `id` again, and rename it back: `{command}`"
            )
        }
        Past::Nothing { rename: None } => {
            format!("no commit has `{path}` so that it can be read, so nobody can say {BEGIN_ANEW}")
        }
        Past::New => format!("`{path}` was never committed, so nobody can say {BEGIN_ANEW}"),
    }
}

/// Returns what to do about what a task at no gate yet cannot say by itself.
pub(crate) fn begin_plainly(id: &TaskId) -> String {
    format!(
        "take it out of the file: the task stands at no gate yet, and begins once that is gone; then `aof task hold {id} --reason \
         \"...\"` blocks it. What a task begins with stands below `context.input`"
    )
}
