//! A workflow as a graph for Graphviz, and as a Mermaid flowchart, which Markdown viewers draw.

use super::draw::{joining, keys, standing, times as counted};
use crate::domain::{Destination, Exhausted, Gate, GateId, GateKind, Outcome, Workflow};
use crate::files::printable::one_line;
use crate::observability::gate_report::GateRow;
use crate::rules::{Edge, EdgeKind, edges, first};

const ENDS: [Destination; 3] = [Destination::End, Destination::Cancelled, Destination::Fail];

/// Returns the workflow in the language of Graphviz.
pub(crate) fn dot(workflow: &Workflow, rows: &[GateRow]) -> String {
    // No gate can be called `$start`.
    let mut lines = vec![
        format!("digraph {} {{", dot_string(workflow.name.as_str())),
        "  node [shape=box, style=rounded, fontname=\"sans-serif\"];".to_owned(),
        "  edge [fontname=\"sans-serif\", fontsize=10];".to_owned(),
        "  \"$start\" [shape=circle, label=\"\", width=0.2];".to_owned(),
    ];
    for gate in &workflow.gates {
        let shape = match gate.kind {
            GateKind::Condition => ", shape=diamond, style=solid",
            _ if gate.detour => ", style=\"rounded,dashed\"",
            GateKind::Fork(_) => ", peripheries=2",
            GateKind::Work(_) => "",
        };
        let label = dot_string(&gate_lines(workflow, gate, rows).join("\n"));
        lines.push(format!("  {} [label={label}{shape}];", dot_string(gate.id.as_str())));
    }
    let edges = edges(workflow);
    for end in ENDS.iter().filter(|end| edges.iter().any(|edge| edge.to == **end)) {
        let (name, label) = (dot_string(&end.to_string()), dot_string(end.noun()));
        lines.push(format!("  {name} [label={label}, shape=doublecircle];"));
    }
    lines.push(format!("  \"$start\" -> {};", dot_string(first(workflow).id.as_str())));
    for edge in &edges {
        // `constraint=false`: a way back does not move its gate below the one that it leads from.
        let style = match (edge.way, &edge.to) {
            (EdgeKind::On | EdgeKind::Return, _) => "",
            (EdgeKind::Back(_), _) => ", style=bold, constraint=false",
            (EdgeKind::Exhausted(_), Destination::Gate(_)) => ", style=dashed, constraint=false",
            (EdgeKind::Exhausted(_) | EdgeKind::Over | EdgeKind::Hold, _) => ", style=dashed",
        };
        let label = dot_string(&edge_label(workflow, edge));
        let (from, to) = (dot_string(edge.from.as_str()), dot_string(&edge.to.to_string()));
        lines.push(format!("  {from} -> {to} [label={label}{style}];"));
    }
    lines.join("\n") + "\n}\n"
}

fn dot_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// Returns the workflow as a Mermaid flowchart.
pub(crate) fn mermaid(workflow: &Workflow, rows: &[GateRow]) -> String {
    let mut lines = vec!["flowchart TD".to_owned(), "  start(( ))".to_owned()];
    for (index, gate) in workflow.gates.iter().enumerate() {
        let label = gate_lines(workflow, gate, rows);
        let label = label.iter().map(|line| mermaid_text(line)).collect::<Vec<_>>().join("<br/>");
        lines.push(match gate.kind {
            GateKind::Condition => format!("  g{index}{{\"{label}\"}}"),
            _ if gate.detour => format!("  g{index}([\"{label}\"])"),
            GateKind::Fork(_) => format!("  g{index}[[\"{label}\"]]"),
            GateKind::Work(_) => format!("  g{index}[\"{label}\"]"),
        });
    }
    let edges = edges(workflow);
    for end in ENDS.iter().filter(|end| edges.iter().any(|edge| edge.to == **end)) {
        lines.push(format!("  {}(((\"{}\")))", mermaid_node(workflow, end), end.noun()));
    }
    lines.push(format!("  start --> {}", mermaid_gate(workflow, &first(workflow).id)));
    for edge in &edges {
        let arrow = match edge.way {
            EdgeKind::On | EdgeKind::Return => "-->",
            EdgeKind::Back(_) => "==>",
            EdgeKind::Over | EdgeKind::Exhausted(_) | EdgeKind::Hold => "-.->",
        };
        let label = mermaid_text(&edge_label(workflow, edge));
        let (from, to) = (mermaid_gate(workflow, &edge.from), mermaid_node(workflow, &edge.to));
        lines.push(format!("  {from} {arrow}|\"{label}\"| {to}"));
    }
    lines.join("\n") + "\n"
}

/// Returns the name of a node. Mermaid reserves some words, such as `end`.
fn mermaid_node(workflow: &Workflow, to: &Destination) -> String {
    match to {
        Destination::Gate(id) => mermaid_gate(workflow, id),
        Destination::End => "finish".to_owned(),
        Destination::Cancelled => "cancelled".to_owned(),
        Destination::Fail => "failed".to_owned(),
    }
}

fn mermaid_gate(workflow: &Workflow, id: &GateId) -> String {
    workflow.gate(id).map_or_else(|| "start".to_owned(), |(index, _)| format!("g{index}"))
}

/// Returns a text with entities in place of characters that mean something to Mermaid or HTML.
fn mermaid_text(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || " .,:/_-()!?+".contains(c);
    let written = |c: char| {
        if is_plain(c) { c.to_string() } else { format!("#{};", u32::from(c)) }
    };
    text.chars().map(written).collect()
}

/// Returns the lines of a gate's label.
fn gate_lines(workflow: &Workflow, gate: &Gate, rows: &[GateRow]) -> Vec<String> {
    let mut lines = vec![gate.id.to_string()];
    lines.extend(gate.role().map(ToString::to_string));
    if let Some(fork) = gate.fork() {
        lines.push(joining(fork));
        lines.extend(
            fork.branches.iter().map(|branch| format!("{}: {}", branch.id(), branch.duty().role)),
        );
    }
    lines.extend(gate.when.iter().map(|when| match gate.kind {
        GateKind::Condition => one_line(when),
        GateKind::Work(_) | GateKind::Fork(_) => format!("when {}", one_line(when)),
    }));
    lines.extend(gate.duty().into_iter().flat_map(keys));
    lines.extend(gate.detour.then(|| "detour".to_owned()));
    lines.extend(standing(workflow, gate, rows));
    lines
}

fn edge_label(workflow: &Workflow, edge: &Edge) -> String {
    let outcomes = edge.outcomes.iter().map(Outcome::as_str).collect::<Vec<_>>().join(" / ");
    match edge.way {
        EdgeKind::On | EdgeKind::Return => outcomes,
        EdgeKind::Back(times) => {
            let gate = workflow.gate(&edge.from).map(|(_, gate)| &gate.exits.on_exhausted);
            let then = match gate {
                Some(Exhausted::Escalate(role)) => format!(", then for {role}"),
                _ => String::new(),
            };
            format!("{outcomes} ({} at most{then})", counted(times))
        }
        EdgeKind::Over => "does not apply".to_owned(),
        EdgeKind::Exhausted(times) => format!("sent back {} before", counted(times)),
        EdgeKind::Hold => format!("{outcomes} (waits for a person)"),
    }
}
