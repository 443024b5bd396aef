//! The next task of an agent: the one it has, else the most urgent one that it may take, which it then claims.

use super::acts::claim;
use super::error::OpsError;
use super::headers::{Filter, Sort, is_ready, list_under, unfinished_of};
use super::transaction::{Changed, DryRun};
use super::workspace::Workspace;
use crate::engine::{Refusal, RefusalKind};
use crate::model::{AgentId, RoleId, TaskId};

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

/// Returns the agent's next task and claims it. `role` narrows the search to one of its roles.
pub fn next(workspace: &Workspace, agent: &AgentId, role: Option<&RoleId>, dry_run: DryRun) -> Result<Next, OpsError> {
    let in_force = workspace.rules()?;
    let mut roles: Vec<RoleId> = in_force.rules.org.roles_of(agent).cloned().collect();
    if let Some(role) = role {
        roles.retain(|known| known == role);
    }
    let listing = list_under(workspace, &in_force, &Filter::default(), Sort::Priority)?;
    let unmet = unfinished_of(workspace, &in_force, &listing)?;
    let of_role = |header: &super::Header| {
        header.role.as_ref().and_then(|role| role.parse::<RoleId>().ok()).is_some_and(|of| {
            role.is_none_or(|role| *role == of) && (roles.contains(&of) || in_force.rules.is_open(&of))
        })
    };
    let held = listing.tasks.iter().filter(|(header, _)| header.agent.as_deref() == Some(agent.as_str()));
    let free = listing.tasks.iter().filter(|(header, _)| header.agent.is_none() && of_role(header));
    let candidates: Vec<TaskId> = held
        .chain(free.clone().filter(|(header, _)| is_ready(header, &unmet)))
        .filter_map(|(header, _)| header.id.parse().ok())
        .collect();
    for id in candidates {
        match claim(workspace, &id, agent, dry_run) {
            Ok(changed) => return Ok(Next::Task(Box::new(changed))),
            // Somebody was faster, or it is not for this agent after all: the next one.
            Err(OpsError::Refused(refusal)) if passes_on(&refusal) => {}
            Err(OpsError::Frozen { .. } | OpsError::UnreadableTask { .. } | OpsError::NoTask { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let waiting = listing.tasks.iter().filter(|(header, _)| of_role(header)).count();
    Ok(Next::Nothing { roles, waiting })
}

fn passes_on(refusal: &Refusal) -> bool {
    refusal.kind() == RefusalKind::Conflict
        || matches!(
            refusal,
            Refusal::AssignedToAnother { .. }
                | Refusal::HumanRequired { .. }
                | Refusal::WrongRole { .. }
                | Refusal::Blocked { .. }
                | Refusal::GateGone { .. }
                | Refusal::UnknownWorkflow { .. }
        )
}
