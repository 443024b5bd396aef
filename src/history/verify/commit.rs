//! Judges one commit by its parent and by the rules that were in force there.

use std::rc::Rc;

use super::children;
use super::commit_reader::{CommitReader, is_new, longest, prove_change};
use super::finding::{
    BrokenRule, CommitJudgement, HistoryFinding, OWN_TRAILERS, RuleBreach, describe_breach, short,
};
use super::landings;
use super::merge_commit::{finished_by_hand, judge_merge, task_after};
use super::signatures;
use super::squash::{self, Squash};
use crate::domain::ssh::trusted_keys::TrustedKeys;
use crate::domain::{Permission, Task, TaskId, Visit};
use crate::git::log::trailers;
use crate::git::log::trailers::Trailer;
use crate::git::{ChangedFile, CommitId, LogEntry};
use crate::history::commit_tasks::{
    ChangedTask, changed_tasks, is_of_another_project, touches_rules,
};
use crate::project::error::ProjectError;
use crate::project::named_branch::has_moved_away;
use crate::project::workspace::agent_author;
use crate::rules::{Act, Proof, ReplayedAct, Rules, is_permitted, prove, rehashed};
use crate::tasks::state::commit_message;

/// The number of earlier commits that are searched for a readable version of a file.
const LOOK_BACK: usize = 1_000;

/// Judges a commit. Signatures are also judged by the keys of `anchor`, if given.
pub(crate) fn judge_commit(
    reader: &mut CommitReader<'_>,
    anchor: Option<&TrustedKeys>,
    commit: CommitId,
) -> Result<CommitJudgement, ProjectError> {
    let repository = &reader.workspace.repository;
    let entry = &repository.log_entry(commit)?;
    if entry.parents.len() > 1 {
        return judge_merge(reader, anchor, entry);
    }
    let changed = repository.changed_files(commit)?;
    let trailers = trailers::parse(&entry.message);
    let tasks = changed_tasks(&changed);
    let mut judged = CommitJudgement {
        findings: contradictions(entry, &trailers),
        ..CommitJudgement::default()
    };
    let named = trailer(&trailers, "Aof-Task");
    let names_one_of_them = named.is_some_and(|named| tasks.keys().any(|id| id.as_str() == named));
    if let Some(named) = named.filter(|_| !names_one_of_them)
        && !is_of_another_project(repository, entry, named)?
    {
        let expected = format!("a change of {}", short(named));
        let found = short(&format!("a commit that does not touch it, with `Aof-Task: {named}`"));
        judged.findings.push(HistoryFinding::new(
            entry,
            None,
            BrokenRule::WrongTrailer,
            expected,
            found,
        ));
    }
    if let Some(person) = commit_message::named_in(&entry.message) {
        let task = named.and_then(|named| named.parse().ok());
        let (rule, expected) = (BrokenRule::NamedUnseen, "a person at a terminal, or a signature");
        let found = format!("the name of `{person}` alone");
        judged.findings.push(HistoryFinding::new(entry, task.as_ref(), rule, expected, found));
    }
    if !tasks.is_empty() {
        let rules = &*reader.rules(entry)?;
        // Only a commit of the engine must be about one task; people's commits may be of any size.
        let besides =
            if names_one_of_them { repository.first_change_outside_files(commit)? } else { None };
        let commit =
            Commit { entry, trailers: &trailers, rules, anchor, changed: &changed, besides };
        let is_removal = |files: &ChangedTask| files.after.is_empty();
        let has_moved =
            tasks.values().any(is_removal) && has_moved_away(repository, entry.id, &entry.parents)?;
        for (id, files) in tasks {
            if has_moved && is_removal(&files) {
                judged.changes += 1;
                continue;
            }
            commit.judge_task(reader, &id, files, &mut judged)?;
        }
    }
    if !touches_rules(&changed) {
        reader.keep_rules(entry);
    }
    squash::drop_statements(&mut judged.findings);
    Ok(judged)
}

