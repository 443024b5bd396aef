//! What git could not merge and left in its index for a person to settle. The caller holds the project's writer lock.

use std::path::Path;

use git2::{IndexEntry, IndexTime};

use super::error::{AuditError, During};
use super::id::ObjectId;
use super::repository::Repository;

/// The bits of an entry's flags that say which side of a conflict it is; none where it is merged.
const STAGE: u16 = 0x3000;

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
        let index = self.git().index().during(reading)?;
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
        let index = self.git().index().during(reading)?;
        let merged = index.iter().filter(|entry| entry.flags & STAGE == 0);
        let named = merged.filter_map(|entry| Some((self.own_path(&String::from_utf8(entry.path).ok()?)?, entry.id)));
        Ok(named.filter(|(path, _)| path.ends_with(end)).map(|(path, id)| (path, ObjectId::from_git(id))).collect())
    }

    /// Stages these bytes at one path, as what became of all of the others.
    pub fn stage_merged(&self, path: &str, bytes: &[u8], others: &[String]) -> Result<(), AuditError> {
        let doing = || format!("stage `{path}`");
        let mut index = self.git().index().during(doing)?;
        for other in others.iter().map(String::as_str).chain([path]) {
            let full = self.full_path(other);
            // There is a conflict there, or a merged entry, or nothing.
            let _ = index.conflict_remove(Path::new(&full));
            let _ = index.remove(Path::new(&full), 0);
        }
        let id = self.git().blob(bytes).during(doing)?;
        let never = IndexTime::new(0, 0);
        let entry = IndexEntry {
            ctime: never,
            mtime: never,
            dev: 0,
            ino: 0,
            mode: 0o100_644,
            uid: 0,
            gid: 0,
            file_size: 0,
            id,
            flags: 0,
            flags_extended: 0,
            path: self.full_path(path).into_bytes(),
        };
        index.add(&entry).and_then(|()| index.write()).during(doing)
    }
}

fn reading() -> String {
    "read git's index".to_owned()
}
