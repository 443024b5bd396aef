//! Files and entries of the index go to one of two commits, path by path. What cannot be done at one path keeps none of the others from
//! it; what somebody changes meanwhile is left to them.

use std::path::Path;
use std::time::Instant;

use super::indexed::info;
use super::look::Known;
use super::odd::OddKnown;
use super::standing::left;
use super::table::{Aim, Step, steps};
use crate::git::checkout::checkout::Bringing;
use crate::git::checkout::incoming_files::Coming;
use crate::git::checkout::worktree_folder::folder::Below;
use crate::git::command;
use crate::git::error::{AuditError, Unsettled, with_cause};
use crate::git::log::path_diff::Changes;
use crate::git::objects::id::CommitId;
use crate::git::objects::loose::Temp;
use crate::git::objects::tree::{Leaf, MODE_SUBMODULE};
use crate::git::repository::repository::Repository;
use crate::system::shell::quoted;

impl Known {
    /// Returns what the commit has there that it goes to.
    const fn aimed(&self, aim: Aim) -> Option<Leaf> {
        match aim {
            Aim::From => self.before,
            Aim::To => self.after,
        }
    }
}

/// Where the paths go, and until when git may be asked for files.
pub(crate) struct Going<'a> {
    pub aim: Aim,
    pub of: Option<CommitId>,
    pub beside: &'a Path,
    pub until: Instant,
    pub odd: &'a [OddKnown],
}

impl Repository {
    /// Has those paths go there that can, and returns the others, with why not. The files go first: after a kill the index still tells
    /// that there is something to do.
    pub(crate) fn go_each(
        &self,
        going: &Going<'_>,
        known: &[Known],
        lock: Bringing,
    ) -> Result<Vec<Unsettled>, AuditError> {
        let mut unsettled = self.go_files(going, known)?;
        unsettled.extend(self.go_odd(going.aim, going.odd, left(going.until)));
        let aim = going.aim;
        let copy = self.index_copy()?;
        let entries: Vec<&Known> =
            known.iter().filter(|known| steps(aim, known.facts).1 == Step::Go).collect();
        let odd: Vec<&OddKnown> =
            going.odd.iter().filter(|odd| steps(aim, odd.facts).1 == Step::Go).collect();
        if !entries.is_empty() || !odd.is_empty() {
            self.give_entries(&copy, aim, &entries)?;
            self.give_odd_entries(&copy.path, aim, &odd)?;
            lock.index.write_all_of(&copy)?;
            let target = self.git_dir().join("index");
            lock.index.replace(&target)?;
        }
        Ok(unsettled)
    }

    fn give_entries(&self, copy: &Temp, aim: Aim, entries: &[&Known]) -> Result<(), AuditError> {
        let mut lines = String::new();
        for known in entries {
            info(&mut lines, &known.path, known.aimed(aim));
        }
        let mut git = self.git_on(&copy.path);
        git.args(["update-index", "--add", "--replace", "-z", "--index-info"]);
        command::run_git(git, lines.as_bytes())?;
        let left_out =
            entries.iter().filter(|known| known.is_left_out && known.aimed(aim).is_some());
        let left_out: Vec<u8> = left_out.flat_map(|known| known.path.bytes().chain([0])).collect();
        if left_out.is_empty() {
            return Ok(());
        }
        let mut git = self.git_on(&copy.path);
        git.args(["update-index", "--skip-worktree", "-z", "--stdin"]);
        command::run_git(git, &left_out).map(drop)
    }

    fn go_files(&self, to: &Going<'_>, known: &[Known]) -> Result<Vec<Unsettled>, AuditError> {
        let aim = to.aim;
        let below = Below::open(self.worktree_root())?;
        let mut unsettled = Vec::new();
        let mut note = |known: &Known, done: Result<(), AuditError>| match done {
            // By now it is somebody's.
            Ok(()) | Err(AuditError::InTheWay { .. }) => {}
            Err(error) => unsettled.push(Unsettled {
                path: known.path.clone(),
                reason: with_cause(&error),
                fix: known.by_hand(aim, self.worktree_root()),
            }),
        };
        let going: Vec<&Known> =
            known.iter().filter(|known| steps(aim, known.facts).0 == Step::Go).collect();
        // Files before the folders that they are in.
        for known in going.iter().rev().filter(|known| !is_file(known.aimed(aim))) {
            match known.seen {
                Some(seen) => note(known, below.remove(&known.path, seen)),
                // A submodule that somebody has put something into stays.
                None if known.aimed(aim).is_none() => below.remove_empty(&known.path),
                None => {}
            }
            if known.aimed(aim).is_some() {
                note(known, below.make_folder(&known.path));
            }
        }
        let files = going.into_iter().filter(|known| is_file(known.aimed(aim)));
        // Git before 2.41 writes files by the attributes that stand in the worktree.
        let (attributes, files): (Vec<_>, Vec<_>) =
            files.partition(|known| known.path.ends_with(".gitattributes"));
        for files in [attributes, files] {
            let Some(of) = to.of.filter(|_| !files.is_empty()) else { continue };
            match (self.written(to, of, &files), &files[..]) {
                (Ok(coming), _) => {
                    put(&below, &coming, &files, &mut note);
                    continue;
                }
                (Err(error), [known]) => {
                    note(known, Err(error));
                    continue;
                }
                (Err(_), _) => {}
            }
            for known in files {
                match self.written(to, of, &[known]) {
                    Ok(coming) => put(&below, &coming, &[known], &mut note),
                    Err(error) => note(known, Err(error)),
                }
            }
        }
        below.sync_folders(known.iter().map(|known| known.path.as_str()))?;
        Ok(unsettled)
    }

    /// Writes these files beside, all of them.
    fn written(
        &self,
        to: &Going<'_>,
        of: CommitId,
        files: &[&Known],
    ) -> Result<Coming, AuditError> {
        let changes: Changes =
            files.iter().map(|known| (known.path.clone(), (known.before, known.after))).collect();
        let files: Vec<_> =
            files.iter().filter_map(|known| Some((&known.path, known.aimed(to.aim)?))).collect();
        let (coming, trouble) =
            self.written_beside(&files, &changes, of, to.beside, left(to.until))?;
        let command = || "git checkout-index".to_owned();
        trouble.map_or(Ok(coming), |detail| Err(AuditError::Command { command: command(), detail }))
    }
}

impl Known {
    /// Returns the command by which a person does it, wherever in the worktree that is.
    fn by_hand(&self, aim: Aim, root: &Path) -> String {
        match self.aimed(aim) {
            Some(_) => format!("git checkout -- {}", quoted(&format!(":/{}", self.path))),
            None => format!("rm {}", quoted(&root.join(&self.path).to_string_lossy())),
        }
    }
}

fn put(
    below: &Below,
    coming: &Coming,
    files: &[&Known],
    note: &mut impl FnMut(&Known, Result<(), AuditError>),
) {
    for ((_, written), known) in coming.files.iter().zip(files) {
        note(known, below.put(written, &known.path, known.seen));
    }
}

fn is_file(leaf: Option<Leaf>) -> bool {
    leaf.is_some_and(|leaf| leaf.mode != MODE_SUBMODULE)
}
