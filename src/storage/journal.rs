//! The record of a write under way, `.aof/intent`: what the next command needs to finish or undo what a kill interrupted.
//!
//! Written when the commit is prepared, before git's locks are taken and the first task file changes; blanked when all is done.
//! A kill leaves:
//! - before the record: nothing to heal, at most temporary files;
//! - after it, before the files: files as they were; the record is dropped;
//! - after the files, before the branch moved: files ahead of HEAD;
//! - after the branch moved: old files of moved tasks and git's locks may be left over; `locks` tells which are ours.
//!
//! It is no proof of anything: whoever heals compares files and HEAD, and lets the record say only where to look and which
//! locks are ours. The locks are why it must be on the disk before the first of them is taken ([`Written::unsynced`]): one that a
//! power cut left and that no record tells of would be nobody's to remove.
//!
//! The file stays, full of spaces while nothing is under way, and the record is written over them. So its sync is that of one
//! block: nothing is made, named or removed, and no journal has anything to say about it. What that may come to:
//! - a power cut before the sync leaves the spaces, the record, or parts of both, which read as [`Pending::Unreadable`]: no lock
//!   has its name and no file of a task has changed, so nothing is lost with it but where temporary files may lie;
//! - the spaces are not synced, so a power cut may bring a record back whose write was done, until the next one is written
//!   over it. It is healed like one that a kill left just before the end: all that it asks for is there already.
//!
//! Only spaces are written over, but for the one note that what is on record is to be undone ([`note_undo`]).
//! A record that still says something, or does not fit, is replaced by another file, whole at any
//! moment, and so is whatever else stands there: a link, a file of somebody else's.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};

use super::fs::folder::Durability;
use super::layout::LOCAL;
use super::{Folder, Paths, ProjectPath, StoreError, WriterLock};
use crate::domain::{Digest, TaskId};
use crate::system::disk;
use crate::system::disk::{Part, Unsynced};

pub(crate) mod record;

use record::Unread;

const NAME: &str = "intent";
const LIMIT: u64 = 16 * 1024 * 1024;
/// How long the file is that waits for a record: one block of a disk, one page of memory, which a kill cannot leave half-written.
const ROOM: usize = 4096;

/// What a process was about to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// The process.
    pub pid: u32,
    /// In which start of the machine it ran, where the system tells: what another one left may have lost names in a power cut.
    pub boot: Option<String>,
    /// What is to become of it.
    pub aim: Aim,
    /// The files that it changes.
    pub writes: Vec<Write>,
    /// Git's locks, as `audit` describes them, once they are about to be taken.
    pub locks: Option<serde_json::Value>,
}

/// What is to become of what a process left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// It was under way, and nobody was told how it ended: it is finished, if it can be.
    Finish,
    /// It failed, and somebody was told so: it is undone.
    Undo,
}

/// One change: of a task, or of the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The task; absent where a file of the rules is made.
    pub task: Option<TaskId>,
    /// Its file before; absent for a new one.
    pub old: Option<Old>,
    /// Where it goes.
    pub new: ProjectPath,
    /// What it is to say.
    pub sha256: Digest,
    /// The files that go with it.
    pub companions: Vec<Moved>,
    /// All the files beside tasks that are being written with this one, and this one: of a project, of its rules, for agents. As
    /// long as they are not committed, they are as they were.
    pub made: Vec<Made>,
}

impl Write {
    /// Returns where the file stood, and where it goes.
    pub fn places(&self) -> impl Iterator<Item = &ProjectPath> {
        self.old.iter().map(|old| &old.path).chain([&self.new])
    }

    /// Returns every place that this changes.
    pub fn paths(&self) -> impl Iterator<Item = &ProjectPath> {
        let companions = self.companions.iter().flat_map(|file| [&file.from, &file.to]);
        self.places().chain(companions).chain(self.made.iter().map(|made| &made.path))
    }
}

/// A task's file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Old {
    /// Where it stood.
    pub path: ProjectPath,
    /// What it said.
    pub sha256: Digest,
}

/// A file that goes with a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Where it stood.
    pub from: ProjectPath,
    /// Where it goes.
    pub to: ProjectPath,
    /// What it said.
    pub sha256: Digest,
}

/// A file that is no task's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// The file.
    pub path: ProjectPath,
    /// What it says.
    pub sha256: Digest,
    /// What it said before, which is what HEAD has; absent if there was none.
    pub before: Option<Digest>,
}

/// What the record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pending {
    /// Nothing: the last write was finished.
    Nothing,
    /// That was under way.
    Intent(Intent),
    /// Something was under way, but the record is damaged, or of another version of aof: only the files can tell.
    Unreadable {
        /// What is wrong with it.
        reason: String,
        /// Git's locks, where that much can be read.
        locks: Option<serde_json::Value>,
    },
}

