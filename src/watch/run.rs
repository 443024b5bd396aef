//! What the watcher does: look at git, the inbox and the tasks, do what is to be done, sleep until something may have changed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::event_worker::Journal;
use super::file_events::FileEvents;
use super::inbox::backlog::Backlog;
use super::inbox::inbox::Desk;
use super::metrics_worker::MetricsWorker;
use super::notice_worker::NoticeWorker;
use super::pause::Pause;
use super::report::{EventSource, Report};
use super::rules::Rules;
use super::schedule::{POLL, Schedule};
use super::sync_requests::{SyncRequests, hand_out_now};
use super::tasks::{Tasks, look_at_branch, look_at_clocks, look_at_index};
use super::wakeup::{Hints, Place, Places, Wakeup};
use crate::git::GitError;
use crate::history::lost_steps::BranchSeen;
use crate::history::new_commits::news::Left;
use crate::history::stale_index::IndexSeen;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::Paths;
use crate::storage::inbox::QUIET;
use crate::storage::watcher_presence::Presence;
use crate::tasks::inbox::deliver::deliver;
use crate::tasks::inbox::intended_visit::Heard;
use crate::tasks::inbox::open_files::unclosed;
use crate::tasks::inbox::recipient::Delivered;

/// How soon a file that is still being written is looked at again.
const GROWING: Duration = Duration::from_millis(250);

/// The watcher at work.
pub(crate) struct Watcher<'t> {
    pub(crate) workspace: Workspace,
    wait: Duration,
    places: Places,
    desk: Desk<'t>,
    rules: Rules,
    tasks: Tasks,
    index: IndexSeen,
    branch: BranchSeen,
    backlog: Backlog,
    heard: Heard,
    schedule: Schedule,
    pause: Pause,
    notice_worker: NoticeWorker,
    journal: Journal,
    /// What whoever asks for metrics is shown, if anybody may.
    metrics_worker: Option<MetricsWorker>,
    /// What is done by way of the remote; who looks once does that at once.
    sync_requests: Option<SyncRequests>,
}

impl<'t> Watcher<'t> {
    pub(crate) fn new(
        workspace: Workspace,
        wait: Duration,
        wakeup: Arc<Wakeup>,
        tell: &'t mut dyn FnMut(Report),
    ) -> Self {
        Self {
            places: places(&workspace),
            desk: Desk::new(workspace.paths.root().to_owned(), wakeup, tell),
            workspace,
            wait,
            rules: Rules::default(),
            tasks: Tasks::default(),
            index: IndexSeen::default(),
            branch: BranchSeen::default(),
            backlog: Backlog::default(),
            heard: Heard::default(),
            schedule: Schedule::new(Instant::now()),
            pause: Pause::default(),
            notice_worker: NoticeWorker::default(),
            journal: Journal::default(),
            metrics_worker: None,
            sync_requests: None,
        }
    }

    /// Shows the project in numbers.
    pub(crate) fn showing(self, metrics_worker: Option<MetricsWorker>) -> Self {
        Self { metrics_worker, ..self }
    }

    /// Syncs the project with its remote.
    pub(crate) fn sending(self, sync_requests: SyncRequests) -> Self {
        Self { sync_requests: Some(sync_requests), ..self }
    }

    /// Looks and sleeps until told to stop. `first` is told when it begins.
    pub(crate) fn watch(mut self, mut presence: Presence, first: Option<Report>) {
        let (mut file_events, sight) =
            match FileEvents::open(self.places.clone(), &self.desk.wakeup) {
                Ok(file_events) => (file_events, EventSource::Events),
                Err(reason) => {
                    (FileEvents::shut(self.places.clone()), EventSource::Polling { reason })
                }
            };
        let branch = self.workspace.head_now().ok().map(|head| head.branch().to_owned());
        let project = self.workspace.paths.root().to_owned();
        self.desk.tell(Report::Watching { project, branch, sight });
        if let Some(first) = first {
            self.desk.tell(first);
        }
        let mut until = Instant::now();
        loop {
            let hints = self.desk.wakeup.wait(until);
            if hints.stop {
                break;
            }
            stand_up(&self.workspace.paths, &mut presence);
            if let Err(reason) = file_events.refresh() {
                self.desk.tell(Report::EventSource(EventSource::Polling { reason }));
            }
            let changed = hints != Hints::default();
            self.take(hints, &file_events);
            until = self.round();
            // Who has no events is told of nothing.
            self.show(changed || self.desk.busy || !file_events.see());
            if let Some(sync_requests) = &mut self.sync_requests {
                sync_requests.run(&self.workspace, &mut self.desk);
            }
            if !self.pause.stands() {
                self.journal.keep(&self.workspace, self.wait, &mut self.desk);
                let left = self.notice_worker.send(&self.workspace, &mut self.desk);
                until = if left == Left::Nothing {
                    until.min(self.schedule.clocks_at())
                } else {
                    Instant::now()
                };
            }
        }
        self.journal.stop();
        self.notice_worker.stop(&mut self.desk);
        if let Some(sync_requests) = &self.sync_requests {
            sync_requests.stop();
        }
        self.desk.tell(Report::Stopped);
    }

