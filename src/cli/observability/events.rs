//! `aof events`

use std::collections::VecDeque;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::tz::TimeZone;
use serde_json::json;

use crate::cli::error::CliError;
use crate::cli::output::{CYAN, RED, YELLOW, styled};
use crate::cli::session::Session;
use crate::cli::time::Since;
use crate::cli::time::now;
use crate::domain::{AgentId, EventKind, Level, TaskId};
use crate::files::event::line::EventLine;
use crate::files::event::summary::event_words;
use crate::files::printable::inert;
use crate::observability::events::read::{EventReader, StreamLine, WantedEvents};
use crate::observability::events::rebuild::{Rebuilt, rebuild_events};
use crate::project::workspace::Workspace;

/// How often whoever follows looks.
const LOOK: Duration = Duration::from_millis(200);
/// How many past events whoever follows is shown first.
const RECENT: usize = 10;
/// So many damaged lines are named before it is enough.
const FEW: usize = 10;

/// Show what happened: every event of the project, the newest last
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  aof events --task AOF-7qk                         the story of one task
  aof events --type gate_rejection --since 7d       what was sent back this week
  aof events --level warn --follow                  what somebody may have to look at, as it happens
  aof events --json | jq -r .event | sort | uniq -c

Events are told by the commits, and kept in `.aof/events.jsonl`, one JSON object a line; `--json` prints these lines as they are.
`aof schema event` says what is in them.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Only events of this task
    #[arg(long, value_name = "ID")]
    task: Option<TaskId>,
    /// Only events of this kind; repeatable
    #[arg(long = "type", value_name = "EVENT", value_parser = kind(), hide_possible_values = true)]
    kinds: Vec<EventKind>,
    /// Only events since then: `2d`, `90m`, or a date as `2026-02-16`
    #[arg(long, value_name = "WHEN")]
    since: Option<Since>,
    /// Only events in which this agent has a part
    #[arg(long, value_name = "ID")]
    agent: Option<AgentId>,
    /// Only events that are at least as bad: `info`, `warn` or `error`
    #[arg(long, value_name = "LEVEL", value_parser = level(), hide_possible_values = true)]
    level: Option<Level>,
    /// Only the last N of them
    #[arg(short = 'n', long = "last", value_name = "N")]
    last: Option<usize>,
    /// Go on showing events as they happen
    #[arg(short, long)]
    follow: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make the stream again from what is committed
    ///
    /// What is in no commit is kept; damaged lines are gone afterwards.
    Rebuild,
}

fn kind() -> impl TypedValueParser<Value = EventKind> {
    PossibleValuesParser::new(EventKind::ALL.iter().map(|kind| kind.as_str()))
        .try_map(|word| word.parse::<EventKind>())
}

fn level() -> impl TypedValueParser<Value = Level> {
    PossibleValuesParser::new(Level::ALL.iter().map(|level| level.as_str()))
        .try_map(|word| word.parse::<Level>())
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("events")?;
    if let Some(Command::Rebuild) = args.command {
        told(session, &rebuild_events(&workspace)?);
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
    let mut show = Show { session, wanted, damaged: Vec::new() };
    let last = args.last.or_else(|| (args.follow && args.since.is_none()).then_some(RECENT));
    show.past(&mut reader, last)?;
    if args.follow {
        follow(&workspace, &mut reader, &mut show)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows what comes, until nobody looks any more.
fn follow(
    workspace: &Workspace,
    reader: &mut EventReader,
    show: &mut Show<'_>,
) -> Result<(), CliError> {
    while !show.session.output.is_closed() {
        thread::sleep(LOOK);
        show.rest(reader)?;
        reader.refresh(workspace)?;
        show.rest(reader)?;
    }
    Ok(())
}

/// Shows events.
struct Show<'s> {
    session: &'s Session,
    wanted: WantedEvents,
    damaged: Vec<u64>,
}

impl Show<'_> {
    /// Shows what is there, or the last of it.
    fn past(&mut self, reader: &mut EventReader, last: Option<usize>) -> Result<(), CliError> {
        let mut kept = VecDeque::new();
        while let Some(found) = self.next(reader)? {
            match last {
                None => self.show(&found),
                Some(last) => {
                    kept.push_back(found);
                    if kept.len() > last {
                        kept.pop_front();
                    }
                }
            }
        }
        for found in &kept {
            self.show(found);
        }
        self.warn();
        Ok(())
    }

    /// Shows what has come since.
    fn rest(&mut self, reader: &mut EventReader) -> Result<(), CliError> {
        while let Some(found) = self.next(reader)? {
            self.show(&found);
        }
        self.warn();
        Ok(())
    }

    /// Returns the next event that is wanted.
    fn next(
        &mut self,
        reader: &mut EventReader,
    ) -> Result<Option<(Box<EventLine>, String)>, CliError> {
        loop {
            match reader.next_line()? {
                None => return Ok(None),
                Some(StreamLine::Damaged(number)) => self.damaged.push(number),
                Some(StreamLine::Event(event, text)) if self.wanted.take(&event) => {
                    return Ok(Some((event, text)));
                }
                Some(StreamLine::Event(..)) => {}
            }
        }
    }

    fn show(&self, (event, text): &(Box<EventLine>, String)) {
        let output = self.session.output;
        if output.is_json() {
            return output.line(text);
        }
        let time = event.at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S");
        let task = event
            .text("taskId")
            .map(|task| format!("{}  ", styled(CYAN, inert(task))))
            .unwrap_or_default();
        let level = match event.level {
            Level::Info => String::new(),
            Level::Warn => styled(YELLOW, "warning: "),
            Level::Error => styled(RED, "error: "),
        };
        output.line(format!("{time}  {task}{level}{}", event_words(event)));
    }

    /// Names the lines that are no events, once each.
    fn warn(&mut self) {
        let damaged = std::mem::take(&mut self.damaged);
        if damaged.is_empty() {
            return;
        }
        let more = if damaged.len() > FEW {
            format!(" and {} more", damaged.len() - FEW)
        } else {
            String::new()
        };
        let named: Vec<String> = damaged.iter().take(FEW).map(ToString::to_string).collect();
        let named = named.join(", ");
        let (lines, are) =
            if damaged.len() == 1 { ("line", "is no event") } else { ("lines", "are no events") };
        self.session.warn(&format!(
            "{lines} {named}{more} of `.aof/events.jsonl` {are}, and passed over; `aof events rebuild` makes it whole again"
        ));
    }
}

fn told(session: &Session, rebuilt: &Rebuilt) {
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
