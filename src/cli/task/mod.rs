//! `aof task ...`

mod complete;
mod new;
mod shown;

use std::process::ExitCode;

use clap::Subcommand;

use super::session::Session;
use super::trouble::Trouble;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Create a task, or many
    New(new::Args),
    /// Say that the work at a task's gate is done, rejected or blocked
    Complete(complete::Args),
}

pub(super) fn run(session: &Session, command: Command) -> Result<ExitCode, Trouble> {
    match command {
        Command::New(args) => new::run(session, &args),
        Command::Complete(args) => complete::run(session, &args),
    }
}
