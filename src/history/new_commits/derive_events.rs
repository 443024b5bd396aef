//! What one commit says happened: to the rules, and to each task whose file it changed.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::unreported::News;
use crate::domain::{AgentId, ChangeEvents, Event, Severity, Task, TaskId, Timestamp};
use crate::files::config::configuration::Subject as RuleFile;
use crate::git::log::trailers;
use crate::git::{ChangedFile, CommitId, LogEntry, ObjectId};
use crate::history::merge::task_pairs::Changes;
use crate::history::task_reader::{KnownRules, KnownTasks};
use crate::project::error::error::OpsError;
use crate::project::rule_check::check_committed;
use crate::project::workspace::Workspace;
use crate::rules::merge::{Superseded, with_people_of};
use crate::rules::{Rules, events};
use crate::storage::layout;

/// How many earlier versions of a file are looked at for one that can be read.
const LOOK_BACK: usize = 100;

/// Tells of commits, one after the other.
pub(crate) struct Telling<'w> {
    workspace: &'w Workspace,
    rules: KnownRules,
    tasks: KnownTasks,
    /// The rules under commits that are gone.
    rules_of_gone: KnownRules,
}

/// What a commit says.
pub(crate) struct Told {
    /// When it was made.
    pub committed: Timestamp,
    /// What happened in it.
    pub happened: Vec<ChangeEvents>,
}

/// A version of a file: where it stands, and its content.
pub(crate) type Version = (String, ObjectId);

/// A task whose file was changed: what the file was and is.
pub(crate) type Changed = (TaskId, Option<Version>, Option<Version>);

impl<'w> Telling<'w> {
    /// Begins.
    pub(crate) fn new(workspace: &'w Workspace) -> Self {
        let (rules, rules_of_gone) = (KnownRules::default(), KnownRules::default());
        Self { workspace, rules, tasks: KnownTasks::default(), rules_of_gone }
    }

    /// Returns what a commit says happened; `number` sorts it behind those before it.
    pub(crate) fn of(
        &mut self,
        news: &News,
        commit: CommitId,
        number: usize,
    ) -> Result<Told, OpsError> {
        let entry = self.workspace.repository.log_entry(commit)?;
        let changed = self.workspace.repository.changed_files(commit)?;
        // Rules that were told of already are other rules all the same.
        let keeps_rules = !touches_rules(&changed);
        let changed = news.brought(&self.workspace.repository, &entry, changed)?;
        let touches_rules = touches_rules(&changed);
        let tasks = of_tasks(changed);
        let mut told = Told { committed: entry.committed, happened: Vec::new() };
        if touches_rules || !tasks.is_empty() {
            let rules = self.rules.behind(self.workspace, &entry)?;
            if touches_rules {
                told.happened.extend(self.of_rules(&rules, &entry, number)?);
            }
            for changed in tasks {
                told.happened.extend(self.of_task(news, &rules, (&entry, number), changed)?);
            }
        }
        told.happened.extend(self.of_merge(&entry, number)?);
        if keeps_rules {
            self.rules.are_kept_by(&entry);
        }
        Ok(told)
    }

