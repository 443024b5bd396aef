//! Git's own lock files, taken in a way that shows after a crash which ones are ours.
//!
//! A temp file is created first, so its inode number is known; the caller records that (`Locks`); only then is the file renamed
//! to the lock's name, which fails if the name is taken. Recovery removes a lock file only if it is that very file, and for a
//! branch only if it also holds the recorded commit.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::error::{At, GitError};
use crate::id::CommitId;
use crate::objects::git_file;
use crate::objects::loose::{Temp, sync_files, sync_folder};
use crate::repository::handle::Repository;
use aof_system::disk::{SyncPart, Unsynced};

const TEMP_PREFIX: &str = "aof-";
/// The name prefix of copies of the index.
pub(crate) const INDEX_COPY: &str = "aof-index-copy";
const TEMP_AGE: Duration = Duration::from_hours(1);
const SHORTEST_NAP: Duration = Duration::from_micros(500);
const LONGEST_NAP: Duration = Duration::from_millis(10);

/// The record that is made before git's locks are taken, so that recovery knows which locks are ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locks {
    pub index: LockFile,
    /// `None` if only the index changes.
    pub branch: Option<BranchLock>,
    /// Older records lack this field: `Coming` is assumed.
    #[serde(default)]
    pub files: IncomingFiles,
}

/// The state of files that a commit brings into the worktree. Files that the caller itself writes do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IncomingFiles {
    /// No file was replaced: nothing is checked out, or not yet.
    Untouched,
    /// Some files may have been replaced.
    #[default]
    Coming,
}

/// The lock on a branch, and the move it is taken for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchLock {
    pub reference: String,
    pub from: Option<CommitId>,
    pub to: CommitId,
    pub file: LockFile,
}

/// One file that is, was or will be a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LockFile {
    /// Its name before it became a lock, in the git directory or the common directory.
    pub temp: String,
    pub device: u64,
    pub inode: u64,
    /// Birth time in nanoseconds since 1970, if the file system has it; inode numbers are reused, birth times are not.
    pub born: Option<u64>,
}

/// The way in which the process that had taken the locks ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashKind {
    /// Only the process ended: its files are as it left them.
    ProcessKilled,
    /// The machine has restarted since: a power cut may have brought back removed names.
    MachineRestarted,
}

/// The locks that `clear_stale` found and removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleared {
    pub index_lock: bool,
    pub branch_lock: bool,
    /// True if the branch contains the commit that the locks were taken for.
    pub landed: bool,
}

impl Repository {
    /// Removes the locks that a killed process left, if they are provably the recorded ones, or provably stale. The caller holds
    /// the project's writer lock, so that process is gone. The removal is synced, so the caller may delete the record.
    pub fn clear_stale(&self, locks: &Locks, crash: CrashKind) -> Result<Cleared, GitError> {
        let index_lock = self.git_dir().join("index.lock");
        let mut cleared = Cleared {
            index_lock: locks.index.remove_if_same(&index_lock)?,
            branch_lock: false,
            landed: false,
        };
        cleared.index_lock |= crash == CrashKind::MachineRestarted
            && locks.index.remove_if_older(&index_lock, &self.git_dir().join("index"))?;
        remove_temp(self.git_dir(), &locks.index.temp)?;
        if let Some(branch) = &locks.branch {
            let place = self.reference_path(&branch.reference);
            let lock = self.common_dir().join(format!("{}.lock", branch.reference));
            if git_file::read(&lock)
                .is_ok_and(|content| content == format!("{}\n", branch.to).as_bytes())
            {
                cleared.branch_lock = branch.file.remove_if_same(&lock)?;
            }
            cleared.branch_lock |= crash == CrashKind::MachineRestarted
                && branch.file.remove_if_older(&lock, &place)?;
            remove_temp(self.common_dir(), &branch.file.temp)?;
            let now = self.resolve(&branch.reference)?;
            cleared.landed =
                now.map(|now| self.is_ancestor(branch.to, now)).transpose()?.unwrap_or_default();
            if let Some(folder) = place.parent().filter(|folder| folder.is_dir()) {
                sync_folder(folder)?;
            }
            sync_folder(self.common_dir())?;
        }
        sync_folder(self.git_dir())?;
        Ok(cleared)
    }

