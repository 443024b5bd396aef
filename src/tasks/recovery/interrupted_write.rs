//! An interrupted write: its record, the parts that git still has, the state of its files, and the commit of files that are ahead of
//! HEAD.

use std::rc::Rc;
use std::slice;
use std::time::Instant;

use crate::domain::Digest;
use crate::git::{BranchLock, CommitId, GitError, Head, LogEntry, ObjectId};
use crate::project::active_rules::in_force;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::journal::{FileBefore, IntendedWrite, JournalRecord, RecoveryAim};
use crate::storage::layout::is_archived;
use crate::storage::task_files;
use crate::storage::task_files::TaskPlace;
use crate::storage::{ProjectPath, StoreError, WriterLock, journal};
use crate::tasks::plan::{Choice, plan};
use crate::tasks::publish::publish;
use crate::tasks::recovery::table::{
    EngineVerdict, FileState, RecoveryFacts, RecoveryStep, recovery_step,
};
use crate::tasks::state::task_state::{Pending, TaskState, TaskVersion};
use crate::tasks::write::Write;

/// The remains of a killed or failed command.
pub(crate) struct InterruptedWrite<'a> {
    pub workspace: &'a Workspace,
    pub lock: &'a WriterLock,
    pub record: &'a JournalRecord,
    /// The branch that the write would have moved.
    pub reference: Option<String>,
    /// The move of the branch, if git still has its commit: a commit that is not on the branch may have been pruned.
    pub branch: Option<BranchLock>,
}

