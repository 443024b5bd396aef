//! A message on its way, and why a receiver did not take it.

use std::time::Duration;

use serde_json::Value;

use crate::domain::Timestamp;

/// What is delivered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a> {
    /// Stays the same however often it is delivered.
    pub id: &'a str,
    /// All that it says.
    pub value: &'a Value,
    /// The time of the attempt.
    pub now: Timestamp,
}

/// Why a message was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The receiver answered, and did not take this one; it may take others.
    Refused(String),
    /// Nobody answered, or not now: there is no use in trying others. It may want to be left alone for a time.
    Unreachable { why: String, again_in: Option<Duration> },
    /// The receiver wants no message any more.
    Unwanted(String),
    /// The delivery was told to stop; nothing is known of the message.
    Stopped,
}

/// Returns the text in one line, with nothing that a terminal obeys.
pub(crate) fn in_one_line(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
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
