//! The command line: one file a command. Each translates its arguments, calls one operation, and shows what came of it.

mod arguments;
mod input;
mod output;
mod session;
mod task;
mod trouble;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use arguments::Global;
use session::Session;

/// Task files are the database, gates are the state machine, git is the log
#[derive(Debug, Parser)]
#[command(name = "aof", version, about, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create, show, complete and manage tasks
    #[command(subcommand)]
    Task(task::Command),
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let session = Session::new(cli.global);
    let outcome = match cli.command {
        Command::Task(command) => task::run(&session, command),
    };
    match outcome {
        Ok(code) => code,
        Err(trouble) => trouble.show(&session),
    }
}