impl InterruptedWrite<'_> {
    /// Returns whether HEAD is the branch that the write would have moved. A record without a branch counts as HEAD's.
    pub(crate) fn is_own_branch(&self, head: &Head) -> bool {
        self.reference.as_ref().is_none_or(|reference| *reference == head.reference)
    }

    /// Warns about one task's error, so that it does not block other tasks. For a change that was reported as failed, returns the
    /// error: nothing else may be changed before the rollback.
    pub(crate) fn warn_or_stop(
        &self,
        result: Result<(), ProjectError>,
    ) -> Result<(), ProjectError> {
        match self.record.aim {
            RecoveryAim::Finish => warn_unless_general(self.workspace, result),
            RecoveryAim::Undo => result.map_err(|fault| ProjectError::RestoreFailed {
                failure: None,
                fault: Box::new(fault),
                noted: true,
            }),
        }
    }

    /// Returns a file's bytes; `None` if there is no file.
    pub(crate) fn read(&self, path: &ProjectPath) -> Result<Option<Vec<u8>>, ProjectError> {
        match task_files::read(&self.workspace.paths, path) {
            Ok(snapshot) => Ok(Some(snapshot.bytes)),
            Err(StoreError::Gone { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns a file's bytes if they have this digest.
    pub(crate) fn read_if(
        &self,
        path: &ProjectPath,
        digest: &Digest,
    ) -> Result<Option<Vec<u8>>, ProjectError> {
        Ok(self.read(path)?.filter(|bytes| Digest::of(bytes) == *digest))
    }

    pub(crate) fn blob(
        &self,
        commit: Option<CommitId>,
        path: &ProjectPath,
    ) -> Result<Option<ObjectId>, ProjectError> {
        let Some(commit) = commit else { return Ok(None) };
        Ok(self.workspace.repository.blob_id(commit, path.as_str())?)
    }

    /// Returns a file's bytes in a commit if they have this digest.
    pub(crate) fn committed_if(
        &self,
        commit: Option<CommitId>,
        file: &FileBefore,
    ) -> Result<Option<Vec<u8>>, ProjectError> {
        let Some(blob) = self.blob(commit, &file.path)? else { return Ok(None) };
        let bytes = self.workspace.repository.read_blob(blob)?;
        Ok(Some(bytes).filter(|bytes| Digest::of(bytes) == file.sha256))
    }

    /// Returns the old bytes of the file: from HEAD, or, if a person's edit was to be committed first, from one of the
    /// unpublished commits. `None` if no commit has them.
    pub(crate) fn old_bytes(
        &self,
        head: &Head,
        old: &FileBefore,
    ) -> Result<Option<Vec<u8>>, ProjectError> {
        if let Some(bytes) = self.committed_if(head.commit, old)? {
            return Ok(Some(bytes));
        }
        let Some(branch) = &self.branch else { return Ok(None) };
        for entry in self.workspace.repository.log(branch.to)? {
            let commit = Some(entry?.id);
            if let Some(bytes) = self.committed_if(commit, old)? {
                return Ok(Some(bytes));
            }
            if commit == branch.from {
                break;
            }
        }
        Ok(None)
    }

    /// Returns the facts for the decision about a recorded task file. `state` is the task, if it can be read.
    pub(crate) fn recovery_facts(
        &self,
        head: &Head,
        write: &IntendedWrite,
        state: Option<&TaskState>,
    ) -> Result<RecoveryFacts, ProjectError> {
        let verdict = match state.map(|state| &state.pending) {
            None => EngineVerdict::Unknown,
            Some(Pending::Nothing) => EngineVerdict::Same,
            Some(Pending::Versions(_)) => EngineVerdict::Made,
            Some(
                Pending::Foreign(_)
                | Pending::Unaccepted(_)
                | Pending::Unearned(_)
                | Pending::Misread(..)
                | Pending::Stale(_)
                | Pending::Overlap(_),
            ) => EngineVerdict::Foreign,
        };
        Ok(RecoveryFacts {
            is_own_branch: self.is_own_branch(head),
            aim: self.record.aim,
            file: self.file_state(head, write)?,
            is_head_unchanged: self.is_head_unchanged(head, write)?,
            verdict,
        })
    }

    /// Returns the state of the task's file, at either of its paths. A person's file that was only to be committed counts as unchanged.
    fn file_state(&self, head: &Head, write: &IntendedWrite) -> Result<FileState, ProjectError> {
        let Some(old) = &write.old else {
            return Ok(match self.read(&write.new)? {
                None => FileState::Before,
                Some(bytes) if Digest::of(&bytes) == write.sha256 => FileState::AsIntended,
                Some(_) => FileState::Other,
            });
        };
        let is_at = |path: &ProjectPath| -> Result<bool, ProjectError> {
            let was_there = *path == old.path && old.sha256 == write.sha256;
            Ok(!was_there && self.read_if(path, &write.sha256)?.is_some())
        };
        if is_at(&write.new)? || is_at(&old.path)? {
            let is_known = self.old_bytes(head, old)?.is_some();
            return Ok(if is_known { FileState::AsIntended } else { FileState::Unrecoverable });
        }
        let is_before = self.read_if(&old.path, &old.sha256)?.is_some();
        Ok(if is_before { FileState::Before } else { FileState::Other })
    }

    /// Returns whether HEAD has the same version of the file as when the record was made.
    fn is_head_unchanged(&self, head: &Head, write: &IntendedWrite) -> Result<bool, ProjectError> {
        let repository = &self.workspace.repository;
        let blobs = |commit: Option<CommitId>| -> Result<Vec<Option<ObjectId>>, ProjectError> {
            write.places().map(|path| self.blob(commit, path)).collect()
        };
        let now = blobs(head.commit)?;
        match (&self.branch, &write.old) {
            (Some(BranchLock { from, .. }), _)
                if from.is_none_or(|from| repository.has_commit(from)) =>
            {
                Ok(now == blobs(*from)?)
            }
            // Git has pruned that commit. HEAD is unchanged if it has the old bytes.
            (_, Some(old)) => Ok(self.committed_if(head.commit, old)?.is_some()),
            (_, None) => Ok(now.iter().all(Option::is_none)),
        }
    }
}

/// Warns about one task's error, so that it does not block other tasks. Returns errors that affect all tasks.
pub(crate) fn warn_unless_general(
    workspace: &Workspace,
    result: Result<(), ProjectError>,
) -> Result<(), ProjectError> {
    match result {
        Err(error) if error.is_general() => Err(error),
        Err(error) => {
            warn_unfinished(workspace, &error);
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// Warns that an interrupted write stays unfinished. The record is cleared all the same: `aof status` reports the files after that.
pub(crate) fn warn_unfinished(workspace: &Workspace, error: &ProjectError) {
    let fix = error.fix().map(|fix| format!("; {fix}")).unwrap_or_default();
    let problem = error.problem();
    workspace.warn(format!("what a command was stopped in could not be finished: {problem}{fix}"));
}

impl InterruptedWrite<'_> {
    /// Commits all files that are ahead of HEAD in one batch. The batch writes its own record, so a kill in it is recovered in the same
    /// way. If the batch fails, each task is tried alone, and errors of single tasks become warnings.
    pub(crate) fn commit_files_ahead(&self) -> Result<(), ProjectError> {
        match self.commit_ahead(&self.record.writes) {
            Err(error) if !error.is_general() && !is_moved(&error) => {}
            // A journal record stays for the next command.
            done => return done,
        }
        for write in &self.record.writes {
            match self.commit_ahead(slice::from_ref(write)) {
                Err(error) if error.is_general() || is_moved(&error) => {
                    journal::write(self.lock, self.record)?.sync(self.lock)?;
                    return Err(error);
                }
                Err(error) => warn_unfinished(self.workspace, &error),
                Ok(()) => {}
            }
        }
        Ok(())
    }

    fn commit_ahead(&self, writes: &[IntendedWrite]) -> Result<(), ProjectError> {
        loop {
            let head = self.workspace.head_now()?;
            let ahead = self.files_ahead(&head, writes)?;
            if ahead.is_empty() {
                return Ok(());
            }
            let tried = publish(self.workspace, self.lock, &head, &ahead, RecoveryAim::Finish);
            // After a failed rollback the record stays.
            let tried = tried.map_err(|failed| {
                failed.rollback.map_or(failed.error, |rollback| rollback.fault.into())
            });
            match tried {
                // A person committed meanwhile.
                Err(error) if is_moved(&error) && Instant::now() < self.workspace.deadline() => {}
                tried => return tried.map(drop),
            }
        }
    }

    /// Returns the writes for files that are ahead of HEAD by a change that the engine itself would have made. Restores or keeps the
    /// other files, as `table` decides.
    fn files_ahead(
        &self,
        head: &Head,
        writes: &[IntendedWrite],
    ) -> Result<Vec<Write>, ProjectError> {
        let workspace = self.workspace;
        let in_force = Rc::new(in_force(workspace, head)?);
        let mut ahead = Vec::new();
        for intended in writes {
            let Some(id) = &intended.task else { continue };
            let read = TaskState::read_under(workspace, id, head.clone(), Rc::clone(&in_force));
            let state = match read {
                Ok(state) => Some(state),
                // Errors of the task itself are reported when the task is read.
                Err(
                    ProjectError::UnreadableTask { .. }
                    | ProjectError::NoTask { .. }
                    | ProjectError::Store(_),
                ) => None,
                Err(error) => return Err(error),
            };
            let done = self.recovery_facts(head, intended, state.as_ref()).and_then(|facts| {
                match recovery_step(facts) {
                    RecoveryStep::Commit => {
                        if let Some(state) = state {
                            ahead.extend(self.write_for(&state, intended)?);
                        }
                    }
                    RecoveryStep::PutBack => {
                        self.restore_file(head, intended)?;
                        self.warn_undone(head, intended);
                    }
                    RecoveryStep::Warn => self.warn_kept(head, intended),
                    RecoveryStep::Leave => {}
                }
                Ok(())
            });
            self.warn_or_stop(done)?;
        }
        Ok(ahead)
    }

    /// Returns the write for a file that is ahead of HEAD; `None` if there is nothing to commit.
    fn write_for(
        &self,
        state: &TaskState,
        intended: &IntendedWrite,
    ) -> Result<Option<Write>, ProjectError> {
        let Pending::Versions(versions) = &state.pending else { return Ok(None) };
        let misplaced = state.place == TaskPlace::Active && is_archived(&state.snapshot.path);
        let planned = plan(self.workspace, state, Choice::Pending)?.write;
        let Some(mut write) = planned.filter(|_| !misplaced) else { return Ok(None) };
        // If this is interrupted too, the rollback still restores the first version.
        write.recorded =
            intended.old.clone().filter(|_| Digest::of(write.bytes()) == intended.sha256);
        let mut first = self.prepared_versions(state, intended)?;
        // A claim and an assignment make the same file; only the message distinguishes them.
        for version in &mut write.versions {
            let prepared = first.iter().find(|prepared| prepared.bytes == version.bytes);
            *version = prepared.cloned().unwrap_or_else(|| version.clone());
        }
        first.truncate(first.len().saturating_sub(versions.len()));
        write.versions.splice(0..0, first);
        Ok(Some(write))
    }

    /// Returns the versions that were to be committed, oldest first, if the file has the last of them. They separate a person's edit,
    /// which gets its own commit, from the interrupted act.
    fn prepared_versions(
        &self,
        state: &TaskState,
        intended: &IntendedWrite,
    ) -> Result<Vec<TaskVersion>, ProjectError> {
        let Some(branch) = &self.branch else { return Ok(Vec::new()) };
        let repository = &self.workspace.repository;
        // The last version may be at the new path.
        let blob_in = |commit: Option<CommitId>| -> Result<Option<ObjectId>, ProjectError> {
            for path in intended.places() {
                if let Some(blob) = self.blob(commit, path)? {
                    return Ok(Some(blob));
                }
            }
            Ok(None)
        };
        let last = blob_in(Some(branch.to))?;
        if !last.is_some_and(|blob| repository.is_same_text(&state.snapshot.bytes, blob)) {
            return Ok(Vec::new());
        }
        let head = blob_in(state.head.commit)?;
        let mut versions = Vec::new();
        let mut later = None;
        for entry in repository.log(branch.to)? {
            let LogEntry { id, message, author, authored, .. } = entry?;
            let blob = blob_in(Some(id))?;
            if Some(id) == branch.from || blob == head {
                break;
            }
            if blob.is_some() && blob == later {
                // The later commit did not change the file: this one may have, or an earlier one.
                versions.pop();
            }
            if let Some(other) = blob {
                let bytes = repository.read_blob(other)?;
                versions.push(TaskVersion { bytes, message, author: Some(author), authored });
            }
            later = blob;
        }
        versions.reverse();
        Ok(versions)
    }
}

fn is_moved(error: &ProjectError) -> bool {
    matches!(error, ProjectError::Git(GitError::Moved { .. }))
}
