//! Git's merge driver: merges the file that git asks about by the rules in force in HEAD.

use std::collections::BTreeMap;
use std::path::Path;

use crate::domain::{TaskId, Timestamp};
use crate::files::config::configuration::PROJECT_FILE;
use crate::files::task_file;
use crate::files::task_file::Defaults;
use crate::git::{ChangedFile, CommitId, Marks, ObjectId, Repository};
use crate::history::commit_tasks::{id_of, project_folders};
use crate::project::active_rules::{rules_at, stand_in};
use crate::project::error::ProjectError;
use crate::project::rule_files::rules_mark;
use crate::project::workspace::Workspace;
use crate::storage::layout;
use crate::storage::layout::task_id;
use crate::tasks::merge::file_merge::{merge_files, merge_virtual_base};
use crate::tasks::merge::versions::{FileMerge, Versions, of_one_task, of_two_names};

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

/// A task of a project in a folder of the repository.
type ProjectTask = (String, TaskId);

/// A task whose staged history does not continue the committed one.
struct Broken {
    /// All its files that are staged: one that was moved has two.
    paths: Vec<String>,
    /// Whether entries are only missing: no other side of a merge is a reason for that.
    is_cut: bool,
}

/// Returns the staged files of tasks whose history continues neither HEAD's nor that of a commit that is being merged, by their paths from
/// the top of the repository. New tasks and removed tasks pass, and so does what cannot be read.
pub(crate) fn broken_histories(repository: &Repository) -> Result<Vec<String>, ProjectError> {
    let Some(head) = repository.look()?.commit else { return Ok(Vec::new()) };
    let mut broken = broken_since(repository, head)?;
    let others = if broken.is_empty() { Vec::new() } else { repository.merge_heads() };
    for theirs in others {
        let also = broken_since(repository, theirs)?;
        broken.retain(|task, own| own.is_cut || also.contains_key(task));
    }
    Ok(broken.into_values().flat_map(|own| own.paths).collect())
}

fn broken_since(
    repository: &Repository,
    commit: CommitId,
) -> Result<BTreeMap<ProjectTask, Broken>, ProjectError> {
    let mut tasks: BTreeMap<ProjectTask, Vec<ChangedFile>> = BTreeMap::new();
    for file in repository.about_to_change(commit)? {
        if let Some(task) = staged_task(&file.path) {
            tasks.entry(task).or_default().push(file);
        }
    }
    let defaults = Defaults {
        workflow: stand_in()?.project.default_workflow.clone(),
        created: Timestamp::UNIX_EPOCH,
    };
    let mut broken = BTreeMap::new();
    for (task, files) in tasks {
        let history = |content: ObjectId| -> Result<_, ProjectError> {
            let parsed = task_file::parse(&repository.read_blob(content)?, &task.1, &defaults);
            Ok(parsed.ok().map(|file| file.task.history))
        };
        let mut committed = Vec::new();
        for content in files.iter().filter_map(|file| file.before) {
            committed.extend(history(content)?);
        }
        let Some(longest) = committed.into_iter().max_by_key(Vec::len) else { continue };
        for file in &files {
            let Some(content) = file.after else { continue };
            if let Some(staged) = history(content)?.filter(|own| !own.starts_with(&longest)) {
                let is_cut = longest.starts_with(&staged);
                let paths = files.iter().map(|file| file.path.clone()).collect();
                broken.insert(task.clone(), Broken { paths, is_cut });
            }
        }
    }
    Ok(broken)
}

/// Returns the task that a file of the repository is of, with the folder of its project.
fn staged_task(path: &str) -> Option<ProjectTask> {
    let id = task_id(path.rsplit_once('/')?.1)?.ok()?;
    Some((project_folders(path).next()?.trim_end_matches('/').to_owned(), id))
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

#[cfg(test)]
mod commit_check_tests {
    use super::*;

    #[test]
    fn a_task_file_is_known_by_its_folder_and_name() {
        let task = |path: &str| staged_task(path).map(|(folder, id)| format!("{folder}:{id}"));
        assert_eq!(task("tasks/archive/2026/02/16/AOF-abc.md").as_deref(), Some(":AOF-abc"));
        assert_eq!(task("apps/web/tasks/AOF-abc.md").as_deref(), Some("apps/web:AOF-abc"));
        for path in ["AOF-abc.md", "docs/AOF-abc.md", "tasks/AOF-abc.plan.md", "tasks/notes.md"] {
            assert_eq!(task(path), None, "{path}");
        }
    }
}
