//! The most that a task can cost, before a person is asked.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

use super::cases::{Answers, branch_applies, edges_for};
use super::reach::most_returns;
use crate::act::LOOP_LIMIT;
use crate::routing::workplace::Workplace;
use crate::transition::claims::TimeLimits;
use crate::workflow::graph::{Edge, EdgeKind, first};
use crate::workflow::rules::Rules;
use aof_domain::{Branch, Destination, Duty, Exhausted, Gate, GateId, GateKind, RoleId, Workflow};

/// The largest limit that counts as one.
const MOST_RETRIES: u32 = 100;
/// The most combinations of a gate and counters.
const MOST_PLACES: usize = 200_000;

/// The most that a task can cost before a person is asked; `None` without a limit, or if it was not counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Visits of the longest way.
    pub visits: Option<u64>,
    /// Starts of agents that are programs.
    pub starts: Option<u64>,
    /// Times that the task is sent back.
    pub rejections: Option<u64>,
    /// The settings that would set the missing limits.
    pub unlimited: Vec<String>,
    /// False if there are too many returns, or combinations of counters, to count it.
    #[serde(rename = "counted")]
    pub is_counted: bool,
}

impl Cost {
    /// The most of all tasks, whose conditions answer in one of these ways.
    pub(crate) fn of(rules: &Rules, workflow: &Workflow, answers: &BTreeSet<Answers>) -> Self {
        let mut unlimited = Vec::new();
        let mut looks = false;
        for gate in &workflow.gates {
            let place = Workplace::at(gate).filter(|place| place.looks_every().is_some());
            if place.is_some_and(|place| TimeLimits::of(workflow, place.duty).timeout.is_none()) {
                looks = true;
                unlimited.push(format!(
                    "a `timeout` of gate `{}`, whose program looks again and again",
                    gate.id
                ));
            }
        }
        let limits = || workflow.gates.iter().filter_map(|gate| gate.exits.max_retries);
        let found = || answers.iter().map(|answers| Longest::find(rules, workflow, answers));
        let all = limits().all(|limit| limit <= MOST_RETRIES).then(|| found().collect());
        let most = all.flatten().map(|all: Vec<Costs>| all.into_iter().fold([0; 3], larger));
        let is_counted = most.is_some();
        let [visits, starts, rejections] = most.map_or([None; 3], |most| most.map(Some));
        let starts = starts.filter(|_| !looks);
        Self { visits, starts, rejections, unlimited, is_counted }
    }
}

/// Visits, starts of agents, and times sent back.
type Costs = [u64; 3];

fn larger(one: Costs, other: Costs) -> Costs {
    std::array::from_fn(|at| one[at].max(other[at]))
}

fn added(one: Costs, other: Costs) -> Costs {
    std::array::from_fn(|at| one[at] + other[at])
}

/// A place on a way: the gate, the gate that sent the task there, and how often it was sent back to each gate.
type WayPlace = (usize, usize, Vec<u32>);

/// The longest ways, by gates and the counters of the ways back: each cost by itself.
struct Longest<'a> {
    rules: &'a Rules,
    workflow: &'a Workflow,
    answers: &'a Answers,
    /// The edges, each with the place of its gate.
    edges: Vec<(usize, Edge)>,
}

impl<'a> Longest<'a> {
    /// Returns the costs; `None` if there are too many combinations.
    fn find(rules: &'a Rules, workflow: &'a Workflow, answers: &'a Answers) -> Option<Costs> {
        let place = |gate: &GateId| workflow.gate(gate).map_or(0, |(place, _)| place);
        let edges = edges_for(workflow, answers).into_iter();
        let edges = edges.map(|edge| (place(&edge.from), edge)).collect();
        let search = Self { rules, workflow, answers, edges };
        let start = search.place(&first(workflow).id);
        let once = search.longest(&(start, start, vec![0; workflow.gates.len()]))?;
        let rounds = workflow.repeat.as_ref().map_or(1, |repeat| u64::from(repeat.max));
        Some(once.map(|cost| cost * rounds))
    }

    fn place(&self, gate: &GateId) -> usize {
        self.workflow.gate(gate).map_or(0, |(place, _)| place)
    }

    fn longest(&self, start: &WayPlace) -> Option<Costs> {
        let mut known: HashMap<WayPlace, Costs> = HashMap::new();
        let mut open = vec![(start.clone(), self.ways(start))];
        while let Some((place, ways)) = open.pop() {
            let unknown =
                ways.iter().find_map(|(_, to)| to.as_ref().filter(|to| !known.contains_key(*to)));
            if let Some(to) = unknown.cloned() {
                if known.len() + open.len() > MOST_PLACES {
                    return None;
                }
                let further = self.ways(&to);
                open.push((place, ways));
                open.push((to, further));
                continue;
            }
            let costs = |(here, to): &(Costs, Option<WayPlace>)| {
                to.as_ref().map_or(*here, |to| added(*here, known[to]))
            };
            let most = ways.iter().map(costs).fold(Costs::default(), larger);
            known.insert(place, most);
        }
        known.get(start).copied()
    }

