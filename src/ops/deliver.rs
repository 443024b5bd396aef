//! Completion files: taken from the inbox, each settled in the history or refused with a reason that teaches.
//!
//! They are worked on in batches of different tasks; a second completion of a task waits for the next batch.
//! A file is renamed to `.taken/ID-NAME` first, and that id is its completion's: delivered again after a crash it is recognised.
//! Whoever works on it holds it until it is settled or refused, so no two come to different ends with it. It is removed only when the history has it, and refused files are kept; so a completion is always in exactly one place.
//! One that has to wait keeps the visit that it [means](super::meant).

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tracing::warn;

use super::complete::{Completed, complete_together, would_complete};
use super::error::{OpsError, reason_of};
use super::events::leave_conflict;
use super::meant::{Heard, bind, meant};
use super::notices::put_conflict;
use super::together::MOST;
use super::workspace::Workspace;
use crate::audit::AuditError;
use crate::engine::Refusal;
use crate::format::completion_file::{self, Syntax};
use crate::format::diagnostic::Diagnostic;
use crate::model::{Completion, Digest};
use crate::stop;
use crate::store::inbox::{Class, Delivery, Held, Item, Leftover, Taken, Witnessed};
use crate::store::random::{DeliveryId, DeliveryIds};
use crate::store::{Inbox, StoreError, intent};

/// What became of one file of the inbox.
pub enum Delivered {
    /// It counted.
    Completed {
        /// What it was called.
        name: String,
        /// What it did.
        completed: Box<Completed>,
    },
    /// It was refused.
    Refused {
        /// What it was called.
        name: String,
        /// The reason, as it stands beside the file.
        reason: Value,
        /// Where the file is now.
        path: PathBuf,
    },
    /// It stays, because nothing can be written now; it is tried again.
    Waiting {
        /// What it was called.
        name: String,
        /// What it waits for.
        error: OpsError,
    },
}

/// Whoever has files delivered.
pub trait Recipient {
    /// Returns what somebody saw of the file of that name in the inbox.
    fn witnessed(&self, name: &OsStr) -> Witnessed;
    /// Is told what became of a file.
    fn told(&mut self, delivered: Delivered);
    /// Is told why somebody could not be told of something; what it was about went its way all the same.
    fn untold(&mut self, problem: String);
    /// Leaves the repository to others for a while, after work that took so long; says whether to go on.
    fn rest(&mut self, worked: Duration) -> ControlFlow<()>;
}

/// Returns what was taken from the inbox and not settled, by somebody who was killed, or could not write then; the oldest first. What
/// is no completion file is refused.
pub fn leftovers(workspace: &Workspace, recipient: &mut dyn Recipient) -> Result<Vec<Taken>, OpsError> {
    workspace.own_folder_is_ours()?;
    let inbox = Inbox::of(&workspace.paths);
    let mut all = Vec::new();
    for leftover in inbox.taken()? {
        match leftover {
            Leftover::Taken(taken) => all.push(taken),
            Leftover::Stranger(item) => {
                refuse_odd(&inbox, &item, "it was put where only `aof` puts files", recipient)?;
            }
        }
    }
    if !all.is_empty() {
        inbox.keep_taken()?;
    }
    Ok(all)
}

/// Works on taken files, as many at a time as `more` brings. What somebody holds is left to them.
pub fn resume(
    workspace: &mut Workspace,
    wait: Duration,
    more: &mut dyn FnMut(usize) -> Vec<Taken>,
    heard: &mut Heard,
    recipient: &mut dyn Recipient,
) -> Result<(), OpsError> {
    workspace.own_folder_is_ours()?;
    let paths = workspace.paths.clone();
    work_off(workspace, &Inbox::of(&paths), wait, heard, recipient, &mut |room| {
        Ok(more(room).into_iter().map(Dropped::before).collect())
    })
}

