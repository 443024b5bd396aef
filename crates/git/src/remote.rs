//! Fetches from and pushes to the remote that this repository is synced with. Runs git's own command line, so addresses,
//! credentials, ssh and proxies are those of the user's git. Moves remote-tracking branches, and the remote's branch forward; never
//! moves a local branch. Holds no lock, since a remote may take long.
//!
//! A push is a compare-and-swap: the remote accepts it only as a fast-forward, and with a lease only from that very commit. The user's
//! `pre-push` hook runs.

use std::io::IsTerminal;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

use super::remote_answers::{
    FetchObstacle, Pushed, RemoteError, Upstream, fetch_obstacle, objects_error, push_outcome,
    readable_output, remote_error,
};
use crate::command;
use crate::command::GroupMode;
use crate::error::{During, GitError};
use crate::id::{CommitId, ObjectId};
use crate::repository::handle::Repository;
use crate::repository::references::Head;

/// The longest time that a remote may take if no person can be prompted.
const PATIENCE: Duration = Duration::from_mins(2);
/// The longest time that a remote may take if a person at a terminal can be prompted.
const PATIENCE_WITH_PEOPLE: Duration = Duration::from_mins(15);

/// The permission for git to prompt for a passphrase or a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompts {
    /// At the terminal, if there is one.
    AtTerminal,
    /// Never: git runs in the background.
    Never,
}

impl Repository {
    /// Returns the upstream of a branch: on the named remote, otherwise on the one that it tracks, otherwise on `origin`, otherwise
    /// on the only one.
    pub fn upstream(
        &self,
        head: &Head,
        named: Option<&str>,
    ) -> Result<Result<Upstream, RemoteError>, GitError> {
        let doing = || "read which remotes there are".to_owned();
        let names = self.git().remotes().during(doing)?;
        let known: Vec<String> = names.iter().flatten().flatten().map(str::to_owned).collect();
        let config = self.current_config()?;
        let followed = |what: &str| {
            config.text(&format!("branch.{}.{what}", head.branch())).map(str::to_owned)
        };
        let follows = followed("remote").filter(|remote| known.contains(remote));
        let remote = match (named, &follows, &known[..]) {
            (Some(name), ..) if known.iter().any(|known| known == name) => name.to_owned(),
            (Some(name), ..) => {
                return Ok(Err(RemoteError::Unknown { name: name.to_owned(), known }));
            }
            (None, Some(follows), _) => follows.clone(),
            (None, None, []) => return Ok(Err(RemoteError::NoRemote)),
            (None, None, _) if known.iter().any(|known| known == "origin") => "origin".to_owned(),
            (None, None, [only]) => only.clone(),
            (None, None, _) => return Ok(Err(RemoteError::Ambiguous { known })),
        };
        let merge = followed("merge").filter(|reference| {
            follows.as_ref() == Some(&remote) && reference.starts_with("refs/heads/")
        });
        let followed = merge.is_some();
        let reference = merge.unwrap_or_else(|| head.reference.clone());
        let branch = reference.strip_prefix("refs/heads/").unwrap_or(&reference);
        Ok(Ok(Upstream {
            tracking: format!("refs/remotes/{remote}/{branch}"),
            remote,
            reference,
            followed,
        }))
    }

    /// Returns the default branch of a remote, as a clone knows it, with its last known commit.
    pub fn default_branch(&self, remote: &str) -> Option<(String, CommitId)> {
        let folder = format!("refs/remotes/{remote}/");
        let head = self.git().find_reference(&format!("{folder}HEAD")).ok()?;
        let tracking = head.symbolic_target().ok()??.to_owned();
        let commit = self.read_reference(&tracking).ok()??;
        Some((tracking.strip_prefix(&folder)?.to_owned(), commit))
    }

    /// Returns the commit that the remote's branch was at after the last fetch or push; `None` before the first one.
    pub fn tracked_commit(&self, upstream: &Upstream) -> Result<Option<CommitId>, GitError> {
        self.read_reference(&upstream.tracking)
    }

    /// Asks whether the remote has no branch at all. The inner error is git's message when the remote does not answer.
    pub fn is_remote_empty(
        &self,
        upstream: &Upstream,
        prompts: Prompts,
    ) -> Result<Result<bool, String>, GitError> {
        let mut git = self.remote_git_command(prompts)?;
        git.args(["ls-remote", "--heads", &upstream.remote]);
        Ok(match run_remote_git(git, prompts) {
            Ok(finished) if finished.status.success() => Ok(finished.stdout.is_empty()),
            Ok(finished) => Err(text(&finished.stderr)),
            Err(message) => Err(message),
        })
    }

