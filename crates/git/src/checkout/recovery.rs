//! Finishes or undoes a fast-forward that a kill or a failure interrupted. Each path is compared with both commits; content that
//! is in neither belongs to a person or is torn, and stays.
//!
//! ```text
//!   branch and index               all paths are as one of the commits     otherwise, or a failure
//!   before the move                forward: files, index and branch        back, path by path
//!   moved, the index is behind     forward, path by path                   as above
//!   moved, or merged further       nothing: what differs is a person's     as above
//!   elsewhere                      back, where HEAD has the old version    as above
//! ```
//! A path whose index entry is neither version is a person's work, and stays as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::ops::Bound;
use std::time::{Duration, Instant};

use super::fast_forward::FastForwardLocks;
use crate::command;
use crate::error::{At, GitError, Unsettled, with_cause};
use crate::id::CommitId;
use crate::log::tree_diff::{BeforeAfter, Changes};
use crate::objects::loose::Temp;
use crate::objects::tree::{Leaf, MODE_TREE, text};
use crate::repository::handle::Repository;
use crate::repository::references::Head;
use crate::transaction::locks::{BranchLock, INDEX_COPY, IncomingFiles};
use crate::transaction::publish::RecordLocks;
use aof_system::terminal::quoted;

/// The result of a recovery.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CheckoutRecovery {
    /// The paths that could not be written; all others are done.
    pub unsettled: Vec<Unsettled>,
    /// The reason why the move was not finished.
    pub failed: Option<String>,
}

/// The progress of the interrupted move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MoveProgress {
    /// The branch is checked out and has not moved.
    Before,
    /// The branch has moved, but not the index: a power cut.
    Ahead,
    /// The branch and the index have moved, or HEAD contains the new commit.
    Landed,
    /// HEAD is another commit that does not contain the new one.
    Elsewhere,
}

/// The version of a path in HEAD, the index, or the worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Before,
    After,
    /// There is no file, though both commits have one.
    Missing,
    Other,
}

/// The state of a path.
struct PathState {
    path: Vec<u8>,
    sides: BeforeAfter,
    head: Version,
    entry: Version,
    file: Version,
    /// True if a sparse checkout leaves the path out.
    is_left_out: bool,
}

/// An entry of the index; without a leaf if it is unmerged, or if a conflicting path has a person's entry.
#[derive(Clone, Copy)]
struct IndexState {
    leaf: Option<Leaf>,
    is_left_out: bool,
}

impl PathState {
    /// Returns whether no other process or person has changed anything at the path.
    fn is_ours(&self) -> bool {
        match self.file {
            Version::Before => self.entry == Version::Before,
            Version::After => self.entry != Version::Other,
            Version::Missing => {
                self.entry == Version::Before || self.is_left_out && self.entry == Version::After
            }
            Version::Other => false,
        }
    }

    /// Returns whether the file, and whether the index entry, should become this version.
    fn should_move(&self, to: Version) -> (bool, bool) {
        match to {
            // HEAD has another version: a person committed it.
            Version::Before if self.head != Version::Before => (false, false),
            Version::Before => (
                self.file == Version::After && self.entry != Version::Other,
                self.entry == Version::After,
            ),
            _ => {
                let is_old = self.entry == Version::Before;
                (self.file == Version::Before && is_old, is_old)
            }
        }
    }

    fn side(&self, version: Version) -> Option<Leaf> {
        if version == Version::Before { self.sides.0 } else { self.sides.1 }
    }
}

