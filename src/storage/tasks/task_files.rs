//! Task files as bytes: finding the one of an id, and reading it. Writes nothing.

use std::fs;
use std::io::ErrorKind;

use super::walk::{self, WalkEntry};
use crate::domain::{Layout, TaskId};
use crate::storage::fs::folder::list;
use crate::storage::layout::{ARCHIVE, TASKS, is_archived, task_path};
use crate::storage::{FileKind, FileStat, Folder, Paths, ProjectPath, StoreError};

/// The largest task file that is read.
pub(crate) const FILE_LIMIT: u64 = 16 * 1024 * 1024;

/// Where a task's file stands, and among which tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundFile {
    pub path: ProjectPath,
    pub place: TaskPlace,
}

/// Among which tasks a file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskPlace {
    Active,
    Archived,
}

/// A file as it was read. Its bytes are its version: no time stamp tells two versions apart for certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub path: ProjectPath,
    pub bytes: Vec<u8>,
    /// What the system told of it, for the cache of headers.
    pub stat: FileStat,
}

impl Snapshot {
    /// Returns whether the file still says the same.
    pub(crate) fn is_current(&self, paths: &Paths) -> Result<bool, StoreError> {
        match read(paths, &self.path) {
            Ok(now) => Ok(now.bytes == self.bytes),
            Err(StoreError::Gone { .. } | StoreError::TooLarge { .. }) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Returns whether the system sees no difference to what was read: enough to go on by, not to write by.
    pub(crate) fn seems_current(&self, paths: &Paths) -> bool {
        fs::symlink_metadata(self.path.below(paths.root()))
            .is_ok_and(|now| FileStat::of(&now) == self.stat)
    }
}

/// Finds the file of a task: at its usual places, else anywhere below `tasks/`, else in the archive, newest days first, else
/// anywhere there: people sort finished tasks, too.
///
/// A second file of the id is noticed where the search meets it; to look at all files each time would cost the more the more
/// tasks there are. So a file at a usual place counts, whatever stands elsewhere: see [`counting`].
pub(crate) fn find(paths: &Paths, id: &TaskId) -> Result<FoundFile, StoreError> {
    let mut standing = Vec::new();
    for path in usual_places(id) {
        if kind(paths, &path)?.is_some() {
            standing.push(path);
        }
    }
    if standing.is_empty() {
        standing = walk::named(paths, TASKS, &format!("{id}.md")).collect();
    }
    let in_archive = || {
        if let Some(path) = find_archived(paths, id)? {
            return Ok(FoundFile { path, place: TaskPlace::Archived });
        }
        only(id, walk::named(paths, ARCHIVE, &format!("{id}.md")).collect(), TaskPlace::Archived)
    };
    if standing.is_empty() {
        return in_archive();
    }
    let found = only(id, standing, TaskPlace::Active)?;
    if is_file(paths, &found.path)? {
        return Ok(found);
    }
    // Something else than a file hides no finished task; of any other task it is what is wrong.
    match in_archive() {
        Err(StoreError::TaskNotFound { .. }) => Ok(found),
        archived => archived,
    }
}

/// Returns the one file there is; which of several counts nobody can tell.
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
    [Layout::Flat, Layout::Sharded].map(|layout| task_path(id, layout))
}

/// Returns which of the files of one id, all that there are, is the task's wherever that id is named, as [`find`] has it; nothing
/// where nobody can tell.
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

/// Returns whether a file stands in the archive where the engine puts it: in the folder of a day.
fn is_of_a_day(path: &ProjectPath) -> bool {
    let inside = path.folder().strip_prefix(ARCHIVE).and_then(|rest| rest.strip_prefix('/'));
    inside.is_some_and(|day| day.split('/').count() == 3 && day.split('/').all(is_number))
}

fn is_number(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a task of that id stands at a usual place, or where the engine puts it in the archive: an id is given once.
pub(crate) fn is_taken(paths: &Paths, id: &TaskId) -> Result<bool, StoreError> {
    for path in usual_places(id) {
        if kind(paths, &path)?.is_some() {
            return Ok(true);
        }
    }
    Ok(find_archived(paths, id)?.is_some())
}

/// Reads a task file.
pub(crate) fn read(paths: &Paths, path: &ProjectPath) -> Result<Snapshot, StoreError> {
    let folder = Folder::open(paths.root(), path.folder())?;
    match folder.read(path.name(), FILE_LIMIT)? {
        Some((bytes, stat)) => Ok(Snapshot { path: path.clone(), bytes, stat }),
        None => Err(StoreError::Gone { path: path.below(paths.root()) }),
    }
}

/// Goes through the files of active tasks, in no order.
pub(crate) fn walk_active(paths: &Paths) -> impl Iterator<Item = WalkEntry> + '_ {
    walk::entries(paths, TASKS)
}

/// Goes through the files of finished tasks, in no order.
pub(crate) fn walk_archived(paths: &Paths) -> impl Iterator<Item = WalkEntry> + '_ {
    walk::entries(paths, ARCHIVE)
}

/// Goes through the files of the tasks that finished on the last day that the archive has, in no order.
pub(crate) fn walk_latest(paths: &Paths) -> impl Iterator<Item = WalkEntry> + '_ {
    let latest = |inside: String| numbered(paths, &inside).ok()?.into_iter().next();
    let day = latest(ARCHIVE.to_owned()).and_then(latest).and_then(latest);
    day.into_iter().flat_map(|day| walk::entries(paths, &day).collect::<Vec<_>>())
}

/// Returns why nobody can go through the tasks: something else stands in place of their folder, or it may not be looked into.
pub(crate) fn hidden(paths: &Paths) -> Option<StoreError> {
    let path = paths.tasks();
    let found = FileKind::from(path.symlink_metadata().ok()?.file_type());
    if found == FileKind::Folder {
        list(&path).err()
    } else {
        Some(StoreError::WrongKind { path, found, wanted: FileKind::Folder })
    }
}

/// Returns every id that has a file, active or archived: for suggesting what may have been meant.
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

/// Looks for the task in the folders of the days, newest first.
fn find_archived(paths: &Paths, id: &TaskId) -> Result<Option<ProjectPath>, StoreError> {
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

/// Returns what has a number as its name in a folder, the highest first.
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
        // Nobody sees a file where nobody may look.
        Err(StoreError::Io { cause, .. }) if cause.kind() == ErrorKind::PermissionDenied => {
            Ok(false)
        }
        found => Ok(found? == Some(FileKind::File)),
    }
}

/// Returns what stands at a path, if anything does.
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

#[cfg(test)]
mod tests;
