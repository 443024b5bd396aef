//! What the program does, told on stderr: nothing by default, `-v` what it changes, `-vv` what it looks at, too. Set up here and
//! nowhere else; where nothing is wanted a call costs one comparison.

use std::fmt;
use std::io;

use clap::ValueEnum;
use jiff::tz::TimeZone;
use tracing::Level;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use super::session::now;

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

/// Begins to tell as much as is wanted.
pub(crate) fn begin(verbosity: u8, format: LogFormat) {
    let level = match verbosity {
        0 => return,
        1 => Level::INFO,
        _ => Level::DEBUG,
    };
    let log =
        tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr).with_target(false);
    // Somebody who set one up before is a test; theirs stays.
    let _ = match format {
        LogFormat::Text => log.compact().with_ansi(false).with_timer(Clock).try_init(),
        LogFormat::Json => log.json().flatten_event(true).with_timer(Instants).try_init(),
    };
}

/// The time of day, as the watcher has it.
struct Clock;

impl FormatTime for Clock {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        write!(writer, "{}", now().to_zoned(TimeZone::system()).strftime("%H:%M:%S%.3f"))
    }
}

/// The time for programs.
struct Instants;

impl FormatTime for Instants {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        write!(writer, "{}", now())
    }
}
