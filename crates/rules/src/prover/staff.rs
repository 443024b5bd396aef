//! Those whom a workflow cannot do without: for each way through its gates, whether its gates can be filled without one agent. The
//! answer is exact: each way is filled as a whole.

use std::collections::BTreeSet;

use serde::Serialize;

use super::cases::{Answers, branch_applies, edges_for};
use crate::transition::claims::TimeLimits;
use crate::validate::staffing::{BUDGET, MOST_POSTS, fillable};
use crate::workflow::graph::{Edge, EdgeKind, first};
use crate::workflow::rules::Rules;
use aof_domain::{
    AgentId, Branch, Destination, Duty, Gate, GateId, GateKind, Identity, JoinStrategy, Workflow,
};

/// The most visits of gates on all ways that are tried.
const MOST_STEPS: usize = 10_000;
/// The most choices of branches that are tried together on one way.
const MOST_CHOICES: usize = 64;
/// The most branches of a fork of which each choice is tried.
const MOST_BRANCHES: usize = 8;

/// The absence of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Absence {
    pub agent: AgentId,
    /// The gates that can then never pass.
    pub gates: Vec<GateId>,
    /// The number of ways to the end that are then closed, if all were counted.
    pub ways: usize,
}

/// The gates and ways that the agents of a workflow can fill.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Staffing {
    /// The number of gates at which somebody works.
    pub gates: usize,
    /// The gates that nobody can pass, on no way.
    pub closed: Vec<GateId>,
    /// The number of ways to the end, if all were counted.
    pub ways: usize,
    /// False if there are too many ways to count them: then gates count that nobody can pass by themselves.
    #[serde(rename = "allWaysCounted")]
    pub is_whole: bool,
    /// The agents without whom a gate can never pass, or a way is closed.
    #[serde(rename = "indispensable")]
    pub absences: Vec<Absence>,
}

impl Staffing {
    /// The conditions answer in one of these ways.
    pub(crate) fn of(rules: &Rules, workflow: &Workflow, answers: &BTreeSet<Answers>) -> Self {
        let works = |gate: &Gate| gate.kind != GateKind::Condition;
        let all = Search::run(rules, workflow, answers, None);
        let names = |places: &mut dyn Iterator<Item = &usize>| -> Vec<GateId> {
            let gates = places.map(|place| &workflow.gates[*place]);
            gates.filter(|gate| works(gate)).map(|gate| gate.id.clone()).collect()
        };
        let absence = |agent: &&AgentId| {
            let without = Search::run(rules, workflow, answers, Some(agent));
            let is_cut = all.is_cut || without.is_cut;
            let gates = names(&mut all.passed(is_cut).difference(&without.passed(is_cut)));
            let ways = if is_cut { 0 } else { all.ways.len().saturating_sub(without.ways.len()) };
            Absence { agent: (*agent).clone(), gates, ways }
        };
        let roles = workflow.roles();
        let mut agents = rules.org.all_agents();
        agents.retain(|agent| rules.org.roles_of(agent).any(|role| roles.contains(&role)));
        let mut absences: Vec<Absence> = agents.iter().map(absence).collect();
        absences.retain(|absence| !absence.gates.is_empty() || absence.ways > 0);
        absences.sort_by_key(|absence| std::cmp::Reverse((absence.gates.len(), absence.ways)));
        let closed = names(&mut all.closed().iter());
        let gates = workflow.gates.iter().filter(|gate| works(gate)).count();
        Self { gates, closed, ways: all.ways.len(), is_whole: !all.is_cut, absences }
    }
}

/// A gate or branch that must be filled on a way: the gate, who may work there, and the gates whose workers may not.
#[derive(Clone, PartialEq)]
struct WayPost<'a> {
    gate: usize,
    agents: Vec<&'a AgentId>,
    apart: BTreeSet<usize>,
}

