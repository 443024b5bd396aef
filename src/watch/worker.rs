//! A thread of the watcher that does one job: whenever it is asked to, and when its time has come. So neither networks nor long
//! walks hold up a completion.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

/// A running worker. It ends when it is dropped, after the job under way.
pub(crate) struct Worker<T> {
    shared: Arc<Shared>,
    outcomes: mpsc::Receiver<T>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<WorkerState>,
    changed: Condvar,
    /// Jobs look at it, so that long ones end early.
    stop: AtomicBool,
}

#[derive(Default)]
struct WorkerState {
    asked: bool,
    busy: bool,
}

/// When a job runs again.
#[derive(Default)]
pub(crate) struct NextRun {
    /// Not before that, even if it is asked to.
    pub earliest: Duration,
    /// So long after, even if nobody asks.
    pub latest: Option<Duration>,
}

impl<T: Send + 'static> Worker<T> {
    /// Starts a worker that waits to be asked. The job gets a flag that says when to end early.
    pub(crate) fn start(
        name: &str,
        mut job: impl FnMut(&AtomicBool) -> (T, NextRun) + Send + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (sender, outcomes) = mpsc::channel();
        let own = Arc::clone(&shared);
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            let mut latest = None;
            while own.begin(latest) {
                let (outcome, next) = job(&own.stop);
                own.end();
                if sender.send(outcome).is_err() {
                    return;
                }
                own.rest(next.earliest);
                latest = next.latest.map(|latest| latest.saturating_sub(next.earliest));
            }
        })?;
        Ok(Self { shared, outcomes })
    }

    /// Asks for the job to be done. A job under way is done once more afterwards.
    pub(crate) fn ask(&self) {
        self.shared.lock().asked = true;
        self.shared.changed.notify_all();
    }

    /// Returns the outcomes since the last call.
    pub(crate) fn outcomes(&self) -> Vec<T> {
        self.outcomes.try_iter().collect()
    }
}

impl<T> Worker<T> {
    /// Ends the worker, and waits so long at most for the job under way.
    pub(crate) fn stop(&self, patience: Duration) {
        let state = self.shared.lock();
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.changed.notify_all();
        drop(self.shared.changed.wait_timeout_while(state, patience, |state| state.busy));
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

impl Shared {
    /// Waits until the job is asked for, or its time has come; returns whether to do it.
    fn begin(&self, latest: Option<Duration>) -> bool {
        let idle = |state: &mut WorkerState| !state.asked && !self.is_stopped();
        let state = self.lock();
        let mut state = match latest {
            Some(latest) => {
                let waited = self.changed.wait_timeout_while(state, latest, idle);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner),
        };
        *state = WorkerState { asked: false, busy: !self.is_stopped() };
        state.busy
    }

    fn end(&self) {
        self.lock().busy = false;
        self.changed.notify_all();
    }

    fn rest(&self, time: Duration) {
        drop(self.changed.wait_timeout_while(self.lock(), time, |_| !self.is_stopped()));
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, WorkerState> {
        // Plain values: a thread that died with the lock left them whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn first<T: Send + 'static>(worker: &Worker<T>) -> T {
        worker.outcomes.recv_timeout(Duration::from_secs(10)).unwrap()
    }

    #[test]
    fn a_job_is_done_when_it_is_asked_for_and_when_its_time_has_come() {
        let mut count = 0;
        let next = || NextRun { earliest: Duration::ZERO, latest: Some(Duration::from_millis(1)) };
        let worker = Worker::start("test", move |_| {
            count += 1;
            (count, next())
        });
        let worker = worker.unwrap();
        thread::sleep(Duration::from_millis(5));
        assert!(worker.outcomes().is_empty(), "nobody asked");
        worker.ask();
        assert_eq!((first(&worker), first(&worker)), (1, 2));
    }

    #[test]
    fn a_job_under_way_is_done_again_and_ends_early() {
        let (sender, go) = mpsc::channel();
        let worker = Worker::start("test", move |stop| {
            let _ = go.recv();
            (stop.load(Ordering::Relaxed), NextRun::default())
        });
        let worker = worker.unwrap();
        worker.ask();
        sender.send(()).unwrap();
        assert!(!first(&worker));
        worker.ask();
        while !worker.shared.lock().busy {
            thread::yield_now();
        }
        let before = Instant::now();
        worker.stop(Duration::from_millis(1));
        assert!(before.elapsed() < Duration::from_secs(5));
        sender.send(()).unwrap();
        assert!(first(&worker));
    }
}
