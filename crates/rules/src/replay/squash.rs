//! Replay of a squash: several entries of a task at once, one after the other, by the rules before it or by older ones.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Breach, apply_entry, before_first_gate, beginnings, candidates, differing_fields, find_rewrite,
    reapply, with_people_of, without_claims,
};
use crate::act::{Act, Actor};
use crate::condition::Condition;
use crate::workflow::rules::Rules;
use aof_domain::{
    BranchStatus, Destination, Ending, GateId, OpenVisit, Outcome, Routing, Status, Task,
    Timestamp, Visit,
};

/// A squash that the engine could have made, step by step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SquashProof {
    /// The number of new entries.
    pub entries: usize,
    /// The places of entries that only older rules allow, each with the place of these rules.
    pub older: BTreeMap<usize, usize>,
    /// The number of entries that another value of a condition's input led on: the entries do not hold that value.
    pub unknown_ways: usize,
}

/// Judges the new entries of `after`, and the opening of a new task. The first of `rules` are those before the commit, then older
/// ones follow, newest first.
pub fn prove_squash(
    rules: &[&Rules],
    before: Option<&Task>,
    after: &Task,
) -> Result<SquashProof, Breach> {
    if let Some(breach) = before.and_then(|before| find_rewrite(before, after)) {
        return Err(breach);
    }
    let mut replay = SquashReplay { rules, after, proof: SquashProof::default() };
    let mut task = match before.filter(|before| !before.is_new()) {
        // Conditions read what people changed in the same commit.
        Some(before) => with_people_of(before, after),
        None => replay.open()?,
    };
    for place in task.history.len()..after.history.len() {
        task = replay.enter(&task, place)?;
        replay.proof.entries += 1;
    }
    Ok(replay.proof)
}

struct SquashReplay<'r> {
    rules: &'r [&'r Rules],
    after: &'r Task,
    proof: SquashProof,
}

