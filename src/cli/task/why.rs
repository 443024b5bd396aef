//! `aof why`

use std::process::ExitCode;

use crate::cli::error::CliError;
use crate::cli::render::output::{CYAN, styled};
use crate::cli::render::page::{Page, branches, place, status, turn, warn_of_visit};
use crate::cli::session::Session;
use crate::domain::{
    Destination, GateId, GateKind, LostDependency, Outcome, Status, Ticket, Timestamp, Verdict,
    listed,
};
use crate::files::task_file::Origin;
use crate::rules::{Passage, Rules, TooOften, is_looping, lost_dependencies};
use crate::tasks::headers::header::NEW;
use crate::tasks::view::why::{Consequence, Effect, Reason, reason_value, why};

/// Tell why a task stands where it stands, who can move it, and what each outcome would do
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    ticket: Ticket,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("why")?;
    let (reason, in_force) = why(&workspace, &args.ticket.task)?;
    session.warn_of_rules(&in_force);
    warn_of_visit(session, &args.ticket, &reason.file.task);
    if session.output.is_json() {
        session.output.data(reason_value(&reason));
    } else {
        session.output.print(&page(&in_force.rules, &reason, workspace.now()));
    }
    Ok(ExitCode::SUCCESS)
}

fn page(rules: &Rules, reason: &Reason, now: Timestamp) -> String {
    let task = &reason.file.task;
    let mut page = Page::of(task);
    let mut facts = vec![match reason.file.origin {
        Origin::HandMade => ("status", NEW.to_owned()),
        Origin::Adopted => ("status", status(task)),
    }];
    facts.extend(place(task, now).map(|place| ("gate", place)));
    page.facts(&facts);
    page.head("Because");
    page.list(&reason.because);
    if task.gate.is_none() {
        if task.status.is_finished() {
            page.head("Who can move it");
            page.list([format!(
                "a person, with `aof task reopen {} --to GATE --reason TEXT`",
                task.id
            )]);
        }
        return page.into_text();
    }
    page.head("Who can move it");
    let open = branches(rules, task);
    if open.is_empty() {
        page.list([turn(rules, &reason.file)]);
    } else {
        page.list(open.iter().map(|(id, turn)| format!("{id}: {turn}")));
    }
    if let Some(lost) = lost_dependencies(task).first().map(LostDependency::task) {
        page.list([format!(
            "a person, who takes {lost} up again (`aof task reopen`) or leaves it out: `aof task edit {} --undepends {lost}`",
            task.id
        )]);
    } else if task.status == Status::Blocked {
        let reason = if is_looping(rules, task) { " --reason \"...\"" } else { "" };
        page.list([format!(
            "a person, who sets it going again with `aof task unblock {}{reason}`",
            task.id
        )]);
    }
    if !reason.consequences.is_empty() {
        page.head("What each outcome would do");
        let name = |one: &Consequence| {
            let branch =
                one.branch.as_ref().map(|branch| format!("{branch}: ")).unwrap_or_default();
            format!("{branch}{}", one.outcome)
        };
        let facts: Vec<(String, String)> =
            reason.consequences.iter().map(|one| (name(one), effect(rules, one, reason))).collect();
        page.facts(
            &facts.iter().map(|(name, effect)| (name.as_str(), effect.clone())).collect::<Vec<_>>(),
        );
    }
    page.into_text()
}

/// Says what an outcome would do.
fn effect(rules: &Rules, consequence: &Consequence, reason: &Reason) -> String {
    let (passage, limit, answers) = match &consequence.effect {
        Effect::Leads { passage, limit, answers } => (passage, *limit, *answers),
        Effect::Holds if consequence.outcome == Outcome::Blocked => {
            return "holds it here until a person unblocks it".to_owned();
        }
        Effect::Holds => return "leaves it here for a person to decide".to_owned(),
        Effect::Speaks(verdict) => return spoken(*verdict).to_owned(),
    };
    let mut text = match (&passage.exhausted, &passage.to) {
        (Some(often), _) => too_often(rules, passage, often, reason),
        (None, Destination::Gate(gate)) if answers && passage.retry.is_none() => {
            format!("leads to {}, which waits for an answer", place_of(rules, reason, gate))
        }
        (None, Destination::Gate(gate)) => {
            going(rules, passage.retry.map(|count| (count, limit)), gate, reason)
        }
        (None, Destination::End) => "ends the task".to_owned(),
        (None, Destination::Cancelled) => "calls the task off".to_owned(),
        (None, Destination::Fail) => "ends the task as failed".to_owned(),
    };
    if !passage.skipped.is_empty() {
        text.push_str(&format!(", passing over {}", listed(&passage.skipped)));
    }
    if !passage.cleared.is_empty() {
        text.push_str(&format!(", and forgets what {} handed on", listed(&passage.cleared)));
    }
    text
}

/// Says where a way leads that can be gone; `back` is the how-manieth way back it would be, and of how many.
fn going(rules: &Rules, back: Option<(u32, u32)>, gate: &GateId, reason: &Reason) -> String {
    let place = place_of(rules, reason, gate);
    let found = rules
        .workflow_of(&reason.file.task)
        .and_then(|workflow| workflow.gate(gate))
        .map(|(_, gate)| gate);
    let Some((count, limit)) = back else {
        let alone = found.is_some_and(|gate| gate.kind == GateKind::Condition);
        return format!("leads to {place}{}", if alone { ", which decides by itself" } else { "" });
    };
    let time = format!("the {} time of {limit}", ordinal(count));
    if reason.file.task.gate.as_ref().is_some_and(|open| open.current == *gate) {
        return format!("tries again here, {time}");
    }
    if found.is_some_and(|gate| gate.detour) {
        return format!("sends it to {place}, {time}; from there it comes back here");
    }
    format!("sends it back to {place}, {time}")
}

fn spoken(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "passes it for this branch; others are open",
        Verdict::Reject => "is heard when the other branches have spoken",
        Verdict::Hold => "holds this branch until a person unblocks it",
        Verdict::Skip => "leaves this branch out; others are open",
    }
}

/// Says what happens in place of a way back that was gone too often.
fn too_often(rules: &Rules, passage: &Passage, often: &TooOften, reason: &Reason) -> String {
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
            format!("it goes to {} instead", place_of(rules, reason, gate))
        }
        (None, Destination::Cancelled) => "the task is called off".to_owned(),
        (None, Destination::Fail) => "the task fails".to_owned(),
        (None, Destination::End) => "the task ends".to_owned(),
    };
    format!(
        "would be the {} way back to {}; {allowed}: {then}",
        ordinal(often.count),
        styled(CYAN, &often.to)
    )
}

fn place_of(rules: &Rules, reason: &Reason, gate: &GateId) -> String {
    let found = rules.workflow_of(&reason.file.task).and_then(|workflow| workflow.gate(gate));
    let role = found
        .and_then(|(_, gate)| gate.role())
        .map(|role| format!(" (role {role})"))
        .unwrap_or_default();
    format!("{}{role}", styled(CYAN, gate))
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
    fn numbers_count_in_words() {
        let told: Vec<String> =
            [1, 2, 3, 4, 11, 12, 13, 21, 22, 101, 111].into_iter().map(super::ordinal).collect();
        assert_eq!(told.join(" "), "1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 101st 111th");
    }
}
