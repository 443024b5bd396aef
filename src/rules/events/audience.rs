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

/// Whom an event concerns.
struct Concern {
    who: Who,
    reader: Reader,
    weight: Weight,
}

enum Who {
    Agent(AgentId),
    Role(RoleId),
    Owner,
}

/// Whether somebody is told without having asked for that very event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    Told,
    IfAsked,
}

/// Returns the messages about what happened in one change, which led to `after`.
pub fn audience<'a>(rules: &'a Rules, after: Option<&Task>, events: &[Event]) -> Vec<Notice<'a>> {
    let mut notices: Vec<Notice<'a>> = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let kind = event.kind();
        for own in
            rules.project.notify.iter().filter(|own| own.on != On::Concerning && asks(own, kind))
        {
            add(&mut notices, index, &own.channel, None, Reader::Anybody);
        }
        for concern in concerns(rules, after, events, event) {
            let (name, subscriptions) = match &concern.who {
                Who::Agent(agent) => {
                    (agent.as_str(), rules.org.agent(agent).map(|known| &known.notify))
                }
                Who::Role(role) => (role.as_str(), rules.org.role(role).map(|known| &known.notify)),
                Who::Owner => {
                    let name = rules.project.owner.as_deref().unwrap_or_default();
                    let owner = name.parse().ok().and_then(|id: AgentId| rules.org.agent(&id));
                    (name, owner.map(|known| &known.notify))
                }
            };
            for own in subscriptions.into_iter().flatten() {
                let wanted = match own.on {
                    On::Concerning => concern.weight == Weight::Told,
                    On::All | On::Only(_) => asks(own, kind),
                };
                if wanted {
                    add(&mut notices, index, &own.channel, Some(name), concern.reader);
                }
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

fn concerns(rules: &Rules, after: Option<&Task>, events: &[Event], event: &Event) -> Vec<Concern> {
    let agent = |agent: &Option<AgentId>| {
        agent.iter().map(|id| told(Who::Agent(id.clone()), Reader::Affected)).collect::<Vec<_>>()
    };
    let one = |id: &AgentId| agent(&Some(id.clone()));
    let owner = || told(Who::Owner, Reader::Anybody);
    let mut all = match event {
        Event::Created { .. }
        | Event::Adopted { .. }
        | Event::Transition(_)
        | Event::Rerouted { .. } => arrivals(rules, after, event),
        Event::Assigned { agent: id, .. } | Event::Lapsed { agent: id, .. } => one(id),
        Event::Rejected { worker, .. } => agent(worker),
        Event::Held { holders, .. }
        | Event::Overridden { holders, .. }
        | Event::Moved { holders, .. }
        | Event::Cancelled { holders, .. } => holders.iter().flat_map(one).collect(),
        Event::TimedOut { agent: had, escalate_to, .. } => {
            let mut all = agent(had);
            if escalate_to.is_none() {
                all.push(owner());
            }
            all
        }
        Event::Escalated { escalate_to: role, .. } => {
            let members = rules.org.role(role).into_iter().flat_map(|known| &known.agents);
            let members = members.map(|id| told(Who::Agent(id.clone()), Reader::Successor));
            std::iter::once(told(Who::Role(role.clone()), Reader::Successor))
                .chain(members)
                .collect()
        }
        Event::Superseded { visit, .. } => {
            let mut all = agent(&visit.agent);
            all.push(owner());
            all
        }
        Event::AssignmentError { agent: id, .. } | Event::Conflict { losing_agent: id, .. } => {
            let mut all = one(id);
            all.push(owner());
            all
        }
        // What blocks it is told by itself where it is known.
        Event::Blocked { .. } if events.iter().any(says_why) => Vec::new(),
        Event::Blocked { .. }
        | Event::BlockedNoAgents { .. }
        | Event::CircularLoop { .. }
        | Event::Exhausted { .. }
        | Event::ConditionError(_)
        | Event::Failed
        | Event::RulesInvalid { .. }
        | Event::NoticesDropped { .. } => vec![owner()],
        _ => Vec::new(),
    };
    if !all.iter().any(|concern| matches!(concern.who, Who::Owner)) {
        all.push(Concern { who: Who::Owner, reader: Reader::Anybody, weight: Weight::IfAsked });
    }
    all
}

fn told(who: Who, reader: Reader) -> Concern {
    Concern { who, reader, weight: Weight::Told }
}

fn says_why(event: &Event) -> bool {
    matches!(
        event,
        Event::BlockedNoAgents { .. } | Event::CircularLoop { .. } | Event::Exhausted { .. }
    )
}

/// Returns whom it concerns that work has come to a gate: its role, and each agent of it that asks for that.
fn arrivals(rules: &Rules, after: Option<&Task>, event: &Event) -> Vec<Concern> {
    let Some(task) = after.filter(|task| task.status == Status::Ready) else { return Vec::new() };
    let came = match event {
        // An escalation tells by itself whose it is.
        Event::Transition(visit) => visit.to.is_some() && visit.escalated_to.is_none(),
        Event::Rerouted { .. } => true,
        _ => task.history.is_empty(),
    };
    let Some(open) = task.gate.as_ref().filter(|_| came) else { return Vec::new() };
    let roles = task.routing.role.iter().chain(open.branches.iter().map(|own| &own.role));
    let mut all = Vec::new();
    for role in roles {
        all.push(told(Who::Role(role.clone()), Reader::Successor));
        for agent in rules.org.role(role).into_iter().flat_map(|known| &known.agents) {
            let who = Who::Agent(agent.clone());
            all.push(Concern { who, reader: Reader::Successor, weight: Weight::IfAsked });
        }
    }
    all
}
