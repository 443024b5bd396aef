//! What the formats for pictures have in common: the words at gates and ways.

use super::drawing::{counted, joining, keys, standing};
use crate::domain::{Exhausted, Gate, GateKind, Outcome, Workflow};
use crate::files::printable::one_line;
use crate::observability::gate_report::GateRow;
use crate::rules::{Edge, Way};

/// Returns the lines that stand at a gate.
pub(crate) fn lines(workflow: &Workflow, gate: &Gate, rows: &[GateRow]) -> Vec<String> {
    let mut lines = vec![gate.id.to_string()];
    lines.extend(gate.role().map(ToString::to_string));
    if let Some(fork) = gate.fork() {
        lines.push(joining(fork));
        lines.extend(
            fork.branches.iter().map(|branch| format!("{}: {}", branch.id(), branch.duty().role)),
        );
    }
    lines.extend(gate.when.iter().map(|when| match gate.kind {
        GateKind::Condition => one_line(when),
        GateKind::Work(_) | GateKind::Fork(_) => format!("when {}", one_line(when)),
    }));
    lines.extend(gate.duty().into_iter().flat_map(keys));
    lines.extend(gate.detour.then(|| "detour".to_owned()));
    lines.extend(standing(workflow, gate, rows));
    lines
}

/// Returns what stands at a way.
pub(crate) fn label(workflow: &Workflow, edge: &Edge) -> String {
    let outcomes = edge.outcomes.iter().map(Outcome::as_str).collect::<Vec<_>>().join(" / ");
    match edge.way {
        Way::On | Way::Return => outcomes,
        Way::Back(times) => {
            let gate = workflow.gate(&edge.from).map(|(_, gate)| &gate.exits.on_exhausted);
            let then = match gate {
                Some(Exhausted::Escalate(role)) => format!(", then for {role}"),
                _ => String::new(),
            };
            format!("{outcomes} ({} at most{then})", counted(times))
        }
        Way::Over => "does not apply".to_owned(),
        Way::Exhausted(times) => format!("sent back {} before", counted(times)),
        Way::Hold => format!("{outcomes} (waits for a person)"),
    }
}
