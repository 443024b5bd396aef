//! Who works at what next, until nothing is left: the loop of a runner. What is to be done is looked up anew each time; it
//! keeps no state that matters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, Scope};
use std::time::{Duration, Instant, SystemTime};

mod ahead;
mod asking;

use self::ahead::Ahead;
use self::asking::Answered;
pub use self::asking::Refused;
use super::news::{News, Waits, Why};
use super::project::Project;
use super::visit::{self, Assignment, VisitEnd};
use crate::engine::Rules;
use crate::engine::brief::GateContext;
use crate::format::task_file::TaskFile;
use crate::model::{AgentId, Completion, RoleId, Status, TaskId, Ticket};
use crate::ops::{Changed, DryRun, Next, Opening, OpsError, Wanted, Workspace, next, openings, show, take};
use crate::store::ProjectPath;
use crate::store::runs::Runs;

/// How often whoever shows what goes on is asked to, when nothing happens.
const TICK: Duration = Duration::from_millis(100);
/// How often new work is looked for while somebody is at work and others could begin.
const LOOK: Duration = Duration::from_secs(1);

/// What is to be worked at.
#[derive(Debug, Clone)]
pub enum Wish {
    /// Whatever there is for these agents.
    Agents {
        /// The agents, in the order in which they are served.
        agents: Vec<AgentId>,
        /// Only work of this role.
        role: Option<RoleId>,
    },
    /// One task, to its end.
    Task(TaskId),
}

/// How far to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// As far as it goes.
    Through,
    /// One visit.
    OneVisit,
}

/// Why a runner has stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// There is nothing that these agents could do.
    NothingLeft,
    /// The task has ended.
    Finished(Status),
    /// The task goes no further without somebody else.
    Waiting(Vec<Waits>),
    /// One visit was wanted, and made.
    Stepped,
    /// Somebody wanted it to stop.
    Stopped,
}

/// What a runner did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// How many visits it ended.
    pub visits: usize,
    /// The agents that could not be started, each with why.
    pub unavailable: BTreeMap<AgentId, String>,
    /// How many of them came to nothing, each with why.
    pub given_up: Vec<(Ticket, String)>,
    /// Why it stopped.
    pub end: End,
}

/// What a person is asked about.
pub struct Asked<'a> {
    /// The place.
    pub opening: &'a Opening,
    /// The task.
    pub file: &'a TaskFile,
    /// Where its file is.
    pub path: &'a ProjectPath,
    /// What the gate is about.
    pub context: &'a GateContext,
    /// What was said before and refused, if anything was.
    pub refused: Option<&'a Refused>,
}

/// Who sits at the other end.
pub trait Audience {
    /// Hears what happens.
    fn hear(&mut self, news: &News);

    /// Has time to show that time passes.
    fn tick(&mut self) {}

    /// Says what it says at a gate for people; nothing where nobody sits there, or not now.
    fn decide(&mut self, asked: &Asked<'_>) -> Option<Completion>;
}

/// Works until nothing is left, or `stop` is set.
pub fn work(
    project: &Project,
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
        Ok(Account { visits: rounds.visits, unavailable: rounds.unavailable, given_up: rounds.given_up, end })
    })
}

/// What workers say.
enum Word {
    News(News),
    Ended(Assignment, Result<VisitEnd, OpsError>),
}

pub(super) struct Rounds<'a> {
    project: &'a Project,
    wish: &'a Wish,
    workspace: Workspace,
    running: BTreeSet<Ticket>,
    /// What came to nothing here, and is not tried again.
    tried: BTreeMap<Ticket, String>,
    unavailable: BTreeMap<AgentId, String>,
    given_up: Vec<(Ticket, String)>,
    visits: usize,
    begun: usize,
    /// The agent that got something to do last.
    served: Option<AgentId>,
    ahead: Ahead,
}

/// What there is to do.
pub(super) enum Found {
    Work(Assignment),
    /// Nothing now; with why, where it is about a task.
    Nothing(Vec<Waits>),
    Finished(Status),
}

/// Returns what was claimed, or held already: that is not for this run to give back.
fn assigned(changed: &Changed, ticket: &Ticket, agent: &AgentId) -> Assignment {
    let ticket = changed.after.task.ticket_of(ticket.branch.as_ref());
    Assignment { ticket, agent: agent.clone(), claimed_here: !changed.settled }
}

impl<'a> Rounds<'a> {
    pub(super) fn new(project: &'a Project, wish: &'a Wish) -> Result<Self, OpsError> {
        Ok(Self {
            project,
            wish,
            workspace: project.open()?,
            running: BTreeSet::new(),
            tried: BTreeMap::new(),
            unavailable: BTreeMap::new(),
            given_up: Vec::new(),
            visits: 0,
            begun: 0,
            served: None,
            ahead: Ahead::default(),
        })
    }

    /// Passes over what was found; returns whether it had been already.
    pub(super) fn pass_over(&mut self, assignment: &Assignment) -> bool {
        !self.running.insert(assignment.ticket.clone())
    }

