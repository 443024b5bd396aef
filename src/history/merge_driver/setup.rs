//! What tells git to merge tasks by meaning: a line in `.gitattributes`, which is committed, and in each clone git's configuration and
//! hooks. A person's lines and hooks stay as they are.

use std::path::{Path, PathBuf};

use super::attributes::commit_attributes;
use super::hooks::{HOOKS, HookState, set_up_hooks};
use crate::git::Repository;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;

/// The command that git runs for each file.
const COMMAND: &str =
    "aof merge-driver %O %A %B %P --marker-size %L --ours-label %X --theirs-label %Y";

/// The driver's name for people.
const NAME: &str = "tasks, by their meaning";

/// What a clone lacks.
#[derive(Debug)]
pub(crate) struct Missing {
    /// The line in `.gitattributes`.
    pub attributes: bool,
    /// The command in git's configuration; there may be another one.
    pub driver: bool,
    /// The hooks.
    pub hooks: HookState,
}

/// Returns what is missing.
pub(crate) fn missing(repository: &Repository) -> Result<Missing, ProjectError> {
    Ok(Missing {
        attributes: repository.merge_attribute("tasks/AOF-abc.md")?.as_deref() != Some("aof"),
        driver: lacks_driver(repository)?,
        hooks: HookState::of(repository)?,
    })
}

/// Returns whether the clone does not know the driver.
pub(crate) fn lacks_driver(repository: &Repository) -> Result<bool, ProjectError> {
    Ok(repository.merge_driver()?.as_deref() != Some(COMMAND))
}

/// Sets up what is missing; `.gitattributes` in a commit of its own. Returns whether that file could be changed: its uncommitted changes
/// are left alone.
pub(crate) fn install(workspace: &Workspace) -> Result<bool, ProjectError> {
    let is_whole = !missing(&workspace.repository)?.attributes || commit_attributes(workspace)?;
    install_here(workspace)?;
    Ok(is_whole)
}

/// Sets up what no commit holds: git's configuration and the hooks.
pub(crate) fn install_here(workspace: &Workspace) -> Result<(), ProjectError> {
    let repository = &workspace.repository;
    if lacks_driver(repository)? {
        repository.set_merge_driver(NAME, COMMAND)?;
    }
    set_up_hooks(repository)
}

/// What [`install_here`] is going to set up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SetUp {
    /// The git configuration that gets the driver.
    pub driver: Option<PathBuf>,
    /// The hooks that are made.
    pub hooks: Vec<PathBuf>,
    /// Hooks that a person has, or would have to make, and that lack the line.
    pub foreign: Vec<PathBuf>,
}

/// Returns what [`install_here`] is going to set up. Without a repository, one will be made in the folder.
pub(crate) fn to_set_up(
    repository: Option<&Repository>,
    folder: &Path,
) -> Result<SetUp, ProjectError> {
    let Some(repository) = repository else {
        let git = folder.join(".git");
        let hooks = HOOKS.map(|name| git.join("hooks").join(name)).to_vec();
        return Ok(SetUp { driver: Some(git.join("config")), hooks, foreign: Vec::new() });
    };
    let HookState { ours: hooks, foreign, .. } = HookState::of(repository)?;
    let driver = lacks_driver(repository)?.then(|| repository.common_dir().join("config"));
    Ok(SetUp { driver, hooks, foreign })
}
