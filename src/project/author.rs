//! Who a commit is by, and which agent acts.

use super::error::ProjectError;
use super::workspace::Workspace;
use crate::domain::{AgentId, Org};
use crate::git::Person;
use crate::rules::Actor;

/// Returns the agent that acts: the one named, else the one of git's user in org.yaml. A person's is taken from git's user only
/// at a terminal: anywhere else a program may be behind it.
pub(crate) fn acting_agent(
    workspace: &Workspace,
    org: &Org,
    named: Option<&AgentId>,
    at_terminal: bool,
) -> Result<AgentId, ProjectError> {
    if let Some(agent) = named {
        return Ok(agent.clone());
    }
    let email = workspace.repository.author_identity().ok().map(|person| person.email().to_owned());
    match known_as(workspace, org) {
        Some(agent) if agent.is_human() && !at_terminal => {
            Err(ProjectError::NoAgent { email, human: Some(agent.to_string()) })
        }
        Some(agent) => Ok(agent),
        None => Err(ProjectError::NoAgent { email, human: None }),
    }
}

/// Returns the agent whose address in org.yaml is git's user's.
pub(crate) fn known_as(workspace: &Workspace, org: &Org) -> Option<AgentId> {
    let person = workspace.repository.author_identity().ok()?;
    let agents = org.agents.as_ref()?;
    agents
        .iter()
        .find(|(_, agent)| agent.email.as_deref() == Some(person.email()))
        .map(|(id, _)| id.clone())
}

/// Returns who acts where both people and agents may: the agent named, else git's user.
pub(crate) fn actor(workspace: &Workspace, org: &Org, named: Option<&AgentId>) -> Actor {
    match named {
        Some(agent) if agent.is_human() => Actor::Person(Some(agent.clone())),
        Some(agent) => Actor::Agent(agent.clone()),
        None => Actor::Person(known_as(workspace, org)),
    }
}

/// Returns the agent id of whoever looks: the one named, else the one of git's user, if org.yaml knows one.
pub(crate) fn viewer(workspace: &Workspace, org: &Org, named: Option<&AgentId>) -> Option<AgentId> {
    actor(workspace, org, named).agent().cloned()
}

/// Returns the author of what an agent did. An agent without an address gets one that can never be anybody's.
pub(crate) fn agent_author(org: &Org, agent: &AgentId) -> Result<Person, ProjectError> {
    let email = org
        .agent(agent)
        .and_then(|known| known.email.clone())
        .unwrap_or_else(|| format!("{agent}@aof.invalid"));
    Ok(Person::new(agent.as_str(), &email)?)
}

/// Returns the author of what an actor did: people are who git says they are.
pub(crate) fn actor_author(
    workspace: &Workspace,
    org: &Org,
    actor: &Actor,
) -> Result<Person, ProjectError> {
    match actor {
        Actor::Agent(agent) => agent_author(org, agent),
        Actor::Person(_) => Ok(workspace.repository.author_identity()?),
    }
}
