//! A workflow as text: its gates in order, what there is to know of each, and the ways back at the side.

use unicode_width::UnicodeWidthStr;

use super::rail::Rail;
use crate::cli::output::{BOLD, CYAN, DIM, YELLOW, styled};
use crate::cli::time::length;
use crate::domain::{
    AgentId, Branch, Duty, Exhausted, Fork, Gate, GateId, JoinStrategy, OnConditionError, Outcome,
    RejectionStrategy, Target, Verdict, Workflow,
};
use crate::files::printable::one_line;
use crate::observability::gate_report::GateRow;
use crate::rules::{Limits, Post, Rules, asked_for, edges, reads};

/// Returns the drawing; `rows` say what stands where, if that is to be seen.
pub(crate) fn draw(rules: &Rules, workflow: &Workflow, rows: &[GateRow]) -> String {
    let mut text = styled(BOLD, &workflow.name);
    if let Some(description) = &workflow.description {
        text.push_str(&format!("  {}", one_line(description)));
    }
    text.push_str("\n\n");
    let rail = Rail::of(workflow, &edges(workflow));
    let widest = workflow.gates.iter().map(|gate| gate.id.as_str().width()).max().unwrap_or(0);
    for (index, gate) in workflow.gates.iter().enumerate() {
        let space = " ".repeat(widest - gate.id.as_str().width());
        let standing =
            standing(workflow, gate, rows).map(|what| format!("  {}", styled(YELLOW, what)));
        text.push_str(&format!(
            "{}○  {}{space}  {}{}\n",
            rail.at(index),
            styled(CYAN, &gate.id),
            staff(rules, gate),
            standing.unwrap_or_default()
        ));
        for note in notes(workflow, index, gate) {
            text.push_str(&format!(
                "{}│  {:widest$}  {}\n",
                rail.after(index),
                "",
                styled(DIM, note)
            ));
        }
        for branch in gate.fork().map(|fork| fork.branches.as_slice()).unwrap_or_default() {
            let staff = post_staff(rules, &Post::at_branch(gate, branch));
            let name = styled(CYAN, branch.id());
            text.push_str(&format!("{}├  {:widest$}  {name}  {staff}\n", rail.after(index), ""));
            for note in branch_notes(workflow, branch) {
                text.push_str(&format!(
                    "{}│  {:widest$}    {}\n",
                    rail.after(index),
                    "",
                    styled(DIM, note)
                ));
            }
        }
        text.push_str(&format!("{}│\n", rail.after(index)));
    }
    text.push_str(&format!("{}●  end\n", rail.after(workflow.gates.len())));
    text
}

/// Returns how many tasks stand at the gate; nothing where none does.
pub(crate) fn standing(workflow: &Workflow, gate: &Gate, rows: &[GateRow]) -> Option<String> {
    let row = rows
        .iter()
        .find(|row| row.workflow == workflow.name.as_str() && row.gate == gate.id.as_str())?;
    let counts =
        [(row.waiting, "waiting"), (row.in_progress, "in progress"), (row.blocked, "blocked")];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (!counts.is_empty()).then(|| counts.join(", "))
}

fn staff(rules: &Rules, gate: &Gate) -> String {
    if let Some(fork) = gate.fork() {
        return joining(fork);
    }
    match Post::at(gate) {
        Some(post) => post_staff(rules, &post),
        None => "decides by itself".to_owned(),
    }
}

/// Returns what a fork waits for.
pub(crate) fn joining(fork: &Fork) -> String {
    let how = match fork.join {
        JoinStrategy::All => "all of them pass",
        JoinStrategy::Any => "one of them passes",
        JoinStrategy::Majority => "most of them pass",
    };
    format!("{} branches at once, until {how}", fork.branches.len())
}

