//! The commits of a project where there may be no worktree: in a bare repository, or in the hook that judges a push. Only reads.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::history::{Range, Verified, verify};
use crate::domain::listed;
use crate::domain::ssh::trusted_keys::TrustedKeys;
use crate::files::config::configuration::PROJECT_FILE;
use crate::git::{CommitId, Repository};
use crate::history::touched_tasks::project_folders;
use crate::project::error::Named;
use crate::project::error::ProjectError;
use crate::project::workspace::Clock;
use crate::project::workspace::Workspace;
use crate::storage::{ProjectPath, StoreError, layout};

/// The folder of a project in the trees of a repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProjectFolder(String);

impl ProjectFolder {
    /// Returns it as git writes it; empty for the top.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    fn shown(&self) -> &str {
        if self.0.is_empty() { "." } else { &self.0 }
    }
}

impl FromStr for ProjectFolder {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let trimmed = text.trim_end_matches('/');
        let path = trimmed.strip_prefix("./").unwrap_or(trimmed);
        if matches!(path, "" | ".") && !text.starts_with('/') {
            return Ok(Self(String::new()));
        }
        Ok(Self(path.parse::<ProjectPath>()?.as_str().to_owned()))
    }
}

/// A repository whose commits are looked at, and nothing else of it.
pub(crate) struct CommitArchive {
    start: PathBuf,
    command: String,
    clock: Clock,
    /// The whole of it.
    whole: Workspace,
}

impl CommitArchive {
    /// Opens the nearest repository, from a folder upwards.
    pub(crate) fn open(start: &Path, command: String, clock: Clock) -> Result<Self, ProjectError> {
        let whole = Workspace::of_commits(start, "", command.clone(), clock)?;
        Ok(Self { start: start.to_owned(), command, clock, whole })
    }

    /// Returns whether files of a project may stand in that folder, and not only commits.
    pub(crate) fn has_files(folder: &Path) -> Result<bool, ProjectError> {
        Ok(Repository::is_in_worktree(folder)?)
    }

    /// Judges the commits of a range, for the project in that folder, or else for the only one that there is.
    pub(crate) fn verify(
        &self,
        folder: Option<&ProjectFolder>,
        range: &Range,
        anchor: Option<&TrustedKeys>,
    ) -> Result<Verified, ProjectError> {
        let folder = match folder {
            Some(folder) => {
                let until = self.until(range)?;
                self.require(folder, until)?;
                folder.clone()
            }
            None => self.only_one(range)?,
        };
        verify(&self.project(&folder)?, range, anchor)
    }

    pub(crate) fn repository(&self) -> &Repository {
        &self.whole.repository
    }

    /// Returns what it takes to judge the project of a folder.
    pub(crate) fn project(&self, folder: &ProjectFolder) -> Result<Workspace, ProjectError> {
        Workspace::of_commits(&self.start, &folder.0, self.command.clone(), self.clock)
    }

    /// Returns the folders in which a commit has a project: its rules, and tasks beside them.
    pub(crate) fn folders(
        &self,
        commit: CommitId,
    ) -> Result<BTreeSet<ProjectFolder>, ProjectError> {
        let files = self.repository().list(commit, "")?;
        let (mut ruled, mut with_tasks) = (BTreeSet::new(), BTreeSet::new());
        for file in &files {
            let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
            if name == PROJECT_FILE {
                ruled.insert(folder);
            }
            if matches!(layout::task_id(name), Some(Ok(_)))
                && let Some(above) = project_folders(&file.path).next_back()
            {
                with_tasks.insert(above.trim_end_matches('/'));
            }
        }
        Ok(ruled
            .intersection(&with_tasks)
            .map(|folder| ProjectFolder((*folder).to_owned()))
            .collect())
    }

    /// Expects that any of the commits, or of those that led to them, has a project in the folder.
    pub(crate) fn require(
        &self,
        folder: &ProjectFolder,
        commits: impl IntoIterator<Item = CommitId> + Clone,
    ) -> Result<(), ProjectError> {
        let project = self.project(folder)?;
        let repository = &project.repository;
        for commit in commits.clone() {
            if repository.blob_id(commit, PROJECT_FILE)?.is_some() {
                return Ok(());
            }
        }
        // It may have been moved away since.
        for commit in commits {
            if repository
                .log_of(commit, &[PROJECT_FILE, layout::TASKS])?
                .next()
                .transpose()?
                .is_some()
            {
                return Ok(());
            }
        }
        Err(ProjectError::Unfit {
            code: "no_such_project",
            problem: format!("there is no project in the folder `{}`, and never was", folder.shown().escape_debug()),
            fix: "name its folder as seen from the top of the repository, where its `project.yaml` is".to_owned(),
        })
    }

    /// Returns the commit that a range ends with; nothing where nothing was committed yet.
    fn until(&self, range: &Range) -> Result<Option<CommitId>, ProjectError> {
        match self.repository().commit_named(&range.until)? {
            None if range.until == "HEAD" && self.repository().look()?.commit.is_none() => Ok(None),
            None => Err(unknown(range)),
            found => Ok(found),
        }
    }

    fn only_one(&self, range: &Range) -> Result<ProjectFolder, ProjectError> {
        let repository = self.repository();
        let until = self.until(range)?.ok_or_else(|| unknown(range))?;
        let mut folders = self.folders(until)?.into_iter();
        let Some(first) = folders.next() else {
            return Err(StoreError::NoProject { start: repository.git_dir().to_owned() }.into());
        };
        let more: Vec<ProjectFolder> = folders.collect();
        if more.is_empty() {
            return Ok(first);
        }
        Err(ProjectError::Unfit {
            code: "several_projects",
            problem: format!(
                "there are several projects in the commit `{}`: {}",
                range.until,
                listed([&first].into_iter().chain(&more).map(ProjectFolder::shown))
            ),
            fix: "name the one that is meant with `--project FOLDER`".to_owned(),
        })
    }
}

fn unknown(range: &Range) -> ProjectError {
    ProjectError::Unknown { kind: Named::Commit, given: range.until.clone(), known: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_written_in_one_way() {
        let folder = |text: &str| text.parse::<ProjectFolder>().map(|folder| folder.0).ok();
        for (text, expected) in [
            (".", Some("")),
            ("", Some("")),
            ("./", Some("")),
            ("shop", Some("shop")),
            ("./a/b/", Some("a/b")),
            ("/", None),
            ("/etc", None),
            ("../x", None),
        ] {
            assert_eq!(folder(text).as_deref(), expected, "{text:?}");
        }
    }
}
