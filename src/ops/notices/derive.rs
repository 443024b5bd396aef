//! From commits to messages: what each commit since the last time says happened, written into the outbox for whoever wants to know.
//!
//! The cursor moves when the messages are durable. A kill in between has them written again, under the same names and ids: an id
//! is made of what happened, not of when it was noticed.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::compose::{Said, bound, compose, tell_of_dropped, write};
use crate::audit::trailers;
use crate::audit::{ChangedFile, CommitId, Head, LogEntry, ObjectId};
use crate::engine::{Rules, events};
use crate::format::config::Subject as RuleFile;
use crate::format::task_file::{self, Defaults};
use crate::model::{AgentId, ChannelKey, Event, Task, TaskId};
use crate::ops::error::OpsError;
use crate::ops::in_force::{check_committed, in_force};
use crate::ops::workspace::Workspace;
use crate::stop;
use crate::store::layout;
use crate::store::outbox::{Cursor, Outbox, Waiting};

/// How many commits are told of in one go.
const MOST_COMMITS: usize = 200;

/// What came of looking for something to say.
#[derive(Debug, Default)]
pub struct Put {
    /// How many messages were written.
    pub written: usize,
    /// Whether the branch was rewritten, or nothing was known of what it had: messages may be missing or doubled.
    pub restarted: Option<String>,
    /// What is left to be said.
    pub left: Left,
}

/// Whether all was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Left {
    /// All was.
    #[default]
    Nothing,
    /// There are more commits to be told of.
    Commits,
}

/// Writes what is to be said of the commits that came to the branch since the last time, or of the first of them where there are many.
/// The first time, there is nothing to say.
pub fn put_out(workspace: &Workspace) -> Result<Put, OpsError> {
    let outbox = Outbox::of(&workspace.paths);
    let head = workspace.repository.look()?;
    let Some(newest) = head.commit.filter(|_| head.reference != "HEAD") else { return Ok(Put::default()) };
    let rules = Rc::clone(&in_force(workspace, &head)?.rules);
    tell_of_dropped(workspace, &outbox, &rules)?;
    if rules.channels().next().is_none() {
        outbox.forget_cursor()?;
        return Ok(Put::default());
    }
    let known = outbox.cursor()?.unwrap_or_default();
    if known.commit(&head.reference).is_some_and(|last| last == newest.to_string()) {
        return Ok(Put::default());
    }
    let Some(right) = outbox.writing()? else { return Ok(Put::default()) };
    let mut known = outbox.cursor()?.unwrap_or_default();
    let mut put = Put::default();
    let mut reached = newest;
    if let Some(last) = begin(workspace, &known, &head, newest)? {
        if let Some(told) = Told::since(workspace, &rules, &head, (last, newest), known.told)? {
            put.written = write(&outbox, &told.messages)?;
            for key in told.messages.keys() {
                bound(&outbox, key)?;
            }
            put.left = if told.reached == newest { Left::Nothing } else { Left::Commits };
            reached = told.reached;
            known.told += told.commits;
        } else {
            let problem = format!("history does not lead back to `{last}`, up to which messages were written");
            put.restarted = Some(problem);
        }
    }
    stop::point("outbox.written");
    known.set(&head.reference, &reached.to_string());
    outbox.set_cursor(&right, &known)?;
    Ok(put)
}

/// Returns the commit up to which all is told on the branch: the one that is noted, or, for a branch that is new here, where it left
/// those that are known.
fn begin(workspace: &Workspace, known: &Cursor, head: &Head, newest: CommitId) -> Result<Option<CommitId>, OpsError> {
    if let Some(last) = known.commit(&head.reference).and_then(|text| text.parse().ok()) {
        return Ok(Some(last));
    }
    let others = known.commits().filter_map(|text| text.parse().ok());
    Ok(workspace.repository.newest_common(newest, others)?)
}

/// What commits tell.
struct Told {
    messages: BTreeMap<ChannelKey, Vec<Waiting>>,
    /// The commit up to which that is all.
    reached: CommitId,
    /// How many commits that are.
    commits: usize,
}

