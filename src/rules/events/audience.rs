//! Who is told of what: the `notify` of the project, of agents and of roles, and the owner, who hears where a person is needed.

use crate::domain::{
    AgentId, Channel, Event, EventKind, On, Reader, RoleId, Status, Subscription, Task,
};
use crate::rules::workflow::rules::Rules;

/// A message to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice<'a> {
    /// Which of the events it tells, from 0.
    pub event: usize,
    pub channel: &'a Channel,
    /// Whom it is for: agents, roles, the owner; nobody by name where the project itself wants to be told.
    pub to: Vec<String>,
    /// How they stand to what happened.
    pub reader: Reader,
}

/// Whom an event concerns, how, and whether they are told without having asked for that very event.
type Concern<'e> = (Who<'e>, Reader, bool);

enum Who<'e> {
    Agent(&'e AgentId),
    Role(&'e RoleId),
    Owner,
}

/// Returns the messages about what happened in one change, which led to `after`.
pub fn audience<'a>(rules: &'a Rules, after: Option<&Task>, events: &[Event]) -> Vec<Notice<'a>> {
    let mut notices: Vec<Notice<'a>> = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let kind = event.kind();
        for own in rules.project.notify.iter().filter(|own| asks(own, kind)) {
            add(&mut notices, index, &own.channel, None, Reader::Anybody);
        }
        for (who, reader, is_told) in concerns(rules, after, events, event) {
            let (name, subscriptions) = match who {
                Who::Agent(id) => (id.as_str(), rules.org.agent(id).map(|own| &own.notify)),
                Who::Role(id) => (id.as_str(), rules.org.role(id).map(|own| &own.notify)),
                Who::Owner => {
                    let name = rules.project.owner.as_deref().unwrap_or_default();
                    let owner = name.parse().ok().and_then(|id: AgentId| rules.org.agent(&id));
                    (name, owner.map(|own| &own.notify))
                }
            };
            let wanted =
                |own: &&Subscription| asks(own, kind) || (is_told && own.on == On::Concerning);
            for own in subscriptions.into_iter().flatten().filter(wanted) {
                add(&mut notices, index, &own.channel, Some(name), reader);
            }
        }
    }
    notices
}

fn asks(own: &Subscription, kind: EventKind) -> bool {
    match &own.on {
        On::All => true,
        On::Only(kinds) => kinds.contains(&kind),
        On::Concerning => false,
    }
}

/// One channel is told one thing once, whoever it is for.
fn add<'a>(
    notices: &mut Vec<Notice<'a>>,
    event: usize,
    channel: &'a Channel,
    to: Option<&str>,
    reader: Reader,
) {
    let known = notices.iter_mut().find(|known| {
        known.event == event && known.reader == reader && known.channel.key() == channel.key()
    });
    let to = to.map(str::to_owned);
    match known {
        Some(known) => known.to.extend(to.filter(|name| !known.to.contains(name))),
        None => notices.push(Notice { event, channel, to: to.into_iter().collect(), reader }),
    }
}

fn concerns<'e>(
    rules: &'e Rules,
    after: Option<&'e Task>,
    events: &[Event],
    event: &'e Event,
) -> Vec<Concern<'e>> {
    let (affected, owner): (Vec<&AgentId>, bool) = match event {
        Event::Assigned { agent, .. } | Event::Lapsed { agent, .. } => (vec![agent], false),
        Event::Rejected { worker, .. } => (worker.iter().collect(), false),
        Event::Held { holders, .. }
        | Event::Overridden { holders, .. }
        | Event::Moved { holders, .. }
        | Event::Cancelled { holders, .. } => (holders.iter().collect(), false),
        Event::TimedOut { agent, escalate_to, .. } => {
            (agent.iter().collect(), escalate_to.is_none())
        }
        Event::Superseded { visit, .. } => (visit.agent.iter().collect(), true),
        Event::AssignmentError { agent, .. } | Event::Conflict { losing_agent: agent, .. } => {
            (vec![agent], true)
        }
        // What blocks it is told by itself where it is known.
        Event::Blocked { .. } => (Vec::new(), !events.iter().any(says_why)),
        Event::ConditionError(_)
        | Event::Failed
        | Event::RulesInvalid { .. }
        | Event::NoticesDropped { .. } => (Vec::new(), true),
        event => (Vec::new(), says_why(event)),
    };
    let mut all: Vec<Concern<'e>> =
        affected.into_iter().map(|id| (Who::Agent(id), Reader::Affected, true)).collect();
    match event {
        Event::Escalated { escalate_to, .. } => of_role(rules, escalate_to, true, &mut all),
        Event::Created { .. }
        | Event::Adopted { .. }
        | Event::Transition(_)
        | Event::Rerouted { .. } => arrivals(rules, after, event, &mut all),
        _ => {}
    }
    all.push((Who::Owner, Reader::Anybody, owner));
    all
}

fn says_why(event: &Event) -> bool {
    matches!(
        event,
        Event::BlockedNoAgents { .. } | Event::CircularLoop { .. } | Event::Exhausted { .. }
    )
}

fn of_role<'e>(rules: &'e Rules, role: &'e RoleId, is_told: bool, all: &mut Vec<Concern<'e>>) {
    all.push((Who::Role(role), Reader::Successor, true));
    let members = rules.org.role(role).into_iter().flat_map(|known| &known.agents);
    all.extend(members.map(|id| (Who::Agent(id), Reader::Successor, is_told)));
}

/// Adds whom it concerns that work has come to a gate: its role, and each agent of it that asks for that.
fn arrivals<'e>(
    rules: &'e Rules,
    after: Option<&'e Task>,
    event: &Event,
    all: &mut Vec<Concern<'e>>,
) {
    let Some(task) = after.filter(|task| task.status == Status::Ready) else { return };
    let came = match event {
        // An escalation tells by itself whose it is.
        Event::Transition(visit) => visit.to.is_some() && visit.escalated_to.is_none(),
        Event::Rerouted { .. } => true,
        _ => task.history.is_empty(),
    };
    if task.gate.is_some() && came {
        for role in task.routing.role.iter().chain(task.branches().map(|own| &own.role)) {
            of_role(rules, role, false, all);
        }
    }
}
