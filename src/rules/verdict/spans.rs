//! What is silent within a line or a paragraph: code between backticks, comments, HTML that quotes.

use std::collections::BTreeSet;

use super::mask::silence;

/// Where HTML is silent, too.
pub(crate) const SILENT_TAGS: &[(&str, &str)] =
    &[("<!--", "-->"), ("<pre", "</pre"), ("<code", "</code"), ("<blockquote", "</blockquote")];

/// Silences code spans, comments and silent tags; whichever begins first counts.
pub(crate) fn spans(text: &str, paragraphs: &[usize], bytes: &mut [u8]) {
    let runs = runs(bytes);
    let mut paragraph = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'`' => {
                let length = bytes[at..].iter().take_while(|byte| **byte == b'`').count();
                while paragraphs[paragraph] <= at {
                    paragraph += 1;
                }
                let close =
                    runs.range((length, at + length)..(length, paragraphs[paragraph])).next();
                let end = close.map_or(at, |(_, close)| close + length);
                silence(bytes, at, end);
                at = end.max(at + length);
            }
            b'<' => match silent_tag(text, bytes, at) {
                Some(end) => {
                    silence(bytes, at, end);
                    at = end;
                }
                None => at += 1,
            },
            _ => at += 1,
        }
    }
}

/// Returns every longest row of backticks that speaks, as its length and its place.
fn runs(bytes: &[u8]) -> BTreeSet<(usize, usize)> {
    let mut runs = BTreeSet::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..].iter().take_while(|byte| **byte == b'`').count();
        if length > 0 {
            runs.insert((length, at));
        }
        at += length.max(1);
    }
    runs
}

/// Returns where the silent tag that begins there ends; one that is not closed goes to the end of the text.
fn silent_tag(text: &str, bytes: &[u8], at: usize) -> Option<usize> {
    let (open, close) = SILENT_TAGS.iter().find(|(open, _)| opens(&bytes[at..], open))?;
    let from = at + open.len();
    let found = find(&text.as_bytes()[from..], close);
    Some(found.map_or(text.len(), |found| from + found + close.len()))
}

/// Tells whether the bytes begin with the tag, whatever its case.
pub(crate) fn opens(bytes: &[u8], tag: &str) -> bool {
    let found =
        bytes.get(..tag.len()).is_some_and(|found| found.eq_ignore_ascii_case(tag.as_bytes()));
    let next = bytes.get(tag.len()).copied().unwrap_or(b'\n');
    found && (tag == "<!--" || matches!(next, b'>' | b' ' | b'\t' | b'\n' | b'\r'))
}

pub(crate) fn contains(text: &str, tag: &str) -> bool {
    find(text.as_bytes(), tag).is_some()
}

/// Returns where the tag is, whatever its case.
fn find(bytes: &[u8], tag: &str) -> Option<usize> {
    bytes.windows(tag.len()).position(|found| found.eq_ignore_ascii_case(tag.as_bytes()))
}
