//! Tasks with two files, told as `aof status` tells of the active ones; where it is certain which file is to go, it goes.

use crate::health::doctor::{Complaint, Patient};
use crate::health::points::duplicate_files::{Doubled, doubled, remove_spare, said_of};
use crate::project::error::error::OpsError;

pub(crate) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let workspace = patient.workspace;
    let head = workspace.repository.look()?.commit;
    let complaints = doubled(workspace).into_iter().map(|(id, files)| {
        let Doubled { problem, why, fix, has_spare } = said_of(workspace, head, (&id, &files));
        let complaint = Complaint::wrong("task_doubled", problem, &why, fix);
        if !has_spare {
            return complaint;
        }
        complaint.cured_by(move |workspace| remove_spare(workspace, &files))
    });
    Ok(complaints.collect())
}
