//! The installed git, its configuration, and its locks. Reads only, except for the merge driver's settings.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::configuration::GitConfig;
use super::handle::Repository;
use super::open::outside_repositories;
use crate::command;
use crate::error::{During, GitError};
use crate::id::CommitId;
use crate::objects::commit::{Person, clean};
use crate::objects::git_file;

impl Repository {
    /// Returns the output of `git --version`; `None` without a working git.
    pub fn git_version(&self) -> Option<String> {
        let mut git = Command::new("git");
        git.arg("--version").env("LC_ALL", "C");
        let finished = command::run(git, &[], command::ANSWER_TIMEOUT).ok()?;
        finished
            .status
            .success()
            .then(|| String::from_utf8_lossy(&finished.stdout).trim().to_owned())
    }

    /// Returns a setting of git's configuration, as it is now.
    pub fn setting(&self, name: &str) -> Result<Option<String>, GitError> {
        Ok(self.current_config()?.text(name).map(str::to_owned))
    }

    /// Returns a boolean setting of git's configuration, as it is now; `None` if it is unset or not a boolean.
    pub(crate) fn switch(&self, name: &str) -> Result<Option<bool>, GitError> {
        Ok(self.current_config()?.switch(name).unwrap_or_default())
    }

    /// Returns git's lock files that exist, each with its age.
    pub fn lock_files(&self) -> Result<Vec<(PathBuf, Duration)>, GitError> {
        let lock_path = |folder: &Path, name: &str| folder.join(format!("{name}.lock"));
        let mut places =
            BTreeSet::from([lock_path(self.git_dir(), "index"), lock_path(self.git_dir(), "HEAD")]);
        places.extend(
            ["packed-refs", "config", "shallow"].map(|name| lock_path(self.common_dir(), name)),
        );
        let head = self.head_for_reading()?;
        places.insert(lock_path(self.common_dir(), &head.reference));
        // A lock on the remote-tracking branch blocks a fetch.
        places.extend(
            self.upstream(&head, None)?
                .ok()
                .map(|upstream| lock_path(self.common_dir(), &upstream.tracking)),
        );
        let taken = places.into_iter().filter_map(|path| {
            let modified = fs::symlink_metadata(&path).ok()?.modified().ok()?;
            let age = SystemTime::now().duration_since(modified).unwrap_or_default();
            Some((path, age))
        });
        Ok(taken.collect())
    }
}

/// Returns the editor that git would start in that folder: `GIT_EDITOR`, `core.editor`, `VISUAL`, `EDITOR`, or git's built-in
/// default. Returns `None` if git names none or is not installed.
pub fn editor(folder: &Path) -> Option<String> {
    let mut git = Command::new("git");
    git.args(["var", "GIT_EDITOR"]).current_dir(folder);
    let finished = command::run(git, &[], command::ANSWER_TIMEOUT).ok()?;
    let editor = String::from_utf8(finished.stdout).ok()?.trim().to_owned();
    (finished.status.success() && !editor.is_empty()).then_some(editor)
}

