//! The run of one visit: attempts until one has a verdict, or all are used up. The verdict becomes a completion like any other, and its
//! entry keeps the facts of the run.

mod budget;
mod entry;
mod leave;
mod record;
mod recover;
mod session;
mod stand_in;

use self::record::{note_ruling, without_record};
use self::session::session_start;
use std::cell::{Cell, Ref, RefCell};
use std::thread;
use std::time::{Duration, Instant};

use jiff::SignedDuration;

use super::answer::RunAnswer;
use super::attempt::{Attempt, EndedAttempt};
use super::prompt::EarlierAttempt;
use super::run_types::{RunControl, RunEvent, RunnerSetup, StartedAttempt};
use super::usage_limit::{RunPlace, find_pause, note_limit, take_place};
use super::work_finder::{Assignment, CompletedVisit, VisitEnd, VisitState, visit_state};
use crate::dispatch::claim::claim;
use crate::dispatch::next::claim_named;
use crate::dispatch::workspaces::left_behind;
use crate::domain::{CompletionId, Period, RunBounds, Timestamp};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::fs::random::{chance, ulid};
use crate::storage::header_cache::NextLooks;
use crate::storage::runs::{Ruling, RunAttempt, RunEnding, RunRecord, RunRight, Runs, VisitRuns};
use crate::storage::{Holder, StoreError};
use crate::tasks::actions::release;
use crate::tasks::plan::DryRun;
use crate::tasks::view::task_view::show;

/// The interval at which a pause checks whether the runner must stop.
const PAUSE: Duration = Duration::from_millis(50);
/// The wait before another try after a temporary error: a lock or a merge.
const RETRY: Duration = Duration::from_secs(1);

/// The reason why the work at a visit is over.
enum VisitStop {
    End(VisitEnd),
    Error(ProjectError),
}

impl<E: Into<ProjectError>> From<E> for VisitStop {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

impl From<VisitEnd> for VisitStop {
    fn from(end: VisitEnd) -> Self {
        Self::End(end)
    }
}

/// Works at the visit until it has ended, or cannot be completed here. After the attempts of an agent, another one of the role tries it.
/// Returns the assignment of the last agent.
pub(crate) fn work(
    project: &RunnerSetup,
    mut assignment: Assignment,
    control: RunControl<'_>,
) -> (Assignment, Result<VisitEnd, ProjectError>) {
    loop {
        match work_as(project, &assignment, control) {
            Ok(VisitEnd::HandedOn(other)) => {
                let text = format!("`{}` has failed, and `{other}` tries it", assignment.agent);
                control.remark(&assignment.ticket, text);
                assignment = Assignment { agent: other, claimed_here: false, ..assignment };
            }
            end => return (assignment, end),
        }
    }
}

fn work_as(
    project: &RunnerSetup,
    assignment: &Assignment,
    control: RunControl<'_>,
) -> Result<VisitEnd, ProjectError> {
    let mut claimed = assignment.claimed_here;
    let made = VisitRun::begin(project, assignment, control).and_then(|run| {
        let end = run.make_attempts();
        claimed |= run.claimed.get();
        end
    });
    let end = match made {
        Ok(end) | Err(VisitStop::End(end)) => Ok(end),
        // The next search meets a temporary error as well.
        Err(VisitStop::Error(error)) if error.passes() || !error.is_general() => {
            Ok(VisitEnd::Broken(error.with_fix()))
        }
        Err(VisitStop::Error(error)) => Err(error),
    };
    // If another runner works at the visit, it keeps the claim.
    let is_over = matches!(
        end,
        Ok(VisitEnd::Completed
            | VisitEnd::GivenUp(_)
            | VisitEnd::OverBudget(_)
            | VisitEnd::Overtaken(_))
    );
    if (claimed || matches!(end, Ok(VisitEnd::HandedOn(_)))) && !is_over {
        release_claim(project, assignment, control);
    }
    end
}

/// Returns the pause before another attempt. A pause that is not configured ends at a random time in its second half, so that several
/// runners do not retry at once.
fn pause_after(bounds: &RunBounds, failed: u32) -> Result<Duration, ProjectError> {
    let pause = bounds.pause(failed);
    Ok(if bounds.is_delay_given { pause } else { pause / 2 + (pause / 2).mul_f64(chance()?) })
}

/// Releases the claim. A failure is reported, because no other agent can then work at the task.
fn release_claim(project: &RunnerSetup, assignment: &Assignment, control: RunControl<'_>) {
    let (Assignment { ticket, agent, .. }, begun) = (assignment, Instant::now());
    let give = || release(&project.open()?, ticket, Some(agent), DryRun::No);
    let fault = loop {
        match give() {
            // The claim ended by itself meanwhile.
            Ok(_) | Err(ProjectError::Refused(_)) => return,
            Err(error) if error.passes() && begun.elapsed() < project.wait => {
                thread::sleep(PAUSE);
            }
            Err(error) => break error,
        }
    };
    let fix = format!("`aof release {ticket} --agent {agent}` gives it back");
    control.remark(ticket, format!("{}; {fix}", fault.problem()));
}

/// Waits until a run of the agent's program may begin. The search for work passes over programs whose places are taken, so this is short.
fn wait_for_place(
    workspace: &Workspace,
    assignment: &Assignment,
    control: RunControl<'_>,
) -> Result<RunPlace, VisitStop> {
    let in_force = workspace.rules()?;
    let agent = in_force.rules.org.agent(&assignment.agent);
    let Some(launch) = agent.and_then(|known| known.run.as_ref()) else {
        return Ok(RunPlace::Unlimited);
    };
    loop {
        match take_place(&workspace.paths, launch)? {
            RunPlace::Full => {}
            place => return Ok(place),
        }
        if control.is_stopped() {
            return Err(VisitEnd::Stopped.into());
        }
        thread::sleep(PAUSE);
    }
}

/// A visit that is being run.
struct VisitRun<'a> {
    project: &'a RunnerSetup,
    /// The project, opened once; [`VisitRun::workspace`] gives access.
    open_workspace: RefCell<Workspace>,
    assignment: &'a Assignment,
    runs: VisitRuns,
    /// The length of the history when the run began.
    since: usize,
    control: RunControl<'a>,
    /// True if this run has claimed the visit.
    claimed: Cell<bool>,
    /// The place of its program, held until the visit has ended.
    _place: RunPlace,
}

