//! The repository that contains a project: found, checked, read. Paths are the project's, with `/`, everywhere.
//!
//! Ignores `GIT_DIR` and `GIT_INDEX_FILE` in the environment: inside a hook they point at unfinished state.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use jiff::Timestamp;

use super::configuration::{ConfigFolders, GitConfig, reading};
use super::open::{add_quarantine, ignores_variables, open, outside_repositories};
use crate::command;
use crate::error::{At, During, GitError};
use crate::id::{CommitId, ObjectId};
use crate::objects::commit::{Links, LogEntry, ParsedCommit, entry, links, named_parents};
use crate::objects::git_file;
use crate::objects::loose::{ObjectFolder, ObjectKind};
use crate::objects::reader::{ObjectCache, ObjectReader};
use crate::objects::tree::{MODE_EXECUTABLE, Trees};
use crate::repository::open::read_shallow_commits;

/// A file of a commit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TreeFile {
    /// Relative to the project.
    pub path: String,
    pub id: ObjectId,
}

/// A git repository, seen from a project in its worktree.
pub struct Repository {
    git: git2::Repository,
    worktree_root: PathBuf,
    prefix: String,
    objects: ObjectFolder,
    known: ObjectCache,
    config: RefCell<Option<Arc<GitConfig>>>,
    history: HistoryCache,
    pub(crate) own_folder_seen: Cell<Option<OwnFolderCheck>>,
    pub(crate) enclosing: OnceCell<Option<Box<Repository>>>,
}

/// The cache for walks through history.
#[derive(Default)]
pub(crate) struct HistoryCache {
    /// The commits at which a shallow clone cuts history off.
    pub shallow_commits: OnceCell<HashSet<CommitId>>,
    /// The times when the branch moved to these commits, latest last.
    pub moves: RefCell<VecDeque<(CommitId, Timestamp)>>,
}

/// HEAD and the identity of the index file when `.aof` was last found to be in neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnFolderCheck {
    pub head: Option<CommitId>,
    pub index: Option<(u64, u64, u64, i64, i64)>,
}

impl Repository {
    /// Finds the repository that contains a project folder. Fails for those that cannot be committed to safely.
    pub fn discover(project: &Path) -> Result<Self, GitError> {
        let folder = fs::canonicalize(project).at("find", project)?;
        let git = open(&folder)?;
        let Some(worktree_root) = git.workdir() else {
            return Err(GitError::Bare { path: git.path().to_owned() });
        };
        // An ancestor of a canonical path is canonical.
        let worktree_root = match folder.ancestors().find(|above| *above == worktree_root) {
            Some(above) => above.to_owned(),
            None => fs::canonicalize(worktree_root).at("find", worktree_root)?,
        };
        let outside = || GitError::OutsideWorktree { path: folder.clone() };
        if folder.starts_with(git.path()) {
            return Err(outside());
        }
        let prefix = folder.strip_prefix(&worktree_root).map_err(|_| outside())?;
        let prefix = prefix.to_str().ok_or_else(|| GitError::BadPath {
            path: prefix.to_string_lossy().into_owned(),
            reason: "the name of the project's folder is not UTF-8",
        })?;
        let objects = ObjectFolder::open(git.commondir().join("objects"))?;
        Ok(Self {
            prefix: prefix.to_owned(),
            worktree_root,
            objects,
            git,
            known: ObjectCache::default(),
            config: RefCell::default(),
            history: HistoryCache::default(),
            own_folder_seen: Cell::default(),
            enclosing: OnceCell::new(),
        })
    }

    /// Opens the nearest repository, which may be bare, only to read commits, as seen from a project at `prefix` in its trees.
    /// Inside a `pre-receive` hook, the pushed objects, which git keeps in quarantine, can be read too.
    pub fn for_commits(start: &Path, prefix: &str) -> Result<Self, GitError> {
        let folder = fs::canonicalize(start).at("find", start)?;
        let git = open(&folder)?;
        let objects = ObjectFolder::open(git.commondir().join("objects"))?;
        add_quarantine(&git, objects.path())?;
        Ok(Self {
            prefix: prefix.to_owned(),
            worktree_root: git.path().to_owned(),
            objects,
            git,
            known: ObjectCache::default(),
            config: RefCell::default(),
            history: HistoryCache::default(),
            own_folder_seen: Cell::default(),
            enclosing: OnceCell::new(),
        })
    }

