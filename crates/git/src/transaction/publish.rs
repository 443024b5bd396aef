//! Step 6 of a transition: the branch moves, and the index with it. The commit point is the rename of the branch.
//!
//! ```text
//!   objects          written since `prepare`, without names           kill: leftover `tmp_obj_*` or `tmp_pack_*` files
//!   index.lock       waited for while another process has it, before anything is written
//!   temp files       made, their inodes passed to the caller          kill: a leftover `aof-*` file
//!   objects, branch  synced side by side with what the caller wrote, behind its record
//!   index.lock       given its name; waited for, never broken         kill: our `index.lock`
//!   objects          given their names                                kill: unreachable objects
//!   check            HEAD, the branch and the staged entries are still what was prepared for, aof's own folder this clone's alone
//!   files            given their names by the caller                  kill: files ahead of HEAD, our `index.lock`
//!   new index        written into `index.lock`
//!   REF.lock         given its name, holds the new commit; HEAD and the branch compared again, the objects still there   kill: both locks
//!   reflogs          one line per commit
//!   index.lock -> index                                               kill: the index and the files are ahead of HEAD
//!   REF.lock -> REF  renamed                                          the commit point
//!   objects          checked once more, and written again if `git prune` removed them meanwhile
//!   last sync        the folders of the branch and of the caller's files, and the index, side by side
//! ```
//! The index is replaced first, while the branch is locked: a person's `git commit` that reads HEAD before and the index after cannot
//! move the branch. In the other order, it would read the new HEAD and the old index, and revert the change. `clear_stale` removes the
//! files that a kill leaves. A power cut after the folders are synced loses nothing. Before that, each of the branch, the index and the
//! files is old or new independently, and the objects exist: `update_stale_entries` updates the index, and the caller its files. A
//! failure after the commit point does not undo the commit: it is reported with it.

use std::collections::BTreeMap;
use std::fs::{self, FileTimes};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;

use super::locks::{BranchLock, HeldLock, IncomingFiles, Locks, PendingLock, wait_while_held};
use super::prepare::{Prepared, path_changes, paths};
use crate::error::{At, GitError};
use crate::id::CommitId;
use crate::index::entries::PathChange;
use crate::index::entries::StagedFile;
use crate::index::user_index::{Index, Patched};
use crate::objects::loose::{Object, sync_files, unsynced_folder};
use crate::repository::handle::Repository;
use aof_system::disk::{NotSynced, Unsynced};
use aof_system::{crash_points, disk};

/// Records the locks that are about to be taken. Returns the files that must be synced before that: the record, and those that the caller
/// wrote under temporary names. The objects are synced with them.
pub(crate) type RecordLocks<'a> = &'a mut dyn FnMut(&Locks) -> io::Result<Vec<Unsynced>>;

/// A commit about to be published: no lock is held yet. Dropping it leaves nothing behind.
pub struct Publication<'r> {
    repository: &'r Repository,
    prepared: &'r Prepared,
    deadline: Instant,
    branch: PendingLock,
    index: PendingLock,
    locks: Locks,
}

/// A commit about to be published while git's index is locked, so that no other commit picks up half of its files. Dropping it unlocks
/// the unchanged index.
pub struct LockedIndex<'r> {
    repository: &'r Repository,
    prepared: &'r Prepared,
    deadline: Instant,
    branch: PendingLock,
    index_lock: HeldLock,
    /// The current index, if it changed since the commit was prepared.
    reread: Option<Index>,
}

/// A branch that has moved.
#[derive(Debug)]
pub struct Published {
    /// The commit that the branch is at now.
    pub commit: CommitId,
    /// A failed sync after the branch has moved: the journal record must stay.
    pub not_synced: Option<NotSynced>,
}

impl Repository {
    /// Returns whether another process is about to change the index.
    pub fn is_index_locked(&self) -> bool {
        self.git_dir().join("index.lock").exists()
    }

    /// Begins to publish: creates the temporary files that become the locks. Waits while another process holds `index.lock`: `git
    /// add -A` holds it while it looks for new files, and would add our temporary ones.
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

