//! What is known from the commit before: its rules, and how it left each task. History is told commit after commit, so nearly all
//! that a commit needs was read for the one before it.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use crate::domain::{Task, TaskId, Timestamp};
use crate::files::task_file;
use crate::files::task_file::{Defaults, Extent};
use crate::git::{CommitId, LogEntry, ObjectId};
use crate::project::active_rules::{rules_at, stand_in};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;

/// So many tasks are kept.
const MOST_TASKS: usize = 1_000;

/// The rules under the commit that was told last, if it has any.
#[derive(Default)]
pub(crate) struct KnownRules(Option<(CommitId, Option<Rc<Rules>>)>);

impl KnownRules {
    /// Returns the rules that decided what a commit says: those of its parent. A commit that brings the first ones goes by them.
    pub(crate) fn behind(
        &mut self,
        workspace: &Workspace,
        entry: &LogEntry,
    ) -> Result<Rc<Rules>, ProjectError> {
        let before = match (entry.parents.first(), &self.0) {
            (Some(parent), Some((known, rules))) if known == parent => rules.clone(),
            // A shallow clone ends at commits whose parents it does not have.
            (Some(parent), _) if workspace.repository.has_commit(*parent) => {
                let rules = rules_at(workspace, *parent)?;
                self.0 = Some((*parent, rules.clone()));
                rules
            }
            _ => None,
        };
        match before {
            Some(rules) => Ok(rules),
            None => rules_at(workspace, entry.id)?.map_or_else(stand_in, Ok),
        }
    }

    /// Notes that a commit left the rules as they were.
    pub(crate) fn are_kept_by(&mut self, entry: &LogEntry) {
        if let Some((commit, _)) = &mut self.0
            && entry.parents.first() == Some(commit)
        {
            *commit = entry.id;
        }
    }
}

/// Tasks as commits left them; of too many, those that were told of longest ago are forgotten.
#[derive(Default)]
pub(crate) struct KnownTasks {
    tasks: HashMap<TaskId, (ObjectId, Rc<Task>)>,
    order: VecDeque<TaskId>,
}

impl KnownTasks {
    /// Returns what a version of a task's file says; nothing where it cannot be read: it is somebody's work in progress.
    pub(crate) fn read(
        &mut self,
        workspace: &Workspace,
        (id, version): (&TaskId, ObjectId),
        rules: &Rules,
        created: Timestamp,
    ) -> Result<Option<Rc<Task>>, ProjectError> {
        if let Some((_, task)) = self.tasks.get(id).filter(|(known, _)| *known == version) {
            return Ok(Some(Rc::clone(task)));
        }
        let bytes = workspace.repository.read_blob(version)?;
        let workflow = rules.project.default_workflow.clone();
        let defaults = Defaults { workflow, created };
        let Ok((task, extent)) = task_file::parse_task(&bytes, id, &defaults) else {
            return Ok(None);
        };
        let task = Rc::new(task);
        // What a file leaves open depends on the commit that is told of.
        if extent == Extent::Whole {
            self.keep(version, &task);
        }
        Ok(Some(task))
    }

    fn keep(&mut self, version: ObjectId, task: &Rc<Task>) {
        if self.tasks.insert(task.id.clone(), (version, Rc::clone(task))).is_none() {
            self.order.push_back(task.id.clone());
            if self.order.len() > MOST_TASKS
                && let Some(oldest) = self.order.pop_front()
            {
                self.tasks.remove(&oldest);
            }
        }
    }
}
