//! What the watcher did, or met, as JSON: a line each, for programs.

use serde_json::{Value, json};

use super::command::polling;
use crate::cli::render::{assignments, expired};
use crate::cli::session::Session;
use crate::files::diagnostic::diagnostic::Diagnostic;
use crate::project::error::reason::reason_of;
use crate::tasks::apply::change::Changed;
use crate::tasks::inbox::recipient::Delivered;
use crate::tasks::view::changed::warnings_value;
use crate::watch::report::Report;

/// Returns what stands for an event in JSON, with commands of git as they have to be where people stand.
pub(crate) fn value_of(session: &Session, report: &Report) -> Value {
    let mut value = of_report(report);
    session.git_said_in(&mut value);
    if let Some(reason) = value.get_mut("reason") {
        session.git_said_in(reason);
    }
    value
}

fn of_report(report: &Report) -> Value {
    match report {
        Report::Watching { project, branch, sight } => json!({
            "event": "watching", "project": project.display().to_string(), "branch": branch, "polling": polling(sight)
        }),
        Report::Serving { address, exposed } => {
            json!({"event": "serving", "url": format!("http://{address}/metrics"), "exposed": exposed})
        }
        Report::Uncounted { problem } => json!({"event": "uncounted", "problem": problem}),
        Report::EventSource(sight) => json!({"event": "sight", "polling": polling(sight)}),
        Report::Delivered(Delivered::Completed { name, completed }) => {
            let changed = &completed.changed;
            let event = if changed.settled { "settled" } else { "completed" };
            let mut value = of_change(event, changed);
            value["file"] = json!(name);
            value["warnings"] = warnings_value(&changed.warnings);
            if let Some(visit) = changed.after.task.history.last() {
                value["outcome"] = json!(visit.outcome.to_string());
                value["agent"] = json!(visit.agent.as_ref().map(ToString::to_string));
                value["from"] = json!(visit.gate.as_str());
                value["completion"] =
                    json!(visit.completion.as_ref().map(|stamp| stamp.id.to_string()));
            }
            value
        }
        Report::Delivered(Delivered::Refused { name, reason, path }) => {
            json!({"event": "refused", "file": name, "path": path.display().to_string(), "reason": reason})
        }
        Report::Delivered(Delivered::Waiting { name, error }) => {
            json!({"event": "waiting", "file": name, "reason": reason_of(error)})
        }
        Report::Adopted(changed) => {
            let mut value = of_change("adopted", changed);
            value["warnings"] = warnings_value(&changed.warnings);
            value
        }
        Report::Passed(changed) => of_change("passed", changed),
        Report::TimedOut(changed) => expired::value("timeout", changed),
        Report::Lapsed(changed) => expired::value("lapsed", changed),
        Report::Followed(changed) => of_change("followed", changed),
        Report::Moved(changed) => of_change("moved", changed),
        Report::Committed(changed) => of_change("edited", changed),
        Report::CaughtUp { files } => json!({"event": "index_caught_up", "files": files}),
        Report::PutBack(put) => {
            json!({"event": "put_back", "tasks": put.tasks, "steps": put.steps})
        }
        Report::TakenBack { problem, fix } => {
            json!({"event": "taken_back", "problem": problem, "fix": fix})
        }
        Report::Given(given) => assignments::given_value(given),
        Report::Dependent(dependent) => assignments::dependent_value(dependent),
        Report::Troubled { task, error } => {
            json!({"event": "troubled", "task": task.as_str(), "reason": reason_of(error)})
        }
        Report::Stray { path, reason } => json!({"event": "stray", "path": path, "reason": reason}),
        Report::RulesInForce { commit } => {
            json!({"event": "rules_in_force", "commit": commit.to_string()})
        }
        Report::RulesInvalid { in_force, diagnostics } => json!({
            "event": "rules_invalid",
            "inForce": in_force.to_string(),
            "diagnostics": diagnostics.iter().map(Diagnostic::to_value).collect::<Vec<_>>(),
        }),
        Report::RulesUncommitted { files } => json!({"event": "rules_uncommitted", "files": files}),
        Report::Undelivered { problem } => json!({"event": "undelivered", "problem": problem}),
        Report::Unrecorded { problem } => json!({"event": "unrecorded", "problem": problem}),
        Report::Synced(synced) => {
            let mut value = synced.value();
            value["event"] = json!("synced");
            value
        }
        Report::Unsynced { problem, fix } => {
            json!({"event": "unsynced", "problem": problem, "fix": fix})
        }
        Report::Paused { reason } => json!({"event": "paused", "message": reason}),
        Report::Trouble(error) => json!({"event": "trouble", "reason": reason_of(error)}),
        Report::Resumed => json!({"event": "resumed"}),
        Report::Stopped => json!({"event": "stopped"}),
    }
}

fn of_change(event: &str, changed: &Changed) -> Value {
    let task = &changed.after.task;
    json!({
        "event": event,
        "task": task.id.as_str(),
        "gate": task.gate.as_ref().map(|open| open.current.as_str()),
        "status": task.status.as_str(),
        "path": changed.path.as_str(),
        "commit": changed.commit.map(|commit| commit.to_string()),
    })
}
