//! `.aof/runs`: runs of agents, a folder for each visit, and in it one for each attempt.
//!
//! ```text
//!   AOF-abc@3/, AOF-abc@3+security/   a visit, a visit of a branch
//!     lock                            held by the runner of the visit, and names it
//!     1/, 2/, ..                      an attempt each
//!       prompt.md                     the agent's prompt
//!       mcp.json                      the agent's connection to aof
//!       transcript                    the agent's printed output
//!       output                        the agent's output file: `AOF_OUTPUT`
//!       run.json                      the record
//! ```
//! Only the owner can read it, since a prompt may have secrets. A record is complete after a kill; after a power cut all may be lost,
//! since attempts do not wait for the disk. The history does not depend on it: without the folder, attempts are counted from one again.
//!
//! Old runs are removed: at the start of a run, all but the last [`MOST_ATTEMPTS`] attempts of its visit; at the start of a
//! runner, visits without a run for [`KEPT`].

mod record;

use std::fs::{self, DirEntry, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

pub(crate) use self::record::{
    AgentReport, RUNNER_KILLED, Ruling, RunEnd, RunEnding, RunRecord, SessionStart, TokenCounts,
    TranscriptMark,
};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::domain::{TaskId, Ticket};
use crate::storage::fs::error::OrIo;
use crate::storage::fs::folder::list;
use crate::storage::fs::project_path::BadPath;
use crate::storage::layout::{LOCAL, RUNS};
use crate::storage::lock::{FileLock, LockAttempt, OwnedFile, RECORD_LIMIT};
use crate::storage::{Durability, FileKind, Folder, Holder, Paths, StoreError};

const LOCK: &str = "lock";
/// The time to wait for a lock: a process that only checks holds it for microseconds.
const PATIENCE: Duration = Duration::from_millis(50);
/// The time in which a program that outlived its runner must end.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
/// The number of attempts of a visit that are kept.
pub(crate) const MOST_ATTEMPTS: usize = 20;
/// The time for which a visit's runs are kept after the last of them began.
pub(crate) const KEPT: Duration = Duration::from_hours(30 * 24);

/// The runs of a project.
#[derive(Debug, Clone)]
pub(crate) struct Runs {
    paths: Paths,
}

/// The result of locking a visit to run it.
#[derive(Debug)]
pub(crate) enum RunRight {
    Ours(VisitRuns),
    /// Another process has the lock: the given one, if known.
    Taken(Option<Holder>),
}

/// The runs of one visit, locked for us until this is dropped.
#[derive(Debug)]
pub(crate) struct VisitRuns {
    _held: OwnedFile,
    folder: Folder,
}

/// A program that outlived its runner. Its visit stays locked until this is dropped.
pub(crate) struct OutlivedRun {
    _lock: FileLock,
    attempt: RunAttempt,
    pub record: RunRecord,
}

impl OutlivedRun {
    /// Returns the program, its task and its process in words.
    pub(crate) fn sentence(&self) -> String {
        let RunRecord { agent, ticket, group, .. } = &self.record;
        let pid = group.as_ref().map_or(0, |group| group.pid);
        format!("`{agent}` runs on at {ticket}, as process {pid}, and its runner was killed")
    }
}

/// The state of a visit's last attempt.
#[derive(Debug)]
pub(crate) enum LatestRun {
    /// There was no attempt.
    None,
    /// The last attempt ended.
    Ended(RunAttempt, RunRecord),
    /// The last attempt has no end: its runner was killed; without a record, before the program was started.
    Open(RunAttempt, Option<RunRecord>),
}

impl Runs {
    /// Returns the runs of the project.
    pub(crate) fn at(paths: &Paths) -> Self {
        Self { paths: paths.clone() }
    }

    /// Locks a visit to run it, if it is free. Removes its oldest attempts.
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
                    // A failure to remove old attempts is ignored.
                    let _ = visit.remove_oldest();
                    return Ok(RunRight::Ours(visit));
                }
                LockAttempt::Held(other) if start.elapsed() >= PATIENCE => {
                    return Ok(RunRight::Taken(other));
                }
                LockAttempt::Held(_) => thread::sleep(Duration::from_millis(1)),
                // Another process removed the old visit.
                LockAttempt::Replaced => {}
            }
        }
    }

    /// Returns whether a runner works at a visit now.
    pub(crate) fn has_live(&self) -> Result<bool, StoreError> {
        let Some(runs) = Folder::open_existing(self.paths.root(), RUNS)? else { return Ok(false) };
        for entry in list(runs.path())? {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| name.contains('@')) else { continue };
            let visit = runs.child(name)?;
            if let Some((lock, _)) = visit.open_to_write(LOCK)?
                && FileLock::attempt(lock, visit.path())?.is_none()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the programs that outlived their runners. A visit that cannot be read has none.
    pub(crate) fn outlived(&self) -> Result<Vec<OutlivedRun>, StoreError> {
        let Some(runs) = Folder::open_existing(self.paths.root(), RUNS)? else {
            return Ok(Vec::new());
        };
        let names = list(runs.path())?.into_iter().map(|entry| entry.file_name());
        let visits = names.filter_map(|name| Some(name.to_str()?.to_owned()));
        let visits = visits.filter(|name| name.contains('@'));
        Ok(visits.filter_map(|name| outlived_in(&runs, &name).ok()?).collect())
    }

    /// Ends the programs that outlived their runners, and returns the programs.
    pub(crate) fn end_outlived(&self, now: Timestamp) -> Result<Vec<OutlivedRun>, StoreError> {
        let mut runs = self.outlived()?;
        for OutlivedRun { attempt, record, .. } in &mut runs {
            if let Some(group) = &record.group {
                group.end(GRACE);
            }
            let reason = Some(RUNNER_KILLED.to_owned());
            record.end = Some(RunEnd::new(now, RunEnding::Lost, reason));
            attempt.note(record)?;
        }
        Ok(runs)
    }

    /// Takes one of a program's places, which is free again once the lock is dropped; `None` if all are taken.
    pub(crate) fn take_place(&self, key: &str, most: u32) -> Result<Option<FileLock>, StoreError> {
        self.paths.prepare_local()?;
        let runs = Folder::open(self.paths.root(), LOCAL)?.private_child("runs")?;
        for number in 1..=most {
            let file = runs.open_lock(&format!("place-{key}-{number}"))?;
            if let Some(place) = FileLock::attempt(file, runs.path())? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// Returns the records of all kept attempts, or of those at one task; unordered. What cannot be read is left out.
    pub(crate) fn records(&self, task: Option<&TaskId>) -> Vec<RunRecord> {
        let beginning = task.map_or_else(String::new, ToString::to_string) + "@";
        let is_wanted = |name: &String| match task {
            Some(_) => name.starts_with(&beginning),
            None => name.contains('@'),
        };
        let Ok(Some(runs)) = Folder::open_existing(self.paths.root(), RUNS) else {
            return Vec::new();
        };
        let names = list(runs.path()).unwrap_or_default().into_iter();
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        let visits = names.filter(is_wanted).filter_map(|name| runs.child(&name).ok());
        visits.flat_map(|visit| records_in(&visit).unwrap_or_default()).collect()
    }

    /// Returns the facts that the entry keeps of a run whose agent completed its task itself.
    pub(crate) fn own_run(&self, task: &TaskId, run: &str) -> Value {
        let mut value = json!({"id": run, "verdict": "own"});
        let records = self.records(Some(task));
        if let Some(record) = records.iter().find(|record| record.run == run) {
            if let Some(session) = &record.session {
                value["session"] = session.fact();
            }
            let stalled = record.stalled_before(&records);
            if !stalled.is_empty() {
                value["stalled"] = json!(stalled);
            }
        }
        value
    }

    /// Removes visits without a run for [`KEPT`], until `stop` is set. Locked visits stay.
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
                // A failure for one visit does not stop the others.
                let _ = remove_visit(&runs, name);
            }
        }
        Ok(())
    }
}