impl<'a> VisitRun<'a> {
    /// Takes the right to run the visit. Fails if another runner has it.
    fn begin(
        project: &'a RunnerSetup,
        assignment: &'a Assignment,
        control: RunControl<'a>,
    ) -> Result<Self, VisitStop> {
        let workspace = project.open()?;
        let place = wait_for_place(&workspace, assignment, control)?;
        let holder = Holder::this_process(project.command.clone(), workspace.now());
        let runs = match Runs::at(&workspace.paths).open(&assignment.ticket, &holder)? {
            RunRight::Ours(runs) => runs,
            RunRight::Taken(holder) => {
                let who = holder.map_or("another runner".to_owned(), |holder| holder.to_string());
                return Err(VisitEnd::Overtaken(format!("{who} runs it")).into());
            }
        };
        let since = show(&workspace, &assignment.ticket.task)?.0.file.task.history.len();
        let open_workspace = RefCell::new(workspace);
        let claimed = Cell::new(false);
        Ok(Self {
            project,
            open_workspace,
            assignment,
            runs,
            since,
            control,
            claimed,
            _place: place,
        })
    }

    /// Makes attempts until the visit has ended.
    fn make_attempts(&self) -> Result<VisitEnd, VisitStop> {
        let Assignment { agent, .. } = self.assignment;
        let mut earlier = self.recover()?;
        let mut has_tried = false;
        loop {
            if self.control.is_stopped() {
                return Ok(VisitEnd::Stopped);
            }
            let open = match self.state()? {
                VisitState::Open(open) => open,
                VisitState::Completed(ended) => {
                    self.report_completed(&ended, Duration::ZERO);
                    return Ok(VisitEnd::Completed);
                }
                VisitState::Gone(why) => return Ok(VisitEnd::Overtaken(why)),
            };
            match &open.opening.holder {
                Some(holder) if holder == agent => {}
                Some(holder) => return Ok(VisitEnd::Overtaken(format!("`{holder}` has it"))),
                // A look claims nothing, unless its answer ends the visit.
                None if open.opening.looks_every.is_some() => {}
                None => self.claim(false)?,
            }
            let mut attempt = Attempt::new(self.project, agent, &open, self.fresh_id()?)?;
            let failed = self.own_failures()?;
            if failed >= attempt.bounds.attempts {
                return match self.stand_in(&attempt)? {
                    Some(other) => Ok(VisitEnd::HandedOn(other)),
                    None => self.give_up(&attempt),
                };
            }
            let pause = if has_tried {
                pause_after(&attempt.bounds, failed)?
            } else if failed == 0 && attempt.bounds.is_delay_given {
                attempt.pause_after_failed_visits((self.project.clock)())
            } else {
                Duration::ZERO
            };
            if !self.sleep(pause) {
                return Ok(VisitEnd::Stopped);
            }
            // Another agent of the program may have met its limit.
            let now = (self.project.clock)();
            if let Some(pause) = find_pause(&self.workspace().paths, attempt.launch, now) {
                return Ok(VisitEnd::Paused(pause));
            }
            self.check_budgets(&attempt)?;
            (attempt.number, attempt.since) = (failed + 1, self.since);
            attempt.earlier = earlier.as_ref();
            let runs = Runs::at(&self.workspace().paths);
            attempt.session = session_start(&attempt, &runs, &self.runs.records()?);
            // Without its session, the attempt begins again at once.
            if let Some(failed) = self.attempt(&attempt)? {
                (earlier, has_tried) = (Some(failed), true);
            }
        }
    }

