//! Checks that agents can be found for all gates that are kept apart from each other. The answer is exact: it computes, agent by
//! agent, which of these gates can be filled together.

use std::collections::{BTreeMap, BTreeSet};

use super::checker::{Finding, RuleChecker};
use super::exits::spread;
use crate::workflow::graph::{edges, first};
use aof_domain::{
    Advice, AgentId, ConfigPlace, Destination, Duty, GateId, Identity, JoinStrategy, Org, Project,
    Remedy, Severity, Workflow, advice, listed,
};

/// The most gates that are checked together because they are kept apart, directly or by others.
pub(crate) const MOST_POSTS: usize = 16;
/// The most unions of sets of gates for one answer: 12 gates and 30 agents need fewer, and take less than 50 ms.
pub(crate) const BUDGET: usize = 10_000_000;

/// A gate, or a branch of a fork, for which an agent must be found.
struct Post<'a> {
    place: (usize, Option<usize>),
    id: &'a GateId,
    duty: &'a Duty,
    agents: Vec<&'a AgentId>,
    /// True if every completed task came to it.
    is_certain: bool,
}

impl RuleChecker<'_> {
    pub(crate) fn staffing(&mut self) {
        self.findings.extend(staffing(self.workflow, self.org));
    }
}

/// Returns the gates of all workflows that no agent can complete, because every agent that could must have worked at others before.
pub fn unstaffed(project: &Project, org: &Org) -> Vec<Finding> {
    let found = project.workflows.iter().flat_map(|workflow| staffing(workflow, org));
    found.filter(|finding| finding.severity == Severity::Warning).collect()
}

/// Returns the gates of a workflow that no agent can complete; as a note, if that depends on the task or on sessions, or is not
/// checked.
pub(crate) fn staffing(workflow: &Workflow, org: &Org) -> Vec<Finding> {
    let mut duties = workflow.parts().filter_map(|(_, part)| part.duty());
    if duties.all(|duty| duty.separate_from.is_empty()) {
        return Vec::new();
    }
    let ways = Ways::of(workflow);
    let posts = posts(workflow, org, &ways);
    let mut pairs = Vec::new();
    for (index, post) in posts.iter().enumerate() {
        for id in &post.duty.separate_from {
            let Some((from, _)) = workflow.gate(id) else { continue };
            let meets = ways.from(from, None).0.contains(&post.place.0);
            let others =
                posts.iter().enumerate().filter(|(_, other)| meets && other.place.0 == from);
            pairs.extend(others.map(|(other, _)| (index, other, post.duty.separate_by)));
        }
    }
    let (mut findings, mut reported) = (Vec::new(), BTreeSet::new());
    for by in [Identity::Agent, Identity::Session] {
        if !pairs.iter().any(|(.., identity)| *identity == by) {
            continue;
        }
        // Gates that need different agents also count among those that need different sessions.
        let mut others = vec![BTreeSet::new(); posts.len()];
        for (one, other, identity) in &pairs {
            if *identity == Identity::Agent || *identity == by {
                others[*one].insert(*other);
                others[*other].insert(*one);
            }
        }
        let mut seen = BTreeSet::new();
        for start in 0..posts.len() {
            let mut group = BTreeSet::from([start]);
            spread(&mut group, |index| &others[index]);
            if group.len() > 1 && seen.insert(group.first().copied()) {
                let group: Vec<usize> = group.into_iter().collect();
                findings.extend(check_group(workflow, &posts, &group, &others, by, &mut reported));
            }
        }
    }
    findings
}

