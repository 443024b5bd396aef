//! `aof workflow show` and `aof workflow graph`

use std::process::ExitCode;

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::diagrams::{dot, mermaid};
use super::draw::draw;
use crate::cli::render::findings;
use crate::cli::{CliResult, Session};
use crate::domain::{Branch, Gate, Workflow, WorkflowName};
use crate::observability::gate_report::{GateReport, gate_report_value, gate_status};
use crate::rules::{Edge, EdgeKind, Limits, Rules, Workplace, edges, reads};
use crate::tasks::headers::list::workflow_named;

#[derive(Debug, clap::Args)]
pub(crate) struct WorkflowShowArgs {
    /// The workflow; the project's default if none is named
    name: Option<WorkflowName>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof workflow graph                                     the default workflow, here
  aof workflow graph release --format mermaid            for a Markdown file, in a block of ```mermaid
  aof workflow graph --format dot | dot -Tsvg > way.svg  with Graphviz")]
pub(crate) struct GraphArgs {
    /// The workflow; the project's default if none is named
    name: Option<WorkflowName>,
    /// The format of the drawing
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: GraphFormat,
}

/// How a workflow is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GraphFormat {
    /// Lines and letters
    Text,
    /// A flowchart for Mermaid
    Mermaid,
    /// A graph for Graphviz
    Dot,
}

pub(crate) fn run(session: &Session, args: &WorkflowShowArgs) -> CliResult {
    let (_, in_force) = session.open("workflow show")?;
    let rules = &in_force.rules;
    let workflow = named(rules, args.name.as_ref())?;
    session.output.show(|| value(rules, workflow), || draw(rules, workflow, &[]));
    Ok(ExitCode::SUCCESS)
}

/// Draws the workflow, and where tasks are now.
pub(crate) fn graph(session: &Session, args: &GraphArgs) -> CliResult {
    let (workspace, in_force) = session.open("workflow graph")?;
    let rules = &in_force.rules;
    let workflow = named(rules, args.name.as_ref())?;
    let report = gate_status(&workspace, &in_force);
    if session.output.is_json() {
        session.output.data(graph_value(workflow, &report));
    } else {
        session.output.print(&match args.format {
            GraphFormat::Text => draw(rules, workflow, &report.rows),
            GraphFormat::Mermaid => mermaid(workflow, &report.rows),
            GraphFormat::Dot => dot(workflow, &report.rows),
        });
    }
    Ok(findings::tell_unreadable(session, &report.unreadable))
}

/// Returns the workflow of that name; without one the project's default.
fn named<'a>(rules: &'a Rules, name: Option<&WorkflowName>) -> CliResult<&'a Workflow> {
    Ok(workflow_named(rules, name.unwrap_or(&rules.project.default_workflow))?)
}

fn value(rules: &Rules, workflow: &Workflow) -> Value {
    let gates = workflow.gates.iter().map(|gate| gate_value(rules, workflow, gate));
    json!({
        "name": workflow.name,
        "description": workflow.description,
        "default": workflow.name == rules.project.default_workflow,
        "defaultOutcome": workflow.default_outcome,
        "rejectionStrategy": workflow.rejection.as_str(),
        "hash": rules.hash(&workflow.name),
        "gates": gates.collect::<Vec<_>>(),
    })
}

fn gate_value(rules: &Rules, workflow: &Workflow, gate: &Gate) -> Value {
    let post = Workplace::at(gate);
    let duty = gate.duty();
    let routes: Map<String, Value> = gate
        .exits
        .written()
        .map(|(outcome, route)| {
            let to = route.to.to_string();
            let value = json!({"to": to, "prompt": route.prompt, "clear": route.clear});
            (outcome.to_string(), value)
        })
        .collect();
    let mut value = json!({
        "id": gate.id,
        "role": gate.role(),
        "detour": gate.detour,
        "routes": routes,
        "maxRetries": gate.exits.retries(),
        "description": gate.description,
        "when": gate.when,
        "canReject": gate.can_reject(),
        "rejectTo": gate.exits.reject_to,
        "canSkip": duty.is_some_and(|duty| duty.can_skip),
        "requireHuman": post.is_some_and(|post| post.requires_human(rules)),
        "timeout": duty.and_then(|duty| Limits::of(workflow, duty).timeout),
        "escalateTo": duty.and_then(|duty| duty.escalate_to.as_ref()),
        "outcomes": post.map(|post| post.outcomes(rules)).unwrap_or_default(),
        "reads": duty.map(reads).unwrap_or_default(),
        "handsOn": duty.map(|duty| duty.outputs.names()).unwrap_or_default(),
    });
    if let Some(fork) = gate.fork() {
        let branch = |branch: &Branch| branch_value(rules, workflow, gate, branch);
        value["joinStrategy"] = json!(fork.join.as_str());
        value["branches"] = fork.branches.iter().map(branch).collect();
    }
    value
}

fn branch_value(rules: &Rules, workflow: &Workflow, fork: &Gate, branch: &Branch) -> Value {
    let post = Workplace::at_branch(fork, branch);
    let verdicts: Map<String, Value> = post
        .outcomes(rules)
        .iter()
        .map(|outcome| (outcome.to_string(), json!(branch.verdict(outcome).as_str())))
        .collect();
    let duty = branch.duty();
    json!({
        "id": branch.id(),
        "role": duty.role,
        "description": branch.gate().description,
        "when": branch.gate().when,
        "canSkip": duty.can_skip,
        "requireHuman": post.requires_human(rules),
        "timeout": Limits::of(workflow, duty).timeout,
        "escalateTo": duty.escalate_to,
        "outcomes": verdicts,
        "reads": reads(duty),
        "handsOn": duty.outputs.names(),
    })
}

fn graph_value(workflow: &Workflow, report: &GateReport) -> Value {
    let rows = gate_report_value(report);
    let rows = rows["gates"].as_array().map(Vec::as_slice).unwrap_or_default();
    let gates = workflow.gates.iter().map(|gate| {
        let is_own = |row: &&Value| {
            row["workflow"] == workflow.name.as_str() && row["gate"] == gate.id.as_str()
        };
        let row = rows.iter().find(is_own);
        let count = |field: &str| row.map_or(Value::Null, |row| row[field].clone());
        let branch = |branch: &Branch| json!({"id": branch.id(), "role": branch.duty().role});
        let branches = gate.fork().map(|fork| fork.branches.iter().map(branch).collect::<Vec<_>>());
        json!({
            "id": gate.id,
            "type": gate.kind.gate_type(),
            "branches": branches,
            "role": gate.role(),
            "when": gate.when,
            "detour": gate.detour,
            "waiting": count("waiting"),
            "inProgress": count("inProgress"),
            "blocked": count("blocked"),
        })
    });
    let edges = edges(workflow);
    json!({
        "workflow": workflow.name,
        "gates": gates.collect::<Vec<_>>(),
        "edges": edges.iter().map(edge_value).collect::<Vec<_>>(),
    })
}

fn edge_value(edge: &Edge) -> Value {
    let (way, times) = match edge.way {
        EdgeKind::On => ("on", None),
        EdgeKind::Back(times) => ("back", Some(times)),
        EdgeKind::Over => ("over", None),
        EdgeKind::Return => ("return", None),
        EdgeKind::Exhausted(times) => ("exhausted", Some(times)),
        EdgeKind::Hold => ("hold", None),
    };
    json!({
        "from": edge.from,
        "to": edge.to,
        "outcomes": edge.outcomes,
        "way": way,
        "times": times,
    })
}
