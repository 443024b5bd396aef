//! Opens the project around a folder, even if the project is kept on a branch of its own.
//!
//! Such a project has its tasks, history and rules on a branch that is checked out in a worktree beside the code. project.yaml of the
//! other branches has only `git: {branch: NAME}`, so every clone finds it. The worktree is `.aof/branch` below the project's folder in
//! the main worktree. People and agents can open task files there, git ignores it, and it is created again if it was removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tracing::info;

use super::error::ProjectError;
use super::git_hints::GitCommands;
use super::named_branch::{git_in, git_settings, refuse_moved, remote_projects};
use super::workspace::{Clock, ProgressMessage, Tell, Workspace};
use crate::domain::{BranchName, Git, RemoteName, Timestamp};
use crate::files::config::configuration::PROJECT_FILE;
use crate::git::{BranchSource, GitError, NewCheckout, Repository, Worktree};
use crate::storage::layout::BRANCH;
use crate::storage::{Folder, Holder, Paths, StoreError, WriterLock};
use crate::system::terminal::quoted;

impl Workspace {
    /// Opens the project around a folder. `tell` receives warnings, and once for each wait its reason.
    pub fn open(
        start: &Path,
        command: String,
        clock: Clock,
        wait: Duration,
        tell: Tell,
    ) -> Result<Self, ProjectError> {
        let paths = Paths::find(start).or_else(|fault| {
            match worktree_beside(start).or_else(|| worktree_of_clone(start)) {
                Some(root) => Ok(Paths::at(root)),
                None => Err(no_project(start, fault)),
            }
        })?;
        let root = paths.root();
        let repository = Repository::discover(root)?;
        let wait_limit = CheckoutWait::new(command.clone(), clock(), wait, tell);
        match follow_branch(root, &repository, &wait_limit)? {
            None => {
                refuse_moved(&repository)?;
                Ok(Self::of_files(root, repository, command, clock, wait, tell))
            }
            Some(BranchCheckout { root: folder, uncommitted_project_file }) => {
                let workspace = Self::at(&folder, command, clock, wait_limit.left(), tell)?;
                workspace.paths.hide_branch();
                // With a folder given by `-C`, the person may be in another one.
                let here = (start == Path::new(".")).then(|| start.canonicalize().ok()).flatten();
                let near = here.as_deref().and_then(|here| folder.strip_prefix(here).ok());
                let git_commands = GitCommands::in_folder(near.unwrap_or(&folder));
                Ok(workspace.checked_out_for(root, uncommitted_project_file, git_commands))
            }
        }
    }
}

/// Returns the project for which a runner started this program, if it runs in the workspace that it was started in: the branch there may
/// have a project of its own.
pub(crate) fn passed_on_project(directory: &Path) -> Option<PathBuf> {
    let (project, folder) = (std::env::var_os("AOF_PROJECT")?, std::env::var_os("AOF_WORKSPACE")?);
    if directory != Path::new(".") {
        return None;
    }
    let here = Repository::discover(directory).ok()?.worktree_root().canonicalize().ok()?;
    let is_inside = Path::new(&folder).canonicalize().is_ok_and(|folder| folder == here);
    let project = PathBuf::from(project);
    (is_inside && project.is_absolute() && project.is_dir()).then_some(project)
}

/// Returns the error that no project was found, or that the repository is bare.
fn no_project(start: &Path, fault: StoreError) -> ProjectError {
    match Repository::discover(start) {
        Err(bare @ GitError::Bare { .. }) => bare.into(),
        _ => fault.into(),
    }
}

/// The checkout of a project that is kept on a branch of its own.
pub(crate) struct BranchCheckout {
    /// The folder in which the branch is checked out.
    pub root: PathBuf,
    /// The project.yaml that names the branch, if it differs from the committed one.
    pub uncommitted_project_file: Option<PathBuf>,
}

