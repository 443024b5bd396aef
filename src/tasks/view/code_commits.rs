//! The commits of code that name a task: in their message, or by the name of their branch. `.aof/commits` has what was found, so that
//! only commits that a branch gained since are read.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::domain::{TaskId, Timestamp};
use crate::git::log::trailers::{self, Trailer, text_above};
use crate::git::{CommitId, GitError, LogEntry, Repository};
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::storage::header_cache::Hint;
use crate::storage::layout::TASKS;

/// The number of commits that people see at once.
pub(crate) const LATEST: usize = 5;
/// The name of the remote whose default branch counts as the main one.
const REMOTE: &str = "origin";
/// The names of the main branch if that remote names none.
const USUAL: [&str; 2] = ["main", "master"];

/// A commit of code that names a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CodeCommit {
    pub commit: CommitId,
    pub subject: String,
    pub author: String,
    pub time: Timestamp,
    /// The branches that have it; none once the main branch has it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<String>,
}

impl CodeCommit {
    /// Returns the abbreviated name of the commit.
    pub(crate) fn short(&self) -> String {
        self.commit.to_string()[..7].to_owned()
    }
}

/// Returns the commits of code that name the task, newest first. Steps of tasks are left out.
pub(crate) fn code_commits(
    workspace: &Workspace,
    rules: &Rules,
    id: &TaskId,
) -> Result<Vec<CodeCommit>, GitError> {
    let repository = &workspace.repository;
    let scan = CodeScan { repository, rules };
    // A shallow clone may get older commits without a branch that moves.
    let is_whole = !repository.is_shallow()?;
    let mut index = CodeIndex::load(&workspace.paths).filter(|_| is_whole).unwrap_or_default();
    if scan.follow(&mut index)? && is_whole {
        // If it cannot be saved, the next command looks again.
        let _ = index.save(&workspace.paths);
    }
    let places = index.places(id, &|branch| scan.names_in(branch).contains(id));
    let read = |(commit, branches)| {
        // A damaged index may name others.
        let LogEntry { author, authored: time, message, .. } = repository.log_entry(commit).ok()?;
        let subject = message.lines().next().unwrap_or_default().to_owned();
        Some(CodeCommit { commit, subject, author: author.name().to_owned(), time, branches })
    };
    let mut commits: Vec<CodeCommit> = places.into_iter().filter_map(read).collect();
    commits.sort_by_key(|commit| Reverse(commit.time));
    Ok(commits)
}

/// `.aof/commits`: the commits that name tasks, as the branches were.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CodeIndex {
    /// The beginning of the ids that were looked for.
    prefix: String,
    /// The commits of the main branch, here and at remotes.
    main: BTreeSet<CommitId>,
    /// The commits of the other branches, by name.
    tips: BTreeMap<String, CommitId>,
    /// The commits of the main branch that name a task.
    merged: BTreeMap<TaskId, Vec<CommitId>>,
    /// All commits that only other branches have.
    unmerged: HashMap<CommitId, UnmergedCommit>,
}

/// A commit that the main branch lacks.
#[derive(Debug, Serialize, Deserialize)]
struct UnmergedCommit {
    parents: Vec<CommitId>,
    /// The tasks that its message names.
    names: BTreeSet<TaskId>,
    /// True if it is a step of a task.
    is_step: bool,
}

impl Hint for CodeIndex {
    const NAME: &str = "commits";
}

