//! Syncing with the remote, where project.yaml says `git: {sync: true}`, and handing out what counts once the remote has it: every so
//! often, and soon after a commit; while the remote does not answer, ever less often. `aof watch --once` does it at once.

use std::io;
use std::time::{Duration, Instant};

use tracing::debug;

use super::desk::Desk;
use super::looks::tell_handed_out;
use super::report::{ReportedErrors, WatchReport};
use super::worker::{NextRun, Worker};
use crate::dispatch::synced_assignment::{Errand, sync_and_hand_out};
use crate::git::{CommitId, Prompts};
use crate::history::sync::outcome::{SyncEnd, Synced};
use crate::history::sync::remote_state::owed_to_remote;
use crate::project::error::ProjectError;
use crate::project::workspace::{Seed, Workspace};

/// The least time between two syncs: several commits go together.
const APART: Duration = Duration::from_secs(1);
const LONGEST_BACKOFF: Duration = Duration::from_mins(15);
/// How long a sync under way is waited for at the end.
const LAST: Duration = Duration::from_secs(3);

/// Nothing where the project is not synced.
type SyncOutcome = Result<Option<Errand>, ProjectError>;

/// Syncs of a watcher.
pub(crate) struct SyncRequests {
    worker: Worker<SyncOutcome>,
    told: ReportedErrors,
    /// How often the project is synced by the rules in force.
    every: Option<Duration>,
    /// The commit that was last compared with the remote.
    compared: Option<CommitId>,
    /// The commit at which the worker was last asked to hand out.
    asked: Option<CommitId>,
    /// Whether that has not been done yet.
    waits: bool,
}

impl SyncRequests {
    pub(crate) fn start(workspace: &Workspace, wait: Duration) -> io::Result<Self> {
        let project = workspace.seed(wait);
        let mut failed = 0_u32;
        let worker = Worker::start("sync", move |_| {
            let start = Instant::now();
            let mut every = None;
            let outcome = once(&project, wait, &mut every);
            debug!(seconds = start.elapsed().as_secs_f64(), failed = outcome.is_err(), "synced");
            let is_done = outcome.as_ref().is_ok_and(|errand| errand.as_ref().is_none_or(is_done));
            failed = if is_done { 0 } else { failed + 1 };
            (outcome, next(every, failed))
        })?;
        let told = ReportedErrors::default();
        Ok(Self { worker, told, every: None, compared: None, asked: None, waits: false })
    }

    /// Has work handed out once a commit: what cannot be handed out now is tried again with each sync.
    pub(crate) fn hand_out(&mut self, workspace: &Workspace) {
        let head = workspace.head_now().ok().and_then(|head| head.commit);
        if head.is_some() && head != self.asked {
            (self.asked, self.waits) = (head, true);
            self.worker.ask();
        }
    }

    /// Has new commits sent to the remote, and reports the outcomes of syncs.
    pub(crate) fn run(&mut self, workspace: &Workspace, desk: &mut Desk<'_>) {
        let head = workspace.head_now().ok().and_then(|head| head.commit);
        if head.is_some() && head != self.compared {
            self.compared = head;
            // The watcher itself reports rules that cannot be read.
            if let Ok((every, owes)) = owed_to_remote(workspace) {
                let every = every.map(|every| Duration::from_secs(every.seconds()));
                if every.is_some() && (owes || every != self.every) {
                    self.worker.ask();
                }
                self.every = every;
            }
        }
        for outcome in self.worker.outcomes() {
            let trouble = match outcome {
                Ok(None) => continue,
                Ok(Some(errand)) => report(errand, workspace, desk),
                Err(error) => Some(in_words(&error, workspace)),
            };
            let Some((problem, fix)) = trouble else {
                (self.told, self.waits) = (ReportedErrors::default(), false);
                continue;
            };
            if self.told.is_news(problem.clone()) {
                let later = self.waits.then(|| "nothing is handed out until then".to_owned());
                let parts: Vec<String> = fix.into_iter().chain(later).collect();
                let fix = (!parts.is_empty()).then(|| parts.join("; "));
                desk.tell(WatchReport::Unsynced { problem, fix });
            }
        }
    }

    /// Ends the worker, and waits a moment for the sync under way.
    pub(crate) fn stop(&self) {
        self.worker.stop(LAST);
    }
}

fn once(project: &Seed, wait: Duration, every: &mut Option<Duration>) -> SyncOutcome {
    let mut workspace = project.open()?;
    let period = owed_to_remote(&workspace)?.0;
    *every = period.map(|period| Duration::from_secs(period.seconds()));
    Ok(every.map(|_| sync_and_hand_out(&mut workspace, wait, Prompts::Never)))
}

/// Returns whether the remote has all commits, and accepted all that was handed out.
fn is_done(errand: &Errand) -> bool {
    errand.synced.last().is_some_and(|synced| synced.end == SyncEnd::Same)
        && errand.handed_out.unconfirmed.is_none()
}

/// Returns when to sync again. A remote that does not answer is not asked for each commit.
fn next(every: Option<Duration>, failed: u32) -> NextRun {
    match (every, failed) {
        (None, 0) => NextRun::default(),
        (Some(every), 0) => NextRun { earliest: APART.min(every), latest: Some(every) },
        (every, failed) => {
            let every = every.unwrap_or(APART);
            let backoff = every.saturating_mul(1 << failed.saturating_sub(1).min(8));
            let backoff = backoff.min(LONGEST_BACKOFF.max(every));
            NextRun { earliest: backoff, latest: Some(backoff) }
        }
    }
}

/// Syncs and hands out before it returns.
pub(crate) fn hand_out_now(workspace: &mut Workspace, wait: Duration, desk: &mut Desk<'_>) {
    let Errand { synced, handed_out } = sync_and_hand_out(workspace, wait, Prompts::Never);
    tell_synced(synced, desk);
    if let Some(error) = &handed_out.unconfirmed {
        desk.failed = true;
        let (problem, fix) = in_words(error, workspace);
        desk.tell(WatchReport::Unsynced { problem, fix });
    }
    tell_handed_out(handed_out, desk);
}

/// Reports what was done; returns what prevents more, and what to do about it.
fn report(
    Errand { synced, handed_out }: Errand,
    workspace: &Workspace,
    desk: &mut Desk<'_>,
) -> Option<(String, Option<String>)> {
    let trouble = synced.last().and_then(Synced::trouble);
    tell_synced(synced, desk);
    let refused = handed_out.unconfirmed.as_ref().map(|error| in_words(error, workspace));
    tell_handed_out(handed_out, desk);
    trouble.map(|(problem, fix)| (problem, Some(fix))).or(refused)
}

fn tell_synced(synced: Vec<Synced>, desk: &mut Desk<'_>) {
    for synced in synced.into_iter().filter(|synced| !synced.is_idle()) {
        desk.tell(WatchReport::Synced(Box::new(synced)));
    }
}

fn in_words(error: &ProjectError, workspace: &Workspace) -> (String, Option<String>) {
    (error.problem(), error.fix().map(|fix| workspace.git_words.said(fix)))
}
