//! What `aof status` says of git around the project: locks that somebody left, an index that cannot be gone by, and what
//! git has that is this clone's alone.

use std::time::Duration;

use super::rules::of_rules;
use crate::domain::age;
use crate::domain::issue::Attention;
use crate::git::GitError;
use crate::history::merge_driver::install::{Missing, missing};
use crate::history::stale_index::Apart;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;

/// No command of git's that has not been killed holds a lock that long, but for a commit whose message is being written.
pub(crate) const OLD_LOCK: Duration = Duration::from_mins(5);

/// How git is told who somebody is.
pub(crate) const SAY_WHO: &str = "`git config user.name \"Your Name\"` and `git config user.email \"you@example.org\"`; with \
                                  `--global`, for every repository that does not say otherwise";

/// Locks of git's that nobody seems to hold any more.
pub(crate) fn left_locks(workspace: &Workspace) -> Vec<Attention> {
    let old = |(_, old): &(_, Duration)| *old >= OLD_LOCK;
    let locks = match workspace.repository.lock_files() {
        Ok(locks) => locks,
        Err(error) => return vec![of_git(&error.into())],
    };
    let point = |(path, old): (std::path::PathBuf, Duration)| Attention {
        code: "git_locked",
        problem: format!("nothing can be committed: `{}` is {} old", path.display(), age(old)),
        fix: "if no git is running, and no editor with a commit message is open, remove that file"
            .to_owned(),
    };
    locks.into_iter().filter(old).map(point).collect()
}

/// Without a committer nothing can be committed.
pub(crate) fn no_identity(workspace: &Workspace) -> Option<Attention> {
    let Err(GitError::NoIdentity { missing }) = workspace.repository.identity() else {
        return None;
    };
    Some(Attention {
        code: "no_identity",
        problem: format!(
            "nothing can be committed: git does not know who you are, since {missing} is not set"
        ),
        fix: SAY_WHO.to_owned(),
    })
}

/// Where a clone does not know the merge driver that its files ask for, git merges them as text and says nothing.
pub(crate) fn no_driver(workspace: &Workspace) -> Result<Option<Attention>, OpsError> {
    let missing = missing(workspace)?;
    let lacks = missing.contains(&Missing::Driver) && !missing.contains(&Missing::Attributes);
    Ok(lacks.then(|| Attention {
        code: "merge_driver_missing",
        problem: "git merges tasks as text in this clone: its configuration does not know the merge driver of `.gitattributes`"
            .to_owned(),
        fix: "`aof doctor --fix` puts it in place".to_owned(),
    }))
}

/// Says why nobody can go by git's index, or who cannot be asked.
pub(crate) fn of_index(fault: GitError) -> Attention {
    match OpsError::Git(fault) {
        error @ OpsError::Git(GitError::NotRun { .. }) => of_git(&error),
        error => Attention { code: "index_unreadable", ..of_git(&error) },
    }
}

/// Says which task files git's index has from before, or not at all: the next commit would take back what was committed since, or take a
/// task out of git.
pub(crate) fn of_index_behind(apart: &Apart) -> Vec<Attention> {
    let point = |code| move |(problem, fix)| Attention { code, problem, fix };
    let points = [
        apart.told().map(point("index_behind")),
        apart.taken_out_told().map(point("task_taken_out")),
    ];
    points.into_iter().flatten().collect()
}

/// Says that git did not answer.
pub(crate) fn of_git(error: &OpsError) -> Attention {
    Attention {
        code: "git_fails",
        problem: error.problem(),
        fix: error.fix().unwrap_or_else(|| "see `git status`".to_owned()),
    }
}

/// Says where git has what is this clone's alone, or cannot be asked.
pub(crate) fn own_folder(workspace: &Workspace) -> Option<Attention> {
    match workspace.own_folder_is_ours() {
        Err(error @ OpsError::Git(GitError::OwnFolderInGit(_))) => Some(of_rules(&error)),
        asked => asked.err().map(|error| of_git(&error)),
    }
}
