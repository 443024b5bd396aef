//! Filtered and sorted lists of tasks. Reads summaries only.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use crate::domain::{AgentId, Branch, Due, Gate, GateId, RoleId, Status, TaskId, Timestamp};
use crate::project::active_rules::InForce;
use crate::project::error::{Named, ProjectError};
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::tasks::headers::children;
use crate::tasks::headers::dependencies::{Dependencies, waiting_in_circles};
use crate::tasks::headers::filter::{FilterKey, FilterState, Filterable, TaskFilter};
use crate::tasks::headers::listing::{ListScope, Listing, Match, joined, read_all};
use crate::tasks::headers::search::{KnownMatches, Query};
use crate::tasks::headers::summary::TaskSummary;
use crate::tasks::headers::waiting::{WaitingDecision, waiting_for};

/// The selection of a list.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListRequest {
    pub filter: TaskFilter,
    /// The reader, for [`FilterState::Mine`] and [`FilterState::Waiting`].
    pub you: Option<AgentId>,
    /// Due before that day, or that time.
    pub due_before: Option<Due>,
    /// With these terms in its text.
    pub search: Option<Query>,
    /// Finished tasks too.
    pub all: bool,
    pub shape: ListShape,
    /// True if the listing says which tasks wait for the reader's decision.
    pub marks_waiting: bool,
    /// The task of which they are parts.
    pub parent: Option<TaskId>,
}

impl ListRequest {
    /// Returns the request for the tasks that an agent has claimed.
    pub(crate) fn held_by(agent: &AgentId) -> Self {
        Self { filter: TaskFilter::default().with(FilterKey::Agent, [agent]), ..Self::default() }
    }
}

/// The layout of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ListShape {
    #[default]
    Flat,
    /// Each task below the one that it is a part of.
    Tree,
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Sort {
    /// By [`TaskSummary::urgency`].
    #[default]
    Priority,
    /// The oldest first.
    Created,
    /// The last changed first.
    Updated,
    /// The earliest due first, then the most urgent.
    Due,
    /// The longest at its gate first.
    Waiting,
    /// The best matches of a search first, then the last changed.
    Relevance,
    /// By id.
    Id,
}

/// Returns the matching tasks, in order. Unreadable files are listed separately.
pub(crate) fn list(
    workspace: &Workspace,
    in_force: &InForce,
    request: &ListRequest,
    sort: Sort,
) -> Listing {
    let ListRequest { filter, you, due_before, search, all, shape, marks_waiting, parent } =
        request;
    let is_finished = |status: Status| status.is_finished();
    let mut statuses = filter.of_key(FilterKey::Status).filter_map(|word| word.parse().ok());
    let wants_finished = *all || statuses.any(is_finished);
    let is_tree = *shape == ListShape::Tree;
    // The progress of children counts finished ones.
    let scope = if wants_finished || is_tree { ListScope::All } else { ListScope::Active };
    let paths = &workspace.paths;
    let (mut listing, known) = std::thread::scope(|threads| {
        let find = |query| threads.spawn(move || KnownMatches::new(paths, query));
        let known = search.as_ref().map(find);
        (read_all(workspace, in_force, scope), known.map(joined))
    });
    let found = known.map(|known| known.find(workspace, in_force, &listing, scope));
    let found = found.unwrap_or_default();
    let dependencies = Dependencies::note(workspace, in_force, &mut listing);
    listing.circles = waiting_in_circles(&listing);
    listing.progress = children::progress(&listing);
    if scope == ListScope::Active && *marks_waiting && !listing.progress.is_empty() {
        listing.progress = children::progress(&read_all(workspace, in_force, ListScope::All));
    }
    let waiting = match you {
        Some(you) if *marks_waiting || filter.asks_for(FilterState::Waiting) => {
            waiting_for(workspace, in_force, &listing, you)
        }
        _ => Vec::new(),
    };
    let zone = &in_force.rules.project.timezone;
    let is_due = |task: &TaskSummary, limit| {
        task.plan.due.is_some_and(|due| !task.is_finished() && due.is_before(limit, zone))
    };
    let (rules, now) = (&in_force.rules, workspace.now());
    let (dependencies, waiting, you) = (&dependencies, &waiting[..], you.as_ref());
    (listing.tasks, listing.left_out) = listing.tasks.into_iter().partition(|(task, _)| {
        (wants_finished || !task.is_finished())
            && filter.admits(&ListCandidate { task, rules, you, waiting, dependencies, now })
            && due_before.is_none_or(|limit| is_due(task, limit))
            && (search.is_none() || found.contains_key(&task.id))
            && (parent.is_none() || task.parent == *parent)
    });
    listing.waiting = waiting.iter().map(|decision| decision.ticket.task.clone()).collect();
    listing.tasks.sort_by(|(a, _), (b, _)| order(a, b, sort, &found, now));
    listing.matches = found;
    listing.depths = is_tree.then(|| children::as_tree(&mut listing.tasks));
    listing
}

