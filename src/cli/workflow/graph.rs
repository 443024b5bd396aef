//! `aof workflow graph`

use std::process::ExitCode;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::command::named;
use super::drawing::draw;
use super::{dot, mermaid};
use crate::cli::error::CliError;
use crate::cli::render::findings;
use crate::cli::session::Session;
use crate::domain::{Branch, GateKind, GateType, Outcome, RoleId, Workflow, WorkflowName};
use crate::observability::gate_report::{GateReport, gate_report_value, gate_status};
use crate::rules::{Edge, Way, edges};

/// Draw the ways that a task can go, and where tasks stand now
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof workflow graph                                     the default workflow, here
  aof workflow graph release --format mermaid            for a Markdown file, in a block of ```mermaid
  aof workflow graph --format dot | dot -Tsvg > way.svg  with Graphviz")]
pub(crate) struct Args {
    /// The workflow; the project's default if none is named
    name: Option<WorkflowName>,
    /// How it is drawn
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// How a workflow is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines and letters
    Text,
    /// A flowchart for Mermaid
    Mermaid,
    /// A graph for Graphviz
    Dot,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("workflow graph")?;
    let in_force = session.rules(&workspace)?;
    let rules = &in_force.rules;
    let workflow = named(rules, args.name.as_ref())?;
    let report = gate_status(&workspace, &in_force);
    if session.output.is_json() {
        session.output.data(value(workflow, &report));
    } else {
        session.output.print(&match args.format {
            Format::Text => draw(rules, workflow, &report.rows),
            Format::Mermaid => mermaid::render(workflow, &report.rows),
            Format::Dot => dot::render(workflow, &report.rows),
        });
    }
    Ok(findings::tell_unreadable(session, &report.unreadable))
}

fn value(workflow: &Workflow, report: &GateReport) -> Value {
    let rows = gate_report_value(report);
    let rows = rows["gates"].as_array().cloned().unwrap_or_default();
    let gates: Vec<Value> = workflow
        .gates
        .iter()
        .map(|gate| {
            let row =
                rows.iter().find(|row| row["workflow"] == workflow.name.as_str() && row["gate"] == gate.id.as_str());
            let count = |field: &str| row.map_or(Value::Null, |row| row[field].clone());
            let (kind, branches) = match &gate.kind {
                GateKind::Work(_) => (GateType::Work, None),
                GateKind::Condition => (GateType::Condition, None),
                GateKind::Fork(fork) => (GateType::Fork, Some(&fork.branches)),
            };
            let branches: Option<Vec<Value>> = branches.map(|branches| {
                let value = |branch: &Branch| json!({"id": branch.id().as_str(), "role": branch.duty().role.as_str()});
                branches.iter().map(value).collect()
            });
            json!({
                "id": gate.id.as_str(),
                "type": kind.as_str(),
                "branches": branches,
                "role": gate.role().map(RoleId::as_str),
                "when": gate.when,
                "detour": gate.detour,
                "waiting": count("waiting"),
                "inProgress": count("inProgress"),
                "blocked": count("blocked"),
            })
        })
        .collect();
    let edges: Vec<Value> = edges(workflow).iter().map(edge_value).collect();
    json!({"workflow": workflow.name.as_str(), "gates": gates, "edges": edges})
}

fn edge_value(edge: &Edge) -> Value {
    let (way, times) = match edge.way {
        Way::On => ("on", None),
        Way::Back(times) => ("back", Some(times)),
        Way::Over => ("over", None),
        Way::Return => ("return", None),
        Way::Exhausted(times) => ("exhausted", Some(times)),
        Way::Hold => ("hold", None),
    };
    let outcomes: Vec<&str> = edge.outcomes.iter().map(Outcome::as_str).collect();
    json!({"from": edge.from.as_str(), "to": edge.to.to_string(), "outcomes": outcomes, "way": way, "times": times})
}
