//! Finds workflows, agents and roles by the names that users give, and lists workflows.

use serde_json::{Value, json};

use crate::domain::{AgentId, Gate, RoleId, Workflow, WorkflowName, listed};
use crate::project::error::{Named, ProjectError};
use crate::rules::Rules;

/// Returns the workflow of that name. Fails if there is none.
pub(crate) fn find_workflow<'a>(
    rules: &'a Rules,
    name: &WorkflowName,
) -> Result<&'a Workflow, ProjectError> {
    rules.project.workflow(name).ok_or_else(|| ProjectError::Unknown {
        kind: Named::Workflow,
        given: name.to_string(),
        known: rules.project.workflows.iter().map(|workflow| workflow.name.to_string()).collect(),
    })
}

/// Fails if the agent is unknown, or does not have the role. In a project without roles, every agent is known.
pub(crate) fn check_agent(
    rules: &Rules,
    agent: &AgentId,
    role: Option<&RoleId>,
) -> Result<(), ProjectError> {
    if let Some(role) = role {
        check_role(rules, role, agent)?;
    }
    let known = rules.org.all_agents();
    if rules.project.implicit_workflow || known.contains(&agent) {
        return Ok(());
    }
    let known = known.into_iter().map(ToString::to_string).collect();
    Err(ProjectError::Unknown { kind: Named::Agent, given: agent.to_string(), known })
}

/// Returns the agent that is called so. Fails if there is none; in a project without roles, every id is an agent's.
pub(crate) fn find_agent(rules: &Rules, name: &str) -> Result<AgentId, ProjectError> {
    let known = || rules.org.all_agents().into_iter().map(ToString::to_string).collect();
    let unknown =
        || ProjectError::Unknown { kind: Named::Agent, given: name.to_owned(), known: known() };
    match rules.org.agent_named(name) {
        Some(agent) => Ok(agent.clone()),
        None if rules.project.implicit_workflow => name.parse().map_err(|_| unknown()),
        None => Err(unknown()),
    }
}

fn check_role(rules: &Rules, role: &RoleId, agent: &AgentId) -> Result<(), ProjectError> {
    let org = &rules.org;
    if rules.is_open(role) || org.role(role).is_some_and(|known| known.agents.contains(agent)) {
        return Ok(());
    }
    if org.role(role).is_none() {
        let known = org.roles.iter().map(|(known, _)| known.to_string()).collect();
        return Err(ProjectError::Unknown { kind: Named::Role, given: role.to_string(), known });
    }
    Err(ProjectError::Unfit {
        code: "wrong_role",
        problem: format!("`{agent}` is not in role `{role}`"),
        fix: format!("its roles are {}; see `aof org show`", listed(org.roles_of(agent))).into(),
    })
}

/// Returns the workflows that the viewer may start, in the order of the rules; all without a viewer.
pub(crate) fn startable_workflows<'a>(
    rules: &'a Rules,
    viewer: Option<&'a AgentId>,
) -> impl Iterator<Item = &'a Workflow> {
    rules.project.workflows.iter().filter(move |workflow| rules.is_visible(workflow, viewer))
}

/// Returns these workflows for `--json`. `input` has the fields with which a task of the workflow begins; one without a value must be
/// given.
pub(crate) fn workflows_value(rules: &Rules, viewer: Option<&AgentId>) -> Value {
    startable_workflows(rules, viewer)
        .map(|workflow| {
            let gates: Vec<&str> = workflow.gates.iter().map(|gate| gate.id.as_str()).collect();
            json!({
                "name": workflow.name.as_str(),
                "description": workflow.description,
                "version": workflow.version,
                "gates": gates,
                "input": workflow.context.input,
                "default": workflow.name == rules.project.default_workflow,
                "hash": rules.hash(&workflow.name),
            })
        })
        .collect()
}

/// Returns the gates of a workflow in their order, each fork followed by its branches.
pub(crate) fn gates_with_branches(workflow: &Workflow) -> Vec<(String, &Gate)> {
    workflow.parts().map(|(station, gate)| (station.to_string(), gate)).collect()
}
