//! One commit, judged by the one before it and by the rules that were in force there.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::claims::{Claims, named_task};
use super::finding::{Broken, Wrong};
use super::merge;
use super::proved::Proved;
use super::signed;
use super::text::short;
use crate::domain::ssh::trusted_keys::TrustedKeys;
use crate::domain::{Status, Task, TaskId, Timestamp};
use crate::files::config::config::Subject as RuleFile;
use crate::files::task_file;
use crate::files::task_file::Defaults;
use crate::git::log::trailers;
use crate::git::log::trailers::Trailer;
use crate::git::{ChangedFile, CommitId, LogEntry, ObjectId};
use crate::history::merge::commits::{Changes, Pair};
use crate::history::new_commits::known::{KnownRules, KnownTasks};
use crate::history::touched_tasks::{KnownFiles, Touched, Version, is_of_another_project, touched};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::{Proof, Rules, prove, rehashed};

/// How many earlier commits are looked at for a version of a file that can be read.
const LOOK_BACK: usize = 1_000;

/// What came of judging a commit.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// What is wrong.
    pub wrong: Vec<Wrong>,
    /// How many changes of tasks were judged.
    pub changes: usize,
    /// How many of them name the rules otherwise than they are named now.
    pub renamed: usize,
    /// The tasks that somebody who may moved against the workflow.
    pub overridden: Vec<TaskId>,
    /// The tasks that can be read again, and go on where they stood.
    pub mended: Vec<TaskId>,
}

/// Judges commits, one after the other.
pub(crate) struct Judge<'w> {
    pub(crate) workspace: &'w Workspace,
    /// The keys that are trusted from outside, if somebody says which.
    pub(crate) anchor: Option<&'w TrustedKeys>,
    rules: KnownRules,
    tasks: KnownTasks,
    pub(crate) files: KnownFiles,
}

impl<'w> Judge<'w> {
    pub(crate) fn new(workspace: &'w Workspace, anchor: Option<&'w TrustedKeys>) -> Self {
        Self {
            workspace,
            anchor,
            rules: KnownRules::default(),
            tasks: KnownTasks::default(),
            files: KnownFiles::default(),
        }
    }

