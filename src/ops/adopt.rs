//! Task files that people made or edited by hand: taken up, and committed as theirs.

use std::time::Duration;

use super::error::OpsError;
use super::heal::heal_if_pending;
use super::message;
use super::standing::{Pending, Standing};
use super::transaction::{Choice, DryRun, carry_out};
use super::workspace::Workspace;
use crate::engine::{Act, Decision, decide};
use crate::format::task_file::Origin;
use crate::model::TaskId;
use crate::store::FileStat;
use crate::store::tasks::{Entry, walk_active};

/// What was done about the files that people made or edited.
#[derive(Debug, Default)]
pub struct Tended {
    /// Hand-made files that are at their first gate now.
    pub adopted: Vec<TaskId>,
    /// Edits that were committed.
    pub committed: Vec<TaskId>,
    /// Tasks that somebody has to look at, with why.
    pub troubled: Vec<(TaskId, OpsError)>,
    /// Files that were changed too recently: somebody may be at them.
    pub waiting: usize,
}

/// Returns how a hand-made file is put at its first gate.
pub(super) fn choose(workspace: &Workspace, standing: &Standing) -> Result<Choice, OpsError> {
    match decide(&standing.in_force.rules, &standing.file.task, &Act::Open, workspace.now())? {
        Decision::Settled { .. } => Ok(Choice::Settled),
        Decision::Step(step) => Ok(Choice::Step {
            message: message::of_adoption(&step.task),
            author: workspace.repository.author_identity()?,
            authored: step.task.updated,
            step,
        }),
    }
}

/// Takes up hand-made files and commits people's edits that have been quiet for so long.
///
/// `known` remembers the files that had nothing to tend, by what the system says of them, so that a look at ten thousand files
/// opens only those that changed.
pub fn tend(
    workspace: &Workspace,
    quiet: Duration,
    known: &mut std::collections::HashMap<String, FileStat>,
) -> Result<Tended, OpsError> {
    heal_if_pending(workspace)?;
    let commits_edits = workspace.rules()?.rules.project.commit_edits;
    let now = workspace.clock()().as_nanosecond();
    let mut tended = Tended::default();
    for entry in walk_active(&workspace.paths) {
        let Entry::Task(entry) = entry else { continue };
        if known.get(entry.path.as_str()) == Some(&entry.stat) {
            continue;
        }
        let age = now - i128::from(entry.stat.mtime);
        if u128::try_from(age).is_ok_and(|age| age < quiet.as_nanos()) {
            tended.waiting += 1;
            continue;
        }
        match tend_one(workspace, &entry.id, commits_edits) {
            Ok(Tending::Nothing) => {
                known.insert(entry.path.to_string(), entry.stat);
            }
            Ok(Tending::Adopted) => tended.adopted.push(entry.id),
            Ok(Tending::Committed) => tended.committed.push(entry.id),
            Err(error) => {
                // The same trouble is told once, until the file changes.
                known.insert(entry.path.to_string(), entry.stat);
                tended.troubled.push((entry.id, error));
            }
        }
    }
    Ok(tended)
}

enum Tending {
    Nothing,
    Adopted,
    Committed,
}

fn tend_one(workspace: &Workspace, id: &TaskId, commits_edits: bool) -> Result<Tending, OpsError> {
    loop {
        let standing = Standing::read(workspace, id)?.thawed()?;
        let (choice, done) = match (&standing.pending, standing.file.origin) {
            (_, Origin::HandMade) => (choose(workspace, &standing)?, Tending::Adopted),
            (Pending::Version(_), _) if commits_edits => (Choice::Pending, Tending::Committed),
            _ => return Ok(Tending::Nothing),
        };
        if carry_out(workspace, &standing, choice, DryRun::No)?.is_some() {
            return Ok(done);
        }
    }
}
