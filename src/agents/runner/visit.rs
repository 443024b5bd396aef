//! One visit of an agent that is run: attempts until it has a verdict, or has used them up.

use std::cell::{Ref, RefCell};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::answer::{AnswerSource, RunAnswer};
use super::attempt::{Attempt, Attempted, OUTPUT_LIMIT, note, run_end};
use super::launch::{masked, secrets};
use super::prompt::EarlierAttempt;
use super::report::{Exit, Report, RunOutput};
use super::run_types::{RunControl, RunEvent, RunnerSetup, StartedAttempt};
use super::verdict::verdict;
use super::visit_state::{Assignment, CompletedVisit, VisitEnd, VisitState, visit_state};
use crate::dispatch::claim::claim;
use crate::dispatch::openings::left_behind;
use crate::domain::{Completion, CompletionId, Map, Outcome, RunBounds, Task, Visit};
use crate::files::completion_file::Answer;
use crate::git::Asking;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{RefusalKind, Rules};
use crate::storage::Holder;
use crate::storage::random::{chance, ulid};
use crate::storage::runs::{
    LatestRun, Ruling, RunAttempt, RunEnd, RunEnding, RunFile, RunRecord, RunRight, Runs, VisitRuns,
};
use crate::tasks::actions::release;
use crate::tasks::plan::choice::DryRun;
use crate::tasks::signing::{Signing, complete_signed};
use crate::tasks::view::changed::ended;
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

/// How often a pause checks whether the runner is to stop.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);
/// The wait before another try where another process stood in the way.
pub(crate) const RETRY: Duration = Duration::from_secs(1);
/// Why an attempt ended whose runner is gone.
pub(crate) const KILLED: &str = "its runner was killed";

/// A visit that is being run.
pub(crate) struct VisitRun<'a> {
    pub project: &'a RunnerSetup,
    /// The project, opened once: each use begins with [`VisitRun::workspace`].
    pub open_workspace: RefCell<Workspace>,
    pub assignment: &'a Assignment,
    pub runs: VisitRuns,
    /// How long the history was when it began.
    pub since: usize,
    pub control: RunControl<'a>,
}