/// A task before a commit.
struct Before {
    task: Option<Rc<Task>>,
    /// True if it is an earlier version, since the newest one cannot be read.
    is_earlier: bool,
    /// The merge whose result cannot be read.
    merge: Option<Box<LogEntry>>,
}

/// A commit with one parent.
struct Commit<'c> {
    entry: &'c LogEntry,
    trailers: &'c [Trailer],
    rules: &'c Rules,
    anchor: Option<&'c TrustedKeys>,
    /// The files of the project that it changed.
    changed: &'c [ChangedFile],
    /// A file outside the project that it changed.
    besides: Option<String>,
}

impl Commit<'_> {
    fn judge_task(
        &self,
        reader: &mut CommitReader<'_>,
        id: &TaskId,
        mut files: ChangedTask,
        judged: &mut CommitJudgement,
    ) -> Result<(), ProjectError> {
        let Self { entry, rules, .. } = *self;
        let finding = |rule, expected: &str, found: String| {
            HistoryFinding::new(entry, Some(id), rule, expected, found)
        };
        judged.changes += 1;
        if files.after.is_empty() {
            files.add_unchanged(reader.files.of_task(
                &reader.workspace.repository,
                entry.id,
                id,
            )?);
        }
        let Before { task: mut before, is_earlier, merge } = self.before(reader, id, &files)?;
        let was_taken_up = before.as_ref().is_some_and(|task| !is_new(task));
        let Some((_, new)) = files.after.first() else {
            if let Some(before) = before.filter(|_| was_taken_up) {
                let found = format!("it is gone, with {} entries", before.history.len());
                let expected = "a task stays, in `tasks/` or in its archive";
                judged.findings.push(finding(BrokenRule::Removed, expected, found));
            }
            return Ok(());
        };
        if let Some((path, _)) = files.after.get(1) {
            let found = short(&format!("`{}` and `{path}`", files.after[0].0));
            judged.findings.push(finding(BrokenRule::Doubled, "one file of a task", found));
            return Ok(());
        }
        let Some(after) = reader.read(rules, entry, id, *new)? else {
            // A file that was never adopted is its author's.
            if was_taken_up {
                let found = "a file that cannot be read as a task".to_owned();
                judged.findings.push(finding(BrokenRule::Unreadable, "a task", found));
            }
            return Ok(());
        };
        if let Some(merge) = &merge {
            before = task_after(reader, merge, id, &after)?.or(before);
        }
        before = self.before_in_other_file(reader, id, &files, &after)?.or(before);
        let known = before.as_ref().map_or(0, |task| task.history.len());
        let new_entries = known..after.history.len();
        let repository = &reader.workspace.repository;
        let changed = (before.as_deref(), &files.before[..]);
        let (proof, is_renamed) = prove_change(repository, rules, changed, (id, &after))?;
        judged.renamed += usize::from(is_renamed);
        let (landed, wrong) =
            landings::judge_entries(repository, entry, &after, new_entries.clone())?;
        judged.landed.extend(landed);
        judged.findings.extend(wrong);
        if squash::is_one(before.as_deref(), &after, &proof) {
            let squash = Squash { entry, rules, anchor: self.anchor, changed: self.changed };
            let states = (before.as_deref(), &*after);
            judged.findings.extend(squash.judge(reader, states, &files, &proof)?);
            return Ok(());
        }
        judged.findings.extend(signatures::judge_entries(
            self.anchor,
            (rules, entry),
            id,
            &after,
            new_entries.clone(),
        ));
        judged.findings.extend(children::judge_entries(reader, rules, entry, &after, new_entries)?);
        let repository = &reader.workspace.repository;
        if is_new(&after)
            && before.as_ref().is_none_or(|task| is_new(task))
            && let Some(found) = finished_by_hand(repository, rules, id, &files.before, *new)?
        {
            let expected = "a task that the engine finished, with its entries";
            judged.findings.push(finding(BrokenRule::SaidByHand, expected, found));
        }
        let is_readable_again =
            is_earlier && before.is_some() && !matches!(proof, Proof::Breach(_));
        let is_taken_up = before.as_ref().is_some_and(|task| is_new(task)) && !is_new(&after);
        if is_readable_again || is_taken_up {
            judged.mended.push(id.clone());
        }
        self.judge_change(id, before.as_deref(), &after, proof, judged);
        Ok(())
    }

    /// Returns the task before the commit: of several files, the one with the longest history; otherwise the newest readable
    /// version.
    fn before(
        &self,
        reader: &mut CommitReader<'_>,
        id: &TaskId,
        files: &ChangedTask,
    ) -> Result<Before, ProjectError> {
        let Self { entry, rules, .. } = *self;
        let mut all = reader.read_all(rules, entry, id, &files.before)?;
        let is_earlier = all.len() < files.before.len();
        let mut merge = None;
        if let Some(parent) = entry.parents.first().filter(|_| is_earlier) {
            let repository = &reader.workspace.repository;
            for earlier in repository.log_of(*parent, &["tasks"])?.take(LOOK_BACK) {
                let earlier = earlier?;
                let mut tasks = changed_tasks(&repository.changed_files(earlier.id)?);
                let Some(earlier_files) = tasks.remove(id) else { continue };
                all.extend(reader.read_all(rules, entry, id, &earlier_files.after)?);
                let is_readable = !all.is_empty();
                all.extend(reader.read_all(rules, entry, id, &earlier_files.before)?);
                if earlier.parents.len() > 1 && !is_readable {
                    merge = Some(Box::new(earlier));
                    break;
                }
                if !all.is_empty() {
                    break;
                }
            }
        }
        Ok(Before { task: longest(all), is_earlier, merge })
    }

    /// Returns the task of another file that `after` must continue: a removed one, or, for a copy, the original.
    fn before_in_other_file(
        &self,
        reader: &mut CommitReader<'_>,
        id: &TaskId,
        files: &ChangedTask,
        after: &Rc<Task>,
    ) -> Result<Option<Rc<Task>>, ProjectError> {
        let Self { entry, rules, .. } = *self;
        if !files.before.is_empty() {
            if files.before.len() == 1 {
                return Ok(None);
            }
            let all = reader.read_all(rules, entry, id, &files.before)?;
            return Ok(all.into_iter().find(|task| !after.history.starts_with(&task.history)));
        }
        // Searching all tasks at each commit that adds one would take too long: a task is new if the engine's commit states that
        // it created it.
        let may_begin = |after: &Task| match prove(rules, None, after) {
            Proof::Kept => true,
            Proof::Done(_) | Proof::Several(_) => self.names(id),
            Proof::Breach(_) => false,
        };
        if may_begin(after)
            || rehashed(rules, None, after).is_some_and(|(_, after)| may_begin(&after))
        {
            return Ok(None);
        }
        let everywhere = reader.files.of_task(&reader.workspace.repository, entry.id, id)?.to_vec();
        let others: Vec<_> = everywhere
            .into_iter()
            .filter(|(path, _)| files.after.iter().all(|(changed, _)| changed != path))
            .collect();
        let Some(other) = longest(reader.read_all(rules, entry, id, &others)?) else {
            return Ok(None);
        };
        // While the newer file exists nothing is lost: the commit that removes it is judged for that.
        let is_older =
            other.history.len() > after.history.len() && other.history.starts_with(&after.history);
        Ok(Some(if is_older { Rc::clone(after) } else { other }))
    }

    /// Judges the change by its proof, and the statements of the commit about it.
    fn judge_change(
        &self,
        id: &TaskId,
        before: Option<&Task>,
        after: &Task,
        proof: Proof,
        judged: &mut CommitJudgement,
    ) {
        let breaches: Vec<RuleBreach> = match proof {
            Proof::Breach(breach) => vec![describe_breach(self.rules, before, after, &breach)],
            Proof::Kept if self.names(id) => {
                let outcome = self.trailer("Aof-Outcome").map(|outcome| {
                    (
                        BrokenRule::WrongTrailer,
                        "an entry that says it".to_owned(),
                        format!("`Aof-Outcome: {}` alone", short(outcome)),
                    )
                });
                // The engine commits comments, edits and moved files alone, too.
                let event = self.trailer("Aof-Event");
                outcome.into_iter().chain(event.and_then(|_| self.other_file(id))).collect()
            }
            // Judged as a squash before.
            Proof::Kept | Proof::Several(_) => Vec::new(),
            Proof::Done(found) => {
                if matches!(found.act, Act::Override { .. })
                    && self.not_permitted(before, &found).is_none()
                {
                    judged.overridden.push(id.clone());
                }
                self.check_attested(id, before, after, &found)
            }
        };
        judged.findings.extend(breaches.into_iter().map(|(rule, expected, found)| {
            HistoryFinding::new(self.entry, Some(id), rule, expected, found)
        }));
    }

    /// Returns the differences between the commit and the one that the engine would have made.
    fn check_attested(
        &self,
        id: &TaskId,
        before: Option<&Task>,
        after: &Task,
        done: &ReplayedAct,
    ) -> Vec<RuleBreach> {
        let Some(named) = self.trailer("Aof-Task") else {
            return vec![(
                BrokenRule::Unattested,
                "a commit of the engine, with its trailers".to_owned(),
                "none: made by hand, or squashed".to_owned(),
            )];
        };
        if named != id.as_str() {
            return vec![(
                BrokenRule::OtherFiles,
                format!("a change of {} alone", short(named)),
                format!("{id} was moved with it"),
            )];
        }
        let mut breaches = Vec::new();
        let known = before.map_or(0, |task| task.history.len());
        match after.history.last().filter(|_| after.history.len() > known) {
            Some(visit) => {
                let expected = commit_message::entry_trailers(visit);
                for key in ["Aof-Gate", "Aof-Outcome", "Aof-Agent", "Aof-Completion"] {
                    let required = expected.iter().find(|(known, _)| *known == key);
                    let (required, present) =
                        (required.map(|(_, value)| value.as_str()), self.trailer(key));
                    if required != present {
                        let shown = |value: Option<&str>| match value {
                            Some(value) => format!("`{key}: {}`", short(value)),
                            None => format!("no `{key}`"),
                        };
                        breaches.push((BrokenRule::WrongTrailer, shown(required), shown(present)));
                    }
                }
                breaches.extend(self.wrong_text(id, visit));
            }
            None if self.trailer("Aof-Event").is_none() => {
                let expected = "an `Aof-Event`".to_owned();
                breaches.push((BrokenRule::WrongTrailer, expected, "none".to_owned()));
            }
            None => {}
        }
        breaches.extend(self.wrong_author(done));
        breaches.extend(self.not_permitted(before, done));
        if self.entry.authored.as_second() != after.updated.as_second() {
            let authored = self.entry.authored.to_string();
            breaches.push((BrokenRule::WrongDate, after.updated.to_string(), authored));
        }
        // The first commit of a project has its rules and a first task.
        let begins =
            self.changed.iter().any(|file| file.path == "project.yaml" && file.before.is_none());
        if !begins {
            breaches.extend(self.other_file(id));
        }
        breaches
    }

    fn wrong_author(&self, done: &ReplayedAct) -> Option<RuleBreach> {
        let agent = match &done.act {
            Act::Complete(completion) => &completion.agent,
            Act::Claim { agent, .. } | Act::Renew { agent, .. }
                if self.trailer("Aof-Event") != Some("assigned") =>
            {
                agent
            }
            _ => return None,
        };
        let person = agent_author(&self.rules.org, agent).ok()?;
        let author = &self.entry.author;
        let shown = |name: &str, email: &str| short(&format!("{name} <{email}>"));
        let is_other = (author.name(), author.email()) != (person.name(), person.email());
        is_other.then(|| {
            let expected = shown(person.name(), person.email());
            (BrokenRule::WrongAuthor, expected, shown(author.name(), author.email()))
        })
    }

    /// Returns the act of an agent that the rules permit only to people, or to agents with a permission.
    fn not_permitted(&self, before: Option<&Task>, done: &ReplayedAct) -> Option<RuleBreach> {
        let before = before?;
        let (by, needed) = match &done.act {
            Act::Cancel { by, .. } => (by, Permission::Cancel),
            Act::Reopen { by, .. } => (by, Permission::Reopen),
            // An unblocked loop is recorded as this act, too.
            Act::Override { by, to, .. } => match &before.gate {
                Some(open) if open.current == *to => (by, Permission::Unblock),
                _ => (by, Permission::Override),
            },
            _ => return None,
        };
        let agent = by.agent().filter(|agent| !agent.is_human())?;
        let author = agent_author(&self.rules.org, agent).ok()?;
        let is_own = self.entry.author.email() == author.email();
        (is_own && !is_permitted(self.rules, before, agent, needed)).then(|| {
            let expected = format!("a person, or an agent with `may: [{needed}]`");
            (BrokenRule::NotAllowed, expected, format!("`{agent}`, without it"))
        })
    }

    /// Returns a file that the commit changed in addition to the task and its companions.
    fn other_file(&self, id: &TaskId) -> Option<RuleBreach> {
        let is_other = |path: &&str| {
            let name = path.rsplit('/').next().unwrap_or_default();
            let rest = name.strip_prefix(id.as_str());
            !path.starts_with("tasks/") || rest.is_none_or(|rest| !rest.starts_with('.'))
        };
        let other = self.changed.iter().map(|file| file.path.as_str()).find(is_other);
        let other = other.or(self.besides.as_deref())?;
        let expected = format!("a change of {id} alone");
        Some((BrokenRule::OtherFiles, expected, short(&format!("`{other}` changed with it"))))
    }

    /// Returns the first line at which the message differs from the entry: people read the log rather than the file.
    fn wrong_text(&self, id: &TaskId, visit: &Visit) -> Option<RuleBreach> {
        let expected = commit_message::entry_text(visit, id.as_str());
        let found = trailers::text_above(&self.entry.message);
        if found == expected {
            return None;
        }
        let (mut expected, mut found) = (expected.lines(), found.lines());
        let (expected, found) = loop {
            match (expected.next(), found.next()) {
                (Some(expected), Some(found)) if expected == found => {}
                differing => break differing,
            }
        };
        let shown = |text: Option<&str>| {
            text.map_or_else(|| "no more".to_owned(), |text| short(&format!("`{text}`")))
        };
        Some((BrokenRule::WrongMessage, shown(expected), shown(found)))
    }

    /// Returns whether the commit names this task as the one that it changed.
    fn names(&self, id: &TaskId) -> bool {
        self.trailer("Aof-Task") == Some(id.as_str())
    }

    fn trailer(&self, key: &str) -> Option<&str> {
        trailer(self.trailers, key)
    }
}

/// Returns the trailers that the commit repeats with different values: a reader may use any of them.
fn contradictions(entry: &LogEntry, trailers: &[Trailer]) -> Vec<HistoryFinding> {
    let several = OWN_TRAILERS.iter().filter_map(|key| {
        let mut values = trailers.iter().filter(|one| one.key() == *key).map(Trailer::value);
        let first = values.next()?;
        let other = values.find(|value| *value != first)?;
        let (expected, found) =
            (format!("one `{key}`"), short(&format!("`{first}` and `{other}`")));
        Some(HistoryFinding::new(entry, None, BrokenRule::WrongTrailer, expected, found))
    });
    several.collect()
}

fn trailer<'t>(trailers: &'t [Trailer], key: &str) -> Option<&'t str> {
    trailers.iter().find(|one| one.key() == key).map(Trailer::value)
}