/// A task of a list, and the facts around it that a filter asks for.
struct ListCandidate<'l> {
    task: &'l TaskSummary,
    rules: &'l Rules,
    you: Option<&'l AgentId>,
    waiting: &'l [WaitingDecision],
    dependencies: &'l Dependencies,
    now: Timestamp,
}

impl Filterable for ListCandidate<'_> {
    fn texts(&self) -> Vec<&str> {
        let tags = self.task.tags.iter().map(String::as_str);
        [self.task.id.as_str(), &self.task.title].into_iter().chain(tags).collect()
    }

    fn values(&self, key: FilterKey) -> Vec<&str> {
        let task = self.task;
        match key {
            FilterKey::Role => task.roles().map(RoleId::as_str).collect(),
            FilterKey::Agent => task.agent_names(self.rules).collect(),
            FilterKey::Assignee => task.assignee_names(self.rules).collect(),
            FilterKey::Tag => task.tags.iter().map(String::as_str).collect(),
            FilterKey::Workflow => vec![task.routing.workflow.as_str()],
            FilterKey::Milestone => task.plan.milestone.as_deref().into_iter().collect(),
            FilterKey::Gate => {
                let branches = task.open_branches.iter().map(|branch| &branch.id);
                task.current_gate().into_iter().chain(branches).map(GateId::as_str).collect()
            }
            FilterKey::Status => vec![task.shown_state()],
            FilterKey::Priority => vec![task.priority().as_str()],
        }
    }

    fn is(&self, state: FilterState) -> bool {
        let task = self.task;
        match state {
            FilterState::Mine => self.you.is_some_and(|you| task.is_mine(self.rules, you)),
            FilterState::Overdue => task.is_overdue(self.now),
            FilterState::Ready => is_ready(task, self.dependencies),
            FilterState::Blocked => task.shown_state() == Status::Blocked.as_str(),
            FilterState::Waiting => self.waiting.iter().any(|one| one.ticket.task == task.id),
            FilterState::Escalated => task.escalated().is_some(),
            FilterState::Held => task.is_held(),
        }
    }
}

fn order(
    a: &TaskSummary,
    b: &TaskSummary,
    sort: Sort,
    found: &HashMap<TaskId, Match>,
    now: Timestamp,
) -> Ordering {
    let by_urgency = |task: &TaskSummary| task.urgency(now);
    let score = |task: &TaskSummary| found.get(&task.id).map(|found| found.score);
    let since = |task: &TaskSummary| task.entered().unwrap_or(i64::MAX);
    let by = match sort {
        Sort::Priority => by_urgency(a).cmp(&by_urgency(b)),
        Sort::Due => {
            a.due_or_never().cmp(&b.due_or_never()).then(by_urgency(a).cmp(&by_urgency(b)))
        }
        Sort::Created => a.created.cmp(&b.created),
        Sort::Updated => b.updated.cmp(&a.updated),
        Sort::Waiting => since(a).cmp(&since(b)),
        Sort::Relevance => score(b).cmp(&score(a)).then(b.updated.cmp(&a.updated)),
        Sort::Id => Ordering::Equal,
    };
    // Tasks of one second have fractions of it, in the order of their creation.
    let made = if sort == Sort::Id { Ordering::Equal } else { a.created.cmp(&b.created) };
    by.then(made).then_with(|| a.id.cmp(&b.id))
}

/// Returns whether the task can be handed out: it is ready, and its dependencies are complete.
pub(crate) fn is_ready(task: &TaskSummary, dependencies: &Dependencies) -> bool {
    !task.is_new && task.status == Status::Ready && dependencies.are_met(task)
}

/// Returns a task that the agent has claimed.
pub(crate) fn task_held_by(
    workspace: &Workspace,
    agent: &AgentId,
) -> Result<Option<TaskId>, ProjectError> {
    let listing =
        list(workspace, &workspace.rules()?, &ListRequest::held_by(agent), Sort::Priority);
    Ok(listing.tasks.first().map(|(task, _)| task.id.clone()))
}

