//! What the watcher does: look at git, the inbox and the tasks, do what is to be done, sleep until something may have changed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::backlog::Backlog;
use super::bell::{Bell, Hints, Place, Places};
use super::board::Counting;
use super::desk::Desk;
use super::errands::{Errands, hand_out_now};
use super::halt::Halt;
use super::journal::Journal;
use super::mail::Mail;
use super::report::{Report, Sight};
use super::rules::Rules;
use super::sight::Eyes;
use crate::audit::AuditError;
use crate::ops::{DryRun, Exhausted, Left, OpsError, Seen, Workspace, deliver, hand_out};
use crate::ops::{run_out, tend};
use crate::store::Paths;
use crate::store::inbox::QUIET;
use crate::store::presence::Presence;

/// How often everything is looked at, whatever events say.
const ROUND: Duration = Duration::from_secs(5);
/// The same while there are no events.
const POLL: Duration = Duration::from_secs(1);
/// How soon a file that is still being written is looked at again.
const GROWING: Duration = Duration::from_millis(250);
/// Between two looks at the tasks, at least: edits wait to be quiet anyway.
const TENDING: Duration = Duration::from_millis(500);
/// Between two looks at the clocks, at least, when tasks change.
const RECOUNTING: Duration = Duration::from_secs(1);
/// How often the clocks are looked at when nothing happens.
const CLOCKS: Duration = Duration::from_secs(30);
/// Handing out takes one part of the time, and leaves so many to all else.
const HAND_OUT_SHARE: u32 = 9;
/// So many of what only looks like a task are told.
const STRAYS: usize = 20;

/// The watcher at work.
pub(super) struct Rounds<'t> {
    workspace: Workspace,
    wait: Duration,
    places: Places,
    desk: Desk<'t>,
    seen: Seen,
    /// The commit under which nothing was left to hand out.
    handed_out: Exhausted,
    /// When work may be handed out again: where there are very many tasks looking at them all takes its time.
    hand_out_at: Instant,
    /// Whether that is waited for.
    hand_out_due: bool,
    rules: Rules,
    /// When the tasks are to be looked at.
    tend_at: Instant,
    tended_at: Option<Instant>,
    /// Before that, changes of tasks are no reason to count anew.
    clocks_after: Instant,
    /// When something runs out, or has to be counted anew.
    clocks_at: Instant,
    /// When everything is to be looked at.
    round_at: Instant,
    backlog: Backlog,
    halt: Halt,
    mail: Mail,
    journal: Journal,
    /// What whoever asks for metrics is shown, if anybody may.
    counting: Option<Counting>,
    /// What is done by way of the remote; who looks once does that at once.
    errands: Option<Errands>,
}

impl<'t> Rounds<'t> {
    pub(super) fn new(workspace: Workspace, wait: Duration, bell: Arc<Bell>, tell: &'t mut dyn FnMut(Report)) -> Self {
        let now = Instant::now();
        Self {
            places: places(&workspace),
            desk: Desk::new(workspace.paths.root().to_owned(), bell, tell),
            workspace,
            wait,
            seen: Seen::default(),
            handed_out: Exhausted::default(),
            hand_out_at: now,
            hand_out_due: false,
            rules: Rules::default(),
            tend_at: now,
            tended_at: None,
            clocks_after: now,
            clocks_at: now,
            round_at: now,
            backlog: Backlog::default(),
            halt: Halt::default(),
            mail: Mail::default(),
            journal: Journal::default(),
            counting: None,
            errands: None,
        }
    }

    /// Shows the project in numbers.
    pub(super) fn showing(self, counting: Option<Counting>) -> Self {
        Self { counting, ..self }
    }

    /// Syncs the project with its remote.
    pub(super) fn sending(self, errands: Errands) -> Self {
        Self { errands: Some(errands), ..self }
    }

