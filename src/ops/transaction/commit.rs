//! Writes of tasks and rules become commits, in one move of the branch, with their files. The caller holds the writer lock, and has
//! looked whether what it read is still so.

use std::cell::RefCell;
use std::time::Instant;

use tracing::{info, warn};

use super::write::Write;
use crate::audit::{CommitId, Draft, Head, Prepared};
use crate::model::TaskId;
use crate::ops::error::OpsError;
use crate::ops::files::{self, Named};
use crate::ops::heal;
use crate::ops::workspace::Workspace;
use crate::process::boot;
use crate::stop;
use crate::store::intent::{self, Intent};
use crate::store::{StoreError, WriterLock};

/// Commits writes of different tasks, each version a commit of its own, in one move of the branch. Returns the last commit of
/// each write.
pub(in crate::ops) fn commit(
    workspace: &Workspace,
    lock: &WriterLock,
    head: &Head,
    writes: &[Write],
) -> Result<Vec<CommitId>, OpsError> {
    let committed = commit_unhealed(workspace, lock, head, writes);
    if let Err(error) = &committed
        && !matches!(error, OpsError::Store(StoreError::NotDurable { .. }))
    {
        // The index may have moved before the branch could not. If that cannot be healed now the record stays, and the next
        // command heals it; what is told is why the commit failed.
        let _ = heal::heal(workspace, lock);
    }
    committed
}

/// The same for whoever heals: what a failure leaves stays on record.
pub(in crate::ops) fn commit_unhealed(
    workspace: &Workspace,
    lock: &WriterLock,
    head: &Head,
    writes: &[Write],
) -> Result<Vec<CommitId>, OpsError> {
    let start = Instant::now();
    files::look_in_the_way(&workspace.paths, writes)?;
    let prepared = prepare(workspace, head, writes)?;
    stop::point("ops.prepared");

    let staged = RefCell::new(Vec::new());
    let mut named = Named::default();
    let failure = RefCell::new(None);
    let published = workspace.repository.publish(
        &prepared,
        workspace.deadline(),
        &mut |locks| {
            let intended = writes.iter().map(Write::intended).collect();
            let locks = serde_json::to_value(locks).ok();
            let record = Intent { pid: std::process::id(), boot: boot(), writes: intended, locks };
            let written = intent::write(lock, &record).map_err(std::io::Error::other)?;
            stop::point("ops.intent-written");
            let waiting = files::stage(lock, writes).and_then(|files| {
                let mut staged = staged.borrow_mut();
                *staged = files;
                let mut waiting = files::unsynced(&mut staged)?;
                waiting.extend(written.unsynced(lock)?);
                Ok(waiting)
            });
            waiting.map_err(|error| {
                let told = std::io::Error::other(error.to_string());
                failure.replace(Some(error));
                told
            })
        },
        &mut || named.put(lock, writes, &mut staged.borrow_mut()).map_err(|error| failure.replace(Some(error))).ok(),
    );
    let published = match published {
        Ok(published) => published,
        Err(error) => {
            named.put_back(lock, writes)?;
            return Err(failure.into_inner().map_or_else(|| error.into(), OpsError::from));
        }
    };
    stop::point("ops.committed");
    if let Some(fault) = published.not_synced {
        // The record stays: it is what the next command goes by if a power cut takes some of it back.
        return Err(StoreError::from(fault).into());
    }
    let settled = files::settle(lock, writes);
    stop::point("ops.settled");
    if let Err(fault) = settled.and_then(|()| intent::clear(lock)) {
        // The commit stands, so this is no failure of the act. The record stays, and the next command goes on from there.
        warn!("the commit is made, and not all is cleared away behind it: {fault}");
    }
    let took = start.elapsed();
    workspace.note_commit(took);
    let commits = last_of_each(&prepared, writes);
    for (write, commit) in writes.iter().zip(&commits) {
        let task = write.id.as_ref().map(TaskId::as_str);
        info!(taskId = task, %commit, path = write.to.as_str(), seconds = took.as_secs_f64(), "committed");
    }
    Ok(commits)
}

/// Writes the commits of these writes on top of the branch, on no branch yet.
pub(in crate::ops) fn prepare(workspace: &Workspace, head: &Head, writes: &[Write]) -> Result<Prepared, OpsError> {
    Ok(workspace.repository.prepare_batch(head, &drafts(workspace, writes)?)?)
}

/// Returns the commits that these writes are to become, oldest first.
pub(super) fn drafts(workspace: &Workspace, writes: &[Write]) -> Result<Vec<Draft>, OpsError> {
    let committer = workspace.repository.identity()?;
    let by_user = writes.iter().any(Write::is_by_user);
    let user = if by_user { workspace.repository.author_identity()? } else { committer.clone() };
    let now = workspace.now();
    Ok(writes.iter().flat_map(|write| write.drafts(&user, &committer, now)).collect())
}

/// Returns the last commit of each write.
pub(in crate::ops) fn last_of_each(prepared: &Prepared, writes: &[Write]) -> Vec<CommitId> {
    let commits: Vec<CommitId> = prepared.commits().collect();
    let mut made = 0;
    let last = |write: &Write| {
        made += write.commits();
        commits[made - 1]
    };
    writes.iter().map(last).collect()
}
