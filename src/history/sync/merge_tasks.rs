//! Merges diverged branches: the tasks of the commits that the remote lacks are merged into the remote's commit by meaning. Works in
//! memory: nothing is checked out, and the commit is on no branch.
//!
//! Every project whose tasks these commits change is merged by its own rules, as in force at the remote's commit. Tasks are matched by
//! their ids, at any path. Other files below `tasks/` are taken from the side that changed them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::outcome::Loss;
use crate::domain::TaskId;
use crate::git::log::trailers::{Trailer, message};
use crate::git::{CommitId, MergeDraft, ObjectId, Unshared};
use crate::history::commit_tasks::{
    CommitTasks, CommittedFile, id_of, merge_versions, superseded_trailer,
};
use crate::project::active_rules::{default_rules, rules_at};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::rules::replay::merge::{Dropped, Superseded};
use crate::system::crash_points;
use crate::tasks::merge::versions::Conflict;

/// Both sides in one commit.
pub(crate) struct MergedCommit {
    pub commit: CommitId,
    pub superseded: Vec<Loss>,
}

/// The commits of a merge.
pub(crate) struct MergeSides<'s> {
    pub base: CommitId,
    pub remote: CommitId,
    pub local: CommitId,
    pub unshared: &'s Unshared,
}

/// The result of merging one project, with paths inside it, or of all projects, with paths in the worktree.
#[derive(Default)]
pub(crate) struct MergedTasks {
    /// The files that differ from the remote's; `None` for removed ones.
    pub files: BTreeMap<String, Option<Vec<u8>>>,
    pub losses: Vec<Loss>,
    pub conflicts: Vec<MergeConflict>,
}

/// A file that people must merge, with the reason.
pub(crate) type MergeConflict = (String, String);

/// Merges the tasks of all projects, or returns the conflicts. Writes nothing. Paths are those in the worktree.
pub(crate) fn merge_projects(
    workspace: &Workspace,
    sides: &MergeSides<'_>,
) -> Result<Result<MergedTasks, Vec<MergeConflict>>, ProjectError> {
    let mut all = MergedTasks::default();
    for folder in &sides.unshared.projects {
        let mixed = match in_project(workspace, folder)? {
            None => merge_project(workspace, sides)?,
            Some(other) => merge_project(&other, sides)?,
        };
        let full = |path: String| if folder.is_empty() { path } else { format!("{folder}/{path}") };
        all.files.extend(mixed.files.into_iter().map(|(path, content)| (full(path), content)));
        all.conflicts.extend(mixed.conflicts.into_iter().map(|(path, why)| (full(path), why)));
        all.losses.extend(mixed.losses);
    }
    if all.conflicts.is_empty()
        && let Some((path, why)) = workspace.repository.misplaced(sides.remote, &all.files)?
    {
        all.conflicts.push((path, why.to_owned()));
    }
    Ok(if all.conflicts.is_empty() { Ok(all) } else { Err(all.conflicts) })
}

/// Writes the merge commit.
pub(crate) fn join(
    workspace: &Workspace,
    sides: &MergeSides<'_>,
    subject: &str,
    mixed: MergedTasks,
) -> Result<MergedCommit, ProjectError> {
    let MergedTasks { files, losses: superseded, .. } = mixed;
    let trailers: Vec<Trailer> =
        superseded.iter().filter_map(|loss| loss.trailer.clone()).collect();
    let commit = workspace.repository.write_merge(&MergeDraft {
        ours: sides.remote,
        theirs: sides.local,
        files,
        message: message(subject, "", &trailers),
        author: workspace.repository.author_identity()?,
        committer: workspace.repository.identity()?,
        at: workspace.now(),
    })?;
    crash_points::point("git.joined");
    Ok(MergedCommit { commit, superseded })
}

/// Opens another project of the same repository; `None` if it is this one.
fn in_project(workspace: &Workspace, folder: &str) -> Result<Option<Workspace>, ProjectError> {
    if folder == workspace.repository.prefix() {
        return Ok(None);
    }
    let root = workspace.repository.worktree_root().join(folder);
    Ok(Some(workspace.beside(&root)?))
}

/// Merges the tasks that the local side changed into those of the remote.
fn merge_project(
    workspace: &Workspace,
    sides: &MergeSides<'_>,
) -> Result<MergedTasks, ProjectError> {
    let repository = &workspace.repository;
    let [base, remote, local] =
        [sides.base, sides.remote, sides.local].map(|commit| CommitTasks::read(repository, commit));
    let (base, remote, local) = (base?, remote?, local?);
    let rules = match rules_at(workspace, sides.remote)? {
        Some(rules) => rules,
        None => default_rules()?,
    };
    let mut merging = Merging { workspace, rules, merged: MergedTasks::default() };
    for (path, why) in repository.changed_kinds("tasks", [sides.base, sides.local], sides.remote)? {
        merging.conflict(&path, why);
    }
    for path in base.changed(&local) {
        if id_of(path).is_none() {
            let versions = [&base, &remote, &local].map(|tree| tree.files.get(path).copied());
            merging.other_file(path, versions)?;
        }
    }
    let ids: BTreeSet<TaskId> = base.changed(&local).filter_map(id_of).collect();
    for id in ids {
        // It is unknown which of two files of a task counts, and a merge would keep only one.
        let stands_twice = [(&local, "here"), (&remote, "there"), (&base, "in what both had")];
        if let Some((tree, whose)) = stands_twice.into_iter().find(|(tree, _)| tree.is_doubled(&id))
        {
            let path = tree.file_of(&id).map_or_else(String::new, |(path, _)| path.to_owned());
            merging.conflict(&path, &format!("its task stands in two places {whose}"));
            continue;
        }
        let [before, ours, theirs] = [&base, &remote, &local].map(|tree| tree.file_of(&id));
        merging.task(&id, before, ours, theirs)?;
    }
    Ok(merging.merged)
}

