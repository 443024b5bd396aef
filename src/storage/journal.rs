//! The record of a write under way, `.aof/intent`: what the next command needs to finish or undo what a kill interrupted.
//!
//! Written when the commit is prepared, before git's locks are taken and the first task file changes; blanked when all is done.
//! A kill leaves:
//! - before the record: nothing to recover, at most temporary files;
//! - after it, before the files: files as they were; the record is dropped;
//! - after the files, before the branch moved: files ahead of HEAD;
//! - after the branch moved: old files of moved tasks and git's locks may be left over; `locks` tells which are ours.
//!
//! The record is no proof: recovery compares files and HEAD, and the record says only where to look and which locks are ours.
//! It must be on the disk before the first lock is taken ([`UnsyncedRecord::unsynced`]): nobody would remove a lock that a power
//! cut left and that no record names.
//!
//! The file stays, full of spaces while nothing is under way, and the record is written over them. So its sync is that of one
//! block. A power cut before the sync may leave parts of a record, which read as [`JournalState::Unreadable`]; no lock was taken and
//! no file changed by then. The spaces are not synced, so a power cut may bring back a record whose write was done: recovery
//! finds everything in place. Only spaces are written over, but for the note that the write is to be undone ([`note_undo`]).
//! Any other content is replaced by a new file.
//!
//! The text is the SHA-256 of what follows, a line break, JSON: parts of two records may be JSON as well.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};

use serde::{Deserialize, Serialize};

use super::fs::error::OrIo;
use super::layout::LOCAL;
use super::lock::stands_at;
use super::{Durability, Folder, Paths, ProjectPath, StoreError, WriterLock};
use crate::domain::{Digest, TaskId};
use crate::system::disk::{self, SyncPart, Unsynced};

const NAME: &str = "intent";
const LIMIT: u64 = 16 * 1024 * 1024;
/// How long the file is that waits for a record: one block of a disk, one page of memory, which a kill cannot leave half-written.
const ROOM: usize = 4096;

/// What a process was about to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JournalRecord {
    /// What is to become of it. First, so that [`note_undo`] changes the first block alone.
    pub aim: RecoveryAim,
    pub pid: u32,
    /// In which start of the machine it ran, where the system tells: what another one left may have lost names in a power cut.
    pub boot: Option<String>,
    pub writes: Vec<IntendedWrite>,
    /// Git's locks, as `git` describes them, once they are about to be taken.
    pub locks: Option<serde_json::Value>,
}

/// What is to become of what a process left. The words have the same length, so that one can be written over the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RecoveryAim {
    /// It was under way, and nobody was told how it ended: it is finished, if it can be.
    #[serde(rename = "redo")]
    Finish,
    /// It failed, and somebody was told so: it is undone.
    #[serde(rename = "undo")]
    Undo,
}

/// One change: of a task, or of the rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IntendedWrite {
    /// The task; absent where a file of the rules is made.
    pub task: Option<TaskId>,
    /// Its file before; absent for a new one.
    pub old: Option<FileBefore>,
    /// Where it goes, and what it is to say.
    pub new: ProjectPath,
    pub sha256: Digest,
    /// The files that go with it.
    pub companions: Vec<MovedCompanion>,
    /// All other files that are being written with this one: of a project, of its rules, for agents.
    pub made: Vec<CreatedFile>,
}

impl IntendedWrite {
    /// Returns where the file stood, and where it goes.
    pub(crate) fn places(&self) -> impl Iterator<Item = &ProjectPath> {
        self.old.iter().map(|old| &old.path).chain([&self.new])
    }

    /// Returns every place that this changes.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &ProjectPath> {
        let companions = self.companions.iter().flat_map(|file| [&file.from, &file.to]);
        self.places().chain(companions).chain(self.made.iter().map(|made| &made.path))
    }
}

/// A task's file as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileBefore {
    pub path: ProjectPath,
    pub sha256: Digest,
}

/// A file that goes with a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MovedCompanion {
    pub from: ProjectPath,
    pub to: ProjectPath,
    pub sha256: Digest,
}

/// A file that is no task's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CreatedFile {
    pub path: ProjectPath,
    pub sha256: Digest,
    /// What it said before, which is what HEAD has; absent if there was none.
    pub before: Option<Digest>,
}

/// What the record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JournalState {
    /// Nothing: the last write was finished.
    Nothing,
    /// That was under way.
    Record(JournalRecord),
    /// Something was under way, but the record is damaged, or of another version of aof: only the files can tell.
    Unreadable,
}

/// A record that survives a kill, but not yet a power cut.
#[derive(Debug)]
#[must_use = "a power cut takes it back until it is synced"]
pub(crate) struct UnsyncedRecord {
    /// The file that was there and was written over; nothing where one was put in its place.
    over: Option<File>,
}

