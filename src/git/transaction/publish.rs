//! Step 6 of a transition: the branch moves, and the index with it. The commit point is the rename of the branch.
//!
//! ```text
//!   objects          written since `prepare`, without names           kill: leftover `tmp_obj_*` or `tmp_pack_*` files
//!   index.lock       waited for while somebody has it, before anything is written
//!   temp files       made, their inodes told to the caller            kill: a leftover `aof-*` file
//!   objects, branch  synced side by side with what the caller wrote, behind its record
//!   index.lock       given its name; waited for, never broken         kill: our `index.lock`
//!   objects          given their names                                kill: unreachable objects
//!   check            HEAD, the branch and the staged entries are still what was prepared for, aof's own folder this clone's alone
//!   files            given their names by the caller                  kill: files ahead of HEAD, our `index.lock`
//!   new index        written into `index.lock`
//!   REF.lock         given its name, holds the new commit; the branch compared again, the objects still there   kill: both locks
//!   reflogs          a line a commit
//!   index.lock -> index                                               kill: the index and the files are ahead of HEAD
//!   REF.lock -> REF  renamed                                          the commit point
//!   last sync        the folders of the branch and of the caller's files, and the index, side by side
//! ```
//! The index goes first, while the branch is locked: a person's `git commit` that reads HEAD before and the index after
//! cannot move the branch. The other way round it would read the new HEAD and the old index, and take the change back.
//! `clear_stale` removes what a kill leaves. A power cut after the folders are synced loses nothing; before that each of the branch,
//! the index and the files is old or new, whichever came first, and the objects are there: `settle_index` brings up the index, and
//! the caller its files. What goes wrong after the commit point does not take the commit back: it is told beside it.

use std::collections::BTreeMap;
use std::fs::{self, FileTimes};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;

use super::locks::{BranchLock, Held, IncomingFiles, Locks, Unlocked, wait_while_held};
use super::prepare::{Prepared, path_changes, paths};
use crate::git::error::{At, GitError};
use crate::git::id::CommitId;
use crate::git::index::entries::PathChange;
use crate::git::index::entries::StagedFile;
use crate::git::index::user_index::{Index, Patched};
use crate::git::objects::loose::{sync_files, unsynced_folder};
use crate::git::repository::handle::Repository;
use crate::system::disk::{NotSynced, Unsynced};
use crate::system::{crash_points, disk};

/// Called with the lock files that are about to appear; returns once they are written down, with what has to be on the disk
/// before they do: that, and the files that the caller wrote under temporary names. The objects go there with them.
pub(crate) type Intent<'a> = &'a mut dyn FnMut(&Locks) -> io::Result<Vec<Unsynced>>;

/// A commit on its way: no lock is held yet. Dropped, it leaves nothing behind.
pub struct Publication<'r> {
    repository: &'r Repository,
    prepared: &'r Prepared,
    deadline: Instant,
    branch: Unlocked,
    index: Unlocked,
    locks: Locks,
}

/// A commit on its way while git's index is locked, so that no other commit picks up its files half-way. Dropped, it gives the index
/// back as it was.
pub struct LockedIndex<'r> {
    repository: &'r Repository,
    prepared: &'r Prepared,
    deadline: Instant,
    branch: Unlocked,
    index_lock: Held,
    /// The index as it is now, where it changed since the commit was prepared.
    reread: Option<Index>,
}

/// A branch that has moved.
#[derive(Debug)]
pub struct Published {
    /// Where it is now.
    pub commit: CommitId,
    /// What the disk did not confirm: the branch has moved all the same, and what it is needed for stays on record.
    pub not_synced: Option<NotSynced>,
}

impl Repository {
    /// Tells whether somebody is about to change the index.
    pub fn is_index_locked(&self) -> bool {
        self.git_dir().join("index.lock").exists()
    }

    /// Begins to move the branch to what was prepared: makes the temporary files that become the locks. Waits while somebody holds
    /// `index.lock`: `git add -A` holds it while it looks for new files, and would take in those that have no names yet.
    pub fn begin<'r>(
        &'r self,
        prepared: &'r Prepared,
        deadline: Instant,
    ) -> Result<Publication<'r>, GitError> {
        wait_while_held(&self.git_dir().join("index.lock"), deadline)?;
        let branch = self.branch_temp(prepared.last())?;
        let index = self.temp_index(prepared.index.mode())?;
        let branch_lock = BranchLock {
            reference: prepared.base.reference.clone(),
            from: prepared.base.commit,
            to: prepared.last(),
            file: branch.file.clone(),
        };
        let locks = Locks {
            index: index.file.clone(),
            branch: Some(branch_lock),
            files: IncomingFiles::Untouched,
        };
        crash_points::point("git.temps-made");
        Ok(Publication { repository: self, prepared, deadline, branch, index, locks })
    }

    /// Has what was prepared survive, and moves nothing: for whoever asks a remote first.
    pub fn keep(&self, prepared: &Prepared) -> Result<(), GitError> {
        let mut objects = prepared.objects.borrow_mut();
        sync_files(objects.unsynced()?)?;
        self.objects().name_staged(&mut objects)
    }

    pub(crate) fn temp_index(&self, mode: Option<u32>) -> Result<Unlocked, GitError> {
        Unlocked::create(
            self.git_dir(),
            "aof-index",
            mode.unwrap_or_else(|| self.shared_file_mode()),
        )
    }

    pub(crate) fn branch_temp(&self, commit: CommitId) -> Result<Unlocked, GitError> {
        let mut unlocked =
            Unlocked::create(self.common_dir(), "aof-branch", self.shared_file_mode())?;
        unlocked.temp.write(format!("{commit}\n").as_bytes())?;
        Ok(unlocked)
    }

    /// Mode for new files of git's: what its own HEAD has, so that a shared repository stays shared.
    fn shared_file_mode(&self) -> u32 {
        fs::metadata(self.git_dir().join("HEAD"))
            .map_or(0o644, |data| data.permissions().mode() & 0o666)
    }
}

