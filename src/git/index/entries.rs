//! What an index of git's has, whatever its layout: libgit2 reads it, which is soon done, and where it cannot, as with a split or a sparse
//! one, git is asked. Whoever looks at entries reads them here. Only reads.

use std::path::Path;

use git2::{Index, IndexEntry, IndexTime};

use crate::git::command;
use crate::git::error::{During, GitError};
use crate::git::id::ObjectId;
use crate::git::objects::tree::Leaf;
use crate::git::repository::handle::Repository;

/// The variable that names an index to git.
pub(crate) const INDEX: &str = "GIT_INDEX_FILE";

/// Where an entry's flags say which side of a conflict it is; nothing stands there where it is merged.
pub(crate) const STAGE: u16 = 0x3000;
const STAGE_FROM: u32 = 12;

/// What happens to one path between the commit the branch is at and the last one prepared.
#[derive(Debug, Clone)]
pub(crate) struct PathChange {
    /// Relative to the worktree.
    pub path: String,
    pub before: Option<Leaf>,
    pub after: Option<Leaf>,
    /// What the commits between had, and what the last one has.
    pub passed: Vec<ObjectId>,
}

/// What happens to one folder on the way to a changed path.
#[derive(Debug, Clone)]
pub(crate) struct FolderChange {
    /// Relative to the worktree; `""` is its root.
    pub path: String,
    pub before: Option<ObjectId>,
    pub after: Option<ObjectId>,
}

/// An entry of the index, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Staged {
    pub(crate) leaf: Leaf,
    pub(crate) stage: u8,
    pub(crate) intent_to_add: bool,
}

/// An entry as git lists it. One that is only meant to be added looks like an empty file.
pub(crate) struct Listed {
    /// From the top of the repository.
    pub path: Vec<u8>,
    pub leaf: Leaf,
    /// Which side of a conflict it is; 0 where it is merged.
    pub stage: u8,
}

/// Returns what is wrong where git itself cannot read an index. A git that could not be asked says nothing of it.
pub(crate) fn unreadable(file: &Path, error: GitError) -> GitError {
    match error {
        GitError::Command { detail, .. } => GitError::Index { path: file.to_owned(), detail },
        other => other,
    }
}

impl Repository {
    /// Returns the worktree's index as it is now.
    pub(crate) fn index_now(&self) -> Result<Index, GitError> {
        self.index_at(&self.git_dir().join("index"))
    }

    /// Returns the index in a file, as it is now.
    pub(crate) fn index_at(&self, file: &Path) -> Result<Index, GitError> {
        if let Ok(index) = Index::open(file) {
            return Ok(index);
        }
        let listed = self.listed(file, &[]).map_err(|error| unreadable(file, error))?;
        let doing = || format!("read git's index `{}`", file.display());
        let mut index = Index::new().during(doing)?;
        for entry in listed {
            index.add(&plain(entry)).during(doing)?;
        }
        Ok(index)
    }

    /// Has git list what the index in a file has at these paths, or all that it has where there are none.
    pub(crate) fn listed(&self, file: &Path, paths: &[&str]) -> Result<Vec<Listed>, GitError> {
        let mut git = self.git_command();
        git.env(INDEX, file)
            .args(["--literal-pathspecs", "ls-files", "--stage", "-z", "--full-name", "--"])
            .args(paths);
        let told = command::run_git(git, &[])?;
        Ok(told.split(|byte| *byte == 0).filter_map(listed).collect())
    }
}

/// Reads `MODE ID STAGE<tab>PATH`.
fn listed(line: &[u8]) -> Option<Listed> {
    let (fields, path) = line.split_at(line.iter().position(|byte| *byte == b'\t')?);
    let mut fields = str::from_utf8(fields).ok()?.split(' ');
    let mode = u32::from_str_radix(fields.next()?, 8).ok()?;
    let id = fields.next()?.parse().ok()?;
    let stage = fields.next()?.parse().ok()?;
    Some(Listed { path: path[1..].to_vec(), leaf: Leaf { mode, id }, stage })
}

/// Without what git remembers of the file, which nobody asks for here.
fn plain(Listed { path, leaf, stage }: Listed) -> IndexEntry {
    let never = IndexTime::new(0, 0);
    IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode: leaf.mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id: leaf.id.to_git(),
        flags: u16::from(stage) << STAGE_FROM,
        flags_extended: 0,
        path,
    }
}
