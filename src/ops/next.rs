//! The next task of an agent: the one it has, else the most urgent one that it may take, which it then claims.

use super::acts::claim;
use super::error::OpsError;
use super::headers::{Header, Part, gate_of};
use super::in_force::InForce;
use super::list::{Filter, Sort, is_ready, list, unmet_of};
use super::settle::follow;
use super::stand::is_owed;
use super::transaction::{Changed, DryRun};
use super::workspace::Workspace;
use crate::audit::AuditError;
use crate::engine::{Post, Refusal, RefusalKind};
use crate::model::{AgentId, BranchStatus, RoleId, Ticket};
use crate::store::StoreError;

/// What there is to do for an agent.
pub enum Next {
    /// This task, claimed.
    Task {
        /// The change.
        changed: Box<Changed>,
        /// What was claimed: the task, or a branch of it.
        ticket: Ticket,
    },
    /// Nothing.
    Nothing {
        /// The roles that were looked at.
        roles: Vec<RoleId>,
        /// How many tasks of these roles are there but blocked, waiting for others, or taken.
        waiting: usize,
    },
}

/// Returns the agent's next task and claims it. `role` narrows the search to one role.
pub fn next(
    workspace: &Workspace,
    in_force: &InForce,
    agent: &AgentId,
    role: Option<&RoleId>,
    dry_run: DryRun,
) -> Result<Next, OpsError> {
    let roles: Vec<RoleId> = in_force.rules.org.roles_of(agent).cloned().collect();
    let mut listing = list(workspace, in_force, &Filter::default(), Sort::Priority);
    if dry_run == DryRun::No && listing.tasks.iter().any(|(header, _)| is_owed(&in_force.rules, header)) {
        // Where the rules have changed, tasks wait for others than it seems.
        follow(workspace)?;
        listing = list(workspace, in_force, &Filter::default(), Sort::Priority);
    }
    let unmet = unmet_of(workspace, in_force, &listing);
    let own = |of: &str| {
        let known = |of: &RoleId| roles.contains(of) || in_force.rules.is_open(of);
        role.is_none_or(|role| role.as_str() == of) && of.parse().is_ok_and(|of| known(&of))
    };
    let headers = || listing.tasks.iter().map(|(header, _)| header);
    let held = headers().flat_map(|header| held_by(header, agent, role));
    let free =
        headers().filter(|header| is_ready(header, &unmet)).flat_map(|header| free_of(header, &own, in_force, agent));
    for ticket in held.chain(free) {
        match claim(workspace, &ticket, agent, dry_run) {
            Ok(changed) => return Ok(Next::Task { changed: Box::new(changed), ticket }),
            Err(error) if is_of_the_task(&error) => {}
            Err(error) => return Err(error),
        }
    }
    let waiting = headers().filter(|header| header.roles().iter().any(|role| own(role))).count();
    let roles = role.map_or(roles, |role| vec![role.clone()]);
    Ok(Next::Nothing { roles, waiting })
}

/// Returns what the agent has of the task.
fn held_by(header: &Header, agent: &AgentId, role: Option<&RoleId>) -> Vec<Ticket> {
    let mine = |holder: Option<&str>, of: Option<&str>| {
        holder == Some(agent.as_str()) && role.is_none_or(|role| of == Some(role.as_str()))
    };
    let whole = mine(header.agent.as_deref(), header.role.as_deref()).then(|| ticket(header, None)).flatten();
    let parts = header.branches.iter().filter(|part| mine(part.agent.as_deref(), Some(&part.role)));
    whole.into_iter().chain(parts.filter_map(|part| ticket(header, Some(part)))).collect()
}

/// Returns what of the task the agent may take.
fn free_of(header: &Header, own: &dyn Fn(&str) -> bool, in_force: &InForce, agent: &AgentId) -> Vec<Ticket> {
    let free =
        header.agent.is_none() && header.role.as_deref().is_some_and(own) && may_take(in_force, header, None, agent);
    let whole = free.then(|| ticket(header, None)).flatten();
    let parts = header.branches.iter().filter(|part| {
        part.status == BranchStatus::Ready.as_str() && own(&part.role) && may_take(in_force, header, Some(part), agent)
    });
    whole.into_iter().chain(parts.filter_map(|part| ticket(header, Some(part)))).collect()
}

fn ticket(header: &Header, part: Option<&Part>) -> Option<Ticket> {
    let branch = part.map(|part| part.branch.parse()).transpose().ok()?;
    Some(Ticket { task: header.id.parse().ok()?, visit: branch.as_ref().map(|_| header.visit), branch })
}

/// A gate that is gone, or for people, is passed by without the cost of trying it.
fn may_take(in_force: &InForce, header: &Header, part: Option<&Part>, agent: &AgentId) -> bool {
    let rules = &in_force.rules;
    let post = gate_of(rules, header).and_then(|gate| match (gate.fork(), part) {
        (Some(fork), Some(part)) => {
            let branch = fork.branches.iter().find(|branch| branch.id().as_str() == part.branch)?;
            Some(Post::at_branch(gate, branch))
        }
        _ => Post::at(gate),
    });
    post.is_some_and(|post| agent.is_human() || header.escalated || !post.requires_human(rules))
}

/// Somebody was faster, or it is not for this agent after all, or its file is in trouble: another task may still do.
fn is_of_the_task(error: &OpsError) -> bool {
    match error {
        OpsError::Refused(refusal) => passes_on(refusal),
        OpsError::Frozen { .. }
        | OpsError::UnreadableTask { .. }
        | OpsError::NoTask { .. }
        | OpsError::Splice { .. }
        | OpsError::Restless { .. }
        | OpsError::Store(
            StoreError::Gone { .. }
            | StoreError::TaskDoubled { .. }
            | StoreError::WrongKind { .. }
            | StoreError::TooLarge { .. },
        )
        | OpsError::Audit(
            AuditError::StagedElsewise { .. } | AuditError::Unmerged { .. } | AuditError::IntentToAdd { .. },
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
