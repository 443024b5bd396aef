//! A project on a branch of its own: its tasks, its history and its rules, checked out in a worktree of its own beside what people
//! work at. project.yaml of the other branches says only `git: {branch: NAME}`, so every clone finds it.
//!
//! The worktree is `.aof/branch`, below the project's folder in the main worktree: where people and agents can open and edit task
//! files, as they may not below `.git`; ignored by git, since all of `.aof` is; and, like it, made again where somebody removes it.

use std::fs;
use std::path::{Path, PathBuf};

use super::branch_checkout::{CheckedOut, FOLDER, Patience, check_out, check_out_new, refuse_link};
use super::error::error::OpsError;
use super::workspace::Workspace;
use crate::domain::{BranchName, Git, Timestamp};
use crate::files::config::config::{PROJECT_FILE, Source, read};
use crate::git::{BranchSource, Repository, Stage, Worktree};
use crate::setup::init::{
    Begun, NewProject, Pointed, folder_name, init, refuse_existing, repository_around,
};
use crate::storage::{Paths, ProjectPath};
use crate::tasks::apply::change::DryRun;
use crate::tasks::apply::commit_files::commit_new;

/// Where a project lives that lives on a branch of its own.
pub(crate) struct Elsewhere {
    /// The folder that the branch is checked out in.
    pub root: PathBuf,
    /// The project.yaml that names the branch, where it says something else by now than what is committed of it.
    pub unheeded: Option<PathBuf>,
    /// Where everything is that stood in that folder since git was killed there, if it was moved away now.
    pub set_aside: Option<PathBuf>,
}

