//! Completion files: each is taken from the inbox, and recorded in the history or refused with a reason.
//!
//! They are processed in batches of different tasks; a second completion of a task waits for the next batch. A file is first renamed:
//! the new name has the id of the completion, so a redelivery after a crash is recognized, and the visit that it is for, so two files
//! of one visit never pass two gates. The watcher that processes a file keeps it locked, so that two watchers never treat it
//! differently. A file is removed only when the history has its completion, and refused files are kept; so a completion is always in
//! exactly one place.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tracing::warn;

use super::report::{DeliveryOutcome, Reporter};
use crate::dispatch::hand_out::next_batch;
use crate::domain::{Completion, Digest, Timestamp};
use crate::git::CommitId;
use crate::observability::notices::compose::write_conflict_notice;
use crate::project::error::{ProjectError, reason_of};
use crate::project::workspace::Workspace;
use crate::rules::Refusal;
use crate::storage::inbox::{FileClass, InboxFile, OpenInboxFile, VisitMark};
use crate::storage::random::ulid;
use crate::storage::{Inbox, StoreError};
use crate::system::crash_points;
use crate::tasks::apply::BATCH_SIZE;
use crate::tasks::complete::{complete_checked, complete_together, record_conflict};
use crate::tasks::inbox::{
    ScanStart, bind_to_mark, find_lost_visit, find_meant_visit, has_end, is_partial, is_temporary,
    parse_inbox_file,
};
use crate::tasks::plan::{Changed, DryRun};

/// The time for which waiting files are tried before new ones are looked for.
const SHARE: Duration = Duration::from_millis(40);
/// The most waiting files that are tried at once, before the time is checked.
const MOST_AT_ONCE: usize = 8;

/// A taken file, and the time when it was dropped; `None` if an earlier process took it.
type TakenFile = (InboxFile, Option<Timestamp>);

/// Returns the next files, at most that many.
type NextFiles<'m> = dyn FnMut(&Workspace, usize) -> Result<Vec<TakenFile>, ProjectError> + 'm;

/// A completion that was read from its file.
struct DeliveredFile {
    file: InboxFile,
    /// Keeps the file locked while it is processed.
    open: OpenInboxFile,
    completion: Completion,
    /// The time when the file was dropped, if known.
    dropped: Option<Timestamp>,
}

/// Completion files in the inbox, and taken files that wait: left by a killed watcher, or delayed by an error. Waiting files are
/// retried a few at a time, after new ones.
pub(crate) struct Deliveries {
    /// True if the waiting files must be listed before new files are taken.
    must_list: bool,
    /// True if files wait for a task file.
    waits: bool,
    retry: Retry,
    /// The files to be tried now, oldest first.
    due: VecDeque<InboxFile>,
    /// The files that may still be incomplete, each with HEAD's commit when it was first seen.
    growing: BTreeMap<String, CommitId>,
    /// True if no watcher sees the files being closed.
    pub is_once: bool,
}

/// The state of a retry of all waiting files. Errors that do not occur again have ended after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Retry {
    No,
    Due,
    Begun,
}

impl Deliveries {
    pub(crate) fn new() -> Self {
        let (due, growing) = (VecDeque::new(), BTreeMap::new());
        Self { must_list: true, waits: false, retry: Retry::No, due, growing, is_once: false }
    }

    /// Makes the next run list the waiting files again.
    pub(crate) fn forget(&mut self) {
        self.must_list = true;
    }

    /// Makes the next run retry all waiting files.
    pub(crate) fn try_all(&mut self) {
        if self.retry == Retry::No {
            self.retry = Retry::Due;
        }
    }

