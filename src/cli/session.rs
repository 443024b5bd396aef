//! One run of the command line: its options, its output, and the project that it works on.

use std::cell::OnceCell;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Duration;

use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tracing::Level;
use tracing_subscriber::fmt::format::Writer;

use super::arguments::{Global, LogFormat, exact_time, local_time, now, with_times};
use super::error::{CliError, CliResult};
use super::output::{Output, bold, json_line, merged, painted, red, short, yellow};
use crate::domain::{AgentId, TaskId, Ticket, TypedTask};
use crate::files::printable::inert;
use crate::health::branch::code_beside_sync;
use crate::history::verify::commit_archive::CommitArchive;
use crate::project::active_rules::{InForce, Remark, in_force};
use crate::project::error::ProjectError;
use crate::project::git_hints::GitCommands;
use crate::project::open::{CheckoutWait, passed_on_project};
use crate::project::workspace::{ProgressMessage, Tell, Workspace, warn_in_log};
use crate::project::workspace::{acting_agent, known_as};
use crate::rules::Warning;
use crate::tasks::headers::lookup;
use crate::tasks::inbox::remove_counted;

/// One run of the command line.
pub(crate) struct Session {
    pub output: Output,
    pub directory: PathBuf,
    pub wait: Duration,
    pub verbose: bool,
    pub log_format: LogFormat,
    /// The form of git commands in messages; known once a project is open.
    git_commands: OnceCell<GitCommands>,
}

impl Session {
    pub(crate) fn new(global: Global) -> Self {
        start_log(global.verbose, global.log_format);
        Self {
            output: Output::new(global.json, global.color).paged(!global.no_pager),
            directory: global.directory.unwrap_or_else(|| PathBuf::from(".")),
            wait: global.wait,
            verbose: global.verbose > 0,
            log_format: global.log_format,
            git_commands: OnceCell::new(),
        }
    }

    /// Shows an error and returns the exit code.
    pub(crate) fn fail(&self, error: &CliError) -> ExitCode {
        let output = self.output;
        if output.is_json() {
            output.data(self.error_value(error));
        }
        self.tell_failed(error);
        ExitCode::from(error.exit_code())
    }

    /// Shows an error to people, and returns it for programs.
    pub(crate) fn tell_failed(&self, error: &CliError) -> Value {
        let (output, value) = (self.output, self.error_value(error));
        let problem = inert(&self.runnable(error.problem()));
        if output.is_json() {
            output.say(problem);
            return value;
        }
        output.say(format!("{} {}", red("error:"), self.with_times(&problem)));
        if let Some(
            ProjectError::UnreadableTask { diagnostics, .. }
            | ProjectError::InvalidTests { diagnostics, .. }
            | ProjectError::InvalidRules(diagnostics)
            | ProjectError::InvalidUsers { diagnostics, .. }
            | ProjectError::InvalidImport { diagnostics, .. },
        ) = error.operation_error()
        {
            output.say(format!("\n{}", painted(diagnostics)));
        }
        if let Some(fix) = error.fix() {
            let fix = self.with_times(&inert(&self.runnable(fix)));
            output.say(format!("\n{} {fix}", bold("hint:")));
        }
        if let Some(example) = error.example() {
            output.say(format!("\nexample:\n{example}"));
        }
        value
    }

    /// Shows an error as the last line of a stream of JSON, and returns the exit code.
    pub(crate) fn fail_stream(&self, error: &CliError) -> ExitCode {
        let problem = self.runnable(error.problem());
        let mut value = self.error_value(error);
        // The stream has the sentence under `error`, so the code is under `code`.
        let code = value.as_object_mut().and_then(|map| map.shift_remove("error"));
        let ended = json!({"event": "ended", "success": false, "error": problem, "code": code});
        self.output.line(json_line(merged(ended, value)).to_string());
        self.output.say(inert(&problem));
        ExitCode::from(error.exit_code())
    }

    /// Returns a sentence with its times as people read them; exact ones with `-v`.
    pub(crate) fn with_times(&self, text: &str) -> String {
        with_times(text, if self.verbose { exact_time } else { local_time })
    }

    fn error_value(&self, error: &CliError) -> Value {
        let mut value = error.value();
        self.make_runnable(&mut value);
        value
    }

    /// Returns the text with its commands of git changed so that they can be run unchanged, in the person's folder.
    pub(crate) fn runnable(&self, text: String) -> String {
        match self.git_commands.get() {
            Some(words) => words.with_folder(text),
            None => text,
        }
    }

    /// Changes the sentences of a JSON object as [`Session::runnable`] does.
    pub(crate) fn make_runnable(&self, value: &mut Value) {
        for key in ["message", "problem", "fix"] {
            if let Some(Value::String(text)) = value.get_mut(key) {
                *text = self.runnable(std::mem::take(text));
            }
        }
    }

