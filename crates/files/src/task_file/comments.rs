//! Comments in the frontmatter, after a key and above it. They can be copied to another version of the same task file.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::{Defaults, TaskFile, parse};
use crate::yaml::{Node, NodeKind, NodeLayout, Sharing};

/// A key at the start of a line, with its comments.
#[derive(Default)]
struct CommentPlace {
    /// The offset of its line, and the key's column.
    line: usize,
    indent: String,
    /// The lines directly above, without their indentation.
    above: Vec<String>,
    behind: Option<String>,
    /// The byte range of the comment after the value, or the place for one; `None` if there can be none.
    room: Option<Range<usize>>,
}

/// All comments of a file: of keys, and on lines of their own.
#[derive(Default)]
struct Comments {
    places: HashMap<Vec<String>, CommentPlace>,
    /// Comments in lists, whose items may move.
    listed: Vec<(Vec<String>, String)>,
    /// Comments on lines of their own.
    lines: Vec<String>,
}

impl TaskFile {
    /// Returns the file with the comments that `other` has and `base` lacks, each at the same key. The values stay the same; a
    /// comment without an unambiguous place is not copied.
    #[must_use]
    pub fn with_comments_of(&self, base: Option<&Self>, other: &Self, defaults: &Defaults) -> Self {
        // Most files have none.
        if !other.head().contains('#') {
            return self.clone();
        }
        let (ours, before, new) =
            (self.comments(), base.map(Self::comments).unwrap_or_default(), other.comments());
        let mut inserts: Vec<(Range<usize>, String)> = Vec::new();
        let crlf = self.head().contains("\r\n");
        let lines: HashSet<&String> = ours.lines.iter().collect();
        let known_lines: HashSet<&String> = before.lines.iter().collect();
        for (path, theirs) in &new.places {
            let Some(place) = ours.places.get(path) else { continue };
            let known = before.places.get(path);
            let behind = known.and_then(|known| known.behind.as_ref());
            if let (Some(comment), Some(room)) = (&theirs.behind, &place.room)
                && theirs.behind.as_ref() != behind
                && place.behind.as_ref() == behind
            {
                inserts.push((room.clone(), format!(" {comment}")));
            }
            let above: HashSet<&String> = known.iter().flat_map(|known| &known.above).collect();
            let now: HashSet<&String> = theirs.above.iter().collect();
            // A comment that was replaced there may have been replaced here too.
            if above.is_subset(&now) {
                let added = theirs
                    .above
                    .iter()
                    .filter(|line| !known_lines.contains(line) && !lines.contains(line));
                let end = if crlf { "\r\n" } else { "\n" };
                let text: Vec<String> =
                    added.map(|line| format!("{}{line}{end}", place.indent)).collect();
                if !text.is_empty() {
                    inserts.push((place.line..place.line, text.concat()));
                }
            }
        }
        if inserts.is_empty() {
            return self.clone();
        }
        let mut text = self.source.text().to_owned();
        inserts.sort_by_key(|(range, _)| Reverse(range.start));
        for (range, comment) in inserts {
            text.replace_range(range, &comment);
        }
        let is_unchanged = |file: &Self| {
            file.task == self.task && file.raw() == self.raw() && file.rest() == self.rest()
        };
        parse(text.as_bytes(), &self.task.id, defaults)
            .ok()
            .filter(is_unchanged)
            .unwrap_or_else(|| self.clone())
    }

    /// Returns the comments that `other` has, and that neither `base` nor this file has.
    pub fn comments_missing(&self, base: Option<&Self>, other: &Self) -> Vec<String> {
        if !other.head().contains('#') {
            return Vec::new();
        }
        let (ours, before, new) =
            (self.comments(), base.map(Self::comments).unwrap_or_default(), other.comments());
        let known: HashSet<(&Vec<String>, &String)> = before.behind().collect();
        let lines: HashSet<&String> = before.lines.iter().collect();
        let here: HashSet<&String> =
            ours.lines.iter().chain(ours.behind().map(|(_, comment)| comment)).collect();
        let of_lines = new.lines.iter().filter(|line| !lines.contains(line));
        let of_keys = new.behind().filter(|one| !known.contains(one)).map(|(_, comment)| comment);
        let mut missing: Vec<String> =
            of_lines.chain(of_keys).filter(|comment| !here.contains(comment)).cloned().collect();
        missing.sort();
        missing.dedup();
        missing
    }

