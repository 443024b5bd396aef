//! `aof events`, `aof metrics` and `aof notices`.

pub(crate) mod stats;

use std::collections::VecDeque;
use std::fs::{self, Permissions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::ValueEnum;
use jiff::tz::TimeZone;
use serde_json::json;

use crate::cli::render::changes;
use crate::cli::{
    CliError, CliResult, PastTime, Session, bold, cyan, exact_time, first_of, green, local_time,
    now, one_of, red, yellow,
};
use crate::domain::{AgentId, EventKind, Level, TypedTask};
use crate::files::event::line::EventLine;
use crate::files::event::render::event_words;
use crate::files::printable::inert;
use crate::observability::events::catch_up::{
    EventReader, Rebuilt, StreamLine, WantedEvents, rebuild_events,
};
use crate::observability::metrics::exposition::{ExpositionFormat, render, value};
use crate::observability::metrics::families::current_numbers;
use crate::observability::notices::delivery::{
    MessageScope, OutgoingMessage, OutgoingState, deliver_notices, outgoing,
};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::Outbox;
use crate::tasks::headers::lookup;
use crate::tasks::view::phrases::day;

/// The interval at which `--follow` looks for new events.
const POLL: Duration = Duration::from_millis(200);
/// The number of past events that `--follow` shows first.
const RECENT: usize = 10;
/// The number of damaged lines that are named.
const FEW: usize = 10;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  aof events --task AOF-7qk                         the events of one task
  aof events --type gate_rejection --since 7d       what was sent back this week
  aof events --level warn --follow                  what somebody may have to look at, as it happens
  aof events --json | jq -r .event | sort | uniq -c

Events are derived from the commits, and kept in `.aof/events.jsonl`, one JSON object a line; `--json` prints these lines as they are.
`aof schema event` describes them.")]
pub(crate) struct EventsArgs {
    #[command(subcommand)]
    command: Option<EventsCommand>,
    /// Only events of this task
    #[arg(long, value_name = "ID")]
    task: Option<TypedTask>,
    /// Only events of this kind; repeatable
    #[arg(long = "type", value_name = "EVENT", hide_possible_values = true,
        value_parser = one_of::<EventKind>(EventKind::ALL.iter().map(|kind| kind.as_str())))]
    kinds: Vec<EventKind>,
    /// Only events since then: `2d`, `90m`, or a date as `2026-02-16`
    #[arg(long, value_name = "WHEN")]
    since: Option<PastTime>,
    /// Only events in which this agent has a part
    #[arg(long, value_name = "ID")]
    agent: Option<AgentId>,
    /// Only events of at least this level: `info`, `warn` or `error`
    #[arg(long, value_name = "LEVEL", hide_possible_values = true,
        value_parser = one_of::<Level>(Level::ALL.iter().map(|level| level.as_str())))]
    level: Option<Level>,
    /// Only the last N of them
    #[arg(short = 'n', long = "last", value_name = "N")]
    last: Option<usize>,
    /// Go on showing events as they happen
    #[arg(short, long)]
    follow: bool,
}

#[derive(Debug, clap::Subcommand)]
enum EventsCommand {
    /// Rebuild the stream from the commits
    ///
    /// Events that no commit tells are kept; damaged lines are removed.
    Rebuild,
}

