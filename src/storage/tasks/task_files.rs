//! Task files as bytes: finding the one of an id, reading it, going through all. Writes nothing.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::walk;
use crate::domain::{Layout, TaskId};
use crate::storage::layout::{ARCHIVE, TASKS, is_archived, task_path};
use crate::storage::{FileStat, Folder, Kind, Paths, ProjectPath, StoreError};

use super::walk::Entry;

/// The largest task file that is read.
pub(crate) const FILE_LIMIT: u64 = 16 * 1024 * 1024;

/// Where a task's file stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Its path.
    pub path: ProjectPath,
    /// Among which tasks.
    pub place: Place,
}

/// Among which tasks a file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The active ones.
    Active,
    /// The finished ones.
    Archived,
}

/// A file as it was read. Its bytes are its version: no time stamp tells two versions apart for certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// Where.
    pub path: ProjectPath,
    /// What it said.
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

/// Finds the file of a task: at its usual places, else anywhere below `tasks/`, else in the archive, newest days first, else anywhere
/// there: people sort what is finished, too.
///
/// A second file of the id is noticed where the search comes by; [`walk_active`] shows them all, and to go through them each time
/// would cost the more the more tasks there are. So a file at a usual place counts, whatever stands elsewhere: see [`counting`].
pub(crate) fn find(paths: &Paths, id: &TaskId) -> Result<Found, StoreError> {
    let usual = [Layout::Flat, Layout::Sharded].map(|layout| task_path(id, layout));
    let mut standing = Vec::new();
    for path in usual {
        if exists(&path.below(paths.root()))? {
            standing.push(path);
        }
    }
    if standing.is_empty() {
        standing = walk::named(paths, &format!("{id}.md")).collect();
    }
    let in_archive = || match find_archived(paths, id)? {
        Some(path) => Ok(Found { path, place: Place::Archived }),
        None => only(
            id,
            walk::named_below(paths, ARCHIVE, &format!("{id}.md")).collect(),
            Place::Archived,
        ),
    };
    if standing.is_empty() {
        return in_archive();
    }
    let found = only(id, standing, Place::Active)?;
    if is_file(&found.path.below(paths.root()))? {
        return Ok(found);
    }
    // What is no file there is none of a task that has one in the archive; of another one it is what is wrong.
    match in_archive() {
        Err(StoreError::TaskNotFound { .. }) => Ok(found),
        archived => archived,
    }
}

/// Returns the one file there is; which of several counts nobody can tell.
fn only(id: &TaskId, mut standing: Vec<ProjectPath>, place: Place) -> Result<Found, StoreError> {
    standing.sort();
    match (standing.pop(), standing.is_empty()) {
        (None, _) => Err(StoreError::TaskNotFound { id: id.clone() }),
        (Some(path), true) => Ok(Found { path, place }),
        (Some(path), false) => {
            standing.push(path);
            Err(StoreError::TaskDoubled { id: id.clone(), paths: standing })
        }
    }
}

/// Returns the other active files of a task that has one there: at its usual places, in any folder whose name is two characters long, as
/// those of the sharded layout are, and anywhere in the others. What is no file, as a link to it, is none, and nobody sees one where
/// nobody may look. Not for every day: it goes through the folders of people.
pub(crate) fn doubles(
    paths: &Paths,
    id: &TaskId,
    own: &ProjectPath,
) -> Result<Vec<ProjectPath>, StoreError> {
    let name = format!("{id}.md");
    let mut found: Vec<ProjectPath> = Vec::new();
    let mut look = |path: ProjectPath| -> Result<(), StoreError> {
        if path != *own && is_file(&path.below(paths.root()))? {
            found.push(path);
        }
        Ok(())
    };
    look(task_path(id, Layout::Flat))?;
    for folder in walk::folders_of_tasks(paths)? {
        if folder.len() == 2 {
            look(format!("{TASKS}/{folder}/{name}").parse()?)?;
        } else {
            walk::named_below(paths, &format!("{TASKS}/{folder}"), &name)
                .try_for_each(&mut look)?;
        }
    }
    found.sort();
    Ok(found)
}

/// Returns which of the files of one id, all that there are, is the task's wherever that id is named, as [`find`] has it; nothing
/// where nobody can tell.
pub(crate) fn counting<'f>(id: &TaskId, files: &'f [ProjectPath]) -> Option<&'f ProjectPath> {
    let only = |mut among: Vec<&'f ProjectPath>| if among.len() == 1 { among.pop() } else { None };
    let active: Vec<_> = files.iter().filter(|path| !is_archived(path)).collect();
    let usual = [Layout::Flat, Layout::Sharded].map(|layout| task_path(id, layout));
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
    for layout in [Layout::Flat, Layout::Sharded] {
        if exists(&task_path(id, layout).below(paths.root()))? {
            return Ok(true);
        }
    }
    Ok(find_archived(paths, id)?.is_some())
}

