//! What went wrong, as people read it, as programs read it, and as an exit code.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::render::output::{BOLD, JSON_VERSION, RED, styled};
use super::session::Session;
use crate::files::diagnostic::diagnostic::render_all;
use crate::files::printable::inert;
use crate::git::AuditError;
use crate::observability::endpoint::server::EndpointFault;
use crate::project::error::error::OpsError;
use crate::project::error::reason::reason_of;
use crate::rules::RefusalKind;
use crate::storage::StoreError;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum CliError {
    /// The operation was not carried out.
    Ops(Box<OpsError>),
    /// The completion was not accepted; `command` is what it was given with, up to the outcome.
    Completion { command: String, error: Box<OpsError> },
    /// The folder given with `-C` cannot be entered.
    Directory { path: PathBuf, cause: io::Error },
    /// A file named on the command line, or stdin, cannot be read.
    Input { name: String, cause: io::Error },
    /// A file or folder named on the command line cannot be written.
    Output { path: PathBuf, cause: io::Error },
    /// The editor failed, or was left without a word.
    Editor { problem: String, fix: String },
    /// Nobody can be served at an address.
    Endpoint(EndpointFault),
    /// What was given does not fit together.
    Unfit { code: &'static str, problem: String, fix: String },
}

impl<E: Into<OpsError>> From<E> for CliError {
    fn from(error: E) -> Self {
        Self::Ops(Box::new(error.into()))
    }
}

impl CliError {
    /// Shows what went wrong and returns the exit code.
    pub(crate) fn show(&self, session: &Session) -> ExitCode {
        let output = session.output;
        let problem = session.git_said(self.problem());
        if output.is_json() {
            output.data(self.said_value(session));
            output.say(inert(&problem));
        } else {
            output.say(format!("{} {}", styled(RED, "error:"), inert(&problem)));
            if let Some(
                OpsError::UnreadableTask { diagnostics, .. }
                | OpsError::InvalidRules(diagnostics)
                | OpsError::InvalidImport { diagnostics, .. },
            ) = self.ops()
            {
                output.say(format!("\n{}", render_all(diagnostics, output.paint()).trim_end()));
            }
            if let Some(fix) = self.fix() {
                output.say(format!(
                    "\n{} {}",
                    styled(BOLD, "hint:"),
                    inert(&session.git_said(fix))
                ));
            }
            if let Some(example) = self.example() {
                output.say(format!("\nexample:\n{example}"));
            }
        }
        ExitCode::from(self.code())
    }

    /// Shows what went wrong as the last line of a stream of JSON, and returns the exit code.
    pub(crate) fn end(&self, session: &Session) -> ExitCode {
        let problem = session.git_said(self.problem());
        let mut value = json!({"jsonVersion": JSON_VERSION, "event": "ended", "success": false, "error": problem});
        if let (Value::Object(map), Value::Object(fields)) = (&mut value, self.said_value(session))
        {
            // What stands for the error elsewhere stands beside its sentence here.
            for (key, field) in fields {
                map.insert(if key == "error" { "code".to_owned() } else { key }, field);
            }
        }
        session.output.line(value.to_string());
        session.output.say(inert(&problem));
        ExitCode::from(self.code())
    }

    /// Returns whether another text from its author may be taken where this one was not.
    pub(crate) fn is_mendable(&self) -> bool {
        match self.ops() {
            Some(OpsError::UnreadableTask { .. }) => true,
            Some(OpsError::Unfit { code, .. }) => *code == "engine_fields",
            _ => false,
        }
    }

    fn ops(&self) -> Option<&OpsError> {
        match self {
            Self::Ops(error) | Self::Completion { error, .. } => Some(error),
            _ => None,
        }
    }

    fn problem(&self) -> String {
        match self {
            Self::Ops(error) | Self::Completion { error, .. } => error.problem(),
            Self::Directory { path, cause } => {
                format!("cannot enter `{}`: {cause}", path.display())
            }
            Self::Output { path, cause } => {
                format!("cannot write into `{}`: {cause}", path.display())
            }
            Self::Input { name, cause } => format!("cannot read `{name}`: {cause}"),
            Self::Endpoint(fault) => fault.to_string(),
            Self::Editor { problem, .. } | Self::Unfit { problem, .. } => problem.clone(),
        }
    }

    fn fix(&self) -> Option<String> {
        match self {
            Self::Ops(error) | Self::Completion { error, .. } => error.fix(),
            Self::Endpoint(fault) => Some(fault.fix()),
            Self::Editor { fix, .. } | Self::Unfit { fix, .. } => Some(fix.clone()),
            Self::Directory { .. } | Self::Input { .. } | Self::Output { .. } => None,
        }
    }

    /// Returns a command that would be accepted in this one's place.
    fn example(&self) -> Option<String> {
        let Self::Completion { command, error } = self else { return None };
        let OpsError::Refused(refusal) = &**error else { return None };
        let example = refusal.example()?;
        let mut text = format!("  {command} --outcome {}", example["outcome"].as_str()?);
        text.push_str(&format!(" \\\n    --summary {}", example["summary"]));
        for blocker in example["blockers"].as_array().into_iter().flatten() {
            text.push_str(&format!(" \\\n    --blocker {blocker}"));
        }
        for (name, value) in example["outputs"].as_object().into_iter().flatten() {
            // What reads as JSON is JSON: a text that would must be written as such.
            let value = match value {
                Value::String(text) if serde_json::from_str::<Value>(text).is_err() => text.clone(),
                other => other.to_string(),
            };
            text.push_str(&format!(" \\\n    --output '{name}={}'", value.replace('\'', "'\\''")));
        }
        Some(text)
    }

    /// Returns what stands for it in JSON, with commands of git as they have to be where people stand.
    fn said_value(&self, session: &Session) -> Value {
        let mut value = self.value();
        session.git_said_in(&mut value);
        value
    }

    fn value(&self) -> Value {
        match self {
            Self::Ops(error) | Self::Completion { error, .. } => reason_of(error),
            Self::Directory { .. } => json!({"error": "no_directory", "message": self.problem()}),
            Self::Output { .. } => json!({"error": "unwritable_output", "message": self.problem()}),
            Self::Input { .. } => json!({"error": "unreadable_input", "message": self.problem()}),
            Self::Endpoint(fault) => {
                json!({"error": "no_endpoint", "message": format!("{fault}\n\n{}", fault.fix())})
            }
            Self::Editor { fix, .. } => {
                json!({"error": "editor", "message": format!("{}\n\n{fix}", self.problem())})
            }
            Self::Unfit { code, fix, .. } => {
                json!({"error": code, "message": format!("{}\n\n{fix}", self.problem())})
            }
        }
    }

    fn code(&self) -> u8 {
        match self {
            Self::Ops(error) | Self::Completion { error, .. } => code(error),
            Self::Directory { .. }
            | Self::Input { .. }
            | Self::Output { .. }
            | Self::Editor { .. }
            | Self::Endpoint(_) => 1,
            Self::Unfit { .. } => 4,
        }
    }
}

/// Returns the exit code: 1 failed, 3 not found, 4 refused, 5 conflict, 6 invalid, 7 timed out.
pub(crate) fn code(error: &OpsError) -> u8 {
    match error {
        OpsError::Refused(refusal) => match refusal.kind() {
            RefusalKind::Refused => 4,
            RefusalKind::Conflict => 5,
        },
        OpsError::NoTask { .. }
        | OpsError::Unknown { .. }
        | OpsError::Unfit {
            code: "unknown_revision" | "several_projects" | "no_such_project",
            ..
        }
        | OpsError::Store(StoreError::TaskNotFound { .. } | StoreError::NoProject { .. })
        | OpsError::Audit(AuditError::NoRepository { .. }) => 3,
        OpsError::Frozen { .. }
        | OpsError::Restless { .. }
        | OpsError::ClaimLost { .. }
        | OpsError::Unfit { code: "edit_conflict", .. }
        | OpsError::Audit(
            AuditError::StagedElsewise { .. }
            | AuditError::Unmerged { .. }
            | AuditError::IntentToAdd { .. }
            | AuditError::Converted { .. }
            | AuditError::InTheWay { .. },
        ) => 5,
        OpsError::UnreadableTask { .. }
        | OpsError::InvalidRules(_)
        | OpsError::InvalidImport { .. }
        | OpsError::LossyImport { .. }
        | OpsError::Splice { .. }
        | OpsError::Audit(AuditError::OwnFolderInGit(_))
        | OpsError::Unfit { code: "rules_not_committed", .. }
        | OpsError::Store(
            StoreError::TaskDoubled { .. }
            | StoreError::WrongKind { .. }
            | StoreError::TooLarge { .. },
        ) => 6,
        OpsError::Unfit { code: "cannot_sign", .. } => 1,
        OpsError::Unfit { code: "still_written", .. }
        | OpsError::Store(StoreError::LockTimedOut { .. })
        | OpsError::Audit(AuditError::Waiting { .. } | AuditError::Locked { .. }) => 7,
        OpsError::NoAgent { .. } | OpsError::Unfit { .. } => 4,
        _ => 1,
    }
}
