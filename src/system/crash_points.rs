//! Named points at which a crash test may stop the process. A leaf: every floor may call it, it calls nothing.
//!
//! `AOF_STOP_AT=name` aborts the process the first time it passes that point, `AOF_STOP_AT=name:3` the third time:
//! no destructor runs, as after `kill -9`. `AOF_WAIT_AT=name:PIPE` has each thread that passes that point wait there until somebody opens
//! the named pipe to write; the file `PIPE.reached` says that somebody waits. Release builds contain none of this.

/// Every point there is, in the order in which one transition passes them.
pub const POINTS: &[&str] = &[
    "ops.prepared",
    "git.temps-made",
    "ops.intent-written",
    "git.intent-told",
    "git.objects-written",
    "git.index-locked",
    "git.objects-named",
    "ops.file-written",
    "git.index-written",
    "git.ref-locked",
    "git.reflog-written",
    "git.index-moved",
    "git.ref-moved",
    "ops.committed",
    "ops.settled",
];

/// Those that a sync passes besides when it brings in what others did: the locks are taken; a file has its place; all are there.
pub const BRING_POINTS: &[&str] = &["git.bring-begun", "git.bring-placed", "git.bring-files"];

/// Those that a message passes behind it, in order: it is written, and the cursor not moved; it is delivered, and not removed.
pub const OUTBOX_POINTS: &[&str] = &["outbox.written", "outbox.delivered"];

/// The one that a message passes which is given up: it is kept aside, and nobody was told.
pub const GIVEN_UP_POINTS: &[&str] = &["outbox.given-up"];

/// Those that lines of the event stream pass: a new stream is begun; lines are written, and not recorded; a new stream is there, and
/// not recorded; it is recorded, and what was left for it is still there.
pub const EVENT_POINTS: &[&str] =
    &["events.making", "events.written", "events.replaced", "events.recorded"];

/// Those that a completion file passes that is refused, in order: it was judged, and stands where it was; its reason is written, and
/// the file not moved.
pub const INBOX_POINTS: &[&str] = &["inbox.judged", "inbox.reason-written"];

/// Aborts here if the environment asks for it, or waits.
#[cfg(debug_assertions)]
pub fn point(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};
    static ASKED: OnceLock<Option<(String, u32)>> = OnceLock::new();
    static PASSED: AtomicU32 = AtomicU32::new(0);

    let all =
        [POINTS, BRING_POINTS, OUTBOX_POINTS, GIVEN_UP_POINTS, EVENT_POINTS, INBOX_POINTS].concat();
    debug_assert!(all.contains(&name), "`{name}` is missing from the lists of `stop`");
    let asked = ASKED.get_or_init(|| {
        let value = std::env::var("AOF_STOP_AT").ok()?;
        let (name, turn) = value.split_once(':').unwrap_or((&value, "1"));
        Some((name.to_owned(), turn.parse().ok()?))
    });
    if let Some((wanted, turn)) = asked
        && wanted == name
        && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *turn
    {
        std::process::abort();
    }
    wait_at(name);
}

/// Waits, if the environment asks for that here, until somebody writes into the pipe that it names.
#[cfg(debug_assertions)]
fn wait_at(name: &str) {
    let asked = std::env::var("AOF_WAIT_AT").unwrap_or_default();
    if let Some(pipe) = asked.strip_prefix(name).and_then(|rest| rest.strip_prefix(':')) {
        let _ = std::fs::write(format!("{pipe}.reached"), name);
        // Opening it waits for whoever opens the other end; where there is none, nothing is waited for.
        let _ = std::fs::File::open(pipe);
    }
}

/// Does nothing in a release build.
#[cfg(not(debug_assertions))]
#[inline]
pub fn point(_name: &str) {}
