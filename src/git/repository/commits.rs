//! Commits of the repository, read from their bytes where these have the form that git gives them, as they nearly always do; else by
//! libgit2. Their parents are those that the commit names, whatever git was told otherwise, and none where history was cut off.

use crate::git::error::{During, GitError};
use crate::git::id::CommitId;
use crate::git::objects::commit::{Links, LogEntry, Plain, entry, links, named_parents};
use crate::git::objects::loose::Kind;
use crate::git::repository::handle::Repository;

impl Repository {
    /// Reads one commit.
    pub fn log_entry(&self, id: CommitId) -> Result<LogEntry, GitError> {
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
    pub(crate) fn links(&self, id: CommitId) -> Result<Links, GitError> {
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

    fn odd(&self, id: CommitId) -> Result<git2::Commit<'_>, GitError> {
        self.git().find_commit(id.to_git()).during(|| format!("read the commit `{id}`"))
    }
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
