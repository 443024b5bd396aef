//! What git left unmerged, merged by its meaning after all: where the driver was not set up, or git did not see that a file had moved
//! into the archive.

use std::collections::BTreeMap;

use crate::audit::{Marks, ObjectId, Unmerged};
use crate::format::task_file::{self, Defaults};
use crate::model::{TaskId, Timestamp};
use crate::ops::error::OpsError;
use crate::ops::in_force::rules_at;
use crate::ops::merge::{FileMerge, Versions, merge_files};
use crate::ops::workspace::Workspace;
use crate::store::{ProjectPath, StoreError, layout};

/// A file that was merged after all.
pub struct Settled {
    /// Where it is.
    pub path: String,
    /// What came of it; it is staged where it has no conflicts.
    pub merge: FileMerge,
}

/// Merges the task files of the project that git left unmerged, and stages what needs nobody's decision.
pub fn settle(workspace: &Workspace) -> Result<Vec<Settled>, OpsError> {
    let repository = &workspace.repository;
    let Some(head) = repository.look()?.commit else { return Ok(Vec::new()) };
    let Some(rules) = rules_at(workspace, head)? else { return Ok(Vec::new()) };
    let mut tasks: BTreeMap<TaskId, Vec<Unmerged>> = BTreeMap::new();
    for unmerged in repository.unmerged()? {
        if let Some(Ok(id)) = layout::task_id(unmerged.path.rsplit('/').next().unwrap_or_default()) {
            tasks.entry(id).or_default().push(unmerged);
        }
    }
    let _lock = workspace.lock()?;
    let mut settled = Vec::new();
    for (id, unmerged) in tasks {
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
        let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
        let base = base.map(|base| repository.read_blob(base)).transpose()?;
        let (ours, theirs) = (repository.read_blob(ours)?, repository.read_blob(theirs)?);
        let versions = Versions { base: base.as_deref(), ours: &ours, theirs: &theirs };
        let merge = merge_files(&rules, &id, versions, &Marks::default())?;
        let defaults = Defaults { workflow: rules.project.default_workflow.clone(), created: Timestamp::UNIX_EPOCH };
        let is_finished =
            task_file::parse(&merge.bytes, &id, &defaults).is_ok_and(|file| file.task.status.is_finished());
        let fits = |path: &String| path.starts_with("tasks/archive/") == is_finished;
        let Some(path) = paths.iter().find(|path| fits(path)).or(paths.first()).cloned() else { continue };
        paths.retain(|other| *other != path);
        write(workspace, &path, &merge.bytes, &paths)?;
        if merge.conflicts.is_empty() {
            repository.stage_merged(&path, &merge.bytes, &paths)?;
        }
        settled.push(Settled { path, merge });
    }
    Ok(settled)
}

/// Writes the file, and takes those away that it stands for.
fn write(workspace: &Workspace, path: &str, bytes: &[u8], others: &[String]) -> Result<(), OpsError> {
    let place = |path: &str| Ok::<_, StoreError>(path.parse::<ProjectPath>()?.below(workspace.paths.root()));
    let target = place(path)?;
    let written = target.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&target, bytes));
    written.map_err(|cause| StoreError::Io { doing: "write the merged file", path: target, cause })?;
    for other in others {
        let other = place(other)?;
        match std::fs::remove_file(&other) {
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
                return Err(StoreError::Io { doing: "take away", path: other, cause }.into());
            }
            _ => {}
        }
    }
    Ok(())
}