/// Writes the record, or replaces it by what is known now.
pub(crate) fn write(
    lock: &WriterLock,
    intent: &JournalRecord,
) -> Result<UnsyncedRecord, StoreError> {
    let mut text = text(intent);
    if text.len() <= ROOM {
        text.resize(ROOM, b' ');
    }
    // Where somebody removed `.aof/` since the lock was taken, it is made again.
    let folder = Folder::create(lock.paths().root(), LOCAL)?;
    if text.len() == ROOM
        && let Some(file) = blank_file(&folder)
    {
        write_over(lock, &file, &text)?;
        return Ok(UnsyncedRecord { over: Some(file) });
    }
    folder.replace(NAME, &text, Durability::Volatile)?;
    Ok(UnsyncedRecord { over: None })
}

/// Notes on a record that what it says is to be undone. It is written over where it stands: only its first block changes.
/// Fails where something else stands there.
pub(crate) fn note_undo(
    lock: &WriterLock,
    intent: &JournalRecord,
) -> Result<UnsyncedRecord, StoreError> {
    let path = lock.paths().intent();
    let [before, after] = [RecoveryAim::Finish, RecoveryAim::Undo]
        .map(|aim| text(&JournalRecord { aim, ..intent.clone() }));
    let opened = Folder::open(lock.paths().root(), LOCAL)?.open_to_write(NAME)?;
    let Some((file, metadata)) = opened else { return Err(StoreError::Gone { path }) };
    let mut standing = vec![0; before.len()];
    let is_it =
        metadata.nlink() == 1 && file.read_exact_at(&mut standing, 0).is_ok() && standing == before;
    if !is_it {
        return Err(StoreError::Changed { path });
    }
    write_over(lock, &file, &after[..after.len().min(ROOM)])?;
    Ok(UnsyncedRecord { over: Some(file) })
}

impl UnsyncedRecord {
    /// Returns the record if it still has to be synced, before any of the locks in it is taken. Fails where somebody removed
    /// it meanwhile: nothing would tell whose the locks are.
    pub(crate) fn unsynced(self, lock: &WriterLock) -> Result<Option<Unsynced>, StoreError> {
        let path = lock.paths().intent();
        let Some(file) = self.over else {
            // Looked for where the next command will, not in the folder that the lock was taken in.
            let folder = Folder::open(lock.paths().root(), LOCAL)?;
            return if folder.sync_file(NAME)? { Ok(None) } else { Err(StoreError::Gone { path }) };
        };
        if !stands_at(&file, &path) {
            return Err(StoreError::Gone { path });
        }
        let waiting = Unsynced::new(&file, &path, SyncPart::Bytes);
        waiting.map(|file| Some(file.ahead())).or_io("hold open", &path)
    }

    /// Has the record survive a power cut.
    pub(crate) fn sync(self, lock: &WriterLock) -> Result<(), StoreError> {
        let file = self.unsynced(lock)?;
        disk::sync(file.into_iter().collect())
            .map_err(|fault| StoreError::io("flush to disk", &fault.path, fault.cause))
    }
}

/// Reads the record.
pub(crate) fn read(lock: &WriterLock) -> Result<JournalState, StoreError> {
    read_in(lock.local())
}

/// Returns whether a write was not finished, or is under way. Only whoever has the lock can tell which.
pub(crate) fn is_pending(paths: &Paths) -> bool {
    let folder = Folder::open_existing(paths.root(), LOCAL).ok().flatten();
    folder.is_some_and(|folder| !matches!(read_in(&folder), Ok(JournalState::Nothing)))
}

