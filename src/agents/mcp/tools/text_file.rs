//! A file of the project that a call names instead of a text. Files outside the project, ignored ones, and those of git and the
//! engine are refused, and no more is read than a text may be long.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use crate::agents::mcp::session::OpenProject;
use crate::agents::mcp::tool_error::ToolError;
use crate::domain::BODY_LIMIT;
use crate::rules::Refusal;

/// The folders that belong to git and to the engine. Disks that tell no case apart know them by other names, too.
const CLOSED: [&str; 2] = [".git", ".aof"];

/// Returns the text of the file that the argument `file` names.
pub(crate) fn read(project: &OpenProject<'_>, name: &str) -> Result<String, ToolError> {
    let by_path = "name one by its path from the project's folder";
    let unreadable = |cause: io::Error| refused(format!("cannot read `{name}`: {cause}"), by_path);
    let root = project.workspace.paths.root().canonicalize().map_err(unreadable)?;
    let path = root.join(name).canonicalize().map_err(unreadable)?;
    let Ok(inside) = path.strip_prefix(&root) else {
        return Err(refused(format!("`{name}` is no file below the project"), by_path));
    };
    refuse_closed(project, name, inside)?;
    let seen = fs::metadata(&path).map_err(unreadable)?;
    // To open a pipe would be to wait for its other end.
    if !seen.is_file() {
        return Err(refused(format!("`{name}` is no file below the project"), by_path));
    }
    let mut text = Vec::new();
    let file = File::open(&path).map_err(unreadable)?;
    file.take(BODY_LIMIT as u64 + 1).read_to_end(&mut text).map_err(unreadable)?;
    if text.len() > BODY_LIMIT {
        let bytes = usize::try_from(seen.len()).unwrap_or(usize::MAX).max(text.len());
        return Err(Refusal::TooLong { field: "body", bytes, limit: BODY_LIMIT }.into());
    }
    String::from_utf8(text)
        .map_err(|_| refused(format!("`{name}` is no text in UTF-8"), "give a file of text"))
}

/// Refuses files below the project's folder that are not shared. `inside` has no links left.
fn refuse_closed(project: &OpenProject<'_>, name: &str, inside: &Path) -> Result<(), ToolError> {
    let by_text = "hand on what you wrote yourself in `text`";
    let is_closed = |part: &std::ffi::OsStr| {
        CLOSED.iter().any(|closed| part.to_string_lossy().eq_ignore_ascii_case(closed))
    };
    if inside.iter().any(is_closed) {
        return Err(refused(
            format!("`{name}` is in a folder that belongs to git or to aof"),
            by_text,
        ));
    }
    let Some(inside) = inside.to_str() else {
        return Err(refused(format!("the path of `{name}` is no text in UTF-8"), by_text));
    };
    if project.workspace.repository.is_ignored(inside)? {
        return Err(refused(format!("git ignores `{name}`, so it is not for the record"), by_text));
    }
    Ok(())
}

fn refused(problem: String, fix: &str) -> ToolError {
    ToolError::argument("invalid_argument", "file", problem, fix)
}
