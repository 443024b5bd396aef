//! What led to which commit: stretches of history, whether one commit led to another, and where two parted. Each answer is exact,
//! whatever the clocks said when the commits were made, and reads no more of a long history than it takes to be sure.
//!
//! A commit leads to none of those that led to it. So once all that is left to read led to a parent of some commit, none of
//! it can have come from that commit.

use super::error::AuditError;
use super::id::CommitId;
use super::paint::{Colours, Paint, Painted};
use super::repository::Repository;

/// The commits of a stretch of history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// They, each behind those that it came from.
    pub commits: Vec<CommitId>,
    /// Those that have nothing before them here, though there was something.
    pub ends: Vec<CommitId>,
}

/// How far two branches are from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Distance {
    /// Commits that only the first has.
    pub ahead: usize,
    /// Commits that only the other has.
    pub behind: usize,
}

/// Of a commit that led to one of those that are known.
const KNOWN: Colours = 1;
/// Of a commit that led to the first of two, or is it.
const ONE: Colours = 1 << 1;
/// Of a commit that led to the other.
const OTHER: Colours = 1 << 2;
/// Of a commit that led to one that led to both.
const OLD: Colours = 1 << 3;
/// No commit has it, so nothing is settled by it.
const NEVER: Colours = 1 << 63;
/// So many first commits of a stretch have a colour of their own.
const FIRSTS: usize = 62;

impl Repository {
    /// Returns every commit that led to `until`, and to none of `since`, each behind those that it came from. Those whose parents are not
    /// here, as in a shallow clone, are told apart: there is nothing to compare them with.
    pub fn all_since(&self, since: &[CommitId], until: CommitId) -> Result<Reach, AuditError> {
        let (paint, last) = self.painted(since, until)?;
        let mut reach = Reach { commits: Vec::new(), ends: Vec::new() };
        for number in in_order(paint.commits(), last) {
            let commit = &paint.commits()[number];
            if commit.is_end { reach.ends.push(commit.id) } else { reach.commits.push(commit.id) }
        }
        Ok(reach)
    }

    /// Returns the commits that were added to a branch since it was at `known`, oldest first. Of what was merged in, only the
    /// merge counts. Where the branch was rewritten, those count that it did not have. Nothing is returned where history ends before
    /// that is known, as it does in a shallow clone.
    pub fn added_since(&self, known: CommitId, head: CommitId) -> Result<Option<Vec<CommitId>>, AuditError> {
        if !self.has_commit(known) {
            return Ok(None);
        }
        let (paint, last) = self.painted(&[known], head)?;
        let mut added = Vec::new();
        let mut next = Some(last);
        while let Some(commit) = next.map(|number| &paint.commits()[number]).filter(|commit| !commit.has(KNOWN)) {
            if commit.is_end {
                return Ok(None);
            }
            added.push(commit.id);
            next = commit.parents().first().copied();
        }
        added.reverse();
        Ok(Some(added))
    }

    /// Counts what two commits have that the other has not, as far as history goes here.
    pub fn distance(&self, one: CommitId, other: CommitId) -> Result<Distance, AuditError> {
        Ok(Distance { ahead: self.count_since(other, one)?, behind: self.count_since(one, other)? })
    }

    /// Returns whether a commit led to another one, or is the same, as far as history goes here.
    pub fn led_to(&self, commit: CommitId, later: CommitId) -> Result<bool, AuditError> {
        if commit == later {
            return Ok(true);
        }
        let mut paint = Paint::new(self, |colours| colours);
        let Some(first) = here(paint.give(commit, ONE), commit)? else { return Ok(false) };
        if here(paint.give(later, OTHER), later)?.is_none() {
            return Ok(false);
        }
        paint.run_until(ONE, |commits| commits[first].has(OTHER))?;
        Ok(paint.commits()[first].has(OTHER))
    }

    /// Returns the commits at which two others parted, the newest first: several where both had merged the other before, and none where
    /// they never met, as far as history goes here.
    pub fn merge_bases(&self, one: CommitId, other: CommitId) -> Result<Vec<CommitId>, AuditError> {
        let inherited = |colours| if colours & (ONE | OTHER) == ONE | OTHER { colours | OLD } else { colours };
        let mut paint = Paint::new(self, inherited);
        for (commit, colour) in [(one, ONE), (other, OTHER)] {
            if here(paint.give(commit, colour), commit)?.is_none() {
                return Ok(Vec::new());
            }
        }
        paint.run_until(OLD, |_| false)?;
        let mut bases: Vec<&Painted> =
            paint.commits().iter().filter(|commit| commit.has(ONE | OTHER) && !commit.has(OLD)).collect();
        bases.sort_by_key(|base| std::cmp::Reverse(base.committed));
        let bases: Vec<CommitId> = bases.into_iter().map(|base| base.id).collect();
        // All of the best are among them. Where a clock was wrong, others may be as well.
        let mut best = Vec::with_capacity(bases.len());
        for base in &bases {
            let mut others = bases.iter().filter(|other| *other != base);
            if !others.try_fold(false, |is_old, other| Ok::<_, AuditError>(is_old || self.led_to(*base, *other)?))? {
                best.push(*base);
            }
        }
        Ok(best)
    }