    /// Returns the newest local commit that the remote's branch lost when it was rewritten. A rewrite shows by the commit where the
    /// branch was `seen` before, or by a forced update in the reflog. Returns `None` if both versions have since been merged or the
    /// new one was adopted.
    pub fn commit_lost_by_rewrite(
        &self,
        upstream: &Upstream,
        seen: Option<CommitId>,
        local: CommitId,
        tip: CommitId,
    ) -> Result<Option<CommitId>, GitError> {
        let mut before = Vec::from_iter(seen);
        if let Ok(log) = self.git().reflog(&upstream.tracking) {
            let forced = log.iter().filter(|entry| entry.message_bytes().is_some_and(is_forced));
            before.extend(forced.map(|entry| CommitId::new(ObjectId::from_git(entry.id_old()))));
        }
        let is_merged = self.is_ancestor(tip, local)?;
        for before in before.into_iter().filter(|before| *before != tip && self.has_commit(*before))
        {
            let Some(had) = self.newest_common(local, [before])? else { continue };
            if !self.is_ancestor(had, tip)? && (!is_merged || self.is_ancestor(tip, had)?) {
                return Ok(Some(had));
            }
        }
        Ok(None)
    }

    /// Pushes a commit to the remote's branch. The remote accepts it only as a fast-forward; with a `lease`, only if its branch is at
    /// that commit, which must be an ancestor.
    pub fn push(
        &self,
        upstream: &Upstream,
        commit: CommitId,
        lease: Option<CommitId>,
        prompts: Prompts,
    ) -> Result<Result<Pushed, RemoteError>, GitError> {
        let Upstream { remote, reference, .. } = upstream;
        let mut git = self.remote_git_command(prompts)?;
        git.args(["push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no"]);
        git.args(lease.map(|lease| format!("--force-with-lease={reference}:{lease}"))).arg(remote);
        git.arg(format!("{commit}:{reference}"));
        let finished = match run_remote_git(git, prompts) {
            Ok(finished) => finished,
            Err(message) => return Ok(Err(remote_error(remote, &message))),
        };
        if finished.status.code().is_none() {
            // A signal ended git: its connection was gone, and it had no time to report that.
            let message = readable_output(&text(&finished.stderr), "git was ended in the middle");
            return Ok(Err(RemoteError::Unreachable { remote: remote.clone(), message }));
        }
        Ok(push_outcome(upstream, &text(&finished.stdout), &text(&finished.stderr)))
    }

    /// Returns a git command as the user would run it here, without prompts unless a person is at the terminal.
    pub(crate) fn remote_git_command(&self, prompts: Prompts) -> Result<Command, GitError> {
        // A remote's address may be a relative path, which git resolves from the main worktree.
        let common = self.common_dir();
        let main = common.file_name().filter(|name| *name == ".git").and_then(|_| common.parent());
        let mut git = command::users_git(main.unwrap_or_else(|| self.worktree_root()));
        git.env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0").envs(command::TRUE_HISTORY);
        if !prompts.has_people() {
            git.env("GIT_TERMINAL_PROMPT", "0");
            let says = |name: &str| std::env::var_os(name).is_some();
            if !says("GIT_SSH_COMMAND")
                && !says("GIT_SSH")
                && self.setting("core.sshCommand")?.is_none()
            {
                git.env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes");
            }
        }
        Ok(git)
    }
}

impl Prompts {
    /// Returns whether a person can be prompted.
    fn has_people(self) -> bool {
        self == Self::AtTerminal
            && std::io::stdin().is_terminal()
            && std::io::stderr().is_terminal()
    }
}

/// Runs a command of [`Repository::remote_git_command`]. The error is the reason why it did not run or end.
pub(crate) fn run_remote_git(
    command: Command,
    prompts: Prompts,
) -> Result<command::GitOutput, String> {
    // A program that prompts must be in the terminal's foreground process group.
    let (group, patience) = if prompts.has_people() {
        (GroupMode::Shared, PATIENCE_WITH_PEOPLE)
    } else {
        (GroupMode::Own, PATIENCE)
    };
    command::run_in(group, command, &[], patience).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "`git` is not installed".to_owned(),
        _ => error.to_string(),
    })
}

