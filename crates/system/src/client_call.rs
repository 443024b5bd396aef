//! A call of a client that may hang up before it has the answer: what the call did is then undone.

use std::fmt::{self, Debug, Formatter};
use std::mem::take;
use std::sync::{Mutex, MutexGuard, PoisonError};

type CallHook = Box<dyn FnOnce() + Send>;

/// A call of a client.
#[derive(Default)]
pub struct ClientCall(Mutex<CallState>);

#[derive(Default)]
struct CallState {
    is_cancelled: bool,
    is_hurried: bool,
    /// True if the answer is on its way.
    is_done: bool,
    undo: Option<CallHook>,
    leave: Option<CallHook>,
}

impl ClientCall {
    fn state(&self) -> MutexGuard<'_, CallState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets how the call leaves the calls that run at once.
    pub fn on_leave(&self, leave: impl FnOnce() + Send + 'static) {
        self.state().leave = Some(Box::new(leave));
    }

    /// Leaves the calls that run at once, before a long wait or at the end.
    pub fn leave(&self) {
        let leave = self.state().leave.take();
        run(leave);
    }

    /// Sets how to undo what the call did, if the answer does not arrive.
    pub fn on_loss(&self, undo: impl FnOnce() + Send + 'static) {
        self.state().undo = Some(Box::new(undo));
    }

    /// Returns true if a call that waits must end.
    pub fn is_over(&self) -> bool {
        let state = self.state();
        state.is_cancelled || state.is_hurried
    }

    /// Ends the wait of the call, which then gets its answer.
    pub fn hurry(&self) {
        self.state().is_hurried = true;
    }

    /// Notes that the client wants no answer any longer. If the answer is on its way, undoes the call.
    pub fn cancel(&self) {
        let undo = {
            let mut state = self.state();
            state.is_cancelled = true;
            if state.is_done { take(&mut state.undo) } else { None }
        };
        run(undo);
    }

    /// Notes that the answer is there. Returns true if the client wants it; otherwise undoes the call.
    pub fn finish(&self) -> bool {
        let (is_wanted, undo) = {
            let mut state = self.state();
            state.is_done = true;
            let undo = if state.is_cancelled { take(&mut state.undo) } else { None };
            (!state.is_cancelled, undo)
        };
        run(undo);
        is_wanted
    }
}

fn run(hook: Option<CallHook>) {
    if let Some(hook) = hook {
        hook();
    }
}

impl Debug for ClientCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let CallState { is_cancelled, is_hurried, is_done, .. } = &*self.state();
        write!(f, "ClientCall({is_cancelled}, {is_hurried}, {is_done})")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_call_without_a_client_is_undone_once() {
        let undone = Arc::new(AtomicUsize::new(0));
        let call = || {
            let (call, count) = (ClientCall::default(), Arc::clone(&undone));
            call.on_loss(move || {
                count.fetch_add(1, Ordering::Relaxed);
            });
            call
        };
        let answered = call();
        assert!(answered.finish() && !answered.is_over());
        assert_eq!(undone.load(Ordering::Relaxed), 0);
        answered.cancel();
        answered.cancel();
        assert_eq!(undone.load(Ordering::Relaxed), 1);
        let cancelled = call();
        cancelled.cancel();
        assert!(cancelled.is_over() && undone.load(Ordering::Relaxed) == 1);
        assert!(!cancelled.finish() && undone.load(Ordering::Relaxed) == 2);
    }
}
