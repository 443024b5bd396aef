//! The routing function: the destination of an outcome (spec 1, 3.1 to 3.3).

use super::conditions::{ConditionScope, applies, until_holds};
use super::loops::{self, Loop, since_round, store_outputs, this_round};
use super::reviews::unanswered;
use crate::act::LOOP_LIMIT;
use crate::workflow::graph::default_target;
use crate::workflow::rules::Rules;
use aof_domain::{
    ConditionTrouble, Decision, Destination, Exhausted, Gate, GateId, GateKind, LoopItem, Map,
    Outcome, RoleId, Station, Target, Task, TroubleAction, Visit, Workflow,
};

/// A route through the workflow: its end, and its effects on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    pub to: Destination,
    /// The item of a loop that the next visit is about.
    pub item: Option<LoopItem>,
    /// The number of the round that begins.
    pub round: Option<u32>,
    /// Skipped gates.
    pub skipped: Vec<GateId>,
    /// Gates whose outputs are removed from the context.
    pub cleared: Vec<GateId>,
    /// The number of times that backward routes will have entered `to`; `None` for a forward route.
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
    /// The number of times that backward routes would have entered it.
    pub count: u32,
    pub limit: u32,
}

/// Returns the passage of an outcome at the task's open gate; `None` without an open visit, and if the task waits for a list.
pub fn preview(rules: &Rules, task: &Task, outcome: &Outcome) -> Option<Passage> {
    let workflow = rules.workflow_of(task).filter(|_| !loops::has_no_list(task))?;
    let (index, _) = workflow.gate(&task.gate.as_ref()?.current)?;
    Some(route(rules, workflow, task, &task.history, index, outcome))
}

/// Returns the passage of the outcome at the gate with this index. `history` includes the visit that ends now, as far as it is
/// known.
pub(crate) fn route(
    rules: &Rules,
    workflow: &Workflow,
    task: &Task,
    history: &[Visit],
    index: usize,
    outcome: &Outcome,
) -> Passage {
    let scope = ConditionScope::new(task, history);
    let written = workflow.gates[index].exits.route(outcome);
    let mut context = task.context.clone();
    // A preview does not know the outputs of the visit.
    let ended = history.get(task.history.len()).cloned();
    if let Some(ended) = ended {
        let cleared = written.map(|route| route.clear.clone()).unwrap_or_default();
        store_outputs(workflow, &mut context, &Visit { cleared, ..ended });
    }
    let inside = Loop::of(workflow, task);
    let way =
        RouteFinder { rules, workflow, task, scope: &scope, context: &context, inside, index };
    let mut passage = match written {
        Some(route) => way.along(&route.to, history),
        None => way.by_default(outcome, history),
    };
    passage.cleared = written.map(|route| route.clear.clone()).unwrap_or_default();
    let holds = match written {
        Some(route) => route.to == Target::Hold,
        None => passage.to == Destination::Gate(workflow.gates[index].id.clone()),
    };
    let goes_on = way.inside.is_some() && written.is_some_and(|route| route.to == Target::Next);
    // The return from a detour and the next item of a loop do not count as sending back.
    let counts = (written.is_some() && !goes_on) || *outcome == Outcome::NeedsReview;
    if counts && !holds {
        passage = way.counted(passage, history);
    }
    let passage = way.begun(way.answering(passage));
    // A decision with a route to `$end` leaves the rounds.
    let is_exit = written.is_some_and(|route| route.to == Target::End);
    if is_exit && matches!(outcome, Outcome::Decision(_)) {
        return passage;
    }
    way.again(passage, history)
}

/// Returns the first gate of the workflow that applies to the task.
pub(crate) fn entry(rules: &Rules, workflow: &Workflow, task: &Task) -> Passage {
    let scope = ConditionScope::new(task, &task.history);
    let (context, inside, index) = (&task.context, None, 0);
    let way = RouteFinder { rules, workflow, task, scope: &scope, context, inside, index };
    way.begun(way.first_that_applies(0))
}

/// Evaluates an automatic gate for the task. Returns the result, and failed conditions.
pub(crate) fn judgement(
    rules: &Rules,
    workflow: &Workflow,
    gate: &Gate,
    task: &Task,
) -> (bool, Vec<ConditionTrouble>) {
    let mut trouble = Vec::new();
    let scope = ConditionScope::new(task, &task.history);
    (applies(rules, workflow, (Station::from(&gate.id), gate), &scope, &mut trouble), trouble)
}

