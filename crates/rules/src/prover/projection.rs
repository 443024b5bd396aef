//! The projection: what of a task decides its future, and the shortest history that says it.
//!
//! Two tasks with the same [`StateKey`] have the same future, but for the values of their counters within a class, which [`Model::variants`]
//! tries. Who works is kept by kind of agent: agents of the same roles are interchangeable.

use std::collections::BTreeSet;

use serde_json::Value;

use super::reach::Reach;
use crate::condition::promise::CompiledPromise;
use crate::routing::loops::{self, Loop, since_round};
use crate::routing::reviews::unanswered_at;
use crate::routing::route::{self, last_before, last_sender};
use crate::transition::fold::{exhausted, is_looping};
use crate::workflow::rules::Rules;
use aof_domain::{
    AgentId, Blocker, CheckResults, Destination, Ending, Gate, GateId, Identity, LoopItem, Map,
    Outcome, RoleId, Station, Status, Task, Visit, Workflow,
};

/// The largest limit that is explored as it is; larger ones only keep their order.
const MOST_RETRIES: u32 = 12;

/// The lengths of lists that loops go through: none, one, or more. Of more, the last item differs from those before it.
pub(crate) const LENGTHS: [usize; 3] = [0, 1, 2];

/// The part of a task that decides its future.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StateKey(Vec<u16>);

/// A workflow, as far as the projection depends on it.
pub(crate) struct Model<'a> {
    pub(crate) rules: &'a Rules,
    pub(crate) workflow: &'a Workflow,
    /// The same rules, with smaller limits.
    pub(crate) capped: Rules,
    /// Agents by kind: those of the same roles.
    pub(crate) kinds: Vec<Vec<AgentId>>,
    /// The parts of a task's past that can matter at each gate.
    reach: Reach,
    /// For each gate and each kind of agents, the gates at which work of theirs can matter.
    apart: Vec<Vec<BTreeSet<usize>>>,
    /// True if workers are kept apart by their sessions.
    pub(crate) has_sessions: bool,
    roles: Vec<&'a RoleId>,
    /// The promise whose values are part of each state.
    pub(crate) promise: Option<&'a CompiledPromise>,
}

impl<'a> Model<'a> {
    pub(crate) fn new(
        rules: &'a Rules,
        workflow: &'a Workflow,
        promise: Option<&'a CompiledPromise>,
    ) -> Self {
        let mut duties = workflow.parts().filter_map(|(_, part)| part.duty());
        let capped = capped(rules, workflow);
        let reach = Reach::of(capped.project.workflow(&workflow.name).unwrap_or(workflow));
        let kinds = kinds(rules, workflow, promise);
        let apart = (0..workflow.gates.len()).map(|here| {
            let matters = |kind: &Vec<AgentId>| {
                let is_in = |role: &RoleId| {
                    rules.is_open(role)
                        || rules.org.role(role).is_some_and(|role| role.agents.contains(&kind[0]))
                };
                reach.separates(workflow, here, &is_in)
            };
            kinds.iter().map(matters).collect()
        });
        Self {
            rules,
            workflow,
            promise,
            apart: apart.collect(),
            has_sessions: duties.any(|duty| duty.separate_by == Identity::Session),
            roles: workflow.roles(),
            kinds,
            reach,
            capped,
        }
    }

    fn place(&self, gate: &GateId) -> usize {
        self.workflow.gate(gate).map_or(usize::MAX, |(place, _)| place)
    }

    fn here(&self, task: &Task) -> usize {
        task.gate.as_ref().map_or(0, |open| self.place(&open.current))
    }

    /// Returns the gates, by their places, that an agent of the kind worked at, as far as that can matter at the task's gate.
    pub(crate) fn worked(&self, task: &Task, kind: usize, agent: &AgentId) -> BTreeSet<usize> {
        if task.gate.is_none() {
            return BTreeSet::new();
        }
        let matters = &self.apart[self.here(task)][kind];
        let entries = since_round(&task.history).iter();
        let own = entries.filter(|entry| entry.agent.as_ref() == Some(agent));
        let own = own.filter(|entry| matches!(entry.outcome, Ending::Completed(_)));
        own.map(|entry| self.place(&entry.gate)).filter(|place| matters.contains(place)).collect()
    }

