//! Opens a repository with libgit2: the environment variables that count, the files that may block, and the reasons for failures.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git2::{Config, ConfigLevel, ErrorCode, RepositoryOpenFlags};

use super::configuration::{GitConfig, reading};
use crate::command;
use crate::error::{At, During, GitError};
use crate::id::CommitId;
use crate::objects::git_file;

/// Variables that would make libgit2 read from other places than this module writes to.
const FOREIGN: [&str; 5] = [
    "GIT_WORK_TREE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
];

/// Files that libgit2 reads when it opens a repository. It would block on a pipe in their place.
const READ_AT_ONCE: [&str; 4] = ["HEAD", "config", "shallow", "info/grafts"];

/// Returns the folder with the objects and branches of the nearest repository that has a worktree.
fn common_folder(folder: &Path) -> Option<PathBuf> {
    let root = folder.ancestors().find(|above| above.join(".git").exists())?;
    let Some(linked) = link_of(root) else { return Some(root.join(".git")) };
    let common = git_file::read_text(&linked.join("commondir")).unwrap_or_default();
    Some(linked.join(common.trim_end()))
}

/// Opens the nearest repository, from that folder upwards.
pub(crate) fn open(folder: &Path) -> Result<git2::Repository, GitError> {
    // The reader checks the names of objects itself, and faster.
    git2::opts::strict_hash_verification(false);
    // With `FROM_ENV`, libgit2 honours `GIT_CONFIG_GLOBAL` and similar variables, and still searches from the folder given.
    let flags = if FOREIGN.iter().any(|name| std::env::var_os(name).is_some()) {
        RepositoryOpenFlags::CROSS_FS
    } else {
        RepositoryOpenFlags::CROSS_FS | RepositoryOpenFlags::FROM_ENV
    };
    let common = common_folder(folder);
    for path in common.iter().flat_map(|common| READ_AT_ONCE.map(|name| common.join(name))) {
        git_file::check(&path).at("read", &path)?;
    }
    let opened = match git2::Repository::open_ext(folder, flags, &[] as &[&Path]) {
        Ok(git) if !is_owned(&git) => return trusted(folder, Some(git)),
        Err(error) if error.code() == ErrorCode::Owner => return trusted(folder, None),
        opened => opened,
    };
    opened.map_err(|error| {
        if let Some(error) = common.as_deref().and_then(hidden) {
            return error;
        }
        if let Some(error) =
            common.and_then(|common| read_shallow_commits(&common.join("shallow")).err())
        {
            return error;
        }
        let path = folder.to_owned();
        let says = |word: &str| error.message().to_lowercase().contains(word);
        match error.code() {
            ErrorCode::NotFound => GitError::NoRepository { path },
            _ if says("refstorage") => GitError::Reftable { path },
            _ if says("object format") || says("objectformat") || says("sha256") => {
                GitError::Sha256 { path }
            }
            _ => GitError::Git {
                action: format!("open the git repository of `{}`", folder.display()),
                source: error,
            },
        }
    })
}

/// Returns an error if the git directory may not be read; its files would only seem to be missing.
fn hidden(folder: &Path) -> Option<GitError> {
    let error = fs::metadata(folder.join("HEAD"))
        .err()
        .filter(|error| error.kind() == ErrorKind::PermissionDenied)?;
    Some(GitError::Io { action: "look into", path: folder.to_owned(), source: error })
}

/// Returns whether libgit2 ignores the variables that name configuration files.
pub(crate) fn ignores_variables(git: &git2::Repository) -> bool {
    FOREIGN.iter().any(|name| std::env::var_os(name).is_some()) || !is_owned(git)
}

/// Returns whether this user owns the worktree, the git directory, and any `.git` file that names it.
fn is_owned(git: &git2::Repository) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let is_own = |path: &Path| fs::symlink_metadata(path).is_ok_and(|data| data.uid() == user);
    is_own(git.path())
        && git.workdir().is_none_or(|root| is_own(root) && is_own(&root.join(".git")))
}

