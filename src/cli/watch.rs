//! `aof watch` and `aof sweep`: reports for people as lines, for programs as JSON.

use std::fmt::Display;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use anstream::adapter;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tracing::Level;

use crate::cli::render::changes;
use crate::cli::render::changes::{
    change_value, dependent, dependent_value, diagnostic_values, followed, given_value, lapsed,
    time_limit_value, timed_out,
};
use crate::cli::{
    Away, CliError, CliResult, JSON_VERSION, LogFormat, Rehearsal, Session, between, bold, cyan,
    exit_code, merged, now, painted, red, short, yellow,
};
use crate::dispatch::sweep::{Swept, sweep};
use crate::domain::Timestamp;
use crate::files::printable::{inert, one_line};
use crate::history::sync::outcome::Loss;
use crate::observability::events::catch_up::catch_up_events;
use crate::observability::metrics::endpoint::{Endpoint, address};
use crate::observability::notices::delivery::{Tried, deliver_notices};
use crate::project::error::ProjectError;
use crate::project::error::reason::reason_of;
use crate::storage::layout::{BRANCH, INBOX};
use crate::tasks::inbox::deliver::Delivered;
use crate::tasks::plan::choice::{Changed, DryRun};
use crate::tasks::view::changed::{warnings_value, way};
use crate::watch::report::{EventSource, WatchReport};
use crate::watch::watcher::{watch, watch_once};

/// The exit code where the command waited for others in vain.
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
    away: Away,
}

