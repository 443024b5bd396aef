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

use std::time::{Duration, Instant};

use super::incoming_files::Coming;
use super::materialize::Sights;
use super::overwrite_check::{NOTHING, keeps_out};
use crate::git::attributes::attributes::Attribute;
use crate::git::command;
use crate::git::error::{At, AuditError};
use crate::git::index::user_index::Index;
use crate::git::log::path_diff::Changes;
use crate::git::objects::id::CommitId;
use crate::git::objects::loose::{Temp, sync_files, unsynced_folder};
use crate::git::repository::head::Head;
use crate::git::repository::repository::Repository;
use crate::git::transaction::locks::{BranchLock, Files, Held, Locks};
use crate::git::transaction::prepare::Step;
use crate::git::transaction::publish::{Intent, Published, tell};
use crate::system::crash_points;
use crate::system::disk;

/// Files may come through a filter that gets them from elsewhere.
pub(crate) const PATIENCE: Duration = Duration::from_mins(15);

/// From where to where git takes files, and how long it may do so, with all its filters.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    pub from: Option<CommitId>,
    pub to: CommitId,
    pub patience: Duration,
}

impl Repository {
    /// Says whether `bring` would be refused, and changes nothing. Of files that were changed, and not staged, `gives_way` says which
    /// the caller takes out of the way before, each by its path from the worktree's top.
    pub fn may_bring(
        &self,
        base: &Head,
        to: CommitId,
        gives_way: &dyn Fn(&str) -> bool,
    ) -> Result<(), AuditError> {
        let copy = self.index_copy()?;
        let difference = self.difference(base.commit, to)?;
        keeps_out(&difference)?;
        self.look_afresh(&copy.path, &difference, PATIENCE);
        self.ask(&copy.path, base.commit, to, &difference, gives_way)
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
        self.ask(&copy.path, base.commit, to, &difference, NOTHING)?;
        // Without that nobody takes for brought what people have done themselves by then.
        lock.locks.files = Files::Coming;
        sync_files(intent(&lock.locks).at("record what comes to", self.worktree_root())?)?;
        crash_points::point("audit.bring-begun");
        let way = Way { from: base.commit, to, patience: PATIENCE };
        self.settle_files(coming, &copy, way, &difference.files, &sights)?;
        crash_points::point("audit.bring-files");
        self.land(lock, &copy, base, to, subject, deadline)
    }

    /// Writes down that the branch is on its way from that commit to the other, and locks the index.
    pub(crate) fn begin_bringing(
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
        crash_points::point("audit.index-locked");
        Ok(Bringing { index, branch, locks })
    }

    /// The files are there: the index and the branch follow.
    pub(crate) fn land(
        &self,
        lock: Bringing,
        copy: &Temp,
        base: &Head,
        to: CommitId,
        subject: &str,
        deadline: Instant,
    ) -> Result<Published, AuditError> {
        lock.index.write_all_of(copy)?;
        crash_points::point("audit.index-written");
        let reference = &base.reference;
        let branch =
            lock.branch.lock(self.common_dir().join(format!("{reference}.lock")), deadline)?;
        crash_points::point("audit.ref-locked");
        let found = self.read_reference(reference)?;
        if found != base.commit {
            return Err(AuditError::Moved { reference: reference.clone(), found });
        }
        let entry = self.log_entry(to)?;
        let committer = self.identity().unwrap_or(entry.committer);
        let step =
            Step { commit: to, subject: subject.to_owned(), committer, committed: entry.committed };
        self.write_reflogs(reference, base.commit, &[step])?;
        let index_place = self.git_dir().join("index");
        let index = lock.index.unsynced(&index_place)?;
        lock.index.rename_to(&index_place).at("replace", &index_place)?;
        crash_points::point("audit.index-moved");
        let place = self.reference_path(reference);
        let folder = unsynced_folder(place.parent().expect("a branch lies in a folder"))?;
        branch.rename_to(&place).at("move the branch", &place)?;
        crash_points::point("audit.ref-moved");
        Ok(Published { commit: to, not_synced: disk::sync(vec![folder, index]).err() })
    }

    /// Gives the files their places, and has git do the rest.
    pub(crate) fn settle_files(
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
        let paths: Vec<&str> = placed.keys().map(String::as_str).collect();
        let said = self.attributes(&paths, ["filter"]).unwrap_or_default();
        let is_plain =
            |said: &[Attribute; 1]| matches!(said, [Attribute::Unspecified | Attribute::Unset]);
        let plain = paths.iter().zip(&said).filter(|(_, said)| is_plain(said));
        self.refresh(
            &copy.path,
            &plain.map(|(path, _)| path.as_bytes()).collect::<Vec<_>>(),
            way.patience,
        );
        Ok(())
    }

    /// Has git take the copy and the worktree from one commit to the other. It may fail half-way: a filter may, or the disk be full.
    fn take(&self, copy: &Temp, way: Way) -> Result<(), AuditError> {
        // Git goes on where this process is killed; as long as it does, nobody else touches the files.
        let sign = self.sign_of_life()?;
        let failed = |detail| AuditError::NotBrought { detail };
        let finished = command::run_holding(
            self.read_tree(&copy.path, way.from, way.to),
            &sign.file,
            way.patience,
        )
        .map_err(|error| failed(error.to_string()))?;
        if finished.status.success() {
            return Ok(());
        }
        Err(failed(String::from_utf8_lossy(&finished.stderr).trim().to_owned()))
    }
}

/// The locks of a change of the worktree.
pub(crate) struct Bringing {
    pub(crate) index: Held,
    branch: crate::git::transaction::locks::Unlocked,
    locks: Locks,
}
