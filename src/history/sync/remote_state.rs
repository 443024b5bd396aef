//! The comparison of this clone with its remote as last seen, and the record of the last contact.

use serde_json::{Value, json};

use super::outcome::SyncEnd;
use crate::domain::{Period, RemoteName, Timestamp};
use crate::git::{CommitId, Distance, GitError, Head, Upstream};
use crate::project::active_rules::{InForce, in_force};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::header_cache::{Hint, RemoteContact, RemoteFailure};

/// The comparison of this clone with its remote.
#[derive(Debug, Clone)]
pub(crate) struct RemoteStanding {
    /// The branch that it syncs with.
    pub upstream: Upstream,
    /// True if claims are confirmed there, and the watcher syncs.
    pub synced: bool,
    /// The distance of the branches, as the remote was last seen; `None` if it never was.
    pub distance: Option<Distance>,
    /// The time when the remote last answered.
    pub reached: Option<Timestamp>,
    /// The failure that prevents the sync.
    pub trouble: Option<RemoteFailure>,
}

/// Returns the comparison of the project with its remote; `None` if it has no definite one.
pub(crate) fn remote_standing(
    workspace: &Workspace,
    head: &Head,
    in_force: &InForce,
) -> Result<Option<RemoteStanding>, ProjectError> {
    let git = &in_force.rules.project.git;
    let repository = &workspace.repository;
    let Ok(upstream) = repository.upstream(head, git.remote.as_ref().map(RemoteName::as_str))?
    else {
        return Ok(None);
    };
    let distance = match (head.commit, repository.tracked_commit(&upstream)?) {
        (Some(here), Some(there)) => Some(repository.distance(here, there)?),
        _ => None,
    };
    let contact = RemoteContact::load(&workspace.paths).unwrap_or_default();
    let trouble = contact.failure_now().cloned();
    Ok(Some(RemoteStanding {
        upstream,
        synced: git.sync,
        distance,
        reached: contact.reached,
        trouble,
    }))
}

/// Returns the sync period, if the project is synced, and the remote's commit as last seen. Without a definite remote, that is HEAD.
/// Cheap.
pub(crate) fn sync_target(
    workspace: &Workspace,
) -> Result<(Option<Period>, Option<CommitId>), ProjectError> {
    let head = workspace.repository.head_for_reading()?;
    let in_force = in_force(workspace, &head)?;
    let git = &in_force.rules.project.git;
    if !git.sync {
        return Ok((None, None));
    }
    let theirs =
        match workspace.repository.upstream(&head, git.remote.as_ref().map(RemoteName::as_str))? {
            Ok(upstream) => workspace.repository.tracked_commit(&upstream)?,
            Err(_) => head.commit,
        };
    Ok((Some(git.every), theirs))
}

/// Returns the comparison for `--json`.
pub(crate) fn remote_value(standing: &RemoteStanding) -> Value {
    json!({
        "remote": standing.upstream.remote,
        "branch": standing.upstream.branch(),
        "sync": standing.synced,
        "ahead": standing.distance.map(|distance| distance.ahead),
        "behind": standing.distance.map(|distance| distance.behind),
        "reached": standing.reached.map(|reached| reached.to_string()),
        "trouble": standing.trouble.as_ref().map(|trouble| json!({
            "code": trouble.code, "said": trouble.said, "since": trouble.since.to_string(),
        })),
    })
}

impl RemoteStanding {
    /// Returns the comparison as one line.
    pub(crate) fn line(&self) -> String {
        let name = self.upstream.name();
        let commits = |count: usize, one: &str, many: &str| match count {
            1 => format!("1 commit {one}"),
            count => format!("{count} commits {many}"),
        };
        let away = match self.distance {
            None => format!("never synced with {name}"),
            Some(Distance { ahead: 0, behind: 0 }) if self.synced && self.trouble.is_some() => {
                format!(
                    "no commit to exchange with {name}, but nothing is handed out before a sync"
                )
            }
            Some(Distance { ahead: 0, behind: 0 }) => format!("in step with {name}"),
            Some(Distance { ahead, behind: 0 }) => {
                format!("{} for {name}", commits(ahead, "waits here", "wait here"))
            }
            Some(Distance { ahead: 0, behind }) => {
                format!("{} of {name} to come", commits(behind, "", "").trim_end())
            }
            Some(Distance { ahead, behind }) => format!(
                "{} for {name}, and {behind} of its own {} to come",
                commits(ahead, "waits here", "wait here"),
                if behind == 1 { "is" } else { "are" }
            ),
        };
        match (&self.trouble, self.reached) {
            (Some(RemoteFailure { code, since, .. }), _) if code == "offline" => {
                format!("{away}; offline since {since}")
            }
            (_, Some(reached)) => format!("{away}, as of {reached}"),
            (Some(_), None) => format!("{away}, as it was last seen"),
            (None, None) => away,
        }
    }

    /// Returns the code, problem and fix of a failure that needs attention.
    pub(crate) fn attention(&self) -> Option<(&'static str, String, String)> {
        let trouble = self.trouble.as_ref()?;
        let name = self.upstream.name();
        let since = trouble.since;
        Some(match trouble.code.as_str() {
            // Without sync, being offline prevents nothing.
            "offline" if !self.synced => return None,
            "offline" => (
                "offline",
                format!("{name} cannot be reached since {since}: {}", trouble.said),
                "nothing is lost, and nothing can be claimed; `aof sync` tries again, and so does `aof watch`"
                    .to_owned(),
            ),
            _ => (
                "not_synced",
                format!("{name} and this clone cannot be synced since {since}: {}", trouble.said),
                "see `aof sync`".to_owned(),
            ),
        })
    }
}

/// Records for `aof status` the time when the remote was reached, or the present failure and its beginning.
pub(crate) fn note_contact(
    workspace: &Workspace,
    end: &Result<SyncEnd, ProjectError>,
) -> Result<(), ProjectError> {
    let mut lock = None;
    let (code, message) = match end {
        Ok(SyncEnd::Same | SyncEnd::Rehearsed) => ("", String::new()),
        Ok(end @ (SyncEnd::Offline { message } | SyncEnd::Rejected { message, .. })) => {
            (end.code(), message.clone())
        }
        Ok(SyncEnd::Manual(left)) => (left.code, left.problem.clone()),
        Ok(end @ SyncEnd::Unsettled) => (end.code(), "the remote went on each time".to_owned()),
        // A local problem: nothing new is known about the remote. The message omits the age of the lock, since it is read later.
        Err(error @ ProjectError::Git(GitError::Locked { path, .. })) => {
            lock = Some(path.clone());
            let held = format!("`{}` is held by another git process", path.display());
            (error.code(), format!("{held}; if no git is running, delete that file"))
        }
        Err(
            error @ (ProjectError::Remote(_)
            | ProjectError::Git(
                GitError::FetchNotStored { .. } | GitError::ObjectsRejected { .. },
            )),
        ) => (error.code(), error.to_string()),
        // The error shows nothing about the remote.
        Err(_) => return Ok(()),
    };
    let now = workspace.now();
    let before = RemoteContact::load(&workspace.paths).unwrap_or_default();
    let since = before
        .trouble
        .as_ref()
        .filter(|trouble| trouble.code == code)
        .map_or(now, |trouble| trouble.since);
    let is_known = end.is_ok() && code != "offline";
    let reached = if is_known { Some(now) } else { before.reached };
    let trouble = (!code.is_empty()).then(|| RemoteFailure {
        code: code.to_owned(),
        said: message,
        since,
        lock,
    });
    RemoteContact { reached, trouble }.save(&workspace.paths)?;
    Ok(())
}
