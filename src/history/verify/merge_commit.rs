//! Judges a merge: each task must be the result of merging by the rules, and no side may lose entries.

use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use super::children;
use super::commit_reader::{CommitReader, Remerge, is_new, longest};
use super::finding::{
    BrokenRule, CommitJudgement, HistoryFinding, OWN_TRAILERS, entry_count, short, visit_summary,
};
use super::signatures;
use crate::domain::ssh::trusted_keys::TrustedKeys;
use crate::domain::{Status, Task, TaskId, Timestamp, Visit};
use crate::files::config::configuration::RuleFile;
use crate::files::task_file;
use crate::files::task_file::Defaults;
use crate::git::log::trailers;
use crate::git::log::trailers::Trailer;
use crate::git::{CommitId, Comparison, LogEntry, ObjectId, Repository, merge_texts_by};
use crate::history::commit_tasks::{
    ChangedTask, SUPERSEDED, TaskFileVersion, changed_tasks, is_of_another_project,
    superseded_trailer,
};
use crate::project::error::ProjectError;
use crate::project::named_branch::has_moved_away;
use crate::rules::{Rules, same_engine_fields};

/// A task in a merge that differs from some of the parents.
struct MergedTask<'c> {
    entry: &'c LogEntry,
    rules: &'c Rules,
    id: &'c TaskId,
    sides: &'c [(CommitId, ChangedTask)],
    /// The task in those parents that had adopted it.
    had: Vec<(CommitId, Rc<Task>)>,
    after: Rc<Task>,
}

pub(crate) fn judge_merge(
    reader: &mut CommitReader<'_>,
    anchor: Option<&TrustedKeys>,
    entry: &LogEntry,
) -> Result<CommitJudgement, ProjectError> {
    let mut judged = CommitJudgement::default();
    let mut all: BTreeMap<TaskId, Vec<(CommitId, ChangedTask)>> = BTreeMap::new();
    let repository = &reader.workspace.repository;
    for parent in entry.parents.iter().filter(|parent| repository.has_commit(**parent)) {
        for (id, files) in changed_tasks(&repository.changed_between(*parent, entry.id)?) {
            all.entry(id).or_default().push((*parent, files));
        }
    }
    for (id, sides) in &mut all {
        if sides.iter().all(|(_, files)| files.after.is_empty()) {
            let left = reader.files.of_task(repository, entry.id, id)?;
            for (_, files) in sides {
                files.add_unchanged(left);
            }
        }
    }
    let is_removal = |(_, files): &(CommitId, ChangedTask)| files.after.is_empty();
    let has_moved = all.values().any(|sides| sides.iter().all(is_removal))
        && has_moved_away(repository, entry.id, &entry.parents)?;
    let remerge = Remerge::of(reader, entry)?;
    let mut afters = BTreeMap::new();
    for (id, sides) in &all {
        judged.changes += 1;
        let rules = &*reader.rules(entry)?;
        let mut had = Vec::new();
        for (side, files) in sides {
            let before = longest(reader.read_all(rules, entry, id, &files.before)?);
            had.extend(before.filter(|task| !is_new(task)).map(|task| (*side, task)));
        }
        let first = had.first().map(|(side, _)| side.to_string()[..7].to_owned());
        let mut lost = |rule, expected, found: &str| {
            judged.findings.push(HistoryFinding::new(entry, Some(id), rule, expected, found));
        };
        let Some((_, new)) = sides.iter().find_map(|(_, files)| files.after.first()) else {
            if let Some(side) = first.filter(|_| !has_moved) {
                let expected = format!("the task, as commit {side} has it");
                lost(BrokenRule::LostInMerge, expected, "none");
            }
            continue;
        };
        let Some(after) = reader.read(rules, entry, id, *new)? else {
            if let Some(side) = first {
                let expected = format!("the task, as it comes of what commit {side} has");
                lost(BrokenRule::Unreadable, expected, "a file that cannot be read as a task");
            }
            continue;
        };
        afters.insert(id.clone(), Rc::clone(&after));
        let task = MergedTask { entry, rules, id, sides, had, after };
        judged.findings.extend(task.signatures(reader, anchor, &remerge)?);
        judged.findings.extend(task.finished_by_hand(&reader.workspace.repository, *new)?);
        judged.findings.extend(task.judge_state(reader, &remerge)?);
        let had = |parent: CommitId, visit: &Visit| {
            let known = task.had.iter().find(|(side, _)| *side == parent);
            match known {
                Some((_, known)) => known.history.contains(visit),
                None => task.sides.iter().all(|(side, _)| *side != parent),
            }
        };
        judged.findings.extend(children::judge_merge(reader, rules, entry, &task.after, had)?);
    }
    let repository = &reader.workspace.repository;
    judged.findings.extend(judge_rules(repository, entry, &remerge)?);
    judged.findings.extend(judge_trailers(reader, entry, &remerge, &afters)?);
    Ok(judged)
}

