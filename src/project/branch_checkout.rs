//! Checking out the branch that a project lives on, in a folder below `.aof`. What stands there already is a person's: it is told and
//! left alone. Only what a git of ours was killed making is moved aside, whole, and nothing is ever removed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tracing::info;

use super::error::error::OpsError;
use super::workspace::Workspace;
use super::workspace::{Aside, Tell};
use crate::domain::{BranchName, Git, RemoteName, Timestamp};
use crate::git::{BranchSource, Occupant, Repository, Stage, Worktree};
use crate::storage::layout::{BRANCH, LOCAL};
use crate::storage::{Folder, Holder, Paths, StoreError, WriterLock};
use crate::system::shell::quoted;

/// Where the branch is checked out, below the project's folder.
pub(crate) const FOLDER: &str = BRANCH;

/// What the folders are called, before their number, to which unfinished ones are moved.
const ASIDE: &str = "branch-unfinished-";

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
    fn lock(&self, home: &Path) -> Result<WriterLock, OpsError> {
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

/// A branch that is checked out.
pub(crate) struct CheckedOut {
    /// Where.
    pub folder: PathBuf,
    /// Where everything is that a killed git had left in that folder, if it was moved away now.
    pub set_aside: Option<PathBuf>,
}

/// Checks the branch out, unless another command does so meanwhile. What a killed one left of it is made again.
pub(crate) fn check_out(
    home: &Path,
    repository: &Repository,
    (branch, git): (&BranchName, &Git),
    patience: &Patience,
) -> Result<CheckedOut, OpsError> {
    let find = || {
        let remote = git.remote.as_ref().map(RemoteName::as_str);
        repository.branch_source(branch.as_str(), remote)?.ok_or_else(|| OpsError::Unfit {
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
    patience.wait_while(|| here().is_some_and(|worktree| worktree.stage == Stage::BegunElsewise));
    let lock = patience.lock(home)?;
    match here() {
        Some(Worktree { folder, stage: Stage::Whole }) => {
            return Ok(CheckedOut { folder, set_aside: None });
        }
        Some(Worktree { folder, stage })
            if stage == Stage::BegunElsewise || !folder.ends_with(FOLDER) =>
        {
            return Err(unfinished(&folder));
        }
        _ => {}
    }
    begin(home, repository, branch, &find()?, &lock)
}

/// Begins the branch with a commit of that message that holds nothing, and checks it out. Nothing is begun where there is no room.
pub(crate) fn check_out_new(
    home: &Path,
    repository: &Repository,
    branch: &BranchName,
    message: &str,
    patience: &Patience,
) -> Result<CheckedOut, OpsError> {
    let lock = patience.lock(home)?;
    refuse_occupied(home, repository, branch)?;
    repository.begin_branch(branch.as_str(), message)?;
    begin(home, repository, branch, &BranchSource::Here, &lock)
}

/// Returns the folders that were moved aside in the home of this project, and that nobody has taken away since.
pub(crate) fn left_aside(workspace: &Workspace) -> Vec<PathBuf> {
    let root = workspace.paths.root();
    let listing = root
        .parent()
        .filter(|_| root.ends_with(FOLDER))
        .and_then(|local| std::fs::read_dir(local).ok());
    let is_aside = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(ASIDE))
    };
    let mut found: Vec<PathBuf> =
        listing.into_iter().flatten().flatten().map(|e| e.path()).filter(is_aside).collect();
    found.sort();
    found
}

/// Checks the branch out under the lock.
fn begin(
    home: &Path,
    repository: &Repository,
    branch: &BranchName,
    source: &BranchSource,
    lock: &WriterLock,
) -> Result<CheckedOut, OpsError> {
    let occupant = refuse_occupied(home, repository, branch)?;
    let folder = place(home)?;
    let set_aside = match occupant {
        Some(_) => set_aside(home, repository, &folder)?,
        None => None,
    };
    // Where a link leads is nobody's to write to.
    place(home)?;
    repository.add_worktree(&folder, branch.as_str(), source, &lock.share()?)?;
    info!(%branch, folder = %folder.display(), "checked out the branch of the project");
    Ok(CheckedOut { folder, set_aside })
}

/// Makes the folder, and returns its path as git calls it.
fn place(home: &Path) -> Result<PathBuf, OpsError> {
    let folder = Folder::create(home, FOLDER)?.path().canonicalize();
    Ok(folder.map_err(|cause| StoreError::Io { doing: "find", path: home.join(FOLDER), cause })?)
}

/// Refuses to go on where something stands in the folder that is not ours. Returns what is.
fn refuse_occupied(
    home: &Path,
    repository: &Repository,
    branch: &BranchName,
) -> Result<Option<Occupant>, OpsError> {
    let link = home.join(FOLDER);
    if let Ok(target) = std::fs::read_link(&link) {
        let what = format!("is a symbolic link to `{}`", target.display());
        let fix = format!(
            "remove the link with `rm {}`, and the branch is checked out anew",
            named(&link)
        );
        return Err(taken(branch, &link, &what, fix));
    }
    let folder = place(home)?;
    let occupant = repository.occupant(&folder)?;
    let git = format!("git -C {}", named(&folder));
    let elsewhere =
        "move it elsewhere, with all that is in it, and the branch is checked out anew".to_owned();
    let switch = format!(
        "bring the branch back with `{git} switch {branch}`; or `git -C {} worktree move {} ELSEWHERE`, and the branch is checked out \
         anew",
        named(home),
        named(&folder)
    );
    let repair = |what: &str| format!("`git -C {} worktree repair{what}`", named(home));
    let (what, fix) = match occupant {
        None | Some(Occupant::Begun) => return Ok(occupant),
        Some(Occupant::BegunElsewise) => return Err(unfinished(&folder)),
        Some(Occupant::Branch(other)) if other == branch.as_str() => (
            "belongs to a worktree of this repository that git does not know whole".to_owned(),
            repair(""),
        ),
        Some(Occupant::Branch(other)) => (format!("has the branch `{other}` checked out"), switch),
        Some(Occupant::Detached) => {
            ("has no branch checked out (detached HEAD)".to_owned(), switch)
        }
        Some(Occupant::Moved) => (
            "and the repository do not find each other: one of them was moved".to_owned(),
            repair(&format!(" {}", named(&folder))),
        ),
        Some(Occupant::Unlinked) => ("has lost its `.git`".to_owned(), repair("")),
        Some(Occupant::Forgotten(record)) => (
            format!(
                "is a worktree of this repository that git has forgotten: `{}` is gone",
                record.display()
            ),
            elsewhere,
        ),
        Some(Occupant::Foreign(other)) => (
            format!(
                "belongs to another repository, `{}`, as where one was copied",
                other.display()
            ),
            elsewhere,
        ),
        Some(Occupant::Files) => {
            ("has files in it, and is no worktree of this repository".to_owned(), elsewhere)
        }
    };
    Err(taken(branch, &folder, &what, fix))
}

/// Refuses to follow a link at the folder to where its worktree was moved: git would take it for a folder of its own, until it is gone.
pub(crate) fn refuse_link(
    home: &Path,
    repository: &Repository,
    branch: &BranchName,
) -> Result<(), OpsError> {
    let link = home.join(FOLDER);
    if !link.is_symlink() {
        return Ok(());
    }
    let Ok(folder) = link.canonicalize() else { return Ok(()) };
    if !repository.link_to_moved(&folder).is_some_and(|other| other.ends_with(FOLDER)) {
        return Ok(());
    }
    let what =
        format!("is a symbolic link to `{}`, to where its worktree was moved", folder.display());
    let fix = format!(
        "`rm {} && git -C {} worktree repair {}` has git find it there, without a link",
        named(&link),
        named(home),
        named(&folder)
    );
    Err(taken(branch, &link, &what, fix))
}

fn taken(branch: &BranchName, folder: &Path, what: &str, fix: String) -> OpsError {
    let here = folder.display();
    OpsError::Unfit {
        code: "branch_folder_taken",
        problem: format!(
            "the project lives on the branch `{branch}`, and `{here}`, where that is checked out, {what}"
        ),
        fix,
    }
}

/// Moves what a killed git left in the folder aside. A folder with nothing in it but git's own file stays.
fn set_aside(
    home: &Path,
    repository: &Repository,
    folder: &Path,
) -> Result<Option<PathBuf>, OpsError> {
    let fault = |cause| StoreError::Io { doing: "look into", path: folder.to_owned(), cause };
    // It would lead to what git knows of the folder that is made in its place.
    Folder::open(home, FOLDER)?.remove(".git")?;
    let beside = match std::fs::read_dir(folder).map_err(fault)?.next() {
        Some(_) => Some(move_aside(home, folder)?),
        None => None,
    };
    repository.forget_begun(folder)?;
    Ok(beside)
}

fn move_aside(home: &Path, folder: &Path) -> Result<PathBuf, OpsError> {
    let local = Folder::open(home, LOCAL)?;
    let name = folder.file_name().unwrap_or_default();
    let mut number = 1;
    loop {
        let aside = format!("{ASIDE}{number}");
        match local.move_new(name, &local, OsStr::new(&aside)) {
            Ok(()) => return Ok(folder.with_file_name(aside)),
            Err(StoreError::Exists { .. }) => number += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

fn unfinished(folder: &Path) -> OpsError {
    OpsError::Unfit {
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
