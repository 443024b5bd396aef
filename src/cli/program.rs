//! The command line as a whole: its commands, their list in `--help`, its parsing, and usage errors.

mod completion;
mod help;
#[cfg(test)]
mod operation_names;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::builder::styling::{AnsiColor, Styles};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use super::agents::{hook, land, mcp, run, trust, workspace};
use super::arguments::{AGENT, Global};
use super::board::{BoardArgs, ServeArgs, run_board, run_serve};
use super::demo::{DemoArgs, run_demo};
use super::history::{
    MergeDriverArgs, SyncArgs, VerifyArgs, run_merge_driver, run_sync, run_verify,
};
use super::observability::stats::{StatsArgs, run_stats};
use super::observability::{
    EventsArgs, MetricsArgs, NoticesArgs, run_events, run_metrics, run_notices,
};
use super::output::{Output, width, wrapped};
use super::project::{doctor, init, migrate, org, status};
use super::session::Session;
use super::task::why;
use super::watch::{SweepArgs, WatchArgs, run_sweep, run_watch};
use super::{task, text_input, workflow};
use crate::cli::{CliError, CliResult, one_of};
use crate::files::schema::Schema;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Yellow.on_default().bold())
    .usage(AnsiColor::Yellow.on_default().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

/// Tasks in git: gates say who is next, every step is a commit
#[derive(Debug, Parser)]
#[command(name = "aof", version, max_term_width = 100, styles = STYLES)]
#[command(after_help = "`aof COMMAND --help` says more about a command.")]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<TopCommand>,
}

