//! The outcome of a sync with a remote, in words and in JSON.
//!
//! ```text
//!   fetch        the remote's branch                                            no lock held
//!   compare      nothing to do | only they have new commits | only we have | both have
//!   merge        in memory: our tasks merged into the remote's commit by meaning; the commit is on no branch yet
//!   push         without force: accepted only if the remote's branch has not moved; otherwise start again, at most 10 times
//!   bring        under the writer lock and git's own: worktree, index and branch move to the remote's commit
//! ```
//! The push comes before the local branch moves, so that a merge which loses the race leaves nothing behind. If the remote no longer
//! answers, or refuses, the merge is still brought in and waits here, since it has the others' changes. A kill before the push leaves
//! unreferenced objects; one after it leaves this clone behind the remote, until the next sync; one while files are brought in is
//! finished by the next command.
//!
//! Nothing is forced, and no commit is rewritten. Changes that the engine may not merge are left to git and people.

use serde::Serialize;
use serde_json::{Value, json};

use crate::domain::{TaskId, listed};
use crate::git::log::trailers::Trailer;
use crate::git::{CommitId, GitError, PushRefusal, Upstream};

/// The outcome of a sync.
#[derive(Debug)]
pub(crate) struct SyncResult {
    pub upstream: Upstream,
    /// The commits of others that were received, newest first.
    pub received: Vec<CommitLine>,
    /// The commits that were pushed, newest first.
    pub pushed: Vec<CommitLine>,
    /// The merge commit, if one was needed.
    pub merge: Option<CommitId>,
    /// The losses of entries and acts that no longer count, since others were first.
    pub superseded: Vec<Loss>,
    /// The number of attempted pushes.
    pub rounds: u32,
    /// Commits here that the remote does not have.
    pub ahead: usize,
    /// Commits of the remote that are not here.
    pub behind: usize,
    pub end: SyncEnd,
}

/// A commit, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CommitLine {
    pub commit: CommitId,
    pub subject: String,
    pub author: String,
}

/// An entry or act of this clone that no longer counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loss {
    pub task: TaskId,
    pub what: String,
    /// Its trailer in the merge commit, which lists entries, but no claims, holds and unblockings.
    pub trailer: Option<Trailer>,
}

/// The end of a sync.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SyncEnd {
    /// Both sides are the same.
    Same,
    /// The remote cannot be reached: commits wait here.
    Offline { message: String },
    /// The remote, or a hook, refused the push; with the fix, if it is known.
    Rejected { message: String, fix: Option<String> },
    /// A person must make a merge or a push.
    Manual(ManualFix),
    /// Others pushed first at each attempt.
    Unsettled,
    /// A dry run.
    Rehearsed,
}

impl SyncEnd {
    /// Returns the end of a refused push. `is_alone`: the branch is the project's alone.
    pub(crate) fn rejected(
        upstream: &Upstream,
        message: String,
        refusal: PushRefusal,
        is_alone: bool,
    ) -> Self {
        let branch = upstream.branch();
        let advice = if is_alone {
            format!("its rules must let `{branch}` be pushed, which has tasks only")
        } else {
            "`aof migrate branch` moves the tasks to a branch of their own".to_owned()
        };
        let (message, fix) = match refusal {
            PushRefusal::Protection => {
                (format!("`{branch}` is protected there: {message}"), Some(advice))
            }
            PushRefusal::Hook => {
                (message, Some(format!("if `{branch}` is protected there, {advice}")))
            }
            PushRefusal::Other => (message, None),
        };
        Self::Rejected { message, fix }
    }

    /// Returns its code in JSON.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Same => "synced",
            Self::Rehearsed => "rehearsed",
            Self::Offline { .. } => "offline",
            Self::Rejected { .. } => "rejected",
            Self::Unsettled => "unsettled",
            Self::Manual(left) => left.code,
        }
    }
}

impl SyncResult {
    /// Returns whether nothing was received or pushed.
    pub(crate) fn is_idle(&self) -> bool {
        self.received.is_empty() && self.pushed.is_empty() && self.superseded.is_empty()
    }

    /// Returns the problem that prevents the sync, and its fix.
    pub(crate) fn trouble(&self) -> Option<(String, String)> {
        let name = self.upstream.name();
        let waits = match self.ahead {
            0 => "nothing waits here".to_owned(),
            1 => "1 commit waits here".to_owned(),
            many => format!("{many} commits wait here"),
        };
        Some(match &self.end {
            SyncEnd::Same | SyncEnd::Rehearsed => return None,
            SyncEnd::Offline { message } => (
                format!("{name} cannot be reached: {message}"),
                format!("{waits}; sync again when it can"),
            ),
            SyncEnd::Rejected { message, fix } => {
                let fix = fix.as_ref().map(|fix| format!("; {fix}")).unwrap_or_default();
                (format!("{name} would not take it: {message}"), waits + &fix)
            }
            SyncEnd::Unsettled => (
                format!("{name} moved during each of {} tries", self.rounds),
                format!("{waits}; sync again"),
            ),
            SyncEnd::Manual(left) => (left.problem.clone(), left.fix.clone()),
        })
    }

