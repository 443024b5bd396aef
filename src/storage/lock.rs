//! The writer lock: one writer per project. Holding a [`WriterLock`] is the right to change task files.
//!
//! The lock is on `.aof/lock`, never on a task file, since a rename would escape it. Not re-entrant: a second attempt in the same
//! process waits like any other.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::fs::error::OrIo;
use super::layout::LOCAL;
use super::{Folder, Holder, Paths, StoreError};

const NAME: &str = "lock";
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// The writer lock, held until it is dropped.
#[derive(Debug)]
pub struct WriterLock {
    held: OwnedFile,
    paths: Paths,
    /// The folder `.aof/` of the lock.
    local: Folder,
}

impl WriterLock {
    /// Takes the lock; waits for it up to `wait`. Calls `on_wait` once, before the first pause, with the holder.
    pub(crate) fn acquire(
        paths: &Paths,
        holder: &Holder,
        wait: Duration,
        on_wait: &mut dyn FnMut(Option<&Holder>),
    ) -> Result<Self, StoreError> {
        let start = Instant::now();
        let mut pause = SHORTEST_PAUSE;
        let mut has_reported = false;
        loop {
            // This also writes the `.gitignore` of `.aof/`.
            let local = paths.prepare_local()?;
            let other = match OwnedFile::attempt(&local, NAME, paths.root(), holder)? {
                LockAttempt::Locked(held) => return Ok(Self { held, paths: paths.clone(), local }),
                LockAttempt::Held(other) => other,
                LockAttempt::Replaced => None,
            };
            let waited = start.elapsed();
            if waited >= wait {
                return Err(StoreError::LockTimedOut { path: paths.lock(), waited, holder: other });
            }
            if !has_reported {
                on_wait(other.as_ref());
                has_reported = true;
            }
            thread::sleep(pause.min(wait.saturating_sub(waited)));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Returns a handle that keeps the lock for another program to inherit: if this process is killed, the lock lasts until that
    /// program ends.
    pub(crate) fn share(&self) -> Result<File, StoreError> {
        self.held.share()
    }

    /// Returns the paths of the locked project.
    pub(crate) fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Returns the folder of the lock, as opened when the lock was taken.
    pub(crate) fn local(&self) -> &Folder {
        &self.local
    }
}

const WATCHER: &str = "watch.lock";
const RUNNER: &str = "run.lock";
const SYNC: &str = "sync.lock";

/// A process that works on while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    /// `aof watch`, or a server that watches.
    Watcher,
    /// `aof run --follow`.
    Runner,
}

impl Service {
    const fn file_name(self) -> &'static str {
        match self {
            Self::Watcher => WATCHER,
            Self::Runner => RUNNER,
        }
    }
}

/// The presence of the one running service, until it is dropped.
#[derive(Debug)]
pub(crate) struct Presence {
    file: File,
    path: PathBuf,
}

impl Presence {
    /// Announces the running service; `None` if another one runs.
    pub(crate) fn attempt(paths: &Paths, service: Service) -> Result<Option<Self>, StoreError> {
        let file = paths.prepare_local()?.open_lock(service.file_name())?;
        let path = paths.local().join(service.file_name());
        let is_ours = try_lock(&file, &path)? && stands_at(&file, &path);
        Ok(is_ours.then_some(Self { file, path }))
    }

    /// Returns whether other processes can see it: `.aof/` may have been removed.
    pub(crate) fn is_visible(&self) -> bool {
        stands_at(&self.file, &self.path)
    }
}

/// Returns whether a watcher of the project runs.
pub(crate) fn is_watched(paths: &Paths) -> bool {
    is_running(paths, Service::Watcher)
}

/// Returns whether a service of the project runs.
pub(crate) fn is_running(paths: &Paths, service: Service) -> bool {
    let Ok(Some(folder)) = Folder::open_existing(paths.root(), LOCAL) else { return false };
    // This check creates no file.
    let Ok(Some((file, _))) = folder.open_to_write(service.file_name()) else { return false };
    matches!(FileLock::attempt(file, folder.path()), Ok(None))
}

/// The largest record of a holder that is read.
pub(crate) const RECORD_LIMIT: u64 = 4096;

/// A file or folder, locked until this is dropped.
#[derive(Debug)]
pub(crate) struct FileLock(File);

impl FileLock {
    /// Locks an open file; `None` if another process has the lock.
    pub(crate) fn attempt(file: File, path: &Path) -> Result<Option<Self>, StoreError> {
        Ok(try_lock(&file, path)?.then_some(Self(file)))
    }

    /// Locks the file `lock` in a folder, and creates it if it is missing; `None` if another process has the lock.
    pub(crate) fn in_folder(folder: &Folder) -> Result<Option<Self>, StoreError> {
        Self::attempt(folder.open_lock("lock")?, &folder.path().join("lock"))
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing alone is not enough: a child process between fork and exec still has a copy of the handle.
        let _ = fs4::FileExt::unlock(&self.0);
    }
}

