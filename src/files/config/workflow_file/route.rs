//! The ways out of a gate.

use super::brief::by_outcome;
use crate::domain::{EndsAs, Exhausted, Exits, Outcome, Route, Target};
use crate::files::config::decode::{Fields, parse_node};
use crate::files::yaml::{Fault, Kind, Node};

/// Returns the ways out of a gate at which somebody works.
pub(crate) fn read_exits(fields: &mut Fields<'_, '_>, faults: &mut Vec<Fault>) -> Exits {
    Exits {
        on_failure: fields
            .take("onFailure")
            .and_then(|node| read_route(node, "`onFailure`", faults)),
        reject_to: fields.parsed("rejectTo", faults),
        ..read_choice(fields, faults)
    }
}

/// Returns the ways out of a gate that decides by itself.
pub(crate) fn read_choice(fields: &mut Fields<'_, '_>, faults: &mut Vec<Fault>) -> Exits {
    Exits {
        routes: read_routes_of(fields, faults),
        max_retries: fields.parsed("maxRetries", faults),
        on_exhausted: fields
            .take("onExhausted")
            .and_then(|node| read_exhausted(node, faults))
            .unwrap_or_default(),
        ..Exits::default()
    }
}

/// Returns the routes that are written.
pub(crate) fn read_routes_of(
    fields: &mut Fields<'_, '_>,
    faults: &mut Vec<Fault>,
) -> Vec<(Outcome, Route)> {
    fields.take("routes").map(|node| read_routes(node, faults)).unwrap_or_default()
}

fn read_routes(node: &Node<'_>, faults: &mut Vec<Fault>) -> Vec<(Outcome, Route)> {
    let mut routes: Vec<(Outcome, Route)> = Vec::new();
    for (outcome, entry) in by_outcome(node, "`routes` says where each outcome leads", faults) {
        if outcome == Outcome::Failed {
            let fault = Fault::new(
                "failure_in_routes",
                entry.key.span.clone(),
                "where a failure leads is no route of its own",
            )
            .help("say it as `onFailure: {to: ...}`, beside `routes`");
            faults.push(fault);
            continue;
        }
        let twin =
            routes.iter().find(|(other, _)| other.as_str().eq_ignore_ascii_case(outcome.as_str()));
        if let Some((twin, _)) = twin {
            let message =
                format!("`{outcome}` and `{twin}` differ in case alone: they are one decision");
            faults.push(
                Fault::new("ambiguous_decision", entry.key.span.clone(), message)
                    .help("rename one of the two"),
            );
            continue;
        }
        if let Some(route) = read_route(&entry.value, "a route", faults) {
            routes.push((outcome, route));
        }
    }
    routes
}

/// Reads `GATE`, or `{to: GATE, prompt: .., clear: [..]}`.
fn read_route(node: &Node<'_>, what: &'static str, faults: &mut Vec<Fault>) -> Option<Route> {
    if matches!(node.kind, Kind::String(_)) {
        return parse_node(node, what, faults).map(Route::to);
    }
    let mut fields = Fields::of(node, what, faults)?;
    let to = read_target(&mut fields, faults);
    let route = Route {
        prompt: fields.text("prompt", faults).filter(|text| !text.trim().is_empty()),
        clear: fields.list("clear", faults).unwrap_or_default(),
        to: to?,
    };
    fields.refuse_unknown(faults);
    Some(route)
}

fn read_target(fields: &mut Fields<'_, '_>, faults: &mut Vec<Fault>) -> Option<Target> {
    let to = fields.parsed("to", faults);
    let to = fields.require("to", to, faults);
    let ends = fields.parsed("as", faults);
    match (to?, ends) {
        (Target::End, Some(EndsAs::Cancelled)) => Some(Target::Cancelled),
        (Target::End, _) => Some(Target::End),
        (to, None) => Some(to),
        (to, Some(_)) => {
            faults.push(
                Fault::new(
                    "dead_field",
                    fields.key_span("as"),
                    format!("`as` would be ignored: `{to}` ends nothing"),
                )
                .help("it says what a task is after `to: $end`"),
            );
            Some(to)
        }
    }
}

fn read_exhausted(node: &Node<'_>, faults: &mut Vec<Fault>) -> Option<Exhausted> {
    if matches!(node.kind, Kind::String(_)) {
        return parse_node(node, "`onExhausted`", faults).map(exhausted);
    }
    let mut fields = Fields::of(node, "`onExhausted`", faults)?;
    let role = fields.parsed("escalateTo", faults);
    if role.is_some() && fields.take("to").is_some() {
        let message = "a task that was sent back too often goes either to a role or to a gate";
        faults.push(
            Fault::new("two_ways", fields.key_span("to"), message)
                .help("keep one of `escalateTo` and `to`"),
        );
    }
    let found = match role {
        Some(role) => Some(Exhausted::Escalate(role)),
        None => read_target(&mut fields, faults).map(exhausted),
    };
    fields.refuse_unknown(faults);
    found
}

fn exhausted(to: Target) -> Exhausted {
    if to == Target::Hold { Exhausted::Block } else { Exhausted::Route(to) }
}