    /// Returns the ways on from a place, each with its costs; those without a place end the work, or ask a person.
    fn ways(&self, place: &WayPlace) -> Vec<(Costs, Option<WayPlace>)> {
        let (at, sender, counts) = place;
        let (here, inside) = (self.visit(*at), self.inside(*at));
        let mut ways = vec![(here, None)];
        for (from, edge) in self.edges_of(&inside) {
            let Destination::Gate(to) = &edge.to else { continue };
            let to = self.place(to);
            // The ways within a loop are part of its visit.
            if inside.contains(&to) && self.workflow.gates[*at].for_each().is_some() {
                continue;
            }
            let on = || Some((to, *from, counts.clone()));
            match edge.way {
                EdgeKind::On => ways.push((here, on())),
                EdgeKind::Over => ways.push((Costs::default(), on())),
                EdgeKind::Return if to == *sender => ways.push((here, on())),
                EdgeKind::Back(limit) => {
                    self.back(&(*from, *sender, counts.clone()), here, to, limit, &mut ways);
                }
                EdgeKind::Return
                | EdgeKind::Hold
                | EdgeKind::Each
                | EdgeKind::Again(_)
                | EdgeKind::Exhausted(_) => {}
            }
        }
        ways
    }

    /// Returns the gate, and the one that verifies its items.
    fn inside(&self, at: usize) -> Vec<usize> {
        let verify = self.workflow.gates[at].for_each().and_then(|each| each.verify_each.as_ref());
        std::iter::once(at).chain(verify.map(|id| self.place(id))).collect()
    }

    fn edges_of(&self, gates: &[usize]) -> impl Iterator<Item = &(usize, Edge)> {
        self.edges.iter().filter(|(from, _)| gates.contains(from))
    }

    fn back(
        &self,
        (at, _, counts): &WayPlace,
        here: Costs,
        to: usize,
        limit: u32,
        ways: &mut Vec<(Costs, Option<WayPlace>)>,
    ) {
        let enter = |to: usize| {
            let mut counts = counts.clone();
            counts[to] += 1;
            Some((to, *at, counts))
        };
        let gate = &self.workflow.gates[*at];
        let escalates = matches!(gate.exits.on_exhausted, Exhausted::Escalate(_));
        if counts[to] < limit || escalates && counts[to] < limit + LOOP_LIMIT {
            ways.push((added(here, [0, 0, 1]), enter(to)));
        } else if matches!(gate.exits.on_exhausted, Exhausted::Route(_)) {
            let own = self.edges_of(std::slice::from_ref(at));
            for (_, edge) in own.filter(|(_, edge)| matches!(edge.way, EdgeKind::Exhausted(_))) {
                let Destination::Gate(id) = &edge.to else { continue };
                let place = self.place(id);
                if !self.workflow.is_backward(*at, id) {
                    ways.push((here, Some((place, *at, counts.clone()))));
                } else if counts[place] < limit.max(LOOP_LIMIT) {
                    ways.push((added(here, [0, 0, 1]), enter(place)));
                }
            }
        }
    }

    /// Returns the costs of a visit of the gate; of a loop, those of all its items.
    fn visit(&self, at: usize) -> Costs {
        let gate = &self.workflow.gates[at];
        let inside = self.inside(at);
        let once = inside.iter().map(|at| self.work(&self.workflow.gates[*at]));
        let [visits, starts, _] = once.fold(Costs::default(), added);
        let Some(each) = gate.for_each() else { return [visits, starts, 0] };
        let returns = self.edges_of(&inside).filter_map(|(from, edge)| match edge.way {
            EdgeKind::Back(limit) if edge.to == Destination::Gate(gate.id.clone()) => {
                Some(most_returns(&self.workflow.gates[*from].exits.on_exhausted, limit))
            }
            _ => None,
        });
        let (items, returns) = (each.max_items as u64, u64::from(returns.max().unwrap_or(0)));
        [visits * (1 + returns), starts * (1 + returns), returns].map(|cost| cost * items)
    }

    /// Returns the costs of the work at a gate, and of the role that steps in after a time.
    fn work(&self, gate: &Gate) -> Costs {
        let starts = |role: &RoleId, duty: &Duty| {
            let mut able = self.rules.org.able(role, duty.require_human);
            u64::from(able.any(|agent| !agent.is_human()))
        };
        let one = |duty: &Duty| {
            let timeout = TimeLimits::of(self.workflow, duty).timeout;
            let steps_in = timeout.and(duty.escalate_to.as_ref());
            let again = steps_in.map_or(0, |role| starts(role, duty));
            [1 + u64::from(steps_in.is_some()), starts(&duty.role, duty) + again, 0]
        };
        match &gate.kind {
            GateKind::Work(duty) => one(duty),
            GateKind::Condition => [1, 0, 0],
            GateKind::Fork(fork) => {
                let is_left_out = |branch: &&Branch| {
                    branch_applies(self.answers, &gate.id, branch) == Some(false)
                };
                let counting = fork.branches.iter().filter(|branch| !is_left_out(branch));
                counting.map(|branch| one(branch.duty())).fold(Costs::default(), added)
            }
        }
    }
}