/// Takes what is in the inbox, the oldest first, and works on it behind files that were taken before; a bad one stops none of the
/// others. `heard` is what was said in earlier goes. Returns whether files are left that may still be written.
pub fn deliver(
    workspace: &mut Workspace,
    wait: Duration,
    taken: Vec<Taken>,
    heard: &mut Heard,
    recipient: &mut dyn Recipient,
) -> Result<bool, OpsError> {
    workspace.own_folder_is_ours()?;
    let paths = workspace.paths.clone();
    let clock = workspace.clock();
    let inbox = Inbox::of(&paths);
    let mut growing = false;
    let mut ready = Vec::new();
    let candidates = inbox.scan(clock(), &|name| recipient.witnessed(name))?;
    for candidate in candidates {
        match candidate.class {
            Class::Ignored => {}
            Class::Growing => growing = true,
            Class::Closed if looks_torn(workspace, &candidate.item, &DeliveryId::new(clock())?) => growing = true,
            Class::Odd(oddity) => refuse_odd(&inbox, &candidate.item, &oddity.to_string(), recipient)?,
            Class::Closed | Class::Ready => ready.push((candidate.item, candidate.stat.ctime)),
        }
    }
    let mut failed = Vec::new();
    // Whoever takes them up after a kill goes by the order of their ids.
    let mut ids = DeliveryIds::default();
    let (mut ready, mut taken) = (ready.into_iter(), taken.into_iter());
    let done = work_off(workspace, &inbox, wait, heard, recipient, &mut |room| {
        let earlier: Vec<_> = taken.by_ref().take(room).map(Dropped::before).collect();
        if !earlier.is_empty() {
            return Ok(earlier);
        }
        let (mut wanted, mut dropped) = (Vec::with_capacity(room), HashMap::with_capacity(room));
        for (item, at) in ready.by_ref().take(room) {
            let id = ids.next(clock())?;
            dropped.insert(id.clone(), at);
            wanted.push((item, id));
        }
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let taking = inbox.take(wanted)?;
        failed.extend(taking.failed);
        let with_time = |taken: Taken| Dropped { at: dropped.get(&taken.id).copied(), taken };
        Ok(taking.taken.into_iter().map(with_time).collect())
    });
    for (item, fault) in failed {
        recipient.told(Delivered::Waiting { name: item.name.to_string_lossy().into_owned(), error: fault.into() });
    }
    done.map(|()| growing)
}

/// A file that was taken.
struct Dropped {
    taken: Taken,
    /// When it got its name in the inbox, as [`FileStat::ctime`](crate::store::FileStat::ctime); nothing for one that was taken before.
    at: Option<i64>,
}

impl Dropped {
    const fn before(taken: Taken) -> Self {
        Self { taken, at: None }
    }
}

/// A completion that was read from its file.
struct Work {
    taken: Taken,
    /// Held for as long as it is worked on.
    _held: Held,
    delivery: Delivery,
    /// What it says, of the visit that it was found to mean, if any.
    completion: Completion,
    /// Whether it says itself which visit it means.
    names_visit: bool,
    /// When the file got its name in the inbox, where that is known.
    dropped: Option<i64>,
}

