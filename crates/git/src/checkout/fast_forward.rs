//! Fast-forwards the branch, the index and the worktree, as a sync does. Git itself writes the files, with `git read-tree -m -u`
//! on a copy of the index; task files are written here, each to a temp file that is then renamed.
//!
//! ```text
//!   index.lock       taken; waited for, never broken                     kill: our `index.lock`
//!   check            HEAD is unchanged; nothing that changes is staged, modified, untracked or ignored
//!   record           the caller notes that files are coming              kill: our `index.lock`
//!   files            written, synced                                     kill: some files are ahead of HEAD
//!   new index        the copy's bytes written into `index.lock`
//!   REF.lock         taken; the branch compared again                    kill: all files are ahead of HEAD
//!   index.lock -> index, REF.lock -> REF                                 the commit point
//! ```
//! After a kill or a failure, `recovery` finishes the move or undoes it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::command;
use crate::error::{At, GitError};
use crate::id::{CommitId, ObjectId};
use crate::index::user_index::Index;
use crate::log::tree_diff::{BeforeAfter, Changes};
use crate::objects::git_file;
use crate::objects::loose::{ObjectKind, Temp, name, sync_files, unsynced_folder};
use crate::objects::tree::{Leaf, MODE_EXECUTABLE, MODE_FILE, text};
use crate::repository::handle::Repository;
use crate::repository::references::{Head, ReflogEntry};
use crate::transaction::locks::{
    BranchLock, HeldLock, INDEX_COPY, IncomingFiles, Locks, PendingLock, is_held,
};
use crate::transaction::publish::{Published, RecordLocks, record_locks};
use aof_system::disk::{SyncPart, TEMPORARY, Unsynced};
use aof_system::{crash_points, disk};

/// Filters such as LFS may download files.
const PATIENCE: Duration = Duration::from_mins(15);
/// The most files and folders that may be open at once.
const OPEN_AT_ONCE: usize = 64;

/// The locks of a fast-forward.
pub(crate) struct FastForwardLocks {
    pub(crate) index: HeldLock,
    branch: PendingLock,
    locks: Locks,
}

impl Repository {
    /// Fails where `fast_forward` would; changes nothing.
    pub fn check_fast_forward(&self, base: &Head, to: CommitId) -> Result<(), GitError> {
        let changes = self.changes(base.commit, to)?;
        self.check_incoming(&changes)?;
        self.checked_copy(base.commit, to, &changes).map(drop)
    }

    /// Fails if these commits change something that no clone may receive.
    pub fn check_incoming_commits(
        &self,
        from: Option<CommitId>,
        to: CommitId,
    ) -> Result<(), GitError> {
        self.check_incoming(&self.changes(from, to)?)
    }

    /// Moves the branch, the index and the worktree to a later commit. Fails with `Moved` if the branch has moved meanwhile.
    pub fn fast_forward(
        &self,
        base: &Head,
        to: CommitId,
        subject: &str,
        deadline: Instant,
        record: RecordLocks<'_>,
    ) -> Result<Published, GitError> {
        let changes = self.changes(base.commit, to)?;
        // Recovery relies on a recorded move having passed this check.
        self.check_incoming(&changes)?;
        let mut lock =
            self.begin_fast_forward(base, to, IncomingFiles::Untouched, deadline, &mut *record)?;
        let now = self.head()?;
        if now != *base {
            return Err(GitError::Moved { reference: now.reference, found: now.commit });
        }
        let copy = self.checked_copy(base.commit, to, &changes)?;
        // Without this record, recovery leaves all files as they are.
        lock.locks.files = IncomingFiles::Coming;
        sync_files(record(&lock.locks).at("record what comes to", self.worktree_root())?)?;
        crash_points::point("git.bring-begun");
        self.check_out(&copy, base.commit, to, &changes, PATIENCE)?;
        crash_points::point("git.bring-files");
        self.move_branch_and_index(lock, &copy, base, to, subject, deadline)
    }

    /// Returns a copy of the index; fails if these changes would overwrite uncommitted work.
    fn checked_copy(
        &self,
        from: Option<CommitId>,
        to: CommitId,
        changes: &Changes,
    ) -> Result<Temp, GitError> {
        let copy = self.index_copy()?;
        self.refresh_known(&copy.path, changes, PATIENCE);
        self.check_overwrites(&copy.path, from, to, changes)?;
        Ok(copy)
    }

