//! Git's own lock files, taken so that after a kill it is certain which ones are ours.
//!
//! A temp file is made first, so its inode number is known; the caller writes that down (`Locks`); only then does the
//! file get its lock name, which fails if the name is taken. Whoever recovers later removes a lock file only if
//! it is that very file, and for a branch only if it also holds the recorded commit.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::git::error::{At, GitError};
use crate::git::id::CommitId;
use crate::git::objects::git_file;
use crate::git::objects::loose::{Temp, sync_files, sync_folder};
use crate::git::repository::handle::Repository;
use crate::system::disk::{SyncPart, Unsynced};

const TEMP_PREFIX: &str = "aof-";
/// What the copies of the index are called.
pub(crate) const INDEX_COPY: &str = "aof-index-copy";
const TEMP_AGE: Duration = Duration::from_hours(1);
const SHORTEST_NAP: Duration = Duration::from_micros(500);
const LONGEST_NAP: Duration = Duration::from_millis(10);

/// What has to be written down before git's locks are taken, to tell afterwards whose they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locks {
    pub index: LockFile,
    /// `None` when only the index is being healed.
    pub branch: Option<BranchLock>,
    /// Older records lack this: `Coming` is assumed.
    #[serde(default)]
    pub files: IncomingFiles,
}

/// What may have become of files that come into the worktree from a commit. Those that the caller itself writes are its own to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IncomingFiles {
    /// Each is as it was: none comes, or what is in the way is still being asked.
    Untouched,
    /// Some may have come.
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
    /// Its name before it became a lock, in the folder of the index or of the branches.
    pub temp: String,
    pub device: u64,
    pub inode: u64,
    /// Nanoseconds since 1970, where the file system knows; inode numbers are used again, birthdays are not.
    pub born: Option<u64>,
}

/// How the process ended that had taken the locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, or by a kill: its files are as it left them.
    Kill,
    /// With the machine, perhaps: a power cut may have brought back names that were gone.
    Restart,
}

/// What `clear_stale` found and removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleared {
    pub index_lock: bool,
    pub branch_lock: bool,
    /// Whether the branch has got to the commit that the locks were taken for; it may have gone on since.
    pub landed: bool,
}

