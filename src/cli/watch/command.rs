//! `aof watch`

use std::process::ExitCode;

use anstream::adapter;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tracing::Level;

use super::json::report_value;
use super::text::report_text;
use crate::cli::{
    Away, CliError, CliResult, JSON_VERSION, LogFormat, Session, exit_code, merged, now,
};
use crate::domain::Timestamp;
use crate::files::printable::one_line;
use crate::observability::endpoint::{Endpoint, address};
use crate::watch::report::Delivered;
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

pub(crate) fn run(session: &Session, args: &WatchArgs) -> CliResult {
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
            show(session, &report, false);
        })?;
        return Ok(if done { ExitCode::SUCCESS } else { failure });
    }
    let endpoint = args.metrics.as_deref().map(Endpoint::bind).transpose();
    let endpoint = endpoint.map_err(|fault| CliError::endpoint(&fault))?;
    watch(workspace, session.wait, endpoint, &mut |report| show(session, &report, true))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a report. `retries` says whether what failed is tried again.
fn show(session: &Session, report: &WatchReport, retries: bool) {
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
