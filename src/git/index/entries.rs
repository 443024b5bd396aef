//! What an index of git's has, whatever its layout: libgit2 reads it, which is soon done, and where it cannot, as with a split or a sparse
//! one, git is asked. Whoever looks at entries reads them here. Only reads.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use git2::{Index, IndexEntry, IndexTime};

use crate::git::command;
use crate::git::error::{During, GitError};
use crate::git::id::{CommitId, ObjectId};
use crate::git::objects::git_file;
use crate::git::objects::tree::Leaf;
use crate::git::repository::handle::Repository;

/// The variable that names an index to git.
pub(crate) const INDEX: &str = "GIT_INDEX_FILE";

/// Where an entry's flags say which side of a conflict it is; nothing stands there where it is merged.
pub(crate) const STAGE: u16 = 0x3000;
const STAGE_FROM: u32 = 12;

/// What happens to one path between the commit the branch is at and the last one prepared.
#[derive(Debug, Clone)]
pub(crate) struct PathChange {
    /// Relative to the worktree.
    pub path: String,
    pub before: Option<Leaf>,
    pub after: Option<Leaf>,
    /// What the commits between had, and what the last one has.
    pub passed: Vec<ObjectId>,
}

/// An entry of the index, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Staged {
    pub(crate) leaf: Leaf,
    pub(crate) stage: u8,
    pub(crate) intent_to_add: bool,
}

/// An entry as git lists it. One that is only meant to be added looks like an empty file.
pub(crate) struct Listed {
    /// From the top of the repository.
    pub path: Vec<u8>,
    pub leaf: Leaf,
    /// Which side of a conflict it is; 0 where it is merged.
    pub stage: u8,
}

/// Returns what is wrong where git itself cannot read an index. A git that could not be asked says nothing of it.
pub(crate) fn unreadable(file: &Path, error: GitError) -> GitError {
    match error {
        GitError::Command { detail, .. } => GitError::Index { path: file.to_owned(), detail },
        other => other,
    }
}

impl Repository {
    /// Returns the worktree's index as it is now.
    pub(crate) fn index_now(&self) -> Result<Index, GitError> {
        self.index_at(&self.git_dir().join("index"))
    }

    /// Returns the index in a file, as it is now.
    pub(crate) fn index_at(&self, file: &Path) -> Result<Index, GitError> {
        if let Ok(index) = Index::open(file) {
            return Ok(index);
        }
        let listed = self.listed(file, &[]).map_err(|error| unreadable(file, error))?;
        let doing = || format!("read git's index `{}`", file.display());
        let mut index = Index::new().during(doing)?;
        for entry in listed {
            index.add(&plain(entry)).during(doing)?;
        }
        Ok(index)
    }

    /// Has git list what the index in a file has at these paths, or all that it has where there are none.
    pub(crate) fn listed(&self, file: &Path, paths: &[&str]) -> Result<Vec<Listed>, GitError> {
        let mut git = self.git_command();
        git.env(INDEX, file)
            .args(["--literal-pathspecs", "ls-files", "--stage", "-z", "--full-name", "--"])
            .args(paths);
        let told = command::run_git(git, &[])?;
        Ok(told.split(|byte| *byte == 0).filter_map(listed).collect())
    }
}

/// Reads `MODE ID STAGE<tab>PATH`.
fn listed(line: &[u8]) -> Option<Listed> {
    let (fields, path) = line.split_at(line.iter().position(|byte| *byte == b'\t')?);
    let mut fields = str::from_utf8(fields).ok()?.split(' ');
    let mode = u32::from_str_radix(fields.next()?, 8).ok()?;
    let id = fields.next()?.parse().ok()?;
    let stage = fields.next()?.parse().ok()?;
    Some(Listed { path: path[1..].to_vec(), leaf: Leaf { mode, id }, stage })
}

/// Without what git remembers of the file, which nobody asks for here.
fn plain(Listed { path, leaf, stage }: Listed) -> IndexEntry {
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
        flags: u16::from(stage) << STAGE_FROM,
        flags_extended: 0,
        path,
    }
}

const NAP: Duration = Duration::from_millis(10);

/// What a file is where nobody says otherwise, and what it is where it can be run.
const FILE: u32 = 0o100_644;
const EXECUTABLE: u32 = 0o100_755;

/// What git's index has at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StagedVersion {
    /// What it says.
    pub content: ObjectId,
    mode: u32,
}

impl StagedVersion {
    fn of(entry: &IndexEntry) -> Self {
        Self { content: ObjectId::from_git(entry.id), mode: entry.mode }
    }

    /// Returns whether it is a file, and not a link or another repository.
    pub fn is_file(self) -> bool {
        matches!(self.mode, FILE | EXECUTABLE)
    }
}