    /// Returns the result for `--json`.
    pub(crate) fn value(&self) -> Value {
        let (problem, fix, files) = match &self.end {
            SyncEnd::Same | SyncEnd::Rehearsed | SyncEnd::Unsettled => (None, None, &[][..]),
            SyncEnd::Offline { message } => (Some(message), None, &[][..]),
            SyncEnd::Rejected { message, fix } => (Some(message), fix.as_ref(), &[][..]),
            SyncEnd::Manual(left) => (Some(&left.problem), Some(&left.fix), &left.files[..]),
        };
        let loss = |loss: &Loss| json!({"task": loss.task.as_str(), "what": loss.what});
        json!({
            "state": self.end.code(),
            "remote": self.upstream.remote,
            "branch": self.upstream.branch(),
            "came": self.received,
            "went": self.pushed,
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

/// A problem that is left to git and to people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManualFix {
    /// Its code in JSON.
    pub code: &'static str,
    pub problem: String,
    pub fix: String,
    /// The files that it concerns.
    pub files: Vec<String>,
}

/// The names in the messages of a sync.
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

    fn manual_fix(&self, code: &'static str, problem: String, fix: &str) -> ManualFix {
        let fix = format!("nothing was changed; {fix}; then `{}`", self.again);
        ManualFix { code, problem, fix, files: Vec::new() }
    }

    /// Describes a commit of a person that changes more than tasks. `needs_merge`: the remote has new commits.
    pub(crate) fn foreign_commit(
        &self,
        commit: CommitId,
        path: &str,
        needs_merge: bool,
    ) -> ManualFix {
        let Self { remote, branch, upstream, again } = self;
        let commit = short(commit);
        let (problem, fix) = if needs_merge {
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

    /// Describes the obstacle to the checkout of a commit. Fails with errors of other kinds.
    pub(crate) fn blocked(&self, error: GitError) -> Result<ManualFix, GitError> {
        let Self { remote, branch, upstream, .. } = self;
        let (left, files) = match error {
            GitError::WouldOverwrite { files } => {
                let (are, them) = if files.len() == 1 { ("is", "it") } else { ("are", "them") };
                let problem = format!(
                    "{} {are} not committed here, and `{upstream}` has other versions of {them}",
                    listed(&files)
                );
                let fix = "commit them, move them elsewhere, or put them away with `git stash --include-untracked`, which leaves what \
                           git ignores";
                (self.manual_fix("in_the_way", problem, fix), files)
            }
            GitError::OwnFolder { files } => {
                let problem = format!(
                    "`{upstream}` has {} in aof's own folder, which is each clone's alone: nobody else may put files there",
                    listed(&files)
                );
                let fix = format!(
                    "see `git log {upstream} -- '*.aof/*'`; whoever put them there takes them out with `git rm`"
                );
                (self.manual_fix("own_folder", problem, &fix), files)
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
                (self.manual_fix("own_folder_taken_out", problem, &fix), files)
            }
            GitError::Forbidden { path } => {
                let problem = format!(
                    "`{upstream}` has something at `{}`, where git puts nothing: such a path was made by hand, and probably to do harm",
                    path.escape_debug()
                );
                let fix = format!(
                    "nothing was changed; see who pushed it with `git log {upstream}`, and have it taken out there; `git config \
                     receive.fsckObjects true` in the repository of the remote keeps such commits out"
                );
                (ManualFix { fix, ..self.manual_fix("forbidden_path", problem, "") }, Vec::new())
            }
            other => return Err(other),
        };
        Ok(ManualFix { files, ..left })
    }

    /// Describes a remote branch that was rewritten: it has lost commits that are here.
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
        self.manual_fix("rewritten", problem, &fix)
    }

    /// Describes a branch that the remote does not have, and that no one has asked to publish there.
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
        self.manual_fix("unpublished", problem, &fix)
    }

    /// Describes a remote branch that was deleted.
    pub(crate) fn deleted(&self, local: &str, had: Option<CommitId>) -> ManualFix {
        let Self { remote, branch, .. } = self;
        let had = had.map(|had| format!(", which was at commit {}", short(had)));
        let problem =
            format!("`{remote}` no longer has branch `{branch}`{}", had.unwrap_or_default());
        let to = if local == branch { String::new() } else { format!(":{branch}") };
        let fix = format!(
            "if it is to be there again, `git push --set-upstream {remote} {local}{to}`; if its work goes on elsewhere, \
             `git branch --set-upstream-to {remote}/BRANCH`"
        );
        self.manual_fix("deleted", problem, &fix)
    }

    /// Describes task files that need a person to merge them, each with the reason.
    pub(crate) fn conflict(&self, files: Vec<(String, String)>) -> ManualFix {
        let Self { remote, branch, upstream, .. } = self;
        let reasons: Vec<String> =
            files.iter().map(|(file, why)| format!("`{file}`: {why}")).collect();
        let problem =
            format!("`{upstream}` went on, and people have to merge: {}", reasons.join("; "));
        let fix = format!(
            "run `git pull --no-rebase {remote} {branch}`, solve what is marked, and commit"
        );
        let files = files.into_iter().map(|(file, _)| file).collect();
        ManualFix { files, ..self.manual_fix("merge_conflict", problem, &fix) }
    }

    /// Describes histories without a common commit; in a shallow clone this may only seem so.
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
        self.manual_fix("unrelated_histories", problem, &fix)
    }
}

fn short(commit: CommitId) -> String {
    commit.to_string()[..7].to_owned()
}
