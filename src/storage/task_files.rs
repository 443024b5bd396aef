//! Task files as bytes: finds the file of an id, reads it, and walks all files. Writes nothing.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use std::{fmt, fs};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use walkdir::{DirEntry, WalkDir};

use crate::domain::{IdFault, TaskId, TaskLayout};
use crate::storage::fs::error::plain;
use crate::storage::fs::folder::list;
use crate::storage::layout::{
    ARCHIVE, TASKS, companion_of, copy_of, is_archived, task_id, task_path,
};
use crate::storage::{FileKind, FileStat, Folder, Paths, ProjectPath, StoreError};

/// The largest task file that is read.
pub(crate) const FILE_LIMIT: u64 = 16 * 1024 * 1024;

/// The path of a task's file, and whether it is active or archived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundFile {
    pub path: ProjectPath,
    pub place: TaskPlace,
}

/// The part of the task files that a file is in: active or archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskPlace {
    Active,
    Archived,
}

/// A file as read. Versions are compared by bytes: time stamps cannot distinguish them reliably.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub path: ProjectPath,
    pub bytes: Vec<u8>,
    /// Its metadata, for the cache of headers.
    pub stat: FileStat,
}

impl Snapshot {
    /// Returns whether the file still has the same bytes.
    pub(crate) fn is_current(&self, paths: &Paths) -> Result<bool, StoreError> {
        match read(paths, &self.path) {
            Ok(now) => Ok(now.bytes == self.bytes),
            Err(StoreError::Gone { .. } | StoreError::TooLarge { .. }) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Returns whether the metadata is unchanged. That is enough to continue, but not to overwrite the file.
    pub(crate) fn seems_current(&self, paths: &Paths) -> bool {
        fs::symlink_metadata(self.path.below(paths.root()))
            .is_ok_and(|now| FileStat::of(&now) == self.stat)
    }
}

/// Finds the file of a task: at its usual paths, otherwise anywhere below `tasks/`, otherwise in the archive by day, newest
/// first, otherwise anywhere in the archive, since people may sort it.
///
/// A second file of the id is an error only if the search finds it, since listing all files each time would be slow. So a file at
/// a usual path counts, even if there are others elsewhere: see [`counting`].
pub(crate) fn find(paths: &Paths, id: &TaskId) -> Result<FoundFile, StoreError> {
    let (mut standing, mut is_known_file) = (Vec::new(), false);
    for path in usual_places(id) {
        if let Some(kind) = kind(paths, &path)? {
            is_known_file = kind == FileKind::File;
            standing.push(path);
        }
    }
    if standing.is_empty() {
        standing = named(paths, TASKS, &format!("{id}.md")).collect();
    }
    let in_archive = || {
        if let Some(path) = find_archived(paths, id)? {
            return Ok(FoundFile { path, place: TaskPlace::Archived });
        }
        only(id, named(paths, ARCHIVE, &format!("{id}.md")).collect(), TaskPlace::Archived)
    };
    if standing.is_empty() {
        return in_archive();
    }
    let found = only(id, standing, TaskPlace::Active)?;
    if is_known_file || is_file(paths, &found.path)? {
        return Ok(found);
    }
    // A folder or link of that name does not hide a finished task; without such a task, it is the error.
    match in_archive() {
        Err(StoreError::TaskNotFound { .. }) => Ok(found),
        archived => archived,
    }
}

/// Returns the only file; fails if there are several, or none.
fn only(
    id: &TaskId,
    mut standing: Vec<ProjectPath>,
    place: TaskPlace,
) -> Result<FoundFile, StoreError> {
    standing.sort();
    match standing.len() {
        0 => Err(StoreError::TaskNotFound { id: id.clone() }),
        1 => Ok(FoundFile { path: standing.remove(0), place }),
        _ => Err(StoreError::TaskDoubled { id: id.clone(), paths: standing }),
    }
}

fn usual_places(id: &TaskId) -> [ProjectPath; 2] {
    [TaskLayout::Flat, TaskLayout::Sharded].map(|layout| task_path(id, layout))
}

/// Returns the file that [`find`] would return, given all files of one id; `None` if it would fail.
pub(crate) fn counting<'f>(id: &TaskId, files: &'f [ProjectPath]) -> Option<&'f ProjectPath> {
    let only = |mut among: Vec<&'f ProjectPath>| if among.len() == 1 { among.pop() } else { None };
    let active: Vec<_> = files.iter().filter(|path| !is_archived(path)).collect();
    let usual = usual_places(id);
    let standing: Vec<_> = active.iter().copied().filter(|path| usual.contains(path)).collect();
    match (standing.is_empty(), active.is_empty()) {
        (false, _) => only(standing),
        (true, false) => only(active),
        (true, true) => files
            .iter()
            .filter(|path| is_of_a_day(path))
            .max()
            .or_else(|| only(files.iter().collect())),
    }
}

