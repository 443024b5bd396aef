//! The versions of a task file that are merged: a check that they are of one task, their line endings, their bodies, and the
//! result.
//!
//! Git's rename detection may take a new task for one that was moved into the archive at the same time. Two tasks are never mixed.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;

use crate::domain::{TaskId, Ticket};
use crate::files::task_file::{passages, set_aside, stated_id};
use crate::files::yaml::Fault;
use crate::git::{Marks, MergedText, merge_texts, with_lf};
use crate::project::error::ProjectError;
use crate::rules::replay::merge::{Dropped, Superseded};

/// The versions of one file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Versions<'v> {
    /// The common ancestor, if there is one and it is known.
    pub base: Option<&'v [u8]>,
    /// The version that is merged into.
    pub ours: &'v [u8],
    pub theirs: &'v [u8],
}

/// A merged file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FileMerge {
    /// The file, with markers where there are conflicts.
    pub bytes: Vec<u8>,
    /// The conflicts that a person must resolve.
    pub conflicts: Vec<Conflict>,
    /// Entries of the other side that no longer count.
    pub superseded: Vec<Superseded>,
    /// The number of entries of the other side that were decided again on top of the winning side.
    pub redone: usize,
    /// Claims, holds and unblockings of the other side that no longer count.
    pub dropped: Vec<Dropped>,
    /// Comments in the other side's frontmatter that could not be placed.
    pub left_out: Vec<String>,
}

/// A conflict that a person must resolve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// Both sides changed this key differently.
    Key(String),
    /// Both sides changed the same lines of the body.
    Body,
    /// The file could not be merged by meaning, for this reason.
    File(String),
    /// Git's rename detection took this task's file for the one that is merged.
    OtherTask(TaskId),
}

impl FileMerge {
    /// Returns a result with these bytes, unchanged.
    pub(crate) fn taken(bytes: Vec<u8>, conflicts: Vec<Conflict>) -> Self {
        let (superseded, dropped, left_out) = (Vec::new(), Vec::new(), Vec::new());
        Self { bytes, conflicts, superseded, redone: 0, dropped, left_out }
    }

    /// Merges the versions as text. With a reason, a person must check the file even if no line conflicts.
    pub(crate) fn as_text(
        versions: Versions<'_>,
        why: Option<String>,
        marks: &Marks,
    ) -> Result<Self, ProjectError> {
        let both = merge_texts(versions.base.unwrap_or_default(), versions.ours, versions.theirs)?;
        let disputed = (!both.agree()).then_some(Conflict::Body);
        let conflicts = why.map(Conflict::File).or(disputed).into_iter().collect();
        Ok(Self::taken(both.marked(marks)?, conflicts))
    }
}

/// Describes the fault of a version that cannot be read.
pub(crate) fn unreadable(side: &dyn Display, bytes: &[u8], faults: &[Fault]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let fault = faults
        .first()
        .map(|fault| format!(": line {}: {}", fault.line_column(&text).0, fault.message));
    format!("{side} cannot be read as a task{}", fault.unwrap_or_default())
}

/// Returns the versions, without a base of another task. If the two sides are of two tasks, returns this task's side as a conflict.
pub(crate) fn ensure_one_task<'v>(
    id: &TaskId,
    versions: Versions<'v>,
) -> Result<Versions<'v>, FileMerge> {
    // An unreadable file may be any task's; a file without an id counts as the task of its file name.
    let named = |bytes: &[u8]| Some(stated_id(bytes).ok()?.unwrap_or_else(|| id.clone()));
    let (base, ours, theirs) =
        (versions.base.and_then(named), named(versions.ours), named(versions.theirs));
    let all: Vec<&TaskId> = [&base, &ours, &theirs].into_iter().flatten().collect();
    if all.windows(2).all(|pair| pair[0] == pair[1]) {
        return Ok(versions);
    }
    if ours.is_some() && ours == theirs {
        return Ok(Versions { base: None, ..versions });
    }
    let other = all.into_iter().find(|named| *named != id).unwrap_or(id).clone();
    Err(kept(id, versions, [ours.as_ref(), theirs.as_ref()], other))
}

