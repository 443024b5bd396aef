//! Stories: acts of the engine, by the rules as they are, that lead to a state.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cases::Cases;
use super::explore::{State, StateGraph};
use super::moves::{Move, Saying};
use super::projection::Model;
use crate::condition::promise::CompiledPromise;
use aof_domain::{AgentId, GateId, Status, Task, listed};

/// An act of a story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryAct {
    /// The act, in words.
    pub text: String,
    /// The words with which `aof` does it; empty if a gate decides by itself, `sweep` if a time limit ends.
    pub command: Vec<String>,
    /// The value of `AOF_SESSION` for it, where workers are kept apart by session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The gate and the status of the task after it.
    pub gate: Option<GateId>,
    pub status: Status,
}

/// The most acts of a story.
const MOST_ACTS: usize = 150;
/// The most times that a story tries one way.
const MOST_TRIES: usize = 14;

/// Returns the acts that lead a task to one of the states, as sentences; the task is then as `is_reached` says. `None` if no story
/// was found.
pub(crate) fn tell(
    model: &Model<'_>,
    cases: &Cases,
    graph: &StateGraph,
    is_meant: &dyn Fn(usize) -> bool,
    is_reached: &dyn Fn(&Task, &[Value]) -> bool,
) -> Option<Vec<StoryAct>> {
    let distances = graph.distances(is_meant);
    let mut starts: Vec<usize> =
        (0..cases.all.len()).filter(|at| distances[*at].is_some()).collect();
    // Of the shortest stories, that of the plainest task.
    let facts = |task: &Task| task.tags.len() + task.metadata.len() + task.plan.values().count();
    starts.sort_by_key(|at| (distances[*at], facts(&cases.all[*at].task)));
    starts.iter().take(4).find_map(|case| {
        walk(model, graph, &distances, (*case, &cases.all[*case].task), is_reached)
    })
}

fn walk(
    model: &Model<'_>,
    graph: &StateGraph,
    distances: &[Option<usize>],
    (case, begin): (usize, &Task),
    is_reached: &dyn Fn(&Task, &[Value]) -> bool,
) -> Option<Vec<StoryAct>> {
    let (mut task, mut acts) = (begin.clone(), Vec::new());
    let mut seen = model.promise.map(CompiledPromise::begin).unwrap_or_default();
    let mut tries: HashMap<(usize, usize), usize> = HashMap::new();
    while acts.len() < MOST_ACTS {
        let at = *graph.index.get(&model.key(case, &task, &seen))?;
        if distances[at] == Some(0) && is_reached(&task, &seen) {
            return Some(acts);
        }
        let state = &graph.states[at];
        let mut edges: Vec<usize> = (0..state.edges.len()).collect();
        edges.retain(|edge| distances[state.edges[*edge].to].is_some());
        edges.retain(|edge| tries.get(&(at, *edge)).is_none_or(|times| *times < MOST_TRIES));
        edges.sort_by_key(|edge| distances[state.edges[*edge].to]);
        let (edge, taken, after) = edges.into_iter().find_map(|edge| {
            let taken = meant(model, state, (&task, &seen), &state.edges[edge].taken)?;
            let after = model.moved(model.rules, &task, &taken, acts.len()).ok()?;
            let after = Some(after).filter(|after| *after != task)?;
            Some((edge, taken, after))
        })?;
        *tries.entry((at, edge)).or_default() += 1;
        acts.push(StoryAct {
            text: sentence(&task, &taken, &after),
            command: command(model, &task, &taken, acts.len()),
            session: session(model, &taken, acts.len()),
            gate: after.gate.as_ref().map(|open| open.current.clone()),
            status: after.status,
        });
        seen = model.seen(&seen, (&task, &after));
        task = after;
    }
    None
}

/// Returns the move for the task, by an agent like the one that moved the state's task.
fn meant(
    model: &Model<'_>,
    state: &State,
    (task, seen): (&Task, &[Value]),
    taken: &Move,
) -> Option<Move> {
    let Move::Say(says) = taken else { return Some(taken.clone()) };
    let kind = model.kinds.iter().position(|kind| kind.contains(&says.agent))?;
    let wanted = model.standing(&state.task, &state.seen, kind, &says.agent);
    let mut agents = model.kinds[kind].iter();
    let agent: &AgentId = agents.find(|agent| model.standing(task, seen, kind, agent) == wanted)?;
    Some(Move::Say(Saying { agent: agent.clone(), ..says.clone() }))
}

