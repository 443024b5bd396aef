//! A workflow as a graph, for drawing: the destinations of each gate by the definitions alone. The way of a single task depends on
//! conditions, counters and its history; `route` decides it.

use crate::act::LOOP_LIMIT;
use aof_domain::{
    Destination, Exhausted, Gate, GateId, GateKind, Outcome, RejectionStrategy, Target, Workflow,
};

/// An edge from a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    pub from: GateId,
    pub to: Destination,
    /// The outcomes that take it; empty for skipped gates and exhausted retries.
    pub outcomes: Vec<Outcome>,
    /// Its kind.
    pub way: EdgeKind,
}

/// The kind of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EdgeKind {
    /// Forward, or to an end.
    On,
    /// Backward, at most this many times.
    Back(u32),
    /// Past a gate that does not apply.
    Over,
    /// From a detour back to the gate that sent the task.
    Return,
    /// After this many backward routes.
    Exhausted(u32),
    /// The task stays and waits for a person.
    Hold,
    /// To the next item of a loop.
    Each,
    /// To another round of the workflow, at most this many.
    Again(u32),
}

/// Returns all edges of the workflow, gate by gate.
pub fn edges(workflow: &Workflow) -> Vec<Edge> {
    let mut drawing = Drawing { workflow, edges: Vec::new() };
    for index in 0..workflow.gates.len() {
        drawing.gate(index);
    }
    drawing.rounds();
    drawing.edges
}

/// Returns the gate at which tasks begin, if it applies to them.
pub fn first(workflow: &Workflow) -> &Gate {
    workflow.gates.iter().find(|gate| !gate.detour).unwrap_or(&workflow.gates[0])
}

/// Returns the target of an outcome without a route; `None` if a detour returns to the gate that sent the task.
pub(crate) fn default_target(
    workflow: &Workflow,
    gate: &Gate,
    outcome: &Outcome,
) -> Option<Target> {
    Some(match (outcome, workflow.rejection, &gate.exits.reject_to) {
        (Outcome::Complete | Outcome::Skip, ..) if gate.detour => return None,
        (Outcome::Complete | Outcome::Skip, ..) => Target::Next,
        (Outcome::NeedsReview, ..) if workflow.holds_rejections => Target::Hold,
        (Outcome::NeedsReview, RejectionStrategy::Previous, _) => Target::Previous,
        (Outcome::NeedsReview, RejectionStrategy::Named, Some(to)) => Target::Gate(to.clone()),
        (Outcome::NeedsReview, ..) => Target::Origin,
        // A decision or a failure always has a route.
        (Outcome::Blocked | Outcome::Failed | Outcome::Decision(_), ..) => Target::Hold,
    })
}

struct Drawing<'a> {
    workflow: &'a Workflow,
    edges: Vec<Edge>,
}

