//! What is to be started, and why it may not start.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A program, and what it is given.
#[derive(Clone)]
pub struct Program {
    /// Its path, or its name in one of the folders of `PATH`. A relative path counts from `directory`.
    pub program: OsString,
    /// What stands behind it; no shell reads it.
    pub arguments: Vec<OsString>,
    /// The folder that it works in.
    pub directory: PathBuf,
    /// What it finds in its environment besides what is inherited.
    pub environment: Vec<(String, OsString)>,
    /// What of the inherited environment it does not find there.
    pub removed: Vec<String>,
    /// What it reads from stdin, which ends behind that. A program that does not read it is done no harm.
    pub input: Vec<u8>,
}

/// A program that could not be started.
#[derive(Debug, thiserror::Error)]
#[error("`{program}` cannot be started: {cause}")]
pub struct StartError {
    /// Its name.
    pub program: String,
    /// What stood in the way.
    pub obstacle: Obstacle,
    /// What the system said.
    pub cause: io::Error,
}

/// What stands in the way of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// There is no such program: it is not installed.
    NotFound,
    /// There is such a file, and it cannot be run: no right to do so, or no program.
    NotExecutable,
    /// The folder that it should work in is not there.
    NoDirectory,
    /// Its arguments and environment are longer than the system takes.
    TooLong,
    /// Anything else.
    System,
}

impl Program {
    /// Returns the program that these words start, in that folder; nothing if there are none.
    pub fn of<W: Into<OsString>>(
        words: impl IntoIterator<Item = W>,
        directory: &Path,
    ) -> Option<Self> {
        let mut words = words.into_iter().map(Into::into);
        Some(Self {
            program: words.next()?,
            arguments: words.collect(),
            directory: directory.to_owned(),
            environment: Vec::new(),
            removed: Vec::new(),
            input: Vec::new(),
        })
    }

    /// Returns the program with one more value in its environment.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Returns its name as it is shown.
    pub fn name(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }
}

/// Shows neither the environment nor the input: there may be secrets in them.
impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&String> = self.environment.iter().map(|(name, _)| name).collect();
        f.debug_struct("Program")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("directory", &self.directory)
            .field("environment", &names)
            .finish_non_exhaustive()
    }
}

pub(crate) fn obstacle(cause: &io::Error, directory: &Path) -> Obstacle {
    if !directory.is_dir() {
        return Obstacle::NoDirectory;
    }
    match cause.kind() {
        ErrorKind::NotFound => Obstacle::NotFound,
        ErrorKind::PermissionDenied | ErrorKind::IsADirectory => Obstacle::NotExecutable,
        ErrorKind::ArgumentListTooLong => Obstacle::TooLong,
        _ if cause.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            Obstacle::NotExecutable
        }
        _ => Obstacle::System,
    }
}
