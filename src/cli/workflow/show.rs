//! `aof workflow show`, `graph` and `diff`.

use std::process::ExitCode;
use std::rc::Rc;

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::draw::{dot, draw, mermaid};
use super::prove::alarm_text;
use crate::cli::render::changes;
use crate::cli::{CliResult, GREEN, RED, Session, YELLOW, bold, cyan, dim, short, styled};
use crate::domain::{Branch, Gate, Severity, Workflow, WorkflowName};
use crate::files::diagnostic::Diagnostic;
use crate::files::printable::inert;
use crate::git::CommitId;
use crate::observability::stats::gates::{GateReport, gate_report_value, gate_status};
use crate::project::active_rules::{InForce, Remark};
use crate::project::error::ProjectError;
use crate::project::rule_files::{compiled, worktree_rule_files};
use crate::project::rule_lookup::find_workflow;
use crate::project::workspace::Workspace;
use crate::rules::prover::Alarm;
use crate::rules::{
    Difference, DifferenceKind, Edge, EdgeKind, RuleSubject, Rules, TimeLimits, Workplace, edges,
    reads,
};
use crate::setup::rules_diff::{RouteChange, RulesDiff, TaskFate, TaskForecast, diff_rules};

#[derive(Debug, clap::Args)]
pub(crate) struct WorkflowShowArgs {
    /// The workflow; the project's default if none is named
    name: Option<WorkflowName>,
    #[command(flatten)]
    worktree_option: WorktreeOption,
}

#[derive(Debug, clap::Args)]
struct WorktreeOption {
    /// With `--json`: the rules of the worktree, which people are shown anyway
    #[arg(long)]
    worktree: bool,
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
    #[command(flatten)]
    worktree_option: WorktreeOption,
    /// The format of the drawing
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: GraphFormat,
}

/// The format of a drawn workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GraphFormat {
    /// Lines and letters
    Text,
    /// A flowchart for Mermaid
    Mermaid,
    /// A graph for Graphviz
    Dot,
}

pub(crate) fn run_show(session: &Session, args: &WorkflowShowArgs) -> CliResult {
    let (_, in_force) = rules_to_show(session, "workflow show", &args.worktree_option)?;
    let rules = &in_force.rules;
    let workflow = named(rules, args.name.as_ref())?;
    session.output.show(|| workflow_value(rules, workflow), || draw(rules, workflow, &[]));
    Ok(ExitCode::SUCCESS)
}

/// Draws the workflow, with the tasks at its gates.
pub(crate) fn graph(session: &Session, args: &GraphArgs) -> CliResult {
    let (workspace, in_force) = rules_to_show(session, "workflow graph", &args.worktree_option)?;
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
    Ok(changes::tell_unreadable(session, &report.unreadable))
}

/// Returns the rules to show. For people, these are the worktree's if they are valid and differ from the committed ones, which one
/// line reports.
fn rules_to_show(
    session: &Session,
    command: &str,
    option: &WorktreeOption,
) -> CliResult<(Workspace, InForce)> {
    let workspace = session.workspace(command)?;
    let mut in_force = workspace.rules()?;
    let differing = in_force.remarks.iter().find_map(|remark| match remark {
        Remark::Uncommitted(files) => Some(files.join(", ")),
        _ => None,
    });
    let is_wanted = option.worktree || !session.output.is_json();
    if let Some(files) = differing.filter(|_| is_wanted) {
        match compiled(&worktree_rule_files(&workspace.repository)?) {
            Ok((rules, _)) => {
                session.warn(&format!(
                    "this is {files} as in the worktree; what is committed is in force, and differs"
                ));
                in_force.remarks.retain(|remark| !matches!(remark, Remark::Uncommitted(_)));
                in_force.rules = Rc::new(rules);
            }
            Err(faults) if option.worktree => return Err(ProjectError::InvalidRules(faults).into()),
            Err(_) => {}
        }
    }
    session.warn_of_rules(&in_force);
    Ok((workspace, in_force))
}

/// Returns the workflow of that name; without a name, the project's default.
fn named<'a>(rules: &'a Rules, name: Option<&WorkflowName>) -> CliResult<&'a Workflow> {
    Ok(find_workflow(rules, name.unwrap_or(&rules.project.default_workflow))?)
}

