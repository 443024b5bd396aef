//! The tasks of two commits that grew apart: what a merge of the two has to decide, told from the commits alone.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::domain::{Task, TaskId, Timestamp};
use crate::git::CommitId;
use crate::history::new_commits::known::KnownTasks;
use crate::history::touched_tasks::{Touched, Version, touched};
use crate::project::active_rules::rules_at;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::rules::merge::{Merged, Superseded, apart, merge};

/// A task that both commits changed.
pub(crate) struct Pair {
    /// As it was where they parted, if it was there.
    pub base: Option<Rc<Task>>,
    /// As the first has it.
    pub ours: Rc<Task>,
    /// As the second has it.
    pub theirs: Rc<Task>,
}

/// What two commits changed of the tasks since they parted.
pub(crate) struct Changes {
    /// What the first did.
    pub ours: BTreeMap<TaskId, Touched>,
    /// What the second did.
    pub theirs: BTreeMap<TaskId, Touched>,
}

impl Changes {
    /// Returns what both did since that commit.
    pub(crate) fn since(
        workspace: &Workspace,
        base: CommitId,
        (ours, theirs): (CommitId, CommitId),
    ) -> Result<Self, OpsError> {
        let repository = &workspace.repository;
        let changed = |side| Ok::<_, OpsError>(touched(&repository.changed_between(base, side)?));
        Ok(Self { ours: changed(ours)?, theirs: changed(theirs)? })
    }

    /// Returns the tasks that both changed, as far as they can be read.
    pub(crate) fn pairs(
        &self,
        workspace: &Workspace,
        rules: &Rules,
        known: &mut KnownTasks,
        at: Timestamp,
    ) -> Result<BTreeMap<TaskId, Pair>, OpsError> {
        let mut found = BTreeMap::new();
        for (id, mine) in &self.ours {
            let Some(yours) = self.theirs.get(id) else { continue };
            let mut read = |versions: &[Version]| match versions.first() {
                Some((_, content)) => known.read(workspace, (id, *content), rules, at),
                None => Ok(None),
            };
            if let (Some(ours), Some(theirs)) = (read(&mine.after)?, read(&yours.after)?) {
                let base = read(&mine.before)?;
                found.insert(id.clone(), Pair { base, ours, theirs });
            }
        }
        Ok(found)
    }
}

/// Returns which entries count no more where the second commit is merged into the first.
pub(crate) fn superseded_between(
    workspace: &Workspace,
    ours: CommitId,
    theirs: CommitId,
) -> Result<Vec<Superseded>, OpsError> {
    let Some(rules) = rules_at(workspace, ours)? else { return Ok(Vec::new()) };
    let Some(base) = workspace.repository.merge_bases(ours, theirs)?.first().copied() else {
        return Ok(Vec::new());
    };
    let pairs = pairs_since(workspace, &rules, base, (ours, theirs))?;
    Ok(pairs
        .values()
        .filter_map(|pair| pair.merged(&rules, &pair.ours))
        .flat_map(|merged| merged.superseded)
        .collect())
}

/// Returns all entries that may be said to count no more there: from wherever the two are taken to have parted, and whosever words
/// people go by. Nothing where that is not known, as in a shallow clone, or under rules that are not valid.
pub(crate) fn ever_superseded_between(
    workspace: &Workspace,
    ours: CommitId,
    theirs: CommitId,
) -> Result<Option<Vec<Superseded>>, OpsError> {
    let repository = &workspace.repository;
    let is_shallow = repository.is_shallow()?;
    let Some(rules) = rules_at(workspace, ours)?.filter(|_| !is_shallow) else { return Ok(None) };
    let mut all = Vec::new();
    for base in repository.merge_bases(ours, theirs)? {
        for pair in pairs_since(workspace, &rules, base, (ours, theirs))?.values() {
            let merged = [&pair.ours, &pair.theirs]
                .into_iter()
                .filter_map(|people| pair.merged(&rules, people));
            all.extend(merged.flat_map(|merged| merged.superseded));
        }
    }
    Ok(Some(all))
}

fn pairs_since(
    workspace: &Workspace,
    rules: &Rules,
    base: CommitId,
    (ours, theirs): (CommitId, CommitId),
) -> Result<BTreeMap<TaskId, Pair>, OpsError> {
    let at = workspace.repository.log_entry(ours)?.committed;
    Changes::since(workspace, base, (ours, theirs))?.pairs(
        workspace,
        rules,
        &mut KnownTasks::default(),
        at,
    )
}

impl Pair {
    /// Returns what comes of the two, where people say what they say in `people`; nothing where they cannot be merged.
    pub(crate) fn merged(&self, rules: &Rules, people: &Task) -> Option<Merged> {
        let apart = apart(self.base.as_deref(), &self.ours, &self.theirs).ok()?;
        Some(merge(rules, &apart, people))
    }
}
