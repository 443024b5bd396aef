//! The watcher's post: has messages written for what was committed, and delivered beside everything else, each channel on a thread of
//! its own. Whoever does not answer keeps nobody else waiting.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::desk::Desk;
use super::report::{Report, Told};
use crate::model::ChannelKey;
use crate::ops::{
    Due, OpsError, Round, Route, Workspace, deliver_channel, deliver_notices, put_out, routes, tell_of_round,
};
use crate::store::StoreError;

/// How long a thread stays with its channel at most before it is asked for again.
const TURN: Duration = Duration::from_mins(10);
/// How long a single round takes at most.
const ONCE: Duration = Duration::from_mins(1);
/// How long what is under way is waited for when the watcher ends.
const LAST: Duration = Duration::from_secs(1);

/// What a thread comes back with.
type Outcome = Result<Round, StoreError>;

/// Messages on their way.
pub(super) struct Post {
    /// Channels that a thread is busy with; whether it is to look again when it is done.
    busy: Arc<Mutex<HashMap<ChannelKey, Again>>>,
    stop: Arc<AtomicBool>,
    told: Told,
    sender: Sender<Outcome>,
    outcomes: Receiver<Outcome>,
}

/// Whether there may be more than a thread has seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    Yes,
    No,
}

impl Default for Post {
    fn default() -> Self {
        let (sender, outcomes) = mpsc::channel();
        Self { busy: Arc::default(), stop: Arc::default(), told: Told::default(), sender, outcomes }
    }
}

impl Post {
    /// Writes what is to be said, and has it delivered. Trouble is told once while it lasts.
    pub(super) fn send(&mut self, workspace: &Workspace, desk: &mut Desk<'_>) {
        let mut rounds = Vec::new();
        for outcome in self.outcomes.try_iter() {
            match outcome {
                Ok(round) => rounds.push(round),
                Err(error) => tell(&mut self.told, desk, error.to_string()),
            }
        }
        for round in &rounds {
            if round.delivered > 0 {
                self.told.forget_the_rest();
            }
            self.look_at(workspace, desk, round);
        }
        match put_out(workspace) {
            Ok(put) => {
                if let Some(problem) = put.restarted {
                    tell(&mut self.told, desk, problem);
                }
            }
            Err(error) => tell(&mut self.told, desk, error.to_string()),
        }
        match routes(workspace) {
            Ok(routes) => routes.into_iter().for_each(|route| self.start(route)),
            Err(error) => tell(&mut self.told, desk, error.to_string()),
        }
    }

    /// Does one round, and waits for what comes of it.
    pub(super) fn send_now(&mut self, workspace: &Workspace, desk: &mut Desk<'_>) {
        match deliver_notices(workspace, Due::Now, ONCE) {
            Ok(rounds) => rounds.iter().for_each(|round| self.look_at(workspace, desk, round)),
            Err(error) => tell(&mut self.told, desk, error.to_string()),
        }
    }

    /// Ends what is under way. What was not delivered is by the next watcher.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let end = Instant::now() + LAST;
        while !lock(&self.busy).is_empty() && Instant::now() < end {
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn look_at(&mut self, workspace: &Workspace, desk: &mut Desk<'_>, round: &Round) {
        if let Some(trouble) = &round.trouble {
            tell(&mut self.told, desk, trouble.clone());
        }
        let told: Result<(), OpsError> = tell_of_round(workspace, round);
        if let Err(error) = told {
            tell(&mut self.told, desk, error.to_string());
        }
    }

    /// Starts a thread for the channel, unless one is busy with it: then that looks again when it is done.
    fn start(&self, route: Route) {
        if let Some(again) = lock(&self.busy).get_mut(&route.key) {
            *again = Again::Yes;
            return;
        }
        lock(&self.busy).insert(route.key.clone(), Again::No);
        let (busy, stop, sender) = (Arc::clone(&self.busy), Arc::clone(&self.stop), self.sender.clone());
        thread::spawn(move || {
            loop {
                let outcome = deliver_channel(&route, Due::Now, Instant::now() + TURN, &stop);
                // Nobody listens any more while the watcher ends.
                let _ = sender.send(outcome);
                let mut busy = lock(&busy);
                let again = busy.insert(route.key.clone(), Again::No) == Some(Again::Yes);
                if !again || stop.load(Ordering::Relaxed) {
                    busy.remove(&route.key);
                    return;
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
