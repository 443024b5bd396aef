//! Temporary files that nobody is writing any more: a kill leaves them.

use super::{Complaint, Patient, count};
use crate::ops::error::OpsError;
use crate::ops::workspace::Workspace;
use crate::store::atomic;

pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let workspace = patient.workspace;
    let ours = atomic::abandoned(&workspace.paths, workspace.clock()().into())?;
    let in_git = workspace.repository.abandoned_temps()?.len();
    let complaint = Complaint::wrong(
        "temporary_files",
        format!(
            "{} left by commands that were killed",
            count(ours + in_git, "temporary file was", "temporary files were")
        ),
        "they take room, and nobody will ever use them",
        "`aof doctor --fix` removes them".to_owned(),
    );
    Ok(Some(complaint.cured_by(sweep)).filter(|_| ours + in_git > 0).into_iter().collect())
}

fn sweep(workspace: &mut Workspace) -> Result<(), OpsError> {
    let lock = workspace.lock()?;
    atomic::sweep_tasks(&lock)?;
    atomic::sweep_local(&lock, workspace.clock()().into())?;
    workspace.repository.sweep_temps()?;
    Ok(())
}
