//! How a changed task is shown.

use crate::cli::render::output::{CYAN, GREEN, YELLOW, styled};
use crate::cli::session::Session;
use crate::domain::{Event, OpenBranch, Status};
use crate::files::printable::inert;
use crate::rules::Rules;
use crate::tasks::apply::change::{Changed, DryRun};
use crate::tasks::state::commit_message::{RuleEffect, rule_effect};
use crate::tasks::view::changed::{changed_value, way};
use crate::tasks::view::task_view::who;

/// Shows what was done to a task: one line of what, one of what is next.
pub(crate) fn changed(
    session: &Session,
    rules: &Rules,
    changed: &Changed,
    done: &str,
    dry_run: DryRun,
) {
    session.warn_all(&changed.warnings);
    if session.output.is_json() {
        session.output.data(changed_value(rules, changed, dry_run));
        return;
    }
    let would = match (dry_run, changed.settled) {
        (DryRun::Yes, _) => " (dry run: nothing was written)",
        (DryRun::No, true) => " (it was so already)",
        (DryRun::No, false) => "",
    };
    let id = styled(CYAN, &changed.after.task.id);
    session.output.line(format!("{id}: {}{would}", inert(done)));
    let now = if dry_run == DryRun::Yes { "it would be" } else { "now" };
    session.output.line(format!("  {now} {}", standing(rules, changed)));
    if session.verbose {
        let commit = changed
            .commit
            .map(|commit| format!(", commit {}", &commit.to_string()[..10]))
            .unwrap_or_default();
        session.output.line(format!("  {}{commit}", changed.path));
    }
}

/// Returns where the task stands now and whose turn it is.
fn standing(rules: &Rules, changed: &Changed) -> String {
    let task = &changed.after.task;
    let Some(open) = &task.gate else {
        let way = match task.status {
            Status::Complete => styled(GREEN, "complete"),
            status if !status.is_finished() => {
                return "adopted first: it was made by hand, and is at no gate yet".to_owned();
            }
            other => other.to_string(),
        };
        return format!("{way}; archived as {}", changed.path);
    };
    let gate = styled(CYAN, &open.current);
    let turn = match task.status {
        Status::Blocked => {
            format!("{}: {}", styled(YELLOW, "blocked"), inert(&task.blockers.join("; ")))
        }
        _ if !open.branches.is_empty() => {
            let waits = |branch: &&OpenBranch| branch.status.is_open();
            let who = |branch: &OpenBranch| {
                let whose = branch
                    .agent
                    .as_ref()
                    .map_or_else(|| branch.role.to_string(), ToString::to_string);
                format!("{} ({whose})", branch.id)
            };
            let list: Vec<String> = open.branches.iter().filter(waits).map(who).collect();
            format!("{} for {}", task.status.as_str().replace('_', " "), list.join(", "))
        }
        Status::InProgress => {
            let agent = task.routing.agent.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("in progress with {agent}")
        }
        _ => {
            let names: Vec<String> =
                who(rules, &changed.after).iter().map(ToString::to_string).collect();
            let anybody = task.routing.role.as_ref().is_some_and(|role| rules.is_open(role));
            let names = match names.is_empty() {
                true if anybody => "anybody".to_owned(),
                true => "nobody".to_owned(),
                false => names.join(" or "),
            };
            format!("ready for {names}")
        }
    };
    let skipped: Vec<String> = changed
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Skipped { gate } => Some(gate.to_string()),
            _ => None,
        })
        .collect();
    let skipped = if skipped.is_empty() {
        String::new()
    } else {
        format!(" (passed over: {})", skipped.join(", "))
    };
    format!("at {gate}, {turn}{skipped}")
}

/// Says what the rules, which have changed, did to a task.
pub(crate) fn followed(changed: &Changed) -> String {
    let task = &changed.after.task;
    let before = changed.before.as_ref().map_or(task, |file| &file.task);
    if let Some(visit) = task.history.get(before.history.len()) {
        return format!("{} ({})", way(changed), visit.outcome);
    }
    let RuleEffect { what, details, .. } = rule_effect(before, task);
    if details.is_empty() { what } else { format!("{what}: {}", details.join("; ")) }
}
