//! What a kill or a failure interrupted on the way to another commit is finished, or taken back. What is done says `table`; `look` and
//! `standing` find out what is so, `each` does it where paths go one by one.
//!
//! ```text
//!   look             what there is to write; no lock is held
//!   record, lock     again that the branch is on its way, from where to where; then `index.lock`
//!   HEAD             still the branch, and the commit, that was looked at? else all over again
//!   look             at every path once more, and decide
//!   do               a kill in here leaves the record, and the next command finds what is so by then
//! ```

use std::path::Path;
use std::time::{Duration, Instant};

use super::each::Going;
use super::look::Known;
use super::standing::{Asked, left};
use super::table::{Aim, Entry, Facts, File, Leave, Stand, Trial, Whole, whole};
use crate::git::checkout::checkout::{Bringing, Way};
use crate::git::checkout::incoming_files::Coming;
use crate::git::checkout::overwrite_check::{NOTHING, keeps_out};
use crate::git::checkout::worktree_folder::folder::Below;
use crate::git::error::{At, AuditError, Unsettled, with_cause};
use crate::git::log::path_diff::Difference;
use crate::git::objects::id::CommitId;
use crate::git::objects::loose::Temp;
use crate::git::repository::head::Head;
use crate::git::repository::repository::Repository;
use crate::git::transaction::locks::{BranchLock, Files};
use crate::git::transaction::publish::Intent;

/// What became of what was under way.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// The paths at which nothing could be done; all others are settled.
    pub unsettled: Vec<Unsettled>,
    /// Why not all of it came, where something failed.
    pub failed: Option<String>,
}

impl Finished {
    /// Nobody knows any more what came, or from where: what stands there is somebody's.
    fn lost(commit: CommitId) -> Self {
        let failed = format!(
            "git does not have the commit `{commit}` any more, so all files stay as they are"
        );
        Self { unsettled: Vec::new(), failed: Some(failed) }
    }
}

/// What was under way.
struct Interrupted<'a> {
    was: &'a BranchLock,
    difference: Difference,
    leave: Leave,
    beside: &'a Path,
    deadline: Instant,
    /// Until when filters may take their time: that all of it comes, and after that what goes path by path.
    forward: Instant,
    until: Instant,
}

impl Repository {
    /// Finishes what a kill or a failure interrupted: a branch on its way, or just arrived. Where somebody changed something since, or it
    /// fails again, what came goes back, and the branch stays where it was. Filters have that patience for all of it; whatever they have not said, or written, by then is taken for
    /// somebody's, or stays unsettled.
    pub fn finish_bringing(
        &self,
        was: &BranchLock,
        beside: &Path,
        deadline: Instant,
        patience: Duration,
        intent: Intent<'_>,
    ) -> Result<Finished, AuditError> {
        self.wait_for_left_git(deadline)?;
        let difference = match self.difference(was.from, was.to) {
            Ok(difference) => difference,
            // Nothing like that was ever begun.
            Err(AuditError::Forbidden { .. }) => return Ok(Finished::default()),
            // Git has swept what came, or what it came to.
            Err(error) => {
                let lost = [Some(was.to), was.from]
                    .into_iter()
                    .flatten()
                    .find(|commit| !self.has_commit(*commit));
                return lost.map_or(Err(error), |commit| Ok(Finished::lost(commit)));
            }
        };
        let leave = if keeps_out(&difference).is_ok() { Leave::Given } else { Leave::Refused };
        let now = Instant::now();
        // What does not come goes back, which takes its time as well.
        let (forward, until) = (now + patience / 2, now + patience);
        let interrupted = Interrupted { was, difference, leave, beside, deadline, forward, until };
        let mut asked = Asked::until(forward);
        let start = Head { reference: was.reference.clone(), commit: was.from };
        loop {
            let head = self.head()?;
            let known = self.known(&interrupted.difference.files, head.commit, &mut asked)?;
            let ready = match self.whole(&interrupted, &head, &known, Trial::NotYet)? {
                Whole::Forget => return Ok(Finished::default()),
                Whole::Forward => Some(self.ready(&interrupted, &known)),
                Whole::Each(_) => None,
            };
            let lock = self.begin_bringing(&start, was.to, Files::Coming, deadline, intent)?;
            if self.head()? == head {
                match self.settle(&interrupted, &head, ready, lock, &mut asked) {
                    Err(AuditError::Moved { .. }) => {}
                    done => return done,
                }
            }
            // Somebody has committed, or gone to another branch: what is to be done is another thing now.
            if Instant::now() >= deadline {
                let now = self.head()?;
                return Err(AuditError::Moved { reference: now.reference, found: now.commit });
            }
        }
    }

