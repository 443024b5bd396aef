//! The children of tasks: those whose `parent` a task is.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::domain::{AgentId, Priority, Remedy, Status, Task, TaskId, WaitFor, advice, listed};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{is_over, waits_for_children};
use crate::storage::ProjectPath;
use crate::tasks::headers::listing::{ListScope, Listing, read_all};
use crate::tasks::headers::summary::{ChildProgress, TaskSummary, gate_of};
use crate::tasks::state::task_state::{TaskState, committed_task, parse};

/// Returns the children that the open gate of the task waits for, with their states in HEAD: the resulting entry is compared with the
/// commit before it. Empty at other gates.
pub(crate) fn awaited(
    workspace: &Workspace,
    state: &TaskState,
) -> Result<BTreeMap<TaskId, Status>, ProjectError> {
    let mut found = BTreeMap::new();
    if !waits_for_children(&state.in_force.rules, &state.file.task) {
        return Ok(found);
    }
    let listing = read_all(workspace, &state.in_force, ListScope::All);
    for (child, path) in &listing.tasks {
        if child.parent.as_ref() != Some(&state.id) {
            continue;
        }
        match committed_status(workspace, state, &child.id, path)? {
            Some((parent, status)) if parent.as_ref() == Some(&state.id) => {
                found.insert(child.id.clone(), status);
            }
            // A child that is not committed has not begun.
            _ => {
                found.insert(child.id.clone(), Status::Ready);
            }
        }
    }
    Ok(found)
}

/// Returns parent and status of the child in HEAD; `None` if HEAD does not have it.
fn committed_status(
    workspace: &Workspace,
    state: &TaskState,
    id: &TaskId,
    path: &ProjectPath,
) -> Result<Option<(Option<TaskId>, Status)>, ProjectError> {
    let Some(commit) = state.head.commit else { return Ok(None) };
    let file = match workspace.repository.read(commit, path.as_str())? {
        Some(bytes) => parse(&state.in_force, id, path, &bytes, workspace.now()).ok(),
        None => committed_task(workspace, &state.in_force, commit, id)?,
    };
    Ok(file.map(|file| (file.task.parent.clone(), file.task.status)))
}

/// Returns the ready tasks of the listing that wait for children, each with its open children. Reads the archive only for tasks without
/// open children outside it: failed ones are there.
pub(crate) fn waiting(
    workspace: &Workspace,
    in_force: &InForce,
    listing: &Listing,
) -> HashMap<TaskId, Vec<TaskId>> {
    let waits = |task: &TaskSummary| {
        let gate = gate_of(&in_force.rules, task).filter(|_| task.status == Status::Ready);
        gate.is_some_and(|gate| gate.wait_for == Some(WaitFor::Children))
    };
    let standing: HashSet<&TaskId> =
        listing.tasks.iter().filter(|(task, _)| waits(task)).map(|(task, _)| &task.id).collect();
    if standing.is_empty() {
        return HashMap::new();
    }
    let with_open_children = |listing: &Listing| {
        let open = listing.tasks.iter().filter(|(task, _)| task.is_new || !is_over(task.status));
        let mut found: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
        for (child, _) in open {
            if let Some(parent) = child.parent.as_ref().filter(|parent| standing.contains(parent)) {
                found.entry(parent.clone()).or_default().push(child.id.clone());
            }
        }
        found
    };
    let found = with_open_children(listing);
    if found.len() == standing.len() {
        return found;
    }
    with_open_children(&read_all(workspace, in_force, ListScope::All))
}

/// Returns the progress of the children of each task.
pub(crate) fn progress(listing: &Listing) -> HashMap<TaskId, ChildProgress> {
    let mut all: HashMap<TaskId, ChildProgress> = HashMap::new();
    for (child, _) in &listing.tasks {
        if let Some(parent) = &child.parent {
            all.entry(parent.clone()).or_default().count(child);
        }
    }
    all
}

/// Returns the children of a task, oldest first.
pub(crate) fn children(workspace: &Workspace, in_force: &InForce, id: &TaskId) -> Vec<TaskSummary> {
    let all = read_all(workspace, in_force, ListScope::All).tasks.into_iter();
    let children = all.map(|(task, _)| *task).filter(|task| task.parent.as_ref() == Some(id));
    let mut children: Vec<TaskSummary> = children.collect();
    children.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
    children
}

/// Puts each task below its parent, if that is listed. Keeps the order otherwise. Returns the depth of each task.
pub(crate) fn as_tree(tasks: &mut Vec<(Box<TaskSummary>, ProjectPath)>) -> Vec<usize> {
    let listed: HashSet<TaskId> = tasks.iter().map(|(task, _)| task.id.clone()).collect();
    let parent = |task: &TaskSummary| task.parent.clone().filter(|id| listed.contains(id));
    let mut below: HashMap<Option<TaskId>, Vec<usize>> = HashMap::new();
    for (place, (task, _)) in tasks.iter().enumerate().rev() {
        below.entry(parent(task)).or_default().push(place);
    }
    let mut order: Vec<(usize, usize)> = Vec::new();
    let mut next: Vec<(usize, usize)> =
        below.remove(&None).unwrap_or_default().into_iter().map(|place| (place, 0)).collect();
    let mut seen = vec![false; tasks.len()];
    loop {
        while let Some((place, depth)) = next.pop() {
            seen[place] = true;
            order.push((place, depth));
            let children = below.remove(&Some(tasks[place].0.id.clone())).unwrap_or_default();
            next.extend(children.into_iter().map(|child| (child, depth + 1)));
        }
        // One of the tasks that are parts of each other becomes a root.
        let Some(left) = seen.iter().position(|seen| !seen) else { break };
        for places in below.values_mut() {
            places.retain(|place| *place != left);
        }
        next.push((left, 0));
    }
    let mut taken: Vec<_> = std::mem::take(tasks).into_iter().map(Some).collect();
    tasks.extend(order.iter().filter_map(|(place, _)| taken[*place].take()));
    order.into_iter().map(|(_, depth)| depth).collect()
}

