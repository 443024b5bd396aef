//! A merge made again from its parents, by the rules: what it has to make of a task, and which entries count no more by it.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::judge::{Judge, is_new};
use crate::domain::{Task, TaskId};
use crate::git::log::trailers::Trailer;
use crate::git::{CommitId, LogEntry};
use crate::history::merge::commits::{Changes, Pair};
use crate::history::merge_driver::message::superseded_trailer;
use crate::project::error::error::OpsError;
use crate::rules::merge::{Merged, with_people_of};

/// What a merge has to decide.
pub(crate) enum Again {
    /// The merge of two commits, from each of the commits at which they parted. Of other merges nothing is known.
    Parted(Vec<Parted>),
    /// Where they parted is not here, as in a shallow clone: nothing can be said of it.
    CutOff,
}

/// What two sides did since one commit.
pub(crate) struct Parted {
    base: CommitId,
    changes: Changes,
    pairs: BTreeMap<TaskId, Pair>,
}

impl Again {
    pub(crate) fn of(judge: &mut Judge<'_>, entry: &LogEntry) -> Result<Self, OpsError> {
        let [ours, theirs] = entry.parents[..] else { return Ok(Self::Parted(Vec::new())) };
        let repository = &judge.workspace.repository;
        if !repository.has_commit(ours) || !repository.has_commit(theirs) {
            return Ok(Self::CutOff);
        }
        let bases = repository.merge_bases(ours, theirs)?;
        if bases.is_empty() && repository.is_shallow()? {
            return Ok(Self::CutOff);
        }
        let parted = bases.into_iter().map(|base| {
            let changes = Changes::since(judge.workspace, base, (ours, theirs))?;
            let pairs = judge.pairs(entry, &changes)?;
            Ok(Parted { base, changes, pairs })
        });
        parted.collect::<Result<_, _>>().map(Self::Parted)
    }

    fn parted(&self) -> &[Parted] {
        match self {
            Self::Parted(parted) => parted,
            Self::CutOff => &[],
        }
    }

    /// Returns where the two parted.
    pub(crate) fn bases(&self) -> impl Iterator<Item = CommitId> {
        self.parted().iter().map(|parted| parted.base)
    }

    /// Returns what may come of a task whose people say what `after` does; nothing where it cannot be merged by the rules.
    pub(crate) fn merged(
        &self,
        judge: &mut Judge<'_>,
        entry: &LogEntry,
        id: &TaskId,
        after: &Task,
    ) -> Result<Vec<Merged>, OpsError> {
        let rules = judge.rules(entry)?;
        let mut all = Vec::new();
        for Parted { changes, pairs, .. } in self.parted() {
            let own = match (changes.ours.get(id), changes.theirs.get(id)) {
                (Some(_), Some(_)) => {
                    all.extend(pairs.get(id).and_then(|pair| pair.merged(&rules, after)));
                    continue;
                }
                // What one side has left as it was is as the other has it.
                (Some(own), None) | (None, Some(own)) => own,
                (None, None) => continue,
            };
            let Some((_, version)) = own.after.first() else { continue };
            let Some(standing) =
                judge.read(&rules, entry, id, *version)?.filter(|task| !is_new(task))
            else {
                continue;
            };
            let task = Task { updated: after.updated, ..with_people_of(&standing, after) };
            all.push(Merged { task, superseded: Vec::new(), carried: 0, dropped: Vec::new() });
        }
        Ok(all)
    }

    /// Returns the trailers of all entries that count no more, with the tasks as the merge has them where it has them.
    pub(crate) fn superseded(
        &self,
        judge: &mut Judge<'_>,
        entry: &LogEntry,
        afters: &BTreeMap<TaskId, Rc<Task>>,
    ) -> Result<BTreeSet<String>, OpsError> {
        let rules = judge.rules(entry)?;
        let pairs = self.parted().iter().flat_map(|parted| &parted.pairs);
        let merged = pairs.flat_map(|(id, pair)| {
            let after = afters.get(id).and_then(|after| pair.merged(&rules, after));
            pair.merged(&rules, &pair.ours).into_iter().chain(after)
        });
        let superseded = merged.flat_map(|merged| merged.superseded);
        Ok(superseded
            .filter_map(|own| superseded_trailer(&own))
            .map(|own: Trailer| own.value().to_owned())
            .collect())
    }
}
