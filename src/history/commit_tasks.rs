//! The tasks that a commit touches, with every file of each: none may hide behind another one.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::rc::Rc;

use crate::domain::{AgentId, Task, TaskId, Timestamp};
use crate::files::config::configuration::PROJECT_FILE;
use crate::files::task_file;
use crate::files::task_file::{Defaults, Extent};
use crate::git::log::trailers::Trailer;
use crate::git::{ChangedFile, CommitId, LogEntry, ObjectId, Repository};
use crate::project::active_rules::{rules_at, stand_in};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::rules::merge::{Merged, Superseded, apart, merge};
use crate::storage::layout::{archive_path, is_archived, task_id, task_path};
use crate::storage::{ProjectPath, layout};

/// A version of a file: where it stands, and its content.
pub(crate) type TaskFileVersion = (String, ObjectId);

/// A task whose files were changed.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// Its files before, as far as they were changed.
    pub before: Vec<TaskFileVersion>,
    /// The same after.
    pub after: Vec<TaskFileVersion>,
}

impl Touched {
    /// Takes in what stands in a commit that has none of the changed files: what went from one place may stand in another.
    pub(crate) fn take_in(&mut self, left: &[TaskFileVersion]) {
        self.before.extend_from_slice(left);
        self.after.extend_from_slice(left);
    }
}

/// Returns the tasks among the files.
pub(crate) fn touched(changed: &[ChangedFile]) -> BTreeMap<TaskId, Touched> {
    let mut tasks: BTreeMap<TaskId, Touched> = BTreeMap::new();
    for file in changed {
        if let Some(id) = task_of(&file.path) {
            let own = tasks.entry(id).or_default();
            own.before.extend(file.before.map(|content| (file.path.clone(), content)));
            own.after.extend(file.after.map(|content| (file.path.clone(), content)));
        }
    }
    tasks
}

/// Returns the tasks that have more than one file in a commit, each with the files behind the first.
pub(crate) fn doubled(
    workspace: &Workspace,
    commit: CommitId,
) -> Result<Vec<(TaskId, String)>, ProjectError> {
    let mut known = HashSet::new();
    let files = workspace.repository.list(commit, "tasks")?.into_iter();
    let tasks = files.filter_map(|file| Some((task_of(&file.path)?, file.path)));
    Ok(tasks.filter(|(id, _)| !known.insert(id.clone())).collect())
}

/// The files of all tasks in a commit. A commit may take thousands away, and where each of them still stands is asked of each: the tree
/// is listed once for them all.
#[derive(Default)]
pub(crate) struct KnownFiles(Option<(CommitId, HashMap<TaskId, Vec<TaskFileVersion>>)>);

impl KnownFiles {
    /// Returns the files of a task in a commit.
    pub(crate) fn of(
        &mut self,
        repository: &Repository,
        commit: CommitId,
        id: &TaskId,
    ) -> Result<&[TaskFileVersion], ProjectError> {
        if self.0.as_ref().is_none_or(|(known, _)| *known != commit) {
            let mut files: HashMap<TaskId, Vec<TaskFileVersion>> = HashMap::new();
            for file in repository.list(commit, layout::TASKS)? {
                if let Some(id) = task_of(&file.path) {
                    files.entry(id).or_default().push((file.path, file.id));
                }
            }
            self.0 = Some((commit, files));
        }
        let found = self.0.as_ref().and_then(|(_, files)| files.get(id));
        Ok(found.map_or(&[], Vec::as_slice))
    }
}

/// Returns the files of a task in a commit.
fn files_of(
    repository: &Repository,
    commit: CommitId,
    id: &TaskId,
) -> Result<Vec<TaskFileVersion>, ProjectError> {
    let files = repository.list(commit, layout::TASKS)?.into_iter();
    Ok(files
        .filter(|file| task_of(&file.path).as_ref() == Some(id))
        .map(|file| (file.path, file.id))
        .collect())
}