/// Returns this task's side as a conflict, if git's file names of the two sides belong to two tasks.
pub(crate) fn conflict_of_names(
    id: &TaskId,
    versions: Versions<'_>,
    names: [Option<&TaskId>; 2],
) -> Option<FileMerge> {
    let [Some(ours), Some(theirs)] = names else { return None };
    let other = [ours, theirs].into_iter().find(|named| *named != id)?.clone();
    (ours != theirs).then(|| kept(id, versions, [Some(ours), Some(theirs)], other))
}

fn kept(
    id: &TaskId,
    versions: Versions<'_>,
    [ours, theirs]: [Option<&TaskId>; 2],
    other: TaskId,
) -> FileMerge {
    let is_theirs = ours != Some(id) && theirs == Some(id);
    let bytes = if is_theirs { versions.theirs } else { versions.ours };
    FileMerge::taken(bytes.to_vec(), vec![Conflict::OtherTask(other)])
}

/// Merges the bodies of base, ours and theirs, with the line endings of the winning file. Appended comments and works of both sides
/// are concatenated, ours first; works for superseded visits are marked as such. Returns the result with our lines and with their
/// lines at conflicts.
pub(crate) fn merge_bodies(
    standing: &[u8],
    bodies: [&str; 3],
    superseded: &[Ticket],
) -> Result<[String; 2], ProjectError> {
    let crlf = standing.windows(2).any(|pair| pair == b"\r\n");
    let like_standing = |text: &str| {
        let text = text.replace("\r\n", "\n");
        if crlf { text.replace('\n', "\r\n") } else { text }
    };
    let is_mixed = bodies.iter().any(|text| has_other_endings(text, crlf));
    let [base, ours, theirs] =
        bodies.map(|text| if is_mixed { like_standing(text) } else { text.to_owned() });
    let known = passages(&base);
    let (main, added) = cut(&ours, &known);
    let (their_main, their_added) = cut(&theirs, &known);
    let kept: Vec<String> =
        their_added.iter().map(|passage| set_aside(passage, superseded)).collect();
    let is_new = |passage: &&str| !added.iter().any(|known| known.trim() == passage.trim());
    let new = kept.iter().map(String::as_str).filter(is_new);
    let tail: Vec<&str> = added.iter().copied().chain(new).collect();
    let mut both = merge_texts(base.as_bytes(), main.as_bytes(), their_main.as_bytes())?;
    if !both.agree()
        && let Some(text) = merge_ticks([&base, main, their_main])?
    {
        both = MergedText { ours: text.clone(), theirs: text };
    }
    Ok([both.ours, both.theirs].map(|main| {
        let mut text = String::from_utf8_lossy(&main).into_owned();
        for passage in &tail {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push_str(if crlf { "\r\n" } else { "\n" });
            }
            text.push_str(passage);
        }
        text
    }))
}

