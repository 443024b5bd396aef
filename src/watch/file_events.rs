//! File events of the system: the watched folders, and the meaning of an event for the watcher.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Error, ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::files::config::configuration::WORKFLOWS_FOLDER;
use crate::project::workspace::Workspace;
use crate::storage::layout::is_debris;

/// The file events of a watcher. Without them it polls.
pub(crate) struct FileEvents {
    watcher: Option<RecommendedWatcher>,
    paths: WatchedPaths,
    /// The folder that is watched at each path.
    watched: HashMap<PathBuf, FolderId>,
}

/// Device and inode.
type FolderId = (u64, u64);

impl FileEvents {
    /// Starts to watch. Also returns the reason why the system gives no events, if it gives none.
    pub(crate) fn open(paths: WatchedPaths, wakeup: &Arc<Wakeup>) -> (Self, Option<String>) {
        let (to_wake, sorted) = (Arc::clone(wakeup), paths.clone());
        let watcher = notify::recommended_watcher(move |event: Result<Event, Error>| match event {
            Ok(event) => to_wake.note(&sorted, &event),
            Err(_) => to_wake.note_loss(),
        });
        let (watcher, fault) = match watcher {
            Ok(watcher) => (Some(watcher), None),
            Err(fault) => (None, Some(describe(&fault))),
        };
        let mut file_events = Self { watcher, paths, watched: HashMap::new() };
        let fault = fault.or_else(|| file_events.refresh().err());
        (file_events, fault)
    }

    /// Returns whether the system gives events.
    pub(crate) fn has_events(&self) -> bool {
        self.watcher.is_some()
    }

    /// Watches the folders that were created or replaced since the last call. Returns whether there are any: earlier changes in
    /// them gave no events.
    pub(crate) fn refresh(&mut self) -> Result<bool, String> {
        let Some(watcher) = &mut self.watcher else { return Ok(false) };
        let mut is_new = false;
        for (path, mode) in watched_folders(&self.paths) {
            // Symlinks are not followed.
            let folder = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_dir);
            let current = folder.map(|data| (data.dev(), data.ino()));
            if self.watched.get(&path).copied() == current {
                continue;
            }
            if self.watched.remove(&path).is_some() {
                // The system may have forgotten a removed folder.
                let _ = watcher.unwatch(&path);
            }
            let Some(folder) = current else { continue };
            match watcher.watch(&path, mode) {
                Ok(()) => {
                    self.watched.insert(path, folder);
                    is_new = true;
                }
                // The folder is gone again: the next call tries it.
                Err(fault) if is_not_found(&fault) => {}
                Err(fault) => {
                    self.watcher = None;
                    return Err(format!(
                        "`{}` cannot be watched: {}",
                        path.display(),
                        describe(&fault)
                    ));
                }
            }
        }
        Ok(is_new)
    }
}

fn watched_folders(paths: &WatchedPaths) -> [(PathBuf, RecursiveMode); 7] {
    use RecursiveMode::{NonRecursive, Recursive};
    [
        (paths.inbox.clone(), NonRecursive),
        // These show when the inbox, the tasks and the workflows are created or removed.
        (paths.local.clone(), NonRecursive),
        (paths.root.clone(), NonRecursive),
        (paths.tasks.clone(), Recursive),
        (paths.workflows.clone(), NonRecursive),
        (paths.git.clone(), NonRecursive),
        (paths.git.join("logs"), NonRecursive),
    ]
}

