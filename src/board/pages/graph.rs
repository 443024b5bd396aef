//! A workflow as SVG: gates from top to bottom, routes to the next gate between them, longer ones at the right, ways back at the left.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use maud::{Markup, html};

use super::plot::{clipped, figure, label, numbers};
use crate::board::model::drawing::{columns_of, edge_label, edge_words, joining};
use crate::domain::{Destination, Gate, GateId, GateKind, Workflow};
use crate::files::event::render::place_words;
use crate::rules::prover::Alarm;
use crate::rules::{Edge, EdgeKind, Rules, Workplace, edges};

/// The width of a box, the height of a line in it, and the gap below it.
const BOX: usize = 270;
const LINE: usize = 17;
const GAP: usize = 32;
/// The distance of parallel lines, and the width of a letter.
const LANE: usize = 13;
const LETTER: usize = 6;
/// The number of characters in a line of a box, and in the label of a route.
const BOX_ROOM: usize = 42;
const LABEL_ROOM: usize = 24;

/// Returns the drawing of a workflow, with the number of tasks at each gate; it marks the gate `at`.
pub(crate) fn workflow_svg(
    rules: &Rules,
    workflow: &Workflow,
    counts: &dyn Fn(&GateId) -> usize,
    at: Option<&GateId>,
    alarms: &[Alarm],
) -> Markup {
    let edges = edges(workflow);
    let graph = Graph::of(rules, workflow, &edges);
    let rows = html! {
        @for gate in &workflow.gates {
            tr {
                th scope="row" { (gate.id) }
                td { (gate_work(rules, gate)) }
                td { (counts(&gate.id)) }
                td {
                    @for edge in edges.iter().filter(|edge| edge.from == gate.id) {
                        p { (edge_label(workflow, edge)) ": " (edge.to.noun()) }
                    }
                }
            }
        }
    };
    let drawing = html! {
        @for route in &graph.routes { (graph.route(route)) }
        @for one in &graph.boxes { (graph.show(one, counts, at, alarms)) }
    };
    let heading = format!("Workflow {}", workflow.name);
    let here = at.map(|gate| format!(" The task is at {gate}.")).unwrap_or_default();
    let about = format!("{} gates, and where they lead.{here}", workflow.gates.len());
    let table = numbers(&["Gate", "Who", "Tasks", "Leads to"], &rows);
    html! { div class="workflow" { (figure((&heading, &about), graph.size, &drawing, &table)) } }
}

/// Returns whether the alarm is about the gate, or about a branch of it.
pub(crate) fn is_about(alarm: &Alarm, gate: &Gate) -> bool {
    alarm.code != "broken_promise" && alarm.at.split('/').next() == Some(gate.id.as_str())
}

/// Returns the roles of a gate, or what happens there.
fn gate_work(rules: &Rules, gate: &Gate) -> String {
    match (gate.fork(), Workplace::at(gate)) {
        (Some(fork), _) => joining(fork),
        (None, Some(place)) if place.requires_human(rules) => {
            format!("{}, people only", place.role)
        }
        (None, Some(place)) => place.role.to_string(),
        (None, None) => "decides by itself".to_owned(),
    }
}

/// A gate, or an end of the workflow, as a box.
struct GraphBox<'a> {
    place: Destination,
    gate: Option<&'a Gate>,
    /// The lines under the name, each with true if it is a branch.
    lines: Vec<(String, bool)>,
    top: usize,
    height: usize,
}

/// A route between two boxes, by their numbers.
struct GraphRoute {
    from: usize,
    to: usize,
    /// The side: `Less` for a route back, drawn at the left; `Equal` to the next box; `Greater` for a longer route on, drawn at the right.
    side: Ordering,
    class: &'static str,
    label: String,
    /// The line beside the boxes that the route takes, and the port at which it leaves its box, counted from above.
    column: usize,
    port: usize,
}

