//! One attempt: the agent is told, started, watched and judged. What follows from that is not decided here.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tracing::info;

use super::launch::{Facts, command, has_mcp, mcp_config};
use super::news::News;
use super::output::{Exit, RunOutput};
use super::prompt::{Before, Count, Earlier, prompt};
use super::report::agent_report::Report;
use super::report::read::read;
use super::report::trouble::TroubleKind;
use super::request::RunnerSetup;
use super::secrets::{masked, masked_text, secrets};
use super::verdict::judge::verdict;
use super::verdict::question::{Question, Said, Verdict};
use super::visit_state::{OpenVisit, VisitState, visit_state};
use crate::domain::{AgentId, CompletionId, Launch, RunBounds, Ticket};
use crate::project::error::error::OpsError;
use crate::rules::Workplace;
use crate::storage::StoreError;
use crate::storage::runs::{
    AgentReport, RunAttempt, RunEnd, RunEnding, RunFile, RunRecord, TranscriptMark,
};
use crate::system::process::{
    Attendant, How, Limits, Obstacle, Orphans, Program, Room, Secrets, StartError, Stream,
    Transcript,
};
use crate::tasks::actions::renew;
use crate::tasks::apply::change::DryRun;

/// How long a program has to end by itself when it is asked to.
const GRACE: Duration = Duration::from_secs(10);
/// More than an answer may have.
pub(crate) const OUTPUT_LIMIT: u64 = 1024 * 1024;
/// How often the task is looked at while an agent runs.
const LOOK: Duration = Duration::from_secs(1);
/// How often what is printed is told.
const TELL: Duration = Duration::from_millis(100);

/// What an attempt goes by.
pub(crate) struct Trial<'a> {
    pub project: &'a RunnerSetup,
    pub ticket: &'a Ticket,
    pub agent: &'a AgentId,
    pub open: &'a OpenVisit,
    pub post: &'a Workplace<'a>,
    pub launch: &'a Launch,
    pub bounds: &'a RunBounds,
    pub count: Count,
    pub earlier: Option<&'a Earlier>,
    /// How long the history was when the visit began to be run.
    pub since: usize,
    /// How long a claim lasts.
    pub lease: Option<Duration>,
    pub run: CompletionId,
}

/// What an attempt came to.
pub(crate) enum Came {
    Said(Box<Said>),
    /// Another attempt may do better.
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

/// What was heard of a program, as the end of the record keeps it.
struct Heard {
    came: Came,
    status: Option<i32>,
    told: AgentReport,
    transcript: Option<TranscriptMark>,
}

impl Heard {
    fn of(came: Came) -> Self {
        Self { came, status: None, told: AgentReport::default(), transcript: None }
    }
}

/// Returns what a run is asked; `prompt` is what it was told, as far as it has been told.
pub(crate) fn question<'a>(
    open: &'a OpenVisit,
    post: &'a Workplace<'_>,
    agent: &'a AgentId,
    ticket: &'a Ticket,
    launch: &Launch,
    prompt: &str,
) -> Question<'a> {
    let rules = &open.in_force.rules;
    let possible = post.outcomes(rules);
    let workflow = rules.workflow_of(&open.file.task);
    let sends_back =
        |outcome: &&_| workflow.is_some_and(|workflow| post.sends_back(workflow, outcome));
    let program = match launch.command.as_slice() {
        [] => launch.preset.to_string(),
        [program, first, ..] if !first.starts_with('-') && !first.contains('{') => {
            format!("{program} {first}")
        }
        [program, ..] => program.clone(),
    };
    Question {
        ticket,
        agent,
        back: possible.iter().filter(sends_back).cloned().collect(),
        possible,
        unsaid: workflow.filter(|_| !post.judges()).map(|workflow| &workflow.default_outcome),
        signal: post.duty.signal.as_ref(),
        outputs: &post.duty.outputs,
        exit: &post.duty.run.exit,
        program,
        prompt: prompt.to_owned(),
    }
}

