//! The loop of a runner: starts agents on available work, until nothing is left.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, Scope};
use std::time::{Duration, Instant, SystemTime};

use super::run_types::{
    Audience, Pace, PersonQuestion, Refused, RunControl, RunEvent, RunOutcome, RunSummary,
    RunTarget, RunnerSetup, WaitReason, WaitingWork,
};
use super::visit;
use super::work_finder::{Assignment, VisitEnd};
use super::work_finder::{AvailableWork, WorkFinder};
use crate::dispatch::workplaces::openings;
use crate::domain::{Completion, Ticket};
use crate::git::{CommitId, PromptPlace};
use crate::project::error::ProjectError;
use crate::rules::RefusalKind;
use crate::storage::header_cache::{Hint, NextLooks, Pauses, ProgramPause};
use crate::storage::runs::Runs;
use crate::tasks::complete::{Signing, complete_signed};
use crate::tasks::headers::summary::clock;
use crate::tasks::plan::DryRun;
use crate::tasks::view::brief::task_brief;
use crate::tasks::view::task_view::{ended_visits, show};

/// The longest pause before another try after a temporary error: a remote, a lock, a merge.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The time between two searches for work while programs pause.
const PAUSED_SEARCH: Duration = Duration::from_mins(1);

/// The time between two searches while the branch does not move: times may bring work.
const SEARCH: Duration = Duration::from_secs(10);

/// The time after which a runner that follows tries again what could not be done.
const FORGET: Duration = Duration::from_mins(10);

/// The most ends of visits that a runner that follows keeps.
const MOST_ENDS: usize = 100;

/// Works until no work is left, or `stop` is set.
pub fn work(
    project: &RunnerSetup,
    goal: &RunTarget,
    jobs: usize,
    pace: Pace,
    stop: &AtomicBool,
    audience: &mut dyn Audience,
) -> Result<RunSummary, ProjectError> {
    let (sender, messages) = mpsc::channel();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let finder = WorkFinder::new(project, goal)?;
        let runs = Runs::at(&finder.workspace.paths);
        for outlived in runs.end_outlived((project.clock)())? {
            let text = format!("{}; it was ended", outlived.sentence());
            audience.hear(&RunEvent::remark(&outlived.record.ticket, text));
        }
        // Old runs are removed in the background. A failure stops nothing.
        let over = &over;
        scope.spawn(move || runs.prune(SystemTime::from((project.clock)()), over));
        let (visits, begun, given_up, reported) = (0, 0, Vec::new(), BTreeSet::new());
        let (left, pause) = (Vec::new(), None);
        let jobs = jobs.max(1);
        let mut run = RunLoop {
            finder,
            jobs,
            pace,
            stop,
            messages,
            visits,
            begun,
            given_up,
            left,
            reported,
            pause,
            forgot: Instant::now(),
        };
        let end = run.run(scope, &sender, audience);
        // After an error, the agents at work are stopped, too.
        stop.fetch_or(end.is_err(), Ordering::Relaxed);
        let mut outcome = Ok(());
        while !run.finder.running.is_empty() {
            outcome = outcome.and(run.hear(audience));
        }
        over.store(true, Ordering::Relaxed);
        let end = end.and_then(|end| outcome.map(|()| end))?;
        let unavailable = run.finder.unavailable;
        Ok(RunSummary {
            visits: run.visits,
            unavailable,
            given_up: run.given_up,
            left: run.left,
            end,
        })
    })
}

/// A message of a worker.
enum WorkerMessage {
    RunEvent(RunEvent),
    Ended(Assignment, Result<VisitEnd, ProjectError>),
}

struct RunLoop<'a> {
    finder: WorkFinder<'a>,
    jobs: usize,
    pace: Pace,
    stop: &'a AtomicBool,
    messages: Receiver<WorkerMessage>,
    visits: usize,
    begun: usize,
    given_up: Vec<(Ticket, String)>,
    left: Vec<(Ticket, String)>,
    /// The reported obstacles: each is reported once.
    reported: BTreeSet<String>,
    /// The last pause that a visit met.
    pause: Option<ProgramPause>,
    /// The time when a runner that follows last forgot what could not be done.
    forgot: Instant,
}

