//! Whether git keeps the line ends of task files as they were committed.

use crate::health::doctor::{Complaint, Patient};
use crate::history::merge_driver::attributes::commit_attributes;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;

/// Stands for every task where git's attributes are asked.
const TASK: &str = "tasks/AOF-abc.md";

pub(crate) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let repository = &patient.workspace.repository;
    // Where git does not merge tasks by their meaning, one line is missing for both.
    if repository.keeps_line_endings(TASK)?
        || repository.merge_attribute(TASK)?.as_deref() != Some("aof")
    {
        return Ok(Vec::new());
    }
    let complaint = Complaint::advice(
        "line_endings",
        "nothing says that git is to keep the line ends of task files".to_owned(),
        "a clone whose git converts them (`core.autocrlf`) has other bytes than were committed, and refuses to change those tasks",
        "`aof doctor --fix` adds `-text` to the line in `.gitattributes`, in a commit of its own; in clones that had converted \
         their files, `git rm -r --cached tasks`, then `git reset --hard`, writes them as committed"
            .to_owned(),
    );
    Ok(vec![complaint.cured_by(keep)])
}

fn keep(workspace: &mut Workspace) -> Result<(), OpsError> {
    let unfit = |problem: &str, fix: &str| OpsError::Unfit {
        code: "line_endings",
        problem: problem.to_owned(),
        fix: fix.to_owned(),
    };
    if !commit_attributes(workspace)? {
        return Err(unfit(
            "`.gitattributes` has changes that are not committed",
            "commit them, then run `aof doctor --fix` again",
        ));
    }
    if !workspace.repository.keeps_line_endings(TASK)? {
        return Err(unfit(
            "another line of git's attributes has the last word on `text` for task files",
            "put `tasks/**/*.md -text` behind it, and commit that",
        ));
    }
    Ok(())
}