impl Trial<'_> {
    fn question(&self, prompt: &str) -> Question<'_> {
        question(self.open, self.post, self.agent, self.ticket, self.launch, prompt)
    }

    /// Returns what the attempt is about, with its files at those places.
    pub(crate) fn facts(&self, path_of: impl Fn(RunFile) -> PathBuf) -> Facts {
        let output_file = path_of(RunFile::Output);
        let prompt = prompt(
            &self.open.file,
            &self.open.context,
            &self.question(""),
            has_mcp(self.launch),
            &output_file,
            self.count,
            self.earlier,
        );
        Facts {
            ticket: self.ticket.clone(),
            station: self.open.opening.station.clone(),
            workflow: self.open.file.task.routing.workflow.clone(),
            agent: self.agent.clone(),
            project: self.project.root.clone(),
            aof: self.project.aof.clone(),
            attempt: self.count.attempt,
            run: self.run.to_string(),
            model: self.bounds.model.clone(),
            prompt,
            prompt_file: path_of(RunFile::Prompt),
            output_file,
            mcp_config: path_of(RunFile::Mcp),
        }
    }

    /// Makes the attempt in its folder.
    pub(crate) fn make(
        &self,
        folder: &RunAttempt,
        stop: &AtomicBool,
        news: &dyn Fn(News),
    ) -> Result<Attempted, OpsError> {
        let facts = self.facts(|file| folder.path_of(file));
        folder.write(RunFile::Prompt, facts.prompt.as_bytes())?;
        folder.write(RunFile::Mcp, mcp_config(&facts).as_bytes())?;
        let mut record = RunRecord {
            run: facts.run.clone(),
            ticket: self.ticket.clone(),
            agent: self.agent.clone(),
            attempt: folder.number(),
            started: (self.project.clock)(),
            command: command(self.launch, &facts).shown_words(&facts.prompt),
            group: None,
            end: None,
        };
        folder.note(&record)?;
        let begun = Instant::now();
        let heard = match secrets(self.launch, self.agent) {
            Ok(secrets) => self.run(folder, &facts, &mut record, &secrets, stop, news)?,
            Err(why) => Heard::of(Came::Unavailable(why)),
        };
        let took = begun.elapsed();
        let Heard { came, status, told, transcript } = heard;
        info!(ticket = %self.ticket, agent = %self.agent, status, seconds = took.as_secs_f64(), "the attempt has ended");
        let (how, reason) = match &came {
            Came::Said(_) => (RunEnding::Verdict, None),
            Came::Nothing(before) => before.ending(),
            Came::Unavailable(why) => (RunEnding::Unavailable, Some(why.clone())),
            Came::Stopped => (RunEnding::Stopped, None),
            Came::Overtaken(why) => (RunEnding::Overtaken, Some(why.clone())),
        };
        let at = (self.project.clock)();
        record.end = Some(RunEnd { at, how, status, reason, transcript, told, verdict: None });
        note(folder, &record, self.ticket, news);
        Ok(Attempted { came, record, took })
    }

    /// Runs the program until it ends or is ended, and judges what it said.
    fn run(
        &self,
        folder: &RunAttempt,
        facts: &Facts,
        record: &mut RunRecord,
        secrets: &Secrets,
        stop: &AtomicBool,
        news: &dyn Fn(News),
    ) -> Result<Heard, OpsError> {
        let command = command(self.launch, facts);
        let transcript =
            Transcript::new(folder.create(RunFile::Transcript)?, secrets, Room::default());
        let mut program = Program::of(command.words, &self.project.checkout)
            .expect("a checked command has a program");
        program.environment =
            command.environment.into_iter().map(|(name, value)| (name, value.into())).collect();
        program.input = command.stdin.into_bytes();
        let running = match program.start() {
            Ok(running) => running,
            Err(error) => {
                return Ok(Heard::of(Came::Unavailable(not_started(self.agent, &error))));
            }
        };
        record.group = running.group();
        info!(ticket = %self.ticket, agent = %self.agent, "started an agent");
        folder.note(record)?;
        let limits = Limits {
            time: Duration::from_secs(self.bounds.timeout.seconds()),
            idle: Some(Duration::from_secs(self.bounds.idle.seconds())),
            grace: GRACE,
            orphans: Orphans::Killed,
        };
        let mut watch = Watch::new(self, transcript, stop, news);
        let ended = running.wait(&limits, &mut watch);
        let printed = watch.transcript.finish();
        let transcript = match printed.file {
            Ok(written) => Some(TranscriptMark {
                sha256: written.sha256,
                bytes: written.bytes,
                left_out: written.left_out,
            }),
            Err(cause) => {
                let text = format!("the transcript could not be written: {cause}");
                news(News::remark(self.ticket, text));
                None
            }
        };
        let (exit, status) = match ended.map(|ended| ended.how) {
            Ok(How::Exited(status)) => {
                (Exit::Status(u8::try_from(status).unwrap_or(u8::MAX)), Some(status))
            }
            Ok(How::Signalled(signal)) => (Exit::Signal(signal), None),
            other => {
                let came = match other {
                    Ok(How::Stopped(came)) => came,
                    Ok(How::TimedOut) => Came::Nothing(Before::TimedOut(limits.time)),
                    Err(lost) => Came::Nothing(Before::Crashed(lost.to_string())),
                    Ok(_) => Came::Nothing(Before::Idle(limits.idle.unwrap_or(limits.time))),
                };
                return Ok(Heard { transcript, ..Heard::of(came) });
            }
        };
        let output =
            RunOutput { stdout: &printed.stdout.bytes, stderr: &printed.stderr.bytes, exit };
        let report = read(self.launch.reads(), &output);
        for text in &report.remarks {
            news(News::remark(self.ticket, text));
        }
        let came = self.judge(folder, &facts.prompt, &report, &output, secrets, news);
        let told = AgentReport {
            session: report.session,
            model: report.model,
            cost_usd: report.cost_usd,
            tokens: report.tokens,
        };
        Ok(Heard { came, status, told, transcript })
    }

    fn judge(
        &self,
        folder: &RunAttempt,
        prompt: &str,
        report: &Report,
        output: &RunOutput<'_>,
        secrets: &Secrets,
        news: &dyn Fn(News),
    ) -> Came {
        let file = match folder.read(RunFile::Output, OUTPUT_LIMIT) {
            Ok(file) => file.map(|bytes| secrets.masked(&bytes)),
            // Whatever the agent made of it, it is no answer.
            Err(fault @ (StoreError::TooLarge { .. } | StoreError::WrongKind { .. })) => {
                return Came::Nothing(Before::Bad(fault.to_string()));
            }
            Err(fault) => {
                let text = format!("the file of the answer could not be read: {fault}");
                news(News::remark(self.ticket, text));
                None
            }
        };
        match verdict(&self.question(prompt), report, output, file.as_deref()) {
            Verdict::Said(said) => Came::Said(Box::new(masked(secrets, *said))),
            Verdict::Bad { why } => Came::Nothing(Before::Bad(masked_text(secrets, &why))),
            Verdict::Crashed(trouble) => {
                let why = masked_text(secrets, &trouble.why);
                match trouble.kind {
                    TroubleKind::Unavailable => Came::Unavailable(why),
                    _ => Came::Nothing(Before::Crashed(why)),
                }
            }
        }
    }
}