// The arguments of a command are built when it is called (`defer`): building all of them takes longer than most commands run.
// So the descriptions for the list of commands are here, not at the arguments.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum TopCommand {
    /// Give task files from before aof their gates
    #[command(subcommand)]
    Migrate(migrate::MigrateCommand),
    /// Begin a project: rules, roles and a first task, in one commit
    Init(init::InitArgs),
    #[command(flatten)]
    OfTask(task::command::TaskCommand),
    /// All commands for tasks; also at the top: assign, brief, cancel, complete, hold, override, renew, reopen, sign, test, unblock
    #[command(subcommand)]
    Task(task::command::TaskCommand),
    /// Print the JSON Schema of a kind of file
    Schema(SchemaArgs),
    /// Print the script that makes a shell complete commands, ids and names
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each command into a folder
    Man(ManArgs),
    /// Explain why a task is where it is, who can move it, and what each outcome would do
    Why(why::WhyArgs),
    /// React to dropped completion files, edited task files and new rules
    Watch(WatchArgs),
    /// Run scheduled work once: rule changes, time limits, handing out, notices
    Sweep(SweepArgs),
    /// Sync this clone with its remote: fetch, merge by meaning, push
    Sync(SyncArgs),
    /// Run the program of an agent until no work is left for it
    Run(run::RunArgs),
    /// Check the programs of agents that aof starts
    #[command(subcommand)]
    Runner(run::RunnerCommand),
    /// List, make and remove the git worktrees in which agents work at tasks
    #[command(subcommand)]
    Workspace(workspace::WorkspaceCommand),
    /// Bring the work at a task onto a branch, after checks, and complete the visit
    Land(land::LandArgs),
    /// Show the programs that the rules run, and trust them on this machine
    Trust(trust::TrustArgs),
    /// Serve agents by the Model Context Protocol, on stdin and stdout
    Mcp(mcp::McpArgs),
    /// Answer a hook of a coding agent, which comes as JSON on stdin
    Hook(hook::HookArgs),
    /// List messages that wait to be delivered or were given up, or deliver them now
    ///
    /// `notify` in project.yaml and org.yaml says who is told of what. `aof watch` delivers by itself.
    Notices(NoticesArgs),
    /// Prove from git that the rules allow every step of every task
    Verify(VerifyArgs),
    /// Find what is wrong with the project around its tasks, and repair what can be repaired
    Doctor(doctor::DoctorArgs),
    /// Merge two versions of a task by their meaning, as git does it
    MergeDriver(MergeDriverArgs),
    /// Print the project in numbers, for Prometheus
    Metrics(MetricsArgs),
    /// Show what happened: every event of the project, the newest last
    Events(EventsArgs),
    /// Show what waits for you, what is late, and what needs attention
    Status(status::StatusArgs),
    /// Show the board at the terminal, live; approve, reject and complete there
    Board(BoardArgs),
    /// Show the tasks as a board in the browser
    Serve(ServeArgs),
    /// Show how the process does: bottlenecks, rejections, loops, idle gates, agents, trends
    ///
    /// Everything is counted from the histories of the tasks; docs/reference/statistics.md says how.
    Stats(StatsArgs),
    /// Show how the gates are doing
    Gate(org::GateArgs),
    /// Create, list, show and check workflows
    #[command(subcommand)]
    Workflow(workflow::command::WorkflowCommand),
    /// Show and check who is in which role
    #[command(subcommand)]
    Org(org::OrgCommand),
    /// Show tasks walking through gates, in a temporary project
    Demo(DemoArgs),
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    if completion::answer(Cli::command) {
        return ExitCode::SUCCESS;
    }
    let mut words: Vec<_> = std::env::args_os().collect();
    if words.iter().skip(1).map(|word| word.to_str()).eq([Some("help"), Some("all")]) {
        let list = grouped(Cli::command()).render_help().ansi().to_string();
        Output::new(false, ColorChoice::Auto).print(&list);
        return ExitCode::SUCCESS;
    }
    ask_what_close_means(&mut words);
    // Only a help page needs the list of commands, so the command line is built without it first.
    let parsed = Cli::command()
        .try_get_matches_from(&words)
        .or_else(|_| command().try_get_matches_from(&words))
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let error = point_to_command(name_agent_variable(error));
            return print_usage_error(&error.format(&mut command()));
        }
    };
    let session = Session::new(cli.global);
    let outcome = match cli.command {
        None => match status::run(&session, &status::StatusArgs::default()) {
            Err(error) if error.is_outside_of_projects() => {
                session.output.print(&command().render_help().ansi().to_string());
                Ok(ExitCode::SUCCESS)
            }
            shown => shown,
        },
        Some(TopCommand::Init(args)) => init::run(&session, &args),
        Some(TopCommand::Migrate(command)) => migrate::run(&session, &command),
        Some(TopCommand::OfTask(command) | TopCommand::Task(command)) => {
            task::command::run(&session, &command)
        }
        Some(TopCommand::Schema(args)) => Ok(schema(&session, &args)),
        Some(TopCommand::Completions(args)) => Ok(completions(&session, &args)),
        Some(TopCommand::Man(args)) => man(&session, &args, command()),
        Some(TopCommand::Why(args)) => why::run(&session, &args),
        Some(TopCommand::Watch(args)) => run_watch(&session, &args),
        Some(TopCommand::Sweep(args)) => run_sweep(&session, &args),
        Some(TopCommand::Sync(args)) => run_sync(&session, &args),
        Some(TopCommand::Runner(command)) => run::run_runner(&session, &command),
        Some(TopCommand::Workspace(command)) => workspace::run_workspace(&session, &command),
        Some(TopCommand::Land(args)) => land::run_land(&session, &args),
        Some(TopCommand::Trust(args)) => trust::run_trust(&session, &args),
        Some(TopCommand::Run(args)) => run::run(&session, &args),
        Some(TopCommand::Mcp(args)) => mcp::run(&session, &args),
        // It succeeds even if no one reads its output.
        Some(TopCommand::Hook(args)) => return hook::run(&session, &args),
        Some(TopCommand::Notices(args)) => run_notices(&session, &args),
        Some(TopCommand::Doctor(args)) => doctor::run_doctor(&session, &args),
        Some(TopCommand::MergeDriver(args)) => run_merge_driver(&session, &args),
        Some(TopCommand::Verify(args)) => run_verify(&session, &args),
        Some(TopCommand::Metrics(args)) => run_metrics(&session, &args),
        Some(TopCommand::Events(args)) => run_events(&session, &args),
        Some(TopCommand::Status(args)) => status::run(&session, &args),
        Some(TopCommand::Board(args)) => run_board(&session, &args),
        Some(TopCommand::Serve(args)) => run_serve(&session, &args),
        Some(TopCommand::Stats(args)) => run_stats(&session, &args),
        Some(TopCommand::Gate(args)) => org::run_gate(&session, &args),
        Some(TopCommand::Workflow(command)) => workflow::command::run(&session, &command),
        Some(TopCommand::Org(command)) => org::run_org(&session, &command),
        Some(TopCommand::Demo(_)) if session.output.is_json() => {
            let message =
                "`aof demo` is for people, and has no JSON; a program reads `aof events --follow`";
            return print_usage_error(&command().error(ErrorKind::ArgumentConflict, message));
        }
        Some(TopCommand::Demo(args)) => run_demo(&session, &args),
    };
    match outcome {
        Ok(_) if session.output.is_lost() => ExitCode::FAILURE,
        Ok(code) => code,
        Err(error) => session.fail(&error),
    }
}

/// Returns the error; it names the environment variable if the invalid value is from there, not from an option.
fn name_agent_variable(mut error: clap::Error) -> clap::Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let is_agent = text(ContextKind::InvalidArg)
        .is_some_and(|option| option.starts_with("--me ") || option.starts_with("--agent "));
    let Some(value) = text(ContextKind::InvalidValue) else { return error };
    let is_typed = std::env::args_os().any(|word| {
        let word = word.to_string_lossy();
        word == value || word.ends_with(&format!("={value}"))
    });
    if is_agent && !is_typed && std::env::var(AGENT).is_ok_and(|known| known == value) {
        let name = ContextValue::String(format!("the variable {AGENT}"));
        error.insert(ContextKind::InvalidArg, name);
    }
    error
}

