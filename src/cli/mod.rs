//! The command line: one file a command. Each translates its arguments, calls one operation, and shows what came of it.

mod arguments;
mod demo;
mod gate;
mod help;
mod init;
mod input;
mod length;
mod org;
mod output;
mod page;
mod pages;
mod schema;
mod session;
mod status;
mod table;
mod task;
mod trouble;
mod unreadable;
mod validated;
mod watch;
mod why;
mod workflow;

use std::process::ExitCode;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use arguments::Global;
use session::Session;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Yellow.on_default().bold())
    .usage(AnsiColor::Yellow.on_default().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

/// Task files are the database, gates are the state machine, git is the log
#[derive(Debug, Parser)]
#[command(name = "aof", version, max_term_width = 100, styles = STYLES)]
#[command(after_help = "\
Examples:
  aof init                        begin a project here
  aof task new \"Add login\"        create a task
  aof task next                   take your next task, and read what is wanted
  aof task complete AOF-7qk --outcome complete --summary \"Login works\"
  git log tasks/                  see who did what, and when

`aof COMMAND --help` tells more of a command.")]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Begin a project: rules, roles and a first task, in one commit
    Init(init::Args),
    /// Create, show, complete and manage tasks
    #[command(subcommand)]
    Task(task::Command),
    /// Print the JSON Schema of a kind of file
    Schema(schema::Args),
    /// Print completions for a shell
    Completions(pages::CompletionsArgs),
    /// Print the manual page, or write one for each command into a folder
    Man(pages::ManArgs),
    /// Tell why a task stands where it stands, and who can move it
    Why(why::Args),
    Watch(watch::Args),
    /// Show the project at a glance, and what needs attention
    Status,
    /// Show how the gates are doing
    #[command(subcommand)]
    Gate(gate::Command),
    /// List, show and check workflows
    #[command(subcommand)]
    Workflow(workflow::Command),
    /// Show and check who is in which role
    #[command(subcommand)]
    Org(org::Command),
    Demo(demo::Args),
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let cli = match Cli::from_arg_matches(&command().get_matches()) {
        Ok(cli) => cli,
        Err(error) => error.format(&mut command()).exit(),
    };
    let session = Session::new(cli.global);
    let outcome = match cli.command {
        None => Ok(show_help(&session)),
        Some(Command::Init(args)) => init::run(&session, &args),
        Some(Command::Task(command)) => task::run(&session, command),
        Some(Command::Schema(args)) => Ok(schema::run(&session, &args)),
        Some(Command::Completions(args)) => Ok(pages::completions(&session, &args)),
        Some(Command::Man(args)) => pages::man(&session, &args),
        Some(Command::Why(args)) => why::run(&session, &args),
        Some(Command::Watch(args)) => watch::run(&session, &args),
        Some(Command::Status) => status::run(&session),
        Some(Command::Gate(command)) => gate::run(&session, &command),
        Some(Command::Workflow(command)) => workflow::run(&session, &command),
        Some(Command::Org(command)) => org::run(&session, &command),
        Some(Command::Demo(args)) => demo::run(&session, &args),
    };
    match outcome {
        Ok(code) => code,
        Err(trouble) => trouble.show(&session),
    }
}

/// Returns the description of the whole command line.
fn command() -> clap::Command {
    help::grouped(Cli::command())
}

fn show_help(session: &Session) -> ExitCode {
    session.output.print(&command().render_help().ansi().to_string());
    ExitCode::SUCCESS
}
