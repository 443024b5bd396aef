//! What can be wrong with the org chart.

use super::finding::Finding;
use super::runs;
use crate::domain::{HandOut, Org, Place, Project, Role, RoleId, Severity, listed, nearest};

/// Says everything there is to say about it.
pub(crate) fn check(project: &Project, org: &Org, findings: &mut Vec<Finding>) {
    for (id, own) in &org.roles {
        role(org, id, own, findings);
    }
    for (id, agent) in org.agents.iter().flatten() {
        if let Some(launch) = &agent.run {
            runs::launch(org, id, launch, findings);
        }
    }
    unnamed(project, org, findings);
    shared(org, findings);
}

/// What is signed names the project, so that a signature is good for no other one.
fn unnamed(project: &Project, org: &Org, findings: &mut Vec<Finding>) {
    let signer = org.agents.iter().flatten().find(|(_, agent)| !agent.signing_keys.is_empty());
    let Some((id, _)) = signer.filter(|_| project.name.is_none()) else { return };
    findings.push(Finding {
        severity: Severity::Warning,
        code: "unnamed_project",
        at: Place::Agent { agent: id.clone(), field: "signingKey" },
        range: None,
        message: "the project has no name, so what is signed here is signed for every project without one".to_owned(),
        help: Some("name it in project.yaml, as in `project: {name: Shop}`".to_owned()),
    });
}

fn role(org: &Org, id: &RoleId, role: &Role, findings: &mut Vec<Finding>) {
    if role.agents.is_empty() {
        findings.push(Finding {
            severity: Severity::Warning,
            code: "role_without_agents",
            at: Place::Role { role: id.clone(), field: "agents" },
            range: None,
            message: format!("role `{id}` has no agents: tasks that come to its gates are blocked"),
            help: Some("list at least one, as in `agents: [agent-1]`".to_owned()),
        });
    }
    let nobody = !role.agents.is_empty() && role.agents.iter().all(|agent| org.room(agent) == 0);
    if let Some(way) = role.hand_out.filter(|way| *way != HandOut::Ask && nobody) {
        findings.push(Finding {
            severity: Severity::Warning,
            code: "hands_out_to_nobody",
            at: Place::Role { role: id.clone(), field: "handOut" },
            range: None,
            message: format!("`handOut: {way}` hands nothing out: nobody in role `{id}` takes tasks that way"),
            help: Some(
                "people are handed tasks if they have `maxTasks` under `agents`, as in `maxTasks: 3`".to_owned(),
            ),
        });
    }
    for (index, agent) in role.agents.iter().enumerate() {
        let at = || Place::Member { role: id.clone(), index };
        if role.agents[..index].contains(agent) {
            findings.push(Finding {
                severity: Severity::Error,
                code: "duplicate_agent",
                at: at(),
                range: None,
                message: format!("`{agent}` stands twice in role `{id}`"),
                help: Some("remove one of the two".to_owned()),
            });
        } else if !org.is_registered(agent) {
            let known = org.agents.iter().flatten().map(|(id, _)| id.as_str());
            let help = match nearest(agent.as_str(), known) {
                Some(name) => format!("did you mean `{name}`? or add `{agent}` to `agents`"),
                None => format!("add `{agent}` to `agents`, or remove it here"),
            };
            findings.push(Finding {
                severity: Severity::Warning,
                code: "unregistered_agent",
                at: at(),
                range: None,
                message: format!(
                    "`{agent}` is not in the `agents` of this file and is handed no work"
                ),
                help: Some(help),
            });
        }
    }
}

fn shared(org: &Org, findings: &mut Vec<Finding>) {
    for agent in org.all_agents() {
        let roles: Vec<&RoleId> = org.roles_of(agent).collect();
        let [first, .., last] = roles.as_slice() else { continue };
        let index =
            org.role(last).and_then(|role| role.agents.iter().position(|other| other == agent));
        findings.push(Finding {
            severity: Severity::Note,
            code: "shared_agent",
            at: Place::Member { role: (*last).clone(), index: index.unwrap_or(0) },
            range: None,
            message: format!("`{agent}` is in {} roles: {}", roles.len(), listed(&roles)),
            help: Some(format!(
                "fine for a small team; note that it may review its own work where `{first}` hands on to `{last}`"
            )),
        });
    }
}
