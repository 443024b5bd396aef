//! What git's configuration says that hurts.

use crate::git::GitError;
use crate::health::doctor::{Complaint, Patient};
use crate::health::points::git::SAY_WHO;
use crate::project::error::error::OpsError;

/// The oldest git that knows everything that is asked of it here.
const OLDEST: (u32, u32) = (2, 34);

pub(crate) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let repository = &patient.workspace.repository;
    let mut complaints = Vec::new();
    complaints.extend(version(repository.git_version().as_deref()));
    if let Err(GitError::NoIdentity { missing }) = repository.identity() {
        complaints.push(Complaint::wrong(
            "no_identity",
            format!("git does not know who you are: {missing} is not set"),
            "nothing can be committed without a committer",
            SAY_WHO.to_owned(),
        ));
    }
    let setting = |name| repository.setting(name);
    let slow = [
        (
            "core.splitIndex",
            "true",
            "git config core.splitIndex false && git update-index --no-split-index",
        ),
        (
            "index.version",
            "4",
            "git config --unset index.version && git update-index --index-version 2",
        ),
        ("core.sparseCheckout", "true", "git sparse-checkout disable"),
        ("index.sparse", "true", "git config index.sparse false"),
    ];
    for (name, value, fix) in slow {
        if setting(name)?.as_deref() == Some(value) {
            complaints.push(Complaint::advice(
                "index_layout",
                format!("`{name}` is `{value}`"),
                "for this layout of the index git itself is started for each commit, which takes several times as long",
                format!("if nothing else needs it: `{fix}`"),
            ));
        }
    }
    Ok(complaints)
}

fn version(said: Option<&str>) -> Option<Complaint> {
    let why = "fetching, pushing, unusual indexes and signatures go through git's own program";
    let (oldest_major, oldest_minor) = OLDEST;
    let Some(said) = said else {
        let fix = "install it, and see that it is in `PATH`".to_owned();
        return Some(Complaint::wrong("no_git", "there is no program `git`".to_owned(), why, fix));
    };
    let mut numbers =
        said.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse::<u32>().ok());
    let found = (numbers.next()?, numbers.next()?);
    (found < OLDEST).then(|| {
        let problem = format!(
            "git is version {}.{}, and {oldest_major}.{oldest_minor} is the oldest that is known to do",
            found.0, found.1
        );
        Complaint::advice("git_old", problem, why, "install a newer one".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn old_versions_are_told() {
        let code = |said: Option<&str>| version(said).map(|complaint| complaint.code);
        assert_eq!(code(None), Some("no_git"));
        assert_eq!(code(Some("git version 2.30.2")), Some("git_old"));
        assert_eq!(code(Some("git version 1.8.3.1")), Some("git_old"));
        for new in [
            "git version 2.34.0",
            "git version 2.47.1 (Apple Git-155)",
            "git version 3.0.0.windows.1",
            "nonsense",
        ] {
            assert_eq!(code(Some(new)), None, "{new}");
        }
    }
}
