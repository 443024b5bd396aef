//! `aof demo`: a project in a temporary folder, the real watcher, scripted agents, one person. Nothing outside the
//! folder is read or written, and no process outlives the demo.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, IsTerminal};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cli::{CliError, CliResult, Output, Session, bold, green, red, wrapped, yellow};
use crate::domain::TaskId;
use crate::files::event::render::step_words;
use crate::files::printable::inert;
use crate::git::GitError;
use crate::storage::Paths;
use crate::storage::lock::is_watched;

/// The time that the watcher may take for one file.
const GATE_PATIENCE: Duration = Duration::from_secs(15);

/// The time that a person at a terminal has to read a step, and a scene.
const STEP: Duration = Duration::from_millis(700);
const SCENE: Duration = Duration::from_millis(2500);

const TRY: &str = "\
aof init              begin a project here, with a first task
aof new \"Add login\"   create a task
aof next              claim your next task, and read what to do";

/// The most columns of a line.
const WIDTH: usize = 80;

#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Keep the project, and say where it is
    #[arg(long)]
    keep: bool,
    /// Show all of it at once
    #[arg(long)]
    fast: bool,
}

pub(crate) fn run_demo(session: &Session, args: &DemoArgs) -> CliResult {
    let is_paced = !args.fast && std::io::stdout().is_terminal();
    let narrator = Narrator { output: session.output, is_paced };
    let mut stage = DemoStage::build()?;
    let played = play(&narrator, &mut stage);
    let kept = args.keep.then(|| stage.keep());
    played?;
    narrator.scene("Now yours");
    narrator.lines(TRY);
    match kept {
        Some(folder) => narrator.output.line(format!("The demo is in {}", folder.display())),
        None => narrator.output.line("The demo is gone; `aof demo --keep` leaves it to look at."),
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints lines that fit a terminal of 80 columns, at the speed at which a person reads.
struct Narrator {
    output: Output,
    is_paced: bool,
}

impl Narrator {
    fn pause(&self, time: Duration) {
        if self.is_paced {
            thread::sleep(time);
        }
    }

    fn scene(&self, title: &str) {
        self.pause(SCENE);
        self.output.line(format!("\n{}", bold(hung(0, title))));
    }

    fn lines(&self, text: &str) {
        for line in text.trim_end().lines() {
            self.output.line(format!("    {}", hung(4, &inert(line))).trim_end());
        }
    }

    fn says(&self, agent: &str, text: &str) {
        self.pause(STEP);
        // The name is padded to the width of the longest one.
        self.output.line(format!("    {} {}", bold(format!("{agent:<11}")), hung(16, text)));
    }
}

/// Returns the text in lines that begin `indent` columns from the left, except the first.
fn hung(indent: usize, text: &str) -> String {
    wrapped(text, WIDTH - indent).join(&below(indent))
}

fn below(indent: usize) -> String {
    format!("\n{}", " ".repeat(indent))
}

fn play(narrator: &Narrator, stage: &mut DemoStage) -> CliResult<()> {
    narrator.scene("A project: four gates, committed");
    narrator.lines("implement -> docs (if tagged `docs`) -> code-review -> approve (by a person)");
    let login = new_task(stage, "Add a login form", &[])?;
    let guide = new_task(stage, "Explain the login in the guide", &["--tag", "docs"])?;
    let events = stage.start_watcher()?;

    narrator.scene(&format!("{login}: Add a login form. Agents drop files, a watcher takes them"));
    for turn in turns_of_login(&login) {
        take(narrator, stage, &events, &turn)?;
    }
    let (person, summary) = ("human-alice", "Tried it; ship it");
    let words = ["complete", login.as_str(), "-o", "complete", "-s", summary];
    narrator.says(person, &format!("`aof complete {login} -o complete -s \"{summary}\"`"));
    let printed = stage.aof(Some(person), &words)?;
    let answer = printed.lines().next().unwrap_or_default();
    narrator.output.line(format!("      {}", green(inert(answer))));

    narrator.scene(&format!("{guide}: Explain the login. Its tag leads it through docs"));
    for turn in turns_of_guide(&guide) {
        take(narrator, stage, &events, &turn)?;
    }
    stage.stop_watcher();

    narrator.scene("Every step is a commit");
    let subject = format!("--grep=^{login}:");
    narrator.lines(&stage.git(&["log", "--format=%h %s", &subject, "tasks/"])?);
    narrator.scene("What the reviewer wanted, in the log of git");
    let rejection = format!("--grep=^{login}: code-review -> implement");
    narrator.lines(&stage.git(&["log", "--format=by %an%n%n%B", &rejection, "tasks/"])?);
    Ok(())
}

fn new_task(stage: &DemoStage, title: &str, more: &[&str]) -> CliResult<TaskId> {
    let made = stage.aof(None, &[&["--json", "new", title], more].concat())?;
    let value: Value = serde_json::from_str(&made).unwrap_or_default();
    Ok(value["id"].as_str().unwrap_or_default().parse()?)
}

/// Drops the file of a turn, and prints the watcher's answer.
fn take(
    narrator: &Narrator,
    stage: &DemoStage,
    events: &Receiver<Value>,
    turn: &DemoTurn,
) -> CliResult<()> {
    narrator.says(turn.agent, &format!("drops `{}`: {}", turn.file, turn.does));
    stage.drop_file(turn.file, &turn.text)?;
    narrator.output.line(format!("      {}", answer(stage, events, turn)?));
    Ok(())
}

/// Waits until the watcher has accepted or refused the file, and returns its answer.
fn answer(stage: &DemoStage, events: &Receiver<Value>, turn: &DemoTurn) -> CliResult<String> {
    loop {
        let event =
            events.recv_timeout(GATE_PATIENCE).map_err(|_| stage.stuck("nothing more happened"))?;
        if event["file"] != turn.file {
            continue;
        }
        let text = |value: &Value| inert(value.as_str().unwrap_or_default());
        match event["event"].as_str() {
            Some("completed") => {
                let (from, outcome) = (text(&event["from"]), text(&event["outcome"]));
                let to = event["gate"].as_str().map_or_else(|| "done".to_owned(), inert);
                let line = step_words(&from, &outcome, Some(&to));
                return Ok(if outcome == "needs_review" { yellow(line) } else { green(line) });
            }
            Some("refused") => {
                let message = text(&event["reason"]["message"]);
                let lines = message.lines().filter(|line| !line.trim().is_empty()).take(3);
                let lines: Vec<String> = lines.map(|line| hung(15, line.trim())).collect();
                return Ok(format!("{} {}", red("refused:"), lines.join(&below(15))));
            }
            _ => {}
        }
    }
}

const PROJECT: &str = "\
project:
  name: demo
workflow:
  gates:
    - id: implement
      role: developer
    - id: docs
      role: writer
      when: tags.includes('docs')
    - id: code-review
      role: reviewer
      canReject: true
    - id: approve
      role: approver
      requireHuman: true
";

const ORG: &str = "\
roles:
  developer: {agents: [agent-7]}
  writer: {agents: [agent-5]}
  reviewer: {agents: [agent-3]}
  approver: {agents: [human-alice]}
agents:
  human-alice: {email: alice@example.org}
  agent-3: {}
  agent-5: {}
  agent-7: {}
";

/// A completion file that an agent drops.
struct DemoTurn {
    agent: &'static str,
    file: &'static str,
    does: &'static str,
    text: String,
}

fn yaml(agent: &'static str, file: &'static str, task: &TaskId, summary: &str) -> DemoTurn {
    let does = "`complete`, as YAML";
    let text = format!("task: {task}\nagent: {agent}\noutcome: complete\nsummary: {summary}\n");
    DemoTurn { agent, file, does, text }
}

/// Returns the files about the login in the order in which they are dropped. The review sends the task back once.
fn turns_of_login(login: &TaskId) -> Vec<DemoTurn> {
    let json = |file, does, outcome, summary: &str, blockers: &[&str]| {
        let text = json!({"task": login, "agent": "agent-3", "outcome": outcome, "summary": summary, "blockers": blockers});
        DemoTurn { agent: "agent-3", file, does, text: text.to_string() }
    };
    let again =
        yaml("agent-7", "login-again.md", login, "Five attempts, then a pause; the test is there");
    let work = "A sixth attempt within a minute is answered with a pause of a minute.";
    let (review, why) =
        ("`needs_review`, and what has to be fixed", "Passwords can be guessed without end");
    let blockers =
        ["Limit the attempts in login.rs to five a minute", "Add a test of the sixth attempt"];
    let (unknown, read) =
        ("`approved`, which this gate does not know", "`complete`, having read the reason");
    vec![
        yaml("agent-7", "login.yaml", login, "Form, session cookie, six tests"),
        json("review.json", review, "needs_review", why, &blockers),
        DemoTurn {
            does: "`complete`, as Markdown with the work",
            text: format!("---\n{}---\n{work}\n", again.text),
            ..again
        },
        json("verdict.json", unknown, "approved", "Good now", &[]),
        json("verdict-again.json", read, "complete", "Good now", &[]),
    ]
}

fn turns_of_guide(guide: &TaskId) -> Vec<DemoTurn> {
    vec![
        yaml("agent-7", "guide.yaml", guide, "The login can be explained now"),
        yaml("agent-5", "guide-text.yaml", guide, "A page with two pictures"),
        yaml("agent-3", "guide-review.yaml", guide, "Reads well"),
    ]
}

/// The time that the watcher may take to start.
const PATIENCE: Duration = Duration::from_secs(5);

/// The project and its watcher.
struct DemoStage {
    folder: Option<TempDir>,
    project: PathBuf,
    watcher: Option<Child>,
}

impl DemoStage {
    /// Makes the project: a repository with the rules in its first commit.
    fn build() -> CliResult<Self> {
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

    /// Keeps the project's folder, and returns it.
    fn keep(&mut self) -> PathBuf {
        let folder = self.folder.take();
        folder.map_or_else(|| self.project.clone(), |folder| folder.keep().join("project"))
    }

    /// Runs git and returns its output.
    fn git(&self, arguments: &[&str]) -> CliResult<String> {
        let mut command = self.command("git");
        command.arg("--no-pager").args(arguments);
        self.finish(&mut command, &format!("git {}", arguments.join(" ")))
    }

    /// Runs aof as this agent, or without an agent, and returns its output.
    fn aof(&self, agent: Option<&str>, arguments: &[&str]) -> CliResult<String> {
        let program = std::env::current_exe()
            .map_err(|cause| self.stuck(&format!("cannot find this program: {cause}")))?;
        let mut command = self.command(program);
        command.envs(agent.map(|agent| ("AOF_AGENT", agent)));
        self.finish(command.args(arguments), &format!("aof {}", arguments.join(" ")))
    }

    /// Drops a file into the inbox as agents should: write it under a hidden name, then rename it.
    fn drop_file(&self, name: &str, text: &str) -> CliResult<()> {
        let inbox = Paths::at(&self.project).inbox();
        let hidden = inbox.join(format!(".{name}"));
        fs::write(&hidden, text)
            .and_then(|()| fs::rename(hidden, inbox.join(name)))
            .map_err(|cause| self.stuck(&format!("cannot drop `{name}`: {cause}")))
    }

    /// Starts `aof watch`, and returns its events.
    fn start_watcher(&mut self) -> CliResult<Receiver<Value>> {
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
            // The receiver is gone once the demo has ended.
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

    /// Kills the watcher, which is safe at any moment.
    fn stop_watcher(&mut self) {
        if let Some(mut watcher) = self.watcher.take() {
            let _ = watcher.kill();
            let _ = watcher.wait();
        }
    }

    /// Returns the error that the demo is stuck, with the watcher's log.
    fn stuck(&self, what: &str) -> CliError {
        let log = fs::read_to_string(self.project.with_file_name("watcher.log"));
        let log = log.ok().filter(|log| !log.trim().is_empty());
        let problem = format!("the demo got stuck in `{}`: {what}", self.project.display());
        let fix = log.unwrap_or_else(|| "run it again with `aof demo --keep`".to_owned());
        CliError::refused("demo_failed", problem, fix)
    }

    fn finish(&self, command: &mut Command, words: &str) -> CliResult<String> {
        let output = command.stdin(Stdio::null()).output().map_err(|cause| match cause.kind() {
            // Without git, another run would fail, too, and there is nothing to look at.
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

    /// Returns a command in the project that ignores the user's settings.
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