    #[expect(clippy::too_many_lines, reason = "to be split by its steps")]
    pub(crate) fn of(&mut self, commit: CommitId) -> Result<Judged, OpsError> {
        let repository = &self.workspace.repository;
        let entry = repository.log_entry(commit)?;
        if entry.parents.len() > 1 {
            return merge::of(self, &entry);
        }
        let changed = &repository.changed_files(commit)?;
        let said = trailers::parse(&entry.message);
        let tasks = touched(changed);
        let mut judged =
            Judged { wrong: Claims::contradictions(&entry, &said), ..Judged::default() };
        if let Some(named) =
            named_task(&said).filter(|named| tasks.keys().all(|id| id.as_str() != *named))
            && !is_of_another_project(repository, &entry, named)?
        {
            let found = format!("a commit that does not touch it, with `Aof-Task: {named}`");
            let expected = format!("a change of {}", short(named));
            judged.wrong.push(Wrong::new(
                &entry,
                None,
                Broken::WrongTrailer,
                expected,
                short(&found),
            ));
        }
        if tasks.is_empty() {
            self.keep_rules(&entry, changed);
            return Ok(judged);
        }
        let rules = self.rules.behind(self.workspace, &entry)?;
        // Only what says that it is the engine's has to be alone; what people commit may be as large as they like.
        let is_said =
            named_task(&said).is_some_and(|named| tasks.keys().any(|id| id.as_str() == named));
        let besides = if is_said { repository.changed_besides(commit)? } else { None };
        for (id, mut own) in tasks {
            judged.changes += 1;
            if own.after.is_empty() {
                own.take_in(self.files.of(repository, commit, &id)?);
            }
            let (mut before, seen) = self.before(&rules, &entry, &id, &own.before)?;
            let Some((_, new)) = own.after.first() else {
                if let Some(before) = before.filter(|task| !is_new(task)) {
                    let expected = "a task stays, in `tasks/` or in its archive".to_owned();
                    let found = format!("it is gone, with {} entries", before.history.len());
                    judged.wrong.push(Wrong::new(
                        &entry,
                        Some(&id),
                        Broken::Removed,
                        expected,
                        found,
                    ));
                }
                continue;
            };
            if let Some((path, _)) = own.after.get(1) {
                let (expected, found) =
                    ("one file of a task".to_owned(), format!("`{}` and `{path}`", own.after[0].0));
                judged.wrong.push(Wrong::new(
                    &entry,
                    Some(&id),
                    Broken::Doubled,
                    expected,
                    short(&found),
                ));
                continue;
            }
            let Some(after) =
                self.tasks.read(self.workspace, (&id, *new), &rules, entry.committed)?
            else {
                // What nobody has taken up is whoever's wrote it.
                if before.is_none_or(|task| is_new(&task)) {
                    continue;
                }
                let found = "a file that cannot be read as a task".to_owned();
                judged.wrong.push(Wrong::new(
                    &entry,
                    Some(&id),
                    Broken::Unreadable,
                    "a task".to_owned(),
                    found,
                ));
                continue;
            };
            if let Seen::Merged(merge) = &seen {
                before = merge::stood(self, merge, &id, &after)?.or(before);
            }
            before = self.of_others((&rules, &entry, &said), &id, &own, &after)?.or(before);
            let known = before.as_ref().map_or(0, |task| task.history.len());
            judged.wrong.extend(signed::of_entries(
                self.anchor,
                (&rules, &entry),
                &id,
                &after,
                known..after.history.len(),
            ));
            let Proved { proof, is_renamed } =
                self.proved(&rules, (before.as_deref(), &own.before), (&id, &after))?;
            judged.renamed += usize::from(is_renamed);
            if is_new(&after)
                && before.as_ref().is_none_or(|task| is_new(task))
                && let Some(found) = self.said_by_hand(&rules, &id, &own.before, *new)?
            {
                let expected = "a task that the engine finished, with its entries".to_owned();
                judged.wrong.push(Wrong::new(
                    &entry,
                    Some(&id),
                    Broken::SaidByHand,
                    expected,
                    found,
                ));
            }
            if !matches!(seen, Seen::Last) && before.is_some() && !matches!(proof, Proof::Breach(_))
            {
                judged.mended.push(id.clone());
            }
            if before.as_ref().is_some_and(|task| is_new(task)) && !is_new(&after) {
                judged.mended.push(id.clone());
            }
            let claims = Claims {
                entry: &entry,
                said: &said,
                changed,
                besides: besides.as_deref(),
                id: &id,
            };
            claims.judge(&rules, before.as_deref(), &after, proof, &mut judged);
        }
        self.keep_rules(&entry, changed);
        Ok(judged)
    }

    /// Returns the task as its files had it before: of several, the one with the longest history. Of what could not be read, it is
    /// what it was when it could.
    fn before(
        &mut self,
        rules: &Rules,
        entry: &LogEntry,
        id: &TaskId,
        files: &[Version],
    ) -> Result<(Option<Rc<Task>>, Seen), OpsError> {
        let mut all = Vec::new();
        for (_, content) in files {
            all.extend(self.read(rules, entry, id, *content)?);
        }
        if all.len() == files.len() {
            return Ok((longest(all), Seen::Last));
        }
        let Some(parent) = entry.parents.first() else { return Ok((longest(all), Seen::Earlier)) };
        let repository = &self.workspace.repository;
        for earlier in repository.log_of(*parent, &["tasks"])?.take(LOOK_BACK) {
            let earlier = earlier?;
            let mut tasks = touched(&repository.changed_files(earlier.id)?);
            let Some(own) = tasks.remove(id) else { continue };
            for (_, content) in &own.after {
                all.extend(self.read(rules, entry, id, *content)?);
            }
            let is_whole = !all.is_empty();
            for (_, content) in &own.before {
                all.extend(self.read(rules, entry, id, *content)?);
            }
            if earlier.parents.len() > 1 && !is_whole {
                return Ok((longest(all), Seen::Merged(Box::new(earlier))));
            }
            if !all.is_empty() {
                break;
            }
        }
        Ok((longest(all), Seen::Earlier))
    }

