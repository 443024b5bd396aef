//! What the commit of a change says: a line for `git log`, what was said, and trailers for programs.

use crate::domain::{
    AgentId, Destination, GateId, RoleId, Station, Status, Task, TaskId, Visit, WorkflowName,
};
use crate::git::BESIDE_A_TASK;
use crate::git::log::trailers::{Trailer, message};
use crate::rules::{Act, Actor, lost_dependencies};

/// The commit of a change that adds no entry to the history: which event it is, of which task, where, and by whom.
struct EventMessage<'t> {
    task: &'t Task,
    event: &'static str,
    /// What the line for `git log` says behind the task.
    what: String,
    body: String,
    station: Option<Station>,
    agent: Option<&'t AgentId>,
}

impl<'t> EventMessage<'t> {
    fn of(task: &'t Task, event: &'static str, what: impl Into<String>) -> Self {
        let what = what.into();
        Self { task, event, what, body: String::new(), station: None, agent: None }
    }

    fn at(self, station: Option<Station>) -> Self {
        Self { station, ..self }
    }

    fn by(self, agent: Option<&'t AgentId>) -> Self {
        Self { agent, ..self }
    }

    fn saying(self, body: impl Into<String>) -> Self {
        Self { body: body.into(), ..self }
    }

    fn text(self) -> String {
        let id = &self.task.id;
        let mut trailers = vec![("Aof-Task", id.to_string())];
        trailers.extend(self.station.map(|station| ("Aof-Gate", station.to_string())));
        trailers.push(("Aof-Event", self.event.to_owned()));
        trailers.extend(self.agent.map(|agent| ("Aof-Agent", agent.to_string())));
        build(&format!("{id}: {}", self.what), &self.body, trailers)
    }
}

/// Returns the message of the commit that carries out the act and leads to `after`, of a task whose history had so many entries.
pub(crate) fn of_act(act: &Act, known: usize, after: &Task) -> String {
    let has_entry = match act {
        Act::Complete(_)
        | Act::Pass
        | Act::Move
        | Act::Cancel { .. }
        | Act::Reopen { .. }
        | Act::Override { .. } => true,
        Act::Timeout { .. } | Act::Unblock { .. } => after.history.len() > known,
        _ => false,
    };
    if let Some(visit) = after.history.last().filter(|_| has_entry) {
        let (subject, body) = said_of(visit, after.id.as_str());
        let mut trailers = vec![("Aof-Task", after.id.to_string())];
        trailers.extend(entry_trailers(visit));
        return build(&subject, &body, trailers);
    }
    let branch = match act {
        Act::Claim { branch, .. }
        | Act::Assign { branch, .. }
        | Act::Renew { branch, .. }
        | Act::Lapse { branch }
        | Act::Timeout { branch }
        | Act::Release { branch, .. }
        | Act::Unblock { branch, .. } => branch.as_ref(),
        _ => None,
    };
    let station = station_of(after, branch);
    let at = station.as_ref().map(|station| format!(" at {station}")).unwrap_or_default();
    let event = |event, what: String| EventMessage::of(after, event, what);
    let message = match act {
        Act::Open => event("created", format!("created{at}")).saying(&after.title),
        Act::OpenFor { agent } => {
            event("created", format!("created{at}, given to {agent}")).saying(&after.title)
        }
        Act::Claim { agent, .. } => {
            event("claimed", format!("claimed by {agent}{at}")).by(Some(agent))
        }
        Act::Assign { by, agent, .. } => {
            event("assigned", format!("assigned to {agent}{at}")).by(by.agent())
        }
        Act::Renew { agent, note, .. } => event("renewed", format!("renewed by {agent}{at}"))
            .by(Some(agent))
            .saying(note.clone().unwrap_or_default()),
        Act::Lapse { .. } => event("lapsed", format!("claim ran out{at}")),
        Act::Timeout { .. } => event("timeout", format!("overdue{at}")),
        Act::Hold { by, reason } => {
            event("held", format!("held{at}")).by(by.agent()).saying(reason)
        }
        Act::Depend { .. } => match lost_dependencies(after) {
            lost if lost.is_empty() => event("unblocked", format!("unblocked{at}")),
            lost => {
                let lost: Vec<String> = lost.iter().map(ToString::to_string).collect();
                event("blocked", format!("blocked{at}")).saying(lost.join("\n"))
            }
        },
        Act::Release { by, .. } => event("released", format!("released{at}")).by(by.agent()),
        Act::Unblock { by, reason, .. } => event("unblocked", format!("unblocked{at}"))
            .by(by.agent())
            .saying(reason.clone().unwrap_or_default()),
        _ => event("changed", format!("changed{at}")),
    };
    message.at(station).text()
}

