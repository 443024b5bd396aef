//! Reading the stream: whole lines, from its beginning or from a place where one begins.

use std::fs::{self, File, Metadata};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;

use super::event_log::LONGEST;
use crate::storage::{Paths, StoreError};

/// The stream, being read. It stays the one that was opened, whatever takes its place.
#[derive(Debug)]
pub struct Reading {
    reader: BufReader<File>,
    at: u64,
    inode: u64,
    paths: Paths,
}

impl Reading {
    pub(crate) fn new(file: File, metadata: &Metadata, paths: Paths) -> Self {
        Self {
            reader: BufReader::with_capacity(1 << 16, file),
            at: 0,
            inode: metadata.ino(),
            paths,
        }
    }

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
            String::from_utf8(bytes)
                .unwrap_or_else(|bytes| String::from_utf8_lossy(bytes.as_bytes()).into_owned()),
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
