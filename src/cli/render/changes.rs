//! Shows automatic changes: time limits, expired claims, dependencies, assigned work, new rules; and unreadable files.

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::{Session, between, counted, cyan, green, merged, now, red};
use crate::dispatch::hand_out::{DependencyChange, WorkAssignment};
use crate::dispatch::sweep::SweepResult;
use crate::domain::{AgentId, Blocker, Ending, OpenBranch, Severity, Task, Visit};
use crate::files::diagnostic::{ColorMode, Diagnostic, render_all};
use crate::files::printable::inert;
use crate::history::sync::outcome::Loss;
use crate::project::error::reason_of;
use crate::tasks::headers::listing::{Unreadable, unreadable_value};
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::state::commit_message::{RuleEffect, rule_effect};
use crate::tasks::view::task_view::{ended_visits, step_of};

/// Returns the effect of new rules on a task.
pub(crate) fn rule_change_text(changed: &Changed) -> String {
    let task = &changed.after.task;
    let before = changed.before.as_ref().map_or(task, |file| &file.task);
    if task.history.len() > before.history.len() {
        return step_of(changed);
    }
    let RuleEffect { what, details, .. } = rule_effect(before, task);
    if details.is_empty() { what } else { format!("{what}: {}", details.join("; ")) }
}

/// Returns the effect of a time limit on a visit that took too long.
pub(crate) fn timeout_text(changed: &Changed) -> String {
    let task = &changed.after.task;
    let Some(visit) = timeout(changed) else {
        let place = place_text(task, overdue_branch(changed));
        return format!("is overdue at {place}, and goes on: the gate has no `escalateTo`");
    };
    let holder = visit.agent.as_ref();
    let holder = holder.map(|agent| format!(", which {agent} had")).unwrap_or_default();
    let role = visit.escalated_to.as_ref();
    let role = role.map(|role| format!("; it is {role}'s now")).unwrap_or_default();
    let blocked = match &task.blockers[..] {
        [] => String::new(),
        blockers => format!(", and blocked: {}", Blocker::joined(blockers)),
    };
    format!("timed out at {}{holder}{role}{blocked}", visit.station())
}

/// Returns the effect of an expired claim.
pub(crate) fn expired_claim_text(changed: &Changed) -> String {
    let holder = former_holder(changed).map(|agent| format!(" of {agent}")).unwrap_or_default();
    let place = place_text(&changed.after.task, expired_claim_branch(changed));
    format!("the claim{holder} ran out at {place}; it is free again")
}

/// Returns a sentence about a task that its dependencies blocked or unblocked.
pub(crate) fn dependency_text(dependent: &DependencyChange) -> String {
    if dependent.lost.is_empty() {
        return "unblocked: its dependencies are no longer lost".to_owned();
    }
    let lost: Vec<String> = dependent.lost.iter().map(ToString::to_string).collect();
    format!("blocked: {}", lost.join("; "))
}

/// Returns a change that a time limit made as JSON; `event` is `timeout` or `lapsed`.
pub(crate) fn time_limit_value(event: &str, changed: &Changed) -> Value {
    let task = &changed.after.task;
    let visit = timeout(changed);
    let branch = match (event, visit) {
        ("lapsed", _) => expired_claim_branch(changed).map(|branch| branch.id.clone()),
        (_, Some(visit)) => visit.branch.clone(),
        (_, None) => overdue_branch(changed).map(|branch| branch.id.clone()),
    };
    json!({
        "event": event,
        "task": task.id,
        "gate": task.gate.as_ref().map(|open| &open.current),
        "branch": branch,
        "agent": visit.and_then(|visit| visit.agent.as_ref()).or_else(|| former_holder(changed)),
        "escalatedTo": visit.and_then(|visit| visit.escalated_to.as_ref()),
        "status": task.status,
        "path": changed.path,
        "commit": changed.commit,
    })
}

/// Returns work that was handed to an agent, as JSON.
pub(crate) fn assignment_value(given: &WorkAssignment) -> Value {
    let change = change_value("claimed", given.ticket.task.as_str(), given.changed.as_deref());
    merged(change, json!({"ticket": given.ticket, "agent": given.agent}))
}

