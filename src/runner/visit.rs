//! One visit of an agent that is run: attempts until it has a verdict, or has used them up. The verdict becomes a completion
//! like any other's.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::answer::Before;
use super::attempt::{Attempted, Came, Trial, ending, with_asked};
use super::news::{News, Started};
use super::printed::{Exit, Printed};
use super::project::Project;
use super::prompt::{Count, Earlier};
use super::report::Report;
use super::standing::{Open, Standing, standing};
use super::verdict::{Said, Source, Verdict, verdict};
use crate::engine::{Post, RefusalKind, Rules};
use crate::model::{AgentId, Completion, CompletionId, Launch, Map, Outcome, RunBounds, Station, Task, Ticket, Visit};
use crate::ops::{DryRun, OpsError, Workspace, claim, complete, ended, left_behind, release, show};
use crate::store::Holder;
use crate::store::random::{DeliveryId, chance};
use crate::store::runs::{End, Ending, Latest, Record, Right, Ruling, RunFile, Runs, Told, VisitRuns};

/// How often is looked whether a pause is over, or the runner is to stop.
const PAUSE: Duration = Duration::from_millis(50);
/// How long is waited before a completion is tried again that something else stood in the way of.
const ANEW: Duration = Duration::from_secs(1);
/// How long a program has that a killed runner left behind.
const GRACE: Duration = Duration::from_secs(5);
/// More than an answer may have.
const OUTPUT_LIMIT: u64 = 1024 * 1024;

/// Who is to work at what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assignment {
    /// The visit, or the branch of it.
    pub ticket: Ticket,
    /// Who.
    pub agent: AgentId,
    /// Whether it was claimed for this run: then it is given back if nothing comes of it.
    pub claimed_here: bool,
}

/// What came of a visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VisitEnd {
    /// It ended with a completion.
    Completed,
    /// It is not the agent's any more: why.
    Overtaken(String),
    /// Another runner is at it: who.
    Busy(String),
    /// The agent cannot be started, or cannot work: why, and what to do.
    Unavailable(String),
    /// Somebody wanted the runner to stop.
    Stopped,
}

/// Works at the visit until it has ended, or cannot be ended here.
pub(super) fn work(
    project: &Project,
    assignment: &Assignment,
    stop: &AtomicBool,
    news: &dyn Fn(News),
) -> Result<VisitEnd, OpsError> {
    let workspace = project.open()?;
    let now = workspace.now();
    let holder = Holder::this_process(project.command.clone(), now);
    let runs = match Runs::of(&workspace.paths).open(&assignment.ticket, &holder, SystemTime::from(now))? {
        Right::Ours(runs) => runs,
        Right::Taken(holder) => {
            let who = holder.map_or_else(|| "another runner".to_owned(), |holder| holder.to_string());
            return Ok(VisitEnd::Busy(format!("{who} runs it")));
        }
    };
    let since = show(&workspace, &assignment.ticket.task)?.0.file.task.history.len();
    let mut visit = Run { project, assignment, runs, since, stop, news, earlier: None };
    let end = visit.go()?;
    if assignment.claimed_here && matches!(end, VisitEnd::Unavailable(_) | VisitEnd::Stopped) {
        visit.give_back()?;
    }
    Ok(end)
}

struct Run<'a> {
    project: &'a Project,
    assignment: &'a Assignment,
    runs: VisitRuns,
    /// How long the history was when it began.
    since: usize,
    stop: &'a AtomicBool,
    news: &'a dyn Fn(News),
    earlier: Option<Earlier>,
}

