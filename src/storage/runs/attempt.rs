//! One attempt: its folder, and the files in that.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::record::Record;
use crate::storage::{Durability, Folder, StoreError};

/// More than any record has: the words of a command are bounded by the system.
const RECORD_LIMIT: u64 = 4 * 1024 * 1024;

/// One attempt, and its folder.
#[derive(Debug)]
pub struct Attempt {
    number: u32,
    folder: Folder,
}

/// A file of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunFile {
    /// What the agent is told.
    Prompt,
    /// How it reaches us.
    Mcp,
    /// What it printed.
    Transcript,
    /// What it leaves for us.
    Output,
    /// The record.
    Record,
}

impl RunFile {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt.md",
            Self::Mcp => "mcp.json",
            Self::Transcript => "transcript",
            Self::Output => "output",
            Self::Record => "run.json",
        }
    }
}

impl Attempt {
    /// Opens an attempt that there is.
    pub(crate) fn standing(visit: &Folder, number: u32) -> Result<Option<Self>, StoreError> {
        match visit.child(&number.to_string()) {
            Ok(folder) => Ok(Some(Self { number, folder })),
            Err(StoreError::Gone { .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Makes the folder of an attempt.
    pub(crate) fn begin(visit: &Folder, number: u32) -> Result<Self, StoreError> {
        Ok(Self { number, folder: visit.private_child(&number.to_string())? })
    }

    /// Returns the how-manieth of its visit it is.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns its folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns where one of its files is, or would be.
    pub fn path_of(&self, file: RunFile) -> PathBuf {
        self.folder.path().join(file.name())
    }

    /// Makes a file, which must not exist yet, and opens it for writing.
    pub fn create(&self, file: RunFile) -> Result<File, StoreError> {
        self.folder.create_private(file.name())
    }

    /// Makes a file that says this.
    pub fn write(&self, file: RunFile, bytes: &[u8]) -> Result<(), StoreError> {
        let fault = |cause| StoreError::io("write", &self.path_of(file), cause);
        self.create(file)?.write_all(bytes).map_err(fault)
    }

    /// Reads a file of at most that many bytes; `None` when it is not there.
    pub fn read(&self, file: RunFile, limit: u64) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.folder.read(file.name(), limit)?.map(|(bytes, _)| bytes))
    }

    /// Writes the record: it is whole, whenever a kill comes.
    pub fn note(&self, record: &Record) -> Result<(), StoreError> {
        let name = RunFile::Record.name();
        // What is replaced keeps its mode.
        match self.folder.create_private(name) {
            Ok(_) | Err(StoreError::Exists { .. }) => {}
            Err(fault) => return Err(fault),
        }
        let mut bytes =
            serde_json::to_vec_pretty(record).expect("a record of plain fields is JSON");
        bytes.push(b'\n');
        self.folder.replace(name, &bytes, Durability::Volatile)
    }

    /// Reads the record; `None` when there is none, or none that is whole.
    pub fn record(&self) -> Result<Option<Record>, StoreError> {
        let bytes = self.read(RunFile::Record, RECORD_LIMIT)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }
}