/// A record that a kill does not take back any more, but a power cut may.
#[derive(Debug)]
#[must_use = "a power cut takes it back until it is synced"]
pub(crate) struct Written {
    /// The file that was there and was written over; nothing where one was put in its place.
    over: Option<File>,
}

/// Writes the record, or replaces it by what is known now.
pub(crate) fn write(lock: &WriterLock, intent: &Intent) -> Result<Written, StoreError> {
    let mut text = record::text(intent);
    if text.len() <= ROOM {
        text.resize(ROOM, b' ');
    }
    // Where somebody removed `.aof/` since the lock was taken, it is made again.
    let folder = Folder::create(lock.paths().root(), LOCAL)?;
    if text.len() == ROOM
        && let Some(file) = waiting(&folder)
    {
        file.write_all_at(&text, 0)
            .map_err(|cause| StoreError::io("write", &lock.paths().intent(), cause))?;
        return Ok(Written { over: Some(file) });
    }
    folder.replace(NAME, &text, Durability::Volatile)?;
    Ok(Written { over: None })
}

/// Notes on a record that what it says is to be undone. It is written over where it stands, and the note has as many bytes as what it
/// replaces, so that this needs no room on the disk; all that changes lies in the first block, which a kill does not leave half-written.
/// After a power cut it may be none, and nobody is told of what was left, as after any.
pub(crate) fn note_undo(lock: &WriterLock, intent: &Intent) -> Result<Written, StoreError> {
    let path = lock.paths().intent();
    let text = |aim| record::text(&Intent { aim, ..intent.clone() });
    let (before, after) = (text(Aim::Finish), text(Aim::Undo));
    let Some((file, metadata)) = Folder::open(lock.paths().root(), LOCAL)?.open_to_write(NAME)?
    else {
        return Err(StoreError::Gone { path });
    };
    let mut standing = vec![0; before.len()];
    let is_it =
        metadata.nlink() == 1 && file.read_exact_at(&mut standing, 0).is_ok() && standing == before;
    if !is_it {
        return Err(StoreError::Changed { path });
    }
    file.write_all_at(&after[..after.len().min(ROOM)], 0)
        .map_err(|cause| StoreError::io("write", &path, cause))?;
    Ok(Written { over: Some(file) })
}

impl Written {
    /// Returns the record if it still has to be synced, before any of the locks in it is taken. One that somebody took away
    /// meanwhile is a fault: nothing would tell whose the locks are.
    pub(crate) fn unsynced(self, lock: &WriterLock) -> Result<Option<Unsynced>, StoreError> {
        let path = lock.paths().intent();
        let Some(file) = self.over else {
            // Looked for where the next command will, not in the folder that the lock was taken in.
            let folder = Folder::open(lock.paths().root(), LOCAL)?;
            return if folder.sync_file(NAME)? { Ok(None) } else { Err(StoreError::Gone { path }) };
        };
        let written = file.metadata().map_err(|cause| StoreError::io("look at", &path, cause))?;
        let standing = std::fs::symlink_metadata(&path);
        if !standing.is_ok_and(|now| (now.ino(), now.dev()) == (written.ino(), written.dev())) {
            return Err(StoreError::Gone { path });
        }
        let waiting = Unsynced::new(&file, &path, Part::Bytes);
        waiting
            .map(|file| Some(file.ahead()))
            .map_err(|cause| StoreError::io("hold open", &path, cause))
    }

    /// Has the record survive a power cut.
    pub(crate) fn sync(self, lock: &WriterLock) -> Result<(), StoreError> {
        let file = self.unsynced(lock)?;
        disk::sync(file.into_iter().collect())
            .map_err(|fault| StoreError::io("flush to disk", &fault.path, fault.cause))
    }
}

/// Reads the record.
pub(crate) fn read(lock: &WriterLock) -> Result<Pending, StoreError> {
    read_in(lock.local())
}

/// Returns whether a write was not finished, or is under way. Only whoever has the lock can tell which.
pub(crate) fn is_pending(paths: &Paths) -> bool {
    let folder = Folder::open_existing(paths.root(), LOCAL);
    folder.is_ok_and(|folder| {
        folder.is_some_and(|folder| !matches!(read_in(&folder), Ok(Pending::Nothing)))
    })
}

fn read_in(folder: &Folder) -> Result<Pending, StoreError> {
    match folder.read(NAME, LIMIT) {
        Ok(None) => Ok(Pending::Nothing),
        Ok(Some((bytes, _))) if is_blank(&bytes) => Ok(Pending::Nothing),
        Ok(Some((bytes, _))) => match record::intent(bytes.trim_ascii_end()) {
            Ok(intent) => Ok(Pending::Intent(intent)),
            Err(Unread { reason, locks }) => Ok(Pending::Unreadable { reason, locks }),
        },
        Err(fault @ (StoreError::TooLarge { .. } | StoreError::WrongKind { .. })) => {
            Ok(Pending::Unreadable { reason: fault.to_string(), locks: None })
        }
        Err(fault) => Err(fault),
    }
}

