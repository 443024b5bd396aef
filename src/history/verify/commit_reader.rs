//! The tasks and rules of commits, read one commit after the other.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use crate::domain::{Status, Task, TaskId, Timestamp};
use crate::files::task_file::{Defaults, parse_hand_made_as_written, parse_task};
use crate::git::{CommitId, LogEntry, ObjectId, Repository};
use crate::history::commit_tasks::{
    KnownFiles, KnownRules, KnownTasks, TaskChanges, TaskFileVersion, TaskPair, id_of,
    superseded_trailer,
};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::replay::merge::{Merged, with_people_of};
use crate::rules::{Proof, Rules, prove, rehashed};
use crate::storage::layout;

/// Reads tasks and rules, and keeps those that the next commits need again.
pub(crate) struct CommitReader<'w> {
    pub workspace: &'w Workspace,
    pub files: KnownFiles,
    rules: KnownRules,
    tasks: KnownTasks,
    /// Parent and status of each version of a task that has a parent.
    parents: HashMap<ObjectId, Option<(TaskId, Status)>>,
}

impl<'w> CommitReader<'w> {
    pub(crate) fn new(workspace: &'w Workspace) -> Self {
        Self {
            workspace,
            files: KnownFiles::default(),
            rules: KnownRules::default(),
            tasks: KnownTasks::default(),
            parents: HashMap::new(),
        }
    }

    /// Returns the rules that judge a commit: those of its parent.
    pub(crate) fn rules(&mut self, entry: &LogEntry) -> Result<Rc<Rules>, ProjectError> {
        self.rules.behind(self.workspace, entry)
    }

    /// Notes that a commit did not change the rules: they judge the next one too.
    pub(crate) fn keep_rules(&mut self, entry: &LogEntry) {
        self.rules.are_kept_by(entry);
    }

    /// Returns a version of a task; `None` if its file cannot be read.
    pub(crate) fn read(
        &mut self,
        rules: &Rules,
        entry: &LogEntry,
        id: &TaskId,
        version: ObjectId,
    ) -> Result<Option<Rc<Task>>, ProjectError> {
        self.tasks.read(self.workspace, (id, version), rules, entry.committed)
    }

