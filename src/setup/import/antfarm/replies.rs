//! What agents are told, and what their replies must say and hand on.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::keys::{KeyUse, STATUS, key_of, keys_in};
use crate::domain::FieldFate::{Converted, Dropped, Lost};
use crate::setup::import::names;
use crate::setup::import::placeholders::{is_bare, rewritten, slots};
use crate::setup::import::record::Record;
use crate::setup::import::steps::StepList;
use crate::setup::import::workflow_draft::tidy;

/// The longest line that a reply is looked through for, in bytes.
const LONGEST_LINE: usize = 200;

/// Returns what the gate hands on: the keys that any step reads, and those it must bring; by decision, where it has some.
pub(crate) fn outputs(
    uses: &KeyUse,
    index: usize,
    record: &Record<'_>,
    required: &BTreeSet<String>,
    decisions: &[String],
) -> Option<Value> {
    let mut keys = keys_in(record, &["output_keys", "outputs"])
        .unwrap_or_else(|| uses.said[index].intersection(&uses.read).cloned().collect());
    keys.remove(STATUS);
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

/// Returns a step's input with slots of ours. Keys that no earlier step says are added to the context.
pub(crate) fn instructions(
    text: &str,
    index: usize,
    record: &Record<'_>,
    steps: &StepList<'_>,
    keys: &KeyUse,
    context: &mut Map<String, Value>,
) -> String {
    let mut notes: BTreeMap<String, String> = BTreeMap::new();
    let mut inputs = BTreeSet::new();
    let is_tag = |slot: &String| slot.starts_with("if ") || slot.starts_with("range ");
    let has_tags = slots(text).iter().any(is_tag);
    let converted = rewritten(text, |inner| {
        let mut note = |text: String| drop(notes.insert(inner.to_owned(), text));
        if inner == "task" {
            return Some("task".to_owned());
        }
        if inner == "run_id" {
            note("`{{task.id}}`".to_owned());
            return Some("task.id".to_owned());
        }
        if let Some(step) = inner.strip_prefix("steps.") {
            let (step, part) = step.rsplit_once('.').unwrap_or((step, "output"));
            let Some(gate) = steps.gate(step) else {
                note("left as it stands: there is no such step".to_owned());
                return None;
            };
            let name = if part == "summary" { format!("{gate}.summary") } else { gate.to_owned() };
            note(format!("`{{{{{name}}}}}`"));
            return Some(name);
        }
        if !is_bare(inner) || (has_tags && matches!(inner, "end" | "else")) {
            note("left as it stands: it is no key".to_owned());
            return None;
        }
        let is_input = context.contains_key(inner);
        let key = if is_input { inner.to_owned() } else { names::key(&inner.to_ascii_lowercase()) };
        let before = keys.sayer_before(&key, index);
        if before.is_none() && !context.contains_key(&key) {
            inputs.insert(key.clone());
        }
        // A gate's own name means all that it handed on.
        let sayer = before.or_else(|| keys.sayers(&key).first().copied());
        Some(match sayer.filter(|_| steps.place(&key).is_some()) {
            Some(sayer) => format!("{}.{key}", steps.steps[sayer].gate),
            None => key,
        })
    });
    for (slot, became) in notes {
        record.at("input").note_slot(&slot, Converted, became);
    }
    for key in inputs {
        let note = if keys.sayers(&key).is_empty() {
            "nobody says this key: it comes with the task, or stays empty"
        } else {
            "only said later, so it is empty the first time"
        };
        record.report.added(format!("context.input.{key}"), note);
        context.insert(key, json!(""));
    }
    tidy(&converted)
}

/// Returns the line that a reply must have. A key alone (`TIER:`) asks for a value and judges none.
pub(crate) fn expected(record: &Record<'_>, required: &mut BTreeSet<String>) -> Option<String> {
    let text = record.text("expects")?;
    let note = |fate, text: String| record.note("expects", fate, text);
    let line = text.trim();
    let (_, value) = line.split_once(':').unwrap_or((line, line));
    let is_plain =
        !line.contains(['\n', '`', '<']) && !line.starts_with('>') && line.len() <= LONGEST_LINE;
    match key_of(line).filter(|_| value.trim().is_empty()) {
        Some(key) if key == STATUS => {
            note(Dropped, "any `STATUS` will do there, so nothing is judged by it".to_owned());
        }
        Some(key) => {
            note(Converted, format!("the output `{key}` is required: the reply must bring it"));
            required.insert(names::key(&key));
        }
        None if line.is_empty() => note(Dropped, "it says nothing".to_owned()),
        None if !is_plain => {
            note(Lost, "a verdict is one plain line here, and this is none".to_owned());
        }
        None => {
            let what = "`signal.expects`; a reply without that line does not pass";
            note(Converted, what.to_owned());
            return Some(line.to_owned());
        }
    }
    None
}