/// Returns whether a file is in the archive folder of a day, where the engine puts it.
fn is_of_a_day(path: &ProjectPath) -> bool {
    let inside = path.folder().strip_prefix(ARCHIVE).and_then(|rest| rest.strip_prefix('/'));
    inside.is_some_and(|day| day.split('/').count() == 3 && day.split('/').all(is_number))
}

fn is_number(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether the id is in use: at a usual path, or in the archive by day.
pub(crate) fn is_taken(paths: &Paths, id: &TaskId) -> Result<bool, StoreError> {
    for path in usual_places(id) {
        if kind(paths, &path)?.is_some() {
            return Ok(true);
        }
    }
    Ok(find_archived(paths, id)?.is_some())
}

/// The time between two looks at an empty file, and their number.
const EMPTY_LOOKS: (Duration, usize) = (Duration::from_millis(2), 20);

/// Reads a task file. Git creates a file before it writes it, so an empty one is looked at again.
pub(crate) fn read(paths: &Paths, path: &ProjectPath) -> Result<Snapshot, StoreError> {
    let folder = Folder::open(paths.root(), path.folder())?;
    let (pause, mut looks) = EMPTY_LOOKS;
    loop {
        match folder.read(path.name(), FILE_LIMIT)? {
            Some((bytes, _)) if bytes.is_empty() && looks > 0 => {
                looks -= 1;
                thread::sleep(pause);
            }
            Some((bytes, stat)) => return Ok(Snapshot { path: path.clone(), bytes, stat }),
            None => return Err(StoreError::Gone { path: path.below(paths.root()) }),
        }
    }
}

/// Walks the files of active tasks, unordered.
pub(crate) fn walk_active(paths: &Paths) -> impl Iterator<Item = WalkEntry> + '_ {
    entries(paths, TASKS)
}

/// Walks the files of finished tasks, unordered.
pub(crate) fn walk_archived(paths: &Paths) -> impl Iterator<Item = WalkEntry> + '_ {
    entries(paths, ARCHIVE)
}

/// Walks the files of the latest days in the archive, unordered.
pub(crate) fn walk_latest(paths: &Paths, days: usize) -> impl Iterator<Item = WalkEntry> + '_ {
    let inside = |folder: String| numbered(paths, &folder).unwrap_or_default();
    let all = inside(ARCHIVE.to_owned()).into_iter().flat_map(inside).flat_map(inside);
    all.take(days).flat_map(|day| entries(paths, &day).collect::<Vec<_>>())
}

/// Returns the reason why the tasks cannot be listed: `tasks` is not a folder, or not readable.
pub(crate) fn hidden(paths: &Paths) -> Option<StoreError> {
    let path = paths.tasks();
    let found = FileKind::from(path.symlink_metadata().ok()?.file_type());
    if found == FileKind::Folder {
        list(&path).err()
    } else {
        Some(StoreError::WrongKind { path, found, wanted: FileKind::Folder })
    }
}

