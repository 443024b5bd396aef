//! The versions of two commits at which two branches parted, which have each merged the other one since. Git merges these first, into
//! what it takes for the version that both began with; nobody ever sees it, and no commit has it.
//!
//! It has to be readable, or nothing is known of what both began with, and what one side took out comes back. So it has no markers:
//! what is disputed in it is something that neither side can have, so that it is disputed again as long as the two differ.

use super::endings::Alike;
use super::merge::{Draft, FileMerge, Sides, Versions};
use super::text_merge;
use super::unrelated_tasks::of_one_task;
use crate::domain::{Map, TaskId};
use crate::files::task_file;
use crate::files::task_file::TaskFile;
use crate::git::{Both, Marks};
use crate::project::error::error::OpsError;
use crate::rules::Rules;

/// What stands for what nobody has decided.
const UNDECIDED: &str = "\u{fffd} aof: undecided where two branches parted \u{fffd}";

/// Merges two versions of the file of a task into the one that two branches shall have begun with.
pub(crate) fn merge_bases(
    rules: &Rules,
    id: &TaskId,
    versions: Versions<'_>,
) -> Result<FileMerge, OpsError> {
    let versions = match of_one_task(id, versions) {
        Ok(versions) => versions,
        Err(kept) => return Ok(kept),
    };
    let alike = Alike::of(versions);
    let versions = alike.versions();
    let as_text = |why| text_merge::merged(versions, Some(why), &Marks::default());
    let sides = match Sides::read(rules, id, versions) {
        Ok(sides) => sides,
        Err(why) => return as_text(why),
    };
    match sides.merged(rules)? {
        Ok(draft) => match sides.undecided(&draft)? {
            Some(bytes) => Ok(draft.with(bytes)),
            None => draft.marked(&Marks::default()),
        },
        Err(why) => as_text(why),
    }
}

impl Sides {
    /// Returns the file without what is disputed; nothing where that would be no task.
    fn undecided(&self, draft: &Draft) -> Result<Option<Vec<u8>>, OpsError> {
        if draft.bytes.agree() {
            return Ok(Some(draft.bytes.ours.clone()));
        }
        let read = |bytes: &[u8]| task_file::parse(bytes, &self.ours.task.id, &self.defaults).ok();
        let (Some(ours), Some(theirs)) = (read(&draft.bytes.ours), read(&draft.bytes.theirs))
        else {
            return Ok(None);
        };
        let bytes = |file: &TaskFile| file.body().as_bytes().to_vec();
        let body = Both { ours: bytes(&ours), theirs: bytes(&theirs) }.undecided(UNDECIDED)?;
        let body = String::from_utf8_lossy(&body);
        // A key whose values are not any texts is away rather than something that it cannot be.
        let ways: [fn(&mut Map, &str); 2] = [
            |map, key| drop(map.insert(key.to_owned(), UNDECIDED.into())),
            |map, key| drop(map.shift_remove(key)),
        ];
        let written = ways.into_iter().find_map(|way| {
            let mut keys = ours.keys(self.scope());
            for path in &draft.disputed {
                let Some((last, path)) = path.split_last() else { continue };
                let inside =
                    path.iter().try_fold(&mut keys, |map, key| map.get_mut(key)?.as_object_mut());
                if let Some(map) = inside {
                    way(map, last);
                }
            }
            self.written(&ours, keys, None, &body).ok()
        });
        Ok(written.map(|file| file.bytes().to_vec()))
    }
}