    /// Returns the children of a task in a commit, with their states.
    pub(crate) fn children(
        &mut self,
        rules: &Rules,
        commit: CommitId,
        parent: &TaskId,
    ) -> Result<BTreeMap<TaskId, Status>, ProjectError> {
        let repository = &self.workspace.repository;
        let mut found = BTreeMap::new();
        for file in repository.list(commit, layout::TASKS)? {
            let Some(id) = id_of(&file.path) else { continue };
            let known = match self.parents.entry(file.id) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(free) => {
                    let bytes = repository.read_blob(file.id)?;
                    let names_one = String::from_utf8_lossy(&bytes).contains("parent");
                    let workflow = rules.project.default_workflow.clone();
                    let defaults = Defaults { workflow, created: Timestamp::UNIX_EPOCH };
                    let task = names_one.then(|| parse_task(&bytes, &id, &defaults).ok()).flatten();
                    free.insert(task.and_then(|(task, _)| Some((task.parent?, task.status))))
                }
            };
            if let Some((parent_of_child, status)) = known
                && parent_of_child == parent
            {
                found.insert(id, *status);
            }
        }
        Ok(found)
    }

    /// Returns the readable ones among versions of a task.
    pub(crate) fn read_all(
        &mut self,
        rules: &Rules,
        entry: &LogEntry,
        id: &TaskId,
        versions: &[TaskFileVersion],
    ) -> Result<Vec<Rc<Task>>, ProjectError> {
        let read = versions.iter().map(|(_, version)| self.read(rules, entry, id, *version));
        Ok(read.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Returns the tasks that both parents of a merge changed since their merge base.
    pub(crate) fn pairs(
        &mut self,
        entry: &LogEntry,
        changes: &TaskChanges,
    ) -> Result<BTreeMap<TaskId, TaskPair>, ProjectError> {
        let rules = self.rules(entry)?;
        changes.pairs(self.workspace, &rules, &mut self.tasks, entry.committed)
    }
}

/// Returns the task with the longest history; a task that was never adopted counts least.
pub(crate) fn longest(tasks: Vec<Rc<Task>>) -> Option<Rc<Task>> {
    tasks.into_iter().max_by_key(|task| (!is_new(task), task.history.len()))
}

/// Returns whether the engine has never adopted the task.
pub(crate) fn is_new(task: &Task) -> bool {
    task.gate.is_none() && task.history.is_empty()
}

/// The merge of two commits by meaning, from each merge base. Other merges have none.
pub(crate) struct Remerge {
    sides: Vec<SidesSince>,
    /// True if a merge base is missing, as in a shallow clone: the merge cannot be judged.
    pub is_cut_off: bool,
}

/// The changes of two sides since one merge base.
struct SidesSince {
    base: CommitId,
    changes: TaskChanges,
    pairs: BTreeMap<TaskId, TaskPair>,
}

impl Remerge {
    pub(crate) fn of(
        reader: &mut CommitReader<'_>,
        entry: &LogEntry,
    ) -> Result<Self, ProjectError> {
        let cut_off = Self { sides: Vec::new(), is_cut_off: true };
        let [ours, theirs] = entry.parents[..] else {
            return Ok(Self { is_cut_off: false, ..cut_off });
        };
        let repository = &reader.workspace.repository;
        if !repository.has_commit(ours) || !repository.has_commit(theirs) {
            return Ok(cut_off);
        }
        let bases = repository.merge_bases(ours, theirs)?;
        if bases.is_empty() && repository.is_shallow()? {
            return Ok(cut_off);
        }
        let sides = bases.into_iter().map(|base| {
            let changes = TaskChanges::since(reader.workspace, base, (ours, theirs))?;
            let pairs = reader.pairs(entry, &changes)?;
            Ok(SidesSince { base, changes, pairs })
        });
        Ok(Self { sides: sides.collect::<Result<_, ProjectError>>()?, is_cut_off: false })
    }

    /// Returns the merge bases.
    pub(crate) fn bases(&self) -> impl Iterator<Item = CommitId> {
        self.sides.iter().map(|sides| sides.base)
    }

    /// Returns the possible results for a task, with people's fields as in `after`; none if it cannot be merged by the rules.
    pub(crate) fn merged(
        &self,
        reader: &mut CommitReader<'_>,
        entry: &LogEntry,
        id: &TaskId,
        after: &Task,
    ) -> Result<Vec<Merged>, ProjectError> {
        let rules = reader.rules(entry)?;
        let mut all = Vec::new();
        for SidesSince { changes, pairs, .. } in &self.sides {
            let changed = match (changes.ours.get(id), changes.theirs.get(id)) {
                (Some(_), Some(_)) => {
                    all.extend(pairs.get(id).and_then(|pair| pair.merged(&rules, after)));
                    continue;
                }
                // Only one side changed it: that side's version is the result.
                (Some(changed), None) | (None, Some(changed)) => changed,
                (None, None) => continue,
            };
            let Some((_, version)) = changed.after.first() else { continue };
            let task = reader.read(&rules, entry, id, *version)?;
            if let Some(task) = task.filter(|task| !is_new(task)) {
                let task = Task { updated: after.updated, ..with_people_of(&task, after) };
                all.push(Merged { task, superseded: Vec::new(), redone: 0, dropped: Vec::new() });
            }
        }
        Ok(all)
    }

    /// Returns the trailer values of all superseded entries.
    pub(crate) fn superseded(
        &self,
        reader: &mut CommitReader<'_>,
        entry: &LogEntry,
        afters: &BTreeMap<TaskId, Rc<Task>>,
    ) -> Result<BTreeSet<String>, ProjectError> {
        let rules = reader.rules(entry)?;
        let pairs = self.sides.iter().flat_map(|sides| &sides.pairs);
        let merged = pairs.flat_map(|(id, pair)| {
            let after = afters.get(id).and_then(|after| pair.merged(&rules, after));
            pair.merged(&rules, &pair.ours).into_iter().chain(after)
        });
        let trailers = merged
            .flat_map(|merged| merged.superseded)
            .filter_map(|loss| superseded_trailer(&loss));
        Ok(trailers.map(|trailer| trailer.value().to_owned()).collect())
    }
}

/// A proof or a breach; `true` if the entries name the rules by the hash of an earlier version.
type Proved = (Proof, bool);

/// Proves a change by its files: earlier versions of aof adopted `routing.agent`, `reviewContext`, `blockers` and `context` from
/// hand-made files.
pub(crate) fn prove_change(
    repository: &Repository,
    rules: &Rules,
    (before, files): (Option<&Task>, &[TaskFileVersion]),
    (id, after): (&TaskId, &Task),
) -> Result<Proved, ProjectError> {
    let proved = prove_states(rules, before, after);
    if !is_breach(&proved.0) || is_new(after) || !before.is_none_or(is_new) {
        return Ok(proved);
    }
    // A file without a creation time was read just before it was adopted.
    let defaults =
        Defaults { workflow: rules.project.default_workflow.clone(), created: after.created };
    for (_, content) in files {
        let bytes = repository.read_blob(*content)?;
        let Some(written) = parse_hand_made_as_written(&bytes, id, &defaults) else { continue };
        let earlier = prove_states(rules, Some(&written), after);
        if !is_breach(&earlier.0) {
            return Ok(earlier);
        }
    }
    Ok(proved)
}

/// Proves a change by the states alone.
fn prove_states(rules: &Rules, before: Option<&Task>, after: &Task) -> Proved {
    let proof = prove(rules, before, after);
    if is_breach(&proof)
        && let Some((before, after)) = rehashed(rules, before, after)
    {
        let other = prove(rules, before.as_ref(), &after);
        // No engine changes the hash alone.
        if !matches!(other, Proof::Breach(_) | Proof::Kept) {
            return (other, true);
        }
    }
    (proof, false)
}

fn is_breach(proof: &Proof) -> bool {
    matches!(proof, Proof::Breach(_))
}
