//! Git around the project: what it is in the middle of, its locks, its settings, and who commits.

use std::time::Duration;

use jiff::Unit;

use crate::domain::age;
use crate::git::{GitError, Storage};
use crate::health::subject::{Found, Subject};
use crate::project::error::ProjectError;
use crate::project::issue::Issue;
use crate::storage::{Holder, StoreError, WriterLock};

/// The oldest git that knows everything that is asked of it here.
const OLDEST: (u32, u32) = (2, 34);

/// No git that was not killed holds a lock that long, but for a commit whose message is being written.
const OLD_LOCK: Duration = Duration::from_mins(5);

/// No command of ours holds the lock that long, in seconds.
const LONG: f64 = 60.0;

/// What `git gc --auto` itself goes by, as long as nobody says otherwise.
const MANY_LOOSE: usize = 6_700;
const MANY_PACKS: usize = 50;

/// How git is told who somebody is.
const SAY_WHO: &str = "`git config user.name \"Your Name\"` and `git config user.email \"you@example.org\"`; with \
                       `--global`, for every repository that does not say otherwise";

/// What git is in the middle of, and an index that cannot be read.
pub(crate) fn busy(subject: &Subject<'_>) -> Found {
    let busy = subject.busy.as_ref().map(|error| {
        Issue::new(
            "git_busy",
            format!("nothing can be committed: {error}"),
            "changes wait until that is done; dropped files stay in the inbox",
        )
    });
    let index = subject.workspace.repository.index_fault().map(|fault| match fault {
        GitError::NotRun { .. } => failing(&fault.into()),
        fault => Issue { code: "index_unreadable", ..failing(&fault.into()) },
    });
    Ok(busy.into_iter().chain(index).collect())
}

/// Says that git did not answer.
pub(crate) fn failing(error: &ProjectError) -> Issue {
    let fix = error.fix().unwrap_or_else(|| "see `git status`".to_owned());
    Issue::new("git_fails", error.problem(), fix)
}

/// Without a committer nothing can be committed.
pub(crate) fn identity(subject: &Subject<'_>) -> Found {
    let Err(GitError::NoIdentity { missing }) = subject.workspace.repository.identity() else {
        return Ok(Vec::new());
    };
    let problem = format!(
        "nothing can be committed: git does not know who you are, since {missing} is not set"
    );
    Ok(vec![Issue::new("no_identity", problem, SAY_WHO)])
}

/// The lock of a command that hangs: it goes with its process.
pub(crate) fn writer_lock(subject: &Subject<'_>) -> Found {
    let workspace = subject.workspace;
    let us = Holder::this_process(workspace.command.clone(), workspace.now());
    let holder = match WriterLock::acquire(&workspace.paths, &us, Duration::ZERO, &mut |_| {}) {
        Ok(_) => return Ok(Vec::new()),
        Err(StoreError::LockTimedOut { holder, .. }) => holder,
        Err(error) => return Err(error.into()),
    };
    let held =
        |holder: &Holder| (workspace.now() - holder.since).total(Unit::Second).unwrap_or(0.0);
    if holder.as_ref().is_some_and(|holder| held(holder) < LONG) {
        return Ok(Vec::new());
    }
    let who = holder.map_or_else(
        || "a process that did not say who it is".to_owned(),
        |holder| holder.to_string(),
    );
    Ok(vec![Issue::new(
        "lock_held",
        format!("`.aof/lock` is held by {who}"),
        "see what that process does (`fuser .aof/lock` finds it), and end it if it hangs: the lock goes with it",
    )])
}

/// Locks of git's that nobody seems to hold any more. Those that a kill of ours left are known by its record, and healed.
pub(crate) fn locks(subject: &Subject<'_>) -> Found {
    let locks = match subject.workspace.repository.lock_files() {
        Err(error) if !subject.is_doctor() => return Ok(vec![failing(&error.into())]),
        locks => locks?,
    };
    let old = locks.into_iter().filter(|(_, old)| *old >= OLD_LOCK);
    let issues = old.map(|(path, old)| {
        Issue::new(
            "git_locked",
            format!("nothing can be committed: `{}` is {} old", path.display(), age(old)),
            "if no git is running, and no editor with a commit message is open, remove that file",
        )
    });
    Ok(issues.collect())
}

/// Whether there is a git, and one that is new enough.
pub(crate) fn version(subject: &Subject<'_>) -> Found {
    Ok(version_of(subject.workspace.repository.git_version().as_deref()).into_iter().collect())
}

fn version_of(said: Option<&str>) -> Option<Issue> {
    let Some(said) = said else {
        let fix = "install it, and see that it is in `PATH`";
        return Some(Issue::new("no_git", "there is no program `git`", fix));
    };
    let mut numbers =
        said.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse::<u32>().ok());
    let found = (numbers.next()?, numbers.next()?);
    (found < OLDEST).then(|| {
        let problem = format!(
            "git is version {}.{}, and {}.{} is the oldest that is known to do",
            found.0, found.1, OLDEST.0, OLDEST.1
        );
        Issue::new("git_old", problem, "install a newer one").advice()
    })
}

/// Layouts of the index that cost time.
pub(crate) fn settings(subject: &Subject<'_>) -> Found {
    let slow = [
        (
            "core.splitIndex",
            "true",
            "git config core.splitIndex false && git update-index --no-split-index",
        ),
        (
            "index.version",
            "4",
            "git config --unset index.version && git update-index --index-version 2",
        ),
        ("core.sparseCheckout", "true", "git sparse-checkout disable"),
        ("index.sparse", "true", "git config index.sparse false"),
    ];
    let mut issues = Vec::new();
    for (name, value, fix) in slow {
        if subject.workspace.repository.setting(name)?.as_deref() == Some(value) {
            let fix = format!("if nothing else needs it: `{fix}`");
            issues.push(Issue::new("index_layout", format!("`{name}` is `{value}`"), fix).advice());
        }
    }
    Ok(issues)
}

/// Many small objects are slow to find, and take more room than one pack.
pub(crate) fn storage(subject: &Subject<'_>) -> Found {
    let Storage { loose, packs } = subject.workspace.repository.storage()?;
    if loose <= MANY_LOOSE && packs <= MANY_PACKS {
        return Ok(Vec::new());
    }
    let problem = format!("git has {loose} loose objects and {packs} packs");
    let issue = Issue::new("repack_pays", problem, "`git gc`; `aof doctor --fix` does it").advice();
    Ok(vec![issue.cured_by(|workspace| Ok(workspace.repository.repack()?))])
}

#[cfg(test)]
mod tests {
    use super::version_of;

    #[test]
    fn old_versions_are_told() {
        let code = |said: Option<&str>| version_of(said).map(|issue| issue.code);
        assert_eq!(code(None), Some("no_git"));
        assert_eq!(code(Some("git version 2.30.2")), Some("git_old"));
        assert_eq!(code(Some("git version 1.8.3.1")), Some("git_old"));
        for new in [
            "git version 2.34.0",
            "git version 2.47.1 (Apple Git-155)",
            "git version 3.0.0.windows.1",
            "nonsense",
        ] {
            assert_eq!(code(Some(new)), None, "{new}");
        }
    }
}
