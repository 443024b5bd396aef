//! The result of a run: a line for people, `{success, error, context, task}` for programs, and an exit code

use std::process::ExitCode;

use serde_json::{Value, json};

use super::news::{waits_value, why};
use crate::agents::runner::{RunOutcome, RunSummary, RunTarget};
use crate::cli::error::CliError;
use crate::cli::output::{counted, cyan, green, json_line, merged, red, yellow};
use crate::cli::session::Session;
use crate::domain::Status;
use crate::files::printable::one_line;
use crate::project::workspace::Workspace;
use crate::tasks::view::task_view::{show as show_task, task_value};

/// The exit code of a program that a signal stopped.
const INTERRUPTED: u8 = 130;
/// The exit code where the work waits for somebody.
const WAITS: u8 = 7;

/// Shows the result of a run, and returns the exit code.
pub(crate) fn show(
    session: &Session,
    workspace: &Workspace,
    wish: &RunTarget,
    account: &RunSummary,
) -> Result<ExitCode, CliError> {
    let mut value = json!({"visits": account.visits});
    let (mut subject, mut last) = (String::new(), String::new());
    if let RunTarget::Task(id) = wish {
        let (view, in_force) = show_task(workspace, id)?;
        let task = &view.file.task;
        subject = format!("{}: ", cyan(id));
        last = task.history.last().map(|visit| one_line(&visit.summary)).unwrap_or_default();
        value["context"] = Value::Object(task.context.clone());
        value["task"] = task_value(&in_force.rules, &view.file, &view.path);
    }
    if let RunOutcome::Waiting(waits) = &account.end
        && account.unavailable.is_empty()
    {
        value["waits"] = waits.iter().map(waits_value).collect();
    }
    let (code, error, text) = summary(account, &last);
    if session.output.is_json() {
        let ended = json!({"event": "ended", "success": code == 0, "error": error});
        session.output.line(json_line(merged(ended, value)).to_string());
    } else {
        session.output.line(format!("{subject}{text}"));
    }
    Ok(ExitCode::from(code))
}

/// Returns the exit code, the error for programs, and the line for people.
fn summary(account: &RunSummary, last: &str) -> (u8, Option<String>, String) {
    let visits = counted(account.visits, "visit");
    let unavailable = account.unavailable.iter();
    let unavailable: Vec<String> =
        unavailable.map(|(agent, why)| format!("{agent} cannot work: {}", one_line(why))).collect();
    let unavailable = unavailable.join("; ");
    let given_up = account.given_up.iter();
    let given_up: Vec<String> = given_up
        .map(|(ticket, why)| format!("{ticket} came to nothing: {}", one_line(why)))
        .collect();
    let given_up = given_up.join("; ");
    match &account.end {
        RunOutcome::Finished(Status::Complete) => {
            (0, None, format!("{}, {visits}", green("complete")))
        }
        RunOutcome::Finished(status) => {
            let why = if last.is_empty() { String::new() } else { format!(": {last}") };
            (1, Some(format!("the task is {status}{why}")), format!("{}{why}", red(status)))
        }
        RunOutcome::Stopped => {
            let text = "stopped; the task files say where it goes on";
            (INTERRUPTED, Some("it was stopped".to_owned()), text.to_owned())
        }
        _ if !unavailable.is_empty() => {
            let text = format!("{visits}, and {unavailable}");
            (1, Some(unavailable), text)
        }
        RunOutcome::Waiting(waits) => {
            let whys: Vec<String> =
                waits.iter().map(|waits| format!("{} {}", waits.station, why(waits))).collect();
            let whys = match &whys[..] {
                [] => "nobody can work at it now; see `aof why`".to_owned(),
                whys => whys.join("; "),
            };
            (WAITS, Some(whys), format!("{}, {visits} so far", yellow("waits")))
        }
        _ if !given_up.is_empty() => {
            let text = format!("{visits}, and {given_up}");
            (1, Some(given_up), text)
        }
        RunOutcome::NothingLeft => (0, None, format!("nothing is left to do, {visits}")),
        RunOutcome::Stepped => (0, None, format!("{visits}; go on with the same command")),
    }
}
