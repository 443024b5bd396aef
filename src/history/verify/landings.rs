//! Landings: the commit that an entry names has the tree that was checked.

use std::ops::Range;

use super::finding::{BrokenRule, HistoryFinding, LandedEntry};
use crate::domain::Task;
use crate::git::{CommitId, LogEntry, Repository};
use crate::project::error::ProjectError;

/// Returns the landings of these entries of a task, and a finding for each whose commit has another tree.
pub(crate) fn judge_entries(
    repository: &Repository,
    entry: &LogEntry,
    task: &Task,
    new: Range<usize>,
) -> Result<(Vec<LandedEntry>, Vec<HistoryFinding>), ProjectError> {
    let (mut entries, mut findings) = (Vec::new(), Vec::new());
    for visit in task.history.get(new).unwrap_or_default() {
        let Some(landing) = &visit.landed else { continue };
        let commit: CommitId = landing.commit.as_str().parse().expect("it is a commit's name");
        let is_here = repository.has_commit(commit);
        if is_here {
            let tree = repository.root_tree(commit)?.to_string();
            if tree != landing.tree.as_str() {
                let expected =
                    format!("commit {commit} with the tree {}, as checked", landing.tree);
                let rule = BrokenRule::LandedOtherwise;
                findings.push(HistoryFinding::new(entry, Some(&task.id), rule, expected, tree));
            }
        }
        entries.push(LandedEntry {
            task: task.id.clone(),
            gate: visit.gate.clone(),
            onto: landing.onto.clone(),
            commit: landing.commit.clone(),
            checks: landing.checks.len(),
            is_here,
        });
    }
    Ok((entries, findings))
}
