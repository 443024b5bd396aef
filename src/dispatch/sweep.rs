//! Scheduled work, once: tasks follow the rules in force, time limits end, waiting work is handed out.

use std::ops::ControlFlow;
use std::time::Duration;

use super::hand_out::{HandedOut, NothingToHandOut, hand_out};
use super::synced_assignment::sync_and_hand_out;
use crate::domain::TaskId;
use crate::git::Prompts;
use crate::history::sync::outcome::Loss;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::tasks::automatic::{ExpiredLimits, RuleChanges, follow_rules, end_expired_limits};
use crate::tasks::plan::DryRun;

/// What one round did.
#[derive(Default)]
pub(crate) struct Swept {
    /// Tasks that follow rules which have changed.
    pub settled: RuleChanges,
    pub ran_out: ExpiredLimits,
    pub handed_out: HandedOut,
    /// Entries that no longer count, since the remote had other ones first.
    pub superseded: Vec<Loss>,
}

/// Does all that is due now; in a synced project the remote confirms what is handed out. Calls `rest` between batches with the time
/// that one took; it returns whether to go on.
pub(crate) fn sweep(
    workspace: &mut Workspace,
    wait: Duration,
    dry_run: DryRun,
    rest: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<Swept, ProjectError> {
    let mut swept = Swept {
        settled: follow_rules(workspace, wait, dry_run, rest)?,
        ran_out: end_expired_limits(workspace, wait, dry_run, rest)?,
        handed_out: hand_out(workspace, wait, &mut NothingToHandOut::default(), dry_run, rest)?,
        superseded: Vec::new(),
    };
    if swept.handed_out.to_share {
        let shared = sync_and_hand_out(workspace, wait, Prompts::AtTerminal);
        swept.superseded = shared.synced.into_iter().flat_map(|synced| synced.superseded).collect();
        swept.handed_out.add(shared.handed_out);
    }
    Ok(swept)
}

impl Swept {
    /// Returns whether nothing was done.
    pub(crate) fn is_idle(&self) -> bool {
        let Self { settled, ran_out, handed_out, superseded } = self;
        settled.changed.is_empty()
            && ran_out.timed_out.is_empty()
            && ran_out.lapsed.is_empty()
            && handed_out.given.is_empty()
            && handed_out.dependents.is_empty()
            && superseded.is_empty()
    }

    /// Returns whether the remote confirmed all that was handed out.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.handed_out.unconfirmed.is_none()
    }

    /// Returns the tasks that need a person, each with the reason.
    pub(crate) fn troubled(&self) -> impl Iterator<Item = &(TaskId, ProjectError)> {
        self.settled.troubled.iter().chain(&self.ran_out.troubled).chain(&self.handed_out.troubled)
    }
}
