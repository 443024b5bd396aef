//! Git's merge driver: merges the file that git asks about by the rules in force in HEAD.

use std::path::Path;

use crate::domain::TaskId;
use crate::files::config::configuration::PROJECT_FILE;
use crate::git::{CommitId, Marks, Repository};
use crate::history::merge::commit_tasks::id_of;
use crate::history::touched_tasks::project_folders;
use crate::project::active_rules::{rules_at, stand_in};
use crate::project::error::ProjectError;
use crate::project::rule_files::rules_mark;
use crate::project::workspace::Workspace;
use crate::storage::layout;
use crate::tasks::merge::file_merge::{merge_files, merge_virtual_base};
use crate::tasks::merge::versions::{FileMerge, Versions};
use crate::tasks::merge::versions::{of_one_task, of_two_names};

/// Opens the project in a folder.
pub(crate) type ProjectOpener<'o> = &'o dyn Fn(&Path) -> Result<Workspace, ProjectError>;

/// Returns whether git merges two common ancestors of a criss-cross merge, by the labels of the sides. Where a file was moved, its path follows.
pub(crate) fn is_virtual_base(marks: &Marks) -> bool {
    let is = |label: &str, name| {
        label.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    };
    is(&marks.ours, "Temporary merge branch 1") && is(&marks.theirs, "Temporary merge branch 2")
}

/// Merges two versions of a file at a path of the repository around `here`.
pub(crate) fn drive(
    open: ProjectOpener<'_>,
    here: &Path,
    path: &str,
    versions: Versions<'_>,
    marks: &Marks,
) -> Result<FileMerge, ProjectError> {
    let root = Repository::discover(here)?.worktree_root().to_owned();
    let top = open(&root)?;
    let head = top.repository.look()?.commit;
    let Some((folder, id)) = task_at(&top.repository, head, path)? else {
        return FileMerge::as_text(versions, None, marks);
    };
    let names = [&marks.ours, &marks.theirs].map(|label| task_of_label(label));
    if let Some(kept) = of_two_names(&id, versions, names.each_ref().map(Option::as_ref)) {
        return Ok(kept);
    }
    let project = root.join(folder);
    let rules = match head {
        Some(head) if project.is_dir() => {
            let workspace = open(&project)?;
            match rules_at(&workspace, head)? {
                None if rules_mark(&workspace.repository, head)?.is_empty() => Some(stand_in()?),
                rules => rules,
            }
        }
        _ => None,
    };
    match rules {
        Some(rules) if is_virtual_base(marks) => merge_virtual_base(&rules, &id, versions),
        Some(rules) => merge_files(&rules, &id, versions, marks),
        None => {
            if let Err(kept) = of_one_task(&id, versions) {
                return Ok(kept);
            }
            let why = "the branch that is merged into has no rules that are valid".to_owned();
            FileMerge::as_text(versions, Some(why), marks)
        }
    }
}

/// Returns the folder of the project that a task file of the repository is in, and the task. Of several folders called `tasks`, the one
/// beside rules counts.
fn task_at(
    top: &Repository,
    head: Option<CommitId>,
    path: &str,
) -> Result<Option<(String, TaskId)>, ProjectError> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let Some(Ok(id)) = layout::task_id(name) else { return Ok(None) };
    for folder in project_folders(path) {
        if let Some(head) = head
            && top.blob_id(head, &format!("{folder}{PROJECT_FILE}"))?.is_some()
        {
            return Ok(Some((folder.to_owned(), id)));
        }
    }
    Ok(project_folders(path).next().map(|folder| (folder.to_owned(), id)))
}

/// Returns the task of the path in a label: git adds the paths where the two sides have the file at different ones.
fn task_of_label(label: &str) -> Option<TaskId> {
    id_of(label.rsplit_once(':')?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_end_in_the_path_of_a_renamed_file() {
        let id = |label| task_of_label(label).map(|id| id.to_string());
        assert_eq!(id("side:tasks/AOF-abc.md").as_deref(), Some("AOF-abc"));
        assert_eq!(
            id("16c250e (of: two):tasks/archive/2026/02/16/AOF-abc.md").as_deref(),
            Some("AOF-abc")
        );
        for label in [
            "side",
            "tasks/AOF-abc.md",
            "16c250e (see tasks/AOF-abc.md)",
            "16c250e (see: AOF-abc.md)",
            "side:notes.md",
        ] {
            assert_eq!(id(label), None, "{label}");
        }
    }

    #[test]
    fn labels_tell_a_virtual_base() {
        let is_base = |ours: &str, theirs: &str| {
            is_virtual_base(&Marks { size: 7, ours: ours.into(), theirs: theirs.into() })
        };
        assert!(is_base("Temporary merge branch 1", "Temporary merge branch 2"));
        assert!(is_base(
            "Temporary merge branch 1:tasks/AOF-abc.md",
            "Temporary merge branch 2:tasks/archive/2026/02/16/AOF-abc.md"
        ));
        for theirs in ["side", "16c250e", "Stashed changes", "Temporary merge branch 2"] {
            assert!(!is_base("HEAD", theirs), "{theirs}");
        }
    }
}
