//! One entry of `gateHistory`: read strictly, written once.

use serde_json::{Value, json};

use super::applying;
use crate::domain::{Ending, Stamp, Station, Visit};
use crate::files::config::decode::Fields;
use crate::files::timestamp::time;
use crate::files::yaml::{Fault, Node};

/// Returns the visits that the node lists; none where there is no node.
pub(crate) fn read_all(node: Option<&Node<'_>>, faults: &mut Vec<Fault>) -> Vec<Visit> {
    node.map(Node::items)
        .unwrap_or_default()
        .iter()
        .filter_map(|entry| read(entry, faults))
        .collect()
}

fn read(node: &Node<'_>, faults: &mut Vec<Fault>) -> Option<Visit> {
    let mut fields = Fields::of(node, "an entry of `gateHistory`", faults)?;
    let station: Option<Station> = fields.parsed("gate", faults);
    let (gate, branch) =
        station.map_or((None, None), |station| (Some(station.gate), station.branch));
    let entered = time(&mut fields, "entered", faults);
    let exited = time(&mut fields, "exited", faults);
    let outcome = fields.parsed("outcome", faults);
    // The seconds are derived; they stand in the file for people and for other programs.
    let _: Option<u64> = fields.parsed("duration", faults);
    let verdict = fields.parsed("verdict", faults);
    // Of a branch that took too long nobody has said anything.
    let speaks = branch.is_some() && outcome != Some(Ending::Timeout);
    let verdict = if speaks { Some(fields.require("verdict", verdict, faults)?) } else { None };
    let visit = Visit {
        branch,
        verdict,
        join: fields.parsed("join", faults),
        unfinished: fields.list("unfinished", faults).unwrap_or_default(),
        role: fields.parsed("role", faults),
        agent: fields.parsed("agent", faults),
        summary: fields.text("summary", faults).unwrap_or_default(),
        blockers: fields.list("blockers", faults).unwrap_or_default(),
        rejection_notes: fields.text("rejectionNotes", faults).filter(|notes| !notes.is_empty()),
        to: fields.parsed("to", faults),
        skipped: fields.list("skipped", faults).unwrap_or_default(),
        cleared: fields.list("cleared", faults).unwrap_or_default(),
        escalated_to: fields.parsed("escalatedTo", faults),
        retry: fields.parsed("retry", faults),
        outputs: fields.object("outputs", faults).unwrap_or_default(),
        metadata: fields.object("metadata", faults).unwrap_or_default(),
        workflow: fields.text("workflow", faults),
        completion: fields.take("completion").and_then(|node| stamp(node, faults)),
        signature: fields.parsed("signature", faults),
        gate: fields.require("gate", gate, faults)?,
        entered: fields.require("entered", entered, faults)?,
        exited: fields.require("exited", exited, faults)?,
        outcome: fields.require("outcome", outcome, faults)?,
    };
    fields.refuse_unknown(faults);
    Some(visit)
}

fn stamp(node: &Node<'_>, faults: &mut Vec<Fault>) -> Option<Stamp> {
    let mut fields = Fields::of(node, "`completion`", faults)?;
    let id = fields.parsed("id", faults);
    let sha256 = fields.parsed("sha256", faults);
    Some(Stamp {
        id: fields.require("id", id, faults)?,
        sha256: fields.require("sha256", sha256, faults)?,
    })
}

/// Returns the entry as files and JSON show it: what does not apply is left out.
pub(crate) fn write(visit: &Visit) -> Value {
    let stamp = |stamp: &Stamp| json!({"id": stamp.id, "sha256": stamp.sha256.as_str()});
    Value::Object(applying(json!({
        "gate": visit.station(),
        "role": visit.role,
        "agent": visit.agent,
        "entered": visit.entered,
        "exited": visit.exited,
        "duration": visit.duration(),
        "outcome": visit.outcome,
        "verdict": visit.verdict,
        "summary": visit.summary,
        "blockers": visit.blockers,
        "rejectionNotes": visit.rejection_notes,
        "join": visit.join,
        "unfinished": visit.unfinished,
        "to": visit.to,
        "skipped": visit.skipped,
        "cleared": visit.cleared,
        "retry": visit.retry,
        "escalatedTo": visit.escalated_to,
        "outputs": visit.outputs,
        "metadata": visit.metadata,
        "workflow": visit.workflow,
        "completion": visit.completion.as_ref().map(stamp),
        "signature": visit.signature.as_ref().map(|signature| format!("{signature}\n")),
    })))
}
