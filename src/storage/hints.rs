//! Small records below `.aof/` that save work: which part of the archive was scanned, when the next thing is due, when the
//! remote was last reached. Each can be deleted or damaged without losing a fact.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::layout::LOCAL;
use super::{Durability, Folder, Paths, ProjectPath, StoreError};

/// A record that is kept in a file of its own below `.aof/`.
pub trait Hint: Serialize + DeserializeOwned {
    /// The file's name.
    const NAME: &str;

    /// Returns what was saved, or nothing if it is missing or cannot be read.
    fn load(paths: &Paths) -> Option<Self> {
        Folder::open_existing(paths.root(), LOCAL).ok()??.read_json(Self::NAME).ok()?
    }

    /// Saves the record. A power cut may take it back.
    fn save(&self, paths: &Paths) -> Result<(), StoreError> {
        paths.prepare_local()?.replace_json(Self::NAME, self, Durability::Volatile)
    }
}

/// `.aof/archive`: the commit whose archive was scanned for unfinished tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveScan {
    /// The commit whose archive was scanned.
    pub commit: String,
    /// The files in it whose tasks seemed unfinished.
    pub open: Vec<String>,
}

impl Hint for ArchiveScan {
    const NAME: &str = "archive";
}

impl ArchiveScan {
    /// Returns the files that are paths of the project.
    pub(crate) fn paths(&self) -> impl Iterator<Item = ProjectPath> + '_ {
        self.open.iter().filter_map(|path| path.parse().ok())
    }
}

/// `.aof/contact`: when the remote was last reached, and what has been in the way since.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct RemoteContact {
    /// When it last answered.
    pub reached: Option<Timestamp>,
    /// What has kept commits from getting there since then.
    pub trouble: Option<RemoteFailure>,
}

/// What keeps commits from getting to the remote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemoteFailure {
    /// Its kind: stable, for JSON.
    pub code: String,
    /// A sentence for people.
    pub said: String,
    /// Since when.
    pub since: Timestamp,
    /// The lock of git's that it was. Once the lock is gone, the failure is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<PathBuf>,
}

impl Hint for RemoteContact {
    const NAME: &str = "contact";
}

impl RemoteContact {
    /// Returns the failure, unless it is over by now.
    pub(crate) fn failure_now(&self) -> Option<&RemoteFailure> {
        let is_over =
            |failure: &RemoteFailure| failure.lock.as_ref().is_some_and(|lock| !lock.exists());
        self.trouble.as_ref().filter(|failure| !is_over(failure))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_saved_is_loaded_and_damage_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::at(folder.path());
        assert_eq!(ArchiveScan::load(&paths), None);
        let scan = ArchiveScan {
            commit: "c".to_owned(),
            open: vec!["tasks/archive/AOF-abc.md".into(), "/etc".into()],
        };
        scan.save(&paths).unwrap();
        assert_eq!(ArchiveScan::load(&paths), Some(scan.clone()));
        let listed: Vec<String> = scan.paths().map(|path| path.to_string()).collect();
        assert_eq!(listed, ["tasks/archive/AOF-abc.md"]);
        for damaged in ["", "{", "{\"commit\":\"c\"}"] {
            fs::write(paths.local().join(ArchiveScan::NAME), damaged).unwrap();
            assert_eq!(ArchiveScan::load(&paths), None, "{damaged:?}");
        }
    }
}