    /// Removes temp files that a kill left before they were recorded; returns their number.
    ///
    /// Temp files live for milliseconds or are kept locked, so an old unlocked one is abandoned.
    pub fn sweep_temps(&self) -> Result<usize, GitError> {
        let abandoned = self.abandoned_temps()?;
        for path in &abandoned {
            fs::remove_file(path).at("remove", path)?;
        }
        Ok(abandoned.len())
    }

    /// Returns the files that `sweep_temps` would remove.
    pub fn abandoned_temps(&self) -> Result<Vec<PathBuf>, GitError> {
        let mut found = Vec::new();
        for folder in BTreeSet::from([self.git_dir(), self.common_dir()]) {
            for entry in fs::read_dir(folder).at("read", folder)? {
                let entry = entry.at("read", folder)?;
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let is_ours = name.starts_with(TEMP_PREFIX);
                // A copy has the modification time of its original.
                let since = |data: Metadata| {
                    let seconds = data.ctime().try_into().unwrap_or(0);
                    let made = UNIX_EPOCH + Duration::from_secs(seconds);
                    if name.starts_with(INDEX_COPY) { Ok(made) } else { data.modified() }
                };
                let age =
                    entry.metadata().and_then(since).ok().and_then(|time| time.elapsed().ok());
                if is_ours && age.is_some_and(|age| age >= TEMP_AGE) && !is_held(&entry.path()) {
                    found.push(entry.path());
                }
            }
        }
        Ok(found)
    }
}

impl LockFile {
    fn describe(temp: &Temp) -> Result<Self, GitError> {
        let data = temp.file.metadata().at("read", &temp.path)?;
        let name =
            temp.path.file_name().expect("a temp file has a name").to_string_lossy().into_owned();
        Ok(Self { temp: name, device: data.dev(), inode: data.ino(), born: born(&data) })
    }

    /// Returns whether a file is this one. After a restart the device number may differ (on btrfs after any mount), so it is not
    /// compared if there is a birth time.
    fn is(&self, data: &Metadata) -> bool {
        let same_device = data.dev() == self.device;
        data.ino() == self.inode && born(data) == self.born && (same_device || self.born.is_some())
    }

    fn remove_if_same(&self, lock: &Path) -> Result<bool, GitError> {
        match fs::symlink_metadata(lock) {
            // No other file can have been put here in between: a lock is never replaced while it exists.
            Ok(data) if self.is(&data) => fs::remove_file(lock).at("remove", lock).map(|()| true),
            Ok(_) => Ok(false),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).at("read", lock),
        }
    }

    /// Removes a lock that is older than this one. This lock has become the file that both of them lock, so the other had been
    /// released by then: a power cut has brought back its removed name, as happens on btrfs.
    fn remove_if_older(&self, lock: &Path, place: &Path) -> Result<bool, GitError> {
        let look = |path: &Path| match fs::symlink_metadata(path) {
            Ok(data) => Ok(Some(data)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).at("read", path),
        };
        let (Some(born), Some(placed), Some(other)) = (self.born, look(place)?, look(lock)?) else {
            return Ok(false);
        };
        // The time of the rename: the file may have been created long before.
        let named = u64::try_from(
            i128::from(other.ctime()) * 1_000_000_000 + i128::from(other.ctime_nsec()),
        );
        if !self.is(&placed) || !named.is_ok_and(|named| named < born) {
            return Ok(false);
        }
        fs::remove_file(lock).at("remove", lock).map(|()| true)
    }
}

/// Returns whether any process holds an advisory lock on a file.
pub(crate) fn is_held(path: &Path) -> bool {
    let held =
        |file: File| flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK);
    File::open(path).is_ok_and(held)
}

fn remove_temp(folder: &Path, name: &str) -> Result<(), GitError> {
    // The name comes from a record, which may be damaged.
    if !name.starts_with(TEMP_PREFIX) || name.contains('/') {
        return Ok(());
    }
    let path = folder.join(name);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).at("remove", &path),
        _ => Ok(()),
    }
}

fn born(data: &Metadata) -> Option<u64> {
    let since = data.created().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
}

/// A file that is ready to become a lock.
pub(crate) struct PendingLock {
    pub temp: Temp,
    pub file: LockFile,
}

