//! A program that runs: it is waited for, and ended when its time is over, with all that it started.
//!
//! Its end is first seen without asking for its status: until then the system gives its number to nobody else, so a signal to
//! the group can reach no stranger.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::ProcessGroup;
use super::program::signal;
use super::program::{Program, StartError, StartObstacle, obstacle};

/// How often the clock and the attendant are asked when nothing is printed.
const TICK: Duration = Duration::from_millis(20);
/// The first wait after something happened: an end follows soon upon the last word.
const SHORTEST_TICK: Duration = Duration::from_micros(250);
/// How long what was printed is waited for once the program has ended, while others hold its pipes.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// How long a killed program is waited for: one that waits for a broken disk ends when the disk does.
const UNKILLABLE: Duration = Duration::from_secs(5);

impl Program {
    /// Starts it.
    pub fn start(self) -> Result<Running, StartError> {
        let name = self.name();
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(&self.directory).process_group(0);
        for removed in &self.removed {
            command.env_remove(removed);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|cause| StartError {
            program: name.clone(),
            obstacle: obstacle(&cause, &self.directory),
            cause,
        })?;
        Running::attach(name, child, self.input)
    }
}

/// How long a program may take, and what becomes of those that it leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Until its end.
    pub time: Duration,
    /// Between two words that it prints to either stream; nothing: as long as it likes.
    pub idle: Option<Duration>,
    /// Between the polite signal (SIGTERM) and the other one (SIGKILL). Zero: only the other one.
    pub grace: Duration,
    /// What becomes of programs of its group that live when it has ended by itself.
    pub orphans: Orphans,
}

/// What becomes of programs that another one left behind in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orphans {
    /// They are killed: a run is over when it is over.
    Killed,
    /// They live on, and nobody waits for them.
    Spared,
}

/// Who is there while a program runs.
pub trait Attendant {
    /// Why it has the program ended.
    type Reason;

    /// Gets what was printed, in order of arrival.
    fn printed(&mut self, stream: Stream, bytes: &[u8]);

    /// Says whether the program is to end, and why. Asked once before all, then many times a second, until it says so.
    fn wants_end(&mut self) -> Option<Self::Reason>;
}

/// How a program came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How<R> {
    /// By itself, with that exit status.
    Exited(i32),
    /// By a signal that was none of ours.
    Signalled(i32),
    /// Its time was over.
    TimedOut,
    /// It printed nothing for too long.
    Idle,
    /// The attendant wanted it.
    Stopped(R),
}

/// A program that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended<R> {
    /// How.
    pub how: How<R>,
    /// How long it ran.
    pub took: Duration,
}

/// A program of which the system does not tell how it ended: somebody else asked first.
#[derive(Debug, thiserror::Error)]
#[error("nothing is known of `{program}`: {cause}")]
pub struct UnknownExit {
    /// Its name.
    pub program: String,
    /// What the system said.
    pub cause: io::Error,
}

/// A program that runs. Dropped, it is killed with its group.
pub struct Running {
    program: String,
    child: Child,
    leader: Pid,
    streams: Streams,
    begun: Instant,
    /// Whether its number may still be used: nobody has asked for its status.
    is_ours: bool,
}

