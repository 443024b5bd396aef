//! Finished tasks whose file stands among the active ones, and active tasks in the archive: git's following of renames in a merge leaves
//! them there.

use crate::domain::TaskId;
use crate::domain::issue::some;
use crate::health::doctor::{Complaint, Patient, count};
use crate::health::points::duplicate_files;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::tasks::apply::batch::{MOST, change_together};
use crate::tasks::apply::change::Choice;
use crate::tasks::headers::listing::is_misplaced;
use crate::tasks::headers::listing::{Scope, read_all};
use crate::tasks::plan::due::home;
use crate::tasks::state::task_state::Standing;
use std::time::Duration;

/// How long each batch waits for the lock.
const WAIT: Duration = Duration::from_secs(10);

pub(crate) fn look(patient: &Patient<'_>) -> Vec<Complaint> {
    let Some(in_force) = &patient.in_force else { return Vec::new() };
    // Which of two files counts is asked elsewhere.
    let doubled = duplicate_files::doubled(patient.workspace);
    let mut misplaced: Vec<TaskId> = Vec::new();
    let found = read_all(patient.workspace, in_force, Scope::All).tasks;
    for (header, _) in found.iter().filter(|(header, path)| is_misplaced(header, path)) {
        misplaced.extend(header.id.parse().ok().filter(|id| !doubled.contains_key(id)));
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
        "people look for open tasks in `tasks`, and for finished ones in `tasks/archive`",
        "`aof doctor --fix` moves them to where they belong, each in a commit of its own; `aof watch` does so by itself"
            .to_owned(),
    );
    vec![complaint.cured_by(move |workspace| put_in_place(workspace, &misplaced))]
}

fn put_in_place(workspace: &mut Workspace, misplaced: &[TaskId]) -> Result<(), OpsError> {
    let mut trouble = None;
    let mut choose = |_: &Workspace, _: usize, standing: &Standing| {
        Ok(home(standing).unwrap_or(Choice::Settled))
    };
    for batch in misplaced.chunks(MOST) {
        let ids: Vec<&TaskId> = batch.iter().collect();
        change_together(workspace, WAIT, &ids, &mut choose, &mut |_, result| {
            trouble = trouble.take().or(result.err());
        })?;
    }
    trouble.map_or(Ok(()), Err)
}
