//! The parts of a task's past that can matter at a gate: those that a gate reads to which the task may still come.

use std::collections::BTreeSet;

use crate::act::LOOP_LIMIT;
use crate::validate::exits::spread;
use crate::workflow::graph::default_target;
use aof_domain::{
    Duty, Exhausted, Gate, GateId, GateKind, Identity, Outcome, RoleId, Target, Workflow,
};

/// For each gate of a workflow, by its place, what can matter there.
pub(crate) struct Reach {
    /// The gates that a task there may still come to, itself included; there may be more than it really comes to.
    after: Vec<BTreeSet<usize>>,
    /// The gates that its routes may send a task to, other than on to the next.
    sends: Vec<BTreeSet<usize>>,
    /// The gates at which a task may be that its routes sent elsewhere: a loop over an empty list is passed over.
    lands: Vec<BTreeSet<usize>>,
    /// The gates to which a task there may still be sent back.
    live: Vec<BTreeSet<usize>>,
    /// The numbers of returns to the gate at which routes begin to differ; then the same of returns with one item of a loop.
    bounds: [Vec<BTreeSet<u32>>; 2],
    /// True if a route leads from it to the gate that was visited last.
    looks_back: Vec<bool>,
    /// True if routes may lead back to it as the gate visited last.
    is_visited: Vec<bool>,
    /// True if a task can pass over the gate while it must answer a rejection there.
    pub(crate) passed_over: Vec<bool>,
}

impl Reach {
    /// `workflow` has limits that are small enough to be explored.
    pub(crate) fn of(workflow: &Workflow) -> Self {
        let all = || 0..workflow.gates.len();
        let passed_over: Vec<bool> = all().map(|at| passed_over(workflow, at)).collect();
        let sends: Vec<BTreeSet<usize>> =
            all().map(|at| sends(workflow, at, &passed_over)).collect();
        let asks = || all().filter(|at| workflow.gates[*at].can_reject() && passed_over[*at]);
        let next = all().map(|at| {
            let on = on_line(workflow).find(|place| *place > at);
            let again = workflow.repeat.as_ref().and_then(|_| on_line(workflow).next());
            // A detour returns to each gate that sends tasks to it.
            let senders =
                all().filter(|from| workflow.gates[at].detour && sends[*from].contains(&at));
            let ways = on.into_iter().chain(again).chain(asks()).chain(senders);
            ways.chain(sends[at].iter().copied()).collect()
        });
        let next: Vec<BTreeSet<usize>> = next.collect();
        let after = all().map(|at| {
            let mut reached = BTreeSet::from([at]);
            spread(&mut reached, |at| &next[at]);
            reached
        });
        let after: Vec<BTreeSet<usize>> = after.collect();
        let live = |after: &BTreeSet<usize>| {
            after.iter().flat_map(|from| sends[*from].iter().copied()).collect()
        };
        let lands = sends.iter().map(|to| {
            let loops = to.iter().filter(|to| workflow.gates[**to].for_each().is_some());
            loops.flat_map(|to| behind(workflow, *to)).collect()
        });
        let mut bounds = [0, 1].map(|_| vec![BTreeSet::from([0]); workflow.gates.len()]);
        for at in all() {
            let exits = &workflow.gates[at].exits;
            let limit = exits.retries().unwrap_or(LOOP_LIMIT);
            let further = most_returns(&exits.on_exhausted, limit);
            for to in &sends[at] {
                let own = loops_of(workflow, at);
                let is_inside = !own.is_disjoint(&loops_of(workflow, *to));
                let enters =
                    |from: usize| from != at && !own.contains(&from) && sends[from].contains(&at);
                let is_always = own.len() == 1 && (own.contains(&at) || !all().any(enters));
                if is_inside {
                    bounds[1][*to].extend([limit, further]);
                }
                if !(is_inside && is_always) {
                    bounds[0][*to].extend([limit, further]);
                }
            }
        }
        Self {
            live: after.iter().map(live).collect(),
            lands: lands.collect(),
            after,
            bounds,
            looks_back: all().map(|at| targets(workflow, at).contains(&Target::Previous)).collect(),
            is_visited: workflow.gates.iter().map(is_visited).collect(),
            sends,
            passed_over,
        }
    }

