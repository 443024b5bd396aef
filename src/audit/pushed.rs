//! What a push names: commits behind names of any kind, and what the repository has already. Only reads.

use super::error::{AuditError, During};
use super::id::{CommitId, ObjectId};
use super::repository::Repository;

impl Repository {
    /// Returns the commit that an object is, or that it is a tag of; nothing where it is about something else.
    pub fn commit_behind(&self, id: ObjectId) -> Result<Option<CommitId>, AuditError> {
        let object = self.git().find_object(id.to_git(), None).during(|| format!("read the object `{id}`"))?;
        // A tag may be of a tag of nothing that has a history.
        Ok(object.peel_to_commit().ok().map(|commit| CommitId::new(ObjectId::from_git(commit.id()))))
    }

    /// Returns the commits that any reference stands for: branches, tags, and whatever hosts keep besides.
    pub fn named_commits(&self) -> Result<Vec<CommitId>, AuditError> {
        let doing = || "list the references".to_owned();
        let mut commits = Vec::new();
        for reference in self.git().references().during(doing)? {
            // One that is broken names nothing.
            let Ok(commit) = reference.during(doing)?.peel_to_commit() else { continue };
            commits.push(CommitId::new(ObjectId::from_git(commit.id())));
        }
        commits.sort();
        commits.dedup();
        Ok(commits)
    }
}
