//! Automatic gates: a task does not rest at one. What they decide is made right behind the change that brought the task there, each
//! decision in a commit of its own, all in one move of the branch.

use crate::domain::{Event, Timestamp};
use crate::files::task_file::{Defaults, TaskFile};
use crate::git::Person;
use crate::project::error::ProjectError;
use crate::rules::{Act, Decision, Rules, Warning, decide, passes_by_itself};
use crate::storage::ProjectPath;
use crate::tasks::state::commit_message;
use crate::tasks::state::task_state::{FileVersion, spliced};

/// What gates that decide by themselves did with a task.
pub(crate) struct PassedGates {
    /// The file of the task where it has come to rest.
    pub file: TaskFile,
    /// The commits to be, oldest first.
    pub versions: Vec<FileVersion>,
    /// What happened besides.
    pub events: Vec<Event>,
    /// What whoever acted should know.
    pub warnings: Vec<Warning>,
}

/// Lets them decide until the task stands where somebody works, or has ended. The rules bound it: a circle of such gates alone is
/// none, and going back is counted.
pub(crate) fn pass_on(
    rules: &Rules,
    path: &ProjectPath,
    file: TaskFile,
    author: &Person,
    now: Timestamp,
) -> Result<PassedGates, ProjectError> {
    let mut passed =
        PassedGates { file, versions: Vec::new(), events: Vec::new(), warnings: Vec::new() };
    while passes_by_itself(rules, &passed.file.task) {
        let Decision::Step(step) = decide(rules, &passed.file.task, &Act::Pass, now)? else {
            break;
        };
        let defaults =
            Defaults { workflow: step.task.routing.workflow.clone(), created: step.task.created };
        let message =
            commit_message::of_act(&Act::Pass, passed.file.task.history.len(), &step.task);
        passed.file = spliced(&defaults, &step.task.id, path, passed.file.update(&step.task))?;
        passed.versions.push(FileVersion {
            bytes: passed.file.bytes().to_vec(),
            message,
            author: Some(author.clone()),
            authored: step.task.updated,
        });
        passed.events.extend(step.events);
        passed.warnings.extend(step.warnings);
    }
    Ok(passed)
}
