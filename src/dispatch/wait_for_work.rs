//! Waits for an agent's next task: searches again when the branch moves, and when a time comes that may bring work.

use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use super::next::{Next, Wanted, next};
use crate::domain::{AgentId, RoleId, Timestamp};
use crate::git::CommitId;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::tasks::automatic::end_expired_limits;
use crate::tasks::plan::DryRun;

/// The longest time that a search waits for work.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// The longest time between two searches: the clock may jump, and a remote may have new work.
const SEARCH: Duration = Duration::from_secs(10);

/// The time after which a search is repeated that failed for the moment.
const RETRY: Duration = Duration::from_secs(2);

/// The interval at which the branch is looked at.
const TICK: Duration = Duration::from_millis(50);

/// The least rest after a search, as a multiple of its duration: other commits may come in quick succession.
const REST: u32 = 4;

/// The patience of a search: how long it waits for work.
pub(crate) struct Patience<'p> {
    /// The time that it waits; zero for a single search.
    pub lasts: Duration,
    /// The time that each search waits for other commands.
    pub lock_wait: Duration,
    /// Returns true if the search must end.
    pub is_over: &'p dyn Fn() -> bool,
    /// Called once, before the first pause.
    pub on_wait: &'p dyn Fn(),
}

/// Returns the agent's next task as [`next`] does. Without one, waits and searches again.
pub(crate) fn next_within(
    workspace: &Workspace,
    (agent, role): (&AgentId, Option<&RoleId>),
    wanted: Wanted<'_>,
    dry_run: DryRun,
    patience: &Patience<'_>,
) -> Result<Next, ProjectError> {
    let search =
        |workspace: &Workspace| next(workspace, &workspace.rules()?, agent, role, wanted, dry_run);
    if patience.lasts.is_zero() {
        return search(workspace);
    }
    let (end, mut is_first) = (Instant::now() + patience.lasts, true);
    loop {
        let begun = Instant::now();
        let mut workspace = workspace.reopened(patience.lock_wait)?;
        let seen = head(&workspace);
        let go_on = &mut |_| ControlFlow::Continue(());
        // Without a watcher, no other process ends a claim that was not renewed.
        let limits = end_expired_limits(&mut workspace, patience.lock_wait, dry_run, go_on);
        let found = limits.and_then(|limits| Ok((search(&workspace)?, limits.next)));
        let (longest, time) = match &found {
            Ok((Next::Nothing { later, .. }, limit)) => {
                (SEARCH, later.iter().chain(limit).min().copied())
            }
            Err(error) if error.passes() => (RETRY, None),
            _ => return found.map(|(found, _)| found),
        };
        if Instant::now() >= end || (patience.is_over)() {
            return found.map(|(found, _)| found);
        }
        if is_first {
            (patience.on_wait)();
            is_first = false;
        }
        let until = end.min(Instant::now() + longest);
        rest(&workspace, seen, time, (begun.elapsed() * REST, until), patience);
    }
}

/// Waits until the branch moves or that time comes, at least for the rest after a search, and at most until then.
fn rest(
    workspace: &Workspace,
    seen: Option<CommitId>,
    time: Option<Timestamp>,
    (least, until): (Duration, Instant),
    patience: &Patience<'_>,
) {
    let rested = Instant::now() + least;
    let is_due = || {
        Instant::now() >= rested
            && (head(workspace) != seen || time.is_some_and(|time| workspace.until(time).is_zero()))
    };
    while Instant::now() < until && !(patience.is_over)() && !is_due() {
        thread::sleep(TICK.min(until.saturating_duration_since(Instant::now())));
    }
}

fn head(workspace: &Workspace) -> Option<CommitId> {
    workspace.repository.head_for_reading().ok()?.commit
}
