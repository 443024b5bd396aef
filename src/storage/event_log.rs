//! `.aof/events.jsonl`, the event stream, one JSON object per line; and `.aof/events/`, its writers' state.
//!
//! ```text
//!   record      the length of the stream, and its writer's state at that point
//!   lock        held by the writer of the stream
//!   ID.json     a line that is in no commit, on its way into the stream
//! ```
//! Lines are appended in one write, and then recorded. A kill in between leaves unrecorded lines: the next writer removes those
//! that it writes again, and a torn line. Nothing is synced: if the last recorded line is not in its place, because of a power
//! cut or a person, the stream counts as lost and is rewritten.

use std::fs::{self, File, Metadata};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::fs::error::OrIo;
use super::fs::folder::list;
use super::fs::temporary_file::TemporaryFile;
use super::layout::{EVENTS, LOCAL};
use super::lock::FileLock;
use super::{Durability, FileKind, Folder, Paths, StoreError};
use crate::domain::{Digest, EventId};
use crate::system::crash_points;

const NAME: &str = "events.jsonl";
const RECORD: &str = "record";
const SUFFIX: &str = ".json";
/// The format of the record and the lines: a stream of another format is rewritten.
const FORM: &str = "aof-events 3";
/// The largest pending line that is read.
const LIMIT: u64 = 4 * 1024 * 1024;
/// Larger than one append, and longer than any line.
const LONGEST: u64 = 64 * 1024 * 1024;

/// The event stream of a project.
#[derive(Debug, Clone)]
pub struct EventStream {
    paths: Paths,
}

/// The length of the recorded stream, with its writer's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamRecord<K> {
    form: String,
    end: StreamEnd,
    /// The writer's state.
    pub kept: K,
}

/// The length of the stream, with length and digest of its last line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct StreamEnd {
    size: u64,
    last: Option<(u64, Digest)>,
}

/// The state of the stream before a write.
#[derive(Debug)]
pub(crate) enum StreamState<K> {
    /// There is no stream.
    Missing,
    /// There is a stream that does not match the record.
    Lost,
    /// The stream matches the record, followed by these lines of another writer.
    Known(StreamRecord<K>, Vec<String>),
}

impl<K: Default> Default for StreamRecord<K> {
    fn default() -> Self {
        Self { form: FORM.to_owned(), end: StreamEnd::default(), kept: K::default() }
    }
}

impl StreamEnd {
    /// Returns the end after these whole lines.
    fn after(&self, lines: &[u8]) -> Self {
        let Some(before) = lines.len().checked_sub(1) else { return self.clone() };
        let start = lines[..before].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let last = &lines[start..];
        Self {
            size: self.size + lines.len() as u64,
            last: Some((last.len() as u64, Digest::of(last))),
        }
    }

    /// Returns whether the last line is in its place in the file.
    fn stands_in(&self, file: &File) -> bool {
        let Some((length, digest)) = &self.last else { return self.size == 0 };
        // Checked because the record may be damaged.
        let length = Some(*length).filter(|length| *length <= LONGEST);
        let Some(start) = length.and_then(|length| self.size.checked_sub(length)) else {
            return false;
        };
        let mut line = vec![0; usize::try_from(self.size - start).unwrap_or(0)];
        file.read_exact_at(&mut line, start).is_ok() && Digest::of(&line) == *digest
    }
}

impl EventStream {
    /// Returns the stream of the project.
    pub(crate) fn at(paths: &Paths) -> Self {
        Self { paths: paths.clone() }
    }

    /// Locks the stream for writing; `None` if another process has the lock.
    pub(crate) fn writing(&self) -> Result<Option<StreamWriter>, StoreError> {
        let local = self.paths.prepare_local()?;
        let folder = Folder::create(self.paths.root(), EVENTS)?;
        let lock = FileLock::in_folder(&folder)?;
        Ok(lock.map(|lock| StreamWriter { local, folder, _lock: lock }))
    }

    /// Returns the record, and whether the stream has the recorded length; `None` without a readable record.
    pub(crate) fn record<K: DeserializeOwned>(
        &self,
    ) -> Result<Option<(StreamRecord<K>, bool)>, StoreError> {
        let folder = Folder::open_existing(self.paths.root(), EVENTS)?;
        let Some(record) = folder.map_or(Ok(None), |folder| record_in::<K>(&folder))? else {
            return Ok(None);
        };
        let size = fs::symlink_metadata(self.paths.events()).map(|metadata| metadata.len());
        let is_whole = size.is_ok_and(|size| size == record.end.size);
        Ok(Some((record, is_whole)))
    }

