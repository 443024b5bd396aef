//! Interprets git's messages about a remote: another push was first, the remote rejected the push, it cannot be reached, or a
//! local obstacle. Pure text.

use std::path::PathBuf;

use crate::error::GitError;

/// The most characters of a message from git or a hook that are shown.
const WORDS: usize = 2000;

/// The branch that a local branch is synced with: the remote, and its branch there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// The remote, as `git remote` names it.
    pub remote: String,
    /// The full name of the branch there, as `refs/heads/main`.
    pub reference: String,
    /// The full name of its remote-tracking branch here, as `refs/remotes/origin/main`.
    pub tracking: String,
    /// True if the local branch is set up to track it, which a plain `git push` requires.
    pub followed: bool,
}

/// The reason why a remote could not be used.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The repository has no remote.
    #[error("there is no remote to sync with")]
    NoRemote,
    /// The repository has several remotes, and none is configured for this branch.
    #[error("there are several remotes, and none of them is said to be the one to sync with")]
    Ambiguous {
        /// All remotes.
        known: Vec<String>,
    },
    /// There is no remote of that name.
    #[error("there is no remote `{name}`")]
    Unknown {
        /// The name that was given.
        name: String,
        /// The remotes that exist.
        known: Vec<String>,
    },
    /// The remote does not answer.
    #[error("`{remote}` cannot be reached: {message}")]
    Unreachable {
        /// The remote.
        remote: String,
        /// The message of git.
        message: String,
    },
    /// The remote answers, and denies this user access.
    #[error("`{remote}` does not let you in: {message}")]
    Denied {
        /// The remote.
        remote: String,
        /// The message of git.
        message: String,
    },
}

/// The result of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    /// The remote has the commit.
    Done,
    /// The remote's branch has moved meanwhile, or is locked.
    Moved {
        /// The message of git.
        message: String,
    },
    /// The remote or a hook rejected the push.
    Rejected {
        /// The message of the remote or the hook.
        message: String,
        refusal: PushRefusal,
    },
}

/// The kind of a rejection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushRefusal {
    /// The remote protects the branch.
    Protection,
    /// A hook of the remote declined; it may protect the branch.
    Hook,
    /// Any other reason.
    Other,
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

/// Returns the result of a push, read from git's output.
pub(crate) fn push_outcome(
    upstream: &Upstream,
    stdout: &str,
    stderr: &str,
) -> Result<Pushed, RemoteError> {
    let line = stdout.lines().find(|line| line.contains(&format!(":{}\t", upstream.reference)));
    match line {
        // The connection broke after everything was sent.
        Some(line) if line.contains("[remote failure]") => {
            Err(remote_error(&upstream.remote, stderr))
        }
        Some(line) if line.starts_with('!') => {
            let (is_moved, message) =
                (is_moved(line) && !is_unwritable(stderr), readable_output(stderr, line));
            Ok(if is_moved {
                Pushed::Moved { message }
            } else {
                Pushed::Rejected { message, refusal: refusal(line, stderr) }
            })
        }
        // The remote has the commit, whatever failed in git afterwards.
        Some(_) => Ok(Pushed::Done),
        // A local hook that rejects the push ends git before it lists any branch, and so does a read-only remote. Such a remote
        // did answer, so it is not unreachable.
        None => match remote_error(&upstream.remote, stderr) {
            RemoteError::Unreachable { .. } if !is_away(stderr) => {
                let message = readable_output(stderr, "it says nothing");
                Ok(Pushed::Rejected { message, refusal: PushRefusal::Other })
            }
            trouble => Err(trouble),
        },
    }
}

pub(crate) fn remote_error(remote: &str, message: &str) -> RemoteError {
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
    let (remote, readable) = (remote.to_owned(), readable_output(message, "it says nothing"));
    if DENIED.iter().any(|word| message.contains(word)) {
        RemoteError::Denied { remote, message: readable }
    } else {
        RemoteError::Unreachable { remote, message: readable }
    }
}

/// Returns the kind of a rejection. GitHub, GitLab, Gitea, Bitbucket and Azure name a protection; a hook of one's own has no words.
fn refusal(line: &str, stderr: &str) -> PushRefusal {
    const PROTECTED: [&str; 9] = [
        "GH006",
        "GH013",
        "repository rule violations",
        "protected branch hook declined",
        "to protected branch",
        "to a protected branch",
        "is protected",
        "branch permission",
        "TF402455",
    ];
    let has = |word: &str| line.contains(word) || stderr.contains(word);
    if PROTECTED.iter().any(|word| has(word)) {
        PushRefusal::Protection
    } else if has("hook declined") {
        PushRefusal::Hook
    } else {
        PushRefusal::Other
    }
}

/// Returns whether a rejected line of `git push --porcelain` only means that another push was first.
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

