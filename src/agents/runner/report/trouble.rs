//! What went wrong with a tool itself, told apart by what is to be done about it.

use serde_json::Value;

use crate::agents::runner::output::{plain_text, shortened};

/// How much of an error is told.
const LONGEST: usize = 400;

/// What a tool says went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// What is to be done about it.
    pub kind: TroubleKind,
    /// What happened, for people and for the next attempt.
    pub why: String,
}

/// What is to be done about trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TroubleKind {
    /// The tool cannot work before a person does something: not logged in, not paid, not allowed.
    Unavailable,
    /// Something in this run went wrong.
    Failed,
    /// It is likely to work later: a limit, too much load, a server that is down.
    Transient,
}

use TroubleKind::{Failed, Transient, Unavailable};

impl Trouble {
    pub(crate) fn new(kind: TroubleKind, why: &str) -> Self {
        Self { kind, why: shortened(&plain_text(why), LONGEST) }
    }

    /// Returns what an error of a tool is: its status and type decide, its words only where these say nothing.
    pub(crate) fn of(tool: &str, error: &Reported<'_>) -> Self {
        let kind = error.status.and_then(by_status).or_else(|| error.name.and_then(by_name));
        let kind = kind.or_else(|| by_message(error.message)).unwrap_or(Failed);
        let what = match (error.message.trim(), error.name) {
            ("", None) => "it does not say what went wrong",
            ("", Some(name)) => name,
            (message, _) => message,
        };
        Self::new(kind, &format!("`{tool}` reports an error: {what}"))
    }
}

/// An error as a tool reports it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reported<'e> {
    /// The status that a server answered with.
    pub(crate) status: Option<u64>,
    /// The name of the kind of error.
    pub(crate) name: Option<&'e str>,
    pub(crate) message: &'e str,
}

impl<'e> Reported<'e> {
    pub(crate) fn message(message: &'e str) -> Self {
        Self { status: None, name: None, message }
    }
}

fn by_status(status: u64) -> Option<TroubleKind> {
    match status {
        401..=403 => Some(Unavailable),
        408 | 425 | 429 | 500..=599 => Some(Transient),
        400..=499 => Some(Failed),
        _ => None,
    }
}

/// Names of errors, in lower case and without `_` and `-`; what a name contains decides.
const NAMES: &[(&str, TroubleKind)] = &[
    ("auth", Unavailable),
    ("permissionerror", Unavailable),
    ("permissiondenied", Unavailable),
    ("apikey", Unavailable),
    ("billing", Unavailable),
    ("accountonhold", Unavailable),
    ("credential", Unavailable),
    ("ratelimit", Transient),
    ("overloaded", Transient),
    ("quota", Transient),
    ("usagelimit", Transient),
    ("exhausted", Transient),
    ("servererror", Transient),
    ("unavailable", Transient),
    ("timeout", Transient),
];

fn by_name(name: &str) -> Option<TroubleKind> {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).take(80).collect();
    let name = name.to_ascii_lowercase();
    // OpenCode calls every refusal of a server by this name; its status is what counts.
    if name == "apierror" {
        return None;
    }
    NAMES.iter().find(|(known, _)| name.contains(known)).map(|(_, kind)| *kind)
}

/// What tools say in the words of their errors, in lower case.
const WORDS: &[(&str, TroubleKind)] = &[
    ("/login", Unavailable),
    ("not logged in", Unavailable),
    ("log in", Unavailable),
    ("login required", Unavailable),
    ("unauthorized", Unavailable),
    ("unauthenticated", Unavailable),
    ("authenticat", Unavailable),
    ("auth method", Unavailable),
    ("api key", Unavailable),
    ("api_key", Unavailable),
    ("oauth token", Unavailable),
    ("credit balance", Unavailable),
    ("rate limit", Transient),
    ("usage limit", Transient),
    ("hit your limit", Transient),
    ("quota", Transient),
    ("overloaded", Transient),
    ("at capacity", Transient),
    ("too many requests", Transient),
    ("temporarily unavailable", Transient),
    ("stream disconnected", Transient),
    ("connection error", Transient),
    ("connection reset", Transient),
    ("connection refused", Transient),
    ("could not resolve host", Transient),
    ("timed out", Transient),
];

fn by_message(message: &str) -> Option<TroubleKind> {
    // Only the beginning: what a server answered may be quoted behind it.
    let message = &message[..message.floor_char_boundary(4096)];
    let lower = message.to_ascii_lowercase();
    let by_words = || WORDS.iter().find(|(words, _)| lower.contains(words)).map(|(_, kind)| *kind);
    by_quoted_data(message).or_else(|| status_in(&lower).and_then(by_status)).or_else(by_words)
}

/// Returns the kind by a server's answer, which tools quote in their messages.
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

/// Returns what a code is: a number, or a number in a text.
pub(crate) fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_counts_before_words() {
        let of = |status, name, message| Trouble::of("x", &Reported { status, name, message }).kind;
        for (status, name, message, kind) in [
            (Some(401), None, "rate limit", Unavailable),
            (Some(429), Some("authentication_error"), "", Transient),
            (Some(400), None, "your api key", Failed),
            (None, Some("authentication_failed"), "overloaded", Unavailable),
            (None, Some("ProviderAuthError"), "", Unavailable),
            (None, Some("rate_limit"), "", Transient),
            (None, Some("overloaded_error"), "", Transient),
            (None, Some("RESOURCE_EXHAUSTED"), "", Transient),
            (None, Some("billing_error"), "", Unavailable),
            (None, Some("APIError"), "nothing known", Failed),
            (None, None, "Invalid API key · Please run /login", Unavailable),
            (None, None, "Credit balance is too low", Unavailable),
            (None, None, "Claude AI usage limit reached|1735000000", Transient),
            (None, None, "unexpected status 401 Unauthorized: rate limit", Unavailable),
            (None, None, "exceeded retry limit, last status: 429 Too Many Requests", Transient),
            (
                None,
                None,
                "API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}",
                Transient,
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
                Transient,
            ),
            (None, None, "the file is missing", Failed),
            (None, None, "", Failed),
        ] {
            assert_eq!(of(status, name, message), kind, "{status:?} {name:?} {message}");
        }
    }

    #[test]
    fn an_error_is_told_on_one_short_line() {
        let message = format!("bad\u{1b}[31m\n{}", "x".repeat(10_000));
        let trouble = Trouble::of("codex", &Reported::message(&message));
        assert!(trouble.why.starts_with("`codex` reports an error: bad xxx"), "{}", trouble.why);
        assert!(trouble.why.len() < 500 && !trouble.why.contains(['\n', '\u{1b}']));
    }
}
