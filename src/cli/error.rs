//! Errors of commands: a problem, a fix, a code for programs, and an exit code.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::arguments::{command, typed_command};
use crate::board::web::EndpointFault;
use crate::git::GitError;
use crate::project::error::{ProjectError, reason_of};
use crate::rules::{Refusal, RefusalKind};
use crate::storage::StoreError;

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) enum CliError {
    /// An operation failed.
    Operation(Box<ProjectError>),
    /// A completion was refused; `command` is the command up to its outcome, or the
    /// whole command if only a ticket was missing.
    Completion { command: String, error: Box<ProjectError> },
    /// The command itself failed.
    Command { code: &'static str, problem: String, fix: Option<String>, exit_code: u8 },
}

/// The result of a command.
pub(crate) type CliResult<T = ExitCode> = Result<T, CliError>;

impl<E: Into<ProjectError>> From<E> for CliError {
    fn from(error: E) -> Self {
        let mut error = error.into();
        if let ProjectError::PersonUnseen { command, .. } = &mut error {
            *command = typed_command();
        }
        Self::Operation(Box::new(error))
    }
}

impl CliError {
    /// Returns the error that the arguments do not fit the project or each other.
    pub(crate) fn refused(
        code: &'static str,
        problem: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        let (problem, fix) = (problem.into(), Some(fix.into()));
        Self::Command { code, problem, fix, exit_code: 4 }
    }

    /// Returns the error that a file of the command line, or stdin, cannot be read.
    pub(crate) fn input(name: impl Display, cause: &io::Error) -> Self {
        Self::failed("unreadable_input", format!("cannot read `{name}`: {cause}"), None)
    }

    /// Returns the error that a file or folder of the command line cannot be written.
    pub(crate) fn output(path: &Path, cause: &io::Error) -> Self {
        let problem = format!("cannot write into `{}`: {cause}", path.display());
        Self::failed("unwritable_output", problem, None)
    }

    /// Returns the error that the folder given with `-C` cannot be entered.
    pub(crate) fn directory(path: &Path, cause: &io::Error) -> Self {
        let problem = format!("cannot enter `{}`: {cause}", path.display());
        let exit_code = if cause.kind() == io::ErrorKind::NotFound { 3 } else { 1 };
        Self::Command { code: "no_directory", problem, fix: None, exit_code }
    }

    /// Returns the error that the editor failed, or that nothing was written in it.
    pub(crate) fn editor(problem: String, fix: &str) -> Self {
        Self::failed("editor", problem, Some(fix.to_owned()))
    }

    /// Returns the error that nothing can be served at an address.
    pub(crate) fn endpoint(fault: &EndpointFault) -> Self {
        Self::failed("no_endpoint", fault.problem.clone(), Some(fault.fix.to_owned()))
    }

    fn failed(code: &'static str, problem: String, fix: Option<String>) -> Self {
        Self::Command { code, problem, fix, exit_code: 1 }
    }

    /// Returns true if the folder is in no project.
    pub(crate) fn is_outside_of_projects(&self) -> bool {
        let error = self.operation_error();
        matches!(
            error,
            Some(
                ProjectError::Store(StoreError::NoProject { .. })
                    | ProjectError::Git(GitError::NoRepository { .. })
            )
        )
    }

    /// Returns the error of the operation, if one failed.
    pub(crate) fn operation_error(&self) -> Option<&ProjectError> {
        match self {
            Self::Operation(error) | Self::Completion { error, .. } => Some(error),
            Self::Command { .. } => None,
        }
    }

    /// Returns a description of the problem, in a sentence.
    pub(crate) fn problem(&self) -> String {
        match self {
            Self::Operation(error) | Self::Completion { error, .. } => error.problem(),
            Self::Command { problem, .. } => problem.clone(),
        }
    }

    /// Returns the fix, if it is known.
    pub(crate) fn fix(&self) -> Option<String> {
        match self {
            Self::Operation(error) | Self::Completion { error, .. } => {
                error.advice().map(|fix| fix.render(command))
            }
            Self::Command { fix, .. } => fix.clone(),
        }
    }

    /// Returns a command that would be accepted instead of the refused completion.
    pub(crate) fn example(&self) -> Option<String> {
        let Self::Completion { command, error } = self else { return None };
        let ProjectError::Refused(refusal) = &**error else { return None };
        if matches!(refusal, Refusal::Repeated { .. }) {
            return Some(format!("  {command}"));
        }
        let example = refusal.example()?;
        // These commands take only the blockers.
        if matches!(command.split(' ').nth(1), Some("reject" | "block")) {
            let blockers = example["blockers"].as_array().into_iter().flatten();
            return Some(
                blockers.fold(format!("  {command}"), |text, one| format!("{text} -m {one}")),
            );
        }
        let mut text = format!("  {command} --outcome {}", example["outcome"].as_str()?);
        text.push_str(&format!(" \\\n    --summary {}", example["summary"]));
        for blocker in example["blockers"].as_array().into_iter().flatten() {
            text.push_str(&format!(" \\\n    --blocker {blocker}"));
        }
        for (name, value) in example["outputs"].as_object().into_iter().flatten() {
            // A text that would be parsed as JSON must be quoted as JSON.
            let value = match value {
                Value::String(text) if serde_json::from_str::<Value>(text).is_err() => text.clone(),
                other => other.to_string(),
            };
            text.push_str(&format!(" \\\n    --output '{name}={}'", value.replace('\'', "'\\''")));
        }
        Some(text)
    }

    /// Returns the error as `--json` shows it.
    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Operation(error) | Self::Completion { error, .. } => {
                let mut value = reason_of(error);
                value["message"] = json!(error.message(command));
                value
            }
            Self::Command { code, problem, fix, .. } => {
                let fix = fix.as_ref().map(|fix| format!("\n\n{fix}")).unwrap_or_default();
                json!({"error": code, "message": format!("{problem}{fix}")})
            }
        }
    }

    /// Returns the exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Operation(error) | Self::Completion { error, .. } => exit_code(error),
            Self::Command { exit_code, .. } => *exit_code,
        }
    }
}