impl SquashReplay<'_> {
    /// Opens the task at the gate of its first entry, or at the open one.
    fn open(&mut self) -> Result<Task, Breach> {
        let after = self.after;
        let first = after.history.first().map(|entry| &entry.gate);
        let Some(gate) = first.or(after.gate.as_ref().map(|open| &open.current)) else {
            return Err(Breach::Begun { entries: 0 });
        };
        let opened = |rules: &Rules| {
            let mut start = before_first_gate(rules, after);
            let role = start.routing.role.take();
            start.routing = Routing { role, ..Routing::of(start.routing.workflow) };
            let (act, now) = beginnings(after).into_iter().next().ok_or("it has no beginning")?;
            reapply(rules, &start, &act, now, None).map(|step| step.task)
        };
        let fits = |rules: &Rules, task: &Task| {
            task.gate.as_ref().is_some_and(|open| open.current == *gate)
                && (!after.history.is_empty() || ends_as(rules, task, after))
        };
        let branches = branches_at(after, gate, 0);
        let way = Way { to: Some(gate), branches, decided: None, skipped: None, round: false };
        self.step(0, &way, opened, fits)
    }

    /// Applies the entry at that place.
    fn enter(&mut self, task: &Task, place: usize) -> Result<Task, Breach> {
        let after = self.after;
        let entry = &after.history[place];
        let fits = |rules: &Rules, next: &Task| {
            next.history.last() == Some(entry)
                && (place + 1 < after.history.len() || ends_as(rules, next, after))
        };
        let applied = |rules: &Rules| {
            let task = prepared(rules, task, after, entry);
            let first = apply_entry(rules, &task, entry);
            // Claims, releases and unblocks leave no entry.
            let free = || free_of_claims(&task);
            let unblocked = || unblock(rules, &free(), None, None, task.latest());
            first.or_else(|why| apply_entry(rules, &free(), entry).map_err(|_| why)).or_else(
                |why| {
                    let unblocked = unblocked().ok_or_else(|| why.clone())?;
                    apply_entry(rules, &unblocked, entry).map_err(|_| why)
                },
            )
        };
        let decided = match &entry.outcome {
            Ending::Completed(outcome) if entry.agent.is_none() => Some((&entry.gate, outcome)),
            _ => None,
        };
        let to = match &entry.to {
            Some(Destination::Gate(gate)) => Some(gate),
            _ => None,
        };
        let branches = to.map_or_else(BTreeSet::new, |to| branches_at(after, to, place + 1));
        let skipped = Some(&*entry.skipped);
        let way = Way { to, branches, decided, skipped, round: entry.round.is_some() };
        self.step(place, &way, applied, fits)
    }

    /// Returns the task after a step by the first rules that lead to what is found, by either result of conditions whose input the
    /// entries do not hold.
    fn step(
        &mut self,
        place: usize,
        way: &Way<'_>,
        applied: impl Fn(&Rules) -> Result<Task, String>,
        fits: impl Fn(&Rules, &Task) -> bool,
    ) -> Result<Task, Breach> {
        let mut breach = None;
        for (age, rules) in self.rules.iter().enumerate() {
            let result = applied(rules);
            let forced = || {
                let forced = way.forced(rules, self.after)?;
                applied(&forced).ok().filter(|task| fits(&forced, task))
            };
            let found = match &result {
                Ok(task) if fits(rules, task) && way.opens_in(task) => Some((task.clone(), false)),
                // Later entries show which branches a fork opened: none of them decides alone.
                Ok(task) if fits(rules, task) => match forced() {
                    Some(other) if way.opens_in(&other) => Some((other, true)),
                    _ => Some((task.clone(), false)),
                },
                _ => forced().map(|task| (task, true)),
            };
            if let Some((task, is_forced)) = found {
                self.proof.unknown_ways += usize::from(is_forced);
                if age > 0 {
                    self.proof.older.insert(place, age);
                }
                return Ok(task);
            }
            breach.get_or_insert_with(|| self.breach(place, result));
        }
        Err(breach.unwrap_or(Breach::Begun { entries: self.after.history.len() }))
    }

    fn breach(&self, place: usize, result: Result<Task, String>) -> Breach {
        match result {
            Err(why) => Breach::Refused { entry: place, why },
            Ok(task) => {
                let differs = task.history.get(place) != self.after.history.get(place);
                let fields = differing_fields(&without_claims(&task), &without_claims(self.after));
                let fields = if differs { vec!["gateHistory"] } else { fields };
                Breach::Otherwise { entry: place, fields, expected: Box::new(task) }
            }
        }
    }
}

/// Returns whether the task, with claims and at most one other act without an entry, is `after`.
fn ends_as(rules: &Rules, task: &Task, after: &Task) -> bool {
    let is_after =
        |task: &Task| differing_fields(&without_claims(task), &without_claims(after)).is_empty();
    let task = resumed(rules, task, after, None);
    is_after(&task)
        || candidates(&task, after).into_iter().any(|(act, now)| {
            reapply(rules, &task, &act, now, None).is_ok_and(|step| is_after(&step.task))
        })
}

/// Returns the task as it was just before the entry: unblocked, and overdue.
fn prepared(rules: &Rules, task: &Task, after: &Task, entry: &Visit) -> Task {
    let task = resumed(rules, task, after, Some(entry.exited));
    let Some(at) = entry.overdue.filter(|_| entry.outcome != Ending::Timeout) else { return task };
    let late = Act::Timeout { branch: entry.branch.clone() };
    match reapply(rules, &task, &late, at, None) {
        Ok(step) if step.task.history == task.history => step.task,
        _ => task,
    }
}

/// Unblocks what `after` shows as unblocked since, at the latest at `until`.
fn resumed(rules: &Rules, task: &Task, after: &Task, until: Option<Timestamp>) -> Task {
    let mut task = task.clone();
    let (Some(open), Some(later)) = (task.gate.clone(), &after.gate) else { return task };
    if (&open.current, open.visit) != (&later.current, later.visit) && open.branches.is_empty() {
        return task;
    }
    let is_due = |at: Timestamp| until.is_none_or(|until| at <= until);
    for part in open.branches.iter().filter(|part| part.status == BranchStatus::Blocked) {
        let Some(known) = later.branch(&part.id).filter(|_| open.current == later.current) else {
            continue;
        };
        if let Some(at) = known.resumed.filter(|at| is_due(*at)) {
            let (branch, answer) = (Some(&part.id), known.answer.clone());
            task = unblock(rules, &task, branch, answer, at).unwrap_or(task);
        }
    }
    if let Some(at) = later.resumed.filter(|at| task.status == Status::Blocked && is_due(*at)) {
        task = unblock(rules, &task, None, later.answer.clone(), at).unwrap_or(task);
    }
    task
}