/// Returns whether the remote failed to write its branch though no other process was updating it. Only `error:` lines count:
/// hooks and warnings may use the same words about other things.
fn is_unwritable(message: &str) -> bool {
    const WHY: [&str; 5] = [
        "Permission denied",
        "couldn't write",
        "No space left on device",
        "Read-only file system",
        "Disk quota exceeded",
    ];
    let mut lines = message.lines().map(|line| line.strip_prefix("remote: ").unwrap_or(line));
    lines.any(|line| line.starts_with("error: ") && WHY.iter().any(|word| line.contains(word)))
}

/// Returns whether a push failed because the remote was unreachable or the connection broke. Git reports `Could not read from
/// remote repository` also for a host that refuses; such a host gives its reason as `ERROR: ..`.
fn is_away(message: &str) -> bool {
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
    // A server that is down for a while.
    let is_down = ["error: 50", "error: 429"].iter().any(|code| message.contains(code));
    let has_reason = message
        .lines()
        .any(|line| line.starts_with("ERROR: ") || line.starts_with("remote: ERROR: "));
    !has_reason && (is_down || AWAY.iter().any(|word| message.contains(word)))
}

/// Returns the error if git could not store the fetched objects: `transfer.fsckObjects` rejected them, or a local problem such as
/// a full disk. Git reports a broken connection in the same words, which is not such an error.
pub(crate) fn objects_error(remote: &str, message: &str) -> Option<GitError> {
    const FAILED: [&str; 3] = ["fsck error", "index-pack failed", "unpack-objects failed"];
    let failed = FAILED.iter().any(|word| message.contains(word)) && !is_unreachable(message);
    let (is_refused, remote, message) =
        (message.contains(FAILED[0]), remote.to_owned(), readable_output(message, ""));
    let refusal = if is_refused {
        GitError::ObjectsRejected { remote, message }
    } else {
        GitError::FetchNotStored { remote, message }
    };
    failed.then_some(refusal)
}

/// The obstacle that kept git from updating a remote-tracking branch in this clone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FetchObstacle {
    /// Another process holds this lock.
    Lock(PathBuf),
    /// Another process updated it at the same moment.
    Race,
    /// Any other obstacle: it lasts until a person fixes it.
    Other,
}

/// Returns the local obstacle that a failed fetch reports, if any. No message of the remote leads to one.
pub(crate) fn fetch_obstacle(message: &str) -> Option<FetchObstacle> {
    const NOTING: [&str; 5] = [
        "cannot lock ref",
        "cannot update ref",
        "unable to update local ref",
        "some local refs could not be updated",
        "error: fetching ref ",
    ];
    const RACES: [&str; 3] =
        ["but expected", "reference already exists", "incorrect old value provided"];
    let lines: Vec<&str> = message.lines().filter(|line| !line.starts_with("remote: ")).collect();
    let held = |line: &&str| {
        Some(line.split_once("Unable to create '")?.1.split_once("': File exists")?.0.to_owned())
    };
    if let Some(lock) = lines.iter().find_map(held) {
        return Some(FetchObstacle::Lock(PathBuf::from(lock)));
    }
    let has =
        |words: &[&str]| lines.iter().any(|line| words.iter().any(|word| line.contains(word)));
    has(&NOTING).then(|| if has(&RACES) { FetchObstacle::Race } else { FetchObstacle::Other })
}

fn is_unreachable(message: &str) -> bool {
    [
        "remote end hung up",
        "Could not read from remote repository",
        "unable to access",
        "early EOF",
        "unexpected disconnect",
    ]
    .iter()
    .any(|word| message.contains(word))
}

