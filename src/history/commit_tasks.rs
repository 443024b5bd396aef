//! The tasks that commits have and change, each with all its files.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;

use crate::domain::{AgentId, Task, TaskId, Timestamp};
use crate::files::config::configuration::{PROJECT_FILE, RuleFile};
use crate::files::task_file;
use crate::files::task_file::{Defaults, Extent};
use crate::git::log::trailers::Trailer;
use crate::git::{ChangedFile, CommitId, LogEntry, Marks, ObjectId, Repository};
use crate::project::active_rules::{default_rules, rules_at};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::rules::replay::merge::{Merged, Superseded, merge, sides};
use crate::storage::layout::{archive_path, is_archived, task_id, task_path};
use crate::storage::{ProjectPath, layout};
use crate::tasks::merge::file_merge::merge_files;
use crate::tasks::merge::versions::{FileMerge, Versions};

/// A version of a file: its path and its content.
pub(crate) type TaskFileVersion = (String, ObjectId);

/// A task whose files were changed.
#[derive(Debug, Default)]
pub(crate) struct ChangedTask {
    /// The changed files, as they were before.
    pub before: Vec<TaskFileVersion>,
    /// The changed files, as they are after.
    pub after: Vec<TaskFileVersion>,
}

impl ChangedTask {
    /// Adds files that the commit did not change: a task that is gone at one path may still have another file.
    pub(crate) fn add_unchanged(&mut self, files: &[TaskFileVersion]) {
        self.before.extend_from_slice(files);
        self.after.extend_from_slice(files);
    }
}

/// Returns the tasks of the changed files.
pub(crate) fn changed_tasks(changed: &[ChangedFile]) -> BTreeMap<TaskId, ChangedTask> {
    let mut tasks: BTreeMap<TaskId, ChangedTask> = BTreeMap::new();
    for file in changed {
        if let Some(id) = id_of(&file.path).filter(|_| file.path.starts_with("tasks/")) {
            let task = tasks.entry(id).or_default();
            task.before.extend(file.before.map(|content| (file.path.clone(), content)));
            task.after.extend(file.after.map(|content| (file.path.clone(), content)));
        }
    }
    tasks
}

/// Returns the tasks that have more than one file in a commit, each with all files after the first.
pub(crate) fn doubled(
    repository: &Repository,
    commit: CommitId,
) -> Result<Vec<(TaskId, String)>, ProjectError> {
    let tasks = CommitTasks::read(repository, commit)?.tasks.into_iter();
    let behind_first = tasks
        .flat_map(|(id, files)| files.into_iter().skip(1).map(move |(path, _)| (id.clone(), path)));
    Ok(behind_first.collect())
}

/// The tasks of the commit that was requested last. A commit may remove thousands of tasks: its tree is listed once for all.
#[derive(Default)]
pub(crate) struct KnownFiles(Option<(CommitId, CommitTasks)>);

impl KnownFiles {
    /// Returns the files of a task in a commit.
    pub(crate) fn of_task(
        &mut self,
        repository: &Repository,
        commit: CommitId,
        id: &TaskId,
    ) -> Result<&[TaskFileVersion], ProjectError> {
        let known = match self.0.take().filter(|(known, _)| *known == commit) {
            Some(known) => known,
            None => (commit, CommitTasks::read(repository, commit)?),
        };
        Ok(self.0.insert(known).1.files_of(id))
    }
}

/// Returns the commit that gave a task its second file; `until` is one in which it has several.
pub(crate) fn doubled_by(
    repository: &Repository,
    id: &TaskId,
    until: CommitId,
) -> Result<CommitId, ProjectError> {
    let mut at = until;
    loop {
        let tasks = CommitTasks::read(repository, at)?;
        let paths: Vec<&str> = tasks.files_of(id).iter().map(|(path, _)| path.as_str()).collect();
        let Some(entry) = repository.log_of(at, &paths)?.next().transpose()? else { return Ok(at) };
        let mut before = None;
        for parent in entry.parents.iter().filter(|parent| repository.has_commit(**parent)) {
            if CommitTasks::read(repository, *parent)?.is_doubled(id) {
                before = Some(*parent);
            }
        }
        let Some(before) = before else { return Ok(entry.id) };
        at = before;
    }
}