/// Checks gates that are kept apart, directly or by others among them; `reported` are those already reported.
fn check_group(
    workflow: &Workflow,
    posts: &[Post<'_>],
    group: &[usize],
    others: &[BTreeSet<usize>],
    by: Identity,
    reported: &mut BTreeSet<usize>,
) -> Vec<Finding> {
    let members: Vec<&Post<'_>> = group.iter().map(|index| &posts[*index]).collect();
    let all = 0..group.len();
    let links: Vec<u32> = if group.len() > MOST_POSTS {
        Vec::new()
    } else {
        let bits = |posts: &BTreeSet<usize>| {
            all.clone().filter(|at| posts.contains(&group[*at])).fold(0, |set, at| set | 1 << at)
        };
        group.iter().map(|index| bits(&others[*index])).collect()
    };
    let agents: Vec<&[&AgentId]> = members.iter().map(|post| &post.agents[..]).collect();
    let Some(filled) = fillable(&agents, &links, &mut { BUDGET }) else {
        let count = group.len();
        let message =
            format!("staffing is not checked: {count} gates are kept apart from each other");
        let help = "up to 12 gates with 30 agents are always checked";
        let at = members[0].config_place(workflow);
        return vec![Finding::new(Severity::Note, "staffing_not_checked", at, message, help)];
    };
    let fits = |wanted: u32| filled.iter().any(|set| set & wanted == wanted);
    let (mut staffed, mut findings) = (0, Vec::new());
    let (certain, others): (Vec<_>, Vec<_>) = all.clone().partition(|at| members[*at].is_certain);
    for at in certain.into_iter().chain(others) {
        let with = staffed | 1 << at;
        if reported.contains(&group[at]) {
            continue;
        }
        if fits(with) {
            staffed = with;
            continue;
        }
        reported.insert(group[at]);
        let needed = |core: u32, other: usize| other == at || fits(core & !(1 << other));
        let core =
            all.clone().fold(
                with,
                |core, other| if needed(core, other) { core } else { core & !(1 << other) },
            );
        let is_in = |at: &usize| core & 1 << at != 0;
        let all_separate =
            all.clone().filter(is_in).all(|at| (core & !links[at]).is_power_of_two());
        let core: Vec<&Post<'_>> = all.clone().filter(is_in).map(|at| members[at]).collect();
        findings.push(finding(workflow, &core, all_separate, by));
    }
    findings
}

fn finding(workflow: &Workflow, core: &[&Post<'_>], all_separate: bool, by: Identity) -> Finding {
    let post = core.last().expect("it has the gate that does not fit");
    let (id, gates) = (post.id, listed(core.iter().map(|post| post.id)));
    let agents: BTreeSet<_> = core.iter().flat_map(|post| &post.agents).collect();
    let roles: BTreeSet<_> = core.iter().map(|post| &post.duty.role).collect();
    let s = if roles.len() == 1 { "" } else { "s" };
    let who = format!("{} of role{s} {}", listed(agents), listed(roles));
    let why = if all_separate {
        format!("gates {gates} need {} different agents, and there are only {who}", core.len())
    } else {
        format!("gates {gates} are kept apart so that {who} cannot fill them all")
    };
    let mut help =
        Advice::from("add another agent to one of the roles in org.yaml, or remove `separateFrom`");
    let (severity, when) = if by == Identity::Session {
        help = advice![
            "work there by ",
            Remedy::Run,
            ", by ",
            Remedy::Mcp,
            " or with `AOF_SESSION`, or add another agent to one of the roles",
        ];
        let others = listed(core.iter().filter(|other| other.id != id).map(|other| other.id));
        (Severity::Note, format!(" after work at {others} that names no session"))
    } else if core.iter().all(|post| post.is_certain) {
        (Severity::Warning, String::new())
    } else {
        (Severity::Note, " of a task that comes to all of these".to_owned())
    };
    let message = format!("nobody can complete gate `{id}`{when}: {why}");
    Finding::new(
        severity,
        "nobody_is_separate",
        post.config_place(workflow),
        message,
        help.to_string(),
    )
}

impl Post<'_> {
    fn config_place(&self, workflow: &Workflow) -> ConfigPlace {
        let (workflow, gate, field) = (workflow.name.clone(), self.place.0, "separateFrom");
        match self.place.1 {
            Some(branch) => ConfigPlace::Branch { workflow, gate, branch, outcome: None, field },
            None => ConfigPlace::Gate { workflow, gate, field },
        }
    }
}

/// Returns the gates and branches whose role has an agent that may work there, in order.
fn posts<'a>(workflow: &'a Workflow, org: &'a Org, ways: &Ways) -> Vec<Post<'a>> {
    let mut posts = Vec::new();
    let start = workflow.gate(&first(workflow).id).map_or(0, |(index, _)| index);
    for (index, gate) in workflow.gates.iter().enumerate() {
        let is_passed = || gate.when.is_none() && !ways.from(start, Some(index)).1;
        let whole = gate.duty().map(|duty| (None, gate, duty, is_passed()));
        let branches = gate.fork().into_iter().flat_map(|fork| {
            let is_passed = fork.join == JoinStrategy::All && is_passed();
            let list = fork.branches.iter().enumerate();
            list.map(move |(place, part)| (Some(place), part.gate(), part.duty(), is_passed))
        });
        for (branch, post, duty, is_passed) in whole.into_iter().chain(branches) {
            let agents: Vec<&AgentId> = org.able(&duty.role, duty.require_human).collect();
            let (place, is_certain) = ((index, branch), is_passed && post.when.is_none());
            if !agents.is_empty() {
                posts.push(Post { place, id: &post.id, duty, agents, is_certain });
            }
        }
    }
    posts
}

/// The gates that each gate leads to, and those that lead to the end.
struct Ways {
    next: Vec<BTreeSet<usize>>,
    ends: Vec<bool>,
}

impl Ways {
    fn of(workflow: &Workflow) -> Self {
        let count = workflow.gates.len();
        let mut ways = Self { next: vec![BTreeSet::new(); count], ends: vec![false; count] };
        let place = |id: &GateId| workflow.gate(id).map(|(index, _)| index);
        for edge in edges(workflow) {
            let Some(from) = place(&edge.from) else { continue };
            match &edge.to {
                Destination::Gate(to) => ways.next[from].extend(place(to)),
                Destination::End => ways.ends[from] = true,
                Destination::Cancelled | Destination::Fail => {}
            }
        }
        ways
    }

    /// Returns the gates that can be reached from a gate without passing another, and whether the end can be reached in that way.
    fn from(&self, gate: usize, without: Option<usize>) -> (BTreeSet<usize>, bool) {
        let (none, mut seen) = (BTreeSet::new(), BTreeSet::from([gate]));
        let stops = |index| without == Some(index);
        spread(&mut seen, |index| if stops(index) { &none } else { &self.next[index] });
        let is_end = seen.iter().any(|index| !stops(*index) && self.ends[*index]);
        (seen, is_end)
    }
}

/// Returns the largest sets of posts that agents can fill together, each as bits; `None` beyond the bounds. `posts` are the agents that
/// may work at each, `others` the posts whose workers may not. It takes the unions of sets that it makes from the budget.
pub(crate) fn fillable(
    posts: &[&[&AgentId]],
    others: &[u32],
    budget: &mut usize,
) -> Option<Vec<u32>> {
    if posts.len() > MOST_POSTS {
        return None;
    }
    let mut agents: BTreeMap<&AgentId, u32> = BTreeMap::new();
    for (at, post) in posts.iter().enumerate() {
        for agent in *post {
            *agents.entry(agent).or_default() |= 1 << at;
        }
    }
    let (mut filled, mut is_known) = (vec![0], vec![false; 1 << posts.len()]);
    for allowed in agents.into_values() {
        let sets = largest_sets(allowed, others);
        *budget = budget.checked_sub(sets.len() * filled.len())?;
        for index in 0..filled.len() {
            for set in &sets {
                let union: u32 = filled[index] | set;
                if !std::mem::replace(&mut is_known[union as usize], true) {
                    filled.push(union);
                }
            }
        }
    }
    Some(filled)
}

/// Returns the sets of these gates that one agent can fill, without those that are part of another.
fn largest_sets(allowed: u32, others: &[u32]) -> Vec<u32> {
    let mut sets = BTreeSet::from([0]);
    for at in (0..others.len()).filter(|at| allowed & 1 << at != 0) {
        let more = sets.iter().flat_map(|set| {
            let with = set & !others[at] | 1 << at;
            [with, if set & others[at] == 0 { with } else { *set }]
        });
        sets = more.collect();
    }
    let is_largest = |set: &u32| {
        (0..others.len()).all(|at| allowed & !set & 1 << at == 0 || set & others[at] != 0)
    };
    sets.into_iter().filter(is_largest).collect()
}
