//! Up to which commit somebody was told what happened, branch by branch.

use serde::{Deserialize, Serialize};

/// So many branches are remembered.
const MOST_BRANCHES: usize = 50;

/// Up to which commit all is told, by branch; the branch that moved last stands last.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cursor {
    branches: Vec<(String, String)>,
    /// How many commits were told of so far: what comes later sorts behind.
    pub told: usize,
}

impl Cursor {
    /// Returns up to which commit all is told on a branch.
    pub fn commit(&self, branch: &str) -> Option<&str> {
        self.branches.iter().find(|(known, _)| known == branch).map(|(_, commit)| commit.as_str())
    }

    /// Returns these commits of all branches.
    pub fn commits(&self) -> impl Iterator<Item = &str> {
        self.branches.iter().map(|(_, commit)| commit.as_str())
    }

    /// Notes up to which commit that is on a branch. Where there are too many, the branch that moved longest ago is forgotten.
    pub fn set(&mut self, branch: &str, commit: &str) {
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
        let mut cursor = Cursor::default();
        for branch in 0..MOST_BRANCHES {
            cursor.set(&branch.to_string(), "old");
        }
        cursor.set("0", "new");
        cursor.set("one more", "new");
        assert_eq!((cursor.commit("0"), cursor.commit("1"), cursor.commit("2")), (Some("new"), None, Some("old")));
        assert_eq!(cursor.commits().count(), MOST_BRANCHES);
    }
}
