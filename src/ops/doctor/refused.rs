//! Completions that were refused: told also where no rules are in force, and `aof status` says no more than that.

use super::{Complaint, Patient};
use crate::ops::error::OpsError;
use crate::ops::refused::refused;

pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let why = "somebody did work that did not count, and may not know it";
    let told = refused(patient.workspace)?
        .map(|point| Complaint::wrong(point.code, point.problem, why, point.fix));
    Ok(told.into_iter().collect())
}