pub(crate) fn run_events(session: &Session, args: &EventsArgs) -> CliResult {
    let workspace = session.workspace("events")?;
    if let Some(EventsCommand::Rebuild) = args.command {
        show_rebuilt(session, &rebuild_events(&workspace)?);
        return Ok(ExitCode::SUCCESS);
    }
    let task = args.task.as_ref().map(|task| lookup::task(&workspace, task));
    let wanted = WantedEvents {
        task: task.transpose()?,
        kinds: args.kinds.clone(),
        since: args.since.map(|since| since.from(now())),
        agent: args.agent.clone(),
        level: args.level,
    };
    let mut reader = EventReader::open(&workspace)?;
    if reader.is_behind {
        session.warn("the event stream lacks the newest events: it cannot be written now");
    }
    let last = args.last.or_else(|| (args.follow && args.since.is_none()).then_some(RECENT));
    let most = last.unwrap_or(usize::MAX);
    let mut recent = VecDeque::new();
    let mut log = EventLog { session, day: String::new() };
    read(session, &mut reader, &wanted, &mut |event, text| {
        if last.is_none() {
            return log.show(&event, &text);
        }
        recent.push_back((event, text));
        if recent.len() > most {
            recent.pop_front();
        }
    })?;
    for (event, text) in &recent {
        log.show(event, text);
    }
    while args.follow && !session.output.is_closed() {
        thread::sleep(POLL);
        let mut show = |event: Box<EventLine>, text: String| log.show(&event, &text);
        read(session, &mut reader, &wanted, &mut show)?;
        reader.refresh(&workspace)?;
        read(session, &mut reader, &wanted, &mut show)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Passes every wanted event written so far to `take`, and warns of damaged lines.
fn read(
    session: &Session,
    reader: &mut EventReader,
    wanted: &WantedEvents,
    take: &mut dyn FnMut(Box<EventLine>, String),
) -> CliResult<()> {
    let mut damaged = Vec::new();
    while let Some(line) = reader.next_line()? {
        match line {
            StreamLine::Damaged(number) => damaged.push(number),
            StreamLine::Event(event, text) if wanted.take(&event) => take(event, text),
            StreamLine::Event(..) => {}
        }
    }
    if !damaged.is_empty() {
        let (lines, are) =
            if damaged.len() == 1 { ("line", "is no event") } else { ("lines", "are no events") };
        session.warn(&format!(
            "{lines} {} of `.aof/events.jsonl` {are}, and skipped; `aof events rebuild` repairs it",
            first_of(&damaged, FEW)
        ));
    }
    Ok(())
}

/// The events for a person; at a terminal below headings of days.
struct EventLog<'s> {
    session: &'s Session,
    /// The last heading.
    day: String,
}

impl EventLog<'_> {
    fn show(&mut self, event: &EventLine, text: &str) {
        let (output, zone) = (self.session.output, TimeZone::system());
        if output.is_json() {
            return output.line(text);
        }
        let time = if self.session.verbose {
            exact_time(event.at)
        } else if !io::stdout().is_terminal() {
            // Each line can be read alone.
            local_time(event.at)
        } else {
            let day = day(event.at, now(), &zone);
            if day != self.day {
                output.line(bold(&day));
                self.day = day;
            }
            format!("  {}", event.at.to_zoned(zone).strftime("%H:%M"))
        };
        let task = event.text("taskId").map(|task| format!("{}  ", cyan(inert(task))));
        let level = match event.level {
            Level::Info => String::new(),
            Level::Warn => yellow("warning: "),
            Level::Error => red("error: "),
        };
        let task = task.unwrap_or_default();
        output.line(format!("{time}  {task}{level}{}", event_words(event)));
    }
}

fn show_rebuilt(session: &Session, rebuilt: &Rebuilt) {
    let Rebuilt { commits, lines, kept, damaged } = rebuilt;
    if session.output.is_json() {
        session
            .output
            .data(json!({"commits": commits, "events": lines, "kept": kept, "damaged": damaged}));
        return;
    }
    let damaged = match damaged {
        0 => String::new(),
        1 => "; 1 damaged line is gone".to_owned(),
        many => format!("; {many} damaged lines are gone"),
    };
    let kept = if *kept == 0 { String::new() } else { format!(", {kept} of them in no commit") };
    session.output.line(format!("{lines} events of {commits} commits{kept}{damaged}"));
}

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

/// The format of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MetricsFormat {
    /// Prometheus' own format
    Text,
    /// `OpenMetrics`
    #[value(name = "openmetrics")]
    OpenMetrics,
}

