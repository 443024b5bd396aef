//! A project on a branch of its own: its tasks, its history and its rules, checked out in a worktree of its own beside what people
//! work at. project.yaml of the other branches says only `git: {branch: NAME}`, so every clone finds it.
//!
//! The worktree is `.aof/branch`, below the project's folder in the main worktree: where people and agents can open and edit task
//! files, as they may not below `.git`; ignored by git, since all of `.aof` is; and, like it, made again where somebody removes it.

use std::fs;
use std::path::{Path, PathBuf};

use super::branch_checkout::{FOLDER, Patience, check_out, refuse_link};
use super::error::ProjectError;
use crate::domain::Git;
use crate::files::config::configuration::{PROJECT_FILE, Source, read};
use crate::git::{Repository, Worktree};

/// Where a project lives that lives on a branch of its own.
pub(crate) struct Elsewhere {
    /// The folder that the branch is checked out in.
    pub root: PathBuf,
    /// The project.yaml that names the branch, where it says something else by now than what is committed of it.
    pub unheeded: Option<PathBuf>,
}

/// Returns where the project in this folder lives, if not there: in the worktree of the branch that its committed project.yaml names,
/// which is made if it is not there.
pub(crate) fn follow_branch(
    root: &Path,
    repository: &Repository,
    patience: &Patience,
) -> Result<Option<Elsewhere>, ProjectError> {
    let Some((git, unheeded)) = said_of_git(root, repository) else {
        return Ok(
            checked_out_beside(root, repository).map(|root| Elsewhere { root, unheeded: None })
        );
    };
    let Some(branch) = git.branch.clone() else { return Ok(None) };
    let checked_out = |home: &Path, unheeded| {
        let root = check_out(home, repository, (&branch, &git), patience).or_else(|error| {
            // What is in its place may be there by git.
            Repository::discover(home)?.own_folder_is_ours()?;
            Err(error)
        })?;
        Ok(Some(Elsewhere { root, unheeded }))
    };
    if repository.has_checked_out(branch.as_str()) {
        let home = root.ancestors().nth(2).filter(|_| root.ends_with(FOLDER));
        return match home {
            Some(home) if !repository.is_whole() => checked_out(home, None),
            _ => Ok(None),
        };
    }
    let home = home(root, repository);
    refuse_link(&home, &branch)?;
    match repository.worktree_of(branch.as_str()) {
        Some(Worktree { folder, is_whole: true }) => Ok(Some(Elsewhere { root: folder, unheeded })),
        _ => checked_out(&home, unheeded),
    }
}

/// Returns the folder in which a branch of a project is checked out for this one: where nothing of a project is here, as on a branch of
/// the code that knows nothing of it.
fn checked_out_beside(root: &Path, repository: &Repository) -> Option<PathBuf> {
    let is_here = |name: &str| fs::symlink_metadata(root.join(name)).is_ok();
    let committed = || repository.read(repository.look().ok()?.commit?, PROJECT_FILE).ok()?;
    if is_here(PROJECT_FILE) || is_here("tasks") || root.ends_with(FOLDER) || committed().is_some()
    {
        return None;
    }
    let folder = home(root, repository).join(FOLDER);
    if folder.is_symlink() {
        return None;
    }
    folder.canonicalize().ok().filter(|folder| repository.has_worktree_at(folder))
}

/// Returns the top of the worktree around a folder, where it has nothing of a project, and one is checked out beside it.
pub(crate) fn worktree_beside(start: &Path) -> Option<PathBuf> {
    let root = Repository::discover(start).ok()?.worktree_root().to_owned();
    checked_out_beside(&root, &Repository::discover(&root).ok()?).map(|_| root)
}

/// Returns what the committed project.yaml says of git, and where the file says something else. Most say nothing, and are not read
/// any further.
fn said_of_git(root: &Path, repository: &Repository) -> Option<(Git, Option<PathBuf>)> {
    // Whatever is the matter with HEAD is told by who needs it.
    let commit = repository.look().ok()?.commit?;
    let bytes = repository.read(commit, PROJECT_FILE).ok()??;
    let says = |word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
    if !says(b"branch") || !says(b"git") {
        return None;
    }
    let file = root.join(PROJECT_FILE);
    let unheeded = fs::read(&file).is_ok_and(|standing| standing != bytes).then_some(file);
    let reading = read(&[Source { name: PROJECT_FILE.to_owned(), bytes }]);
    Some((reading.configuration.project.git, unheeded))
}

/// Returns the same folder in the main worktree, which stays when others are removed.
pub(crate) fn home(root: &Path, repository: &Repository) -> PathBuf {
    let common = repository.common_dir();
    let main = common.file_name().filter(|name| *name == ".git").and_then(|_| common.parent());
    let home = main.map(|main| main.join(repository.prefix()).components().collect::<PathBuf>());
    home.filter(|home| home.is_dir()).unwrap_or_else(|| root.to_owned())
}
