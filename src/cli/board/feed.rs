//! Feeds a board with the changes to its project's files.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use crate::board::model::feed::{BoardNews, follow};
use crate::board::model::live::BoardChange;
use crate::domain::AgentId;
use crate::project::workspace::Workspace;
use crate::watch::checks::POLL;
use crate::watch::file_events::{FileEvents, Hints, Wakeup, WatchedPaths, WatchedPlace};

/// The delay after which a folder that was created or replaced is watched, if no event reports it.
const REWATCH: Duration = Duration::from_secs(5);

/// A board that is kept up to date until this is dropped.
pub(crate) struct Feed {
    wakeup: Arc<Wakeup>,
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.wakeup.stop();
    }
}

impl Feed {
    /// Starts to follow a project. The reader is the named agent, otherwise git's user. The feed ends when `tell` returns false.
    pub(crate) fn start(
        workspace: &Workspace,
        wait: Duration,
        named: Option<AgentId>,
        tell: impl FnMut(BoardNews) -> bool + Send + 'static,
    ) -> io::Result<Self> {
        let wakeup = Arc::new(Wakeup::default());
        let (sender, changes): (Sender<BoardChange>, Receiver<BoardChange>) = mpsc::channel();
        let (paths, waker) = (WatchedPaths::of(workspace), Arc::clone(&wakeup));
        thread::Builder::new().name("board files".to_owned()).spawn(move || {
            let (events, _) = FileEvents::open(paths, &waker);
            // Files were read meanwhile, and may have changed before they were watched.
            if sender.send(BoardChange::Anything).is_ok() {
                pass_on(events, &waker, &sender);
            }
        })?;
        follow(workspace.opener(wait), named, changes, tell)?;
        Ok(Self { wakeup })
    }
}

/// Passes on changes, until the feed or its receiver ends.
fn pass_on(mut events: FileEvents, wakeup: &Wakeup, sender: &Sender<BoardChange>) {
    loop {
        let pause = if events.has_events() { REWATCH } else { POLL };
        let hints = wakeup.wait(Instant::now() + pause);
        if hints.stop {
            return;
        }
        // Without events, everything is read again at intervals.
        let is_new = events.refresh().unwrap_or(true);
        let is_blind = is_new || !events.has_events();
        let change = if is_blind { Some(BoardChange::Anything) } else { change_of(hints) };
        if change.is_some_and(|change| sender.send(change).is_err()) {
            return;
        }
    }
}

/// Returns the part that a board must read again. A commit alone changes no file.
fn change_of(hints: Hints) -> Option<BoardChange> {
    let whole = [WatchedPlace::Anywhere, WatchedPlace::Rules];
    if whole.iter().any(|place| hints.places.contains(place)) {
        return Some(BoardChange::Anything);
    }
    let is_news = !hints.places.is_empty();
    is_news.then_some(BoardChange::Tasks(hints.tasks))
}
