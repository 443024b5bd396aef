//! The next task of an agent: the one it has, else the most urgent one that it may take, which it then claims.

use super::acts::claim;
use super::error::OpsError;
use super::headers::{Header, gate_of};
use super::in_force::InForce;
use super::list::{Filter, Sort, is_ready, list, unmet_of};
use super::transaction::{Changed, DryRun};
use super::workspace::Workspace;
use crate::audit::AuditError;
use crate::engine::{Post, Refusal, RefusalKind};
use crate::model::{AgentId, RoleId, TaskId};
use crate::store::StoreError;

/// What there is to do for an agent.
pub enum Next {
    /// This task, claimed.
    Task(Box<Changed>),
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
    let listing = list(workspace, in_force, &Filter::default(), Sort::Priority);
    let unmet = unmet_of(workspace, in_force, &listing);
    let asked = |header: &Header| role.is_none_or(|role| header.role.as_deref() == Some(role.as_str()));
    let of_role = |header: &Header| {
        let own = |of: &RoleId| roles.contains(of) || in_force.rules.is_open(of);
        header.role.as_ref().and_then(|role| role.parse().ok()).is_some_and(|of| own(&of))
    };
    let headers = || listing.tasks.iter().map(|(header, _)| header).filter(|header| asked(header));
    let held = headers().filter(|header| header.agent.as_deref() == Some(agent.as_str()));
    let free = headers().filter(|header| {
        header.agent.is_none() && is_ready(header, &unmet) && of_role(header) && may_take(in_force, header, agent)
    });
    for id in held.chain(free).filter_map(|header| header.id.parse::<TaskId>().ok()) {
        match claim(workspace, &id, agent, dry_run) {
            Ok(changed) => return Ok(Next::Task(Box::new(changed))),
            Err(error) if is_of_the_task(&error) => {}
            Err(error) => return Err(error),
        }
    }
    let waiting = headers().filter(|header| of_role(header)).count();
    let roles = role.map_or(roles, |role| vec![role.clone()]);
    Ok(Next::Nothing { roles, waiting })
}

/// A gate that is gone, or for people, is passed by without the cost of trying it.
fn may_take(in_force: &InForce, header: &Header, agent: &AgentId) -> bool {
    let rules = &in_force.rules;
    let post = gate_of(rules, header).and_then(Post::at);
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
                | Refusal::Blocked { .. }
                | Refusal::NotAdopted { .. }
                | Refusal::GateGone { .. }
                | Refusal::UnknownWorkflow { .. }
        )
}
