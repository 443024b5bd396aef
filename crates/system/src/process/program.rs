//! A program to start, and the reasons why it may not start.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

/// A program with its arguments, environment and input.
#[derive(Clone)]
pub struct Program {
    /// Its path, or its name in `PATH`. A relative path is resolved from `directory`.
    pub program: OsString,
    /// Its arguments; no shell reads them.
    pub arguments: Vec<OsString>,
    /// Its working directory.
    pub directory: PathBuf,
    /// Variables to add to the inherited environment.
    pub environment: Vec<(String, OsString)>,
    /// Variables to remove from the inherited environment.
    pub removed: Vec<String>,
    /// Its whole stdin. A program need not read it.
    pub input: Vec<u8>,
}

/// A program that could not be started.
#[derive(Debug, thiserror::Error)]
#[error("`{program}` cannot be started: {cause}")]
pub struct StartError {
    /// The name of the program.
    pub program: String,
    /// The kind of failure.
    pub obstacle: StartObstacle,
    /// The message of the system.
    pub cause: io::Error,
}

/// The reason why a program cannot be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartObstacle {
    /// There is no such program: it is not installed.
    NotFound,
    /// The file is not executable.
    NotExecutable,
    /// Its working directory does not exist.
    NoDirectory,
    /// Its arguments and environment are too long for the system.
    TooLong,
    /// Any other failure.
    System,
}

impl Program {
    /// Returns the program for a command line and a working directory; `None` without words.
    pub fn new<W: Into<OsString>>(
        words: impl IntoIterator<Item = W>,
        directory: &Path,
    ) -> Option<Self> {
        let mut words = words.into_iter().map(Into::into);
        Some(Self {
            program: words.next()?,
            arguments: words.collect(),
            directory: directory.to_owned(),
            environment: Vec::new(),
            removed: Vec::new(),
            input: Vec::new(),
        })
    }

    /// Adds a variable to its environment.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Returns its name for display.
    pub fn name(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }
}

/// Shows neither the environment's values nor the input, which may be secret.
impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&String> = self.environment.iter().map(|(name, _)| name).collect();
        f.debug_struct("Program")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("directory", &self.directory)
            .field("environment", &names)
            .finish_non_exhaustive()
    }
}

pub(crate) fn obstacle(cause: &io::Error, directory: &Path) -> StartObstacle {
    if !directory.is_dir() {
        return StartObstacle::NoDirectory;
    }
    match cause.kind() {
        ErrorKind::NotFound => StartObstacle::NotFound,
        ErrorKind::PermissionDenied | ErrorKind::IsADirectory => StartObstacle::NotExecutable,
        ErrorKind::ArgumentListTooLong => StartObstacle::TooLong,
        _ if cause.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            StartObstacle::NotExecutable
        }
        _ => StartObstacle::System,
    }
}

const PAUSE: Duration = Duration::from_millis(5);
/// The longest time that a killed process may take to end.
const UNKILLABLE: Duration = Duration::from_secs(5);

/// A process group, known by its leader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessGroup {
    /// The number of the leader, and of the group.
    pub pid: u32,
    /// The leader's start time, as the system formats it.
    pub started: String,
}

impl ProcessGroup {
    /// Returns the group that this process leads, if it runs.
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, started: started(pid)? })
    }

    /// Returns whether its leader runs. Without the leader the group counts as ended: its other processes cannot be
    /// distinguished from others.
    pub fn is_alive(&self) -> bool {
        started(self.pid).is_some_and(|started| started == self.started)
    }

    /// Ends the group as [`ProcessLimits`](crate::process::ProcessLimits) describes, and returns whether its leader is
    /// gone.
    pub fn end(&self, grace: Duration) -> bool {
        let Some(leader) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else {
            return true;
        };
        for (signals, patience) in [
            ([Signal::TERM, Signal::CONT].as_slice(), grace),
            ([Signal::KILL].as_slice(), UNKILLABLE),
        ] {
            let begun = Instant::now();
            if self.is_alive() {
                for sent in signals {
                    signal(leader, *sent);
                }
            }
            while self.is_alive() && begun.elapsed() < patience {
                thread::sleep(PAUSE);
            }
        }
        !self.is_alive()
    }
}

/// Sends a signal to a group. An ended group is not an error.
pub(crate) fn signal(leader: Pid, signal: Signal) {
    let _ = rustix::process::kill_process_group(leader, signal);
}

/// Returns the start time of a living process; one that has ended and is not reaped yet does not count as living.
#[cfg(target_os = "linux")]
fn started(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may itself contain parentheses and spaces.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    let ticks = fields.nth(18)?;
    let boot = boot().unwrap_or_default();
    (!matches!(state, "Z" | "X" | "x")).then(|| format!("{ticks} {boot}").trim().to_owned())
}

/// Returns the start time of a living process; one that has ended and is not reaped yet does not count as living.
#[cfg(not(target_os = "linux"))]
fn started(pid: u32) -> Option<String> {
    let mut command = std::process::Command::new("ps");
    command
        .args(["-o", "stat=", "-o", "lstart=", "-p", &pid.to_string()])
        .env("LC_ALL", "C")
        .env("TZ", "UTC");
    let listed = command.output().ok()?;
    let line = String::from_utf8_lossy(&listed.stdout).trim().to_owned();
    let (state, began) = line.split_once(' ')?;
    (!state.starts_with('Z')).then(|| began.trim().to_owned())
}

/// Returns the system's boot id; `None` if it has none.
///
/// In debug builds, crash tests set it by `AOF_BOOT` to simulate a restart.
pub fn boot() -> Option<String> {
    static ID: OnceLock<Option<String>> = OnceLock::new();
    #[cfg(debug_assertions)]
    if let Ok(id) = std::env::var("AOF_BOOT") {
        return Some(id);
    }
    let read = || {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(id.trim().to_owned()).filter(|id| !id.is_empty())
    };
    ID.get_or_init(read).clone()
}
