//! A sync: fetch, compare, merge, push, and again until the remote accepts the push.

use std::time::{Duration, Instant};

use tracing::info;

use super::merge_tasks::{MergeSides, join, merge_projects};
use super::outcome::{CommitLine, Loss, SyncEnd, SyncNames, SyncResult};
use super::remote_state::note_contact;
use crate::git::{
    CommitId, Distance, GitError, Head, Prompts, Pushed, RemoteError, SYNCED, Upstream,
};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::fs::random::chance;
use crate::storage::lock::sync_turn;
use crate::system::terminal::quoted;
use crate::tasks::plan::DryRun;
use crate::tasks::recovery::recover;
use crate::tasks::recovery::recover::{FastForwardOutcome, check_fast_forward, fast_forward};

/// The number of pushes that a sync tries before it may give up.
pub(crate) const ROUNDS: u32 = 10;
/// The longest first pause after another push was first; later ones are longer.
const PAUSE: Duration = Duration::from_millis(40);
const LONGEST_PAUSE: Duration = Duration::from_millis(600);
/// The number of commits that are listed in each direction.
const MOST_LISTED: usize = 100;

/// The first step of a sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyncStart {
    /// Fetch from the remote.
    Fetch,
    /// Push, assuming that the remote is as last seen.
    Push,
}

/// The treatment of commits that change more than tasks, if no merge is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForeignCommits {
    /// Such commits are pushed with the rest: a person asked for it.
    Pushed,
    /// Such commits and all later ones stay here, for their author to push.
    Kept,
}

/// The options of a sync.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SyncOptions<'w> {
    /// The remote, if not the one of project.yaml or of the branch's upstream.
    pub remote: Option<&'w str>,
    pub first: SyncStart,
    pub foreign: ForeignCommits,
    /// The permission to ask a person for a passphrase.
    pub prompts: Prompts,
    pub dry_run: DryRun,
}

/// Syncs the project with its remote.
pub(crate) fn sync(
    workspace: &Workspace,
    options: &SyncOptions<'_>,
) -> Result<SyncResult, ProjectError> {
    recover::recover_if_pending(workspace)?;
    let head = workspace.head()?;
    let named = match options.remote {
        Some(remote) => Some(remote.to_owned()),
        None => workspace.rules()?.rules.project.git.remote.as_ref().map(ToString::to_string),
    };
    let upstream = workspace.repository.upstream(&head, named.as_deref())??;
    let remembered = workspace.repository.tracked_commit(&upstream)?;
    let again = match options.remote {
        Some(remote) => format!("aof sync --remote {}", quoted(remote)),
        None => "aof sync".to_owned(),
    };
    let _turn = match options.dry_run {
        DryRun::Yes => None,
        DryRun::No => sync_turn(&workspace.paths, workspace.deadline())?,
    };
    let mut run = SyncRun {
        workspace,
        options,
        names: SyncNames::of(&upstream, again),
        upstream,
        begun: (head.commit, remembered),
        remembered,
        offered: 0,
        tip: remembered,
        merge: None,
        superseded: Vec::new(),
        pushed: None,
        refused: None,
        moved_here: false,
    };
    let end = run.run();
    if options.dry_run == DryRun::No {
        note_contact(workspace, &end)?;
    }
    run.synced(end?)
}

/// A sync under way.
struct SyncRun<'r> {
    workspace: &'r Workspace,
    options: &'r SyncOptions<'r>,
    names: SyncNames,
    upstream: Upstream,
    /// This branch's and the remote's commit at the beginning.
    begun: (Option<CommitId>, Option<CommitId>),
    /// The remote's commit before this sync.
    remembered: Option<CommitId>,
    /// The number of attempted pushes.
    offered: u32,
    /// The remote's commit at the last fetch.
    tip: Option<CommitId>,
    merge: Option<CommitId>,
    superseded: Vec<Loss>,
    /// The pushed commits: after the first one, up to the second.
    pushed: Option<(Option<CommitId>, CommitId)>,
    /// The remote's commit when it last refused a push as not fast-forward; with its message, if it refused twice at that commit.
    refused: Option<(Option<CommitId>, Option<String>)>,
    /// Set if the last round ended because this branch moved: the remote need not be asked again.
    moved_here: bool,
}

