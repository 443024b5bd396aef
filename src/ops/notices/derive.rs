//! From commits to messages: what each commit since the last time says happened, written into the outbox for whoever wants to know.
//!
//! The cursor moves when the messages are durable. A kill in between has them written again, under the same names and ids: an id
//! is made of what happened, not of when it was noticed.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::delivery::{GivenUp, Round};
use crate::audit::trailers;
use crate::audit::{ChangedFile, CommitId, Head, LogEntry, ObjectId};
use crate::engine::{Refusal, Rules, audience, events};
use crate::format::config::Subject as RuleFile;
use crate::format::event::notice_value;
use crate::format::task_file::{self, Defaults};
use crate::model::{AgentId, ChannelKey, Digest, Event, Occurrence, Subject, Task, TaskId, Timestamp};
use crate::ops::error::OpsError;
use crate::ops::in_force::{check_committed, in_force};
use crate::ops::workspace::Workspace;
use crate::stop;
use crate::store::layout;
use crate::store::outbox::{Cursor, MOST_WAITING, Outbox, Waiting};

/// So many branches are remembered.
const MOST_BRANCHES: usize = 50;

/// What came of looking for something to say.
#[derive(Debug, Default)]
pub struct Put {
    /// How many messages were written.
    pub written: usize,
    /// Whether the branch was rewritten, or nothing was known of what it had: messages may be missing or doubled.
    pub restarted: Option<String>,
}

/// Writes what is to be said of the commits that came to the branch since the last time. The first time, there is nothing to say.
pub fn put_out(workspace: &Workspace) -> Result<Put, OpsError> {
    let outbox = Outbox::of(&workspace.paths);
    let head = workspace.repository.look()?;
    let Some(newest) = head.commit.filter(|_| head.reference != "HEAD") else { return Ok(Put::default()) };
    let rules = Rc::clone(&in_force(workspace, &head)?.rules);
    if rules.channels().next().is_none() {
        outbox.forget_cursor()?;
        return Ok(Put::default());
    }
    let known = outbox.cursor()?.unwrap_or_default();
    if known.0.get(&head.reference).is_some_and(|last| *last == newest.to_string()) {
        return Ok(Put::default());
    }
    let Some(right) = outbox.writing()? else { return Ok(Put::default()) };
    let known = outbox.cursor()?.unwrap_or_default();
    let last: Option<CommitId> = known.0.get(&head.reference).and_then(|text| text.parse().ok());
    let mut put = Put::default();
    if let Some(last) = last {
        if workspace.repository.has_commit(last) {
            put.written = put_since(workspace, &outbox, &rules, &head, (last, newest))?;
        } else {
            put.restarted = Some(format!("the commit {last} is gone, up to which messages had been written"));
        }
    }
    stop::point("outbox.written");
    outbox.set_cursor(&right, &moved(known, &head, newest))?;
    Ok(put)
}

fn moved(mut known: Cursor, head: &Head, newest: CommitId) -> Cursor {
    if known.0.len() >= MOST_BRANCHES && !known.0.contains_key(&head.reference) {
        known.0.clear();
    }
    known.0.insert(head.reference.clone(), newest.to_string());
    known
}

fn put_since(
    workspace: &Workspace,
    outbox: &Outbox,
    rules: &Rules,
    head: &Head,
    (last, newest): (CommitId, CommitId),
) -> Result<usize, OpsError> {
    let repository = &workspace.repository;
    let added = repository.added_since(last, newest)?;
    // A rebase makes the same changes again.
    let mut told = Vec::new();
    for gone in repository.added_since(newest, last)? {
        told.extend(repository.changed_files(gone)?);
    }
    let mut written = BTreeMap::new();
    for commit in added {
        let entry = repository.log_entry(commit)?;
        let mut changed = repository.changed_files(commit)?;
        if entry.parents.len() > 1 {
            // What a merge takes over from us, seen from the other side, is new to them and not to us.
            let mut brought = Vec::new();
            for file in changed {
                if file.after.is_none() || repository.blob_id(last, &file.path)? != file.after {
                    brought.push(file);
                }
            }
            changed = brought;
        }
        let mut said = Vec::new();
        if changed.iter().any(|file| RuleFile::of(&file.path).is_some()) {
            said.extend(of_rules(workspace, &entry)?);
        }
        let tasks = of_tasks(changed.into_iter().filter(|file| !told.contains(file)));
        if !tasks.is_empty() {
            let then = rules_of(workspace, head, &entry);
            for (id, before, after) in tasks {
                said.extend(of_task(workspace, then.as_deref().unwrap_or(rules), &entry, &id, (before, after))?);
            }
        }
        for (key, number) in write(workspace, outbox, rules, &said)? {
            *written.entry(key).or_default() += number;
        }
    }
    for key in written.keys() {
        bound(workspace, outbox, rules, key)?;
    }
    Ok(written.values().sum())
}