fn unblock(
    rules: &Rules,
    task: &Task,
    branch: Option<&GateId>,
    reason: Option<String>,
    at: Timestamp,
) -> Option<Task> {
    let act = Act::Unblock { by: Actor::Person(None), branch: branch.cloned(), reason };
    let step = reapply(rules, task, &act, at, None).ok()?;
    (step.task.history == task.history).then_some(step.task)
}

fn free_of_claims(task: &Task) -> Task {
    Task { updated: task.updated, ..without_claims(task) }
}

/// Returns the branches that the entries from `place` on tell of, if the gate is a fork that was entered before them.
fn branches_at<'t>(after: &'t Task, gate: &GateId, place: usize) -> BTreeSet<&'t GateId> {
    let mut found = BTreeSet::new();
    for entry in &after.history[place..] {
        if entry.gate != *gate {
            return found;
        }
        found.extend(entry.branch.iter().chain(&entry.unfinished));
        if entry.join.is_some() {
            return found;
        }
    }
    let open = after.gate.as_ref().filter(|open| open.current == *gate);
    found.extend(open.into_iter().flat_map(opened));
    found
}

/// Returns the branches that were not skipped as the fork opened.
fn opened(fork: &OpenVisit) -> impl Iterator<Item = &GateId> {
    let branches = fork.branches.iter();
    branches.filter(|branch| branch.status != BranchStatus::Skipped).map(|branch| &branch.id)
}

/// The way that a task took, as its entry says.
struct Way<'e> {
    to: Option<&'e GateId>,
    /// The branches that were open there later, if it is a fork.
    branches: BTreeSet<&'e GateId>,
    /// An automatic gate, and its outcome.
    decided: Option<(&'e GateId, &'e Outcome)>,
    /// `None` for an opening, which does not say which gates it skipped.
    skipped: Option<&'e [GateId]>,
    /// True if another round began.
    round: bool,
}

impl Way<'_> {
    /// Returns whether the task has the branches that later entries tell of.
    fn opens_in(&self, task: &Task) -> bool {
        let open = task.gate.as_ref().filter(|open| Some(&open.current) == self.to);
        open.is_none_or(|open| {
            open.branches.is_empty() || opened(open).collect::<BTreeSet<_>>() == self.branches
        })
    }

    /// Returns the rules with those results of conditions that lead this way; `None` if the entries hold all that conditions read.
    fn forced(&self, rules: &Rules, task: &Task) -> Option<Rules> {
        let workflow = rules.workflow_of(task)?;
        let constant = |holds: bool| Condition::compile(&holds.to_string(), &[]).ok();
        let mut forced = rules.clone();
        let mut is_other = false;
        for ((of, station), condition) in &mut forced.conditions.when {
            let holds = match self.decided.filter(|(at, _)| **at == station.gate) {
                _ if *of != workflow.name => continue,
                _ if station.branch.is_some() && self.to != Some(&station.gate) => continue,
                _ if let Some(branch) = &station.branch => self.branches.contains(branch),
                Some((_, outcome)) => outcome.as_str() == "true",
                None if self.to == Some(&station.gate) => true,
                None if self.skipped.is_none_or(|skipped| skipped.contains(&station.gate)) => false,
                None => continue,
            };
            if reads_more_than_entries(condition) {
                *condition = constant(holds)?;
                is_other = true;
            }
        }
        if let Some(until) = forced.conditions.until.get_mut(&workflow.name)
            && reads_more_than_entries(until)
        {
            *until = constant(!self.round)?;
            is_other = true;
        }
        is_other.then_some(forced)
    }
}

fn reads_more_than_entries(condition: &Condition) -> bool {
    condition.reads().iter().any(|(name, _)| !matches!(name.as_str(), "gateHistory" | "context"))
}