fn is_not_found(fault: &Error) -> bool {
    match &fault.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(cause) => cause.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

fn describe(fault: &Error) -> String {
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

/// Collects hints, and wakes the watcher.
#[derive(Default)]
pub(crate) struct Wakeup {
    hints: Mutex<Hints>,
    changed: Condvar,
}

/// The places that may have changed since the watcher's last check.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Hints {
    /// The events of files in the inbox, in order.
    pub inbox: Vec<(OsString, FileSign)>,
    /// The other places with events.
    pub places: BTreeSet<WatchedPlace>,
    /// The files and folders below `tasks/` with events.
    pub tasks: BTreeSet<PathBuf>,
    /// True if the watcher must stop.
    pub stop: bool,
}

/// A place that may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WatchedPlace {
    /// Any place: events were lost, or a watched folder was created or removed.
    Anywhere,
    /// Task files.
    Tasks,
    /// project.yaml, org.yaml or `workflows/`.
    Rules,
    /// The branch, the index, or an operation of git.
    Repository,
}

/// The last event of a file in the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileSign {
    /// The file was renamed into the inbox.
    Renamed,
    /// The file was closed after writing.
    Closed,
    /// The file was created or written to.
    Begun,
    /// The file was removed or renamed away.
    Gone,
}

/// The paths of the watched places.
#[derive(Debug, Clone)]
pub(crate) struct WatchedPaths {
    pub root: PathBuf,
    pub local: PathBuf,
    pub inbox: PathBuf,
    pub tasks: PathBuf,
    pub workflows: PathBuf,
    pub git: PathBuf,
}

impl Wakeup {
    /// Records an event. Does nothing else, since it runs on the thread that empties the system's queue.
    pub(crate) fn note(&self, paths: &WatchedPaths, event: &Event) {
        let mut hints = self.lock();
        if hints.note(paths, event) {
            self.changed.notify_all();
        }
    }

    /// Notes that events were lost.
    pub(crate) fn note_loss(&self) {
        self.lock().places.insert(WatchedPlace::Anywhere);
        self.changed.notify_all();
    }

    /// Asks the watcher to stop.
    pub(crate) fn stop(&self) {
        self.lock().stop = true;
        self.changed.notify_all();
    }

    /// Waits for hints, at most until then, and takes them. The request to stop remains.
    pub(crate) fn wait(&self, until: Instant) -> Hints {
        let mut hints = self.wait_while(until, |hints| *hints == Hints::default());
        let stop = hints.stop;
        std::mem::replace(&mut *hints, Hints { stop, ..Hints::default() })
    }

