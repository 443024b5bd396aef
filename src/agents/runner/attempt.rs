//! One attempt: starts the agent with its prompt, watches it, and reads its verdict.

mod enter;
mod watch;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tracing::info;

use watch::Watch;

use super::answer::{RunAnswer, RunQuestion};
use super::launch::{LaunchFacts, command, has_mcp, mcp_config, secrets};
use super::prompt::{AttemptCount, EarlierAttempt, prompt, spelled};
use super::report::{
    Exit, Report, RunOutput, TroubleKind, last_lines, plain, plain_text, shortened,
};
use super::report_formats::read;
use super::run_types::{RunControl, RunnerSetup};
use super::verdict::verdict;
use super::work_finder::{RunnableVisit, VisitEnd};
use crate::domain::{
    AgentId, CompletionId, Destination, Ending, Launch, Outcome, RunBounds, Ticket, Timestamp,
    Visit,
};
use crate::project::error::ProjectError;
use crate::project::task_worktrees::{SetupFailed, TaskWorktree, WorkspaceFacts};
use crate::project::trust::RulePrograms;
use crate::rules::Workplace;
use crate::storage::StoreError;
use crate::storage::runs::{
    RunAttempt, RunEnd, RunEnding, RunFile, RunRecord, SessionStart, TranscriptMark,
};
use crate::system::process::{
    How, Orphans, ProcessLimits, Room, Secrets, StartError, StartObstacle, Transcript,
};
use crate::tasks::view::brief::BriefExtent;

/// The time that a program has to end after it is asked to.
const GRACE: Duration = Duration::from_secs(10);
/// The limit of an answer file, above that of any valid answer.
pub(crate) const OUTPUT_LIMIT: u64 = 1024 * 1024;
/// The number of the last lines of stderr that say why a program waits.
const WAIT_LINES: usize = 3;
/// The number of characters of these lines that are kept.
const WAIT_LENGTH: usize = 300;

/// One attempt of an agent at an open visit.
pub(crate) struct Attempt<'a> {
    pub project: &'a RunnerSetup,
    pub agent: &'a AgentId,
    pub open: &'a RunnableVisit,
    pub workplace: Workplace<'a>,
    pub launch: &'a Launch,
    pub bounds: RunBounds,
    /// The number of the attempt at the visit, from 1.
    pub number: u32,
    pub earlier: Option<&'a EarlierAttempt>,
    /// The beginning of its session, if its program can continue one.
    pub session: Option<SessionStart>,
    /// The length of the history when the run of the visit began.
    pub since: usize,
    pub run: CompletionId,
}

/// An ended attempt. The record has its ending; an answer belongs to [`RunEnding::Verdict`].
pub(crate) struct EndedAttempt {
    pub record: RunRecord,
    /// The result of writing the record.
    pub kept: Result<(), StoreError>,
    pub answer: Option<RunAnswer>,
    pub took: Duration,
    /// The worktree in which the program worked, and the right to work there.
    pub place: Option<TaskWorktree>,
}

/// The ending of an attempt without an answer, and the reason.
type NoAnswer = (RunEnding, Option<String>);

impl<'a> Attempt<'a> {
    /// Returns the first attempt at an open visit. Fails with the end of the visit if the agent cannot be started.
    pub(crate) fn new(
        project: &'a RunnerSetup,
        agent: &'a AgentId,
        open: &'a RunnableVisit,
        run: CompletionId,
    ) -> Result<Self, VisitEnd> {
        let branch = open.opening.station.branch.as_ref();
        let workplace = Workplace::find(&open.in_force.rules, &open.file.task, branch);
        let workplace =
            workplace.ok_or_else(|| VisitEnd::Overtaken("its gate is gone".to_owned()))?;
        Self::at(project, agent, open, workplace, run)
    }

    /// Returns the first attempt at a workplace.
    pub(crate) fn at(
        project: &'a RunnerSetup,
        agent: &'a AgentId,
        open: &'a RunnableVisit,
        workplace: Workplace<'a>,
        run: CompletionId,
    ) -> Result<Self, VisitEnd> {
        let rules = &open.in_force.rules;
        let Some(launch) = rules.org.agent(agent).and_then(|known| known.run.as_ref()) else {
            return Err(VisitEnd::Unavailable(format!(
                "org.yaml does not say how `{agent}` is started; add `run: {{preset: claude}}` to `{agent}` under `agents`, or a `command`"
            )));
        };
        let mut bounds = RunBounds::of(&workplace.run_limits(rules, &open.file.task, agent));
        // `onFailure` decides about a failed run: attempts would multiply its retries.
        if workplace.gate.exits.on_failure.is_some() {
            bounds.attempts = workplace.duty.run.limits.attempts.unwrap_or(1);
        }
        let (number, earlier, session, since) = (1, None, None, 0);
        Ok(Self {
            project,
            agent,
            open,
            workplace,
            launch,
            bounds,
            number,
            earlier,
            session,
            since,
            run,
        })
    }

