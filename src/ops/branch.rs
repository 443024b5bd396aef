//! A project on a branch of its own: its tasks, its history and its rules, checked out in a worktree of its own beside what people
//! work at. project.yaml of the other branches says only `git: {branch: NAME}`, so every clone finds it.
//!
//! The worktree is `.aof/branch`, below the project's folder in the main worktree: where people and agents can open and edit task
//! files, as they may not below `.git`; ignored by git, since all of `.aof` is; and, like it, made again where somebody removes it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tracing::info;

use super::error::OpsError;
use super::init::{Begun, NewProject, folder_name, init, refuse_existing, repository_around};
use super::rule_files::commit_new;
use super::transaction::DryRun;
use super::workspace::Workspace;
use crate::audit::{BranchSource, Repository, Stage, Worktree};
use crate::format::config::{PROJECT_FILE, Source, read};
use crate::model::{BranchName, Git, RemoteName, Timestamp};
use crate::store::{Folder, Holder, Paths, ProjectPath, StoreError, WriterLock};

/// Where the branch is checked out, below the project's folder.
const FOLDER: &str = ".aof/branch";

/// How long a command waits for another one that checks the branch out.
const CHECKOUT_WAIT: Duration = Duration::from_mins(30);

/// Where a project lives that lives on a branch of its own.
pub(super) struct Elsewhere {
    /// The folder that the branch is checked out in.
    pub root: PathBuf,
    /// The project.yaml that names the branch, where it says something else by now than what is committed of it.
    pub unheeded: Option<PathBuf>,
}

/// Returns where the project in this folder lives, if not there: in the worktree of the branch that its committed project.yaml names,
/// which is made if it is not there. `on_wait` is told when somebody else makes it.
pub(super) fn follow_branch(
    root: &Path,
    repository: &Repository,
    us: &Holder,
    on_wait: fn(&str),
) -> Result<Option<Elsewhere>, OpsError> {
    let Some((git, unheeded)) = said_of_git(root, repository) else {
        return Ok(checked_out_beside(root, repository).map(|root| Elsewhere { root, unheeded: None }));
    };
    let Some(branch) = git.branch.clone() else { return Ok(None) };
    if repository.has_checked_out(branch.as_str()) {
        if repository.stage() == Stage::Whole {
            return Ok(None);
        }
        let Some(home) = root.ancestors().nth(2).filter(|_| root.ends_with(FOLDER)) else { return Ok(None) };
        let root = check_out(home, repository, (&branch, &git), us, on_wait)?;
        return Ok(Some(Elsewhere { root, unheeded: None }));
    }
    let elsewhere = |root| Ok(Some(Elsewhere { root, unheeded }));
    if let Some(Worktree { folder, stage: Stage::Whole }) = repository.worktree_of(branch.as_str()) {
        return elsewhere(folder);
    }
    elsewhere(check_out(&home(root, repository), repository, (&branch, &git), us, on_wait)?)
}

/// Returns the folder in which a branch of a project is checked out for this one: where nothing of a project is here, as on a branch of
/// the code that knows nothing of it.
fn checked_out_beside(root: &Path, repository: &Repository) -> Option<PathBuf> {
    let is_here = |name: &str| fs::symlink_metadata(root.join(name)).is_ok();
    let committed = || repository.read(repository.look().ok()?.commit?, PROJECT_FILE).ok()?;
    if is_here(PROJECT_FILE) || is_here("tasks") || root.ends_with(FOLDER) || committed().is_some() {
        return None;
    }
    let folder = home(root, repository).join(FOLDER).canonicalize().ok()?;
    repository.worktree_at(&folder).filter(|worktree| worktree.stage == Stage::Whole).map(|worktree| worktree.folder)
}

/// Returns the top of the worktree around a folder, where it has nothing of a project, and one is checked out beside it.
pub(super) fn worktree_beside(start: &Path) -> Option<PathBuf> {
    let root = Repository::discover(start).ok()?.worktree_root().to_owned();
    checked_out_beside(&root, &Repository::discover(&root).ok()?).map(|_| root)
}

/// Checks the branch out, unless another command does so meanwhile. What a killed one left of it is made again.
fn check_out(
    home: &Path,
    repository: &Repository,
    (branch, git): (&BranchName, &Git),
    us: &Holder,
    on_wait: fn(&str),
) -> Result<PathBuf, OpsError> {
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
    let lock = lock(home, us, on_wait)?;
    match repository.worktree_of(branch.as_str()) {
        Some(Worktree { folder, stage: Stage::Whole }) => return Ok(folder),
        Some(Worktree { folder, stage: Stage::Begun }) if !folder.ends_with(FOLDER) => {
            return Err(unfit(
                "branch_unfinished",
                format!("`{}` was never checked out to the end", folder.display()),
                format!(
                    "if no git works there, remove it with `git worktree remove --force --force {}`",
                    folder.display()
                ),
            ));
        }
        _ => {}
    }
    begin(home, repository, branch, &find()?, &lock)
}

/// Takes the lock under which the branch is checked out. Git holds it as well, so whoever gets it knows that no git works there.
fn lock(home: &Path, us: &Holder, on_wait: fn(&str)) -> Result<WriterLock, OpsError> {
    Ok(WriterLock::acquire(&Paths::at(home), us, CHECKOUT_WAIT, &mut |_| {
        on_wait("another command is checking out the branch that the project lives on");
    })?)
}

