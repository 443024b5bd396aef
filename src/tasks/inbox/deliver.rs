//! Completion files: taken from the inbox, each settled in the history or refused with a reason that teaches.
//!
//! They are worked on in batches of different tasks; a second completion of a task waits for the next batch.
//! A file is renamed to `.taken/ID-NAME` first, and that id is its completion's: delivered again after a crash it is recognised.
//! Whoever works on it holds it until it is settled or refused, so no two come to different ends with it. It is removed only when
//! the history has it, and refused files are kept; so a completion is always in exactly one place.
//! One that has to wait keeps the visit that it [means](crate::tasks::inbox::visits).

use std::collections::HashSet;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tracing::warn;

use crate::domain::{Completion, CompletionId, Digest};
use crate::files::completion_file;
use crate::files::completion_file::Syntax;
use crate::files::diagnostic::Diagnostic;
use crate::files::frontmatter::SpliceRefusal;
use crate::git::GitError;
use crate::project::error::{ProjectError, reason_of};
use crate::project::workspace::Workspace;
use crate::rules::Refusal;
use crate::storage::inbox::{FileClass, InboxFile, OpenInboxFile, Witnessed};
use crate::storage::random::ulid;
use crate::storage::{Inbox, StoreError};
use crate::system::crash_points;
use crate::tasks::apply::MOST;
use crate::tasks::complete::{complete_together, leave_conflict, would_complete};
use crate::tasks::inbox::visits::{DeliveredVisits, bind, meant_visit};
use crate::tasks::plan::Changed;

/// What became of one file of the inbox.
pub(crate) enum Delivered {
    /// It counted.
    Completed { name: String, changed: Box<Changed> },
    /// It was refused, for a reason that stands beside the file, which is at that path now.
    Refused { name: String, reason: Value, path: PathBuf },
    /// It stays, because nothing can be written now; it is tried again.
    Waiting { name: String, error: ProjectError },
}

/// Whoever has files delivered.
pub(crate) trait Recipient {
    /// Returns what somebody saw of the file of that name in the inbox.
    fn witnessed(&self, name: &OsStr) -> Witnessed;
    /// Is told what became of a file.
    fn told(&mut self, delivered: Delivered);
    /// Is told of a completion that came after another one of the same visit, before its file is refused.
    fn late(
        &mut self,
        workspace: &Workspace,
        refusal: &Refusal,
        delivery: &Digest,
    ) -> Result<(), ProjectError>;
    /// Is told why somebody could not be told of something; what it was about went its way all the same.
    fn untold(&mut self, problem: String);
    /// Leaves the repository to others for a while, after work that took so long; says whether to go on.
    fn rest(&mut self, worked: Duration) -> ControlFlow<()>;
}

/// A file that was taken, and the listing in which it first lay in the inbox.
type TakenFile = (InboxFile, u64);

/// Returns what was taken from the inbox and not settled, by somebody who was killed, or could not write then; the oldest first. What
/// is no completion file is refused.
pub(crate) fn leftovers(
    workspace: &Workspace,
    recipient: &mut dyn Recipient,
) -> Result<Vec<InboxFile>, ProjectError> {
    workspace.own_folder_is_ours()?;
    let inbox = Inbox::of(&workspace.paths);
    let (taken, strangers): (Vec<_>, Vec<_>) =
        inbox.taken()?.into_iter().partition(|file| file.id.is_some());
    for file in &strangers {
        refuse_odd(&inbox, file, "it was put where only `aof` puts files", recipient)?;
    }
    // Whoever took them may not have come to that.
    if !taken.is_empty() {
        inbox.sync_taken()?;
    }
    Ok(taken)
}

