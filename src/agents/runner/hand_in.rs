//! From a verdict to a completion: it goes the one way that all completions go, and the entry keeps what is known of its run.

use std::time::Duration;

use serde_json::{Value, json};

use super::attempt::answer::Before;
use super::attempt::record::{ending, has_failed, why_of};
use super::news::News;
use super::verdict::read::{Said, Source};
use super::visit::{ANEW, Run, VisitEnd};
use super::visit_state::Open;
use crate::domain::{Completion, CompletionId, Map, Outcome};
use crate::git::Asking;
use crate::project::error::error::OpsError;
use crate::rules::{Post, RefusalKind};
use crate::storage::runs::{Ruling, RunEnd, RunEnding, RunRecord};
use crate::storage::runs::{RunAttempt, RunFile};
use crate::tasks::apply::change::DryRun;
use crate::tasks::signing::{Signing, complete_signed};
use crate::tasks::view::changed::ended;

/// What became of a completion.
enum Handed {
    In(String),
    Refused(String),
    Overtaken(String),
    Stopped,
}

impl Run<'_> {
    /// Hands in what an attempt has said, and keeps in its record what became of it.
    pub(crate) fn hand_in(
        &self,
        said: Said,
        run: &CompletionId,
        record: &mut RunRecord,
        folder: &RunAttempt,
        took: Duration,
    ) -> Result<Result<VisitEnd, Before>, OpsError> {
        let source = said.source;
        self.keep(&said, folder);
        let end = record.end.clone();
        match self.completed(said, run, end.as_ref(), took)? {
            Handed::In(outcome) => {
                if let Some(end) = &mut record.end {
                    let source = source_word(source).to_owned();
                    (end.how, end.reason) = (RunEnding::Verdict, None);
                    end.verdict = Some(Ruling { source, outcome, completion: run.clone() });
                }
                self.note(folder, record);
                Ok(Ok(VisitEnd::Completed))
            }
            Handed::Refused(why) => {
                let before = Before::Refused(why);
                if let Some(end) = &mut record.end {
                    (end.how, end.reason) = ending(&before);
                }
                self.note(folder, record);
                Ok(Err(before))
            }
            Handed::Overtaken(why) => Ok(Ok(VisitEnd::Overtaken(why))),
            Handed::Stopped => Ok(Ok(VisitEnd::Stopped)),
        }
    }

    /// Keeps the record of an attempt. What cannot be kept is told: no verdict depends on it.
    pub(crate) fn note(&self, folder: &RunAttempt, record: &RunRecord) {
        if let Err(fault) = folder.note(record) {
            let text = format!("the record of the attempt could not be kept: {fault}");
            (self.news)(News::Remark { ticket: self.assignment.ticket.clone(), text });
        }
    }

    /// Keeps what was said only in what was printed, in the file that is looked into when this runner does not come to hand it in.
    fn keep(&self, said: &Said, folder: &RunAttempt) {
        if said.source != Source::Structured {
            return;
        }
        let answer = json!({
            "outcome": said.outcome.as_ref().map(ToString::to_string),
            "summary": said.summary,
            "blockers": said.blockers,
            "rejectionNotes": said.rejection_notes,
            "outputs": said.outputs,
            "metadata": said.metadata,
        });
        let kept: Map = answer
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if let Err(fault) =
            folder.write(RunFile::Output, Value::Object(kept).to_string().as_bytes())
        {
            let text = format!("the answer could not be kept: {fault}");
            (self.news)(News::Remark { ticket: self.assignment.ticket.clone(), text });
        }
    }

    /// Completes the visit. What stands in the way for a while, a merge or a lock, is waited for: no verdict is lost to it.
    fn completed(
        &self,
        said: Said,
        run: &CompletionId,
        end: Option<&RunEnd>,
        took: Duration,
    ) -> Result<Handed, OpsError> {
        let completion = self.completion(said, run, end, took);
        let mut told = false;
        loop {
            let signing = Signing { key_file: None, asking: Asking::Window };
            let done = complete_signed(&self.workspace(), &completion, signing, DryRun::No);
            match done {
                Ok(done) => {
                    let changed = done.changed;
                    let visits = ended(&changed);
                    let own = visits.first();
                    let outcome = own.map(|visit| visit.outcome.to_string()).unwrap_or_default();
                    for warning in &changed.warnings {
                        (self.news)(News::Remark {
                            ticket: completion.ticket.clone(),
                            text: warning.message(),
                        });
                    }
                    if let Some(visit) = own {
                        let in_force = self.workspace().rules()?;
                        self.tell_moved(&in_force.rules, visit, &changed.after.task, took);
                    }
                    return Ok(Handed::In(outcome));
                }
                Err(OpsError::Refused(refusal)) if refusal.kind() != RefusalKind::Conflict => {
                    // Whoever tries again has to know all that is wrong.
                    let fix = refusal.fix();
                    return Ok(Handed::Refused(format!("{}; {fix}", OpsError::Refused(refusal))));
                }
                Err(OpsError::Refused(refusal)) => {
                    return Ok(Handed::Overtaken(OpsError::Refused(refusal).to_string()));
                }
                Err(error) if error.passes() => {
                    if !told {
                        told = true;
                        (self.news)(News::Remark {
                            ticket: completion.ticket.clone(),
                            text: error.to_string(),
                        });
                    }
                    if !self.sleep(ANEW) {
                        return Ok(Handed::Stopped);
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

    /// Ends the visit with what came of all attempts: nothing.
    pub(crate) fn give_up(&self, open: &Open, post: &Post<'_>) -> Result<VisitEnd, OpsError> {
        let records = self.runs.records()?;
        let failures: Vec<String> =
            records.iter().filter(|record| has_failed(record)).map(why_of).collect();
        let possible = post.outcomes(&open.in_force.rules);
        let outcome =
            if possible.contains(&Outcome::Failed) { Outcome::Failed } else { Outcome::Blocked };
        let count = failures.len();
        let attempts =
            if count == 1 { "1 attempt".to_owned() } else { format!("{count} attempts") };
        let last = failures.last().cloned().unwrap_or_default();
        let said = Said {
            source: Source::Attempts,
            outcome: Some(outcome),
            summary: Some(format!(
                "{attempts} of `{}` came to nothing; the last one: {last}",
                self.assignment.agent
            )),
            blockers: Some(
                failures
                    .iter()
                    .zip(1..)
                    .map(|(why, number)| format!("attempt {number}: {why}"))
                    .collect(),
            ),
            rejection_notes: None,
            outputs: Map::new(),
            metadata: Map::new(),
            body: None,
        };
        let run = self.fresh_id()?;
        let end = records.into_iter().next_back().and_then(|record| record.end);
        Ok(match self.completed(said, &run, end.as_ref(), Duration::ZERO)? {
            Handed::In(_) => VisitEnd::GivenUp(last),
            Handed::Refused(why) => VisitEnd::Unavailable(why),
            Handed::Overtaken(why) => VisitEnd::Overtaken(why),
            Handed::Stopped => VisitEnd::Stopped,
        })
    }
}

/// Returns what an entry keeps of its run.
fn run_value(run: &CompletionId, source: Source, end: Option<&RunEnd>, took: Duration) -> Value {
    let mut value =
        json!({"id": run.as_str(), "verdict": source_word(source), "seconds": took.as_secs()});
    let Some(end) = end else { return value };
    if let Some(mark) = &end.transcript {
        value["transcript"] = json!(format!("sha256:{}", mark.sha256));
    }
    if let Some(model) = &end.told.model {
        value["model"] = json!(model);
    }
    if let Some(cost) = end.told.cost_usd {
        value["costUsd"] = json!(cost);
    }
    if let Some(tokens) = end.told.tokens {
        value["tokens"] = json!({"input": tokens.input, "output": tokens.output});
    }
    value
}

fn source_word(source: Source) -> &'static str {
    match source {
        Source::OutputFile => "file",
        Source::Structured => "structured",
        Source::Signal => "signal",
        Source::ExitStatus => "exit",
        Source::Attempts => "attempts",
    }
}
