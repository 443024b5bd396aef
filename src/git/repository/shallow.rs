//! Where history was cut off, as in a shallow clone. Only reads.
//!
//! Git keeps that for all worktrees in one place. What else git can be told about history, that commits have other parents or that
//! other objects stand in for them, counts for nothing here: a history that is judged has to be the one that was signed and pushed.

use std::collections::HashSet;

use crate::git::error::GitError;
use crate::git::id::CommitId;
use crate::git::objects::git_file;
use crate::git::repository::handle::Repository;
use crate::git::repository::open::read_ends;

/// By what git shows another history than the one that there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pretence {
    /// The file `info/grafts`, which names other parents.
    Grafts,
    /// What `git replace` made.
    Replacements,
}

impl Pretence {
    /// Returns its name in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Grafts => "grafts",
            Self::Replacements => "replacements",
        }
    }
}

impl Repository {
    /// Returns whether history was cut off here, as in a shallow clone.
    pub fn is_shallow(&self) -> Result<bool, GitError> {
        Ok(!self.ends()?.is_empty())
    }

    /// Says whether history was cut off at this commit: it has parents, and none of them counts here.
    pub(crate) fn is_end(&self, commit: CommitId) -> Result<bool, GitError> {
        Ok(self.ends()?.contains(&commit))
    }

    fn ends(&self) -> Result<&HashSet<CommitId>, GitError> {
        if let Some(known) = self.walked().ends.get() {
            return Ok(known);
        }
        let ends = read_ends(&self.common_dir().join("shallow"))?;
        Ok(self.walked().ends.get_or_init(|| ends))
    }

    /// Returns by what git shows another history here. Nothing of aof goes by it.
    pub fn pretences(&self) -> Result<Vec<Pretence>, GitError> {
        let grafts =
            git_file::read_text(&self.common_dir().join("info/grafts")).unwrap_or_default();
        let has_grafts =
            grafts.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#'));
        let has_replacements = !self.references_below("refs/replace/")?.is_empty();
        let grafts = has_grafts.then_some(Pretence::Grafts);
        Ok(grafts.into_iter().chain(has_replacements.then_some(Pretence::Replacements)).collect())
    }
}