    /// Opens the project for a command: `complete`.
    pub(crate) fn workspace(&self, command: &str) -> CliResult<Workspace> {
        let workspace = self.open_telling(command, print_progress)?;
        let is_person_seen = Self::sees_person(&workspace);
        Ok(workspace.with_person_seen(is_person_seen))
    }

    /// Opens the project for a command that runs unattended: short waits are not printed.
    pub(crate) fn workspace_in_background(&self, command: &str) -> CliResult<Workspace> {
        self.open_telling(command, warn_in_log)
    }

    /// Opens the project for the watcher, which prints its findings but no short waits.
    pub(crate) fn workspace_to_watch(&self) -> CliResult<Workspace> {
        self.open_telling("watch", |aside| {
            if !matches!(aside, ProgressMessage::Wait(_)) {
                print_progress(aside);
            }
        })
    }

    /// Opens the project, and also returns the rules in force; warns if the worktree's differ.
    pub(crate) fn open(&self, command: &str) -> CliResult<(Workspace, InForce)> {
        let workspace = self.workspace(command)?;
        let in_force = self.rules(&workspace)?;
        Ok((workspace, in_force))
    }

    /// Opens the project in another folder, for a command with several projects: it prints nothing.
    pub(crate) fn workspace_below(&self, folder: &Path, command: &str) -> CliResult<Workspace> {
        let folder = self.directory.join(folder);
        let open = Workspace::open(&folder, format!("aof {command}"), now, self.wait, warn_in_log);
        let workspace = open.map_err(|error| match folder.canonicalize() {
            Ok(_) => error.into(),
            Err(cause) => CliError::directory(&folder, &cause),
        })?;
        remove_counted(&workspace);
        let is_person_seen = Self::sees_person(&workspace);
        Ok(workspace.with_person_seen(is_person_seen))
    }

    fn open_telling(&self, command: &str, tell: Tell) -> CliResult<Workspace> {
        let passed_on = passed_on_project(&self.directory);
        let start = passed_on.as_deref().unwrap_or(&self.directory);
        let workspace = Workspace::open(start, format!("aof {command}"), now, self.wait, tell)
            .map_err(|error| self.open_error(error))?;
        self.git_commands.get_or_init(|| workspace.git_commands.clone());
        remove_counted(&workspace);
        Ok(workspace)
    }

    fn open_error(&self, error: ProjectError) -> CliError {
        match self.enter() {
            Err(no_directory) => no_directory,
            Ok(_) => error.into(),
        }
    }

    /// Returns the folder given with `-C`, without symlinks. Fails if it cannot be entered.
    pub(crate) fn enter(&self) -> CliResult<PathBuf> {
        let directory = &self.directory;
        directory.canonicalize().map_err(|cause| CliError::directory(directory, &cause))
    }

    /// Opens the commits of the repository, for a command that reads no worktree.
    pub(crate) fn commit_archive(&self, command: &str) -> CliResult<CommitArchive> {
        let opened = CommitArchive::open(&self.directory, format!("aof {command}"), now);
        opened.map_err(|error| self.open_error(error))
    }

    /// Returns true if the repository has a worktree.
    pub(crate) fn is_in_worktree(&self) -> CliResult<bool> {
        CommitArchive::has_files(&self.directory).map_err(|error| self.open_error(error))
    }

    /// Opens the project in this folder for `aof init`.
    pub(crate) fn new_workspace(&self, root: &Path) -> Result<Workspace, ProjectError> {
        self.workspace_at(root, "init")
    }

    /// Opens the project in exactly this folder.
    pub(crate) fn workspace_at(
        &self,
        root: &Path,
        command: &str,
    ) -> Result<Workspace, ProjectError> {
        Workspace::at(root, format!("aof {command}"), now, self.wait, print_progress)
    }

    /// Returns the way in which a command waits for others that check out the project's branch.
    pub(crate) fn checkout_wait(&self, command: &str) -> CheckoutWait {
        CheckoutWait::new(format!("aof {command}"), now(), self.wait, print_progress)
    }

    /// Returns the rules in force, and warns if the worktree's differ.
    pub(crate) fn rules(&self, workspace: &Workspace) -> CliResult<InForce> {
        let in_force = workspace.rules()?;
        self.warn_of_rules(&in_force);
        Ok(in_force)
    }

    /// Returns the acting agent: the named one, otherwise git's user at a terminal. Fails if there is none.
    pub(crate) fn agent(
        &self,
        workspace: &Workspace,
        in_force: &InForce,
        named: Option<&AgentId>,
    ) -> Result<AgentId, ProjectError> {
        acting_agent(workspace, &in_force.rules.org, named, Self::at_terminal())
    }

    /// Warns if the rules in force differ from the files.
    pub(crate) fn warn_of_rules(&self, in_force: &InForce) {
        for remark in &in_force.remarks {
            self.warn(&match remark {
                Remark::Uncommitted(files) => {
                    let differ = if files.len() == 1 { "differs" } else { "differ" };
                    let files = files.join(", ");
                    format!("{files} {differ} from what is committed; the committed rules count")
                }
                Remark::UncommittedProjectFile(file) => format!(
                    "`{}` differs from what is committed; the committed file says which branch the project is on",
                    file.display()
                ),
                Remark::Superseded { commit, .. } => format!(
                    "the committed rules are invalid, so those of commit {} stay in force; see `aof workflow validate`",
                    short(commit)
                ),
            });
        }
    }