/// Returns the checkout of the branch that the folder's committed project.yaml names, and creates it if it is missing; `None` if the
/// project is in the folder itself.
pub(crate) fn follow_branch(
    root: &Path,
    repository: &Repository,
    wait_limit: &CheckoutWait,
) -> Result<Option<BranchCheckout>, ProjectError> {
    let Some((git, uncommitted_project_file)) = git_settings(root, repository) else {
        let beside = match checked_out_beside(root, repository) {
            None => check_out_from_remote(root, repository, wait_limit)?,
            beside => beside,
        };
        return Ok(beside.map(|root| BranchCheckout { root, uncommitted_project_file: None }));
    };
    let Some(branch) = git.branch.clone() else { return Ok(None) };
    let checked_out = |home: &Path, uncommitted_project_file| {
        let root = check_out(home, repository, (&branch, &git), wait_limit).or_else(|error| {
            // Git may have committed something at that path.
            Repository::discover(home)?.check_own_folder()?;
            Err(error)
        })?;
        Ok(Some(BranchCheckout { root, uncommitted_project_file }))
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
        Some(Worktree { folder, is_whole: true }) => {
            Ok(Some(BranchCheckout { root: folder, uncommitted_project_file }))
        }
        _ => checked_out(&home, uncommitted_project_file),
    }
}

/// Returns the checkout of a project's branch beside a worktree without any project files, such as one of a code branch that does not
/// name the project's branch.
fn checked_out_beside(root: &Path, repository: &Repository) -> Option<PathBuf> {
    if has_project_files(root, repository) {
        return None;
    }
    let folder = home(root, repository).join(FOLDER);
    if folder.is_symlink() {
        return None;
    }
    folder.canonicalize().ok().filter(|folder| repository.has_worktree_at(folder))
}

/// Returns whether the worktree, or its HEAD, has files of a project.
fn has_project_files(root: &Path, repository: &Repository) -> bool {
    let is_here = |name: &str| fs::symlink_metadata(root.join(name)).is_ok();
    let committed =
        || repository.read(repository.head_for_reading().ok()?.commit?, PROJECT_FILE).ok()?;
    is_here(PROJECT_FILE) || is_here("tasks") || root.ends_with(FOLDER) || committed().is_some()
}

/// Returns the top of the worktree around a folder, if it has no project files, and a project is checked out beside it.
pub(crate) fn worktree_beside(start: &Path) -> Option<PathBuf> {
    let root = Repository::discover(start).ok()?.worktree_root().to_owned();
    checked_out_beside(&root, &Repository::discover(&root).ok()?).map(|_| root)
}

/// Returns the top of a clone without project files, if a branch of a remote has the project.
fn worktree_of_clone(start: &Path) -> Option<PathBuf> {
    let root = Repository::discover(start).ok()?.worktree_root().to_owned();
    let repository = Repository::discover(&root).ok()?;
    let has_project = !remote_projects(&repository).ok()?.is_empty();
    (has_project && !has_project_files(&root, &repository)).then_some(root)
}