struct Search<'a> {
    workflow: &'a Workflow,
    edges: Vec<Edge>,
    /// For each gate, the choices of posts one of which must be filled for it to pass.
    choices: Vec<Vec<Vec<WayPost<'a>>>>,
    /// Gates that tasks come to, and those of them that can pass.
    entered: BTreeSet<usize>,
    passed: BTreeSet<usize>,
    /// Gates that pass by themselves, with some answers of conditions.
    possible: BTreeSet<usize>,
    steps: usize,
    /// The work that is left for finding agents.
    budget: usize,
    /// The gates that were passed until here, and those of each way to the end.
    way: Vec<usize>,
    ways: BTreeSet<Vec<usize>>,
    is_cut: bool,
}

impl<'a> Search<'a> {
    fn run(
        rules: &'a Rules,
        workflow: &'a Workflow,
        answers: &BTreeSet<Answers>,
        absent: Option<&AgentId>,
    ) -> Self {
        let mut search = Self {
            workflow,
            edges: Vec::new(),
            choices: Vec::new(),
            entered: BTreeSet::new(),
            passed: BTreeSet::new(),
            possible: BTreeSet::new(),
            steps: 0,
            budget: BUDGET,
            way: Vec::new(),
            ways: BTreeSet::new(),
            is_cut: false,
        };
        let (start, all) = (search.place(&first(workflow).id), 0..workflow.gates.len());
        for answers in answers {
            search.edges = edges_for(workflow, answers);
            search.choices =
                all.clone().map(|at| search.choices(rules, at, answers, absent)).collect();
            let possible = all.clone().filter(|at| !search.choices[*at].is_empty());
            let possible: Vec<usize> = possible.collect();
            search.possible.extend(possible);
            search.enter(start, &mut BTreeSet::new(), &[Vec::new()]);
        }
        search
    }

    fn place(&self, gate: &GateId) -> usize {
        self.workflow.gate(gate).map_or(0, |(place, _)| place)
    }

    /// Returns the gates that can pass; if not all ways were tried, those that can pass by themselves.
    fn passed(&self, is_cut: bool) -> BTreeSet<usize> {
        if !is_cut {
            return self.passed.clone();
        }
        self.possible.clone()
    }

    /// Returns the gates that cannot pass, though tasks come to them; if not all ways were tried, those that cannot by themselves.
    fn closed(&self) -> BTreeSet<usize> {
        if !self.is_cut {
            return &self.entered - &self.passed;
        }
        (0..self.choices.len()).filter(|at| !self.possible.contains(at)).collect()
    }