/// Returns the boxes in order. Detours are below the end, so that the main line is straight.
fn boxes<'a>(rules: &Rules, workflow: &'a Workflow, edges: &[Edge]) -> Vec<GraphBox<'a>> {
    let (detours, gates): (Vec<&Gate>, _) = workflow.gates.iter().partition(|gate| gate.detour);
    let ends = [Destination::End, Destination::Cancelled, Destination::Fail];
    let ends = ends.into_iter().filter(|end| edges.iter().any(|edge| edge.to == *end));
    let new_box = |place, gate, lines| GraphBox { place, gate, lines, top: 0, height: 0 };
    let end = |place| new_box(place, None, Vec::new());
    let gate = |gate: &'a Gate| {
        let mut lines = vec![(gate_work(rules, gate), false)];
        lines.extend(gate.when.iter().map(|when| (format!("when {when}"), false)));
        let branches = gate.fork().into_iter().flat_map(|fork| &fork.branches);
        lines.extend(branches.map(|one| (format!("{}: {}", one.id(), one.duty().role), true)));
        new_box(Destination::Gate(gate.id.clone()), Some(gate), lines)
    };
    gates.into_iter().map(gate).chain(ends.map(end)).chain(detours.into_iter().map(gate)).collect()
}

/// Returns the routes between the boxes. All routes from one box to the next are joined to one.
fn routes(workflow: &Workflow, edges: &[Edge], boxes: &[GraphBox<'_>]) -> Vec<GraphRoute> {
    let index = |place: &Destination| boxes.iter().position(|one| one.place == *place);
    let mut routes: Vec<GraphRoute> = Vec::new();
    for edge in edges {
        let from = index(&Destination::Gate(edge.from.clone()));
        let (Some(from), Some(to)) = (from, index(&edge.to)) else { continue };
        let side = to.cmp(&(from + 1));
        let class = match edge.way {
            EdgeKind::On | EdgeKind::Return => "edge",
            EdgeKind::Back(_) => "edge back",
            EdgeKind::Each | EdgeKind::Again(_) => "edge again",
            EdgeKind::Over | EdgeKind::Exhausted(_) | EdgeKind::Hold => "edge rare",
        };
        let label = edge_label(workflow, edge);
        match routes.iter_mut().find(|route| (route.from, route.side) == (from, side)) {
            Some(route) if side == Ordering::Equal => route.label += &format!(", {label}"),
            _ => routes.push(GraphRoute { from, to, side, class, label, column: 0, port: 0 }),
        }
    }
    routes
}

/// Gives the routes of a side their lines and ports. Routes to the same box share a line, which arrives at the box's first port.
fn place_beside(routes: &mut [GraphRoute], side: Ordering) {
    let mut spans: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for route in routes.iter().filter(|route| route.side == side) {
        let span = spans.entry(route.to).or_insert((route.to, route.to));
        *span = (span.0.min(route.from), span.1.max(route.from));
    }
    let columns = columns_of(&spans.values().copied().collect::<Vec<_>>());
    let columns: BTreeMap<usize, usize> = spans.into_keys().zip(columns).collect();
    let mut ports: BTreeMap<usize, usize> = BTreeMap::new();
    for route in routes.iter_mut().filter(|route| route.side == side) {
        let port = ports.entry(route.from).or_insert(columns.contains_key(&route.from).into());
        (route.port, route.column) = (*port, columns[&route.to]);
        *port += 1;
    }
}

/// A workflow that is laid out.
struct Graph<'a> {
    boxes: Vec<GraphBox<'a>>,
    routes: Vec<GraphRoute>,
    /// The width of the labels at the left and at the right; the lines are beyond them.
    gutters: [usize; 2],
    /// The left edge of the boxes.
    left: usize,
    size: (usize, usize),
}

