//! `aof workflow show`

use std::process::ExitCode;

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::cli::length::length;
use crate::cli::output::{BOLD, CYAN, DIM, styled};
use crate::cli::session::Session;
use crate::cli::table::one_line;
use crate::cli::trouble::Trouble;
use crate::engine::{Post, Rules};
use crate::model::{
    AgentId, Branch, Duty, Exhausted, Gate, GateId, JoinStrategy, OnConditionError, Outcome, RejectionStrategy, RoleId,
    Target, Verdict, Workflow, WorkflowName,
};

/// Show a workflow's gates in order, and where each outcome leads
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The workflow; the project's default if none is named
    name: Option<WorkflowName>,
}

pub(super) fn run(session: &Session, args: &Args) -> Result<ExitCode, Trouble> {
    let workspace = session.workspace("workflow show")?;
    let in_force = session.rules(&workspace)?;
    let rules = &in_force.rules;
    let name = args.name.as_ref().unwrap_or(&rules.project.default_workflow);
    let Some(workflow) = rules.project.workflow(name) else {
        let known = rules.project.workflows.iter().map(|workflow| workflow.name.to_string()).collect();
        return Err(Trouble::Unknown { kind: "workflow", given: name.to_string(), known });
    };
    if session.output.is_json() {
        session.output.data(value(rules, workflow));
    } else {
        session.output.print(&graph(rules, workflow));
    }
    Ok(ExitCode::SUCCESS)
}

fn graph(rules: &Rules, workflow: &Workflow) -> String {
    let mut text = styled(BOLD, &workflow.name);
    if let Some(description) = &workflow.description {
        text.push_str(&format!("  {}", one_line(description)));
    }
    text.push_str("\n\n");
    let widest = workflow.gates.iter().map(|gate| gate.id.as_str().width()).max().unwrap_or(0);
    for (index, gate) in workflow.gates.iter().enumerate() {
        let space = " ".repeat(widest - gate.id.as_str().width());
        text.push_str(&format!("○  {}{space}  {}\n", styled(CYAN, &gate.id), staff(rules, gate)));
        for note in notes(workflow, index, gate) {
            text.push_str(&format!("│  {:widest$}  {}\n", "", styled(DIM, note)));
        }
        for branch in gate.fork().map(|fork| fork.branches.as_slice()).unwrap_or_default() {
            let staff = post_staff(rules, &Post::at_branch(gate, branch));
            text.push_str(&format!("├  {:widest$}  {}  {staff}\n", "", styled(CYAN, branch.id())));
            for note in branch_notes(branch) {
                text.push_str(&format!("│  {:widest$}    {}\n", "", styled(DIM, note)));
            }
        }
        text.push_str("│\n");
    }
    text.push_str("●  end\n");
    text
}

fn staff(rules: &Rules, gate: &Gate) -> String {
    if let Some(fork) = gate.fork() {
        let how = match fork.join {
            JoinStrategy::All => "all of them pass",
            JoinStrategy::Any => "one of them passes",
            JoinStrategy::Majority => "most of them pass",
        };
        return format!("{} branches at once, until {how}", fork.branches.len());
    }
    match Post::at(gate) {
        Some(post) => post_staff(rules, &post),
        None => "decides by itself".to_owned(),
    }
}

fn post_staff(rules: &Rules, post: &Post<'_>) -> String {
    let human = post.requires_human(rules);
    let members = rules.org.role(post.role).map(|role| role.agents.as_slice()).unwrap_or_default();
    let names: Vec<&str> = members.iter().filter(|agent| !human || agent.is_human()).map(AgentId::as_str).collect();
    let people = if human { ", people only" } else { "" };
    match &names[..] {
        _ if rules.is_open(post.role) => "any agent".to_owned(),
        [] => format!("{} (nobody{people})", post.role),
        names => format!("{} ({}{people})", post.role, names.join(", ")),
    }
}

fn notes(workflow: &Workflow, index: usize, gate: &Gate) -> Vec<String> {
    let mut notes: Vec<String> = gate.description.iter().map(|text| one_line(text)).collect();
    if let Some(when) = &gate.when {
        let otherwise = match gate.on_condition_error {
            OnConditionError::Skip => "",
            OnConditionError::Enter => " (also if that cannot be told)",
        };
        notes.push(format!("when {}{otherwise}", one_line(when)));
    }
    if gate.can_reject() && gate.exits.route(&Outcome::NeedsReview).is_none() {
        notes.push(format!("needs_review -> {}", rejection(workflow, index, gate)));
    }
    for (outcome, route) in gate.exits.written() {
        notes.push(format!("{outcome} -> {}", route.to));
    }
    if let Some(times) = gate.exits.retries().filter(|_| leads_back(workflow, index, gate)) {
        let times = if times == 1 { "once".to_owned() } else { format!("{times} times") };
        notes.push(format!("sends back {times} at most, then {}", exhausted(&gate.exits.on_exhausted)));
    }
    if gate.detour {
        notes.push("entered only by a route, and left to where the task came from".to_owned());
    }
    notes.extend(gate.duty().into_iter().flat_map(duty_notes));
    notes
}

