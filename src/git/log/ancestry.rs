//! Ranges of commits, ancestors, and merge bases. Each answer is exact, whatever the clocks said when the commits were made, and reads
//! no more of a long history than it takes to be sure.
//!
//! No commit is an ancestor of its own ancestors. So if all commits that are still unread are ancestors of a parent of some commit, none
//! of them descends from it. For a root commit, everything has to be read to be sure of that; a count for people is not worth it.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use crate::git::error::GitError;
use crate::git::id::CommitId;
use crate::git::repository::handle::Repository;

/// The commits of a stretch of history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRange {
    /// The commits, ancestors first.
    pub commits: Vec<CommitId>,
    /// Commits whose parents this clone lacks.
    pub ends: Vec<CommitId>,
}

/// How far two branches are from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Distance {
    /// Commits that only the first has.
    pub ahead: usize,
    /// Commits that only the other has.
    pub behind: usize,
}

/// An ancestor of a known commit.
const KNOWN: Colours = 1;
/// The first of two commits, or an ancestor of it.
const ONE: Colours = 1 << 1;
/// An ancestor of the other.
const OTHER: Colours = 1 << 2;
/// An ancestor of a common ancestor.
const STALE: Colours = 1 << 3;
/// How many first commits of a range are ruled out at a time, each by a colour of its own.
const BATCH: usize = 63;
/// How many commits are read at least before a root commit is taken for new that is only `Likely` to be.
const LEAST_READ: usize = 1_000;

/// How far is read to rule out that a root commit is old.
#[derive(Clone, Copy)]
enum RootSearch {
    /// Reads all that might descend from one.
    Certain,
    /// Reads about twice of what it would without one: wrong only where a clock was as well.
    Likely,
}

impl RootSearch {
    /// Returns how many commits may be read, where so many were.
    const fn most(self, read: usize) -> usize {
        match self {
            Self::Certain => usize::MAX,
            Self::Likely => read * 2 + LEAST_READ,
        }
    }
}

impl Repository {
    /// Returns every commit that led to `until`, and to none of `since`, each behind those that it came from. Those whose parents are not
    /// here, as in a shallow clone, are told apart: there is nothing to compare them with.
    pub fn commits_between(
        &self,
        since: &[CommitId],
        until: CommitId,
    ) -> Result<CommitRange, GitError> {
        let (graph, last) = self.graph_between(since, until, RootSearch::Certain)?;
        let mut range = CommitRange { commits: Vec::new(), ends: Vec::new() };
        for number in in_order(graph.commits(), last) {
            let commit = &graph.commits()[number];
            if commit.is_end { range.ends.push(commit.id) } else { range.commits.push(commit.id) }
        }
        Ok(range)
    }

    /// Returns the commits that were added to a branch since it was at `known`, oldest first. Of what was merged in, only the
    /// merge counts. Where the branch was rewritten, those count that it did not have. Nothing is returned where history ends before
    /// that is known, as it does in a shallow clone.
    pub fn added_since(
        &self,
        known: CommitId,
        head: CommitId,
    ) -> Result<Option<Vec<CommitId>>, GitError> {
        if !self.has_commit(known) {
            return Ok(None);
        }
        let (mut graph, last) = self.start_graph(&[known], head)?;
        let line = loop {
            let line = new_line(graph.commits(), last);
            let Some(oldest) = line.last().copied() else { break line };
            // Where the oldest one is new, so is all that came of it.
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
        Ok(added.map(|commit| (!commit.is_end).then_some(commit.id)).collect())
    }

    /// Counts what two commits have that the other has not, as far as history goes here. Tells people, and decides nothing: among what
    /// began by itself, and was merged in, it believes the clocks.
    pub fn distance(&self, one: CommitId, other: CommitId) -> Result<Distance, GitError> {
        Ok(Distance {
            ahead: self.count_since(other, one, RootSearch::Likely)?,
            behind: self.count_since(one, other, RootSearch::Likely)?,
        })
    }

    /// Returns whether a commit led to another one, or is the same, as far as history goes here.
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

    /// Returns the commits at which two others parted, the newest first: several where both had merged the other before, and none where
    /// they never met, as far as history goes here.
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
        // All of the best are among them. Where a clock was wrong, others may be as well.
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

    /// Returns the newest commit that led to `head` and to any of the others, if there is one here.
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
        let (graph, _) = self.graph_between(&[known], until, root_search)?;
        Ok(graph.commits().iter().filter(|commit| !commit.has(KNOWN)).count())
    }

