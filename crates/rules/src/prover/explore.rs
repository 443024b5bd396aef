//! Explores the projection of a workflow from new tasks on, each step by the engine.

use std::collections::{BTreeSet, HashMap, VecDeque};

use serde_json::Value;

use super::cases::Cases;
use super::moves::{Move, Stepper};
use super::projection::{Model, StateKey};
use crate::condition::promise::CompiledPromise;
use aof_domain::{Blocker, Ending, Outcome, Station, Status, Task};

/// A state of the projection.
pub(crate) struct State {
    pub(crate) case: usize,
    /// A task in the state.
    pub(crate) task: Task,
    /// The values of the promise.
    pub(crate) seen: Vec<Value>,
    pub(crate) edges: Vec<TakenMove>,
    /// True if each of its moves was taken.
    pub(crate) is_explored: bool,
}

/// A move from one state to another.
#[derive(Debug, Clone)]
pub(crate) struct TakenMove {
    pub(crate) taken: Move,
    pub(crate) to: usize,
    /// The gates and branches that ended a visit, with their outcomes.
    pub(crate) ended: Vec<(Station, Outcome)>,
}

/// The explored part of the projection.
pub(crate) struct StateGraph {
    pub(crate) states: Vec<State>,
    pub(crate) index: HashMap<StateKey, usize>,
    /// Completions that the engine refuses: what they hand on cannot be made up.
    pub(crate) refused: BTreeSet<(Station, Outcome)>,
}

impl StateGraph {
    /// Explores at most that many states.
    pub(crate) fn explore(model: &Model<'_>, cases: &Cases, most: usize) -> Self {
        let mut graph =
            Self { states: Vec::new(), index: HashMap::new(), refused: BTreeSet::new() };
        for (case, kind) in cases.all.iter().enumerate() {
            let seen = model.promise.map(CompiledPromise::begin).unwrap_or_default();
            graph.add(model, case, kind.task.clone(), seen);
        }
        let mut open: VecDeque<usize> = (0..graph.states.len()).collect();
        let mut stepper = Stepper::new(model, cases);
        while let Some(at) = open.pop_front() {
            if graph.states.len() > most || stepper.is_over() {
                break;
            }
            let State { case, task, seen, .. } = &graph.states[at];
            let (case, task, seen) = (*case, task.clone(), seen.clone());
            let (mut refused, mut accepted) = (BTreeSet::new(), BTreeSet::new());
            for taken in model.moves(&task, &seen) {
                let results = stepper.results(case, &task, &taken);
                if let (Move::Say(says), Some(open)) = (&taken, &task.gate) {
                    let station =
                        Station { gate: open.current.clone(), branch: says.branch.clone() };
                    let all = if results.is_none() { &mut refused } else { &mut accepted };
                    all.insert((station, says.outcome.clone()));
                }
                for after in results.unwrap_or_default() {
                    let ended = ended(&task, &after);
                    let seen = model.seen(&seen, (&task, &after));
                    for after in model.variants(&task, after) {
                        let before = graph.states.len();
                        let to = graph.add(model, case, after, seen.clone());
                        if graph.states.len() > before
                            && !graph.states[to].task.status.is_finished()
                        {
                            open.push_back(to);
                        }
                        let edge = TakenMove { taken: taken.clone(), to, ended: ended.clone() };
                        graph.states[at].edges.push(edge);
                    }
                }
            }
            refused.retain(|one| !accepted.contains(one));
            graph.states[at].is_explored = refused.is_empty() && !stepper.is_over();
            graph.refused.extend(refused);
        }
        graph
    }

    fn add(&mut self, model: &Model<'_>, case: usize, task: Task, seen: Vec<Value>) -> usize {
        let next = self.states.len();
        let at = *self.index.entry(model.key(case, &task, &seen)).or_insert(next);
        if at == next {
            let is_explored = task.status.is_finished();
            // Most tasks come to a state that is known.
            let task = model.shortened(task);
            debug_assert_eq!(self.index.get(&model.key(case, &task, &seen)), Some(&at));
            self.states.push(State { case, task, seen, edges: Vec::new(), is_explored });
        }
        at
    }

    /// Returns whether each state that can be reached was explored.
    pub(crate) fn is_whole(&self) -> bool {
        self.states.iter().all(|state| state.is_explored)
    }

    /// Returns, for each state, the fewest moves to one of these; `None` if none can be reached.
    pub(crate) fn distances(&self, to: impl Fn(usize) -> bool) -> Vec<Option<usize>> {
        let mut into = vec![Vec::new(); self.states.len()];
        for (from, state) in self.states.iter().enumerate() {
            state.edges.iter().for_each(|edge| into[edge.to].push(from));
        }
        let mut found: Vec<Option<usize>> =
            (0..self.states.len()).map(|at| to(at).then_some(0)).collect();
        let mut open: VecDeque<usize> =
            (0..found.len()).filter(|at| found[*at].is_some()).collect();
        while let Some(at) = open.pop_front() {
            for from in &into[at] {
                if found[*from].is_none() {
                    found[*from] = found[at].map(|steps| steps + 1);
                    open.push_back(*from);
                }
            }
        }
        found
    }

    /// Returns whether the state is a proper end: the task is finished, or a route or a limit holds it for a person.
    pub(crate) fn is_end(&self, at: usize) -> bool {
        let task = &self.states[at].task;
        let last =
            task.history.last().filter(|last| last.gate_outcome() != Some(&Outcome::Blocked));
        let by_route = last.is_some_and(|last| last.stays() || last.retry.is_some());
        let waits = |one: &Blocker| matches!(one, Blocker::NoList(_) | Blocker::NoRound(_));
        let parts = task.branches().flat_map(|part| &part.blockers);
        let for_nobody = task.blockers.iter().chain(parts).any(Blocker::is_nobody);
        let is_held = by_route || task.blockers.iter().any(waits);
        task.status.is_finished() || task.status == Status::Blocked && is_held && !for_nobody
    }
}

/// Returns the gate or branch that ended a visit with its outcome, and the fork that it closed.
fn ended(before: &Task, after: &Task) -> Vec<(Station, Outcome)> {
    let Some(entry) = after.history.get(before.history.len()) else { return Vec::new() };
    let Ending::Completed(outcome) = &entry.outcome else { return Vec::new() };
    let fork = entry.branch.as_ref().and(entry.gate_outcome());
    let fork = fork.map(|outcome| (Station::from(&entry.gate), outcome.clone()));
    std::iter::once((entry.station(), outcome.clone())).chain(fork).collect()
}
