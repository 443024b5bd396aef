//! `aof why`

use std::process::ExitCode;

use crate::cli::render::page::{TaskPage, branches, place, status, turn, warn_of_visit};
use crate::cli::{CliResult, Session, cyan};
use crate::domain::{
    Destination, GateId, GateKind, LostDependency, Outcome, Status, Timestamp, TypedTask, Verdict,
    approving, listed, rejecting,
};
use crate::files::task_file::Origin;
use crate::rules::{Passage, Rules, TooOften, is_looping, lost_dependencies};
use crate::tasks::headers::lookup;
use crate::tasks::headers::summary::NEW;
use crate::tasks::view::phrases;
use crate::tasks::view::why::{
    OutcomeEffect, OutcomePreview, TaskExplanation, explanation_value, why,
};

#[derive(Debug, clap::Args)]
pub(crate) struct WhyArgs {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    task: TypedTask,
}

pub(crate) fn run(session: &Session, args: &WhyArgs) -> CliResult {
    let workspace = session.workspace("why")?;
    let ticket = lookup::ticket_to_read(&workspace, &args.task)?;
    let (explanation, in_force) = why(&workspace, &ticket.task)?;
    session.warn_of_rules(&in_force);
    warn_of_visit(session, &ticket, &explanation.file.task);
    session.output.show(
        || explanation_value(&explanation),
        || page(session, &in_force.rules, &explanation, workspace.now()),
    );
    Ok(ExitCode::SUCCESS)
}

fn page(session: &Session, rules: &Rules, explanation: &TaskExplanation, now: Timestamp) -> String {
    let task = &explanation.file.task;
    let mut page = TaskPage::new(task);
    let mut facts = vec![match explanation.file.origin {
        Origin::HandMade => ("status", NEW.to_owned()),
        Origin::Adopted => ("status", status(task, &explanation.awaited)),
    }];
    facts.extend(place(task, now).map(|place| ("gate", place)));
    page.facts(&facts);
    page.head("Because");
    page.list(explanation.reasons.iter().map(|reason| session.with_times(reason)));
    page.section("Who can move it", &movers(rules, explanation));
    if !explanation.outcomes.is_empty() && task.gate.is_some() {
        page.head("What each act would do");
        let fact = |one: &OutcomePreview| {
            let beside = explanation.outcomes.iter().filter(|other| other.branch == one.branch);
            let beside: Vec<Outcome> = beside.map(|other| other.outcome.clone()).collect();
            let rejected = rejecting(&beside);
            let approves = rejected.is_some() && approving(&beside) == Some(&one.outcome);
            let rejects = rejected == Some(&one.outcome);
            let act = phrases::act(one.outcome.as_str(), approves, rejects).to_lowercase();
            let branch = one.branch.as_ref().map(|branch| format!("{branch}: "));
            (format!("{}{act}", branch.unwrap_or_default()), effect(rules, one, explanation))
        };
        page.facts(&explanation.outcomes.iter().map(fact).collect::<Vec<_>>());
    }
    page.into_text()
}

fn movers(rules: &Rules, explanation: &TaskExplanation) -> Vec<String> {
    let task = &explanation.file.task;
    let id = &task.id;
    if task.gate.is_none() {
        let reopen = format!("a person, with `aof reopen {id} --to GATE --reason TEXT`");
        return Vec::from_iter(task.status.is_finished().then_some(reopen));
    }
    let mut movers: Vec<String> =
        branches(rules, task).iter().map(|(branch, turn)| format!("{branch}: {turn}")).collect();
    if movers.is_empty() {
        movers.push(turn(rules, &explanation.file));
    }
    if let Some(lost) = lost_dependencies(task).first().map(LostDependency::task) {
        movers.push(format!(
            "a person, who reopens {lost} (`aof reopen`) or removes it: `aof edit {id} --undepends {lost}`"
        ));
    } else if task.status == Status::Blocked {
        let reason = if is_looping(rules, task) { " --reason \"...\"" } else { "" };
        movers.push(format!("a person, who lets it go on with `aof unblock {id}{reason}`"));
    }
    movers
}

