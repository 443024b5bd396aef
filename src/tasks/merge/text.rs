//! Bodies and line endings.

use std::borrow::Cow;

use super::outcome::Versions;
use crate::domain::Ticket;
use crate::files::task_file::{passages, set_aside};
use crate::git::{merge_texts, with_lf};
use crate::project::error::ProjectError;

/// Merges the bodies of base, ours and theirs, in the line endings of the file that stands. Comments and works that both sides appended
/// follow each other, ours first; works for superseded visits are kept, marked as such. Returns the result with ours and with theirs where both sides
/// changed the same lines.
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
    let is_new = |passage: &&str| !added.iter().any(|own| own.trim() == passage.trim());
    let new = kept.iter().map(String::as_str).filter(is_new);
    let tail: Vec<&str> = added.iter().copied().chain(new).collect();
    let both = merge_texts(base.as_bytes(), main.as_bytes(), their_main.as_bytes())?;
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

/// Returns what stands before the passages that were appended, and those.
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

/// Returns the lines that identify a passage whatever is changed in its text: its marker, and who wrote it when.
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
    pub(crate) fn of(versions: Versions<'v>) -> Self {
        let [ours, theirs] = [versions.ours, versions.theirs].map(is_crlf);
        let wanted = match versions.base.and_then(is_crlf) {
            Some(base) if ours == Some(base) && theirs != Some(base) => theirs,
            Some(base) if theirs == Some(base) && ours != Some(base) => ours,
            _ => None,
        };
        let converted = |text: &'v [u8]| match wanted {
            Some(crlf) if is_crlf(text).is_some_and(|own| own != crlf) => {
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

/// Returns whether all lines end with CRLF, or all with LF; nothing where they differ or there are none.
fn is_crlf(text: &[u8]) -> Option<bool> {
    let mut lines =
        text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let crlf = lines.next()?.ends_with(b"\r\n");
    lines.all(|line| line.ends_with(b"\r\n") == crlf).then_some(crlf)
}
