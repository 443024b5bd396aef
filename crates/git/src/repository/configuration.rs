//! Git's configuration. libgit2 reads it. Git itself is asked about everything that libgit2 lacks: settings in the environment, and
//! includes, whose conditions libgit2 knows only in part.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git2::Config;

use crate::command;
use crate::error::{During, GitError};

/// A file's inode, size and change time; `None` without a file.
type FileStamp = Option<(u64, u64, i64, i64)>;

/// The folders of a repository whose configuration is read.
#[derive(Clone, Copy)]
pub(crate) struct ConfigFolders<'r> {
    pub git_dir: &'r Path,
    pub common_dir: &'r Path,
    pub worktree_root: &'r Path,
    /// Decides whether libgit2 ignores the variables that name configuration files.
    pub ignores_variables: &'r dyn Fn() -> bool,
}

/// Git's configuration as it was at one moment.
#[derive(Debug)]
pub(crate) struct GitConfig {
    /// Names and values, the strongest last. A name without `=`, or with a value that is not UTF-8, has no value.
    entries: Vec<(String, Option<String>)>,
    /// The files that git's answer depends on; `None` if libgit2 read the configuration.
    files: Option<Vec<(PathBuf, FileStamp)>>,
}

impl GitConfig {
    /// Reads the configuration of a repository, or that outside of any; `config` is libgit2's.
    pub(crate) fn read(
        mut config: Config,
        place: Option<ConfigFolders<'_>>,
    ) -> Result<Self, GitError> {
        let mut entries = Vec::new();
        let snapshot = config.snapshot().during(reading)?;
        let mut found = snapshot.entries(None).during(reading)?;
        while let Some(entry) = found.next() {
            let entry = entry.during(reading)?;
            let value = entry.has_value().then(|| entry.value().ok()).flatten();
            let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
            entries.push((name, value.map(str::to_owned)));
        }
        if needs_git(place) || entries.iter().any(|(name, _)| is_include(name)) {
            return Self::ask(place);
        }
        Ok(Self { entries, files: None })
    }

    /// Makes git read its configuration.
    fn ask(place: Option<ConfigFolders<'_>>) -> Result<Self, GitError> {
        let folder = place.map_or(Path::new("."), |place| place.worktree_root);
        let mut git = command::users_git(folder);
        match place {
            Some(place) => git
                .env("GIT_DIR", place.git_dir_as_named())
                .env("GIT_WORK_TREE", place.worktree_root),
            None => git.env("GIT_DIR", "/dev/null"),
        };
        git.args(["config", "--list", "--null", "--show-origin"]).env("LC_ALL", "C");
        let unread = |detail| GitError::ConfigUnread { detail };
        let finished =
            command::run(git, &[], command::ANSWER_TIMEOUT).map_err(|error| {
                match error.kind() {
                    std::io::ErrorKind::NotFound => unread("`git` is not installed".to_owned()),
                    _ => unread(error.to_string()),
                }
            })?;
        if !finished.status.success() {
            return Err(unread(String::from_utf8_lossy(&finished.stderr).trim().to_owned()));
        }
        let (mut entries, mut files) = (Vec::new(), usual_files(place));
        let mut fields = finished.stdout.split(|byte| *byte == 0);
        while let (Some(origin), Some(entry)) = (fields.next(), fields.next()) {
            let (name, value) = match entry.iter().position(|byte| *byte == b'\n') {
                Some(end) => (&entry[..end], str::from_utf8(&entry[end + 1..]).ok()),
                None => (entry, None),
            };
            let name = String::from_utf8_lossy(name).into_owned();
            if let Some(file) = origin.strip_prefix(b"file:") {
                let file = folder.join(OsStr::from_bytes(file));
                let included = value.filter(|_| is_include(&name)).map(command::expand_home);
                files.extend(included.map(|path| file.with_file_name(path)));
                files.insert(file);
            }
            entries.push((name, value.map(str::to_owned)));
        }
        let stamped = files.into_iter().map(|file| (stamp(&file), file));
        Ok(Self { entries, files: Some(stamped.map(|(stamp, file)| (file, stamp)).collect()) })
    }

    /// Returns whether git was asked, and would give the same answer again.
    pub(crate) fn is_current(&self) -> bool {
        let same = |(file, known): &(PathBuf, FileStamp)| stamp(file) == *known;
        self.files.as_ref().is_some_and(|files| files.iter().all(same))
    }

