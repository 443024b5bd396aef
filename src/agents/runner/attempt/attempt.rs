//! One attempt: the agent is told, started, heard and judged. What follows from that is not decided here.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use tracing::info;

use super::answer::Before;
use super::launch::{Command, command};
use super::mcp_wiring::mcp_config;
use super::plan::{Places, Trial, with_asked};
use super::printed::{Exit, Printed};
use super::record::{ending, told};
use super::supervise::{Attending, Reason};
use crate::agents::runner::news::News;
use crate::agents::runner::report::report;
use crate::agents::runner::report::trouble::TroubleKind;
use crate::agents::runner::secrets::{masked, masked_text, secrets};
use crate::agents::runner::verdict::read::{Said, Verdict};
use crate::agents::runner::verdict::sources::verdict;
use crate::domain::AgentId;
use crate::project::error::error::OpsError;
use crate::storage::StoreError;
use crate::storage::runs::{RunAttempt, RunFile};
use crate::storage::runs::{RunEnd, RunEnding, RunRecord, Told, TranscriptMark};
use crate::system::process::{
    How, Limits, Obstacle, Orphans, Program, Room, Secrets, StartError, Transcript,
};

/// How long a program has to end by itself when it is asked to.
const GRACE: Duration = Duration::from_secs(10);
/// More than an answer may have.
pub(crate) const OUTPUT_LIMIT: u64 = 1024 * 1024;

/// What an attempt came to.
pub(crate) enum Came {
    /// A verdict.
    Said(Box<Said>),
    /// Nothing, and another attempt may do better.
    Nothing(Before),
    /// The agent cannot work before a person does something.
    Unavailable(String),
    /// Somebody wanted the runner to stop.
    Stopped,
    /// The task is not the agent's any more.
    Overtaken(String),
}

/// An attempt that is over.
pub(crate) struct Attempted {
    pub came: Came,
    pub record: RunRecord,
    pub took: Duration,
}