/// Merges texts in which both sides ticked boxes: the ticks box by box, the rest as text. `None` if they conflict in more than
/// ticks, if one side ticks a box that the other rewords or removes, or if it is unclear which boxes are the same.
fn merge_ticks(texts: [&str; 3]) -> Result<Option<Vec<u8>>, ProjectError> {
    let [base, ours, theirs] = texts.map(boxes);
    let is_lost = |without: &HashMap<_, _>, with: &HashMap<_, _>| {
        base.iter().any(|(line, before)| {
            !without.contains_key(line) && with.get(line).is_some_and(|state| state != before)
        })
    };
    if is_lost(&ours, &theirs) || is_lost(&theirs, &ours) {
        return Ok(None);
    }
    let [plain_base, plain_ours, plain_theirs] = texts.map(without_ticks);
    let merged =
        merge_texts(plain_base.as_bytes(), plain_ours.as_bytes(), plain_theirs.as_bytes())?;
    if !merged.agree() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&merged.ours);
    let (mut ticked, mut seen) = (String::with_capacity(text.len()), HashMap::new());
    for line in text.split_inclusive('\n') {
        let Some(at) = box_at(line) else {
            ticked.push_str(line);
            continue;
        };
        // Equal boxes are matched in order: the first of one side is the first of the other.
        let place = *seen.entry(line.to_owned()).and_modify(|place| *place += 1).or_insert(0_usize);
        let state = match [&base, &ours, &theirs].map(|boxes| boxes.get(line)) {
            [Some(before), Some(one), Some(other)]
                if before.len() == one.len() && before.len() == other.len() =>
            {
                if one.get(place) == before.get(place) { other.get(place) } else { one.get(place) }
            }
            [None, Some(only), None] | [None, None, Some(only)] => only.get(place),
            _ => None,
        };
        let Some(state) = state else { return Ok(None) };
        ticked.push_str(&line[..at]);
        ticked.push(*state);
        ticked.push_str(&line[at + 1..]);
    }
    Ok(Some(ticked.into_bytes()))
}

/// Returns the states of the boxes of a text, by their lines without a tick.
fn boxes(text: &str) -> HashMap<String, Vec<char>> {
    let mut boxes: HashMap<String, Vec<char>> = HashMap::new();
    for line in text.split_inclusive('\n') {
        if let Some(at) = box_at(line) {
            boxes.entry(without_ticks(line)).or_default().extend(line[at..].chars().next());
        }
    }
    boxes
}

fn without_ticks(text: &str) -> String {
    let plain = |line: &str| match box_at(line) {
        Some(at) => format!("{} {}", &line[..at], &line[at + 1..]),
        None => line.to_owned(),
    };
    text.split_inclusive('\n').map(plain).collect()
}

/// Returns the position of a box's state in a line of a checklist.
fn box_at(line: &str) -> Option<usize> {
    let item = line.trim_start_matches([' ', '\t', '>']);
    let rest = item
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .strip_prefix(['-', '*', '+', '.', ')'])?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start().strip_prefix('[')?;
    let is_box = rest.starts_with([' ', 'x', 'X']) && rest[1..].starts_with(']');
    is_box.then_some(line.len() - rest.len())
}

/// Splits a body into the text before the appended passages, and these passages.
fn cut<'b>(body: &'b str, known: &[&str]) -> (&'b str, Vec<&'b str>) {
    let mut passages = passages(body);
    let old = passages
        .iter()
        .skip(1)
        .rposition(|passage| known.iter().skip(1).any(|other| head(other) == head(passage)));
    let added = passages.split_off(old.map_or(1, |last| last + 2).min(passages.len()));
    let length: usize = added.iter().map(|passage| passage.len()).sum();
    (&body[..body.len() - length], added)
}

/// Returns the lines that identify a passage even if its text changes: its marker, and its author and time.
fn head(passage: &str) -> Vec<&str> {
    passage.lines().map(str::trim).filter(|line| !line.is_empty()).take(2).collect()
}

fn has_other_endings(text: &str, crlf: bool) -> bool {
    let returns = text.matches("\r\n").count();
    if crlf { returns < text.matches('\n').count() } else { returns > 0 }
}

/// The versions of a file with the line endings of the one side that changed all of them, if one did.
pub(crate) struct SameEndings<'v> {
    base: Option<Cow<'v, [u8]>>,
    ours: Cow<'v, [u8]>,
    theirs: Cow<'v, [u8]>,
}

