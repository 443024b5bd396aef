//! What tasks wait for, from headers: dependencies that are not complete, those that are lost, and circles.

use std::collections::{HashMap, HashSet};

use crate::domain::{LostDependency, Status, Task, TaskId};
use crate::project::active_rules::InForce;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::{Waits, circle_of, circles};
use crate::storage::ProjectPath;
use crate::storage::tasks::task_files;
use crate::storage::tasks::walk::WalkEntry;
use crate::tasks::headers::header::Header;
use crate::tasks::headers::listing::{Listing, Scope, read_all};
use crate::tasks::state::task_state::parse;

/// How the dependencies of a listing stand.
#[derive(Debug, Default)]
pub(crate) struct Dependencies {
    unmet: HashSet<String>,
    lost: HashMap<String, LostDependency>,
    /// Ids that no file has.
    missing: HashSet<TaskId>,
}

impl Dependencies {
    /// Looks at what unfinished tasks of the listing depend on. Only what is not active costs a look into the archive.
    pub(crate) fn of(workspace: &Workspace, in_force: &InForce, listing: &Listing) -> Self {
        let known: HashMap<&str, (&Header, &ProjectPath)> = listing
            .tasks
            .iter()
            .map(|(header, path)| (header.id.as_str(), (header, path)))
            .collect();
        let wanted = listing.tasks.iter().filter(|(header, _)| !is_finished(header));
        let mut all = Self::default();
        let mut elsewhere: HashSet<TaskId> = HashSet::new();
        for id in wanted.flat_map(|(header, _)| &header.depends_on) {
            match known.get(id.as_str()) {
                Some((header, _)) if header.status == Status::Complete.as_str() => {}
                Some((header, path)) => {
                    if all.unmet.insert(id.clone()) && is_finished(header) {
                        all.note(&header.id, read(workspace, in_force, path).as_ref());
                    }
                }
                None => {
                    if all.unmet.insert(id.clone()) {
                        elsewhere.extend(id.parse::<TaskId>());
                    }
                }
            }
        }
        if elsewhere.is_empty() {
            return all;
        }
        // One walk through the archive answers for all of them.
        for entry in task_files::walk_archived(&workspace.paths) {
            let WalkEntry::Task(entry) = entry else { continue };
            if elsewhere.remove(&entry.id) {
                all.note(entry.id.as_str(), read(workspace, in_force, &entry.path).as_ref());
            }
            if elsewhere.is_empty() {
                break;
            }
        }
        all.missing = elsewhere;
        all
    }

    /// Returns what the task depends on and that no file has.
    pub(crate) fn missing_for<'h>(&self, header: &'h Header) -> Vec<&'h str> {
        let missing =
            |id: &&String| self.missing.iter().any(|missing| missing.as_str() == id.as_str());
        if is_finished(header) {
            Vec::new()
        } else {
            header.depends_on.iter().filter(missing).map(String::as_str).collect()
        }
    }

    fn note(&mut self, id: &str, task: Option<&Task>) {
        let Some(task) = task else { return };
        if task.status == Status::Complete {
            self.unmet.remove(id);
        }
        let why = task.history.last().map(|visit| visit.summary.as_str()).unwrap_or_default();
        let lost = LostDependency::of(task.id.clone(), task.status, why);
        self.lost.extend(lost.map(|lost| (id.to_owned(), lost)));
    }

    /// Returns whether everything that the task depends on is complete.
    pub(crate) fn are_met(&self, header: &Header) -> bool {
        !header.depends_on.iter().any(|id| self.unmet.contains(id))
    }

    /// Returns what the task depends on and that is lost; nothing where the task knows it, and of tasks that somebody works at.
    pub(crate) fn news_for(&self, header: &Header) -> Option<Vec<LostDependency>> {
        let known: Vec<LostDependency> =
            header.lost_dependencies.iter().filter_map(|text| LostDependency::read(text)).collect();
        // What a completion said already stands in the way as its own.
        let said = |lost: &&LostDependency| {
            !known.contains(lost) && header.blockers.contains(&lost.to_string())
        };
        let named = |(index, id): &(usize, &String)| !header.depends_on[..*index].contains(id);
        let depends_on = header.depends_on.iter().enumerate().filter(named).map(|(_, id)| id);
        let lost = depends_on.filter_map(|id| self.lost.get(id)).filter(|lost| !said(lost));
        let waits = header.status == Status::Ready.as_str() || !known.is_empty();
        (waits && !is_finished(header) && !lost.clone().eq(&known)).then(|| lost.cloned().collect())
    }
}

fn read(workspace: &Workspace, in_force: &InForce, path: &ProjectPath) -> Option<Task> {
    let id: TaskId = path.name().strip_suffix(".md")?.parse().ok()?;
    let snapshot = task_files::read(&workspace.paths, path).ok()?;
    Some(parse(in_force, &id, path, &snapshot.bytes, workspace.now()).ok()?.task)
}

fn is_finished(header: &Header) -> bool {
    header.status.parse::<Status>().is_ok_and(Status::is_finished)
}

/// Returns what waits for what; nothing waits for what has ended.
fn waits(listing: &Listing) -> Waits<'_> {
    let active =
        listing.tasks.iter().map(|(header, _)| header).filter(|header| !is_finished(header));
    active
        .map(|header| (header.id.as_str(), header.depends_on.iter().map(String::as_str).collect()))
        .collect()
}

/// Returns the tasks that wait for each other in circles, and are never handed out.
pub(crate) fn waiting_in_circles(listing: &Listing) -> Vec<Vec<String>> {
    if listing.tasks.iter().all(|(header, _)| header.depends_on.is_empty()) {
        return Vec::new();
    }
    circles(&waits(listing))
        .into_iter()
        .map(|circle| circle.into_iter().map(str::to_owned).collect())
        .collect()
}

/// Returns the circle that the task is in.
pub(crate) fn circle_around(
    workspace: &Workspace,
    in_force: &InForce,
    id: &TaskId,
) -> Option<Vec<String>> {
    let listing = read_all(workspace, in_force, Scope::Active);
    let circle = circle_of(&waits(&listing), id.as_str())?;
    Some(circle.into_iter().map(str::to_owned).collect())
}

/// Returns whether the task can wait for these without waiting for itself in the end.
pub(crate) fn refuse_circle(
    workspace: &Workspace,
    in_force: &InForce,
    id: &TaskId,
    depends_on: &[TaskId],
) -> Result<(), OpsError> {
    let listing = read_all(workspace, in_force, Scope::Active);
    let mut waits = waits(&listing);
    waits.insert(id.as_str(), depends_on.iter().map(TaskId::as_str).collect());
    let Some(circle) = circle_of(&waits, id.as_str()) else { return Ok(()) };
    Err(OpsError::Unfit {
        code: "dependency_circle",
        problem: format!(
            "these would wait for each other, and none would ever be handed out: {}",
            round(&circle)
        ),
        fix: "leave one of these dependencies out".to_owned(),
    })
}

/// Returns a circle as people read it: back to where it began.
pub(crate) fn round<T: AsRef<str>>(circle: &[T]) -> String {
    let names: Vec<&str> = circle.iter().chain(circle.first()).map(AsRef::as_ref).collect();
    names.join(" -> ")
}
