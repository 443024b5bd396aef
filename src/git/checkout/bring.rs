//! Moves the branch, the index and the worktree to a later commit, as a sync does. Git itself writes the files, by `git read-tree -m -u`
//! on a copy of the index; task files are written here, each whole under another name and then renamed.
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
//! After a kill or a failure, `recovery` finishes the move or takes it back.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::git::command;
use crate::git::error::{At, GitError};
use crate::git::id::{CommitId, ObjectId};
use crate::git::index::user_index::Index;
use crate::git::log::tree_diff::{BeforeAfter, Changes};
use crate::git::objects::git_file;
use crate::git::objects::loose::{ObjectKind, Temp, name, sync_files, unsynced_folder};
use crate::git::objects::tree::{Leaf, MODE_EXECUTABLE, MODE_FILE, text};
use crate::git::repository::handle::Repository;
use crate::git::repository::references::{Head, ReflogEntry};
use crate::git::transaction::locks::{
    BranchLock, Held, INDEX_COPY, IncomingFiles, Locks, Unlocked, is_held,
};
use crate::git::transaction::publish::{Intent, Published, tell};
use crate::system::disk::{SyncPart, Unsynced};
use crate::system::{crash_points, disk};

/// Filters may get files from elsewhere.
const PATIENCE: Duration = Duration::from_mins(15);
/// How many files and folders are open at once.
const OPEN_AT_ONCE: usize = 64;

/// The locks of a move of the worktree.
pub(crate) struct Bringing {
    pub(crate) index: Held,
    branch: Unlocked,
    locks: Locks,
}

impl Repository {
    /// Fails where `bring` would refuse, and changes nothing.
    pub fn may_bring(&self, base: &Head, to: CommitId) -> Result<(), GitError> {
        let changes = self.changes(base.commit, to)?;
        self.check_incoming(&changes)?;
        self.checked_copy(base.commit, to, &changes).map(drop)
    }

    /// Fails where something in these changes may not come into any clone.
    pub fn may_come(&self, from: Option<CommitId>, to: CommitId) -> Result<(), GitError> {
        self.check_incoming(&self.changes(from, to)?)
    }

    /// Moves the branch from where it is to a later commit, with index and worktree. `Moved` means: look again.
    pub fn bring(
        &self,
        base: &Head,
        to: CommitId,
        subject: &str,
        deadline: Instant,
        intent: Intent<'_>,
    ) -> Result<Published, GitError> {
        let changes = self.changes(base.commit, to)?;
        // Recovery trusts that a recorded move has passed this check.
        self.check_incoming(&changes)?;
        let mut lock =
            self.begin_bringing(base, to, IncomingFiles::Untouched, deadline, &mut *intent)?;
        let now = self.head()?;
        if now != *base {
            return Err(GitError::Moved { reference: now.reference, found: now.commit });
        }
        let copy = self.checked_copy(base.commit, to, &changes)?;
        // Without this record, recovery leaves all files as they are.
        lock.locks.files = IncomingFiles::Coming;
        sync_files(intent(&lock.locks).at("record what comes to", self.worktree_root())?)?;
        crash_points::point("git.bring-begun");
        self.check_out(&copy, base.commit, to, &changes, PATIENCE)?;
        crash_points::point("git.bring-files");
        self.land(lock, &copy, base, to, subject, deadline)
    }

    /// Returns a copy of the index, once nothing is in the way of these changes.
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

    /// Records that the branch is to move between these commits, and locks the index.
    pub(crate) fn begin_bringing(
        &self,
        base: &Head,
        to: CommitId,
        files: IncomingFiles,
        deadline: Instant,
        intent: Intent<'_>,
    ) -> Result<Bringing, GitError> {
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
        let mut waiting = tell(intent, &locks, &self.reference_path(&base.reference))?;
        waiting.push(branch.temp.unsynced()?);
        sync_files(waiting)?;
        let index = index.lock(self.git_dir().join("index.lock"), deadline)?;
        crash_points::point("git.index-locked");
        Ok(Bringing { index, branch, locks })
    }

    /// Moves the index and the branch behind the files.
    pub(crate) fn land(
        &self,
        lock: Bringing,
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
        let index = lock.index.unsynced(&index_place)?;
        lock.index.rename_to(&index_place).at("replace", &index_place)?;
        crash_points::point("git.index-moved");
        let place = self.reference_path(reference);
        let folder = unsynced_folder(place.parent().expect("a branch lies in a folder"))?;
        branch.rename_to(&place).at("move the branch", &place)?;
        crash_points::point("git.ref-moved");
        Ok(Published { commit: to, not_synced: disk::sync(vec![folder, index]).err() })
    }