/// Works on taken files, as many at a time as `more` brings. What somebody holds is left to them.
pub(crate) fn resume(
    workspace: &mut Workspace,
    wait: Duration,
    more: &mut dyn FnMut(usize) -> Vec<InboxFile>,
    visits: &mut DeliveredVisits,
    recipient: &mut dyn Recipient,
) -> Result<(), ProjectError> {
    workspace.own_folder_is_ours()?;
    let paths = workspace.paths.clone();
    let inbox = Inbox::of(&paths);
    let listing = visits.list(&inbox)?;
    work_off(workspace, &inbox, wait, visits, recipient, &mut |room| {
        Ok(more(room).into_iter().map(|file| (file, listing)).collect())
    })
}

/// Takes what is in the inbox, the oldest first, and works on it behind files that were taken before; a bad one stops none of the
/// others. Returns whether files are left that may still be written.
pub(crate) fn deliver(
    workspace: &mut Workspace,
    wait: Duration,
    taken: Vec<InboxFile>,
    visits: &mut DeliveredVisits,
    recipient: &mut dyn Recipient,
) -> Result<bool, ProjectError> {
    workspace.own_folder_is_ours()?;
    let (paths, clock) = (workspace.paths.clone(), workspace.clock());
    let inbox = Inbox::of(&paths);
    let listing = visits.list(&inbox)?;
    let (mut growing, mut ready) = (false, Vec::new());
    for candidate in inbox.scan(clock(), &|name| recipient.witnessed(name))? {
        match candidate.class {
            FileClass::Ignored => {}
            FileClass::Growing => growing = true,
            FileClass::Closed if is_partial(workspace, &candidate.file, &ulid(clock())?) => {
                growing = true;
            }
            FileClass::Odd(oddity) => refuse_odd(&inbox, &candidate.file, &oddity, recipient)?,
            FileClass::Closed | FileClass::Ready => {
                let name = OsStr::new(&candidate.file.name);
                let first_seen = visits.first_seen(name, candidate.stat.inode);
                ready.push((candidate.file, first_seen));
            }
        }
    }
    let mut failed = Vec::new();
    // Whoever takes them up after a kill goes by the order of their ids: each is of a later millisecond.
    let mut time = clock();
    let (mut ready, mut taken) = (ready.into_iter(), taken.into_iter());
    let done = work_off(workspace, &inbox, wait, visits, recipient, &mut |room| {
        let mut batch: Vec<TakenFile> =
            taken.by_ref().take(room).map(|file| (file, listing)).collect();
        if !batch.is_empty() {
            return Ok(batch);
        }
        for (file, first_seen) in ready.by_ref().take(room) {
            time += Duration::from_millis(1);
            match inbox.take(&file, &ulid(time)?) {
                Ok(taken) => batch.extend(taken.map(|taken| (taken, first_seen))),
                Err(fault) => failed.push((file.name, fault)),
            }
        }
        if !batch.is_empty() {
            inbox.sync_taken()?;
        }
        Ok(batch)
    });
    for (name, fault) in failed {
        recipient.told(Delivered::Waiting { name, error: fault.into() });
    }
    done.map(|()| growing)
}

/// A completion that was read from its file.
struct DeliveredFile {
    file: InboxFile,
    /// Held for as long as it is worked on.
    open: OpenInboxFile,
    completion: Completion,
    /// Whether it says itself which visit it means.
    names_visit: bool,
    first_seen: u64,
}

/// Works through what `more` brings, in batches; there are gaps between them in which a person's git gets at the repository.
fn work_off(
    workspace: &mut Workspace,
    inbox: &Inbox<'_>,
    wait: Duration,
    visits: &mut DeliveredVisits,
    recipient: &mut dyn Recipient,
    more: &mut dyn FnMut(usize) -> Result<Vec<TakenFile>, ProjectError>,
) -> Result<(), ProjectError> {
    let mut pending: Vec<DeliveredFile> = Vec::new();
    loop {
        let start = Instant::now();
        let files = more(MOST.saturating_sub(pending.len()))?;
        if files.is_empty() && pending.is_empty() {
            return Ok(());
        }
        for (file, first_seen) in files {
            pending.extend(open(inbox, file, first_seen, recipient)?);
        }
        for work in &mut pending {
            visits.bind(&mut work.completion, work.first_seen);
        }
        let listing = visits.list(inbox)?;
        let batch = first_of_each(&mut pending, |work| work.completion.ticket.task.clone());
        let more_to_come = batch.len() == MOST || !pending.is_empty();
        work_on(workspace, inbox, wait, &batch, recipient, &mut |completion, names_visit| {
            visits.note(completion, names_visit, listing);
        })?;
        if more_to_come && recipient.rest(start.elapsed()).is_break() {
            return Ok(());
        }
    }
}

