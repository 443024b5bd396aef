//! How git stores objects: many small files are slow to find, and take more room than one pack.

use crate::git::Storage;
use crate::health::doctor::{Complaint, Patient};
use crate::project::error::error::OpsError;

/// What `git gc --auto` itself goes by, as long as nobody says otherwise.
const MANY_LOOSE: usize = 6_700;
const MANY_PACKS: usize = 50;

pub(crate) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let Storage { loose, packs } = patient.workspace.repository.storage()?;
    let complaint = Complaint::advice(
        "repack_pays",
        format!("git has {loose} loose objects and {packs} packs"),
        "each read looks in all of them, and `.git` takes more room than it needs",
        "`git gc`; `aof doctor --fix` does it".to_owned(),
    );
    let pays = loose > MANY_LOOSE || packs > MANY_PACKS;
    Ok(Some(complaint.cured_by(|workspace| Ok(workspace.repository.repack()?)))
        .filter(|_| pays)
        .into_iter()
        .collect())
}
