//! What tells an event that is in no commit from every other one. It names a file, so nothing else can be one.

use std::fmt;

use crate::domain::Digest;

const PREFIX: &str = "aof_";
const DIGITS: usize = 32;

/// The id of an event that is in no commit: `aof_` and 32 hex digits, in small letters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(String);

impl EventId {
    /// Returns the id of what has this mark: the same for the same.
    pub fn of(mark: &str) -> Self {
        Self(format!("{PREFIX}{}", &Digest::of(mark.as_bytes()).as_str()[..DIGITS]))
    }

    /// Reads an id; nothing if it is none.
    pub fn read(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let is_id = digits.len() == DIGITS
            && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_id.then(|| Self(text.to_owned()))
    }

    /// Returns the id as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_id_is_none() {
        let id = EventId::of("conflict AOF-abc");
        assert_eq!(EventId::read(id.as_str()), Some(id));
        let digits = "0123456789abcdef0123456789abcdef";
        for text in [
            "",
            "aof_",
            "../../x",
            digits,
            &format!("aof_{}", &digits[1..]),
            &format!("aof_{digits}0"),
            &format!("aof_{}/", &digits[1..]),
            &format!("aof_{}", digits.to_uppercase()),
            &format!("AOF_{digits}"),
        ] {
            assert_eq!(EventId::read(text), None, "{text}");
        }
    }
}