/// What happened in one change, to one task or to the rules.
struct Said {
    /// What makes it this change and no other.
    mark: String,
    at: Timestamp,
    /// What sorts changes of the same second.
    later: usize,
    task: Option<Task>,
    events: Vec<Event>,
}

/// Returns the rules that decided what the commit says: those of its parent.
fn rules_of(workspace: &Workspace, head: &Head, entry: &LogEntry) -> Option<Rc<Rules>> {
    let under = |commit| {
        let then = Head { reference: head.reference.clone(), commit: Some(commit) };
        in_force(workspace, &then).ok().map(|in_force| in_force.rules)
    };
    entry.parents.first().and_then(|parent| under(*parent)).or_else(|| under(entry.id))
}

fn of_rules(workspace: &Workspace, entry: &LogEntry) -> Result<Option<Said>, OpsError> {
    let wrong = check_committed(&workspace.repository, entry.id)?;
    let wrong: Vec<_> = wrong.into_iter().filter(|one| one.severity == crate::model::Severity::Error).collect();
    let Some(first) = wrong.first() else { return Ok(None) };
    let commit = entry.id.to_string()[..7].to_owned();
    let problem = format!("{}:{}:{}: {}", first.file, first.line, first.column, first.message);
    Ok(Some(Said {
        mark: format!("rules {}", entry.id),
        at: entry.committed,
        later: 0,
        task: None,
        events: vec![Event::RulesInvalid { commit, problem, count: wrong.len() }],
    }))
}

type Blob = Option<ObjectId>;

/// Returns the tasks among the files, each with what its file was and is; one that moved is gone in one place and new in another.
fn of_tasks(changed: impl Iterator<Item = ChangedFile>) -> Vec<(TaskId, Blob, Blob)> {
    let mut tasks: BTreeMap<TaskId, (Blob, Blob)> = BTreeMap::new();
    for file in changed.filter(|file| file.path.starts_with("tasks/")) {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        if let Some(Ok(id)) = layout::task_id(name) {
            let (before, after) = tasks.entry(id).or_default();
            *before = before.or(file.before);
            *after = after.or(file.after);
        }
    }
    tasks.into_iter().map(|(id, (before, after))| (id, before, after)).collect()
}

fn of_task(
    workspace: &Workspace,
    rules: &Rules,
    entry: &LogEntry,
    id: &TaskId,
    (old, new): (Blob, Blob),
) -> Result<Option<Said>, OpsError> {
    let Some(new) = new.filter(|new| old != Some(*new)) else { return Ok(None) };
    let read = |blob: ObjectId| -> Result<Option<Task>, OpsError> {
        let bytes = workspace.repository.read_blob(blob)?;
        let workflow = rules.project.default_workflow.clone();
        Ok(task_file::parse(&bytes, id, &Defaults { workflow, created: entry.committed }).ok().map(|file| file.task))
    };
    let before = old.map(read).transpose()?.flatten();
    // What cannot be read is somebody's work in progress; nothing is known of it.
    let Some(after) = read(new)? else { return Ok(None) };
    let mut events = events(rules, before.as_ref(), &after);
    refine(&mut events, entry, old.is_some());
    let engine = before.as_ref().is_none_or(|task| task.updated != after.updated);
    Ok(Some(Said {
        mark: format!("{id} {} {new}", old.map(|old| old.to_string()).unwrap_or_default()),
        at: if engine { after.updated } else { entry.authored },
        later: after.history.len(),
        task: Some(after),
        events,
    }))
}

/// Makes of what the states tell what the commit says of it besides: who wrote a comment, that a claim was a person's doing.
fn refine(events: &mut Vec<Event>, entry: &LogEntry, known: bool) {
    let trailers = trailers::parse(&entry.message);
    let trailer = |key: &str| trailers.iter().find(|one| one.key() == key).map(|one| one.value().to_owned());
    let word = trailer("Aof-Event").unwrap_or_default();
    // What is in a file beside the task is its text.
    if events.is_empty() && known {
        events.push(Event::Edited);
    }
    for event in events {
        let said = match (&*event, word.as_str()) {
            (Event::Claimed { at, agent }, "assigned") => Event::Assigned { at: at.clone(), agent: agent.clone() },
            (Event::Created { gate }, "adopted") => Event::Adopted { gate: gate.clone() },
            (Event::Edited, "commented") => Event::Commented {
                agent: trailer("Aof-Agent").and_then(|id| id.parse::<AgentId>().ok()),
                text: body(&entry.message),
            },
            (Event::Edited, "restored") => Event::Restored,
            (Event::Renewed { at, agent, .. }, _) => {
                Event::Renewed { at: at.clone(), agent: agent.clone(), note: body(&entry.message) }
            }
            _ => continue,
        };
        *event = said;
    }
}

