//! A commit that git makes again on top of others, where it would be one that the rules do not allow there: the file stays as it is, git
//! stops, and whoever rebases is told what is wrong and the ways out.

use std::path::Path;

use super::driver::{Open, whole_repository};
use super::places;
use crate::domain::{Task, TaskId, Timestamp};
use crate::files::task_file;
use crate::files::task_file::Defaults;
use crate::git::{CommitId, Replay, Repository, Way};
use crate::history::merge::merge::{Conflict, FileMerge, Versions};
use crate::history::touched_tasks::touched;
use crate::history::verify::finding::{Broken, Wrong};
use crate::history::verify::replayed::wrong_anew;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::rules::merge::{Superseded, Unmergeable, apart};

/// A commit that git makes again, and that cannot stand where it would come.
pub(crate) struct Refused {
    replay: Replay,
    wrong: Wrong,
    builds: Builds,
    then: Then,
    /// What a rebase brings it onto, where that can be merged instead.
    onto: Option<CommitId>,
    /// What it says that counts no more.
    pub superseded: Vec<Superseded>,
}

/// What a commit that git makes again goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Builds {
    /// What is there, as far as it is known.
    OnWhatIsThere,
    /// An entry that is not there: the commit that made it was left out, or nothing came of it.
    OnWhatIsGone,
}

/// What git makes of it when it is told that a commit cannot stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// It stops at the commit.
    Stops,
    /// It stops, and will try the same commit again.
    Retries,
    /// It ends, and knows nothing of what it was about to do.
    Forgets,
}

impl Refused {
    /// Says what is wrong.
    pub(crate) fn problem(&self) -> String {
        let Wrong { broken, found, .. } = &self.wrong;
        let what = broken.sentence();
        if self.replay.way == Way::Revert {
            return format!(
                "what the engine committed is not taken back by a revert: {what}: {found}"
            );
        }
        match broken {
            Broken::WrongTrailer if !self.superseded.is_empty() => {
                "nothing is left of the commit that is picked, since what it says was superseded"
                    .to_owned()
            }
            _ if self.builds == Builds::OnWhatIsGone => {
                format!(
                    "the commit that is picked builds on an entry that is not there: {what}: {found}"
                )
            }
            _ => format!("the commit that is picked cannot stand here: {what}: {found}"),
        }
    }

    /// Says how whoever runs git goes on.
    pub(crate) fn fix(&self) -> String {
        let task = self.wrong.task.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
        match (self.replay.way, self.then) {
            (Way::Rebase, then) => {
                let skip = match then {
                    Then::Stops | Then::Forgets => "`git rebase --skip`",
                    Then::Retries => {
                        "take its line out with `git rebase --edit-todo`, then `git rebase --skip`"
                    }
                };
                let merge = self.onto.map(|onto| {
                    let onto = &onto.to_string()[..10];
                    format!(", and then `git merge {onto}` brings both together, and loses nothing")
                });
                let merge = merge.unwrap_or_default();
                format!(
                    "`git rebase --abort` takes the rebase back{merge}; or leave this commit out ({skip}), and say again what it says \
                     where that still holds"
                )
            }
            (Way::Pick, _) => format!(
                "`git cherry-pick --skip` leaves it out, `git cherry-pick --abort` takes all back; merge the branch that it is from, or \
                 say here what it says: `aof why{task}` tells what is possible"
            ),
            (Way::Revert, then) => {
                let back = match then {
                    Then::Forgets => "`git reset --merge`",
                    _ => "`git revert --abort`",
                };
                format!(
                    "{back} takes it back; a task is moved back by `aof task override{task} --to GATE --reason WHY`, or by `aof task \
                     reopen{task} --to GATE --reason WHY` when it is finished"
                )
            }
        }
    }
}

