//! The run of a check on the joined tree, and the end of what it printed.

use std::time::Duration;

use crate::domain::{Digest, LandingCheck};
use crate::project::error::ProjectError;
use crate::project::task_worktrees::{SetupFailed, TaskWorktree};
use crate::system::process::{
    Attendant, How, Orphans, ProcessLimits, Program, Room, Secrets, Stream, Transcript,
};

/// The time that a check has to end after it is asked to.
const GRACE: Duration = Duration::from_secs(10);
/// The most lines of a check's output that a blocker quotes.
const MOST_LINES: usize = 50;
/// The most bytes of them.
const MOST_BYTES: usize = 8 * 1024;
/// The most bytes of the output that its digest covers, at each end.
const MOST_KEPT: usize = 1024 * 1024;

/// A check to run.
pub(super) struct CheckRun<'a> {
    pub words: &'a [String],
    pub place: &'a TaskWorktree,
    pub environment: &'a [(String, String)],
    pub limits: (Duration, Duration),
    pub secrets: &'a Secrets,
    pub printed: &'a mut dyn FnMut(&[u8]),
    pub is_stopped: &'a dyn Fn() -> bool,
}

/// Runs a check. The inner error says how it failed, with the end of its output.
pub(super) fn run_check(
    run: &mut CheckRun<'_>,
) -> Result<Result<LandingCheck, String>, ProjectError> {
    let folder = &run.place.folder;
    let mut program = Program::new(run.words, folder).expect("a check has words");
    for (name, value) in run.environment.iter().chain(&run.place.variables()) {
        program = program.with(name, value);
    }
    let (time, idle) = run.limits;
    let limits = ProcessLimits { time, idle: Some(idle), grace: GRACE, orphans: Orphans::Killed };
    let running = match program.start() {
        Ok(running) => running,
        Err(error) => return Ok(Err(format!("did not start: {}", error.cause))),
    };
    let room = Room { beginning: MOST_KEPT as u64, end: MOST_KEPT, each: MOST_BYTES };
    let mut output = CheckOutput {
        bytes: Vec::new(),
        transcript: Transcript::new(std::io::sink(), run.secrets, room),
        printed: &mut *run.printed,
        is_stopped: run.is_stopped,
    };
    let how = match running.wait(&limits, &mut output) {
        Ok(ended) => ended.how,
        Err(lost) => return Ok(Err(lost.to_string())),
    };
    let last = quoted(&run.secrets.masked(&output.bytes));
    let failed = |why: String| Ok(Err(format!("{why}{last}")));
    match how {
        How::Exited(0) => {
            let text = output.transcript.finish().file;
            let sum =
                text.map_err(|cause| crate::storage::StoreError::io("hash", folder, cause))?;
            let digest: Digest = sum.sha256.parse().expect("it is a digest");
            Ok(Ok(LandingCheck { argv: run.words.to_vec(), exit: 0, digest }))
        }
        How::Exited(status) => failed(format!("ended with exit status {status}")),
        How::Signalled(signal) => failed(format!("ended by signal {signal}")),
        How::TimedOut => failed(format!("was not done after {} s", time.as_secs())),
        How::Idle => failed(format!("printed nothing for {} s", idle.as_secs())),
        How::Stopped(()) => Err(SetupFailed::Stopped.into_error()),
    }
}

/// Returns the last lines of an output, below a colon.
fn quoted(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let from = lines.len().saturating_sub(MOST_LINES);
    match lines[from..].join("\n") {
        text if text.is_empty() => String::new(),
        text => format!(":\n{text}"),
    }
}

/// Passes a check's output on, and keeps its end and its digest.
struct CheckOutput<'a> {
    bytes: Vec<u8>,
    transcript: Transcript<std::io::Sink>,
    printed: &'a mut dyn FnMut(&[u8]),
    is_stopped: &'a dyn Fn() -> bool,
}

impl Attendant for CheckOutput<'_> {
    type Reason = ();

    fn printed(&mut self, stream: Stream, bytes: &[u8]) {
        (self.printed)(bytes);
        self.transcript.take(stream, bytes);
        self.bytes.extend_from_slice(bytes);
        let over = self.bytes.len().saturating_sub(MOST_BYTES);
        self.bytes.drain(..over);
    }

    fn wants_end(&mut self) -> Option<()> {
        (self.is_stopped)().then_some(())
    }
}
