//! The rounds of a sync: look, merge, offer, and again until the remote takes it.

use std::time::Duration;

use tracing::info;

use super::merge_tasks::{Sides, join, merge_projects};
use super::outcome::{CommitLine, LeftToPeople, Loss, SyncEnd, Synced};
use super::remote_state::note_contact;
use crate::git::{
    CommitId, Distance, GitError, Head, Prompts, Pushed, RemoteError, SYNCED, Upstream,
};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::random::chance;
use crate::system::shell::quoted;
use crate::tasks::apply::change::DryRun;
use crate::tasks::recovery::bring::{Brought, bring};
use crate::tasks::recovery::recover;

/// How often a commit is offered at most.
pub(crate) const ROUNDS: u32 = 10;
/// How long the first pause is at most after somebody else was faster; later ones are longer.
const PAUSE: Duration = Duration::from_millis(40);
const LONGEST_PAUSE: Duration = Duration::from_millis(600);
/// How many commits are listed each way.
const MOST_LISTED: usize = 100;

/// Which way a sync begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    /// By asking what the remote has.
    Fetch,
    /// By offering what is here, as if the remote were where it was last seen.
    Push,
}

/// What becomes of commits that change more than tasks, where no merge is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strangers {
    /// They go to the remote with the rest: a person asked for it.
    Offered,
    /// They stay, and so does all that came after them, for their author to push.
    Kept,
}

/// What is wanted of a sync.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish<'w> {
    /// The remote, if not the one that project.yaml names, or that the branch follows.
    pub remote: Option<&'w str>,
    /// How it begins.
    pub first: First,
    /// What becomes of other people's work.
    pub strangers: Strangers,
    /// Whether somebody may be asked for a passphrase.
    pub prompts: Prompts,
    /// Whether it is only shown.
    pub dry_run: DryRun,
}

/// Syncs the project with its remote.
pub(crate) fn sync(workspace: &Workspace, wish: &Wish<'_>) -> Result<Synced, OpsError> {
    recover::heal_if_pending(workspace)?;
    let head = workspace.head()?;
    let named = match wish.remote {
        Some(remote) => Some(remote.to_owned()),
        None => workspace.rules()?.rules.project.git.remote.as_ref().map(ToString::to_string),
    };
    let upstream = workspace.repository.upstream(&head, named.as_deref())??;
    let begun = (head.commit, workspace.repository.remembered(&upstream)?);
    let mut rounds = Rounds {
        workspace,
        wish,
        upstream,
        begun,
        seen: begun.1,
        offered: 0,
        tip: begun.1,
        merge: None,
        superseded: Vec::new(),
        went: None,
        refused: None,
    };
    let end = rounds.run();
    if wish.dry_run == DryRun::No {
        note_contact(workspace, &rounds.upstream, &end)?;
    }
    rounds.synced(end?)
}

/// A sync under way.
struct Rounds<'r> {
    workspace: &'r Workspace,
    wish: &'r Wish<'r>,
    upstream: Upstream,
    /// Where this branch and the remote's were at the beginning.
    begun: (Option<CommitId>, Option<CommitId>),
    /// Where the remote's branch was when it was looked at before this.
    seen: Option<CommitId>,
    /// How often something was offered.
    offered: u32,
    /// Where the remote's branch was when it was last looked at.
    tip: Option<CommitId>,
    merge: Option<CommitId>,
    superseded: Vec<Loss>,
    /// What the remote took: from where on, and up to where.
    went: Option<(Option<CommitId>, CommitId)>,
    /// When the remote last refused what was offered, as if it had gone on.
    refused: Option<Refusal>,
}

/// What a round came to.
enum Round {
    Over(SyncEnd),
    Again,
}

/// What was offered, and refused.
struct Refusal {
    /// Where the remote's branch was.
    tip: Option<CommitId>,
    /// What the remote said, where its branch was there the time before as well.
    unmoved: Option<String>,
}

