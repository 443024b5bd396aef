//! Commit messages of changes: a subject, a body with the texts of people or agents, and trailers for programs.

use crate::domain::{
    AgentId, Destination, GateId, RoleId, Station, Status, Task, TaskId, Visit, WorkflowName,
};
use crate::git::COMPANIONS_EDITED;
use crate::git::log::trailers::{Trailer, message, parse};
use crate::project::workspace::Workspace;
use crate::rules::{Act, Actor, lost_dependencies};

/// Returns the message of a commit that adds no entry to the history.
fn event_message(
    task: &Task,
    (event, what): (&'static str, &str),
    station: Option<Station>,
    agent: Option<&AgentId>,
    body: &str,
) -> String {
    let mut trailers = vec![("Aof-Task", task.id.to_string())];
    trailers.extend(station.map(|station| ("Aof-Gate", station.to_string())));
    trailers.push(("Aof-Event", event.to_owned()));
    trailers.extend(agent.map(|agent| ("Aof-Agent", agent.to_string())));
    build(&format!("{}: {what}", task.id), body, trailers)
}

/// Returns the message of the commit of an act that leads to `after`. `known` is the length of the history before.
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
        let (subject, body) = entry_lines(visit, after.id.as_str());
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
    let lost: Vec<String> = lost_dependencies(after).iter().map(ToString::to_string).collect();
    let (event, what, agent, body) = match act {
        Act::Open | Act::OpenFor { .. } => {
            ("created", "created".to_owned(), None, after.title.clone())
        }
        Act::Claim { agent, .. } => {
            ("claimed", format!("claimed by {agent}"), Some(agent), String::new())
        }
        Act::Assign { by, agent, .. } => {
            ("assigned", format!("assigned to {agent}"), by.agent(), String::new())
        }
        Act::Renew { agent, note, .. } => {
            let note = note.clone().unwrap_or_default();
            ("renewed", format!("renewed by {agent}"), Some(agent), note)
        }
        Act::Lapse { .. } => ("lapsed", "claim ran out".to_owned(), None, String::new()),
        Act::Timeout { .. } => ("timeout", "overdue".to_owned(), None, String::new()),
        Act::Hold { by, reason } => ("held", "held".to_owned(), by.agent(), reason.clone()),
        Act::Depend { .. } if lost.is_empty() => {
            ("unblocked", "unblocked".to_owned(), None, String::new())
        }
        Act::Depend { .. } => ("blocked", "blocked".to_owned(), None, lost.join("\n")),
        Act::Release { by, .. } => ("released", "released".to_owned(), by.agent(), String::new()),
        Act::Unblock { by, reason, .. } => {
            let reason = reason.clone().unwrap_or_default();
            ("unblocked", "unblocked".to_owned(), by.agent(), reason)
        }
        _ => ("changed", "changed".to_owned(), None, String::new()),
    };
    let given = match act {
        Act::OpenFor { agent } => format!(", given to {agent}"),
        _ => String::new(),
    };
    let station = station_of(after, branch);
    let what = format!("{what}{}{given}", at(station.as_ref()));
    event_message(after, (event, &what), station, agent, &body)
}

/// The trailer with a person who was only named: the person was at no terminal, and gave no signature.
const NAMED: &str = "Aof-Named";

/// Returns the message, with a trailer if the person was only named.
pub(crate) fn with_named(
    workspace: &Workspace,
    agent: Option<&AgentId>,
    message: String,
) -> String {
    match agent {
        Some(agent) if agent.is_human() && !workspace.is_person_seen => {
            format!("{message}{NAMED}: {agent}\n")
        }
        _ => message,
    }
}

/// Returns the person that the commit only names.
pub(crate) fn named_in(message: &str) -> Option<AgentId> {
    let trailer = parse(message).into_iter().find(|trailer| trailer.key() == NAMED)?;
    trailer.value().parse().ok()
}

fn station_of(task: &Task, branch: Option<&GateId>) -> Option<Station> {
    let open = task.gate.as_ref()?;
    Some(Station { gate: open.current.clone(), branch: branch.cloned() })
}

fn at(station: Option<&Station>) -> String {
    station.map(|station| format!(" at {station}")).unwrap_or_default()
}

/// Returns the message of the commit that reassigns work because the rules changed.
pub(crate) fn of_reroute(before: &Task, after: &Task) -> String {
    let RuleEffect { event, what, details } = rule_effect(before, after);
    event_message(after, (event, &what), station_of(after, None), None, &details.join("\n"))
}

/// Returns the message of the commit that hands work out to an agent.
pub(crate) fn of_hand_out(agent: &AgentId, branch: Option<&GateId>, after: &Task) -> String {
    let station = station_of(after, branch);
    let what = format!("handed to {agent}{}", at(station.as_ref()));
    event_message(after, ("assigned", &what), station, Some(agent), "")
}

/// Returns the message of the first commit of a project.
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

