//! What the watcher does with the tasks, and tells of that: what people changed is committed, what ran out is moved, work is handed out.

use std::time::{Duration, Instant};

use tracing::warn;

use super::inbox::inbox::Desk;
use super::report::Report;
use super::schedule::Schedule;
use crate::dispatch::hand_out::{Exhausted, HandedOut, hand_out};
use crate::domain::TaskId;
use crate::history::lost_steps::{BranchSeen, Retaken, tend_branch};
use crate::history::stale_index::{IndexSeen, tend_index};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::inbox::QUIET;
use crate::tasks::apply::change::DryRun;
use crate::tasks::automatic::adopt::{Seen, tend};
use crate::tasks::automatic::timeouts::run_out;

/// So many of what only looks like a task are told.
const STRAYS: usize = 20;

/// What is known of the tasks.
#[derive(Default)]
pub(crate) struct Tasks {
    seen: Seen,
    /// The commit under which nothing was left to hand out.
    exhausted: Exhausted,
}

impl Tasks {
    /// Has work handed out that was not to be under the same commit.
    pub(crate) fn look_again(&mut self) {
        self.exhausted = Exhausted::default();
    }

    /// Commits what people changed, and sees to what does not stand as it should.
    pub(crate) fn tend(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        schedule: &mut Schedule,
        desk: &mut Desk<'_>,
    ) -> Result<(), OpsError> {
        let tended = tend(workspace, wait, QUIET, &mut self.seen, &mut |worked| desk.rest(worked))?;
        schedule.tended(tended.waiting, Instant::now());
        for changed in tended.adopted {
            desk.tell(Report::Adopted(Box::new(changed)));
        }
        for changed in tended.passed {
            desk.tell(Report::Passed(Box::new(changed)));
        }
        for changed in tended.followed {
            desk.tell(Report::Followed(Box::new(changed)));
        }
        for changed in tended.moved {
            desk.tell(Report::Moved(Box::new(changed)));
        }
        for changed in tended.committed {
            desk.tell(Report::Committed(Box::new(changed)));
        }
        for (task, error) in tended.troubled {
            desk.failed = true;
            desk.tell(Report::Troubled { task, error });
        }
        for stray in tended.strays.iter().take(STRAYS) {
            let (path, reason) = (stray.path.display().to_string(), stray.reason.to_string());
            if desk.told.is_news(format!("{path}: {reason}")) {
                desk.tell(Report::Stray { path, reason });
            }
        }
        Ok(())
    }

    /// Hands work out. Returns whether something is left that counts once the remote has it.
    pub(crate) fn hand_out(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        desk: &mut Desk<'_>,
    ) -> Result<bool, OpsError> {
        let done = hand_out(workspace, wait, &mut self.exhausted, DryRun::No, &mut |worked| {
            desk.rest(worked)
        })?;
        let to_share = done.to_share;
        tell_of_handed_out(done, desk);
        Ok(to_share)
    }
}

/// Moves what has run out, and learns when the next thing does.
pub(crate) fn look_at_clocks(
    workspace: &mut Workspace,
    wait: Duration,
    schedule: &mut Schedule,
    desk: &mut Desk<'_>,
) -> Result<(), OpsError> {
    let start = Instant::now();
    let ran_out = run_out(workspace, wait, DryRun::No, &mut |worked| desk.rest(worked))?;
    schedule.read_clocks(start, Instant::now(), ran_out.next.map(|next| workspace.until(next)));
    for changed in ran_out.timed_out {
        desk.tell(Report::TimedOut(Box::new(changed)));
    }
    for changed in ran_out.lapsed {
        desk.tell(Report::Lapsed(Box::new(changed)));
    }
    tell_of_trouble(ran_out.troubled, desk);
    Ok(())
}

/// Has git's index have again of the tasks what is committed, where a command of git's was overtaken.
pub(crate) fn look_at_index(
    workspace: &mut Workspace,
    wait: Duration,
    seen: &mut IndexSeen,
    schedule: &mut Schedule,
    desk: &mut Desk<'_>,
) {
    let start = Instant::now();
    let caught_up = tend_index(workspace, wait, seen);
    schedule.looked_at_index(start, Instant::now());
    match caught_up {
        Ok(files) if files.is_empty() => {}
        Ok(files) => desk.tell(Report::CaughtUp { files }),
        // Whoever commits meets the same, and nothing else depends on it.
        Err(error) => warn!("git's index was not looked at: {error}"),
    }
}

/// Has the branch have again what a command of git's that was overtaken took off it.
pub(crate) fn look_at_branch(
    workspace: &mut Workspace,
    wait: Duration,
    seen: &mut BranchSeen,
    desk: &mut Desk<'_>,
) {
    match tend_branch(workspace, wait, seen) {
        Ok(retaken) => {
            for retaken in retaken {
                match retaken {
                    Retaken::Put(put) => desk.tell(Report::PutBack(put)),
                    Retaken::Told(point) if desk.told.is_news(point.problem.clone()) => {
                        desk.tell(Report::TakenBack { problem: point.problem, fix: point.fix });
                    }
                    Retaken::Told(_) => {}
                }
            }
        }
        Err(error) => warn!("what git did to the branch was not looked at: {error}"),
    }
}

/// Tells what was handed out, and what became of dependencies.
pub(crate) fn tell_of_handed_out(done: HandedOut, desk: &mut Desk<'_>) {
    for dependent in done.dependents {
        desk.tell(Report::Dependent(dependent));
    }
    for given in done.given {
        desk.tell(Report::Given(given));
    }
    tell_of_trouble(done.troubled, desk);
}

fn tell_of_trouble(troubled: Vec<(TaskId, OpsError)>, desk: &mut Desk<'_>) {
    for (task, error) in troubled {
        desk.failed = true;
        if desk.told.is_news(format!("{task}: {error}")) {
            desk.tell(Report::Troubled { task, error });
        }
    }
}
