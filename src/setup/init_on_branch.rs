//! A new project on a branch of its own, in a repository that there is.

use std::path::Path;

use super::init::{
    Begun, NewProject, Pointed, folder_name, init, refuse_existing, repository_around,
};
use crate::domain::{BranchName, Git, Timestamp};
use crate::files::config::configuration::PROJECT_FILE;
use crate::git::{BranchSource, Repository};
use crate::project::error::ProjectError;
use crate::project::open::home;
use crate::project::open::{FOLDER, Patience, check_out, check_out_new};
use crate::project::workspace::Workspace;
use crate::storage::{Paths, ProjectPath};
use crate::tasks::apply::commit_files;
use crate::tasks::plan::DryRun;
use crate::tasks::write::Beside;

/// Begins a project on a branch of its own, in a repository that there is. The branch that is checked out gets one commit, with a
/// project.yaml that says where the project is.
pub(crate) fn init_on_branch(
    new: &NewProject,
    branch: &BranchName,
    now: Timestamp,
    open: &dyn Fn(&Path) -> Result<Workspace, ProjectError>,
    patience: &Patience,
    dry_run: DryRun,
) -> Result<Begun, ProjectError> {
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
        check_out(&home, &repository, (branch, &Git::default()), patience)?;
    } else {
        check_out_new(&home, &repository, branch, &beginning(branch), patience)?;
    }
    let begun = init(&inside, now, open, dry_run)?;
    let mut outside = open(&new.folder)?;
    outside.paths = Paths::of_checkout(outside.paths.root());
    let bytes = pointer(branch).into_bytes();
    let files = [Beside { path: path.clone(), before: None, bytes }];
    let message = format!("Tasks live on the branch {branch}");
    loop {
        let commit = commit_files(&outside, &outside.head()?, &files, &message)?;
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
fn is_only_begun(repository: &Repository, branch: &BranchName) -> Result<bool, ProjectError> {
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

fn unfit(code: &'static str, problem: String, fix: String) -> ProjectError {
    ProjectError::Unfit { code, problem, fix }
}
