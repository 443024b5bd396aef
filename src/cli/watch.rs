//! `aof watch` and `aof sweep`, with their reports as lines for people and as JSON for programs.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::thread;

use anstream::adapter;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tracing::Level;

use crate::board::web::{BoundServer, StopSender, address, metrics_router, serve};
use crate::cli::observability::deliver_due_notices;
use crate::cli::render::changes::{
    assignment_value, change_value, dependency_text, dependency_value, diagnostic_values,
    expired_claim_text, rule_change_text, show_sweep, sweep_value, tell_unreadable,
    time_limit_value, timeout_text,
};
use crate::cli::{
    CliError, CliResult, DryRunOption, JSON_VERSION, LogFormat, OfflineOption, Session, bold, cyan,
    exit_code, merged, now, painted, red, short, yellow,
};
use crate::dispatch::sweep::sweep;
use crate::files::printable::{inert, one_line};
use crate::observability::events::catch_up::catch_up_events;
use crate::project::error::{ProjectError, reason_of};
use crate::project::workspace::Workspace;
use crate::storage::layout::{BRANCH, INBOX};
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::view::task_view::{step_of, warnings_value};
use crate::watch::metrics::Metrics;
use crate::watch::report::DeliveryOutcome;
use crate::watch::report::{EventSource, WatchReport};
use crate::watch::watcher::{watch, watch_once};

/// The exit code if the command timed out waiting for others.
const TIMED_OUT: u8 = 7;

#[derive(Debug, clap::Args)]
pub(crate) struct WatchArgs {
    /// Do what there is to do now, then stop
    #[arg(long)]
    once: bool,
    /// Serve metrics for Prometheus at this address, under `/metrics`
    #[arg(long, value_name = "ADDRESS", value_parser = address, conflicts_with = "once")]
    metrics: Option<String>,
    #[command(flatten)]
    offline_option: OfflineOption,
}

pub(crate) fn run_watch(session: &Session, args: &WatchArgs) -> CliResult {
    let mut workspace = session.workspace_to_watch()?;
    workspace.network = args.offline_option.network();
    if args.once {
        let mut failure = ExitCode::FAILURE;
        let done = watch_once(workspace, session.wait, &mut |report| {
            let timed_out = match &report {
                WatchReport::Failed(error)
                | WatchReport::Delivered(DeliveryOutcome::Waiting { error, .. }) => {
                    exit_code(error) == TIMED_OUT
                }
                WatchReport::Paused { .. } => true,
                _ => false,
            };
            if timed_out {
                failure = ExitCode::from(TIMED_OUT);
            }
            show_report(session, None, &report, false);
        })?;
        return Ok(if done { ExitCode::SUCCESS } else { failure });
    }
    let (metrics, serving) = match &args.metrics {
        Some(given) => {
            let (metrics, serving) = serve_metrics(session, &workspace, given)?;
            (Some(metrics), Some(serving))
        }
        None => (None, None),
    };
    let mut tell = |report| show_report(session, None, &report, true);
    watch(workspace, session.wait, metrics, serving, &mut tell)?;
    Ok(ExitCode::SUCCESS)
}

/// Starts a server with only the metrics; it ends with the process.
fn serve_metrics(
    session: &Session,
    workspace: &Workspace,
    given: &str,
) -> CliResult<(Metrics, WatchReport)> {
    let server = BoundServer::bind(given).map_err(|fault| CliError::endpoint(&fault))?;
    let failed = |cause| CliError::input("metrics", &cause);
    let metrics = Metrics::start(workspace, session.wait).map_err(failed)?;
    let (address, exposed) = (server.address, server.is_exposed());
    let router = metrics_router(metrics.page(), exposed);
    let run = move || serve(server, router, &StopSender::default());
    thread::Builder::new().name("metrics".to_owned()).spawn(run).map_err(failed)?;
    Ok((metrics, WatchReport::Serving { address, exposed }))
}

