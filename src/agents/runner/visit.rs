//! One visit of an agent that is run: attempts until it has a verdict, or has used them up. The verdict becomes a completion
//! like any other's.

use std::cell::{Cell, Ref, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::attempt::attempt::{Attempted, Came};
use super::attempt::plan::Trial;
use super::attempt::prompt::{Count, Earlier};
use super::attempt::record::has_failed;
use super::claim::give_back;
use super::news::News;
use super::news_of_run::{against_own, sentence};
use super::project::Project;
use super::visit_state::{Open, Standing, standing};
use crate::dispatch::claimable_work::left_behind;
use crate::domain::{AgentId, CompletionId, Launch, Period, RunBounds, Ticket};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::Post;
use crate::storage::Holder;
use crate::storage::random::{chance, ulid};
use crate::storage::runs::{Ruling, RunEnding};
use crate::storage::runs::{RunRight, Runs, VisitRuns};
use crate::tasks::view::task_view::show;

/// How often is looked whether a pause is over, or the runner is to stop.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// How long is waited before something is tried again that somebody else stood in the way of.
pub(crate) const ANEW: Duration = Duration::from_secs(1);

/// Who is to work at what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assignment {
    /// The visit, or the branch of it.
    pub ticket: Ticket,
    /// Who.
    pub agent: AgentId,
    /// Whether it was claimed for this run already: then it is given back if nothing comes of it.
    pub claimed_here: bool,
}

/// What came of a visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VisitEnd {
    /// It ended with a completion.
    Completed,
    /// All attempts came to nothing, and the completion says so: why the last one did.
    GivenUp(String),
    /// It is not the agent's any more: why.
    Overtaken(String),
    /// Something is wrong with this task, or with the files of this visit, and with nothing else: what.
    Broken(String),
    /// Another runner is at it: who.
    Busy(String),
    /// The agent cannot be started, or cannot work: why, and what to do.
    Unavailable(String),
    /// Somebody wanted the runner to stop.
    Stopped,
}

/// Works at the visit until it has ended, or cannot be ended here.
pub(crate) fn work(
    project: &Project,
    assignment: &Assignment,
    stop: &AtomicBool,
    news: &dyn Fn(News),
) -> Result<VisitEnd, OpsError> {
    let mut claimed = assignment.claimed_here;
    let end = begun(project, assignment, stop, news).and_then(|begun| match begun {
        Ok(mut visit) => {
            let end = visit.go();
            claimed |= visit.claimed.get();
            end
        }
        Err(who) => {
            // Whoever runs it goes on with the claim.
            claimed = false;
            Ok(VisitEnd::Busy(who))
        }
    });
    let end = match end {
        Err(error) if !error.is_general() => Ok(VisitEnd::Broken(error.problem())),
        end => end,
    };
    let is_over =
        matches!(end, Ok(VisitEnd::Completed | VisitEnd::GivenUp(_) | VisitEnd::Overtaken(_)));
    if claimed && !is_over {
        give_back(project, assignment, news);
    }
    end
}

/// Takes the right to run the visit; where somebody else has it, returns who.
fn begun<'a>(
    project: &'a Project,
    assignment: &'a Assignment,
    stop: &'a AtomicBool,
    news: &'a dyn Fn(News),
) -> Result<Result<Run<'a>, String>, OpsError> {
    let workspace = project.open()?;
    let now = workspace.now();
    let holder = Holder::this_process(project.command.clone(), now);
    let runs = match Runs::of(&workspace.paths).open(&assignment.ticket, &holder)? {
        RunRight::Ours(runs) => runs,
        RunRight::Taken(holder) => {
            let who =
                holder.map_or_else(|| "another runner".to_owned(), |holder| holder.to_string());
            return Ok(Err(format!("{who} runs it")));
        }
    };
    let since = show(&workspace, &assignment.ticket.task)?.0.file.task.history.len();
    let workspace = RefCell::new(workspace);
    Ok(Ok(Run {
        project,
        workspace,
        assignment,
        runs,
        since,
        stop,
        news,
        earlier: None,
        claimed: Cell::new(false),
    }))
}

/// A visit that is being run.
pub(crate) struct Run<'a> {
    pub project: &'a Project,
    /// The project, opened once: each look begins with [`Run::workspace`].
    workspace: RefCell<Workspace>,
    pub assignment: &'a Assignment,
    pub runs: VisitRuns,
    /// How long the history was when it began.
    pub since: usize,
    pub stop: &'a AtomicBool,
    pub news: &'a dyn Fn(News),
    /// What the next attempt is to know of the one before.
    pub earlier: Option<Earlier>,
    /// Whether the claim was made here.
    pub claimed: Cell<bool>,
}

