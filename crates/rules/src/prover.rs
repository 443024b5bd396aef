//! Proves what a workflow promises before anybody works in it, or finds the acts that break it.
//!
//! The prover explores a projection of the engine: what of a task decides its future. Each of its steps is a step of the engine on one
//! task that stands for many. The projection may have more states than the engine, but none is missing; so what holds in it is proved,
//! and a fault that it shows is certain only if its acts were repeated on the engine, by the rules as they are.
//!
//! Explored are completions by everybody who exists, time limits after which another role steps in, and people who unblock a task. Not
//! explored are people who move, cancel or edit a task against the workflow.

pub(crate) mod cases;
pub(crate) mod cost;
pub(crate) mod ends;
pub(crate) mod explore;
pub(crate) mod moves;
pub(crate) mod projection;
pub(crate) mod staff;
pub(crate) mod story;

pub use cost::Cost;
pub use ends::Alarm;
pub use staff::{Absence, Staffing};

use crate::workflow::rules::Rules;
use aof_domain::{Workflow, words};
use cases::Cases;
use explore::Graph;
use projection::Model;

/// The most states that are explored.
pub const MOST_STATES: usize = 12_000;

words!(
    /// An answer of the prover.
    Verdict, "a verdict", {
        /// It holds for every task.
        Proved = "proved",
        /// Acts of the engine break it.
        Refuted = "refuted",
        /// It may be broken, depending on what conditions read.
        May = "may",
        /// Not everything was explored.
        Unknown = "unknown",
    }
);

/// What the prover found out about a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct ProverReport {
    /// Whether a task can always come to an end.
    pub ends: Verdict,
    /// Whether each gate, branch, route and condition matters.
    pub alive: Verdict,
    /// All alarms, those about ends first.
    pub alarms: Vec<Alarm>,
    pub staffing: Staffing,
    pub cost: Cost,
    /// The number of explored states.
    pub states: usize,
    /// The conditions that may hold or not at any time, since they read more than a task's own data.
    pub either_way: Vec<String>,
    /// The reason why not everything was explored.
    pub unexplored: Option<String>,
}

impl ProverReport {
    /// Returns whether an alarm is certain.
    pub fn is_refuted(&self) -> bool {
        self.alarms.iter().any(|alarm| alarm.is_certain)
    }
}

/// Proves a workflow of the rules, exploring at most that many states.
pub fn prove_workflow(rules: &Rules, workflow: &Workflow, most: usize) -> ProverReport {
    let model = Model::new(rules, workflow);
    let cases = Cases::of(rules, workflow, &model.inputs());
    let graph = Graph::explore(&model, &cases, most);
    let stuck = ends::stuck(&model, &cases, &graph);
    // What comes after a gate that nobody can take is not a fault of its own.
    let is_blocked = stuck.iter().any(|alarm| alarm.is_certain);
    let mut dead = ends::dead(&model, &cases, &graph);
    dead.retain(|alarm| !is_blocked || alarm.code == "constant_condition");
    let unexplored = if cases.cut {
        Some("its conditions tell more than 64 kinds of tasks apart".to_owned())
    } else if !graph.is_whole() {
        let left = graph.states.iter().filter(|state| !state.is_explored).count();
        Some(format!(
            "it has more than {most} states; {left} of those that were reached are not explored"
        ))
    } else {
        None
    };
    let verdict =
        |alarms: &[Alarm]| match (alarms.iter().any(|alarm| alarm.is_certain), alarms, &unexplored)
        {
            (true, ..) => Verdict::Refuted,
            (false, _, Some(_)) => Verdict::Unknown,
            (false, [], None) => Verdict::Proved,
            (false, [_, ..], None) => Verdict::May,
        };
    ProverReport {
        ends: verdict(&stuck),
        alive: verdict(&dead),
        staffing: Staffing::of(rules, workflow),
        cost: Cost::of(rules, workflow),
        states: graph.states.len(),
        either_way: cases
            .open
            .iter()
            .map(|place| place.as_ref().map_or("until".to_owned(), ToString::to_string))
            .collect(),
        alarms: stuck.into_iter().chain(dead).collect(),
        unexplored,
    }
}