impl CodeIndex {
    /// Returns the commits of a task, each with the branches that have it if it is not merged.
    fn places(
        &self,
        id: &TaskId,
        is_of_task: &dyn Fn(&str) -> bool,
    ) -> BTreeMap<CommitId, Vec<String>> {
        let mut places: BTreeMap<CommitId, Vec<String>> = BTreeMap::new();
        places
            .extend(self.merged.get(id).into_iter().flatten().map(|commit| (*commit, Vec::new())));
        let named = self.unmerged.iter().filter(|(_, commit)| commit.names.contains(id));
        let mut unmerged: HashSet<CommitId> = named.map(|(commit, _)| *commit).collect();
        for (_, tip) in self.tips.iter().filter(|(branch, _)| is_of_task(branch)) {
            unmerged.extend(self.line_of(*tip));
        }
        unmerged.retain(|commit| !self.unmerged[commit].is_step);
        let branches = self.tips.iter().filter(|_| !unmerged.is_empty());
        for (branch, tip) in branches {
            for commit in self.line_of(*tip).intersection(&unmerged) {
                places.entry(*commit).or_default().push(branch.clone());
            }
        }
        places
    }

    /// Returns the unmerged commits that a branch has.
    fn line_of(&self, tip: CommitId) -> HashSet<CommitId> {
        let (mut found, mut next) = (HashSet::new(), vec![tip]);
        while let Some(id) = next.pop() {
            if let Some(commit) = self.unmerged.get(&id)
                && found.insert(id)
            {
                next.extend(&commit.parents);
            }
        }
        found
    }
}

/// A search for commits that name tasks of the project.
struct CodeScan<'s> {
    repository: &'s Repository,
    rules: &'s Rules,
}