impl Repository {
    /// Finishes an interrupted fast-forward, or undoes it if something has changed since or if it fails again. `patience` is the
    /// time for all filters; a file whose filter takes longer stays as it is.
    pub fn recover_fast_forward(
        &self,
        was: &BranchLock,
        deadline: Instant,
        patience: Duration,
        record: RecordLocks<'_>,
    ) -> Result<CheckoutRecovery, GitError> {
        self.wait_for_orphaned_git(deadline)?;
        let changes = match self.changes(was.from, was.to) {
            Ok(changes) => changes,
            // Such a move is never begun.
            Err(GitError::Forbidden { .. }) => return Ok(CheckoutRecovery::default()),
            Err(error) => return self.without_commits(was, error),
        };
        let until = Instant::now() + patience;
        let start = Head { reference: was.reference.clone(), commit: was.from, ..self.head()? };
        loop {
            let entries = self.entries_at(&changes)?;
            if self.progress(was, &self.head()?, &changes, &entries)? == MoveProgress::Landed {
                return Ok(CheckoutRecovery::default());
            }
            let lock = self.begin_fast_forward(
                &start,
                was.to,
                IncomingFiles::Coming,
                deadline,
                &mut *record,
            )?;
            match self.recover_under_lock(was, &changes, lock, deadline, until) {
                // Another commit was made, or another branch checked out: decide again.
                Err(GitError::Moved { .. }) if Instant::now() < deadline => {}
                settled => return settled,
            }
        }
    }

    /// Handles a pruned commit: the files that were checked out are unknown, so all files stay as they are.
    fn without_commits(
        &self,
        was: &BranchLock,
        error: GitError,
    ) -> Result<CheckoutRecovery, GitError> {
        let mut commits = [Some(was.to), was.from].into_iter().flatten();
        let Some(lost) = commits.find(|commit| !self.has_commit(*commit)) else {
            return Err(error);
        };
        let failed =
            format!("git no longer has the commit `{lost}`, so all files stay as they are");
        Ok(CheckoutRecovery { unsettled: Vec::new(), failed: Some(failed) })
    }

    /// Decides and acts while the index is locked.
    fn recover_under_lock(
        &self,
        was: &BranchLock,
        changes: &Changes,
        lock: FastForwardLocks,
        deadline: Instant,
        until: Instant,
    ) -> Result<CheckoutRecovery, GitError> {
        let head = self.head()?;
        let mut known = self.known(changes, head.commit, until)?;
        let may_come = self.check_incoming(changes).is_ok();
        let aim = match self.progress(was, &head, changes, &self.entries_at(changes)?)? {
            MoveProgress::Landed => return Ok(CheckoutRecovery::default()),
            MoveProgress::Ahead if !may_come => return Ok(CheckoutRecovery::default()),
            MoveProgress::Ahead => Version::After,
            MoveProgress::Before | MoveProgress::Elsewhere => Version::Before,
        };
        let mut failed = None;
        let is_before = head.reference == was.reference && head.commit == was.from;
        if is_before && may_come && known.iter().all(PathState::is_ours) {
            let copy = self.index_copy()?;
            // Half of the time is kept for undoing a failure.
            match self.check_out_rest(&copy, was, changes, &known, left(until) / 2) {
                Ok(()) => {
                    let landed = self.move_branch_and_index(
                        lock,
                        &copy,
                        &head,
                        was.to,
                        "sync: finished",
                        deadline,
                    )?;
                    return match landed.not_synced {
                        Some(fault) => Err(fault.cause).at("sync", &fault.path),
                        None => Ok(CheckoutRecovery::default()),
                    };
                }
                Err(error) => {
                    failed = Some(with_cause(&error));
                    known = self.known(changes, head.commit, until)?;
                }
            }
        }
        let others: Vec<String> = known
            .iter()
            .filter(|known| known.file == Version::Other)
            .map(|known| format!("`{}`", text(known.path.clone())))
            .collect();
        if failed.is_none() && !others.is_empty() {
            failed = Some(format!(
                "{} changed meanwhile, or half written: what stands there stays",
                others.join(", ")
            ));
        }
        let unsettled = self.move_each_path(aim, &known, lock, until)?;
        Ok(CheckoutRecovery { unsettled, failed })
    }

