//! Ranges of commits, ancestors, and merge bases. Each answer is exact, whatever the commit times, and reads no more of a long
//! history than necessary.
//!
//! No commit is an ancestor of its own ancestors. So if all unread commits are ancestors of a parent of some commit, none of them
//! descends from it. For a root commit, everything must be read to be sure; a count for people is not worth that.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use crate::error::GitError;
use crate::id::CommitId;
use crate::repository::handle::Repository;

/// The commits of a stretch of history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRange {
    /// The commits, ancestors first.
    pub commits: Vec<CommitId>,
    /// Commits whose parents this clone lacks.
    pub ends: Vec<CommitId>,
}

/// The numbers of commits that two branches do not share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Distance {
    /// Commits that only the first has.
    pub ahead: usize,
    /// Commits that only the other has.
    pub behind: usize,
}

/// The number of the first commit of a graph.
const FIRST: usize = 0;
/// An ancestor of a known commit.
const KNOWN: Colours = 1;
/// The first of two commits, or an ancestor of it.
const ONE: Colours = 1 << 1;
/// It is an ancestor of the other.
const OTHER: Colours = 1 << 2;
/// An ancestor of a common ancestor.
const STALE: Colours = 1 << 3;
/// The number of oldest commits that are checked at a time, each with its own colour.
const BATCH: usize = 63;
/// The least number of commits that `Likely` reads before it takes a root commit for new.
const LEAST_READ: usize = 1_000;

/// The extent of the search before a root commit counts as new.
#[derive(Clone, Copy)]
enum RootSearch {
    /// Reads every commit that might descend from the root.
    Certain,
    /// Reads about twice as much as without a root; wrong only if commit times are wrong too.
    Likely,
}

impl RootSearch {
    /// Returns the number of commits that may be read in all.
    const fn most(self, read: usize) -> usize {
        match self {
            Self::Certain => usize::MAX,
            Self::Likely => read * 2 + LEAST_READ,
        }
    }
}

impl Repository {
    /// Returns the ancestors of `until` (inclusive) that are not ancestors of `since`, parents first. Commits whose parents a
    /// shallow clone lacks are listed separately: there is nothing to compare them with.
    pub fn commits_between(
        &self,
        since: &[CommitId],
        until: CommitId,
    ) -> Result<CommitRange, GitError> {
        let graph = self.graph_between(since, &[until], RootSearch::Certain)?;
        let mut range = CommitRange { commits: Vec::new(), ends: Vec::new() };
        for number in in_order(graph.commits(), FIRST) {
            let commit = &graph.commits()[number];
            if commit.is_cut_off {
                range.ends.push(commit.id);
            } else {
                range.commits.push(commit.id);
            }
        }
        Ok(range)
    }

    /// Returns the ancestors of any of `until` (inclusive) that are not ancestors of `since`, in no order.
    pub fn commits_gained(
        &self,
        since: &[CommitId],
        until: &[CommitId],
    ) -> Result<Vec<CommitId>, GitError> {
        if until.iter().all(|commit| since.contains(commit)) {
            return Ok(Vec::new());
        }
        let graph = self.graph_between(since, until, RootSearch::Certain)?;
        let new = graph.commits().iter().filter(|commit| !commit.has(KNOWN));
        Ok(new.map(|commit| commit.id).collect())
    }

    /// Returns the first-parent commits that were added to a branch since it was at `known`, oldest first. After a rewrite, these
    /// are the commits that it did not have. Returns `None` if a shallow clone lacks the necessary history.
    pub fn added_since(
        &self,
        known: CommitId,
        head: CommitId,
    ) -> Result<Option<Vec<CommitId>>, GitError> {
        if !self.has_commit(known) {
            return Ok(None);
        }
        let mut graph = self.start_graph(&[known], &[head])?;
        let line = loop {
            let line = new_line(graph.commits(), FIRST);
            let Some(oldest) = line.last().copied() else { break line };
            // If the oldest one is new, so are its descendants.
            for parent in graph.commits()[oldest].parents().to_vec() {
                graph.propagate(parent, ONE);
            }
            graph.run_until(KNOWN | ONE, |_| false)?;
            if !graph.commits()[oldest].has(KNOWN) {
                break line;
            }
            graph.keep_colours(KNOWN);
        };
        let added = line.into_iter().rev().map(|number| &graph.commits()[number]);
        Ok(added.map(|commit| (!commit.is_cut_off).then_some(commit.id)).collect())
    }

