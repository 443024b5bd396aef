//! Earlier files of aof: gates in order, which are ours as they stand, and hops that depend on each other.

pub(crate) mod hops;

use serde_json::{Map, Value, json};

use super::names::{self, Names};
use super::record::{Field, Record, join, scalar};
use super::report::{At, ImportReport};
use super::workflow_draft::{ReadWorkflow, RolesNeeded};
use crate::files::yaml::{Kind, Node};

/// The fields of a workflow that are ours as they stand.
const OF_WORKFLOW: [&str; 10] = [
    "description",
    "version",
    "visibleTo",
    "defaultOutcome",
    "rejectionStrategy",
    "outcomes",
    "timeout",
    "lease",
    "run",
    "context",
];
/// The fields of a gate that are.
const OF_GATE: [&str; 25] = [
    "type",
    "description",
    "detour",
    "when",
    "onConditionError",
    "canReject",
    "canSkip",
    "requireHuman",
    "timeout",
    "escalateTo",
    "lease",
    "run",
    "signal",
    "routes",
    "onFailure",
    "maxRetries",
    "onExhausted",
    "outputs",
    "separateFrom",
    "branches",
    "joinStrategy",
    "files",
    "brief",
    "metadata",
    "rejectTo",
];

/// Returns the workflows of the file: its own, and those of its templates.
pub(crate) fn read<'r>(
    root: &'r Node<'static>,
    stem: &str,
    report: &'r ImportReport<'r>,
) -> Vec<ReadWorkflow> {
    let Some(mut top) = Record::of(root, "", "a file of aof", report) else { return Vec::new() };
    if top.has("gates") || top.has("hops") {
        return workflow(top, None, stem).into_iter().collect();
    }
    let mut found = Vec::new();
    if let Some(field) = top.take("workflow")
        && let Some(record) = Record::of(field.node, "workflow", "a workflow", report)
    {
        found.extend(workflow(record, None, stem));
    }
    for key in ["workflows", "workflowTemplates"] {
        let Some(field) = top.take(key) else { continue };
        for (key, record) in field.workflows() {
            if let Some(read) = workflow(record, key, stem) {
                keep(read, &field.at, &mut found);
            }
        }
    }
    if found.is_empty() && !report.has_faults() {
        let help = "import the file that has `workflow`, `workflows`, `gates` or `hops`";
        top.start().fault("no_workflow", "there is no workflow in this file", help);
    }
    top.finish(|key| match key {
        "roles" | "agents" | "teams" => Some("who works is in org.yaml"),
        _ => Some("no part of a workflow: it belongs into project.yaml, if anywhere"),
    });
    found
}

/// Keeps a workflow, unless it is a template that says what the workflow of its name says.
fn keep(mut read: ReadWorkflow, at: &At<'_>, found: &mut Vec<ReadWorkflow>) {
    let at = At { path: join(&at.path, &read.name), ..at.clone() };
    if let Some(same) = found.iter().find(|other| other.name == read.name) {
        if same.map.get("gates") == read.map.get("gates") {
            at.dropped(format!("the same gates as the workflow `{}` before it", read.name));
            return;
        }
        let given = read.name.clone();
        let mut number = 2;
        while found.iter().any(|other| other.name == read.name) {
            read.name = format!("{given}-{number}");
            number += 1;
        }
        at.converted(format!("called `{}`: there is another `{given}`", read.name));
        read.map.insert("name".to_owned(), json!(read.name));
    }
    found.push(read);
}

