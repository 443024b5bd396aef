//! Claims and assignments of one task, or of a branch of it.
//!
//! In a synced project a claim counts once the remote has it, so that no two machines hold one task. The push decides: of two
//! claims, the one that was pushed first counts. A claim that the remote does not confirm is released, and never reported as made.

use super::workplaces::{Opening, openings};
use crate::domain::{AgentId, Remedy, Ticket, advice};
use crate::git::{CommitId, GitError, Prompts, Upstream};
use crate::history::sync::outcome::{SyncEnd, SyncResult};
use crate::history::sync::sync_loop::{ForeignCommits, SyncOptions, SyncStart, sync};
use crate::project::active_rules::{InForce, in_force};
use crate::project::error::ProjectError;
use crate::project::workspace::{Network, Workspace};
use crate::rules::{Refusal, RefusalKind};
use crate::storage::StoreError;
use crate::tasks::actions::{assign as assign_here, decide_claim, release};
use crate::tasks::apply::change;
use crate::tasks::other_worktrees::{ensure_free_elsewhere, lock_claims};
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::state::task_state::{TaskState, committed_task};

/// Claims the task for an agent that accepts any task. Returns `None` if this task cannot be claimed. Fails with
/// [`ProjectError::Contended`] if the branch has moved from `seen`, and with [`ProjectError::TakenElsewhere`] if another worktree
/// has the task.
pub(crate) fn try_claim(
    workspace: &Workspace,
    seen: Option<CommitId>,
    ticket: &Ticket,
    agent: &AgentId,
    dry_run: DryRun,
) -> Result<Option<Box<Changed>>, ProjectError> {
    let mut moved = false;
    let elsewhere = lock_claims(workspace, dry_run)?;
    let claimed = change(workspace, &ticket.task, dry_run, &mut |state| {
        moved = seen.is_some() && state.head.commit != seen;
        if moved {
            return Err(ProjectError::Contended { id: ticket.task.clone() });
        }
        decide_claim(workspace, state, ticket, agent)
    });
    drop(elsewhere);
    let confirmed = claimed.and_then(|changed| {
        if is_shared_now(workspace, dry_run)? {
            confirm(workspace, ticket, agent, &changed)?;
        }
        Ok(changed)
    });
    match confirmed {
        Ok(changed) => Ok(Some(Box::new(changed))),
        Err(error @ ProjectError::TakenElsewhere { .. }) => Err(error),
        Err(error) if !moved && is_task_error(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Claims the task, or the branch that the ticket names, for the agent.
pub(crate) fn claim(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: &AgentId,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    let is_shared = is_shared_now(workspace, dry_run)?;
    if is_shared {
        sync_first(workspace)?;
    }
    let mut choose = |state: &TaskState| decide_claim(workspace, state, ticket, agent);
    let elsewhere = lock_claims(workspace, dry_run)?;
    let changed = change(workspace, &ticket.task, dry_run, &mut choose)?;
    drop(elsewhere);
    if is_shared {
        confirm(workspace, ticket, agent, &changed)?;
    }
    Ok(changed)
}

/// Assigns the task, or the branch that the ticket names, to an agent, even if another one holds it.
pub(crate) fn assign(
    workspace: &Workspace,
    ticket: &Ticket,
    by: Option<&AgentId>,
    agent: &AgentId,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    let is_shared = is_shared_now(workspace, dry_run)?;
    if is_shared {
        sync_first(workspace)?;
    }
    let elsewhere = lock_claims(workspace, dry_run)?;
    let state = TaskState::read(workspace, &ticket.task)?;
    ensure_free_elsewhere(workspace, &state, ticket.branch.as_ref())?;
    let changed = assign_here(workspace, ticket, by, agent, dry_run)?;
    drop(elsewhere);
    if is_shared {
        confirm_or(workspace, ticket, agent, &changed, &|| {
            let back = match earlier_holder(workspace, &changed)? {
                Some((place, holder)) => assign_here(workspace, &place, by, &holder, dry_run),
                None => release(workspace, ticket, Some(agent), DryRun::No),
            };
            // The rules may no longer permit the earlier holder.
            back.or_else(|_| release(workspace, ticket, Some(agent), DryRun::No))
        })?;
    }
    Ok(changed)
}

/// Releases a claim whose answer reached no one.
pub(crate) fn give_back(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: &AgentId,
) -> Result<(), ProjectError> {
    release(workspace, ticket, Some(agent), DryRun::No)?;
    if is_shared_now(workspace, DryRun::No)? {
        // If the remote cannot be reached, the next sync brings it there.
        let _ = sync(workspace, &sync_options(SyncStart::Push));
    }
    Ok(())
}

/// Returns the ticket whose holder changed, and its earlier holder.
fn earlier_holder(
    workspace: &Workspace,
    changed: &Changed,
) -> Result<Option<(Ticket, AgentId)>, ProjectError> {
    let rules = workspace.rules()?.rules;
    let before =
        changed.before.as_ref().map(|before| openings(&rules, &before.task)).unwrap_or_default();
    let mut places = openings(&rules, &changed.after.task).into_iter().zip(before);
    Ok(places.find_map(|(after, before)| {
        let holder = before.holder.filter(|holder| Some(holder) != after.holder.as_ref())?;
        Some((after.ticket, holder))
    }))
}

/// Returns whether the remote must confirm claims, under these rules and in this run.
pub(crate) fn is_shared(workspace: &Workspace, in_force: &InForce) -> bool {
    workspace.network == Network::Used && in_force.rules.project.git.sync
}

/// Returns whether the remote must confirm a claim that is made now.
pub(crate) fn is_shared_now(workspace: &Workspace, dry_run: DryRun) -> Result<bool, ProjectError> {
    if dry_run == DryRun::Yes {
        return Ok(false);
    }
    Ok(is_shared(workspace, &in_force(workspace, &workspace.repository.head_for_reading()?)?))
}

/// Syncs before a task is claimed. Fails if no claim could be confirmed.
pub(crate) fn sync_first(workspace: &Workspace) -> Result<(), ProjectError> {
    ensure_synced(&sync(workspace, &sync_options(SyncStart::Fetch))?, "claimed")
}

/// Asks the remote to confirm a claim, and releases it if the remote does not.
pub(crate) fn confirm(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: &AgentId,
    changed: &Changed,
) -> Result<(), ProjectError> {
    confirm_or(workspace, ticket, agent, changed, &|| {
        release(workspace, ticket, Some(agent), DryRun::No)
    })
}

/// Asks the remote to confirm a claim. Calls `give_back` if the remote does not.
pub(crate) fn confirm_or(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: &AgentId,
    changed: &Changed,
    give_back: &dyn Fn() -> Result<Changed, ProjectError>,
) -> Result<(), ProjectError> {
    if changed.commit.is_none() && remote_has_file(workspace, changed)? {
        return Ok(());
    }
    let visit = changed.after.task.gate.as_ref().map(|open| open.visit);
    let lost = || ProjectError::ClaimLost { ticket: ticket.clone() };
    let confirmed = sync(workspace, &sync_options(SyncStart::Push)).and_then(|synced| {
        ensure_synced(&synced, "claimed")?;
        Ok(synced.merge)
    });
    match confirmed {
        Ok(merge) => {
            let head = workspace.repository.head_for_reading()?.commit;
            // An agent of the same name that was first on another machine is a different one.
            let theirs = match (changed.commit, head) {
                (Some(claim), Some(head)) => remote_before_merge(workspace, claim, head)?,
                _ => first_parent(workspace, merge)?,
            };
            let holds = |commit: Option<CommitId>| holds(workspace, commit, ticket, visit, agent);
            if holds(head)? && !holds(theirs)? { Ok(()) } else { Err(lost()) }
        }
        Err(error) if changed.commit.is_some() => {
            Err(give_back_error(ticket, agent, error, give_back()))
        }
        Err(error) => Err(error),
    }
}

/// Returns the error of the confirmation, or an error that the claim could not be released either.
fn give_back_error(
    ticket: &Ticket,
    agent: &AgentId,
    error: ProjectError,
    given_back: Result<Changed, ProjectError>,
) -> ProjectError {
    match given_back {
        Ok(_) => error,
        // The task is no longer the agent's.
        Err(other) if is_task_error(&other) || matches!(other, ProjectError::Refused(_)) => error,
        Err(other) => ProjectError::NotConfirmed {
            code: error.code(),
            problem: format!("{error}; and `{ticket}` could not be given back: {other}"),
            fix: advice![
                format!("`{agent}` has it here, and nowhere else: "),
                Remedy::Release.on(ticket).given("agent", agent),
            ],
        },
    }
}

/// Returns the commit of the remote that the claim was merged into; `None` if the remote had no new commits.
fn remote_before_merge(
    workspace: &Workspace,
    claim: CommitId,
    head: CommitId,
) -> Result<Option<CommitId>, ProjectError> {
    let mut at = head;
    while at != claim {
        let Some(before) = first_parent(workspace, Some(at))? else { return Ok(None) };
        if !workspace.repository.is_ancestor(claim, before)? {
            return Ok(Some(before));
        }
        at = before;
    }
    Ok(None)
}

fn first_parent(
    workspace: &Workspace,
    commit: Option<CommitId>,
) -> Result<Option<CommitId>, ProjectError> {
    let entry = commit.map(|commit| workspace.repository.log_entry(commit)).transpose()?;
    Ok(entry.and_then(|entry| entry.parents.first().copied()))
}

/// Returns the options of a sync that confirms claims.
pub(crate) fn sync_options(first: SyncStart) -> SyncOptions<'static> {
    SyncOptions {
        remote: None,
        prompts: Prompts::AtTerminal,
        first,
        foreign: ForeignCommits::Kept,
        dry_run: DryRun::No,
    }
}

/// Fails if the remote lacks commits of this clone. `what` is the intended action: `claimed` or `handed out`.
pub(crate) fn ensure_synced(synced: &SyncResult, what: &str) -> Result<(), ProjectError> {
    unconfirmed(&synced.upstream, &synced.end, synced.rounds, what).map_or(Ok(()), Err)
}

/// Returns the reason why the remote confirms nothing; `None` if it confirms.
pub(crate) fn unconfirmed(
    upstream: &Upstream,
    end: &SyncEnd,
    rounds: u32,
    what: &str,
) -> Option<ProjectError> {
    let upstream = upstream.name();
    let (problem, fix) = match end {
        SyncEnd::Same | SyncEnd::Rehearsed => return None,
        SyncEnd::Offline { message } => (
            format!("nothing can be {what}, because `{upstream}` cannot be reached: {message}"),
            "a claim counts once the remote has it (`git.sync` in project.yaml); try again with a network, or take the risk that \
             somebody else does the same work with `--offline`",
        ),
        SyncEnd::Rejected { message, fix } => (
            format!("nothing can be {what}, because `{upstream}` would not take it: {message}"),
            fix.as_deref().unwrap_or("see what it wants, then `aof sync`"),
        ),
        SyncEnd::Unsettled => (
            format!("nothing was {what}: `{upstream}` moved during each of {rounds} tries"),
            "try again",
        ),
        SyncEnd::Manual(left) => (
            format!("nothing can be {what} before this clone is synced: {}", left.problem),
            left.fix.as_str(),
        ),
    };
    Some(ProjectError::NotConfirmed { code: end.code(), problem, fix: fix.into() })
}

/// Returns whether the remote, as it was last seen, has the same file.
fn remote_has_file(workspace: &Workspace, changed: &Changed) -> Result<bool, ProjectError> {
    let repository = &workspace.repository;
    let head = workspace.head()?;
    let named = workspace.rules()?.rules.project.git.remote.as_ref().map(ToString::to_string);
    let Ok(upstream) = repository.upstream(&head, named.as_deref())? else { return Ok(false) };
    let (Some(here), Some(there)) = (head.commit, repository.tracked_commit(&upstream)?) else {
        return Ok(false);
    };
    let blob = |commit| repository.blob_id(commit, changed.path.as_str());
    Ok(blob(here)?.is_some() && blob(here)? == blob(there)?)
}

/// Returns whether the agent holds that visit in a commit.
fn holds(
    workspace: &Workspace,
    commit: Option<CommitId>,
    ticket: &Ticket,
    visit: Option<usize>,
    agent: &AgentId,
) -> Result<bool, ProjectError> {
    let Some(commit) = commit else { return Ok(false) };
    let in_force = in_force(workspace, &workspace.repository.head_for_reading()?)?;
    let Some(file) = committed_task(workspace, &in_force, commit, &ticket.task)? else {
        return Ok(false);
    };
    let same_visit = file.task.gate.as_ref().map(|open| open.visit) == visit;
    let is_meant =
        |place: &Opening| ticket.branch.is_none() || place.ticket.branch == ticket.branch;
    let mut open = openings(&in_force.rules, &file.task).into_iter();
    Ok(same_visit && open.any(|place| is_meant(&place) && place.holder.as_ref() == Some(agent)))
}

/// Returns whether the error concerns only this task, so that another task may still be claimed.
pub(crate) fn is_task_error(error: &ProjectError) -> bool {
    match error {
        ProjectError::Refused(refusal) => is_task_refusal(refusal),
        ProjectError::Frozen { .. }
        | ProjectError::UnreadableTask { .. }
        | ProjectError::NoTask { .. }
        | ProjectError::Splice { .. }
        | ProjectError::Contended { .. }
        | ProjectError::ClaimLost { .. }
        | ProjectError::TakenElsewhere { .. }
        | ProjectError::Store(
            StoreError::Gone { .. }
            | StoreError::TaskDoubled { .. }
            | StoreError::WrongKind { .. }
            | StoreError::TooLarge { .. },
        )
        | ProjectError::Git(
            GitError::StagedDifferently { .. }
            | GitError::Unmerged { .. }
            | GitError::IntentToAdd { .. }
            | GitError::Converted { .. },
        ) => true,
        _ => false,
    }
}

fn is_task_refusal(refusal: &Refusal) -> bool {
    refusal.kind() == RefusalKind::Conflict
        || matches!(
            refusal,
            Refusal::AssignedToAnother { .. }
                | Refusal::HumanRequired { .. }
                | Refusal::WrongRole { .. }
                | Refusal::NotSeparate { .. }
                | Refusal::NobodyWorksHere { .. }
                | Refusal::BranchNeeded { .. }
                | Refusal::NotYourBranch { .. }
                | Refusal::NoSuchBranch { .. }
                | Refusal::BranchesNotOpen { .. }
                | Refusal::Blocked { .. }
                | Refusal::NotAdopted { .. }
                | Refusal::GateGone { .. }
                | Refusal::UnknownWorkflow { .. }
        )
}