    /// Counts the commits that each of two commits has and the other lacks, as far as this clone has the history. For display
    /// only: merged unrelated histories are judged by commit times.
    pub fn distance(&self, one: CommitId, other: CommitId) -> Result<Distance, GitError> {
        Ok(Distance {
            ahead: self.count_since(other, one, RootSearch::Likely)?,
            behind: self.count_since(one, other, RootSearch::Likely)?,
        })
    }

    /// Returns whether a commit is an ancestor of another one, or the same, as far as this clone has the history.
    pub fn is_ancestor(&self, commit: CommitId, later: CommitId) -> Result<bool, GitError> {
        if commit == later {
            return Ok(true);
        }
        let mut graph = CommitGraph::new(self, |colours| colours);
        let Some(first) = present(graph.mark(commit, ONE), commit)? else { return Ok(false) };
        if present(graph.mark(later, OTHER), later)?.is_none() {
            return Ok(false);
        }
        graph.run_until(ONE, |commits| commits[first].has(OTHER))?;
        Ok(graph.commits()[first].has(OTHER))
    }

    /// Returns the merge bases of two commits, newest first: several after criss-cross merges, none for unrelated histories, as
    /// far as this clone has the history.
    pub fn merge_bases(&self, one: CommitId, other: CommitId) -> Result<Vec<CommitId>, GitError> {
        let inherited = |colours| {
            if colours & (ONE | OTHER) == ONE | OTHER { colours | STALE } else { colours }
        };
        let mut graph = CommitGraph::new(self, inherited);
        for (commit, colour) in [(one, ONE), (other, OTHER)] {
            if present(graph.mark(commit, colour), commit)?.is_none() {
                return Ok(Vec::new());
            }
        }
        graph.run_until(STALE, |_| false)?;
        let mut bases: Vec<&GraphCommit> = graph
            .commits()
            .iter()
            .filter(|commit| commit.has(ONE | OTHER) && !commit.has(STALE))
            .collect();
        bases.sort_by_key(|base| std::cmp::Reverse(base.committed));
        let bases: Vec<CommitId> = bases.into_iter().map(|base| base.id).collect();
        // These include all best bases. With wrong commit times, there may be others.
        let mut best = Vec::with_capacity(bases.len());
        for base in &bases {
            let mut others = bases.iter().filter(|other| *other != base);
            if !others.try_fold(false, |is_old, other| {
                Ok::<_, GitError>(is_old || self.is_ancestor(*base, *other)?)
            })? {
                best.push(*base);
            }
        }
        Ok(best)
    }

    /// Returns the merge base of `head` and any of the others that is nearest to `head`.
    pub fn newest_common(
        &self,
        head: CommitId,
        others: impl IntoIterator<Item = CommitId>,
    ) -> Result<Option<CommitId>, GitError> {
        let mut bases = Vec::new();
        for other in others {
            let base = self.merge_bases(head, other)?.first().copied();
            bases.extend(base.filter(|base| !bases.contains(base)));
        }
        if let [] | [_] = *bases {
            return Ok(bases.pop());
        }
        let mut nearest = None;
        for base in bases {
            let ahead = self.count_since(base, head, RootSearch::Certain)?;
            if nearest.is_none_or(|(least, _)| ahead < least) {
                nearest = Some((ahead, base));
            }
        }
        Ok(nearest.map(|(_, base)| base))
    }

    fn count_since(
        &self,
        known: CommitId,
        until: CommitId,
        root_search: RootSearch,
    ) -> Result<usize, GitError> {
        let graph = self.graph_between(&[known], &[until], root_search)?;
        Ok(graph.commits().iter().filter(|commit| !commit.has(KNOWN)).count())
    }

    /// Reads the ancestors of `until`, and colours exactly the known ones.
    fn graph_between(
        &self,
        since: &[CommitId],
        until: &[CommitId],
        root_search: RootSearch,
    ) -> Result<CommitGraph<'_>, GitError> {
        let mut graph = self.start_graph(since, until)?;
        let mut ruled_out = BTreeSet::new();
        loop {
            let oldest_parents = oldest_parents(graph.commits())
                .into_iter()
                .filter(|parents| !ruled_out.contains(parents));
            let (beginnings, others): (Vec<_>, Vec<_>) =
                oldest_parents.partition(|parents| parents.is_empty());
            let (mut round, most) = if !others.is_empty() {
                (others, usize::MAX)
            } else if !beginnings.is_empty() {
                // A root has no parents to colour.
                (beginnings, root_search.most(graph.commits().len()))
            } else {
                return Ok(graph);
            };
            round.truncate(BATCH);
            graph.rule_out(&round, most)?;
            ruled_out.extend(round);
        }
    }

    /// Reads until all unread commits are known. With wrong commit times, known commits may still be uncoloured.
    fn start_graph(
        &self,
        since: &[CommitId],
        until: &[CommitId],
    ) -> Result<CommitGraph<'_>, GitError> {
        let mut graph = CommitGraph::new(self, |colours| colours);
        for commit in until {
            graph.mark(*commit, 0)?;
        }
        for known in since {
            graph.mark(*known, KNOWN)?;
        }
        graph.run_until(KNOWN, |_| false)?;
        Ok(graph)
    }
}