/// Returns the result of merging a task by the rules, if its file cannot be read. Of several results, prefers the one that equals the
/// current state.
pub(crate) fn task_after(
    reader: &mut CommitReader<'_>,
    entry: &LogEntry,
    id: &TaskId,
    now: &Task,
) -> Result<Option<Rc<Task>>, ProjectError> {
    let all = Remerge::of(reader, entry)?.merged(reader, entry, id, now)?;
    // The file does not show which of two edits was later.
    let mut all: Vec<Task> =
        all.into_iter().map(|merged| Task { updated: now.updated, ..merged.task }).collect();
    let place = all.iter().position(|task| same_engine_fields(task, now)).unwrap_or_default();
    Ok((place < all.len()).then(|| Rc::new(all.swap_remove(place))))
}

/// Returns the finished status that a never adopted file claims, and did not claim before. The engine ignores it, but readers of the
/// file may not.
pub(crate) fn finished_by_hand<'v>(
    repository: &Repository,
    rules: &Rules,
    id: &TaskId,
    before: impl IntoIterator<Item = &'v TaskFileVersion>,
    after: ObjectId,
) -> Result<Option<String>, ProjectError> {
    let workflow = &rules.project.default_workflow;
    let finished = |version: ObjectId| -> Result<Option<Status>, ProjectError> {
        let defaults = Defaults { workflow: workflow.clone(), created: Timestamp::UNIX_EPOCH };
        let Ok(file) = task_file::parse(&repository.read_blob(version)?, id, &defaults) else {
            return Ok(None);
        };
        let status = file.field("status").and_then(|node| node.as_str()?.parse::<Status>().ok());
        Ok(status.filter(|status| status.is_finished()))
    };
    let Some(now) = finished(after)? else { return Ok(None) };
    for (_, version) in before {
        if finished(*version)? == Some(now) {
            return Ok(None);
        }
    }
    Ok(Some(format!("`status: {now}`, and no entry")))
}