/// Returns every id that has a file, active or archived, for suggestions.
pub(crate) fn known_ids(paths: &Paths) -> Vec<TaskId> {
    let mut ids: Vec<TaskId> = walk_active(paths)
        .chain(walk_archived(paths))
        .filter_map(|entry| match entry {
            WalkEntry::Task(task) => Some(task.id),
            WalkEntry::Stray(_) => None,
        })
        .collect();
    ids.sort();
    ids.dedup();
    ids
}

/// Finds the task in the archive folders of days, newest first.
pub(crate) fn find_archived(paths: &Paths, id: &TaskId) -> Result<Option<ProjectPath>, StoreError> {
    for year in numbered(paths, ARCHIVE)? {
        for month in numbered(paths, &year)? {
            for day in numbered(paths, &month)? {
                let path: ProjectPath = format!("{day}/{id}.md").parse()?;
                if kind(paths, &path)?.is_some() {
                    return Ok(Some(path));
                }
            }
        }
    }
    Ok(None)
}

/// Returns the entries of a folder whose names are numbers, in descending order.
fn numbered(paths: &Paths, inside: &str) -> Result<Vec<String>, StoreError> {
    let entries = match list(&paths.root().join(inside)) {
        Err(StoreError::WrongKind { .. }) => return Ok(Vec::new()),
        entries => entries?,
    };
    let names = entries.into_iter().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_number(name)).collect();
    names.sort_by(|a, b| b.cmp(a));
    Ok(names.into_iter().map(|name| format!("{inside}/{name}")).collect())
}

fn is_file(paths: &Paths, path: &ProjectPath) -> Result<bool, StoreError> {
    match kind(paths, path) {
        // An unreadable folder hides its files.
        Err(StoreError::Io { cause, .. }) if cause.kind() == ErrorKind::PermissionDenied => {
            Ok(false)
        }
        found => Ok(found? == Some(FileKind::File)),
    }
}

/// Returns the kind of file at a path, if there is one.
fn kind(paths: &Paths, path: &ProjectPath) -> Result<Option<FileKind>, StoreError> {
    let path = path.below(paths.root());
    match fs::symlink_metadata(&path) {
        Ok(data) => Ok(Some(data.file_type().into())),
        Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(cause) => Err(StoreError::io("look at", &path, cause)),
    }
}

/// An entry found below `tasks/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WalkEntry {
    /// A task file, not yet read.
    Task(TaskEntry),
    /// An entry that looks like a task file but is not.
    Stray(Stray),
}

/// A task file, not yet read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskEntry {
    pub id: TaskId,
    pub path: ProjectPath,
    pub stat: FileStat,
}

/// An entry that cannot be a task file, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stray {
    /// Its path, relative to the project's root.
    pub path: PathBuf,
    pub reason: StrayReason,
}

impl Stray {
    /// Returns the task file that it belongs to, if it is named like a companion.
    pub(crate) fn companion_of(&self) -> Option<String> {
        let is_misnamed = matches!(self.reason, StrayReason::NotAnId(_));
        self.path.file_name().and_then(OsStr::to_str).filter(|_| is_misnamed).and_then(companion_of)
    }
}

/// The reason why an entry cannot be a task file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StrayReason {
    /// The entry ends in `.md`, but its name is not a task id.
    NotAnId(IdFault),
    /// The entry is a copy of that task's file, or of a companion, that a sync program made.
    Copy(TaskId),
    /// The entry is not an ordinary file.
    WrongKind(FileKind),
    /// The entry has the name of a folder, and is not one.
    NotAFolder(FileKind),
    /// Its path is not UTF-8.
    NotText,
    /// The system denies access to it.
    Unreadable(String),
}

