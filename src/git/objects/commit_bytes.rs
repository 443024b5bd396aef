//! A commit as git stores it: its header, its message, and a signature in the header.

use jiff::Timestamp;

use super::id::{CommitId, ObjectId};
use crate::git::error::AuditError;
use crate::git::transaction::identity::Person;

/// Returns the bytes of a commit object; its author stands before its committer.
pub(crate) fn encode(
    tree: ObjectId,
    parents: &[CommitId],
    [(author, authored), (committer, committed)]: [(&Person, Timestamp); 2],
    message: &str,
) -> Result<Vec<u8>, AuditError> {
    let stamp = |role: &str, who: &Person, time: Timestamp| {
        if time.as_second() < 0 {
            return Err(AuditError::BadTime { time });
        }
        Ok(format!("{role} {} <{}> {} +0000\n", who.name(), who.email(), time.as_second()))
    };
    let mut text = format!("tree {tree}\n");
    for parent in parents {
        text.push_str("parent ");
        text.push_str(&parent.to_string());
        text.push('\n');
    }
    text.push_str(&stamp("author", author, authored)?);
    text.push_str(&stamp("committer", committer, committed)?);
    text.push('\n');
    text.push_str(message.trim_end().replace('\0', " ").as_str());
    text.push('\n');
    Ok(text.into_bytes())
}

/// Puts a signature into a commit's header.
pub(crate) fn with_signature(commit: &[u8], signature: &str) -> Vec<u8> {
    let body =
        commit.windows(2).position(|pair| pair == b"\n\n").expect("a header ends in an empty line")
            + 1;
    let mut signed = commit[..body].to_vec();
    signed.extend(b"gpgsig");
    for line in signature.trim_end().lines() {
        signed.push(b' ');
        signed.extend(line.as_bytes());
        signed.push(b'\n');
    }
    signed.extend(&commit[body..]);
    signed
}
