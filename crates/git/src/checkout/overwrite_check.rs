//! Checks whether a worktree may be moved to another commit. Staged, changed, untracked and ignored files must not be
//! overwritten, and nothing may write into aof's own folder. Changes nothing.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::checkout::fast_forward::blob_at;
use crate::command;
use crate::command::PATHS_A_COMMAND;
use crate::error::{At, GitError};
use crate::id::CommitId;
use crate::index::own_folder::is_own_folder;
use crate::log::tree_diff::Changes;
use crate::objects::tree::text;
use crate::repository::handle::Repository;
use aof_system::terminal::quoted;

/// The most files that an error lists.
const MOST_TOLD: usize = 20;

impl Repository {
    /// Refuses changes in any project's `.aof`, and files below `tasks/` whose names are not UTF-8. A deletion in `.aof` would
    /// delete this clone's file too, which may be in use.
    pub(crate) fn check_incoming(&self, changes: &Changes) -> Result<(), GitError> {
        let is_in_own_folder = |path: &[u8]| path.split(|byte| *byte == b'/').any(is_own_folder);
        let own_files = |remain: bool| {
            let files = changes.iter().filter(|(path, _)| is_in_own_folder(path));
            let files = files.filter(|(_, (_, after))| after.is_some() == remain);
            files.take(MOST_TOLD).map(|(path, _)| text(path.clone())).collect::<Vec<_>>()
        };
        let (added, deleted) = (own_files(true), own_files(false));
        if !added.is_empty() {
            return Err(GitError::OwnFolder { files: added });
        }
        if !deleted.is_empty() {
            return Err(GitError::OwnFolderTakenOut { files: deleted });
        }
        let tasks = self.full_path("tasks/");
        let mut coming = changes.iter().filter(|(_, (_, after))| after.is_some());
        let is_odd =
            |path: &[u8]| path.starts_with(tasks.as_bytes()) && str::from_utf8(path).is_err();
        match coming.find(|(path, _)| is_odd(path)) {
            Some((path, _)) => Err(GitError::CheckoutFailed {
                detail: format!(
                    "the name of `{}` is not UTF-8, which is not allowed below `tasks/`; rename it where it was committed, with `git mv`",
                    text(path.clone())
                ),
            }),
            None => Ok(()),
        }
    }

    /// Refuses changes that would overwrite staged, changed or untracked files, by this index. Also refuses files that cannot be read.
    pub(crate) fn check_overwrites(
        &self,
        index: &Path,
        from: Option<CommitId>,
        to: CommitId,
        changes: &Changes,
    ) -> Result<(), GitError> {
        let files = self.untracked_in_the_way(index, changes)?;
        if !files.is_empty() {
            return Err(GitError::WouldOverwrite { files });
        }
        let mut git = self.read_tree(index, from, to);
        git.arg("-n");
        let Err(error) = command::run_git(git, &[]) else {
            return self.check_readable(changes);
        };
        let mut git = self.git_on(index);
        git.args(["ls-files", "-z", "--unmerged"]);
        let unmerged = command::run_git(git, &[])?;
        let path = unmerged.split(|byte| *byte == 0).next().unwrap_or_default();
        if let Some(tab) = path.iter().position(|byte| *byte == b'\t') {
            return Err(GitError::Unmerged { path: text(path[tab + 1..].to_vec()) });
        }
        let files = self.changed_in_the_way(changes)?;
        if !files.is_empty() {
            return Err(GitError::WouldOverwrite { files });
        }
        let marked = self.commands_to_unmark(changes)?;
        let detail = if marked.is_empty() {
            error.to_string()
        } else {
            format!(
                "git is set not to look at files here, so it replaces none of them; undo that: `{}`",
                marked.join("`, `")
            )
        };
        Err(GitError::CheckoutFailed { detail })
    }

    /// Refuses task files that cannot be compared with the incoming version.
    fn check_readable(&self, changes: &Changes) -> Result<(), GitError> {
        for path in changes.keys().filter(|path| self.is_task_file(path)) {
            if let Err(error) = blob_at(&self.place_of(path)) {
                let detail = format!("`{}` cannot be read: {error}", text(path.clone()));
                return Err(GitError::CheckoutFailed { detail });
            }
        }
        Ok(())
    }

