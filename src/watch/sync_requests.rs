//! What the watcher has its courier do, and what it tells of that: to sync soon after something was committed, and to hand out what
//! counts once the remote has it. Who looks once does that at once.

use std::time::Duration;

use super::inbox::inbox::Desk;
use super::report::{Report, Told};
use super::sync_worker::{Outcome, SyncWorker};
use super::tasks::tell_of_handed_out;
use crate::dispatch::synced_assignment::{Errand, sync_and_hand_out};
use crate::git::{CommitId, Prompts};
use crate::history::sync::outcome::Synced;
use crate::history::sync::remote_state::owed_to_remote;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;

/// `SyncRequests`, and what came of them.
pub(crate) struct SyncRequests {
    sync_worker: SyncWorker,
    told: Told,
    /// The commit that was last looked at for whether the remote has it.
    offered: Option<CommitId>,
    /// The commit at which the courier was last asked to hand out.
    asked: Option<CommitId>,
    /// Whether that was not done yet.
    waits: bool,
}

impl SyncRequests {
    pub(crate) fn new(sync_worker: SyncWorker) -> Self {
        Self { sync_worker, told: Told::default(), offered: None, asked: None, waits: false }
    }

    /// Has work handed out that waits. Once a commit: what cannot be now is tried again with each sync.
    pub(crate) fn hand_out(&mut self, workspace: &Workspace) {
        let head = workspace.head_now().ok().and_then(|head| head.commit);
        if head.is_some() && head != self.asked {
            self.asked = head;
            self.waits = true;
            self.sync_worker.nudge();
        }
    }

    /// Has what was committed sent to the remote, and tells what came of it.
    pub(crate) fn run(&mut self, workspace: &Workspace, desk: &mut Desk<'_>) {
        let head = workspace.head_now().ok().and_then(|head| head.commit);
        if head.is_some() && head != self.offered {
            self.offered = head;
            // Whatever keeps the rules from being read is met by the look at everything as well.
            if let Ok((every, waiting)) = owed_to_remote(workspace) {
                self.sync_worker
                    .note(every.map(|every| Duration::from_secs(every.seconds())), waiting);
            }
        }
        for outcome in self.sync_worker.news() {
            let Some((problem, fix)) = self.told_of(outcome, workspace, desk) else {
                self.told = Told::default();
                self.waits = false;
                continue;
            };
            if self.told.is_news(problem.clone()) {
                let fix = match fix {
                    Some(fix) if self.waits => {
                        Some(format!("{fix}; nothing is handed out until then"))
                    }
                    None if self.waits => Some("nothing is handed out until then".to_owned()),
                    fix => fix,
                };
                desk.tell(Report::Unsynced { problem, fix });
            }
        }
    }

    /// Begins no other, and waits a moment for the one under way.
    pub(crate) fn stop(&self) {
        self.sync_worker.stop();
    }

    /// Tells what was done; returns what keeps more from being done, with what to do about it.
    fn told_of(
        &self,
        outcome: Outcome,
        workspace: &Workspace,
        desk: &mut Desk<'_>,
    ) -> Option<(String, Option<String>)> {
        let in_words = |error: &OpsError| {
            (error.problem(), error.fix().map(|fix| workspace.git_words.said(fix)))
        };
        let Errand { synced, handed_out } = match outcome {
            Ok(errand) => *errand,
            Err(error) => return Some(in_words(&error)),
        };
        let trouble = synced.last().and_then(Synced::trouble);
        tell_of_syncs(synced, desk);
        let refused = handed_out.unconfirmed.as_ref().map(in_words);
        tell_of_handed_out(handed_out, desk);
        trouble.map(|(problem, fix)| (problem, Some(fix))).or(refused)
    }
}

/// Hands out by way of the remote, for whoever looks once, and waits for it.
pub(crate) fn hand_out_now(workspace: &mut Workspace, wait: Duration, desk: &mut Desk<'_>) {
    let Errand { synced, handed_out } = sync_and_hand_out(workspace, wait, Prompts::Never);
    tell_of_syncs(synced, desk);
    if let Some(error) = &handed_out.unconfirmed {
        desk.failed = true;
        let (problem, fix) =
            (error.problem(), error.fix().map(|fix| workspace.git_words.said(fix)));
        desk.tell(Report::Unsynced { problem, fix });
    }
    tell_of_handed_out(handed_out, desk);
}

fn tell_of_syncs(synced: Vec<Synced>, desk: &mut Desk<'_>) {
    for synced in synced.into_iter().filter(|synced| !synced.is_idle()) {
        desk.tell(Report::Synced(Box::new(synced)));
    }
}