    /// Looks until nothing is being written any more, at most for the time that takes to find out.
    pub(crate) fn once(mut self) -> bool {
        let mut end = self.end_of_once();
        let mut late = false;
        loop {
            let until = self.round();
            let sooner = self.schedule.is_before_round(until);
            if self.pause.stands() || !(sooner || self.desk.busy) {
                break;
            }
            // Each of what waits is tried, however long that takes: there is an end to them.
            if self.backlog.is_due() {
                continue;
            }
            // Much was to be done, and took its time: now it is found out whether anything is left.
            if until > end && self.desk.busy && !late {
                late = true;
                end = self.end_of_once();
                continue;
            }
            if until > end
                || self.desk.wakeup.pause(until.saturating_duration_since(Instant::now()))
            {
                self.desk.failed = true;
                self.tell_of_unclosed();
                break;
            }
        }
        if !self.pause.stands() {
            self.notice_worker.send_now(&self.workspace, &mut self.desk);
            self.journal.keep_now(&self.workspace, &mut self.desk);
        }
        !self.desk.failed && !self.pause.stands()
    }

    /// Says which files are left since nobody can tell what they are going to say.
    fn tell_of_unclosed(&mut self) {
        match unclosed(&self.workspace) {
            Ok(left) => {
                for (name, error) in left {
                    self.desk.tell(Report::Delivered(Delivered::Waiting { name, error }));
                }
            }
            Err(error) => self.desk.tell(Report::Trouble(error)),
        }
    }

    /// Returns until when there is to be an end. What is due later is not waited for.
    fn end_of_once(&mut self) -> Instant {
        let now = Instant::now();
        let end = now + QUIET * 2;
        self.schedule.end_with(end, now);
        end
    }

    /// Has counted again what may have changed, and tells where that fails.
    fn show(&mut self, changed: bool) {
        let Some(metrics_worker) = &mut self.metrics_worker else { return };
        if !self.pause.stands() {
            metrics_worker.board.note_look(&self.workspace);
        }
        if changed {
            metrics_worker.board.look_again();
        }
        if let Some(problem) = metrics_worker.news() {
            self.desk.tell(Report::Uncounted { problem });
        }
    }

    /// Turns hints into what is to be looked at.
    fn take(&mut self, hints: Hints, file_events: &FileEvents) {
        let now = Instant::now();
        self.desk.note(hints.inbox);
        self.schedule.note(&hints.places, now);
        let touched = |place| hints.places.contains(&place);
        if touched(Place::Rules) {
            self.rules.look_again();
        }
        if touched(Place::Repository) || touched(Place::Anywhere) {
            self.pause.cut_short(now);
        }
        if self.schedule.begins_round(file_events, now) {
            self.tasks.look_again();
            self.backlog.try_all();
        }
    }

    /// Looks and does what is to be done; returns when to look again if nothing happens.
    fn round(&mut self) -> Instant {
        if let Some(until) = self.pause.lasts(Instant::now()) {
            return until;
        }
        self.desk.busy = false;
        match self.look() {
            Ok(Look::Done { growing }) => {
                if self.pause.end() {
                    self.desk.tell(Report::Resumed);
                }
                let now = Instant::now();
                // What came while there was work may have told nobody.
                let soon = if self.desk.busy || self.backlog.is_due() {
                    Some(now)
                } else {
                    growing.then_some(now + GROWING)
                };
                let next = self.schedule.next();
                soon.map_or(next, |soon| soon.min(next))
            }
            Ok(Look::Paused(reason)) => {
                if self.pause.pause(&reason) {
                    self.desk.tell(Report::Paused { reason });
                }
                Instant::now() + POLL
            }
            Err(error) => self.meet(error),
        }
    }

