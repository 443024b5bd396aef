//! Files that git does not look for in the worktree: those outside of a sparse checkout, and those that it was told to pass over. Git
//! itself is asked, whatever the layout of the index.

use crate::git::command;
use crate::git::error::AuditError;
use crate::git::repository::repository::Repository;

impl Repository {
    /// Returns the files below a folder of the project, or the file, that the index has and that git does not look for.
    pub fn left_out_below(&self, folder: &str) -> Result<Vec<String>, AuditError> {
        let mut git = command::git(self);
        git.args(["--literal-pathspecs", "ls-files", "-t", "-z", "--full-name", "--"])
            .arg(self.full_path(folder));
        let output = command::run_git(git, &[])?;
        let paths = output
            .split(|byte| *byte == 0)
            .filter_map(|line| str::from_utf8(line.strip_prefix(b"S ")?).ok());
        Ok(paths.filter_map(|path| self.own_path(path)).collect())
    }

    /// Returns whether only a part of what is committed is checked out here.
    pub fn is_checked_out_in_part(&self) -> bool {
        let mut git = command::git(self);
        git.args(["config", "--type=bool", "core.sparseCheckout"]);
        command::run_git(git, &[]).is_ok_and(|said| said.trim_ascii() == b"true")
    }
}