pub(crate) fn run_metrics(session: &Session, args: &MetricsArgs) -> CliResult {
    let workspace = session.workspace("metrics")?;
    let numbers = current_numbers(&workspace)?;
    if !matches!(numbers.events_error, Some(ProjectError::InvalidRules(_))) {
        session.rules(&workspace)?;
    }
    let ages = numbers.ages(workspace.now());
    let families = numbers.families.iter().chain([&ages]);
    let text = match args.format {
        _ if session.output.is_json() => {
            session.output.document(json!({"metrics": value(families)}))
        }
        MetricsFormat::Text => render(families, ExpositionFormat::Text),
        MetricsFormat::OpenMetrics => render(families, ExpositionFormat::OpenMetrics),
    };
    match args.output.as_ref().filter(|path| path.as_os_str() != "-") {
        None => session.output.print(&text),
        Some(path) => {
            let path = session.directory.join(path);
            replace(&path, &text).map_err(|cause| CliError::output(&path, &cause))?;
        }
    }
    if let Some(error @ ProjectError::InvalidRules(_)) = numbers.events_error {
        session
            .warn(&inert(&format!("only that is counted: {error}; see `aof workflow validate`")));
        return Ok(ExitCode::from(changes::INVALID));
    }
    if let Some(error) = &numbers.events_error {
        let error = inert(&error.to_string());
        session.warn(&format!("metrics of the event stream are left out: {error}"));
    }
    // The metrics count unreadable files by their last committed version.
    Ok(changes::tell_unreadable(session, &numbers.unreadable))
}

/// Replaces the file atomically, so that a collector never reads half of it. Keeps its permissions.
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

/// The time that one delivery may take.
const TIMEOUT: Duration = Duration::from_mins(2);

#[derive(Debug, clap::Args)]
pub(crate) struct NoticesArgs {
    /// Deliver what waits, whenever it would be tried again
    #[arg(long, conflicts_with = "forget")]
    deliver: bool,
    /// Forget the messages that were given up
    #[arg(long)]
    forget: bool,
}

pub(crate) fn run_notices(session: &Session, args: &NoticesArgs) -> CliResult {
    let workspace = session.workspace("notices")?;
    let output = session.output;
    if args.forget {
        let count = Outbox::at(&workspace.paths).forget_dropped()?;
        let were = if count == 1 { "was" } else { "were" };
        output.show(
            || json!({"forgotten": count}),
            || format!("forgot {count} that {were} given up\n"),
        );
        return Ok(ExitCode::SUCCESS);
    }
    let rounds = if args.deliver {
        deliver_notices(&workspace, MessageScope::All, TIMEOUT)?
    } else {
        Vec::new()
    };
    let delivered: usize = rounds.iter().map(|round| round.delivered).sum();
    let messages = outgoing(&workspace)?;
    let value = || {
        let mut value = json!({"notices": messages});
        if args.deliver {
            value["delivered"] = json!(delivered);
        }
        value
    };
    let text = || {
        let lines: String = messages.iter().map(line).collect();
        match (args.deliver, lines.is_empty()) {
            (true, _) => format!("delivered {delivered}\n{lines}"),
            (false, true) => "nothing waits to be delivered\n".to_owned(),
            (false, false) => lines,
        }
    };
    output.show(value, text);
    let failed = rounds.iter().any(|round| round.trouble.is_some());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Delivers the notices that are due, and warns of those that could not be delivered.
pub(crate) fn deliver_due_notices(session: &Session, workspace: &Workspace) -> CliResult<()> {
    let rounds = deliver_notices(workspace, MessageScope::Due, TIMEOUT)?;
    for trouble in rounds.into_iter().filter_map(|round| round.trouble) {
        session.warn(&format!("a notice could not be delivered: {}", inert(&trouble)));
    }
    Ok(())
}

fn line(message: &OutgoingMessage) -> String {
    let state = match (message.state, message.next) {
        (OutgoingState::Dropped, _) => red("given up"),
        (_, Some(next)) => yellow(format!("waits until {}", local_time(next))),
        (_, None) => green("due"),
    };
    let task = message.task.as_ref().map(|task| format!("{task} ")).unwrap_or_default();
    let (event, channel) = (inert(&message.event), inert(&message.channel));
    let error = message.error.as_ref().map(|error| {
        let tried = match message.attempts {
            0 => "not tried".to_owned(),
            1 => "tried once".to_owned(),
            attempts => format!("tried {attempts} times"),
        };
        format!("  {tried}: {}\n", inert(error))
    });
    format!("{task}{event} to `{channel}`: {state}\n{}", error.unwrap_or_default())
}
