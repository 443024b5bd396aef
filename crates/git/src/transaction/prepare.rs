//! Prepares commits: everything that can fail before anything moves. Blobs, trees spliced from the parent's, and commits (signed
//! if git's configuration says so) are written to temp files, and are on no branch yet.
//!
//! A blob has exactly the bytes that the worktree's file has. A file that git would convert by its attributes is refused.
//!
//! Nothing here reads the worktree, runs a hook, or writes outside `objects/`. A crash leaves temp files, which `git gc` sweeps.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;

use crate::error::GitError;
use crate::id::{CommitId, ObjectId};
use crate::index::entries::PathChange;
use crate::index::user_index::Index;
use crate::objects::commit::{Person, encode, with_signature};
use crate::objects::loose::{Object, ObjectKind, StagedObjects, name};
use crate::objects::tree::{TreeEdit, Trees};
use crate::repository::handle::Repository;
use crate::repository::references::{Head, ReflogEntry};
use crate::signing::Signers;

/// From this many commits on, their objects go into one pack: fewer syncs, but one more pack for `git gc`.
const PACK_FROM: usize = 4;

/// One file of a commit. An existing file keeps its mode.
#[derive(Debug, Clone)]
pub struct FileChange {
    /// Relative to the project.
    pub path: String,
    /// `None` deletes the file.
    pub content: Option<Vec<u8>>,
    /// True if a new file is executable.
    pub is_program: bool,
}

impl FileChange {
    /// Returns a change to this content; a new file is not executable.
    pub fn plain(path: &impl ToString, content: Vec<u8>) -> Self {
        Self { path: path.to_string(), content: Some(content), is_program: false }
    }

    /// Returns a deletion.
    pub fn deleted(path: &impl ToString) -> Self {
        Self { path: path.to_string(), content: None, is_program: false }
    }
}

/// A commit to be made.
#[derive(Debug, Clone)]
pub struct CommitDraft {
    pub changes: Vec<FileChange>,
    /// Its files as they are in the worktree, if the branch lacks them: a person may have staged that version.
    pub worktree_versions: Vec<FileChange>,
    pub message: String,
    pub author: Person,
    pub authored: Timestamp,
    pub committer: Person,
    pub committed: Timestamp,
}

/// Commits that are written but not yet on a branch.
pub struct Prepared {
    pub(crate) objects: RefCell<StagedObjects>,
    /// The objects in memory, to write them again if they are pruned.
    pub(crate) contents: Vec<Object>,
    pub(crate) base: Head,
    pub(crate) steps: Vec<ReflogEntry>,
    pub(crate) changes: Vec<PathChange>,
    pub(crate) index: Index,
}

/// Signs an encoded commit for its committer, if commits are signed.
type Sign<'s> = dyn FnMut(&Person, Vec<u8>) -> Result<Vec<u8>, GitError> + 's;

/// Commits in memory.
struct Composed {
    objects: Vec<Object>,
    steps: Vec<ReflogEntry>,
    changes: Vec<PathChange>,
    index: Index,
}

impl Prepared {
    /// Returns the commits, oldest first.
    pub fn commits(&self) -> impl Iterator<Item = CommitId> + '_ {
        self.steps.iter().map(|step| step.commit)
    }

    /// Returns the commit that the branch will be at.
    pub fn last(&self) -> CommitId {
        self.steps.last().expect("a batch has at least one commit").commit
    }

    /// Returns the branch, and its commit when this was prepared.
    pub fn base(&self) -> &Head {
        &self.base
    }
}

impl Repository {
    /// Prepares one commit on top of the branch.
    pub fn prepare(&self, head: &Head, draft: &CommitDraft) -> Result<Prepared, GitError> {
        self.prepare_batch(head, std::slice::from_ref(draft))
    }

    /// Prepares a chain of commits on top of the branch, oldest first.
    pub fn prepare_batch(&self, head: &Head, drafts: &[CommitDraft]) -> Result<Prepared, GitError> {
        let mut signers = Signers::default();
        let sign = &mut |committer: &Person, unsigned: Vec<u8>| match signers
            .signer_for(self, committer)?
        {
            Some(signer) => Ok(with_signature(&unsigned, &signer.sign(&unsigned)?)),
            None => Ok(unsigned),
        };
        let Composed { mut objects, steps, changes, index } = self.compose(head, drafts, sign)?;
        let mut seen = HashSet::new();
        objects.retain(|object: &Object| seen.insert(object.id));
        let contents = objects;
        let objects = if drafts.len() < PACK_FROM {
            self.objects().stage_loose(&contents)?
        } else {
            self.objects().stage_pack(&contents)?
        };
        let objects = RefCell::new(objects);
        Ok(Prepared { objects, contents, base: head.clone(), steps, changes, index })
    }

    /// Fails where `prepare_batch` would; writes nothing and signs nothing.
    pub fn check_prepare(&self, head: &Head, drafts: &[CommitDraft]) -> Result<(), GitError> {
        self.compose(head, drafts, &mut |_, unsigned| Ok(unsigned)).map(drop)
    }