impl MergedTask<'_> {
    fn finding(&self, rule: BrokenRule, expected: String, found: String) -> HistoryFinding {
        HistoryFinding::new(self.entry, Some(self.id), rule, expected, found)
    }

    /// Returns whether the task differs from all parents.
    fn differs_from_all(&self) -> bool {
        self.sides.len() == self.entry.parents.len()
    }

    /// Judges the signatures of entries that the merge decided again, and of those that are new to the first parent.
    fn signatures(
        &self,
        reader: &CommitReader<'_>,
        anchor: Option<&TrustedKeys>,
        remerge: &Remerge,
    ) -> Result<Vec<HistoryFinding>, ProjectError> {
        let history = &self.after.history;
        let places = 0..history.len();
        let is_new = |place: &usize| {
            self.had.iter().all(|(_, task)| !task.history.contains(&history[*place]))
        };
        let judged = (self.rules, self.entry);
        let anew: Vec<usize> =
            places.clone().filter(|_| self.differs_from_all()).filter(is_new).collect();
        let mut findings =
            signatures::judge_entries(anchor, judged, self.id, &self.after, anew.iter().copied());
        let Some(first) = self.entry.parents.first() else { return Ok(findings) };
        if self.sides.iter().all(|(side, _)| side != first) {
            return Ok(findings);
        }
        let ours = self.had.iter().find(|(side, _)| side == first);
        let is_theirs = |place: &usize| {
            !anew.contains(place)
                && ours.is_none_or(|(_, task)| !task.history.contains(&history[*place]))
        };
        let brought: Vec<usize> = places.filter(is_theirs).collect();
        // Entries of the other side were judged with its own commits, unless keys have changed in the first parent since.
        let workspace = reader.workspace;
        let judged_by = (&*self.after, brought);
        let brought =
            signatures::with_newer_keys(workspace, remerge, *first, self.rules, judged_by)?;
        let by_keys = signatures::judge_entries(None, judged, self.id, &self.after, brought);
        findings
            .extend(by_keys.into_iter().filter(|finding| finding.rule != BrokenRule::BadSignature));
        Ok(findings)
    }

    /// Judges a never adopted file whose status no side had.
    fn finished_by_hand(
        &self,
        repository: &Repository,
        new: ObjectId,
    ) -> Result<Option<HistoryFinding>, ProjectError> {
        if !is_new(&self.after) || !self.had.is_empty() || !self.differs_from_all() {
            return Ok(None);
        }
        let before = self.sides.iter().flat_map(|(_, files)| &files.before);
        let found = finished_by_hand(repository, self.rules, self.id, before, new)?;
        let expected = "a task that the engine finished, with its entries".to_owned();
        Ok(found.map(|found| self.finding(BrokenRule::SaidByHand, expected, found)))
    }

    /// Judges the state of the task: as the rules merge it, or otherwise as all sides had it.
    fn judge_state(
        &self,
        reader: &mut CommitReader<'_>,
        remerge: &Remerge,
    ) -> Result<Vec<HistoryFinding>, ProjectError> {
        if remerge.is_cut_off {
            return Ok(Vec::new());
        }
        let all = remerge.merged(reader, self.entry, self.id, &self.after)?;
        let Some(first) = all.first() else {
            let lost = self
                .find_loss()
                .map(|(expected, found)| self.finding(BrokenRule::LostInMerge, expected, found));
            return Ok(lost.into_iter().collect());
        };
        let Some(merged) = all.iter().find(|merged| same_engine_fields(&merged.task, &self.after))
        else {
            let (mut expected, mut found) = (describe(&first.task), describe(&self.after));
            if expected == found {
                expected.push_str(", as the rules merge it");
                "something else of what the engine keeps".clone_into(&mut found);
            }
            return Ok(vec![self.finding(BrokenRule::LostInMerge, expected, found)]);
        };
        let trailers = trailers::parse(&self.entry.message);
        let superseded = merged.superseded.iter().filter_map(superseded_trailer);
        let unlisted = superseded.filter(|trailer| !trailers.contains(trailer)).map(|trailer| {
            let found = "no trailer that says so".to_owned();
            self.finding(BrokenRule::Unlisted, short(&trailer.to_string()), found)
        });
        Ok(unlisted.collect())
    }

    /// Returns the difference of the task from all sides; `None` if there is none.
    fn find_loss(&self) -> Option<(String, String)> {
        let after = &*self.after;
        for (side, before) in &self.had {
            if !after.history.starts_with(&before.history) {
                let had = entry_count(before.history.len());
                let expected = format!("the {had} that commit {} has", &side.to_string()[..7]);
                return Some((expected, format!("{}, others", entry_count(after.history.len()))));
            }
        }
        // Either side's update time is fine.
        let timeless = |task: &Task| Task { updated: task.created, ..task.clone() };
        let is_as_one_side = is_new(after)
            || !self.differs_from_all()
            || self.had.iter().any(|(_, had)| same_engine_fields(&timeless(had), &timeless(after)));
        let lost = ("the task as one side had it", "a state that no side had");
        (!is_as_one_side).then(|| (lost.0.to_owned(), lost.1.to_owned()))
    }
}

/// Describes the state of a task, and the length of its history.
fn describe(task: &Task) -> String {
    let at = task.gate.as_ref().map_or_else(String::new, |open| format!(" at {}", open.current));
    let by = task
        .history
        .last()
        .map_or_else(String::new, |visit| format!(", the last one {}", visit_summary(visit)));
    short(&format!("{}{at}, with {}{by}", task.status, entry_count(task.history.len())))
}

/// Judges the trailers of a merge: it has none of an engine's step, and lists only entries that it superseded. A person's merge need not
/// list any.
fn judge_trailers(
    reader: &mut CommitReader<'_>,
    entry: &LogEntry,
    remerge: &Remerge,
    afters: &BTreeMap<TaskId, Rc<Task>>,
) -> Result<Vec<HistoryFinding>, ProjectError> {
    let trailers = trailers::parse(&entry.message);
    let wrong = |expected: &str, found: &Trailer| {
        let found = short(&format!("`{found}`"));
        HistoryFinding::new(entry, None, BrokenRule::WrongTrailer, expected, found)
    };
    let of_steps = trailers.iter().filter(|trailer| OWN_TRAILERS.contains(&trailer.key()));
    let mut all: Vec<HistoryFinding> =
        of_steps.map(|trailer| wrong("a merge, which does no step itself", trailer)).collect();
    let mut superseded = trailers.iter().filter(|trailer| trailer.key() == SUPERSEDED).peekable();
    if superseded.peek().is_none() || remerge.is_cut_off {
        return Ok(all);
    }
    let known = remerge.superseded(reader, entry, afters)?;
    for trailer in superseded.filter(|trailer| !known.contains(trailer.value())) {
        let named = trailer.value().split('@').next().unwrap_or_default();
        // The entry may belong to another project of the repository.
        let is_here = afters.keys().any(|id| id.as_str() == named);
        if is_here || !is_of_another_project(&reader.workspace.repository, entry, named)? {
            all.push(wrong("an entry that the merge superseded", trailer));
        }
    }
    Ok(all)
}

