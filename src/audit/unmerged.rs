//! What git could not merge and left in its index for a person to settle. The caller holds the project's writer lock.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use git2::Index;

use super::error::{AuditError, During};
use super::id::ObjectId;
use super::repository::Repository;
use super::spawn;

/// The bits of an entry's flags that say which side of a conflict it is; none where it is merged.
const STAGE: u16 = 0x3000;

const NAP: Duration = Duration::from_millis(10);

/// A path that git could not merge: what both sides had there, what ours has, and theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmerged {
    /// Relative to the project.
    pub path: String,
    /// What both sides had there.
    pub base: Option<ObjectId>,
    /// What ours has there.
    pub ours: Option<ObjectId>,
    /// What theirs has there.
    pub theirs: Option<ObjectId>,
}

impl Repository {
    /// Returns the files of the project that git could not merge.
    pub fn unmerged(&self) -> Result<Vec<Unmerged>, AuditError> {
        let index = self.index_now()?;
        let mut found = Vec::new();
        for conflict in index.conflicts().during(reading)? {
            let conflict = conflict.during(reading)?;
            let sides = [&conflict.ancestor, &conflict.our, &conflict.their];
            let path = sides.iter().find_map(|side| String::from_utf8(side.as_ref()?.path.clone()).ok());
            let Some(path) = path.and_then(|full| self.own_path(&full)) else { continue };
            let [base, ours, theirs] = sides.map(|side| side.as_ref().map(|entry| ObjectId::from_git(entry.id)));
            found.push(Unmerged { path, base, ours, theirs });
        }
        Ok(found)
    }

    /// Returns what git's index has of the files whose path ends like that, as far as it is merged.
    pub fn staged(&self, end: &str) -> Result<Vec<(String, ObjectId)>, AuditError> {
        let index = self.index_now()?;
        let merged = index.iter().filter(|entry| entry.flags & STAGE == 0);
        let named = merged.filter_map(|entry| Some((self.own_path(&String::from_utf8(entry.path).ok()?)?, entry.id)));
        Ok(named.filter(|(path, _)| path.ends_with(end)).map(|(path, id)| (path, ObjectId::from_git(id))).collect())
    }

    /// Returns what git itself wrote at this path when it could not merge, markers and all; nothing if it does not tell, or wrote
    /// nothing there.
    pub fn written_unmerged(&self, path: &str) -> Result<Option<ObjectId>, AuditError> {
        let told = fs::read_to_string(self.git_dir().join("AUTO_MERGE")).ok();
        let Some(tree) = told.and_then(|text| text.trim_end().parse::<ObjectId>().ok()) else { return Ok(None) };
        Ok(self.trees().file(Some(tree), &self.full_path(path))?.map(|leaf| leaf.id))
    }

    /// Stages these bytes at one path, as what became of all of the others.
    pub fn stage_merged(
        &self,
        path: &str,
        bytes: &[u8],
        others: &[String],
        deadline: Instant,
    ) -> Result<(), AuditError> {
        let id = self.git().blob(bytes).during(|| format!("stage `{path}`"))?;
        self.restage(path, &[(0, ObjectId::from_git(id))], others, deadline)
    }

    /// Brings what is unmerged at several paths together at one, for a person to settle.
    pub fn stage_unmerged(
        &self,
        path: &str,
        [base, ours, theirs]: [Option<ObjectId>; 3],
        others: &[String],
        deadline: Instant,
    ) -> Result<(), AuditError> {
        let sides = [(1, base), (2, ours), (3, theirs)];
        let sides: Vec<(u8, ObjectId)> = sides.into_iter().filter_map(|(stage, id)| Some((stage, id?))).collect();
        self.restage(path, &sides, others, deadline)
    }

    /// Has git put these in the place of whatever its index has at the paths, under its own lock: what is staged elsewhere meanwhile
    /// stays. Waits until the deadline while somebody else has that lock.
    fn restage(
        &self,
        path: &str,
        stages: &[(u8, ObjectId)],
        others: &[String],
        deadline: Instant,
    ) -> Result<(), AuditError> {
        let nothing = ObjectId::new([0; 20]);
        let mut lines = String::new();
        for gone in others.iter().map(String::as_str).chain([path]) {
            lines.push_str(&format!("0 {nothing}\t{}\0", self.full_path(gone)));
        }
        for (stage, id) in stages {
            lines.push_str(&format!("100644 {id} {stage}\t{}\0", self.full_path(path)));
        }
        loop {
            let mut git = spawn::git(self);
            git.args(["update-index", "-z", "--index-info"]);
            match spawn::run_git(git, lines.as_bytes()) {
                Err(AuditError::Command { detail, .. }) if detail.contains("index.lock") => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        let path = self.git_dir().join("index.lock");
                        let age = fs::metadata(&path).ok().and_then(|data| data.modified().ok()?.elapsed().ok());
                        return Err(AuditError::Locked { path, age });
                    }
                    thread::sleep(NAP.min(left));
                }
                other => return other.map(drop),
            }
        }
    }

    /// Returns git's index as it is now.
    fn index_now(&self) -> Result<Index, AuditError> {
        let mut index = self.git().index().during(reading)?;
        index.read(true).during(reading)?;
        Ok(index)
    }
}

fn reading() -> String {
    "read git's index".to_owned()
}
