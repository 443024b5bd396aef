//! The user's index: read once, checked for staged changes, and patched only at our paths.
//!
//! Versions 2 and 3 are patched byte for byte (`parse`, `patch`, `cache_tree`); every other layout goes through
//! `git update-index` on a copy (`foreign`). Trees are never built from the index.
//!
//! The patched file keeps the modification time of the one it replaces. Git takes an entry's stat data on trust only
//! if the file is older than the index, so a younger index would make it trust entries that it should look at again.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fs::{self, File, Metadata};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::time::SystemTime;

use super::entries::{INDEX, ListedEntry, PathChange, StagedEntry, as_index_error};
use super::patch;
use super::patch::{IndexLayout, Scan, Stat};
use crate::command;
use crate::error::{At, GitError};
use crate::id::ObjectId;
use crate::objects::git_file;
use crate::objects::loose::{ObjectKind, Temp, name};
use crate::objects::tree::Leaf;
use crate::repository::handle::Repository;
use aof_system::disk::read_to_end;

/// The index at one moment.
pub(crate) struct Index {
    path: PathBuf,
    bytes: Vec<u8>,
    /// Its open file and metadata; `None` if there is no index yet.
    file: Option<Opened>,
    layout: IndexLayout,
    /// The attribute files of a layout that git itself reads.
    foreign_attribute_files: OnceCell<Vec<ListedEntry>>,
}

/// A file kept open, so that its inode number is not reused.
struct Opened {
    _file: File,
    metadata: Metadata,
}

/// The parts of a new index, and the modification time that its file must have.
pub(crate) struct Patched<'i> {
    pub parts: Vec<Cow<'i, [u8]>>,
    pub modified: Option<SystemTime>,
}

impl Repository {
    /// Returns the fault of git's index; `None` if it is sound.
    pub fn index_fault(&self) -> Option<GitError> {
        let looked = Index::read(self, &[]).and_then(|index| {
            index.is_there(self)?;
            // Git itself reads the other layouts.
            match index.layout {
                IndexLayout::Known(_) => Ok(()),
                IndexLayout::Foreign => index.each_entry(self, &mut |_, _, _| {}),
            }
        });
        looked.err()
    }

    /// Visits the path, the leaf and the conflict stage of each entry of the worktree's index.
    pub(crate) fn each_index_entry(
        &self,
        visit: &mut dyn FnMut(&[u8], Leaf, u8),
    ) -> Result<(), GitError> {
        Index::read(self, &[])?.each_entry(self, visit)
    }
}

