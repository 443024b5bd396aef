//! Colours that run down history, from commits to what led to them: who has which was reached from where. Reads each commit once, the
//! newest first, and no further than somebody wants to know.
//!
//! Dates only say what is read first. Clocks are wrong at times, so when enough is known is never told by a date: a commit that was
//! read already takes a new colour on to all that led to it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::git::error::GitError;
use crate::git::id::CommitId;
use crate::git::repository::handle::Repository;

/// A set of colours.
pub(crate) type Colours = u64;

/// A part of history with its colours. A commit is called by its number here.
pub(crate) struct Paint<'r> {
    repository: &'r Repository,
    commits: Vec<Painted>,
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
pub(crate) struct Painted {
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

impl Painted {
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

impl<'r> Paint<'r> {
    /// Begins with no commit. Parents get all colours of a commit, and what comes of them by that rule.
    pub(crate) fn new(repository: &'r Repository, inherited: fn(Colours) -> Colours) -> Self {
        let (commits, numbers, waiting) = (Vec::new(), HashMap::new(), BinaryHeap::new());
        Self { repository, commits, numbers, waiting, settling: 0, unsettled: 0, inherited }
    }

    /// Returns the commits by their numbers.
    pub(crate) fn commits(&self) -> &[Painted] {
        &self.commits
    }

    /// Gives a commit colours, and all that led to it as far as that was gone through. Returns its number.
    pub(crate) fn give(&mut self, id: CommitId, colours: Colours) -> Result<usize, GitError> {
        let number = match self.numbers.get(&id) {
            Some(number) => *number,
            None => self.reach(id)?,
        };
        self.run_down(number, colours);
        Ok(number)
    }

    /// Gives colours to one that was reached.
    pub(crate) fn run_down(&mut self, number: usize, colours: Colours) {
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
    pub(crate) fn leave(&mut self, colours: Colours) {
        for commit in &mut self.commits {
            commit.colours &= colours;
        }
    }

    /// Goes through what is waiting until each commit that is has all of these colours, or `is_enough`.
    pub(crate) fn run_until(
        &mut self,
        settling: Colours,
        is_enough: impl Fn(&[Painted]) -> bool,
    ) -> Result<(), GitError> {
        self.settling = settling;
        let waiting = self.waiting.iter().map(|(_, Reverse(number))| &self.commits[*number]);
        self.unsettled = waiting.filter(|commit| !commit.has(settling)).count();
        while self.unsettled > 0 && !is_enough(&self.commits) {
            let Some((_, Reverse(number))) = self.waiting.pop() else { break };
            self.go_through(number)?;
        }
        // Nobody counts any more.
        self.settling = 0;
        Ok(())
    }

    /// Reaches the parents of a commit that was waiting, and gives them its colours.
    fn go_through(&mut self, number: usize) -> Result<(), GitError> {
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
            match self.give(name, colours) {
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

    fn reach(&mut self, id: CommitId) -> Result<usize, GitError> {
        let links = self.repository.links(id)?;
        let number = self.commits.len();
        self.commits.push(Painted {
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
