//! The watcher's courier: syncs the project with its remote where project.yaml says `git: {sync: true}`, and hands out what counts
//! once the remote has it, on a thread of its own, so that no completion waits for a network. Every so often, and soon after
//! something was committed here, or is to be handed out; offline, ever less often.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use tracing::debug;

use crate::dispatch::synced_assignment::{Errand, sync_and_hand_out};
use crate::git::Prompts;
use crate::history::sync::outcome::SyncEnd;
use crate::project::error::error::OpsError;
use crate::project::workspace::{Seed, Workspace};

/// Between two syncs, at least: several commits go together.
const APART: Duration = Duration::from_secs(1);
const LONGEST_BACKOFF: Duration = Duration::from_mins(15);
/// How long a sync under way is waited for when the watcher ends.
const LAST: Duration = Duration::from_secs(3);

/// What came of a sync, with what was handed out.
pub(crate) type Outcome = Result<Box<Errand>, OpsError>;

/// Syncs on their way.
pub(crate) struct SyncWorker {
    shared: Arc<Shared>,
    outcomes: mpsc::Receiver<Outcome>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// How often the project is to be synced; nothing where it is not.
    every: Option<Duration>,
    /// Whether something was committed here, or is to be handed out, since the last sync.
    nudged: bool,
    /// Whether one is under way.
    busy: bool,
    stop: bool,
}

impl SyncWorker {
    /// Begins, until the process ends.
    pub(crate) fn begin(workspace: &Workspace, wait: Duration) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (sender, outcomes) = mpsc::channel();
        let (own, project) = (Arc::clone(&shared), workspace.seed(wait));
        thread::Builder::new()
            .name("sync".to_owned())
            .spawn(move || own.go(&project, wait, &sender))?;
        Ok(Self { shared, outcomes })
    }

    /// Says how often the project is to be synced by now, and whether something is here that the remote does not have.
    pub(crate) fn note(&self, every: Option<Duration>, waiting: bool) {
        let mut state = self.shared.lock();
        state.every = every;
        state.nudged |= waiting;
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Says that there is something to be handed out.
    pub(crate) fn nudge(&self) {
        self.shared.lock().nudged = true;
        self.shared.changed.notify_all();
    }

    /// Returns what came of syncs since this was last asked.
    pub(crate) fn news(&self) -> Vec<Outcome> {
        self.outcomes.try_iter().collect()
    }

    /// Begins no other, and waits a moment for the one under way.
    pub(crate) fn stop(&self) {
        self.shared.lock().stop = true;
        self.shared.changed.notify_all();
        let _ =
            self.shared.changed.wait_timeout_while(self.shared.lock(), LAST, |state| state.busy);
    }
}

impl Shared {
    fn go(&self, project: &Seed, wait: Duration, outcomes: &mpsc::Sender<Outcome>) {
        let mut failed = 0_u32;
        loop {
            if !self.begin() {
                return;
            }
            let start = Instant::now();
            let outcome = once(project, wait);
            debug!(seconds = start.elapsed().as_secs_f64(), failed = outcome.is_err(), "synced");
            failed = match &outcome {
                Ok(errand) if is_done(errand) => 0,
                _ => failed + 1,
            };
            self.end();
            if outcomes.send(outcome).is_err() {
                return;
            }
            self.rest(failed);
        }
    }

    /// Waits until the project is to be synced at all; returns whether another sync may begin.
    fn begin(&self) -> bool {
        let asleep =
            self.changed.wait_while(self.lock(), |state| state.every.is_none() && !state.stop);
        let mut state = asleep.unwrap_or_else(PoisonError::into_inner);
        state.nudged = false;
        state.busy = !state.stop;
        state.busy
    }

    fn end(&self) {
        self.lock().busy = false;
        self.changed.notify_all();
    }

    /// Rests until it is time, or something is committed here. A remote that does not answer is not asked for each commit.
    fn rest(&self, failed: u32) {
        let begun = Instant::now();
        let mut state = self.lock();
        while let (Some(every), false) = (state.every, state.stop) {
            let backoff = every.saturating_mul(1 << failed.saturating_sub(1).min(8));
            let pause = match failed {
                0 if state.nudged => APART.min(every),
                0 => every,
                _ => backoff.min(LONGEST_BACKOFF.max(every)),
            };
            let Some(left) = pause.checked_sub(begun.elapsed()).filter(|left| !left.is_zero())
            else {
                return;
            };
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Plain values: whoever died with the lock left them whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn once(project: &Seed, wait: Duration) -> Outcome {
    Ok(Box::new(sync_and_hand_out(&mut project.open()?, wait, Prompts::Never)))
}

/// Says whether the remote has all that is here, and took all that was to be handed out.
fn is_done(errand: &Errand) -> bool {
    errand.synced.last().is_some_and(|synced| synced.end == SyncEnd::Same)
        && errand.handed_out.unconfirmed.is_none()
}
