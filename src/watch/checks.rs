//! The checks of the watcher, with their actions and reports: rules, tasks, time limits, git's index, the branch, work to hand
//! out. [`Schedule`] has the times when they are due, and [`Pause`] the reason why nothing is done at the moment; neither reads a
//! clock.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tracing::warn;

use super::file_events::WatchedPlace;
use super::report::{Reporter, WatchReport};
use crate::dispatch::hand_out::{HandOutResult, NothingToHandOut, hand_out};
use crate::domain::Ticket;
use crate::git::{CommitId, Head, TreeFile};
use crate::history::git_race_repair::{
    BranchSeen, IndexSeen, RecoveredSteps, tend_branch, tend_index,
};
use crate::project::active_rules::Remark;
use crate::project::error::ProjectError;
use crate::project::rule_files::rule_blobs;
use crate::project::workspace::Workspace;
use crate::storage::inbox::QUIET;
use crate::storage::runs::Runs;
use crate::tasks::automatic::{SeenFiles, UpkeepReason, end_expired_limits, keep_up_files};
use crate::tasks::create::recurring::{SettledPeriods, make_recurring};
use crate::tasks::plan::DryRun;

/// The most files that only look like tasks that are reported.
const MOST_STRAYS: usize = 20;

/// The state of the last checks.
#[derive(Default)]
pub(crate) struct Checks {
    /// The rule files of a commit; without a commit, they must be checked again.
    rules: Option<(Option<CommitId>, Vec<TreeFile>)>,
    uncommitted: Vec<String>,
    tasks: SeenFiles,
    /// The commit at which nothing was left to hand out.
    exhausted: NothingToHandOut,
    index: IndexSeen,
    branch: BranchSeen,
    /// The reported programs that outlived their runners.
    outlived: BTreeSet<Ticket>,
    pub(crate) periods: SettledPeriods,
}

impl Checks {
    /// Makes the next check read the rule files again, even at the same commit.
    pub(crate) fn forget_rules(&mut self) {
        self.rules = self.rules.take().map(|(_, mark)| (None, mark));
    }

    /// Makes the next check hand out work again, even at the same commit.
    pub(crate) fn forget_hand_out(&mut self) {
        self.exhausted = NothingToHandOut::default();
    }

