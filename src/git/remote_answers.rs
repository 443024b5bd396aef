//! What git says of a remote, and what it means: somebody was faster, the remote does not want it, nobody is there, or it is something here
//! that stands in the way. Only reads words.

use std::path::PathBuf;

use crate::git::error::GitError;

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

/// Returns what became of a push, by what git said.
pub(crate) fn answered(
    upstream: &Upstream,
    stdout: &str,
    stderr: &str,
) -> Result<Pushed, RemoteError> {
    let line = stdout.lines().find(|line| line.contains(&format!(":{}\t", upstream.reference)));
    match line {
        // The line broke when all was sent.
        Some(line) if line.contains("[remote failure]") => Err(trouble(&upstream.remote, stderr)),
        Some(line) if line.starts_with('!') => {
            let (is_moved, said) = (is_moved(line) && !is_unwritable(stderr), words(stderr, line));
            Ok(if is_moved { Pushed::Moved { said } } else { Pushed::Rejected { said } })
        }
        // The remote has it, whatever git failed at behind that.
        Some(_) => Ok(Pushed::Done),
        // A hook here that said no ends git before it comes to any branch, and so does a remote that takes nothing at all: it
        // answered a moment ago, and may be read from.
        None => match trouble(&upstream.remote, stderr) {
            RemoteError::Unreachable { .. } if !is_away(stderr) => {
                Ok(Pushed::Rejected { said: words(stderr, "it says nothing") })
            }
            trouble => Err(trouble),
        },
    }
}

pub(crate) fn trouble(remote: &str, said: &str) -> RemoteError {
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

/// Says whether the remote could not write a branch that nobody else was at. Hooks, and warnings of whatever git met on the way, may say the
/// same of other things.
fn is_unwritable(said: &str) -> bool {
    const WHY: [&str; 5] = [
        "Permission denied",
        "couldn't write",
        "No space left on device",
        "Read-only file system",
        "Disk quota exceeded",
    ];
    let mut own = said.lines().map(|line| line.strip_prefix("remote: ").unwrap_or(line));
    own.any(|line| line.starts_with("error: ") && WHY.iter().any(|word| line.contains(word)))
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
    let has_reason =
        said.lines().any(|line| line.starts_with("ERROR: ") || line.starts_with("remote: ERROR: "));
    !has_reason && (is_down || AWAY.iter().any(|word| said.contains(word)))
}

/// Returns why what came was not taken in: git looked at it, as `transfer.fsckObjects` asks for, and found it wrong; or something here kept it
/// from that, as a full disk does. Where the line broke, git says that of a pack as well.
pub(crate) fn not_taken(remote: &str, said: &str) -> Option<GitError> {
    const FAILED: [&str; 3] = ["fsck error", "index-pack failed", "unpack-objects failed"];
    let failed = FAILED.iter().any(|word| said.contains(word)) && !is_unreachable(said);
    let (is_refused, remote, said) = (said.contains(FAILED[0]), remote.to_owned(), words(said, ""));
    let refusal = if is_refused {
        GitError::NotTaken { remote, said }
    } else {
        GitError::NotStored { remote, said }
    };
    failed.then_some(refusal)
}

/// What of this clone's own keeps git from noting where a remote's branch is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FetchObstacle {
    /// Somebody has this lock.
    Lock(PathBuf),
    /// Somebody else noted it at the same moment.
    Race,
    /// It lasts until somebody mends it.
    Other,
}

/// Returns what of this clone's own a fetch says that it met. Whatever the remote did, it would not come to these.
pub(crate) fn obstacle(said: &str) -> Option<FetchObstacle> {
    const NOTING: [&str; 5] = [
        "cannot lock ref",
        "cannot update ref",
        "unable to update local ref",
        "some local refs could not be updated",
        "error: fetching ref ",
    ];
    const RACES: [&str; 3] =
        ["but expected", "reference already exists", "incorrect old value provided"];
    let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with("remote: ")).collect();
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

/// Returns what was said without git's own advice, or that where nothing was.
pub(crate) fn words(said: &str, line: &str) -> String {
    let told: Vec<&str> = said
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
    let told = told.join("\n").replace("fatal: ", "").replace("error: ", "");
    let told = if told.is_empty() {
        line.rsplit('\t').next().unwrap_or_default().to_owned()
    } else {
        told
    };
    match told.char_indices().nth(WORDS) {
        Some((at, _)) => format!("{}...", &told[..at]),
        None => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::too_many_lines, reason = "one table")]
    fn what_a_push_ended_with_is_told_apart() {
        let upstream = Upstream {
            remote: "origin".to_owned(),
            reference: "refs/heads/main".to_owned(),
            tracking: "refs/remotes/origin/main".to_owned(),
            followed: true,
        };
        let after = |line: &str, stderr: &str| {
            let stdout =
                if line.is_empty() { String::new() } else { format!("To X\n{line}\nDone\n") };
            match answered(&upstream, &stdout, stderr) {
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
    fn what_is_in_the_way_here_is_no_fault_of_the_remote() {
        let lock = "/c/.git/refs/remotes/origin/main.lock";
        for (said, expected) in [
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
            assert_eq!(obstacle(&said), expected, "{said}");
        }
    }
}
