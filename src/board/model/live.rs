//! A board that follows the project's files: a change costs as much as the files that changed.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use super::columns::{BoardSource, BoardView};
use crate::domain::{AgentId, TaskId};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::{Workspace, viewer};
use crate::storage::header_cache::Pauses;
use crate::storage::layout::{is_archived, task_id};
use crate::storage::{FileStat, ProjectPath, StoreError};
use crate::tasks::headers::dependencies::Dependencies;
use crate::tasks::headers::listing::{ListScope, Listing, read_all, read_summary};
use crate::tasks::headers::mentions::unseen;
use crate::tasks::headers::spending::DayBudget;
use crate::tasks::headers::waiting::{WaitingDecision, decisions_at, may_wait};

/// The number of changed files above which all files are read: that costs less than finding each in the list.
const FEW: usize = 64;

/// A possible change since a board was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BoardChange {
    /// These task files.
    Tasks(BTreeSet<PathBuf>),
    /// Anything: the rules or the branch changed, or events were lost.
    Anything,
}

impl BoardChange {
    /// Returns both changes as one.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Tasks(mut files), Self::Tasks(more)) => {
                files.extend(more);
                Self::Tasks(files)
            }
            _ => Self::Anything,
        }
    }
}

/// A project whose board is kept up to date.
pub(crate) struct LiveBoard {
    workspace: Workspace,
    /// The reader if it is not git's user.
    named: Option<AgentId>,
    in_force: InForce,
    listing: Listing,
    /// The decisions that wait for the reader, by task, with the state of the file that they were read from.
    decisions: HashMap<TaskId, (FileStat, Vec<WaitingDecision>)>,
}

impl LiveBoard {
    /// Reads a project. The reader is the named agent, otherwise git's user.
    pub(crate) fn open(workspace: Workspace, named: Option<AgentId>) -> Result<Self, ProjectError> {
        let in_force = workspace.rules()?;
        let listing = read_all(&workspace, &in_force, ListScope::Recent);
        Ok(Self { workspace, named, in_force, listing, decisions: HashMap::new() })
    }

    /// Reads again what changed.
    pub(crate) fn refresh(&mut self, change: &BoardChange) -> Result<(), ProjectError> {
        let in_force = self.workspace.rules()?;
        let (now, before) = (&in_force.rules, &self.in_force.rules);
        if now.project != before.project || now.org != before.org {
            self.decisions.clear();
        }
        self.in_force = in_force;
        let is_done = match change {
            BoardChange::Tasks(files)
                if files.len() <= FEW && self.listing.unreadable.is_empty() =>
            {
                files.iter().all(|file| self.read(file))
            }
            BoardChange::Tasks(_) | BoardChange::Anything => false,
        };
        if !is_done {
            self.listing = read_all(&self.workspace, &self.in_force, ListScope::Recent);
        }
        Ok(())
    }

    /// Reads one file again. Returns false if that is not enough: for a file that is not a task, or that another file contradicts, all
    /// files must be read.
    fn read(&mut self, file: &std::path::Path) -> bool {
        let paths = &self.workspace.paths;
        let Some(path) = paths.relative_joined(file) else { return false };
        let id = match task_id(path.name()) {
            Some(Ok(id)) => id,
            // A companion, or a folder.
            None => return !file.is_dir(),
            Some(Err(_)) => return false,
        };
        let tasks = &mut self.listing.tasks;
        let workflow = &self.in_force.rules.project.default_workflow;
        match read_summary(paths, workflow, &id, &path) {
            Ok(mut task) => {
                let is_elsewhere =
                    |other: &ProjectPath| *other != path && other.below(paths.root()).exists();
                if is_archived(&path) && !task.is_finished()
                    || tasks.iter().any(|(other, place)| other.id == id && is_elsewhere(place))
                {
                    return false;
                }
                task.follow(&self.in_force.rules);
                tasks.retain(|(other, _)| other.id != id);
                tasks.push((task, path));
                true
            }
            Err(ProjectError::Store(StoreError::Gone { .. })) => {
                tasks.retain(|(_, place)| *place != path);
                true
            }
            Err(_) => false,
        }
    }

    /// Returns the board of the files as they were last read.
    pub(crate) fn board(&mut self) -> Arc<BoardView> {
        let Self { workspace, named, in_force, listing, decisions } = self;
        let dependencies = Dependencies::read(workspace, in_force, listing);
        for (task, _) in &mut listing.tasks {
            task.follow(&in_force.rules);
            task.awaited = dependencies.awaited_by(task);
        }
        let you = viewer(workspace, &in_force.rules.org, named.as_ref());
        let before = std::mem::take(decisions);
        if let Some(you) = &you {
            for (task, path) in &listing.tasks {
                if !may_wait(&in_force.rules, &dependencies, task, you) {
                    continue;
                }
                let known = before.get(&task.id).filter(|(stat, _)| *stat == task.file).cloned();
                let read = || (task.file, decisions_at(workspace, in_force, task, path, you));
                decisions.insert(task.id.clone(), known.unwrap_or_else(read));
            }
        }
        let tasks = listing.by_urgency(workspace.now()).into_iter();
        let waiting = tasks.filter_map(|(task, _)| decisions.get(&task.id));
        let waiting: Vec<WaitingDecision> =
            waiting.flat_map(|(_, waiting)| waiting).cloned().collect();
        let source = BoardSource {
            rules: &in_force.rules,
            listing,
            waiting: &waiting,
            you: you.as_ref(),
            now: workspace.now(),
        };
        let paused = Pauses::lasting(&workspace.paths, source.now);
        let paused = paused.iter().map(|pause| pause.sentence(source.now));
        let budget = DayBudget::read(workspace, in_force).map(|day| day.sentence());
        let paused = budget.into_iter().chain(paused).collect();
        let (paths, org) = (&workspace.paths, &in_force.rules.org);
        let mentions = you.as_ref().map(|you| unseen(paths, org, listing, you));
        let mentions = mentions.unwrap_or_default();
        Arc::new(BoardView { paused, mentions, ..BoardView::new(&source) })
    }
}
