//! Merges of two histories: the changes of the unshared commits, and the merge commit, made in memory from one side's tree and a
//! few files. Reads no index and no worktree, and moves no branch.
//!
//! Paths are relative to the worktree here, not to the project: a repository may have several projects.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::error::GitError;
use crate::id::{CommitId, ObjectId};
use crate::objects::commit::{Person, encode, with_signature};
use crate::objects::git_file;
use crate::objects::loose::{Object, ObjectKind, sync_files};
use crate::objects::tree::{Leaf, MODE_EXECUTABLE, MODE_FILE, MODE_SUBMODULE, TreeEdit, text};
use crate::repository::handle::Repository;
use crate::signing::Signers;

/// The file that makes a folder a project.
const PROJECT_FILE: &str = "project.yaml";

/// The changes of the commits that a remote does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unshared {
    /// The number of commits.
    pub commits: usize,
    /// The folders of the projects whose tasks they change; `""` is the worktree's own.
    pub projects: BTreeSet<String>,
    /// The first commit that changes something else, with the path.
    pub stranger: Option<(CommitId, String)>,
}

/// A merge commit to be made.
#[derive(Debug, Clone)]
pub struct MergeDraft {
    /// Its first parent, whose tree it starts from.
    pub ours: CommitId,
    /// Its second parent.
    pub theirs: CommitId,
    /// The files that differ from that tree, by path in the worktree; `None` deletes one.
    pub files: BTreeMap<String, Option<Vec<u8>>>,
    pub message: String,
    pub author: Person,
    pub committer: Person,
    pub at: Timestamp,
}

impl Repository {
    /// Returns the changes of the commits in `known..head`. A merge counts only for files that differ from all of its parents.
    pub fn unshared(&self, known: Option<CommitId>, head: CommitId) -> Result<Unshared, GitError> {
        let reach = self.commits_between(known.as_slice(), head)?;
        let commits = reach.commits.len() + reach.ends.len();
        let mut unshared = Unshared { commits, projects: BTreeSet::new(), stranger: None };
        for commit in reach.commits.into_iter().chain(reach.ends) {
            for path in self.changed_paths(commit)? {
                // Names of task files are UTF-8.
                let project =
                    str::from_utf8(&path).map_or(Ok(None), |path| self.project_of(commit, path))?;
                match project {
                    Some(project) => {
                        unshared.projects.insert(project);
                    }
                    None => {
                        unshared.stranger.get_or_insert_with(|| (commit, text(path)));
                    }
                }
            }
        }
        Ok(unshared)
    }

    /// Returns the folder of the project, in a commit, whose tasks folder contains the path.
    fn project_of(&self, commit: CommitId, path: &str) -> Result<Option<String>, GitError> {
        let root = self.root_tree(commit)?;
        for (at, _) in
            path.match_indices("tasks/").filter(|(at, _)| *at == 0 || path[..*at].ends_with('/'))
        {
            let folder = path[..at].trim_end_matches('/');
            let file = if folder.is_empty() {
                PROJECT_FILE.to_owned()
            } else {
                format!("{folder}/{PROJECT_FILE}")
            };
            // This project counts even if its rules were never committed.
            if folder == self.prefix() || self.trees().file(Some(root), &file)?.is_some() {
                return Ok(Some(folder.to_owned()));
            }
        }
        Ok(None)
    }

    /// Returns the paths that differ from each of a commit's parents; for a root commit, all.
    fn changed_paths(&self, commit: CommitId) -> Result<BTreeSet<Vec<u8>>, GitError> {
        let root = self.root_tree(commit)?;
        let parents =
            self.log_entry(commit)?.parents.into_iter().filter(|parent| self.has_commit(*parent));
        let befores = parents
            .map(|parent| self.root_tree(parent).map(Some))
            .collect::<Result<Vec<_>, _>>()?;
        let mut changed: Option<BTreeSet<Vec<u8>>> = None;
        for before in if befores.is_empty() { vec![None] } else { befores } {
            let mut paths = BTreeSet::new();
            self.trees().compare(before, Some(root), b"", &mut |path, _, _| {
                paths.insert(path);
            })?;
            changed = Some(match changed {
                Some(others) => others.intersection(&paths).cloned().collect(),
                None => paths,
            });
        }
        Ok(changed.unwrap_or_default())
    }