    /// Returns what of the task decides its future, and the values of the promise.
    pub(crate) fn key(&self, case: usize, task: &Task, seen: &[Value]) -> StateKey {
        let mut key = vec![word(case), task.status as u16];
        // Agents are told apart below, not by their names.
        key.extend(seen.iter().map(|value| match value {
            Value::Null => 0,
            Value::Bool(is) => 1 + u16::from(*is),
            Value::Number(number) => {
                word(usize::try_from(number.as_u64().unwrap_or(0)).unwrap_or(usize::MAX))
            }
            _ => 3,
        }));
        let Some(open) = &task.gate else {
            key.extend(self.told_apart(task, seen));
            return StateKey(key);
        };
        let role = |role: Option<&RoleId>| {
            role.and_then(|role| self.roles.iter().position(|known| *known == role))
                .map_or(0, |at| word(at) + 1)
        };
        let blocker = |kind: fn(&Blocker) -> bool| u16::from(task.blockers.iter().any(kind));
        key.extend([
            word(self.place(&open.current)),
            role(open.escalated.as_ref()),
            u16::from(
                is_looping(self.rules, task)
                    || exhausted(&self.capped, task).is_some() && task.status == Status::Blocked,
            ),
            blocker(|one| matches!(one, Blocker::NoList(_))),
            blocker(|one| matches!(one, Blocker::NoRound(_))),
            blocker(Blocker::is_nobody),
            open.item.map_or(0, |item| 1 + u16::from(item.next().is_none())),
        ]);
        for part in &open.branches {
            key.extend([part.status as u16, role(part.escalated.as_ref())]);
        }
        let unanswered = unanswered_at(&task.history);
        let here = self.place(&open.current);
        let gates = &self.workflow.gates;
        for (place, gate) in gates.iter().enumerate() {
            let waits = self.reach.passed_over[place]
                && unanswered.iter().any(|at| task.history[*at].gate == gate.id);
            let class = |of_item| {
                self.reach.class(
                    here,
                    place,
                    of_item,
                    count(self.returns(task, &gate.id, of_item).len()),
                )
            };
            key.push(word(class(false)) << 1 | u16::from(waits));
            if open.item.is_some() {
                key.push(word(class(true)));
            }
        }
        key.push(self.sender(task).map_or(0, |at| word(self.place(&task.history[at].gate)) + 1));
        let looks_back = (0..gates.len()).filter(|place| self.reach.looks_back(here, *place));
        key.extend(looks_back.map(|place| {
            last_before(self.workflow, &task.history, place).map_or(0, |at| word(at) + 1)
        }));
        if let Some(repeat) = &self.workflow.repeat {
            key.push(u16::from(loops::round(&task.history) >= repeat.max));
        }
        for each in gates.iter().filter_map(Gate::for_each) {
            key.push(loops::length(each, &task.context).map_or(9, |length| word(length.min(2))));
        }
        key.extend(self.told_apart(task, seen));
        StateKey(key)
    }

    /// Returns the entries by which backward routes entered the gate, as far as they count at present: with this item of a loop, or at all.
    fn returns(&self, task: &Task, gate: &GateId, of_item: bool) -> Vec<usize> {
        let inside = Loop::of(self.workflow, task).filter(|_| of_item);
        route::returns(self.workflow, &task.history, inside.as_ref(), gate)
    }

    /// Returns the entry that sent the task to its gate, if that returns to its sender.
    fn sender(&self, task: &Task) -> Option<usize> {
        let here = &task.gate.as_ref()?.current;
        self.workflow.gate(here).filter(|(_, gate)| gate.detour)?;
        last_sender(&task.history, here)
    }

