//! The mark that a watcher lives: a shared flock on `.aof/watcher`, which the system takes back however its holder ends.
//!
//! Any number of watchers hold it together. It gives no right and says nothing of what they do; a kill leaves an empty file
//! that means nothing.

use std::fs::File;
use std::path::PathBuf;

use super::fs::error::OrIo;
use super::fs::lock_file::{FileLock, stands_at};
use super::layout::LOCAL;
use super::{Folder, Paths, StoreError};

const NAME: &str = "watcher";

/// The mark of one living watcher, until it is dropped.
#[derive(Debug)]
pub(crate) struct Presence {
    file: File,
    path: PathBuf,
}

impl Presence {
    /// Says that a watcher lives.
    pub(crate) fn announce(paths: &Paths) -> Result<Self, StoreError> {
        let file = paths.prepare_local()?.open_lock(NAME)?;
        let path = paths.local().join(NAME);
        // Whoever only asks holds the file for microseconds.
        fs4::FileExt::lock_shared(&file).or_io("lock", &path)?;
        Ok(Self { file, path })
    }

    /// Returns whether others can see the mark: somebody may have removed `.aof/`.
    pub(crate) fn is_visible(&self) -> bool {
        stands_at(&self.file, &self.path)
    }
}

/// Returns whether a watcher of the project lives.
pub(crate) fn is_watched(paths: &Paths) -> bool {
    let Ok(Some(folder)) = Folder::open_existing(paths.root(), LOCAL) else { return false };
    // Asking makes no file.
    let Ok(Some((file, _))) = folder.open_to_write(NAME) else { return false };
    matches!(FileLock::attempt(file, folder.path()), Ok(None))
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