fn post_staff(rules: &Rules, post: &Post<'_>) -> String {
    let human = post.requires_human(rules);
    let members = rules.org.role(post.role).map(|role| role.agents.as_slice()).unwrap_or_default();
    let names: Vec<&str> =
        members.iter().filter(|agent| !human || agent.is_human()).map(AgentId::as_str).collect();
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
        let told = route.prompt.as_deref().map(asked_for).unwrap_or_default();
        let told =
            if told.is_empty() { String::new() } else { format!(", telling {}", told.join(", ")) };
        notes.push(format!("{outcome} -> {}{told}", route.to));
    }
    if let Some(times) = gate.exits.retries().filter(|_| leads_back(workflow, index, gate)) {
        notes.push(format!(
            "sends back {} at most, then {}",
            counted(times),
            exhausted(&gate.exits.on_exhausted)
        ));
    }
    if gate.detour {
        let left = if gate.exits.decides() || gate.exits.route(&Outcome::Complete).is_some() {
            ""
        } else {
            ", and left to where the task came from"
        };
        notes.push(format!("entered only by a route{left}"));
    }
    notes.extend(gate.duty().into_iter().flat_map(|duty| duty_notes(workflow, duty)));
    notes
}

fn duty_notes(workflow: &Workflow, duty: &Duty) -> Vec<String> {
    let mut notes = keys(duty);
    if !duty.separate_from.is_empty() {
        let gates: Vec<&str> = duty.separate_from.iter().map(GateId::as_str).collect();
        notes.push(format!("not for the {} that worked at {}", duty.separate_by, gates.join(", ")));
    }
    if duty.can_skip {
        notes.push("skip: its agent may say that it does not apply".to_owned());
    }
    if let Some(timeout) = Limits::of(workflow, duty).timeout {
        let then =
            duty.escalate_to.as_ref().map(|role| format!(", then {role}")).unwrap_or_default();
        notes.push(format!("timeout {}{then}", length(timeout.seconds())));
    }
    notes
}

/// Returns which values a gate's texts ask for, and which its completions hand on.
pub(crate) fn keys(duty: &Duty) -> Vec<String> {
    let handed = duty.outputs.names().into_iter().map(str::to_owned).collect();
    let lists = [("reads", reads(duty)), ("hands on", handed)];
    let told = lists.iter().filter(|(_, names)| !names.is_empty());
    told.map(|(what, names)| format!("{what} {}", names.join(", "))).collect()
}

fn branch_notes(workflow: &Workflow, branch: &Branch) -> Vec<String> {
    let gate = branch.gate();
    let mut notes: Vec<String> = gate.description.iter().map(|text| one_line(text)).collect();
    notes.extend(gate.when.iter().map(|when| format!("when {}", one_line(when))));
    let written = gate.exits.routes.iter().map(|(outcome, _)| outcome);
    let rejects = [Outcome::NeedsReview];
    let rejects =
        rejects.iter().filter(|outcome| gate.can_reject() && gate.exits.route(outcome).is_none());
    for outcome in written.chain(rejects) {
        notes.push(match branch.verdict(outcome) {
            Verdict::Pass => format!("{outcome} passes"),
            Verdict::Reject => format!("{outcome} rejects"),
            Verdict::Hold => format!("{outcome} waits"),
            Verdict::Skip => format!("{outcome}: it does not apply"),
        });
    }
    notes.extend(duty_notes(workflow, branch.duty()));
    notes
}

/// Returns a number of times in words.
pub(crate) fn counted(times: u32) -> String {
    if times == 1 { "once".to_owned() } else { format!("{times} times") }
}

/// Returns whether a route of the gate leads back.
fn leads_back(workflow: &Workflow, index: usize, gate: &Gate) -> bool {
    let back =
        |to: &GateId| workflow.gate(to).is_some_and(|(place, to)| place <= index || to.detour);
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
        (RejectionStrategy::Previous, _) if index > 0 => {
            "the gate before it that was visited last".to_owned()
        }
        _ => origins(&workflow.gates[..index]).unwrap_or_else(|| workflow.gates[0].id.to_string()),
    }
}

/// Returns the first gate that always applies, and those before it that may.
fn origins(before: &[Gate]) -> Option<String> {
    let certain = before.iter().position(|gate| gate.when.is_none());
    let names: Vec<&str> = before[..certain.map_or(before.len(), |index| index + 1)]
        .iter()
        .map(|gate| gate.id.as_str())
        .collect();
    (!names.is_empty()).then(|| names.join(", else "))
}
