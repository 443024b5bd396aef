//! A workflow as a Mermaid flowchart, which Markdown viewers draw.

use super::picture::{label, lines};
use crate::domain::{Destination, GateId, GateKind, Workflow};
use crate::observability::gate_report::GateRow;
use crate::rules::{Way, edges, first};

pub(crate) fn render(workflow: &Workflow, rows: &[GateRow]) -> String {
    let mut text = String::from("flowchart TD\n  start(( ))\n");
    for (index, gate) in workflow.gates.iter().enumerate() {
        let lines: Vec<String> =
            lines(workflow, gate, rows).iter().map(|line| inert(line)).collect();
        let lines = lines.join("<br/>");
        text.push_str(&match gate.kind {
            GateKind::Condition => format!("  g{index}{{\"{lines}\"}}\n"),
            _ if gate.detour => format!("  g{index}([\"{lines}\"])\n"),
            GateKind::Fork(_) => format!("  g{index}[[\"{lines}\"]]\n"),
            GateKind::Work(_) => format!("  g{index}[\"{lines}\"]\n"),
        });
    }
    let edges = edges(workflow);
    for end in [Destination::End, Destination::Cancelled, Destination::Fail] {
        if edges.iter().any(|edge| edge.to == end) {
            text.push_str(&format!("  {}(((\"{}\")))\n", node(workflow, &end), end.noun()));
        }
    }
    text.push_str(&format!("  start --> {}\n", gate(workflow, &first(workflow).id)));
    for edge in &edges {
        let arrow = match edge.way {
            Way::On | Way::Return => "-->",
            Way::Back(_) => "==>",
            Way::Over | Way::Exhausted(_) | Way::Hold => "-.->",
        };
        let label = inert(&label(workflow, edge));
        text.push_str(&format!(
            "  {} {arrow}|\"{label}\"| {}\n",
            gate(workflow, &edge.from),
            node(workflow, &edge.to)
        ));
    }
    text
}

/// Returns the name that the picture has for an end of a way; Mermaid takes some words of its own for commands.
fn node(workflow: &Workflow, to: &Destination) -> String {
    match to {
        Destination::Gate(id) => gate(workflow, id),
        Destination::End => "finish".to_owned(),
        Destination::Cancelled => "cancelled".to_owned(),
        Destination::Fail => "failed".to_owned(),
    }
}

fn gate(workflow: &Workflow, id: &GateId) -> String {
    workflow.gate(id).map_or_else(|| "start".to_owned(), |(index, _)| format!("g{index}"))
}

/// Returns a text with everything as an entity that Mermaid, or the HTML that it makes, could take for its own.
fn inert(text: &str) -> String {
    let mut inert = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            _ if c.is_alphanumeric() || " .,:/_-()!?+".contains(c) => inert.push(c),
            _ => inert.push_str(&format!("#{};", u32::from(c))),
        }
    }
    inert
}
