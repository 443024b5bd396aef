//! Earlier files of aof: gates in order, which are ours as they stand, and hops that depend on each other.

pub(crate) mod hops;

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::import::{Read, Roles};
use super::names;
use super::names::Names;
use super::record::{Field, Record, join, scalar};
use super::report::{At, Ledger};
use crate::files::yaml::{Fault, Kind, Node};

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
pub(crate) fn read(root: &Node<'static>, stem: &str, ledger: &mut Ledger<'_>) -> Vec<Read> {
    let Some(mut top) = Record::of(root, "", "a file of aof", ledger) else { return Vec::new() };
    let mut found = Vec::new();
    if top.has("gates") || top.has("hops") {
        found.extend(workflow(top, None, stem, ledger));
        return found;
    }
    if let Some(field) = top.take("workflow")
        && let Some(record) = Record::of(field.node, "workflow", "a workflow", ledger)
    {
        found.extend(workflow(record, None, stem, ledger));
    }
    for key in ["workflows", "workflowTemplates"] {
        let Some(field) = top.take(key) else { continue };
        for read in several(&field, stem, ledger) {
            keep(read, &field, &mut found, ledger);
        }
    }
    let no_workflow = found.is_empty() && ledger.faults.is_empty();
    let start = top.start();
    top.finish(ledger, |key| match key {
        "roles" | "agents" | "teams" => Some("who works is in org.yaml"),
        _ => Some("no part of a workflow: it belongs into project.yaml, if anywhere"),
    });
    if no_workflow {
        let help = "import the file that has `workflow`, `workflows`, `gates` or `hops`";
        ledger.fault(
            Fault::new("no_workflow", start, "there is no workflow in this file").help(help),
        );
    }
    found
}

fn several(field: &Field<'_>, stem: &str, ledger: &mut Ledger<'_>) -> Vec<Read> {
    let mut found = Vec::new();
    match &field.node.kind {
        Kind::Mapping(entries) => {
            for entry in entries {
                let path = join(&field.at.path, &entry.key.text);
                let Some(record) = Record::of(&entry.value, &path, "a workflow", ledger) else {
                    continue;
                };
                found.extend(workflow(record, Some(&entry.key.text), stem, ledger));
            }
        }
        Kind::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                let path = format!("{}.{}", field.at.path, index + 1);
                let Some(record) = Record::of(item, &path, "a workflow", ledger) else { continue };
                found.extend(workflow(record, None, stem, ledger));
            }
        }
        _ => ledger.fault(field.wrong("a mapping of names and workflows")),
    }
    found
}

/// A template that says what the workflow of its name says is no second workflow.
fn keep(mut read: Read, field: &Field<'_>, found: &mut Vec<Read>, ledger: &mut Ledger<'_>) {
    let Some(same) = found.iter().find(|other| other.name == read.name) else {
        found.push(read);
        return;
    };
    let at = At { path: join(&field.at.path, &read.name), ..field.at.clone() };
    if same.map.get("gates") == read.map.get("gates") {
        ledger.dropped(&at, format!("the same gates as the workflow `{}` before it", read.name));
        return;
    }
    let mut number = 2;
    let given = read.name.clone();
    while found.iter().any(|other| other.name == read.name) {
        read.name = format!("{given}-{number}");
        number += 1;
    }
    ledger.converted(&at, format!("called `{}`: there is another `{given}`", read.name));
    read.map.insert("name".to_owned(), json!(read.name));
    found.push(read);
}

fn workflow(
    mut record: Record<'_>,
    key: Option<&str>,
    stem: &str,
    ledger: &mut Ledger<'_>,
) -> Option<Read> {
    let mut map = Map::new();
    let name = match (record.text("name", ledger), key) {
        (Some((text, field)), _) => {
            let (name, why) = Names::default().add(&text, stem);
            match why {
                Some(why) => ledger.converted(&field.at, why),
                None => ledger.kept(&field.at),
            }
            name
        }
        (None, Some(key)) => names::plain(key, stem),
        (None, None) => {
            ledger.supplied("name", format!("not given: the workflow is called `{stem}`"));
            stem.to_owned()
        }
    };
    map.insert("name".to_owned(), json!(name));
    for key in OF_WORKFLOW {
        if let Some(field) = record.take(key) {
            let value = field.node.to_value();
            let value = match value.as_str() {
                Some("predecessors") if key == "rejectionStrategy" => {
                    ledger.converted(&field.at, "`previous`");
                    json!("previous")
                }
                _ => {
                    ledger.kept(&field.at);
                    value
                }
            };
            map.insert(key.to_owned(), value);
        }
    }
    let mut roles = Roles::default();
    let gates = match (record.take("gates"), record.take("hops")) {
        (Some(field), hops) => {
            if let Some(hops) = hops {
                ledger.dropped(&hops.at, "the workflow has gates");
            }
            gates(&field, &mut roles, ledger)?
        }
        (None, Some(field)) => hops::read(&field, &mut roles, ledger)?,
        (None, None) => {
            let message = format!("the workflow `{name}` has neither `gates` nor `hops`");
            ledger.fault(Fault::new("missing_field", record.start(), message));
            return None;
        }
    };
    map.insert("gates".to_owned(), Value::Array(gates));
    record.finish(ledger, |_| None);
    Some(Read { name, map, roles })
}

