//! Migrates task files without gates: puts each at the first gate of its workflow, in a commit of its own, as `aof watch` does. Their
//! histories begin empty.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::domain::{TaskId, WorkflowName};
use crate::files::task_file::{Origin, TaskFile};
use crate::project::active_rules::in_force;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::tasks::apply::NextStep;
use crate::tasks::automatic::{RuleChanges, apply_to_each, follow_rules};
use crate::tasks::headers::listing::{ListScope, read_all};
use crate::tasks::plan::DryRun;
use crate::tasks::plan::adoption_choice;
use crate::tasks::recovery::recover::recover_if_pending;
use crate::tasks::state::task_state::TaskState;

/// The result of a migration.
pub(crate) struct MigrationReport {
    /// The tasks that are at a gate now, the failures, and the unreadable files.
    pub adopted: RuleChanges,
    /// The tasks that already had a gate, and were changed by new rules.
    pub settled: RuleChanges,
}

/// Puts every task file without a gate at the first gate of its workflow; files that name no workflow follow `workflow`, or the
/// project's default. Also moves tasks whose gate no longer exists.
pub(crate) fn add_gates(
    workspace: &mut Workspace,
    wait: Duration,
    workflow: Option<&WorkflowName>,
    dry_run: DryRun,
) -> Result<MigrationReport, ProjectError> {
    workspace.restart_wait(wait);
    if dry_run == DryRun::No {
        recover_if_pending(workspace)?;
    }
    let in_force = in_force(workspace, &workspace.head()?)?;
    let mut listing = read_all(workspace, &in_force, ListScope::Active);
    listing.tasks.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
    let new = listing.tasks.iter().filter(|(task, _)| task.is_new);
    let ids: Vec<TaskId> = new.map(|(task, _)| task.id.clone()).collect();
    let begin =
        |workspace: &Workspace, state: &mut TaskState| adoption_step(workspace, state, workflow);
    let mut adopted = RuleChanges { unreadable: listing.unreadable, ..RuleChanges::default() };
    let mut on = |_| ControlFlow::Continue(());
    apply_to_each(workspace, wait, &ids, dry_run, &begin, &mut adopted, &mut on)?;
    let settled = follow_rules(workspace, wait, dry_run, &mut on)?;
    Ok(MigrationReport { adopted, settled })
}

fn adoption_step(
    workspace: &Workspace,
    state: &mut TaskState,
    workflow: Option<&WorkflowName>,
) -> Result<NextStep, ProjectError> {
    state.ensure_unfrozen()?;
    if state.file.origin == Origin::Adopted {
        return Ok(NextStep::Nothing);
    }
    if let Some(name) = workflow.filter(|_| !names_workflow(&state.file)) {
        state.file.task.routing.workflow = name.clone();
    }
    Ok(NextStep::Do(adoption_choice(workspace, state)?))
}

fn names_workflow(file: &TaskFile) -> bool {
    file.field("routing").is_some_and(|routing| routing.get("workflow").is_some())
}