/// Returns what stands between the first line of a message and its trailers.
fn body(message: &str) -> String {
    let rest = message.split_once("\n\n").map_or("", |(_, rest)| rest);
    rest.trim_end().rsplit_once("\n\n").map(|(body, _)| body.trim().to_owned()).unwrap_or_default()
}

/// Writes the messages for whoever wants to know; returns how many went to each channel.
fn write(
    workspace: &Workspace,
    outbox: &Outbox,
    rules: &Rules,
    said: &[Said],
) -> Result<BTreeMap<ChannelKey, usize>, OpsError> {
    let mut written: BTreeMap<ChannelKey, Vec<Waiting>> = BTreeMap::new();
    for one in said {
        let subject = one.task.as_ref().map(|task| Subject {
            task: task.id.clone(),
            title: task.title.clone(),
            workflow: task.routing.workflow.clone(),
        });
        for (place, notice) in audience(rules, one.task.as_ref(), &one.events).into_iter().enumerate() {
            // A receiver that took nothing is not told so.
            if matches!(&one.events[notice.event], Event::NoticesDropped { channel, .. } if *channel == notice.channel.to_string())
            {
                continue;
            }
            let occurrence = Occurrence {
                at: one.at,
                project: rules.project.name.clone(),
                subject: subject.clone(),
                event: one.events[notice.event].clone(),
            };
            let key = notice.channel.key();
            let mark = format!("{} {} {} {:?}", one.mark, notice.event, key.as_str(), notice.reader);
            let id = format!("aof_{}", &Digest::of(mark.as_bytes()).as_str()[..32]);
            let waiting = Waiting {
                order: (one.at.as_second(), one.later, place),
                channel: notice.channel.to_string(),
                since: workspace.now(),
                message: notice_value(&occurrence, &id, &notice.to, notice.reader),
                attempts: 0,
                next: None,
                error: None,
                id,
            };
            written.entry(key).or_default().push(waiting);
        }
    }
    for (key, messages) in &written {
        outbox.put(key, messages)?;
    }
    Ok(written.into_iter().map(|(key, messages)| (key, messages.len())).collect())
}

/// Gives the oldest messages of a channel up where too many wait, and says so.
fn bound(workspace: &Workspace, outbox: &Outbox, rules: &Rules, key: &ChannelKey) -> Result<(), OpsError> {
    let names = outbox.names(key)?;
    let surplus = names.len().saturating_sub(MOST_WAITING);
    let reason = format!("more than {MOST_WAITING} messages waited for it");
    let mut channel = String::new();
    for name in &names[..surplus] {
        if let Some(waiting) = outbox.read(key, name)? {
            outbox.give_up(key, &waiting, &reason)?;
            channel = waiting.channel;
        }
    }
    if surplus > 0 {
        tell_of_drop(workspace, outbox, rules, Event::NoticesDropped { channel, count: surplus, reason })?;
    }
    Ok(())
}

/// Tells whoever wants to know that messages were given up.
fn tell_of_drop(workspace: &Workspace, outbox: &Outbox, rules: &Rules, event: Event) -> Result<(), OpsError> {
    let at = workspace.now();
    let said = Said { mark: format!("{event:?} {at}"), at, later: 0, task: None, events: vec![event] };
    write(workspace, outbox, rules, &[said]).map(drop)
}

/// Tells whoever wants to know what a round gave up.
pub fn tell_of_round(workspace: &Workspace, round: &Round) -> Result<(), OpsError> {
    let Some(given_up) = &round.given_up else { return Ok(()) };
    let rules = in_force(workspace, &workspace.repository.look()?)?.rules;
    let GivenUp { channel, count, reason } = given_up.clone();
    let event = Event::NoticesDropped { channel, count, reason };
    tell_of_drop(workspace, &Outbox::of(&workspace.paths), &rules, event)
}

/// Writes what is to be said of a completion that came after another one of the same visit: it is in no commit. `delivery` is what
/// makes it this one.
pub(in crate::ops) fn put_conflict(
    workspace: &Workspace,
    refusal: &Refusal,
    delivery: &Digest,
) -> Result<(), OpsError> {
    let Refusal::VisitEnded { ticket, gate, agent: Some(loser), winner, .. } = refusal else { return Ok(()) };
    let rules = Rc::clone(&in_force(workspace, &workspace.repository.look()?)?.rules);
    if rules.channels().next().is_none() {
        return Ok(());
    }
    let outbox = Outbox::of(&workspace.paths);
    let task = crate::ops::standing::Standing::read(workspace, &ticket.task)?.file.task;
    let said = Said {
        mark: format!("conflict {ticket} {}", delivery.as_str()),
        at: workspace.now(),
        later: task.history.len(),
        task: Some(task),
        events: vec![Event::Conflict { gate: gate.clone(), winner: winner.clone(), loser: loser.clone() }],
    };
    write(workspace, &outbox, &rules, &[said]).map(drop)
}
