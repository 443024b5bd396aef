//! The differences of two commits. Reads no worktree; folders with equal tree ids are skipped.

use std::collections::{BTreeMap, BTreeSet};

use git2::{DiffFile, DiffOptions, IndexEntry};

use crate::error::{During, GitError};
use crate::id::{CommitId, ObjectId};
use crate::objects::tree::{Leaf, MODE_SUBMODULE, text};
use crate::repository::handle::Repository;

/// The change of a file of the project between a commit and its first parent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangedFile {
    /// Relative to the project.
    pub path: String,
    /// `None` if the commit adds the file.
    pub before: Option<ObjectId>,
    /// `None` if the commit deletes the file.
    pub after: Option<ObjectId>,
}

/// The entries that two commits have at a path.
pub(crate) type BeforeAfter = (Option<Leaf>, Option<Leaf>);
/// All differences of two commits, by path in the worktree; a path need not be UTF-8.
pub(crate) type Changes = BTreeMap<Vec<u8>, BeforeAfter>;

impl Repository {
    /// Returns the files that the next commit would change, by their paths in the repository.
    pub fn staged_changes(&self, commit: CommitId) -> Result<Vec<ChangedFile>, GitError> {
        let doing = || "read what git is about to commit".to_owned();
        let git = self.git();
        let before =
            git.find_commit(commit.to_git()).and_then(|commit| commit.tree()).during(doing)?;
        let index = self.index_at(&self.index_to_commit())?;
        let mut options = DiffOptions::new();
        options.context_lines(0).skip_binary_check(true);
        let diff = git
            .diff_tree_to_index(Some(&before), Some(&index), Some(&mut options))
            .during(doing)?;
        let changed = diff.deltas().filter_map(|delta| {
            let (before, after) = (delta.old_file(), delta.new_file());
            let path = after.path_bytes().or_else(|| before.path_bytes())?;
            let content =
                |file: &DiffFile<'_>| (!file.id().is_zero()).then(|| ObjectId::from_git(file.id()));
            Some(ChangedFile {
                path: String::from_utf8(path.to_vec()).ok()?,
                before: content(&before),
                after: content(&after),
            })
        });
        Ok(changed.collect())
    }

    /// Returns the paths in the repository of all files that the next commit will have, with their contents.
    pub fn staged_files(&self) -> Result<Vec<(String, ObjectId)>, GitError> {
        let index = self.index_at(&self.index_to_commit())?;
        let file = |entry: IndexEntry| {
            Some((String::from_utf8(entry.path).ok()?, ObjectId::from_git(entry.id)))
        };
        Ok(index.iter().filter_map(file).collect())
    }

    /// Returns the differences of two commits. Fails with `Forbidden` for a path that git never writes: a forged tree may point
    /// outside of the worktree or into `.git`.
    pub(crate) fn changes(
        &self,
        from: Option<CommitId>,
        to: CommitId,
    ) -> Result<Changes, GitError> {
        let before = from.map(|commit| self.root_tree(commit)).transpose()?;
        let mut changes = Changes::new();
        self.trees().compare(
            before,
            Some(self.root_tree(to)?),
            b"",
            &mut |path, before, after| {
                changes.insert(path, (before, after));
            },
        )?;
        let is_unfit = |path: &&Vec<u8>| String::from_utf8_lossy(path).split('/').any(is_forbidden);
        match changes.keys().find(is_unfit) {
            Some(path) => Err(GitError::Forbidden { path: text(path.clone()) }),
            None => Ok(changes),
        }
    }

    /// Returns the files of the project that a commit changed against its first parent, sorted by path. At the end of a shallow
    /// clone, all files count as new.
    pub fn changed_files(&self, id: CommitId) -> Result<Vec<ChangedFile>, GitError> {
        let (before, after) = self.own_trees(id)?;
        self.compare(self.prefix(), before, after)
    }

    /// Returns the first change of a commit that `changed_files` leaves out, as a path relative to the project: files outside of
    /// it, names that are not UTF-8, submodules. Compares the whole trees.
    pub fn first_change_outside_files(&self, id: CommitId) -> Result<Option<String>, GitError> {
        let (before, after) = self.own_trees(id)?;
        let mut first = None;
        self.trees().compare(before, Some(after), b"", &mut |path, before, after| {
            if first.is_some() {
                return;
            }
            let path_here = str::from_utf8(&path).ok().and_then(|path| self.own_path(path));
            if path_here.and_then(|path| ChangedFile::of(path, before, after)).is_none() {
                first = Some(self.shown_from_here(path));
            }
        })?;
        Ok(first)
    }

