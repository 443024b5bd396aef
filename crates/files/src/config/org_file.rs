//! org.yaml: roles, their agents, and the register of agents.

use std::collections::BTreeMap;
use std::ops::Range;

use super::decode::{Faults, FieldReader, parse_key};
use super::{notify_file, run_file};
use crate::printable::is_printable;
use crate::yaml::{Fault, Node, NodeKind};
use aof_domain::{Agent, AgentId, Org, PublicKey, Role, RoleId};

/// Reads the file as far as possible.
pub(crate) fn read(root: &Node<'_>, faults: &Faults) -> Org {
    if root.is_null() {
        return Org::default();
    }
    let Some(fields) = FieldReader::of(root, "org.yaml", faults) else { return Org::default() };
    let roles = fields.with("roles", read_roles).unwrap_or_default();
    let agents = fields.with("agents", read_register);
    let passkey_origins = read_origins(&fields);
    fields.refuse_unknown_but(|key| {
        let is_project = matches!(key, "workflow" | "workflows" | "gates");
        is_project.then(|| format!("`{key}` belongs into project.yaml"))
    });
    Org { roles, agents, passkey_origins }
}

/// Reads the pages for which passkeys may sign. A browser compares them byte for byte, so each has only one valid form.
fn read_origins(fields: &FieldReader<'_, '_>) -> Vec<String> {
    let Some(node) = fields.take("passkeyOrigins") else { return Vec::new() };
    let origins: Vec<String> = fields.list("passkeyOrigins").unwrap_or_default();
    for (index, origin) in origins.iter().enumerate().filter(|(_, origin)| !is_origin(origin)) {
        let item = node.items().get(index).unwrap_or(node);
        let message = format!("`{}` is not the origin of a page", origin.escape_debug());
        let help = "write what the browser calls it, as in `https://aof.example.org` or `http://localhost:7420`: no path, no final slash";
        fields.faults.invalid(item, &message, help);
    }
    origins
}

/// Returns whether a text is the origin of a page that browsers let use passkeys (W3C Secure Contexts, section 3.1).
fn is_origin(text: &str) -> bool {
    let (host, is_safe) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
        (Some(host), _) => (host, true),
        (None, Some(host)) => (host, host == "localhost" || host.starts_with("localhost:")),
        (None, None) => return false,
    };
    let (name, port) = host.split_once(':').unwrap_or((host, "1"));
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    is_safe
        && !name.is_empty()
        && name.chars().all(is_part)
        && port.parse::<u16>().is_ok_and(|port| port > 0)
}

fn read_roles(node: &Node<'_>, faults: &Faults) -> Vec<(RoleId, Role)> {
    if !matches!(node.kind, NodeKind::Mapping(_)) {
        let help = "write `reviewer:` and its fields under it";
        faults.wrong_kind(node, "`roles` is a mapping of names and roles", help);
    }
    let mut roles = Vec::new();
    for entry in node.entries() {
        let id = parse_key(&entry.key, faults);
        let role = read_role(&entry.value, faults).unwrap_or_default();
        roles.extend(id.map(|id| (id, role)));
    }
    roles
}

fn read_role(node: &Node<'_>, faults: &Faults) -> Option<Role> {
    if node.is_null() {
        return None;
    }
    if let NodeKind::Sequence(_) = node.kind {
        let help = "write the agents behind `agents:`, as in `agents: [agent-1]`";
        faults.wrong_kind(node, "a role is a mapping of fields", help);
        return None;
    }
    let fields = FieldReader::of(node, "a role", faults)?;
    let role = Role {
        description: fields.text("description"),
        agents: fields.list("agents").unwrap_or_default(),
        require_human: fields.flag("requireHuman").unwrap_or(false),
        hand_out: fields.parsed("handOut"),
        run: fields
            .with("run", |node, faults| run_file::read_limits(node, "a role's `run`", faults))
            .unwrap_or_default(),
        notify: notify_file::read(&fields, false),
    };
    fields.refuse_unknown();
    Some(role)
}

