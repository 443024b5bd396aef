//! A visit that is being run, and from a verdict to a completion: it goes the way that all completions go, and the entry keeps what
//! is known of its run.

use std::cell::{Cell, Ref, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::attempt::note;
use super::news::{News, Started};
use super::prompt::{Before, Count, Earlier};
use super::request::RunnerSetup;
use super::verdict::question::{Said, Source};
use super::visit_state::{EndedVisit, OpenVisit, VisitState, visit_state};
use crate::domain::{AgentId, Completion, CompletionId, Map, Outcome, Ticket};
use crate::git::Asking;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::{RefusalKind, Workplace};
use crate::storage::random::ulid;
use crate::storage::runs::{Ruling, RunAttempt, RunEnd, RunEnding, RunRecord, VisitRuns};
use crate::tasks::apply::change::DryRun;
use crate::tasks::signing::{Signing, complete_signed};
use crate::tasks::view::changed::ended;

/// How often a pause looks whether the runner is to stop.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);
/// The wait before another try where somebody else stood in the way.
pub(crate) const RETRY: Duration = Duration::from_secs(1);
/// Why an attempt ended whose runner is gone.
pub(crate) const KILLED: &str = "its runner was killed";

/// Who is to work at what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assignment {
    /// The visit, or the branch of it.
    pub ticket: Ticket,
    pub agent: AgentId,
    /// Whether it was claimed for this run already: then it is given back if nothing comes of it.
    pub claimed_here: bool,
}

/// What came of a visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VisitEnd {
    Completed,
    /// All attempts came to nothing, and the completion says so: why the last one did.
    GivenUp(String),
    /// It is not the agent's any more: why.
    Overtaken(String),
    /// Something is wrong with this task, or with the files of this visit, and with nothing else: what.
    Broken(String),
    /// Another runner is at it: who.
    Busy(String),
    /// The agent cannot be started, or cannot work: why, and what to do.
    Unavailable(String),
    /// Somebody wanted the runner to stop.
    Stopped,
}

/// What became of a completion.
enum HandedIn {
    Done(String),
    Refused(String),
    Overtaken(String),
    Stopped,
}

/// A visit that is being run.
pub(crate) struct VisitRun<'a> {
    pub project: &'a RunnerSetup,
    /// The project, opened once: each look begins with [`VisitRun::workspace`].
    pub open_workspace: RefCell<Workspace>,
    pub assignment: &'a Assignment,
    pub runs: VisitRuns,
    /// How long the history was when it began.
    pub since: usize,
    pub stop: &'a AtomicBool,
    pub news: &'a dyn Fn(News),
    /// What the next attempt is to know of the one before.
    pub earlier: Option<Earlier>,
    /// Whether the claim was made here.
    pub claimed: Cell<bool>,
}

