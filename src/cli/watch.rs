//! `aof watch`

use std::net::SocketAddr;
use std::process::ExitCode;

use anstream::adapter;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tracing::Level;

use super::arguments::Away;
use super::log::LogFormat;
use super::output::{BOLD, CYAN, JSON_VERSION, RED, YELLOW, styled};
use super::session::{Session, now};
use super::task::shown::followed;
use super::trouble::{self, Trouble};
use super::{handed_out, ran_out};
use crate::format::diagnostic::{Diagnostic, render_all};
use crate::format::plain::{inert, one_line};
use crate::model::{TaskId, Timestamp};
use crate::observe::endpoint::{Address, Endpoint};
use crate::ops::{Changed, Delivered, OpsError, Synced, reason_of, sync_value, warnings_value, way};
use crate::watch::{Report, Sight, watch, watch_once};

/// React to dropped completion files, edited task files and new rules
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Do what there is to do now, then stop
    #[arg(long)]
    once: bool,
    /// Serve the project in numbers at this address, under `/metrics`, for Prometheus
    #[arg(long, value_name = "ADDRESS", conflicts_with = "once")]
    metrics: Option<Address>,
    #[command(flatten)]
    away: Away,
}

pub(super) fn run(session: &Session, args: &Args) -> Result<ExitCode, Trouble> {
    let mut workspace = session.workspace_in_background("watch")?;
    workspace.network = args.away.network();
    if args.once {
        let mut failure = ExitCode::FAILURE;
        let done = watch_once(workspace, session.wait, &mut |report| {
            let is_in_vain = match &report {
                Report::Trouble(error) => trouble::code(error) == TIMED_OUT,
                Report::Paused { .. } => true,
                _ => false,
            };
            if is_in_vain {
                failure = ExitCode::from(TIMED_OUT);
            }
            show(session, &report, Again::Never);
        })?;
        return Ok(if done { ExitCode::SUCCESS } else { failure });
    }
    let mut tell = |report: Report| show(session, &report, Again::UntilItWorks);
    let endpoint = args.metrics.as_ref().map(Endpoint::bind).transpose().map_err(Trouble::Endpoint)?;
    watch(workspace, session.wait, endpoint, &mut tell)?;
    Ok(ExitCode::SUCCESS)
}

/// What becomes of what did not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    /// It is tried again.
    UntilItWorks,
    /// Whoever called tries again, or not.
    Never,
}

/// The exit code of whatever waited for others in vain.
const TIMED_OUT: u8 = 7;

/// Shows one event as one line, or as what belongs under it.
fn show(session: &Session, report: &Report, again: Again) {
    let time = now();
    if session.output.is_json() {
        let mut value = json!({"jsonVersion": JSON_VERSION, "time": time});
        if let (Value::Object(map), Value::Object(fields)) = (&mut value, said_value(session, report)) {
            map.extend(fields);
        }
        session.output.line(value.to_string());
        return;
    }
    if session.log_format == LogFormat::Json {
        session.output.line(logged(session, report, time, again).to_string());
        return;
    }
    let clock = time.to_zoned(TimeZone::system()).strftime("%H:%M:%S");
    for (at, line) in text_of(session, report, again).lines().enumerate() {
        session.output.line(if at == 0 { format!("{clock}  {line}") } else { format!("          {line}") });
    }
}

/// Returns the event as a line of a log: when, how bad, in words, and then what `--json` has of it.
fn logged(session: &Session, report: &Report, time: Timestamp, again: Again) -> Value {
    let message = adapter::strip_str(&text_of(session, report, again)).to_string();
    let mut line = json!({"timestamp": time, "level": level(report).as_str(), "message": one_line(&message)});
    if let (Value::Object(map), Value::Object(fields)) = (&mut line, said_value(session, report)) {
        // As the stream of events calls it.
        map.extend(
            fields.into_iter().map(|(key, value)| (if key == "task" { "taskId".to_owned() } else { key }, value)),
        );
    }
    line
}

fn level(report: &Report) -> Level {
    match report {
        Report::RulesInvalid { .. } | Report::Trouble(_) => Level::ERROR,
        Report::Serving { exposed: true, .. }
        | Report::Watching { sight: Sight::Polling { .. }, .. }
        | Report::Sight(Sight::Polling { .. })
        | Report::Delivered(Delivered::Refused { .. } | Delivered::Waiting { .. })
        | Report::TimedOut(_)
        | Report::Lapsed(_)
        | Report::Troubled { .. }
        | Report::Stray { .. }
        | Report::RulesUncommitted { .. }
        | Report::Undelivered { .. }
        | Report::Unrecorded { .. }
        | Report::Uncounted { .. }
        | Report::Unsynced { .. }
        | Report::Paused { .. } => Level::WARN,
        _ => Level::INFO,
    }
}

