//! `.aof/events.jsonl`, the event stream: one JSON object a line; and `.aof/events/`, what its writers know of it.
//!
//! ```text
//!   record      how far the stream goes, and what its writer keeps with that
//!   lock        whoever writes the stream has it
//!   ID.json     a line that is in no commit, on its way into the stream
//! ```
//! Lines are appended in one write, and then the record says so. A kill in between leaves lines that the record does not speak of:
//! the next writer takes out those that it writes again, and whatever of a line is torn. Nothing waits for the disk: a power cut may
//! take lines back that the record knows, and then the stream is lost as far as its writer is concerned, and made again.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::layout::{EVENTS, LOCAL};
use super::staged::Staged;
use super::{Durability, Folder, Paths, StoreError};
use crate::model::{Digest, EventId};
use crate::stop;

const NAME: &str = "events.jsonl";
const RECORD: &str = "record";
const SUFFIX: &str = ".json";
/// The form of the record and of the lines: a stream of another form is made again.
const FORM: &str = "aof-events 1";
/// More than any record, or line on its way, has.
const LIMIT: u64 = 4 * 1024 * 1024;
/// More than what one write adds; and longer than any line.
const LONGEST: u64 = 64 * 1024 * 1024;

/// The event stream of a project.
#[derive(Debug, Clone)]
pub struct Stream {
    paths: Paths,
}

/// How far the stream goes, with what its writer keeps about that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record<K> {
    form: String,
    end: End,
    /// What the writer keeps.
    pub kept: K,
}

/// The end of the stream, and the line that stands there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct End {
    at: u64,
    /// Its length with its end, and its digest; nothing where there is no line.
    last: Option<(u64, String)>,
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

impl End {
    /// Returns the end after these whole lines were added.
    fn after(&self, lines: &[u8]) -> Self {
        let Some(before) = lines.len().checked_sub(1) else { return self.clone() };
        let start = lines[..before].iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
        let last = &lines[start..];
        Self { at: self.at + lines.len() as u64, last: Some((last.len() as u64, digest(last))) }
    }

    /// Returns whether the stream has this end here: the line is the same, and a line by itself.
    fn stands_in(&self, file: &File) -> bool {
        let Some((length, known)) = &self.last else { return self.at == 0 };
        let (Some(start), Ok(size)) = (self.at.checked_sub(*length), usize::try_from(*length)) else { return false };
        let mut line = vec![0; size];
        let mut before = [b'\n'];
        file.read_exact_at(&mut line, start).is_ok()
            && (start == 0 || file.read_exact_at(&mut before, start - 1).is_ok())
            && before == *b"\n"
            && digest(&line) == *known
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
            Ok(()) => Ok(Some(Writer { local, folder, _lock: lock })),
            Err(fs4::TryLockError::WouldBlock) => Ok(None),
            Err(fs4::TryLockError::Error(cause)) => Err(StoreError::io("lock", &folder.path().join("lock"), cause)),
        }
    }

    /// Returns the record, and whether the stream is as long as it says; nothing where there is none that can be read.
    pub fn record<K: DeserializeOwned>(&self) -> Result<Option<(Record<K>, bool)>, StoreError> {
        let Some(folder) = Folder::open_existing(self.paths.root(), EVENTS)? else { return Ok(None) };
        let Some(record) = record_in::<K>(&folder)? else { return Ok(None) };
        let size = fs::symlink_metadata(self.paths.events()).map(|metadata| metadata.len());
        let is_whole = size.is_ok_and(|size| size == record.end.at);
        Ok(Some((record, is_whole)))
    }

    /// Opens the stream for reading, at its beginning; nothing where there is none.
    pub fn open(&self) -> Result<Option<Reading>, StoreError> {
        let Some(local) = Folder::open_existing(self.paths.root(), LOCAL)? else { return Ok(None) };
        let Some((file, metadata)) = local.open_to_read(NAME)? else { return Ok(None) };
        let reader = BufReader::with_capacity(1 << 16, file);
        Ok(Some(Reading { reader, at: 0, inode: metadata.ino(), paths: self.paths.clone() }))
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

    /// Returns the lines that were left, with the ids that their files are named by; a file of another name is none of them.
    pub fn left(&self) -> Result<Vec<(EventId, String)>, StoreError> {
        let path = self.paths.root().join(EVENTS);
        let listing = match fs::read_dir(&path) {
            Ok(listing) => listing,
            Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(vec![]),
            Err(cause) => return Err(StoreError::io("list the folder", &path, cause)),
        };
        let names = listing.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut ids: Vec<EventId> =
            names.filter_map(|name| name.strip_suffix(SUFFIX).and_then(EventId::read)).collect();
        ids.sort();
        let Some(folder) = Folder::open_existing(self.paths.root(), EVENTS)? else { return Ok(Vec::new()) };
        let mut left = Vec::new();
        for id in ids {
            // Whoever wrote the stream may have removed it in between.
            let Some((bytes, _)) = folder.read(format!("{id}{SUFFIX}"), LIMIT)? else { continue };
            left.push((id, String::from_utf8_lossy(&bytes).into_owned()));
        }
        Ok(left)
    }
}

