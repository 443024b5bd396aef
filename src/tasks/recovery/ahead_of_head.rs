//! Files that are ahead of HEAD: committed if they are what the engine itself would have made of HEAD's task, put back if they are what a
//! command wrote for rules that are not in force any more, or for another branch.

use std::rc::Rc;
use std::slice;
use std::time::Instant;

use crate::domain::Digest;
use crate::git::{CommitId, GitError, Head, LogEntry, ObjectId};
use crate::project::active_rules::in_force;
use crate::project::error::ProjectError;
use crate::storage::journal;
use crate::storage::journal::{IntendedWrite, RecoveryAim};
use crate::storage::layout::is_archived;
use crate::storage::task_files::TaskPlace;
use crate::tasks::plan::choice::{Choice, plan};
use crate::tasks::plan::write::Write;
use crate::tasks::publish::commit::publish;
use crate::tasks::recovery::interrupted_write::{InterruptedWrite, tell_unfinished};
use crate::tasks::recovery::table::{RecoveryStep, step};
use crate::tasks::state::task_state::{FileVersion, Pending, TaskState};

impl InterruptedWrite<'_> {
    /// Commits what is ahead of HEAD in one go: the record is replaced by that commit's own, so a kill in it is healed like the first.
    /// Where that fails, each task is tried alone: one task's trouble is told, and keeps none of the others.
    pub(crate) fn commit_what_is_ahead(&self) -> Result<(), ProjectError> {
        match self.commit_ahead(&self.record.writes) {
            Err(error) if !error.is_general() && !is_moved(&error) => {}
            // Its own record, or the one before it, tells whoever comes next.
            done => return done,
        }
        for write in &self.record.writes {
            match self.commit_ahead(slice::from_ref(write)) {
                Err(error) if error.is_general() || is_moved(&error) => {
                    journal::write(self.lock, self.record)?.sync(self.lock)?;
                    return Err(error);
                }
                Err(error) => tell_unfinished(self.workspace, &error),
                Ok(()) => {}
            }
        }
        Ok(())
    }

    fn commit_ahead(&self, writes: &[IntendedWrite]) -> Result<(), ProjectError> {
        loop {
            let head = self.workspace.head()?;
            let ahead = self.ahead_of(&head, writes)?;
            if ahead.is_empty() {
                return Ok(());
            }
            let tried = publish(self.workspace, self.lock, &head, &ahead, RecoveryAim::Finish);
            // What a failure leaves stays on record.
            let tried = tried
                .map_err(|failed| failed.stuck.map_or(failed.error, |stuck| stuck.fault.into()));
            match tried {
                // A person committed meanwhile.
                Err(error) if is_moved(&error) && Instant::now() < self.workspace.deadline() => {}
                tried => return tried.map(drop),
            }
        }
    }

    /// Returns those of the files that are ahead of HEAD by what the engine itself would have written. What is not to count goes back.
    fn ahead_of(&self, head: &Head, writes: &[IntendedWrite]) -> Result<Vec<Write>, ProjectError> {
        let workspace = self.workspace;
        let in_force = Rc::new(in_force(workspace, head)?);
        let mut ahead = Vec::new();
        for intended in writes {
            let Some(id) = &intended.task else { continue };
            let read = TaskState::read_under(workspace, id, head.clone(), Rc::clone(&in_force));
            let state = match read {
                Ok(state) => Some(state),
                // The task's own trouble is shown when somebody asks for the task.
                Err(
                    ProjectError::UnreadableTask { .. }
                    | ProjectError::NoTask { .. }
                    | ProjectError::Store(_),
                ) => None,
                Err(error) => return Err(error),
            };
            let done = self.facts(head, intended, state.as_ref()).and_then(|facts| {
                match step(facts) {
                    RecoveryStep::Commit => {
                        if let Some(state) = state {
                            ahead.extend(self.write_of(&state, intended)?);
                        }
                    }
                    RecoveryStep::PutBack => {
                        self.put_back(head, intended)?;
                        self.tell_undone(head, intended);
                    }
                    RecoveryStep::Tell => self.tell_left(head, intended),
                    RecoveryStep::Leave => {}
                }
                Ok(())
            });
            self.unless_of_one_task(done)?;
        }
        Ok(ahead)
    }

    /// Returns what is to be committed of a file that is ahead of HEAD.
    fn write_of(
        &self,
        state: &TaskState,
        intended: &IntendedWrite,
    ) -> Result<Option<Write>, ProjectError> {
        let Pending::Versions(versions) = &state.pending else { return Ok(None) };
        let misplaced = state.place == TaskPlace::Active && is_archived(&state.snapshot.path);
        let planned = plan(self.workspace, state, Choice::Pending)?.write;
        let Some(mut write) = planned.filter(|_| !misplaced) else { return Ok(None) };
        // Should this be stopped as well, what stood there first is still what it goes back to.
        write.recorded =
            intended.old.clone().filter(|_| Digest::of(write.bytes()) == intended.sha256);
        let mut first = self.prepared(state, intended)?;
        first.truncate(first.len().saturating_sub(versions.len()));
        write.versions.splice(0..0, first);
        Ok(Some(write))
    }

    /// Returns the versions that were to be committed, oldest first, if the file has the last of them. They tell what the file alone
    /// cannot: what of it a person's edit was, which goes in as theirs and not as part of the act that was killed with it.
    fn prepared(
        &self,
        state: &TaskState,
        intended: &IntendedWrite,
    ) -> Result<Vec<FileVersion>, ProjectError> {
        let Some(branch) = &self.branch else { return Ok(Vec::new()) };
        let repository = &self.workspace.repository;
        // The last of them may be what moves the file.
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
                // The commit above did not make this version: this one may have, or one below it.
                versions.pop();
            }
            if let Some(other) = blob {
                let bytes = repository.read_blob(other)?;
                versions.push(FileVersion { bytes, message, author: Some(author), authored });
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