    /// Reads what led to `until` and gives what is known its colour, and nothing else. Returns the number of `until` as well.
    fn graph_between(
        &self,
        since: &[CommitId],
        until: CommitId,
        root_search: RootSearch,
    ) -> Result<(CommitGraph<'_>, usize), GitError> {
        let (mut graph, last) = self.start_graph(since, until)?;
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
                return Ok((graph, last));
            };
            round.truncate(BATCH);
            graph.rule_out(&round, most)?;
            ruled_out.extend(round);
        }
    }

    /// Reads until all that is left to read is known. Something that it came from might be among what is not, if a clock was wrong.
    fn start_graph(
        &self,
        since: &[CommitId],
        until: CommitId,
    ) -> Result<(CommitGraph<'_>, usize), GitError> {
        let mut graph = CommitGraph::new(self, |colours| colours);
        let last = graph.mark(until, 0)?;
        for known in since {
            graph.mark(*known, KNOWN)?;
        }
        graph.run_until(KNOWN, |_| false)?;
        Ok((graph, last))
    }
}

impl CommitGraph<'_> {
    /// Reads until all that is left to read led to every commit that has one of these sets of parents, and so came from none, or until so
    /// many commits were read. What it came from then has the colour of what is known, if it is among what was read.
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

/// Returns the parents of each first new commit: one of which no parent is new. Many have the same.
fn oldest_parents(commits: &[GraphCommit]) -> BTreeSet<Box<[usize]>> {
    let is_new = |commit: &GraphCommit| !commit.has(KNOWN);
    let new = commits.iter().filter(|commit| is_new(commit));
    new.map(GraphCommit::parents)
        .filter(|parents| !parents.iter().any(|parent| is_new(&commits[*parent])))
        .map(Box::from)
        .collect()
}

/// Returns the new commits of a branch, the newest first; of what was merged in, the merge.
fn new_line(commits: &[GraphCommit], last: usize) -> Vec<usize> {
    let parent = |number: &usize| commits[*number].parents().first().copied();
    std::iter::successors(Some(last), parent)
        .take_while(|number| !commits[*number].has(KNOWN))
        .collect()
}

/// Returns the numbers of the new commits that led to the last one, and its own, each behind its parents. What came of one line of
/// history stays together.
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

/// A commit that is not here has no history here.
fn present(number: Result<usize, GitError>, commit: CommitId) -> Result<Option<usize>, GitError> {
    match number {
        Err(GitError::Missing { id, .. }) if id == commit.object() => Ok(None),
        number => number.map(Some),
    }
}

/// A set of colours.
pub(crate) type Colours = u64;

/// A part of history with its colours. A commit is called by its number here.
pub(crate) struct CommitGraph<'r> {
    repository: &'r Repository,
    commits: Vec<GraphCommit>,
    numbers: HashMap<CommitId, usize>,
    /// Those that have not been gone through, the newest first.
    waiting: BinaryHeap<(i64, Reverse<usize>)>,
    /// The colours that settle a commit: what led to one that has them all need not be known. None outside of a run.
    settling: Colours,
    /// How many are waiting that are not settled.
    unsettled: usize,
    /// What the parents get of a commit with these colours.
    inherited: fn(Colours) -> Colours,
}

/// A commit that was reached.
pub(crate) struct GraphCommit {
    pub id: CommitId,
    pub colours: Colours,
    /// When it was committed, in seconds.
    pub committed: i64,
    /// Whether history was cut off here.
    pub is_end: bool,
    parents: Parents,
}

enum Parents {
    /// As long as the commit is waiting.
    Named(Vec<CommitId>),
    Reached(Box<[usize]>),
}

impl GraphCommit {
    /// Returns its parents, as far as they were reached.
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
    /// Begins with no commit. Parents get all colours of a commit, and what comes of them by that rule.
    pub(crate) fn new(repository: &'r Repository, inherited: fn(Colours) -> Colours) -> Self {
        let (commits, numbers, waiting) = (Vec::new(), HashMap::new(), BinaryHeap::new());
        Self { repository, commits, numbers, waiting, settling: 0, unsettled: 0, inherited }
    }

    /// Returns the commits by their numbers.
    pub(crate) fn commits(&self) -> &[GraphCommit] {
        &self.commits
    }

    /// Gives a commit colours, and all that led to it as far as that was gone through. Returns its number.
    pub(crate) fn mark(&mut self, id: CommitId, colours: Colours) -> Result<usize, GitError> {
        let number = match self.numbers.get(&id) {
            Some(number) => *number,
            None => self.insert(id)?,
        };
        self.propagate(number, colours);
        Ok(number)
    }

    /// Gives colours to one that was reached.
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

    /// Takes all colours but these from every commit.
    pub(crate) fn keep_colours(&mut self, colours: Colours) {
        for commit in &mut self.commits {
            commit.colours &= colours;
        }
    }

    /// Goes through what is waiting until each commit that is has all of these colours, or `is_enough`.
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
        // Nobody counts any more.
        self.settling = 0;
        Ok(())
    }

    /// Reaches the parents of a commit that was waiting, and gives them its colours.
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
                // Where history was cut off, not everything has to be here.
                Err(GitError::Missing { id, .. })
                    if id == name.object() && self.repository.is_shallow()? =>
                {
                    self.commits[number].is_end = true;
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
            is_end: self.repository.is_end(id)?,
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
