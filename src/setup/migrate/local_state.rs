//! Moves the local state of a project, `.aof/`, to its new folder by renaming. Repeating it continues an interrupted move.

use std::ffi::OsStr;
use std::path::Path;

use crate::storage::fs::folder::list;
use crate::storage::layout::LOCAL;
use crate::storage::{FileKind, Folder, StoreError};
use crate::system::crash_points;

/// The entries that belong to the folder where people work: its checkout of the branch, its lock and its journal.
const STAYS: [&str; 5] = ["branch", ".gitignore", "lock", "intent", "schema"];

/// Returns the names of the entries that would move.
pub(crate) fn movable(root: &Path) -> Result<Vec<String>, StoreError> {
    let Some(folder) = Folder::open_existing(root, LOCAL)? else { return Ok(Vec::new()) };
    let mut names: Vec<String> = list(folder.path())?
        .into_iter()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !STAYS.contains(&name.as_str()))
        .collect();
    names.sort();
    Ok(names)
}

/// Moves the entries of the local folder. What has the same name in both stays where it is.
pub(crate) fn move_local(root: &Path, to: &Path) -> Result<(), StoreError> {
    let (from, to) = (Folder::create(root, LOCAL)?, Folder::create(to, LOCAL)?);
    match to.create_new(".gitignore", b"*\n") {
        Ok(()) | Err(StoreError::Exists { .. }) => {}
        Err(fault) => return Err(fault),
    }
    for name in movable(root)? {
        move_entry(&from, &to, &name)?;
        crash_points::point("migrate.state-moving");
    }
    to.sync()?;
    from.sync()
}

fn move_entry(from: &Folder, to: &Folder, name: &str) -> Result<(), StoreError> {
    match from.move_new(OsStr::new(name), to, OsStr::new(name)) {
        Err(StoreError::Exists { .. }) => {}
        other => return other,
    }
    let is_folder =
        |folder: &Folder| Ok::<_, StoreError>(folder.kind(name)? == Some(FileKind::Folder));
    if !is_folder(from)? || !is_folder(to)? {
        return Ok(());
    }
    let (inside, target) = (from.child(name)?, to.child(name)?);
    for entry in list(inside.path())? {
        if let Ok(name) = entry.file_name().into_string() {
            move_entry(&inside, &target, &name)?;
        }
    }
    // A folder with something left stays.
    let _ = std::fs::remove_dir(inside.path());
    target.sync()
}
