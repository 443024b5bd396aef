//! One visit of an agent that is run: attempts until it has a verdict, or has used them up.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::attempt::{Attempted, Came, OUTPUT_LIMIT, Trial, note, question};
use super::news::News;
use super::output::{Exit, RunOutput};
use super::prompt::{Before, Count, Earlier};
use super::report::agent_report::Report;
use super::request::RunnerSetup;
use super::secrets::{masked, secrets};
use super::verdict::judge::verdict;
use super::verdict::question::{Said, Source, Verdict};
use super::visit_run::{Assignment, KILLED, PAUSE, RETRY, VisitEnd, VisitRun, has_failed, why_of};
use super::visit_state::{EndedVisit, OpenVisit, VisitState};
use crate::dispatch::claim::claim;
use crate::dispatch::openings::left_behind;
use crate::domain::{Launch, RunBounds};
use crate::project::error::error::OpsError;
use crate::rules::Workplace;
use crate::storage::Holder;
use crate::storage::random::chance;
use crate::storage::runs::{
    AgentReport, LatestRun, Ruling, RunAttempt, RunEnd, RunEnding, RunFile, RunRecord, RunRight,
    Runs,
};
use crate::tasks::actions::release;
use crate::tasks::apply::change::DryRun;
use crate::tasks::view::task_view::show;

/// How long giving back a claim is tried.
const GIVING_BACK: Duration = Duration::from_secs(10);
/// How long a program has that a killed runner left behind.
const GRACE: Duration = Duration::from_secs(5);

/// Works at the visit until it has ended, or cannot be ended here.
pub(crate) fn work(
    project: &RunnerSetup,
    assignment: &Assignment,
    stop: &AtomicBool,
    news: &dyn Fn(News),
) -> Result<VisitEnd, OpsError> {
    let mut claimed = assignment.claimed_here;
    let end = begin(project, assignment, stop, news).and_then(|begun| match begun {
        Ok(mut visit) => {
            let end = visit.go();
            claimed |= visit.claimed.get();
            end
        }
        Err(who) => {
            // Whoever runs it goes on with the claim.
            claimed = false;
            Ok(VisitEnd::Busy(who))
        }
    });
    let end = match end {
        Err(error) if !error.is_general() => Ok(VisitEnd::Broken(error.problem())),
        end => end,
    };
    let is_over =
        matches!(end, Ok(VisitEnd::Completed | VisitEnd::GivenUp(_) | VisitEnd::Overtaken(_)));
    if claimed && !is_over {
        give_back(project, assignment, news);
    }
    end
}

/// Takes the right to run the visit; where somebody else has it, returns who.
fn begin<'a>(
    project: &'a RunnerSetup,
    assignment: &'a Assignment,
    stop: &'a AtomicBool,
    news: &'a dyn Fn(News),
) -> Result<Result<VisitRun<'a>, String>, OpsError> {
    let workspace = project.open()?;
    let holder = Holder::this_process(project.command.clone(), workspace.now());
    let runs = match Runs::of(&workspace.paths).open(&assignment.ticket, &holder)? {
        RunRight::Ours(runs) => runs,
        RunRight::Taken(holder) => {
            let who =
                holder.map_or_else(|| "another runner".to_owned(), |holder| holder.to_string());
            return Ok(Err(format!("{who} runs it")));
        }
    };
    let since = show(&workspace, &assignment.ticket.task)?.0.file.task.history.len();
    let (open_workspace, claimed) = (RefCell::new(workspace), Cell::new(false));
    let earlier = None;
    let run =
        VisitRun { project, open_workspace, assignment, runs, since, stop, news, earlier, claimed };
    Ok(Ok(run))
}

/// Gives back what was claimed. Where that cannot be done it is told: nobody else can work at it then.
fn give_back(project: &RunnerSetup, assignment: &Assignment, news: &dyn Fn(News)) {
    let Assignment { ticket, agent, .. } = assignment;
    let begun = Instant::now();
    let give = || release(&project.open()?, ticket, Some(agent), DryRun::No);
    let fault = loop {
        match give() {
            // The claim went by itself meanwhile.
            Ok(_) | Err(OpsError::Refused(_)) => return,
            Err(error) if error.passes() && begun.elapsed() < GIVING_BACK => thread::sleep(PAUSE),
            Err(error) => break error,
        }
    };
    let text =
        format!("{}; `aof task release {ticket} --agent {agent}` gives it back", fault.problem());
    news(News::remark(ticket, text));
}

