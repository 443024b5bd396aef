//! Events between two states of a task, and their recipients.

use crate::act::Act;
use crate::replay::{StateChange, explain};
use crate::routing::workplace::Workplace;
use crate::transition::claims::TimeLimits;
use crate::workflow::rules::Rules;
use aof_domain::{
    AgentId, BranchStatus, Cause, Channel, Destination, Ending, Event, EventKind, GateId,
    NoticeReader, On, Outcome, Period, RoleId, Station, Status, Subscription, Task, Timestamp,
    Verdict, Visit,
};

/// Returns the events between two states of a task; `before` is `None` for a new one.
pub fn events(rules: &Rules, before: Option<&Task>, after: &Task) -> Vec<Event> {
    let (act, besides) = match explain(rules, before, after) {
        StateChange::Same => return Vec::new(),
        StateChange::Edit => return vec![Event::Edited { by: None }],
        StateChange::Act(found) => (Some(found.act), found.events),
        // Changes that no act explains are reported too: hand edits, or several acts in one merge.
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
        events.extend(events_of_entry(
            rules,
            before.filter(|_| index == 0),
            &after.history[..=known + index],
            after,
            visit,
        ));
    }
    if let Some(before) = before.filter(|_| ended.is_empty()) {
        events.extend(events_of_fields(rules, before, after, act.as_ref()));
    }
    // Entries report their own skips; a new task has none yet.
    let skips: Vec<&GateId> = ended.iter().flat_map(|visit| &visit.skipped).collect();
    events.extend(skips.iter().map(|gate| Event::Skipped { gate: (*gate).clone() }));
    events.extend(besides.into_iter().filter(|event| match event {
        Event::Skipped { gate } => !skips.contains(&gate),
        _ => true,
    }));
    events.extend(new_blocks(before, after));
    events.extend(ending_event(before, after));
    events
}

