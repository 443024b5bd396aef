//! Another repository that this one is synced with, spoken to through git's own command line, so that addresses, credentials,
//! ssh and proxies are those of the user's git. Moves remote-tracking branches, and the remote's by a plain push; never forces,
//! never moves a local branch. Holds no lock: what it waits for may take long.
//!
//! A push is a compare-and-swap: the remote takes it only if its branch led to what is pushed. The user's `pre-push` hook runs.

use std::io::IsTerminal;
use std::process::Command;
use std::time::Duration;

use super::error::{AuditError, During};
use super::head::Head;
use super::id::{CommitId, ObjectId};
use super::repository::Repository;
use super::spawn::{self, Group};

/// How long a remote may take where nobody sits who could be asked for something.
const PATIENCE: Duration = Duration::from_mins(2);
/// How long it may take where somebody does.
const PATIENCE_WITH_PEOPLE: Duration = Duration::from_mins(15);
/// So much of what git or a hook said is shown.
const WORDS: usize = 2000;

/// Where a branch is synced: the remote, and its branch there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// The remote, as `git remote` names it.
    pub remote: String,
    /// The full name of the branch there, as `refs/heads/main`.
    pub reference: String,
    /// The full name of what is remembered of it here, as `refs/remotes/origin/main`.
    pub tracking: String,
    /// Whether the branch here follows it, as `git push` asks for.
    pub followed: bool,
}

/// Why a remote could not be spoken to.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The repository has none.
    #[error("there is no remote to sync with")]
    NoRemote,
    /// It has several, and none is said to be the one.
    #[error("there are several remotes, and none of them is said to be the one to sync with")]
    Ambiguous {
        /// They.
        known: Vec<String>,
    },
    /// There is none of that name.
    #[error("there is no remote `{name}`")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// It does not answer.
    #[error("`{remote}` cannot be reached: {said}")]
    Unreachable {
        /// The remote.
        remote: String,
        /// What git said.
        said: String,
    },
    /// It answers, and does not let this user in.
    #[error("`{remote}` does not let you in: {said}")]
    Denied {
        /// The remote.
        remote: String,
        /// What git said.
        said: String,
    },
}

/// Whether somebody may be asked for a passphrase or a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompts {
    /// Whoever sits at the terminal, if anybody does.
    AtTerminal,
    /// Nobody: this goes on in the background.
    Never,
}

/// What became of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    /// The remote has it.
    Done,
    /// The remote's branch has gone on meanwhile, or somebody has its lock.
    Moved {
        /// In its own words.
        said: String,
    },
    /// The remote, or a hook, would not take it.
    Rejected {
        /// In its own words.
        said: String,
    },
}

impl Upstream {
    /// Returns the branch as people write it: `origin/main`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.remote, self.branch())
    }

    /// Returns the name of the branch there.
    pub fn branch(&self) -> &str {
        self.reference.strip_prefix("refs/heads/").unwrap_or(&self.reference)
    }
}

impl Repository {
    /// Returns where a branch is synced: on that remote, else on the one that it follows, else on `origin`, else on the only one.
    pub fn upstream(&self, head: &Head, named: Option<&str>) -> Result<Result<Upstream, RemoteError>, AuditError> {
        let doing = || "read which remotes there are".to_owned();
        let names = self.git().remotes().during(doing)?;
        let known: Vec<String> = names.iter().flatten().flatten().map(str::to_owned).collect();
        let config = self.git().config().and_then(|mut config| config.snapshot()).during(doing)?;
        let followed = |what: &str| config.get_string(&format!("branch.{}.{what}", head.branch())).ok();
        let follows = followed("remote").filter(|remote| known.contains(remote));
        let remote = match (named, &follows, &known[..]) {
            (Some(name), ..) if known.iter().any(|known| known == name) => name.to_owned(),
            (Some(name), ..) => return Ok(Err(RemoteError::Unknown { name: name.to_owned(), known })),
            (None, Some(follows), _) => follows.clone(),
            (None, None, []) => return Ok(Err(RemoteError::NoRemote)),
            (None, None, _) if known.iter().any(|known| known == "origin") => "origin".to_owned(),
            (None, None, [only]) => only.clone(),
            (None, None, _) => return Ok(Err(RemoteError::Ambiguous { known })),
        };
        let merge = followed("merge")
            .filter(|reference| follows.as_ref() == Some(&remote) && reference.starts_with("refs/heads/"));
        let followed = merge.is_some();
        let reference = merge.unwrap_or_else(|| head.reference.clone());
        let branch = reference.strip_prefix("refs/heads/").unwrap_or(&reference);
        Ok(Ok(Upstream { tracking: format!("refs/remotes/{remote}/{branch}"), remote, reference, followed }))
    }

