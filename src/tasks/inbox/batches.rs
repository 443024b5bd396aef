//! What was taken, worked off in batches of different tasks.

use std::cell::Cell;
use std::collections::HashSet;
use std::time::{Duration, Instant};

use tracing::warn;

use crate::domain::{Completion, Digest};
use crate::project::error::error::OpsError;
use crate::project::error::reason::reason_of;
use crate::project::workspace::Workspace;
use crate::rules::Refusal;
use crate::storage::Inbox;
use crate::storage::inbox::{Delivery, TakenFile};
use crate::tasks::apply::batch::MOST;
use crate::tasks::complete::{Completed, complete_together};
use crate::tasks::inbox::intended_visit::{Heard, bind, meant};
use crate::tasks::inbox::kept_back::{is_passing, wait_or_fail};
use crate::tasks::inbox::opening::{Dropped, Work, open};
use crate::tasks::inbox::recipient::{Delivered, Recipient};
use crate::tasks::inbox::refusing::refuse;
use crate::tasks::uncommitted_events::leave_conflict;

/// Works through what `more` brings, in batches; there are gaps between them in which a person's git gets at the repository.
pub(crate) fn work_off(
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
            heard.bind(&mut work.completion, work.first_seen);
        }
        let batch = first_of_each(&mut pending, |work| work.completion.ticket.task.clone());
        let more_to_come = batch.len() == MOST || !pending.is_empty();
        work_on(workspace, inbox, wait, &batch, heard, recipient)?;
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

/// Completes a batch of different tasks, and puts each file where it belongs. Notes what was heard of which visit.
fn work_on(
    workspace: &mut Workspace,
    inbox: &Inbox<'_>,
    wait: Duration,
    batch: &[Work],
    heard: &mut Heard,
    recipient: &mut dyn Recipient,
) -> Result<(), OpsError> {
    let mut completions: Vec<Completion> =
        batch.iter().map(|work| work.completion.clone()).collect();
    let mut trouble = Ok(());
    let mut late = Vec::new();
    let mut waits = vec![true; batch.len()];
    let mut looks = vec![0; batch.len()];
    let mut refused = vec![false; batch.len()];
    // A look holds until something more has counted.
    let look = Cell::new(None);
    let mut before = |place: usize| {
        looks[place] = match look.get() {
            Some(look) => look,
            None => heard.look(inbox)?,
        };
        look.set(Some(looks[place]));
        Ok(())
    };
    let done =
        complete_together(workspace, wait, &mut completions, &mut before, &mut |place, result| {
            look.set(None);
            let Work { taken, delivery, .. } = &batch[place];
            let name = taken.name.clone();
            waits[place] = result.as_ref().is_err_and(is_passing);
            refused[place] = result.as_ref().is_err_and(|error| !is_passing(error));
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
    for ((work, completion), _) in
        batch.iter().zip(&mut completions).zip(waits).filter(|(_, waits)| *waits)
    {
        keep_meant(workspace, inbox, work, completion);
    }
    for (place, (work, completion)) in batch.iter().zip(&completions).enumerate() {
        // A ticket that was refused may be a wrong one, which says nothing of files without one.
        if !(work.names_visit && refused[place]) {
            heard.note(completion, work.names_visit, looks[place]);
        }
    }
    done.and(trouble)?;
    for (place, refusal) in late {
        let Work { taken, delivery, .. } = &batch[place];
        // Whoever was late may not look here again, so it is told before the file is settled; but no file waits for notices.
        let digest = Digest::of(&delivery.bytes);
        if let Err(error) = recipient.late(workspace, &refusal, &digest) {
            recipient.untold(error.to_string());
        }
        // Nor for the event stream.
        if let Err(error) = leave_conflict(workspace, &refusal, digest.as_str()) {
            warn!("the event stream misses that a completion came too late: {error}");
            recipient.untold(error.to_string());
        }
        refuse(inbox, taken, delivery, reason_of(&refusal.into()), recipient)?;
    }
    Ok(())
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
    taken: &TakenFile,
    delivery: &Delivery,
    completed: Completed,
    recipient: &mut dyn Recipient,
) -> Result<(), OpsError> {
    let settled = inbox.settle(taken, delivery);
    recipient
        .told(Delivered::Completed { name: taken.name.clone(), completed: Box::new(completed) });
    // It counts all the same: the file has its id, and the history knows it.
    settled.or_else(|error| wait_or_fail(taken.name.clone(), error.into(), recipient))
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