/// Returns the outcome for a condition gate's result.
pub(crate) fn decision(holds: bool) -> Outcome {
    let word: Decision = if holds { "true" } else { "false" }.parse().expect("it is letters");
    Outcome::Decision(word)
}

/// Finds the routes that leave one gate.
struct RouteFinder<'a> {
    rules: &'a Rules,
    workflow: &'a Workflow,
    task: &'a Task,
    scope: &'a ConditionScope<'a>,
    /// The context after the visit that ends.
    context: &'a Map,
    /// The loop of the open visit.
    inside: Option<Loop<'a>>,
    index: usize,
}

impl RouteFinder<'_> {
    fn gate(&self) -> &Gate {
        &self.workflow.gates[self.index]
    }

    /// Returns the passage of an outcome without a route.
    fn by_default(&self, outcome: &Outcome, history: &[Visit]) -> Passage {
        let target = default_target(self.workflow, self.gate(), outcome);
        let rejects = *outcome == Outcome::NeedsReview && target != Some(Target::Hold);
        // The gate that verifies each item sends back the item that it has.
        if let Some(cycle) = self.inside.as_ref().filter(|cycle| cycle.place != self.index)
            && rejects
            && self.gate().exits.reject_to.is_none()
        {
            return Passage::straight(Destination::Gate(cycle.gate.id.clone()));
        }
        match target {
            Some(target) => self.along(&target, history),
            None if self.inside.is_some() => self.forward(),
            None => self.back_to_sender(),
        }
    }

    /// Moves forward: within a loop to its verification or its next item, otherwise to the next gate that applies.
    fn forward(&self) -> Passage {
        let Some(cycle) = &self.inside else { return self.first_that_applies(self.index + 1) };
        let verify = cycle.each.verify_each.as_ref().filter(|_| cycle.place == self.index);
        if let Some((_, gate)) = verify.and_then(|gate| self.workflow.gate(gate)) {
            return Passage::straight(Destination::Gate(gate.id.clone()));
        }
        match cycle.item.next() {
            Some(item) => {
                let to = Destination::Gate(cycle.gate.id.clone());
                Passage { item: Some(item), ..Passage::straight(to) }
            }
            None => self.first_that_applies(cycle.place + 1),
        }
    }

    /// Adds the item of the next visit. A loop over an empty list is skipped.
    fn begun(&self, passage: Passage) -> Passage {
        let Destination::Gate(gate) = &passage.to else { return passage };
        if passage.item.is_some() {
            return passage;
        }
        let inside = self.inside.as_ref();
        if let Some((place, gate)) = self.workflow.gate(gate)
            && !inside.is_some_and(|cycle| cycle.has(&gate.id))
            && self.is_empty_loop(gate)
        {
            let mut passage = passage.clone();
            passage.skipped.push(gate.id.clone());
            let on = self.first_that_applies(place + 1);
            passage.skipped.extend(on.skipped);
            passage.trouble.extend(on.trouble);
            passage.to = on.to;
            return self.begun(passage);
        }
        let item = loops::arriving(self.workflow, self.task, self.context, gate);
        Passage { item, ..passage }
    }

    fn is_empty_loop(&self, gate: &Gate) -> bool {
        gate.for_each().is_some_and(|each| loops::length(each, self.context) == Ok(0))
    }

    /// Starts another round of the workflow instead of ending, unless `until` holds.
    fn again(&self, passage: Passage, history: &[Visit]) -> Passage {
        let Some(repeat) = &self.workflow.repeat else { return passage };
        if passage.to != Destination::End {
            return passage;
        }
        let (rules, workflow) = (self.rules, self.workflow);
        let holds = until_holds(rules, workflow, self.task, history, self.context);
        let Some(Ok(false)) = holds else {
            let Some(Err(error)) = holds else { return passage };
            let trouble = ConditionTrouble {
                gate: self.gate().id.clone(),
                expression: repeat.until.clone(),
                error: error.message,
                action: TroubleAction::Block,
            };
            return Passage { trouble: vec![trouble], ..self.held() };
        };
        let round = loops::round(history) + 1;
        if round > repeat.max {
            return match &repeat.on_exhausted {
                Exhausted::Route(target) => {
                    self.begun(self.counted(self.along(target, history), history))
                }
                Exhausted::Block | Exhausted::Escalate(_) => self.held(),
            };
        }
        let mut first = self.first_that_applies(0);
        if first.to == Destination::End {
            return self.held();
        }
        first.skipped.splice(0..0, passage.skipped);
        let begun = self.begun(first);
        Passage { round: Some(round), cleared: passage.cleared, ..begun }
    }

    fn held(&self) -> Passage {
        Passage { item: self.inside.map(|cycle| cycle.item), ..self.stay() }
    }

    /// Resolves a target.
    fn along(&self, target: &Target, history: &[Visit]) -> Passage {
        match target {
            Target::Gate(gate) => self.jump(gate),
            Target::Next => self.forward(),
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

    /// Sends the task back to the first gate that applies; to the first of the list if none before this one does.
    fn origin(&self) -> Passage {
        let mut trouble = Vec::new();
        let line = || self.workflow.gates.iter().filter(|gate| !gate.detour);
        let before = self.workflow.gates[..self.index].iter().filter(|gate| !gate.detour);
        let found = before.into_iter().find(|gate| self.enters(gate, &mut trouble));
        let target = found.or_else(|| line().next()).unwrap_or(self.gate());
        Passage { trouble, ..Passage::straight(Destination::Gate(target.id.clone())) }
    }

    /// Sends the task back to the gate on the main line that the task visited last before this one.
    fn previous(&self, history: &[Visit]) -> Passage {
        self.back_to(last_before(self.workflow, history, self.index))
    }

    /// Sends the task from a detour back to the gate that sent it there.
    fn back_to_sender(&self) -> Passage {
        let history = &self.task.history;
        let sender = last_sender(history, &self.gate().id).map(|at| &history[at].gate);
        self.back_to(sender.and_then(|gate| self.workflow.gate(gate)).map(|(place, _)| place))
    }

    fn back_to(&self, place: Option<usize>) -> Passage {
        place.map_or_else(
            || self.origin(),
            |at| Passage::straight(Destination::Gate(self.workflow.gates[at].id.clone())),
        )
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

    /// Returns the gate, and the number of times that backward routes will have entered it; `None` for a forward route.
    fn count(&self, to: &Destination, history: &[Visit]) -> Option<(GateId, u32)> {
        match to {
            Destination::Gate(gate) if self.workflow.is_backward(self.index, gate) => {
                let count = returns(self.workflow, history, self.inside.as_ref(), gate).len();
                let count = u32::try_from(count).unwrap_or(u32::MAX);
                Some((gate.clone(), count.saturating_add(1)))
            }
            _ => None,
        }
    }

    /// Redirects a task to a gate whose rejection is unanswered, instead of ending or passing that gate.
    fn answering(&self, passage: Passage) -> Passage {
        let to = match &passage.to {
            Destination::End => self.workflow.gates.len(),
            // A backward route, or one from a detour, skips no gate: the task will come to it again.
            Destination::Gate(gate) if self.workflow.is_backward(self.index, gate) => {
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
                && !self.is_empty_loop(gate)
    }
}

impl Passage {
    fn straight(to: Destination) -> Self {
        Self {
            to,
            item: None,
            round: None,
            skipped: Vec::new(),
            cleared: Vec::new(),
            retry: None,
            escalated_to: None,
            exhausted: None,
            trouble: Vec::new(),
        }
    }
}

/// Returns the entries by which backward routes entered the gate, as far as they count: within a loop, each item has a count of its own.
pub(crate) fn returns(
    workflow: &Workflow,
    history: &[Visit],
    inside: Option<&Loop<'_>>,
    gate: &GateId,
) -> Vec<usize> {
    let cycle = inside.filter(|cycle| cycle.has(gate));
    let run = cycle.map(|cycle| cycle.entries(workflow, history).len());
    let recent = this_round(history).len().min(run.unwrap_or(usize::MAX));
    let enters = |at: &usize| {
        let visit = &history[*at];
        visit.retry.is_some()
            && matches!(&visit.to, Some(Destination::Gate(to)) if to == gate)
            && cycle.is_none_or(|cycle| visit.to_item == Some(cycle.item))
    };
    (history.len() - recent..history.len()).filter(enters).collect()
}

/// Returns the place of the last gate on the line that the task visited before the one at that place.
pub(crate) fn last_before(workflow: &Workflow, history: &[Visit], place: usize) -> Option<usize> {
    let earlier = |visit: &Visit| {
        let (at, gate) = workflow.gate(&visit.gate)?;
        (at < place && !gate.detour && gate.kind != GateKind::Condition).then_some(at)
    };
    since_round(history).iter().rev().find_map(earlier)
}

/// Returns the last entry of another gate that sent the task to this one.
pub(crate) fn last_sender(history: &[Visit], gate: &GateId) -> Option<usize> {
    let sent = |visit: &Visit| {
        matches!(&visit.to, Some(Destination::Gate(to)) if to == gate) && visit.gate != *gate
    };
    history.iter().rposition(sent)
}
