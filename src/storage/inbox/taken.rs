//! Taking files: a completion file is in exactly one place at any time, whoever dies when.
//!
//! `NAME` is taken by renaming it to `.taken/ID-NAME`; from then on that id is the completion's, over crashes. A kill leaves:
//! - before the rename: the file in the inbox, to be taken by whoever looks next;
//! - after it: the file among the [`Inbox::taken`], with its id, to be completed (again: the id makes it count once).
//!
//! A taken file that has to wait is renamed once more, to say which visit it [means](Meant).
//!
//! Nothing here needs the writer lock: two who take the same file race for one rename, and a taken file is worked on by whoever
//! [holds](Inbox::hold) it.

use std::ffi::{OsStr, OsString};

use super::files::{FILE_LIMIT, Inbox, InboxFile, InboxFolder};
use super::intended_visit::Meant;
use crate::domain::CompletionId;
use crate::storage::fs::folder::list;
use crate::storage::fs::lock_file::FileLock;
use crate::storage::layout::{INBOX, TAKEN};
use crate::storage::random::{ULID_LENGTH, is_ulid};
use crate::storage::{FileStat, Folder, StoreError};

/// A completion file that is being worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TakenFile {
    /// Its id, from now on.
    pub id: CompletionId,
    /// What it was called in the inbox.
    pub name: String,
    /// The visit that it was found to mean when it had to wait.
    pub meant: Option<Meant>,
    item: InboxFile,
}

/// What came of taking files.
#[derive(Debug, Default)]
pub(crate) struct Taking {
    pub taken: Vec<TakenFile>,
    /// Those that could not be taken, and stay where they are.
    pub failed: Vec<(InboxFile, StoreError)>,
}

/// What stands among the taken files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Leftover {
    /// A completion file whose taker has not settled it.
    Taken(TakenFile),
    /// Something that nobody here put there; to be refused.
    Stranger(InboxFile),
}

/// The content of a taken file, and which file that was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub bytes: Vec<u8>,
    pub stat: FileStat,
}

/// The right to work on a taken file, until it is dropped: whoever has it reads, counts or refuses the file, and nobody else does.
#[derive(Debug)]
pub(crate) struct TakenLock {
    _lock: FileLock,
}

impl TakenFile {
    /// Returns the file that it is.
    pub(crate) fn item(&self) -> &InboxFile {
        &self.item
    }
}

