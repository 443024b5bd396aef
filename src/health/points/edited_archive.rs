//! Finished tasks whose files somebody edited or removed without committing that. No command comes across them, and the archive is what
//! a project has to show of its work: whoever looks at the whole project is told before `git commit -a` takes the change along.

use std::collections::HashMap;

use crate::domain::issue::{Attention, FEW, some};
use crate::git::ObjectId;
use crate::history::stale_index::Apart;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::layout::{ARCHIVE, is_archived};
use crate::storage::{ProjectPath, journal};
use crate::system::shell::all_quoted;

/// Returns what is to be said of them. `committed` is what HEAD had below `tasks/` a moment ago: what a command has just brought there
/// is nobody's edit, and neither is what git's index lacks because it was left behind.
pub(crate) fn archived(
    workspace: &Workspace,
    committed: &HashMap<String, ObjectId>,
    apart: &Apart,
) -> Result<Option<Attention>, OpsError> {
    let is_known = |path: &str| path.parse::<ProjectPath>().is_ok_and(|path| is_archived(&path));
    if !committed.keys().any(|path| is_known(path)) {
        return Ok(None);
    }
    let mut files = workspace.repository.uncommitted_below(ARCHIVE)?;
    // Those are told of as what they are.
    let is_told =
        |path: &str| apart.behind.iter().chain(&apart.taken_out).any(|file| file.path == path);
    files.retain(|path| committed.contains_key(path) && !is_told(path));
    // What a killed command left is told as that.
    if files.is_empty() || journal::is_pending(&workspace.paths) {
        return Ok(None);
    }
    files.sort();
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    let what = if names.len() == 1 { "archived file is" } else { "archived files are" };
    let named =
        if names.len() <= FEW { all_quoted(names.iter().copied()) } else { ARCHIVE.to_owned() };
    Ok(Some(Attention {
        code: "archive_changed",
        problem: format!(
            "{} {what} edited or deleted, and not committed: {}",
            names.len(),
            some(&names)
        ),
        fix: format!(
            "see it with `git diff HEAD -- {named}`, and take it back with `git restore --source=HEAD --staged --worktree {named}`; \
             nothing commits it by itself, and once it is committed `aof verify` tells what was changed of the history"
        ),
    }))
}
