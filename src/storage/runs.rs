//! `.aof/runs`: what agents did that were run, a folder for each visit and in it one for each attempt.
//!
//! ```text
//!   AOF-abc@3/, AOF-abc@3+security/   a visit, a visit of a branch
//!     lock                            whoever runs it has it, and is named in it
//!     1/, 2/, ..                      an attempt each
//!       prompt.md                     what the agent was told
//!       mcp.json                      how it reaches us
//!       transcript                    what it printed
//!       output                        what it left there: `AOF_OUTPUT`
//!       run.json                      the record
//! ```
//! Only the owner can look into it, for there may be secrets in a prompt. A record is whole after a kill; after a power cut all of it
//! may be lost, for an attempt is not to wait for the disk. Nothing here is a fact that the history does not have: without the folder,
//! attempts are counted from one again.
//!
//! Old ones go: when a run begins, the attempts of its visit but the last [`MOST_ATTEMPTS`]; when a runner does, the visits that
//! nobody has run anything at for [`KEPT`].

use std::fs::{self, DirEntry, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::{AgentId, CompletionId, Ticket};
use crate::storage::fs::error::OrIo;
use crate::storage::fs::folder::list;
use crate::storage::fs::project_path::BadPath;
use crate::storage::layout::{LOCAL, RUNS};
use crate::storage::lock::{FileLock, LockAttempt, OwnedFile};
use crate::storage::{Durability, FileKind, Folder, Holder, Paths, StoreError};
use crate::system::process::ProcessGroup;

const LOCK: &str = "lock";
/// Whoever only asks whether a visit is run holds the lock for microseconds.
const PATIENCE: Duration = Duration::from_millis(50);
/// How many attempts of a visit are kept.
pub(crate) const MOST_ATTEMPTS: usize = 20;
/// How long a visit's runs are kept after the last of them began.
pub(crate) const KEPT: Duration = Duration::from_hours(30 * 24);

/// The runs of a project.
#[derive(Debug, Clone)]
pub(crate) struct Runs {
    paths: Paths,
}

/// The right to run a visit.
#[derive(Debug)]
pub(crate) enum RunRight {
    Ours(VisitRuns),
    /// Somebody else has it: who, as far as is known.
    Taken(Option<Holder>),
}

/// The runs of one visit, which is ours to run until this is dropped.
#[derive(Debug)]
pub(crate) struct VisitRuns {
    _held: OwnedFile,
    folder: Folder,
}

/// How the attempts of a visit stand.
#[derive(Debug)]
pub(crate) enum LatestRun {
    /// There was none.
    None,
    /// The last one ended.
    Ended(RunAttempt, RunRecord),
    /// The last one has no end: its runner was killed. Without a record, it was killed before the program was started.
    Open(RunAttempt, Option<RunRecord>),
}

impl Runs {
    /// Returns the runs of the project.
    pub(crate) fn of(paths: &Paths) -> Self {
        Self { paths: paths.clone() }
    }

    /// Takes the right to run a visit, if it is free. Its oldest attempts go.
    pub(crate) fn open(&self, ticket: &Ticket, holder: &Holder) -> Result<RunRight, StoreError> {
        let name = folder_name(ticket)?;
        self.paths.prepare_local()?;
        let start = Instant::now();
        loop {
            let local = Folder::open(self.paths.root(), LOCAL)?;
            let folder = local.private_child("runs")?.private_child(&name)?;
            match OwnedFile::attempt(&folder, LOCK, self.paths.root(), holder)? {
                LockAttempt::Locked(held) => {
                    let visit = VisitRuns { _held: held, folder };
                    // What cannot be removed keeps nobody from work.
                    let _ = visit.remove_oldest();
                    return Ok(RunRight::Ours(visit));
                }
                LockAttempt::Held(other) if start.elapsed() >= PATIENCE => {
                    return Ok(RunRight::Taken(other));
                }
                LockAttempt::Held(_) => thread::sleep(Duration::from_millis(1)),
                // It was old, and somebody removed it.
                LockAttempt::Replaced => {}
            }
        }
    }

    /// Removes the visits that nobody has run anything at for [`KEPT`], until `stop` is set; one that somebody runs stays.
    pub(crate) fn prune(&self, now: SystemTime, stop: &AtomicBool) -> Result<(), StoreError> {
        let Some(runs) = Folder::open_existing(self.paths.root(), RUNS)? else { return Ok(()) };
        for entry in list(runs.path())? {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let name = entry.file_name();
            if let Some(name) = name.to_str().filter(|name| name.contains('@'))
                && is_old(&entry, now)
                && runs.kind(name)? == Some(FileKind::Folder)
            {
                // One that cannot be removed keeps none of the others.
                let _ = remove_visit(&runs, name);
            }
        }
        Ok(())
    }
}

impl VisitRuns {
    /// Returns how many attempts there were, those that are kept no longer included.
    pub(crate) fn attempts(&self) -> Result<u32, StoreError> {
        Ok(numbers(self.folder.path())?.last().copied().unwrap_or(0))
    }

    /// Returns how the last attempt stands.
    pub(crate) fn latest(&self) -> Result<LatestRun, StoreError> {
        let Some(attempt) = RunAttempt::open(&self.folder, self.attempts()?)? else {
            return Ok(LatestRun::None);
        };
        Ok(match attempt.record()? {
            Some(record) if record.end.is_some() => LatestRun::Ended(attempt, record),
            record => LatestRun::Open(attempt, record),
        })
    }

    /// Returns the records of all attempts that are kept, the first one first.
    pub(crate) fn records(&self) -> Result<Vec<RunRecord>, StoreError> {
        let mut records = Vec::new();
        for number in numbers(self.folder.path())? {
            if let Some(attempt) = RunAttempt::open(&self.folder, number)? {
                records.extend(attempt.record()?);
            }
        }
        Ok(records)
    }

    /// Begins the next attempt.
    pub(crate) fn begin(&self) -> Result<RunAttempt, StoreError> {
        RunAttempt::begin(&self.folder, self.attempts()?.saturating_add(1))
    }

    fn remove_oldest(&self) -> Result<(), StoreError> {
        let numbers = numbers(self.folder.path())?;
        let surplus = numbers.len().saturating_sub(MOST_ATTEMPTS);
        numbers[..surplus].iter().try_for_each(|number| remove(&self.folder, &number.to_string()))
    }
}

/// Returns the name of a visit's folder: the ticket, with a sign that a file's name may have.
fn folder_name(ticket: &Ticket) -> Result<String, StoreError> {
    let text = ticket.to_string();
    match ticket.visit {
        Some(_) => Ok(text.replace('/', "+")),
        None => Err(BadPath { text, reason: "a run is one of a visit, and none is named" }.into()),
    }
}

/// Returns the numbers that folders there have as names, the lowest first.
fn numbers(folder: &Path) -> Result<Vec<u32>, StoreError> {
    // `01` is none of ours.
    let number = |name: &str| name.parse().ok().filter(|number: &u32| *name == *number.to_string());
    let mut numbers: Vec<u32> = list(folder)?
        .iter()
        .filter_map(|entry| entry.file_name().to_str().and_then(number))
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Returns whether nobody has begun an attempt for long: the folder changes with each.
fn is_old(visit: &DirEntry, now: SystemTime) -> bool {
    let changed = visit.metadata().and_then(|metadata| metadata.modified());
    changed.is_ok_and(|changed| now.duration_since(changed).is_ok_and(|age| age >= KEPT))
}

/// Removes a visit unless somebody runs it. A kill in between leaves some of its attempts.
fn remove_visit(runs: &Folder, name: &str) -> Result<(), StoreError> {
    let visit = runs.child(name)?;
    match FileLock::attempt(visit.open_lock(LOCK)?, visit.path())? {
        Some(_lock) => remove(runs, name),
        None => Ok(()),
    }
}

fn remove(folder: &Folder, name: &str) -> Result<(), StoreError> {
    let place = folder.path().join(name);
    fs::remove_dir_all(&place).or_io("remove", &place)
}

/// One attempt, and its folder.
#[derive(Debug)]
pub(crate) struct RunAttempt {
    number: u32,
    folder: Folder,
}

/// A file of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunFile {
    /// What the agent is told.
    Prompt,
    /// How it reaches us.
    Mcp,
    /// What it printed.
    Transcript,
    /// What it leaves for us.
    Output,
    Record,
}

impl RunFile {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt.md",
            Self::Mcp => "mcp.json",
            Self::Transcript => "transcript",
            Self::Output => "output",
            Self::Record => "run.json",
        }
    }
}

