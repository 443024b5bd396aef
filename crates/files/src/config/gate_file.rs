//! One gate of a workflow: its kind, its ways out, its brief, and the branches of a fork.

use super::decode::{Faults, FieldReader, parse_key, parse_node, parse_text_list};
use super::{run_file, shape_file, signal_file};
use crate::yaml::{MappingEntry, Node, NodeKind};
use aof_domain::{
    Branch, Brief, BriefText, Duty, EndsAs, Exhausted, Exits, ForEach, Fork, Gate, GateCheck,
    GateId, GateKind, GateType, Identity, JoinStrategy, Map, OnConditionError, Outcome, Route,
    Target,
};

/// Reads a gate.
pub(crate) fn read(node: &Node<'_>, faults: &Faults) -> Option<Gate> {
    let fields = FieldReader::of(node, "a gate", faults)?;
    let of = fields.parsed("type").unwrap_or(GateType::Work);
    let mut gate = read_common(&fields);
    let detour = fields.flag("detour").unwrap_or(false);
    let delivery = fields.flag("delivery").unwrap_or(false);
    let wait_for = fields.parsed("waitFor");
    if wait_for.is_some() && (detour || of != GateType::Work) {
        let message = "`waitFor` is for gates of the main line where somebody works";
        fields.fault("waitFor", "dead_field", message, "say it at such a gate, or remove it");
    }
    let mut check: Vec<GateCheck> = fields.list("check").unwrap_or_default();
    check.sort();
    check.dedup();
    if fields.has("check") && (detour || of != GateType::Work) {
        let message = "`check` is for gates of the main line where somebody works";
        fields.fault("check", "dead_field", message, "say it at such a gate, or remove it");
    }
    if fields.has("check") && fields.has("forEach") {
        let message = "`check` is for whole tasks, and a gate with `forEach` has a part of one";
        fields.fault("check", "dead_field", message, "check at a gate after the loop");
    }
    let metadata = fields.object("metadata").unwrap_or_default();
    let mut exits = read_exits(&fields);
    let kind = match of {
        GateType::Work => {
            exits.on_failure = fields.with("onFailure", read_failure).flatten();
            exits.reject_to = fields.parsed("rejectTo");
            for field in ["branches", "joinStrategy"] {
                if fields.take(field).is_some() {
                    let message = format!("`{field}` is for gates of `type: fork`");
                    fields.fault(field, "dead_field", message, "add `type: fork`, or remove it");
                }
            }
            let for_each = read_for_each(&fields);
            read_duty(&fields).map(|duty| GateKind::Work(Box::new(Duty { for_each, ..duty })))
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
    // Fields of a duty are not allowed at a gate without work.
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
        (gate.detour, gate.delivery, gate.wait_for) = (detour, delivery, wait_for);
        gate.check = check;
        (gate.metadata, gate.exits, gate.kind) = (metadata, exits, kind?);
    }
    gate
}

/// The fields of a duty, which gates with work and branches have.
const OF_WORK: [&str; 17] = [
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
    "forEach",
    "maxItems",
    "verifyEach",
];

/// Reads the fields that gates and branches have in common.
fn read_common(fields: &FieldReader<'_, '_>) -> Option<Gate> {
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
        wait_for: None,
        check: Vec::new(),
        delivery: false,
        exits: Exits::default(),
        metadata: Map::new(),
        kind: GateKind::Condition,
    })
}

/// Reads the duty.
fn read_duty(fields: &FieldReader<'_, '_>) -> Option<Duty> {
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
        for_each: None,
        separate_from,
        separate_by,
        outputs: fields.with("outputs", shape_file::read).unwrap_or_default(),
        signal: fields.with("signal", signal_file::read).flatten(),
        files: fields.list("files").unwrap_or_default(),
        run: fields.with("run", run_file::read_gate).unwrap_or_default(),
        brief: fields.with("brief", read_brief).unwrap_or_default(),
        role: role?,
    })
}

/// Reads the list that the gate goes through.
fn read_for_each(fields: &FieldReader<'_, '_>) -> Option<ForEach> {
    let list: Option<String> = fields.text("forEach");
    let (max_items, verify_each) = (fields.parsed("maxItems"), fields.parsed("verifyEach"));
    let Some(list) = list else {
        for field in ["maxItems", "verifyEach"] {
            if fields.take(field).is_some() {
                let message = format!("`{field}` would be ignored: the gate has no `forEach`");
                let help = "add the list, as in `forEach: plan.stories`, or remove it";
                fields.fault(field, "dead_field", message, help);
            }
        }
        return None;
    };
    let is_word = |word: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        !word.is_empty() && word.chars().all(is_plain)
    };
    if list.split('.').count() < 2 || !list.split('.').all(is_word) {
        let message = format!("`{}` is no path to a list", list.escape_debug());
        let help = "name a gate or `input`, then what it hands on, as in `forEach: plan.stories`";
        fields.fault("forEach", "invalid_value", message, help);
    }
    if max_items == Some(0) {
        let help = "use a number from 1, or leave it out";
        fields.fault("maxItems", "invalid_value", "`maxItems: 0` lets no list pass", help);
    }
    Some(ForEach { list, max_items: max_items.unwrap_or(ForEach::DEFAULT_ITEMS), verify_each })
}

