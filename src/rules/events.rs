//! Events between two states of a task, and who is told of them.

use crate::domain::{
    AgentId, BranchStatus, Cause, Channel, Destination, Ending, Event, EventKind, GateId,
    NoticeReader, On, Outcome, Period, RoleId, Station, Status, Subscription, Task, Timestamp,
    Verdict, Visit,
};
use crate::rules::act::Act;
use crate::rules::replay::{StateChange, explain};
use crate::rules::routing::workplace::Workplace;
use crate::rules::transition::claims::TimeLimits;
use crate::rules::workflow::rules::Rules;

/// Returns all that happened to a task between two of its states; nothing before means that it is new.
pub fn events(rules: &Rules, before: Option<&Task>, after: &Task) -> Vec<Event> {
    let (act, besides) = match explain(rules, before, after) {
        StateChange::Same => return Vec::new(),
        StateChange::Edit => return vec![Event::Edited],
        StateChange::Act(found) => (Some(found.act), found.events),
        // Moves that no act explains happened all the same: by hand, or several at once in a merge.
        StateChange::Foreign(_) => (None, Vec::new()),
    };
    let before = before.filter(|task| task.gate.is_some() || !task.history.is_empty());
    let mut events = Vec::new();
    if before.is_none() {
        let first = after
            .history
            .first()
            .map(|visit| &visit.gate)
            .or(after.gate.as_ref().map(|open| &open.current));
        events.extend(first.map(|gate| Event::Created { to_gate: gate.clone() }));
    }
    let known = before.map_or(0, |task| task.history.len());
    let ended = after.history.get(known..).unwrap_or_default();
    for (index, visit) in ended.iter().enumerate() {
        events.extend(of_entry(
            rules,
            before.filter(|_| index == 0),
            &after.history[..=known + index],
            after,
            visit,
        ));
    }
    if let Some(before) = before.filter(|_| ended.is_empty()) {
        events.extend(of_fields(rules, before, after, act.as_ref()));
    }
    // What was passed over is told by the entries; a new task has none yet.
    let skips: Vec<&GateId> = ended.iter().flat_map(|visit| &visit.skipped).collect();
    events.extend(skips.iter().map(|gate| Event::Skipped { gate: (*gate).clone() }));
    events.extend(besides.into_iter().filter(|event| match event {
        Event::Skipped { gate } => !skips.contains(&gate),
        _ => true,
    }));
    events.extend(waits(before, after));
    events.extend(end(before, after));
    events
}

/// Returns what an entry says. `history` ends with it; `before` is the task when the visit ended.
fn of_entry(
    rules: &Rules,
    before: Option<&Task>,
    history: &[Visit],
    after: &Task,
    visit: &Visit,
) -> Vec<Event> {
    let had = |task| holders(task, visit.branch.as_ref(), true);
    let holders = || before.map(had).unwrap_or_default();
    let own = || Box::new(visit.clone());
    let mut events = vec![Event::Transition(own())];
    match &visit.outcome {
        Ending::Said(_) => events.extend(rejection(history, after, visit)),
        Ending::Timeout => events.push(Event::TimedOut {
            gate: visit.station(),
            role: visit.role.clone(),
            agent: visit.agent.clone(),
            timeout: limit(rules, after, visit),
            escalate_to: visit.escalated_to.clone(),
        }),
        Ending::Moved => events.push(Event::Moved { visit: own(), holders: holders() }),
        Ending::Override => events.push(Event::Overridden { visit: own(), holders: holders() }),
        Ending::Reopened => events.push(Event::Reopened(own())),
        Ending::Cancelled => {}
    }
    if let Some(role) = &visit.escalated_to {
        let timeout = visit.outcome == Ending::Timeout;
        let at = match &visit.to {
            Some(Destination::Gate(gate)) => Station::from(gate),
            _ => visit.station(),
        };
        events.push(Event::Escalated {
            gate: at,
            escalate_to: role.clone(),
            agent: visit.agent.clone().filter(|_| timeout),
            reason: if timeout { Cause::Timeout } else { Cause::Exhausted },
        });
    }
    events
}

fn limit(rules: &Rules, task: &Task, visit: &Visit) -> Option<Period> {
    let workflow = rules.workflow_of(task)?;
    let (_, gate) = workflow.gate(&visit.gate)?;
    let duty = match &visit.branch {
        Some(branch) => gate.fork()?.branch(branch)?.1.duty(),
        None => gate.duty()?,
    };
    TimeLimits::of(workflow, duty).timeout
}

