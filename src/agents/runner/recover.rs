//! What a runner finds of those that ran a visit before: attempts that count, and one whose runner was killed.

use std::time::Duration;

use super::attempt::answer::Before;
use super::attempt::attempt::OUTPUT_LIMIT;
use super::attempt::plan::with_asked;
use super::attempt::printed::{Exit, Printed};
use super::attempt::prompt::Earlier;
use super::attempt::record::{KILLED, has_failed, is_unheard, was_interrupted, why_of};
use super::report::report::Report;
use super::secrets::{masked, secrets};
use super::verdict::read::{Said, Source, Verdict};
use super::verdict::sources::verdict;
use super::visit::{Assignment, Run, VisitEnd};
use super::visit_state::{Standing, standing};
use crate::dispatch::claimable_work::left_behind;
use crate::domain::CompletionId;
use crate::project::error::error::OpsError;
use crate::rules::Post;
use crate::storage::runs::LatestRun;
use crate::storage::runs::{RunAttempt, RunFile};
use crate::storage::runs::{RunEnd, RunEnding, RunRecord, Told};

/// How long a program has that a killed runner left behind.
const GRACE: Duration = Duration::from_secs(5);

impl Run<'_> {
    /// Sees what runners left that were killed or stopped: a program that still runs is ended, and what was said and not handed in
    /// counts now. Returns how the visit ended, if that was all that was missing.
    pub(crate) fn recover(&mut self) -> Result<Option<VisitEnd>, OpsError> {
        let (attempt, mut record, is_unheard) = match self.runs.latest()? {
            LatestRun::None | LatestRun::Open(_, None) => return Ok(None),
            LatestRun::Ended(attempt, record) => {
                let is_unheard = is_unheard(&record);
                (attempt, record, is_unheard)
            }
            LatestRun::Open(attempt, Some(mut record)) => {
                let is_unheard = self.lose(&mut record);
                (attempt, record, is_unheard)
            }
        };
        if let Some(said) = self.said_in(&attempt, &record)?.filter(|_| is_unheard) {
            let run: CompletionId = match record.run.parse() {
                Ok(run) => run,
                Err(_) => self.fresh_id()?,
            };
            match self.hand_in(*said, &run, &mut record, &attempt, Duration::ZERO)? {
                Ok(end) => return Ok(Some(end)),
                Err(before) => {
                    let left = left_behind(&self.workspace(), record.started)?;
                    self.earlier = Some(Earlier { before, left });
                }
            }
            return Ok(None);
        }
        // Not before: if this runner is killed too, what was said is still to be heard.
        attempt.note(&record)?;
        if is_unheard || has_failed(&record) || was_interrupted(&record) {
            self.remember(&record)?;
        }
        Ok(None)
    }

    /// Ends an attempt whose runner was killed. Returns whether it had ended by itself, so that nobody has heard what it said.
    fn lose(&self, record: &mut RunRecord) -> bool {
        let alive = record.is_alive();
        if let Some(group) = record.group.as_ref().filter(|_| alive) {
            group.end(GRACE);
        }
        record.end = Some(RunEnd {
            at: (self.project.clock)(),
            how: RunEnding::Lost,
            status: None,
            reason: Some(KILLED.to_owned()),
            transcript: None,
            told: Told::default(),
            verdict: None,
        });
        !alive
    }

    /// Returns what an attempt left in its file, if that is an answer. Nothing passes where nobody saw how the program ended: half an
    /// answer looks like a whole one.
    fn said_in(
        &self,
        attempt: &RunAttempt,
        record: &RunRecord,
    ) -> Result<Option<Box<Said>>, OpsError> {
        let Assignment { ticket, agent, .. } = self.assignment;
        // What cannot be read there is no answer.
        let Some(output) = attempt.read(RunFile::Output, OUTPUT_LIMIT).unwrap_or_default() else {
            return Ok(None);
        };
        let prompt = attempt.read(RunFile::Prompt, OUTPUT_LIMIT)?.unwrap_or_default();
        let found = standing(&self.workspace(), ticket, agent, self.since)?;
        let Standing::Open(open) = found else { return Ok(None) };
        let rules = &open.in_force.rules;
        let launch = rules.org.agent(agent).and_then(|known| known.run.as_ref());
        let post = Post::meant(rules, &open.file.task, open.opening.station.branch.as_ref());
        let (Some(launch), Some(post)) = (launch, post) else { return Ok(None) };
        // Without the secrets, nobody knows what of it must not be seen.
        let Ok(secrets) = secrets(launch, agent) else { return Ok(None) };
        let status = record.end.as_ref().and_then(|end| end.status);
        let exit =
            status.and_then(|status| u8::try_from(status).ok()).map_or(Exit::Unseen, Exit::Status);
        let printed = Printed { stdout: b"", stderr: b"", exit };
        let found = with_asked(
            &open,
            &post,
            agent,
            ticket,
            launch,
            &String::from_utf8_lossy(&prompt),
            |asked| verdict(asked, &Report::default(), &printed, Some(&secrets.masked(&output))),
        );
        Ok(match found {
            Verdict::Said(said) if said.source == Source::OutputFile => {
                Some(Box::new(masked(&secrets, *said)))
            }
            _ => None,
        })
    }

    /// Keeps what the next attempt is to know of that one.
    fn remember(&mut self, record: &RunRecord) -> Result<(), OpsError> {
        let left = left_behind(&self.workspace(), record.started)?;
        let why = why_of(record);
        let before =
            if has_failed(record) { Before::Crashed(why) } else { Before::Interrupted(why) };
        self.earlier = Some(Earlier { before, left });
        Ok(())
    }
}
