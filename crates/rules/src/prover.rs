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
pub(crate) mod promises;
pub(crate) mod reach;
pub(crate) mod staff;
pub(crate) mod story;

pub use cases::NEW_TASK;
pub use cost::Cost;
pub use ends::Alarm;
pub use promises::PromiseReport;
pub use staff::{Absence, Staffing};
pub use story::StoryAct;

use crate::condition::promise::CompiledPromise;
use crate::workflow::rules::Rules;
use aof_domain::{Workflow, words};
use cases::Cases;
use explore::StateGraph;
use moves::MOST_ANSWERS;
use projection::Model;
use serde::Serialize;

/// The most states that are explored.
pub const MOST_STATES: usize = 12_000;
/// The most gates of a workflow that is explored.
const MOST_GATES: usize = 200;

words!(
    /// An answer of the prover.
    ProofVerdict, "a verdict", {
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

/// The prover's answers about a workflow.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProverReport {
    /// The answer to: can a task always come to an end?
    pub ends: ProofVerdict,
    /// The answer to: does each gate, branch, route and condition matter?
    pub alive: ProofVerdict,
    /// The promises about the workflow.
    pub promises: Vec<PromiseReport>,
    /// All alarms, those about ends first, those about promises last.
    pub alarms: Vec<Alarm>,
    #[serde(flatten)]
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
    if let Some(why) = too_large(workflow) {
        return ProverReport {
            ends: ProofVerdict::Unknown,
            alive: ProofVerdict::Unknown,
            promises: promises_of(rules, workflow, most),
            alarms: Vec::new(),
            staffing: Staffing::default(),
            cost: Cost::default(),
            states: 0,
            either_way: Vec::new(),
            unexplored: Some(why),
        };
    }
    let model = Model::new(rules, workflow, None);
    let cases = Cases::of(&model, &[]);
    let graph = StateGraph::explore(&model, &cases, most);
    let stuck = ends::stuck(&model, &cases, &graph);
    // Gates after one that nobody can take are no faults of their own.
    let is_blocked = stuck.iter().any(|alarm| alarm.is_certain);
    let mut dead = ends::dead(&model, &cases, &graph);
    let found = dead.len();
    dead.retain(|alarm| !is_blocked || alarm.code == "constant_condition");
    let is_hidden = dead.len() < found;
    let unexplored = unexplored(&cases, &graph, most);
    let verdict =
        |alarms: &[Alarm]| match (alarms.iter().any(|alarm| alarm.is_certain), alarms, &unexplored)
        {
            (true, ..) => ProofVerdict::Refuted,
            (false, _, Some(_)) => ProofVerdict::Unknown,
            (false, [], None) => ProofVerdict::Proved,
            (false, [_, ..], None) => ProofVerdict::May,
        };
    let promises = promises_of(rules, workflow, most);
    let broken: Vec<Alarm> = promises.iter().filter_map(PromiseReport::alarm).collect();
    ProverReport {
        promises,
        ends: verdict(&stuck),
        // Conditions that may hold or not hide what never happens, and so do tasks that get stuck before it.
        alive: match verdict(&dead) {
            ProofVerdict::Proved if !cases.is_split || is_hidden => ProofVerdict::May,
            other => other,
        },
        staffing: Staffing::of(rules, workflow, &cases.answers()),
        cost: Cost::of(rules, workflow, &cases.answers()),
        states: graph.states.len(),
        either_way: cases
            .open
            .iter()
            .map(|place| place.as_ref().map_or("until".to_owned(), ToString::to_string))
            .collect(),
        alarms: stuck.into_iter().chain(dead).chain(broken).collect(),
        unexplored,
    }
}

/// Proves all promises of the rules, exploring at most that many states for each.
pub fn prove_promises(rules: &Rules, most: usize) -> Vec<PromiseReport> {
    let workflows = rules.project.workflows.iter();
    workflows.flat_map(|workflow| promises_of(rules, workflow, most)).collect()
}

fn promises_of(rules: &Rules, workflow: &Workflow, most: usize) -> Vec<PromiseReport> {
    let is_own = |one: &&CompiledPromise| *rules.project.promised(&one.promise) == workflow.name;
    let own = rules.conditions.promises.iter().filter(is_own);
    let answer = |promise| match too_large(workflow) {
        Some(why) => PromiseReport::unknown(promise, why),
        None => PromiseReport::of(rules, workflow, promise, most),
    };
    own.map(answer).collect()
}

/// Returns the reason why the workflow is not explored, if it has too many gates.
fn too_large(workflow: &Workflow) -> Option<String> {
    let count = workflow.gates.len();
    (count > MOST_GATES)
        .then(|| format!("it has {count} gates, and at most {MOST_GATES} are explored"))
}

/// Returns the reason why not everything was explored.
fn unexplored(cases: &Cases, graph: &StateGraph, most: usize) -> Option<String> {
    if cases.cut {
        return Some("its conditions tell more than 64 kinds of tasks apart".to_owned());
    }
    if let Some((station, outcome)) = graph.refused.first() {
        return Some(format!(
            "the outputs for `{outcome}` at gate `{station}` are too long or too special to make them up"
        ));
    }
    let left = graph.states.iter().filter(|state| !state.is_explored).count();
    (left > 0).then(|| {
        let bound = if graph.states.len() > most {
            format!("has more than {most} states")
        } else {
            format!("has conditions that may answer in more than {MOST_ANSWERS} ways")
        };
        format!("it {bound}; {left} of the states that were reached are not explored")
    })
}
