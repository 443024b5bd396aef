//! The families of metrics, with the names of `docs/reference/metrics.md`.

use std::collections::{BTreeMap, HashSet};

use super::count::{self, By, Counts, KnownSeries, known_series};
use crate::domain::histogram::Histogram;
use crate::domain::{EventKind, Timestamp};
use crate::observability::events::catch_up::{EventCount, event_counts};
use crate::observability::metrics::exposition::{Family, Labels, Samples};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::rule_files::RULE_FILES;
use crate::project::workspace::Workspace;
use crate::storage::{ProjectPath, layout};
use crate::tasks::headers::listing::{ListScope, Listing, Unreadable, read_all};
use crate::tasks::headers::summary::TaskSummary;
use crate::tasks::inbox::pending;
use crate::tasks::state::task_state;

fn family(name: &'static str, help: &'static str, samples: Samples) -> Family {
    Family { name, help, samples }
}

/// Returns the families of all counts.
pub(crate) fn task_families(project: &str, counts: &Counts<'_>) -> Vec<Family> {
    let skewed = Samples::Counter(vec![(labels(project, [], &[]), counts.skewed)]);
    vec![
        family(
            "aof_gate_duration_seconds",
            "How long visits of a gate took that have ended.",
            histograms(project, ["workflow", "gate", "outcome"], &counts.durations),
        ),
        family(
            "aof_gate_transitions",
            "Visits that have ended, by where the task went; rejections are among them.",
            counters(project, ["workflow", "from_gate", "to_gate", "outcome"], &counts.transitions),
        ),
        family(
            "aof_gate_rejections",
            "Visits that ended with the task sent back, by the gate that sent it.",
            counters(project, ["workflow", "gate"], &counts.rejections),
        ),
        family(
            "aof_gate_skips",
            "How often tasks passed a gate over on the way from one to another.",
            counters(project, ["workflow", "gate", "reason"], &counts.skips),
        ),
        family(
            "aof_gate_timeouts",
            "Visits that took longer than they may.",
            counters(project, ["workflow", "gate"], &counts.timeouts),
        ),
        family(
            "aof_gate_active_tasks",
            "Tasks that are at a gate, in any state.",
            gauges(project, ["workflow", "gate"], &counts.active),
        ),
        family(
            "aof_gate_blocked_no_agents",
            "Tasks that wait at a gate whose role has nobody.",
            gauges(project, ["workflow", "gate", "role"], &counts.no_agents),
        ),
        family(
            "aof_blocked_tasks",
            "Tasks that are blocked, by why.",
            gauges(project, ["workflow", "reason"], &counts.blocked),
        ),
        family(
            "aof_task_lead_time_seconds",
            "How long tasks took from their creation to their completion.",
            histograms(project, ["workflow"], &counts.lead_times),
        ),
        family(
            "aof_task_passes",
            "How often completed tasks had come to their most visited gate; 1 is ideal.",
            histograms(project, ["workflow"], &counts.passes),
        ),
        family(
            "aof_clock_skew",
            "Visits whose file says that they ended before they began; they count as 0 seconds.",
            skewed,
        ),
    ]
}

/// Returns a gauge of the project as a whole.
pub(crate) fn level(name: &'static str, help: &'static str, project: &str, count: usize) -> Family {
    family(name, help, Samples::Gauge(vec![(labels(project, [], &[]), number(count as u64))]))
}

/// Returns the family with the version of aof.
pub(crate) fn build() -> Family {
    let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
    let help = "Always 1; the version of aof that counted.";
    family("aof_build_info", help, Samples::Gauge(vec![(version, 1.0)]))
}

/// Returns the beginnings of the oldest open visits, by their labels.
pub(crate) fn oldest(project: &str, counts: &Counts<'_>) -> Vec<(Labels, Option<i64>)> {
    samples(project, ["workflow", "gate"], &counts.oldest, |entered| *entered)
}