impl Run<'_> {
    /// Returns the project as it is now, with the full time to wait for others.
    pub(crate) fn workspace(&self) -> Ref<'_, Workspace> {
        self.workspace.borrow_mut().restart_wait(self.project.wait);
        self.workspace.borrow()
    }

    fn go(&mut self) -> Result<VisitEnd, OpsError> {
        let Assignment { ticket, agent, .. } = self.assignment;
        if let Some(end) = self.recover()? {
            return Ok(end);
        }
        let mut begun = false;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(VisitEnd::Stopped);
            }
            let found = standing(&self.workspace(), ticket, agent, self.since)?;
            let open = match found {
                Standing::Open(open) => open,
                Standing::Said(said) => {
                    self.tell_moved(
                        &said.in_force.rules,
                        &said.visit,
                        &said.file.task,
                        Duration::ZERO,
                    );
                    return Ok(VisitEnd::Completed);
                }
                Standing::Gone(why) => return Ok(VisitEnd::Overtaken(why)),
            };
            match &open.opening.holder {
                Some(holder) if holder == agent => {}
                Some(holder) => return Ok(VisitEnd::Overtaken(format!("`{holder}` has it"))),
                None => {
                    if let Some(end) = self.take()? {
                        return Ok(end);
                    }
                }
            }
            let rules = &open.in_force.rules;
            let Some(launch) = rules.org.agent(agent).and_then(|known| known.run.as_ref()) else {
                let fix = format!(
                    "add `run: {{preset: claude}}` to `{agent}` under `agents`, or a `command`"
                );
                return Ok(VisitEnd::Unavailable(format!(
                    "org.yaml does not say how `{agent}` is started; {fix}"
                )));
            };
            let Some(post) =
                Post::meant(rules, &open.file.task, open.opening.station.branch.as_ref())
            else {
                return Ok(VisitEnd::Overtaken("its gate is gone".to_owned()));
            };
            let bounds = bounds(&open, &post, launch);
            let failed = self.failed()?;
            if failed >= bounds.attempts {
                return self.give_up(&open, &post);
            }
            if begun && !self.rest(&bounds, failed)? {
                return Ok(VisitEnd::Stopped);
            }
            begun = true;
            if let Some(end) = self.attempt(&open, &post, launch, &bounds, failed + 1)? {
                return Ok(end);
            }
        }
    }

    fn attempt(
        &mut self,
        open: &Open,
        post: &Post<'_>,
        launch: &Launch,
        bounds: &RunBounds,
        number: u32,
    ) -> Result<Option<VisitEnd>, OpsError> {
        let Assignment { ticket, agent, .. } = self.assignment;
        let run = self.fresh_id()?;
        let count = Count { attempt: number, attempts: bounds.attempts };
        (self.news)(News::Started(self.started(open, count)));
        let lease =
            post.duty.lease.or_else(|| open.in_force.rules.workflow_of(&open.file.task)?.lease);
        let trial = Trial {
            project: self.project,
            ticket,
            agent,
            open,
            post,
            launch,
            bounds,
            count,
            earlier: self.earlier.as_ref(),
            since: self.since,
            lease: lease.map(Period::seconds),
            run: run.clone(),
        };
        let folder = self.runs.begin()?;
        let began = (self.project.clock)();
        let Attempted { came, mut record, took } = trial.make(&folder, self.stop, self.news)?;
        // What the agent did itself counts before all that it says.
        let found = standing(&self.workspace(), ticket, agent, self.since)?;
        if let Standing::Said(said) = found {
            if let Some(text) = against_own(&came, &said.visit) {
                (self.news)(News::Remark { ticket: ticket.clone(), text });
            }
            if let (Some(end), Some(stamp)) = (&mut record.end, &said.visit.completion) {
                (end.how, end.reason) = (RunEnding::Verdict, None);
                let outcome = said.visit.outcome.to_string();
                end.verdict = Some(Ruling {
                    source: "own".to_owned(),
                    outcome,
                    completion: stamp.id.clone(),
                });
                self.note(&folder, &record);
            }
            self.tell_moved(&said.in_force.rules, &said.visit, &said.file.task, took);
            return Ok(Some(VisitEnd::Completed));
        }
        let before = match came {
            Came::Stopped => return Ok(Some(VisitEnd::Stopped)),
            Came::Overtaken(why) => return Ok(Some(VisitEnd::Overtaken(why))),
            Came::Unavailable(why) => return Ok(Some(VisitEnd::Unavailable(why))),
            Came::Nothing(before) => before,
            Came::Said(said) => match self.hand_in(*said, &run, &mut record, &folder, took)? {
                Ok(end) => return Ok(Some(end)),
                Err(before) => before,
            },
        };
        let failed = self.failed()?;
        let again_in =
            (failed < bounds.attempts).then(|| Duration::from_secs(bounds.pause(failed)));
        let why = sentence(&before);
        (self.news)(News::AttemptFailed { ticket: ticket.clone(), attempt: number, why, again_in });
        let left = left_behind(&self.workspace(), began)?;
        self.earlier = Some(Earlier { before, left });
        Ok(None)
    }

    /// Returns how many attempts of this visit count.
    fn failed(&self) -> Result<u32, OpsError> {
        let failed = self.runs.records()?.iter().filter(|record| has_failed(record)).count();
        Ok(u32::try_from(failed).unwrap_or(u32::MAX))
    }

    /// Waits before the next attempt, somewhere in the second half of the pause: several runners do not come back at once.
    fn rest(&self, bounds: &RunBounds, failed: u32) -> Result<bool, OpsError> {
        let pause = Duration::from_secs(bounds.pause(failed));
        Ok(self.sleep(pause / 2 + (pause / 2).mul_f64(chance()?)))
    }

    /// Returns whether it slept through.
    pub(crate) fn sleep(&self, time: Duration) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < time {
            if self.stop.load(Ordering::Relaxed) {
                return false;
            }
            thread::sleep(PAUSE.min(time.saturating_sub(begun.elapsed())));
        }
        true
    }

    pub(crate) fn fresh_id(&self) -> Result<CompletionId, OpsError> {
        Ok(ulid((self.project.clock)())?)
    }
}

/// Returns what bounds a run there.
pub(crate) fn bounds(open: &Open, post: &Post<'_>, launch: &Launch) -> RunBounds {
    let workflow = open.in_force.rules.workflow_of(&open.file.task);
    let own = [&post.duty.run.limits, &launch.limits]
        .into_iter()
        .chain(workflow.map(|workflow| &workflow.run));
    RunBounds::of(&own.collect::<Vec<_>>())
}
