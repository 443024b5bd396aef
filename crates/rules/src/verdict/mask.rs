//! The parts of a text that count for a verdict: everything but code, quotes, comments and diffs, by the rules of Markdown.
//!
//! In doubt a part is silent: an overlooked verdict costs a retry, a quoted one that counts lets bad work through.

use std::collections::BTreeSet;

/// A text with a copy in which every byte of a silent part is NUL; line ends stay.
pub struct Masked<'t> {
    pub(crate) text: &'t str,
    loud: String,
}

/// One line of both texts, without its end.
pub struct MaskedLine<'m> {
    pub(crate) start: usize,
    pub text: &'m str,
    pub loud: &'m str,
}

impl<'t> Masked<'t> {
    pub fn new(text: &'t str) -> Self {
        let mut bytes = text.as_bytes().to_vec();
        let paragraphs = blocks(text, &mut bytes);
        spans(text, &paragraphs, &mut bytes);
        // Whole characters are replaced, so this is still UTF-8; otherwise the whole text would be silent.
        Self { text, loud: String::from_utf8(bytes).unwrap_or_default() }
    }

    /// Returns the text with NUL for every silent byte.
    pub(crate) fn loud(&self) -> &str {
        &self.loud
    }

    pub fn lines(&self) -> impl Iterator<Item = MaskedLine<'_>> {
        let mut start = 0;
        self.loud.split_inclusive('\n').map(move |whole| {
            let begin = start;
            start += whole.len();
            let loud = whole.strip_suffix('\n').unwrap_or(whole);
            let loud = loud.strip_suffix('\r').unwrap_or(loud);
            MaskedLine { start: begin, text: &self.text[begin..begin + loud.len()], loud }
        })
    }
}

pub(crate) fn silence(bytes: &mut [u8], from: usize, to: usize) {
    for byte in &mut bytes[from..to] {
        if !matches!(byte, b'\n' | b'\r') {
            *byte = 0;
        }
    }
}

/// An open code fence.
struct Fence {
    sign: u8,
    length: usize,
    /// The column at which the content of the list item around it begins; 0 outside lists.
    column: usize,
}