/// Opens a repository of another user if git trusts it, by `safe.directory`. Without an installed git, libgit2's answer counts.
fn trusted(folder: &Path, opened: Option<git2::Repository>) -> Result<git2::Repository, GitError> {
    let root = folder.ancestors().find(|folder| folder.join(".git").exists());
    let mut git = command::users_git(folder);
    git.args(["rev-parse", "--absolute-git-dir"]);
    let answer = command::run(git, &[], command::ANSWER_TIMEOUT).ok();
    if let (None, Some(opened)) = (&answer, opened) {
        return Ok(opened);
    }
    let Some(answer) = answer.filter(|answer| answer.status.success()) else {
        return Err(GitError::NotOwned { path: root.unwrap_or(folder).to_owned() });
    };
    let git_dir = Path::new(OsStr::from_bytes(answer.stdout.trim_ascii_end()));
    let doing = || format!("open the git repository of `{}`", folder.display());
    let git = git2::Repository::open_bare(git_dir).during(doing)?;
    let is_worktree =
        |root: &&Path| git_dir.starts_with(root.join(".git")) || link_of(root).is_some();
    if let Some(root) = root.filter(is_worktree) {
        git.set_workdir(root, false).during(doing)?;
    }
    Ok(git)
}

/// Returns the git directory that a linked worktree's `.git` file names.
pub(crate) fn link_of(folder: &Path) -> Option<PathBuf> {
    let file = folder.join(".git");
    let is_file = fs::symlink_metadata(&file).ok()?.is_file();
    let text = is_file.then(|| fs::read_to_string(&file).ok()).flatten()?;
    Some(folder.join(text.strip_prefix("gitdir: ")?.trim_end_matches(['\n', '\r'])))
}

/// The variable in which git names the folder to a hook.
const QUARANTINE: &str = "GIT_QUARANTINE_PATH";

/// Lets the repository also read the objects that git keeps in quarantine during a push.
pub(crate) fn add_quarantine(git: &git2::Repository, objects: &Path) -> Result<(), GitError> {
    let Some(named) = std::env::var_os(QUARANTINE) else { return Ok(()) };
    let (Ok(folder), Ok(objects)) = (fs::canonicalize(&named), fs::canonicalize(objects)) else {
        return Ok(());
    };
    let Some(text) = folder.to_str().filter(|_| folder.starts_with(&objects) && folder != objects)
    else {
        return Ok(());
    };
    let doing = || format!("read what was pushed, in `{text}`");
    git.odb().during(doing)?.add_disk_alternate(text).during(doing)
}

/// Reads the `shallow` file: the commits at which history is cut off. An unreadable file is an error, not an empty list: history
/// would be judged wrongly.
pub(crate) fn read_shallow_commits(path: &Path) -> Result<HashSet<CommitId>, GitError> {
    const FIX: &str = "make it a file that can be read, with the name of a commit a line; or move it elsewhere, and `git fetch --refetch` \
                       brings the history that it cut off";
    let unreadable = |detail| GitError::Unreadable { path: path.to_owned(), detail, fix: FIX };
    let text = match git_file::read_text(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(HashSet::new()),
        Err(error) => return Err(unreadable(error.to_string())),
    };
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
    let ends = lines.map(|(at, line)| {
        line.parse().map_err(|_| unreadable(format!("line {} names no commit", at + 1)))
    });
    ends.collect()
}

/// Reads git's configuration outside of any repository. libgit2 honours `GIT_CONFIG_GLOBAL` and similar variables only when it
/// opens a repository.
pub(crate) fn outside_repositories() -> Result<GitConfig, GitError> {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let is_off = |value: PathBuf| {
        ["", "0", "false", "no", "off"].iter().any(|word| value.as_os_str() == *word)
    };
    let mut files = Vec::new();
    if named("GIT_CONFIG_NOSYSTEM").is_none_or(is_off) {
        let system = named("GIT_CONFIG_SYSTEM").or_else(|| Config::find_system().ok());
        files.extend(system.map(|path| (path, ConfigLevel::System)));
    }
    if let Some(path) = named("GIT_CONFIG_GLOBAL") {
        files.push((path, ConfigLevel::Global));
    } else {
        files.extend(Config::find_xdg().ok().map(|path| (path, ConfigLevel::XDG)));
        files.extend(Config::find_global().ok().map(|path| (path, ConfigLevel::Global)));
    }
    let mut config = Config::new().during(reading)?;
    for (path, level) in files.into_iter().filter(|(path, _)| path.is_file()) {
        config
            .add_file(&path, level, false)
            .during(|| format!("read git's configuration `{}`", path.display()))?;
    }
    GitConfig::read(config, None)
}