/// What both sides had, ours, and theirs, as far as there is one.
pub(crate) type Sides = [Option<StagedVersion>; 3];

/// A path that git could not merge: what both sides had there, what ours has, and theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmerged {
    /// Relative to the project.
    pub path: String,
    /// What both sides had there.
    pub base: Option<StagedVersion>,
    /// What ours has there.
    pub ours: Option<StagedVersion>,
    /// What theirs has there.
    pub theirs: Option<StagedVersion>,
}

impl Repository {
    /// Returns the files of the project that git could not merge.
    pub fn unmerged(&self) -> Result<Vec<Unmerged>, GitError> {
        let index = self.index_now()?;
        let mut found = Vec::new();
        for conflict in index.conflicts().during(reading)? {
            let conflict = conflict.during(reading)?;
            let sides = [&conflict.ancestor, &conflict.our, &conflict.their];
            let path =
                sides.iter().find_map(|side| String::from_utf8(side.as_ref()?.path.clone()).ok());
            let Some(path) = path.and_then(|full| self.own_path(&full)) else { continue };
            let [base, ours, theirs] = sides.map(|side| side.as_ref().map(StagedVersion::of));
            found.push(Unmerged { path, base, ours, theirs });
        }
        Ok(found)
    }

    /// Returns what git's index has of the files whose path ends like that, as far as it is merged.
    pub fn staged(&self, end: &str) -> Result<Vec<(String, StagedVersion)>, GitError> {
        let index = self.index_now()?;
        let merged = index.iter().filter(|entry| entry.flags & STAGE == 0);
        let named = merged.filter_map(|entry| {
            let version = StagedVersion::of(&entry);
            Some((self.own_path(&String::from_utf8(entry.path).ok()?)?, version))
        });
        Ok(named.filter(|(path, _)| path.ends_with(end)).collect())
    }

    /// Returns what a commit has at a path; nothing where that is no file.
    pub fn version_in(
        &self,
        commit: CommitId,
        path: &str,
    ) -> Result<Option<StagedVersion>, GitError> {
        let leaf = self.trees().file(Some(self.root_tree(commit)?), &self.full_path(path))?;
        Ok(leaf.map(|leaf| StagedVersion { content: leaf.id, mode: leaf.mode }))
    }

    /// Returns what git itself wrote at this path when it could not merge, markers and all; nothing if it does not tell, or wrote
    /// nothing there.
    pub fn written_unmerged(&self, path: &str) -> Result<Option<ObjectId>, GitError> {
        let told = git_file::read_text(&self.git_dir().join("AUTO_MERGE")).ok();
        let Some(tree) = told.and_then(|text| text.trim_end().parse::<ObjectId>().ok()) else {
            return Ok(None);
        };
        Ok(self.trees().file(Some(tree), &self.full_path(path))?.map(|leaf| leaf.id))
    }

    /// Stages these bytes at one path, as what became of all of the others. It can be run where that is what came of both sides.
    pub fn stage_merged(
        &self,
        path: &str,
        bytes: &[u8],
        sides: Sides,
        others: &[String],
        deadline: Instant,
    ) -> Result<(), GitError> {
        let id = self.git().blob(bytes).during(|| format!("stage `{path}`"))?;
        let [base, ours, theirs] = sides.map(|side| side.map_or(FILE, |side| side.mode));
        let mode = if ours == base { theirs } else { ours };
        self.restage(
            path,
            &[(0, StagedVersion { content: ObjectId::from_git(id), mode })],
            others,
            deadline,
        )
    }

    /// Brings what is unmerged at several paths together at one, for a person to settle.
    pub fn stage_unmerged(
        &self,
        path: &str,
        [base, ours, theirs]: Sides,
        others: &[String],
        deadline: Instant,
    ) -> Result<(), GitError> {
        let sides = [(1, base), (2, ours), (3, theirs)];
        let sides: Vec<(u8, StagedVersion)> =
            sides.into_iter().filter_map(|(stage, version)| Some((stage, version?))).collect();
        self.restage(path, &sides, others, deadline)
    }

    /// Has git put these in the place of whatever its index has at the paths, under its own lock: what is staged elsewhere meanwhile
    /// stays. Waits until the deadline while somebody else has that lock.
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
                // Any other trouble with that lock lasts: waiting helps only where it is there.
                Err(GitError::Command { detail, .. })
                    if detail.contains("index.lock") && detail.contains("File exists") =>
                {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        let path = self.git_dir().join("index.lock");
                        let age = fs::metadata(&path)
                            .ok()
                            .and_then(|data| data.modified().ok()?.elapsed().ok());
                        return Err(GitError::Locked { path, age });
                    }
                    thread::sleep(NAP.min(left));
                }
                other => return other.map(drop),
            }
        }
    }
}

fn reading() -> String {
    "read git's index".to_owned()
}
