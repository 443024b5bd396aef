//! Two versions of a task file, merged by meaning: the history by the rules, people's keys one by one, the body as text.
//!
//! Bytes are kept: the file is that of the side which stands, with what the other side's people changed put into it. Whatever
//! cannot be merged without a guess is left to a person: what is disputed stands between git's markers, and nothing else does.
//! Reads and writes no file; knows no branch.

use super::body;
use super::lines;
use super::text_merge;
use super::unrelated_tasks::of_one_task;

use crate::domain::{Map, Task, TaskId, Ticket, Timestamp};
use crate::files::task_file;
use crate::files::task_file::{Defaults, Origin, Scope, Spliced, TaskFile};
use crate::git::{Both, Marks};
use crate::rules::Rules;
use crate::rules::merge::{
    Dropped, Keys, Merged, Side, Superseded, apart, merge, merge_keys, with_people_of,
};

use super::endings::Alike;
use crate::project::error::error::OpsError;

/// The versions of one file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Versions<'v> {
    /// What both sides had; nothing where they began apart, or it is not known.
    pub base: Option<&'v [u8]>,
    /// The one that is merged into.
    pub ours: &'v [u8],
    /// The one that comes in.
    pub theirs: &'v [u8],
}

/// A file that was merged.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FileMerge {
    /// The file, with markers in it where there are conflicts.
    pub bytes: Vec<u8>,
    /// What a person has to decide; nothing where the file is whole.
    pub conflicts: Vec<Conflict>,
    /// Entries of the other side that count no more.
    pub superseded: Vec<Superseded>,
    /// How many entries of the other side were decided again on top of what stands.
    pub carried: usize,
    /// What the other side had said without an entry, and is said no more.
    pub dropped: Vec<Dropped>,
    /// Comments in the frontmatter of the side that does not stand for which there was no place.
    pub left_out: Vec<String>,
}

/// Something that a person has to decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// Both sides changed this key, each otherwise.
    Key(String),
    /// Both sides changed the same lines of the body.
    Body,
    /// The file could not be merged by meaning, for this reason.
    File(String),
    /// Git took the file of this task for the one that is merged, renamed.
    OtherTask(TaskId),
}

impl FileMerge {
    /// Takes these bytes as they are.
    pub(crate) fn taken(bytes: &[u8], conflicts: Vec<Conflict>) -> Self {
        let (superseded, dropped, left_out) = (Vec::new(), Vec::new(), Vec::new());
        Self { bytes: bytes.to_vec(), conflicts, superseded, carried: 0, dropped, left_out }
    }
}

/// Merges two versions of the file of a task.
pub(crate) fn merge_files(
    rules: &Rules,
    id: &TaskId,
    versions: Versions<'_>,
    marks: &Marks,
) -> Result<FileMerge, OpsError> {
    let versions = match of_one_task(id, versions) {
        Ok(versions) => versions,
        Err(kept) => return Ok(kept),
    };
    let alike = Alike::of(versions);
    let versions = alike.versions();
    match Sides::read(rules, id, versions) {
        Ok(sides) => match sides.merged(rules)? {
            Ok(draft) => draft.marked(marks),
            Err(why) => text_merge::merged(versions, Some(why), marks),
        },
        Err(why) => text_merge::merged(versions, Some(why), marks),
    }
}

/// The versions, read.
pub(crate) struct Sides {
    pub(crate) base: Option<TaskFile>,
    pub(crate) ours: TaskFile,
    theirs: TaskFile,
    pub(crate) defaults: Defaults,
}

/// A file that was merged, with what is disputed each way.
pub(crate) struct Draft {
    pub(crate) bytes: Both,
    pub(crate) disputed: Vec<Vec<String>>,
    conflicts: Vec<Conflict>,
    merged: Merged,
    left_out: Vec<String>,
}

impl Sides {
    pub(crate) fn read(rules: &Rules, id: &TaskId, versions: Versions<'_>) -> Result<Self, String> {
        // A file that nobody has taken up says so in both versions, or stays as it is: the time is not written anywhere.
        let defaults = Defaults {
            workflow: rules.project.default_workflow.clone(),
            created: Timestamp::UNIX_EPOCH,
        };
        let read = |bytes: &[u8], side: &dyn std::fmt::Display| {
            task_file::parse(bytes, id, &defaults)
                .map_err(|faults| text_merge::unreadable(side, bytes, &faults))
        };
        let ours = read(versions.ours, &Side::Ours)?;
        let theirs = read(versions.theirs, &Side::Theirs)?;
        // What both began with may have been broken, and mended on both sides.
        let base = versions.base.and_then(|bytes| task_file::parse(bytes, id, &defaults).ok());
        Ok(Self { base, ours, theirs, defaults })
    }