impl VisitRun<'_> {
    /// Returns the project as it is now, with the full time to wait for others.
    pub(crate) fn workspace(&self) -> Ref<'_, Workspace> {
        self.open_workspace.borrow_mut().restart_wait(self.project.wait);
        self.open_workspace.borrow()
    }

    pub(crate) fn state(&self) -> Result<VisitState, ProjectError> {
        let Assignment { ticket, agent, .. } = self.assignment;
        visit_state(&self.workspace(), ticket, agent, self.since)
    }

    /// Sleeps, and returns whether nobody stopped the runner meanwhile.
    pub(crate) fn sleep(&self, time: Duration) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < time {
            if self.control.is_stopped() {
                return false;
            }
            thread::sleep(PAUSE.min(time.saturating_sub(begun.elapsed())));
        }
        true
    }

    pub(crate) fn fresh_id(&self) -> Result<CompletionId, ProjectError> {
        Ok(ulid((self.project.clock)())?)
    }

    /// Returns the attempts that failed by themselves.
    pub(crate) fn failures(&self) -> Result<Vec<RunRecord>, ProjectError> {
        Ok(self.runs.records()?.into_iter().filter(has_failed).collect())
    }

    pub(crate) fn remark(&self, text: impl Into<String>) {
        self.control.remark(&self.assignment.ticket, text);
    }

    pub(crate) fn tell_started(&self, attempt: &Attempt<'_>) {
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

    /// Reports that the visit has ended.
    pub(crate) fn tell_moved(&self, rules: &Rules, visit: &Visit, task: &Task, took: Duration) {
        let (ticket, from) = (&self.assignment.ticket, visit.station());
        (self.control.news)(RunEvent::moved(rules, ticket, &from, Some(visit), task, took));
    }

    /// Completes the visit with an answer, and records the result. Returns nothing where the answer was refused.
    pub(crate) fn hand_in(
        &self,
        answer: RunAnswer,
        run: &CompletionId,
        record: &mut RunRecord,
        folder: &RunAttempt,
        took: Duration,
    ) -> Result<Option<VisitEnd>, ProjectError> {
        let source = answer.source.word().to_owned();
        let completed = self.complete(answer, run, record.end.as_ref(), took)?;
        let (how, reason, verdict) = match completed {
            Ok(outcome) => {
                let ruling = Ruling { source, outcome, completion: run.clone() };
                (RunEnding::Verdict, None, Some(ruling))
            }
            Err(VisitEnd::Broken(why)) => {
                let why = format!("what it said was refused: {why}");
                (RunEnding::BadVerdict, Some(why), None)
            }
            Err(end) => return Ok(Some(end)),
        };
        let is_completed = verdict.is_some();
        if let Some(end) = &mut record.end {
            (end.how, end.reason, end.verdict) = (how, reason, verdict);
        }
        note(folder, record, self.control);
        Ok(is_completed.then_some(VisitEnd::Completed))
    }

    /// Ends the visit as failed or blocked: no attempt had an answer that counts.
    pub(crate) fn give_up(&self, attempt: &Attempt<'_>) -> Result<VisitEnd, ProjectError> {
        let failures: Vec<String> = self.failures()?.iter().map(why_of).collect();
        let outcomes = attempt.post.outcomes(&attempt.open.in_force.rules);
        let can_fail = outcomes.contains(&Outcome::Failed);
        let attempts = match failures.len() {
            1 => "1 attempt".to_owned(),
            count => format!("{count} attempts"),
        };
        let last = failures.last().cloned().unwrap_or_default();
        let agent = &self.assignment.agent;
        let blockers =
            failures.iter().zip(1..).map(|(why, number)| format!("attempt {number}: {why}"));
        let fields = Answer {
            summary: Some(format!("{attempts} of `{agent}` came to nothing; the last one: {last}")),
            blockers: Some(blockers.collect()),
            ..Answer::default()
        };
        let outcome = Some(if can_fail { Outcome::Failed } else { Outcome::Blocked });
        let answer = RunAnswer { source: AnswerSource::Attempts, outcome, fields };
        let end = self.runs.records()?.pop().and_then(|record| record.end);
        Ok(match self.complete(answer, &self.fresh_id()?, end.as_ref(), Duration::ZERO)? {
            Ok(_) => VisitEnd::GivenUp(last),
            Err(VisitEnd::Broken(why)) => VisitEnd::Unavailable(why),
            Err(end) => end,
        })
    }

    /// Completes the visit, and returns its outcome. Waits while a merge or a lock stands in the way: no verdict is lost to it. The
    /// inner error says how the visit ended instead; where the completion was refused, that something is broken.
    fn complete(
        &self,
        answer: RunAnswer,
        run: &CompletionId,
        end: Option<&RunEnd>,
        took: Duration,
    ) -> Result<Result<String, VisitEnd>, ProjectError> {
        let completion = self.completion(answer, run, end, took);
        let mut is_told = false;
        loop {
            let signing = Signing { key_file: None, asking: Asking::Window };
            // The project is borrowed no longer than this.
            let done = complete_signed(&self.workspace(), &completion, signing, DryRun::No);
            match done {
                Ok(changed) => {
                    for warning in &changed.warnings {
                        self.remark(warning.message());
                    }
                    let visits = ended(&changed);
                    let Some(visit) = visits.first() else { return Ok(Ok(String::new())) };
                    let rules = self.workspace().rules()?.rules;
                    self.tell_moved(&rules, visit, &changed.after.task, took);
                    return Ok(Ok(visit.outcome.to_string()));
                }
                Err(ProjectError::Refused(refusal)) if refusal.kind() != RefusalKind::Conflict => {
                    // The next attempt has to know all that is wrong.
                    let fix = refusal.fix();
                    let why = format!("{}; {fix}", ProjectError::Refused(refusal));
                    return Ok(Err(VisitEnd::Broken(why)));
                }
                Err(error @ ProjectError::Refused(_)) => {
                    return Ok(Err(VisitEnd::Overtaken(error.to_string())));
                }
                Err(error) if error.passes() => {
                    if !is_told {
                        is_told = true;
                        self.remark(error.to_string());
                    }
                    if !self.sleep(RETRY) {
                        return Ok(Err(VisitEnd::Stopped));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn completion(
        &self,
        answer: RunAnswer,
        run: &CompletionId,
        end: Option<&RunEnd>,
        took: Duration,
    ) -> Completion {
        let fields = answer.fields;
        let mut metadata = fields.metadata;
        metadata.insert("run".to_owned(), run_value(run, answer.source, end, took));
        // What keeps workers apart is not for them to say.
        if let Some(session) = end.and_then(|end| end.told.session.clone()) {
            metadata.insert("session".to_owned(), session.into());
        }
        Completion {
            ticket: self.assignment.ticket.clone(),
            agent: self.assignment.agent.clone(),
            outcome: answer.outcome.as_ref().map(ToString::to_string),
            summary: fields.summary,
            blockers: fields.blockers,
            rejection_notes: fields.rejection_notes,
            outputs: fields.outputs,
            metadata,
            body: fields.body,
            // An id of the agent's own could be one that has counted already.
            id: run.clone(),
            signature: None,
        }
    }
}

/// Returns what an entry keeps of its run.
fn run_value(
    run: &CompletionId,
    source: AnswerSource,
    end: Option<&RunEnd>,
    took: Duration,
) -> Value {
    let transcript = end.and_then(|end| end.transcript.as_ref());
    let told = end.map(|end| end.told.clone()).unwrap_or_default();
    let all = [
        ("id", json!(run.as_str())),
        ("verdict", json!(source.word())),
        ("seconds", json!(took.as_secs())),
        ("transcript", json!(transcript.map(|mark| format!("sha256:{}", mark.sha256)))),
        ("model", json!(told.model)),
        ("costUsd", json!(told.cost_usd)),
        ("tokens", json!(told.tokens)),
    ];
    let known = all.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(known.map(|(key, value)| (key.to_owned(), value)).collect::<Map>())
}

/// Returns whether the attempt failed by itself, and so uses up one of those that a visit has.
pub(crate) fn has_failed(record: &RunRecord) -> bool {
    let how = record.end.as_ref().map(|end| end.how);
    matches!(
        how,
        Some(RunEnding::Crash | RunEnding::Timeout | RunEnding::Idle | RunEnding::BadVerdict)
    )
}

/// Returns why the attempt failed.
pub(crate) fn why_of(record: &RunRecord) -> String {
    let Some(end) = &record.end else { return String::new() };
    let usual = if end.how == RunEnding::Stopped { "somebody stopped it" } else { KILLED };
    end.reason.clone().unwrap_or_else(|| usual.to_owned())
}
