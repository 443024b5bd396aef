//! What a sync leaves to git and to people, with the commands that get it going again. Nothing was changed then.

use crate::domain::listed;
use crate::git::{CommitId, GitError, Upstream};

/// Something that is left to git and to people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftToPeople {
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

    fn left(&self, code: &'static str, problem: String, fix: &str) -> LeftToPeople {
        let fix = format!("nothing was changed; {fix}; then `{}`", self.again);
        LeftToPeople { code, problem, fix, files: Vec::new() }
    }

    /// A commit of a person changes more than tasks. `apart`: the remote went on meanwhile, so a merge is needed.
    pub(crate) fn stranger(&self, commit: CommitId, path: &str, apart: bool) -> LeftToPeople {
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
        LeftToPeople { code: "left_to_git", problem, fix, files: Vec::new() }
    }

    /// Returns what keeps the files of a commit from being checked out; the error, where it is another one.
    pub(crate) fn blocked(&self, error: GitError) -> Result<LeftToPeople, GitError> {
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
                (LeftToPeople { fix, ..self.left("forbidden_path", problem, "") }, Vec::new())
            }
            other => return Err(other),
        };
        Ok(LeftToPeople { files, ..left })
    }

    /// The remote's branch was rewritten: commits that it had, and that are here, are no longer in it.
    pub(crate) fn rewritten(&self, had: CommitId, has: CommitId) -> LeftToPeople {
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
    pub(crate) fn unpublished(&self, local: &str, follows: Option<&str>) -> LeftToPeople {
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
    pub(crate) fn deleted(&self, local: &str, had: Option<CommitId>) -> LeftToPeople {
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
    pub(crate) fn conflict(&self, files: Vec<(String, String)>) -> LeftToPeople {
        let Self { remote, branch, upstream, .. } = self;
        let told: Vec<String> =
            files.iter().map(|(file, why)| format!("`{file}`: {why}")).collect();
        let problem =
            format!("`{upstream}` went on, and people have to merge: {}", told.join("; "));
        let fix = format!(
            "run `git pull --no-rebase {remote} {branch}`, solve what is marked, and commit"
        );
        let files = files.into_iter().map(|(file, _)| file).collect();
        LeftToPeople { files, ..self.left("merge_conflict", problem, &fix) }
    }

    /// The histories have nothing in common; in a shallow clone this may only look so.
    pub(crate) fn unrelated(&self, is_shallow: bool) -> LeftToPeople {
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
