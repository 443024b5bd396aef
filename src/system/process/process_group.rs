//! The mark of a process group that outlives whoever started it: a number, and when its leader began.
//!
//! Numbers are given again. With the time at which a process began, and the boot that this time counts from, there is only one.

#[cfg(not(target_os = "linux"))]
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
use super::boot;

const PAUSE: Duration = Duration::from_millis(5);
/// How long the system may take to end what was killed.
const UNKILLABLE: Duration = Duration::from_secs(5);

/// A process group, known by its leader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The number of the leader, and of the group.
    pub pid: u32,
    /// When the leader began, in the system's words.
    pub started: String,
}

impl Group {
    /// Returns the group that this process leads, if it lives.
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, started: started(pid)? })
    }

    /// Returns whether its leader lives. A leader that has ended counts for the group: who is left in it cannot be told from
    /// strangers.
    pub fn is_alive(&self) -> bool {
        started(self.pid).is_some_and(|started| started == self.started)
    }

    /// Ends the group as [`Limits`](crate::system::process::Limits) says, and returns whether its leader is gone.
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

/// Sends a signal to a group; one that has just ended by itself is as good.
pub(crate) fn signal(leader: Pid, signal: Signal) {
    let _ = rustix::process::kill_process_group(leader, signal);
}

/// Returns when a living process began; one that has ended and that nobody asked about does not live.
#[cfg(target_os = "linux")]
fn started(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may have parentheses and spaces in it.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    let ticks = fields.nth(18)?;
    let boot = boot().unwrap_or_default();
    (!matches!(state, "Z" | "X" | "x")).then(|| format!("{ticks} {boot}").trim().to_owned())
}

/// Returns when a living process began; one that has ended and that nobody asked about does not live.
#[cfg(not(target_os = "linux"))]
fn started(pid: u32) -> Option<String> {
    let mut command = Command::new("ps");
    command
        .args(["-o", "stat=", "-o", "lstart=", "-p", &pid.to_string()])
        .env("LC_ALL", "C")
        .env("TZ", "UTC");
    let listed = command.output().ok()?;
    let line = String::from_utf8_lossy(&listed.stdout).trim().to_owned();
    let (state, began) = line.split_once(' ')?;
    (!state.starts_with('Z')).then(|| began.trim().to_owned())
}