    /// Moves the worktree and the copy of the index between these commits. It may fail half-way: a filter may, or the disk be full.
    pub(crate) fn check_out(
        &self,
        copy: &Temp,
        from: Option<CommitId>,
        to: CommitId,
        changes: &Changes,
        patience: Duration,
    ) -> Result<(), GitError> {
        // Only git knows what a sparse checkout leaves out.
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

    /// Runs `git read-tree -m -u`. It outlives this process if that is killed; until it ends, nobody else touches the files.
    fn read_tree_holding(
        &self,
        copy: &Temp,
        from: Option<CommitId>,
        to: CommitId,
        patience: Duration,
    ) -> Result<(), GitError> {
        let sign = self.sign_of_life()?;
        let failed = |detail| GitError::NotBrought { detail };
        let finished =
            command::run_holding(self.read_tree(&copy.path, from, to), &sign.file, patience)
                .map_err(|error| failed(error.to_string()))?;
        if finished.status.success() {
            return Ok(());
        }
        Err(failed(String::from_utf8_lossy(&finished.stderr).trim().to_owned()))
    }

    /// Says whether a change writes a task file, which is not left to git: the file is never seen half written.
    pub(crate) fn is_written_here(&self, path: &[u8], (before, after): BeforeAfter) -> bool {
        let is_file = |leaf: Leaf| matches!(leaf.mode, MODE_FILE | MODE_EXECUTABLE);
        self.is_task_file(path) && before.is_none_or(is_file) && after.is_some_and(is_file)
    }

    /// Says whether a path of the worktree is that of a task file.
    pub(crate) fn is_task_file(&self, path: &[u8]) -> bool {
        path.starts_with(self.full_path("tasks/").as_bytes()) && path.ends_with(b".md")
    }

    /// Writes task files, each over what stood there before. What somebody changed meanwhile is `NotBrought`.
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
                let mut temp = Temp::create_new(folder, ".aof-tmp", mode)?;
                temp.write(&self.read_blob(after.id)?)?;
                waiting.push(temp.unsynced()?);
                written.push((temp, place, *path, before.map(|leaf| leaf.id)));
            }
            sync_files(waiting)?;
            for (mut temp, place, path, before) in written {
                if blob_at(&place).at("read", &place)? != before {
                    let detail = format!("`{}` was changed at that moment", text(path.to_vec()));
                    return Err(GitError::NotBrought { detail });
                }
                fs::rename(&temp.path, &place).at("write", &place)?;
                temp.named = true;
                crash_points::point("git.bring-placed");
            }
        }
        Ok(())
    }

    /// Makes files of the worktree durable, and the names in the folders above them.
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

/// Returns the name of the blob that a file holds; nothing where no file stands.
fn blob_at(place: &Path) -> std::io::Result<Option<ObjectId>> {
    match fs::read(place) {
        Ok(bytes) => Ok(Some(name(ObjectKind::Blob, &bytes))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns a file or folder to be synced. The folder above tells of what is gone, or is a link.
fn unsynced(place: &Path) -> Option<Unsynced> {
    let data = fs::symlink_metadata(place).ok()?;
    let part = match data.file_type() {
        kind if kind.is_file() => SyncPart::Bytes,
        kind if kind.is_dir() => SyncPart::Names,
        _ => return None,
    };
    Unsynced::new(&File::open(place).ok()?, place, part).ok()
}

impl Repository {
    /// Returns a copy of the index beside it, where a split one finds its other part.
    pub(crate) fn index_copy(&self) -> Result<Temp, GitError> {
        let mut copy = Temp::create(self.git_dir(), INDEX_COPY, 0o600)?;
        let index = self.git_dir().join("index");
        match git_file::read(&index) {
            Ok(bytes) => {
                copy.file.write_all(&bytes).at("write", &copy.path)?;
                // By this time git tells which files may have changed since without looking otherwise.
                let modified =
                    fs::metadata(&index).and_then(|data| data.modified()).at("read", &index)?;
                let times = fs::FileTimes::new().set_modified(modified);
                copy.file.set_times(times).at("set the time of", &copy.path)?;
            }
            // Git takes an empty file for a broken index, and none for an empty one.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                fs::remove_file(&copy.path).at("remove", &copy.path)?;
            }
            Err(error) => return Err(error).at("read", &index),
        }
        Ok(copy)
    }

    /// Has the copy know what the files look like that are to change: an entry that only looks old would be in the way.
    pub(crate) fn refresh_known(&self, copy: &Path, changes: &Changes, patience: Duration) {
        let known = changes.iter().filter(|(_, (before, _))| before.is_some());
        self.refresh(copy, &known.map(|(path, _)| path.as_slice()).collect::<Vec<_>>(), patience);
    }

    /// Does so for these paths, and says whether git came to the end.
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

    /// Returns the git that takes an index and the worktree from one commit to another.
    pub(crate) fn read_tree(&self, index: &Path, from: Option<CommitId>, to: CommitId) -> Command {
        const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        let mut git = self.git_on(index);
        git.args(["read-tree", "-m", "-u"]);
        git.arg(from.map_or_else(|| EMPTY_TREE.to_owned(), |from| from.to_string()))
            .arg(to.to_string());
        git
    }

    /// Gives paths of an index these entries; nothing takes one out.
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
        // Only one command at a time uses a copy: a lock on it is left by a git that took too long and was killed.
        let _ = fs::remove_file(index.with_added_extension("lock"));
        let mut git = self.git_command();
        git.env("GIT_INDEX_FILE", index);
        git
    }
}

impl Held {
    /// Writes what another file holds, with its time: what git wrote while it looked at files.
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

/// What the files are called that such a git holds. They have nothing in them, and nobody replaces them.
const SIGN: &str = "aof-git-lives";

impl Repository {
    /// Returns a file, locked for whoever inherits it: the lock lasts until the last one has ended.
    pub(crate) fn sign_of_life(&self) -> Result<Temp, GitError> {
        let sign = Temp::create(self.git_dir(), SIGN, 0o600)?;
        let locked = flock(&sign.file, FlockOperation::NonBlockingLockExclusive)
            .map_err(std::io::Error::from);
        locked.at("lock", &sign.path)?;
        Ok(sign)
    }

    /// Waits for a git that was started by a killed process: it ends soon.
    pub(crate) fn wait_for_left_git(&self, deadline: Instant) -> Result<(), GitError> {
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
                return Err(GitError::Waiting { reason: reason.to_owned() });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