impl SyncRun<'_> {
    fn run(&mut self) -> Result<SyncEnd, ProjectError> {
        for round in 0.. {
            let asks = round > 0 || self.options.first == SyncStart::Fetch;
            if asks && !std::mem::take(&mut self.moved_here) {
                let (repository, deadline) =
                    (&self.workspace.repository, self.workspace.deadline());
                match repository.fetch(&self.upstream, self.options.prompts, deadline)? {
                    Ok(tip) => self.tip = tip,
                    Err(RemoteError::Unreachable { message, .. }) => {
                        return Ok(SyncEnd::Offline { message });
                    }
                    Err(error) => return Err(error.into()),
                }
                if round == 0 {
                    self.begun.1 = self.tip;
                }
            }
            if let Some(end) = self.round()? {
                return Ok(end);
            }
            // A remote that refuses twice at one commit has no new ones: waiting longer does not help.
            let is_stuck = matches!(self.refused, Some((_, Some(_))));
            let is_enough = self.offered >= ROUNDS || round >= ROUNDS * 2;
            if is_enough && (is_stuck || Instant::now() >= self.workspace.deadline()) {
                break;
            }
            if !self.moved_here {
                pause(round);
            }
        }
        // Then the cause is another one, for example a lock that a killed git left.
        let message = self.refused.take().and_then(|(_, message)| message);
        Ok(message.map_or(SyncEnd::Unsettled, |message| SyncEnd::Rejected { message, fix: None }))
    }

    /// Compares the two branches, and merges or pushes. Returns `None` if another round is needed.
    fn round(&mut self) -> Result<Option<SyncEnd>, ProjectError> {
        let head = self.workspace.head()?;
        let repository = &self.workspace.repository;
        match (head.commit, self.tip) {
            (None, None) => Ok(Some(SyncEnd::Same)),
            (Some(local), Some(remote)) if local == remote => Ok(Some(SyncEnd::Same)),
            (None, Some(remote)) => self.fast_forward(&head, remote),
            (Some(local), Some(remote)) if repository.is_ancestor(local, remote)? => {
                self.fast_forward(&head, remote)
            }
            (Some(local), None) => match self.unpublished(&head)? {
                Some(end) => Ok(Some(end)),
                None => self.push(local),
            },
            (Some(local), Some(remote)) => {
                // Commits that the remote has dropped are not silently pushed again.
                let seen = self.remembered;
                if let Some(had) =
                    repository.commit_lost_by_rewrite(&self.upstream, seen, local, remote)?
                {
                    return Ok(Some(SyncEnd::Manual(self.names.rewritten(had, remote))));
                }
                if repository.is_ancestor(remote, local)? {
                    self.push(local)
                } else {
                    self.merge(&head, local, remote)
                }
            }
        }
    }

    /// Returns the end of the sync if this branch, which the remote does not have, is not published. The project's own branch and the
    /// first branch of an empty remote are published; but not a branch that was there before, since it may have been deleted on purpose.
    fn unpublished(&self, head: &Head) -> Result<Option<SyncEnd>, ProjectError> {
        let repository = &self.workspace.repository;
        let branch = head.branch();
        if self.remembered.is_some() {
            return Ok(Some(SyncEnd::Manual(self.names.deleted(branch, self.remembered))));
        }
        let rules = self.workspace.rules()?.rules;
        if rules.project.git.branch.as_ref().is_some_and(|name| name.as_str() == branch) {
            return Ok(None);
        }
        match repository.is_remote_empty(&self.upstream, self.options.prompts)? {
            Ok(true) => return Ok(None),
            Ok(false) => {}
            Err(message) => return Ok(Some(SyncEnd::Offline { message })),
        }
        // Git calls the upstream gone: it is configured, but neither on the remote nor remembered.
        if self.upstream.followed {
            return Ok(Some(SyncEnd::Manual(self.names.deleted(branch, None))));
        }
        let follows = repository.upstream(head, None)?.ok().filter(|upstream| upstream.followed);
        let follows = follows.map(|upstream| upstream.name());
        Ok(Some(SyncEnd::Manual(self.names.unpublished(branch, follows.as_deref()))))
    }

    /// Moves to the remote's commit: only the remote has new commits.
    fn fast_forward(
        &mut self,
        head: &Head,
        remote: CommitId,
    ) -> Result<Option<SyncEnd>, ProjectError> {
        if self.options.dry_run == DryRun::Yes {
            return Ok(match check_fast_forward(self.workspace, head, remote)? {
                FastForwardOutcome::Done => Some(SyncEnd::Rehearsed),
                FastForwardOutcome::Moved => self.again_here(),
                FastForwardOutcome::Blocked(error) => Some(self.blocked(error)?),
            });
        }
        let subject = format!("{SYNCED}fast-forward to {}", self.upstream.name());
        Ok(match fast_forward(self.workspace, head, remote, &subject)? {
            FastForwardOutcome::Done => Some(SyncEnd::Same),
            FastForwardOutcome::Moved => self.again_here(),
            FastForwardOutcome::Blocked(error) => Some(self.blocked(error)?),
        })
    }

    /// Requests another round with the same commit of the remote.
    fn again_here(&mut self) -> Option<SyncEnd> {
        self.moved_here = true;
        None
    }

    /// Pushes: only this side has new commits.
    fn push(&mut self, local: CommitId) -> Result<Option<SyncEnd>, ProjectError> {
        if self.options.foreign == ForeignCommits::Kept
            && let unshared = self.workspace.repository.unshared(self.tip, local)?
            && let Some((commit, path)) = unshared.stranger
        {
            return Ok(Some(SyncEnd::Manual(self.names.foreign_commit(commit, &path, false))));
        }
        if self.options.dry_run == DryRun::Yes {
            self.pushed = Some((self.tip, local));
            return Ok(Some(SyncEnd::Rehearsed));
        }
        let end = self.offer(local)?;
        if end == Some(SyncEnd::Same) {
            (self.pushed, self.tip) = (Some((self.begun.1, local)), Some(local));
        }
        // A commit that was made here meanwhile is synced by its own command.
        Ok(end)
    }

    /// Merges: both sides have new commits.
    fn merge(
        &mut self,
        head: &Head,
        local: CommitId,
        remote: CommitId,
    ) -> Result<Option<SyncEnd>, ProjectError> {
        let repository = &self.workspace.repository;
        let Some(base) = repository.newest_common(local, [remote])? else {
            return Ok(Some(SyncEnd::Manual(self.names.unrelated(repository.is_shallow()?))));
        };
        let unshared = repository.unshared(Some(remote), local)?;
        if let Some((commit, path)) = unshared.stranger {
            return Ok(Some(SyncEnd::Manual(self.names.foreign_commit(commit, &path, true))));
        }
        let sides = MergeSides { base, remote, local, unshared: &unshared };
        let merged = match merge_projects(self.workspace, &sides)? {
            Ok(merged) => merged,
            Err(conflicts) => return Ok(Some(SyncEnd::Manual(self.names.conflict(conflicts)))),
        };
        if self.options.dry_run == DryRun::Yes {
            (self.superseded, self.pushed) = (merged.losses, Some((Some(remote), local)));
            return Ok(Some(SyncEnd::Rehearsed));
        }
        let noun = if unshared.commits == 1 { "commit" } else { "commits" };
        let subject =
            format!("{SYNCED}merge {} {noun} into {}", unshared.commits, self.upstream.name());
        let joined = join(self.workspace, &sides, &subject, merged)?;
        match check_fast_forward(self.workspace, head, joined.commit)? {
            FastForwardOutcome::Done => {}
            FastForwardOutcome::Moved => return Ok(self.again_here()),
            FastForwardOutcome::Blocked(error) => return Ok(Some(self.blocked(error)?)),
        }
        // The remote has this side's commits already if they were pushed in an earlier round; the new ones are synced by their own
        // commands. Even if the remote refuses the merge, it is brought in, since it has the others' changes.
        let end = match self.pushed {
            Some(_) => SyncEnd::Same,
            None => match self.offer(joined.commit)? {
                Some(end) => end,
                None => return Ok(None),
            },
        };
        if end == SyncEnd::Same && self.pushed.is_none() {
            (self.pushed, self.tip) = (Some((Some(remote), local)), Some(joined.commit));
        }
        self.merge.get_or_insert(joined.commit);
        self.superseded.extend(joined.superseded);
        let subject = format!("{SYNCED}merge with {}", self.upstream.name());
        Ok(match fast_forward(self.workspace, head, joined.commit, &subject)? {
            FastForwardOutcome::Moved if end == SyncEnd::Same => self.again_here(),
            FastForwardOutcome::Done | FastForwardOutcome::Moved => Some(end),
            FastForwardOutcome::Blocked(error) => Some(self.blocked(error)?),
        })
    }

    /// Pushes a commit. Returns `None` if the remote has new commits meanwhile.
    fn offer(&mut self, commit: CommitId) -> Result<Option<SyncEnd>, ProjectError> {
        self.offered += 1;
        let repository = &self.workspace.repository;
        Ok(match repository.push(&self.upstream, commit, None, self.options.prompts)? {
            Ok(Pushed::Done) => Some(SyncEnd::Same),
            Ok(Pushed::Moved { message }) => {
                let is_unmoved = self.refused.as_ref().is_some_and(|(tip, _)| *tip == self.tip);
                self.refused = Some((self.tip, is_unmoved.then_some(message)));
                None
            }
            Ok(Pushed::Rejected { message, refusal }) => {
                let is_alone = self.workspace.rules()?.rules.project.git.branch.is_some();
                Some(SyncEnd::rejected(&self.upstream, message, refusal, is_alone))
            }
            Err(RemoteError::Unreachable { message, .. }) => Some(SyncEnd::Offline { message }),
            Err(error) => return Err(error.into()),
        })
    }

    /// Returns the end of a sync whose files cannot be checked out.
    fn blocked(&self, error: GitError) -> Result<SyncEnd, GitError> {
        self.names.blocked(error).map(SyncEnd::Manual)
    }

    /// Returns the result: the received and the pushed commits, and the distance of the two sides.
    fn synced(self, end: SyncEnd) -> Result<SyncResult, ProjectError> {
        let repository = &self.workspace.repository;
        let now = repository.head_for_reading()?.commit;
        // Pushed commits do not count as received.
        let theirs = self.pushed.map_or(self.tip, |(before, _)| before);
        let has_come = match (theirs, now) {
            (Some(theirs), Some(now)) => {
                end == SyncEnd::Rehearsed || repository.is_ancestor(theirs, now)?
            }
            _ => false,
        };
        let received =
            if has_come { lines(self.workspace, self.begun.0, theirs)? } else { Vec::new() };
        let pushed = match self.pushed {
            Some((before, up_to)) => lines(self.workspace, before, Some(up_to))?,
            None => Vec::new(),
        };
        let Distance { ahead, behind } = match (now, self.tip) {
            (Some(now), Some(tip)) => repository.distance(now, tip)?,
            (Some(now), None) => {
                Distance { ahead: repository.commits_between(&[], now)?.commits.len(), behind: 0 }
            }
            (None, _) => Distance::default(),
        };
        let Self { upstream, merge, superseded, offered: rounds, .. } = self;
        Ok(SyncResult { upstream, received, pushed, merge, superseded, rounds, ahead, behind, end })
    }
}

/// Returns the newest commits in the history of `until` that are not in that of `known`.
fn lines(
    workspace: &Workspace,
    known: Option<CommitId>,
    until: Option<CommitId>,
) -> Result<Vec<CommitLine>, ProjectError> {
    let Some(until) = until.filter(|until| Some(*until) != known) else { return Ok(Vec::new()) };
    let commits = workspace.repository.commits_between(known.as_slice(), until)?.commits;
    commits
        .iter()
        .rev()
        .take(MOST_LISTED)
        .map(|commit| {
            let entry = workspace.repository.log_entry(*commit)?;
            let subject = entry.message.lines().next().unwrap_or_default().to_owned();
            Ok(CommitLine { commit: *commit, subject, author: entry.author.name().to_owned() })
        })
        .collect()
}

/// Waits for a random time, so that clones rarely try again at the same moment.
pub(crate) fn pause(round: u32) {
    let longest = PAUSE.saturating_mul(1 << round.min(8)).min(LONGEST_PAUSE);
    let pause = longest.mul_f64(chance().unwrap_or(0.5));
    info!(round, milliseconds = pause.as_millis(), "somebody was faster; trying again");
    std::thread::sleep(pause);
}
