//! One round of all that nobody has to ask for: tasks follow the rules in force, what has run out is ended, what waits is handed
//! out.
//!
//! Where nothing was to be done it keeps up to when that holds: of the same commit the next look costs one file.

use std::ops::ControlFlow;
use std::time::Duration;

use jiff::SignedDuration;

use super::hand_out::{HandedOut, NothingToHandOut, hand_out, hands_out};
use super::synced_assignment::sync_and_hand_out;
use crate::domain::Timestamp;
use crate::git::Prompts;
use crate::history::sync::outcome::Loss;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::{DueHorizon, Hint, journal};
use crate::tasks::automatic::{RanOut, RuleChanges, follow_rules, run_out};
use crate::tasks::plan::DryRun;

/// So long what was found is believed: what people change in files, and have not committed, changes no commit.
const BELIEVED: SignedDuration = SignedDuration::from_secs(50);

/// What one round did.
#[derive(Default)]
pub(crate) struct Swept {
    /// Tasks that follow rules which have changed.
    pub settled: RuleChanges,
    /// What had run out.
    pub ran_out: RanOut,
    /// What was handed out.
    pub handed_out: HandedOut,
    /// What counts no more since the remote had something else first.
    pub superseded: Vec<Loss>,
}

/// Does all that is to be done now; in a synced project what is handed out is confirmed by the remote. `rest` is called between batches with how long one took, and says whether to go on.
pub(crate) fn sweep(
    workspace: &mut Workspace,
    wait: Duration,
    dry_run: DryRun,
    rest: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<Swept, ProjectError> {
    let now = workspace.now();
    let commit = workspace.repository.look()?.commit.map(|commit| commit.to_string());
    let known = DueHorizon::load(&workspace.paths).filter(|known| {
        Some(&known.commit) == commit.as_ref() && !journal::is_pending(&workspace.paths)
    });
    if let Some(known) = known.filter(|known| holds(known, now)) {
        let ran_out = RanOut { next: known.next, ..RanOut::default() };
        let handed_out = HandedOut {
            hands_out: hands_out(&workspace.rules()?.rules),
            left: known.left,
            ..HandedOut::default()
        };
        return Ok(Swept { ran_out, handed_out, ..Swept::default() });
    }
    let mut swept = Swept {
        settled: follow_rules(workspace, wait, dry_run, rest)?,
        ran_out: run_out(workspace, wait, dry_run, rest)?,
        handed_out: hand_out(workspace, wait, &mut NothingToHandOut::default(), dry_run, rest)?,
        superseded: Vec::new(),
    };
    if swept.handed_out.to_share {
        share(workspace, wait, &mut swept);
    }
    if let Some(commit) = commit.filter(|_| swept.is_at_rest() && dry_run == DryRun::No) {
        // It only saves time: a project that cannot be written to is swept all the same.
        let _ = DueHorizon {
            commit,
            looked: now,
            next: swept.ran_out.next,
            left: swept.handed_out.left,
        }
        .save(&workspace.paths);
    }
    Ok(swept)
}

/// Hands out by way of the remote. What keeps it from that takes nothing from what was done before.
fn share(workspace: &mut Workspace, wait: Duration, swept: &mut Swept) {
    let errand = sync_and_hand_out(workspace, wait, Prompts::AtTerminal);
    swept.superseded = errand.synced.into_iter().flat_map(|synced| synced.superseded).collect();
    swept.handed_out.add(errand.handed_out);
}

fn holds(known: &DueHorizon, now: Timestamp) -> bool {
    let age = now.duration_since(known.looked);
    !age.is_negative() && age < BELIEVED && known.next.is_none_or(|next| next > now)
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

    /// Returns whether all that was handed out counts.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.handed_out.unconfirmed.is_none()
    }

    /// Returns whether nothing is left to do until something changes.
    fn is_at_rest(&self) -> bool {
        self.is_idle()
            && self.is_confirmed()
            && self.troubled().next().is_none()
            && self.ran_out.unreadable.is_empty()
    }

    /// Returns the tasks that somebody has to look at, with why.
    pub(crate) fn troubled(&self) -> impl Iterator<Item = &(crate::domain::TaskId, ProjectError)> {
        self.settled.troubled.iter().chain(&self.ran_out.troubled).chain(&self.handed_out.troubled)
    }
}