    fn compose(
        &self,
        head: &Head,
        drafts: &[CommitDraft],
        sign: &mut Sign<'_>,
    ) -> Result<Composed, GitError> {
        let base_root = head.commit.map(|commit| self.root_tree(commit)).transpose()?;
        let mut trees = self.trees();
        let mut objects = Vec::new();
        let mut passed = self.passed_paths(drafts)?;
        let paths: Vec<&str> = passed.keys().map(String::as_str).collect();
        let index = Index::read(self, &paths)?;
        let mut steps = Vec::with_capacity(drafts.len());
        let (mut root, mut parent) = (base_root, head.commit);
        for draft in drafts {
            self.check_conversions(&index, draft)?;
            let new_root = self.splice(&mut trees, root, draft, &mut objects, &mut passed)?;
            if Some(new_root) == root {
                return Err(GitError::Unchanged);
            }
            let stamps = [(&draft.author, draft.authored), (&draft.committer, draft.committed)];
            let unsigned = encode(new_root, parent.as_slice(), stamps, &draft.message)?;
            let commit = Object::new(ObjectKind::Commit, sign(&draft.committer, unsigned)?);
            let id = CommitId::new(commit.id);
            objects.push(commit);
            steps.push(ReflogEntry {
                commit: id,
                subject: subject(&draft.message),
                committer: draft.committer.clone(),
                committed: draft.committed,
            });
            (root, parent) = (Some(new_root), Some(id));
        }
        if steps.is_empty() {
            return Err(GitError::Unchanged);
        }

        let changes = path_changes(&trees, base_root, root, passed)?;
        index.check(self, &changes)?;
        Ok(Composed { objects, steps, changes, index })
    }

    /// Returns the paths of the drafts, without versions yet. Fails if a commit cannot have one of them.
    fn passed_paths(
        &self,
        drafts: &[CommitDraft],
    ) -> Result<BTreeMap<String, Vec<ObjectId>>, GitError> {
        let mut paths = BTreeMap::new();
        for draft in drafts {
            for change in &draft.changes {
                check_path(&change.path)?;
            }
            let changes = draft.changes.iter().chain(&draft.worktree_versions);
            paths.extend(changes.map(|change| (self.full_path(&change.path), Vec::new())));
        }
        Ok(paths)
    }

    fn check_conversions(&self, index: &Index, draft: &CommitDraft) -> Result<(), GitError> {
        for change in &draft.changes {
            if let Some(content) = &change.content {
                self.check_conversion(index, &change.path, content)?;
            }
        }
        Ok(())
    }

    fn splice(
        &self,
        trees: &mut Trees<'_>,
        root: Option<ObjectId>,
        draft: &CommitDraft,
        objects: &mut Vec<Object>,
        passed: &mut BTreeMap<String, Vec<ObjectId>>,
    ) -> Result<ObjectId, GitError> {
        for change in &draft.worktree_versions {
            let path = self.full_path(&change.path);
            if let Some(content) = &change.content {
                passed.entry(path).or_default().push(name(ObjectKind::Blob, content));
            }
        }
        let mut edits = BTreeMap::new();
        for change in &draft.changes {
            let path = self.full_path(&change.path);
            let blob = change
                .content
                .as_ref()
                .map(|content| Object::new(ObjectKind::Blob, content.clone()));
            passed.entry(path.clone()).or_default().extend(blob.as_ref().map(|blob| blob.id));
            let edit = (blob.as_ref().map(|blob| blob.id), change.is_program);
            if edits.insert(path, edit).is_some() {
                return Err(GitError::BadPath {
                    path: change.path.clone(),
                    reason: "the same change names it twice",
                });
            }
            objects.extend(blob);
        }
        let edits: Vec<_> = edits
            .iter()
            .map(|(path, &(blob, is_program))| TreeEdit { path, blob, is_program })
            .collect();
        trees.splice(root, &edits, objects)
    }
}

/// Returns the first line of a message, for the reflog.
fn subject(message: &str) -> String {
    message
        .trim_start()
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .filter(|c| !c.is_control())
        .collect()
}

/// Returns the paths, in the order of the index.
pub(crate) fn paths(changes: &[PathChange]) -> Vec<&str> {
    changes.iter().map(|change| change.path.as_str()).collect()
}

/// Compares two trees at these paths; sorted by path.
pub(crate) fn path_changes(
    trees: &Trees<'_>,
    before: Option<ObjectId>,
    after: Option<ObjectId>,
    passed: BTreeMap<String, Vec<ObjectId>>,
) -> Result<Vec<PathChange>, GitError> {
    passed
        .into_iter()
        .map(|(path, passed)| {
            Ok(PathChange {
                before: trees.file(before, &path)?,
                after: trees.file(after, &path)?,
                path,
                passed,
            })
        })
        .collect()
}

/// Returns whether a commit may have a file at this path.
pub fn can_be_committed(path: &str) -> bool {
    check_path(path).is_ok()
}

/// Refuses paths that git would not check out again, or that mean another place.
pub(crate) fn check_path(path: &str) -> Result<(), GitError> {
    let refuse = |reason| Err(GitError::BadPath { path: path.to_owned(), reason });
    for name in path.split('/') {
        let lower = name.to_ascii_lowercase();
        match lower.as_str() {
            "" => return refuse("a part of the path is empty"),
            "." | ".." => return refuse("`.` and `..` are no names"),
            ".git" | "git~1" => return refuse("that name is git's own"),
            _ if name.chars().any(char::is_control) => {
                return refuse("it has a control character in it");
            }
            // Some file systems drop these, so `.g<U+200C>it` is `.git` to them.
            _ if name.chars().any(is_ignorable) => {
                return refuse("it has an invisible character in it");
            }
            _ if name.contains('\\') => return refuse("it has a backslash in it"),
            _ => {}
        }
    }
    Ok(())
}

fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