    /// Returns the newest commit that led to `head` and to any of the others, if there is one here.
    pub fn newest_common(
        &self,
        head: CommitId,
        others: impl IntoIterator<Item = CommitId>,
    ) -> Result<Option<CommitId>, AuditError> {
        let mut nearest = None;
        for other in others {
            let Some(base) = self.merge_bases(head, other)?.first().copied() else { continue };
            let ahead = self.count_since(base, head)?;
            if nearest.is_none_or(|(least, _)| ahead < least) {
                nearest = Some((ahead, base));
            }
        }
        Ok(nearest.map(|(_, base)| base))
    }

    fn count_since(&self, known: CommitId, until: CommitId) -> Result<usize, AuditError> {
        let (paint, _) = self.painted(&[known], until)?;
        Ok(count_new(&paint))
    }

    /// Reads what led to `until` and gives what is known its colour, and nothing else. Returns the number of `until` as well.
    fn painted(&self, since: &[CommitId], until: CommitId) -> Result<(Paint<'_>, usize), AuditError> {
        let mut paint = Paint::new(self, |colours| colours);
        let last = paint.give(until, 0)?;
        for known in since {
            paint.give(*known, KNOWN)?;
        }
        paint.run_until(KNOWN, |_| false)?;
        // What is waiting is known. Something that it came from might be among what is not, if a clock was wrong.
        loop {
            let new = count_new(&paint);
            if new == 0 {
                break;
            }
            let all = paint.rule_out();
            paint.run_until(KNOWN | all, |_| false)?;
            if count_new(&paint) == new {
                break;
            }
            paint.leave(KNOWN);
        }
        Ok((paint, last))
    }
}

impl Paint<'_> {
    /// Gives what led to a first new commit a colour, another one for each of these. Returns them all: what has them led to something
    /// that every first one came from, and so came from none.
    fn rule_out(&mut self) -> Colours {
        let commits = self.commits();
        let is_new = |number: &usize| !commits[*number].has(KNOWN);
        let is_first = |number: &usize| is_new(number) && !commits[*number].parents().iter().any(is_new);
        let firsts: Vec<Box<[usize]>> =
            (0..commits.len()).filter(is_first).map(|number| commits[number].parents().into()).collect();
        if firsts.len() > FIRSTS {
            return NEVER;
        }
        let mut all = 0;
        for (place, parents) in firsts.into_iter().enumerate() {
            let colour = 2 << place;
            all |= colour;
            for parent in parents {
                self.run_down(parent, colour);
            }
        }
        all
    }
}

fn count_new(paint: &Paint<'_>) -> usize {
    paint.commits().iter().filter(|commit| !commit.has(KNOWN)).count()
}

/// Returns the numbers of the new commits that led to the last one, and its own, each behind its parents. What came of one line of
/// history stays together.
fn in_order(commits: &[Painted], last: usize) -> Vec<usize> {
    let is_new = |number: usize| !commits[number].has(KNOWN);
    let mut children = vec![0_usize; commits.len()];
    for number in (0..commits.len()).filter(|number| is_new(*number)) {
        for parent in commits[number].parents() {
            children[*parent] += 1;
        }
    }
    let mut order = Vec::new();
    let mut next: Vec<usize> = Vec::from_iter(is_new(last).then_some(last));
    while let Some(number) = next.pop() {
        order.push(number);
        for parent in commits[number].parents() {
            children[*parent] -= 1;
            if children[*parent] == 0 && is_new(*parent) {
                next.push(*parent);
            }
        }
    }
    order.reverse();
    order
}

/// A commit that is not here has no history here.
fn here(number: Result<usize, AuditError>, commit: CommitId) -> Result<Option<usize>, AuditError> {
    match number {
        Err(AuditError::Missing { id, .. }) if id == commit.object() => Ok(None),
        number => number.map(Some),
    }
}