    /// Writes beside what has not come yet.
    fn ready(&self, interrupted: &Interrupted<'_>, known: &[Known]) -> Result<Coming, AuditError> {
        let has_come = |path: &str| {
            let at = known.binary_search_by(|known| known.path.as_str().cmp(path));
            at.is_ok_and(|at| known[at].facts.file == File::To)
        };
        let Interrupted { was, difference, beside, forward, .. } = interrupted;
        self.files_beside(difference, |path| !has_come(path), was.to, beside, left(*forward))
    }

    /// Does it, while nobody else changes the index.
    fn settle(
        &self,
        interrupted: &Interrupted<'_>,
        head: &Head,
        ready: Option<Result<Coming, AuditError>>,
        lock: Bringing,
        asked: &mut Asked,
    ) -> Result<Finished, AuditError> {
        let Interrupted { was, beside, deadline, until, .. } = *interrupted;
        let mut known = self.known(&interrupted.difference.files, head.commit, asked)?;
        let (ready, mut failed) = match ready {
            Some(Ok(coming)) => (Some(coming), None),
            Some(Err(error)) => (None, Some(with_cause(&error))),
            None => (None, None),
        };
        let trial = if ready.is_some() { Trial::NotYet } else { Trial::Failed };
        let mut what = self.whole(interrupted, head, &known, trial)?;
        if let (Whole::Forward, Some(coming)) = (what, ready) {
            match self.bring_rest(interrupted, &known, &coming) {
                Ok(copy) if head.commit == Some(was.to) => {
                    lock.index.write_all_of(&copy)?;
                    let target = self.git_dir().join("index");
                    lock.index.replace(&target)?;
                    return Ok(Finished::default());
                }
                Ok(copy) => {
                    let landed =
                        self.land(lock, &copy, head, was.to, "sync: finished", deadline)?;
                    return match landed.not_synced {
                        Some(fault) => Err(fault.cause).at("sync", &fault.path),
                        None => Ok(Finished::default()),
                    };
                }
                // It may have got half-way.
                Err(error) => {
                    failed = Some(with_cause(&error));
                    asked.until = until;
                    known = self.known(&interrupted.difference.files, head.commit, asked)?;
                    what = self.whole(interrupted, head, &known, Trial::Failed)?;
                }
            }
        }
        let (aim, of) = match what {
            Whole::Each(Aim::From) => (Aim::From, was.from),
            Whole::Each(Aim::To) => (Aim::To, Some(was.to)),
            Whole::Forward | Whole::Forget => return Ok(Finished::default()),
        };
        let odd = self.known_odd(&interrupted.difference.odd, head.commit, left(until))?;
        let unsettled = self.go_each(&Going { aim, of, beside, until, odd: &odd }, &known, lock)?;
        Ok(Finished { unsettled, failed })
    }

    /// Has all the files come; returns the index that goes with them.
    fn bring_rest(
        &self,
        interrupted: &Interrupted<'_>,
        known: &[Known],
        coming: &Coming,
    ) -> Result<Temp, AuditError> {
        let Interrupted { was, difference, forward, .. } = interrupted;
        let copy = self.index_copy()?;
        self.look_afresh(&copy.path, difference, left(*forward));
        let arrived = known.iter().filter(|known| known.facts.file == File::To);
        let arrived =
            arrived.map(|known| (known.path.clone(), (known.before, known.after))).collect();
        self.enter(&copy.path, &arrived)?;
        self.enter_odd(&copy.path, &self.known_odd(&difference.odd, was.from, left(*forward))?)?;
        self.ask(&copy.path, was.from, was.to, difference, NOTHING)?;
        let sights =
            known.iter().filter_map(|known| Some((known.path.clone(), known.seen?))).collect();
        let way = Way { from: was.from, to: was.to, patience: left(*forward) };
        self.settle_files(coming, &copy, way, &difference.files, &sights)?;
        // Those too that were placed before the kill.
        Below::open(self.worktree_root())?
            .sync_folders(known.iter().map(|known| known.path.as_str()))?;
        Ok(copy)
    }

    fn whole(
        &self,
        interrupted: &Interrupted<'_>,
        head: &Head,
        known: &[Known],
        trial: Trial,
    ) -> Result<Whole, AuditError> {
        let Interrupted { was, difference, leave, until, .. } = interrupted;
        let odd = self.known_odd(&difference.odd, head.commit, left(*until))?;
        let paths: Vec<Facts> =
            known.iter().map(|known| known.facts).chain(odd.iter().map(|odd| odd.facts)).collect();
        let is_on_it = head.reference == was.reference;
        let stand = if is_on_it && head.commit == was.from {
            Stand::Before
        } else if is_on_it && head.commit == Some(was.to) {
            // The index moves as a whole.
            let has_come = paths.is_empty() || paths.iter().any(|facts| facts.entry == Entry::To);
            if has_come { Stand::Landed } else { Stand::Ahead }
        } else {
            let has_it = head.commit.map(|commit| self.led_to(was.to, commit)).transpose()?;
            if has_it == Some(true) { Stand::Landed } else { Stand::Elsewhere }
        };
        Ok(whole(stand, *leave, trial, &paths))
    }
}
