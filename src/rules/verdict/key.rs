//! `KEY: value` lines: a verdict, values to hand on, and the line that a gate expects.

use super::mask::{Masked, MaskedLine, marker};
use super::{TextVerdict, cut, judged};
use crate::domain::workflow::gate::Mark;

/// Returns what the last line of that key says, and where its value ends.
pub(crate) fn verdict(masked: &Masked<'_>, key: &str, words: &[&str]) -> (TextVerdict, usize) {
    let Some(value) = sections(masked, &[key], None).into_iter().rfind(|found| found.key == 0)
    else {
        return (TextVerdict::Nothing, 0);
    };
    let loud =
        value.loud.iter().map(|line| bare(line)).find(|line| !line.is_empty()).unwrap_or_default();
    let shown =
        value.text.iter().map(|line| line.trim()).find(|line| !line.is_empty()).unwrap_or_default();
    (judged(loud, shown, words), value.start)
}

/// Returns whether the text has the line, and where.
pub(crate) fn expected(masked: &Masked<'_>, wanted: &str) -> (TextVerdict, usize) {
    let wanted = wanted.trim();
    // Of lines that say different things under one key, the last counts.
    let key = key_of(wanted).map(|found| found.key);
    let mut verdict = (TextVerdict::Nothing, 0);
    for line in masked.lines() {
        let said = decorated(line.loud).1;
        if said.eq_ignore_ascii_case(wanted) {
            verdict = (TextVerdict::Passed, line.start);
        } else if let (Some(wanted), Some(said)) = (key, key_of(said))
            && said.key.eq_ignore_ascii_case(wanted)
        {
            verdict = (TextVerdict::Unreadable(cut(line.text.trim(), 80)), line.start);
        }
    }
    verdict
}

/// Returns the values of the keys; the last of each counts. A value runs on over the lines below, up to the next key.
pub(crate) fn values(masked: &Masked<'_>, mark: &Mark, keys: &[&str]) -> Vec<(String, String)> {
    let mut known = keys.to_vec();
    let tag = match mark {
        Mark::Tag { tag, .. } => Some(tag.as_str()),
        Mark::Key(key) => {
            known.push(key);
            None
        }
        Mark::Expects(line) => {
            known.extend(key_of(line).map(|found| found.key));
            None
        }
        Mark::Status => None,
    };
    let mut values: Vec<(String, String)> = Vec::new();
    for found in sections(masked, &known, tag) {
        let Some(name) = keys.get(found.key) else { continue };
        values.retain(|(known, _)| known != name);
        values.push(((*name).to_owned(), found.text.join("\n").trim().to_owned()));
    }
    values
}

/// Tells whether a line gives a value to one of the keys.
pub(crate) fn gives(loud: &str, keys: &[&str]) -> bool {
    key_of(decorated(loud).1)
        .is_some_and(|found| keys.iter().any(|known| known.eq_ignore_ascii_case(found.key)))
}

/// A key's value, line by line.
struct Section<'m> {
    /// Its place among the known keys; beyond them for a key that nobody asked for.
    key: usize,
    start: usize,
    text: Vec<&'m str>,
    loud: Vec<&'m str>,
}

fn sections<'m>(masked: &'m Masked<'_>, known: &[&str], tag: Option<&str>) -> Vec<Section<'m>> {
    let mut list: Vec<Section<'m>> = Vec::new();
    let mut inside = false;
    let tag = tag.map(|tag| format!("<{}>", tag.to_ascii_lowercase()));
    for MaskedLine { start, text, loud } in masked.lines() {
        if tag.as_ref().is_some_and(|tag| loud.to_ascii_lowercase().contains(tag)) {
            inside = false;
            continue;
        }
        let (from, said) = decorated(loud);
        let found = key_of(said).and_then(|found| {
            let place = known.iter().position(|known| known.eq_ignore_ascii_case(found.key));
            place.or_else(|| is_loud(found.key).then_some(usize::MAX)).map(|place| (place, found))
        });
        match found {
            Some((key, found)) => {
                // Both lines have the same length, so the value stands at the same place in both.
                let from = from + found.start;
                let text = &text[from..from + found.value.len()];
                list.push(Section {
                    key,
                    start: start + from,
                    text: vec![text],
                    loud: vec![found.value],
                });
                inside = true;
            }
            None if inside => {
                if let Some(section) = list.last_mut() {
                    section.text.push(text);
                    section.loud.push(loud);
                }
            }
            None => {}
        }
    }
    list
}

/// Tells a key that ends the value above although nobody asked for it: prose is full of colons, but not behind capitals.
fn is_loud(key: &str) -> bool {
    key.len() > 1 && key.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// A `KEY: value` line.
struct Keyed<'m> {
    key: &'m str,
    start: usize,
    value: &'m str,
}

/// Splits `KEY: value`; the key is one word, and emphasis around it is no part of either.
fn key_of(line: &str) -> Option<Keyed<'_>> {
    let length =
        line.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')).count();
    // `_` may be emphasis at the key's end: `__KEY__: value`.
    let key = line[..length].trim_end_matches('_');
    if key.is_empty() || key.len() > 64 {
        return None;
    }
    let rest = line[key.len()..].trim_start_matches(['*', '_']);
    let value = rest.trim_start_matches([' ', '\t']).strip_prefix(':')?;
    // `https://` and `std::fmt` are no keys.
    if !value.is_empty() && !value.starts_with([' ', '\t', '*', '_']) {
        return None;
    }
    let closing = value.trim_start_matches(['*', '_']);
    let value =
        if closing.is_empty() || closing.starts_with([' ', '\t']) { closing } else { value };
    let value = value.trim_start();
    Some(Keyed { key, start: line.len() - value.len(), value: value.trim_end() })
}

/// Returns a line without what Markdown puts around a word, and where it begins: a heading's sign, a list's marker, emphasis.
fn decorated(line: &str) -> (usize, &str) {
    let rest = line.trim_start().trim_start_matches('#').trim_start();
    let rest = marker(rest).map_or(rest, |length| &rest[length..]);
    let inner = rest.trim_start_matches(['*', '_']);
    let start = line.len() - inner.len();
    let word = inner.trim_end();
    let emphasized = inner.len() < rest.len();
    (start, if emphasized { word.trim_end_matches(['*', '_']).trim_end() } else { word })
}

/// Returns a word without emphasis, quotes and a full stop.
fn bare(line: &str) -> &str {
    line.trim()
        .trim_matches(['*', '"', '\''])
        .trim_end_matches('.')
        .trim_matches(['*', '"', '\''])
        .trim()
}
