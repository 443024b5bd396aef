//! One workflow: a mapping in project.yaml, or a file of `workflows/`.

use std::ops::Range;

use super::decode::{Fields, parse_node, wrong_kind};
use super::locate::Step;
use super::project_file::{Definition, Rank};
use super::yaml::{Entry, Fault, Kind, Node};
use crate::model::{
    Brief, BriefText, Gate, OnConditionError, Outcome, RejectionStrategy, Workflow, WorkflowName, listed,
};

/// Returns the workflow of a file: its fields stand at the top, or under `workflow`. The file's name is its name if it says
/// none.
pub(super) fn read_file(root: &Node<'_>, stem: &str, faults: &mut Vec<Fault>) -> Option<Definition> {
    let mut steps = Vec::new();
    let mut node = root;
    if let Some(entry) = root.entry("workflow") {
        let mut fields = Fields::of(root, "a workflow file with `workflow`", faults)?;
        fields.take("workflow");
        fields.refuse_unknown(faults);
        steps.push(Step::Key("workflow".to_owned()));
        node = &entry.value;
    }
    if node.is_null() {
        let span = root.entry("workflow").map_or(0..0, |entry| entry.key.span.clone());
        faults.push(
            Fault::new("empty_workflow", span, "this file says nothing").help("add `gates` to it, or remove the file"),
        );
        return None;
    }
    let name = stem.parse().ok();
    if name.is_none() && name_span(node).is_none() {
        faults.push(
            Fault::new("missing_field", 0..0, "the name of this file is no name for a workflow")
                .help("add a `name` of letters, digits, `-` and `_`, or rename the file"),
        );
        return None;
    }
    let span = name_span(node).unwrap_or(0..0);
    let workflow = read(node, name, faults)?;
    Some(Definition { workflow, steps, span, rank: Rank::OneOfMany })
}

/// Returns the workflow that the node says. `name` counts where it has none of its own.
pub(super) fn read(node: &Node<'_>, name: Option<WorkflowName>, faults: &mut Vec<Fault>) -> Option<Workflow> {
    let mut fields = Fields::of(node, "a workflow", faults)?;
    let written = fields.parsed("name", faults);
    let name = match name {
        Some(name) => written.or(Some(name)),
        None => fields.require("name", written, faults),
    };
    let description = fields.text("description", faults);
    let default_outcome = fields.parsed("defaultOutcome", faults).unwrap_or(Outcome::Complete);
    let rejection = fields.parsed("rejectionStrategy", faults).unwrap_or(RejectionStrategy::Origin);
    let gates = fields.take("gates").and_then(|node| read_gates(node, faults));
    let holds_rejections = fields.take("outcomes").is_some_and(|node| read_outcomes(node, faults));
    let gates = fields.require("gates", gates, faults);
    fields.refuse_unknown(faults);
    Some(Workflow { name: name?, description, default_outcome, rejection, holds_rejections, gates: gates? })
}

/// Returns where a workflow says its name.
pub(super) fn name_span(node: &Node<'_>) -> Option<Range<usize>> {
    node.get("name").filter(|name| !name.is_null()).map(|name| name.span.clone())
}

fn read_gates(node: &Node<'_>, faults: &mut Vec<Fault>) -> Option<Vec<Gate>> {
    let Kind::Sequence(items) = &node.kind else {
        faults.push(
            wrong_kind(node, "`gates` is a list of gates").help("begin each gate with a dash, as in `- id: review`"),
        );
        return None;
    };
    if items.is_empty() {
        faults.push(
            Fault::new("no_gates", node.span.clone(), "a workflow needs at least one gate")
                .help("add one, as in `- {id: work, role: worker}`"),
        );
    }
    let gates: Vec<Gate> = items.iter().filter_map(|item| read_gate(item, faults)).collect();
    (gates.len() == items.len()).then_some(gates)
}

