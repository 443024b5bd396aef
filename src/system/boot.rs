//! Which start of the machine this is: what was under way in another one was not ended by a kill alone.

/// Returns what the system calls this start of the machine; nothing where it has no name for it.
///
/// A crash test calls it otherwise by `AOF_BOOT`, in debug builds only: a power cut is not to be had.
pub fn boot() -> Option<String> {
    #[cfg(debug_assertions)]
    if let Ok(told) = std::env::var("AOF_BOOT") {
        return Some(told);
    }
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}
