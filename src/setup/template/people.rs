//! Who begins a project, and who does what in the templates.

use super::template::Template;
use crate::domain::{AgentId, RoleId};
use crate::files::printable::is_printable;

/// Who begins the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Founder {
    /// The id that org.yaml will know them by.
    pub agent: AgentId,
    /// Their name, as git has it.
    pub name: String,
    /// Their address, as git has it: it tells later who acts.
    pub email: String,
}

/// A role of a template, and who is in it to begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The role.
    pub role: RoleId,
    /// What it is for.
    pub does: &'static str,
    /// Its agents.
    pub agents: Vec<AgentId>,
    /// Whether only people may act in it.
    pub require_human: bool,
}

/// Who is in a role.
enum Staff {
    /// These agents.
    Agents(&'static [&'static str]),
    /// That agent, and whoever begins the project.
    Both(&'static str),
    /// Whoever begins the project.
    Founder,
    /// The same, and only people may act in it.
    Person,
}

const ROLES: &[(&str, &str, Staff)] = &[
    ("worker", "Does the work", Staff::Both("agent-1")),
    ("planner", "Says what will be done, and how", Staff::Agents(&["agent-plan-1"])),
    ("developer", "Writes code and tests", Staff::Agents(&["agent-dev-1", "agent-dev-2"])),
    ("reviewer", "Looks for what is wrong with the work", Staff::Agents(&["agent-review-1"])),
    ("tester", "Tries out what was built", Staff::Agents(&["agent-test-1"])),
    ("security", "Looks for ways to misuse it", Staff::Agents(&["agent-security-1"])),
    ("researcher", "Finds out how things are", Staff::Agents(&["agent-research-1"])),
    ("operator", "Brings releases out and takes them back", Staff::Agents(&["agent-operate-1"])),
    ("committer", "Brings changes in", Staff::Agents(&["agent-commit-1"])),
    ("writer", "Writes texts", Staff::Agents(&["agent-write-1"])),
    ("editor", "Makes texts better", Staff::Agents(&["agent-edit-1"])),
    ("fact-checker", "Checks what texts claim", Staff::Agents(&["agent-facts-1"])),
    ("lawyer", "Knows what may not be printed", Staff::Agents(&["agent-law-1"])),
    ("publisher", "Brings texts to their readers", Staff::Agents(&["agent-publish-1"])),
    ("prospector", "Finds customers", Staff::Agents(&["agent-prospect-1"])),
    ("sales-manager", "Judges offers and agrees on terms", Staff::Agents(&["agent-manage-1"])),
    ("account-executive", "Looks after a customer", Staff::Agents(&["agent-account-1"])),
    ("sales-director", "Signs", Staff::Person),
    ("owner", "Accepts the result", Staff::Person),
    ("lead", "Is asked when nobody else can go on", Staff::Founder),
];

impl Founder {
    /// Returns the founder of that name and address, as git has them; the id is made of the name.
    pub fn new(name: &str, email: &str) -> Self {
        let words = [name, email.split('@').next().unwrap_or_default(), "me"];
        let agent =
            words.iter().find_map(|word| human_id(word)).expect("`human-me` is an agent id");
        let (name, email) = (signature(name), signature(email).replace(char::is_whitespace, ""));
        let name = if name.trim().is_empty() { agent.to_string() } else { name };
        let email = if email.is_empty() { format!("{agent}@aof.invalid") } else { email };
        Self { agent, name, email }
    }
}

impl Part {
    /// Returns it as org.yaml says it under `roles`.
    pub fn text(&self) -> String {
        let agents: Vec<&str> = self.agents.iter().map(AgentId::as_str).collect();
        let mut text = format!(
            "  {}:\n    description: {}\n    agents: [{}]\n",
            self.role,
            self.does,
            agents.join(", ")
        );
        if self.require_human {
            text.push_str("    # Only people may act in this role, whatever a gate says.\n    requireHuman: true\n");
        }
        text
    }
}

/// Returns who does what in the role, if a template has it.
pub(crate) fn part(template: Template, role: &RoleId, founder: &Founder) -> Option<Part> {
    let (_, does, staff) = ROLES.iter().find(|(name, _, _)| *name == role.as_str())?;
    let agents = |names: &[&str]| {
        names.iter().map(|name| name.parse().expect("a test reads every name")).collect()
    };
    let agents: Vec<AgentId> = match staff {
        // Where two gates are all there is, one person can go through them alone.
        Staff::Agents(_) if template == Template::Basic => vec![founder.agent.clone()],
        Staff::Agents(names) => agents(names),
        Staff::Both(name) => agents(&[*name]).into_iter().chain([founder.agent.clone()]).collect(),
        Staff::Founder | Staff::Person => vec![founder.agent.clone()],
    };
    Some(Part { role: role.clone(), does, agents, require_human: matches!(staff, Staff::Person) })
}

/// Returns the org.yaml of a project in which these do the work.
pub(crate) fn org_file(cast: &[Part], founder: &Founder) -> String {
    let mut text = include_str!("org.yaml").to_owned();
    text.extend(cast.iter().map(Part::text));
    text.push_str("\n# What is known of each agent. Only agents listed here are handed work. Whoever has a `signingKey`\n# (the line of a `.pub` file) signs what it completes.\nagents:\n");
    let mut agents: Vec<&AgentId> = Vec::new();
    for agent in cast.iter().flat_map(|part| &part.agents).filter(|agent| **agent != founder.agent)
    {
        if !agents.contains(&agent) {
            agents.push(agent);
        }
    }
    text.extend(agents.iter().map(|agent| format!("  {agent}:\n")));
    text + &format!(
        "  {0}:\n    name: \"{1}\"\n    # This is you: whoever has this address in git acts as {0}.\n    email: \"{2}\"\n",
        founder.agent,
        quotable(&founder.name),
        quotable(&founder.email)
    )
}

/// Returns the text without what git leaves out of an author, too.
fn signature(text: &str) -> String {
    text.chars().filter(|c| is_printable(*c) && !matches!(c, '<' | '>')).collect()
}

/// Returns a text as it can stand between double quotes in YAML.
pub(crate) fn quotable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !c.is_control()) {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Returns the agent id of a person, made of their name: `human-ada-lovelace`.
fn human_id(name: &str) -> Option<AgentId> {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    let slug = slug.get(..40).unwrap_or(&slug).trim_end_matches('-');
    (!slug.is_empty()).then(|| format!("human-{slug}").parse().ok()).flatten()
}
