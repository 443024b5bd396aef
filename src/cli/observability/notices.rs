//! `aof notices`

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use crate::cli::error::CliError;
use crate::cli::output::{green, red, yellow};
use crate::cli::session::Session;
use crate::files::printable::inert;
use crate::observability::notices::delivery::{Tried, deliver_notices};
use crate::observability::notices::list::{
    OutgoingStanding, forget_dropped, outgoing, outgoing_value,
};

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

pub(crate) fn run(session: &Session, args: &NoticesArgs) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("notices")?;
    let output = session.output;
    if args.forget {
        let count = forget_dropped(&workspace)?;
        if output.is_json() {
            output.data(json!({"forgotten": count}));
        } else {
            let were = if count == 1 { "was" } else { "were" };
            output.line(format!("forgot {count} that {were} given up"));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let rounds =
        if args.deliver { deliver_notices(&workspace, Tried::All, TIMEOUT)? } else { Vec::new() };
    let delivered: usize = rounds.iter().map(|round| round.delivered).sum();
    let outgoing = outgoing(&workspace)?;
    if output.is_json() {
        let mut value = outgoing_value(&outgoing);
        if args.deliver {
            value["delivered"] = json!(delivered);
        }
        output.data(value);
    } else {
        if args.deliver {
            output.line(format!("delivered {delivered}"));
        }
        for message in &outgoing.messages {
            let state = match message.standing {
                OutgoingStanding::Due => green("due"),
                OutgoingStanding::Later(next) => yellow(format!("waits until {next:.0}")),
                OutgoingStanding::Dropped => red("given up"),
            };
            let task = message.task.as_ref().map(|task| format!("{task} ")).unwrap_or_default();
            let (event, channel) = (inert(&message.event), inert(&message.channel));
            output.line(format!("{task}{event} to `{channel}`: {state}"));
            if let Some(error) = &message.error {
                let tried = match message.attempts {
                    0 => "not tried".to_owned(),
                    1 => "tried once".to_owned(),
                    attempts => format!("tried {attempts} times"),
                };
                output.line(format!("  {tried}: {}", inert(error)));
            }
        }
        if outgoing.messages.is_empty() && !args.deliver {
            output.line("nothing waits to be delivered");
        }
    }
    let failed = rounds.iter().any(|round| round.trouble.is_some());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
