//! What a kill or a failure interrupted on the way to another commit is finished, or taken back as a whole.
//!
//! Files that say already what they are to say are taken for done. Where somebody changed one of the others meanwhile, or git fails
//! again, all that came is put back, and what went as well. A file that says neither what was nor what is to be is somebody's, and
//! stays.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::Path;
use std::time::Instant;

use super::bring::{Bringing, Changes, PATHS_A_COMMAND, PATIENCE, SUBMODULE};
use super::coming::remove_empty_above;
use super::error::{At, AuditError};
use super::id::CommitId;
use super::objects::Temp;
use super::publish::Intent;
use super::repository::Repository;
use super::spawn;
use super::tree::Leaf;

impl Repository {
    /// Finishes what a kill or a failure interrupted: on the way from one commit to another, or just arrived. Files that somebody
    /// changed since stay; then the others go back, as they do where git fails again, and the branch stays where it was.
    pub fn finish_bringing(
        &self,
        from: Option<CommitId>,
        to: CommitId,
        beside: &Path,
        deadline: Instant,
        intent: Intent<'_>,
    ) -> Result<(), AuditError> {
        self.wait_for_left_git(deadline)?;
        let base = self.head()?;
        let mut changes = self.changes_to(from, to)?;
        if base.commit != from && base.commit != Some(to) {
            let lock = self.begin_bringing(&base, to, deadline, intent)?;
            // What somebody has committed meanwhile is theirs; the rest is as it was before.
            let (trees, head) = (self.trees(), base.commit.map(|commit| self.root_tree(commit)).transpose()?);
            let mut own = Changes::new();
            for (path, change) in changes {
                let here = head.map(|head| trees.lookup(head, &path)).transpose()?.flatten();
                if here == change.0 {
                    own.insert(path, change);
                }
            }
            return self.go_back(lock, from, &own, beside);
        }
        let arrived = self.arrived(&changes)?;
        let is_file = |leaf: &Leaf| leaf.mode != SUBMODULE;
        let left = changes.iter().filter(|(path, _)| !arrived.contains_key(*path));
        let left = left.filter_map(|(path, (before, after))| {
            Some((path, after.filter(is_file)?)).filter(|_| before.as_ref().is_none_or(is_file))
        });
        let (coming, trouble) = self.written_beside(&left.collect::<Vec<_>>(), &changes, to, beside)?;
        let lock = self.begin_bringing(&base, to, deadline, intent)?;
        if self.head()? != base {
            return Ok(());
        }
        // Nobody's index tells of it where it has already what came.
        let theirs = self.of_somebody(&changes)?;
        if base.commit == from && !theirs.is_empty() {
            return self.go_back(lock, from, &changes, beside);
        }
        changes.retain(|path, _| !theirs.contains(path));
        let copy = self.index_copy()?;
        self.look_afresh(&copy.path, &changes);
        self.enter(&copy.path, &self.arrived(&changes)?)?;
        let asked = match trouble {
            Some(detail) => Err(AuditError::NotBrought { detail }),
            None => self.ask(&copy.path, from, to, &changes),
        };
        match asked.and_then(|()| self.settle_files(&coming, &copy, from, to, &changes)) {
            Ok(()) if base.commit == Some(to) => {
                lock.index.write_all_of(&copy)?;
                let target = self.git_dir().join("index");
                lock.index.rename_to(&target).at("replace", &target)
            }
            Ok(()) => self.land(lock, &copy, &base, to, "sync: finished", deadline).map(drop),
            Err(
                AuditError::InTheWay { .. }
                | AuditError::NotBrought { .. }
                | AuditError::Command { .. }
                | AuditError::Io { .. },
            ) if base.commit == from => self.go_back(lock, from, &changes, beside),
            Err(AuditError::InTheWay { .. }) => Ok(()),
            // The branch is there: git shows what is left as somebody's change, as it is.
            Err(AuditError::NotBrought { .. }) if !theirs.is_empty() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Has index and worktree as they were before, but for what is somebody's.
    fn go_back(
        &self,
        lock: Bringing,
        from: Option<CommitId>,
        changes: &Changes,
        beside: &Path,
    ) -> Result<(), AuditError> {
        let copy = self.index_copy()?;
        let had_any = self.take_back_entries(&copy.path, changes)?;
        self.send_back(from, changes, &copy, beside)?;
        if had_any {
            lock.index.write_all_of(&copy)?;
            let target = self.git_dir().join("index");
            lock.index.rename_to(&target).at("replace", &target)?;
        }
        Ok(())
    }

    /// Returns the paths at which something stands that neither was there before nor is to come.
    fn of_somebody(&self, changes: &Changes) -> Result<BTreeSet<String>, AuditError> {
        let standing = self.standing(changes)?.into_iter();
        let is_own = |path: &str, leaf: Leaf| {
            let known = changes.get(path).copied().unwrap_or_default();
            leaf.mode != SUBMODULE && known.0 != Some(leaf) && known.1 != Some(leaf)
        };
        Ok(standing.filter(|(path, leaf)| is_own(path, *leaf)).map(|(path, _)| path).collect())
    }

    /// Returns those of the changes that the worktree has already: at the path is what is to be there.
    fn arrived(&self, changes: &Changes) -> Result<Changes, AuditError> {
        let standing = self.standing(changes)?;
        let arrived =
            changes.iter().filter(|(path, (_, after))| after.is_some() && standing.get(*path) == after.as_ref());
        Ok(arrived.map(|(path, change)| (path.clone(), *change)).collect())
    }

    /// Returns what stands at the paths of the changes, as git would have it, where anything stands and it can be told.
    fn standing(&self, changes: &Changes) -> Result<BTreeMap<String, Leaf>, AuditError> {
        let probe = self.index_copy()?;
        let there: Vec<&String> =
            changes.keys().filter(|path| fs::symlink_metadata(self.worktree_root().join(path)).is_ok()).collect();
        let paths: Vec<u8> = there.iter().flat_map(|path| path.bytes().chain([0])).collect();
        let probed = |paths: &[u8]| {
            let mut git = self.git_on(&probe.path);
            git.args(["update-index", "--add", "--remove", "--replace", "-z", "--stdin"]);
            spawn::run_git(git, paths)
        };
        if probed(&paths).is_err() {
            for path in &there {
                // Whatever a filter fails on is not known to have arrived.
                let _ = probed(format!("{path}\0").as_bytes());
            }
        }
        let mut standing = BTreeMap::new();
        for paths in there.chunks(PATHS_A_COMMAND) {
            let mut git = self.git_on(&probe.path);
            git.args(["--literal-pathspecs", "ls-files", "--stage", "-z", "--full-name", "--"]).args(paths);
            let output = spawn::run_git(git, &[])?;
            for line in output.split(|byte| *byte == 0) {
                let Some((leaf, path)) = str::from_utf8(line).ok().and_then(entry) else { continue };
                standing.insert(path.to_owned(), leaf);
            }
        }
        Ok(standing)
    }

    /// Takes back what the index has of the changes already; returns whether it had anything.
    fn take_back_entries(&self, copy: &Path, changes: &Changes) -> Result<bool, AuditError> {
        const NOTHING: &str = "0000000000000000000000000000000000000000";
        let paths: Vec<&String> = changes.keys().collect();
        let mut lines = String::new();
        for paths in paths.chunks(PATHS_A_COMMAND) {
            let mut git = self.git_on(copy);
            git.args(["--literal-pathspecs", "ls-files", "--stage", "-z", "--full-name", "--"]).args(paths);
            let output = spawn::run_git(git, &[])?;
            let known: BTreeMap<&str, Leaf> = output
                .split(|byte| *byte == 0)
                .filter_map(|line| str::from_utf8(line).ok().and_then(entry))
                .map(|(leaf, path)| (path, leaf))
                .collect();
            for path in paths {
                let Some((before, after)) = changes.get(*path) else { continue };
                if known.get(path.as_str()) == after.as_ref() {
                    lines += &match before {
                        Some(leaf) => format!("{:o} {}\t{path}\0", leaf.mode, leaf.id),
                        None => format!("0 {NOTHING}\t{path}\0"),
                    };
                }
            }
        }
        if lines.is_empty() {
            return Ok(false);
        }
        let mut git = self.git_on(copy);
        git.args(["update-index", "--add", "--replace", "-z", "--index-info"]);
        spawn::run_git(git, lines.as_bytes())?;
        Ok(true)
    }

    /// Puts back what arrived, and what went, as far as this copy of the index has it in the worktree: nothing else was changed.
    fn send_back(
        &self,
        from: Option<CommitId>,
        changes: &Changes,
        staged: &Temp,
        beside: &Path,
    ) -> Result<(), AuditError> {
        let arrived = self.arrived(changes)?;
        for (path, _) in arrived.iter().filter(|(_, (before, _))| before.is_none()) {
            let path = self.worktree_root().join(path);
            if path.symlink_metadata().is_ok_and(|data| data.is_dir()) {
                // A submodule that somebody has put something into stays.
                let _ = fs::remove_dir(&path);
            } else {
                fs::remove_file(&path).at("remove", &path)?;
            }
            // Folders that came with it go with it, as git has it.
            remove_empty_above(self.worktree_root(), &path);
        }
        let known = changes.iter().filter(|(_, (before, _))| before.is_some_and(|leaf| leaf.mode != SUBMODULE));
        let is_gone = |path: &str| fs::symlink_metadata(self.worktree_root().join(path)).is_err();
        let wanted: Vec<&String> =
            known.map(|(path, _)| path).filter(|path| arrived.contains_key(*path) || is_gone(path)).collect();
        let mut paths: Vec<&String> = Vec::new();
        for wanted in wanted.chunks(PATHS_A_COMMAND) {
            let mut git = self.git_on(&staged.path);
            git.args(["--literal-pathspecs", "ls-files", "-t", "-z", "--full-name", "--"]).args(wanted);
            let lines = spawn::run_git(git, &[])?;
            // `S` is what a sparse checkout leaves out.
            let here: HashSet<&[u8]> =
                lines.split(|byte| *byte == 0).filter_map(|line| line.strip_prefix(b"H ")).collect();
            paths.extend(wanted.iter().filter(|path| here.contains(path.as_bytes())));
        }
        let write = |paths: &[&String]| self.write_again(from, paths, changes, staged, beside);
        // One that cannot be written keeps none of the others from it.
        if write(&paths)?.is_none() {
            return Ok(());
        }
        let tried = paths.iter().map(|path| write(&[path])).collect::<Result<Vec<_>, _>>()?;
        let trouble = tried.into_iter().flatten().last();
        trouble.map_or(Ok(()), |detail| Err(AuditError::NotSentBack { detail }))
    }

    /// Writes files as they were before; returns why not all of them could be.
    fn write_again(
        &self,
        from: Option<CommitId>,
        paths: &[&String],
        changes: &Changes,
        staged: &Temp,
        beside: &Path,
    ) -> Result<Option<String>, AuditError> {
        let Some(from) = from.filter(|_| !paths.is_empty()) else { return Ok(None) };
        if self.leaves_it_to_git(changes, beside)? {
            let mut git = self.git_on(&staged.path);
            git.args(["checkout-index", "--force", "-z", "--stdin"]);
            let paths: Vec<u8> = paths.iter().flat_map(|path| path.bytes().chain([0])).collect();
            return Ok(spawn::run_git_for(git, &paths, PATIENCE).err().map(|error| error.to_string()));
        }
        let back = |path: &&String| {
            let (before, after) = *changes.get(*path)?;
            Some(((*path).clone(), (after, before)))
        };
        let back: Changes = paths.iter().filter_map(back).collect();
        let files = back.iter().filter_map(|(path, (_, before))| Some((path, (*before)?)));
        let (coming, trouble) = self.written_beside(&files.collect::<Vec<_>>(), &back, from, beside)?;
        self.place(&coming, &back)?;
        Ok(trouble)
    }
}

/// Reads `MODE ID STAGE<tab>PATH`, of what is merged.
fn entry(line: &str) -> Option<(Leaf, &str)> {
    let (fields, path) = line.split_once('\t')?;
    let mut fields = fields.split(' ');
    let mode = u32::from_str_radix(fields.next()?, 8).ok()?;
    let id = fields.next()?.parse().ok()?;
    (fields.next()? == "0").then_some((Leaf { mode, id }, path))
}
