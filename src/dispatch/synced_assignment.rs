//! Hands out work in a synced project: claims count once the remote has them, so that no two machines give away one task.
//!
//! ```text
//!   sync       the branch is at the remote's commit
//!   decide     the assignments, at that commit
//!   prepare    the commits, on no branch yet                             kill: unreferenced objects
//!   push       accepted only if no other push was first; otherwise start again, nothing needs to be undone
//!   bring      branch, index and worktree follow, as in any sync         kill: this clone is behind the remote
//! ```
//! Until the push nothing is visible here. No lock is held during the request to the remote.

use std::collections::HashSet;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tracing::info;

use super::claim::{ensure_synced, is_shared, sync_options, unconfirmed};
use super::hand_out::{HandOutResult, Want, choose_for, find_wants, hands_out, next_batch};
use crate::domain::TaskId;
use crate::git::{Head, Prepared, Prompts, Pushed, RemoteError, SYNCED, Upstream};
use crate::history::sync::outcome::{SyncEnd, SyncResult};
use crate::history::sync::sync_loop::{ROUNDS, SyncOptions, SyncStart, pause, sync};
use crate::project::active_rules::{InForce, in_force};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::lock::sync_turn;
use crate::tasks::apply::carry_out_together;
use crate::tasks::plan::{Changed, Choice, Plan, plan};
use crate::tasks::publish::{last_of_each, prepare};
use crate::tasks::recovery::recover::{FastForwardOutcome, fast_forward, recover_if_pending};
use crate::tasks::state::task_state::Pending;
use crate::tasks::write::Write;

/// The results of a sync with handing out.
#[derive(Default)]
pub(crate) struct SyncedHandOut {
    /// The syncs that were needed, in order: at least one, unless the project could not be synced.
    pub synced: Vec<SyncResult>,
    pub handed_out: HandOutResult,
}

/// Syncs the project, and hands out waiting work if its rules require that. Returns an error together with the results so
/// far.
pub(crate) fn sync_and_hand_out(
    workspace: &mut Workspace,
    wait: Duration,
    prompts: Prompts,
) -> SyncedHandOut {
    let (synced, done) = (Vec::new(), HandOutResult::default());
    let mut offers = Offers { prompts, passed_over: HashSet::new(), synced, done };
    if let Err(error) = offers.run(workspace, wait) {
        offers.done.unconfirmed = Some(error);
    }
    SyncedHandOut { synced: offers.synced, handed_out: offers.done }
}

/// Claims that are offered to the remote.
struct Offers {
    prompts: Prompts,
    passed_over: HashSet<TaskId>,
    synced: Vec<SyncResult>,
    done: HandOutResult,
}

/// The outcome of an offer.
#[derive(PartialEq, Eq)]
enum OfferOutcome {
    /// Nothing is left to give, or the remote refuses.
    Done,
    /// The remote and this clone have the claims.
    Given,
    /// The remote or this clone has new commits: a sync is needed first.
    Behind,
}

/// A claim whose commit is prepared.
struct OfferedClaim {
    want: Want,
    changed: Changed,
}

impl Offers {
    /// Syncs and gives, until nothing is left to give.
    fn run(&mut self, workspace: &mut Workspace, wait: Duration) -> Result<(), ProjectError> {
        for round in 0..ROUNDS {
            workspace.restart_wait(wait);
            let options = SyncOptions { prompts: self.prompts, ..sync_options(SyncStart::Fetch) };
            let synced = sync(workspace, &options)?;
            let is_in_step = synced.end == SyncEnd::Same;
            self.done.unconfirmed = ensure_synced(&synced, "handed out").err();
            let upstream = synced.upstream.clone();
            self.synced.push(synced);
            if !is_in_step || self.give(workspace, wait, &upstream)? == OfferOutcome::Done {
                break;
            }
            // This is reported if it was the last round.
            self.done.unconfirmed = Some(ProjectError::NotConfirmed {
                code: "unsettled",
                problem: format!(
                    "nothing more can be handed out: `{}` moved during each of {ROUNDS} tries",
                    upstream.name()
                ),
                fix: "try again".into(),
            });
            pause(round);
        }
        Ok(())
    }

    /// Gives as long as work is left, and the remote accepts it.
    fn give(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        upstream: &Upstream,
    ) -> Result<OfferOutcome, ProjectError> {
        let _turn = sync_turn(&workspace.paths, Instant::now() + wait)?;
        loop {
            workspace.restart_wait(wait);
            recover_if_pending(workspace)?;
            let head = workspace.head()?;
            let in_force = Rc::new(in_force(workspace, &head)?);
            self.done.hands_out = hands_out(&in_force.rules);
            if !self.done.hands_out || !is_shared(workspace, &in_force) {
                return Ok(OfferOutcome::Done);
            }
            if head.commit != workspace.repository.tracked_commit(upstream)? {
                return Ok(OfferOutcome::Behind);
            }
            let (mut wants, left) = find_wants(workspace, &in_force, &self.passed_over);
            self.done.left = left;
            wants.retain(|want| matches!(want, Want::Give(..)));
            if wants.is_empty() {
                return Ok(OfferOutcome::Done);
            }
            let batch = next_batch(&mut wants, |want| want.task().clone());
            match self.offer(workspace, &head, &in_force, upstream, batch)? {
                OfferOutcome::Given => {}
                other => return Ok(other),
            }
        }
    }