impl Trial<'_> {
    /// Makes the attempt in its folder.
    #[expect(clippy::too_many_lines, reason = "to be split by its steps")]
    pub(crate) fn make(
        &self,
        attempt: &RunAttempt,
        stop: &AtomicBool,
        news: &dyn Fn(News),
    ) -> Result<Attempted, OpsError> {
        let (Command { words, stdin, environment }, prompt, mut record) = self.prepare(attempt)?;
        let begun = Instant::now();
        let secrets = match secrets(self.launch, self.agent) {
            Ok(secrets) => secrets,
            Err(why) => {
                return Ok(self.over(
                    attempt,
                    record,
                    Came::Unavailable(why),
                    begun,
                    Told::default(),
                    None,
                    None,
                    news,
                ));
            }
        };
        let transcript =
            Transcript::new(attempt.create(RunFile::Transcript)?, &secrets, Room::default());
        let mut program =
            Program::of(words, &self.project.checkout).expect("a checked command has a program");
        program.environment =
            environment.into_iter().map(|(name, value)| (name, value.into())).collect();
        program.input = stdin.into_bytes();
        let running = match program.start() {
            Ok(running) => running,
            Err(error) => {
                let came = Came::Unavailable(unstartable(self.agent, &error));
                return Ok(self.over(
                    attempt,
                    record,
                    came,
                    begun,
                    Told::default(),
                    None,
                    None,
                    news,
                ));
            }
        };
        record.group = running.group();
        info!(ticket = %self.ticket, agent = %self.agent, "started an agent");
        attempt.note(&record)?;
        let path = self.project.root.join(self.open.path.as_str());
        let mut attending = Attending::new(
            self.project,
            self.ticket,
            self.agent,
            self.since,
            self.lease,
            transcript,
            stop,
            news,
            path,
        );
        let limits = Limits {
            time: Duration::from_secs(self.bounds.timeout.seconds()),
            idle: Some(Duration::from_secs(self.bounds.idle.seconds())),
            grace: GRACE,
            orphans: Orphans::Killed,
        };
        let ended = running.wait(&limits, &mut attending);
        let printed = attending.transcript.finish();
        let mark = match printed.file {
            Ok(written) => Some(TranscriptMark {
                sha256: written.sha256,
                bytes: written.bytes,
                left_out: written.left_out,
            }),
            Err(cause) => {
                let text = format!("the transcript could not be written: {cause}");
                news(News::Remark { ticket: self.ticket.clone(), text });
                None
            }
        };
        let exit =
            |exit| Printed { stdout: &printed.stdout.bytes, stderr: &printed.stderr.bytes, exit };
        let (came, status, told) = match ended.map(|ended| ended.how) {
            Err(lost) => (Came::Nothing(Before::Crashed(lost.to_string())), None, Told::default()),
            Ok(How::Stopped(Reason::Stopped)) => (Came::Stopped, None, Told::default()),
            Ok(How::Stopped(Reason::Overtaken(why))) => {
                (Came::Overtaken(why), None, Told::default())
            }
            Ok(How::TimedOut) => {
                (Came::Nothing(Before::TimedOut(limits.time)), None, Told::default())
            }
            Ok(How::Idle) => (
                Came::Nothing(Before::Idle(limits.idle.unwrap_or(limits.time))),
                None,
                Told::default(),
            ),
            Ok(How::Exited(status)) => {
                let code = u8::try_from(status).unwrap_or(u8::MAX);
                let (came, told) =
                    self.judge(attempt, &prompt, &exit(Exit::Status(code)), &secrets, news);
                (came, Some(status), told)
            }
            Ok(How::Signalled(signal)) => {
                let (came, told) =
                    self.judge(attempt, &prompt, &exit(Exit::Signal(signal)), &secrets, news);
                (came, None, told)
            }
        };
        let seconds = begun.elapsed().as_secs_f64();
        info!(ticket = %self.ticket, agent = %self.agent, status, seconds, "the agent has ended");
        Ok(self.over(attempt, record, came, begun, told, status, mark, news))
    }

    /// Returns the program, its prompt and its record, with everything that it finds in its folder.
    fn prepare(&self, attempt: &RunAttempt) -> Result<(Command, String, RunRecord), OpsError> {
        let facts = self.facts(Places {
            prompt: attempt.path_of(RunFile::Prompt),
            output: attempt.path_of(RunFile::Output),
            mcp: attempt.path_of(RunFile::Mcp),
        });
        attempt.write(RunFile::Prompt, facts.prompt.as_bytes())?;
        attempt.write(RunFile::Mcp, mcp_config(&facts).as_bytes())?;
        let command = command(self.launch, &facts);
        let record = RunRecord {
            run: facts.run,
            ticket: self.ticket.clone(),
            agent: self.agent.clone(),
            attempt: attempt.number(),
            started: (self.project.clock)(),
            command: command
                .words
                .iter()
                .map(
                    |word| if *word == facts.prompt { "{prompt}".to_owned() } else { word.clone() },
                )
                .collect(),
            group: None,
            end: None,
        };
        attempt.note(&record)?;
        Ok((command, facts.prompt, record))
    }

    fn judge(
        &self,
        attempt: &RunAttempt,
        prompt: &str,
        printed: &Printed<'_>,
        secrets: &Secrets,
        news: &dyn Fn(News),
    ) -> (Came, Told) {
        let report = report::read(self.launch.reads(), printed);
        for text in &report.remarks {
            news(News::Remark { ticket: self.ticket.clone(), text: text.clone() });
        }
        let output = match attempt.read(RunFile::Output, OUTPUT_LIMIT) {
            Ok(output) => output.map(|output| secrets.masked(&output)),
            // Whatever the agent made of it, it is no answer.
            Err(fault @ (StoreError::TooLarge { .. } | StoreError::WrongKind { .. })) => {
                return (Came::Nothing(Before::Bad(fault.to_string())), told(&report));
            }
            Err(fault) => {
                let text = format!("the file of the answer could not be read: {fault}");
                news(News::Remark { ticket: self.ticket.clone(), text });
                None
            }
        };
        let verdict = with_asked(
            self.open,
            self.post,
            self.agent,
            self.ticket,
            self.launch,
            prompt,
            |asked| verdict(asked, &report, printed, output.as_deref()),
        );
        let came = match verdict {
            Verdict::Said(said) => Came::Said(Box::new(masked(secrets, *said))),
            Verdict::Bad { why } => Came::Nothing(Before::Bad(masked_text(secrets, &why))),
            Verdict::Crashed(trouble) if trouble.kind == TroubleKind::Unavailable => {
                Came::Unavailable(masked_text(secrets, &trouble.why))
            }
            Verdict::Crashed(trouble) => {
                Came::Nothing(Before::Crashed(masked_text(secrets, &trouble.why)))
            }
        };
        (came, told(&report))
    }

    #[expect(clippy::too_many_arguments, reason = "what a record ends with")]
    fn over(
        &self,
        attempt: &RunAttempt,
        mut record: RunRecord,
        came: Came,
        begun: Instant,
        told: Told,
        status: Option<i32>,
        transcript: Option<TranscriptMark>,
        news: &dyn Fn(News),
    ) -> Attempted {
        let (how, reason) = match &came {
            Came::Said(_) => (RunEnding::Verdict, None),
            Came::Nothing(before) => ending(before),
            Came::Unavailable(why) => (RunEnding::Unavailable, Some(why.clone())),
            Came::Stopped => (RunEnding::Stopped, None),
            Came::Overtaken(why) => (RunEnding::Overtaken, Some(why.clone())),
        };
        record.end = Some(RunEnd {
            at: (self.project.clock)(),
            how,
            status,
            reason,
            transcript,
            told,
            verdict: None,
        });
        // Whatever became of the files meanwhile: what the agent said counts.
        if let Err(fault) = attempt.note(&record) {
            let text = format!("the record of the attempt could not be kept: {fault}");
            news(News::Remark { ticket: self.ticket.clone(), text });
        }
        Attempted { came, record, took: begun.elapsed() }
    }
}

fn unstartable(agent: &AgentId, error: &StartError) -> String {
    let fix = match error.obstacle {
        Obstacle::NotFound => "it is not installed, or not in one of the folders of `PATH`",
        Obstacle::NotExecutable => "the file is no program, or may not be run",
        Obstacle::NoDirectory => "the folder of the project is gone",
        Obstacle::TooLong => "the prompt is too long for an argument: use `{promptFile}`, or stdin",
        Obstacle::System => "see `aof runner doctor`",
    };
    format!("`{agent}`: {error}; {fix}")
}
