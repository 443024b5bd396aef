//! `.aof/events.jsonl`, the event stream: one JSON object a line; and `.aof/events/`, what its writers know of it.
//!
//! ```text
//!   record      how far the stream goes, and what its writer keeps with that
//!   lock        whoever writes the stream has it
//!   ID.json     a line that is in no commit, on its way into the stream
//! ```
//! Lines are appended in one write, and then the record says so. A kill in between leaves lines that the record does not speak of:
//! the next writer takes out those that it writes again, and whatever of a line is torn. Nothing waits for the disk: a power cut may
//! take lines back that the record knows, and then the stream is lost as far as its writer is concerned, and made again. So it is
//! where it does not begin any more with the line that it began with.

use std::fs;
use std::io::ErrorKind;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::reading::Reading;
use super::writer::Writer;

use super::end::End;
use crate::domain::EventId;
use crate::storage::layout::{EVENTS, LOCAL};
use crate::storage::{Durability, Folder, Kind, Paths, StoreError};

pub(crate) const NAME: &str = "events.jsonl";
pub(crate) const RECORD: &str = "record";
pub(crate) const SUFFIX: &str = ".json";
/// The form of the record and of the lines: a stream of another form is made again.
pub(crate) const FORM: &str = "aof-events 2";
/// More than any record, or line on its way, has.
const LIMIT: u64 = 4 * 1024 * 1024;
/// More than what one write adds; and longer than any line.
pub(crate) const LONGEST: u64 = 64 * 1024 * 1024;

/// The event stream of a project.
#[derive(Debug, Clone)]
pub struct Stream {
    paths: Paths,
}

/// How far the stream goes, with what its writer keeps about that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record<K> {
    pub(crate) form: String,
    pub(crate) end: End,
    /// What the writer keeps.
    pub kept: K,
}

/// How the stream stands that somebody is about to write.
#[derive(Debug)]
pub enum Standing<K> {
    /// There is none.
    Missing,
    /// There is one, and nobody knows how far it goes.
    Lost,
    /// It goes as far as is recorded, and then there are these lines that somebody else wrote.
    Known(Record<K>, Vec<String>),
}

impl<K: Default> Default for Record<K> {
    fn default() -> Self {
        Self { form: FORM.to_owned(), end: End::default(), kept: K::default() }
    }
}

impl Stream {
    /// Returns the stream of the project.
    pub fn of(paths: &Paths) -> Self {
        Self { paths: paths.clone() }
    }

    /// Takes the right to write the stream; nothing if somebody else has it.
    pub fn writing(&self) -> Result<Option<Writer>, StoreError> {
        let local = self.paths.prepare_local()?;
        let folder = Folder::create(self.paths.root(), EVENTS)?;
        let lock = folder.open_lock("lock")?;
        match fs4::FileExt::try_lock(&lock) {
            Ok(()) => Ok(Some(Writer::new(local, folder, lock))),
            Err(fs4::TryLockError::WouldBlock) => Ok(None),
            Err(fs4::TryLockError::Error(cause)) => {
                Err(StoreError::io("lock", &folder.path().join("lock"), cause))
            }
        }
    }

    /// Returns the record, and whether the stream is as long as it says; nothing where there is none that can be read.
    pub fn record<K: DeserializeOwned>(&self) -> Result<Option<(Record<K>, bool)>, StoreError> {
        let Some(folder) = Folder::open_existing(self.paths.root(), EVENTS)? else {
            return Ok(None);
        };
        let Some(record) = record_in::<K>(&folder)? else { return Ok(None) };
        let size = fs::symlink_metadata(self.paths.events()).map(|metadata| metadata.len());
        let is_whole = size.is_ok_and(|size| size == record.end.place());
        Ok(Some((record, is_whole)))
    }

    /// Opens the stream for reading, at its beginning; nothing where there is none.
    pub fn open(&self) -> Result<Option<Reading>, StoreError> {
        let Some(local) = Folder::open_existing(self.paths.root(), LOCAL)? else { return Ok(None) };
        let Some((file, metadata)) = local.open_to_read(NAME)? else { return Ok(None) };
        Ok(Some(Reading::new(file, &metadata, self.paths.clone())))
    }

    /// Leaves a line that is in no commit for the next writer; one of that id that is there already stays as it is.
    pub fn leave(&self, id: &EventId, line: &str) -> Result<(), StoreError> {
        self.paths.prepare_local()?;
        let folder = Folder::create(self.paths.root(), EVENTS)?;
        let name = format!("{id}{SUFFIX}");
        match folder.kind(&name)? {
            Some(_) => Ok(()),
            None => folder.replace(&name, line.as_bytes(), Durability::Volatile),
        }
    }

    /// Returns the lines that were left, with the ids that their files are named by. A file of another name is none of them, and what
    /// is no file neither.
    pub fn left(&self) -> Result<Vec<(EventId, String)>, StoreError> {
        let path = self.paths.root().join(EVENTS);
        let listing = match fs::read_dir(&path) {
            Ok(listing) => listing,
            Err(cause)
                if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(vec![]);
            }
            Err(cause) => return Err(StoreError::io("list the folder", &path, cause)),
        };
        let names = listing.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut ids: Vec<EventId> =
            names.filter_map(|name| name.strip_suffix(SUFFIX).and_then(EventId::read)).collect();
        ids.sort();
        let Some(folder) = Folder::open_existing(self.paths.root(), EVENTS)? else {
            return Ok(Vec::new());
        };
        let mut left = Vec::new();
        for id in ids {
            let name = format!("{id}{SUFFIX}");
            // Whoever wrote the stream may have removed it in between.
            let Some(Kind::File) = folder.kind(&name)? else { continue };
            let Some((bytes, _)) = folder.read(&name, LIMIT)? else { continue };
            left.push((id, String::from_utf8_lossy(&bytes).into_owned()));
        }
        Ok(left)
    }
}

pub(crate) fn record_in<K: DeserializeOwned>(
    folder: &Folder,
) -> Result<Option<Record<K>>, StoreError> {
    let read = folder.read(RECORD, LIMIT)?;
    let record: Option<Record<K>> = read.and_then(|(bytes, _)| serde_json::from_slice(&bytes).ok());
    Ok(record.filter(|record| record.form == FORM))
}

#[cfg(test)]
mod tests;