    fn comments(&self) -> Comments {
        let head = self.head();
        let mut found = Comments::default();
        let mut texts = Vec::new();
        found.gather(head, self.source.root(), &mut Vec::new(), &mut texts);
        let mut texts = texts.iter().peekable();
        let mut at = 0;
        for line in head.split_inclusive('\n') {
            while texts.next_if(|text: &&Range<usize>| text.end <= at).is_some() {}
            let comment = line.trim();
            if comment.starts_with('#') && texts.peek().is_none_or(|text| at < text.start) {
                found.lines.push(comment.to_owned());
            }
            at += line.len();
        }
        found
    }
}

impl Comments {
    /// Returns the comments after keys and items.
    fn behind(&self) -> impl Iterator<Item = (&Vec<String>, &String)> {
        let places =
            self.places.iter().filter_map(|(path, place)| Some((path, place.behind.as_ref()?)));
        places.chain(self.listed.iter().map(|(path, comment)| (path, comment)))
    }

    /// Walks the block-style nodes. `texts` gets the byte ranges of multi-line values, in which nothing is a comment.
    fn gather(
        &mut self,
        head: &str,
        node: &Node<'_>,
        path: &mut Vec<String>,
        texts: &mut Vec<Range<usize>>,
    ) {
        if node.sharing == Sharing::Alias {
            return;
        }
        if node.layout != NodeLayout::Block {
            texts.extend(
                head.get(node.span.clone())
                    .filter(|text| text.contains('\n'))
                    .map(|_| node.span.clone()),
            );
            return;
        }
        let is_listed = path.iter().any(String::is_empty);
        for entry in node.entries() {
            path.push(entry.key.text.clone().into_owned());
            let place = CommentPlace::of(head, entry.key.span.start, &entry.value);
            match place.filter(|_| !entry.key.decorated) {
                Some(place) if !is_listed => drop(self.places.insert(path.clone(), place)),
                Some(place) => {
                    self.listed.extend(place.behind.map(|comment| (path.clone(), comment)));
                }
                None => {}
            }
            self.gather(head, &entry.value, path, texts);
            path.pop();
        }
        if let NodeKind::Sequence(items) = &node.kind {
            path.push(String::new());
            for item in items {
                let behind = behind(head, item.span.end).and_then(|(comment, _)| comment);
                self.listed.extend(
                    behind
                        .filter(|_| item.layout != NodeLayout::Block)
                        .map(|comment| (path.clone(), comment)),
                );
                self.gather(head, item, path, texts);
            }
            path.pop();
        }
    }
}

impl CommentPlace {
    /// Returns the place of a key; `None` if it does not start its line.
    fn of(head: &str, key: usize, value: &Node<'_>) -> Option<Self> {
        let line = head.get(..key)?.rfind('\n').map_or(0, |end| end + 1);
        let indent = head[line..key].to_owned();
        if !indent.trim().is_empty() {
            return None;
        }
        let end = match value.layout {
            NodeLayout::Block | NodeLayout::Absent => value.indicator.map(|colon| colon + 1),
            NodeLayout::Literal | NodeLayout::Folded | NodeLayout::FlowPair => None,
            _ => Some(value.span.end),
        };
        let found = end.and_then(|end| behind(head, end));
        let (behind, room) = found.map_or((None, None), |(behind, room)| (behind, Some(room)));
        let lines = head[..line].lines().rev().map(str::trim);
        let mut above: Vec<String> =
            lines.take_while(|line| line.starts_with('#')).map(str::to_owned).collect();
        above.reverse();
        Some(Self { line, indent, above, behind, room })
    }
}

/// Returns the comment between an offset and the end of its line, and the byte range; `None` if something else is there.
fn behind(head: &str, at: usize) -> Option<(Option<String>, Range<usize>)> {
    let rest = head.get(at..)?.lines().next().unwrap_or_default();
    let comment = rest.trim();
    match comment.starts_with('#') {
        true if rest.starts_with([' ', '\t']) => {
            Some((Some(comment.to_owned()), at..at + rest.trim_end().len()))
        }
        false if comment.is_empty() => Some((None, at..at + rest.len())),
        _ => None,
    }
}
