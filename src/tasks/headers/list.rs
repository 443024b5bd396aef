//! Which tasks there are: filtered, in order. Reads headers only.

use std::cmp::Ordering;

use crate::domain::{AgentId, GateId, Priority, RoleId, Status, TaskId, WorkflowName};
use crate::project::active_rules::InForce;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::tasks::headers::dependencies::{Dependencies, waiting_in_circles};
use crate::tasks::headers::header::{Header, NEW};
use crate::tasks::headers::listing::{Listing, Scope, read_all};

/// Which tasks are wanted. Everything that is given must hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    /// Of one of these workflows.
    pub workflows: Vec<WorkflowName>,
    /// At one of these gates.
    pub gates: Vec<GateId>,
    /// Of one of these roles.
    pub roles: Vec<RoleId>,
    /// Claimed by this agent.
    pub agent: Option<AgentId>,
    /// Claimed by this agent, or free and of a role of its.
    pub mine: Option<AgentId>,
    /// In one of these states; with no state at all, and no [`Filter::hand_made`], in any.
    pub statuses: Vec<Status>,
    /// Hand-made files that nobody has taken up.
    pub hand_made: bool,
    /// With all of these labels.
    pub tags: Vec<String>,
    /// Ready, and with everything it depends on complete.
    pub ready: bool,
    /// With these words in id, title or tags.
    pub search: Option<String>,
    /// Finished ones too.
    pub all: bool,
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Sort {
    /// The most urgent first, then the oldest.
    #[default]
    Priority,
    /// The oldest first.
    Created,
    /// The one changed last first.
    Updated,
    /// The one that has been at its gate the longest first.
    Waiting,
    /// By id.
    Id,
}

/// Returns the tasks that are wanted, in order. A file that cannot be read hides none of the others.
pub(crate) fn list(
    workspace: &Workspace,
    in_force: &InForce,
    filter: &Filter,
    sort: Sort,
) -> Listing {
    let wants_finished = filter.all || filter.statuses.iter().any(|status| status.is_finished());
    let mut listing =
        read_all(workspace, in_force, if wants_finished { Scope::All } else { Scope::Active });
    let dependencies = if filter.ready {
        Dependencies::of(workspace, in_force, &listing)
    } else {
        Dependencies::default()
    };
    listing.circles = waiting_in_circles(&listing);
    let wanted = Wanted::new(filter, in_force);
    listing.tasks.retain(|(header, _)| {
        wanted.has(header) && (!filter.ready || is_ready(header, &dependencies))
    });
    listing.tasks.sort_by(|(a, _), (b, _)| order(a, b, sort));
    listing
}

/// A filter in the words of headers.
struct Wanted<'f> {
    workflows: Vec<&'f str>,
    gates: Vec<&'f str>,
    roles: Vec<&'f str>,
    statuses: Vec<&'f str>,
    agent: Option<&'f str>,
    mine: Option<&'f str>,
    own_roles: Vec<&'f str>,
    tags: &'f [String],
    words: Vec<String>,
}

impl<'f> Wanted<'f> {
    fn new(filter: &'f Filter, in_force: &'f InForce) -> Self {
        let org = &in_force.rules.org;
        let own_roles =
            filter.mine.iter().flat_map(|agent| org.roles_of(agent)).map(RoleId::as_str).collect();
        let mut statuses: Vec<&str> =
            filter.statuses.iter().map(|status| status.as_str()).collect();
        statuses.extend(filter.hand_made.then_some(NEW));
        Self {
            workflows: filter.workflows.iter().map(WorkflowName::as_str).collect(),
            gates: filter.gates.iter().map(GateId::as_str).collect(),
            roles: filter.roles.iter().map(RoleId::as_str).collect(),
            statuses,
            agent: filter.agent.as_ref().map(AgentId::as_str),
            mine: filter.mine.as_ref().map(AgentId::as_str),
            own_roles,
            tags: &filter.tags,
            words: filter
                .search
                .iter()
                .flat_map(|text| text.split_whitespace())
                .map(str::to_lowercase)
                .collect(),
        }
    }

    fn has(&self, header: &Header) -> bool {
        let one_of = |wanted: &[&str], value: Option<&str>| {
            wanted.is_empty() || value.is_some_and(|value| wanted.contains(&value))
        };
        let (roles, agents) = (header.roles(), header.agents());
        let has = |agent: Option<&str>| agent.is_some_and(|agent| agents.contains(&agent));
        let may_take = || header.free_roles().iter().any(|role| self.own_roles.contains(role));
        one_of(&self.workflows, Some(&header.workflow))
            && one_of(&self.gates, header.gate.as_deref())
            && (self.roles.is_empty() || roles.iter().any(|role| self.roles.contains(role)))
            && one_of(&self.statuses, Some(&header.status))
            && (self.agent.is_none() || has(self.agent))
            && (self.mine.is_none() || has(self.mine) || may_take())
            && self.tags.iter().all(|tag| header.tags.contains(tag))
            && self.says(header)
    }

