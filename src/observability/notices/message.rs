//! A message that is delivered, and the reason why a receiver did not accept it.

use std::time::Duration;

use serde_json::Value;

use crate::domain::Timestamp;

/// A message that is delivered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a> {
    /// The id, which is the same in every attempt.
    pub id: &'a str,
    /// The content of the message.
    pub value: &'a Value,
    /// The time of the attempt.
    pub now: Timestamp,
}

/// The reason why a message was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The receiver answered, and refused this message; it may accept others.
    Refused(String),
    /// The receiver did not answer, or is busy: other messages are not tried now. It may ask for a pause.
    Unreachable { why: String, again_in: Option<Duration> },
    /// The receiver no longer wants messages.
    Unwanted(String),
    /// The delivery had to stop; it is unknown whether the message arrived.
    Stopped,
}

/// Returns the text in one line, without control characters.
pub(crate) fn in_one_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_one_line_that_no_terminal_obeys() {
        assert_eq!(
            in_one_line(b" no\x1b[31m\r\nsuch\tchannel\x07 \xff\n"),
            "no?[31m such channel? \u{fffd}"
        );
        assert_eq!(in_one_line(b" \n"), "");
    }
}
