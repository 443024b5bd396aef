//! What was shared first stands: where it is known what a branch was, a merge that takes the place of its entries is found, though
//! each commit by itself is as the rules allow.

use std::collections::BTreeMap;

use super::finding::{Broken, Wrong};
use super::judge::longest;
use super::text::{named, short};
use crate::domain::{Task, Visit};
use crate::git::CommitId;
use crate::history::new_commits::known::KnownTasks;
use crate::history::touched_tasks::touched;
use crate::project::active_rules::{rules_at, stand_in};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;

/// Returns which entries of the old commit the new one does not have, where no other finding says so. What the branch that the
/// repository is known by decided otherwise, if it is another one, counts nowhere.
pub(crate) fn superseded(
    workspace: &Workspace,
    (old, new): (CommitId, CommitId),
    main: Option<CommitId>,
    known: &[Wrong],
) -> Result<Vec<Wrong>, OpsError> {
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
        let is_told = |wrong: &Wrong| {
            let tells =
                matches!(wrong.broken, Broken::Removed | Broken::Rewritten | Broken::LostInMerge);
            tells && wrong.task.as_ref() == Some(&id)
        };
        if known.iter().any(is_told) {
            continue;
        }
        let mut read = |versions: &[(String, _)]| -> Result<_, OpsError> {
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
        wrong.push(Wrong::new(
            &entry,
            Some(&id),
            Broken::SupersededShared,
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