    /// Offers the claims of a batch to the remote.
    fn offer(
        &mut self,
        workspace: &Workspace,
        head: &Head,
        in_force: &Rc<InForce>,
        upstream: &Upstream,
        batch: Vec<Want>,
    ) -> Result<OfferOutcome, ProjectError> {
        let (mut claims, mut writes, mut edited) = (Vec::new(), Vec::new(), Vec::new());
        for want in batch {
            let planned =
                choose_for(workspace, head, in_force, &want).and_then(|(state, choice)| {
                    let plan = plan(workspace, &state, choice)?;
                    Ok((state, plan))
                });
            match planned {
                // A person's edit is committed and pushed as theirs before anything is offered.
                Ok((state, _)) if matches!(state.pending, Pending::Versions(_)) => {
                    edited.push((state, Choice::Pending));
                }
                Ok((_, Plan { changed, write: Some(write) })) => {
                    claims.push(OfferedClaim { want, changed });
                    writes.push(write);
                }
                // Another agent has it already.
                Ok(_) => drop(self.passed_over.insert(want.task().clone())),
                Err(error) => self.done.pass_over(&want, error, &mut self.passed_over)?,
            }
        }
        if !edited.is_empty() {
            let tasks: Vec<TaskId> = edited.iter().map(|(state, _)| state.id.clone()).collect();
            let results = carry_out_together(workspace, head, edited)?;
            for (task, result) in tasks.into_iter().zip(results) {
                if let Err(error) = result {
                    self.passed_over.insert(task.clone());
                    self.done.failures.push((task, error));
                }
            }
            return Ok(OfferOutcome::Behind);
        }
        let Some(prepared) = self.prepare(workspace, head, &mut claims, &mut writes)? else {
            // Claims that could not be prepared are passed over from now on.
            return Ok(OfferOutcome::Given);
        };
        workspace.repository.make_durable(&prepared)?;
        match workspace.repository.push(upstream, prepared.last(), None, self.prompts)? {
            Ok(Pushed::Done) => {}
            Ok(Pushed::Moved { .. }) => {
                info!(
                    remote = upstream.name(),
                    "the remote has new commits: what is handed out is decided again"
                );
                return Ok(OfferOutcome::Behind);
            }
            Ok(Pushed::Rejected { message, refusal }) => {
                let is_alone = workspace.rules()?.rules.project.git.branch.is_some();
                let end = SyncEnd::rejected(upstream, message, refusal, is_alone);
                return Ok(self.refused(upstream, &end));
            }
            Err(RemoteError::Unreachable { message, .. }) => {
                return Ok(self.refused(upstream, &SyncEnd::Offline { message }));
            }
            Err(error) => return Err(error.into()),
        }
        for (claim, commit) in claims.into_iter().zip(last_of_each(&prepared, &writes)) {
            let changed = Changed { commit: Some(commit), ..claim.changed };
            self.done.note(claim.want, Some(Box::new(changed)));
        }
        let subject = format!("{SYNCED}handed out with {}", upstream.name());
        Ok(match fast_forward(workspace, head, prepared.last(), &subject)? {
            FastForwardOutcome::Done => OfferOutcome::Given,
            // The next sync merges the commits made here meanwhile, or reports the obstacle.
            FastForwardOutcome::Moved | FastForwardOutcome::Blocked(_) => OfferOutcome::Behind,
        })
    }

    /// Writes the commits of the claims that can be written; returns `None` if there are none.
    fn prepare(
        &mut self,
        workspace: &Workspace,
        head: &Head,
        claims: &mut Vec<OfferedClaim>,
        writes: &mut Vec<Write>,
    ) -> Result<Option<Prepared>, ProjectError> {
        if writes.is_empty() {
            return Ok(None);
        }
        match prepare(workspace, head, writes) {
            Ok(prepared) => return Ok(Some(prepared)),
            Err(error) if error.is_general() => return Err(error),
            Err(_) => {}
        }
        for (claim, write) in std::mem::take(claims).into_iter().zip(std::mem::take(writes)) {
            match prepare(workspace, head, std::slice::from_ref(&write)) {
                Ok(_) => {
                    claims.push(claim);
                    writes.push(write);
                }
                Err(error) => self.done.pass_over(&claim.want, error, &mut self.passed_over)?,
            }
        }
        if writes.is_empty() { Ok(None) } else { prepare(workspace, head, writes).map(Some) }
    }

    fn refused(&mut self, upstream: &Upstream, end: &SyncEnd) -> OfferOutcome {
        self.done.unconfirmed = unconfirmed(upstream, end, 1, "handed out");
        OfferOutcome::Done
    }
}
