//! The watcher's journal: keeps the event stream up to date with what was committed, on a thread of its own. A long history that has no
//! stream yet keeps nobody waiting: it is told in one walk, and what was committed meanwhile right behind it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::inbox::inbox::Desk;
use super::report::{Report, Told};
use crate::history::new_commits::unreported::Left;
use crate::observability::events::catch_up::{are_events_kept, catch_up_events, keep_events};
use crate::project::error::error::OpsError;
use crate::project::workspace::{Seed, Workspace};

/// What a walk came to.
type Outcome = Result<Left, OpsError>;

/// The event stream of a watcher.
#[derive(Default)]
pub(crate) struct Journal {
    told: Told,
    writer: Option<Writer>,
}

/// The thread that writes the stream.
struct Writer {
    order: Arc<Order>,
    outcomes: mpsc::Receiver<Outcome>,
    thread: JoinHandle<()>,
}

/// What the thread is to do.
#[derive(Default)]
struct Order {
    wish: Mutex<Wish>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Wish {
    /// To wait.
    #[default]
    Rest,
    /// To write what is to be written.
    Write,
    /// To end.
    End,
}

impl Journal {
    /// Has written what is to be written. Trouble is told once while it lasts.
    pub(crate) fn keep(&mut self, workspace: &Workspace, wait: Duration, desk: &mut Desk<'_>) {
        let outcomes: Vec<Outcome> =
            self.writer.iter().flat_map(|writer| writer.outcomes.try_iter()).collect();
        for outcome in outcomes {
            self.note(outcome.map(drop), desk);
        }
        match are_events_kept(workspace) {
            Ok(true) => {}
            Ok(false) => match self.writer(workspace, wait) {
                Ok(writer) => writer.order.set(Wish::Write),
                Err(cause) => self
                    .tell(format!("no thread can be started for the event stream: {cause}"), desk),
            },
            Err(error) => self.note(Err(error), desk),
        }
    }

    /// Writes it all, and waits for that.
    pub(crate) fn keep_now(&mut self, workspace: &Workspace, desk: &mut Desk<'_>) {
        self.note(catch_up_events(workspace).map(drop), desk);
    }

    /// Ends what is under way. What is not written is by whoever keeps the stream next.
    pub(crate) fn stop(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.order.set(Wish::End);
            // It has nothing more to say, however it ended.
            let _ = writer.thread.join();
        }
    }

    fn writer(&mut self, workspace: &Workspace, wait: Duration) -> std::io::Result<&Writer> {
        let writer = match self.writer.take().filter(|writer| !writer.thread.is_finished()) {
            Some(writer) => writer,
            None => Writer::start(workspace.seed(wait))?,
        };
        Ok(self.writer.insert(writer))
    }

    fn note(&mut self, outcome: Result<(), OpsError>, desk: &mut Desk<'_>) {
        match outcome {
            Ok(()) => self.told.forget_the_rest(),
            Err(error) => self.tell(error.to_string(), desk),
        }
    }

    fn tell(&mut self, problem: String, desk: &mut Desk<'_>) {
        if self.told.is_news(problem.clone()) {
            desk.tell(Report::Unrecorded { problem });
        }
    }
}

impl Writer {
    fn start(project: Seed) -> std::io::Result<Self> {
        let order = Arc::new(Order::default());
        let (sender, outcomes) = mpsc::channel();
        let own = Arc::clone(&order);
        let thread = thread::Builder::new().name("events".to_owned()).spawn(move || {
            while own.comes() {
                let write = || keep_events(&project.open()?, &|| own.wish() != Wish::End);
                // Nobody listens any more while the watcher ends.
                let _ = sender.send(write());
            }
        })?;
        Ok(Self { order, outcomes, thread })
    }
}

impl Order {
    fn set(&self, wish: Wish) {
        *self.lock() = wish;
        self.changed.notify_all();
    }

    fn wish(&self) -> Wish {
        *self.lock()
    }

    /// Waits for something to do, and takes it; returns whether there is anything.
    fn comes(&self) -> bool {
        let wish = self.changed.wait_while(self.lock(), |wish| *wish == Wish::Rest);
        let mut wish = wish.unwrap_or_else(PoisonError::into_inner);
        let comes = *wish == Wish::Write;
        if comes {
            *wish = Wish::Rest;
        }
        comes
    }

    fn lock(&self) -> MutexGuard<'_, Wish> {
        // A plain value: whoever died with the lock left it whole.
        self.wish.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