/// Checks out the project of a clone without project files from the only branch of a remote that has it.
fn check_out_from_remote(
    root: &Path,
    repository: &Repository,
    wait_limit: &CheckoutWait,
) -> Result<Option<PathBuf>, ProjectError> {
    if !repository.prefix().is_empty() || has_project_files(root, repository) {
        return Ok(None);
    }
    let found = remote_projects(repository)?;
    let Some((first, git)) = found.first() else { return Ok(None) };
    let branch = git.branch.as_ref().expect("it names its branch");
    let local = repository.commit_named(&format!("refs/heads/{branch}"))?;
    let is_one = found.len() == 1
        || local.is_some() && found.iter().all(|(_, git)| git.branch.as_ref() == Some(branch));
    let home = home(root, repository);
    if !is_one {
        let names: Vec<String> = found.iter().map(|(name, _)| format!("`{name}`")).collect();
        let problem = "no project is checked out here, and several branches of remotes have one";
        let fix = format!(
            "check one of them out: `git -C {} worktree add --track -b {branch} {FOLDER} {}`",
            shell_quoted(&home),
            quoted(first)
        );
        return Err(ProjectError::Unfit {
            code: "several_project_branches",
            problem: format!("{problem}: {}", names.join(", ")),
            fix: fix.into(),
        });
    }
    if let Some(local) = local
        && git_in(repository, local).is_none_or(|git| git.branch.as_ref() != Some(branch))
    {
        return Err(ProjectError::Unfit {
            code: "branch_exists",
            problem: format!(
                "`{first}` has the project of this repository, and the local branch `{branch}` has not"
            ),
            fix: format!("rename yours: `git branch -m {branch} OTHER`").into(),
        });
    }
    refuse_link(&home, branch)?;
    let is_elsewhere = repository.worktree_of(branch.as_str()).is_some();
    let folder = check_out(&home, repository, (branch, git), wait_limit)?;
    if !is_elsewhere {
        let what = format!(
            "the project of this repository is on `{first}`; it is checked out in `{FOLDER}` now"
        );
        (wait_limit.tell)(ProgressMessage::Note(&what));
    }
    Ok(Some(folder))
}

/// Returns the same folder in the main worktree, which stays when others are removed.
pub(crate) fn home(root: &Path, repository: &Repository) -> PathBuf {
    let common = repository.common_dir();
    let main = common.file_name().filter(|name| *name == ".git").and_then(|_| common.parent());
    let home = main.map(|main| main.join(repository.prefix()).components().collect::<PathBuf>());
    home.filter(|home| home.is_dir()).unwrap_or_else(|| root.to_owned())
}

/// The folder in which the branch is checked out, below the project's folder.
pub(crate) const FOLDER: &str = BRANCH;

/// The time that a command waits for other processes that check the branch out.
pub(crate) struct CheckoutWait {
    us: Holder,
    deadline: Instant,
    tell: Tell,
}

impl CheckoutWait {
    /// Returns the wait of a command, which starts now; `tell` receives the reason for waiting.
    pub(crate) fn new(
        command: impl Into<String>,
        now: Timestamp,
        wait: Duration,
        tell: Tell,
    ) -> Self {
        Self { us: Holder::this_process(command, now), deadline: Instant::now() + wait, tell }
    }

    /// Returns the time that it may still wait.
    pub(crate) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Takes the lock under which the branch is checked out. The git that checks it out holds it too, so none is running once it is taken.
    fn lock(&self, home: &Path) -> Result<WriterLock, ProjectError> {
        let what = "another command is checking out the project's branch";
        let tell = &mut |_: Option<&Holder>| (self.tell)(ProgressMessage::Wait(what));
        Ok(WriterLock::acquire(&Paths::of_checkout(home), &self.us, self.left(), tell)?)
    }
}

/// Checks the branch out, unless another command has done that meanwhile. Repairs the remains of a killed command.
pub(crate) fn check_out(
    home: &Path,
    repository: &Repository,
    (branch, git): (&BranchName, &Git),
    wait_limit: &CheckoutWait,
) -> Result<PathBuf, ProjectError> {
    let find = || {
        let remote = git.remote.as_ref().map(RemoteName::as_str);
        repository.branch_source(branch.as_str(), remote)?.ok_or_else(|| ProjectError::Unfit {
            code: "branch_missing",
            problem: format!(
                "the project is kept on the branch `{branch}` (`git.branch` in project.yaml), which is not here"
            ),
            fix: format!("get it with `git fetch {} {branch}:{branch}`", remote.unwrap_or("origin")).into(),
        })
    };
    // Fails before anything is written.
    find()?;
    let here = || repository.worktree_of(branch.as_str());
    let lock = wait_limit.lock(home)?;
    match here() {
        Some(Worktree { folder, is_whole: true }) => Ok(folder),
        Some(Worktree { folder, .. }) => Err(unfinished_checkout(&folder)),
        None => check_out_locked(home, repository, branch, &find()?, &lock),
    }
}

