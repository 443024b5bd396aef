//! What a push would do, judged before it is accepted: each reference by where it was, with every project that there is.

use std::collections::BTreeSet;
use std::str::FromStr;

use serde_json::{Value, json};

use super::branch_moves::{forced, superseded};
use super::history::{Verified, verify_commits};
use super::project_commits::{CommitArchive, ProjectFolder};
use crate::domain::ssh::trusted_keys::TrustedKeys;
use crate::git::{CommitId, ObjectId};
use crate::project::error::ProjectError;

/// What a push does to a reference, as git tells its `pre-receive` hook: the old object, the new one, the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Update {
    /// As `refs/heads/main`.
    pub reference: String,
    /// What it was; nothing if it is new.
    pub old: Option<ObjectId>,
    /// What it would be; nothing if it is to be deleted.
    pub new: Option<ObjectId>,
}

/// A line that is none of those that git writes.
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

/// Git says that there is no object by a name of zeros.
fn is_nothing(id: ObjectId) -> bool {
    id.to_string().bytes().all(|digit| digit == b'0')
}

/// What a push brings to a project on one reference.
#[derive(Debug)]
pub(crate) struct JudgedPush {
    /// The reference.
    pub reference: String,
    /// The project's folder in the repository.
    pub project: ProjectFolder,
    /// What it is worth.
    pub verified: Verified,
}

/// Judges what a push brings, in the order in which git tells of it. A reference that is deleted, or is not about a commit, brings
/// nothing. Without a folder, every project counts that the repository has, or that the push brings.
pub(crate) fn verify_pushed(
    past: &CommitArchive,
    folder: Option<&ProjectFolder>,
    updates: &[Update],
    anchor: Option<&TrustedKeys>,
) -> Result<Vec<JudgedPush>, ProjectError> {
    let repository = past.repository();
    let mut known = repository.named_commits()?;
    let head = repository.look()?;
    let mut ways = Vec::new();
    for update in updates {
        let commit = |id: Option<ObjectId>| id.map(|id| repository.commit_behind(id)).transpose();
        if let Some(new) = commit(update.new)?.flatten() {
            ways.push((update, commit(update.old)?.flatten(), new));
        }
    }
    // What the push brings to the branch of HEAD decides for the other ones as well.
    let arrives =
        ways.iter().find(|(update, ..)| update.reference == head.reference).map(|(.., new)| *new);
    let folders = match folder {
        Some(folder) => {
            let pushed = ways.iter().flat_map(|(_, old, new)| old.iter().copied().chain([*new]));
            let all: Vec<CommitId> = pushed.chain(known.iter().copied()).collect();
            if !all.is_empty() {
                past.require(folder, all)?;
            }
            BTreeSet::from([folder.clone()])
        }
        None => {
            folders(past, ways.iter().flat_map(|(_, old, new)| old.iter().copied().chain([*new])))?
        }
    };
    let mut pushed = Vec::new();
    for (update, old, new) in ways {
        let since: Vec<CommitId> = match old {
            Some(old) => vec![old],
            // What any other reference has was judged when it came.
            None => known.clone(),
        };
        for project in &folders {
            let workspace = past.project(project)?;
            let mut verified = verify_commits(&workspace, &since, new, anchor)?;
            if let Some(old) = old.filter(|_| update.reference.starts_with("refs/heads/")) {
                verified.findings.extend(forced(repository, old, new)?);
                let main = arrives.filter(|_| update.reference != head.reference).or(head.commit);
                let lost = superseded(&workspace, (old, new), main, &verified.findings)?;
                verified.findings.extend(lost);
            }
            pushed.push(JudgedPush {
                reference: update.reference.clone(),
                project: project.clone(),
                verified,
            });
        }
        known.push(new);
    }
    Ok(pushed)
}

/// Returns the projects in any of the commits, and on the branch that the repository is known by.
fn folders(
    past: &CommitArchive,
    commits: impl Iterator<Item = CommitId>,
) -> Result<BTreeSet<ProjectFolder>, ProjectError> {
    let mut folders = BTreeSet::new();
    let head = past.repository().look()?.commit;
    for commit in head.into_iter().chain(commits).collect::<BTreeSet<_>>() {
        folders.extend(past.folders(commit)?);
    }
    Ok(folders)
}

/// Returns what was found as `--json` shows it.
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
