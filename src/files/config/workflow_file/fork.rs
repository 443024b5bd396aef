//! The branches of a fork.

use super::{gate, route};
use crate::domain::{Branch, Exits, Fork, Gate, GateKind, JoinStrategy, Map, OnConditionError};
use crate::files::config::decode::{Fields, wrong_kind};
use crate::files::yaml::{Fault, Kind, Node};

/// What only gates have, with why a branch has none.
const OF_GATES: [(&str, &str); 8] = [
    ("type", "a branch is always somebody's work: a fork has no forks and no conditions inside"),
    ("branches", "a fork has no forks inside: name all branches side by side"),
    ("joinStrategy", "the fork says how its branches join"),
    ("rejectTo", "the fork says where a rejection leads, once for all branches"),
    ("onFailure", "a branch that fails is blocked; the fork says where the task goes"),
    ("maxRetries", "the fork says how often it sends back"),
    ("onExhausted", "the fork says what happens to a task that it has sent back too often"),
    ("detour", "the fork is the detour, or none"),
];

/// Returns the branches and how they join.
pub(crate) fn read(fields: &mut Fields<'_, '_>, faults: &mut Vec<Fault>) -> Option<Fork> {
    let join = fields.parsed("joinStrategy", faults).unwrap_or(JoinStrategy::All);
    let branches = fields.take("branches").and_then(|node| read_branches(node, faults));
    Some(Fork { branches: fields.require("branches", branches, faults)?, join })
}

/// Says so where a gate has what only a fork has.
pub(crate) fn refuse(fields: &mut Fields<'_, '_>, faults: &mut Vec<Fault>) {
    for field in ["branches", "joinStrategy"] {
        if fields.take(field).is_some() {
            let message = format!("`{field}` is for gates of `type: fork`");
            faults.push(
                Fault::new("dead_field", fields.key_span(field), message)
                    .help("add `type: fork`, or remove it"),
            );
        }
    }
}

fn read_branches(node: &Node<'_>, faults: &mut Vec<Fault>) -> Option<Vec<Branch>> {
    let Kind::Sequence(items) = &node.kind else {
        faults.push(
            wrong_kind(node, "`branches` is a list of branches")
                .help("begin each with a dash, as in `- id: security`"),
        );
        return None;
    };
    let branches: Vec<Branch> = items.iter().filter_map(|item| read_branch(item, faults)).collect();
    (branches.len() == items.len()).then_some(branches)
}

fn read_branch(node: &Node<'_>, faults: &mut Vec<Fault>) -> Option<Branch> {
    let mut fields = Fields::of(node, "a branch", faults)?;
    let id = fields.parsed("id", faults);
    let id = fields.require("id", id, faults);
    let description = fields.text("description", faults);
    let when = fields.text("when", faults);
    let on_condition_error =
        fields.parsed("onConditionError", faults).unwrap_or(OnConditionError::Skip);
    let exits = Exits { routes: route::read_routes_of(&mut fields, faults), ..Exits::default() };
    let duty = gate::read_duty(&mut fields, faults);
    fields.refuse_unknown_but(faults, |key| {
        OF_GATES.iter().find(|(field, _)| *field == key).map(|(_, why)| (*why).to_owned())
    });
    Branch::new(Gate {
        id: id?,
        description,
        when,
        on_condition_error,
        detour: false,
        exits,
        metadata: Map::new(),
        kind: GateKind::Work(Box::new(duty?)),
    })
}