/// Takes the first item of every key out of the list; what is left keeps its order.
fn first_of_each<T, K: Eq + std::hash::Hash>(items: &mut Vec<T>, key: impl Fn(&T) -> K) -> Vec<T> {
    let mut seen = HashSet::new();
    let (first, rest) = std::mem::take(items).into_iter().partition(|item| seen.insert(key(item)));
    *items = rest;
    first
}

/// Opens and reads a taken file; what is no completion is refused.
fn open(
    inbox: &Inbox<'_>,
    file: InboxFile,
    first_seen: u64,
    recipient: &mut dyn Recipient,
) -> Result<Option<DeliveredFile>, ProjectError> {
    let open = match inbox.open(&file) {
        Ok(Some(open)) => open,
        // Another watcher has it, or was faster.
        Ok(None) => return Ok(None),
        Err(error @ (StoreError::WrongKind { .. } | StoreError::TooLarge { .. })) => {
            refuse_odd(inbox, &file, &error.to_string(), recipient)?;
            return Ok(None);
        }
        Err(error) => {
            wait_or_fail(file.name, error.into(), recipient)?;
            return Ok(None);
        }
    };
    let Some(id) = &file.id else { return Ok(None) };
    match completion_in(&file, &open.bytes, id) {
        Ok(completion) => {
            // A file that was marked does not say so itself.
            let names_visit = file.visit.is_none() && completion.ticket.visit.is_some();
            Ok(Some(DeliveredFile { file, open, completion, names_visit, first_seen }))
        }
        Err(reason) => {
            refuse(inbox, &file, &open, reason, recipient)?;
            Ok(None)
        }
    }
}

/// Completes a batch of different tasks, and puts each file where it belongs. `note` is told which visit each meant.
fn work_on(
    workspace: &mut Workspace,
    inbox: &Inbox<'_>,
    wait: Duration,
    batch: &[DeliveredFile],
    recipient: &mut dyn Recipient,
    note: &mut dyn FnMut(&Completion, bool),
) -> Result<(), ProjectError> {
    let mut completions: Vec<Completion> =
        batch.iter().map(|work| work.completion.clone()).collect();
    let mut trouble = Ok(());
    let mut late = Vec::new();
    let mut waits = vec![true; batch.len()];
    let mut refused = vec![false; batch.len()];
    let done = complete_together(workspace, wait, &mut completions, &mut |place, result| {
        let DeliveredFile { file, open, .. } = &batch[place];
        waits[place] = result.as_ref().is_err_and(is_passing);
        refused[place] = result.is_err() && !waits[place];
        let settled = match result {
            Ok(changed) => settle(inbox, file, open, changed, recipient),
            Err(error) if waits[place] => wait_or_fail(file.name.clone(), error, recipient),
            Err(ProjectError::Refused(refusal @ Refusal::VisitEnded { .. })) => {
                late.push((place, refusal));
                Ok(())
            }
            Err(error) => refuse(inbox, file, open, reason_of(&error), recipient),
        };
        if settled.is_err() {
            trouble = settled;
        }
    });
    for (place, (work, completion)) in batch.iter().zip(&mut completions).enumerate() {
        if waits[place] && !work.names_visit && work.file.visit.is_none() {
            mark(workspace, inbox, &work.file, completion);
        }
        // A ticket that was refused may be a wrong one, which says nothing of files without one.
        if !(work.names_visit && refused[place]) {
            note(completion, work.names_visit);
        }
    }
    done.and(trouble)?;
    for (place, refusal) in late {
        let DeliveredFile { file, open, .. } = &batch[place];
        // Whoever was late may not look here again, so it is told before the file is settled; but no file waits for notices.
        let digest = Digest::of(&open.bytes);
        if let Err(error) = recipient.late(workspace, &refusal, &digest) {
            recipient.untold(error.to_string());
        }
        // Nor for the event stream.
        if let Err(error) = leave_conflict(workspace, &refusal, digest.as_str()) {
            warn!("the event stream misses that a completion came too late: {error}");
            recipient.untold(error.to_string());
        }
        refuse(inbox, file, open, reason_of(&refusal.into()), recipient)?;
    }
    Ok(())
}