/// Returns whether the task that a commit names belongs to another project of the repository: the commit changed such a file there, and
/// none in this project. A folder without rules is not a project.
pub(crate) fn is_of_another_project(
    repository: &Repository,
    entry: &LogEntry,
    named: &str,
) -> Result<bool, ProjectError> {
    let folder = repository.prefix();
    let tasks_here =
        if folder.is_empty() { "tasks/".to_owned() } else { format!("{folder}/tasks/") };
    for path in
        repository.changed_anywhere(entry.id)?.iter().filter(|path| !path.starts_with(&tasks_here))
    {
        if path.rsplit('/').next().and_then(|name| name.strip_suffix(".md")) != Some(named) {
            continue;
        }
        for above in project_folders(path) {
            let rules = format!("{above}{PROJECT_FILE}");
            let parents = entry.parents.iter().filter(|parent| repository.has_commit(**parent));
            for commit in [entry.id].iter().chain(parents) {
                if repository.blob_anywhere(*commit, &rules)?.is_some() {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// Returns the folders that may be the project of a file below `tasks/`, outermost first: empty for the top, otherwise with a slash.
pub(crate) fn project_folders(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    let above = path.match_indices("tasks/").map(|(at, _)| &path[..at]);
    above.collect::<Vec<_>>().into_iter().filter(|above| above.is_empty() || above.ends_with('/'))
}

/// The number of tasks that are kept.
const MOST_TASKS: usize = 1_000;

/// The rules in force at the commit that was read last.
#[derive(Default)]
pub(crate) struct KnownRules(Option<(CommitId, Option<Rc<Rules>>)>);

impl KnownRules {
    /// Returns the rules that decided a commit: those of its parent, or its own if it introduces the first ones.
    pub(crate) fn behind(
        &mut self,
        workspace: &Workspace,
        entry: &LogEntry,
    ) -> Result<Rc<Rules>, ProjectError> {
        let before = match (entry.parents.first(), &self.0) {
            (Some(parent), Some((known, rules))) if known == parent => rules.clone(),
            // A shallow clone ends at commits whose parents it does not have.
            (Some(parent), _) if workspace.repository.has_commit(*parent) => {
                let rules = rules_at(workspace, *parent)?;
                self.0 = Some((*parent, rules.clone()));
                rules
            }
            _ => None,
        };
        match before {
            Some(rules) => Ok(rules),
            None => rules_at(workspace, entry.id)?.map_or_else(default_rules, Ok),
        }
    }

    /// Notes that a commit did not change the rules.
    pub(crate) fn are_kept_by(&mut self, entry: &LogEntry) {
        if let Some((commit, _)) = &mut self.0
            && entry.parents.first() == Some(commit)
        {
            *commit = entry.id;
        }
    }
}

/// Tasks as commits left them; when there are too many, the oldest are dropped.
#[derive(Default)]
pub(crate) struct KnownTasks {
    tasks: HashMap<TaskId, (ObjectId, Rc<Task>)>,
    order: VecDeque<TaskId>,
}

impl KnownTasks {
    /// Returns a version of a task; `None` if its file cannot be read, for example during a person's edit.
    pub(crate) fn read(
        &mut self,
        workspace: &Workspace,
        (id, version): (&TaskId, ObjectId),
        rules: &Rules,
        created: Timestamp,
    ) -> Result<Option<Rc<Task>>, ProjectError> {
        if let Some((_, task)) = self.tasks.get(id).filter(|(known, _)| *known == version) {
            return Ok(Some(Rc::clone(task)));
        }
        let bytes = workspace.repository.read_blob(version)?;
        let workflow = rules.project.default_workflow.clone();
        let defaults = Defaults { workflow, created };
        let Ok((task, extent)) = task_file::parse_task(&bytes, id, &defaults) else {
            return Ok(None);
        };
        let task = Rc::new(task);
        // The fields that a file leaves open depend on the commit.
        if extent == Extent::Whole {
            self.keep(version, &task);
        }
        Ok(Some(task))
    }

    fn keep(&mut self, version: ObjectId, task: &Rc<Task>) {
        if self.tasks.insert(task.id.clone(), (version, Rc::clone(task))).is_none() {
            self.order.push_back(task.id.clone());
            if self.order.len() > MOST_TASKS
                && let Some(oldest) = self.order.pop_front()
            {
                self.tasks.remove(&oldest);
            }
        }
    }
}

/// The files below `tasks/` of one commit.
pub(crate) struct CommitTasks {
    /// Each with its content.
    pub files: BTreeMap<String, ObjectId>,
    tasks: BTreeMap<TaskId, Vec<TaskFileVersion>>,
}

/// The file of a task in one commit.
pub(crate) type CommittedFile<'t> = Option<(&'t str, ObjectId)>;

impl CommitTasks {
    pub(crate) fn read(repository: &Repository, commit: CommitId) -> Result<Self, ProjectError> {
        let files = repository.list(commit, layout::TASKS)?.into_iter();
        let files: BTreeMap<String, ObjectId> = files.map(|file| (file.path, file.id)).collect();
        let mut tasks: BTreeMap<TaskId, Vec<TaskFileVersion>> = BTreeMap::new();
        for (path, content) in &files {
            if let Some(id) = id_of(path) {
                tasks.entry(id).or_default().push((path.clone(), *content));
            }
        }
        Ok(Self { files, tasks })
    }

    /// Returns the tasks, in the order of their ids.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &TaskId> {
        self.tasks.keys()
    }

    /// Returns all files of a task.
    fn files_of(&self, id: &TaskId) -> &[TaskFileVersion] {
        self.tasks.get(id).map_or(&[], Vec::as_slice)
    }

    /// Returns whether the task has several files.
    pub(crate) fn is_doubled(&self, id: &TaskId) -> bool {
        self.files_of(id).len() > 1
    }

    /// Returns the file of a task.
    pub(crate) fn file_of(&self, id: &TaskId) -> CommittedFile<'_> {
        self.files_of(id).last().map(|(path, content)| (path.as_str(), *content))
    }

    /// Returns the paths at which two commits differ.
    pub(crate) fn changed<'t>(&'t self, later: &'t Self) -> impl Iterator<Item = &'t str> {
        let gone = self.files.iter().filter(|(path, id)| later.files.get(*path) != Some(id));
        let come = later.files.keys().filter(|path| !self.files.contains_key(*path));
        gone.map(|(path, _)| path.as_str()).chain(come.map(String::as_str))
    }
}

/// Returns the id of a task by the name of its file.
pub(crate) fn id_of(path: &str) -> Option<TaskId> {
    task_id(path.rsplit('/').next()?)?.ok()
}

/// Returns the path for the file of a merged task: in the archive or not, preferably where a side has it, ours first. A file with
/// conflict markers is archived if a side has archived it.
fn place_of(
    rules: &Rules,
    id: &TaskId,
    base: Option<&str>,
    (ours, theirs): (&str, &str),
    bytes: &[u8],
) -> Result<String, ProjectError> {
    let project = &rules.project;
    let defaults =
        Defaults { workflow: project.default_workflow.clone(), created: Timestamp::UNIX_EPOCH };
    let archived = |path: &str| Ok::<_, ProjectError>(is_archived(&path.parse::<ProjectPath>()?));
    let Ok(file) = task_file::parse(bytes, id, &defaults) else {
        let is_further = archived(theirs)? && !archived(ours)?;
        return Ok(if is_further { theirs } else { ours }.to_owned());
    };
    let finished = file.task.status.is_finished();
    let moved_there = Some(ours) == base && Some(theirs) != base;
    for path in if moved_there { [theirs, ours] } else { [ours, theirs] } {
        if archived(path)? == finished {
            return Ok(path.to_owned());
        }
    }
    let place =
        if finished { archive_path(id, file.task.latest()) } else { task_path(id, project.layout) };
    Ok(place.to_string())
}

/// Merges the versions of a task's file by meaning. Returns the path at which the merged file belongs, and the merge.
pub(crate) fn merge_versions(
    repository: &Repository,
    rules: &Rules,
    id: &TaskId,
    base: CommittedFile<'_>,
    ours: (&str, ObjectId),
    theirs: (&str, ObjectId),
) -> Result<(String, FileMerge), ProjectError> {
    let read = |(_, content): (&str, ObjectId)| repository.read_blob(content);
    let (base_bytes, own_bytes, other) = (base.map(read).transpose()?, read(ours)?, read(theirs)?);
    let versions = Versions { base: base_bytes.as_deref(), ours: &own_bytes, theirs: &other };
    let merge = merge_files(rules, id, versions, &Marks::default())?;
    let path = place_of(rules, id, base.map(|(path, _)| path), (ours.0, theirs.0), &merge.bytes)?;
    Ok((path, merge))
}

/// Returns whether any of the changed files is one of the rules.
pub(crate) fn touches_rules(changed: &[ChangedFile]) -> bool {
    changed.iter().any(|file| RuleFile::at(&file.path).is_some())
}

/// The trailer by which a merge commit lists an entry that no longer counts.
pub(crate) const SUPERSEDED: &str = "Aof-Superseded";

/// Returns the trailer of an entry that no longer counts: its visit, its completion, by whom, and the outcome.
pub(crate) fn superseded_trailer(superseded: &Superseded) -> Option<Trailer> {
    let entry = &superseded.visit;
    let completion = entry.completion.as_ref().map_or("-", |stamp| stamp.id.as_str());
    let by = entry.agent.as_ref().map_or("nobody", AgentId::as_str);
    let value = format!("{} {completion} by {by} ({})", superseded.ticket, entry.outcome);
    Trailer::new(SUPERSEDED, &value).ok()
}

/// A task that two commits changed: at their merge base, and in each of them.
pub(crate) struct TaskPair {
    pub base: Option<Rc<Task>>,
    pub ours: Rc<Task>,
    pub theirs: Rc<Task>,
}

/// The tasks that two commits changed since their merge base.
pub(crate) struct TaskChanges {
    pub ours: BTreeMap<TaskId, ChangedTask>,
    pub theirs: BTreeMap<TaskId, ChangedTask>,
}

impl TaskChanges {
    pub(crate) fn since(
        workspace: &Workspace,
        base: CommitId,
        (ours, theirs): (CommitId, CommitId),
    ) -> Result<Self, ProjectError> {
        let repository = &workspace.repository;
        let changed =
            |side| Ok::<_, ProjectError>(changed_tasks(&repository.changed_between(base, side)?));
        Ok(Self { ours: changed(ours)?, theirs: changed(theirs)? })
    }

    /// Returns the readable tasks that both changed.
    pub(crate) fn pairs(
        &self,
        workspace: &Workspace,
        rules: &Rules,
        known: &mut KnownTasks,
        at: Timestamp,
    ) -> Result<BTreeMap<TaskId, TaskPair>, ProjectError> {
        let mut found = BTreeMap::new();
        for (id, mine) in &self.ours {
            let Some(yours) = self.theirs.get(id) else { continue };
            let mut read = |versions: &[TaskFileVersion]| match versions.first() {
                Some((_, content)) => known.read(workspace, (id, *content), rules, at),
                None => Ok(None),
            };
            if let (Some(ours), Some(theirs)) = (read(&mine.after)?, read(&yours.after)?) {
                let base = read(&mine.before)?;
                found.insert(id.clone(), TaskPair { base, ours, theirs });
            }
        }
        Ok(found)
    }
}

impl TaskPair {
    /// Returns the merged task, with people's fields as in `people`; `None` if the two cannot be merged.
    pub(crate) fn merged(&self, rules: &Rules, people: &Task) -> Option<Merged> {
        let sides = sides(self.base.as_deref(), &self.ours, &self.theirs).ok()?;
        Some(merge(rules, &sides, people))
    }
}