    /// Returns what a task was by another file of it than the one with the longest history, where that is what it has to follow from:
    /// by one that went, and says what the file that is left does not, or, of a copy, by the file that it stands beside.
    fn of_others(
        &mut self,
        (rules, entry, said): (&Rules, &LogEntry, &[Trailer]),
        id: &TaskId,
        own: &Touched,
        after: &Rc<Task>,
    ) -> Result<Option<Rc<Task>>, OpsError> {
        if !own.before.is_empty() {
            for (_, content) in own.before.iter().filter(|_| own.before.len() > 1) {
                let lost = self.read(rules, entry, id, *content)?;
                if let Some(lost) = lost.filter(|task| !after.history.starts_with(&task.history)) {
                    return Ok(Some(lost));
                }
            }
            return Ok(None);
        }
        // To look through all tasks at each commit that brings one would take for ever: what the engine says it began, it did.
        let may_begin = |after: &Task| match prove(rules, None, after) {
            Proof::Kept => true,
            Proof::Done(_) | Proof::Several(_) => named_task(said) == Some(id.as_str()),
            Proof::Breach(_) => false,
        };
        if may_begin(after)
            || rehashed(rules, None, after).is_some_and(|(_, after)| may_begin(&after))
        {
            return Ok(None);
        }
        let mut others = Vec::new();
        for (path, content) in self.files.of(&self.workspace.repository, entry.id, id)?.to_vec() {
            if own.after.iter().all(|(own, _)| *own != path) {
                others.extend(self.read(rules, entry, id, content)?);
            }
        }
        // Of an older version nothing is gone as long as the newer one stands: what is lost is told of the commit that takes it away.
        let Some(other) = longest(others) else { return Ok(None) };
        let is_older =
            other.history.len() > after.history.len() && other.history.starts_with(&after.history);
        Ok(Some(if is_older { Rc::clone(after) } else { other }))
    }

    /// Returns what a file that nobody has taken up says of its status, where that is a word for finished tasks, and it did not say so
    /// before. Nobody goes by it here, but whoever reads the file might.
    pub(crate) fn said_by_hand<'v>(
        &self,
        rules: &Rules,
        id: &TaskId,
        before: impl IntoIterator<Item = &'v Version>,
        after: ObjectId,
    ) -> Result<Option<String>, OpsError> {
        let workflow = &rules.project.default_workflow;
        let said = |version: ObjectId| -> Result<Option<Status>, OpsError> {
            let defaults = Defaults { workflow: workflow.clone(), created: Timestamp::UNIX_EPOCH };
            let Ok(file) =
                task_file::parse(&self.workspace.repository.read_blob(version)?, id, &defaults)
            else {
                return Ok(None);
            };
            let status =
                file.field("status").and_then(|node| node.as_str()?.parse::<Status>().ok());
            Ok(status.filter(|status| status.is_finished()))
        };
        let Some(now) = said(after)? else { return Ok(None) };
        for (_, version) in before {
            if said(*version)? == Some(now) {
                return Ok(None);
            }
        }
        Ok(Some(format!("`status: {now}`, and no entry")))
    }

    fn keep_rules(&mut self, entry: &LogEntry, changed: &[ChangedFile]) {
        if !changed.iter().any(|file| RuleFile::of(&file.path).is_some()) {
            self.rules.are_kept_by(entry);
        }
    }

    pub(crate) fn read(
        &mut self,
        rules: &Rules,
        entry: &LogEntry,
        id: &TaskId,
        version: ObjectId,
    ) -> Result<Option<Rc<Task>>, OpsError> {
        self.tasks.read(self.workspace, (id, version), rules, entry.committed)
    }

    /// Returns the tasks that both parents of a merge changed since they parted.
    pub(crate) fn pairs(
        &mut self,
        entry: &LogEntry,
        changes: &Changes,
    ) -> Result<BTreeMap<TaskId, Pair>, OpsError> {
        let rules = self.rules(entry)?;
        changes.pairs(self.workspace, &rules, &mut self.tasks, entry.committed)
    }

    pub(crate) fn rules(&mut self, entry: &LogEntry) -> Result<Rc<Rules>, OpsError> {
        self.rules.behind(self.workspace, entry)
    }
}

/// Which version of a file tells what a task was before.
enum Seen {
    /// The last one.
    Last,
    /// An earlier one: what came behind it cannot be read.
    Earlier,
    /// None: what this merge made of it cannot be read.
    Merged(Box<LogEntry>),
}

pub(crate) fn longest(tasks: Vec<Rc<Task>>) -> Option<Rc<Task>> {
    tasks.into_iter().max_by_key(|task| (!is_new(task), task.history.len()))
}

/// Returns whether nobody has taken the task up.
pub(crate) fn is_new(task: &Task) -> bool {
    task.gate.is_none() && task.history.is_empty()
}
