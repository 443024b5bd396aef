//! One commit that git makes again on top of others: by a rebase or a cherry-pick, or backwards by a revert. Tells which one that is, and
//! makes the commit that would come of it, under no name, so that it can be judged before git makes it. Moves nothing.
//!
//! Git tells the driver by the labels of the sides, from version 2.44 on; what it leaves in its folder while it rebases tells it, too. Of
//! a single commit that an older git picks, nothing is known before it is merged.

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, Tree};

use crate::git::error::{During, GitError};
use crate::git::id::{CommitId, ObjectId};
use crate::git::objects::git_file;
use crate::git::repository::handle::Repository;
use crate::git::text_merge::Marks;

/// Begins the line in which git says what it reverts.
const REVERTS: &str = "This reverts commit ";

/// What git says of where a rebase begins, in the log of what was checked out.
const STARTS: &str = " (start): checkout ";

/// How git makes a commit again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// `git rebase`.
    Rebase,
    /// `git cherry-pick`.
    Pick,
    /// `git revert`.
    Revert,
}

/// A commit that git makes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replay {
    /// The commit.
    pub of: CommitId,
    /// How.
    pub way: Way,
}

/// Two commits that are brought together, or one that is applied to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnderWay {
    /// Where they parted: several where each had merged the other before, and none where they have nothing in common.
    pub bases: Vec<CommitId>,
    /// What it is brought into.
    pub ours: CommitId,
    /// What comes in.
    pub theirs: CommitId,
}

impl Repository {
    /// Returns what a merge, a rebase, a cherry-pick or a revert that has stopped brings together. Nothing where git is in the middle of something else,
    /// or of nothing, or a commit of several parents is picked.
    pub fn under_way(&self) -> Result<Option<UnderWay>, GitError> {
        let Some(ours) = self.look()?.commit else { return Ok(None) };
        match self.merge_heads()[..] {
            [] => {}
            [theirs] => {
                return Ok(Some(UnderWay { bases: self.merge_bases(ours, theirs)?, ours, theirs }));
            }
            _ => return Ok(None),
        }
        let Some(Replay { of, way }) = self.replay_stopped() else { return Ok(None) };
        let parents = self.links(of)?.parents;
        Ok(match (way, &parents[..]) {
            (Way::Revert, [theirs]) => Some(UnderWay { bases: vec![of], ours, theirs: *theirs }),
            (_, [_, _, ..]) | (Way::Revert, []) => None,
            (Way::Rebase | Way::Pick, _) => Some(UnderWay { bases: parents, ours, theirs: of }),
        })
    }

    /// Returns what git makes again while it asks for a file to be merged under these labels.
    pub fn replay_of(&self, marks: &Marks) -> Result<Option<Replay>, GitError> {
        let reverted = marks.theirs.strip_prefix("parent of ");
        if let Some(name) = commit_of_label(reverted.unwrap_or(&marks.theirs)) {
            let Some(of) = self.commit_named(name)? else { return Ok(None) };
            return Ok(Some(if reverted.is_some() {
                Replay { of, way: Way::Revert }
            } else {
                self.picked(of)
            }));
        }
        // Whatever else has a name of its own there is a branch, or a stash.
        let is_unnamed = marks.theirs == Marks::default().theirs;
        let applied = self.commit_in("rebase-apply/original-commit");
        if let Some(of) = applied
            && (is_unnamed || self.log_entry(of)?.message.lines().next() == Some(&marks.theirs))
        {
            return Ok(self.rebase().map(|way| Replay { of, way }));
        }
        let done = self
            .git_file("rebase-merge/done")
            .filter(|_| is_unnamed && self.merge_heads().is_empty());
        let name = done.as_ref().and_then(|text| text.lines().last()?.split(' ').nth(1));
        let of = name.map(|name| self.commit_named(name)).transpose()?.flatten();
        Ok(of.and_then(|of| Some(Replay { of, way: self.rebase()? })))
    }