pub(crate) fn run_watch(session: &Session, args: &WatchArgs) -> CliResult {
    let mut workspace = session.workspace_in_background("watch")?;
    workspace.network = args.away.network();
    if args.once {
        let mut failure = ExitCode::FAILURE;
        let done = watch_once(workspace, session.wait, &mut |report| {
            let timed_out = match &report {
                WatchReport::Trouble(error)
                | WatchReport::Delivered(Delivered::Waiting { error, .. }) => {
                    exit_code(error) == TIMED_OUT
                }
                WatchReport::Paused { .. } => true,
                _ => false,
            };
            if timed_out {
                failure = ExitCode::from(TIMED_OUT);
            }
            show_report(session, &report, false);
        })?;
        return Ok(if done { ExitCode::SUCCESS } else { failure });
    }
    let endpoint = args.metrics.as_deref().map(Endpoint::bind).transpose();
    let endpoint = endpoint.map_err(|fault| CliError::endpoint(&fault))?;
    watch(workspace, session.wait, endpoint, &mut |report| show_report(session, &report, true))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a report. `retries` says whether what failed is tried again.
fn show_report(session: &Session, report: &WatchReport, retries: bool) {
    let time = now();
    if session.output.is_json() {
        let head = json!({"jsonVersion": JSON_VERSION, "time": time});
        session.output.line(merged(head, report_value(session, report)).to_string());
        return;
    }
    let text = report_text(session, report, retries);
    if session.log_format == LogFormat::Json {
        session.output.line(log_line(session, report, time, &text).to_string());
        return;
    }
    let clock = time.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string();
    for (at, line) in text.lines().enumerate() {
        let clock = if at == 0 { &clock } else { "" };
        session.output.line(format!("{clock:8}  {line}"));
    }
}

/// Returns a report as a line of a log: time, level and sentence, then the fields of `--json`.
fn log_line(session: &Session, report: &WatchReport, time: Timestamp, text: &str) -> Value {
    let message = one_line(&adapter::strip_str(text).to_string());
    let mut fields = report_value(session, report);
    if let Value::Object(map) = &mut fields {
        // The stream of events calls it `taskId`.
        *map = std::mem::take(map)
            .into_iter()
            .map(|(key, value)| (if key == "task" { "taskId".to_owned() } else { key }, value))
            .collect();
    }
    let level = level(report).as_str();
    merged(json!({"timestamp": time, "level": level, "message": message}), fields)
}

fn level(report: &WatchReport) -> Level {
    match report {
        WatchReport::RulesInvalid { .. } | WatchReport::Trouble(_) => Level::ERROR,
        WatchReport::Serving { exposed: true, .. }
        | WatchReport::Watching { sight: EventSource::Polling { .. }, .. }
        | WatchReport::EventSource(EventSource::Polling { .. })
        | WatchReport::Delivered(Delivered::Refused { .. } | Delivered::Waiting { .. })
        | WatchReport::TimedOut(_)
        | WatchReport::Lapsed(_)
        | WatchReport::Troubled { .. }
        | WatchReport::TakenBack { .. }
        | WatchReport::Stray { .. }
        | WatchReport::RulesUncommitted { .. }
        | WatchReport::Undelivered { .. }
        | WatchReport::Unrecorded { .. }
        | WatchReport::Uncounted { .. }
        | WatchReport::Unsynced { .. }
        | WatchReport::Paused { .. } => Level::WARN,
        _ => Level::INFO,
    }
}

/// How long the delivery of notices may take.
const NOTICES: Duration = Duration::from_mins(1);

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
    away: Away,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run_sweep(session: &Session, args: &SweepArgs) -> CliResult {
    let mut workspace = session.workspace("sweep")?;
    workspace.network = args.away.network();
    let mode = args.rehearsal.mode();
    session.rules(&workspace)?;
    let swept = sweep(&mut workspace, session.wait, mode, &mut |_| ControlFlow::Continue(()))?;
    if session.output.is_json() {
        session.output.data_of_act(sweep_value(&swept), mode);
    } else {
        show_sweep(session, &swept, mode);
    }
    for (task, error) in swept.troubled() {
        session.warn(&format!("{task}: {}", inert(&error.to_string())));
    }
    if let Some(error) = &swept.handed_out.unconfirmed {
        session.warn(&inert(&error.to_string()));
        if let Some(fix) = error.fix() {
            session.output.say(format!("  {}", inert(&session.git_said(fix))));
        }
    }
    if mode == DryRun::No {
        let rounds = deliver_notices(&workspace, Tried::Due, NOTICES)?;
        for trouble in rounds.into_iter().filter_map(|round| round.trouble) {
            session.warn(&format!("a notice could not be delivered: {}", inert(&trouble)));
        }
        if let Err(error) = catch_up_events(&workspace) {
            let error = inert(&error.to_string());
            session.warn(&format!("the event stream is not up to date: {error}"));
        }
    }
    let code = changes::tell_unreadable(session, &swept.ran_out.unreadable);
    let is_done = swept.troubled().next().is_none() && swept.is_confirmed();
    Ok(if is_done { code } else { ExitCode::FAILURE })
}

fn show_sweep(session: &Session, swept: &Swept, mode: DryRun) {
    let output = session.output;
    let remark = if mode == DryRun::Yes { " (dry run: nothing was written)" } else { "" };
    let line = |id: &dyn Display, text: &str| {
        output.line(format!("{}: {}{remark}", cyan(id), inert(text)));
    };
    let of = |changed: &Changed, text: String| line(&changed.after.task.id, &text);
    let Swept { settled, ran_out, handed_out, superseded } = swept;
    settled.changed.iter().for_each(|changed| of(changed, followed(changed)));
    ran_out.timed_out.iter().for_each(|changed| of(changed, timed_out(changed)));
    ran_out.lapsed.iter().for_each(|changed| of(changed, lapsed(changed)));
    handed_out.dependents.iter().for_each(|own| line(&own.task, &dependent(own)));
    for loss in superseded {
        let why = "superseded, because the remote had another one first";
        line(&loss.task, &format!("{why}: {}", loss.what));
    }
    for given in &handed_out.given {
        line(&given.ticket, &format!("given to {}", given.agent));
    }
    if swept.is_idle() && swept.is_confirmed() {
        output.line("nothing is due");
    }
    if handed_out.left > 0 {
        let places = match handed_out.left {
            1 => "1 place of work waits".to_owned(),
            left => format!("{left} places of work wait"),
        };
        output.line(format!("{places}: nobody has room there, or may claim it"));
    }
    if let Some(next) = ran_out.next {
        output.line(format!("the next is due in {}, at {next}", between(now(), next)));
    }
}

fn sweep_value(swept: &Swept) -> Value {
    let Swept { settled, ran_out, handed_out, superseded } = swept;
    let loss = |loss: &Loss| json!({"task": loss.task.as_str(), "what": loss.what});
    let timed_out = ran_out.timed_out.iter().map(|changed| time_limit_value("timeout", changed));
    let lapsed = ran_out.lapsed.iter().map(|changed| time_limit_value("lapsed", changed));
    let task =
        |changed: &Changed| json!({"task": changed.after.task.id, "change": followed(changed)});
    let troubled =
        swept.troubled().map(|(task, error)| json!({"task": task, "reason": reason_of(error)}));
    json!({
        "followed": settled.changed.iter().map(task).collect::<Vec<_>>(),
        "ranOut": timed_out.chain(lapsed).collect::<Vec<_>>(),
        "next": ran_out.next.map(|next| next.to_string()),
        "dependents": handed_out.dependents.iter().map(dependent_value).collect::<Vec<_>>(),
        "given": handed_out.given.iter().map(given_value).collect::<Vec<_>>(),
        "superseded": superseded.iter().map(loss).collect::<Vec<_>>(),
        "handsOut": handed_out.hands_out,
        "left": handed_out.left,
        "unconfirmed": handed_out.unconfirmed.as_ref().map(reason_of),
        "troubled": troubled.collect::<Vec<_>>(),
        "unreadable": changes::unreadable_values(&ran_out.unreadable),
    })
}

/// Returns a report as JSON, its git commands written for where the person is.
pub(crate) fn report_value(session: &Session, report: &WatchReport) -> Value {
    let mut value = value(report);
    session.git_said_in(&mut value);
    if let Some(reason) = value.get_mut("reason") {
        session.git_said_in(reason);
    }
    value
}

fn value(report: &WatchReport) -> Value {
    match report {
        WatchReport::Watching { project, branch, sight } => {
            let (project, polling) = (project.display().to_string(), polling(sight));
            json!({"event": "watching", "project": project, "branch": branch, "polling": polling})
        }
        WatchReport::Serving { address, exposed } => {
            let url = format!("http://{address}/metrics");
            json!({"event": "serving", "url": url, "exposed": exposed})
        }
        WatchReport::Uncounted { problem } => json!({"event": "uncounted", "problem": problem}),
        WatchReport::EventSource(sight) => json!({"event": "sight", "polling": polling(sight)}),
        WatchReport::Delivered(delivered) => delivered_value(delivered),
        WatchReport::Adopted(changed) => {
            let warnings = warnings_value(&changed.warnings);
            merged(of_change("adopted", changed), json!({"warnings": warnings}))
        }
        WatchReport::Passed(changed) => of_change("passed", changed),
        WatchReport::TimedOut(changed) => time_limit_value("timeout", changed),
        WatchReport::Lapsed(changed) => time_limit_value("lapsed", changed),
        WatchReport::Followed(changed) => of_change("followed", changed),
        WatchReport::Moved(changed) => of_change("moved", changed),
        WatchReport::Committed(changed) => of_change("edited", changed),
        WatchReport::CaughtUp { files } => json!({"event": "index_caught_up", "files": files}),
        WatchReport::PutBack(put) => {
            json!({"event": "put_back", "tasks": put.tasks, "steps": put.steps})
        }
        WatchReport::TakenBack { problem, fix } => {
            json!({"event": "taken_back", "problem": problem, "fix": fix})
        }
        WatchReport::Given(given) => given_value(given),
        WatchReport::Dependent(dependent) => dependent_value(dependent),
        WatchReport::Troubled { task, error } => {
            json!({"event": "troubled", "task": task, "reason": reason_of(error)})
        }
        WatchReport::Stray { path, reason } => {
            json!({"event": "stray", "path": path, "reason": reason})
        }
        WatchReport::RulesInForce { commit } => {
            json!({"event": "rules_in_force", "commit": commit})
        }
        WatchReport::RulesInvalid { in_force, diagnostics } => json!({
            "event": "rules_invalid",
            "inForce": in_force,
            "diagnostics": diagnostic_values(diagnostics),
        }),
        WatchReport::RulesUncommitted { files } => {
            json!({"event": "rules_uncommitted", "files": files})
        }
        WatchReport::Undelivered { problem } => json!({"event": "undelivered", "problem": problem}),
        WatchReport::Unrecorded { problem } => json!({"event": "unrecorded", "problem": problem}),
        WatchReport::Synced(synced) => merged(synced.value(), json!({"event": "synced"})),
        WatchReport::Unsynced { problem, fix } => {
            json!({"event": "unsynced", "problem": problem, "fix": fix})
        }
        WatchReport::Paused { reason } => json!({"event": "paused", "message": reason}),
        WatchReport::Trouble(error) => json!({"event": "trouble", "reason": reason_of(error)}),
        WatchReport::Resumed => json!({"event": "resumed"}),
        WatchReport::Stopped => json!({"event": "stopped"}),
    }
}

fn delivered_value(delivered: &Delivered) -> Value {
    match delivered {
        Delivered::Completed { name, changed } => {
            let event = if changed.settled { "settled" } else { "completed" };
            let more = json!({"file": name, "warnings": warnings_value(&changed.warnings)});
            let mut value = merged(of_change(event, changed), more);
            if let Some(visit) = changed.after.task.history.last() {
                value["outcome"] = json!(visit.outcome);
                value["agent"] = json!(visit.agent);
                value["from"] = json!(visit.gate);
                value["completion"] = json!(visit.completion.as_ref().map(|stamp| &stamp.id));
            }
            value
        }
        Delivered::Refused { name, reason, path } => {
            let path = path.display().to_string();
            json!({"event": "refused", "file": name, "path": path, "reason": reason})
        }
        Delivered::Waiting { name, error } => {
            json!({"event": "waiting", "file": name, "reason": reason_of(error)})
        }
    }
}

fn of_change(event: &str, changed: &Changed) -> Value {
    change_value(event, changed.after.task.id.as_str(), Some(changed))
}

/// Returns a report in words. `retries` says whether what failed is tried again.
#[expect(clippy::too_many_lines, reason = "an arm for each report")]
pub(crate) fn report_text(session: &Session, report: &WatchReport, retries: bool) -> String {
    let git_said = |text: &str| inert(&session.git_said(text.to_owned()));
    let of = |changed: &Changed, text: String| {
        format!("{}  {}", cyan(&changed.after.task.id), inert(&text))
    };
    match report {
        WatchReport::Watching { project, branch, sight } => {
            let branch = branch.as_ref().map(|branch| format!(" on branch `{}`", inert(branch)));
            let folder =
                if project.ends_with(BRANCH) { format!("{BRANCH}/") } else { String::new() };
            let polling = polling(sight).map(|why| format!("\n{}", warning(&why)));
            format!(
                "watching `{}`{}; drop completion files into `{folder}{INBOX}/`{}",
                inert(&project.display().to_string()),
                branch.unwrap_or_default(),
                polling.unwrap_or_default()
            )
        }
        WatchReport::Serving { address, exposed } => {
            let text = format!("metrics at http://{address}/metrics");
            let told = format!(
                "whoever reaches this machine can read them; `--metrics 127.0.0.1:{}` is for this machine alone",
                address.port()
            );
            if *exposed { format!("{text}\n{}", warning(&told)) } else { text }
        }
        WatchReport::EventSource(sight) => match polling(sight) {
            Some(why) => warning(&why),
            None => "file events work again".to_owned(),
        },
        WatchReport::Uncounted { problem } => {
            warning(&format!("metrics are not up to date: {}", inert(problem)))
        }
        WatchReport::Undelivered { problem } => {
            warning(&format!("a notice could not be delivered: {}", inert(problem)))
        }
        WatchReport::Unrecorded { problem } => {
            warning(&format!("the event stream is not up to date: {}", inert(problem)))
        }
        WatchReport::CaughtUp { files } => format!(
            "git's index had an earlier version of {}, left by a git command that another one overtook; it has what is committed again",
            inert(&files.join(", "))
        ),
        WatchReport::PutBack(put) => {
            let steps = match put.steps {
                1 => "1 step is".to_owned(),
                steps => format!("{steps} steps are"),
            };
            let tasks = inert(&put.tasks.join(", "));
            format!("{steps} on the branch again, after a git command had dropped them: {tasks}")
        }
        WatchReport::TakenBack { problem, fix } => {
            format!("{} {}\n  {}", yellow("needs a look:"), inert(problem), inert(fix))
        }
        WatchReport::Stray { path, reason } => {
            warning(&format!("`{}` is no task: {}", inert(path), inert(reason)))
        }
        WatchReport::RulesInForce { commit } => {
            format!("new rules in force, of commit {}", short(commit))
        }
        WatchReport::RulesInvalid { in_force, diagnostics } => format!(
            "{} the committed rules are invalid; those of commit {} stay in force\n{}",
            red("error:"),
            short(in_force),
            painted(diagnostics)
        ),
        WatchReport::RulesUncommitted { files } => {
            let files = inert(&files.join(", "));
            format!("{files} differs from what is committed; it counts once it is committed")
        }
        WatchReport::Synced(synced) => {
            let name = inert(&synced.upstream.name());
            let (came, went) = (synced.came.len(), synced.went.len());
            let mut text = format!("synced with {name}: {came} came, {went} went");
            for loss in &synced.superseded {
                text.push_str(&format!("\n  superseded: {}", inert(&loss.what)));
            }
            text
        }
        WatchReport::Unsynced { problem, fix } => {
            let fix = fix.as_ref().map(|fix| format!("\n  {}", git_said(fix)));
            let text = format!("not synced: {}{}", git_said(problem), fix.unwrap_or_default());
            warning(&text)
        }
        WatchReport::Paused { reason } => format!("{} {}", yellow("waiting:"), git_said(reason)),
        WatchReport::Trouble(error) => {
            let again = if retries { "\nit is tried again until it works" } else { "" };
            format!("{} {}{again}", red("error:"), error_text(session, error))
        }
        WatchReport::Resumed => bold("going on"),
        WatchReport::Stopped => "stopped".to_owned(),
        WatchReport::Delivered(delivered) => delivered_text(session, delivered),
        WatchReport::Adopted(changed) => {
            with_warnings(of(changed, format!("adopted{}", at_gate(changed))), changed)
        }
        WatchReport::Passed(changed) => {
            of(changed, format!("went on by itself, now{}", at_gate(changed)))
        }
        WatchReport::TimedOut(changed) => of(changed, timed_out(changed)),
        WatchReport::Lapsed(changed) => of(changed, lapsed(changed)),
        WatchReport::Followed(changed) => of(changed, followed(changed)),
        WatchReport::Moved(changed) => {
            of(changed, format!("moved to `{}`, where it belongs", changed.path.folder()))
        }
        WatchReport::Committed(changed) => of(changed, "edited by hand, committed".to_owned()),
        WatchReport::Given(given) => format!("{}  given to {}", cyan(&given.ticket), given.agent),
        WatchReport::Dependent(own) => format!("{}  {}", cyan(&own.task), inert(&dependent(own))),
        WatchReport::Troubled { task, error } => {
            let error = error_text(session, error);
            format!("{}  {} {error}", cyan(task), yellow("needs a look:"))
        }
    }
}

fn delivered_text(session: &Session, delivered: &Delivered) -> String {
    match delivered {
        Delivered::Completed { changed, name } => {
            let id = cyan(&changed.after.task.id);
            if changed.settled {
                return format!("{id}  `{}` had counted already", flat(name));
            }
            let visit = changed.after.task.history.last();
            let outcome = visit.map(|visit| visit.outcome.to_string()).unwrap_or_default();
            let agent = visit.and_then(|visit| visit.agent.as_ref());
            let agent = agent.map(|agent| format!(" by {agent}")).unwrap_or_default();
            let text = format!("{id}  {} ({outcome}){agent}", inert(&way(changed)));
            with_warnings(text, changed)
        }
        Delivered::Refused { name, reason, path } => {
            let message = first_line(reason["message"].as_str().unwrap_or_default());
            let place = path.file_name().unwrap_or_default().to_string_lossy();
            let place = format!(".aof/refused/{}", flat(&place));
            let (refused, name, hint) = (red("refused"), flat(name), hint(session, reason));
            format!(
                "{refused} `{name}`: {message}{hint}\nit is now `{place}`, with the whole reason in `{place}.reason.json`"
            )
        }
        Delivered::Waiting { name, error } => {
            format!("{} `{}`: {}", yellow("waiting"), flat(name), error_text(session, error))
        }
    }
}

/// Returns why the watcher polls, if it does.
pub(crate) fn polling(sight: &EventSource) -> Option<String> {
    match sight {
        EventSource::Events => None,
        EventSource::Polling { reason } => {
            Some(format!("{reason}; so everything is looked at every second"))
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

/// Returns an error with its diagnostics and the way out below it.
fn error_text(session: &Session, error: &ProjectError) -> String {
    let mut text = inert(&session.git_said(error.to_string()));
    if let ProjectError::UnreadableTask { diagnostics, .. }
    | ProjectError::InvalidRules(diagnostics) = error
    {
        text.push_str(&format!("\n{}", painted(diagnostics)));
    }
    if let Some(fix) = error.fix() {
        text.push_str(&format!("\n{}", inert(&session.git_said(fix))));
    }
    text
}

fn first_line(text: &str) -> String {
    inert(text.lines().next().unwrap_or_default())
}

/// Returns what to do about a refused file: the help of its first diagnostic, else the second part of the message.
fn hint(session: &Session, reason: &Value) -> String {
    let help = reason["diagnostics"].as_array().and_then(|found| found.first()?["help"].as_str());
    let fix = || reason["message"].as_str().and_then(|message| Some(message.split_once("\n\n")?.1));
    match help.or_else(fix).map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => {
            format!("\n{} {}", bold("hint:"), first_line(&session.git_said(text.to_owned())))
        }
        None => String::new(),
    }
}

/// Returns a name on one line: names of files may have line breaks.
fn flat(name: &str) -> String {
    inert(&name.replace('\n', "\\n"))
}

fn at_gate(changed: &Changed) -> String {
    let task = &changed.after.task;
    match &task.gate {
        Some(open) => format!(" at {}", open.current),
        None => format!(" {}", task.status),
    }
}
