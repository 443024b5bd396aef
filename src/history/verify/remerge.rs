//! A merge made again from its parents by the rules: what becomes of each task, and which entries no longer count.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::commit_reader::{CommitReader, is_new};
use crate::domain::{Task, TaskId};
use crate::git::{CommitId, LogEntry};
use crate::history::merge::task_pairs::{Pair, TaskChanges, superseded_trailer};
use crate::project::error::ProjectError;
use crate::rules::merge::{Merged, with_people_of};

/// The merge of two commits, from each of the commits at which they parted. Other merges have none.
pub(crate) struct Remerge {
    sides: Vec<SidesSince>,
    /// Where the two parted is not here, as in a shallow clone: nothing can be said of the merge.
    pub is_cut_off: bool,
}

/// What two sides did since one commit.
struct SidesSince {
    base: CommitId,
    changes: TaskChanges,
    pairs: BTreeMap<TaskId, Pair>,
}

impl Remerge {
    pub(crate) fn of(
        reader: &mut CommitReader<'_>,
        entry: &LogEntry,
    ) -> Result<Self, ProjectError> {
        let cut_off = Self { sides: Vec::new(), is_cut_off: true };
        let [ours, theirs] = entry.parents[..] else {
            return Ok(Self { is_cut_off: false, ..cut_off });
        };
        let repository = &reader.workspace.repository;
        if !repository.has_commit(ours) || !repository.has_commit(theirs) {
            return Ok(cut_off);
        }
        let bases = repository.merge_bases(ours, theirs)?;
        if bases.is_empty() && repository.is_shallow()? {
            return Ok(cut_off);
        }
        let sides = bases.into_iter().map(|base| {
            let changes = TaskChanges::since(reader.workspace, base, (ours, theirs))?;
            let pairs = reader.pairs(entry, &changes)?;
            Ok(SidesSince { base, changes, pairs })
        });
        Ok(Self { sides: sides.collect::<Result<_, ProjectError>>()?, is_cut_off: false })
    }

    /// Returns where the two parted.
    pub(crate) fn bases(&self) -> impl Iterator<Item = CommitId> {
        self.sides.iter().map(|sides| sides.base)
    }

    /// Returns what may become of a task, with people's fields as in `after`; nothing where it cannot be merged by the rules.
    pub(crate) fn merged(
        &self,
        reader: &mut CommitReader<'_>,
        entry: &LogEntry,
        id: &TaskId,
        after: &Task,
    ) -> Result<Vec<Merged>, ProjectError> {
        let rules = reader.rules(entry)?;
        let mut all = Vec::new();
        for SidesSince { changes, pairs, .. } in &self.sides {
            let own = match (changes.ours.get(id), changes.theirs.get(id)) {
                (Some(_), Some(_)) => {
                    all.extend(pairs.get(id).and_then(|pair| pair.merged(&rules, after)));
                    continue;
                }
                // Only one side changed it: it is as that side has it.
                (Some(own), None) | (None, Some(own)) => own,
                (None, None) => continue,
            };
            let Some((_, version)) = own.after.first() else { continue };
            let task = reader.read(&rules, entry, id, *version)?;
            if let Some(task) = task.filter(|task| !is_new(task)) {
                let task = Task { updated: after.updated, ..with_people_of(&task, after) };
                all.push(Merged { task, superseded: Vec::new(), carried: 0, dropped: Vec::new() });
            }
        }
        Ok(all)
    }

    /// Returns the values of the trailers of all entries that no longer count.
    pub(crate) fn superseded(
        &self,
        reader: &mut CommitReader<'_>,
        entry: &LogEntry,
        afters: &BTreeMap<TaskId, Rc<Task>>,
    ) -> Result<BTreeSet<String>, ProjectError> {
        let rules = reader.rules(entry)?;
        let pairs = self.sides.iter().flat_map(|sides| &sides.pairs);
        let merged = pairs.flat_map(|(id, pair)| {
            let after = afters.get(id).and_then(|after| pair.merged(&rules, after));
            pair.merged(&rules, &pair.ours).into_iter().chain(after)
        });
        let trailers =
            merged.flat_map(|merged| merged.superseded).filter_map(|own| superseded_trailer(&own));
        Ok(trailers.map(|trailer| trailer.value().to_owned()).collect())
    }
}