    /// Returns the class of a counter of returns to `to`, for a task at `here`: the place of the last bound that it reaches.
    pub(crate) fn class(&self, here: usize, to: usize, of_item: bool, count: u32) -> usize {
        let bounds = self.bounds[usize::from(of_item)][to].range(..=count);
        if self.live[here].contains(&to) { bounds.count() - 1 } else { 0 }
    }

    /// Returns the least number of returns to a gate in that class; `None` if there is no such class.
    pub(crate) fn least(&self, to: usize, of_item: bool, class: usize) -> Option<u32> {
        self.bounds[usize::from(of_item)][to].iter().nth(class).copied()
    }

    /// Returns whether it matters at `here` which gate before `place` was visited last.
    pub(crate) fn looks_back(&self, here: usize, place: usize) -> bool {
        // For gates behind a gate of the line, that one will be the last.
        let is_behind = place > here && self.is_visited[here];
        self.looks_back[place] && !is_behind && self.after[here].contains(&place)
    }

    /// Returns whether any gate looks back.
    pub(crate) fn ever_looks_back(&self) -> bool {
        self.looks_back.contains(&true)
    }

    /// Returns the places of gates whose workers may not work at a later gate of a task at `here`. Only later gates count at which an
    /// agent with these roles may work.
    pub(crate) fn separates(
        &self,
        workflow: &Workflow,
        here: usize,
        is_in: &dyn Fn(&RoleId) -> bool,
    ) -> BTreeSet<usize> {
        let steps_in = |(from, gate): (usize, &Gate), at: usize| {
            (self.sends[from].contains(&at) || self.lands[from].contains(&at))
                && matches!(&gate.exits.on_exhausted, Exhausted::Escalate(role) if is_in(role))
        };
        let mut found = BTreeSet::new();
        for at in &self.after[here] {
            let id = &workflow.gates[*at].id;
            let own = workflow.parts().filter(|(station, _)| station.gate == *id);
            let duties = own.filter_map(|(_, part)| part.duty());
            let by_agent = |duty: &&Duty| duty.separate_by == Identity::Agent;
            for duty in duties.filter(by_agent).filter(|duty| !duty.separate_from.is_empty()) {
                if is_in(&duty.role)
                    || duty.escalate_to.as_ref().is_some_and(is_in)
                    || workflow.gates.iter().enumerate().any(|gate| steps_in(gate, *at))
                {
                    found.extend(
                        duty.separate_from.iter().filter_map(|id| Some(workflow.gate(id)?.0)),
                    );
                }
            }
        }
        found
    }
}

/// Returns the most times that a gate with this limit sends a task back to one place.
pub(crate) fn most_returns(on_exhausted: &Exhausted, limit: u32) -> u32 {
    match on_exhausted {
        Exhausted::Block => limit,
        Exhausted::Escalate(_) => limit + LOOP_LIMIT,
        Exhausted::Route(_) => limit.max(LOOP_LIMIT),
    }
}

fn on_line(workflow: &Workflow) -> impl DoubleEndedIterator<Item = usize> {
    (0..workflow.gates.len()).filter(|place| !workflow.gates[*place].detour)
}

/// Returns the targets of all routes from the gate, but that of `complete` without a route.
pub(crate) fn targets(workflow: &Workflow, at: usize) -> Vec<Target> {
    let gate = &workflow.gates[at];
    let rounds = workflow.repeat.as_ref().map(|repeat| &repeat.on_exhausted);
    let exhausted = std::iter::once(&gate.exits.on_exhausted).chain(rounds);
    let instead = exhausted.filter_map(|exhausted| match exhausted {
        Exhausted::Route(to) => Some(to.clone()),
        Exhausted::Block | Exhausted::Escalate(_) => None,
    });
    let by_default = gate.can_reject() && gate.exits.route(&Outcome::NeedsReview).is_none();
    let rejection =
        by_default.then(|| default_target(workflow, gate, &Outcome::NeedsReview)).flatten();
    gate.exits
        .written()
        .map(|(_, route)| route.to.clone())
        .chain(instead)
        .chain(rejection)
        .collect()
}

