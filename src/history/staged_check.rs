//! The check of git's hooks: a person's commit must not revert a commit of aof, or do anything that only aof does.
//!
//! `git commit` and `git merge` read HEAD, the index and the worktree at different moments. A step of aof in between is then missing in
//! their commit. A person who intends that commits with `--no-verify`.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{Severity, TaskId, TaskLayout, Timestamp};
use crate::files::config::configuration::{PROJECT_FILE, RuleFile, Source};
use crate::files::diagnostic::Diagnostic;
use crate::files::task_file;
use crate::files::task_file::misread::misread;
use crate::files::task_file::{Defaults, Origin, TaskFile};
use crate::git::log::walk::{LOOK_BACK, Log};
use crate::git::{ChangedFile, CommitId, ObjectId, Repository};
use crate::history::commit_tasks::{id_of, project_folders};
use crate::project::active_rules::default_rules;
use crate::project::error::ProjectError;
use crate::project::named_branch::has_left_tasks;
use crate::project::rule_files::compiled;
use crate::rules::replay::same_engine_fields;
use crate::storage::layout::task_path;
use crate::system::terminal::quoted;

/// A task, with the folder of its project in the repository.
type ProjectTask = (String, TaskId);

/// The reason why a person's commit is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StagedFault {
    /// The commit would revert HEAD's state of a task.
    TakesBack,
    /// The commit would add entries to a history that aof did not commit on this branch.
    AddsEntries,
    /// The commit would remove a task that aof has adopted.
    Removes,
    /// The commit would have a form that is read differently than it looks.
    Misread,
}

/// Returns the staged task files that a person must not commit, by their paths in the repository. New and unreadable tasks pass.
pub(crate) fn staged_faults(
    repository: &Repository,
) -> Result<BTreeMap<StagedFault, Vec<String>>, ProjectError> {
    let mut faults = BTreeMap::new();
    let Some(head) = repository.head_for_reading()?.commit else { return Ok(faults) };
    let mut tasks: BTreeMap<ProjectTask, Vec<ChangedFile>> = BTreeMap::new();
    for file in repository.staged_changes(head)? {
        if let Some(task) = staged_task(&file.path) {
            tasks.entry(task).or_default().push(file);
        }
    }
    if tasks.is_empty() {
        return Ok(faults);
    }
    let mut merged = Vec::new();
    for theirs in repository.commits_to_merge() {
        merged.push((theirs, repository.merge_bases(head, theirs)?));
    }
    let staged = repository.staged_files()?;
    let staged: BTreeSet<(ProjectTask, &str)> =
        staged.iter().filter_map(|(path, _)| Some((staged_task(path)?, path.as_str()))).collect();
    let workflow = default_rules()?.project.default_workflow.clone();
    let defaults = Defaults { workflow, created: Timestamp::UNIX_EPOCH };
    let is_replaying = merged.is_empty()
        && (repository.merge_in_progress()?.is_some() || repository.is_squashing());
    let check = StagedCommit { repository, head, merged, is_replaying, defaults };
    for (task, files) in tasks {
        let copies = staged.iter().filter(|(other, _)| *other == task).count();
        if let Some(fault) = check.fault(&task, &files, copies)? {
            let paths: &mut Vec<String> = faults.entry(fault).or_default();
            paths.extend(files.into_iter().map(|file| file.path));
        }
    }
    // Tasks that have moved to a branch of their own are deleted where they were.
    if faults.contains_key(&StagedFault::Removes) && has_left_tasks(repository, head)? {
        faults.remove(&StagedFault::Removes);
    }
    Ok(faults)
}

/// Returns the errors of rules that are valid now, and would not be after the next commit.
pub(crate) fn staged_rule_errors(repository: &Repository) -> Result<Vec<Diagnostic>, ProjectError> {
    let Some(head) = repository.head_for_reading()?.commit else { return Ok(Vec::new()) };
    let mut changes = repository.staged_changes(head)?;
    changes.retain(|file| rule_place(&file.path).is_some());
    let mut errors = Vec::new();
    if changes.is_empty() {
        return Ok(errors);
    }
    let after: BTreeMap<String, ObjectId> = repository.staged_files()?.into_iter().collect();
    let mut before = after.clone();
    for file in &changes {
        before.remove(&file.path);
        before.extend(file.before.map(|content| (file.path.clone(), content)));
    }
    let folders = changes.iter().filter_map(|file| Some(rule_place(&file.path)?.0));
    for project in folders.collect::<BTreeSet<_>>() {
        let rules = |files: &BTreeMap<String, ObjectId>| -> Result<_, ProjectError> {
            let mut sources = Vec::new();
            for (path, content) in files {
                if let Some((folder, name)) = rule_place(path)
                    && folder == project
                {
                    let bytes = repository.read_blob(*content)?[..].to_vec();
                    sources.push(Source { name: name.to_owned(), bytes });
                }
            }
            Ok(compiled(&sources).map(|_| sources.iter().any(|file| file.name == PROJECT_FILE)))
        };
        // A folder of something else may have such files, too.
        if rules(&before)? == Ok(true)
            && let Err(found) = rules(&after)?
        {
            errors.extend(found.into_iter().filter(|one| one.severity == Severity::Error));
        }
    }
    Ok(errors)
}

