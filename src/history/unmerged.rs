//! Task files that git left unmerged, and their merge by meaning.
//!
//! The versions come from the merged commits, by the ids of tasks. Git's index may have a version of another task, which its rename
//! detection took for this one, or none of a task that was moved into the archive.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::domain::TaskId;
use crate::git::{CommitId, ConflictSides, MergeInProgress, ObjectId, StagedVersion, Unmerged};
use crate::history::commit_tasks::{CommitTasks, id_of, merge_versions};
use crate::project::active_rules::{default_rules, rules_at};
use crate::project::error::ProjectError;
use crate::project::rule_files::rule_blobs;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::storage::{Durability, Folder, ProjectPath, StoreError, task_files};
use crate::system::terminal::quoted;
use crate::tasks::merge::versions::{Conflict, FileMerge};
use crate::tasks::plan::DryRun;

/// A task file that git left unmerged, or staged with the version of one side.
pub(crate) struct UnmergedTask {
    /// The path where the file belongs.
    pub path: String,
    /// Other paths at which git has a version of it.
    pub others: Vec<String>,
    /// The versions of base, ours and theirs.
    pub sides: ConflictSides,
    /// The worktree's file at each of these paths.
    pub seen: Vec<(String, WorktreeFile)>,
    pub state: UnmergedState,
}

/// The state of a file that git left unmerged.
pub(crate) enum UnmergedState {
    /// The file is as git left it; this is the result of merging it by meaning.
    Mergeable(Box<FileMerge>),
    /// The file is as in `Mergeable`, but ours alone, without markers: adding it would revert the other side.
    OneSided(Box<FileMerge>),
    /// One side changed it, and the other removed it.
    Removed,
    /// The file has changed since, or it is a link on one side.
    EditedByHand,
    /// Git has the file of that other task in its place, and does not name the commits that it merges.
    Confused(TaskId),
    /// The branch that is merged into has no valid rules.
    NoRules,
}

impl UnmergedTask {
    /// Returns the fault of the file, and its fix.
    pub(crate) fn problem_and_fix(&self) -> (String, String) {
        let named = quoted(&self.path);
        let (problem, fix) = match &self.state {
            UnmergedState::Mergeable(merge) if merge.conflicts.is_empty() => (
                "it is unmerged, and merges without a decision",
                "`aof merge-driver --settle` merges it by meaning and stages it".to_owned(),
            ),
            UnmergedState::Mergeable(_) => (
                "it is unmerged",
                "`aof merge-driver --settle` merges it by meaning, and marks what you have to decide"
                    .to_owned(),
            ),
            UnmergedState::OneSided(_) => (
                "it is not merged and has nothing of what one side did",
                "`aof merge-driver --settle` merges it; whoever adds or commits it now takes back what that side did. \
                 See that git finds `aof` in its `PATH`: `aof doctor`"
                    .to_owned(),
            ),
            UnmergedState::Removed => (
                "one side changed it, and the other removed it",
                format!(
                    "keep it with `git add {named}`, or let it go with `git rm {named}`; a history that goes is found by \
                     `aof verify`"
                ),
            ),
            UnmergedState::EditedByHand => (
                "it is unmerged, and somebody has changed it by hand",
                format!(
                    "when all is solved, `git add {named}`; or begin again with `git checkout --merge {named}`"
                ),
            ),
            UnmergedState::Confused(other) => {
                let problem = format!("git took it for the file of `{other}`, renamed");
                let fix = format!(
                    "`git restore --source=HEAD --staged --worktree {named}` brings this task back; what came in is still where it came from"
                );
                return (problem, fix);
            }
            UnmergedState::NoRules => (
                "it is unmerged, and the branch that is merged into has no rules that are valid",
                format!("solve it by hand, then `git add {named}`"),
            ),
        };
        (problem.to_owned(), fix)
    }
}

impl UnmergedState {
    /// Returns the merge, if the file can be merged.
    pub(crate) fn merge(&self) -> Option<&FileMerge> {
        match self {
            Self::Mergeable(merge) | Self::OneSided(merge) => Some(merge),
            _ => None,
        }
    }
}

/// The worktree's file at a path.
#[derive(PartialEq, Eq)]
pub(crate) enum WorktreeFile {
    Nothing,
    File(Vec<u8>),
    /// A link, or anything else that is not a file.
    Other,
}