    /// Trouble: it is told once, and tried again after longer and longer times.
    fn meet(&mut self, error: OpsError) -> Instant {
        self.backlog.forget();
        let text = error.to_string();
        if self.pause.is_news(&text) {
            self.desk.tell(Report::Trouble(error));
        }
        // The folder, or the repository in it, may be another one by now.
        if let Ok(again) = self.workspace.reopened(self.wait) {
            self.workspace = again;
        }
        self.pause.meet(text, Instant::now())
    }

    fn look(&mut self) -> Result<Look, OpsError> {
        let head = match self.workspace.head_now() {
            Ok(head) => head,
            Err(GitError::Waiting { reason }) => return Ok(Look::Paused(reason)),
            Err(error) => return Err(error.into()),
        };
        if self.pause.end_pause() {
            self.desk.tell(Report::Resumed);
        }
        self.workspace.own_folder_is_ours()?;
        self.rules.look(&self.workspace, &head, &mut self.desk)?;
        if self.schedule.is_index_due(Instant::now()) {
            // Whatever is committed before that stands in its way.
            look_at_branch(&mut self.workspace, self.wait, &mut self.branch, &mut self.desk);
        }
        let tending = self.schedule.is_tending_due(Instant::now());
        // They are of one go with what came meanwhile.
        let taken = self.backlog.begin(&self.workspace, &mut self.desk)?;
        let growing =
            deliver(&mut self.workspace, self.wait, taken, &mut self.heard, &mut self.desk);
        self.backlog.note(&mut self.desk);
        let growing = growing?;
        self.backlog.begun(&mut self.desk);
        self.backlog.go_on(
            &mut self.workspace,
            self.wait,
            &mut self.heard,
            &mut self.desk,
            tending,
        )?;
        if tending {
            self.tasks.tend(&mut self.workspace, self.wait, &mut self.schedule, &mut self.desk)?;
        }
        if self.schedule.is_index_due(Instant::now()) {
            look_at_index(
                &mut self.workspace,
                self.wait,
                &mut self.index,
                &mut self.schedule,
                &mut self.desk,
            );
        }
        if self.schedule.are_clocks_due(Instant::now()) {
            look_at_clocks(&mut self.workspace, self.wait, &mut self.schedule, &mut self.desk)?;
        }
        let start = Instant::now();
        if self.schedule.may_hand_out(start) {
            self.hand_out()?;
            self.schedule.handed_out(start, Instant::now());
        }
        Ok(Look::Done { growing })
    }

    fn hand_out(&mut self) -> Result<(), OpsError> {
        let to_share = self.tasks.hand_out(&mut self.workspace, self.wait, &mut self.desk)?;
        match &mut self.sync_requests {
            _ if !to_share => {}
            Some(sync_requests) => sync_requests.hand_out(&self.workspace),
            None => hand_out_now(&mut self.workspace, self.wait, &mut self.desk),
        }
        Ok(())
    }
}

/// What came of a look.
enum Look {
    /// All was done; files that are still being written are left.
    Done { growing: bool },
    /// Nothing can be committed until git, or whoever uses it, is done.
    Paused(String),
}

/// Makes what the watcher needs in `.aof/`, should somebody have removed it.
fn stand_up(paths: &Paths, presence: &mut Presence) {
    // Where this fails, delivering meets the same and tells of it.
    let _ = paths.prepare_local();
    if !presence.is_visible()
        && let Ok(again) = Presence::announce(paths)
    {
        *presence = again;
    }
}

fn places(workspace: &Workspace) -> Places {
    let paths = &workspace.paths;
    Places {
        root: paths.root().to_owned(),
        local: paths.local(),
        inbox: paths.inbox(),
        tasks: paths.tasks(),
        workflows: paths.root().join(crate::files::config::config::WORKFLOWS_FOLDER),
        git: workspace.repository.git_dir().to_owned(),
    }
}
