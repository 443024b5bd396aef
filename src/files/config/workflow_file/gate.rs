//! One gate of a workflow, and the branches of a fork.

use super::{brief, route};
use crate::domain::{
    Branch, Duty, Exits, Fork, Gate, GateId, GateKind, GateType, Identity, JoinStrategy, Map,
    OnConditionError,
};
use crate::files::config::decode::{Fields, parse_text_list, wrong_kind};
use crate::files::config::{run_file, shape_file, signal_file};
use crate::files::yaml::{Fault, Kind, Node};

/// What is asked of whoever works, and so of each branch of a fork.
const OF_BRANCHES: [&str; 14] = [
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

/// Returns the gate that the node says.
pub(crate) fn read(node: &Node<'_>, faults: &mut Vec<Fault>) -> Option<Gate> {
    let mut fields = Fields::of(node, "a gate", faults)?;
    let kind = fields.parsed("type", faults).unwrap_or(GateType::Work);
    let id = fields.parsed("id", faults);
    let id = fields.require("id", id, faults);
    let description = fields.text("description", faults);
    let when = fields.text("when", faults);
    let on_condition_error =
        fields.parsed("onConditionError", faults).unwrap_or(OnConditionError::Skip);
    let detour = fields.flag("detour", faults).unwrap_or(false);
    let metadata = fields.object("metadata", faults).unwrap_or_default();
    let exits = match kind {
        GateType::Work => route::read_exits(&mut fields, faults),
        GateType::Condition => route::read_choice(&mut fields, faults),
        GateType::Fork => {
            let reject_to = fields.parsed("rejectTo", faults);
            Exits { reject_to, ..route::read_choice(&mut fields, faults) }
        }
    };
    let kind = match kind {
        GateType::Work => {
            refuse(&mut fields, faults);
            read_duty(&mut fields, faults).map(|duty| GateKind::Work(Box::new(duty)))
        }
        GateType::Fork => read_fork(&mut fields, faults).map(GateKind::Fork),
        GateType::Condition => {
            let condition = when.as_ref().map(|_| ());
            fields.require("when", condition, faults).map(|()| GateKind::Condition)
        }
    };
    match kind {
        Some(GateKind::Condition) => fields.refuse_unknown_but(faults, |key| {
            ["role", "canReject", "outputs", "signal", "files", "brief", "run"].contains(&key).then(|| {
                "nobody works at a gate of `type: condition`: it has `when`, `routes`, `maxRetries` and `onExhausted`"
                    .to_owned()
            })
        }),
        Some(GateKind::Fork(_)) => fields.refuse_unknown_but(faults, |key| {
            OF_BRANCHES.contains(&key).then(|| {
                "a fork is its branches' work: say it at each branch; the fork itself has `when`, `branches`, `joinStrategy`, `routes`, \
                 `rejectTo`, `maxRetries`, `onExhausted` and `detour`"
                    .to_owned()
            })
        }),
        _ => fields.refuse_unknown(faults),
    }
    Some(Gate {
        id: id?,
        description,
        when,
        on_condition_error,
        detour,
        exits,
        metadata,
        kind: kind?,
    })
}

/// Returns what is asked of whoever works there.
pub(crate) fn read_duty(fields: &mut Fields<'_, '_>, faults: &mut Vec<Fault>) -> Option<Duty> {
    let role = fields.parsed("role", faults);
    let (separate_from, separate_by) = fields
        .take("separateFrom")
        .map_or((Vec::new(), Identity::Agent), |node| read_separate(node, faults));
    Some(Duty {
        can_reject: fields.flag("canReject", faults).unwrap_or(false),
        can_skip: fields.flag("canSkip", faults).unwrap_or(false),
        require_human: fields.flag("requireHuman", faults).unwrap_or(false),
        timeout: fields.parsed("timeout", faults),
        escalate_to: fields.parsed("escalateTo", faults),
        lease: fields.parsed("lease", faults),
        separate_from,
        separate_by,
        outputs: fields
            .take("outputs")
            .map(|node| shape_file::read(node, faults))
            .unwrap_or_default(),
        signal: fields.take("signal").and_then(|node| signal_file::read(node, faults)),
        files: fields.list("files", faults).unwrap_or_default(),
        run: fields.take("run").map(|node| run_file::read_gate(node, faults)).unwrap_or_default(),
        brief: fields.take("brief").map(|node| brief::read(node, faults)).unwrap_or_default(),
        role: fields.require("role", role, faults)?,
    })
}

/// Reads a list of gates, or `{gates: [..], by: ..}`.
fn read_separate(node: &Node<'_>, faults: &mut Vec<Fault>) -> (Vec<GateId>, Identity) {
    match &node.kind {
        Kind::Mapping(_) => {
            let Some(mut fields) = Fields::of(node, "`separateFrom`", faults) else {
                return (Vec::new(), Identity::Agent);
            };
            let gates = fields.list("gates", faults);
            let by = fields.parsed("by", faults).unwrap_or(Identity::Agent);
            let gates = fields.require("gates", gates, faults).unwrap_or_default();
            fields.refuse_unknown(faults);
            (gates, by)
        }
        Kind::Sequence(_) | Kind::String(_) => {
            (parse_text_list(node, "`separateFrom`", faults), Identity::Agent)
        }
        _ => {
            faults.push(wrong_kind(node, "`separateFrom` is a list of gates"));
            (Vec::new(), Identity::Agent)
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

/// Returns the branches and how they join.
fn read_fork(fields: &mut Fields<'_, '_>, faults: &mut Vec<Fault>) -> Option<Fork> {
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
    let duty = read_duty(&mut fields, faults);
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
