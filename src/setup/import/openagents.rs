//! openagents: steps that name the next one, several workflows in a file if need be.
//!
//! How it counts: `max_retries` is how often a step is tried in all, so one less is how often it is done again. Where a step
//! says nothing of errors, an error there goes the way of a success; here it fails the task.

pub(crate) mod gates;
pub(crate) mod steps;

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::import::{Read, Roles, tidy};
use super::names;
use super::names::Names;
use super::record::{Field, Record};
use super::report::Ledger;
use super::workflow_draft::Sketch;
use crate::files::yaml::{Entry, Fault, Kind, Node};
use gates::build;
use steps::read_steps;

/// Returns the workflows of the file: the file is one, or has several under `workflows`.
pub(crate) fn read(root: &Node<'static>, stem: &str, ledger: &mut Ledger<'_>) -> Vec<Read> {
    let mut names = Names::default();
    if root.get("workflows").is_none_or(Node::is_null) {
        let Some(record) = Record::of(root, "", "a workflow", ledger) else { return Vec::new() };
        return workflow(record, None, stem, &mut names, ledger).into_iter().collect();
    }
    let Some(mut top) = Record::of(root, "", "a configuration", ledger) else { return Vec::new() };
    let mut found = Vec::new();
    if let Some(field) = top.take("workflows") {
        match &field.node.kind {
            Kind::Mapping(entries) => {
                for Entry { key, value } in entries {
                    let path = format!("workflows.{}", key.text);
                    let Some(record) = Record::of(value, &path, "a workflow", ledger) else {
                        continue;
                    };
                    found.extend(workflow(record, Some(&key.text), stem, &mut names, ledger));
                }
            }
            Kind::Sequence(items) => {
                for (index, item) in items.iter().enumerate() {
                    let path = format!("workflows.{}", index + 1);
                    let Some(record) = Record::of(item, &path, "a workflow", ledger) else {
                        continue;
                    };
                    found.extend(workflow(record, None, stem, &mut names, ledger));
                }
            }
            _ => ledger.fault(field.wrong("a mapping of names and workflows")),
        }
        if found.is_empty() && ledger.faults.is_empty() {
            ledger.fault(Fault::new(
                "no_workflow",
                field.at.span,
                "there is no workflow under `workflows`",
            ));
        }
    }
    top.finish(ledger, |key| match key {
        "default_workflow" => Some("`defaultWorkflow` of project.yaml says it; that file is yours"),
        "workflows_dir" => Some("workflows are in `workflows/`"),
        _ => Some("no part of a workflow"),
    });
    found
}

fn workflow(
    mut record: Record<'_>,
    key: Option<&str>,
    stem: &str,
    names: &mut Names,
    ledger: &mut Ledger<'_>,
) -> Option<Read> {
    let id = record.text("id", ledger).map(|(text, field)| (text, Some(field)));
    let id = id.or_else(|| key.map(|key| (key.to_owned(), None)));
    let id = id.or_else(|| record.text("name", ledger).map(|(text, field)| (text, Some(field))));
    let (foreign, field) = id.unwrap_or_else(|| (stem.to_owned(), None));
    let (name, why) = names.add(&foreign, stem);
    match (field, why) {
        (Some(field), Some(why)) => ledger.converted(&field.at, why),
        (Some(field), None) => ledger.kept_as(&field.at, "as `name`"),
        (None, Some(why)) => ledger.supplied(format!("{}.name", record.path()), why),
        (None, None) if key.is_none() => {
            ledger.supplied("name", format!("the file has no `id`: it is called `{name}`"));
        }
        (None, None) => {}
    }
    let mut sketch = Sketch { name, ..Sketch::default() };
    if let Some((text, field)) = record.text("description", ledger) {
        ledger.kept(&field.at);
        sketch.description = Some(tidy(&text));
    }
    if let Some(field) = record.take("version") {
        ledger.kept(&field.at);
        sketch.version = Some(field.node.to_value());
    }
    if let Some(field) = record.take("visible_to") {
        sketch.visible_to = visible_to(&field, ledger);
    }
    if let Some(field) = record.take("context") {
        sketch.input = context(&field, ledger);
    }
    let Some(field) = record.take("steps") else {
        let message = format!("the workflow `{foreign}` has no `steps`");
        ledger.fault(Fault::new("missing_field", record.start(), message));
        return None;
    };
    let steps = read_steps(&field, ledger);
    record.finish(ledger, |key| match key {
        "name" => Some("`id` is its name"),
        _ => None,
    });
    let mut roles = Roles::default();
    build(&mut sketch, &mut roles, &steps, ledger);
    Some(Read::of(&sketch, roles))
}

fn visible_to(field: &Field<'_>, ledger: &mut Ledger<'_>) -> Vec<String> {
    let given = field.texts(ledger).unwrap_or_default();
    let mut seen = HashSet::new();
    let ours: Vec<String> = given
        .iter()
        .map(|name| names::plain(name, "agent"))
        .filter(|name| seen.insert(name.clone()))
        .collect();
    if ours == given {
        ledger.kept_as(&field.at, "as `visibleTo`");
    } else {
        ledger.converted(&field.at, "`visibleTo`, with names that are allowed here");
    }
    ours
}

fn context(field: &Field<'_>, ledger: &mut Ledger<'_>) -> Map<String, Value> {
    let Kind::Mapping(entries) = &field.node.kind else {
        ledger.fault(field.wrong("a mapping of keys and values"));
        return Map::new();
    };
    ledger.kept_as(&field.at, "as `context.input`");
    entries.iter().map(|entry| (names::key(&entry.key.text), entry.value.to_value())).collect()
}