    /// Makes the prepared objects durable without moving the branch, for a push that comes first.
    pub fn make_durable(&self, prepared: &Prepared) -> Result<(), GitError> {
        let mut objects = prepared.objects.borrow_mut();
        sync_files(objects.unsynced())?;
        self.objects().name_staged(&mut objects)
    }

    pub(crate) fn temp_index(&self, mode: Option<u32>) -> Result<PendingLock, GitError> {
        PendingLock::create(
            self.git_dir(),
            "aof-index",
            mode.unwrap_or_else(|| self.shared_file_mode()),
        )
    }

    pub(crate) fn branch_temp(&self, commit: CommitId) -> Result<PendingLock, GitError> {
        let mut unlocked =
            PendingLock::create(self.common_dir(), "aof-branch", self.shared_file_mode())?;
        unlocked.temp.write(format!("{commit}\n").as_bytes())?;
        Ok(unlocked)
    }

    /// Returns the mode for new files in the git directory: that of HEAD, so that a shared repository stays shared.
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

    /// Syncs the objects and the caller's temporary files, then locks git's index. Fails with `Moved` if the branch has moved or
    /// the objects were pruned: prepare again.
    pub fn lock_index(self, mut unsynced: Vec<Unsynced>) -> Result<LockedIndex<'r>, GitError> {
        let Self { repository, prepared, deadline, branch, index, locks: _ } = self;
        crash_points::point("git.intent-recorded");
        let mut objects = prepared.objects.borrow_mut();
        unsynced.extend(objects.unsynced());
        unsynced.push(branch.temp.unsynced());
        // No lock, object or file of the caller has its final name yet, so the order of these syncs does not matter.
        sync_files(unsynced)?;
        crash_points::point("git.objects-written");

        let index_lock = index.lock(repository.git_dir().join("index.lock"), deadline)?;
        crash_points::point("git.index-locked");
        // A `git prune` during the wait for the lock removes unreachable objects.
        if !objects.are_there() {
            return Err(prepared.pruned());
        }
        repository.objects().name_staged(&mut objects)?;
        let now = repository.head()?;
        if now != prepared.base {
            return Err(GitError::Moved { reference: now.reference, found: now.commit });
        }
        // `.aof` may be part of a checkout that just ended, and so may the files about to be committed.
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
    /// Moves the index and the branch, after the caller has written the committed files. `folders` are synced together with the branch.
    pub fn finish(self, mut folders: Vec<Unsynced>) -> Result<Published, GitError> {
        let Self { repository, prepared, deadline, branch, index_lock, reread } = self;
        let reference = &prepared.base.reference;
        let index = reread.as_ref().unwrap_or(&prepared.index);
        write_index(&index_lock, &index.patched(repository, &prepared.changes)?)?;
        crash_points::point("git.index-written");

        let branch_lock =
            branch.lock(repository.common_dir().join(format!("{reference}.lock")), deadline)?;
        crash_points::point("git.ref-locked");
        // `git switch -c` changes HEAD without locking the index.
        let now = repository.head()?;
        if now != prepared.base {
            return Err(GitError::Moved { reference: now.reference, found: now.commit });
        }
        if !prepared.objects.borrow().are_there() {
            return Err(prepared.pruned());
        }
        repository.write_reflogs(reference, prepared.base.commit, &prepared.steps)?;
        crash_points::point("git.reflog-written");
        let branch_place = repository.reference_path(reference);
        folders.push(unsynced_folder(branch_place.parent().expect("a branch lies in a folder"))?);
        let index_place = repository.git_dir().join("index");
        folders.push(index_lock.unsynced(&index_place));
        index_lock.rename_to(&index_place).at("replace", &index_place)?;
        crash_points::point("git.index-moved");
        branch_lock.rename_to(&branch_place).at("move the branch", &branch_place)?;
        repository.note_move(&prepared.base, prepared.commits());
        crash_points::point("git.ref-moved");
        // The commit point is passed: from here on, nothing may report that the branch has not moved.
        let restored = if prepared.objects.borrow().are_there() {
            Ok(())
        } else {
            repository.restore(&prepared.contents)
        };
        let not_restored = restored.err().map(|error| NotSynced {
            path: repository.objects().path().to_owned(),
            cause: io::Error::other(error),
        });
        Ok(Published {
            commit: prepared.last(),
            not_synced: not_restored.or_else(|| disk::sync(folders).err()),
        })
    }
}