impl RunAttempt {
    /// Opens an attempt that there is.
    pub(crate) fn open(visit: &Folder, number: u32) -> Result<Option<Self>, StoreError> {
        match visit.child(&number.to_string()) {
            Ok(folder) => Ok(Some(Self { number, folder })),
            Err(StoreError::Gone { .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Makes the folder of an attempt.
    pub(crate) fn begin(visit: &Folder, number: u32) -> Result<Self, StoreError> {
        Ok(Self { number, folder: visit.private_child(&number.to_string())? })
    }

    /// Returns which attempt of its visit it is, from 1.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Returns where one of its files is, or would be.
    pub(crate) fn path_of(&self, file: RunFile) -> PathBuf {
        self.folder.path().join(file.name())
    }

    /// Makes a file, which must not exist yet, and opens it for writing.
    pub(crate) fn create(&self, file: RunFile) -> Result<File, StoreError> {
        self.folder.create_private(file.name())
    }

    /// Makes a file that says this.
    pub(crate) fn write(&self, file: RunFile, bytes: &[u8]) -> Result<(), StoreError> {
        self.create(file)?.write_all(bytes).or_io("write", self.path_of(file))
    }

    /// Reads a file of at most that many bytes; `None` when it is not there.
    pub(crate) fn read(&self, file: RunFile, limit: u64) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.folder.read(file.name(), limit)?.map(|(bytes, _)| bytes))
    }

    /// Writes the record: it is whole, whenever a kill comes.
    pub(crate) fn note(&self, record: &RunRecord) -> Result<(), StoreError> {
        // What is replaced keeps its mode.
        match self.create(RunFile::Record) {
            Ok(_) | Err(StoreError::Exists { .. }) => {}
            Err(fault) => return Err(fault),
        }
        let text =
            format!("{}\n", serde_json::to_string_pretty(record).expect("plain fields are JSON"));
        self.folder.replace(RunFile::Record.name(), text.as_bytes(), Durability::Volatile)
    }

    /// Reads the record; `None` when there is none, or none that is whole.
    pub(crate) fn record(&self) -> Result<Option<RunRecord>, StoreError> {
        self.folder.read_json(RunFile::Record.name())
    }
}

/// What is known of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunRecord {
    /// What the program is told to be: no two attempts share one.
    pub run: String,
    pub ticket: Ticket,
    pub agent: AgentId,
    /// Which attempt of the visit it is, from 1.
    pub attempt: u32,
    pub started: Timestamp,
    /// The words that the program was started with.
    pub command: Vec<String>,
    /// By what it is known whether it lives; absent before it was started.
    pub group: Option<ProcessGroup>,
    /// What came of it; absent while it goes on, and when whoever started it was killed.
    pub end: Option<RunEnd>,
}

/// What came of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunEnd {
    pub at: Timestamp,
    pub how: RunEnding,
    /// Its exit status, if it came to that by itself.
    pub status: Option<i32>,
    /// What went wrong, as a sentence.
    pub reason: Option<String>,
    pub transcript: Option<TranscriptMark>,
    pub told: AgentReport,
    pub verdict: Option<Ruling>,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunEnding {
    Verdict,
    /// The program ended badly, and said nothing that counts.
    Crash,
    /// Its time was over.
    Timeout,
    /// It was silent for too long.
    Idle,
    /// It ended well, and what it said is no verdict.
    BadVerdict,
    /// It could not begin to work.
    Unavailable,
    /// A person stopped it.
    Stopped,
    /// The task had moved on by somebody else's doing.
    Overtaken,
    /// Whoever ran it was killed: nobody knows.
    Lost,
}

/// By what a transcript is recognised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TranscriptMark {
    pub sha256: String,
    pub bytes: u64,
    /// How many of those that were printed it has not.
    pub left_out: u64,
}