    /// Returns whether a folder is in a worktree, and not in a bare repository or in `.git`.
    pub fn is_in_worktree(folder: &Path) -> Result<bool, GitError> {
        let folder = fs::canonicalize(folder).at("find", folder)?;
        let git = open(&folder)?;
        Ok(git.workdir().is_some() && !folder.starts_with(git.path()))
    }

    /// Creates a repository in a folder, on the branch that `init.defaultBranch` names, otherwise on `main`.
    pub fn init(folder: &Path) -> Result<Self, GitError> {
        let config = outside_repositories()?;
        let mut options = git2::RepositoryInitOptions::new();
        options
            .external_template(false)
            .initial_head(config.text("init.defaultBranch").unwrap_or("main"));
        git2::Repository::init_opts(folder, &options)
            .during(|| format!("create a git repository in `{}`", folder.display()))?;
        Self::discover(folder)
    }

    /// Returns the folder that git's paths start from; for a repository opened only for its commits, its git directory.
    pub fn worktree_root(&self) -> &Path {
        &self.worktree_root
    }

    /// Returns the project's folder, relative to the worktree's; empty if it is the same.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the folder with this worktree's HEAD and index.
    pub fn git_dir(&self) -> &Path {
        self.git.path()
    }

    /// Returns the folder with objects and branches, shared between linked worktrees.
    pub fn common_dir(&self) -> &Path {
        self.git.commondir()
    }

    /// Reads a file from a commit.
    pub fn read(&self, commit: CommitId, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        self.blob_id(commit, path)?.map(|id| self.read_blob(id)).transpose()
    }

    /// Reads a blob by its name.
    pub fn read_blob(&self, id: ObjectId) -> Result<Vec<u8>, GitError> {
        Ok(self.reader().read(ObjectKind::Blob, id)?.to_vec())
    }

    /// Returns the blob id of a file in a commit.
    pub fn blob_id(&self, commit: CommitId, path: &str) -> Result<Option<ObjectId>, GitError> {
        let root = self.root_tree(commit)?;
        Ok(self.trees().file(Some(root), &self.full_path(path))?.map(|leaf| leaf.id))
    }

    /// Returns whether a file of the project is executable: in the worktree, or with `core.fileMode=false` in the commit.
    pub fn is_program(&self, head: Option<CommitId>, path: &str) -> Result<bool, GitError> {
        use std::os::unix::fs::PermissionsExt;
        let full = self.full_path(path);
        if self.switch("core.fileMode")?.unwrap_or(true) {
            let standing = std::fs::metadata(self.worktree_root().join(full));
            return Ok(standing.is_ok_and(|file| file.permissions().mode() & 0o100 != 0));
        }
        let Some(commit) = head else { return Ok(false) };
        let leaf = self.trees().file(Some(self.root_tree(commit)?), &full)?;
        Ok(leaf.is_some_and(|leaf| leaf.mode == MODE_EXECUTABLE))
    }

    /// Lists the files below a folder of the project in a commit; `""` is the whole project.
    pub fn list(&self, commit: CommitId, folder: &str) -> Result<Vec<TreeFile>, GitError> {
        let root = self.root_tree(commit)?;
        let trees = self.trees();
        let mut files = Vec::new();
        if let Some(tree) = trees.folder(Some(root), &self.full_path(folder))? {
            trees.walk(tree, folder, &mut |path, id| {
                files.push(TreeFile { path, id });
            })?;
        }
        Ok(files)
    }

    /// Returns whether git ignores an untracked file.
    pub fn is_ignored(&self, path: &str) -> Result<bool, GitError> {
        let full = self.full_path(path);
        self.git.is_path_ignored(&full).during(|| format!("see whether `{full}` is ignored"))
    }

    /// Returns the blob id of these bytes.
    pub fn hash_blob(&self, bytes: &[u8]) -> ObjectId {
        ObjectId::of_blob(bytes)
    }

