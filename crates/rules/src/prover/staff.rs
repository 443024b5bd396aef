//! Those whom a workflow cannot do without: for each way through its gates, whether its gates can be filled without one agent.

use std::collections::BTreeSet;

use crate::routing::workplace::Workplace;
use crate::workflow::graph::{Edge, EdgeKind, edges, first};
use crate::workflow::rules::Rules;
use aof_domain::{AgentId, Destination, Gate, GateId, GateKind, Identity, JoinStrategy, Workflow};

/// The most ways that are counted.
const MOST_WAYS: usize = 2_000;

/// The absence of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absence {
    pub agent: AgentId,
    /// The gates that can then never pass.
    pub gates: Vec<GateId>,
    /// The number of ways to the end that are then closed.
    pub ways: usize,
}

/// The gates and ways that the agents of a workflow can fill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Staffing {
    /// The number of gates at which somebody works.
    pub gates: usize,
    /// The number of ways to the end.
    pub ways: usize,
    /// True if there are more ways than were counted.
    pub is_cut: bool,
    /// The agents without whom a gate can never pass, or a way is closed.
    pub absences: Vec<Absence>,
}

impl Staffing {
    pub(crate) fn of(rules: &Rules, workflow: &Workflow) -> Self {
        let works: Vec<&Gate> =
            workflow.gates.iter().filter(|gate| gate.kind != GateKind::Condition).collect();
        let all = Search::run(rules, workflow, None);
        let absence = |agent: &&AgentId| {
            let without = Search::run(rules, workflow, Some(agent));
            let lost = all.passed.difference(&without.passed);
            let gates = lost.map(|place| workflow.gates[*place].id.clone()).collect();
            Absence { agent: (*agent).clone(), gates, ways: all.ways.saturating_sub(without.ways) }
        };
        let agents = rules.org.all_agents();
        let mut absences: Vec<Absence> = agents.iter().map(absence).collect();
        absences.retain(|absence| !absence.gates.is_empty() || absence.ways > 0);
        absences.sort_by_key(|absence| std::cmp::Reverse((absence.gates.len(), absence.ways)));
        Self { gates: works.len(), ways: all.ways, is_cut: all.is_cut, absences }
    }
}

/// A gate or branch on a way: the gate, who may work there, and the gates whose workers may not.
#[derive(Clone)]
struct WayPost<'a> {
    gate: usize,
    agents: Vec<&'a AgentId>,
    apart: BTreeSet<usize>,
}

struct Search<'a> {
    rules: &'a Rules,
    workflow: &'a Workflow,
    absent: Option<&'a AgentId>,
    edges: Vec<Edge>,
    /// Gates that can pass.
    passed: BTreeSet<usize>,
    ways: usize,
    is_cut: bool,
}

impl<'a> Search<'a> {
    fn run(rules: &'a Rules, workflow: &'a Workflow, absent: Option<&'a AgentId>) -> Self {
        let (edges, passed) = (edges(workflow), BTreeSet::new());
        let mut search = Self { rules, workflow, absent, edges, passed, ways: 0, is_cut: false };
        let start = search.place(&first(workflow).id);
        search.enter(start, &mut BTreeSet::new(), &[]);
        search
    }

    fn place(&self, gate: &GateId) -> usize {
        self.workflow.gate(gate).map_or(0, |(place, _)| place)
    }