    fn says(&self, header: &Header) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let text =
            format!("{} {} {}", header.id, header.title, header.tags.join(" ")).to_lowercase();
        self.words.iter().all(|word| text.contains(word))
    }
}

fn order(a: &Header, b: &Header, sort: Sort) -> Ordering {
    let rank = |header: &Header| header.priority.parse::<Priority>().unwrap_or(Priority::Medium);
    let since = |header: &Header| header.entered.unwrap_or(i64::MAX);
    let by = match sort {
        Sort::Priority => rank(a).cmp(&rank(b)).then(a.created.cmp(&b.created)),
        Sort::Created => a.created.cmp(&b.created),
        Sort::Updated => b.updated.cmp(&a.updated),
        Sort::Waiting => since(a).cmp(&since(b)),
        Sort::Id => Ordering::Equal,
    };
    by.then_with(|| a.id.cmp(&b.id))
}

/// Returns whether the task can be handed out: ready, and everything that it depends on complete.
pub(crate) fn is_ready(header: &Header, dependencies: &Dependencies) -> bool {
    header.status == Status::Ready.as_str() && dependencies.are_met(header)
}

/// Returns a task that the agent has claimed.
pub(crate) fn held_by(workspace: &Workspace, agent: &AgentId) -> Result<Option<TaskId>, OpsError> {
    let filter = Filter { agent: Some(agent.clone()), ..Filter::default() };
    let listing = list(workspace, &workspace.rules()?, &filter, Sort::Priority);
    Ok(listing.tasks.first().and_then(|(header, _)| header.id.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(id: &str, priority: &str, created: i64, entered: Option<i64>) -> Header {
        Header {
            escalated: false,
            running: None,
            overdue: false,
            held: false,
            id: id.to_owned(),
            title: format!("Title of {id}"),
            status: Status::Ready.to_string(),
            workflow: "default".to_owned(),
            gate: Some("work".to_owned()),
            visit: 0,
            role: Some("backend".to_owned()),
            agent: None,
            claimed: None,
            lost: None,
            branches: Vec::new(),
            priority: priority.to_owned(),
            entered,
            created,
            updated: created,
            tags: vec!["Auth".to_owned()],
            blockers: Vec::new(),
            depends_on: vec!["AOF-dep".to_owned()],
            lost_dependencies: Vec::new(),
            stand: crate::tasks::headers::header::Stand::default(),
            stays: Box::default(),
        }
    }

    fn sorted(sort: Sort) -> Vec<String> {
        let mut headers = [
            header("AOF-aaa", "low", 1, Some(9)),
            header("AOF-bbb", "critical", 3, None),
            header("AOF-ccc", "medium", 2, Some(5)),
            header("AOF-ddd", "medium", 2, Some(5)),
        ];
        headers.sort_by(|a, b| order(a, b, sort));
        headers.map(|header| header.id[4..].to_owned()).to_vec()
    }

    #[test]
    fn every_order_is_total() {
        assert_eq!(sorted(Sort::Priority), ["bbb", "ccc", "ddd", "aaa"]);
        assert_eq!(sorted(Sort::Created), ["aaa", "ccc", "ddd", "bbb"]);
        assert_eq!(sorted(Sort::Updated), ["bbb", "ccc", "ddd", "aaa"]);
        assert_eq!(
            sorted(Sort::Waiting),
            ["ccc", "ddd", "aaa", "bbb"],
            "who is at no gate waits least"
        );
        assert_eq!(sorted(Sort::Id), ["aaa", "bbb", "ccc", "ddd"]);
    }

    #[test]
    fn all_words_of_a_search_must_be_there() {
        let task = header("AOF-aaa", "low", 1, None);
        let wanted = |text: &str| Wanted {
            workflows: Vec::new(),
            gates: Vec::new(),
            roles: Vec::new(),
            statuses: Vec::new(),
            agent: None,
            mine: None,
            own_roles: Vec::new(),
            tags: &[],
            words: text.split_whitespace().map(str::to_lowercase).collect(),
        };
        assert!(wanted("title AUTH aof-aaa").has(&task));
        assert!(!wanted("title nothing").has(&task));
    }
}
