//! `aof migrate ...`

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::cli::render::changes::{self, INVALID, rule_change_text};
use crate::cli::{CliResult, DryRunOption, Output, Session, bold, cyan, of_commit, red};
use crate::domain::{BranchName, TaskId, WorkflowName};
use crate::files::printable::inert;
use crate::project::error::{ProjectError, reason_of};
use crate::project::rule_lookup::find_workflow;
use crate::setup::migrate::branch::{MovedProject, move_to_branch, way_back};
use crate::setup::migrate::tasks::{MigrationReport, add_gates};
use crate::storage::Paths;
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::view::task_view::warnings_value;

/// The number of tasks that are named without `-v`.
const FEW: usize = 20;

#[derive(Debug, Subcommand)]
pub(crate) enum MigrateCommand {
    /// Give task files without a gate the first gate of their workflow
    Tasks(MigrateArgs),
    /// Move the project onto a branch of its own
    Branch(BranchArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The new branch begins at HEAD, with a commit that removes all that is not the project's: its history stays whole, and so does what \
`aof verify` proves. It is checked out in `.aof/branch`. The checked-out branch gets one commit: tasks and rules go, and a project.yaml \
comes that names the branch. Claims, the inbox and the rest of `.aof/` move along. Your other changes stay, staged or not.

Stop `aof watch`, `aof run` and boards first. If it is interrupted, run it again. Other worktrees and old branches are refused until the \
commit that names the branch is merged there.

Examples:
  aof migrate branch --dry-run     see what would move
  aof migrate branch               onto the branch `aof`")]
pub(crate) struct BranchArgs {
    /// The name of the branch
    #[arg(value_name = "NAME", default_value = "aof", hide_default_value = true)]
    branch: BranchName,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each task file below tasks/ without a `gate` gets the first gate of its workflow that applies to it, in a commit of its own. \
`aof watch` does the same as files appear. Tasks whose gate is gone go to the nearest earlier one. Files that cannot be \
read as tasks stay as they are; they are named with the reason, and the exit code is 6.
`gateHistory` begins empty: it holds visits that have ended. The file's `status` becomes `ready`. The agent in `routing.agent` keeps the \
task where the rules let it work at its gate; else the task begins unclaimed, with a warning. A file with `blockers`, or with keys of \
`context` besides `input`, stays as it is: only the engine writes these.

Examples:
  aof migrate tasks --add-gates --dry-run
  aof migrate tasks --add-gates --workflow default")]
pub(crate) struct MigrateArgs {
    /// Give a gate to the tasks that have none
    #[arg(long, required = true)]
    add_gates: bool,
    /// The workflow of tasks that name none; else the project's default
    #[arg(long, value_name = "NAME")]
    workflow: Option<WorkflowName>,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

pub(crate) fn run(session: &Session, command: &MigrateCommand) -> CliResult {
    match command {
        MigrateCommand::Tasks(args) => run_tasks(session, args),
        MigrateCommand::Branch(args) => run_branch(session, args),
    }
}

fn run_branch(session: &Session, args: &BranchArgs) -> CliResult {
    let paths = Paths::find(&session.enter()?)?;
    let root = paths.around().unwrap_or(paths);
    let workspace = session.workspace_at(root.root(), "migrate branch")?;
    let mode = args.dry_run_option.mode();
    let moved = move_to_branch(&workspace, &args.branch, mode)?;
    if session.output.is_json() {
        let [first, pointer] = [0, 1].map(|at| moved.commits.map(|pair| [pair.0, pair.1][at]));
        let value = json!({
            "branch": moved.branch,
            "root": moved.root.display().to_string(),
            "commit": first,
            "moved": moved.names,
            "local": moved.local,
            "checkout": {"branch": moved.code, "commit": pointer},
            "back": moved.commits.map(|_| way_back(&moved)),
        });
        session.output.change_data(value, mode);
    } else {
        show_branch(session, &moved, mode);
    }
    Ok(ExitCode::SUCCESS)
}

fn show_branch(session: &Session, moved: &MovedProject, mode: DryRun) {
    let (output, branch, code) = (session.output, inert(moved.branch.as_str()), inert(&moved.code));
    if moved.is_finished {
        output.line(format!("the project is on the branch `{branch}`; nothing was left to do"));
        return;
    }
    let verb = if mode == DryRun::Yes { "would move" } else { "moved" };
    let (first, pointer) = (moved.commits.map(|pair| pair.0), moved.commits.map(|pair| pair.1));
    output.line(format!("{verb} the project to the branch `{branch}`{}", of_commit(first)));
    item(output, ".aof/branch", &moved.names.join(", "));
    if !moved.local.is_empty() {
        item(output, ".aof/branch/.aof", &moved.local.join(", "));
    }
    let what = "names the branch; tasks and rules go from here";
    let what = format!("on `{}`{}: {what}", moved.code, of_commit(pointer));
    item(output, "project.yaml", &what);
    if mode == DryRun::Yes {
        output.line("dry run: nothing was written");
        return;
    }
    output.line(format!(
        "{} aof sync, and git push for `{code}`, where there is a remote",
        bold("next:")
    ));
    output.line(format!("{} {}", bold("back:"), inert(&way_back(moved))));
}

fn item(output: Output, path: &str, what: &str) {
    output.line(format!("  {}  {}", cyan(format!("{path:<16}")), inert(what)));
}

fn run_tasks(session: &Session, args: &MigrateArgs) -> CliResult {
    let (mut workspace, in_force) = session.open("migrate tasks")?;
    if let Some(name) = &args.workflow {
        find_workflow(&in_force.rules, name)?;
    }
    let mode = args.dry_run_option.mode();
    let migrated = add_gates(&mut workspace, session.wait, args.workflow.as_ref(), mode)?;
    if session.output.is_json() {
        session.output.change_data(value(&migrated), mode);
    } else {
        show(session, &migrated, mode);
    }
    for changed in &migrated.adopted.changed {
        session.warn_all(&changed.warnings);
    }
    for (task, error) in failures(&migrated) {
        let hint = error.fix().map(|fix| format!("; {fix}")).unwrap_or_default();
        let text =
            session.runnable(format!("`{task}` is left as it is: {}{hint}", error.problem()));
        session.output.say(format!("{} {}", red("error:"), inert(&text)));
    }
    let code = changes::tell_unreadable(session, &migrated.adopted.unreadable);
    Ok(if failures(&migrated).next().is_some() { ExitCode::from(INVALID) } else { code })
}

fn failures(migrated: &MigrationReport) -> impl Iterator<Item = &(TaskId, ProjectError)> {
    migrated.adopted.failures.iter().chain(&migrated.settled.failures)
}

fn show(session: &Session, migrated: &MigrationReport, mode: DryRun) {
    let output = session.output;
    let adopted = &migrated.adopted.changed;
    let shown = if session.verbose { adopted.len() } else { adopted.len().min(FEW) };
    for changed in &adopted[..shown] {
        let gate = changed.after.task.gate.as_ref();
        let at = gate.map_or_else(|| "ended".to_owned(), |open| format!("at {}", open.current));
        output.line(format!("{}: {at}", cyan(&changed.after.task.id)));
    }
    if shown < adopted.len() {
        output.line(format!("... and {} more", adopted.len() - shown));
    }
    for changed in &migrated.settled.changed {
        output.line(format!(
            "{}: {}",
            cyan(&changed.after.task.id),
            inert(&rule_change_text(changed))
        ));
    }
    let tasks = if adopted.len() == 1 { "1 task" } else { &format!("{} tasks", adopted.len()) };
    let have = if adopted.len() == 1 { "has" } else { "have" };
    output.line(match (mode, adopted.len()) {
        (_, 0) => "no task was given a gate".to_owned(),
        (DryRun::No, _) => format!("{tasks} {have} a gate now"),
        (DryRun::Yes, _) => format!("{tasks} would get a gate (dry run: nothing was written)"),
    });
}

fn value(migrated: &MigrationReport) -> Value {
    let of = |changed: &Changed| {
        let task = &changed.after.task;
        json!({
            "task": task.id,
            "workflow": task.routing.workflow,
            "gate": task.gate.as_ref().map(|open| &open.current),
            "status": task.status,
            "path": changed.path,
            "commit": changed.commit,
            "warnings": warnings_value(&changed.warnings),
        })
    };
    let skipped =
        failures(migrated).map(|(task, error)| json!({"task": task, "reason": reason_of(error)}));
    json!({
        "adopted": migrated.adopted.changed.iter().map(of).collect::<Vec<_>>(),
        "followed": migrated.settled.changed.iter().map(of).collect::<Vec<_>>(),
        "skipped": skipped.collect::<Vec<_>>(),
        "unreadable": changes::unreadable_values(&migrated.adopted.unreadable),
    })
}
