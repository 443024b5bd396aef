//! What the commits have that git is bringing together, task by task, whatever git's index makes of it: there a task may have got versions of
//! another one, whose file git took for it, renamed. Only reads.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::TaskId;
use crate::files::task_file::stated_id;
use crate::git::{CommitId, ObjectId, StagedVersion, UnderWay, Unmerged};
use crate::history::merge::trees::{Tree, id_of};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;

/// The commits of a merge, a rebase, a cherry-pick or a revert that has stopped.
pub(crate) struct Parted {
    bases: Vec<Side>,
    ours: Side,
    theirs: Side,
    /// What git takes for what both sides had, by the task that it says it is. Of several bases it makes one that no commit has.
    made: BTreeMap<TaskId, StagedVersion>,
}

/// The file of a task in one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    /// Where it is.
    pub path: String,
    /// What it says.
    pub staged: StagedVersion,
}

struct Side {
    commit: CommitId,
    tree: Tree,
}

impl Parted {
    /// Returns what is under way, if git tells all of it and it fits to what is unmerged.
    pub(crate) fn of(
        workspace: &Workspace,
        unmerged: &[Unmerged],
    ) -> Result<Option<Self>, OpsError> {
        let Some(UnderWay { bases, ours, theirs }) = workspace.repository.under_way()? else {
            return Ok(None);
        };
        if !bases.iter().all(|base| workspace.repository.has_commit(*base)) {
            return Ok(None);
        }
        let side = |commit| Ok::<_, OpsError>(Side { commit, tree: Tree::of(workspace, commit)? });
        let bases = bases.into_iter().map(side).collect::<Result<Vec<_>, _>>()?;
        let mut made = BTreeMap::new();
        for version in
            unmerged.iter().filter_map(|own| own.base).filter(|version| version.is_file())
        {
            match &bases[..] {
                [base] if !base.tree.files.values().any(|content| *content == version.content) => {
                    return Ok(None);
                }
                [_] => {}
                _ => {
                    let stated = stated_id(&workspace.repository.read_blob(version.content)?);
                    made.extend(stated.ok().flatten().map(|id| (id, version)));
                }
            }
        }
        Ok(Some(Self { bases, ours: side(ours)?, theirs: side(theirs)?, made }))
    }

    /// Returns the tasks of which a path in git's index has versions, of whichever side: where both sides are said to have renamed one file,
    /// git puts what it made of the two in both places.
    pub(crate) fn tasks_of(&self, unmerged: &Unmerged) -> BTreeSet<TaskId> {
        let versions = [unmerged.base, unmerged.ours, unmerged.theirs].into_iter().flatten();
        let sides = || self.bases.iter().chain([&self.ours, &self.theirs]);
        versions
            .flat_map(|version| sides().flat_map(move |side| side.tasks_with(version.content)))
            .collect()
    }

    /// Returns the tasks that both sides have changed, each otherwise, with what each of them has.
    pub(crate) fn disputed(&self) -> impl Iterator<Item = (&TaskId, [ObjectId; 2])> {
        self.ours.tree.ids().filter_map(|id| {
            let content = |side: &Side| side.tree.place(id).map(|(_, content)| content);
            let (ours, theirs) = (content(&self.ours)?, content(&self.theirs)?);
            let is_new =
                self.bases.iter().all(|base| ![Some(ours), Some(theirs)].contains(&content(base)));
            (ours != theirs && is_new).then_some((id, [ours, theirs]))
        })
    }

    /// Returns what both sides had of a task, what ours has, and theirs. Nothing where that is not one file each.
    pub(crate) fn versions(
        &self,
        workspace: &Workspace,
        id: &TaskId,
    ) -> Result<Option<[Option<Version>; 3]>, OpsError> {
        let mut befores = Vec::new();
        for base in &self.bases {
            befores.push(base.version(workspace, id)?);
        }
        let [ours, theirs] = [&self.ours, &self.theirs].map(|side| side.version(workspace, id));
        let (ours, theirs) = (ours?, theirs?);
        let before = befores.pop().unwrap_or(Ok(None));
        let before = match (befores.iter().all(|other| *other == before), before) {
            (true, before) => before,
            (false, Ok(Some(one))) => {
                self.made.get(id).map(|made| Some(Version { staged: *made, ..one })).ok_or(Unclear)
            }
            (false, _) => Err(Unclear),
        };
        Ok(match (before, ours, theirs) {
            (Ok(before), Ok(ours), Ok(theirs)) => Some([before, ours, theirs]),
            _ => None,
        })
    }
}

/// A commit has a task in two places, or several have it each otherwise.
#[derive(Debug, PartialEq, Eq)]
struct Unclear;

impl Side {
    fn tasks_with(&self, content: ObjectId) -> BTreeSet<TaskId> {
        let files = self.tree.files.iter().filter(|(_, file)| **file == content);
        files.filter_map(|(path, _)| id_of(path)).collect()
    }

    fn version(
        &self,
        workspace: &Workspace,
        id: &TaskId,
    ) -> Result<Result<Option<Version>, Unclear>, OpsError> {
        if self.tree.is_twice(id) {
            return Ok(Err(Unclear));
        }
        let Some((path, _)) = self.tree.place(id) else { return Ok(Ok(None)) };
        let staged = workspace.repository.version_in(self.commit, path)?;
        Ok(Ok(staged.map(|staged| Version { path: path.to_owned(), staged })))
    }
}
