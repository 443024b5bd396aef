//! Completions that were refused: told also where no rules are in force, and `aof status` says no more than that.

use crate::health::doctor::{Complaint, Patient};
use crate::project::error::error::OpsError;
use crate::tasks::inbox::refused::refused;

pub(crate) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let why = "somebody did work that did not count, and may not know it";
    let told = refused(patient.workspace)?
        .map(|point| Complaint::wrong(point.code, point.problem, why, point.fix));
    Ok(told.into_iter().collect())
}