    /// Returns changes of a file's kind or executable bit below a folder of the project between two commits, each with the reason
    /// why git must merge it. Changes that `unless_of` has too are left out.
    pub fn changed_kinds(
        &self,
        folder: &str,
        [from, to]: [CommitId; 2],
        unless_of: CommitId,
    ) -> Result<Vec<(String, &'static str)>, GitError> {
        let (trees, full) = (self.trees(), self.full_path(folder));
        let below = |commit| trees.folder(Some(self.root_tree(commit)?), &full);
        let mut found = Vec::new();
        trees.compare(
            below(from)?,
            below(to)?,
            folder.as_bytes(),
            &mut |path, before, after| {
                // Names that are not UTF-8 are reported elsewhere.
                let Ok(path) = String::from_utf8(path) else { return };
                found.extend(more_than_content(before, after).map(|why| (path, after, why)));
            },
        )?;
        let other = self.root_tree(unless_of)?;
        let mut kinds = Vec::new();
        for (path, after, why) in found {
            if trees.lookup(other, self.full_path(&path))? != after {
                kinds.push((path, why));
            }
        }
        Ok(kinds)
    }

    /// Returns one of these files that cannot be added to that commit, with the reason: for example, a folder is there.
    pub fn misplaced(
        &self,
        ours: CommitId,
        files: &BTreeMap<String, Option<Vec<u8>>>,
    ) -> Result<Option<(String, &'static str)>, GitError> {
        match self.merged_tree([ours, ours], files) {
            Ok(_) => Ok(None),
            Err(GitError::BadPath { path, reason }) => Ok(Some((path, reason))),
            Err(error) => Err(error),
        }
    }

    /// Returns the first commit's tree with these files in it, and the new objects. A new file takes its executable bit from the
    /// other commit.
    fn merged_tree(
        &self,
        [ours, theirs]: [CommitId; 2],
        files: &BTreeMap<String, Option<Vec<u8>>>,
    ) -> Result<(ObjectId, Vec<Object>), GitError> {
        let mut objects = Vec::new();
        let mut edits = Vec::new();
        let (trees, theirs) = (self.trees(), self.root_tree(theirs)?);
        for (path, content) in files {
            let blob =
                content.as_ref().map(|content| Object::new(ObjectKind::Blob, content.clone()));
            let is_program =
                trees.file(Some(theirs), path)?.is_some_and(|leaf| leaf.mode == MODE_EXECUTABLE);
            edits.push(TreeEdit { path, blob: blob.as_ref().map(|blob| blob.id), is_program });
            objects.extend(blob);
        }
        let root = self.trees().splice(Some(self.root_tree(ours)?), &edits, &mut objects)?;
        Ok((root, objects))
    }

    /// Writes a merge commit durably; it is on no branch yet.
    pub fn write_merge(&self, draft: &MergeDraft) -> Result<CommitId, GitError> {
        let (root, objects) = self.merged_tree([draft.ours, draft.theirs], &draft.files)?;
        let stamps = [(&draft.author, draft.at), (&draft.committer, draft.at)];
        let unsigned = encode(root, &[draft.ours, draft.theirs], stamps, &draft.message)?;
        self.write_signed(&unsigned, &draft.committer, objects)
    }

