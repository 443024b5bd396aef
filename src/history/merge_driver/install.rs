//! What tells git to merge tasks by their meaning: a line in `.gitattributes`, which is committed, and in each clone git's
//! configuration and a hook. A person's lines stay as they are; a person's hook is never changed.

use std::path::{Path, PathBuf};

use super::attributes::commit_attributes;
use super::hook;
use super::hook::{HOOK, Idle};
use crate::git::Repository;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;

/// The command that git runs for each file.
const COMMAND: &str =
    "aof merge-driver %O %A %B %P --marker-size %L --ours-label %X --theirs-label %Y";

/// What people are told of it.
const NAME: &str = "tasks, by their meaning";

/// Something without which git merges tasks as text, or a merge does not say what it superseded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The line in `.gitattributes`.
    Attributes,
    /// The command in git's configuration; it may be another one.
    Driver,
    /// The hook, which can be made; also where the one that stands there is what aof wrote before.
    Hook,
    /// The hook as aof writes it, but for its line ends: there is no interpreter whose name ends in a carriage return.
    HookEnds,
    /// The hook, where a person has one, or has git look elsewhere for hooks.
    ForeignHook {
        /// The file.
        path: PathBuf,
        /// The line to add.
        line: &'static str,
        /// Why it does nothing, where it has the line.
        idle: Option<Idle>,
    },
}

/// Returns what is missing.
pub(crate) fn missing(workspace: &Workspace) -> Result<Vec<Missing>, OpsError> {
    missing_in(&workspace.repository)
}

fn missing_in(repository: &Repository) -> Result<Vec<Missing>, OpsError> {
    let mut missing = Vec::new();
    if repository.merge_attribute("tasks/AOF-abc.md")?.as_deref() != Some("aof") {
        missing.push(Missing::Attributes);
    }
    if repository.merge_driver()?.as_deref() != Some(COMMAND) {
        missing.push(Missing::Driver);
    }
    missing.extend(hook::missing(repository)?);
    Ok(missing)
}

/// Puts in place what is missing and can be put there; `.gitattributes` in a commit of its own. Returns what is left to a person.
pub(crate) fn install(workspace: &Workspace) -> Result<Vec<Missing>, OpsError> {
    let mut left = Vec::new();
    for own in missing(workspace)? {
        match own {
            Missing::Attributes if !commit_attributes(workspace)? => left.push(own),
            Missing::Attributes => {}
            Missing::Driver => workspace.repository.set_merge_driver(NAME, COMMAND)?,
            Missing::Hook | Missing::HookEnds => {
                hook::write(&workspace.repository.common_dir().join("hooks"))?;
            }
            Missing::ForeignHook { .. } => left.push(own),
        }
    }
    Ok(left)
}

/// What a clone is told and no commit holds, as far as it was not told before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SetUp {
    /// The configuration of git's with the driver.
    pub driver: Option<PathBuf>,
    /// The hook.
    pub hook: Option<PathBuf>,
    /// A hook that a person has, or would have to make, and the line that it lacks.
    pub foreign: Option<(PathBuf, &'static str)>,
}

/// Returns what [`install_here`] is going to put in place; a repository that is to be made in the folder has nothing of it.
pub(crate) fn to_set_up(repository: Option<&Repository>, folder: &Path) -> Result<SetUp, OpsError> {
    let (git, missing) = match repository {
        Some(repository) => (repository.common_dir().to_owned(), missing_in(repository)?),
        None => (folder.join(".git"), vec![Missing::Driver, Missing::Hook]),
    };
    let is_missing = |wanted: &Missing| missing.contains(wanted);
    let foreign = missing.iter().find_map(|missing| match missing {
        Missing::ForeignHook { path, line, idle: None } => Some((path.clone(), *line)),
        _ => None,
    });
    Ok(SetUp {
        foreign,
        driver: is_missing(&Missing::Driver).then(|| git.join("config")),
        hook: is_missing(&Missing::Hook).then(|| git.join("hooks").join(HOOK)),
    })
}

/// Puts in place what no commit holds: git's configuration and the hook.
pub(crate) fn install_here(workspace: &Workspace) -> Result<(), OpsError> {
    for own in missing(workspace)? {
        match own {
            Missing::Driver => workspace.repository.set_merge_driver(NAME, COMMAND)?,
            Missing::Hook | Missing::HookEnds => {
                hook::write(&workspace.repository.common_dir().join("hooks"))?;
            }
            Missing::Attributes | Missing::ForeignHook { .. } => {}
        }
    }
    Ok(())
}
