//! The mark that a watcher lives: a shared flock on `.aof/watcher`, which the system takes back however its holder ends.
//!
//! Any number of watchers hold it together. It gives no right and says nothing of what they do; a kill leaves an empty file
//! that means nothing.

use std::fs::File;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::storage::fs::lock_file::stands_at;
use crate::storage::layout::LOCAL;
use crate::storage::{Folder, Paths, StoreError};

const NAME: &str = "watcher";
/// Whoever only asks holds the file for microseconds.
const PATIENCE: Duration = Duration::from_secs(1);

/// The mark of one living watcher, until it is dropped.
#[derive(Debug)]
pub(crate) struct Presence {
    file: File,
    paths: Paths,
}

impl Presence {
    /// Says that a watcher lives.
    pub(crate) fn announce(paths: &Paths) -> Result<Self, StoreError> {
        paths.prepare_local()?;
        let file = Folder::open(paths.root(), LOCAL)?.open_lock(NAME)?;
        let start = Instant::now();
        loop {
            match fs4::FileExt::try_lock_shared(&file) {
                Ok(()) => return Ok(Self { file, paths: paths.clone() }),
                Err(fs4::TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                    thread::sleep(Duration::from_millis(1));
                }
                Err(fs4::TryLockError::WouldBlock) => {
                    return Err(StoreError::LockTimedOut {
                        path: place(paths),
                        waited: PATIENCE,
                        holder: None,
                    });
                }
                Err(fs4::TryLockError::Error(cause)) => {
                    return Err(StoreError::io("lock", &place(paths), cause));
                }
            }
        }
    }

    /// Returns whether others can see the mark: somebody may have removed `.aof/`.
    pub(crate) fn is_visible(&self) -> bool {
        stands_at(&self.file, &place(&self.paths))
    }
}

/// Returns whether a watcher of the project lives.
pub(crate) fn is_watched(paths: &Paths) -> bool {
    let Ok(Some(folder)) = Folder::open_existing(paths.root(), LOCAL) else { return false };
    // Asking makes no file.
    let Ok(Some(_)) = folder.kind(NAME) else { return false };
    let Ok(file) = folder.open_lock(NAME) else { return false };
    match fs4::FileExt::try_lock(&file) {
        Err(fs4::TryLockError::WouldBlock) => true,
        Ok(()) | Err(fs4::TryLockError::Error(_)) => false,
    }
}

fn place(paths: &Paths) -> PathBuf {
    paths.local().join(NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    #[test]
    fn a_project_is_watched_while_any_watcher_lives() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        assert!(!is_watched(&paths) && !paths.local().exists());
        let (one, two) = (Presence::announce(&paths).unwrap(), Presence::announce(&paths).unwrap());
        assert!(is_watched(&paths));
        drop(one);
        assert!(is_watched(&paths) && is_watched(&paths));
        drop(two);
        assert!(!is_watched(&paths));
    }

    #[test]
    fn a_mark_that_was_removed_is_known_to_be_invisible() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        let mark = Presence::announce(&paths).unwrap();
        assert!(mark.is_visible());
        std::fs::remove_dir_all(paths.local()).unwrap();
        assert!(!mark.is_visible() && !is_watched(&paths));
        let again = Presence::announce(&paths).unwrap();
        assert!(again.is_visible() && is_watched(&paths));
    }
}