    /// Reports new rules, and rules in the worktree that differ from those in force.
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
        let mark = rule_blobs(&workspace.repository, commit)?;
        let (is_first, is_new) = (known.is_none(), known.is_some_and(|known| *known != mark));
        if seen.is_none() || is_new {
            let (mut uncommitted, mut valid) = (Vec::new(), true);
            for remark in workspace.rules()?.remarks {
                match remark {
                    Remark::Uncommitted(files) => uncommitted = files,
                    Remark::UncommittedProjectFile(file) => {
                        uncommitted.push(file.display().to_string());
                    }
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

    /// Commits people's changes, and adopts, moves and updates tasks.
    pub(crate) fn check_tasks(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        schedule: &mut Schedule,
        reporter: &mut Reporter<'_>,
    ) -> Result<(), ProjectError> {
        let tended = keep_up_files(workspace, wait, QUIET, &mut self.tasks, &mut |worked| {
            reporter.rest(worked)
        })?;
        schedule.checked_tasks(tended.waiting > 0, Instant::now());
        for (reason, changed) in tended.changed {
            let report = match reason {
                UpkeepReason::Adopt => WatchReport::Adopted,
                UpkeepReason::Pass => WatchReport::Passed,
                UpkeepReason::Follow => WatchReport::RulesFollowed,
                UpkeepReason::Move => WatchReport::Moved,
                UpkeepReason::Commit => WatchReport::Committed,
            };
            reporter.tell(report(Box::new(changed)));
        }
        reporter.report_failures(tended.failures);
        for stray in tended.strays.iter().take(MOST_STRAYS) {
            let (path, reason) = (stray.path.display().to_string(), stray.reason.to_string());
            if reporter.errors.is_new(format!("{path}: {reason}")) {
                reporter.tell(WatchReport::Stray { path, reason });
            }
        }
        Ok(())
    }

    /// Hands work out. Returns whether work is left that the remote must confirm.
    pub(crate) fn hand_out(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        reporter: &mut Reporter<'_>,
    ) -> Result<bool, ProjectError> {
        let rest = &mut |worked| reporter.rest(worked);
        let done = hand_out(workspace, wait, &mut self.exhausted, DryRun::No, rest)?;
        let to_share = done.to_share;
        report_handed_out(done, reporter);
        Ok(to_share)
    }

    /// Repairs git's index if a git command that raced with aof left earlier versions of tasks in it.
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
            Ok(files) => reporter.tell(WatchReport::IndexRepaired { files }),
            // Commits report the same error, and nothing else depends on the index.
            Err(error) => warn!("git's index was not looked at: {error}"),
        }
    }

    /// Reports agents' programs that outlived their runners, each once.
    pub(crate) fn check_outlived_programs(
        &mut self,
        workspace: &Workspace,
        reporter: &mut Reporter<'_>,
    ) -> Result<(), ProjectError> {
        for outlived in Runs::at(&workspace.paths).outlived()? {
            let ticket = &outlived.record.ticket;
            if self.outlived.insert(ticket.clone()) {
                let problem = outlived.sentence();
                let fix = "the next `aof run` ends it, and so does `aof doctor --fix`".to_owned();
                let error =
                    ProjectError::Unfit { code: "agent_outlived_runner", problem, fix: fix.into() };
                reporter.tell(WatchReport::TaskFailed { task: ticket.task.clone(), error });
            }
        }
        Ok(())
    }

    /// Restores steps that a git command that raced with aof dropped from the branch.
    pub(crate) fn check_branch(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        reporter: &mut Reporter<'_>,
    ) {
        let recovered = tend_branch(workspace, wait, &mut self.branch).unwrap_or_else(|error| {
            warn!("what git did to the branch was not looked at: {error}");
            Vec::new()
        });
        for steps in recovered {
            match steps {
                RecoveredSteps::Restored(steps) => reporter.tell(WatchReport::StepsRestored(steps)),
                RecoveredSteps::Reported(issue)
                    if reporter.errors.is_new(issue.problem.clone()) =>
                {
                    reporter.tell(WatchReport::StepsDropped {
                        problem: issue.problem,
                        fix: issue.fix.to_string(),
                    });
                }
                RecoveredSteps::Reported(_) => {}
            }
        }
    }
}

/// Ends claims and visits whose time limit has passed, and schedules the next check.
pub(crate) fn check_limits(
    workspace: &mut Workspace,
    wait: Duration,
    periods: &mut SettledPeriods,
    schedule: &mut Schedule,
    reporter: &mut Reporter<'_>,
) -> Result<(), ProjectError> {
    let start = Instant::now();
    workspace.restart_wait(wait);
    let recurred = make_recurring(workspace, periods, DryRun::No)?;
    recurred.into_iter().map(Box::new).for_each(|made| reporter.tell(WatchReport::Recurred(made)));
    let ran_out =
        end_expired_limits(workspace, wait, DryRun::No, &mut |worked| reporter.rest(worked))?;
    let next = ran_out.next.map(|next| workspace.until(next));
    schedule.checked_limits(start, Instant::now(), next);
    let timed_out = ran_out.timed_out.into_iter().map(Box::new).map(WatchReport::TimedOut);
    let lapsed = ran_out.lapsed.into_iter().map(Box::new).map(WatchReport::ClaimExpired);
    timed_out.chain(lapsed).for_each(|report| reporter.tell(report));
    reporter.report_failures(ran_out.failures);
    Ok(())
}

/// Reports the assignments, and the tasks that their dependencies blocked or unblocked.
pub(crate) fn report_handed_out(done: HandOutResult, reporter: &mut Reporter<'_>) {
    for dependent in done.dependents {
        reporter.tell(WatchReport::DependencyChanged(dependent));
    }
    for given in done.given {
        reporter.tell(WatchReport::Assigned(given));
    }
    reporter.report_failures(done.failures);
}

/// The interval at which everything is checked, even without events.
const FULL_CHECK: Duration = Duration::from_secs(5);
/// The interval at which everything is checked if the system gives no file events.
pub(crate) const POLL: Duration = Duration::from_secs(1);
/// The least time between two checks of the tasks, or of git's index: edits must be complete anyway.
const SETTLING: Duration = Duration::from_millis(500);
/// The least time between two checks of time limits, when tasks change.
const LEAST_LIMITS: Duration = Duration::from_secs(1);
/// The interval at which time limits are checked when nothing happens: the clock may jump.
const LIMITS: Duration = Duration::from_secs(30);
/// The rest after a check, as a multiple of its duration.
const REST: u32 = 10;

/// The time when a check is due. Hints bring it forward, but not before the end of its rest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timer {
    at: Option<Instant>,
    not_before: Instant,
}