impl Repository {
    /// Writes objects again that a `git prune` removed while the branch moved: it had listed them as unreachable before.
    fn restore(&self, contents: &[Object]) -> Result<(), GitError> {
        let mut staged = self.objects().stage_loose(contents)?;
        sync_files(staged.unsynced())?;
        self.objects().name_staged(&mut staged)
    }
}

impl Prepared {
    /// Returns the error for objects that `git prune` removed.
    fn pruned(&self) -> GitError {
        GitError::Moved { reference: self.base.reference.clone(), found: self.base.commit }
    }
}

pub(crate) fn write_index(lock: &HeldLock, patched: &Patched<'_>) -> Result<(), GitError> {
    let mut file = lock.file();
    for part in &patched.parts {
        file.write_all(part).at("write", lock.path())?;
    }
    if let Some(modified) = patched.modified {
        file.set_times(FileTimes::new().set_modified(modified))
            .at("set the time of", lock.path())?;
    }
    disk::start(file);
    Ok(())
}

/// Makes the caller record the locks, and returns the files that must be synced before they are taken.
pub(crate) fn record_locks(
    record: RecordLocks<'_>,
    locks: &Locks,
    near: &Path,
) -> Result<Vec<Unsynced>, GitError> {
    crash_points::point("git.temps-made");
    let waiting = record(locks).at("record the intended locks on", near)?;
    crash_points::point("git.intent-recorded");
    Ok(waiting)
}

impl Repository {
    /// Updates index entries of these files that still are as in the commit `left` (`None`: no entry) to HEAD's version. Entries
    /// that a person staged stay. Returns the updated paths.
    pub fn update_stale_entries(
        &self,
        left: Option<CommitId>,
        files: &[&str],
        deadline: Instant,
        record: RecordLocks<'_>,
    ) -> Result<Vec<String>, GitError> {
        let head = self.head()?;
        let root =
            |commit: Option<CommitId>| commit.map(|commit| self.root_tree(commit)).transpose();
        let wanted: BTreeMap<_, _> =
            files.iter().map(|file| (self.full_path(file), Vec::new())).collect();
        let changes = path_changes(&self.trees(), root(left)?, root(head.commit)?, wanted)?;
        self.update_entries(changes, &|| Ok(true), deadline, record)
    }

    /// Updates index entries that still are as given to that commit's version, unless HEAD has moved. Returns the updated paths.
    pub fn update_entries_to(
        &self,
        head: CommitId,
        files: &[StagedFile],
        deadline: Instant,
        record: RecordLocks<'_>,
    ) -> Result<Vec<String>, GitError> {
        let expected: BTreeMap<_, _> =
            files.iter().map(|file| (self.full_path(&file.path), file.entry())).collect();
        let wanted = expected.keys().map(|path| (path.clone(), Vec::new())).collect();
        let changes = path_changes(&self.trees(), None, Some(self.root_tree(head)?), wanted)?;
        let changes = changes.into_iter().zip(expected.into_values());
        let changes = changes.map(|(change, before)| PathChange { before, ..change }).collect();
        self.update_entries(changes, &|| Ok(self.head()?.commit == Some(head)), deadline, record)
    }

    /// Makes the changes whose index entries are still in the state before, if `is_to_be` still holds once the index is locked.
    fn update_entries(
        &self,
        changes: Vec<PathChange>,
        is_to_be: &dyn Fn() -> Result<bool, GitError>,
        deadline: Instant,
        record: RecordLocks<'_>,
    ) -> Result<Vec<String>, GitError> {
        let index = Index::read(self, &paths(&changes))?;
        if index.behind(self, changes.clone())?.is_empty() {
            return Ok(Vec::new());
        }

        let index_temp = self.temp_index(index.mode())?;
        let locks =
            Locks { index: index_temp.file.clone(), branch: None, files: IncomingFiles::Untouched };
        sync_files(record_locks(record, &locks, self.git_dir())?)?;
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
