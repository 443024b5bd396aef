//! Hops: gates that wait for others. Where they make a line, or fan out and come together again, they are gates and forks.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use super::{GateNames, copy};
use crate::setup::import::record::{Field, Record, Said, join};
use crate::setup::import::report::At;
use crate::setup::import::workflow_draft::RolesNeeded;

/// A hop as the file has it.
struct Hop<'r> {
    foreign: String,
    /// Where it says what it waits for, else where it begins.
    at: At<'r>,
    /// The gate's fields, its id and role among them.
    map: Map<String, Value>,
    depends: BTreeSet<String>,
    join: Option<Said<'r>>,
}

/// The fields of a hop that mean the same at a gate.
const OF_HOP: [&str; 10] = [
    "description",
    "when",
    "canReject",
    "canSkip",
    "requireHuman",
    "timeout",
    "escalateTo",
    "lease",
    "run",
    "metadata",
];

/// Returns the gates of a list of hops.
pub(crate) fn read(field: &Field<'_>, roles: &mut RolesNeeded) -> Option<Vec<Value>> {
    let mut names = GateNames::default();
    let records = field.records("a list of hops", "a hop", Some("the workflow has no hops"));
    let numbered = records.into_iter().enumerate();
    let hops: Vec<Hop<'_>> = numbered
        .map(|(index, record)| hop(record, &field.at.path, index, &mut names, roles))
        .collect();
    if hops.is_empty() || field.at.report.has_faults() {
        return None;
    }
    let layers = layers(&hops)?;
    if let Some(join) = layers.first().and_then(|first| hops[*first.first()?].join.as_ref()) {
        join.at.dropped("nothing stands before it, so there is nothing to join");
    }
    Some(gates(&hops, &layers, &mut names))
}

fn hop<'r>(
    mut record: Record<'r>,
    parent: &str,
    index: usize,
    names: &mut GateNames,
    roles: &mut RolesNeeded,
) -> Hop<'r> {
    let foreign = record.peek("id").and_then(|node| node.as_str()).unwrap_or_default().to_owned();
    let mut map = names.named(&mut record, parent, index, roles);
    copy(&mut record, &OF_HOP, &mut map, roles);
    let depends = record.take("dependsOn");
    let at = depends.as_ref().map_or_else(|| record.start(), |field| field.at.clone());
    let depends = depends.and_then(Field::texts).map(|list| list.value).unwrap_or_default();
    let join = record.text("joinType");
    match record.flag("autoAdvance") {
        Some(Said { value: true, at, .. }) => at.dropped("what a gate does anyway"),
        Some(Said { at, .. }) => {
            at.lost("somebody has to send the task on by hand: put a gate for people behind it");
        }
        None => {}
    }
    if let Some(field) = record.take("condition") {
        field.at.lost("a condition as data: write it as `when`, an expression");
    }
    if let Some(field) = record.take("rejectionStrategy") {
        field.at.dropped("one for the whole workflow: `rejectionStrategy` at its top");
    }
    record.finish(|_| None);
    Hop { foreign, at, map, depends: depends.into_iter().collect(), join }
}

/// Returns the hops in steps, each step waiting for all of the one before; nothing else is a list of gates.
fn layers(hops: &[Hop<'_>]) -> Option<Vec<Vec<usize>>> {
    let report = hops.first()?.at.report;
    let places: HashMap<&str, usize> =
        hops.iter().enumerate().map(|(index, hop)| (hop.foreign.as_str(), index)).collect();
    for hop in hops {
        for name in hop.depends.iter().filter(|name| !places.contains_key(name.as_str())) {
            let message = format!("`{}` waits for `{name}`, which is no hop", hop.foreign);
            hop.at.fault("unknown_gate", message, "");
        }
    }
    if report.has_faults() {
        return None;
    }
    if hops.iter().all(|hop| hop.depends.is_empty()) {
        if hops.len() > 1 {
            let why = "no hop waits for another: they are gates in the order of the list";
            report.added("dependsOn", why);
        }
        return Some((0..hops.len()).map(|index| vec![index]).collect());
    }
    let mut layers: Vec<Vec<usize>> = Vec::new();
    let mut waiting: BTreeSet<usize> = (0..hops.len()).collect();
    let mut before: BTreeSet<String> = BTreeSet::new();
    while let Some(first) = waiting.first().copied() {
        let is_ready = |index: &usize| {
            hops[*index].depends.iter().all(|name| !waiting.contains(&places[name.as_str()]))
        };
        let ready: Vec<usize> = waiting.iter().copied().filter(is_ready).collect();
        if ready.is_empty() {
            let stuck = &hops[first];
            let message = format!("`{}` waits for itself, over other hops", stuck.foreign);
            stuck.at.fault("cycle", message, "");
            return None;
        }
        for hop in ready.iter().map(|index| &hops[*index]) {
            if hop.depends != before {
                hop.at.lost(
                    "it waits for some of the hops before it, not for all: gates are one line",
                );
            } else if layers.is_empty() {
                hop.at.converted("it comes first");
            } else {
                hop.at.converted("the order of the gates");
            }
        }
        before = ready.iter().map(|index| hops[*index].foreign.clone()).collect();
        waiting.retain(|index| !ready.contains(index));
        layers.push(ready);
    }
    Some(layers)
}

fn gates(hops: &[Hop<'_>], layers: &[Vec<usize>], names: &mut GateNames) -> Vec<Value> {
    let mut list = Vec::new();
    for (number, layer) in layers.iter().enumerate() {
        let next = layers.get(number + 1).into_iter().flatten();
        let joins = next.filter_map(|index| hops[*index].join.as_ref());
        let gate = |index: &usize| Value::Object(hops[*index].map.clone());
        if let [only] = layer.as_slice() {
            list.push(gate(only));
            for join in joins {
                join.at.dropped("one gate stands before it, so there is nothing to join");
            }
            continue;
        }
        let ids: Vec<&str> =
            layer.iter().filter_map(|index| hops[*index].map["id"].as_str()).collect();
        let id = names.gates.invent(&ids.join("-and-"));
        let why = "hops that wait for the same become the branches of a fork";
        hops[layer[0]].at.report.added(join("gates", &id), why);
        let branches: Vec<Value> = layer.iter().map(gate).collect();
        let mut fork = json!({"id": id, "type": "fork", "branches": branches});
        for Said { value, at, .. } in joins {
            match value.as_str() {
                "any" => {
                    at.converted(format!("`joinStrategy: any` of the fork `{id}`"));
                    fork["joinStrategy"] = json!("any");
                }
                "all" => at.converted(format!(
                    "`joinStrategy: all` of the fork `{id}`, which is the default"
                )),
                _ => at.lost(format!("`{value}` is no way to join that is known here")),
            }
        }
        list.push(fork);
    }
    list
}