    /// Returns whether any waiting file is due now.
    pub(crate) fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Processes the inbox, then retries waiting files for a short while. `changed`: task files may have changed, which may end the
    /// wait. Returns whether files are left that may still be incomplete.
    pub(crate) fn run(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        reporter: &mut Reporter<'_>,
        changed: bool,
    ) -> Result<bool, ProjectError> {
        workspace.check_own_folder()?;
        reporter.waiting = false;
        let mut taken = Vec::new();
        if self.must_list {
            self.due.clear();
            taken = leftovers(workspace, reporter)?;
        }
        let growing = self.deliver(workspace, wait, taken, reporter)?;
        self.waits |= reporter.waiting;
        if self.must_list {
            reporter.errors.end_check();
            (self.must_list, self.retry) = (false, Retry::No);
        }
        self.try_waiting(workspace, wait, reporter, changed)?;
        Ok(growing)
    }

    fn try_waiting(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        reporter: &mut Reporter<'_>,
        changed: bool,
    ) -> Result<(), ProjectError> {
        let is_due = self.retry == Retry::Due;
        if self.due.is_empty() && (is_due || changed && self.waits) {
            self.due = leftovers(workspace, reporter)?.into();
            self.retry = if is_due { Retry::Begun } else { Retry::No };
            self.waits = false;
        }
        if !self.due.is_empty() {
            workspace.check_own_folder()?;
            let start = Instant::now();
            reporter.waiting = false;
            let paths = workspace.paths.clone();
            let inbox = Inbox::at(&paths);
            let due = &mut self.due;
            let mut more = |_: &Workspace, room: usize| {
                let most = if start.elapsed() < SHARE { room.min(MOST_AT_ONCE) } else { 0 };
                Ok(due.drain(..due.len().min(most)).map(|file| (file, None)).collect())
            };
            let scan = ScanStart::now(workspace);
            let mut work = DeliveryWork { inbox: &inbox, scan: scan.as_ref(), reporter };
            let done = work.process(workspace, wait, &mut more);
            self.waits |= reporter.waiting;
            if !self.due.is_empty() {
                // The loop then checks whether it must end.
                let _ = reporter.rest(start.elapsed());
            }
            done?;
        }
        if self.due.is_empty() && self.retry == Retry::Begun {
            reporter.errors.end_check();
            self.retry = Retry::No;
        }
        Ok(())
    }

    /// Takes the files of the inbox, oldest first, and processes them after files that were taken before. A bad file stops no other
    /// one. Returns whether files are left that may still be incomplete.
    fn deliver(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        taken: Vec<InboxFile>,
        reporter: &mut Reporter<'_>,
    ) -> Result<bool, ProjectError> {
        let (paths, clock) = (workspace.paths.clone(), workspace.clock());
        let inbox = Inbox::at(&paths);
        let scan = ScanStart::now(workspace);
        let seen = std::mem::take(&mut self.growing);
        let (mut growing, mut ready) = (false, Vec::new());
        for candidate in inbox.scan(clock(), &|name| reporter.witnessed(name))? {
            let name = &candidate.file.name;
            let found = seen.get(name).copied().or(scan.as_ref().map(|scan| scan.commit));
            let is_growing = match candidate.class {
                FileClass::Growing => {
                    !(self.is_once && has_end(workspace, &candidate.file, &ulid(clock())?))
                }
                FileClass::Closed => is_partial(workspace, &candidate.file, &ulid(clock())?),
                _ => false,
            };
            if is_growing {
                growing = true;
                self.growing.extend(found.map(|found| (name.clone(), found)));
                continue;
            }
            match candidate.class {
                FileClass::Ignored => {}
                FileClass::Odd(oddity) => refuse_odd(&inbox, &candidate.file, &oddity, reporter)?,
                FileClass::Growing | FileClass::Closed | FileClass::Ready => {
                    // Taking a file changes this time.
                    let dropped = Timestamp::from_nanosecond(candidate.stat.ctime.into()).ok();
                    ready.push((candidate.file, dropped, found));
                }
            }
        }
        let mut failed = Vec::new();
        // After a kill, files are processed in the order of their ids: each id is of a later millisecond.
        let mut time = clock();
        let (mut ready, mut taken) = (ready.into_iter(), taken.into_iter());
        let mut work = DeliveryWork { inbox: &inbox, scan: scan.as_ref(), reporter };
        let done = work.process(workspace, wait, &mut |workspace, room| {
            let mut batch: Vec<TakenFile> =
                taken.by_ref().take(room).map(|file| (file, None)).collect();
            if !batch.is_empty() {
                return Ok(batch);
            }
            for (file, dropped, found) in ready.by_ref().take(room) {
                time = time.checked_add(Duration::from_millis(1)).unwrap_or(time);
                let (id, mut visit) = (ulid(time)?, None);
                // An unreadable file is taken too, and then refused.
                if let (Some(scan), Some(found), Ok(Some(bytes))) =
                    (&scan, found, inbox.peek(&file))
                    && let Ok(completion) = parse_inbox_file(&file, &bytes, &id)
                {
                    visit = scan.visit_of(workspace, &completion, dropped, found)?;
                }
                match inbox.take(&file, &id, visit.as_ref()) {
                    Ok(taken) => batch.extend(taken.map(|taken| (taken, dropped))),
                    Err(fault) => failed.push((file.name, fault)),
                }
            }
            if !batch.is_empty() {
                inbox.sync_taken()?;
            }
            Ok(batch)
        });
        for (name, fault) in failed {
            reporter.report_delivered(DeliveryOutcome::Waiting { name, error: fault.into() });
        }
        done.map(|()| growing)
    }
}

