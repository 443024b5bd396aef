//! Merges two versions of a task file by meaning: the history by the rules, people's keys one by one, the body as text.
//!
//! The result is the file of the winning side, byte for byte, with the other side's hand edits spliced in. Parts that cannot
//! be merged without a guess get conflict markers. Reads and writes no file; knows no branch.

use super::versions::{
    Conflict, FileMerge, SameEndings, Versions, ensure_one_task, merge_bodies, unreadable,
};
use crate::domain::{Map, Task, TaskId, Ticket, Timestamp};
use crate::files::task_file;
use crate::files::task_file::{Defaults, Origin, Scope, Spliced, TaskFile};
use crate::git::{Marks, MergedText, merge_texts};
use crate::project::error::ProjectError;
use crate::rules::Rules;
use crate::rules::replay::merge::{Keys, Merged, Side, merge, merge_keys, sides, with_people_of};

/// Replaces conflicts in a virtual base, so that they conflict again as long as the branches differ.
const UNDECIDED: &str = "\u{fffd} aof: undecided where two branches parted \u{fffd}";

/// Starts an anchor line; no frontmatter has such a line.
const ANCHOR: &str = "\u{1}";

/// The byte order mark: some editors begin a file with it.
const BOM: char = '\u{feff}';

/// Merges two versions of a task file.
pub(crate) fn merge_files(
    rules: &Rules,
    id: &TaskId,
    versions: Versions<'_>,
    marks: &Marks,
) -> Result<FileMerge, ProjectError> {
    merge_by(rules, id, versions, marks, MergedFile::marked)
}

/// Merges the versions of two common ancestors of a criss-cross merge into a virtual base. Git merges these first, and shows
/// the result to no one. It has no markers, since an unreadable base would restore text that one side removed.
pub(crate) fn merge_virtual_base(
    rules: &Rules,
    id: &TaskId,
    versions: Versions<'_>,
) -> Result<FileMerge, ProjectError> {
    merge_by(rules, id, versions, &Marks::default(), MergedFile::undecided)
}

fn merge_by(
    rules: &Rules,
    id: &TaskId,
    versions: Versions<'_>,
    marks: &Marks,
    finish: fn(MergedFile, &ReadVersions, &Marks) -> Result<FileMerge, ProjectError>,
) -> Result<FileMerge, ProjectError> {
    let versions = match ensure_one_task(id, versions) {
        Ok(versions) => versions,
        Err(kept) => return Ok(kept),
    };
    let same_endings = SameEndings::new(versions);
    let versions = same_endings.versions();
    let sides = match ReadVersions::read(rules, id, versions) {
        Ok(sides) => sides,
        Err(why) => return FileMerge::as_text(versions, Some(why), marks),
    };
    match sides.merged(rules)? {
        Ok(draft) => finish(draft, &sides, marks),
        Err(why) => FileMerge::as_text(versions, Some(why), marks),
    }
}

/// The versions, read.
struct ReadVersions {
    base: Option<TaskFile>,
    ours: TaskFile,
    theirs: TaskFile,
    defaults: Defaults,
}

/// A merged file, with both versions of the conflicts.
struct MergedFile {
    bytes: MergedText,
    disputed: Vec<Vec<String>>,
    conflicts: Vec<Conflict>,
    merged: Merged,
    left_out: Vec<String>,
}

impl ReadVersions {
    fn read(rules: &Rules, id: &TaskId, versions: Versions<'_>) -> Result<Self, String> {
        // The default time is never written: a file that is not adopted stays without one.
        let defaults = Defaults {
            workflow: rules.project.default_workflow.clone(),
            created: Timestamp::UNIX_EPOCH,
        };
        let read = |bytes: &[u8], side: Side| {
            task_file::parse(bytes, id, &defaults)
                .map_err(|faults| unreadable(&side, bytes, &faults))
        };
        let (ours, theirs) =
            (read(versions.ours, Side::Ours)?, read(versions.theirs, Side::Theirs)?);
        // The base may be unreadable, and repaired on both sides.
        let base = versions.base.and_then(|bytes| task_file::parse(bytes, id, &defaults).ok());
        Ok(Self { base, ours, theirs, defaults })
    }

