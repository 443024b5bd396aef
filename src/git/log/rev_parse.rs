//! Commits by the names that people and git give them: branches, tags, `HEAD~3`, the beginning of an id. Only reads.

use git2::Reference;

use crate::git::command;
use crate::git::error::{During, GitError};
use crate::git::id::{CommitId, ObjectId};
use crate::git::objects::loose::Kind;
use crate::git::repository::handle::Repository;

impl Repository {
    /// Returns the commit that git knows by that name: a branch, a tag, `HEAD~3`, the beginning of an id.
    pub fn commit_named(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        // The objects behind a reference are read here: a damaged one is named, with what to do.
        if let Some(object) = self.object_of_reference(name)? {
            return self.peeled(object);
        }
        let mut git = self.git_command();
        git.args(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
        git.arg(format!("{name}^{{commit}}"));
        let told = match command::run_git(git, &[]) {
            Ok(told) => {
                return Ok(str::from_utf8(&told).ok().and_then(|id| id.trim().parse().ok()));
            }
            Err(told) => told,
        };
        let start = name.split(['~', '^']).next().unwrap_or(name);
        if let Some(object) = self.object_of_reference(start)?
            && let Some(commit) = self.peeled(object)?
        {
            for entry in self.log(commit)? {
                entry?;
            }
        }
        match told {
            // With `--quiet`, git says nothing of a name that nothing has.
            GitError::Command { detail, .. } if detail.is_empty() => Ok(None),
            told => Err(told),
        }
    }

    fn object_of_reference(&self, name: &str) -> Result<Option<ObjectId>, GitError> {
        for folder in ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"] {
            let reference = format!("{folder}{name}");
            if Reference::is_valid_name(&reference)
                && let Some(found) = self.resolve(&reference)?
            {
                return Ok(Some(found.object()));
            }
        }
        Ok(None)
    }

    /// Returns the commit that an object is, or that it is a tag of; nothing where it is about something else.
    pub fn commit_behind(&self, id: ObjectId) -> Result<Option<CommitId>, GitError> {
        self.peeled(id)
    }

    /// Returns the commits that any reference stands for: branches, tags, and whatever hosts keep besides.
    pub fn named_commits(&self) -> Result<Vec<CommitId>, GitError> {
        let mut commits = Vec::new();
        for object in self.references_below("refs/")? {
            // One that is broken names nothing.
            commits.extend(self.peeled(object).unwrap_or_default());
        }
        commits.sort();
        commits.dedup();
        Ok(commits)
    }

    /// Returns what the references name that begin so, as far as they lead to anything.
    pub(crate) fn references_below(&self, prefix: &str) -> Result<Vec<ObjectId>, GitError> {
        let doing = || "list the references".to_owned();
        self.check_reference("HEAD")?;
        let mut objects = Vec::new();
        for reference in self.git().references_glob(&format!("{prefix}*")).during(doing)? {
            let Ok(direct) = reference.during(doing)?.resolve() else { continue };
            objects.extend(direct.target().map(ObjectId::from_git));
        }
        Ok(objects)
    }

    /// Follows tags to a commit.
    fn peeled(&self, mut id: ObjectId) -> Result<Option<CommitId>, GitError> {
        loop {
            let (kind, bytes) = self.reader().any(id)?;
            match kind {
                Kind::Commit => return Ok(Some(CommitId::new(id))),
                Kind::Tag => {
                    let named = bytes.strip_prefix(b"object ").and_then(|rest| rest.get(..40));
                    let named = named.and_then(|name| str::from_utf8(name).ok()?.parse().ok());
                    let Some(named) = named else { return Ok(None) };
                    id = named;
                }
                Kind::Blob | Kind::Tree => return Ok(None),
            }
        }
    }
}
