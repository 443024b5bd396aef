//! The branch that work lands on: here, at its remote, and in the worktree that has it checked out.

use std::path::PathBuf;
use std::time::Instant;

use super::unfit;
use crate::domain::BranchName;
use crate::git::{CommitId, GitError, Head, Prompts, PushRefusal, Pushed, Repository, Upstream};
use crate::project::error::ProjectError;
use crate::project::task_worktrees::TaskWorktrees;
use crate::project::workspace::Workspace;
use crate::system::terminal::quoted;
use crate::tasks::recovery::recover::{FastForwardOutcome, check_fast_forward, fast_forward};

/// The target of a landing.
pub(super) struct LandingTarget<'a> {
    workspace: &'a Workspace,
    repository: Repository,
    pub onto: BranchName,
    /// The branch at the remote; `None` if it is only here.
    upstream: Option<Upstream>,
}

/// The target before a landing.
#[derive(Debug, Clone, Copy)]
pub(super) struct TargetTip {
    /// The commit with which the work is joined.
    pub commit: CommitId,
    /// The commit of the remote's branch, an ancestor of that or the same; `None` without one.
    there: Option<CommitId>,
}

/// The worktree that has the target checked out.
enum Checkout {
    /// The tasks are beside the code.
    OfTasks,
    At(PathBuf),
    Nowhere,
}

impl<'a> LandingTarget<'a> {
    /// Finds the target. Its branch may be missing.
    pub(super) fn find(
        workspace: &'a Workspace,
        worktrees: &TaskWorktrees,
        onto: &BranchName,
    ) -> Result<Self, ProjectError> {
        let repository = Repository::discover(worktrees.repository.worktree_root())?;
        let head = head_of(&repository, onto)?;
        let upstream = match repository.upstream(&head, None)? {
            Ok(upstream) => {
                let is_known = upstream.followed || repository.tracked_commit(&upstream)?.is_some();
                is_known.then_some(upstream)
            }
            Err(_) => None,
        };
        Ok(Self { workspace, repository, onto: onto.clone(), upstream })
    }

    /// Finds the worktree that has the target checked out now.
    fn checkout(&self) -> Checkout {
        let onto = self.onto.as_str();
        if self.workspace.repository.has_checked_out(onto) {
            Checkout::OfTasks
        } else if self.repository.has_checked_out(onto) {
            Checkout::At(self.repository.worktree_root().to_owned())
        } else {
            let other = self.repository.worktree_of(onto);
            other.map_or(Checkout::Nowhere, |worktree| Checkout::At(worktree.folder))
        }
    }

    /// Returns whether the branch here can go on to that commit, so that none of its own are lost.
    pub(super) fn leads_to(&self, to: CommitId) -> Result<bool, GitError> {
        let local = head_of(&self.repository, &self.onto)?.commit;
        local.map_or(Ok(false), |local| self.repository.is_ancestor(local, to))
    }

    /// Returns the newest commit of the target, at the remote if that is further. Fails if the two differ otherwise.
    pub(super) fn fetch(&self, deadline: Instant) -> Result<TargetTip, ProjectError> {
        let (repository, onto) = (&self.repository, &self.onto);
        let local = head_of(repository, onto)?.commit;
        let local = local.ok_or_else(|| self.gone())?;
        let alone = TargetTip { commit: local, there: None };
        let Some(upstream) = &self.upstream else { return Ok(alone) };
        let Some(there) = repository.fetch(upstream, Prompts::AtTerminal, deadline)?? else {
            return Ok(alone);
        };
        if repository.is_ancestor(local, there)? {
            return Ok(TargetTip { commit: there, there: Some(there) });
        }
        // The engine's own commits are pushed by whoever is first.
        if repository.is_ancestor(there, local)? && matches!(self.checkout(), Checkout::OfTasks) {
            return Ok(TargetTip { commit: local, there: Some(there) });
        }
        let distance = repository.distance(local, there)?;
        let name = upstream.name();
        let commits = |count: usize| match count {
            1 => "1 commit".to_owned(),
            count => format!("{count} commits"),
        };
        Err(match distance.behind {
            0 => unfit(
                "target_unpushed",
                format!("`{onto}` has {} that {name} lacks", commits(distance.ahead)),
                format!("push it first, as a landing would: `git push {} {onto}`", upstream.remote),
            ),
            behind => unfit(
                "target_diverged",
                format!(
                    "`{onto}` has {} that {name} lacks, which has {} of its own",
                    commits(distance.ahead),
                    commits(behind)
                ),
                format!("bring them together: `git pull --rebase` on `{onto}`"),
            ),
        })
    }

