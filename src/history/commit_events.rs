//! The events of one commit: of the rules, and of each task whose file it changed.

use std::rc::Rc;

use super::commit_tasks::{
    ChangedTask, KnownRules, TaskChanges, TaskFileVersion, changed_tasks, touches_rules,
};
use super::unreported::UnreportedCommits;
use super::verify::commit_reader::CommitReader;
use crate::domain::{AgentId, ChangeEvents, Event, Severity, Task, TaskId, Timestamp};
use crate::git::log::trailers;
use crate::git::{CommitId, LogEntry};
use crate::project::error::ProjectError;
use crate::project::rule_files::check_committed;
use crate::project::workspace::Workspace;
use crate::rules::replay::merge::{Superseded, with_people_of};
use crate::rules::{Rules, events};

/// The number of earlier versions of a file that are tried to find a readable one.
const LOOK_BACK: usize = 100;

/// Derives the events of commits, one after the other.
pub(crate) struct EventDeriver<'w> {
    workspace: &'w Workspace,
    reader: CommitReader<'w>,
    /// The rules under commits that the branch has lost.
    lost_rules: KnownRules,
}

/// The events of a commit.
pub(crate) struct CommitEvents {
    pub committed: Timestamp,
    pub happened: Vec<ChangeEvents>,
}

impl<'w> EventDeriver<'w> {
    pub(crate) fn new(workspace: &'w Workspace) -> Self {
        let (reader, lost_rules) = (CommitReader::new(workspace), KnownRules::default());
        Self { workspace, reader, lost_rules }
    }

    /// Returns the events of a commit; `number` sorts them behind those of earlier commits.
    pub(crate) fn events(
        &mut self,
        news: &UnreportedCommits,
        commit: CommitId,
        number: usize,
    ) -> Result<CommitEvents, ProjectError> {
        let entry = self.workspace.repository.log_entry(commit)?;
        let changed = self.workspace.repository.changed_files(commit)?;
        // Rules whose change was already reported have changed as well.
        let keeps_rules = !touches_rules(&changed);
        let changed = news.new_changes(&self.workspace.repository, &entry, changed)?;
        let touches_rules = touches_rules(&changed);
        let tasks = changed_tasks(&changed);
        let mut derived = CommitEvents { committed: entry.committed, happened: Vec::new() };
        if touches_rules || !tasks.is_empty() {
            let rules = self.reader.rules(&entry)?;
            if touches_rules {
                derived.happened.extend(self.of_rules(&rules, &entry, number)?);
            }
            for (id, files) in tasks {
                derived.happened.extend(self.of_task(
                    news,
                    &rules,
                    (&entry, number),
                    &id,
                    files,
                )?);
            }
        }
        derived.happened.extend(self.of_merge(&entry, number)?);
        if keeps_rules {
            self.reader.keep_rules(&entry);
        }
        Ok(derived)
    }

    /// Returns the entries that a merge superseded. If our file is unchanged, only the merged commits show them.
    fn of_merge(
        &mut self,
        entry: &LogEntry,
        number: usize,
    ) -> Result<Vec<ChangeEvents>, ProjectError> {
        let [ours, theirs] = entry.parents[..] else { return Ok(Vec::new()) };
        let repository = &self.workspace.repository;
        if !repository.has_commit(ours) || !repository.has_commit(theirs) {
            return Ok(Vec::new());
        }
        let Some(base) = repository.merge_bases(ours, theirs)?.first().copied() else {
            return Ok(Vec::new());
        };
        let rules = self.reader.rules(entry)?;
        let changes = TaskChanges::since(self.workspace, base, (ours, theirs))?;
        let pairs = self.reader.pairs(entry, &changes)?;
        let mut happened = Vec::new();
        for pair in pairs.values() {
            let Some(merged) = pair.merged(&rules, &pair.ours) else { continue };
            let task = Rc::new(merged.task);
            for Superseded { ticket, visit, by } in merged.superseded {
                let completion = visit.completion.as_ref().map(|stamp| stamp.id.to_string());
                let entry_key = completion.unwrap_or_else(|| visit.exited.to_string());
                happened.push(ChangeEvents {
                    mark: format!("superseded {ticket} {entry_key}"),
                    at: entry.committed,
                    later: number,
                    project: rules.project.name.clone(),
                    task: Some(Rc::clone(&task)),
                    events: vec![Event::Superseded { ticket, visit: Box::new(visit), by }],
                });
            }
        }
        Ok(happened)
    }

