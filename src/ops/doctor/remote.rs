//! How far the branch is from the remote's, as it was when it was last looked at. Asks nobody.

use super::{Complaint, Patient, count};
use crate::audit::Distance;
use crate::ops::error::OpsError;

pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let repository = &patient.workspace.repository;
    let head = repository.look()?;
    let Some(commit) = head.commit.filter(|_| head.reference != "HEAD") else { return Ok(Vec::new()) };
    // Who has no remote, or has not said which, works alone.
    let Ok(upstream) = repository.upstream(&head, None)? else { return Ok(Vec::new()) };
    let Some(there) = repository.remembered(&upstream)? else { return Ok(Vec::new()) };
    let Distance { ahead, behind } = repository.distance(commit, there)?;
    let name = upstream.name();
    let (ours, theirs) = (count(ahead, "commit", "commits"), count(behind, "commit", "commits"));
    Ok(match (ahead, behind) {
        (_, 0) => Vec::new(),
        (0, _) => vec![Complaint::advice(
            "remote_ahead",
            format!("`{name}` has {theirs} that `{}` has not", head.branch()),
            "what others did is not seen here, and may be done twice",
            "bring it: `aof sync`, or `git pull --ff-only`".to_owned(),
        )],
        _ => vec![Complaint::wrong(
            "remote_diverged",
            format!("`{}` and `{name}` have diverged: {ours} here, {theirs} there", head.branch()),
            "two clones may have moved the same task, and each further step makes it harder to bring them together",
            "bring them together: `aof sync`, or `git pull --no-rebase` and `git push`".to_owned(),
        )],
    })
}
