//! One attempt: its folder, and the files in that.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use super::record::RunRecord;
use crate::storage::fs::error::OrIo;
use crate::storage::{Durability, Folder, StoreError};

/// One attempt, and its folder.
#[derive(Debug)]
pub(crate) struct RunAttempt {
    number: u32,
    folder: Folder,
}

/// A file of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunFile {
    /// What the agent is told.
    Prompt,
    /// How it reaches us.
    Mcp,
    /// What it printed.
    Transcript,
    /// What it leaves for us.
    Output,
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

impl RunAttempt {
    /// Opens an attempt that there is.
    pub(crate) fn open(visit: &Folder, number: u32) -> Result<Option<Self>, StoreError> {
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

    /// Returns which attempt of its visit it is, from 1.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Returns where one of its files is, or would be.
    pub(crate) fn path_of(&self, file: RunFile) -> PathBuf {
        self.folder.path().join(file.name())
    }

    /// Makes a file, which must not exist yet, and opens it for writing.
    pub(crate) fn create(&self, file: RunFile) -> Result<File, StoreError> {
        self.folder.create_private(file.name())
    }

    /// Makes a file that says this.
    pub(crate) fn write(&self, file: RunFile, bytes: &[u8]) -> Result<(), StoreError> {
        self.create(file)?.write_all(bytes).or_io("write", self.path_of(file))
    }

    /// Reads a file of at most that many bytes; `None` when it is not there.
    pub(crate) fn read(&self, file: RunFile, limit: u64) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.folder.read(file.name(), limit)?.map(|(bytes, _)| bytes))
    }

    /// Writes the record: it is whole, whenever a kill comes.
    pub(crate) fn note(&self, record: &RunRecord) -> Result<(), StoreError> {
        // What is replaced keeps its mode.
        match self.create(RunFile::Record) {
            Ok(_) | Err(StoreError::Exists { .. }) => {}
            Err(fault) => return Err(fault),
        }
        let text =
            format!("{}\n", serde_json::to_string_pretty(record).expect("plain fields are JSON"));
        self.folder.replace(RunFile::Record.name(), text.as_bytes(), Durability::Volatile)
    }

    /// Reads the record; `None` when there is none, or none that is whole.
    pub(crate) fn record(&self) -> Result<Option<RunRecord>, StoreError> {
        self.folder.read_json(RunFile::Record.name())
    }
}