/// Returns why the commit that git makes again cannot stand, if what was merged of this file of it keeps it from that. What a person has
/// to decide is decided first.
pub(crate) fn refused(
    (workspace, rules, head): (&Workspace, &Rules, CommitId),
    replay: Replay,
    (id, path): (&TaskId, &str),
    versions: Versions<'_>,
    merge: &FileMerge,
) -> Result<Option<Refused>, OpsError> {
    let task = Read::of(rules, id, versions);
    let bytes = match &merge.conflicts[..] {
        [] => &merge.bytes[..],
        [Conflict::File(_)] if task.is_cut() => versions.theirs,
        _ => return Ok(None),
    };
    let repository = &workspace.repository;
    let mut files = vec![(path, Some(bytes))];
    let own = touched(&repository.changed_files(replay.of)?).remove(id).unwrap_or_default();
    for (other, _) in own.before.iter().chain(&own.after) {
        let is_known = files.iter().any(|(known, _)| known == other);
        if !is_known && repository.blob_id(head, other)?.is_some() {
            files.push((other, None));
        }
    }
    let is_as_it_was = files.len() == 1 && repository.read(head, path)?.as_deref() == Some(bytes);
    if is_as_it_was {
        return Ok(None);
    }
    let made = repository.replayed_with(head, replay, &files)?;
    let wrong = wrong_anew(workspace, replay, made)?
        .into_iter()
        .find(|wrong| wrong.task.as_ref() == Some(id));
    let superseded = merge.superseded.clone();
    let builds = task.builds();
    Ok(wrong.map(|wrong| {
        let onto = onto_of(repository, replay);
        Refused { replay, wrong, builds, then: Then::Stops, onto, superseded }
    }))
}

/// The versions of a task, as far as they can be read.
struct Read {
    base: Option<Task>,
    ours: Option<Task>,
    theirs: Option<Task>,
}

impl Read {
    fn of(rules: &Rules, id: &TaskId, Versions { base, ours, theirs }: Versions<'_>) -> Self {
        let defaults = Defaults {
            workflow: rules.project.default_workflow.clone(),
            created: Timestamp::UNIX_EPOCH,
        };
        let read = |bytes: &[u8]| task_file::parse(bytes, id, &defaults).ok().map(|file| file.task);
        Self { base: base.and_then(read), ours: read(ours), theirs: read(theirs) }
    }

    /// Returns whether one side has fewer entries than there were: what comes in takes some back, or builds on some that are not there.
    fn is_cut(&self) -> bool {
        let (Some(ours), Some(theirs)) = (&self.ours, &self.theirs) else { return false };
        matches!(apart(self.base.as_ref(), ours, theirs), Err(Unmergeable::Removed { .. }))
    }

    fn builds(&self) -> Builds {
        match (&self.base, &self.ours) {
            (Some(base), Some(ours)) if !ours.history.starts_with(&base.history) => {
                Builds::OnWhatIsGone
            }
            _ => Builds::OnWhatIsThere,
        }
    }
}

/// Returns why the commit that git makes again, and is about to commit as it is staged, cannot stand: what nobody was asked to merge
/// counts as well, since the rules may be others here.
pub(crate) fn refused_as_staged(
    open: Open<'_>,
    here: &Path,
    message: &str,
) -> Result<Vec<Refused>, OpsError> {
    let repository = &whole_repository(here)?;
    let Some(head) = repository.look()?.commit else { return Ok(Vec::new()) };
    let folders = places::about_to_change(repository, head)?;
    if folders.is_empty() {
        return Ok(Vec::new());
    }
    let Some(replay) = repository.replay_committed(message)? else { return Ok(Vec::new()) };
    let then = match (replay.way, repository.replay_named()) {
        (Way::Revert, None) if !repository.is_in_sequence() => Then::Forgets,
        (Way::Rebase, Some(_)) => Then::Retries,
        _ => Then::Stops,
    };
    let Some(made) = repository.replayed_as_staged(head, replay)? else { return Ok(Vec::new()) };
    let mut refused = Vec::new();
    for folder in folders {
        let project = repository.worktree_root().join(folder);
        let wrong = wrong_anew(&open(&project)?, replay, made)?.into_iter().next();
        refused.extend(wrong.map(|wrong| {
            let onto = onto_of(repository, replay);
            Refused {
                replay,
                wrong,
                builds: Builds::OnWhatIsThere,
                then,
                onto,
                superseded: Vec::new(),
            }
        }));
    }
    Ok(refused)
}

fn onto_of(repository: &Repository, replay: Replay) -> Option<CommitId> {
    if replay.way == Way::Rebase { repository.rebased_onto() } else { None }
}