    /// Writes a commit durably, with the objects that it needs; it is on no branch yet.
    pub(crate) fn write_signed(
        &self,
        unsigned: &[u8],
        committer: &Person,
        mut objects: Vec<Object>,
    ) -> Result<CommitId, GitError> {
        let signed = match Signers::default().signer_for(self, committer)? {
            Some(signer) => with_signature(unsigned, &signer.sign(unsigned)?),
            None => unsigned.to_vec(),
        };
        let commit = Object::new(ObjectKind::Commit, signed);
        let id = CommitId::new(commit.id);
        objects.push(commit);
        let mut staged = self.objects().stage_loose(&objects)?;
        sync_files(staged.unsynced())?;
        self.objects().name_staged(&mut staged)?;
        Ok(id)
    }
}

/// Returns the reason why a change is more than one of content; `None` if it is not. A new file's mode does not count.
fn more_than_content(before: Option<Leaf>, after: Option<Leaf>) -> Option<&'static str> {
    let modes = || [before, after].into_iter().flatten().map(|leaf| leaf.mode);
    if modes().any(|mode| mode == MODE_SUBMODULE) {
        return Some("it is or was a repository of its own, which is git's to merge");
    }
    if modes().any(|mode| !matches!(mode, MODE_FILE | MODE_EXECUTABLE)) {
        return Some("it is or was a link, which is git's to merge");
    }
    let was_otherwise = before.zip(after).is_some_and(|(before, after)| before.mode != after.mode);
    was_otherwise.then_some("whether it can be run was changed, which is git's to merge")
}

/// The way in which git replays a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replay {
    Rebase,
    CherryPick,
    Revert,
}

/// A merge of two commits, or a replay of one on another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeInProgress {
    /// The merge bases: several after criss-cross merges, none for unrelated histories.
    pub bases: Vec<CommitId>,
    /// The commit that is merged into.
    pub ours: CommitId,
    /// The commit that is merged.
    pub theirs: CommitId,
}

impl Repository {
    /// Returns the commits of a stopped merge, rebase, cherry-pick or revert. Returns `None` without one, and if a merge commit
    /// is replayed.
    pub fn merge_in_progress(&self) -> Result<Option<MergeInProgress>, GitError> {
        let Some(ours) = self.head_for_reading()?.commit else { return Ok(None) };
        match self.merge_heads()[..] {
            [] => {}
            [theirs] => {
                return Ok(Some(MergeInProgress {
                    bases: self.merge_bases(ours, theirs)?,
                    ours,
                    theirs,
                }));
            }
            _ => return Ok(None),
        }
        let Some((of, replay)) = self.stopped_at() else { return Ok(None) };
        let parents = self.links(of)?.parents;
        Ok(match (replay, &parents[..]) {
            (Replay::Revert, [theirs]) => {
                Some(MergeInProgress { bases: vec![of], ours, theirs: *theirs })
            }
            (_, [_, _, ..]) | (Replay::Revert, []) => None,
            (Replay::Rebase | Replay::CherryPick, _) => {
                Some(MergeInProgress { bases: parents, ours, theirs: of })
            }
        })
    }

    /// Returns the commit that git stopped at while replaying it, and the way of replaying. A rebase that stopped after
    /// committing has none: `MERGE_MSG` exists only before the commit.
    fn stopped_at(&self) -> Option<(CommitId, Replay)> {
        let git_dir = self.git_dir();
        let commit =
            |name: &str| git_file::read_text(&git_dir.join(name)).ok()?.trim().parse().ok();
        let is_rebase =
            ["rebase-merge", "rebase-apply"].iter().any(|name| git_dir.join(name).is_dir());
        if let Some(of) = commit("REVERT_HEAD") {
            return Some((of, Replay::Revert));
        }
        if let Some(of) = commit("CHERRY_PICK_HEAD") {
            return Some((of, if is_rebase { Replay::Rebase } else { Replay::CherryPick }));
        }
        let is_made = git_dir.join("rebase-merge").is_dir() && !git_dir.join("MERGE_MSG").exists();
        let of = commit("REBASE_HEAD").filter(|_| is_rebase && !is_made)?;
        Some((of, Replay::Rebase))
    }
}
