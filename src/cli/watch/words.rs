//! What the watcher did, or met, in words, for people: a line, and what belongs under it.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::Value;

use super::command::{Again, polling};
use crate::cli::render::output::{BOLD, CYAN, RED, YELLOW, styled};
use crate::cli::render::{assignments, expired};
use crate::cli::session::Session;
use crate::cli::task::shown::followed;
use crate::domain::TaskId;
use crate::files::diagnostic::diagnostic::{Diagnostic, render_all};
use crate::files::printable::inert;
use crate::git::CommitId;
use crate::history::lost_steps::PutBack;
use crate::history::sync::outcome::Synced;
use crate::project::error::error::OpsError;
use crate::storage::layout::{BRANCH, INBOX};
use crate::tasks::apply::change::Changed;
use crate::tasks::inbox::recipient::Delivered;
use crate::tasks::view::changed::way;
use crate::watch::report::{EventSource, Report};

/// Returns the words for an event.
#[expect(clippy::too_many_lines, reason = "one arm for each case")]
pub(crate) fn words_of(session: &Session, report: &Report, again: Again) -> String {
    let warning = styled(YELLOW, "warning:");
    match report {
        Report::Watching { project, branch, sight } => watching(project, branch.as_deref(), sight),
        Report::Serving { address, exposed } => serving(address, *exposed),
        Report::Uncounted { problem } => {
            format!("{warning} metrics are not up to date: {}", inert(problem))
        }
        Report::EventSource(sight) => polling(sight)
            .map_or_else(|| "file events work again".to_owned(), |why| format!("{warning} {why}")),
        Report::Delivered(Delivered::Completed { completed, name }) => {
            let changed = &completed.changed;
            let visit = changed.after.task.history.last();
            if changed.settled {
                return format!(
                    "{}  `{}` had counted already",
                    named(&changed.after.task.id),
                    flat(name)
                );
            }
            let outcome = visit.map(|visit| visit.outcome.to_string()).unwrap_or_default();
            let agent =
                visit.and_then(|visit| visit.agent.as_ref()).map(|agent| format!(" by {agent}"));
            let text = format!(
                "{}  {} ({outcome}){}",
                named(&changed.after.task.id),
                inert(&way(changed)),
                agent.unwrap_or_default()
            );
            with_warnings(text, changed)
        }
        Report::Delivered(Delivered::Refused { name, reason, path }) => {
            let message = reason["message"].as_str().unwrap_or_default();
            let place = project_path(path);
            format!(
                "{} `{}`: {}{}\nit is now `{place}`, with the whole reason in `{place}.reason.json`",
                styled(RED, "refused"),
                flat(name),
                first_line(message),
                hint(session, reason)
            )
        }
        Report::Delivered(Delivered::Waiting { name, error }) => {
            format!("{} `{}`: {}", styled(YELLOW, "waiting"), flat(name), told(session, error))
        }
        Report::Adopted(changed) => with_warnings(
            format!("{}  adopted{}", named(&changed.after.task.id), at_gate(changed)),
            changed,
        ),
        Report::Passed(changed) => {
            format!("{}  went on by itself, now{}", named(&changed.after.task.id), at_gate(changed))
        }
        Report::TimedOut(changed) => {
            format!("{}  {}", named(&changed.after.task.id), inert(&expired::timed_out(changed)))
        }
        Report::Lapsed(changed) => {
            format!("{}  {}", named(&changed.after.task.id), inert(&expired::lapsed(changed)))
        }
        Report::Followed(changed) => {
            format!("{}  {}", named(&changed.after.task.id), inert(&followed(changed)))
        }
        Report::Moved(changed) => {
            format!(
                "{}  moved to `{}`, where it belongs",
                named(&changed.after.task.id),
                inert(changed.path.folder())
            )
        }
        Report::Committed(changed) => {
            format!("{}  edited by hand, committed", named(&changed.after.task.id))
        }
        Report::CaughtUp { files } => caught_up(files),
        Report::PutBack(put) => put_back(put),
        Report::TakenBack { problem, fix } => {
            format!("{} {}\n  {}", styled(YELLOW, "needs a look:"), inert(problem), inert(fix))
        }
        Report::Given(given) => {
            format!("{}  {}", styled(CYAN, &given.ticket), assignments::given(given))
        }
        Report::Dependent(dependent) => {
            format!("{}  {}", named(&dependent.task), inert(&assignments::dependent(dependent)))
        }
        Report::Troubled { task, error } => {
            format!("{}  {} {}", named(task), styled(YELLOW, "needs a look:"), told(session, error))
        }
        Report::Stray { path, reason } => {
            format!("{warning} `{}` is no task: {}", inert(path), inert(reason))
        }
        Report::RulesInForce { commit } => {
            format!("new rules in force, of commit {}", short(commit))
        }
        Report::RulesInvalid { in_force, diagnostics } => format!(
            "{} the committed rules are invalid; those of commit {} stay in force\n{}",
            styled(RED, "error:"),
            short(in_force),
            diagnosed(session, diagnostics)
        ),
        Report::RulesUncommitted { files } => {
            format!(
                "{} differs from what is committed; it counts once it is committed",
                inert(&files.join(", "))
            )
        }
        Report::Undelivered { problem } => {
            format!("{warning} a notice could not be delivered: {}", inert(problem))
        }
        Report::Unrecorded { problem } => {
            format!("{warning} the event stream is not up to date: {}", inert(problem))
        }
        Report::Synced(synced) => of_sync(synced),
        Report::Unsynced { problem, fix } => unsynced(session, problem, fix.as_deref()),
        Report::Paused { reason } => {
            format!("{} {}", styled(YELLOW, "waiting:"), inert(&session.git_said(reason.clone())))
        }
        Report::Trouble(error) => {
            let again = if again == Again::UntilItWorks {
                "\nit is tried again until it works"
            } else {
                ""
            };
            format!("{} {}{again}", styled(RED, "error:"), told(session, error))
        }
        Report::Resumed => styled(BOLD, "going on"),
        Report::Stopped => "stopped".to_owned(),
    }
}