impl VisitRun<'_> {
    /// Returns the project as it is now, with the full time to wait for others.
    pub(crate) fn workspace(&self) -> Ref<'_, Workspace> {
        self.open_workspace.borrow_mut().restart_wait(self.project.wait);
        self.open_workspace.borrow()
    }

    pub(crate) fn state(&self) -> Result<VisitState, OpsError> {
        let Assignment { ticket, agent, .. } = self.assignment;
        visit_state(&self.workspace(), ticket, agent, self.since)
    }

    /// Returns whether it slept through.
    pub(crate) fn sleep(&self, time: Duration) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < time {
            if self.stop.load(Ordering::Relaxed) {
                return false;
            }
            thread::sleep(PAUSE.min(time.saturating_sub(begun.elapsed())));
        }
        true
    }

    pub(crate) fn fresh_id(&self) -> Result<CompletionId, OpsError> {
        Ok(ulid((self.project.clock)())?)
    }

    /// Returns the attempts that had their chance and came to nothing.
    pub(crate) fn failures(&self) -> Result<Vec<RunRecord>, OpsError> {
        Ok(self.runs.records()?.into_iter().filter(has_failed).collect())
    }

    pub(crate) fn remark(&self, text: impl Into<String>) {
        (self.news)(News::remark(&self.assignment.ticket, text));
    }

    /// Tells of an attempt that begins.
    pub(crate) fn tell_started(&self, open: &OpenVisit, count: Count) {
        let task = &open.file.task;
        let station = open.opening.station.clone();
        let workflow = open.in_force.rules.workflow_of(task);
        let gates = workflow.map(|workflow| workflow.gates.as_slice()).unwrap_or_default();
        let index = gates.iter().position(|gate| gate.id == station.gate);
        (self.news)(News::Started(Started {
            ticket: self.assignment.ticket.clone(),
            station,
            title: task.title.clone(),
            agent: self.assignment.agent.clone(),
            attempt: count.attempt,
            attempts: count.attempts,
            step: index.map_or(0, |index| index + 1),
            steps: gates.len(),
        }));
    }

    /// Tells of a visit that the agent has completed itself.
    pub(crate) fn tell_completed(&self, ended: &EndedVisit, took: Duration) {
        let EndedVisit { visit, file, in_force } = ended;
        let (ticket, from) = (&self.assignment.ticket, visit.station());
        (self.news)(News::moved(&in_force.rules, ticket, &from, Some(visit), &file.task, took));
    }

    /// Hands in what an attempt has said, and keeps in its record what became of it.
    pub(crate) fn hand_in(
        &self,
        said: Said,
        run: &CompletionId,
        record: &mut RunRecord,
        folder: &RunAttempt,
        took: Duration,
    ) -> Result<Result<VisitEnd, Before>, OpsError> {
        let source = said.source.word().to_owned();
        let handed = self.complete(said, run, record.end.as_ref(), took)?;
        let (result, how, reason, verdict) = match handed {
            HandedIn::Done(outcome) => {
                let ruling = Ruling { source, outcome, completion: run.clone() };
                (Ok(VisitEnd::Completed), RunEnding::Verdict, None, Some(ruling))
            }
            HandedIn::Refused(why) => {
                let before = Before::Refused(why);
                let (how, reason) = before.ending();
                (Err(before), how, reason, None)
            }
            HandedIn::Overtaken(why) => return Ok(Ok(VisitEnd::Overtaken(why))),
            HandedIn::Stopped => return Ok(Ok(VisitEnd::Stopped)),
        };
        if let Some(end) = &mut record.end {
            (end.how, end.reason, end.verdict) = (how, reason, verdict);
        }
        note(folder, record, &self.assignment.ticket, self.news);
        Ok(result)
    }

    /// Ends the visit with what came of all attempts: nothing.
    pub(crate) fn give_up(
        &self,
        open: &OpenVisit,
        post: &Workplace<'_>,
    ) -> Result<VisitEnd, OpsError> {
        let failures: Vec<String> = self.failures()?.iter().map(why_of).collect();
        let can_fail = post.outcomes(&open.in_force.rules).contains(&Outcome::Failed);
        let outcome = if can_fail { Outcome::Failed } else { Outcome::Blocked };
        let attempts = match failures.len() {
            1 => "1 attempt".to_owned(),
            count => format!("{count} attempts"),
        };
        let last = failures.last().cloned().unwrap_or_default();
        let agent = &self.assignment.agent;
        let blockers =
            failures.iter().zip(1..).map(|(why, number)| format!("attempt {number}: {why}"));
        let said = Said {
            summary: Some(format!("{attempts} of `{agent}` came to nothing; the last one: {last}")),
            blockers: Some(blockers.collect()),
            ..Said::alone(Source::Attempts, Some(outcome))
        };
        let end = self.runs.records()?.pop().and_then(|record| record.end);
        Ok(match self.complete(said, &self.fresh_id()?, end.as_ref(), Duration::ZERO)? {
            HandedIn::Done(_) => VisitEnd::GivenUp(last),
            HandedIn::Refused(why) => VisitEnd::Unavailable(why),
            HandedIn::Overtaken(why) => VisitEnd::Overtaken(why),
            HandedIn::Stopped => VisitEnd::Stopped,
        })
    }

    /// Completes the visit. What stands in the way for a while, a merge or a lock, is waited for: no verdict is lost to it.
    fn complete(
        &self,
        said: Said,
        run: &CompletionId,
        end: Option<&RunEnd>,
        took: Duration,
    ) -> Result<HandedIn, OpsError> {
        let completion = self.completion(said, run, end, took);
        let mut is_told = false;
        loop {
            let signing = Signing { key_file: None, asking: Asking::Window };
            // The project is borrowed no longer than this.
            let done = complete_signed(&self.workspace(), &completion, signing, DryRun::No);
            match done {
                Ok(done) => {
                    let changed = done.changed;
                    for warning in &changed.warnings {
                        self.remark(warning.message());
                    }
                    let visits = ended(&changed);
                    let Some(visit) = visits.first() else {
                        return Ok(HandedIn::Done(String::new()));
                    };
                    let rules = self.workspace().rules()?.rules;
                    let (ticket, task) = (&self.assignment.ticket, &changed.after.task);
                    let from = visit.station();
                    (self.news)(News::moved(&rules, ticket, &from, Some(visit), task, took));
                    return Ok(HandedIn::Done(visit.outcome.to_string()));
                }
                Err(OpsError::Refused(refusal)) if refusal.kind() != RefusalKind::Conflict => {
                    // Whoever tries again has to know all that is wrong.
                    let fix = refusal.fix();
                    return Ok(HandedIn::Refused(format!("{}; {fix}", OpsError::Refused(refusal))));
                }
                Err(error @ OpsError::Refused(_)) => {
                    return Ok(HandedIn::Overtaken(error.to_string()));
                }
                Err(error) if error.passes() => {
                    if !is_told {
                        is_told = true;
                        self.remark(error.to_string());
                    }
                    if !self.sleep(RETRY) {
                        return Ok(HandedIn::Stopped);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn completion(
        &self,
        said: Said,
        run: &CompletionId,
        end: Option<&RunEnd>,
        took: Duration,
    ) -> Completion {
        let mut metadata = said.metadata;
        metadata.insert("run".to_owned(), run_value(run, said.source, end, took));
        // What keeps workers apart is not for them to say.
        if let Some(session) = end.and_then(|end| end.told.session.clone()) {
            metadata.insert("session".to_owned(), session.into());
        }
        Completion {
            ticket: self.assignment.ticket.clone(),
            agent: self.assignment.agent.clone(),
            outcome: said.outcome.as_ref().map(ToString::to_string),
            summary: said.summary,
            blockers: said.blockers,
            rejection_notes: said.rejection_notes,
            outputs: said.outputs,
            metadata,
            body: said.body,
            // An id of the agent's own could be one that has counted already.
            id: run.clone(),
            signature: None,
        }
    }
}

/// Returns what an entry keeps of its run.
fn run_value(run: &CompletionId, source: Source, end: Option<&RunEnd>, took: Duration) -> Value {
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
    put("id", json!(run.as_str()));
    put("verdict", json!(source.word()));
    put("seconds", json!(took.as_secs()));
    if let Some(RunEnd { transcript, told, .. }) = end {
        if let Some(mark) = transcript {
            put("transcript", json!(format!("sha256:{}", mark.sha256)));
        }
        let of_agent = [
            ("model", json!(told.model)),
            ("costUsd", json!(told.cost_usd)),
            ("tokens", json!(told.tokens)),
        ];
        for (key, value) in of_agent.into_iter().filter(|(_, value)| !value.is_null()) {
            put(key, value);
        }
    }
    Value::Object(map)
}

/// Returns whether the attempt counts: it had its chance, and nothing came of it.
pub(crate) fn has_failed(record: &RunRecord) -> bool {
    let how = record.end.as_ref().map(|end| end.how);
    matches!(
        how,
        Some(RunEnding::Crash | RunEnding::Timeout | RunEnding::Idle | RunEnding::BadVerdict)
    )
}

/// Returns why it came to nothing.
pub(crate) fn why_of(record: &RunRecord) -> String {
    let Some(end) = &record.end else { return String::new() };
    let usual = match end.how {
        RunEnding::Timeout => "it took too long, and was stopped",
        RunEnding::Idle => "it printed nothing for too long, and was stopped",
        RunEnding::Lost | RunEnding::Verdict => KILLED,
        RunEnding::Stopped => "somebody stopped it",
        _ => "it came to nothing",
    };
    end.reason.clone().unwrap_or_else(|| usual.to_owned())
}
