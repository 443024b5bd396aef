//! The entries of git's index: merged and unmerged, and their differences from HEAD or the worktree. libgit2 reads the index; git itself
//! reads layouts that libgit2 cannot, such as split or sparse ones.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

use git2::{Index, IndexEntry, IndexTime};

use crate::command;
use crate::error::{During, GitError};
use crate::id::{CommitId, ObjectId};
use crate::objects::git_file;
use crate::objects::tree::{Leaf, MODE_EXECUTABLE, MODE_FILE, text};
use crate::repository::handle::Repository;

/// The name of the files with attributes.
pub(crate) const ATTRIBUTE_FILE: &str = ".gitattributes";

/// The variable that names an index to git.
pub(crate) const INDEX: &str = "GIT_INDEX_FILE";

/// The stage of our side of a conflict.
pub(crate) const OURS: u8 = 2;
const STAGE_SHIFT: u32 = 12;

/// The change of one path between the branch's commit and the last prepared commit.
#[derive(Debug, Clone)]
pub(crate) struct PathChange {
    /// Relative to the worktree.
    pub path: String,
    pub before: Option<Leaf>,
    pub after: Option<Leaf>,
    /// The versions in the prepared commits, the last one included.
    pub passed: Vec<ObjectId>,
}

/// An entry of the index, without stat data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StagedEntry {
    pub(crate) leaf: Leaf,
    pub(crate) stage: u8,
    pub(crate) intent_to_add: bool,
}

/// An entry as `git ls-files` lists it. An intent-to-add entry looks like an empty file.
#[derive(Debug, Clone)]
pub(crate) struct ListedEntry {
    /// From the top of the repository.
    pub path: Vec<u8>,
    pub leaf: Leaf,
    /// The side of a conflict; 0 if the path is merged.
    pub stage: u8,
}

/// Turns a failed git command that read an index into an error about that index. Other errors stay.
pub(crate) fn as_index_error(file: &Path, error: GitError) -> GitError {
    match error {
        GitError::Command { detail, .. } => GitError::Index { path: file.to_owned(), detail },
        other => other,
    }
}

impl Repository {
    /// Reads an index file.
    pub(crate) fn index_at(&self, file: &Path) -> Result<Index, GitError> {
        if let Ok(index) = Index::open(file) {
            return Ok(index);
        }
        let listed = self.list_entries(file, &[]).map_err(|error| as_index_error(file, error))?;
        let doing = || format!("read git's index `{}`", file.display());
        let mut index = Index::new().during(doing)?;
        for entry in listed {
            index.add(&without_stat(entry)).during(doing)?;
        }
        Ok(index)
    }

    /// Lists the entries of an index at these paths by `git ls-files`, or all entries without paths.
    pub(crate) fn list_entries(
        &self,
        file: &Path,
        paths: &[&str],
    ) -> Result<Vec<ListedEntry>, GitError> {
        let mut git = self.git_command();
        git.env(INDEX, file).arg("--literal-pathspecs");
        list(git, paths)
    }

    /// Lists the attribute files in the index by `git ls-files`.
    pub(crate) fn list_attribute_files(&self) -> Result<Vec<ListedEntry>, GitError> {
        let pattern = format!(":(top,glob)**/{ATTRIBUTE_FILE}");
        let file = self.git_dir().join("index");
        list(self.git_command(), &[&pattern]).map_err(|error| as_index_error(&file, error))
    }
}

fn list(mut git: Command, paths: &[&str]) -> Result<Vec<ListedEntry>, GitError> {
    git.args(["ls-files", "--stage", "-z", "--full-name", "--"]).args(paths);
    let output = command::run_git(git, &[])?;
    Ok(output.split(|byte| *byte == 0).filter_map(parse_listed).collect())
}

/// Reads `MODE ID STAGE<tab>PATH`.
fn parse_listed(line: &[u8]) -> Option<ListedEntry> {
    let (fields, path) = line.split_at(line.iter().position(|byte| *byte == b'\t')?);
    let mut fields = str::from_utf8(fields).ok()?.split(' ');
    let mode = u32::from_str_radix(fields.next()?, 8).ok()?;
    let id = fields.next()?.parse().ok()?;
    let stage = fields.next()?.parse().ok()?;
    Some(ListedEntry { path: path[1..].to_vec(), leaf: Leaf { mode, id }, stage })
}

/// Converts to an entry without stat data, which no caller needs.
pub(crate) fn without_stat(ListedEntry { path, leaf, stage }: ListedEntry) -> IndexEntry {
    let never = IndexTime::new(0, 0);
    IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode: leaf.mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id: leaf.id.to_git(),
        flags: u16::from(stage) << STAGE_SHIFT,
        flags_extended: 0,
        path,
    }
}

