//! What a runner finds of those that ran a visit before: attempts that count, and one whose runner was killed.

use std::time::Duration;

use super::answer::Before;
use super::attempt::{OUTPUT_LIMIT, with_asked};
use super::printed::{Exit, Printed};
use super::prompt::Earlier;
use super::report::Report;
use super::standing::{Standing, standing};
use super::verdict::{Said, Source, Verdict, verdict};
use super::visit::{Assignment, Run};
use crate::engine::Post;
use crate::ops::{OpsError, left_behind};
use crate::store::runs::{End, Ending, Latest, Record, RunFile, Told};

/// How long a program has that a killed runner left behind.
const GRACE: Duration = Duration::from_secs(5);

impl Run<'_> {
    /// Sees what a killed runner left: its program is ended, and what that had said counts if it was done by then.
    pub(super) fn recover(&mut self) -> Result<Option<Box<Said>>, OpsError> {
        let (attempt, record) = match self.runs.latest()? {
            Latest::None => return Ok(None),
            Latest::Ended(record) => {
                if has_failed(&record) {
                    self.remember(&record)?;
                }
                return Ok(None);
            }
            Latest::Open(attempt, record) => (attempt, record),
        };
        let Some(mut record) = record else { return Ok(None) };
        let alive = record.is_alive();
        if let Some(group) = record.group.as_ref().filter(|_| alive) {
            group.end(GRACE);
        }
        let at = (self.project.clock)();
        let reason = Some("its runner was killed".to_owned());
        record.end = Some(End {
            at,
            how: Ending::Lost,
            status: None,
            reason,
            transcript: None,
            told: Told::default(),
            verdict: None,
        });
        // What cannot be read there is no answer.
        let output = attempt.read(RunFile::Output, OUTPUT_LIMIT).unwrap_or_default().filter(|_| !alive);
        let prompt = attempt.read(RunFile::Prompt, OUTPUT_LIMIT)?.unwrap_or_default();
        let prompt = String::from_utf8_lossy(&prompt);
        let said = output.map(|output| self.said_in(&output, &prompt)).transpose()?.flatten();
        attempt.note(&record)?;
        if said.is_none() {
            self.remember(&record)?;
        }
        Ok(said)
    }

    fn said_in(&self, output: &[u8], prompt: &str) -> Result<Option<Box<Said>>, OpsError> {
        let Assignment { ticket, agent, .. } = self.assignment;
        let workspace = self.project.open()?;
        let Standing::Open(open) = standing(&workspace, ticket, agent, self.since)? else { return Ok(None) };
        let rules = &open.in_force.rules;
        let launch = rules.org.agent(agent).and_then(|known| known.run.as_ref());
        let post = Post::meant(rules, &open.file.task, open.opening.station.branch.as_ref());
        let (Some(launch), Some(post)) = (launch, post) else { return Ok(None) };
        let printed = Printed { stdout: b"", stderr: b"", exit: Exit::SUCCESS };
        let found = with_asked(&open, &post, agent, ticket, launch, prompt, |asked| {
            verdict(asked, &Report::default(), &printed, Some(output))
        });
        Ok(match found {
            Verdict::Said(said) if said.source == Source::OutputFile => Some(said),
            _ => None,
        })
    }

    /// Keeps what the next attempt is to know of that one.
    fn remember(&mut self, record: &Record) -> Result<(), OpsError> {
        let workspace = self.project.open()?;
        let left = left_behind(&workspace, record.started)?;
        self.earlier = Some(Earlier { before: Before::Crashed(why_of(record)), left });
        Ok(())
    }
}

/// Returns whether the attempt counts: it had its chance, and nothing came of it.
pub(super) fn has_failed(record: &Record) -> bool {
    let how = record.end.as_ref().map(|end| end.how);
    matches!(how, Some(Ending::Crash | Ending::Timeout | Ending::Idle | Ending::BadVerdict))
}

pub(super) fn why_of(record: &Record) -> String {
    let Some(end) = &record.end else { return String::new() };
    let usual = match end.how {
        Ending::Timeout => "it took too long, and was stopped",
        Ending::Idle => "it printed nothing for too long, and was stopped",
        Ending::Lost => "its runner was killed",
        _ => "it came to nothing",
    };
    end.reason.clone().unwrap_or_else(|| usual.to_owned())
}
