//! `aof watch`

use std::process::ExitCode;

use anstream::adapter;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tracing::Level;

use super::value::value_of;
use super::words::words_of;
use crate::cli::error;
use crate::cli::error::CliError;
use crate::cli::input::arguments::Away;
use crate::cli::log::LogFormat;
use crate::cli::render::output::JSON_VERSION;
use crate::cli::session::{Session, now};
use crate::domain::Timestamp;
use crate::files::printable::one_line;
use crate::observability::endpoint::server::{Address, Endpoint};
use crate::tasks::inbox::recipient::Delivered;
use crate::watch::report::{EventSource, Report};
use crate::watch::watch::{watch, watch_once};

/// React to dropped completion files, edited task files and new rules
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Do what there is to do now, then stop
    #[arg(long)]
    once: bool,
    /// Serve the project in numbers at this address, under `/metrics`, for Prometheus
    #[arg(long, value_name = "ADDRESS", conflicts_with = "once")]
    metrics: Option<Address>,
    #[command(flatten)]
    away: Away,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let mut workspace = session.workspace_in_background("watch")?;
    workspace.network = args.away.network();
    if args.once {
        let mut failure = ExitCode::FAILURE;
        let done = watch_once(workspace, session.wait, &mut |report| {
            let is_in_vain = match &report {
                Report::Trouble(error) | Report::Delivered(Delivered::Waiting { error, .. }) => {
                    error::code(error) == TIMED_OUT
                }
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
    let endpoint =
        args.metrics.as_ref().map(Endpoint::bind).transpose().map_err(CliError::Endpoint)?;
    watch(workspace, session.wait, endpoint, &mut tell)?;
    Ok(ExitCode::SUCCESS)
}

/// What becomes of what did not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
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
        if let (Value::Object(map), Value::Object(fields)) = (&mut value, value_of(session, report))
        {
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
    for (at, line) in words_of(session, report, again).lines().enumerate() {
        session.output.line(if at == 0 {
            format!("{clock}  {line}")
        } else {
            format!("          {line}")
        });
    }
}

/// Returns the event as a line of a log: when, how bad, in words, and then what `--json` has of it.
fn logged(session: &Session, report: &Report, time: Timestamp, again: Again) -> Value {
    let message = adapter::strip_str(&words_of(session, report, again)).to_string();
    let mut line =
        json!({"timestamp": time, "level": level(report).as_str(), "message": one_line(&message)});
    if let (Value::Object(map), Value::Object(fields)) = (&mut line, value_of(session, report)) {
        // As the stream of events calls it.
        map.extend(
            fields
                .into_iter()
                .map(|(key, value)| (if key == "task" { "taskId".to_owned() } else { key }, value)),
        );
    }
    line
}

fn level(report: &Report) -> Level {
    match report {
        Report::RulesInvalid { .. } | Report::Trouble(_) => Level::ERROR,
        Report::Serving { exposed: true, .. }
        | Report::Watching { sight: EventSource::Polling { .. }, .. }
        | Report::EventSource(EventSource::Polling { .. })
        | Report::Delivered(Delivered::Refused { .. } | Delivered::Waiting { .. })
        | Report::TimedOut(_)
        | Report::Lapsed(_)
        | Report::Troubled { .. }
        | Report::TakenBack { .. }
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

/// Returns why the watcher looks every so often, if it does.
pub(crate) fn polling(sight: &EventSource) -> Option<String> {
    match sight {
        EventSource::Events => None,
        EventSource::Polling { reason } => {
            Some(format!("{reason}; so everything is looked at every second"))
        }
    }
}
