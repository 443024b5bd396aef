//! Another repository that this one is synced with, spoken to through git's own command line, so that addresses, credentials,
//! ssh and proxies are those of the user's git. Moves remote-tracking branches, and the remote's by a plain push; never forces,
//! never moves a local branch. Holds no lock: what it waits for may take long.
//!
//! A push is a compare-and-swap: the remote takes it only if its branch led to what is pushed. The user's `pre-push` hook runs.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

use super::remote_answers::{
    FetchObstacle, Pushed, RemoteError, Upstream, answered, not_taken, obstacle, trouble, words,
};
use crate::git::command;
use crate::git::command::GroupMode;
use crate::git::error::{During, GitError};
use crate::git::id::{CommitId, ObjectId};
use crate::git::repository::handle::Repository;
use crate::git::repository::references::Head;

/// How long a remote may take where nobody sits who could be asked for something.
const PATIENCE: Duration = Duration::from_mins(2);
/// How long it may take where somebody does.
const PATIENCE_WITH_PEOPLE: Duration = Duration::from_mins(15);

/// Whether somebody may be asked for a passphrase or a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompts {
    /// Whoever sits at the terminal, if anybody does.
    AtTerminal,
    /// Nobody: this goes on in the background.
    Never,
}

impl Repository {
    /// Returns where a branch is synced: on that remote, else on the one that it follows, else on `origin`, else on the only one.
    pub fn upstream(
        &self,
        head: &Head,
        named: Option<&str>,
    ) -> Result<Result<Upstream, RemoteError>, GitError> {
        let doing = || "read which remotes there are".to_owned();
        let names = self.git().remotes().during(doing)?;
        let known: Vec<String> = names.iter().flatten().flatten().map(str::to_owned).collect();
        let config = self.git().config().and_then(|mut config| config.snapshot()).during(doing)?;
        let followed =
            |what: &str| config.get_string(&format!("branch.{}.{what}", head.branch())).ok();
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

    /// Returns where the remote's branch was when it was last looked at or pushed to; nothing if it never was.
    pub fn remembered(&self, upstream: &Upstream) -> Result<Option<CommitId>, GitError> {
        self.read_reference(&upstream.tracking)
    }

    /// Asks whether the remote has no branch at all; of one that does not answer, what git says of it.
    pub fn is_empty_there(
        &self,
        upstream: &Upstream,
        prompts: Prompts,
    ) -> Result<Result<bool, String>, GitError> {
        let mut git = self.speaking_git(prompts)?;
        git.args(["ls-remote", "--heads", &upstream.remote]);
        Ok(match speak(git, prompts) {
            Ok(finished) if finished.status.success() => Ok(finished.stdout.is_empty()),
            Ok(finished) => Err(text(&finished.stderr)),
            Err(said) => Err(said),
        })
    }

    /// Returns the newest commit here that the remote's branch had and has no more, since it was rewritten: it was elsewhere when it
    /// was `seen` before, or git noted that a fetch found it so. Nothing where somebody merged both since, or went along.
    pub fn rewritten(
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

    /// Offers a commit to the remote's branch, which takes it only if it is among what led to it.
    pub fn push(
        &self,
        upstream: &Upstream,
        commit: CommitId,
        prompts: Prompts,
    ) -> Result<Result<Pushed, RemoteError>, GitError> {
        let Upstream { remote, reference, .. } = upstream;
        let mut git = self.speaking_git(prompts)?;
        git.args(["push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no", remote]);
        git.arg(format!("{commit}:{reference}"));
        let finished = match speak(git, prompts) {
            Ok(finished) => finished,
            Err(said) => return Ok(Err(trouble(remote, &said))),
        };
        if finished.status.code().is_none() {
            // Ended by a signal: whoever it wrote to was there no more, and it had no time to say so.
            let said = words(&text(&finished.stderr), "git was ended in the middle");
            return Ok(Err(RemoteError::Unreachable { remote: remote.clone(), said }));
        }
        Ok(answered(upstream, &text(&finished.stdout), &text(&finished.stderr)))
    }

    /// Returns git as its user would call it here, asking nobody where nobody sits at a terminal.
    pub(crate) fn speaking_git(&self, prompts: Prompts) -> Result<Command, GitError> {
        let mut git = Command::new("git");
        for name in [
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
            "GIT_OBJECT_DIRECTORY",
            "GIT_ALTERNATE_OBJECT_DIRECTORIES",
            "GIT_COMMON_DIR",
            "GIT_NAMESPACE",
            "GIT_PREFIX",
            "GIT_QUARANTINE_PATH",
        ] {
            git.env_remove(name);
        }
        // An address may be a relative path, which counts from the main worktree whichever one this is.
        let common = self.common_dir();
        let main = common.file_name().filter(|name| *name == ".git").and_then(|_| common.parent());
        git.current_dir(main.unwrap_or_else(|| self.worktree_root()));
        git.env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0").envs(command::TRUE_HISTORY);
        if !prompts.has_people() {
            git.env("GIT_TERMINAL_PROMPT", "0");
            let config = self.git().config().during(|| "read git's configuration".to_owned())?;
            let says = |name: &str| std::env::var_os(name).is_some();
            if !says("GIT_SSH_COMMAND")
                && !says("GIT_SSH")
                && config.get_string("core.sshCommand").is_err()
            {
                git.env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes");
            }
        }
        Ok(git)
    }
}

impl Prompts {
    /// Returns whether somebody sits there who can be asked.
    fn has_people(self) -> bool {
        self == Self::AtTerminal
            && std::io::stdin().is_terminal()
            && std::io::stderr().is_terminal()
    }
}

/// Runs such a command; what keeps it from ending is told in words.
pub(crate) fn speak(command: Command, prompts: Prompts) -> Result<command::GitOutput, String> {
    // Whatever asks at the terminal has to be of the group that the terminal listens to.
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

/// Says whether git noted in a branch's log that it did not go on from where it was.
fn is_forced(message: &[u8]) -> bool {
    String::from_utf8_lossy(message).contains("forced-update")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const NAP: Duration = Duration::from_millis(20);

impl Repository {
    /// Asks the remote where its branch is, and gets what led there; nothing if it has no such branch. Waits until the deadline while
    /// somebody else here is at what is remembered of it.
    pub fn fetch(
        &self,
        upstream: &Upstream,
        prompts: Prompts,
        deadline: Instant,
    ) -> Result<Result<Option<CommitId>, RemoteError>, GitError> {
        // However long git itself took: what was only in the way a moment ago is tried once more.
        let mut is_last = false;
        loop {
            let said = match self.fetch_once(upstream, prompts)? {
                Ok(()) => return self.remembered(upstream).map(Ok),
                Err(said) if said.contains("couldn't find remote ref") => return Ok(Ok(None)),
                Err(said) => said,
            };
            let remote = &upstream.remote;
            match obstacle(&said) {
                Some(FetchObstacle::Lock(path)) if is_last || !is_let_go(&path, deadline) => {
                    return Err(locked(path));
                }
                Some(FetchObstacle::Lock(_)) => is_last = Instant::now() >= deadline,
                Some(FetchObstacle::Race) if Instant::now() < deadline => thread::sleep(NAP),
                Some(FetchObstacle::Race | FetchObstacle::Other) => {
                    return Err(GitError::NotStored {
                        remote: remote.clone(),
                        said: words(&said, ""),
                    });
                }
                None => {
                    return match not_taken(remote, &said) {
                        Some(error) => Err(error),
                        None => Ok(Err(trouble(remote, &said))),
                    };
                }
            }
        }
    }

    /// Returns what git says where it fails.
    fn fetch_once(
        &self,
        upstream: &Upstream,
        prompts: Prompts,
    ) -> Result<Result<(), String>, GitError> {
        let Upstream { remote, reference, tracking, .. } = upstream;
        let mut git = self.speaking_git(prompts)?;
        git.args([
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
        ]);
        // Of what comes, a partial clone is to have all: it is compared, and may have to be merged.
        git.args([
            "--no-recurse-submodules",
            "--no-filter",
            remote,
            &format!("+{reference}:{tracking}"),
        ]);
        Ok(match speak(git, prompts) {
            Ok(finished) if finished.status.success() => Ok(()),
            Ok(finished) => Err(text(&finished.stderr)),
            Err(said) => Err(said),
        })
    }
}

/// Waits until a lock is gone, and says whether it is. The remote is not asked meanwhile.
fn is_let_go(lock: &Path, deadline: Instant) -> bool {
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
