//! The output and the end of a program as clean text, and the report of its tool.

use std::fmt;

use TroubleKind::{Failed, Unavailable};
use anstream::adapter::strip_str;
use serde::de::IgnoredAny;
use serde_json::{Deserializer, Value};

use super::usage_limit::UsageLimit;
use crate::domain::Map;
use crate::files::json::read_printed;
use crate::storage::runs::AgentReport;

/// The end of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The program ended by itself, with this status.
    Status(u8),
    /// This signal ended the program.
    Signal(i32),
    /// The end is unknown: the runner was gone.
    Unseen,
}

impl Exit {
    /// The status of success.
    pub(crate) const SUCCESS: Self = Self::Status(0);

    pub(crate) fn from_status(status: i32) -> Self {
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

/// The output of a program. The bytes may be the end of a longer output, in any encoding; secrets are already masked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunOutput<'p> {
    /// The end of the standard output.
    pub stdout: &'p [u8],
    /// The end of the standard error.
    pub stderr: &'p [u8],
    /// The end of the program.
    pub exit: Exit,
}

/// Returns the bytes as text without terminal sequences and control characters; lines end in `\n`.
pub(crate) fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    // The end of a longer text may begin inside a character.
    plain_text(text.trim_start_matches('\u{fffd}'))
}

/// Returns the text without terminal sequences and control characters; lines end in `\n`. An unfinished sequence ends with its line.
pub(crate) fn plain_text(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines = text.trim_start_matches('\u{feff}').split_inclusive('\n');
    let is_kept = |c: &char| matches!(c, '\n' | '\t') || !(c.is_control() || is_bidi_control(*c));
    let mut plain = String::with_capacity(text.len());
    for line in lines {
        plain.extend(strip_str(line.trim_end_matches('\n')).flat_map(str::chars).filter(is_kept));
        plain.push_str(&line[line.trim_end_matches('\n').len()..]);
    }
    plain
}

/// Returns the last lines of a text, with limits for lines and bytes, without blank lines at both ends.
pub(crate) fn last_lines(text: &str, lines: usize, bytes: usize) -> &str {
    let text = text.trim_end();
    let start = text.rmatch_indices('\n').nth(lines.saturating_sub(1)).map_or(0, |(at, _)| at + 1);
    tail(&text[start..], bytes).trim_start_matches('\n')
}

/// Returns the end of a text, from the beginning of a line if possible, otherwise of a character.
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

/// Returns the last line of a text that is not blank, shortened for a sentence.
pub(crate) fn last_line(text: &str) -> Option<String> {
    const LONGEST: usize = 300;
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(shortened(line, LONGEST))
}

/// Returns a text on one line, cut after this many characters.
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

/// Returns true if the character changes the direction of the text around it, so that readers see a text other than the bytes.
fn is_bidi_control(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The number of multi-line objects that are tried: each may be read to the end of the text in vain.
const MOST_TRIES: usize = 32;

/// The report of an agent's program.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Report {
    /// The agent's last message; empty if there is none. Never the text of an error.
    pub text: String,
    /// The object that the tool prints apart from the text.
    pub structured: Option<Map>,
    pub agent: AgentReport,
    /// The error that the tool reports.
    pub trouble: Option<Trouble>,
    /// Remarks without an effect on the verdict, such as about denied tools.
    pub remarks: Vec<String>,
    /// The reason why the output could not be read. It does not matter if the answer is elsewhere.
    pub unread: Option<String>,
    /// The usage limit that ended the run.
    pub limit: Option<UsageLimit>,
}

impl Report {
    /// Adds a remark that the tool's format was not found. The error of a failed program is then the last line of its standard error.
    pub(crate) fn without_format(
        mut self,
        tool: &str,
        output: &RunOutput<'_>,
        remark: &str,
    ) -> Self {
        self.unread = Some(format!("`{tool}` printed {remark}"));
        let message = last_line(&plain(output.stderr)).filter(|_| output.exit != Exit::SUCCESS);
        let reported = |message: String| Trouble::reported(tool, None, None, &message);
        let limit = self.limit.or_else(|| printed_limit(output));
        Self { trouble: self.trouble.or_else(|| message.map(reported)), limit, ..self }
    }
}

/// Returns the usage limit that a failed program printed last: on stderr, or on stdout if that has no events.
pub(crate) fn printed_limit(output: &RunOutput<'_>) -> Option<UsageLimit> {
    let find = |text: &str, most: usize| {
        let lines: Vec<&str> = last_lines(text, most, 4096).lines().collect();
        let limit = |at: usize| {
            Some(UsageLimit::detect(None, None, lines[at])?.with_reset(&lines[at..].join(" ")))
        };
        (0..lines.len()).rev().find_map(limit)
    };
    let on_stdout = || find(&plain(output.stdout), 2).filter(|_| objects(output.stdout).is_empty());
    let has_failed = matches!(output.exit, Exit::Status(1..));
    has_failed.then(|| find(&plain(output.stderr), 20).or_else(on_stdout))?
}