impl<'a> Graph<'a> {
    fn of(rules: &Rules, workflow: &'a Workflow, edges: &[Edge]) -> Self {
        let mut boxes = boxes(rules, workflow, edges);
        let mut routes = routes(workflow, edges, &boxes);
        let widths = [Ordering::Less, Ordering::Greater].map(|side| {
            place_beside(&mut routes, side);
            let beside = routes.iter().filter(|route| route.side == side);
            let letters = beside.clone().map(|route| route.shown().chars().count()).max();
            let lines = beside.map(|route| route.column + 1).max().unwrap_or(0);
            (letters.map_or(0, |letters| letters * LETTER + 16), lines * LANE + 4)
        });
        let mut top = 4;
        for (at, one) in boxes.iter_mut().enumerate() {
            let beside = routes.iter().filter(|route| route.from == at).map(|route| route.port);
            one.top = top;
            one.height = (one.lines.len().max(beside.max().unwrap_or(0)) + 1) * LINE + 10;
            top += one.height + if one.gate.is_some() { GAP } else { GAP / 2 };
        }
        let [(gutter, lines), (right_gutter, right_lines)] = widths;
        let left = gutter + lines;
        let size = (left + BOX + right_gutter + right_lines, top - GAP / 2 + 2);
        Self { boxes, routes, gutters: [gutter, right_gutter], left, size }
    }

    fn route(&self, route: &GraphRoute) -> Markup {
        let (left, right, beside) = (self.left, self.left + BOX, route.column * LANE);
        let (from, to) = (&self.boxes[route.from], &self.boxes[route.to]);
        let (begin, end) = (from.top + 14 + route.port * LINE, to.top + 14);
        let around = |x: usize, lane: usize| format!("M{x} {begin}H{lane}V{end}H{x}");
        let (way, head, anchor, x, y) = match route.side {
            Ordering::Less => {
                let way = around(left, left - self.gutters[0] - beside);
                (way, format!("M{left} {end}l-8-4v8z"), "end", left - 8, begin - 4)
            }
            Ordering::Greater => {
                let way = around(right, right + self.gutters[1] + beside);
                (way, format!("M{right} {end}l8-4v8z"), "start", right + 8, begin - 4)
            }
            Ordering::Equal => {
                let (x, end) = (left + BOX / 2, to.top);
                let way = format!("M{x} {}V{end}", from.top + from.height);
                (way, format!("M{x} {end}l-4-8h8z"), "start", x + 8, end - 12)
            }
        };
        html! {
            g class=(route.class) {
                title { (route.label) }
                path class="way" d=(way) {}
                path class="head" d=(head) {}
                @if route.label != "complete" { text class=(anchor) x=(x) y=(y) { (route.shown()) } }
            }
        }
    }

    fn show(
        &self,
        one: &GraphBox<'_>,
        counts: &dyn Fn(&GateId) -> usize,
        at: Option<&GateId>,
        alarms: &[Alarm],
    ) -> Markup {
        let (left, top, name) = (self.left, one.top, place_words(&one.place));
        let class = match one.gate {
            None => "end-box",
            Some(gate) if at == Some(&gate.id) => "gate here",
            Some(gate) if alarms.iter().any(|alarm| is_about(alarm, gate)) => "gate fault",
            Some(gate) if gate.detour => "gate detour",
            Some(gate) if gate.kind == GateKind::Condition => "gate condition",
            Some(_) => "gate",
        };
        let tasks = one.gate.map_or(0, |gate| counts(&gate.id));
        html! {
            g class=(class) {
                rect x=(left) y=(top) width=(BOX) height=(one.height) rx="6" {}
                (label("name", (left + 12, top + 18), name, BOX_ROOM - 8))
                @if tasks > 0 { text class="count end" x=(left + BOX - 12) y=(top + 18) { (tasks) } }
                @for ((line, is_branch), at) in one.lines.iter().zip(1..) {
                    @let y = top + 18 + at * LINE;
                    @if *is_branch {
                        rect class="branch" x=(left + 8) y=(y - 12) width=(BOX - 16) height=(LINE - 2) rx="3" {}
                    }
                    (label("line", (left + 12, y), line, BOX_ROOM))
                }
            }
        }
    }
}

impl GraphRoute {
    /// Returns the part of the label that the drawing shows.
    fn shown(&self) -> String {
        let outcome = self.label.split_once(" (").map_or(&*self.label, |(outcome, _)| outcome);
        clipped(&edge_words(outcome), LABEL_ROOM)
    }
}

#[cfg(test)]
mod tests;