impl<'a> RunLoop<'a> {
    /// Starts agents until no work is left, or the runner must stop.
    fn run<'s>(
        &mut self,
        scope: &'s Scope<'s, 'a>,
        sender: &Sender<WorkerMessage>,
        audience: &mut dyn Audience,
    ) -> Result<RunOutcome, ProjectError> {
        let is_stopped = || self.stop.load(Ordering::Relaxed);
        // The time of the last search, and the commit that it saw.
        let mut looked: Option<(Instant, Option<CommitId>)> = None;
        // The time of the last temporary error, and the pause before the next try.
        let mut obstacle: Option<(Instant, Duration)> = None;
        // The time of the first error that only a person can end, and that error.
        let mut hindered: Option<(Instant, ProjectError)> = None;
        loop {
            let mut found = AvailableWork::Nothing(Vec::new());
            let is_passed = obstacle.is_none_or(|(met, pause)| met.elapsed() >= pause);
            // In a synced project a search asks the remote, so without a reason it is rare.
            let is_due = self.finder.running.is_empty()
                || looked.is_none_or(|(at, saw)| at.elapsed() >= SEARCH || self.head() != saw);
            while is_passed && is_due && !is_stopped() && self.may_begin() {
                looked = Some((Instant::now(), self.head()));
                match self.finder.find(DryRun::No) {
                    Ok(AvailableWork::Work(assignment)) => {
                        (obstacle, hindered) = (None, None);
                        self.begin(scope, sender.clone(), assignment);
                    }
                    Ok(other) => {
                        (found, obstacle, hindered) = (other, None, None);
                        break;
                    }
                    // After a temporary error, running agents continue.
                    Err(error) if error.passes() => {
                        if self.reported.insert(error.problem()) {
                            audience.hear(&RunEvent::Obstacle(error.problem()));
                        }
                        let pause = obstacle.map_or(TICK, |(_, pause)| pause * 2);
                        obstacle = Some((Instant::now(), pause.min(LONGEST_PAUSE)));
                        let since = hindered.map_or_else(Instant::now, |(since, _)| since);
                        hindered = Some((since, error));
                        break;
                    }
                    Err(error) => return Err(error),
                }
            }
            if !self.finder.running.is_empty() {
                let running = self.finder.running.len();
                self.hear(audience)?;
                if self.finder.running.len() < running {
                    looked = None;
                }
                continue;
            }
            if is_stopped() {
                return Ok(RunOutcome::Stopped);
            }
            if self.pace == Pace::OneVisit && self.begun > 0 {
                return Ok(self.pause.take().map_or(RunOutcome::Stepped, RunOutcome::Paused));
            }
            if let Some((since, error)) = &hindered
                && self.pace != Pace::Following
                && (needs_person(error) || since.elapsed() >= self.finder.project.wait)
            {
                return Ok(RunOutcome::Hindered(error.with_fix()));
            }
            if obstacle.is_some() {
                audience.tick();
                thread::sleep(TICK);
                continue;
            }
            let (waits, pause) = match found {
                AvailableWork::Work(_) => continue,
                // Another runner has all places of the programs.
                AvailableWork::Full => {
                    audience.tick();
                    thread::sleep(RETRY_INTERVAL);
                    continue;
                }
                AvailableWork::Finished(status) => return Ok(RunOutcome::Finished(status)),
                AvailableWork::Nothing(waits) => (waits, None),
                AvailableWork::Paused(pause, waits) => (waits, Some(pause)),
            };
            match ask_people(self.finder.project, &waits, self.stop, audience)? {
                PeopleAnswer::Completed => {
                    (self.visits, self.begun) = (self.visits + 1, self.begun + 1);
                }
                PeopleAnswer::Overtaken => {}
                // The person who was asked has stopped the runner.
                PeopleAnswer::None if is_stopped() => {}
                // A person who does not answer now is not asked repeatedly.
                PeopleAnswer::None
                    if let Some(pause) = pause
                        && waits.iter().all(|wait| wait.why != WaitReason::People) =>
                {
                    self.report_pause(&pause, audience);
                    if self.pace == Pace::OneVisit {
                        return Ok(RunOutcome::Paused(pause));
                    }
                    self.sleep_until(&pause, audience);
                }
                PeopleAnswer::None if self.pace == Pace::Following => self.rest(audience),
                PeopleAnswer::None => {
                    for wait in &waits {
                        audience.hear(&RunEvent::WaitingWork(wait.clone()));
                    }
                    return Ok(match self.finder.goal {
                        RunTarget::Agents { .. } => RunOutcome::NothingLeft,
                        RunTarget::Task(_) => RunOutcome::Waiting(waits),
                    });
                }
            }
        }
    }

    /// Reports each pause once.
    fn report_pause(&mut self, pause: &ProgramPause, audience: &mut dyn Audience) {
        if self.reported.insert(format!("{} {}", pause.program, pause.until)) {
            audience.hear(&RunEvent::Paused(pause.clone()));
        }
    }

    /// Waits for the end of a pause, or for the time to search again.
    fn sleep_until(&self, pause: &ProgramPause, audience: &mut dyn Audience) {
        let (begun, workspace) = (Instant::now(), &self.finder.workspace);
        // `aof run --now` of another process may end it.
        let lasts = || {
            pause.is_budget() || Pauses::lasting(&workspace.paths, workspace.now()).contains(pause)
        };
        let is_over = || workspace.now() >= pause.until;
        while begun.elapsed() < PAUSED_SEARCH
            && !is_over()
            && !self.stop.load(Ordering::Relaxed)
            && lasts()
        {
            audience.tick();
            thread::sleep(TICK);
        }
    }

    /// Waits until the branch moves, or until it is time to search for work that a time brings.
    fn rest(&mut self, audience: &mut dyn Audience) {
        let start = Instant::now();
        if self.forgot.elapsed() >= FORGET {
            self.forgot = Instant::now();
            self.finder.tried.clear();
            self.finder.unavailable.clear();
            self.reported.clear();
        }
        // A runner that goes on for months reports each end at once, and keeps the last ones.
        for ends in [&mut self.given_up, &mut self.left] {
            ends.drain(..ends.len().saturating_sub(MOST_ENDS));
        }
        let before = self.head();
        let clock = self.finder.project.clock;
        let looks = NextLooks::load(&self.finder.workspace.paths).unwrap_or_default();
        let look = looks.first(clock());
        let is_due = || self.head() != before || look.is_some_and(|at| clock() >= at);
        while start.elapsed() < SEARCH && !self.stop.load(Ordering::Relaxed) && !is_due() {
            audience.tick();
            thread::sleep(TICK);
        }
    }

    fn head(&self) -> Option<CommitId> {
        self.finder.workspace.repository.head_for_reading().ok()?.commit
    }

    fn may_begin(&self) -> bool {
        match self.pace {
            Pace::Through | Pace::Following => self.finder.running.len() < self.jobs,
            Pace::OneVisit => self.begun == 0,
        }
    }

    fn begin<'s>(
        &mut self,
        scope: &'s Scope<'s, 'a>,
        sender: Sender<WorkerMessage>,
        assignment: Assignment,
    ) {
        self.finder.running.insert(assignment.ticket.clone());
        self.begun += 1;
        let (project, stop) = (self.finder.project, self.stop);
        scope.spawn(move || {
            // The loop waits for the end of every visit, so that all is received.
            let news = |news: RunEvent| drop(sender.send(WorkerMessage::RunEvent(news)));
            let (assignment, end) =
                visit::work(project, assignment, RunControl { stop, news: &news });
            drop(sender.send(WorkerMessage::Ended(assignment, end)));
        });
    }

    /// Handles one message of a worker, if one arrives soon. Fails if a visit ended with an error that concerns more than its task.
    fn hear(&mut self, audience: &mut dyn Audience) -> Result<(), ProjectError> {
        let (Assignment { ticket, agent, .. }, end) = match self.messages.recv_timeout(TICK) {
            Ok(WorkerMessage::RunEvent(news)) => {
                audience.hear(&news);
                return Ok(());
            }
            Ok(WorkerMessage::Ended(assignment, end)) => (assignment, end),
            Err(_) => {
                audience.tick();
                return Ok(());
            }
        };
        self.finder.running.remove(&ticket);
        let end = end?;
        let is_broken = matches!(end, VisitEnd::Broken(_));
        match end {
            VisitEnd::Completed => self.visits += 1,
            VisitEnd::GivenUp(why) => {
                self.visits += 1;
                self.given_up.push((ticket, why));
            }
            // The visit goes on with the other agent.
            VisitEnd::HandedOn(_) => {}
            VisitEnd::OverBudget(why) => {
                self.visits += 1;
                self.left.push((ticket, why));
            }
            VisitEnd::Overtaken(why) | VisitEnd::Broken(why) => {
                if is_broken {
                    self.left.push((ticket.clone(), why.clone()));
                }
                // For one task, the result contains the reason.
                if let RunTarget::Agents { .. } = self.finder.goal {
                    audience.hear(&RunEvent::remark(&ticket, why.clone()));
                }
                self.finder.tried.insert(ticket, why);
            }
            VisitEnd::Stopped => {
                self.finder.tried.insert(ticket, "it was stopped".to_owned());
            }
            // A line is worth the first look, and each one with another reason.
            VisitEnd::Waits(at, why) => {
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                if self.reported.insert(format!("{ticket} waits{why}")) {
                    let at = clock(at);
                    let text = format!("it is not time yet{why}; its program looks again at {at}");
                    audience.hear(&RunEvent::remark(&ticket, text));
                }
            }
            VisitEnd::Paused(pause) => {
                self.report_pause(&pause, audience);
                self.pause = Some(pause);
            }
            VisitEnd::Unavailable(why) => {
                audience.hear(&RunEvent::Unavailable { agent: agent.clone(), why: why.clone() });
                // Another agent may be able to work there.
                self.finder.unavailable.insert(agent, why);
            }
        }
        Ok(())
    }
}