impl WorktreeFile {
    pub(crate) fn at(workspace: &Workspace, path: &str) -> Result<Self, ProjectError> {
        Ok(match task_files::read(&workspace.paths, &path.parse::<ProjectPath>()?) {
            Ok(file) => Self::File(file.bytes),
            Err(StoreError::Gone { .. }) => Self::Nothing,
            Err(_) => Self::Other,
        })
    }
}

/// Returns the task files of the project that git left unmerged, or staged as one side has them though both changed them.
pub(crate) fn unmerged_tasks(workspace: &Workspace) -> Result<Vec<UnmergedTask>, ProjectError> {
    let repository = &workspace.repository;
    let mut unmerged: BTreeMap<TaskId, Vec<Unmerged>> = BTreeMap::new();
    for file in repository.unmerged()?.into_iter().filter(|file| file.path.starts_with("tasks/")) {
        if let Some(id) = id_of(&file.path) {
            unmerged.entry(id).or_default().push(file);
        }
    }
    let commits = JoinedCommits::read(workspace, unmerged.values().flatten())?;
    let Some(head) =
        repository.head_for_reading()?.commit.filter(|_| commits.is_some() || !unmerged.is_empty())
    else {
        return Ok(Vec::new());
    };
    let rules = match rules_at(workspace, head)? {
        None if rule_blobs(repository, head)?.is_empty() => Some(default_rules()?),
        rules => rules,
    };
    let mut staged: BTreeMap<TaskId, Vec<(String, StagedVersion)>> = BTreeMap::new();
    for (path, version) in repository.staged(".md")? {
        if let Some(id) = id_of(&path).filter(|_| path.starts_with("tasks/")) {
            staged.entry(id).or_default().push((path, version));
        }
    }
    let is_one_sided = |(id, sides): &(TaskId, [ObjectId; 2])| {
        staged.get(id).is_some_and(|staged| {
            staged.iter().all(|(_, version)| sides.contains(&version.content))
        })
    };
    let changed = commits.iter().flat_map(JoinedCommits::changed_on_both).filter(is_one_sided);
    let mut ids: BTreeSet<TaskId> = changed.map(|(id, _)| id).collect();
    ids.extend(unmerged.keys().cloned());
    let stages = |file: &Unmerged| [file.base, file.ours, file.theirs];
    let stages: BTreeSet<ObjectId> = unmerged
        .values()
        .flatten()
        .flat_map(stages)
        .flatten()
        .map(|version| version.content)
        .collect();
    let mut found = Vec::new();
    for id in ids {
        let case = UnmergedCase {
            workspace,
            stages: &stages,
            rules: rules.clone(),
            unmerged: unmerged.remove(&id).unwrap_or_default(),
            staged: staged.remove(&id).unwrap_or_default(),
            id,
        };
        let versions = match &commits {
            Some(commits) => commits.versions(workspace, &case.id)?,
            None => None,
        };
        found.extend(match versions.or_else(|| case.versions_by_stages()) {
            Some(versions) => case.judge(versions)?,
            None if case.unmerged.is_empty() => None,
            None => Some(case.result([None, None, None], UnmergedState::Removed)),
        });
    }
    Ok(found)
}

/// The file of a task on one side.
#[derive(Clone, PartialEq, Eq)]
struct SideVersion {
    path: String,
    staged: StagedVersion,
}

impl SideVersion {
    fn file(&self) -> (&str, ObjectId) {
        (&self.path, self.staged.content)
    }
}

/// The versions of base, ours and theirs.
type SideVersions = [Option<SideVersion>; 3];

/// The commits of a merge, or of a stopped rebase, cherry-pick or revert.
struct JoinedCommits {
    bases: Vec<(CommitId, CommitTasks)>,
    ours: (CommitId, CommitTasks),
    theirs: (CommitId, CommitTasks),
}

