//! Task files that git left unmerged, and how each of them stands. Only reads.

use std::collections::{BTreeMap, HashSet};

use crate::audit::{Marks, ObjectId, Unmerged};
use crate::engine::Rules;
use crate::format::task_file::{self, Defaults};
use crate::model::{TaskId, Timestamp};
use crate::ops::error::OpsError;
use crate::ops::in_force::rules_at;
use crate::ops::merge::{FileMerge, Versions, merge_files};
use crate::ops::way_back::is_marked;
use crate::ops::workspace::Workspace;
use crate::store::{ProjectPath, layout, tasks};

/// A task file that git left unmerged.
pub(in crate::ops) struct Left {
    /// Where it belongs.
    pub path: String,
    /// Other places at which git has a version of it.
    pub others: Vec<String>,
    /// How it stands.
    pub remains: Remains,
}

/// How a file stands that git left unmerged.
pub(in crate::ops) enum Remains {
    /// Nobody has changed it: this comes of merging it by its meaning.
    Unmerged(Box<FileMerge>),
    /// The same, and what stands there is ours alone, without a marker: whoever takes it for merged loses what comes in.
    WithoutTheirs(Box<FileMerge>),
    /// Nothing is left of the commit that is picked, which would only move it.
    Spent,
    /// One side changed it, and the other has it nowhere.
    Removed,
    /// Somebody has changed it since.
    Touched,
}

/// Returns the task files of the project that git left unmerged.
pub(in crate::ops) fn left_unmerged(workspace: &Workspace) -> Result<Vec<Left>, OpsError> {
    let repository = &workspace.repository;
    let mut cases: BTreeMap<TaskId, Vec<Unmerged>> = BTreeMap::new();
    for unmerged in repository.unmerged()?.into_iter().filter(|own| own.path.starts_with("tasks/")) {
        if let Some(Ok(id)) = layout::task_id(unmerged.path.rsplit('/').next().unwrap_or_default()) {
            cases.entry(id).or_default().push(unmerged);
        }
    }
    if cases.is_empty() {
        return Ok(Vec::new());
    }
    let Some(head) = repository.look()?.commit else { return Ok(Vec::new()) };
    let Some(rules) = rules_at(workspace, head)? else { return Ok(Vec::new()) };
    cases.iter().map(|(id, unmerged)| left(workspace, &rules, id, unmerged)).collect()
}

fn left(workspace: &Workspace, rules: &Rules, id: &TaskId, unmerged: &[Unmerged]) -> Result<Left, OpsError> {
    let repository = &workspace.repository;
    let mut paths: Vec<String> = unmerged.iter().map(|own| own.path.clone()).collect();
    let of = |side: fn(&Unmerged) -> Option<ObjectId>| unmerged.iter().find_map(side);
    let (base, mut ours, mut theirs) = (of(|own| own.base), of(|own| own.ours), of(|own| own.theirs));
    // What one side moved stands merged in another place.
    let staged = repository.staged(&format!("/{id}.md"))?;
    if let Some((path, content)) = staged.into_iter().find(|(path, _)| path.starts_with("tasks/")) {
        paths.push(path);
        ours = ours.or(Some(content));
        theirs = theirs.or(Some(content));
    }
    let (Some(ours), Some(theirs)) = (ours, theirs) else {
        return Ok(Left { path: paths.swap_remove(0), others: Vec::new(), remains: Remains::Removed });
    };
    let base = base.map(|base| repository.read_blob(base)).transpose()?;
    let (ours, theirs) = (repository.read_blob(ours)?, repository.read_blob(theirs)?);
    let versions = Versions { base: base.as_deref(), ours: &ours, theirs: &theirs };
    let merge = Box::new(merge_files(rules, id, versions, &Marks::default())?);
    let is_finished = is_finished(rules, id, &merge.bytes);
    let fits = |path: &String| path.starts_with("tasks/archive/") == is_finished;
    let place = paths.iter().position(fits).unwrap_or_default();
    let standing = |path: &String| {
        let path: ProjectPath = path.parse().ok()?;
        Some(tasks::read(&workspace.paths, &path).ok()?.bytes)
    };
    let found: Vec<Vec<u8>> = paths.iter().filter_map(standing).collect();
    let remains = if repository.merge_heads().is_empty() && is_spent(rules, id, &paths[place], versions, &merge) {
        Remains::Spent
    } else if found.iter().any(|bytes| is_touched(bytes, versions, &merge.bytes)) {
        Remains::Touched
    } else if paths.len() == 1 && found.iter().all(|bytes| *bytes == ours) && merge.bytes != ours {
        Remains::WithoutTheirs(merge)
    } else {
        Remains::Unmerged(merge)
    };
    let path = paths.swap_remove(place);
    Ok(Left { path, others: paths, remains })
}

/// Returns whether the merge leaves the file as ours has it, open, at a place in the archive, since all that theirs says was superseded.
pub(super) fn is_spent(rules: &Rules, id: &TaskId, path: &str, versions: Versions<'_>, merge: &FileMerge) -> bool {
    path.starts_with("tasks/archive/")
        && merge.conflicts.is_empty()
        && !merge.superseded.is_empty()
        && merge.bytes == versions.ours
        && !is_finished(rules, id, &merge.bytes)
}

fn is_finished(rules: &Rules, id: &TaskId, bytes: &[u8]) -> bool {
    let defaults = Defaults { workflow: rules.project.default_workflow.clone(), created: Timestamp::UNIX_EPOCH };
    task_file::parse(bytes, id, &defaults).is_ok_and(|file| file.task.status.is_finished())
}

/// Returns whether a person has been at the file: it has a line that no version has and no merge makes, or what git marked in it is
/// solved.
fn is_touched(standing: &[u8], versions: Versions<'_>, merged: &[u8]) -> bool {
    let known = [versions.base.unwrap_or_default(), versions.ours, versions.theirs, merged];
    if known.contains(&standing) {
        return false;
    }
    let lines = |bytes| <[u8]>::split(bytes, |byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let lines_known: HashSet<&[u8]> = known.into_iter().flat_map(lines).collect();
    let is_marker =
        |line: &[u8]| [&b"<<<<<<<"[..], b"|||||||", b"=======", b">>>>>>>"].iter().any(|own| line.starts_with(own));
    !is_marked(standing) || lines(standing).any(|line| !is_marker(line) && !lines_known.contains(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_wrote_is_told_from_what_a_person_did() {
        let versions = Versions { base: Some(b"a\nb\n"), ours: b"a\nB\n", theirs: b"a\nX\n" };
        let touched = |text: &str| is_touched(text.as_bytes(), versions, b"a\nboth\n");
        for text in ["a\nB\n", "a\nX\n", "a\nboth\n", "a\n<<<<<<< HEAD\nB\n||||||| b\nb\n=======\nX\n>>>>>>> side\n"] {
            assert!(!touched(text), "{text}");
        }
        for text in ["a\nmine\n", "a\nB\nX\n", "mine\n<<<<<<< HEAD\nB\n=======\nX\n>>>>>>> side\n"] {
            assert!(touched(text), "{text}");
        }
    }
}
