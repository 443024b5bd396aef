//! The user's index: read once, checked for what is staged, and changed for exactly the engine's paths.
//!
//! libgit2 changes a copy. What it cannot read (split and sparse layouts), `git update-index` changes on that copy. Trees are never built from
//! the index.
//!
//! The new file keeps the modification time of the one it replaces. Git takes an entry's stat data on trust only
//! if the file is older than the index, so a younger index would make it trust entries that it should look at again.

use std::fs::{self, File, Metadata};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use git2::{IndexEntry, IndexTime};

use super::entries::{INDEX, Listed, PathChange, Staged, open, unreadable};
use crate::git::command;
use crate::git::error::{At, During, GitError};
use crate::git::id::ObjectId;
use crate::git::objects::git_file;
use crate::git::objects::git_file::read_to_end;
use crate::git::objects::loose::{Kind, Temp, name};
use crate::git::objects::tree::Leaf;
use crate::git::repository::handle::Repository;

/// Marks an entry that git takes for unchanged because a person said so.
const ASSUME_VALID: u16 = 0x8000;
/// Marks an entry that `git add --intent-to-add` made.
const INTENT_TO_ADD: u16 = 0x2000;
/// The stages of an unmerged entry follow that of a merged one.
const STAGES: std::ops::RangeInclusive<u8> = 0..=3;

/// The index as it was at one moment.
pub(crate) struct Index {
    path: PathBuf,
    /// Its file and what that looked like; `None` if there is no index yet.
    file: Option<Opened>,
    /// The entries of each path that it was read for.
    staged: Vec<Vec<Staged>>,
}

/// A file kept open, so that no other can have its inode number.
struct Opened {
    _file: File,
    metadata: Metadata,
}

/// The bytes of a new index, and how its file must look.
pub(crate) struct Patched {
    pub bytes: Vec<u8>,
    pub modified: Option<SystemTime>,
}

impl Repository {
    /// Returns why nobody can go by git's index; nothing where all is well with it.
    pub fn index_fault(&self) -> Option<GitError> {
        let looked = Index::read(self, &[])
            .and_then(|index| index.is_there(self))
            .and_then(|()| self.index_now());
        looked.err()
    }
}

