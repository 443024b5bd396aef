//! Which commits are new to somebody who was told up to others: those that the branch grew by, whatever was merged, rebased or
//! squashed in the meantime. What was told under another commit, or on another branch, is not new.

use std::collections::{HashMap, HashSet};

use crate::domain::Timestamp;
use crate::git::{ChangedFile, CommitId, Head, LogEntry, Repository};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::Cursor;

/// How many commits are told of in one go by whoever must not take long.
pub(crate) const MOST_COMMITS: usize = 200;

/// Whether all was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Remaining {
    /// All was.
    #[default]
    Nothing,
    /// There are more commits to be told of.
    Commits,
}

/// Commits that are to be told of.
pub(crate) struct UnreportedCommits {
    /// The commits, the oldest first.
    pub commits: Vec<CommitId>,
    /// The commit up to which that is all.
    pub reached: CommitId,
    /// Whether there are more.
    pub left: Remaining,
    /// The commits up to which all was told before, on this branch and on others.
    told: Vec<CommitId>,
    /// The commits that were told and are gone from the branch now, the oldest first.
    gone: Vec<CommitId>,
    /// What those changed.
    lost: Vec<ChangedFile>,
    /// Those commits by what git keeps of one that it makes again: when it was written, and its message.
    written: HashMap<(Timestamp, String), Vec<CommitId>>,
    /// The commits that were told and were gone before.
    known_gone: HashSet<CommitId>,
}

impl UnreportedCommits {
    /// Returns the commit up to which all was told on the branch: the one that is noted, or, for a branch that is new here, where it
    /// left those that are known.
    pub(crate) fn begin(
        workspace: &Workspace,
        known: &Cursor,
        head: &Head,
        newest: CommitId,
    ) -> Result<Option<CommitId>, OpsError> {
        if let Some(last) = known.commit(&head.reference).and_then(|text| text.parse().ok()) {
            return Ok(Some(last));
        }
        Ok(workspace.repository.newest_common(newest, known_commits(known))?)
    }

    /// Returns all commits of the branch, or the first `most` of them, as those that nobody was told of.
    pub(crate) fn whole(
        workspace: &Workspace,
        newest: CommitId,
        most: usize,
    ) -> Result<Self, OpsError> {
        let mut commits = workspace.repository.line_to(newest)?;
        commits.truncate(most);
        Ok(Self::of(commits, newest, Vec::new()))
    }

    /// Returns the commits since the last one that was told of, or the first `most` of them; nothing where history does not lead
    /// there any more.
    pub(crate) fn since(
        workspace: &Workspace,
        known: &Cursor,
        (last, newest): (CommitId, CommitId),
        most: usize,
    ) -> Result<Option<Self>, OpsError> {
        let repository = &workspace.repository;
        if !repository.has_commit(last) {
            return Ok(None);
        }
        let (Some(mut commits), Some(gone)) =
            (repository.added_since(last, newest)?, repository.added_since(newest, last)?)
        else {
            return Ok(None);
        };
        let mut told = vec![last];
        told.extend(known_commits(known).filter(|commit| *commit != last));
        let known_gone: HashSet<CommitId> =
            known.gone().filter_map(|text| text.parse().ok()).collect();
        // What was done on another branch was told there, if this one has simply come up to it; and what was gone and came back was
        // told before it went.
        let is_told = |commit: &CommitId| told[1..].contains(commit) || known_gone.contains(commit);
        if let Some(place) = commits.iter().rposition(is_told) {
            commits.drain(..=place);
        }
        // A commit in the middle can stand for what was told only where the branch simply grew; elsewhere all is told in one go.
        let oldest = commits.first().map(|oldest| repository.log_entry(*oldest)).transpose()?;
        let grew = oldest.is_some_and(|oldest| {
            oldest
                .parents
                .first()
                .is_some_and(|parent| told.contains(parent) || known_gone.contains(parent))
        });
        if gone.is_empty() && grew {
            commits.truncate(most);
        }
        let mut news = Self::of(commits, newest, told);
        // A rebase makes the same changes again.
        for gone in &gone {
            news.lost.extend(repository.changed_files(*gone)?);
        }
        if !news.commits.is_empty() {
            for gone in &gone {
                let entry = repository.log_entry(*gone)?;
                news.written.entry((entry.authored, entry.message)).or_default().push(*gone);
            }
        }
        (news.gone, news.known_gone) = (gone, known_gone);
        Ok(Some(news))
    }

    /// Notes that all was told, up to there.
    pub(crate) fn note_in(&self, cursor: &mut Cursor, branch: &str) {
        cursor.lose(&self.gone.iter().map(ToString::to_string).collect::<Vec<_>>());
        cursor.set(branch, &self.reached.to_string());
    }

    fn of(commits: Vec<CommitId>, newest: CommitId, told: Vec<CommitId>) -> Self {
        let reached = commits.last().copied().unwrap_or(newest);
        let left = if reached == newest { Remaining::Nothing } else { Remaining::Commits };
        let (gone, lost, written, known_gone) =
            (Vec::new(), Vec::new(), HashMap::new(), HashSet::new());
        Self { commits, reached, left, told, gone, lost, written, known_gone }
    }

    /// Returns the commits, told and gone, that were made again as this one: by a rebase, on another base.
    pub(crate) fn made_first(&self, entry: &LogEntry) -> &[CommitId] {
        if self.written.is_empty() {
            return &[];
        }
        self.written.get(&(entry.authored, entry.message.clone())).map_or(&[], Vec::as_slice)
    }

    /// Returns the commits up to which all was told before, on this branch and on others.
    pub(crate) fn told(&self) -> &[CommitId] {
        &self.told
    }

    /// Returns the files that a commit changed, without those of which nothing is to be said: a change that was told already, or
    /// one that makes of a file what it was when all was told.
    pub(crate) fn brought(
        &self,
        repository: &Repository,
        entry: &LogEntry,
        mut changed: Vec<ChangedFile>,
    ) -> Result<Vec<ChangedFile>, OpsError> {
        for known in self.known_before(repository, entry)? {
            let mut brought = Vec::new();
            for file in changed {
                if file.after.is_none() || repository.blob_id(known, &file.path)? != file.after {
                    brought.push(file);
                }
            }
            changed = brought;
        }
        changed.retain(|file| !self.lost.contains(file));
        Ok(changed)
    }

    /// Returns the commits whose files were told of before this one. What a merge takes over from us, seen from the other side, is
    /// new to them and not to us; what it takes over from a branch that was told of is new to nobody; and what was squashed is the
    /// same as before.
    fn known_before(
        &self,
        repository: &Repository,
        entry: &LogEntry,
    ) -> Result<Vec<CommitId>, OpsError> {
        let Some((last, others)) = self.told.split_first() else { return Ok(Vec::new()) };
        let is_merge = entry.parents.len() > 1;
        let mut known: Vec<CommitId> =
            if is_merge || !self.gone.is_empty() { vec![*last] } else { Vec::new() };
        for parent in entry.parents.iter().skip(1) {
            if repository.led_to(*parent, *last)? {
                known.push(*parent);
            }
            if !self.known_gone.is_empty()
                && let Some(line) = repository.added_since(*last, *parent)?
            {
                known.extend(line.into_iter().rfind(|commit| self.known_gone.contains(commit)));
            }
            for other in others {
                if repository.led_to(*other, *parent)? && !repository.led_to(*other, *last)? {
                    known.push(*other);
                }
            }
        }
        Ok(known)
    }
}

fn known_commits(known: &Cursor) -> impl Iterator<Item = CommitId> {
    known.commits().filter_map(|text| text.parse().ok())
}
