//! Counts for metrics, from the task files, so that a restart resets nothing. No label names a task.

use std::collections::BTreeMap;

use crate::domain::histogram::Histogram;
use crate::domain::{
    Blocker, Branch, Destination, Ending, Gate, GateId, GateKind, Outcome, Status, Workflow,
};
use crate::observability::stats::gates::most_passes;
use crate::observability::stats::numbers::verdicts;
use crate::rules::{Edge, EdgeKind, Rules, edges};
use crate::tasks::headers::summary::{EndedVisit, TaskSummary};

/// The reasons why a task is blocked, as labels.
pub(crate) const REASONS: [&str; 5] = ["held", "loop", "dependency", "no_agents", "reported"];
/// The reason why a gate was passed over: its condition did not hold.
const CONDITION: &str = "condition_false";
/// The reason why a gate was passed over: a route led past it.
const ROUTE: &str = "route";
/// The destination of a completed task.
const END: &str = "$end";
/// The destination of a cancelled task.
const CANCELLED: &str = "$cancelled";

/// Numbers by labels, in the order of the family's labels, without the project.
pub(crate) type By<'h, const N: usize, T> = BTreeMap<[&'h str; N], T>;

/// All counts.
#[derive(Debug, Default)]
pub(crate) struct Counts<'h> {
    /// By workflow, gate, outcome.
    pub durations: By<'h, 3, Histogram>,
    /// By workflow, gate, gate, outcome.
    pub transitions: By<'h, 4, u64>,
    /// By workflow, gate.
    pub rejections: By<'h, 2, u64>,
    /// By workflow, gate that was passed over, reason.
    pub skips: By<'h, 3, u64>,
    /// By workflow, gate.
    pub timeouts: By<'h, 2, u64>,
    /// By workflow, gate; a task at a fork counts there, and at none of its branches.
    pub active: By<'h, 2, u64>,
    /// By workflow, gate or branch: the beginning of the oldest open visit.
    pub oldest: By<'h, 2, Option<i64>>,
    /// By workflow: the time from the creation of tasks to each completion.
    pub lead_times: By<'h, 1, Histogram>,
    /// By workflow: the number of times that tasks had gone through the same gates at each completion.
    pub passes: By<'h, 1, Histogram>,
    /// By workflow, reason.
    pub blocked: By<'h, 2, u64>,
    /// By workflow, gate, role.
    pub no_agents: By<'h, 3, u64>,
    /// Visits that ended before they began.
    pub skewed: u64,
}

fn duration_histogram<'c, 'h, const N: usize>(
    by: &'c mut By<'h, N, Histogram>,
    key: [&'h str; N],
) -> &'c mut Histogram {
    by.entry(key).or_insert_with(|| Histogram::new(Histogram::STAYS))
}

#[expect(clippy::cast_precision_loss, reason = "seconds of a stay are far below 2^52")]
fn seconds(count: u64) -> f64 {
    count as f64
}

/// Counts tasks. Every gate of the rules in force has counts, even if they are zero.
pub(crate) fn count_tasks<'h>(
    known: &'h [KnownSeries],
    headers: impl IntoIterator<Item = &'h TaskSummary>,
) -> Counts<'h> {
    let mut counts = Counts::default();
    for place in known {
        counts.add_series(place);
    }
    for header in headers {
        counts.count_history(header);
        counts.count_current(header);
    }
    counts
}

impl<'h> Counts<'h> {
    /// Counts the ended visits of the task. Each completion counts, so a reopening reduces no count.
    fn count_history(&mut self, header: &'h TaskSummary) {
        let workflow = header.routing.workflow.as_str();
        for (index, visit) in header.visits.iter().enumerate() {
            self.count_visit(workflow, visit);
            if visit.to.as_deref() == Some(END) {
                let end = visit.entered.saturating_add_unsigned(visit.seconds);
                let lead =
                    u64::try_from(end.saturating_sub(header.created.as_second())).unwrap_or(0);
                duration_histogram(&mut self.lead_times, [workflow]).observe(seconds(lead));
                let passes = most_passes(&header.visits[..=index], None);
                self.passes_histogram(workflow).observe(passes.into());
            }
        }
    }

