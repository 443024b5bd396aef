//! The routing function: where an outcome leads (spec 1, 3.1 to 3.3; DESIGN section 5).

use std::cell::OnceCell;

use serde_json::{Value, json};

use super::reviews::unanswered;
use crate::domain::{
    AgentId, ConditionTrouble, Decision, Destination, Ending, Exhausted, Gate, GateId, GateKind,
    OnConditionError, Outcome, RoleId, Station, Target, Task, TroubleAction, Visit, Workflow,
};
use crate::rules::act::LOOP_LIMIT;
use crate::rules::workflow::graph::{default_target, is_backward};
use crate::rules::workflow::rules::Rules;

/// A route through the workflow: its end, and what happens on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    pub to: Destination,
    /// Skipped gates.
    pub skipped: Vec<GateId>,
    /// Gates whose outputs are removed from the context.
    pub cleared: Vec<GateId>,
    /// How often backward routes will have entered `to`; `None` for a forward route.
    pub retry: Option<u32>,
    /// The role of the next visit, if not its gate's.
    pub escalated_to: Option<RoleId>,
    /// The backward route that exceeded its limit.
    pub exhausted: Option<TooOften>,
    /// Conditions that failed on the way.
    pub trouble: Vec<ConditionTrouble>,
}

/// A backward route that exceeded its limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooOften {
    /// The gate that it leads to.
    pub to: GateId,
    /// How often backward routes would have entered it.
    pub count: u32,
    pub limit: u32,
}

/// Returns where an outcome at the task's open gate would lead; `None` without an open visit.
pub fn preview(rules: &Rules, task: &Task, outcome: &Outcome) -> Option<Passage> {
    let workflow = rules.workflow_of(task)?;
    let (index, _) = workflow.gate(&task.gate.as_ref()?.current)?;
    Some(route(rules, workflow, task, &task.history, index, outcome))
}

/// Returns where the outcome at the gate with this index leads. `history` includes the visit that ends now, as far as it is known.
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
    // The return from a detour does not count as sending back.
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

/// Evaluates an automatic gate for the task. Returns the result, and failed conditions.
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

/// Returns the outcome for a condition gate's result.
pub(crate) fn decision(holds: bool) -> Outcome {
    let word: Decision = if holds { "true" } else { "false" }.parse().expect("it is letters");
    Outcome::Decision(word)
}

/// Finds routes from one gate.
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

    /// Returns where an outcome without a route leads.
    fn by_default(&self, outcome: &Outcome, history: &[Visit]) -> Passage {
        match default_target(self.workflow, self.gate(), outcome) {
            Some(target) => self.along(&target, history),
            None => self.back_to_sender(),
        }
    }

    /// Resolves a target.
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

    /// Jumps to a gate. A forward jump records the gates in between as skipped.
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

    /// Goes back to the first gate that applies; to the first of the list if none before this one does.
    fn origin(&self) -> Passage {
        let mut trouble = Vec::new();
        let line = || self.workflow.gates.iter().filter(|gate| !gate.detour);
        let before = self.workflow.gates[..self.index].iter().filter(|gate| !gate.detour);
        let found = before.into_iter().find(|gate| self.enters(gate, &mut trouble));
        let target = found.or_else(|| line().next()).unwrap_or(self.gate());
        Passage { trouble, ..Passage::straight(Destination::Gate(target.id.clone())) }
    }

    /// Goes back to the gate on the main line that the task visited last before this one.
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

    /// Returns from a detour to the gate that sent the task there.
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

    /// Counts a backward route, and redirects a task that exceeds its limit.
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
            // Repeated escalations do not end a circle: the loop guard does.
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

    /// Returns the gate, and how often backward routes will have entered it; `None` for a forward route.
    fn count(&self, to: &Destination, history: &[Visit]) -> Option<(GateId, u32)> {
        match to {
            Destination::Gate(gate) if is_backward(self.workflow, self.index, gate) => {
                Some((gate.clone(), returns_to(history, gate) + 1))
            }
            _ => None,
        }
    }

    /// Redirects a task to a gate whose rejection is unanswered, instead of ending or passing that gate.
    fn answering(&self, passage: Passage) -> Passage {
        let to = match &passage.to {
            Destination::End => self.workflow.gates.len(),
            // A backward route, or one from a detour, passes no gate: the task comes there again.
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
            action: if entered { TroubleAction::Enter } else { TroubleAction::Skip },
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

/// The values that conditions can read, by name.
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

    /// Returns the names with their values.
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

/// Returns an entry as conditions read it: the fields of spec 1, appendix B.
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
