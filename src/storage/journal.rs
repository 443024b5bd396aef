//! The journal `.aof/intent`: the record of a running write, which the next command needs to finish or undo it after a kill.
//!
//! Written when the commit is prepared, before git's locks are taken and the first task file changes; blanked at the end. A kill
//! leaves:
//! - before the record: nothing to recover, at most temporary files;
//! - after it, before the files: unchanged files; the record is dropped;
//! - after the files, before the branch moved: files ahead of HEAD;
//! - after the branch moved: old files of moved tasks and git's locks may be left; `locks` identifies ours.
//!
//! The record is only a hint: recovery compares files and HEAD, and the record names the files and our locks. It must be synced
//! before the first lock is taken ([`UnsyncedRecord::unsynced`]): a lock that no record names would never be removed.
//!
//! The file is kept, filled with spaces while no write runs, and a record overwrites them in place, so syncing it writes one block. A
//! power cut before the sync may leave a partial record, which is [`JournalState::Unreadable`]; no lock was taken and no file changed
//! by then. Blanking is not synced, so a power cut may bring back the record of a finished write: recovery finds everything in place.
//! Only spaces are overwritten, except by the mark for rollback ([`note_undo`]). Any other content is replaced by a new file.
//!
//! The text is a SHA-256, a line break, and JSON. The digest is needed because a mix of two records may be valid JSON.

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
/// The length of the blank file: one disk block and one memory page, which a kill cannot leave half-written.
const ROOM: usize = 4096;

/// The intended write of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JournalRecord {
    /// The action for recovery. The first field, so that [`note_undo`] changes only the first block.
    pub aim: RecoveryAim,
    pub pid: u32,
    /// The boot id at that time, if the system has one: after another boot, names may have been lost in a power cut.
    pub boot: Option<String>,
    pub writes: Vec<IntendedWrite>,
    /// Git's locks, as `git` describes them, once they are about to be taken.
    pub locks: Option<serde_json::Value>,
}

/// The action for recovery. The words have the same length, so that one can overwrite the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RecoveryAim {
    /// Finish the write if possible: its result was not reported.
    #[serde(rename = "redo")]
    Finish,
    /// Undo the write: it was reported as failed.
    #[serde(rename = "undo")]
    Undo,
}

/// One change: of a task, or of the rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IntendedWrite {
    /// The task; `None` for files that are not a task's.
    pub task: Option<TaskId>,
    /// Its file before; `None` for a new one.
    pub old: Option<FileBefore>,
    /// The path of its new file, and the digest of the new bytes.
    pub new: ProjectPath,
    pub sha256: Digest,
    /// The files that move with it.
    pub companions: Vec<MovedCompanion>,
    /// All other files that are written with this one: a project's, rules, files for agents.
    pub made: Vec<CreatedFile>,
}

impl IntendedWrite {
    /// Returns the old and the new path of the file.
    pub(crate) fn places(&self) -> impl Iterator<Item = &ProjectPath> {
        self.old.iter().map(|old| &old.path).chain([&self.new])
    }

    /// Returns every path that this changes.
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

/// A file that moves with a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MovedCompanion {
    pub from: ProjectPath,
    pub to: ProjectPath,
    pub sha256: Digest,
}

/// A file that is not a task's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CreatedFile {
    pub path: ProjectPath,
    pub sha256: Digest,
    /// The digest of the old bytes, which HEAD has; `None` if there was none.
    pub before: Option<Digest>,
}

/// The content of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JournalState {
    /// No record: the last write was finished.
    Nothing,
    /// A write was running.
    Record(JournalRecord),
    /// A write was running, but the record is damaged, or of another version of aof: only the files show the state.
    Unreadable,
}

/// A record that survives a kill, but not yet a power cut.
#[derive(Debug)]
#[must_use = "a power cut takes it back until it is synced"]
pub(crate) struct UnsyncedRecord {
    /// The file that was overwritten in place; `None` if it was replaced.
    over: Option<File>,
}

/// Writes the record, or replaces an earlier one.
pub(crate) fn write(
    lock: &WriterLock,
    intent: &JournalRecord,
) -> Result<UnsyncedRecord, StoreError> {
    let mut text = text(intent);
    if text.len() <= ROOM {
        text.resize(ROOM, b' ');
    }
    // `.aof/` may have been removed since the lock was taken.
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

/// Marks the record for rollback, in place: only its first block changes. Fails if the journal has another record.
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
    /// Returns the record's file if it must still be synced, before any of its locks is taken. Fails if the file was removed
    /// meanwhile: nothing would show whose the locks are.
    pub(crate) fn unsynced(self, lock: &WriterLock) -> Result<Option<Unsynced>, StoreError> {
        let path = lock.paths().intent();
        let Some(file) = self.over else {
            // By path, as the next command will look for it, not in the open folder of the lock.
            let folder = Folder::open(lock.paths().root(), LOCAL)?;
            return if folder.sync_file(NAME)? { Ok(None) } else { Err(StoreError::Gone { path }) };
        };
        if !stands_at(&file, &path) {
            return Err(StoreError::Gone { path });
        }
        Ok(Some(Unsynced::new(file, &path, SyncPart::Bytes).ahead()))
    }

    /// Syncs the record.
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

/// Returns whether a write is running or was interrupted. Only the holder of the lock can distinguish these.
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

/// Clears the record: the write is finished or undone.
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

/// Returns the file if it is blank and writable; otherwise it must be replaced.
fn blank_file(folder: &Folder) -> Option<File> {
    let (file, metadata) = folder.open_to_write(NAME).ok()??;
    let mut bytes = [0; ROOM];
    let whole = metadata.len() == ROOM as u64 && metadata.nlink() == 1;
    (whole && file.read_exact_at(&mut bytes, 0).is_ok() && is_blank(&bytes)).then_some(file)
}

fn is_blank(bytes: &[u8]) -> bool {
    // An empty file is not blank: a power cut took its bytes.
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

    /// Returns the text with the digest of its JSON.
    fn signed(text: &str) -> String {
        let (_, json) = text.split_once('\n').unwrap();
        format!("{}\n{json}", Digest::of(json.trim_end().as_bytes()).as_str())
    }

    #[test]
    fn the_record_keeps_the_step_under_way_until_it_is_cleared() {
        let home = TempDir::new().unwrap();
        let (paths, lock) = locked(&home);
        let mut intent = intent();
        assert_eq!(read(&lock).unwrap(), JournalState::Nothing);
        assert!(!is_pending(&paths));
        let number = || fs::metadata(paths.intent()).unwrap().ino();
        // The second round overwrites the spaces that the first one left.
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

        // An existing record is not overwritten: readers find the old one or the new one.
        write(&lock, &intent).unwrap().sync(&lock).unwrap();
        let old = File::open(paths.intent()).unwrap();
        intent.locks = Some(serde_json::json!({"index": {"inode": u64::MAX}}));
        write(&lock, &intent).unwrap().sync(&lock).unwrap();
        assert_eq!(read(&lock).unwrap(), JournalState::Record(intent.clone()));
        let mut before = [0; ROOM];
        old.read_exact_at(&mut before, 0).unwrap();
        assert!(parse(before.trim_ascii_end()).unwrap().locks.is_none());

        // A record that is too long for a block gets its own file.
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
            // A second mark fails: the journal no longer has this record.
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
    fn a_damaged_record_differs_from_none() {
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
    fn a_record_of_another_process_is_not_overwritten() {
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
        // Recovery reads the symlink first.
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
        // First a new file, then one overwritten in place.
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
