//! Checking out the branch that a project lives on, in a folder below `.aof`. What stands there already is a person's: it is reported
//! and left alone.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tracing::info;

use super::aside::{Aside, Tell};
use super::error::ProjectError;
use crate::domain::{BranchName, Git, RemoteName, Timestamp};
use crate::git::{BranchSource, Repository, Worktree};
use crate::storage::layout::BRANCH;
use crate::storage::{Folder, Holder, Paths, StoreError, WriterLock};
use crate::system::shell::quoted;

/// Where the branch is checked out, below the project's folder.
pub(crate) const FOLDER: &str = BRANCH;

const NAP: Duration = Duration::from_millis(20);

/// Who waits for others that check the branch out, and until when.
pub(crate) struct Patience {
    us: Holder,
    deadline: Instant,
    tell: Tell,
}

impl Patience {
    /// Returns that of a command, which begins to wait now; `tell` is told what it waits for.
    pub(crate) fn new(
        command: impl Into<String>,
        now: Timestamp,
        wait: Duration,
        tell: Tell,
    ) -> Self {
        Self { us: Holder::this_process(command, now), deadline: Instant::now() + wait, tell }
    }

    /// Returns how long it may still wait.
    pub(crate) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Takes the lock under which the branch is checked out. Git holds it as well, so whoever gets it knows that no git of ours works
    /// there.
    fn lock(&self, home: &Path) -> Result<WriterLock, ProjectError> {
        Ok(WriterLock::acquire(&Paths::of_checkout(home), &self.us, self.left(), &mut |_| {
            self.tell();
        })?)
    }

    fn tell(&self) {
        (self.tell)(Aside::Wait(
            "another command is checking out the branch that the project lives on",
        ));
    }

    /// Waits while something holds that is nobody's lock.
    fn wait_while(&self, mut holds: impl FnMut() -> bool) {
        let mut told = false;
        while holds() && !self.left().is_zero() {
            if !told {
                self.tell();
                told = true;
            }
            thread::sleep(NAP);
        }
    }
}

/// Checks the branch out, unless another command does so meanwhile. What a killed one left of it is made again.
pub(crate) fn check_out(
    home: &Path,
    repository: &Repository,
    (branch, git): (&BranchName, &Git),
    patience: &Patience,
) -> Result<PathBuf, ProjectError> {
    let find = || {
        let remote = git.remote.as_ref().map(RemoteName::as_str);
        repository.branch_source(branch.as_str(), remote)?.ok_or_else(|| ProjectError::Unfit {
            code: "branch_missing",
            problem: format!(
                "the project lives on the branch `{branch}` (`git.branch` in project.yaml), which is not here"
            ),
            fix: format!("get it with `git fetch {} {branch}:{branch}`", remote.unwrap_or("origin")),
        })
    };
    // Without it nothing is written.
    find()?;
    let here = || repository.worktree_of(branch.as_str());
    patience.wait_while(|| here().is_some_and(|worktree| !worktree.is_whole));
    let lock = patience.lock(home)?;
    match here() {
        Some(Worktree { folder, is_whole: true }) => Ok(folder),
        Some(Worktree { folder, .. }) => Err(unfinished(&folder)),
        None => begin(home, repository, branch, &find()?, &lock),
    }
}

/// Begins the branch with a commit of that message that holds nothing, and checks it out. Nothing is begun where there is no room.
pub(crate) fn check_out_new(
    home: &Path,
    repository: &Repository,
    branch: &BranchName,
    message: &str,
    patience: &Patience,
) -> Result<PathBuf, ProjectError> {
    let lock = patience.lock(home)?;
    refuse_occupied(home, branch)?;
    repository.begin_branch(branch.as_str(), message)?;
    begin(home, repository, branch, &BranchSource::Here, &lock)
}

/// Checks the branch out under the lock.
fn begin(
    home: &Path,
    repository: &Repository,
    branch: &BranchName,
    source: &BranchSource,
    lock: &WriterLock,
) -> Result<PathBuf, ProjectError> {
    refuse_occupied(home, branch)?;
    let folder = place(home)?;
    repository.add_worktree(&folder, branch.as_str(), source, &lock.share()?)?;
    info!(%branch, folder = %folder.display(), "checked out the branch of the project");
    Ok(folder)
}

/// Makes the folder, and returns its path as git calls it.
fn place(home: &Path) -> Result<PathBuf, ProjectError> {
    let folder = Folder::create(home, FOLDER)?.path().canonicalize();
    Ok(folder.map_err(|cause| StoreError::Io { doing: "find", path: home.join(FOLDER), cause })?)
}

/// Refuses to check the branch out where anything stands already: it is a person's.
fn refuse_occupied(home: &Path, branch: &BranchName) -> Result<(), ProjectError> {
    refuse_link(home, branch)?;
    let folder = place(home)?;
    let fault = |cause| StoreError::Io { doing: "look into", path: folder.clone(), cause };
    if std::fs::read_dir(&folder).map_err(fault)?.next().is_none() {
        return Ok(());
    }
    let (home, here) = (named(home), named(&folder));
    let fix = format!(
        "if it has another branch checked out, or none: `git -C {here} switch {branch}`; if it lost its `.git`: `git -C {home} worktree \
         repair`; if it was moved: `git -C {home} worktree repair {here}`; else move it elsewhere, with all that is in it, and the branch \
         is checked out anew"
    );
    Err(taken(branch, &folder, "is not a worktree of this repository with that branch", fix))
}

/// Refuses a symbolic link in the place of the folder: git would take it for a folder of its own.
pub(crate) fn refuse_link(home: &Path, branch: &BranchName) -> Result<(), ProjectError> {
    let link = home.join(FOLDER);
    let Ok(target) = std::fs::read_link(&link) else { return Ok(()) };
    let what = format!("is a symbolic link to `{}`", target.display());
    let fix = match link.canonicalize() {
        Ok(folder) if folder.join(".git").is_file() => format!(
            "`rm {} && git -C {} worktree repair {}` has git find it there, without a link",
            named(&link),
            named(home),
            named(&folder)
        ),
        _ => format!(
            "remove the link with `rm {}`, and the branch is checked out anew",
            named(&link)
        ),
    };
    Err(taken(branch, &link, &what, fix))
}

fn taken(branch: &BranchName, folder: &Path, what: &str, fix: String) -> ProjectError {
    let here = folder.display();
    ProjectError::Unfit {
        code: "branch_folder_taken",
        problem: format!(
            "the project lives on the branch `{branch}`, and `{here}`, where that is checked out, {what}"
        ),
        fix,
    }
}

fn unfinished(folder: &Path) -> ProjectError {
    ProjectError::Unfit {
        code: "branch_unfinished",
        problem: format!("`{}` was never checked out to the end", folder.display()),
        fix: format!(
            "if no git works there, remove it with `git worktree remove --force --force {}`",
            named(folder)
        ),
    }
}

/// Returns the path as a shell takes it.
fn named(path: &Path) -> String {
    quoted(&path.display().to_string()).into_owned()
}
