//! Paths of an interrupted sync with names that are no text, which git alone brings. What stands there, and what is done about it, is
//! git's as well, by indexes of nothing but these paths; what is to be done says the same table.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use super::indexed::{Sides, Staged, entry_in, entry_of, of};
use super::table::{Aim, Entry, Facts, File, Step, steps};
use crate::git::command;
use crate::git::error::{At, AuditError, Unsettled, with_cause};
use crate::git::log::path_diff::Odd;
use crate::git::objects::id::CommitId;
use crate::git::objects::loose::Temp;
use crate::git::objects::tree::{Leaf, MODE_TREE, text};
use crate::git::repository::repository::Repository;
use crate::git::transaction::locks::INDEX_COPY;

/// What is known of such a path.
pub(crate) struct OddKnown {
    path: Vec<u8>,
    sides: Sides,
    pub facts: Facts,
}

impl OddKnown {
    const fn side(&self, aim: Aim) -> Option<Leaf> {
        side(self.sides, aim)
    }
}

impl Repository {
    /// Looks at all of them.
    pub(crate) fn known_odd(
        &self,
        odd: &Odd,
        head: Option<CommitId>,
        patience: Duration,
    ) -> Result<Vec<OddKnown>, AuditError> {
        if odd.is_empty() {
            return Ok(Vec::new());
        }
        let mut git = command::git(self);
        git.args(["ls-files", "-t", "--stage", "-z", "--full-name"]);
        let listed = command::run_git(git, &[])?;
        let staged: Vec<(&[u8], Staged)> =
            listed.split(|byte| *byte == 0).filter_map(entry_in).collect();
        let as_is = |aim| {
            let there =
                odd.iter().filter_map(|(path, sides)| Some((path.as_slice(), side(*sides, aim)?)));
            self.standing_as(&there.collect::<Vec<_>>(), patience)
        };
        let (before, after) = (as_is(Aim::From)?, as_is(Aim::To)?);
        let (trees, root) = (self.trees(), head.map(|commit| self.root_tree(commit)).transpose()?);
        let mut known = Vec::new();
        for (path, sides) in odd {
            let in_head = root.map(|root| trees.lookup(root, path)).transpose()?.flatten();
            let entry = staged.iter().find(|(other, _)| other == path).map(|(_, staged)| staged);
            let is_theirs =
                staged.iter().any(|(other, _)| !odd.contains_key(*other) && is_around(other, path));
            let stands = fs::symlink_metadata(self.worktree_root().join(OsStr::from_bytes(path)));
            let is_gone = matches!(&stands, Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory));
            let file = match sides {
                _ if after.contains(path) => File::To,
                _ if before.contains(path) => File::From,
                _ if !is_gone => File::Other,
                _ if entry.is_some_and(|entry| entry.is_left_out) => File::LeftOut,
                (None, _) => File::From,
                (_, None) => File::To,
                _ => File::Missing,
            };
            let head = of(*sides, in_head.filter(|leaf| leaf.mode != MODE_TREE));
            let entry = if is_theirs { Entry::Other } else { entry_of(*sides, entry) };
            known.push(OddKnown {
                path: path.clone(),
                sides: *sides,
                facts: Facts { head, entry, file },
            });
        }
        Ok(known)
    }

    /// Enters into an index what has come of them.
    pub(crate) fn enter_odd(&self, index: &Path, known: &[OddKnown]) -> Result<(), AuditError> {
        let came = known.iter().filter(|odd| odd.facts.file == File::To && odd.sides.1.is_some());
        self.give_odd_entries(index, Aim::To, &came.collect::<Vec<_>>())
    }

    pub(crate) fn give_odd_entries(
        &self,
        index: &Path,
        aim: Aim,
        known: &[&OddKnown],
    ) -> Result<(), AuditError> {
        let entries: Vec<_> =
            known.iter().map(|odd| (odd.path.as_slice(), odd.side(aim))).collect();
        self.give(index, &entries)
    }

    /// Has the files go there that can, or none of them: git looks at all before it changes one.
    pub(crate) fn go_odd(
        &self,
        aim: Aim,
        known: &[OddKnown],
        patience: Duration,
    ) -> Vec<Unsettled> {
        let going: Vec<&OddKnown> =
            known.iter().filter(|odd| steps(aim, odd.facts).0 == Step::Go).collect();
        let Err(error) = self.take_odd(aim, &going, patience) else { return Vec::new() };
        let unsettled = |odd: &&OddKnown| Unsettled {
            path: text(odd.path.clone()),
            reason: with_cause(&error),
            fix: odd.by_hand(aim, self.worktree_root()),
        };
        going.iter().map(unsettled).collect()
    }

    fn take_odd(
        &self,
        aim: Aim,
        going: &[&OddKnown],
        patience: Duration,
    ) -> Result<(), AuditError> {
        if going.is_empty() {
            return Ok(());
        }
        let index_of = |aim| {
            let there = going.iter().filter_map(|odd| Some((odd.path.as_slice(), odd.side(aim)?)));
            self.index_of(&there.collect::<Vec<_>>(), patience)
        };
        let other = match aim {
            Aim::From => Aim::To,
            Aim::To => Aim::From,
        };
        let (stands, wanted) = (index_of(other)?, index_of(aim)?);
        let tree_of = |index: &Temp| {
            let mut git = self.git_on(&index.path);
            git.args(["write-tree", "--missing-ok"]);
            command::run_git(git, &[]).map(|id| String::from_utf8_lossy(&id).trim().to_owned())
        };
        let (from, to) = (tree_of(&stands)?, tree_of(&wanted)?);
        let mut git = self.git_on(&stands.path);
        git.args(["read-tree", "-m", "-u", &from, &to]);
        command::run_git_for(git, &[], patience).map(drop)
    }

    /// Returns which of these files stand in the worktree just so, as git looks at them.
    fn standing_as(
        &self,
        files: &[(&[u8], Leaf)],
        patience: Duration,
    ) -> Result<BTreeSet<Vec<u8>>, AuditError> {
        let index = self.index_of(files, patience)?;
        let mut git = self.git_on(&index.path);
        git.args(["diff-files", "-z", "--name-only", "--ignore-submodules=dirty"]);
        // What git does not say in time is taken for somebody's.
        let Ok(others) = command::run_git_for(git, &[], patience) else {
            return Ok(BTreeSet::new());
        };
        let others: BTreeSet<&[u8]> = others.split(|byte| *byte == 0).collect();
        let same = files.iter().map(|(path, _)| *path).filter(|path| !others.contains(path));
        Ok(same.map(<[u8]>::to_vec).collect())
    }

    /// Makes an index of these files alone, which knows what they look like where they stand so.
    fn index_of(&self, files: &[(&[u8], Leaf)], patience: Duration) -> Result<Temp, AuditError> {
        let index = Temp::create(self.git_dir(), INDEX_COPY, 0o600)?;
        // Git takes an empty file for a broken index, and none for an empty one.
        fs::remove_file(&index.path).at("remove", &index.path)?;
        let entries: Vec<_> = files.iter().map(|(path, leaf)| (*path, Some(*leaf))).collect();
        self.give(&index.path, &entries)?;
        let mut refresh = self.git_on(&index.path);
        refresh.args(["update-index", "-q", "--refresh"]);
        // It says by its status too that some stand otherwise, which whoever comes next finds out.
        let _ = command::run(refresh, &[], patience);
        Ok(index)
    }

    /// Gives paths of an index what a commit has there.
    fn give(&self, index: &Path, entries: &[(&[u8], Option<Leaf>)]) -> Result<(), AuditError> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut lines = Vec::new();
        for (path, leaf) in entries {
            let fields = match leaf {
                Some(leaf) => format!("{:o} {}\t", leaf.mode, leaf.id),
                None => format!("0 {}\t", "0".repeat(40)),
            };
            lines.extend([fields.as_bytes(), path, b"\0"].concat());
        }
        let mut git = self.git_on(index);
        git.args(["update-index", "--add", "--replace", "-z", "--index-info"]);
        command::run_git(git, &lines).map(drop)
    }
}

impl OddKnown {
    /// Returns the command by which a person does it, with the bytes of the name as a shell takes them.
    fn by_hand(&self, aim: Aim, root: &Path) -> String {
        let named = |path: &[u8]| {
            let named = path.iter().map(|byte| match byte {
                b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
                b' '..=b'~' => char::from(*byte).to_string(),
                byte => format!("\\x{byte:02x}"),
            });
            format!("$'{}'", named.collect::<String>())
        };
        match self.side(aim) {
            Some(_) => {
                format!("git checkout -- {}", named(&[b":/", self.path.as_slice()].concat()))
            }
            None => format!(
                "rm {}",
                named(root.join(OsStr::from_bytes(&self.path)).as_os_str().as_bytes())
            ),
        }
    }
}

const fn side((before, after): Sides, aim: Aim) -> Option<Leaf> {
    match aim {
        Aim::From => before,
        Aim::To => after,
    }
}

/// Says whether one of two paths is a folder of the other.
fn is_around(one: &[u8], other: &[u8]) -> bool {
    let is_above = |one: &[u8], other: &[u8]| {
        other.strip_prefix(one).is_some_and(|rest| rest.starts_with(b"/"))
    };
    is_above(one, other) || is_above(other, one)
}
