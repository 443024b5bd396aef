//! File events of the system: which folders are watched, and again when they are replaced.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::{Error, ErrorKind, Event, RecommendedWatcher, RecursiveMode, Watcher};

use super::wakeup::{Wakeup, WatchedPaths};

/// The file events of a watcher. Without them it polls.
pub(crate) struct FileEvents {
    watcher: Option<RecommendedWatcher>,
    places: WatchedPaths,
    /// Which folder is watched at each path.
    watched: HashMap<PathBuf, FolderId>,
}

/// Device and inode.
type FolderId = (u64, u64);

impl FileEvents {
    /// Opens them. Fails where the system gives no events.
    pub(crate) fn open(places: WatchedPaths, wakeup: &Arc<Wakeup>) -> Result<Self, String> {
        let (ring, sorted) = (Arc::clone(wakeup), places.clone());
        let watcher = notify::recommended_watcher(move |event: Result<Event, Error>| match event {
            Ok(event) => ring.note(&sorted, &event),
            Err(_) => ring.note_loss(),
        });
        let watcher = watcher.map_err(|fault| plain(&fault))?;
        let mut file_events = Self { watcher: Some(watcher), places, watched: HashMap::new() };
        file_events.refresh()?;
        Ok(file_events)
    }

    /// Returns none.
    pub(crate) fn blind(places: WatchedPaths) -> Self {
        Self { watcher: None, places, watched: HashMap::new() }
    }

    /// Returns whether the system gives events.
    pub(crate) fn see(&self) -> bool {
        self.watcher.is_some()
    }

    /// Watches the folders that were created or replaced since the last call.
    pub(crate) fn refresh(&mut self) -> Result<(), String> {
        let Some(watcher) = &mut self.watcher else { return Ok(()) };
        for (path, mode) in wanted(&self.places) {
            let standing = folder_at(&path);
            if self.watched.get(&path).copied() == standing {
                continue;
            }
            if self.watched.remove(&path).is_some() {
                // The system may have forgotten a removed folder.
                let _ = watcher.unwatch(&path);
            }
            let Some(folder) = standing else { continue };
            match watcher.watch(&path, mode) {
                Ok(()) => {
                    self.watched.insert(path, folder);
                }
                // It is gone again: the next call looks for it.
                Err(Error { kind: ErrorKind::PathNotFound, .. }) => {}
                Err(fault) if is_not_found(&fault) => {}
                Err(fault) => {
                    self.watcher = None;
                    return Err(format!(
                        "`{}` cannot be watched: {}",
                        path.display(),
                        plain(&fault)
                    ));
                }
            }
        }
        Ok(())
    }
}

fn wanted(places: &WatchedPaths) -> [(PathBuf, RecursiveMode); 7] {
    use RecursiveMode::{NonRecursive, Recursive};
    [
        (places.inbox.clone(), NonRecursive),
        // These show when the inbox, the tasks and the workflows are created or removed.
        (places.local.clone(), NonRecursive),
        (places.root.clone(), NonRecursive),
        (places.tasks.clone(), Recursive),
        (places.workflows.clone(), NonRecursive),
        (places.git.clone(), NonRecursive),
        (places.git.join("logs"), NonRecursive),
    ]
}

fn folder_at(path: &Path) -> Option<FolderId> {
    // A symlink is not followed.
    fs::symlink_metadata(path)
        .ok()
        .filter(fs::Metadata::is_dir)
        .map(|data| (data.dev(), data.ino()))
}

fn is_not_found(fault: &Error) -> bool {
    matches!(&fault.kind, ErrorKind::Io(cause) if cause.kind() == std::io::ErrorKind::NotFound)
}

fn plain(fault: &Error) -> String {
    match &fault.kind {
        ErrorKind::MaxFilesWatch => {
            "the system's limit of watched folders is reached (`fs.inotify.max_user_watches`)"
                .to_owned()
        }
        ErrorKind::Io(cause) => cause.to_string(),
        ErrorKind::Generic(text) => text.clone(),
        _ => fault.to_string(),
    }
}