/// Returns the taken files that are not processed yet, oldest first. Refuses files that aof did not take.
fn leftovers(
    workspace: &Workspace,
    reporter: &mut Reporter<'_>,
) -> Result<Vec<InboxFile>, ProjectError> {
    let inbox = Inbox::at(&workspace.paths);
    let (taken, strangers): (Vec<_>, Vec<_>) =
        inbox.taken()?.into_iter().partition(|file| file.id.is_some());
    for file in &strangers {
        refuse_odd(&inbox, file, "it was put where only `aof` puts files", reporter)?;
    }
    // A watcher that was killed may not have synced them.
    if !taken.is_empty() {
        inbox.remove_old_names(&taken)?;
        inbox.sync_taken()?;
    }
    Ok(taken)
}

/// Processes taken files.
struct DeliveryWork<'w, 't> {
    inbox: &'w Inbox<'w>,
    /// `None` if the rules are invalid, so that all files wait.
    scan: Option<&'w ScanStart>,
    reporter: &'w mut Reporter<'t>,
}

impl DeliveryWork<'_, '_> {
    /// Processes the files that `more` returns, in batches. Between batches, a person's git can use the repository.
    fn process(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        more: &mut NextFiles<'_>,
    ) -> Result<(), ProjectError> {
        let mut pending: Vec<DeliveredFile> = Vec::new();
        loop {
            let start = Instant::now();
            let files = more(workspace, BATCH_SIZE.saturating_sub(pending.len()))?;
            if files.is_empty() && pending.is_empty() {
                return Ok(());
            }
            for taken in files {
                pending.extend(self.open(workspace, taken)?);
            }
            let batch = next_batch(&mut pending, |work| work.completion.ticket.task.clone());
            let more_to_come = batch.len() == BATCH_SIZE || !pending.is_empty();
            self.complete_batch(workspace, wait, &batch)?;
            if more_to_come && self.reporter.rest(start.elapsed()).is_break() {
                return Ok(());
            }
        }
    }

