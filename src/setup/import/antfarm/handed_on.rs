//! What a gate hands on, and the texts that speak of what others did.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::gates::Gates;
use super::keys::STATUS;
use super::steps::Step;
use super::traffic::Traffic;
use crate::setup::import::import::tidy;
use crate::setup::import::names;
use crate::setup::import::placeholders::{Slot, is_bare, rewritten, slots};
use crate::setup::import::report::At;

impl Gates<'_, '_, '_> {
    /// Returns the keys without which a step is not done.
    pub(crate) fn required(&mut self, step: &Step) -> BTreeSet<String> {
        let Some((keys, at)) = &step.required_outputs else { return BTreeSet::new() };
        self.ledger.converted(at, "`required` of `outputs`");
        keys.iter().map(|key| names::key(&key.to_ascii_lowercase())).collect()
    }

    /// Returns what the gate hands on: the keys that somebody reads, and those it must bring.
    pub(crate) fn outputs(
        &mut self,
        step: &Step,
        index: usize,
        traffic: &Traffic,
        required: &BTreeSet<String>,
        words: &[String],
    ) -> Option<Value> {
        let allowed: Option<BTreeSet<String>> = step.output_keys.as_ref().map(|(keys, at)| {
            self.ledger
                .converted(at, "the properties of `outputs`: anything else is not handed on");
            keys.iter()
                .map(|key| names::key(&key.to_ascii_lowercase()))
                .filter(|key| key != STATUS)
                .collect()
        });
        let read = traffic.said[index].iter().filter(|key| traffic.read.contains(*key)).cloned();
        let keys: BTreeSet<String> = match allowed {
            Some(allowed) => allowed,
            None => read.collect(),
        };
        let keys: BTreeSet<String> = keys.into_iter().chain(required.iter().cloned()).collect();
        if keys.is_empty() {
            return None;
        }
        let properties = |first: Option<(&str, Value)>| {
            let own = keys.iter().map(|key| (key.as_str(), json!({"type": "string"})));
            first
                .into_iter()
                .chain(own)
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<Map<String, Value>>()
        };
        if words.is_empty() {
            let mut shape = Map::new();
            shape.insert("type".to_owned(), json!("object"));
            shape.insert("properties".to_owned(), Value::Object(properties(None)));
            if !required.is_empty() {
                shape.insert("required".to_owned(), json!(required));
            }
            return Some(Value::Object(shape));
        }
        let variant = |word: &String| {
            let required: Vec<&str> =
                ["$status"].into_iter().chain(required.iter().map(String::as_str)).collect();
            json!({"properties": properties(Some(("$status", json!({"const": word})))), "required": required})
        };
        Some(json!({"oneOf": words.iter().map(variant).collect::<Vec<Value>>()}))
    }

    pub(crate) fn instructions(
        &mut self,
        text: &str,
        at: &At,
        steps: &[Step],
        index: usize,
        traffic: &Traffic,
    ) -> String {
        let mut told: BTreeMap<String, String> = BTreeMap::new();
        let mut inputs = BTreeSet::new();
        let context = &self.sketch.input;
        let tagged = slots(text).any(|slot| slot.starts_with("if ") || slot.starts_with("range "));
        let text = rewritten(text, |inner| {
            if inner == "task" {
                return Slot::Name("task".to_owned());
            }
            if inner == "run_id" {
                told.insert(inner.to_owned(), "`{{task.id}}`".to_owned());
                return Slot::Name("task.id".to_owned());
            }
            if let Some(step) = inner.strip_prefix("steps.") {
                let (step, part) = step.rsplit_once('.').unwrap_or((step, "output"));
                let Some(gate) = traffic.gate(steps, step) else {
                    told.insert(
                        inner.to_owned(),
                        "left as it stands: there is no such step".to_owned(),
                    );
                    return Slot::Literal;
                };
                let name = if part == "summary" { format!("{gate}.summary") } else { gate };
                told.insert(inner.to_owned(), format!("`{{{{{name}}}}}`"));
                return Slot::Name(name);
            }
            if !is_bare(inner) || (tagged && matches!(inner, "end" | "else")) {
                told.insert(inner.to_owned(), "left as it stands: it is no key".to_owned());
                return Slot::Literal;
            }
            let key = if context.contains_key(inner) {
                inner.to_owned()
            } else {
                names::key(&inner.to_ascii_lowercase())
            };
            let sayers = traffic.sayers.get(&key).map(Vec::as_slice).unwrap_or_default();
            let before = sayers.iter().rev().find(|sayer| **sayer < index);
            if before.is_none() && !context.contains_key(&key) {
                inputs.insert(key.clone());
            }
            // A gate's own name means all that it handed on.
            if traffic.places.contains_key(&key)
                && let Some(sayer) = before.or(sayers.first())
            {
                return Slot::Name(format!("{}.{key}", steps[*sayer].gate));
            }
            Slot::Name(key)
        });
        for (slot, became) in told {
            let at = At { path: format!("{}: {{{{{slot}}}}}", at.path), ..at.clone() };
            self.ledger.converted(&at, became);
        }
        for key in inputs {
            let why = if traffic.sayers.contains_key(&key) {
                "only said later, so it is empty the first time"
            } else {
                "nobody says this key: it comes with the task, or stays empty"
            };
            self.ledger.supplied(format!("context.input.{key}"), why);
            self.sketch.input.insert(key, json!(""));
        }
        tidy(&text)
    }
}

/// Tells whether outputs declare a key, in any variant.
pub(crate) fn declares(outputs: &Value, key: &str) -> bool {
    let own = |shape: &Value| shape["properties"].get(key).is_some();
    own(outputs) || outputs["oneOf"].as_array().is_some_and(|variants| variants.iter().any(own))
}
