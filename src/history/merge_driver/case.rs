//! What git's index and the worktree have of each task that git left unmerged, or took for one of those. Only reads.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::merge_sides::{Parted, Version};
use super::replayed::{Refused, refused};
use super::unmerged_tasks::{Left, Mixed, Remains};
use crate::domain::{Layout, TaskId};
use crate::git::{CommitId, ObjectId, Sides, StagedVersion, Unmerged};
use crate::history::merge::merge::{FileMerge, Versions};
use crate::history::merge::trees::id_of;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::storage::layout::task_path;
use crate::storage::tasks::task_files;
use crate::storage::{ProjectPath, StoreError};

/// What is looked at.
pub(crate) struct Scene<'s> {
    pub workspace: &'s Workspace,
    pub head: CommitId,
    pub rules: Option<Rc<Rules>>,
    pub parted: Option<Parted>,
}

impl Scene<'_> {
    /// Returns why what is merged there cannot stand, if git makes a commit again and would put that there.
    pub(crate) fn refused(
        &self,
        rules: &Rules,
        file: (&TaskId, &str),
        versions: Versions<'_>,
        merge: &FileMerge,
    ) -> Result<Option<Box<Refused>>, OpsError> {
        let Some(replay) = self.workspace.repository.replay_stopped() else { return Ok(None) };
        Ok(refused((self.workspace, rules, self.head), replay, file, versions, merge)?
            .map(Box::new))
    }
}

/// What git's index has of one task.
pub(crate) struct Case {
    pub id: TaskId,
    /// The paths at which it could not merge.
    pub unmerged: Vec<Unmerged>,
    /// Those that it has merged.
    pub staged: Vec<(String, StagedVersion)>,
    pub mixed: Mixed,
}

/// What stands at a path in the worktree.
#[derive(PartialEq, Eq)]
pub(crate) enum Stood {
    /// Nothing.
    Nothing,
    /// A file that says this.
    File(Vec<u8>),
    /// A link, or whatever else a person has put there.
    Other,
}

impl Stood {
    /// Returns what stands there now.
    pub(crate) fn at(workspace: &Workspace, path: &str) -> Result<Self, OpsError> {
        Ok(match task_files::read(&workspace.paths, &path.parse::<ProjectPath>()?) {
            Ok(file) => Self::File(file.bytes),
            Err(StoreError::Gone { .. }) => Self::Nothing,
            Err(_) => Self::Other,
        })
    }
}

/// What stands at the paths of a task.
pub(crate) struct Look {
    pub stood: Vec<(String, Stood)>,
    /// Whether nobody wrote any of it by hand.
    pub is_known: bool,
    /// Whether all of it is what ours has.
    pub is_ours: bool,
}

impl Case {
    /// Returns the paths at which git has a version.
    pub(crate) fn paths(&self) -> Vec<String> {
        let unmerged = self.unmerged.iter().map(|own| own.path.clone());
        unmerged.chain(self.staged.iter().map(|(path, _)| path.clone())).collect()
    }

    /// Returns the case as one that nobody can settle.
    pub(crate) fn plain(self, sides: Sides, remains: Remains) -> Left {
        let path = self.paths().into_iter().next();
        let path = path.unwrap_or_else(|| task_path(&self.id, Layout::Flat).to_string());
        let Self { id, mixed, .. } = self;
        Left { id, path, others: Vec::new(), sides, stood: Vec::new(), mixed, remains }
    }

    /// Looks at these paths. Nobody wrote by hand what is known, or what git has put there itself.
    pub(crate) fn look(
        &self,
        workspace: &Workspace,
        paths: &[String],
        (ours, known): (&[u8], &[&[u8]]),
    ) -> Result<Look, OpsError> {
        let mut look = Look { stood: Vec::new(), is_known: true, is_ours: true };
        for path in paths {
            let standing = Stood::at(workspace, path)?;
            match &standing {
                Stood::File(bytes) => {
                    look.is_known &= known.contains(&bytes.as_slice())
                        || self.is_git_s(workspace, path, bytes)?;
                    look.is_ours &= bytes == ours;
                }
                Stood::Nothing => {}
                Stood::Other => look.is_known = false,
            }
            look.stood.push((path.clone(), standing));
        }
        Ok(look)
    }

    fn is_git_s(&self, workspace: &Workspace, path: &str, bytes: &[u8]) -> Result<bool, OpsError> {
        let is_same = |content| workspace.repository.is_same_text(bytes, content);
        let sides = self
            .unmerged
            .iter()
            .filter(|own| own.path == path)
            .flat_map(|own| [own.ours, own.theirs]);
        Ok(sides.flatten().any(|version| is_same(version.content))
            || workspace.repository.written_unmerged(path)?.is_some_and(is_same))
    }
}

/// Returns what the commits have of a task, if they tell it.
pub(crate) fn versions_of(
    scene: &Scene<'_>,
    id: &TaskId,
) -> Result<Option<[Option<Version>; 3]>, OpsError> {
    match &scene.parted {
        Some(parted) => parted.versions(scene.workspace, id),
        None => Ok(None),
    }
}

/// Returns what git's index has of each task that it left unmerged, or took another one for, or has as one side alone left it. Those that are
/// unmerged nowhere come first.
pub(crate) fn cases(scene: &Scene<'_>, unmerged: Vec<Unmerged>) -> Result<Vec<Case>, OpsError> {
    let mut named: BTreeMap<TaskId, (Vec<Unmerged>, BTreeSet<TaskId>)> = BTreeMap::new();
    let mut beside: BTreeMap<TaskId, BTreeSet<TaskId>> = BTreeMap::new();
    for own in unmerged {
        let Some(id) = id_of(&own.path) else { continue };
        for other in scene
            .parted
            .iter()
            .flat_map(|parted| parted.tasks_of(&own))
            .filter(|other| *other != id)
        {
            beside.entry(other.clone()).or_default().insert(id.clone());
            named.entry(id.clone()).or_default().1.insert(other);
        }
        named.entry(id).or_default().0.push(own);
    }
    beside.retain(|id, _| !named.contains_key(id));
    let only: BTreeSet<TaskId> = beside.keys().cloned().collect();
    let beside = beside.into_iter().map(|(id, with)| (id, (Vec::new(), with)));
    let mut staged: BTreeMap<TaskId, Vec<(String, StagedVersion)>> = BTreeMap::new();
    for (path, version) in scene.workspace.repository.staged(".md")? {
        if let Some(id) = id_of(&path).filter(|_| path.starts_with("tasks/")) {
            staged.entry(id).or_default().push((path, version));
        }
    }
    let is_one_side_s = |id: &TaskId, sides: &[ObjectId; 2]| {
        staged.get(id).is_some_and(|staged| {
            staged.iter().all(|(_, version)| sides.contains(&version.content))
        })
    };
    let disputed = scene
        .parted
        .iter()
        .flat_map(Parted::disputed)
        .filter(|(id, sides)| is_one_side_s(id, sides));
    let one_sided: BTreeSet<TaskId> = disputed.map(|(id, _)| id.clone()).collect();
    let one_sided =
        one_sided.into_iter().filter(|id| !only.contains(id) && !named.contains_key(id));
    let one_sided: Vec<_> = one_sided.map(|id| (id, (Vec::new(), BTreeSet::new()))).collect();
    let all = beside.chain(one_sided).chain(named).map(|(id, (unmerged, with))| {
        let only_here = with.intersection(&only).cloned().collect();
        let staged = staged.remove(&id).unwrap_or_default();
        Case { id, unmerged, staged, mixed: Mixed { with, only_here, is_made_up: false } }
    });
    Ok(all.collect())
}
