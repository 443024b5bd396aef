//! The delivery folder, `.aof/inbox`. A completion file is in exactly one place at any time, whoever dies when.
//!
//! `NAME` is taken by renaming it to `.taken/ID-NAME`; from then on that id is the delivery's, over crashes. A kill leaves:
//! - before the rename: the file in the inbox, to be taken by whoever looks next;
//! - after it: the file among the [`Inbox::taken`], with its id, to be completed (again: the id makes it count once);
//! - while it is refused: the reason without the file, or both; the file is never without its reason. Whoever takes the file up
//!   removes such a reason first.
//!
//! A taken file that has to wait is renamed once more, to say which visit it [means](Meant).
//!
//! Nothing here needs the writer lock: two who take the same file race for one rename, and a taken file is worked on by whoever
//! [holds](Inbox::hold) it.

use crate::storage::fs::file_names;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;

use super::intended_visit::Meant;
use super::scan::FILE_LIMIT;
use super::scan::unlisted;

use crate::storage::fs::project_path::BadPath;
use crate::storage::layout::{INBOX, TAKEN};
use crate::storage::random::{DELIVERY_ID_LENGTH, DeliveryId};
use crate::storage::{FileStat, Folder, Paths, StoreError};

/// The delivery folder of a project.
#[derive(Debug, Clone)]
pub struct Inbox<'p> {
    pub(crate) paths: &'p Paths,
}

/// A file of the inbox, taken or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// On which side.
    pub shelf: Shelf,
    /// Its name there.
    pub name: OsString,
}

/// The two sides of the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shelf {
    /// Where files are dropped.
    Inbox,
    /// Where files stand while they are worked on.
    Taken,
}

/// A completion file that is being worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Its id, from now on.
    pub id: DeliveryId,
    /// What it was called in the inbox.
    pub name: String,
    /// The visit that it was found to mean when it had to wait.
    pub meant: Option<Meant>,
    pub(crate) item: Item,
}

/// What came of taking files.
#[derive(Debug, Default)]
pub struct Taking {
    /// Those that were taken.
    pub taken: Vec<Taken>,
    /// Those that could not be, and stay where they are.
    pub failed: Vec<(Item, StoreError)>,
}

/// What stands among the taken files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leftover {
    /// A completion file whose taker has not settled it.
    Taken(Taken),
    /// Something that nobody here put there; to be refused.
    Stranger(Item),
}

/// The content of a taken file, and which file that was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// What it says.
    pub bytes: Vec<u8>,
    /// What the system tells of it.
    pub stat: FileStat,
}

impl Taken {
    /// Returns the file that it is.
    pub fn item(&self) -> &Item {
        &self.item
    }
}

impl<'p> Inbox<'p> {
    /// Returns the inbox of that project.
    pub fn of(paths: &'p Paths) -> Self {
        Self { paths }
    }

    /// Drops a completion file, whole; a file of that name is never overwritten.
    pub fn deliver(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.paths.prepare_local()?;
        self.folder(INBOX)?.create_new(plain(name)?, bytes)
    }

    /// Takes files under the ids given, those that are still there. Once it returns, the ids survive a power cut.
    pub fn take(
        &self,
        wanted: impl IntoIterator<Item = (Item, DeliveryId)>,
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
    pub fn taken(&self) -> Result<Vec<Leftover>, StoreError> {
        let folder = self.paths.taken();
        let fault = |cause| StoreError::io("list the folder", &folder, cause);
        let listing = match fs::read_dir(&folder) {
            Ok(listing) => listing,
            Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(cause) => return Err(unlisted(&folder, cause)),
        };
        let mut names = Vec::new();
        for entry in listing {
            names.push(entry.map_err(fault)?.file_name());
        }
        names.sort();
        Ok(names.into_iter().map(leftover).collect())
    }

    /// Has the ids of what stands taken survive a power cut: whoever took it may not have come to that.
    pub fn keep_taken(&self) -> Result<(), StoreError> {
        self.folder(TAKEN)?.sync()?;
        self.folder(INBOX)?.sync()
    }

    /// Has a taken file say which visit it means, over crashes too; one that is gone need not. Whoever does so holds it.
    pub fn keep_meant(&self, taken: &Taken, meant: &Meant) -> Result<(), StoreError> {
        let at_work = self.folder(TAKEN)?;
        let new_name = taken_name(&taken.id, &meant.to_string(), OsStr::new(&taken.name));
        match at_work.move_new(&taken.item.name, &at_work, &new_name) {
            Ok(()) => at_work.sync(),
            Err(StoreError::Gone { .. }) => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    /// Reads a taken file; `None` if it is gone.
    pub fn read(&self, taken: &Taken) -> Result<Option<Delivery>, StoreError> {
        let read = self.folder(TAKEN)?.read(&taken.item.name, FILE_LIMIT)?;
        Ok(read.map(|(bytes, stat)| Delivery { bytes, stat }))
    }

    /// Reads a file that is not taken yet; `None` if it is gone.
    pub fn peek(&self, item: &Item) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.folder(item.shelf.folder())?.read(&item.name, FILE_LIMIT)?.map(|(bytes, _)| bytes))
    }

    /// Removes a taken file whose completion is in the history, if it still is the file that was read. Whoever does so holds it.
    pub fn settle(&self, taken: &Taken, delivery: &Delivery) -> Result<(), StoreError> {
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

    pub(crate) fn folder(&self, inside: &str) -> Result<Folder, StoreError> {
        Folder::create(self.paths.root(), inside)
    }
}

impl Shelf {
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Inbox => INBOX,
            Self::Taken => TAKEN,
        }
    }
}

fn take_one(
    inbox: &Folder,
    at_work: &Folder,
    item: &Item,
    id: DeliveryId,
) -> Result<Taken, StoreError> {
    let new_name = taken_name(&id, "", &item.name);
    inbox.move_new(&item.name, at_work, &new_name)?;
    let name = item.name.to_string_lossy().into_owned();
    let item = Item { shelf: Shelf::Taken, name: new_name };
    Ok(Taken { id, name, meant: None, item })
}

/// Returns the name of a taken file.
fn taken_name(id: &DeliveryId, mark: &str, name: &OsStr) -> OsString {
    let mut taken = OsString::from(format!("{id}-{mark}"));
    taken.push(file_names::fitted(name, DELIVERY_ID_LENGTH + 1 + mark.len()));
    taken
}

fn leftover(name: OsString) -> Leftover {
    let split = name.to_str().and_then(split).map(|(id, meant, name)| (id, meant, name.to_owned()));
    let item = Item { shelf: Shelf::Taken, name };
    match split {
        Some((id, meant, name)) => Leftover::Taken(Taken { id, name, meant, item }),
        None => Leftover::Stranger(item),
    }
}

pub(crate) fn split(name: &str) -> Option<(DeliveryId, Option<Meant>, &str)> {
    let (id, rest) = name.split_at_checked(DELIVERY_ID_LENGTH)?;
    let (meant, name) = Meant::split(rest.strip_prefix('-')?);
    Some((DeliveryId::recognise(id)?, meant, name))
}

fn plain(name: &str) -> Result<&str, StoreError> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return Err(StoreError::BadPath(BadPath {
            text: name.to_owned(),
            reason: "it is not the name of a file",
        }));
    }
    Ok(name)
}

#[cfg(test)]
mod tests;
