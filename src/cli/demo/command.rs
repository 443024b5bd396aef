//! `aof demo`

use std::process::ExitCode;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use serde_json::Value;

use super::script::{Turn, turns};
use super::stage::DemoStage;
use crate::cli::{CliResult, Output, Session, bold, cyan, green, red, yellow};
use crate::domain::TaskId;
use crate::files::printable::inert;

/// How long the watcher may take with one file.
const PATIENCE: Duration = Duration::from_secs(15);

#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Keep the project, and say where it is
    #[arg(long)]
    keep: bool,
}

pub(crate) fn run(session: &Session, args: &DemoArgs) -> CliResult {
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

fn play(output: Output, stage: &mut DemoStage) -> CliResult<()> {
    let heading = |text: &str| output.line(format!("\n{}", bold(text)));
    let print = |text: &str| {
        let lines = text.trim_end().lines();
        lines.for_each(|line| output.line(format!("    {}", inert(line)).trim_end()));
    };
    heading("A project: the gates of its workflow, committed");
    print("implement -> docs (if tagged `docs`) -> code-review (may reject) -> approve (a person)");
    heading("Two tasks");
    let login = new_task(output, stage, "Add a login form", &[])?;
    let guide = new_task(output, stage, "Explain the login in the guide", &["--tag", "docs"])?;

    heading("A watcher, and agents that drop completion files into `.aof/inbox/`");
    let events = stage.start_watcher()?;
    for turn in turns(&login, &guide) {
        output.line(format!("    {} drops `{}`: {}", speaker(turn.agent), turn.file, turn.does));
        stage.drop_file(turn.file, &turn.text)?;
        output.line(format!("      {}", answer(stage, &events, &turn)?));
    }
    let (person, summary) = ("human-alice", "Tried it; ship it");
    let words = ["task", "complete", login.as_str(), "-o", "complete", "-s", summary];
    let typed = format!("aof task complete {login} -o complete -s \"{summary}\"");
    output.line(format!("    {} `{typed}`", speaker(person)));
    let said = stage.aof(Some(person), &words)?;
    output.line(format!("      {}", green(said.lines().next().unwrap_or_default())));
    stage.stop_watcher();

    heading("The log of git: every transition is a commit");
    print(&stage.git(&["log", "--oneline", "tasks/"])?);
    heading(&format!("One task's history: `aof task history {login}`"));
    print(&stage.aof(None, &["task", "history", login.as_str()])?);
    heading("One transition, as git shows it: the rejection");
    let rejection = format!("--grep=^{login}: code-review -> implement");
    let commit = stage.git(&["log", "--format=%h", &rejection, "tasks/"])?;
    let format = "--format=commit %h by %an%n%n%w(0,4,4)%B";
    print(&stage.git(&["show", format, commit.trim()])?);
    Ok(())
}

/// Returns who speaks, as wide as any of them.
fn speaker(agent: &str) -> String {
    bold(format!("{agent:<12}"))
}

fn new_task(output: Output, stage: &DemoStage, title: &str, more: &[&str]) -> CliResult<TaskId> {
    let made = stage.aof(None, &[&["--json", "task", "new", title], more].concat())?;
    let value: Value = serde_json::from_str(&made).unwrap_or_default();
    let id = value["id"].as_str().unwrap_or_default().parse()?;
    output.line(format!("    {}  {title}", cyan(&id)));
    Ok(id)
}

/// Waits until the watcher has taken or refused the file, and returns what it says.
fn answer(stage: &DemoStage, events: &Receiver<Value>, turn: &Turn) -> CliResult<String> {
    loop {
        let event =
            events.recv_timeout(PATIENCE).map_err(|_| stage.stuck("nothing happened any more"))?;
        if event["file"] != turn.file {
            continue;
        }
        let text = |value: &Value| inert(value.as_str().unwrap_or_default());
        let message = text(&event["reason"]["message"]);
        match event["event"].as_str() {
            Some("completed") => {
                let (task, from, outcome) = (&event["task"], &event["from"], &event["outcome"]);
                let to = event["gate"].as_str().map_or_else(|| "end".to_owned(), inert);
                let line = format!("{}  {} -> {to} ({})", text(task), text(from), text(outcome));
                return Ok(if outcome == "needs_review" { yellow(line) } else { green(line) });
            }
            Some("refused") => {
                let lines = message.lines().filter(|line| !line.trim().is_empty()).take(4);
                let lines = lines.collect::<Vec<_>>().join("\n               ");
                return Ok(format!("{} {lines}", red("refused:")));
            }
            _ => {}
        }
    }
}
