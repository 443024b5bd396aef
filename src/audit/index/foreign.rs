//! Index layouts that our own patch does not know (version 4, split, sparse): git itself edits a copy.

use std::fs;
use std::io::Write;

use super::super::error::{At, AuditError};
use super::super::id::ObjectId;
use super::super::objects::Temp;
use super::super::repository::Repository;
use super::super::spawn;
use super::super::tree::Leaf;
use super::{PathChange, Staged};

/// Returns what is staged at each path.
pub(super) fn staged(repository: &Repository, changes: &[PathChange]) -> Result<Vec<Vec<Staged>>, AuditError> {
    let mut git = spawn::git(repository);
    git.args(["--literal-pathspecs", "ls-files", "--stage", "-z", "--full-name", "--"]);
    git.args(changes.iter().map(|change| &change.path));
    let output = spawn::run_git(git, &[])?;
    let mut found = vec![Vec::new(); changes.len()];
    for line in output.split(|byte| *byte == 0) {
        let Some((staged, path)) = str::from_utf8(line).ok().and_then(entry) else {
            continue;
        };
        if let Some(at) = changes.iter().position(|change| change.path == path) {
            found[at].push(staged);
        }
    }
    Ok(found)
}

/// Reads `MODE ID STAGE<tab>PATH`. An intended addition shows as an empty file, which no commit of ours had.
fn entry(line: &str) -> Option<(Staged, &str)> {
    let (fields, path) = line.split_once('\t')?;
    let mut fields = fields.split(' ');
    let mode = u32::from_str_radix(fields.next()?, 8).ok()?;
    let id: ObjectId = fields.next()?.parse().ok()?;
    let stage = fields.next()?.parse().ok()?;
    Some((Staged { leaf: Leaf { mode, id }, stage, intent_to_add: false }, path))
}

/// Returns the bytes of the index with these changes made.
pub(super) fn patch(repository: &Repository, old: &[u8], changes: &[PathChange]) -> Result<Vec<u8>, AuditError> {
    // Beside the index, because a split index is looked for relative to it.
    let mut copy = Temp::create(repository.git_dir(), "aof-index-copy", 0o600)?;
    copy.file.write_all(old).at("write", &copy.path)?;
    let mut lines = Vec::new();
    for change in changes {
        let (mode, id) = change.after.map_or((0, ObjectId::new([0; 20])), |leaf| (leaf.mode, leaf.id));
        lines.extend(format!("{mode:o} {id}\t{}\0", change.path).bytes());
    }
    let mut git = spawn::git(repository);
    git.env("GIT_INDEX_FILE", &copy.path).args(["update-index", "-z", "--index-info"]);
    spawn::run_git(git, &lines)?;
    fs::read(&copy.path).at("read", &copy.path)
}
