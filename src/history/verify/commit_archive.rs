//! Judges projects without a worktree: in a bare repository, or in the hook that judges a push. Reads only.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::{Value, json};

use super::history::{
    Range, Verification, broken_promises, forced, superseded, verify, verify_commits,
};
use crate::domain::listed;
use crate::domain::ssh::trusted_keys::TrustedKeys;
use crate::files::config::configuration::PROJECT_FILE;
use crate::git::{CommitId, ObjectId, Repository};
use crate::history::commit_tasks::project_folders;
use crate::project::error::{Named, ProjectError};
use crate::project::workspace::{Clock, Workspace};
use crate::storage::{ProjectPath, StoreError, layout};

/// The folder of a project in the trees of a repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProjectFolder(String);

impl ProjectFolder {
    /// Returns the folder as a path in git; empty for the top.
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

/// A repository of which only the commits are read.
pub(crate) struct CommitArchive {
    start: PathBuf,
    command: String,
    clock: Clock,
    whole: Workspace,
}

impl CommitArchive {
    /// Opens the repository of a folder, or of the nearest parent.
    pub(crate) fn open(start: &Path, command: String, clock: Clock) -> Result<Self, ProjectError> {
        let whole = Workspace::for_commits(start, "", command.clone(), clock)?;
        Ok(Self { start: start.to_owned(), command, clock, whole })
    }

    /// Returns whether the folder is in a worktree, and not in a bare repository.
    pub(crate) fn has_files(folder: &Path) -> Result<bool, ProjectError> {
        Ok(Repository::is_in_worktree(folder)?)
    }

    /// Judges the commits of a range, for the project in that folder, otherwise for the only project.
    pub(crate) fn verify(
        &self,
        folder: Option<&ProjectFolder>,
        range: &Range,
        anchor: Option<&TrustedKeys>,
    ) -> Result<Verification, ProjectError> {
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

    /// Returns the project of a folder, without a worktree.
    pub(crate) fn project(&self, folder: &ProjectFolder) -> Result<Workspace, ProjectError> {
        Workspace::for_commits(&self.start, &folder.0, self.command.clone(), self.clock)
    }

    /// Returns the folders in which a commit has a project: rules, and tasks beside them.
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

    /// Fails if none of the commits, nor of their ancestors, has a project in the folder.
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
        // The project may have been removed since.
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
            fix: "name its folder as seen from the top of the repository, where its `project.yaml` is".into(),
        })
    }

    /// Returns the last commit of a range; `None` if nothing was committed yet.
    fn until(&self, range: &Range) -> Result<Option<CommitId>, ProjectError> {
        match self.repository().commit_named(&range.until)? {
            None if range.until == "HEAD"
                && self.repository().head_for_reading()?.commit.is_none() =>
            {
                Ok(None)
            }
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
            fix: "name the one that is meant with `--project FOLDER`".into(),
        })
    }
}

fn unknown(range: &Range) -> ProjectError {
    ProjectError::Unknown { kind: Named::Commit, given: range.until.clone(), known: Vec::new() }
}

/// The update of a reference by a push, as git passes it to the `pre-receive` hook: old object, new object, name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Update {
    /// As `refs/heads/main`.
    pub reference: String,
    /// The old object; `None` if the reference is new.
    pub old: Option<ObjectId>,
    /// The new object; `None` if the reference is deleted.
    pub new: Option<ObjectId>,
}

/// A line that git does not write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` does not say what is pushed", .0.escape_debug())]
pub(crate) struct NotAnUpdate(String);

impl FromStr for Update {
    type Err = NotAnUpdate;

    fn from_str(line: &str) -> Result<Self, NotAnUpdate> {
        let fault = || NotAnUpdate(line.to_owned());
        let mut words = line.splitn(3, ' ');
        let mut object = || -> Option<Option<ObjectId>> {
            let id: ObjectId = words.next()?.parse().ok()?;
            Some((!is_nothing(id)).then_some(id))
        };
        let (old, new) = (object().ok_or_else(fault)?, object().ok_or_else(fault)?);
        match words.next() {
            Some(reference) if reference.starts_with("refs/") => {
                Ok(Self { reference: reference.to_owned(), old, new })
            }
            _ => Err(fault()),
        }
    }
}

/// Returns whether the name consists of zeros, with which git marks a missing object.
fn is_nothing(id: ObjectId) -> bool {
    id.to_string().bytes().all(|digit| digit == b'0')
}

