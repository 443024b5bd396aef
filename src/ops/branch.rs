//! A project on a branch of its own: its tasks, its history and its rules, checked out in a worktree of its own beside what people
//! work at. project.yaml of the other branches says only `git: {branch: NAME}`, so every clone finds it.
//!
//! The worktree is `.aof/branch`, below the project's folder in the main worktree: where people and agents can open and edit task
//! files, as they may not below `.git`; ignored by git, since all of `.aof` is; and, like it, made again where somebody removes it.

use std::fs;
use std::path::{Path, PathBuf};

use tracing::info;

use super::error::OpsError;
use super::init::{Begun, NewProject, folder_name, init, refuse_existing, repository_around};
use super::rule_files::commit_new;
use super::transaction::DryRun;
use super::workspace::Workspace;
use crate::audit::{BranchSource, Repository};
use crate::format::config::{PROJECT_FILE, Source, read};
use crate::model::{BranchName, Git, RemoteName, Timestamp};
use crate::store::{Paths, ProjectPath};

/// Where the branch is checked out, below the project's folder.
const FOLDER: &str = ".aof/branch";

/// Returns the folder that the project in this one lives in: itself, or the worktree of the branch that its project.yaml names,
/// which is made if it is not there.
pub fn follow_branch(root: &Path) -> Result<PathBuf, OpsError> {
    let Some(git) = said_of_git(root) else { return Ok(root.to_owned()) };
    let Some(branch) = git.branch else { return Ok(root.to_owned()) };
    let repository = Repository::discover(root)?;
    if repository.has_checked_out(branch.as_str()) {
        return Ok(root.to_owned());
    }
    if let Some(folder) = repository.worktree_of(branch.as_str())? {
        return Ok(folder);
    }
    let remote = git.remote.as_ref().map(RemoteName::as_str);
    let Some(source) = repository.branch_source(branch.as_str(), remote)? else {
        return Err(OpsError::Unfit {
            code: "branch_missing",
            problem: format!(
                "the project lives on the branch `{branch}` (`git.branch` in project.yaml), which is not here"
            ),
            fix: format!("get it with `git fetch {} {branch}:{branch}`", remote.unwrap_or("origin")),
        });
    };
    let home = home(root, &repository);
    Paths::at(&home).prepare_local()?;
    let folder = home.join(FOLDER);
    match repository.add_worktree(&folder, branch.as_str(), &source) {
        Ok(()) => info!(%branch, folder = %folder.display(), "checked out the branch of the project"),
        // Another command may have been faster.
        Err(error) => return repository.worktree_of(branch.as_str())?.ok_or_else(|| error.into()),
    }
    Ok(folder)
}

/// Returns what project.yaml says of git, as it stands in the folder. Most say nothing, and are not read any further.
fn said_of_git(root: &Path) -> Option<Git> {
    let bytes = fs::read(root.join(PROJECT_FILE)).ok()?;
    let says = |word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
    if !says(b"branch") || !says(b"git") {
        return None;
    }
    let reading = read(&[Source { name: PROJECT_FILE.to_owned(), bytes }]);
    Some(reading.configuration.project.git)
}

/// Returns the same folder in the main worktree, which stays when others are removed.
fn home(root: &Path, repository: &Repository) -> PathBuf {
    let common = repository.common_dir();
    let main = common.file_name().filter(|name| *name == ".git").and_then(|_| common.parent());
    let home = main.map(|main| main.join(repository.prefix()));
    home.filter(|home| home.is_dir()).unwrap_or_else(|| root.to_owned())
}

/// Begins a project on a branch of its own, in a repository that there is. The branch that is checked out gets one commit, with a
/// project.yaml that says where the project is.
pub fn init_on_branch(
    new: &NewProject,
    branch: &BranchName,
    now: Timestamp,
    open: &dyn Fn(&Path) -> Result<Workspace, OpsError>,
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
    if repository.branch_source(branch.as_str(), None)?.is_some() {
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
    if dry_run == DryRun::Yes {
        return init(&inside, now, open, dry_run);
    }
    repository.begin_branch(branch.as_str(), &format!("Begin {branch}: a branch for tasks"))?;
    Paths::at(&home).prepare_local()?;
    repository.add_worktree(&inside.folder, branch.as_str(), &BranchSource::Here)?;
    let begun = init(&inside, now, open, dry_run)?;
    let outside = open(&new.folder)?;
    let files = [(PROJECT_FILE.parse::<ProjectPath>()?, pointer(branch).into_bytes())];
    let message = format!("Tasks live on the branch {branch}");
    while commit_new(&outside, &outside.head()?, &files, &message)?.is_none() {
        refuse_existing(&new.folder, Some(&outside.repository), Some(&outside.head()?))?;
    }
    Ok(begun)
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
