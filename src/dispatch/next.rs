//! The next task of an agent: the one it holds, otherwise the most urgent one that it may take, which is then claimed.

use super::claim::{claim, is_shared, sync_first, try_claim};
use super::workplaces::{held_by, waiting};
use crate::domain::{AgentId, Remedy, RoleId, Ticket, Timestamp, Urgency, advice, listed};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::UnclaimedWork;
use crate::tasks::automatic::follow_rules_now;
use crate::tasks::headers::dependencies::Dependencies;
use crate::tasks::headers::list::{ListRequest, Sort, is_ready, list};
use crate::tasks::headers::summary::TaskSummary;
use crate::tasks::plan::{Changed, DryRun};

/// The most times that the search starts again because another process committed first.
const ATTEMPTS: usize = 100;

/// The result of the search for an agent's next task.
pub(crate) enum Next {
    /// A task, which is claimed.
    Task {
        changed: Box<Changed>,
        /// The ticket of the claim: the task, or a branch of it.
        ticket: Ticket,
    },
    /// No task.
    Nothing {
        /// The roles that were searched.
        roles: Vec<RoleId>,
        /// The number of tasks of these roles that are blocked, waiting for others, or claimed by others.
        waiting: usize,
        /// The first time before which a task must not be handed out.
        later: Option<Timestamp>,
    },
}

/// The kind of task that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted<'t> {
    /// The one that the agent holds, otherwise a new one.
    Next,
    /// A new one, even if the agent holds another.
    Another,
    /// Like `Next`, but none of these visits.
    Except(&'t [Ticket]),
}

/// Returns the agent's next task and claims it. `role` narrows the search to one role.
pub(crate) fn next(
    workspace: &Workspace,
    in_force: &InForce,
    agent: &AgentId,
    role: Option<&RoleId>,
    wanted: Wanted<'_>,
    dry_run: DryRun,
) -> Result<Next, ProjectError> {
    let search =
        |is_held_only| search(workspace, in_force, (agent, role), wanted, is_held_only, dry_run);
    if dry_run == DryRun::No
        && is_shared(workspace, in_force)
        && let Err(error) = sync_first(workspace)
    {
        // A task that the agent holds, and that the remote knows of, can be worked on offline.
        if matches!(error, ProjectError::NotConfirmed { code: "offline", .. })
            && let next @ Next::Task { .. } = search(true)?
        {
            return Ok(next);
        }
        return Err(error);
    }
    for _ in 1..ATTEMPTS {
        match search(false) {
            Err(ProjectError::Contended { .. }) => {}
            done => return done,
        }
    }
    search(false)
}

