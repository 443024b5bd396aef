//! Tasks with two files, told as `aof status` tells of the active ones; where it is certain which file is to go, it goes.

use super::{Complaint, Patient};
use crate::ops::copies::{Doubled, doubled, remove_spare, said_of};
use crate::ops::error::OpsError;

pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
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
