//! Memory that is given back to the system as soon as it is free.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// How long the allocator keeps what was freed, in milliseconds. It reads this only when a process starts.
const DELAY: &str = "MIMALLOC_PURGE_DELAY";

/// Has this process give memory back at once. By itself, the allocator does so when the thread that freed it allocates again, but the
/// threads of a server rest for long. Starts the program again in its place for that, unless somebody has set the delay.
pub(crate) fn give_back_at_once() {
    if env::var_os(DELAY).is_some() {
        return;
    }
    let Ok(program) = env::current_exe() else { return };
    let mut words = env::args_os();
    let mut again = Command::new(program);
    if let Some(name) = words.next() {
        again.arg0(name);
    }
    // It returns only where it failed; then the server works as well, with more memory.
    let _ = again.args(words).env(DELAY, "0").exec();
}