    /// Returns the task, and the same task with other values of its counters: `before` is the task that the last step changed.
    pub(crate) fn variants(&self, before: &Task, after: Task) -> Vec<Task> {
        if after.gate.is_none() {
            return vec![after];
        }
        let grown = after.history.len() > before.history.len();
        let last = after.history.last().filter(|_| grown);
        let mut found = Vec::new();
        if let Some(Destination::Gate(to)) =
            last.filter(|last| last.retry.is_some()).and_then(|last| last.to.clone())
        {
            let (here, at) = (self.here(&after), self.place(&to));
            for of_item in [false, true] {
                let now = count(self.returns(&after, &to, of_item).len());
                let class = self.reach.class(here, at, of_item, now);
                // The number of a task that this one stands for may be larger, up to the end of the class.
                if class == self.reach.class(here, at, of_item, now.saturating_sub(1))
                    && let Some(next) = self.reach.least(at, of_item, class + 1)
                {
                    let known = found.iter().chain([&after]);
                    let more = known.map(|task| self.counting(task, &to, next, of_item));
                    found.extend(more.collect::<Vec<_>>());
                }
                if after.gate.as_ref().is_some_and(|open| open.item.is_none()) {
                    break;
                }
            }
        }
        if let (Some(repeat), Some(round)) =
            (&self.workflow.repeat, last.and_then(|last| last.round))
            && round < repeat.max
        {
            let mut late = after.clone();
            late.history.last_mut().into_iter().for_each(|last| last.round = Some(repeat.max));
            found.push(late);
        }
        if let Some(last) = last
            && let (Some(from), Some(to)) = (last.item, last.to_item)
            && to.index == from.index + 1
        {
            found.push(middle(&after, from));
        }
        found.push(after);
        found
    }

    /// Returns the task with that many backward entries to the gate.
    fn counting(&self, task: &Task, gate: &GateId, wanted: u32, of_item: bool) -> Task {
        let mut task = task.clone();
        let entries = self.returns(&task, gate, of_item);
        let Some(first) = entries.first().copied() else { return task };
        let more = wanted.saturating_sub(count(entries.len()));
        let mut copy = without_voice(&task.history[first]);
        if !of_item {
            (copy.item, copy.to_item) = (None, None);
        }
        task.history.splice(first..first, (0..more).map(|_| copy.clone()));
        if let Some(last) = task.history.last_mut() {
            last.retry = last.retry.max(Some(wanted));
        }
        if let Some(open) = &mut task.gate {
            open.visit += more as usize;
        }
        task
    }

    /// Returns the task with the shortest history that has the same future.
    pub(crate) fn shortened(&self, mut task: Task) -> Task {
        let Some(open) = task.gate.clone() else {
            return Task { history: Vec::new(), blockers: Vec::new(), ..task };
        };
        let history = std::mem::take(&mut task.history);
        let whole = Task { history, ..task.clone() };
        let (kept, voices, counted) = self.needed(&whole, open.visit);
        let tail = kept.iter().filter(|at| **at >= open.visit).count();
        let (unanswered, sender) = (unanswered_at(&whole.history), self.sender(&whole));
        let keep = |at: usize| {
            let entry = whole.history[at].clone();
            let entry = if voices.contains(&at) { entry } else { without_voice(&entry) };
            let mut entry = Visit {
                completion: None,
                signature: None,
                workflow: None,
                outputs: Map::new(),
                checks: CheckResults::default(),
                ..entry
            };
            // A counter is as small as it can be, so that a step can only make it too small.
            if entry.retry.is_some() && !counted.contains(&at) && at + 1 < whole.history.len() {
                if !unanswered.contains(&at) {
                    entry.retry = None;
                } else if entry.to_item.is_none() && sender != Some(at) {
                    entry.to = Some(Destination::End);
                }
            }
            entry
        };
        task.history = kept.iter().map(|at| keep(*at)).collect();
        let visit = task.history.len() - tail;
        task.gate = Some(aof_domain::OpenVisit { visit, ..open });
        task
    }