    fn progress(
        &self,
        was: &BranchLock,
        head: &Head,
        changes: &Changes,
        entries: &BTreeMap<Vec<u8>, IndexState>,
    ) -> Result<MoveProgress, GitError> {
        let is_on_it = head.reference == was.reference;
        if is_on_it && head.commit == was.from {
            return Ok(MoveProgress::Before);
        }
        if is_on_it && head.commit == Some(was.to) {
            // The index is replaced as a whole, so checking any path is enough.
            let has_moved = changes.is_empty()
                || changes.iter().any(|(path, sides)| {
                    entry_version(*sides, entries.get(path)) == Version::After
                });
            return Ok(if has_moved { MoveProgress::Landed } else { MoveProgress::Ahead });
        }
        let has_it = head.commit.map(|commit| self.is_ancestor(was.to, commit)).transpose()?;
        Ok(if has_it == Some(true) { MoveProgress::Landed } else { MoveProgress::Elsewhere })
    }

    /// Checks out the files that have not been written yet.
    fn check_out_rest(
        &self,
        copy: &Temp,
        was: &BranchLock,
        changes: &Changes,
        known: &[PathState],
        patience: Duration,
    ) -> Result<(), GitError> {
        self.refresh_known(&copy.path, changes, patience);
        let written = known.iter().filter(|known| known.file == Version::After);
        let written = written.filter(|known| known.sides.1.is_some());
        self.set_entries(&copy.path, written.map(|known| (known.path.as_slice(), known.sides.1)))?;
        self.check_overwrites(&copy.path, was.from, was.to, changes)?;
        self.check_out(copy, was.from, was.to, changes, patience)
    }

    /// Moves each path that can be moved to that version; returns those whose file could not be written. Files are written
    /// first: after a kill, the old index still shows that work is left.
    fn move_each_path(
        &self,
        aim: Version,
        known: &[PathState],
        lock: FastForwardLocks,
        until: Instant,
    ) -> Result<Vec<Unsettled>, GitError> {
        let going: Vec<&PathState> =
            known.iter().filter(|known| known.should_move(aim).0).collect();
        let sides = |known: &PathState| match aim {
            Version::Before => (known.sides.1, known.sides.0),
            _ => known.sides,
        };
        let (tasks, others): (Vec<&PathState>, Vec<&PathState>) = going
            .iter()
            .copied()
            .partition(|known| self.is_written_here(&known.path, sides(known)));
        let tasks: Vec<_> = tasks.iter().map(|known| (&known.path[..], sides(known))).collect();
        let others: Vec<_> = others.iter().map(|known| (&known.path[..], sides(known))).collect();
        self.write_task_files(&tasks)?;
        let mut unsettled = Vec::new();
        if self.move_files(&others, until).is_err() {
            for (path, sides) in others {
                if let Err(error) = self.move_files(&[(path, sides)], until) {
                    unsettled.push(self.unsettled(path, sides, &error));
                }
            }
        }
        self.sync_worktree(going.iter().map(|known| known.path.as_slice()))?;
        let entries: Vec<&PathState> =
            known.iter().filter(|known| known.should_move(aim).1).collect();
        if !entries.is_empty() {
            let copy = self.index_copy()?;
            self.set_entries(
                &copy.path,
                entries.iter().map(|known| (known.path.as_slice(), known.side(aim))),
            )?;
            self.leave_out(&copy, aim, &entries)?;
            lock.index.write_all_of(&copy)?;
            lock.index.replace(&self.git_dir().join("index"))?;
        }
        Ok(unsettled)
    }

    /// Makes git move these files from one version to the other. Git checks all of them before it changes one.
    fn move_files(&self, files: &[(&[u8], BeforeAfter)], until: Instant) -> Result<(), GitError> {
        if files.is_empty() {
            return Ok(());
        }
        let index_of = |side: fn(BeforeAfter) -> Option<Leaf>| {
            let there = files.iter().filter_map(|(path, sides)| Some((*path, side(*sides)?)));
            self.index_of(&there.collect::<Vec<_>>(), until)
        };
        let (current, wanted) = (index_of(|sides| sides.0)?, index_of(|sides| sides.1)?);
        let tree_of = |index: &Temp| {
            let mut git = self.git_on(&index.path);
            git.args(["write-tree", "--missing-ok"]);
            command::run_git(git, &[]).map(|id| String::from_utf8_lossy(&id).trim().to_owned())
        };
        let mut git = self.git_on(&current.path);
        git.args(["read-tree", "-m", "-u", &tree_of(&current)?, &tree_of(&wanted)?]);
        command::run_git_for(git, &[], left(until)).map(drop)
    }