fn workflow_value(rules: &Rules, workflow: &Workflow) -> Value {
    let gates = workflow.gates.iter().map(|gate| gate_value(rules, workflow, gate));
    json!({
        "name": workflow.name,
        "description": workflow.description,
        "version": workflow.version,
        "default": workflow.name == rules.project.default_workflow,
        "defaultOutcome": workflow.default_outcome,
        "rejectionStrategy": workflow.rejection.as_str(),
        "hash": rules.hash(&workflow.name),
        "gates": gates.collect::<Vec<_>>(),
    })
}

fn gate_value(rules: &Rules, workflow: &Workflow, gate: &Gate) -> Value {
    let workplace = Workplace::at(gate);
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
        "waitFor": gate.wait_for,
        "routes": routes,
        "maxRetries": gate.exits.retries(),
        "description": gate.description,
        "when": gate.when,
        "canReject": gate.can_reject(),
        "rejectTo": gate.exits.reject_to,
        "canSkip": duty.is_some_and(|duty| duty.can_skip),
        "requireHuman": workplace.is_some_and(|workplace| workplace.requires_human(rules)),
        "timeout": duty.and_then(|duty| TimeLimits::of(workflow, duty).timeout),
        "escalateTo": duty.and_then(|duty| duty.escalate_to.as_ref()),
        "outcomes": workplace.map(|workplace| workplace.outcomes(rules)).unwrap_or_default(),
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
    let workplace = Workplace::at_branch(fork, branch);
    let verdicts: Map<String, Value> = workplace
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
        "requireHuman": workplace.requires_human(rules),
        "timeout": TimeLimits::of(workflow, duty).timeout,
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
            "ready": count("ready"),
            "waiting": count("waiting"),
            "inProgress": count("inProgress"),
            "blocked": count("blocked"),
        })
    });
    let edges = edges(workflow);
    json!({
        "workflow": workflow.name,
        "version": workflow.version,
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
        EdgeKind::Each => ("each", None),
        EdgeKind::Again(rounds) => ("again", Some(rounds)),
    };
    json!({
        "from": edge.from,
        "to": edge.to,
        "outcomes": edge.outcomes,
        "way": way,
        "times": times,
    })
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without REV, the rules in force are compared with those of the worktree, which count once they are committed. With REV, the rules of \
that commit are compared with those in force. It exits 6 if the rules of the worktree are invalid.

Examples:
  aof workflow diff             what committing project.yaml, org.yaml and workflows/ would do
  aof workflow diff HEAD~5      what has changed since
  aof workflow diff --json")]
pub(crate) struct WorkflowDiffArgs {
    /// A commit, a branch or a tag to compare the rules in force with
    #[arg(value_name = "REV")]
    revision: Option<String>,
}

pub(crate) fn run_diff(session: &Session, args: &WorkflowDiffArgs) -> CliResult {
    let workspace = session.workspace("workflow diff")?;
    let diff = diff_rules(&workspace, args.revision.as_deref())?;
    let output = session.output;
    if output.is_json() {
        output.data(diff_value(&diff));
    } else {
        // Notes are left to `aof workflow validate`.
        let is_told = |one: &&Diagnostic| one.severity != Severity::Note;
        let told: Vec<Diagnostic> = diff.diagnostics.iter().filter(is_told).cloned().collect();
        output.say_diagnostics(&told);
        output.print(&page(&diff));
    }
    Ok(changes::tell_unreadable(session, &diff.unreadable))
}

fn page(diff: &RulesDiff) -> String {
    let named = |commit: Option<CommitId>, otherwise: &str| {
        commit.map_or_else(|| otherwise.to_owned(), |commit| format!("commit {}", short(commit)))
    };
    let (from, to) = (named(diff.from, "no rules"), named(diff.to, "the worktree"));
    let mut text = format!("{}\n", dim(format!("from the rules of {from} to those of {to}")));
    if diff.differences.is_empty() {
        text.push_str("the rules are equivalent\n");
    }
    let mut about = None;
    for difference in &diff.differences {
        let subject = subject(&difference.of);
        if difference.gate.is_some() && about.as_ref() != Some(&subject) {
            text.push_str(&format!("{}\n", bold(&subject)));
        }
        text.push_str(&line(difference));
        about = Some(subject);
    }
    if !diff.broken.is_empty() {
        text.push_str(&format!("\n{}\n", bold("Breaks")));
    }
    for (workflow, alarm) in &diff.broken {
        text.push_str(&format!("workflow {workflow}: {}", alarm_text(alarm)));
    }
    if !diff.prospects.is_empty() {
        text.push_str(&format!("\n{}\n", bold("Tasks")));
    }
    text.extend(diff.prospects.iter().map(task_text));
    let rest = diff.untouched;
    text + &match (diff.prospects.len(), rest) {
        (0, 0) => "\nno task is under way\n".to_owned(),
        (_, 0) => String::new(),
        (0, 1) => "\nthe one task under way stays as it is\n".to_owned(),
        (0, _) => format!("\nall {rest} tasks under way stay as they are\n"),
        (_, 1) => "  1 other stays as it is\n".to_owned(),
        (_, _) => format!("  {rest} others stay as they are\n"),
    }
}

fn subject(of: &RuleSubject) -> String {
    match of {
        RuleSubject::Workflow(name) => format!("workflow {name}"),
        RuleSubject::Role(role) => format!("role {role}"),
        RuleSubject::Agent(agent) => format!("agent {agent}"),
        RuleSubject::Promise(name) => format!("promise {}", inert(name)),
    }
}

fn line(difference: &Difference) -> String {
    let (sign, style) = match difference.kind {
        DifferenceKind::Added => ("+", GREEN),
        DifferenceKind::Removed => ("-", RED),
        DifferenceKind::Changed => ("~", YELLOW),
    };
    let what = match &difference.what[..] {
        [] => String::new(),
        what => inert(&format!(": {}", what.join(", "))),
    };
    let (indent, name) = match &difference.gate {
        Some(gate) => ("  ", format!("gate {gate}")),
        None => ("", subject(&difference.of)),
    };
    format!("{indent}{} {name}{what}\n", styled(style, sign))
}

fn task_text(forecast: &TaskForecast) -> String {
    let what = match &forecast.fate {
        TaskFate::Stays => "stays".to_owned(),
        TaskFate::Moves { to: Some(to), why } => format!("goes to {to}: {why}"),
        TaskFate::Moves { to: None, why } => format!("ends: {why}"),
        TaskFate::Follows { what, details } if details.is_empty() => what.clone(),
        TaskFate::Follows { what, details } => format!("{what}: {}", details.join("; ")),
        TaskFate::Stranded => "its workflow is gone, and nobody can move it".to_owned(),
    };
    let mut text = format!("  {}  {}  {}\n", cyan(&forecast.task), forecast.gate, inert(&what));
    for RouteChange { outcome, before, after } in &forecast.route_changes {
        text.push_str(&format!("    {outcome} leads to {after}, no longer to {before}\n"));
    }
    text
}

fn diff_value(diff: &RulesDiff) -> Value {
    let differences = diff.differences.iter().map(|difference| {
        let mut value = json!({
            "workflow": null,
            "role": null,
            "promise": null,
            "gate": difference.gate,
            "kind": difference.kind.as_str(),
            "what": difference.what,
        });
        match &difference.of {
            RuleSubject::Workflow(name) => value["workflow"] = json!(name),
            RuleSubject::Role(role) => value["role"] = json!(role),
            RuleSubject::Agent(agent) => value["agent"] = json!(agent),
            RuleSubject::Promise(name) => value["promise"] = json!(name),
        }
        value
    });
    json!({
        "from": diff.from,
        "to": diff.to,
        "differences": differences.collect::<Vec<_>>(),
        "tasks": diff.prospects.iter().map(task_value).collect::<Vec<_>>(),
        "untouched": diff.untouched,
        "breaks": diff.broken.iter().map(broken_value).collect::<Vec<_>>(),
        "diagnostics": changes::diagnostic_values(&diff.diagnostics),
        "unreadable": changes::unreadable_values(&diff.unreadable),
    })
}

fn broken_value((workflow, alarm): &(WorkflowName, Alarm)) -> Value {
    let mut value = json!(alarm);
    value["workflow"] = json!(workflow);
    value
}

fn task_value(forecast: &TaskForecast) -> Value {
    let (fate, to, what) = match &forecast.fate {
        TaskFate::Stays => ("stays", Some(&forecast.gate), Vec::new()),
        TaskFate::Moves { to, why } => ("moves", to.as_ref(), vec![why]),
        TaskFate::Follows { what, details } => {
            ("follows", Some(&forecast.gate), [what].into_iter().chain(details).collect())
        }
        TaskFate::Stranded => ("stranded", None, Vec::new()),
    };
    let turn = |RouteChange { outcome, before, after }: &RouteChange| json!({"outcome": outcome, "before": before, "after": after});
    json!({
        "task": forecast.task,
        "title": forecast.title,
        "gate": forecast.gate,
        "fate": fate,
        "to": to,
        "what": what,
        "outcomes": forecast.route_changes.iter().map(turn).collect::<Vec<_>>(),
    })
}