    /// Goes on from a gate, in each way that the agents can fill.
    fn enter(&mut self, at: usize, seen: &mut BTreeSet<usize>, filled: &[WayPost<'a>]) {
        if self.ways >= MOST_WAYS {
            self.is_cut = true;
            return;
        }
        if !seen.insert(at) {
            return;
        }
        let workflow = self.workflow;
        let gate = &workflow.gates[at];
        for more in self.fillings(at) {
            let mut with = filled.to_vec();
            with.extend(more);
            if !fits(&with, &mut Vec::new()) {
                continue;
            }
            if gate.kind != GateKind::Condition {
                self.passed.insert(at);
            }
            self.follow(at, seen, &with, |way| !matches!(way, EdgeKind::Over | EdgeKind::Hold));
            break;
        }
        self.follow(at, seen, filled, |way| way == EdgeKind::Over);
        seen.remove(&at);
    }

    fn follow(
        &mut self,
        at: usize,
        seen: &mut BTreeSet<usize>,
        filled: &[WayPost<'a>],
        goes: fn(EdgeKind) -> bool,
    ) {
        let from = &self.workflow.gates[at].id;
        let next: Vec<Destination> = self
            .edges
            .iter()
            .filter(|edge| edge.from == *from && goes(edge.way))
            .map(|edge| edge.to.clone())
            .collect();
        let mut done = Vec::new();
        for to in next {
            if done.contains(&to) {
                continue;
            }
            match &to {
                Destination::Gate(gate) => self.enter(self.place(gate), seen, filled),
                Destination::End => self.ways += 1,
                Destination::Cancelled | Destination::Fail => {}
            }
            done.push(to);
        }
    }

    /// Returns the sets of posts, one of which must be filled for the gate to pass.
    fn fillings(&self, at: usize) -> Vec<Vec<WayPost<'a>>> {
        let workflow = self.workflow;
        let gate = &workflow.gates[at];
        if let Some(place) = Workplace::at(gate) {
            return vec![vec![self.post(at, &place)]];
        }
        let Some(fork) = gate.fork() else { return vec![Vec::new()] };
        let posts: Vec<(bool, WayPost<'a>)> = fork
            .branches
            .iter()
            .map(|branch| {
                (branch.gate().when.is_some(), self.post(at, &Workplace::at_branch(gate, branch)))
            })
            .collect();
        let certain = posts.iter().filter(|(is_optional, _)| !is_optional).count();
        let needed = match fork.join {
            JoinStrategy::All => certain,
            JoinStrategy::Any => certain.min(1),
            JoinStrategy::Majority => (certain / 2 + 1).min(certain),
        };
        // Branches that do not apply do not count.
        let list: Vec<WayPost<'a>> = posts
            .into_iter()
            .filter(|(is_optional, _)| !is_optional)
            .map(|(_, post)| post)
            .collect();
        let sets =
            (0..1_u32 << list.len().min(16)).filter(|set| set.count_ones() as usize == needed);
        let chosen = |set: u32| {
            list.iter()
                .enumerate()
                .filter(|(at, _)| set & 1 << at != 0)
                .map(|(_, post)| post.clone())
                .collect()
        };
        sets.map(chosen).collect()
    }

    fn post(&self, gate: usize, place: &Workplace<'a>) -> WayPost<'a> {
        let rules = self.rules;
        let human = place.requires_human(rules);
        let members =
            rules.org.role(place.role).map(|role| role.agents.as_slice()).unwrap_or_default();
        let fits = |agent: &&AgentId| {
            rules.org.is_registered(agent)
                && (!human || agent.is_human())
                && self.absent != Some(*agent)
        };
        let by_agent = place.duty.separate_by == Identity::Agent;
        let apart = place
            .duty
            .separate_from
            .iter()
            .filter(|_| by_agent)
            .map(|gate| self.place(gate))
            .collect();
        WayPost { gate, agents: members.iter().filter(fits).collect(), apart }
    }
}

/// Returns whether agents can be found for all posts, of which each is kept apart from some before it.
fn fits<'a>(posts: &[WayPost<'a>], chosen: &mut Vec<&'a AgentId>) -> bool {
    let Some(post) = posts.get(chosen.len()) else { return true };
    let is_free = |agent: &&AgentId| {
        let before = posts.iter().zip(chosen.iter());
        before
            .into_iter()
            .all(|(other, worker)| worker != agent || !post.apart.contains(&other.gate))
    };
    let free: Vec<&'a AgentId> = post.agents.iter().copied().filter(is_free).collect();
    free.into_iter().any(|agent| {
        chosen.push(agent);
        let found = fits(posts, chosen);
        chosen.pop();
        found
    })
}
