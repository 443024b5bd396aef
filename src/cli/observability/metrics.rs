//! `aof metrics`

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use serde_json::json;

use crate::cli::error::CliError;
use crate::cli::render::findings;
use crate::cli::session::Session;
use crate::files::printable::inert;
use crate::observability::exposition::{Format, render, value};
use crate::observability::metrics::numbers::numbers;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
docs/reference/metrics.md explains the metrics. `aof watch --metrics ADDRESS` serves them.

Where no watcher runs, cron can hand them to the node exporter's textfile collector:
  * * * * *  aof -C /path/to/project metrics --output /var/lib/node_exporter/textfile/aof.prom")]
pub(crate) struct MetricsArgs {
    /// Write them to this file instead, whole or not at all; `-` is standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Their format: `text` or `openmetrics`
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        hide_possible_values = true,
        conflicts_with = "json"
    )]
    format: MetricsFormat,
}

/// How metrics are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MetricsFormat {
    /// Prometheus' own format
    Text,
    /// `OpenMetrics`
    #[value(name = "openmetrics")]
    OpenMetrics,
}

pub(crate) fn run(session: &Session, args: &MetricsArgs) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("metrics")?;
    let in_force = session.rules(&workspace)?;
    let numbers = numbers(&workspace, &in_force)?;
    let ages = numbers.ages(workspace.now());
    let families = numbers.families.iter().chain([&ages]);
    let text = match args.format {
        _ if session.output.is_json() => {
            session.output.document(json!({"metrics": value(families)}))
        }
        MetricsFormat::Text => render(families, Format::Text),
        MetricsFormat::OpenMetrics => render(families, Format::OpenMetrics),
    };
    match args.output.as_ref().filter(|path| path.as_os_str() != "-") {
        None => session.output.print(&text),
        Some(path) => {
            let path = session.directory.join(path);
            replace(&path, &text).map_err(|cause| CliError::output(&path, &cause))?;
        }
    }
    if let Some(error) = &numbers.untold {
        let error = inert(&error.to_string());
        session.warn(&format!("what only the event stream tells is left out: {error}"));
    }
    // The metrics count unreadable files as they were last committed.
    Ok(findings::tell_unreadable(session, &numbers.unreadable))
}

/// Replaces the file at once, so that a collector never reads half of it. Its permissions stay.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let (path, mode) = match fs::metadata(path) {
        Ok(found) if !found.is_file() => return Err(io::Error::other("it is no file")),
        Ok(found) => (fs::canonicalize(path)?, found.permissions()),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            (path.to_owned(), Permissions::from_mode(0o644))
        }
        Err(cause) => return Err(cause),
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(io::Error::other("there is no such folder"));
    }
    let mut file =
        tempfile::Builder::new().prefix(".aof-metrics-").permissions(mode).tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist(&path)?;
    Ok(())
}
