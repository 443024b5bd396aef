//! The agents that the clients of a project may act as, and the one that most likely implements.

use super::template::{Founder, Template};
use crate::domain::{AgentId, Gate, Org, RoleId, Workflow};
use crate::rules::Rules;

/// Parts of the names of roles that prepare work, and do none.
const PREPARING: [&str; 4] = ["plan", "research", "spec", "architect"];

/// The agents of org.yaml that are not people.
pub(crate) struct AgentChoice {
    /// The agents with their roles, in the order of org.yaml.
    pub agents: Vec<(AgentId, Vec<RoleId>)>,
    likely: usize,
}

impl AgentChoice {
    /// Returns the choice in a project.
    pub(crate) fn in_project(rules: &Rules) -> Self {
        let Org { roles, agents, passkey_origins: _ } = &rules.org;
        let roles = roles.iter().map(|(role, cast)| (role, cast.agents.as_slice()));
        let mut choice = Self::new(roles, rules.project.workflow(&rules.project.default_workflow));
        for agent in agents.iter().flat_map(|register| register.keys()) {
            choice.place_of(agent);
        }
        choice
    }

    /// Returns the choice in a project that begins with that template.
    pub(crate) fn in_template(template: Template) -> Self {
        let workflow = template.workflow();
        let cast = template.cast(&workflow.roles(), &Founder::new("", ""));
        Self::new(cast.iter().map(|part| (&part.role, part.agents.as_slice())), Some(&workflow))
    }

    fn new<'r>(
        roles: impl Iterator<Item = (&'r RoleId, &'r [AgentId])>,
        workflow: Option<&Workflow>,
    ) -> Self {
        let mut choice = Self { agents: Vec::new(), likely: 0 };
        for (role, agents) in roles {
            for agent in agents {
                if let Some(place) = choice.place_of(agent) {
                    choice.agents[place].1.push(role.clone());
                }
            }
        }
        choice.likely = workflow.and_then(|workflow| choice.implementer(workflow)).unwrap_or(0);
        choice
    }

    /// Returns the place of an agent, which is added if it is missing; `None` for a person.
    fn place_of(&mut self, agent: &AgentId) -> Option<usize> {
        if agent.is_human() {
            return None;
        }
        self.agents.iter().position(|(known, _)| known == agent).or_else(|| {
            self.agents.push((agent.clone(), Vec::new()));
            Some(self.agents.len() - 1)
        })
    }

    /// Returns the agent of the last gate whose work the next gate judges, otherwise that of the first gate that works.
    fn implementer(&self, workflow: &Workflow) -> Option<usize> {
        let works = |gate: &Gate| {
            let role = gate.role().filter(|_| !gate.can_reject())?;
            let prepares = PREPARING.iter().any(|part| role.as_str().contains(part));
            self.agents.iter().position(|(_, roles)| !prepares && roles.contains(role))
        };
        let judged = workflow.gates.windows(2).rev().filter(|gates| gates[1].can_reject());
        judged.map(|gates| &gates[0]).chain(&workflow.gates).find_map(works)
    }

    /// Returns the agent that most likely implements.
    pub(crate) fn likely(&self) -> Option<&AgentId> {
        self.agents.get(self.likely).map(|(agent, _)| agent)
    }

    /// Returns the agent that people call so: by its id, or by its number in the list.
    pub(crate) fn named(&self, text: &str) -> Option<&AgentId> {
        let number = text.parse().ok().and_then(|number: usize| number.checked_sub(1));
        let is_named = |(place, (agent, _)): &(usize, &(AgentId, Vec<RoleId>))| {
            agent.as_str() == text || Some(*place) == number
        };
        self.agents.iter().enumerate().find(is_named).map(|(_, (agent, _))| agent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likely_agent_of_each_template_implements() {
        let likely = |template: &Template| {
            let choice = AgentChoice::in_template(*template);
            format!("{template}: {} of {}\n", choice.likely().unwrap(), choice.agents.len())
        };
        insta::assert_snapshot!(Template::ALL.iter().map(likely).collect::<String>(), @"
        basic: agent-1 of 1
        sdlc: agent-dev-1 of 6
        sales: agent-account-1 of 3
        publishing: agent-write-1 of 5
        compound: agent-dev-1 of 5
        feature-development: agent-dev-1 of 5
        bug-fix: agent-dev-1 of 4
        comprehensive-test: agent-test-1 of 4
        refactor: agent-dev-1 of 6
        deploy: agent-operate-1 of 2
        solve-issue: agent-dev-1 of 6
        fast: agent-dev-1 of 4
        reviewed: agent-dev-1 of 4
        tdd: agent-dev-1 of 4
        spec-driven: agent-dev-1 of 5
        autonomous: agent-dev-1 of 4
        ");
    }

    #[test]
    fn an_agent_is_named_by_number_or_id() {
        let choice = AgentChoice::in_template(Template::Sdlc);
        let named = |text| choice.named(text).map(AgentId::as_str);
        assert_eq!((named("1"), named("agent-dev-2")), (Some("agent-dev-1"), Some("agent-dev-2")));
        assert_eq!((named("0"), named("99"), named("human-ada")), (None, None, None));
    }
}
