//! The completion of a visit by its run, and the facts of the run that the entry keeps.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::{VisitRun, VisitStop};
use crate::agents::runner::answer::{AnswerSource, RunAnswer};
use crate::agents::runner::attempt::Attempt;
use crate::agents::runner::work_finder::{CompletedVisit, VisitEnd};
use crate::domain::{
    AgentId, Completion, CompletionContent, CompletionId, Outcome, distinct, listed,
};
use crate::git::PromptPlace;
use crate::project::error::ProjectError;
use crate::project::task_worktrees::UNSETTLED;
use crate::rules::RefusalKind;
use crate::storage::runs::RunRecord;
use crate::tasks::complete::{Signing, complete_signed};
use crate::tasks::plan::DryRun;
use crate::tasks::view::task_view::ended_visits;

impl VisitRun<'_> {
    /// Ends the visit as failed or blocked: no attempt had an answer that counts.
    pub(super) fn give_up(&self, attempt: &Attempt<'_>) -> Result<VisitEnd, VisitStop> {
        let all = self.failures()?;
        let failures: Vec<String> = all.iter().map(RunRecord::failure_reason).collect();
        let outcomes = attempt.workplace.outcomes(&attempt.open.in_force.rules);
        let can_fail = outcomes.contains(&Outcome::Failed);
        let attempts = match failures.len() {
            1 => "1 attempt".to_owned(),
            count => format!("{count} attempts"),
        };
        let last = failures.last().cloned().unwrap_or_default();
        let agents = distinct(all.iter().map(|record| &record.agent));
        if attempt.open.opening.looks_every.is_some() {
            self.claim(true)?;
        }
        let blockers =
            failures.iter().zip(1..).map(|(why, number)| format!("attempt {number}: {why}"));
        let content = CompletionContent {
            summary: Some(format!("{attempts} of {} failed; the last one: {last}", listed(agents))),
            blockers: Some(blockers.collect()),
            ..CompletionContent::default()
        };
        let outcome = Some(if can_fail { Outcome::Failed } else { Outcome::Blocked });
        let answer = RunAnswer { source: AnswerSource::Attempts, outcome, content };
        let last_run = self.runs.records()?.pop();
        Ok(match self.complete(answer, &self.fresh_id()?, last_run.as_ref(), Duration::ZERO)? {
            Ok(_) => VisitEnd::GivenUp(last),
            Err(why) => VisitEnd::Unavailable(why),
        })
    }

    /// Completes the visit, and returns its outcome. Retries while a merge or a lock is in the way. The inner error is the reason why the
    /// completion was refused.
    pub(super) fn complete(
        &self,
        answer: RunAnswer,
        run: &CompletionId,
        record: Option<&RunRecord>,
        took: Duration,
    ) -> Result<Result<String, String>, VisitStop> {
        let completion = self.completion(answer, run, record, took);
        let signing = Signing { key_file: None, asking: PromptPlace::Window };
        let act = |workspace: &_| complete_signed(workspace, &completion, signing, DryRun::No);
        let changed = match self.retry(act) {
            Err(VisitStop::Error(ProjectError::Refused(refusal))) => {
                let (kind, fix) = (refusal.kind(), refusal.fix());
                let why = ProjectError::Refused(refusal).to_string();
                if kind == RefusalKind::Conflict {
                    return Err(VisitEnd::Overtaken(why).into());
                }
                // The next attempt must know all faults.
                return Ok(Err(format!("{why}; {fix}")));
            }
            Err(VisitStop::Error(error)) if error.code() == UNSETTLED => {
                return Ok(Err(error.with_fix()));
            }
            done => done?,
        };
        for warning in &changed.warnings {
            self.remark(warning.message());
        }
        let visits = ended_visits(&changed);
        let Some(visit) = visits.first() else { return Ok(Ok(String::new())) };
        let (visit, in_force) = (visit.clone(), self.workspace().rules()?);
        let outcome = visit.outcome.to_string();
        self.report_completed(&CompletedVisit { visit, file: changed.after, in_force }, took);
        Ok(Ok(outcome))
    }

    fn completion(
        &self,
        answer: RunAnswer,
        run: &CompletionId,
        record: Option<&RunRecord>,
        took: Duration,
    ) -> Completion {
        let mut content = answer.content;
        content.outcome = answer.outcome.as_ref().map(ToString::to_string);
        let stalled = self.runs.records().unwrap_or_default();
        let stalled = record.map(|record| record.stalled_before(&stalled)).unwrap_or_default();
        let value = run_value(run, answer.source, record, &stalled, took);
        content.metadata.insert("run".to_owned(), value);
        // The session separates workers, so they cannot choose it.
        let end = record.and_then(|record| record.end.as_ref());
        let session = end.and_then(|end| end.agent_report.session.clone());
        let session = session.unwrap_or_else(|| run.to_string());
        content.metadata.insert("session".to_owned(), session.into());
        Completion {
            ticket: self.assignment.ticket.clone(),
            gate: None,
            agent: self.assignment.agent.clone(),
            content,
            // An id of the agent's own might already have been used.
            id: run.clone(),
            signature: None,
            facts: Box::default(),
        }
    }
}

/// Returns the facts of a run that its entry keeps.
fn run_value(
    run: &CompletionId,
    source: AnswerSource,
    record: Option<&RunRecord>,
    stalled: &BTreeSet<&AgentId>,
    took: Duration,
) -> Value {
    let end = record.and_then(|record| record.end.as_ref());
    let transcript = end.and_then(|end| end.transcript.as_ref());
    let report = end.map(|end| end.agent_report.clone()).unwrap_or_default();
    let mut value = json!({
        "id": run.as_str(),
        "verdict": source.word(),
        "seconds": took.as_secs(),
        "transcript": transcript.map(|mark| format!("sha256:{}", mark.sha256)),
        "model": report.model,
        "costUsd": report.cost_usd,
        "tokens": report.tokens,
        "stalled": (!stalled.is_empty()).then_some(stalled),
        "session": record.and_then(|record| Some(record.session.as_ref()?.fact())),
    });
    if let Value::Object(map) = &mut value {
        map.retain(|_, value| !value.is_null());
    }
    value
}
