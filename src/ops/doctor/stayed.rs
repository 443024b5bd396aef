//! Companions of finished tasks that stayed among the active ones.

use super::{Complaint, Patient};
use crate::ops::error::OpsError;
use crate::ops::stayed::stayed as of_stayed;
use crate::store::stayed::stayed;

pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let point = of_stayed(patient.workspace, &stayed(&patient.workspace.paths), |names| names.join(", "))?;
    let complaint = point.map(|point| {
        let why = "nobody looks for it there: what belongs to a finished task stands beside it in `tasks/archive`";
        Complaint::advice(point.code, point.problem, why, point.fix)
    });
    Ok(complaint.into_iter().collect())
}
