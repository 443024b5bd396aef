//! What the watcher checks, does and reports: rules, tasks, time limits, git's index, the branch, work to hand out, waiting files.

use std::time::{Duration, Instant};

use tracing::warn;

use super::report::{Reporter, WatchReport};
use super::schedule::Schedule;
use crate::dispatch::hand_out::{HandedOut, NothingToHandOut, hand_out};
use crate::git::{CommitId, Head, TreeFile};
use crate::history::lost_steps::{BranchSeen, RecoveredSteps, tend_branch};
use crate::history::stale_index::{IndexSeen, tend_index};
use crate::project::active_rules::Remark;
use crate::project::error::ProjectError;
use crate::project::rule_files::rules_mark;
use crate::project::workspace::Workspace;
use crate::storage::inbox::QUIET;
use crate::tasks::automatic::{SeenFiles, TendReason, run_out, tend};
use crate::tasks::plan::DryRun;

/// How many files that only look like tasks are reported.
const STRAYS: usize = 20;

/// What was seen so far.
#[derive(Default)]
pub(crate) struct Checks {
    /// The rule files of a commit; no commit where they are to be looked at again.
    rules: Option<(Option<CommitId>, Vec<TreeFile>)>,
    uncommitted: Vec<String>,
    tasks: SeenFiles,
    /// The commit at which nothing was left to hand out.
    exhausted: NothingToHandOut,
    index: IndexSeen,
    branch: BranchSeen,
}

impl Checks {
    /// Has the rule files looked at again, whatever the commit.
    pub(crate) fn forget_rules(&mut self) {
        self.rules = self.rules.take().map(|(_, mark)| (None, mark));
    }

    /// Has handing out tried again at the same commit.
    pub(crate) fn forget_hand_out(&mut self) {
        self.exhausted = NothingToHandOut::default();
    }

    /// Reports when other rules are in force than before, or than those in the worktree.
    pub(crate) fn check_rules(
        &mut self,
        workspace: &Workspace,
        head: &Head,
        reporter: &mut Reporter<'_>,
    ) -> Result<(), ProjectError> {
        let Some(commit) = head.commit else { return Ok(()) };
        let (seen, known) = match &self.rules {
            Some((seen, mark)) => (*seen, Some(mark)),
            None => (None, None),
        };
        if seen == Some(commit) {
            return Ok(());
        }
        let mark = rules_mark(&workspace.repository, commit)?;
        let (is_first, is_new) = (known.is_none(), known.is_some_and(|known| *known != mark));
        if seen.is_none() || is_new {
            let (mut uncommitted, mut valid) = (Vec::new(), true);
            for remark in workspace.rules()?.remarks {
                match remark {
                    Remark::Uncommitted(files) => uncommitted = files,
                    Remark::Unheeded(file) => uncommitted.push(file.display().to_string()),
                    Remark::Superseded { commit: in_force, diagnostics } => {
                        valid = false;
                        if is_first || is_new {
                            reporter.tell(WatchReport::RulesInvalid { in_force, diagnostics });
                        }
                    }
                }
            }
            if is_new && valid {
                reporter.tell(WatchReport::RulesInForce { commit });
            }
            if self.uncommitted != uncommitted {
                if !uncommitted.is_empty() {
                    reporter.tell(WatchReport::RulesUncommitted { files: uncommitted.clone() });
                }
                self.uncommitted = uncommitted;
            }
        }
        self.rules = Some((Some(commit), mark));
        Ok(())
    }

