//! What a commit object says, read from its bytes where they are plain, as they nearly always are; whatever looks odd is left to
//! libgit2, but for its parents: these are what the commit says, whatever git was told otherwise, and none where history was cut off.

use jiff::Timestamp;

use super::id::{CommitId, ObjectId};
use super::loose::Kind;
use crate::git::error::{AuditError, During};
use crate::git::repository::repository::Repository;
use crate::git::transaction::identity::Person;

/// A commit as history tells it.
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

/// Where a commit stands in history, and what it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Links {
    pub tree: ObjectId,
    pub parents: Vec<CommitId>,
    /// When it was committed, in seconds.
    pub committed: i64,
}

impl Repository {
    /// Reads one commit.
    pub fn log_entry(&self, id: CommitId) -> Result<LogEntry, AuditError> {
        let bytes = self.reader().read(Kind::Commit, id.object())?;
        let mut entry = match Plain::read(&bytes) {
            Some(plain) => plain.entry(id),
            None => LogEntry { parents: named_parents(&bytes), ..entry(id, &self.odd(id)?) },
        };
        if self.is_end(id)? {
            entry.parents.clear();
        }
        Ok(entry)
    }

    /// Reads where a commit stands.
    pub(crate) fn links(&self, id: CommitId) -> Result<Links, AuditError> {
        let bytes = self.reader().read(Kind::Commit, id.object())?;
        let mut links = match Plain::read(&bytes) {
            Some(plain) => plain.links(),
            None => Links { parents: named_parents(&bytes), ..links(&self.odd(id)?) },
        };
        if self.is_end(id)? {
            links.parents.clear();
        }
        Ok(links)
    }

    fn odd(&self, id: CommitId) -> Result<git2::Commit<'_>, AuditError> {
        self.git().find_commit(id.to_git()).during(|| format!("read the commit `{id}`"))
    }
}

/// Reads the parents of a commit that may be odd otherwise.
fn named_parents(bytes: &[u8]) -> Vec<CommitId> {
    let lines =
        bytes.split(|byte| *byte == b'\n').skip(1).map_while(|line| line.strip_prefix(b"parent "));
    lines.filter_map(|name| str::from_utf8(name).ok()?.to_ascii_lowercase().parse().ok()).collect()
}

fn entry(id: CommitId, commit: &git2::Commit<'_>) -> LogEntry {
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

fn links(commit: &git2::Commit<'_>) -> Links {
    let tree = ObjectId::from_git(commit.tree_id());
    Links { tree, parents: parents(commit), committed: commit.time().seconds() }
}

fn parents(commit: &git2::Commit<'_>) -> Vec<CommitId> {
    commit.parent_ids().map(|id| CommitId::new(ObjectId::from_git(id))).collect()
}

/// A commit in the form that git gives it.
struct Plain<'b> {
    tree: ObjectId,
    parents: Vec<CommitId>,
    author: Signature<'b>,
    committer: Signature<'b>,
    message: &'b [u8],
}

/// Who it was and when: `NAME <EMAIL> SECONDS +HHMM`.
struct Signature<'b> {
    name: &'b [u8],
    email: &'b [u8],
    seconds: i64,
}

impl<'b> Plain<'b> {
    fn read(bytes: &'b [u8]) -> Option<Self> {
        let mut rest = bytes;
        let tree = object(b"tree ", &mut rest)?;
        let mut parents = Vec::with_capacity(1);
        while rest.starts_with(b"parent ") {
            parents.push(CommitId::new(object(b"parent ", &mut rest)?));
        }
        let author = Signature::read(b"author ", &mut rest)?;
        let committer = Signature::read(b"committer ", &mut rest)?;
        // Other headers follow: an encoding, a signature. The first empty line ends them.
        let message = match rest.strip_prefix(b"\n") {
            Some(message) => message,
            None => &rest[rest.windows(2).position(|pair| pair == b"\n\n")? + 2..],
        };
        // libgit2 leaves empty lines out at the beginning, and takes a zero for the end.
        let message = &message[message.iter().take_while(|byte| **byte == b'\n').count()..];
        (!message.contains(&0)).then_some(Self { tree, parents, author, committer, message })
    }

    fn entry(self, id: CommitId) -> LogEntry {
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

    fn links(self) -> Links {
        Links { tree: self.tree, parents: self.parents, committed: self.committer.seconds }
    }
}

impl<'b> Signature<'b> {
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

/// A commit may claim a year that no calendar has; the nearest one stands for it.
fn timestamp(seconds: i64) -> Timestamp {
    let latest = if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_second(seconds).unwrap_or(latest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::tests::environment::TestRepository;

    #[test]
    fn commits_are_read_as_libgit2_reads_them() {
        let test = TestRepository::with_tasks();
        let repository = test.open();
        let (tree, parent) =
            (test.git(&["rev-parse", "HEAD^{tree}"]), test.git(&["rev-parse", "HEAD"]));
        let (tree, parent) = (tree.trim(), parent.trim());
        let who = "Ada \"Q.\" Lovelace <ada@example.org> 1700000000 +0130";
        let mut plain = 0;
        for (head, author, more, message) in [
            ("", who, "", "subject\n\nbody\n\nAof-Task: x\n"),
            ("", who, "encoding ISO-8859-1\n", "\n\nsubject \u{e9}\n"),
            (
                "",
                who,
                "gpgsig -----BEGIN SSH SIGNATURE-----\n U1NI\n \n -----END SSH SIGNATURE-----\n",
                "signed\n",
            ),
            ("p", who, "", "one parent"),
            ("pp", who, "mergetag object 1\n type commit\n \n text\n", "two parents\n"),
            ("p", "  .Ada <, <b@c> <a@b>  > 17 -0000", "", ""),
            ("", "<> 0 +0000", "", "nobody\n"),
            ("", "Ada <ada@example.org>", "", "no time\n"),
            ("", "Ada <ada@example.org> -12 +0000", "", "before all time\n"),
            ("", "Ada <ada@example.org> 99999999999999 +0000", "", "after all time\n"),
            ("", "Ada <ada@example.org> 1700000000", "", "no zone\n"),
            ("", "Ada <ada@example.org> 1700000000 +01", "", "half a zone\n"),
            (
                "",
                "Ada <ada@example.org> 1700000000 +0100\nauthor Eve <e@x> 1 +0000",
                "",
                "two authors\n",
            ),
            ("", who, "", "a zero\0 in it\n"),
        ] {
            let parents = format!("parent {parent}\n").repeat(head.len());
            let text = format!(
                "tree {tree}\n{parents}author {author}\ncommitter {who}\n{more}\n{message}"
            );
            let path = test.beside("commit");
            std::fs::write(&path, &text).unwrap();
            let path = path.display().to_string();
            let id = test.git(&["hash-object", "-t", "commit", "-w", "--literally", &path]);
            let id: CommitId = id.trim().parse().unwrap();
            plain += usize::from(Plain::read(text.as_bytes()).is_some());
            let odd = repository.odd(id).unwrap();
            assert_eq!(repository.log_entry(id).unwrap(), entry(id, &odd), "{text}");
            assert_eq!(repository.links(id).unwrap(), links(&odd), "{text}");
        }
        assert_eq!(plain, 8, "most are read here");
    }
}