/// Returns the message of the commit that adds a workflow. It has no trailers, since it concerns no task.
pub(crate) fn of_workflow(name: &WorkflowName, template: &str) -> String {
    build(&format!("Begin workflow {name}: the {template} process"), "", Vec::new())
}

/// Returns the message of the commit that adopts a hand-made file.
pub(crate) fn of_adoption(after: &Task) -> String {
    let station = station_of(after, None);
    let gate = station.as_ref().map(ToString::to_string).unwrap_or_default();
    let branch_holder = || after.branches().find_map(|branch| branch.agent.as_ref());
    let holder = after.routing.agent.as_ref().or_else(branch_holder);
    let given = holder.map(|agent| format!(", given to {agent}")).unwrap_or_default();
    let what = format!("adopted at {gate}{given}");
    event_message(after, ("adopted", &what), station, None, &after.title)
}

/// Returns the message of the commit of a person's edit.
pub(crate) fn of_edit(task: &Task, what: &str) -> String {
    event_message(task, ("edited", what), None, None, "")
}

/// Returns the message of the commit of a person's edits of companions. It has no trailers, since it does not change the task.
pub(crate) fn of_companions(id: &TaskId) -> String {
    build(&format!("{id}{COMPANIONS_EDITED}"), "", Vec::new())
}

/// Returns the message of the commit that restores a change that another commit reverted by mistake.
pub(crate) fn of_restoration(task: &Task) -> String {
    event_message(task, ("restored", "brought back to where it was"), None, None, "")
}

/// Returns the message of the commit of a comment.
pub(crate) fn of_comment(task: &Task, actor: &Actor, text: &str) -> String {
    event_message(task, ("commented", "comment"), None, actor.agent(), text)
}

/// Returns the part of an entry's commit message above the trailers.
pub(crate) fn entry_text(visit: &Visit, id: &str) -> String {
    let (subject, body) = entry_lines(visit, id);
    build(&subject, &body, Vec::new()).trim_end().to_owned()
}

/// Returns subject and body for an entry.
fn entry_lines(visit: &Visit, id: &str) -> (String, String) {
    // Gate and branch are the station.
    let Visit {
        gate,
        branch: _,
        verdict: _,
        join: _,
        unfinished: _,
        item: _,
        role: _,
        agent: _,
        entered: _,
        exited: _,
        overdue: _,
        outcome,
        summary,
        blockers,
        rejection_notes,
        to,
        to_item: _,
        round: _,
        skipped: _,
        cleared: _,
        escalated_to: _,
        retry: _,
        outputs: _,
        metadata: _,
        children: _,
        checks: _,
        work: _,
        landed: _,
        workflow: _,
        completion: _,
        signature: _,
    } = visit;
    let from = visit.station();
    let way = match to {
        Some(Destination::Gate(next)) if next == gate => from.to_string(),
        Some(Destination::Gate(gate)) => format!("{from} -> {gate}"),
        Some(end) => format!("{from} -> {}", end.noun()),
        None => from.to_string(),
    };
    let mut body = summary.clone();
    for blocker in blockers {
        body.push_str("\n- ");
        body.push_str(blocker);
    }
    if let Some(notes) = rejection_notes {
        body.push_str("\n\n");
        body.push_str(notes);
    }
    (format!("{id}: {way} ({outcome})"), body)
}

/// Returns the trailers for an entry.
pub(crate) fn entry_trailers(visit: &Visit) -> Vec<(&'static str, String)> {
    let mut trailers =
        vec![("Aof-Gate", visit.station().to_string()), ("Aof-Outcome", visit.outcome.to_string())];
    trailers.extend(visit.agent.as_ref().map(|agent| ("Aof-Agent", agent.to_string())));
    trailers
        .extend(visit.completion.as_ref().map(|stamp| ("Aof-Completion", stamp.id.to_string())));
    trailers
}

fn build(subject: &str, body: &str, trailers: Vec<(&'static str, String)>) -> String {
    // Every value here is an identifier or a word of ours, so all are valid trailers.
    let trailers: Vec<Trailer> =
        trailers.into_iter().filter_map(|(key, value)| Trailer::new(key, &value).ok()).collect();
    message(subject, body, &trailers)
}

/// The effect of changed rules on a task that they did not move, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleEffect {
    /// The event, as a commit names it.
    pub event: &'static str,
    pub what: String,
    /// Details: roles, agents that lost the work, blockers.
    pub details: Vec<String>,
}

/// Returns the effect between two states of a task, which differ in roles, assignments or blockers.
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
        details.extend(after.blockers.iter().map(ToString::to_string));
    }
    RuleEffect { event, what, details }
}

/// Returns role and agent of the whole task, then of each branch.
fn parts(
    task: &Task,
) -> impl Iterator<Item = (Option<&GateId>, Option<&RoleId>, Option<&AgentId>)> {
    let whole = (None, task.routing.role.as_ref(), task.routing.agent.as_ref());
    let branches = task.branches().map(|one| (Some(&one.id), Some(&one.role), one.agent.as_ref()));
    std::iter::once(whole).chain(branches)
}