/// Returns the exit code: 1 failed, 3 not found, 4 refused, 5 conflict, 6 invalid, 7 timed out.
pub(crate) fn exit_code(error: &ProjectError) -> u8 {
    match error {
        ProjectError::Refused(refusal) => match refusal.kind() {
            RefusalKind::Refused => 4,
            RefusalKind::Conflict => 5,
        },
        ProjectError::NoTask { .. }
        | ProjectError::AmbiguousTask { .. }
        | ProjectError::Unknown { .. }
        | ProjectError::Unfit {
            code: "task_not_found" | "unknown_revision" | "several_projects" | "no_such_project",
            ..
        }
        | ProjectError::Store(StoreError::TaskNotFound { .. } | StoreError::NoProject { .. })
        | ProjectError::Git(GitError::NoRepository { .. }) => 3,
        ProjectError::Frozen { .. }
        | ProjectError::Contended { .. }
        | ProjectError::ClaimLost { .. }
        | ProjectError::TakenElsewhere { .. }
        | ProjectError::Unfit { code: "edit_conflict", .. }
        | ProjectError::Git(
            GitError::StagedDifferently { .. }
            | GitError::Unmerged { .. }
            | GitError::IntentToAdd { .. }
            | GitError::Converted { .. }
            | GitError::WouldOverwrite { .. },
        ) => 5,
        ProjectError::UnreadableTask { .. }
        | ProjectError::InvalidTests { .. }
        | ProjectError::InvalidRules(_)
        | ProjectError::InvalidUsers { .. }
        | ProjectError::InvalidImport { .. }
        | ProjectError::LossyImport { .. }
        | ProjectError::Splice { .. }
        | ProjectError::Git(GitError::OwnFolderInGit(_))
        | ProjectError::Unfit { code: "rules_not_committed", .. }
        | ProjectError::Store(
            StoreError::TaskDoubled { .. }
            | StoreError::WrongKind { .. }
            | StoreError::TooLarge { .. },
        ) => 6,
        ProjectError::Unfit { code: "cannot_sign" | "tests_stopped", .. } => 1,
        ProjectError::Unfit { code: "still_written", .. }
        | ProjectError::Store(StoreError::LockTimedOut { .. })
        | ProjectError::Git(GitError::Waiting { .. } | GitError::Locked { .. }) => 7,
        ProjectError::NoAgent { .. }
        | ProjectError::PersonUnseen { .. }
        | ProjectError::Unfit { .. } => 4,
        _ => 1,
    }
}
