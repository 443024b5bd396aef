//! Writing the stream: by one at a time, lines behind its known end, or a new stream in its place.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::end::End;
use super::event_log::{FORM, LONGEST, NAME, RECORD, Record, SUFFIX, Standing, record_in};
use crate::domain::EventId;
use crate::storage::fs::folder::temporary_file::Staged;
use crate::storage::{Durability, Folder, StoreError};
use crate::system::crash_points;

/// The right to write the stream, until it is dropped.
#[derive(Debug)]
pub struct Writer {
    local: Folder,
    folder: Folder,
    _lock: File,
}

impl Writer {
    pub(crate) fn new(local: Folder, folder: Folder, lock: File) -> Self {
        Self { local, folder, _lock: lock }
    }

    /// Returns how the stream stands. What a kill left behind its known end is taken out: lines of which `again` says that they
    /// are written again, and a part of one.
    pub fn settle<K: DeserializeOwned>(
        &self,
        again: &dyn Fn(&str) -> bool,
    ) -> Result<Standing<K>, StoreError> {
        let record = record_in::<K>(&self.folder)?;
        let Some((file, metadata)) = self.local.open_to_write(NAME)? else {
            return Ok(Standing::Missing);
        };
        let Some(mut record) = record else { return Ok(Standing::Lost) };
        let fault =
            |doing| move |cause| StoreError::io(doing, &self.local.path().join(NAME), cause);
        let Some(end) = record.end.find(&file).map_err(fault("read"))? else {
            return Ok(Standing::Lost);
        };
        record.end = end;
        let end = record.end.place();
        if metadata.len() == end {
            return Ok(Standing::Known(record, Vec::new()));
        }
        let behind = metadata.len().saturating_sub(end);
        let Some(size) = usize::try_from(behind).ok().filter(|_| behind <= LONGEST) else {
            return Ok(Standing::Lost);
        };
        let mut bytes = vec![0; size];
        file.read_exact_at(&mut bytes, end).map_err(fault("read"))?;
        let whole =
            bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        let strays: Vec<&[u8]> =
            whole.filter(|line| !again(&String::from_utf8_lossy(line))).collect();
        let kept = strays.concat();
        if kept != bytes {
            file.set_len(end).map_err(fault("cut off"))?;
            file.write_all_at(&kept, end).map_err(fault("write"))?;
        }
        record.end = record.end.after(&kept);
        let strays = strays.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        Ok(Standing::Known(record, strays))
    }

    /// Adds whole lines to the stream that has this record, and records them, with what is kept now.
    pub fn append<K: Serialize>(
        &self,
        record: &mut Record<K>,
        lines: &[u8],
    ) -> Result<(), StoreError> {
        if !lines.is_empty() {
            let mut file = self.local.open_to_append(NAME)?;
            file.write_all(lines)
                .map_err(|cause| StoreError::io("write", &self.local.path().join(NAME), cause))?;
            record.end = record.end.after(lines);
        }
        crash_points::point("events.written");
        self.note(record)
    }

    fn note<K: Serialize>(&self, record: &Record<K>) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec(record).expect("names and numbers are JSON");
        self.folder.replace(RECORD, &bytes, Durability::Volatile)?;
        crash_points::point("events.recorded");
        Ok(())
    }

    /// Begins a new stream, which takes the place of this one when it is whole.
    pub fn rewrite(&self) -> Result<Rewriting<'_>, StoreError> {
        let staged = Staged::new(&self.local, NAME, b"", Durability::Volatile)?;
        Ok(Rewriting { writer: self, staged, end: End::default() })
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
        crash_points::point("events.replaced");
        let record = Record { form: FORM.to_owned(), end: self.end, kept };
        self.writer.note(&record)?;
        Ok(record)
    }
}
