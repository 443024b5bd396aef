//! Finds commits that git dropped from the branch by a race. `git reset`, also within `git stash`, reads HEAD, waits for the
//! index's lock, and then moves the branch to the HEAD that it has read. So do `git rebase --abort` and a `git merge` that fails. Commits
//! made in between are lost. The branch's reflog shows them: a person who means to go back does not reset to `HEAD`.

use std::fs::{self, Metadata};
use std::io::{ErrorKind, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use crate::error::{At, GitError};
use crate::id::{CommitId, ObjectId};
use crate::log::trailers;
use crate::log::walk::{LOOK_BACK, Log};
use crate::objects::commit::LogEntry;
use crate::objects::git_file;
use crate::repository::handle::Repository;
use crate::repository::references::Head;
use aof_system::disk::read_expected;

/// The number of bytes read at the end of a reflog: well over a thousand moves of the branch.
const TAIL: usize = 256 * 1024;
/// The number of branch moves whose times are kept.
const MOST_MOVES: usize = 1_000;
/// The longest time that a file's time may be behind the clock: a tick of the kernel.
const CLOCK_LAG: Duration = Duration::from_millis(10);
/// The number of bytes of a reflog that are read to see the last move.
const LAST_LINES: usize = 4 * 1024;

/// Commits that were dropped from the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedSteps {
    /// The commit that the branch was at.
    pub had: CommitId,
    /// The commit that it was moved to.
    pub has: CommitId,
    /// The commits that HEAD lacks because of that, oldest first. All were made by aof.
    pub steps: Vec<LogEntry>,
    /// True if HEAD has some of the dropped commits again, for example cherry-picked.
    pub partial: bool,
}

impl Repository {
    /// Returns the path of the branch's reflog.
    pub fn reflog_place(&self, head: &Head) -> PathBuf {
        self.common_dir().join("logs").join(&head.reference)
    }

    /// Returns the dropped commits that the reflog shows and that HEAD still lacks, earliest first.
    pub fn dropped_steps(&self, head: &Head) -> Result<Vec<DroppedSteps>, GitError> {
        let Some(commit) = head.commit else { return Ok(Vec::new()) };
        let mut found: Vec<DroppedSteps> = Vec::new();
        for (had, has) in overtaken(&self.reflog_tail(head)?) {
            let is_known = found.iter().any(|one| one.had == had)
                || !self.has_commit(had)
                || !self.has_commit(has);
            // A person may have moved the branch since.
            let is_before_both =
                || Ok(self.is_ancestor(has, had)? && self.is_ancestor(has, commit)?);
            if is_known || self.is_ancestor(had, commit)? || !is_before_both()? {
                continue;
            }
            let reach = self.commits_between(&[has], had)?;
            let steps = reach
                .commits
                .into_iter()
                .map(|id| self.log_entry(id))
                .collect::<Result<Vec<_>, _>>()?;
            if !reach.ends.is_empty() || !steps.iter().all(is_of_the_engine) {
                continue;
            }
            let dropped = steps.len();
            let steps = self.lacking(commit, has, steps)?;
            if !steps.is_empty() {
                let partial = steps.len() < dropped;
                found.push(DroppedSteps { had, has, steps, partial });
            }
        }
        Ok(found)
    }

    /// Returns the files that these commits changed, each with its last version.
    pub fn resulting_files(
        &self,
        steps: &[LogEntry],
    ) -> Result<Vec<(String, Option<ObjectId>)>, GitError> {
        let mut files: Vec<(String, Option<ObjectId>)> = Vec::new();
        for step in steps {
            for changed in self.changed_files(step.id)? {
                match files.iter_mut().find(|(path, _)| *path == changed.path) {
                    Some((_, after)) => *after = changed.after,
                    None => files.push((changed.path, changed.after)),
                }
            }
        }
        Ok(files)
    }

    /// Drops steps that are in HEAD again: the same files in some commit, or the same commit cherry-picked.
    fn lacking(
        &self,
        head: CommitId,
        has: CommitId,
        steps: Vec<LogEntry>,
    ) -> Result<Vec<LogEntry>, GitError> {
        let since = self.commits_between(&[has], head)?.commits;
        let files = self.resulting_files(&steps)?;
        for commit in &since {
            let mut is_there = !files.is_empty();
            for (path, after) in &files {
                is_there = is_there && self.blob_id(*commit, path)? == *after;
            }
            if is_there {
                return Ok(Vec::new());
            }
        }
        let since =
            since.into_iter().map(|id| self.log_entry(id)).collect::<Result<Vec<_>, _>>()?;
        let is_back = |step: &LogEntry| {
            since.iter().any(|commit| {
                commit.authored == step.authored && trailers_of(commit) == trailers_of(step)
            })
        };
        Ok(steps.into_iter().filter(|step| !is_back(step)).collect())
    }