/// Has a file that waits keep the visit that it means.
fn mark(workspace: &Workspace, inbox: &Inbox<'_>, file: &InboxFile, completion: &mut Completion) {
    let Some(visit) = meant_visit(workspace, completion) else { return };
    bind(completion, Some(&visit));
    if let Err(error) = inbox.mark(file, &visit) {
        // It waits all the same, and is looked at anew when it is tried again.
        warn!("a completion file that waits does not keep which visit it means: {error}");
    }
}

fn settle(
    inbox: &Inbox<'_>,
    file: &InboxFile,
    open: &OpenInboxFile,
    changed: Changed,
    recipient: &mut dyn Recipient,
) -> Result<(), ProjectError> {
    let settled = inbox.settle(file, open);
    recipient.told(Delivered::Completed { name: file.name.clone(), changed: Box::new(changed) });
    // It counts all the same: the file has its id, and the history knows it.
    settled.or_else(|error| wait_or_fail(file.name.clone(), error.into(), recipient))
}

fn refuse(
    inbox: &Inbox<'_>,
    file: &InboxFile,
    open: &OpenInboxFile,
    mut reason: Value,
    recipient: &mut dyn Recipient,
) -> Result<(), ProjectError> {
    reason["file"] = json!(file.name);
    reason["sha256"] = json!(Digest::of(&open.bytes).as_str());
    crash_points::point("inbox.judged");
    put_aside(inbox, file, reason, recipient)
}

fn refuse_odd(
    inbox: &Inbox<'_>,
    file: &InboxFile,
    why: &str,
    recipient: &mut dyn Recipient,
) -> Result<(), ProjectError> {
    let reason = json!({"error": "not_a_completion_file", "message": why, "file": file.name});
    put_aside(inbox, file, reason, recipient)
}

fn put_aside(
    inbox: &Inbox<'_>,
    file: &InboxFile,
    reason: Value,
    recipient: &mut dyn Recipient,
) -> Result<(), ProjectError> {
    let name = file.name.clone();
    match inbox.refuse(file, &reason) {
        Ok(Some(path)) => recipient.told(Delivered::Refused { name, reason, path }),
        // Another watcher was faster.
        Ok(None) => {}
        Err(error) => wait_or_fail(name, error.into(), recipient)?,
    }
    Ok(())
}

/// Tells of trouble that is one file's; what is everybody's ends the work.
fn wait_or_fail(
    name: String,
    error: ProjectError,
    recipient: &mut dyn Recipient,
) -> Result<(), ProjectError> {
    if error.is_general() {
        return Err(error);
    }
    recipient.told(Delivered::Waiting { name, error });
    Ok(())
}