/// Prints a report of a watcher. `retries` is true if failed steps are tried again.
pub(crate) fn show_report(
    session: &Session,
    project: Option<&str>,
    report: &WatchReport,
    retries: bool,
) {
    let time = now();
    let (level, mut fields, mut text) = shown(session, report, retries);
    if let Some(project) = project {
        fields["slug"] = json!(project);
        text = format!("{project}: {text}");
    }
    session.make_runnable(&mut fields);
    if let Some(reason) = fields.get_mut("reason") {
        session.make_runnable(reason);
    }
    if session.output.is_json() {
        let head = json!({"jsonVersion": JSON_VERSION, "time": time});
        session.output.line(merged(head, fields).to_string());
    } else if session.log_format == LogFormat::Json {
        // A log line: time, level and sentence, then the fields of `--json`.
        if let Value::Object(map) = &mut fields {
            // In the event stream, the key is `taskId`.
            let key = |key: String| if key == "task" { "taskId".to_owned() } else { key };
            *map = std::mem::take(map).into_iter().map(|(id, value)| (key(id), value)).collect();
        }
        let message = one_line(&adapter::strip_str(&text).to_string());
        let head = json!({"timestamp": time, "level": level.as_str(), "message": message});
        session.output.line(merged(head, fields).to_string());
    } else {
        let clock = time.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string();
        for (at, line) in text.lines().enumerate() {
            let clock = if at == 0 { &clock } else { "" };
            session.output.line(format!("{clock:8}  {line}"));
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Tasks follow the rules in force. Visits that took too long are escalated, claims that nobody
renewed end, and tasks are blocked or go on with their dependencies. Work is handed out where
project.yaml has `handOut`, notices are delivered, and the event stream is kept up to date.

`aof watch` does the same by itself, when it is due. Where no watcher runs, use cron:
  * * * * *  aof -C /path/to/project sweep

Any number of sweeps may run at once: everything happens once. In a synced project (`git.sync`)
what is handed out counts once the remote has it; without a network nothing is.")]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    offline_option: OfflineOption,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

pub(crate) fn run_sweep(session: &Session, args: &SweepArgs) -> CliResult {
    let mut workspace = session.workspace("sweep")?;
    workspace.network = args.offline_option.network();
    let mode = args.dry_run_option.mode();
    session.rules(&workspace)?;
    let swept = sweep(&mut workspace, session.wait, mode, &mut |_| ControlFlow::Continue(()))?;
    if session.output.is_json() {
        session.output.change_data(sweep_value(&swept), mode);
    } else {
        show_sweep(session, &swept, mode);
    }
    for (task, error) in swept.failures() {
        session.warn(&format!("{task}: {}", inert(&error.to_string())));
    }
    if let Some(error) = &swept.handed_out.unconfirmed {
        session.warn(&inert(&error.to_string()));
        if let Some(fix) = error.fix() {
            session.output.say(format!("  {}", inert(&session.runnable(fix))));
        }
    }
    if mode == DryRun::No {
        deliver_due_notices(session, &workspace)?;
        if let Err(error) = catch_up_events(&workspace) {
            let error = inert(&error.to_string());
            session.warn(&format!("the event stream is not up to date: {error}"));
        }
    }
    let code = tell_unreadable(session, &swept.ran_out.unreadable);
    let is_done = swept.failures().next().is_none() && swept.is_confirmed();
    Ok(if is_done { code } else { ExitCode::FAILURE })
}

/// A report in the form in which it is shown: its severity, its fields for programs, its sentence for people.
type ShownReport = (Level, Value, String);

/// Returns a report in the form in which it is shown. `retries` is true if failed steps are tried again.
#[expect(clippy::too_many_lines, reason = "an arm for each report")]
fn shown(session: &Session, report: &WatchReport, retries: bool) -> ShownReport {
    let runnable = |text: &str| inert(&session.runnable(text.to_owned()));
    let line = |changed: &Changed, text: String| {
        format!("{}  {}", cyan(&changed.after.task.id), inert(&text))
    };
    let of = |event: &str, changed: &Changed, text: String| {
        (Level::INFO, change_fields(event, changed), line(changed, text))
    };
    let info = |value: Value, text: String| (Level::INFO, value, text);
    let warn = |value: Value, text: String| (Level::WARN, value, warning(&text));
    let outdated = |event: &str, what: &str, problem: &str| {
        warn(json!({"event": event, "problem": problem}), format!("{what}: {}", inert(problem)))
    };
    match report {
        WatchReport::Watching { project, branch, sight } => {
            let polling = polling(sight);
            let level = if polling.is_some() { Level::WARN } else { Level::INFO };
            let on_branch = branch.as_ref().map(|branch| format!(" on branch `{}`", inert(branch)));
            let on_branch = on_branch.unwrap_or_default();
            let folder =
                if project.ends_with(BRANCH) { format!("{BRANCH}/") } else { String::new() };
            let project = project.display().to_string();
            let why = polling.as_ref().map(|why| format!("\n{}", warning(why))).unwrap_or_default();
            let text = format!(
                "watching `{}`{on_branch}; drop completion files into `{folder}{INBOX}/`{why}",
                inert(&project)
            );
            let value = json!({
                "event": "watching",
                "project": project,
                "branch": branch,
                "polling": polling,
            });
            (level, value, text)
        }
        WatchReport::StandingBy => info(
            json!({"event": "standing_by"}),
            "another `aof watch` or `aof serve` of this clone runs; this one stands by, and takes over when it ends".to_owned(),
        ),
        WatchReport::Serving { address, exposed } => {
            let url = format!("http://{address}/metrics");
            let text = format!("metrics at {url}");
            let value = json!({"event": "serving", "url": url, "exposed": exposed});
            if !exposed {
                return info(value, text);
            }
            let warning_text = format!(
                "everybody who reaches this machine can read them; with `--metrics 127.0.0.1:{}` only this machine can",
                address.port()
            );
            (Level::WARN, value, format!("{text}\n{}", warning(&warning_text)))
        }
        WatchReport::EventSource(sight) => {
            let polling = polling(sight);
            let value = json!({"event": "sight", "polling": polling});
            match polling {
                Some(why) => warn(value, why),
                None => info(value, "file events work again".to_owned()),
            }
        }
        WatchReport::Uncounted { problem } => {
            outdated("uncounted", "metrics are not up to date", problem)
        }
        WatchReport::Undelivered { problem } => {
            outdated("undelivered", "a notice could not be delivered", problem)
        }
        WatchReport::Unrecorded { problem } => {
            outdated("unrecorded", "the event stream is not up to date", problem)
        }
        WatchReport::IndexRepaired { files } => info(
            json!({"event": "index_caught_up", "files": files}),
            format!(
                "git's index had an earlier version of {}, left by a git command that raced with another one; it has HEAD's version again",
                inert(&files.join(", "))
            ),
        ),
        WatchReport::StepsRestored(put) => {
            let steps = match put.steps {
                1 => "1 step is".to_owned(),
                steps => format!("{steps} steps are"),
            };
            let tasks = inert(&put.tasks.join(", "));
            let why = "on the branch again, after a git command had dropped them";
            let value = json!({"event": "put_back", "tasks": put.tasks, "steps": put.steps});
            info(value, format!("{steps} {why}: {tasks}"))
        }
        WatchReport::StepsDropped { problem, fix } => {
            let text =
                format!("{} {}\n  {}", yellow("needs attention:"), inert(problem), inert(fix));
            (Level::WARN, json!({"event": "taken_back", "problem": problem, "fix": fix}), text)
        }
        WatchReport::Stray { path, reason } => warn(
            json!({"event": "stray", "path": path, "reason": reason}),
            format!("`{}` is no task: {}", inert(path), inert(reason)),
        ),
        WatchReport::RulesInForce { commit } => info(
            json!({"event": "rules_in_force", "commit": commit}),
            format!("new rules in force, of commit {}", short(commit)),
        ),
        WatchReport::RulesInvalid { in_force, diagnostics } => {
            let text = format!(
                "{} the committed rules are invalid; those of commit {} stay in force\n{}",
                red("error:"),
                short(in_force),
                painted(diagnostics)
            );
            let diagnostics = diagnostic_values(diagnostics);
            let event = "rules_invalid";
            let value = json!({"event": event, "inForce": in_force, "diagnostics": diagnostics});
            (Level::ERROR, value, text)
        }
        WatchReport::RulesUncommitted { files } => {
            let text = format!(
                "{} differs from what is committed; it counts once it is committed",
                inert(&files.join(", "))
            );
            (Level::WARN, json!({"event": "rules_uncommitted", "files": files}), text)
        }
        WatchReport::Synced(synced) => {
            let name = inert(&synced.upstream.name());
            let (received, pushed) = (synced.received.len(), synced.pushed.len());
            let mut text = format!("synced with {name}: {received} came, {pushed} went");
            for loss in &synced.superseded {
                text.push_str(&format!("\n  superseded: {}", inert(&loss.what)));
            }
            info(merged(synced.value(), json!({"event": "synced"})), text)
        }
        WatchReport::Unsynced { problem, fix } => {
            let below = fix.as_ref().map(|fix| format!("\n  {}", runnable(fix)));
            warn(
                json!({"event": "unsynced", "problem": problem, "fix": fix}),
                format!("not synced: {}{}", runnable(problem), below.unwrap_or_default()),
            )
        }
        WatchReport::Paused { reason } => {
            let text = format!("{} {}", yellow("waiting:"), runnable(reason));
            (Level::WARN, json!({"event": "paused", "message": reason}), text)
        }
        WatchReport::Failed(error) => {
            let again = if retries { "\nit is tried again until it works" } else { "" };
            let text = format!("{} {}{again}", red("error:"), error_text(session, error));
            (Level::ERROR, json!({"event": "trouble", "reason": reason_of(error)}), text)
        }
        WatchReport::Resumed => info(json!({"event": "resumed"}), bold("resumed")),
        WatchReport::Stopped => info(json!({"event": "stopped"}), "stopped".to_owned()),
        WatchReport::Delivered(delivered) => shown_delivery(session, delivered),
        WatchReport::Adopted(changed) => {
            let text = format!("adopted{}", at_gate(changed));
            let (level, value, text) = of("adopted", changed, text);
            let warnings = json!({"warnings": warnings_value(&changed.warnings)});
            (level, merged(value, warnings), with_warnings(text, changed))
        }
        WatchReport::Recurred(changed) => {
            of("recurred", changed, format!("created{}", at_gate(changed)))
        }
        WatchReport::Passed(changed) => {
            let text = format!("went on by itself, now{}", at_gate(changed));
            of("passed", changed, text)
        }
        WatchReport::RulesFollowed(changed) => of("followed", changed, rule_change_text(changed)),
        WatchReport::Moved(changed) => {
            let text = format!("moved to `{}`, where it belongs", changed.path.folder());
            of("moved", changed, text)
        }
        WatchReport::Committed(changed) => {
            of("edited", changed, "edited by hand, committed".to_owned())
        }
        WatchReport::TimedOut(changed) => {
            let text = line(changed, timeout_text(changed));
            (Level::WARN, time_limit_value("timeout", changed), text)
        }
        WatchReport::ClaimExpired(changed) => {
            let text = line(changed, expired_claim_text(changed));
            (Level::WARN, time_limit_value("lapsed", changed), text)
        }
        WatchReport::Assigned(given) => info(
            assignment_value(given),
            format!("{}  given to {}", cyan(&given.ticket), given.agent),
        ),
        WatchReport::DependencyChanged(change) => {
            let text = format!("{}  {}", cyan(&change.task), inert(&dependency_text(change)));
            info(dependency_value(change), text)
        }
        WatchReport::TaskFailed { task, error } => {
            let needs = yellow("needs attention:");
            let text = format!("{}  {needs} {}", cyan(task), error_text(session, error));
            let value = json!({"event": "troubled", "task": task, "reason": reason_of(error)});
            (Level::WARN, value, text)
        }
    }
}

fn shown_delivery(session: &Session, delivered: &DeliveryOutcome) -> ShownReport {
    match delivered {
        DeliveryOutcome::Completed { changed, name } => {
            let event = if changed.settled { "settled" } else { "completed" };
            let more = json!({"file": name, "warnings": warnings_value(&changed.warnings)});
            let mut value = merged(change_fields(event, changed), more);
            let visit = changed.after.task.history.last();
            if let Some(visit) = visit {
                value["outcome"] = json!(visit.outcome);
                value["agent"] = json!(visit.agent);
                value["from"] = json!(visit.gate);
                value["completion"] = json!(visit.completion.as_ref().map(|stamp| &stamp.id));
            }
            let id = cyan(&changed.after.task.id);
            if changed.settled {
                let text = format!("{id}  `{}` was counted before", on_one_line(name));
                return (Level::INFO, value, text);
            }
            let agent = visit.and_then(|visit| visit.agent.as_ref());
            let agent = agent.map(|agent| format!(" by {agent}")).unwrap_or_default();
            let text = format!("{id}  {}{agent}", inert(&step_of(changed)));
            (Level::INFO, value, with_warnings(text, changed))
        }
        DeliveryOutcome::Refused { name, reason, path } => {
            let message =
                session.with_times(&first_line(reason["message"].as_str().unwrap_or_default()));
            let place = path.file_name().unwrap_or_default().to_string_lossy();
            let place = format!(".aof/refused/{}", on_one_line(&place));
            let text = format!(
                "{} `{}`: {message}{}\nit is now `{place}`, with the whole reason in `{place}.reason.json`",
                red("refused"),
                on_one_line(name),
                hint(session, reason)
            );
            let path = path.display().to_string();
            let value = json!({"event": "refused", "file": name, "path": path, "reason": reason});
            (Level::WARN, value, text)
        }
        DeliveryOutcome::Waiting { name, error } => {
            let text = format!(
                "{} `{}`: {}",
                yellow("waiting"),
                on_one_line(name),
                error_text(session, error)
            );
            let value = json!({"event": "waiting", "file": name, "reason": reason_of(error)});
            (Level::WARN, value, text)
        }
    }
}

fn change_fields(event: &str, changed: &Changed) -> Value {
    change_value(event, changed.after.task.id.as_str(), Some(changed))
}

/// Returns the reason why the watcher polls, if it does.
fn polling(sight: &EventSource) -> Option<String> {
    match sight {
        EventSource::Events => None,
        EventSource::Polling { reason } => {
            Some(format!("{reason}; so everything is checked every second"))
        }
    }
}

fn warning(text: &str) -> String {
    format!("{} {text}", yellow("warning:"))
}

/// Returns a text with the warnings of a change below it.
fn with_warnings(mut text: String, changed: &Changed) -> String {
    for warned in &changed.warnings {
        text.push_str(&format!("\n{}", warning(&inert(&warned.message()))));
    }
    text
}

/// Returns an error, with its diagnostics and its fix below it.
fn error_text(session: &Session, error: &ProjectError) -> String {
    let mut text = inert(&session.runnable(error.to_string()));
    if let ProjectError::UnreadableTask { diagnostics, .. }
    | ProjectError::InvalidTests { diagnostics, .. }
    | ProjectError::InvalidRules(diagnostics) = error
    {
        text.push_str(&format!("\n{}", painted(diagnostics)));
    }
    if let Some(fix) = error.fix() {
        text.push_str(&format!("\n{}", inert(&session.runnable(fix))));
    }
    text
}

fn first_line(text: &str) -> String {
    inert(text.lines().next().unwrap_or_default())
}

/// Returns the fix for a refused file: the help of its first diagnostic, otherwise the second part of the message.
fn hint(session: &Session, reason: &Value) -> String {
    let help = reason["diagnostics"].as_array().and_then(|found| found.first()?["help"].as_str());
    let fix = || reason["message"].as_str().and_then(|message| Some(message.split_once("\n\n")?.1));
    match help.or_else(fix).map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => {
            format!("\n{} {}", bold("hint:"), first_line(&session.runnable(text.to_owned())))
        }
        None => String::new(),
    }
}

/// Returns a file name on one line: it may have line breaks.
fn on_one_line(name: &str) -> String {
    inert(&name.replace('\n', "\\n"))
}

fn at_gate(changed: &Changed) -> String {
    let task = &changed.after.task;
    match &task.gate {
        Some(open) => format!(" at {}", open.current),
        None => format!(" {}", task.status),
    }
}
