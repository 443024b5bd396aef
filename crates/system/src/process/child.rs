//! A running program: waits for it, and ends it with its whole process group at the time limit.
//!
//! Its end is first detected without reaping it: until then the system does not reuse its pid, so a signal to the group cannot
//! reach another process.

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

/// The interval at which the clock and the attendant are checked while nothing is printed.
const TICK: Duration = Duration::from_millis(20);
/// The first wait after some output: the end often follows soon.
const SHORTEST_TICK: Duration = Duration::from_micros(250);
/// The time for reading on after the program has ended while other processes hold its pipes.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// The time to wait for a killed program: one that waits for a broken disk cannot end.
const UNKILLABLE: Duration = Duration::from_secs(5);

impl Program {
    /// Starts the program.
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

/// A program's time limits, and the treatment of processes that it leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessLimits {
    /// The time until its end.
    pub time: Duration,
    /// The time between two outputs on either stream; `None` without a limit.
    pub idle: Option<Duration>,
    /// The time between SIGTERM and SIGKILL. If zero, only SIGKILL is sent.
    pub grace: Duration,
    /// The treatment of processes of its group that outlive it.
    pub orphans: Orphans,
}

/// The treatment of processes that a program left behind in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orphans {
    /// The processes are killed.
    Killed,
    /// The processes live on, unattended.
    Spared,
}

/// Observes a running program.
pub trait Attendant {
    /// The reason why it ends the program.
    type Reason;

    /// Receives output in order of arrival.
    fn printed(&mut self, stream: Stream, bytes: &[u8]);

    /// Returns the reason why the program should end, if any. Called first at the start, then many times per second until it
    /// returns one.
    fn wants_end(&mut self) -> Option<Self::Reason>;
}

/// The way in which a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How<R> {
    /// The program exited with that status.
    Exited(i32),
    /// A signal that we did not send ended it.
    Signalled(i32),
    /// The program reached its time limit.
    TimedOut,
    /// The program printed nothing for too long.
    Idle,
    /// The attendant ended it.
    Stopped(R),
}

/// A program that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended<R> {
    /// The way in which it ended.
    pub how: How<R>,
    /// The time that it ran.
    pub took: Duration,
}

/// The system does not report how the program ended: it was reaped elsewhere.
#[derive(Debug, thiserror::Error)]
#[error("nothing is known of `{program}`: {cause}")]
pub struct UnknownExit {
    /// The name of the program.
    pub program: String,
    /// The message of the system.
    pub cause: io::Error,
}

/// A running program. Dropping this kills the program and its process group.
pub struct Running {
    program: String,
    child: Child,
    leader: Pid,
    streams: Streams,
    begun: Instant,
    /// True if its pid is still valid: it is not reaped.
    is_ours: bool,
}

impl Running {
    pub(crate) fn attach(
        program: String,
        mut child: Child,
        input: Vec<u8>,
    ) -> Result<Self, StartError> {
        let streams = Streams::new(&mut child, input);
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
                // Dropping it kills the program.
                drop(running(Streams::default()));
                Err(refused(program, cause))
            }
        }
    }

    /// Returns its process group, to find it later, if the system reports its start time.
    pub fn group(&self) -> Option<ProcessGroup> {
        ProcessGroup::of(self.child.id())
    }

    /// Waits for the program's end, or ends it at a limit.
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

    /// Waits until the program has ended, without reaping it; returns the reason why we ended it, if we did.
    fn attend<A: Attendant>(
        &mut self,
        limits: &ProcessLimits,
        attendant: &mut A,
    ) -> Result<Option<How<A::Reason>>, UnknownExit> {
        let mut clock =
            RunDeadline { limits: *limits, begun: self.begun, heard: self.begun, last_asked: None };
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

    /// Reads the rest of an ended program's output, and for a moment that of other processes that hold its pipes.
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

/// The time at which a program must end.
struct RunDeadline {
    limits: ProcessLimits,
    begun: Instant,
    heard: Instant,
    last_asked: Option<Instant>,
}

impl RunDeadline {
    fn due<A: Attendant>(&mut self, now: Instant, attendant: &mut A) -> Option<How<A::Reason>> {
        if self.last_asked.is_none_or(|then| now.saturating_duration_since(then) >= TICK) {
            self.last_asked = Some(now);
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

    /// Returns the time until the next limit.
    fn left(&self, now: Instant) -> Duration {
        let wall = self.limits.time.saturating_sub(now.saturating_duration_since(self.begun));
        let idle = self
            .limits
            .idle
            .map(|idle| idle.saturating_sub(now.saturating_duration_since(self.heard)));
        idle.map_or(wall, |idle| idle.min(wall))
    }
}

/// A program that was signalled to end and still runs.
struct Dying<R> {
    how: How<R>,
    is_killed: bool,
    /// The time when the next signal is due.
    next: Instant,
}

impl<R> Dying<R> {
    fn begin(leader: Pid, how: How<R>, grace: Duration, now: Instant) -> Self {
        let Some(next) = now.checked_add(grace).filter(|next| *next > now) else {
            return Self { how, is_killed: false, next: now }.kill(leader, now);
        };
        signal(leader, Signal::TERM);
        // A suspended process would not get SIGTERM.
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

/// The capacity of a pipe.
const PIECE: usize = 64 * 1024;

/// An output stream of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Our open ends of the pipes.
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

/// The activity in the pipes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    /// The program printed output.
    Printed,
    /// The program read input, or a pipe was closed.
    Moved,
    /// There was no activity during the wait.
    Nothing,
}

impl Streams {
    /// Takes the pipes of a program that was just started.
    pub(crate) fn new(child: &mut Child, input: Vec<u8>) -> io::Result<Self> {
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

    /// Returns whether more output may come.
    pub(crate) fn is_open(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// Waits at most that long for activity, and passes output on: one piece of each stream, so that the caller can check the
    /// clock in between.
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
            // An error such as a lack of memory must not lead to a busy loop.
            Err(_) => {
                thread::sleep(wait);
                true
            }
        }
    }

    /// Writes as much input as the pipe accepts; closes stdin after the last byte, or if the program has closed it.
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

    /// Discards further output in threads, so that processes that continue to print do not get a broken pipe while we run.
    pub(crate) fn drain_aside(&mut self) {
        for (_, pipe) in self.outputs.drain(..) {
            // Without a thread, the pipe is closed.
            let _ = thread::Builder::new().stack_size(PIECE).spawn(move || {
                if rustix::io::ioctl_fionbio(&pipe, false).is_ok() {
                    let _ = io::copy(&mut io::BufReader::new(pipe), &mut io::sink());
                }
            });
        }
    }
}

/// Returns whether a pipe has nothing to read, or no room, at the moment.
fn is_empty(cause: &io::Error) -> bool {
    matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
