//! What git could not merge and left in its index for a person to settle. The caller holds the project's writer lock.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use git2::IndexEntry;

use super::entries::STAGE;
use crate::git::command;
use crate::git::error::{During, GitError};
use crate::git::id::{CommitId, ObjectId};
use crate::git::objects::git_file;
use crate::git::repository::handle::Repository;

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
