//! Work that is handed out in a synced project: it counts once the remote has it, so that no two machines give one task.
//!
//! ```text
//!   sync       what others did is known here, and the branch is where the remote's is
//!   decide     who gets what, of that commit
//!   prepare    the commits, on no branch yet                             kill: objects that nobody names
//!   push       the remote takes them only if nobody was faster; else from the start, and nothing is to be undone
//!   bring      branch, index and worktree come along, as by any sync     kill: this clone is behind the remote
//! ```
//! Until then nobody here sees that anything was given. No lock is held while the remote is spoken to.

use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

use tracing::info;

use super::hand_out::{HandedOut, Want, chosen_for, first_of_each, hands_out, wanted};
use super::synced_claims::{ClaimMode, What, settled};
use crate::domain::TaskId;
use crate::git::{Head, Prepared, Prompts, Pushed, RemoteError, SYNCED, Upstream};
use crate::history::sync::outcome::{SyncEnd, Synced};
use crate::history::sync::sync_loop::{
    ForeignCommits, ROUNDS, SyncOptions, SyncStart, pause, sync,
};
use crate::project::active_rules::{InForce, in_force};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::tasks::apply::carry_out_together;
use crate::tasks::plan::{Changed, Choice, DryRun, plan};
use crate::tasks::publish::{last_of_each, prepare};
use crate::tasks::recovery::recover::{BringOutcome, bring, heal_if_pending};
use crate::tasks::state::task_state::Pending;
use crate::tasks::write::Write;

/// What came of a sync with handing out.
#[derive(Default)]
pub(crate) struct Errand {
    /// The syncs that it took, the first of them first: at least one, unless it could not be synced.
    pub synced: Vec<Synced>,
    /// What was given.
    pub handed_out: HandedOut,
}

/// Syncs the project, and hands out what waits, where it is handed out in a synced project. What keeps it from going on is told beside
/// what was done: that is so whatever comes after it.
pub(crate) fn sync_and_hand_out(
    workspace: &mut Workspace,
    wait: Duration,
    prompts: Prompts,
) -> Errand {
    let mut errand = Errand::default();
    let mut giving = Giving { prompts, passed_over: HashSet::new(), done: HandedOut::default() };
    let ended = giving.run(workspace, wait, &mut errand.synced);
    errand.handed_out = giving.done;
    if let Err(error) = ended {
        errand.handed_out.unconfirmed = Some(error);
    }
    errand
}

/// Handing out under way.
struct Giving {
    prompts: Prompts,
    passed_over: HashSet<TaskId>,
    done: HandedOut,
}

/// What a try came to.
#[derive(PartialEq, Eq)]
enum OfferOutcome {
    /// There is nothing more to give, or the remote takes nothing.
    Over,
    /// The remote has it, and so has this clone.
    Given,
    /// Here or there is more by now than was known: it has to be synced first.
    Behind,
}

/// A commit to be, and what for.
struct OfferedClaim {
    want: Want,
    changed: Changed,
}

impl Giving {
    /// Syncs and gives, until there is nothing more to give.
    fn run(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        syncs: &mut Vec<Synced>,
    ) -> Result<(), ProjectError> {
        for round in 0..ROUNDS {
            workspace.restart_wait(wait);
            let (first, strangers, prompts) =
                (SyncStart::Fetch, ForeignCommits::Kept, self.prompts);
            let synced = sync(
                workspace,
                &SyncOptions { remote: None, first, strangers, prompts, dry_run: DryRun::No },
            )?;
            let is_in_step = synced.end == SyncEnd::Same;
            self.done.unconfirmed = settled(&synced, What::HandedOut).err();
            let upstream = synced.upstream.clone();
            syncs.push(synced);
            if !is_in_step || self.give(workspace, wait, &upstream)? == OfferOutcome::Over {
                break;
            }
            // Should this have been the last round, that is what is told.
            self.done.unconfirmed = Some(ProjectError::NotConfirmed {
                code: "unsettled",
                problem: format!(
                    "nothing more can be handed out: `{}` went on each of {ROUNDS} times",
                    upstream.name()
                ),
                fix: "try again".to_owned(),
            });
            pause(round);
        }
        Ok(())
    }