impl Index {
    /// Reads the index and finds these paths in it.
    pub(crate) fn read(repository: &Repository, paths: &[&str]) -> Result<Self, GitError> {
        let path = repository.git_dir().join("index");
        loop {
            let file = match git_file::open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return Ok(Self { path, file: None, staged: vec![Vec::new(); paths.len()] });
                }
                Err(error) => return Err(error).at("read", &path),
            };
            let metadata = file.metadata().at("read", &path)?;
            let staged = staged(repository, &path, paths)?;
            let file = Some(Opened { _file: file, metadata });
            let index = Self { path: path.clone(), file, staged };
            // What was read by its name is the file that was opened.
            if index.is_current()? {
                return Ok(index);
            }
        }
    }

    /// Says whether the file at the index's path still is the one that was read.
    pub(crate) fn is_current(&self) -> Result<bool, GitError> {
        let now = match fs::metadata(&self.path) {
            Ok(now) => Some(now),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).at("read", &self.path),
        };
        let Some(file) = &self.file else {
            return Ok(now.is_none());
        };
        // Git replaces the index by a rename and never writes into it, but another tool might.
        let identity = |data: &Metadata| (data.dev(), data.ino(), data.len());
        Ok(now.is_some_and(|now| identity(&now) == identity(&file.metadata)))
    }

    /// Mode bits for the file that replaces this one.
    pub(crate) fn mode(&self) -> Option<u32> {
        self.file.as_ref().map(|file| file.metadata.permissions().mode() & 0o7777)
    }

    /// Refuses if one of these paths holds something that a person staged.
    pub(crate) fn check(
        &self,
        repository: &Repository,
        changes: &[PathChange],
    ) -> Result<(), GitError> {
        self.is_there(repository)?;
        for (change, staged) in changes.iter().zip(&self.staged) {
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
            if !ours && !is_left_behind(repository, &change.path, entry)? {
                return Err(GitError::StagedElsewise { path: change.path.clone() });
            }
        }
        Ok(())
    }

    /// Refuses where there is none although something was committed: one that is made for these changes alone would have git take all
    /// other files for deleted.
    fn is_there(&self, repository: &Repository) -> Result<(), GitError> {
        if self.file.is_none() && repository.look()?.commit.is_some() {
            return Err(GitError::NoIndex { path: self.path.clone() });
        }
        Ok(())
    }

    /// Returns of the changes that it was read for those whose entry still is what it was before them.
    pub(crate) fn behind(&self, changes: Vec<PathChange>) -> Vec<PathChange> {
        let is_behind = |change: &PathChange, staged: &[Staged]| {
            let entry = match staged {
                [] => None,
                [one] if one.stage == 0 && !one.intent_to_add => Some(one.leaf),
                _ => return false,
            };
            entry == change.before && entry != change.after
        };
        let pairs = changes.into_iter().zip(&self.staged);
        pairs
            .filter(|(change, staged)| is_behind(change, staged))
            .map(|(change, _)| change)
            .collect()
    }

    /// Returns the index with these changes made. The caller holds git's lock, and has asked whether the index is current.
    pub(crate) fn patched(
        &self,
        repository: &Repository,
        changes: &[PathChange],
    ) -> Result<Patched, GitError> {
        // Beside the index, because a split index is looked for relative to it.
        let copy = Temp::create(repository.git_dir(), "aof-index-copy", 0o600)?;
        if self.file.is_some() {
            fs::copy(&self.path, &copy.path).at("read", &self.path)?;
        } else {
            fs::remove_file(&copy.path).at("remove", &copy.path)?;
        }
        let entries: Vec<_> = changes
            .iter()
            .map(|change| change.after.map(|leaf| entry_of(repository, &change.path, leaf)))
            .collect();
        match open(&copy.path)? {
            Some(mut index) => write_entries(&mut index, changes, &entries)
                .during(|| format!("change a copy of git's index `{}`", self.path.display()))?,
            None => update_index(repository, &copy.path, changes)?,
        }
        let modified = match &self.file {
            Some(file) => file.metadata.modified().ok(),
            None => entries.iter().flatten().filter_map(modified).min(),
        };
        Ok(Patched { bytes: fs::read(&copy.path).at("read", &copy.path)?, modified })
    }
}

/// Returns what is staged at each of these paths.
fn staged(
    repository: &Repository,
    index: &Path,
    paths: &[&str],
) -> Result<Vec<Vec<Staged>>, GitError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(index) = open(index)? {
        let entries = |path: &&str| {
            let entry = |stage: u8| {
                let entry = index.get_path(Path::new(path), i32::from(stage))?;
                let leaf = Leaf { mode: entry.mode, id: ObjectId::from_git(entry.id) };
                let intent_to_add = entry.flags_extended & INTENT_TO_ADD != 0;
                Some(Staged { leaf, stage, intent_to_add })
            };
            STAGES.filter_map(entry).collect()
        };
        return Ok(paths.iter().map(entries).collect());
    }
    let listed = repository.listed(index, paths).map_err(|error| unreadable(index, error))?;
    // No commit of ours had an empty file, so one that is only meant to be added is somebody's all the same.
    let at = |path: &&str| {
        let entries = listed.iter().filter(|entry| entry.path == path.as_bytes());
        let staged =
            |&Listed { leaf, stage, .. }: &Listed| Staged { leaf, stage, intent_to_add: false };
        entries.map(staged).collect()
    };
    Ok(paths.iter().map(at).collect())
}