impl Timer {
    fn due(now: Instant) -> Self {
        Self { at: Some(now), not_before: now }
    }

    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.at.is_some_and(|at| now >= at)
    }

    /// Makes the check due as soon as it has rested.
    pub(crate) fn hint(&mut self, now: Instant) {
        let soonest = now.max(self.not_before);
        self.at = Some(self.at.map_or(soonest, |at| at.min(soonest)));
    }

    fn done(&mut self, next: Option<Instant>, not_before: Instant) {
        (self.at, self.not_before) = (next, not_before);
    }
}

/// The times when the checks are due.
pub(crate) struct Schedule {
    full_check: Timer,
    pub tasks: Timer,
    pub limits: Timer,
    pub index: Timer,
    pub hand_out: Timer,
    /// True if the watcher ends when nothing is left to do: then no check rests.
    once: bool,
}

impl Schedule {
    /// Makes all checks due from then on.
    pub(crate) fn new(now: Instant) -> Self {
        let [full_check, tasks, limits, index, hand_out] = [Timer::due(now); 5];
        Self { full_check, tasks, limits, index, hand_out, once: false }
    }

    /// Makes each check due once more before the end, and none later.
    pub(crate) fn end_with(&mut self, end: Instant, now: Instant) {
        self.once = true;
        self.full_check.at = Some(end + FULL_CHECK);
        self.tasks.at = Some(now);
        (self.hand_out.not_before, self.index.not_before) = (now, now);
    }

    /// Brings forward the checks of places that may have changed.
    pub(crate) fn note(&mut self, touched: &BTreeSet<WatchedPlace>, now: Instant) {
        for place in touched {
            match place {
                WatchedPlace::Anywhere => self.full_check.hint(now),
                WatchedPlace::Tasks => self.tasks.hint(now),
                WatchedPlace::Repository => self.index.hint(now),
                WatchedPlace::Rules => {}
            }
            if *place != WatchedPlace::Repository {
                self.limits.hint(now);
            }
        }
    }

    /// Returns whether everything must be checked now, and schedules the next time.
    pub(crate) fn begins_full_check(&mut self, sees_events: bool, now: Instant) -> bool {
        let begins = self.full_check.is_due(now);
        if begins {
            self.full_check.done(Some(now + if sees_events { FULL_CHECK } else { POLL }), now);
            (self.tasks.at, self.index.at) = (Some(now), Some(now));
        }
        begins
    }

    /// Notes that the tasks were checked, and whether some files changed too recently.
    pub(crate) fn checked_tasks(&mut self, are_growing: bool, now: Instant) {
        let soonest = now + SETTLING;
        let full_check = self.full_check.at.unwrap_or(soonest).max(soonest);
        self.tasks.done(Some(if are_growing { soonest } else { full_check }), soonest);
    }

    /// Records the duration of a check of git's index.
    pub(crate) fn checked_index(&mut self, start: Instant, now: Instant) {
        let rest = if self.once { Duration::ZERO } else { SETTLING.max((now - start) * REST) };
        self.index.done(None, now + rest);
    }

