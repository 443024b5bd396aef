//! Files of earlier versions of aof: gates in order, which are kept, and hops that depend on each other. Hops in a line become gates;
//! hops that fan out and join again become forks.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use super::names::Names;
use super::record::{FieldTable, ImportReport, Record, join};
use super::workflow_draft::{ReadWorkflow, RolesNeeded, workflow_name};
use crate::domain::FieldFate::{Converted, Dropped, Kept, Lost};
use crate::files::yaml::Node;

/// The fields of a workflow that are kept unchanged.
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
/// The fields of a gate that are kept unchanged, each with true if a hop has it too.
const OF_GATE: [(&str, bool); 25] = [
    ("type", false),
    ("description", true),
    ("detour", false),
    ("when", true),
    ("onConditionError", false),
    ("canReject", true),
    ("canSkip", true),
    ("requireHuman", true),
    ("timeout", true),
    ("escalateTo", true),
    ("lease", true),
    ("run", true),
    ("signal", false),
    ("routes", false),
    ("onFailure", false),
    ("maxRetries", false),
    ("onExhausted", false),
    ("outputs", false),
    ("separateFrom", false),
    ("branches", false),
    ("joinStrategy", false),
    ("files", false),
    ("brief", false),
    ("metadata", true),
    ("rejectTo", false),
];

const NO_PART: FieldTable = &[
    ("roles", Dropped, "who works is in org.yaml"),
    ("agents", Dropped, "who works is in org.yaml"),
    ("teams", Dropped, "who works is in org.yaml"),
    ("*", Dropped, "no part of a workflow: it belongs into project.yaml, if anywhere"),
];
const HOPS: FieldTable = &[
    ("hops", Dropped, "the workflow has gates"),
    ("rejectionStrategy", Dropped, "what a rejection does anyway"),
    ("joinType", Dropped, "at most one gate stands before it, so there is nothing to join"),
];

/// Returns the workflows of the file: its own, and those of its templates.
pub(crate) fn read(top: &Record<'_>, stem: &str) -> Vec<ReadWorkflow> {
    if top.has("gates") || top.has("hops") {
        return workflow(top, None, stem).into_iter().collect();
    }
    let mut found = Vec::new();
    if let Some(record) = top.record("workflow") {
        found.extend(workflow(&record, None, stem));
    }
    for key in ["workflows", "workflowTemplates"] {
        for (name, record) in top.workflows(key) {
            if let Some(read) = workflow(&record, name, stem) {
                add_workflow(read, &record, &mut found);
            }
        }
    }
    if found.is_empty() && !top.report.has_faults() {
        let help = "import the file that has `workflow`, `workflows`, `gates` or `hops`";
        top.at("").fault("no_workflow", "there is no workflow in this file", help);
    }
    top.finish(&[NO_PART]);
    found
}

/// Adds a workflow, unless it is a template equal to the workflow of the same name.
fn add_workflow(mut read: ReadWorkflow, record: &Record<'_>, found: &mut Vec<ReadWorkflow>) {
    if let Some(same) = found.iter().find(|other| other.name == read.name) {
        let given = read.name.clone();
        if same.map.get("gates") == read.map.get("gates") {
            let note = format!("the same gates as the workflow `{given}` before it");
            return record.note("name", Dropped, note);
        }
        let mut numbers = (2..).map(|number| format!("{given}-{number}"));
        let is_free = |name: &String| found.iter().all(|other| other.name != *name);
        read.name = numbers.find(is_free).unwrap_or_default();
        let note = format!("called `{}`: there is another `{given}`", read.name);
        record.note("name", Converted, note);
        read.map.insert("name".to_owned(), json!(read.name));
    }
    found.push(read);
}

