//! Commit objects as bytes: parsing, if they are in git's usual form, and encoding.

use jiff::Timestamp;

use crate::error::GitError;
use crate::id::{CommitId, ObjectId};

/// A commit of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    pub id: CommitId,
    pub parents: Vec<CommitId>,
    pub author: Person,
    pub authored: Timestamp,
    pub committer: Person,
    pub committed: Timestamp,
    /// Invalid UTF-8 is replaced.
    pub message: String,
}

/// A commit's tree, parents and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Links {
    pub tree: ObjectId,
    pub parents: Vec<CommitId>,
    /// The commit time, in seconds.
    pub committed: i64,
}

/// Reads the parents of a commit that may be malformed otherwise.
pub(crate) fn named_parents(bytes: &[u8]) -> Vec<CommitId> {
    let lines =
        bytes.split(|byte| *byte == b'\n').skip(1).map_while(|line| line.strip_prefix(b"parent "));
    lines.filter_map(|name| str::from_utf8(name).ok()?.to_ascii_lowercase().parse().ok()).collect()
}

pub(crate) fn entry(id: CommitId, commit: &git2::Commit<'_>) -> LogEntry {
    let (author, committer) = (commit.author(), commit.committer());
    LogEntry {
        id,
        parents: parents(commit),
        author: Person::of_signature(author.name_bytes(), author.email_bytes()),
        authored: timestamp(author.when().seconds()),
        committer: Person::of_signature(committer.name_bytes(), committer.email_bytes()),
        committed: timestamp(committer.when().seconds()),
        message: String::from_utf8_lossy(commit.message_bytes()).into_owned(),
    }
}

pub(crate) fn links(commit: &git2::Commit<'_>) -> Links {
    let tree = ObjectId::from_git(commit.tree_id());
    Links { tree, parents: parents(commit), committed: commit.time().seconds() }
}

fn parents(commit: &git2::Commit<'_>) -> Vec<CommitId> {
    commit.parent_ids().map(|id| CommitId::new(ObjectId::from_git(id))).collect()
}

/// A commit in git's usual form.
pub(crate) struct ParsedCommit<'b> {
    tree: ObjectId,
    parents: Vec<CommitId>,
    author: CommitSignature<'b>,
    committer: CommitSignature<'b>,
    message: &'b [u8],
}

/// A signature line: `NAME <EMAIL> SECONDS +HHMM`.
struct CommitSignature<'b> {
    name: &'b [u8],
    email: &'b [u8],
    seconds: i64,
}

impl<'b> ParsedCommit<'b> {
    pub(crate) fn read(bytes: &'b [u8]) -> Option<Self> {
        let mut rest = bytes;
        let tree = object(b"tree ", &mut rest)?;
        let mut parents = Vec::with_capacity(1);
        while rest.starts_with(b"parent ") {
            parents.push(CommitId::new(object(b"parent ", &mut rest)?));
        }
        let author = CommitSignature::read(b"author ", &mut rest)?;
        let committer = CommitSignature::read(b"committer ", &mut rest)?;
        // Other headers may follow, as `encoding` or `gpgsig`. The first empty line ends them.
        let message = match rest.strip_prefix(b"\n") {
            Some(message) => message,
            None => &rest[rest.windows(2).position(|pair| pair == b"\n\n")? + 2..],
        };
        // libgit2 drops empty lines at the beginning, and ends the message at a NUL.
        let message = &message[message.iter().take_while(|byte| **byte == b'\n').count()..];
        (!message.contains(&0)).then_some(Self { tree, parents, author, committer, message })
    }

    pub(crate) fn entry(self, id: CommitId) -> LogEntry {
        LogEntry {
            id,
            parents: self.parents,
            author: Person::of_signature(self.author.name, self.author.email),
            authored: timestamp(self.author.seconds),
            committer: Person::of_signature(self.committer.name, self.committer.email),
            committed: timestamp(self.committer.seconds),
            message: String::from_utf8_lossy(self.message).into_owned(),
        }
    }

    pub(crate) fn links(self) -> Links {
        Links { tree: self.tree, parents: self.parents, committed: self.committer.seconds }
    }
}

impl<'b> CommitSignature<'b> {
    fn read(word: &[u8], rest: &mut &'b [u8]) -> Option<Self> {
        let (line, after) = rest.split_at(rest.iter().position(|byte| *byte == b'\n')?);
        let line = line.strip_prefix(word)?;
        let opens = line.iter().rposition(|byte| *byte == b'<')?;
        let closes =
            line.iter().rposition(|byte| *byte == b'>').filter(|closes| *closes > opens)?;
        let (seconds, zone) =
            str::from_utf8(&line[closes + 1..]).ok()?.strip_prefix(' ')?.split_once(' ')?;
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let zone = zone.strip_prefix(['+', '-']).filter(|zone| zone.len() == 4 && digits(zone));
        let seconds = seconds.parse().ok().filter(|_| zone.is_some() && digits(seconds))?;
        *rest = &after[1..];
        Some(Self { name: &line[..opens], email: &line[opens + 1..closes], seconds })
    }
}

fn object(word: &[u8], rest: &mut &[u8]) -> Option<ObjectId> {
    let (name, after) = rest.strip_prefix(word)?.split_at_checked(40)?;
    *rest = after.strip_prefix(b"\n")?;
    str::from_utf8(name).ok()?.parse().ok()
}

/// Clamps a commit's time to the supported range.
fn timestamp(seconds: i64) -> Timestamp {
    let latest = if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_second(seconds).unwrap_or(latest)
}

/// Returns the bytes of a commit object.
pub(crate) fn encode(
    tree: ObjectId,
    parents: &[CommitId],
    [(author, authored), (committer, committed)]: [(&Person, Timestamp); 2],
    message: &str,
) -> Result<Vec<u8>, GitError> {
    let stamp = |role: &str, who: &Person, time: Timestamp| {
        if time.as_second() < 0 {
            return Err(GitError::BadTime { time });
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

/// A name and an address, fit for a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    name: String,
    email: String,
}

impl Person {
    /// Cleans a name and an address as git does; fails if nothing is left of one.
    pub fn new(name: &str, email: &str) -> Result<Self, GitError> {
        let part = |part, text: &str| {
            let clean = clean(text);
            if clean.is_empty() {
                Err(GitError::BadPerson { part, text: text.to_owned() })
            } else {
                Ok(clean)
            }
        };
        Ok(Self { name: part("name", name)?, email: part("email address", email)? })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn email(&self) -> &str {
        &self.email
    }

    /// Cleans the name and the address of an existing commit, which may be empty.
    pub(crate) fn of_signature(name: &[u8], email: &[u8]) -> Self {
        let text = |bytes| clean(&String::from_utf8_lossy(bytes));
        Self { name: text(name), email: text(email) }
    }
}

/// Drops the characters that git drops: brackets and control characters anywhere, and "crud" at the
/// ends.
pub(crate) fn clean(text: &str) -> String {
    let inner: String =
        text.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).collect();
    let crud = |c: char| c.is_whitespace() || matches!(c, ',' | ':' | ';' | '"' | '\\' | '\'');
    inner.trim_matches(crud).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_cannot_carry_markup() {
        let person = Person::new(" Eve <eve@x>\n\tparent 0000", "<e@x>\r\nauthor z").unwrap();
        assert_eq!(person.name(), "Eve eve@xparent 0000");
        assert_eq!(person.email(), "e@xauthor z");
        assert!(Person::new("<>\n", "a@b").is_err());
        assert!(Person::new("a", "\u{0}").is_err());
    }
}
