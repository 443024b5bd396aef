//! Old runs go.

use std::fs;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use super::runs::{LOCK, VisitRuns, numbers};
use crate::storage::{Folder, Kind, StoreError};

/// How many attempts of a visit are kept.
pub(crate) const MOST_ATTEMPTS: usize = 20;
/// How long a visit's runs are kept after the last of them began.
pub(crate) const KEPT: Duration = Duration::from_hours(30 * 24);
/// What the name of a visit begins with that is being removed.
const GONE: &str = ".gone-";

/// Removes the attempts of a visit but the last ones.
pub(crate) fn attempts(visit: &VisitRuns) -> Result<(), StoreError> {
    let numbers = numbers(visit.folder.path())?;
    let old = numbers.iter().take(numbers.len().saturating_sub(MOST_ATTEMPTS));
    old.map(u32::to_string).try_for_each(|old| remove(&visit.folder, &old))
}

/// Removes the visits that nobody has run anything at for long, until `stop` is set; one that somebody runs stays.
pub(crate) fn visits(runs: &Folder, now: SystemTime, stop: &AtomicBool) -> Result<(), StoreError> {
    let fault = |cause| StoreError::io("list the folder", runs.path(), cause);
    for entry in fs::read_dir(runs.path()).map_err(fault)? {
        let entry = entry.map_err(fault)?;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.contains('@')) else { continue };
        if stop.load(Ordering::Relaxed) {
            break;
        }
        // The folder changes when an attempt begins.
        let changed = entry.metadata().and_then(|metadata| metadata.modified());
        let is_old =
            changed.is_ok_and(|changed| now.duration_since(changed).is_ok_and(|age| age >= KEPT));
        if (is_old || name.starts_with(GONE)) && runs.kind(name)? == Some(Kind::Folder) {
            // One that cannot be removed keeps none of the others.
            let _ = remove_visit(runs, name);
        }
    }
    Ok(())
}

/// Removes a visit unless somebody runs it. Under its own name it is there whole or not at all: whoever waits for its lock finds
/// that the file is gone, and makes a new one in a new folder. A kill leaves it under a name that is nobody's.
fn remove_visit(runs: &Folder, name: &str) -> Result<(), StoreError> {
    if name.starts_with(GONE) {
        return remove(runs, name);
    }
    let lock = runs.child(name)?.open_lock(LOCK)?;
    if fs4::FileExt::try_lock(&lock).is_err() {
        return Ok(());
    }
    let gone = format!("{GONE}{name}");
    remove(runs, &gone)?;
    runs.move_new(name.as_ref(), runs, gone.as_ref())?;
    drop(lock);
    remove(runs, &gone)
}

fn remove(folder: &Folder, name: &str) -> Result<(), StoreError> {
    let place = folder.path().join(name);
    match fs::remove_dir_all(&place) {
        Err(cause) if cause.kind() != ErrorKind::NotFound => {
            Err(StoreError::io("remove", &place, cause))
        }
        _ => Ok(()),
    }
}
