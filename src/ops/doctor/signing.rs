//! Programs that make signatures, where git's configuration asks for them.

use super::{Complaint, Patient};
use crate::ops::error::OpsError;

pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let trouble = patient.workspace.repository.signing_trouble()?;
    let complaint = trouble.map(|trouble| {
        Complaint::wrong(
            "cannot_sign",
            format!("commits are to be signed (`commit.gpgSign`), and cannot be: {trouble}"),
            "nothing can be committed",
            "install the program or name its key; or switch it off with `git config commit.gpgSign false`".to_owned(),
        )
    });
    Ok(complaint.into_iter().collect())
}