    /// Returns where the remote's branch was when it was last looked at or pushed to; nothing if it never was.
    pub fn remembered(&self, upstream: &Upstream) -> Result<Option<CommitId>, AuditError> {
        self.read_reference(&upstream.tracking)
    }

    /// Asks the remote where its branch is, and gets what led there; nothing if it has no such branch.
    pub fn fetch(
        &self,
        upstream: &Upstream,
        prompts: Prompts,
    ) -> Result<Result<Option<CommitId>, RemoteError>, AuditError> {
        let Upstream { remote, reference, tracking, .. } = upstream;
        let mut git = self.speaking_git(prompts)?;
        git.args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"]);
        // Of what comes, a partial clone is to have all: it is compared, and may have to be merged.
        git.args(["--no-recurse-submodules", "--no-filter", remote, &format!("+{reference}:{tracking}")]);
        let said = match speak(git, prompts) {
            Ok(finished) if finished.status.success() => return self.remembered(upstream).map(Ok),
            Ok(finished) => text(&finished.stderr),
            Err(said) => said,
        };
        if said.contains("couldn't find remote ref") {
            return Ok(Ok(None));
        }
        match not_taken(remote, &said) {
            Some(error) => Err(error),
            None => Ok(Err(trouble(remote, &said))),
        }
    }

    /// Asks whether the remote has no branch at all; of one that does not answer, what git says of it.
    pub fn is_empty_there(&self, upstream: &Upstream, prompts: Prompts) -> Result<Result<bool, String>, AuditError> {
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
    ) -> Result<Option<CommitId>, AuditError> {
        let mut before = Vec::from_iter(seen);
        if let Ok(log) = self.git().reflog(&upstream.tracking) {
            let forced = log.iter().filter(|entry| entry.message_bytes().is_some_and(is_forced));
            before.extend(forced.map(|entry| CommitId::new(ObjectId::from_git(entry.id_old()))));
        }
        let is_merged = self.led_to(tip, local)?;
        for before in before.into_iter().filter(|before| *before != tip && self.has_commit(*before)) {
            let Some(had) = self.newest_common(local, [before])? else { continue };
            if !self.led_to(had, tip)? && (!is_merged || self.led_to(tip, had)?) {
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
    ) -> Result<Result<Pushed, RemoteError>, AuditError> {
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
        Ok(answered(upstream, &text(&finished.stdout), &text(&finished.stderr), finished.status.success()))
    }

    /// Returns git as its user would call it here, asking nobody where nobody sits at a terminal.
    fn speaking_git(&self, prompts: Prompts) -> Result<Command, AuditError> {
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
        git.env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0").envs(spawn::TRUE_HISTORY);
        if !prompts.has_people() {
            git.env("GIT_TERMINAL_PROMPT", "0");
            let config = self.git().config().during(|| "read git's configuration".to_owned())?;
            let says = |name: &str| std::env::var_os(name).is_some();
            if !says("GIT_SSH_COMMAND") && !says("GIT_SSH") && config.get_string("core.sshCommand").is_err() {
                git.env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes");
            }
        }
        Ok(git)
    }
}

impl Prompts {
    /// Returns whether somebody sits there who can be asked.
    fn has_people(self) -> bool {
        self == Self::AtTerminal && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }
}

/// Runs such a command; what keeps it from ending is told in words.
fn speak(command: Command, prompts: Prompts) -> Result<spawn::Finished, String> {
    // Whatever asks at the terminal has to be of the group that the terminal listens to.
    let (group, patience) =
        if prompts.has_people() { (Group::Shared, PATIENCE_WITH_PEOPLE) } else { (Group::Own, PATIENCE) };
    spawn::run_in(group, command, &[], patience).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "`git` is not installed".to_owned(),
        _ => error.to_string(),
    })
}

