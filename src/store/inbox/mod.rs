//! The delivery folder, `.aof/inbox`. A completion file is in exactly one place at any time, whoever dies when.
//!
//! `NAME` is taken by renaming it to `.taken/ID-NAME`; from then on that id is the delivery's, over crashes. A kill leaves:
//! - before the rename: the file in the inbox, to be taken by whoever looks next;
//! - after it: the file among the [`Inbox::taken`], with its id, to be completed (again: the id makes it count once);
//! - while it is refused: the reason without the file, or both; the file is never without its reason. Whoever takes the file up
//!   removes such a reason first.
//!
//! Nothing here needs the writer lock: two who take the same file race for one rename, and a taken file is worked on by whoever
//! [holds](Inbox::hold) it.

mod held;
mod names;
mod scan;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use serde_json::Value;

pub use held::Held;
pub use names::is_debris;
use scan::unlisted;
pub use scan::{Candidate, Class, FILE_LIMIT, Oddity, QUIET, Witnessed};

use super::layout::{INBOX, REFUSED, TAKEN};
use super::random::{DELIVERY_ID_LENGTH, DeliveryId, random_local};
use super::{FileStat, Folder, Kind, Paths, StoreError};
use crate::stop;

const REASON: &str = ".reason.json";
/// How many refused files of one name are numbered.
const COUNTED: usize = 9;

