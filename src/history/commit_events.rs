//! The events of one commit: of the rules, and of each task whose file it changed.

use std::rc::Rc;

use super::commit_tasks::{KnownRules, KnownTasks, TaskChanges, TaskFileVersion, Touched, touched};
use super::unreported::UnreportedCommits;
use crate::domain::{AgentId, ChangeEvents, Event, Severity, Task, TaskId, Timestamp};
use crate::files::config::configuration::RuleFile;
use crate::git::log::trailers;
use crate::git::{ChangedFile, CommitId, LogEntry, ObjectId};
use crate::project::error::ProjectError;
use crate::project::rule_files::check_committed;
use crate::project::workspace::Workspace;
use crate::rules::merge::{Superseded, with_people_of};
use crate::rules::{Rules, events};

/// How many earlier versions of a file are tried for one that can be read.
const LOOK_BACK: usize = 100;

/// Derives the events of commits, one after the other.
pub(crate) struct EventDeriver<'w> {
    workspace: &'w Workspace,
    rules: KnownRules,
    tasks: KnownTasks,
    /// The rules under commits that are gone.
    rules_of_gone: KnownRules,
}

/// The events of a commit.
pub(crate) struct CommitEvents {
    /// When it was made.
    pub committed: Timestamp,
    /// What happened in it.
    pub happened: Vec<ChangeEvents>,
}

impl<'w> EventDeriver<'w> {
    pub(crate) fn new(workspace: &'w Workspace) -> Self {
        let (rules, rules_of_gone) = (KnownRules::default(), KnownRules::default());
        Self { workspace, rules, tasks: KnownTasks::default(), rules_of_gone }
    }

    /// Returns the events of a commit; `number` sorts them behind those of earlier commits.
    pub(crate) fn of(
        &mut self,
        news: &UnreportedCommits,
        commit: CommitId,
        number: usize,
    ) -> Result<CommitEvents, ProjectError> {
        let entry = self.workspace.repository.log_entry(commit)?;
        let changed = self.workspace.repository.changed_files(commit)?;
        // A change of rules that was reported already changes them all the same.
        let keeps_rules = !touches_rules(&changed);
        let changed = news.new_changes(&self.workspace.repository, &entry, changed)?;
        let touches_rules = touches_rules(&changed);
        let tasks = touched(&changed);
        let mut told = CommitEvents { committed: entry.committed, happened: Vec::new() };
        if touches_rules || !tasks.is_empty() {
            let rules = self.rules.behind(self.workspace, &entry)?;
            if touches_rules {
                told.happened.extend(self.of_rules(&rules, &entry, number)?);
            }
            for (id, files) in tasks {
                told.happened.extend(self.of_task(news, &rules, (&entry, number), &id, files)?);
            }
        }
        told.happened.extend(self.of_merge(&entry, number)?);
        if keeps_rules {
            self.rules.are_kept_by(&entry);
        }
        Ok(told)
    }

