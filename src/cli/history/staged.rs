//! The check of git's hooks before a commit.

use std::process::ExitCode;

use crate::cli::{Session, red, yellow};
use crate::files::printable::inert;
use crate::git::{GitError, Repository};
use crate::history::staged_check::{StagedFault, merge_again, staged_faults, staged_rule_errors};
use crate::project::error::ProjectError;
use crate::system::terminal::all_quoted;

const BEFORE_ALL: &str = " (before `git commit -a`, run `aof watch --once`)";

/// Refuses a commit that reverts or imitates the work of aof. Accepts a commit that cannot be checked.
pub(super) fn check(session: &Session) -> ExitCode {
    let found = Repository::discover(&session.directory)
        .map_err(ProjectError::from)
        .and_then(|repository| Ok((staged_faults(&repository)?, repository)));
    let (found, repository) = match found {
        // With `git --git-dir`, git's folder may be outside of any project.
        Err(ProjectError::Git(GitError::NoRepository { .. })) => return ExitCode::SUCCESS,
        Err(error) => {
            let why = inert(&session.runnable(error.problem())).replace('\n', " ");
            session.output.say(format!(
                "{} {why}; `aof verify` checks the commit once it is made",
                yellow("not checked:")
            ));
            return ExitCode::SUCCESS;
        }
        Ok(found) => found,
    };
    for (fault, paths) in &found {
        let files = paths.join(", ");
        let (problem, more) = match fault {
            StagedFault::TakesBack => (
                format!(
                    "take back what is committed of {files}: what is staged is older, or was changed by hand"
                ),
                "",
            ),
            StagedFault::AddsEntries => (
                format!("commit steps of {files} that aof did not make on this branch"),
                "; `git merge` brings in those of another branch",
            ),
            StagedFault::Removes => (
                format!("remove {files}, which aof keeps with its history"),
                "; `aof cancel` ends a task",
            ),
            StagedFault::Misread => (
                format!("commit what is not read as it is meant in {files}"),
                "; `aof status` says what, and how to write it",
            ),
        };
        let again = if *fault == StagedFault::Misread { "" } else { BEFORE_ALL };
        let fix = merge_again(&repository, *fault, paths).unwrap_or_else(|| {
            let named = all_quoted(paths.iter().map(String::as_str));
            format!(
                "`git restore --staged {named}` leaves that out; then commit again{again}{more}"
            )
        });
        session.output.say(format!(
            "{} this would {}\n{}",
            red("not committed:"),
            inert(&problem),
            inert(&session.runnable(fix))
        ));
    }
    // The commit is made: whoever writes rules may have a reason, and the earlier ones stay in force.
    if let Ok(errors) = staged_rule_errors(&repository)
        && !errors.is_empty()
    {
        session.warn("this commits invalid rules; those of the last valid commit stay in force");
        session.output.say_diagnostics(&errors);
        session.output.say("`git commit --amend` after the correction replaces it");
    }
    if found.is_empty() {
        return ExitCode::SUCCESS;
    }
    let is_misread = found.iter().all(|(fault, _)| *fault == StagedFault::Misread);
    let by = if is_misread { "`aof status`" } else { "`aof verify`" };
    session.output.say(format!("`git commit --no-verify` commits it anyway, and {by} reports it"));
    ExitCode::FAILURE
}
