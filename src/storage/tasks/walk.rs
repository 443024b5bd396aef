//! Going through `tasks/`: every task file, and every oddity, so that one bad file never hides the others.
//!
//! Symlinks are reported, never followed; hidden files and folders are nobody's tasks.

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;

use walkdir::{DirEntry, WalkDir};

use crate::domain::{IdFault, TaskId};
use crate::storage::fs::error::plain;
use crate::storage::layout::{ARCHIVE, TASKS, companion_of, task_id};
use crate::storage::{FileStat, Kind, Paths, ProjectPath, StoreError};

/// Something that stands among the tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A task file, not yet read.
    Task(TaskEntry),
    /// Something that looks like one and is none.
    Stray(Stray),
}

/// A task file, not yet read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskEntry {
    /// The task.
    pub id: TaskId,
    /// Where its file stands.
    pub path: ProjectPath,
    /// What the system tells of it.
    pub stat: FileStat,
}

/// What cannot be a task file, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stray {
    /// Where it stands, below the project's root.
    pub path: PathBuf,
    /// Why it is none.
    pub reason: StrayReason,
}

impl Stray {
    /// Returns the task file that it goes with, if it has the name of a companion and stands elsewhere.
    pub(crate) fn companion_of(&self) -> Option<String> {
        let is_misnamed = matches!(self.reason, StrayReason::NotAnId(_));
        self.path.file_name().and_then(OsStr::to_str).filter(|_| is_misnamed).and_then(companion_of)
    }
}

/// Why something cannot be a task file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StrayReason {
    /// It ends in `.md`, but its name is no task id.
    NotAnId(IdFault),
    /// It is no ordinary file.
    WrongKind(Kind),
    /// It stands where the folder should.
    NotAFolder(Kind),
    /// Its path is not UTF-8.
    NotText,
    /// The system does not let it be looked at.
    Unreadable(String),
}

impl fmt::Display for StrayReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnId(fault) => fault.fmt(f),
            Self::WrongKind(kind) => write!(f, "it is {kind}, not a file"),
            Self::NotAFolder(kind) => write!(f, "it is {kind}, not a folder"),
            Self::NotText => f.write_str("its name is not UTF-8"),
            Self::Unreadable(reason) => f.write_str(reason),
        }
    }
}

/// Goes through the files of active tasks.
pub(crate) fn active(paths: &Paths) -> impl Iterator<Item = Entry> + use<'_> {
    found(paths, raw_active(paths))
}

/// Goes through the files of finished tasks.
pub(crate) fn archived(paths: &Paths) -> impl Iterator<Item = Entry> + use<'_> {
    below(paths, ARCHIVE)
}

/// Goes through the files in that folder.
pub(crate) fn below<'p>(paths: &'p Paths, folder: &str) -> impl Iterator<Item = Entry> + use<'p> {
    found(paths, raw(paths, folder, false))
}

/// Goes through the active files of that name, whatever they are.
pub(crate) fn named<'p>(paths: &'p Paths, name: &'p str) -> impl Iterator<Item = ProjectPath> + 'p {
    raw_active(paths)
        .flatten()
        .filter(move |entry| entry.file_name() == name)
        .filter_map(|entry| paths.relative_joined(entry.path()))
}

/// Goes through the files of that name in a folder of tasks and below it, whatever they are.
pub(crate) fn named_below<'p>(
    paths: &'p Paths,
    folder: &str,
    name: &'p str,
) -> impl Iterator<Item = ProjectPath> + use<'p> {
    raw(paths, folder, false)
        .flatten()
        .filter(move |entry| entry.file_name() == name)
        .filter_map(|entry| paths.relative_joined(entry.path()))
}

/// Goes through all ordinary files among the active tasks.
pub(crate) fn active_files(paths: &Paths) -> impl Iterator<Item = ProjectPath> + '_ {
    ordinary(paths, raw_active(paths))
}

/// Goes through all ordinary files in the archive.
pub(crate) fn archived_files(paths: &Paths) -> impl Iterator<Item = ProjectPath> + '_ {
    ordinary(paths, raw(paths, ARCHIVE, false))
}

fn ordinary(paths: &Paths, raw: impl Iterator<Item = Raw>) -> impl Iterator<Item = ProjectPath> {
    raw.flatten()
        .filter(|entry| entry.file_type().is_file())
        .filter_map(|entry| paths.relative_joined(entry.path()))
}