impl Index {
    /// Reads the index and finds these paths in it.
    pub(crate) fn read(repository: &Repository, paths: &[&str]) -> Result<Self, GitError> {
        let path = repository.git_dir().join("index");
        let file = match git_file::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let layout = IndexLayout::Known(Scan::empty(paths.len()));
                return Ok(Self::of(path, patch::EMPTY.to_vec(), None, layout));
            }
            Err(error) => return Err(error).at("read", &path),
        };
        let metadata = file.metadata().at("read", &path)?;
        let bytes =
            read_to_end(&file, usize::try_from(metadata.len()).unwrap_or(0)).at("read", &path)?;
        let layout = patch::scan(&bytes, paths)
            .map_err(|detail| GitError::Index { path: path.clone(), detail })?;
        Ok(Self::of(path, bytes, Some(Opened { _file: file, metadata }), layout))
    }

    fn of(path: PathBuf, bytes: Vec<u8>, file: Option<Opened>, layout: IndexLayout) -> Self {
        Self { path, bytes, file, layout, foreign_attribute_files: OnceCell::new() }
    }

    fn each_entry(
        &self,
        repository: &Repository,
        visit: &mut dyn FnMut(&[u8], Leaf, u8),
    ) -> Result<(), GitError> {
        match &self.layout {
            IndexLayout::Known(scan) => patch::each_entry(&self.bytes, scan, visit),
            IndexLayout::Foreign => {
                let listed = repository.list_entries(&self.path, &[]);
                for ListedEntry { path, leaf, stage } in
                    listed.map_err(|error| as_index_error(&self.path, error))?
                {
                    visit(&path, leaf, stage);
                }
            }
        }
        Ok(())
    }

    /// Returns whether the index file still is the one that was read.
    pub(crate) fn is_current(&self) -> Result<bool, GitError> {
        let now = match fs::metadata(&self.path) {
            Ok(now) => Some(now),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).at("read", &self.path),
        };
        let Some(file) = &self.file else {
            return Ok(now.is_none());
        };
        let identity = |data: &Metadata| (data.dev(), data.ino());
        // Git replaces the index by a rename and never writes into it, but another tool might.
        Ok(now.is_some_and(|now| {
            identity(&now) == identity(&file.metadata) && now.len() == self.bytes.len() as u64
        }))
    }

    /// Returns the attribute files in the index.
    pub(crate) fn attribute_files(
        &self,
        repository: &Repository,
    ) -> Result<&[ListedEntry], GitError> {
        match &self.layout {
            IndexLayout::Known(scan) => Ok(&scan.attribute_files),
            IndexLayout::Foreign => {
                if let Some(listed) = self.foreign_attribute_files.get() {
                    return Ok(listed);
                }
                let listed = repository.list_attribute_files()?;
                Ok(self.foreign_attribute_files.get_or_init(|| listed))
            }
        }
    }

    /// Returns the mode bits for the file that replaces this one.
    pub(crate) fn mode(&self) -> Option<u32> {
        self.file.as_ref().map(|file| file.metadata.permissions().mode() & 0o7777)
    }

    /// Fails if a person staged something else at one of these paths.
    pub(crate) fn check(
        &self,
        repository: &Repository,
        changes: &[PathChange],
    ) -> Result<(), GitError> {
        self.is_there(repository)?;
        let staged = self.staged(repository, changes)?;
        for (change, staged) in changes.iter().zip(staged) {
            if staged.iter().any(|entry| entry.stage > 0) {
                return Err(GitError::Unmerged { path: change.path.clone() });
            }
            let entry = staged.first();
            if entry.is_some_and(|entry| entry.intent_to_add) {
                return Err(GitError::IntentToAdd { path: change.path.clone() });
            }
            let entry = entry.map(|entry| entry.leaf);
            let ours = entry == change.before
                || entry == change.after
                || entry.is_some_and(|leaf| change.passed.contains(&leaf.id));
            if !ours && !is_old_version(repository, &change.path, entry)? {
                return Err(GitError::StagedDifferently { path: change.path.clone() });
            }
        }
        Ok(())
    }

    /// Fails if there is no index though there are commits: an index of only our changes would stage the deletion of all other files.
    fn is_there(&self, repository: &Repository) -> Result<(), GitError> {
        if self.file.is_none() && repository.head_for_reading()?.commit.is_some() {
            return Err(GitError::NoIndex { path: self.path.clone() });
        }
        Ok(())
    }

    /// Returns the changes whose index entry is still in the state before the change.
    pub(crate) fn behind(
        &self,
        repository: &Repository,
        changes: Vec<PathChange>,
    ) -> Result<Vec<PathChange>, GitError> {
        let staged = self.staged(repository, &changes)?;
        let is_behind = |change: &PathChange, staged: &[StagedEntry]| {
            let entry = match staged {
                [] => None,
                [one] if one.stage == 0 && !one.intent_to_add => Some(one.leaf),
                _ => return false,
            };
            entry == change.before && entry != change.after
        };
        Ok(changes
            .into_iter()
            .zip(staged)
            .filter(|(change, staged)| is_behind(change, staged))
            .map(|(change, _)| change)
            .collect())
    }

    /// Returns the index with these changes. Their paths must be those that it was read for, in that order.
    pub(crate) fn patched(
        &self,
        repository: &Repository,
        changes: &[PathChange],
    ) -> Result<Patched<'_>, GitError> {
        let stats: Vec<_> = changes
            .iter()
            .map(|change| {
                change.after.and_then(|leaf| of_clean_file(repository, &change.path, leaf.id))
            })
            .collect();
        let parts = match &self.layout {
            IndexLayout::Known(scan) => patch::patch(&self.bytes, scan, changes, &stats),
            IndexLayout::Foreign => {
                vec![Cow::Owned(patch_foreign(repository, &self.bytes, changes)?)]
            }
        };
        let modified = match &self.file {
            Some(file) => file.metadata.modified().ok(),
            None => stats.iter().flatten().map(Stat::modified).min(),
        };
        Ok(Patched { parts, modified })
    }

    fn staged(
        &self,
        repository: &Repository,
        changes: &[PathChange],
    ) -> Result<Vec<Vec<StagedEntry>>, GitError> {
        match &self.layout {
            IndexLayout::Known(scan) => Ok(scan
                .hits
                .iter()
                .map(|hit| hit.entries.iter().map(|entry| entry.staged).collect())
                .collect()),
            IndexLayout::Foreign => staged_foreign(repository, changes),
        }
    }
}