fn read_gate(node: &Node<'_>, faults: &mut Vec<Fault>) -> Option<Gate> {
    let mut fields = Fields::of(node, "a gate", faults)?;
    let id = fields.parsed("id", faults);
    let role = fields.parsed("role", faults);
    let gate = Gate {
        description: fields.text("description", faults),
        can_reject: fields.flag("canReject", faults).unwrap_or(false),
        reject_to: fields.parsed("rejectTo", faults),
        can_skip: fields.flag("canSkip", faults).unwrap_or(false),
        when: fields.text("when", faults),
        on_condition_error: fields.parsed("onConditionError", faults).unwrap_or(OnConditionError::Skip),
        require_human: fields.flag("requireHuman", faults).unwrap_or(false),
        timeout: fields.parsed("timeout", faults),
        escalate_to: fields.parsed("escalateTo", faults),
        brief: fields.take("brief").map(|node| read_brief(node, faults)).unwrap_or_default(),
        metadata: fields.object("metadata", faults).unwrap_or_default(),
        id: fields.require("id", id, faults)?,
        role: fields.require("role", role, faults)?,
    };
    fields.refuse_unknown(faults);
    Some(gate)
}

fn read_brief(node: &Node<'_>, faults: &mut Vec<Fault>) -> Brief {
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
        outcomes: fields.take("outcomes").map(|node| read_meanings(node, faults)).unwrap_or_default(),
        tips: fields.list("tips", faults),
        instructions: fields.text("instructions", faults),
    }
}

/// Returns what each outcome means at a gate.
fn read_meanings(node: &Node<'_>, faults: &mut Vec<Fault>) -> Vec<(Outcome, String)> {
    let entries = by_outcome(node, "`outcomes` says what each outcome means here", faults);
    let meaning = |(outcome, entry): (Outcome, &Entry<'_>)| {
        parse_node(&entry.value, "the meaning of an outcome is a text", faults).map(|text| (outcome, text))
    };
    entries.into_iter().filter_map(meaning).collect()
}

/// Reads what each outcome does, and returns whether a rejection is held. What an outcome does is fixed but for
/// `needs_review`: anything else would turn the process upside down, so it is refused.
fn read_outcomes(node: &Node<'_>, faults: &mut Vec<Fault>) -> bool {
    let mut holds = false;
    for (outcome, entry) in by_outcome(node, "`outcomes` says what each outcome does", faults) {
        let action: Option<String> = parse_node(&entry.value, "what an outcome does is a word", faults);
        let Some(action) = action else { continue };
        let (allowed, why): (&[&str], &str) = match outcome {
            Outcome::Complete => (&["advance"], "finished work would not move on"),
            Outcome::NeedsReview => (&["reject", "hold"], "work that failed a review would pass it"),
            Outcome::Blocked => (&["hold"], "a task that cannot go on would leave its gate"),
            Outcome::Skip => (&["advance"], "a gate that does not apply would keep its task"),
        };
        holds |= outcome == Outcome::NeedsReview && action == "hold";
        if !allowed.contains(&action.as_str()) {
            let known = ["advance", "reject", "hold"].contains(&action.as_str());
            let message = if known {
                format!("`{outcome}: {action}` is not possible: {why}")
            } else {
                format!("`{action}` is nothing that an outcome does")
            };
            let span = entry.value.span.clone();
            faults.push(
                Fault::new("invalid_outcome_action", span, message)
                    .help(format!("`{outcome}` takes {}", listed(allowed))),
            );
        }
    }
    holds
}

/// Returns the entries of a mapping from outcomes.
fn by_outcome<'n, 's>(node: &'n Node<'s>, wanted: &str, faults: &mut Vec<Fault>) -> Vec<(Outcome, &'n Entry<'s>)> {
    if !matches!(node.kind, Kind::Mapping(_)) {
        faults.push(wrong_kind(node, &format!("{wanted}: a mapping")));
    }
    let mut found = Vec::new();
    for entry in node.entries() {
        let key = &entry.key;
        if let Ok(outcome) = key.text.parse() {
            found.push((outcome, entry));
        } else {
            faults.push(
                Fault::new("unknown_outcome", key.span.clone(), format!("`{}` is not an outcome", key.text))
                    .help(format!("the outcomes are {}", listed(Outcome::ALL))),
            );
        }
    }
    found
}
