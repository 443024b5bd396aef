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
    /// The command that syncs again.
    pub again: String,
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
    Left(LeftToPeople),
    /// The remote went on each time.
    Unsettled,
    /// A dry run.
    Rehearsed,
}

/// Why something is left to git and to people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LeftToPeople {
    /// A commit of a person changes more than tasks. `apart`: the remote went on meanwhile, so a merge is needed.
    Stranger { commit: CommitId, path: String, apart: bool },
    /// These files have uncommitted changes, and the remote changed them.
    InTheWay { files: Vec<String> },
    /// The remote has files in aof's own folder, which is this clone's alone.
    OwnFolder { files: Vec<String> },
    /// The remote no longer has such files, and this clone does.
    OwnFolderTakenOut { files: Vec<String> },
    /// The remote has a path outside the worktree, or in git's own folder.
    Forbidden { path: String },
    /// The remote's branch was rewritten: commits that it had, and that are here, are no longer in it.
    Rewritten { had: CommitId, has: CommitId },
    /// The remote has no such branch, and nobody has said that it is to be published there.
    Unpublished { branch: String, follows: Option<String> },
    /// The remote's branch was deleted.
    Deleted { branch: String, had: Option<CommitId> },
    /// These tasks cannot be merged without a person: their files, with why.
    Conflict { files: Vec<(String, String)> },
    /// The histories have nothing in common; in a shallow clone this may only look so.
    Unrelated { shallow: bool },
}

impl LeftToPeople {
    /// Returns what keeps the files of a commit from being checked out.
    pub(crate) fn of(error: GitError) -> Result<Self, GitError> {
        Ok(match error {
            GitError::InTheWay { files } => Self::InTheWay { files },
            GitError::OwnFolder { files } => Self::OwnFolder { files },
            GitError::OwnFolderTakenOut { files } => Self::OwnFolderTakenOut { files },
            GitError::Forbidden { path } => Self::Forbidden { path },
            other => return Err(other),
        })
    }

