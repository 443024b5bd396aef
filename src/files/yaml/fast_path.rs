//! The quick way through a text as the engine writes it: keys, and texts of one line without anything odd, in lists and mappings by
//! indentation. Whatever else it meets it leaves to the event parser, and so it refuses nothing. What it makes of a text is what comes of
//! its events.

use std::borrow::Cow;
use std::ops::Range;

use super::error::Limits;
use super::node::{Entry, Key, Kind, Layout, Node, Sharing};
use super::scalar;

/// Longer texts are left to the events, which count what they have.
const LONGEST: usize = 64 << 10;
/// The same goes for deeper ones.
const DEEPEST: usize = 12;

/// Returns what a part of a text says, if it is that plain.
pub(crate) fn read<'s>(source: &'s str, range: Range<usize>, limits: &Limits) -> Option<Node<'s>> {
    // A value has a byte at least.
    if range.len() > LONGEST.min(limits.nodes).min(limits.text) || limits.depth < DEEPEST {
        return None;
    }
    let text = &source[..range.end];
    let mut plain = Plain { text, at: range.start, last: range.start };
    let node = plain.mapping(0, None, 0)?;
    (plain.at == text.len()).then_some(node)
}

/// What is read, from the beginning of a line or of what stands in it.
struct Plain<'s> {
    text: &'s str,
    at: usize,
    /// The end of the last value.
    last: usize,
}

impl<'s> Plain<'s> {
    /// Reads the keys that stand at one indentation, from the first of them on.
    fn mapping(
        &mut self,
        indent: usize,
        indicator: Option<usize>,
        depth: usize,
    ) -> Option<Node<'s>> {
        let start = self.at;
        let mut entries: Vec<Entry<'s>> = Vec::new();
        loop {
            let key = self.key()?;
            if entries.iter().any(|entry| entry.key.text == key.text) {
                return None;
            }
            let value = self.value(indent, depth)?;
            entries.push(Entry { key, value });
            match self.indentation() {
                Some(next) if next == indent => self.at += next,
                Some(next) if next > indent => return None,
                _ => break,
            }
        }
        Some(self.collection(start, Kind::Mapping(entries), indicator))
    }

    /// Reads the items whose dashes stand at one indentation, from the first dash on.
    fn sequence(
        &mut self,
        indent: usize,
        indicator: Option<usize>,
        depth: usize,
    ) -> Option<Node<'s>> {
        let start = self.at;
        let mut items = Vec::new();
        loop {
            let dash = self.at;
            self.at += 2;
            items.push(if self.is_at_key() {
                self.mapping(indent + 2, Some(dash), deeper(depth)?)?
            } else {
                self.scalar(dash)?
            });
            match self.indentation() {
                Some(next) if next == indent && self.rest(next).starts_with(b"- ") => {
                    self.at += next;
                }
                Some(next) if next > indent => return None,
                _ => break,
            }
        }
        Some(self.collection(start, Kind::Sequence(items), indicator))
    }

    /// Reads what stands behind a key, or on the lines below it.
    fn value(&mut self, indent: usize, depth: usize) -> Option<Node<'s>> {
        let colon = self.at;
        self.at += 1;
        match self.rest(0) {
            [b' ', ..] => {
                self.at += 1;
                self.scalar(colon)
            }
            [b'\n', ..] => {
                self.at += 1;
                let next = self.indentation()?;
                let is_list = self.rest(next).starts_with(b"- ");
                if next < indent || (next == indent && !is_list) {
                    return None;
                }
                self.at += next;
                let depth = deeper(depth)?;
                if is_list {
                    self.sequence(next, Some(colon), depth)
                } else {
                    self.mapping(next, Some(colon), depth)
                }
            }
            _ => None,
        }
    }

    /// Reads a key up to its colon.
    fn key(&mut self) -> Option<Key<'s>> {
        let length = key_length(self.rest(0))?;
        let span = self.at..self.at + length;
        let text = &self.text[span.clone()];
        self.at = span.end;
        let is_text = matches!(scalar::resolve(Cow::Borrowed(text)), Kind::String(_));
        is_text.then_some(Key { text: Cow::Borrowed(text), span, decorated: false })
    }

    fn is_at_key(&self) -> bool {
        key_length(self.rest(0)).is_some_and(|length| {
            matches!(self.rest(length + 1).first(), None | Some(b' ' | b'\n'))
        })
    }

    /// Reads a text to the end of its line.
    fn scalar(&mut self, indicator: usize) -> Option<Node<'s>> {
        let length = self.rest(0).iter().position(|byte| *byte == b'\n')?;
        let span = self.at..self.at + length;
        let text = &self.text[span.clone()];
        let (kind, layout) = match text.as_bytes() {
            [b'"', inner @ .., b'"']
                if is_ascii_text(inner) && !inner.iter().any(|byte| b"\"\\".contains(byte)) =>
            {
                (Kind::String(Cow::Borrowed(&text[1..length - 1])), Layout::DoubleQuoted)
            }
            [b'\'', inner @ .., b'\''] if is_ascii_text(inner) && !inner.contains(&b'\'') => {
                (Kind::String(Cow::Borrowed(&text[1..length - 1])), Layout::SingleQuoted)
            }
            bytes if is_plain(bytes) => (scalar::resolve(Cow::Borrowed(text)), Layout::Plain),
            _ => return None,
        };
        self.last = span.end;
        self.at = span.end + 1;
        let outer = span.start;
        Some(Node { span, kind, layout, sharing: Sharing::Own, outer, indicator: Some(indicator) })
    }

    fn collection(&self, start: usize, kind: Kind<'s>, indicator: Option<usize>) -> Node<'s> {
        Node {
            span: start..self.last,
            kind,
            layout: Layout::Block,
            sharing: Sharing::Own,
            outer: start,
            indicator,
        }
    }

    /// Returns how far the line is indented that begins here; nothing at the end.
    fn indentation(&self) -> Option<usize> {
        let rest = self.rest(0);
        (!rest.is_empty()).then(|| rest.iter().take_while(|byte| **byte == b' ').count())
    }

    fn rest(&self, skipped: usize) -> &'s [u8] {
        self.text.as_bytes().get(self.at + skipped..).unwrap_or_default()
    }
}