/// Returns whether a reflog message records a forced update.
fn is_forced(message: &[u8]) -> bool {
    String::from_utf8_lossy(message).contains("forced-update")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const NAP: Duration = Duration::from_millis(20);

impl Repository {
    /// Fetches the remote's branch and returns its commit; `None` if the remote has no such branch. Retries until the deadline while
    /// another process updates the remote-tracking branch.
    pub fn fetch(
        &self,
        upstream: &Upstream,
        prompts: Prompts,
        deadline: Instant,
    ) -> Result<Result<Option<CommitId>, RemoteError>, GitError> {
        // Retries once more after the deadline: git itself may have taken all of the time.
        let mut is_last = false;
        loop {
            let message = match self.fetch_once(upstream, prompts)? {
                Ok(()) => return self.tracked_commit(upstream).map(Ok),
                Err(message) if message.contains("couldn't find remote ref") => {
                    return Ok(Ok(None));
                }
                Err(message) => message,
            };
            let remote = &upstream.remote;
            match fetch_obstacle(&message) {
                Some(FetchObstacle::Lock(path))
                    if is_last || !wait_until_unlocked(&path, deadline) =>
                {
                    return Err(locked(path));
                }
                Some(FetchObstacle::Lock(_)) => is_last = Instant::now() >= deadline,
                Some(FetchObstacle::Race) if Instant::now() < deadline => thread::sleep(NAP),
                Some(FetchObstacle::Race | FetchObstacle::Other) => {
                    return Err(GitError::FetchNotStored {
                        remote: remote.clone(),
                        message: readable_output(&message, ""),
                    });
                }
                None => {
                    return match objects_error(remote, &message) {
                        Some(error) => Err(error),
                        None => Ok(Err(remote_error(remote, &message))),
                    };
                }
            }
        }
    }

    /// Runs `git fetch` once. The inner error is git's message.
    fn fetch_once(
        &self,
        upstream: &Upstream,
        prompts: Prompts,
    ) -> Result<Result<(), String>, GitError> {
        let Upstream { remote, reference, tracking, .. } = upstream;
        let mut git = self.remote_git_command(prompts)?;
        git.args([
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
        ]);
        // Even a partial clone needs all fetched objects: they are compared, and may need to be merged.
        git.args([
            "--no-recurse-submodules",
            "--no-filter",
            remote,
            &format!("+{reference}:{tracking}"),
        ]);
        let lock = self.common_dir().join(format!("{tracking}.lock"));
        let is_locked = fs::symlink_metadata(&lock).is_ok();
        let killed = |message: String| {
            if !is_locked {
                remove_dead_lock(&lock);
            }
            GitError::FetchNotStored { remote: remote.clone(), message }
        };
        Ok(match run_remote_git(git, prompts) {
            Ok(finished) if finished.status.success() => Ok(()),
            Ok(finished) if finished.status.signal().is_some() => {
                return Err(killed(format!("`git fetch` was killed ({})", finished.status)));
            }
            Ok(finished) => Err(text(&finished.stderr)),
            Err(message) => {
                if !is_locked {
                    remove_dead_lock(&lock);
                }
                Err(message)
            }
        })
    }
}

/// The longest time that git needs to move a branch that it has locked.
const LONGEST_MOVE: Duration = Duration::from_secs(1);

/// Removes the lock of a fetch that was killed: it was not there before, and has been neither renamed nor replaced for a second.
fn remove_dead_lock(lock: &Path) {
    let made = || fs::symlink_metadata(lock).ok().map(|data| (data.ino(), data.mtime_nsec()));
    let Some(first) = made() else { return };
    let begun = Instant::now();
    while begun.elapsed() < LONGEST_MOVE {
        thread::sleep(NAP);
        if made() != Some(first) {
            return;
        }
    }
    // `aof doctor` shows it if this fails.
    let _ = fs::remove_file(lock);
}

/// Waits until a lock is gone; returns whether it is. Does not contact the remote meanwhile.
fn wait_until_unlocked(lock: &Path, deadline: Instant) -> bool {
    while fs::symlink_metadata(lock).is_ok() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        thread::sleep(NAP.min(left));
    }
    true
}

fn locked(path: PathBuf) -> GitError {
    let made = fs::symlink_metadata(&path).and_then(|data| data.modified());
    GitError::Locked { age: made.ok().and_then(|made| made.elapsed().ok()), path }
}
