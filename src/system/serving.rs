//! What `aof serve` asks of the system: to take memory back soon, and to run background work at a lower priority.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// How long the allocator keeps what was freed, in milliseconds. It reads this only when a process starts.
const DELAY: &str = "MIMALLOC_PURGE_DELAY";
/// Long enough for the next request to find it.
const KEPT_MS: &str = "20";
/// Of the steps of niceness, up to 19. A thread gets a tenth of what one gets that is not nice.
const NICER: i32 = 10;

/// Has this process give memory back soon. By itself, the allocator keeps it for a second and more, and the threads of a server rest
/// for long. Starts the program again in its place for that, unless somebody has set the delay.
pub(crate) fn give_back_memory() {
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
    let _ = again.args(words).env(DELAY, KEPT_MS).exec();
}

/// Lowers the priority of this thread, and of those that it starts. It does nothing where that would lower the whole process: on all
/// systems but Linux.
pub(crate) fn work_in_background() {
    if !cfg!(target_os = "linux") {
        return;
    }
    // Every thread may become nicer; one that the system leaves as it is works as well.
    let _ = rustix::process::nice(NICER);
}
