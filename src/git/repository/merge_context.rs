//! What git is bringing together just now: the commits whose files it merges, where it tells them.

use super::repository::Repository;
use crate::git::error::AuditError;
use crate::git::log::replayed_commit::{Replay, Way};
use crate::git::objects::id::CommitId;

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
            [theirs] => {
                return Ok(Some(UnderWay { bases: self.merge_bases(ours, theirs)?, ours, theirs }));
            }
            _ => return Ok(None),
        }
        let Some(Replay { of, way }) = self.replay_stopped() else { return Ok(None) };
        let parents = self.links(of)?.parents;
        Ok(match (way, &parents[..]) {
            (Way::Revert, [theirs]) => Some(UnderWay { bases: vec![of], ours, theirs: *theirs }),
            (_, [_, _, ..]) | (Way::Revert, []) => None,
            (Way::Rebase | Way::Pick, _) => Some(UnderWay { bases: parents, ours, theirs: of }),
        })
    }
}