    /// Fails if the commit cannot be brought into the worktree that has the target checked out.
    pub(super) fn ensure_free(&self, to: CommitId) -> Result<(), ProjectError> {
        let blocked = |place: String, error: &dyn std::fmt::Display| {
            unfit(
                "target_dirty",
                format!(
                    "`{}` is checked out in {place}, and would be in the way: {error}",
                    self.onto
                ),
                "commit or remove those changes, or check out another branch there".to_owned(),
            )
        };
        match self.checkout() {
            Checkout::Nowhere => Ok(()),
            Checkout::OfTasks => {
                match check_fast_forward(self.workspace, &self.workspace.head()?, to)? {
                    FastForwardOutcome::Blocked(error) => {
                        Err(blocked("this project".to_owned(), &error))
                    }
                    FastForwardOutcome::Done | FastForwardOutcome::Moved => Ok(()),
                }
            }
            Checkout::At(folder) => {
                let place = format!("`{}`", folder.display());
                let there = Repository::discover(&folder)?;
                let head = there.head().map_err(|_| {
                    let under_way = "an operation of git is in progress there; end it, or abort it";
                    blocked(place.clone(), &under_way)
                })?;
                there.check_fast_forward(&head, to).map_err(|error| blocked(place, &error))
            }
        }
    }

    /// Pushes the commit, if there is a remote. Returns false if its branch has moved meanwhile, also backwards. Fails if its rules refuse
    /// the push.
    pub(super) fn push(&self, commit: CommitId, before: TargetTip) -> Result<bool, ProjectError> {
        let Some(upstream) = &self.upstream else { return Ok(true) };
        match self.repository.push(upstream, commit, before.there, Prompts::AtTerminal)?? {
            Pushed::Done => Ok(true),
            Pushed::Moved { .. } => Ok(false),
            Pushed::Rejected { message, refusal } => Err(unfit(
                match refusal {
                    PushRefusal::Protection | PushRefusal::Hook => "target_protected",
                    PushRefusal::Other => "push_rejected",
                },
                format!("{} refuses the push, and nothing has moved: {message}", upstream.name()),
                "open a pull request for the task's branch; a gate can wait for it".to_owned(),
            )),
        }
    }

    /// Moves the local branch and its checked-out files to a commit. Returns false if the branch has other commits now. If a remote has the
    /// commit already, a failure is only a warning.
    pub(super) fn bring(&self, to: CommitId) -> Result<bool, ProjectError> {
        let now = head_of(&self.repository, &self.onto)?;
        if let Some(local) = now.commit
            && self.repository.is_ancestor(to, local)?
        {
            return Ok(true);
        }
        let moved = match now.commit {
            Some(local) if self.repository.is_ancestor(local, to)? => self.move_on(&now, to),
            _ => Ok(false),
        };
        let Some(upstream) = &self.upstream else { return moved };
        let why = match moved {
            Ok(true) => return Ok(true),
            Ok(false) => "it has moved meanwhile".to_owned(),
            Err(error) => error.problem(),
        };
        // The work is there, so it has landed; the branch here follows with the next pull.
        let (onto, name) = (&self.onto, upstream.name());
        self.workspace.warn(format!(
            "the work is on {name}, but `{onto}` here is not there yet: {why}; bring it there with `git pull`"
        ));
        Ok(true)
    }

    /// Moves the local branch from a commit to a later one. Returns false if it is elsewhere by now.
    fn move_on(&self, now: &Head, to: CommitId) -> Result<bool, ProjectError> {
        let onto = &self.onto;
        let moved = match self.checkout() {
            Checkout::Nowhere => {
                let moved = self.repository.move_reference(&now.reference, to, now.commit);
                moved.map(|()| true).map_err(ProjectError::from)
            }
            Checkout::OfTasks => {
                let (head, subject) = (self.workspace.head()?, format!("aof: land on {onto}"));
                if (&head.reference, head.commit) != (&now.reference, now.commit) {
                    return Ok(false);
                }
                match fast_forward(self.workspace, &head, to, &subject) {
                    Ok(FastForwardOutcome::Done) => Ok(true),
                    Ok(FastForwardOutcome::Moved) => Ok(false),
                    Ok(FastForwardOutcome::Blocked(error)) => Err(error.into()),
                    Err(error) => Err(error),
                }
            }
            Checkout::At(folder) => match Repository::discover(&folder)?.bring_forward(now, to) {
                Ok(()) => Ok(true),
                Err(GitError::Moved { .. }) => Ok(false),
                Err(GitError::Command { detail, .. }) => Err(unfit(
                    "target_dirty",
                    format!(
                        "git cannot bring the work to `{onto}` in `{}`: {}",
                        folder.display(),
                        detail.lines().next().unwrap_or_default()
                    ),
                    "end what keeps git there, then run this again".to_owned(),
                )),
                Err(error) => Err(error.into()),
            },
        };
        let is_as_before = head_of(&self.repository, onto)?.commit == now.commit;
        if moved.is_err() && !is_as_before { Ok(false) } else { moved }
    }

    fn gone(&self) -> ProjectError {
        let (onto, name) = (&self.onto, quoted(self.onto.as_str()));
        unfit(
            "no_target",
            format!("there is no branch `{onto}` here"),
            format!("name another one with `--onto`, or get it: `git fetch origin {name}:{name}`"),
        )
    }
}

/// Returns a branch with its newest commit.
fn head_of(repository: &Repository, branch: &BranchName) -> Result<Head, GitError> {
    let reference = format!("refs/heads/{branch}");
    let commit = repository.commit_named(&reference)?;
    Ok(Head { reference, commit, reflog: 0 })
}
