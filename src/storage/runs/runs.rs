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
//! Old ones go: when a run begins, the attempts of its visit but the last [`MOST_ATTEMPTS`]; when a runner does, the visits that nobody
//! has run anything at for [`KEPT`].

use super::prune;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::attempt::Attempt;
use super::record::Record;

use crate::domain::Ticket;
use crate::storage::fs::owned_file;
use crate::storage::fs::owned_file::Marked;
use crate::storage::fs::project_path::BadPath;
use crate::storage::layout::{LOCAL, RUNS};
use crate::storage::{Folder, Holder, Paths, StoreError};

pub(crate) const LOCK: &str = "lock";
/// Whoever only asks whether a visit is run holds the lock for microseconds.
const PATIENCE: Duration = Duration::from_millis(50);

/// The runs of a project.
#[derive(Debug, Clone)]
pub struct Runs {
    paths: Paths,
}

/// The right to run a visit.
#[derive(Debug)]
pub enum Right {
    /// It is ours.
    Ours(VisitRuns),
    /// Somebody else has it: who, as far as is known.
    Taken(Option<Holder>),
}

/// The runs of one visit, which is ours to run until this is dropped.
#[derive(Debug)]
pub struct VisitRuns {
    /// Held for as long as this is.
    _held: Marked,
    pub(crate) folder: Folder,
}

/// How the attempts of a visit stand.
#[derive(Debug)]
pub enum Latest {
    /// There was none.
    None,
    /// The last one ended.
    Ended(Attempt, Record),
    /// The last one has no end: its runner was killed. Without a record, it was killed before the program was started.
    Open(Attempt, Option<Record>),
}

impl Runs {
    /// Returns the runs of the project.
    pub fn of(paths: &Paths) -> Self {
        Self { paths: paths.clone() }
    }

    /// Takes the right to run a visit, if it is free. Its oldest attempts go.
    pub fn open(&self, ticket: &Ticket, holder: &Holder) -> Result<Right, StoreError> {
        let name = folder_name(ticket)?;
        self.paths.prepare_local()?;
        let start = Instant::now();
        loop {
            let folder = self.made()?.private_child(&name)?;
            match Marked::attempt(&folder, LOCK, self.paths.root(), holder)? {
                owned_file::Attempt::Locked(held) => {
                    let visit = VisitRuns { _held: held, folder };
                    // What cannot be removed keeps nobody from work.
                    let _ = prune::attempts(&visit);
                    return Ok(Right::Ours(visit));
                }
                owned_file::Attempt::Held(other) if start.elapsed() >= PATIENCE => {
                    return Ok(Right::Taken(other));
                }
                owned_file::Attempt::Held(_) => thread::sleep(Duration::from_millis(1)),
                // It was old, and somebody removed it.
                owned_file::Attempt::Replaced => {}
            }
        }
    }

    /// Removes the visits that nobody has run anything at for [`KEPT`](super::prune::KEPT), until `stop` is set; one that somebody runs stays.
    pub fn prune(&self, now: SystemTime, stop: &AtomicBool) -> Result<(), StoreError> {
        let runs = Folder::open_existing(self.paths.root(), RUNS)?;
        runs.map_or(Ok(()), |runs| prune::visits(&runs, now, stop))
    }

    /// Returns who runs a visit, as far as is known; `None` when nobody does.
    pub fn runner(&self, ticket: &Ticket) -> Result<Option<Holder>, StoreError> {
        let Some(folder) = self.standing(ticket)? else { return Ok(None) };
        // Asking makes no file.
        if folder.kind(LOCK)?.is_none() {
            return Ok(None);
        }
        match fs4::FileExt::try_lock_shared(&folder.open_lock(LOCK)?) {
            Err(fs4::TryLockError::WouldBlock) => Ok(owned_file::holder(&folder, LOCK)),
            Ok(()) | Err(fs4::TryLockError::Error(_)) => Ok(None),
        }
    }

    /// Returns the records of a visit, the first attempt first; those that cannot be read are left out.
    pub fn records(&self, ticket: &Ticket) -> Result<Vec<Record>, StoreError> {
        self.standing(ticket)?.map_or(Ok(Vec::new()), |folder| records_in(&folder))
    }

    fn made(&self) -> Result<Folder, StoreError> {
        Folder::open(self.paths.root(), LOCAL)?.private_child(inside_local())
    }

    fn standing(&self, ticket: &Ticket) -> Result<Option<Folder>, StoreError> {
        Folder::open_existing(self.paths.root(), &format!("{RUNS}/{}", folder_name(ticket)?))
    }
}

impl VisitRuns {
    /// Returns how many attempts there were, those that are kept no longer included.
    pub fn attempts(&self) -> Result<u32, StoreError> {
        Ok(numbers(self.folder.path())?.last().copied().unwrap_or(0))
    }

    /// Returns how the last attempt stands.
    pub fn latest(&self) -> Result<Latest, StoreError> {
        let number = self.attempts()?;
        let Some(attempt) = Attempt::standing(&self.folder, number)? else {
            return Ok(Latest::None);
        };
        Ok(match attempt.record()? {
            Some(record) if record.end.is_some() => Latest::Ended(attempt, record),
            record => Latest::Open(attempt, record),
        })
    }

    /// Returns the records of all attempts that are kept, the first one first.
    pub fn records(&self) -> Result<Vec<Record>, StoreError> {
        records_in(&self.folder)
    }

    /// Begins the next attempt.
    pub fn begin(&self) -> Result<Attempt, StoreError> {
        Attempt::begin(&self.folder, self.attempts()?.saturating_add(1))
    }
}

fn records_in(visit: &Folder) -> Result<Vec<Record>, StoreError> {
    let mut records = Vec::new();
    for number in numbers(visit.path())? {
        if let Some(attempt) = Attempt::standing(visit, number)? {
            records.extend(attempt.record()?);
        }
    }
    Ok(records)
}

/// Returns the name of a visit's folder: the ticket, with a sign that a file's name may have.
fn folder_name(ticket: &Ticket) -> Result<String, StoreError> {
    let text = ticket.to_string();
    match ticket.visit {
        Some(_) => Ok(text.replace('/', "+")),
        None => Err(StoreError::BadPath(BadPath {
            text,
            reason: "a run is one of a visit, and none is named",
        })),
    }
}

fn inside_local() -> &'static str {
    RUNS.trim_start_matches(LOCAL).trim_start_matches('/')
}

/// Returns the numbers that folders there have as names, the lowest first.
pub(crate) fn numbers(folder: &Path) -> Result<Vec<u32>, StoreError> {
    let listing = match fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(StoreError::io("list the folder", folder, cause)),
    };
    let mut numbers = Vec::new();
    for entry in listing {
        let name =
            entry.map_err(|cause| StoreError::io("list the folder", folder, cause))?.file_name();
        // `01` is none of ours.
        numbers.extend(
            name.to_str()
                .and_then(|name| name.parse().ok())
                .filter(|number: &u32| *name == *number.to_string()),
        );
    }
    numbers.sort_unstable();
    Ok(numbers)
}

#[cfg(test)]
mod tests;
