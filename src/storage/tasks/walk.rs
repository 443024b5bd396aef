//! Going through `tasks/`: every task file, and every oddity, so that one bad file never hides the others.
//!
//! Symlinks are reported, never followed; hidden files and folders are nobody's tasks.

use std::ffi::OsStr;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use crate::domain::{IdFault, TaskId};
use crate::storage::fs::error::plain;
use crate::storage::layout::{TASKS, companion_of, task_id};
use crate::storage::{FileKind, FileStat, Paths, ProjectPath};

/// Something that stands among the tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WalkEntry {
    /// A task file, not yet read.
    Task(TaskEntry),
    /// Something that looks like one and is none.
    Stray(Stray),
}

/// A task file, not yet read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskEntry {
    pub id: TaskId,
    pub path: ProjectPath,
    pub stat: FileStat,
}

/// What cannot be a task file, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stray {
    /// Where it stands, below the project's root.
    pub path: PathBuf,
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
    WrongKind(FileKind),
    /// It stands where the folder should.
    NotAFolder(FileKind),
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

/// Goes through the task files in a folder of tasks; below `tasks/` itself those of active tasks.
pub(crate) fn entries<'p>(
    paths: &'p Paths,
    folder: &str,
) -> impl Iterator<Item = WalkEntry> + use<'p> {
    walk(paths, folder, folder == TASKS).filter_map(|item| match item {
        Ok(entry) => entry_of(paths, &entry),
        // No folder of tasks: no tasks.
        Err(fault) if fault.depth() == 0 && is_gone(&fault) => None,
        Err(fault) => Some(stray(paths, fault.path().unwrap_or(paths.root()), unreadable(&fault))),
    })
}

/// Goes through what has that name in a folder of tasks, whatever it is; below `tasks/` itself among active tasks.
pub(crate) fn named<'p>(
    paths: &'p Paths,
    folder: &str,
    name: &'p str,
) -> impl Iterator<Item = ProjectPath> + use<'p> {
    walk(paths, folder, folder == TASKS)
        .flatten()
        .filter(move |entry| entry.file_name() == name)
        .filter_map(|entry| paths.relative_joined(entry.path()))
}

/// Goes through all ordinary files in a folder of tasks; below `tasks/` itself among active tasks.
pub(crate) fn files<'p>(
    paths: &'p Paths,
    folder: &str,
) -> impl Iterator<Item = ProjectPath> + use<'p> {
    walk(paths, folder, folder == TASKS)
        .flatten()
        .filter(|entry| entry.file_type().is_file())
        .filter_map(|entry| paths.relative_joined(entry.path()))
}

/// Goes through the folders of the tasks, finished ones as well, `tasks/` first.
pub(crate) fn folders(paths: &Paths) -> impl Iterator<Item = ProjectPath> + '_ {
    walk(paths, TASKS, false)
        .flatten()
        .filter(|entry| entry.file_type().is_dir())
        .filter_map(|entry| paths.relative_joined(entry.path()))
}

fn walk(
    paths: &Paths,
    inside: &str,
    without_archive: bool,
) -> impl Iterator<Item = walkdir::Result<DirEntry>> + use<> {
    WalkDir::new(paths.root().join(inside)).follow_root_links(false).into_iter().filter_entry(
        move |entry| {
            let hidden =
                entry.depth() > 0 && entry.file_name().as_encoded_bytes().starts_with(b".");
            let archive = without_archive && entry.depth() == 1 && entry.file_name() == "archive";
            !hidden && !archive
        },
    )
}

fn entry_of(paths: &Paths, entry: &DirEntry) -> Option<WalkEntry> {
    let kind = FileKind::from(entry.file_type());
    let as_stray = |reason| Some(stray(paths, entry.path(), reason));
    let named_like_one = entry.file_name().as_encoded_bytes().ends_with(b".md");
    match kind {
        _ if entry.depth() == 0 && kind != FileKind::Folder => {
            return as_stray(StrayReason::NotAFolder(kind));
        }
        // A linked folder hides the tasks that somebody expects in it.
        FileKind::Symlink if named_like_one || entry.path().is_dir() => {
            return as_stray(StrayReason::WrongKind(kind));
        }
        _ if !named_like_one => return None,
        FileKind::File => {}
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
        Ok(metadata) => {
            Some(WalkEntry::Task(TaskEntry { id, path, stat: FileStat::of(&metadata) }))
        }
        // It went away since the folder was listed.
        Err(fault) if fault.io_error().is_some_and(|e| e.kind() == ErrorKind::NotFound) => None,
        Err(fault) => as_stray(unreadable(&fault)),
    }
}

fn is_gone(fault: &walkdir::Error) -> bool {
    fault.io_error().is_some_and(|cause| cause.kind() == ErrorKind::NotFound)
}

fn unreadable(fault: &walkdir::Error) -> StrayReason {
    StrayReason::Unreadable(fault.io_error().map_or_else(|| fault.to_string(), plain))
}

fn stray(paths: &Paths, path: &Path, reason: StrayReason) -> WalkEntry {
    let path = path.strip_prefix(paths.root()).unwrap_or(path).to_owned();
    WalkEntry::Stray(Stray { path, reason })
}
