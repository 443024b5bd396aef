//! What the commit of a change says: a line for `git log`, what was said, and trailers for programs.

use crate::domain::{
    AgentId, Destination, GateId, RoleId, Station, Status, Task, TaskId, Visit, WorkflowName,
};
use crate::git::BESIDE_A_TASK;
use crate::git::log::trailers::{Trailer, message};
use crate::rules::{Act, Actor, lost_dependencies};

/// Returns the message of the commit that carries out the act and leads to `after`, of a task whose history had so many entries.
pub(crate) fn of_act(act: &Act, known: usize, after: &Task) -> String {
    let id = &after.id;
    let grown = after.history.len() > known;
    let mut trailers = vec![("Aof-Task", id.to_string())];
    match act {
        Act::Complete(_)
        | Act::Pass
        | Act::Move
        | Act::Cancel { .. }
        | Act::Reopen { .. }
        | Act::Override { .. } => {
            if let Some(visit) = after.history.last() {
                return of_entry(visit, trailers, id.as_str());
            }
        }
        Act::Timeout { .. } | Act::Unblock { .. } if grown => {
            if let Some(visit) = after.history.last() {
                return of_entry(visit, trailers, id.as_str());
            }
        }
        _ => {}
    }
    let branch = match act {
        Act::Claim { branch, .. }
        | Act::Assign { branch, .. }
        | Act::Renew { branch, .. }
        | Act::Lapse { branch }
        | Act::Timeout { branch }
        | Act::Release { branch, .. }
        | Act::Unblock { branch, .. } => branch.clone(),
        _ => None,
    };
    let gate =
        after.gate.as_ref().map(|open| Station { gate: open.current.clone(), branch }.to_string());
    trailers.extend(gate.clone().map(|gate| ("Aof-Gate", gate)));
    let at = gate.map(|gate| format!(" at {gate}")).unwrap_or_default();
    let (event, subject, body, by) = match act {
        Act::Open => ("created", format!("{id}: created{at}"), after.title.clone(), None),
        Act::OpenFor { agent } => {
            ("created", format!("{id}: created{at}, given to {agent}"), after.title.clone(), None)
        }
        Act::Claim { agent, .. } => {
            ("claimed", format!("{id}: claimed by {agent}{at}"), String::new(), Some(agent.clone()))
        }
        Act::Assign { by, agent, .. } => (
            "assigned",
            format!("{id}: assigned to {agent}{at}"),
            String::new(),
            by.agent().cloned(),
        ),
        Act::Renew { agent, note, .. } => (
            "renewed",
            format!("{id}: renewed by {agent}{at}"),
            note.clone().unwrap_or_default(),
            Some(agent.clone()),
        ),
        Act::Lapse { .. } => ("lapsed", format!("{id}: claim ran out{at}"), String::new(), None),
        Act::Timeout { .. } => ("timeout", format!("{id}: overdue{at}"), String::new(), None),
        Act::Hold { by, reason } => {
            ("held", format!("{id}: held{at}"), reason.clone(), by.agent().cloned())
        }
        Act::Depend { .. } => match lost_dependencies(after) {
            lost if lost.is_empty() => {
                ("unblocked", format!("{id}: unblocked{at}"), String::new(), None)
            }
            lost => {
                let lost: Vec<String> = lost.iter().map(ToString::to_string).collect();
                ("blocked", format!("{id}: blocked{at}"), lost.join("\n"), None)
            }
        },
        Act::Release { by, .. } => {
            ("released", format!("{id}: released{at}"), String::new(), by.agent().cloned())
        }
        Act::Unblock { by, reason, .. } => (
            "unblocked",
            format!("{id}: unblocked{at}"),
            reason.clone().unwrap_or_default(),
            by.agent().cloned(),
        ),
        _ => ("changed", format!("{id}: changed{at}"), String::new(), None),
    };
    trailers.push(("Aof-Event", event.to_owned()));
    trailers.extend(by.map(|agent| ("Aof-Agent", agent.to_string())));
    build(&subject, &body, trailers)
}

/// Returns the message of the commit that gives the work to others, because the rules changed: other roles, other people.
pub(crate) fn of_reroute(before: &Task, after: &Task) -> String {
    let RuleEffect { event, what, details } = rule_effect(before, after);
    let gate = after.gate.as_ref().map(|open| open.current.to_string()).unwrap_or_default();
    build(
        &format!("{}: {what}", after.id),
        &details.join("\n"),
        vec![
            ("Aof-Task", after.id.to_string()),
            ("Aof-Gate", gate),
            ("Aof-Event", event.to_owned()),
        ],
    )
}

/// Returns the message of the commit that hands work to an agent that did not ask for it.
pub(crate) fn of_gift(agent: &AgentId, branch: Option<&GateId>, after: &Task) -> String {
    let at = after
        .gate
        .as_ref()
        .map(|open| Station { gate: open.current.clone(), branch: branch.cloned() });
    let mut trailers = vec![("Aof-Task", after.id.to_string())];
    trailers.extend(at.as_ref().map(|at| ("Aof-Gate", at.to_string())));
    trailers.extend([("Aof-Event", "assigned".to_owned()), ("Aof-Agent", agent.to_string())]);
    let place = at.map(|at| format!(" at {at}")).unwrap_or_default();
    build(&format!("{}: handed to {agent}{place}", after.id), "", trailers)
}