impl PendingLock {
    pub(crate) fn create(folder: &Path, what: &str, mode: u32) -> Result<Self, GitError> {
        let temp = Temp::create(folder, what, mode)?;
        let file = LockFile::describe(&temp)?;
        Ok(Self { temp, file })
    }

    /// Renames the file to the lock's name; waits until the deadline while another process holds the lock.
    pub(crate) fn lock(mut self, place: PathBuf, deadline: Instant) -> Result<HeldLock, GitError> {
        let mut nap = SHORTEST_NAP;
        let mut parent_made = false;
        loop {
            match rename_new(&self.temp.path, &place) {
                Ok(()) => break,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    nap = rest(&place, nap, deadline)?;
                }
                // `git pack-refs` removes folders of branches that it has emptied. The first retry ignores the deadline; later ones
                // race with `git pack-refs`.
                Err(error)
                    if error.kind() == ErrorKind::NotFound
                        && (!parent_made || Instant::now() < deadline)
                        && self.temp.path.exists() =>
                {
                    create_parent(&place)?;
                    parent_made = true;
                }
                Err(error) => return Err(error).at("lock", &place),
            }
        }
        self.temp.named = true;
        Ok(HeldLock { place, temp: self.temp, mark: self.file, released: false })
    }
}

/// Waits until no process holds a lock, without taking it, so that the holder does not see files that are written before.
pub(crate) fn wait_while_held(place: &Path, deadline: Instant) -> Result<(), GitError> {
    let mut nap = SHORTEST_NAP;
    while place.exists() {
        nap = rest(place, nap, deadline)?;
    }
    Ok(())
}

/// Sleeps before the next try to lock; returns the next delay. Fails with `Locked` after the deadline.
fn rest(place: &Path, nap: Duration, deadline: Instant) -> Result<Duration, GitError> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        let age = fs::metadata(place).ok().and_then(|data| data.modified().ok()?.elapsed().ok());
        return Err(GitError::Locked { path: place.to_owned(), age });
    }
    thread::sleep(nap.min(left));
    Ok((nap * 2).min(LONGEST_NAP))
}

/// Renames a file; fails if the new name is taken.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems do not support that; a hard link has the same effect.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            fs::hard_link(from, to).and_then(|()| fs::remove_file(from))
        }
        other => other.map_err(io::Error::from),
    }
}

fn create_parent(place: &Path) -> Result<(), GitError> {
    let folder = place.parent().expect("a lock lies in a folder");
    fs::create_dir_all(folder).at("create", folder)
}

/// A lock that we hold; released when dropped.
pub(crate) struct HeldLock {
    place: PathBuf,
    temp: Temp,
    mark: LockFile,
    released: bool,
}

impl HeldLock {
    pub(crate) fn path(&self) -> &Path {
        &self.place
    }

    pub(crate) fn file(&self) -> &File {
        &self.temp.file
    }

    /// Returns the file to be synced, under the name that it will get. If its bytes were lost, git would find a broken index.
    pub(crate) fn unsynced(&self, target: &Path) -> Unsynced {
        Unsynced::new(Arc::clone(&self.temp.file), target, SyncPart::Everything)
    }

    /// Replaces the locked file by this one, durably.
    pub(crate) fn replace(self, target: &Path) -> Result<(), GitError> {
        sync_files(vec![self.unsynced(target)])?;
        self.rename_to(target).at("replace", target)?;
        sync_folder(target.parent().expect("what is locked lies in a folder"))
    }

    /// Replaces the locked file by this one. Fails if the lock is no longer ours: while the machine slept, the lock may have been
    /// removed as stale and taken by another process.
    pub(crate) fn rename_to(mut self, target: &Path) -> io::Result<()> {
        if !self.mark.is(&fs::symlink_metadata(&self.place)?) {
            let name = self.place.file_name().unwrap_or_default().display();
            return Err(io::Error::other(format!(
                "somebody took `{name}` away, which was held, and has it now"
            )));
        }
        fs::rename(&self.place, target)?;
        self.released = true;
        Ok(())
    }
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        if !self.released {
            // If this fails, the next `clear_stale` removes it.
            let _ = self.mark.remove_if_same(&self.place);
        }
    }
}
