//! Something is found out of each of many commits, with every core, and told in their order.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::error::ProjectError;
use super::workspace::Workspace;
use crate::git::CommitId;

/// So many commits are looked at sooner than another thread is started.
const FEW: usize = 200;
/// So many are looked at by one thread in one go, at most: neighbours have to do with the same tasks.
const SHARE: usize = 1_000;

/// Has `of` look at the commits, in shares, and tells `each` what it found, in the order of the commits, until `each` breaks off.
pub(crate) fn side_by_side<T: Send>(
    workspace: &Workspace,
    commits: &[CommitId],
    of: impl Fn(&Workspace, &[CommitId]) -> Result<Vec<T>, ProjectError> + Sync,
    each: &mut dyn FnMut(T) -> Result<ControlFlow<()>, ProjectError>,
) -> Result<ControlFlow<()>, ProjectError> {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    if commits.len() <= FEW || cores == 1 {
        for share in commits.chunks(SHARE) {
            if tell(of(workspace, share)?, each)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        return Ok(ControlFlow::Continue(()));
    }
    let shares: Vec<_> =
        commits.chunks(commits.len().div_ceil(cores * 4).clamp(FEW, SHARE)).collect();
    let (seed, next) = (workspace.seed(Duration::ZERO), AtomicUsize::new(0));
    thread::scope(|scope| {
        // Whoever is far ahead waits: what is found and not told yet is kept in memory.
        let (sender, receiver) = mpsc::sync_channel::<(usize, Result<Vec<T>, ProjectError>)>(cores);
        for _ in 0..cores {
            let (sender, seed, next, shares, of) = (sender.clone(), &seed, &next, &shares, &of);
            scope.spawn(move || {
                let own = match seed.open() {
                    Ok(own) => own,
                    Err(error) => return drop(sender.send((0, Err(error)))),
                };
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(share) = shares.get(number) else { return };
                    // Nobody listens any more once something has failed, or was enough.
                    if sender.send((number, of(&own, share))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut early: BTreeMap<usize, Vec<T>> = BTreeMap::new();
        let mut wanted = 0;
        for (number, found) in receiver {
            early.insert(number, found?);
            while let Some(found) = early.remove(&wanted) {
                if tell(found, each)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                wanted += 1;
            }
        }
        Ok(ControlFlow::Continue(()))
    })
}

fn tell<T>(
    found: Vec<T>,
    each: &mut dyn FnMut(T) -> Result<ControlFlow<()>, ProjectError>,
) -> Result<ControlFlow<()>, ProjectError> {
    for one in found {
        if each(one)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