/// Searches for the next task; with `is_held_only`, among the agent's own ones. Fails with [`ProjectError::Contended`] if the branch
/// moved before a task could be claimed.
fn search(
    workspace: &Workspace,
    in_force: &InForce,
    (agent, role): (&AgentId, Option<&RoleId>),
    wanted: Wanted<'_>,
    is_held_only: bool,
    dry_run: DryRun,
) -> Result<Next, ProjectError> {
    let rules = &in_force.rules;
    let limit = rules.org.agent(agent).and_then(|known| known.max_tasks);
    // The number of tasks that the agent holds is certain only at one commit.
    let look = || -> Result<_, ProjectError> {
        let seen = limit.map(|_| workspace.head()).transpose()?.and_then(|head| head.commit);
        Ok((seen, list(workspace, in_force, &ListRequest::default(), Sort::Priority)))
    };
    let (mut seen, mut listing) = look()?;
    if dry_run == DryRun::No && listing.tasks.iter().any(|(task, _)| task.has_due_act(rules)) {
        // Under changed rules, tasks may wait for other agents than those in their files.
        follow_rules_now(workspace)?;
        (seen, listing) = look()?;
    }
    let headers = || listing.tasks.iter().map(|(header, _)| header);
    let held: Vec<Ticket> = headers().flat_map(|header| held_by(header, agent, None)).collect();
    let is_other = |header: &TaskSummary, ticket: &Ticket| {
        let same = |other: &Ticket| (&other.task, &other.branch) == (&ticket.task, &ticket.branch);
        let Wanted::Except(others) = wanted else { return true };
        !others.iter().any(|other| same(other) && other.visit == Some(header.visit()))
    };
    let resumable: Vec<Ticket> = match wanted {
        Wanted::Another => Vec::new(),
        // A task on hold stays the agent's, but cannot be worked on now.
        Wanted::Next | Wanted::Except(_) => headers()
            .filter(|header| !header.is_held())
            .flat_map(|header| {
                held_by(header, agent, role)
                    .into_iter()
                    .filter(move |ticket| is_other(header, ticket))
            })
            .collect(),
    };
    let mut elsewhere = None;
    let mut claimed =
        |seen, ticket: &Ticket| match try_claim(workspace, seen, ticket, agent, dry_run) {
            Err(error @ ProjectError::TakenElsewhere { .. }) => {
                elsewhere.get_or_insert(error);
                Ok(None)
            }
            other => other,
        };
    for ticket in resumable {
        if let Some(changed) = claimed(None, &ticket)? {
            return Ok(Next::Task { changed, ticket });
        }
    }
    if is_held_only {
        return Ok(Next::Nothing { roles: Vec::new(), waiting: 0, later: None });
    }
    ensure_room(limit, agent, &held)?;
    let dependencies = Dependencies::read(workspace, in_force, &listing);
    let mut free: Vec<UnclaimedWork> = headers()
        .filter(|header| is_ready(header, &dependencies))
        .flat_map(|header| {
            waiting(in_force, header, workspace.now())
                .into_iter()
                .filter(move |place| is_other(header, &place.ticket))
        })
        .filter(|place| role.is_none_or(|role| *role == place.role) && place.suits(rules, agent))
        .collect();
    // Tasks that are planned for this agent are first, and of equally urgent ones those that return to it.
    let order = |place: &UnclaimedWork| {
        let Urgency { is_in_time, priority, .. } = place.urgency;
        let is_planned = place.planned_for.contains(agent);
        (!is_planned, is_in_time, priority, place.previous_agent.as_ref() != Some(agent))
    };
    free.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| a.rank().cmp(&b.rank())));
    for UnclaimedWork { ticket, .. } in free {
        if let Some(changed) = claimed(seen, &ticket)? {
            return Ok(Next::Task { changed, ticket });
        }
    }
    if let Some(error) = elsewhere {
        workspace.warn(format!("{error}; `aof status` says more"));
    }
    let roles: Vec<RoleId> = match role {
        Some(role) => vec![role.clone()],
        None => rules.org.roles_of(agent).cloned().collect(),
    };
    let is_for_agent = |candidate: &RoleId| {
        roles.contains(candidate) || role.is_none() && rules.is_open(candidate)
    };
    let waiting = headers().filter(|header| header.roles().any(is_for_agent)).count();
    let (now, zone) = (workspace.now(), &rules.project.timezone);
    let days = headers().filter_map(|header| Some(header.plan.not_before?.begins(zone)));
    let later = days.filter(|day| *day > now).min();
    Ok(Next::Nothing { roles, waiting, later })
}

/// Claims the named task for the agent, unless the agent has reached its limit.
pub(crate) fn claim_named(
    workspace: &Workspace,
    in_force: &InForce,
    ticket: &Ticket,
    agent: &AgentId,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    let limit = in_force.rules.org.agent(agent).and_then(|known| known.max_tasks);
    if limit.is_some() {
        let held = claimed(workspace, in_force, agent, None).into_iter().map(|claim| claim.ticket);
        let held: Vec<Ticket> = held.collect();
        // A task that the agent already has does not count again.
        if held.iter().all(|other| other.task != ticket.task) {
            ensure_room(limit, agent, &held)?;
        }
    }
    claim(workspace, ticket, agent, dry_run)
}

/// Fails if the agent may hold no more tasks.
fn ensure_room(limit: Option<u32>, agent: &AgentId, held: &[Ticket]) -> Result<(), ProjectError> {
    let Some(limit) =
        limit.filter(|limit| held.len() >= usize::try_from(*limit).unwrap_or(usize::MAX))
    else {
        return Ok(());
    };
    let has = match held {
        [] => String::new(),
        held => format!(", and it has {}", listed(held)),
    };
    let tasks = if limit == 1 { "1 task" } else { &format!("{limit} tasks") };
    Err(ProjectError::Unfit {
        code: "too_many_tasks",
        problem: format!("`{agent}` may have {tasks} at once{has}"),
        fix: match held {
            [] => "the person who maintains org.yaml can raise its `maxTasks`".into(),
            [first, ..] => advice![
                "complete one of them, or give it back with ",
                Remedy::Release.on(first),
                "; `maxTasks` in org.yaml is the limit",
            ],
        },
    })
}

/// A task, or a branch of one, that an agent holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    pub ticket: Ticket,
    pub title: String,
    /// True if a person has put the task on hold.
    pub held: bool,
}

/// Returns the work that the agent holds, most urgent first; with a role, only its work in that role.
pub(crate) fn claimed(
    workspace: &Workspace,
    in_force: &InForce,
    agent: &AgentId,
    role: Option<&RoleId>,
) -> Vec<Claim> {
    let listing = list(workspace, in_force, &ListRequest::held_by(agent), Sort::Priority);
    let claims = |header: &TaskSummary| {
        let claim = |ticket| Claim { ticket, title: header.title.clone(), held: header.is_held() };
        held_by(header, agent, role).into_iter().map(claim).collect::<Vec<_>>()
    };
    listing.tasks.iter().flat_map(|(header, _)| claims(header)).collect()
}
