//! Task files that git left unmerged, and how each of them stands. Only reads.
//!
//! What is to be merged is what the commits have, as far as git tells which those are: in its index a task may have got versions of another one,
//! whose file git took for it, renamed. That other one is left as well then, wherever git has put it.

use std::collections::BTreeSet;

use super::case::{Scene, Stood, cases, versions_of};
use super::merge_sides::Parted;
use super::replayed::Refused;
use super::{by_commits, by_stages};
use crate::domain::TaskId;
use crate::git::{Sides, Unmerged};
use crate::history::merge::merge::FileMerge;
use crate::history::merge::trees::id_of;
use crate::project::active_rules::{rules_at, stand_in};
use crate::project::error::error::OpsError;
use crate::project::rule_sources::rules_mark;
use crate::project::workspace::Workspace;

/// A task file that git left unmerged, or took for that of another task.
pub(crate) struct Left {
    /// The task.
    pub id: TaskId,
    /// Where it belongs.
    pub path: String,
    /// Other places at which git has a version of it.
    pub others: Vec<String>,
    /// What both sides had, ours, and theirs.
    pub sides: Sides,
    /// What stood at each of these paths when it was looked at.
    pub stood: Vec<(String, Stood)>,
    /// Tasks of which git has versions here. Those that are left nowhere else come first, since nothing tells of them once this is staged.
    pub mixed: Mixed,
    /// How it stands.
    pub remains: Remains,
}

/// Which other tasks git took for one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Mixed {
    /// All of them; of a task that git left unmerged nowhere, the ones of which that is found out.
    pub with: BTreeSet<TaskId>,
    /// Those that git left unmerged nowhere.
    pub only_here: BTreeSet<TaskId>,
    /// Whether git's index has something here that no commit has for the task: git merged two files that it took for one into it.
    pub is_made_up: bool,
}

/// How a file stands that git left unmerged.
pub(crate) enum Remains {
    /// Nobody has changed it: this comes of merging it by its meaning.
    Unmerged(Box<FileMerge>),
    /// The same, and what stands there is ours alone, without a marker: whoever takes it for merged loses what comes in.
    WithoutTheirs(Box<FileMerge>),
    /// The same, and git has it as one side left it: somebody has staged that, or git took another task for it, renamed, and that one is staged.
    OneSided(Box<FileMerge>),
    /// Git makes a commit again that cannot stand here: nothing of it is to be merged.
    Refused(Box<Refused>),
    /// One side changed it, and the other has it nowhere.
    Removed,
    /// Somebody has changed it since, or it is no file on one of the sides.
    Touched,
    /// Git took another task for it, and somebody has changed it since.
    MixedAndTouched,
    /// Git took another task for it, and does not tell what the two are.
    Unknown(TaskId),
    /// Git took that one for it, which has to be solved before.
    Waits(TaskId),
    /// What it means cannot be told: the branch that is merged into has no rules that are valid.
    Lawless,
}

impl Left {
    /// Returns whether git took another task for it, and both can be settled.
    pub(crate) fn is_mixed(&self) -> bool {
        !self.mixed.with.is_empty() && self.remains.merge().is_some()
    }
}

impl Remains {
    /// Returns what comes of merging it, where it can be settled.
    pub(crate) fn merge(&self) -> Option<&FileMerge> {
        match self {
            Self::Unmerged(merge) | Self::WithoutTheirs(merge) | Self::OneSided(merge) => {
                Some(merge)
            }
            _ => None,
        }
    }
}

/// Returns the task files of the project that git left unmerged, and those that it took for them.
pub(crate) fn left_unmerged(workspace: &Workspace) -> Result<Vec<Left>, OpsError> {
    let repository = &workspace.repository;
    let unmerged: Vec<Unmerged> =
        repository.unmerged()?.into_iter().filter(|own| own.path.starts_with("tasks/")).collect();
    let parted = Parted::of(workspace, &unmerged)?;
    if parted.is_none() && unmerged.iter().all(|own| id_of(&own.path).is_none()) {
        return Ok(Vec::new());
    }
    let Some(head) = repository.look()?.commit else { return Ok(Vec::new()) };
    let rules = match rules_at(workspace, head)? {
        None if rules_mark(repository, head)?.is_empty() => Some(stand_in()?),
        rules => rules,
    };
    let scene = Scene { workspace, head, rules, parted };
    let mut found = Vec::new();
    for case in cases(&scene, unmerged)? {
        found.extend(match versions_of(&scene, &case.id)? {
            Some(versions) => by_commits::left(&scene, case, versions)?,
            // Nothing says that it was not merged.
            None if case.unmerged.is_empty() && case.mixed.with.is_empty() => None,
            None => Some(by_stages::left(&scene, case)?),
        });
    }
    let stuck: BTreeSet<TaskId> = found
        .iter()
        .filter(|left| left.remains.merge().is_none())
        .map(|left| left.id.clone())
        .collect();
    for left in &mut found {
        let first = left.mixed.only_here.intersection(&stuck).next();
        if let Some(first) = first.filter(|_| left.remains.merge().is_some()) {
            left.remains = Remains::Waits(first.clone());
        }
    }
    Ok(found)
}
