//! What a workflow says to the agents at a gate, and mappings from outcomes.

use crate::domain::{Brief, BriefText, Outcome};
use crate::files::config::decode::{Fields, parse_key, parse_node, wrong_kind};
use crate::files::yaml::{Entry, Fault, Kind, Node};

pub(crate) fn read(node: &Node<'_>, faults: &mut Vec<Fault>) -> Brief {
    let Some(mut fields) = Fields::of(node, "a brief", faults) else { return Brief::default() };
    let entry = read_brief_text(&mut fields, faults);
    let reentry = fields.take("reentry").and_then(|node| {
        let mut fields = Fields::of(node, "a brief for after a rejection", faults)?;
        let text = read_brief_text(&mut fields, faults);
        fields.refuse_unknown(faults);
        Some(text)
    });
    fields.refuse_unknown(faults);
    Brief { entry, reentry: reentry.unwrap_or_default() }
}

fn read_brief_text(fields: &mut Fields<'_, '_>, faults: &mut Vec<Fault>) -> BriefText {
    BriefText {
        role: fields.text("role", faults),
        expectations: fields.list("expectations", faults),
        outcomes: fields
            .take("outcomes")
            .map(|node| read_meanings(node, faults))
            .unwrap_or_default(),
        tips: fields.list("tips", faults),
        instructions: fields.text("instructions", faults),
    }
}

/// Returns what each outcome means at a gate.
fn read_meanings(node: &Node<'_>, faults: &mut Vec<Fault>) -> Vec<(Outcome, String)> {
    let entries = by_outcome(node, "`outcomes` says what each outcome means here", faults);
    let meaning = |(outcome, entry): (Outcome, &Entry<'_>)| {
        parse_node(&entry.value, "the meaning of an outcome is a text", faults)
            .map(|text| (outcome, text))
    };
    entries.into_iter().filter_map(meaning).collect()
}

/// Returns the entries of a mapping from outcomes.
pub(crate) fn by_outcome<'n, 's>(
    node: &'n Node<'s>,
    wanted: &str,
    faults: &mut Vec<Fault>,
) -> Vec<(Outcome, &'n Entry<'s>)> {
    if !matches!(node.kind, Kind::Mapping(_)) {
        faults.push(wrong_kind(node, format_args!("{wanted}: a mapping")));
    }
    let mut found = Vec::new();
    for entry in node.entries() {
        let key = &entry.key;
        if let Some(outcome) = parse_key(key, faults) {
            found.push((outcome, entry));
        }
    }
    found
}
