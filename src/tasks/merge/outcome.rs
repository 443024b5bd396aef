//! The versions of a task file that are merged, and what comes of them.

use std::fmt::Display;

use crate::domain::TaskId;
use crate::files::yaml::Fault;
use crate::git::{Marks, merge_texts};
use crate::project::error::ProjectError;
use crate::rules::merge::{Dropped, Superseded};

/// The versions of one file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Versions<'v> {
    /// The common ancestor, where there is one and it is known.
    pub base: Option<&'v [u8]>,
    /// The version that is merged into.
    pub ours: &'v [u8],
    /// The version that comes in.
    pub theirs: &'v [u8],
}

/// A merged file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FileMerge {
    /// The file, with markers where there are conflicts.
    pub bytes: Vec<u8>,
    /// What a person has to decide.
    pub conflicts: Vec<Conflict>,
    /// Entries of the other side that no longer count.
    pub superseded: Vec<Superseded>,
    /// How many entries of the other side were decided again on top of what stands.
    pub carried: usize,
    /// Claims, holds and unblockings of the other side that no longer count.
    pub dropped: Vec<Dropped>,
    /// Comments in the other side's frontmatter that found no place.
    pub left_out: Vec<String>,
}

/// Something that a person has to decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// Both sides changed this key differently.
    Key(String),
    /// Both sides changed the same lines of the body.
    Body,
    /// The file could not be merged by meaning, for this reason.
    File(String),
    /// Git's rename detection took the file of this task for the one that is merged.
    OtherTask(TaskId),
}

impl FileMerge {
    /// Takes these bytes as they are.
    pub(crate) fn taken(bytes: Vec<u8>, conflicts: Vec<Conflict>) -> Self {
        let (superseded, dropped, left_out) = (Vec::new(), Vec::new(), Vec::new());
        Self { bytes, conflicts, superseded, carried: 0, dropped, left_out }
    }

    /// Merges the versions as text. With a reason, a person has to look at the file even if no line is disputed.
    pub(crate) fn as_text(
        versions: Versions<'_>,
        why: Option<String>,
        marks: &Marks,
    ) -> Result<Self, ProjectError> {
        let both = merge_texts(versions.base.unwrap_or_default(), versions.ours, versions.theirs)?;
        let disputed = (!both.agree()).then_some(Conflict::Body);
        let conflicts = why.map(Conflict::File).or(disputed).into_iter().collect();
        Ok(Self::taken(both.marked(marks)?, conflicts))
    }
}

/// Says what is wrong with a version that cannot be read.
pub(crate) fn unreadable(side: &dyn Display, bytes: &[u8], faults: &[Fault]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let fault = faults
        .first()
        .map(|fault| format!(": line {}: {}", fault.line_column(&text).0, fault.message));
    format!("{side} cannot be read as a task{}", fault.unwrap_or_default())
}