    /// Records the move of the branch, and locks the index.
    pub(crate) fn begin_fast_forward(
        &self,
        base: &Head,
        to: CommitId,
        files: IncomingFiles,
        deadline: Instant,
        record: RecordLocks<'_>,
    ) -> Result<FastForwardLocks, GitError> {
        let mode = Index::read(self, &[])?.mode();
        let index = self.temp_index(mode)?;
        let branch = self.branch_temp(to)?;
        let lock = BranchLock {
            reference: base.reference.clone(),
            from: base.commit,
            to,
            file: branch.file.clone(),
        };
        let locks = Locks { index: index.file.clone(), branch: Some(lock), files };
        let mut waiting = record_locks(record, &locks, &self.reference_path(&base.reference))?;
        waiting.push(branch.temp.unsynced());
        sync_files(waiting)?;
        let index = index.lock(self.git_dir().join("index.lock"), deadline)?;
        crash_points::point("git.index-locked");
        Ok(FastForwardLocks { index, branch, locks })
    }

    /// Moves the index and the branch, after the files.
    pub(crate) fn move_branch_and_index(
        &self,
        lock: FastForwardLocks,
        copy: &Temp,
        base: &Head,
        to: CommitId,
        subject: &str,
        deadline: Instant,
    ) -> Result<Published, GitError> {
        lock.index.write_all_of(copy)?;
        crash_points::point("git.index-written");
        let reference = &base.reference;
        let branch =
            lock.branch.lock(self.common_dir().join(format!("{reference}.lock")), deadline)?;
        crash_points::point("git.ref-locked");
        let found = self.read_reference(reference)?;
        if found != base.commit {
            return Err(GitError::Moved { reference: reference.clone(), found });
        }
        let entry = self.log_entry(to)?;
        let committer = self.identity().unwrap_or(entry.committer);
        let step = ReflogEntry {
            commit: to,
            subject: subject.to_owned(),
            committer,
            committed: entry.committed,
        };
        self.write_reflogs(reference, base.commit, &[step])?;
        let index_place = self.git_dir().join("index");
        let index = lock.index.unsynced(&index_place);
        lock.index.rename_to(&index_place).at("replace", &index_place)?;
        crash_points::point("git.index-moved");
        let place = self.reference_path(reference);
        let folder = unsynced_folder(place.parent().expect("a branch lies in a folder"))?;
        branch.rename_to(&place).at("move the branch", &place)?;
        crash_points::point("git.ref-moved");
        Ok(Published { commit: to, not_synced: disk::sync(vec![folder, index]).err() })
    }

    /// Moves the worktree and the copy of the index between these commits. May fail half-way, for example in a filter or on a
    /// full disk.
    pub(crate) fn check_out(
        &self,
        copy: &Temp,
        from: Option<CommitId>,
        to: CommitId,
        changes: &Changes,
        patience: Duration,
    ) -> Result<(), GitError> {
        // In a sparse checkout all files are left to git, which knows what is excluded.
        let is_whole = !self.is_sparse_checkout();
        let tasks: Vec<(&[u8], BeforeAfter)> = changes
            .iter()
            .map(|(path, sides)| (path.as_slice(), *sides))
            .filter(|(path, sides)| is_whole && self.is_written_here(path, *sides))
            .collect();
        self.write_task_files(&tasks)?;
        self.set_entries(&copy.path, tasks.iter().map(|(path, (_, after))| (*path, *after)))?;
        self.read_tree_holding(copy, from, to, patience)?;
        self.sync_worktree(changes.keys().map(Vec::as_slice))?;
        let written: Vec<&[u8]> = tasks.iter().map(|(path, _)| *path).collect();
        self.refresh(&copy.path, &written, patience);
        Ok(())
    }

    /// Runs `git read-tree -m -u`, which outlives this process if that is killed. Its lock keeps others from the files until it ends.
    fn read_tree_holding(
        &self,
        copy: &Temp,
        from: Option<CommitId>,
        to: CommitId,
        patience: Duration,
    ) -> Result<(), GitError> {
        let sign = self.lock_for_child_git()?;
        let failed = |detail| GitError::CheckoutFailed { detail };
        let finished =
            command::run_holding(self.read_tree(&copy.path, from, to), &sign.file, patience)
                .map_err(|error| failed(error.to_string()))?;
        if finished.status.success() {
            return Ok(());
        }
        Err(failed(String::from_utf8_lossy(&finished.stderr).trim().to_owned()))
    }

    /// Returns whether a change writes a plain task file. Git does not write those, so that no reader sees one half-written.
    pub(crate) fn is_written_here(&self, path: &[u8], (before, after): BeforeAfter) -> bool {
        let is_file = |leaf: Leaf| matches!(leaf.mode, MODE_FILE | MODE_EXECUTABLE);
        self.is_task_file(path) && before.is_none_or(is_file) && after.is_some_and(is_file)
    }

