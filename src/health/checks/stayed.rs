//! Companions that stayed where their task is no more.

use crate::health::doctor::{Complaint, Patient};
use crate::health::points::orphaned_companions::stayed as of_stayed;
use crate::project::error::error::OpsError;
use crate::storage::tasks::orphaned_companions::stayed;

pub(crate) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let points =
        of_stayed(patient.workspace, &stayed(&patient.workspace.paths), |names| names.join(", "))?;
    let why = "nobody looks for it there: what belongs to a task stands beside it, and goes where it goes";
    Ok(points
        .into_iter()
        .map(|point| Complaint::advice(point.code, point.problem, why, point.fix))
        .collect())
}
