//! What a sync with a remote came to, in words and in JSON.
//!
//! ```text
//!   fetch        what the remote has                                            no lock held
//!   compare      nothing to do | only they went on | only we did | both did
//!   merge        in memory: the remote's commit, with our tasks merged into it by meaning; the commit is on no branch yet
//!   push         plain: the remote takes it only if its branch is where it was; else from the start, at most 10 times
//!   bring        under the writer lock and git's own: worktree, index and branch come to what the remote has
//! ```
//! The push comes before the local branch moves, so a merge that came second leaves nothing behind. Where the remote does not answer
//! any more, or would not take it, the merge comes in all the same, and waits: what others did is known by then. A kill before the
//! push leaves unreachable objects; one after it leaves this clone behind the remote, which the next sync brings in; one while files
//! are brought in is finished by the next command.
//!
//! Nothing is forced, and no commit is rewritten. What is not the engine's to merge is left to git and people.

use serde::Serialize;
use serde_json::{Value, json};

use crate::domain::{TaskId, listed};
use crate::git::log::trailers::Trailer;
use crate::git::{CommitId, GitError, RemoteError, Upstream};

/// What a sync came to.
#[derive(Debug)]
pub(crate) struct Synced {
    pub upstream: Upstream,
    /// The commits that came from others, newest first.
    pub came: Vec<CommitLine>,
    /// The commits that went to the remote, newest first.
    pub went: Vec<CommitLine>,
    /// The merge that joined both, if one had to be made.
    pub merge: Option<CommitId>,
    /// What no longer counts, since somebody else was first.
    pub superseded: Vec<Loss>,
    /// How many times something was offered to the remote.
    pub rounds: u32,
    /// Commits here that the remote does not have.
    pub ahead: usize,
    /// Commits of the remote that are not here.
    pub behind: usize,
    pub end: SyncEnd,
}

/// A commit in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CommitLine {
    pub commit: CommitId,
    pub subject: String,
    pub author: String,
}

/// Something that was said here and no longer counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loss {
    pub task: TaskId,
    /// What it was.
    pub what: String,
    /// How the merge commit lists it: only entries are listed, and not claims, holds and unblockings.
    pub trailer: Option<Trailer>,
}

/// How a sync ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SyncEnd {
    /// Here and there is the same.
    Same,
    /// The remote cannot be reached: what is here waits.
    Offline { said: String },
    /// The remote, or a hook, would not take it.
    Rejected { said: String },
    /// A merge or a push is needed that is not the engine's to make.
    Manual(ManualFix),
    /// The remote went on each time.
    Unsettled,
    /// A dry run.
    Rehearsed,
}

impl RemoteError {
    /// Returns the code that stands for it in JSON.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoRemote => "no_remote",
            Self::Ambiguous { .. } => "ambiguous_remote",
            Self::Unknown { .. } => "unknown_remote",
            Self::Unreachable { .. } => "offline",
            Self::Denied { .. } => "denied",
        }
    }

    /// Returns what to do about it.
    pub fn fix(&self) -> String {
        match self {
            Self::NoRemote => {
                "add one: `git remote add origin URL`; any git host will do, or a bare repository on a shared disk"
                    .to_owned()
            }
            Self::Ambiguous { known } => {
                format!("say which: `--remote {}`, or `git: {{remote: {}}}` in project.yaml", known[0], known[0])
            }
            Self::Unknown { known, .. } if known.is_empty() => "add it: `git remote add NAME URL`".to_owned(),
            Self::Unknown { known, .. } => format!("there is {}", listed(known)),
            Self::Unreachable { remote, .. } => {
                format!("see whether `git fetch {remote}` works; what is here waits, and nothing is lost")
            }
            Self::Denied { remote, .. } => format!(
                "see whether `git fetch {remote}` works: credentials, keys and tokens are those of your git; without a terminal nobody is asked for a passphrase"
            ),
        }
    }
}

impl Synced {
    /// Returns whether nothing came and nothing went.
    pub(crate) fn is_idle(&self) -> bool {
        self.came.is_empty() && self.went.is_empty() && self.superseded.is_empty()
    }

    /// Returns what keeps both sides apart, and what to do about it.
    pub(crate) fn trouble(&self) -> Option<(String, String)> {
        let name = self.upstream.name();
        let waits = match self.ahead {
            0 => "nothing waits here".to_owned(),
            1 => "1 commit waits here".to_owned(),
            many => format!("{many} commits wait here"),
        };
        Some(match &self.end {
            SyncEnd::Same | SyncEnd::Rehearsed => return None,
            SyncEnd::Offline { said } => (
                format!("{name} cannot be reached: {said}"),
                format!("{waits}; sync again when it can"),
            ),
            SyncEnd::Rejected { said } => (format!("{name} would not take it: {said}"), waits),
            SyncEnd::Unsettled => (
                format!("{name} went on each of {} times", self.rounds),
                format!("{waits}; sync again"),
            ),
            SyncEnd::Manual(left) => (left.problem.clone(), left.fix.clone()),
        })
    }