    /// Returns the value of a setting.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.last_text(&[name])
    }

    /// Returns the value of the last one of these settings.
    pub(crate) fn last_text(&self, names: &[&str]) -> Option<&str> {
        self.last(names)?.as_deref()
    }

    /// Returns the value of a boolean setting; fails if it is not a boolean.
    pub(crate) fn switch(&self, name: &str) -> Result<Option<bool>, GitError> {
        let parsed = self.last(&[name]).map(|value| match value {
            Some(text) => Config::parse_bool(text.as_str()),
            None => Ok(true),
        });
        parsed.transpose().during(|| format!("read `{name}` in git's configuration"))
    }

    /// Returns whether there is a setting whose name begins with `start`, except `but`.
    pub(crate) fn has_below(&self, start: &str, but: &str) -> bool {
        self.entries.iter().any(|(name, _)| name.starts_with(start) && name != but)
    }

    fn last(&self, names: &[&str]) -> Option<&Option<String>> {
        let names: Vec<String> = names.iter().map(|name| normal(name)).collect();
        self.entries.iter().rev().find(|(name, _)| names.contains(name)).map(|(_, value)| value)
    }
}

/// Returns the name as git prints it: only a subsection keeps its case.
fn normal(name: &str) -> String {
    let (section, rest) = name.split_once('.').unwrap_or((name, ""));
    let (subsection, key) = rest.rsplit_once('.').map_or(("", rest), |(sub, key)| (sub, key));
    let (section, key) = (section.to_ascii_lowercase(), key.to_ascii_lowercase());
    if subsection.is_empty() {
        format!("{section}.{key}")
    } else {
        format!("{section}.{subsection}.{key}")
    }
}

fn is_include(name: &str) -> bool {
    name == "include.path"
        || name
            .strip_prefix("includeif.")
            .is_some_and(|rest| rest.rsplit('.').next() == Some("path"))
}

/// Returns whether the environment has settings that libgit2 ignores.
fn needs_git(place: Option<ConfigFolders<'_>>) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    if is_set("GIT_CONFIG_COUNT") || is_set("GIT_CONFIG_PARAMETERS") {
        return true;
    }
    let Some(place) = place else { return false };
    let is_named = is_set("GIT_CONFIG_GLOBAL");
    // libgit2 reads the XDG file beside the named one; git does not.
    is_named && Config::find_xdg().is_ok()
        || (is_named || is_set("GIT_CONFIG_SYSTEM") || is_set("GIT_CONFIG_NOSYSTEM"))
            && (place.ignores_variables)()
}

/// Returns the files that git reads first, whether they exist or not, and HEAD, on which `onbranch:` depends.
fn usual_files(place: Option<ConfigFolders<'_>>) -> BTreeSet<PathBuf> {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let below = |name: &str, file: &str| named(name).map(|folder| folder.join(file));
    let of_repository = place.into_iter().flat_map(|place| {
        let in_git_dir = ["config.worktree", "HEAD"].map(|file| place.git_dir.join(file));
        [place.common_dir.join("config")].into_iter().chain(in_git_dir)
    });
    let of_user = [
        named("GIT_CONFIG_SYSTEM").or_else(|| Some("/etc/gitconfig".into())),
        named("GIT_CONFIG_GLOBAL"),
        below("HOME", ".gitconfig"),
        below("HOME", ".config/git/config"),
        below("XDG_CONFIG_HOME", "git/config"),
    ];
    of_repository.chain(of_user.into_iter().flatten()).collect()
}

fn stamp(file: &Path) -> FileStamp {
    let data = fs::metadata(file).ok()?;
    Some((data.ino(), data.len(), data.mtime(), data.mtime_nsec()))
}

pub(crate) fn reading() -> String {
    "read git's configuration".to_owned()
}

impl ConfigFolders<'_> {
    /// Returns the git directory by the path that the user used: git matches `gitdir:` with it too.
    fn git_dir_as_named(self) -> PathBuf {
        let named = std::env::var_os("PWD").map(PathBuf::from).filter(|named| {
            let is_root = |folder: &Path| {
                folder.canonicalize().is_ok_and(|folder| folder == self.worktree_root)
            };
            named.is_absolute() && is_root(named) && is_root(Path::new("."))
        });
        let named = named.map(|folder| folder.join(".git")).filter(|folder| folder.exists());
        named.unwrap_or_else(|| self.git_dir.to_owned())
    }
}