impl VisitRuns {
    /// Returns the number of attempts, including removed ones.
    pub(crate) fn attempts(&self) -> Result<u32, StoreError> {
        Ok(numbers(self.folder.path())?.last().copied().unwrap_or(0))
    }

    /// Returns the state of the last attempt.
    pub(crate) fn latest(&self) -> Result<LatestRun, StoreError> {
        let Some(attempt) = RunAttempt::open(&self.folder, self.attempts()?)? else {
            return Ok(LatestRun::None);
        };
        Ok(match attempt.record()? {
            Some(record) if record.end.is_some() => LatestRun::Ended(attempt, record),
            record => LatestRun::Open(attempt, record),
        })
    }

    /// Returns the records of all kept attempts, oldest first.
    pub(crate) fn records(&self) -> Result<Vec<RunRecord>, StoreError> {
        records_in(&self.folder)
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

/// Returns the records of a visit's kept attempts, oldest first.
fn records_in(visit: &Folder) -> Result<Vec<RunRecord>, StoreError> {
    let mut records = Vec::new();
    for number in numbers(visit.path())? {
        if let Some(attempt) = RunAttempt::open(visit, number)? {
            records.extend(attempt.record()?);
        }
    }
    Ok(records)
}

/// Returns the name of a visit's folder: the ticket, with `+` for `/`.
fn folder_name(ticket: &Ticket) -> Result<String, StoreError> {
    let text = ticket.to_string();
    match ticket.visit {
        Some(_) => Ok(text.replace('/', "+")),
        None => Err(BadPath { text, reason: "a run is one of a visit, and none is named" }.into()),
    }
}

/// Returns the folder names that are numbers, in ascending order.
fn numbers(folder: &Path) -> Result<Vec<u32>, StoreError> {
    // `01` is not one of our names.
    let number = |name: &str| name.parse().ok().filter(|number: &u32| *name == *number.to_string());
    let mut numbers: Vec<u32> = list(folder)?
        .iter()
        .filter_map(|entry| entry.file_name().to_str().and_then(number))
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Returns whether no attempt has begun for [`KEPT`]: each changes the folder's time.
fn is_old(visit: &DirEntry, now: SystemTime) -> bool {
    let changed = visit.metadata().and_then(|metadata| metadata.modified());
    changed.is_ok_and(|changed| now.duration_since(changed).is_ok_and(|age| age >= KEPT))
}

/// Returns the program of a visit that outlived its runner.
fn outlived_in(runs: &Folder, name: &str) -> Result<Option<OutlivedRun>, StoreError> {
    let folder = runs.child(name)?;
    // A free lock has a runner's name only after a kill.
    let holder = folder.read(LOCK, RECORD_LIMIT)?.map(|(bytes, _)| bytes);
    if holder.is_none_or(|holder| holder.trim_ascii().is_empty()) {
        return Ok(None);
    }
    let lock = FileLock::attempt(folder.open_lock(LOCK)?, folder.path())?;
    let last = numbers(folder.path())?.last().copied().unwrap_or(0);
    let Some((lock, attempt)) = lock.zip(RunAttempt::open(&folder, last)?) else {
        return Ok(None);
    };
    let record = attempt.record()?.filter(RunRecord::is_alive);
    Ok(record.map(|record| OutlivedRun { _lock: lock, attempt, record }))
}

/// Removes a visit unless it is locked. A kill in between leaves some of its attempts.
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
    /// The agent's prompt.
    Prompt,
    /// The agent's connection to aof.
    Mcp,
    /// The printed output of its workspace's set-up.
    Setup,
    /// The agent's printed output.
    Transcript,
    /// The agent's output file.
    Output,
    Record,
}

impl RunFile {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt.md",
            Self::Mcp => "mcp.json",
            Self::Setup => "setup",
            Self::Transcript => "transcript",
            Self::Output => "output",
            Self::Record => "run.json",
        }
    }
}