    fn ticket(&self) -> &Ticket {
        &self.open.opening.ticket
    }

    /// Returns the rest of the pause after the latest visits here, which failed one after the other and led back.
    pub(crate) fn pause_after_failed_visits(&self, now: Timestamp) -> Duration {
        let (task, station) = (&self.open.file.task, &self.open.opening.station);
        let led_back = |visit: &&Visit| {
            visit.outcome == Ending::Completed(Outcome::Failed)
                && visit.retry.is_some()
                && matches!(visit.to, Some(Destination::Gate(_)))
        };
        let visits = task.history.iter().rev().filter(|visit| visit.station() == *station);
        let failed: Vec<&Visit> = visits.take_while(led_back).collect();
        let Some(last) = failed.first() else { return Duration::ZERO };
        // The history keeps whole seconds: the visit may have ended up to one second later.
        let gone = now.as_millisecond() - last.exited.as_millisecond() - 1000;
        let gone = Duration::from_millis(u64::try_from(gone).unwrap_or(0));
        self.bounds.pause(u32::try_from(failed.len()).unwrap_or(u32::MAX)).saturating_sub(gone)
    }

    /// Returns the question to the agent, with that prompt.
    pub(crate) fn question(&self, prompt: &str) -> RunQuestion<'_> {
        let (open, workplace) = (self.open, &self.workplace);
        let possible = workplace.outcomes(&open.in_force.rules);
        let workflow = open.in_force.rules.workflow_of(&open.file.task);
        let sends_back =
            |outcome: &&_| workflow.is_some_and(|workflow| workplace.sends_back(workflow, outcome));
        let program = match self.launch.command.as_slice() {
            [] => self.launch.preset.to_string(),
            [program, first, ..] if !first.starts_with('-') && !first.contains('{') => {
                format!("{program} {first}")
            }
            [program, ..] => program.clone(),
        };
        RunQuestion {
            ticket: self.ticket(),
            agent: self.agent,
            back: possible.iter().filter(sends_back).cloned().collect(),
            possible,
            default: workflow
                .filter(|_| !workplace.judges())
                .map(|workflow| &workflow.default_outcome),
            signal: workplace.duty.signal.as_ref(),
            outputs: &workplace.duty.outputs,
            exit: &workplace.duty.run.exit,
            program,
            prompt: prompt.to_owned(),
        }
    }

    /// Returns the facts of the attempt, with its files at the paths that `path_of` gives.
    pub(crate) fn facts(
        &self,
        path_of: impl Fn(RunFile) -> PathBuf,
        workspace: Option<WorkspaceFacts>,
    ) -> LaunchFacts {
        let output_file = path_of(RunFile::Output);
        let count = AttemptCount { attempt: self.number, attempts: self.bounds.attempts };
        let asked = self.question("");
        let resume = match &self.session {
            Some(SessionStart::Resumed { id, .. }) => Some(id.clone()),
            _ => None,
        };
        let RunnableVisit { file, context, opening, .. } = self.open;
        LaunchFacts {
            ticket: opening.ticket.clone(),
            station: opening.station.clone(),
            workflow: file.task.routing.workflow.clone(),
            agent: self.agent.clone(),
            email: self.open.in_force.rules.org.email_of(self.agent),
            signing_key: None,
            project: self.project.root.clone(),
            aof: self.project.aof.clone(),
            attempt: self.number,
            run: self.run.to_string(),
            model: self.bounds.model.clone(),
            prompt: prompt(
                file,
                context,
                &asked,
                has_mcp(self.launch),
                &output_file,
                self.earlier.map(|earlier| (earlier, count)),
                (
                    if resume.is_some() { BriefExtent::News } else { BriefExtent::Whole },
                    workspace.as_ref(),
                ),
            ),
            resume,
            workspace,
            prompt_file: path_of(RunFile::Prompt),
            output_file,
            mcp_config: path_of(RunFile::Mcp),
        }
    }

    /// Makes the attempt in its folder.
    pub(crate) fn make(
        &self,
        folder: &RunAttempt,
        control: RunControl<'_>,
    ) -> Result<EndedAttempt, ProjectError> {
        let workspace = self.project.open()?;
        let begun = Instant::now();
        let mut record = RunRecord {
            run: self.run.to_string(),
            ticket: self.ticket().clone(),
            agent: self.agent.clone(),
            attempt: folder.number(),
            started: (self.project.clock)(),
            command: Vec::new(),
            session: self.session.clone(),
            group: None,
            end: None,
        };
        let place = match self.enter(&workspace, folder, control) {
            Ok(place) => place,
            Err(failed) => {
                let (how, why) = match failed {
                    SetupFailed::Error(error) => return Err(error),
                    SetupFailed::Stopped => (RunEnding::Stopped, None),
                    SetupFailed::Program(why) => {
                        let why = format!("the set-up of its workspace failed: {why}");
                        (RunEnding::Crash, Some(why))
                    }
                };
                record.end = Some(RunEnd::new((self.project.clock)(), how, why));
                let kept = folder.note(&record);
                let (answer, place, took) = (None, None, begun.elapsed());
                return Ok(EndedAttempt { record, kept, answer, took, place });
            }
        };
        let signing_key = workspace.repository.key_by_name();
        let at = place.as_ref().map(|place| place.facts.clone());
        let facts = LaunchFacts { signing_key, ..self.facts(|file| folder.path_of(file), at) };
        folder.write(RunFile::Prompt, facts.prompt.as_bytes())?;
        folder.write(RunFile::Mcp, mcp_config(&facts).as_bytes())?;
        record.command = command(self.launch, &facts).shown_words(&facts.prompt);
        folder.note(&record)?;
        let mut end = RunEnd::new(record.started, RunEnding::Verdict, None);
        let answer = match secrets(self.launch, self.agent) {
            Ok(secrets) => {
                let answer = self.run(folder, &facts, &mut record, &mut end, &secrets, control)?;
                if let Err(fault) = mask_output(folder, &secrets) {
                    let text = format!("secrets in its answer's file may not be masked: {fault}");
                    control.remark(self.ticket(), text);
                }
                answer
            }
            Err(why) => Err((RunEnding::Unavailable, Some(why))),
        };
        let took = begun.elapsed();
        info!(ticket = %self.ticket(), agent = %self.agent, status = end.status, seconds = took.as_secs_f64(), "the attempt has ended");
        end.at = (self.project.clock)();
        let answer = answer.map_err(|(how, reason)| (end.how, end.reason) = (how, reason)).ok();
        record.end = Some(end);
        record.settle_session();
        let kept = folder.note(&record);
        Ok(EndedAttempt { record, kept, answer, took, place })
    }

    /// Returns the time that a program may take, and print nothing.
    fn time_limits(&self) -> (Duration, Duration) {
        let (time, idle) = (self.bounds.timeout.seconds(), self.bounds.idle.seconds());
        (Duration::from_secs(time), Duration::from_secs(idle))
    }

    /// Runs the program until it ends or is stopped, and reads its answer.
    fn run(
        &self,
        folder: &RunAttempt,
        facts: &LaunchFacts,
        record: &mut RunRecord,
        end: &mut RunEnd,
        secrets: &Secrets,
        control: RunControl<'_>,
    ) -> Result<Result<RunAnswer, NoAnswer>, ProjectError> {
        let transcript =
            Transcript::new(folder.create(RunFile::Transcript)?, secrets, Room::default());
        let workspace = self.project.open()?;
        let programs = RulePrograms::read(&workspace, &self.open.in_force.rules);
        if let Err(error) = programs.check_agent(self.agent) {
            let why = format!("{}; {}", error.problem(), error.fix().unwrap_or_default());
            return Ok(Err((RunEnding::Unavailable, Some(why))));
        }
        let directory = facts.workspace.as_ref().map(|at| at.folder.as_path());
        let directory = directory.unwrap_or(&self.project.checkout);
        let program = command(self.launch, facts).program(directory);
        let program = program.expect("a checked command has a program");
        let running = match program.start() {
            Ok(running) => running,
            Err(error) => {
                let why = start_problem(self.agent, &error);
                return Ok(Err((RunEnding::Unavailable, Some(why))));
            }
        };
        record.group = running.group();
        info!(ticket = %self.ticket(), agent = %self.agent, "started an agent");
        folder.note(record)?;
        let (time, idle) = self.time_limits();
        let limits =
            ProcessLimits { time, idle: Some(idle), grace: GRACE, orphans: Orphans::Killed };
        let mut watch = Watch::new(self, transcript, control);
        let ended = running.wait(&limits, &mut watch);
        let printed = watch.transcript.finish();
        match &printed.file {
            Ok(written) => {
                end.transcript = Some(TranscriptMark {
                    sha256: written.sha256.clone(),
                    bytes: written.bytes,
                    left_out: written.left_out,
                });
            }
            Err(cause) => control
                .remark(self.ticket(), format!("the transcript could not be written: {cause}")),
        }
        let no_answer = |how, why| Ok(Err((how, Some(why))));
        let exit = match ended.map(|ended| ended.how) {
            Ok(How::Exited(status)) if self.means_wait(status) => {
                end.status = Some(status);
                let stderr = plain(&printed.stderr.bytes);
                let why = shortened(last_lines(&stderr, WAIT_LINES, 1024), WAIT_LENGTH);
                return Ok(Err((RunEnding::Waits, Some(why).filter(|why| !why.is_empty()))));
            }
            Ok(How::Exited(status)) => {
                end.status = Some(status);
                Exit::from_status(status)
            }
            Ok(How::Signalled(signal)) => Exit::Signal(signal),
            Ok(How::Stopped(no_answer)) => return Ok(Err(no_answer)),
            Ok(How::TimedOut) => {
                let why = format!("it was not done after {}", spelled(time));
                return no_answer(RunEnding::Timeout, why);
            }
            Ok(How::Idle) => {
                let why = format!("it printed nothing for {}", spelled(idle));
                return no_answer(RunEnding::Idle, why);
            }
            Err(lost) => return no_answer(RunEnding::Crash, lost.to_string()),
        };
        let output =
            RunOutput { stdout: &printed.stdout.bytes, stderr: &printed.stderr.bytes, exit };
        let report = read(self.launch.reads(), &output);
        for text in &report.remarks {
            control.remark(self.ticket(), text);
        }
        end.agent_report = report.agent.clone();
        let answer = self.read_answer(folder, &facts.prompt, &report, &output, secrets, control);
        // If the answer is elsewhere, only a remark is needed; otherwise the reason for the missing answer contains it.
        if let (Some(unread), Err((RunEnding::Crash | RunEnding::Unavailable, _))) =
            (&report.unread, &answer)
        {
            control.remark(self.ticket(), unread);
        }
        Ok(match &report.limit {
            Some(limit) if answer.is_err() => {
                end.until = limit.ends((self.project.clock)());
                let why = shortened(&plain_text(&secrets.masked_text(&limit.why)), 300);
                Err((RunEnding::Limited, Some(why)))
            }
            _ => answer,
        })
    }

    fn read_answer(
        &self,
        folder: &RunAttempt,
        prompt: &str,
        report: &Report,
        output: &RunOutput<'_>,
        secrets: &Secrets,
        control: RunControl<'_>,
    ) -> Result<RunAnswer, NoAnswer> {
        let file = match folder.read(RunFile::Output, OUTPUT_LIMIT) {
            Ok(file) => file.map(|bytes| secrets.masked(&bytes)),
            // A link, a folder or a file that is too large is not an answer.
            Err(fault @ (StoreError::TooLarge { .. } | StoreError::WrongKind { .. })) => {
                return Err((RunEnding::BadVerdict, Some(fault.to_string())));
            }
            Err(fault) => {
                let text = format!("the file of the answer could not be read: {fault}");
                control.remark(self.ticket(), text);
                None
            }
        };
        let answer = verdict(&self.question(prompt), report, output, file.as_deref());
        answer.map(|answer| answer.masked(secrets)).map_err(|trouble| {
            let how = match trouble.kind {
                TroubleKind::Unavailable => RunEnding::Unavailable,
                TroubleKind::Failed => RunEnding::Crash,
                TroubleKind::BadAnswer => RunEnding::BadVerdict,
            };
            (how, Some(secrets.masked_text(&trouble.why)))
        })
    }

    /// Returns whether the gate has this exit status mean that the program is started again later.
    fn means_wait(&self, status: i32) -> bool {
        let wait = &self.workplace.duty.run.wait;
        wait.iter().any(|known| i32::from(*known) == status)
    }

    /// Returns the lease of the claim; `None` for a look, which has none.
    fn lease(&self) -> Option<Duration> {
        if self.open.opening.looks_every.is_some() {
            return None;
        }
        let workflow = self.open.in_force.rules.workflow_of(&self.open.file.task);
        let lease = self.workplace.duty.lease.or_else(|| workflow?.lease);
        lease.map(|lease| Duration::from_secs(lease.seconds()))
    }
}

/// Masks the secrets in the file of the answer, which is kept.
fn mask_output(folder: &RunAttempt, secrets: &Secrets) -> Result<(), StoreError> {
    let Some(bytes) = folder.read(RunFile::Output, OUTPUT_LIMIT)? else { return Ok(()) };
    let masked = secrets.masked(&bytes);
    if masked == bytes { Ok(()) } else { folder.overwrite(RunFile::Output, &masked) }
}

fn start_problem(agent: &AgentId, error: &StartError) -> String {
    let fix = match error.obstacle {
        StartObstacle::NotFound => "it is not installed, or not in one of the folders of `PATH`",
        StartObstacle::NotExecutable => "the file is no program, or may not be run",
        StartObstacle::NoDirectory => "the folder of the project is gone",
        StartObstacle::TooLong => {
            "the prompt is too long for an argument: use `{promptFile}`, or stdin"
        }
        StartObstacle::System => "see `aof runner doctor`",
    };
    format!("`{agent}`: {error}; {fix}")
}
