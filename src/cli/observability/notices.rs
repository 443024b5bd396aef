//! `aof notices`

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use crate::cli::{CliResult, Session, green, red, yellow};
use crate::files::printable::inert;
use crate::observability::notices::delivery::{Tried, deliver_notices};
use crate::observability::notices::list::{OutgoingMessage, OutgoingState, outgoing};
use crate::storage::Outbox;

/// How long one delivery may take.
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

pub(crate) fn run(session: &Session, args: &NoticesArgs) -> CliResult {
    let workspace = session.workspace("notices")?;
    let output = session.output;
    if args.forget {
        let count = Outbox::of(&workspace.paths).forget_dropped()?;
        let were = if count == 1 { "was" } else { "were" };
        output.show(
            || json!({"forgotten": count}),
            || format!("forgot {count} that {were} given up\n"),
        );
        return Ok(ExitCode::SUCCESS);
    }
    let rounds =
        if args.deliver { deliver_notices(&workspace, Tried::All, TIMEOUT)? } else { Vec::new() };
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

fn line(message: &OutgoingMessage) -> String {
    let state = match (message.state, message.next) {
        (OutgoingState::Dropped, _) => red("given up"),
        (_, Some(next)) => yellow(format!("waits until {next:.0}")),
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
