//! Temporary files that nobody is writing any more: a kill leaves them.

use crate::health::doctor::{Complaint, Patient, count};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::tasks::atomic_write;

pub(crate) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let workspace = patient.workspace;
    let ours = atomic_write::abandoned(&workspace.paths, workspace.clock()().into())?;
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
    atomic_write::sweep_tasks(&lock)?;
    atomic_write::sweep_local(&lock, workspace.clock()().into())?;
    workspace.repository.sweep_temps()?;
    Ok(())
}
