//! The things that tasks wait for, from summaries: incomplete dependencies, lost ones, circles, and days.

use std::collections::{HashMap, HashSet};

use jiff::tz::TimeZone;

use crate::domain::{Blocker, Due, LostDependency, Status, Task, TaskId, Timestamp};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{Waits, circle_of, circles, is_over, waits_for_children};
use crate::storage::ProjectPath;
use crate::storage::header_cache::{Hint, NextLooks};
use crate::storage::task_files;
use crate::storage::task_files::WalkEntry;
use crate::tasks::headers::children;
use crate::tasks::headers::listing::{ListScope, Listing, read_all};
use crate::tasks::headers::summary::{Awaited, TaskSummary};
use crate::tasks::state::task_state::{find, parse};

/// The state of the dependencies in a listing.
#[derive(Debug)]
pub(crate) struct Dependencies {
    unmet: HashSet<TaskId>,
    lost: HashMap<TaskId, LostDependency>,
    /// Ids that no file has.
    missing: HashSet<TaskId>,
    /// Tasks at gates that wait for their children, each with its open children.
    waiting: HashMap<TaskId, Vec<TaskId>>,
    now: Timestamp,
    /// The project's time zone.
    zone: TimeZone,
    looks: NextLooks,
}

impl Dependencies {
    /// Examines the dependencies of the listing's unfinished tasks. Reads the archive only if some are not active.
    pub(crate) fn read(workspace: &Workspace, in_force: &InForce, listing: &Listing) -> Self {
        let waiting = children::waiting(workspace, in_force, listing);
        let (now, zone) = (workspace.now(), in_force.rules.project.timezone.clone());
        let looks = NextLooks::load(&workspace.paths).unwrap_or_default();
        let (unmet, lost, missing) = (HashSet::new(), HashMap::new(), HashSet::new());
        let mut all = Self { unmet, lost, missing, waiting, now, zone, looks };
        let wanted = listing.tasks.iter().filter(|(task, _)| !task.is_finished());
        if wanted.clone().all(|(task, _)| task.depends_on.is_empty()) {
            return all;
        }
        let known: HashMap<&TaskId, (&TaskSummary, &ProjectPath)> =
            listing.tasks.iter().map(|(task, path)| (&task.id, (&**task, path))).collect();
        let mut elsewhere: HashSet<TaskId> = HashSet::new();
        for id in wanted.flat_map(|(task, _)| &task.depends_on) {
            match known.get(id) {
                Some((task, _)) if task.is_finished() && task.status == Status::Complete => {}
                Some((task, path)) => {
                    if all.unmet.insert(id.clone()) && task.is_finished() {
                        all.judge(id, read(workspace, in_force, id, path).as_ref());
                    }
                }
                None => {
                    if all.unmet.insert(id.clone()) {
                        elsewhere.insert(id.clone());
                    }
                }
            }
        }
        if elsewhere.is_empty() {
            return all;
        }
        // One walk through the archive finds all of them.
        for entry in task_files::walk_archived(&workspace.paths) {
            let WalkEntry::Task(entry) = entry else { continue };
            if elsewhere.remove(&entry.id) {
                let task = read(workspace, in_force, &entry.id, &entry.path);
                all.judge(&entry.id, task.as_ref());
            }
            if elsewhere.is_empty() {
                break;
            }
        }
        all.missing = elsewhere;
        all
    }

    /// Examines the listing, and sets in each of its tasks what it waits for.
    pub(crate) fn note(workspace: &Workspace, in_force: &InForce, listing: &mut Listing) -> Self {
        let dependencies = Self::read(workspace, in_force, listing);
        for (task, _) in &mut listing.tasks {
            task.awaited = dependencies.awaited_by(task);
        }
        dependencies
    }

    /// Returns the dependencies of the task that do not exist.
    pub(crate) fn missing_for<'h>(&self, task: &'h TaskSummary) -> Vec<&'h TaskId> {
        let waits = task.depends_on.iter().filter(|_| !task.is_finished());
        waits.filter(|id| self.missing.contains(*id)).collect()
    }

    fn judge(&mut self, id: &TaskId, task: Option<&Task>) {
        let Some(task) = task else { return };
        if task.status == Status::Complete {
            self.unmet.remove(id);
        }
        let why = task.history.last().map(|visit| visit.summary.as_str()).unwrap_or_default();
        let lost = LostDependency::new(task.id.clone(), task.status, why);
        self.lost.extend(lost.map(|lost| (id.clone(), lost)));
    }

    /// Returns whether everything that the task depends on is complete, its gate waits for no children, and its day has come.
    pub(crate) fn are_met(&self, task: &TaskSummary) -> bool {
        !task.depends_on.iter().any(|id| self.unmet.contains(id))
            && !self.waiting.contains_key(&task.id)
            && awaited_day(task, self.now, &self.zone).is_none()
    }

    /// Returns what a ready task waits for.
    pub(crate) fn awaited_by(&self, task: &TaskSummary) -> Awaited {
        if task.is_new || task.status != Status::Ready {
            return Awaited::default();
        }
        let unmet = task.depends_on.iter().filter(|id| self.unmet.contains(*id));
        let tasks = unmet.chain(self.waiting.get(&task.id).into_iter().flatten()).cloned();
        let day = awaited_day(task, self.now, &self.zone);
        Awaited { tasks: tasks.collect(), day, look: self.looks.after(&task.ticket(), self.now) }
    }

    /// Returns the lost dependencies of the task if they differ from those that it records; `None` for tasks in progress.
    pub(crate) fn changes_for(&self, task: &TaskSummary) -> Option<Vec<LostDependency>> {
        let known: Vec<&LostDependency> =
            task.lost_dependencies.iter().filter_map(Blocker::lost).collect();
        let mut lost: Vec<LostDependency> = Vec::new();
        for found in task.depends_on.iter().filter_map(|id| self.lost.get(id)) {
            // A blocker with the same text from a completion blocks already.
            let blocks = |blocker: &Blocker| blocker.lost() == Some(found);
            let is_given = !known.contains(&found) && task.blockers.iter().any(blocks);
            if !is_given && !lost.contains(found) {
                lost.push(found.clone());
            }
        }
        let is_ready = !task.is_new && task.status == Status::Ready;
        let waits = (is_ready || !known.is_empty()) && !task.is_finished();
        (waits && !lost.iter().eq(known)).then_some(lost)
    }
}

