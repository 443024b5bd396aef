//! Judges one commit by its parent and by the rules that were in force there.

use std::rc::Rc;

use super::commit_reader::{CommitReader, is_new, longest, prove_change};
use super::finding::{
    BrokenRule, HistoryFinding, Judged, OWN_TRAILERS, RuleBreach, breach_told, short,
};
use super::merge_commit::{judge_merge, said_by_hand, task_after};
use super::signatures;
use crate::domain::ssh::trusted_keys::TrustedKeys;
use crate::domain::{Task, TaskId, Visit};
use crate::git::log::trailers;
use crate::git::log::trailers::Trailer;
use crate::git::{ChangedFile, CommitId, LogEntry};
use crate::history::commit_tasks::{Touched, is_of_another_project, touched};
use crate::project::error::ProjectError;
use crate::project::workspace::agent_author;
use crate::rules::{Act, Found, Proof, Rules, prove, rehashed};
use crate::tasks::state::commit_message;

/// How many earlier commits are searched for a readable version of a file.
const LOOK_BACK: usize = 1_000;

/// Judges a commit. Signatures are also judged by the keys of `anchor`, where that is given.
pub(crate) fn judge_commit(
    reader: &mut CommitReader<'_>,
    anchor: Option<&TrustedKeys>,
    commit: CommitId,
) -> Result<Judged, ProjectError> {
    let repository = &reader.workspace.repository;
    let entry = &repository.log_entry(commit)?;
    if entry.parents.len() > 1 {
        return judge_merge(reader, anchor, entry);
    }
    let changed = &repository.changed_files(commit)?;
    let said = &trailers::parse(&entry.message);
    let tasks = touched(changed);
    let mut judged = Judged { findings: contradictions(entry, said), ..Judged::default() };
    let named = named_task(said);
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
    if !tasks.is_empty() {
        let rules = &*reader.rules(entry)?;
        // Only a commit of the engine has to be of one task; people's commits may be as large as they like.
        let besides = if names_one_of_them { repository.changed_besides(commit)? } else { None };
        let commit = Commit { entry, said, rules, anchor };
        for (id, own) in tasks {
            let claims =
                CommitClaims { entry, said, changed, besides: besides.as_deref(), id: &id };
            commit.judge_task(reader, &id, own, &claims, &mut judged)?;
        }
    }
    reader.note(entry, changed);
    Ok(judged)
}

/// What a task was before a commit.
struct Before {
    task: Option<Rc<Task>>,
    /// The newest versions of its files cannot be read: it is an earlier one.
    is_earlier: bool,
    /// What this merge made of it cannot be read.
    merge: Option<Box<LogEntry>>,
}

struct Commit<'c> {
    entry: &'c LogEntry,
    said: &'c [Trailer],
    rules: &'c Rules,
    anchor: Option<&'c TrustedKeys>,
}