    /// Counts an ended visit: that of a branch for the branch, and the one that closes a fork for the fork, too.
    fn count_visit(&mut self, workflow: &'h str, visit: &'h EndedVisit) {
        let (gate, outcome) = (visit.gate.as_str(), visit.ended.as_str());
        self.skewed += u64::from(visit.skewed);
        // Between its end and its reopening, a task was at no gate.
        if outcome != Ending::Reopened.as_str() {
            duration_histogram(&mut self.durations, [workflow, gate, outcome])
                .observe(seconds(visit.seconds));
        }
        let fork = gate.split_once('/').map(|(fork, _)| fork);
        let to = match (&visit.to, &visit.join, fork) {
            (_, Some(join), _) => join.fork.as_str(),
            (Some(to), ..) => to,
            (None, _, Some(fork)) => fork,
            (None, _, None) => CANCELLED,
        };
        *self.transitions.entry([workflow, gate, to, outcome]).or_default() += 1;
        self.rejections.entry([workflow, gate]).or_default();
        for verdict in verdicts(visit) {
            *self.rejections.entry([workflow, verdict.station]).or_default() +=
                u64::from(verdict.rejects);
        }
        *self.timeouts.entry([workflow, gate]).or_default() += u64::from(visit.timeouts);
        for gate in &visit.skipped {
            *self.skips.entry([workflow, gate, skip_reason(visit)]).or_default() += 1;
        }
        let Some((join, to)) = visit.join.as_ref().zip(visit.to.as_deref()) else { return };
        let outcome = if join.failed { "needs_review" } else { "complete" };
        duration_histogram(&mut self.durations, [workflow, &join.fork, outcome])
            .observe(seconds(visit.seconds));
        *self.transitions.entry([workflow, &join.fork, to, outcome]).or_default() += 1;
    }

    fn add_series(&mut self, known: &'h KnownSeries) {
        let (workflow, gate) = (known.workflow.as_str(), known.gate.as_str());
        for outcome in &known.outcomes {
            duration_histogram(&mut self.durations, [workflow, gate, outcome]);
        }
        for (to, outcome) in &known.ways {
            self.transitions.entry([workflow, gate, to, outcome]).or_default();
        }
        self.rejections.entry([workflow, gate]).or_default();
        if known.conditional {
            self.skips.entry([workflow, gate, CONDITION]).or_default();
        }
        self.timeouts.entry([workflow, gate]).or_default();
        if !known.branch {
            self.active.entry([workflow, gate]).or_default();
        }
        self.oldest.entry([workflow, gate]).or_default();
        if let Some(role) = &known.role {
            self.no_agents.entry([workflow, gate, role]).or_default();
        }
        duration_histogram(&mut self.lead_times, [workflow]);
        self.passes_histogram(workflow);
        for reason in REASONS {
            self.blocked.entry([workflow, reason]).or_default();
        }
    }

    fn passes_histogram(&mut self, workflow: &'h str) -> &mut Histogram {
        self.passes.entry([workflow]).or_insert_with(|| Histogram::new(Histogram::PASSES))
    }

    /// Counts the current place of the task.
    fn count_current(&mut self, header: &'h TaskSummary) {
        let workflow = header.routing.workflow.as_str();
        let Some(gate) = header.current_gate().map(GateId::as_str) else { return };
        *self.active.entry([workflow, gate]).or_default() += 1;
        self.note_age([workflow, gate], header.entered());
        let late = header.task.gate.as_ref().is_some_and(|open| open.overdue.is_some());
        *self.timeouts.entry([workflow, gate]).or_default() += u64::from(late);
        for open in &header.open_branches {
            let branch = self.branch(workflow, gate, open.id.as_str());
            if let Some(branch) = branch {
                self.note_age([workflow, branch], header.entered());
                let late = u64::from(open.overdue.is_some());
                *self.timeouts.entry([workflow, branch]).or_default() += late;
            }
        }
        if header.status == Status::Blocked {
            *self.blocked.entry([workflow, reason(header)]).or_default() += 1;
        }
        if let Some(role) = &header.role
            && header.blockers.iter().any(Blocker::is_nobody)
        {
            *self.no_agents.entry([workflow, gate, role.as_str()]).or_default() += 1;
        }
        for open in header.branches_without_agents() {
            if let Some(branch) = self.branch(workflow, gate, open.id.as_str()) {
                *self.no_agents.entry([workflow, branch, open.role.as_str()]).or_default() += 1;
            }
        }
    }

    /// Returns the branch's name in the counts; `None` if the rules no longer have it.
    fn branch(&self, workflow: &str, fork: &str, branch: &str) -> Option<&'h str> {
        let mut known =
            self.oldest.keys().filter(|[known, _]| *known == workflow).map(|[_, gate]| *gate);
        known.find(|gate| gate.split_once('/') == Some((fork, branch)))
    }

    fn note_age(&mut self, place: [&'h str; 2], entered: Option<i64>) {
        let oldest = self.oldest.entry(place).or_default();
        *oldest = [*oldest, entered].into_iter().flatten().min();
    }
}

/// Returns the label for the reason why the task is blocked. Reasons that need a person have precedence.
fn reason(header: &TaskSummary) -> &'static str {
    let says = |test: fn(&Blocker) -> bool| header.blockers.iter().any(test);
    let [held, circle, dependency, no_agents, reported] = REASONS;
    if header.is_held() {
        held
    } else if says(|blocker| matches!(blocker, Blocker::Circle(_))) {
        circle
    } else if !header.lost_dependencies.is_empty() {
        dependency
    } else if says(Blocker::is_nobody) {
        no_agents
    } else {
        reported
    }
}

