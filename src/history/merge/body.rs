//! Bodies, merged: what people wrote as text, and comments and works that were added at the end one after the other.

use crate::domain::Ticket;
use crate::files::task_file::{passages, set_aside};
use crate::git::merge_texts;
use crate::project::error::error::OpsError;

/// A merged body in two versions, which differ where both sides changed the same lines.
pub(crate) struct Bodies {
    pub ours: String,
    pub theirs: String,
}

/// Merges two bodies, in the line endings of the file that stands. Works for visits that were superseded are kept, and speak for
/// no visit any more.
pub(crate) fn merged(
    standing: &[u8],
    base: &str,
    ours: &str,
    theirs: &str,
    superseded: &[Ticket],
) -> Result<Bodies, OpsError> {
    let crlf = standing.windows(2).any(|pair| pair == b"\r\n");
    let alike = |text: &str| {
        let text = text.replace("\r\n", "\n");
        if crlf { text.replace('\n', "\r\n") } else { text }
    };
    let mixed = [base, ours, theirs].iter().any(|text| has_other(text, crlf));
    let [base, ours, theirs] = if mixed {
        [base, ours, theirs].map(alike)
    } else {
        [base, ours, theirs].map(str::to_owned)
    };
    let known = passages(&base);
    let (main, added) = cut(&ours, &known);
    let (their_main, their_added) = cut(&theirs, &known);
    let kept: Vec<String> =
        their_added.iter().map(|passage| set_aside(passage, superseded)).collect();
    let new = kept
        .iter()
        .map(String::as_str)
        .filter(|passage| !added.iter().any(|own| same(own, passage)));
    let tail: Vec<&str> = added.iter().copied().chain(new).collect();
    let both = merge_texts(base.as_bytes(), main.as_bytes(), their_main.as_bytes())?;
    let whole = |main: Vec<u8>| {
        let mut text = String::from_utf8_lossy(&main).into_owned();
        for passage in &tail {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push_str(if crlf { "\r\n" } else { "\n" });
            }
            text.push_str(passage);
        }
        text
    };
    Ok(Bodies { ours: whole(both.ours), theirs: whole(both.theirs) })
}

/// Returns what stands before the passages that were added at the end, and those.
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

/// Returns the lines by which a passage is known again, whatever is changed in its text: its marker, and who wrote it when.
fn head(passage: &str) -> Vec<&str> {
    passage.lines().map(str::trim).filter(|line| !line.is_empty()).take(2).collect()
}

fn same(one: &str, two: &str) -> bool {
    one.trim() == two.trim()
}

/// Returns whether some line of the text ends otherwise than the file's.
fn has_other(text: &str, crlf: bool) -> bool {
    let returns = text.matches("\r\n").count();
    if crlf { returns < text.matches('\n').count() } else { returns > 0 }
}