/// Returns git's output without its hints and boilerplate; `line` if nothing is left.
pub(crate) fn readable_output(message: &str, line: &str) -> String {
    let lines: Vec<&str> = message
        .lines()
        .map(|line| line.strip_prefix("remote: ").unwrap_or(line).trim())
        .filter(|line| {
            !line.is_empty()
                && !line.starts_with("hint:")
                && !line.starts_with("error: failed to push")
        })
        .filter(|line| {
            !line.starts_with("To ")
                && !line.starts_with("Please make sure")
                && *line != "and the repository exists."
        })
        .collect();
    let text = lines.join("\n").replace("fatal: ", "").replace("error: ", "");
    let text = if text.is_empty() {
        line.rsplit('\t').next().unwrap_or_default().to_owned()
    } else {
        text
    };
    match text.char_indices().nth(WORDS) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::too_many_lines, reason = "one table")]
    fn results_of_a_push_are_distinguished() {
        let upstream = Upstream {
            remote: "origin".to_owned(),
            reference: "refs/heads/main".to_owned(),
            tracking: "refs/remotes/origin/main".to_owned(),
            followed: true,
        };
        let after = |line: &str, stderr: &str| {
            let stdout =
                if line.is_empty() { String::new() } else { format!("To X\n{line}\nDone\n") };
            match push_outcome(&upstream, &stdout, stderr) {
                Ok(Pushed::Done) => "done".to_owned(),
                Ok(Pushed::Moved { .. }) => "moved".to_owned(),
                Ok(Pushed::Rejected { message, .. }) => format!("rejected: {message}"),
                Err(RemoteError::Denied { .. }) => "denied".to_owned(),
                Err(RemoteError::Unreachable { .. }) => "away".to_owned(),
                Err(other) => panic!("{other:?}"),
            }
        };
        let refused = |why: &str| format!("!\tX:refs/heads/main\t[remote rejected] ({why})");
        for (line, stderr, expected) in [
            (" \tX:refs/heads/main\ta..b".to_owned(), "", "done"),
            (
                "*\tX:refs/heads/main\t[new branch]".to_owned(),
                "error: could not write what comes of it",
                "done",
            ),
            ("!\tX:refs/heads/main\t[rejected] (fetch first)".to_owned(), "", "moved"),
            ("!\tX:refs/heads/main\t[rejected] (non-fast-forward)".to_owned(), "", "moved"),
            (
                "!\tX:refs/heads/main\t[remote failure] (remote failed to report status)"
                    .to_owned(),
                "",
                "away",
            ),
            (
                refused("non-fast-forward"),
                "remote: error: denying non-fast-forward refs/heads/main",
                "moved",
            ),
            (
                refused("failed to update ref"),
                "remote: error: cannot lock ref: is at a but expected b",
                "moved",
            ),
            (
                refused("failed to update ref"),
                "remote: cannot note it in /var/log/pushes: Permission denied\n\
                 warning: unable to access '/x/attributes': Permission denied\n\
                 remote: error: cannot lock ref 'refs/heads/main': is at a but expected b\n",
                "moved",
            ),
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
            (
                String::new(),
                "not today\nerror: failed to push some refs to 'X'\n",
                "rejected: not today",
            ),
            (
                String::new(),
                "fatal: unable to access 'https://x/': The requested URL returned error: 403\n",
                "denied",
            ),
            (
                String::new(),
                "a@x: Permission denied (publickey).\nfatal: Could not read from remote repository.",
                "denied",
            ),
            (String::new(), "fatal: detected dubious ownership in repository at '/x'", "denied"),
            (
                String::new(),
                "fatal: unable to access 'https://x/': Could not resolve host: x",
                "away",
            ),
            (
                String::new(),
                "fatal: unable to access 'https://x/': The requested URL returned error: 503",
                "away",
            ),
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

    #[test]
    fn a_protected_branch_is_recognized() {
        use PushRefusal::{Hook, Other, Protection};
        for (why, stderr, expected) in [
            (
                "protected branch hook declined",
                "remote: error: GH006: Protected branch update failed for refs/heads/main.\n",
                Protection,
            ),
            (
                "push declined due to repository rule violations",
                "remote: error: GH013: Repository rule violations found for refs/heads/main.\n",
                Protection,
            ),
            (
                "pre-receive hook declined",
                "remote: GitLab: You are not allowed to push code to protected branches on this project.\n",
                Protection,
            ),
            (
                "pre-receive hook declined",
                "remote: Gitea: Not allowed to push to protected branch main\n",
                Protection,
            ),
            (
                "TF402455: Pushes to this branch are not permitted; you must use a pull request",
                "",
                Protection,
            ),
            ("pre-receive hook declined", "remote: closed on Sundays\n", Hook),
            ("hook declined", "", Hook),
            ("unpacker error", "error: remote unpack failed\n", Other),
        ] {
            let line = format!("!\tX:refs/heads/main\t[remote rejected] ({why})");
            assert_eq!(refusal(&line, stderr), expected, "{why} {stderr}");
        }
    }

    #[test]
    fn a_local_obstacle_is_not_a_fault_of_the_remote() {
        let lock = "/c/.git/refs/remotes/origin/main.lock";
        for (message, expected) in [
            (
                format!(
                    "error: cannot lock ref 'refs/remotes/origin/main': Unable to create '{lock}': File exists.\n\nAnother"
                ),
                Some(FetchObstacle::Lock(lock.into())),
            ),
            (
                "fatal: Unable to create '/c/.git/shallow.lock': File exists.".to_owned(),
                Some(FetchObstacle::Lock("/c/.git/shallow.lock".into())),
            ),
            (
                format!("error: cannot lock ref 'r': Unable to create '{lock}': Permission denied"),
                Some(FetchObstacle::Other),
            ),
            (
                "error: cannot lock ref 'r': is at 1 but expected 2".to_owned(),
                Some(FetchObstacle::Race),
            ),
            (
                "error: fetching ref r failed: incorrect old value provided".to_owned(),
                Some(FetchObstacle::Race),
            ),
            (
                "error: cannot lock ref 'r': 'r/x' exists; cannot create 'r'".to_owned(),
                Some(FetchObstacle::Other),
            ),
            (
                "error: some local refs could not be updated; try running".to_owned(),
                Some(FetchObstacle::Other),
            ),
            (
                format!(
                    "remote: error: cannot lock ref 'r': Unable to create '{lock}': File exists."
                ),
                None,
            ),
            ("fatal: unable to access 'https://x/': Could not resolve host: x".to_owned(), None),
        ] {
            assert_eq!(fetch_obstacle(&message), expected, "{message}");
        }
    }
}
