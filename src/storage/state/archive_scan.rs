//! `.aof/archive`: up to which commit the archive was looked through for tasks that go on, and which do. It only saves looking:
//! without it, the archive is looked through anew.

use serde::{Deserialize, Serialize};

use crate::storage::fs::folder::Durability;
use crate::storage::layout::LOCAL;
use crate::storage::{Folder, Paths, ProjectPath, StoreError};

const NAME: &str = "archive";
const LIMIT: u64 = 16 * 1024 * 1024;

/// What is known of the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archived {
    /// The commit whose archive was looked through, as git names it.
    pub commit: String,
    /// Files in it whose tasks seemed to go on.
    pub open: Vec<String>,
}

impl Archived {
    /// Returns what was kept; nothing where there is nothing that can be read.
    pub fn load(paths: &Paths) -> Option<Self> {
        let (bytes, _) =
            Folder::open_existing(paths.root(), LOCAL).ok()??.read(NAME, LIMIT).ok()??;
        serde_json::from_slice(&bytes).ok()
    }

    /// Keeps it.
    pub fn save(&self, paths: &Paths) -> Result<(), StoreError> {
        let text = serde_json::to_vec(self).unwrap_or_default();
        paths.prepare_local()?.replace(NAME, &text, Durability::Volatile)
    }

    /// Returns the files, as far as they are paths of the project.
    pub fn paths(&self) -> impl Iterator<Item = ProjectPath> + '_ {
        self.open.iter().filter_map(|path| path.parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn what_was_seen_is_kept_and_nonsense_is_nothing() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        assert_eq!(Archived::load(&paths), None);
        let seen = Archived {
            commit: "c".to_owned(),
            open: vec!["tasks/archive/AOF-abc.md".into(), "/etc".into()],
        };
        seen.save(&paths).unwrap();
        assert_eq!(Archived::load(&paths), Some(seen.clone()));
        assert_eq!(
            seen.paths().map(|path| path.to_string()).collect::<Vec<_>>(),
            ["tasks/archive/AOF-abc.md"]
        );
        fs::write(paths.local().join(NAME), "{").unwrap();
        assert_eq!(Archived::load(&paths), None);
    }
}
