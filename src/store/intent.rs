//! The record of a write under way, `.aof/intent`: what the next command needs to finish or undo what a kill interrupted.
//!
//! Written when the commit is prepared, before git's locks are taken and the first task file changes; removed when all is done.
//! A kill leaves:
//! - before the record: nothing to heal, at most temporary files;
//! - after it, before the files: files as they were; the record is dropped;
//! - after the files, before the branch moved: files ahead of HEAD;
//! - after the branch moved: old files of moved tasks and git's locks may be left over; `locks` tells which are ours.
//!
//! It is no proof of anything: whoever heals compares files and HEAD, and lets the record say only where to look and which
//! locks are ours. The locks are why it must be on the disk before the first of them is taken ([`sync`]): one that a power cut left
//! and that no record tells of would be nobody's to remove. Until then it need not be; damaged, it reads as [`Pending::Unreadable`].

use serde::{Deserialize, Serialize};

use super::folder::Durability;
use super::layout::LOCAL;
use super::{Folder, ProjectPath, StoreError, WriterLock};
use crate::model::{Digest, TaskId};

const NAME: &str = "intent";
const LIMIT: u64 = 16 * 1024 * 1024;

/// What a process was about to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// The process.
    pub pid: u32,
    /// The files that it changes.
    pub writes: Vec<Write>,
    /// Git's locks, as `audit` describes them, once they are about to be taken.
    pub locks: Option<serde_json::Value>,
}

/// One change: of a task, or of the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The task; absent where a file of the rules is made.
    pub task: Option<TaskId>,
    /// Where its file stood; absent for a new one.
    pub old: Option<ProjectPath>,
    /// Where it goes.
    pub new: ProjectPath,
    /// Where the files that go with it stood, and where they go.
    pub companions: Vec<(ProjectPath, ProjectPath)>,
    /// All the files that are being made with this one, and this one: of a project, or of its rules. As long as they are not
    /// committed, there are none.
    pub made: Vec<Made>,
}

/// A file that did not exist before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// The file.
    pub path: ProjectPath,
    /// What it says.
    pub sha256: Digest,
}

/// What the record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pending {
    /// Nothing: the last write was finished.
    Nothing,
    /// That was under way.
    Intent(Intent),
    /// Something was under way, but the record is damaged: only the files can tell.
    Unreadable {
        /// What is wrong with it.
        reason: String,
    },
}

#[derive(Serialize, Deserialize)]
struct Record {
    pid: u32,
    writes: Vec<WriteRecord>,
    locks: Option<serde_json::Value>,
}

#[derive(Serialize, Deserialize)]
struct WriteRecord {
    task: Option<String>,
    old: Option<String>,
    new: String,
    companions: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    made: Vec<(String, String)>,
}

/// Writes the record, or replaces it by what is known now.
pub fn write(lock: &WriterLock, intent: &Intent) -> Result<(), StoreError> {
    let bytes = serde_json::to_vec(&Record::of(intent)).expect("a record of plain fields is JSON");
    // Where somebody removed `.aof/` since the lock was taken, it is made again.
    lock.local()
        .replace(NAME, &bytes, Durability::Volatile)
        .or_else(|_| Folder::create(lock.paths().root(), LOCAL)?.replace(NAME, &bytes, Durability::Volatile))
}

/// Has the record survive a power cut; called before any of the locks in it is taken. One that somebody took away meanwhile is a
/// fault: nothing would tell whose the locks are.
pub fn sync(lock: &WriterLock) -> Result<(), StoreError> {
    // Looked for where the next command will, not in the folder that the lock was taken in.
    let folder = Folder::open(lock.paths().root(), LOCAL)?;
    if folder.sync_file(NAME)? { Ok(()) } else { Err(StoreError::Gone { path: lock.paths().intent() }) }
}

/// Reads the record.
pub fn read(lock: &WriterLock) -> Result<Pending, StoreError> {
    let unreadable = |reason: String| Ok(Pending::Unreadable { reason });
    match lock.local().read(NAME, LIMIT) {
        Ok(None) => Ok(Pending::Nothing),
        Ok(Some((bytes, _))) => match serde_json::from_slice::<Record>(&bytes) {
            Ok(record) => record.intent().map_or_else(unreadable, |intent| Ok(Pending::Intent(intent))),
            Err(fault) => unreadable(fault.to_string()),
        },
        Err(fault @ (StoreError::TooLarge { .. } | StoreError::WrongKind { .. })) => unreadable(fault.to_string()),
        Err(fault) => Err(fault),
    }
}

