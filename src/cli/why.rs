//! `aof why`

use std::process::ExitCode;

use super::output::{CYAN, styled};
use super::page::{Page, branches, place, status, turn, warn_of_visit};
use super::session::Session;
use super::trouble::Trouble;
use crate::engine::Rules;
use crate::format::task_file::Origin;
use crate::model::{Destination, GateId, Outcome, Status, Ticket, Timestamp, Verdict, listed};
use crate::ops::{Consequence, Effect, NEW, Reason, reason_value, why};

/// Tell why a task stands where it stands, who can move it, and what each outcome would do
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    ticket: Ticket,
}

pub(super) fn run(session: &Session, args: &Args) -> Result<ExitCode, Trouble> {
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
            page.list([format!("a person, with `aof task reopen {} --to GATE --reason TEXT`", task.id)]);
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
    if task.status == Status::Blocked {
        page.list([format!("a person, who sets it going again with `aof task unblock {}`", task.id)]);
    }
    if !reason.consequences.is_empty() {
        page.head("What each outcome would do");
        let name = |one: &Consequence| {
            let branch = one.branch.as_ref().map(|branch| format!("{branch}: ")).unwrap_or_default();
            format!("{branch}{}", one.outcome)
        };
        let facts: Vec<(String, String)> =
            reason.consequences.iter().map(|one| (name(one), effect(rules, one, reason))).collect();
        page.facts(&facts.iter().map(|(name, effect)| (name.as_str(), effect.clone())).collect::<Vec<_>>());
    }
    page.into_text()
}

fn effect(rules: &Rules, consequence: &Consequence, reason: &Reason) -> String {
    let passage = match &consequence.effect {
        Effect::Leads(passage) => passage,
        Effect::Holds if consequence.outcome == Outcome::Blocked => {
            return "holds it here until a person unblocks it".to_owned();
        }
        Effect::Holds => return "leaves it here for a person to decide".to_owned(),
        Effect::Speaks(verdict) => return spoken(*verdict).to_owned(),
    };
    let skipped = match &passage.skipped[..] {
        [] => String::new(),
        gates => format!(", passing over {}", listed(gates)),
    };
    match (&passage.to, &consequence.outcome) {
        (Destination::End, _) => format!("ends the task{skipped}"),
        (Destination::Cancelled, _) => "calls the task off".to_owned(),
        (Destination::Fail, _) => "ends the task as failed".to_owned(),
        // A branch that passes may be the last one of a fork that fails.
        (Destination::Gate(gate), outcome)
            if *outcome == Outcome::NeedsReview || (consequence.branch.is_some() && passage.retry.is_some()) =>
        {
            format!("sends it back to {}{}", styled(CYAN, gate), of_role(rules, reason, gate))
        }
        (Destination::Gate(gate), _) => {
            format!("leads to {}{}{skipped}", styled(CYAN, gate), of_role(rules, reason, gate))
        }
    }
}

fn spoken(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "passes it for this branch; others are open",
        Verdict::Reject => "is heard when the other branches have spoken",
        Verdict::Hold => "holds this branch until a person unblocks it",
        Verdict::Skip => "leaves this branch out; others are open",
    }
}

fn of_role(rules: &Rules, reason: &Reason, gate: &GateId) -> String {
    let found = rules.workflow_of(&reason.file.task).and_then(|workflow| workflow.gate(gate));
    found.and_then(|(_, gate)| gate.role()).map(|role| format!(" (role {role})")).unwrap_or_default()
}