    /// Opens and reads a taken file, and refuses it if it is not a completion.
    fn open(
        &mut self,
        workspace: &Workspace,
        (mut file, dropped): TakenFile,
    ) -> Result<Option<DeliveredFile>, ProjectError> {
        let open = match self.inbox.open(&file) {
            Ok(Some(open)) => open,
            // Another watcher holds it, or has processed it.
            Ok(None) => return Ok(None),
            Err(error @ (StoreError::WrongKind { .. } | StoreError::TooLarge { .. })) => {
                refuse_odd(self.inbox, &file, &error.to_string(), self.reporter)?;
                return Ok(None);
            }
            Err(error) => {
                wait_or_fail(file.name, error.into(), self.reporter)?;
                return Ok(None);
            }
        };
        let Some(id) = file.id.clone() else { return Ok(None) };
        match parse_inbox_file(&file, &open.bytes, &id) {
            Ok(mut completion) => {
                let dropped = dropped.or_else(|| open.changed());
                // An earlier process took it, or could not read the task.
                if let Some(scan) = self.scan.filter(|_| file.visit.is_none())
                    && let Some(visit) =
                        scan.visit_of(workspace, &completion, dropped, scan.commit)?
                {
                    self.mark(&mut file, &mut completion, &visit);
                }
                Ok(Some(DeliveredFile { file, open, completion, dropped }))
            }
            Err(reason) => {
                self.refuse(&file, &open, reason)?;
                Ok(None)
            }
        }
    }

    /// Completes a batch of different tasks, and removes, refuses or keeps each file.
    fn complete_batch(
        &mut self,
        workspace: &mut Workspace,
        wait: Duration,
        batch: &[DeliveredFile],
    ) -> Result<(), ProjectError> {
        let mut completions: Vec<Completion> =
            batch.iter().map(|work| work.completion.clone()).collect();
        let mut trouble = Ok(());
        let (mut refused, mut late, mut to_check) = (Vec::new(), Vec::new(), Vec::new());
        let mut waits = vec![true; batch.len()];
        let mut receive = |this: &mut Self, place: usize, result: Result<Changed, ProjectError>| {
            let DeliveredFile { file, open, .. } = &batch[place];
            waits[place] = result.as_ref().is_err_and(is_temporary);
            let settled = match result {
                Ok(changed) => this.finish(file, open, changed),
                Err(error) if waits[place] => wait_or_fail(file.name.clone(), error, this.reporter),
                Err(ProjectError::Refused(refusal)) if may_be_late(&refusal) => {
                    late.push((place, refusal));
                    Ok(())
                }
                Err(error) => {
                    refused.push((place, error));
                    Ok(())
                }
            };
            if settled.is_err() {
                trouble = settled;
            }
        };
        let done =
            complete_together(
                workspace,
                wait,
                &mut completions,
                &mut |place, result| match result {
                    Err(ProjectError::Refused(Refusal::ChecksDue { .. })) => to_check.push(place),
                    result => receive(self, place, result),
                },
            );
        // Checks may take long, so the other completions are processed first.
        for place in to_check {
            workspace.restart_wait(wait);
            let checked = complete_checked(workspace, &mut completions[place], true, DryRun::No);
            receive(self, place, checked);
        }
        for (place, (work, completion)) in batch.iter().zip(&mut completions).enumerate() {
            let is_unbound = work.file.visit.is_none() && work.completion.ticket.visit.is_none();
            if waits[place]
                && is_unbound
                && let Some(visit) = find_meant_visit(workspace, completion)
            {
                self.mark(&mut work.file.clone(), completion, &visit);
            }
        }
        done.and(trouble)?;
        for (place, error) in refused {
            let DeliveredFile { file, open, .. } = &batch[place];
            self.refuse(file, open, refused_reason(workspace, &batch[place], &error))?;
        }
        for (place, refusal) in late {
            let DeliveredFile { file, open, .. } = &batch[place];
            let refusal = find_conflict(workspace, &batch[place], refusal);
            // The late agent may not look here again, so the notice is written before the file is refused. But no file waits for
            // notices or for the event stream.
            let digest = Digest::of(&open.bytes);
            if let Err(error) = write_conflict_notice(workspace, &refusal, &digest) {
                self.reporter.report_undelivered(error.to_string());
            }
            if let Err(error) = record_conflict(workspace, &refusal, digest.as_str()) {
                warn!("the event stream misses that a completion came too late: {error}");
                self.reporter.report_undelivered(error.to_string());
            }
            let reason = refused_reason(workspace, &batch[place], &refusal.into());
            self.refuse(file, open, reason)?;
        }
        Ok(())
    }

