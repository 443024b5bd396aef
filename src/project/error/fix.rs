//! What to do about an error, in words.

use std::io::ErrorKind;

use super::error::OpsError;
use super::kind::Kind;
use crate::project::git_hints::missing;
use crate::domain::{listed, nearest};
use crate::git::{AuditError, OwnFolder};
use crate::storage::io_hint;
use crate::system::shell::quoted;

impl OpsError {
    /// Returns what to do about it.
    pub fn fix(&self) -> Option<String> {
        Some(match self {
            Self::Refused(refusal) => refusal.fix(),
            Self::Store(error) => return error.hint(),
            Self::Audit(AuditError::OwnFolderInGit(folder)) => take_out(folder),
            Self::Remote(error) => error.fix(),
            Self::ClaimLost { ticket } => {
                format!("see who has it with `aof task show {}`, or take another with `aof task next`", ticket.task)
            }
            Self::Audit(AuditError::Index { .. }) => "make it anew with `git read-tree HEAD`".to_owned(),
            Self::Audit(AuditError::NoIndex { .. }) => "make it anew with `git reset`".to_owned(),
            Self::Audit(AuditError::NotRun { cause, .. }) if cause.kind() == ErrorKind::NotFound => {
                "see that git is installed, in one of the folders of `PATH`".to_owned()
            }
            Self::Audit(AuditError::Io { action, path, source }) => return io_hint(action, path, source),
            Self::UnreadableTask { diagnostics, .. } if diagnostics.iter().any(|found| found.code == "conflict_markers") => {
                "a merge that is still in progress can be taken back with `git merge --abort`".to_owned()
            }
            Self::UnreadableTask { path, .. } => {
                format!("mend it there; `git log -p -- {}` shows what it said before", quoted(path.as_str()))
            }
            Self::Audit(_)
            | Self::Id(_)
            | Self::InvalidRules(_)
            | Self::InvalidImport { .. } => return None,
            Self::LossyImport { .. } => {
                "nothing was written; change the file, or import the rest of it with `--lossy`".to_owned()
            }
            Self::NoTask { committed: Some(_), underway: Some(reason), .. } => {
                format!("{reason}; `git status` says what that makes of the file")
            }
            Self::NoTask { left_out: Some(left_out), .. } => left_out.fix(),
            Self::NoTask { id, committed: Some(path), left_out: None, underway: None, .. } => missing(id, path),
            Self::NoTask { nearest: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::NoTask { nearest: None, .. } => "see what there is with `aof task list --all`".to_owned(),
            Self::Frozen { thaw, .. } => thaw.clone(),
            Self::Splice { path, .. } => format!("write that part of `{path}` more plainly, then try again"),
            Self::NotPutBack { failure: Some(_), noted: false, .. } => {
                "once the disk is well, the next command carries it out: look with `aof task show` before you say it again".to_owned()
            }
            Self::NotPutBack { failure, fault, .. } => {
                let first = fault.fix().map(|fix| format!("{fix}; ")).unwrap_or_default();
                let next = match failure {
                    Some(_) => "nothing counts: the next command takes back first what was written, and then it can be said again",
                    None => "until that can be done nothing is changed; `git status` shows the file",
                };
                format!("{first}{next}")
            }
            Self::Restless { .. } => "try again when nobody edits it".to_owned(),
            Self::NoAgent { human: Some(human), .. } => format!(
                "git's user is `{human}`, and a person acts at a terminal; a program says who it is with `--agent ID` or `AOF_AGENT`"
            ),
            Self::NoAgent { email, .. } => {
                let email = email.as_deref().unwrap_or("you@example.org");
                format!(
                    "say it with `--agent ID` or `AOF_AGENT`, or let org.yaml know git's user: `agents: {{human-you: {{email: {email}}}}}`"
                )
            }
            Self::ProjectExists { path } => format!(
                "nothing was written: edit `{path}` (if you deleted it, `git restore {path}` brings it back), or begin \
                 another project in a folder of its own with `aof init DIR`"
            ),
            Self::Unknown { kind: Kind::Commit, .. } => {
                "name a branch, a tag, or the beginning of a commit's id; `git log --oneline` shows them".to_owned()
            }
            Self::Unknown { given, known, .. } => match nearest(given, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there is {}", listed(known)),
            },
            Self::Unfit { fix, .. } | Self::NotConfirmed { fix, .. } => fix.clone(),
        })
    }
}

/// Returns how aof's own folder comes out of git; what is not the clone's own goes first, so that nothing is done with it behind that.
fn take_out(OwnFolder { name, is_committed, is_staged, around }: &OwnFolder) -> String {
    let name = quoted(name);
    let git = match around {
        // It says where it works, or it would be taken for one of the project's worktree.
        Some(around) => format!("git -C {}", quoted(&around.display().to_string())),
        None => "git".to_owned(),
    };
    if !is_staged {
        return format!(
            "delete there what is not yours, and commit that it was taken out: `{git} commit -m \"{name} is local\"`"
        );
    }
    let commit = if *is_committed {
        format!(", and commit that: `{git} commit -m \"{name} is local\"`")
    } else {
        String::new()
    };
    format!(
        "see what git has there with `{git} ls-files {name}`, delete what is not yours, and take it out with `{git} rm -r --cached {name}`{commit}"
    )
}
