//! Refused files: each beside the reason why, under a name that is free. The reason goes first, so that no file is without.

use std::cmp::Reverse;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::delivery_lock;
use super::inbox::{Inbox, Item, Shelf, Taken, split};
use super::scan::FILE_LIMIT;
use crate::storage::fs::file_names;
use crate::storage::fs::file_names::is_debris;
use crate::storage::layout::REFUSED;
use crate::storage::random::random_local;
use crate::storage::{Folder, Kind, StoreError};
use crate::system::crash_points;

/// What the file of a reason ends with, after the name of the file that it is about.
pub(crate) const REASON: &str = ".reason.json";
/// How many refused files of one name are numbered.
const COUNTED: usize = 9;

impl Inbox<'_> {
    /// Returns the names of the files that were refused, and that nobody took away, the last one first.
    pub fn refused(&self) -> Result<Vec<String>, StoreError> {
        let Some(folder) = Folder::open_existing(self.paths.root(), REFUSED)? else {
            return Ok(Vec::new());
        };
        let fault = |cause| StoreError::io("list the folder", folder.path(), cause);
        let mut names = Vec::new();
        for entry in fs::read_dir(folder.path()).map_err(fault)? {
            let file = entry.map_err(fault)?.file_name();
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
    pub fn refuse(&self, item: &Item, reason: &Value) -> Result<Option<PathBuf>, StoreError> {
        let from = self.folder(item.shelf.folder())?;
        let refused = Folder::create(self.paths.root(), REFUSED)?;
        let text = format!("{reason:#}\n");
        let wanted = refused_name(item);
        if from.kind(&item.name)?.is_none() {
            return Ok(None);
        }
        // What is there without its file was then left by somebody who was killed, or whose file was taken away.
        let _alone = delivery_lock::alone_in(&refused)?;
        forget_reasons(&refused, &wanted, reason);
        let mut attempt = 1;
        loop {
            let name = match attempt {
                1..=COUNTED => numbered(&wanted, attempt),
                // A name that everybody uses: counting on would take longer each time.
                _ => file_names::tagged(&wanted, &random_local(6)?),
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

    /// Removes the reasons for which a file was about to be refused when that was broken off; `told` is what any of them says
    /// of it. Whoever does so holds the file.
    pub fn forget_reasons(&self, taken: &Taken, told: &Value) {
        // A reason for nothing confuses, no more, so no trouble with one keeps a completion from counting.
        let Ok(Some(refused)) = Folder::open_existing(self.paths.root(), REFUSED) else { return };
        let wanted = refused_name(&taken.item);
        if matches!(refused.kind(with_reason(&wanted)), Ok(Some(_)))
            && let Ok(_alone) = delivery_lock::alone_in(&refused)
        {
            forget_reasons(&refused, &wanted, told);
        }
    }
}

impl Item {
    /// Returns the name without the id that a taken file has.
    fn delivered_name(&self) -> &OsStr {
        let text = self.name.to_str();
        match text.and_then(split) {
            Some((_, _, name)) if self.shelf == Shelf::Taken => OsStr::new(name),
            _ => &self.name,
        }
    }
}

/// Puts the reason where it belongs, then the file. What has the name of either keeps it.
fn place(
    from: &Folder,
    item: &Item,
    refused: &Folder,
    name: &OsStr,
    text: &[u8],
) -> Result<(), StoreError> {
    if refused.kind(name)?.is_some() {
        return Err(StoreError::Exists { path: refused.path().join(name) });
    }
    let reason = with_reason(name);
    refused.create_new(&reason, text)?;
    crash_points::point("inbox.reason-written");
    from.move_new(&item.name, refused, name).inspect_err(|_| {
        // A reason for nothing confuses, no more; the fault is what counts.
        let _ = refused.remove(&reason);
    })
}

/// Removes what says of that very file why it was refused, and has no file beside it.
fn forget_reasons(refused: &Folder, wanted: &OsStr, told: &Value) {
    for attempt in 1..=COUNTED {
        let name = numbered(wanted, attempt);
        let reason = with_reason(&name);
        match (refused.kind(&name), refused.kind(&reason)) {
            (Ok(None), Ok(None)) => break,
            (Ok(None), Ok(Some(Kind::File))) if is_of(refused, &reason, told) => {
                drop(refused.remove(&reason));
            }
            _ => {}
        }
    }
}

fn is_of(refused: &Folder, reason: &OsStr, told: &Value) -> bool {
    let Ok(Some((bytes, _))) = refused.read(reason, FILE_LIMIT) else { return false };
    let Ok(written) = serde_json::from_slice::<Value>(&bytes) else { return false };
    told["file"].is_string()
        && written["file"] == told["file"]
        && written["sha256"] == told["sha256"]
}

/// Returns the name that a refused file is to have if it is free, with room for a number and for the reason's suffix.
fn refused_name(item: &Item) -> OsString {
    file_names::fitted(item.delivered_name(), REASON.len() + 8)
}

fn numbered(wanted: &OsStr, attempt: usize) -> OsString {
    if attempt == 1 { wanted.to_owned() } else { file_names::tagged(wanted, &attempt.to_string()) }
}

fn with_reason(name: &OsStr) -> OsString {
    let mut reason = name.to_owned();
    reason.push(REASON);
    reason
}
