//! The files that rules are read from: those of a commit, those of the worktree, and where these differ. What they say is not asked.

use std::fs;

use super::error::ProjectError;
use crate::files::config::configuration::{
    ORG_FILE, PROJECT_FILE, Source, Subject, WORKFLOWS_FOLDER,
};
use crate::git::{CommitId, Repository, TreeFile, with_lf};
use crate::storage::Folder;

/// The files and folders that rules are read from.
pub(crate) const RULE_FILES: [&str; 3] = [PROJECT_FILE, ORG_FILE, WORKFLOWS_FOLDER];

/// The largest file of rules that is read.
pub(crate) const RULES_LIMIT: u64 = 1024 * 1024;

/// Returns which rules a commit has: two commits of the same mark have the same.
pub(crate) fn rules_mark(
    repository: &Repository,
    commit: CommitId,
) -> Result<Vec<TreeFile>, ProjectError> {
    let mut mark = Vec::new();
    for name in [PROJECT_FILE, ORG_FILE] {
        mark.extend(
            repository.blob_id(commit, name)?.map(|id| TreeFile { path: name.to_owned(), id }),
        );
    }
    mark.extend(
        repository
            .list(commit, WORKFLOWS_FOLDER)?
            .into_iter()
            .filter(|file| Subject::of(&file.path).is_some()),
    );
    Ok(mark)
}

/// Returns the files of rules that a commit has.
pub(crate) fn committed(
    repository: &Repository,
    commit: CommitId,
) -> Result<Vec<Source>, ProjectError> {
    sources(repository, &rules_mark(repository, commit)?)
}

/// Returns the files of such a mark.
pub(crate) fn sources(
    repository: &Repository,
    mark: &[TreeFile],
) -> Result<Vec<Source>, ProjectError> {
    mark.iter().map(|file| Ok(source(&file.path, &repository.read_blob(file.id)?))).collect()
}

/// Returns the files of rules that stand in the worktree.
pub(crate) fn standing_files(repository: &Repository) -> Result<Vec<Source>, ProjectError> {
    let mut sources = Vec::new();
    for name in standing_names(repository) {
        if let Some(bytes) = standing_file(repository, &name)? {
            sources.push(source(&name, &bytes));
        }
    }
    Ok(sources)
}

/// Returns the names of the files that rules are read from, whether or not they are there.
fn standing_names(repository: &Repository) -> Vec<String> {
    let folder = repository.worktree_path(WORKFLOWS_FOLDER);
    let mut workflows: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            Some(format!("{WORKFLOWS_FOLDER}/{}", entry.ok()?.file_name().to_str()?))
        })
        .filter(|name| Subject::of(name).is_some())
        .collect();
    workflows.sort();
    let mut names = vec![PROJECT_FILE.to_owned(), ORG_FILE.to_owned()];
    names.append(&mut workflows);
    names
}

/// Reads a file of rules in the worktree, if it is one: a pipe or a folder of that name is not opened.
fn standing_file(repository: &Repository, name: &str) -> Result<Option<Vec<u8>>, ProjectError> {
    let path = repository.worktree_path(name);
    let root = repository.worktree_path("");
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    match Folder::open_existing(&root, folder) {
        Ok(Some(folder)) => Ok(folder.read(file, RULES_LIMIT)?.map(|(bytes, _)| bytes)),
        Ok(None) => Ok(None),
        Err(_) if !path.exists() => Ok(None),
        Err(fault) => Err(fault.into()),
    }
}

fn source(name: &str, bytes: &[u8]) -> Source {
    Source { name: name.to_owned(), bytes: bytes.to_vec() }
}

/// Returns the files of rules in which the worktree differs from the commit. Line endings alone are no difference, because git
/// may write its own on checkout; a file that cannot be read is one: it only warns.
pub(crate) fn uncommitted(
    repository: &Repository,
    commit: CommitId,
) -> Result<Vec<String>, ProjectError> {
    let before = rules_mark(repository, commit)?;
    let mut names: Vec<String> =
        before.iter().map(|file| file.path.clone()).chain(standing_names(repository)).collect();
    names.sort();
    names.dedup();
    let mut differing = Vec::new();
    for name in names {
        let committed = before.iter().find(|file| file.path == name);
        let same = match (standing_file(repository, &name), committed) {
            (Ok(None), None) => true,
            (Ok(Some(now)), Some(file)) => {
                repository.is_same_text(&now, file.id)
                    || with_lf(&now) == with_lf(&repository.read_blob(file.id)?)
            }
            _ => false,
        };
        if !same {
            differing.push(name);
        }
    }
    Ok(differing)
}
