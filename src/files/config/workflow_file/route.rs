//! The ways out of a gate.

use super::brief::by_outcome;
use crate::domain::{EndsAs, Exhausted, Exits, Outcome, Route, Target};
use crate::files::config::decode::{Faults, Fields, parse_node};
use crate::files::yaml::{Kind, Node};

/// Returns the ways out that every kind of gate may have.
pub(crate) fn read_exits(fields: &Fields<'_, '_>) -> Exits {
    Exits {
        routes: fields.with("routes", read_routes).unwrap_or_default(),
        max_retries: fields.parsed("maxRetries"),
        on_exhausted: fields.with("onExhausted", read_exhausted).flatten().unwrap_or_default(),
        ..Exits::default()
    }
}

/// Returns where a failure leads.
pub(crate) fn read_failure(node: &Node<'_>, faults: &Faults) -> Option<Route> {
    read_route(node, "`onFailure`", faults)
}

/// Returns the routes that are written.
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
    if matches!(node.kind, Kind::String(_)) {
        return parse_node(node, what, faults).map(Route::to);
    }
    let fields = Fields::of(node, what, faults)?;
    let to = read_target(&fields);
    let route = Route {
        prompt: fields.text("prompt").filter(|text| !text.trim().is_empty()),
        clear: fields.list("clear").unwrap_or_default(),
        to: to?,
    };
    fields.refuse_unknown();
    Some(route)
}

fn read_target(fields: &Fields<'_, '_>) -> Option<Target> {
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

fn read_exhausted(node: &Node<'_>, faults: &Faults) -> Option<Exhausted> {
    let exhausted = |to| match to {
        Target::Hold => Exhausted::Block,
        to => Exhausted::Route(to),
    };
    if matches!(node.kind, Kind::String(_)) {
        return parse_node(node, "`onExhausted`", faults).map(exhausted);
    }
    let fields = Fields::of(node, "`onExhausted`", faults)?;
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
