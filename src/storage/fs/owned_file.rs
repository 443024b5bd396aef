//! A file that one process has at a time, with the record of who has it.
//!
//! An flock, which the system takes back when its holder ends, however it ends. Whoever gets it checks that the path still is the
//! file that was locked, for somebody may have removed its folder. A kill leaves the name of its holder in the file, which means
//! nothing while the lock is free.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::filesystem_check::network_kind;
use crate::storage::{Folder, Holder, StoreError};

/// More than any record has; the rest of a foreign file is not read.
const RECORD_LIMIT: u64 = 4096;

/// A file that is ours, until it is dropped.
#[derive(Debug)]
pub(crate) struct Marked {
    file: File,
    path: PathBuf,
    /// How many bytes the file has that somebody could read.
    size: usize,
}

/// What came of an attempt to get such a file.
#[derive(Debug)]
pub(crate) enum Attempt {
    /// It is ours.
    Locked(Marked),
    /// Somebody else has it: who, as far as the file tells.
    Held(Option<Holder>),
    /// It was removed or exchanged while it was being locked.
    Replaced,
}

impl Marked {
    /// Tries to get the file of that name, which is made if need be. The project is named where its file system has no such locks.
    pub(crate) fn attempt(
        folder: &Folder,
        name: &str,
        project: &Path,
        us: &Holder,
    ) -> Result<Attempt, StoreError> {
        Self::attempt_on(folder.open_lock(name)?, folder.path().join(name), project, us)
    }

    fn attempt_on(
        mut file: File,
        path: PathBuf,
        project: &Path,
        us: &Holder,
    ) -> Result<Attempt, StoreError> {
        let fault = |cause: io::Error| StoreError::io("lock", &path, cause);
        if let Some(kind) = network_kind(&file).map_err(|cause| fault(cause.into()))? {
            return Err(StoreError::NetworkFileSystem { path: project.to_owned(), kind });
        }
        match fs4::FileExt::try_lock(&file) {
            Ok(()) => {}
            Err(fs4::TryLockError::WouldBlock) => return Ok(Attempt::Held(record_in(&mut file))),
            Err(fs4::TryLockError::Error(cause)) => return Err(fault(cause)),
        }
        let locked = file.metadata().map_err(fault)?;
        // By its path again: the folder itself may have been exchanged.
        let standing = fs::symlink_metadata(&path);
        if !standing.is_ok_and(|now| (now.ino(), now.dev()) == (locked.ino(), locked.dev())) {
            return Ok(Attempt::Replaced);
        }
        let mut size = usize::try_from(locked.len()).unwrap_or(usize::MAX);
        if locked.len() > RECORD_LIMIT {
            file.set_len(0).map_err(fault)?;
            size = 0;
        }
        Self { file, path, size }.marked(us).map(Attempt::Locked)
    }

    /// Writes the record over whatever is there. The file keeps its size: to cut it off costs far more than to blank the rest,
    /// because the system then waits until what was written before is on the disk.
    fn marked(mut self, us: &Holder) -> Result<Self, StoreError> {
        let mut record = serde_json::to_vec(us).expect("a record of plain fields is JSON");
        record.resize(record.len().max(self.size), b' ');
        self.file
            .write_all_at(&record, 0)
            .map_err(|cause| StoreError::io("write", &self.path, cause))?;
        self.size = record.len();
        Ok(self)
    }
}

impl Drop for Marked {
    fn drop(&mut self) {
        // The next holder's waiters shall not be shown this one.
        let _ = self.file.write_all_at(&vec![b' '; self.size], 0);
        // Closing the file would do, but for a process that is just being started and still has a copy of it.
        let _ = fs4::FileExt::unlock(&self.file);
    }
}

impl Marked {
    /// Returns another hold on the file: it stays ours until that one is closed too, unless this is dropped.
    pub(crate) fn share(&self) -> Result<File, StoreError> {
        self.file.try_clone().map_err(|cause| StoreError::io("lock", &self.path, cause))
    }
}

/// Returns who wrote such a file last: the holder, while it is held.
pub(crate) fn holder(folder: &Folder, name: &str) -> Option<Holder> {
    let (bytes, _) = folder.read(name, RECORD_LIMIT).ok()??;
    serde_json::from_slice(&bytes).ok()
}

fn record_in(file: &mut File) -> Option<Holder> {
    let mut bytes = Vec::new();
    // It was opened just now, so its cursor is at the start.
    file.take(RECORD_LIMIT).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn us() -> Holder {
        Holder::this_process("aof watch", jiff::Timestamp::UNIX_EPOCH)
    }

    fn attempt(folder: &Folder) -> Attempt {
        Marked::attempt(folder, "lock", folder.path(), &us()).unwrap()
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
            let outcome = Marked::attempt_on(file, path.clone(), home.path(), &us()).unwrap();
            assert!(matches!(outcome, Attempt::Replaced));
            assert!(matches!(attempt(&folder), Attempt::Locked(_)));
        }
    }

    #[test]
    fn no_copy_of_the_file_keeps_it() {
        let home = TempDir::new().unwrap();
        let folder = Folder::create(home.path(), "").unwrap();
        let Attempt::Locked(held) = attempt(&folder) else { panic!() };
        let flags = rustix::io::fcntl_getfd(&held.file).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC), "an agent would inherit the lock");
        // What a process has between fork and exec.
        let copy = held.file.try_clone().unwrap();
        assert!(matches!(attempt(&folder), Attempt::Held(Some(other)) if other == us()));
        drop(held);
        assert!(matches!(attempt(&folder), Attempt::Locked(_)));
        drop(copy);
    }
}
