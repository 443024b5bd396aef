//! The state that the checks examine, read once.

use std::collections::HashMap;

use crate::git::{GitError, Head, ObjectId};
use crate::history::git_race_repair::IndexDifferences;
use crate::history::sync::remote_state::{RemoteStanding, remote_standing};
use crate::project::active_rules::{InForce, rules_with_remarks};
use crate::project::error::ProjectError;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::storage::HeaderCache;
use crate::storage::task_files::{OrphanedCompanion, orphaned_companions};
use crate::tasks::headers::listing::{ListScope, Listing, read_all};
use crate::tasks::headers::summary::{HEADERS, TaskSummary};

/// The issues that a check found.
pub(crate) type CheckResult = Result<Vec<Issue>, ProjectError>;

/// The command that runs the checks: `aof status` shows issues that need attention now, `aof doctor` checks
/// everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    Status,
    Doctor,
}

/// The state of a project that the checks examine.
pub(crate) struct CheckContext<'w> {
    pub workspace: &'w Workspace,
    pub view: View,
    /// True if a watcher runs.
    pub watcher: bool,
    pub head: Head,
    /// The state of git that keeps commands from committing: a merge, a rebase, a detached HEAD.
    pub busy: Option<GitError>,
    pub index_fault: Option<ProjectError>,
    /// True if the header cache was damaged before it was read.
    pub cache_damaged: bool,
    /// The state that only the rules can interpret, or the reason why no rules are in force.
    pub project: Result<CheckedProject, ProjectError>,
}

/// The state that the rules in force interpret.
pub(crate) struct CheckedProject {
    pub in_force: InForce,
    /// The active tasks, in the order of their ids.
    pub listing: Listing,
    /// The files that HEAD has below `tasks/`.
    pub committed: HashMap<String, ObjectId>,
    /// Companions whose task is in another folder or in the archive.
    pub orphaned_companions: Vec<OrphanedCompanion>,
    /// The differences of git's index from HEAD; empty while the index cannot be read.
    pub index: IndexDifferences,
    pub remote: Option<RemoteStanding>,
}

impl<'w> CheckContext<'w> {
    /// Reads the state of a project. Fails if the rules cannot be read at all.
    pub(crate) fn read(
        workspace: &'w Workspace,
        view: View,
        watcher: bool,
    ) -> Result<Self, ProjectError> {
        let repository = &workspace.repository;
        let head = repository.head_for_reading()?;
        let busy = workspace.head_now().err();
        let index_fault = repository.index_fault().map(ProjectError::from);
        let project = match rules_with_remarks(workspace, &head) {
            Ok(in_force) => {
                let is_index_readable = busy.is_none() && index_fault.is_none();
                Ok(CheckedProject::read(workspace, in_force, &head, is_index_readable)?)
            }
            Err(
                error @ (ProjectError::InvalidRules(_)
                | ProjectError::Unfit { .. }
                | ProjectError::Store(_)),
            ) => Err(error),
            Err(error) => return Err(error),
        };
        // Reading the tasks rewrites the cache.
        let cache_damaged = match &project {
            Ok(project) => project.listing.is_cache_damaged,
            Err(_) => HeaderCache::<TaskSummary>::is_damaged(&workspace.paths, HEADERS),
        };
        Ok(Self { workspace, view, watcher, head, busy, index_fault, cache_damaged, project })
    }

    /// Returns the state that the rules in force interpret; `None` without rules.
    pub(crate) fn project(&self) -> Option<&CheckedProject> {
        self.project.as_ref().ok()
    }

    /// Returns the number of active tasks that reached their gate under earlier rules.
    pub(crate) fn drifted(&self) -> usize {
        let drifted = |project: &CheckedProject| {
            let rules = &project.in_force.rules;
            project.listing.tasks.iter().filter(|(task, _)| rules.is_drifted(task)).count()
        };
        self.project().map_or(0, drifted)
    }

    pub(crate) fn is_doctor(&self) -> bool {
        self.view == View::Doctor
    }

    /// Returns the branch that changes are committed to.
    pub(crate) fn branch(&self) -> Option<&str> {
        (self.head.reference != "HEAD").then(|| self.head.branch())
    }
}

impl CheckedProject {
    fn read(
        workspace: &Workspace,
        in_force: InForce,
        head: &Head,
        is_index_readable: bool,
    ) -> Result<Self, ProjectError> {
        let mut listing = read_all(workspace, &in_force, ListScope::Active);
        listing.tasks.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
        let orphaned_companions = orphaned_companions(&workspace.paths);
        // A file beside the tasks that is not a companion may be a task with a wrong name.
        listing.beside.retain(|file| {
            orphaned_companions.iter().all(|orphan| orphan.path.as_str() != file.path)
        });
        listing.unreadable.append(&mut listing.beside);
        let committed = match head.commit {
            Some(commit) => workspace.repository.list(commit, "tasks")?,
            None => Vec::new(),
        };
        let committed = committed.into_iter().map(|file| (file.path, file.id)).collect();
        let index = if is_index_readable {
            IndexDifferences::read(workspace).unwrap_or_default()
        } else {
            IndexDifferences::default()
        };
        let remote = match head.reference.as_str() {
            "HEAD" => None,
            _ => remote_standing(workspace, head, &in_force)?,
        };
        Ok(Self { in_force, listing, committed, orphaned_companions, index, remote })
    }
}

/// Returns a number with its noun.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}