/// The delivery folder of a project.
#[derive(Debug, Clone)]
pub struct Inbox<'p> {
    paths: &'p Paths,
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
    item: Item,
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
    pub fn take(&self, wanted: impl IntoIterator<Item = (Item, DeliveryId)>) -> Result<Taking, StoreError> {
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

    /// Returns the names of the files that were refused, and that nobody took away.
    pub fn refused(&self) -> Result<Vec<String>, StoreError> {
        let Some(folder) = Folder::open_existing(self.paths.root(), REFUSED)? else { return Ok(Vec::new()) };
        let fault = |cause| StoreError::io("list the folder", folder.path(), cause);
        let mut names = Vec::new();
        for entry in fs::read_dir(folder.path()).map_err(fault)? {
            let name = entry.map_err(fault)?.file_name().to_string_lossy().into_owned();
            if !name.ends_with(REASON) && !is_debris(&name) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
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

    /// Moves a file to the refused ones, the reason beside it, and returns where it is now; `None` if it is gone.
    pub fn refuse(&self, item: &Item, reason: &Value) -> Result<Option<PathBuf>, StoreError> {
        let from = self.folder(item.shelf.folder())?;
        let refused = Folder::create(self.paths.root(), REFUSED)?;
        let text = format!("{reason:#}\n");
        let wanted = refused_name(item);
        if from.kind(&item.name)?.is_none() {
            return Ok(None);
        }
        // What is there without its file was then left by somebody who was killed, or whose file was taken away.
        let _alone = held::alone_in(&refused)?;
        forget_reasons(&refused, &wanted, reason);
        let mut attempt = 1;
        loop {
            let name = match attempt {
                1..=COUNTED => numbered(&wanted, attempt),
                // A name that everybody uses: counting on would take longer each time.
                _ => names::tagged(&wanted, &random_local(6)?),
            };
            match place(&from, item, &refused, &name, text.as_bytes()) {
                Ok(()) => {
                    refused.sync()?;
                    from.sync()?;
                    return Ok(Some(refused.path().join(name)));
                }
                Err(StoreError::Exists { .. }) => attempt += 1,
                Err(StoreError::Gone { .. }) => return Ok(None),
                Err(fault) => return Err(fault),
            }
        }
    }

    /// Removes the reasons for which a file was about to be refused when that was broken off; `told` is what any of them says
    /// of it. Whoever does so holds the file.
    pub fn forget_reasons(&self, taken: &Taken, told: &Value) {
        // A reason for nothing confuses, no more, so no trouble with one keeps a completion from counting.
        let Ok(Some(refused)) = Folder::open_existing(self.paths.root(), REFUSED) else { return };
        let wanted = refused_name(&taken.item);
        if matches!(refused.kind(with_reason(&wanted)), Ok(Some(_)))
            && let Ok(_alone) = held::alone_in(&refused)
        {
            forget_reasons(&refused, &wanted, told);
        }
    }

    fn folder(&self, inside: &str) -> Result<Folder, StoreError> {
        Folder::create(self.paths.root(), inside)
    }
}

impl Shelf {
    fn folder(self) -> &'static str {
        match self {
            Self::Inbox => INBOX,
            Self::Taken => TAKEN,
        }
    }
}

impl Item {
    /// Returns the name without the id that a taken file has.
    fn delivered_name(&self) -> &OsStr {
        let text = self.name.to_str();
        match text.and_then(split) {
            Some((_, name)) if self.shelf == Shelf::Taken => OsStr::new(name),
            _ => &self.name,
        }
    }
}

fn take_one(inbox: &Folder, at_work: &Folder, item: &Item, id: DeliveryId) -> Result<Taken, StoreError> {
    let mut new_name = OsString::from(format!("{id}-"));
    new_name.push(names::fitted(&item.name, DELIVERY_ID_LENGTH + 1));
    inbox.move_new(&item.name, at_work, &new_name)?;
    let name = item.name.to_string_lossy().into_owned();
    let item = Item { shelf: Shelf::Taken, name: new_name };
    Ok(Taken { id, name, item })
}

/// Puts the reason where it belongs, then the file. What has the name of either keeps it.
fn place(from: &Folder, item: &Item, refused: &Folder, name: &OsStr, text: &[u8]) -> Result<(), StoreError> {
    if refused.kind(name)?.is_some() {
        return Err(StoreError::Exists { path: refused.path().join(name) });
    }
    let reason = with_reason(name);
    refused.create_new(&reason, text)?;
    stop::point("inbox.reason-written");
    from.move_new(&item.name, refused, name).inspect_err(|_| {
        // A reason for nothing confuses, no more; the fault is what counts.
        let _ = refused.remove(&reason);
    })
}

/// Removes what says of that very file why it was refused, and has no file beside it.
fn forget_reasons(refused: &Folder, wanted: &OsStr, told: &Value) {
    for attempt in 1..=COUNTED {
        let name = numbered(wanted, attempt);
        let reason = with_reason(&name);
        match (refused.kind(&name), refused.kind(&reason)) {
            (Ok(None), Ok(None)) => break,
            (Ok(None), Ok(Some(Kind::File))) if is_of(refused, &reason, told) => drop(refused.remove(&reason)),
            _ => {}
        }
    }
}

fn is_of(refused: &Folder, reason: &OsStr, told: &Value) -> bool {
    let Ok(Some((bytes, _))) = refused.read(reason, FILE_LIMIT) else { return false };
    let Ok(written) = serde_json::from_slice::<Value>(&bytes) else { return false };
    told["file"].is_string() && written["file"] == told["file"] && written["sha256"] == told["sha256"]
}

/// Returns the name that a refused file is to have if it is free, with room for a number and for the reason's suffix.
fn refused_name(item: &Item) -> OsString {
    names::fitted(item.delivered_name(), REASON.len() + 8)
}

fn numbered(wanted: &OsStr, attempt: usize) -> OsString {
    if attempt == 1 { wanted.to_owned() } else { names::tagged(wanted, &attempt.to_string()) }
}

fn with_reason(name: &OsStr) -> OsString {
    let mut reason = name.to_owned();
    reason.push(REASON);
    reason
}

fn leftover(name: OsString) -> Leftover {
    let split = name.to_str().and_then(split).map(|(id, rest)| (id, rest.to_owned()));
    let item = Item { shelf: Shelf::Taken, name };
    match split {
        Some((id, name)) => Leftover::Taken(Taken { id, name, item }),
        None => Leftover::Stranger(item),
    }
}

fn split(name: &str) -> Option<(DeliveryId, &str)> {
    let (id, rest) = name.split_at_checked(DELIVERY_ID_LENGTH)?;
    Some((DeliveryId::recognise(id)?, rest.strip_prefix('-')?))
}

fn plain(name: &str) -> Result<&str, StoreError> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return Err(StoreError::BadPath { text: name.to_owned(), reason: "it is not the name of a file" });
    }
    Ok(name)
}

#[cfg(test)]
mod tests;
