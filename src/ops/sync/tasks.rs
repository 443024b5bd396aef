//! The tasks of one project on both sides. They are matched by their ids, wherever their files are: one may have been finished, and
//! moved to the archive, on one side alone. Other files below `tasks/` are taken from the side that changed them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::Loss;
use super::join::{Mixed, Sides};
use crate::audit::{CommitId, Marks, ObjectId};
use crate::engine::Rules;
use crate::engine::merge::{Dropped, Superseded};
use crate::format::task_file::{self, Defaults};
use crate::model::{TaskId, Timestamp};
use crate::ops::error::OpsError;
use crate::ops::in_force::{rules_at, stand_in};
use crate::ops::merge::{Conflict, Versions, merge_files};
use crate::ops::merge_driver::superseded_trailer;
use crate::ops::workspace::Workspace;
use crate::store::ProjectPath;
use crate::store::layout::{archive_path, is_archived, task_id, task_path};

/// The files below `tasks/` of one commit.
struct Tree {
    files: BTreeMap<String, ObjectId>,
    tasks: BTreeMap<TaskId, String>,
}

/// One file on one side.
type Place<'t> = Option<(&'t str, ObjectId)>;

/// Merges the tasks that the local side changed into those of the remote.
pub(super) fn merge_project(workspace: &Workspace, sides: &Sides<'_>) -> Result<Mixed, OpsError> {
    let [base, remote, local] = [sides.base, sides.remote, sides.local].map(|commit| Tree::of(workspace, commit));
    let (base, remote, local) = (base?, remote?, local?);
    let rules = match rules_at(workspace, sides.remote)? {
        Some(rules) => rules,
        None => stand_in()?,
    };
    let mut merging = Merging { workspace, rules, mixed: Mixed::default() };
    for path in base.changed(&local) {
        match id_of(path) {
            Some(_) => {}
            None => merging.other(path, [&base, &remote, &local].map(|tree| tree.files.get(path).copied()))?,
        }
    }
    let ids: BTreeSet<TaskId> = base.changed(&local).filter_map(id_of).collect();
    for id in ids {
        let [before, ours, theirs] = [&base, &remote, &local].map(|tree| tree.place(&id));
        merging.task(&id, before, ours, theirs)?;
    }
    Ok(merging.mixed)
}

impl Tree {
    fn of(workspace: &Workspace, commit: CommitId) -> Result<Self, OpsError> {
        let files = workspace.repository.list(commit, "tasks")?.into_iter().map(|file| (file.path, file.id));
        let files: BTreeMap<String, ObjectId> = files.collect();
        let tasks = files.keys().filter_map(|path| Some((id_of(path)?, path.clone()))).collect();
        Ok(Self { files, tasks })
    }

    fn place(&self, id: &TaskId) -> Place<'_> {
        let path = self.tasks.get(id)?;
        Some((path, *self.files.get(path)?))
    }

    /// Returns the paths at which two commits differ.
    fn changed<'t>(&'t self, later: &'t Self) -> impl Iterator<Item = &'t str> {
        let gone = self.files.iter().filter(|(path, id)| later.files.get(*path) != Some(id));
        let come = later.files.keys().filter(|path| !self.files.contains_key(*path));
        gone.map(|(path, _)| path.as_str()).chain(come.map(String::as_str))
    }
}

fn id_of(path: &str) -> Option<TaskId> {
    task_id(path.rsplit('/').next()?)?.ok()
}

struct Merging<'m> {
    workspace: &'m Workspace,
    rules: Rc<Rules>,
    mixed: Mixed,
}

