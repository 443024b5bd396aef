//! SIGINT, SIGTERM, SIGHUP (the terminal is gone) and SIGQUIT: whoever is at work is ended, what was claimed is given back, and the runner stops.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/// Has each of the signals set the flag.
pub fn stop_on_signals(stop: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        signal_hook::flag::register(signal, Arc::clone(stop))?;
    }
    Ok(())
}
