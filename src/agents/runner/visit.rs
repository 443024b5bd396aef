//! One visit of an agent that is run: attempts until it has a verdict, or has used them up.

use std::cell::RefCell;
use std::thread;
use std::time::{Duration, Instant};

use super::attempt::{Attempt, Attempted, OUTPUT_LIMIT, note, run_end};
use super::output::{Exit, RunOutput};
use super::prompt::EarlierAttempt;
use super::report::agent_report::Report;
use super::request::RunnerSetup;
use super::run_event::{RunControl, RunEvent};
use super::secrets::{masked, secrets};
use super::verdict::judge::verdict;
use super::verdict::question::{AnswerSource, RunAnswer};
use super::visit_run::{KILLED, PAUSE, RETRY, VisitRun, has_failed, why_of};
use super::visit_state::{Assignment, CompletedVisit, VisitEnd, VisitState};
use crate::dispatch::claim::claim;
use crate::dispatch::workplaces::left_behind;
use crate::domain::RunBounds;
use crate::project::error::ProjectError;
use crate::storage::Holder;
use crate::storage::random::chance;
use crate::storage::runs::{
    LatestRun, Ruling, RunAttempt, RunEnding, RunFile, RunRecord, RunRight, Runs,
};
use crate::tasks::actions::release;
use crate::tasks::plan::DryRun;
use crate::tasks::view::task_view::show;

/// How long giving back a claim is tried.
const GIVING_BACK: Duration = Duration::from_secs(10);
/// How long a program has that a killed runner left behind.
const GRACE: Duration = Duration::from_secs(5);

/// Works at the visit until it has ended, or cannot be ended here.
pub(crate) fn work(
    project: &RunnerSetup,
    assignment: &Assignment,
    control: RunControl<'_>,
) -> Result<VisitEnd, ProjectError> {
    let mut claimed = assignment.claimed_here;
    let end = match begin(project, assignment, control) {
        Ok(Ok(visit)) => visit.go(&mut claimed),
        Ok(Err(other)) => Ok(VisitEnd::Overtaken(other)),
        Err(error) => Err(error),
    };
    let end = match end {
        Err(error) if !error.is_general() => Ok(VisitEnd::Broken(error.problem())),
        end => end,
    };
    // Where another runner works at it, that one goes on with the claim.
    let is_over =
        matches!(end, Ok(VisitEnd::Completed | VisitEnd::GivenUp(_) | VisitEnd::Overtaken(_)));
    if claimed && !is_over {
        give_back(project, assignment, control);
    }
    end
}

/// Takes the right to run the visit. The inner error says who else has it.
fn begin<'a>(
    project: &'a RunnerSetup,
    assignment: &'a Assignment,
    control: RunControl<'a>,
) -> Result<Result<VisitRun<'a>, String>, ProjectError> {
    let workspace = project.open()?;
    let holder = Holder::this_process(project.command.clone(), workspace.now());
    let runs = match Runs::of(&workspace.paths).open(&assignment.ticket, &holder)? {
        RunRight::Ours(runs) => runs,
        RunRight::Taken(holder) => {
            let who = holder.map(|holder| holder.to_string());
            return Ok(Err(format!("{} runs it", who.as_deref().unwrap_or("another runner"))));
        }
    };
    let since = show(&workspace, &assignment.ticket.task)?.0.file.task.history.len();
    let open_workspace = RefCell::new(workspace);
    Ok(Ok(VisitRun { project, open_workspace, assignment, runs, since, control }))
}

/// Releases the claim. A failure is reported, for no one else can work at the task then.
fn give_back(project: &RunnerSetup, assignment: &Assignment, control: RunControl<'_>) {
    let Assignment { ticket, agent, .. } = assignment;
    let begun = Instant::now();
    let give = || release(&project.open()?, ticket, Some(agent), DryRun::No);
    let fault = loop {
        match give() {
            // The claim went by itself meanwhile.
            Ok(_) | Err(ProjectError::Refused(_)) => return,
            Err(error) if error.passes() && begun.elapsed() < GIVING_BACK => thread::sleep(PAUSE),
            Err(error) => break error,
        }
    };
    let fix = format!("`aof task release {ticket} --agent {agent}` gives it back");
    control.remark(ticket, format!("{}; {fix}", fault.problem()));
}

