//! Judges a squash: a commit that brings several entries of a task at once, or a new task with some.

use std::rc::Rc;

use super::children;
use super::commit_reader::{CommitReader, is_new};
use super::finding::{
    BrokenRule, HistoryFinding, RuleBreach, SquashCounts, describe_breach, entry_count, short,
};
use super::signatures;
use crate::domain::acceptance::AcceptanceTest;
use crate::domain::ssh::trusted_keys::TrustedKeys;
use crate::domain::{SquashPolicy, Task, TaskId, Timestamp};
use crate::files::task_file::{self, Defaults};
use crate::git::{ChangedFile, CommitId, LogEntry, ObjectId, Repository};
use crate::history::commit_tasks::{ChangedTask, touches_rules};
use crate::project::active_rules::rules_at;
use crate::project::error::ProjectError;
use crate::rules::{Breach, Proof, Rules, SquashProof, prove_squash};
use crate::tasks::state::acceptance::tests_in_commit;

/// The number of commits of the first-parent line that are searched for older rules.
const LOOK_BACK: usize = 10_000;

/// Returns whether the change is judged entry by entry.
pub(super) fn is_one(before: Option<&Task>, after: &Task, proof: &Proof) -> bool {
    let breach = match proof {
        Proof::Several(_) => return true,
        Proof::Kept | Proof::Done(_) => return false,
        Proof::Breach(breach) => breach,
    };
    if is_new(after) || matches!(breach, Breach::Removed { .. } | Breach::Rewritten { .. }) {
        return false;
    }
    let known = before.filter(|before| !is_new(before)).map(|before| before.history.len());
    known.is_none_or(|known| after.history.len() > known + 1)
}

/// Drops the findings about the statements of a commit if it squashes a task: they are those of several steps.
pub(super) fn drop_statements(findings: &mut Vec<HistoryFinding>) {
    if findings.iter().any(|finding| finding.rule == BrokenRule::Squashed) {
        findings.retain(|finding| {
            !matches!(
                finding.rule,
                BrokenRule::WrongTrailer
                    | BrokenRule::WrongMessage
                    | BrokenRule::WrongAuthor
                    | BrokenRule::WrongDate
                    | BrokenRule::OtherFiles
                    | BrokenRule::Unattested
            )
        });
    }
}

/// A commit that squashes steps of a task.
pub(super) struct Squash<'c> {
    pub entry: &'c LogEntry,
    /// The rules of its parent.
    pub rules: &'c Rules,
    pub anchor: Option<&'c TrustedKeys>,
    /// The files of the project that it changed.
    pub changed: &'c [ChangedFile],
}

