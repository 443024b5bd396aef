//! The temporary project of the demo, and the commands that are run in it. Nothing outside the folder is read or written, and
//! no process outlives it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::command::failed;
use super::script::{Note, ORG, PROJECT};
use crate::cli::error::CliError;
use crate::git::AuditError;
use crate::storage::Paths;
use crate::storage::watcher_presence::is_watched;

const STOPPING: Duration = Duration::from_secs(5);

/// The project and its watcher.
pub(crate) struct Stage {
    folder: Option<TempDir>,
    project: PathBuf,
    watcher: Option<Child>,
}

impl Stage {
    /// Makes the project: a repository with the rules in its first commit.
    pub(crate) fn build() -> Result<Self, CliError> {
        let folder = tempfile::Builder::new()
            .prefix("aof-demo-")
            .tempdir()
            .map_err(|cause| failed("make a temporary folder", &cause.to_string(), None))?;
        let project = folder.path().join("project");
        let stage = Self { folder: Some(folder), project, watcher: None };
        let write = |name: &str, text: &str| {
            fs::write(stage.project.join(name), text)
                .map_err(|cause| stage.io("write", name, &cause))
        };
        fs::create_dir(&stage.project).map_err(|cause| stage.io("make", "the folder", &cause))?;
        stage.git(&["init", "--quiet", "--initial-branch=main"])?;
        stage.git(&["config", "user.name", "Alice"])?;
        stage.git(&["config", "user.email", "alice@example.org"])?;
        write("project.yaml", PROJECT)?;
        write("org.yaml", ORG)?;
        stage.git(&["add", "project.yaml", "org.yaml"])?;
        stage.git(&[
            "commit",
            "--quiet",
            "--no-verify",
            "--message",
            "rules: who does what, and when it is done",
        ])?;
        Ok(stage)
    }

    pub(crate) fn inbox(&self) -> PathBuf {
        Paths::at(&self.project).inbox()
    }

    /// Leaves the folder, and says where it is.
    pub(crate) fn keep(&mut self) -> PathBuf {
        self.folder
            .take()
            .map_or_else(|| self.project.clone(), |folder| folder.keep().join("project"))
    }

    /// Runs git and returns what it prints.
    pub(crate) fn git(&self, arguments: &[&str]) -> Result<String, CliError> {
        self.finish(self.hermetic("git").arg("--no-pager").args(arguments), "git", arguments)
    }

    /// Runs this program and returns what it prints.
    pub(crate) fn aof(&self, arguments: &[&str]) -> Result<String, CliError> {
        self.finish(self.own()?.args(arguments), "aof", arguments)
    }

    /// Does it as that agent.
    pub(crate) fn aof_as(&self, agent: &str, arguments: &[&str]) -> Result<String, CliError> {
        self.finish(self.own()?.env("AOF_AGENT", agent).args(arguments), "aof", arguments)
    }

    /// Starts `aof watch`; what it tells arrives as notes, and so does what others send.
    pub(crate) fn start_watcher(&mut self) -> Result<(Receiver<Note>, Sender<Note>), CliError> {
        let log = self.project.with_file_name("watcher.log");
        let log = File::create(&log).map_err(|cause| self.io("write", "watcher.log", &cause))?;
        let mut child = self
            .own()?
            .args(["--json", "watch"])
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|cause| self.io("start", "the watcher", &cause))?;
        let (sender, notes) = channel();
        let lines = child.stdout.take().map(BufReader::new);
        self.watcher = Some(child);
        let told = sender.clone();
        thread::spawn(move || {
            let lines = lines.into_iter().flat_map(BufRead::lines).map_while(Result::ok);
            for event in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
                if told.send(Note::Watcher(event)).is_err() {
                    break;
                }
            }
        });
        let deadline = Instant::now() + STOPPING;
        while !is_watched(&Paths::at(&self.project)) {
            if Instant::now() > deadline {
                return Err(self.stuck("the watcher did not start"));
            }
            thread::yield_now();
        }
        Ok((notes, sender))
    }

    /// Asks the watcher to stop, and sees to it that it does.
    pub(crate) fn stop_watcher(&mut self) {
        let Some(mut child) = self.watcher.take() else { return };
        let asked =
            Command::new("sh").args(["-c", "kill -TERM \"$0\"", &child.id().to_string()]).status();
        let deadline = Instant::now()
            + if asked.is_ok_and(|status| status.success()) { STOPPING } else { Duration::ZERO };
        while matches!(child.try_wait(), Ok(None)) {
            if Instant::now() >= deadline {
                let _ = child.kill();
                let _ = child.wait();
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Says that the play does not go on, and what the watcher had to say about it.
    pub(crate) fn stuck(&self, what: &str) -> CliError {
        let log =
            fs::read_to_string(self.project.with_file_name("watcher.log")).unwrap_or_default();
        failed(what, &log, Some(&self.project))
    }

    fn finish(
        &self,
        command: &mut Command,
        name: &str,
        arguments: &[&str],
    ) -> Result<String, CliError> {
        let words = format!("`{name} {}`", arguments.join(" "));
        let output = command.stdin(Stdio::null()).output().map_err(|cause| match cause.kind() {
            // Once more would be no better, and there is nothing to look at.
            ErrorKind::NotFound if name == "git" => {
                AuditError::NotRun { command: words.trim_matches('`').to_owned(), cause }.into()
            }
            _ => self.io("run", &words, &cause),
        })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = [output.stderr, output.stdout].concat();
        Err(failed(
            &format!("{words} failed"),
            &String::from_utf8_lossy(&said),
            Some(&self.project),
        ))
    }

    fn own(&self) -> Result<Command, CliError> {
        let program =
            std::env::current_exe().map_err(|cause| self.io("find", "this program", &cause))?;
        Ok(self.hermetic(program))
    }

    /// A command in the project that sees nobody's settings.
    fn hermetic(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GIT_")
                || name.to_string_lossy().starts_with("AOF_")
            {
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

    fn io(&self, doing: &str, what: &str, cause: &std::io::Error) -> CliError {
        failed(&format!("cannot {doing} {what}: {cause}"), "", Some(&self.project))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.stop_watcher();
    }
}