    /// Returns it as `--json` shows it.
    pub(crate) fn value(&self) -> Value {
        let (state, problem, left) = match &self.end {
            SyncEnd::Same => ("synced", None, None),
            SyncEnd::Rehearsed => ("rehearsed", None, None),
            SyncEnd::Offline { said } => ("offline", Some(said), None),
            SyncEnd::Rejected { said } => ("rejected", Some(said), None),
            SyncEnd::Unsettled => ("unsettled", None, None),
            SyncEnd::Manual(left) => (left.code, Some(&left.problem), Some(left)),
        };
        let loss = |loss: &Loss| json!({"task": loss.task.as_str(), "what": loss.what});
        json!({
            "state": state,
            "remote": self.upstream.remote,
            "branch": self.upstream.branch(),
            "came": self.came,
            "went": self.went,
            "merge": self.merge,
            "superseded": self.superseded.iter().map(loss).collect::<Vec<_>>(),
            "rounds": self.rounds,
            "ahead": self.ahead,
            "behind": self.behind,
            "problem": problem,
            "fix": left.map(|left| &left.fix),
            "files": left.map_or(&[][..], |left| &left.files),
        })
    }
}

/// Something that is left to git and to people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManualFix {
    /// The code that stands for it in JSON.
    pub code: &'static str,
    pub problem: String,
    pub fix: String,
    /// The files that it is about.
    pub files: Vec<String>,
}

/// A sync, as its messages name it.
pub(crate) struct SyncNames {
    pub remote: String,
    /// The remote's branch, as in `main`.
    pub branch: String,
    /// The remote's branch, as in `origin/main`.
    pub upstream: String,
    /// The command that syncs again.
    pub again: String,
}

impl SyncNames {
    pub(crate) fn of(upstream: &Upstream, again: String) -> Self {
        let (remote, branch) = (upstream.remote.clone(), upstream.branch().to_owned());
        Self { remote, branch, upstream: upstream.name(), again }
    }

    fn left(&self, code: &'static str, problem: String, fix: &str) -> ManualFix {
        let fix = format!("nothing was changed; {fix}; then `{}`", self.again);
        ManualFix { code, problem, fix, files: Vec::new() }
    }

    /// A commit of a person changes more than tasks. `apart`: the remote went on meanwhile, so a merge is needed.
    pub(crate) fn stranger(&self, commit: CommitId, path: &str, apart: bool) -> ManualFix {
        let Self { remote, branch, upstream, again } = self;
        let commit = short(commit);
        let (problem, fix) = if apart {
            (
                format!(
                    "`{upstream}` went on, and commit {commit} here changes `{path}`, which is no task: that merge is left to git"
                ),
                format!(
                    "run `git pull --no-rebase {remote} {branch}`, then `{again}`; tasks are merged by meaning there too, but what you \
                     have stands there, since you merge into your branch"
                ),
            )
        } else {
            (
                format!(
                    "commit {commit} changes `{path}`, which is no task, so it is for you to push"
                ),
                format!("run `git push {remote} HEAD:{branch}`, or `{again}` by hand"),
            )
        };
        ManualFix { code: "left_to_git", problem, fix, files: Vec::new() }
    }

    /// Returns what keeps the files of a commit from being checked out; the error, where it is another one.
    pub(crate) fn blocked(&self, error: GitError) -> Result<ManualFix, GitError> {
        let Self { remote, branch, upstream, .. } = self;
        let (left, files) = match error {
            GitError::InTheWay { files } => {
                let (are, them) = if files.len() == 1 { ("is", "it") } else { ("are", "them") };
                let problem = format!(
                    "{} {are} not committed here, and `{upstream}` has other versions of {them}",
                    listed(&files)
                );
                let fix = "commit them, move them elsewhere, or put them away with `git stash --include-untracked`, which leaves what \
                           git ignores";
                (self.left("in_the_way", problem, fix), files)
            }
            GitError::OwnFolder { files } => {
                let problem = format!(
                    "`{upstream}` has {} in aof's own folder, which is each clone's alone: nobody else may put files there",
                    listed(&files)
                );
                let fix = format!(
                    "see `git log {upstream} -- '*.aof/*'`; whoever put them there takes them out with `git rm`"
                );
                (self.left("own_folder", problem, &fix), files)
            }
            GitError::OwnFolderTakenOut { files } => {
                let (are, it) = if files.len() == 1 { ("is", "it") } else { ("are", "them") };
                let names = listed(&files);
                let problem = format!(
                    "{names} in aof's own folder {are} committed here, and `{upstream}` has {it} no more"
                );
                let fix = format!(
                    "they go from here as well with `git pull --no-rebase {remote} {branch}`, so keep a copy of what is in use: {names}"
                );
                (self.left("own_folder_taken_out", problem, &fix), files)
            }
            GitError::Forbidden { path } => {
                let problem = format!(
                    "`{upstream}` has something at `{}`, where git puts nothing: whoever made that by hand means harm",
                    path.escape_debug()
                );
                let fix = format!(
                    "nothing was changed; see who pushed it with `git log {upstream}`, and have it taken out there; `git config \
                     receive.fsckObjects true` in the repository of the remote keeps such commits out"
                );
                (ManualFix { fix, ..self.left("forbidden_path", problem, "") }, Vec::new())
            }
            other => return Err(other),
        };
        Ok(ManualFix { files, ..left })
    }

