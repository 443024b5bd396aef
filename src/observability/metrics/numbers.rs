//! The project in numbers, for Prometheus: counted from the task files, so that a restart resets nothing and two who count agree. No label
//! names a task. A task whose file cannot be read is not counted.

use super::count;
use super::families;
use super::known_series;
use crate::domain::Timestamp;
use crate::observability::events::catch_up::event_counts;
use crate::observability::exposition::{Family, Labels};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::tasks::headers::listing::{ListScope, Unreadable, read_all};
use crate::tasks::inbox::pending;

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
    pub untold: Option<ProjectError>,
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
pub(crate) fn numbers(workspace: &Workspace, in_force: &InForce) -> Result<Numbers, ProjectError> {
    let listing = read_all(workspace, in_force, ListScope::All);
    let known = known_series::of(&in_force.rules);
    let counts = count::of(&known, listing.tasks.iter().map(|(header, _)| header));
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