impl CommitGraph<'_> {
    /// Reads until all unread commits are ancestors of each of these sets of parents, and so descend from no commit with such
    /// parents, or until `most` commits are read. Known commits among those read are then coloured.
    fn rule_out(&mut self, oldest_parents: &[Box<[usize]>], most: usize) -> Result<(), GitError> {
        let mut all = 0;
        for (place, parents) in oldest_parents.iter().enumerate() {
            let colour = 2 << place;
            all |= colour;
            for parent in parents {
                self.propagate(*parent, colour);
            }
        }
        self.run_until(KNOWN | all, |commits| commits.len() >= most)?;
        self.keep_colours(KNOWN);
        Ok(())
    }
}

/// Returns the parents of each oldest new commit, of which no parent is new. Many have the same parents.
fn oldest_parents(commits: &[GraphCommit]) -> BTreeSet<Box<[usize]>> {
    let is_new = |commit: &GraphCommit| !commit.has(KNOWN);
    let new = commits.iter().filter(|commit| is_new(commit));
    new.map(GraphCommit::parents)
        .filter(|parents| !parents.iter().any(|parent| is_new(&commits[*parent])))
        .map(Box::from)
        .collect()
}

/// Returns the new first-parent commits of a branch, newest first.
fn new_line(commits: &[GraphCommit], last: usize) -> Vec<usize> {
    let parent = |number: &usize| commits[*number].parents().first().copied();
    std::iter::successors(Some(last), parent)
        .take_while(|number| !commits[*number].has(KNOWN))
        .collect()
}

/// Returns the numbers of the last commit and its new ancestors, parents first. Lines of history stay together.
fn in_order(commits: &[GraphCommit], last: usize) -> Vec<usize> {
    let is_new = |number: usize| !commits[number].has(KNOWN);
    let mut children = vec![0_usize; commits.len()];
    for number in (0..commits.len()).filter(|number| is_new(*number)) {
        for parent in commits[number].parents() {
            children[*parent] += 1;
        }
    }
    let mut order = Vec::new();
    let mut next: Vec<usize> = Vec::from_iter(is_new(last).then_some(last));
    while let Some(number) = next.pop() {
        order.push(number);
        for parent in commits[number].parents() {
            children[*parent] -= 1;
            if children[*parent] == 0 && is_new(*parent) {
                next.push(*parent);
            }
        }
    }
    order.reverse();
    order
}

/// Turns an error about the missing commit itself into `None`.
fn present(number: Result<usize, GitError>, commit: CommitId) -> Result<Option<usize>, GitError> {
    match number {
        Err(GitError::Missing { id, .. }) if id == commit.object() => Ok(None),
        number => number.map(Some),
    }
}

/// A set of colours.
pub(crate) type Colours = u64;

/// A part of history with colours. Commits are numbered.
pub(crate) struct CommitGraph<'r> {
    repository: &'r Repository,
    commits: Vec<GraphCommit>,
    numbers: HashMap<CommitId, usize>,
    /// Commits that are not expanded yet, newest first.
    waiting: BinaryHeap<(i64, Reverse<usize>)>,
    /// The colours that settle a commit: the ancestors of a commit with all of them need not be read. Zero outside of a run.
    settling: Colours,
    /// The number of waiting commits that are not settled.
    unsettled: usize,
    /// Returns the colours that parents inherit from a commit with these colours.
    inherited: fn(Colours) -> Colours,
}

/// A commit that was read.
pub(crate) struct GraphCommit {
    pub id: CommitId,
    pub colours: Colours,
    /// Commit time, in seconds since 1970.
    pub committed: i64,
    /// True if a shallow clone is cut off here.
    pub is_cut_off: bool,
    parents: Parents,
}

enum Parents {
    /// While the commit is waiting.
    Named(Vec<CommitId>),
    Reached(Box<[usize]>),
}

