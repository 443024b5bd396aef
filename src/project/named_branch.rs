//! The branch that a project.yaml names (`git.branch`): here, in other commits, and in branches of remotes, which have a project only
//! if they name themselves.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::ProjectError;
use super::workspace::Workspace;
use crate::domain::{BranchName, Git};
use crate::files::config::configuration::{PROJECT_FILE, Source, read};
use crate::git::{CommitId, Head, ObjectId, Repository, TreeFile};
use crate::storage::layout::{TASKS, task_id};
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
    let found = named_by(repository, repository.remote_branches()?, ends_with)?;
    Ok(found.into_iter().map(|(name, _, git)| (name, git)).collect())
}

fn ends_with(name: &str, branch: &BranchName) -> bool {
    name.strip_suffix(branch.as_str()).is_some_and(|remote| remote.ends_with('/'))
}

/// Returns the branches whose project.yaml names a branch that is wanted. Most branches have the same file, which is read once.
fn named_by(
    repository: &Repository,
    branches: Vec<(String, CommitId)>,
    is_wanted: impl Fn(&str, &BranchName) -> bool,
) -> Result<Vec<(String, CommitId, Git)>, ProjectError> {
    let mut known: HashMap<ObjectId, Option<Git>> = HashMap::new();
    let mut found = Vec::new();
    for (name, commit) in branches {
        let Some(blob) = repository.blob_id(commit, PROJECT_FILE)? else { continue };
        let git = match known.entry(blob) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(parse_git(&repository.read_blob(blob)?)),
        };
        let git = git
            .clone()
            .filter(|git| git.branch.as_ref().is_some_and(|branch| is_wanted(&name, branch)));
        found.extend(git.map(|git| (name, commit, git)));
    }
    Ok(found)
}

/// Fails if the project of this worktree has moved to a branch of its own since, which has all its steps.
pub(crate) fn refuse_moved(repository: &Repository) -> Result<(), ProjectError> {
    // The functions that need a part of git report its faults.
    let Ok(Some((branch, is_here))) = moved_to(repository) else { return Ok(()) };
    let names_it = |(_, commit): &(String, CommitId)| {
        git_in(repository, *commit).and_then(|git| git.branch).as_ref() == Some(&branch)
    };
    let is_project = |name: &str| name == branch.as_str() || ends_with(name, &branch);
    let branches = [repository.local_branches()?, repository.remote_branches()?].concat();
    let code = branches.into_iter().find(|other| !is_project(&other.0) && names_it(other));
    let fix = match code {
        Some((code, _)) => {
            let code = quoted(&code);
            format!(
                "`git merge {code}` or `git rebase {code}` brings the project.yaml that names it"
            )
        }
        None if is_here => {
            format!("`aof migrate branch {branch}` was interrupted: run it again, and it goes on")
        }
        None => format!(
            "merge the commit that names it (`git: {{branch: {branch}}}` in project.yaml) once whoever moved the project has pushed that"
        ),
    };
    Err(ProjectError::Unfit {
        code: "project_moved",
        problem: format!(
            "the project has moved to the branch `{branch}`; this worktree has it as it was before"
        ),
        fix: fix.into(),
    })
}

/// Returns the branch of its own that has the newest step of this worktree's project, and whether it is a local one.
fn moved_to(repository: &Repository) -> Result<Option<(BranchName, bool)>, ProjectError> {
    let head = repository.head_for_reading()?;
    let Some(commit) = head.commit.filter(|_| repository.prefix().is_empty()) else {
        return Ok(None);
    };
    if repository.blob_id(commit, PROJECT_FILE)?.is_none() {
        return Ok(None);
    }
    for (branch, tip, is_here) in projects_elsewhere(repository, &head)? {
        if has_steps_of(repository, tip, commit)? {
            return Ok(Some((branch, is_here)));
        }
    }
    Ok(None)
}

/// Returns the other branches that have a project of their own, with their tips, and whether they are local ones.
pub(super) fn projects_elsewhere(
    repository: &Repository,
    head: &Head,
) -> Result<Vec<(BranchName, CommitId, bool)>, ProjectError> {
    let is_itself = |name: &str, branch: &BranchName| name == branch.as_str();
    let local = named_by(repository, repository.local_branches()?, is_itself)?;
    let remote = named_by(repository, repository.remote_branches()?, ends_with)?;
    let local = local.into_iter().map(|found| (found, true));
    let found = local.chain(remote.into_iter().map(|found| (found, false)));
    let found = found.filter_map(|((_, tip, git), is_here)| Some((git.branch?, tip, is_here)));
    Ok(found.filter(|(branch, ..)| branch.as_str() != head.branch()).collect())
}

/// Returns whether the history of a branch has the newest step of a commit's tasks.
pub(super) fn has_steps_of(
    repository: &Repository,
    tip: CommitId,
    commit: CommitId,
) -> Result<bool, ProjectError> {
    Ok(match newest_step(repository, commit)? {
        Some(newest) => repository.is_ancestor(newest, tip)?,
        None => false,
    })
}

/// Returns the newest commit of tasks whose project.yaml names no branch: where it names one, the tasks are on that.
pub(super) fn newest_step(
    repository: &Repository,
    commit: CommitId,
) -> Result<Option<CommitId>, ProjectError> {
    for entry in repository.log_of(commit, &[TASKS])? {
        let step = entry?.id;
        if git_in(repository, step).and_then(|git| git.branch).is_none() {
            return Ok(Some(step));
        }
    }
    Ok(None)
}

/// Returns whether the project.yaml of a commit names a branch here that has all steps of the tasks that the commit has.
pub(crate) fn has_left_tasks(
    repository: &Repository,
    commit: CommitId,
) -> Result<bool, ProjectError> {
    let Some(branch) = git_in(repository, commit).and_then(|git| git.branch) else {
        return Ok(false);
    };
    let tip = repository.local_branches()?.into_iter().find(|(name, _)| *name == *branch.as_str());
    let Some((_, tip)) = tip else { return Ok(false) };
    // The branch itself has its tasks still.
    Ok(!repository.is_ancestor(commit, tip)? && has_steps_of(repository, tip, commit)?)
}

/// Returns whether a commit without tasks names a branch, here or of a remote, that has all steps of its parents.
pub(crate) fn has_moved_away(
    repository: &Repository,
    commit: CommitId,
    parents: &[CommitId],
) -> Result<bool, ProjectError> {
    let Some(branch) = git_in(repository, commit).and_then(|git| git.branch) else {
        return Ok(false);
    };
    let is_task =
        |file: &TreeFile| task_id(file.path.rsplit('/').next().unwrap_or_default()).is_some();
    if repository.list(commit, TASKS)?.iter().any(is_task) {
        return Ok(false);
    }
    let local = repository.local_branches()?.into_iter();
    let local = local.filter(|(name, _)| *name == *branch.as_str());
    let remote = repository.remote_branches()?.into_iter();
    for (_, tip) in local.chain(remote.filter(|(name, _)| ends_with(name, &branch))) {
        // A branch that goes on from here has lost the tasks, too.
        let mut has_all = !repository.is_ancestor(commit, tip)?;
        for parent in parents {
            let has_tasks = !repository.list(*parent, TASKS)?.is_empty();
            has_all = has_all && (!has_tasks || has_steps_of(repository, tip, *parent)?);
        }
        if has_all {
            return Ok(true);
        }
    }
    Ok(false)
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
    let names_it = |(name, commit): &(String, CommitId)| {
        let named = git_in(&repository, *commit).and_then(|git| git.branch);
        !ends_with(name, &branch) && named.as_ref() == Some(&branch)
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
