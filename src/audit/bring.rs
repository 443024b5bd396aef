//! The branch, the index and the worktree are brought to another commit, which has what others did. The files are as git
//! writes them (filters, links, modes, submodules, sparse checkouts), on a copy of the index, under this process's locks.
//!
//! ```text
//!   files            written whole, in a folder beside (`beside`); no lock is held    kill: that folder, which the next one removes
//!   temp files       made, their inodes told to the caller: no file is touched yet     kill: a leftover `aof-*` file
//!   index.lock       given its name; waited for, never broken         kill: our `index.lock`
//!   check            HEAD is still what it was
//!   ask              nothing that is to change is staged, modified, untracked or ignored; else no file is changed
//!   mark             the caller told that files are coming            kill: our `index.lock`
//!   place            what goes is removed, what comes gets its place by a rename      kill: some files ahead of HEAD, each whole
//!   rest             by `git read-tree -m -u` on a copy of the index, with a lock held while that git lives: what does not come
//!                    that way                                         kill, or git fails half-way: some files ahead of HEAD
//!   new index        the copy's bytes written into `index.lock`
//!   REF.lock         given its name; the branch compared again        kill: all files ahead of HEAD
//!   index.lock -> index, REF.lock -> REF                              the commit point
//! ```
//! What is kept out of aof's own folder is asked before the first of these. After a kill or a failure `finish` says what is done.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use git2::AttrCheckFlags;

use super::coming::Coming;
use super::commit::Step;
use super::error::{At, AuditError};
use super::git_file;
use super::head::Head;
use super::id::CommitId;
use super::in_the_way::{are_fit, keeps_out};
use super::index::Index;
use super::locks::{BranchLock, Files, Held, Locks};
use super::objects::{Temp, sync_files, unsynced_folder};
use super::placed::Sights;
use super::publish::{Intent, Published, tell};
use super::repository::Repository;
use super::spawn;
use super::tree::Leaf;
use crate::disk;
use crate::stop;

/// Files may come through a filter that gets them from elsewhere.
pub(super) const PATIENCE: Duration = Duration::from_mins(15);
/// So many paths fit into one command line anywhere.
pub(super) const PATHS_A_COMMAND: usize = 200;
/// What the copies of the index are called.
pub(super) const INDEX_COPY: &str = "aof-index-copy";
/// The mode of a submodule.
pub(super) const SUBMODULE: u32 = 0o160_000;

/// From where to where git takes files, and how long it may do so, with all its filters.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub from: Option<CommitId>,
    pub to: CommitId,
    pub patience: Duration,
}

/// What stands at a path before and after.
pub(super) type Changes = BTreeMap<String, (Option<Leaf>, Option<Leaf>)>;
/// The same at paths that are no text: git alone brings these, and whatever comes with them.
pub(super) type Odd = BTreeMap<Vec<u8>, (Option<Leaf>, Option<Leaf>)>;

/// In what two commits differ.
#[derive(Default)]
pub(super) struct Difference {
    pub files: Changes,
    pub odd: Odd,
}

impl Difference {
    /// Returns every path, text or not.
    pub(super) fn paths(&self) -> impl Iterator<Item = (&[u8], &(Option<Leaf>, Option<Leaf>))> {
        let files = self.files.iter().map(|(path, sides)| (path.as_bytes(), sides));
        files.chain(self.odd.iter().map(|(path, sides)| (path.as_slice(), sides)))
    }

    /// Returns what stands at a path before and after, where that changes.
    pub(super) fn at(&self, path: &[u8]) -> Option<&(Option<Leaf>, Option<Leaf>)> {
        str::from_utf8(path).map_or_else(|_| self.odd.get(path), |path| self.files.get(path))
    }
}

impl Repository {
    /// Says whether `bring` would be refused, and changes nothing.
    pub fn may_bring(&self, base: &Head, to: CommitId) -> Result<(), AuditError> {
        let copy = self.index_copy()?;
        let difference = self.difference(base.commit, to)?;
        keeps_out(&difference)?;
        self.look_afresh(&copy.path, &difference, PATIENCE);
        self.ask(&copy.path, base.commit, to, &difference)
    }