impl CodeScan<'_> {
    /// Brings the index to the present state of the branches. Returns whether it has changed.
    fn follow(&self, index: &mut CodeIndex) -> Result<bool, GitError> {
        let (main, mut tips) = self.branches()?;
        let prefix = self.rules.project.id_prefix.to_string();
        if (&index.prefix, &index.main, &index.tips) == (&prefix, &main, &tips) {
            return Ok(false);
        }
        let is_here = |commit: &CommitId| self.repository.has_commit(*commit);
        if index.prefix != prefix || !index.main.iter().all(is_here) {
            *index = CodeIndex { prefix, ..CodeIndex::default() };
        }
        tips.retain(|_, tip| is_here(tip));
        self.follow_main(index, main)?;
        self.follow_others(index, tips)?;
        Ok(true)
    }

    /// Returns the commits of the main branch, and those of the others. The project's own branch has steps only, and is left out.
    fn branches(&self) -> Result<(BTreeSet<CommitId>, BTreeMap<String, CommitId>), GitError> {
        let repository = self.repository;
        let all = repository.remote_branches()?.into_iter().map(|branch| (true, branch));
        let local = repository.local_branches()?.into_iter().map(|branch| (false, branch));
        // Each with its name at its remote.
        let named = |(is_remote, (name, tip)): (bool, (String, CommitId))| {
            let rest = name.split_once('/').filter(|_| is_remote);
            (rest.map_or(name.as_str(), |(_, rest)| rest).to_owned(), name, tip)
        };
        let mut all: Vec<_> = all.chain(local).map(named).collect();
        let project = self.rules.project.git.branch.as_ref();
        all.retain(|(branch, ..)| project.is_none_or(|project| project.as_str() != branch));
        let usual = USUAL.iter().find(|name| all.iter().any(|(branch, ..)| branch == *name));
        let main = match (repository.default_branch(REMOTE), usual) {
            (Some((name, _)), _) => name,
            (None, Some(name)) => (*name).to_owned(),
            (None, None) => repository.head_for_reading()?.branch().to_owned(),
        };
        let (main, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(branch, ..)| *branch == main);
        let others = others.into_iter().map(|(_, name, tip)| (name, tip));
        Ok((main.into_iter().map(|(.., tip)| tip).collect(), others.collect()))
    }

    /// Adds what the main branch gained, and removes what it lost by a rewrite.
    fn follow_main(&self, index: &mut CodeIndex, main: BTreeSet<CommitId>) -> Result<(), GitError> {
        let list = |main: &BTreeSet<CommitId>| main.iter().copied().collect::<Vec<_>>();
        let (old, new) = (list(&index.main), list(&main));
        let lost: HashSet<CommitId> =
            self.repository.commits_gained(&new, &old)?.into_iter().collect();
        if !lost.is_empty() {
            index.merged.values_mut().for_each(|commits| commits.retain(|id| !lost.contains(id)));
            index.unmerged.clear();
            index.tips.clear();
        }
        for id in self.repository.commits_gained(&old, &new)? {
            let commit = match index.unmerged.remove(&id) {
                Some(commit) => commit,
                None => self.read(id, false)?,
            };
            for name in commit.names.into_iter().filter(|_| !commit.is_step) {
                index.merged.entry(name).or_default().push(id);
            }
        }
        index.main = main;
        Ok(())
    }

    /// Adds what other branches gained, and removes what no branch has any longer.
    fn follow_others(
        &self,
        index: &mut CodeIndex,
        tips: BTreeMap<String, CommitId>,
    ) -> Result<(), GitError> {
        let is_moved = |(branch, tip): &(&String, &CommitId)| index.tips.get(*branch) != Some(tip);
        let moved: Vec<(&String, &CommitId)> = tips.iter().filter(is_moved).collect();
        let before = moved.iter().filter_map(|(branch, _)| index.tips.get(*branch));
        let before = before
            .filter(|tip| index.unmerged.contains_key(tip) && self.repository.has_commit(**tip));
        let since: Vec<CommitId> = index.main.iter().chain(before).copied().collect();
        let until: Vec<CommitId> = moved.iter().map(|(_, tip)| **tip).collect();
        for id in self.repository.commits_gained(&since, &until)? {
            if let Entry::Vacant(place) = index.unmerged.entry(id) {
                place.insert(self.read(id, true)?);
            }
        }
        index.tips = tips;
        let reached: HashSet<CommitId> =
            index.tips.values().flat_map(|tip| index.line_of(*tip)).collect();
        index.unmerged.retain(|id, _| reached.contains(id));
        Ok(())
    }

    /// Reads a commit. Unless it may count by its branch, it is a step only if it names a task.
    fn read(&self, id: CommitId, counts_by_branch: bool) -> Result<UnmergedCommit, GitError> {
        let LogEntry { parents, message, .. } = self.repository.log_entry(id)?;
        // Merges that aof makes have the ids of tasks in trailers.
        let is_by_aof = message.contains("\nAof-") && trailers::parse(&message).iter().any(is_ours);
        let names = self.names_in(if is_by_aof { text_above(&message) } else { &message });
        // A code branch beside a project on a branch of its own may have a folder of that name, too.
        let may_be_step = self.rules.project.git.branch.is_none() || is_by_aof;
        let is_step = (counts_by_branch || !names.is_empty())
            && may_be_step
            && match self.repository.changes_only(id, TASKS) {
                Ok(true) => true,
                Ok(false) if !parents.is_empty() => false,
                // A partial clone may lack the trees, and a shallow one the parent.
                _ => is_by_aof,
            };
        Ok(UnmergedCommit { parents, names, is_step })
    }

    /// Returns the ids of tasks in a text: whole words, in any case.
    fn names_in(&self, text: &str) -> BTreeSet<TaskId> {
        let prefix = format!("{}-", self.rules.project.id_prefix);
        let (text, start) = (text.to_ascii_lowercase(), prefix.to_ascii_lowercase());
        let found = text.match_indices(&start);
        let found = found.filter_map(|(at, start)| {
            let is_word = !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
            let rest = &text[at + start.len()..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            format!("{prefix}{}", &rest[..end]).parse().ok().filter(|_| is_word)
        });
        found.collect()
    }
}

/// Returns whether only aof writes the trailer. In `Aof-7qk: fix`, a person wrote an id.
fn is_ours(trailer: &Trailer) -> bool {
    trailer.key().strip_prefix("Aof-").is_some_and(|rest| rest.starts_with(char::is_uppercase))
}