const PAUSE: Duration = Duration::from_millis(10);

/// The version of a path in git's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StagedVersion {
    /// The blob of its content.
    pub content: ObjectId,
    mode: u32,
}

impl StagedVersion {
    fn of(leaf: Leaf) -> Self {
        Self { content: leaf.id, mode: leaf.mode }
    }

    /// Returns whether it is a file, and not a link or another repository.
    pub fn is_file(self) -> bool {
        matches!(self.mode, MODE_FILE | MODE_EXECUTABLE)
    }
}

/// The versions of the base, ours and theirs, as far as they exist.
pub type ConflictSides = [Option<StagedVersion>; 3];

/// A path that git could not merge, with the three versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmerged {
    /// Relative to the project.
    pub path: String,
    /// The version of the merge base.
    pub base: Option<StagedVersion>,
    pub ours: Option<StagedVersion>,
    pub theirs: Option<StagedVersion>,
}

impl Repository {
    /// Returns the unmerged files of the project.
    pub fn unmerged(&self) -> Result<Vec<Unmerged>, GitError> {
        let mut found: Vec<Unmerged> = Vec::new();
        self.each_index_entry(&mut |path, leaf, stage| {
            let path = str::from_utf8(path).ok().filter(|_| stage > 0);
            let Some(path) = path.and_then(|full| self.own_path(full)) else { return };
            if found.last().is_none_or(|last| last.path != path) {
                found.push(Unmerged { path, base: None, ours: None, theirs: None });
            }
            let Some(Unmerged { base, ours, theirs, .. }) = found.last_mut() else { return };
            let side = match stage {
                1 => base,
                OURS => ours,
                _ => theirs,
            };
            *side = Some(StagedVersion::of(leaf));
        })?;
        Ok(found)
    }

    /// Returns the merged index entries of the project's files whose path ends with `end`.
    pub fn staged(&self, end: &str) -> Result<Vec<(String, StagedVersion)>, GitError> {
        let mut found = Vec::new();
        self.each_index_entry(&mut |path, leaf, stage| {
            let path = str::from_utf8(path).ok().filter(|path| stage == 0 && path.ends_with(end));
            let path_here = path.and_then(|path| self.own_path(path));
            found.extend(path_here.map(|path| (path, StagedVersion::of(leaf))));
        })?;
        Ok(found)
    }

    /// Returns the file that a commit has at a path, if any.
    pub fn version_in(
        &self,
        commit: CommitId,
        path: &str,
    ) -> Result<Option<StagedVersion>, GitError> {
        let leaf = self.trees().file(Some(self.root_tree(commit)?), &self.full_path(path))?;
        Ok(leaf.map(|leaf| StagedVersion { content: leaf.id, mode: leaf.mode }))
    }

    /// Returns the blob with conflict markers that git wrote at this path, as `AUTO_MERGE` records it; `None` without such a record.
    pub fn written_unmerged(&self, path: &str) -> Result<Option<ObjectId>, GitError> {
        let recorded = git_file::read_text(&self.git_dir().join("AUTO_MERGE")).ok();
        let Some(tree) = recorded.and_then(|text| text.trim_end().parse::<ObjectId>().ok()) else {
            return Ok(None);
        };
        Ok(self.trees().file(Some(tree), &self.full_path(path))?.map(|leaf| leaf.id))
    }

    /// Stages merged bytes at one path and removes the entries at the others. The executable bit is merged from the sides.
    pub fn stage_merged(
        &self,
        path: &str,
        bytes: &[u8],
        sides: ConflictSides,
        others: &[String],
        deadline: Instant,
    ) -> Result<(), GitError> {
        let id = self.git().blob(bytes).during(|| format!("stage `{path}`"))?;
        let [base, ours, theirs] = sides.map(|side| side.map_or(MODE_FILE, |side| side.mode));
        let mode = if ours == base { theirs } else { ours };
        self.restage(
            path,
            &[(0, StagedVersion { content: ObjectId::from_git(id), mode })],
            others,
            deadline,
        )
    }

    /// Moves the unmerged versions from several paths to one, for a person to resolve.
    pub fn stage_unmerged(
        &self,
        path: &str,
        [base, ours, theirs]: ConflictSides,
        others: &[String],
        deadline: Instant,
    ) -> Result<(), GitError> {
        let sides = [(1, base), (2, ours), (3, theirs)];
        let sides: Vec<(u8, StagedVersion)> =
            sides.into_iter().filter_map(|(stage, version)| Some((stage, version?))).collect();
        self.restage(path, &sides, others, deadline)
    }