/// Reads a list of gates, or `{gates: [..], by: ..}`.
fn read_separate(node: &Node<'_>, faults: &Faults) -> Option<(Vec<GateId>, Identity)> {
    match &node.kind {
        NodeKind::Mapping(_) => {
            let fields = FieldReader::of(node, "`separateFrom`", faults)?;
            let gates = fields.require("gates", fields.list("gates"));
            let by = fields.parsed("by").unwrap_or(Identity::Agent);
            fields.refuse_unknown();
            Some((gates.unwrap_or_default(), by))
        }
        NodeKind::Sequence(_) | NodeKind::String(_) => {
            Some((parse_text_list(node, "`separateFrom`", faults), Identity::Agent))
        }
        _ => {
            faults.wrong_kind(node, "`separateFrom` is a list of gates", "");
            None
        }
    }
}

/// Fields that only gates have, with the reason why a branch has none.
const OF_GATES: [(&str, &str); 13] = [
    ("check", "a gate of its own before or after the fork checks that"),
    ("type", "a branch is always somebody's work: a fork has no forks and no conditions inside"),
    ("branches", "a fork has no forks inside: name all branches side by side"),
    ("joinStrategy", "the fork says how its branches join"),
    ("rejectTo", "the fork says where a rejection leads, once for all branches"),
    ("maxRetries", "the fork says how often it sends back"),
    ("onExhausted", "the fork says what happens to a task that it has sent back too often"),
    ("detour", "the fork is the detour, or none"),
    ("delivery", "the fork delivers, or none"),
    ("forEach", "a branch is visited once: put the loop at a gate before or after the fork"),
    ("maxItems", "it belongs to `forEach`, which a branch does not have"),
    ("verifyEach", "it belongs to `forEach`, which a branch does not have"),
    ("waitFor", "a gate of its own before or after the fork waits for children"),
];

fn read_branches(node: &Node<'_>, faults: &Faults) -> Option<Vec<Branch>> {
    let NodeKind::Sequence(items) = &node.kind else {
        let help = "begin each with a dash, as in `- id: security`";
        faults.wrong_kind(node, "`branches` is a list of branches", help);
        return None;
    };
    let branches: Vec<Branch> = items.iter().filter_map(|item| read_branch(item, faults)).collect();
    (branches.len() == items.len()).then_some(branches)
}

fn read_branch(node: &Node<'_>, faults: &Faults) -> Option<Branch> {
    let fields = FieldReader::of(node, "a branch", faults)?;
    let gate = read_common(&fields);
    let routes = fields.with("routes", read_routes).unwrap_or_default();
    let on_failure = fields.with("onFailure", read_failure).flatten();
    let duty = read_duty(&fields);
    fields.refuse_unknown_but(|key| {
        OF_GATES.iter().find(|(field, _)| *field == key).map(|(_, why)| (*why).to_owned())
    });
    let exits = Exits { routes, on_failure, ..Exits::default() };
    Branch::new(Gate { exits, kind: GateKind::Work(Box::new(duty?)), ..gate? })
}

/// Reads the exits that every kind of gate may have.
pub(crate) fn read_exits(fields: &FieldReader<'_, '_>) -> Exits {
    Exits {
        routes: fields.with("routes", read_routes).unwrap_or_default(),
        max_retries: fields.parsed("maxRetries"),
        on_exhausted: fields.with("onExhausted", read_exhausted).flatten().unwrap_or_default(),
        ..Exits::default()
    }
}

/// Reads the route of a failure.
pub(crate) fn read_failure(node: &Node<'_>, faults: &Faults) -> Option<Route> {
    read_route(node, "`onFailure`", faults)
}

