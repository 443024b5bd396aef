//! A file that cannot be merged by meaning: as git would merge it, with markers, and why.

use std::fmt::Display;

use super::merge::{Conflict, FileMerge, Versions};
use crate::files::yaml::Fault;
use crate::git::{Marks, merge_texts};
use crate::project::error::error::OpsError;

/// Returns the file as text. Where there is a reason, it is a person's to look at even where no line is disputed: two histories
/// may have become one.
pub(crate) fn merged(
    versions: Versions<'_>,
    why: Option<String>,
    marks: &Marks,
) -> Result<FileMerge, OpsError> {
    let both = merge_texts(versions.base.unwrap_or_default(), versions.ours, versions.theirs)?;
    let disputed = (!both.agree()).then_some(Conflict::Body);
    let conflicts = why.map(Conflict::File).or(disputed).into_iter().collect();
    Ok(FileMerge::taken(&both.marked(marks)?, conflicts))
}

/// Says what is wrong with a version that cannot be read.
pub(crate) fn unreadable(side: &dyn Display, bytes: &[u8], faults: &[Fault]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match faults.first() {
        Some(fault) => {
            let line = fault.line_column(&text).0;
            format!("{side} cannot be read as a task: line {line}: {}", fault.message)
        }
        None => format!("{side} cannot be read as a task"),
    }
}
