//! Files that were written beside get their places, and what is to go is removed: each at the very path, and only over what was looked
//! at. Nothing is asked here of what people have changed; that comes before.

use std::collections::BTreeMap;

use super::incoming_files::Coming;
use super::worktree_folder::folder::{Below, Found, Seen};
use crate::git::error::{AuditError, with_cause};
use crate::git::log::path_diff::Changes;
use crate::git::objects::tree::{Leaf, MODE_SUBMODULE};
use crate::git::repository::repository::Repository;
use crate::system::crash_points;

/// How what stands at the paths looked, where files or links stood there.
pub(crate) type Sights = BTreeMap<String, Seen>;

impl Repository {
    /// Looks at what stands where something is to change. Whoever asks after that what of it is somebody's has asked about just this.
    pub(crate) fn sights(&self, changes: &Changes) -> Result<Sights, AuditError> {
        let below = Below::open(self.worktree_root())?;
        let mut sights = Sights::new();
        for path in changes.keys() {
            if let Some(seen) = below.found(path)?.seen() {
                sights.insert(path.clone(), seen);
            }
        }
        Ok(sights)
    }

    /// Gives the files their places, and removes those that the later commit does not have; returns which changes are made thereby.
    /// What cannot be placed is `NotBrought`: some of the others may have their places. `InTheWay` says that nothing was changed.
    pub(crate) fn place(
        &self,
        coming: &Coming,
        changes: &Changes,
        sights: &Sights,
    ) -> Result<Changes, AuditError> {
        if coming.files.is_empty() {
            return Ok(Changes::new());
        }
        let below = Below::open(self.worktree_root())?;
        for (path, _) in &coming.files {
            if let Found::Behind(other) = below.found(path)? {
                return Err(AuditError::InTheWay { files: vec![other] });
            }
        }
        give_places(&below, coming, changes, sights).map_err(|error| {
            let detail = match error {
                AuditError::InTheWay { files } => {
                    format!("`{}` was changed at that moment", files.join("`, `"))
                }
                error => with_cause(&error),
            };
            AuditError::NotBrought { detail }
        })
    }
}

fn give_places(
    below: &Below,
    coming: &Coming,
    changes: &Changes,
    sights: &Sights,
) -> Result<Changes, AuditError> {
    let is_gone = |(before, after): (Option<Leaf>, Option<Leaf>)| {
        after.is_none() && before.is_some_and(|leaf| leaf.mode != MODE_SUBMODULE)
    };
    for (path, _) in changes.iter().filter(|(_, change)| is_gone(**change)) {
        // Behind a link nothing was seen.
        if let Some(seen) = sights.get(path) {
            below.remove(path, *seen)?;
        }
    }
    let mut made = Changes::new();
    for (path, written) in &coming.files {
        let Some(change) = changes.get(path) else { continue };
        below.put(written, path, sights.get(path).copied())?;
        made.insert(path.clone(), *change);
        crash_points::point("audit.bring-placed");
    }
    // The branch says that they are there: a power cut may not take one of them back then.
    let removed = changes.iter().filter(|(_, change)| is_gone(**change)).map(|(path, _)| path);
    below.sync_folders(made.keys().chain(removed).map(String::as_str))?;
    Ok(made)
}