    /// Moves the branch from where it is to a commit that it led to, with index and worktree. The files are those that were prepared
    /// for the two commits. `Moved` means: look again.
    pub fn bring(
        &self,
        base: &Head,
        to: CommitId,
        coming: &Coming,
        subject: &str,
        deadline: Instant,
        intent: Intent<'_>,
    ) -> Result<Published, AuditError> {
        let difference = self.difference(base.commit, to)?;
        // Before there is any record of it: whoever finishes it goes by that.
        keeps_out(&difference)?;
        let mut lock = self.begin_bringing(base, to, Files::Untouched, deadline, &mut *intent)?;
        let now = self.head()?;
        if now != *base {
            return Err(AuditError::Moved { reference: now.reference, found: now.commit });
        }
        let copy = self.index_copy()?;
        let sights = self.sights(&difference.files)?;
        self.look_afresh(&copy.path, &difference, PATIENCE);
        self.ask(&copy.path, base.commit, to, &difference)?;
        // Without that nobody takes for brought what people have done themselves by then.
        lock.locks.files = Files::Coming;
        sync_files(intent(&lock.locks).at("record what comes to", self.worktree_root())?)?;
        stop::point("audit.bring-begun");
        let way = Way { from: base.commit, to, patience: PATIENCE };
        self.settle_files(coming, &copy, way, &difference.files, &sights)?;
        stop::point("audit.bring-files");
        self.land(lock, &copy, base, to, subject, deadline)
    }

    /// Writes down that the branch is on its way from that commit to the other, and locks the index.
    pub(super) fn begin_bringing(
        &self,
        base: &Head,
        to: CommitId,
        files: Files,
        deadline: Instant,
        intent: Intent<'_>,
    ) -> Result<Bringing, AuditError> {
        let mode = Index::read(self, &[])?.mode();
        let index = self.temp_index(mode)?;
        let branch = self.branch_temp(to)?;
        let lock = BranchLock { reference: base.reference.clone(), from: base.commit, to, file: branch.file.clone() };
        let locks = Locks { index: index.file.clone(), branch: Some(lock), files };
        let mut waiting = tell(intent, &locks, &self.reference_path(&base.reference))?;
        waiting.push(branch.temp.unsynced()?);
        sync_files(waiting)?;
        let index = index.lock(self.git_dir().join("index.lock"), deadline)?;
        stop::point("audit.index-locked");
        Ok(Bringing { index, branch, locks })
    }

    /// The files are there: the index and the branch follow.
    pub(super) fn land(
        &self,
        lock: Bringing,
        copy: &Temp,
        base: &Head,
        to: CommitId,
        subject: &str,
        deadline: Instant,
    ) -> Result<Published, AuditError> {
        lock.index.write_all_of(copy)?;
        stop::point("audit.index-written");
        let reference = &base.reference;
        let branch = lock.branch.lock(self.common_dir().join(format!("{reference}.lock")), deadline)?;
        stop::point("audit.ref-locked");
        let found = self.read_reference(reference)?;
        if found != base.commit {
            return Err(AuditError::Moved { reference: reference.clone(), found });
        }
        let entry = self.log_entry(to)?;
        let committer = self.identity().unwrap_or(entry.committer);
        let step = Step { commit: to, subject: subject.to_owned(), committer, committed: entry.committed };
        self.write_reflogs(reference, base.commit, &[step])?;
        let index_place = self.git_dir().join("index");
        let index = lock.index.unsynced(&index_place)?;
        lock.index.rename_to(&index_place).at("replace", &index_place)?;
        stop::point("audit.index-moved");
        let place = self.reference_path(reference);
        let folder = unsynced_folder(place.parent().expect("a branch lies in a folder"))?;
        branch.rename_to(&place).at("move the branch", &place)?;
        stop::point("audit.ref-moved");
        Ok(Published { commit: to, not_synced: disk::sync(vec![folder, index]).err() })
    }

