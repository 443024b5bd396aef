//! What can be wrong with the org chart, and with how its agents are started.

use super::finding::Finding;
use crate::domain::{
    AgentId, HandOut, Launch, Org, Place, Placeholder, Project, Role, RoleId, Severity,
    did_you_mean, listed, nearest,
};

/// Says everything there is to say about it.
pub(crate) fn check(project: &Project, org: &Org, findings: &mut Vec<Finding>) {
    for (id, own) in &org.roles {
        role(org, id, own, findings);
    }
    for (id, agent) in org.agents.iter().flatten() {
        if let Some(run) = &agent.run {
            launch(org, id, run, findings);
        }
    }
    let mut agents = org.agents.iter().flatten();
    if project.name.is_none()
        && let Some((id, _)) = agents.find(|(_, agent)| !agent.signing_keys.is_empty())
    {
        // What is signed names the project, so that a signature is good for no other one.
        let message = "the project has no name, so what is signed here is signed for every project without one";
        findings.push(Finding::new(
            Severity::Warning,
            "unnamed_project",
            Place::Agent { agent: id.clone(), field: "signingKey" },
            message,
            "name it in project.yaml, as in `project: {name: Shop}`",
        ));
    }
    shared(org, findings);
}

fn role(org: &Org, id: &RoleId, role: &Role, findings: &mut Vec<Finding>) {
    let at = |field| Place::Role { role: id.clone(), field };
    let mut say = |severity, code, at, message: String, help: &str| {
        findings.push(Finding::new(severity, code, at, message, help));
    };
    if role.agents.is_empty() {
        let message =
            format!("role `{id}` has no agents: tasks that come to its gates are blocked");
        let help = "list at least one, as in `agents: [agent-1]`";
        say(Severity::Warning, "role_without_agents", at("agents"), message, help);
    }
    let nobody = !role.agents.is_empty() && role.agents.iter().all(|agent| org.room(agent) == 0);
    if let Some(way) = role.hand_out.filter(|way| *way != HandOut::Ask && nobody) {
        let message = format!(
            "`handOut: {way}` hands nothing out: nobody in role `{id}` takes tasks that way"
        );
        let help =
            "people are handed tasks if they have `maxTasks` under `agents`, as in `maxTasks: 3`";
        say(Severity::Warning, "hands_out_to_nobody", at("handOut"), message, help);
    }
    for (index, agent) in role.agents.iter().enumerate() {
        let at = Place::Member { role: id.clone(), index };
        if role.agents[..index].contains(agent) {
            let message = format!("`{agent}` stands twice in role `{id}`");
            say(Severity::Error, "duplicate_agent", at, message, "remove one of the two");
        } else if !org.is_registered(agent) {
            let known = org.agents.iter().flatten().map(|(id, _)| id.as_str());
            let help = match did_you_mean(agent.as_str(), known) {
                Some(question) => format!("{question} or add `{agent}` to `agents`"),
                None => format!("add `{agent}` to `agents`, or remove it here"),
            };
            let message =
                format!("`{agent}` is not in the `agents` of this file and is handed no work");
            say(Severity::Warning, "unregistered_agent", at, message, &help);
        }
    }
}

fn shared(org: &Org, findings: &mut Vec<Finding>) {
    for agent in org.all_agents() {
        let roles: Vec<&RoleId> = org.roles_of(agent).collect();
        let [first, .., last] = roles.as_slice() else { continue };
        let agents = org.role(last).map(|role| role.agents.as_slice()).unwrap_or_default();
        let index = agents.iter().position(|other| other == agent).unwrap_or(0);
        findings.push(Finding::new(
            Severity::Note,
            "shared_agent",
            Place::Member { role: (*last).clone(), index },
            format!("`{agent}` is in {} roles: {}", roles.len(), listed(&roles)),
            format!(
                "fine for a small team; note that it may review its own work where `{first}` hands on to `{last}`"
            ),
        ));
    }
}

/// Says what is wrong with how the agent is started.
fn launch(org: &Org, id: &AgentId, launch: &Launch, findings: &mut Vec<Finding>) {
    let mut say = |severity, code, message: String, help: &str| {
        let at = Place::Agent { agent: id.clone(), field: "run" };
        findings.push(Finding::new(severity, code, at, message, help));
    };
    if id.is_human() {
        let message = format!("`{id}` is a person: nothing is started for people");
        let help = "remove `run`, or give the program an id of its own";
        say(Severity::Error, "dead_field", message, help);
    } else if org.roles_of(id).next().is_none() {
        let message = format!("`{id}` is in no role: it is never started");
        say(Severity::Warning, "runs_for_nobody", message, "add it to the `agents` of a role");
    }
    for name in launch.command.iter().flat_map(|word| Placeholder::names(word)) {
        let known = Placeholder::ALL.iter().map(|known| known.as_str());
        if name.parse::<Placeholder>().is_err()
            && let Some(near) = nearest(name, known)
        {
            let message = format!("`{{{name}}}` is passed to the program as it stands");
            let help = format!("did you mean `{{{near}}}`?");
            say(Severity::Warning, "unknown_placeholder", message, &help);
        }
    }
}
