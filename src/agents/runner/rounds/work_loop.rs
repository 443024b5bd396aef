//! Who works at what next, until nothing is left: the loop of a runner.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, Scope};
use std::time::{Duration, Instant, SystemTime};

use super::ask_people::Answered;
use super::find_work::{Found, LOOK, Rounds, TICK};
use crate::agents::runner::news::{News, Waits};
use crate::agents::runner::request::{Account, Audience, End, Pace, RunnerSetup, Wish};
use crate::agents::runner::visit;
use crate::agents::runner::visit_run::{Assignment, VisitEnd};
use crate::git::GitError;
use crate::history::sync::remote_state::is_cut_off;
use crate::project::error::error::OpsError;
use crate::storage::runs::Runs;
use crate::tasks::apply::change::DryRun;

/// A remote that could not be reached is left alone at least so long, and at most so long.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Works until nothing is left, or `stop` is set.
pub fn work(
    project: &RunnerSetup,
    wish: &Wish,
    jobs: usize,
    pace: Pace,
    stop: &AtomicBool,
    audience: &mut dyn Audience,
) -> Result<Account, OpsError> {
    let (tell, heard) = mpsc::channel();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut rounds = Rounds::new(project, wish)?;
        let runs = Runs::of(&rounds.workspace.paths);
        // Nobody waits for the debris of years, and what cannot be removed keeps nobody from work.
        let over = &over;
        scope.spawn(move || runs.prune(SystemTime::from((project.clock)()), over));
        let end = rounds.go(scope, &tell, &heard, jobs.max(1), pace, stop, audience);
        // Whatever ended it: nobody is left at work behind its back.
        stop.fetch_or(end.is_err(), Ordering::Relaxed);
        let wound_up = rounds.wind_up(&heard, audience);
        over.store(true, Ordering::Relaxed);
        let end = end.and_then(|end| wound_up.map(|()| end))?;
        Ok(Account {
            visits: rounds.visits,
            unavailable: rounds.unavailable,
            given_up: rounds.given_up,
            end,
        })
    })
}

/// What workers say.
enum Word {
    News(News),
    Ended(Assignment, Result<VisitEnd, OpsError>),
}

/// Something that keeps everybody from beginning anything, and passes: it is told once, and tried again.
struct PassingObstacle {
    text: String,
    met: Instant,
    pause: Duration,
}

impl PassingObstacle {
    /// Returns the obstacle that was met; the pause before another try of a remote doubles each time.
    fn met(before: Option<&Self>, error: &OpsError) -> Self {
        let is_remote = matches!(
            error,
            OpsError::Remote(_)
                | OpsError::NotConfirmed { .. }
                | OpsError::Git(GitError::NotStored { .. })
        );
        let pause = match before {
            _ if !is_remote => TICK,
            Some(before) => (before.pause * 2).clamp(SHORTEST_PAUSE, LONGEST_PAUSE),
            None => SHORTEST_PAUSE,
        };
        Self { text: error.problem(), met: Instant::now(), pause }
    }
}

