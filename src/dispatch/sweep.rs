//! One pass over scheduled work: tasks follow the rules in force, expired time limits end visits and claims, waiting work is handed out.
//!
//! A sweep that finds nothing to do records the time until which that holds, so that the next one at the same commit reads one
//! file.

use std::ops::ControlFlow;
use std::time::Duration;

use jiff::SignedDuration;

use super::hand_out::{HandOutResult, NothingToHandOut, hand_out, hands_out};
use super::synced_assignment::sync_and_hand_out;
use crate::domain::{TaskId, Timestamp};
use crate::git::Prompts;
use crate::history::sync::outcome::Loss;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::header_cache::{DueHorizon, Hint};
use crate::storage::journal;
use crate::tasks::automatic::{ExpiredLimits, RuleChanges, end_expired_limits, follow_rules};
use crate::tasks::create::recurring::{SettledPeriods, make_recurring};
use crate::tasks::plan::{Changed, DryRun};

/// The time for which the record of a sweep holds: uncommitted edits do not move the commit.
const HORIZON: SignedDuration = SignedDuration::from_secs(50);

/// The results of one round.
#[derive(Default)]
pub(crate) struct SweepResult {
    /// Tasks of the present periods.
    pub recurred: Vec<Changed>,
    /// Tasks that follow rules which have changed.
    pub settled: RuleChanges,
    pub ran_out: ExpiredLimits,
    pub handed_out: HandOutResult,
    /// Entries that no longer count, since the remote had other ones first.
    pub superseded: Vec<Loss>,
}

/// Does all work that is due now; in a synced project the remote confirms the assignments. Calls `rest` between batches with the
/// time that one took; it returns whether to continue.
pub(crate) fn sweep(
    workspace: &mut Workspace,
    wait: Duration,
    dry_run: DryRun,
    rest: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<SweepResult, ProjectError> {
    let now = workspace.now();
    let commit = workspace.repository.head_for_reading()?.commit.map(|commit| commit.to_string());
    let horizon = DueHorizon::load(&workspace.paths).filter(|horizon| {
        Some(&horizon.commit) == commit.as_ref()
            && is_ahead(horizon, now)
            && !journal::is_pending(&workspace.paths)
    });
    if let Some(DueHorizon { left, next, .. }) = horizon {
        let hands_out = hands_out(&workspace.rules()?.rules);
        let handed_out = HandOutResult { hands_out, left, ..HandOutResult::default() };
        let ran_out = ExpiredLimits { next, ..ExpiredLimits::default() };
        return Ok(SweepResult { ran_out, handed_out, ..SweepResult::default() });
    }
    let mut periods = SettledPeriods::default();
    let mut recurred = Vec::new();
    loop {
        workspace.restart_wait(wait);
        let made = make_recurring(workspace, &mut periods, dry_run)?;
        let is_last = made.is_empty() || dry_run == DryRun::Yes;
        recurred.extend(made);
        if is_last {
            break;
        }
    }
    let mut swept = SweepResult {
        recurred,
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
    if let Some(commit) = commit.filter(|_| dry_run == DryRun::No && swept.is_at_rest()) {
        let (left, next) = (swept.handed_out.left, swept.ran_out.next);
        // The record only saves time.
        let _ = DueHorizon { commit, examined: now, left, next }.save(&workspace.paths);
    }
    Ok(swept)
}

/// Returns whether nothing is due yet, by the recorded horizon.
fn is_ahead(horizon: &DueHorizon, now: Timestamp) -> bool {
    let age = now.duration_since(horizon.examined);
    !age.is_negative() && age < HORIZON && horizon.next.is_none_or(|next| next > now)
}

impl SweepResult {
    /// Returns whether nothing was done.
    pub(crate) fn is_idle(&self) -> bool {
        let Self { recurred, settled, ran_out, handed_out, superseded } = self;
        recurred.is_empty()
            && settled.changed.is_empty()
            && ran_out.timed_out.is_empty()
            && ran_out.lapsed.is_empty()
            && handed_out.given.is_empty()
            && handed_out.dependents.is_empty()
            && superseded.is_empty()
    }

    /// Returns whether the remote confirmed all assignments.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.handed_out.unconfirmed.is_none()
    }

    /// Returns whether nothing is left to do until something changes.
    fn is_at_rest(&self) -> bool {
        self.is_idle()
            && self.is_confirmed()
            && self.failures().next().is_none()
            && self.ran_out.unreadable.is_empty()
    }

    /// Returns the tasks that need a person, each with the reason.
    pub(crate) fn failures(&self) -> impl Iterator<Item = &(TaskId, ProjectError)> {
        self.settled.failures.iter().chain(&self.ran_out.failures).chain(&self.handed_out.failures)
    }
}