    /// Returns the entries that the future depends on, those of them whose outcome counts, and those that count as returns.
    fn needed(
        &self,
        task: &Task,
        visit: usize,
    ) -> (BTreeSet<usize>, BTreeSet<usize>, BTreeSet<usize>) {
        let (history, here) = (&task.history, self.here(task));
        let mut voices: BTreeSet<usize> = unanswered_at(history).into_iter().collect();
        voices.extend(history.len().checked_sub(1));
        let tail = visit.min(history.len())..history.len();
        // Of each open branch, the last entry.
        voices.extend(tail.clone().filter(|at| {
            history[at + 1..].iter().all(|later| later.branch != history[*at].branch)
        }));
        if let Some(cycle) = Loop::of(self.workflow, task) {
            let run = cycle.entries(self.workflow, history).len();
            voices.extend((history.len() - run).saturating_sub(1)..history.len());
        }
        let mut kept = voices.clone();
        kept.extend(history.iter().rposition(|entry| entry.round.is_some()));
        kept.extend(
            history
                .iter()
                .rposition(|entry| matches!(entry.outcome, Ending::Override | Ending::Reopened)),
        );
        voices.extend(history.iter().rposition(|entry| entry.outcome == Ending::Override));
        kept.extend(self.sender(task));
        let since = history.len() - since_round(history).len();
        if self.reach.ever_looks_back() {
            for gate in &self.workflow.gates {
                kept.extend((since..history.len()).rev().find(|at| history[*at].gate == gate.id));
            }
        }
        let mut workers = BTreeSet::new();
        for (at, entry) in history.iter().enumerate().skip(since) {
            let place = self.place(&entry.gate);
            let matters = self.apart[here].iter().any(|places| places.contains(&place));
            let counts = matches!(entry.outcome, Ending::Completed(_)) && matters;
            if let Some(agent) = entry.agent.as_ref().filter(|_| counts)
                && workers.insert((agent, &entry.gate))
            {
                kept.insert(at);
            }
        }
        let mut counted = BTreeSet::new();
        for of_item in [true, false] {
            for (place, gate) in self.workflow.gates.iter().enumerate() {
                let mut returns = self.returns(task, &gate.id, of_item);
                let class = self.reach.class(here, place, of_item, count(returns.len()));
                let least = self.reach.least(place, of_item, class).unwrap_or_default();
                returns.sort_by_key(|at| {
                    (!counted.contains(at), !kept.contains(at), std::cmp::Reverse(*at))
                });
                counted.extend(returns.into_iter().take(least as usize));
            }
        }
        kept.extend(&counted);
        (kept, voices, counted)
    }

    /// Returns the lists for loops below these names of the context, as paths.
    fn lists_below(&self, names: &[&str]) -> Vec<Vec<&'a str>> {
        let workflow: &'a Workflow = self.workflow;
        let each = workflow.gates.iter().filter_map(Gate::for_each);
        let paths = each.map(|each| each.path().collect::<Vec<_>>());
        paths
            .filter(|path| path.starts_with(names))
            .map(|path| path[names.len()..].to_vec())
            .collect()
    }

    /// Returns the lists for loops that the gate or branch hands on, as paths in its outputs.
    pub(crate) fn lists_of(&self, at: &Station) -> Vec<Vec<&'a str>> {
        let branch = at.branch.as_ref().map(GateId::as_str);
        let names: Vec<&str> = std::iter::once(at.gate.as_str()).chain(branch).collect();
        self.lists_below(&names)
    }

    /// Returns the inputs with which tasks may begin, as far as loops go through them.
    pub(crate) fn inputs(&self) -> Vec<Map> {
        let own = self.workflow.context.input.clone().unwrap_or_default();
        let paths = self.lists_below(&["input"]);
        if paths.is_empty() {
            return vec![own];
        }
        let with = |length: usize| {
            let mut input = own.clone();
            for path in &paths {
                put_list(&mut input, path, length, None);
            }
            input
        };
        LENGTHS.iter().map(|length| with(*length)).collect()
    }
}

/// Puts a list of that length into an object, at the path; of the items that are there already, or of this one.
pub(crate) fn put_list(object: &mut Map, path: &[&str], length: usize, item: Option<&Value>) {
    match path {
        [] => {}
        [name] => {
            let known = object.get(*name).and_then(Value::as_array).and_then(|list| list.first());
            let item = known.or(item).cloned().unwrap_or_else(|| "an item".into());
            object.insert((*name).to_owned(), vec![item; length].into());
        }
        [name, rest @ ..] => {
            let inner = object.entry((*name).to_owned()).or_insert_with(|| Map::new().into());
            if let Some(inner) = inner.as_object_mut() {
                put_list(inner, rest, length, item);
            }
        }
    }
}