impl VisitRun<'_> {
    fn go(&mut self) -> Result<VisitEnd, OpsError> {
        let agent = &self.assignment.agent;
        if let Some(end) = self.recover()? {
            return Ok(end);
        }
        let mut has_tried = false;
        loop {
            if self.stop.load(Ordering::Relaxed) {
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
                None => {
                    if let Some(end) = self.take_claim()? {
                        return Ok(end);
                    }
                }
            }
            let rules = &open.in_force.rules;
            let Some(launch) = rules.org.agent(agent).and_then(|known| known.run.as_ref()) else {
                return Ok(VisitEnd::Unavailable(format!(
                    "org.yaml does not say how `{agent}` is started; add `run: {{preset: claude}}` to `{agent}` under `agents`, or a `command`"
                )));
            };
            let branch = open.opening.station.branch.as_ref();
            let Some(post) = Workplace::meant(rules, &open.file.task, branch) else {
                return Ok(VisitEnd::Overtaken("its gate is gone".to_owned()));
            };
            let bounds = bounds(&open, &post, launch);
            let failed = self.failed()?;
            if failed >= bounds.attempts {
                return self.give_up(&open, &post);
            }
            if has_tried && !self.rest(&bounds, failed)? {
                return Ok(VisitEnd::Stopped);
            }
            has_tried = true;
            let count = Count { attempt: failed + 1, attempts: bounds.attempts };
            if let Some(end) = self.attempt(&open, &post, launch, &bounds, count)? {
                return Ok(end);
            }
        }
    }

    /// Takes the claim; returns how the visit ended where that cannot be.
    fn take_claim(&self) -> Result<Option<VisitEnd>, OpsError> {
        let Assignment { ticket, agent, .. } = self.assignment;
        loop {
            let claimed = claim(&self.workspace(), ticket, agent, DryRun::No);
            match claimed {
                Ok(changed) => {
                    self.claimed.set(!changed.settled);
                    return Ok(None);
                }
                Err(error @ OpsError::Refused(_)) => {
                    return Ok(Some(VisitEnd::Overtaken(error.to_string())));
                }
                // A merge, or whoever has the lock, ends some time.
                Err(error) if error.passes() => {
                    if !self.sleep(RETRY) {
                        return Ok(Some(VisitEnd::Stopped));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn attempt(
        &mut self,
        open: &OpenVisit,
        post: &Workplace<'_>,
        launch: &Launch,
        bounds: &RunBounds,
        count: Count,
    ) -> Result<Option<VisitEnd>, OpsError> {
        let Assignment { ticket, agent, .. } = self.assignment;
        let run = self.fresh_id()?;
        self.tell_started(open, count);
        let workflow = open.in_force.rules.workflow_of(&open.file.task);
        let lease = post.duty.lease.or_else(|| workflow?.lease);
        let trial = Trial {
            project: self.project,
            ticket,
            agent,
            open,
            post,
            launch,
            bounds,
            count,
            earlier: self.earlier.as_ref(),
            since: self.since,
            lease: lease.map(|lease| Duration::from_secs(lease.seconds())),
            run: run.clone(),
        };
        let folder = self.runs.begin()?;
        let began = (self.project.clock)();
        let Attempted { came, mut record, took } = trial.make(&folder, self.stop, self.news)?;
        // What the agent did itself counts before all that it says.
        if let VisitState::Completed(ended) = self.state()? {
            self.keep_own_completion(&ended, &came, &mut record, &folder);
            self.tell_completed(&ended, took);
            return Ok(Some(VisitEnd::Completed));
        }
        let before = match came {
            Came::Stopped => return Ok(Some(VisitEnd::Stopped)),
            Came::Overtaken(why) => return Ok(Some(VisitEnd::Overtaken(why))),
            Came::Unavailable(why) => return Ok(Some(VisitEnd::Unavailable(why))),
            Came::Nothing(before) => before,
            Came::Said(said) => match self.hand_in(*said, &run, &mut record, &folder, took)? {
                Ok(end) => return Ok(Some(end)),
                Err(before) => before,
            },
        };
        let failed = self.failed()?;
        (self.news)(News::AttemptFailed {
            ticket: ticket.clone(),
            attempt: count.attempt,
            why: before.why(),
            again_in: (failed < bounds.attempts).then(|| Duration::from_secs(bounds.pause(failed))),
        });
        let left = left_behind(&self.workspace(), began)?;
        self.earlier = Some(Earlier { before, left });
        Ok(None)
    }

    /// Notes the completion that the agent made itself, and tells what speaks against it.
    fn keep_own_completion(
        &self,
        ended: &EndedVisit,
        came: &Came,
        record: &mut RunRecord,
        folder: &RunAttempt,
    ) {
        let outcome = ended.visit.outcome.to_string();
        let against = match came {
            Came::Said(said) => {
                let other = said.outcome.as_ref().map(ToString::to_string);
                other.filter(|other| *other != outcome).map(|other| format!(" said `{other}`"))
            }
            // An agent that has completed its task need not say anything else.
            Came::Nothing(Before::Bad(_)) | Came::Stopped | Came::Overtaken(_) => None,
            Came::Nothing(before) => Some(format!(": {}", before.why())),
            Came::Unavailable(why) => Some(format!(": {why}")),
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
            note(folder, record, &self.assignment.ticket, self.news);
        }
    }

    /// Returns how many attempts of this visit count.
    fn failed(&self) -> Result<u32, OpsError> {
        Ok(u32::try_from(self.failures()?.len()).unwrap_or(u32::MAX))
    }

    /// Waits before the next attempt, somewhere in the second half of the pause: several runners do not come back at once.
    fn rest(&self, bounds: &RunBounds, failed: u32) -> Result<bool, OpsError> {
        let pause = Duration::from_secs(bounds.pause(failed));
        Ok(self.sleep(pause / 2 + (pause / 2).mul_f64(chance()?)))
    }

    /// Sees what runners left that were killed or stopped: a program that still runs is ended, and what was said and not handed in
    /// counts now. Returns how the visit ended, if that was all that was missing.
    fn recover(&mut self) -> Result<Option<VisitEnd>, OpsError> {
        let (attempt, mut record, is_unheard) = match self.runs.latest()? {
            LatestRun::None | LatestRun::Open(_, None) => return Ok(None),
            LatestRun::Ended(attempt, record) => {
                let is_unheard = record
                    .end
                    .as_ref()
                    .is_some_and(|end| end.how == RunEnding::Verdict && end.verdict.is_none());
                (attempt, record, is_unheard)
            }
            LatestRun::Open(attempt, Some(mut record)) => {
                // One that had ended by itself may have left an answer.
                let is_unheard = !record.is_alive();
                if let Some(group) = record.group.as_ref().filter(|_| !is_unheard) {
                    group.end(GRACE);
                }
                record.end = Some(RunEnd {
                    at: (self.project.clock)(),
                    how: RunEnding::Lost,
                    status: None,
                    reason: Some(KILLED.to_owned()),
                    transcript: None,
                    told: AgentReport::default(),
                    verdict: None,
                });
                (attempt, record, is_unheard)
            }
        };
        let said = if is_unheard { self.answer_in(&attempt, &record)? } else { None };
        let before = if let Some(said) = said {
            let run = record.run.parse().or_else(|_| self.fresh_id())?;
            match self.hand_in(said, &run, &mut record, &attempt, Duration::ZERO)? {
                Ok(end) => return Ok(Some(end)),
                Err(before) => before,
            }
        } else {
            // Not before: if this runner is killed too, what was said is still to be heard.
            attempt.note(&record)?;
            let was_interrupted = record
                .end
                .as_ref()
                .is_some_and(|end| matches!(end.how, RunEnding::Stopped | RunEnding::Lost));
            let why = why_of(&record);
            match has_failed(&record) {
                true => Before::Crashed(why),
                false if is_unheard || was_interrupted => Before::Interrupted(why),
                false => return Ok(None),
            }
        };
        let left = left_behind(&self.workspace(), record.started)?;
        self.earlier = Some(Earlier { before, left });
        Ok(None)
    }

    /// Returns what an attempt left in its file, if that is an answer. Nothing passes where nobody saw how the program ended: half an
    /// answer looks like a whole one.
    fn answer_in(
        &self,
        attempt: &RunAttempt,
        record: &RunRecord,
    ) -> Result<Option<Said>, OpsError> {
        let Assignment { ticket, agent, .. } = self.assignment;
        // What cannot be read there is no answer.
        let Some(output) = attempt.read(RunFile::Output, OUTPUT_LIMIT).unwrap_or_default() else {
            return Ok(None);
        };
        let prompt = attempt.read(RunFile::Prompt, OUTPUT_LIMIT)?.unwrap_or_default();
        let VisitState::Open(open) = self.state()? else { return Ok(None) };
        let rules = &open.in_force.rules;
        let launch = rules.org.agent(agent).and_then(|known| known.run.as_ref());
        let post = Workplace::meant(rules, &open.file.task, open.opening.station.branch.as_ref());
        let (Some(launch), Some(post)) = (launch, post) else { return Ok(None) };
        // Without the secrets, nobody knows what of it must not be seen.
        let Ok(secrets) = secrets(launch, agent) else { return Ok(None) };
        let status = record.end.as_ref().and_then(|end| end.status);
        let status = status.and_then(|status| u8::try_from(status).ok());
        let exit = status.map_or(Exit::Unseen, Exit::Status);
        let printed = RunOutput { stdout: b"", stderr: b"", exit };
        let prompt = String::from_utf8_lossy(&prompt);
        let asked = question(&open, &post, agent, ticket, launch, &prompt);
        let output = secrets.masked(&output);
        Ok(match verdict(&asked, &Report::default(), &printed, Some(&output)) {
            Verdict::Said(said) if said.source == Source::OutputFile => {
                Some(masked(&secrets, *said))
            }
            _ => None,
        })
    }
}

/// Returns what bounds a run there.
pub(crate) fn bounds(open: &OpenVisit, post: &Workplace<'_>, launch: &Launch) -> RunBounds {
    let workflow = open.in_force.rules.workflow_of(&open.file.task);
    let limits = [&post.duty.run.limits, &launch.limits].into_iter();
    RunBounds::of(&limits.chain(workflow.map(|workflow| &workflow.run)).collect::<Vec<_>>())
}
