//! File events of the system: which folders are watched, and what an event means for the watcher.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Error, ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::storage::layout::is_debris;

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
    /// Opens them, or says why the system gives no events.
    pub(crate) fn open(places: WatchedPaths, wakeup: &Arc<Wakeup>) -> (Self, Option<String>) {
        let (own, sorted) = (Arc::clone(wakeup), places.clone());
        let watcher = notify::recommended_watcher(move |event: Result<Event, Error>| match event {
            Ok(event) => own.note(&sorted, &event),
            Err(_) => own.note_loss(),
        });
        let (watcher, fault) = match watcher {
            Ok(watcher) => (Some(watcher), None),
            Err(fault) => (None, Some(plain(&fault))),
        };
        let mut file_events = Self { watcher, places, watched: HashMap::new() };
        let fault = fault.or_else(|| file_events.refresh().err());
        (file_events, fault)
    }

    /// Returns whether the system gives events.
    pub(crate) fn see(&self) -> bool {
        self.watcher.is_some()
    }

    /// Watches the folders that were created or replaced since the last call.
    pub(crate) fn refresh(&mut self) -> Result<(), String> {
        let Some(watcher) = &mut self.watcher else { return Ok(()) };
        for (path, mode) in wanted(&self.places) {
            // A symlink is not followed.
            let folder = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_dir);
            let standing = folder.map(|data| (data.dev(), data.ino()));
            if self.watched.get(&path).copied() == standing {
                continue;
            }
            if self.watched.remove(&path).is_some() {
                // The system may have forgotten a removed folder.
                let _ = watcher.unwatch(&path);
            }
            let Some(folder) = standing else { continue };
            match watcher.watch(&path, mode) {
                Ok(()) => drop(self.watched.insert(path, folder)),
                // It is gone again: the next call looks for it.
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

fn is_not_found(fault: &Error) -> bool {
    match &fault.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(cause) => cause.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
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

/// Gathers hints, and wakes the watcher.
#[derive(Default)]
pub(crate) struct Wakeup {
    hints: Mutex<Hints>,
    rung: Condvar,
}

/// Where something may have changed since the watcher looked last.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Hints {
    /// What was seen of files in the inbox, in order.
    pub inbox: Vec<(OsString, FileSign)>,
    /// Other places.
    pub places: BTreeSet<WatchedPlace>,
    /// Whether the watcher is to stop.
    pub stop: bool,
}

/// A place where something may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WatchedPlace {
    /// Anywhere: events were lost, or the folders of the inbox, the tasks or the rules were made or removed.
    Anywhere,
    /// Task files.
    Tasks,
    /// project.yaml, org.yaml or `workflows/`.
    Rules,
    /// The branch, the index, or what git is in the middle of.
    Repository,
}

/// What was seen of a file in the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileSign {
    /// It was renamed in.
    Renamed,
    /// It was closed after writing.
    Closed,
    /// It was made, or written to.
    Begun,
    /// It went.
    Gone,
}

/// The places that events are sorted by.
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
    /// Notes an event. Runs on the thread that empties the system's queue, so it does nothing else.
    pub(crate) fn note(&self, places: &WatchedPaths, event: &Event) {
        let mut hints = self.lock();
        if hints.note(places, event) {
            self.rung.notify_all();
        }
    }

    /// Notes that events were lost.
    pub(crate) fn note_loss(&self) {
        self.lock().places.insert(WatchedPlace::Anywhere);
        self.rung.notify_all();
    }

    /// Asks the watcher to stop.
    pub(crate) fn stop(&self) {
        self.lock().stop = true;
        self.rung.notify_all();
    }

    /// Waits for hints, at most until then, and takes them. The wish to stop remains.
    pub(crate) fn wait(&self, until: Instant) -> Hints {
        let mut hints = self.wait_while(until, |hints| *hints == Hints::default());
        let stop = hints.stop;
        std::mem::replace(&mut *hints, Hints { stop, ..Hints::default() })
    }

    /// Waits that long, or until the watcher is to stop; returns whether it is to stop.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        self.wait_while(Instant::now() + time, |hints| !hints.stop).stop
    }

    fn wait_while(&self, until: Instant, idle: impl Fn(&Hints) -> bool) -> MutexGuard<'_, Hints> {
        let left = until.saturating_duration_since(Instant::now());
        let waited = self.rung.wait_timeout_while(self.lock(), left, |hints| idle(hints));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, Hints> {
        // Plain values: a thread that died with the lock left them whole.
        self.hints.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hints {
    /// Notes an event; returns whether there is anything to look at.
    fn note(&mut self, places: &WatchedPaths, event: &Event) -> bool {
        if event.need_rescan() {
            self.places.insert(WatchedPlace::Anywhere);
            return true;
        }
        let Some(seen) = seen(event.kind) else { return false };
        let mut any = false;
        let last = event.paths.len().saturating_sub(1);
        for (at, path) in event.paths.iter().enumerate() {
            // One event may carry a rename's both ends.
            let seen = if at < last { FileSign::Gone } else { seen };
            let name = path.file_name().unwrap_or_default();
            if path.parent() == Some(&places.inbox) {
                if !is_ours(name) {
                    self.inbox.push((name.to_owned(), seen));
                    // A file that is gone is no reason to look.
                    any |= seen != FileSign::Gone;
                }
            } else if let Some(place) = places.place_of(path, name, seen) {
                self.places.insert(place);
                any = true;
            }
        }
        any
    }
}

impl WatchedPaths {
    fn place_of(&self, path: &Path, name: &OsStr, seen: FileSign) -> Option<WatchedPlace> {
        if [&self.inbox, &self.local, &self.tasks, &self.workflows].iter().any(|own| *own == path) {
            let is_written = matches!(seen, FileSign::Renamed | FileSign::Closed);
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
            let is_of_git = path.starts_with(&self.git) && tells_of_git(name);
            is_of_git.then_some(WatchedPlace::Repository)
        }
    }
}

/// Returns what an event says of its file; nothing for events that change nothing, such as our own reading.
fn seen(kind: EventKind) -> Option<FileSign> {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(FileSign::Closed),
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => None,
        // Where the system does not say which end of a rename it is, the look finds out.
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

fn tells_of_git(name: &OsStr) -> bool {
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
        let mut rung = false;
        for (kind, path) in events {
            rung |=
                hints.note(&places(), &Event::new(*kind).add_path(PathBuf::from("/p").join(path)));
        }
        (hints, rung)
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
            let (hints, rung) = hints(&events);
            assert_eq!(hints.inbox.last(), Some(&("a.yaml".into(), last)), "{events:?}");
            assert!(rung);
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
    fn what_people_and_git_do_is_sorted_by_place() {
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