    /// Visits a gate, then those that it leads to, as far as agents can be found. `filled` has the posts before it: a list for each choice.
    fn enter(&mut self, at: usize, seen: &mut BTreeSet<usize>, filled: &[Vec<WayPost<'a>>]) {
        self.is_cut |= self.steps >= MOST_STEPS;
        if self.is_cut || !seen.insert(at) {
            return;
        }
        self.steps += 1;
        self.entered.insert(at);
        let (choices, mut with) = (self.choices[at].clone(), Vec::new());
        for before in filled {
            for more in &choices {
                let posts = [&before[..], &more[..]].concat();
                if !with.contains(&posts) && (more.is_empty() || self.fits(&posts)) {
                    with.push(posts);
                }
            }
        }
        self.is_cut |= with.len() > MOST_CHOICES;
        with.truncate(MOST_CHOICES);
        if !with.is_empty() {
            self.passed.insert(at);
            self.way.push(at);
            self.follow(at, seen, &with, |way| !matches!(way, EdgeKind::Over | EdgeKind::Hold));
            self.way.pop();
        }
        self.follow(at, seen, filled, |way| way == EdgeKind::Over);
        seen.remove(&at);
    }

    fn follow(
        &mut self,
        at: usize,
        seen: &mut BTreeSet<usize>,
        filled: &[Vec<WayPost<'a>>],
        goes: fn(EdgeKind) -> bool,
    ) {
        let from = &self.workflow.gates[at].id;
        let own = self.edges.iter().filter(|edge| edge.from == *from && goes(edge.way));
        let mut next: Vec<Destination> = Vec::new();
        for edge in own {
            if !next.contains(&edge.to) {
                next.push(edge.to.clone());
            }
        }
        for to in next {
            match &to {
                Destination::Gate(gate) => self.enter(self.place(gate), seen, filled),
                Destination::End => _ = self.ways.insert(self.way.clone()),
                Destination::Cancelled | Destination::Fail => {}
            }
        }
    }

    /// Returns the choices of posts one of which must be filled for the gate to pass; of each only the posts that are kept apart.
    fn choices(
        &mut self,
        rules: &'a Rules,
        at: usize,
        answers: &Answers,
        absent: Option<&AgentId>,
    ) -> Vec<Vec<WayPost<'a>>> {
        let gate = &self.workflow.gates[at];
        let holds = |branch: &Branch| branch_applies(answers, &gate.id, branch);
        let post = |duty: &'a Duty| {
            let steps_in =
                TimeLimits::of(self.workflow, duty).timeout.and(duty.escalate_to.as_ref());
            let roles = std::iter::once(&duty.role).chain(steps_in);
            let able = roles.flat_map(|role| rules.org.able(role, duty.require_human));
            let apart = duty.separate_from.iter().filter(|_| duty.separate_by == Identity::Agent);
            WayPost {
                gate: at,
                agents: able.filter(|agent| Some(*agent) != absent).collect(),
                apart: apart.map(|gate| self.place(gate)).collect(),
            }
        };
        let Some(fork) = gate.fork() else {
            // Anybody may work where a role is open.
            let duty = gate.duty().filter(|duty| !rules.is_open(&duty.role));
            return self.kept_apart(duty.map(post).into_iter().collect()).into_iter().collect();
        };
        // Branches that do not apply do not count.
        let is_certain = |branch: &&Branch| holds(branch) == Some(true);
        let all = fork.branches.iter().filter(|branch| holds(branch) != Some(false));
        let all: Vec<&Branch> = all.collect();
        let certain = all.iter().copied().filter(is_certain);
        if fork.join == JoinStrategy::All {
            let posts = certain.map(|branch| post(branch.duty())).collect();
            return self.kept_apart(posts).into_iter().collect();
        }
        let (certain, count) = (certain.count(), all.len().min(MOST_BRANCHES));
        let chosen = |set: u32| {
            let places = (0..count).filter(|at| set & 1 << at != 0);
            let list: Vec<&Branch> = places.map(|at| all[at]).collect();
            let applies = certain + list.iter().filter(|branch| !is_certain(branch)).count();
            let most = if fork.join == JoinStrategy::Any { 1 } else { applies / 2 + 1 };
            let posts = list.iter().map(|branch| post(branch.duty()));
            (list.len() == most.min(applies)).then(|| self.kept_apart(posts.collect()))?
        };
        let found = (0..1_u32 << count).filter_map(chosen).collect();
        self.is_cut |= count < all.len();
        found
    }

    /// Returns those of the posts that are kept apart from others; `None` if one of all has nobody.
    fn kept_apart(&self, mut posts: Vec<WayPost<'a>>) -> Option<Vec<WayPost<'a>>> {
        if posts.iter().any(|post| post.agents.is_empty()) {
            return None;
        }
        let others = |gate: usize| {
            let duties = self.workflow.parts().filter_map(|(_, part)| part.duty());
            duties.flat_map(|duty| &duty.separate_from).any(|id| self.place(id) == gate)
        };
        posts.retain(|post| !post.apart.is_empty() || others(post.gate));
        Some(posts)
    }

    /// Returns whether agents can be found for all posts, of which each is kept apart from some before it; true beyond the bounds.
    fn fits(&mut self, posts: &[WayPost<'_>]) -> bool {
        let all = || 0..posts.len().min(MOST_POSTS);
        let is_apart = |one: usize, other: usize| {
            posts[one.max(other)].apart.contains(&posts[one.min(other)].gate)
        };
        let bits =
            |one| all().filter(|other| is_apart(one, *other)).fold(0, |set, at| set | 1 << at);
        let others: Vec<u32> = all().map(bits).collect();
        let agents: Vec<&[&AgentId]> = posts.iter().map(|post| &post.agents[..]).collect();
        let filled = fillable(&agents, &others, &mut self.budget);
        self.is_cut |= filled.is_none();
        filled.is_none_or(|sets| sets.iter().any(|set| set.count_ones() as usize == posts.len()))
    }
}