/// Returns whether the trouble is not the completion's, as where its task has no file that can be read: it waits in its place.
pub(crate) fn is_passing(error: &ProjectError) -> bool {
    match error {
        ProjectError::Store(_)
        | ProjectError::InvalidRules(_)
        | ProjectError::Restless { .. }
        | ProjectError::Frozen { .. }
        | ProjectError::NotPutBack { .. }
        | ProjectError::UnreadableTask { .. }
        // The way in which a person wrote the file.
        | ProjectError::Splice {
            refusal: SpliceRefusal::Shared { .. } | SpliceRefusal::Shape { .. } | SpliceRefusal::Layout { .. },
            ..
        }
        // Only the worktree lacks it: an editor that saves by renaming, or somebody who deleted it and may bring it back.
        | ProjectError::NoTask { committed: Some(_), .. } => true,
        ProjectError::Unfit { code, .. } => *code == "rules_not_committed",
        ProjectError::Git(error) => !matches!(error, GitError::BadPerson { .. } | GitError::BadPath { .. }),
        _ => false,
    }
}

/// Returns the completion that a file says, of the visit that it was found to mean before, if any; or the reason why it is refused.
pub(crate) fn completion_in(
    file: &InboxFile,
    bytes: &[u8],
    id: &CompletionId,
) -> Result<Completion, Value> {
    let Some(syntax) = Syntax::of(&file.name) else {
        let message = "a completion file is named `*.yaml`, `*.json` or `*.md`, so that it is known how to read it";
        return Err(json!({"error": "unknown_suffix", "message": message}));
    };
    let mut completion = completion_file::parse(bytes, syntax, id).map_err(|faults| {
        let text = String::from_utf8_lossy(bytes);
        let first = faults.first().map(|fault| fault.message.as_str()).unwrap_or_default();
        let diagnostics =
            faults.iter().map(|fault| Diagnostic::from_fault(&file.name, &text, fault));
        json!({
            "error": "unreadable_completion",
            "message": format!("{first}\n\nMend the file and drop it into `.aof/inbox` again."),
            "diagnostics": diagnostics.map(|found| found.to_value()).collect::<Vec<_>>(),
        })
    })?;
    bind(&mut completion, file.visit.as_ref());
    Ok(completion)
}

/// Returns whether a file that was closed a moment ago says no whole completion: a shell that writes with `>` and then `>>` closes it
/// each time. What is wrong with it for good is told when it has been left alone.
pub(crate) fn is_partial(workspace: &Workspace, file: &InboxFile, id: &CompletionId) -> bool {
    let bytes = match Inbox::of(&workspace.paths).peek(file) {
        Ok(Some(bytes)) => bytes,
        Err(StoreError::Unsteady { .. }) => return true,
        // Who takes it finds out.
        Ok(None) | Err(_) => return false,
    };
    let Ok(completion) = completion_in(file, &bytes, id) else { return true };
    // The body of a Markdown file comes last.
    if Syntax::of(&file.name) == Some(Syntax::Markdown) && completion.body.is_none() {
        return true;
    }
    let has_blockers =
        completion.blockers.is_some() || completion.outcome.as_deref() == Some("complete");
    if completion.outcome.is_some() && completion.summary.is_some() && has_blockers {
        return false;
    }
    // It leaves out what few may: the rules tell.
    let lacking = would_complete(workspace, &completion);
    matches!(
        lacking,
        Err(ProjectError::Refused(
            Refusal::MissingOutcome { .. }
                | Refusal::MissingSummary { .. }
                | Refusal::MissingBlockers { .. }
        ))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_one_completion_a_task_and_later_ones_keep_their_order() {
        let mut pending = vec![("a", 1), ("b", 1), ("a", 2), ("c", 1), ("a", 3), ("b", 2)];
        let batches: Vec<Vec<(&str, i32)>> = std::iter::from_fn(|| {
            Some(first_of_each(&mut pending, |item| item.0)).filter(|b| !b.is_empty())
        })
        .collect();
        assert_eq!(
            batches,
            [vec![("a", 1), ("b", 1), ("c", 1)], vec![("a", 2), ("b", 2)], vec![("a", 3)]]
        );
    }
}