    /// Returns what git makes again by a commit with this message. It writes down what it reverts only once that has conflicts, and a
    /// rebase that was stopped may be at a commit of another kind.
    /// A merge is none of these, whatever it says.
    pub fn replay_committed(&self, message: &str) -> Result<Option<Replay>, GitError> {
        if !self.merge_heads().is_empty() {
            return Ok(None);
        }
        if let Some(replay) = self.replay_named() {
            return Ok(Some(replay));
        }
        // A rebase may make a commit again that says itself what it reverts.
        if let Some(replay) = self.replay_stopped()
            && message.starts_with(self.log_entry(replay.of)?.message.trim_end())
        {
            return Ok(Some(replay));
        }
        let Some(name) = message.lines().find_map(reverted_name) else { return Ok(None) };
        Ok(self.commit_named(name)?.map(|of| Replay { of, way: Way::Revert }))
    }

    /// Returns what git makes again and has stopped at. Where it was made already, and git has stopped behind it, that is nothing: a rebase keeps
    /// the message until there is a commit with it.
    pub fn replay_stopped(&self) -> Option<Replay> {
        let is_made = || {
            self.git_dir().join("rebase-merge").is_dir()
                && !self.git_dir().join("MERGE_MSG").exists()
        };
        self.replay_named().or_else(|| {
            let of = self.commit_in("REBASE_HEAD").filter(|_| !is_made())?;
            Some(Replay { of, way: self.rebase()? })
        })
    }

    /// Returns whether git goes through several commits that it picks or reverts, and would go on with the next.
    pub fn is_in_sequence(&self) -> bool {
        self.git_dir().join("sequencer").is_dir()
    }

    /// Returns what git names as what it picks or reverts. In a rebase it names what it picks where nothing of that is in conflict.
    pub fn replay_named(&self) -> Option<Replay> {
        let reverted = self.commit_in("REVERT_HEAD").map(|of| Replay { of, way: Way::Revert });
        reverted.or_else(|| self.commit_in("CHERRY_PICK_HEAD").map(|of| self.picked(of)))
    }

    /// Returns onto what the rebase under way brings its commits, where git tells it, and it is none of those that are made again. Reads
    /// history no further than to where the two parted.
    pub fn rebased_onto(&self) -> Option<CommitId> {
        let name = self.rebase_folder()?;
        let onto = self.commit_in(&format!("{name}/onto")).or_else(|| self.started_at());
        let from =
            self.commit_in(&format!("{name}/orig-head")).or_else(|| self.commit_in("ORIG_HEAD"));
        let is_behind = |onto| {
            from.is_some_and(|from| {
                self.merge_bases(onto, from).is_ok_and(|bases| bases.contains(&onto))
            })
        };
        onto.filter(|onto| !is_behind(*onto))
    }

    /// Writes the commit that comes of it if these files, are as they are given, and all others as HEAD has them: those without a
    /// content are gone. No branch gets it.
    pub fn replayed_with(
        &self,
        head: CommitId,
        replay: Replay,
        files: &[(&str, Option<&[u8]>)],
    ) -> Result<CommitId, GitError> {
        let git = self.git();
        let before =
            git.find_commit(head.to_git()).and_then(|commit| commit.tree()).during(doing)?;
        let mut update = TreeUpdateBuilder::new();
        for (path, content) in files {
            let path = self.full_path(path);
            match content {
                Some(bytes) => update.upsert(path, git.blob(bytes).during(doing)?, FileMode::Blob),
                None => update.remove(path),
            };
        }
        let tree =
            update.create_updated(git, &before).and_then(|id| git.find_tree(id)).during(doing)?;
        self.replayed(head, replay, &tree)
    }

    /// Writes the commit that comes of what is staged. No branch gets it; nothing where something is unmerged.
    pub fn replayed_as_staged(
        &self,
        head: CommitId,
        replay: Replay,
    ) -> Result<Option<CommitId>, GitError> {
        let file = self.index_to_commit();
        if self.index_at(&file)?.has_conflicts() {
            return Ok(None);
        }
        let tree = self.git().find_tree(self.tree_of(&file)?.to_git()).during(doing)?;
        self.replayed(head, replay, &tree).map(Some)
    }