fn station_of(task: &Task, branch: Option<&GateId>) -> Option<Station> {
    let open = task.gate.as_ref()?;
    Some(Station { gate: open.current.clone(), branch: branch.cloned() })
}

/// Returns the message of the commit that gives the work to others, because the rules changed: other roles, other people.
pub(crate) fn of_reroute(before: &Task, after: &Task) -> String {
    let RuleEffect { event, what, details } = rule_effect(before, after);
    let message = EventMessage::of(after, event, what).saying(details.join("\n"));
    message.at(station_of(after, None)).text()
}

/// Returns the message of the commit that hands work to an agent that did not ask for it.
pub(crate) fn of_gift(agent: &AgentId, branch: Option<&GateId>, after: &Task) -> String {
    let at = station_of(after, branch);
    let place = at.as_ref().map(|at| format!(" at {at}")).unwrap_or_default();
    let message = EventMessage::of(after, "assigned", format!("handed to {agent}{place}"));
    message.at(at).by(Some(agent)).text()
}

/// Returns the message of the commit that a project begins with.
pub(crate) fn of_init(first: &Task, template: &str) -> String {
    let gate = first.gate.as_ref().map(|open| open.current.to_string()).unwrap_or_default();
    let trailers = vec![
        ("Aof-Task", first.id.to_string()),
        ("Aof-Gate", gate),
        ("Aof-Event", "created".to_owned()),
    ];
    let subject = format!("Begin with aof: the {template} process and a first task");
    build(&subject, &first.title, trailers)
}

/// Returns the message of the commit that adds a workflow. It is about no task, so it has no trailers.
pub(crate) fn of_workflow(name: &WorkflowName, template: &str) -> String {
    build(&format!("Begin workflow {name}: the {template} process"), "", Vec::new())
}

/// Returns the message of the commit that adopts a hand-made file.
pub(crate) fn of_adoption(after: &Task) -> String {
    let at = station_of(after, None);
    let gate = at.as_ref().map(ToString::to_string).unwrap_or_default();
    let holder = after
        .routing
        .agent
        .as_ref()
        .or_else(|| after.branches().find_map(|own| own.agent.as_ref()));
    let given = holder.map(|agent| format!(", given to {agent}")).unwrap_or_default();
    let message = EventMessage::of(after, "adopted", format!("adopted at {gate}{given}"));
    message.at(at).saying(&after.title).text()
}

/// Returns the message of the commit of what people wrote themselves.
pub(crate) fn of_edit(task: &Task, what: &str) -> String {
    EventMessage::of(task, "edited", what).text()
}

/// Returns the message of the commit of what people wrote beside a task. The task itself is not in it, so it has no trailers.
pub(crate) fn of_companions(id: &TaskId) -> String {
    build(&format!("{id}{BESIDE_A_TASK}"), "", Vec::new())
}

/// Returns the message of the commit that brings back what a commit took back by mistake.
pub(crate) fn of_restoration(task: &Task) -> String {
    EventMessage::of(task, "restored", "brought back to where it was").text()
}

/// Returns the message of the commit of a comment.
pub(crate) fn of_comment(task: &Task, actor: &Actor, text: &str) -> String {
    EventMessage::of(task, "commented", "comment").by(actor.agent()).saying(text).text()
}

/// Returns what the message says of an entry above the trailers, as it stands there.
pub(crate) fn entry_text(visit: &Visit, id: &str) -> String {
    let (subject, body) = said_of(visit, id);
    build(&subject, &body, Vec::new()).trim_end().to_owned()
}

