//! How the clone stands to its remote, as it was when it was last looked at. Asks nobody.

use crate::git::Distance;
use crate::health::subject::{Found, Subject, count};
use crate::history::sync::remote_state::RemoteStanding;
use crate::project::issue::Issue;

pub(crate) fn check(subject: &Subject<'_>) -> Found {
    // Who has no remote, or has not said which, works alone.
    let Some(standing) = subject.project().and_then(|project| project.remote.as_ref()) else {
        return Ok(Vec::new());
    };
    let mut issues: Vec<Issue> = Vec::new();
    if let Some((code, problem, fix)) = standing.attention() {
        issues.push(Issue::new(code, problem, fix));
    }
    let RemoteStanding { upstream, distance, .. } = standing;
    let Some(Distance { ahead, behind }) = distance.filter(|_| subject.is_doctor()) else {
        return Ok(issues);
    };
    let (name, branch) = (upstream.name(), subject.branch().unwrap_or_default());
    let (remote, there) = (&upstream.remote, upstream.branch());
    let (ours, theirs) = (count(ahead, "commit", "commits"), count(behind, "commit", "commits"));
    match (ahead, behind) {
        (_, 0) => {}
        (0, _) => issues.push(
            Issue::new(
                "remote_ahead",
                format!("`{name}` has {theirs} that `{branch}` has not"),
                format!("bring it: `aof sync`, or `git pull --ff-only {remote} {there}`"),
            )
            .advice(),
        ),
        _ => issues.push(Issue::new(
            "remote_diverged",
            format!("`{branch}` and `{name}` have diverged: {ours} here, {theirs} there"),
            format!(
                "bring them together: `aof sync`, or `git pull --no-rebase {remote} {there}` and `git push {remote} HEAD:{there}`"
            ),
        )),
    }
    Ok(issues)
}