impl Merging<'_> {
    /// A file that is no task's.
    fn other(&mut self, path: &str, [base, remote, local]: [Option<ObjectId>; 3]) -> Result<(), OpsError> {
        if remote == local {
            return Ok(());
        }
        if remote != base {
            self.conflict(path, "both sides changed it, each otherwise");
            return Ok(());
        }
        let bytes = local.map(|id| self.workspace.repository.read_blob(id)).transpose()?;
        self.mixed.files.insert(path.to_owned(), bytes);
        Ok(())
    }

    fn task(&mut self, id: &TaskId, base: Place<'_>, ours: Place<'_>, theirs: Place<'_>) -> Result<(), OpsError> {
        let repository = &self.workspace.repository;
        match (ours, theirs) {
            _ if ours == theirs || theirs == base => {}
            // Only this side changed it.
            _ if ours == base => {
                if let Some((path, _)) = ours.filter(|(path, _)| theirs.is_none_or(|(new, _)| new != *path)) {
                    self.mixed.files.insert(path.to_owned(), None);
                }
                if let Some((path, content)) = theirs {
                    self.mixed.files.insert(path.to_owned(), Some(repository.read_blob(content)?));
                }
            }
            (None, Some((path, _))) => self.conflict(path, "it was removed there, and changed here"),
            (Some((path, _)), None) => self.conflict(path, "it was removed here, and changed there"),
            (Some(ours), Some(theirs)) => self.both(id, base, ours, theirs)?,
            (None, None) => {}
        }
        Ok(())
    }

    /// Both sides changed the task.
    fn both(
        &mut self,
        id: &TaskId,
        base: Place<'_>,
        ours: (&str, ObjectId),
        theirs: (&str, ObjectId),
    ) -> Result<(), OpsError> {
        let read = |(_, content): (&str, ObjectId)| self.workspace.repository.read_blob(content);
        let (before, one, other) = (base.map(read).transpose()?, read(ours)?, read(theirs)?);
        let versions = Versions { base: before.as_deref(), ours: &one, theirs: &other };
        let merged = merge_files(&self.rules, id, versions, &Marks::default())?;
        if !merged.conflicts.is_empty() {
            let why: Vec<String> = merged.conflicts.iter().map(in_words).collect();
            self.conflict(ours.0, &why.join(", "));
            return Ok(());
        }
        let place = self.place(id, base.map(|(path, _)| path), ours.0, theirs.0, &merged.bytes)?;
        if place != ours.0 {
            self.mixed.files.insert(ours.0.to_owned(), None);
        }
        if place != ours.0 || merged.bytes != one {
            self.mixed.files.insert(place, Some(merged.bytes));
        }
        self.mixed.losses.extend(merged.superseded.iter().filter_map(of_entry));
        self.mixed.losses.extend(merged.dropped.iter().map(of_word));
        Ok(())
    }

    /// Returns where the merged file belongs: with the finished ones or the others, where either side has it, ours first.
    fn place(
        &self,
        id: &TaskId,
        base: Option<&str>,
        ours: &str,
        theirs: &str,
        bytes: &[u8],
    ) -> Result<String, OpsError> {
        let project = &self.rules.project;
        let defaults = Defaults { workflow: project.default_workflow.clone(), created: Timestamp::UNIX_EPOCH };
        let Ok(file) = task_file::parse(bytes, id, &defaults) else { return Ok(ours.to_owned()) };
        let finished = file.task.status.is_finished();
        let fits =
            |path: &str| -> Result<bool, OpsError> { Ok(is_archived(&path.parse::<ProjectPath>()?) == finished) };
        let moved_there = Some(ours) == base && Some(theirs) != base;
        for path in if moved_there { [theirs, ours] } else { [ours, theirs] } {
            if fits(path)? {
                return Ok(path.to_owned());
            }
        }
        let place = if finished { archive_path(id, file.task.latest()) } else { task_path(id, project.layout) };
        Ok(place.to_string())
    }

    fn conflict(&mut self, path: &str, why: &str) {
        self.mixed.conflicts.push((path.to_owned(), why.to_owned()));
    }
}

fn in_words(conflict: &Conflict) -> String {
    match conflict {
        Conflict::Key(key) => format!("both sides changed `{key}`"),
        Conflict::Body => "both sides changed the same lines".to_owned(),
        Conflict::File(why) => why.clone(),
    }
}

fn of_entry(superseded: &Superseded) -> Option<Loss> {
    let trailer = superseded_trailer(superseded)?;
    Some(Loss::Entry { task: superseded.ticket.task.clone(), trailer })
}

fn of_word(dropped: &Dropped) -> Loss {
    let (ticket, what) = match dropped {
        Dropped::Claim { ticket, agent } => (ticket, format!("claim of {ticket} by {agent}")),
        Dropped::Hold { ticket } => (ticket, format!("hold of {ticket}")),
        Dropped::Unblocking { ticket } => (ticket, format!("unblocking of {ticket}")),
    };
    Loss::Word { task: ticket.task.clone(), what }
}