    /// Waits that long, or until the watcher must stop; returns whether it must stop.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        self.wait_while(Instant::now() + time, |hints| !hints.stop).stop
    }

    fn wait_while(&self, until: Instant, idle: impl Fn(&Hints) -> bool) -> MutexGuard<'_, Hints> {
        let left = until.saturating_duration_since(Instant::now());
        let waited = self.changed.wait_timeout_while(self.lock(), left, |hints| idle(hints));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, Hints> {
        // Plain values: they are valid even if a thread panicked with the lock.
        self.hints.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hints {
    /// Records an event; returns whether it is a reason to check.
    fn note(&mut self, paths: &WatchedPaths, event: &Event) -> bool {
        if event.need_rescan() {
            self.places.insert(WatchedPlace::Anywhere);
            return true;
        }
        let Some(sign) = file_sign(event.kind) else { return false };
        let mut any = false;
        let last = event.paths.len().saturating_sub(1);
        for (at, path) in event.paths.iter().enumerate() {
            // One event may have both paths of a rename.
            let sign = if at < last { FileSign::Gone } else { sign };
            let name = path.file_name().unwrap_or_default();
            if path.parent() == Some(&paths.inbox) {
                if !is_ours(name) {
                    self.inbox.push((name.to_owned(), sign));
                    // A file that is gone is not a reason to check.
                    any |= sign != FileSign::Gone;
                }
            } else if let Some(place) = paths.place_of(path, name, sign) {
                if place == WatchedPlace::Tasks {
                    self.tasks.insert(path.clone());
                }
                self.places.insert(place);
                any = true;
            }
        }
        any
    }
}

impl WatchedPaths {
    pub(crate) fn of(workspace: &Workspace) -> Self {
        let paths = &workspace.paths;
        Self {
            root: paths.root().to_owned(),
            local: paths.local(),
            inbox: paths.inbox(),
            tasks: paths.tasks(),
            workflows: paths.root().join(WORKFLOWS_FOLDER),
            git: workspace.repository.git_dir().to_owned(),
        }
    }

    fn place_of(&self, path: &Path, name: &OsStr, sign: FileSign) -> Option<WatchedPlace> {
        if [&self.inbox, &self.local, &self.tasks, &self.workflows]
            .iter()
            .any(|folder| *folder == path)
        {
            let is_written = matches!(sign, FileSign::Renamed | FileSign::Closed);
            return (!is_written).then_some(WatchedPlace::Anywhere);
        }
        let is_in = |folder: &Path| path.parent() == Some(folder);
        if path.starts_with(&self.local) {
            None
        } else if path.starts_with(&self.tasks) {
            (!is_ours(name)).then_some(WatchedPlace::Tasks)
        } else if is_in(&self.workflows)
            || is_in(&self.root) && (name == "project.yaml" || name == "org.yaml")
        {
            Some(WatchedPlace::Rules)
        } else {
            let is_change = path.starts_with(&self.git) && is_git_state(name);
            is_change.then_some(WatchedPlace::Repository)
        }
    }
}

/// Returns the sign of an event for its file; `None` for events without a change, such as our own reading.
fn file_sign(kind: EventKind) -> Option<FileSign> {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(FileSign::Closed),
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => None,
        // If the system does not report which end of a rename this is, the check decides.
        EventKind::Modify(ModifyKind::Name(RenameMode::From)) | EventKind::Remove(_) => {
            Some(FileSign::Gone)
        }
        EventKind::Modify(ModifyKind::Name(_)) => Some(FileSign::Renamed),
        EventKind::Create(_) | EventKind::Modify(_) | EventKind::Any | EventKind::Other => {
            Some(FileSign::Begun)
        }
    }
}

fn is_ours(name: &OsStr) -> bool {
    name.to_str().is_some_and(is_debris)
}