    /// Merges the versions; the inner error is the reason why that would need a guess.
    fn merged(&self, rules: &Rules) -> Result<Result<MergedFile, String>, ProjectError> {
        let base = self.base.as_ref();
        let sides = match sides(base.map(|file| &file.task), &self.ours.task, &self.theirs.task) {
            Ok(sides) => sides,
            Err(why) => return Ok(Err(why.to_string())),
        };
        let (standing, other) = match sides.stands() {
            Side::Ours => (&self.ours, &self.theirs),
            Side::Theirs => (&self.theirs, &self.ours),
        };
        let scope = self.scope();
        let before = base.map(|file| file.keys(scope)).unwrap_or_default();
        let keys = merge_keys(&before, &self.ours.keys(scope), &self.theirs.keys(scope));
        let people = match self.written(standing, keys.merged.clone(), None, standing.body()) {
            Ok(file) => file.task,
            Err(why) => return Ok(Err(why)),
        };
        let merged = merge(rules, &sides, &people);
        let superseded: Vec<Ticket> =
            merged.superseded.iter().map(|entry| entry.ticket.clone()).collect();
        let bodies = merge_bodies(
            standing.bytes(),
            [base.map_or("", TaskFile::body), self.ours.body(), self.theirs.body()],
            &superseded,
        )?;
        let engine = (merged.redone > 0).then_some(&merged.task);
        let by_lines = self.merged_lines((standing, other), &people, &keys)?;
        let standing = by_lines.as_ref().unwrap_or(standing);
        let written = |keys, body: &str| {
            let file = self.written(standing, keys, engine, body)?;
            Ok(file.with_comments_of(base, other, &self.defaults))
        };
        let one = written(keys.merged.clone(), &bodies[0]);
        let (one, two) = match (one, written(with_theirs(&keys), &bodies[1])) {
            (Ok(one), Ok(two)) => (one, two),
            (Err(why), _) | (_, Err(why)) => return Ok(Err(why)),
        };
        let left_out = one.comments_missing(base, other);
        let bytes = MergedText { ours: one.bytes().to_vec(), theirs: two.bytes().to_vec() };
        let mut conflicts: Vec<Conflict> =
            keys.disputed.iter().map(|key| Conflict::Key(key.path.join("."))).collect();
        conflicts.extend((bodies[0] != bodies[1]).then_some(Conflict::Body));
        let disputed = keys.disputed.into_iter().map(|key| key.path).collect();
        Ok(Ok(MergedFile { bytes, disputed, conflicts, merged, left_out }))
    }

    /// Returns the scope of the keys that are people's.
    fn scope(&self) -> Scope {
        let adopted = [&self.ours, &self.theirs].iter().any(|file| file.origin == Origin::Adopted);
        if adopted { Scope::People } else { Scope::All }
    }

    /// Returns the file with these keys and this body, and with the engine fields of `engine` if given.
    fn written(
        &self,
        file: &TaskFile,
        people: Map,
        engine: Option<&Task>,
        body: &str,
    ) -> Result<TaskFile, String> {
        let read = |spliced: Spliced| {
            let spliced = spliced.map_err(|refusal| refusal.to_string())?;
            task_file::read(&spliced, &file.task.id, &self.defaults).map_err(|faults| {
                unreadable(&"what comes of it", spliced.text().as_bytes(), &faults)
            })
        };
        let written = read(file.with_keys(self.scope(), people, body))?;
        match engine {
            Some(engine) => read(written.update(&with_people_of(engine, &written.task))),
            None => Ok(written),
        }
    }

    /// Merges the frontmatter as text, so that comments and quotes of both sides stay as written. At conflicts, the winning
    /// side's line is kept. Returns `None` if the text would not parse to the merged task.
    fn merged_lines(
        &self,
        (standing, other): (&TaskFile, &TaskFile),
        people: &Task,
        keys: &Keys,
    ) -> Result<Option<TaskFile>, ProjectError> {
        let Some(base) = &self.base else { return Ok(None) };
        if other.origin != base.origin || !other.task.history.starts_with(&base.task.history) {
            return Ok(None);
        }
        // The other side's engine fields do not count: only its hand edits are merged.
        let before = with_people_of(&base.task, &other.task);
        let Ok(rewound) = other.rewind(&before) else { return Ok(None) };
        let texts = [base.head(), standing.head(), task_file::head(&rewound)];
        let both = merge_texts(texts[0].as_bytes(), texts[1].as_bytes(), texts[2].as_bytes())?;
        let head = if both.agree() { both.ours } else { merge_anchored(texts)? };
        let text = [&head[..], standing.rest().as_bytes()].concat();
        let read = task_file::parse(&text, &standing.task.id, &self.defaults).ok();
        Ok(read.filter(|file| {
            let written = self.written(file, keys.merged.clone(), None, standing.body());
            written.is_ok_and(|written| {
                written.task == *people && written.keys(self.scope()) == keys.merged
            })
        }))
    }
}