impl fmt::Display for StrayReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnId(fault) => fault.fmt(f),
            Self::Copy(id) => {
                write!(
                    f,
                    "it is a copy of a file of {id}, as sync programs make where two versions meet"
                )
            }
            Self::WrongKind(kind) => write!(f, "it is {kind}, not a file"),
            Self::NotAFolder(kind) => write!(f, "it is {kind}, not a folder"),
            Self::NotText => f.write_str("its name is not UTF-8"),
            Self::Unreadable(reason) => f.write_str(reason),
        }
    }
}

/// Walks the task files below a folder of tasks; for `tasks/` itself, without the archive.
pub(crate) fn entries<'p>(
    paths: &'p Paths,
    folder: &str,
) -> impl Iterator<Item = WalkEntry> + use<'p> {
    let mut last = LastFolder::default();
    walk(paths, folder, folder == TASKS).filter_map(move |item| match item {
        Ok(entry) => entry_of(paths, &entry, &mut last),
        // A missing folder has no tasks.
        Err(fault) if fault.depth() == 0 && is_gone(&fault) => None,
        Err(fault) => Some(stray(paths, fault.path().unwrap_or(paths.root()), unreadable(&fault))),
    })
}

/// Walks the entries of that name below a folder of tasks, of any kind; for `tasks/` itself, without the archive.
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

/// Walks all ordinary files below a folder of tasks; for `tasks/` itself, without the archive.
pub(crate) fn files<'p>(
    paths: &'p Paths,
    folder: &str,
) -> impl Iterator<Item = ProjectPath> + use<'p> {
    walk(paths, folder, folder == TASKS)
        .flatten()
        .filter(|entry| entry.file_type().is_file())
        .filter_map(|entry| paths.relative_joined(entry.path()))
}

/// Walks the folders of tasks, including the archive, `tasks/` first.
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

/// The folder whose files were examined last, held open: a name in it is found faster than a whole path.
#[derive(Default)]
struct LastFolder(Option<(Vec<u8>, OwnedFd)>);

impl LastFolder {
    fn stat(&mut self, entry: &DirEntry) -> rustix::io::Result<FileStat> {
        let (path, name) = (entry.path().as_os_str().as_bytes(), entry.file_name());
        let path = path.strip_suffix(name.as_bytes()).unwrap_or(path);
        let folder = match self.0.take() {
            Some((known, folder)) if known == path => (known, folder),
            _ => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                (path.to_owned(), openat(CWD, path, flags, Mode::empty())?)
            }
        };
        let stat = statat(&folder.1, name, AtFlags::SYMLINK_NOFOLLOW);
        self.0 = Some(folder);
        stat.map(|stat| FileStat::of_stat(&stat))
    }
}