/// Returns the commit in which a task came to have a second file, looked for from one in which it has several.
pub(crate) fn doubled_by(
    repository: &Repository,
    id: &TaskId,
    until: CommitId,
) -> Result<CommitId, ProjectError> {
    let mut at = until;
    loop {
        let files = files_of(repository, at, id)?;
        let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
        let Some(entry) = repository.log_of(at, &paths)?.next().transpose()? else { return Ok(at) };
        let mut before = None;
        for parent in entry.parents.iter().filter(|parent| repository.has_commit(**parent)) {
            if files_of(repository, *parent, id)?.len() > 1 {
                before = Some(*parent);
            }
        }
        let Some(before) = before else { return Ok(entry.id) };
        at = before;
    }
}

/// Returns whether the task that a commit names is one of another project of the repository, by the files that it changed, when it
/// changed none of that name in the project of this folder. A folder without rules is no project.
pub(crate) fn is_of_another_project(
    repository: &Repository,
    entry: &LogEntry,
    named: &str,
) -> Result<bool, ProjectError> {
    let folder = repository.prefix();
    let own = if folder.is_empty() { "tasks/".to_owned() } else { format!("{folder}/tasks/") };
    for path in repository.changed_anywhere(entry.id)?.iter().filter(|path| !path.starts_with(&own))
    {
        if path.rsplit('/').next().and_then(|name| name.strip_suffix(".md")) != Some(named) {
            continue;
        }
        for above in project_folders(path) {
            let rules = format!("{above}{PROJECT_FILE}");
            let parents = entry.parents.iter().filter(|parent| repository.has_commit(**parent));
            for commit in [entry.id].iter().chain(parents) {
                if repository.has_anywhere(*commit, &rules)? {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// Returns the folders that may be the project of a file below `tasks/`, the outermost first: empty for the top, else with a slash.
pub(crate) fn project_folders(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    let above = path.match_indices("tasks/").map(|(at, _)| &path[..at]);
    above.collect::<Vec<_>>().into_iter().filter(|above| above.is_empty() || above.ends_with('/'))
}

fn task_of(path: &str) -> Option<TaskId> {
    let name = path.strip_prefix("tasks/")?.rsplit('/').next()?;
    layout::task_id(name)?.ok()
}

/// So many tasks are kept.
const MOST_TASKS: usize = 1_000;

/// The rules under the commit that was told last, if it has any.
#[derive(Default)]
pub(crate) struct KnownRules(Option<(CommitId, Option<Rc<Rules>>)>);

impl KnownRules {
    /// Returns the rules that decided what a commit says: those of its parent. A commit that brings the first ones goes by them.
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
            None => rules_at(workspace, entry.id)?.map_or_else(stand_in, Ok),
        }
    }

    /// Notes that a commit left the rules as they were.
    pub(crate) fn are_kept_by(&mut self, entry: &LogEntry) {
        if let Some((commit, _)) = &mut self.0
            && entry.parents.first() == Some(commit)
        {
            *commit = entry.id;
        }
    }
}

/// Tasks as commits left them; of too many, those that were told of longest ago are forgotten.
#[derive(Default)]
pub(crate) struct KnownTasks {
    tasks: HashMap<TaskId, (ObjectId, Rc<Task>)>,
    order: VecDeque<TaskId>,
}

impl KnownTasks {
    /// Returns what a version of a task's file says; nothing where it cannot be read: it is somebody's work in progress.
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
        // What a file leaves open depends on the commit that is told of.
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
    tasks: BTreeMap<TaskId, String>,
    twice: BTreeSet<TaskId>,
}

/// The file of a task in one commit.
pub(crate) type CommittedFile<'t> = Option<(&'t str, ObjectId)>;

impl CommitTasks {
    pub(crate) fn of(workspace: &Workspace, commit: CommitId) -> Result<Self, ProjectError> {
        let files = workspace.repository.list(commit, "tasks")?.into_iter();
        let files: BTreeMap<String, ObjectId> = files.map(|file| (file.path, file.id)).collect();
        let (mut tasks, mut twice) = (BTreeMap::new(), BTreeSet::new());
        for (id, path) in files.keys().filter_map(|path| Some((id_of(path)?, path))) {
            if tasks.insert(id.clone(), path.clone()).is_some() {
                twice.insert(id);
            }
        }
        Ok(Self { files, tasks, twice })
    }

    /// Returns the tasks, in the order of their ids.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &TaskId> {
        self.tasks.keys()
    }

    /// Returns whether there are two files of that task.
    pub(crate) fn is_twice(&self, id: &TaskId) -> bool {
        self.twice.contains(id)
    }

    /// Returns the file of a task.
    pub(crate) fn place(&self, id: &TaskId) -> CommittedFile<'_> {
        let path = self.tasks.get(id)?;
        Some((path, *self.files.get(path)?))
    }

    /// Returns the paths at which two commits differ.
    pub(crate) fn changed<'t>(&'t self, later: &'t Self) -> impl Iterator<Item = &'t str> {
        let gone = self.files.iter().filter(|(path, id)| later.files.get(*path) != Some(id));
        let come = later.files.keys().filter(|path| !self.files.contains_key(*path));
        gone.map(|(path, _)| path.as_str()).chain(come.map(String::as_str))
    }
}