/// Returns the JSON objects of a text in their order, on one line or several. A list counts as its objects; noise and incomplete
/// objects are skipped.
pub(crate) fn objects(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches(['\u{feff}', '\u{fffd}']);
    let mut found: Vec<Value> = match read_printed(text) {
        Ok(Value::Array(items)) => items,
        Ok(object @ Value::Object(_)) => vec![object],
        _ => objects_between(text),
    };
    found.retain(Value::is_object);
    found
}

fn objects_between(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let (mut at, mut tries) = (0, 0);
    while at < text.len() {
        let whole = text[at..].split_inclusive('\n').next().unwrap_or_default();
        let line = whole.trim();
        if line == "{" && tries < MOST_TRIES {
            tries += 1;
            let mut stream = Deserializer::from_str(&text[at..]).into_iter::<IgnoredAny>();
            if let Some(Ok(_)) = stream.next() {
                let end = at + stream.byte_offset();
                found.extend(read_printed(&text[at..end]).ok());
                at = end;
                continue;
            }
        } else if line.starts_with('{') {
            found.extend(read_printed(line).ok());
        }
        at += whole.len();
    }
    found
}

/// Returns a text that is not blank.
pub(crate) fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.trim().is_empty())
}

/// Returns a text that is not blank, without terminal sequences.
pub(crate) fn owned_text(value: &Value) -> Option<String> {
    text(value).map(plain_text)
}

/// Returns the sum of an object's counts under these keys.
pub(crate) fn sum(object: &Value, keys: &[&str]) -> u64 {
    keys.iter().fold(0, |sum, key| sum.saturating_add(object[*key].as_u64().unwrap_or_default()))
}

/// Returns a valid amount of money.
pub(crate) fn amount(value: &Value) -> Option<f64> {
    value.as_f64().filter(|amount| amount.is_finite() && *amount >= 0.0)
}

/// The number of characters of an error that are shown.
const LONGEST: usize = 400;

/// The reason why a run has no answer that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub kind: TroubleKind,
    /// A description for people and for the next attempt.
    pub why: String,
    /// The usage limit, if the error is one.
    pub limit: Option<UsageLimit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TroubleKind {
    /// A person must act first: not logged in, not paid, not allowed.
    Unavailable,
    /// This run failed; another one may succeed.
    Failed,
    /// The run ended without an answer that counts.
    BadAnswer,
}

impl Trouble {
    pub(crate) fn new(kind: TroubleKind, why: &str) -> Self {
        Self { kind, why: shortened(&plain_text(why), LONGEST), limit: None }
    }

    /// Classifies an error that a tool reported: by a server's status, otherwise by its name, otherwise by its words.
    pub(crate) fn reported(
        tool: &str,
        status: Option<u64>,
        name: Option<&str>,
        message: &str,
    ) -> Self {
        let kind = status.and_then(by_status).or_else(|| by_name(name?));
        let kind = kind.unwrap_or_else(|| by_message(message));
        let what = match (message.trim(), name) {
            ("", None) => "it does not say what went wrong",
            ("", Some(name)) => name,
            (message, _) => message,
        };
        let limit = UsageLimit::detect(status, name, message).filter(|_| kind == Failed);
        Self { limit, ..Self::new(kind, &format!("`{tool}` reports an error: {what}")) }
    }
}

fn by_status(status: u64) -> Option<TroubleKind> {
    match status {
        401..=403 => Some(Unavailable),
        400..=599 => Some(Failed),
        _ => None,
    }
}

/// Parts of the names of errors that need a person, as lower-case letters and digits.
const UNAVAILABLE_NAMES: [&str; 7] = [
    "auth",
    "permissionerror",
    "permissiondenied",
    "apikey",
    "billing",
    "accountonhold",
    "credential",
];

/// Parts of the names of temporary errors, whatever their message.
const PASSING_NAMES: [&str; 8] = [
    "ratelimit",
    "overloaded",
    "quota",
    "usagelimit",
    "exhausted",
    "servererror",
    "unavailable",
    "timeout",
];

fn by_name(name: &str) -> Option<TroubleKind> {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).take(80).collect();
    let name = name.to_ascii_lowercase();
    let contains = |known: &&str| name.contains(*known);
    // OpenCode names every refusal of a server `APIError`; only its status counts.
    if name == "apierror" {
        None
    } else if UNAVAILABLE_NAMES.iter().any(contains) {
        Some(Unavailable)
    } else {
        PASSING_NAMES.iter().any(contains).then_some(Failed)
    }
}

/// Words of errors that need a person, in lower case.
const UNAVAILABLE_WORDS: [&str; 12] = [
    "/login",
    "not logged in",
    "log in",
    "login required",
    "unauthorized",
    "unauthenticated",
    "authenticat",
    "auth method",
    "api key",
    "api_key",
    "oauth token",
    "credit balance",
];

