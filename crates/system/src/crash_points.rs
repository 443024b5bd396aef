//! Named points at which a crash test may stop the process. Any layer may call this module; it calls none.
//!
//! `AOF_STOP_AT=name` aborts the process the first time it passes that point, `AOF_STOP_AT=name:3` the third time: no destructor
//! runs, as after `kill -9`. `AOF_WAIT_AT=name:PIPE` makes each thread that passes that point wait until the named pipe is opened
//! for writing; the file `PIPE.reached` shows that a thread waits. Release builds contain none of this.

/// The points of a transition, in order.
pub const POINTS: &[&str] = &[
    "ops.prepared",
    "git.temps-made",
    "ops.intent-written",
    "git.intent-recorded",
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

/// Additional points of a fast-forward: a merge commit is made; the locks are taken; files have temporary names; a file is in place;
/// all files are in place.
#[cfg(debug_assertions)]
const BRING_POINTS: &[&str] =
    &["git.joined", "git.bring-begun", "git.bring-staged", "git.bring-placed", "git.bring-files"];

/// The points of a message, in order: it is written, but the cursor not moved; it is delivered, but not removed.
pub const OUTBOX_POINTS: &[&str] = &["outbox.written", "outbox.delivered"];

/// The point of a given-up message: it is moved aside, but not reported.
pub const GIVEN_UP_POINTS: &[&str] = &["outbox.given-up"];

/// The points of the event stream: a new stream is begun; lines are written, but not recorded; a new stream is in place, but not
/// recorded; it is recorded, but pending lines are not removed.
pub const EVENT_POINTS: &[&str] =
    &["events.making", "events.written", "events.replaced", "events.recorded"];

/// The points of a completion file, in order: its visit is known, but the file not taken; it is taken; its refusal is decided, but
/// it is not moved; its reason is written, but the file not moved.
#[cfg(debug_assertions)]
const INBOX_POINTS: &[&str] =
    &["inbox.found", "inbox.taken", "inbox.judged", "inbox.reason-written"];

/// The points of a move to a branch of its own, in order: the branch is made; it is checked out; an entry of `.aof/` has moved; all
/// have; the branch of the code names it.
#[cfg(debug_assertions)]
const MIGRATE_POINTS: &[&str] = &[
    "migrate.branch-made",
    "migrate.checked-out",
    "migrate.state-moving",
    "migrate.state-moved",
    "migrate.pointed",
];

/// The points of a landing, in order: the join is made; it is checked and noted; the remote has it; the local branch has it.
pub const LAND_POINTS: &[&str] = &["land.joined", "land.checked", "land.pushed", "land.moved"];

/// The point at which workspaces are listed, but none is removed.
#[cfg(debug_assertions)]
const PRUNE_POINTS: &[&str] = &["prune.listed"];

/// Aborts or waits here if the environment asks for it.
#[cfg(debug_assertions)]
pub fn point(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};
    static ASKED: OnceLock<Option<(String, u32)>> = OnceLock::new();
    static PASSED: AtomicU32 = AtomicU32::new(0);

    let all = [
        POINTS,
        BRING_POINTS,
        OUTBOX_POINTS,
        GIVEN_UP_POINTS,
        EVENT_POINTS,
        INBOX_POINTS,
        MIGRATE_POINTS,
        LAND_POINTS,
        PRUNE_POINTS,
    ]
    .concat();
    debug_assert!(all.contains(&name), "`{name}` is missing from the lists of `stop`");
    let stop = ASKED.get_or_init(|| {
        let value = std::env::var("AOF_STOP_AT").ok()?;
        let (name, turn) = value.split_once(':').unwrap_or((&value, "1"));
        Some((name.to_owned(), turn.parse().ok()?))
    });
    if let Some((wanted, turn)) = stop
        && wanted == name
        && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *turn
    {
        std::process::abort();
    }
    wait_at(name);
}

/// Waits, if the environment asks for that here, until the named pipe is opened for writing.
#[cfg(debug_assertions)]
fn wait_at(name: &str) {
    let wait = std::env::var("AOF_WAIT_AT").unwrap_or_default();
    if let Some(pipe) = wait.strip_prefix(name).and_then(|rest| rest.strip_prefix(':')) {
        let _ = std::fs::write(format!("{pipe}.reached"), name);
        // Opening blocks until the other end is opened; without a pipe, it does not block.
        let _ = std::fs::File::open(pipe);
    }
}

/// Does nothing in a release build.
#[cfg(not(debug_assertions))]
#[inline]
pub fn point(_name: &str) {}
