//! Checks that git tracks no file of aof's own folder, `.aof`, in HEAD or the index. The folder belongs to one clone; files from git
//! may come from anyone. If this worktree is inside another checkout's `.aof`, as that of a project on its own branch is, that
//! checkout is checked too.

use std::fs;
use std::io::{ErrorKind, Seek};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::entries::as_index_error;
use super::patch::each_name;
use crate::command;
use crate::error::{At, GitError, OwnFolder};
use crate::id::CommitId;
use crate::objects::git_file;
use crate::objects::tree::text;
use crate::repository::handle::{OwnFolderCheck, Repository};
use aof_system::disk::read_expected;

/// The number of bytes of an index that are read first. The folder's name is early in it, unless the project is far down in a large
/// repository.
const BEGINNING: usize = 1 << 16;

/// The folder of each clone's own locks, records and inbox. Anyone who can put files there acts for its user.
pub(crate) const OWN_FOLDER: &str = ".aof";
/// Returns whether a folder of that name is aof's own. Case is ignored, as some file systems do.
pub(crate) fn is_own_folder(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(OWN_FOLDER.as_bytes())
}

impl Repository {
    /// Fails if git tracks anything in aof's own folder.
    pub fn check_own_folder(&self) -> Result<(), GitError> {
        self.check_own_folder_at(self.head_for_reading()?.commit)
    }

    /// Fails if HEAD's commit, the index or the enclosing checkout has a file of `.aof`.
    pub(crate) fn check_own_folder_at(&self, head: Option<CommitId>) -> Result<(), GitError> {
        self.ensure_untracked(head)?;
        let Some(enclosing) = self.enclosing_checkout()? else { return Ok(()) };
        enclosing.check_own_folder().map_err(|error| match error {
            GitError::OwnFolderInGit(OwnFolder {
                enclosing_checkout: None,
                name,
                is_committed,
                is_staged,
            }) => {
                let enclosing_checkout =
                    Some(enclosing.worktree_root().join(enclosing.prefix()).components().collect());
                GitError::OwnFolderInGit(OwnFolder {
                    name,
                    is_committed,
                    is_staged,
                    enclosing_checkout,
                })
            }
            other => other,
        })
    }

    /// Returns the checkout whose `.aof` contains this worktree, if any: its git can write into this worktree.
    fn enclosing_checkout(&self) -> Result<Option<&Repository>, GitError> {
        if let Some(known) = self.enclosing.get() {
            return Ok(known.as_deref());
        }
        let is_own =
            |folder: &&Path| folder.file_name().is_some_and(|name| is_own_folder(name.as_bytes()));
        let project = self.worktree_root().ancestors().find(is_own).and_then(Path::parent);
        let found = match project.map(Repository::discover).transpose() {
            Err(
                GitError::NoRepository { .. }
                | GitError::Bare { .. }
                | GitError::OutsideWorktree { .. },
            ) => None,
            found => found?.map(Box::new),
        };
        Ok(self.enclosing.get_or_init(|| found).as_deref())
    }

    fn ensure_untracked(&self, head: Option<CommitId>) -> Result<(), GitError> {
        // Git replaces the index file at each change.
        let index = fs::metadata(self.git_dir().join("index")).ok();
        let seen = OwnFolderCheck {
            head,
            index: index
                .map(|file| (file.dev(), file.ino(), file.len(), file.ctime(), file.ctime_nsec())),
        };
        if self.own_folder_seen.get() == Some(seen) {
            return Ok(());
        }
        let (committed, staged) = (self.own_folder_of(head)?, self.own_folder_of_index()?);
        let (is_committed, is_staged) = (committed.is_some(), staged.is_some());
        if let Some(name) = committed.or(staged) {
            return Err(GitError::OwnFolderInGit(OwnFolder {
                name,
                is_committed,
                is_staged,
                enclosing_checkout: None,
            }));
        }
        self.own_folder_seen.set(Some(seen));
        Ok(())
    }

    fn own_folder_of(&self, head: Option<CommitId>) -> Result<Option<String>, GitError> {
        let Some(commit) = head else { return Ok(None) };
        let names = self.trees().names(self.root_tree(commit)?, self.prefix())?;
        Ok(names.into_keys().find(|name| is_own_folder(name)).map(|name| text(name.into_vec())))
    }

    fn own_folder_of_index(&self) -> Result<Option<String>, GitError> {
        let path = self.git_dir().join("index");
        let (mut file, size) = match git_file::open_sized(&path) {
            Ok(opened) => opened,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).at("read", &path),
        };
        let folder = self.full_path("");
        let mut found = None;
        if !self.is_split()? {
            for most in [BEGINNING.min(size), size] {
                if most > BEGINNING {
                    file.rewind().at("read", &path)?;
                }
                let bytes = read_expected(&file, most).at("read", &path)?;
                let seen = each_name(&bytes, &mut |name| {
                    found = own_name(&folder, name);
                    if found.is_some() || is_behind(&folder, name) {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                });
                if seen {
                    return Ok(found);
                }
            }
        }
        // Git itself reads other layouts.
        let mut git = self.git_command();
        git.args(["ls-files", "-z", "--full-name", "--"]);
        git.arg(format!(":(top,icase,literal){}", self.full_path(OWN_FOLDER)));
        let output = command::run_git(git, &[]).map_err(|error| as_index_error(&path, error))?;
        Ok(output.split(|byte| *byte == 0).find_map(|path| own_name(&folder, path)))
    }

    /// Returns whether the index may be split, with most entries in a shared file.
    fn is_split(&self) -> Result<bool, GitError> {
        let git_dir = self.git_dir();
        for entry in fs::read_dir(git_dir).at("read", git_dir)? {
            if entry
                .at("read", git_dir)?
                .file_name()
                .as_encoded_bytes()
                .starts_with(b"sharedindex.")
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns the folder's name as spelled in the path, if the path is the folder or in it.
fn own_name(project: &str, path: &[u8]) -> Option<String> {
    let below = match project {
        "" => path,
        project => path.strip_prefix(project.as_bytes())?.strip_prefix(b"/")?,
    };
    let name = below.split(|byte| *byte == b'/').next()?;
    is_own_folder(name).then(|| text(name.to_vec()))
}

/// Returns whether the folder, in any spelling, sorts before that path in an index.
fn is_behind(project: &str, path: &[u8]) -> bool {
    let last = if project.is_empty() { ".aof0".to_owned() } else { format!("{project}/.aof0") };
    path >= last.as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_known_however_it_is_written() {
        for (project, path, name) in [
            ("", ".aof/intent", Some(".aof")),
            ("", ".aof", Some(".aof")),
            ("", ".AOF/inbox/x", Some(".AOF")),
            ("", ".aofx", None),
            ("", "sub/.aof/x", None),
            ("sub", "sub/.aof/x", Some(".aof")),
            ("sub", "subs/.aof/x", None),
            ("sub", ".aof/x", None),
        ] {
            assert_eq!(own_name(project, path.as_bytes()).as_deref(), name, "{project:?} {path}");
            assert!(name.is_none() || !is_behind(project, path.as_bytes()));
        }
        assert!(is_behind("", b".aofx") && is_behind("", b"a") && !is_behind("", b".a"));
        assert!(
            is_behind("sub", b"sub/a") && is_behind("sub", b"subs/.aof") && !is_behind("sub", b"a")
        );
    }
}