/// Returns where the project in this folder lives, if not there: in the worktree of the branch that its committed project.yaml names,
/// which is made if it is not there.
pub(crate) fn follow_branch(
    root: &Path,
    repository: &Repository,
    patience: &Patience,
) -> Result<Option<Elsewhere>, OpsError> {
    let Some((git, unheeded)) = said_of_git(root, repository) else {
        return Ok(checked_out_beside(root, repository).map(|root| Elsewhere {
            root,
            unheeded: None,
            set_aside: None,
        }));
    };
    let Some(branch) = git.branch.clone() else { return Ok(None) };
    let checked_out = |home: &Path, unheeded| {
        let CheckedOut { folder, set_aside } =
            check_out(home, repository, (&branch, &git), patience).or_else(|error| {
                // What is in its place may be there by git.
                Repository::discover(home)?.own_folder_is_ours()?;
                Err(error)
            })?;
        Ok(Some(Elsewhere { root: folder, unheeded, set_aside }))
    };
    if repository.has_checked_out(branch.as_str()) {
        if repository.stage() == Stage::Whole {
            return Ok(None);
        }
        let Some(home) = root.ancestors().nth(2).filter(|_| root.ends_with(FOLDER)) else {
            return Ok(None);
        };
        return checked_out(home, None);
    }
    if let Some(Worktree { folder, stage: Stage::Whole }) = repository.worktree_of(branch.as_str())
    {
        refuse_link(&home(root, repository), repository, &branch)?;
        repository.unlock(&folder)?;
        return Ok(Some(Elsewhere { root: folder, unheeded, set_aside: None }));
    }
    checked_out(&home(root, repository), unheeded)
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
    let folder = home(root, repository).join(FOLDER).canonicalize().ok()?;
    if repository.link_to_moved(&folder).is_some() {
        return None;
    }
    repository
        .worktree_at(&folder)
        .filter(|worktree| worktree.stage == Stage::Whole)
        .map(|worktree| worktree.folder)
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
fn home(root: &Path, repository: &Repository) -> PathBuf {
    let common = repository.common_dir();
    let main = common.file_name().filter(|name| *name == ".git").and_then(|_| common.parent());
    let home = main.map(|main| main.join(repository.prefix()).components().collect::<PathBuf>());
    home.filter(|home| home.is_dir()).unwrap_or_else(|| root.to_owned())
}

/// Begins a project on a branch of its own, in a repository that there is. The branch that is checked out gets one commit, with a
/// project.yaml that says where the project is.
pub(crate) fn init_on_branch(
    new: &NewProject,
    branch: &BranchName,
    now: Timestamp,
    open: &dyn Fn(&Path) -> Result<Workspace, OpsError>,
    patience: &Patience,
    dry_run: DryRun,
) -> Result<Begun, OpsError> {
    let repository = repository_around(&new.folder)?.filter(|_| new.folder.is_dir());
    let Some(repository) = repository else {
        return Err(unfit(
            "no_repository_yet",
            "a branch of its own is for a project in a repository that there is already".to_owned(),
            "begin one with `git init` and a first commit, or leave `--branch` out".to_owned(),
        ));
    };
    let head = repository.head()?;
    if head.commit.is_none() {
        return Err(unfit(
            "no_commit_yet",
            format!("nothing is committed on `{}` yet", head.branch()),
            "commit something there first: it will say where the project is".to_owned(),
        ));
    }
    refuse_existing(&new.folder, Some(&repository), Some(&head))?;
    let source = repository.branch_source(branch.as_str(), None)?;
    // One that was killed there before it had written anything else is gone on with.
    let is_begun =
        matches!(source, Some(BranchSource::Here)) && is_only_begun(&repository, branch)?;
    if source.is_some() && !is_begun {
        return Err(unfit(
            "branch_exists",
            format!("there is a branch `{branch}` already"),
            format!(
                "name another; if a project lives on it, commit a project.yaml with `git: {{branch: {branch}}}` here, and every \
                 command finds it"
            ),
        ));
    }
    repository.identity()?;
    let own = Repository::discover(&new.folder)?;
    let home = home(&new.folder, &own);
    let inside = NewProject {
        folder: home.join(FOLDER),
        name: Some(new.name.clone().unwrap_or_else(|| folder_name(&new.folder))),
        branch: Some(branch.clone()),
        ..new.clone()
    };
    let path = PROJECT_FILE.parse::<ProjectPath>()?;
    let told = |commit| {
        let branch = head.branch().to_owned();
        Some(Pointed { root: new.folder.clone(), branch, commit, committed: vec![path.clone()] })
    };
    if dry_run == DryRun::Yes {
        return Ok(Begun { checkout: told(None), ..init(&inside, now, open, dry_run)? });
    }
    if is_begun {
        let CheckedOut { folder, .. } =
            check_out(&home, &repository, (branch, &Git::default()), patience)?;
        repository.unlock(&folder)?;
    } else {
        check_out_new(&home, &repository, branch, &beginning(branch), patience)?;
    }
    let begun = init(&inside, now, open, dry_run)?;
    let mut outside = open(&new.folder)?;
    outside.paths = Paths::of_checkout(outside.paths.root());
    let files = [(path.clone(), pointer(branch).into_bytes())];
    let message = format!("Tasks live on the branch {branch}");
    loop {
        let commit = commit_new(&outside, &outside.head()?, &files, &message)?;
        if commit.is_some() {
            return Ok(Begun { checkout: told(commit), ..begun });
        }
        refuse_existing(&new.folder, Some(&outside.repository), Some(&outside.head()?))?;
    }
}

/// Returns what the first commit of a branch says, which holds nothing.
fn beginning(branch: &BranchName) -> String {
    format!("Begin {branch}: a branch for tasks")
}

/// Returns whether a branch has that commit, and nothing else.
fn is_only_begun(repository: &Repository, branch: &BranchName) -> Result<bool, OpsError> {
    let Some(commit) = repository.commit_named(&format!("refs/heads/{branch}"))? else {
        return Ok(false);
    };
    let first = repository.log_entry(commit)?;
    let is_first = first.parents.is_empty() && first.message.trim_end() == beginning(branch);
    Ok(is_first && repository.changed_anywhere(commit)?.is_empty())
}

/// Returns what project.yaml of the other branches says.
fn pointer(branch: &BranchName) -> String {
    format!(
        "# The tasks of this repository, and the rules that they follow, live on a branch of their own: every `aof` command works\n\
         # there. It is checked out in `.aof/branch`.\n\
         git:\n  branch: {branch}\n"
    )
}

fn unfit(code: &'static str, problem: String, fix: String) -> OpsError {
    OpsError::Unfit { code, problem, fix }
}
