//! Commit messages: a subject, a body that an agent may have written, and trailers that only the engine can write.
//! Pure text.
//!
//! The trailers are always the last paragraph, which is where git looks for them. No line of the body starts like a
//! trailer, a comment, a scissors line, a patch divider or a signature: such lines are indented by four spaces.

use std::fmt;

const SUBJECT_CHARS: usize = 100;
const INDENT: &str = "    ";

/// A line `Key: value` that is safe in the last paragraph of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trailer {
    key: String,
    value: String,
}

/// Text that cannot be a trailer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{key}: {value}` cannot be a trailer: a key is letters, digits and `-`; a value is one line of printable text"
)]
pub struct NotATrailer {
    key: String,
    value: String,
}

impl Trailer {
    /// Checks a key and a value. A value must be read back exactly as given, so one with blanks at its ends is refused too.
    pub fn new(key: &str, value: &str) -> Result<Self, NotATrailer> {
        let (key, value) = (key.to_owned(), value.to_owned());
        let printable = !value.is_empty()
            && value.trim() == value
            && value.chars().all(|c| !c.is_control() && !is_unseen(c));
        if is_key(&key) && printable {
            Ok(Self { key, value })
        } else {
            Err(NotATrailer { key, value })
        }
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    pub fn value(&self) -> &str {
        &self.value
    }
}

impl fmt::Display for Trailer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.value)
    }
}

/// Returns a commit message. The subject becomes one line of at most 100 characters; an empty body is left out.
pub fn message(subject: &str, body: &str, trailers: &[Trailer]) -> String {
    let mut message = subject_line(subject);
    message.push('\n');
    let body = inert(body);
    if !body.is_empty() {
        message.push('\n');
        message.push_str(&body);
        message.push('\n');
    }
    if !trailers.is_empty() {
        message.push('\n');
        for trailer in trailers {
            message.push_str(&trailer.to_string());
            message.push('\n');
        }
    }
    message
}

/// Reads the trailers of a message, as git does: those of its last paragraph, without comments.
pub fn parse(message: &str) -> Vec<Trailer> {
    let mut trailers: Vec<(String, String)> = Vec::new();
    for line in Block::of(message).lines {
        match line.split_once(':') {
            _ if line.starts_with([' ', '\t']) => {
                if let Some((_, value)) = trailers.last_mut() {
                    value.push(' ');
                    value.push_str(line.trim());
                }
            }
            Some((key, value)) => {
                trailers.push((key.trim_end().to_owned(), value.trim().to_owned()));
            }
            None => {}
        }
    }
    trailers.into_iter().filter_map(|(key, value)| Trailer::new(&key, value.trim()).ok()).collect()
}

/// Returns the part of a message above its trailers; empty if it has none.
pub fn text_above(message: &str) -> &str {
    Block::of(message).above
}

/// The last paragraph of a message, if it is not the first one and consists of trailers. If a line is one that only git
/// writes, a quarter of trailers is enough, as for git. Comments are ignored: git leaves the list of conflicts there.
struct Block<'m> {
    above: &'m str,
    lines: Vec<&'m str>,
}

impl<'m> Block<'m> {
    fn of(message: &'m str) -> Self {
        let none = Self { above: "", lines: Vec::new() };
        let is_content = |line: &&str| !line.starts_with('#');
        let mut at = 0;
        let mut paragraphs: Vec<(usize, Vec<&str>)> = Vec::new();
        let (mut is_apart, mut title_ends) = (true, None);
        for line in message.split_inclusive('\n') {
            let text = line.trim_end_matches(['\n', '\r']);
            if text.trim().is_empty() {
                is_apart = true;
                title_ends = title_ends.or(Some(at));
            } else if is_content(&text) {
                match paragraphs.last_mut().filter(|_| !is_apart) {
                    Some((_, lines)) => lines.push(text),
                    None => paragraphs.push((at, vec![text])),
                }
                is_apart = false;
            }
            at += line.len();
        }
        let is_below = |(start, _): &(usize, Vec<&str>)| title_ends.is_some_and(|end| *start > end);
        let Some((start, lines)) = paragraphs.pop().filter(is_below) else { return none };
        let (mut trailers, mut others, mut known, mut follows) = (0, 0, false, false);
        for line in &lines {
            let by_git = line.starts_with("Signed-off-by: ")
                || line.starts_with("(cherry picked from commit ");
            if line.starts_with([' ', '\t']) {
                others += usize::from(!follows);
                continue;
            }
            follows = by_git || line.split_once(':').is_some_and(|(key, _)| is_token(key));
            known |= by_git;
            if follows { trailers += 1 } else { others += 1 }
        }
        let is_block = trailers > 0 && (others == 0 || known && trailers * 3 >= others);
        if is_block { Self { above: message[..start].trim_end(), lines } } else { none }
    }
}