/// Returns the events of an entry. `history` ends with it; `before` is the task when the visit ended.
fn events_of_entry(
    rules: &Rules,
    before: Option<&Task>,
    history: &[Visit],
    after: &Task,
    visit: &Visit,
) -> Vec<Event> {
    let had = |task| holders(task, visit.branch.as_ref(), true);
    let holders = || before.map(had).unwrap_or_default();
    let ended = || Box::new(visit.clone());
    let mut events = vec![Event::Transition(ended())];
    match &visit.outcome {
        Ending::Completed(_) => events.extend(rejection(history, after, visit)),
        Ending::Timeout => events.push(Event::TimedOut {
            gate: visit.station(),
            role: visit.role.clone(),
            agent: visit.agent.clone(),
            timeout: visit_timeout(rules, after, visit),
            escalate_to: visit.escalated_to.clone(),
        }),
        Ending::Moved => events.push(Event::Moved { visit: ended(), holders: holders() }),
        Ending::Override => events.push(Event::Overridden { visit: ended(), holders: holders() }),
        Ending::Reopened => events.push(Event::Reopened(ended())),
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

fn visit_timeout(rules: &Rules, task: &Task, visit: &Visit) -> Option<Period> {
    let workflow = rules.workflow_of(task)?;
    let (_, gate) = workflow.gate(&visit.gate)?;
    let duty = match &visit.branch {
        Some(branch) => gate.fork()?.branch(branch)?.1.duty(),
        None => gate.duty()?,
    };
    TimeLimits::of(workflow, duty).timeout
}

/// Returns the event of a rejection: the gate sent the task back, or its branch requests changes.
fn rejection(history: &[Visit], after: &Task, visit: &Visit) -> Option<Event> {
    let gate_says = visit.gate_outcome() == Some(&Outcome::NeedsReview)
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

/// Returns the events of changes that do not end a visit.
fn events_of_fields(rules: &Rules, before: &Task, after: &Task, act: Option<&Act>) -> Vec<Event> {
    let Some(open) = &after.gate else { return Vec::new() };
    let gate = || open.current.clone();
    let mut events = Vec::new();
    let unblocks = matches!(act, Some(Act::Unblock { .. }))
        || (before.status == Status::Blocked && after.status != Status::Blocked);
    if unblocks {
        events.push(Event::Unblocked { gate: gate() });
    }
    let given_now = || newly_held(before, after, false);
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
            events.extend(newly_held(before, after, true).map(event));
        }
        Some(Act::Release { .. }) => {
            events.extend(
                newly_free(before, after).map(|(gate, agent)| Event::Released { gate, agent }),
            );
        }
        Some(Act::Lapse { .. }) => {
            events.extend(
                newly_free(before, after).map(|(gate, agent)| Event::Lapsed { gate, agent }),
            );
        }
        Some(Act::Timeout { branch }) => {
            let workplace = Workplace::find(rules, after, branch.as_ref());
            let limits = workplace.zip(rules.workflow_of(after));
            events.push(Event::TimedOut {
                gate: Station { gate: gate(), branch: branch.clone() },
                role: workplace.map(|workplace| workplace.role.clone()),
                agent: holders(after, branch.as_ref(), false).pop(),
                timeout: limits
                    .and_then(|(workplace, place)| TimeLimits::of(place, workplace.duty).timeout),
                escalate_to: None,
            });
        }
        Some(Act::Hold { reason, .. }) => events.push(Event::Held {
            gate: gate(),
            holders: holders(before, None, true),
            blockers: vec![reason.as_str().into()],
        }),
        Some(Act::Reroute) => {
            // The rules no longer allow the holder (spec 1, 9.13).
            events.extend(newly_free(before, after).map(|(gate, agent)| Event::AssignmentError {
                expected_role:
                    places(after).find(|place| place.0 == gate).and_then(|place| place.1.cloned()),
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

/// Returns the holder of the branch, or of the task and, if `any_branch`, of its branches, each once.
fn holders(task: &Task, branch: Option<&GateId>, any_branch: bool) -> Vec<AgentId> {
    let mut holders: Vec<AgentId> = Vec::new();
    for (at, _, agent, _) in places(task) {
        let is_meant = at.branch.as_ref() == branch || (branch.is_none() && any_branch);
        holders.extend(agent.filter(|agent| is_meant && !holders.contains(agent)).cloned());
    }
    holders
}

/// A held gate or branch: station, role, holder, and time of the claim.
type HeldPlace<'a> = (Station, Option<&'a RoleId>, Option<&'a AgentId>, Option<Timestamp>);

fn places(task: &Task) -> impl Iterator<Item = HeldPlace<'_>> {
    task.gate.iter().flat_map(|open| {
        let routing = &task.routing;
        let at = Station::from(&open.current);
        let whole = (at, routing.role.as_ref(), routing.agent.as_ref(), routing.claimed);
        let branches = open.branches.iter().map(|part| {
            let at = Station { gate: open.current.clone(), branch: Some(part.id.clone()) };
            (at, Some(&part.role), part.agent.as_ref(), part.claimed)
        });
        std::iter::once(whole).chain(branches)
    })
}

/// Returns gates and branches with a new holder, or, if asked, with a newer claim.
fn newly_held<'t>(
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

/// Returns gates and branches that lost their holder, with the earlier holder.
fn newly_free<'t>(
    before: &'t Task,
    after: &'t Task,
) -> impl Iterator<Item = (Station, AgentId)> + 't {
    let gone =
        |at: &Station| places(after).any(|(place, _, agent, _)| place == *at && agent.is_none());
    let old = places(before).filter_map(|(at, _, agent, _)| Some((at, agent?.clone())));
    old.filter(move |(at, _)| gone(at))
}

/// Returns the events of tasks and branches that became blocked.
fn new_blocks(before: Option<&Task>, after: &Task) -> Vec<Event> {
    let Some(open) = &after.gate else { return Vec::new() };
    let was = |id: &GateId| {
        let old = before.and_then(|task| task.gate.as_ref()?.branch(id));
        old.is_some_and(|part| part.status == BranchStatus::Blocked)
    };
    let sender = |branch: Option<&GateId>| {
        let last = after
            .history
            .last()
            .filter(|visit| visit.exited == after.updated && visit.branch.as_ref() == branch);
        last.and_then(|visit| visit.agent.clone())
    };
    let blocked =
        open.branches.iter().filter(|part| part.status == BranchStatus::Blocked && !was(&part.id));
    let mut events: Vec<Event> = blocked
        .map(|part| Event::Blocked {
            gate: Station { gate: open.current.clone(), branch: Some(part.id.clone()) },
            agent: sender(Some(&part.id)),
            blockers: part.blockers.clone(),
        })
        .collect();
    let is_new =
        after.status == Status::Blocked && before.is_none_or(|task| task.status != Status::Blocked);
    if is_new && open.held.is_none() && events.is_empty() {
        events.push(Event::Blocked {
            gate: Station::from(&open.current),
            agent: sender(None),
            blockers: after.blockers.clone(),
        });
    }
    events
}

/// Returns the event of the task's end, if it just ended.
fn ending_event(before: Option<&Task>, after: &Task) -> Option<Event> {
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
    /// The index of its event.
    pub event: usize,
    pub channel: &'a Channel,
    /// Its recipients: agents, roles, the owner; empty for the project's own channels.
    pub to: Vec<String>,
    /// The recipients' relation to the event.
    pub reader: NoticeReader,
}

/// A recipient of an event, its relation to it, and whether it is notified without a subscription.
type Concern<'e> = (Who<'e>, NoticeReader, bool);

enum Who<'e> {
    Agent(&'e AgentId),
    Role(&'e RoleId),
    Owner,
}

/// Returns the notices about the events of one change, which led to `after`.
pub fn audience<'a>(rules: &'a Rules, after: Option<&Task>, events: &[Event]) -> Vec<Notice<'a>> {
    let mut notices: Vec<Notice<'a>> = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let kind = event.kind();
        for entry in rules.project.notify.iter().filter(|entry| subscribes(entry, kind)) {
            add_notice(&mut notices, index, &entry.channel, None, NoticeReader::Anybody);
        }
        for (who, reader, is_reader) in concerns(rules, after, events, event) {
            let (name, subscriptions) = match who {
                Who::Agent(id) => (id.as_str(), rules.org.agent(id).map(|agent| &agent.notify)),
                Who::Role(id) => (id.as_str(), rules.org.role(id).map(|role| &role.notify)),
                Who::Owner => {
                    let name = rules.project.owner.as_deref().unwrap_or_default();
                    let owner = name.parse().ok().and_then(|id: AgentId| rules.org.agent(&id));
                    (name, owner.map(|found| &found.notify))
                }
            };
            let wanted = |entry: &&Subscription| {
                subscribes(entry, kind) || (is_reader && entry.on == On::Concerning)
            };
            for entry in subscriptions.into_iter().flatten().filter(wanted) {
                add_notice(&mut notices, index, &entry.channel, Some(name), reader);
            }
        }
    }
    notices
}

fn subscribes(entry: &Subscription, kind: EventKind) -> bool {
    match &entry.on {
        On::All => true,
        On::Only(kinds) => kinds.contains(&kind),
        On::Concerning => false,
    }
}

/// Adds a recipient to the notices: each channel gets one notice per event, with all recipients.
fn add_notice<'a>(
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
        Event::Commented { agent, comment } => {
            let people = rules.org.people_in(comment).into_iter();
            (people.filter(|person| agent.as_ref() != Some(person)).collect(), false)
        }
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
        // The owner is not notified of a block if a more specific event gives the cause.
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

fn of_role<'e>(rules: &'e Rules, role: &'e RoleId, is_reader: bool, all: &mut Vec<Concern<'e>>) {
    all.push((Who::Role(role), NoticeReader::Successor, true));
    let members = rules.org.role(role).into_iter().flat_map(|known| &known.agents);
    all.extend(members.map(|id| (Who::Agent(id), NoticeReader::Successor, is_reader)));
}

/// Adds the recipients of work that arrived at a gate: its role, and each agent of it that subscribed.
fn arrivals<'e>(
    rules: &'e Rules,
    after: Option<&'e Task>,
    event: &Event,
    all: &mut Vec<Concern<'e>>,
) {
    let Some(task) = after.filter(|task| task.status == Status::Ready) else { return };
    let came = match event {
        // An escalation has an event of its own.
        Event::Transition(visit) => visit.to.is_some() && visit.escalated_to.is_none(),
        Event::Rerouted { .. } => true,
        _ => task.history.is_empty(),
    };
    if task.gate.is_some() && came {
        for role in task.routing.role.iter().chain(task.branches().map(|branch| &branch.role)) {
            of_role(rules, role, false, all);
        }
    }
}
