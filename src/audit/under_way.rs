//! What git is bringing together just now: the commits whose files it merges, where it tells them.

use super::error::AuditError;
use super::id::CommitId;
use super::repository::Repository;

/// Two commits that are brought together, or one that is applied to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnderWay {
    /// Where they parted: several where each had merged the other before, and none where they have nothing in common.
    pub bases: Vec<CommitId>,
    /// What it is brought into.
    pub ours: CommitId,
    /// What comes in.
    pub theirs: CommitId,
}

impl Repository {
    /// Returns what a merge, a rebase, a cherry-pick or a revert that has stopped brings together. Nothing where git is in the middle of something else,
    /// or of nothing, or a commit of several parents is picked.
    pub fn under_way(&self) -> Result<Option<UnderWay>, AuditError> {
        let Some(ours) = self.look()?.commit else { return Ok(None) };
        match self.merge_heads()[..] {
            [] => {}
            [theirs] => return Ok(Some(UnderWay { bases: self.merge_bases(ours, theirs)?, ours, theirs })),
            _ => return Ok(None),
        }
        let is_rebase = ["rebase-merge", "rebase-apply"].iter().any(|name| self.git_dir().join(name).is_dir());
        let picked = self.named("CHERRY_PICK_HEAD").or_else(|| self.named("REBASE_HEAD").filter(|_| is_rebase));
        if let Some(theirs) = picked {
            let bases = self.links(theirs)?.parents;
            return Ok((bases.len() < 2).then_some(UnderWay { bases, ours, theirs }));
        }
        let Some(reverted) = self.named("REVERT_HEAD") else { return Ok(None) };
        let [theirs] = self.links(reverted)?.parents[..] else { return Ok(None) };
        Ok(Some(UnderWay { bases: vec![reverted], ours, theirs }))
    }

    /// Returns the commit that a file in git's folder names.
    fn named(&self, name: &str) -> Option<CommitId> {
        std::fs::read_to_string(self.git_dir().join(name)).ok()?.trim().parse().ok()
    }
}
