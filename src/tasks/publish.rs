//! Commits writes with their files, in one move of the branch. The caller holds the writer lock, and has checked that the files and
//! the branch that it read are unchanged.

use std::collections::HashSet;
use std::env;
use std::time::Instant;

use tracing::{info, warn};

use crate::domain::TaskId;
use crate::git::{CommitDraft, CommitId, Head, Prepared, Published};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::storage::journal::{JournalRecord, RecoveryAim};
use crate::storage::{StoreError, WriterLock, journal};
use crate::system::crash_points;
use crate::system::process::{Secrets, boot, is_secret_name};
use crate::tasks::write;
use crate::tasks::write::{PlacedFiles, Write};

/// A commit that was not made.
pub(crate) struct FailedWrite {
    pub error: ProjectError,
    pub rollback: Option<FailedRollback>,
}

impl From<ProjectError> for Box<FailedWrite> {
    fn from(error: ProjectError) -> Self {
        Self::new(FailedWrite { error, rollback: None })
    }
}

/// Files that could not be rolled back.
pub(crate) struct FailedRollback {
    pub fault: StoreError,
    /// True if the journal is marked for rollback.
    pub noted: bool,
}

/// The progress of a write before the branch moved.
#[derive(Default)]
struct Progress {
    /// The journal record, once it is written.
    record: Option<JournalRecord>,
    placed: PlacedFiles,
}

/// Writes the files and commits them. On failure, rolls the files back; `aim` is the action for recovery if that fails too.
pub(crate) fn publish(
    workspace: &Workspace,
    lock: &WriterLock,
    head: &Head,
    writes: &[Write],
    aim: RecoveryAim,
) -> Result<Vec<CommitId>, Box<FailedWrite>> {
    let start = Instant::now();
    write::ensure_destinations_free(&workspace.paths, writes).map_err(ProjectError::from)?;
    let prepared = prepare(workspace, head, writes)?;
    crash_points::point("ops.prepared");
    workspace.wait_for_index();

    let mut progress = Progress::default();
    let published = match progress.publish(workspace, lock, &prepared, writes) {
        Ok(published) => published,
        Err(error) => {
            let rollback = progress.roll_back(lock, writes, aim);
            return Err(Box::new(FailedWrite { error, rollback }));
        }
    };
    crash_points::point("ops.committed");
    if let Some(fault) = published.not_synced {
        // The record is kept: after a power cut, the next command needs it.
        return Err(ProjectError::from(StoreError::from(fault)).into());
    }
    let removed = write::remove_moved(lock, writes);
    crash_points::point("ops.settled");
    if let Err(fault) = removed.and_then(|()| journal::clear(lock)) {
        // The commit counts, so the operation has not failed. The record stays, and the next command cleans up.
        warn!("the commit is made, but cleaning up after it failed: {fault}");
    }
    let took = start.elapsed();
    workspace.record_commit_time(took);
    let commits = last_of_each(&prepared, writes);
    for (write, commit) in writes.iter().zip(&commits) {
        let task = write.id.as_ref().map(TaskId::as_str);
        info!(taskId = task, %commit, path = write.to.as_str(), seconds = took.as_secs_f64(), "committed");
    }
    Ok(commits)
}

impl Progress {
    /// Writes the journal, then the files, and moves the branch.
    fn publish(
        &mut self,
        workspace: &Workspace,
        lock: &WriterLock,
        prepared: &Prepared,
        writes: &[Write],
    ) -> Result<Published, ProjectError> {
        let publication = workspace.repository.begin(prepared, workspace.deadline())?;
        let record = self.record.insert(JournalRecord {
            pid: std::process::id(),
            boot: boot(),
            aim: RecoveryAim::Finish,
            writes: writes.iter().map(Write::intended).collect(),
            locks: serde_json::to_value(publication.locks()).ok(),
        });
        let recorded = journal::write(lock, record)?;
        crash_points::point("ops.intent-written");
        let mut staged = write::stage(lock, writes)?;
        let mut unsynced = write::unsynced(&mut staged);
        unsynced.extend(recorded.unsynced(lock)?);
        let locked = publication.lock_index(unsynced)?;
        let folders = self.placed.put(lock, writes, &mut staged)?;
        Ok(locked.finish(folders)?)
    }