    /// Records the time when the branch moved to these commits: that of its last move, when git renamed its file.
    pub fn note_move(&self, head: &Head, commits: impl IntoIterator<Item = CommitId>) {
        let found = fs::metadata(self.reference_path(&head.reference));
        let found = found.or_else(|_| fs::metadata(self.reflog_place(head)));
        let changed = |found: Metadata| {
            Timestamp::new(found.ctime(), found.ctime_nsec().try_into().ok()?).ok()
        };
        let Some(at) = found.ok().and_then(changed) else { return };
        let mut moves = self.history().moves.borrow_mut();
        for commit in commits {
            if moves.iter().all(|(known, _)| *known != commit) {
                moves.push_back((commit, at));
            }
        }
        while moves.len() > MOST_MOVES {
            moves.pop_front();
        }
    }

    /// Returns the time when the branch moved to that commit, if it was recorded.
    fn moved_to(&self, commit: CommitId) -> Option<Timestamp> {
        let moves = self.history().moves.borrow();
        moves.iter().rev().find(|(known, _)| *known == commit).map(|(_, at)| *at)
    }

    /// Returns whether the branch may have moved to HEAD's commit after that moment.
    pub fn has_moved_since(&self, head: &Head, moment: Timestamp) -> bool {
        head.commit.and_then(|commit| self.moved_to(commit)).is_none_or(|at| at > moment)
    }

    /// Returns the commit that the branch was at at that moment, by the known times of its moves; `None` if its reflog does not reach
    /// back that far.
    pub fn commit_at(&self, head: &Head, moment: Timestamp) -> Result<Option<CommitId>, GitError> {
        let moved = |line: &str| -> Option<(CommitId, CommitId, i64)> {
            let (who, _) = line.split_once('\t').unwrap_or((line, ""));
            let mut ids = who.split(' ');
            let (from, to) = (ids.next()?.parse().ok()?, ids.next()?.parse().ok()?);
            Some((from, to, who.rsplit(' ').nth(1)?.parse().ok()?))
        };
        // A move without a recorded time was made after the second in its line, and after the file of its commit.
        let second = moment.saturating_add(CLOCK_LAG).map_or(i64::MAX, Timestamp::as_second);
        let is_later = |to: CommitId, at: i64| match self.moved_to(to) {
            Some(at) => at > moment,
            None => {
                at > second || self.objects().written(to.object()).is_some_and(|at| at > moment)
            }
        };
        let (reflog, mut before) = (self.reflog_tail(head)?, None);
        let moves = reflog.lines().rev().filter_map(moved);
        for (from, to, at) in moves.skip_while(|(_, to, _)| Some(*to) != head.commit) {
            if !is_later(to, at) {
                return Ok(Some(to));
            }
            before = Some(from);
        }
        Ok(before)
    }

    /// Returns whether the last move of the branch was made by such a race, in which git drops commits made meanwhile.
    pub fn was_just_overtaken(&self, head: &Head) -> Result<bool, GitError> {
        let tail = reflog_end(&self.reflog_place(head), LAST_LINES)?;
        // Git also writes a line if the branch does not move.
        let is_move = |line: &&str| line.split(' ').next() != line.split(' ').nth(1);
        Ok(tail.lines().rev().find(is_move).is_some_and(|last| !overtaken(last).is_empty()))
    }

    /// Returns the commit that HEAD had if aof committed after git had read HEAD to create a new branch from it; and false if HEAD may
    /// also have been switched to an existing branch. In HEAD's reflog, each move begins at the end of the one before, except for a
    /// line that was written for the branch that HEAD left. Commits on the new branch are passed over.
    pub fn overtaken_switch(&self, head: CommitId) -> Result<Option<(CommitId, bool)>, GitError> {
        let tail = reflog_end(&self.git_dir().join("logs/HEAD"), LAST_LINES)?;
        let parsed = |line: &str| -> Option<(CommitId, CommitId, bool)> {
            let mut ids = line.split(' ').map(|id| id.parse().ok());
            Some((ids.next()??, ids.next()??, line.contains("\tcheckout: moving from ")))
        };
        let mut moves = tail.lines().rev().map_while(parsed).peekable();
        let mut end = head;
        while let Some((from, to, is_switch)) = moves.next() {
            let had = if to != end {
                Some((to, true))
            } else if from == to || is_switch {
                moves.peek().map(|(_, before, _)| (*before, from == to))
            } else {
                None
            };
            let had = had.filter(|(had, _)| *had != end);
            if had.is_some() || is_switch {
                // A merge since has brought the other branch's commits.
                let is_merged = had.map(|(had, _)| self.is_ancestor(had, head)).transpose()?;
                return Ok(had.filter(|_| is_merged == Some(false)));
            }
            end = from;
        }
        Ok(None)
    }

    fn reflog_tail(&self, head: &Head) -> Result<String, GitError> {
        reflog_end(&self.reflog_place(head), TAIL)
    }
}

