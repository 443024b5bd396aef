//! SIGINT and SIGTERM: the first asks to stop after the change under way, a second ends the process at once, which loses
//! nothing either.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use super::bell::Bell;

/// What shells report for a process that was interrupted.
const INTERRUPTED: i32 = 130;

pub(super) fn ring_on_stop(bell: &Arc<Bell>) -> io::Result<()> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the flag is not set yet when the first one comes.
        flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&asked))?;
        flag::register(signal, Arc::clone(&asked))?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let bell = Arc::clone(bell);
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for _ in signals.forever() {
            bell.stop();
        }
    })?;
    Ok(())
}
