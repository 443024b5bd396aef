//! The temporary project of the demo, and the commands that run in it. Nothing outside the folder is read or written, and no
//! process outlives the demo.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::script::{ORG, PROJECT};
use crate::cli::{CliError, CliResult};
use crate::git::GitError;
use crate::storage::Paths;
use crate::storage::lock::is_watched;

/// How long the watcher may take to start.
const PATIENCE: Duration = Duration::from_secs(5);

/// The project and its watcher.
pub(crate) struct DemoStage {
    folder: Option<TempDir>,
    project: PathBuf,
    watcher: Option<Child>,
}

impl DemoStage {
    /// Makes the project: a repository with the rules in its first commit.
    pub(crate) fn build() -> CliResult<Self> {
        let folder = tempfile::Builder::new().prefix("aof-demo-").tempdir();
        let folder = folder
            .map_err(|cause| CliError::refused("demo_failed", cause.to_string(), "try again"))?;
        let project = folder.path().join("project");
        let stage = Self { folder: Some(folder), project, watcher: None };
        fs::create_dir(&stage.project)
            .and_then(|()| fs::write(stage.project.join("project.yaml"), PROJECT))
            .and_then(|()| fs::write(stage.project.join("org.yaml"), ORG))
            .map_err(|cause| stage.stuck(&format!("cannot write the project: {cause}")))?;
        stage.git(&["init", "--quiet", "--initial-branch=main"])?;
        stage.git(&["config", "user.name", "Alice"])?;
        stage.git(&["config", "user.email", "alice@example.org"])?;
        stage.git(&["add", "project.yaml", "org.yaml"])?;
        let message = "rules: who does what, and when it is done";
        stage.git(&["commit", "--quiet", "--no-verify", "--message", message])?;
        Ok(stage)
    }

    /// Leaves the folder, and returns it.
    pub(crate) fn keep(&mut self) -> PathBuf {
        let folder = self.folder.take();
        folder.map_or_else(|| self.project.clone(), |folder| folder.keep().join("project"))
    }

    /// Runs git and returns what it prints.
    pub(crate) fn git(&self, arguments: &[&str]) -> CliResult<String> {
        let mut command = self.command("git");
        command.arg("--no-pager").args(arguments);
        self.finish(&mut command, &format!("git {}", arguments.join(" ")))
    }

    /// Runs aof as this agent, or as nobody, and returns what it prints.
    pub(crate) fn aof(&self, agent: Option<&str>, arguments: &[&str]) -> CliResult<String> {
        let program = std::env::current_exe()
            .map_err(|cause| self.stuck(&format!("cannot find this program: {cause}")))?;
        let mut command = self.command(program);
        command.envs(agent.map(|agent| ("AOF_AGENT", agent)));
        self.finish(command.args(arguments), &format!("aof {}", arguments.join(" ")))
    }

    /// Drops a file into the inbox as agents should: write it under a hidden name, then rename it.
    pub(crate) fn drop_file(&self, name: &str, text: &str) -> CliResult<()> {
        let inbox = Paths::at(&self.project).inbox();
        let hidden = inbox.join(format!(".{name}"));
        fs::write(&hidden, text)
            .and_then(|()| fs::rename(hidden, inbox.join(name)))
            .map_err(|cause| self.stuck(&format!("cannot drop `{name}`: {cause}")))
    }

    /// Starts `aof watch`, and returns its events.
    pub(crate) fn start_watcher(&mut self) -> CliResult<Receiver<Value>> {
        let started = File::create(self.project.with_file_name("watcher.log")).and_then(|log| {
            let mut command = self.command(std::env::current_exe()?);
            command.args(["--json", "watch"]).stdout(Stdio::piped()).stderr(log).spawn()
        });
        let mut child =
            started.map_err(|cause| self.stuck(&format!("cannot start the watcher: {cause}")))?;
        let (sender, events) = channel();
        let lines = child.stdout.take().map(BufReader::new);
        self.watcher = Some(child);
        thread::spawn(move || {
            let lines = lines.into_iter().flat_map(BufRead::lines).map_while(Result::ok);
            let mut events = lines.filter_map(|line| serde_json::from_str(&line).ok());
            // The demo has ended once nobody receives any more.
            events.try_for_each(|event| sender.send(event))
        });
        let deadline = Instant::now() + PATIENCE;
        while !is_watched(&Paths::at(&self.project)) {
            if Instant::now() > deadline {
                return Err(self.stuck("the watcher did not start"));
            }
            thread::yield_now();
        }
        Ok(events)
    }

    /// Ends the watcher; it may end at any moment.
    pub(crate) fn stop_watcher(&mut self) {
        if let Some(mut watcher) = self.watcher.take() {
            let _ = watcher.kill();
            let _ = watcher.wait();
        }
    }

    /// Returns the error that the demo does not go on, with what the watcher logged.
    pub(crate) fn stuck(&self, what: &str) -> CliError {
        let log = fs::read_to_string(self.project.with_file_name("watcher.log"));
        let log = log.ok().filter(|log| !log.trim().is_empty());
        let problem = format!("the demo got stuck in `{}`: {what}", self.project.display());
        let fix = log.unwrap_or_else(|| "run it again with `aof demo --keep`".to_owned());
        CliError::refused("demo_failed", problem, fix)
    }

    fn finish(&self, command: &mut Command, words: &str) -> CliResult<String> {
        let output = command.stdin(Stdio::null()).output().map_err(|cause| match cause.kind() {
            // Another run would be no better, and there is nothing to look at.
            ErrorKind::NotFound if words.starts_with("git ") => {
                GitError::NotRun { command: words.to_owned(), cause }.into()
            }
            _ => self.stuck(&format!("cannot run `{words}`: {cause}")),
        })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let printed = [output.stderr, output.stdout].concat();
        Err(self.stuck(&format!("`{words}` failed: {}", String::from_utf8_lossy(&printed))))
    }

    /// Returns a command in the project that sees nobody's settings.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("GIT_") || text.starts_with("AOF_") {
                command.env_remove(name);
            }
        }
        command
            .current_dir(&self.project)
            .env("HOME", self.project.with_file_name("home"))
            .env_remove("XDG_CONFIG_HOME")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("NO_COLOR", "1");
        command
    }
}

impl Drop for DemoStage {
    fn drop(&mut self) {
        self.stop_watcher();
    }
}