    /// The remote's branch was rewritten: commits that it had, and that are here, are no longer in it.
    pub(crate) fn rewritten(&self, had: CommitId, has: CommitId) -> ManualFix {
        let Self { remote, branch, upstream, .. } = self;
        let (had, has) = (short(had), short(has));
        let problem = format!(
            "`{upstream}` was rewritten: it had commit {had}, which is here, and is at {has} now, which does not follow from it"
        );
        let fix = format!(
            "to go along, `git reset --keep {has}`, or, if you have commits of your own, `git rebase --onto {has} {had}`; to bring the \
             old commits back, `git pull --no-rebase {remote} {branch}` (or push them)"
        );
        self.left("rewritten", problem, &fix)
    }

    /// The remote has no such branch, and nobody has said that it is to be published there.
    pub(crate) fn unpublished(&self, local: &str, follows: Option<&str>) -> ManualFix {
        let Self { remote, branch, .. } = self;
        let followed = follows.map_or("none".to_owned(), |follows| format!("`{follows}`"));
        let problem =
            format!("`{remote}` has no branch `{branch}`, and `{local}` follows {followed}");
        let fix = if follows.is_some() {
            format!("if it is to be there as well, `git push {remote} {local}`")
        } else {
            format!(
                "publish it with `git push --set-upstream {remote} {local}`, or have it follow another: \
                 `git branch --set-upstream-to {remote}/BRANCH`"
            )
        };
        self.left("unpublished", problem, &fix)
    }

    /// The remote's branch was deleted.
    pub(crate) fn deleted(&self, local: &str, had: Option<CommitId>) -> ManualFix {
        let Self { remote, branch, .. } = self;
        let had = had.map(|had| format!(", which was at commit {}", short(had)));
        let problem =
            format!("`{remote}` has no branch `{branch}` any more{}", had.unwrap_or_default());
        let to = if local == branch { String::new() } else { format!(":{branch}") };
        let fix = format!(
            "if it is to be there again, `git push --set-upstream {remote} {local}{to}`; if its work goes on elsewhere, \
             `git branch --set-upstream-to {remote}/BRANCH`"
        );
        self.left("deleted", problem, &fix)
    }

    /// Some tasks cannot be merged without a person: their files, with why.
    pub(crate) fn conflict(&self, files: Vec<(String, String)>) -> ManualFix {
        let Self { remote, branch, upstream, .. } = self;
        let told: Vec<String> =
            files.iter().map(|(file, why)| format!("`{file}`: {why}")).collect();
        let problem =
            format!("`{upstream}` went on, and people have to merge: {}", told.join("; "));
        let fix = format!(
            "run `git pull --no-rebase {remote} {branch}`, solve what is marked, and commit"
        );
        let files = files.into_iter().map(|(file, _)| file).collect();
        ManualFix { files, ..self.left("merge_conflict", problem, &fix) }
    }

    /// The histories have nothing in common; in a shallow clone this may only look so.
    pub(crate) fn unrelated(&self, is_shallow: bool) -> ManualFix {
        let Self { remote, branch, upstream, .. } = self;
        let (how, fix) = if is_shallow {
            (
                ", as far as history goes here",
                format!("get the rest of it with `git fetch --unshallow {remote}`"),
            )
        } else {
            (
                ": they began apart",
                format!(
                    "see `git remote get-url {remote}`: is it the repository you mean? if what is there counts, keep yours with \
                     `git branch mine` and `git reset --keep {upstream}`; if both are to be one, \
                     `git pull --no-rebase --allow-unrelated-histories {remote} {branch}`"
                ),
            )
        };
        let problem = format!("this branch and `{upstream}` have no commit in common{how}");
        self.left("unrelated_histories", problem, &fix)
    }
}

fn short(commit: CommitId) -> String {
    commit.to_string()[..7].to_owned()
}