/// Returns the folder of a project, and the name in it, for a path that may be a rule file.
fn rule_place(path: &str) -> Option<(&str, &str)> {
    let starts = path.match_indices('/').map(|(at, _)| at + 1);
    let start = [0].into_iter().chain(starts).find(|at| RuleFile::at(&path[*at..]).is_some())?;
    Some((&path[..start], &path[start..]))
}

/// Returns the branch whose merge aof has overtaken: the index has its versions of these files, and HEAD lacks it. Git writes files and
/// index first, and then fails to move HEAD's branch.
pub(crate) fn overtaken_merge(
    repository: &Repository,
    paths: &[String],
) -> Result<Option<String>, ProjectError> {
    let Some(head) = repository.head_for_reading()?.commit else { return Ok(None) };
    if repository.merge_in_progress()?.is_some() {
        return Ok(None);
    }
    let mut staged = repository.staged_changes(head)?;
    staged.retain(|file| paths.contains(&file.path));
    for (name, commit) in repository.branches()? {
        let mut is_staged = !repository.is_ancestor(commit, head)?;
        for file in &staged {
            is_staged = is_staged && repository.blob_anywhere(commit, &file.path)? == file.after;
        }
        if is_staged {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Returns the commands that undo an overtaken merge and repeat it; `None` if the fault has another cause.
pub(crate) fn merge_again(
    repository: &Repository,
    fault: StagedFault,
    paths: &[String],
) -> Option<String> {
    let found = (fault == StagedFault::AddsEntries).then(|| overtaken_merge(repository, paths))?;
    found.ok().flatten().map(|branch| merge_commands(&branch))
}

/// Returns the commands that undo an overtaken merge and repeat it.
pub(crate) fn merge_commands(branch: &str) -> String {
    let branch = quoted(branch);
    format!(
        "`git read-tree -m -u {branch} HEAD` takes back what git wrote; then `git merge {branch}`"
    )
}

struct StagedCommit<'r> {
    repository: &'r Repository,
    head: CommitId,
    /// The commits that are being merged, each with its merge bases.
    merged: Vec<(CommitId, Vec<CommitId>)>,
    /// True if a commit is being cherry-picked, reverted or rebased, or a branch squashed.
    is_replaying: bool,
    defaults: Defaults,
}

impl StagedCommit<'_> {
    /// Returns the fault of the next commit about a task, of which it will have `copies` files.
    fn fault(
        &self,
        task: &ProjectTask,
        files: &[ChangedFile],
        copies: usize,
    ) -> Result<Option<StagedFault>, ProjectError> {
        let if_so = |found: bool, fault| found.then_some(fault);
        let mut committed = Vec::new();
        for content in files.iter().filter_map(|file| file.before) {
            committed.extend(self.read(content, &task.1)?);
        }
        let left = self.is_of_left_branch(files)?;
        if left == Some(true) {
            return Ok(Some(StagedFault::AddsEntries));
        }
        let Some(ours) = committed.into_iter().max_by_key(|version| version.task.history.len())
        else {
            // HEAD may have the task at another path, for example in the archive.
            let is_second = copies > 1 && files.iter().all(|file| file.before.is_none());
            if is_second || self.is_replaying || !self.merged.is_empty() {
                return Ok(if_so(is_second, StagedFault::TakesBack));
            }
            for content in files.iter().filter_map(|file| file.after) {
                let Some(new) = self.read(content, &task.1)? else { continue };
                if left.is_some() && new.origin == Origin::Adopted {
                    return Ok(Some(StagedFault::AddsEntries));
                }
                if is_misread(&new, None) {
                    return Ok(Some(StagedFault::Misread));
                }
            }
            return Ok(None);
        };
        if copies == 0 {
            let is_left_out = ours.origin == Origin::Adopted && self.is_left_out(task, files)?;
            return Ok(if_so(is_left_out, StagedFault::Removes));
        }
        let is_replay = self.is_replaying || !self.merged.is_empty();
        for file in files {
            let Some(content) = file.after else { continue };
            let Some(staged) = self.read(content, &task.1)? else { continue };
            if !is_replay && is_misread(&staged, Some(&ours)) {
                return Ok(Some(StagedFault::Misread));
            }
            let (entries, known) = (&staged.task.history, &ours.task.history);
            let is_taken_back = if entries.starts_with(known) {
                self.is_older(task, files, &staged, &ours)?
            } else {
                known.starts_with(entries) || !self.continues_merged(task, files, &staged)?
            };
            if is_taken_back {
                return Ok(Some(StagedFault::TakesBack));
            }
            if !is_replay && !same_engine_fields(&staged.task, &ours.task) {
                return Ok(Some(StagedFault::AddsEntries));
            }
        }
        Ok(None)
    }

    /// Returns a value if all files are as in a commit of the branch that HEAD left last: true if aof certainly made it while git
    /// created the present branch.
    fn is_of_left_branch(&self, files: &[ChangedFile]) -> Result<Option<bool>, ProjectError> {
        let Some((left, is_certain)) = self.repository.overtaken_switch(self.head)? else {
            return Ok(None);
        };
        for file in files {
            if self.repository.blob_anywhere(left, &file.path)? != file.after {
                return Ok(None);
            }
        }
        Ok(Some(is_certain))
    }

    /// Returns whether no merged or replayed commit has removed a task that the next commit lacks.
    fn is_left_out(&self, task: &ProjectTask, files: &[ChangedFile]) -> Result<bool, ProjectError> {
        for (theirs, bases) in &self.merged {
            let mut was_there = false;
            for base in bases {
                was_there |= self.version(*base, task, files)?.is_some();
            }
            if !was_there || self.version(*theirs, task, files)?.is_some() {
                return Ok(true);
            }
        }
        Ok(self.merged.is_empty() && !self.is_replaying)
    }

    /// Returns whether the engine's fields are those of an earlier commit: of the merge base, or of a version of the file before HEAD's.
    fn is_older(
        &self,
        task: &ProjectTask,
        files: &[ChangedFile],
        staged: &TaskFile,
        ours: &TaskFile,
    ) -> Result<bool, ProjectError> {
        if self.is_replaying || same_engine_fields(&staged.task, &ours.task) {
            return Ok(false);
        }
        let says = |content: ObjectId| -> Result<bool, ProjectError> {
            let version = self.read(content, &task.1)?;
            Ok(version.is_some_and(|version| same_engine_fields(&version.task, &staged.task)))
        };
        for (theirs, bases) in &self.merged {
            let theirs = self.version(*theirs, task, files)?;
            let mut is_unchanged = false;
            for base in bases {
                is_unchanged |= self.version(*base, task, files)? == theirs;
            }
            if !is_unchanged {
                return Ok(false);
            }
        }
        let paths = places(task, files);
        for entry in Log::start(self.repository, self.head, paths)?.take(LOOK_BACK) {
            if let Some(content) = self.version(entry?.id, task, files)?
                && says(content)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether the history is that of a commit being merged, or continues it.
    fn continues_merged(
        &self,
        task: &ProjectTask,
        files: &[ChangedFile],
        staged: &TaskFile,
    ) -> Result<bool, ProjectError> {
        for (theirs, _) in &self.merged {
            let Some(content) = self.version(*theirs, task, files)? else { return Ok(true) };
            let theirs = self.read(content, &task.1)?;
            if theirs.is_none_or(|version| staged.task.history.starts_with(&version.task.history)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the version of a task in a commit.
    fn version(
        &self,
        commit: CommitId,
        task: &ProjectTask,
        files: &[ChangedFile],
    ) -> Result<Option<ObjectId>, ProjectError> {
        for path in places(task, files) {
            if let Some(content) = self.repository.blob_anywhere(commit, &path)? {
                return Ok(Some(content));
            }
        }
        Ok(None)
    }

    fn read(&self, content: ObjectId, id: &TaskId) -> Result<Option<TaskFile>, ProjectError> {
        Ok(task_file::parse(&self.repository.read_blob(content)?, id, &self.defaults).ok())
    }
}

/// Returns whether a new form in the file is read differently than it looks.
fn is_misread(file: &TaskFile, before: Option<&TaskFile>) -> bool {
    let known = before.map(misread).unwrap_or_default();
    let mut found = misread(file).into_iter().filter(|new| new.code != "nul_byte");
    found.any(|new| known.iter().all(|known| known.message != new.message))
}

/// Returns the paths where a task may be: those of its changed files, and the usual ones.
fn places((folder, id): &ProjectTask, files: &[ChangedFile]) -> Vec<String> {
    let layouts = [TaskLayout::Flat, TaskLayout::Sharded].map(|layout| {
        let path = task_path(id, layout);
        if folder.is_empty() { path.to_string() } else { format!("{folder}/{path}") }
    });
    files.iter().map(|file| file.path.clone()).chain(layouts).collect()
}

/// Returns the task of a file of the repository.
fn staged_task(path: &str) -> Option<ProjectTask> {
    let id = id_of(path)?;
    Some((project_folders(path).next()?.trim_end_matches('/').to_owned(), id))
}

#[cfg(test)]
mod tests {
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