/// Keeps the record of an attempt. What cannot be kept is told: no verdict depends on it.
pub(crate) fn note(folder: &RunAttempt, record: &RunRecord, ticket: &Ticket, news: &dyn Fn(News)) {
    if let Err(fault) = folder.note(record) {
        let text = format!("the record of the attempt could not be kept: {fault}");
        news(News::remark(ticket, text));
    }
}

fn not_started(agent: &AgentId, error: &StartError) -> String {
    let fix = match error.obstacle {
        Obstacle::NotFound => "it is not installed, or not in one of the folders of `PATH`",
        Obstacle::NotExecutable => "the file is no program, or may not be run",
        Obstacle::NoDirectory => "the folder of the project is gone",
        Obstacle::TooLong => "the prompt is too long for an argument: use `{promptFile}`, or stdin",
        Obstacle::System => "see `aof runner doctor`",
    };
    format!("`{agent}`: {error}; {fix}")
}

/// Watches an agent that runs: writes down what it prints, sees whether the task is still its own, renews its claim.
struct Watch<'a, W> {
    trial: &'a Trial<'a>,
    transcript: Transcript<W>,
    stop: &'a AtomicBool,
    news: &'a dyn Fn(News),
    /// The task's file, and how it looked last.
    path: PathBuf,
    seen: Option<(i64, i64, u64)>,
    looked: Instant,
    renewed: Instant,
    told: Instant,
}

