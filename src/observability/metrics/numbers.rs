//! The project in numbers, for Prometheus: counted from the task files, so that a restart resets nothing and two who count agree. No label
//! names a task. A task whose file cannot be read now counts as it was committed last.

use std::collections::HashSet;

use super::count;
use super::families;
use super::known_series;
use crate::domain::{TaskId, Timestamp};
use crate::observability::events::catch_up::event_counts;
use crate::observability::exposition::{Family, Labels};
use crate::project::active_rules::InForce;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::{ProjectPath, layout};
use crate::tasks::headers::listing::{ListScope, Listing, Unreadable, read_all};
use crate::tasks::headers::summary::TaskSummary;
use crate::tasks::inbox::pending::pending;
use crate::tasks::state::task_state::parse_with;

/// How many earlier versions of a file are looked at for one that can be read.
const LOOK_BACK: usize = 100;

/// The numbers of a project at one moment.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// What the project is called.
    pub project: String,
    /// All that does not change by waiting.
    pub families: Vec<Family>,
    /// Files that could not be counted as tasks.
    pub unreadable: Vec<Unreadable>,
    /// Why what only the event stream tells is left out, if it is.
    pub untold: Option<OpsError>,
    /// When the oldest open visit of each place began; nothing where none is open.
    oldest: Vec<(Labels, Option<i64>)>,
}

impl Numbers {
    /// Returns how old the oldest open visits are by then.
    pub(crate) fn ages(&self, now: Timestamp) -> Family {
        families::ages(&self.oldest, now)
    }
}

/// Counts the project.
pub(crate) fn numbers(workspace: &Workspace, in_force: &InForce) -> Result<Numbers, OpsError> {
    let listing = read_all(workspace, in_force, ListScope::All);
    let hidden = unreadable_tasks(workspace, in_force, &listing)?;
    let known = known_series::of(&in_force.rules);
    let counts = count::of(&known, listing.tasks.iter().map(|(header, _)| header).chain(&hidden));
    let project = in_force.project_name(workspace);
    let mut families = families::of(&project, &counts);
    let untold = match event_counts(workspace) {
        Ok(events) => {
            families.extend(families::of_events(&project, &known, &events));
            None
        }
        Err(error) => Some(error),
    };
    families.push(families::level(
        "aof_inbox_pending",
        "Completion files that were dropped and have not been settled.",
        &project,
        pending(workspace)?,
    ));
    families.push(families::level(
        "aof_unreadable_task_files",
        "Files below tasks/ that cannot be read as tasks.",
        &project,
        listing.unreadable.len(),
    ));
    families.push(families::build());
    let oldest = families::oldest(&project, &counts);
    Ok(Numbers { project, families, unreadable: listing.unreadable, untold, oldest })
}

/// Returns the tasks that have a file, but none that can be read, as they were committed last when they could be.
fn unreadable_tasks(
    workspace: &Workspace,
    in_force: &InForce,
    listing: &Listing,
) -> Result<Vec<TaskSummary>, OpsError> {
    let mut hidden = Vec::new();
    if listing.unreadable.is_empty() {
        return Ok(hidden);
    }
    let mut read: HashSet<TaskId> =
        listing.tasks.iter().map(|(header, _)| header.id.clone()).collect();
    for file in &listing.unreadable {
        let Ok(path) = file.path.parse::<ProjectPath>() else { continue };
        if let Some(mut header) =
            committed(workspace, in_force, &path)?.filter(|header| read.insert(header.id.clone()))
        {
            header.follow(&in_force.rules);
            hidden.push(header);
        }
    }
    Ok(hidden)
}

fn committed(
    workspace: &Workspace,
    in_force: &InForce,
    path: &ProjectPath,
) -> Result<Option<TaskSummary>, OpsError> {
    let (Some(Ok(id)), repository) = (layout::task_id(path.name()), &workspace.repository) else {
        return Ok(None);
    };
    let Some(head) = repository.look()?.commit else { return Ok(None) };
    for entry in repository.log_of(head, &[path.as_str()])?.take(LOOK_BACK) {
        let entry = entry?;
        let Some(bytes) = repository.read(entry.id, path.as_str())? else { continue };
        if let Ok(file) = parse_with(&in_force.defaults(entry.committed), &id, path, &bytes) {
            return Ok(Some(TaskSummary::of(&file)));
        }
    }
    Ok(None)
}
