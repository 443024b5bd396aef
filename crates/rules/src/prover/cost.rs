//! The most that a task can cost, before a person is asked.

use std::collections::HashMap;

use crate::act::LOOP_LIMIT;
use crate::routing::workplace::Workplace;
use crate::transition::claims::TimeLimits;
use crate::workflow::graph::{Edge, EdgeKind, edges, first, is_backward};
use crate::workflow::rules::Rules;
use aof_domain::{Destination, Exhausted, Gate, GateId, GateKind, Workflow};

/// The largest limit that counts as one.
const MOST_RETRIES: u32 = 100;
/// The most combinations of a gate and counters.
const MOST_PLACES: usize = 200_000;

/// The most that a task can cost before a person is asked; `None` without a limit, or if it was not counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cost {
    /// Visits of the longest way.
    pub visits: Option<u64>,
    /// Starts of agents that are programs.
    pub starts: Option<u64>,
    /// Times that the task is sent back.
    pub rejections: Option<u64>,
    /// The settings that would set the missing limits.
    pub unlimited: Vec<String>,
    /// False if there are too many combinations of counters to count it.
    pub is_counted: bool,
}

impl Cost {
    pub(crate) fn of(rules: &Rules, workflow: &Workflow) -> Self {
        let mut unlimited = Vec::new();
        let large = |gate: &&Gate| gate.exits.max_retries.is_some_and(|limit| limit > MOST_RETRIES);
        for gate in workflow.gates.iter().filter(large) {
            unlimited.push(format!("a smaller `maxRetries` of gate `{}`", gate.id));
        }
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
        let is_bound = !workflow.gates.iter().any(|gate| large(&gate));
        let mut is_counted = true;
        let mut most = |weight: Weight| {
            let most = (is_bound && is_counted).then(|| Longest::find(rules, workflow, weight))?;
            is_counted = most.is_some();
            most
        };
        Self {
            visits: most(Weight::Visits),
            starts: most(Weight::Starts).filter(|_| !looks),
            rejections: most(Weight::Rejections),
            unlimited,
            is_counted,
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Weight {
    Visits,
    Starts,
    Rejections,
}

/// A place on a way: the gate, the gate that sent the task there, and how often it was sent back to each gate.
type WayPlace = (usize, usize, Vec<u32>);

/// The longest way, by gates and the counters of the ways back.
struct Longest<'a> {
    rules: &'a Rules,
    workflow: &'a Workflow,
    edges: Vec<Edge>,
    weight: Weight,
}

impl<'a> Longest<'a> {
    fn find(rules: &'a Rules, workflow: &'a Workflow, weight: Weight) -> Option<u64> {
        let search = Self { rules, workflow, edges: edges(workflow), weight };
        let start = search.place(&first(workflow).id);
        let once = search.longest(&(start, start, vec![0; workflow.gates.len()]))?;
        let rounds = workflow.repeat.as_ref().map_or(1, |repeat| u64::from(repeat.max));
        Some(once * rounds)
    }

    fn place(&self, gate: &GateId) -> usize {
        self.workflow.gate(gate).map_or(0, |(place, _)| place)
    }

    /// Returns the weight of the longest way from there; `None` if there are too many combinations.
    fn longest(&self, start: &WayPlace) -> Option<u64> {
        let mut known: HashMap<WayPlace, u64> = HashMap::new();
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
            let weight =
                |(here, to): &(u64, Option<WayPlace>)| here + to.as_ref().map_or(0, |to| known[to]);
            let most = ways.iter().map(weight).max().unwrap_or(0);
            known.insert(place, most);
        }
        known.get(start).copied()
    }

    /// Returns the ways on from a place, each with its weight; those without a place end the work, or ask a person.
    fn ways(&self, place: &WayPlace) -> Vec<(u64, Option<WayPlace>)> {
        let (at, sender, counts) = place;
        let gate = &self.workflow.gates[*at];
        let here = self.weigh(gate);
        let mut ways = vec![(here, None)];
        for edge in self.edges.iter().filter(|edge| edge.from == gate.id) {
            let Destination::Gate(to) = &edge.to else { continue };
            let to = self.place(to);
            let on = || Some((to, *at, counts.clone()));
            match edge.way {
                EdgeKind::On => ways.push((here, on())),
                EdgeKind::Over => ways.push((0, on())),
                EdgeKind::Return if to == *sender => ways.push((here, on())),
                EdgeKind::Back(limit) => self.back(place, here, to, limit, &mut ways),
                EdgeKind::Return
                | EdgeKind::Hold
                | EdgeKind::Each
                | EdgeKind::Again(_)
                | EdgeKind::Exhausted(_) => {}
            }
        }
        ways
    }

    fn back(
        &self,
        (at, _, counts): &WayPlace,
        here: u64,
        to: usize,
        limit: u32,
        ways: &mut Vec<(u64, Option<WayPlace>)>,
    ) {
        let enter = |to: usize| {
            let mut counts = counts.clone();
            counts[to] += 1;
            Some((to, *at, counts))
        };
        let gate = &self.workflow.gates[*at];
        let escalates = matches!(gate.exits.on_exhausted, Exhausted::Escalate(_));
        if counts[to] < limit || escalates && counts[to] < limit + LOOP_LIMIT {
            let sent = u64::from(self.weight == Weight::Rejections);
            ways.push((here + sent, enter(to)));
        } else if matches!(gate.exits.on_exhausted, Exhausted::Route(_)) {
            let own =
                |edge: &&Edge| edge.from == gate.id && matches!(edge.way, EdgeKind::Exhausted(_));
            for edge in self.edges.iter().filter(own) {
                let Destination::Gate(id) = &edge.to else { continue };
                let place = self.place(id);
                if !is_backward(self.workflow, *at, id) {
                    ways.push((here, Some((place, *at, counts.clone()))));
                } else if counts[place] < limit.max(LOOP_LIMIT) {
                    ways.push((here, enter(place)));
                }
            }
        }
    }

    /// Returns the weight of a visit of the gate.
    fn weigh(&self, gate: &Gate) -> u64 {
        let one = |place: Workplace<'_>| {
            let members = self
                .rules
                .org
                .role(place.role)
                .map(|role| role.agents.as_slice())
                .unwrap_or_default();
            let is_started =
                !place.requires_human(self.rules) && members.iter().any(|agent| !agent.is_human());
            u64::from(self.weight == Weight::Visits || is_started)
        };
        let items = gate.for_each().map_or(1, |each| each.max_items as u64);
        match (&gate.kind, self.weight) {
            (_, Weight::Rejections) => 0,
            (GateKind::Work(_), _) => Workplace::at(gate).map_or(0, one) * items,
            (GateKind::Condition, weight) => u64::from(weight == Weight::Visits),
            (GateKind::Fork(fork), _) => {
                fork.branches.iter().map(|branch| one(Workplace::at_branch(gate, branch))).sum()
            }
        }
    }
}