/// Returns a task that its dependencies blocked or unblocked, as JSON.
pub(crate) fn dependency_value(dependent: &DependencyChange) -> Value {
    let event = if dependent.lost.is_empty() { "unblocked" } else { "blocked" };
    let lost: Vec<String> = dependent.lost.iter().map(ToString::to_string).collect();
    let change = change_value(event, dependent.task.as_str(), dependent.changed.as_deref());
    merged(change, json!({"blockers": lost}))
}

/// Returns a task's place after a change as JSON; what is unknown in a dry run is null.
pub(crate) fn change_value(event: &str, task: &str, changed: Option<&Changed>) -> Value {
    let after = changed.map(|changed| &changed.after.task);
    json!({
        "event": event,
        "task": task,
        "gate": after.and_then(|task| task.gate.as_ref()).map(|open| &open.current),
        "status": after.map(|task| task.status),
        "path": changed.map(|changed| &changed.path),
        "commit": changed.and_then(|changed| changed.commit),
    })
}

fn timeout(changed: &Changed) -> Option<&Visit> {
    ended_visits(changed).iter().find(|visit| visit.outcome == Ending::Timeout)
}

/// Returns the agent whose claim the change ended.
fn former_holder(changed: &Changed) -> Option<&AgentId> {
    expired_claim_branch(changed)
        .map_or(changed.after.task.routing.lost.as_ref(), |branch| branch.lost.as_ref())
}

fn expired_claim_branch(changed: &Changed) -> Option<&OpenBranch> {
    new_branch(changed, |branch| branch.lost.is_some() && branch.agent.is_none())
}

fn overdue_branch(changed: &Changed) -> Option<&OpenBranch> {
    new_branch(changed, |branch| branch.overdue_since().is_some())
}

/// Returns the branch for which `is` has become true by the change.
fn new_branch(changed: &Changed, is: impl Fn(&OpenBranch) -> bool) -> Option<&OpenBranch> {
    let before = changed.before.as_ref().and_then(|file| file.task.gate.as_ref());
    let was = |part: &OpenBranch| before.and_then(|open| open.branch(&part.id)).is_some_and(&is);
    changed.after.task.gate.iter().flat_map(|open| &open.branches).find(|one| is(one) && !was(one))
}

fn place_text(task: &Task, branch: Option<&OpenBranch>) -> String {
    let gate = task.gate.as_ref().map(|open| open.current.to_string()).unwrap_or_default();
    branch.map_or(gate.clone(), |part| format!("{gate}/{}", part.id))
}

/// The exit code for invalid rules, and for lists that leave out unreadable files.
pub(crate) const INVALID: u8 = 6;
/// The number of unreadable files that are named without `-v`.
const FEW: usize = 20;

/// Shows the diagnostics of rules, or that the rules are valid, and returns the exit code.
pub(crate) fn show_diagnostics(
    session: &Session,
    diagnostics: &[Diagnostic],
    valid: &str,
) -> ExitCode {
    let count =
        |severity| diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
    let errors = count(Severity::Error);
    if session.output.is_json() {
        session
            .output
            .data(json!({"valid": errors == 0, "diagnostics": diagnostic_values(diagnostics)}));
    } else {
        if !diagnostics.is_empty() {
            session.output.print(&format!("{}\n", render_all(diagnostics, ColorMode::Colored)));
        }
        let counts = [
            (errors, "error"),
            (count(Severity::Warning), "warning"),
            (count(Severity::Note), "note"),
        ];
        let counts: Vec<String> = counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| counted(count, word))
            .collect();
        let counts = counts.join(", ");
        session.output.line(match (errors, diagnostics) {
            (0, []) => format!("{}: {valid}", green("valid")),
            (0, _) => format!("{}: {valid} ({counts})", green("valid")),
            _ => format!("{}: {counts}", red("invalid")),
        });
    }
    if errors == 0 { ExitCode::SUCCESS } else { ExitCode::from(INVALID) }
}

/// Returns diagnostics as `--json` shows them.
pub(crate) fn diagnostic_values(diagnostics: &[Diagnostic]) -> Value {
    diagnostics.iter().map(Diagnostic::to_value).collect()
}

/// Returns unreadable files as `--json` shows them.
pub(crate) fn unreadable_values(files: &[Unreadable]) -> Value {
    files.iter().map(unreadable_value).collect()
}