    /// Adds the visit that a taken file is for to its name.
    fn mark(&self, file: &mut InboxFile, completion: &mut Completion, visit: &VisitMark) {
        bind_to_mark(completion, Some(visit));
        if let Err(error) = self.inbox.mark(file, visit) {
            // It still waits; the next retry looks the visit up again.
            warn!("a completion file that waits does not keep which visit it means: {error}");
        }
    }

    fn finish(
        &mut self,
        file: &InboxFile,
        open: &OpenInboxFile,
        changed: Changed,
    ) -> Result<(), ProjectError> {
        let settled = self.inbox.remove_counted(file, open);
        let name = file.name.clone();
        self.reporter
            .report_delivered(DeliveryOutcome::Completed { name, changed: Box::new(changed) });
        // The completion counts: the history has the id of the file.
        settled.or_else(|error| wait_or_fail(file.name.clone(), error.into(), self.reporter))
    }

    fn refuse(
        &mut self,
        file: &InboxFile,
        open: &OpenInboxFile,
        mut reason: Value,
    ) -> Result<(), ProjectError> {
        reason["file"] = json!(file.name);
        reason["sha256"] = json!(Digest::of(&open.bytes).as_str());
        crash_points::point("inbox.judged");
        put_aside(self.inbox, file, reason, self.reporter)
    }
}

/// Returns the reason why a completion is refused, with the visit that it is for: once the visit has ended, the refusal no longer
/// matters.
fn refused_reason(workspace: &Workspace, work: &DeliveredFile, error: &ProjectError) -> Value {
    let mut reason = reason_of(error);
    if let Some(mark) = find_meant_visit(workspace, &work.completion) {
        let mut ticket = work.completion.ticket.clone();
        (ticket.visit, ticket.branch) = (Some(mark.visit), mark.branch);
        reason["ticket"] = json!(ticket);
    }
    reason
}

/// Returns whether a completion may be refused because another one ended its visit.
const fn may_be_late(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::VisitEnded { .. }
            | Refusal::Finished { .. }
            | Refusal::WrongRole { .. }
            | Refusal::WrongTask { .. }
            | Refusal::HumanRequired { .. }
            | Refusal::AssignedToAnother { .. }
            | Refusal::NotYourBranch { .. }
    )
}

/// Returns the conflict of a late completion that was taken for one of the next visit; any other refusal unchanged.
fn find_conflict(workspace: &Workspace, work: &DeliveredFile, refusal: Refusal) -> Refusal {
    let completion = &work.completion;
    match work.dropped.filter(|_| !completion.names_visit()) {
        Some(dropped) => {
            let lost = find_lost_visit(workspace, completion, dropped).ok().flatten();
            lost.unwrap_or(refusal)
        }
        None => refusal,
    }
}

fn refuse_odd(
    inbox: &Inbox<'_>,
    file: &InboxFile,
    why: &str,
    reporter: &mut Reporter<'_>,
) -> Result<(), ProjectError> {
    let reason = json!({"error": "not_a_completion_file", "message": why, "file": file.name});
    put_aside(inbox, file, reason, reporter)
}

fn put_aside(
    inbox: &Inbox<'_>,
    file: &InboxFile,
    reason: Value,
    reporter: &mut Reporter<'_>,
) -> Result<(), ProjectError> {
    let name = file.name.clone();
    match inbox.refuse(file, &reason) {
        Ok(Some(path)) => {
            reporter.report_delivered(DeliveryOutcome::Refused { name, reason, path });
        }
        // Another watcher has refused it already.
        Ok(None) => {}
        Err(error) => wait_or_fail(name, error.into(), reporter)?,
    }
    Ok(())
}

/// Reports an error of one file. Fails with an error that every file would have.
fn wait_or_fail(
    name: String,
    error: ProjectError,
    reporter: &mut Reporter<'_>,
) -> Result<(), ProjectError> {
    if error.is_general() {
        return Err(error);
    }
    reporter.report_delivered(DeliveryOutcome::Waiting { name, error });
    Ok(())
}
