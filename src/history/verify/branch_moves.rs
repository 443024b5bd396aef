//! Judges the move of a branch from one commit to another: it loses no commits, and what was shared first stands.

use std::collections::BTreeMap;

use super::commit_reader::longest;
use super::finding::{BrokenRule, HistoryFinding};
use super::words::{named, short};
use crate::domain::{Task, Visit};
use crate::git::{CommitId, Repository};
use crate::history::task_reader::KnownTasks;
use crate::history::touched_tasks::touched;
use crate::project::active_rules::{rules_at, stand_in};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;

/// Returns what is wrong with a branch that leaves commits behind which it had.
pub(crate) fn forced(
    repository: &Repository,
    old: CommitId,
    new: CommitId,
) -> Result<Option<HistoryFinding>, ProjectError> {
    if repository.led_to(old, new)? {
        return Ok(None);
    }
    let left = repository.all_since(&[new], old)?;
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

/// Returns which entries of the old commit the new one lacks, where no other finding says so: a merge may have put others in their
/// place, though each commit by itself is as the rules allow. Entries that the main branch decided otherwise do not count.
pub(crate) fn superseded(
    workspace: &Workspace,
    (old, new): (CommitId, CommitId),
    main: Option<CommitId>,
    known: &[HistoryFinding],
) -> Result<Vec<HistoryFinding>, ProjectError> {
    let repository = &workspace.repository;
    if !repository.led_to(old, new)? {
        return Ok(Vec::new());
    }
    let rules = rules_at(workspace, old)?.map_or_else(stand_in, Ok)?;
    let entry = repository.log_entry(new)?;
    let mut tasks = KnownTasks::default();
    let mut decided = match main.filter(|main| *main != old) {
        Some(main) => touched(&repository.changed_between(old, main)?),
        None => BTreeMap::default(),
    };
    let mut wrong = Vec::new();
    for (id, own) in touched(&repository.changed_between(old, new)?) {
        let is_told = |wrong: &HistoryFinding| {
            let tells = matches!(
                wrong.rule,
                BrokenRule::Removed | BrokenRule::Rewritten | BrokenRule::LostInMerge
            );
            tells && wrong.task.as_ref() == Some(&id)
        };
        if known.iter().any(is_told) {
            continue;
        }
        let mut read = |versions: &[(String, _)]| -> Result<_, ProjectError> {
            let mut all = Vec::new();
            for (_, content) in versions {
                all.extend(tasks.read(workspace, (&id, *content), &rules, entry.committed)?);
            }
            Ok(longest(all))
        };
        let (Some(before), Some(after)) = (read(&own.before)?, read(&own.after)?) else { continue };
        let Some((place, lost)) =
            before.history.iter().enumerate().find(|(_, own)| !has(&after, own))
        else {
            continue;
        };
        let elsewhere = match decided.remove(&id) {
            Some(own) => read(&own.after)?,
            None => None,
        };
        if elsewhere.is_some_and(|main| main.history.get(place).is_some_and(|own| own != lost)) {
            continue;
        }
        let found = match after.history.get(place) {
            Some(other) => format!("{} in its place", named(other)),
            None => "none in its place".to_owned(),
        };
        let expected = format!(
            "entry {}, {}, as commit {} has it",
            place + 1,
            named(lost),
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

/// Returns whether a task has an entry: what was decided again on top of something else is the same completion.
fn has(task: &Task, entry: &Visit) -> bool {
    let is_same = |own: &Visit| {
        own == entry || entry.completion.is_some() && own.completion == entry.completion
    };
    task.history.iter().any(is_same)
}
