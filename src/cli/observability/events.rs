//! `aof events`

use std::collections::VecDeque;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use jiff::tz::TimeZone;
use serde_json::json;

use crate::cli::{CliResult, PastTime, Session, cyan, first_of, now, one_of, red, yellow};
use crate::domain::{AgentId, EventKind, Level, TaskId};
use crate::files::event::line::EventLine;
use crate::files::event::words::event_words;
use crate::files::printable::inert;
use crate::observability::events::read::{EventReader, StreamLine, WantedEvents};
use crate::observability::events::rebuild::{Rebuilt, rebuild_events};

/// How often `--follow` looks for new events.
const POLL: Duration = Duration::from_millis(200);
/// How many past events `--follow` shows first.
const RECENT: usize = 10;
/// How many damaged lines are named.
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
    task: Option<TaskId>,
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

pub(crate) fn run(session: &Session, args: &EventsArgs) -> CliResult {
    let workspace = session.workspace("events")?;
    if let Some(EventsCommand::Rebuild) = args.command {
        show_rebuilt(session, &rebuild_events(&workspace)?);
        return Ok(ExitCode::SUCCESS);
    }
    let wanted = WantedEvents {
        task: args.task.clone(),
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
    read(session, &mut reader, &wanted, &mut |event, text| {
        if last.is_none() {
            return show(session, &event, &text);
        }
        recent.push_back((event, text));
        if recent.len() > most {
            recent.pop_front();
        }
    })?;
    for (event, text) in &recent {
        show(session, event, text);
    }
    while args.follow && !session.output.is_closed() {
        thread::sleep(POLL);
        let mut show = |event: Box<EventLine>, text: String| show(session, &event, &text);
        read(session, &mut reader, &wanted, &mut show)?;
        reader.refresh(&workspace)?;
        read(session, &mut reader, &wanted, &mut show)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Hands over every wanted event that is there by now, and warns of damaged lines.
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

fn show(session: &Session, event: &EventLine, text: &str) {
    if session.output.is_json() {
        return session.output.line(text);
    }
    let time = event.at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S");
    let task = event.text("taskId").map(|task| format!("{}  ", cyan(inert(task))));
    let level = match event.level {
        Level::Info => String::new(),
        Level::Warn => yellow("warning: "),
        Level::Error => red("error: "),
    };
    let task = task.unwrap_or_default();
    session.output.line(format!("{time}  {task}{level}{}", event_words(event)));
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
