//! `aof workflow show`

use std::process::ExitCode;

use serde_json::{Value, json};

use super::command::named;
use super::drawing::draw;
use crate::cli::error::CliError;
use crate::cli::session::Session;
use crate::domain::{Branch, Gate, GateId, Outcome, RoleId, Workflow, WorkflowName};
use crate::rules::{Limits, Rules, Workplace, reads};

/// Show a workflow's gates in order, and where each outcome leads
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The workflow; the project's default if none is named
    name: Option<WorkflowName>,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("workflow show")?;
    let in_force = session.rules(&workspace)?;
    let rules = &in_force.rules;
    let workflow = named(rules, args.name.as_ref())?;
    if session.output.is_json() {
        session.output.data(value(rules, workflow));
    } else {
        session.output.print(&draw(rules, workflow, &[]));
    }
    Ok(ExitCode::SUCCESS)
}

fn value(rules: &Rules, workflow: &Workflow) -> Value {
    let gates: Vec<Value> = workflow
        .gates
        .iter()
        .map(|gate| {
            let post = Workplace::at(gate);
            let outcomes = post.map(|post| post.outcomes(rules)).unwrap_or_default();
            let outcomes: Vec<&str> = outcomes.iter().map(Outcome::as_str).collect();
            let duty = gate.duty();
            let routes: serde_json::Map<String, Value> = gate
                .exits
                .written()
                .map(|(outcome, route)| {
                    let clear: Vec<&str> = route.clear.iter().map(GateId::as_str).collect();
                    let value = json!({"to": route.to.to_string(), "prompt": route.prompt, "clear": clear});
                    (outcome.to_string(), value)
                })
                .collect();
            let mut value = json!({
                "id": gate.id.as_str(),
                "role": gate.role().map(RoleId::as_str),
                "detour": gate.detour,
                "routes": routes,
                "maxRetries": gate.exits.retries(),
                "description": gate.description,
                "when": gate.when,
                "canReject": gate.can_reject(),
                "rejectTo": gate.exits.reject_to.as_ref().map(GateId::as_str),
                "canSkip": duty.is_some_and(|duty| duty.can_skip),
                "requireHuman": post.is_some_and(|post| post.requires_human(rules)),
                "timeout": duty.and_then(|duty| Limits::of(workflow, duty).timeout).map(|period| period.to_string()),
                "escalateTo": duty.and_then(|duty| duty.escalate_to.as_ref()).map(RoleId::as_str),
                "outcomes": outcomes,
                "reads": duty.map(reads).unwrap_or_default(),
                "handsOn": duty.map(|duty| duty.outputs.names()).unwrap_or_default(),
            });
            if let Some(fork) = gate.fork() {
                value["joinStrategy"] = json!(fork.join.as_str());
                value["branches"] =
                    fork.branches.iter().map(|branch| branch_value(rules, workflow, gate, branch)).collect();
            }
            value
        })
        .collect();
    json!({
        "name": workflow.name.as_str(),
        "description": workflow.description,
        "default": workflow.name == rules.project.default_workflow,
        "defaultOutcome": workflow.default_outcome.as_str(),
        "rejectionStrategy": workflow.rejection.as_str(),
        "hash": rules.hash(&workflow.name),
        "gates": gates,
    })
}

fn branch_value(rules: &Rules, workflow: &Workflow, fork: &Gate, branch: &Branch) -> Value {
    let post = Workplace::at_branch(fork, branch);
    let outcomes = post.outcomes(rules);
    let verdicts: serde_json::Map<String, Value> = outcomes
        .iter()
        .map(|outcome| (outcome.to_string(), json!(branch.verdict(outcome).as_str())))
        .collect();
    let duty = branch.duty();
    json!({
        "id": branch.id().as_str(),
        "role": duty.role.as_str(),
        "description": branch.gate().description,
        "when": branch.gate().when,
        "canSkip": duty.can_skip,
        "requireHuman": post.requires_human(rules),
        "timeout": Limits::of(workflow, duty).timeout.map(|period| period.to_string()),
        "escalateTo": duty.escalate_to.as_ref().map(RoleId::as_str),
        "outcomes": verdicts,
        "reads": reads(duty),
        "handsOn": duty.outputs.names(),
    })
}
