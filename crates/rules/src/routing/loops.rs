//! The place of a task in the loops of its workflow. It follows from the history: no counter is stored.

use serde_json::Value;

use crate::routing::conditions::until_holds;
use crate::workflow::rules::Rules;
use aof_domain::{
    Blocker, Destination, Ending, ForEach, Gate, GateId, LoopItem, Map, Outcome, Repeat, Status,
    Target, Task, Visit, Workflow,
};

/// Returns whether the task waits for a list; no completion is accepted before there is one.
pub(crate) fn has_no_list(task: &Task) -> bool {
    task.status == Status::Blocked
        && task.blockers.iter().any(|blocker| matches!(blocker, Blocker::NoList(_)))
}

/// The loop that a task is in.
#[derive(Clone, Copy)]
pub(crate) struct Loop<'a> {
    /// The index of its gate in the workflow.
    pub place: usize,
    pub gate: &'a Gate,
    pub each: &'a ForEach,
    pub item: LoopItem,
}

impl<'a> Loop<'a> {
    /// Returns the loop of the open visit: at its gate, or at the gate that verifies each item.
    pub(crate) fn of(workflow: &'a Workflow, task: &Task) -> Option<Self> {
        let open = task.gate.as_ref()?;
        let gate = gate_of(workflow, &task.history, &open.current)?;
        let (place, gate) = workflow.gate(gate)?;
        Some(Self { place, gate, each: gate.for_each()?, item: open.item? })
    }

    /// Returns whether a gate belongs to the loop.
    pub(crate) fn has(&self, gate: &GateId) -> bool {
        self.gate.id == *gate || self.each.verify_each.as_ref() == Some(gate)
    }

    /// Returns the entries of this loop since it began.
    pub(crate) fn entries<'h>(&self, workflow: &Workflow, history: &'h [Visit]) -> &'h [Visit] {
        &history[begin(workflow, history, &self.gate.id)..]
    }
}

/// Returns the gate of the loop that a visit of `at` belongs to if it is about an item: `at` itself, or the gate that sent the task.
fn gate_of<'t>(workflow: &Workflow, history: &'t [Visit], at: &'t GateId) -> Option<&'t GateId> {
    let has_loop =
        |gate: &GateId| workflow.gate(gate).is_some_and(|(_, gate)| gate.for_each().is_some());
    if has_loop(at) {
        return Some(at);
    }
    // The rules may have changed since, so they cannot show which gate verifies.
    let sent = |visit: &&Visit| leads_to(visit, at) && visit.gate != *at;
    history.iter().rev().find(sent).map(|visit| &visit.gate).filter(|gate| has_loop(gate))
}

fn leads_to(visit: &Visit, gate: &GateId) -> bool {
    matches!(&visit.to, Some(Destination::Gate(to)) if to == gate)
}

/// Returns the index of the first entry of the loop's last run.
fn begin(workflow: &Workflow, history: &[Visit], gate: &GateId) -> usize {
    let begins = |index: &usize| {
        let visit = &history[*index];
        let is_inside = || {
            visit.item.is_some() && gate_of(workflow, &history[..*index], &visit.gate) == Some(gate)
        };
        leads_to(visit, gate) && visit.to_item.is_some() && !is_inside()
    };
    (0..history.len()).rev().find(begins).map_or(0, |index| index + 1)
}

/// Returns the length of the list that a gate goes through. Fails with the reason if there is no list, or it is too long.
pub(crate) fn length(each: &ForEach, context: &Map) -> Result<usize, String> {
    let ForEach { list, max_items, .. } = each;
    let kind = match find(each, context) {
        Some(Value::Array(items)) if items.len() <= *max_items => return Ok(items.len()),
        Some(Value::Array(items)) => {
            let length = items.len();
            return Err(format!("`{list}` has {length} items, and `maxItems` is {max_items}"));
        }
        None | Some(Value::Null) => return Err(format!("the context has no `{list}`")),
        Some(Value::Object(_)) => "a mapping",
        Some(Value::String(_)) => "a text",
        Some(Value::Number(_)) => "a number",
        Some(Value::Bool(_)) => "true or false",
    };
    Err(format!("`{list}` is {kind}, not a list"))
}

fn find<'c>(each: &ForEach, context: &'c Map) -> Option<&'c Value> {
    let mut path = each.path();
    let first = context.get(path.next()?)?;
    path.try_fold(first, |value, key| value.get(key))
}

/// Returns the item of the next visit: the same one within a loop, the first one of a list that is read now.
pub(crate) fn arriving(
    workflow: &Workflow,
    task: &Task,
    context: &Map,
    gate: &GateId,
) -> Option<LoopItem> {
    if let Some(open) = task.gate.as_ref().filter(|open| open.current == *gate) {
        return open.item;
    }
    if let Some(cycle) = Loop::of(workflow, task).filter(|cycle| cycle.has(gate)) {
        return Some(cycle.item);
    }
    first_item(workflow.gate(gate)?.1.for_each()?, context).ok()
}

fn first_item(each: &ForEach, context: &Map) -> Result<LoopItem, String> {
    match length(each, context) {
        Ok(0) => Err(format!("`{}` is empty", each.list)),
        Ok(of) => Ok(LoopItem { index: 0, of }),
        Err(why) => Err(why),
    }
}