    fn of_rules(
        &self,
        rules: &Rules,
        entry: &LogEntry,
        number: usize,
    ) -> Result<Option<ChangeEvents>, ProjectError> {
        let wrong = check_committed(&self.workspace.repository, entry.id)?;
        let wrong: Vec<_> =
            wrong.into_iter().filter(|one| one.severity == Severity::Error).collect();
        let Some(first) = wrong.first() else { return Ok(None) };
        let commit = entry.id.to_string()[..7].to_owned();
        let problem = format!("{}:{}:{}: {}", first.file, first.line, first.column, first.message);
        Ok(Some(ChangeEvents {
            mark: format!("rules {}", entry.id),
            at: entry.committed,
            later: number,
            project: rules.project.name.clone(),
            task: None,
            events: vec![Event::RulesInvalid { commit, error: problem, count: wrong.len() }],
        }))
    }

    fn of_task(
        &mut self,
        news: &UnreportedCommits,
        rules: &Rules,
        (entry, number): (&LogEntry, usize),
        id: &TaskId,
        files: ChangedTask,
    ) -> Result<Option<ChangeEvents>, ProjectError> {
        let (old, new) = (files.before.into_iter().next(), files.after.into_iter().next());
        let old_content = old.as_ref().map(|(_, content)| *content);
        let Some((path, new)) = new.filter(|(_, new)| old_content != Some(*new)) else {
            return Ok(None);
        };
        let before = match &old {
            Some(version) => self.before(rules, entry, id, version)?,
            None => None,
        };
        // Nothing is known of an unreadable file, for example during a person's edit.
        let Some(after) = self.reader.read(rules, entry, id, new)? else { return Ok(None) };
        let (mut before, mut events) = (before, Vec::new());
        let first = self.reported_by_rebased(news, entry, id)?;
        let reported = match &first[..] {
            [] => {
                self.reported_state(news, rules, entry, (id, &path), before.as_deref(), &after)?
            }
            _ => None,
        };
        if let Some(reported) = reported {
            let is_edit = before.is_none_or(|before| with_people_of(&before, &after) != *before);
            events.extend(crate::rules::events(rules, Some(&reported), &after));
            // An edit that was not reported was made by this commit, or otherwise by its other parent.
            events.retain(|event| is_edit || !matches!(event, Event::Edited { .. }));
            before = Some(reported);
            if events.is_empty() {
                return Ok(None);
            }
            refine_by_message(&mut events, entry, old.is_some());
        } else {
            events.extend(events_of_commit(rules, entry, before.as_deref(), &after, old.is_some()));
            events.retain(|event| !first.contains(event));
            if events.is_empty() && !first.is_empty() {
                return Ok(None);
            }
        }
        // If the task was set back to an older state, its own time is not the time of the change.
        let engine = before.as_ref().is_none_or(|task| task.updated < after.updated);
        Ok(Some(ChangeEvents {
            mark: format!(
                "{id} {} {new}",
                old_content.map(|old| old.to_string()).unwrap_or_default()
            ),
            at: if engine { after.updated } else { entry.authored },
            later: number,
            project: rules.project.name.clone(),
            task: Some(after),
            events,
        }))
    }

    /// Returns the furthest state between `before` and `after` that was reported on another branch, for squashed or merged changes.
    fn reported_state(
        &mut self,
        news: &UnreportedCommits,
        rules: &Rules,
        entry: &LogEntry,
        (id, path): (&TaskId, &str),
        before: Option<&Task>,
        after: &Task,
    ) -> Result<Option<Rc<Task>>, ProjectError> {
        let mut furthest = before.map_or(0, |task| task.history.len());
        let mut found = None;
        if after.history.len() <= furthest {
            return Ok(found);
        }
        for tip in news.reported() {
            let Some(content) = self.workspace.repository.blob_id(*tip, path)? else { continue };
            let Some(task) = self.reader.read(rules, entry, id, content)? else { continue };
            if task.history.len() > furthest && after.history.starts_with(&task.history) {
                furthest = task.history.len();
                found = Some(task);
            }
        }
        Ok(found)
    }

