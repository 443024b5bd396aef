//! One entry of `gateHistory`: read strictly, written once.

use serde_json::{Value, json};

use crate::domain::{Ending, GateId, Map, Stamp, Station, Visit};
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
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| {
        map.insert(key.to_owned(), value);
    };
    put("gate", json!(visit.station().to_string()));
    if let Some(role) = &visit.role {
        put("role", json!(role.as_str()));
    }
    if let Some(agent) = &visit.agent {
        put("agent", json!(agent.as_str()));
    }
    put("entered", json!(visit.entered.to_string()));
    put("exited", json!(visit.exited.to_string()));
    put("duration", json!(visit.duration()));
    put("outcome", json!(visit.outcome.as_str()));
    if let Some(verdict) = visit.verdict {
        put("verdict", json!(verdict.as_str()));
    }
    put("summary", json!(visit.summary));
    if !visit.blockers.is_empty() {
        put("blockers", json!(visit.blockers));
    }
    if let Some(notes) = &visit.rejection_notes {
        put("rejectionNotes", json!(notes));
    }
    if let Some(join) = visit.join {
        put("join", json!(join.as_str()));
    }
    if !visit.unfinished.is_empty() {
        put("unfinished", visit.unfinished.iter().map(GateId::as_str).collect());
    }
    if let Some(to) = &visit.to {
        put("to", json!(to.to_string()));
    }
    if !visit.skipped.is_empty() {
        put("skipped", visit.skipped.iter().map(GateId::as_str).collect());
    }
    if !visit.cleared.is_empty() {
        put("cleared", visit.cleared.iter().map(GateId::as_str).collect());
    }
    if let Some(retry) = visit.retry {
        put("retry", json!(retry));
    }
    if let Some(role) = &visit.escalated_to {
        put("escalatedTo", json!(role.as_str()));
    }
    if !visit.outputs.is_empty() {
        put("outputs", json!(visit.outputs));
    }
    if !visit.metadata.is_empty() {
        put("metadata", json!(visit.metadata));
    }
    if let Some(workflow) = &visit.workflow {
        put("workflow", json!(workflow));
    }
    if let Some(stamp) = &visit.completion {
        put("completion", json!({"id": stamp.id.as_str(), "sha256": stamp.sha256.as_str()}));
    }
    if let Some(signature) = &visit.signature {
        put("signature", json!(format!("{signature}\n")));
    }
    Value::Object(map)
}
