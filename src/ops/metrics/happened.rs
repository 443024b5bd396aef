//! What is counted from the event stream: what no entry of a history says.

use std::collections::BTreeMap;

use super::count::By;
use super::families::counters;
use super::known::Known;
use crate::model::EventKind;
use crate::observe::metrics::Family;
use crate::ops::events::EventCount;

/// What is counted by workflow and gate: the event, the metric, and what it tells.
const BY_GATE: [(EventKind, &str, &str); 6] = [
    (EventKind::GateConflict, "aof_gate_conflicts", "Completions that came for a visit that had ended; of this clone."),
    (EventKind::GateTimeout, "aof_gate_timeouts", "Visits that took longer than they may."),
    (EventKind::GateCircularLoop, "aof_gate_circular_loops", "Tasks that were stopped because they went in a circle."),
    (EventKind::GateExhausted, "aof_gate_exhausted", "Tasks that were sent back more often than their gate allows."),
    (
        EventKind::GateAssignmentError,
        "aof_gate_assignment_errors",
        "Tasks that were taken from an agent that is not in the role they take.",
    ),
    (EventKind::GateConditionError, "aof_gate_condition_errors", "Conditions that failed to evaluate."),
];
/// Why a gate was passed over.
const CONDITION: &str = "condition_false";
const ROUTE: &str = "route";

/// Returns the families of what is in the stream. What the rules in force know is there, whether or not it happened.
pub(super) fn of(project: &str, known: &[Known], counts: &[EventCount]) -> Vec<Family> {
    let of_kind = |kind: EventKind| counts.iter().filter(move |own| own.kind == kind);
    let mut families = vec![skips(project, known, &mut of_kind(EventKind::GateSkip))];
    for (kind, name, help) in BY_GATE {
        let mut counted: By<'_, 2, u64> = BTreeMap::new();
        for place in known {
            counted.insert([&place.workflow, &place.gate], 0);
        }
        for own in of_kind(kind) {
            *counted.entry(place(own)).or_default() += own.count;
        }
        families.push(Family { name, help, samples: counters(project, ["workflow", "gate"], &counted) });
    }
    let invalid = of_kind(EventKind::WorkflowConfigInvalid).map(|own| own.count).sum();
    families.push(Family {
        name: "aof_workflow_config_invalid",
        help: "Commits whose rules are invalid.",
        samples: counters(project, [], &BTreeMap::from([([], invalid)])),
    });
    families
}

fn skips<'c>(project: &str, known: &'c [Known], counts: &mut dyn Iterator<Item = &'c EventCount>) -> Family {
    let conditional: BTreeMap<[&str; 2], bool> =
        known.iter().map(|place| ([&*place.workflow, &*place.gate], place.conditional)).collect();
    let mut counted: By<'_, 3, u64> = BTreeMap::new();
    for ([workflow, gate], _) in conditional.iter().filter(|(_, conditional)| **conditional) {
        counted.insert([workflow, gate, CONDITION], 0);
    }
    for own in counts {
        let [workflow, gate] = place(own);
        // What has no condition was passed over by a route; of what is gone nobody knows.
        let reason = if conditional.get(&[workflow, gate]) == Some(&false) { ROUTE } else { CONDITION };
        *counted.entry([workflow, gate, reason]).or_default() += own.count;
    }
    Family {
        name: "aof_gate_skips",
        help: "How often tasks passed a gate over.",
        samples: counters(project, ["workflow", "gate", "reason"], &counted),
    }
}

fn place(own: &EventCount) -> [&str; 2] {
    [own.workflow.as_deref().unwrap_or_default(), own.gate.as_deref().unwrap_or_default()]
}
