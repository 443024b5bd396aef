//! Alarms: states from which nobody who exists can bring a task to an end, and what can never happen.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cases::{Cases, ConditionPlace};
use super::explore::StateGraph;
use super::projection::Model;
use super::story::{StoryAct, tell};
use crate::routing::workplace::Workplace;
use aof_domain::{GateId, Outcome, Station, Task, listed};

/// A fault of a workflow, or what may be one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alarm {
    /// The kind: stable, for JSON.
    pub code: Cow<'static, str>,
    /// The gate or branch.
    pub at: String,
    pub message: String,
    pub fix: String,
    /// True if it certainly happens; false if it may, depending on what conditions read.
    #[serde(rename = "certain")]
    pub is_certain: bool,
    /// The acts that lead there, the first one first; empty if none were found, or none can.
    pub story: Vec<StoryAct>,
}

impl Alarm {
    /// `story` is `None` if none was found.
    pub(crate) fn new(
        code: &'static str,
        at: String,
        message: String,
        fix: &str,
        story: Option<Vec<StoryAct>>,
    ) -> Self {
        let (is_certain, fix) = (story.is_some(), fix.to_owned());
        Self { code: code.into(), at, message, fix, is_certain, story: story.unwrap_or_default() }
    }
}

/// Returns the alarms about states from which no end can be reached.
pub(crate) fn stuck(model: &Model<'_>, cases: &Cases, graph: &StateGraph) -> Vec<Alarm> {
    let states = &graph.states;
    let is_stuck = |at: usize| {
        let state = &states[at];
        state.is_explored && state.edges.is_empty() && !graph.is_end(at)
    };
    let mut kinds: BTreeMap<(String, &'static str), (Vec<usize>, String, &'static str)> =
        BTreeMap::new();
    for at in (0..states.len()).filter(|at| is_stuck(*at)) {
        for (station, code, why, fix) in reasons(model, &states[at].task) {
            kinds.entry((station, code)).or_insert((Vec::new(), why, fix)).0.push(at);
        }
    }
    let tries = |task: &Task, _: &[Value]| {
        let moves = model.moves(task, &[]);
        let moved = |taken| model.moved(model.rules, task, taken, usize::MAX);
        moves.iter().all(|taken| moved(taken).map_or(true, |after| after == *task))
    };
    let mut alarms: Vec<Alarm> = kinds
        .into_iter()
        .map(|((station, code), (found, message, fix))| {
            let story = tell(model, cases, graph, &|at| found.contains(&at), &tries);
            Alarm::new(code, station, message, fix, story)
        })
        .collect();
    // A state that is unexplored or stuck counts as an end here: it is reported elsewhere.
    let ends = graph.distances(|at| graph.is_end(at) || !states[at].is_explored || is_stuck(at));
    let gate_of = |at: usize| states[at].task.gate.as_ref().map(|open| &open.current);
    let doomed = || (0..states.len()).filter(|at| ends[*at].is_none() && gate_of(*at).is_some());
    // Gates that a task never leaves; in a circle of gates, any of them.
    let leaves =
        graph.distances(|at| states[at].edges.iter().any(|edge| gate_of(edge.to) != gate_of(at)));
    let mut gates: BTreeSet<_> =
        doomed().filter(|at| leaves[*at].is_none()).filter_map(gate_of).collect();
    if gates.is_empty() {
        gates.extend(doomed().next().and_then(gate_of));
    }
    for gate in gates {
        let is_meant = |at: usize| ends[at].is_none() && gate_of(at) == Some(gate);
        let story = tell(model, cases, graph, &is_meant, &|_, _| true);
        let message = format!("from gate `{gate}` no end can be reached, whatever is said");
        let fix = "give one of the gates behind it a route to `$end`, or a condition that can hold";
        alarms.push(Alarm::new("dead_end", gate.to_string(), message, fix, story));
    }
    alarms.sort_by_key(|alarm| (!alarm.is_certain, alarm.story.len()));
    alarms
}