fn duty_notes(duty: &Duty) -> Vec<String> {
    let mut notes = Vec::new();
    if !duty.separate_from.is_empty() {
        let gates: Vec<&str> = duty.separate_from.iter().map(GateId::as_str).collect();
        notes.push(format!("not for the {} that worked at {}", duty.separate_by, gates.join(", ")));
    }
    if duty.can_skip {
        notes.push("skip: its agent may say that it does not apply".to_owned());
    }
    if let Some(timeout) = duty.timeout {
        let then = duty.escalate_to.as_ref().map(|role| format!(", then {role}")).unwrap_or_default();
        notes.push(format!("timeout {}{then}", length(timeout.seconds())));
    }
    notes
}

fn branch_notes(branch: &Branch) -> Vec<String> {
    let gate = branch.gate();
    let mut notes: Vec<String> = gate.description.iter().map(|text| one_line(text)).collect();
    notes.extend(gate.when.iter().map(|when| format!("when {}", one_line(when))));
    let written = gate.exits.routes.iter().map(|(outcome, _)| outcome);
    let rejects = [Outcome::NeedsReview];
    let rejects = rejects.iter().filter(|outcome| gate.can_reject() && gate.exits.route(outcome).is_none());
    for outcome in written.chain(rejects) {
        notes.push(match branch.verdict(outcome) {
            Verdict::Pass => format!("{outcome} passes"),
            Verdict::Reject => format!("{outcome} rejects"),
            Verdict::Hold => format!("{outcome} waits"),
            Verdict::Skip => format!("{outcome}: it does not apply"),
        });
    }
    notes.extend(duty_notes(branch.duty()));
    notes
}

/// Returns whether a route of the gate leads back.
fn leads_back(workflow: &Workflow, index: usize, gate: &Gate) -> bool {
    let back = |to: &GateId| workflow.gate(to).is_some_and(|(place, to)| place <= index || to.detour);
    gate.can_reject()
        || gate.exits.written().any(|(_, route)| match &route.to {
            Target::Gate(to) => back(to),
            Target::Origin | Target::Previous => true,
            _ => false,
        })
}

fn exhausted(then: &Exhausted) -> String {
    match then {
        Exhausted::Block => "waits for a person".to_owned(),
        Exhausted::Escalate(role) => format!("the work is {role}'s"),
        Exhausted::Route(target) => target.to_string(),
    }
}

/// Says where a rejection leads: the gates that it may be, the likeliest first.
fn rejection(workflow: &Workflow, index: usize, gate: &Gate) -> String {
    if workflow.holds_rejections {
        return "stays here for a person to decide".to_owned();
    }
    match (workflow.rejection, &gate.exits.reject_to) {
        (RejectionStrategy::Named, Some(to)) => to.to_string(),
        (RejectionStrategy::Previous, _) if index > 0 => "the gate before it that was visited last".to_owned(),
        _ => origins(&workflow.gates[..index]).unwrap_or_else(|| workflow.gates[0].id.to_string()),
    }
}

/// Returns the first gate that always applies, and those before it that may.
fn origins(before: &[Gate]) -> Option<String> {
    let certain = before.iter().position(|gate| gate.when.is_none());
    let names: Vec<&str> =
        before[..certain.map_or(before.len(), |index| index + 1)].iter().map(|gate| gate.id.as_str()).collect();
    (!names.is_empty()).then(|| names.join(", else "))
}

fn value(rules: &Rules, workflow: &Workflow) -> Value {
    let gates: Vec<Value> = workflow
        .gates
        .iter()
        .map(|gate| {
            let post = Post::at(gate);
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
                "timeout": duty.and_then(|duty| duty.timeout).map(|period| period.to_string()),
                "escalateTo": duty.and_then(|duty| duty.escalate_to.as_ref()).map(RoleId::as_str),
                "outcomes": outcomes,
            });
            if let Some(fork) = gate.fork() {
                value["joinStrategy"] = json!(fork.join.as_str());
                value["branches"] = fork.branches.iter().map(|branch| branch_value(rules, gate, branch)).collect();
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

fn branch_value(rules: &Rules, fork: &Gate, branch: &Branch) -> Value {
    let post = Post::at_branch(fork, branch);
    let outcomes = post.outcomes(rules);
    let verdicts: serde_json::Map<String, Value> =
        outcomes.iter().map(|outcome| (outcome.to_string(), json!(branch.verdict(outcome).as_str()))).collect();
    let duty = branch.duty();
    json!({
        "id": branch.id().as_str(),
        "role": duty.role.as_str(),
        "description": branch.gate().description,
        "when": branch.gate().when,
        "canSkip": duty.can_skip,
        "requireHuman": post.requires_human(rules),
        "timeout": duty.timeout.map(|period| period.to_string()),
        "escalateTo": duty.escalate_to.as_ref().map(RoleId::as_str),
        "outcomes": verdicts,
    })
}