    /// Returns the absolute path of a file of the project.
    pub fn worktree_path(&self, path: &str) -> PathBuf {
        self.worktree_root.join(self.full_path(path))
    }

    /// Returns a git command for this repository; see `command::git`.
    pub(crate) fn git_command(&self) -> Command {
        command::git(self.git_dir(), self.worktree_root())
    }

    pub(crate) fn git(&self) -> &git2::Repository {
        &self.git
    }

    /// Returns git's configuration, cached since its first use.
    pub(crate) fn config(&self) -> Result<Arc<GitConfig>, GitError> {
        let cached = self.config.borrow().clone();
        cached.map_or_else(|| self.current_config(), Ok)
    }

    /// Returns git's configuration as it is now.
    pub(crate) fn current_config(&self) -> Result<Arc<GitConfig>, GitError> {
        if let Some(config) = self.config.borrow().as_ref().filter(|config| config.is_current()) {
            return Ok(Arc::clone(config));
        }
        let place = ConfigFolders {
            git_dir: self.git_dir(),
            common_dir: self.common_dir(),
            worktree_root: self.worktree_root(),
            ignores_variables: &|| ignores_variables(&self.git),
        };
        let config = self.git.config().during(reading)?;
        let config = Arc::new(GitConfig::read(config, Some(place))?);
        self.config.replace(Some(Arc::clone(&config)));
        Ok(config)
    }

    /// Drops the cached configuration, unless git was asked and its files are unchanged, and the cached shallow boundary.
    pub fn forget_cached_settings(&mut self) {
        self.config.get_mut().take_if(|config| !config.is_current());
        self.history.shallow_commits = OnceCell::new();
    }

    pub(crate) fn history(&self) -> &HistoryCache {
        &self.history
    }

    pub(crate) fn objects(&self) -> &ObjectFolder {
        &self.objects
    }

    pub(crate) fn trees(&self) -> Trees<'_> {
        Trees::new(self.reader())
    }

    /// Returns the tree of a commit.
    pub fn root_tree(&self, commit: CommitId) -> Result<ObjectId, GitError> {
        Ok(self.links(commit)?.tree)
    }

    pub(crate) fn reader(&self) -> ObjectReader<'_> {
        ObjectReader::new(&self.git, &self.objects, &self.known)
    }

    /// Turns a path of the project into one of the worktree.
    pub(crate) fn full_path(&self, path: &str) -> String {
        match (self.prefix.as_str(), path) {
            ("", path) => path.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, path) => format!("{prefix}/{path}"),
        }
    }
}

impl Repository {
    /// Reads one commit.
    pub fn log_entry(&self, id: CommitId) -> Result<LogEntry, GitError> {
        let bytes = self.reader().read(ObjectKind::Commit, id.object())?;
        let mut entry = match ParsedCommit::read(&bytes) {
            Some(plain) => plain.entry(id),
            None => {
                LogEntry { parents: named_parents(&bytes), ..entry(id, &self.libgit2_commit(id)?) }
            }
        };
        if self.is_cut_off(id)? {
            entry.parents.clear();
        }
        Ok(entry)
    }

    /// Reads a commit's tree and parents.
    pub(crate) fn links(&self, id: CommitId) -> Result<Links, GitError> {
        let bytes = self.reader().read(ObjectKind::Commit, id.object())?;
        let mut links = match ParsedCommit::read(&bytes) {
            Some(plain) => plain.links(),
            None => Links { parents: named_parents(&bytes), ..links(&self.libgit2_commit(id)?) },
        };
        if self.is_cut_off(id)? {
            links.parents.clear();
        }
        Ok(links)
    }

    fn libgit2_commit(&self, id: CommitId) -> Result<git2::Commit<'_>, GitError> {
        self.git().find_commit(id.to_git()).during(|| format!("read the commit `{id}`"))
    }
}

/// A way in which git is made to show another history than the stored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryOverride {
    /// The file `info/grafts`, which names other parents.
    Grafts,
    /// References made by `git replace`.
    Replacements,
}

impl HistoryOverride {
    /// Returns the word for it in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Grafts => "grafts",
            Self::Replacements => "replacements",
        }
    }
}