    /// Says of itself what the commit says that is made again; a revert says nothing of what it takes back.
    fn replayed(
        &self,
        head: CommitId,
        replay: Replay,
        tree: &Tree<'_>,
    ) -> Result<CommitId, GitError> {
        let git = self.git();
        let (head, of) = (git.find_commit(head.to_git()), git.find_commit(replay.of.to_git()));
        let (head, of) = (head.during(doing)?, of.during(doing)?);
        let said = String::from_utf8_lossy(of.message_bytes());
        let message = if replay.way == Way::Revert { "Revert" } else { &said };
        let made = git.commit(None, &of.author(), &of.committer(), message, tree, &[&head]);
        made.map(|id| CommitId::new(ObjectId::from_git(id))).during(doing)
    }

    fn picked(&self, of: CommitId) -> Replay {
        Replay { of, way: self.rebase().unwrap_or(Way::Pick) }
    }

    fn commit_in(&self, name: &str) -> Option<CommitId> {
        self.git_file(name)?.trim().parse().ok()
    }

    fn rebase(&self) -> Option<Way> {
        self.rebase_folder().map(|_| Way::Rebase)
    }

    /// Returns the folder in which git keeps what it knows of the rebase under way.
    fn rebase_folder(&self) -> Option<&'static str> {
        ["rebase-merge", "rebase-apply"].into_iter().find(|name| self.git_dir().join(name).is_dir())
    }

    /// Returns where the newest rebase began: some write it down only when they stop.
    fn started_at(&self) -> Option<CommitId> {
        let log = self.git().reflog("HEAD").ok()?;
        let start = log.iter().find(|entry| {
            entry.message().ok().flatten().is_some_and(|said| said.contains(STARTS))
        })?;
        Some(CommitId::new(ObjectId::from_git(start.id_new())))
    }

    fn git_file(&self, name: &str) -> Option<String> {
        git_file::read_text(&self.git_dir().join(name)).ok()
    }
}

/// Returns the name of the commit in a label that git gives one that is made again: `16c250e (its first line)`, and where its file was
/// moved, a path behind it. No branch has such a name.
fn commit_of_label(label: &str) -> Option<&str> {
    let (name, rest) = label.split_once(" (")?;
    (rest.contains(')') && name.len() > 3 && name.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .then_some(name)
}

/// Returns the name of the commit in the line in which git says what it reverts: a whole one, or with `revert.reference` the beginning of
/// one, `16c250e (its first line, 2026-02-16)`.
fn reverted_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(REVERTS)?;
    let name = &rest[..rest.bytes().take_while(u8::is_ascii_hexdigit).count()];
    (name.len() > 3).then_some(name)
}

fn doing() -> String {
    "make again what git picks".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_names_what_it_reverts_in_two_ways() {
        let whole = "0123456789abcdef0123456789abcdef01234567";
        for rest in [".", ", reversing", ""] {
            assert_eq!(reverted_name(&format!("{REVERTS}{whole}{rest}")), Some(whole));
        }
        assert_eq!(
            reverted_name("This reverts commit 16c250e (a subject, 2026-02-16)."),
            Some("16c250e")
        );
        for line in [
            "This reverts commit",
            "This reverts commit of mine",
            " This reverts commit 16c250e",
            "",
        ] {
            assert_eq!(reverted_name(line), None, "{line}");
        }
    }

    #[test]
    fn only_commits_that_are_made_again_have_such_labels() {
        for label in
            ["16c250e (a subject)", "16c250e (of (two)):tasks/archive/2026/02/16/AOF-abc.md"]
        {
            assert_eq!(commit_of_label(label), Some("16c250e"), "{label}");
        }
        for label in
            ["side", "16c250e", "HEAD (detached)", "16c250e (", "Stashed changes", "local", ""]
        {
            assert_eq!(commit_of_label(label), None, "{label}");
        }
    }
}
