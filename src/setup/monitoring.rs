//! Adds alerts, a dashboard and a runbook for the metrics to a project, in a commit of their own. Existing files are not changed.

use std::path::Path;

use super::planned_files::{PlannedFiles, new_file, write_planned};
use crate::git::{CommitId, Head};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::task_files::read;
use crate::storage::{Paths, ProjectPath, StoreError};
use crate::tasks::plan::DryRun;
use crate::tasks::write::existing_file;

const MESSAGE: &str = "Add alerts, a dashboard and a runbook";

/// A file of `monitoring/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MonitoringFile {
    /// The configuration of Prometheus.
    Scrape,
    /// The alerts.
    Rules,
    /// The dashboard.
    Dashboard,
    /// The meaning of each alert.
    Runbook,
}

impl MonitoringFile {
    /// All files.
    pub(crate) const ALL: [Self; 4] = [Self::Scrape, Self::Rules, Self::Dashboard, Self::Runbook];

    /// Returns the path of the file.
    pub(crate) const fn place(self) -> &'static str {
        match self {
            Self::Scrape => "monitoring/prometheus.yml",
            Self::Rules => "monitoring/aof.rules.yml",
            Self::Dashboard => "monitoring/aof-dashboard.json",
            Self::Runbook => "monitoring/runbook.md",
        }
    }

    /// Returns a short description.
    pub(crate) const fn what(self) -> &'static str {
        match self {
            Self::Scrape => "what Prometheus scrapes, to begin with",
            Self::Rules => "the alerts",
            Self::Dashboard => "the dashboard, for Grafana",
            Self::Runbook => "what each alert means, and what to do",
        }
    }

    /// Returns the text of the file, with links changed: a project has the runbook beside the alerts, and no other part of the manual.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Scrape => include_str!("../../monitoring/prometheus.yml").to_owned(),
            Self::Rules => include_str!("../../monitoring/aof.rules.yml")
                .replace("docs/guides/runbook.md", Self::Runbook.place()),
            Self::Dashboard => include_str!("../../monitoring/aof-dashboard.json").to_owned(),
            Self::Runbook => include_str!("../../docs/guides/runbook.md")
                .replace("../../monitoring/aof.rules.yml", "aof.rules.yml"),
        }
    }
}

/// The files, and what was done with them.
pub(crate) struct MonitoringReport {
    /// All files.
    pub files: Vec<(MonitoringFile, MonitoringFate)>,
    /// The commit; `None` if none was made.
    pub commit: Option<CommitId>,
}

/// The action on a file of `monitoring/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MonitoringFate {
    /// The file is written and committed.
    New,
    /// The file exists with the same text.
    Unchanged,
    /// The file exists, perhaps only in HEAD, with another text.
    Kept,
    /// The file was deleted, and the deletion is not committed.
    TakenAway,
    /// Git ignores the file, so no one else would get it.
    Ignored,
}

impl MonitoringReport {
    /// Returns the files with that fate.
    pub(crate) fn with_fate(&self, fate: MonitoringFate) -> impl Iterator<Item = MonitoringFile> {
        self.files.iter().filter(move |(_, known)| *known == fate).map(|(file, _)| *file)
    }
}

/// Writes the missing files, and commits exactly them.
pub(crate) fn add_monitoring(
    workspace: &Workspace,
    dry_run: DryRun,
) -> Result<MonitoringReport, ProjectError> {
    let plan = |head: &Head| {
        let (mut outcome, mut files) = (Vec::new(), Vec::new());
        for file in MonitoringFile::ALL {
            let path: ProjectPath = file.place().parse()?;
            let fate = match existing_file(workspace, head, [&path])? {
                Some(_) => fate_of_existing(workspace.paths.root(), file, &path),
                None if workspace.repository.is_ignored(path.as_str())? => MonitoringFate::Ignored,
                None => {
                    files.push(new_file(path, file.text()));
                    MonitoringFate::New
                }
            };
            outcome.push((file, fate));
        }
        Ok(PlannedFiles { outcome, files, is_committed: true })
    };
    let (files, commit) = write_planned(workspace, dry_run, MESSAGE, plan)?;
    Ok(MonitoringReport { files, commit })
}

/// Returns the actions on the files in a folder that is not yet a project.
pub(crate) fn monitoring_to_add(folder: &Path) -> Result<MonitoringReport, ProjectError> {
    let fate = |file: MonitoringFile| {
        let path: ProjectPath = file.place().parse()?;
        let exists = path.below(folder).symlink_metadata().is_ok();
        Ok((file, if exists { fate_of_existing(folder, file, &path) } else { MonitoringFate::New }))
    };
    let files = MonitoringFile::ALL.into_iter().map(fate).collect::<Result<_, ProjectError>>()?;
    Ok(MonitoringReport { files, commit: None })
}

fn fate_of_existing(root: &Path, file: MonitoringFile, path: &ProjectPath) -> MonitoringFate {
    match read(&Paths::at(root), path) {
        Ok(snapshot) if snapshot.bytes == file.text().as_bytes() => MonitoringFate::Unchanged,
        Err(StoreError::Gone { .. }) => MonitoringFate::TakenAway,
        _ => MonitoringFate::Kept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_link_leads_out_of_the_folder() {
        let runbook = MonitoringFile::Runbook.text();
        let links =
            runbook.match_indices("](").map(|(at, _)| runbook[at + 2..].split(')').next().unwrap());
        assert_eq!(links.collect::<Vec<_>>(), ["aof.rules.yml"]);
    }
}