    /// Returns the code that stands for it in JSON.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Stranger { .. } => "left_to_git",
            Self::InTheWay { .. } => "in_the_way",
            Self::OwnFolder { .. } => "own_folder",
            Self::OwnFolderTakenOut { .. } => "own_folder_taken_out",
            Self::Forbidden { .. } => "forbidden_path",
            Self::Rewritten { .. } => "rewritten",
            Self::Unpublished { .. } => "unpublished",
            Self::Conflict { .. } => "merge_conflict",
            Self::Deleted { .. } => "deleted",
            Self::Unrelated { .. } => "unrelated_histories",
        }
    }

    /// Returns what is the matter.
    pub(crate) fn problem(&self, upstream: &Upstream) -> String {
        match self {
            Self::Stranger { commit, path, apart: true } => format!(
                "`{}` went on, and commit {} here changes `{path}`, which is no task: that merge is left to git",
                upstream.name(),
                short(*commit)
            ),
            Self::Stranger { commit, path, apart: false } => {
                format!(
                    "commit {} changes `{path}`, which is no task, so it is for you to push",
                    short(*commit)
                )
            }
            Self::InTheWay { files } => {
                let (are, them) = if files.len() == 1 { ("is", "it") } else { ("are", "them") };
                format!(
                    "{} {are} not committed here, and `{}` has other versions of {them}",
                    listed(files),
                    upstream.name()
                )
            }
            Self::OwnFolder { files } => format!(
                "`{}` has {} in aof's own folder, which is each clone's alone: nobody else may put files there",
                upstream.name(),
                listed(files)
            ),
            Self::Forbidden { path } => format!(
                "`{}` has something at `{}`, where git puts nothing: whoever made that by hand means harm",
                upstream.name(),
                path.escape_debug()
            ),
            Self::OwnFolderTakenOut { files } => format!(
                "{} in aof's own folder {} committed here, and `{}` has {} no more",
                listed(files),
                if files.len() == 1 { "is" } else { "are" },
                upstream.name(),
                if files.len() == 1 { "it" } else { "them" }
            ),
            Self::Rewritten { had, has } => format!(
                "`{}` was rewritten: it had commit {}, which is here, and is at {} now, which does not follow from it",
                upstream.name(),
                short(*had),
                short(*has)
            ),
            Self::Unpublished { branch, follows } => {
                let follows =
                    follows.as_ref().map_or("none".to_owned(), |follows| format!("`{follows}`"));
                format!(
                    "`{}` has no branch `{}`, and `{branch}` follows {follows}",
                    upstream.remote,
                    upstream.branch()
                )
            }
            Self::Conflict { files } => {
                let told: Vec<String> =
                    files.iter().map(|(file, why)| format!("`{file}`: {why}")).collect();
                format!(
                    "`{}` went on, and people have to merge: {}",
                    upstream.name(),
                    told.join("; ")
                )
            }
            Self::Deleted { had, .. } => {
                let had = had
                    .map(|had| format!(", which was at commit {}", short(had)))
                    .unwrap_or_default();
                format!("`{}` has no branch `{}` any more{had}", upstream.remote, upstream.branch())
            }
            Self::Unrelated { shallow: true } => {
                format!(
                    "this branch and `{}` have no commit in common, as far as history goes here",
                    upstream.name()
                )
            }
            Self::Unrelated { shallow: false } => {
                format!(
                    "this branch and `{}` have no commit in common: they began apart",
                    upstream.name()
                )
            }
        }
    }

    /// Returns what to do about it, `again` being how it is synced then.
    pub(crate) fn fix(&self, upstream: &Upstream, again: &str) -> String {
        let (remote, branch) = (&upstream.remote, upstream.branch());
        match self {
            Self::Stranger { apart: true, .. } => format!(
                "run `git pull --no-rebase {remote} {branch}`, then `{again}`; tasks are merged by meaning there too, but what you \
                 have stands there, since you merge into your branch"
            ),
            Self::Stranger { apart: false, .. } => {
                format!("run `git push {remote} HEAD:{branch}`, or `{again}` by hand")
            }
            Self::InTheWay { .. } => format!(
                "nothing was changed; commit them, move them elsewhere, or put them away with \
                 `git stash --include-untracked`, which leaves what git ignores; then `{again}`"
            ),
            Self::OwnFolder { .. } => format!(
                "nothing was changed; see `git log {} -- '*.aof/*'`; whoever put them there takes them out with `git rm`, then \
                 `{again}`",
                upstream.name()
            ),
            Self::Forbidden { .. } => format!(
                "nothing was changed; see who pushed it with `git log {}`, and have it taken out there; `git config \
                 receive.fsckObjects true` in the repository of the remote keeps such commits out",
                upstream.name()
            ),
            Self::OwnFolderTakenOut { files } => format!(
                "nothing was changed; they go from here as well with `git pull --no-rebase {remote} {branch}`, so keep a copy of what is \
                 in use: {}; then `{again}`",
                listed(files)
            ),
            Self::Rewritten { had, has } => format!(
                "nothing was changed; to go along, `git reset --keep {}`, or, if you have commits of your own, \
                 `git rebase --onto {} {}`; to bring the old commits back, `git pull --no-rebase {remote} {branch}` (or push them); \
                 then `{again}`",
                short(*has),
                short(*has),
                short(*had)
            ),
            Self::Unpublished { branch: local, follows: Some(_) } => format!(
                "nothing was changed; if it is to be there as well, `git push {remote} {local}`; then `{again}`"
            ),
            Self::Unpublished { branch: local, follows: None } => format!(
                "nothing was changed; publish it with `git push --set-upstream {remote} {local}`, or have it follow another: \
                 `git branch --set-upstream-to {remote}/BRANCH`; then `{again}`"
            ),
            Self::Conflict { .. } => format!(
                "nothing was changed; run `git pull --no-rebase {remote} {branch}`, solve what is marked, commit, then `{again}`"
            ),
            Self::Deleted { branch: local, .. } => format!(
                "nothing was changed; if it is to be there again, `git push --set-upstream {remote} {local}{}`; if its work goes on \
                 elsewhere, `git branch --set-upstream-to {remote}/BRANCH`; then `{again}`",
                if local == branch { String::new() } else { format!(":{branch}") }
            ),
            Self::Unrelated { shallow: true } => {
                format!(
                    "nothing was changed; get the rest of it with `git fetch --unshallow {remote}`, then `{again}`"
                )
            }
            Self::Unrelated { shallow: false } => format!(
                "nothing was changed; see `git remote get-url {remote}`: is it the repository you mean? if what is there counts, keep \
                 yours with `git branch mine` and `git reset --keep {}`; if both are to be one, \
                 `git pull --no-rebase --allow-unrelated-histories {remote} {branch}`; then `{again}`",
                upstream.name()
            ),
        }
    }
}

fn short(commit: CommitId) -> String {
    commit.to_string()[..7].to_owned()
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
        match &self.end {
            SyncEnd::Same | SyncEnd::Rehearsed => None,
            SyncEnd::Offline { said } => Some((
                format!("{name} cannot be reached: {said}"),
                format!("{waits}; sync again when it can"),
            )),
            SyncEnd::Rejected { said } => {
                Some((format!("{name} would not take it: {said}"), waits))
            }
            SyncEnd::Unsettled => Some((
                format!("{name} went on each of {} times", self.rounds),
                format!("{waits}; sync again"),
            )),
            SyncEnd::Left(left) => {
                Some((left.problem(&self.upstream), left.fix(&self.upstream, &self.again)))
            }
        }
    }

    /// Returns it as `--json` shows it.
    pub(crate) fn value(&self) -> Value {
        let (state, problem, fix) = match &self.end {
            SyncEnd::Same => ("synced", None, None),
            SyncEnd::Rehearsed => ("rehearsed", None, None),
            SyncEnd::Offline { said } => ("offline", Some(said.clone()), None),
            SyncEnd::Rejected { said } => ("rejected", Some(said.clone()), None),
            SyncEnd::Unsettled => ("unsettled", None, None),
            SyncEnd::Left(left) => (
                left.code(),
                Some(left.problem(&self.upstream)),
                Some(left.fix(&self.upstream, &self.again)),
            ),
        };
        let files: Vec<&String> = match &self.end {
            SyncEnd::Left(
                LeftToPeople::InTheWay { files }
                | LeftToPeople::OwnFolder { files }
                | LeftToPeople::OwnFolderTakenOut { files },
            ) => files.iter().collect(),
            SyncEnd::Left(LeftToPeople::Conflict { files }) => {
                files.iter().map(|(file, _)| file).collect()
            }
            _ => Vec::new(),
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
            "fix": fix,
            "files": files,
        })
    }
}