/// Takes the record back: all is done, or undone.
pub(crate) fn clear(lock: &WriterLock) -> Result<(), StoreError> {
    let folder = lock.local();
    let blanked = folder.open_to_write(NAME).ok().flatten().is_some_and(|(file, metadata)| {
        metadata.len() == ROOM as u64
            && metadata.nlink() == 1
            && file.write_all_at(&[b' '; ROOM], 0).is_ok()
    });
    if blanked { Ok(()) } else { folder.remove(NAME) }
}

/// Returns the file if it waits for a record. One that is not this user's to write is replaced.
fn waiting(folder: &Folder) -> Option<File> {
    let (file, metadata) = folder.open_to_write(NAME).ok()??;
    let mut bytes = [0; ROOM];
    let whole = metadata.len() == ROOM as u64 && metadata.nlink() == 1;
    (whole && file.read_exact_at(&mut bytes, 0).is_ok() && is_blank(&bytes)).then_some(file)
}

fn is_blank(bytes: &[u8]) -> bool {
    // An empty file is one whose bytes a power cut took.
    !bytes.is_empty() && bytes.iter().all(|byte| *byte == b' ')
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use tempfile::TempDir;

    use super::*;
    use crate::storage::Holder;

    fn locked(home: &TempDir) -> (Paths, WriterLock) {
        let paths = Paths::at(home.path());
        let holder = Holder::this_process("test", jiff::Timestamp::UNIX_EPOCH);
        let lock = WriterLock::acquire(&paths, &holder, Duration::ZERO, &mut |_| {}).unwrap();
        (paths, lock)
    }

    fn intent() -> Intent {
        Intent {
            pid: 42,
            boot: Some("this one".to_owned()),
            aim: Aim::Finish,
            writes: vec![Write {
                task: Some("AOF-abc".parse().unwrap()),
                old: Some(Old {
                    path: "tasks/AOF-abc.md".parse().unwrap(),
                    sha256: Digest::of(b"as it was"),
                }),
                new: "tasks/archive/2026/02/16/AOF-abc.md".parse().unwrap(),
                sha256: Digest::of(b"as it will be"),
                companions: vec![Moved {
                    from: "tasks/AOF-abc.log".parse().unwrap(),
                    to: "tasks/archive/2026/02/16/AOF-abc.log".parse().unwrap(),
                    sha256: Digest::of(b"beside"),
                }],
                made: vec![Made {
                    path: "project.yaml".parse().unwrap(),
                    sha256: Digest::of(b"project"),
                    before: Some(Digest::of(b"before")),
                }],
            }],
            locks: None,
        }
    }

    /// Returns the text with the digest that its JSON has.
    fn signed(text: &str) -> String {
        let (_, json) = text.split_once('\n').unwrap();
        format!("{}\n{json}", Digest::of(json.trim_end().as_bytes()).as_str())
    }

    #[test]
    fn the_record_says_what_was_under_way_until_it_is_cleared() {
        let home = TempDir::new().unwrap();
        let (paths, lock) = locked(&home);
        let mut intent = intent();
        assert_eq!(read(&lock).unwrap(), Pending::Nothing);
        assert!(!is_pending(&paths));
        let number = || fs::metadata(paths.intent()).unwrap().ino();
        // The second round writes over the spaces that the first one left.
        let mut numbers = Vec::new();
        for round in 0..3 {
            intent.pid = round;
            write(&lock, &intent).unwrap().sync(&lock).unwrap();
            assert_eq!(read(&lock).unwrap(), Pending::Intent(intent.clone()));
            assert!(is_pending(&paths));
            numbers.push(number());
            clear(&lock).unwrap();
            clear(&lock).unwrap();
            assert_eq!(read(&lock).unwrap(), Pending::Nothing);
            assert!(!is_pending(&paths));
        }
        assert_eq!(numbers, [numbers[0]; 3]);

        // One that says something is not written over: whoever reads finds the old one or the new one.
        write(&lock, &intent).unwrap().sync(&lock).unwrap();
        let old = fs::File::open(paths.intent()).unwrap();
        intent.locks = Some(serde_json::json!({"index": {"inode": u64::MAX}}));
        write(&lock, &intent).unwrap().sync(&lock).unwrap();
        assert_eq!(read(&lock).unwrap(), Pending::Intent(intent.clone()));
        let mut before = [0; ROOM];
        old.read_exact_at(&mut before, 0).unwrap();
        assert!(record::intent(before.trim_ascii_end()).unwrap().locks.is_none());

        // One that is too long for a block gets a file of its own.
        clear(&lock).unwrap();
        intent.locks = Some("x".repeat(ROOM).into());
        write(&lock, &intent).unwrap().sync(&lock).unwrap();
        assert_eq!(read(&lock).unwrap(), Pending::Intent(intent));
        clear(&lock).unwrap();
        assert_eq!(read(&lock).unwrap(), Pending::Nothing);
    }

    #[test]
    fn that_it_is_to_be_undone_is_noted_in_place_in_the_first_block_of_that_very_record() {
        let home = TempDir::new().unwrap();
        let (paths, lock) = locked(&home);
        let mut intent = intent();
        for locks in [None, Some("x".repeat(3 * ROOM).into())] {
            intent.locks = locks;
            let undone = Intent { aim: Aim::Undo, ..intent.clone() };
            write(&lock, &intent).unwrap().sync(&lock).unwrap();
            let look =
                || (fs::metadata(paths.intent()).unwrap().ino(), fs::read(paths.intent()).unwrap());
            let (number, text) = look();
            note_undo(&lock, &intent).unwrap().sync(&lock).unwrap();
            assert_eq!(read(&lock).unwrap(), Pending::Intent(undone));
            let (noted_in, noted) = look();
            assert_eq!(
                (noted_in, noted.len(), &noted[ROOM..]),
                (number, text.len(), &text[ROOM..])
            );
            // Once is enough, and another one is somebody else's.
            assert!(matches!(note_undo(&lock, &intent), Err(StoreError::Changed { .. })));
            clear(&lock).unwrap();
        }
        assert!(matches!(
            note_undo(&lock, &intent),
            Err(StoreError::Changed { .. } | StoreError::Gone { .. })
        ));
        assert_eq!(read(&lock).unwrap(), Pending::Nothing);
    }

    #[test]
    fn a_damaged_record_is_told_from_none() {
        let home = TempDir::new().unwrap();
        let (paths, lock) = locked(&home);
        write(&lock, &intent()).unwrap().sync(&lock).unwrap();
        let whole = fs::read_to_string(paths.intent()).unwrap();
        let torn = [&whole[..200], &" ".repeat(ROOM - 200)].concat();
        for damaged in [
            "",
            "{}",
            &"\0".repeat(ROOM),
            &whole[..200],
            &torn,
            &whole.replace("\"pid\":42", "\"pid\":43"),
            &signed(&whole.replace("AOF-abc\"", "../../etc\"")),
            &signed(&whole.replace("tasks/AOF", "../tasks/AOF")),
            &signed("x\n{}"),
        ] {
            fs::write(paths.intent(), damaged).unwrap();
            assert!(matches!(read(&lock).unwrap(), Pending::Unreadable { .. }), "{damaged}");
            assert!(is_pending(&paths), "{damaged}");
        }
        fs::write(paths.intent(), signed(&whole)).unwrap();
        assert_eq!(read(&lock).unwrap(), Pending::Intent(intent()));
    }

    #[test]
    fn what_is_somebody_else_s_is_not_written_over() {
        let home = TempDir::new().unwrap();
        let (paths, lock) = locked(&home);
        let theirs = home.path().join("theirs");
        fs::write(&theirs, " ".repeat(ROOM)).unwrap();
        let place = paths.intent();
        fs::hard_link(&theirs, &place).unwrap();
        write(&lock, &intent()).unwrap().sync(&lock).unwrap();
        assert_eq!(read(&lock).unwrap(), Pending::Intent(intent()));
        fs::remove_file(&place).unwrap();
        std::os::unix::fs::symlink(&theirs, &place).unwrap();
        assert!(matches!(write(&lock, &intent()), Err(StoreError::WrongKind { .. })));
        // Whoever heals meets it first.
        assert!(matches!(read(&lock).unwrap(), Pending::Unreadable { .. }));
        clear(&lock).unwrap();
        fs::hard_link(&theirs, &place).unwrap();
        clear(&lock).unwrap();
        assert!(fs::symlink_metadata(&place).is_err());
        assert_eq!(fs::read_to_string(&theirs).unwrap(), " ".repeat(ROOM));
    }

    #[test]
    fn a_record_that_somebody_took_away_does_not_count_as_written() {
        let home = TempDir::new().unwrap();
        let (paths, lock) = locked(&home);
        // Put in place, then written over.
        for _ in 0..2 {
            let written = write(&lock, &intent()).unwrap();
            let kept = paths.local().join("kept");
            fs::rename(paths.intent(), &kept).unwrap();
            assert!(matches!(written.sync(&lock), Err(StoreError::Gone { .. })));
            fs::rename(&kept, paths.intent()).unwrap();
            clear(&lock).unwrap();
        }
        fs::remove_dir_all(paths.local()).unwrap();
        write(&lock, &intent()).unwrap().sync(&lock).unwrap();
        assert!(is_pending(&paths));
    }
}
