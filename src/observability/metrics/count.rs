//! What is counted of each task: where it stands, and, in `ended`, every visit that has ended. Pure; names are borrowed from the headers.

use std::collections::BTreeMap;

use super::ended_visits::CONDITION;
use super::zero_series::Known;
use crate::domain::Status;
use crate::domain::histogram::Histogram;
use crate::rules::{is_circle, is_nobody};
use crate::tasks::headers::header::Header;

/// Why a task is blocked, in one word.
pub(crate) const REASONS: [&str; 5] = ["held", "loop", "dependency", "no_agents", "reported"];
/// Numbers by labels: those in the order in which the family has them, without the project.
pub(crate) type By<'h, const N: usize, T> = BTreeMap<[&'h str; N], T>;

/// All that was counted.
#[derive(Debug, Default)]
pub(crate) struct Counts<'h> {
    /// By workflow, gate, outcome.
    pub durations: By<'h, 3, Stays>,
    /// By workflow, gate, gate, outcome.
    pub transitions: By<'h, 4, u64>,
    /// By workflow, gate.
    pub rejections: By<'h, 2, u64>,
    /// By workflow, gate that was passed over, reason.
    pub skips: By<'h, 3, u64>,
    /// By workflow, gate.
    pub timeouts: By<'h, 2, u64>,
    /// By workflow, gate; a task at a fork is there, and at none of its branches.
    pub active: By<'h, 2, u64>,
    /// By workflow, gate or branch: when the oldest open visit began.
    pub oldest: By<'h, 2, Option<i64>>,
    /// By workflow: from when tasks were made to each time that they came to the end.
    pub lead_times: By<'h, 1, Stays>,
    /// By workflow: how often tasks had gone through the same gates each time that they came to the end.
    pub passes: By<'h, 1, Passes>,
    /// By workflow, reason.
    pub blocked: By<'h, 2, u64>,
    /// By workflow, gate, role.
    pub no_agents: By<'h, 3, u64>,
    /// Visits that ended before they began.
    pub skewed: u64,
}

/// How long stays were.
#[derive(Debug)]
pub(crate) struct Stays(pub Histogram);

impl Default for Stays {
    fn default() -> Self {
        Self(Histogram::new(Histogram::STAYS))
    }
}

impl Stays {
    #[expect(clippy::cast_precision_loss, reason = "seconds of a stay are far below 2^52")]
    pub(crate) fn observe(&mut self, seconds: u64) {
        self.0.observe(seconds as f64);
    }
}

/// How often tasks went through the same gates.
#[derive(Debug)]
pub(crate) struct Passes(pub Histogram);

impl Default for Passes {
    fn default() -> Self {
        Self(Histogram::new(Histogram::PASSES))
    }
}

/// Counts tasks; what the rules in force know is there, whether or not it was met.
pub(crate) fn of<'h>(
    known: &'h [Known],
    headers: impl IntoIterator<Item = &'h Header>,
) -> Counts<'h> {
    let mut counts = Counts::default();
    for place in known {
        counts.expect(place);
    }
    for header in headers {
        counts.past(header);
        counts.stands(header);
    }
    counts
}

impl<'h> Counts<'h> {
    fn expect(&mut self, known: &'h Known) {
        let (workflow, gate) = (known.workflow.as_str(), known.gate.as_str());
        for outcome in &known.outcomes {
            self.durations.entry([workflow, gate, outcome]).or_default();
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
        self.lead_times.entry([workflow]).or_default();
        self.passes.entry([workflow]).or_default();
        for reason in REASONS {
            self.blocked.entry([workflow, reason]).or_default();
        }
    }

    /// Counts where the task stands.
    fn stands(&mut self, header: &'h Header) {
        let workflow = header.workflow.as_str();
        let Some(gate) = header.gate.as_deref() else { return };
        *self.active.entry([workflow, gate]).or_default() += 1;
        self.note_age([workflow, gate], header.entered);
        for part in &header.branches {
            let branch = self.branch(workflow, gate, &part.branch);
            if let Some(branch) = branch {
                self.note_age([workflow, branch], header.entered);
            }
        }
        if header.status == Status::Blocked.as_str() {
            *self.blocked.entry([workflow, reason(header)]).or_default() += 1;
        }
        if let Some(role) =
            header.role.as_deref().filter(|_| header.blockers.iter().any(|text| is_nobody(text)))
        {
            *self.no_agents.entry([workflow, gate, role]).or_default() += 1;
        }
        for (branch, role) in header.stand.lacking() {
            if let Some(branch) = self.branch(workflow, gate, branch) {
                *self.no_agents.entry([workflow, branch, role]).or_default() += 1;
            }
        }
    }

    /// Returns the name under which the branch is known; nothing where the rules have it no more.
    fn branch(&self, workflow: &str, fork: &str, branch: &str) -> Option<&'h str> {
        let mut known =
            self.oldest.keys().filter(|[own, _]| *own == workflow).map(|[_, gate]| *gate);
        known.find(|gate| gate.split_once('/') == Some((fork, branch)))
    }

    fn note_age(&mut self, place: [&'h str; 2], entered: Option<i64>) {
        let oldest = self.oldest.entry(place).or_default();
        *oldest = [*oldest, entered].into_iter().flatten().min();
    }
}

/// Returns what stands in the way, in one word; what a person must do comes first.
fn reason(header: &Header) -> &'static str {
    let says = |test: fn(&str) -> bool| header.blockers.iter().any(|text| test(text));
    let [held, circle, dependency, no_agents, reported] = REASONS;
    if header.held {
        held
    } else if says(is_circle) {
        circle
    } else if !header.lost_dependencies.is_empty() {
        dependency
    } else if says(is_nobody) {
        no_agents
    } else {
        reported
    }
}
