//! The calls of one client that are not over: which have no answer yet, and how many there may be. Knows no pipe.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// So many calls may be under way. Who has more to ask is read on as soon as one is over.
pub(crate) const MOST: usize = 32;

/// The calls that are not over.
pub(crate) struct Open {
    calls: Mutex<Calls>,
    changed: Notify,
    room: Arc<Semaphore>,
}

#[derive(Default)]
struct Calls {
    /// Those without an answer.
    ids: HashSet<RequestId>,
    /// How many answers are on their way to the client.
    unwritten: usize,
}

/// An answer on its way to the client. Dropped when it is written, or when nobody will ever read it.
pub(crate) struct Unwritten(Arc<Open>);

impl Default for Open {
    fn default() -> Self {
        Self {
            calls: Mutex::default(),
            changed: Notify::new(),
            room: Arc::new(Semaphore::new(MOST)),
        }
    }
}

impl Open {
    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request. Says no if one with that id has no answer yet.
    pub(crate) fn begin(&self, id: &RequestId) -> bool {
        self.calls().ids.insert(id.clone())
    }

    /// Notes that a request gets no answer.
    pub(crate) fn call_off(&self, id: &RequestId) {
        self.calls().ids.remove(id);
        self.changed.notify_waiters();
    }

    /// Notes that a request has its answer. From then on its id is free: a client may use it as soon as it has read the answer.
    pub(crate) fn answer(self: &Arc<Self>, id: &RequestId) -> Unwritten {
        let mut calls = self.calls();
        calls.ids.remove(id);
        calls.unwritten += 1;
        Unwritten(Arc::clone(self))
    }

    /// Waits until there is room for one more call. Whoever works on it keeps the room, also when it is called off.
    pub(crate) async fn room(&self) -> Option<OwnedSemaphorePermit> {
        self.until(|calls| calls.unwritten < MOST).await;
        Arc::clone(&self.room).acquire_owned().await.ok()
    }

    /// Waits until every request has its answer, and every answer is written.
    pub(crate) async fn all_answered(&self) {
        self.until(|calls| calls.ids.is_empty() && calls.unwritten == 0).await;
    }

    async fn until(&self, is_so: impl Fn(&Calls) -> bool) {
        loop {
            let told = self.changed.notified();
            if is_so(&self.calls()) {
                return;
            }
            told.await;
        }
    }
}

impl Drop for Unwritten {
    fn drop(&mut self) {
        self.0.calls().unwritten -= 1;
        self.0.changed.notify_waiters();
    }
}