fn deeper(depth: usize) -> Option<usize> {
    (depth + 2 < DEEPEST).then_some(depth + 1)
}

/// Longer keys are told apart from texts by rules of their own.
const LONGEST_KEY: usize = 1_000;

/// Returns how long the key is that stands there, if one does that is read here.
fn key_length(bytes: &[u8]) -> Option<usize> {
    let length =
        bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let is_key = bytes.first()?.is_ascii_alphabetic() && bytes.get(length) == Some(&b':');
    (is_key && length <= LONGEST_KEY).then_some(length)
}

fn is_ascii_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Returns whether a text needs no quotes, and is seen to need none at first sight.
fn is_plain(bytes: &[u8]) -> bool {
    let begins =
        bytes.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"$/_(".contains(byte));
    let ends = bytes.last().is_some_and(|byte| !b" :".contains(byte));
    begins
        && ends
        && is_ascii_text(bytes)
        && !bytes.windows(2).any(|two| matches!(two, b": " | b" #"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::files::yaml::parse::by_events;

    fn quick(text: &str) -> Option<Node<'_>> {
        read(text, 0..text.len(), &Limits::default())
    }

    fn is_as_its_events_say(text: &str) -> bool {
        let Some(node) = quick(text) else { return false };
        assert_eq!(
            by_events(text, 0..text.len(), &Limits::default()).as_ref(),
            Ok(&node),
            "{text}"
        );
        true
    }

    const FILE: &str = "id: AOF-abc\ntitle: It's a \"test\" (of, all) [things]\nupdated: 2026-10-24T19:59:25Z\nrouting:\n  workflow: \
        default\nhash: \"11238b67: # x\"\ntags:\n  - web\n  - 'a: b'\ndeep:\n  a:\n    b:\n      - c: 1\n        d:\n          - x\n\
        gateHistory:\n- gate: plan\n  duration: 0\n  blockers:\n  - one\n  - two: 2\n    three: true\n  completion:\n    id: ~\n\
        last: null\n";

    #[test]
    fn what_the_engine_writes_is_read_the_quick_way() {
        let file = FILE.replace('~', "x");
        assert!(is_as_its_events_say(&file));
        for cut in 1..file.len() {
            is_as_its_events_say(&file[..cut]);
        }
        for (at, byte) in file.bytes().enumerate() {
            for other in [
                "", " ", "\n", "-", ":", "#", "\"", "'", "- ", ": ", "|", "é", "\t", "\r", "&a ",
                "...\n", "---\n",
            ] {
                let end = if byte == b'x' { at } else { at + 1 };
                is_as_its_events_say(&format!("{}{other}{}", &file[..at], &file[end..]));
            }
        }
    }

    #[test]
    fn a_part_of_a_text_has_the_places_of_the_whole() {
        let text = format!("---\n{}---\nBody\n", FILE.replace('~', "x"));
        let range = 4..text.len() - "---\nBody\n".len();
        let node = read(&text, range.clone(), &Limits::default()).expect("it is plain");
        assert_eq!(by_events(&text, range, &Limits::default()), Ok(node));
    }

    fn lines() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "a: 1",
            "b: x y",
            "c:",
            "d: \"q\"",
            "- e",
            "- f: 2",
            "- ",
            "-",
            "- - g",
            "a:",
            "true: 1",
            "null: x",
            "key: 'it'",
            "k: a #b",
            "k: a: b",
            "text",
            "k: -1",
            "k: [x]",
            "k: >",
            "k: |",
            "k: &x y",
            "k: *x",
            "? k",
            "k: 010",
            "# c",
            "",
            "k: \"a",
            "b\"",
            "k: x:",
            "k : v",
            "k: 1e3",
            "k:  two",
            "- g:",
            "- 'h'",
            "k: 2026-01-01",
        ]);
        let line = (0..5_usize, piece)
            .prop_map(|(indent, piece)| format!("{}{piece}\n", " ".repeat(indent)));
        prop::collection::vec(line, 1..9).prop_map(|lines| lines.concat())
    }

    #[test]
    fn long_keys_are_left_to_the_events() {
        for (length, is_read) in
            [(1_000, true), (1_001, false), (1_024, false), (1_025, false), (5_000, false)]
        {
            assert_eq!(
                is_as_its_events_say(&format!("{}: x\n", "k".repeat(length))),
                is_read,
                "{length}"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whatever_is_read_quickly_is_what_its_events_say(text in lines()) {
            is_as_its_events_say(&text);
        }
    }
}
