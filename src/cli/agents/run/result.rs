//! What a run comes to at its end: for people a line, for programs `{success, error, context, task}`, and an exit code.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::lines::{waits_value, why};
use crate::agents::runner::{Account, End, Wish};
use crate::cli::error::CliError;
use crate::cli::output::{CYAN, GREEN, JSON_VERSION, RED, YELLOW, styled};
use crate::cli::session::Session;
use crate::domain::Status;
use crate::files::printable::one_line;
use crate::project::workspace::Workspace;
use crate::tasks::view::task_view::{show, task_value};

/// What a program that was stopped by a signal ends with.
const INTERRUPTED: u8 = 130;
/// It waits for somebody else.
const WAITS: u8 = 7;

/// What a run comes to.
pub(crate) struct Outcome {
    code: u8,
    error: Option<String>,
    text: String,
    value: Value,
}

impl Outcome {
    /// Returns what it comes to.
    pub(crate) fn of(
        workspace: &Workspace,
        wish: &Wish,
        account: &Account,
    ) -> Result<Self, CliError> {
        let mut value = json!({"visits": account.visits});
        let mut subject = String::new();
        let mut last = String::new();
        if let Wish::Task(id) = wish {
            let (view, in_force) = show(workspace, id)?;
            subject = format!("{}: ", styled(CYAN, id));
            last = view
                .file
                .task
                .history
                .last()
                .map(|visit| one_line(&visit.summary))
                .unwrap_or_default();
            value["context"] = Value::Object(view.file.task.context.clone());
            value["task"] = task_value(&in_force.rules, &view.file, &view.path);
        }
        let visits = match account.visits {
            1 => "1 visit".to_owned(),
            count => format!("{count} visits"),
        };
        let unavailable = account
            .unavailable
            .iter()
            .map(|(agent, why)| format!("{agent} cannot work: {}", one_line(why)));
        let unavailable: Vec<String> = unavailable.collect();
        let given_up = account
            .given_up
            .iter()
            .map(|(ticket, why)| format!("{ticket} came to nothing: {}", one_line(why)));
        let given_up = given_up.collect::<Vec<_>>().join("; ");
        let (code, error, text) = match &account.end {
            End::Finished(Status::Complete) => {
                (0, None, format!("{}, {visits}", styled(GREEN, "complete")))
            }
            End::Finished(status) => {
                let why = if last.is_empty() { String::new() } else { format!(": {last}") };
                (
                    1,
                    Some(format!("the task is {status}{why}")),
                    format!("{}{why}", styled(RED, status)),
                )
            }
            End::Stopped => (
                INTERRUPTED,
                Some("it was stopped".to_owned()),
                "stopped; the task files say where it goes on".to_owned(),
            ),
            _ if !unavailable.is_empty() => (
                1,
                Some(unavailable.join("; ")),
                format!("{visits}, and {}", unavailable.join("; ")),
            ),
            End::Waiting(waits) => {
                value["waits"] = waits.iter().map(waits_value).collect();
                let whys: Vec<String> =
                    waits.iter().map(|waits| format!("{} {}", waits.station, why(waits))).collect();
                let whys = if whys.is_empty() {
                    "nobody can work at it now; see `aof why`".to_owned()
                } else {
                    whys.join("; ")
                };
                (WAITS, Some(whys), format!("{}, {visits} so far", styled(YELLOW, "waits")))
            }
            _ if !account.given_up.is_empty() => {
                (1, Some(given_up.clone()), format!("{visits}, and {given_up}"))
            }
            End::NothingLeft => (0, None, format!("nothing is left to do, {visits}")),
            End::Stepped => (0, None, format!("{visits}; go on with the same command")),
        };
        Ok(Self { code, error, text: format!("{subject}{text}"), value })
    }

    /// Shows it, and returns the exit code.
    pub(crate) fn show(self, session: &Session) -> ExitCode {
        if session.output.is_json() {
            let mut value = json!({"jsonVersion": JSON_VERSION, "event": "ended", "success": self.code == 0, "error": self.error});
            if let (Value::Object(map), Value::Object(more)) = (&mut value, self.value) {
                map.extend(more);
            }
            session.output.line(value.to_string());
        } else {
            session.output.line(self.text);
        }
        ExitCode::from(self.code)
    }
}