/// Returns the ages of these visits at `now`; 0 for one that began later, by another machine's clock.
pub(crate) fn ages(oldest: &[(Labels, Option<i64>)], now: Timestamp) -> Family {
    let age =
        |entered: i64| number(u64::try_from(now.as_second().saturating_sub(entered)).unwrap_or(0));
    let samples = oldest.iter().map(|(labels, entered)| (labels.clone(), entered.map_or(0.0, age)));
    family(
        "aof_gate_oldest_task_age_seconds",
        "How long the oldest task has been at a gate; 0 if there is none.",
        Samples::Gauge(samples.collect()),
    )
}

/// Returns samples of counts with these labels.
fn samples<const N: usize, T, S>(
    project: &str,
    names: [&'static str; N],
    counted: &By<'_, N, T>,
    value: impl Fn(&T) -> S,
) -> Vec<(Labels, S)> {
    let sample =
        |(values, counted): (&[&str; N], &T)| (labels(project, names, values), value(counted));
    counted.iter().map(sample).collect()
}

fn counters<const N: usize>(
    project: &str,
    names: [&'static str; N],
    counted: &By<'_, N, u64>,
) -> Samples {
    Samples::Counter(samples(project, names, counted, |count| *count))
}

fn gauges<const N: usize>(
    project: &str,
    names: [&'static str; N],
    counted: &By<'_, N, u64>,
) -> Samples {
    Samples::Gauge(samples(project, names, counted, |count| number(*count)))
}

fn histograms<const N: usize>(
    project: &str,
    names: [&'static str; N],
    counted: &By<'_, N, Histogram>,
) -> Samples {
    Samples::Histogram(samples(project, names, counted, Histogram::clone))
}

fn labels<const N: usize>(project: &str, names: [&'static str; N], values: &[&str; N]) -> Labels {
    let of_values = names.into_iter().zip(values).map(|(name, value)| (name, (*value).to_owned()));
    std::iter::once(("project", project.to_owned())).chain(of_values).collect()
}

#[expect(clippy::cast_precision_loss, reason = "tasks and seconds are far below 2^52")]
fn number(count: u64) -> f64 {
    count as f64
}

/// The events that are counted by workflow and gate: the event, the metric, and its help.
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
        "Tasks that were taken from an agent that is not in their role.",
    ),
    (
        EventKind::GateConditionError,
        "aof_gate_condition_errors",
        "Conditions that failed to evaluate.",
    ),
];

/// Returns the families of events in the stream. Every gate of the rules in force has counts, even if they are zero.
pub(crate) fn of_events(
    project: &str,
    known: &[KnownSeries],
    counts: &[EventCount],
) -> Vec<Family> {
    let of_kind = |kind: EventKind| counts.iter().filter(move |count| count.kind == kind);
    let mut families = Vec::new();
    for (kind, name, help) in BY_GATE {
        let mut counted: By<'_, 2, u64> = BTreeMap::new();
        for place in known {
            counted.insert([&place.workflow, &place.gate], 0);
        }
        for count in of_kind(kind) {
            *counted.entry(place(count)).or_default() += count.count;
        }
        families.push(family(name, help, counters(project, ["workflow", "gate"], &counted)));
    }
    let invalid = of_kind(EventKind::WorkflowConfigInvalid).map(|count| count.count).sum();
    families.push(config_invalid(project, &BTreeMap::from([([], invalid)])));
    families
}

fn config_invalid(project: &str, invalid: &By<'_, 0, u64>) -> Family {
    let help = "Commits whose rules are invalid.";
    family("aof_workflow_config_invalid", help, counters(project, [], invalid))
}

fn place(count: &EventCount) -> [&str; 2] {
    [count.workflow.as_deref().unwrap_or_default(), count.gate.as_deref().unwrap_or_default()]
}

const INBOX_PENDING: &str = "Completion files that were dropped and are not processed yet.";

/// The numbers of a project at one moment.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// The project's name.
    pub project: String,
    /// All families that do not change by the passing of time alone.
    pub families: Vec<Family>,
    /// Files that could not be counted as tasks.
    pub unreadable: Vec<Unreadable>,
    /// The error because of which the metrics of the event stream are missing.
    pub events_error: Option<ProjectError>,
    /// The beginning of the oldest open visit of each gate; `None` if none is open.
    oldest: Vec<(Labels, Option<i64>)>,
}

impl Numbers {
    /// Returns the ages of the oldest open visits at that time.
    pub(crate) fn ages(&self, now: Timestamp) -> Family {
        ages(&self.oldest, now)
    }
}

/// Counts the project.
pub(crate) fn numbers(workspace: &Workspace, in_force: &InForce) -> Result<Numbers, ProjectError> {
    let listing = read_all(workspace, in_force, ListScope::All);
    let committed = committed_versions(workspace, in_force, &listing)?;
    let known = known_series(&in_force.rules);
    let tasks = listing.tasks.iter().map(|(header, _)| &**header).chain(&committed);
    let counts = count::count_tasks(&known, tasks);
    let project = in_force.project_name(workspace);
    let mut families = task_families(&project, &counts);
    let events_error = match event_counts(workspace) {
        Ok(events) => {
            families.extend(of_events(&project, &known, &events));
            None
        }
        Err(error) => Some(error),
    };
    families.push(level("aof_inbox_pending", INBOX_PENDING, &project, pending(workspace)?));
    families.push(level(
        "aof_unreadable_task_files",
        "Files below tasks/ that cannot be read as tasks.",
        &project,
        listing.unreadable.len(),
    ));
    families.push(build());
    let oldest = oldest(&project, &counts);
    Ok(Numbers { project, families, unreadable: listing.unreadable, events_error, oldest })
}

/// Counts the project under the rules in force. If no valid rules were ever committed, counts the commits of rule files instead of tasks.
pub(crate) fn current_numbers(workspace: &Workspace) -> Result<Numbers, ProjectError> {
    let error = match workspace.rules() {
        Ok(in_force) => return numbers(workspace, &in_force),
        Err(error @ ProjectError::InvalidRules(_)) => error,
        Err(error) => return Err(error),
    };
    let project = workspace.paths.folder_name().unwrap_or_default();
    let invalid = match workspace.repository.head_for_reading()?.commit {
        Some(head) => workspace.repository.log_of(head, &RULE_FILES)?.count(),
        None => 0,
    };
    let invalid = BTreeMap::from([([], invalid as u64)]);
    let families = vec![
        config_invalid(&project, &invalid),
        level("aof_inbox_pending", INBOX_PENDING, &project, pending(workspace)?),
        build(),
    ];
    Ok(Numbers { project, families, events_error: Some(error), ..Numbers::default() })
}

/// Returns HEAD's versions of the tasks whose files cannot be read now: Prometheus would take a decreasing counter for a restart.
fn committed_versions(
    workspace: &Workspace,
    in_force: &InForce,
    listing: &Listing,
) -> Result<Vec<TaskSummary>, ProjectError> {
    let mut versions = Vec::new();
    if listing.unreadable.is_empty() {
        return Ok(versions);
    }
    let Some(head) = workspace.repository.head_for_reading()?.commit else { return Ok(versions) };
    let mut counted: HashSet<_> = listing.tasks.iter().map(|(task, _)| task.id.clone()).collect();
    for file in &listing.unreadable {
        let Ok(path) = file.path.parse::<ProjectPath>() else { continue };
        let Some(Ok(id)) = layout::task_id(path.name()) else { continue };
        let Some(bytes) = workspace.repository.read(head, path.as_str())? else { continue };
        if let Ok(task) = task_state::parse(in_force, &id, &path, &bytes, workspace.now())
            && counted.insert(id)
        {
            let mut summary = TaskSummary::of(&task);
            summary.follow(&in_force.rules);
            versions.push(summary);
        }
    }
    Ok(versions)
}
