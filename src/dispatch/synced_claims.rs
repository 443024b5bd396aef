//! Claims in a project that is synced count once the remote has them, so that no two machines hold one task. The push decides: of
//! two claims the one that was pushed first stands, and whoever comes second learns it before anything is done.
//!
//! A claim that cannot be confirmed is given back, and nobody is told that it was theirs.

use super::workplaces::{Opening, openings};
use crate::domain::{AgentId, Ticket};
use crate::git::{CommitId, GitError, Prompts, Upstream};
use crate::history::sync::outcome::{SyncEnd, Synced};
use crate::history::sync::sync_loop::{ForeignCommits, SyncOptions, SyncStart, sync};
use crate::project::active_rules::{InForce, in_force};
use crate::project::error::ProjectError;
use crate::project::workspace::{Network, Workspace};
use crate::rules::{Refusal, RefusalKind};
use crate::storage::StoreError;
use crate::tasks::actions::release;
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::state::task_state::committed_task;

/// Returns whether claims count once the remote has them, under these rules, in this run.
pub(crate) fn is_shared(workspace: &Workspace, in_force: &InForce) -> bool {
    workspace.network == Network::Used && in_force.rules.project.git.sync
}

/// Returns the same for a claim under the rules of now.
pub(crate) fn is_shared_now(workspace: &Workspace, dry_run: DryRun) -> Result<bool, ProjectError> {
    if dry_run == DryRun::Yes {
        return Ok(false);
    }
    Ok(is_shared(workspace, &in_force(workspace, &workspace.repository.look()?)?))
}

/// Syncs before something is claimed. Fails where no claim could be confirmed.
pub(crate) fn sync_first(workspace: &Workspace) -> Result<(), ProjectError> {
    ensure_synced(&sync(workspace, &options(SyncStart::Fetch))?, "claimed")
}

/// Has a claim confirmed by the remote; gives back what it would not take.
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

