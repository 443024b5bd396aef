//! Where an outcome leads (spec 1, 3.1 to 3.3; DESIGN section 5): the one routing function.

use std::cell::OnceCell;

use serde_json::{Value, json};

use super::reviews::unanswered;
use crate::domain::{
    AgentId, ConditionTrouble, Decision, Destination, Ending, Exhausted, Gate, GateId, GateKind,
    OnConditionError, Outcome, RoleId, Station, Target, Task, Visit, Workflow,
};
use crate::rules::act::LOOP_LIMIT;
use crate::rules::workflow::graph::{default_target, is_backward};
use crate::rules::workflow::rules::Rules;

/// A way through the workflow: where it ends, and what was met on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    pub to: Destination,
    /// Gates that were passed over.
    pub skipped: Vec<GateId>,
    /// Gates whose outputs are forgotten.
    pub cleared: Vec<GateId>,
    /// How often a backward route will have entered `to` then; nothing where the way is not backward.
    pub retry: Option<u32>,
    /// The role that the next visit belongs to in place of its gate's.
    pub escalated_to: Option<RoleId>,
    /// The way back that would have been gone once too often.
    pub exhausted: Option<TooOften>,
    /// Conditions that failed on the way.
    pub trouble: Vec<ConditionTrouble>,
}

/// A way back that is not gone any more, or not as before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooOften {
    /// The gate that it leads to.
    pub to: GateId,
    /// How often backward routes would have entered it.
    pub count: u32,
    pub limit: u32,
}

/// Returns where an outcome at the task's open gate would lead, or nothing when no visit is open.
pub fn preview(rules: &Rules, task: &Task, outcome: &Outcome) -> Option<Passage> {
    let workflow = rules.workflow_of(task)?;
    let (index, _) = workflow.gate(&task.gate.as_ref()?.current)?;
    Some(route(rules, workflow, task, &task.history, index, outcome))
}

/// Returns where the outcome at the gate number `index` leads. `history` includes the visit that ends now, as far as it is known.
pub(crate) fn route(
    rules: &Rules,
    workflow: &Workflow,
    task: &Task,
    history: &[Visit],
    index: usize,
    outcome: &Outcome,
) -> Passage {
    let scope = ConditionScope::of(task, history);
    let way = RouteFinder { rules, workflow, task, scope: &scope, index };
    let written = workflow.gates[index].exits.route(outcome);
    let mut passage = match written {
        Some(route) => way.along(&route.to, history),
        None => way.by_default(outcome, history),
    };
    passage.cleared = written.map(|route| route.clear.clone()).unwrap_or_default();
    let holds = match written {
        Some(route) => route.to == Target::Hold,
        None => passage.to == Destination::Gate(workflow.gates[index].id.clone()),
    };
    // The way back from a detour is no way back of the work.
    let counts = written.is_some() || *outcome == Outcome::NeedsReview;
    if counts && !holds {
        passage = way.counted(passage, history);
    }
    way.answering(passage)
}

/// Returns the first gate of the workflow that applies to the task.
pub(crate) fn entry(rules: &Rules, workflow: &Workflow, task: &Task) -> Passage {
    let scope = ConditionScope::of(task, &task.history);
    RouteFinder { rules, workflow, task, scope: &scope, index: 0 }.first_that_applies(0)
}

/// Returns what a gate that decides by itself decides of the task.
pub(crate) fn judgement(
    rules: &Rules,
    workflow: &Workflow,
    gate: &Gate,
    task: &Task,
) -> (bool, Vec<ConditionTrouble>) {
    let mut trouble = Vec::new();
    let scope = ConditionScope::of(task, &task.history);
    (applies(rules, workflow, (Station::from(&gate.id), gate), &scope, &mut trouble), trouble)
}

/// Returns the outcome that stands for what a condition gate decides.
pub(crate) fn decision(holds: bool) -> Outcome {
    let word: Decision = if holds { "true" } else { "false" }.parse().expect("it is letters");
    Outcome::Decision(word)
}

/// The gate that a way begins at.
struct RouteFinder<'a> {
    rules: &'a Rules,
    workflow: &'a Workflow,
    task: &'a Task,
    scope: &'a ConditionScope<'a>,
    index: usize,
}