/// Prints the unreadable files with the reasons, and returns the exit code.
pub(crate) fn tell_unreadable(session: &Session, files: &[Unreadable]) -> ExitCode {
    let output = session.output;
    let shown = if session.verbose { files.len() } else { files.len().min(FEW) };
    for file in &files[..shown] {
        if session.verbose && !file.diagnostics.is_empty() {
            output.say_diagnostics(&file.diagnostics);
            continue;
        }
        let is_task_file = Path::new(&file.path).extension().is_some_and(|end| end == "md");
        let as_task = if is_task_file { " as a task" } else { "" };
        let (error, place) = (red("error:"), inert(&file.place()));
        output.say(format!("{error} `{place}` cannot be read{as_task}: {}", inert(&file.reason)));
    }
    if shown < files.len() {
        output.say(format!("... and {} more", files.len() - shown));
    }
    if files.is_empty() {
        return ExitCode::SUCCESS;
    }
    if !session.verbose && files.iter().any(|file| !file.diagnostics.is_empty()) {
        output.say("`-v` shows all of them, with details");
    }
    ExitCode::from(INVALID)
}

pub(crate) fn show_sweep(session: &Session, swept: &SweepResult, mode: DryRun) {
    let output = session.output;
    let remark = if mode == DryRun::Yes { " (dry run: nothing was written)" } else { "" };
    let line = |id: &dyn Display, text: &str| {
        output.line(format!("{}: {}{remark}", cyan(id), inert(text)));
    };
    let of = |changed: &Changed, text: String| line(&changed.after.task.id, &text);
    let SweepResult { recurred, settled, ran_out, handed_out, superseded } = swept;
    for changed in recurred {
        of(changed, "created".to_owned());
    }
    settled.changed.iter().for_each(|changed| of(changed, rule_change_text(changed)));
    ran_out.timed_out.iter().for_each(|changed| of(changed, timeout_text(changed)));
    ran_out.lapsed.iter().for_each(|changed| of(changed, expired_claim_text(changed)));
    handed_out.dependents.iter().for_each(|change| line(&change.task, &dependency_text(change)));
    for loss in superseded {
        let why = "superseded, because the remote had another one first";
        line(&loss.task, &format!("{why}: {}", loss.what));
    }
    for given in &handed_out.given {
        line(&given.ticket, &format!("given to {}", given.agent));
    }
    if swept.is_idle() && swept.is_confirmed() {
        output.line("nothing is due");
    }
    if handed_out.left > 0 {
        let places = match handed_out.left {
            1 => "1 piece of work waits".to_owned(),
            left => format!("{left} pieces of work wait"),
        };
        output.line(format!("{places}: no agent has room for it, or may claim it"));
    }
    if let Some(next) = ran_out.next {
        let text = format!("the next time limit ends in {}, at {next}", between(now(), next));
        output.line(session.with_times(&text));
    }
}

pub(crate) fn sweep_value(swept: &SweepResult) -> Value {
    let SweepResult { recurred, settled, ran_out, handed_out, superseded } = swept;
    let loss = |loss: &Loss| json!({"task": loss.task.as_str(), "what": loss.what});
    let timed_out = ran_out.timed_out.iter().map(|changed| time_limit_value("timeout", changed));
    let lapsed = ran_out.lapsed.iter().map(|changed| time_limit_value("lapsed", changed));
    let task = |changed: &Changed| json!({"task": changed.after.task.id, "change": rule_change_text(changed)});
    let failures =
        swept.failures().map(|(task, error)| json!({"task": task, "reason": reason_of(error)}));
    json!({
        "recurred": recurred.iter().map(|changed| json!({"task": changed.after.task.id})).collect::<Vec<_>>(),
        "followed": settled.changed.iter().map(task).collect::<Vec<_>>(),
        "ranOut": timed_out.chain(lapsed).collect::<Vec<_>>(),
        "next": ran_out.next.map(|next| next.to_string()),
        "dependents": handed_out.dependents.iter().map(dependency_value).collect::<Vec<_>>(),
        "given": handed_out.given.iter().map(assignment_value).collect::<Vec<_>>(),
        "superseded": superseded.iter().map(loss).collect::<Vec<_>>(),
        "handsOut": handed_out.hands_out,
        "left": handed_out.left,
        "unconfirmed": handed_out.unconfirmed.as_ref().map(reason_of),
        "troubled": failures.collect::<Vec<_>>(),
        "unreadable": unreadable_values(&ran_out.unreadable),
    })
}