/// Creates the branch with an empty commit of that message, and checks it out. Fails first if its folder is occupied.
pub(crate) fn check_out_new(
    home: &Path,
    repository: &Repository,
    branch: &BranchName,
    message: &str,
    wait_limit: &CheckoutWait,
) -> Result<PathBuf, ProjectError> {
    let lock = wait_limit.lock(home)?;
    refuse_occupied(home, branch)?;
    repository.begin_branch(branch.as_str(), message)?;
    check_out_locked(home, repository, branch, &BranchSource::Here, &lock)
}

/// Checks the branch out under the lock.
pub(crate) fn check_out_locked(
    home: &Path,
    repository: &Repository,
    branch: &BranchName,
    source: &BranchSource,
    lock: &WriterLock,
) -> Result<PathBuf, ProjectError> {
    refuse_occupied(home, branch)?;
    let folder = create_folder(home)?;
    let checkout = match source {
        BranchSource::Here => NewCheckout::Branch(branch.as_str()),
        BranchSource::Remote(from) => NewCheckout::Tracking(branch.as_str(), from),
    };
    repository.add_work_folder(&folder, checkout, &lock.share()?)?;
    info!(%branch, folder = %folder.display(), "checked out the branch of the project");
    Ok(folder)
}

/// Creates the folder, and returns its canonical path, as git has it.
fn create_folder(home: &Path) -> Result<PathBuf, ProjectError> {
    let folder = Folder::create(home, FOLDER)?.path().canonicalize();
    Ok(folder.map_err(|cause| StoreError::Io { doing: "find", path: home.join(FOLDER), cause })?)
}

/// Fails if the folder is not empty: its content is a person's.
pub(crate) fn refuse_occupied(home: &Path, branch: &BranchName) -> Result<(), ProjectError> {
    refuse_link(home, branch)?;
    let folder = create_folder(home)?;
    let fault = |cause| StoreError::Io { doing: "look into", path: folder.clone(), cause };
    if std::fs::read_dir(&folder).map_err(fault)?.next().is_none() {
        return Ok(());
    }
    let (home, here) = (shell_quoted(home), shell_quoted(&folder));
    let fix = format!(
        "if it has another branch checked out, or none: `git -C {here} switch {branch}`; if it lost its `.git`: `git -C {home} worktree \
         repair`; if it was moved: `git -C {home} worktree repair {here}`; else move it elsewhere, with all that is in it, and the branch \
         is checked out again"
    );
    Err(folder_taken(branch, &folder, "is not a worktree of this repository with that branch", fix))
}

/// Fails if the folder is a symbolic link, which git would follow.
pub(crate) fn refuse_link(home: &Path, branch: &BranchName) -> Result<(), ProjectError> {
    let link = home.join(FOLDER);
    let Ok(target) = std::fs::read_link(&link) else { return Ok(()) };
    let what = format!("is a symbolic link to `{}`", target.display());
    let fix = format!(
        "remove the link with `rm {}`, and the branch is checked out again",
        shell_quoted(&link)
    );
    Err(folder_taken(branch, &link, &what, fix))
}

fn folder_taken(branch: &BranchName, folder: &Path, what: &str, fix: String) -> ProjectError {
    let here = folder.display();
    ProjectError::Unfit {
        code: "branch_folder_taken",
        problem: format!(
            "the project is kept on the branch `{branch}`, and `{here}`, where that is checked out, {what}"
        ),
        fix: fix.into(),
    }
}

pub(crate) fn unfinished_checkout(folder: &Path) -> ProjectError {
    ProjectError::Unfit {
        code: "branch_unfinished",
        problem: format!("`{}` was not checked out completely", folder.display()),
        fix: format!(
            "if no git works there, remove it with `git worktree remove --force --force {}`",
            shell_quoted(folder)
        )
        .into(),
    }
}

/// Returns the path quoted for a shell.
fn shell_quoted(path: &Path) -> String {
    quoted(&path.display().to_string()).into_owned()
}