impl Repository {
    /// Returns whether this is a shallow clone.
    pub fn is_shallow(&self) -> Result<bool, GitError> {
        Ok(!self.shallow_commits()?.is_empty())
    }

    /// Returns whether a shallow clone is cut off at this commit, so that its parents are ignored.
    pub(crate) fn is_cut_off(&self, commit: CommitId) -> Result<bool, GitError> {
        Ok(self.shallow_commits()?.contains(&commit))
    }

    fn shallow_commits(&self) -> Result<&HashSet<CommitId>, GitError> {
        if let Some(known) = self.history().shallow_commits.get() {
            return Ok(known);
        }
        let ends = read_shallow_commits(&self.common_dir().join("shallow"))?;
        Ok(self.history().shallow_commits.get_or_init(|| ends))
    }

    /// Returns the overrides that make git show another history here. Aof ignores them.
    pub fn history_overrides(&self) -> Result<Vec<HistoryOverride>, GitError> {
        let grafts =
            git_file::read_text(&self.common_dir().join("info/grafts")).unwrap_or_default();
        let has_grafts =
            grafts.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#'));
        let has_replacements = !self.references_below("refs/replace/")?.is_empty();
        let grafts = has_grafts.then_some(HistoryOverride::Grafts);
        Ok(grafts
            .into_iter()
            .chain(has_replacements.then_some(HistoryOverride::Replacements))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::environment::TestRepository;

    #[test]
    fn commits_are_read_as_libgit2_reads_them() {
        let test = TestRepository::with_tasks();
        let repository = test.open();
        let (tree, parent) =
            (test.git(&["rev-parse", "HEAD^{tree}"]), test.git(&["rev-parse", "HEAD"]));
        let (tree, parent) = (tree.trim(), parent.trim());
        let who = "Ada \"Q.\" Lovelace <ada@example.org> 1700000000 +0130";
        let mut plain = 0;
        for (head, author, more, message) in [
            ("", who, "", "subject\n\nbody\n\nAof-Task: x\n"),
            ("", who, "encoding ISO-8859-1\n", "\n\nsubject \u{e9}\n"),
            (
                "",
                who,
                "gpgsig -----BEGIN SSH SIGNATURE-----\n U1NI\n \n -----END SSH SIGNATURE-----\n",
                "signed\n",
            ),
            ("p", who, "", "one parent"),
            ("pp", who, "mergetag object 1\n type commit\n \n text\n", "two parents\n"),
            ("p", "  .Ada <, <b@c> <a@b>  > 17 -0000", "", ""),
            ("", "<> 0 +0000", "", "nobody\n"),
            ("", "Ada <ada@example.org>", "", "no time\n"),
            ("", "Ada <ada@example.org> -12 +0000", "", "before all time\n"),
            ("", "Ada <ada@example.org> 99999999999999 +0000", "", "after all time\n"),
            ("", "Ada <ada@example.org> 1700000000", "", "no zone\n"),
            ("", "Ada <ada@example.org> 1700000000 +01", "", "half a zone\n"),
            (
                "",
                "Ada <ada@example.org> 1700000000 +0100\nauthor Eve <e@x> 1 +0000",
                "",
                "two authors\n",
            ),
            ("", who, "", "a zero\0 in it\n"),
        ] {
            let parents = format!("parent {parent}\n").repeat(head.len());
            let text = format!(
                "tree {tree}\n{parents}author {author}\ncommitter {who}\n{more}\n{message}"
            );
            let path = test.beside("commit");
            std::fs::write(&path, &text).unwrap();
            let path = path.display().to_string();
            let id = test.git(&["hash-object", "-t", "commit", "-w", "--literally", &path]);
            let id: CommitId = id.trim().parse().unwrap();
            plain += usize::from(ParsedCommit::read(text.as_bytes()).is_some());
            let odd = repository.libgit2_commit(id).unwrap();
            assert_eq!(repository.log_entry(id).unwrap(), entry(id, &odd), "{text}");
            assert_eq!(repository.links(id).unwrap(), links(&odd), "{text}");
        }
        assert_eq!(plain, 8, "most are read here");
    }
}