impl Inbox<'_> {
    /// Takes files under the ids given, those that are still there. Once it returns, the ids survive a power cut.
    pub(crate) fn take(
        &self,
        wanted: impl IntoIterator<Item = (InboxFile, CompletionId)>,
    ) -> Result<Taking, StoreError> {
        let (inbox, at_work) = (self.folder(INBOX)?, self.folder(TAKEN)?);
        let mut taking = Taking::default();
        for (item, id) in wanted {
            match take_one(&inbox, &at_work, &item, id) {
                Ok(taken) => taking.taken.push(taken),
                // Somebody else was faster, or its owner took it back.
                Err(StoreError::Gone { .. }) => {}
                Err(fault) => taking.failed.push((item, fault)),
            }
        }
        if !taking.taken.is_empty() {
            at_work.sync()?;
            inbox.sync()?;
        }
        Ok(taking)
    }

    /// Returns what stands taken: after a crash, the files of whoever was killed; the oldest ids first.
    pub(crate) fn taken(&self) -> Result<Vec<Leftover>, StoreError> {
        let entries = list(&self.paths.taken())?;
        let mut names: Vec<OsString> = entries.iter().map(std::fs::DirEntry::file_name).collect();
        names.sort();
        Ok(names.into_iter().map(leftover).collect())
    }

    /// Has the ids of what stands taken survive a power cut: whoever took it may not have come to that.
    pub(crate) fn keep_taken(&self) -> Result<(), StoreError> {
        self.folder(TAKEN)?.sync()?;
        self.folder(INBOX)?.sync()
    }

    /// Returns the right to work on a taken file; `None` where another process has it, or where the file is gone.
    pub(crate) fn hold(&self, taken: &TakenFile) -> Result<Option<TakenLock>, StoreError> {
        let at_work = self.folder(TAKEN)?;
        let name = &taken.item.name;
        let Some((file, metadata)) = at_work.open_to_read(name)? else { return Ok(None) };
        let Some(lock) = FileLock::attempt(file, &at_work.path().join(name))? else {
            return Ok(None);
        };
        // The lock goes with the file wherever that is moved: whoever had it until now may have settled it since it was opened.
        let standing = at_work.stat(name)?;
        let is_there = standing.is_some_and(|now| now.inode == FileStat::of(&metadata).inode);
        Ok(is_there.then_some(TakenLock { _lock: lock }))
    }

    /// Has a taken file say which visit it means, over crashes too; one that is gone need not. Whoever does so holds it.
    pub(crate) fn keep_meant(&self, taken: &TakenFile, meant: &Meant) -> Result<(), StoreError> {
        let at_work = self.folder(TAKEN)?;
        let new_name = taken_name(&taken.id, &meant.to_string(), OsStr::new(&taken.name));
        match at_work.move_new(&taken.item.name, &at_work, &new_name) {
            Ok(()) => at_work.sync(),
            Err(StoreError::Gone { .. }) => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    /// Reads a taken file; `None` if it is gone.
    pub(crate) fn read(&self, taken: &TakenFile) -> Result<Option<Delivery>, StoreError> {
        let read = self.folder(TAKEN)?.read(&taken.item.name, FILE_LIMIT)?;
        Ok(read.map(|(bytes, stat)| Delivery { bytes, stat }))
    }

    /// Removes a taken file whose completion is in the history, if it still is the file that was read. Whoever does so holds it.
    pub(crate) fn settle(&self, taken: &TakenFile, delivery: &Delivery) -> Result<(), StoreError> {
        let at_work = self.folder(TAKEN)?;
        match at_work.stat(&taken.item.name)? {
            None => Ok(()),
            // No fsync: a file that comes back has its id, and the history knows it.
            Some(stat) if stat.inode == delivery.stat.inode && stat.size == delivery.stat.size => {
                at_work.remove(&taken.item.name)
            }
            Some(_) => Err(StoreError::Changed { path: at_work.path().join(&taken.item.name) }),
        }
    }
}

fn take_one(
    inbox: &Folder,
    at_work: &Folder,
    item: &InboxFile,
    id: CompletionId,
) -> Result<TakenFile, StoreError> {
    let new_name = taken_name(&id, "", &item.name);
    inbox.move_new(&item.name, at_work, &new_name)?;
    let name = item.name.to_string_lossy().into_owned();
    let item = InboxFile { shelf: InboxFolder::Taken, name: new_name };
    Ok(TakenFile { id, name, meant: None, item })
}

/// Returns the name of a taken file.
fn taken_name(id: &CompletionId, mark: &str, name: &OsStr) -> OsString {
    let mut taken = OsString::from(format!("{id}-{mark}"));
    taken.push(name);
    taken
}

fn leftover(name: OsString) -> Leftover {
    let split = name.to_str().and_then(split).map(|(id, meant, name)| (id, meant, name.to_owned()));
    let item = InboxFile { shelf: InboxFolder::Taken, name };
    match split {
        Some((id, meant, name)) => Leftover::Taken(TakenFile { id, name, meant, item }),
        None => Leftover::Stranger(item),
    }
}

/// Returns the parts of the name of a taken file.
pub(crate) fn split(name: &str) -> Option<(CompletionId, Option<Meant>, &str)> {
    let (id, rest) = name.split_at_checked(ULID_LENGTH).filter(|(id, _)| is_ulid(id))?;
    let (meant, name) = Meant::split(rest.strip_prefix('-')?);
    Some((id.parse().ok()?, meant, name))
}