impl<'v> SameEndings<'v> {
    pub(crate) fn new(versions: Versions<'v>) -> Self {
        let [ours, theirs] = [versions.ours, versions.theirs].map(is_crlf);
        let wanted = match versions.base.and_then(is_crlf) {
            Some(base) if ours == Some(base) && theirs != Some(base) => theirs,
            Some(base) if theirs == Some(base) && ours != Some(base) => ours,
            _ => None,
        };
        let converted = |text: &'v [u8]| match wanted {
            Some(crlf) if is_crlf(text).is_some_and(|known| known != crlf) => {
                if crlf {
                    Cow::Owned(with_crlf(text))
                } else {
                    with_lf(text)
                }
            }
            _ => Cow::Borrowed(text),
        };
        Self {
            base: versions.base.map(converted),
            ours: converted(versions.ours),
            theirs: converted(versions.theirs),
        }
    }

    pub(crate) fn versions(&self) -> Versions<'_> {
        Versions { base: self.base.as_deref(), ours: &self.ours, theirs: &self.theirs }
    }
}

/// Returns the text with CRLF for each LF; it has no CRLF yet.
fn with_crlf(text: &[u8]) -> Vec<u8> {
    let bytes = text.iter().flat_map(|byte| match byte {
        b'\n' => &b"\r\n"[..],
        byte => std::slice::from_ref(byte),
    });
    bytes.copied().collect()
}

/// Returns whether all lines end with CRLF (`true`) or all with LF (`false`); `None` if they differ or there are none.
fn is_crlf(text: &[u8]) -> Option<bool> {
    let mut lines =
        text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let crlf = lines.next()?.ends_with(b"\r\n");
    lines.all(|line| line.ends_with(b"\r\n") == crlf).then_some(crlf)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(id: &str) -> String {
        format!("---\n{id}title: One\n---\n")
    }

    /// Merges versions with these ids, as those of `AOF-two`.
    fn kept(base: &str, ours: &str, theirs: &str) -> Result<Option<String>, (String, TaskId)> {
        let id: TaskId = "AOF-two".parse().unwrap();
        let [base, ours, theirs] = [base, ours, theirs].map(file);
        let versions = Versions {
            base: Some(base.as_bytes()),
            ours: ours.as_bytes(),
            theirs: theirs.as_bytes(),
        };
        match ensure_one_task(&id, versions) {
            Ok(versions) => Ok(versions.base.map(|base| String::from_utf8(base.to_vec()).unwrap())),
            Err(FileMerge { bytes, conflicts, .. }) => match &conflicts[..] {
                [Conflict::OtherTask(other)] => {
                    Err((String::from_utf8(bytes).unwrap(), other.clone()))
                }
                other => panic!("{other:?}"),
            },
        }
    }

    #[test]
    fn only_versions_of_one_task_are_merged() {
        let (one, two, three) = ("id: AOF-one\n", "id: AOF-two\n", "id: AOF-six\n");
        let (other, broken) = ("AOF-one".parse::<TaskId>().unwrap(), "id: [\n");
        for (base, ours, theirs, expected) in [
            (two, two, two, Ok(Some(file(two)))),
            ("", two, two, Ok(Some(file("")))),
            (one, one, one, Ok(Some(file(one)))),
            (broken, two, two, Ok(Some(file(broken)))),
            (two, broken, two, Ok(Some(file(two)))),
            // Both sides have the task, and git found another one as their base.
            (one, two, two, Ok(None)),
            (one, two, "", Ok(None)),
            (one, one, two, Err((file(two), other.clone()))),
            (one, two, one, Err((file(two), other.clone()))),
            (one, "", one, Err((file(""), other.clone()))),
            (one, one, "", Err((file(""), other.clone()))),
            (two, one, two, Err((file(two), other.clone()))),
            (one, broken, two, Err((file(two), other.clone()))),
            // Neither side is the task of the file name.
            (two, one, three, Err((file(one), other.clone()))),
        ] {
            assert_eq!(kept(base, ours, theirs), expected, "{base}{ours}{theirs}");
        }
    }
}
