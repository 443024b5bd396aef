//! `aof migrate ...`

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::cli::error::CliError;
use crate::cli::input::arguments::Rehearsal;
use crate::cli::render::output::{CYAN, RED, styled};
use crate::cli::render::unreadable_files;
use crate::cli::session::Session;
use crate::cli::task::shown::followed;
use crate::domain::{TaskId, WorkflowName};
use crate::files::printable::inert;
use crate::project::error::error::OpsError;
use crate::project::error::reason::reason_of;
use crate::setup::migrate::{Migrated, add_gates};
use crate::tasks::apply::change::{Changed, DryRun};
use crate::tasks::lookup::workflow_named;
use crate::tasks::view::changed::warnings_value;

/// The exit code where some tasks could not be taken up.
const INCOMPLETE: u8 = 6;
/// So many tasks are named before it is enough.
const MANY: usize = 20;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Put task files that have no gate at the first gate of their workflow
    Tasks(Args),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each task file below tasks/ that has no `gate` is put at the first gate of its workflow that applies to it, in a commit of its own; \
`aof watch` does the same, one by one, as files appear. Tasks whose gate is gone go to the nearest earlier one. Files that cannot be \
read as tasks are left as they are, told with the reason, and make it exit 6.
No entry is made up for the time before: `gateHistory` holds visits that have ended, and the first one ends when somebody says so. \
What the file's `status` said before gives way to `ready`. Whoever `routing.agent` names has the task still, where the rules let it be \
given to that agent at its gate; else it begins as nobody's, with a warning. A file with `blockers`, or with keys of `context` besides \
`input`, is left as it is: only the engine says these.

Examples:
  aof migrate tasks --add-gates --dry-run
  aof migrate tasks --add-gates --workflow default")]
pub(crate) struct Args {
    /// Give a gate to the tasks that have none
    #[arg(long, required = true)]
    add_gates: bool,
    /// The workflow of tasks that name none; else the project's default
    #[arg(long, value_name = "NAME")]
    workflow: Option<WorkflowName>,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, command: &Command) -> Result<ExitCode, CliError> {
    match command {
        Command::Tasks(args) => tasks(session, args),
    }
}

fn tasks(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let mut workspace = session.workspace("migrate tasks")?;
    let in_force = session.rules(&workspace)?;
    if let Some(name) = &args.workflow {
        workflow_named(&in_force.rules, name)?;
    }
    let mode = args.rehearsal.mode();
    let migrated = add_gates(&mut workspace, session.wait, args.workflow.as_ref(), mode)?;
    if session.output.is_json() {
        session.output.data(value(&migrated, mode));
    } else {
        show(session, &migrated, mode);
    }
    for changed in &migrated.adopted.changed {
        session.warn_all(&changed.warnings);
    }
    for (task, error) in troubled(&migrated) {
        let hint = error.fix().map(|fix| format!("; {fix}")).unwrap_or_default();
        let text =
            session.git_said(format!("`{task}` is left as it is: {}{hint}", error.problem()));
        session.output.say(format!("{} {}", styled(RED, "error:"), inert(&text)));
    }
    let unread = unreadable_files::tell(session, &migrated.adopted.unreadable);
    Ok(if troubled(&migrated).next().is_some() { ExitCode::from(INCOMPLETE) } else { unread })
}

fn troubled(migrated: &Migrated) -> impl Iterator<Item = &(TaskId, OpsError)> {
    migrated.adopted.troubled.iter().chain(&migrated.settled.troubled)
}

fn show(session: &Session, migrated: &Migrated, mode: DryRun) {
    let adopted = &migrated.adopted.changed;
    let shown = if session.verbose { adopted.len() } else { adopted.len().min(MANY) };
    for changed in &adopted[..shown] {
        let at = gate(changed).map_or_else(|| "ended".to_owned(), |gate| format!("at {gate}"));
        session.output.line(format!("{}: {at}", styled(CYAN, &changed.after.task.id)));
    }
    if shown < adopted.len() {
        session.output.line(format!("... and {} more", adopted.len() - shown));
    }
    for changed in &migrated.settled.changed {
        session.output.line(format!(
            "{}: {}",
            styled(CYAN, &changed.after.task.id),
            inert(&followed(changed))
        ));
    }
    let count = adopted.len();
    session.output.line(match (mode, count) {
        (_, 0) => "no task was given a gate".to_owned(),
        (DryRun::No, 1) => "1 task has a gate now".to_owned(),
        (DryRun::No, _) => format!("{count} tasks have a gate now"),
        (DryRun::Yes, 1) => "1 task would get a gate (dry run: nothing was written)".to_owned(),
        (DryRun::Yes, _) => {
            format!("{count} tasks would get a gate (dry run: nothing was written)")
        }
    });
}

fn gate(changed: &Changed) -> Option<&str> {
    changed.after.task.gate.as_ref().map(|open| open.current.as_str())
}

fn value(migrated: &Migrated, mode: DryRun) -> Value {
    let of = |changed: &Changed| {
        json!({
            "task": changed.after.task.id.as_str(),
            "workflow": changed.after.task.routing.workflow.as_str(),
            "gate": gate(changed),
            "status": changed.after.task.status.as_str(),
            "path": changed.path.as_str(),
            "commit": changed.commit.map(|commit| commit.to_string()),
            "warnings": warnings_value(&changed.warnings),
        })
    };
    let skipped = troubled(migrated)
        .map(|(task, error)| json!({"task": task.as_str(), "reason": reason_of(error)}));
    let mut value = json!({
        "adopted": migrated.adopted.changed.iter().map(of).collect::<Vec<_>>(),
        "followed": migrated.settled.changed.iter().map(of).collect::<Vec<_>>(),
        "skipped": skipped.collect::<Vec<_>>(),
        "unreadable": unreadable_files::values(&migrated.adopted.unreadable),
    });
    if mode == DryRun::Yes {
        value["dryRun"] = json!(true);
    }
    value
}
