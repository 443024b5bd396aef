//! Steps that a git which was overtaken took off the branch: told, with what puts them back, and put back where nothing has happened
//! since.

use std::collections::BTreeSet;

use super::attention::{Attention, some};
use super::error::OpsError;
use super::workspace::Workspace;
use crate::audit::{CommitId, Head, LogEntry, TakenBack, trailers};
use crate::store::tasks;

/// More commits than that are named by where they begin and end.
const FEW: usize = 3;

/// Returns what is to be put back. What the files still have is not: that is committed again like any edit.
pub(super) fn taken_back(workspace: &Workspace, head: &Head) -> Result<Vec<TakenBack>, OpsError> {
    let mut lost = Vec::new();
    for one in workspace.repository.taken_back(head)? {
        if !is_untouched(&one, head) || !files_have(workspace, &one)? {
            lost.push(one);
        }
    }
    Ok(lost)
}

fn files_have(workspace: &Workspace, one: &TakenBack) -> Result<bool, OpsError> {
    let files = workspace.repository.came_to(&one.steps)?;
    Ok(files.iter().all(|(path, after)| {
        let here = path.parse().ok().and_then(|path| tasks::read(&workspace.paths, &path).ok());
        match (here, after) {
            (Some(here), Some(after)) => workspace.repository.is_same_text(&here.bytes, *after),
            (here, after) => here.is_none() && after.is_none(),
        }
    }))
}

/// Says what was taken back, and what to do.
pub(super) fn told(one: &TakenBack, head: &Head) -> Attention {
    let names: Vec<String> = tasks_of(&one.steps);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let count = one.steps.len();
    let steps = if count == 1 { "1 step".to_owned() } else { format!("{count} steps") };
    let fix = if is_untouched(one, head) {
        format!("`git merge --ff-only {}`", short(one.had))
    } else if count > FEW && one.steps[0].parents.first() == Some(&one.has) {
        format!("`git cherry-pick {}..{}`", short(one.has), short(one.had))
    } else {
        let commits: Vec<String> = one.steps.iter().map(|step| short(step.id)).collect();
        format!("`git cherry-pick {}`", commits.join(" "))
    };
    let problem = format!("git was overtaken and moved the branch back over {steps}: {}", some(&names));
    Attention { code: "taken_back", problem, fix }
}

/// Returns whether the branch is still where it was moved to.
fn is_untouched(one: &TakenBack, head: &Head) -> bool {
    head.commit == Some(one.has)
}

fn short(commit: CommitId) -> String {
    commit.to_string()[..12].to_owned()
}

fn tasks_of(steps: &[LogEntry]) -> Vec<String> {
    let said = steps.iter().flat_map(|step| trailers::parse(&step.message));
    let named = said.filter(|one| one.key() == "Aof-Task").map(|one| one.value().to_owned());
    named.collect::<BTreeSet<_>>().into_iter().collect()
}
