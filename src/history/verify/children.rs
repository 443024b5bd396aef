//! Judges the states of children with which a task passed a gate: replay reads them in the entry, and git has the true ones.

use std::collections::BTreeMap;

use super::commit_reader::CommitReader;
use super::finding::{BrokenRule, HistoryFinding, short};
use crate::domain::{Status, Task, TaskId, Visit};
use crate::git::{CommitId, LogEntry};
use crate::project::error::ProjectError;
use crate::rules::{Rules, is_over, passes_children};

type Children = BTreeMap<TaskId, Status>;

/// Compares the children of the entries with those that the parent commit has.
pub(crate) fn judge_entries(
    reader: &mut CommitReader<'_>,
    rules: &Rules,
    entry: &LogEntry,
    after: &Task,
    places: impl IntoIterator<Item = usize>,
) -> Result<Vec<HistoryFinding>, ProjectError> {
    judge(reader, rules, (entry, after), places, |reader, parent, visit| {
        let expected = reader.children(rules, parent, &after.id)?;
        Ok((expected != visit.children).then_some(expected))
    })
}

/// Compares the children of a squash's entries with those of the parent commit and of the squash itself: it may have brought them, and
/// finished them.
pub(crate) fn judge_squash(
    reader: &mut CommitReader<'_>,
    rules: &Rules,
    entry: &LogEntry,
    after: &Task,
    places: impl IntoIterator<Item = usize>,
) -> Result<Vec<HistoryFinding>, ProjectError> {
    judge(reader, rules, (entry, after), places, |reader, parent, visit| {
        let before = reader.children(rules, parent, &after.id)?;
        let there = reader.children(rules, entry.id, &after.id)?;
        let is_known = |(child, status): (&TaskId, &Status)| {
            [&before, &there].into_iter().any(|all| all.get(child) == Some(status))
        };
        let is_left_out =
            |child: &TaskId| there.contains_key(child) && !visit.children.contains_key(child);
        let differs = !visit.children.iter().all(is_known) || before.keys().any(is_left_out);
        Ok(differs.then_some(there))
    })
}

/// Judges the children of the entries that read them. `differ` returns those that were to be expected, if an entry has others.
fn judge<'r>(
    reader: &mut CommitReader<'r>,
    rules: &Rules,
    (entry, after): (&LogEntry, &Task),
    places: impl IntoIterator<Item = usize>,
    differ: impl Fn(&mut CommitReader<'r>, CommitId, &Visit) -> Result<Option<Children>, ProjectError>,
) -> Result<Vec<HistoryFinding>, ProjectError> {
    let mut findings = Vec::new();
    let Some(parent) = known_parent(reader, entry) else { return Ok(findings) };
    for place in places {
        let visit = after.history.get(place).filter(|visit| counts(rules, after, visit));
        let Some(visit) = visit else { continue };
        if let Some(expected) = differ(reader, parent, visit)? {
            findings.push(HistoryFinding::new(
                entry,
                Some(&after.id),
                BrokenRule::ChildrenDiffer,
                format!("in entry {}, {}", place + 1, shown(&expected)),
                shown(&visit.children),
            ));
        }
    }
    Ok(findings)
}

/// Returns the open children that a merge combined with a task that had passed without them. `had` returns whether a parent of the
/// merge has an entry of the task.
pub(crate) fn judge_merge(
    reader: &mut CommitReader<'_>,
    rules: &Rules,
    entry: &LogEntry,
    after: &Task,
    had: impl Fn(CommitId, &Visit) -> bool,
) -> Result<Option<HistoryFinding>, ProjectError> {
    let parents = &entry.parents;
    let mut sides: Vec<CommitId> = Vec::new();
    for visit in after.history.iter().filter(|visit| counts(rules, after, visit)) {
        if parents.iter().any(|parent| !had(*parent, visit)) {
            sides.extend(parents.iter().filter(|parent| had(**parent, visit)));
        }
    }
    let mut open = Children::new();
    if let Some(side) = sides.last() {
        let before = reader.children(rules, *side, &after.id)?;
        open = reader.children(rules, entry.id, &after.id)?;
        // A child that was open on that side already had been reopened there.
        open.retain(|child, status| {
            !is_over(*status)
                && before.get(child).is_none_or(|status_before| is_over(*status_before))
        });
    }
    let expected = "no open children: it has passed a gate that waits for them";
    let (id, rule) = (Some(&after.id), BrokenRule::ChildrenMerged);
    Ok((!open.is_empty()).then(|| HistoryFinding::new(entry, id, rule, expected, shown(&open))))
}

fn known_parent(reader: &CommitReader<'_>, entry: &LogEntry) -> Option<CommitId> {
    let parent = entry.parents.first().copied();
    parent.filter(|parent| reader.workspace.repository.has_commit(*parent))
}

/// Returns whether the entry names children, or passes a gate that waits for them.
fn counts(rules: &Rules, task: &Task, visit: &Visit) -> bool {
    !visit.children.is_empty() || passes_children(rules, task, visit)
}

fn shown(children: &Children) -> String {
    if children.is_empty() {
        return "no children".to_owned();
    }
    let states = children.iter().map(|(child, status)| format!("{child}: {status}"));
    short(&states.collect::<Vec<_>>().join(", "))
}