    /// Rolls the files back. Returns the failure, if any.
    fn roll_back(
        self,
        lock: &WriterLock,
        writes: &[Write],
        aim: RecoveryAim,
    ) -> Option<FailedRollback> {
        // The journal is marked first: recovery must not finish a change that was reported as failed.
        let record = self.record.filter(|_| aim == RecoveryAim::Undo && !self.placed.is_empty());
        let noted = record.and_then(|record| journal::note_undo(lock, &record).ok());
        let fault = self.placed.put_back(lock, writes).err()?;
        // The next command finds the mark even if this sync fails; only a power cut could lose it.
        let noted = noted.map(|written| drop(written.sync(lock))).is_some();
        Some(FailedRollback { fault, noted })
    }
}

/// Writes the commits as objects on top of HEAD. No branch moves.
pub(crate) fn prepare(
    workspace: &Workspace,
    head: &Head,
    writes: &[Write],
) -> Result<Prepared, ProjectError> {
    Ok(workspace.repository.prepare_batch(head, &drafts(workspace, writes)?)?)
}

/// Returns the drafts of the commits of these writes, oldest first.
pub(crate) fn drafts(
    workspace: &Workspace,
    writes: &[Write],
) -> Result<Vec<CommitDraft>, ProjectError> {
    refuse_secrets(workspace, writes)?;
    let repository = &workspace.repository;
    let committer = repository.identity()?;
    let by_user = writes.iter().any(Write::is_by_user);
    let user = if by_user { repository.author_identity()? } else { committer.clone() };
    let now = workspace.now();
    let drafts = writes.iter().flat_map(|write| write.drafts(&user, &committer, now));
    let author = if workspace.agents_commit { repository.author_identity().ok() } else { None };
    Ok(match author {
        // The agent's own changes. Git's user commits the changes that a person, or the rules, made meanwhile.
        Some(author) => drafts
            .map(|draft| {
                if draft.author == author {
                    draft
                } else {
                    CommitDraft { committer: draft.author.clone(), ..draft }
                }
            })
            .collect(),
        None => drafts.collect(),
    })
}

/// The variable that shows an agent's programs that a runner started them.
const RUN: &str = "AOF_RUN";

/// Returns the secrets of this process: those that the rules name, and in an agent that a runner started, values that look like one.
pub(crate) fn secrets_of(rules: &Rules) -> Secrets {
    let agents = rules.org.agents.iter().flatten();
    let named = agents.filter_map(|(_, agent)| agent.run.as_ref()).flat_map(|run| &run.secrets);
    let named: HashSet<&str> = named.map(String::as_str).collect();
    let is_run = env::var_os(RUN).is_some();
    if named.is_empty() && !is_run {
        return Secrets::default();
    }
    Secrets::of_environment(&[], |name| named.contains(name) || is_run && is_secret_name(name))
}

/// Fails if an agent that a runner started would commit one of its secrets. Completions are masked before; other texts are the
/// agent's own.
fn refuse_secrets(workspace: &Workspace, writes: &[Write]) -> Result<(), ProjectError> {
    if env::var_os(RUN).is_none() {
        return Ok(());
    }
    let secrets = secrets_of(&workspace.rules()?.rules);
    let has_secret = |bytes: &[u8]| !secrets.is_empty() && secrets.masked(bytes) != bytes;
    for write in writes {
        // Another author may have committed it before.
        if write.from.as_ref().is_some_and(|(_, before)| has_secret(before)) {
            continue;
        }
        if let Some(version) = write
            .versions
            .iter()
            .find(|version| has_secret(&version.bytes) || has_secret(version.message.as_bytes()))
        {
            let masked = secrets.masked_text(&String::from_utf8_lossy(&version.bytes));
            let name = masked.split_once("[secret ").and_then(|(_, rest)| rest.split_once(']'));
            let name = name.map_or("a secret variable", |(name, _)| name);
            return Err(ProjectError::Unfit {
                code: "secret_in_text",
                problem: format!(
                    "the text has the value of `{name}`, which would be in git for ever"
                ),
                fix: "leave it out, and say it again".into(),
            });
        }
    }
    Ok(())
}

/// Returns the last commit of each write.
pub(crate) fn last_of_each(prepared: &Prepared, writes: &[Write]) -> Vec<CommitId> {
    let commits: Vec<CommitId> = prepared.commits().collect();
    let mut made = 0;
    let last = |write: &Write| {
        made += write.commit_count();
        commits[made - 1]
    };
    writes.iter().map(last).collect()
}