    /// Merges what was read, or says why it cannot be done without a guess.
    pub(crate) fn merged(&self, rules: &Rules) -> Result<Result<Draft, String>, OpsError> {
        let apart = match apart(
            self.base.as_ref().map(|file| &file.task),
            &self.ours.task,
            &self.theirs.task,
        ) {
            Ok(apart) => apart,
            Err(why) => return Ok(Err(why.to_string())),
        };
        let (standing, other) = match apart.stands() {
            Side::Ours => (&self.ours, &self.theirs),
            Side::Theirs => (&self.theirs, &self.ours),
        };
        let scope = self.scope();
        let before = self.base.as_ref().map(|file| file.keys(scope)).unwrap_or_default();
        let keys = merge_keys(&before, &self.ours.keys(scope), &self.theirs.keys(scope));
        let spoken = match self.written(standing, keys.merged.clone(), None, standing.body()) {
            Ok(file) => file.task,
            Err(why) => return Ok(Err(why)),
        };
        let merged = merge(rules, &apart, &spoken);
        let superseded: Vec<Ticket> =
            merged.superseded.iter().map(|own| own.ticket.clone()).collect();
        let base = self.base.as_ref().map_or("", TaskFile::body);
        let bodies = body::merged(
            standing.bytes(),
            base,
            self.ours.body(),
            self.theirs.body(),
            &superseded,
        )?;
        let engine = (merged.carried > 0).then_some(&merged.task);
        let in_lines = lines::merged(self, (standing, other), &spoken, &keys)?;
        let standing = in_lines.as_ref().unwrap_or(standing);
        let one = self.written(standing, keys.merged.clone(), engine, &bodies.ours);
        let two = self.written(standing, with_theirs(&keys), engine, &bodies.theirs);
        let (one, two) = match (one, two) {
            (Ok(one), Ok(two)) => {
                let commented = |file: TaskFile| {
                    file.with_comments_of(self.base.as_ref(), other, &self.defaults)
                };
                (commented(one), commented(two))
            }
            (Err(why), _) | (_, Err(why)) => return Ok(Err(why)),
        };
        let left_out = one.comments_missing(self.base.as_ref(), other);
        let bytes = Both { ours: one.bytes().to_vec(), theirs: two.bytes().to_vec() };
        let mut conflicts: Vec<Conflict> =
            keys.disputed.iter().map(|own| Conflict::Key(own.path.join("."))).collect();
        conflicts.extend((bodies.ours != bodies.theirs).then_some(Conflict::Body));
        let disputed = keys.disputed.into_iter().map(|own| own.path).collect();
        Ok(Ok(Draft { bytes, disputed, conflicts, merged, left_out }))
    }

    /// Returns which keys are people's.
    pub(crate) fn scope(&self) -> Scope {
        let adopted = [&self.ours, &self.theirs].iter().any(|file| file.origin == Origin::Adopted);
        if adopted { Scope::People } else { Scope::All }
    }

    /// Returns the file with these keys, with what the engine says of the task where that is another, and with that body.
    pub(crate) fn written(
        &self,
        file: &TaskFile,
        people: Map,
        engine: Option<&Task>,
        body: &str,
    ) -> Result<TaskFile, String> {
        let read = |spliced: Spliced| {
            let spliced = spliced.map_err(|refusal| refusal.to_string())?;
            task_file::read(&spliced, &file.task.id, &self.defaults).map_err(|faults| {
                text_merge::unreadable(&"what comes of it", spliced.text().as_bytes(), &faults)
            })
        };
        let written = read(file.with_keys(self.scope(), people, body))?;
        match engine {
            Some(engine) => read(written.update(&with_people_of(engine, &written.task))),
            None => Ok(written),
        }
    }
}

/// Returns the keys with theirs where they are disputed.
fn with_theirs(keys: &Keys) -> Map {
    let mut map = keys.merged.clone();
    for disputed in &keys.disputed {
        let Some((last, way)) = disputed.path.split_last() else { continue };
        let inside = way.iter().try_fold(&mut map, |map, key| map.get_mut(key)?.as_object_mut());
        let Some(inside) = inside else { continue };
        match &disputed.theirs {
            Some(value) => drop(inside.insert(last.clone(), value.clone())),
            None => drop(inside.shift_remove(last)),
        }
    }
    map
}

impl Draft {
    pub(crate) fn marked(self, marks: &Marks) -> Result<FileMerge, OpsError> {
        let bytes = self.bytes.marked(marks)?;
        Ok(self.with(bytes))
    }

    pub(crate) fn with(self, bytes: Vec<u8>) -> FileMerge {
        let Merged { superseded, carried, dropped, .. } = self.merged;
        FileMerge {
            bytes,
            conflicts: self.conflicts,
            superseded,
            carried,
            dropped,
            left_out: self.left_out,
        }
    }
}

#[cfg(test)]
mod tests;