impl JoinedCommits {
    /// Reads the commits; `None` if git does not name them, or if they do not match the unmerged files, as after `git stash pop`.
    fn read<'u>(
        workspace: &Workspace,
        unmerged: impl IntoIterator<Item = &'u Unmerged>,
    ) -> Result<Option<Self>, ProjectError> {
        let repository = &workspace.repository;
        let Some(MergeInProgress { bases, ours, theirs }) = repository.merge_in_progress()? else {
            return Ok(None);
        };
        if !bases.iter().all(|base| repository.has_commit(*base)) {
            return Ok(None);
        }
        let read = |commit| Ok::<_, ProjectError>((commit, CommitTasks::read(repository, commit)?));
        let bases = bases.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
        if let [(_, base)] = &bases[..] {
            let known: BTreeSet<&ObjectId> = base.files.values().collect();
            let mut befores = unmerged.into_iter().filter_map(|file| file.base);
            if befores.any(|version| version.is_file() && !known.contains(&version.content)) {
                return Ok(None);
            }
        }
        Ok(Some(Self { bases, ours: read(ours)?, theirs: read(theirs)? }))
    }

    /// Returns the tasks that both sides have changed differently, with the content of each.
    fn changed_on_both(&self) -> impl Iterator<Item = (TaskId, [ObjectId; 2])> {
        let content = |tasks: &CommitTasks, id| tasks.file_of(id).map(|(_, content)| content);
        self.ours.1.ids().filter_map(move |id| {
            let (ours, theirs) = (content(&self.ours.1, id)?, content(&self.theirs.1, id)?);
            let is_new = |base: Option<ObjectId>| base != Some(ours) && base != Some(theirs);
            let is_changed =
                ours != theirs && self.bases.iter().all(|(_, base)| is_new(content(base, id)));
            is_changed.then(|| (id.clone(), [ours, theirs]))
        })
    }

    /// Returns the versions of a task; `None` if a commit has two files of it, or the bases of a criss-cross merge differ.
    fn versions(
        &self,
        workspace: &Workspace,
        id: &TaskId,
    ) -> Result<Option<SideVersions>, ProjectError> {
        let sides = || self.bases.iter().chain([&self.ours, &self.theirs]);
        if sides().any(|(_, tasks)| tasks.is_doubled(id)) {
            return Ok(None);
        }
        let version = |(commit, tasks): &(_, CommitTasks)| -> Result<_, ProjectError> {
            let Some((path, _)) = tasks.file_of(id) else { return Ok(None) };
            let staged = workspace.repository.version_in(*commit, path)?;
            Ok(staged.map(|staged| SideVersion { path: path.to_owned(), staged }))
        };
        let mut bases = self.bases.iter().map(version).collect::<Result<Vec<_>, _>>()?;
        bases.dedup();
        if bases.len() > 1 {
            return Ok(None);
        }
        let base = bases.pop().flatten();
        Ok(Some([base, version(&self.ours)?, version(&self.theirs)?]))
    }
}

/// One task in git's index.
struct UnmergedCase<'c> {
    workspace: &'c Workspace,
    /// The contents of all unmerged files.
    stages: &'c BTreeSet<ObjectId>,
    rules: Option<Rc<Rules>>,
    id: TaskId,
    unmerged: Vec<Unmerged>,
    staged: Vec<(String, StagedVersion)>,
}

