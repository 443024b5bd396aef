//! Two sides that both went on, made one: the remote's commit stands, and the tasks of the commits that it does not have are merged
//! into it by meaning. In memory: nothing is checked out, and the commit is on no branch.
//!
//! Every project whose tasks these commits change is merged by its own rules, those in force at the remote's commit.

use std::collections::BTreeMap;

use super::sync::{Left, Loss};
use super::tasks::merge_project;
use crate::git::log::trailers::{Trailer, message};
use crate::git::{CommitId, MergeDraft, Unshared, Upstream};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;

/// Both sides in one commit.
pub(crate) struct Joined {
    pub commit: CommitId,
    pub superseded: Vec<Loss>,
}

/// What two sides are made of.
pub(crate) struct Sides<'s> {
    pub upstream: &'s Upstream,
    pub base: CommitId,
    pub remote: CommitId,
    pub local: CommitId,
    pub unshared: &'s Unshared,
}

/// What comes of the tasks of a project by their paths in it, or of all projects by those in the worktree.
#[derive(Default)]
pub(crate) struct Mixed {
    /// What is to be otherwise than the remote has it; nothing for what is to be gone.
    pub files: BTreeMap<String, Option<Vec<u8>>>,
    pub losses: Vec<Loss>,
    /// What people have to decide: which file, and why.
    pub conflicts: Vec<(String, String)>,
}

/// Merges the tasks of all projects, or says what people have to decide. Writes nothing. Paths are the worktree's.
pub(crate) fn mix(
    workspace: &Workspace,
    sides: &Sides<'_>,
) -> Result<Result<Mixed, Left>, OpsError> {
    let mut all = Mixed::default();
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
    Ok(if all.conflicts.is_empty() {
        Ok(all)
    } else {
        Err(Left::Conflict { files: all.conflicts })
    })
}

/// Makes the merge commit of what was merged.
pub(crate) fn join(
    workspace: &Workspace,
    sides: &Sides<'_>,
    mixed: Mixed,
) -> Result<Joined, OpsError> {
    let Mixed { files, losses: superseded, .. } = mixed;
    let commits = sides.unshared.commits;
    let noun = if commits == 1 { "commit" } else { "commits" };
    let subject = format!("sync: merge {commits} {noun} into {}", sides.upstream.name());
    let trailers: Vec<Trailer> = superseded.iter().filter_map(Loss::trailer).cloned().collect();
    let commit = workspace.repository.write_merge(&MergeDraft {
        ours: sides.remote,
        theirs: sides.local,
        files,
        message: message(&subject, "", &trailers),
        author: workspace.repository.author_identity()?,
        committer: workspace.repository.identity()?,
        at: workspace.now(),
    })?;
    Ok(Joined { commit, superseded })
}

/// Opens another project of the same repository; nothing where it is this one.
fn in_project(workspace: &Workspace, folder: &str) -> Result<Option<Workspace>, OpsError> {
    if folder == workspace.repository.prefix() {
        return Ok(None);
    }
    let root = workspace.repository.worktree_root().join(folder);
    Ok(Some(workspace.beside(&root)?))
}