/// Asks a person at a terminal whether `aof close ID` ends the work at a gate or the whole task, and puts the command in its place.
fn ask_what_close_means(words: &mut Vec<OsString>) {
    if words.get(1).is_none_or(|word| word != "close") || words.len() < 3 || !Session::at_terminal()
    {
        return;
    }
    let question = "Is the work at its gate done, or is the whole task cancelled? [d/c] ";
    match text_input::line(question).unwrap_or_default().as_str() {
        "d" => words[1] = "done".into(),
        "c" => {
            words[1] = "cancel".into();
            let reason = text_input::line("Why: ").unwrap_or_default();
            words.extend(["-m".into(), reason.into()]);
        }
        _ => {}
    }
}

/// Words that people try, and the commands that they mean.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("finish submit", "`aof done ID` ends the work at a task's gate"),
    ("close resolve", "`aof done ID` ends the work at a task's gate, `aof cancel ID` the task"),
    ("lgtm accept pass", "`aof approve ID` passes a task on"),
    ("deny decline fail", "`aof reject ID -m TEXT` sends a task back"),
    ("begin take pick", "`aof next` claims your next task, `aof claim ID` a certain one"),
    ("stop pause wait", "`aof hold ID -m TEXT` holds a task, `aof release ID` gives it back"),
    ("create", "`aof new TITLE` creates a task"),
    ("delete remove rm", "`aof cancel ID -m TEXT` ends a task; none is deleted"),
    (
        "move mv goto",
        "outcomes move a task, see `aof why ID`; `aof override` moves it against the rules",
    ),
    (
        "ready todo backlog mine",
        "`aof list --ready` lists what can be worked on, `aof list --mine` yours",
    ),
    ("get view cat open", "`aof show ID` shows a task"),
    ("update set rename tag", "`aof edit ID` changes a task"),
    (
        "give delegate",
        "`aof assign ID NAME` plans a task for somebody; with `--claim` they have it at once",
    ),
    ("revert rollback", "`aof undo ID` takes your last step back"),
    (
        "config settings",
        "project.yaml, org.yaml and workflows/ are the settings: edit and commit them",
    ),
    ("validate lint check", "`aof workflow validate` checks the rules, `aof doctor` the project"),
    ("graph", "`aof workflow graph` draws a workflow"),
    ("agents roles users whoami", "`aof org show` shows who is in which role"),
    ("push pull fetch", "`aof sync` syncs with the remote"),
    ("serve server", "`aof mcp` serves agents, `aof watch` reacts to files"),
];

/// Returns the error. If a word is not a command but people expect it to be, the error names the right one.
fn point_to_command(mut error: clap::Error) -> clap::Error {
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    let word = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => word.to_lowercase(),
        _ => String::new(),
    };
    let is_of_tasks = ["aof [", "aof task ["].iter().any(|top| usage.contains(top));
    let other = OTHER_WORDS.iter().filter(|_| is_of_tasks);
    let other = other.copied().find(|(words, _)| words.split(' ').any(|known| known == word));
    let is_log = error.kind() == ErrorKind::MissingRequiredArgument && usage.contains("history ");
    let tip = match other {
        Some((_, tip)) => tip,
        None if is_log => "`aof events` shows what happened to all tasks",
        None => {
            // Clap has the nearest one last.
            if let Some(ContextValue::Strings(mut near)) =
                error.remove(ContextKind::SuggestedSubcommand)
            {
                near.reverse();
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(near));
            }
            return error;
        }
    };
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    error
}

/// Prints a usage error, or the requested help. Returns the exit code.
fn print_usage_error(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    // The arguments could not be parsed, so only the word itself shows whether JSON is wanted.
    if error.use_stderr() && std::env::args_os().any(|word| word == "--json") {
        let text = error.render().to_string();
        let message = text.trim().strip_prefix("error: ").unwrap_or(text.trim());
        Output::new(true, ColorChoice::Never)
            .data(serde_json::json!({"error": "usage", "message": message}));
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(1))
}

/// Returns the description of the whole command line.
pub(crate) fn command() -> clap::Command {
    let whole = grouped(Cli::command());
    match help::first_page() {
        Some(page) => whole.override_help(page),
        None => whole,
    }
}

/// The width at which clap wraps, too.
const WIDEST: usize = 100;