/// Returns whether anything stands at a path.
pub(crate) fn stands(paths: &Paths, path: &ProjectPath) -> Result<bool, StoreError> {
    exists(&path.below(paths.root()))
}

/// Reads a task file.
pub(crate) fn read(paths: &Paths, path: &ProjectPath) -> Result<Snapshot, StoreError> {
    read_limited(paths, path, FILE_LIMIT)
}

/// Reads any file of the project of at most that many bytes.
pub(crate) fn read_limited(
    paths: &Paths,
    path: &ProjectPath,
    limit: u64,
) -> Result<Snapshot, StoreError> {
    let folder = Folder::open(paths.root(), path.folder())?;
    match folder.read(path.name(), limit)? {
        Some((bytes, stat)) => Ok(Snapshot { path: path.clone(), bytes, stat }),
        None => Err(StoreError::Gone { path: path.below(paths.root()) }),
    }
}

/// Goes through the files of active tasks, in no order.
pub(crate) fn walk_active(paths: &Paths) -> impl Iterator<Item = Entry> + '_ {
    walk::active(paths)
}

/// Goes through the files of finished tasks, in no order.
pub(crate) fn walk_archived(paths: &Paths) -> impl Iterator<Item = Entry> + '_ {
    walk::archived(paths)
}

/// Goes through the files of the tasks that finished on the last day that the archive has, in no order.
pub(crate) fn walk_latest(paths: &Paths) -> impl Iterator<Item = Entry> + '_ {
    let latest = |inside: String| numbered(paths, &inside).ok()?.into_iter().next();
    let day = latest(ARCHIVE.to_owned()).and_then(latest).and_then(latest);
    day.into_iter().flat_map(|day| walk::below(paths, &day).collect::<Vec<_>>())
}

/// Returns why nobody can go through the tasks: something else stands in place of their folder, or it may not be looked into.
pub(crate) fn hidden(paths: &Paths) -> Option<StoreError> {
    let folder = paths.tasks();
    let listed = match fs::symlink_metadata(&folder) {
        Ok(data) if !data.is_dir() => {
            return Some(StoreError::WrongKind {
                path: folder,
                found: data.file_type().into(),
                wanted: Kind::Folder,
            });
        }
        Ok(_) => fs::read_dir(&folder).map(drop),
        Err(cause) => Err(cause),
    };
    let cause = listed.err().filter(|cause| cause.kind() != ErrorKind::NotFound)?;
    Some(StoreError::io("list the folder", &folder, cause))
}

/// Returns every id that has a file, active or archived: for suggesting what may have been meant.
pub(crate) fn known_ids(paths: &Paths) -> Vec<TaskId> {
    let mut ids: Vec<TaskId> = walk_active(paths)
        .chain(walk_archived(paths))
        .filter_map(|entry| match entry {
            Entry::Task(task) => Some(task.id),
            Entry::Stray(_) => None,
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
                if exists(&path.below(paths.root()))? {
                    return Ok(Some(path));
                }
            }
        }
    }
    Ok(None)
}

/// Returns the folders there whose names are numbers, the highest first.
fn numbered(paths: &Paths, inside: &str) -> Result<Vec<String>, StoreError> {
    let folder = paths.root().join(inside);
    let fault = |cause| StoreError::io("list the folder", &folder, cause);
    let listing = match fs::read_dir(&folder) {
        Ok(listing) => listing,
        Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(cause) => return Err(fault(cause)),
    };
    let mut names = Vec::new();
    for entry in listing {
        if let Ok(name) = entry.map_err(fault)?.file_name().into_string()
            && is_number(&name)
        {
            names.push(name);
        }
    }
    names.sort_by(|a, b| b.cmp(a));
    Ok(names.into_iter().map(|name| format!("{inside}/{name}")).collect())
}

fn exists(path: &Path) -> Result<bool, StoreError> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(false)
        }
        Err(cause) => Err(StoreError::io("look at", path, cause)),
    }
}

fn is_file(path: &Path) -> Result<bool, StoreError> {
    use ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    match fs::symlink_metadata(path) {
        Ok(data) => Ok(data.is_file()),
        Err(cause) if matches!(cause.kind(), NotFound | NotADirectory | PermissionDenied) => {
            Ok(false)
        }
        Err(cause) => Err(StoreError::io("look at", path, cause)),
    }
}

#[cfg(test)]
mod tests;
