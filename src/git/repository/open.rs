//! Opens a repository with libgit2: which environment variables count, which files may block, and why opening fails.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use git2::{Config, ConfigLevel, ErrorCode, RepositoryOpenFlags};

use crate::git::error::{At, During, GitError};
use crate::git::id::CommitId;
use crate::git::objects::git_file;

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
    // With `FROM_ENV`, libgit2 honours `GIT_CONFIG_GLOBAL` and its like, and still searches from the folder given.
    let flags = if FOREIGN.iter().any(|name| std::env::var_os(name).is_some()) {
        RepositoryOpenFlags::CROSS_FS
    } else {
        RepositoryOpenFlags::CROSS_FS | RepositoryOpenFlags::FROM_ENV
    };
    let common = common_folder(folder);
    for path in common.iter().flat_map(|common| READ_AT_ONCE.map(|name| common.join(name))) {
        git_file::check(&path).at("read", &path)?;
    }
    git2::Repository::open_ext(folder, flags, &[] as &[&Path]).map_err(|error| {
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
            ErrorCode::Owner => GitError::NotOwned { path: owned_root(folder) },
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

/// Returns the folder that git compares with `safe.directory`.
fn owned_root(folder: &Path) -> PathBuf {
    folder.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(folder).to_owned()
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

/// All settings that are read.
const TEXTS: [&str; 15] = [
    "author.email",
    "author.name",
    "committer.email",
    "committer.name",
    "core.autocrlf",
    "core.logAllRefUpdates",
    "gpg.format",
    "gpg.openpgp.program",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.x509.program",
    "init.defaultBranch",
    "user.email",
    "user.name",
    "user.signingKey",
];

/// Git's configuration as it was at one moment.
#[derive(Debug)]
pub(crate) struct GitConfig {
    texts: HashMap<&'static str, String>,
    /// `commit.gpgSign`.
    pub signs_commits: bool,
}

impl GitConfig {
    /// Reads the settings that are used from a configuration.
    pub(crate) fn of(mut config: Config) -> Result<Self, GitError> {
        let config = config.snapshot().during(|| "read git's configuration".to_owned())?;
        let texts = TEXTS
            .into_iter()
            .filter_map(|name| Some((name, config.get_string(name).ok()?)))
            .collect();
        Ok(Self { texts, signs_commits: config.get_bool("commit.gpgSign").unwrap_or(false) })
    }

    /// Returns the value of that setting.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        debug_assert!(TEXTS.contains(&name), "`{name}` is missing from `TEXTS`");
        self.texts.get(name).map(String::as_str)
    }
}

/// Reads git's configuration outside of any repository. libgit2 honours `GIT_CONFIG_GLOBAL` and the like only when it opens a
/// repository.
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
    let mut config = Config::new().during(|| "read git's configuration".to_owned())?;
    for (path, level) in files.into_iter().filter(|(path, _)| path.is_file()) {
        config
            .add_file(&path, level, false)
            .during(|| format!("read git's configuration `{}`", path.display()))?;
    }
    GitConfig::of(config)
}