/// The judgement of a push, for one project and one reference.
#[derive(Debug)]
pub(crate) struct JudgedPush {
    pub reference: String,
    pub project: ProjectFolder,
    pub verified: Verification,
}

/// Judges a push, in the order of its updates. Deleted references, and those of other objects than commits, are ignored. Without a
/// folder, all projects of the repository and of the push are judged.
pub(crate) fn verify_pushed(
    past: &CommitArchive,
    folder: Option<&ProjectFolder>,
    updates: &[Update],
    anchor: Option<&TrustedKeys>,
) -> Result<Vec<JudgedPush>, ProjectError> {
    let repository = past.repository();
    let mut known = repository.named_commits()?;
    let head = repository.head_for_reading()?;
    let mut pushed = Vec::new();
    for update in updates {
        let commit = |id: Option<ObjectId>| id.map(|id| repository.commit_behind(id)).transpose();
        if let Some(new) = commit(update.new)?.flatten() {
            pushed.push((update, commit(update.old)?.flatten(), new));
        }
    }
    // The pushed commit of HEAD's branch counts for the other branches as well.
    let new_main =
        pushed.iter().find(|(update, ..)| update.reference == head.reference).map(|(.., new)| *new);
    let folders = match folder {
        Some(folder) => {
            let of_push = pushed.iter().flat_map(|(_, old, new)| old.iter().copied().chain([*new]));
            let all: Vec<CommitId> = of_push.chain(known.iter().copied()).collect();
            if !all.is_empty() {
                past.require(folder, all)?;
            }
            BTreeSet::from([folder.clone()])
        }
        None => folders(
            past,
            pushed.iter().flat_map(|(_, old, new)| old.iter().copied().chain([*new])),
        )?,
    };
    let mut judged = Vec::new();
    for (update, old, new) in pushed {
        let since: Vec<CommitId> = match old {
            Some(old) => vec![old],
            // Commits of other references were judged when they were pushed.
            None => known.clone(),
        };
        for project in &folders {
            let workspace = past.project(project)?;
            let mut verified = verify_commits(&workspace, &since, new, anchor)?;
            verified.findings.extend(broken_promises(&workspace, old, new)?);
            if let Some(old) = old.filter(|_| update.reference.starts_with("refs/heads/")) {
                verified.findings.extend(forced(repository, old, new)?);
                let main = new_main.filter(|_| update.reference != head.reference).or(head.commit);
                let lost = superseded(&workspace, (old, new), main, &verified.findings)?;
                verified.findings.extend(lost);
            }
            judged.push(JudgedPush {
                reference: update.reference.clone(),
                project: project.clone(),
                verified,
            });
        }
        known.push(new);
    }
    Ok(judged)
}

/// Returns the projects in any of the commits, and in HEAD.
fn folders(
    past: &CommitArchive,
    commits: impl Iterator<Item = CommitId>,
) -> Result<BTreeSet<ProjectFolder>, ProjectError> {
    let mut folders = BTreeSet::new();
    let head = past.repository().head_for_reading()?.commit;
    for commit in head.into_iter().chain(commits).collect::<BTreeSet<_>>() {
        folders.extend(past.folders(commit)?);
    }
    Ok(folders)
}

/// Returns the judgements for `--json`.
pub(crate) fn pushed_value(pushed: &[JudgedPush]) -> Value {
    let refs = pushed.iter().map(|one| {
        let mut value = one.verified.value();
        value["ref"] = one.reference.as_str().into();
        value["project"] = one.project.as_str().into();
        value
    });
    json!({
        "ok": pushed.iter().all(|one| one.verified.open().next().is_none()),
        "refs": refs.collect::<Vec<_>>(),
    })
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

    #[test]
    fn lines_are_read_as_git_writes_them() {
        let (zeros, some) = ("0".repeat(40), "a".repeat(40));
        let update: Update = format!("{zeros} {some} refs/heads/with space").parse().unwrap();
        assert_eq!((update.old, update.new.is_some()), (None, true));
        assert_eq!(update.reference, "refs/heads/with space");
        let gone: Update = format!("{some} {zeros} refs/tags/v1").parse().unwrap();
        assert!(gone.old.is_some() && gone.new.is_none());
        for line in [
            "",
            "main",
            &format!("{some} {some}"),
            &format!("{some} {some} main"),
            "x y refs/heads/main",
        ] {
            assert!(line.parse::<Update>().is_err(), "{line:?}");
        }
    }
}