/// Returns the task with an item between the first and the last, in place of the last.
fn middle(task: &Task, from: LoopItem) -> Task {
    let mut task = task.clone();
    for entry in &mut task.history {
        // The counts of the first item are not those of the next.
        if entry.to_item == Some(from) && entry.item == Some(from) {
            *entry = Visit { item: None, to_item: None, ..without_voice(entry) };
        }
    }
    if let Some(last) = task.history.last_mut() {
        last.to_item = Some(from);
        last.item = last.item.map(|item| LoopItem { index: item.index + 1, ..item });
    }
    task.gate.as_mut().into_iter().for_each(|open| open.item = Some(from));
    task
}

/// Returns the entry with an outcome that neither asks for changes nor answers a request.
fn without_voice(entry: &Visit) -> Visit {
    let outcome = match &entry.outcome {
        Ending::Completed(_) => Ending::Completed(Outcome::Failed),
        other => other.clone(),
    };
    let branch = entry.branch.clone().filter(|_| entry.leaves_open());
    Visit {
        outcome,
        branch,
        join: None,
        verdict: None,
        skipped: Vec::new(),
        blockers: Vec::new(),
        summary: String::new(),
        ..entry.clone()
    }
}

/// Returns the agents that exist, by kind. Each agent whom the promise names is a kind of its own.
fn kinds(
    rules: &Rules,
    workflow: &Workflow,
    promise: Option<&CompiledPromise>,
) -> Vec<Vec<AgentId>> {
    let roles = workflow.roles();
    let named: Vec<AgentId> = promise.map(CompiledPromise::agents).unwrap_or_default();
    let mut kinds: Vec<(Vec<&RoleId>, bool, Vec<AgentId>)> = Vec::new();
    for agent in rules.org.all_agents() {
        let own: Vec<&RoleId> =
            rules.org.roles_of(agent).filter(|role| roles.contains(role)).collect();
        if own.is_empty() || !rules.org.is_registered(agent) {
            continue;
        }
        let is_human = agent.is_human();
        let same = |(roles, human, agents): &&mut (Vec<&RoleId>, bool, Vec<AgentId>)| {
            let is_named = [agent, &agents[0]].iter().any(|one| named.contains(one));
            *roles == own && *human == is_human && !is_named
        };
        match kinds.iter_mut().find(same) {
            Some((_, _, agents)) => agents.push(agent.clone()),
            None => kinds.push((own, is_human, vec![agent.clone()])),
        }
    }
    let mut kinds: Vec<Vec<AgentId>> = kinds.into_iter().map(|(_, _, agents)| agents).collect();
    if roles.iter().any(|role| rules.is_open(role)) {
        // Anybody may work there, also those whom the promise names.
        let two = |prefix: &str| -> Vec<AgentId> {
            let names = (1..=9).filter_map(|number| format!("{prefix}-{number}").parse().ok());
            names.filter(|name| !named.contains(name)).take(2).collect()
        };
        kinds.extend([two("agent"), two("human")]);
        kinds.extend(named.iter().map(|agent| vec![agent.clone()]));
    }
    kinds
}

/// Returns the rules with smaller limits in the same order.
fn capped(rules: &Rules, workflow: &Workflow) -> Rules {
    let mut capped = rules.clone();
    let large = workflow.gates.iter().filter_map(|gate| gate.exits.max_retries);
    let large: BTreeSet<u32> = large.filter(|limit| *limit > MOST_RETRIES).collect();
    for other in capped.project.workflows.iter_mut().filter(|other| other.name == workflow.name) {
        for limit in other.gates.iter_mut().filter_map(|gate| gate.exits.max_retries.as_mut()) {
            if let Some(rank) = large.iter().position(|known| known == limit) {
                *limit = MOST_RETRIES + 1 + count(rank);
            }
        }
    }
    capped
}

pub(crate) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

pub(crate) fn word(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}