impl Running {
    pub(crate) fn attach(
        program: String,
        mut child: Child,
        input: Vec<u8>,
    ) -> Result<Self, StartError> {
        let streams = Streams::of(&mut child, input);
        let Some(leader) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
            return Err(refused(program, io::Error::other("the system gave it no number")));
        };
        let running = |streams| Self {
            program: program.clone(),
            child,
            leader,
            streams,
            begun: Instant::now(),
            is_ours: true,
        };
        match streams {
            Ok(streams) => Ok(running(streams)),
            Err(cause) => {
                // Dropped, it is killed.
                drop(running(Streams::default()));
                Err(refused(program, cause))
            }
        }
    }

    /// Returns the mark by which its group is known later, if the system tells it.
    pub fn group(&self) -> Option<ProcessGroup> {
        ProcessGroup::of(self.child.id())
    }

    /// Waits for its end, or brings it about.
    pub fn wait<A: Attendant>(
        mut self,
        limits: &ProcessLimits,
        attendant: &mut A,
    ) -> Result<Ended<A::Reason>, UnknownExit> {
        let cause = self.attend(limits, attendant)?;
        let took = self.begun.elapsed();
        if cause.is_none() {
            self.listen(attendant);
        }
        if cause.is_some() || limits.orphans == Orphans::Killed {
            signal(self.leader, Signal::KILL);
            self.listen(attendant);
        }
        if let Some(how) = cause {
            return Ok(Ended { how, took });
        }
        self.streams.drain_aside();
        self.is_ours = false;
        let status = self
            .child
            .wait()
            .map_err(|cause| UnknownExit { program: self.program.clone(), cause })?;
        Ok(Ended { how: ending(status), took })
    }

    /// Waits until the program has ended; returns why it had to, if it had to. Its status is not asked for.
    fn attend<A: Attendant>(
        &mut self,
        limits: &ProcessLimits,
        attendant: &mut A,
    ) -> Result<Option<How<A::Reason>>, UnknownExit> {
        let mut clock =
            RunDeadline { limits: *limits, begun: self.begun, heard: self.begun, asked: None };
        let mut dying: Option<Dying<A::Reason>> = None;
        let mut tick = SHORTEST_TICK;
        while !self.has_ended()? {
            let now = Instant::now();
            dying = match dying {
                None => clock
                    .due(now, attendant)
                    .map(|how| Dying::begin(self.leader, how, limits.grace, now)),
                Some(dying) if now < dying.next => Some(dying),
                Some(dying) if dying.is_killed => return Ok(Some(dying.how)),
                Some(dying) => Some(dying.kill(self.leader, now)),
            };
            let left = dying
                .as_ref()
                .map_or_else(|| clock.left(now), |dying| dying.next.saturating_duration_since(now));
            tick = match self
                .streams
                .pass(tick.min(left), &mut |stream, bytes| attendant.printed(stream, bytes))
            {
                Passed::Nothing => (tick * 2).min(TICK),
                Passed::Moved => SHORTEST_TICK,
                Passed::Printed => {
                    clock.heard = Instant::now();
                    SHORTEST_TICK
                }
            };
        }
        Ok(dying.map(|dying| dying.how))
    }

    fn has_ended(&mut self) -> Result<bool, UnknownExit> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match rustix::process::waitid(WaitId::Pid(self.leader), look) {
            Ok(status) => Ok(status.is_some()),
            Err(Errno::INTR) => Ok(false),
            Err(cause) => {
                self.is_ours = false;
                Err(UnknownExit { program: self.program.clone(), cause: cause.into() })
            }
        }
    }

    /// Hears what a program that has ended had printed, and what others print for a moment who hold its pipes.
    fn listen<A: Attendant>(&mut self, attendant: &mut A) {
        let begun = Instant::now();
        while self.streams.is_open() {
            let Some(left) = LAST_WORDS.checked_sub(begun.elapsed()) else { break };
            self.streams.pass(left, &mut |stream, bytes| attendant.printed(stream, bytes));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_ours {
            return;
        }
        signal(self.leader, Signal::KILL);
        let begun = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begun.elapsed() < UNKILLABLE {
            thread::sleep(SHORTEST_TICK);
        }
    }
}

/// When a program has to end.
struct RunDeadline {
    limits: ProcessLimits,
    begun: Instant,
    heard: Instant,
    asked: Option<Instant>,
}

impl RunDeadline {
    fn due<A: Attendant>(&mut self, now: Instant, attendant: &mut A) -> Option<How<A::Reason>> {
        if self.asked.is_none_or(|asked| now.saturating_duration_since(asked) >= TICK) {
            self.asked = Some(now);
            if let Some(reason) = attendant.wants_end() {
                return Some(How::Stopped(reason));
            }
        }
        if now.saturating_duration_since(self.begun) >= self.limits.time {
            return Some(How::TimedOut);
        }
        let is_idle =
            self.limits.idle.is_some_and(|idle| now.saturating_duration_since(self.heard) >= idle);
        is_idle.then_some(How::Idle)
    }

    /// Returns how long nothing can be due but the attendant's wish.
    fn left(&self, now: Instant) -> Duration {
        let wall = self.limits.time.saturating_sub(now.saturating_duration_since(self.begun));
        let idle = self
            .limits
            .idle
            .map(|idle| idle.saturating_sub(now.saturating_duration_since(self.heard)));
        idle.map_or(wall, |idle| idle.min(wall))
    }
}

/// A program that has to end, and has not.
struct Dying<R> {
    how: How<R>,
    is_killed: bool,
    /// When patience with it is over.
    next: Instant,
}

impl<R> Dying<R> {
    fn begin(leader: Pid, how: How<R>, grace: Duration, now: Instant) -> Self {
        let Some(next) = now.checked_add(grace).filter(|next| *next > now) else {
            return Self { how, is_killed: false, next: now }.kill(leader, now);
        };
        signal(leader, Signal::TERM);
        // One that was suspended hears nothing.
        signal(leader, Signal::CONT);
        Self { how, is_killed: false, next }
    }

    fn kill(self, leader: Pid, now: Instant) -> Self {
        signal(leader, Signal::KILL);
        Self { is_killed: true, next: now + UNKILLABLE, ..self }
    }
}