/// The content of a file; `None` if it does not exist.
type Content = Option<Vec<u8>>;

/// Judges the rule files: each must be the merge of the sides.
fn judge_rules(
    repository: &Repository,
    entry: &LogEntry,
    remerge: &Remerge,
) -> Result<Vec<HistoryFinding>, ProjectError> {
    let mut files: BTreeMap<String, (usize, Option<ObjectId>)> = BTreeMap::new();
    // If two changes conflict, any line of a side is allowed.
    let mut lines = SideLines::default();
    for parent in entry.parents.iter().filter(|parent| repository.has_commit(**parent)) {
        for file in repository.changed_between(*parent, entry.id)? {
            if RuleFile::at(&file.path).is_none() {
                continue;
            }
            lines.add(file.before.map(|id| repository.read_blob(id)).transpose()?);
            let merged = files.entry(file.path).or_insert((0, file.after));
            merged.0 += 1;
        }
    }
    let mut wrong = Vec::new();
    for (path, (sides, after)) in files {
        if let Some(expected) = expected_rules(repository, entry, remerge, &path, sides)?
            && !expected.allow(after.map(|id| repository.read_blob(id)).transpose()?, &lines)
        {
            let words = short(&format!("`{path}` as it comes of both sides"));
            let found = if sides < entry.parents.len() {
                "what one side says alone, without what the other one changed"
            } else {
                "something that no side says; the rules change in commits of their own"
            };
            wrong.push(HistoryFinding::new(entry, None, BrokenRule::RulesInMerge, words, found));
        }
    }
    Ok(wrong)
}

/// The allowed results for a rule file.
#[derive(Default)]
struct ExpectedRules {
    /// These contents.
    whole: Vec<Content>,
    /// True if any text made of lines of the sides is allowed.
    disputed: bool,
}

impl ExpectedRules {
    fn allow(&self, after: Content, lines: &SideLines) -> bool {
        self.whole.contains(&after) || self.disputed && after.is_none_or(|after| lines.hold(&after))
    }
}

/// Returns the allowed results for a rule file; `None` if it is as a side had it, and no merge base is known.
fn expected_rules(
    repository: &Repository,
    entry: &LogEntry,
    remerge: &Remerge,
    path: &str,
    sides: usize,
) -> Result<Option<ExpectedRules>, ProjectError> {
    let mut expected = ExpectedRules::default();
    let bases: Vec<_> = remerge.bases().collect();
    let (&[ours, theirs], false) = (&entry.parents[..], bases.is_empty()) else {
        return Ok(
            (sides == entry.parents.len()).then_some(ExpectedRules { disputed: true, ..expected })
        );
    };
    let read = |commit| repository.read(commit, path);
    let (ours, theirs) = (read(ours)?, read(theirs)?);
    for base in bases {
        let base = read(base)?;
        match (&base, &ours, &theirs) {
            _ if ours == theirs || theirs == base => expected.whole.push(ours.clone()),
            _ if ours == base => expected.whole.push(theirs.clone()),
            (Some(base), Some(ours), Some(theirs)) => {
                // Git compares by histogram, or as configured. If lines repeat, there are several answers.
                let mut answers = Vec::new();
                for by in [Comparison::Shortest, Comparison::Minimal, Comparison::Unique] {
                    let both = merge_texts_by(base, ours, theirs, by)?;
                    expected.disputed |=
                        !both.agree() || answers.iter().any(|answer| *answer != both.ours);
                    answers.push(both.ours);
                }
                expected.whole.extend(answers.into_iter().map(Some));
            }
            _ => expected.disputed = true,
        }
        // A file that one side added may be a renamed one of the other side.
        expected.disputed |= base.is_none() && ours != theirs;
    }
    Ok(Some(expected))
}

/// The lines of all sides.
#[derive(Default)]
struct SideLines(HashSet<Vec<u8>>);

impl SideLines {
    fn add(&mut self, content: Content) {
        let content = content.unwrap_or_default();
        self.0.extend(
            content.split(|byte| *byte == b'\n').map(|line| line.trim_ascii_end().to_vec()),
        );
    }

    fn hold(&self, content: &[u8]) -> bool {
        content
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::trim_ascii_end)
            .all(|line| line.is_empty() || self.0.contains(line))
    }
}