fn text_of(session: &Session, report: &Report, again: Again) -> String {
    let warning = styled(YELLOW, "warning:");
    match report {
        Report::Watching { project, branch, sight } => {
            let branch = branch.as_ref().map(|branch| format!(" on branch `{}`", inert(branch))).unwrap_or_default();
            let sight = polling(sight).map(|why| format!("\n{warning} {why}")).unwrap_or_default();
            format!(
                "watching `{}`{branch}; drop completion files into `.aof/inbox/`{sight}",
                inert(&project.display().to_string())
            )
        }
        Report::Serving { address, exposed } => serving(address, *exposed),
        Report::Uncounted { problem } => format!("{warning} metrics are not up to date: {}", inert(problem)),
        Report::Sight(sight) => {
            polling(sight).map_or_else(|| "file events work again".to_owned(), |why| format!("{warning} {why}"))
        }
        Report::Delivered(Delivered::Completed { completed, name }) => {
            let changed = &completed.changed;
            let visit = changed.after.task.history.last();
            if changed.settled {
                return format!("{}  `{}` had counted already", named(&changed.after.task.id), flat(name));
            }
            let outcome = visit.map(|visit| visit.outcome.to_string()).unwrap_or_default();
            let agent = visit.and_then(|visit| visit.agent.as_ref()).map(|agent| format!(" by {agent}"));
            let mut text = format!(
                "{}  {} ({outcome}){}",
                named(&changed.after.task.id),
                inert(&way(changed)),
                agent.unwrap_or_default()
            );
            for warned in &changed.warnings {
                text.push_str(&format!("\n{warning} {}", inert(&warned.message())));
            }
            text
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
        Report::Adopted(changed) => format!("{}  adopted{}", named(&changed.after.task.id), at_gate(changed)),
        Report::Passed(changed) => {
            format!("{}  went on by itself, now{}", named(&changed.after.task.id), at_gate(changed))
        }
        Report::TimedOut(changed) => {
            format!("{}  {}", named(&changed.after.task.id), inert(&ran_out::timed_out(changed)))
        }
        Report::Lapsed(changed) => format!("{}  {}", named(&changed.after.task.id), inert(&ran_out::lapsed(changed))),
        Report::Followed(changed) => format!("{}  {}", named(&changed.after.task.id), inert(&followed(changed))),
        Report::Moved(changed) => {
            format!("{}  moved to `{}`, where it belongs", named(&changed.after.task.id), inert(changed.path.folder()))
        }
        Report::Committed(changed) => format!("{}  edited by hand, committed", named(&changed.after.task.id)),
        Report::Given(given) => {
            format!("{}  {}", styled(CYAN, &given.ticket), handed_out::given(given))
        }
        Report::Dependent(dependent) => {
            format!("{}  {}", named(&dependent.task), inert(&handed_out::dependent(dependent)))
        }
        Report::Troubled { task, error } => {
            format!("{}  {} {}", named(task), styled(YELLOW, "needs a look:"), told(session, error))
        }
        Report::Stray { path, reason } => format!("{warning} `{}` is no task: {}", inert(path), inert(reason)),
        Report::RulesInForce { commit } => format!("new rules in force, of commit {}", short(commit)),
        Report::RulesInvalid { in_force, diagnostics } => format!(
            "{} the committed rules are invalid; those of commit {} stay in force\n{}",
            styled(RED, "error:"),
            short(in_force),
            diagnosed(session, diagnostics)
        ),
        Report::RulesUncommitted { files } => {
            format!("{} differs from what is committed; it counts once it is committed", inert(&files.join(", ")))
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
            let again = if again == Again::UntilItWorks { "\nit is tried again until it works" } else { "" };
            format!("{} {}{again}", styled(RED, "error:"), told(session, error))
        }
        Report::Resumed => styled(BOLD, "going on"),
        Report::Stopped => "stopped".to_owned(),
    }
}

/// Returns what stands for it in JSON, with commands of git as they have to be where people stand.
fn said_value(session: &Session, report: &Report) -> Value {
    let mut value = value_of(report);
    session.git_said_in(&mut value);
    if let Some(reason) = value.get_mut("reason") {
        session.git_said_in(reason);
    }
    value
}

fn value_of(report: &Report) -> Value {
    match report {
        Report::Watching { project, branch, sight } => json!({
            "event": "watching", "project": project.display().to_string(), "branch": branch, "polling": polling(sight)
        }),
        Report::Serving { address, exposed } => {
            json!({"event": "serving", "url": format!("http://{address}/metrics"), "exposed": exposed})
        }
        Report::Uncounted { problem } => json!({"event": "uncounted", "problem": problem}),
        Report::Sight(sight) => json!({"event": "sight", "polling": polling(sight)}),
        Report::Delivered(Delivered::Completed { name, completed }) => {
            let changed = &completed.changed;
            let event = if changed.settled { "settled" } else { "completed" };
            let mut value = of_change(event, changed);
            value["file"] = json!(name);
            value["warnings"] = warnings_value(&changed.warnings);
            if let Some(visit) = changed.after.task.history.last() {
                value["outcome"] = json!(visit.outcome.to_string());
                value["agent"] = json!(visit.agent.as_ref().map(ToString::to_string));
                value["from"] = json!(visit.gate.as_str());
                value["completion"] = json!(visit.completion.as_ref().map(|stamp| stamp.id.to_string()));
            }
            value
        }
        Report::Delivered(Delivered::Refused { name, reason, path }) => {
            json!({"event": "refused", "file": name, "path": path.display().to_string(), "reason": reason})
        }
        Report::Delivered(Delivered::Waiting { name, error }) => {
            json!({"event": "waiting", "file": name, "reason": reason_of(error)})
        }
        Report::Adopted(changed) => of_change("adopted", changed),
        Report::Passed(changed) => of_change("passed", changed),
        Report::TimedOut(changed) => ran_out::value("timeout", changed),
        Report::Lapsed(changed) => ran_out::value("lapsed", changed),
        Report::Followed(changed) => of_change("followed", changed),
        Report::Moved(changed) => of_change("moved", changed),
        Report::Committed(changed) => of_change("edited", changed),
        Report::Given(given) => handed_out::given_value(given),
        Report::Dependent(dependent) => handed_out::dependent_value(dependent),
        Report::Troubled { task, error } => {
            json!({"event": "troubled", "task": task.as_str(), "reason": reason_of(error)})
        }
        Report::Stray { path, reason } => json!({"event": "stray", "path": path, "reason": reason}),
        Report::RulesInForce { commit } => json!({"event": "rules_in_force", "commit": commit.to_string()}),
        Report::RulesInvalid { in_force, diagnostics } => json!({
            "event": "rules_invalid",
            "inForce": in_force.to_string(),
            "diagnostics": diagnostics.iter().map(Diagnostic::to_value).collect::<Vec<_>>(),
        }),
        Report::RulesUncommitted { files } => json!({"event": "rules_uncommitted", "files": files}),
        Report::Undelivered { problem } => json!({"event": "undelivered", "problem": problem}),
        Report::Unrecorded { problem } => json!({"event": "unrecorded", "problem": problem}),
        Report::Synced(synced) => {
            let mut value = sync_value(synced);
            value["event"] = json!("synced");
            value
        }
        Report::Unsynced { problem, fix } => json!({"event": "unsynced", "problem": problem, "fix": fix}),
        Report::Paused { reason } => json!({"event": "paused", "message": reason}),
        Report::Trouble(error) => json!({"event": "trouble", "reason": reason_of(error)}),
        Report::Resumed => json!({"event": "resumed"}),
        Report::Stopped => json!({"event": "stopped"}),
    }
}

fn of_sync(synced: &Synced) -> String {
    let (name, came, went) = (inert(&synced.upstream.name()), synced.came.len(), synced.went.len());
    let mut text = format!("synced with {name}: {came} came, {went} went");
    for loss in &synced.superseded {
        text.push_str("\n  superseded: ");
        text.push_str(&inert(loss.what()));
    }
    text
}

fn unsynced(session: &Session, problem: &str, fix: Option<&str>) -> String {
    let said = |text: &str| inert(&session.git_said(text.to_owned()));
    let fix = fix.map(|fix| format!("\n  {}", said(fix))).unwrap_or_default();
    format!("{} not synced: {}{fix}", styled(YELLOW, "warning:"), said(problem))
}

fn of_change(event: &str, changed: &Changed) -> Value {
    let task = &changed.after.task;
    json!({
        "event": event,
        "task": task.id.as_str(),
        "gate": task.gate.as_ref().map(|open| open.current.as_str()),
        "status": task.status.as_str(),
        "path": changed.path.as_str(),
        "commit": changed.commit.map(|commit| commit.to_string()),
    })
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

fn polling(sight: &Sight) -> Option<String> {
    match sight {
        Sight::Events => None,
        Sight::Polling { reason } => Some(format!("{reason}; so everything is looked at every second")),
    }
}

/// Returns what is wrong, with the way out.
fn told(session: &Session, error: &OpsError) -> String {
    let mut text = inert(&session.git_said(error.to_string()));
    if let OpsError::UnreadableTask { diagnostics, .. } | OpsError::InvalidRules(diagnostics) = error {
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
        Some(text) => format!("\n{} {}", styled(BOLD, "hint:"), first_line(&session.git_said(text.to_owned()))),
        None => String::new(),
    }
}

fn project_path(path: &std::path::Path) -> String {
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

fn short(commit: &crate::audit::CommitId) -> String {
    commit.to_string()[..7].to_owned()
}

fn at_gate(changed: &Changed) -> String {
    let task = &changed.after.task;
    task.gate.as_ref().map_or_else(|| format!(" {}", task.status), |open| format!(" at {}", open.current))
}
