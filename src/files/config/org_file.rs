//! org.yaml: roles, the agents in them, and what is known of each agent.

use std::collections::BTreeMap;
use std::ops::Range;

use super::decode::{Fields, parse_key, wrong_kind};
use super::notify_file;
use super::notify_file::Whose;
use super::run_file;
use crate::domain::{Agent, AgentId, Org, PublicKey, Role, RoleId};
use crate::files::printable::is_printable;
use crate::files::yaml::{Fault, Kind, Node};

/// Returns what the file says, as far as it can be read.
pub(crate) fn read(root: &Node<'_>, faults: &mut Vec<Fault>) -> Org {
    if root.is_null() {
        return Org::default();
    }
    let Some(mut fields) = Fields::of(root, "org.yaml", faults) else { return Org::default() };
    let roles = fields.take("roles").map(|node| read_roles(node, faults)).unwrap_or_default();
    let agents = fields.take("agents").map(|node| read_register(node, faults));
    fields.refuse_unknown_but(faults, |key| match key {
        "workflow" | "workflows" | "gates" => Some(format!("`{key}` belongs into project.yaml")),
        _ => None,
    });
    Org { roles, agents }
}

fn read_roles(node: &Node<'_>, faults: &mut Vec<Fault>) -> Vec<(RoleId, Role)> {
    if !matches!(node.kind, Kind::Mapping(_)) {
        faults.push(
            wrong_kind(node, "`roles` is a mapping of names and roles")
                .help("write `reviewer:` and its fields under it"),
        );
    }
    let mut roles = Vec::new();
    for entry in node.entries() {
        let id = parse_key(&entry.key, faults);
        let role = read_role(&entry.value, faults);
        roles.extend(id.map(|id| (id, role)));
    }
    roles
}

fn read_role(node: &Node<'_>, faults: &mut Vec<Fault>) -> Role {
    match &node.kind {
        Kind::Null => return Role::default(),
        Kind::Sequence(_) => {
            let fault = wrong_kind(node, "a role is a mapping of fields");
            faults.push(fault.help("write the agents behind `agents:`, as in `agents: [agent-1]`"));
            return Role::default();
        }
        _ => {}
    }
    let Some(mut fields) = Fields::of(node, "a role", faults) else { return Role::default() };
    let role = Role {
        description: fields.text("description", faults),
        agents: fields.list("agents", faults).unwrap_or_default(),
        require_human: fields.flag("requireHuman", faults).unwrap_or(false),
        hand_out: fields.parsed("handOut", faults),
        notify: notify_file::read(&mut fields, Whose::Own, faults),
    };
    fields.refuse_unknown(faults);
    role
}

/// The register: a mapping from ids, or a list of agents with `id`.
fn read_register(node: &Node<'_>, faults: &mut Vec<Fault>) -> BTreeMap<AgentId, Agent> {
    let mut register = Register::default();
    match &node.kind {
        Kind::Mapping(entries) => {
            for entry in entries {
                let id = parse_key(&entry.key, faults);
                if entry.value.is_null() {
                    register.agents.extend(id.map(|id| (id, Agent::default())));
                } else if let Some(mut fields) = Fields::of(&entry.value, "an agent", faults) {
                    register.read(id, &mut fields, faults);
                    fields.refuse_unknown(faults);
                }
            }
        }
        Kind::Sequence(items) => {
            for item in items {
                let Some(mut fields) = Fields::of(item, "an agent", faults) else { continue };
                let id = fields.parsed("id", faults);
                let id = fields.require("id", id, faults);
                if let Some(id) = id.as_ref().filter(|id| register.agents.contains_key(*id)) {
                    let span = fields
                        .take("id")
                        .map_or_else(|| fields.key_span("id"), |node| node.span.clone());
                    faults.push(
                        Fault::new(
                            "duplicate_agent",
                            span,
                            format!("agent `{id}` is registered twice"),
                        )
                        .help("keep one of the two"),
                    );
                }
                register.read(id, &mut fields, faults);
                fields.refuse_unknown(faults);
            }
        }
        _ => faults.push(wrong_kind(node, "`agents` is a mapping of ids and agents")),
    }
    register.agents
}

#[derive(Default)]
struct Register<'n, 's> {
    agents: BTreeMap<AgentId, Agent>,
    emails: BTreeMap<String, &'n Node<'s>>,
    keys: BTreeMap<String, Range<usize>>,
}

impl<'n, 's> Register<'n, 's> {
    fn read(&mut self, id: Option<AgentId>, fields: &mut Fields<'n, 's>, faults: &mut Vec<Fault>) {
        let agent = Agent {
            name: fields.text("name", faults),
            description: fields.text("description", faults),
            email: fields.text("email", faults),
            may: fields.list("may", faults).unwrap_or_default(),
            max_tasks: fields.count("maxTasks", faults),
            notify: notify_file::read(fields, Whose::Own, faults),
            run: fields.take("run").and_then(|node| run_file::read_launch(node, faults)),
            signing_keys: self.keys(fields, faults),
        };
        if let (Some(name), Some(node)) = (&agent.name, fields.take("name"))
            && !is_signature(name)
        {
            faults.push(Fault::new(
                "invalid_value",
                node.span.clone(),
                "a name goes into git's log: it is one line without `<` and `>`",
            ));
        }
        if let (Some(email), Some(node)) = (&agent.email, fields.take("email")) {
            self.email(email, node, faults);
        }
        self.agents.extend(id.map(|id| (id, agent)));
    }

    /// What an agent signs with tells who it is, so no two have the same key.
    fn keys(&mut self, fields: &mut Fields<'n, 's>, faults: &mut Vec<Fault>) -> Vec<PublicKey> {
        let Some(node) = fields.take("signingKey") else { return Vec::new() };
        if node.items().is_empty() && matches!(node.kind, Kind::Sequence(_)) {
            faults.push(
                Fault::new("invalid_value", node.span.clone(), "`signingKey` lists no key")
                    .help("name a public key, or leave it out: then nothing needs a signature"),
            );
        }
        let keys: Vec<PublicKey> = fields.list("signingKey", faults).unwrap_or_default();
        for (index, key) in keys.iter().enumerate() {
            let span = node.items().get(index).map_or(&node.span, |item| &item.span);
            if let Some(first) = self.keys.insert(key.to_string(), span.clone()) {
                faults.push(
                    Fault::new("duplicate_signing_key", span.clone(), "this key stands here twice")
                        .label(first, "the same one")
                        .help("give each agent a key of its own: it tells who has signed"),
                );
            }
        }
        keys
    }

    fn email(&mut self, email: &str, node: &'n Node<'s>, faults: &mut Vec<Fault>) {
        if !is_signature(email) || email.contains(char::is_whitespace) {
            faults.push(
                Fault::new(
                    "invalid_value",
                    node.span.clone(),
                    format!("`{email}` is not an e-mail address"),
                )
                .help("write it as git has it: see `git config user.email`"),
            );
            return;
        }
        // Whose address a commit carries must be one agent's: people write it in either case.
        if let Some(first) = self.emails.insert(email.to_lowercase(), node) {
            faults.push(
                Fault::new(
                    "duplicate_email",
                    node.span.clone(),
                    format!("`{email}` is already another agent's"),
                )
                .label(first.span.clone(), "of this one")
                .help("give each agent an address of its own: it tells who acts"),
            );
        }
    }
}

/// Tells whether git can write the text into a commit's author.
fn is_signature(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().all(|c| is_printable(c) && !matches!(c, '<' | '>'))
}