/// What an agent said of its own work, as far as its program tells.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentReport {
    /// Its session, by which it can be asked to go on.
    pub session: Option<String>,
    pub model: Option<String>,
    pub cost_usd: Option<f64>,
    pub tokens: Option<TokenCounts>,
}

/// How many tokens a model read and wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TokenCounts {
    pub input: u64,
    pub output: u64,
}

/// Why an attempt without an end failed.
pub(crate) const RUNNER_KILLED: &str = "its runner was killed";

/// A verdict, and what it came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ruling {
    pub source: String,
    pub outcome: String,
    /// The completion that it was made into, or that the agent made itself.
    pub completion: CompletionId,
}

impl RunRecord {
    /// Returns whether it goes on: it has no end, and its program lives.
    pub(crate) fn is_alive(&self) -> bool {
        self.end.is_none() && self.group.as_ref().is_some_and(ProcessGroup::is_alive)
    }

    /// Returns whether the attempt failed by itself, and so uses up one of those that a visit has.
    pub(crate) fn has_failed(&self) -> bool {
        let ending = self.end.as_ref().map(|end| end.how);
        matches!(
            ending,
            Some(RunEnding::Crash | RunEnding::Timeout | RunEnding::Idle | RunEnding::BadVerdict)
        )
    }

    /// Returns why the attempt failed; empty while it goes on.
    pub(crate) fn failure_reason(&self) -> String {
        let Some(end) = &self.end else { return String::new() };
        let usual =
            if end.how == RunEnding::Stopped { "somebody stopped it" } else { RUNNER_KILLED };
        end.reason.clone().unwrap_or_else(|| usual.to_owned())
    }
}

#[cfg(test)]
mod tests;