struct Merging<'m> {
    workspace: &'m Workspace,
    rules: Rc<Rules>,
    merged: MergedTasks,
}

impl Merging<'_> {
    /// Merges a file that belongs to no task.
    fn other_file(
        &mut self,
        path: &str,
        [base, remote, local]: [Option<ObjectId>; 3],
    ) -> Result<(), ProjectError> {
        if remote == local {
            return Ok(());
        }
        if remote != base {
            self.conflict(path, "both sides changed it, each otherwise");
            return Ok(());
        }
        let bytes = local.map(|id| self.workspace.repository.read_blob(id)).transpose()?;
        self.merged.files.insert(path.to_owned(), bytes);
        Ok(())
    }

    fn task(
        &mut self,
        id: &TaskId,
        base: CommittedFile<'_>,
        ours: CommittedFile<'_>,
        theirs: CommittedFile<'_>,
    ) -> Result<(), ProjectError> {
        let repository = &self.workspace.repository;
        match (ours, theirs) {
            _ if ours == theirs || theirs == base => {}
            // Only the local side changed it.
            _ if ours == base => {
                if let Some((path, _)) =
                    ours.filter(|(path, _)| theirs.is_none_or(|(new, _)| new != *path))
                {
                    self.merged.files.insert(path.to_owned(), None);
                }
                if let Some((path, content)) = theirs {
                    self.merged.files.insert(path.to_owned(), Some(repository.read_blob(content)?));
                }
            }
            (None, Some((path, _))) => {
                self.conflict(path, "it was removed there, and changed here");
            }
            (Some((path, _)), None) => {
                self.conflict(path, "it was removed here, and changed there");
            }
            (Some(ours), Some(theirs)) => self.both_changed(id, base, ours, theirs)?,
            (None, None) => {}
        }
        Ok(())
    }

    /// Merges a task that both sides changed.
    fn both_changed(
        &mut self,
        id: &TaskId,
        base: CommittedFile<'_>,
        ours: (&str, ObjectId),
        theirs: (&str, ObjectId),
    ) -> Result<(), ProjectError> {
        let repository = &self.workspace.repository;
        let (place, merged) = merge_versions(repository, &self.rules, id, base, ours, theirs)?;
        if !merged.conflicts.is_empty() {
            let why: Vec<String> = merged.conflicts.iter().map(describe).collect();
            self.conflict(ours.0, &why.join(", "));
            return Ok(());
        }
        let is_changed = repository.hash_blob(&merged.bytes) != ours.1;
        if place != ours.0 {
            self.merged.files.insert(ours.0.to_owned(), None);
        }
        if place != ours.0 || is_changed {
            self.merged.files.insert(place, Some(merged.bytes));
        }
        self.merged.losses.extend(merged.superseded.iter().filter_map(superseded_loss));
        self.merged.losses.extend(merged.dropped.iter().map(dropped_loss));
        Ok(())
    }

    fn conflict(&mut self, path: &str, why: &str) {
        self.merged.conflicts.push((path.to_owned(), why.to_owned()));
    }
}

fn describe(conflict: &Conflict) -> String {
    match conflict {
        Conflict::Key(key) => format!("both sides changed `{key}`"),
        Conflict::Body => "both sides changed the same lines".to_owned(),
        Conflict::File(why) => why.clone(),
        Conflict::OtherTask(other) => format!("one version of it says that it is task `{other}`"),
    }
}

fn superseded_loss(superseded: &Superseded) -> Option<Loss> {
    let trailer = superseded_trailer(superseded)?;
    let (task, what) = (superseded.ticket.task.clone(), trailer.value().to_owned());
    Some(Loss { task, what, trailer: Some(trailer) })
}

fn dropped_loss(dropped: &Dropped) -> Loss {
    let (ticket, what) = match dropped {
        Dropped::Claim { ticket, agent } => (ticket, format!("claim of {ticket} by {agent}")),
        Dropped::Hold { ticket } => (ticket, format!("hold of {ticket}")),
        Dropped::Unblocking { ticket } => (ticket, format!("unblocking of {ticket}")),
    };
    Loss { task: ticket.task.clone(), what, trailer: None }
}