impl<'a> Rounds<'a> {
    #[expect(
        clippy::too_many_arguments,
        reason = "the ends of one channel, and what bounds the loop"
    )]
    fn go<'s>(
        &mut self,
        scope: &'s Scope<'s, 'a>,
        tell: &Sender<Word>,
        heard: &Receiver<Word>,
        jobs: usize,
        pace: Pace,
        stop: &'a AtomicBool,
        audience: &mut dyn Audience,
    ) -> Result<End, OpsError> {
        let mut looked: Option<Instant> = None;
        let mut obstacle: Option<PassingObstacle> = None;
        loop {
            let mut found = Found::Nothing(Vec::new());
            let is_passed =
                obstacle.as_ref().is_none_or(|obstacle| obstacle.met.elapsed() >= obstacle.pause);
            let is_due = is_passed
                && (self.running.is_empty() || looked.is_none_or(|at| at.elapsed() >= LOOK));
            let may_begin = |rounds: &Self| match pace {
                Pace::Through => rounds.running.len() < jobs,
                Pace::OneVisit => rounds.begun == 0,
            };
            while is_due && !stop.load(Ordering::Relaxed) && may_begin(self) {
                looked = Some(Instant::now());
                found = match self.find(DryRun::No) {
                    // A merge, or whoever has the lock, ends some time; nobody who is at work is ended for it.
                    Err(error) if error.passes() => {
                        let met = PassingObstacle::met(obstacle.as_ref(), &error);
                        let is_absence = error.code() == "offline";
                        let is_told = obstacle.is_some_and(|before| before.text == met.text)
                            || (is_absence && self.told_of_absence);
                        if !is_told {
                            audience.hear(&News::Obstacle(met.text.clone()));
                        }
                        self.told_of_absence |= is_absence;
                        obstacle = Some(met);
                        break;
                    }
                    found => found?,
                };
                obstacle = None;
                // What an agent has is found without a network as well.
                self.told_of_absence = self.told_of_absence && is_cut_off(&self.workspace);
                let Found::Work(assignment) = found else { break };
                self.served = Some(assignment.agent.clone());
                self.begin(scope, tell.clone(), assignment, stop);
                found = Found::Nothing(Vec::new());
            }
            if self.running.is_empty() {
                if stop.load(Ordering::Relaxed) {
                    return Ok(End::Stopped);
                }
                if pace == Pace::OneVisit && self.begun > 0 {
                    return Ok(End::Stepped);
                }
                if obstacle.is_some() {
                    audience.tick();
                    thread::sleep(TICK);
                    continue;
                }
                match found {
                    Found::Finished(status) => return Ok(End::Finished(status)),
                    Found::Nothing(waits) => match self.ask(&waits, stop, audience)? {
                        Answered::Said => self.begun += 1,
                        Answered::Overtaken => {}
                        // Whoever was asked wants to stop.
                        Answered::Later if stop.load(Ordering::Relaxed) => {}
                        Answered::Later => return Ok(self.idle(waits, audience)),
                    },
                    Found::Work(_) => {}
                }
                continue;
            }
            match heard.recv_timeout(TICK) {
                Ok(word) => {
                    if let Word::Ended(..) = &word {
                        looked = None;
                    }
                    self.hear(word, audience)?;
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => audience.tick(),
            }
        }
    }

    fn idle(&self, waits: Vec<Waits>, audience: &mut dyn Audience) -> End {
        for wait in &waits {
            audience.hear(&News::Waits(wait.clone()));
        }
        match self.wish {
            Wish::Agents { .. } => End::NothingLeft,
            Wish::Task(_) => End::Waiting(waits),
        }
    }

    /// Waits for whoever is still at work.
    fn wind_up(
        &mut self,
        heard: &Receiver<Word>,
        audience: &mut dyn Audience,
    ) -> Result<(), OpsError> {
        let mut outcome = Ok(());
        while !self.running.is_empty() {
            match heard.recv_timeout(TICK) {
                Ok(word) => outcome = outcome.and(self.hear(word, audience)),
                Err(_) => audience.tick(),
            }
        }
        outcome
    }

    fn begin<'s>(
        &mut self,
        scope: &'s Scope<'s, 'a>,
        tell: Sender<Word>,
        assignment: Assignment,
        stop: &'a AtomicBool,
    ) {
        self.running.insert(assignment.ticket.clone());
        self.begun += 1;
        let project = self.project;
        scope.spawn(move || {
            // Whoever hears it waits for this very word before it goes.
            let news = |news: News| drop(tell.send(Word::News(news)));
            let end = visit::work(project, &assignment, stop, &news);
            drop(tell.send(Word::Ended(assignment, end)));
        });
    }

    fn hear(&mut self, word: Word, audience: &mut dyn Audience) -> Result<(), OpsError> {
        let (assignment, end) = match word {
            Word::News(news) => {
                audience.hear(&news);
                return Ok(());
            }
            Word::Ended(assignment, end) => (assignment, end),
        };
        self.running.remove(&assignment.ticket);
        let why = match end? {
            VisitEnd::Completed => {
                self.visits += 1;
                return self.look_after(&assignment.ticket.task);
            }
            VisitEnd::GivenUp(why) => {
                self.visits += 1;
                self.ahead.forget();
                self.given_up.push((assignment.ticket, why));
                return Ok(());
            }
            VisitEnd::Overtaken(why) | VisitEnd::Busy(why) | VisitEnd::Broken(why) => {
                // Of a task that is driven, it is told why it goes no further.
                if let Wish::Agents { .. } = self.wish {
                    audience.hear(&News::remark(&assignment.ticket, why.clone()));
                }
                why
            }
            VisitEnd::Stopped => "it was stopped".to_owned(),
            VisitEnd::Unavailable(why) => {
                audience
                    .hear(&News::Unavailable { agent: assignment.agent.clone(), why: why.clone() });
                // Somebody else may be able to.
                self.unavailable.insert(assignment.agent, why);
                return Ok(());
            }
        };
        self.tried.insert(assignment.ticket, why);
        Ok(())
    }
}
