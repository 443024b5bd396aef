//! What was counted, under the names that `docs/reference/metrics.md` gives it.

use std::collections::BTreeMap;

use super::count::{By, Counts};
use super::known_series::KnownSeries;
use crate::domain::histogram::Histogram;
use crate::domain::{EventKind, Timestamp};
use crate::observability::events::record::EventCount;
use crate::observability::exposition::{Family, Labels, Samples};

/// Returns the families of all that was counted.
pub(crate) fn of(project: &str, counts: &Counts<'_>) -> Vec<Family> {
    vec![
        Family {
            name: "aof_gate_duration_seconds",
            help: "How long visits of a gate took that have ended.",
            samples: histograms(
                project,
                ["workflow", "gate", "outcome"],
                &counts.durations,
                |stays| &stays.0,
            ),
        },
        Family {
            name: "aof_gate_transitions",
            help: "Visits that have ended, by where the task went; rejections are among them.",
            samples: counters(
                project,
                ["workflow", "from_gate", "to_gate", "outcome"],
                &counts.transitions,
            ),
        },
        Family {
            name: "aof_gate_rejections",
            help: "Visits that ended with the task sent back, by the gate that sent it.",
            samples: counters(project, ["workflow", "gate"], &counts.rejections),
        },
        Family {
            name: "aof_gate_skips",
            help: "How often tasks passed a gate over on the way from one to another.",
            samples: counters(project, ["workflow", "gate", "reason"], &counts.skips),
        },
        Family {
            name: "aof_gate_timeouts",
            help: "Visits that ended because they took longer than they may.",
            samples: counters(project, ["workflow", "gate"], &counts.timeouts),
        },
        Family {
            name: "aof_gate_active_tasks",
            help: "Tasks that stand at a gate, in whatever state.",
            samples: gauges(project, ["workflow", "gate"], &counts.active),
        },
        Family {
            name: "aof_gate_blocked_no_agents",
            help: "Tasks that wait at a gate whose role has nobody.",
            samples: gauges(project, ["workflow", "gate", "role"], &counts.no_agents),
        },
        Family {
            name: "aof_blocked_tasks",
            help: "Tasks that are blocked, by why.",
            samples: gauges(project, ["workflow", "reason"], &counts.blocked),
        },
        Family {
            name: "aof_task_lead_time_seconds",
            help: "How long tasks took to become complete, from when they were made.",
            samples: histograms(project, ["workflow"], &counts.lead_times, |stays| &stays.0),
        },
        Family {
            name: "aof_task_passes",
            help: "How often tasks that became complete had come to the gate that they came to most often; 1 is ideal.",
            samples: histograms(project, ["workflow"], &counts.passes, |passes| &passes.0),
        },
        Family {
            name: "aof_clock_skew",
            help: "Visits whose file says that they ended before they began; they count as 0 seconds.",
            samples: Samples::Counter(vec![(labels(project, [], &[]), counts.skewed)]),
        },
    ]
}

/// Returns a gauge of the project as a whole.
pub(crate) fn level(name: &'static str, help: &'static str, project: &str, count: usize) -> Family {
    Family {
        name,
        help,
        samples: Samples::Gauge(vec![(labels(project, [], &[]), number(count as u64))]),
    }
}

/// Returns the family that says which program counted.
pub(crate) fn build() -> Family {
    Family {
        name: "aof_build_info",
        help: "Always 1; the version of aof that counted.",
        samples: Samples::Gauge(vec![(
            vec![("version", env!("CARGO_PKG_VERSION").to_owned())],
            1.0,
        )]),
    }
}

/// Returns when the oldest open visits began, by their labels.
pub(crate) fn oldest(project: &str, counts: &Counts<'_>) -> Vec<(Labels, Option<i64>)> {
    let names = ["workflow", "gate"];
    counts
        .oldest
        .iter()
        .map(|(values, entered)| (labels(project, names, values), *entered))
        .collect()
}

/// Returns how old they are by then. One that began later than now, by another machine's clock, is not old.
pub(crate) fn ages(oldest: &[(Labels, Option<i64>)], now: Timestamp) -> Family {
    let age =
        |entered: i64| number(u64::try_from(now.as_second().saturating_sub(entered)).unwrap_or(0));
    let samples = oldest.iter().map(|(labels, entered)| (labels.clone(), entered.map_or(0.0, age)));
    Family {
        name: "aof_gate_oldest_task_age_seconds",
        help: "How long the task that came first has stood at a gate; 0 where none does.",
        samples: Samples::Gauge(samples.collect()),
    }
}

/// Returns counters by these labels.
fn counters<const N: usize>(
    project: &str,
    names: [&'static str; N],
    counted: &By<'_, N, u64>,
) -> Samples {
    Samples::Counter(
        counted.iter().map(|(values, count)| (labels(project, names, values), *count)).collect(),
    )
}

fn gauges<const N: usize>(
    project: &str,
    names: [&'static str; N],
    counted: &By<'_, N, u64>,
) -> Samples {
    Samples::Gauge(
        counted
            .iter()
            .map(|(values, count)| (labels(project, names, values), number(*count)))
            .collect(),
    )
}

fn histograms<const N: usize, T>(
    project: &str,
    names: [&'static str; N],
    counted: &By<'_, N, T>,
    of: fn(&T) -> &Histogram,
) -> Samples {
    let sample =
        |(values, sizes): (&[&str; N], &T)| (labels(project, names, values), of(sizes).clone());
    Samples::Histogram(counted.iter().map(sample).collect())
}

fn labels<const N: usize>(project: &str, names: [&'static str; N], values: &[&str; N]) -> Labels {
    let own = names.into_iter().zip(values).map(|(name, value)| (name, (*value).to_owned()));
    std::iter::once(("project", project.to_owned())).chain(own).collect()
}

#[expect(clippy::cast_precision_loss, reason = "tasks and seconds are far below 2^52")]
fn number(count: u64) -> f64 {
    count as f64
}

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
pub(crate) fn of_events(
    project: &str,
    known: &[KnownSeries],
    counts: &[EventCount],
) -> Vec<Family> {
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