    /// Records the duration of a check of time limits, and the time until the next limit ends.
    pub(crate) fn checked_limits(&mut self, start: Instant, now: Instant, next: Option<Duration>) {
        let next = next.map_or(LIMITS, |next| next.min(LIMITS));
        self.limits.done(Some(now + next), now + LEAST_LIMITS.max((now - start) * REST));
    }

    /// Records the duration of handing out.
    pub(crate) fn handed_out(&mut self, start: Instant, now: Instant) {
        let rest = if self.once { Duration::ZERO } else { (now - start) * REST };
        self.hand_out.done(None, now + rest);
    }

    /// Returns the time when the next check is due. Time limits are left out: they wait until all other checks are done.
    pub(crate) fn next(&self) -> Instant {
        let timers = [self.full_check, self.tasks, self.index, self.hand_out];
        let next = timers.into_iter().filter_map(|timer| timer.at).min();
        next.unwrap_or(self.full_check.not_before)
    }

    /// Returns the time when the check of time limits is due.
    pub(crate) fn limits_at(&self) -> Instant {
        self.limits.at.unwrap_or(self.limits.not_before)
    }

    /// Returns whether that is before the next check of everything.
    pub(crate) fn is_before_full_check(&self, until: Instant) -> bool {
        self.full_check.at.is_none_or(|at| until < at)
    }
}

const SHORTEST_BACKOFF: Duration = Duration::from_millis(500);
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

/// The reason why the watcher does nothing, if it is paused.
#[derive(Default)]
pub(crate) struct Pause(Option<Standstill>);

struct Standstill {
    reason: String,
    /// The backoff after an error, and its end; `None` while git is busy, or without a branch.
    backoff: Option<(Duration, Instant)>,
}

