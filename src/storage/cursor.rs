//! Up to which commit somebody was told what happened, branch by branch.

use serde::{Deserialize, Serialize};

/// So many branches are remembered.
const MOST_BRANCHES: usize = 50;
/// So many commits are remembered that are gone from their branch.
const MOST_GONE: usize = 200;

/// Up to which commit all is told, by branch; the branch that moved last stands last.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToldCursor {
    branches: Vec<(String, String)>,
    /// The commits that were told and are gone from their branch; those that went last stand last, each behind its parent.
    #[serde(default)]
    gone: Vec<String>,
    /// How many commits were told of so far: what comes later sorts behind.
    pub told: usize,
}

impl ToldCursor {
    /// Returns up to which commit all is told on a branch.
    pub(crate) fn commit(&self, branch: &str) -> Option<&str> {
        self.branches.iter().find(|(known, _)| known == branch).map(|(_, commit)| commit.as_str())
    }

    /// Returns these commits of all branches.
    pub(crate) fn commits(&self) -> impl Iterator<Item = &str> {
        self.branches.iter().map(|(_, commit)| commit.as_str())
    }

    /// Returns the commits that were told and are gone from their branch.
    pub(crate) fn gone(&self) -> impl Iterator<Item = &str> {
        self.gone.iter().map(String::as_str)
    }

    /// Notes commits that were told and are gone from their branch, the oldest first: they may come back. Of too many, those that
    /// went longest ago are forgotten.
    pub(crate) fn lose(&mut self, commits: &[String]) {
        self.gone.retain(|known| !commits.contains(known));
        self.gone.extend_from_slice(commits);
        let surplus = self.gone.len().saturating_sub(MOST_GONE);
        self.gone.drain(..surplus);
    }

    /// Notes up to which commit that is on a branch. Where there are too many, the branch that moved longest ago is forgotten.
    pub(crate) fn set(&mut self, branch: &str, commit: &str) {
        self.branches.retain(|(known, _)| known != branch);
        self.branches.push((branch.to_owned(), commit.to_owned()));
        let surplus = self.branches.len().saturating_sub(MOST_BRANCHES);
        self.branches.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_branches_those_that_moved_last_are_known() {
        let mut cursor = ToldCursor::default();
        for branch in 0..MOST_BRANCHES {
            cursor.set(&branch.to_string(), "old");
        }
        cursor.set("0", "new");
        cursor.set("one more", "new");
        assert_eq!(
            (cursor.commit("0"), cursor.commit("1"), cursor.commit("2")),
            (Some("new"), None, Some("old"))
        );
        assert_eq!(cursor.commits().count(), MOST_BRANCHES);
    }

    #[test]
    fn of_many_commits_that_are_gone_those_that_went_last_are_known() {
        let mut cursor = ToldCursor::default();
        let commits: Vec<String> = (0..=MOST_GONE).map(|number| number.to_string()).collect();
        cursor.lose(&commits);
        assert_eq!(cursor.gone().next(), Some("1"));
        cursor.lose(&commits[1..2]);
        assert_eq!((cursor.gone().next(), cursor.gone().last()), (Some("2"), Some("1")));
        assert_eq!(cursor.gone().count(), MOST_GONE);
    }
}