/// Returns whether a program of that name is executable, by its path or in `PATH`.
pub fn is_program_installed(program: &str) -> bool {
    if program.contains('/') {
        return is_program(Path::new(program));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| is_program(&folder.join(program)))
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// One of the two people of a commit.
#[derive(Debug, Clone, Copy)]
enum PersonRole {
    Author,
    Committer,
}

impl Repository {
    /// Returns git's user, as committer.
    pub fn identity(&self) -> Result<Person, GitError> {
        self.person(PersonRole::Committer)
    }

    /// Returns git's user, as author, by `author.*` and `GIT_AUTHOR_*` before `user.*`.
    pub fn author_identity(&self) -> Result<Person, GitError> {
        self.person(PersonRole::Author)
    }

    /// Returns git's user as author, outside of any repository. Fails if a first commit would fail.
    pub fn user() -> Result<Person, GitError> {
        let config = outside_repositories()?;
        person(&config, PersonRole::Committer)?;
        person(&config, PersonRole::Author)
    }

    /// Returns whether the user may depend on the folder of the repository, by `includeIf`.
    pub fn has_user_by_place() -> Result<bool, GitError> {
        Ok(outside_repositories()?.has_below("includeif.", ""))
    }

    fn person(&self, part: PersonRole) -> Result<Person, GitError> {
        person(&*self.config()?, part)
    }
}

fn person(config: &GitConfig, part: PersonRole) -> Result<Person, GitError> {
    let (word, env) = match part {
        PersonRole::Author => ("author", "GIT_AUTHOR"),
        PersonRole::Committer => ("committer", "GIT_COMMITTER"),
    };
    // Like git: a variable counts even if it is empty, and so does `user.*`; `author.*` and `committer.*` do not.
    let find = |field: &str| {
        let of_part = config.text(&format!("{word}.{field}")).filter(|text| !text.is_empty());
        let of_config = of_part.or_else(|| config.text(&format!("user.{field}")));
        std::env::var(format!("{env}_{}", field.to_uppercase()))
            .ok()
            .or_else(|| of_config.map(str::to_owned))
    };
    let of_system = || {
        let is_off = config.switch("user.useConfigOnly").ok().flatten() == Some(true);
        std::env::var("EMAIL").ok().filter(|text| !is_off && !text.is_empty())
    };
    let name = find("name")
        .filter(|text| !clean(text).is_empty())
        .ok_or(GitError::NoIdentity { missing: "`user.name`" })?;
    let email =
        find("email").or_else(of_system).ok_or(GitError::NoIdentity { missing: "`user.email`" })?;
    Person::new(&name, &email)
}

/// The settings that define our merge driver.
const DRIVER: &str = "merge.aof.driver";
const NAME: &str = "merge.aof.name";

/// The folder in which git looks for hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hooks {
    /// In the repository's own folder.
    Own(PathBuf),
    /// In the folder that `core.hooksPath` names.
    Elsewhere(PathBuf),
}

impl Repository {
    /// Returns the commits of an unfinished merge into HEAD.
    pub(crate) fn merge_heads(&self) -> Vec<CommitId> {
        let text = git_file::read_text(&self.git_dir().join("MERGE_HEAD")).unwrap_or_default();
        text.lines().filter_map(|line| line.trim().parse().ok()).collect()
    }

    /// Returns the commits that git is about to merge. Before it runs `pre-merge-commit`, it names them only in the environment, as
    /// `GITHEAD_` with the commit.
    pub fn commits_to_merge(&self) -> Vec<CommitId> {
        let named = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let of_merge =
            named.filter_map(|name| name.strip_prefix("GITHEAD_")?.parse::<CommitId>().ok());
        let mut commits = self.merge_heads();
        if commits.is_empty() {
            commits.extend(of_merge);
        }
        commits
    }

    /// Returns whether the next commit is that of `git merge --squash`: git removes its message with the commit.
    pub fn is_squashing(&self) -> bool {
        self.git_dir().join("SQUASH_MSG").exists()
    }

    /// Returns the command that git's configuration sets for our driver.
    pub fn merge_driver(&self) -> Result<Option<String>, GitError> {
        self.setting(DRIVER)
    }

    /// Sets our merge driver in the repository's own configuration.
    pub fn set_merge_driver(&self, name: &str, command: &str) -> Result<(), GitError> {
        let doing = || format!("write git's configuration in `{}`", self.common_dir().display());
        let mut config = self
            .git()
            .config()
            .and_then(|config| config.open_level(git2::ConfigLevel::Local))
            .during(doing)?;
        // The command is set before the name: a driver with a name and no command would stop every merge.
        config.set_str(DRIVER, command).during(doing)?;
        config.set_str(NAME, name).during(doing)
    }

    /// Removes our merge driver from the repository's own configuration.
    pub fn remove_merge_driver(&self) -> Result<(), GitError> {
        let mut git = self.git_command();
        git.args(["config", "--local", "--remove-section", "merge.aof"]);
        command::run_git(git, &[]).map(drop)
    }

    /// Returns the folder in which git looks for hooks.
    pub fn hooks(&self) -> Result<Hooks, GitError> {
        Ok(match self.setting("core.hooksPath")? {
            Some(path) => Hooks::Elsewhere(self.worktree_root().join(command::expand_home(&path))),
            None => Hooks::Own(self.common_dir().join("hooks")),
        })
    }
}