/// The most tasks that agents may create below a task during one visit of it.
const MOST_CHILDREN: usize = 20;

/// The most levels of tasks that agents may create below a person's task.
const MOST_LEVELS: usize = 3;

/// The tasks of an agent that creates others: the new ones become parts of the task that it holds.
pub(crate) struct CreatorTasks {
    agent: AgentId,
    all: HashMap<TaskId, TaskSummary>,
    made: usize,
}

impl CreatorTasks {
    pub(crate) fn of(workspace: &Workspace, in_force: &InForce, agent: &AgentId) -> Self {
        let listing = read_all(workspace, in_force, ListScope::All);
        let all = listing.tasks.into_iter().map(|(task, _)| (task.id.clone(), *task));
        Self { agent: agent.clone(), all: all.collect(), made: 0 }
    }

    /// Makes the new task a part of the task that the agent holds. `is_requested`: if it holds none, the task gets no parent. Fails if the
    /// agent holds none, or has created too many.
    pub(crate) fn adopt(&mut self, new: &mut Task, is_requested: bool) -> Result<(), ProjectError> {
        new.created_by = Some(self.agent.clone());
        let Some(parent) = self.parent(new.parent.as_ref(), is_requested)? else { return Ok(()) };
        new.parent = Some(parent.id.clone());
        let refused =
            |code, problem, fix: &str| Err(ProjectError::Unfit { code, problem, fix: fix.into() });
        let (id, priority) = (&parent.id, parent.priority());
        if !new.states_priority() {
            new.plan.priority = (priority > Priority::Medium).then(|| priority.to_string());
        } else if new.priority() < priority {
            let problem = format!(
                "priority `{}` is above that of `{id}`, which the new task is a part of: `{priority}`",
                new.priority()
            );
            return refused("priority_too_high", problem, "leave it out, or give that one");
        }
        let ancestors =
            std::iter::successors(Some(parent), |task| self.all.get(task.parent.as_ref()?));
        if ancestors.take(MOST_LEVELS + 1).count() > MOST_LEVELS {
            let problem = format!(
                "`{id}` is {MOST_LEVELS} levels below another task: agents create no more below it"
            );
            return refused(
                "too_deep",
                problem,
                "do the work in this task, or say what is left to do in its summary",
            );
        }
        let since = parent.gate.as_ref().map_or(parent.created, |open| open.entered);
        let siblings = self.all.values().filter(|task| {
            task.parent.as_ref() == Some(id) && task.created_by.is_some() && task.created >= since
        });
        if siblings.count() + self.made >= MOST_CHILDREN {
            let problem = format!(
                "agents have created {MOST_CHILDREN} tasks below `{id}` since it came to its gate, and that is the most"
            );
            return refused("too_many_children", problem, "put what is left into one of them");
        }
        self.made += 1;
        Ok(())
    }

    /// Returns the task that the agent holds: the named one, or the only one.
    fn parent(
        &self,
        named: Option<&TaskId>,
        is_requested: bool,
    ) -> Result<Option<&TaskSummary>, ProjectError> {
        let agent = &self.agent;
        let holds = |task: &&TaskSummary| !task.is_finished() && task.is_held_by(agent);
        let mut held: Vec<&TaskSummary> = self.all.values().filter(holds).collect();
        held.sort_by(|a, b| a.id.cmp(&b.id));
        let ids = listed(held.iter().map(|task| &task.id));
        let (code, problem, fix) = match (named, &held[..]) {
            (None, []) if is_requested => return Ok(None),
            (_, []) => (
                "no_parent_held",
                format!("`{agent}` creates tasks as parts of its own task, and it holds none"),
                advice!["take one first, as with ", Remedy::Next, "; or have a person create it"],
            ),
            (None, [only]) => return Ok(Some(only)),
            (None, _) => (
                "not_your_parent",
                format!("`{agent}` holds {ids}: say which of them the new task is a part of"),
                "name it as the parent".into(),
            ),
            (Some(id), _) => match held.iter().find(|task| task.id == *id) {
                Some(task) => return Ok(Some(task)),
                None => (
                    "not_your_parent",
                    format!(
                        "`{agent}` creates tasks as parts of its own task, and does not hold `{id}`"
                    ),
                    format!("it holds {ids}: leave the parent out, or name one of these").into(),
                ),
            },
        };
        Err(ProjectError::Unfit { code, problem, fix })
    }
}
