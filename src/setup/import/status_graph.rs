//! status-graph: roles with a schema of what they hand on, and a graph that leads from a role's `$status` to the next role.
//!
//! How it counts: not at all. A gate with routes of its own may be sent back to 3 times here, unless `maxRetries` says more.

pub(crate) mod exits;
pub(crate) mod gates;
pub(crate) mod graph;
pub(crate) mod prompts;

use std::collections::HashMap;

use super::import::{Read, Roles, tidy};
use super::names::Names;
use super::record::{Record, join};
use super::report::{At, Ledger};
use super::workflow_draft::Sketch;
use crate::files::yaml::{Entry, Fault, Kind, Node};
use exits::{Exits, read_exits};
use gates::build;
use graph::read_graph;

/// A role of the file.
pub(crate) struct Role {
    /// Its name there.
    foreign: String,
    /// Its name here, as a gate and as a role.
    gate: String,
    at: At,
    description: Option<String>,
    goal: Option<String>,
    procedure: Option<String>,
    output: Option<String>,
    capabilities: Vec<String>,
    exits: Exits,
}

/// Returns the workflow of the file.
pub(crate) fn read(root: &Node<'static>, stem: &str, ledger: &mut Ledger<'_>) -> Vec<Read> {
    let Some(mut top) = Record::of(root, "", "a workflow", ledger) else { return Vec::new() };
    let mut sketch = Sketch { name: stem.to_owned(), ..Sketch::default() };
    match top.text("name", ledger) {
        Some((text, field)) => {
            let (name, why) = Names::default().add(&text, stem);
            sketch.name = name;
            match why {
                Some(why) => ledger.converted(&field.at, why),
                None => ledger.kept(&field.at),
            }
        }
        None => ledger.supplied("name", format!("not given: the workflow is called `{stem}`")),
    }
    if let Some((text, field)) = top.text("description", ledger) {
        ledger.kept(&field.at);
        sketch.description = Some(tidy(&text));
    }
    if let Some(field) = top.take("version") {
        ledger.kept(&field.at);
        sketch.version = Some(field.node.to_value());
    }
    let mut names = Names::default();
    let mut found = Vec::new();
    match top.take("roles") {
        Some(field) => match &field.node.kind {
            Kind::Mapping(entries) => {
                found.extend(
                    entries
                        .iter()
                        .filter_map(|entry| role(entry, &field.at.path, &mut names, ledger)),
                );
            }
            _ => ledger.fault(field.wrong("a mapping of names and roles")),
        },
        None => ledger.fault(Fault::new(
            "missing_field",
            top.start(),
            "a status-graph workflow needs `roles`",
        )),
    }
    let graph = if let Some(field) = top.take("graph") {
        read_graph(&field, &found, ledger)
    } else {
        ledger.fault(Fault::new(
            "missing_field",
            top.start(),
            "a status-graph workflow needs `graph`",
        ));
        None
    };
    top.finish(ledger, |key| match key {
        key if key.starts_with("x-") => {
            Some("what others of the file refer to; it stands where they do")
        }
        _ => None,
    });
    let mut roles = Roles::default();
    if let Some(graph) = graph.filter(|_| ledger.faults.is_empty()) {
        build(&mut sketch, &mut roles, &found, &graph, ledger);
    }
    vec![Read::of(&sketch, roles)]
}

fn role(
    entry: &Entry<'static>,
    parent: &str,
    names: &mut Names,
    ledger: &mut Ledger<'_>,
) -> Option<Role> {
    let foreign = entry.key.text.clone().into_owned();
    let path = join(parent, &foreign);
    let at = At { path: path.clone(), span: entry.key.span.clone() };
    if foreign.starts_with('$') {
        let message =
            format!("`{foreign}` is no name for a role: what begins with `$` is reserved there");
        ledger.fault(Fault::new("invalid_value", entry.key.span.clone(), message));
        return None;
    }
    // `{{task}}` is the task everywhere, so no gate can be called that.
    let wanted = if foreign == "task" { "task-role" } else { &foreign };
    let (gate, why) = names.add(wanted, "role");
    match why {
        Some(why) => ledger.converted(&at, why),
        None => {
            ledger.converted(&at, format!("the gate `{gate}`, and the role `{gate}` in org.yaml"));
        }
    }
    let mut record = Record::of(&entry.value, &path, "a role", ledger)?;
    let mut text = |key: &'static str, into: &str, ledger: &mut Ledger<'_>| {
        let (text, field) = record.text(key, ledger)?;
        if text.trim().is_empty() {
            ledger.dropped(&field.at, "it says nothing");
            return None;
        }
        ledger.converted(&field.at, into);
        Some(text)
    };
    let description = text("description", "`description`, and the role's in org.yaml", ledger);
    let goal = text("goal", "`brief.role`", ledger);
    let procedure = text("procedure", "`brief.instructions`", ledger);
    let output = text("output", "`brief.expectations`", ledger);
    let capabilities = record.take("capabilities").and_then(|field| {
        let list = field.texts(ledger)?;
        match list.as_slice() {
            [] => ledger.dropped(&field.at, "it says nothing"),
            _ => ledger.converted(&field.at, "`metadata.capabilities`"),
        }
        Some(list)
    });
    let exits = match record.take_any(&["frontmatter", "meta"]) {
        Some(field) => read_exits(&field, ledger)?,
        None => Exits::Undeclared,
    };
    record.finish(ledger, |key| match key {
        "model" | "agent" => {
            Some("which model an agent is, is the agent's matter: see org.yaml and the runner")
        }
        _ => None,
    });
    Some(Role {
        foreign,
        gate,
        at,
        description,
        goal,
        procedure,
        output,
        capabilities: capabilities.unwrap_or_default(),
        exits,
    })
}

/// Returns the place of each role in the file, by its name there.
fn places(roles: &[Role]) -> HashMap<&str, usize> {
    roles.iter().enumerate().map(|(index, role)| (role.foreign.as_str(), index)).collect()
}
