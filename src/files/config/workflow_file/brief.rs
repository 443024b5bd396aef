//! What a workflow says to the agents at a gate, and mappings from outcomes.

use crate::domain::{Brief, BriefText, Outcome};
use crate::files::config::decode::{Faults, Fields, parse_key, parse_node};
use crate::files::yaml::{Entry, Kind, Node};

pub(crate) fn read(node: &Node<'_>, faults: &Faults) -> Brief {
    let Some(fields) = Fields::of(node, "a brief", faults) else { return Brief::default() };
    let entry = read_brief_text(&fields);
    let reentry = fields.below("reentry", "a brief for after a rejection").map(|fields| {
        let text = read_brief_text(&fields);
        fields.refuse_unknown();
        text
    });
    fields.refuse_unknown();
    Brief { entry, reentry: reentry.unwrap_or_default() }
}

fn read_brief_text(fields: &Fields<'_, '_>) -> BriefText {
    BriefText {
        role: fields.text("role"),
        expectations: fields.list("expectations"),
        outcomes: fields.with("outcomes", read_meanings).unwrap_or_default(),
        tips: fields.list("tips"),
        instructions: fields.text("instructions"),
    }
}

/// Returns what each outcome means at a gate.
fn read_meanings(node: &Node<'_>, faults: &Faults) -> Vec<(Outcome, String)> {
    let entries = by_outcome(node, "`outcomes` says what each outcome means here", faults);
    let meaning = |(outcome, entry): (Outcome, &Entry<'_>)| {
        let text = parse_node(&entry.value, "the meaning of an outcome is a text", faults)?;
        Some((outcome, text))
    };
    entries.into_iter().filter_map(meaning).collect()
}

/// Returns the entries of a mapping from outcomes.
pub(crate) fn by_outcome<'n, 's>(
    node: &'n Node<'s>,
    wanted: &str,
    faults: &Faults,
) -> Vec<(Outcome, &'n Entry<'s>)> {
    if !matches!(node.kind, Kind::Mapping(_)) {
        faults.wrong_kind(node, format_args!("{wanted}: a mapping"), "");
    }
    let entry = |entry: &'n Entry<'s>| Some((parse_key(&entry.key, faults)?, entry));
    node.entries().iter().filter_map(entry).collect()
}
