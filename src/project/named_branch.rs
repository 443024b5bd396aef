//! The branch that a project.yaml names (`git.branch`): here, in other commits, and in branches of remotes, which have a project only
//! if they name themselves.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::ProjectError;
use super::workspace::Workspace;
use crate::domain::Git;
use crate::files::config::configuration::{PROJECT_FILE, Source, read};
use crate::git::{CommitId, Repository};
use crate::system::terminal::quoted;

/// Returns the git settings of the committed project.yaml, and the file if it differs. A file without such settings is not parsed.
pub(crate) fn git_settings(root: &Path, repository: &Repository) -> Option<(Git, Option<PathBuf>)> {
    // The function that needs HEAD reports its faults.
    let commit = repository.head_for_reading().ok()?.commit?;
    let bytes = repository.read(commit, PROJECT_FILE).ok()??;
    let git = parse_git(&bytes)?;
    let file = root.join(PROJECT_FILE);
    let uncommitted_project_file =
        fs::read(&file).is_ok_and(|standing| standing != bytes).then_some(file);
    Some((git, uncommitted_project_file))
}

/// Returns the branches of remotes, as `origin/aof`, whose project.yaml names that very branch, with the settings there.
pub(crate) fn remote_projects(repository: &Repository) -> Result<Vec<(String, Git)>, ProjectError> {
    let mut found = Vec::new();
    for (name, commit) in repository.remote_branches()? {
        let names_itself = |git: &Git| {
            git.branch.as_ref().is_some_and(|branch| name.ends_with(&format!("/{branch}")))
        };
        found.extend(git_in(repository, commit).filter(names_itself).map(|git| (name, git)));
    }
    Ok(found)
}

/// Returns the git settings of the project.yaml at the top of a commit. A file without such settings is not parsed.
pub(crate) fn git_in(repository: &Repository, commit: CommitId) -> Option<Git> {
    parse_git(&repository.read(commit, PROJECT_FILE).ok()??)
}

fn parse_git(bytes: &[u8]) -> Option<Git> {
    let says = |word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
    if !says(b"branch") || !says(b"git") {
        return None;
    }
    let reading = read(&[Source { name: PROJECT_FILE.to_owned(), bytes: bytes.to_vec() }]);
    Some(reading.configuration.project.git)
}

/// A commit of the code's branch that names the project's branch, and that no remote has.
pub(crate) struct UnpushedPointer {
    pub problem: String,
    pub fix: String,
}

/// Returns the pointer of the folder where people work, if there is a remote, and no branch of it has such a pointer.
pub(crate) fn unpushed_pointer(
    workspace: &Workspace,
) -> Result<Option<UnpushedPointer>, ProjectError> {
    if workspace.checkout == workspace.paths.root() {
        return Ok(None);
    }
    let repository = Repository::discover(&workspace.checkout)?;
    let head = repository.head_for_reading()?;
    let pointer = git_settings(&workspace.checkout, &repository).and_then(|(git, _)| git.branch);
    let Some(branch) = pointer.filter(|_| head.reference != "HEAD") else { return Ok(None) };
    let mut remotes = repository.remote_branches()?;
    // Usually the code's own branch answers.
    remotes.sort_by_key(|(name, _)| !name.ends_with(&format!("/{}", head.branch())));
    let is_project = |name: &str| name.ends_with(&format!("/{branch}"));
    let names_it = |(name, commit): &(String, CommitId)| {
        let named = git_in(&repository, *commit).and_then(|git| git.branch);
        !is_project(name) && named.as_ref() == Some(&branch)
    };
    if remotes.is_empty() || remotes.iter().any(names_it) {
        return Ok(None);
    }
    let code = head.branch();
    let remote = remotes.iter().find_map(|(name, _)| Some(name.split_once('/')?.0));
    Ok(Some(UnpushedPointer {
        problem: format!(
            "project.yaml on `{code}`, which names the branch of the tasks, is not pushed"
        ),
        fix: format!(
            "push it with `git push {} {}`, or by a pull request; until then clones look for the branch `{branch}` themselves",
            remote.unwrap_or("origin"),
            quoted(code)
        ),
    }))
}