/// Works through what `more` brings, in batches; there are gaps between them in which a person's git gets at the repository.
fn work_off(
    workspace: &mut Workspace,
    inbox: &Inbox<'_>,
    wait: Duration,
    heard: &mut Heard,
    recipient: &mut dyn Recipient,
    more: &mut dyn FnMut(usize) -> Result<Vec<Dropped>, OpsError>,
) -> Result<(), OpsError> {
    let mut pending: Vec<Work> = Vec::new();
    heard.begin();
    loop {
        let start = Instant::now();
        let files = more(MOST.saturating_sub(pending.len()))?;
        if files.is_empty() && pending.is_empty() {
            return Ok(());
        }
        for file in files {
            pending.extend(open(inbox, file, recipient)?);
        }
        for work in &mut pending {
            heard.bind(&mut work.completion, work.dropped);
        }
        let batch = first_of_each(&mut pending, |work| work.completion.ticket.task.clone());
        let more_to_come = batch.len() == MOST || !pending.is_empty();
        let said = work_on(workspace, inbox, wait, &batch, recipient)?;
        // What a commit writes last.
        let counted = intent::written_at(&workspace.paths);
        for (work, completion) in batch.iter().zip(&said) {
            heard.note(completion, work.names_visit, counted);
        }
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

/// Reads a taken file; what is no completion is refused.
fn open(
    inbox: &Inbox<'_>,
    Dropped { taken, at }: Dropped,
    recipient: &mut dyn Recipient,
) -> Result<Option<Work>, OpsError> {
    let held = inbox.hold(&taken).and_then(|held| held.map(|held| Ok((held, inbox.read(&taken)?))).transpose());
    let (held, delivery) = match held {
        Ok(Some((held, Some(delivery)))) => (held, delivery),
        // Another watcher has it, or was faster.
        Ok(_) => return Ok(None),
        Err(error @ (StoreError::WrongKind { .. } | StoreError::TooLarge { .. })) => {
            refuse_odd(inbox, taken.item(), &error.to_string(), recipient)?;
            return Ok(None);
        }
        Err(error) => {
            wait_or_fail(taken.name, error.into(), recipient)?;
            return Ok(None);
        }
    };
    inbox.forget_reasons(&taken, &told_of(&taken, &delivery));
    match read(&delivery, &taken) {
        Ok(mut completion) => {
            let names_visit = completion.ticket.visit.is_some();
            bind(&mut completion, taken.meant.as_ref());
            Ok(Some(Work { taken, _held: held, delivery, completion, names_visit, dropped: at }))
        }
        Err(reason) => {
            refuse(inbox, &taken, &delivery, reason, recipient)?;
            Ok(None)
        }
    }
}

/// Completes a batch of different tasks, and puts each file where it belongs. Returns the completions with the visits that they
/// were taken for.
fn work_on(
    workspace: &mut Workspace,
    inbox: &Inbox<'_>,
    wait: Duration,
    batch: &[Work],
    recipient: &mut dyn Recipient,
) -> Result<Vec<Completion>, OpsError> {
    let mut completions: Vec<Completion> = batch.iter().map(|work| work.completion.clone()).collect();
    let mut trouble = Ok(());
    let mut late = Vec::new();
    let mut waits = vec![true; batch.len()];
    let done = complete_together(workspace, wait, &mut completions, &mut |place, result| {
        let Work { taken, delivery, .. } = &batch[place];
        let name = taken.name.clone();
        waits[place] = result.as_ref().is_err_and(is_passing);
        let settled = match result {
            Ok(completed) => settle(inbox, taken, delivery, completed, recipient),
            Err(error) if is_passing(&error) => wait_or_fail(name, error, recipient),
            Err(OpsError::Refused(refusal @ Refusal::VisitEnded { .. })) => {
                late.push((place, refusal));
                Ok(())
            }
            Err(error) => refuse(inbox, taken, delivery, reason_of(&error), recipient),
        };
        if settled.is_err() {
            trouble = settled;
        }
    });
    for ((work, completion), _) in batch.iter().zip(&mut completions).zip(waits).filter(|(_, waits)| *waits) {
        keep_meant(workspace, inbox, work, completion);
    }
    done.and(trouble)?;
    for (place, refusal) in late {
        let Work { taken, delivery, .. } = &batch[place];
        // Whoever was late may not look here again, so it is told before the file is settled; but no file waits for notices.
        let digest = Digest::of(&delivery.bytes);
        if let Err(error) = put_conflict(workspace, &refusal, &digest) {
            recipient.untold(error.to_string());
        }
        // Nor for the event stream.
        if let Err(error) = leave_conflict(workspace, &refusal, digest.as_str()) {
            warn!("the event stream misses that a completion came too late: {error}");
            recipient.untold(error.to_string());
        }
        refuse(inbox, taken, delivery, reason_of(&refusal.into()), recipient)?;
    }
    Ok(completions)
}

/// Has a file that waits keep the visit that it means.
fn keep_meant(workspace: &Workspace, inbox: &Inbox<'_>, work: &Work, completion: &mut Completion) {
    if work.names_visit || work.taken.meant.is_some() {
        return;
    }
    let Some(meant) = meant(workspace, completion) else { return };
    bind(completion, Some(&meant));
    if let Err(error) = inbox.keep_meant(&work.taken, &meant) {
        // It waits all the same, and is looked at anew when it is tried again.
        warn!("a completion file that waits does not keep which visit it means: {error}");
    }
}

fn settle(
    inbox: &Inbox<'_>,
    taken: &Taken,
    delivery: &Delivery,
    completed: Completed,
    recipient: &mut dyn Recipient,
) -> Result<(), OpsError> {
    let settled = inbox.settle(taken, delivery);
    recipient.told(Delivered::Completed { name: taken.name.clone(), completed: Box::new(completed) });
    // It counts all the same: the file has its id, and the history knows it.
    settled.or_else(|error| wait_or_fail(taken.name.clone(), error.into(), recipient))
}

/// Tells of trouble that is one file's; what is everybody's ends the work.
fn wait_or_fail(name: String, error: OpsError, recipient: &mut dyn Recipient) -> Result<(), OpsError> {
    if error.is_general() {
        return Err(error);
    }
    recipient.told(Delivered::Waiting { name, error });
    Ok(())
}

/// Trouble that is not the completion's, as where its task has no file that can be read: it waits in its place.
pub(super) fn is_passing(error: &OpsError) -> bool {
    match error {
        OpsError::Store(_)
        | OpsError::InvalidRules(_)
        | OpsError::Restless { .. }
        | OpsError::Frozen { .. }
        | OpsError::UnreadableTask { .. }
        // Only the worktree lacks it: an editor that saves by renaming, or somebody who deleted it and may bring it back.
        | OpsError::NoTask { committed: Some(_), .. } => true,
        OpsError::Unfit { code, .. } => *code == "rules_not_committed",
        OpsError::Audit(error) => !matches!(error, AuditError::BadPerson { .. } | AuditError::BadPath { .. }),
        _ => false,
    }
}

/// Returns whether a file that was closed a moment ago says no whole completion: a shell that writes with `>` and then `>>` closes it
/// each time. What is wrong with it for good is told when it has been left alone.
fn looks_torn(workspace: &Workspace, item: &Item, id: &DeliveryId) -> bool {
    let Some(syntax) = item.name.to_str().and_then(Syntax::of) else { return false };
    match Inbox::of(&workspace.paths).peek(item) {
        Ok(Some(bytes)) => match completion_file::parse(&bytes, syntax, &id.completion()) {
            // Its body comes last.
            Ok(completion) if syntax == Syntax::Markdown && completion.body.is_none() => true,
            Ok(completion) => lacks_some(workspace, &completion),
            Err(_) => true,
        },
        Err(StoreError::Unsteady { .. }) => true,
        // Who takes it finds out.
        Ok(None) | Err(_) => false,
    }
}

/// Returns whether a completion would be refused for what it does not say. It is rehearsed where it leaves out what few may.
fn lacks_some(workspace: &Workspace, completion: &Completion) -> bool {
    let has_blockers = completion.blockers.is_some() || completion.outcome.as_deref() == Some("complete");
    if completion.outcome.is_some() && completion.summary.is_some() && has_blockers {
        return false;
    }
    matches!(
        would_complete(workspace, completion),
        Err(OpsError::Refused(
            Refusal::MissingOutcome { .. } | Refusal::MissingSummary { .. } | Refusal::MissingBlockers { .. }
        ))
    )
}

fn read(delivery: &Delivery, taken: &Taken) -> Result<Completion, Value> {
    let Some(syntax) = Syntax::of(&taken.name) else {
        return Err(plain_reason(
            "unknown_suffix",
            "a completion file is named `*.yaml`, `*.json` or `*.md`, so that it is known how to read it",
        ));
    };
    completion_file::parse(&delivery.bytes, syntax, &taken.id.completion()).map_err(|faults| {
        let text = String::from_utf8_lossy(&delivery.bytes);
        let diagnostics: Vec<Value> =
            faults.iter().map(|fault| Diagnostic::from_fault(&taken.name, &text, fault).to_value()).collect();
        let first = faults.first().map(|fault| fault.message.clone()).unwrap_or_default();
        let mut reason = Map::new();
        reason.insert("error".to_owned(), json!("unreadable_completion"));
        reason.insert(
            "message".to_owned(),
            json!(format!("{first}\n\nMend the file and drop it into `.aof/inbox` again.")),
        );
        reason.insert("diagnostics".to_owned(), json!(diagnostics));
        Value::Object(reason)
    })
}

fn refuse(
    inbox: &Inbox<'_>,
    taken: &Taken,
    delivery: &Delivery,
    mut reason: Value,
    recipient: &mut dyn Recipient,
) -> Result<(), OpsError> {
    if let (Value::Object(map), Value::Object(told)) = (&mut reason, told_of(taken, delivery)) {
        map.extend(told);
    }
    stop::point("inbox.judged");
    put_aside(inbox, taken.item(), taken.name.clone(), reason, recipient)
}

/// Returns what every reason says of the file that it is for.
fn told_of(taken: &Taken, delivery: &Delivery) -> Value {
    json!({"file": taken.name, "sha256": Digest::of(&delivery.bytes).as_str()})
}

fn refuse_odd(inbox: &Inbox<'_>, item: &Item, why: &str, recipient: &mut dyn Recipient) -> Result<(), OpsError> {
    let name = item.name.to_string_lossy().into_owned();
    let mut reason = plain_reason("not_a_completion_file", why);
    reason["file"] = json!(name);
    put_aside(inbox, item, name, reason, recipient)
}

fn put_aside(
    inbox: &Inbox<'_>,
    item: &Item,
    name: String,
    reason: Value,
    recipient: &mut dyn Recipient,
) -> Result<(), OpsError> {
    match inbox.refuse(item, &reason) {
        Ok(Some(path)) => recipient.told(Delivered::Refused { name, reason, path }),
        // Another watcher was faster.
        Ok(None) => {}
        Err(error) => wait_or_fail(name, error.into(), recipient)?,
    }
    Ok(())
}

fn plain_reason(code: &str, message: &str) -> Value {
    json!({"error": code, "message": message})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_one_completion_a_task_and_later_ones_keep_their_order() {
        let mut pending = vec![("a", 1), ("b", 1), ("a", 2), ("c", 1), ("a", 3), ("b", 2)];
        let batches: Vec<Vec<(&str, i32)>> =
            std::iter::from_fn(|| Some(first_of_each(&mut pending, |item| item.0)).filter(|b| !b.is_empty())).collect();
        assert_eq!(batches, [vec![("a", 1), ("b", 1), ("c", 1)], vec![("a", 2), ("b", 2)], vec![("a", 3)]]);
    }
}
