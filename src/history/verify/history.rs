//! Judges a history: every commit by its parent and the rules in force there. Reads only git, and changes nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::commit::judge_commit;
use super::commit_reader::{CommitReader, longest};
use super::finding::{
    BrokenRule, CommitJudgement, HistoryFinding, LandedEntry, short, visit_summary,
};
use crate::domain::ssh::trusted_keys::TrustedKeys;
use crate::domain::{Task, TaskId, Visit};
use crate::git::{CommitId, HistoryOverride, Repository};
use crate::history::commit_tasks::{KnownTasks, changed_tasks, doubled, doubled_by};
use crate::project::active_rules::{default_rules, rules_at};
use crate::project::error::{Named, ProjectError};
use crate::project::rule_files::rule_blobs;
use crate::project::workspace::{Workspace, process_in_parallel};
use crate::rules::prover::{MOST_STATES, PromiseReport, ProofVerdict, prove_promises};

/// The commits to judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Range {
    pub from: RangeStart,
    /// The last commit.
    pub until: String,
}

/// The start of a range of commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RangeStart {
    /// The first commit.
    Beginning,
    /// After this commit, which must be an ancestor: commits that were judged before must not change.
    Ancestor(String),
    /// All commits that are not in the history of this one, as in `A..B`.
    Excluding(String),
}

/// The judgement of a history.
#[derive(Debug, Default)]
pub(crate) struct Verification {
    pub commits: usize,
    /// The number of changes of tasks in the commits.
    pub changes: usize,
    /// The number of changes that name the rules by the hash of another version of aof.
    pub renamed: usize,
    /// Oldest first.
    pub findings: Vec<HistoryFinding>,
    /// The landings of the judged entries, oldest first.
    pub landed: Vec<LandedEntry>,
    /// The commits at which a shallow history ends.
    pub ends: Vec<CommitId>,
    /// Settings by which git shows another history than the judged one.
    pub history_overrides: Vec<HistoryOverride>,
}

impl Verification {
    /// Returns the faults that no authorized person has corrected since.
    pub(crate) fn open(&self) -> impl Iterator<Item = &HistoryFinding> {
        self.findings.iter().filter(|finding| finding.covered.is_none() && finding.is_fault())
    }

    /// Makes squashes faults.
    pub(crate) fn refuse_squashes(&mut self) {
        for finding in self.findings.iter_mut().filter(|one| one.rule == BrokenRule::Squashed) {
            finding.is_refused = true;
        }
    }

    /// Returns the judgement for `--json`.
    pub(crate) fn value(&self) -> Value {
        let tasks: BTreeSet<_> = self.open().filter_map(|finding| finding.task.as_ref()).collect();
        json!({
            "ok": self.open().next().is_none(),
            "commits": self.commits,
            "changes": self.changes,
            "otherHashes": self.renamed,
            "findings": self.findings,
            "landed": self.landed,
            "tasks": tasks.into_iter().map(TaskId::as_str).collect::<Vec<_>>(),
            "shallow": self.ends,
            "ignored": self.history_overrides.iter().map(|kind| kind.word()).collect::<Vec<_>>(),
        })
    }
}

/// Judges the commits of a range, and signatures by the keys in the commit before and by those of `anchor`, if given. Fails if the range
/// names no commits.
pub(crate) fn verify(
    workspace: &Workspace,
    range: &Range,
    anchor: Option<&TrustedKeys>,
) -> Result<Verification, ProjectError> {
    let repository = &workspace.repository;
    let named = |name: &str| {
        let (kind, given, known) = (Named::Commit, name.to_owned(), Vec::new());
        repository.commit_named(name)?.ok_or(ProjectError::Unknown { kind, given, known })
    };
    if range.until.starts_with('.') {
        return Err(ProjectError::Unfit {
            code: "bad_range",
            problem: "`...` names what two commits do not share, which is no stretch of history"
                .to_owned(),
            fix: "write `A..B`".into(),
        });
    }
    if range.until == "HEAD" && repository.head_for_reading()?.commit.is_none() {
        return Ok(Verification::default());
    }
    let until = named(&range.until)?;
    match &range.from {
        RangeStart::Beginning => verify_commits(workspace, &[], until, anchor),
        RangeStart::Excluding(other) => verify_commits(workspace, &[named(other)?], until, anchor),
        RangeStart::Ancestor(from) => {
            let from = named(from)?;
            let mut verified = verify_commits(workspace, &[from], until, anchor)?;
            verified.findings.extend(forced(repository, from, until)?);
            let lost = superseded(workspace, (from, until), None, &verified.findings)?;
            verified.findings.extend(lost);
            Ok(verified)
        }
    }
}