/// The register: a mapping from ids, or a list of agents with `id`.
fn read_register(node: &Node<'_>, faults: &Faults) -> BTreeMap<AgentId, Agent> {
    let mut register = Register::default();
    match &node.kind {
        NodeKind::Mapping(entries) => {
            for entry in entries {
                let id = parse_key(&entry.key, faults);
                if entry.value.is_null() {
                    register.agents.extend(id.map(|id| (id, Agent::default())));
                } else if let Some(fields) = FieldReader::of(&entry.value, "an agent", faults) {
                    register.read(id, &fields);
                }
            }
        }
        NodeKind::Sequence(items) => {
            for item in items {
                let Some(fields) = FieldReader::of(item, "an agent", faults) else { continue };
                let id: Option<AgentId> = fields.required("id");
                if let (Some(id), Some(node)) = (&id, fields.take("id"))
                    && register.agents.contains_key(id)
                {
                    let message = format!("agent `{id}` is registered twice");
                    faults.add("duplicate_agent", &node.span, message, "keep one of the two");
                }
                register.read(id, &fields);
            }
        }
        _ => faults.wrong_kind(node, "`agents` is a mapping of ids and agents", ""),
    }
    register.agents
}

#[derive(Default)]
struct Register {
    agents: BTreeMap<AgentId, Agent>,
    emails: BTreeMap<String, Range<usize>>,
    keys: BTreeMap<String, Range<usize>>,
}

impl Register {
    fn read(&mut self, id: Option<AgentId>, fields: &FieldReader<'_, '_>) {
        let agent = Agent {
            name: fields.text("name"),
            description: fields.text("description"),
            email: fields.text("email"),
            may: fields.list("may").unwrap_or_default(),
            max_tasks: fields.count("maxTasks"),
            notify: notify_file::read(fields, false),
            run: fields.with("run", run_file::read_launch).flatten(),
            signing_keys: self.keys(fields),
        };
        if let (Some(name), Some(node)) = (&agent.name, fields.take("name"))
            && !is_signature(name)
        {
            let message = "a name goes into git's log: it is one line without `<` and `>`";
            fields.faults.invalid(node, message, "");
        }
        if let (Some(email), Some(node)) = (&agent.email, fields.take("email")) {
            self.email(email, node, fields.faults);
        }
        fields.refuse_unknown();
        self.agents.extend(id.map(|id| (id, agent)));
    }

    /// A key identifies its agent, so two agents must not share one.
    fn keys(&mut self, fields: &FieldReader<'_, '_>) -> Vec<PublicKey> {
        let Some(node) = fields.take("signingKey") else { return Vec::new() };
        if matches!(&node.kind, NodeKind::Sequence(items) if items.is_empty()) {
            let help = "name a public key, or leave it out: then nothing needs a signature";
            fields.faults.invalid(node, "`signingKey` lists no key", help);
        }
        let keys: Vec<PublicKey> = fields.list("signingKey").unwrap_or_default();
        for (index, key) in keys.iter().enumerate() {
            let span = node.items().get(index).map_or(&node.span, |item| &item.span);
            if let Some(first) = self.keys.insert(key.to_string(), span.clone()) {
                fields.faults.push(
                    Fault::new("duplicate_signing_key", span.clone(), "this key stands here twice")
                        .label(first, "the same one")
                        .help("give each agent a key of its own: it tells who has signed"),
                );
            }
        }
        keys
    }

    fn email(&mut self, email: &str, node: &Node<'_>, faults: &Faults) {
        if !is_signature(email) || email.contains(char::is_whitespace) {
            let message = format!("`{email}` is not an e-mail address");
            let help = "write it as git has it: see `git config user.email`";
            return faults.invalid(node, message, help);
        }
        // An email address identifies one agent; case is ignored.
        if let Some(first) = self.emails.insert(email.to_lowercase(), node.span.clone()) {
            let message = format!("`{email}` is already another agent's");
            faults.push(
                Fault::new("duplicate_email", node.span.clone(), message)
                    .label(first, "of this one")
                    .help("give each agent an address of its own: it tells who acts"),
            );
        }
    }
}

/// Returns whether git can write the text into a commit's author.
fn is_signature(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().all(|c| is_printable(c) && !matches!(c, '<' | '>'))
}
