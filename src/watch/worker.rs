//! A thread of the watcher that does one job: whenever it is asked to, and when its time has come. So neither networks nor long
//! walks hold up a completion.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A running worker. It ends when it is dropped, after the job under way.
pub(crate) struct Worker<T> {
    asks: Sender<()>,
    outcomes: Receiver<T>,
    thread: JoinHandle<()>,
    /// Jobs look at it, so that long ones end early.
    stop: Arc<AtomicBool>,
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
        let stop = Arc::new(AtomicBool::new(false));
        let (asks, asked) = mpsc::channel();
        let (sender, outcomes) = mpsc::channel();
        let own = Arc::clone(&stop);
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let mut latest = None;
            while wait(&asked, latest) {
                // What was asked for until now is done by this run.
                while asked.try_recv().is_ok() {}
                if own.load(Ordering::Relaxed) {
                    return;
                }
                let (outcome, next) = job(&own);
                if sender.send(outcome).is_err() {
                    return;
                }
                let mut rest = next.earliest;
                let end = Instant::now() + rest;
                let mut is_asked = false;
                while !rest.is_zero() && !own.load(Ordering::Relaxed) {
                    is_asked |= matches!(asked.recv_timeout(rest), Ok(()));
                    rest = end.saturating_duration_since(Instant::now());
                }
                let idle = next.latest.map(|latest| latest.saturating_sub(next.earliest));
                latest = if is_asked { Some(Duration::ZERO) } else { idle };
            }
        })?;
        Ok(Self { asks, outcomes, thread, stop })
    }

    /// Asks for the job to be done. A job under way is done once more afterwards.
    pub(crate) fn ask(&self) {
        // A worker that has ended does nothing any more.
        let _ = self.asks.send(());
    }

    /// Returns the outcomes since the last call.
    pub(crate) fn outcomes(&self) -> Vec<T> {
        self.outcomes.try_iter().collect()
    }
}

impl<T> Worker<T> {
    /// Ends the worker, and waits so long at most for the job under way.
    pub(crate) fn stop(&self, patience: Duration) {
        const STEP: Duration = Duration::from_millis(2);
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.asks.send(());
        let end = Instant::now() + patience;
        while !self.thread.is_finished() && Instant::now() < end {
            thread::sleep(STEP);
        }
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

/// Waits until the job is asked for, or its time has come; returns whether to do it.
fn wait(asked: &Receiver<()>, latest: Option<Duration>) -> bool {
    match latest {
        None => asked.recv().is_ok(),
        Some(latest) => asked.recv_timeout(latest) != Err(RecvTimeoutError::Disconnected),
    }
}

#[cfg(test)]
mod tests {
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
        let (begin, begun) = mpsc::channel();
        let worker = Worker::start("test", move |stop| {
            let _ = (begin.send(()), go.recv());
            (stop.load(Ordering::Relaxed), NextRun::default())
        });
        let worker = worker.unwrap();
        worker.ask();
        begun.recv().unwrap();
        worker.ask();
        sender.send(()).unwrap();
        assert!(!first(&worker));
        begun.recv().unwrap();
        let before = Instant::now();
        worker.stop(Duration::from_millis(1));
        assert!(before.elapsed() < Duration::from_secs(5));
        sender.send(()).unwrap();
        assert!(first(&worker));
    }
}