    /// Looks and sleeps until told to stop. `first` is told when it begins.
    pub(super) fn watch(mut self, mut presence: Presence, first: Option<Report>) {
        let (mut eyes, sight) = match Eyes::open(self.places.clone(), &self.desk.bell) {
            Ok(eyes) => (eyes, Sight::Events),
            Err(reason) => (Eyes::shut(self.places.clone()), Sight::Polling { reason }),
        };
        let branch = self.workspace.head_now().ok().map(|head| head.branch().to_owned());
        let project = self.workspace.paths.root().to_owned();
        self.desk.tell(Report::Watching { project, branch, sight });
        if let Some(first) = first {
            self.desk.tell(first);
        }
        let mut until = Instant::now();
        loop {
            let hints = self.desk.bell.wait(until);
            if hints.stop {
                break;
            }
            stand_up(&self.workspace.paths, &mut presence);
            if let Err(reason) = eyes.refresh() {
                self.desk.tell(Report::Sight(Sight::Polling { reason }));
            }
            let changed = hints != Hints::default();
            self.take(hints, &eyes);
            until = self.round();
            // Who has no events is told of nothing.
            self.show(changed || self.desk.busy || !eyes.see());
            if let Some(errands) = &mut self.errands {
                errands.run(&self.workspace, &mut self.desk);
            }
            if !self.halt.stands() {
                self.journal.keep(&self.workspace, self.wait, &mut self.desk);
                let left = self.mail.send(&self.workspace, &mut self.desk);
                until = if left == Left::Nothing { until.min(self.clocks_at) } else { Instant::now() };
            }
        }
        self.journal.stop();
        self.mail.stop(&mut self.desk);
        if let Some(errands) = &self.errands {
            errands.stop();
        }
        self.desk.tell(Report::Stopped);
    }