/// Returns, for each open workplace that nobody can take, the place, a code, the reason and a fix.
fn reasons(model: &Model<'_>, task: &Task) -> Vec<(String, &'static str, String, &'static str)> {
    let rules = model.rules;
    let places = Workplace::open(rules, task);
    let mut found = Vec::new();
    for place in &places {
        let (station, role) = (place.station(), place.role);
        let stepped_in = *role != place.duty.role;
        let after = if stepped_in { " once it was escalated" } else { "" };
        let members = rules.org.role(role).map(|role| role.agents.as_slice()).unwrap_or_default();
        let existing: Vec<_> =
            members.iter().filter(|agent| rules.org.is_registered(agent)).collect();
        let (code, why, fix) = if members.is_empty() {
            (
                "nobody",
                format!("role `{role}` has no agents"),
                "add an agent to the role in org.yaml",
            )
        } else if existing.is_empty() {
            (
                "nobody",
                format!("`agents` of org.yaml lacks all of role `{role}`: {}", listed(members)),
                "add them to `agents` in org.yaml",
            )
        } else if place.requires_human(rules) && !existing.iter().any(|agent| agent.is_human()) {
            let who = listed(&existing);
            (
                "no_person",
                format!("it is for people, and role `{role}` has only {who}"),
                "add a person to the role in org.yaml",
            )
        } else {
            let gates = listed(&place.duty.separate_from);
            let who = listed(&existing);
            (
                "nobody_is_separate",
                format!("each of role `{role}` ({who}) has worked at {gates} before"),
                "add an agent to the role that cannot work at those gates",
            )
        };
        let code =
            if stepped_in && code != "nobody_is_separate" { "limit_without_person" } else { code };
        found.push((
            station.to_string(),
            code,
            format!("nobody can take gate `{station}`{after}: {why}"),
            fix,
        ));
    }
    if places.is_empty()
        && let Some(open) = &task.gate
    {
        let message = format!("gate `{}` waits, and nobody can move the task on", open.current);
        found.push((
            open.current.to_string(),
            "dead_end",
            message,
            "give it a route to another gate",
        ));
    }
    found
}

/// Returns the alarms about gates, branches, routes and conditions that never matter.
pub(crate) fn dead(model: &Model<'_>, cases: &Cases, graph: &StateGraph) -> Vec<Alarm> {
    if !graph.is_whole() {
        return Vec::new();
    }
    let mut alarms = Vec::new();
    let mut add = |code, at: &str, message, fix| {
        alarms.push(Alarm::new(code, at.to_owned(), message, fix, Some(Vec::new())));
    };
    let name =
        |place: &ConditionPlace| place.as_ref().map_or("until".to_owned(), Station::to_string);
    for (place, answer) in &cases.constant {
        let (is, fix) = match answer {
            Some(true) => {
                ("is always true", "remove it, or let it read what differs between tasks")
            }
            Some(false) => ("is never true", "fix the condition, or remove what depends on it"),
            None => ("always fails", "fix the condition"),
        };
        let of = place
            .as_ref()
            .map_or("`until` of the workflow".to_owned(), |at| format!("`when` of gate `{at}`"));
        add("constant_condition", &name(place), format!("{of} {is}"), fix);
    }
    let is_constant =
        |at: &Station| cases.constant.iter().any(|(place, _)| place.as_ref() == Some(at));
    let gates = graph.states.iter().filter_map(|state| state.task.gate.as_ref());
    let entered: BTreeSet<&GateId> = gates.map(|open| &open.current).collect();
    let edges = graph.states.iter().flat_map(|state| &state.edges);
    let taken: BTreeSet<&(Station, Outcome)> = edges.flat_map(|edge| &edge.ended).collect();
    for (station, part) in model.workflow.parts() {
        if is_constant(&station) || is_constant(&Station::from(&station.gate)) {
            continue;
        }
        let name = station.to_string();
        if !entered.contains(&station.gate) {
            if station.branch.is_none() {
                let fix = "let a gate before it go on to it, or remove it";
                add("dead_gate", &name, format!("no task ever comes to gate `{name}`"), fix);
            }
        } else if station.branch.is_some() && !taken.iter().any(|(at, _)| *at == station) {
            let fix = "fix its `when` or its role, or remove it";
            add("dead_branch", &name, format!("branch `{name}` never says anything"), fix);
        } else {
            for (outcome, _) in part.exits.written() {
                if !taken.contains(&(station.clone(), outcome.clone())) {
                    let message =
                        format!("the route for `{outcome}` at gate `{name}` is never taken");
                    add("dead_route", &name, message, "remove it, or make it possible");
                }
            }
        }
    }
    alarms
}
