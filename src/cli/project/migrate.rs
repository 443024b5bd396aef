//! `aof migrate ...`

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::cli::render::changes::{self, INVALID, rule_change_text};
use crate::cli::{CliResult, DryRunOption, Session, cyan, red};
use crate::domain::{TaskId, WorkflowName};
use crate::files::printable::inert;
use crate::project::error::{ProjectError, reason_of};
use crate::project::rule_lookup::find_workflow;
use crate::setup::migrate::{MigrationReport, add_gates};
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::view::task_view::warnings_value;

/// The number of tasks that are named without `-v`.
const FEW: usize = 20;

#[derive(Debug, Subcommand)]
pub(crate) enum MigrateCommand {
    /// Give task files without a gate the first gate of their workflow
    Tasks(MigrateArgs),
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
    let MigrateCommand::Tasks(args) = command;
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