fn workflow(record: &Record<'_>, key: Option<&str>, stem: &str) -> Option<ReadWorkflow> {
    let name = workflow_name(record, "name", (key, stem), &mut Names::default());
    let mut map = Map::from_iter([("name".to_owned(), json!(name))]);
    copy(record, OF_WORKFLOW, &mut map);
    if map.get("rejectionStrategy").is_some_and(|strategy| strategy == "predecessors") {
        map.insert("rejectionStrategy".to_owned(), json!("previous"));
    }
    let (mut names, mut roles) = (GateNames::default(), RolesNeeded::default());
    let gates = if record.has("gates") {
        let gates = record.records("gates", "a list of gates", "a gate").into_iter().enumerate();
        let read = |(index, gate)| {
            let (map, gate) = names.read(gate, index, OF_GATE.map(|(key, _)| key), &mut roles);
            gate.finish(&[]);
            map
        };
        gates.map(read).collect()
    } else if record.has("hops") {
        let hops = record.records("hops", "a list of hops", "a hop").into_iter().enumerate();
        let hops: Vec<Hop<'_>> =
            hops.map(|(index, hop)| read_hop(hop, index, &mut names, &mut roles)).collect();
        let layers = layers(&hops, record.report)?;
        let gates = gates(&hops, &layers, &mut names);
        for hop in &hops {
            hop.record.finish(&[HOPS]);
        }
        gates
    } else {
        record.missing(format!("the workflow `{name}` has neither `gates` nor `hops`"));
        return None;
    };
    if gates.is_empty() && !record.report.has_faults() {
        record.missing("the workflow has no gates");
    }
    let mut gates: Vec<Value> = gates.into_iter().map(Value::Object).collect();
    // A gate may be referenced before it is defined, so references are replaced last.
    for gate in &mut gates {
        if let Some(ours) = gate["rejectTo"].as_str().and_then(|foreign| names.gates.get(foreign)) {
            gate["rejectTo"] = json!(ours);
        }
    }
    map.insert("gates".to_owned(), Value::Array(gates));
    record.finish(&[HOPS]);
    Some(ReadWorkflow { name, map, roles })
}

/// Copies the fields that have the same meaning here.
fn copy(
    record: &Record<'_>,
    keys: impl IntoIterator<Item = &'static str>,
    map: &mut Map<String, Value>,
) {
    for key in keys {
        if let Some(node) = record.get(key) {
            record.note(key, Kept, "");
            map.insert(key.to_owned(), node.to_value());
        }
    }
}

/// The names of gates and roles.
#[derive(Default)]
struct GateNames {
    gates: Names,
    roles: Names,
}

impl GateNames {
    /// Returns a gate or a hop with its id, its role, and the fields that have the same meaning here; and its record under its name.
    fn read<'n>(
        &mut self,
        mut record: Record<'n>,
        index: usize,
        keys: impl IntoIterator<Item = &'static str>,
        roles: &mut RolesNeeded,
    ) -> (Map<String, Value>, Record<'n>) {
        let mut map = Map::new();
        let kind = record.text("type");
        if let Some(id) = record.text("id") {
            let parent = record.path.rsplit_once('.').map_or("", |(parent, _)| parent);
            record.path = join(parent, &id);
            let fallback = format!("gate-{}", index + 1);
            let ours = self.gates.take(&record.at("id"), &id, &fallback, "");
            map.insert("id".to_owned(), json!(ours));
        } else {
            record.missing(format!("gate {} has no `id`", index + 1));
        }
        if let Some(foreign) = record.text("role") {
            let role = match self.roles.get(&foreign).map(str::to_owned) {
                Some(known) => {
                    let fate = if known == foreign { Kept } else { Converted };
                    record.note("role", fate, if fate == Kept { "" } else { &known });
                    known
                }
                None => self.roles.take(&record.at("role"), &foreign, "role", ""),
            };
            roles.add(&role, None, record.flag("requireHuman") == Some(true));
            map.insert("role".to_owned(), json!(role));
        } else if !matches!(kind.as_deref(), Some("condition" | "fork")) {
            record.missing(format!("`{}` has no `role`", record.path));
        }
        copy(&record, keys, &mut map);
        let branches = map.get("branches").and_then(Value::as_array).into_iter().flatten();
        let others = branches.map(|branch| &branch["role"]).chain(map.get("escalateTo"));
        others.filter_map(Value::as_str).for_each(|role| roles.add(role, None, false));
        (map, record)
    }
}

