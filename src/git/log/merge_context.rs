//! What git is bringing together just now: the commits whose files it merges, where it tells them.

use crate::git::error::GitError;
use crate::git::id::CommitId;
use crate::git::objects::git_file;
use crate::git::repository::handle::Repository;

/// How git makes a commit again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Rebase,
    CherryPick,
    Revert,
}

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
    pub fn under_way(&self) -> Result<Option<UnderWay>, GitError> {
        let Some(ours) = self.look()?.commit else { return Ok(None) };
        match self.merge_heads()[..] {
            [] => {}
            [theirs] => {
                return Ok(Some(UnderWay { bases: self.merge_bases(ours, theirs)?, ours, theirs }));
            }
            _ => return Ok(None),
        }
        let Some((of, way)) = self.stopped_at() else { return Ok(None) };
        let parents = self.links(of)?.parents;
        Ok(match (way, &parents[..]) {
            (Way::Revert, [theirs]) => Some(UnderWay { bases: vec![of], ours, theirs: *theirs }),
            (_, [_, _, ..]) | (Way::Revert, []) => None,
            (Way::Rebase | Way::CherryPick, _) => {
                Some(UnderWay { bases: parents, ours, theirs: of })
            }
        })
    }

    /// Returns the commit that git makes again and has stopped at, and how. A rebase that stopped behind a commit that it has made is at none: it keeps the
    /// message until there is a commit with it.
    fn stopped_at(&self) -> Option<(CommitId, Way)> {
        let git_dir = self.git_dir();
        let commit =
            |name: &str| git_file::read_text(&git_dir.join(name)).ok()?.trim().parse().ok();
        let is_rebase =
            ["rebase-merge", "rebase-apply"].iter().any(|name| git_dir.join(name).is_dir());
        if let Some(of) = commit("REVERT_HEAD") {
            return Some((of, Way::Revert));
        }
        if let Some(of) = commit("CHERRY_PICK_HEAD") {
            return Some((of, if is_rebase { Way::Rebase } else { Way::CherryPick }));
        }
        let is_made = git_dir.join("rebase-merge").is_dir() && !git_dir.join("MERGE_MSG").exists();
        let of = commit("REBASE_HEAD").filter(|_| is_rebase && !is_made)?;
        Some((of, Way::Rebase))
    }
}