impl<'r> Publication<'r> {
    /// Returns the lock files that `lock_index` and `finish` will create. The caller records them first.
    pub fn locks(&self) -> &Locks {
        &self.locks
    }

    /// Syncs the objects and what the caller wrote under temporary names, then locks git's index. Fails with `Moved` where somebody
    /// has moved the branch, or pruned the objects: prepare again.
    pub fn lock_index(self, mut unsynced: Vec<Unsynced>) -> Result<LockedIndex<'r>, GitError> {
        let Self { repository, prepared, deadline, branch, index, locks: _ } = self;
        crash_points::point("git.intent-told");
        let mut objects = prepared.objects.borrow_mut();
        unsynced.extend(objects.unsynced()?);
        unsynced.push(branch.temp.unsynced()?);
        // No lock has its name yet, no object and no file of the caller's: which of them gets there first does not matter.
        sync_files(unsynced)?;
        crash_points::point("git.objects-written");

        let index_lock = index.lock(repository.git_dir().join("index.lock"), deadline)?;
        crash_points::point("git.index-locked");
        // The lock may have been waited for, and a pruning git takes what nothing leads to.
        if !objects.are_there() {
            return Err(prepared.pruned());
        }
        repository.objects().name_staged(&mut objects)?;
        let now = repository.head()?;
        if now != prepared.base {
            return Err(GitError::Moved { reference: now.reference, found: now.commit });
        }
        // It may have come with what git just brought, and what is about to be committed out of it.
        repository.check_own_folder_at(now.commit)?;
        let mut reread = None;
        if !prepared.index.is_current()? {
            let index = Index::read(repository, &paths(&prepared.changes))?;
            index.check(repository, &prepared.changes)?;
            reread = Some(index);
        }
        Ok(LockedIndex { repository, prepared, deadline, branch, index_lock, reread })
    }
}

impl LockedIndex<'_> {
    /// Moves the index and the branch, once the caller has written the files that are committed. `folders` are those whose names are to
    /// be on the disk when the commit is.
    pub fn finish(self, mut folders: Vec<Unsynced>) -> Result<Published, GitError> {
        let Self { repository, prepared, deadline, branch, index_lock, reread } = self;
        let reference = &prepared.base.reference;
        let index = reread.as_ref().unwrap_or(&prepared.index);
        write_index(&index_lock, &index.patched(repository, &prepared.changes)?)?;
        crash_points::point("git.index-written");

        let branch_lock =
            branch.lock(repository.common_dir().join(format!("{reference}.lock")), deadline)?;
        crash_points::point("git.ref-locked");
        let found = repository.read_reference(reference)?;
        if found != prepared.base.commit {
            return Err(GitError::Moved { reference: reference.clone(), found });
        }
        if !prepared.objects.borrow().are_there() {
            return Err(prepared.pruned());
        }
        repository.write_reflogs(reference, prepared.base.commit, &prepared.steps)?;
        crash_points::point("git.reflog-written");
        let branch_place = repository.reference_path(reference);
        folders.push(unsynced_folder(branch_place.parent().expect("a branch lies in a folder"))?);
        let index_place = repository.git_dir().join("index");
        folders.push(index_lock.unsynced(&index_place)?);
        index_lock.rename_to(&index_place).at("replace", &index_place)?;
        crash_points::point("git.index-moved");
        branch_lock.rename_to(&branch_place).at("move the branch", &branch_place)?;
        crash_points::point("git.ref-moved");
        // The commit point is passed: from here on nothing may read as if the branch had not moved.
        Ok(Published { commit: prepared.last(), not_synced: disk::sync(folders).err() })
    }
}

impl Prepared {
    /// Returns the error of objects that a pruning git took away.
    fn pruned(&self) -> GitError {
        GitError::Moved { reference: self.base.reference.clone(), found: self.base.commit }
    }
}

pub(crate) fn write_index(lock: &Held, patched: &Patched) -> Result<(), GitError> {
    let mut file = lock.file();
    file.write_all(&patched.bytes).at("write", lock.path())?;
    if let Some(modified) = patched.modified {
        file.set_times(FileTimes::new().set_modified(modified))
            .at("set the time of", lock.path())?;
    }
    disk::start(file);
    Ok(())
}

/// Tells the caller which lock files are to come, and returns what has to be on the disk before they do.
pub(crate) fn tell(
    intent: Intent<'_>,
    locks: &Locks,
    near: &Path,
) -> Result<Vec<Unsynced>, GitError> {
    crash_points::point("git.temps-made");
    let waiting = intent(locks).at("record the intended locks on", near)?;
    crash_points::point("git.intent-told");
    Ok(waiting)
}

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
        let locks =
            Locks { index: index_temp.file.clone(), branch: None, files: IncomingFiles::Untouched };
        sync_files(tell(intent, &locks, self.git_dir())?)?;
        let lock = index_temp.lock(self.git_dir().join("index.lock"), deadline)?;
        let behind = Index::read(self, &paths(&changes))?.behind(self, changes)?;
        if behind.is_empty() || !is_to_be()? {
            return Ok(Vec::new());
        }
        let index = Index::read(self, &paths(&behind))?;
        write_index(&lock, &index.patched(self, &behind)?)?;
        let target = self.git_dir().join("index");
        lock.replace(&target)?;
        Ok(behind.iter().filter_map(|change| self.own_path(&change.path)).collect())
    }
}