    /// Returns what a merge superseded. Where ours stands to the byte, only the commits that it joins show that.
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
        let rules = self.rules.behind(self.workspace, entry)?;
        let changes = TaskChanges::since(self.workspace, base, (ours, theirs))?;
        let pairs = changes.pairs(self.workspace, &rules, &mut self.tasks, entry.committed)?;
        let mut happened = Vec::new();
        for pair in pairs.values() {
            let Some(merged) = pair.merged(&rules, &pair.ours) else { continue };
            let task = Rc::new(merged.task);
            for Superseded { ticket, visit, by } in merged.superseded {
                let events_of_commit = visit
                    .completion
                    .as_ref()
                    .map_or_else(|| visit.exited.to_string(), |stamp| stamp.id.to_string());
                happened.push(ChangeEvents {
                    mark: format!("superseded {ticket} {events_of_commit}"),
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
        files: Touched,
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
        // What cannot be read is somebody's work in progress; nothing is known of it.
        let Some(after) = self.read(rules, entry, id, new)? else { return Ok(None) };
        let (mut before, mut events) = (before, Vec::new());
        let first = self.reported_by_rebased(news, entry, id)?;
        let told = match &first[..] {
            [] => {
                self.reported_state(news, rules, entry, (id, &path), before.as_deref(), &after)?
            }
            _ => None,
        };
        if let Some(told) = told {
            let is_edit = before.is_none_or(|before| with_people_of(&before, &after) != *before);
            events.extend(crate::rules::events(rules, Some(&told), &after));
            // An edit that was not reported comes from this commit, or else from its other parent.
            events.retain(|event| is_edit || *event != Event::Edited);
            before = Some(told);
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
        // The time in an older state is not when the task was set back to it.
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

    /// Returns the task as it was when another branch was reported, if that is on the way to `after`, and further than `before`: squashed
    /// or merged changes were reported there.
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
            let Some(task) = self.read(rules, entry, id, content)? else { continue };
            if task.history.len() > furthest && after.history.starts_with(&task.history) {
                furthest = task.history.len();
                found = Some(task);
            }
        }
        Ok(found)
    }

    fn read(
        &mut self,
        rules: &Rules,
        entry: &LogEntry,
        id: &TaskId,
        version: ObjectId,
    ) -> Result<Option<Rc<Task>>, ProjectError> {
        self.tasks.read(self.workspace, (id, version), rules, entry.committed)
    }

    /// Returns the task as it was before; of an unreadable file, its newest readable version.
    fn before(
        &mut self,
        rules: &Rules,
        entry: &LogEntry,
        id: &TaskId,
        (path, content): &TaskFileVersion,
    ) -> Result<Option<Rc<Task>>, ProjectError> {
        if let Some(task) = self.read(rules, entry, id, *content)? {
            return Ok(Some(task));
        }
        let repository = &self.workspace.repository;
        let Some(parent) = entry.parents.first() else { return Ok(None) };
        for earlier in repository.log_of(*parent, &[path])?.take(LOOK_BACK) {
            if let Some(content) = repository.blob_id(earlier?.id, path)?
                && let Some(task) = self.read(rules, entry, id, content)?
            {
                return Ok(Some(task));
            }
        }
        Ok(None)
    }

    /// Returns the events that were reported of a task before a rebase made this commit again: the same act may lead to another state
    /// there, and is still the same act.
    fn reported_by_rebased(
        &mut self,
        news: &UnreportedCommits,
        entry: &LogEntry,
        id: &TaskId,
    ) -> Result<Vec<Event>, ProjectError> {
        let mut told = Vec::new();
        for gone in news.rebased_from(entry) {
            told.extend(self.events_of_lost(*gone, id)?);
        }
        Ok(told)
    }

    fn events_of_lost(
        &mut self,
        commit: CommitId,
        id: &TaskId,
    ) -> Result<Vec<Event>, ProjectError> {
        let repository = &self.workspace.repository;
        let Some(files) = touched(&repository.changed_files(commit)?).remove(id) else {
            return Ok(Vec::new());
        };
        let Some((_, new)) = files.after.first() else { return Ok(Vec::new()) };
        let old = files.before.first();
        if old.is_some_and(|(_, content)| content == new) {
            return Ok(Vec::new());
        }
        let entry = repository.log_entry(commit)?;
        let rules = self.rules_of_gone.behind(self.workspace, &entry)?;
        let before = match old {
            Some(version) => self.before(&rules, &entry, id, version)?,
            None => None,
        };
        let after = self.read(&rules, &entry, id, *new)?;
        Ok(after.map_or_else(Vec::new, |after| {
            events_of_commit(&rules, &entry, before.as_deref(), &after, old.is_some())
        }))
    }
}

fn touches_rules(changed: &[ChangedFile]) -> bool {
    changed.iter().any(|file| RuleFile::of(&file.path).is_some())
}

/// Returns the events of a task that a commit brought from one state to the other.
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

/// Adds what only the message of the commit says: who wrote a comment, that a person assigned a claim.
fn refine_by_message(events: &mut Vec<Event>, entry: &LogEntry, known: bool) {
    let trailers = trailers::parse(&entry.message);
    let trailer =
        |key: &str| trailers.iter().find(|one| one.key() == key).map(|one| one.value().to_owned());
    let word = trailer("Aof-Event").unwrap_or_default();
    // The act itself was reported when it was done.
    if word == "restored" && known {
        *events = vec![Event::Restored];
        return;
    }
    // What is in a file beside the task is its text.
    if events.is_empty() && known {
        events.push(Event::Edited);
    }
    for event in events {
        let events_of_commit = match (&*event, word.as_str()) {
            (Event::Claimed { gate: at, agent }, "assigned") => {
                Event::Assigned { gate: at.clone(), agent: agent.clone() }
            }
            (Event::Created { to_gate: gate }, "adopted") => {
                Event::Adopted { to_gate: gate.clone() }
            }
            (Event::Edited, "commented") => Event::Commented {
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
        *event = events_of_commit;
    }
}

/// Returns what stands between the first line of a message and its trailers.
fn body(message: &str) -> String {
    let rest = message.split_once("\n\n").map_or("", |(_, rest)| rest);
    rest.trim_end().rsplit_once("\n\n").map(|(body, _)| body.trim().to_owned()).unwrap_or_default()
}
