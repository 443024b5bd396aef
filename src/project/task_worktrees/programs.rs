//! Runs the programs of the set-up, and the checks of a landing, in a worktree.

use std::time::Duration;

use super::{SetupFailed, TaskWorktree, WorktreeSetup};
use crate::domain::RunBounds;
use crate::system::process::{
    Attendant, How, Orphans, ProcessLimits, Program, Room, Stream, Transcript,
};

/// The time that a program may take, and print nothing, unless an agent's settings say otherwise.
pub(crate) const USUAL_LIMITS: (Duration, Duration) =
    (Duration::from_secs(RunBounds::TIMEOUT), Duration::from_secs(RunBounds::IDLE));
/// The time that a program has to end after it is asked to.
const GRACE: Duration = Duration::from_secs(10);
/// The most bytes of the output that are kept, at each end.
const MOST_KEPT: usize = 1024 * 1024;

/// A program that has run in a worktree.
pub(crate) struct EndedProgram {
    /// The reason why it failed; `None` if it did not.
    pub failure: Option<String>,
    /// Its output, with secrets masked.
    pub output: Vec<u8>,
}

impl EndedProgram {
    /// Returns the end of the output: at most that many lines and bytes.
    pub(crate) fn last_lines(&self, lines: usize, bytes: usize) -> String {
        let end = &self.output[self.output.len().saturating_sub(bytes)..];
        let text = String::from_utf8_lossy(end);
        let all: Vec<&str> = text.trim_end().lines().collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }
}

impl TaskWorktree {
    /// Runs a program here to its end.
    pub(crate) fn run(
        &self,
        words: &[String],
        setup: &mut WorktreeSetup<'_>,
    ) -> Result<EndedProgram, SetupFailed> {
        let mut output = Vec::new();
        let room = Room { beginning: MOST_KEPT as u64, end: MOST_KEPT, each: 0 };
        let transcript = Transcript::new(&mut output, setup.secrets, room);
        let mut relay = OutputRelay { transcript, setup };
        let failure = self.failure_of(words, &mut relay)?;
        let printed = relay.transcript.finish().file;
        printed.expect("memory can be written");
        Ok(EndedProgram { failure, output })
    }

    fn failure_of(
        &self,
        words: &[String],
        relay: &mut OutputRelay<'_, '_>,
    ) -> Result<Option<String>, SetupFailed> {
        let Some(mut program) = Program::new(words, &self.facts.folder) else {
            return Ok(Some("names no program".to_owned()));
        };
        for (name, value) in self.facts.variables() {
            program = program.with(&name, value);
        }
        let setup = &relay.setup;
        program = program.with("AOF_TASK", &setup.visit).with("AOF_PROJECT", setup.project);
        let (time, idle) = setup.limits;
        let limits =
            ProcessLimits { time, idle: Some(idle), grace: GRACE, orphans: Orphans::Killed };
        let running = match program.start() {
            Ok(running) => running,
            Err(error) => return Ok(Some(format!("did not start: {}", error.cause))),
        };
        Ok(match running.wait(&limits, relay).map(|ended| ended.how) {
            Ok(How::Exited(0)) => None,
            Ok(How::Exited(status)) => Some(format!("ended with exit status {status}")),
            Ok(How::Signalled(signal)) => Some(format!("ended by signal {signal}")),
            Ok(How::TimedOut) => Some(format!("was not done after {} s", time.as_secs())),
            Ok(How::Idle) => Some(format!("printed nothing for {} s", idle.as_secs())),
            Ok(How::Stopped(())) => return Err(SetupFailed::Stopped),
            Err(lost) => Some(lost.to_string()),
        })
    }
}

/// Passes a program's output on, and keeps it.
struct OutputRelay<'l, 's> {
    transcript: Transcript<&'l mut Vec<u8>>,
    setup: &'l mut WorktreeSetup<'s>,
}

impl Attendant for OutputRelay<'_, '_> {
    type Reason = ();

    fn printed(&mut self, stream: Stream, bytes: &[u8]) {
        (self.setup.printed)(stream, bytes);
        self.transcript.take(stream, bytes);
    }

    fn wants_end(&mut self) -> Option<()> {
        (self.setup.is_stopped)().then_some(())
    }
}
