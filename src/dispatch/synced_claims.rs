//! Claims in a project that is synced count once the remote has them, so that no two machines hold one task. The push decides: of
//! two claims the one that was pushed first stands, and whoever comes second learns it before anything is done.
//!
//! A claim that cannot be confirmed is given back, and nobody is told that it was theirs.

use super::workplaces::openings;
use crate::domain::{AgentId, Ticket};
use crate::files::task_file;
use crate::git::{CommitId, GitError, Prompts};
use crate::history::sync::outcome::{SyncEnd, Synced};
use crate::history::sync::sync_loop::{ForeignCommits, SyncOptions, SyncStart, sync};
use crate::project::active_rules::{InForce, in_force};
use crate::project::error::ProjectError;
use crate::project::workspace::{Network, Workspace};
use crate::rules::{Refusal, RefusalKind};
use crate::storage::StoreError;
use crate::tasks::actions::release;
use crate::tasks::plan::{Changed, DryRun};

/// Whether claims of a project are confirmed by its remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClaimMode {
    /// They count once they are committed.
    Local,
    /// They count once the remote has them.
    Shared,
}

impl ClaimMode {
    /// Returns how claims are made under these rules, in this run.
    pub(crate) fn of(workspace: &Workspace, in_force: &InForce) -> Self {
        match workspace.network {
            Network::Used if in_force.rules.project.git.sync => Self::Shared,
            _ => Self::Local,
        }
    }

    /// The same, under the rules of now.
    pub(crate) fn here(workspace: &Workspace) -> Result<Self, ProjectError> {
        Ok(Self::of(workspace, &in_force(workspace, &workspace.repository.look()?)?))
    }
}

/// Gets what others did before something is claimed; refuses where no claim could be confirmed.
pub(crate) fn look_around(workspace: &Workspace) -> Result<(), ProjectError> {
    settled(&sync(workspace, &wish(SyncStart::Fetch))?, What::Claimed)
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
    let confirmed = sync(workspace, &wish(SyncStart::Push)).and_then(|synced| {
        settled(&synced, What::Claimed)?;
        Ok(synced.merge)
    });
    match confirmed {
        Ok(merge) => {
            let head = workspace.repository.look()?.commit;
            // Who claims under the same name elsewhere, and was first, is somebody else.
            let theirs = match (changed.commit, head) {
                (Some(claim), Some(head)) => met(workspace, claim, head)?,
                _ => first_parent(workspace, merge)?,
            };
            let holds = |commit: Option<CommitId>| holds(workspace, commit, ticket, visit, agent);
            if holds(head)? && !holds(theirs)? { Ok(()) } else { Err(lost()) }
        }
        Err(error) if changed.commit.is_some() => {
            Err(given_back(ticket, agent, error, give_back()))
        }
        Err(error) => Err(error),
    }
}

/// Returns why something could not be confirmed; or that it could not be given back either.
fn given_back(
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
fn met(
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

fn wish(first: SyncStart) -> SyncOptions<'static> {
    SyncOptions {
        remote: None,
        prompts: Prompts::AtTerminal,
        first,
        strangers: ForeignCommits::Kept,
        dry_run: DryRun::No,
    }
}

/// What the remote is asked to confirm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// Somebody takes a task.
    Claimed,
    /// Tasks are given to agents.
    HandedOut,
}

impl What {
    fn as_str(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::HandedOut => "handed out",
        }
    }
}

/// Returns an error where the remote does not have what is here.
pub(crate) fn settled(synced: &Synced, what: What) -> Result<(), ProjectError> {
    let (upstream, what) = (synced.upstream.name(), what.as_str());
    let unconfirmed =
        |code, problem: String, fix: String| Err(ProjectError::NotConfirmed { code, problem, fix });
    match &synced.end {
        SyncEnd::Same | SyncEnd::Rehearsed => Ok(()),
        SyncEnd::Offline { said } => unconfirmed(
            "offline",
            format!("nothing can be {what}, because `{upstream}` cannot be reached: {said}"),
            "a claim counts once the remote has it (`git.sync` in project.yaml); try again with a network, or take the risk that \
             somebody else does the same work with `--offline`"
                .to_owned(),
        ),
        SyncEnd::Rejected { said } => unconfirmed(
            "rejected",
            format!("nothing can be {what}, because `{upstream}` would not take it: {said}"),
            "see what it wants, then `aof sync`".to_owned(),
        ),
        SyncEnd::Unsettled => unconfirmed(
            "unsettled",
            format!("nothing was {what}: `{upstream}` went on each of {} times", synced.rounds),
            "try again".to_owned(),
        ),
        SyncEnd::Manual(left) => unconfirmed(
            left.code,
            format!("nothing can be {what} before this clone is synced: {}", left.problem),
            left.fix.clone(),
        ),
    }
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
    let repository = &workspace.repository;
    let name = format!("/{}.md", ticket.task);
    let files = repository.list(commit, "tasks")?;
    let Some(file) = files.iter().find(|file| file.path.ends_with(&name)) else { return Ok(false) };
    let in_force = in_force(workspace, &workspace.repository.look()?)?;
    let bytes = repository.read_blob(file.id)?;
    let Ok(file) = task_file::parse(&bytes, &ticket.task, &in_force.defaults(workspace.now()))
    else {
        return Ok(false);
    };
    let same_visit = file.task.gate.as_ref().map(|open| open.visit) == visit;
    let mine = |holder: Option<&AgentId>| holder == Some(agent);
    let open = openings(&in_force.rules, &file.task);
    Ok(same_visit
        && open.iter().any(|place| {
            (ticket.branch.is_none() || place.ticket.branch == ticket.branch)
                && mine(place.holder.as_ref())
        }))
}

/// Returns whether the remote cannot be spoken to.
pub(crate) fn is_offline(error: &ProjectError) -> bool {
    matches!(error, ProjectError::NotConfirmed { code: "offline", .. })
}

/// Somebody was faster, or it is not for this agent after all, or its file is in trouble: another task may still do.
pub(crate) fn is_of_the_task(error: &ProjectError) -> bool {
    match error {
        ProjectError::Refused(refusal) => passes_on(refusal),
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

fn passes_on(refusal: &Refusal) -> bool {
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
