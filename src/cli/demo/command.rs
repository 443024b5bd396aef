//! `aof demo`: a project of its own in a temporary folder, the real watcher, scripted agents, one person.

use super::script;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::script::{Cast, Note, Scene};
use super::stage::Stage;
use crate::cli::error::CliError;
use crate::cli::output::{BOLD, CYAN, GREEN, RED, YELLOW, styled};
use crate::cli::session::Session;
use crate::domain::TaskId;
use crate::files::printable::inert;

/// The time that the whole play may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Show tasks walking through gates, in a temporary project
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Keep the project, and say where it is
    #[arg(long)]
    keep: bool,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let mut stage = Stage::build()?;
    let played = play(session, &mut stage);
    let kept = args.keep.then(|| stage.keep());
    played?;
    match kept {
        Some(folder) => session.output.line(format!("\nThe project is in {}", folder.display())),
        None => session
            .output
            .line("\nThe project is gone again; `aof demo --keep` leaves it for you to look at."),
    }
    session.output.line("Start your own with `aof init`.");
    Ok(ExitCode::SUCCESS)
}

fn play(session: &Session, stage: &mut Stage) -> Result<(), CliError> {
    let tell = |text: &str| session.output.line(text);
    heading(session, "A project: the gates of its workflow, committed");
    tell(
        "    implement -> docs (if tagged `docs`) -> code-review (may reject) -> approve (a person)",
    );

    heading(session, "Two tasks");
    let login = new_task(session, stage, "Add a login form", &[])?;
    let guide = new_task(session, stage, "Explain the login in the guide", &["--tag", "docs"])?;

    heading(session, "A watcher, and agents that drop completion files into `.aof/inbox/`");
    let deadline = Instant::now() + PATIENCE;
    let (notes, sender) = stage.start_watcher()?;
    let cast = Cast { login: login.clone(), guide: guide.clone() };
    let scene = Arc::new(Scene::new(stage.inbox()));
    script::start_agents(&cast, &scene, deadline, &sender);
    drop(sender);
    follow(session, stage, &notes, &cast, &scene, deadline)?;
    stage.stop_watcher();

    heading(session, "What git says: every transition is a commit");
    tell(&indented(&stage.git(&["log", "--oneline", "tasks/"])?));
    heading(session, &format!("One task's history: `aof task history {login}`"));
    tell(&indented(&stage.aof(&["task", "history", login.as_str()])?));
    heading(session, "One transition, as git shows it: the rejection");
    let rejection = format!("--grep=^{login}: code-review -> implement");
    let commit = stage.git(&["log", "--format=%h", &rejection, "tasks/"])?;
    tell(&indented(&stage.git(&[
        "show",
        "--format=commit %h by %an%n%n%w(0,4,4)%B",
        commit.trim(),
    ])?));
    Ok(())
}

fn new_task(
    session: &Session,
    stage: &Stage,
    title: &str,
    more: &[&str],
) -> Result<TaskId, CliError> {
    let mut arguments = vec!["--json", "task", "new", title];
    arguments.extend(more);
    let said = stage.aof(&arguments)?;
    let value: Value = serde_json::from_str(&said).unwrap_or_default();
    let id = value["id"].as_str().unwrap_or_default().parse()?;
    session.output.line(format!("    {}  {title}", styled(CYAN, &id)));
    Ok(id)
}

/// Tells what happens until the one task is done and the other waits for the person.
fn follow(
    session: &Session,
    stage: &Stage,
    notes: &Receiver<Note>,
    cast: &Cast,
    scene: &Scene,
    deadline: Instant,
) -> Result<(), CliError> {
    let (mut approved, mut guide_waits) = (false, false);
    while !(approved && guide_waits) {
        let left = deadline.saturating_duration_since(Instant::now());
        let note =
            notes.recv_timeout(left).map_err(|_| stage.stuck("nothing happened any more"))?;
        match note {
            Note::Dropped { agent, file, says } => {
                session.output.line(format!("    {} drops `{file}`: {says}", speaker(agent)));
            }
            Note::Watcher(event) => {
                if let Some(line) = event_line(&event) {
                    session.output.line(format!("      {line}"));
                }
                scene.note(&event);
                let waits =
                    |task: &TaskId| event["task"] == task.as_str() && event["gate"] == "approve";
                guide_waits |= waits(&cast.guide);
                if waits(&cast.login) {
                    let command = [
                        "task",
                        "complete",
                        cast.login.as_str(),
                        "-o",
                        "complete",
                        "-s",
                        "Tried it; ship it",
                    ];
                    session.output.line(format!(
                        "    {} `aof {}`",
                        speaker("human-alice"),
                        [
                            "task",
                            "complete",
                            cast.login.as_str(),
                            "-o complete -s \"Tried it; ship it\""
                        ]
                        .join(" ")
                    ));
                    let said = stage.aof_as("human-alice", &command)?;
                    session.output.line(format!(
                        "      {}",
                        styled(GREEN, said.lines().next().unwrap_or_default())
                    ));
                    approved = true;
                }
            }
            Note::Stuck(what) => return Err(stage.stuck(&what)),
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
            Some(if text("outcome") == "needs_review" {
                styled(YELLOW, line)
            } else {
                styled(GREEN, line)
            })
        }
        "refused" => {
            let message = event["reason"]["message"].as_str().unwrap_or_default();
            let lines: Vec<String> =
                message.lines().filter(|line| !line.trim().is_empty()).take(4).map(inert).collect();
            Some(format!("{} {}", styled(RED, "refused:"), lines.join("\n               ")))
        }
        "trouble" | "waiting" | "troubled" => {
            Some(format!("{} {}", text("event"), event["reason"]))
        }
        _ => None,
    }
}

/// Returns who speaks, as wide as any of them.
fn speaker(agent: &str) -> String {
    styled(BOLD, format!("{agent:<12}"))
}

fn heading(session: &Session, text: &str) {
    session.output.line(format!("\n{}", styled(BOLD, text)));
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text
        .trim_end()
        .lines()
        .map(|line| format!("    {}", inert(line)).trim_end().to_owned())
        .collect();
    lines.join("\n")
}

/// Says what went wrong on the stage.
pub(crate) fn failed(what: &str, detail: &str, folder: Option<&PathBuf>) -> CliError {
    let place = folder.map(|folder| format!(" in `{}`", folder.display())).unwrap_or_default();
    CliError::refused(
        "demo_failed",
        format!("the demo got stuck{place}: {what}"),
        if detail.trim().is_empty() {
            "run it again with `aof demo --keep`".to_owned()
        } else {
            detail.trim().to_owned()
        },
    )
}