impl RouteFinder<'_> {
    fn gate(&self) -> &Gate {
        &self.workflow.gates[self.index]
    }

    /// Where an outcome leads that no route speaks of.
    fn by_default(&self, outcome: &Outcome, history: &[Visit]) -> Passage {
        match default_target(self.workflow, self.gate(), outcome) {
            Some(target) => self.along(&target, history),
            None => self.back_to_sender(),
        }
    }

    /// Where a target is.
    fn along(&self, target: &Target, history: &[Visit]) -> Passage {
        match target {
            Target::Gate(gate) => self.jump(gate),
            Target::Next => self.first_that_applies(self.index + 1),
            Target::Origin => self.origin(),
            Target::Previous => self.previous(history),
            Target::Hold => self.stay(),
            Target::End => Passage::straight(Destination::End),
            Target::Cancelled => Passage::straight(Destination::Cancelled),
            Target::Fail => Passage::straight(Destination::Fail),
        }
    }

    fn stay(&self) -> Passage {
        Passage::straight(Destination::Gate(self.gate().id.clone()))
    }

    /// A route forward passes over the gates in between: they are recorded, and never run by accident.
    fn jump(&self, to: &GateId) -> Passage {
        let mut passage = Passage::straight(Destination::Gate(to.clone()));
        if let Some((place, target)) = self.workflow.gate(to)
            && place > self.index
            && !target.detour
            && !self.gate().detour
        {
            let between = &self.workflow.gates[self.index + 1..place];
            passage.skipped =
                between.iter().filter(|gate| !gate.detour).map(|gate| gate.id.clone()).collect();
        }
        passage
    }

    fn first_that_applies(&self, from: usize) -> Passage {
        let mut passage = Passage::straight(Destination::End);
        for gate in self.workflow.gates[from..].iter().filter(|gate| !gate.detour) {
            if self.enters(gate, &mut passage.trouble) {
                passage.to = Destination::Gate(gate.id.clone());
                break;
            }
            passage.skipped.push(gate.id.clone());
        }
        passage
    }

    /// The way back to the first gate that applies; the list's first if none before this one does.
    fn origin(&self) -> Passage {
        let mut trouble = Vec::new();
        let line = || self.workflow.gates.iter().filter(|gate| !gate.detour);
        let before = self.workflow.gates[..self.index].iter().filter(|gate| !gate.detour);
        let found = before.into_iter().find(|gate| self.enters(gate, &mut trouble));
        let target = found.or_else(|| line().next()).unwrap_or(self.gate());
        Passage { trouble, ..Passage::straight(Destination::Gate(target.id.clone())) }
    }

    /// The way back to the gate of the line that the task visited last before it came here.
    fn previous(&self, history: &[Visit]) -> Passage {
        let earlier = |visit: &Visit| {
            let (place, gate) = self.workflow.gate(&visit.gate)?;
            (place < self.index && !gate.detour && gate.kind != GateKind::Condition)
                .then(|| gate.id.clone())
        };
        match history.iter().rev().find_map(earlier) {
            Some(gate) => Passage::straight(Destination::Gate(gate)),
            None => self.origin(),
        }
    }

    /// The way from a detour to the gate that sent the task there.
    fn back_to_sender(&self) -> Passage {
        let here = &self.gate().id;
        let sent = |visit: &&Visit| {
            visit.to == Some(Destination::Gate(here.clone())) && visit.gate != *here
        };
        let sender = self.task.history.iter().rev().find(sent).map(|visit| &visit.gate);
        match sender.filter(|gate| self.workflow.gate(gate).is_some()) {
            Some(gate) => Passage::straight(Destination::Gate(gate.clone())),
            None => self.origin(),
        }
    }

    /// Counts a way back, and sends a task that has gone it too often where such tasks go.
    fn counted(&self, passage: Passage, history: &[Visit]) -> Passage {
        let Some((to, count)) = self.count(&passage.to, history) else { return passage };
        let exits = &self.gate().exits;
        let limit = exits.retries().unwrap_or(LOOP_LIMIT);
        let too_often = (count > limit).then_some(TooOften { to, count, limit });
        let counted = Passage { retry: Some(count), exhausted: too_often, ..passage };
        if counted.exhausted.is_none() {
            return counted;
        }
        match &exits.on_exhausted {
            Exhausted::Block => counted,
            // Nor does a role that is asked again and again end a circle: the loop guard does.
            Exhausted::Escalate(_)
                if count > exits.retries().unwrap_or(LOOP_LIMIT).saturating_add(LOOP_LIMIT) =>
            {
                counted
            }
            Exhausted::Escalate(role) => Passage { escalated_to: Some(role.clone()), ..counted },
            Exhausted::Route(target) => {
                let instead = self.along(target, history);
                let retry = self.count(&instead.to, history).map(|(_, count)| count);
                Passage { retry, cleared: counted.cleared, exhausted: counted.exhausted, ..instead }
            }
        }
    }

    /// Returns the gate, and how often it will have been entered by backward routes; nothing where this is no way back.
    fn count(&self, to: &Destination, history: &[Visit]) -> Option<(GateId, u32)> {
        match to {
            Destination::Gate(gate) if is_backward(self.workflow, self.index, gate) => {
                Some((gate.clone(), returns_to(history, gate) + 1))
            }
            _ => None,
        }
    }

    /// A task does not end, nor pass the gate by, while that gate's rejection is unanswered: it goes there.
    fn answering(&self, passage: Passage) -> Passage {
        let to = match &passage.to {
            Destination::End => self.workflow.gates.len(),
            // What goes back, or leaves a detour, passes nothing by: it comes to the gate again.
            Destination::Gate(gate) if is_backward(self.workflow, self.index, gate) => {
                return passage;
            }
            Destination::Gate(gate) => self.workflow.gate(gate).map_or(0, |(place, _)| place),
            Destination::Cancelled | Destination::Fail => return passage,
        };
        let mut trouble = Vec::new();
        let open = unanswered(&self.task.history);
        let waits = |gate: &Gate| open.iter().any(|visit| visit.gate == gate.id);
        let forgotten = self.workflow.gates.iter().enumerate().find(|(place, gate)| {
            let passed = (self.index < *place && *place < to) || passage.to == Destination::End;
            passed && *place != self.index && waits(gate) && self.enters(gate, &mut trouble)
        });
        let Some((place, gate)) = forgotten else { return passage };
        let there = if place > self.index {
            self.jump(&gate.id)
        } else {
            Passage::straight(Destination::Gate(gate.id.clone()))
        };
        Passage { to: there.to, skipped: there.skipped, ..passage }
    }

    fn enters(&self, gate: &Gate, trouble: &mut Vec<ConditionTrouble>) -> bool {
        let place = (Station::from(&gate.id), gate);
        gate.kind == GateKind::Condition
            || applies(self.rules, self.workflow, place, self.scope, trouble)
    }
}