    /// Claims the visit for the agent. Ends it if another one was faster. A look, which claims only to complete, is not one task more.
    fn claim(&self, is_look: bool) -> Result<(), VisitStop> {
        let Assignment { ticket, agent, .. } = self.assignment;
        let claim = |workspace: &Workspace| {
            if is_look {
                return claim(workspace, ticket, agent, DryRun::No);
            }
            claim_named(workspace, &workspace.rules()?, ticket, agent, DryRun::No)
        };
        match self.retry(claim) {
            Err(VisitStop::Error(error @ ProjectError::Refused(_))) => {
                Err(VisitEnd::Overtaken(error.to_string()).into())
            }
            done => {
                self.claimed.set(self.claimed.get() || !done?.settled);
                Ok(())
            }
        }
    }

    /// Returns the project, with the full time to wait for other processes.
    fn workspace(&self) -> Ref<'_, Workspace> {
        self.open_workspace.borrow_mut().restart_wait(self.project.wait);
        self.open_workspace.borrow()
    }

    fn state(&self) -> Result<VisitState, ProjectError> {
        let Assignment { ticket, agent, .. } = self.assignment;
        visit_state(&self.workspace(), ticket, agent, self.since)
    }

    /// Sleeps. Returns true if the runner was not stopped meanwhile.
    fn sleep(&self, time: Duration) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < time {
            if self.control.is_stopped() {
                return false;
            }
            thread::sleep(PAUSE.min(time.saturating_sub(begun.elapsed())));
        }
        true
    }

    /// Repeats an action after temporary errors, until the time to wait is over. Reports that once.
    fn retry<T>(
        &self,
        act: impl Fn(&Workspace) -> Result<T, ProjectError>,
    ) -> Result<T, VisitStop> {
        let (mut is_reported, begun) = (false, Instant::now());
        loop {
            // The borrow ends before the pause.
            let done = act(&self.workspace());
            match done {
                Err(error) if error.passes() && begun.elapsed() < self.project.wait => {
                    if !is_reported {
                        self.remark(error.to_string());
                    }
                    is_reported = true;
                    if !self.sleep(RETRY) {
                        return Err(VisitEnd::Stopped.into());
                    }
                }
                done => return Ok(done?),
            }
        }
    }

    fn fresh_id(&self) -> Result<CompletionId, ProjectError> {
        Ok(ulid((self.project.clock)())?)
    }

    /// Returns the attempts that count as failures.
    fn failures(&self) -> Result<Vec<RunRecord>, ProjectError> {
        Ok(self.runs.records()?.into_iter().filter(RunRecord::has_failed).collect())
    }

    /// Returns the number of the agent's own failed attempts.
    fn own_failures(&self) -> Result<u32, ProjectError> {
        let failures = self.failures()?;
        let own = failures.iter().filter(|record| record.agent == self.assignment.agent);
        Ok(u32::try_from(own.count()).unwrap_or(u32::MAX))
    }

    fn remark(&self, text: impl Into<String>) {
        self.control.remark(&self.assignment.ticket, text);
    }

    fn report_started(&self, attempt: &Attempt<'_>) {
        let (open, task) = (attempt.open, &attempt.open.file.task);
        let station = open.opening.station.clone();
        let workflow = open.in_force.rules.workflow_of(task);
        let gates = workflow.map(|workflow| workflow.gates.as_slice()).unwrap_or_default();
        let index = gates.iter().position(|gate| gate.id == station.gate);
        (self.control.news)(RunEvent::StartedAttempt(StartedAttempt {
            ticket: self.assignment.ticket.clone(),
            station,
            title: task.title.clone(),
            agent: self.assignment.agent.clone(),
            attempt: attempt.number,
            attempts: attempt.bounds.attempts,
            step: index.map_or(0, |index| index + 1),
            steps: gates.len(),
        }));
    }

    fn report_completed(&self, ended: &CompletedVisit, took: Duration) {
        let CompletedVisit { visit, file, in_force } = ended;
        let (ticket, from) = (&self.assignment.ticket, visit.station());
        let rules = &in_force.rules;
        (self.control.news)(RunEvent::moved(rules, ticket, &from, Some(visit), &file.task, took));
    }

    /// Makes an attempt, and returns the facts about it for the next one; `None` if the program did not know the session.
    fn attempt(&self, attempt: &Attempt<'_>) -> Result<Option<EarlierAttempt>, VisitStop> {
        if attempt.open.opening.looks_every.is_none() {
            self.report_started(attempt);
        }
        let folder = self.runs.begin()?;
        let mut ended = attempt.make(&folder, self.control)?;
        let place = ended.place.take();
        let result = self.rule(attempt, ended, folder);
        if let Some(place) = place
            && let Err(error) = self.leave(place)
        {
            self.remark(error.with_fix());
        }
        result
    }

    /// Rules on an ended attempt: completes the visit with its answer, or returns the facts for the next attempt.
    fn rule(
        &self,
        attempt: &Attempt<'_>,
        ended: EndedAttempt,
        folder: RunAttempt,
    ) -> Result<Option<EarlierAttempt>, VisitStop> {
        let every = attempt.open.opening.looks_every;
        let EndedAttempt { mut record, mut kept, answer, took, place: _ } = ended;
        if record.end.as_ref().is_some_and(|end| end.how == RunEnding::Waits) {
            let why = record.end.and_then(|end| end.reason);
            return Err(self.note_look(attempt, folder, why)?.into());
        }
        let pause = note_limit(&self.workspace().paths, attempt.launch, &record)?;
        // The agent's own completion has precedence over everything else.
        if let VisitState::Completed(ended) = self.state()? {
            self.note_own_completion(&ended, answer.as_ref(), &mut record, &folder);
            self.report_completed(&ended, took);
            return Err(VisitEnd::Completed.into());
        }
        if let Some(answer) = answer {
            if every.is_some() {
                self.claim(true)?;
            }
            kept = self.submit(answer, &attempt.run, &mut record, &folder, took)?;
        }
        let why = record.failure_reason();
        let end = match (pause, record.ending()) {
            (Some(pause), _) => Some(VisitEnd::Paused(pause)),
            (None, Some(RunEnding::Stopped)) => Some(VisitEnd::Stopped),
            (None, Some(RunEnding::Overtaken)) => Some(VisitEnd::Overtaken(why.clone())),
            (None, Some(RunEnding::Unavailable)) => Some(VisitEnd::Unavailable(why.clone())),
            _ => None,
        };
        if let Some(end) = end {
            self.report_unkept(kept);
            return Err(end.into());
        }
        if record.ending() == Some(RunEnding::NoSession) {
            kept.map_err(|fault| without_record(&fault))?;
            self.remark(format!("its earlier session is gone, and a new one begins: {why}"));
            return Ok(None);
        }
        let failed = self.own_failures()?;
        let (bounds, ticket) = (&attempt.bounds, self.assignment.ticket.clone());
        let goes_on = kept.is_ok() && failed < bounds.attempts;
        let again_in = goes_on.then(|| bounds.pause(failed));
        let attempt = attempt.number;
        (self.control.news)(RunEvent::AttemptFailed { ticket, attempt, why, again_in });
        kept.map_err(|fault| without_record(&fault))?;
        Ok(Some(self.earlier(&record)?))
    }

    /// Notes the time of the next look. Nothing else is kept of this one.
    fn note_look(
        &self,
        attempt: &Attempt<'_>,
        folder: RunAttempt,
        why: Option<String>,
    ) -> Result<VisitEnd, ProjectError> {
        let run = &attempt.workplace.duty.run;
        let every = run.looks_every().map_or(0, Period::seconds);
        let now = (self.project.clock)();
        let at = now.saturating_add(SignedDuration::from_secs(every.cast_signed()));
        let at = at.unwrap_or(Timestamp::MAX);
        let look = (at, why.clone());
        NextLooks::note(&self.workspace().paths, &self.assignment.ticket, look, now)?;
        folder.remove()?;
        Ok(VisitEnd::Waits(at, why))
    }

    /// Returns the facts about an ended attempt for the next one.
    fn earlier(&self, record: &RunRecord) -> Result<EarlierAttempt, ProjectError> {
        let how = record.end.as_ref().map_or(RunEnding::Lost, |end| end.how);
        let Assignment { ticket, agent, .. } = self.assignment;
        let left = left_behind(&self.workspace(), ticket, agent, record.started)?;
        Ok(EarlierAttempt { how, why: record.failure_reason(), left })
    }

    /// Notes the completion that the agent made itself, and reports contradictions to it.
    fn note_own_completion(
        &self,
        ended: &CompletedVisit,
        answer: Option<&RunAnswer>,
        record: &mut RunRecord,
        folder: &RunAttempt,
    ) {
        let outcome = ended.visit.outcome.to_string();
        let answered = answer.and_then(|answer| answer.outcome.as_ref()).map(ToString::to_string);
        let against = match record.end.as_ref().map(|end| end.how) {
            Some(RunEnding::Verdict) => {
                answered.filter(|other| *other != outcome).map(|other| format!(" said `{other}`"))
            }
            // An agent that has completed its task need not answer again.
            Some(RunEnding::BadVerdict | RunEnding::Stopped | RunEnding::Overtaken) => None,
            _ => Some(format!(": {}", record.failure_reason())),
        };
        if let Some(against) = against {
            let counted = format!("the agent completed with `{outcome}`, which counts, and then");
            self.remark(format!("{counted}{against}"));
        }
        if let Some(stamp) = &ended.visit.completion {
            let (source, completion) = ("own".to_owned(), stamp.id.clone());
            let ruling = Ok(Ruling { source, outcome, completion });
            self.report_unkept(note_ruling(record, folder, ruling));
        }
    }

    /// Completes the visit with an answer, which ends the run. Returns only if the answer was refused: the result of recording that.
    fn submit(
        &self,
        answer: RunAnswer,
        run: &CompletionId,
        record: &mut RunRecord,
        folder: &RunAttempt,
        took: Duration,
    ) -> Result<Result<(), StoreError>, VisitStop> {
        let source = answer.source.word().to_owned();
        let completed = self.complete(answer, run, Some(record), took)?;
        let is_completed = completed.is_ok();
        let ruling = completed
            .map(|outcome| Ruling { source, outcome, completion: run.clone() })
            .map_err(|why| format!("its verdict was refused: {why}"));
        let kept = note_ruling(record, folder, ruling);
        if is_completed {
            self.report_unkept(kept);
            return Err(VisitEnd::Completed.into());
        }
        Ok(kept)
    }
}