    /// Looks until nothing is being written any more, at most for the time that takes to find out.
    pub(super) fn once(mut self) -> bool {
        let mut end = self.end_of_once();
        let mut late = false;
        loop {
            let until = self.round();
            let sooner = until < self.round_at;
            if self.halt.stands() || !(sooner || self.desk.busy) {
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
            if until > end || self.desk.bell.pause(until.saturating_duration_since(Instant::now())) {
                self.desk.failed = true;
                break;
            }
        }
        if !self.halt.stands() {
            self.mail.send_now(&self.workspace, &mut self.desk);
            self.journal.keep_now(&self.workspace, &mut self.desk);
        }
        !self.desk.failed && !self.halt.stands()
    }

    /// Returns until when there is to be an end. What is due later is not waited for.
    fn end_of_once(&mut self) -> Instant {
        let now = Instant::now();
        let end = now + QUIET * 2;
        (self.round_at, self.tend_at) = (end + ROUND, now);
        end
    }

    /// Has counted again what may have changed, and tells where that fails.
    fn show(&mut self, changed: bool) {
        let Some(counting) = &mut self.counting else { return };
        if !self.halt.stands() {
            counting.board.note_look(&self.workspace);
        }
        if changed {
            counting.board.look_again();
        }
        if let Some(problem) = counting.news() {
            self.desk.tell(Report::Uncounted { problem });
        }
    }

    /// Turns hints into what is to be looked at.
    fn take(&mut self, hints: Hints, eyes: &Eyes) {
        let now = Instant::now();
        self.desk.note(hints.inbox);
        let touched = |place| hints.places.contains(&place);
        if touched(Place::Anywhere) {
            self.round_at = now;
        }
        if touched(Place::Rules) {
            self.rules.look_again();
        }
        if touched(Place::Tasks) || touched(Place::Rules) || touched(Place::Anywhere) {
            self.clocks_at = self.clocks_at.min(now.max(self.clocks_after));
        }
        if touched(Place::Tasks) {
            self.tend_at = self.tend_at.min(self.tended_at.map_or(now, |last| now.max(last + TENDING)));
        }
        if touched(Place::Repository) || touched(Place::Anywhere) {
            self.halt.cut_short(now);
        }
        if now >= self.round_at {
            self.round_at = now + if eyes.see() { ROUND } else { POLL };
            self.tend_at = now;
            self.handed_out = Exhausted::default();
            self.backlog.try_all();
        }
    }

    /// Looks and does what is to be done; returns when to look again if nothing happens.
    fn round(&mut self) -> Instant {
        if let Some(until) = self.halt.lasts(Instant::now()) {
            return until;
        }
        self.desk.busy = false;
        match self.look() {
            Ok(Look::Done { growing }) => {
                if self.halt.end() {
                    self.desk.tell(Report::Resumed);
                }
                let now = Instant::now();
                // What came while there was work may have told nobody.
                let soon =
                    if self.desk.busy || self.backlog.is_due() { Some(now) } else { growing.then_some(now + GROWING) };
                let hand_out = if self.hand_out_due { self.hand_out_at } else { self.round_at };
                soon.unwrap_or(self.round_at).min(self.tend_at).min(self.round_at).min(hand_out)
            }
            Ok(Look::Paused(reason)) => {
                if self.halt.pause(&reason) {
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
        if self.halt.is_news(&text) {
            self.desk.tell(Report::Trouble(error));
        }
        // The folder, or the repository in it, may be another one by now.
        if let Ok(again) = self.workspace.reopened(self.wait) {
            self.workspace = again;
        }
        self.halt.meet(text, Instant::now())
    }

    fn look(&mut self) -> Result<Look, OpsError> {
        let head = match self.workspace.head_now() {
            Ok(head) => head,
            Err(AuditError::Waiting { reason }) => return Ok(Look::Paused(reason)),
            Err(error) => return Err(error.into()),
        };
        if self.halt.end_pause() {
            self.desk.tell(Report::Resumed);
        }
        self.workspace.own_folder_is_ours()?;
        self.rules.look(&self.workspace, &head, &mut self.desk)?;
        let tending = Instant::now() >= self.tend_at;
        self.backlog.take_up(&mut self.workspace, self.wait, &mut self.desk)?;
        let growing = deliver(&mut self.workspace, self.wait, &mut self.desk);
        self.backlog.note(&mut self.desk);
        let growing = growing?;
        self.backlog.go_on(&mut self.workspace, self.wait, &mut self.desk, tending)?;
        if tending {
            self.look_at_tasks()?;
        }
        if Instant::now() >= self.clocks_at {
            self.look_at_clocks()?;
        }
        let start = Instant::now();
        self.hand_out_due = start < self.hand_out_at;
        if !self.hand_out_due {
            self.hand_out()?;
            self.hand_out_at = Instant::now() + start.elapsed() * HAND_OUT_SHARE;
        }
        Ok(Look::Done { growing })
    }

    fn look_at_tasks(&mut self) -> Result<(), OpsError> {
        let desk = &self.desk;
        let tended = tend(&mut self.workspace, self.wait, QUIET, &mut self.seen, &mut |worked| desk.rest(worked))?;
        let now = Instant::now();
        self.tended_at = Some(now);
        self.tend_at = if tended.waiting > 0 { now + TENDING } else { self.round_at.max(now + TENDING) };
        for changed in tended.adopted {
            self.desk.tell(Report::Adopted(Box::new(changed)));
        }
        for changed in tended.passed {
            self.desk.tell(Report::Passed(Box::new(changed)));
        }
        for changed in tended.followed {
            self.desk.tell(Report::Followed(Box::new(changed)));
        }
        for changed in tended.moved {
            self.desk.tell(Report::Moved(Box::new(changed)));
        }
        for changed in tended.committed {
            self.desk.tell(Report::Committed(Box::new(changed)));
        }
        for (task, error) in tended.troubled {
            self.desk.failed = true;
            self.desk.tell(Report::Troubled { task, error });
        }
        for stray in tended.strays.iter().take(STRAYS) {
            let (path, reason) = (stray.path.display().to_string(), stray.reason.to_string());
            if self.desk.told.is_news(format!("{path}: {reason}")) {
                self.desk.tell(Report::Stray { path, reason });
            }
        }
        Ok(())
    }

    /// Moves what has run out, and learns when the next thing does.
    fn look_at_clocks(&mut self) -> Result<(), OpsError> {
        let desk = &self.desk;
        let start = Instant::now();
        let ran_out = run_out(&mut self.workspace, self.wait, DryRun::No, &mut |worked| desk.rest(worked))?;
        let now = Instant::now();
        // Looking costs more where there are more tasks: changes of them never make it take more than a tenth of the time.
        self.clocks_after = now + RECOUNTING.max((now - start) * 10);
        // The clock may jump meanwhile, so it is asked again every so often.
        self.clocks_at = now + ran_out.next.map_or(CLOCKS, |next| self.workspace.until(next).min(CLOCKS));
        for changed in ran_out.timed_out {
            self.desk.tell(Report::TimedOut(Box::new(changed)));
        }
        for changed in ran_out.lapsed {
            self.desk.tell(Report::Lapsed(Box::new(changed)));
        }
        for (task, error) in ran_out.troubled {
            self.desk.failed = true;
            if self.desk.told.is_news(format!("{task}: {error}")) {
                self.desk.tell(Report::Troubled { task, error });
            }
        }
        Ok(())
    }

    fn hand_out(&mut self) -> Result<(), OpsError> {
        let desk = &self.desk;
        let rest = &mut |worked| desk.rest(worked);
        let done = hand_out(&mut self.workspace, self.wait, &mut self.handed_out, DryRun::No, rest)?;
        let to_share = done.to_share;
        self.desk.tell_of_handed_out(done);
        match &mut self.errands {
            _ if !to_share => {}
            Some(errands) => errands.hand_out(&self.workspace),
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
        workflows: paths.root().join(crate::format::config::WORKFLOWS_FOLDER),
        git: workspace.repository.git_dir().to_owned(),
    }
}