impl Rounds<'_> {
    fn run(&mut self) -> Result<SyncEnd, OpsError> {
        let mut fetch = self.wish.first == First::Fetch;
        for round in 0.. {
            if fetch {
                let deadline = self.workspace.deadline();
                match self.workspace.repository.fetch(
                    &self.upstream,
                    self.wish.prompts,
                    deadline,
                )? {
                    Ok(tip) => self.tip = tip,
                    Err(RemoteError::Unreachable { said, .. }) => {
                        return Ok(SyncEnd::Offline { said });
                    }
                    Err(error) => return Err(error.into()),
                }
                if round == 0 {
                    self.begun.1 = self.tip;
                }
            }
            fetch = true;
            match self.round()? {
                Round::Over(end) => return Ok(end),
                Round::Again if self.offered >= ROUNDS || round >= ROUNDS * 2 => break,
                Round::Again => pause(round),
            }
        }
        Ok(self
            .refused
            .take()
            .and_then(|last| last.unmoved)
            .map_or(SyncEnd::Unsettled, |said| SyncEnd::Rejected { said }))
    }

    /// Tries again. A remote that refuses twice at one commit has not gone on: something else keeps it, as a lock that a killed git left.
    fn again(&mut self, said: String) -> Round {
        let is_same = self.refused.as_ref().is_some_and(|last| last.tip == self.tip);
        self.refused = Some(Refusal { tip: self.tip, unmoved: is_same.then_some(said) });
        Round::Again
    }

    /// Compares the two branches, and does what is to be done.
    fn round(&mut self) -> Result<Round, OpsError> {
        let head = self.workspace.head()?;
        let repository = &self.workspace.repository;
        match (head.commit, self.tip) {
            (None, None) => Ok(Round::Over(SyncEnd::Same)),
            (Some(local), Some(remote)) if local == remote => Ok(Round::Over(SyncEnd::Same)),
            (None, Some(remote)) => self.come(&head, remote),
            (Some(local), Some(remote)) if repository.led_to(local, remote)? => {
                self.come(&head, remote)
            }
            (Some(local), None) => match self.unpublished(&head)? {
                Some(end) => Ok(Round::Over(end)),
                None => self.go(local),
            },
            (Some(local), Some(remote)) => {
                // What the remote does not want any more is not brought back without a word.
                if let Some(had) = repository.rewritten(&self.upstream, self.seen, local, remote)? {
                    return Ok(Round::Over(SyncEnd::Left(LeftToPeople::Rewritten {
                        had,
                        has: remote,
                    })));
                }
                if repository.led_to(remote, local)? {
                    self.go(local)
                } else {
                    self.join(&head, local, remote)
                }
            }
        }
    }

    /// Returns whether this branch, which the remote does not have, is to be published at all. That of the project alone is, and so is
    /// whatever is the first branch of an empty remote; but not what was there before: whoever took it away may have meant it.
    fn unpublished(&self, head: &Head) -> Result<Option<SyncEnd>, OpsError> {
        let repository = &self.workspace.repository;
        let branch = head.branch().to_owned();
        if let Some(had) = self.seen {
            return Ok(Some(SyncEnd::Left(LeftToPeople::Deleted { branch, had: Some(had) })));
        }
        let own = self.workspace.rules()?.rules.project.git.branch.clone();
        if own.is_some_and(|own| own.as_str() == branch) {
            return Ok(None);
        }
        match repository.is_empty_there(&self.upstream, self.wish.prompts)? {
            Ok(true) => return Ok(None),
            Ok(false) => {}
            Err(said) => return Ok(Some(SyncEnd::Offline { said })),
        }
        // A branch that follows one which is not there, nor remembered: git calls it gone.
        if self.upstream.followed {
            return Ok(Some(SyncEnd::Left(LeftToPeople::Deleted { branch, had: None })));
        }
        let follows = repository.upstream(head, None)?.ok().filter(|upstream| upstream.followed);
        let follows = follows.map(|upstream| upstream.name());
        Ok(Some(SyncEnd::Left(LeftToPeople::Unpublished { branch, follows })))
    }

    /// Only the remote went on.
    fn come(&self, head: &Head, remote: CommitId) -> Result<Round, OpsError> {
        if self.wish.dry_run == DryRun::Yes {
            return Ok(Round::Over(match self.workspace.repository.may_bring(head, remote) {
                Ok(()) => SyncEnd::Rehearsed,
                Err(error) => left(error)?,
            }));
        }
        let subject = format!("{SYNCED}fast-forward to {}", self.upstream.name());
        Ok(match bring(self.workspace, head, remote, &subject)? {
            Brought::There => Round::Over(SyncEnd::Same),
            Brought::Moved => Round::Again,
            Brought::Blocked(error) => Round::Over(left(error)?),
        })
    }

    /// Only this side went on.
    fn go(&mut self, local: CommitId) -> Result<Round, OpsError> {
        if self.wish.strangers == Strangers::Kept
            && let Some((commit, path)) =
                self.workspace.repository.unshared(self.tip, local)?.stranger
        {
            return Ok(Round::Over(SyncEnd::Left(LeftToPeople::Stranger {
                commit,
                path,
                apart: false,
            })));
        }
        if self.wish.dry_run == DryRun::Yes {
            self.went = Some((self.tip, local));
            return Ok(Round::Over(SyncEnd::Rehearsed));
        }
        match self.offer(local)? {
            Ok(Pushed::Done) => {
                self.went = Some((self.begun.1, local));
                self.tip = Some(local);
                // Whoever committed here meanwhile syncs as well.
                Ok(Round::Over(SyncEnd::Same))
            }
            Ok(Pushed::Moved { said }) => Ok(self.again(said)),
            Ok(Pushed::Rejected { said }) => Ok(Round::Over(SyncEnd::Rejected { said })),
            Err(said) => Ok(Round::Over(SyncEnd::Offline { said })),
        }
    }

    /// Both went on.
    fn join(&mut self, head: &Head, local: CommitId, remote: CommitId) -> Result<Round, OpsError> {
        let repository = &self.workspace.repository;
        let Some(base) = repository.newest_common(local, [remote])? else {
            return Ok(Round::Over(SyncEnd::Left(LeftToPeople::Unrelated {
                shallow: repository.is_shallow()?,
            })));
        };
        let unshared = repository.unshared(Some(remote), local)?;
        if let Some((commit, path)) = unshared.stranger {
            return Ok(Round::Over(SyncEnd::Left(LeftToPeople::Stranger {
                commit,
                path,
                apart: true,
            })));
        }
        let sides = Sides { base, remote, local, unshared: &unshared };
        let mixed = match merge_projects(self.workspace, &sides)? {
            Ok(mixed) => mixed,
            Err(left) => return Ok(Round::Over(SyncEnd::Left(left))),
        };
        if self.wish.dry_run == DryRun::Yes {
            self.superseded = mixed.losses;
            self.went = Some((Some(remote), local));
            return Ok(Round::Over(SyncEnd::Rehearsed));
        }
        let noun = if unshared.commits == 1 { "commit" } else { "commits" };
        let subject =
            format!("{SYNCED}merge {} {noun} into {}", unshared.commits, self.upstream.name());
        let joined = join(self.workspace, &sides, &subject, mixed)?;
        if let Err(error) = self.workspace.repository.may_bring(head, joined.commit) {
            return Ok(Round::Over(left(error)?));
        }
        let end = match self.offer(joined.commit)? {
            Ok(Pushed::Moved { said }) => return Ok(self.again(said)),
            Ok(Pushed::Done) => {
                self.went = Some((Some(remote), local));
                self.tip = Some(joined.commit);
                SyncEnd::Same
            }
            // What others did comes in all the same: it is known here, whatever the remote thinks of ours.
            Ok(Pushed::Rejected { said }) => SyncEnd::Rejected { said },
            Err(said) => SyncEnd::Offline { said },
        };
        (self.merge, self.superseded) = (Some(joined.commit), joined.superseded);
        let subject = format!("{SYNCED}merge with {}", self.upstream.name());
        Ok(match bring(self.workspace, head, joined.commit, &subject)? {
            Brought::Moved if end == SyncEnd::Same => Round::Again,
            Brought::There | Brought::Moved => Round::Over(end),
            Brought::Blocked(error) => Round::Over(left(error)?),
        })
    }

    fn offer(&mut self, commit: CommitId) -> Result<Result<Pushed, String>, OpsError> {
        self.offered += 1;
        match self.workspace.repository.push(&self.upstream, commit, self.wish.prompts)? {
            Ok(pushed) => Ok(Ok(pushed)),
            Err(RemoteError::Unreachable { said, .. }) => Ok(Err(said)),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns what came, what went, and how far the two sides are apart.
    fn synced(self, end: SyncEnd) -> Result<Synced, OpsError> {
        let repository = &self.workspace.repository;
        let (from, _) = self.begun;
        let now = repository.look()?.commit;
        // What went there came from here.
        let theirs = self.went.map_or(self.tip, |(before, _)| before);
        let has_come = match (theirs, now) {
            (Some(theirs), Some(now)) => {
                end == SyncEnd::Rehearsed || repository.led_to(theirs, now)?
            }
            _ => false,
        };
        let came = if has_come { lines(self.workspace, from, theirs)? } else { Vec::new() };
        let went = match &self.went {
            Some((before, up_to)) => lines(self.workspace, *before, Some(*up_to))?,
            None => Vec::new(),
        };
        let Distance { ahead, behind } = match (now, self.tip) {
            (Some(now), Some(tip)) => repository.distance(now, tip)?,
            (Some(now), None) => {
                Distance { ahead: repository.all_since(&[], now)?.commits.len(), behind: 0 }
            }
            (None, _) => Distance::default(),
        };
        let Self { upstream, merge, superseded, offered: rounds, .. } = self;
        let again = match self.wish.remote {
            Some(remote) => format!("aof sync --remote {}", quoted(remote)),
            None => "aof sync".to_owned(),
        };
        Ok(Synced { upstream, again, came, went, merge, superseded, rounds, ahead, behind, end })
    }
}

/// Returns the end of a sync whose files cannot be checked out.
fn left(error: GitError) -> Result<SyncEnd, GitError> {
    LeftToPeople::of(error).map(SyncEnd::Left)
}

/// Returns the newest commits that led to one and not to the other.
fn lines(
    workspace: &Workspace,
    known: Option<CommitId>,
    until: Option<CommitId>,
) -> Result<Vec<CommitLine>, OpsError> {
    let Some(until) = until.filter(|until| Some(*until) != known) else { return Ok(Vec::new()) };
    let commits = workspace.repository.all_since(known.as_slice(), until)?.commits;
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

/// Waits for a random time: clones that wait differently meet less often.
pub(crate) fn pause(round: u32) {
    let longest = PAUSE.saturating_mul(1 << round.min(8)).min(LONGEST_PAUSE);
    let pause = longest.mul_f64(chance().unwrap_or(0.5));
    info!(round, milliseconds = pause.as_millis(), "somebody was faster; trying again");
    std::thread::sleep(pause);
}