/// The interval of the audience's ticks while nothing happens.
pub(crate) const TICK: Duration = Duration::from_millis(50);
/// The interval at which an action is retried.
pub(crate) const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The result of asking people.
enum PeopleAnswer {
    Completed,
    /// The task has moved on.
    Overtaken,
    /// There was no answer.
    None,
}

/// Returns true if only a person can end a temporary error.
fn needs_person(error: &ProjectError) -> bool {
    let passing = ["offline", "unsettled", "git_locked"];
    matches!(error, ProjectError::NotConfirmed { code, .. } if !passing.contains(code))
}

/// Asks the audience about the gates for people among the waiting openings.
fn ask_people(
    project: &RunnerSetup,
    waits: &[WaitingWork],
    stop: &AtomicBool,
    audience: &mut dyn Audience,
) -> Result<PeopleAnswer, ProjectError> {
    for wait in waits.iter().filter(|wait| wait.why == WaitReason::People) {
        let mut refused = None;
        loop {
            let workspace = project.open()?;
            let (view, in_force) = show(&workspace, &wait.ticket.task)?;
            let open = openings(&in_force.rules, &view.file.task);
            let Some(opening) = open.iter().find(|opening| opening.ticket == wait.ticket) else {
                // The task moved on while the person wrote the answer.
                if refused.is_some() {
                    return Ok(PeopleAnswer::Overtaken);
                }
                break;
            };
            let (file, context, _) = task_brief(&workspace, &wait.ticket)?;
            let (file, context, path) = (&file, &context, &view.path);
            let rules = &in_force.rules;
            let before = refused.as_ref();
            let asked = PersonQuestion { opening, file, path, context, rules, refused: before };
            let Some(completion) = audience.decide(&asked) else { break };
            match complete_by_person(project, wait, completion, stop, audience)? {
                Ok(answer) => return Ok(answer),
                Err(why) => refused = Some(why),
            }
        }
    }
    Ok(PeopleAnswer::None)
}

