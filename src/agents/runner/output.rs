//! What a program printed and how it ended, as text that can be kept: no control characters, no half characters.

use std::fmt;

use anstream::adapter::strip_str;

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// By itself, with that status.
    Status(u8),
    /// By that signal.
    Signal(i32),
    /// The runner was gone, and did not see it.
    Unseen,
}

impl Exit {
    /// The status that says that all went well.
    pub(crate) const SUCCESS: Self = Self::Status(0);

    pub(crate) fn of(status: i32) -> Self {
        Self::Status(u8::try_from(status).unwrap_or(u8::MAX))
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "ended with exit status {status}"),
            Self::Signal(signal) => write!(f, "was ended by signal {signal}"),
            Self::Unseen => f.write_str("ended while nobody saw how"),
        }
    }
}

/// What a program left. The bytes may be the end of something longer, and anything may stand in them; secrets are masked by
/// whoever collected them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunOutput<'p> {
    /// The end of the standard output.
    pub stdout: &'p [u8],
    /// The end of the standard error.
    pub stderr: &'p [u8],
    /// How it ended.
    pub exit: Exit,
}

/// Returns the bytes as text without terminal sequences and control characters; lines end in `\n`.
pub(crate) fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    // A text that is cut at its front may begin in the middle of a character.
    plain_text(text.trim_start_matches('\u{fffd}'))
}

/// Returns the text without terminal sequences and control characters; lines end in `\n`. A sequence without an end ends with its
/// line.
pub(crate) fn plain_text(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines = text.trim_start_matches('\u{feff}').split_inclusive('\n');
    let is_kept = |c: &char| matches!(c, '\n' | '\t') || !(c.is_control() || is_turning(*c));
    let mut plain = String::with_capacity(text.len());
    for line in lines {
        plain.extend(strip_str(line.trim_end_matches('\n')).flat_map(str::chars).filter(is_kept));
        plain.push_str(&line[line.trim_end_matches('\n').len()..]);
    }
    plain
}

/// Returns the last lines of a text, at most so many and so many bytes of them; blank ones at both ends are left away.
pub(crate) fn last_lines(text: &str, lines: usize, bytes: usize) -> &str {
    let text = text.trim_end();
    let start = text.rmatch_indices('\n').nth(lines.saturating_sub(1)).map_or(0, |(at, _)| at + 1);
    tail(&text[start..], bytes).trim_start_matches('\n')
}

/// Returns the end of a text, from the beginning of a line where there is one, else of a character.
pub(crate) fn tail(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let from = text.ceil_char_boundary(text.len() - bytes);
    match text[from..].find('\n') {
        Some(at) if from + at + 1 < text.len() => &text[from + at + 1..],
        _ => &text[from..],
    }
}

/// Returns one line of a text for a sentence: the last one that says something, cut where it would flood the sentence.
pub(crate) fn last_line(text: &str) -> Option<String> {
    const LONGEST: usize = 300;
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(shortened(line, LONGEST))
}

/// Returns a text on one line, cut behind so many characters.
pub(crate) fn shortened(text: &str, characters: usize) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if words.len() > 4 * characters {
            break;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    match words.char_indices().nth(characters) {
        Some((end, _)) => format!("{}...", words[..end].trim_end()),
        None => words,
    }
}

/// Returns whether the character turns the direction of the text around it: the reader sees another text than the bytes.
fn is_turning(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_goes() {
        for (bytes, text) in [
            (b"\x1b[1;31mred\x1b[0m\x1b(B plain".as_slice(), "red plain"),
            (b"a\r\nb\rc\x08\x00\x07\td", "a\nb\nc\td"),
            (b"\x1b]0;title\x07x \x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "x link"),
            (b"\x1b]0;no end\nnext \x1bPq#0\x1b\\line", "\nnext line"),
            ("\u{9b}x\u{9d}y \u{202e}z\u{2069}".as_bytes(), "xy z"),
            (b"\xff\xfe\x80abc\xff", "abc\u{fffd}"),
            (b"\xef\xbb\xbf{}", "{}"),
            (b"\x1b", ""),
            (b"\x1b[", ""),
            (b"\x1b[38;5", ""),
            ("ä\u{1b}[Kö".as_bytes(), "äö"),
        ] {
            assert_eq!(plain(bytes), text, "{bytes:?}");
        }
    }

    #[test]
    fn the_end_of_a_text_begins_with_a_line() {
        assert_eq!(tail("one\ntwo\nthree", 7), "three");
        assert_eq!(tail("one\ntwo", 7), "one\ntwo");
        assert_eq!(tail("ööö", 3), "ö");
        assert_eq!(tail("long line\n", 4), "ine\n");
        assert_eq!(last_lines("a\n\nb\nc\n\n", 2, 100), "b\nc");
        assert_eq!(last_lines("a\n\nb\nc\n\n", 3, 100), "b\nc");
        assert_eq!(last_lines("a", 20, 100), "a");
        assert_eq!(last_lines("", 20, 100), "");
        assert_eq!(last_line("x\nlast  one\n \n").as_deref(), Some("last one"));
        assert_eq!(last_line(" \n"), None);
        assert_eq!(shortened("a  b\nc d", 5), "a b c...");
    }
}
