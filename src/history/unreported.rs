//! The commits that a reader has not reported yet, also after merges, rebases and squashes. A change that was reported under another
//! commit, or on another branch, is not new.

use std::collections::{HashMap, HashSet};

use crate::domain::Timestamp;
use crate::git::{ChangedFile, CommitId, Head, LogEntry, Repository};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::ReportedCursor;

/// The number of commits that are reported at once if that must be quick.
pub(crate) const MOST_COMMITS: usize = 200;

/// The rest of the commits to be reported: none, or some.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Remaining {
    #[default]
    Nothing,
    Commits,
}

/// The commits to be reported.
pub(crate) struct UnreportedCommits {
    /// Oldest first.
    pub commits: Vec<CommitId>,
    /// The last commit that counts as reported after these.
    pub reached: CommitId,
    /// The rest after these.
    pub left: Remaining,
    /// The last commits reported before: of this branch, then of others.
    reported: Vec<CommitId>,
    /// The reported commits that the branch has lost since, oldest first.
    gone: Vec<CommitId>,
    /// The changes of the lost commits.
    gone_changes: Vec<ChangedFile>,
    /// The lost commits by the properties that a rebase keeps: author date and message.
    gone_by_message: HashMap<(Timestamp, String), Vec<CommitId>>,
    /// The reported commits that were lost earlier.
    gone_earlier: HashSet<CommitId>,
}

impl UnreportedCommits {
    /// Returns the last reported commit of the branch: the recorded one, or, for a new branch, its fork from a known one.
    pub(crate) fn last_reported(
        workspace: &Workspace,
        known: &ReportedCursor,
        head: &Head,
        newest: CommitId,
    ) -> Result<Option<CommitId>, ProjectError> {
        if let Some(last) = known.commit(&head.reference).and_then(|text| text.parse().ok()) {
            return Ok(Some(last));
        }
        Ok(workspace.repository.newest_common(newest, known_commits(known))?)
    }

    /// Returns all commits of the branch, or the first `most` of them.
    pub(crate) fn whole(
        workspace: &Workspace,
        newest: CommitId,
        most: usize,
    ) -> Result<Self, ProjectError> {
        let mut commits = workspace.repository.line_to(newest)?;
        commits.truncate(most);
        Ok(Self::of(commits, newest, Vec::new()))
    }

    /// Returns the commits since the last reported one, or the first `most` of them; `None` if there is no connected history.
    pub(crate) fn since(
        workspace: &Workspace,
        known: &ReportedCursor,
        (last, newest): (CommitId, CommitId),
        most: usize,
    ) -> Result<Option<Self>, ProjectError> {
        let repository = &workspace.repository;
        if !repository.has_commit(last) {
            return Ok(None);
        }
        let (Some(mut commits), Some(gone)) =
            (repository.added_since(last, newest)?, repository.added_since(newest, last)?)
        else {
            return Ok(None);
        };
        let mut reported = vec![last];
        reported.extend(known_commits(known).filter(|commit| *commit != last));
        let gone_earlier: HashSet<CommitId> =
            known.gone().filter_map(|text| text.parse().ok()).collect();
        // Commits were reported on another branch that this one has caught up with, or before they were lost and restored.
        let is_reported =
            |commit: &CommitId| reported[1..].contains(commit) || gone_earlier.contains(commit);
        if let Some(place) = commits.iter().rposition(is_reported) {
            commits.drain(..=place);
        }
        // Commits can be reported in parts only if the branch just grew; otherwise all are reported at once.
        let oldest = commits.first().map(|oldest| repository.log_entry(*oldest)).transpose()?;
        let grew = oldest.is_some_and(|oldest| {
            oldest
                .parents
                .first()
                .is_some_and(|parent| reported.contains(parent) || gone_earlier.contains(parent))
        });
        if gone.is_empty() && grew {
            commits.truncate(most);
        }
        let mut news = Self::of(commits, newest, reported);
        // A rebase repeats the same changes.
        for gone in &gone {
            news.gone_changes.extend(repository.changed_files(*gone)?);
        }
        if !news.commits.is_empty() {
            for gone in &gone {
                let entry = repository.log_entry(*gone)?;
                news.gone_by_message
                    .entry((entry.authored, entry.message))
                    .or_default()
                    .push(*gone);
            }
        }
        (news.gone, news.gone_earlier) = (gone, gone_earlier);
        Ok(Some(news))
    }

    /// Records in the cursor that these commits were reported.
    pub(crate) fn note_in(&self, cursor: &mut ReportedCursor, branch: &str) {
        cursor.lose(&self.gone.iter().map(ToString::to_string).collect::<Vec<_>>());
        cursor.set(branch, &self.reached.to_string());
    }

    fn of(commits: Vec<CommitId>, newest: CommitId, reported: Vec<CommitId>) -> Self {
        let reached = commits.last().copied().unwrap_or(newest);
        let left = if reached == newest { Remaining::Nothing } else { Remaining::Commits };
        let (gone, gone_changes, gone_by_message, gone_earlier) =
            (Vec::new(), Vec::new(), HashMap::new(), HashSet::new());
        Self { commits, reached, left, reported, gone, gone_changes, gone_by_message, gone_earlier }
    }

    /// Returns the lost commits that a rebase repeated as this one.
    pub(crate) fn rebased_from(&self, entry: &LogEntry) -> &[CommitId] {
        if self.gone_by_message.is_empty() {
            return &[];
        }
        self.gone_by_message
            .get(&(entry.authored, entry.message.clone()))
            .map_or(&[], Vec::as_slice)
    }

    /// Returns the last commits reported before, on this branch and on others.
    pub(crate) fn reported(&self) -> &[CommitId] {
        &self.reported
    }

    /// Returns the files that a commit changed, without reported changes, and without files that are as in a reported commit.
    pub(crate) fn new_changes(
        &self,
        repository: &Repository,
        entry: &LogEntry,
        mut changed: Vec<ChangedFile>,
    ) -> Result<Vec<ChangedFile>, ProjectError> {
        for known in self.reported_bases(repository, entry)? {
            let mut new_changes = Vec::new();
            for file in changed {
                if file.after.is_none() || repository.blob_id(known, &file.path)? != file.after {
                    new_changes.push(file);
                }
            }
            changed = new_changes;
        }
        changed.retain(|file| !self.gone_changes.contains(file));
        Ok(changed)
    }

    /// Returns the commits whose files were reported before this one: for a merge, ours and that of a merged reported branch; after a
    /// squash, the last one.
    fn reported_bases(
        &self,
        repository: &Repository,
        entry: &LogEntry,
    ) -> Result<Vec<CommitId>, ProjectError> {
        let Some((last, others)) = self.reported.split_first() else { return Ok(Vec::new()) };
        let is_merge = entry.parents.len() > 1;
        let mut known: Vec<CommitId> =
            if is_merge || !self.gone.is_empty() { vec![*last] } else { Vec::new() };
        for parent in entry.parents.iter().skip(1) {
            if repository.is_ancestor(*parent, *last)? {
                known.push(*parent);
            }
            if !self.gone_earlier.is_empty()
                && let Some(line) = repository.added_since(*last, *parent)?
            {
                known.extend(line.into_iter().rfind(|commit| self.gone_earlier.contains(commit)));
            }
            for other in others {
                if repository.is_ancestor(*other, *parent)?
                    && !repository.is_ancestor(*other, *last)?
                {
                    known.push(*other);
                }
            }
        }
        Ok(known)
    }
}

fn known_commits(known: &ReportedCursor) -> impl Iterator<Item = CommitId> {
    known.commits().filter_map(|text| text.parse().ok())
}