impl Pause {
    /// Returns whether the watcher is paused.
    pub(crate) fn is_paused(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the end of a backoff, if it is in the future.
    pub(crate) fn backoff_end(&self, now: Instant) -> Option<Instant> {
        let (_, until) = self.0.as_ref()?.backoff?;
        (now < until).then_some(until)
    }

    /// Ends a backoff, so that the next try is immediate.
    pub(crate) fn end_backoff(&mut self, now: Instant) {
        if let Some(Standstill { backoff: Some((_, until)), .. }) = &mut self.0 {
            *until = now;
        }
    }

    /// Pauses; returns whether the reason is new.
    pub(crate) fn pause(&mut self, reason: &str) -> bool {
        let known = self.0.as_ref().filter(|known| known.backoff.is_none());
        let is_new = known.is_none_or(|known| known.reason != reason);
        self.0 = Some(Standstill { reason: reason.to_owned(), backoff: None });
        is_new
    }

    /// Ends a pause; returns whether there was one. An error remains until a try succeeds.
    pub(crate) fn end_pause(&mut self) -> bool {
        self.0.take_if(|known| known.backoff.is_none()).is_some()
    }

    /// Ends a pause or an error; returns whether there was one.
    pub(crate) fn end(&mut self) -> bool {
        self.0.take().is_some()
    }

    /// Backs off after an error, longer after each consecutive one. Returns the end, and whether the error is new.
    pub(crate) fn back_off(&mut self, reason: String, now: Instant) -> (Instant, bool) {
        let known = self.0.as_ref().and_then(|known| Some((&known.reason, known.backoff?.0)));
        let is_new = known.is_none_or(|(before, _)| *before != reason);
        let backoff = known.map_or(SHORTEST_BACKOFF, |(_, last)| (last * 2).min(LONGEST_BACKOFF));
        let until = now + backoff;
        self.0 = Some(Standstill { reason, backoff: Some((backoff, until)) });
        (until, is_new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched(place: WatchedPlace) -> BTreeSet<WatchedPlace> {
        BTreeSet::from([place])
    }

    #[test]
    fn everything_is_checked_from_time_to_time_and_sooner_after_a_change() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start);
        assert!(schedule.tasks.is_due(start) && schedule.limits.is_due(start));
        assert!(
            schedule.begins_full_check(false, start) && !schedule.begins_full_check(false, start)
        );
        schedule.checked_tasks(false, start);
        assert!(schedule.index.is_due(start) && schedule.hand_out.is_due(start));
        schedule.checked_index(start, start);
        schedule.handed_out(start, start);
        assert_eq!(schedule.next(), start + POLL);
        schedule.note(&touched(WatchedPlace::Tasks), start);
        assert_eq!(schedule.next(), start + SETTLING, "they were looked at just now");
        schedule.note(&touched(WatchedPlace::Anywhere), start);
        assert!(schedule.begins_full_check(false, start));
    }

    #[test]
    fn slow_checks_run_less_often() {
        let start = Instant::now();
        let long = Duration::from_mins(1);
        let now = start + long;
        let mut schedule = Schedule::new(start);
        schedule.checked_limits(start, now, Some(SETTLING));
        assert_eq!(schedule.limits_at(), now + SETTLING, "what runs out is seen in time");
        schedule.checked_limits(start, now, None);
        schedule.note(&touched(WatchedPlace::Tasks), now);
        assert_eq!(schedule.limits_at(), now + LIMITS);
        schedule.note(&touched(WatchedPlace::Tasks), now + long * 10);
        assert!(schedule.limits.is_due(now + long * 10));

        schedule.handed_out(start, now);
        schedule.hand_out.hint(now);
        assert!(!schedule.hand_out.is_due(now) && schedule.hand_out.is_due(now + long * REST));

        schedule.checked_index(start, start);
        assert!(!schedule.index.is_due(now));
        schedule.note(&touched(WatchedPlace::Repository), start);
        assert!(!schedule.index.is_due(start) && schedule.index.is_due(start + SETTLING));
    }

    #[test]
    fn a_single_sweep_waits_for_nothing_due_later() {
        let now = Instant::now();
        let mut schedule = Schedule::new(now);
        schedule.end_with(now + POLL, now);
        assert!(!schedule.begins_full_check(false, now + POLL) && schedule.tasks.is_due(now));
        schedule.checked_tasks(false, now);
        // No check rests after a long run.
        let later = now + Duration::from_mins(1);
        schedule.handed_out(now, later);
        schedule.checked_index(now, later);
        assert!(!schedule.is_before_full_check(schedule.next()));
        schedule.checked_tasks(true, now);
        assert!(schedule.is_before_full_check(schedule.next()));
        schedule.note(&touched(WatchedPlace::Repository), later);
        schedule.hand_out.hint(later);
        assert!(schedule.hand_out.is_due(later) && schedule.index.is_due(later));
    }

    #[test]
    fn trouble_is_retried_ever_later_and_at_once_after_a_change() {
        let now = Instant::now();
        let mut pause = Pause::default();
        let meet = |pause: &mut Pause, text: &str| pause.back_off(text.to_owned(), now);
        assert_eq!(meet(&mut pause, "full"), (now + SHORTEST_BACKOFF, true));
        assert_eq!(meet(&mut pause, "full"), (now + SHORTEST_BACKOFF * 2, false));
        assert!(meet(&mut pause, "locked").1);
        for _ in 0..10 {
            meet(&mut pause, "locked");
        }
        assert_eq!(pause.backoff_end(now), Some(now + LONGEST_BACKOFF));
        assert_eq!(pause.backoff_end(now + LONGEST_BACKOFF), None);
        pause.end_backoff(now);
        assert_eq!(pause.backoff_end(now), None);
        assert!(!pause.end_pause() && pause.end() && !pause.is_paused());
        assert_eq!(meet(&mut pause, "locked"), (now + SHORTEST_BACKOFF, true));
    }

    #[test]
    fn a_pause_is_news_once_for_each_reason() {
        let mut pause = Pause::default();
        assert!(pause.pause("a merge") && !pause.pause("a merge") && pause.pause("a rebase"));
        assert_eq!(pause.backoff_end(Instant::now()), None);
        assert!(pause.end_pause() && !pause.end_pause() && pause.pause("a rebase"));
    }
}