/// Returns the gates that routes from the gate at this place may lead to, other than on to the next.
fn sends(workflow: &Workflow, at: usize, passed_over: &[bool]) -> BTreeSet<usize> {
    let place = |id: &GateId| workflow.gate(id).map(|(place, _)| place);
    let before = || on_line(workflow).filter(|place| *place < at);
    let applies = |place: &usize| always_applies(&workflow.gates[*place]);
    let origin = || first_certain(before(), applies, on_line(workflow).take(1).collect());
    let mut found = BTreeSet::new();
    for target in targets(workflow, at) {
        match target {
            Target::Gate(to) => found.extend(place(&to)),
            Target::Origin => found.extend(origin()),
            Target::Previous => {
                let visited = before().filter(|place| is_visited(&workflow.gates[*place])).rev();
                found.extend(first_certain(visited, |place| !passed_over[*place], origin()));
            }
            // A task that is held after too many returns has returned once more.
            Target::Hold => _ = found.insert(at),
            // It counts as a return from a detour, and after too many returns also within a loop.
            Target::Next => {
                let loops = loops_of(workflow, at);
                found.extend(&loops);
                if workflow.gates[at].detour || !loops.is_empty() {
                    found.extend(
                        loops.into_iter().chain([at]).flat_map(|from| behind(workflow, from)),
                    );
                }
            }
            Target::End | Target::Cancelled | Target::Fail => {}
        }
    }
    for (from, gate) in workflow.gates.iter().enumerate() {
        let Some(verify) = gate.for_each().and_then(|each| each.verify_each.as_ref()) else {
            continue;
        };
        if from == at {
            found.extend(place(verify));
        }
        if place(verify) == Some(at) {
            found.insert(from);
        }
    }
    found
}

/// Returns the elements up to the first that is certain; if none is, all of them and the others.
fn first_certain(
    all: impl Iterator<Item = usize>,
    is_certain: impl Fn(&usize) -> bool,
    others: BTreeSet<usize>,
) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    for one in all {
        found.insert(one);
        if is_certain(&one) {
            return found;
        }
    }
    found.extend(others);
    found
}

/// Returns the gates to which a task may go on from the gate at this place.
fn behind(workflow: &Workflow, from: usize) -> BTreeSet<usize> {
    let gates = on_line(workflow).filter(|place| *place > from);
    first_certain(gates, |place| always_applies(&workflow.gates[*place]), BTreeSet::new())
}

fn always_applies(gate: &Gate) -> bool {
    gate.kind == GateKind::Condition || gate.when.is_none() && gate.for_each().is_none()
}

/// Returns whether routes may lead back to the gate as the one visited last.
fn is_visited(gate: &Gate) -> bool {
    !gate.detour && gate.kind != GateKind::Condition
}

/// Returns the gates whose loops the gate at this place belongs to: itself, and those that it verifies.
fn loops_of(workflow: &Workflow, at: usize) -> BTreeSet<usize> {
    let id = &workflow.gates[at].id;
    let gates = workflow.gates.iter().enumerate();
    let found = gates.filter(|(place, gate)| {
        gate.for_each().is_some_and(|each| *place == at || each.verify_each.as_ref() == Some(id))
    });
    found.map(|(place, _)| place).collect()
}

/// Returns whether a task may pass over the gate while its rejection is unanswered. Along the line a task comes to each gate again.
fn passed_over(workflow: &Workflow, at: usize) -> bool {
    let gate = &workflow.gates[at];
    let leads_over = |from: usize| {
        targets(workflow, from).iter().any(|target| match target {
            Target::Gate(to) => workflow.gate(to).is_some_and(|(place, _)| at < place),
            Target::Next => workflow.gates[from].detour && at < from,
            target => *target == Target::End,
        })
    };
    gate.when.is_some()
        || gate.detour
        || !loops_of(workflow, at).is_empty()
        || workflow.repeat.is_some()
        || (0..workflow.gates.len())
            .any(|from| (from < at || workflow.gates[from].detour) && leads_over(from))
}