    /// Replaces the index entries at these paths by `git update-index`, which keeps what others stage meanwhile. Waits until
    /// the deadline while the index is locked.
    fn restage(
        &self,
        path: &str,
        stages: &[(u8, StagedVersion)],
        others: &[String],
        deadline: Instant,
    ) -> Result<(), GitError> {
        let nothing = ObjectId::new([0; 20]);
        let mut lines = String::new();
        for gone in others.iter().map(String::as_str).chain([path]) {
            lines.push_str(&format!("0 {nothing}\t{}\0", self.full_path(gone)));
        }
        for (stage, StagedVersion { content, mode }) in stages {
            lines.push_str(&format!("{mode:o} {content} {stage}\t{}\0", self.full_path(path)));
        }
        loop {
            let mut git = self.git_command();
            git.args(["update-index", "-z", "--index-info"]);
            match command::run_git(git, lines.as_bytes()) {
                // Retry only while the lock exists: other lock errors persist.
                Err(GitError::Command { detail, .. })
                    if detail.contains("index.lock") && detail.contains("File exists") =>
                {
                    let remaining = deadline.saturating_duration_since(Instant::now());
                    if remaining.is_zero() {
                        let path = self.git_dir().join("index.lock");
                        let age = fs::metadata(&path)
                            .ok()
                            .and_then(|data| data.modified().ok()?.elapsed().ok());
                        return Err(GitError::Locked { path, age });
                    }
                    thread::sleep(PAUSE.min(remaining));
                }
                other => return other.map(drop),
            }
        }
    }
}

/// A file of the project whose index entry differs from HEAD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedFile {
    /// Relative to the project.
    pub path: String,
    /// The blob in HEAD, if HEAD has the file.
    pub head: Option<ObjectId>,
    /// The blob in the index; `None` if the index lacks the file or the file is unmerged.
    pub staged: Option<ObjectId>,
    /// The mode in the index.
    mode: u32,
}

impl StagedFile {
    /// Returns the file name without its folders.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Returns the index entry.
    pub(crate) fn entry(&self) -> Option<Leaf> {
        self.staged.map(|id| Leaf { mode: self.mode, id })
    }
}

impl Repository {
    /// Returns the files below a folder of the project whose index entries differ from HEAD.
    pub fn staged_below(&self, folder: &str) -> Result<Vec<StagedFile>, GitError> {
        let mut git = self.git_command();
        git.env(INDEX, self.git_dir().join("index"));
        git.args([
            "--literal-pathspecs",
            "diff-index",
            "--cached",
            "--no-renames",
            "-z",
            "HEAD",
            "--",
        ]);
        git.arg(self.full_path(folder));
        let output = command::run_git(git, &[])?;
        let mut parts = output.split(|byte| *byte == 0);
        let mut files = Vec::new();
        // `:MODE MODE ID ID STATUS`, then the path.
        while let (Some(fields), Some(path)) = (parts.next(), parts.next()) {
            let (Ok(fields), Ok(path)) = (str::from_utf8(fields), str::from_utf8(path)) else {
                continue;
            };
            let mut fields = fields.split(' ').skip(1);
            let mode = fields
                .next()
                .and_then(|mode| u32::from_str_radix(mode, 8).ok())
                .unwrap_or_default();
            let mut ids = fields.map(|id| id.parse::<ObjectId>().ok().filter(|id| !is_zero(*id)));
            let (head, staged) = (ids.next().flatten(), ids.next().flatten());
            if let Some(path) = self.own_path(path) {
                files.push(StagedFile { path, head, staged, mode });
            }
        }
        Ok(files)
    }

    /// Returns the tracked files below a folder of the project that differ from HEAD in the index or the worktree. Files that
    /// are unchanged by their stat data are not read.
    pub fn uncommitted_below(&self, folder: &str) -> Result<Vec<String>, GitError> {
        let options = ["--untracked-files=no", "--ignore-submodules=all"];
        let changed = self.status(options, [self.full_path(folder)])?;
        let paths = changed.into_iter().filter_map(|(_, path)| String::from_utf8(path).ok());
        Ok(paths.filter_map(|path| self.own_path(&path)).collect())
    }

    /// Returns the changed and untracked files at these paths of the worktree, and below them; not those that git ignores.
    pub fn changed_or_new_below(&self, paths: &[&str]) -> Result<Vec<String>, GitError> {
        let status = self.status(["--untracked-files=all", "--ignore-submodules=all"], paths)?;
        Ok(status.into_iter().map(|(_, path)| text(path)).collect())
    }