fn by_message(message: &str) -> TroubleKind {
    // Only the beginning: a server's answer may be quoted after it.
    let message = &message[..message.floor_char_boundary(4096)];
    let lower = message.to_ascii_lowercase();
    let by_data = by_quoted_data(message).or_else(|| by_status(status_in(&lower)?));
    let needs_person = UNAVAILABLE_WORDS.iter().any(|words| lower.contains(words));
    by_data.unwrap_or(if needs_person { Unavailable } else { Failed })
}

/// Classifies an error by a server's answer that is quoted in a message.
fn by_quoted_data(message: &str) -> Option<TroubleKind> {
    let quoted = serde_json::Deserializer::from_str(message.get(message.find('{')?..)?);
    let answer: Value = quoted.into_iter().next()?.ok()?;
    let error = if answer["error"].is_object() { &answer["error"] } else { &answer };
    let statuses = [&answer["status"], &error["status"], &error["code"]];
    let names = [&error["type"], &error["code"], &error["status"]];
    statuses
        .into_iter()
        .find_map(|status| by_status(status.as_u64()?))
        .or_else(|| names.into_iter().find_map(|name| by_name(name.as_str()?)))
}

/// Returns the status that a sentence names: `status 401`, `API Error: 529`.
fn status_in(lower: &str) -> Option<u64> {
    let marks = [
        "status ",
        "status: ",
        "status code ",
        "api error: ",
        "api error (",
        "http ",
        "error code: ",
    ];
    marks.iter().flat_map(|mark| lower.match_indices(mark)).find_map(|(at, mark)| {
        let rest = &lower[at + mark.len()..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        (digits == 3).then(|| rest[..3].parse().ok()).flatten()
    })
}

/// Returns a number, which may be in a text.
pub(crate) fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_controls_are_removed() {
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

    #[test]
    fn objects_are_found_between_noise() {
        let keys = |text: &str| -> Vec<String> {
            objects(text.as_bytes())
                .iter()
                .map(|map| map.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join("+"))
                .collect()
        };
        assert_eq!(keys("{\"a\": 1}\nnoise {\"x\": 1}\n{\"half\": \n{\"b\": 2}\r\n"), ["a", "b"]);
        assert_eq!(keys("Loading.\n{\n  \"a\": {\n \"b\": 1}\n}\nDone.\n{\"c\": 1}"), ["a", "c"]);
        assert_eq!(keys("[{\"a\": 1}, 2, {\"b\": 1}]"), ["a", "b"]);
        assert_eq!(keys("front\": 1}\n{\"a\": 1}\n{\n\"half\": 1"), ["a"]);
        assert_eq!(keys("\u{feff}{\"a\": 1}"), ["a"]);
        assert_eq!(keys(""), Vec::<String>::new());
        assert_eq!(keys(&"[".repeat(1_000_000)), Vec::<String>::new());
        assert_eq!(keys(&"{\n".repeat(1_000_000)), Vec::<String>::new());
    }

    #[test]
    fn data_counts_before_words() {
        let of = |status, name, message| Trouble::reported("x", status, name, message).kind;
        for (status, name, message, kind) in [
            (Some(401), None, "rate limit", Unavailable),
            (Some(429), Some("authentication_error"), "", Failed),
            (Some(400), None, "your api key", Failed),
            (None, Some("authentication_failed"), "overloaded", Unavailable),
            (None, Some("ProviderAuthError"), "", Unavailable),
            (None, Some("rate_limit"), "", Failed),
            (None, Some("overloaded_error"), "", Failed),
            (None, Some("RESOURCE_EXHAUSTED"), "", Failed),
            (None, Some("billing_error"), "", Unavailable),
            (None, Some("APIError"), "nothing known", Failed),
            (None, None, "Invalid API key · Please run /login", Unavailable),
            (None, None, "Credit balance is too low", Unavailable),
            (None, None, "Claude AI usage limit reached|1735000000", Failed),
            (None, None, "unexpected status 401 Unauthorized: rate limit", Unavailable),
            (None, None, "exceeded retry limit, last status: 429 Too Many Requests", Failed),
            (
                None,
                None,
                "API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}",
                Failed,
            ),
            (None, None, "{\"error\": {\"code\": 401, \"message\": \"quota\"}}", Unavailable),
            (
                None,
                None,
                "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\"},\"status\":400}",
                Failed,
            ),
            (
                None,
                None,
                "[API Error: {\"error\": {\"code\": 503, \"message\": \"your api key\"}}]",
                Failed,
            ),
            (None, None, "the file is missing", Failed),
            (None, None, "", Failed),
        ] {
            assert_eq!(of(status, name, message), kind, "{status:?} {name:?} {message}");
        }
    }

    #[test]
    fn an_error_is_one_short_line() {
        let message = format!("bad\u{1b}[31m\n{}", "x".repeat(10_000));
        let trouble = Trouble::reported("codex", None, None, &message);
        assert!(trouble.why.starts_with("`codex` reports an error: bad xxx"), "{}", trouble.why);
        assert!(trouble.why.len() < 500 && !trouble.why.contains(['\n', '\u{1b}']));
    }
}