/// Reads the routes.
pub(crate) fn read_routes(node: &Node<'_>, faults: &Faults) -> Vec<(Outcome, Route)> {
    let mut routes: Vec<(Outcome, Route)> = Vec::new();
    for (outcome, entry) in by_outcome(node, "`routes` says where each outcome leads", faults) {
        let span = &entry.key.span;
        let is_twin =
            |(other, _): &&(Outcome, _)| other.as_str().eq_ignore_ascii_case(outcome.as_str());
        if outcome == Outcome::Failed {
            let message = "where a failure leads is no route of its own";
            let help = "say it as `onFailure: {to: ...}`, beside `routes`";
            faults.add("failure_in_routes", span, message, help);
        } else if let Some((twin, _)) = routes.iter().find(is_twin) {
            let message =
                format!("`{outcome}` and `{twin}` differ in case alone: they are one decision");
            faults.add("ambiguous_decision", span, message, "rename one of the two");
        } else if let Some(route) = read_route(&entry.value, "a route", faults) {
            routes.push((outcome, route));
        }
    }
    routes
}

/// Reads `GATE`, or `{to: GATE, prompt: .., clear: [..]}`.
fn read_route(node: &Node<'_>, what: &'static str, faults: &Faults) -> Option<Route> {
    if matches!(node.kind, NodeKind::String(_)) {
        return parse_node(node, what, faults).map(Route::to);
    }
    let fields = FieldReader::of(node, what, faults)?;
    let to = read_target(&fields);
    let route = Route {
        prompt: fields.text("prompt").filter(|text| !text.trim().is_empty()),
        clear: fields.list("clear").unwrap_or_default(),
        to: to?,
    };
    fields.refuse_unknown();
    Some(route)
}

fn read_target(fields: &FieldReader<'_, '_>) -> Option<Target> {
    let (to, ends) = (fields.required("to"), fields.parsed("as"));
    match (to?, ends) {
        (Target::End, Some(EndsAs::Cancelled)) => Some(Target::Cancelled),
        (Target::End, _) => Some(Target::End),
        (to, ends) => {
            if ends.is_some() {
                let message = format!("`as` would be ignored: `{to}` ends nothing");
                let help = "it says what a task is after `to: $end`";
                fields.fault("as", "dead_field", message, help);
            }
            Some(to)
        }
    }
}

pub(crate) fn read_exhausted(node: &Node<'_>, faults: &Faults) -> Option<Exhausted> {
    let exhausted = |to| match to {
        Target::Hold => Exhausted::Block,
        to => Exhausted::Route(to),
    };
    if matches!(node.kind, NodeKind::String(_)) {
        return parse_node(node, "`onExhausted`", faults).map(exhausted);
    }
    let fields = FieldReader::of(node, "`onExhausted`", faults)?;
    let role = fields.parsed("escalateTo");
    if role.is_some() && fields.take("to").is_some() {
        let message = "a task that was sent back too often goes either to a role or to a gate";
        fields.fault("to", "two_ways", message, "keep one of `escalateTo` and `to`");
    }
    let found = match role {
        Some(role) => Some(Exhausted::Escalate(role)),
        None => read_target(&fields).map(exhausted),
    };
    fields.refuse_unknown();
    found
}

pub(crate) fn read_brief(node: &Node<'_>, faults: &Faults) -> Brief {
    let Some(fields) = FieldReader::of(node, "a brief", faults) else { return Brief::default() };
    let entry = read_brief_text(&fields);
    let reentry = fields.below("reentry", "a brief for after a rejection").map(|fields| {
        let text = read_brief_text(&fields);
        fields.refuse_unknown();
        text
    });
    fields.refuse_unknown();
    Brief { entry, reentry: reentry.unwrap_or_default() }
}

fn read_brief_text(fields: &FieldReader<'_, '_>) -> BriefText {
    BriefText {
        role: fields.text("role"),
        expectations: fields.list("expectations"),
        outcomes: fields.with("outcomes", read_meanings).unwrap_or_default(),
        tips: fields.list("tips"),
        instructions: fields.text("instructions"),
    }
}

/// Reads the meanings of the outcomes at a gate.
fn read_meanings(node: &Node<'_>, faults: &Faults) -> Vec<(Outcome, String)> {
    let entries = by_outcome(node, "`outcomes` says what each outcome means here", faults);
    let meaning = |(outcome, entry): (Outcome, &MappingEntry<'_>)| {
        let text = parse_node(&entry.value, "the meaning of an outcome is a text", faults)?;
        Some((outcome, text))
    };
    entries.into_iter().filter_map(meaning).collect()
}

/// Reads the entries of a mapping from outcomes.
pub(crate) fn by_outcome<'n, 's>(
    node: &'n Node<'s>,
    wanted: &str,
    faults: &Faults,
) -> Vec<(Outcome, &'n MappingEntry<'s>)> {
    if !matches!(node.kind, NodeKind::Mapping(_)) {
        faults.wrong_kind(node, format_args!("{wanted}: a mapping"), "");
    }
    let entry = |entry: &'n MappingEntry<'s>| Some((parse_key(&entry.key, faults)?, entry));
    node.entries().iter().filter_map(entry).collect()
}