impl Commit<'_> {
    fn judge_task(
        &self,
        reader: &mut CommitReader<'_>,
        id: &TaskId,
        mut own: Touched,
        claims: &CommitClaims<'_>,
        judged: &mut Judged,
    ) -> Result<(), ProjectError> {
        let Self { entry, rules, .. } = *self;
        let finding = |rule, expected: &str, found: String| {
            HistoryFinding::new(entry, Some(id), rule, expected, found)
        };
        judged.changes += 1;
        if own.after.is_empty() {
            own.take_in(reader.files.of(&reader.workspace.repository, entry.id, id)?);
        }
        let Before { task: mut before, is_earlier, merge } = self.before(reader, id, &own)?;
        let was_taken_up = before.as_ref().is_some_and(|task| !is_new(task));
        let Some((_, new)) = own.after.first() else {
            if let Some(before) = before.filter(|_| was_taken_up) {
                let found = format!("it is gone, with {} entries", before.history.len());
                let expected = "a task stays, in `tasks/` or in its archive";
                judged.findings.push(finding(BrokenRule::Removed, expected, found));
            }
            return Ok(());
        };
        if let Some((path, _)) = own.after.get(1) {
            let found = short(&format!("`{}` and `{path}`", own.after[0].0));
            judged.findings.push(finding(BrokenRule::Doubled, "one file of a task", found));
            return Ok(());
        }
        let Some(after) = reader.read(rules, entry, id, *new)? else {
            // A file that nobody has taken up is its author's.
            if was_taken_up {
                let found = "a file that cannot be read as a task".to_owned();
                judged.findings.push(finding(BrokenRule::Unreadable, "a task", found));
            }
            return Ok(());
        };
        if let Some(merge) = &merge {
            before = task_after(reader, merge, id, &after)?.or(before);
        }
        before = self.of_other_files(reader, id, &own, &after)?.or(before);
        let known = before.as_ref().map_or(0, |task| task.history.len());
        let new_entries = known..after.history.len();
        judged.findings.extend(signatures::of_entries(
            self.anchor,
            (rules, entry),
            id,
            &after,
            new_entries,
        ));
        let repository = &reader.workspace.repository;
        let changed = (before.as_deref(), &own.before[..]);
        let (proof, is_renamed) = prove_change(repository, rules, changed, (id, &after))?;
        judged.renamed += usize::from(is_renamed);
        if is_new(&after)
            && before.as_ref().is_none_or(|task| is_new(task))
            && let Some(found) = said_by_hand(repository, rules, id, &own.before, *new)?
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
        claims.judge(rules, before.as_deref(), &after, proof, judged);
        Ok(())
    }

    /// Returns the task as its files had it before: of several, the one with the longest history. Where they cannot be read, it is the
    /// newest version that can.
    fn before(
        &self,
        reader: &mut CommitReader<'_>,
        id: &TaskId,
        own: &Touched,
    ) -> Result<Before, ProjectError> {
        let Self { entry, rules, .. } = *self;
        let mut all = reader.read_all(rules, entry, id, &own.before)?;
        let is_earlier = all.len() < own.before.len();
        let mut merge = None;
        if let Some(parent) = entry.parents.first().filter(|_| is_earlier) {
            let repository = &reader.workspace.repository;
            for earlier in repository.log_of(*parent, &["tasks"])?.take(LOOK_BACK) {
                let earlier = earlier?;
                let mut tasks = touched(&repository.changed_files(earlier.id)?);
                let Some(own) = tasks.remove(id) else { continue };
                all.extend(reader.read_all(rules, entry, id, &own.after)?);
                let is_readable = !all.is_empty();
                all.extend(reader.read_all(rules, entry, id, &own.before)?);
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

    /// Returns what the task was by another of its files than the one with the longest history, where it has to follow from that: from a
    /// file that went, or, for a copy, from the file beside it.
    fn of_other_files(
        &self,
        reader: &mut CommitReader<'_>,
        id: &TaskId,
        own: &Touched,
        after: &Rc<Task>,
    ) -> Result<Option<Rc<Task>>, ProjectError> {
        let Self { entry, rules, said, .. } = *self;
        if !own.before.is_empty() {
            if own.before.len() == 1 {
                return Ok(None);
            }
            let all = reader.read_all(rules, entry, id, &own.before)?;
            return Ok(all.into_iter().find(|task| !after.history.starts_with(&task.history)));
        }
        // Searching all tasks at each commit that brings one would take too long: what the engine says it began, it did.
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
        let files = reader.files.of(&reader.workspace.repository, entry.id, id)?.to_vec();
        let others: Vec<_> = files
            .into_iter()
            .filter(|(path, _)| own.after.iter().all(|(own, _)| own != path))
            .collect();
        let Some(other) = longest(reader.read_all(rules, entry, id, &others)?) else {
            return Ok(None);
        };
        // Nothing is lost while the newer file stands: the commit that takes it away is judged for that.
        let is_older =
            other.history.len() > after.history.len() && other.history.starts_with(&after.history);
        Ok(Some(if is_older { Rc::clone(after) } else { other }))
    }
}

/// What a commit says of the change of a task.
pub(crate) struct CommitClaims<'c> {
    pub entry: &'c LogEntry,
    pub said: &'c [Trailer],
    /// The files of the project that it changed.
    pub changed: &'c [ChangedFile],
    /// A file outside the project that it changed.
    pub besides: Option<&'c str>,
    pub id: &'c TaskId,
}

/// Returns the trailers that the commit has more than once, with different values: whoever reads it may go by any of them.
pub(crate) fn contradictions(entry: &LogEntry, said: &[Trailer]) -> Vec<HistoryFinding> {
    let several = OWN_TRAILERS.iter().filter_map(|key| {
        let mut values = said.iter().filter(|one| one.key() == *key).map(Trailer::value);
        let first = values.next()?;
        let other = values.find(|value| *value != first)?;
        let (expected, found) =
            (format!("one `{key}`"), short(&format!("`{first}` and `{other}`")));
        Some(HistoryFinding::new(entry, None, BrokenRule::WrongTrailer, expected, found))
    });
    several.collect()
}

/// Returns the task that a commit says it changed.
pub(crate) fn named_task(said: &[Trailer]) -> Option<&str> {
    trailer(said, "Aof-Task")
}

fn trailer<'t>(said: &'t [Trailer], key: &str) -> Option<&'t str> {
    said.iter().find(|one| one.key() == key).map(Trailer::value)
}

