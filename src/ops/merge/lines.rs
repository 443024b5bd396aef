//! The frontmatter merged as text where that says what was meant: comments and quotes of both sides stay as they were written.

use super::Sides;
use crate::audit::merge_texts;
use crate::engine::merge::{Keys, with_people_of};
use crate::format::task_file::{self, TaskFile};
use crate::model::Task;
use crate::ops::error::OpsError;

/// Returns the file that stands with what the other side's people changed in the frontmatter, as they wrote it; nothing where lines
/// are disputed, or the text would not say what was merged.
pub(super) fn merged(
    sides: &Sides,
    (standing, other): (&TaskFile, &TaskFile),
    meant: &Task,
    keys: &Keys,
) -> Result<Option<TaskFile>, OpsError> {
    let Some(base) = sides.base.as_ref().filter(|_| keys.disputed.is_empty()) else { return Ok(None) };
    if other.origin != base.origin || !other.task.history.starts_with(&base.task.history) {
        return Ok(None);
    }
    // What the other side's engine wrote does not stand: what is left is what its people changed.
    let before = with_people_of(&base.task, &other.task);
    let Ok(people) = other.rewind(&before) else { return Ok(None) };
    let both = merge_texts(base.head().as_bytes(), standing.head().as_bytes(), task_file::head(&people).as_bytes())?;
    if !both.agree() {
        return Ok(None);
    }
    let text = [&both.ours[..], standing.rest().as_bytes()].concat();
    let read = task_file::parse(&text, &standing.task.id, &sides.defaults).ok();
    Ok(read.filter(|file| file.task == *meant && file.keys(sides.scope()) == keys.merged))
}
