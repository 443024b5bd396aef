//! Line ends of task files: whether git keeps them as they were committed, and whether they stand here as they were.

use crate::health::doctor::{Complaint, Patient, count};
use crate::history::merge_driver::attributes::commit_attributes;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::tasks::state::line_endings::{TASK, elsewise, elsewise_active, write_as_committed};

pub(crate) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let workspace = patient.workspace;
    let repository = &workspace.repository;
    if !repository.keeps_line_endings(TASK)? {
        // Where git does not merge tasks by their meaning, one line is missing for both.
        if repository.merge_attribute(TASK)?.as_deref() != Some("aof") {
            return Ok(Vec::new());
        }
        let (problem, why) = if repository.converts_line_ends(TASK)? {
            let problem = "git converts the line ends of task files here, by `core.autocrlf` or `.gitattributes`";
            (
                problem,
                "what git takes for unmodified is no edit, but programs here see other bytes than were committed",
            )
        } else {
            let problem = "nothing says that git is to keep the line ends of task files";
            (
                problem,
                "a clone whose git converts them (`core.autocrlf`) has other bytes than were committed",
            )
        };
        let fix = "`aof doctor --fix` adds `-text` to the line in `.gitattributes`, in a commit of its own, and writes the \
                   files here as they were committed; run it in clones that had converted theirs, too: they count as \
                   unedited until then";
        return Ok(vec![
            Complaint::advice("line_endings", problem.to_owned(), why, fix.to_owned())
                .cured_by(keep),
        ]);
    }
    let files = elsewise_active(workspace, &repository.look()?)?;
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let has = count(files.len(), "task file has", "task files have");
    let complaint = Complaint::advice(
        "line_endings",
        format!(
            "{has} other line ends than what is committed, and differ in nothing else: `{}`",
            files[0].path
        ),
        "git wrote them so before it was told to keep them; they count as unedited here, and git takes them for modified",
        "`aof doctor --fix` writes them as they were committed".to_owned(),
    );
    Ok(vec![complaint.cured_by(restore)])
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

fn restore(workspace: &mut Workspace) -> Result<(), OpsError> {
    let head = workspace.head()?;
    let lock = workspace.lock()?;
    write_as_committed(workspace, &lock, &elsewise(workspace, &head)?)?;
    Ok(())
}