impl CommitClaims<'_> {
    /// Judges the change by its proof, and what the commit says of it.
    pub(crate) fn judge(
        &self,
        rules: &Rules,
        before: Option<&Task>,
        after: &Task,
        proof: Proof,
        judged: &mut Judged,
    ) {
        let told: Vec<RuleBreach> = match proof {
            Proof::Breach(breach) => vec![breach_told(rules, before, after, &breach)],
            Proof::Several(steps) => vec![(
                BrokenRule::Squashed,
                "one step a commit".to_owned(),
                format!("{steps} at once, each of which the rules allow"),
            )],
            Proof::Kept if named_task(self.said) == Some(self.id.as_str()) => {
                let outcome = self.trailer("Aof-Outcome").map(|outcome| {
                    (
                        BrokenRule::WrongTrailer,
                        "an entry that says it".to_owned(),
                        format!("`Aof-Outcome: {}` alone", short(outcome)),
                    )
                });
                // The engine commits comments, edits and moved files alone, too.
                let event = self.trailer("Aof-Event");
                outcome.into_iter().chain(event.and_then(|_| self.more_than_the_task())).collect()
            }
            Proof::Kept => Vec::new(),
            Proof::Done(found) => {
                if matches!(found.act, Act::Override { .. }) {
                    judged.overridden.push(self.id.clone());
                }
                self.attested(rules, before, after, &found)
            }
        };
        judged.findings.extend(told.into_iter().map(|(rule, expected, found)| {
            HistoryFinding::new(self.entry, Some(self.id), rule, expected, found)
        }));
    }

    /// Returns where the commit does not say of itself what the engine would have said.
    fn attested(
        &self,
        rules: &Rules,
        before: Option<&Task>,
        after: &Task,
        done: &Found,
    ) -> Vec<RuleBreach> {
        let Some(named) = named_task(self.said) else {
            return vec![(
                BrokenRule::Unattested,
                "a commit of the engine, with its trailers".to_owned(),
                "none: made by hand, or squashed".to_owned(),
            )];
        };
        if named != self.id.as_str() {
            return vec![(
                BrokenRule::OtherFiles,
                format!("a change of {} alone", short(named)),
                format!("{} was moved with it", self.id),
            )];
        }
        let mut told = Vec::new();
        let known = before.map_or(0, |task| task.history.len());
        match after.history.last().filter(|_| after.history.len() > known) {
            Some(visit) => {
                let expected = commit_message::entry_trailers(visit);
                for key in ["Aof-Gate", "Aof-Outcome", "Aof-Agent", "Aof-Completion"] {
                    let own = expected.iter().find(|(known, _)| *known == key);
                    let (own, said) = (own.map(|(_, value)| value.as_str()), self.trailer(key));
                    if own != said {
                        let shown = |value: Option<&str>| match value {
                            Some(value) => format!("`{key}: {}`", short(value)),
                            None => format!("no `{key}`"),
                        };
                        told.push((BrokenRule::WrongTrailer, shown(own), shown(said)));
                    }
                }
                told.extend(self.wrong_text(visit));
            }
            None if self.trailer("Aof-Event").is_none() => {
                let expected = "an `Aof-Event`".to_owned();
                told.push((BrokenRule::WrongTrailer, expected, "none".to_owned()));
            }
            None => {}
        }
        told.extend(self.wrong_author(rules, done));
        if self.entry.authored.as_second() != after.updated.as_second() {
            let authored = self.entry.authored.to_string();
            told.push((BrokenRule::WrongDate, after.updated.to_string(), authored));
        }
        // The first commit of a project has its rules and a first task.
        let begins =
            self.changed.iter().any(|file| file.path == "project.yaml" && file.before.is_none());
        if !begins {
            told.extend(self.more_than_the_task());
        }
        told
    }

    fn wrong_author(&self, rules: &Rules, done: &Found) -> Option<RuleBreach> {
        let agent = match &done.act {
            Act::Complete(completion) => &completion.agent,
            Act::Claim { agent, .. } | Act::Renew { agent, .. }
                if self.trailer("Aof-Event") != Some("assigned") =>
            {
                agent
            }
            _ => return None,
        };
        let person = agent_author(&rules.org, agent).ok()?;
        let author = &self.entry.author;
        let shown = |name: &str, email: &str| short(&format!("{name} <{email}>"));
        let is_other = (author.name(), author.email()) != (person.name(), person.email());
        is_other.then(|| {
            let expected = shown(person.name(), person.email());
            (BrokenRule::WrongAuthor, expected, shown(author.name(), author.email()))
        })
    }

    /// Returns what the commit changed besides the task and the files that go with it.
    fn more_than_the_task(&self) -> Option<RuleBreach> {
        let is_other = |path: &&str| {
            let name = path.rsplit('/').next().unwrap_or_default();
            let rest = name.strip_prefix(self.id.as_str());
            !path.starts_with("tasks/") || rest.is_none_or(|rest| !rest.starts_with('.'))
        };
        let other = self.changed.iter().map(|file| file.path.as_str()).find(is_other);
        let other = other.or(self.besides)?;
        let expected = format!("a change of {} alone", self.id);
        Some((BrokenRule::OtherFiles, expected, short(&format!("`{other}` changed with it"))))
    }

    /// Returns where the text of the message differs from the entry: people read the log, and not the file.
    fn wrong_text(&self, visit: &Visit) -> Option<RuleBreach> {
        let expected = commit_message::entry_text(visit, self.id.as_str());
        let found = trailers::text_above(&self.entry.message);
        if found == expected {
            return None;
        }
        let (mut own, mut said) = (expected.lines(), found.lines());
        let (own, said) = loop {
            match (own.next(), said.next()) {
                (Some(own), Some(said)) if own == said => {}
                differing => break differing,
            }
        };
        let shown = |text: Option<&str>| {
            text.map_or_else(|| "no more".to_owned(), |text| short(&format!("`{text}`")))
        };
        Some((BrokenRule::WrongMessage, shown(own), shown(said)))
    }

    fn trailer(&self, key: &str) -> Option<&str> {
        trailer(self.said, key)
    }
}