/// Has a claim confirmed by the remote; `give_back` is for what it would not take.
pub(crate) fn confirm_or(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: &AgentId,
    changed: &Changed,
    give_back: &dyn Fn() -> Result<Changed, ProjectError>,
) -> Result<(), ProjectError> {
    if changed.commit.is_none() && is_known_there(workspace, changed)? {
        return Ok(());
    }
    let visit = changed.after.task.gate.as_ref().map(|open| open.visit);
    let lost = || ProjectError::ClaimLost { ticket: ticket.clone() };
    let confirmed = sync(workspace, &options(SyncStart::Push)).and_then(|synced| {
        ensure_synced(&synced, "claimed")?;
        Ok(synced.merge)
    });
    match confirmed {
        Ok(merge) => {
            let head = workspace.repository.look()?.commit;
            // Who claims under the same name elsewhere, and was first, is somebody else.
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

/// Returns why something could not be confirmed; or that it could not be given back either.
fn give_back_error(
    ticket: &Ticket,
    agent: &AgentId,
    error: ProjectError,
    given_back: Result<Changed, ProjectError>,
) -> ProjectError {
    match given_back {
        Ok(_) => error,
        // It is not the agent's any more.
        Err(other) if is_of_the_task(&other) || matches!(other, ProjectError::Refused(_)) => error,
        Err(other) => ProjectError::NotConfirmed {
            code: error.code(),
            problem: format!("{error}; and `{ticket}` could not be given back: {other}"),
            fix: format!(
                "`{agent}` has it here, and nowhere else: `aof task release {ticket} --agent {agent}`"
            ),
        },
    }
}

/// Returns what a claim met on its way to the remote, whoever brought it there: what the remote had when they were merged. Nothing
/// where it had nothing new.
fn remote_before_merge(
    workspace: &Workspace,
    claim: CommitId,
    head: CommitId,
) -> Result<Option<CommitId>, ProjectError> {
    let mut at = head;
    while at != claim {
        let Some(before) = first_parent(workspace, Some(at))? else { return Ok(None) };
        if !workspace.repository.led_to(claim, before)? {
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

fn options(first: SyncStart) -> SyncOptions<'static> {
    SyncOptions {
        remote: None,
        prompts: Prompts::AtTerminal,
        first,
        strangers: ForeignCommits::Kept,
        dry_run: DryRun::No,
    }
}

/// Returns an error where the remote does not have what is here. `what` is what was to be done: `claimed` or `handed out`.
pub(crate) fn ensure_synced(synced: &Synced, what: &str) -> Result<(), ProjectError> {
    unconfirmed(&synced.upstream, &synced.end, synced.rounds, what).map_or(Ok(()), Err)
}

/// Returns why the remote confirms nothing, if it does not.
pub(crate) fn unconfirmed(
    upstream: &Upstream,
    end: &SyncEnd,
    rounds: u32,
    what: &str,
) -> Option<ProjectError> {
    let upstream = upstream.name();
    let (code, problem, fix) = match end {
        SyncEnd::Same | SyncEnd::Rehearsed => return None,
        SyncEnd::Offline { said } => (
            "offline",
            format!("nothing can be {what}, because `{upstream}` cannot be reached: {said}"),
            "a claim counts once the remote has it (`git.sync` in project.yaml); try again with a network, or take the risk that \
             somebody else does the same work with `--offline`",
        ),
        SyncEnd::Rejected { said } => (
            "rejected",
            format!("nothing can be {what}, because `{upstream}` would not take it: {said}"),
            "see what it wants, then `aof sync`",
        ),
        SyncEnd::Unsettled => (
            "unsettled",
            format!("nothing was {what}: `{upstream}` went on each of {rounds} times"),
            "try again",
        ),
        SyncEnd::Manual(left) => (
            left.code,
            format!("nothing can be {what} before this clone is synced: {}", left.problem),
            left.fix.as_str(),
        ),
    };
    Some(ProjectError::NotConfirmed { code, problem, fix: fix.to_owned() })
}

/// Returns whether the remote, as it was seen last, has the very same file.
fn is_known_there(workspace: &Workspace, changed: &Changed) -> Result<bool, ProjectError> {
    let repository = &workspace.repository;
    let head = workspace.head()?;
    let named = workspace.rules()?.rules.project.git.remote.as_ref().map(ToString::to_string);
    let Ok(upstream) = repository.upstream(&head, named.as_deref())? else { return Ok(false) };
    let (Some(here), Some(there)) = (head.commit, repository.remembered(&upstream)?) else {
        return Ok(false);
    };
    let blob = |commit| repository.blob_id(commit, changed.path.as_str());
    Ok(blob(here)?.is_some() && blob(here)? == blob(there)?)
}

/// Returns whether the agent has that visit as a commit has the task.
fn holds(
    workspace: &Workspace,
    commit: Option<CommitId>,
    ticket: &Ticket,
    visit: Option<usize>,
    agent: &AgentId,
) -> Result<bool, ProjectError> {
    let Some(commit) = commit else { return Ok(false) };
    let in_force = in_force(workspace, &workspace.repository.look()?)?;
    let Some(file) = committed_task(workspace, &in_force, commit, &ticket.task)? else {
        return Ok(false);
    };
    let same_visit = file.task.gate.as_ref().map(|open| open.visit) == visit;
    let is_meant =
        |place: &Opening| ticket.branch.is_none() || place.ticket.branch == ticket.branch;
    let mut open = openings(&in_force.rules, &file.task).into_iter();
    Ok(same_visit && open.any(|place| is_meant(&place) && place.holder.as_ref() == Some(agent)))
}

/// Returns whether another task may still be claimed after this error.
pub(crate) fn is_of_the_task(error: &ProjectError) -> bool {
    match error {
        ProjectError::Refused(refusal) => is_refusal_of_the_task(refusal),
        ProjectError::Frozen { .. }
        | ProjectError::UnreadableTask { .. }
        | ProjectError::NoTask { .. }
        | ProjectError::Splice { .. }
        | ProjectError::Restless { .. }
        | ProjectError::ClaimLost { .. }
        | ProjectError::Store(
            StoreError::Gone { .. }
            | StoreError::TaskDoubled { .. }
            | StoreError::WrongKind { .. }
            | StoreError::TooLarge { .. },
        )
        | ProjectError::Git(
            GitError::StagedElsewise { .. }
            | GitError::Unmerged { .. }
            | GitError::IntentToAdd { .. }
            | GitError::Converted { .. },
        ) => true,
        _ => false,
    }
}

fn is_refusal_of_the_task(refusal: &Refusal) -> bool {
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