/// Removes the record: all is done, or undone.
pub fn clear(lock: &WriterLock) -> Result<(), StoreError> {
    lock.local().remove(NAME)
}

impl Record {
    fn of(intent: &Intent) -> Self {
        let written = |write: &Write| WriteRecord {
            task: write.task.as_ref().map(ToString::to_string),
            old: write.old.as_ref().map(ToString::to_string),
            new: write.new.to_string(),
            companions: write.companions.iter().map(|(old, new)| (old.to_string(), new.to_string())).collect(),
            made: write.made.iter().map(|made| (made.path.to_string(), made.sha256.as_str().to_owned())).collect(),
        };
        Self { pid: intent.pid, writes: intent.writes.iter().map(written).collect(), locks: intent.locks.clone() }
    }

    fn intent(self) -> Result<Intent, String> {
        let writes: Result<_, String> = self.writes.into_iter().map(WriteRecord::write).collect();
        Ok(Intent { pid: self.pid, writes: writes?, locks: self.locks })
    }
}

impl WriteRecord {
    fn write(self) -> Result<Write, String> {
        let path = |text: String| -> Result<ProjectPath, String> {
            text.parse().map_err(|fault: StoreError| fault.to_string())
        };
        let task = |text: String| text.parse().map_err(|fault: crate::model::IdFault| fault.to_string());
        let companions: Result<_, String> =
            self.companions.into_iter().map(|(old, new)| Ok((path(old)?, path(new)?))).collect();
        let made = |(name, sha256): (String, String)| {
            let sha256 = sha256.parse().map_err(|fault: crate::model::IdFault| fault.to_string())?;
            Ok(Made { path: path(name)?, sha256 })
        };
        Ok(Write {
            task: self.task.map(task).transpose()?,
            old: self.old.map(path).transpose()?,
            new: path(self.new)?,
            companions: companions?,
            made: self.made.into_iter().map(made).collect::<Result<_, String>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use tempfile::TempDir;

    use super::*;
    use crate::store::{Holder, Paths};

    #[test]
    fn the_record_says_what_was_under_way_until_it_is_cleared() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        let holder = Holder::this_process("test", jiff::Timestamp::UNIX_EPOCH);
        let lock = WriterLock::acquire(&paths, &holder, Duration::ZERO, &mut |_| {}).unwrap();
        assert_eq!(read(&lock).unwrap(), Pending::Nothing);
        let mut intent = Intent {
            pid: 42,
            writes: vec![Write {
                task: Some("AOF-abc".parse().unwrap()),
                old: Some("tasks/AOF-abc.md".parse().unwrap()),
                new: "tasks/archive/2026/02/16/AOF-abc.md".parse().unwrap(),
                companions: vec![(
                    "tasks/AOF-abc.log".parse().unwrap(),
                    "tasks/archive/2026/02/16/AOF-abc.log".parse().unwrap(),
                )],
                made: vec![Made { path: "project.yaml".parse().unwrap(), sha256: Digest::of(b"project") }],
            }],
            locks: None,
        };
        assert!(matches!(sync(&lock), Err(StoreError::Gone { .. })));
        write(&lock, &intent).unwrap();
        sync(&lock).unwrap();
        assert_eq!(read(&lock).unwrap(), Pending::Intent(intent.clone()));
        intent.locks = Some(serde_json::json!({"index": {"inode": u64::MAX}}));
        write(&lock, &intent).unwrap();
        assert_eq!(read(&lock).unwrap(), Pending::Intent(intent));

        let whole = fs::read_to_string(paths.intent()).unwrap();
        for damaged in [
            "",
            "{}",
            &whole[..whole.len() / 2],
            &whole.replace("AOF-abc\"", "../../etc\""),
            &whole.replace("tasks/AOF", "../tasks/AOF"),
        ] {
            fs::write(paths.intent(), damaged).unwrap();
            assert!(matches!(read(&lock).unwrap(), Pending::Unreadable { .. }), "{damaged}");
        }
        clear(&lock).unwrap();
        clear(&lock).unwrap();
        assert_eq!(read(&lock).unwrap(), Pending::Nothing);
    }
}