/// Judges the commits in the history of `until` that are not in that of `since`.
pub(crate) fn verify_commits(
    workspace: &Workspace,
    since: &[CommitId],
    until: CommitId,
    anchor: Option<&TrustedKeys>,
) -> Result<Verification, ProjectError> {
    let repository = &workspace.repository;
    let reach = repository.commits_between(since, until)?;
    let mut verified = Verification {
        commits: reach.commits.len(),
        ends: reach.ends,
        history_overrides: repository.history_overrides()?,
        ..Verification::default()
    };
    let mut notable: Vec<(CommitId, CommitJudgement)> = Vec::new();
    let judge = |workspace: &Workspace, share: &[CommitId]| {
        let mut reader = CommitReader::new(workspace);
        let judged = |commit: &CommitId| Ok((*commit, judge_commit(&mut reader, anchor, *commit)?));
        share.iter().map(judged).collect()
    };
    let mut take = |(commit, judged): (CommitId, CommitJudgement)| {
        verified.changes += judged.changes;
        verified.renamed += judged.renamed;
        let (found, landed) = (judged.findings.len(), judged.landed.len());
        let counts = [found, landed, judged.overridden.len(), judged.mended.len()];
        if counts != [0; 4] {
            notable.push((commit, judged));
        }
        Ok(ControlFlow::Continue(()))
    };
    let _ = process_in_parallel(workspace, &reach.commits, judge, &mut take)?;
    note_corrections(workspace, &mut notable)?;
    for finding in doubled_tasks(workspace, until)? {
        let is_known = |known: &HistoryFinding| {
            (known.rule, known.commit, &known.task)
                == (BrokenRule::Doubled, finding.commit, &finding.task)
        };
        if !notable.iter().any(|(_, judged)| judged.findings.iter().any(is_known)) {
            let commit = finding.commit;
            notable.push((
                commit,
                CommitJudgement { findings: vec![finding], ..CommitJudgement::default() },
            ));
        }
    }
    notable
        .sort_by_cached_key(|(commit, _)| reach.commits.iter().position(|known| known == commit));
    verified.landed = notable.iter().flat_map(|(_, judged)| judged.landed.clone()).collect();
    verified.findings = notable.into_iter().flat_map(|(_, judged)| judged.findings).collect();
    Ok(verified)
}

/// Notes the later commits that corrected findings: the authorized person who moved the task with a reason has seen its state.
fn note_corrections(
    workspace: &Workspace,
    notable: &mut [(CommitId, CommitJudgement)],
) -> Result<(), ProjectError> {
    let (mut overridden, mut mended) = (HashMap::new(), HashMap::new());
    for (commit, judged) in notable.iter_mut().rev() {
        for finding in &mut judged.findings {
            let by = match finding.rule {
                BrokenRule::MovedByHand | BrokenRule::WrongResult | BrokenRule::NotAllowed => {
                    &overridden
                }
                BrokenRule::Unreadable | BrokenRule::SaidByHand => &mended,
                _ => continue,
            };
            let later = finding.task.as_ref().and_then(|task| by.get(task).copied());
            // A commit on another branch has not seen the finding.
            if let Some(later) = later
                && workspace.repository.is_ancestor(*commit, later)?
            {
                finding.covered = Some(later);
            }
        }
        overridden.extend(judged.overridden.iter().map(|task| (task.clone(), *commit)));
        mended.extend(judged.mended.iter().map(|task| (task.clone(), *commit)));
    }
    Ok(())
}

/// Returns a finding for each task that still has several files, with the commit that added the second one.
fn doubled_tasks(
    workspace: &Workspace,
    until: CommitId,
) -> Result<Vec<HistoryFinding>, ProjectError> {
    let repository = &workspace.repository;
    let findings = doubled(repository, until)?.into_iter().map(|(id, path)| {
        let entry = repository.log_entry(doubled_by(repository, &id, until)?)?;
        let found = short(&format!("`{path}` besides another one"));
        Ok(HistoryFinding::new(&entry, Some(&id), BrokenRule::Doubled, "one file of a task", found))
    });
    findings.collect()
}

