//! status-graph: roles with a schema of what they hand on, and a graph that leads from a role's `$status` to the next role.
//!
//! How it counts: not at all. A gate with routes of its own may be sent back to 3 times here, unless `maxRetries` says more.

pub(crate) mod exits;
pub(crate) mod gates;
pub(crate) mod graph;
pub(crate) mod prompts;

use std::collections::HashMap;

use super::names::Names;
use super::record::{Record, join};
use super::report::{At, ImportReport};
use super::workflow_draft::{ReadWorkflow, WorkflowDraft, tidy};
use crate::files::yaml::{Entry, Kind, Node};
use exits::{RoleExits, read_exits};
use gates::build;
use graph::read_graph;

/// A role of the file.
pub(crate) struct GraphRole<'r> {
    /// Its name there.
    foreign: String,
    /// Its name here, as a gate and as a role.
    gate: String,
    at: At<'r>,
    description: Option<String>,
    goal: Option<String>,
    procedure: Option<String>,
    output: Option<String>,
    capabilities: Vec<String>,
    exits: RoleExits<'r>,
}

/// Returns the workflow of the file.
pub(crate) fn read<'r>(
    root: &'r Node<'static>,
    stem: &str,
    report: &'r ImportReport<'r>,
) -> Vec<ReadWorkflow> {
    let Some(mut top) = Record::of(root, "", "a workflow", report) else { return Vec::new() };
    let mut draft = WorkflowDraft { name: stem.to_owned(), ..WorkflowDraft::default() };
    match top.text("name") {
        Some(said) => draft.name = Names::default().take(&said, stem, ""),
        None => report.added("name", format!("not given: the workflow is called `{stem}`")),
    }
    draft.description = top.text("description").map(|said| tidy(&said.kept()));
    if let Some(field) = top.take("version") {
        field.at.kept();
        draft.version = Some(field.node.to_value());
    }
    let mut names = Names::default();
    let mut roles = Vec::new();
    match top.take("roles") {
        Some(field) => match &field.node.kind {
            Kind::Mapping(entries) => {
                let read = entries.iter().filter_map(|entry| role(entry, &field.at, &mut names));
                roles.extend(read);
            }
            _ => field.wrong("a mapping of names and roles"),
        },
        None => top.missing("a status-graph workflow needs `roles`"),
    }
    let graph = if let Some(field) = top.take("graph") {
        read_graph(&field, &roles)
    } else {
        top.missing("a status-graph workflow needs `graph`");
        None
    };
    top.finish(|key| {
        let why = "what others of the file refer to; it stands where they do";
        key.starts_with("x-").then_some(why)
    });
    if let Some(graph) = graph.filter(|_| !report.has_faults()) {
        build(&mut draft, &roles, &graph, report);
    }
    vec![draft.finish()]
}

fn role<'r>(
    entry: &'r Entry<'static>,
    parent: &At<'r>,
    names: &mut Names,
) -> Option<GraphRole<'r>> {
    let foreign = entry.key.text.clone().into_owned();
    let path = join(&parent.path, &foreign);
    let report = parent.report;
    let at = At { path: path.clone(), span: entry.key.span.clone(), report };
    if foreign.starts_with('$') {
        let message =
            format!("`{foreign}` is no name for a role: what begins with `$` is reserved there");
        at.fault("invalid_value", message, "");
        return None;
    }
    // `{{task}}` is the task everywhere, so no gate can be called that.
    let wanted = if foreign == "task" { "task-role" } else { &foreign };
    let (gate, why) = names.add(wanted, "role");
    let usual = || format!("the gate `{gate}`, and the role `{gate}` in org.yaml");
    at.converted(why.unwrap_or_else(usual));
    let mut record = Record::of(&entry.value, &path, "a role", report)?;
    let mut text = |key: &'static str, into: &str| {
        let said = record.text(key)?;
        if said.value.trim().is_empty() {
            said.at.dropped("it says nothing");
            return None;
        }
        Some(said.converted(into))
    };
    let description = text("description", "`description`, and the role's in org.yaml");
    let goal = text("goal", "`brief.role`");
    let procedure = text("procedure", "`brief.instructions`");
    let output = text("output", "`brief.expectations`");
    let capabilities = record.texts(&["capabilities"]).map(|list| {
        if list.value.is_empty() {
            list.at.dropped("it says nothing");
            return list.value;
        }
        list.converted("`metadata.capabilities`")
    });
    let exits = match record.take_any(&["frontmatter", "meta"]) {
        Some(field) => read_exits(&field)?,
        None => RoleExits::Undeclared,
    };
    record.finish(|key| {
        let why = "which model an agent is, is the agent's matter: see org.yaml and the runner";
        matches!(key, "model" | "agent").then_some(why)
    });
    Some(GraphRole {
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
fn places<'s>(roles: &'s [GraphRole<'_>]) -> HashMap<&'s str, usize> {
    roles.iter().enumerate().map(|(index, role)| (role.foreign.as_str(), index)).collect()
}