    /// Returns whether a path of the worktree is a task file's.
    pub(crate) fn is_task_file(&self, path: &[u8]) -> bool {
        path.starts_with(self.full_path("tasks/").as_bytes()) && path.ends_with(b".md")
    }

    /// Writes task files over their previous versions. Fails with `CheckoutFailed` if one was changed meanwhile.
    pub(crate) fn write_task_files(&self, files: &[(&[u8], BeforeAfter)]) -> Result<(), GitError> {
        for files in files.chunks(OPEN_AT_ONCE) {
            let (mut written, mut waiting) = (Vec::new(), Vec::new());
            for (path, (before, after)) in files {
                let Some(after) = after else { continue };
                let place = self.place_of(path);
                let standing = blob_at(&place).at("read", &place)?;
                if standing == Some(after.id) {
                    continue;
                }
                let folder = place.parent().expect("a task file lies in a folder");
                fs::create_dir_all(folder).at("create", folder)?;
                let mode = if after.mode == MODE_EXECUTABLE { 0o777 } else { 0o666 };
                let mut temp = Temp::create_new(folder, TEMPORARY, mode)?;
                temp.write(&self.read_blob(after.id)?)?;
                waiting.push(temp.unsynced());
                written.push((temp, place, *path, before.map(|leaf| leaf.id)));
            }
            sync_files(waiting)?;
            crash_points::point("git.bring-staged");
            for (mut temp, place, path, before) in written {
                // Like `git pull`, this restores a file that is missing.
                let standing = blob_at(&place).at("read", &place)?;
                if standing.is_some() && standing != before {
                    let detail = format!("`{}` was changed at that moment", text(path.to_vec()));
                    return Err(GitError::CheckoutFailed { detail });
                }
                fs::rename(&temp.path, &place).at("write", &place)?;
                temp.named = true;
                crash_points::point("git.bring-placed");
            }
        }
        Ok(())
    }

    /// Syncs files of the worktree and all folders above them.
    pub(crate) fn sync_worktree<'p>(
        &self,
        paths: impl Iterator<Item = &'p [u8]>,
    ) -> Result<(), GitError> {
        let root = self.worktree_root();
        let mut places = BTreeSet::from([root.to_owned()]);
        for path in paths {
            let place = self.place_of(path);
            let below = place.ancestors().take_while(|above| *above != root);
            places.extend(below.map(Path::to_owned));
        }
        let places: Vec<PathBuf> = places.into_iter().collect();
        for places in places.chunks(OPEN_AT_ONCE) {
            sync_files(places.iter().filter_map(|place| unsynced(place)).collect())?;
        }
        Ok(())
    }

    pub(crate) fn place_of(&self, path: &[u8]) -> PathBuf {
        self.worktree_root().join(OsStr::from_bytes(path))
    }
}