/// A heading, and the commands below it.
type HelpGroup = (&'static str, &'static [&'static str]);

const TOP: &[HelpGroup] = &[
    ("Begin", &["init", "demo"]),
    ("Tasks", DAILY),
    (
        "Project",
        &[
            "board",
            "serve",
            "status",
            "gate",
            "run",
            "workspace",
            "land",
            "watch",
            "sweep",
            "sync",
            "mcp",
            "hook",
        ],
    ),
    ("Look", &["events", "stats", "metrics", "verify", "notices"]),
    ("Rules", &["workflow", "org", "schema"]),
    ("Set up", &["doctor", "trust", "runner", "migrate", "merge-driver", "completions", "man"]),
];

/// The commands for tasks that people need daily; the description of `task` names the others.
const DAILY: &[&str] = &[
    "new", "list", "search", "show", "why", "history", "edit", "comment", "next", "claim",
    "release", "done", "approve", "reject", "block", "decide", "undo", "task",
];

const TASK: &[HelpGroup] = &[
    ("Write", &["new", "edit", "comment"]),
    ("Work", &["next", "claim", "brief", "complete", "done", "block", "sign", "renew", "release"]),
    ("Decide", &["decide", "approve", "reject", "undo"]),
    ("Look", &["list", "search", "show", "history", "test"]),
    ("Step in", &["assign", "hold", "unblock", "cancel", "reopen", "override"]),
];

const TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}";

/// Returns the command line with its commands listed in groups.
fn grouped(command: clap::Command) -> clap::Command {
    with_list(command.mut_subcommand("task", |task| with_list(task, TASK)), TOP)
}

fn with_list(command: clap::Command, groups: &[HelpGroup]) -> clap::Command {
    let command_list = command_list(&command, groups);
    command.before_help(command_list).help_template(TEMPLATE)
}

fn command_list(command: &clap::Command, groups: &[HelpGroup]) -> String {
    let style = command.get_styles();
    let (heading, literal) = (*style.get_header(), *style.get_literal());
    let name_width = command.get_subcommands().map(|sub| sub.get_name().len()).max().unwrap_or(0);
    let room = width().min(WIDEST).saturating_sub(name_width + 4);
    let mut text = String::new();
    for (title, names) in groups {
        text.push_str(&format!("{heading}{title}:{heading:#}\n"));
        for sub in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            let about = wrapped(&about, room).join(&format!("\n{}", " ".repeat(name_width + 4)));
            let name = sub.get_name();
            text.push_str(&format!("  {literal}{name:<name_width$}{literal:#}  {about}\n"));
        }
        text.push('\n');
    }
    text
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eval \"$(aof completions bash)\"     in ~/.bashrc
  eval \"$(aof completions zsh)\"      in ~/.zshrc, after `compinit`
  aof completions fish | source      in ~/.config/fish/config.fish

The shell then asks `aof`, which offers ids with titles, gates, roles, agents, outcomes and tags of the project.")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_parser = completion::shell())]
    shell: String,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof man | man -l -
  aof man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The folder; it is made if it is missing
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    /// The kind of file
    #[arg(value_name = "KIND",
        value_parser = one_of::<Schema>(Schema::ALL.iter().map(|schema| schema.as_str())))]
    kind: Schema,
}

fn completions(session: &Session, args: &CompletionsArgs) -> ExitCode {
    session.output.print(&completion::registration(&args.shell));
    ExitCode::SUCCESS
}

/// Prints manual pages; `command` is the whole command line.
pub(crate) fn man(session: &Session, args: &ManArgs, command: clap::Command) -> CliResult {
    let Some(folder) = &args.folder else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(command).render(&mut page);
        rendered.expect("a page in memory can be written to");
        session.output.print(&String::from_utf8_lossy(&page));
        return Ok(ExitCode::SUCCESS);
    };
    let folder = session.directory.join(folder);
    std::fs::create_dir_all(&folder)
        .and_then(|()| clap_mangen::generate_to(command, &folder))
        .map_err(|cause| CliError::output(&folder, &cause))?;
    session.output.say(format!("wrote the manual pages into `{}`", folder.display()));
    Ok(ExitCode::SUCCESS)
}

/// Prints the schema unchanged, even with `--json`: `jsonVersion` is not part of it.
pub(crate) fn schema(session: &Session, args: &SchemaArgs) -> ExitCode {
    session.output.line(args.kind.text());
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_command_is_listed_once() {
        let mut command = super::command();
        command.build();
        let task = command.find_subcommand("task").unwrap();
        let about = task.get_about().unwrap().to_string();
        let rest: Vec<&str> = about.split([' ', ',']).collect();
        for (command, groups, rest) in
            [(task, super::TASK, &[][..]), (&command, super::TOP, &rest[..])]
        {
            for sub in command.get_subcommands().map(clap::Command::get_name) {
                let names = groups.iter().flat_map(|(_, names)| *names).chain(rest);
                let times = names.filter(|name| **name == sub).count();
                assert!(times == 1 || sub == "help", "`{sub}` must be in one group of the help");
            }
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        super::command().debug_assert();
    }
}
