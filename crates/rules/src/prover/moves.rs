//! The moves that are possible for a task, by those who exist; each is one step of the engine.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::cases::{Cases, GivenAnswer, RulesVariant};
use super::projection::{Model, put_list};
use crate::Deadline;
use crate::act::{Act, Actor, Decision};
use crate::outputs::{example, item_at, shape_of};
use crate::refusal::Refusal;
use crate::routing::workplace::{Workplace, may_complete};
use crate::transition::claims::{Limit, deadlines};
use crate::transition::completion::passes_by_itself;
use crate::transition::decide::{decide, rehearse};
use crate::workflow::rules::Rules;
use aof_domain::{
    AgentId, BranchStatus, CheckResults, ChecklistCount, Completion, CompletionContent, Facts,
    GateId, Map, Outcome, Station, Status, Task, TestCount, Ticket, Timestamp,
};

/// A move of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Move {
    Open,
    /// A gate decides by itself.
    Pass,
    /// A time limit ends, and another role steps in.
    Timeout(Option<GateId>),
    /// A person unblocks the task, or a branch.
    Unblock(Option<GateId>),
    Say(Saying),
}

/// A completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Saying {
    pub(crate) branch: Option<GateId>,
    pub(crate) agent: AgentId,
    pub(crate) outcome: Outcome,
    /// The length of the lists that it hands on for loops.
    pub(crate) length: Option<usize>,
}

impl Model<'_> {
    /// Returns the moves of an open task. Of agents that differ in nothing, one moves.
    pub(crate) fn moves(&self, task: &Task, seen: &[Value]) -> Vec<Move> {
        let rules = &self.capped;
        let Some(open) = &task.gate else { return vec![Move::Open] };
        if passes_by_itself(rules, task) {
            return vec![Move::Pass];
        }
        let mut moves = Vec::new();
        for place in Workplace::open(rules, task) {
            let branch = place.branch().cloned();
            for agent in self.speakers(task, seen, &place) {
                for outcome in place.outcomes(rules) {
                    let hands_on = !self.lists_of(&place.station()).is_empty();
                    let lengths =
                        if hands_on { &[None, Some(0), Some(1), Some(2)][..] } else { &[None] };
                    let says = |length| {
                        let (branch, agent, outcome) =
                            (branch.clone(), agent.clone(), outcome.clone());
                        Move::Say(Saying { branch, agent, outcome, length })
                    };
                    moves.extend(lengths.iter().copied().map(says));
                }
            }
            let part = branch.as_ref().and_then(|id| open.branch(id));
            let steps_in = place.duty.escalate_to.is_some();
            if steps_in && time_limit(rules, task, branch.as_ref()).is_some() {
                moves.push(Move::Timeout(branch.clone()));
            }
            if part.is_some_and(|part| part.status == BranchStatus::Blocked) {
                moves.push(Move::Unblock(branch));
            }
        }
        if task.status == Status::Blocked {
            moves.push(Move::Unblock(None));
        }
        moves
    }

    /// Returns the agents that may complete the workplace, one of each that differ.
    fn speakers(&self, task: &Task, seen: &[Value], place: &Workplace<'_>) -> Vec<AgentId> {
        let mut found = Vec::new();
        for (kind, agents) in self.kinds.iter().enumerate() {
            let mut known = BTreeSet::new();
            for agent in agents {
                if may_complete(&self.capped, task, place, agent).is_ok()
                    && known.insert(self.standing(task, seen, kind, agent))
                {
                    found.push(agent.clone());
                }
            }
        }
        found
    }

    /// Returns the task after the move under these rules, or fails if they refuse it. `number` makes the completion unique.
    pub(crate) fn moved(
        &self,
        rules: &Rules,
        task: &Task,
        taken: &Move,
        number: usize,
    ) -> Result<Task, Refusal> {
        let now = task.updated.max(task.latest());
        let decision = match taken {
            Move::Open => decide(rules, task, &Act::Open, now),
            Move::Pass => decide(rules, task, &Act::Pass, now),
            Move::Timeout(branch) => {
                let at = time_limit(rules, task, branch.as_ref()).unwrap_or(now);
                decide(rules, task, &Act::Timeout { branch: branch.clone() }, at)
            }
            Move::Unblock(branch) => {
                let reason = Some("settled".to_owned());
                decide(
                    rules,
                    task,
                    &Act::Unblock { by: Actor::Person(None), branch: branch.clone(), reason },
                    now,
                )
            }
            Move::Say(says) => rehearse(rules, task, &self.completion(task, says, number), now),
        };
        Ok(match decision? {
            Decision::Step(step) => step.task,
            Decision::Settled { .. } => task.clone(),
        })
    }

    /// Returns the session of the completion with this number, if workers are kept apart by session.
    pub(crate) fn session(&self, number: usize) -> Option<String> {
        self.has_sessions.then(|| format!("session-{number}"))
    }

    /// Returns a person who unblocks tasks: of the organization, if it has one.
    pub(crate) fn person(&self) -> String {
        let agents = self.rules.org.all_agents();
        let person = agents.iter().find(|agent| agent.is_human());
        person.map_or("human-somebody".to_owned(), ToString::to_string)
    }

    /// Returns a completion with what its outcome needs.
    pub(crate) fn completion(&self, task: &Task, says: &Saying, number: usize) -> Completion {
        let open = task.gate.as_ref().map(|open| &open.current);
        let gate = open.and_then(|id| self.workflow.gate(id)).map(|(_, gate)| gate);
        let branch = says.branch.as_ref().zip(gate).and_then(|(id, gate)| gate.fork()?.branch(id));
        let duty = branch.map(|(_, branch)| branch.duty()).or(gate.and_then(|gate| gate.duty()));
        let shape = duty
            .and_then(|duty| shape_of(duty, &says.outcome))
            .filter(|shape| !shape.kinds.is_empty());
        let outputs = shape.as_ref().map(example);
        let mut outputs = outputs.and_then(|value| value.as_object().cloned()).unwrap_or_default();
        outputs.remove(crate::verdict::STATUS);
        let station = open.map(|open| Station { gate: open.clone(), branch: says.branch.clone() });
        let lists = station.map(|station| self.lists_of(&station)).unwrap_or_default();
        for (path, length) in lists.iter().zip(says.length.into_iter().cycle()) {
            let item = shape.as_ref().and_then(|shape| item_at(shape, path));
            put_list(&mut outputs, path, length, item.as_ref());
        }
        let metadata = self.session(number).map(|name| ("session".to_owned(), name.into()));
        let checks = CheckResults {
            tests: Some(TestCount { passed: 1, failed: 0, not_runnable: 0 }),
            checklist: Some(ChecklistCount::of(1, 0)),
        };
        Completion {
            ticket: Ticket { branch: says.branch.clone(), ..task.ticket() },
            gate: None,
            agent: says.agent.clone(),
            content: CompletionContent {
                outcome: Some(says.outcome.to_string()),
                summary: Some("A summary".to_owned()),
                blockers: says
                    .outcome
                    .needs_blockers()
                    .then(|| vec!["The token never expires".to_owned()]),
                outputs,
                metadata: metadata.into_iter().collect::<Map>(),
                ..CompletionContent::default()
            },
            id: format!("p{number}").parse().expect("it is an id"),
            signature: None,
            facts: Box::new(Facts { checks, ..Facts::default() }),
        }
    }
}