/// Returns the message of the commit that a project begins with.
pub(crate) fn of_init(first: &Task, template: &str) -> String {
    let gate = first.gate.as_ref().map(|open| open.current.to_string()).unwrap_or_default();
    build(
        &format!("Begin with aof: the {template} process and a first task"),
        &first.title,
        vec![
            ("Aof-Task", first.id.to_string()),
            ("Aof-Gate", gate),
            ("Aof-Event", "created".to_owned()),
        ],
    )
}

/// Returns the message of the commit that adds a workflow. It is about no task, so it has no trailers.
pub(crate) fn of_workflow(name: &WorkflowName, template: &str) -> String {
    build(&format!("Begin workflow {name}: the {template} process"), "", Vec::new())
}

/// Returns the message of the commit that takes up a hand-made file.
pub(crate) fn of_adoption(after: &Task) -> String {
    let gate = after.gate.as_ref().map(|open| open.current.to_string()).unwrap_or_default();
    let mut branches = after.gate.iter().flat_map(|open| &open.branches);
    let agent =
        after.routing.agent.as_ref().or_else(|| branches.find_map(|own| own.agent.as_ref()));
    let given = agent.map(|agent| format!(", given to {agent}")).unwrap_or_default();
    build(
        &format!("{}: adopted at {gate}{given}", after.id),
        &after.title,
        vec![
            ("Aof-Task", after.id.to_string()),
            ("Aof-Gate", gate),
            ("Aof-Event", "adopted".to_owned()),
        ],
    )
}

/// Returns the message of the commit of what people wrote themselves.
pub(crate) fn of_edit(task: &Task, what: &str) -> String {
    build(
        &format!("{}: {what}", task.id),
        "",
        vec![("Aof-Task", task.id.to_string()), ("Aof-Event", "edited".to_owned())],
    )
}

/// Returns the message of the commit of what people wrote beside a task. The task itself is not in it, so it has no trailers.
pub(crate) fn of_companions(id: &TaskId) -> String {
    build(&format!("{id}{BESIDE_A_TASK}"), "", Vec::new())
}

/// Returns the message of the commit that brings back what a commit took back by mistake.
pub(crate) fn of_restoration(task: &Task) -> String {
    build(
        &format!("{}: brought back to where it was", task.id),
        "",
        vec![("Aof-Task", task.id.to_string()), ("Aof-Event", "restored".to_owned())],
    )
}

/// Returns the message of the commit of a comment.
pub(crate) fn of_comment(task: &Task, actor: &Actor, text: &str) -> String {
    let mut trailers =
        vec![("Aof-Task", task.id.to_string()), ("Aof-Event", "commented".to_owned())];
    trailers.extend(actor.agent().map(|agent| ("Aof-Agent", agent.to_string())));
    build(&format!("{}: comment", task.id), text, trailers)
}

fn of_entry(visit: &Visit, mut trailers: Vec<(&'static str, String)>, id: &str) -> String {
    let (subject, body) = said_of(visit, id);
    trailers.extend(entry_trailers(visit));
    build(&subject, &body, trailers)
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
    let (old, new) = (parts(before), parts(after));
    let mut details = Vec::new();
    let mut routes = Vec::new();
    for (old, new) in old.iter().zip(&new) {
        let at = new.branch.map(|branch| format!("{branch}: ")).unwrap_or_default();
        if let (Some(from), Some(to)) = (old.role, new.role)
            && from != to
        {
            details.extend(new.branch.map(|branch| format!("{branch}: from role {from} to {to}")));
            routes.push(format!("{from} to {to}"));
        }
        if let Some(agent) = old.agent.filter(|_| new.agent.is_none()) {
            details.push(format!("{at}{agent} may not complete it, and does not have it any more"));
        }
    }
    let (event, what) = match (&routes[..], &details[..], before.status, after.status) {
        ([route], ..) if old.len() == 1 => ("rerouted", format!("rerouted from {route} at {gate}")),
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

/// Whose a part of the work is: the whole, or a branch.
struct Part<'t> {
    branch: Option<&'t GateId>,
    role: Option<&'t RoleId>,
    agent: Option<&'t AgentId>,
}

fn parts(task: &Task) -> Vec<Part<'_>> {
    let whole =
        Part { branch: None, role: task.routing.role.as_ref(), agent: task.routing.agent.as_ref() };
    let branches = task.gate.iter().flat_map(|open| &open.branches);
    let branches = branches.map(|own| Part {
        branch: Some(&own.id),
        role: Some(&own.role),
        agent: own.agent.as_ref(),
    });
    std::iter::once(whole).chain(branches).collect()
}
