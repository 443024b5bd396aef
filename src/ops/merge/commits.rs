//! The tasks of two commits that grew apart: what a merge of the two has to decide, told from the commits alone.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::audit::CommitId;
use crate::engine::Rules;
use crate::engine::merge::{Merged, Superseded, apart, merge};
use crate::model::{Task, TaskId, Timestamp};
use crate::ops::error::OpsError;
use crate::ops::happened::KnownTasks;
use crate::ops::in_force::rules_at;
use crate::ops::touched::{Touched, touched};
use crate::ops::workspace::Workspace;

/// A task that both commits changed.
pub(in crate::ops) struct Pair {
    /// As it was where they parted, if it was there.
    pub base: Option<Rc<Task>>,
    /// As the first has it.
    pub ours: Rc<Task>,
    /// As the second has it.
    pub theirs: Rc<Task>,
}

/// Returns the tasks that both commits changed since the one where they parted, as far as they can be read.
pub(in crate::ops) fn pairs(
    workspace: &Workspace,
    rules: &Rules,
    known: &mut KnownTasks,
    base: CommitId,
    (ours, theirs): (CommitId, CommitId),
    at: Timestamp,
) -> Result<BTreeMap<TaskId, Pair>, OpsError> {
    let repository = &workspace.repository;
    let mut found = BTreeMap::new();
    let mine = touched(&repository.changed_between(base, ours)?);
    if mine.is_empty() {
        return Ok(found);
    }
    let mut yours = touched(&repository.changed_between(base, theirs)?);
    for (id, mine) in mine {
        let Some(yours) = yours.remove(&id) else { continue };
        let mut read = |versions: &[(String, crate::audit::ObjectId)]| match versions.first() {
            Some((_, content)) => known.read(workspace, (&id, *content), rules, at),
            None => Ok(None),
        };
        let Touched { before, after } = mine;
        if let (Some(ours), Some(theirs)) = (read(&after)?, read(&yours.after)?) {
            let base = read(&before)?;
            found.insert(id.clone(), Pair { base, ours, theirs });
        }
    }
    Ok(found)
}

/// Returns which entries count no more where the second commit is merged into the first.
pub(in crate::ops) fn superseded_between(
    workspace: &Workspace,
    ours: CommitId,
    theirs: CommitId,
) -> Result<Vec<Superseded>, OpsError> {
    let Some(rules) = rules_at(workspace, ours)? else { return Ok(Vec::new()) };
    let Some(base) = workspace.repository.merge_bases(ours, theirs)?.first().copied() else { return Ok(Vec::new()) };
    let at = workspace.repository.log_entry(ours)?.committed;
    let pairs = pairs(workspace, &rules, &mut KnownTasks::default(), base, (ours, theirs), at)?;
    Ok(pairs.values().filter_map(|pair| pair.merged(&rules, &pair.ours)).flat_map(|merged| merged.superseded).collect())
}

impl Pair {
    /// Returns what comes of the two, where people say what they say in `people`; nothing where they cannot be merged.
    pub(in crate::ops) fn merged(&self, rules: &Rules, people: &Task) -> Option<Merged> {
        let apart = apart(self.base.as_deref(), &self.ours, &self.theirs).ok()?;
        Some(merge(rules, &apart, people))
    }
}
