//! `aof demo`

use std::collections::{HashMap, HashSet};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::script::{DemoAct, acts};
use super::stage::DemoStage;
use crate::cli::error::CliError;
use crate::cli::output::{Output, bold, cyan, green, red, yellow};
use crate::cli::session::Session;
use crate::domain::TaskId;
use crate::files::printable::inert;

/// How long the whole demo may take.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Keep the project, and say where it is
    #[arg(long)]
    keep: bool,
}

pub(crate) fn run(session: &Session, args: &DemoArgs) -> Result<ExitCode, CliError> {
    let output = session.output;
    let mut stage = DemoStage::build()?;
    let played = play(output, &mut stage);
    let kept = args.keep.then(|| stage.keep());
    played?;
    match kept {
        Some(folder) => output.line(format!("\nThe project is in {}", folder.display())),
        None => output
            .line("\nThe project is gone again; `aof demo --keep` leaves it for you to look at."),
    }
    output.line("Start your own with `aof init`.");
    Ok(ExitCode::SUCCESS)
}

fn play(output: Output, stage: &mut DemoStage) -> Result<(), CliError> {
    heading(output, "A project: the gates of its workflow, committed");
    output.line(
        "    implement -> docs (if tagged `docs`) -> code-review (may reject) -> approve (a person)",
    );
    heading(output, "Two tasks");
    let login = new_task(output, stage, "Add a login form", &[])?;
    let guide = new_task(output, stage, "Explain the login in the guide", &["--tag", "docs"])?;

    heading(output, "A watcher, and agents that drop completion files into `.aof/inbox/`");
    follow(output, stage, &login, &guide)?;
    stage.stop_watcher();

    heading(output, "The log of git: every transition is a commit");
    print(output, &stage.git(&["log", "--oneline", "tasks/"])?);
    heading(output, &format!("One task's history: `aof task history {login}`"));
    print(output, &stage.aof(None, &["task", "history", login.as_str()])?);
    heading(output, "One transition, as git shows it: the rejection");
    let rejection = format!("--grep=^{login}: code-review -> implement");
    let commit = stage.git(&["log", "--format=%h", &rejection, "tasks/"])?;
    let format = "--format=commit %h by %an%n%n%w(0,4,4)%B";
    print(output, &stage.git(&["show", format, commit.trim()])?);
    Ok(())
}

fn new_task(
    output: Output,
    stage: &DemoStage,
    title: &str,
    more: &[&str],
) -> Result<TaskId, CliError> {
    let made = stage.aof(None, &[&["--json", "task", "new", title], more].concat())?;
    let value: Value = serde_json::from_str(&made).unwrap_or_default();
    let id = value["id"].as_str().unwrap_or_default().parse()?;
    output.line(format!("    {}  {title}", cyan(&id)));
    Ok(id)
}

/// Plays the agents and the person, until one task is approved and the other waits for approval.
fn follow(
    output: Output,
    stage: &mut DemoStage,
    login: &TaskId,
    guide: &TaskId,
) -> Result<(), CliError> {
    let deadline = Instant::now() + PATIENCE;
    let events = stage.start_watcher()?;
    let mut left = acts(login, guide);
    // How many visits each task has behind it, and which files were refused.
    let (mut visits, mut refused) = (HashMap::<String, usize>::new(), HashSet::<String>::new());
    let (mut approved, mut guide_waits) = (false, false);
    while !(approved && guide_waits) {
        let is_due = |act: &mut DemoAct| {
            visits.get(act.task.as_str()).copied().unwrap_or(0) == act.visit
                && act.after.is_none_or(|file| refused.contains(file))
        };
        for act in left.extract_if(.., is_due) {
            output.line(format!("    {} drops `{}`: {}", speaker(act.agent), act.file, act.says));
            stage.drop_file(act.file, &act.text)?;
        }
        let time = deadline.saturating_duration_since(Instant::now());
        let event =
            events.recv_timeout(time).map_err(|_| stage.stuck("nothing happened any more"))?;
        if let Some(line) = event_line(&event) {
            output.line(format!("      {line}"));
        }
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        match event["event"].as_str() {
            Some("completed") => *visits.entry(text("task")).or_default() += 1,
            Some("refused") => drop(refused.insert(text("file"))),
            _ => {}
        }
        let waits = |task: &TaskId| event["task"] == task.as_str() && event["gate"] == "approve";
        guide_waits |= waits(guide);
        if waits(login) {
            let id = login.as_str();
            let (who, summary) = ("human-alice", "Tried it; ship it");
            let typed = format!("task complete {id} -o complete -s \"{summary}\"");
            output.line(format!("    {} `aof {typed}`", speaker(who)));
            let words = ["task", "complete", id, "-o", "complete", "-s", summary];
            let said = stage.aof(Some(who), &words)?;
            output.line(format!("      {}", green(said.lines().next().unwrap_or_default())));
            approved = true;
        }
    }
    Ok(())
}

fn event_line(event: &Value) -> Option<String> {
    let text = |key: &str| event[key].as_str().map(inert).unwrap_or_default();
    match event["event"].as_str()? {
        "completed" => {
            let to = event["gate"].as_str().map_or_else(|| "end".to_owned(), inert);
            let line = format!("{}  {} -> {to} ({})", text("task"), text("from"), text("outcome"));
            Some(if text("outcome") == "needs_review" { yellow(line) } else { green(line) })
        }
        "refused" => {
            let message = event["reason"]["message"].as_str().unwrap_or_default();
            let lines = message.lines().filter(|line| !line.trim().is_empty()).take(4).map(inert);
            let lines = lines.collect::<Vec<_>>().join("\n               ");
            Some(format!("{} {lines}", red("refused:")))
        }
        "trouble" | "waiting" | "troubled" => {
            Some(format!("{} {}", text("event"), event["reason"]))
        }
        _ => None,
    }
}

/// Returns who speaks, as wide as any of them.
fn speaker(agent: &str) -> String {
    bold(format!("{agent:<12}"))
}

fn heading(output: Output, text: &str) {
    output.line(format!("\n{}", bold(text)));
}

fn print(output: Output, text: &str) {
    for line in text.trim_end().lines() {
        output.line(format!("    {}", inert(line)).trim_end());
    }
}
