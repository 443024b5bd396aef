//! Gates that no task comes to, gates that no task gets away from, and circles in which nobody is asked.

use std::collections::BTreeSet;

use super::finding::Checker;
use crate::domain::{Exhausted, Gate, GateKind, Outcome, RejectionStrategy, Target};

/// Where a gate may lead: to gates by their place in the list, or to an end.
#[derive(Default)]
struct Ways {
    gates: BTreeSet<usize>,
    ends: bool,
}

impl Checker<'_> {
    pub(crate) fn reach(&mut self) {
        let gates = &self.workflow.gates;
        let ways: Vec<Ways> = (0..gates.len()).map(|index| self.ways(index)).collect();
        let mut reached = self.line(0).gates;
        spread(&mut reached, |index| ways[index].gates.iter().copied().collect());
        let mut ending: BTreeSet<usize> =
            (0..gates.len()).filter(|index| ways[*index].ends).collect();
        let into = |target: usize| {
            (0..gates.len()).filter(|from| ways[*from].gates.contains(&target)).collect::<Vec<_>>()
        };
        spread(&mut ending, into);
        for (index, gate) in self.workflow.gates.iter().enumerate() {
            if !reached.contains(&index) {
                let help = if gate.detour {
                    "name it as the target of a route, or remove it"
                } else {
                    "let a gate before it go on to it, name it as the target of a route, or remove it"
                };
                let message = format!("no task ever comes to gate `{}`", gate.id);
                self.error("unreachable_gate", self.at(index, "id"), message, help);
            } else if !ending.contains(&index) {
                let message = format!("from gate `{}` no way leads to an end", gate.id);
                self.error(
                    "no_way_out",
                    self.at(index, "id"),
                    message,
                    "give one of the gates behind it a route to `$end`",
                );
            }
        }
        self.circles(&ways);
    }

    /// Gates that decide by themselves may not send a task round among themselves: nobody would be asked.
    fn circles(&mut self, ways: &[Ways]) {
        let alone = |index: usize| match &self.workflow.gates[index].kind {
            GateKind::Work(_) => false,
            GateKind::Condition => true,
            GateKind::Fork(fork) => fork.branches.iter().all(|branch| branch.gate().when.is_some()),
        };
        let next = |index: usize| {
            ways[index].gates.iter().copied().filter(|to| alone(*to)).collect::<Vec<_>>()
        };
        let in_circle = |index: usize| {
            let mut after: BTreeSet<usize> = next(index).into_iter().collect();
            spread(&mut after, next);
            after.contains(&index)
        };
        let found: Vec<usize> =
            (0..ways.len()).filter(|index| alone(*index) && in_circle(*index)).collect();
        for index in found {
            let message = format!(
                "gate `{}` comes back to itself over gates that decide by themselves",
                self.workflow.gates[index].id
            );
            self.error(
                "automatic_circle",
                self.at(index, "routes"),
                message,
                "put a gate at which somebody works in between",
            );
        }
    }

    /// Returns every place to which the gate may lead.
    fn ways(&self, index: usize) -> Ways {
        let gate = &self.workflow.gates[index];
        let exits = &gate.exits;
        let mut ways = Ways::default();
        for (_, route) in exits.written() {
            self.add(&mut ways, index, &route.to);
        }
        if let Exhausted::Route(target) = &exits.on_exhausted {
            self.add(&mut ways, index, target);
        }
        let skips =
            gate.duty().is_some_and(|duty| duty.can_skip) && exits.route(&Outcome::Skip).is_none();
        let completes = !exits.decides() && exits.route(&Outcome::Complete).is_none();
        if gate.kind != GateKind::Condition && (skips || completes) {
            if gate.detour {
                self.senders(&mut ways, gate);
            } else {
                self.add(&mut ways, index, &Target::Next);
            }
        }
        if gate.can_reject() && exits.route(&Outcome::NeedsReview).is_none() {
            let target = match (self.workflow.rejection, &exits.reject_to) {
                _ if self.workflow.holds_rejections => Target::Hold,
                (RejectionStrategy::Named, Some(gate)) => Target::Gate(gate.clone()),
                (RejectionStrategy::Previous, _) => Target::Previous,
                _ => Target::Origin,
            };
            self.add(&mut ways, index, &target);
        }
        ways
    }

    fn add(&self, ways: &mut Ways, index: usize, target: &Target) {
        match target {
            Target::Gate(gate) => {
                ways.gates.extend(self.workflow.gate(gate).map(|(place, _)| place));
            }
            Target::Next => {
                let line = self.line(index + 1);
                ways.gates.extend(line.gates);
                ways.ends |= line.ends;
            }
            Target::Origin => ways.gates.extend(self.line(0).gates),
            Target::Previous => ways.gates.extend(0..index),
            Target::Hold => {}
            Target::End | Target::Cancelled | Target::Fail => ways.ends = true,
        }
    }

    /// Returns where going on in order from that place may lead: to each gate up to the first that always applies.
    fn line(&self, from: usize) -> Ways {
        let mut ways = Ways::default();
        for (index, gate) in
            self.workflow.gates.iter().enumerate().skip(from).filter(|(_, gate)| !gate.detour)
        {
            ways.gates.insert(index);
            if gate.when.is_none() || gate.kind == GateKind::Condition {
                return ways;
            }
        }
        ways.ends = true;
        ways
    }

    /// A detour leads back to the gates that send tasks to it.
    fn senders(&self, ways: &mut Ways, detour: &Gate) {
        let sends = |gate: &&Gate| {
            let to = Target::Gate(detour.id.clone());
            gate.exits.written().any(|(_, route)| route.to == to)
                || gate.exits.on_exhausted == Exhausted::Route(to)
                || gate.exits.reject_to.as_ref() == Some(&detour.id)
        };
        for (index, gate) in self.workflow.gates.iter().enumerate() {
            if sends(&gate) {
                ways.gates.insert(index);
            }
        }
    }
}

/// Adds everything that can be reached from what is in the set.
fn spread(set: &mut BTreeSet<usize>, next: impl Fn(usize) -> Vec<usize>) {
    let mut open: Vec<usize> = set.iter().copied().collect();
    while let Some(index) = open.pop() {
        for to in next(index) {
            if set.insert(to) {
                open.push(to);
            }
        }
    }
}
