//! Promises: what a project says that always holds of its tasks, proved, or the acts that break it.

use std::collections::BTreeSet;

use super::cases::Cases;
use super::ends::Alarm;
use super::explore::StateGraph;
use super::projection::{Model, word};
use super::story::{StoryAct, tell};
use super::{ProofVerdict, unexplored};
use crate::condition::promise::CompiledPromise;
use crate::routing::conditions::ConditionScope;
use crate::workflow::rules::Rules;
use aof_domain::{AgentId, Status, Task, Workflow};
use serde::Serialize;
use serde_json::Value;

/// The places of the gates where an agent worked, and those of the promise's values that are the agent.
pub(crate) type Standing = (BTreeSet<usize>, Vec<bool>);

impl Model<'_> {
    /// Returns the values of the promise after the step; `before` are those before it.
    pub(crate) fn seen(&self, before: &[Value], (old, new): (&Task, &Task)) -> Vec<Value> {
        let mut seen = before.to_vec();
        for entry in new.history.iter().skip(old.history.len()) {
            self.promise.into_iter().for_each(|one| one.follow(self.workflow, &mut seen, entry));
        }
        seen
    }

    /// Returns what tells an agent from others of its kind: the gates where it worked, and those that it passed last, if the promise
    /// depends on it.
    pub(crate) fn standing(
        &self,
        task: &Task,
        seen: &[Value],
        kind: usize,
        agent: &AgentId,
    ) -> Standing {
        let last = seen.iter().map(|value| value.as_str() == Some(agent.as_str())).collect();
        (self.worked(task, kind, agent), last)
    }

    /// Returns what tells the agents of each kind apart, in words.
    pub(crate) fn told_apart(&self, task: &Task, seen: &[Value]) -> Vec<u16> {
        let mut key = Vec::new();
        for (kind, agents) in self.kinds.iter().enumerate() {
            let all = agents.iter().map(|agent| self.standing(task, seen, kind, agent));
            let told = |(worked, last): &Standing| !worked.is_empty() || last.contains(&true);
            let mut found: Vec<Standing> = all.filter(told).collect();
            found.sort_unstable();
            key.push(word(found.len()));
            for (worked, last) in found {
                key.push(word(worked.len()));
                key.extend(worked.into_iter().map(word));
                key.extend(last.into_iter().map(u16::from));
            }
        }
        key
    }
}

/// The prover's answer about a promise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PromiseReport {
    pub name: String,
    pub verdict: ProofVerdict,
    /// The reason why it is neither proved nor refuted, or why it cannot be evaluated.
    pub why: Option<String>,
    /// The acts that break it, the first one first; empty if none were found.
    pub story: Vec<StoryAct>,
}

impl PromiseReport {
    pub(crate) fn of(
        rules: &Rules,
        workflow: &Workflow,
        promise: &CompiledPromise,
        most: usize,
    ) -> Self {
        let model = Model::new(rules, workflow, Some(promise));
        let facts = promise.facts.as_deref();
        let cases = Cases::of(&model, facts.unwrap_or_default());
        let graph = StateGraph::explore(&model, &cases, most);
        let holds = |task: &Task, seen: &[Value]| {
            let scope = ConditionScope::new(task, &task.history);
            promise.holds(seen, task.status == Status::Complete, &scope.names())
        };
        // A task begins with its first gate.
        let is_broken = |task: &Task, seen: &[Value]| {
            let has_begun = task.gate.is_some() || task.status.is_finished();
            has_begun && holds(task, seen) != Ok(true)
        };
        let states = graph.states.iter().map(|state| is_broken(&state.task, &state.seen));
        let broken: Vec<bool> = states.collect();
        let is_candidate = broken.contains(&true);
        let story = is_candidate
            .then(|| tell(&model, &cases, &graph, &|at| broken[at], &is_broken))
            .flatten();
        let (verdict, why) = if let Some(story) = &story {
            let mut broken = graph.states.iter().filter(|_| story.len() < 2);
            let error = broken.find_map(|state| holds(&state.task, &state.seen).err());
            let why = error.map(|error| format!("it cannot be evaluated: {}", error.message));
            (ProofVerdict::Refuted, why)
        } else if facts.is_none() {
            let why = "the prover does not understand all that it reads or compares";
            (ProofVerdict::Unknown, Some(why.to_owned()))
        } else if is_candidate {
            let why = "it may be broken, depending on what conditions read";
            (ProofVerdict::May, Some(why.to_owned()))
        } else {
            let why = unexplored(&cases, &graph, most);
            (if why.is_some() { ProofVerdict::Unknown } else { ProofVerdict::Proved }, why)
        };
        let story = story.unwrap_or_default();
        Self { name: promise.promise.name.clone(), verdict, why, story }
    }

    /// Returns the answer about a promise that is not explored.
    pub(crate) fn unknown(promise: &CompiledPromise, why: String) -> Self {
        let (name, verdict) = (promise.promise.name.clone(), ProofVerdict::Unknown);
        Self { name, verdict, why: Some(why), story: Vec::new() }
    }

    /// Returns the alarm if the promise is broken.
    pub(crate) fn alarm(&self) -> Option<Alarm> {
        let is_certain = match self.verdict {
            ProofVerdict::Refuted => true,
            ProofVerdict::May => false,
            ProofVerdict::Proved | ProofVerdict::Unknown => return None,
        };
        let why = self.why.as_ref().filter(|_| is_certain);
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        let message = format!("promise `{}` is broken{why}", self.name);
        let fix = "change the workflow, or what is promised";
        let story = is_certain.then(|| self.story.clone());
        Some(Alarm::new("broken_promise", self.name.clone(), message, fix, story))
    }
}
