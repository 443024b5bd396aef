//! Hops: gates that wait for others. Where they make a line, or fan out and come together again, they are gates and forks.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use super::Naming;
use crate::files::yaml::{Fault, Kind};
use crate::setup::import::import::Roles;
use crate::setup::import::record::{Field, Record, join};
use crate::setup::import::report::{At, Ledger};

/// A hop as the file has it.
struct Hop {
    foreign: String,
    at: At,
    /// The gate's fields, its id and role among them.
    map: Map<String, Value>,
    depends: BTreeSet<String>,
    depends_at: Option<At>,
    join: Option<(String, At)>,
}

/// The fields of a hop that mean the same at a gate.
const SAME: [&str; 10] = [
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
pub(crate) fn read(
    field: &Field<'_>,
    roles: &mut Roles,
    ledger: &mut Ledger<'_>,
) -> Option<Vec<Value>> {
    let Kind::Sequence(items) = &field.node.kind else {
        ledger.fault(field.wrong("a list of hops"));
        return None;
    };
    if items.is_empty() {
        ledger.fault(Fault::new("no_gates", field.node.span.clone(), "the workflow has no hops"));
        return None;
    }
    let mut naming = Naming::default();
    let mut hops = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let path = format!("{}.{}", field.at.path, index + 1);
        let Some(record) = Record::of(item, &path, "a hop", ledger) else { continue };
        hops.push(hop(record, index, &mut naming, roles, ledger));
    }
    if !ledger.faults.is_empty() {
        return None;
    }
    let layers = layers(&hops, ledger)?;
    if let Some((_, at)) = layers.first().and_then(|first| hops[*first.first()?].join.as_ref()) {
        ledger.dropped(at, "nothing stands before it, so there is nothing to join");
    }
    Some(gates(hops, &layers, &mut naming, ledger))
}

fn hop(
    mut record: Record<'_>,
    index: usize,
    naming: &mut Naming,
    roles: &mut Roles,
    ledger: &mut Ledger<'_>,
) -> Hop {
    let foreign = record.peek("id").and_then(|node| node.as_str()).unwrap_or_default().to_owned();
    let mut map = naming.named(&mut record, index, roles, ledger);
    let at = At { path: record.path().to_owned(), span: record.start() };
    for key in SAME {
        if let Some(field) = record.take(key) {
            ledger.kept(&field.at);
            map.insert(key.to_owned(), field.node.to_value());
        }
    }
    if let Some(role) = map.get("escalateTo").and_then(Value::as_str) {
        roles.add(role, None);
    }
    let depends = record.take("dependsOn");
    let depends_at = depends.as_ref().map(|field| field.at.clone());
    let depends =
        depends.and_then(|field| field.texts(ledger)).unwrap_or_default().into_iter().collect();
    let join = record.text("joinType", ledger).map(|(text, field)| (text, field.at));
    match record.flag("autoAdvance", ledger) {
        Some((true, field)) => ledger.dropped(&field.at, "what a gate does anyway"),
        Some((false, field)) => {
            ledger.lost(
                &field.at,
                "somebody has to send the task on by hand: put a gate for people behind it",
            );
        }
        None => {}
    }
    if let Some(field) = record.take("condition") {
        ledger.lost(&field.at, "a condition as data: write it as `when`, an expression");
    }
    if let Some(field) = record.take("rejectionStrategy") {
        ledger.dropped(&field.at, "one for the whole workflow: `rejectionStrategy` at its top");
    }
    record.finish(ledger, |_| None);
    Hop { foreign, at, map, depends, depends_at, join }
}

