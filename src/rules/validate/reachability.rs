//! Gates that no task comes to, gates that no task gets away from, and circles in which nobody is asked.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::RuleChecker;
use crate::domain::{Destination, GateId, GateKind};
use crate::rules::workflow::graph::{EdgeKind, edges};

/// Where tasks go from a gate: to gates, by their place in the list, or to an end.
#[derive(Default, Clone)]
struct GateExits {
    gates: BTreeSet<usize>,
    ends: bool,
}

impl RuleChecker<'_> {
    pub(crate) fn reach(&mut self) {
        let gates = &self.workflow.gates;
        let places: BTreeMap<&GateId, usize> =
            gates.iter().enumerate().map(|(index, gate)| (&gate.id, index)).collect();
        if places.len() < gates.len() {
            // Of gates with one name nobody can tell which is meant.
            return;
        }
        // What leads from a gate, and what passes it over where its condition does not hold.
        let mut leads = vec![GateExits::default(); gates.len()];
        let mut passes = leads.clone();
        for edge in edges(self.workflow).iter().filter(|edge| edge.way != EdgeKind::Hold) {
            let from = if edge.way == EdgeKind::Over { &mut passes } else { &mut leads };
            let Some(from) = places.get(&edge.from).map(|index| &mut from[*index]) else {
                continue;
            };
            match &edge.to {
                Destination::Gate(to) => from.gates.extend(places.get(to)),
                _ => from.ends = true,
            }
        }
        for exits in &mut leads {
            spread(&mut exits.gates, |index| &passes[index].gates);
            exits.ends |= exits.gates.iter().any(|index| passes[*index].ends);
        }
        let first = gates.iter().position(|gate| !gate.detour);
        let mut reached: BTreeSet<usize> = first.into_iter().collect();
        spread(&mut reached, |index| &passes[index].gates);
        spread(&mut reached, |index| &leads[index].gates);
        let mut into = vec![BTreeSet::new(); gates.len()];
        for (from, exits) in leads.iter().enumerate() {
            exits.gates.iter().for_each(|to| _ = into[*to].insert(from));
        }
        let mut ending: BTreeSet<usize> =
            (0..gates.len()).filter(|index| leads[*index].ends).collect();
        spread(&mut ending, |index| &into[index]);
        for (index, gate) in gates.iter().enumerate() {
            (self.index, self.gate) = (index, gate);
            if !reached.contains(&index) {
                let help = if gate.detour {
                    "name it as the target of a route, or remove it"
                } else {
                    "let a gate before it go on to it, name it as the target of a route, or remove it"
                };
                let message = format!("no task ever comes to gate `{}`", gate.id);
                self.error("unreachable_gate", "id", message, help);
            } else if !ending.contains(&index) {
                let message = format!("from gate `{}` no way leads to an end", gate.id);
                let help = "give one of the gates behind it a route to `$end`";
                self.error("no_way_out", "id", message, help);
            }
        }
        self.circles(leads.into_iter().map(|exits| exits.gates).collect());
    }

    /// Gates that decide by themselves may not send a task round among themselves: nobody would be asked.
    fn circles(&mut self, mut leads: Vec<BTreeSet<usize>>) {
        let gates = &self.workflow.gates;
        let alone = |index: &usize| match &gates[*index].kind {
            GateKind::Work(_) => false,
            GateKind::Condition => true,
            GateKind::Fork(fork) => fork.branches.iter().all(|branch| branch.gate().when.is_some()),
        };
        for gates in &mut leads {
            gates.retain(alone);
        }
        for index in (0..gates.len()).filter(alone) {
            let mut after = leads[index].clone();
            spread(&mut after, |index| &leads[index]);
            if after.contains(&index) {
                (self.index, self.gate) = (index, &gates[index]);
                let message = format!(
                    "gate `{}` comes back to itself over gates that decide by themselves",
                    gates[index].id
                );
                let help = "put a gate at which somebody works in between";
                self.error("automatic_circle", "routes", message, help);
            }
        }
    }
}

/// Adds everything that can be reached from what is in the set.
fn spread<'a>(set: &mut BTreeSet<usize>, next: impl Fn(usize) -> &'a BTreeSet<usize>) {
    let mut open: Vec<usize> = set.iter().copied().collect();
    while let Some(index) = open.pop() {
        open.extend(next(index).iter().filter(|to| set.insert(**to)));
    }
}