    /// Opens the stream for reading from its beginning; `None` if there is none.
    pub(crate) fn open(&self) -> Result<Option<StreamReader>, StoreError> {
        let Some(local) = Folder::open_existing(self.paths.root(), LOCAL)? else { return Ok(None) };
        let opened = local.open_to_read(NAME)?;
        Ok(opened.map(|(file, metadata)| StreamReader::new(file, &metadata, self.paths.clone())))
    }

    /// Leaves a line that is in no commit for the next writer, unless one with that id is pending.
    pub(crate) fn leave(&self, id: &EventId, line: &str) -> Result<(), StoreError> {
        self.paths.prepare_local()?;
        let folder = Folder::create(self.paths.root(), EVENTS)?;
        let name = format!("{id}{SUFFIX}");
        match folder.kind(&name)? {
            Some(_) => Ok(()),
            None => folder.replace(&name, line.as_bytes(), Durability::Volatile),
        }
    }

    /// Returns the pending lines with their ids. Other files are ignored.
    pub(crate) fn left(&self) -> Result<Vec<(EventId, String)>, StoreError> {
        let entries = list(&self.paths.root().join(EVENTS))?.into_iter();
        let id = |name: &str| name.strip_suffix(SUFFIX).and_then(|id| id.parse::<EventId>().ok());
        let mut ids: Vec<EventId> =
            entries.filter_map(|entry| entry.file_name().to_str().and_then(id)).collect();
        ids.sort();
        let mut left = Vec::new();
        let Some(folder) = Folder::open_existing(self.paths.root(), EVENTS)? else {
            return Ok(left);
        };
        for id in ids {
            let name = format!("{id}{SUFFIX}");
            // A writer may have removed the file in between.
            let Some(FileKind::File) = folder.kind(&name)? else { continue };
            let Some((bytes, _)) = folder.read(&name, LIMIT)? else { continue };
            left.push((id, String::from_utf8_lossy(&bytes).into_owned()));
        }
        Ok(left)
    }
}

fn record_in<K: DeserializeOwned>(folder: &Folder) -> Result<Option<StreamRecord<K>>, StoreError> {
    let record: Option<StreamRecord<K>> = folder.read_json(RECORD)?;
    Ok(record.filter(|record| record.form == FORM))
}

/// The write lock of the stream, until it is dropped.
#[derive(Debug)]
pub(crate) struct StreamWriter {
    local: Folder,
    folder: Folder,
    _lock: FileLock,
}

impl StreamWriter {
    /// Returns the state of the stream. Removes what a kill left after its recorded end: lines that will be written `again`, and
    /// a torn line.
    pub(crate) fn recover<K: DeserializeOwned>(
        &self,
        again: &dyn Fn(&str) -> bool,
    ) -> Result<StreamState<K>, StoreError> {
        let record = record_in::<K>(&self.folder)?;
        let Some((file, metadata)) = self.local.open_to_write(NAME)? else {
            return Ok(StreamState::Missing);
        };
        let known = record.filter(|record| record.end.stands_in(&file));
        let Some(mut record) = known else { return Ok(StreamState::Lost) };
        let end = record.end.size;
        let behind = metadata.len().saturating_sub(end);
        let Some(size) = usize::try_from(behind).ok().filter(|_| behind <= LONGEST) else {
            return Ok(StreamState::Lost);
        };
        let path = self.local.path().join(NAME);
        let mut bytes = vec![0; size];
        file.read_exact_at(&mut bytes, end).or_io("read", &path)?;
        let whole =
            bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        let strays: Vec<&[u8]> =
            whole.filter(|line| !again(&String::from_utf8_lossy(line))).collect();
        let kept = strays.concat();
        if kept != bytes {
            file.set_len(end).or_io("cut off", &path)?;
            file.write_all_at(&kept, end).or_io("write", &path)?;
        }
        record.end = record.end.after(&kept);
        let strays = strays.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        Ok(StreamState::Known(record, strays))
    }

    /// Appends whole lines to the stream, and writes the record with the writer's state.
    pub(crate) fn append<K: Serialize>(
        &self,
        record: &mut StreamRecord<K>,
        lines: &[u8],
    ) -> Result<(), StoreError> {
        if !lines.is_empty() {
            let mut file = self.local.open_to_append(NAME)?;
            file.write_all(lines).or_io("write", self.local.path().join(NAME))?;
            record.end = record.end.after(lines);
        }
        crash_points::point("events.written");
        self.note(record)
    }

