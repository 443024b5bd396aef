//! `aof init --remove`: removes from a repository what `aof init` and `aof doctor --fix` set up beside tasks and rules.

use std::fs;
use std::path::PathBuf;

use serde::Serialize;

use crate::history::merge_driver::{ATTRIBUTES, attributes_without, hooks_to_remove};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::setup::agent_files::{AgentFile, UnmergeableFile};
use crate::storage::{ProjectPath, StoreError, atomic_write};
use crate::tasks::plan::DryRun;

/// The parts that were removed, or would be.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Removal {
    /// True if git's configuration had the merge driver.
    pub driver: bool,
    /// The hooks that `aof` made.
    pub hooks: Vec<PathBuf>,
    /// The files of the project that lost our part, or that had nothing else.
    pub files: Vec<ProjectPath>,
    /// The files that are kept, with the reasons.
    pub kept: Vec<KeptFile>,
}

/// A file that is kept.
#[derive(Debug, Serialize)]
pub(crate) struct KeptFile {
    pub path: String,
    pub why: String,
}

impl Removal {
    pub(crate) fn is_empty(&self) -> bool {
        !self.driver && self.hooks.is_empty() && self.files.is_empty()
    }
}

/// Removes the merge driver, the hooks, and our parts of `.gitattributes` and of the files of coding agents. Nothing is committed.
pub(crate) fn remove(workspace: &Workspace, mode: DryRun) -> Result<Removal, ProjectError> {
    let repository = &workspace.repository;
    let lock = workspace.lock()?;
    let (hooks, foreign) = hooks_to_remove(repository)?;
    let mut removal =
        Removal { driver: repository.merge_driver()?.is_some(), hooks, ..Removal::default() };
    let line = |path: PathBuf| KeptFile {
        path: path.display().to_string(),
        why: "it is not ours alone: remove the line with `aof merge-driver`".to_owned(),
    };
    removal.kept.extend(foreign.into_iter().map(line));
    let mut changes: Vec<(ProjectPath, Vec<u8>, Vec<u8>)> = Vec::new();
    let root = workspace.paths.root();
    let read = |path: &ProjectPath| {
        let full = path.below(root);
        (!full.is_symlink()).then(|| fs::read(full).ok()).flatten()
    };
    let attributes: ProjectPath = ATTRIBUTES.parse()?;
    if let Some(before) = read(&attributes)
        && let Some(after) = attributes_without(&before)
    {
        changes.push((attributes, before, after));
    }
    for (file, place) in AgentFile::ALL
        .into_iter()
        .flat_map(|file| file.places().iter().map(move |place| (file, *place)))
    {
        let path: ProjectPath = place.parse()?;
        let Some(before) = read(&path).and_then(|bytes| String::from_utf8(bytes).ok()) else {
            continue;
        };
        let instructions = AgentFile::Instructions.places()[0];
        let stays = read(&instructions.parse()?).is_some()
            && !changes
                .iter()
                .any(|(path, _, after)| path.as_str() == instructions && after.is_empty());
        if file == AgentFile::ClaudeInstructions && stays {
            if file.without(&before).is_ok_and(|after| after != before) {
                let why = format!("`{instructions}` has other text, which it imports");
                removal.kept.push(KeptFile { path: place.to_owned(), why });
            }
            continue;
        }
        match file.without(&before) {
            Ok(after) if after == before => {}
            Ok(after) => changes.push((path, before.into_bytes(), after.into_bytes())),
            Err(UnmergeableFile { problem, fix, .. }) => {
                removal
                    .kept
                    .push(KeptFile { path: place.to_owned(), why: format!("{problem}; {fix}") });
            }
        }
    }
    if mode == DryRun::No {
        if removal.driver {
            repository.remove_merge_driver()?;
        }
        for path in &removal.hooks {
            let io = |cause| StoreError::Io { doing: "remove the hook", path: path.clone(), cause };
            fs::remove_file(path).map_err(io)?;
        }
        for (path, before, after) in &changes {
            if after.trim_ascii().is_empty() {
                atomic_write::remove_if(&lock, path, before)?;
            } else {
                atomic_write::replace_if(&lock, path, before, after)?;
            }
        }
    }
    removal.files = changes.into_iter().map(|(path, ..)| path).collect();
    Ok(removal)
}