fn workflow(mut record: Record<'_>, key: Option<&str>, stem: &str) -> Option<ReadWorkflow> {
    let name = match (record.text("name"), key) {
        (Some(said), _) => Names::default().take(&said, stem, ""),
        (None, Some(key)) => names::plain(key, stem),
        (None, None) => {
            record.report.added("name", format!("not given: the workflow is called `{stem}`"));
            stem.to_owned()
        }
    };
    let mut map = Map::from_iter([("name".to_owned(), json!(name))]);
    for key in OF_WORKFLOW {
        let Some(field) = record.take(key) else { continue };
        let mut value = field.node.to_value();
        if key == "rejectionStrategy" && value == "predecessors" {
            field.at.converted("`previous`");
            value = json!("previous");
        } else {
            field.at.kept();
        }
        map.insert(key.to_owned(), value);
    }
    let mut roles = RolesNeeded::default();
    let gates = match (record.take("gates"), record.take("hops")) {
        (Some(field), hops) => {
            if let Some(hops) = hops {
                hops.at.dropped("the workflow has gates");
            }
            gates(&field, &mut roles)?
        }
        (None, Some(field)) => hops::read(&field, &mut roles)?,
        (None, None) => {
            record.missing(format!("the workflow `{name}` has neither `gates` nor `hops`"));
            return None;
        }
    };
    map.insert("gates".to_owned(), Value::Array(gates));
    record.finish(|_| None);
    Some(ReadWorkflow { name, map, roles })
}

fn gates(field: &Field<'_>, roles: &mut RolesNeeded) -> Option<Vec<Value>> {
    if !matches!(field.node.kind, Kind::Sequence(_)) {
        field.wrong("a list of gates");
        return None;
    }
    let mut names = GateNames::default();
    let mut list = Vec::new();
    let records = field.records("a list of gates", "a gate", Some("the workflow has no gates"));
    for (index, mut record) in records.into_iter().enumerate() {
        let mut map = names.named(&mut record, &field.at.path, index, roles);
        copy(&mut record, &OF_GATE, &mut map, roles);
        for branch in map.get("branches").and_then(Value::as_array).into_iter().flatten() {
            if let Some(role) = branch["role"].as_str() {
                roles.add(role, None);
            }
        }
        record.finish(|_| None);
        list.push(map);
    }
    // Any gate may be named before it comes up, so references are settled last.
    for map in &mut list {
        let ours = map.get("rejectTo").and_then(Value::as_str);
        if let Some(ours) = ours.and_then(|foreign| names.gates.get(foreign)) {
            map.insert("rejectTo".to_owned(), json!(ours));
        }
    }
    Some(list.into_iter().map(Value::Object).collect())
}

/// Copies the fields that mean the same here.
fn copy(
    record: &mut Record<'_>,
    keys: &[&'static str],
    map: &mut Map<String, Value>,
    roles: &mut RolesNeeded,
) {
    for key in keys {
        if let Some(field) = record.take(key) {
            field.at.kept();
            map.insert((*key).to_owned(), field.node.to_value());
        }
    }
    if let Some(role) = map.get("escalateTo").and_then(Value::as_str) {
        roles.add(role, None);
    }
}

/// The names of gates and roles.
#[derive(Default)]
struct GateNames {
    gates: Names,
    roles: Names,
}

impl GateNames {
    /// Returns the gate with its id and its role.
    fn named(
        &mut self,
        record: &mut Record<'_>,
        parent: &str,
        index: usize,
        roles: &mut RolesNeeded,
    ) -> Map<String, Value> {
        let mut map = Map::new();
        let kind = record.peek("type").and_then(scalar);
        if let Some(said) = record.own_name("id", parent) {
            let id = self.gates.take(&said, &format!("gate-{}", index + 1), "");
            map.insert("id".to_owned(), json!(id));
        } else {
            record.missing(format!("gate {} has no `id`", index + 1));
        }
        if let Some(said) = record.text("role") {
            let role = match self.roles.get(&said.value).map(str::to_owned) {
                Some(known) if known == said.value => said.kept(),
                Some(known) => {
                    said.at.converted(format!("`{known}`"));
                    known
                }
                None => self.roles.take(&said, "role", ""),
            };
            if record.peek("requireHuman").is_some_and(|node| node.kind == Kind::Bool(true)) {
                roles.add_people(&role, None);
            } else {
                roles.add(&role, None);
            }
            map.insert("role".to_owned(), json!(role));
        } else if !matches!(kind.as_deref(), Some("condition" | "fork")) {
            record.missing(format!("`{}` has no `role`", record.path));
        }
        map
    }
}