/// Returns whether a file below `.git` is state of git, and not a lock or a file of ours.
fn is_git_state(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        !name.starts_with("aof-")
            && Path::new(name).extension().is_none_or(|suffix| suffix != "lock")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{CreateKind, DataChange, Flag, MetadataKind, RemoveKind};

    fn places() -> WatchedPaths {
        let at = |path: &str| PathBuf::from("/p").join(path);
        WatchedPaths {
            root: at(""),
            local: at(".aof"),
            inbox: at(".aof/inbox"),
            tasks: at("tasks"),
            workflows: at("workflows"),
            git: at(".git"),
        }
    }

    fn hints(events: &[(EventKind, &str)]) -> (Hints, bool) {
        let mut hints = Hints::default();
        let mut changed = false;
        for (kind, path) in events {
            changed |=
                hints.note(&places(), &Event::new(*kind).add_path(PathBuf::from("/p").join(path)));
        }
        (hints, changed)
    }

    const CLOSED: EventKind = EventKind::Access(AccessKind::Close(AccessMode::Write));
    const OPENED: EventKind = EventKind::Access(AccessKind::Open(AccessMode::Any));
    const MADE: EventKind = EventKind::Create(CreateKind::File);
    const WRITTEN: EventKind = EventKind::Modify(ModifyKind::Data(DataChange::Any));
    const TOUCHED: EventKind = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));
    const RENAMED_IN: EventKind = EventKind::Modify(ModifyKind::Name(RenameMode::To));
    const RENAMED_OUT: EventKind = EventKind::Modify(ModifyKind::Name(RenameMode::From));
    const REMOVED: EventKind = EventKind::Remove(RemoveKind::Any);

    #[test]
    fn a_file_is_closed_or_renamed_in_and_begun_again_by_the_next_write() {
        for (events, last) in [
            (vec![RENAMED_IN], FileSign::Renamed),
            (vec![MADE], FileSign::Begun),
            (vec![MADE, WRITTEN, WRITTEN, CLOSED], FileSign::Closed),
            (vec![MADE, CLOSED, WRITTEN], FileSign::Begun),
            (vec![RENAMED_IN, RENAMED_OUT], FileSign::Gone),
        ] {
            let events: Vec<_> =
                events.into_iter().map(|kind| (kind, ".aof/inbox/a.yaml")).collect();
            let (hints, changed) = hints(&events);
            assert_eq!(hints.inbox.last(), Some(&("a.yaml".into(), last)), "{events:?}");
            assert!(changed);
        }
        let both = Event::new(EventKind::Modify(ModifyKind::Name(RenameMode::Both)));
        let both =
            both.add_path("/p/.aof/inbox/a.yaml".into()).add_path("/p/.aof/inbox/b.yaml".into());
        let mut hints = Hints::default();
        assert!(hints.note(&places(), &both));
        assert_eq!(
            hints.inbox,
            [("a.yaml".into(), FileSign::Gone), ("b.yaml".into(), FileSign::Renamed)]
        );
    }

    #[test]
    fn our_own_work_wakes_nobody() {
        for (kind, path) in [
            (OPENED, "tasks/AOF-abc.md"),
            (OPENED, ".aof/inbox/a.yaml"),
            (RENAMED_OUT, ".aof/inbox/a.yaml"),
            (TOUCHED, ".aof/inbox/a.yaml"),
            (RENAMED_IN, ".aof/inbox/.taken/01-a.yaml"),
            (WRITTEN, ".aof/lock"),
            (MADE, ".aof/refused/a.yaml"),
            (MADE, "tasks/.aof-tmp-x"),
            (MADE, ".git/index.lock"),
            (MADE, ".git/aof-index-x"),
            (MADE, "src/main.rs"),
        ] {
            assert!(!hints(&[(kind, path)]).1, "{kind:?} {path}");
        }
    }

    #[test]
    fn events_of_files_are_sorted_by_place() {
        let of = |kind, path| hints(&[(kind, path)]).0.places.into_iter().collect::<Vec<_>>();
        assert_eq!(of(WRITTEN, "tasks/AOF-abc.md"), [WatchedPlace::Tasks]);
        assert_eq!(of(RENAMED_IN, "tasks/sorted/AOF-abc.md"), [WatchedPlace::Tasks]);
        for path in ["project.yaml", "org.yaml", "workflows/fast.yaml"] {
            assert_eq!(of(WRITTEN, path), [WatchedPlace::Rules], "{path}");
        }
        for path in [".git/HEAD", ".git/logs/HEAD", ".git/rebase-merge", ".git/index"] {
            assert_eq!(of(RENAMED_IN, path), [WatchedPlace::Repository], "{path}");
        }
        for (kind, path) in [
            (REMOVED, ".aof/inbox"),
            (EventKind::Create(CreateKind::Folder), "tasks"),
            (REMOVED, ".aof"),
        ] {
            assert_eq!(of(kind, path), [WatchedPlace::Anywhere], "{path}");
        }
        let lost = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        let mut hints = Hints::default();
        assert!(hints.note(&places(), &lost) && hints.places.contains(&WatchedPlace::Anywhere));
    }

    #[test]
    fn hints_are_given_once_and_the_wish_to_stop_stays() {
        let wakeup = Wakeup::default();
        wakeup.note(&places(), &Event::new(WRITTEN).add_path("/p/tasks/AOF-abc.md".into()));
        let far = Instant::now() + Duration::from_mins(1);
        assert!(wakeup.wait(far).places.contains(&WatchedPlace::Tasks));
        assert_eq!(wakeup.wait(Instant::now()), Hints::default());
        wakeup.stop();
        assert!(
            wakeup.pause(Duration::from_mins(1)) && wakeup.wait(far).stop && wakeup.wait(far).stop
        );
    }
}
