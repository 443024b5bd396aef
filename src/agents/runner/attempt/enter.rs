//! The worktree of an attempt: made, set up, and checked, before the program starts.

use super::Attempt;
use crate::agents::runner::launch::secrets;
use crate::agents::runner::run_types::RunControl;
use crate::domain::WorkFolder;
use crate::project::task_worktrees::{SetupFailed, TaskWorktree, TaskWorktrees, WorktreeSetup};
use crate::project::trust::{ProgramKind, RulePrograms, agent_place};
use crate::project::workspace::Workspace;
use crate::storage::runs::{RunAttempt, RunFile};
use crate::system::process::{Room, Transcript};

impl Attempt<'_> {
    /// Returns the worktree in which the program works, and makes it if it is missing; `None` if it works in the folder where people work.
    pub(super) fn enter(
        &self,
        workspace: &Workspace,
        folder: &RunAttempt,
        control: RunControl<'_>,
    ) -> Result<Option<TaskWorktree>, SetupFailed> {
        if self.bounds.workspace == WorkFolder::Checkout {
            return Ok(None);
        }
        let rules = &self.open.in_force.rules;
        let worktrees = TaskWorktrees::of(workspace, rules)?;
        let programs = RulePrograms::read(workspace, rules);
        let secrets = secrets(self.launch, self.agent).unwrap_or_default();
        let file = folder.create(RunFile::Setup)?;
        let mut output = Transcript::new(file, &secrets, Room::default());
        let setup = WorktreeSetup {
            task: &self.open.file.task,
            branch: self.open.opening.station.branch.as_ref(),
            programs: &programs,
            visit: self.ticket().to_string(),
            project: &self.project.root,
            secrets: &secrets,
            limits: self.time_limits(),
            printed: &mut |stream, bytes| output.take(stream, bytes),
            is_stopped: &|| control.is_stopped(),
        };
        let made = worktrees.prepare(setup);
        // A transcript that cannot be written is no reason to fail.
        let _ = output.finish();
        let made = made?;
        let place = agent_place(self.agent);
        let is_its = |kind, at: &str| kind == ProgramKind::Agent && at == place;
        worktrees.ensure_seen(&made, &programs, &is_its)?;
        Ok(Some(made))
    }
}