impl UnmergedCase<'_> {
    fn paths(&self) -> Vec<String> {
        let unmerged = self.unmerged.iter().map(|file| file.path.clone());
        unmerged.chain(self.staged.iter().map(|(path, _)| path.clone())).collect()
    }

    /// Returns the versions in the index, if the task is unmerged at one path only.
    fn versions_by_stages(&self) -> Option<SideVersions> {
        let [file] = &self.unmerged[..] else { return None };
        let at = |staged: Option<StagedVersion>| {
            staged.map(|staged| SideVersion { path: file.path.clone(), staged })
        };
        Some([at(file.base), at(file.ours), at(file.theirs)])
    }

    fn result(&self, sides: ConflictSides, state: UnmergedState) -> UnmergedTask {
        let path = self.paths().into_iter().next().unwrap_or_default();
        UnmergedTask { path, others: Vec::new(), sides, seen: Vec::new(), state }
    }

    /// Returns the unmerged task; `None` if its file is already merged, or a person has decided about it.
    fn judge(&self, versions: SideVersions) -> Result<Option<UnmergedTask>, ProjectError> {
        let repository = &self.workspace.repository;
        let sides = versions.each_ref().map(|side| side.as_ref().map(|version| version.staged));
        let stages: Vec<StagedVersion> = self
            .unmerged
            .iter()
            .flat_map(|file| [file.base, file.ours, file.theirs])
            .chain(sides)
            .flatten()
            .collect();
        if !stages.iter().all(|version| version.is_file()) {
            return Ok(Some(self.result(sides, UnmergedState::EditedByHand)));
        }
        let is_confused = sides.iter().flatten().any(|side| self.stages.contains(&side.content));
        let [base, ours, theirs] = versions;
        let taken = |side: SideVersion| -> Result<_, ProjectError> {
            let bytes = repository.read_blob(side.staged.content)?;
            Ok((side.path, FileMerge::taken(bytes, Vec::new())))
        };
        let (path, merge) = match (ours, theirs) {
            (Some(ours), theirs) if Some(&ours) == theirs.as_ref() || theirs == base => {
                taken(ours)?
            }
            (ours, Some(theirs)) if ours == base => taken(theirs)?,
            (Some(ours), Some(theirs)) => match &self.rules {
                Some(rules) => {
                    let base = base.as_ref().map(SideVersion::file);
                    merge_versions(repository, rules, &self.id, base, ours.file(), theirs.file())?
                }
                None => return Ok(Some(self.result(sides, UnmergedState::NoRules))),
            },
            _ if self.unmerged.is_empty() => return Ok(None),
            _ => return Ok(Some(self.result(sides, UnmergedState::Removed))),
        };
        if let [Conflict::OtherTask(other)] = &merge.conflicts[..] {
            return Ok(Some(self.result(sides, UnmergedState::Confused(other.clone()))));
        }
        let result = repository.hash_blob(&merge.bytes);
        if self.unmerged.is_empty() {
            let is_done = matches!(&self.staged[..], [(place, version)] if *place == path && version.content == result);
            // A staged file with conflicts was decided by a person, unless git confused it with another task's.
            if is_done || !merge.conflicts.is_empty() && !is_confused {
                return Ok(None);
            }
        }
        let mut others = self.paths();
        others.retain(|other| *other != path);
        let mut seen = Vec::new();
        let (mut is_known, mut is_ours) = (true, true);
        for path in [&path].into_iter().chain(&others) {
            let file = WorktreeFile::at(self.workspace, path)?;
            match &file {
                WorktreeFile::File(bytes) => {
                    let is_same = |content| repository.is_same_text(bytes, content);
                    is_known &= is_same(result)
                        || stages.iter().any(|version| is_same(version.content))
                        || repository.written_unmerged(path)?.is_some_and(is_same);
                    is_ours &= sides[1].is_some_and(|ours| is_same(ours.content));
                }
                WorktreeFile::Nothing => {}
                WorktreeFile::Other => is_known = false,
            }
            seen.push((path.clone(), file));
        }
        let lacks_theirs =
            others.is_empty() && is_ours && sides[1].is_some_and(|ours| ours.content != result);
        let state = match (is_known, self.unmerged.is_empty()) {
            (false, true) if !is_confused => return Ok(None),
            (false, _) => UnmergedState::EditedByHand,
            (true, false) if !lacks_theirs => UnmergedState::Mergeable(Box::new(merge)),
            (true, _) => UnmergedState::OneSided(Box::new(merge)),
        };
        Ok(Some(UnmergedTask { path, others, sides, seen, state }))
    }
}

/// Merges the task files of the project that git left unmerged, and stages those without conflicts. Returns each file with its state
/// before, or with the change that was made meanwhile.
pub(crate) fn merge_unmerged(
    workspace: &Workspace,
    dry_run: DryRun,
) -> Result<Vec<UnmergedTask>, ProjectError> {
    if dry_run == DryRun::Yes {
        return unmerged_tasks(workspace);
    }
    let _lock = workspace.lock()?;
    let mut tasks = unmerged_tasks(workspace)?;
    for task in &mut tasks {
        let Some(merge) = task.state.merge() else { continue };
        if !is_unchanged(workspace, &task.seen)? {
            task.state = UnmergedState::EditedByHand;
            continue;
        }
        write_merged(workspace, &task.path, &merge.bytes, &task.others)?;
        let (repository, deadline) = (&workspace.repository, workspace.deadline());
        let UnmergedTask { path, others, sides, .. } = task;
        if merge.conflicts.is_empty() {
            repository.stage_merged(path, &merge.bytes, *sides, others, deadline)?;
        } else {
            repository.stage_unmerged(path, *sides, others, deadline)?;
        }
    }
    Ok(tasks)
}

fn is_unchanged(
    workspace: &Workspace,
    seen: &[(String, WorktreeFile)],
) -> Result<bool, ProjectError> {
    for (path, file) in seen {
        if WorktreeFile::at(workspace, path)? != *file {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes the file, and removes those that it replaces.
fn write_merged(
    workspace: &Workspace,
    path: &str,
    bytes: &[u8],
    others: &[String],
) -> Result<(), ProjectError> {
    let root = workspace.paths.root();
    let path: ProjectPath = path.parse()?;
    Folder::create(root, path.folder())?.replace(path.name(), bytes, Durability::Durable)?;
    for other in others {
        let other: ProjectPath = other.parse()?;
        if let Some(folder) = Folder::open_existing(root, other.folder())? {
            folder.remove(other.name())?;
        }
    }
    Ok(())
}