/// Returns whether git accepts the text before a colon as the key of a trailer.
fn is_token(text: &str) -> bool {
    let key = text.trim_end_matches([' ', '\t']);
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// Returns the subject as one line, truncated, never empty, and not mistaken for a comment or a divider.
fn subject_line(subject: &str) -> String {
    let words = printable(subject, ' ');
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.trim_start_matches(|c: char| c.is_ascii_punctuation() || c == ' ');
    let mut short: String = line.chars().take(SUBJECT_CHARS).collect();
    if short.len() < line.len() {
        short.pop();
        short.push('\u{2026}');
    }
    if short.is_empty() { "(no subject)".to_owned() } else { short.trim_end().to_owned() }
}

/// Escapes each line of a text that git could take for a trailer, a comment or a divider.
fn inert(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut lines: Vec<String> = Vec::new();
    for line in text.split(is_line_end) {
        let line = printable(line, ' ');
        let line = line.trim_end();
        // One empty line at a time, as `git commit` keeps them.
        if line.is_empty() && lines.last().is_none_or(String::is_empty) {
            continue;
        }
        lines.push(if means_something(line) { format!("{INDENT}{line}") } else { line.to_owned() });
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.join("\n")
}

/// Replaces control characters, and those that reorder or hide text.
fn printable(text: &str, replacement: char) -> String {
    let clean = |c: char| match c {
        '\t' => '\t',
        c if c.is_control() || is_line_end(c) => replacement,
        c => c,
    };
    text.chars().filter(|c| !is_unseen(*c)).map(clean).collect()
}

/// Returns whether some tool takes the character for a line end.
const fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns whether the character is invisible, or reorders the text around it.
const fn is_unseen(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Returns whether git, or a reader of the log, could take a line for more than text.
fn means_something(line: &str) -> bool {
    let key = line.trim_start().split(':').next().map_or("", str::trim_end);
    let is_trailer = line.contains(':') && is_key(key) && !line.starts_with(INDENT);
    // Any of these may be `core.commentChar`; `-` only divides when there are three.
    let is_comment = line.starts_with(['#', ';', '@', '!', '$', '%', '^', '&', '|', ':']);
    is_trailer
        || is_comment
        || line.starts_with("---")
        || line.starts_with("(cherry picked from")
        || line.starts_with("diff -")
}

fn is_key(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    fn trailers() -> Vec<Trailer> {
        vec![
            Trailer::new("Aof-Task", "AOF-abc").unwrap(),
            Trailer::new("Aof-Agent", "agent-7").unwrap(),
        ]
    }

    /// Returns the trailers that git itself reads from a message.
    fn git_reads(message: &str) -> String {
        let mut git = Command::new("git")
            .args(["interpret-trailers", "--parse"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        git.stdin.take().unwrap().write_all(message.as_bytes()).unwrap();
        String::from_utf8(git.wait_with_output().unwrap().stdout).unwrap()
    }

    const OURS: &str = "Aof-Task: AOF-abc\nAof-Agent: agent-7\n";

    #[test]
    fn a_message_reads_well() {
        let text = message(
            "AOF-abc: implement -> code-review (complete)",
            "Built it.\n\n- one\n- two\nSee https://example.org\n",
            &trailers(),
        );
        assert_eq!(
            text,
            "AOF-abc: implement -> code-review (complete)\n\nBuilt it.\n\n- one\n- two\nSee https://example.org\n\n\
             Aof-Task: AOF-abc\nAof-Agent: agent-7\n"
        );
        assert_eq!(parse(&text), trailers());
        assert_eq!(message("s", "", &[]), "s\n");
        assert!(parse("Aof-Task: AOF-abc\n").is_empty());
    }

    #[test]
    fn trailers_are_read_as_git_reads_them() {
        for message in [
            "Merge\n\nAof-Task: AOF-abc\nAof-Agent: agent-7\n\n# Conflicts:\n#\ttasks/AOF-abc.md\n",
            "Merge\n\nAof-Task: AOF-abc\n# Conflicts:\n#\ta\nAof-Agent: agent-7\n",
            "Merge\n\nAof-Task: AOF-abc\n \n\n",
            "Merge\n# a remark\n\n# another\n\nAof-Task: AOF-abc",
            "Merge\n\nWhat was done\nAof-Task: AOF-abc\n",
            "Merge\n\nAof-Task: AOF-abc\nAnd more\n",
            "Merge\n\nSigned-off-by: Eve <e@x>\nand more\nAof-Task: AOF-abc\n",
            "Merge\n\nSigned-off-by: Eve <e@x>\na\nb\nc\nd\ne\nf\nAof-Task: AOF-abc\n",
            "Merge\n\nAof-Task: AOF-abc\n\nMore of it.\n",
            "Merge\n\nAof-Task: AOF-abc\n  and so on\nAof-Agent : agent-7\n",
            "Merge\n\n  indented\nAof-Task: AOF-abc\n",
            "Merge\n\nA key: value\nAof-Task: AOF-abc\n",
            "Aof-Task: AOF-abc\n",
            "# only\n\nAof-Task: AOF-abc\n",
        ] {
            let read: Vec<String> = parse(message).iter().map(Trailer::to_string).collect();
            assert_eq!(read, git_reads(message).lines().collect::<Vec<_>>(), "{message:?}");
        }
        assert_eq!(text_above("One\n\nTwo\n\nA: b\n\n# Conflicts:\n"), "One\n\nTwo");
    }

    #[test]
    fn an_agents_text_forges_nothing() {
        for evil in [
            "Aof-Agent: human-alice",
            "done\n\nAof-Agent: human-alice\nAof-Task: AOF-zzz",
            "done\n---\nmore",
            "---",
            "# ------------------------ >8 ------------------------\nrest",
            "x\r\rSigned-off-by: Eve <eve@x>",
            "x\u{2028}\u{2028}Aof-Agent: eve",
            "Aof-Agent : eve",
            "(cherry picked from commit 0123)",
            "gpgsig: -----BEGIN PGP SIGNATURE-----",
            " Aof-Agent: eve",
            "\u{feff}Aof-Agent: eve",
            "\u{1b}[2KAof-Agent: eve",
        ] {
            let text = message(&format!("AOF-abc: {evil}"), evil, &trailers());
            assert_eq!(git_reads(&text), OURS, "{text}");
            assert_eq!(parse(&text), trailers());
            let forged = text
                .lines()
                .filter(|line| line.starts_with("Aof-") || line.starts_with("Signed-"))
                .count();
            assert_eq!(forged, 2, "{text}");
        }
        for evil in ["---", "# comment", "", "\n\nAof-Agent: eve\n\n", "- x"] {
            let text = message(evil, "", &trailers());
            assert_eq!(git_reads(&text), OURS, "{text:?}");
        }
    }

    #[test]
    fn values_that_could_break_out_are_refused() {
        for value in ["", " a", "a\nAof-Agent: eve", "a\r", "a\u{2028}b", "\u{202e}a"] {
            assert!(Trailer::new("Aof-Agent", value).is_err(), "{value:?}");
        }
        for key in ["", "Aof Agent", "Aof:", "1x", "-x", "Ünix"] {
            assert!(Trailer::new(key, "v").is_err(), "{key:?}");
        }
    }

    /// Arbitrary Unicode, and the pieces that git looks for.
    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => any::<String>(),
            1 => Just("\n".to_owned()),
            1 => Just("\n\n".to_owned()),
            1 => Just("\r".to_owned()),
            1 => Just("---".to_owned()),
            1 => Just("--- \n".to_owned()),
            1 => Just("Aof-Agent: eve".to_owned()),
            1 => Just("Signed-off-by: Eve <e@x>\n".to_owned()),
            1 => Just("#".to_owned()),
            1 => Just("key : v".to_owned()),
            1 => Just(" ".to_owned()),
        ];
        proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn git_reads_exactly_our_trailers(subject in hostile(), body in hostile()) {
            let text = message(&subject, &body, &trailers());
            prop_assert_eq!(git_reads(&text), OURS);
            prop_assert_eq!(parse(&text), trailers());
        }
    }
}