fn read_in(folder: &Folder) -> Result<JournalState, StoreError> {
    match folder.read(NAME, LIMIT) {
        Ok(None) => Ok(JournalState::Nothing),
        Ok(Some((bytes, _))) if is_blank(&bytes) => Ok(JournalState::Nothing),
        Ok(Some((bytes, _))) => {
            Ok(parse(bytes.trim_ascii_end()).map_or(JournalState::Unreadable, JournalState::Record))
        }
        Err(StoreError::TooLarge { .. } | StoreError::WrongKind { .. }) => {
            Ok(JournalState::Unreadable)
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

fn text(intent: &JournalRecord) -> Vec<u8> {
    let json = serde_json::to_vec(intent).expect("a record of plain fields is JSON");
    [Digest::of(&json).as_str().as_bytes(), b"\n", &json].concat()
}

fn parse(text: &[u8]) -> Option<JournalRecord> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let (digest, json) = (&text[..end], &text[end + 1..]);
    let is_whole = digest == Digest::of(json).as_str().as_bytes();
    is_whole.then(|| serde_json::from_slice(json).ok())?
}

fn write_over(lock: &WriterLock, file: &File, text: &[u8]) -> Result<(), StoreError> {
    file.write_all_at(text, 0).or_io("write", lock.paths().intent())
}

/// Returns the file if it waits for a record. One that is not this user's to write is replaced.
fn blank_file(folder: &Folder) -> Option<File> {
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

    fn intent() -> JournalRecord {
        JournalRecord {
            pid: 42,
            boot: Some("this one".to_owned()),
            aim: RecoveryAim::Finish,
            writes: vec![IntendedWrite {
                task: Some("AOF-abc".parse().unwrap()),
                old: Some(FileBefore {
                    path: "tasks/AOF-abc.md".parse().unwrap(),
                    sha256: Digest::of(b"as it was"),
                }),
                new: "tasks/archive/2026/02/16/AOF-abc.md".parse().unwrap(),
                sha256: Digest::of(b"as it will be"),
                companions: vec![MovedCompanion {
                    from: "tasks/AOF-abc.log".parse().unwrap(),
                    to: "tasks/archive/2026/02/16/AOF-abc.log".parse().unwrap(),
                    sha256: Digest::of(b"beside"),
                }],
                made: vec![CreatedFile {
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
        assert_eq!(read(&lock).unwrap(), JournalState::Nothing);
        assert!(!is_pending(&paths));
        let number = || fs::metadata(paths.intent()).unwrap().ino();
        // The second round writes over the spaces that the first one left.
        let mut numbers = Vec::new();
        for round in 0..3 {
            intent.pid = round;
            write(&lock, &intent).unwrap().sync(&lock).unwrap();
            assert_eq!(read(&lock).unwrap(), JournalState::Record(intent.clone()));
            assert!(is_pending(&paths));
            numbers.push(number());
            clear(&lock).unwrap();
            clear(&lock).unwrap();
            assert_eq!(read(&lock).unwrap(), JournalState::Nothing);
            assert!(!is_pending(&paths));
        }
        assert_eq!(numbers, [numbers[0]; 3]);

        // One that says something is not written over: whoever reads finds the old one or the new one.
        write(&lock, &intent).unwrap().sync(&lock).unwrap();
        let old = File::open(paths.intent()).unwrap();
        intent.locks = Some(serde_json::json!({"index": {"inode": u64::MAX}}));
        write(&lock, &intent).unwrap().sync(&lock).unwrap();
        assert_eq!(read(&lock).unwrap(), JournalState::Record(intent.clone()));
        let mut before = [0; ROOM];
        old.read_exact_at(&mut before, 0).unwrap();
        assert!(parse(before.trim_ascii_end()).unwrap().locks.is_none());

        // One that is too long for a block gets a file of its own.
        clear(&lock).unwrap();
        intent.locks = Some("x".repeat(ROOM).into());
        write(&lock, &intent).unwrap().sync(&lock).unwrap();
        assert_eq!(read(&lock).unwrap(), JournalState::Record(intent));
        clear(&lock).unwrap();
        assert_eq!(read(&lock).unwrap(), JournalState::Nothing);
    }

    #[test]
    fn that_it_is_to_be_undone_is_noted_in_place_in_the_first_block_of_that_very_record() {
        let home = TempDir::new().unwrap();
        let (paths, lock) = locked(&home);
        let mut intent = intent();
        for locks in [None, Some("x".repeat(3 * ROOM).into())] {
            intent.locks = locks;
            let undone = JournalRecord { aim: RecoveryAim::Undo, ..intent.clone() };
            write(&lock, &intent).unwrap().sync(&lock).unwrap();
            let look =
                || (fs::metadata(paths.intent()).unwrap().ino(), fs::read(paths.intent()).unwrap());
            let (number, text) = look();
            note_undo(&lock, &intent).unwrap().sync(&lock).unwrap();
            assert_eq!(read(&lock).unwrap(), JournalState::Record(undone));
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
        assert_eq!(read(&lock).unwrap(), JournalState::Nothing);
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
            assert!(matches!(read(&lock).unwrap(), JournalState::Unreadable), "{damaged}");
            assert!(is_pending(&paths), "{damaged}");
        }
        fs::write(paths.intent(), signed(&whole)).unwrap();
        assert_eq!(read(&lock).unwrap(), JournalState::Record(intent()));
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
        assert_eq!(read(&lock).unwrap(), JournalState::Record(intent()));
        fs::remove_file(&place).unwrap();
        std::os::unix::fs::symlink(&theirs, &place).unwrap();
        assert!(matches!(write(&lock, &intent()), Err(StoreError::WrongKind { .. })));
        // Whoever heals meets it first.
        assert!(matches!(read(&lock).unwrap(), JournalState::Unreadable));
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