    /// Tells what a merge superseded. Its files do not say so where ours stands to the byte; the commits that it joins do.
    fn of_merge(&mut self, entry: &LogEntry, number: usize) -> Result<Vec<ChangeEvents>, OpsError> {
        let [ours, theirs] = entry.parents[..] else { return Ok(Vec::new()) };
        let repository = &self.workspace.repository;
        if !repository.has_commit(ours) || !repository.has_commit(theirs) {
            return Ok(Vec::new());
        }
        let Some(base) = repository.merge_bases(ours, theirs)?.first().copied() else {
            return Ok(Vec::new());
        };
        let rules = self.rules.behind(self.workspace, entry)?;
        let changes = Changes::since(self.workspace, base, (ours, theirs))?;
        let pairs = changes.pairs(self.workspace, &rules, &mut self.tasks, entry.committed)?;
        let mut happened = Vec::new();
        for pair in pairs.values() {
            let Some(merged) = pair.merged(&rules, &pair.ours) else { continue };
            let task = Rc::new(merged.task);
            for Superseded { ticket, visit, by } in merged.superseded {
                let said = visit
                    .completion
                    .as_ref()
                    .map_or_else(|| visit.exited.to_string(), |stamp| stamp.id.to_string());
                happened.push(ChangeEvents {
                    mark: format!("superseded {ticket} {said}"),
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
    ) -> Result<Option<ChangeEvents>, OpsError> {
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
        news: &News,
        rules: &Rules,
        (entry, number): (&LogEntry, usize),
        (id, old, new): Changed,
    ) -> Result<Option<ChangeEvents>, OpsError> {
        let old_content = old.as_ref().map(|(_, content)| *content);
        let Some((path, new)) = new.filter(|(_, new)| old_content != Some(*new)) else {
            return Ok(None);
        };
        let before = match &old {
            Some(version) => self.before(rules, entry, &id, version)?,
            None => None,
        };
        // What cannot be read is somebody's work in progress; nothing is known of it.
        let Some(after) = self.tasks.read(self.workspace, (&id, new), rules, entry.committed)?
        else {
            return Ok(None);
        };
        let (mut before, mut events) = (before, Vec::new());
        let first = self.told_first(news, entry, &id)?;
        let told = match &first[..] {
            [] => self.told(news, rules, entry, (&id, &path), before.as_deref(), &after)?,
            _ => None,
        };
        if let Some(told) = told {
            let is_edit = before.is_none_or(|before| with_people_of(&before, &after) != *before);
            events.extend(crate::rules::events::derive::events(rules, Some(&told), &after));
            // What others told of does not have it; where this commit does not bring it either, its other parent does.
            events.retain(|event| is_edit || *event != Event::Edited);
            before = Some(told);
            if events.is_empty() {
                return Ok(None);
            }
            refine(&mut events, entry, old.is_some());
        } else {
            events.extend(said(rules, entry, before.as_deref(), &after, old.is_some()));
            events.retain(|event| !first.contains(event));
            if events.is_empty() && !first.is_empty() {
                return Ok(None);
            }
        }
        // An older state is not when it was taken back to it.
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

    /// Returns the task as it was when all was told of another branch, if that is on the way to `after`, and further than `before`: what
    /// was squashed, or merged with other changes, was told there.
    fn told(
        &mut self,
        news: &News,
        rules: &Rules,
        entry: &LogEntry,
        (id, path): (&TaskId, &str),
        before: Option<&Task>,
        after: &Task,
    ) -> Result<Option<Rc<Task>>, OpsError> {
        let mut furthest = before.map_or(0, |task| task.history.len());
        let mut found = None;
        if after.history.len() <= furthest {
            return Ok(found);
        }
        for tip in news.told() {
            let Some(content) = self.workspace.repository.blob_id(*tip, path)? else { continue };
            let Some(task) =
                self.tasks.read(self.workspace, (id, content), rules, entry.committed)?
            else {
                continue;
            };
            if task.history.len() > furthest && after.history.starts_with(&task.history) {
                furthest = task.history.len();
                found = Some(task);
            }
        }
        Ok(found)
    }

    /// Returns the task as it was before: of a file that could not be read, as it was when it could.
    fn before(
        &mut self,
        rules: &Rules,
        entry: &LogEntry,
        id: &TaskId,
        (path, content): &Version,
    ) -> Result<Option<Rc<Task>>, OpsError> {
        let repository = &self.workspace.repository;
        if let Some(task) =
            self.tasks.read(self.workspace, (id, *content), rules, entry.committed)?
        {
            return Ok(Some(task));
        }
        let Some(parent) = entry.parents.first() else { return Ok(None) };
        for earlier in repository.log_of(*parent, &[path])?.take(LOOK_BACK) {
            if let Some(content) = repository.blob_id(earlier?.id, path)?
                && let Some(task) =
                    self.tasks.read(self.workspace, (id, content), rules, entry.committed)?
            {
                return Ok(Some(task));
            }
        }
        Ok(None)
    }

    /// Returns what was told of a task before a rebase made this commit again: the same act may lead to another state there, and is still
    /// the same act.
    fn told_first(
        &mut self,
        news: &News,
        entry: &LogEntry,
        id: &TaskId,
    ) -> Result<Vec<Event>, OpsError> {
        let mut told = Vec::new();
        for gone in news.made_first(entry) {
            told.extend(self.told_of_gone(*gone, id)?);
        }
        Ok(told)
    }

    fn told_of_gone(&mut self, commit: CommitId, id: &TaskId) -> Result<Vec<Event>, OpsError> {
        let repository = &self.workspace.repository;
        let changed =
            of_tasks(repository.changed_files(commit)?).into_iter().find(|(own, ..)| own == id);
        let Some((_, old, Some((_, new)))) = changed else { return Ok(Vec::new()) };
        if old.as_ref().is_some_and(|(_, content)| *content == new) {
            return Ok(Vec::new());
        }
        let entry = repository.log_entry(commit)?;
        let rules = self.rules_of_gone.behind(self.workspace, &entry)?;
        let before = match &old {
            Some(version) => self.before(&rules, &entry, id, version)?,
            None => None,
        };
        let after = self.tasks.read(self.workspace, (id, new), &rules, entry.committed)?;
        Ok(after.map_or_else(Vec::new, |after| {
            said(&rules, &entry, before.as_deref(), &after, old.is_some())
        }))
    }
}

fn touches_rules(changed: &[ChangedFile]) -> bool {
    changed.iter().any(|file| RuleFile::of(&file.path).is_some())
}

/// Returns the tasks among the files; one that moved is gone in one place and new in another.
fn of_tasks(changed: Vec<ChangedFile>) -> Vec<Changed> {
    let mut tasks: BTreeMap<TaskId, (Option<Version>, Option<Version>)> = BTreeMap::new();
    for file in changed.into_iter().filter(|file| file.path.starts_with("tasks/")) {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        if let Some(Ok(id)) = layout::task_id(name) {
            let (before, after) = tasks.entry(id).or_default();
            *after =
                after.take().or_else(|| file.after.map(|content| (file.path.clone(), content)));
            *before = before.take().or_else(|| file.before.map(|content| (file.path, content)));
        }
    }
    tasks.into_iter().map(|(id, (before, after))| (id, before, after)).collect()
}

/// Returns what a commit says of a task that it brought from one state to the other.
fn said(
    rules: &Rules,
    entry: &LogEntry,
    before: Option<&Task>,
    after: &Task,
    known: bool,
) -> Vec<Event> {
    let mut events = events(rules, before, after);
    refine(&mut events, entry, known);
    events
}

/// Makes of what the states tell what the commit says of it besides: who wrote a comment, that a claim was a person's doing.
fn refine(events: &mut Vec<Event>, entry: &LogEntry, known: bool) {
    let trailers = trailers::parse(&entry.message);
    let trailer =
        |key: &str| trailers.iter().find(|one| one.key() == key).map(|one| one.value().to_owned());
    let word = trailer("Aof-Event").unwrap_or_default();
    // It was told when it was done.
    if word == "restored" && known {
        *events = vec![Event::Restored];
        return;
    }
    // What is in a file beside the task is its text.
    if events.is_empty() && known {
        events.push(Event::Edited);
    }
    for event in events {
        let said = match (&*event, word.as_str()) {
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
        *event = said;
    }
}

/// Returns what stands between the first line of a message and its trailers.
fn body(message: &str) -> String {
    let rest = message.split_once("\n\n").map_or("", |(_, rest)| rest);
    rest.trim_end().rsplit_once("\n\n").map(|(body, _)| body.trim().to_owned()).unwrap_or_default()
}
