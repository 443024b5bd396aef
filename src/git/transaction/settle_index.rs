//! Entries of git's index that are behind HEAD are brought up to it, and no others: what a person staged stays. The lock is git's own,
//! and the index is read under it: what somebody stages meanwhile is not lost.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::git::error::GitError;
use crate::git::id::CommitId;
use crate::git::index::entries::{FolderChange, PathChange};
use crate::git::index::staged::StagedFile;
use crate::git::index::user_index::Index;
use crate::git::objects::loose::sync_files;
use crate::git::repository::handle::Repository;
use crate::git::transaction::changed_paths::{folders_above, path_changes, paths};
use crate::git::transaction::locks::{Files, Locks};
use crate::git::transaction::publish::{Intent, tell, write_index};

impl Repository {
    /// Brings entries of these files of the project that still are what the commit `left` has (`None`: no commit) to what
    /// HEAD has. What a person staged stays. Returns the healed paths.
    pub fn settle_index(
        &self,
        left: Option<CommitId>,
        files: &[&str],
        deadline: Instant,
        intent: Intent<'_>,
    ) -> Result<Vec<String>, GitError> {
        let head = self.head()?;
        let root =
            |commit: Option<CommitId>| commit.map(|commit| self.root_tree(commit)).transpose();
        let wanted: BTreeMap<_, _> =
            files.iter().map(|file| (self.full_path(file), Vec::new())).collect();
        let changes = path_changes(&self.trees(), root(left)?, root(head.commit)?, wanted)?;
        self.bring_up(changes, &|| Ok(true), deadline, intent)
    }

    /// Brings entries that still are what was told of them to what that commit has, as long as HEAD is there. Returns their paths.
    pub fn catch_up(
        &self,
        head: CommitId,
        files: &[StagedFile],
        deadline: Instant,
        intent: Intent<'_>,
    ) -> Result<Vec<String>, GitError> {
        let told: BTreeMap<_, _> =
            files.iter().map(|file| (self.full_path(&file.path), file.entry())).collect();
        let wanted = told.keys().map(|path| (path.clone(), Vec::new())).collect();
        let changes = path_changes(&self.trees(), None, Some(self.root_tree(head)?), wanted)?;
        let changes = changes.into_iter().zip(told.into_values());
        let changes = changes.map(|(change, before)| PathChange { before, ..change }).collect();
        self.bring_up(changes, &|| Ok(self.head()?.commit == Some(head)), deadline, intent)
    }

    /// Makes those of these changes whose entries still are as before them, if that is still to be when the index is locked.
    fn bring_up(
        &self,
        changes: Vec<PathChange>,
        is_to_be: &dyn Fn() -> Result<bool, GitError>,
        deadline: Instant,
        intent: Intent<'_>,
    ) -> Result<Vec<String>, GitError> {
        let index = Index::read(self, &paths(&changes))?;
        if index.behind(self, changes.clone())?.is_empty() {
            return Ok(Vec::new());
        }

        let index_temp = self.temp_index(index.mode())?;
        let locks = Locks { index: index_temp.file.clone(), branch: None, files: Files::Untouched };
        sync_files(tell(intent, &locks, self.git_dir())?)?;
        let lock = index_temp.lock(self.git_dir().join("index.lock"), deadline)?;
        let behind = Index::read(self, &paths(&changes))?.behind(self, changes)?;
        if behind.is_empty() || !is_to_be()? {
            return Ok(Vec::new());
        }
        let index = Index::read(self, &paths(&behind))?;
        // Which other paths the commits between changed is not known here, so no tree is vouched for.
        let folders: BTreeSet<_> =
            behind.iter().flat_map(|change| folders_above(&change.path)).collect();
        let unknown =
            |path: &str| FolderChange { path: path.to_owned(), before: None, after: None };
        let folders: Vec<_> = folders.into_iter().map(unknown).collect();
        write_index(&lock, &index.patched(self, &behind, &folders)?)?;
        let target = self.git_dir().join("index");
        lock.replace(&target)?;
        Ok(behind.iter().filter_map(|change| self.own_path(&change.path)).collect())
    }
}