/// A hop of the file.
struct Hop<'n> {
    foreign: String,
    record: Record<'n>,
    /// The gate's fields, including its id and role.
    map: Map<String, Value>,
    depends: BTreeSet<String>,
}

fn read_hop<'n>(
    record: Record<'n>,
    index: usize,
    names: &mut GateNames,
    roles: &mut RolesNeeded,
) -> Hop<'n> {
    let of_hop = OF_GATE.into_iter().filter(|(_, is_of_hop)| *is_of_hop).map(|(key, _)| key);
    let (mut map, record) = names.read(record, index, of_hop, roles);
    if let Some(condition) = record.get("condition") {
        if let Some(when) = expression(condition) {
            record.note("condition", Converted, format!("`when: {when}`"));
            map.insert("when".to_owned(), json!(when));
        } else {
            let note = "it asks for what `when` cannot see: write it as an expression over tags, metadata or earlier visits";
            record.note("condition", Lost, note);
        }
    }
    if record.text("rejectionStrategy").as_deref() == Some("predecessors")
        && record.flag("canReject") == Some(true)
    {
        record.note("rejectionStrategy", Converted, "`routes: {needs_review: $previous}`");
        map.insert("routes".to_owned(), json!({"needs_review": "$previous"}));
    }
    match record.flag("autoAdvance") {
        Some(true) => record.note("autoAdvance", Dropped, "what a gate does anyway"),
        Some(false) => {
            let note = "somebody has to send the task on by hand: put a gate for people behind it";
            record.note("autoAdvance", Lost, note);
        }
        None => {}
    }
    let depends = record.texts("dependsOn").unwrap_or_default().into_iter().collect();
    Hop { foreign: record.text("id").unwrap_or_default(), record, map, depends }
}

/// Returns a structured condition as an expression; `None` if it asks for something that expressions cannot see.
fn expression(node: &Node<'_>) -> Option<String> {
    let text = |key: &str| node.get(key)?.as_str().map(|text| json!(text).to_string());
    let all = |sign: &str| {
        let parts: Option<Vec<String>> =
            node.get("conditions")?.items().iter().map(expression).collect();
        Some(format!("({})", parts.filter(|parts| !parts.is_empty())?.join(sign)))
    };
    let compared = |sign: &str| {
        let field = match node.get("field")?.as_str()? {
            "task.priority" => "metadata.priority",
            "task.tags" => return None,
            field => field.strip_prefix("task.").filter(|field| field.starts_with("metadata."))?,
        };
        Some(format!("{field} {sign} {}", node.get("value")?.to_value()))
    };
    match node.get("op")?.as_str()? {
        "has_tag" => Some(format!("tags.includes({})", text("value")?)),
        "hop_status" => {
            let ended = match node.get("status")?.as_str()? {
                "complete" => "complete",
                _ => return None,
            };
            let hop = text("hop")?;
            Some(format!(
                "gateHistory.some(visit => visit.gate === {hop} && visit.outcome === \"{ended}\")"
            ))
        }
        "and" => all(" && "),
        "or" => all(" || "),
        "not" => Some(format!("!({})", expression(node.get("condition")?)?)),
        "eq" => compared("==="),
        "neq" => compared("!=="),
        "gt" => compared(">"),
        "gte" => compared(">="),
        "lt" => compared("<"),
        "lte" => compared("<="),
        "true" => Some("true".to_owned()),
        "false" => Some("false".to_owned()),
        _ => None,
    }
}

/// Returns the hops that a hop waits for, without those that another of them waits for anyway.
fn needed<'h>(
    hop: &'h Hop<'_>,
    hops: &'h [Hop<'_>],
    places: &HashMap<&str, usize>,
) -> BTreeSet<&'h str> {
    let mut implied: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&str> = hop.depends.iter().map(String::as_str).collect();
    while let Some(name) = open.pop() {
        for earlier in &hops[places[name]].depends {
            if implied.insert(earlier) {
                open.push(earlier);
            }
        }
    }
    hop.depends.iter().map(String::as_str).filter(|name| !implied.contains(name)).collect()
}

