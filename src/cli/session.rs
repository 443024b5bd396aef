//! One run of the command line: its options, how it shows things, and the project that it works on.

use std::cell::OnceCell;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::error::CliError;
use super::input::arguments::Global;
use super::log;
use super::log::LogFormat;
use super::render::output::{Output, YELLOW, styled};
use crate::domain::Timestamp;
use crate::files::printable::inert;
use crate::history::verify::project_commits::Past;
use crate::project::active_rules::{InForce, Remark};
use crate::project::branch_checkout::Patience;
use crate::project::error::error::OpsError;
use crate::project::git_hints::GitWords;
use crate::project::workspace::{Aside, Tell, Workspace, warn_in_log};
use crate::rules::Warning;

/// One run of the command line.
pub(crate) struct Session {
    pub output: Output,
    pub directory: PathBuf,
    pub wait: Duration,
    pub verbose: bool,
    pub log_format: LogFormat,
    /// How commands of git are written; known once a project is open.
    git_words: OnceCell<GitWords>,
}

impl Session {
    pub(crate) fn new(global: Global) -> Self {
        log::begin(global.verbose, global.log_format);
        Self {
            output: Output::new(global.json, global.color),
            directory: global.directory.unwrap_or_else(|| PathBuf::from(".")),
            wait: global.wait,
            verbose: global.verbose > 0,
            log_format: global.log_format,
            git_words: OnceCell::new(),
        }
    }

    /// Returns what people are to do, with commands of git as they have to be where people stand.
    pub(crate) fn git_said(&self, text: String) -> String {
        match self.git_words.get() {
            Some(words) => words.said(text),
            None => text,
        }
    }

    /// Does so with the sentences of an object that people may read.
    pub(crate) fn git_said_in(&self, value: &mut Value) {
        for key in ["message", "problem", "fix"] {
            if let Some(Value::String(text)) = value.get_mut(key) {
                *text = self.git_said(std::mem::take(text));
            }
        }
    }

    /// Opens the project for a command: `task complete`.
    pub(crate) fn workspace(&self, command: &str) -> Result<Workspace, CliError> {
        self.open(command, tell_beside)
    }

    /// Does so for a command that nobody waits for: it says nothing of short waits.
    pub(crate) fn workspace_in_background(&self, command: &str) -> Result<Workspace, CliError> {
        self.open(command, warn_in_log)
    }

    fn open(&self, command: &str, tell: Tell) -> Result<Workspace, CliError> {
        let opened =
            Workspace::open(&self.directory, format!("aof {command}"), now, self.wait, tell);
        let workspace = opened.map_err(|error| self.unopened(error))?;
        self.git_words.get_or_init(|| workspace.git_words.clone());
        if let Some(aside) = &workspace.set_aside {
            self.warn(&format!(
                "git was killed while it checked out the branch that the project lives on; what stood in its folder is kept in `{}`",
                aside.display()
            ));
        }
        Ok(workspace)
    }

    fn unopened(&self, error: OpsError) -> CliError {
        match self.directory.canonicalize() {
            Err(cause) => CliError::Directory { path: self.directory.clone(), cause },
            Ok(_) => error.into(),
        }
    }

    /// Opens the commits of the repository for a command that looks at nothing else.
    pub(crate) fn past(&self, command: &str) -> Result<Past, CliError> {
        let opened = Past::open(&self.directory, format!("aof {command}"), now);
        opened.map_err(|error| self.unopened(error))
    }

    /// Returns whether files may stand there, and not only commits.
    pub(crate) fn is_in_worktree(&self) -> Result<bool, CliError> {
        Past::has_files(&self.directory).map_err(|error| self.unopened(error))
    }

    /// Opens a project that is only just being made.
    pub(crate) fn new_workspace(&self, root: &Path) -> Result<Workspace, OpsError> {
        self.workspace_at(root, "init")
    }

    /// Opens the project in that very folder for a command.
    pub(crate) fn workspace_at(&self, root: &Path, command: &str) -> Result<Workspace, OpsError> {
        Workspace::at(root, format!("aof {command}"), now, self.wait, tell_beside)
    }

    /// Returns how a command waits for whoever checks out the branch of a project.
    pub(crate) fn patience(&self, command: &str) -> Patience {
        Patience::new(format!("aof {command}"), now(), self.wait, tell_beside)
    }

    /// Returns the rules in force, and warns where the worktree's are others.
    pub(crate) fn rules(&self, workspace: &Workspace) -> Result<InForce, CliError> {
        let in_force = workspace.rules()?;
        self.warn_of_rules(&in_force);
        Ok(in_force)
    }

    /// Warns where the rules in force are not those that people see.
    pub(crate) fn warn_of_rules(&self, in_force: &InForce) {
        for remark in &in_force.remarks {
            match remark {
                Remark::Uncommitted(files) => {
                    let differ = if files.len() == 1 { "differs" } else { "differ" };
                    let files = files.join(", ");
                    self.warn(&format!("{files} {differ} from what is committed; the committed rules count"));
                }
                Remark::Unheeded(file) => self.warn(&format!(
                    "`{}` differs from what is committed; which branch the project lives on is said by what is committed",
                    file.display()
                )),
                Remark::Superseded { commit, .. } => self.warn(&format!(
                    "the committed rules are invalid, so those of commit {} stay in force; see `aof workflow validate`",
                    &commit.to_string()[..7]
                )),
            }
        }
    }

    /// Says something that stops nothing.
    pub(crate) fn warn(&self, text: &str) {
        self.output.say(format!("{} {text}", styled(YELLOW, "warning:")));
    }

    /// Says what a completion should know.
    pub(crate) fn warn_all(&self, warnings: &[Warning]) {
        for warning in warnings {
            self.warn(&inert(&warning.message()));
        }
    }

    /// Returns whether a person sits at the other end.
    pub(crate) fn at_terminal() -> bool {
        std::io::stdin().is_terminal()
    }
}

fn tell_beside(aside: Aside<'_>) {
    use std::io::Write;
    let _ = match aside {
        Aside::Wait(what) => writeln!(anstream::stderr(), "waiting: {}", inert(what)),
        Aside::Warning(text) => {
            writeln!(anstream::stderr(), "{} {}", styled(YELLOW, "warning:"), inert(text))
        }
    };
}

/// Returns the time. Tests of a debug build set it; a release build knows only the clock.
pub(crate) fn now() -> Timestamp {
    #[cfg(debug_assertions)]
    if let Some(now) = std::env::var("AOF_NOW").ok().and_then(|text| text.parse().ok()) {
        return now;
    }
    Timestamp::now()
}
