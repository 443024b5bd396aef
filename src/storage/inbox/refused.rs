//! Refused files: each beside the reason why, under a name that is free. The reason goes first, so that no file is without.

use std::cmp::Reverse;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::files::{FILE_LIMIT, Inbox, InboxFile, InboxFolder, LONGEST_NAME};
use super::taken::split;
use crate::storage::fs::folder::list;
use crate::storage::layout::{REFUSED, is_debris};
use crate::storage::random::random_local;
use crate::storage::{Folder, StoreError};
use crate::system::crash_points;

/// What the file of a reason ends with, after the name of the file that it is about.
pub(crate) const REASON: &str = ".reason.json";
/// How many refused files of one name are numbered.
const COUNTED: usize = 9;

impl Inbox<'_> {
    /// Returns the names of the files that were refused, and that nobody took away, the last one first.
    pub(crate) fn refused(&self) -> Result<Vec<String>, StoreError> {
        let Some(folder) = Folder::open_existing(self.paths.root(), REFUSED)? else {
            return Ok(Vec::new());
        };
        let mut names = Vec::new();
        for entry in list(folder.path())? {
            let file = entry.file_name();
            let name = file.to_string_lossy().into_owned();
            if !name.ends_with(REASON) && !is_debris(&name) {
                // The reason was written when it was refused; the file may be as old as it likes.
                let refused = folder.stat(with_reason(&file)).ok().flatten().map(|stat| stat.mtime);
                names.push((Reverse(refused), name));
            }
        }
        names.sort();
        Ok(names.into_iter().map(|(_, name)| name).collect())
    }

    /// Moves a file to the refused ones, the reason beside it, and returns where it is now; `None` if it is gone.
    pub(crate) fn refuse(
        &self,
        item: &InboxFile,
        reason: &Value,
    ) -> Result<Option<PathBuf>, StoreError> {
        let from = self.folder(item.shelf.folder())?;
        let refused = Folder::create(self.paths.root(), REFUSED)?;
        let text = format!("{reason:#}\n");
        let wanted = item.refused_name();
        if from.kind(&item.name)?.is_none() {
            return Ok(None);
        }
        let mut attempt = 1;
        loop {
            let name = match attempt {
                1 => wanted.clone(),
                2..=COUNTED => tagged(&wanted, &attempt.to_string()),
                // A name that everybody uses: counting on would take longer each time.
                _ => tagged(&wanted, &random_local(6)?),
            };
            match place(&from, item, &refused, &name, text.as_bytes()) {
                Ok(()) => {
                    refused.sync()?;
                    from.sync()?;
                    return Ok(Some(refused.path().join(name)));
                }
                Err(StoreError::Exists { .. }) => attempt += 1,
                Err(StoreError::Gone { .. }) => return Ok(None),
                Err(fault) => return Err(fault),
            }
        }
    }
}

impl InboxFile {
    /// Returns the name that it came under, cut where that leaves no room for a number and for the reason's suffix.
    fn refused_name(&self) -> OsString {
        let name = match self.name.to_str().and_then(split) {
            Some((_, _, name)) if self.shelf == InboxFolder::Taken => OsStr::new(name),
            _ => &self.name,
        };
        if name.len() <= LONGEST_NAME {
            return name.to_owned();
        }
        name.to_string_lossy().chars().take(LONGEST_NAME / 4).collect::<String>().into()
    }
}

/// Puts the reason where it belongs, then the file. What has the name of either keeps it; but the same reason without a file is
/// what a kill left in between.
fn place(
    from: &Folder,
    item: &InboxFile,
    refused: &Folder,
    name: &OsStr,
    text: &[u8],
) -> Result<(), StoreError> {
    if refused.kind(name)?.is_some() {
        return Err(StoreError::Exists { path: refused.path().join(name) });
    }
    let reason = with_reason(name);
    match refused.create_new(&reason, text) {
        Err(StoreError::Exists { path }) => {
            let standing = refused.read(&reason, FILE_LIMIT).ok().flatten();
            if standing.is_none_or(|(standing, _)| standing != text) {
                return Err(StoreError::Exists { path });
            }
        }
        created => created?,
    }
    crash_points::point("inbox.reason-written");
    from.move_new(&item.name, refused, name).inspect_err(|_| {
        // A reason for nothing confuses, no more; the fault is what counts.
        if let Ok(None) = refused.kind(name) {
            let _ = refused.remove(&reason);
        }
    })
}

fn with_reason(name: &OsStr) -> OsString {
    let mut reason = name.to_owned();
    reason.push(REASON);
    reason
}

/// Returns the name with a tag before its suffix: `done-2.yaml`.
pub(crate) fn tagged(name: &OsStr, tag: &str) -> OsString {
    let path = Path::new(name);
    let mut tagged = path.file_stem().unwrap_or(name).to_owned();
    tagged.push(format!("-{tag}"));
    if let Some(suffix) = path.extension() {
        tagged.push(".");
        tagged.push(suffix);
    }
    tagged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_go_before_the_suffix() {
        assert_eq!(tagged(OsStr::new("done.yaml"), "2"), "done-2.yaml");
        assert_eq!(tagged(OsStr::new("done"), "3"), "done-3");
    }
}