/// The block that the lines before have opened.
enum OpenBlock {
    Nothing,
    Fence(Fence),
    Hunk,
    /// A silent tag at the beginning of a line, up to the line with its end.
    Html(&'static str),
}

/// Silences fences, indented code, quoted lines and diffs. Returns the ends of the paragraphs.
fn blocks(text: &str, bytes: &mut [u8]) -> Vec<usize> {
    let mut open = OpenBlock::Nothing;
    let mut ends = Vec::new();
    let mut start = 0;
    for whole in text.split_inclusive('\n') {
        let end = start + whole.len();
        let line = whole.trim_end_matches(['\n', '\r']);
        let speaks = speaks(line, &mut open);
        if !speaks {
            silence(bytes, start, end);
        }
        if !speaks || line.trim().is_empty() {
            ends.push(start);
            ends.push(end);
        } else if marker(line.trim_start()).is_some() || line.starts_with('#') {
            ends.push(start);
        }
        start = end;
    }
    ends.push(text.len());
    ends
}

fn speaks(line: &str, open: &mut OpenBlock) -> bool {
    let (indent, rest) = indentation(line);
    if let OpenBlock::Fence(fence) = open {
        let left = !rest.is_empty() && indent < fence.column;
        if !left {
            if indent < fence.column + 4 && closes(rest, fence) {
                *open = OpenBlock::Nothing;
            }
            return false;
        }
        // The list item ends, and the fence in it: this line counts by itself.
        *open = OpenBlock::Nothing;
    }
    if matches!(open, OpenBlock::Hunk) {
        if line.is_empty() || line.starts_with([' ', '+', '-', '\\', '@']) {
            return false;
        }
        *open = OpenBlock::Nothing;
    }
    if let OpenBlock::Html(close) = open {
        if contains(line, close) {
            *open = OpenBlock::Nothing;
        }
        return false;
    }
    if line.starts_with("@@ -") {
        *open = OpenBlock::Hunk;
        return false;
    }
    if indent >= 4 || rest.starts_with('>') || is_diff(line) {
        return false;
    }
    if let Some((tag, close)) = SILENT_TAGS.iter().find(|(tag, _)| opens(rest.as_bytes(), tag))
        && !contains(&rest[tag.len()..], close)
    {
        *open = OpenBlock::Html(close);
        return false;
    }
    match fence(rest, indent) {
        Some(fence) => {
            *open = OpenBlock::Fence(fence);
            false
        }
        None => true,
    }
}

/// Returns the column of the first character that is not a blank, and the line from there.
fn indentation(line: &str) -> (usize, &str) {
    let mut column = 0;
    for (at, character) in line.char_indices() {
        match character {
            ' ' => column += 1,
            '\t' => column += 4 - column % 4,
            _ => return (column, &line[at..]),
        }
    }
    (column, "")
}

/// Returns whether a line is of a diff, not an item of a list: it has no blank after the sign.
fn is_diff(line: &str) -> bool {
    let Some(rest) = line.strip_prefix(['+', '-']) else { return false };
    rest.starts_with(|c: char| !c.is_whitespace() && !matches!(c, '-' | '+'))
}

/// Returns the length of the marker of a list item, with the blanks after it.
pub(crate) fn marker(rest: &str) -> Option<usize> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let sign = match rest.as_bytes().get(digits)? {
        b'-' | b'*' | b'+' if digits == 0 => 1,
        b'.' | b')' if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    let blanks = rest[sign..].bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    (blanks > 0).then_some(sign + blanks)
}

fn fence(rest: &str, indent: usize) -> Option<Fence> {
    let mut column = 0;
    let mut content = rest;
    while let Some(length) = marker(content) {
        column = if column == 0 { indent + length } else { column + length };
        content = &content[length..];
    }
    let sign = *content.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = content.bytes().take_while(|byte| *byte == sign).count();
    let is_fence = length >= 3 && (sign == b'~' || !content[length..].contains('`'));
    is_fence.then_some(Fence { sign, length, column })
}

fn closes(rest: &str, fence: &Fence) -> bool {
    let length = rest.bytes().take_while(|byte| *byte == fence.sign).count();
    length >= fence.length && rest[length..].trim().is_empty()
}

/// The tags of HTML whose content is silent.
const SILENT_TAGS: &[(&str, &str)] =
    &[("<!--", "-->"), ("<pre", "</pre"), ("<code", "</code"), ("<blockquote", "</blockquote")];

/// Silences code spans, comments and silent tags; the one that begins first counts.
fn spans(text: &str, paragraphs: &[usize], bytes: &mut [u8]) {
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

/// Returns every longest run of backticks that is not silent, as its length and its place.
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

/// Returns the end of the silent tag that begins at an offset; an unclosed one goes to the end of the text.
fn silent_tag(text: &str, bytes: &[u8], at: usize) -> Option<usize> {
    let (open, close) = SILENT_TAGS.iter().find(|(open, _)| opens(&bytes[at..], open))?;
    let from = at + open.len();
    let found = find(&text.as_bytes()[from..], close);
    Some(found.map_or(text.len(), |found| from + found + close.len()))
}

/// Returns whether the bytes begin with the tag, in any case.
fn opens(bytes: &[u8], tag: &str) -> bool {
    let found =
        bytes.get(..tag.len()).is_some_and(|found| found.eq_ignore_ascii_case(tag.as_bytes()));
    let next = bytes.get(tag.len()).copied().unwrap_or(b'\n');
    found && (tag == "<!--" || matches!(next, b'>' | b' ' | b'\t' | b'\n' | b'\r'))
}

fn contains(text: &str, tag: &str) -> bool {
    find(text.as_bytes(), tag).is_some()
}

/// Returns the place of the tag, in any case.
fn find(bytes: &[u8], tag: &str) -> Option<usize> {
    bytes.windows(tag.len()).position(|found| found.eq_ignore_ascii_case(tag.as_bytes()))
}