    fn unsettled(&self, path: &[u8], (_, after): BeforeAfter, error: &GitError) -> Unsettled {
        let path = text(path.to_vec());
        let fix = match after {
            Some(_) => format!("git checkout -- {}", quoted(&format!(":/{path}"))),
            None => format!("rm {}", quoted(&self.worktree_root().join(&path).to_string_lossy())),
        };
        Unsettled { path, reason: with_cause(error), fix }
    }

    /// Restores the skip-worktree bit of entries that a sparse checkout leaves out.
    fn leave_out(&self, copy: &Temp, aim: Version, entries: &[&PathState]) -> Result<(), GitError> {
        let left_out: Vec<u8> = entries
            .iter()
            .filter(|known| known.is_left_out && known.side(aim).is_some())
            .flat_map(|known| known.path.iter().copied().chain([0]))
            .collect();
        if left_out.is_empty() {
            return Ok(());
        }
        let mut git = self.git_on(&copy.path);
        git.args(["update-index", "--skip-worktree", "-z", "--stdin"]);
        command::run_git(git, &left_out).map(drop)
    }

    /// Returns the state of every path that the move changes.
    fn known(
        &self,
        changes: &Changes,
        head: Option<CommitId>,
        until: Instant,
    ) -> Result<Vec<PathState>, GitError> {
        let entries = self.entries_at(changes)?;
        let standing_as = |side: fn(BeforeAfter) -> Option<Leaf>| {
            let there = changes.iter().filter_map(|(path, sides)| Some((&path[..], side(*sides)?)));
            self.standing_as(&there.collect::<Vec<_>>(), until)
        };
        let (before, after) = (standing_as(|sides| sides.0)?, standing_as(|sides| sides.1)?);
        let (trees, root) = (self.trees(), head.map(|commit| self.root_tree(commit)).transpose()?);
        let mut known = Vec::new();
        for (path, sides) in changes {
            let in_head = root.map(|root| trees.lookup(root, path)).transpose()?.flatten();
            let entry = entries.get(path);
            let is_gone = match fs::symlink_metadata(self.place_of(path)) {
                // A folder that only holds changing files does not count as content.
                Ok(data) => data.is_dir() && below(path, changes).next().is_some(),
                Err(error) => {
                    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
                }
            };
            let file = if after.contains(path) || is_gone && sides.1.is_none() {
                Version::After
            } else if before.contains(path) || is_gone && sides.0.is_none() {
                Version::Before
            } else if is_gone {
                Version::Missing
            } else {
                Version::Other
            };
            known.push(PathState {
                path: path.clone(),
                sides: *sides,
                head: version(*sides, in_head.filter(|leaf| leaf.mode != MODE_TREE)),
                entry: entry_version(*sides, entry),
                file,
                is_left_out: entry.is_some_and(|entry| entry.is_left_out),
            });
        }
        Ok(known)
    }

    /// Returns those files that are unmodified in the worktree, as git sees them through its filters.
    fn standing_as(
        &self,
        files: &[(&[u8], Leaf)],
        until: Instant,
    ) -> Result<BTreeSet<Vec<u8>>, GitError> {
        if files.is_empty() {
            return Ok(BTreeSet::new());
        }
        let index = self.index_of(files, until)?;
        let mut git = self.git_on(&index.path);
        git.args(["diff-files", "-z", "--name-only", "--ignore-submodules=dirty"]);
        // At a timeout all files count as changed by a person.
        let Ok(others) = command::run_git_for(git, &[], left(until)) else {
            return Ok(BTreeSet::new());
        };
        let others: BTreeSet<&[u8]> = others.split(|byte| *byte == 0).collect();
        let same = files.iter().map(|(path, _)| *path).filter(|path| !others.contains(path));
        Ok(same.map(<[u8]>::to_vec).collect())
    }

