//! What is counted from the event stream: what no entry of a history says.

use std::collections::BTreeMap;

use super::count::By;
use super::families::counters;
use super::zero_series::Known;
use crate::domain::EventKind;
use crate::observability::events::EventCount;
use crate::observability::exposition::Family;

/// What is counted by workflow and gate: the event, the metric, and what it tells.
const BY_GATE: [(EventKind, &str, &str); 5] = [
    (
        EventKind::GateConflict,
        "aof_gate_conflicts",
        "Completions that came for a visit that had ended; of this clone.",
    ),
    (
        EventKind::GateCircularLoop,
        "aof_gate_circular_loops",
        "Tasks that were stopped because they went in a circle.",
    ),
    (
        EventKind::GateExhausted,
        "aof_gate_exhausted",
        "Tasks that were sent back more often than their gate allows.",
    ),
    (
        EventKind::GateAssignmentError,
        "aof_gate_assignment_errors",
        "Tasks that were taken from an agent that is not in the role they take.",
    ),
    (
        EventKind::GateConditionError,
        "aof_gate_condition_errors",
        "Conditions that failed to evaluate.",
    ),
];

/// Returns the families of what is in the stream. What the rules in force know is there, whether or not it happened.
pub(crate) fn of(project: &str, known: &[Known], counts: &[EventCount]) -> Vec<Family> {
    let of_kind = |kind: EventKind| counts.iter().filter(move |own| own.kind == kind);
    let mut families = Vec::new();
    for (kind, name, help) in BY_GATE {
        let mut counted: By<'_, 2, u64> = BTreeMap::new();
        for place in known {
            counted.insert([&place.workflow, &place.gate], 0);
        }
        for own in of_kind(kind) {
            *counted.entry(place(own)).or_default() += own.count;
        }
        families.push(Family {
            name,
            help,
            samples: counters(project, ["workflow", "gate"], &counted),
        });
    }
    let invalid = of_kind(EventKind::WorkflowConfigInvalid).map(|own| own.count).sum();
    families.push(Family {
        name: "aof_workflow_config_invalid",
        help: "Commits whose rules are invalid.",
        samples: counters(project, [], &BTreeMap::from([([], invalid)])),
    });
    families
}

fn place(own: &EventCount) -> [&str; 2] {
    [own.workflow.as_deref().unwrap_or_default(), own.gate.as_deref().unwrap_or_default()]
}