/// Waits until no other sync of this clone is running, so that they do not race for the remote. Returns no lock at the deadline: then
/// the remote decides which of them is first.
pub(crate) fn sync_turn(paths: &Paths, deadline: Instant) -> Result<Option<FileLock>, StoreError> {
    let local = paths.prepare_local()?;
    loop {
        let lock = FileLock::attempt(local.open_lock(SYNC)?, &paths.local().join(SYNC))?;
        if lock.is_some() || Instant::now() >= deadline {
            return Ok(lock);
        }
        thread::sleep(LONGEST_PAUSE);
    }
}

fn try_lock(file: &File, path: &Path) -> Result<bool, StoreError> {
    match fs4::FileExt::try_lock(file) {
        Ok(()) => Ok(true),
        Err(fs4::TryLockError::WouldBlock) => Ok(false),
        Err(fs4::TryLockError::Error(cause)) => Err(StoreError::io("lock", path, cause)),
    }
}

/// A locked file with a record of its holder. A kill leaves the record, which is meaningless while the lock is free.
#[derive(Debug)]
pub(crate) struct OwnedFile {
    lock: FileLock,
    path: PathBuf,
    /// The length of the record.
    size: usize,
}

/// The result of an attempt to lock an [`OwnedFile`].
#[derive(Debug)]
pub(crate) enum LockAttempt {
    Locked(OwnedFile),
    /// Another process has the lock: the one that the file names, if any.
    Held(Option<Holder>),
    /// The file was removed or replaced while it was being locked.
    Replaced,
}

impl OwnedFile {
    /// Tries to lock the file of that name, and creates it if it is missing. Fails on a network file system, with the project's path.
    pub(crate) fn attempt(
        folder: &Folder,
        name: &str,
        project: &Path,
        us: &Holder,
    ) -> Result<LockAttempt, StoreError> {
        Self::attempt_on(folder.open_lock(name)?, folder.path().join(name), project, us)
    }

    fn attempt_on(
        mut file: File,
        path: PathBuf,
        project: &Path,
        us: &Holder,
    ) -> Result<LockAttempt, StoreError> {
        if let Some(kind) = network_kind(&file).or_io("lock", &path)? {
            return Err(StoreError::NetworkFileSystem { path: project.to_owned(), kind });
        }
        if !try_lock(&file, &path)? {
            return Ok(LockAttempt::Held(record_in(&mut file)));
        }
        // Checked by path: the folder itself may have been replaced.
        if !stands_at(&file, &path) {
            return Ok(LockAttempt::Replaced);
        }
        let length = file.metadata().or_io("lock", &path)?.len();
        if length > RECORD_LIMIT {
            file.set_len(0).or_io("lock", &path)?;
        }
        // The file keeps its size, and the rest is blanked: truncating is far slower, because the system then waits for earlier
        // writes to reach the disk.
        let mut record = serde_json::to_vec(us).expect("a record of plain fields is JSON");
        let blanked = if length > RECORD_LIMIT { 0 } else { usize::try_from(length).unwrap_or(0) };
        record.resize(record.len().max(blanked), b' ');
        file.write_all_at(&record, 0).or_io("write", &path)?;
        Ok(LockAttempt::Locked(Self { lock: FileLock(file), path, size: record.len() }))
    }

    /// Returns a second handle of the lock, which keeps it after this process is killed; dropping this one unlocks both.
    pub(crate) fn share(&self) -> Result<File, StoreError> {
        self.lock.0.try_clone().or_io("lock", &self.path)
    }
}

impl Drop for OwnedFile {
    fn drop(&mut self) {
        // Blanks the record, so that a later waiter is not shown this holder.
        let _ = self.lock.0.write_all_at(&vec![b' '; self.size], 0);
    }
}

fn record_in(file: &mut File) -> Option<Holder> {
    let mut bytes = Vec::new();
    // The file was just opened, so its cursor is at the start.
    file.take(RECORD_LIMIT).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Returns whether an open file is still the one at that path.
pub(crate) fn stands_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(ours), Ok(now)) => (now.ino(), now.dev()) == (ours.ino(), ours.dev()),
        _ => false,
    }
}

/// Returns the kind of network file system of the file; `None` on a local one.
pub(crate) fn network_kind(file: &File) -> rustix::io::Result<Option<&'static str>> {
    rustix::fs::fstatfs(file).map(|stat| kind_of(&stat))
}

/// Returns the kind of network file system of a folder; `None` on a local one.
pub(crate) fn network_file_system(folder: &Path) -> Result<Option<&'static str>, StoreError> {
    let opened = File::open(folder).or_io("open", folder)?;
    network_kind(&opened).or_io("look at", folder)
}

#[cfg(target_os = "linux")]
fn kind_of(stat: &rustix::fs::StatFs) -> Option<&'static str> {
    // The type of the field differs between architectures; magic numbers have 32 bits on all of them.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::unnecessary_cast)]
    let magic = stat.f_type as u32;
    kind_of_magic(magic)
}

