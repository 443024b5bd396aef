//! What makes something of the metrics, brought into a project: new files, in a commit that holds nothing else. What is there already is
//! its people's, and stays.

use std::path::Path;

use super::monitoring_file::MonitoringFile;
use crate::git::CommitId;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::tasks::task_files::read;
use crate::storage::{Paths, ProjectPath, StoreError};
use crate::tasks::apply::change::DryRun;
use crate::tasks::apply::commit_files::{NewFile, commit_new, standing};
use crate::tasks::recovery::recover::heal_if_pending;

const MESSAGE: &str = "Add alerts, a dashboard and a runbook";

/// The files, and what became of them.
pub(crate) struct Monitored {
    /// All of them.
    pub files: Vec<(MonitoringFile, Equipment)>,
    /// The commit; nothing where none was made.
    pub commit: Option<CommitId>,
}

/// What becomes of such a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Equipment {
    /// It is written, and committed.
    New,
    /// It is there, and says the same.
    Unchanged,
    /// It is there, or was there when somebody committed last, and says something else.
    Kept,
    /// It was taken away, and that is not committed.
    TakenAway,
    /// Git ignores it, so nobody else would get it.
    Ignored,
}

impl Monitored {
    /// Returns the files of which that became.
    pub(crate) fn of(&self, fate: Equipment) -> impl Iterator<Item = MonitoringFile> {
        self.files.iter().filter(move |(_, own)| *own == fate).map(|(file, _)| *file)
    }
}

/// Writes the files that are not there, and commits exactly them.
pub(crate) fn add_monitoring(
    workspace: &Workspace,
    dry_run: DryRun,
) -> Result<Monitored, OpsError> {
    loop {
        if dry_run == DryRun::No {
            heal_if_pending(workspace)?;
        }
        let head = workspace.head()?;
        let mut files = Vec::new();
        for file in MonitoringFile::ALL {
            let path: ProjectPath = file.place().parse()?;
            let fate = match standing(workspace, &head, [&path])? {
                Some(_) => fate_of_standing(workspace.paths.root(), file, &path),
                None if workspace.repository.is_ignored(path.as_str())? => Equipment::Ignored,
                None => Equipment::New,
            };
            files.push((file, fate));
        }
        let monitored = Monitored { files, commit: None };
        let new: Vec<NewFile> = monitored
            .of(Equipment::New)
            .map(|file| Ok((file.place().parse()?, file.text().into_bytes())))
            .collect::<Result<_, OpsError>>()?;
        if new.is_empty() {
            return Ok(monitored);
        }
        if dry_run == DryRun::Yes {
            workspace.own_folder_is_ours()?;
            return Ok(monitored);
        }
        if let Some(commit) = commit_new(workspace, &head, &new, MESSAGE)? {
            return Ok(Monitored { commit: Some(commit), ..monitored });
        }
    }
}

/// Returns what would become of the files in a folder that is no project yet.
pub(crate) fn monitoring_to_add(folder: &Path) -> Result<Monitored, OpsError> {
    let fate = |file: MonitoringFile| {
        let path: ProjectPath = file.place().parse()?;
        let stands = path.below(folder).symlink_metadata().is_ok();
        Ok((file, if stands { fate_of_standing(folder, file, &path) } else { Equipment::New }))
    };
    let files = MonitoringFile::ALL.into_iter().map(fate).collect::<Result<_, OpsError>>()?;
    Ok(Monitored { files, commit: None })
}

fn fate_of_standing(root: &Path, file: MonitoringFile, path: &ProjectPath) -> Equipment {
    match read(&Paths::at(root), path) {
        Ok(snapshot) if snapshot.bytes == file.text().as_bytes() => Equipment::Unchanged,
        Err(StoreError::Gone { .. }) => Equipment::TakenAway,
        _ => Equipment::Kept,
    }
}