/// Returns whether an entry is an older committed version of its file. `git commit` reads the index before it locks it and writes
/// that back. This reverts our change if it was made in between; no person staged that.
fn is_old_version(
    repository: &Repository,
    path: &str,
    entry: Option<Leaf>,
) -> Result<bool, GitError> {
    match (entry, repository.head()?.commit) {
        (Some(entry), Some(head)) => repository.is_old_version_at(head, path, entry.id),
        _ => Ok(false),
    }
}

/// Returns a file's stat data if its content is the blob.
pub(crate) fn of_clean_file(
    repository: &Repository,
    full_path: &str,
    blob: ObjectId,
) -> Option<Stat> {
    let path = repository.worktree_root().join(full_path);
    if !fs::symlink_metadata(&path).ok()?.is_file() {
        return None;
    }
    let file = File::open(&path).ok()?;
    // Read before the content: a write in between changes the stat data too, so git compares the content.
    let data = file.metadata().ok()?;
    let bytes = read_to_end(&file, usize::try_from(data.len()).ok()?).ok()?;
    (name(ObjectKind::Blob, &bytes) == blob).then(|| of_metadata(&data))
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "git keeps the low 32 bits"
)]
fn of_metadata(data: &fs::Metadata) -> Stat {
    Stat {
        created: [data.ctime() as u32, data.ctime_nsec() as u32],
        modified: [data.mtime() as u32, data.mtime_nsec() as u32],
        device: data.dev() as u32,
        inode: data.ino() as u32,
        user: data.uid(),
        group: data.gid(),
        size: data.size() as u32,
    }
}

/// Returns the entry that is staged at each path.
fn staged_foreign(
    repository: &Repository,
    changes: &[PathChange],
) -> Result<Vec<Vec<StagedEntry>>, GitError> {
    let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    let mut found = vec![Vec::new(); changes.len()];
    // An intent-to-add entry looks like an empty file. None of our commits has one, so it still counts as a person's.
    for ListedEntry { path, leaf, stage } in
        repository.list_entries(&repository.git_dir().join("index"), &paths)?
    {
        if let Some(at) = changes.iter().position(|change| change.path.as_bytes() == path) {
            found[at].push(StagedEntry { leaf, stage, intent_to_add: false });
        }
    }
    Ok(found)
}

/// Returns the bytes of the index with these changes made.
fn patch_foreign(
    repository: &Repository,
    old: &[u8],
    changes: &[PathChange],
) -> Result<Vec<u8>, GitError> {
    // In the index's folder, because a split index finds its shared file there.
    let mut copy = Temp::create(repository.git_dir(), "aof-index-copy", 0o600)?;
    copy.file.write_all(old).at("write", &copy.path)?;
    let mut lines = Vec::new();
    for change in changes {
        let (mode, id) =
            change.after.map_or((0, ObjectId::new([0; 20])), |leaf| (leaf.mode, leaf.id));
        lines.extend(format!("{mode:o} {id}\t{}\0", change.path).bytes());
    }
    let mut git = repository.git_command();
    git.env(INDEX, &copy.path).args(["update-index", "-z", "--index-info"]);
    command::run_git(git, &lines)?;
    fs::read(&copy.path).at("read", &copy.path)
}