/// Returns the day before which the task is not handed out, if it has not come yet.
fn awaited_day(task: &Task, now: Timestamp, zone: &TimeZone) -> Option<Due> {
    task.plan.not_before.filter(|day| day.begins(zone) > now)
}

/// Returns what a ready task waits for. Its children are read only if its gate waits for them.
pub(crate) fn awaited_now(workspace: &Workspace, in_force: &InForce, task: &Task) -> Awaited {
    let waits = waits_for_children(&in_force.rules, task);
    let children =
        if waits { children::children(workspace, in_force, &task.id) } else { Vec::new() };
    awaited_by_one(workspace, in_force, task, &children)
}

/// Returns what one ready task waits for. `children` are its own; other tasks are read only if it names them.
pub(crate) fn awaited_by_one(
    workspace: &Workspace,
    in_force: &InForce,
    task: &Task,
    children: &[TaskSummary],
) -> Awaited {
    if task.gate.is_none() || task.status != Status::Ready {
        return Awaited::default();
    }
    let is_complete = |id: &TaskId| {
        let (snapshot, _) = find(workspace, id).ok()?;
        let task = read(workspace, in_force, id, &snapshot.path)?;
        Some(!task.is_new() && task.status == Status::Complete)
    };
    let unmet = task.depends_on.iter().filter(|id| is_complete(id) != Some(true)).cloned();
    let waits = waits_for_children(&in_force.rules, task);
    let open = children.iter().filter(|child| waits && (child.is_new || !is_over(child.status)));
    let tasks = unmet.chain(open.map(|child| child.id.clone())).collect();
    let now = workspace.now();
    let looks = NextLooks::load(&workspace.paths).unwrap_or_default();
    let day = awaited_day(task, now, &in_force.rules.project.timezone);
    Awaited { tasks, day, look: looks.after(&task.ticket(), now) }
}

fn read(
    workspace: &Workspace,
    in_force: &InForce,
    id: &TaskId,
    path: &ProjectPath,
) -> Option<Task> {
    let snapshot = task_files::read(&workspace.paths, path).ok()?;
    Some(parse(in_force, id, path, &snapshot.bytes, workspace.now()).ok()?.task)
}

/// Returns the tasks that each unfinished task waits for: its dependencies and its children.
fn waits(listing: &Listing) -> Waits<'_> {
    let active = listing.tasks.iter().map(|(task, _)| task).filter(|task| !task.is_finished());
    let mut waits = Waits::new();
    for task in active {
        add_waits(&mut waits, task);
    }
    waits
}

fn add_waits<'t>(waits: &mut Waits<'t>, task: &'t Task) {
    let id = task.id.as_str();
    waits.entry(id).or_default().extend(task.depends_on.iter().map(TaskId::as_str));
    if let Some(parent) = &task.parent {
        waits.entry(parent.as_str()).or_default().push(id);
    }
}

fn owned(circle: Vec<&str>) -> Vec<String> {
    circle.into_iter().map(str::to_owned).collect()
}

/// Returns the circles of tasks that wait for each other, and are never handed out.
pub(crate) fn waiting_in_circles(listing: &Listing) -> Vec<Vec<String>> {
    if listing.tasks.iter().all(|(task, _)| task.depends_on.is_empty() && task.parent.is_none()) {
        return Vec::new();
    }
    circles(&waits(listing)).into_iter().map(owned).collect()
}

/// Returns the circle that the task is in.
pub(crate) fn circle_around(
    workspace: &Workspace,
    in_force: &InForce,
    id: &TaskId,
) -> Option<Vec<String>> {
    let listing = read_all(workspace, in_force, ListScope::Active);
    circle_of(&waits(&listing), id.as_str()).map(owned)
}

/// Fails if the task, after the change, would wait for itself.
pub(crate) fn refuse_circle(
    workspace: &Workspace,
    in_force: &InForce,
    task: &Task,
) -> Result<(), ProjectError> {
    let mut listing = read_all(workspace, in_force, ListScope::Active);
    listing.tasks.retain(|(other, _)| other.id != task.id);
    let mut waits = waits(&listing);
    add_waits(&mut waits, task);
    let Some(circle) = circle_of(&waits, task.id.as_str()) else { return Ok(()) };
    Err(ProjectError::Unfit {
        code: "dependency_circle",
        problem: format!(
            "these would wait for each other, and none would ever be handed out: {}",
            circle_text(&circle)
        ),
        fix: "leave one of these out: a task waits for what it depends on, and for its children"
            .into(),
    })
}

/// Returns a circle as text that ends where it began.
pub(crate) fn circle_text<T: AsRef<str>>(circle: &[T]) -> String {
    let names: Vec<&str> = circle.iter().chain(circle.first()).map(AsRef::as_ref).collect();
    names.join(" -> ")
}
