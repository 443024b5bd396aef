//! Recovery from a runner that was killed or stopped at the visit.

use std::time::Duration;

use super::record::without_record;
use super::{VisitRun, VisitStop};
use crate::agents::runner::answer::{AnswerSource, RunAnswer};
use crate::agents::runner::attempt::{Attempt, OUTPUT_LIMIT};
use crate::agents::runner::launch::secrets;
use crate::agents::runner::prompt::EarlierAttempt;
use crate::agents::runner::report::{Exit, Report, RunOutput};
use crate::agents::runner::verdict::verdict;
use crate::agents::runner::work_finder::VisitState;
use crate::project::error::ProjectError;
use crate::storage::runs::{
    GRACE, LatestRun, RUNNER_KILLED, RunAttempt, RunEnd, RunEnding, RunFile, RunRecord,
};

impl VisitRun<'_> {
    /// Recovers from a runner that was killed or stopped: ends its program, and submits an answer that it left. Returns the facts about
    /// that run for the next attempt.
    pub(super) fn recover(&self) -> Result<Option<EarlierAttempt>, VisitStop> {
        let (folder, mut record, is_unsubmitted) = match self.runs.latest()? {
            LatestRun::None | LatestRun::Open(_, None) => return Ok(None),
            LatestRun::Ended(folder, record) => {
                let end = record.end.as_ref();
                let is_unsubmitted =
                    end.is_some_and(|end| end.how == RunEnding::Verdict && end.verdict.is_none());
                (folder, record, is_unsubmitted)
            }
            LatestRun::Open(folder, Some(mut record)) => {
                // A program that had ended by itself may have left an answer.
                let is_unsubmitted = !record.is_alive();
                if let Some(group) = record.group.as_ref().filter(|_| !is_unsubmitted) {
                    group.end(GRACE);
                }
                let reason = Some(RUNNER_KILLED.to_owned());
                record.end = Some(RunEnd::new((self.project.clock)(), RunEnding::Lost, reason));
                (folder, record, is_unsubmitted)
            }
        };
        let answer = if is_unsubmitted { self.answer_in(&folder, &record)? } else { None };
        if let Some(answer) = answer {
            let run = record.run.parse().or_else(|_| self.fresh_id())?;
            let kept = self.submit(answer, &run, &mut record, &folder, Duration::ZERO)?;
            kept.map_err(|fault| without_record(&fault))?;
        } else {
            // Not earlier: if this runner is killed as well, the next one still submits the answer.
            folder.note(&record).map_err(|fault| without_record(&fault))?;
            let how = record.end.as_ref().map(|end| end.how);
            let is_interrupted =
                matches!(how, Some(RunEnding::Stopped | RunEnding::Lost | RunEnding::Limited));
            if !is_unsubmitted && !is_interrupted && !record.has_failed() {
                return Ok(None);
            }
        }
        Ok(Some(self.earlier(&record)?))
    }

    /// Returns the answer that an attempt left in its file. A pass does not count if the end of the program is unknown: an incomplete
    /// answer can look complete.
    fn answer_in(
        &self,
        folder: &RunAttempt,
        record: &RunRecord,
    ) -> Result<Option<RunAnswer>, ProjectError> {
        // An unreadable file is not an answer.
        let Some(file) = folder.read(RunFile::Output, OUTPUT_LIMIT).unwrap_or_default() else {
            return Ok(None);
        };
        let prompt = folder.read(RunFile::Prompt, OUTPUT_LIMIT)?.unwrap_or_default();
        let VisitState::Open(open) = self.state()? else { return Ok(None) };
        let agent = &self.assignment.agent;
        let attempt = Attempt::new(self.project, agent, &open, self.fresh_id()?);
        let Ok(attempt) = attempt else { return Ok(None) };
        // Unknown secrets cannot be masked.
        let Ok(secrets) = secrets(attempt.launch, agent) else { return Ok(None) };
        let status = record.end.as_ref().and_then(|end| end.status);
        let exit = status.map_or(Exit::Unseen, Exit::from_status);
        let output = RunOutput { stdout: b"", stderr: b"", exit };
        let asked = attempt.question(&String::from_utf8_lossy(&prompt));
        let answer = verdict(&asked, &Report::default(), &output, Some(&secrets.masked(&file)));
        let answer = answer.ok().filter(|answer| answer.source == AnswerSource::OutputFile);
        Ok(answer.map(|answer| answer.masked(&secrets)))
    }
}
