//! Index layouts that our own patch does not know (version 4, split, sparse): git itself edits a copy.

use std::fs;
use std::io::Write;

use super::entries::{INDEX, Listed, PathChange, Staged};
use crate::git::command;
use crate::git::error::{At, GitError};
use crate::git::id::ObjectId;
use crate::git::objects::loose::Temp;
use crate::git::repository::handle::Repository;

/// Returns what is staged at each path.
pub(crate) fn staged(
    repository: &Repository,
    changes: &[PathChange],
) -> Result<Vec<Vec<Staged>>, GitError> {
    let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    let mut found = vec![Vec::new(); changes.len()];
    // No commit of ours had an empty file, so one that is only meant to be added is somebody's all the same.
    for Listed { path, leaf, stage } in
        repository.listed(&repository.git_dir().join("index"), &paths)?
    {
        if let Some(at) = changes.iter().position(|change| change.path.as_bytes() == path) {
            found[at].push(Staged { leaf, stage, intent_to_add: false });
        }
    }
    Ok(found)
}

/// Returns the bytes of the index with these changes made.
pub(crate) fn patch(
    repository: &Repository,
    old: &[u8],
    changes: &[PathChange],
) -> Result<Vec<u8>, GitError> {
    // Beside the index, because a split index is looked for relative to it.
    let mut copy = Temp::create(repository.git_dir(), "aof-index-copy", 0o600)?;
    copy.file.write_all(old).at("write", &copy.path)?;
    let mut lines = Vec::new();
    for change in changes {
        let (mode, id) =
            change.after.map_or((0, ObjectId::new([0; 20])), |leaf| (leaf.mode, leaf.id));
        lines.extend(format!("{mode:o} {id}\t{}\0", change.path).bytes());
    }
    let mut git = repository.git_command();
    git.env(INDEX, &copy.path).args(["update-index", "-z", "--index-info"]);
    command::run_git(git, &lines)?;
    fs::read(&copy.path).at("read", &copy.path)
}