/// Returns the hops in layers, each of which waits for the whole layer before it. Reports dependencies that this loses.
fn layers(hops: &[Hop<'_>], report: &ImportReport<'_>) -> Option<Vec<Vec<usize>>> {
    let places: HashMap<&str, usize> =
        hops.iter().enumerate().map(|(index, hop)| (hop.foreign.as_str(), index)).collect();
    for hop in hops {
        for name in hop.depends.iter().filter(|name| !places.contains_key(name.as_str())) {
            let message = format!("`{}` waits for `{name}`, which is no hop", hop.foreign);
            hop.record.at("dependsOn").fault("unknown_gate", message, "");
        }
    }
    if report.has_faults() {
        return None;
    }
    if hops.iter().all(|hop| hop.depends.is_empty()) {
        if hops.len() > 1 {
            let note = "no hop waits for another: they are gates in the order of the list";
            report.added("dependsOn", note);
        }
        return Some((0..hops.len()).map(|index| vec![index]).collect());
    }
    let mut layers: Vec<Vec<usize>> = Vec::new();
    let mut waiting: BTreeSet<usize> = (0..hops.len()).collect();
    let mut before: BTreeSet<&str> = BTreeSet::new();
    while let Some(first) = waiting.first().copied() {
        let is_ready = |index: &usize| {
            hops[*index].depends.iter().all(|name| !waiting.contains(&places[name.as_str()]))
        };
        let ready: Vec<usize> = waiting.iter().copied().filter(is_ready).collect();
        if ready.is_empty() {
            let message = format!("`{}` waits for itself, over other hops", hops[first].foreign);
            hops[first].record.at("dependsOn").fault("cycle", message, "");
            return None;
        }
        for hop in ready.iter().map(|index| &hops[*index]) {
            if needed(hop, hops, &places) != before {
                let note =
                    "it waits for some of the hops before it, not for all: gates are one line";
                hop.record.note("dependsOn", Lost, note);
            } else if hop.record.has("dependsOn") {
                hop.record.note("dependsOn", Converted, "the order of the gates");
            }
        }
        before = ready.iter().map(|index| hops[*index].foreign.as_str()).collect();
        waiting.retain(|index| !ready.contains(index));
        layers.push(ready);
    }
    Some(layers)
}

fn gates(
    hops: &[Hop<'_>],
    layers: &[Vec<usize>],
    names: &mut GateNames,
) -> Vec<Map<String, Value>> {
    let mut list = Vec::new();
    for (number, layer) in layers.iter().enumerate() {
        if let [only] = layer.as_slice() {
            list.push(hops[*only].map.clone());
            continue;
        }
        let ids = layer.iter().filter_map(|index| hops[*index].map["id"].as_str());
        let id = names.gates.invent(&ids.collect::<Vec<_>>().join("-and-"));
        let note = "hops that wait for the same become the branches of a fork";
        hops[layer[0]].record.report.added(join("gates", &id), note);
        let branches = layer.iter().map(|index| Value::Object(hops[*index].map.clone()));
        let mut fork = Map::new();
        fork.insert("id".to_owned(), json!(id));
        fork.insert("type".to_owned(), json!("fork"));
        fork.insert("branches".to_owned(), branches.collect());
        for hop in layers.get(number + 1).into_iter().flatten().map(|index| &hops[*index].record) {
            let Some(join) = hop.text("joinType") else { continue };
            if join == "any" {
                fork.insert("joinStrategy".to_owned(), json!("any"));
            }
            match join.as_str() {
                "any" | "all" => hop.note(
                    "joinType",
                    Converted,
                    format!("`joinStrategy: {join}` of the fork `{id}`"),
                ),
                _ => hop.note(
                    "joinType",
                    Lost,
                    format!("`{join}` is no way to join that is known here"),
                ),
            }
        }
        list.push(fork);
    }
    list
}