/// Returns what is said of a change, and below it what is worth mending.
fn with_warnings(mut text: String, changed: &Changed) -> String {
    for warned in &changed.warnings {
        text.push_str(&format!("\n{} {}", styled(YELLOW, "warning:"), inert(&warned.message())));
    }
    text
}

fn watching(project: &Path, branch: Option<&str>, sight: &EventSource) -> String {
    let branch = branch.map(|branch| format!(" on branch `{}`", inert(branch))).unwrap_or_default();
    let sight = polling(sight)
        .map(|why| format!("\n{} {why}", styled(YELLOW, "warning:")))
        .unwrap_or_default();
    format!(
        "watching `{}`{branch}; drop completion files into `{}/`{sight}",
        inert(&project.display().to_string()),
        if project.ends_with(BRANCH) { format!("{BRANCH}/{INBOX}") } else { INBOX.to_owned() }
    )
}

fn caught_up(files: &[String]) -> String {
    let files = inert(&files.join(", "));
    format!(
        "git's index had an earlier version of {files}, as a command of git's leaves it that was overtaken; it has what is committed again"
    )
}

fn put_back(put: &PutBack) -> String {
    let steps =
        if put.steps == 1 { "1 step is".to_owned() } else { format!("{} steps are", put.steps) };
    let tasks = inert(&put.tasks.join(", "));
    format!(
        "{steps} on the branch again, which a command of git's that was overtaken had taken off it: {tasks}"
    )
}

fn of_sync(synced: &Synced) -> String {
    let (name, came, went) = (inert(&synced.upstream.name()), synced.came.len(), synced.went.len());
    let mut text = format!("synced with {name}: {came} came, {went} went");
    for loss in &synced.superseded {
        text.push_str("\n  superseded: ");
        text.push_str(&inert(&loss.what));
    }
    text
}

fn unsynced(session: &Session, problem: &str, fix: Option<&str>) -> String {
    let said = |text: &str| inert(&session.git_said(text.to_owned()));
    let fix = fix.map(|fix| format!("\n  {}", said(fix))).unwrap_or_default();
    format!("{} not synced: {}{fix}", styled(YELLOW, "warning:"), said(problem))
}

/// Returns where metrics are, and what follows from that.
fn serving(address: &SocketAddr, exposed: bool) -> String {
    let text = format!("metrics at http://{address}/metrics");
    if !exposed {
        return text;
    }
    let warning = styled(YELLOW, "warning:");
    let port = address.port();
    format!(
        "{text}\n{warning} whoever reaches this machine can read them; `--metrics 127.0.0.1:{port}` is for this machine alone"
    )
}

/// Returns what is wrong, with the way out.
fn told(session: &Session, error: &OpsError) -> String {
    let mut text = inert(&session.git_said(error.to_string()));
    if let OpsError::UnreadableTask { diagnostics, .. } | OpsError::InvalidRules(diagnostics) =
        error
    {
        text.push_str(&format!("\n{}", diagnosed(session, diagnostics)));
    }
    if let Some(fix) = error.fix() {
        text.push_str(&format!("\n{}", inert(&session.git_said(fix))));
    }
    text
}

fn diagnosed(session: &Session, diagnostics: &[Diagnostic]) -> String {
    render_all(diagnostics, session.output.paint()).trim_end().to_owned()
}

/// Returns the sentence that a reason begins with; the rest stands beside the refused file.
fn first_line(text: &str) -> String {
    inert(text.lines().next().unwrap_or_default())
}

/// Returns what to do about a refused file, on a line of its own: what is wrong with its text says it best.
fn hint(session: &Session, reason: &Value) -> String {
    let help = reason["diagnostics"].as_array().and_then(|found| found.first()?["help"].as_str());
    let fix = || reason["message"].as_str().and_then(|message| Some(message.split_once("\n\n")?.1));
    match help.or_else(fix).map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => format!(
            "\n{} {}",
            styled(BOLD, "hint:"),
            first_line(&session.git_said(text.to_owned()))
        ),
        None => String::new(),
    }
}

fn project_path(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!(".aof/refused/{}", flat(&name))
}

/// Returns a name on one line: files may have line breaks in theirs.
fn flat(name: &str) -> String {
    inert(&name.replace('\n', "\\n"))
}

fn named(id: &TaskId) -> String {
    styled(CYAN, id)
}

fn short(commit: &CommitId) -> String {
    commit.to_string()[..7].to_owned()
}

fn at_gate(changed: &Changed) -> String {
    let task = &changed.after.task;
    task.gate
        .as_ref()
        .map_or_else(|| format!(" {}", task.status), |open| format!(" at {}", open.current))
}