    /// Returns a copy of the index beside it, where a split one finds its other part.
    pub(super) fn index_copy(&self) -> Result<Temp, AuditError> {
        let mut copy = Temp::create(self.git_dir(), INDEX_COPY, 0o600)?;
        let index = self.git_dir().join("index");
        match git_file::read(&index) {
            Ok(bytes) => {
                copy.file.write_all(&bytes).at("write", &copy.path)?;
                // By this time git tells which files may have changed since without looking otherwise.
                let modified = fs::metadata(&index).and_then(|data| data.modified()).at("read", &index)?;
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

    pub(super) fn difference(&self, from: Option<CommitId>, to: CommitId) -> Result<Difference, AuditError> {
        let before = from.map(|commit| self.root_tree(commit)).transpose()?;
        let mut difference = Difference::default();
        self.trees().compare(before, Some(self.root_tree(to)?), b"", &mut |path, before, after| {
            match String::from_utf8(path) {
                Ok(path) => difference.files.insert(path, (before, after)),
                Err(odd) => difference.odd.insert(odd.into_bytes(), (before, after)),
            };
        })?;
        are_fit(&difference)?;
        Ok(difference)
    }

    /// Gives the files their places, and has git do the rest.
    pub(super) fn settle_files(
        &self,
        coming: &Coming,
        copy: &Temp,
        way: Way,
        changes: &Changes,
        sights: &Sights,
    ) -> Result<(), AuditError> {
        let placed = self.place(coming, changes, sights)?;
        self.enter(&copy.path, &placed)?;
        self.take(copy, way)?;
        // What a filter would have to be asked about is left to whoever looks next.
        let is_plain = |path: &&String| {
            self.git()
                .get_attr(Path::new(path), "filter", AttrCheckFlags::FILE_THEN_INDEX)
                .is_ok_and(|name| name.is_none())
        };
        self.refresh(
            &copy.path,
            &placed.keys().filter(is_plain).map(String::as_bytes).collect::<Vec<_>>(),
            way.patience,
        );
        Ok(())
    }

    /// Has the copy know what the files look like that are to change: an entry that only looks old would be in the way.
    pub(super) fn look_afresh(&self, copy: &Path, difference: &Difference, patience: Duration) {
        let known = difference.paths().filter(|(_, (before, _))| before.is_some());
        self.refresh(copy, &known.map(|(path, _)| path).collect::<Vec<_>>(), patience);
    }

    fn refresh(&self, copy: &Path, known: &[&[u8]], patience: Duration) {
        if known.is_empty() || !copy.exists() {
            return;
        }
        let mut refresh = self.git_on(copy);
        refresh.args(["--literal-pathspecs", "add", "--refresh", "--ignore-errors", "--pathspec-from-file=-"]);
        refresh.arg("--pathspec-file-nul");
        let paths: Vec<u8> = known.iter().flat_map(|path| path.iter().copied().chain([0])).collect();
        // What is not in the index by now is found out by what comes next.
        let _ = spawn::run(refresh, &paths, patience);
    }

    /// Has git take the copy and the worktree from one commit to the other. It may fail half-way: a filter may, or the disk be full.
    fn take(&self, copy: &Temp, way: Way) -> Result<(), AuditError> {
        // Git goes on where this process is killed; as long as it does, nobody else touches the files.
        let sign = self.sign_of_life()?;
        let failed = |detail| AuditError::NotBrought { detail };
        let finished = spawn::run_holding(self.read_tree(&copy.path, way.from, way.to), &sign.file, way.patience)
            .map_err(|error| failed(error.to_string()))?;
        if finished.status.success() {
            return Ok(());
        }
        Err(failed(String::from_utf8_lossy(&finished.stderr).trim().to_owned()))
    }

    /// Returns the git that takes an index and the worktree from one commit to another.
    pub(super) fn read_tree(&self, index: &Path, from: Option<CommitId>, to: CommitId) -> Command {
        const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        let mut git = self.git_on(index);
        git.args(["read-tree", "-m", "-u"]);
        git.arg(from.map_or_else(|| EMPTY_TREE.to_owned(), |from| from.to_string())).arg(to.to_string());
        git
    }

    /// Enters into the copy what the worktree has already.
    pub(super) fn enter(&self, copy: &Path, arrived: &Changes) -> Result<(), AuditError> {
        if arrived.is_empty() {
            return Ok(());
        }
        let lines = arrived.iter().filter_map(|(path, (_, after))| {
            let leaf = (*after)?;
            Some(format!("{:o} {}\t{path}\0", leaf.mode, leaf.id))
        });
        let lines: String = lines.collect();
        let mut git = self.git_on(copy);
        git.args(["update-index", "--add", "--replace", "-z", "--index-info"]);
        spawn::run_git(git, lines.as_bytes()).map(drop)
    }

    pub(super) fn git_on(&self, index: &Path) -> Command {
        let mut git = spawn::git(self);
        git.env("GIT_INDEX_FILE", index);
        git
    }
}

/// The locks of a change of the worktree.
pub(super) struct Bringing {
    pub(super) index: Held,
    branch: super::locks::Unlocked,
    locks: Locks,
}

impl Held {
    /// Writes what another file holds, with its time: what git wrote while it looked at files.
    pub(super) fn write_all_of(&self, other: &Temp) -> Result<(), AuditError> {
        let bytes = fs::read(&other.path).at("read", &other.path)?;
        let modified = fs::metadata(&other.path).and_then(|data| data.modified()).at("read", &other.path)?;
        let mut file = self.file();
        file.write_all(&bytes).at("write", self.path())?;
        file.set_times(fs::FileTimes::new().set_modified(modified)).at("set the time of", self.path())
    }
}