/// Completes the visit with a person's answer, and retries after temporary errors. The inner error is the refused answer.
fn complete_by_person(
    project: &RunnerSetup,
    wait: &WaitingWork,
    completion: Completion,
    stop: &AtomicBool,
    audience: &mut dyn Audience,
) -> Result<Result<PeopleAnswer, Refused>, ProjectError> {
    let remark = |text: String| RunEvent::remark(&wait.ticket, text);
    let (mut is_reported, met) = (false, Instant::now());
    loop {
        let mut workspace = project.open()?.with_person_seen(true);
        workspace.agents_commit = false;
        // A passphrase is asked for at the same terminal.
        let signing = Signing { key_file: None, asking: PromptPlace::Terminal };
        let mut done = None;
        audience.aside(&mut || {
            done = Some(complete_signed(&workspace, &completion, signing, DryRun::No));
        });
        let Some(done) = done else { return Ok(Ok(PeopleAnswer::None)) };
        let (why, fix) = match done {
            Ok(done) => {
                let rules = workspace.rules()?.rules;
                let last = ended_visits(&done).last().cloned();
                let task = &done.after.task;
                let (ticket, from, took) = (&wait.ticket, &wait.station, Duration::ZERO);
                audience.hear(&RunEvent::moved(&rules, ticket, from, last.as_ref(), task, took));
                return Ok(Ok(PeopleAnswer::Completed));
            }
            Err(ProjectError::Refused(refusal)) if refusal.kind() == RefusalKind::Conflict => {
                let why = ProjectError::Refused(refusal);
                audience.hear(&remark(format!("what was said came too late: {why}")));
                return Ok(Ok(PeopleAnswer::Overtaken));
            }
            Err(ProjectError::Refused(refusal)) => {
                let fix = refusal.fix().to_string();
                (ProjectError::Refused(refusal).to_string(), fix)
            }
            Err(ProjectError::Unfit { code: "cannot_sign", problem, fix }) => {
                (problem, fix.to_string())
            }
            Err(error) if error.passes() && met.elapsed() < project.wait => {
                if !is_reported {
                    is_reported = true;
                    audience.hear(&remark(format!("{}; it is tried again", error.problem())));
                }
                let began = Instant::now();
                while began.elapsed() < RETRY_INTERVAL {
                    if stop.load(Ordering::Relaxed) {
                        return Ok(Ok(PeopleAnswer::None));
                    }
                    audience.tick();
                    thread::sleep(TICK);
                }
                continue;
            }
            Err(error) if error.passes() => (error.problem(), error.fix().unwrap_or_default()),
            Err(error) => return Err(error),
        };
        let fix = workspace.git_commands.with_folder(fix);
        return Ok(Err(Refused { completion, why, fix }));
    }
}
