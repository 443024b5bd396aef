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
/// The most combinations of counters.
const MOST_STATES: usize = 200_000;

/// The most that a task can cost before a person is asked; `None` without a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// Visits of the longest way.
    pub visits: Option<u64>,
    /// Starts of agents that are programs.
    pub starts: Option<u64>,
    /// Times that the task is sent back.
    pub rejections: Option<u64>,
    /// The settings that would set the missing limits.
    pub unlimited: Vec<String>,
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
        let most =
            |weigh: Weight| is_bound.then(|| Longest::find(rules, workflow, weigh)).flatten();
        Self {
            visits: most(Weight::Visits),
            starts: most(Weight::Starts).filter(|_| !looks),
            rejections: most(Weight::Rejections),
            unlimited,
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Weight {
    Visits,
    Starts,
    Rejections,
}

/// The longest way, by gates and the counters of the ways back.
struct Longest<'a> {
    rules: &'a Rules,
    workflow: &'a Workflow,
    edges: Vec<Edge>,
    weight: Weight,
    known: HashMap<(usize, usize, Vec<u32>), u64>,
}

impl<'a> Longest<'a> {
    fn find(rules: &'a Rules, workflow: &'a Workflow, weight: Weight) -> Option<u64> {
        let edges = edges(workflow);
        let mut search = Self { rules, workflow, edges, weight, known: HashMap::new() };
        let start = workflow.gate(&first(workflow).id).map_or(0, |(place, _)| place);
        let once = search.from(start, start, &vec![0; workflow.gates.len()])?;
        let rounds = workflow.repeat.as_ref().map_or(1, |repeat| u64::from(repeat.max));
        Some(once * rounds)
    }

    fn place(&self, gate: &GateId) -> usize {
        self.workflow.gate(gate).map_or(0, |(place, _)| place)
    }

    /// Returns the weight of the longest way from the gate, which `sender` sent the task to.
    fn from(&mut self, at: usize, sender: usize, counts: &[u32]) -> Option<u64> {
        let state = (at, sender, counts.to_vec());
        if let Some(known) = self.known.get(&state) {
            return Some(*known);
        }
        if self.known.len() > MOST_STATES {
            return None;
        }
        let workflow = self.workflow;
        let gate = &workflow.gates[at];
        let here = self.weigh(gate);
        let own: Vec<Edge> =
            self.edges.iter().filter(|edge| edge.from == gate.id).cloned().collect();
        let mut most = here;
        for edge in own {
            let Destination::Gate(to) = &edge.to else { continue };
            let to = self.place(to);
            let further = match edge.way {
                EdgeKind::On => here + self.from(to, at, counts)?,
                EdgeKind::Over => self.from(to, at, counts)?,
                EdgeKind::Return if to == sender => here + self.from(to, at, counts)?,
                EdgeKind::Back(limit) => here + self.back(at, to, limit, counts)?,
                EdgeKind::Return
                | EdgeKind::Hold
                | EdgeKind::Each
                | EdgeKind::Again(_)
                | EdgeKind::Exhausted(_) => continue,
            };
            most = most.max(further);
        }
        self.known.insert(state, most);
        Some(most)
    }

    fn back(&mut self, at: usize, to: usize, limit: u32, counts: &[u32]) -> Option<u64> {
        let sent = u64::from(self.weight == Weight::Rejections);
        let enter = |search: &mut Self, to: usize| {
            let mut counts = counts.to_vec();
            counts[to] += 1;
            search.from(to, at, &counts)
        };
        if counts[to] < limit {
            return Some(sent + enter(self, to)?);
        }
        let gate = &self.workflow.gates[at];
        match &gate.exits.on_exhausted {
            Exhausted::Escalate(_) if counts[to] < limit + LOOP_LIMIT => {
                Some(sent + enter(self, to)?)
            }
            Exhausted::Block | Exhausted::Escalate(_) => Some(0),
            Exhausted::Route(_) => {
                let own = |edge: &&Edge| {
                    edge.from == gate.id && matches!(edge.way, EdgeKind::Exhausted(_))
                };
                let instead: Vec<Destination> =
                    self.edges.iter().filter(own).map(|edge| edge.to.clone()).collect();
                let mut most = 0;
                for to in instead {
                    let Destination::Gate(id) = &to else { continue };
                    let place = self.place(id);
                    most = most.max(if !is_backward(self.workflow, at, id) {
                        self.from(place, at, counts)?
                    } else if counts[place] < limit.max(LOOP_LIMIT) {
                        enter(self, place)?
                    } else {
                        0
                    });
                }
                Some(most)
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