/// The right to write the stream, until it is dropped.
#[derive(Debug)]
pub struct Writer {
    local: Folder,
    folder: Folder,
    _lock: File,
}

impl Writer {
    /// Returns how the stream stands. What a kill left behind its known end is taken out: lines of which `again` says that they
    /// are written again, and a part of one.
    pub fn settle<K: DeserializeOwned>(&self, again: &dyn Fn(&str) -> bool) -> Result<Standing<K>, StoreError> {
        let record = record_in::<K>(&self.folder)?;
        let Some((file, metadata)) = self.local.open_to_write(NAME)? else { return Ok(Standing::Missing) };
        let Some(mut record) = record else { return Ok(Standing::Lost) };
        let fault = |doing| move |cause| StoreError::io(doing, &self.local.path().join(NAME), cause);
        if !record.end.stands_in(&file) {
            match end_in(&file, &record.end).map_err(fault("read"))? {
                Some(at) => record.end.at = at,
                None => return Ok(Standing::Lost),
            }
        }
        if metadata.len() == record.end.at {
            return Ok(Standing::Known(record, Vec::new()));
        }
        let behind = metadata.len().saturating_sub(record.end.at);
        let Some(size) = usize::try_from(behind).ok().filter(|_| behind <= LONGEST) else {
            return Ok(Standing::Lost);
        };
        let mut bytes = vec![0; size];
        file.read_exact_at(&mut bytes, record.end.at).map_err(fault("read"))?;
        let whole = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        let strays: Vec<&[u8]> = whole.filter(|line| !again(&String::from_utf8_lossy(line))).collect();
        let kept = strays.concat();
        if kept != bytes {
            file.set_len(record.end.at).map_err(fault("cut off"))?;
            file.write_all_at(&kept, record.end.at).map_err(fault("write"))?;
        }
        record.end = record.end.after(&kept);
        let strays = strays.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        Ok(Standing::Known(record, strays))
    }

    /// Adds whole lines to the stream that has this record, and records them, with what is kept now.
    pub fn append<K: Serialize>(&self, record: &mut Record<K>, lines: &[u8]) -> Result<(), StoreError> {
        if !lines.is_empty() {
            let mut file = self.local.open_to_append(NAME)?;
            file.write_all(lines).map_err(|cause| StoreError::io("write", &self.local.path().join(NAME), cause))?;
            record.end = record.end.after(lines);
        }
        stop::point("events.written");
        self.note(record)
    }

    fn note<K: Serialize>(&self, record: &Record<K>) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec(record).expect("names and numbers are JSON");
        self.folder.replace(RECORD, &bytes, Durability::Volatile)?;
        stop::point("events.recorded");
        Ok(())
    }

    /// Begins a new stream, which takes the place of this one when it is whole.
    pub fn rewrite(&self) -> Result<Rewriting<'_>, StoreError> {
        let staged = Staged::new(&self.local, NAME, b"", Durability::Volatile)?;
        Ok(Rewriting { writer: self, staged, end: End::default() })
    }

    /// Removes the stream, and what is known of it.
    pub fn forget(&self) -> Result<(), StoreError> {
        self.folder.remove(RECORD)?;
        self.local.remove(NAME)
    }

    /// Removes lines that were left and are in the stream now.
    pub fn clear(&self, ids: &[EventId]) -> Result<(), StoreError> {
        ids.iter().try_for_each(|id| self.folder.remove(format!("{id}{SUFFIX}")))
    }
}

/// A stream that is being made. Dropped, it is gone, and the old one stays.
pub struct Rewriting<'w> {
    writer: &'w Writer,
    staged: Staged<&'w Folder>,
    end: End,
}

