//! Refuses completions without a ticket that cannot mean the open visit. Only new completions are checked: a replay cannot, since
//! an entry does not record the form in which its completion named the visit.

use crate::refusal::Refusal;
use crate::routing::workplace::Workplace;
use crate::workflow::rules::Rules;
use aof_domain::{
    AgentId, Destination, Ending, GateId, HandOut, Outcome, RoleId, Task, Ticket, Visit,
};

/// Refuses a completion that repeats the last completion of the task, by the same agent with the same outcome, if that led to
/// another gate: it would pass a second gate by mistake. It is allowed if the agent has claimed the task, or the task was unblocked
/// or moved since. A claim by hand-out does not count, since the agent may not know of it yet.
pub fn refuse_repeated(
    rules: &Rules,
    task: &Task,
    agent: &AgentId,
    outcome: &str,
) -> Result<(), Refusal> {
    let Some(open) = &task.gate else { return Ok(()) };
    let is_asked_for = |role: &RoleId| {
        let role = rules.org.role(role);
        role.is_none_or(|role| rules.project.hand_out_policy(role) == HandOut::Ask)
    };
    let is_claimed =
        |place: &Workplace<'_>| place.holder == Some(agent) && is_asked_for(place.role);
    let is_resumed =
        open.resumed.is_some() || open.branches.iter().any(|branch| branch.resumed.is_some());
    if is_resumed || Workplace::open(rules, task).iter().any(is_claimed) {
        return Ok(());
    }
    let Some(entries) = last_ended(&task.history) else { return Ok(()) };
    let last = &entries[entries.len() - 1];
    let is_repeated = |entry: &&Visit| {
        let is_same = |ended: &Outcome| ended.is_meant_by(outcome);
        entry.agent.as_ref() == Some(agent)
            && matches!(&entry.outcome, Ending::Completed(ended) if is_same(ended))
    };
    match entries.iter().rev().find(is_repeated) {
        Some(entry) if leads_on(last) => Err(Refusal::Repeated {
            ticket: task.ticket(),
            open: open.current.clone(),
            gate: entry.station(),
            agent: agent.clone(),
            outcome: entry.outcome.to_string(),
            at: entry.exited,
        }),
        _ => Ok(()),
    }
}

/// Refuses a completion that names another gate than the open one. It is a conflict if another agent ended the last visit of that gate.
pub fn refuse_other_gate(
    rules: &Rules,
    task: &Task,
    agent: &AgentId,
    given: &GateId,
) -> Result<(), Refusal> {
    if task.gate.as_ref().is_some_and(|open| open.current == *given) {
        return Ok(());
    }
    if let Some(lost) = lost_visit(rules, task, agent, given) {
        return Err(lost);
    }
    let Some(open) = &task.gate else { return Ok(()) };
    let gates = rules.workflow_of(task).map(|workflow| &workflow.gates);
    let known: Vec<GateId> = gates.into_iter().flatten().map(|gate| gate.id.clone()).collect();
    if known.contains(given) {
        let (ticket, current) = (task.ticket(), open.current.clone());
        Err(Refusal::OtherGate { ticket, given: given.clone(), current })
    } else {
        Err(Refusal::UnknownGate { given: given.clone(), known })
    }
}

/// Returns the conflict with the agent that ended the last visit of that gate; at a fork, the branch of the sender's role if there is
/// one. `None` if the sender took part in that visit, or no agent ended it.
fn lost_visit(rules: &Rules, task: &Task, agent: &AgentId, gate: &GateId) -> Option<Refusal> {
    let history = &task.history;
    let last = history.iter().rposition(|entry| entry.gate == *gate)?;
    let visit = last - history[..last].iter().rev().take_while(|one| one.leaves_open()).count();
    let entries = &history[visit..=last];
    if entries.iter().any(|entry| entry.agent.as_ref() == Some(agent)) {
        return None;
    }
    let is_own = |role: &RoleId| rules.org.roles_of(agent).any(|known| known == role);
    let of_role = entries.iter().rev().find(|entry| entry.role.as_ref().is_some_and(is_own));
    let entry = of_role.unwrap_or(&history[last]);
    entry.agent.as_ref()?;
    let ticket = Ticket { task: task.id.clone(), visit: Some(visit), branch: entry.branch.clone() };
    Some(Refusal::visit_ended(&ticket, entry, Some(agent)))
}

/// Returns the entries of the last visit that a completion ended; at a fork, those of all branches. Skips automatic gates and time
/// limits. Returns `None` if a person or a rule change moved the task since.
fn last_ended(history: &[Visit]) -> Option<&[Visit]> {
    let counts = |entry: &Visit| match entry.outcome {
        Ending::Override | Ending::Reopened | Ending::Moved => Some(false),
        Ending::Completed(_) => entry.agent.is_some().then_some(true),
        _ => None,
    };
    let (last, is_last) = history
        .iter()
        .enumerate()
        .rev()
        .find_map(|(place, entry)| Some((place, counts(entry)?)))?;
    let before = history[..last].iter().rev().take_while(|entry| entry.leaves_open()).count();
    is_last.then(|| &history[last - before..=last])
}

fn leads_on(entry: &Visit) -> bool {
    let is_next_item = entry.to_item != entry.item;
    matches!(&entry.to, Some(Destination::Gate(gate)) if *gate != entry.gate || is_next_item)
}