    /// Returns the commands that clear `assume-unchanged` and `skip-worktree` at these paths.
    fn commands_to_unmark(&self, changes: &Changes) -> Result<Vec<String>, GitError> {
        let mut commands = Vec::new();
        let paths: Vec<&OsStr> = changes.keys().map(|path| OsStr::from_bytes(path)).collect();
        for paths in paths.chunks(PATHS_A_COMMAND) {
            let mut git = self.git_command();
            git.args(["--literal-pathspecs", "ls-files", "-v", "-z", "--full-name", "--"])
                .args(paths);
            for line in command::run_git(git, &[])?.split(|byte| *byte == 0) {
                let [mark, b' ', path @ ..] = line else { continue };
                // A lower-case letter means assume-unchanged, an `S` of either case skip-worktree.
                let marks = [
                    (mark.is_ascii_lowercase(), "assume-unchanged"),
                    (mark.eq_ignore_ascii_case(&b'S'), "skip-worktree"),
                ];
                for (_, name) in marks.iter().filter(|(is_set, _)| *is_set) {
                    commands.push(format!(
                        "git update-index --no-{name} {}",
                        quoted(&String::from_utf8_lossy(path))
                    ));
                }
            }
        }
        commands.truncate(MOST_TOLD);
        Ok(commands)
    }

    /// Returns untracked files where new ones would be written. Git itself overwrites ignored files, but such a file may be the only
    /// copy.
    fn untracked_in_the_way(
        &self,
        index: &Path,
        changes: &Changes,
    ) -> Result<Vec<String>, GitError> {
        let root = self.worktree_root();
        let mut found = BTreeSet::new();
        for (path, _) in
            changes.iter().filter(|(_, (before, after))| before.is_none() && after.is_some())
        {
            for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
                match fs::symlink_metadata(root.join(OsStr::from_bytes(&path[..at]))) {
                    Ok(data) if data.is_dir() => {}
                    Ok(_) => {
                        found.insert(path[..at].to_owned());
                        break;
                    }
                    Err(_) => break,
                }
            }
            files_at(root, path, &mut found)?;
        }
        found.retain(|path: &Vec<u8>| changes.get(path).is_none_or(|(before, _)| before.is_none()));
        let candidates: Vec<Vec<u8>> = found.iter().cloned().collect();
        for candidates in candidates.chunks(PATHS_A_COMMAND) {
            let mut git = self.git_on(index);
            git.args(["--literal-pathspecs", "ls-files", "-z", "--full-name", "--"]);
            git.args(candidates.iter().map(|path| OsStr::from_bytes(path)));
            for known in command::run_git(git, &[])?.split(|byte| *byte == 0) {
                found.remove(known);
            }
        }
        Ok(found.into_iter().take(MOST_TOLD).map(text).collect())
    }

    /// Returns the staged, changed and untracked files at these paths.
    fn changed_in_the_way(&self, changes: &Changes) -> Result<Vec<String>, GitError> {
        let mut files = Vec::new();
        let paths: Vec<&OsStr> = changes.keys().map(|path| OsStr::from_bytes(path)).collect();
        for paths in paths.chunks(PATHS_A_COMMAND) {
            let options = ["--untracked-files=all", "--ignore-submodules=dirty"];
            files.extend(self.status(options, paths)?.into_iter().map(|(_, path)| text(path)));
        }
        files.truncate(MOST_TOLD);
        Ok(files)
    }
}

/// Adds the file at a path, or all files below it. A nested repository is left to git.
fn files_at(root: &Path, path: &[u8], found: &mut BTreeSet<Vec<u8>>) -> Result<(), GitError> {
    let place = root.join(OsStr::from_bytes(path));
    let Ok(data) = fs::symlink_metadata(&place) else { return Ok(()) };
    if !data.is_dir() {
        found.insert(path.to_owned());
        return Ok(());
    }
    if place.join(".git").exists() {
        return Ok(());
    }
    for entry in fs::read_dir(&place).at("read", &place)? {
        let name = entry.at("read", &place)?.file_name();
        files_at(root, &[path, b"/", name.as_bytes()].concat(), found)?;
    }
    Ok(())
}