/// Returns the end of the time limit of the visit, or of its branch.
fn time_limit(rules: &Rules, task: &Task, branch: Option<&GateId>) -> Option<Timestamp> {
    let ends = deadlines(rules, task);
    let is_meant = |end: &&Deadline| end.limit == Limit::Timeout && end.branch.as_ref() == branch;
    ends.iter().find(is_meant).map(|end| end.at)
}

/// The most ways in which open conditions may answer together that are tried: each condition that one step asks multiplies them.
pub(crate) const MOST_ANSWERS: usize = 2_000;

/// Takes steps of the engine with each possible answer of the conditions that are open.
pub(crate) struct Stepper<'m, 'a> {
    model: &'m Model<'a>,
    cases: &'m Cases,
    variants: HashMap<(usize, Vec<GivenAnswer>), RulesVariant>,
    steps: usize,
}

impl<'m, 'a> Stepper<'m, 'a> {
    pub(crate) fn new(model: &'m Model<'a>, cases: &'m Cases) -> Self {
        Self { model, cases, variants: HashMap::new(), steps: 0 }
    }

    /// Returns whether there are more ways to answer than are tried.
    pub(crate) fn is_over(&self) -> bool {
        self.variants.len() > MOST_ANSWERS
    }

    /// Returns the tasks after the move, one for each way in which the open conditions may answer; `None` if its outputs are refused.
    pub(crate) fn results(&mut self, case: usize, task: &Task, taken: &Move) -> Option<Vec<Task>> {
        let open = &self.cases.open;
        let mut found: Vec<Task> = Vec::new();
        let mut waiting = vec![vec![GivenAnswer::Asked; open.len()]];
        while let Some(answers) = waiting.pop().filter(|_| !self.is_over()) {
            self.steps += 1;
            let (model, kind) = (self.model, &self.cases.all[case]);
            let variant = self
                .variants
                .entry((case, answers.clone()))
                .or_insert_with(|| RulesVariant::of(model, kind, open, &answers));
            let after = model.moved(&variant.rules, task, taken, self.steps);
            let asked = (0..open.len()).filter(|at| variant.was_asked(*at));
            let unknown: Vec<usize> =
                asked.filter(|at| answers[*at] == GivenAnswer::Asked).collect();
            if let Some(first) = unknown.first() {
                for answer in [GivenAnswer::Failed, GivenAnswer::No, GivenAnswer::Yes] {
                    let mut with = answers.clone();
                    with[*first] = answer;
                    waiting.push(with);
                }
                continue;
            }
            match after {
                Ok(after) if after != *task && !found.contains(&after) => found.push(after),
                Err(Refusal::InvalidOutputs { .. }) => return None,
                _ => {}
            }
        }
        Some(found)
    }
}
