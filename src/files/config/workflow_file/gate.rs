//! One gate of a workflow, and the branches of a fork.

use super::{brief, route};
use crate::domain::{
    Branch, Duty, Exits, Fork, Gate, GateId, GateKind, GateType, Identity, JoinStrategy, Map,
    OnConditionError,
};
use crate::files::config::decode::{Faults, Fields, parse_text_list};
use crate::files::config::{run_file, shape_file, signal_file};
use crate::files::yaml::{Kind, Node};

/// Returns the gate that the node says.
pub(crate) fn read(node: &Node<'_>, faults: &Faults) -> Option<Gate> {
    let fields = Fields::of(node, "a gate", faults)?;
    let of = fields.parsed("type").unwrap_or(GateType::Work);
    let mut gate = read_common(&fields);
    let detour = fields.flag("detour").unwrap_or(false);
    let metadata = fields.object("metadata").unwrap_or_default();
    let mut exits = route::read_exits(&fields);
    let kind = match of {
        GateType::Work => {
            exits.on_failure = fields.with("onFailure", route::read_failure).flatten();
            exits.reject_to = fields.parsed("rejectTo");
            for field in ["branches", "joinStrategy"] {
                if fields.take(field).is_some() {
                    let message = format!("`{field}` is for gates of `type: fork`");
                    fields.fault(field, "dead_field", message, "add `type: fork`, or remove it");
                }
            }
            read_duty(&fields).map(|duty| GateKind::Work(Box::new(duty)))
        }
        GateType::Fork => {
            exits.reject_to = fields.parsed("rejectTo");
            let join = fields.parsed("joinStrategy").unwrap_or(JoinStrategy::All);
            let branches = fields.with("branches", read_branches).flatten();
            let branches = fields.require("branches", branches);
            branches.map(|branches| GateKind::Fork(Fork { branches, join }))
        }
        GateType::Condition => {
            let has_condition = gate.as_ref().is_some_and(|gate| gate.when.is_some());
            fields.require("when", has_condition.then_some(GateKind::Condition))
        }
    };
    // What a gate without work has is asked of its branches, or of nobody.
    let is_duty = |key: &str| OF_WORK.contains(&key) && kind.is_some();
    fields.refuse_unknown_but(|key| match of {
        GateType::Condition if is_duty(key) => Some(
            "nobody works at a gate of `type: condition`: it has `when`, `routes`, `maxRetries` and `onExhausted`"
                .to_owned(),
        ),
        GateType::Fork if is_duty(key) => Some(
            "a fork is its branches' work: say it at each branch; the fork itself has `when`, `branches`, `joinStrategy`, `routes`, \
             `rejectTo`, `maxRetries`, `onExhausted` and `detour`"
                .to_owned(),
        ),
        _ => None,
    });
    if let Some(gate) = &mut gate {
        (gate.detour, gate.metadata, gate.exits, gate.kind) = (detour, metadata, exits, kind?);
    }
    gate
}

/// What is asked of whoever works, and so of each branch of a fork.
const OF_WORK: [&str; 14] = [
    "role",
    "canReject",
    "canSkip",
    "requireHuman",
    "timeout",
    "escalateTo",
    "lease",
    "separateFrom",
    "brief",
    "outputs",
    "signal",
    "files",
    "onFailure",
    "run",
];

/// Returns what gates and branches have in common.
fn read_common(fields: &Fields<'_, '_>) -> Option<Gate> {
    let id = fields.required("id");
    let description = fields.text("description");
    let when = fields.text("when");
    let on_condition_error = fields.parsed("onConditionError").unwrap_or(OnConditionError::Skip);
    Some(Gate {
        id: id?,
        description,
        when,
        on_condition_error,
        detour: false,
        exits: Exits::default(),
        metadata: Map::new(),
        kind: GateKind::Condition,
    })
}

/// Returns what is asked of whoever works there.
fn read_duty(fields: &Fields<'_, '_>) -> Option<Duty> {
    let role = fields.required("role");
    let separate = fields.with("separateFrom", read_separate).flatten();
    let (separate_from, separate_by) = separate.unwrap_or((Vec::new(), Identity::Agent));
    Some(Duty {
        can_reject: fields.flag("canReject").unwrap_or(false),
        can_skip: fields.flag("canSkip").unwrap_or(false),
        require_human: fields.flag("requireHuman").unwrap_or(false),
        timeout: fields.parsed("timeout"),
        escalate_to: fields.parsed("escalateTo"),
        lease: fields.parsed("lease"),
        separate_from,
        separate_by,
        outputs: fields.with("outputs", shape_file::read).unwrap_or_default(),
        signal: fields.with("signal", signal_file::read).flatten(),
        files: fields.list("files").unwrap_or_default(),
        run: fields.with("run", run_file::read_gate).unwrap_or_default(),
        brief: fields.with("brief", brief::read).unwrap_or_default(),
        role: role?,
    })
}

/// Reads a list of gates, or `{gates: [..], by: ..}`.
fn read_separate(node: &Node<'_>, faults: &Faults) -> Option<(Vec<GateId>, Identity)> {
    match &node.kind {
        Kind::Mapping(_) => {
            let fields = Fields::of(node, "`separateFrom`", faults)?;
            let gates = fields.require("gates", fields.list("gates"));
            let by = fields.parsed("by").unwrap_or(Identity::Agent);
            fields.refuse_unknown();
            Some((gates.unwrap_or_default(), by))
        }
        Kind::Sequence(_) | Kind::String(_) => {
            Some((parse_text_list(node, "`separateFrom`", faults), Identity::Agent))
        }
        _ => {
            faults.wrong_kind(node, "`separateFrom` is a list of gates", "");
            None
        }
    }
}

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

fn read_branches(node: &Node<'_>, faults: &Faults) -> Option<Vec<Branch>> {
    let Kind::Sequence(items) = &node.kind else {
        let help = "begin each with a dash, as in `- id: security`";
        faults.wrong_kind(node, "`branches` is a list of branches", help);
        return None;
    };
    let branches: Vec<Branch> = items.iter().filter_map(|item| read_branch(item, faults)).collect();
    (branches.len() == items.len()).then_some(branches)
}

fn read_branch(node: &Node<'_>, faults: &Faults) -> Option<Branch> {
    let fields = Fields::of(node, "a branch", faults)?;
    let gate = read_common(&fields);
    let routes = fields.with("routes", route::read_routes).unwrap_or_default();
    let duty = read_duty(&fields);
    fields.refuse_unknown_but(|key| {
        OF_GATES.iter().find(|(field, _)| *field == key).map(|(_, why)| (*why).to_owned())
    });
    let exits = Exits { routes, ..Exits::default() };
    Branch::new(Gate { exits, kind: GateKind::Work(Box::new(duty?)), ..gate? })
}