fn ending<R>(status: ExitStatus) -> How<R> {
    match (status.code(), status.signal()) {
        (Some(code), _) => How::Exited(code),
        (None, signal) => How::Signalled(signal.unwrap_or_default()),
    }
}

fn refused(program: String, cause: io::Error) -> StartError {
    StartError { program, obstacle: StartObstacle::System, cause }
}

/// As much as a pipe holds.
const PIECE: usize = 64 * 1024;

/// What a program prints to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// The output proper.
    Stdout,
    /// The rest.
    Stderr,
}

/// Our ends of the pipes, as far as they are open.
#[derive(Default)]
pub(crate) struct Streams {
    input: Option<Input>,
    outputs: Vec<(Stream, File)>,
    piece: Vec<u8>,
}

struct Input {
    pipe: File,
    bytes: Vec<u8>,
    written: usize,
}

/// What happened in the pipes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    /// The program printed something.
    Printed,
    /// It read something, or an end was closed.
    Moved,
    /// Nothing, as long as was waited.
    Nothing,
}

impl Streams {
    /// Takes the pipes of a program that was just started.
    pub(crate) fn of(child: &mut Child, input: Vec<u8>) -> io::Result<Self> {
        let unblocked = |end: OwnedFd| {
            rustix::io::ioctl_fionbio(&end, true)?;
            io::Result::Ok(File::from(end))
        };
        let mut streams = Self { input: None, outputs: Vec::new(), piece: vec![0; PIECE] };
        if let Some(end) = child.stdin.take()
            && !input.is_empty()
        {
            streams.input = Some(Input { pipe: unblocked(end.into())?, bytes: input, written: 0 });
        }
        if let Some(end) = child.stdout.take() {
            streams.outputs.push((Stream::Stdout, unblocked(end.into())?));
        }
        if let Some(end) = child.stderr.take() {
            streams.outputs.push((Stream::Stderr, unblocked(end.into())?));
        }
        Ok(streams)
    }

    /// Returns whether something may still be printed.
    pub(crate) fn is_open(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// Waits at most that long for something to happen, and hands on what was printed: one piece of each stream, so that
    /// whoever calls gets to look at the clock however much there is.
    pub(crate) fn pass(
        &mut self,
        wait: Duration,
        printed: &mut dyn FnMut(Stream, &[u8]),
    ) -> Passed {
        if !self.is_ready(wait) {
            return Passed::Nothing;
        }
        let mut passed = if self.feed() { Passed::Moved } else { Passed::Nothing };
        let piece = &mut self.piece;
        self.outputs.retain_mut(|(stream, pipe)| match pipe.read(piece) {
            Ok(length @ 1..) => {
                printed(*stream, &piece[..length]);
                passed = Passed::Printed;
                true
            }
            Err(cause) if is_empty(&cause) => true,
            Ok(_) | Err(_) => {
                if passed == Passed::Nothing {
                    passed = Passed::Moved;
                }
                false
            }
        });
        passed
    }

    fn is_ready(&self, wait: Duration) -> bool {
        let output = self.outputs.iter().map(|(_, pipe)| PollFd::new(pipe, PollFlags::IN));
        let input = self.input.iter().map(|input| PollFd::new(&input.pipe, PollFlags::OUT));
        let mut ends: Vec<PollFd<'_>> = output.chain(input).collect();
        let time = Timespec::try_from(wait).ok();
        match rustix::event::poll(&mut ends, time.as_ref()) {
            Ok(count) => count > 0,
            Err(Errno::INTR) => false,
            // No memory for it, or the like: looking without waiting must not become a busy loop.
            Err(_) => {
                thread::sleep(wait);
                true
            }
        }
    }

    /// Writes what the program has room for, and closes its stdin behind the last byte, or when it does not want more.
    fn feed(&mut self) -> bool {
        let Some(input) = &mut self.input else { return false };
        match input.pipe.write(&input.bytes[input.written..]) {
            Ok(length @ 1..) => input.written += length,
            Err(cause) if is_empty(&cause) => return false,
            Ok(_) | Err(_) => input.written = input.bytes.len(),
        }
        if input.written == input.bytes.len() {
            self.input = None;
        }
        true
    }

    /// Reads on in a thread, to nowhere: a program that goes on printing is not ended by a closed pipe as long as we live.
    pub(crate) fn drain_aside(&mut self) {
        for (_, pipe) in self.outputs.drain(..) {
            // Where there is no thread to be had, the pipe is closed.
            let _ = thread::Builder::new().stack_size(PIECE).spawn(move || {
                if rustix::io::ioctl_fionbio(&pipe, false).is_ok() {
                    let _ = io::copy(&mut io::BufReader::new(pipe), &mut io::sink());
                }
            });
        }
    }
}

/// Returns whether a pipe has nothing to read, or no room, at present.
fn is_empty(cause: &io::Error) -> bool {
    matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
