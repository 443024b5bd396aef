//! Reports of the watcher as JSON: a line each, for programs

use serde_json::{Value, json};

use super::text::polling;
use crate::cli::render::changes::{change_value, dependent_value, given_value, time_limit_value};
use crate::cli::render::findings::diagnostic_values;
use crate::cli::{Session, merged};
use crate::project::error::reason_of;
use crate::tasks::inbox::deliver::Delivered;
use crate::tasks::plan::Changed;
use crate::tasks::view::task_view::warnings_value;
use crate::watch::report::WatchReport;

/// Returns a report as JSON, its git commands written for where the person is.
pub(crate) fn report_value(session: &Session, report: &WatchReport) -> Value {
    let mut value = value(report);
    session.git_said_in(&mut value);
    if let Some(reason) = value.get_mut("reason") {
        session.git_said_in(reason);
    }
    value
}

fn value(report: &WatchReport) -> Value {
    match report {
        WatchReport::Watching { project, branch, sight } => {
            let (project, polling) = (project.display().to_string(), polling(sight));
            json!({"event": "watching", "project": project, "branch": branch, "polling": polling})
        }
        WatchReport::Serving { address, exposed } => {
            let url = format!("http://{address}/metrics");
            json!({"event": "serving", "url": url, "exposed": exposed})
        }
        WatchReport::Uncounted { problem } => json!({"event": "uncounted", "problem": problem}),
        WatchReport::EventSource(sight) => json!({"event": "sight", "polling": polling(sight)}),
        WatchReport::Delivered(delivered) => delivered_value(delivered),
        WatchReport::Adopted(changed) => {
            let warnings = warnings_value(&changed.warnings);
            merged(of_change("adopted", changed), json!({"warnings": warnings}))
        }
        WatchReport::Passed(changed) => of_change("passed", changed),
        WatchReport::TimedOut(changed) => time_limit_value("timeout", changed),
        WatchReport::Lapsed(changed) => time_limit_value("lapsed", changed),
        WatchReport::Followed(changed) => of_change("followed", changed),
        WatchReport::Moved(changed) => of_change("moved", changed),
        WatchReport::Committed(changed) => of_change("edited", changed),
        WatchReport::CaughtUp { files } => json!({"event": "index_caught_up", "files": files}),
        WatchReport::PutBack(put) => {
            json!({"event": "put_back", "tasks": put.tasks, "steps": put.steps})
        }
        WatchReport::TakenBack { problem, fix } => {
            json!({"event": "taken_back", "problem": problem, "fix": fix})
        }
        WatchReport::Given(given) => given_value(given),
        WatchReport::Dependent(dependent) => dependent_value(dependent),
        WatchReport::Troubled { task, error } => {
            json!({"event": "troubled", "task": task, "reason": reason_of(error)})
        }
        WatchReport::Stray { path, reason } => {
            json!({"event": "stray", "path": path, "reason": reason})
        }
        WatchReport::RulesInForce { commit } => {
            json!({"event": "rules_in_force", "commit": commit})
        }
        WatchReport::RulesInvalid { in_force, diagnostics } => json!({
            "event": "rules_invalid",
            "inForce": in_force,
            "diagnostics": diagnostic_values(diagnostics),
        }),
        WatchReport::RulesUncommitted { files } => {
            json!({"event": "rules_uncommitted", "files": files})
        }
        WatchReport::Undelivered { problem } => json!({"event": "undelivered", "problem": problem}),
        WatchReport::Unrecorded { problem } => json!({"event": "unrecorded", "problem": problem}),
        WatchReport::Synced(synced) => merged(synced.value(), json!({"event": "synced"})),
        WatchReport::Unsynced { problem, fix } => {
            json!({"event": "unsynced", "problem": problem, "fix": fix})
        }
        WatchReport::Paused { reason } => json!({"event": "paused", "message": reason}),
        WatchReport::Trouble(error) => json!({"event": "trouble", "reason": reason_of(error)}),
        WatchReport::Resumed => json!({"event": "resumed"}),
        WatchReport::Stopped => json!({"event": "stopped"}),
    }
}

fn delivered_value(delivered: &Delivered) -> Value {
    match delivered {
        Delivered::Completed { name, changed } => {
            let event = if changed.settled { "settled" } else { "completed" };
            let more = json!({"file": name, "warnings": warnings_value(&changed.warnings)});
            let mut value = merged(of_change(event, changed), more);
            if let Some(visit) = changed.after.task.history.last() {
                value["outcome"] = json!(visit.outcome);
                value["agent"] = json!(visit.agent);
                value["from"] = json!(visit.gate);
                value["completion"] = json!(visit.completion.as_ref().map(|stamp| &stamp.id));
            }
            value
        }
        Delivered::Refused { name, reason, path } => {
            let path = path.display().to_string();
            json!({"event": "refused", "file": name, "path": path, "reason": reason})
        }
        Delivered::Waiting { name, error } => {
            json!({"event": "waiting", "file": name, "reason": reason_of(error)})
        }
    }
}

fn of_change(event: &str, changed: &Changed) -> Value {
    change_value(event, changed.after.task.id.as_str(), Some(changed))
}