    fn note<K: Serialize>(&self, record: &StreamRecord<K>) -> Result<(), StoreError> {
        self.folder.replace_json(RECORD, record, Durability::Volatile)?;
        crash_points::point("events.recorded");
        Ok(())
    }

    /// Begins a new stream, which replaces this one when it is finished.
    pub(crate) fn rewrite(&self) -> Result<StreamRewrite<'_>, StoreError> {
        let file = TemporaryFile::new(&self.local, NAME, b"", Durability::Volatile)?;
        Ok(StreamRewrite { writer: self, file, end: StreamEnd::default() })
    }

    /// Removes pending lines that are in the stream now.
    pub(crate) fn clear(&self, ids: &[EventId]) -> Result<(), StoreError> {
        ids.iter().try_for_each(|id| self.folder.remove(format!("{id}{SUFFIX}")))
    }
}

/// A new stream being written. If it is dropped, it is discarded, and the old one stays.
pub(crate) struct StreamRewrite<'w> {
    writer: &'w StreamWriter,
    file: TemporaryFile<&'w Folder>,
    end: StreamEnd,
}

impl StreamRewrite<'_> {
    /// Adds whole lines.
    pub(crate) fn add(&mut self, lines: &[u8]) -> Result<(), StoreError> {
        self.file.write(NAME, lines)?;
        self.end = self.end.after(lines);
        Ok(())
    }

    /// Replaces the old stream, and writes the record.
    pub(crate) fn finish<K: Serialize>(mut self, kept: K) -> Result<StreamRecord<K>, StoreError> {
        // The record is removed first, since it does not match the new stream: after a kill the stream is rewritten.
        self.writer.folder.remove(RECORD)?;
        self.file.replace(NAME)?;
        crash_points::point("events.replaced");
        let record = StreamRecord { form: FORM.to_owned(), end: self.end, kept };
        self.writer.note(&record)?;
        Ok(record)
    }
}

/// A reader of the stream: whole lines, from its beginning or from the start of a line. It keeps reading the opened file even if
/// that file is replaced.
#[derive(Debug)]
pub(crate) struct StreamReader {
    reader: BufReader<File>,
    at: u64,
    inode: u64,
    paths: Paths,
}

impl StreamReader {
    fn new(file: File, metadata: &Metadata, paths: Paths) -> Self {
        let reader = BufReader::with_capacity(1 << 16, file);
        Self { reader, at: 0, inode: metadata.ino(), paths }
    }

    /// Returns the next whole line without its end; `None` if there is none yet. Invalid UTF-8 is replaced.
    pub(crate) fn line(&mut self) -> Result<Option<String>, StoreError> {
        let mut bytes = Vec::new();
        let path = self.paths.events();
        let read = (&mut self.reader).take(LONGEST).read_until(b'\n', &mut bytes);
        let read = read.or_io("read", &path)?;
        if bytes.pop() != Some(b'\n') {
            // The rest may not be written yet.
            self.reader.seek(SeekFrom::Start(self.at)).or_io("read", &path)?;
            return Ok(None);
        }
        self.at += read as u64;
        Ok(Some(
            String::from_utf8(bytes)
                .unwrap_or_else(|bytes| String::from_utf8_lossy(bytes.as_bytes()).into_owned()),
        ))
    }

    /// Returns the offset up to which it was read.
    pub(crate) fn place(&self) -> u64 {
        self.at
    }

    /// Moves to an offset.
    pub(crate) fn go_to(&mut self, place: u64) -> Result<(), StoreError> {
        self.at = place;
        let sought = self.reader.seek(SeekFrom::Start(place));
        sought.map(drop).or_io("read", self.paths.events())
    }

    /// Returns the size of the opened file.
    pub(crate) fn size(&self) -> Result<u64, StoreError> {
        let metadata = self.reader.get_ref().metadata();
        metadata.map(|metadata| metadata.len()).or_io("read", self.paths.events())
    }

    /// Returns whether the stream was replaced or truncated.
    pub(crate) fn is_over(&self) -> bool {
        let now = fs::symlink_metadata(self.paths.events());
        now.is_ok_and(|now| now.ino() != self.inode || now.len() < self.at)
    }
}

#[cfg(test)]
mod tests;