/// Begins the loop of the open visit if it has none yet. Returns the blocker if there is no list to go through.
pub(crate) fn begin_or_block(rules: &Rules, task: &mut Task) -> Option<Blocker> {
    let workflow = rules.workflow_of(task)?;
    let open = task.gate.as_mut().filter(|open| open.item.is_none())?;
    let each = workflow.gate(&open.current)?.1.for_each()?;
    match first_item(each, &task.context) {
        Ok(item) => {
            open.item = Some(item);
            None
        }
        Err(why) => Some(Blocker::no_list(&why)),
    }
}

/// Returns the open visit's item with its value from the list as it was when the loop began.
pub(crate) fn item_value(workflow: &Workflow, task: &Task) -> Option<(LoopItem, Value)> {
    let cycle = Loop::of(workflow, task)?;
    let first = begin(workflow, &task.history, &cycle.gate.id);
    let mut context: Map = task.context.clone();
    context.retain(|name, _| task.history.iter().all(|visit| visit.gate.as_str() != name));
    for visit in &task.history[..first] {
        store_outputs(workflow, &mut context, visit);
    }
    let value = find(cycle.each, &context).and_then(|list| list.get(cycle.item.index)).cloned();
    Some((cycle.item, value.unwrap_or_default()))
}

/// Stores a gate's latest outputs in the context under its name, a branch's under its fork's and its own; a route may remove
/// those of other gates. A gate with a loop also keeps those of each item. `$status` is the outcome, not data.
pub(crate) fn store_outputs(workflow: &Workflow, context: &mut Map, visit: &Visit) {
    for gate in &visit.cleared {
        context.remove(gate.as_str());
    }
    let mut outputs = visit.outputs.clone();
    outputs.remove("$status");
    let is_left = matches!(visit.outcome, Ending::Completed(_)) && !visit.stays();
    if outputs.is_empty() && (visit.item.is_none() || !is_left) {
        return;
    }
    let has_loop = || workflow.gate(&visit.gate).is_some_and(|(_, gate)| gate.for_each().is_some());
    if let Some(item) = visit.item.filter(|_| has_loop()) {
        let stored = context.get(visit.gate.as_str()).and_then(|stored| stored.get("items"));
        let mut items = stored.and_then(Value::as_array).cloned().unwrap_or_default();
        if is_left {
            items.resize(item.index, Map::new().into());
            items.push(outputs.clone().into());
        }
        outputs.insert("items".to_owned(), items.into());
    }
    if outputs.is_empty() {
        return;
    }
    let Some(branch) = &visit.branch else {
        context.insert(visit.gate.to_string(), outputs.into());
        return;
    };
    // Each branch has its own name within the fork's.
    let fork = context.entry(visit.gate.to_string()).or_insert_with(|| Map::new().into());
    match fork.as_object_mut() {
        Some(fork) => drop(fork.insert(branch.to_string(), outputs.into())),
        None => *fork = Map::from_iter([(branch.to_string(), outputs.into())]).into(),
    }
}

/// Returns the entries of the present round: since the last round began, or a person moved the task.
pub(crate) fn this_round(history: &[Visit]) -> &[Visit] {
    let begins = |visit: &Visit| {
        visit.round.is_some() || matches!(visit.outcome, Ending::Override | Ending::Reopened)
    };
    &history[history.iter().rposition(begins).map_or(0, |index| index + 1)..]
}

/// Returns the entries since the last round began, even if a person moved the task since.
pub(crate) fn since_round(history: &[Visit]) -> &[Visit] {
    let begun = history.iter().rposition(|visit| visit.round.is_some());
    &history[begun.map_or(0, |index| index + 1)..]
}

/// Returns the number of the present round, from 1. A person who moves the task restarts the count.
pub(crate) fn round(history: &[Visit]) -> u32 {
    let since = history.len() - this_round(history).len();
    history[..since].last().and_then(|visit| visit.round).unwrap_or(1)
}

/// Returns the blocker of a task that `repeat` keeps from completing, and that cannot begin another round.
pub(crate) fn round_blocker(rules: &Rules, task: &Task) -> Option<Blocker> {
    let workflow = rules.workflow_of(task)?;
    let Repeat { until, max, .. } = workflow.repeat.as_ref()?;
    let last = task.history.last().filter(|last| last.stays() && last.retry.is_none())?;
    let outcome = last.gate_outcome()?;
    let route = workflow.gate(&last.gate)?.1.exits.route(outcome);
    let goes_on = matches!(outcome, Outcome::Complete | Outcome::Skip);
    if !route.map_or(goes_on, |route| route.to != Target::Hold) {
        return None;
    }
    let why = match until_holds(rules, workflow, task, &task.history, &task.context)? {
        Err(error) => format!("`until` cannot be evaluated: {}: {until}", error.message),
        Ok(_) if round(&task.history) >= *max => {
            format!("this was round {max} of {max}, and `until` does not hold: {until}")
        }
        Ok(_) => "no gate applies to it".to_owned(),
    };
    Some(Blocker::NoRound(why))
}