impl Repository {
    /// Removes the locks that a killed process left, if they are provably the recorded ones, or provably nobody's. The caller holds
    /// the project's writer lock, so that process is gone. The removal is synced before the record may go.
    pub fn clear_stale(&self, locks: &Locks, end: End) -> Result<Cleared, GitError> {
        let index_lock = self.git_dir().join("index.lock");
        let mut cleared = Cleared {
            index_lock: locks.index.remove_if_same(&index_lock)?,
            branch_lock: false,
            landed: false,
        };
        cleared.index_lock |= end == End::Restart
            && locks.index.remove_if_before(&index_lock, &self.git_dir().join("index"))?;
        remove_temp(self.git_dir(), &locks.index.temp)?;
        if let Some(branch) = &locks.branch {
            let place = self.reference_path(&branch.reference);
            let lock = self.common_dir().join(format!("{}.lock", branch.reference));
            if git_file::read(&lock)
                .is_ok_and(|content| content == format!("{}\n", branch.to).as_bytes())
            {
                cleared.branch_lock = branch.file.remove_if_same(&lock)?;
            }
            cleared.branch_lock |=
                end == End::Restart && branch.file.remove_if_before(&lock, &place)?;
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

    /// Removes temp files of ours that a kill left before their names were told to anybody; returns how many.
    ///
    /// They live for milliseconds, or are held locked, so an old one that nobody holds has no owner any more.
    pub fn sweep_temps(&self) -> Result<usize, GitError> {
        let abandoned = self.abandoned_temps()?;
        for path in &abandoned {
            fs::remove_file(path).at("remove", path)?;
        }
        Ok(abandoned.len())
    }

    /// Returns those files.
    pub fn abandoned_temps(&self) -> Result<Vec<PathBuf>, GitError> {
        let mut found = Vec::new();
        for folder in BTreeSet::from([self.git_dir(), self.common_dir()]) {
            for entry in fs::read_dir(folder).at("read", folder)? {
                let entry = entry.at("read", folder)?;
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let is_ours = name.starts_with(TEMP_PREFIX);
                // A copy has the time of what it is a copy of.
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

    /// After a restart the device may be called otherwise (on btrfs any mount may), so a birthday has to be enough where there is one.
    fn is(&self, data: &Metadata) -> bool {
        let same_device = data.dev() == self.device;
        data.ino() == self.inode && born(data) == self.born && (same_device || self.born.is_some())
    }

    fn remove_if_same(&self, lock: &Path) -> Result<bool, GitError> {
        match fs::symlink_metadata(lock) {
            // Nobody can have put another file here in between: a lock's name is never replaced while it exists.
            Ok(data) if self.is(&data) => fs::remove_file(lock).at("remove", lock).map(|()| true),
            Ok(_) => Ok(false),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).at("read", lock),
        }
    }

    /// Removes a lock that was there before this one was taken. This one has got to the place that both of them lock, so whoever had
    /// the other had given it up by then: it is a name that was gone, and that a power cut has brought back (btrfs does that).
    fn remove_if_before(&self, lock: &Path, place: &Path) -> Result<bool, GitError> {
        let look = |path: &Path| match fs::symlink_metadata(path) {
            Ok(data) => Ok(Some(data)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).at("read", path),
        };
        let (Some(born), Some(placed), Some(other)) = (self.born, look(place)?, look(lock)?) else {
            return Ok(false);
        };
        // When it got that name: it may have been made long before.
        let named = u64::try_from(
            i128::from(other.ctime()) * 1_000_000_000 + i128::from(other.ctime_nsec()),
        );
        if !self.is(&placed) || !named.is_ok_and(|named| named < born) {
            return Ok(false);
        }
        fs::remove_file(lock).at("remove", lock).map(|()| true)
    }
}

/// Says whether anybody holds a file locked.
pub(crate) fn is_held(path: &Path) -> bool {
    let held =
        |file: File| flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK);
    File::open(path).is_ok_and(held)
}

fn remove_temp(folder: &Path, name: &str) -> Result<(), GitError> {
    // A record may be damaged, or somebody else's.
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
pub(crate) struct Unlocked {
    pub temp: Temp,
    pub file: LockFile,
}

impl Unlocked {
    pub(crate) fn create(folder: &Path, what: &str, mode: u32) -> Result<Self, GitError> {
        let temp = Temp::create(folder, what, mode)?;
        let file = LockFile::describe(&temp)?;
        Ok(Self { temp, file })
    }

    /// Makes the file a lock; waits until the deadline while somebody else has it.
    pub(crate) fn lock(mut self, place: PathBuf, deadline: Instant) -> Result<Held, GitError> {
        let mut nap = SHORTEST_NAP;
        let mut parent_made = false;
        loop {
            match rename_new(&self.temp.path, &place) {
                Ok(()) => break,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    nap = rest(&place, nap, deadline)?;
                }
                // `git pack-refs` removes folders of branches that it has emptied. That nobody waits does not matter the first
                // time; later ones are a race with it.
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
        Ok(Held { place, temp: self.temp, mark: self.file, released: false })
    }
}

/// Waits until nobody has a lock, without taking it: whoever has it should not meet what is written before one takes it oneself.
pub(crate) fn wait_while_held(place: &Path, deadline: Instant) -> Result<(), GitError> {
    let mut nap = SHORTEST_NAP;
    while place.exists() {
        nap = rest(place, nap, deadline)?;
    }
    Ok(())
}

/// Sleeps while somebody has that lock; returns how long the next time. It is a fault when the time is over.
fn rest(place: &Path, nap: Duration, deadline: Instant) -> Result<Duration, GitError> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        let age = fs::metadata(place).ok().and_then(|data| data.modified().ok()?.elapsed().ok());
        return Err(GitError::Locked { path: place.to_owned(), age });
    }
    thread::sleep(nap.min(left));
    Ok((nap * 2).min(LONGEST_NAP))
}

/// Renames a file to a name that nothing may have yet.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems know no such rename: a second link is as good.
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

/// A lock that is ours; given back when dropped.
pub(crate) struct Held {
    place: PathBuf,
    temp: Temp,
    mark: LockFile,
    released: bool,
}

impl Held {
    pub(crate) fn path(&self) -> &Path {
        &self.place
    }

    pub(crate) fn file(&self) -> &File {
        &self.temp.file
    }

    /// Returns the file as one that waits for the disk, under the name that it is about to have. Without its bytes what has that name
    /// would be no index, for git either.
    pub(crate) fn unsynced(&self, target: &Path) -> Result<Unsynced, GitError> {
        Unsynced::new(self.file(), target, SyncPart::Everything).at("hold open", target)
    }

    /// Puts the file in the place of the one that it locks, for good.
    pub(crate) fn replace(self, target: &Path) -> Result<(), GitError> {
        sync_files(vec![self.unsynced(target)?])?;
        self.rename_to(target).at("replace", target)?;
        sync_folder(target.parent().expect("what is locked lies in a folder"))
    }

    /// Puts the file in the place of the one that it locks. Whoever takes a lock away that looks stale, as ours does while the machine
    /// sleeps, lets somebody else have it: what stands there by then is theirs.
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

impl Drop for Held {
    fn drop(&mut self) {
        if !self.released {
            // If this fails, the next `clear_stale` removes it.
            let _ = self.mark.remove_if_same(&self.place);
        }
    }
}
