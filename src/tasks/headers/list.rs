//! Filtered and sorted lists of tasks. Reads summaries only.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use crate::domain::{
    AgentId, Due, Gate, GateId, RoleId, Status, TaskId, Timestamp, WorkflowName, composed,
};
use crate::project::active_rules::InForce;
use crate::project::error::{Named, ProjectError};
use crate::project::rule_lookup::find_workflow;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::tasks::headers::children;
use crate::tasks::headers::dependencies::{Dependencies, waiting_in_circles};
use crate::tasks::headers::listing::{ListScope, Listing, Match, TaskTree, joined, read_all};
use crate::tasks::headers::search::{KnownMatches, Query};
use crate::tasks::headers::summary::{NEW, TaskSummary, WAITING};

/// The conditions for listed tasks. All given ones must hold.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a condition of its own")]
pub(crate) struct Filter {
    /// Tasks of one of these workflows.
    pub workflows: Vec<WorkflowName>,
    pub gates: Vec<GateId>,
    /// Tasks of one of these roles.
    pub roles: Vec<RoleId>,
    /// Claimed by this agent.
    pub agent: Option<AgentId>,
    /// Claimed by this agent, or free and of one of its roles.
    pub mine: Option<AgentId>,
    /// In one of these states; in any state if this is empty and neither [`Filter::hand_made`] nor
    /// [`Filter::waiting`] is set.
    pub statuses: Vec<Status>,
    /// Hand-made files that are not adopted yet.
    pub hand_made: bool,
    /// Ready tasks that wait for others; [`Filter::statuses`] leaves them out.
    pub waiting: bool,
    pub milestones: Vec<String>,
    /// Late: the due date or the time limit of the gate has passed.
    pub overdue: bool,
    /// Due before that day, or that time.
    pub due_before: Option<Due>,
    /// With all of these labels.
    pub tags: Vec<String>,
    /// Ready, with all dependencies complete.
    pub ready: bool,
    /// With these terms in its text.
    pub search: Option<Query>,
    /// Finished tasks too.
    pub all: bool,
    pub shape: ListShape,
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
    /// The most urgent first, then the earliest due, then the oldest.
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
    filter: &Filter,
    sort: Sort,
) -> Listing {
    let wants_finished = filter.all || filter.statuses.iter().any(|status| status.is_finished());
    let is_tree = filter.shape == ListShape::Tree;
    // The progress of children counts finished ones.
    let scope = if wants_finished || is_tree { ListScope::All } else { ListScope::Active };
    let paths = &workspace.paths;
    let (mut listing, known) = std::thread::scope(|threads| {
        let search = |query| threads.spawn(move || KnownMatches::of(paths, query));
        let known = filter.search.as_ref().map(search);
        (read_all(workspace, in_force, scope), known.map(joined))
    });
    let found = known.map(|known| known.find(workspace, in_force, &listing, scope));
    let found = found.unwrap_or_default();
    let dependencies = Dependencies::note(workspace, in_force, &mut listing);
    listing.circles = waiting_in_circles(&listing);
    let progress = is_tree.then(|| children::progress(&listing));
    (listing.tasks, listing.left_out) = listing.tasks.into_iter().partition(|(task, _)| {
        (wants_finished || !task.is_finished())
            && filter.wants(&in_force.rules, task, workspace.now())
            && (filter.search.is_none() || found.contains_key(&task.id))
            && (!filter.ready || is_ready(task, &dependencies))
    });
    listing.tasks.sort_by(|(a, _), (b, _)| order(a, b, sort, &found));
    listing.matches = found;
    listing.tree = progress
        .map(|progress| TaskTree { depths: children::as_tree(&mut listing.tasks), progress });
    listing
}

impl Filter {
    fn wants(&self, rules: &Rules, task: &TaskSummary, now: Timestamp) -> bool {
        let (org, zone) = (&rules.org, &rules.project.timezone);
        let any_status = self.statuses.is_empty() && !self.hand_made && !self.waiting;
        let status = match task.shown_state() {
            NEW => self.hand_made,
            WAITING => self.waiting,
            _ => self.statuses.contains(&task.status),
        };
        let is_before = |limit| {
            task.plan.due.is_some_and(|due| !task.is_finished() && due.is_before(limit, zone))
        };
        let has = |agent: &AgentId| task.agents().any(|holder| holder == agent);
        let may_take = |agent: &AgentId| {
            task.free_roles().any(|role| org.roles_of(agent).any(|own| own == role))
        };
        one_of(&self.workflows, [&task.routing.workflow])
            && one_of(&self.gates, task.current_gate())
            && one_of(&self.roles, task.roles())
            && (any_status || status)
            && self.agent.as_ref().is_none_or(has)
            && self.mine.as_ref().is_none_or(|agent| has(agent) || may_take(agent))
            && (self.milestones.is_empty()
                || task.plan.milestone.as_deref().is_some_and(|own| same(&self.milestones, own)))
            && (!self.overdue || task.is_overdue(now))
            && self.due_before.is_none_or(is_before)
            && self.tags.iter().all(|tag| same(&task.tags, tag))
    }
}

/// Returns whether the text is among these, regardless of how accents are encoded.
pub(crate) fn same(texts: &[String], wanted: &str) -> bool {
    texts.iter().any(|text| text == wanted || composed(text) == composed(wanted))
}

fn one_of<'t, T: PartialEq + 't>(wanted: &[T], values: impl IntoIterator<Item = &'t T>) -> bool {
    wanted.is_empty() || values.into_iter().any(|value| wanted.contains(value))
}

fn order(a: &TaskSummary, b: &TaskSummary, sort: Sort, found: &HashMap<TaskId, Match>) -> Ordering {
    let by_urgency = |task: &TaskSummary| (task.priority(), task.due_or_never(), task.created);
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
    by.then_with(|| a.id.cmp(&b.id))
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
    let filter = Filter { agent: Some(agent.clone()), ..Filter::default() };
    let listing = list(workspace, &workspace.rules()?, &filter, Sort::Priority);
    Ok(listing.tasks.first().map(|(task, _)| task.id.clone()))
}

/// Checks the names of a filter. Fails for a name that is neither in the rules nor in the listing; rules change, so a listed old name
/// is valid.
pub(crate) fn check_filter_names(
    filter: &Filter,
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
    for name in &filter.workflows {
        if !listing.tasks.iter().any(|(task, _)| task.routing.workflow == *name) {
            find_workflow(rules, name)?;
        }
    }
    for id in &filter.gates {
        let known = gates.iter().map(|gate| gate.id.as_str()).collect();
        check(Named::Gate, id.as_str(), known, &|task| task.current_gate() == Some(id))?;
    }
    for role in &filter.roles {
        let of_org = rules.org.roles.iter().map(|(role, _)| role);
        let of_gates = gates.iter().flat_map(|gate| gate.roles());
        let known = of_org.chain(of_gates).map(RoleId::as_str).collect();
        let is_in = |task: &TaskSummary| task.roles().any(|other| other == role);
        check(Named::Role, role.as_str(), known, &is_in)?;
    }
    if let Some(agent) = filter.agent.as_ref().filter(|_| !rules.project.implicit_workflow) {
        let known = rules.org.all_agents().into_iter().map(AgentId::as_str).collect();
        let is_in = |task: &TaskSummary| task.agents().any(|other| other == agent);
        check(Named::Agent, agent.as_str(), known, &is_in)?;
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
        tasks.sort_by(|a, b| order(a, b, sort, &HashMap::new()));
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