/// Returns the effect of an outcome.
fn effect(rules: &Rules, preview: &OutcomePreview, explanation: &TaskExplanation) -> String {
    let (passage, limit, answers) = match &preview.effect {
        OutcomeEffect::Moves { passage, limit, answers } => (passage, *limit, *answers),
        OutcomeEffect::Stays if preview.outcome == Outcome::Blocked => {
            return "holds it here until a person unblocks it".to_owned();
        }
        OutcomeEffect::Stays => return "leaves it here for a person to decide".to_owned(),
        OutcomeEffect::Votes(verdict) => {
            let effect = match verdict {
                Verdict::Pass => "passes it for this branch; others are open",
                Verdict::Reject => "counts when the other branches have decided",
                Verdict::Hold => "holds this branch until a person unblocks it",
                Verdict::Skip => "leaves this branch out; others are open",
            };
            return effect.to_owned();
        }
    };
    let mut text = match (&passage.exhausted, &passage.to) {
        (Some(often), _) => too_often(rules, passage, often, explanation),
        (None, Destination::Gate(gate)) if answers && passage.retry.is_none() => {
            format!(
                "leads to {}, which waits for an answer",
                gate_of_role(rules, explanation, gate)
            )
        }
        (None, Destination::Gate(gate)) => {
            leads_to(rules, passage.retry.map(|count| (count, limit)), gate, explanation)
        }
        (None, Destination::End) => "ends the task".to_owned(),
        (None, Destination::Cancelled) => "cancels the task".to_owned(),
        (None, Destination::Fail) => "ends the task as failed".to_owned(),
    };
    if let Some(item) = passage.item {
        text.push_str(&format!(", for {item}"));
    }
    if let Some(round) = passage.round {
        text.push_str(&format!(", in round {round} unless `until` holds"));
    }
    text.push_str(&guards(rules, passage, explanation));
    if !passage.skipped.is_empty() {
        text.push_str(&format!(", passing over {}", listed(&passage.skipped)));
    }
    if !passage.cleared.is_empty() {
        text.push_str(&format!(", and forgets what {} handed on", listed(&passage.cleared)));
    }
    text
}

/// Returns the conditions for the task to leave its gate that way.
fn guards(rules: &Rules, passage: &Passage, explanation: &TaskExplanation) -> String {
    let task = &explanation.file.task;
    let open = task.gate.as_ref().map(|open| &open.current);
    let found = rules.workflow_of(task).zip(open).and_then(|(flow, open)| flow.gate(open));
    let Some((_, gate)) = found.filter(|_| passage.retry.is_none()) else { return String::new() };
    let checks = (!gate.check.is_empty())
        .then(|| format!(", once the checks pass: {}", listed(&gate.check)));
    let children =
        gate.wait_for.map(|_| ", once all children are complete or cancelled".to_owned());
    checks.into_iter().chain(children).collect()
}

/// Returns the effect of a route to a gate. `retry` has the number of this return, and the number of allowed ones.
fn leads_to(
    rules: &Rules,
    retry: Option<(u32, u32)>,
    gate: &GateId,
    explanation: &TaskExplanation,
) -> String {
    let place = gate_of_role(rules, explanation, gate);
    let found = rules.workflow_of(&explanation.file.task).and_then(|workflow| workflow.gate(gate));
    let found = found.map(|(_, gate)| gate);
    let Some((count, limit)) = retry else {
        let decides = found.is_some_and(|gate| gate.kind == GateKind::Condition);
        let decides = if decides { ", which decides by itself" } else { "" };
        return format!("leads to {place}{decides}");
    };
    let time = format!("the {} time of {limit}", ordinal(count));
    if explanation.file.task.gate.as_ref().is_some_and(|open| open.current == *gate) {
        return format!("tries again here, {time}");
    }
    if found.is_some_and(|gate| gate.detour) {
        return format!("sends it to {place}, {time}; from there it comes back here");
    }
    format!("sends it back to {place}, {time}")
}

/// Returns the effect that replaces a return that was taken too often.
fn too_often(
    rules: &Rules,
    passage: &Passage,
    often: &TooOften,
    explanation: &TaskExplanation,
) -> String {
    let allowed = match often.limit {
        0 => "none is allowed".to_owned(),
        1 => "one is allowed".to_owned(),
        limit => format!("{limit} are allowed"),
    };
    let then = match (&passage.escalated_to, &passage.to) {
        (Some(role), _) => format!("it goes there, and is for {role}"),
        (None, Destination::Gate(gate)) if *gate == often.to => {
            "it goes there and waits for a person".to_owned()
        }
        (None, Destination::Gate(gate)) => {
            format!("it goes to {} instead", gate_of_role(rules, explanation, gate))
        }
        (None, Destination::Cancelled) => "the task is cancelled".to_owned(),
        (None, Destination::Fail) => "the task fails".to_owned(),
        (None, Destination::End) => "the task ends".to_owned(),
    };
    let (count, to) = (ordinal(often.count), cyan(&often.to));
    format!("would be the {count} way back to {to}; {allowed}: {then}")
}

fn gate_of_role(rules: &Rules, explanation: &TaskExplanation, gate: &GateId) -> String {
    let found = rules.workflow_of(&explanation.file.task).and_then(|workflow| workflow.gate(gate));
    let role = found.and_then(|(_, gate)| gate.role()).map(|role| format!(" (role {role})"));
    format!("{}{}", cyan(gate), role.unwrap_or_default())
}

fn ordinal(number: u32) -> String {
    let suffix = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn ordinals_have_their_suffix() {
        let told: Vec<String> =
            [1, 2, 3, 4, 11, 12, 13, 21, 22, 101, 111].into_iter().map(super::ordinal).collect();
        assert_eq!(told.join(" "), "1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 101st 111th");
    }
}