/// Returns a finding if the branch has lost commits.
pub(crate) fn forced(
    repository: &Repository,
    old: CommitId,
    new: CommitId,
) -> Result<Option<HistoryFinding>, ProjectError> {
    if repository.is_ancestor(old, new)? {
        return Ok(None);
    }
    let left = repository.commits_between(&[new], old)?;
    let count = left.commits.len() + left.ends.len();
    let commits = if count == 1 { "1 commit".to_owned() } else { format!("{count} commits") };
    let expected = format!("a branch that goes on from commit {}", &old.to_string()[..7]);
    let found = format!("one that leaves {commits} of it behind");
    Ok(Some(HistoryFinding::new(
        &repository.log_entry(new)?,
        None,
        BrokenRule::Forced,
        expected,
        found,
    )))
}

/// Returns the promises that the rules of the new commit break, if they are not the rules of the old one.
pub(crate) fn broken_promises(
    workspace: &Workspace,
    old: Option<CommitId>,
    new: CommitId,
) -> Result<Vec<HistoryFinding>, ProjectError> {
    let repository = &workspace.repository;
    let files = rule_blobs(repository, new)?;
    if old.map(|old| rule_blobs(repository, old)).transpose()?.is_some_and(|known| known == files) {
        return Ok(Vec::new());
    }
    let Some(rules) = rules_at(workspace, new)? else { return Ok(Vec::new()) };
    let entry = repository.log_entry(new)?;
    let finding = |broken: PromiseReport| {
        let expected = format!("rules that keep promise `{}`", broken.name);
        let rule = BrokenRule::BrokenPromise;
        let story: Vec<String> = broken.story.into_iter().map(|act| act.text).collect();
        let story = story.join("; ");
        HistoryFinding::new(&entry, None, rule, expected, story)
    };
    let judged = prove_promises(&rules, MOST_STATES).into_iter();
    Ok(judged.filter(|one| one.verdict == ProofVerdict::Refuted).map(finding).collect())
}

/// Returns the entries of the old commit that the new one lacks, unless another finding reports that: a merge may have replaced them,
/// though the rules allow each commit by itself. Entries that the main branch decided differently do not count.
pub(crate) fn superseded(
    workspace: &Workspace,
    (old, new): (CommitId, CommitId),
    main: Option<CommitId>,
    known: &[HistoryFinding],
) -> Result<Vec<HistoryFinding>, ProjectError> {
    let repository = &workspace.repository;
    if !repository.is_ancestor(old, new)? {
        return Ok(Vec::new());
    }
    let rules = rules_at(workspace, old)?.map_or_else(default_rules, Ok)?;
    let entry = repository.log_entry(new)?;
    let mut tasks = KnownTasks::default();
    let mut decided = match main.filter(|main| *main != old) {
        Some(main) => changed_tasks(&repository.changed_between(old, main)?),
        None => BTreeMap::default(),
    };
    let mut wrong = Vec::new();
    for (id, files) in changed_tasks(&repository.changed_between(old, new)?) {
        let is_known = |wrong: &HistoryFinding| {
            let is_loss = matches!(
                wrong.rule,
                BrokenRule::Removed | BrokenRule::Rewritten | BrokenRule::LostInMerge
            );
            is_loss && wrong.task.as_ref() == Some(&id)
        };
        if known.iter().any(is_known) {
            continue;
        }
        let mut read = |versions: &[(String, _)]| -> Result<_, ProjectError> {
            let mut all = Vec::new();
            for (_, content) in versions {
                all.extend(tasks.read(workspace, (&id, *content), &rules, entry.committed)?);
            }
            Ok(longest(all))
        };
        let (Some(before), Some(after)) = (read(&files.before)?, read(&files.after)?) else {
            continue;
        };
        let Some((place, lost)) =
            before.history.iter().enumerate().find(|(_, entry)| !has_entry(&after, entry))
        else {
            continue;
        };
        let elsewhere = match decided.remove(&id) {
            Some(files) => read(&files.after)?,
            None => None,
        };
        if elsewhere.is_some_and(|main| main.history.get(place).is_some_and(|entry| entry != lost))
        {
            continue;
        }
        let found = match after.history.get(place) {
            Some(other) => format!("{} in its place", visit_summary(other)),
            None => "none in its place".to_owned(),
        };
        let expected = format!(
            "entry {}, {}, as commit {} has it",
            place + 1,
            visit_summary(lost),
            &old.to_string()[..7]
        );
        wrong.push(HistoryFinding::new(
            &entry,
            Some(&id),
            BrokenRule::SupersededShared,
            short(&expected),
            short(&found),
        ));
    }
    Ok(wrong)
}

/// Returns whether a task has an entry, or one of the same completion that was decided again.
fn has_entry(task: &Task, entry: &Visit) -> bool {
    let is_same = |other: &Visit| {
        other == entry || entry.completion.is_some() && other.completion == entry.completion
    };
    task.history.iter().any(is_same)
}