    #[expect(clippy::too_many_arguments, reason = "the ends of one channel, and what bounds the loop")]
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
        let mut obstacle: Option<String> = None;
        loop {
            let mut found = Found::Nothing(Vec::new());
            let is_due = self.running.is_empty() || looked.is_none_or(|at| at.elapsed() >= LOOK);
            let may_begin = |rounds: &Self| match pace {
                Pace::Through => rounds.running.len() < jobs,
                Pace::OneVisit => rounds.begun == 0,
            };
            while is_due && !stop.load(Ordering::Relaxed) && may_begin(self) {
                looked = Some(Instant::now());
                found = match self.find(DryRun::No) {
                    // A merge, or whoever has the lock, ends some time; nobody who is at work is ended for it.
                    Err(error) if error.passes() => {
                        let text = error.problem();
                        if obstacle.as_ref() != Some(&text) {
                            audience.hear(&News::Obstacle(text.clone()));
                        }
                        obstacle = Some(text);
                        break;
                    }
                    found => found?,
                };
                obstacle = None;
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
    fn wind_up(&mut self, heard: &Receiver<Word>, audience: &mut dyn Audience) -> Result<(), OpsError> {
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
                    audience.hear(&News::Remark { ticket: assignment.ticket.clone(), text: why.clone() });
                }
                why
            }
            VisitEnd::Stopped => "it was stopped".to_owned(),
            VisitEnd::Unavailable(why) => {
                audience.hear(&News::Unavailable { agent: assignment.agent.clone(), why: why.clone() });
                // Somebody else may be able to.
                self.unavailable.insert(assignment.agent, why);
                return Ok(());
            }
        };
        self.tried.insert(assignment.ticket, why);
        Ok(())
    }

    /// Looks for something to do; what is found in a rehearsal is not claimed.
    pub(super) fn find(&mut self, dry_run: DryRun) -> Result<Found, OpsError> {
        self.workspace.restart_wait(self.project.wait);
        match self.wish {
            Wish::Agents { agents, role } => self.of_agents(agents, role.as_ref(), dry_run),
            Wish::Task(id) => self.of_task(id),
        }
    }

    /// Looks for what one of the agents has already, then for what it can take.
    fn of_agents(&mut self, agents: &[AgentId], role: Option<&RoleId>, dry_run: DryRun) -> Result<Found, OpsError> {
        let others: Vec<Ticket> = self.running.iter().chain(self.tried.keys()).cloned().collect();
        // In turn: whoever was served last comes last.
        let last = agents.iter().position(|agent| Some(agent) == self.served.as_ref());
        let (earlier, later) = agents.split_at(last.map_or(0, |index| index + 1));
        let turn = later.iter().chain(earlier);
        for agent in turn.filter(|agent| !self.unavailable.contains_key(*agent)) {
            while let Some(ticket) = self.ahead.next(agent) {
                if let Some(changed) = take(&self.workspace, &ticket, agent)? {
                    return Ok(Found::Work(assigned(&changed, &ticket, agent)));
                }
            }
            let in_force = self.workspace.rules()?;
            match next(&self.workspace, &in_force, agent, role, Wanted::But(&others), dry_run) {
                Ok(Next::Task { changed, ticket, besides }) => {
                    if dry_run == DryRun::No {
                        self.ahead.put(agent, besides);
                    }
                    return Ok(Found::Work(assigned(&changed, &ticket, agent)));
                }
                // It has as many as it may have: some are under way, or wait for somebody.
                Err(OpsError::Unfit { code: "too_many_tasks", .. }) | Ok(Next::Nothing { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Found::Nothing(Vec::new()))
    }

    /// Sees whether what was known to be ahead still is, now that a visit of the task has ended: what comes back to one of the agents
    /// goes first, and so may what waited for it.
    fn look_after(&mut self, id: &TaskId) -> Result<(), OpsError> {
        let Wish::Agents { agents, .. } = self.wish else { return Ok(()) };
        let comes_back = match show(&self.workspace, id) {
            Ok((view, in_force)) => {
                let openings = openings(&in_force.rules, &view.file.task);
                openings.iter().any(|opening| opening.agents.iter().any(|agent| agents.contains(agent)))
            }
            // Whatever is wrong with it now, the next look meets it.
            Err(error) if !error.is_general() => true,
            Err(error) => return Err(error),
        };
        if comes_back || self.ahead.awaits(id) {
            self.ahead.forget();
        }
        Ok(())
    }

    fn of_task(&self, id: &TaskId) -> Result<Found, OpsError> {
        let (view, in_force) = show(&self.workspace, id)?;
        let task = &view.file.task;
        if task.status.is_finished() {
            return Ok(Found::Finished(task.status));
        }
        let mut waits = Vec::new();
        for opening in openings(&in_force.rules, task) {
            if self.running.contains(&opening.ticket) {
                continue;
            }
            match self.who(&in_force.rules, &opening) {
                Ok(agent) => {
                    let claimed_here = opening.holder.is_none();
                    return Ok(Found::Work(Assignment { ticket: opening.ticket, agent, claimed_here }));
                }
                Err(why) => waits.push(Waits {
                    ticket: opening.ticket,
                    station: opening.station,
                    role: opening.role,
                    agents: opening.agents,
                    why,
                }),
            }
        }
        Ok(Found::Nothing(waits))
    }

    /// Returns who is started for the place, or why nobody is.
    fn who(&self, rules: &Rules, opening: &Opening) -> Result<AgentId, Why> {
        if let Some(blockers) = &opening.blockers {
            return Err(Why::Blocked(blockers.clone()));
        }
        if let Some(why) = self.tried.get(&opening.ticket) {
            return Err(Why::Tried(why.clone()));
        }
        let people = opening.people_only || opening.agents.iter().all(AgentId::is_human) && !opening.agents.is_empty();
        if people {
            return Err(Why::People);
        }
        let startable = |agent: &&AgentId| {
            let run = rules.org.agent(agent).and_then(|known| known.run.as_ref());
            run.is_some() && !self.unavailable.contains_key(*agent)
        };
        match (opening.agents.iter().find(startable), &opening.holder) {
            (Some(agent), _) => Ok(agent.clone()),
            (None, Some(holder)) => Err(Why::Held(holder.clone())),
            (None, None) => match opening.agents.iter().find_map(|agent| self.unavailable.get(agent)) {
                Some(why) => Err(Why::Tried(why.clone())),
                None => Err(Why::NotStartable),
            },
        }
    }
}
