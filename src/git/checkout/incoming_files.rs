//! Files on their way into the worktree. Each is written whole into a folder beside; then it gets its place by a rename. So a kill, or a
//! power cut, leaves no part of a file where people look, and what others' filters take their time for is done before any lock is taken.
//! This is the folder; `beside` has the files written, `placed` gives them their places.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::git::error::{At, AuditError};
use crate::git::objects::loose::{nonce, sync_files};
use crate::git::objects::tree::MODE_EXECUTABLE;
use crate::system::disk::{Part, Unsynced};

/// What the folders are called; one is locked as long as somebody writes into it.
const PREFIX: &str = "coming_";
/// So many files are held open at once.
const SYNCED_AT_ONCE: usize = 200;

/// Files that are written, and have not got their places.
pub struct Coming {
    pub(crate) folder: PathBuf,
    /// Holds the lock on the folder.
    pub(crate) held: File,
    /// Where each of them is to be, and where it is until then.
    pub(crate) files: Vec<(String, PathBuf)>,
}

impl Coming {
    /// Makes the folder, and removes those that a kill left.
    pub(crate) fn begin(beside: &Path) -> Result<Self, AuditError> {
        fs::create_dir_all(beside).at("make", beside)?;
        for entry in fs::read_dir(beside).at("read", beside)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(PREFIX) {
                remove_abandoned(&entry.path());
            }
        }
        loop {
            let folder = beside.join(format!("{PREFIX}{}", nonce()?));
            fs::create_dir(&folder).at("make", &folder)?;
            if let Some(held) = hold(&folder)? {
                return Ok(Self { folder, held, files: Vec::new() });
            }
        }
    }

    /// Returns the folder that stands for the worktree's root.
    pub(crate) fn place(&self) -> PathBuf {
        self.folder.join("files")
    }

    /// Writes a file of that mode. Its path comes from elsewhere, so it is no part of where this is.
    pub(crate) fn write(&mut self, path: &str, mode: u32, bytes: &[u8]) -> Result<(), AuditError> {
        let place = self.folder.join(self.files.len().to_string());
        let mode = if mode == MODE_EXECUTABLE { 0o777 } else { 0o666 };
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&place);
        file.and_then(|mut file| file.write_all(bytes)).at("write", &place)?;
        self.files.push((path.to_owned(), place));
        Ok(())
    }

    /// Has the files survive a power cut, so that what gets a name is whole.
    pub(crate) fn sync(&self) -> Result<(), AuditError> {
        for files in self.files.chunks(SYNCED_AT_ONCE) {
            let mut waiting = Vec::new();
            for (_, path) in files {
                if fs::symlink_metadata(path).is_ok_and(|data| data.is_file()) {
                    let file = File::open(path).at("open", path)?;
                    waiting.push(Unsynced::new(&file, path, Part::Bytes).at("hold open", path)?);
                }
            }
            sync_files(waiting)?;
        }
        Ok(())
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        // What stays is removed by the next one.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Locks the folder; nothing where somebody took it for abandoned before that. Whatever else fails would fail with the next one, too.
fn hold(folder: &Path) -> Result<Option<File>, AuditError> {
    let held = match File::open(folder) {
        Ok(held) => held,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).at("open", folder),
    };
    match flock(&held, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(None),
        Err(error) => return Err(error.into()).at("lock", folder),
    }
    let same = |there: fs::Metadata| held.metadata().is_ok_and(|ours| ours.ino() == there.ino());
    Ok(fs::metadata(folder).is_ok_and(same).then_some(held))
}

/// Removes the folder unless somebody writes into it.
fn remove_abandoned(folder: &Path) {
    let Ok(held) = File::open(folder) else { return };
    if flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok() {
        // Should it stay, the next one tries again.
        let _ = fs::remove_dir_all(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_held_for_good_is_told() {
        let beside = tempfile::tempdir().unwrap();
        let folder = beside.path().join("coming_1");
        assert!(hold(&folder).unwrap().is_none(), "somebody removed it");
        fs::create_dir(&folder).unwrap();
        let held = hold(&folder).unwrap();
        assert!(held.is_some() && hold(&folder).unwrap().is_none(), "somebody holds it");
        let file = beside.path().join("file");
        fs::write(&file, "").unwrap();
        let error = hold(&file.join("coming_1")).unwrap_err();
        assert!(error.to_string().starts_with("cannot open `"), "{error}");
    }
}
