//! The watcher's mail: has messages written for what was committed, and delivered beside everything else, each channel on a thread of
//! its own. Whoever does not answer keeps nobody else waiting.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::inbox::inbox::Desk;
use super::report::{Report, Told};
use crate::domain::ChannelKey;
use crate::history::new_commits::unreported::Left;
use crate::observability::notices::delivery::{
    Receiver, Round, Tried, deliver_channel, deliver_notices, receivers,
};
use crate::observability::notices::put_out::put_out;
use crate::project::workspace::Workspace;
use crate::storage::StoreError;

/// How long a thread stays with its channel at most before it is asked for again.
const TURN: Duration = Duration::from_mins(10);
/// How long a single round takes at most.
const ONCE: Duration = Duration::from_mins(1);
/// How long what is under way is waited for when the watcher ends.
const LAST: Duration = Duration::from_secs(1);

/// What a thread comes back with.
type Outcome = Result<Round, StoreError>;

/// Messages on their way.
pub(crate) struct NoticeWorker {
    /// Channels that a thread is busy with.
    busy: Arc<Mutex<HashMap<ChannelKey, Busy>>>,
    stop: Arc<AtomicBool>,
    told: Told,
    sender: mpsc::Sender<Outcome>,
    outcomes: mpsc::Receiver<Outcome>,
}

/// What a thread is busy with.
struct Busy {
    /// Shared with the thread, which looks at it before each message.
    receiver: Receiver,
    again: Again,
}

/// Whether there may be more than a thread has seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    Yes,
    No,
}

impl Default for NoticeWorker {
    fn default() -> Self {
        let (sender, outcomes) = mpsc::channel();
        Self { busy: Arc::default(), stop: Arc::default(), told: Told::default(), sender, outcomes }
    }
}

impl NoticeWorker {
    /// Writes what is to be said, or a part of it, and has it delivered; returns what is left. Trouble is told once while it lasts.
    pub(crate) fn send(&mut self, workspace: &Workspace, desk: &mut Desk<'_>) -> Left {
        self.look_at_outcomes(desk);
        let left = match put_out(workspace) {
            Ok(put) => {
                if let Some(problem) = put.restarted {
                    tell(&mut self.told, desk, problem);
                }
                put.left
            }
            Err(error) => {
                tell(&mut self.told, desk, error.to_string());
                Left::Nothing
            }
        };
        match receivers(workspace) {
            Ok(receivers) => receivers.into_iter().for_each(|receiver| self.start(receiver)),
            Err(error) => tell(&mut self.told, desk, error.to_string()),
        }
        left
    }

    /// Does one round, and waits for what comes of it.
    pub(crate) fn send_now(&mut self, workspace: &Workspace, desk: &mut Desk<'_>) {
        match deliver_notices(workspace, Tried::Due, ONCE) {
            Ok(rounds) => rounds.into_iter().for_each(|round| self.look_at(desk, round)),
            Err(error) => tell(&mut self.told, desk, error.to_string()),
        }
    }

    /// Ends what is under way. What was not delivered is by the next watcher.
    pub(crate) fn stop(&mut self, desk: &mut Desk<'_>) {
        self.stop.store(true, Ordering::Relaxed);
        let end = Instant::now() + LAST;
        while !lock(&self.busy).is_empty() && Instant::now() < end {
            thread::sleep(Duration::from_millis(2));
        }
        self.look_at_outcomes(desk);
    }

    fn look_at_outcomes(&mut self, desk: &mut Desk<'_>) {
        let outcomes: Vec<Outcome> = self.outcomes.try_iter().collect();
        for outcome in outcomes {
            match outcome {
                Ok(round) => self.look_at(desk, round),
                Err(error) => tell(&mut self.told, desk, error.to_string()),
            }
        }
    }

    fn look_at(&mut self, desk: &mut Desk<'_>, round: Round) {
        if round.delivered > 0 {
            self.told.forget_the_rest();
        }
        if let Some(trouble) = round.trouble {
            tell(&mut self.told, desk, trouble);
        }
    }

    /// Starts a thread for the channel. One that is busy with it goes the way that the rules have now, and looks again when it is done.
    fn start(&self, receiver: Receiver) {
        let mut at_work = lock(&self.busy);
        if let Some(busy) = at_work.get_mut(&receiver.key) {
            busy.receiver.follow(&receiver);
            busy.again = Again::Yes;
            return;
        }
        at_work.insert(receiver.key.clone(), Busy { receiver: receiver.clone(), again: Again::No });
        drop(at_work);
        let (busy, stop, sender) =
            (Arc::clone(&self.busy), Arc::clone(&self.stop), self.sender.clone());
        thread::spawn(move || {
            loop {
                let outcome = deliver_channel(&receiver, Tried::Due, Instant::now() + TURN, &stop);
                // Nobody listens any more while the watcher ends.
                let _ = sender.send(outcome);
                let mut busy = lock(&busy);
                match busy.get_mut(&receiver.key) {
                    Some(own) if own.again == Again::Yes && !stop.load(Ordering::Relaxed) => {
                        own.again = Again::No;
                    }
                    _ => {
                        busy.remove(&receiver.key);
                        return;
                    }
                }
            }
        });
    }
}

fn tell(told: &mut Told, desk: &mut Desk<'_>, problem: String) {
    if told.is_news(problem.clone()) {
        desk.tell(Report::Undelivered { problem });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A plain map: whoever died with the lock left it whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
