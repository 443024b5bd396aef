//! The command line: one file a command. Each translates its arguments, calls one operation, and shows what came of it.

use super::agents::mcp;
use super::agents::run;
use super::agents::runner;
use super::demo;
use super::help;
use super::history::merge_driver;
use super::history::sync;
use super::history::verify;
use super::observability::events;
use super::observability::metrics;
use super::observability::notices;
use super::observability::stats;
use super::project::doctor;
use super::project::gate;
use super::project::init;
use super::project::migrate;
use super::project::org;
use super::project::pages;
use super::project::schema;
use super::project::status;
use super::single_command;
use super::single_command::without_empty_variables;
use super::task;
use super::task::why;
use super::watch;
use super::watch::sweep;
use super::workflow;
use std::process::ExitCode;

use clap::builder::styling::{AnsiColor, Styles};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use super::input::arguments::{Global, When};
use super::render::output::Output;
use super::session::Session;

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
    /// Take over what was there before aof
    #[command(subcommand)]
    Migrate(migrate::Command),
    /// Begin a project: rules, roles and a first task, in one commit
    Init(init::command::Args),
    /// Create, show, complete and manage tasks
    #[command(subcommand)]
    Task(task::command::Command),
    /// Print the JSON Schema of a kind of file
    Schema(schema::Args),
    /// Print completions for a shell
    Completions(pages::CompletionsArgs),
    /// Print the manual page, or write one for each command into a folder
    Man(pages::ManArgs),
    /// Tell why a task stands where it stands, and who can move it
    Why(why::Args),
    Watch(watch::command::Args),
    Sweep(sweep::Args),
    Sync(sync::Args),
    Run(run::command::Args),
    /// Look after the agents that aof starts
    #[command(subcommand)]
    Runner(runner::Command),
    Mcp(mcp::Args),
    Notices(notices::Args),
    Verify(verify::Args),
    Doctor(doctor::Args),
    MergeDriver(merge_driver::Args),
    Metrics(metrics::Args),
    Events(events::Args),
    /// Show the project at a glance, and what needs attention
    Status,
    Stats(stats::command::Args),
    /// Show how the gates are doing
    #[command(subcommand)]
    Gate(gate::Command),
    /// Begin, list, show and check workflows
    #[command(subcommand)]
    Workflow(workflow::command::Command),
    /// Show and check who is in which role
    #[command(subcommand)]
    Org(org::command::Command),
    Demo(demo::command::Args),
}

/// Where agents say who they are.
const AGENT: &str = "AOF_AGENT";

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let cli = match parsed() {
        Ok(cli) => cli,
        Err(error) => return misread(&by_its_name(error).format(&mut command())),
    };
    let session = Session::new(cli.global);
    let outcome = match cli.command {
        None => Ok(show_help(&session)),
        Some(Command::Init(args)) => init::command::run(&session, &args),
        Some(Command::Migrate(command)) => migrate::run(&session, &command),
        Some(Command::Task(command)) => task::command::run(&session, command),
        Some(Command::Schema(args)) => Ok(schema::run(&session, &args)),
        Some(Command::Completions(args)) => Ok(pages::completions(&session, &args, command())),
        Some(Command::Man(args)) => pages::man(&session, &args, command()),
        Some(Command::Why(args)) => why::run(&session, &args),
        Some(Command::Watch(args)) => watch::command::run(&session, &args),
        Some(Command::Sweep(args)) => sweep::run(&session, &args),
        Some(Command::Sync(args)) => sync::run(&session, &args),
        Some(Command::Runner(command)) => runner::run(&session, &command),
        Some(Command::Run(args)) => run::command::run(&session, &args),
        Some(Command::Mcp(args)) => mcp::run(&session, &args),
        Some(Command::Notices(args)) => notices::run(&session, &args),
        Some(Command::Doctor(args)) => doctor::run(&session, &args),
        Some(Command::MergeDriver(args)) => merge_driver::run(&session, &args),
        Some(Command::Verify(args)) => verify::run(&session, &args),
        Some(Command::Metrics(args)) => metrics::run(&session, &args),
        Some(Command::Events(args)) => events::run(&session, &args),
        Some(Command::Status) => status::run(&session),
        Some(Command::Stats(args)) => stats::command::run(&session, &args),
        Some(Command::Gate(command)) => gate::run(&session, &command),
        Some(Command::Workflow(command)) => crate::cli::workflow::command::run(&session, &command),
        Some(Command::Org(command)) => org::command::run(&session, &command),
        Some(Command::Demo(_)) if session.output.is_json() => {
            let told = "`aof demo` is told to people, and has no JSON; a program reads `aof events --follow`";
            return misread(&command().error(ErrorKind::ArgumentConflict, told));
        }
        Some(Command::Demo(args)) => demo::command::run(&session, &args),
    };
    match outcome {
        Ok(_) if session.output.is_lost() => ExitCode::FAILURE,
        Ok(code) => code,
        Err(trouble) => trouble.show(&session),
    }
}

/// Returns the command that the words name.
fn parsed() -> Result<Cli, clap::Error> {
    let words: Vec<_> = std::env::args_os().collect();
    if let Some(matches) = single_command::matches(&words) {
        return Cli::from_arg_matches(&matches);
    }
    command().try_get_matches_from(words).and_then(|matches| Cli::from_arg_matches(&matches))
}

/// Has an error say where the value comes from, if nobody wrote the option that it would name.
fn by_its_name(mut error: clap::Error) -> clap::Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let option = text(ContextKind::InvalidArg)
        .filter(|option| ["--me ", "--agent "].iter().any(|own| option.starts_with(own)));
    let value = text(ContextKind::InvalidValue);
    let is_theirs = option.is_some() && value.is_some() && std::env::var(AGENT).ok() == value;
    let is_written = |word: std::ffi::OsString| {
        let word = word.to_string_lossy();
        value.as_deref().is_some_and(|value| word == value || word.ends_with(&format!("={value}")))
    };
    if is_theirs && !std::env::args_os().any(is_written) {
        error
            .insert(ContextKind::InvalidArg, ContextValue::String(format!("the variable {AGENT}")));
    }
    error
}

/// Shows what the parser says instead of a command: help, or what is wrong with the command line.
fn misread(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    // The arguments could not be read, so whether JSON is wanted is seen from the word alone.
    if error.use_stderr() && std::env::args_os().any(|word| word == "--json") {
        let text = error.render().to_string();
        let message = text.trim().strip_prefix("error: ").unwrap_or(text.trim());
        Output::new(true, When::Never)
            .data(serde_json::json!({"error": "usage", "message": message}));
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(1))
}

/// Returns the description of the whole command line.
pub(crate) fn command() -> clap::Command {
    without_empty_variables(help::grouped(Cli::command()))
}

fn show_help(session: &Session) -> ExitCode {
    session.output.print(&command().render_help().ansi().to_string());
    ExitCode::SUCCESS
}
