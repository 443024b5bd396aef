//! A workflow as a graph for Graphviz.

use super::picture::{label, lines};
use crate::domain::{Destination, GateKind, Workflow};
use crate::observability::gate_report::GateRow;
use crate::rules::{Way, edges, first};

pub(crate) fn render(workflow: &Workflow, rows: &[GateRow]) -> String {
    let mut text = format!("digraph {} {{\n", quoted(workflow.name.as_str()));
    text.push_str("  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n");
    text.push_str("  edge [fontname=\"sans-serif\", fontsize=10];\n");
    // No gate can be called `$start`.
    text.push_str("  \"$start\" [shape=circle, label=\"\", width=0.2];\n");
    for gate in &workflow.gates {
        let shape = match gate.kind {
            GateKind::Condition => ", shape=diamond, style=solid",
            _ if gate.detour => ", style=\"rounded,dashed\"",
            GateKind::Fork(_) => ", peripheries=2",
            GateKind::Work(_) => "",
        };
        let label = lines(workflow, gate, rows).join("\n");
        text.push_str(&format!(
            "  {} [label={}{shape}];\n",
            quoted(gate.id.as_str()),
            quoted(&label)
        ));
    }
    let edges = edges(workflow);
    for end in [Destination::End, Destination::Cancelled, Destination::Fail] {
        if edges.iter().any(|edge| edge.to == end) {
            let (name, label) = (quoted(&end.to_string()), quoted(end.noun()));
            text.push_str(&format!("  {name} [label={label}, shape=doublecircle];\n"));
        }
    }
    text.push_str(&format!("  \"$start\" -> {};\n", quoted(first(workflow).id.as_str())));
    for edge in &edges {
        // What leads back does not move its gate below the one that it leads from.
        let style = match (edge.way, &edge.to) {
            (Way::On | Way::Return, _) => "",
            (Way::Back(_), _) => ", style=bold, constraint=false",
            (Way::Exhausted(_), Destination::Gate(_)) => ", style=dashed, constraint=false",
            (Way::Exhausted(_) | Way::Over | Way::Hold, _) => ", style=dashed",
        };
        let label = quoted(&label(workflow, edge));
        let (from, to) = (quoted(edge.from.as_str()), quoted(&edge.to.to_string()));
        text.push_str(&format!("  {from} -> {to} [label={label}{style}];\n"));
    }
    text.push_str("}\n");
    text
}

/// Returns a text as a string of the language; a line break stays one.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
