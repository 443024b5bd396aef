//! Which parts of a text speak: everything but code, quotes and comments, by the rules of Markdown.
//!
//! In doubt a part is silent: a verdict that is overlooked costs a retry, one that was only quoted lets bad work through.

/// A text beside the same text with NUL for every byte of a silent part; line ends are as they were.
pub(crate) struct Masked<'t> {
    pub(crate) text: &'t str,
    loud: String,
}

/// One line of both texts, without its end.
pub(crate) struct MaskedLine<'m> {
    pub(crate) start: usize,
    pub(crate) text: &'m str,
    pub(crate) loud: &'m str,
}

impl<'t> Masked<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let mut bytes = text.as_bytes().to_vec();
        let paragraphs = blocks(text, &mut bytes);
        spans(&paragraphs, &mut bytes);
        // Whole characters are replaced, so this is still UTF-8; a text that is not would be silent as a whole.
        Self { text, loud: String::from_utf8(bytes).unwrap_or_default() }
    }

    /// Returns the text with NUL for every silent byte.
    pub(crate) fn loud(&self) -> &str {
        &self.loud
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = MaskedLine<'_>> {
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

fn silence(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = 0);
}

/// What the lines before have opened.
enum OpenBlock {
    Nothing,
    /// A code fence of that sign and length.
    Fence(u8, usize),
    /// A comment at the beginning of a line, up to the line with its end.
    Comment,
}

/// Silences fences, indented code, quoted lines and comments. Returns the ends of the paragraphs.
fn blocks(text: &str, bytes: &mut [u8]) -> Vec<usize> {
    let mut open = OpenBlock::Nothing;
    let mut ends = Vec::new();
    let mut start = 0;
    for whole in text.split_inclusive('\n') {
        let end = start + whole.len();
        let line = whole.trim_end_matches(['\n', '\r']);
        let speaks = speaks(line, &mut open);
        if !speaks {
            silence(&mut bytes[start..end]);
        }
        if !speaks || line.trim().is_empty() {
            ends.extend([start, end]);
        } else if marker(line.trim_start()).is_some() || line.starts_with('#') {
            ends.push(start);
        }
        start = end;
    }
    ends.push(text.len());
    ends
}

fn speaks(line: &str, open: &mut OpenBlock) -> bool {
    let mut rest = line.trim_start_matches([' ', '\t']);
    let blank = &line[..line.len() - rest.len()];
    let is_indented = blank.contains('\t') || blank.len() >= 4;
    match open {
        OpenBlock::Fence(sign, length) => {
            let (closing, after) = run(rest, *sign);
            if closing >= *length && !is_indented && after.trim().is_empty() {
                *open = OpenBlock::Nothing;
            }
            return false;
        }
        OpenBlock::Comment => {
            if line.contains("-->") {
                *open = OpenBlock::Nothing;
            }
            return false;
        }
        OpenBlock::Nothing => {}
    }
    if is_indented || rest.starts_with('>') {
        return false;
    }
    if rest.strip_prefix("<!--").is_some_and(|rest| !rest.contains("-->")) {
        *open = OpenBlock::Comment;
        return false;
    }
    while let Some(length) = marker(rest) {
        rest = &rest[length..];
    }
    for sign in [b'`', b'~'] {
        let (length, after) = run(rest, sign);
        if length >= 3 && (sign == b'~' || !after.contains('`')) {
            *open = OpenBlock::Fence(sign, length);
            return false;
        }
    }
    true
}

/// Returns how often the text begins with the sign, and what follows.
fn run(text: &str, sign: u8) -> (usize, &str) {
    let length = text.bytes().take_while(|byte| *byte == sign).count();
    (length, &text[length..])
}

/// Returns how long the marker of a list item is, the blank behind it included.
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

/// Silences code spans, which end in their paragraph, and comments; whichever begins first counts.
fn spans(paragraphs: &[usize], bytes: &mut [u8]) {
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'\\' => Err(at + 2),
            b'`' => {
                let length = ticks(&bytes[at..]);
                let paragraph = paragraphs.partition_point(|end| *end <= at);
                let close = closing(&bytes[at + length..paragraphs[paragraph]], length);
                close.map(|close| at + length + close).ok_or(at + length)
            }
            b'<' if bytes[at..].starts_with(b"<!--") => {
                let close = bytes[at..].windows(3).position(|found| found == b"-->");
                Ok(close.map_or(bytes.len(), |close| at + close + 3))
            }
            _ => Err(at + 1),
        };
        if let Ok(end) = end {
            silence(&mut bytes[at..end]);
        }
        at = end.unwrap_or_else(|next| next);
    }
}

fn ticks(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| **byte == b'`').count()
}

/// Returns the end of the first row of exactly so many backticks.
fn closing(bytes: &[u8], length: usize) -> Option<usize> {
    let mut at = 0;
    while at < bytes.len() {
        match ticks(&bytes[at..]) {
            0 => at += 1,
            found if found == length => return Some(at + found),
            found => at += found,
        }
    }
    None
}