/// Returns what became of a push, by what git said.
fn answered(upstream: &Upstream, stdout: &str, stderr: &str, is_done: bool) -> Result<Pushed, RemoteError> {
    let line = stdout.lines().find(|line| line.contains(&format!(":{}\t", upstream.reference)));
    match line {
        Some(line) if line.starts_with('!') => {
            let (is_moved, said) = (is_moved(line) && !is_unwritable(stderr), words(stderr, line));
            Ok(if is_moved { Pushed::Moved { said } } else { Pushed::Rejected { said } })
        }
        Some(_) if is_done => Ok(Pushed::Done),
        // A hook here that said no ends git before it comes to any branch, and so does a remote that takes nothing at all: it
        // answered a moment ago, and may be read from.
        _ => match trouble(&upstream.remote, stderr) {
            RemoteError::Unreachable { .. } if !is_away(stderr) => {
                Ok(Pushed::Rejected { said: words(stderr, "it says nothing") })
            }
            trouble => Err(trouble),
        },
    }
}

fn trouble(remote: &str, said: &str) -> RemoteError {
    const DENIED: [&str; 9] = [
        "Authentication failed",
        "Permission denied",
        "dubious ownership",
        "could not read Username",
        "could not read Password",
        "Host key verification failed",
        "terminal prompts disabled",
        "error: 401",
        "error: 403",
    ];
    let (remote, words) = (remote.to_owned(), words(said, "it says nothing"));
    if DENIED.iter().any(|word| said.contains(word)) {
        RemoteError::Denied { remote, said: words }
    } else {
        RemoteError::Unreachable { remote, said: words }
    }
}

/// Says whether a refused line of `git push --porcelain` means only that somebody was faster.
fn is_moved(line: &str) -> bool {
    const FASTER: [&str; 8] = [
        "(fetch first)",
        "(non-fast-forward)",
        "(needs force)",
        "(stale info)",
        "cannot lock ref",
        "failed to update ref",
        "failed to lock",
        "incorrect old value provided",
    ];
    FASTER.iter().any(|word| line.contains(word))
}

/// Says whether the remote could not write a branch that nobody else was at.
fn is_unwritable(said: &str) -> bool {
    const WHY: [&str; 5] = [
        "Permission denied",
        "couldn't write",
        "No space left on device",
        "Read-only file system",
        "Disk quota exceeded",
    ];
    WHY.iter().any(|word| said.contains(word))
}

/// Says whether a push failed since nobody was there, or the line broke. Git says `Could not read from remote repository` of a host that
/// refuses, too; such a host gives its reason as `ERROR: ..`.
fn is_away(said: &str) -> bool {
    const AWAY: [&str; 21] = [
        "Could not resolve",
        "Couldn't resolve",
        "Name or service not known",
        "Temporary failure in name resolution",
        "Connection refused",
        "Connection reset",
        "Connection closed",
        "Connection timed out",
        "Operation timed out",
        "Timeout was reached",
        "Network is unreachable",
        "No route to host",
        "Failed to connect",
        "Couldn't connect",
        "Could not connect",
        "Broken pipe",
        "early EOF",
        "unexpected disconnect",
        "remote end hung up",
        "does not appear to be a git repository",
        "RPC failed; curl",
    ];
    // A server that is out of order for a while.
    let is_down = ["error: 50", "error: 429"].iter().any(|code| said.contains(code));
    let has_reason = said.lines().any(|line| line.starts_with("ERROR: ") || line.starts_with("remote: ERROR: "));
    !has_reason && (is_down || AWAY.iter().any(|word| said.contains(word)))
}

/// Says whether git noted in a branch's log that it did not go on from where it was.
fn is_forced(message: &[u8]) -> bool {
    String::from_utf8_lossy(message).contains("forced-update")
}

/// Returns why what came was not taken in: git looked at it, as `transfer.fsckObjects` asks for, and found it wrong; or something here kept it
/// from that, as a full disk does. Where the line broke, git says that of a pack as well.
fn not_taken(remote: &str, said: &str) -> Option<AuditError> {
    const FAILED: [&str; 3] = ["fsck error", "index-pack failed", "unpack-objects failed"];
    let failed = FAILED.iter().any(|word| said.contains(word)) && !is_unreachable(said);
    let (is_refused, remote, said) = (said.contains(FAILED[0]), remote.to_owned(), words(said, ""));
    let refusal =
        if is_refused { AuditError::NotTaken { remote, said } } else { AuditError::NotStored { remote, said } };
    failed.then_some(refusal)
}

