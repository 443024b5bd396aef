//! What a gate hands on, and the texts that speak of what others did.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::keys::{KeyUse, STATUS};
use super::steps::AntfarmStep;
use crate::setup::import::names;
use crate::setup::import::placeholders::{Slot, is_bare, rewritten, slots};
use crate::setup::import::record::Said;
use crate::setup::import::workflow_draft::tidy;

/// Returns the keys of a list as templates name them.
pub(crate) fn asked_keys(list: &Said<'_, Vec<String>>) -> BTreeSet<String> {
    list.value.iter().map(|key| names::key(&key.to_ascii_lowercase())).collect()
}

/// Returns what the gate hands on: the keys that any step reads, and those it must bring; by decision, where it has some.
pub(crate) fn outputs(
    step: &AntfarmStep<'_>,
    index: usize,
    key_use: &KeyUse<'_>,
    required: &BTreeSet<String>,
    decisions: &[String],
) -> Option<Value> {
    let mut keys = if let Some(list) = &step.output_keys {
        list.at.converted("the properties of `outputs`: anything else is not handed on");
        let mut keys = asked_keys(list);
        keys.remove(STATUS);
        keys
    } else {
        key_use.said[index].intersection(&key_use.read).cloned().collect()
    };
    keys.extend(required.iter().cloned());
    if keys.is_empty() {
        return None;
    }
    let texts = keys.into_iter().map(|key| (key, json!({"type": "string"})));
    let properties: Map<String, Value> = texts.collect();
    if decisions.is_empty() {
        let mut shape = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            shape["required"] = json!(required);
        }
        return Some(shape);
    }
    let variant = |word: &String| {
        let mut own = Map::from_iter([("$status".to_owned(), json!({"const": word}))]);
        own.extend(properties.clone());
        let required: Vec<&str> =
            ["$status"].into_iter().chain(required.iter().map(String::as_str)).collect();
        json!({"properties": own, "required": required})
    };
    Some(json!({"oneOf": decisions.iter().map(variant).collect::<Vec<Value>>()}))
}

/// Returns a step's input with slots of ours. Keys that no earlier step says are added to the `context`.
pub(crate) fn instructions(
    input: &Said<'_>,
    steps: &[AntfarmStep<'_>],
    index: usize,
    key_use: &KeyUse<'_>,
    context: &mut Map<String, Value>,
) -> String {
    let text = &input.value;
    let mut notes: BTreeMap<String, String> = BTreeMap::new();
    let mut inputs = BTreeSet::new();
    let tagged = slots(text).any(|slot| slot.starts_with("if ") || slot.starts_with("range "));
    let mut convert = |inner: &str| {
        let mut note = |text: String| drop(notes.insert(inner.to_owned(), text));
        if inner == "task" {
            return Slot::Name("task".to_owned());
        }
        if inner == "run_id" {
            note("`{{task.id}}`".to_owned());
            return Slot::Name("task.id".to_owned());
        }
        if let Some(step) = inner.strip_prefix("steps.") {
            let (step, part) = step.rsplit_once('.').unwrap_or((step, "output"));
            let Some(place) = key_use.places.get(step) else {
                note("left as it stands: there is no such step".to_owned());
                return Slot::Literal;
            };
            let gate = &steps[*place].gate;
            let name = if part == "summary" { format!("{gate}.summary") } else { gate.clone() };
            note(format!("`{{{{{name}}}}}`"));
            return Slot::Name(name);
        }
        if !is_bare(inner) || (tagged && matches!(inner, "end" | "else")) {
            note("left as it stands: it is no key".to_owned());
            return Slot::Literal;
        }
        let is_input = context.contains_key(inner);
        let key = if is_input { inner.to_owned() } else { names::key(&inner.to_ascii_lowercase()) };
        let sayers = key_use.sayers(&key);
        let before = sayers.iter().rev().find(|sayer| **sayer < index);
        if before.is_none() && !context.contains_key(&key) {
            inputs.insert(key.clone());
        }
        // A gate's own name means all that it handed on.
        match before.or(sayers.first()).filter(|_| key_use.places.contains_key(key.as_str())) {
            Some(sayer) => Slot::Name(format!("{}.{key}", steps[*sayer].gate)),
            None => Slot::Name(key),
        }
    };
    let text = rewritten(text, &mut convert);
    for (slot, became) in notes {
        input.at.slot(&slot).converted(became);
    }
    for key in inputs {
        let why = if key_use.sayers.contains_key(&key) {
            "only said later, so it is empty the first time"
        } else {
            "nobody says this key: it comes with the task, or stays empty"
        };
        input.at.report.added(format!("context.input.{key}"), why);
        context.insert(key, json!(""));
    }
    tidy(&text)
}
