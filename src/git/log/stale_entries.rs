//! What git's index has of a file from before aof committed it anew: `git commit` and `git merge` read the index before they lock it, and
//! write back what they have read. Nobody staged that. What a person did is told from it by who has committed since.

use crate::git::error::GitError;
use crate::git::id::{CommitId, ObjectId};
use crate::git::log::trailers;
use crate::git::log::walk::{LOOK_BACK, Log};
use crate::git::objects::commit::LogEntry;
use crate::git::repository::handle::Repository;

/// How the first line ends of a commit of what people wrote beside a task. It has no trailers, since the task itself is not in it.
pub(crate) const BESIDE_A_TASK: &str = ": companions edited by hand";
/// What names the task in the commits of aof's own.
const OF_A_TASK: &str = "Aof-Task";
/// How the reflog tells that aof brought in what a remote has, whoever had committed it there.
pub(crate) const SYNCED: &str = "sync: ";
/// So many lines of the reflog are looked at.
const LINES: usize = 1_000;

impl Repository {
    /// Returns whether this is a version of a file of the project that HEAD had, and that nobody but aof has committed or brought in
    /// anything of since.
    pub fn is_left_behind(
        &self,
        head: CommitId,
        path: &str,
        content: ObjectId,
    ) -> Result<bool, GitError> {
        self.full_path_is_left_behind(head, &self.full_path(path), content)
    }

    pub(crate) fn full_path_is_left_behind(
        &self,
        head: CommitId,
        path: &str,
        content: ObjectId,
    ) -> Result<bool, GitError> {
        for entry in Log::start(self, head, vec![path.to_owned()])?.take(LOOK_BACK) {
            let entry = entry?;
            let root = self.root_tree(entry.id)?;
            if self.trees().file(Some(root), path)?.is_some_and(|leaf| leaf.id == content) {
                return Ok(true);
            }
            if !is_own(&entry) && !self.was_synced(entry.id)? {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Returns whether aof brought in that commit from a remote. Where git keeps no reflog nobody can tell.
    fn was_synced(&self, commit: CommitId) -> Result<bool, GitError> {
        let Ok(log) = self.git().reflog("HEAD") else { return Ok(false) };
        let told = format!("commit: {SYNCED}");
        let is_sync =
            |said: Option<&[u8]>| said.is_some_and(|said| said.starts_with(told.as_bytes()));
        for line in log.iter().take(LINES).filter(|line| is_sync(line.message_bytes())) {
            let [before, after] =
                [line.id_old(), line.id_new()].map(|id| CommitId::new(ObjectId::from_git(id)));
            let is_here = self.has_commit(before) && self.has_commit(after);
            if is_here && self.led_to(commit, after)? && !self.led_to(commit, before)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn is_own(entry: &LogEntry) -> bool {
    let title = entry.message.lines().next().unwrap_or_default();
    title.ends_with(BESIDE_A_TASK)
        || trailers::parse(&entry.message).iter().any(|said| said.key() == OF_A_TASK)
}
