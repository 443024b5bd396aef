//! Hints with git commands for people to run. If the project is kept on a branch of its own, they need `-C` with its checkout, since
//! paths and `HEAD` mean something else in the checkout of the code. Runs nothing.

use std::path::Path;

use crate::domain::{TaskId, listed};
use crate::git::{OwnFolder, RemoteError};
use crate::storage::ProjectPath;
use crate::storage::layout::is_archived;
use crate::system::terminal::quoted;

/// Returns a hint for restoring a file that HEAD has.
pub(crate) fn restore_hint(path: &str) -> String {
    format!("bring it back with `git restore --source=HEAD --staged --worktree {}`", quoted(path))
}

/// Returns a hint for a file that cannot be read.
pub(crate) fn unreadable_hint(path: &str, in_head: bool) -> String {
    let path = quoted(path);
    if !in_head {
        return format!(
            "fix it there; HEAD does not have it, so if it is no task, `rm {path}` removes it"
        );
    }
    format!(
        "fix it there, or bring back what is committed with `git restore --source=HEAD {path}`; `git log -p -- {path}` shows what it \
         said before"
    )
}

/// Returns a hint for the file of a task that HEAD has and the worktree lacks.
pub(crate) fn missing(id: &TaskId, path: &ProjectPath) -> String {
    let back = restore_hint(path.as_str());
    if is_archived(path) {
        return back;
    }
    // A commit without the file would drop its history, and `aof verify` would report that in every later run.
    format!("{back}; if it is not to be done, cancel it then: `aof cancel {id} --reason \"...\"`")
}

/// Returns the code in JSON of a fault with a remote.
pub(crate) fn remote_code(error: &RemoteError) -> &'static str {
    match error {
        RemoteError::NoRemote => "no_remote",
        RemoteError::Ambiguous { .. } => "ambiguous_remote",
        RemoteError::Unknown { .. } => "unknown_remote",
        RemoteError::Unreachable { .. } => "offline",
        RemoteError::Denied { .. } => "denied",
    }
}

/// Returns the fix of a fault with a remote.
pub(crate) fn remote_fix(error: &RemoteError) -> String {
    match error {
        RemoteError::NoRemote => {
            "add one: `git remote add origin URL`; any git host will do, or a bare repository on a shared disk"
                .to_owned()
        }
        RemoteError::Ambiguous { known } => {
            format!("say which: `--remote {}`, or `git: {{remote: {}}}` in project.yaml", known[0], known[0])
        }
        RemoteError::Unknown { known, .. } if known.is_empty() => {
            "add it: `git remote add NAME URL`".to_owned()
        }
        RemoteError::Unknown { known, .. } => format!("there is {}", listed(known)),
        RemoteError::Unreachable { remote, .. } => {
            format!("see whether `git fetch {remote}` works; what is here waits, and nothing is lost")
        }
        RemoteError::Denied { remote, .. } => format!(
            "see whether `git fetch {remote}` works: credentials, keys and tokens are those of your git; without a terminal nobody is asked for a passphrase"
        ),
    }
}

/// The prefix that git commands need to work from the reader's folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitCommands {
    /// The folder in which git must work, quoted for a shell; `None` if people are in it.
    folder: Option<String>,
}

impl GitCommands {
    /// Returns git commands that work in that folder, as named from the people's folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: Some(quoted(&folder.display().to_string()).into_owned()) }
    }

    /// Returns a path of the project as people reach it.
    pub(crate) fn path(&self, path: &ProjectPath) -> String {
        self.folder.as_ref().map_or_else(|| path.to_string(), |folder| format!("{folder}/{path}"))
    }

    /// Returns the text with each git command changed to work in that folder. Commands are recognized by their backticks.
    pub fn with_folder(&self, text: String) -> String {
        let Some(folder) = &self.folder else { return text };
        let parts = text.split('`').enumerate().map(|(at, part)| match part.strip_prefix("git ") {
            Some(rest) if at % 2 == 1 && !names_folder(rest) => {
                let rest = rest.replace("&& git ", &format!("&& git -C {folder} "));
                format!("git -C {folder} {rest}")
            }
            _ => part.to_owned(),
        });
        parts.collect::<Vec<_>>().join("`")
    }
}

/// Returns whether a command names its folder itself, or works for the whole machine.
fn names_folder(rest: &str) -> bool {
    ["-C ", "init", "config --global"].iter().any(|start| rest.starts_with(start))
}

/// Returns the commands that remove aof's own folder from git. Files that are not this clone's are deleted first, so that they have no
/// effect meanwhile.
pub(crate) fn untrack_hint(
    OwnFolder { name, is_committed, is_staged, enclosing_checkout }: &OwnFolder,
) -> String {
    let name = quoted(name);
    let git = match enclosing_checkout {
        // Otherwise the prefix of the project's own worktree would be added.
        Some(enclosing) => format!("git -C {}", quoted(&enclosing.display().to_string())),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_git_name_their_folder() {
        let words = GitCommands::in_folder(Path::new(".aof/branch"));
        let with_folder = |text: &str| words.with_folder(text.to_owned());
        assert_eq!(
            with_folder("run `git add x && git commit`, or not"),
            "run `git -C .aof/branch add x && git -C .aof/branch commit`, or not"
        );
        let once = with_folder("`git diff HEAD -- x`");
        assert_eq!(with_folder(&once), once);
        for other in [
            "git is good",
            "`aof sync`",
            "`git config --global user.name \"You\"`",
            "`tasks/x.md` git `x`",
        ] {
            assert_eq!(with_folder(other), other);
        }
        assert_eq!(GitCommands::default().with_folder("`git add x`".to_owned()), "`git add x`");
        assert_eq!(
            GitCommands::in_folder(Path::new("/a b")).with_folder("`git gc`".to_owned()),
            "`git -C '/a b' gc`"
        );
    }
}