    /// Returns the task before the commit; for an unreadable file, its newest readable version.
    fn before(
        &mut self,
        rules: &Rules,
        entry: &LogEntry,
        id: &TaskId,
        (path, content): &TaskFileVersion,
    ) -> Result<Option<Rc<Task>>, ProjectError> {
        if let Some(task) = self.reader.read(rules, entry, id, *content)? {
            return Ok(Some(task));
        }
        let repository = &self.workspace.repository;
        let Some(parent) = entry.parents.first() else { return Ok(None) };
        for earlier in repository.log_of(*parent, &[path])?.take(LOOK_BACK) {
            if let Some(content) = repository.blob_id(earlier?.id, path)?
                && let Some(task) = self.reader.read(rules, entry, id, content)?
            {
                return Ok(Some(task));
            }
        }
        Ok(None)
    }

    /// Returns the events of a task that were reported before a rebase repeated this commit. They are the same acts, even if they now
    /// lead to another state.
    fn reported_by_rebased(
        &mut self,
        news: &UnreportedCommits,
        entry: &LogEntry,
        id: &TaskId,
    ) -> Result<Vec<Event>, ProjectError> {
        let mut events = Vec::new();
        for lost in news.rebased_from(entry) {
            events.extend(self.events_of_lost(*lost, id)?);
        }
        Ok(events)
    }

    fn events_of_lost(
        &mut self,
        commit: CommitId,
        id: &TaskId,
    ) -> Result<Vec<Event>, ProjectError> {
        let repository = &self.workspace.repository;
        let Some(files) = changed_tasks(&repository.changed_files(commit)?).remove(id) else {
            return Ok(Vec::new());
        };
        let Some((_, new)) = files.after.first() else { return Ok(Vec::new()) };
        let old = files.before.first();
        if old.is_some_and(|(_, content)| content == new) {
            return Ok(Vec::new());
        }
        let entry = repository.log_entry(commit)?;
        let rules = self.lost_rules.behind(self.workspace, &entry)?;
        let before = match old {
            Some(version) => self.before(&rules, &entry, id, version)?,
            None => None,
        };
        let after = self.reader.read(&rules, &entry, id, *new)?;
        Ok(after.map_or_else(Vec::new, |after| {
            events_of_commit(&rules, &entry, before.as_deref(), &after, old.is_some())
        }))
    }
}

/// Returns the events between two states of a task, with the additions of the commit message.
fn events_of_commit(
    rules: &Rules,
    entry: &LogEntry,
    before: Option<&Task>,
    after: &Task,
    known: bool,
) -> Vec<Event> {
    let mut events = events(rules, before, after);
    refine_by_message(&mut events, entry, known);
    events
}

/// Adds the facts that only the commit message has: the author of a comment or an edit, or a person who assigned a claim.
fn refine_by_message(events: &mut Vec<Event>, entry: &LogEntry, known: bool) {
    let trailers = trailers::parse(&entry.message);
    let trailer =
        |key: &str| trailers.iter().find(|one| one.key() == key).map(|one| one.value().to_owned());
    let word = trailer("Aof-Event").unwrap_or_default();
    let is_by_command = entry.message.lines().next().is_some_and(|line| line.ends_with(": edited"));
    // The restored act was reported when it was done.
    if word == "restored" && known {
        *events = vec![Event::Restored];
        return;
    }
    // Without other events, the commit changed the task's text.
    if events.is_empty() && known {
        events.push(Event::Edited { by: None });
    }
    for event in events {
        let refined = match (&*event, word.as_str()) {
            (Event::Claimed { gate: at, agent }, "assigned") => {
                Event::Assigned { gate: at.clone(), agent: agent.clone() }
            }
            (Event::Created { to_gate: gate }, "adopted") => {
                Event::Adopted { to_gate: gate.clone() }
            }
            (Event::Edited { .. }, "edited") if is_by_command => {
                Event::Edited { by: Some(entry.author.name().to_owned()) }
            }
            (Event::Edited { .. }, "commented") => Event::Commented {
                agent: trailer("Aof-Agent").and_then(|id| id.parse::<AgentId>().ok()),
                comment: body(&entry.message),
            },
            (Event::Renewed { gate: at, agent, .. }, _) => Event::Renewed {
                gate: at.clone(),
                agent: agent.clone(),
                note: body(&entry.message),
            },
            _ => continue,
        };
        *event = refined;
    }
}

/// Returns the text between the first line of a message and its trailers.
fn body(message: &str) -> String {
    let rest = message.split_once("\n\n").map_or("", |(_, rest)| rest);
    rest.trim_end().rsplit_once("\n\n").map(|(body, _)| body.trim().to_owned()).unwrap_or_default()
}