/// Evaluates the condition of a gate, or of a branch as a gate; without one it applies.
pub(crate) fn applies(
    rules: &Rules,
    workflow: &Workflow,
    (station, gate): (Station, &Gate),
    scope: &ConditionScope<'_>,
    trouble: &mut Vec<ConditionTrouble>,
) -> bool {
    let Some(condition) = rules.condition(workflow, station) else { return true };
    condition.evaluate(&scope.names()).unwrap_or_else(|error| {
        let entered = gate.on_condition_error == OnConditionError::Enter;
        trouble.push(ConditionTrouble {
            gate: gate.id.clone(),
            expression: condition.source().to_owned(),
            error: error.message,
            entered,
        });
        entered
    })
}

impl Passage {
    fn straight(to: Destination) -> Self {
        Self {
            to,
            skipped: Vec::new(),
            cleared: Vec::new(),
            retry: None,
            escalated_to: None,
            exhausted: None,
            trouble: Vec::new(),
        }
    }
}

/// Returns how often backward routes have entered the gate since a person last moved the task.
pub(crate) fn returns_to(history: &[Visit], gate: &GateId) -> u32 {
    let since = history
        .iter()
        .rposition(|visit| matches!(visit.outcome, Ending::Override | Ending::Reopened));
    let recent = &history[since.map_or(0, |index| index + 1)..];
    let count = recent
        .iter()
        .filter(|visit| visit.retry.is_some() && visit.to == Some(Destination::Gate(gate.clone())))
        .count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// What conditions may speak of, by name.
pub(crate) struct ConditionScope<'a> {
    task: &'a Task,
    history: &'a [Visit],
    values: OnceCell<[Value; 4]>,
}

impl<'a> ConditionScope<'a> {
    /// Returns the scope of a task with that history.
    pub(crate) fn of(task: &'a Task, history: &'a [Visit]) -> Self {
        Self { task, history, values: OnceCell::new() }
    }

    /// Returns the values with their names.
    pub(crate) fn names(&self) -> [(&str, &Value); 4] {
        let [tags, metadata, history, context] = self.values.get_or_init(|| {
            [
                json!(self.task.tags),
                Value::Object(self.task.metadata.clone()),
                self.history.iter().map(visible).collect(),
                Value::Object(self.task.context.clone()),
            ]
        });
        [("tags", tags), ("metadata", metadata), ("gateHistory", history), ("context", context)]
    }
}

/// Returns an entry as conditions see it: the fields of spec 1, appendix B.
fn visible(visit: &Visit) -> Value {
    json!({
        "gate": visit.station().to_string(),
        "role": visit.role.as_ref().map(RoleId::as_str),
        "agent": visit.agent.as_ref().map(AgentId::as_str),
        "entered": visit.entered.to_string(),
        "exited": visit.exited.to_string(),
        "duration": visit.duration(),
        "outcome": visit.outcome.as_str(),
        "summary": visit.summary,
        "blockers": visit.blockers,
        "rejectionNotes": visit.rejection_notes,
        "outputs": visit.outputs,
        "metadata": visit.metadata,
    })
}