/// Returns the last bytes of a reflog.
fn reflog_end(path: &Path, most: usize) -> Result<String, GitError> {
    let (mut file, length) = match git_file::open_sized(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(String::new()),
        opened => opened.at("read", path)?,
    };
    if length > most {
        file.seek(SeekFrom::Start((length - most) as u64)).at("read", path)?;
    }
    let bytes = read_expected(&file, length.min(most)).at("read", path)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_of_the_engine(entry: &LogEntry) -> bool {
    let trailers = trailers_of(entry);
    let has = |key: &str| trailers.iter().any(|one| one.key() == key);
    entry.parents.len() == 1 && has("Aof-Task") && (has("Aof-Event") || has("Aof-Outcome"))
}

fn trailers_of(entry: &LogEntry) -> Vec<trailers::Trailer> {
    trailers::parse(&entry.message)
}

/// Returns the moves (from, to) in a reflog that a race of git with aof's commits can have made.
fn overtaken(reflog: &str) -> Vec<(CommitId, CommitId)> {
    let moves = reflog.lines().filter_map(|line| {
        let (who, what) = line.split_once('\t')?;
        // A merge that ends without a commit resets the branch.
        let is_of_merge = what.starts_with("merge ") && what.ends_with(": updating HEAD");
        let is_meant = what != "reset: moving to HEAD"
            && !what.starts_with("rebase (abort): ")
            && !is_of_merge;
        let mut ids = who.splitn(3, ' ');
        let (had, has) = (ids.next()?.parse().ok()?, ids.next()?.parse().ok()?);
        (!is_meant && had != has).then_some((had, has))
    });
    moves.collect()
}

/// The end of the subject of a commit of companion edits. Such a commit has no trailers, since it does not change the task itself.
pub const COMPANIONS_EDITED: &str = ": companions edited by hand";
/// The trailer that names the task in aof's commits.
const OF_A_TASK: &str = "Aof-Task";
/// The beginning of reflog messages of a sync.
pub const SYNCED: &str = "sync: ";
/// The number of lines of the reflog that are read.
const LINES: usize = 1_000;

impl Repository {
    /// Returns whether this is a committed version of a file of the project, and all changes to the file since were made by aof or a
    /// sync.
    pub fn is_old_version(
        &self,
        head: CommitId,
        path: &str,
        content: ObjectId,
    ) -> Result<bool, GitError> {
        self.is_old_version_at(head, &self.full_path(path), content)
    }

    pub(crate) fn is_old_version_at(
        &self,
        head: CommitId,
        path: &str,
        content: ObjectId,
    ) -> Result<bool, GitError> {
        for entry in Log::start(self, head, vec![path.to_owned()])?.take(LOOK_BACK) {
            let entry = entry?;
            let root = self.root_tree(entry.id)?;
            if self.trees().file(Some(root), path)?.is_some_and(|leaf| leaf.id == content) {
                return Ok(true);
            }
            if !is_own(&entry) && !self.came_by_sync(entry.id)? {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Returns whether a sync brought that commit in. Returns `false` without a reflog.
    fn came_by_sync(&self, commit: CommitId) -> Result<bool, GitError> {
        let Ok(log) = self.git().reflog("HEAD") else { return Ok(false) };
        let prefix = format!("commit: {SYNCED}");
        let is_sync = |message: Option<&[u8]>| {
            message.is_some_and(|message| message.starts_with(prefix.as_bytes()))
        };
        for line in log.iter().take(LINES).filter(|line| is_sync(line.message_bytes())) {
            let [before, after] =
                [line.id_old(), line.id_new()].map(|id| CommitId::new(ObjectId::from_git(id)));
            let is_here = self.has_commit(before) && self.has_commit(after);
            if is_here && self.is_ancestor(commit, after)? && !self.is_ancestor(commit, before)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn is_own(entry: &LogEntry) -> bool {
    let title = entry.message.lines().next().unwrap_or_default();
    title.ends_with(COMPANIONS_EDITED)
        || trailers::parse(&entry.message).iter().any(|trailer| trailer.key() == OF_A_TASK)
}

#[cfg(test)]
mod tests {
    use super::overtaken;

    #[test]
    fn only_a_move_that_names_head_and_goes_elsewhere_was_overtaken() {
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let line = |from: &str, to: &str, what: &str| {
            format!("{from} {to} Ada L <a@x> 1700000000 +0000\t{what}\n")
        };
        let ids = vec![(one.parse().unwrap(), two.parse().unwrap())];
        for what in [
            "reset: moving to HEAD",
            "rebase (abort): returning to refs/heads/main",
            "rebase (abort): updating HEAD",
            "merge side: updating HEAD",
        ] {
            assert_eq!(overtaken(&line(&one, &two, what)), ids, "{what}");
            assert_eq!(overtaken(&line(&one, &one, what)), [], "{what}");
        }
        for what in [
            "reset: moving to HEAD~1",
            "reset: moving to main",
            "commit: reset: moving to HEAD",
            "rebase (finish): refs/heads/main onto 2",
            "merge side: Fast-forward",
            "",
        ] {
            assert_eq!(overtaken(&line(&one, &two, what)), [], "{what}");
        }
        // A tail may begin in the middle of a line, or have lines that are not reflog lines.
        let whole = line(&one, &two, "reset: moving to HEAD");
        assert_eq!(overtaken(&format!("{}x\n\n{whole}", &whole[10..])), ids);
    }
}