impl<'a, W> Watch<'a, W> {
    fn new(
        trial: &'a Trial<'a>,
        transcript: Transcript<W>,
        stop: &'a AtomicBool,
        news: &'a dyn Fn(News),
    ) -> Self {
        let path = trial.project.root.join(trial.open.path.as_str());
        let (now, seen) = (Instant::now(), stamp(&path));
        Self { trial, transcript, stop, news, path, seen, looked: now, renewed: now, told: now }
    }

    /// Returns why the work is not the agent's any more, if it is not.
    fn overtaken(&self) -> Result<Option<String>, OpsError> {
        let Trial { project, ticket, agent, since, .. } = self.trial;
        Ok(match visit_state(&project.open()?, ticket, agent, *since)? {
            VisitState::Open(open) => match open.opening.holder {
                Some(holder) if holder != **agent => Some(format!("`{holder}` has it now")),
                _ => None,
            },
            // It has completed the visit, and may finish what it does besides.
            VisitState::Completed(_) => None,
            VisitState::Gone(why) => Some(why),
        })
    }

    fn keep_claim(&self) -> Result<(), OpsError> {
        let Trial { project, ticket, agent, since, .. } = self.trial;
        // The next look comes soon, and what the program prints does not wait.
        let workspace = RunnerSetup { wait: Duration::ZERO, ..(*project).clone() }.open()?;
        if let VisitState::Open(_) = visit_state(&workspace, ticket, agent, *since)? {
            renew(&workspace, ticket, agent, None, DryRun::No)?;
        }
        Ok(())
    }

    fn remark(&self, error: &OpsError) {
        (self.news)(News::remark(self.trial.ticket, error.to_string()));
    }
}

impl<W: Write> Attendant for Watch<'_, W> {
    type Reason = Came;

    fn printed(&mut self, stream: Stream, bytes: &[u8]) {
        self.transcript.take(stream, bytes);
        if self.told.elapsed() >= TELL {
            self.told = Instant::now();
            let line = self.transcript.last_line();
            (self.news)(News::Printed { ticket: self.trial.ticket.clone(), line });
        }
    }

    fn wants_end(&mut self) -> Option<Came> {
        if self.stop.load(Ordering::Relaxed) {
            return Some(Came::Stopped);
        }
        if self.looked.elapsed() < LOOK {
            return None;
        }
        self.looked = Instant::now();
        if self.trial.lease.is_some_and(|lease| self.renewed.elapsed() >= lease / 3) {
            match self.keep_claim() {
                Err(error) if error.passes() => {}
                kept => {
                    self.renewed = Instant::now();
                    let _ = kept.map_err(|error| self.remark(&error));
                }
            }
        }
        // A file that did not change says what it said.
        let now = stamp(&self.path);
        if now == self.seen && now.is_some() {
            return None;
        }
        self.seen = now;
        let overtaken = self.overtaken();
        overtaken.map_err(|error| self.remark(&error)).ok().flatten().map(Came::Overtaken)
    }
}

fn stamp(path: &Path) -> Option<(i64, i64, u64)> {
    let meta = fs::metadata(path).ok()?;
    Some((meta.mtime(), meta.mtime_nsec(), meta.ino()))
}