/// Returns the rejection that the entry is: the gate sent the task back, or its branch wants something mended.
fn rejection(history: &[Visit], after: &Task, visit: &Visit) -> Option<Event> {
    let gate_says = visit.said() == Some(&Outcome::NeedsReview)
        || (visit.retry.is_some() && visit.to.is_some());
    let branch_says = visit.leaves_open() && visit.verdict == Some(Verdict::Reject);
    if !gate_says && !branch_says {
        return None;
    }
    let review = after
        .review
        .as_ref()
        .filter(|review| visit.join.is_some() && review.from_gate == visit.gate);
    let worker = match &visit.to {
        Some(Destination::Gate(gate)) => {
            let mut earlier = history.iter().rev().skip(1).filter(|entry| entry.gate == *gate);
            earlier.find_map(|entry| entry.agent.clone())
        }
        _ => None,
    };
    Some(Event::Rejected {
        visit: Box::new(visit.clone()),
        blockers: review.map_or_else(|| visit.blockers.clone(), |review| review.blockers.clone()),
        worker,
    })
}

/// Returns what changed where no visit ended.
fn of_fields(rules: &Rules, before: &Task, after: &Task, act: Option<&Act>) -> Vec<Event> {
    let Some(open) = &after.gate else { return Vec::new() };
    let gate = || open.current.clone();
    let mut events = Vec::new();
    let unblocks = matches!(act, Some(Act::Unblock { .. }))
        || (before.status == Status::Blocked && after.status != Status::Blocked);
    if unblocks {
        events.push(Event::Unblocked { gate: gate() });
    }
    let given_now = || given(before, after, false);
    match act {
        Some(Act::Claim { .. }) => {
            events.extend(given_now().map(|(gate, agent)| Event::Claimed { gate, agent }));
        }
        Some(Act::Assign { .. }) => {
            events.extend(given_now().map(|(gate, agent)| Event::Assigned { gate, agent }));
        }
        Some(Act::Renew { note, .. }) => {
            let note = note.clone().unwrap_or_default();
            let event = |(gate, agent)| Event::Renewed { gate, agent, note: note.clone() };
            events.extend(given(before, after, true).map(event));
        }
        Some(Act::Release { .. }) => {
            events
                .extend(taken(before, after).map(|(gate, agent)| Event::Released { gate, agent }));
        }
        Some(Act::Lapse { .. }) => {
            events.extend(taken(before, after).map(|(gate, agent)| Event::Lapsed { gate, agent }));
        }
        Some(Act::Timeout { branch }) => {
            let post = Workplace::meant(rules, after, branch.as_ref());
            let limits = post.zip(rules.workflow_of(after));
            events.push(Event::TimedOut {
                gate: Station { gate: gate(), branch: branch.clone() },
                role: post.map(|post| post.role.clone()),
                agent: holders(after, branch.as_ref(), false).pop(),
                timeout: limits.and_then(|(post, own)| TimeLimits::of(own, post.duty).timeout),
                escalate_to: None,
            });
        }
        Some(Act::Hold { reason, .. }) => events.push(Event::Held {
            gate: gate(),
            holders: holders(before, None, true),
            blockers: vec![reason.clone()],
        }),
        Some(Act::Reroute) => {
            // The work was taken from whom it is not by the rules now (spec 1, 9.13).
            events.extend(taken(before, after).map(|(gate, agent)| Event::AssignmentError {
                expected_role:
                    places(after).find(|place| place.0 == gate).and_then(|own| own.1.cloned()),
                actual_role: rules.org.roles_of(&agent).cloned().collect(),
                gate,
                agent,
            }));
            events.push(Event::Rerouted { gate: gate(), role: after.routing.role.clone() });
        }
        _ => {}
    }
    events
}

/// Returns who has the branch; or the task, and where that is asked any branch of it, each once.
fn holders(task: &Task, branch: Option<&GateId>, any_branch: bool) -> Vec<AgentId> {
    let mut holders: Vec<AgentId> = Vec::new();
    for (at, _, agent, _) in places(task) {
        let is_meant = at.branch.as_ref() == branch || (branch.is_none() && any_branch);
        holders.extend(agent.filter(|agent| is_meant && !holders.contains(agent)).cloned());
    }
    holders
}

/// A place of work: where it is, whose, who has it, and since when.
type HeldPlace<'a> = (Station, Option<&'a RoleId>, Option<&'a AgentId>, Option<Timestamp>);

fn places(task: &Task) -> impl Iterator<Item = HeldPlace<'_>> {
    task.gate.iter().flat_map(|open| {
        let own = &task.routing;
        let at = Station::from(&open.current);
        let whole = (at, own.role.as_ref(), own.agent.as_ref(), own.claimed);
        let branches = open.branches.iter().map(|own| {
            let at = Station { gate: open.current.clone(), branch: Some(own.id.clone()) };
            (at, Some(&own.role), own.agent.as_ref(), own.claimed)
        });
        std::iter::once(whole).chain(branches)
    })
}

