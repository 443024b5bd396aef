//! Completion files: taken from the inbox, each settled in the history or refused with a reason that teaches.
//!
//! They are worked on in batches of different tasks; a second completion of a task waits for the next batch.
//! A file is renamed to `.taken/ID-NAME` first, and that id is its completion's: delivered again after a crash it is recognised.
//! Whoever works on it holds it until it is settled or refused, so no two come to different ends with it. It is removed only when
//! the history has it, and refused files are kept; so a completion is always in exactly one place.
//! One that has to wait keeps the visit that it [means](crate::tasks::inbox::intended_visit).

use std::collections::HashMap;
use std::time::Duration;

use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::Inbox;
use crate::storage::inbox::FileClass;
use crate::storage::inbox::{Leftover, TakenFile};
use crate::storage::random::{UlidSequence, ulid};
use crate::tasks::inbox::batches::work_off;
use crate::tasks::inbox::intended_visit::Heard;
use crate::tasks::inbox::opening::Dropped;
use crate::tasks::inbox::refusing::refuse_odd;
use crate::tasks::inbox::torn::looks_torn;

use crate::tasks::inbox::recipient::{Delivered, Recipient};

/// Returns what was taken from the inbox and not settled, by somebody who was killed, or could not write then; the oldest first. What
/// is no completion file is refused.
pub(crate) fn leftovers(
    workspace: &Workspace,
    recipient: &mut dyn Recipient,
) -> Result<Vec<TakenFile>, OpsError> {
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
pub(crate) fn resume(
    workspace: &mut Workspace,
    wait: Duration,
    more: &mut dyn FnMut(usize) -> Vec<TakenFile>,
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
pub(crate) fn deliver(
    workspace: &mut Workspace,
    wait: Duration,
    taken: Vec<TakenFile>,
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
            FileClass::Ignored => {}
            FileClass::Growing => growing = true,
            FileClass::Closed if looks_torn(workspace, &candidate.item, &ulid(clock())?) => {
                growing = true;
            }
            FileClass::Odd(oddity) => {
                refuse_odd(&inbox, &candidate.item, &oddity, recipient)?;
            }
            FileClass::Closed | FileClass::Ready => {
                let first_seen = heard.first_seen(&candidate.item.name, candidate.stat.inode);
                ready.push((candidate.item, first_seen));
            }
        }
    }
    let mut failed = Vec::new();
    // Whoever takes them up after a kill goes by the order of their ids.
    let mut ids = UlidSequence::default();
    let (mut ready, mut taken) = (ready.into_iter(), taken.into_iter());
    let done = work_off(workspace, &inbox, wait, heard, recipient, &mut |room| {
        let earlier: Vec<_> = taken.by_ref().take(room).map(Dropped::before).collect();
        if !earlier.is_empty() {
            return Ok(earlier);
        }
        let (mut wanted, mut seen) = (Vec::with_capacity(room), HashMap::with_capacity(room));
        for (item, first_seen) in ready.by_ref().take(room) {
            let id = ids.next(clock())?;
            seen.insert(id.clone(), first_seen);
            wanted.push((item, id));
        }
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let taking = inbox.take(wanted)?;
        failed.extend(taking.failed);
        let dropped = |taken: TakenFile| Dropped {
            first_seen: seen.get(&taken.id).copied().flatten(),
            taken,
        };
        Ok(taking.taken.into_iter().map(dropped).collect())
    });
    for (item, fault) in failed {
        recipient.told(Delivered::Waiting {
            name: item.name.to_string_lossy().into_owned(),
            error: fault.into(),
        });
    }
    done.map(|()| growing)
}