/// Returns the reason why gates were passed over after the visit. Without a route, only `complete` and `skip` lead on, to the next
/// gate that applies. An entry does not show whether `complete` had a route: it counts as having none.
fn skip_reason(visit: &EndedVisit) -> &'static str {
    let joined = visit
        .join
        .as_ref()
        .map(|join| if join.failed { Outcome::NeedsReview } else { Outcome::Complete });
    let ending = joined.as_ref().map_or(visit.ended.as_str(), Outcome::as_str);
    let goes_on =
        [Outcome::Complete, Outcome::Skip].iter().any(|outcome| outcome.as_str() == ending);
    if goes_on && visit.retry.is_none() { CONDITION } else { ROUTE }
}

/// A gate in force, or a branch of one.
#[derive(Debug)]
pub(crate) struct KnownSeries {
    pub workflow: String,
    pub gate: String,
    /// The role; `None` for a fork and a condition.
    pub role: Option<String>,
    /// The possible endings of a visit there.
    pub outcomes: Vec<String>,
    /// The possible targets of each outcome.
    pub ways: Vec<(String, String)>,
    /// True if tasks may pass the gate over because of its condition.
    pub conditional: bool,
    /// True if it is a branch: the task counts as being at the fork.
    pub branch: bool,
}

/// Returns the gates of all workflows in their order, each fork followed by its branches.
pub(crate) fn known_series(rules: &Rules) -> Vec<KnownSeries> {
    rules.project.workflows.iter().flat_map(of_workflow).collect()
}

fn of_workflow(workflow: &Workflow) -> Vec<KnownSeries> {
    let edges = edges(workflow);
    let mut all = Vec::new();
    for gate in &workflow.gates {
        let mut ways = Vec::new();
        for edge in edges.iter().filter(|edge| edge.from == gate.id) {
            for to in ends(&edges, edge) {
                ways.extend(
                    edge.outcomes.iter().map(|outcome| (to.to_string(), outcome.to_string())),
                );
            }
        }
        let outcomes = outcomes(gate);
        // The edges of a workflow do not include that a blocked task stays.
        let blocked = Outcome::Blocked.to_string();
        if outcomes.contains(&blocked) && !ways.iter().any(|(_, outcome)| *outcome == blocked) {
            ways.push((gate.id.to_string(), blocked));
        }
        all.push(known(workflow, gate, gate.id.to_string(), ways));
        for branch in gate.fork().map(|fork| fork.branches.as_slice()).unwrap_or_default() {
            all.push(of_branch(workflow, gate, branch));
        }
    }
    all
}

/// Returns the possible ends of an edge: its gate, or, if that is passed over, a later one.
fn ends<'e>(edges: &'e [Edge], edge: &'e Edge) -> Vec<&'e Destination> {
    let mut ends = vec![&edge.to];
    // A gate can be passed over on the way forward, but not when a task is sent back to it.
    let mut last = Some(&edge.to).filter(|_| edge.way == EdgeKind::On);
    while let Some(Destination::Gate(gate)) = last {
        last = edges
            .iter()
            .find(|over| over.from == *gate && over.way == EdgeKind::Over)
            .map(|over| &over.to);
        ends.extend(last);
    }
    ends
}

fn of_branch(workflow: &Workflow, fork: &Gate, branch: &Branch) -> KnownSeries {
    let gate = branch.gate();
    let ways = outcomes(gate).into_iter().map(|outcome| (fork.id.to_string(), outcome)).collect();
    KnownSeries { branch: true, ..known(workflow, gate, format!("{}/{}", fork.id, gate.id), ways) }
}

fn known(
    workflow: &Workflow,
    gate: &Gate,
    name: String,
    ways: Vec<(String, String)>,
) -> KnownSeries {
    KnownSeries {
        workflow: workflow.name.to_string(),
        gate: name,
        role: gate.role().map(ToString::to_string),
        outcomes: outcomes(gate),
        ways,
        conditional: gate.when.is_some() && gate.kind != GateKind::Condition,
        branch: false,
    }
}

fn outcomes(gate: &Gate) -> Vec<String> {
    let joined = [Outcome::Complete, Outcome::NeedsReview];
    let outcomes = match &gate.kind {
        GateKind::Work(_) => gate.possible(),
        GateKind::Condition => gate.exits.decisions().cloned().collect(),
        GateKind::Fork(_) => joined
            .into_iter()
            .filter(|outcome| *outcome == Outcome::Complete || gate.can_reject())
            .collect(),
    };
    outcomes.iter().map(ToString::to_string).collect()
}