impl GraphCommit {
    /// Returns its parents, as far as they were read.
    pub(crate) fn parents(&self) -> &[usize] {
        match &self.parents {
            Parents::Named(_) => &[],
            Parents::Reached(numbers) => numbers,
        }
    }

    /// Returns whether it has all of these colours.
    pub(crate) const fn has(&self, colours: Colours) -> bool {
        self.colours & colours == colours
    }
}

impl<'r> CommitGraph<'r> {
    /// Returns an empty graph. `inherited` returns the colours that the parents of a commit get.
    pub(crate) fn new(repository: &'r Repository, inherited: fn(Colours) -> Colours) -> Self {
        let (commits, numbers, waiting) = (Vec::new(), HashMap::new(), BinaryHeap::new());
        Self { repository, commits, numbers, waiting, settling: 0, unsettled: 0, inherited }
    }

    /// Returns the commits by their numbers.
    pub(crate) fn commits(&self) -> &[GraphCommit] {
        &self.commits
    }

    /// Adds colours to a commit and its ancestors, as far as they were read. Returns its number.
    pub(crate) fn mark(&mut self, id: CommitId, colours: Colours) -> Result<usize, GitError> {
        let number = match self.numbers.get(&id) {
            Some(number) => *number,
            None => self.insert(id)?,
        };
        self.propagate(number, colours);
        Ok(number)
    }

    /// Adds colours to a commit that was read, and to its ancestors.
    pub(crate) fn propagate(&mut self, number: usize, colours: Colours) {
        let mut below = vec![(number, colours)];
        while let Some((number, colours)) = below.pop() {
            let commit = &mut self.commits[number];
            if commit.has(colours) {
                continue;
            }
            let was_settled = commit.has(self.settling);
            commit.colours |= colours;
            match &commit.parents {
                Parents::Reached(parents) => {
                    let colours = (self.inherited)(commit.colours);
                    below.extend(parents.iter().map(|parent| (*parent, colours)));
                }
                Parents::Named(_) if !was_settled && commit.has(self.settling) => {
                    self.unsettled -= 1;
                }
                Parents::Named(_) => {}
            }
        }
    }

    /// Removes all other colours from every commit.
    pub(crate) fn keep_colours(&mut self, colours: Colours) {
        for commit in &mut self.commits {
            commit.colours &= colours;
        }
    }

    /// Expands waiting commits until all that still wait have these colours, or until `is_enough` holds.
    pub(crate) fn run_until(
        &mut self,
        settling: Colours,
        is_enough: impl Fn(&[GraphCommit]) -> bool,
    ) -> Result<(), GitError> {
        self.settling = settling;
        let waiting = self.waiting.iter().map(|(_, Reverse(number))| &self.commits[*number]);
        self.unsettled = waiting.filter(|commit| !commit.has(settling)).count();
        while self.unsettled > 0 && !is_enough(&self.commits) {
            let Some((_, Reverse(number))) = self.waiting.pop() else { break };
            self.expand(number)?;
        }
        // Stop counting.
        self.settling = 0;
        Ok(())
    }

    /// Reads the parents of a waiting commit, and passes its colours on.
    fn expand(&mut self, number: usize) -> Result<(), GitError> {
        let commit = &mut self.commits[number];
        let colours = (self.inherited)(commit.colours);
        let Parents::Named(names) =
            std::mem::replace(&mut commit.parents, Parents::Reached(Box::new([])))
        else {
            return Ok(());
        };
        if !commit.has(self.settling) {
            self.unsettled -= 1;
        }
        let mut parents = Vec::with_capacity(names.len());
        for name in names {
            match self.mark(name, colours) {
                Ok(parent) => parents.push(parent),
                // A shallow clone may lack parents.
                Err(GitError::Missing { id, .. })
                    if id == name.object() && self.repository.is_shallow()? =>
                {
                    self.commits[number].is_cut_off = true;
                }
                Err(fault) => return Err(fault),
            }
        }
        self.commits[number].parents = Parents::Reached(parents.into());
        Ok(())
    }

    fn insert(&mut self, id: CommitId) -> Result<usize, GitError> {
        let links = self.repository.links(id)?;
        let number = self.commits.len();
        self.commits.push(GraphCommit {
            id,
            colours: 0,
            committed: links.committed,
            is_cut_off: self.repository.is_cut_off(id)?,
            parents: Parents::Named(links.parents),
        });
        self.numbers.insert(id, number);
        self.waiting.push((links.committed, Reverse(number)));
        if self.settling != 0 {
            self.unsettled += 1;
        }
        Ok(number)
    }
}