impl VisitRun<'_> {
    fn go(&self, claimed: &mut bool) -> Result<VisitEnd, ProjectError> {
        let agent = &self.assignment.agent;
        let mut earlier = match self.recover()? {
            Ok(end) => return Ok(end),
            Err(earlier) => earlier,
        };
        let mut has_tried = false;
        loop {
            if self.control.is_stopped() {
                return Ok(VisitEnd::Stopped);
            }
            let open = match self.state()? {
                VisitState::Open(open) => open,
                VisitState::Completed(ended) => {
                    self.tell_completed(&ended, Duration::ZERO);
                    return Ok(VisitEnd::Completed);
                }
                VisitState::Gone(why) => return Ok(VisitEnd::Overtaken(why)),
            };
            match &open.opening.holder {
                Some(holder) if holder == agent => {}
                Some(holder) => return Ok(VisitEnd::Overtaken(format!("`{holder}` has it"))),
                None => match self.take_claim()? {
                    Ok(is_new) => *claimed |= is_new,
                    Err(end) => return Ok(end),
                },
            }
            let mut attempt = match Attempt::of(self.project, agent, &open, self.fresh_id()?) {
                Ok(attempt) => attempt,
                Err(end) => return Ok(end),
            };
            let failed = self.failed()?;
            if failed >= attempt.bounds.attempts {
                return self.give_up(&attempt);
            }
            if has_tried && !self.rest(&attempt.bounds, failed)? {
                return Ok(VisitEnd::Stopped);
            }
            has_tried = true;
            (attempt.number, attempt.since) = (failed + 1, self.since);
            attempt.earlier = earlier.as_ref();
            match self.attempt(&attempt)? {
                Ok(end) => return Ok(end),
                Err(failed) => earlier = Some(failed),
            }
        }
    }

    /// Takes the claim, and returns whether it is new. The inner error says how the visit ended where that cannot be.
    fn take_claim(&self) -> Result<Result<bool, VisitEnd>, ProjectError> {
        let Assignment { ticket, agent, .. } = self.assignment;
        loop {
            let claimed = claim(&self.workspace(), ticket, agent, DryRun::No);
            match claimed {
                Ok(changed) => return Ok(Ok(!changed.settled)),
                Err(error @ ProjectError::Refused(_)) => {
                    return Ok(Err(VisitEnd::Overtaken(error.to_string())));
                }
                // A merge or a lock passes.
                Err(error) if error.passes() => {
                    if !self.sleep(RETRY) {
                        return Ok(Err(VisitEnd::Stopped));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes an attempt. The inner error says what the next one is to know of it.
    fn attempt(
        &self,
        attempt: &Attempt<'_>,
    ) -> Result<Result<VisitEnd, EarlierAttempt>, ProjectError> {
        self.tell_started(attempt);
        let folder = self.runs.begin()?;
        let Attempted { mut record, answer, took } = attempt.make(&folder, self.control)?;
        // What the agent did itself counts before all that it says.
        if let VisitState::Completed(ended) = self.state()? {
            self.keep_own_completion(&ended, answer.as_ref(), &mut record, &folder);
            self.tell_completed(&ended, took);
            return Ok(Ok(VisitEnd::Completed));
        }
        if let Some(answer) = answer
            && let Some(end) = self.hand_in(answer, &attempt.run, &mut record, &folder, took)?
        {
            return Ok(Ok(end));
        }
        let why = why_of(&record);
        match record.end.as_ref().map(|end| end.how) {
            Some(RunEnding::Stopped) => return Ok(Ok(VisitEnd::Stopped)),
            Some(RunEnding::Overtaken) => return Ok(Ok(VisitEnd::Overtaken(why))),
            Some(RunEnding::Unavailable) => return Ok(Ok(VisitEnd::Unavailable(why))),
            _ => {}
        }
        let (failed, bounds) = (self.failed()?, &attempt.bounds);
        (self.control.news)(RunEvent::AttemptFailed {
            ticket: self.assignment.ticket.clone(),
            attempt: attempt.number,
            why,
            again_in: (failed < bounds.attempts).then(|| Duration::from_secs(bounds.pause(failed))),
        });
        Ok(Err(self.earlier(&record)?))
    }

    /// Returns what the next attempt is to know of one that has ended.
    fn earlier(&self, record: &RunRecord) -> Result<EarlierAttempt, ProjectError> {
        let how = record.end.as_ref().map_or(RunEnding::Lost, |end| end.how);
        let left = left_behind(&self.workspace(), record.started)?;
        Ok(EarlierAttempt { how, why: why_of(record), left })
    }

    fn tell_completed(&self, ended: &CompletedVisit, took: Duration) {
        self.tell_moved(&ended.in_force.rules, &ended.visit, &ended.file.task, took);
    }

    /// Notes the completion that the agent made itself, and reports what contradicts it.
    fn keep_own_completion(
        &self,
        ended: &CompletedVisit,
        answer: Option<&RunAnswer>,
        record: &mut RunRecord,
        folder: &RunAttempt,
    ) {
        let outcome = ended.visit.outcome.to_string();
        let said = answer.and_then(|answer| answer.outcome.as_ref()).map(ToString::to_string);
        let against = match record.end.as_ref().map(|end| end.how) {
            Some(RunEnding::Verdict) => {
                said.filter(|other| *other != outcome).map(|other| format!(" said `{other}`"))
            }
            // An agent that has completed its task need not say anything else.
            Some(RunEnding::BadVerdict | RunEnding::Stopped | RunEnding::Overtaken) => None,
            _ => Some(format!(": {}", why_of(record))),
        };
        if let Some(against) = against {
            self.remark(format!(
                "the agent completed with `{outcome}`, which counts, and then{against}"
            ));
        }
        if let (Some(end), Some(stamp)) = (&mut record.end, &ended.visit.completion) {
            let (source, completion) = ("own".to_owned(), stamp.id.clone());
            (end.how, end.reason) = (RunEnding::Verdict, None);
            end.verdict = Some(Ruling { source, outcome, completion });
            note(folder, record, self.control);
        }
    }

    /// Returns how many attempts of this visit count.
    fn failed(&self) -> Result<u32, ProjectError> {
        Ok(u32::try_from(self.failures()?.len()).unwrap_or(u32::MAX))
    }

    /// Waits before the next attempt, somewhere in the second half of the pause: several runners do not come back at once.
    fn rest(&self, bounds: &RunBounds, failed: u32) -> Result<bool, ProjectError> {
        let pause = Duration::from_secs(bounds.pause(failed));
        Ok(self.sleep(pause / 2 + (pause / 2).mul_f64(chance()?)))
    }

    /// Recovers from a runner that was killed or stopped: ends its program, and hands in an answer that it left. Returns how the visit
    /// ended, if only that was missing, else what the next attempt is to know.
    fn recover(&self) -> Result<Result<VisitEnd, Option<EarlierAttempt>>, ProjectError> {
        let (folder, mut record, is_unheard) = match self.runs.latest()? {
            LatestRun::None | LatestRun::Open(_, None) => return Ok(Err(None)),
            LatestRun::Ended(folder, record) => {
                let end = record.end.as_ref();
                let is_unheard =
                    end.is_some_and(|end| end.how == RunEnding::Verdict && end.verdict.is_none());
                (folder, record, is_unheard)
            }
            LatestRun::Open(folder, Some(mut record)) => {
                // A program that had ended by itself may have left an answer.
                let is_unheard = !record.is_alive();
                if let Some(group) = record.group.as_ref().filter(|_| !is_unheard) {
                    group.end(GRACE);
                }
                let reason = Some(KILLED.to_owned());
                record.end = Some(run_end((self.project.clock)(), RunEnding::Lost, reason));
                (folder, record, is_unheard)
            }
        };
        let answer = if is_unheard { self.answer_in(&folder, &record)? } else { None };
        if let Some(answer) = answer {
            let run = record.run.parse().or_else(|_| self.fresh_id())?;
            if let Some(end) = self.hand_in(answer, &run, &mut record, &folder, Duration::ZERO)? {
                return Ok(Ok(end));
            }
        } else {
            // Not before: if this runner is killed too, the answer is still to be handed in.
            folder.note(&record)?;
            let how = record.end.as_ref().map(|end| end.how);
            let is_interrupted = matches!(how, Some(RunEnding::Stopped | RunEnding::Lost));
            if !is_unheard && !is_interrupted && !has_failed(&record) {
                return Ok(Err(None));
            }
        }
        Ok(Err(Some(self.earlier(&record)?)))
    }

    /// Returns the answer that an attempt left in its file. A pass does not count where the end of the program was not seen: half an
    /// answer looks like a whole one.
    fn answer_in(
        &self,
        folder: &RunAttempt,
        record: &RunRecord,
    ) -> Result<Option<RunAnswer>, ProjectError> {
        // What cannot be read there is no answer.
        let Some(file) = folder.read(RunFile::Output, OUTPUT_LIMIT).unwrap_or_default() else {
            return Ok(None);
        };
        let prompt = folder.read(RunFile::Prompt, OUTPUT_LIMIT)?.unwrap_or_default();
        let VisitState::Open(open) = self.state()? else { return Ok(None) };
        let agent = &self.assignment.agent;
        let attempt = Attempt::of(self.project, agent, &open, self.fresh_id()?);
        let Ok(attempt) = attempt else { return Ok(None) };
        // Without the secrets, they cannot be masked.
        let Ok(secrets) = secrets(attempt.launch, agent) else { return Ok(None) };
        let status = record.end.as_ref().and_then(|end| end.status);
        let exit = status.map_or(Exit::Unseen, Exit::of);
        let output = RunOutput { stdout: b"", stderr: b"", exit };
        let asked = attempt.question(&String::from_utf8_lossy(&prompt));
        let answer = verdict(&asked, &Report::default(), &output, Some(&secrets.masked(&file)));
        let answer = answer.ok().filter(|answer| answer.source == AnswerSource::OutputFile);
        Ok(answer.map(|answer| masked(&secrets, answer)))
    }
}