/// Checks the names of a filter. Fails for a name that is neither in the rules nor in the listing; rules change, so a listed old name
/// is valid.
pub(crate) fn check_filter_names(
    filter: &TaskFilter,
    rules: &Rules,
    listing: &Listing,
) -> Result<(), ProjectError> {
    let gates: Vec<&Gate> =
        rules.project.workflows.iter().flat_map(|workflow| &workflow.gates).collect();
    let check = |kind, given: &str, known: Vec<&str>, is_in: &dyn Fn(&TaskSummary) -> bool| {
        if known.contains(&given) || listing.tasks.iter().any(|(task, _)| is_in(task)) {
            return Ok(());
        }
        let known: BTreeSet<String> = known.into_iter().map(str::to_owned).collect();
        let known = known.into_iter().collect();
        Err(ProjectError::Unknown { kind, given: given.to_owned(), known })
    };
    let workflows =
        || rules.project.workflows.iter().map(|workflow| workflow.name.as_str()).collect();
    for name in filter.of_key(FilterKey::Workflow) {
        let is_in = |task: &TaskSummary| task.routing.workflow.as_str() == name;
        check(Named::Workflow, name, workflows(), &is_in)?;
    }
    for id in filter.of_key(FilterKey::Gate) {
        let known = gates.iter().flat_map(|gate| {
            [&gate.id].into_iter().chain(
                gate.fork().into_iter().flat_map(|fork| fork.branches.iter().map(Branch::id)),
            )
        });
        let is_in =
            |task: &TaskSummary| task.current_gate().is_some_and(|gate| gate.as_str() == id);
        check(Named::Gate, id, known.map(GateId::as_str).collect(), &is_in)?;
    }
    for role in filter.of_key(FilterKey::Role) {
        let of_org = rules.org.roles.iter().map(|(role, _)| role);
        let of_gates = gates.iter().flat_map(|gate| gate.roles());
        let known = of_org.chain(of_gates).map(RoleId::as_str).collect();
        let is_in = |task: &TaskSummary| task.roles().any(|other| other.as_str() == role);
        check(Named::Role, role, known, &is_in)?;
    }
    if !rules.project.implicit_workflow {
        let names = [FilterKey::Agent, FilterKey::Assignee].map(|key| filter.of_key(key));
        for name in names.into_iter().flatten() {
            let known = rules.org.all_agents().into_iter().map(AgentId::as_str).collect();
            let is_in = |task: &TaskSummary| {
                task.agents().any(|other| other.as_str() == name)
                    || task.plan.assignee.iter().any(|other| other == name)
            };
            if rules.org.agent_named(name).is_none() {
                check(Named::Agent, name, known, &is_in)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::task_file::{Defaults, parse};

    fn task(id: &str, more: &str) -> TaskSummary {
        let text = format!("---\ntitle: Title of {id}\nstatus: ready\ntags: [Auth]\n{more}---\n");
        let defaults = Defaults {
            workflow: "default".parse().unwrap(),
            created: crate::domain::Timestamp::UNIX_EPOCH,
        };
        TaskSummary::of(&parse(text.as_bytes(), &id.parse().unwrap(), &defaults).unwrap())
    }

    fn sorted(sort: Sort) -> Vec<String> {
        let made = |id: &str, priority: &str, created: u32, entered: Option<u32>| {
            let at = |second: u32| format!("2026-02-16T12:00:{second:02}Z");
            let gate = entered.map(|second| {
                format!("gate: {{current: work, entered: \"{}\", visit: 0}}\n", at(second))
            });
            let created = at(created);
            task(
                id,
                &format!(
                    "created: {created}\nupdated: {created}\nmetadata: {{priority: {priority}}}\n{}",
                    gate.unwrap_or_default()
                ),
            )
        };
        let mut tasks = [
            made("AOF-aaa", "low", 1, Some(9)),
            made("AOF-bbb", "critical", 3, None),
            made("AOF-ccc", "medium", 2, Some(5)),
            made("AOF-ddd", "medium", 2, Some(5)),
        ];
        tasks.sort_by(|a, b| order(a, b, sort, &HashMap::new(), Timestamp::UNIX_EPOCH));
        tasks.map(|task| task.id.as_str()[4..].to_owned()).to_vec()
    }

    #[test]
    fn every_order_is_total() {
        assert_eq!(sorted(Sort::Priority), ["bbb", "ccc", "ddd", "aaa"]);
        assert_eq!(sorted(Sort::Created), ["aaa", "ccc", "ddd", "bbb"]);
        assert_eq!(sorted(Sort::Updated), ["bbb", "ccc", "ddd", "aaa"]);
        let waiting = sorted(Sort::Waiting);
        assert_eq!(waiting, ["ccc", "ddd", "aaa", "bbb"], "who is at no gate waits least");
        assert_eq!(sorted(Sort::Id), ["aaa", "bbb", "ccc", "ddd"]);
    }
}
