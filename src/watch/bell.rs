//! What wakes the watcher: hints of where something may have happened, gathered until it looks. Touches no files.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Event, EventKind};

use crate::store::inbox::is_debris;

/// Gathers hints, and wakes whoever waits for them.
#[derive(Default)]
pub(super) struct Bell {
    hints: Mutex<Hints>,
    rung: Condvar,
}

/// Where something may have happened since the watcher looked last.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Hints {
    /// What was seen of files in the inbox, in order.
    pub inbox: Vec<(OsString, Seen)>,
    /// The folders of the inbox, of the tasks or of the rules were made or removed, or events were lost: look at everything.
    pub all: bool,
    /// Task files.
    pub tasks: bool,
    /// project.yaml, org.yaml or `workflows/`.
    pub rules: bool,
    /// The branch, the index, or what git is in the middle of.
    pub repository: bool,
    /// Somebody wants the watcher to stop.
    pub stop: bool,
}

/// What was seen of a file in the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// It was renamed in, or closed after writing.
    Finished,
    /// It was made, or written to.
    Begun,
    /// It went.
    Gone,
}

/// The places that events are sorted by.
#[derive(Debug, Clone)]
pub(super) struct Places {
    pub root: PathBuf,
    pub local: PathBuf,
    pub inbox: PathBuf,
    pub tasks: PathBuf,
    pub workflows: PathBuf,
    pub git: PathBuf,
}

impl Bell {
    /// Notes what an event hints at. Runs on the thread that empties the system's queue, so it does nothing else.
    pub(super) fn note(&self, places: &Places, event: &Event) {
        let mut hints = self.lock();
        if hints.note(places, event) {
            self.rung.notify_all();
        }
    }

    /// Says that something is wrong with the events themselves.
    pub(super) fn note_loss(&self) {
        self.lock().all = true;
        self.rung.notify_all();
    }

    /// Asks the watcher to stop.
    pub(super) fn stop(&self) {
        self.lock().stop = true;
        self.rung.notify_all();
    }

    /// Waits for a hint, at most until then, and returns what there is. A wish to stop stays.
    pub(super) fn wait(&self, until: Instant) -> Hints {
        let hints = self.wait_while(until, |hints| *hints == Hints::default());
        let mut hints = hints;
        let stop = hints.stop;
        std::mem::replace(&mut *hints, Hints { stop, ..Hints::default() })
    }

    /// Waits that long, or until the watcher is to stop; returns whether it is.
    pub(super) fn pause(&self, time: Duration) -> bool {
        self.wait_while(Instant::now() + time, |hints| !hints.stop).stop
    }

    fn wait_while(&self, until: Instant, idle: impl Fn(&Hints) -> bool) -> MutexGuard<'_, Hints> {
        let left = until.saturating_duration_since(Instant::now());
        let waited = self.rung.wait_timeout_while(self.lock(), left, |hints| idle(hints));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, Hints> {
        // Hints are plain values: whoever died with the lock left them whole.
        self.hints.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hints {
    /// Notes an event; returns whether there is anything to look at.
    fn note(&mut self, places: &Places, event: &Event) -> bool {
        if event.need_rescan() {
            self.all = true;
            return true;
        }
        let Some(seen) = seen(event.kind) else { return false };
        let mut any = false;
        let last = event.paths.len().saturating_sub(1);
        for (at, path) in event.paths.iter().enumerate() {
            // One event may carry a rename's both ends.
            let seen = if at < last { Seen::Gone } else { seen };
            any |= self.note_path(places, path, seen);
        }
        any
    }

    fn note_path(&mut self, places: &Places, path: &Path, seen: Seen) -> bool {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
        if folder == places.inbox {
            if !is_ours(name) {
                self.inbox.push((name.to_owned(), seen));
            }
            // Files that went, or are only begun, are no reason to look at once.
            return seen == Seen::Finished || seen == Seen::Begun;
        }
        if path == places.inbox || path == places.local || path == places.tasks || path == places.workflows {
            self.all |= seen != Seen::Finished;
            return seen != Seen::Finished;
        }
        if path.starts_with(&places.local) {
            return false;
        }
        if path.starts_with(&places.tasks) {
            let ours = is_ours(name);
            self.tasks |= !ours;
            return !ours;
        }
        let is_rule = folder == places.workflows
            || (folder == places.root && matches!(name.to_str(), Some("project.yaml" | "org.yaml")));
        self.rules |= is_rule;
        let is_git = path.starts_with(&places.git) && tells_of_git(name);
        self.repository |= is_git;
        is_rule || is_git
    }
}

/// Returns what an event says of its file; nothing if it changes nothing. Our own reading is among the events.
fn seen(kind: EventKind) -> Option<Seen> {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(Seen::Finished),
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => None,
        // Where the system does not tell which end of a rename it is, looking does.
        EventKind::Modify(ModifyKind::Name(RenameMode::From)) | EventKind::Remove(_) => Some(Seen::Gone),
        EventKind::Modify(ModifyKind::Name(_)) => Some(Seen::Finished),
        EventKind::Create(_) | EventKind::Modify(_) | EventKind::Any | EventKind::Other => Some(Seen::Begun),
    }
}

fn is_ours(name: &OsStr) -> bool {
    name.to_str().is_some_and(is_debris)
}

fn tells_of_git(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        !name.starts_with("aof-") && Path::new(name).extension().is_none_or(|suffix| suffix != "lock")
    })
}