/// Checks the branch out under that lock.
fn begin(
    home: &Path,
    repository: &Repository,
    branch: &BranchName,
    source: &BranchSource,
    lock: &WriterLock,
) -> Result<PathBuf, OpsError> {
    // Where a link leads is nobody's to write to.
    let folder = Folder::create(home, FOLDER)?.path().canonicalize();
    let folder = folder.map_err(|cause| StoreError::Io { doing: "find", path: home.join(FOLDER), cause })?;
    repository.forget_begun(&folder)?;
    clear(home, &folder)?;
    repository.add_worktree(&folder, branch.as_str(), source, &lock.share()?)?;
    info!(%branch, folder = %folder.display(), "checked out the branch of the project");
    Ok(folder)
}

/// Takes away what a killed git left in the folder. Where commands have worked in it, all of it is kept beside.
fn clear(home: &Path, folder: &Path) -> Result<(), OpsError> {
    // Whatever else stands there, git says that it is in the way.
    if !folder.join(".git").is_file() {
        return Ok(());
    }
    let fault = |cause| StoreError::Io { doing: "take away", path: folder.to_owned(), cause };
    if folder.join(".aof").exists() {
        let free =
            (1..1_000).map(|number| home.join(format!("{FOLDER}-unfinished-{number}"))).find(|path| !path.exists());
        if let Some(beside) = free {
            fs::rename(folder, beside).map_err(fault)?;
        }
    } else {
        fs::remove_dir_all(folder).map_err(fault)?;
    }
    Ok(())
}

/// Returns what the committed project.yaml says of git, and where the file says something else. Most say nothing, and are not read
/// any further.
fn said_of_git(root: &Path, repository: &Repository) -> Option<(Git, Option<PathBuf>)> {
    // Whatever is the matter with HEAD is told by who needs it.
    let commit = repository.look().ok()?.commit?;
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
fn home(root: &Path, repository: &Repository) -> PathBuf {
    let common = repository.common_dir();
    let main = common.file_name().filter(|name| *name == ".git").and_then(|_| common.parent());
    let home = main.map(|main| main.join(repository.prefix()));
    home.filter(|home| home.is_dir()).unwrap_or_else(|| root.to_owned())
}

/// Begins a project on a branch of its own, in a repository that there is. The branch that is checked out gets one commit, with a
/// project.yaml that says where the project is.
pub fn init_on_branch(
    new: &NewProject,
    branch: &BranchName,
    now: Timestamp,
    open: &dyn Fn(&Path) -> Result<Workspace, OpsError>,
    dry_run: DryRun,
) -> Result<Begun, OpsError> {
    let repository = repository_around(&new.folder)?.filter(|_| new.folder.is_dir());
    let Some(repository) = repository else {
        return Err(unfit(
            "no_repository_yet",
            "a branch of its own is for a project in a repository that there is already".to_owned(),
            "begin one with `git init` and a first commit, or leave `--branch` out".to_owned(),
        ));
    };
    let head = repository.head()?;
    if head.commit.is_none() {
        return Err(unfit(
            "no_commit_yet",
            format!("nothing is committed on `{}` yet", head.branch()),
            "commit something there first: it will say where the project is".to_owned(),
        ));
    }
    refuse_existing(&new.folder, Some(&repository), Some(&head))?;
    if repository.branch_source(branch.as_str(), None)?.is_some() {
        return Err(unfit(
            "branch_exists",
            format!("there is a branch `{branch}` already"),
            format!(
                "name another; if a project lives on it, commit a project.yaml with `git: {{branch: {branch}}}` here, and every \
                 command finds it"
            ),
        ));
    }
    repository.identity()?;
    let own = Repository::discover(&new.folder)?;
    let home = home(&new.folder, &own);
    let inside = NewProject {
        folder: home.join(FOLDER),
        name: Some(new.name.clone().unwrap_or_else(|| folder_name(&new.folder))),
        branch: Some(branch.clone()),
        ..new.clone()
    };
    if dry_run == DryRun::Yes {
        return init(&inside, now, open, dry_run);
    }
    repository.begin_branch(branch.as_str(), &format!("Begin {branch}: a branch for tasks"))?;
    let lock = lock(&home, &Holder::this_process("aof init", now), |_| {})?;
    begin(&home, &repository, branch, &BranchSource::Here, &lock)?;
    drop(lock);
    let begun = init(&inside, now, open, dry_run)?;
    let outside = open(&new.folder)?;
    let files = [(PROJECT_FILE.parse::<ProjectPath>()?, pointer(branch).into_bytes())];
    let message = format!("Tasks live on the branch {branch}");
    while commit_new(&outside, &outside.head()?, &files, &message)?.is_none() {
        refuse_existing(&new.folder, Some(&outside.repository), Some(&outside.head()?))?;
    }
    Ok(begun)
}

/// Returns what project.yaml of the other branches says.
fn pointer(branch: &BranchName) -> String {
    format!(
        "# The tasks of this repository, and the rules that they follow, live on a branch of their own: every `aof` command works\n\
         # there. It is checked out in `.aof/branch`.\n\
         git:\n  branch: {branch}\n"
    )
}

fn unfit(code: &'static str, problem: String, fix: String) -> OpsError {
    OpsError::Unfit { code, problem, fix }
}
