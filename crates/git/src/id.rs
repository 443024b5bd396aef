//! Names of git objects. A `CommitId` is only ever made from something known to be a commit, or parsed from text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The SHA-1 name of any object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ObjectId([u8; 20]);

/// The name of a commit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitId(ObjectId);

/// A text that is not 40 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the name of a git object: 40 hexadecimal digits are needed")]
pub struct NotAnId(String);

impl ObjectId {
    pub(crate) const fn new(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    pub(crate) fn from_git(id: git2::Oid) -> Self {
        let mut bytes = [0; 20];
        bytes.copy_from_slice(id.as_bytes());
        Self(bytes)
    }

    /// Reads 20 raw bytes, as trees and the index hold them.
    pub(crate) fn from_raw(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    pub(crate) fn to_git(self) -> git2::Oid {
        git2::Oid::from_bytes(&self.0).expect("20 bytes are a valid SHA-1 name")
    }

    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }
}

impl CommitId {
    pub(crate) const fn new(id: ObjectId) -> Self {
        Self(id)
    }

    /// Returns the name as that of any object.
    pub const fn object(self) -> ObjectId {
        self.0
    }

    pub(crate) fn to_git(self) -> git2::Oid {
        self.0.to_git()
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ObjectId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let mut bytes = [0; 20];
        let parsed = text.len() == 40
            && text.as_bytes().chunks_exact(2).zip(&mut bytes).all(|(pair, byte)| {
                match (digit(pair[0]), digit(pair[1])) {
                    (Some(high), Some(low)) => {
                        *byte = high << 4 | low;
                        true
                    }
                    _ => false,
                }
            });
        if parsed { Ok(Self(bytes)) } else { Err(NotAnId(text.to_owned())) }
    }
}

impl FromStr for CommitId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        text.parse().map(Self)
    }
}

impl TryFrom<String> for ObjectId {
    type Error = NotAnId;

    fn try_from(text: String) -> Result<Self, NotAnId> {
        text.parse()
    }
}

impl TryFrom<String> for CommitId {
    type Error = NotAnId;

    fn try_from(text: String) -> Result<Self, NotAnId> {
        text.parse()
    }
}

impl From<ObjectId> for String {
    fn from(id: ObjectId) -> Self {
        id.to_string()
    }
}

impl From<CommitId> for String {
    fn from(id: CommitId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_as_it_was_written() {
        let text = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(text.parse::<ObjectId>().unwrap().to_string(), text);
        for wrong in [
            "",
            "0123",
            &text.to_uppercase(),
            &text[1..],
            "é123456789abcdef0123456789abcdef0123456",
        ] {
            assert!(wrong.parse::<CommitId>().is_err(), "{wrong}");
        }
    }
}