    /// Commits what people changed, and adopts, moves and settles tasks.
    pub(crate) fn check_tasks(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        schedule: &mut Schedule,
        reporter: &mut Reporter<'_>,
    ) -> Result<(), ProjectError> {
        let tended =
            tend(workspace, wait, QUIET, &mut self.tasks, &mut |worked| reporter.rest(worked))?;
        schedule.checked_tasks(tended.waiting > 0, Instant::now());
        for (reason, changed) in tended.changed {
            let report = match reason {
                TendReason::Adopt => WatchReport::Adopted,
                TendReason::Pass => WatchReport::Passed,
                TendReason::Follow => WatchReport::Followed,
                TendReason::Move => WatchReport::Moved,
                TendReason::Commit => WatchReport::Committed,
            };
            reporter.tell(report(Box::new(changed)));
        }
        reporter.tell_troubled(tended.troubled);
        for stray in tended.strays.iter().take(STRAYS) {
            let (path, reason) = (stray.path.display().to_string(), stray.reason.to_string());
            if reporter.told.is_news(format!("{path}: {reason}")) {
                reporter.tell(WatchReport::Stray { path, reason });
            }
        }
        Ok(())
    }

    /// Hands work out. Returns whether some is left that counts once the remote has it.
    pub(crate) fn hand_out(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        reporter: &mut Reporter<'_>,
    ) -> Result<bool, ProjectError> {
        let rest = &mut |worked| reporter.rest(worked);
        let done = hand_out(workspace, wait, &mut self.exhausted, DryRun::No, rest)?;
        let to_share = done.to_share;
        tell_handed_out(done, reporter);
        Ok(to_share)
    }

    /// Repairs git's index where a git command that was overtaken left earlier versions of tasks in it.
    pub(crate) fn check_index(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        schedule: &mut Schedule,
        reporter: &mut Reporter<'_>,
    ) {
        let start = Instant::now();
        let caught_up = tend_index(workspace, wait, &mut self.index);
        schedule.checked_index(start, Instant::now());
        match caught_up {
            Ok(files) if files.is_empty() => {}
            Ok(files) => reporter.tell(WatchReport::CaughtUp { files }),
            // Commits meet the same error, and nothing else depends on it.
            Err(error) => warn!("git's index was not looked at: {error}"),
        }
    }

    /// Puts steps back onto the branch that a git command that was overtaken dropped.
    pub(crate) fn check_branch(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        reporter: &mut Reporter<'_>,
    ) {
        let retaken = tend_branch(workspace, wait, &mut self.branch).unwrap_or_else(|error| {
            warn!("what git did to the branch was not looked at: {error}");
            Vec::new()
        });
        for retaken in retaken {
            match retaken {
                RecoveredSteps::Restored(put) => reporter.tell(WatchReport::PutBack(put)),
                RecoveredSteps::Reported(point) if reporter.told.is_news(point.problem.clone()) => {
                    reporter
                        .tell(WatchReport::TakenBack { problem: point.problem, fix: point.fix });
                }
                RecoveredSteps::Reported(_) => {}
            }
        }
    }
}

/// Ends what has run out, and learns when the next thing does.
pub(crate) fn check_limits(
    workspace: &mut Workspace,
    wait: Duration,
    schedule: &mut Schedule,
    reporter: &mut Reporter<'_>,
) -> Result<(), ProjectError> {
    let start = Instant::now();
    let ran_out = run_out(workspace, wait, DryRun::No, &mut |worked| reporter.rest(worked))?;
    let next = ran_out.next.map(|next| workspace.until(next));
    schedule.checked_limits(start, Instant::now(), next);
    let timed_out = ran_out.timed_out.into_iter().map(Box::new).map(WatchReport::TimedOut);
    let lapsed = ran_out.lapsed.into_iter().map(Box::new).map(WatchReport::Lapsed);
    timed_out.chain(lapsed).for_each(|report| reporter.tell(report));
    reporter.tell_troubled(ran_out.troubled);
    Ok(())
}

/// Reports what was handed out, and what became of dependencies.
pub(crate) fn tell_handed_out(done: HandedOut, reporter: &mut Reporter<'_>) {
    for dependent in done.dependents {
        reporter.tell(WatchReport::Dependent(dependent));
    }
    for given in done.given {
        reporter.tell(WatchReport::Given(given));
    }
    reporter.tell_troubled(done.troubled);
}
