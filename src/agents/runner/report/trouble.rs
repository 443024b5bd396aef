//! What went wrong with an agent's program, and whether a person has to do something about it.

use serde_json::Value;

use crate::agents::runner::output::{plain_text, shortened};

/// How many characters of an error are shown.
const LONGEST: usize = 400;

/// Why a run has no answer that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub kind: TroubleKind,
    /// What happened, for people and for the next attempt.
    pub why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TroubleKind {
    /// The tool cannot work before a person does something: not logged in, not paid, not allowed.
    Unavailable,
    /// This run went wrong; another one may do better.
    Failed,
    /// The run ended, and what it said does not count.
    BadAnswer,
}

use TroubleKind::{Failed, Unavailable};

impl Trouble {
    pub(crate) fn new(kind: TroubleKind, why: &str) -> Self {
        Self { kind, why: shortened(&plain_text(why), LONGEST) }
    }

    /// Classifies an error that a tool reported: a server's status first, then the name of the error, then its words.
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
        Self::new(kind, &format!("`{tool}` reports an error: {what}"))
    }
}

fn by_status(status: u64) -> Option<TroubleKind> {
    match status {
        401..=403 => Some(Unavailable),
        400..=599 => Some(Failed),
        _ => None,
    }
}

/// Parts of the names of errors that need a person, in lower case and without `_` and `-`.
const UNAVAILABLE_NAMES: [&str; 7] = [
    "auth",
    "permissionerror",
    "permissiondenied",
    "apikey",
    "billing",
    "accountonhold",
    "credential",
];

/// Parts of the names of errors that pass by themselves, whatever their message says.
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
    // OpenCode calls every refusal of a server `APIError`; its status is what counts.
    if name == "apierror" {
        None
    } else if UNAVAILABLE_NAMES.iter().any(contains) {
        Some(Unavailable)
    } else {
        PASSING_NAMES.iter().any(contains).then_some(Failed)
    }
}

/// What tools write in errors that need a person, in lower case.
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
    // Only the beginning: what a server answered may be quoted behind it.
    let message = &message[..message.floor_char_boundary(4096)];
    let lower = message.to_ascii_lowercase();
    let by_data = by_quoted_data(message).or_else(|| by_status(status_in(&lower)?));
    let needs_person = UNAVAILABLE_WORDS.iter().any(|words| lower.contains(words));
    by_data.unwrap_or(if needs_person { Unavailable } else { Failed })
}

/// Classifies by a server's answer, which tools quote in their messages.
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
    fn an_error_is_told_on_one_short_line() {
        let message = format!("bad\u{1b}[31m\n{}", "x".repeat(10_000));
        let trouble = Trouble::reported("codex", None, None, &message);
        assert!(trouble.why.starts_with("`codex` reports an error: bad xxx"), "{}", trouble.why);
        assert!(trouble.why.len() < 500 && !trouble.why.contains(['\n', '\u{1b}']));
    }
}