    /// Returns whether a commit changed a folder of the project against its first parent, and nothing else in the repository. Reads only
    /// the trees above the folder. At the end of a shallow clone, nothing is known of the parent, so the answer is `false`.
    pub fn changes_only(&self, id: CommitId, folder: &str) -> Result<bool, GitError> {
        let (before, after) = self.own_trees(id)?;
        let Some(before) = before.filter(|before| *before != after) else { return Ok(false) };
        let (trees, path) = (self.trees(), self.full_path(folder));
        let parts = path.split('/').scan(0, |at, name| {
            let above = &path[..*at];
            *at += name.len() + 1;
            Some((above, name))
        });
        for (above, name) in parts {
            let [mut before, mut after] = [trees.names(before, above)?, trees.names(after, above)?];
            before.remove(name.as_bytes());
            after.remove(name.as_bytes());
            if before != after {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the trees of a commit's first parent and of the commit.
    fn own_trees(&self, id: CommitId) -> Result<(Option<ObjectId>, ObjectId), GitError> {
        let links = self.links(id)?;
        let is_shallow = self.is_shallow()?;
        let parent =
            links.parents.first().filter(|parent| !is_shallow || self.has_commit(**parent));
        Ok((parent.map(|parent| self.root_tree(*parent)).transpose()?, links.tree))
    }

    /// Returns a path of the repository relative to the project's folder.
    fn shown_from_here(&self, full: Vec<u8>) -> String {
        let full = text(full);
        self.own_path(&full)
            .unwrap_or_else(|| format!("{}{full}", "../".repeat(self.prefix().split('/').count())))
    }

    /// Returns the paths in the repository of all files that differ from any of a commit's parents, also outside of the project.
    pub fn changed_anywhere(&self, id: CommitId) -> Result<BTreeSet<String>, GitError> {
        let links = self.links(id)?;
        let mut parents = Vec::new();
        for parent in &links.parents {
            parents.push(Some(self.root_tree(*parent)?));
        }
        if parents.is_empty() {
            parents.push(None);
        }
        let mut paths = BTreeSet::new();
        for parent in parents {
            paths.extend(self.compare("", parent, links.tree)?.into_iter().map(|file| file.path));
        }
        Ok(paths)
    }

    /// Returns a commit's version of a file, by its path in the repository.
    pub fn blob_anywhere(
        &self,
        commit: CommitId,
        path: &str,
    ) -> Result<Option<ObjectId>, GitError> {
        Ok(self.trees().file(Some(self.root_tree(commit)?), path)?.map(|leaf| leaf.id))
    }

    /// Returns the files of the project that differ between two commits, sorted by path.
    pub fn changed_between(
        &self,
        one: CommitId,
        other: CommitId,
    ) -> Result<Vec<ChangedFile>, GitError> {
        self.compare(self.prefix(), Some(self.root_tree(one)?), self.root_tree(other)?)
    }

    /// Returns the files below a folder of the project that differ between two commits.
    pub fn changed_below(
        &self,
        folder: &str,
        one: CommitId,
        other: CommitId,
    ) -> Result<Vec<ChangedFile>, GitError> {
        let mut files = self.compare(
            &self.full_path(folder),
            Some(self.root_tree(one)?),
            self.root_tree(other)?,
        )?;
        for file in &mut files {
            file.path = format!("{folder}/{}", file.path);
        }
        Ok(files)
    }

    /// Compares a folder of two trees.
    fn compare(
        &self,
        folder: &str,
        one: Option<ObjectId>,
        other: ObjectId,
    ) -> Result<Vec<ChangedFile>, GitError> {
        let trees = self.trees();
        let (before, after) = (trees.folder(one, folder)?, trees.folder(Some(other), folder)?);
        let mut files = Vec::new();
        trees.compare(before, after, b"", &mut |path, before, after| {
            let Ok(path) = String::from_utf8(path) else { return };
            files.extend(ChangedFile::of(path, before, after));
        })?;
        files.sort();
        Ok(files)
    }
}

impl ChangedFile {
    /// Returns the change, unless it is only one of a submodule.
    fn of(path: String, before: Option<Leaf>, after: Option<Leaf>) -> Option<Self> {
        let id = |leaf: Option<Leaf>| {
            leaf.filter(|leaf| leaf.mode != MODE_SUBMODULE).map(|leaf| leaf.id)
        };
        let (before, after) = (id(before), id(after));
        (before.is_some() || after.is_some()).then_some(Self { path, before, after })
    }
}

/// Returns whether git refuses a name, because it is empty or could mean `.git` on some file system: HFS+ ignores some
/// characters, and NTFS ends a name at a colon and drops trailing dots and spaces.
fn is_forbidden(name: &str) -> bool {
    let is_left_out = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let is_git = |part: &str| {
        let seen: String = part.chars().filter(|c| !is_left_out(c)).collect();
        let seen = seen.split(':').next().unwrap_or_default().trim_end_matches([' ', '.']);
        seen.eq_ignore_ascii_case(".git") || seen.eq_ignore_ascii_case("git~1")
    };
    matches!(name, "" | "." | "..") || name.contains('\0') || name.split('\\').any(is_git)
}