impl Drawing<'_> {
    fn gate(&mut self, index: usize) {
        let gate = &self.workflow.gates[index];
        for outcome in outcomes(gate) {
            match gate.exits.route(&outcome) {
                Some(route) => self.along(index, &route.to, &outcome),
                None => self.by_default(index, &outcome),
            }
        }
        if gate.when.is_some() && gate.kind != GateKind::Condition && !gate.detour {
            let to = self.next(index);
            self.add(index, to, None, EdgeKind::Over);
        }
        let times = limit(gate);
        let back = |edge: &Edge| edge.from == gate.id && matches!(edge.way, EdgeKind::Back(_));
        if let Exhausted::Route(target) = &gate.exits.on_exhausted
            && self.edges.iter().any(back)
        {
            for to in self.destinations(index, target) {
                self.add(index, to, None, EdgeKind::Exhausted(times));
            }
        }
    }

    fn by_default(&mut self, index: usize, outcome: &Outcome) {
        let gate = &self.workflow.gates[index];
        if let Some(target) = default_target(self.workflow, gate, outcome) {
            let loops = if gate.detour { self.loops_verified_at(&gate.id) } else { Vec::new() };
            if *outcome != Outcome::NeedsReview || target == Target::Hold || loops.is_empty() {
                return self.along(index, &target, outcome);
            }
            for place in loops {
                let to = Destination::Gate(self.workflow.gates[place].id.clone());
                self.add(index, to, Some(outcome.clone()), EdgeKind::Back(limit(gate)));
            }
            return;
        }
        // Only a detour gets here.
        for place in self.loops_verified_at(&gate.id) {
            self.each(index, place, outcome);
        }
        for sender in self.senders(&gate.id) {
            let to = Destination::Gate(sender);
            self.add(index, to, Some(outcome.clone()), EdgeKind::Return);
        }
    }

    /// Adds the edges after an item of a loop: to the next item, and out of the loop.
    fn each(&mut self, index: usize, place: usize, outcome: &Outcome) {
        let to = Destination::Gate(self.workflow.gates[place].id.clone());
        self.add(index, to, Some(outcome.clone()), EdgeKind::Each);
        self.add(index, self.next(place), Some(outcome.clone()), EdgeKind::On);
    }

    /// Returns the places of the gates whose items are verified at that gate.
    fn loops_verified_at(&self, id: &GateId) -> Vec<usize> {
        let gates = self.workflow.gates.iter().enumerate();
        let verified = |gate: &Gate| gate.for_each()?.verify_each.as_ref().map(|by| by == id);
        gates.filter(|(_, gate)| verified(gate) == Some(true)).map(|(place, _)| place).collect()
    }

    /// Adds the edges to another round.
    fn rounds(&mut self) {
        let Some(repeat) = &self.workflow.repeat else { return };
        let is_exit = |from: &GateId, outcome: &Outcome| {
            let route = self.workflow.gate(from).and_then(|(_, gate)| gate.exits.route(outcome));
            let ends = route.is_some_and(|route| route.to == Target::End);
            ends && matches!(outcome, Outcome::Decision(_))
        };
        let ending = |edge: &&Edge| {
            let exits = !edge.outcomes.is_empty()
                && edge.outcomes.iter().all(|outcome| is_exit(&edge.from, outcome));
            edge.to == Destination::End && edge.way != EdgeKind::Over && !exits
        };
        let from: Vec<GateId> =
            self.edges.iter().filter(ending).map(|edge| edge.from.clone()).collect();
        let to = Destination::Gate(first(self.workflow).id.clone());
        for from in from {
            let index = self.workflow.gate(&from).map_or(0, |(index, _)| index);
            self.add(index, to.clone(), None, EdgeKind::Again(repeat.max));
        }
    }

    fn along(&mut self, index: usize, target: &Target, outcome: &Outcome) {
        let gate = &self.workflow.gates[index];
        if let (Target::Next, Some(each)) = (target, gate.for_each()) {
            // A gate that is not a detour is a mistake, which is reported separately.
            let is_detour =
                |id: &&GateId| self.workflow.gate(id).is_some_and(|(_, gate)| gate.detour);
            match each.verify_each.as_ref().filter(is_detour) {
                Some(verify) => {
                    let to = Destination::Gate(verify.clone());
                    self.add(index, to, Some(outcome.clone()), EdgeKind::On);
                }
                None => self.each(index, index, outcome),
            }
            return;
        }
        let times = limit(&self.workflow.gates[index]);
        for to in self.destinations(index, target) {
            let way = match (&to, target) {
                (_, Target::Hold) => EdgeKind::Hold,
                (Destination::Gate(gate), _) if self.workflow.is_backward(index, gate) => {
                    EdgeKind::Back(times)
                }
                _ => EdgeKind::On,
            };
            self.add(index, to, Some(outcome.clone()), way);
        }
    }

    /// Returns the possible destinations of a target, the likeliest first.
    fn destinations(&self, index: usize, target: &Target) -> Vec<Destination> {
        let here = &self.workflow.gates[index];
        match target {
            Target::Gate(gate) => vec![Destination::Gate(gate.clone())],
            Target::Next => vec![self.next(index)],
            Target::Hold => vec![Destination::Gate(here.id.clone())],
            Target::End => vec![Destination::End],
            Target::Cancelled => vec![Destination::Cancelled],
            Target::Fail => vec![Destination::Fail],
            Target::Origin => self.certain(self.workflow.gates[..index].iter()),
            Target::Previous => self.certain(self.workflow.gates[..index].iter().rev()),
        }
    }

    /// Returns the gates up to the first that applies to every task; the first of the list if there is none.
    fn certain<'a>(&'a self, gates: impl Iterator<Item = &'a Gate>) -> Vec<Destination> {
        let mut found = Vec::new();
        for gate in gates.filter(|gate| !gate.detour && gate.kind != GateKind::Condition) {
            found.push(Destination::Gate(gate.id.clone()));
            if gate.when.is_none() {
                return found;
            }
        }
        if found.is_empty() {
            found.push(Destination::Gate(first(self.workflow).id.clone()));
        }
        found
    }

    fn next(&self, index: usize) -> Destination {
        let next = self.workflow.gates[index + 1..].iter().find(|gate| !gate.detour);
        next.map_or(Destination::End, |gate| Destination::Gate(gate.id.clone()))
    }

    fn senders(&self, detour: &GateId) -> Vec<GateId> {
        let to = Target::Gate(detour.clone());
        let sends = |gate: &&Gate| {
            gate.exits.written().any(|(_, route)| route.to == to)
                || gate.exits.on_exhausted == Exhausted::Route(to.clone())
                || gate.exits.reject_to.as_ref() == Some(detour)
        };
        self.workflow.gates.iter().filter(sends).map(|gate| gate.id.clone()).collect()
    }

    fn add(&mut self, index: usize, to: Destination, outcome: Option<Outcome>, way: EdgeKind) {
        let from = &self.workflow.gates[index].id;
        let same = |edge: &&mut Edge| edge.from == *from && edge.to == to && edge.way == way;
        match self.edges.iter_mut().find(same) {
            Some(edge) => edge.outcomes.extend(outcome),
            None => self.edges.push(Edge {
                from: from.clone(),
                to,
                outcomes: outcome.into_iter().collect(),
                way,
            }),
        }
    }
}

/// Returns the number of times that the gate may send back.
fn limit(gate: &Gate) -> u32 {
    gate.exits.retries().unwrap_or(LOOP_LIMIT)
}

/// Returns the outcomes of a gate for a drawing: `blocked` only if it has a destination.
fn outcomes(gate: &Gate) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = gate.exits.decisions().cloned().collect();
    if gate.kind == GateKind::Condition {
        return outcomes;
    }
    if outcomes.is_empty() {
        outcomes.push(Outcome::Complete);
    }
    if gate.can_reject() {
        outcomes.push(Outcome::NeedsReview);
    }
    if gate.duty().is_some_and(|duty| duty.can_skip) {
        outcomes.push(Outcome::Skip);
    }
    let written = [Outcome::Blocked, Outcome::Failed];
    outcomes.extend(written.into_iter().filter(|outcome| gate.exits.route(outcome).is_some()));
    outcomes
}