/// Returns the blob id of a file's bytes; `None` if there is no file.
pub(crate) fn blob_at(place: &Path) -> std::io::Result<Option<ObjectId>> {
    match fs::read(place) {
        Ok(bytes) => Ok(Some(name(ObjectKind::Blob, &bytes))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns a file or folder to be synced. For a removed file or a link, syncing its folder is enough.
fn unsynced(place: &Path) -> Option<Unsynced> {
    let data = fs::symlink_metadata(place).ok()?;
    let part = match data.file_type() {
        kind if kind.is_file() => SyncPart::Bytes,
        kind if kind.is_dir() => SyncPart::Names,
        _ => return None,
    };
    Some(Unsynced::new(File::open(place).ok()?, place, part))
}

impl Repository {
    /// Returns a copy of the index in the same folder, where a split index finds its shared part.
    pub(crate) fn index_copy(&self) -> Result<Temp, GitError> {
        let mut copy = Temp::create(self.git_dir(), INDEX_COPY, 0o600)?;
        let index = self.git_dir().join("index");
        match git_file::read(&index) {
            Ok(bytes) => {
                copy.file.write_all(&bytes).at("write", &copy.path)?;
                // Git compares this time with the times of files to find those that may have changed since.
                let modified =
                    fs::metadata(&index).and_then(|data| data.modified()).at("read", &index)?;
                let times = fs::FileTimes::new().set_modified(modified);
                copy.file.set_times(times).at("set the time of", &copy.path)?;
            }
            // To git, an empty file is a broken index, and a missing one is empty.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                fs::remove_file(&copy.path).at("remove", &copy.path)?;
            }
            Err(error) => return Err(error).at("read", &index),
        }
        Ok(copy)
    }

    /// Refreshes the copy's stat data for the files that change: an entry that merely looks modified would block them.
    pub(crate) fn refresh_known(&self, copy: &Path, changes: &Changes, patience: Duration) {
        let known = changes.iter().filter(|(_, (before, _))| before.is_some());
        self.refresh(copy, &known.map(|(path, _)| path.as_slice()).collect::<Vec<_>>(), patience);
    }

    /// Refreshes these paths; returns whether git succeeded.
    pub(crate) fn refresh(&self, copy: &Path, known: &[&[u8]], patience: Duration) -> bool {
        if known.is_empty() || !copy.exists() {
            return true;
        }
        let mut refresh = self.git_on(copy);
        refresh.args(["--literal-pathspecs", "add", "--refresh", "--ignore-errors"]);
        refresh.args(["--pathspec-from-file=-", "--pathspec-file-nul"]);
        let paths: Vec<u8> =
            known.iter().flat_map(|path| path.iter().copied().chain([0])).collect();
        command::run(refresh, &paths, patience).is_ok_and(|finished| finished.status.success())
    }

    /// Returns the git command that moves an index and the worktree from one commit to another.
    pub(crate) fn read_tree(&self, index: &Path, from: Option<CommitId>, to: CommitId) -> Command {
        const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        let mut git = self.git_on(index);
        git.args(["read-tree", "-m", "-u"]);
        git.arg(from.map_or_else(|| EMPTY_TREE.to_owned(), |from| from.to_string()))
            .arg(to.to_string());
        git
    }

    /// Sets these entries of an index; `None` removes one.
    pub(crate) fn set_entries<'p>(
        &self,
        index: &Path,
        entries: impl Iterator<Item = (&'p [u8], Option<Leaf>)>,
    ) -> Result<(), GitError> {
        let mut lines = Vec::new();
        for (path, leaf) in entries {
            let fields = match leaf {
                Some(leaf) => format!("{:o} {}\t", leaf.mode, leaf.id),
                None => format!("0 {}\t", "0".repeat(40)),
            };
            lines.extend([fields.as_bytes(), path, b"\0"].concat());
        }
        if lines.is_empty() {
            return Ok(());
        }
        let mut git = self.git_on(index);
        git.args(["update-index", "--add", "--replace", "-z", "--index-info"]);
        command::run_git(git, &lines).map(drop)
    }

    /// Returns a git command that works on a copy of the index.
    pub(crate) fn git_on(&self, index: &Path) -> Command {
        // Only one command at a time uses a copy: a lock on it was left by a git that was killed at its timeout.
        let _ = fs::remove_file(index.with_added_extension("lock"));
        let mut git = self.git_command();
        git.env("GIT_INDEX_FILE", index);
        git
    }
}

impl HeldLock {
    /// Copies another file's bytes and modification time.
    pub(crate) fn write_all_of(&self, other: &Temp) -> Result<(), GitError> {
        let bytes = fs::read(&other.path).at("read", &other.path)?;
        let modified =
            fs::metadata(&other.path).and_then(|data| data.modified()).at("read", &other.path)?;
        let mut file = self.file();
        file.write_all(&bytes).at("write", self.path())?;
        file.set_times(fs::FileTimes::new().set_modified(modified))
            .at("set the time of", self.path())
    }
}

/// The name prefix of empty files that a child git keeps locked.
const SIGN: &str = "aof-git-lives";

impl Repository {
    /// Creates a locked file for a child to inherit: the lock lasts until the last process that has it open ends.
    pub(crate) fn lock_for_child_git(&self) -> Result<Temp, GitError> {
        let sign = Temp::create(self.git_dir(), SIGN, 0o600)?;
        let locked = flock(&sign.file, FlockOperation::NonBlockingLockExclusive)
            .map_err(std::io::Error::from);
        locked.at("lock", &sign.path)?;
        Ok(sign)
    }

    /// Waits for a git that a killed process had started. Fails with `Waiting` at the deadline.
    pub(crate) fn wait_for_orphaned_git(&self, deadline: Instant) -> Result<(), GitError> {
        loop {
            let entries = fs::read_dir(self.git_dir()).at("read", self.git_dir())?;
            let is_sign = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(SIGN);
            if !entries.flatten().any(|entry| is_sign(&entry.file_name()) && is_held(&entry.path()))
            {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let reason = "a git that a killed command left behind still writes files; wait until it has ended, \
                              or end it, then try again";
                return Err(GitError::Waiting { reason: reason.to_owned(), is_lasting: false });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
