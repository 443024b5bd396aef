//! Finished tasks whose file stands among the active ones, and active tasks in the archive: git's following of renames in a merge leaves
//! them there. Nobody is handed out what stands in the archive.

use super::{Complaint, Patient, copies, count};
use crate::model::{Status, TaskId};
use crate::ops::attention::some;
use crate::ops::error::OpsError;
use crate::ops::header::NEW;
use crate::ops::headers::{Scope, read_all};
use crate::ops::message;
use crate::ops::standing::Standing;
use crate::ops::together::{MOST, change_together};
use crate::ops::transaction::{Choice, destination};
use crate::ops::workspace::Workspace;
use crate::store::layout::is_archived;
use std::time::Duration;

/// How long each batch waits for the lock.
const WAIT: Duration = Duration::from_secs(10);

pub(super) fn look(patient: &Patient<'_>) -> Vec<Complaint> {
    let Some(in_force) = &patient.in_force else { return Vec::new() };
    // Which of two files counts is asked elsewhere.
    let doubled = copies::doubled(patient.workspace);
    let mut misplaced: Vec<TaskId> = Vec::new();
    for (header, path) in read_all(patient.workspace, in_force, Scope::All).tasks {
        let finished = header.status.parse::<Status>().is_ok_and(Status::is_finished);
        let id = header.id.parse().ok().filter(|id| header.status != NEW && !doubled.contains_key(id));
        misplaced.extend(id.filter(|_| finished != is_archived(&path)));
    }
    if misplaced.is_empty() {
        return Vec::new();
    }
    misplaced.sort();
    let names: Vec<&str> = misplaced.iter().map(TaskId::as_str).collect();
    let complaint = Complaint::wrong(
        "task_misplaced",
        format!(
            "{} where its status does not belong: {}",
            count(names.len(), "task has its file", "tasks have their files"),
            some(&names)
        ),
        "finished tasks are looked for in `tasks/archive`, and nobody is handed out what stands there",
        "`aof doctor --fix` moves them to where they belong, each in a commit of its own".to_owned(),
    );
    vec![complaint.cured_by(move |workspace| put_in_place(workspace, &misplaced))]
}

fn put_in_place(workspace: &mut Workspace, misplaced: &[TaskId]) -> Result<(), OpsError> {
    let mut trouble = None;
    let mut choose = |_: &Workspace, _: usize, standing: &Standing| {
        let to = destination(standing, &standing.file);
        if to == standing.snapshot.path {
            return Ok(Choice::Settled);
        }
        let message = message::of_edit(&standing.file.task, &format!("moved to {}", to.folder()));
        Ok(Choice::Moved { to, message })
    };
    for batch in misplaced.chunks(MOST) {
        let ids: Vec<&TaskId> = batch.iter().collect();
        change_together(workspace, WAIT, &ids, &mut choose, &mut |_, result| {
            trouble = trouble.take().or(result.err());
        })?;
    }
    trouble.map_or(Ok(()), Err)
}