impl Run<'_> {
    fn go(&mut self) -> Result<VisitEnd, OpsError> {
        let Assignment { ticket, agent, .. } = self.assignment;
        if let Some(said) = self.recover()? {
            let run = self.fresh_id()?;
            if let Some(end) = self.hand_in(*said, &run, None, Duration::ZERO)? {
                return Ok(end);
            }
        }
        let mut begun = false;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(VisitEnd::Stopped);
            }
            let workspace = self.project.open()?;
            let open = match standing(&workspace, ticket, agent, self.since)? {
                Standing::Open(open) => open,
                Standing::Said(said) => {
                    self.tell_moved(&said.in_force.rules, &said.visit, &said.file.task, Duration::ZERO);
                    return Ok(VisitEnd::Completed);
                }
                Standing::Gone(why) => return Ok(VisitEnd::Overtaken(why)),
            };
            match &open.opening.holder {
                Some(holder) if holder == agent => {}
                Some(holder) => return Ok(VisitEnd::Overtaken(format!("`{holder}` has it"))),
                None => {
                    if let Some(end) = self.take(&workspace)? {
                        return Ok(end);
                    }
                }
            }
            let rules = &open.in_force.rules;
            let Some(launch) = rules.org.agent(agent).and_then(|known| known.run.as_ref()) else {
                let fix = format!("add `run: {{preset: claude}}` to `{agent}` under `agents`, or a `command`");
                return Ok(VisitEnd::Unavailable(format!("org.yaml does not say how `{agent}` is started; {fix}")));
            };
            let Some(post) = Post::meant(rules, &open.file.task, open.opening.station.branch.as_ref()) else {
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
        let lease = post.duty.lease.or_else(|| open.in_force.rules.workflow_of(&open.file.task)?.lease);
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
            lease: lease.map(crate::model::Period::seconds),
            run: run.clone(),
        };
        let folder = self.runs.begin()?;
        let began = (self.project.clock)();
        let Attempted { came, mut record, took } = trial.make(&folder, self.stop, self.news)?;
        // What the agent did itself counts before all that it says.
        let workspace = self.project.open()?;
        if let Standing::Said(said) = standing(&workspace, ticket, agent, self.since)? {
            if let (Some(end), Some(stamp)) = (&mut record.end, &said.visit.completion) {
                end.how = Ending::Verdict;
                let outcome = said.visit.outcome.to_string();
                end.verdict = Some(Ruling { source: "own".to_owned(), outcome, completion: stamp.id.clone() });
                folder.note(&record)?;
            }
            self.tell_moved(&said.in_force.rules, &said.visit, &said.file.task, took);
            return Ok(Some(VisitEnd::Completed));
        }
        let before = match came {
            Came::Stopped => return Ok(Some(VisitEnd::Stopped)),
            Came::Overtaken(why) => return Ok(Some(VisitEnd::Overtaken(why))),
            Came::Unavailable(why) => return Ok(Some(VisitEnd::Unavailable(why))),
            Came::Nothing(before) => before,
            Came::Said(said) => match self.hand_in_noted(*said, &run, &mut record, &folder, took)? {
                Ok(end) => return Ok(Some(end)),
                Err(before) => before,
            },
        };
        let failed = self.failed()?;
        let again_in = (failed < bounds.attempts).then(|| Duration::from_secs(bounds.pause(failed)));
        let why = sentence(&before);
        (self.news)(News::AttemptFailed { ticket: ticket.clone(), attempt: number, why, again_in });
        self.earlier = Some(Earlier { before, left: left_behind(&workspace, began)? });
        Ok(None)
    }

    fn hand_in_noted(
        &self,
        said: Said,
        run: &CompletionId,
        record: &mut Record,
        folder: &crate::store::runs::Attempt,
        took: Duration,
    ) -> Result<Result<VisitEnd, Before>, OpsError> {
        let source = said.source;
        let end = record.end.clone();
        match self.completed(said, run, end.as_ref(), took)? {
            Handed::In(outcome) => {
                if let Some(end) = &mut record.end {
                    let source = source_word(source).to_owned();
                    end.verdict = Some(Ruling { source, outcome, completion: run.clone() });
                }
                folder.note(record)?;
                Ok(Ok(VisitEnd::Completed))
            }
            Handed::Refused(why) => {
                let before = Before::Refused(why);
                if let Some(end) = &mut record.end {
                    (end.how, end.reason) = ending(&before);
                }
                folder.note(record)?;
                Ok(Err(before))
            }
            Handed::Overtaken(why) => Ok(Ok(VisitEnd::Overtaken(why))),
            Handed::Stopped => Ok(Ok(VisitEnd::Stopped)),
        }
    }

    /// Hands in what a killed run had said; nothing if the rules refuse it.
    fn hand_in(
        &self,
        said: Said,
        run: &CompletionId,
        end: Option<&End>,
        took: Duration,
    ) -> Result<Option<VisitEnd>, OpsError> {
        Ok(match self.completed(said, run, end, took)? {
            Handed::In(_) => Some(VisitEnd::Completed),
            Handed::Overtaken(why) => Some(VisitEnd::Overtaken(why)),
            Handed::Stopped => Some(VisitEnd::Stopped),
            Handed::Refused(_) => None,
        })
    }

    /// Completes the visit. What stands in the way for a while, a merge or a lock, is waited for: no verdict is lost to it.
    fn completed(&self, said: Said, run: &CompletionId, end: Option<&End>, took: Duration) -> Result<Handed, OpsError> {
        let completion = self.completion(said, run, end, took);
        let mut told = false;
        loop {
            let workspace = self.project.open()?;
            match complete(&workspace, &completion, DryRun::No) {
                Ok(done) => {
                    let changed = done.changed;
                    let visits = ended(&changed);
                    let own = visits.first();
                    let outcome = own.map(|visit| visit.outcome.to_string()).unwrap_or_default();
                    for warning in &changed.warnings {
                        (self.news)(News::Remark { ticket: completion.ticket.clone(), text: warning.message() });
                    }
                    if let Some(visit) = own {
                        let rules = workspace.rules()?.rules;
                        self.tell_moved(&rules, visit, &changed.after.task, took);
                    }
                    return Ok(Handed::In(outcome));
                }
                Err(OpsError::Refused(refusal)) if refusal.kind() != RefusalKind::Conflict => {
                    return Ok(Handed::Refused(OpsError::Refused(refusal).to_string()));
                }
                Err(OpsError::Refused(refusal)) => {
                    return Ok(Handed::Overtaken(OpsError::Refused(refusal).to_string()));
                }
                Err(error) if error.passes() => {
                    if !told {
                        told = true;
                        (self.news)(News::Remark { ticket: completion.ticket.clone(), text: error.to_string() });
                    }
                    if !self.sleep(ANEW) {
                        return Ok(Handed::Stopped);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn completion(&self, said: Said, run: &CompletionId, end: Option<&End>, took: Duration) -> Completion {
        let mut metadata = said.metadata;
        metadata.insert("run".to_owned(), run_value(run, said.source, end, took));
        if let Some(session) = end.and_then(|end| end.told.session.clone()) {
            metadata.entry("session").or_insert_with(|| session.into());
        }
        Completion {
            ticket: self.assignment.ticket.clone(),
            agent: self.assignment.agent.clone(),
            outcome: said.outcome.as_ref().map(ToString::to_string),
            summary: said.summary,
            blockers: said.blockers,
            rejection_notes: said.rejection_notes,
            outputs: said.outputs,
            metadata,
            body: said.body,
            id: said.id.unwrap_or_else(|| run.clone()),
        }
    }

    /// Ends the visit with what came of all attempts: nothing.
    fn give_up(&self, open: &Open, post: &Post<'_>) -> Result<VisitEnd, OpsError> {
        let records = self.runs.records()?;
        let failures: Vec<String> = records.iter().filter(|record| has_failed(record)).map(why_of).collect();
        let possible = post.outcomes(&open.in_force.rules);
        let outcome = if possible.contains(&Outcome::Failed) { Outcome::Failed } else { Outcome::Blocked };
        let count = failures.len();
        let attempts = if count == 1 { "1 attempt".to_owned() } else { format!("{count} attempts") };
        let last = failures.last().cloned().unwrap_or_default();
        let said = Said {
            source: Source::ExitStatus,
            outcome: Some(outcome),
            summary: Some(format!("{attempts} of `{}` came to nothing; the last one: {last}", self.assignment.agent)),
            blockers: Some(failures.iter().zip(1..).map(|(why, number)| format!("attempt {number}: {why}")).collect()),
            rejection_notes: None,
            outputs: Map::new(),
            metadata: Map::new(),
            body: None,
            id: None,
        };
        let run = self.fresh_id()?;
        let end = records.into_iter().next_back().and_then(|record| record.end);
        Ok(match self.completed(said, &run, end.as_ref(), Duration::ZERO)? {
            Handed::In(_) => VisitEnd::Completed,
            Handed::Refused(why) => VisitEnd::Unavailable(why),
            Handed::Overtaken(why) => VisitEnd::Overtaken(why),
            Handed::Stopped => VisitEnd::Stopped,
        })
    }

    /// Sees what a killed runner left: its program is ended, and what that had said counts if it was done by then.
    fn recover(&mut self) -> Result<Option<Box<Said>>, OpsError> {
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
        let output = attempt.read(RunFile::Output, OUTPUT_LIMIT)?.filter(|_| !alive);
        let said = output.map(|output| self.said_in(&output)).transpose()?.flatten();
        attempt.note(&record)?;
        if said.is_none() {
            self.remember(&record)?;
        }
        Ok(said)
    }

    fn said_in(&self, output: &[u8]) -> Result<Option<Box<Said>>, OpsError> {
        let Assignment { ticket, agent, .. } = self.assignment;
        let workspace = self.project.open()?;
        let Standing::Open(open) = standing(&workspace, ticket, agent, self.since)? else { return Ok(None) };
        let rules = &open.in_force.rules;
        let launch = rules.org.agent(agent).and_then(|known| known.run.as_ref());
        let post = Post::meant(rules, &open.file.task, open.opening.station.branch.as_ref());
        let (Some(launch), Some(post)) = (launch, post) else { return Ok(None) };
        let printed = Printed { stdout: b"", stderr: b"", exit: Exit::SUCCESS };
        let found = with_asked(&open, &post, agent, ticket, launch, |asked| {
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

    /// Returns how many attempts of this visit count.
    fn failed(&self) -> Result<u32, OpsError> {
        let failed = self.runs.records()?.iter().filter(|record| has_failed(record)).count();
        Ok(u32::try_from(failed).unwrap_or(u32::MAX))
    }

    fn take(&self, workspace: &Workspace) -> Result<Option<VisitEnd>, OpsError> {
        match claim(workspace, &self.assignment.ticket, &self.assignment.agent, DryRun::No) {
            Ok(_) => Ok(None),
            Err(OpsError::Refused(refusal)) => Ok(Some(VisitEnd::Overtaken(OpsError::Refused(refusal).to_string()))),
            Err(error) => Err(error),
        }
    }

    fn give_back(&self) -> Result<(), OpsError> {
        let workspace = self.project.open()?;
        match release(&workspace, &self.assignment.ticket, Some(&self.assignment.agent), DryRun::No) {
            // It went by itself meanwhile.
            Ok(_) | Err(OpsError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Waits before the next attempt, somewhere in the second half of the pause: several runners do not come back at once.
    fn rest(&self, bounds: &RunBounds, failed: u32) -> Result<bool, OpsError> {
        let pause = Duration::from_secs(bounds.pause(failed));
        Ok(self.sleep(pause / 2 + (pause / 2).mul_f64(chance()?)))
    }

    /// Returns whether it slept through.
    fn sleep(&self, time: Duration) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < time {
            if self.stop.load(Ordering::Relaxed) {
                return false;
            }
            thread::sleep(PAUSE.min(time.saturating_sub(begun.elapsed())));
        }
        true
    }

    fn fresh_id(&self) -> Result<CompletionId, OpsError> {
        Ok(DeliveryId::new((self.project.clock)())?.completion())
    }

    fn started(&self, open: &Open, count: Count) -> Started {
        let task = &open.file.task;
        let station = open.opening.station.clone();
        let gates = open.in_force.rules.workflow_of(task).map(|workflow| workflow.gates.as_slice()).unwrap_or_default();
        let step = gates.iter().position(|gate| gate.id == station.gate).map_or(0, |index| index + 1);
        Started {
            ticket: self.assignment.ticket.clone(),
            station,
            title: task.title.clone(),
            agent: self.assignment.agent.clone(),
            attempt: count.attempt,
            attempts: count.attempts,
            step,
            steps: gates.len(),
        }
    }

    fn tell_moved(&self, rules: &Rules, visit: &Visit, task: &Task, took: Duration) {
        let news = moved(rules, &self.assignment.ticket, &visit.station(), Some(visit), task, took);
        (self.news)(news);
    }
}

/// What became of a completion.
enum Handed {
    In(String),
    Refused(String),
    Overtaken(String),
    Stopped,
}

/// Returns what is told of a visit that has ended.
pub(super) fn moved(
    rules: &Rules,
    ticket: &Ticket,
    from: &Station,
    visit: Option<&Visit>,
    task: &Task,
    took: Duration,
) -> News {
    let stands = rules.workflow_of(task).and(task.gate.as_ref());
    News::Moved {
        ticket: ticket.clone(),
        from: from.clone(),
        outcome: visit.map(|visit| visit.outcome.to_string()).unwrap_or_default(),
        summary: visit.map(|visit| visit.summary.clone()).filter(|text| !text.is_empty()),
        to: stands.map(|open| Station::from(&open.current)),
        status: task.status,
        took,
    }
}

/// Returns what bounds a run there.
pub(super) fn bounds(open: &Open, post: &Post<'_>, launch: &Launch) -> RunBounds {
    let workflow = open.in_force.rules.workflow_of(&open.file.task);
    let own = [&post.duty.run.limits, &launch.limits].into_iter().chain(workflow.map(|workflow| &workflow.run));
    RunBounds::of(&own.collect::<Vec<_>>())
}

/// Returns what an entry keeps of its run.
fn run_value(run: &CompletionId, source: Source, end: Option<&End>, took: Duration) -> Value {
    let mut value = json!({"id": run.as_str(), "verdict": source_word(source), "seconds": took.as_secs()});
    let Some(end) = end else { return value };
    if let Some(mark) = &end.transcript {
        value["transcript"] = json!(format!("sha256:{}", mark.sha256));
    }
    if let Some(model) = &end.told.model {
        value["model"] = json!(model);
    }
    if let Some(cost) = end.told.cost_usd {
        value["costUsd"] = json!(cost);
    }
    if let Some(tokens) = end.told.tokens {
        value["tokens"] = json!({"input": tokens.input, "output": tokens.output});
    }
    value
}

fn source_word(source: Source) -> &'static str {
    match source {
        Source::OutputFile => "file",
        Source::Structured => "structured",
        Source::Signal => "signal",
        Source::ExitStatus => "exit",
    }
}

/// Returns whether the attempt counts: it had its chance, and nothing came of it.
fn has_failed(record: &Record) -> bool {
    let how = record.end.as_ref().map(|end| end.how);
    matches!(how, Some(Ending::Crash | Ending::Timeout | Ending::Idle | Ending::BadVerdict))
}

fn why_of(record: &Record) -> String {
    let Some(end) = &record.end else { return String::new() };
    let usual = match end.how {
        Ending::Timeout => "it took too long, and was stopped",
        Ending::Idle => "it printed nothing for too long, and was stopped",
        Ending::Lost => "its runner was killed",
        _ => "it came to nothing",
    };
    end.reason.clone().unwrap_or_else(|| usual.to_owned())
}

fn sentence(before: &Before) -> String {
    match before {
        Before::TimedOut(time) => format!("it was not done after {} s, and was stopped", time.as_secs()),
        Before::Idle(time) => format!("it printed nothing for {} s, and was stopped", time.as_secs()),
        Before::Crashed(why) | Before::Bad(why) => why.clone(),
        Before::Refused(why) => format!("what it said was refused: {why}"),
    }
}
