//! A commit that git makes again somewhere else, judged there before it is made: what is wrong with it that was not wrong with it where it
//! comes from.

use super::finding::{Broken, Wrong};
use super::judge::Judge;
use crate::git::{CommitId, Replay, Way};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;

/// Returns what is wrong with `made`, which comes of the commit that is made again. Of a merge that is picked nothing is known: it
/// becomes a commit of another kind. One that is reverted is taken back as any other is.
pub(crate) fn wrong_anew(
    workspace: &Workspace,
    replay: Replay,
    made: CommitId,
) -> Result<Vec<Wrong>, OpsError> {
    let repository = &workspace.repository;
    let parents = repository.log_entry(replay.of)?.parents;
    if parents.len() > 1 && replay.way != Way::Revert {
        return Ok(Vec::new());
    }
    let mut judge = Judge::new(workspace, None);
    let mut wrong = judge.of(made)?.wrong;
    wrong.retain(|own| own.broken.is_fault());
    if replay.way == Way::Revert {
        // What was reverted may be reverted again: that is as good as made by hand.
        wrong.retain(|own| !matches!(own.broken, Broken::Unattested | Broken::Squashed));
    }
    let is_judged =
        replay.way != Way::Revert && parents.iter().all(|parent| repository.has_commit(*parent));
    if is_judged && !wrong.is_empty() {
        let before = judge.of(replay.of)?.wrong;
        wrong.retain(|own| {
            !before.iter().any(|known| (known.broken, &known.task) == (own.broken, &own.task))
        });
    }
    Ok(wrong)
}
