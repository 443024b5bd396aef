//! A visit that is being run, and from an answer to a completion: it goes the way that all completions go, and the entry keeps
//! what is known of its run.

use std::cell::{Ref, RefCell};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::attempt::{Attempt, note};
use super::request::RunnerSetup;
use super::run_event::{RunControl, RunEvent, StartedAttempt};
use super::verdict::question::{AnswerSource, RunAnswer};
use super::visit_state::{Assignment, VisitEnd, VisitState, visit_state};
use crate::domain::{Completion, CompletionId, Map, Outcome, Task, Visit};
use crate::files::completion_file::Answer;
use crate::git::Asking;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{RefusalKind, Rules};
use crate::storage::random::ulid;
use crate::storage::runs::{Ruling, RunAttempt, RunEnd, RunEnding, RunRecord, VisitRuns};
use crate::tasks::plan::DryRun;
use crate::tasks::signing::{Signing, complete_signed};
use crate::tasks::view::task_view::ended;

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