/// Returns the task that a file is of, by its name.
pub(crate) fn id_of(path: &str) -> Option<TaskId> {
    task_id(path.rsplit('/').next()?)?.ok()
}

/// Returns where the file of a merged task belongs: with the finished tasks or the others, where either side has it, ours first. While
/// markers keep the file from being read, it is as finished as the side that is further.
pub(crate) fn place_of(
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

/// The trailer with which a merge commit lists an entry that no longer counts.
pub(crate) const SUPERSEDED: &str = "Aof-Superseded";

/// Returns the trailer of an entry that no longer counts: its visit, its completion, by whom, and the outcome.
pub(crate) fn superseded_trailer(superseded: &Superseded) -> Option<Trailer> {
    let entry = &superseded.visit;
    let completion = entry.completion.as_ref().map_or("-", |stamp| stamp.id.as_str());
    let by = entry.agent.as_ref().map_or("nobody", AgentId::as_str);
    let value = format!("{} {completion} by {by} ({})", superseded.ticket, entry.outcome);
    Trailer::new(SUPERSEDED, &value).ok()
}

/// A task that both commits changed, as it was where they parted, and as each of them has it.
pub(crate) struct Pair {
    pub base: Option<Rc<Task>>,
    pub ours: Rc<Task>,
    pub theirs: Rc<Task>,
}

/// The tasks that two commits changed since they parted.
pub(crate) struct TaskChanges {
    pub ours: BTreeMap<TaskId, Touched>,
    pub theirs: BTreeMap<TaskId, Touched>,
}

impl TaskChanges {
    pub(crate) fn since(
        workspace: &Workspace,
        base: CommitId,
        (ours, theirs): (CommitId, CommitId),
    ) -> Result<Self, ProjectError> {
        let repository = &workspace.repository;
        let changed =
            |side| Ok::<_, ProjectError>(touched(&repository.changed_between(base, side)?));
        Ok(Self { ours: changed(ours)?, theirs: changed(theirs)? })
    }

    /// Returns the tasks that both changed, as far as they can be read.
    pub(crate) fn pairs(
        &self,
        workspace: &Workspace,
        rules: &Rules,
        known: &mut KnownTasks,
        at: Timestamp,
    ) -> Result<BTreeMap<TaskId, Pair>, ProjectError> {
        let mut found = BTreeMap::new();
        for (id, mine) in &self.ours {
            let Some(yours) = self.theirs.get(id) else { continue };
            let mut read = |versions: &[TaskFileVersion]| match versions.first() {
                Some((_, content)) => known.read(workspace, (id, *content), rules, at),
                None => Ok(None),
            };
            if let (Some(ours), Some(theirs)) = (read(&mine.after)?, read(&yours.after)?) {
                let base = read(&mine.before)?;
                found.insert(id.clone(), Pair { base, ours, theirs });
            }
        }
        Ok(found)
    }
}

impl Pair {
    /// Returns the merged task, with people's fields as in `people`; nothing where the two cannot be merged.
    pub(crate) fn merged(&self, rules: &Rules, people: &Task) -> Option<Merged> {
        let apart = apart(self.base.as_deref(), &self.ours, &self.theirs).ok()?;
        Some(merge(rules, &apart, people))
    }
}