fn gates(field: &Field<'_>, roles: &mut Roles, ledger: &mut Ledger<'_>) -> Option<Vec<Value>> {
    let Kind::Sequence(items) = &field.node.kind else {
        ledger.fault(field.wrong("a list of gates"));
        return None;
    };
    if items.is_empty() {
        ledger.fault(Fault::new("no_gates", field.node.span.clone(), "the workflow has no gates"));
    }
    let mut naming = Naming::default();
    let mut list = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let path = format!("{}.{}", field.at.path, index + 1);
        let Some(mut record) = Record::of(item, &path, "a gate", ledger) else { continue };
        let mut map = naming.named(&mut record, index, roles, ledger);
        for key in OF_GATE {
            if let Some(field) = record.take(key) {
                ledger.kept(&field.at);
                map.insert(key.to_owned(), field.node.to_value());
            }
        }
        if let Some(role) = map.get("escalateTo").and_then(Value::as_str) {
            roles.add(role, None);
        }
        for branch in map.get("branches").and_then(Value::as_array).into_iter().flatten() {
            if let Some(role) = branch.get("role").and_then(Value::as_str) {
                roles.add(role, None);
            }
        }
        record.finish(ledger, |_| None);
        list.push(map);
    }
    // Any gate may be named before it comes up, so references are settled last.
    for map in &mut list {
        naming.refer(map);
    }
    Some(list.into_iter().map(Value::Object).collect())
}

/// The names of gates and roles, where they had to change.
#[derive(Default)]
struct Naming {
    gates: Names,
    roles: Names,
    changed: HashMap<String, String>,
}

impl Naming {
    /// Returns the gate with its id and its role.
    fn named(
        &mut self,
        record: &mut Record<'_>,
        index: usize,
        roles: &mut Roles,
        ledger: &mut Ledger<'_>,
    ) -> Map<String, Value> {
        let mut map = Map::new();
        let kind = record.peek("type").and_then(scalar);
        match record.text("id", ledger) {
            Some((text, field)) => {
                record.called(format!(
                    "{}.{text}",
                    record.path().rsplit_once('.').map_or("", |(path, _)| path)
                ));
                let at = At { path: join(record.path(), "id"), ..field.at };
                let (id, why) = self.gates.add(&text, &format!("gate-{}", index + 1));
                match why {
                    Some(why) => ledger.converted(&at, why),
                    None => ledger.kept(&at),
                }
                self.changed.insert(text, id.clone());
                map.insert("id".to_owned(), json!(id));
            }
            None => {
                ledger.fault(Fault::new(
                    "missing_field",
                    record.start(),
                    format!("gate {} has no `id`", index + 1),
                ));
            }
        }
        match record.text("role", ledger) {
            Some((text, field)) => {
                let known = self.roles.get(&text).map(str::to_owned);
                let (role, why) =
                    known.map_or_else(|| self.roles.add(&text, "role"), |known| (known, None));
                match why {
                    Some(why) => ledger.converted(&field.at, why),
                    None if role == text => ledger.kept(&field.at),
                    None => ledger.converted(&field.at, format!("`{role}`")),
                }
                if record.peek("requireHuman").is_some_and(|node| node.kind == Kind::Bool(true)) {
                    roles.add_people(&role, None);
                } else {
                    roles.add(&role, None);
                }
                map.insert("role".to_owned(), json!(role));
            }
            None if matches!(kind.as_deref(), Some("condition" | "fork")) => {}
            None => {
                ledger.fault(Fault::new(
                    "missing_field",
                    record.start(),
                    format!("`{}` has no `role`", record.path()),
                ));
            }
        }
        map
    }

    /// Names other gates as they are called now.
    fn refer(&self, map: &mut Map<String, Value>) {
        let ours = |text: &str| self.changed.get(text).filter(|ours| *ours != text).cloned();
        if let Some(name) = map.get("rejectTo").and_then(Value::as_str).and_then(ours) {
            map.insert("rejectTo".to_owned(), json!(name));
        }
    }
}