    /// Gives as long as there is something, and the remote takes it.
    fn give(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        upstream: &Upstream,
    ) -> Result<OfferOutcome, ProjectError> {
        loop {
            workspace.restart_wait(wait);
            heal_if_pending(workspace)?;
            let head = workspace.head()?;
            let in_force = Rc::new(in_force(workspace, &head)?);
            self.done.hands_out = hands_out(&in_force.rules);
            if !self.done.hands_out || ClaimMode::of(workspace, &in_force) != ClaimMode::Shared {
                return Ok(OfferOutcome::Over);
            }
            if head.commit != workspace.repository.remembered(upstream)? {
                return Ok(OfferOutcome::Behind);
            }
            let (wants, left) = wanted(workspace, &in_force, &self.passed_over);
            self.done.left = left;
            let mut gifts: Vec<Want> =
                wants.into_iter().filter(|want| matches!(want, Want::Give(..))).collect();
            if gifts.is_empty() {
                return Ok(OfferOutcome::Over);
            }
            match self.offer(workspace, &head, &in_force, upstream, first_of_each(&mut gifts))? {
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
        let (mut gifts, mut writes, mut edited) = (Vec::new(), Vec::new(), Vec::new());
        for want in batch {
            let chosen =
                chosen_for(workspace, head, in_force, &want).and_then(|(standing, choice)| {
                    let plan = plan(workspace, &standing, choice)?;
                    Ok((standing, plan))
                });
            match chosen {
                // What a person did with the file is theirs, and is sent as that before anything is offered.
                Ok((standing, _)) if matches!(standing.pending, Pending::Versions(_)) => {
                    edited.push((standing, Choice::Pending));
                }
                Ok((_, plan)) => match plan.write {
                    Some(write) => {
                        gifts.push(OfferedClaim { want, changed: plan.changed });
                        writes.push(write);
                    }
                    // Somebody has it already.
                    None => drop(self.passed_over.insert(want.task().clone())),
                },
                Err(error) => self.done.pass_over(&want, error, &mut self.passed_over)?,
            }
        }
        if !edited.is_empty() {
            let tasks: Vec<TaskId> =
                edited.iter().map(|(standing, _)| standing.id.clone()).collect();
            for (task, result) in
                tasks.into_iter().zip(carry_out_together(workspace, head, edited)?)
            {
                if let Err(error) = result {
                    self.passed_over.insert(task.clone());
                    self.done.troubled.push((task, error));
                }
            }
            return Ok(OfferOutcome::Behind);
        }
        let Some(prepared) = self.prepared(workspace, head, &mut gifts, &mut writes)? else {
            // What could not be prepared is passed over from here on.
            return Ok(OfferOutcome::Given);
        };
        workspace.repository.keep(&prepared)?;
        match workspace.repository.push(upstream, prepared.last(), self.prompts)? {
            Ok(Pushed::Done) => {}
            Ok(Pushed::Moved { .. }) => {
                info!(
                    remote = upstream.name(),
                    "somebody was faster: what was to be handed out is decided anew"
                );
                return Ok(OfferOutcome::Behind);
            }
            Ok(Pushed::Rejected { said }) => {
                return Ok(self.refused(upstream, SyncEnd::Rejected { said }));
            }
            Err(RemoteError::Unreachable { said, .. }) => {
                return Ok(self.refused(upstream, SyncEnd::Offline { said }));
            }
            Err(error) => return Err(error.into()),
        }
        for (gift, commit) in gifts.into_iter().zip(last_of_each(&prepared, &writes)) {
            let changed = Changed { commit: Some(commit), ..gift.changed };
            self.done.note(gift.want, Some(Box::new(changed)));
        }
        let subject = format!("{SYNCED}handed out with {}", upstream.name());
        Ok(match bring(workspace, head, prepared.last(), &subject)? {
            BringOutcome::There => OfferOutcome::Given,
            // The next sync joins what was committed here meanwhile, or tells what is in the way.
            BringOutcome::Moved | BringOutcome::Blocked(_) => OfferOutcome::Behind,
        })
    }

    /// Writes the commits; nothing where none of them can be. One that cannot keeps none of the others back.
    fn prepared(
        &mut self,
        workspace: &Workspace,
        head: &Head,
        gifts: &mut Vec<OfferedClaim>,
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
        let all = std::mem::take(gifts).into_iter().zip(std::mem::take(writes));
        for (gift, write) in all {
            match prepare(workspace, head, std::slice::from_ref(&write)) {
                Ok(_) => {
                    gifts.push(gift);
                    writes.push(write);
                }
                Err(error) => self.done.pass_over(&gift.want, error, &mut self.passed_over)?,
            }
        }
        if writes.is_empty() { Ok(None) } else { prepare(workspace, head, writes).map(Some) }
    }

    fn refused(&mut self, upstream: &Upstream, end: SyncEnd) -> OfferOutcome {
        let nothing = Synced {
            upstream: upstream.clone(),
            came: Vec::new(),
            went: Vec::new(),
            merge: None,
            superseded: Vec::new(),
            rounds: 1,
            ahead: 0,
            behind: 0,
            end,
        };
        self.done.unconfirmed = settled(&nothing, What::HandedOut).err();
        OfferOutcome::Over
    }
}