/// Returns the names of the folders that stand in `tasks/` itself, the archive aside.
pub(crate) fn folders_of_tasks(paths: &Paths) -> Result<Vec<String>, StoreError> {
    let folder = paths.tasks();
    let fault = |cause| StoreError::io("list the folder", &folder, cause);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(fault)? {
        let entry = entry.map_err(fault)?;
        let is_folder = entry.file_type().map_err(fault)?.is_dir();
        let name = entry.file_name().into_string().unwrap_or_default();
        if is_folder && !name.starts_with('.') && name != "archive" && !name.is_empty() {
            names.push(name);
        }
    }
    Ok(names)
}

/// Goes through the folders of the tasks, finished ones as well, `tasks/` first.
pub(crate) fn folders(paths: &Paths) -> impl Iterator<Item = ProjectPath> + '_ {
    raw(paths, TASKS, false)
        .flatten()
        .filter(|entry| entry.file_type().is_dir())
        .filter_map(|entry| paths.relative_joined(entry.path()))
}

type Raw = walkdir::Result<DirEntry>;

fn raw_active(paths: &Paths) -> impl Iterator<Item = Raw> + use<> {
    raw(paths, TASKS, true)
}

fn raw(paths: &Paths, inside: &str, without_archive: bool) -> impl Iterator<Item = Raw> + use<> {
    WalkDir::new(paths.root().join(inside)).follow_root_links(false).into_iter().filter_entry(
        move |entry| {
            let hidden =
                entry.depth() > 0 && entry.file_name().as_encoded_bytes().starts_with(b".");
            let archive = without_archive && entry.depth() == 1 && entry.file_name() == "archive";
            !hidden && !archive
        },
    )
}

fn found(paths: &Paths, raw: impl Iterator<Item = Raw>) -> impl Iterator<Item = Entry> {
    raw.filter_map(|item| match item {
        Ok(entry) => entry_of(paths, &entry),
        // No folder of tasks: no tasks.
        Err(fault)
            if fault.depth() == 0
                && fault.io_error().is_some_and(|e| e.kind() == std::io::ErrorKind::NotFound) =>
        {
            None
        }
        Err(fault) => Some(stray(paths, fault.path().unwrap_or(paths.root()), unreadable(&fault))),
    })
}

fn entry_of(paths: &Paths, entry: &DirEntry) -> Option<Entry> {
    let kind = Kind::from(entry.file_type());
    let as_stray = |reason| Some(stray(paths, entry.path(), reason));
    let named_like_one = entry.file_name().as_encoded_bytes().ends_with(b".md");
    match kind {
        _ if entry.depth() == 0 && kind != Kind::Folder => {
            return as_stray(StrayReason::NotAFolder(kind));
        }
        // A linked folder hides the tasks that somebody expects in it.
        Kind::Symlink if named_like_one || entry.path().is_dir() => {
            return as_stray(StrayReason::WrongKind(kind));
        }
        _ if !named_like_one => return None,
        Kind::File => {}
        _ => return as_stray(StrayReason::WrongKind(kind)),
    }
    let (Some(name), Some(path)) =
        (entry.file_name().to_str(), paths.relative_joined(entry.path()))
    else {
        return as_stray(StrayReason::NotText);
    };
    let id = match task_id(name)? {
        Ok(id) => id,
        // The text of a plan, say, goes with its task.
        Err(_)
            if companion_of(name)
                .is_some_and(|task| entry.path().with_file_name(task).is_file()) =>
        {
            return None;
        }
        Err(fault) => return as_stray(StrayReason::NotAnId(fault)),
    };
    match entry.metadata() {
        Ok(metadata) => Some(Entry::Task(TaskEntry { id, path, stat: FileStat::of(&metadata) })),
        // It went away since the folder was listed.
        Err(fault)
            if fault.io_error().is_some_and(|e| e.kind() == std::io::ErrorKind::NotFound) =>
        {
            None
        }
        Err(fault) => as_stray(unreadable(&fault)),
    }
}

fn unreadable(fault: &walkdir::Error) -> StrayReason {
    StrayReason::Unreadable(fault.io_error().map_or_else(|| fault.to_string(), plain))
}

fn stray(paths: &Paths, path: &std::path::Path, reason: StrayReason) -> Entry {
    let path = path.strip_prefix(paths.root()).unwrap_or(path).to_owned();
    Entry::Stray(Stray { path, reason })
}