fn is_unreachable(said: &str) -> bool {
    [
        "remote end hung up",
        "Could not read from remote repository",
        "unable to access",
        "early EOF",
        "unexpected disconnect",
    ]
    .iter()
    .any(|word| said.contains(word))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns what was said without git's own advice, or that where nothing was.
fn words(said: &str, line: &str) -> String {
    let told: Vec<&str> = said
        .lines()
        .map(|line| line.strip_prefix("remote: ").unwrap_or(line).trim())
        .filter(|line| !line.is_empty() && !line.starts_with("hint:") && !line.starts_with("error: failed to push"))
        .filter(|line| {
            !line.starts_with("To ") && !line.starts_with("Please make sure") && *line != "and the repository exists."
        })
        .collect();
    let told = told.join("\n").replace("fatal: ", "").replace("error: ", "");
    let told = if told.is_empty() { line.rsplit('\t').next().unwrap_or_default().to_owned() } else { told };
    match told.char_indices().nth(WORDS) {
        Some((at, _)) => format!("{}...", &told[..at]),
        None => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_push_ended_with_is_told_apart() {
        let upstream = Upstream {
            remote: "origin".to_owned(),
            reference: "refs/heads/main".to_owned(),
            tracking: "refs/remotes/origin/main".to_owned(),
            followed: true,
        };
        let after = |line: &str, stderr: &str| {
            let stdout = if line.is_empty() { String::new() } else { format!("To X\n{line}\nDone\n") };
            match answered(&upstream, &stdout, stderr, !line.starts_with('!') && stderr.is_empty()) {
                Ok(Pushed::Done) => "done".to_owned(),
                Ok(Pushed::Moved { .. }) => "moved".to_owned(),
                Ok(Pushed::Rejected { said }) => format!("rejected: {said}"),
                Err(RemoteError::Denied { .. }) => "denied".to_owned(),
                Err(RemoteError::Unreachable { .. }) => "away".to_owned(),
                Err(other) => panic!("{other:?}"),
            }
        };
        let refused = |why: &str| format!("!\tX:refs/heads/main\t[remote rejected] ({why})");
        for (line, stderr, expected) in [
            (" \tX:refs/heads/main\ta..b".to_owned(), "", "done"),
            ("!\tX:refs/heads/main\t[rejected] (fetch first)".to_owned(), "", "moved"),
            ("!\tX:refs/heads/main\t[rejected] (non-fast-forward)".to_owned(), "", "moved"),
            (refused("non-fast-forward"), "remote: error: denying non-fast-forward refs/heads/main", "moved"),
            (refused("failed to update ref"), "remote: error: cannot lock ref: is at a but expected b", "moved"),
            (
                refused("pre-receive hook declined"),
                "remote: the branch is protected        \nerror: failed to push some refs to 'X'\n",
                "rejected: the branch is protected",
            ),
            (
                refused("failed to update ref"),
                "remote: error: cannot lock ref 'refs/heads/main': Unable to create 'main.lock': Permission denied",
                "rejected: cannot lock ref 'refs/heads/main': Unable to create 'main.lock': Permission denied",
            ),
            (
                refused("failed to update ref"),
                "remote: error: cannot update ref 'refs/heads/main': couldn't write 'main.lock'",
                "rejected: cannot update ref 'refs/heads/main': couldn't write 'main.lock'",
            ),
            (
                refused("unpacker error"),
                "error: remote unpack failed: unable to create temporary object directory",
                "rejected: remote unpack failed: unable to create temporary object directory",
            ),
            (
                String::new(),
                "ERROR: This repository was archived so it is read-only.\nfatal: Could not read from remote repository.\n",
                "rejected: ERROR: This repository was archived so it is read-only.\nCould not read from remote repository.",
            ),
            (
                String::new(),
                "fatal: unable to access 'https://x/': The requested URL returned error: 422\n",
                "rejected: unable to access 'https://x/': The requested URL returned 422",
            ),
            (String::new(), "not today\nerror: failed to push some refs to 'X'\n", "rejected: not today"),
            (String::new(), "fatal: unable to access 'https://x/': The requested URL returned error: 403\n", "denied"),
            (
                String::new(),
                "a@x: Permission denied (publickey).\nfatal: Could not read from remote repository.",
                "denied",
            ),
            (String::new(), "fatal: detected dubious ownership in repository at '/x'", "denied"),
            (String::new(), "fatal: unable to access 'https://x/': Could not resolve host: x", "away"),
            (String::new(), "fatal: unable to access 'https://x/': The requested URL returned error: 503", "away"),
            (
                String::new(),
                "ssh: connect to host x port 22: Connection refused\nfatal: Could not read from remote",
                "away",
            ),
            (String::new(), "fatal: the remote end hung up unexpectedly\n", "away"),
        ] {
            assert_eq!(after(&line, stderr), expected, "{line} {stderr}");
        }
    }
}