/// Returns the line for `git log` and what was said.
fn said_of(visit: &Visit, id: &str) -> (String, String) {
    let from = visit.station();
    let way = match &visit.to {
        Some(Destination::Gate(gate)) if *gate == visit.gate => from.to_string(),
        Some(Destination::Gate(gate)) => format!("{from} -> {gate}"),
        Some(end) => format!("{from} -> {}", end.noun()),
        None => from.to_string(),
    };
    let mut body = visit.summary.clone();
    for blocker in &visit.blockers {
        body.push_str("\n- ");
        body.push_str(blocker);
    }
    if let Some(notes) = &visit.rejection_notes {
        body.push_str("\n\n");
        body.push_str(notes);
    }
    (format!("{id}: {way} ({})", visit.outcome), body)
}

/// Returns what the trailers say of an entry.
pub(crate) fn entry_trailers(visit: &Visit) -> Vec<(&'static str, String)> {
    let mut trailers =
        vec![("Aof-Gate", visit.station().to_string()), ("Aof-Outcome", visit.outcome.to_string())];
    trailers.extend(visit.agent.as_ref().map(|agent| ("Aof-Agent", agent.to_string())));
    trailers
        .extend(visit.completion.as_ref().map(|stamp| ("Aof-Completion", stamp.id.to_string())));
    trailers
}

fn build(subject: &str, body: &str, trailers: Vec<(&'static str, String)>) -> String {
    // Every value here is an identifier or a word of ours, so none can fail to be a trailer.
    let trailers: Vec<Trailer> =
        trailers.into_iter().filter_map(|(key, value)| Trailer::new(key, &value).ok()).collect();
    message(subject, body, &trailers)
}

/// What changed rules did to a task without moving it, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleEffect {
    /// The event, as a commit names it.
    pub event: &'static str,
    /// The whole in short.
    pub what: String,
    /// One by one: roles, agents that lost the work, what is in the way now.
    pub details: Vec<String>,
}

/// Returns what led from one to the other. They differ in their roles, in who has what, or in who there is.
pub(crate) fn rule_effect(before: &Task, after: &Task) -> RuleEffect {
    let gate = after.gate.as_ref().map(|open| open.current.to_string()).unwrap_or_default();
    let mut details = Vec::new();
    let mut routes = Vec::new();
    for ((_, old_role, old_agent), (branch, new_role, new_agent)) in parts(before).zip(parts(after))
    {
        let at = branch.map(|branch| format!("{branch}: ")).unwrap_or_default();
        if let (Some(from), Some(to)) = (old_role, new_role)
            && from != to
        {
            details.extend(branch.map(|branch| format!("{branch}: from role {from} to {to}")));
            routes.push(format!("{from} to {to}"));
        }
        if let Some(agent) = old_agent.filter(|_| new_agent.is_none()) {
            details.push(format!("{at}{agent} may not complete it, and does not have it any more"));
        }
    }
    let (event, what) = match (&routes[..], &details[..], before.status, after.status) {
        ([route], ..) if before.branches().next().is_none() => {
            ("rerouted", format!("rerouted from {route} at {gate}"))
        }
        ([], [], Status::Blocked, Status::Ready | Status::InProgress) => {
            ("unblocked", format!("unblocked at {gate}"))
        }
        ([], [], _, Status::Blocked) => ("blocked", format!("blocked at {gate}")),
        _ => ("rerouted", format!("rerouted at {gate}")),
    };
    if after.status == Status::Blocked {
        details.extend(after.blockers.iter().cloned());
    }
    RuleEffect { event, what, details }
}

/// Returns whose each part of the work is: the whole, then the branches.
fn parts(
    task: &Task,
) -> impl Iterator<Item = (Option<&GateId>, Option<&RoleId>, Option<&AgentId>)> {
    let whole = (None, task.routing.role.as_ref(), task.routing.agent.as_ref());
    let branches = task.branches().map(|own| (Some(&own.id), Some(&own.role), own.agent.as_ref()));
    std::iter::once(whole).chain(branches)
}