#[cfg(target_os = "linux")]
fn kind_of_magic(magic: u32) -> Option<&'static str> {
    match magic {
        0x0000_6969 => Some("NFS"),
        0x0000_517B | 0xFF53_4D42 | 0xFE53_4D42 => Some("an SMB share"),
        0x5346_414F | 0x6B41_4653 => Some("AFS"),
        0x0102_1997 => Some("a 9p share"),
        0x0000_564C => Some("a NetWare share"),
        0x7375_7245 => Some("Coda"),
        _ => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn kind_of(stat: &rustix::fs::StatFs) -> Option<&'static str> {
    let name: String = stat
        .f_fstypename
        .iter()
        .filter_map(|byte| u8::try_from(*byte).ok())
        .take_while(|byte| *byte != 0)
        .map(char::from)
        .collect();
    match name.as_str() {
        "nfs" => Some("NFS"),
        "smbfs" => Some("an SMB share"),
        "afpfs" => Some("an AFP share"),
        "webdav" => Some("a WebDAV share"),
        _ => None,
    }
}

#[cfg(test)]
mod lock_file_tests {
    use tempfile::TempDir;

    use super::*;

    fn us() -> Holder {
        Holder::this_process("aof watch", jiff::Timestamp::UNIX_EPOCH)
    }

    fn attempt(folder: &Folder) -> LockAttempt {
        OwnedFile::attempt(folder, "lock", folder.path(), &us()).unwrap()
    }

    #[test]
    fn a_file_that_was_removed_between_opening_and_locking_is_nobody_s() {
        let home = TempDir::new().unwrap();
        let folder = Folder::create(home.path(), "").unwrap();
        let path = home.path().join("lock");
        for replace in [|folder: &Folder| drop(folder.open_lock("lock").unwrap()), |_: &Folder| ()]
        {
            let file = folder.open_lock("lock").unwrap();
            fs::remove_file(&path).unwrap();
            replace(&folder);
            let outcome = OwnedFile::attempt_on(file, path.clone(), home.path(), &us()).unwrap();
            assert!(matches!(outcome, LockAttempt::Replaced));
            assert!(matches!(attempt(&folder), LockAttempt::Locked(_)));
        }
    }

    #[test]
    fn no_copy_of_the_file_keeps_it() {
        let home = TempDir::new().unwrap();
        let folder = Folder::create(home.path(), "").unwrap();
        let LockAttempt::Locked(held) = attempt(&folder) else { panic!() };
        let flags = rustix::io::fcntl_getfd(&held.lock.0).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC), "an agent would inherit the lock");
        // The copy that a process has between fork and exec.
        let copy = held.lock.0.try_clone().unwrap();
        assert!(matches!(attempt(&folder), LockAttempt::Held(Some(other)) if other == us()));
        drop(held);
        assert!(matches!(attempt(&folder), LockAttempt::Locked(_)));
        drop(copy);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn shares_are_distinguished_from_local_disks() {
        assert_eq!(kind_of_magic(0x6969), Some("NFS"));
        assert_eq!(kind_of_magic(0xFF53_4D42), Some("an SMB share"));
        // ext, tmpfs, btrfs, xfs, overlay.
        for local in [0xEF53, 0x0102_1994, 0x9123_683E, 0x5846_5342, 0x794C_7630] {
            assert_eq!(kind_of_magic(local), None, "{local:x}");
        }
    }

    #[test]
    fn the_folder_of_temporary_files_is_local() {
        assert_eq!(network_kind(&tempfile::tempfile().unwrap()), Ok(None));
    }
}

#[cfg(test)]
mod watcher_presence_tests {
    use super::*;
    use tempfile::TempDir;

    #[test]
    fn a_project_is_watched_by_one_watcher_at_a_time() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        assert!(!is_watched(&paths) && !paths.local().exists());
        let one = Presence::attempt(&paths, Service::Watcher).unwrap();
        assert!(one.is_some() && Presence::attempt(&paths, Service::Watcher).unwrap().is_none());
        assert!(is_watched(&paths) && is_watched(&paths));
        drop(one);
        let two = Presence::attempt(&paths, Service::Watcher).unwrap();
        assert!(two.is_some() && is_watched(&paths));
        drop(two);
        assert!(!is_watched(&paths));
    }

    #[test]
    fn a_mark_that_was_removed_is_known_to_be_invisible() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        let mark = Presence::attempt(&paths, Service::Watcher).unwrap().unwrap();
        assert!(mark.is_visible());
        std::fs::remove_dir_all(paths.local()).unwrap();
        assert!(!mark.is_visible() && !is_watched(&paths));
        let again = Presence::attempt(&paths, Service::Watcher).unwrap().unwrap();
        assert!(again.is_visible() && is_watched(&paths));
    }
}

#[cfg(test)]
mod tests;