impl Rewriting<'_> {
    /// Adds whole lines.
    pub fn add(&mut self, lines: &[u8]) -> Result<(), StoreError> {
        self.staged.write(NAME, lines)?;
        self.end = self.end.after(lines);
        Ok(())
    }

    /// Puts it in the place of the old one, and records it.
    pub fn finish<K: Serialize>(mut self, kept: K) -> Result<Record<K>, StoreError> {
        // What is known of the old one says nothing of the new one: without a record a stream is made again.
        self.writer.folder.remove(RECORD)?;
        self.staged.replace(NAME)?;
        stop::point("events.replaced");
        let record = Record { form: FORM.to_owned(), end: self.end, kept };
        self.writer.note(&record)?;
        Ok(record)
    }
}

/// The stream, being read. It stays the one that was opened, whatever takes its place.
#[derive(Debug)]
pub struct Reading {
    reader: BufReader<File>,
    at: u64,
    inode: u64,
    paths: Paths,
}

impl Reading {
    /// Returns the next whole line without its end, in which what is no UTF-8 is replaced; nothing where there is none yet.
    pub fn line(&mut self) -> Result<Option<String>, StoreError> {
        let mut bytes = Vec::new();
        let fault = |cause| StoreError::io("read", &self.paths.events(), cause);
        let read = (&mut self.reader).take(LONGEST).read_until(b'\n', &mut bytes).map_err(fault)?;
        if bytes.pop() != Some(b'\n') {
            // Somebody may be about to write the rest.
            self.reader.seek(SeekFrom::Start(self.at)).map_err(fault)?;
            return Ok(None);
        }
        self.at += read as u64;
        Ok(Some(
            String::from_utf8(bytes).unwrap_or_else(|bytes| String::from_utf8_lossy(bytes.as_bytes()).into_owned()),
        ))
    }

    /// Returns how far it was read.
    pub fn place(&self) -> u64 {
        self.at
    }

    /// Goes on at a place where a line begins.
    pub fn go_to(&mut self, place: u64) -> Result<(), StoreError> {
        self.at = place;
        let sought = self.reader.seek(SeekFrom::Start(place));
        sought.map(drop).map_err(|cause| StoreError::io("read", &self.paths.events(), cause))
    }

    /// Returns whether another stream has taken the place of this one, or it was cut off.
    pub fn is_over(&self) -> bool {
        let now = fs::symlink_metadata(self.paths.events());
        now.is_ok_and(|now| now.ino() != self.inode || now.len() < self.at)
    }
}

fn record_in<K: DeserializeOwned>(folder: &Folder) -> Result<Option<Record<K>>, StoreError> {
    let read = folder.read(RECORD, LIMIT)?;
    let record: Option<Record<K>> = read.and_then(|(bytes, _)| serde_json::from_slice(&bytes).ok());
    Ok(record.filter(|record| record.form == FORM))
}

/// Looks through the whole stream for the line that is its known end, and returns where the last such line ends: somebody has
/// changed what stands before it.
fn end_in(file: &File, known: &End) -> std::io::Result<Option<u64>> {
    let Some((length, wanted)) = &known.last else { return Ok(Some(0)) };
    let mut reader = BufReader::with_capacity(1 << 16, file);
    reader.seek(SeekFrom::Start(0))?;
    let (mut at, mut found) = (0, None);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.by_ref().take(LONGEST).read_until(b'\n', &mut line)? as u64;
        if read == 0 {
            return Ok(found);
        }
        at += read;
        if read == *length && digest(&line) == *wanted {
            found = Some(at);
        }
    }
}