    /// Creates a refreshed index of these files alone.
    fn index_of(&self, files: &[(&[u8], Leaf)], until: Instant) -> Result<Temp, GitError> {
        let index = Temp::create(self.git_dir(), INDEX_COPY, 0o600)?;
        // To git, an empty file is a broken index, and a missing one is empty.
        fs::remove_file(&index.path).at("remove", &index.path)?;
        self.set_entries(&index.path, files.iter().map(|(path, leaf)| (*path, Some(*leaf))))?;
        let paths: Vec<&[u8]> = files.iter().map(|(path, _)| *path).collect();
        // One failing filter ends git, so try each path alone.
        if !self.refresh(&index.path, &paths, left(until)) {
            for path in &paths {
                self.refresh(&index.path, &[path], left(until));
            }
        }
        Ok(index)
    }

    /// Returns the index entries at these paths. Reads the index once.
    fn entries_at(&self, changes: &Changes) -> Result<BTreeMap<Vec<u8>, IndexState>, GitError> {
        const THEIRS: IndexState = IndexState { leaf: None, is_left_out: false };
        let mut git = self.git_command();
        git.args(["ls-files", "-t", "--stage", "-z", "--full-name"]);
        let listed = command::run_git(git, &[])?;
        let (mut found, mut around) = (BTreeMap::new(), Vec::new());
        for (path, entry) in listed.split(|byte| *byte == 0).filter_map(parse_entry) {
            let change = changes.get(path);
            if change.is_none_or(|sides| entry_version(*sides, Some(&entry)) == Version::Other) {
                around.extend(conflicting_changes(path, changes));
            }
            if change.is_some() {
                found.insert(path.to_vec(), entry);
            }
        }
        found.extend(around.into_iter().map(|path| (path, THEIRS)));
        Ok(found)
    }
}

/// Returns the changed paths that conflict with this one: folders above it, and paths below it.
fn conflicting_changes(path: &[u8], changes: &Changes) -> Vec<Vec<u8>> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let above = slashes.filter_map(|(at, _)| changes.get_key_value(&path[..at]));
    above.chain(below(path, changes)).map(|(path, _)| path.clone()).collect()
}

fn below<'c>(
    path: &[u8],
    changes: &'c Changes,
) -> impl Iterator<Item = (&'c Vec<u8>, &'c BeforeAfter)> {
    let inside = [path, b"/"].concat();
    let from = (Bound::Excluded(inside.clone()), Bound::Unbounded);
    changes.range(from).take_while(move |(other, _)| other.starts_with(&inside))
}

fn version(sides: BeforeAfter, leaf: Option<Leaf>) -> Version {
    if leaf == sides.1 {
        Version::After
    } else if leaf == sides.0 {
        Version::Before
    } else {
        Version::Other
    }
}

fn entry_version(sides: BeforeAfter, entry: Option<&IndexState>) -> Version {
    match entry {
        Some(IndexState { leaf: None, .. }) => Version::Other,
        Some(entry) => version(sides, entry.leaf),
        None => version(sides, None),
    }
}

/// Reads `TAG MODE ID STAGE<tab>PATH`.
fn parse_entry(line: &[u8]) -> Option<(&[u8], IndexState)> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let (fields, path) = (str::from_utf8(&line[..tab]).ok()?, &line[tab + 1..]);
    let mut fields = fields.split(' ');
    let is_left_out = fields.next()?.eq_ignore_ascii_case("S");
    let mode = u32::from_str_radix(fields.next()?, 8).ok()?;
    let id = fields.next()?.parse().ok()?;
    let leaf = (fields.next()? == "0").then_some(Leaf { mode, id });
    Some((path, IndexState { leaf, is_left_out }))
}

fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}