    /// Returns the path of the index from which the next commit is made: in a hook, that of `GIT_INDEX_FILE`.
    pub(crate) fn index_to_commit(&self) -> PathBuf {
        match std::env::var_os(INDEX) {
            Some(named) => self.worktree_root().join(named),
            None => self.git_dir().join("index"),
        }
    }

    /// Returns the files with the skip-worktree bit below a folder of the project, or the file itself.
    pub fn skipped_below(&self, folder: &str) -> Result<Vec<String>, GitError> {
        let mut git = self.git_command();
        git.args(["--literal-pathspecs", "ls-files", "-t", "-z", "--full-name", "--"])
            .arg(self.full_path(folder));
        let output = command::run_git(git, &[])?;
        let paths = output
            .split(|byte| *byte == 0)
            .filter_map(|line| str::from_utf8(line.strip_prefix(b"S ")?).ok());
        Ok(paths.filter_map(|path| self.own_path(path)).collect())
    }

    /// Returns whether this is a sparse checkout.
    pub fn is_sparse_checkout(&self) -> bool {
        self.switch("core.sparseCheckout").is_ok_and(|is_on| is_on == Some(true))
    }
}

/// Returns whether git wrote zeros for "no object".
fn is_zero(id: ObjectId) -> bool {
    id.as_bytes().iter().all(|byte| *byte == 0)
}

/// The most paths that are listed.
const MOST_LISTED: usize = 100;

/// Files that were changed and are not committed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UncommittedChanges {
    /// The paths, each with the kind of its change: `changed src/a.rs`; at most 100.
    pub paths: Vec<String>,
    /// The number of further paths.
    pub more: usize,
}

impl Repository {
    /// Returns the uncommitted files that were changed, created or removed since a Unix time in seconds. Removed files have
    /// no time and are always listed. Ignored files and aof's own files are left out.
    pub fn uncommitted_since(&self, since: i64) -> Result<UncommittedChanges, GitError> {
        let options = ["--untracked-files=normal", "--ignore-submodules=all"];
        let mut uncommitted = UncommittedChanges::default();
        for (states, path) in self.status(options, [] as [&str; 0])? {
            let place = self.worktree_root().join(OsStr::from_bytes(&path));
            let path = text(path);
            let is_ours = self
                .own_path(&path)
                .is_some_and(|path| path.starts_with("tasks/") || path.starts_with(".aof/"));
            if is_ours {
                continue;
            }
            let changed = fs::symlink_metadata(place).ok().map(|meta| meta.mtime());
            if changed.is_some_and(|at| at < since) {
                continue;
            }
            if uncommitted.paths.len() < MOST_LISTED {
                uncommitted.paths.push(format!("{} {path}", change_word(states)));
            } else {
                uncommitted.more += 1;
            }
        }
        Ok(uncommitted)
    }

    /// Runs `git status` for these paths, or for the whole worktree without paths. Returns the two status letters and
    /// the path of each changed file.
    pub(crate) fn status(
        &self,
        options: [&str; 2],
        paths: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Vec<StatusLine>, GitError> {
        let mut git = self.git_command();
        git.args(["--literal-pathspecs", "status", "--porcelain", "-z", "--no-renames"]);
        git.args(options).arg("--").args(paths);
        let output = command::run_git(git, &[])?;
        // Two letters, a space, and the path.
        let lines = output.split(|byte| *byte == 0).filter_map(|line| match line {
            [index, worktree, _, path @ ..] => Some(([*index, *worktree], path.to_vec())),
            _ => None,
        });
        Ok(lines.collect())
    }
}

impl Repository {
    /// Returns all paths of git's index, each with its object; paths that are not UTF-8 are shown as text.
    pub fn tracked_files(&self) -> Result<Vec<(String, ObjectId)>, GitError> {
        let mut files = Vec::new();
        self.each_index_entry(&mut |path, leaf, _| files.push((text(path.to_vec()), leaf.id)))?;
        Ok(files)
    }

    /// Returns the blob id of a file's bytes, of any size; `None` if it cannot be read.
    pub fn hash_file(&self, file: &Path) -> Option<ObjectId> {
        git2::Oid::hash_file(git2::ObjectType::Blob, file).ok().map(ObjectId::from_git)
    }
}

/// The two letters of `git status`, and the path.
type StatusLine = ([u8; 2], Vec<u8>);

/// Returns a word for the two letters of `git status`: how the index differs from HEAD, and the worktree from the index.
fn change_word(states: [u8; 2]) -> &'static str {
    if states.contains(&b'U') || matches!(&states, b"AA" | b"DD") {
        "changed"
    } else if states.contains(&b'A') || states.contains(&b'?') {
        "new"
    } else if states.contains(&b'D') {
        "removed"
    } else {
        "changed"
    }
}