/// Returns the hops in steps, each step waiting for all of the one before; nothing else is a list of gates.
fn layers(hops: &[Hop], ledger: &mut Ledger<'_>) -> Option<Vec<Vec<usize>>> {
    let places: HashMap<&str, usize> =
        hops.iter().enumerate().map(|(index, hop)| (hop.foreign.as_str(), index)).collect();
    for hop in hops {
        for name in hop.depends.iter().filter(|name| !places.contains_key(name.as_str())) {
            let span = hop.depends_at.as_ref().map_or(0..0, |at| at.span.clone());
            ledger.fault(Fault::new(
                "unknown_gate",
                span,
                format!("`{}` waits for `{name}`, which is no hop", hop.foreign),
            ));
        }
    }
    if !ledger.faults.is_empty() {
        return None;
    }
    if hops.iter().all(|hop| hop.depends.is_empty()) {
        if hops.len() > 1 {
            ledger.supplied(
                "dependsOn",
                "no hop waits for another: they are gates in the order of the list",
            );
        }
        return Some((0..hops.len()).map(|index| vec![index]).collect());
    }
    let mut layers: Vec<Vec<usize>> = Vec::new();
    let mut placed: BTreeSet<usize> = BTreeSet::new();
    let mut before: BTreeSet<String> = BTreeSet::new();
    while placed.len() < hops.len() {
        let ready: Vec<usize> = (0..hops.len())
            .filter(|index| !placed.contains(index))
            .filter(|index| {
                hops[*index].depends.iter().all(|name| placed.contains(&places[name.as_str()]))
            })
            .collect();
        if ready.is_empty() {
            let stuck = (0..hops.len()).find(|index| !placed.contains(index)).unwrap_or_default();
            let hop = &hops[stuck];
            let span = hop.depends_at.as_ref().map_or(0..0, |at| at.span.clone());
            ledger.fault(Fault::new(
                "cycle",
                span,
                format!("`{}` waits for itself, over other hops", hop.foreign),
            ));
            return None;
        }
        for index in &ready {
            let hop = &hops[*index];
            let at = hop.depends_at.clone().unwrap_or_else(|| hop.at.clone());
            if hop.depends == before {
                let what =
                    if layers.is_empty() { "it comes first" } else { "the order of the gates" };
                ledger.converted(&at, what);
            } else {
                ledger.lost(
                    &at,
                    "it waits for some of the hops before it, not for all: gates are one line",
                );
            }
        }
        before = ready.iter().map(|index| hops[*index].foreign.clone()).collect();
        placed.extend(&ready);
        layers.push(ready);
    }
    Some(layers)
}

fn gates(
    hops: Vec<Hop>,
    layers: &[Vec<usize>],
    naming: &mut Naming,
    ledger: &mut Ledger<'_>,
) -> Vec<Value> {
    let mut hops: Vec<Option<Hop>> = hops.into_iter().map(Some).collect();
    let mut list = Vec::new();
    for (number, layer) in layers.iter().enumerate() {
        let mut joins: Vec<(String, At)> = Vec::new();
        joins.extend(
            layers
                .get(number + 1)
                .into_iter()
                .flatten()
                .filter_map(|index| hops[*index].as_ref()?.join.clone()),
        );
        let mut members: Vec<Hop> = layer.iter().filter_map(|index| hops[*index].take()).collect();
        if let [only] = members.as_mut_slice() {
            list.push(Value::Object(std::mem::take(&mut only.map)));
            for (_, at) in joins {
                ledger.dropped(&at, "one gate stands before it, so there is nothing to join");
            }
            continue;
        }
        let ids: Vec<&str> = members.iter().filter_map(|hop| hop.map["id"].as_str()).collect();
        let id = naming.gates.invent(&ids.join("-and-"));
        ledger.supplied(
            join("gates", &id),
            "hops that wait for the same become the branches of a fork",
        );
        let mut fork = Map::new();
        fork.insert("id".to_owned(), json!(id));
        fork.insert("type".to_owned(), json!("fork"));
        fork.insert(
            "branches".to_owned(),
            members.into_iter().map(|hop| Value::Object(hop.map)).collect(),
        );
        for (word, at) in joins {
            match word.as_str() {
                "any" => {
                    ledger.converted(&at, format!("`joinStrategy: any` of the fork `{id}`"));
                    fork.insert("joinStrategy".to_owned(), json!("any"));
                }
                "all" => ledger.converted(
                    &at,
                    format!("`joinStrategy: all` of the fork `{id}`, which is the default"),
                ),
                _ => ledger.lost(&at, format!("`{word}` is no way to join that is known here")),
            }
        }
        list.push(Value::Object(fork));
    }
    list
}