    /// Warns if the first commit of code will stop the sync.
    pub(crate) fn warn_of_code(&self, workspace: &Workspace, in_force: &InForce) -> CliResult<()> {
        let head = workspace.repository.head_for_reading()?;
        if let Some((problem, fix)) = code_beside_sync(workspace, in_force, &head)? {
            self.warn(&inert(&format!("{problem}; {fix}")));
        }
        Ok(())
    }

    /// Prints a warning.
    pub(crate) fn warn(&self, text: &str) {
        self.output.say(format!("{} {text}", yellow("warning:")));
    }

    /// Prints the warnings of a change.
    pub(crate) fn warn_all(&self, warnings: &[Warning]) {
        for warning in warnings {
            self.warn(&inert(&warning.message()));
        }
    }

    /// Asks the person a question, and returns the line without surrounding blanks; `None` if the input has ended.
    pub(crate) fn ask(&self, question: &str) -> CliResult<Option<String>> {
        let mut stderr = anstream::stderr();
        let _ = write!(stderr, "{}", inert(question)).and_then(|()| stderr.flush());
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        let read = read.map_err(|cause| CliError::input("stdin", &cause))?;
        Ok((read > 0).then(|| line.trim().to_owned()))
    }

    /// Asks the person a question; anything but a yes means no.
    pub(crate) fn confirm(&self, question: &str) -> CliResult<bool> {
        let line = self.ask(question)?.unwrap_or_default();
        Ok(matches!(line.to_ascii_lowercase().as_str(), "y" | "yes"))
    }

    /// Returns the task that a command is to change. At a terminal, a part of its id or a word of its title is confirmed.
    pub(crate) fn ticket(
        &self,
        workspace: &Workspace,
        typed: &TypedTask,
    ) -> Result<Ticket, ProjectError> {
        lookup::ticket_if(workspace, typed, |id, title| {
            let question = format!("Did you mean {id}, `{title}`? [y/N] ");
            Self::at_terminal()
                && !self.output.is_json()
                && self.confirm(&question).unwrap_or(false)
        })
    }

    /// Returns the tasks that a command is to change, in order.
    pub(crate) fn tasks<'t>(
        &self,
        workspace: &Workspace,
        typed: impl IntoIterator<Item = &'t TypedTask>,
    ) -> Result<Vec<TaskId>, ProjectError> {
        let task = |typed| Ok(self.ticket(workspace, typed)?.task);
        typed.into_iter().map(task).collect()
    }

    /// Returns true if git's user is a person at this terminal. A program with an agent's git identity may also open a terminal.
    pub(crate) fn sees_person(workspace: &Workspace) -> bool {
        let user = || {
            let head = workspace.repository.head_for_reading().ok()?;
            known_as(workspace, &in_force(workspace, &head).ok()?.rules.org)
        };
        Self::at_terminal() && user().is_none_or(|agent| agent.is_human())
    }

    /// Returns true if a person at a terminal can answer questions.
    pub(crate) fn at_terminal() -> bool {
        static IS_TERMINAL: OnceLock<bool> = OnceLock::new();
        *IS_TERMINAL.get_or_init(|| io::stdin().is_terminal())
    }
}

fn print_progress(aside: ProgressMessage<'_>) {
    let (label, text) = match aside {
        ProgressMessage::Wait(what) => ("waiting:".to_owned(), what),
        ProgressMessage::Warning(text) => (yellow("warning:"), text),
        ProgressMessage::Note(text) => ("note:".to_owned(), text),
    };
    let _ = writeln!(anstream::stderr(), "{label} {}", inert(text));
}

/// Starts the log on stderr: none by default, changes with `-v`, also reads with `-vv`.
fn start_log(verbosity: u8, format: LogFormat) {
    let level = match verbosity {
        0 => return,
        1 => Level::INFO,
        _ => Level::DEBUG,
    };
    let log =
        tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr).with_target(false);
    // A test may already have started a log.
    let _ = match format {
        LogFormat::Text => {
            log.compact().with_ansi(false).with_timer(time_of_day as WriteTime).try_init()
        }
        LogFormat::Json => {
            log.json().flatten_event(true).with_timer(timestamp as WriteTime).try_init()
        }
    };
}

type WriteTime = fn(&mut Writer<'_>) -> fmt::Result;

fn time_of_day(to: &mut Writer<'_>) -> fmt::Result {
    write!(to, "{}", now().to_zoned(TimeZone::system()).strftime("%H:%M:%S%.3f"))
}

fn timestamp(to: &mut Writer<'_>) -> fmt::Result {
    write!(to, "{}", now())
}