impl Told {
    /// Returns what is to be told of the commits since the last one (behind `before` others), or of the first of them; nothing where history does not lead
    /// there any more.
    fn since(
        workspace: &Workspace,
        rules: &Rules,
        head: &Head,
        (last, newest): (CommitId, CommitId),
        before: usize,
    ) -> Result<Option<Self>, OpsError> {
        let repository = &workspace.repository;
        if !repository.has_commit(last) {
            return Ok(None);
        }
        let (Some(mut added), Some(gone)) =
            (repository.added_since(last, newest)?, repository.added_since(newest, last)?)
        else {
            return Ok(None);
        };
        // A commit in the middle can stand for what was told only where the branch simply grew; elsewhere all is told in one go.
        let oldest = added.first().map(|oldest| repository.log_entry(*oldest)).transpose()?;
        if gone.is_empty() && oldest.is_some_and(|oldest| oldest.parents.first() == Some(&last)) {
            added.truncate(MOST_COMMITS);
        }
        // A rebase makes the same changes again.
        let mut known = Vec::new();
        for gone in gone {
            known.extend(repository.changed_files(gone)?);
        }
        let reached = added.last().copied().unwrap_or(newest);
        let mut told = Self { messages: BTreeMap::new(), reached, commits: added.len() };
        for (number, commit) in added.into_iter().enumerate() {
            for (key, messages) in of_commit(workspace, rules, head, (before + number, commit), last, &known)? {
                told.messages.entry(key).or_default().extend(messages);
            }
        }
        Ok(Some(told))
    }
}

/// Returns the messages about one commit; nothing is said of changes that are known, and of what was there at the last one.
fn of_commit(
    workspace: &Workspace,
    rules: &Rules,
    head: &Head,
    (number, commit): (usize, CommitId),
    last: CommitId,
    known: &[ChangedFile],
) -> Result<BTreeMap<ChannelKey, Vec<Waiting>>, OpsError> {
    let entry = workspace.repository.log_entry(commit)?;
    let changed = brought(workspace, &entry, last)?;
    let mut said = Vec::new();
    if changed.iter().any(|file| RuleFile::of(&file.path).is_some()) {
        said.extend(of_rules(workspace, &entry, number)?);
    }
    let tasks = of_tasks(changed.into_iter().filter(|file| !known.contains(file)));
    if !tasks.is_empty() {
        let then = rules_of(workspace, head, &entry);
        for (id, before, after) in tasks {
            let rules = then.as_deref().unwrap_or(rules);
            said.extend(of_task(workspace, rules, (number, &entry), &id, (before, after))?);
        }
    }
    Ok(compose(workspace, rules, &said))
}

/// Returns the files that a commit changed. What a merge takes over from us, seen from the other side, is new to them and not to us.
fn brought(workspace: &Workspace, entry: &LogEntry, last: CommitId) -> Result<Vec<ChangedFile>, OpsError> {
    let repository = &workspace.repository;
    let mut changed = repository.changed_files(entry.id)?;
    let mut ours = vec![last];
    for parent in entry.parents.iter().skip(1) {
        if repository.led_to(*parent, last)? {
            ours.push(*parent);
        }
    }
    if entry.parents.len() > 1 {
        for own in ours {
            let mut brought = Vec::new();
            for file in changed {
                if file.after.is_none() || repository.blob_id(own, &file.path)? != file.after {
                    brought.push(file);
                }
            }
            changed = brought;
        }
    }
    Ok(changed)
}

/// Returns the rules that decided what the commit says: those of its parent.
fn rules_of(workspace: &Workspace, head: &Head, entry: &LogEntry) -> Option<Rc<Rules>> {
    let under = |commit| {
        let then = Head { reference: head.reference.clone(), commit: Some(commit) };
        in_force(workspace, &then).ok().map(|in_force| in_force.rules)
    };
    entry.parents.first().and_then(|parent| under(*parent)).or_else(|| under(entry.id))
}

fn of_rules(workspace: &Workspace, entry: &LogEntry, number: usize) -> Result<Option<Said>, OpsError> {
    let wrong = check_committed(&workspace.repository, entry.id)?;
    let wrong: Vec<_> = wrong.into_iter().filter(|one| one.severity == crate::model::Severity::Error).collect();
    let Some(first) = wrong.first() else { return Ok(None) };
    let commit = entry.id.to_string()[..7].to_owned();
    let problem = format!("{}:{}:{}: {}", first.file, first.line, first.column, first.message);
    Ok(Some(Said {
        mark: format!("rules {}", entry.id),
        at: entry.committed,
        later: number,
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
    (number, entry): (usize, &LogEntry),
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
        later: number,
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
