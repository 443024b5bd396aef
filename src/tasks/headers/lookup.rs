//! Names that users give, checked against what exists; the workflows that they may start; the gates at which work is counted.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::domain::{AgentId, Branch, Gate, RoleId, Workflow, WorkflowName, listed};
use crate::project::error::Named;
use crate::project::error::ProjectError;
use crate::rules::Rules;
use crate::tasks::headers::list::Filter;
use crate::tasks::headers::listing::Listing;
use crate::tasks::headers::summary::TaskSummary;

/// Returns the workflow of that name.
pub(crate) fn workflow_named<'a>(
    rules: &'a Rules,
    name: &WorkflowName,
) -> Result<&'a Workflow, ProjectError> {
    rules.project.workflow(name).ok_or_else(|| ProjectError::Unknown {
        kind: Named::Workflow,
        given: name.to_string(),
        known: rules.project.workflows.iter().map(|workflow| workflow.name.to_string()).collect(),
    })
}

/// Checks that the agent is somebody, and in the role where one is named. In a project without roles every agent is known.
pub(crate) fn known_worker(
    rules: &Rules,
    agent: &AgentId,
    role: Option<&RoleId>,
) -> Result<(), ProjectError> {
    if let Some(role) = role {
        in_role(rules, role, agent)?;
    }
    let known = rules.org.all_agents();
    if rules.project.implicit_workflow || known.contains(&agent) {
        return Ok(());
    }
    let known = known.into_iter().map(ToString::to_string).collect();
    Err(ProjectError::Unknown { kind: Named::Agent, given: agent.to_string(), known })
}

fn in_role(rules: &Rules, role: &RoleId, agent: &AgentId) -> Result<(), ProjectError> {
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
        fix: format!("its roles are {}; see `aof org show`", listed(org.roles_of(agent))),
    })
}

/// Checks the names of a filter. What no rule knows, but some task that was found does, is no mistake: rules change.
pub(crate) fn known_names(
    filter: &Filter,
    rules: &Rules,
    listing: &Listing,
) -> Result<(), ProjectError> {
    let workflows = || rules.project.workflows.iter();
    let gates = || workflows().flat_map(|workflow| &workflow.gates);
    let found = |is_named: &dyn Fn(&TaskSummary) -> bool| {
        listing.tasks.iter().any(|(task, _)| is_named(task))
    };
    let unknown = |kind, given: &str, known: Vec<String>| {
        let known: BTreeSet<String> = known.into_iter().collect();
        let known = known.into_iter().collect();
        Err(ProjectError::Unknown { kind, given: given.to_owned(), known })
    };
    for name in &filter.workflows {
        let is_known = rules.project.workflow(name).is_some();
        if !is_known && !found(&|task| task.routing.workflow == *name) {
            workflow_named(rules, name)?;
        }
    }
    for id in &filter.gates {
        let is_known = gates().any(|gate| gate.id == *id);
        if !is_known && !found(&|task| task.current_gate() == Some(id)) {
            let known = gates().map(|gate| gate.id.to_string()).collect();
            return unknown(Named::Gate, id.as_str(), known);
        }
    }
    for role in &filter.roles {
        let known =
            || rules.org.roles.iter().map(|(role, _)| role).chain(gates().flat_map(Gate::roles));
        if !known().any(|other| other == role) && !found(&|task| task.roles().any(|of| of == role))
        {
            return unknown(Named::Role, role.as_str(), known().map(ToString::to_string).collect());
        }
    }
    if let Some(agent) = filter.agent.as_ref().filter(|_| !rules.project.implicit_workflow) {
        let known = rules.org.all_agents();
        if !known.contains(&agent) && !found(&|task| task.agents().any(|other| other == agent)) {
            let known = known.into_iter().map(ToString::to_string).collect();
            return unknown(Named::Agent, agent.as_str(), known);
        }
    }
    Ok(())
}

/// Returns the workflows that the viewer may start, in the order of the rules; without a viewer, all.
pub(crate) fn startable<'a>(
    rules: &'a Rules,
    viewer: Option<&'a AgentId>,
) -> impl Iterator<Item = &'a Workflow> {
    rules.project.workflows.iter().filter(move |workflow| rules.is_visible(workflow, viewer))
}

/// Returns them as `--json` shows them. `input` says what a task of the workflow begins with: a name that has no value must be
/// given one.
pub(crate) fn workflows_value(rules: &Rules, viewer: Option<&AgentId>) -> Value {
    startable(rules, viewer)
        .map(|workflow| {
            let gates: Vec<&str> = workflow.gates.iter().map(|gate| gate.id.as_str()).collect();
            json!({
                "name": workflow.name.as_str(),
                "description": workflow.description,
                "gates": gates,
                "input": workflow.context.input,
                "default": workflow.name == rules.project.default_workflow,
                "hash": rules.hash(&workflow.name),
            })
        })
        .collect()
}

/// Returns the gates of a workflow in their order, each fork with its branches behind it.
pub(crate) fn stations(workflow: &Workflow) -> Vec<(String, &Gate)> {
    let mut all = Vec::new();
    for gate in &workflow.gates {
        all.push((gate.id.to_string(), gate));
        let branches = gate.fork().map(|fork| fork.branches.as_slice()).unwrap_or_default();
        let branches = branches.iter().map(Branch::gate);
        all.extend(branches.map(|branch| (format!("{}/{}", gate.id, branch.id), branch)));
    }
    all
}
