//! SIGINT and SIGTERM, and what else asks a process to stop. Decides nothing of what is done then.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

/// What shells report for a process that was interrupted.
const INTERRUPTED: i32 = 130;

/// Has `stop` called for the first SIGINT or SIGTERM; a second one ends the process at once.
pub(crate) fn on_stop(stop: impl Fn() + Send + 'static) -> io::Result<()> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the flag is not set yet when the first one comes.
        flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&asked))?;
        flag::register(signal, Arc::clone(&asked))?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for _ in signals.forever() {
            stop();
        }
    })?;
    Ok(())
}

/// Has the flag set by SIGINT, SIGTERM, SIGHUP (the terminal is gone) and SIGQUIT, each time.
pub(crate) fn set_on_stop(stop: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        flag::register(signal, Arc::clone(stop))?;
    }
    Ok(())
}