/// Returns the session that the move belongs to, if that counts.
fn session(model: &Model<'_>, taken: &Move, number: usize) -> Option<String> {
    matches!(taken, Move::Say(_)).then(|| model.session(number))?
}

/// Returns the words with which `aof` does what the move does.
fn command(model: &Model<'_>, task: &Task, taken: &Move, number: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
    match taken {
        Move::Pass => {}
        Move::Timeout(_) => words.push("sweep".to_owned()),
        Move::Unblock(branch) => {
            add("unblock", task.ticket_of(branch.as_ref()).to_string());
            add("--reason", "settled".to_owned());
            add("--agent", model.person());
        }
        Move::Open => {
            add("new", task.title.clone());
            add("--workflow", task.routing.workflow.to_string());
            task.tags.iter().for_each(|tag| add("--tag", tag.clone()));
            for (key, value) in &task.metadata {
                add("--meta", format!("{key}={value}"));
            }
            task.plan.priority.iter().for_each(|word| add("--priority", word.clone()));
            task.plan.milestone.iter().for_each(|name| add("--milestone", name.clone()));
            let input = task.context.get("input").and_then(Value::as_object);
            if let Some(input) = input.filter(|input| !input.is_empty()) {
                add("--context", Value::Object(input.clone()).to_string());
            }
        }
        Move::Say(says) => {
            let made = model.completion(task, says, number);
            add("complete", made.ticket.to_string());
            add("--agent", says.agent.to_string());
            add("--outcome", says.outcome.to_string());
            made.content.summary.into_iter().for_each(|text| add("--summary", text));
            made.content.blockers.into_iter().flatten().for_each(|text| add("--blocker", text));
            for (key, value) in made.content.outputs {
                add("--output", format!("{key}={value}"));
            }
        }
    }
    words
}

fn sentence(before: &Task, taken: &Move, after: &Task) -> String {
    let here = before.gate.as_ref().map(|open| open.current.to_string()).unwrap_or_default();
    let at = |branch: &Option<aof_domain::GateId>| match branch {
        Some(branch) => format!("`{here}/{branch}`"),
        None => format!("`{here}`"),
    };
    let then = then(before, after);
    match taken {
        Move::Open => {
            let tags = (!before.tags.is_empty()).then(|| format!("tags {}", listed(&before.tags)));
            let facts = before.metadata.iter().map(|(key, value)| format!("`{key}: {value}`"));
            let priority = before.plan.priority.iter().map(|word| format!("priority {word}"));
            let facts: Vec<String> = tags.into_iter().chain(facts).chain(priority).collect();
            let with = if facts.is_empty() {
                String::new()
            } else {
                format!(" with {}", facts.join(", "))
            };
            format!("A task{with} begins{then}")
        }
        Move::Pass => format!("`{here}` decides by itself{then}"),
        Move::Timeout(branch) => {
            let open = after.gate.as_ref();
            let part = branch
                .as_ref()
                .and_then(|id| open?.branch(id))
                .and_then(|part| part.escalated.as_ref());
            let role = part.or(open.and_then(|open| open.escalated.as_ref()));
            let role =
                role.map(|role| format!(", and role `{role}` must step in")).unwrap_or_default();
            format!("The time limit of {} ends{role}", at(branch))
        }
        Move::Unblock(_) => format!("A person unblocks the task{then}"),
        Move::Say(says) => {
            format!("`{}` says `{}` at {}{then}", says.agent, says.outcome, at(&says.branch))
        }
    }
}

/// Returns where the task is after an act, if it has moved.
fn then(before: &Task, after: &Task) -> String {
    match (&after.gate, &before.gate) {
        (Some(now), Some(old)) if now.current == old.current => match after.status {
            Status::Blocked if before.status != Status::Blocked => {
                ": the task is blocked there".to_owned()
            }
            _ => String::new(),
        },
        (Some(now), _) => {
            let held = if after.status == Status::Blocked { ", and is blocked" } else { "" };
            let is_back = after.history.last().is_some_and(|last| last.retry.is_some());
            let moves = if is_back { "goes back to" } else { "is at" };
            format!(": the task {moves} `{}`{held}", now.current)
        }
        (None, _) => format!(": the task is {}", after.status),
    }
}