impl Squash<'_> {
    /// Judges the entries by the rules of the parent, or by older ones; `proof` is the judgement as one step.
    pub(super) fn judge(
        &self,
        reader: &mut CommitReader<'_>,
        (before, after): (Option<&Task>, &Task),
        files: &ChangedTask,
        proof: &Proof,
    ) -> Result<Vec<HistoryFinding>, ProjectError> {
        let Self { entry, rules, anchor, .. } = *self;
        let finding = |(rule, expected, found)| {
            HistoryFinding::new(entry, Some(&after.id), rule, expected, found)
        };
        let known = before.map_or(0, |before| before.history.len());
        let mut older = Vec::new();
        let mut proved = prove_squash(&[rules], before, after);
        if proved.is_err() {
            older = self.older_rules(reader, before, after, files)?;
            let all: Vec<&Rules> =
                [rules].into_iter().chain(older.iter().map(|rules| &**rules)).collect();
            proved = prove_squash(&all, before, after);
        }
        let mut findings = Vec::new();
        for place in known..after.history.len() {
            let age = proved.as_ref().ok().and_then(|proved| proved.older.get(&place));
            let by_older = age.and_then(|age| older.get(age - 1)).map(|older| {
                // Rules may be older, keys may not.
                let mut rules = Rules::clone(older);
                rules.org.clone_from(&self.rules.org);
                rules
            });
            let judged_by = (by_older.as_ref().unwrap_or(rules), entry);
            findings.extend(signatures::judge_entries(
                anchor,
                judged_by,
                &after.id,
                after,
                [place],
            ));
        }
        findings.extend(children::judge_squash(
            reader,
            rules,
            entry,
            after,
            known..after.history.len(),
        )?);
        match proved {
            Ok(proved) => {
                findings.extend(self.judge_tests(reader, (before, after), files)?.map(finding));
                let found = short(&description(&proved));
                let mut note =
                    finding((BrokenRule::Squashed, "one step a commit".to_owned(), found));
                note.is_refused = rules.project.squashes == SquashPolicy::Refuse;
                note.squash = Some(SquashCounts {
                    entries: proved.entries,
                    older_rules: proved.older.len(),
                    unknown_ways: proved.unknown_ways,
                });
                findings.push(note);
            }
            Err(_) if self.is_allowed_by_its_rules(reader, before, after)? => {
                let expected = "rules in a commit before the steps that they allow".to_owned();
                let found =
                    format!("{} that only these allow", entry_count(after.history.len() - known));
                findings.push(finding((BrokenRule::RulesInSquash, expected, found)));
            }
            Err(breach) => {
                // A new task that its own commit cannot have begun is reported as that.
                let breach = match (proof, after.history.is_empty()) {
                    (Proof::Breach(first), true) => first.clone(),
                    _ => breach,
                };
                findings.push(finding(describe_breach(rules, before, after, &breach)));
            }
        }
        Ok(findings)
    }

    /// Returns the other rules of the parent's first-parent line since the last change of the task there, or since it was created; newest
    /// first.
    fn older_rules(
        &self,
        reader: &CommitReader<'_>,
        before: Option<&Task>,
        after: &Task,
        files: &ChangedTask,
    ) -> Result<Vec<Rc<Rules>>, ProjectError> {
        let repository = &reader.workspace.repository;
        let mut older: Vec<Rc<Rules>> = Vec::new();
        let mut next = self.entry.parents.first().copied();
        for _ in 0..LOOK_BACK {
            let Some(commit) = next.filter(|commit| repository.has_commit(*commit)) else { break };
            let line = repository.log_entry(commit)?;
            let is_since = match before {
                Some(_) => has_files(repository, commit, files)?,
                None => line.committed.as_second() >= after.created.as_second(),
            };
            if before.is_some() && !is_since {
                break;
            }
            if let Some(rules) = rules_at(reader.workspace, commit)?
                && older.last().is_none_or(|last| !Rc::ptr_eq(last, &rules))
            {
                older.push(rules);
            }
            // The task may have been created under the rules of the last commit before.
            if !is_since {
                break;
            }
            next = line.parents.first().copied();
        }
        Ok(older)
    }

    /// Returns whether the rules that the commit brings allow the entries.
    fn is_allowed_by_its_rules(
        &self,
        reader: &CommitReader<'_>,
        before: Option<&Task>,
        after: &Task,
    ) -> Result<bool, ProjectError> {
        if !touches_rules(self.changed) {
            return Ok(false);
        }
        let brought = rules_at(reader.workspace, self.entry.id)?;
        Ok(brought
            .is_some_and(|brought| prove_squash(&[&brought, self.rules], before, after).is_ok()))
    }

    /// Judges acceptance tests that were changed together with an entry that met them: which of the two came first is unknown.
    fn judge_tests(
        &self,
        reader: &CommitReader<'_>,
        (before, after): (Option<&Task>, &Task),
        files: &ChangedTask,
    ) -> Result<Option<RuleBreach>, ProjectError> {
        let known = before.map_or(0, |before| before.history.len());
        let passed =
            (known..after.history.len()).find(|place| after.history[*place].checks.tests.is_some());
        let versions = (files.before.first(), files.after.first());
        let (Some(place), (Some(was), Some(is))) = (passed, versions) else {
            return Ok(None);
        };
        let parent = self.entry.parents.first().copied();
        let was = parent.map(|parent| tests_of(reader, self.rules, parent, &after.id, was));
        let is = tests_of(reader, self.rules, self.entry.id, &after.id, is)?;
        let expected = "tests that were there before the entry that met them".to_owned();
        let found = format!("entry {}, and other tests in the same commit", place + 1);
        Ok((was.transpose()?.flatten() != is).then_some((BrokenRule::NotAllowed, expected, found)))
    }
}

fn description(proved: &SquashProof) -> String {
    let SquashProof { entries, older, unknown_ways } = proved;
    let mut text = match entries {
        0 => "a new task, opened and claimed".to_owned(),
        _ => format!("{} at once, each of which the rules allow", entry_count(*entries)),
    };
    if !older.is_empty() {
        text.push_str(&format!("; {} under older rules", older.len()));
    }
    match unknown_ways {
        0 => {}
        1 => text.push_str("; 1 way not known"),
        ways => text.push_str(&format!("; {ways} ways not known")),
    }
    text
}

/// Returns whether the files of the task are in the commit as before the squash.
fn has_files(
    repository: &Repository,
    commit: CommitId,
    files: &ChangedTask,
) -> Result<bool, ProjectError> {
    for (path, content) in &files.before {
        if repository.blob_id(commit, path)? != Some(*content) {
            return Ok(false);
        }
    }
    Ok(!files.before.is_empty())
}

/// Returns the acceptance tests of a task's version in that commit, with those of the file that it names; `None` if they are invalid.
fn tests_of(
    reader: &CommitReader<'_>,
    rules: &Rules,
    commit: CommitId,
    id: &TaskId,
    (path, version): &(String, ObjectId),
) -> Result<Option<Vec<AcceptanceTest>>, ProjectError> {
    let repository = &reader.workspace.repository;
    let workflow = rules.project.default_workflow.clone();
    let defaults = Defaults { workflow, created: Timestamp::UNIX_EPOCH };
    let Ok(file) = task_file::parse(&repository.read_blob(*version)?, id, &defaults) else {
        return Ok(None);
    };
    Ok(tests_in_commit(repository, commit, &path.parse()?, &file).ok())
}
