//! Settings of the system for `aof serve`: memory is returned soon, and background work runs at a lower priority.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The time in milliseconds for which the allocator keeps freed memory. It reads this variable only when a process starts.
const DELAY: &str = "MIMALLOC_PURGE_DELAY";
/// Long enough for the next request to reuse the memory.
const KEPT_MS: &str = "20";
/// The added niceness, of up to 19. A thread with it gets a tenth of the time of one without.
const NICER: i32 = 10;

/// Makes this process return memory soon. By default, the allocator keeps it for a second or more, and the threads of a server are
/// idle for long. Restarts the program in its place for that, unless the delay is already set.
pub fn give_back_memory() {
    if env::var_os(DELAY).is_some() {
        return;
    }
    let Ok(program) = env::current_exe() else { return };
    let mut words = env::args_os();
    let mut again = Command::new(program);
    if let Some(name) = words.next() {
        again.arg0(name);
    }
    // `exec` returns only if it fails; then the server works as well, with more memory.
    let _ = again.args(words).env(DELAY, KEPT_MS).exec();
}

/// Lowers the priority of this thread, and of those that it starts, on Linux. Does nothing on other systems, since it would lower
/// the priority of the whole process there.
pub fn work_in_background() {
    if !cfg!(target_os = "linux") {
        return;
    }
    // Every thread may raise its niceness; if the system refuses, the thread works as well.
    let _ = rustix::process::nice(NICER);
}
