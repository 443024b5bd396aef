//! How far the branch is from the remote's, as it was when it was last looked at. Asks nobody.

use crate::git::Distance;
use crate::health::doctor::{Complaint, Patient, count};
use crate::history::sync::remote_state::RemoteStanding;

pub(crate) fn look(patient: &Patient<'_>) -> Vec<Complaint> {
    // Who has no remote, or has not said which, works alone.
    let Some(RemoteStanding { upstream, distance: Some(distance), .. }) = &patient.overview.remote
    else {
        return Vec::new();
    };
    let Distance { ahead, behind } = *distance;
    let (name, branch) = (upstream.name(), patient.overview.branch.as_deref().unwrap_or_default());
    let (remote, there) = (&upstream.remote, upstream.branch());
    let (ours, theirs) = (count(ahead, "commit", "commits"), count(behind, "commit", "commits"));
    match (ahead, behind) {
        (_, 0) => Vec::new(),
        (0, _) => vec![Complaint::advice(
            "remote_ahead",
            format!("`{name}` has {theirs} that `{branch}` has not"),
            "what others did is not seen here, and may be done twice",
            format!("bring it: `aof sync`, or `git pull --ff-only {remote} {there}`"),
        )],
        _ => vec![Complaint::wrong(
            "remote_diverged",
            format!("`{branch}` and `{name}` have diverged: {ours} here, {theirs} there"),
            "two clones may have moved the same task, and each further step makes it harder to bring them together",
            format!(
                "bring them together: `aof sync`, or `git pull --no-rebase {remote} {there}` and `git push {remote} HEAD:{there}`"
            ),
        )],
    }
}
