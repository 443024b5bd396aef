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

use std::fs::{self, DirEntry};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::attempt::RunAttempt;
use super::record::RunRecord;
use crate::domain::Ticket;
use crate::storage::fs::error::OrIo;
use crate::storage::fs::folder::list;
use crate::storage::fs::lock_file::{FileLock, LockAttempt, OwnedFile};
use crate::storage::fs::project_path::BadPath;
use crate::storage::layout::{LOCAL, RUNS};
use crate::storage::{FileKind, Folder, Holder, Paths, StoreError};

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