fn digest(line: &[u8]) -> String {
    Digest::of(line).as_str().to_owned()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A stream with two lines, and what is kept beside it.
    fn begun(home: &TempDir) -> (Stream, Writer) {
        let stream = Stream::of(&Paths::at(home.path()));
        let writer = stream.writing().unwrap().unwrap();
        let mut record = Record { kept: 7_u32, ..Record::default() };
        writer.append(&mut record, b"one\n").unwrap();
        writer.append(&mut record, b"two\nthree\n").unwrap();
        (stream, writer)
    }

    fn text(home: &TempDir) -> String {
        fs::read_to_string(home.path().join(".aof/events.jsonl")).unwrap()
    }

    fn settled(writer: &Writer) -> Option<(u64, Vec<String>)> {
        match writer.settle::<u32>(&|line| line.starts_with("again")).unwrap() {
            Standing::Known(record, strays) => Some((record.end.at, strays)),
            Standing::Lost | Standing::Missing => None,
        }
    }

    #[test]
    fn behind_the_known_end_what_is_written_again_goes_and_what_others_wrote_stays() {
        for (added, left, strays) in [
            ("", "", vec![]),
            ("again 1\nagain 2\n", "", vec![]),
            ("agai", "", vec![]),
            ("again 1\ntheirs\nagain 2\ntor", "theirs\n", vec!["theirs\n"]),
        ] {
            let home = TempDir::new().unwrap();
            let (_, writer) = begun(&home);
            let path = home.path().join(".aof/events.jsonl");
            fs::write(&path, format!("{}{added}", text(&home))).unwrap();
            let (at, found) = settled(&writer).unwrap();
            assert_eq!(
                (text(&home), found),
                (format!("one\ntwo\nthree\n{left}"), strays.iter().map(ToString::to_string).collect())
            );
            assert_eq!(at, text(&home).len() as u64);
        }
    }

    #[test]
    fn whatever_stands_before_the_end_it_is_found_again_or_the_stream_is_lost() {
        for (now, at) in [
            ("one\ntwo\nthree\n", Some(14)),
            ("one\nmore\ntwo\nthree\n", Some(19)),
            ("three\n", Some(6)),
            ("three\nthree\nagain\n", Some(12)),
            ("one\ntwo\n", None),
            ("one\ntwo\nthre", None),
            ("one\ntwo\nxthree\n", None),
            ("one\ntwo\n\0\0\0\0\0\0", None),
            ("", None),
        ] {
            let home = TempDir::new().unwrap();
            let (_, writer) = begun(&home);
            fs::write(home.path().join(".aof/events.jsonl"), now).unwrap();
            assert_eq!(settled(&writer).map(|(at, _)| at), at, "{now:?}");
        }
        let home = TempDir::new().unwrap();
        let (_, writer) = begun(&home);
        fs::write(home.path().join(".aof/events/record"), "{").unwrap();
        assert_eq!(settled(&writer), None, "nobody knows how far it goes");
    }

    #[test]
    fn whoever_reads_is_told_that_another_stream_is_there() {
        let home = TempDir::new().unwrap();
        let (stream, writer) = begun(&home);
        assert!(stream.writing().unwrap().is_none(), "one writes at a time");
        let mut reading = stream.open().unwrap().unwrap();
        assert_eq!(reading.line().unwrap().as_deref(), Some("one"));
        let mut rewriting = writer.rewrite().unwrap();
        rewriting.add(b"new\n").unwrap();
        assert!(!reading.is_over(), "it is not whole yet");
        rewriting.finish(8_u32).unwrap();
        assert!(reading.is_over());
        assert_eq!(reading.line().unwrap().as_deref(), Some("two"));
        let (record, is_whole) = stream.record::<u32>().unwrap().unwrap();
        assert_eq!((record.kept, is_whole, text(&home).as_str()), (8, true, "new\n"));
    }

    #[test]
    fn a_part_of_a_line_is_read_when_it_is_whole() {
        let home = TempDir::new().unwrap();
        let (stream, _writer) = begun(&home);
        let mut reading = stream.open().unwrap().unwrap();
        let path = home.path().join(".aof/events.jsonl");
        let whole = text(&home);
        fs::write(&path, format!("{whole}fo")).unwrap();
        let read: Vec<String> = std::iter::from_fn(|| reading.line().unwrap()).collect();
        assert_eq!(read, ["one", "two", "three"]);
        fs::write(&path, format!("{whole}four\n")).unwrap();
        assert_eq!(reading.line().unwrap().as_deref(), Some("four"));
    }

    #[test]
    fn what_is_left_for_the_stream_stays_as_it_was_left_first() {
        let home = TempDir::new().unwrap();
        let (stream, writer) = begun(&home);
        let id = EventId::of("one");
        for line in ["first\n", "second\n"] {
            stream.leave(&id, line).unwrap();
        }
        for stranger in [".aof-tmp-x.json", "aof_1.json"] {
            fs::write(home.path().join(".aof/events").join(stranger), "").unwrap();
        }
        let left = stream.left().unwrap();
        assert_eq!(left, [(id.clone(), "first\n".to_owned())]);
        writer.clear(&[id, EventId::of("two")]).unwrap();
        assert_eq!(stream.left().unwrap(), []);
    }
}