impl RunAttempt {
    /// Removes the attempt with its files.
    pub(crate) fn remove(self) -> Result<(), StoreError> {
        let place = self.folder.path();
        fs::remove_dir_all(place).or_io("remove", place)
    }

    /// Opens an attempt; `None` if it does not exist.
    pub(crate) fn open(visit: &Folder, number: u32) -> Result<Option<Self>, StoreError> {
        match visit.child(&number.to_string()) {
            Ok(folder) => Ok(Some(Self { number, folder })),
            Err(StoreError::Gone { .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Creates the folder of an attempt.
    pub(crate) fn begin(visit: &Folder, number: u32) -> Result<Self, StoreError> {
        Ok(Self { number, folder: visit.private_child(&number.to_string())? })
    }

    /// Returns the number of the attempt in its visit, from 1.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Returns the path of one of its files.
    pub(crate) fn path_of(&self, file: RunFile) -> PathBuf {
        self.folder.path().join(file.name())
    }

    /// Creates a file and opens it for writing. Fails if it exists.
    pub(crate) fn create(&self, file: RunFile) -> Result<File, StoreError> {
        self.folder.create_private(file.name())
    }

    /// Creates a file with these bytes.
    pub(crate) fn write(&self, file: RunFile, bytes: &[u8]) -> Result<(), StoreError> {
        self.create(file)?.write_all(bytes).or_io("write", self.path_of(file))
    }

    /// Replaces a file's bytes.
    pub(crate) fn overwrite(&self, file: RunFile, bytes: &[u8]) -> Result<(), StoreError> {
        self.folder.replace(file.name(), bytes, Durability::Volatile)
    }

    /// Reads a file of at most `limit` bytes; `None` if it does not exist.
    pub(crate) fn read(&self, file: RunFile, limit: u64) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.folder.read(file.name(), limit)?.map(|(bytes, _)| bytes))
    }

    /// Writes the record atomically.
    pub(crate) fn note(&self, record: &RunRecord) -> Result<(), StoreError> {
        // Created privately first, since replacing keeps the mode.
        match self.create(RunFile::Record) {
            Ok(_) | Err(StoreError::Exists { .. }) => {}
            Err(fault) => return Err(fault),
        }
        let text =
            format!("{}\n", serde_json::to_string_pretty(record).expect("plain fields are JSON"));
        self.folder.replace(RunFile::Record.name(), text.as_bytes(), Durability::Volatile)
    }

    /// Reads the record; `None` if it is missing or damaged.
    pub(crate) fn record(&self) -> Result<Option<RunRecord>, StoreError> {
        self.folder.read_json(RunFile::Record.name())
    }
}

#[cfg(test)]
mod tests;