/// Returns where somebody has it now who had not, or, if asked, whose claim is newer.
fn given<'t>(
    before: &'t Task,
    after: &'t Task,
    renewed: bool,
) -> impl Iterator<Item = (Station, AgentId)> + 't {
    places(after).filter_map(move |(at, _, agent, claimed)| {
        let (_, _, had, since) = places(before).find(|(place, ..)| *place == at)?;
        let differs = had != agent || (renewed && since != claimed);
        agent.filter(|_| differs).map(|agent| (at, agent.clone()))
    })
}

/// Returns where nobody has it any more, and who had.
fn taken<'t>(before: &'t Task, after: &'t Task) -> impl Iterator<Item = (Station, AgentId)> + 't {
    let gone =
        |at: &Station| places(after).any(|(place, _, agent, _)| place == *at && agent.is_none());
    let old = places(before).filter_map(|(at, _, agent, _)| Some((at, agent?.clone())));
    old.filter(move |(at, _)| gone(at))
}

/// Returns what waits for something outside from now on.
fn waits(before: Option<&Task>, after: &Task) -> Vec<Event> {
    let Some(open) = &after.gate else { return Vec::new() };
    let was = |id: &GateId| {
        let old = before.and_then(|task| task.gate.as_ref()?.branch(id));
        old.is_some_and(|own| own.status == BranchStatus::Blocked)
    };
    let said = |branch: Option<&GateId>| {
        let last = after
            .history
            .last()
            .filter(|visit| visit.exited == after.updated && visit.branch.as_ref() == branch);
        last.and_then(|visit| visit.agent.clone())
    };
    let blocked =
        open.branches.iter().filter(|own| own.status == BranchStatus::Blocked && !was(&own.id));
    let mut events: Vec<Event> = blocked
        .map(|own| Event::Blocked {
            gate: Station { gate: open.current.clone(), branch: Some(own.id.clone()) },
            agent: said(Some(&own.id)),
            blockers: own.blockers.clone(),
        })
        .collect();
    let is_new =
        after.status == Status::Blocked && before.is_none_or(|task| task.status != Status::Blocked);
    if is_new && open.held.is_none() && events.is_empty() {
        events.push(Event::Blocked {
            gate: Station::from(&open.current),
            agent: said(None),
            blockers: after.blockers.clone(),
        });
    }
    events
}

/// Returns how the task ended, if it did just now.
fn end(before: Option<&Task>, after: &Task) -> Option<Event> {
    if before.is_some_and(|task| task.status == after.status) {
        return None;
    }
    match after.status {
        Status::Complete => Some(Event::Complete),
        Status::Failed => Some(Event::Failed),
        Status::Cancelled => Some(Event::Cancelled {
            reason: after.history.last().map(|visit| visit.summary.clone()).unwrap_or_default(),
            holders: before.map(|task| holders(task, None, true)).unwrap_or_default(),
        }),
        Status::Ready | Status::InProgress | Status::Blocked => None,
    }
}

/// A message to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice<'a> {
    /// Which of the events it tells, from 0.
    pub event: usize,
    pub channel: &'a Channel,
    /// Whom it is for: agents, roles, the owner; nobody by name where the project itself wants to be told.
    pub to: Vec<String>,
    /// How they stand to what happened.
    pub reader: NoticeReader,
}

/// Whom an event concerns, how, and whether they are told without having asked for that very event.
type Concern<'e> = (Who<'e>, NoticeReader, bool);

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
            add(&mut notices, index, &own.channel, None, NoticeReader::Anybody);
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
    reader: NoticeReader,
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
        affected.into_iter().map(|id| (Who::Agent(id), NoticeReader::Affected, true)).collect();
    match event {
        Event::Escalated { escalate_to, .. } => of_role(rules, escalate_to, true, &mut all),
        Event::Created { .. }
        | Event::Adopted { .. }
        | Event::Transition(_)
        | Event::Rerouted { .. } => arrivals(rules, after, event, &mut all),
        _ => {}
    }
    all.push((Who::Owner, NoticeReader::Anybody, owner));
    all
}

fn says_why(event: &Event) -> bool {
    matches!(
        event,
        Event::BlockedNoAgents { .. } | Event::CircularLoop { .. } | Event::Exhausted { .. }
    )
}

fn of_role<'e>(rules: &'e Rules, role: &'e RoleId, is_told: bool, all: &mut Vec<Concern<'e>>) {
    all.push((Who::Role(role), NoticeReader::Successor, true));
    let members = rules.org.role(role).into_iter().flat_map(|known| &known.agents);
    all.extend(members.map(|id| (Who::Agent(id), NoticeReader::Successor, is_told)));
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
