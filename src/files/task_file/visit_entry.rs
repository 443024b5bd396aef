//! One entry of `gateHistory`: read strictly, written once.

use serde_json::{Value, json};

use super::applying;
use crate::domain::{Ending, Stamp, Station, Visit};
use crate::files::config::decode::{Faults, Fields};
use crate::files::yaml::Node;

/// Returns the visits that the node lists; none where there is no node.
pub(crate) fn read_all(node: Option<&Node<'_>>, faults: &Faults) -> Vec<Visit> {
    node.map(Node::items)
        .unwrap_or_default()
        .iter()
        .filter_map(|entry| read(entry, faults))
        .collect()
}

fn read(node: &Node<'_>, faults: &Faults) -> Option<Visit> {
    let fields = Fields::of(node, "an entry of `gateHistory`", faults)?;
    let station: Option<Station> = fields.parsed("gate");
    let (gate, branch) =
        station.map_or((None, None), |station| (Some(station.gate), station.branch));
    let entered = fields.time("entered");
    let exited = fields.time("exited");
    let outcome = fields.parsed("outcome");
    // The seconds are derived; they stand in the file for people and for other programs.
    let _: Option<u64> = fields.parsed("duration");
    let verdict = fields.parsed("verdict");
    // Of a branch that took too long nobody has said anything.
    let speaks = branch.is_some() && outcome != Some(Ending::Timeout);
    let verdict = if speaks { Some(fields.require("verdict", verdict)?) } else { None };
    let visit = Visit {
        branch,
        verdict,
        join: fields.parsed("join"),
        unfinished: fields.list("unfinished").unwrap_or_default(),
        role: fields.parsed("role"),
        agent: fields.parsed("agent"),
        summary: fields.text("summary").unwrap_or_default(),
        blockers: fields.list("blockers").unwrap_or_default(),
        rejection_notes: fields.text("rejectionNotes").filter(|notes| !notes.is_empty()),
        to: fields.parsed("to"),
        skipped: fields.list("skipped").unwrap_or_default(),
        cleared: fields.list("cleared").unwrap_or_default(),
        escalated_to: fields.parsed("escalatedTo"),
        retry: fields.parsed("retry"),
        outputs: fields.object("outputs").unwrap_or_default(),
        metadata: fields.object("metadata").unwrap_or_default(),
        workflow: fields.text("workflow"),
        completion: fields.take("completion").and_then(|node| stamp(node, faults)),
        signature: fields.parsed("signature"),
        gate: fields.require("gate", gate)?,
        entered: fields.require("entered", entered)?,
        exited: fields.require("exited", exited)?,
        outcome: fields.require("outcome", outcome)?,
    };
    fields.refuse_unknown();
    Some(visit)
}

fn stamp(node: &Node<'_>, faults: &Faults) -> Option<Stamp> {
    let fields = Fields::of(node, "`completion`", faults)?;
    let id = fields.parsed("id");
    let sha256 = fields.parsed("sha256");
    Some(Stamp { id: fields.require("id", id)?, sha256: fields.require("sha256", sha256)? })
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
