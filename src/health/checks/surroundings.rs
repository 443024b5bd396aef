//! Where the project stands: a file system whose locks hold for everybody who can write there.

use crate::health::doctor::{Complaint, Patient};
use crate::project::error::error::OpsError;
use crate::storage::network_file_system;

pub(crate) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let root = patient.workspace.paths.root();
    let complaint = network_file_system(root)?.map(|kind| {
        Complaint::wrong(
            "network_file_system",
            format!("`{}` is on {kind}", root.display()),
            "locks there do not hold for everybody, so commands refuse to write",
            "work in a clone on a local disk, and let git carry it over the network".to_owned(),
        )
    });
    Ok(complaint.into_iter().collect())
}