/// Makes the changes; the flags that a person can set on an entry stay.
fn write_entries(
    index: &mut git2::Index,
    changes: &[PathChange],
    entries: &[Option<IndexEntry>],
) -> Result<(), git2::Error> {
    for (change, entry) in changes.iter().zip(entries) {
        let path = Path::new(&change.path);
        match (index.get_path(path, 0), entry) {
            (old, Some(entry)) => {
                let (flags, flags_extended) =
                    old.map_or((0, 0), |old| (old.flags & ASSUME_VALID, old.flags_extended));
                let path = entry.path.clone();
                index.add(&IndexEntry { flags, flags_extended, path, ..*entry })?;
            }
            (Some(_), None) => index.remove(path, 0)?,
            (None, None) => {}
        }
    }
    index.write()
}

/// Makes the changes by git, which knows every layout.
fn update_index(
    repository: &Repository,
    copy: &Path,
    changes: &[PathChange],
) -> Result<(), GitError> {
    let mut lines = Vec::new();
    for change in changes {
        let (mode, id) =
            change.after.map_or((0, ObjectId::new([0; 20])), |leaf| (leaf.mode, leaf.id));
        lines.extend(format!("{mode:o} {id}\t{}\0", change.path).bytes());
    }
    let mut git = repository.git_command();
    git.env(INDEX, copy).args(["update-index", "-z", "--index-info"]);
    command::run_git(git, &lines).map(drop)
}

/// Returns the entry of a file, with its stat data if it holds the blob; else git has to look for itself.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "git keeps the low 32 bits"
)]
fn entry_of(repository: &Repository, full_path: &str, leaf: Leaf) -> IndexEntry {
    let stat = stat_of(&repository.worktree_root().join(full_path), leaf.id);
    let word = |of: fn(&Metadata) -> u32| stat.as_ref().map_or(0, of);
    let time = |seconds: fn(&Metadata) -> i64, nanoseconds: fn(&Metadata) -> i64| {
        let [seconds, nanoseconds] = [seconds, nanoseconds].map(|of| stat.as_ref().map_or(0, of));
        IndexTime::new(seconds as i32, nanoseconds as u32)
    };
    IndexEntry {
        ctime: time(MetadataExt::ctime, MetadataExt::ctime_nsec),
        mtime: time(MetadataExt::mtime, MetadataExt::mtime_nsec),
        dev: word(|data| data.dev() as u32),
        ino: word(|data| data.ino() as u32),
        mode: leaf.mode,
        uid: word(MetadataExt::uid),
        gid: word(MetadataExt::gid),
        file_size: word(|data| data.size() as u32),
        id: leaf.id.to_git(),
        flags: 0,
        flags_extended: 0,
        path: full_path.as_bytes().to_vec(),
    }
}

fn stat_of(path: &Path, blob: ObjectId) -> Option<Metadata> {
    if !fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
    // Before the content: whoever writes in between changes the stat data too, and git looks again.
    let data = file.metadata().ok()?;
    let bytes = read_to_end(&file, usize::try_from(data.len()).ok()?).ok()?;
    (name(Kind::Blob, &bytes) == blob).then_some(data)
}

fn modified(entry: &IndexEntry) -> Option<SystemTime> {
    let seconds = u64::try_from(entry.mtime.seconds()).ok().filter(|seconds| *seconds > 0)?;
    Some(SystemTime::UNIX_EPOCH + Duration::new(seconds, entry.mtime.nanoseconds()))
}

/// Tells whether an entry is an older committed version of its file. `git commit` reads the index before it locks it and
/// writes back what it has read, so the engine's own change in between is taken out of the index again; nobody staged that.
fn is_left_behind(
    repository: &Repository,
    path: &str,
    entry: Option<Leaf>,
) -> Result<bool, GitError> {
    match (entry, repository.head()?.commit) {
        (Some(entry), Some(head)) => repository.full_path_is_left_behind(head, path, entry.id),
        _ => Ok(false),
    }
}
