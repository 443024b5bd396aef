//! `aof workspace`: the git worktrees in which agents work at tasks, for people.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::cli::render::table::{Cell, Table};
use crate::cli::{CYAN, CliError, CliResult, DIM, DryRunOption, Session, counted, short, width};
use crate::dispatch::workspaces::{changes, list, make, prune, worktrees};
use crate::domain::TypedTask;
use crate::files::printable::inert;
use crate::project::error::ProjectError;
use crate::project::task_worktrees::{QueuedLanding, StayReason, WorkspaceState};
use crate::system::terminal::is_stopped;
use crate::tasks::plan::DryRun;

#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// List the work of tasks in this clone: branches, worktrees, and why each stays
    List(WorkspaceListArgs),
    /// Print the folder of a task's worktree, and make it if it is missing
    #[command(after_help = "\
Examples:
  cd \"$(aof workspace path AOF-7qk)\"     work where the agent worked")]
    Path(NamedWorkspaceArgs),
    /// Show what the work at a task changes against the branch that it began at
    Diff(NamedWorkspaceArgs),
    /// Remove the worktrees and branches of ended tasks whose work is on their base
    #[command(after_help = "\
Everything else stays, and is listed with the reason. With --force, the worktrees of the named tasks go in any case; `git log \
refs/aof/salvage/ID` has their commits and uncommitted files.")]
    Prune(PruneArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct WorkspaceListArgs {
    /// Also show how much room each takes up
    #[arg(long)]
    disk: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct NamedWorkspaceArgs {
    /// The task
    #[arg(value_name = "ID")]
    task: TypedTask,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PruneArgs {
    /// Only these tasks
    #[arg(value_name = "ID", required_if_eq("force", "true"))]
    tasks: Vec<TypedTask>,
    /// Remove their worktrees whatever is in them
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

pub(crate) fn run_workspace(session: &Session, command: &WorkspaceCommand) -> CliResult {
    match command {
        WorkspaceCommand::List(args) => run_list(session, args),
        WorkspaceCommand::Path(args) => run_path(session, args),
        WorkspaceCommand::Diff(args) => run_diff(session, args),
        WorkspaceCommand::Prune(args) => run_prune(session, args),
    }
}

/// A row of the list.
struct WorkspaceRow {
    state: WorkspaceState,
    /// The bytes of its files.
    disk: Option<u64>,
}

fn run_list(session: &Session, args: &WorkspaceListArgs) -> CliResult {
    let (workspace, _) = session.open("workspace list")?;
    let row = |state: WorkspaceState| {
        let disk = state.folder.as_deref().filter(|_| args.disk).map(size_of);
        WorkspaceRow { state, disk }
    };
    let rows: Vec<WorkspaceRow> = list(&workspace)?.into_iter().map(row).collect();
    let landings = worktrees(&workspace)?.landings()?;
    let value = || {
        let rows = rows.iter().map(|row| {
            let mut value = state_value(&row.state);
            value["bytes"] = json!(row.disk);
            value
        });
        json!({"workspaces": rows.collect::<Vec<_>>(), "landings": landings})
    };
    session.output.show(value, || {
        if rows.is_empty() && landings.is_empty() {
            return "no task has a workspace here\n".to_owned();
        }
        let folder = |row: &WorkspaceRow| {
            row.state.folder.as_ref().map_or("-".to_owned(), |folder| folder.display().to_string())
        };
        Table::new(&rows)
            .left("TASK", |row| Cell::styled(CYAN, &row.state.task))
            .left("BASE", |row| {
                Cell::from(row.state.base.as_ref().map_or("-", |base| base.as_str()))
            })
            .left("HEAD", |row| Cell::from(row.state.head.map(short).unwrap_or_default()))
            .left("STAYS", |row| Cell::from(stays(&row.state)))
            .right("DISK", |row| Cell::from(row.disk.map(shown_size).unwrap_or_default()))
            .long("FOLDER", |row| Cell::styled(DIM, folder(row)))
            .render(width())
            + &queue(&landings)
    });
    Ok(ExitCode::SUCCESS)
}

/// Returns the landings, each as a line. The first one of a target is under way.
fn queue(landings: &[QueuedLanding]) -> String {
    let line = |(place, one): (usize, &QueuedLanding)| {
        let waits = landings[..place].iter().any(|other| other.onto == one.onto);
        let what = if waits { "waits to land" } else { "lands" };
        format!("{} {what} on {}\n", one.task, one.onto)
    };
    landings.iter().enumerate().map(line).collect()
}

fn stays(state: &WorkspaceState) -> String {
    state.kept.as_ref().map_or("no: `aof workspace prune`".to_owned(), StayReason::sentence)
}

fn state_value(state: &WorkspaceState) -> Value {
    json!({
        "task": state.task,
        "branch": state.branch,
        "base": state.base,
        "head": state.head,
        "folder": state.folder,
        "stays": state.kept.as_ref().map(StayReason::sentence),
    })
}

/// Returns the bytes of the files in a folder, without following links.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => size_of(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

fn shown_size(bytes: u64) -> String {
    const MEBIBYTE: u64 = 1 << 20;
    match bytes {
        0..MEBIBYTE => format!("{} KiB", bytes.div_ceil(1 << 10)),
        _ => format!("{} MiB", bytes.div_ceil(MEBIBYTE)),
    }
}

fn run_path(session: &Session, args: &NamedWorkspaceArgs) -> CliResult {
    let (workspace, _) = session.open("workspace path")?;
    let task = session.ticket(&workspace, &args.task)?.task;
    let made = make(&workspace, &task, &is_stopped, &mut |bytes| {
        session.output.say(inert(String::from_utf8_lossy(bytes).trim_end()));
    })?
    .facts;
    let value =
        || json!({"task": task, "folder": made.folder, "branch": made.branch, "base": made.base});
    session.output.show(value, || format!("{}\n", made.folder.display()));
    Ok(ExitCode::SUCCESS)
}

fn run_diff(session: &Session, args: &NamedWorkspaceArgs) -> CliResult {
    let (workspace, _) = session.open("workspace diff")?;
    let task = session.ticket(&workspace, &args.task)?.task;
    let Some(text) = changes(&workspace, &task)? else {
        let problem = format!("no work at `{task}` has begun here");
        let fix = "see what there is with `aof workspace list`";
        return Err(CliError::refused("no_workspace", problem, fix));
    };
    if session.output.is_json() {
        session.output.data(json!({"task": task, "diff": text}));
    } else {
        session.output.page(&inert(&text));
    }
    Ok(ExitCode::SUCCESS)
}

fn run_prune(session: &Session, args: &PruneArgs) -> CliResult {
    let (workspace, _) = session.open("workspace prune")?;
    let tasks: Result<Vec<_>, ProjectError> =
        args.tasks.iter().map(|typed| Ok(session.ticket(&workspace, typed)?.task)).collect();
    let mode = args.dry_run_option.mode();
    let pruned = prune(&workspace, &tasks?, args.force, mode)?;
    let (gone, kept): (Vec<_>, Vec<_>) = pruned.iter().partition(|one| one.kept.is_none());
    let value = || {
        let stay = kept.iter().map(|one| {
            json!({"task": one.state.task, "stays": one.kept.as_ref().map(StayReason::sentence)})
        });
        let gone: Vec<_> = gone.iter().map(|one| &one.state.task).collect();
        json!({"removed": gone, "kept": stay.collect::<Vec<_>>(), "dryRun": mode == DryRun::Yes})
    };
    session.output.show(value, || {
        let verb = if mode == DryRun::Yes { "would remove" } else { "removed" };
        let mut text = String::new();
        for one in &gone {
            text += &format!("{verb} {}\n", one.state.task);
        }
        for one in &kept {
            let why = one.kept.as_ref().map(StayReason::sentence).unwrap_or_default();
            text += &format!("{} stays: {why}\n", one.state.task);
        }
        if gone.is_empty() && kept.is_empty() {
            text += "no task has a workspace here\n";
        } else if gone.is_empty() {
            text += &format!("nothing to remove; {}\n", counted(kept.len(), "workspace"));
        }
        text
    });
    Ok(ExitCode::SUCCESS)
}