/// Merges texts with an anchor line after each key, so that changes of neighbouring lines do not conflict.
fn merge_anchored(texts: [&str; 3]) -> Result<Vec<u8>, ProjectError> {
    // Byte order mark and line endings are the winning side's.
    let (bom, crlf) = (texts[1].starts_with(BOM), texts[1].contains("\r\n"));
    let like_standing = |text: &str| {
        let text = text.trim_start_matches(BOM).replace("\r\n", "\n");
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        if bom { format!("{BOM}{text}") } else { text }
    };
    let [base, standing, people] =
        [like_standing(texts[0]), texts[1].to_owned(), like_standing(texts[2])]
            .map(|text| anchored(&text));
    let both = merge_texts(base.as_bytes(), standing.as_bytes(), people.as_bytes())?;
    let lines = both.ours.split_inclusive(|byte| *byte == b'\n');
    Ok(lines.filter(|line| !line.starts_with(ANCHOR.as_bytes())).flatten().copied().collect())
}

fn anchored(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for line in text.split_inclusive('\n') {
        out.push_str(line);
        let key = line.split_once(':').map(|(key, _)| key);
        if let Some(key) = key.filter(|key| !key.trim_start().starts_with('#')) {
            out.extend([ANCHOR, key, "\n"]);
        }
    }
    out
}

/// Returns the merged keys with their side's values at conflicts.
fn with_theirs(keys: &Keys) -> Map {
    let mut map = keys.merged.clone();
    for disputed in &keys.disputed {
        let Some((last, inside)) = inside(&mut map, &disputed.path) else { continue };
        match &disputed.theirs {
            Some(value) => drop(inside.insert(last.clone(), value.clone())),
            None => drop(inside.shift_remove(last)),
        }
    }
    map
}

/// Returns the last key of a path, and the map that contains it.
fn inside<'m, 'p>(map: &'m mut Map, path: &'p [String]) -> Option<(&'p String, &'m mut Map)> {
    let (last, outer) = path.split_last()?;
    let inside = outer.iter().try_fold(map, |map, key| map.get_mut(key)?.as_object_mut())?;
    Some((last, inside))
}

impl MergedFile {
    fn marked(self, _: &ReadVersions, marks: &Marks) -> Result<FileMerge, ProjectError> {
        let bytes = self.bytes.marked(marks)?;
        Ok(self.with(bytes))
    }

    /// Finishes a virtual base: conflicts get a placeholder that neither side has.
    fn undecided(self, sides: &ReadVersions, marks: &Marks) -> Result<FileMerge, ProjectError> {
        if self.bytes.agree() {
            return self.marked(sides, marks);
        }
        let read =
            |bytes: &[u8]| task_file::parse(bytes, &sides.ours.task.id, &sides.defaults).ok();
        let (Some(ours), Some(theirs)) = (read(&self.bytes.ours), read(&self.bytes.theirs)) else {
            return self.marked(sides, marks);
        };
        let bytes = |file: &TaskFile| file.body().as_bytes().to_vec();
        let body = MergedText { ours: bytes(&ours), theirs: bytes(&theirs) }
            .with_line_for_conflicts(UNDECIDED)?;
        let body = String::from_utf8_lossy(&body);
        // A key that does not accept the placeholder text is dropped.
        let written = [true, false].into_iter().find_map(|is_text| {
            let mut keys = ours.keys(sides.scope());
            for path in &self.disputed {
                match inside(&mut keys, path) {
                    Some((last, map)) if is_text => {
                        drop(map.insert(last.clone(), UNDECIDED.into()));
                    }
                    Some((last, map)) => drop(map.shift_remove(last)),
                    None => {}
                }
            }
            sides.written(&ours, keys, None, &body).ok()
        });
        match written {
            Some(file) => Ok(self.with(file.bytes().to_vec())),
            None => self.marked(sides, marks),
        }
    }

    fn with(self, bytes: Vec<u8>) -> FileMerge {
        let Merged { superseded, redone, dropped, .. } = self.merged;
        let (conflicts, left_out) = (self.conflicts, self.left_out);
        FileMerge { bytes, conflicts, superseded, redone, dropped, left_out }
    }
}

#[cfg(test)]
mod tests;
