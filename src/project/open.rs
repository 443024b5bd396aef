//! Opens the project around a folder, also one that lives on a branch of its own.
//!
//! Such a project has its tasks, history and rules on a branch that is checked out in a worktree beside the code. project.yaml of the
//! other branches says only `git: {branch: NAME}`, so every clone finds it. The worktree is `.aof/branch` below the project's folder
//! in the main worktree: people and agents can open task files there, git ignores it, and it is made again when somebody removes it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tracing::info;

use super::error::ProjectError;
use super::git_hints::GitCommands;
use super::workspace::{Aside, Clock, Tell, Workspace};
use crate::domain::{BranchName, Git, RemoteName, Timestamp};
use crate::files::config::configuration::{PROJECT_FILE, Source, read};
use crate::git::{BranchSource, GitError, Repository, Worktree};
use crate::storage::layout::BRANCH;
use crate::storage::{Folder, Holder, Paths, StoreError, WriterLock};
use crate::system::terminal::quoted;

impl Workspace {
    /// Opens the project around a folder. `tell` is told, once, what a wait is for, and what is to be known besides.
    pub fn open(
        start: &Path,
        command: String,
        clock: Clock,
        wait: Duration,
        tell: Tell,
    ) -> Result<Self, ProjectError> {
        let paths = Paths::find(start).or_else(|fault| match worktree_beside(start) {
            Some(beside) => Ok(Paths::at(beside)),
            None => Err(no_project(start, fault)),
        })?;
        let root = paths.root();
        let repository = Repository::discover(root)?;
        let patience = Patience::new(command.clone(), clock(), wait, tell);
        match follow_branch(root, &repository, &patience)? {
            None => Ok(Self::of_files(root, repository, command, clock, wait, tell)),
            Some(Elsewhere { root: place, unheeded }) => {
                let workspace = Self::at(&place, command, clock, patience.left(), tell)?;
                workspace.paths.hide_branch();
                // Whoever named a folder may stand in another one.
                let here = (start == Path::new(".")).then(|| start.canonicalize().ok()).flatten();
                let near = here.as_deref().and_then(|here| place.strip_prefix(here).ok());
                let git_commands = GitCommands::in_folder(near.unwrap_or(&place));
                Ok(workspace.checked_out_for(root, unheeded, git_commands))
            }
        }
    }
}

/// A bare repository has no project to be found: that is not for want of one.
fn no_project(start: &Path, fault: StoreError) -> ProjectError {
    match Repository::discover(start) {
        Err(bare @ GitError::Bare { .. }) => bare.into(),
        _ => fault.into(),
    }
}

/// Where a project lives that lives on a branch of its own.
pub(crate) struct Elsewhere {
    /// The folder that the branch is checked out in.
    pub root: PathBuf,
    /// The project.yaml that names the branch, where it says something else by now than what is committed of it.
    pub unheeded: Option<PathBuf>,
}

/// Returns where the project in this folder lives, if not there: in the worktree of the branch that its committed project.yaml names,
/// which is made if it is not there.
pub(crate) fn follow_branch(
    root: &Path,
    repository: &Repository,
    patience: &Patience,
) -> Result<Option<Elsewhere>, ProjectError> {
    let Some((git, unheeded)) = said_of_git(root, repository) else {
        return Ok(
            checked_out_beside(root, repository).map(|root| Elsewhere { root, unheeded: None })
        );
    };
    let Some(branch) = git.branch.clone() else { return Ok(None) };
    let checked_out = |home: &Path, unheeded| {
        let root = check_out(home, repository, (&branch, &git), patience).or_else(|error| {
            // What is in its place may be there by git.
            Repository::discover(home)?.check_own_folder()?;
            Err(error)
        })?;
        Ok(Some(Elsewhere { root, unheeded }))
    };
    if repository.has_checked_out(branch.as_str()) {
        let home = root.ancestors().nth(2).filter(|_| root.ends_with(FOLDER));
        return match home {
            Some(home) if !repository.is_whole() => checked_out(home, None),
            _ => Ok(None),
        };
    }
    let home = home(root, repository);
    refuse_link(&home, &branch)?;
    match repository.worktree_of(branch.as_str()) {
        Some(Worktree { folder, is_whole: true }) => Ok(Some(Elsewhere { root: folder, unheeded })),
        _ => checked_out(&home, unheeded),
    }
}

/// Returns the folder in which a branch of a project is checked out for this one: where nothing of a project is here, as on a branch of
/// the code that knows nothing of it.
fn checked_out_beside(root: &Path, repository: &Repository) -> Option<PathBuf> {
    let is_here = |name: &str| fs::symlink_metadata(root.join(name)).is_ok();
    let committed =
        || repository.read(repository.head_for_reading().ok()?.commit?, PROJECT_FILE).ok()?;
    if is_here(PROJECT_FILE) || is_here("tasks") || root.ends_with(FOLDER) || committed().is_some()
    {
        return None;
    }
    let folder = home(root, repository).join(FOLDER);
    if folder.is_symlink() {
        return None;
    }
    folder.canonicalize().ok().filter(|folder| repository.has_worktree_at(folder))
}

/// Returns the top of the worktree around a folder, where it has nothing of a project, and one is checked out beside it.
pub(crate) fn worktree_beside(start: &Path) -> Option<PathBuf> {
    let root = Repository::discover(start).ok()?.worktree_root().to_owned();
    checked_out_beside(&root, &Repository::discover(&root).ok()?).map(|_| root)
}

/// Returns what the committed project.yaml says of git, and where the file says something else. Most say nothing, and are not read
/// any further.
fn said_of_git(root: &Path, repository: &Repository) -> Option<(Git, Option<PathBuf>)> {
    // Whatever is the matter with HEAD is told by who needs it.
    let commit = repository.head_for_reading().ok()?.commit?;
    let bytes = repository.read(commit, PROJECT_FILE).ok()??;
    let says = |word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
    if !says(b"branch") || !says(b"git") {
        return None;
    }
    let file = root.join(PROJECT_FILE);
    let unheeded = fs::read(&file).is_ok_and(|standing| standing != bytes).then_some(file);
    let reading = read(&[Source { name: PROJECT_FILE.to_owned(), bytes }]);
    Some((reading.configuration.project.git, unheeded))
}

/// Returns the same folder in the main worktree, which stays when others are removed.
pub(crate) fn home(root: &Path, repository: &Repository) -> PathBuf {
    let common = repository.common_dir();
    let main = common.file_name().filter(|name| *name == ".git").and_then(|_| common.parent());
    let home = main.map(|main| main.join(repository.prefix()).components().collect::<PathBuf>());
    home.filter(|home| home.is_dir()).unwrap_or_else(|| root.to_owned())
}

/// Where the branch is checked out, below the project's folder.
pub(crate) const FOLDER: &str = BRANCH;

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
        let what = "another command is checking out the branch that the project lives on";
        let tell = &mut |_: Option<&Holder>| (self.tell)(Aside::Wait(what));
        Ok(WriterLock::acquire(&Paths::of_checkout(home), &self.us, self.left(), tell)?)
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
    let fix =
        format!("remove the link with `rm {}`, and the branch is checked out anew", named(&link));
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