fn entry_of(paths: &Paths, entry: &DirEntry, last: &mut LastFolder) -> Option<WalkEntry> {
    let kind = FileKind::from(entry.file_type());
    let as_stray = |reason| Some(stray(paths, entry.path(), reason));
    let named_like_one = entry.file_name().as_encoded_bytes().ends_with(b".md");
    if let Some(id) =
        entry.file_name().to_str().and_then(copy_of).filter(|_| kind == FileKind::File)
    {
        return as_stray(StrayReason::Copy(id));
    }
    match kind {
        _ if entry.depth() == 0 && kind != FileKind::Folder => {
            return as_stray(StrayReason::NotAFolder(kind));
        }
        // A linked folder is reported, since the tasks in it are not found.
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
        // A companion with `.md`, such as a plan, belongs to its task.
        Err(_)
            if companion_of(name)
                .is_some_and(|task| entry.path().with_file_name(task).is_file()) =>
        {
            return None;
        }
        Err(fault) => return as_stray(StrayReason::NotAnId(fault)),
    };
    match last.stat(entry) {
        Ok(stat) => Some(WalkEntry::Task(TaskEntry { id, path, stat })),
        // The file was removed since the folder was listed.
        Err(Errno::NOENT) => None,
        Err(fault) => as_stray(StrayReason::Unreadable(plain(&fault.into()))),
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

/// A companion file that is not next to its task file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrphanedCompanion {
    /// The path of the companion.
    pub path: ProjectPath,
    /// The path of its task's file.
    pub task: ProjectPath,
}

/// Returns the companions among active tasks whose task file is elsewhere, in another folder or in the archive, sorted. Walks the
/// archive only if necessary.
pub(crate) fn orphaned_companions(paths: &Paths) -> Vec<OrphanedCompanion> {
    let (mut active, mut beside) = (HashMap::<String, Vec<ProjectPath>>::new(), Vec::new());
    for path in files(paths, TASKS) {
        match companion_of(path.name()) {
            Some(task) => beside.push((path, task)),
            None => active.entry(path.name().to_owned()).or_default().push(path),
        }
    }
    let is_apart = |path: &ProjectPath, task: &str| {
        active.get(task).is_none_or(|files| files.iter().all(|file| file.folder() != path.folder()))
    };
    beside.retain(|(path, task)| is_apart(path, task));
    let wanted: HashSet<&str> = beside
        .iter()
        .map(|(_, task)| task.as_str())
        .filter(|task| !active.contains_key(*task))
        .collect();
    let mut archived: HashMap<String, ProjectPath> = HashMap::new();
    let found = (!wanted.is_empty()).then(|| files(paths, ARCHIVE)).into_iter().flatten();
    for path in found.filter(|path| wanted.contains(path.name())) {
        let latest = archived.entry(path.name().to_owned()).or_insert_with(|| path.clone());
        if *latest < path {
            *latest = path;
        }
    }
    // Several files of the task are an error that is reported first.
    let only = |task: &str| {
        active.get(task).filter(|files| files.len() == 1).and_then(|files| files.first())
    };
    let of = |(path, task): (ProjectPath, String)| {
        let task = only(&task).or_else(|| archived.get(&task))?.clone();
        Some(OrphanedCompanion { path, task })
    };
    let mut orphaned_companions: Vec<OrphanedCompanion> =
        beside.into_iter().filter_map(of).collect();
    orphaned_companions.sort_by(|a, b| a.path.cmp(&b.path));
    orphaned_companions
}

#[cfg(test)]
mod orphan_tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_companion_stays_if_its_task_is_elsewhere() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        assert_eq!(orphaned_companions(&paths), []);
        for file in [
            "tasks/AOF-open1.md",
            "tasks/AOF-open1.log",
            "tasks/sprint/AOF-moved.md",
            "tasks/AOF-moved.log",
            "tasks/AOF-done1.log",
            "tasks/AOF-done1.log.swp",
            "tasks/AOF-done1.md.orig",
            "tasks/sprint/AOF-done2.plan.md",
            "tasks/AOF-both1.log",
            "tasks/AOF-both1.md",
            "tasks/AOF-nobody.log",
            "tasks/notes.txt",
            "tasks/.hidden/AOF-done1.log",
            "tasks/archive/2025/12/31/AOF-done1.md",
            "tasks/archive/2026/02/16/AOF-done1.md",
            "tasks/archive/2026/02/16/AOF-done1.txt",
            "tasks/archive/2026/02/16/AOF-done2.md",
            "tasks/archive/2026/02/16/AOF-both1.md",
        ] {
            fs::create_dir_all(home.path().join(file).parent().unwrap()).unwrap();
            fs::write(home.path().join(file), "").unwrap();
        }
        let found = orphaned_companions(&paths)
            .into_iter()
            .map(|found| [found.path, found.task].map(|path| path.to_string()));
        assert_eq!(
            found.collect::<Vec<_>>(),
            [
                ["tasks/AOF-done1.log", "tasks/archive/2026/02/16/AOF-done1.md"],
                ["tasks/AOF-moved.log", "tasks/sprint/AOF-moved.md"],
                ["tasks/sprint/AOF-done2.plan.md", "tasks/archive/2026/02/16/AOF-done2.md"],
            ]
        );
    }
}

#[cfg(test)]
mod tests;
